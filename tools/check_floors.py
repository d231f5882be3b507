#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the calls between the engine's files, read from the object files: no calls to a higher floor,
no cycles.

usage: check_floors.py OBJECTS ...      prints the floors and the calls between them; exit status 1
                                        if a file calls a higher floor, or files call in a cycle
       check_floors.py OBJECTS ... --files  prints the calls between files, too
       check_floors.py --selftest       checks that an upward call and a cycle are reported

OBJECTS are folders with object files: the engine's (build/libengine_core.a.p), whose names are the
sources' paths, or the plugin's and its library's (build/gst/*.p). Calls through tables of functions do
not count, nor do a class's type and debug category, which all its files name.
"""
import collections
import pathlib
import re
import subprocess
import sys

# From the lowest to the highest. A file may call its own floor and those below.
FLOORS = {'engine': [('base',), ('weights',), ('device',), ('ops',), ('net',), ('model',), ('refine',),
                     ('track/memory',), ('track/graphs',), ('track/prompts', 'track/saved'),
                     ('seed', 'detect', 'paint', 'track/session')],
          'gst': [('common',), ('detect', 'record'), ('export', 'overlay', 'track')]}
LEVEL = {part: {name: level for level, names in enumerate(floors) for name in names} for part, floors in FLOORS.items()}


def folder_of(path):
    """The folder of a file that has a floor: the closest one; None: it has none."""
    part, *parts = path.split('/')[:-1] or ['']
    known = LEVEL.get(part, {})
    return next((f for n in range(len(parts), 0, -1) if (f := '/'.join(parts[:n])) in known), None)


def floor_of(path):
    return LEVEL.get(path.split('/')[0], {}).get(folder_of(path))


def symbols(objects):
    """(who defines a symbol, what a file needs), by the sources' paths under engine/."""
    home, needs = {}, collections.defaultdict(set)
    files = [str(o) for folder in objects for o in sorted(pathlib.Path(folder).glob('*.o'))]
    listed = subprocess.run(['nm', '-gA', *files], capture_output=True, text=True, check=True).stdout if files else ''
    for line in listed.splitlines():
        path, entry = line.split(':', 1)
        path = re.sub(r'\.o$', '', pathlib.Path(path).name)
        if path.startswith('engine_'):
            path = path.replace('_', '/', 1)
        kind, name = entry.split()[-2:]
        if kind == 'U':
            needs[path].add(name)
        elif kind in 'TDRBV' and not re.search('_get_type$|_debug$', name):
            home[name] = path
    return home, needs


def source_paths(names, root):
    """Objects are named engine_model_sam2_hiera.c.o, and common_gstsammeta.c.o the plugin's: the sources
    tell which _ was a /."""
    known = {s.relative_to(root).as_posix().replace('/', '_'): s.relative_to(root).as_posix()
             for s in pathlib.Path(root, 'engine').rglob('*.c')}
    known |= {s.relative_to(root / 'gst').as_posix().replace('/', '_'): s.relative_to(root).as_posix()
              for s in pathlib.Path(root, 'gst').glob('*/*.c')}
    return {n: known.get(n.replace('/', '_', 1), n) for n in names}


def arrows(home, needs):
    return {(a, home[s]) for a, wanted in needs.items() for s in wanted if s in home and home[s] != a}


def rings(edges):
    """Sets of files that reach each other (Tarjan's strongly connected components)."""
    out = collections.defaultdict(list)
    for a, b in edges:
        out[a].append(b)
    index, low, stack, found, on = {}, {}, [], [], set()

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in out[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            ring = []
            while True:
                ring.append(stack.pop())
                on.discard(ring[-1])
                if ring[-1] == v:
                    break
            if len(ring) > 1:
                found.append(sorted(ring))

    sys.setrecursionlimit(10000)
    for v in sorted(set(out)):
        if v not in index:
            visit(v)
    return found


def breaches(edges):
    bad = [f'{a} calls {b}, a floor above' for a, b in sorted(edges)
           if None not in (floor_of(a), floor_of(b)) and floor_of(b) > floor_of(a)]
    return bad + [f'a ring: {", ".join(r)}' for r in rings(edges)]


def draw(edges, files):
    count = collections.Counter()
    for a, b in edges:
        fa, fb = folder_of(a), folder_of(b)
        if fa and fb and fa != fb:
            count[fa, fb] += 1
            part = a.split('/')[0]
    for names in reversed(FLOORS[part] if count else []):
        for name in names:
            below = [f'{b} ({n})' for (a, b), n in sorted(count.items()) if a == name]
            if below or any(b == name for _, b in count):
                print(f'{name:13} -> {", ".join(below) or "-"}')
    if files:
        print('\n'.join(f'{a} -> {b}' for a, b in sorted(edges)))


def selftest():
    ups = [{('engine/ops/a.c', 'engine/track/memory/b.c')}, {('engine/track/memory/a.c', 'engine/track/session/b.c')},
           {('engine/ops/cpu/a.c', 'engine/model/sam2/b.c')}, {('gst/record/a.c', 'gst/track/b.c')}]
    ring = {('engine/seed/a.c', 'engine/seed/b.c'), ('engine/seed/b.c', 'engine/seed/c.c'), ('engine/seed/c.c', 'engine/seed/a.c')}
    good = {('engine/track/session/a.c', 'engine/track/memory/b.c'), ('engine/track/memory/b.c', 'engine/model/sam2/c.c'),
            ('engine/model/sam2/c.c', 'engine/base/d.c')}
    ok = all(any('floor above' in b for b in breaches(up)) for up in ups) and any('ring' in b for b in breaches(ring)) \
        and not breaches(good)
    print('every planted breach was found' if ok else 'missed a planted breach')
    return not ok


def main():
    if sys.argv[1:] == ['--selftest']:
        return selftest()
    folders = [a for a in sys.argv[1:] if a != '--files']
    if not folders:
        sys.exit(__doc__)
    for folder in folders:
        if folder.startswith('-'):
            sys.exit(f"check_floors.py: there is no option '{folder}', expected --files or --selftest")
        if not list(pathlib.Path(folder).glob('*.o')):
            sys.exit(f'check_floors.py: {folder}: expected a folder with object files, found none')
    home, needs = symbols(folders)
    names = source_paths(set(home.values()) | set(needs), pathlib.Path(__file__).resolve().parent.parent)
    edges = {(names[a], names[b]) for a, b in arrows(home, needs)}
    draw(edges, '--files' in sys.argv)
    bad = breaches(edges)
    print('\n'.join(bad) if bad else 'no arrow up, no ring')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
