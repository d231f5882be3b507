#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks include rules, sizes of files and functions, licence lines, and plain text.

usage: check_style.py ROOT        prints one line per violation; exit status 1 if there is any
       check_style.py --license ROOT  adds the line of the licence to the files that lack it
       check_style.py --selftest  checks that every kind of violation is reported, and nothing else
"""
import pathlib
import re
import sys
import tempfile

BELOW_TRACK = ['engine/refine', 'engine/model', 'engine/net', 'engine/ops', 'engine/device', 'engine/weights', 'engine/base',
               'engine/include']
# A file may include its own folder and those listed here, nothing else of the project.
FLOORS = {
    'engine/include': [],
    'engine/base': ['engine/include'],
    'engine/weights': ['engine/base', 'engine/include'],
    'engine/device': ['engine/base', 'engine/include'],
    'engine/ops': ['engine/device', 'engine/base', 'engine/include'],
    'engine/ops/ref': ['engine/ops', 'engine/device', 'engine/base', 'engine/include'],
    'engine/ops/cpu': ['engine/ops', 'engine/ops/ref', 'engine/device', 'engine/base', 'engine/include'],
    'engine/net': ['engine/ops', 'engine/device', 'engine/weights', 'engine/base', 'engine/include'],
    'engine/model': ['engine/net', 'engine/ops', 'engine/device', 'engine/weights', 'engine/base', 'engine/include'],
    'engine/model/sam2': ['engine/model', 'engine/net', 'engine/ops', 'engine/device', 'engine/weights', 'engine/base',
                          'engine/include'],
    'engine/model/efficienttam': ['engine/model', 'engine/model/sam2', 'engine/net', 'engine/ops', 'engine/device',
                                  'engine/weights', 'engine/base', 'engine/include'],  # its blocks are Hiera's
    'engine/refine': ['engine/model', 'engine/net', 'engine/ops', 'engine/device', 'engine/weights', 'engine/base',
                      'engine/include'],
    'engine/track': ['engine/track/memory', 'engine/track/graphs', *BELOW_TRACK],
    'engine/track/memory': ['engine/track', *BELOW_TRACK],
    'engine/track/graphs': ['engine/track', 'engine/track/memory', *BELOW_TRACK],
    'engine/track/prompts': ['engine/track', 'engine/track/memory', 'engine/track/graphs', *BELOW_TRACK],
    'engine/track/saved': ['engine/track', 'engine/track/memory', *BELOW_TRACK],
    'engine/track/session': ['engine/track', 'engine/track/memory', 'engine/track/graphs', 'engine/track/prompts',
                             'engine/track/saved', *BELOW_TRACK],
    'engine/seed': ['engine/base', 'engine/include'],
    'engine/detect': ['engine/model', 'engine/net', 'engine/ops', 'engine/device', 'engine/weights', 'engine/base',
                      'engine/include'],
    'engine/paint': ['engine/ops', 'engine/device', 'engine/base', 'engine/include'],
    'cuda': ['engine/ops', 'engine/device', 'engine/base', 'engine/include'],
    'gst/common': ['engine/include'],
    'gst/record': ['gst/common', 'engine/include'],
    'gst/detect': ['gst/common', 'engine/include'],
    'gst/track': ['gst/detect', 'gst/common', 'engine/include'],
    'gst/overlay': ['gst/common', 'engine/include'],
    'gst/export': ['gst/record', 'gst/common', 'engine/include'],
    'gst/zones': ['gst/common', 'engine/include'],
    'gst/scene': ['gst/common', 'engine/include'],
    'gst/bin': ['gst/track', 'gst/overlay', 'gst/export', 'gst/common', 'engine/include'],
    'gst': ['gst/bin', 'gst/track', 'gst/overlay', 'gst/export', 'gst/detect', 'gst/zones', 'gst/common'],
    'tools/standard': [],
    'pipelines': ['gst/record', 'gst/common', 'tools/standard', 'engine/include'],
    'tools': ['tools/standard', 'engine/include'],
    'tests': ['*'],
    'docs/examples': [],
}
TOP = {'gst', 'engine', 'cuda', 'tests', 'pipelines', 'models', 'tools', 'docs', '.ci', '.git',
       'README.md', 'CONTRIBUTING.md', 'LICENSE', 'NEWS.md', 'meson.build', 'meson_options.txt',
       'debian', '.gitignore', '.clang-format', '.editorconfig', '.github'}
FOREIGN = [(re.compile(r'#include <cu(da|blas)'), ['cuda', 'tests'], 'CUDA outside cuda/'),
           (re.compile(r'#include <(glib|gst/|gio)'), ['gst', 'tests', 'pipelines', 'tools', 'docs'], 'GLib outside gst/'),
           (re.compile(r'#include .*dnnl'), ['tests/bench'], 'oneDNN outside tests/bench/')]
TABLE = re.compile(r'\b(ops|device)->\w|include "device/device\.h"')  # a backend's
TABLE_USERS = ('engine/device/', 'engine/ops/', 'cuda/', 'tests/')
# The engine is C11, but for the vectors of ops/cpu and two macros that are empty for other compilers.
EXTENSION = re.compile(r'__attribute__|__builtin_|\b(__)?typeof|__extension__|__asm|__int128|\(\{')
EXTENDED = ('engine/ops/cpu/', 'cuda/', 'gst/', 'tests/', 'tools/', 'pipelines/')
EXTENSION_MACRO = re.compile(r'#define SAM_(API|PRINTF\(f, v\)) __attribute__')
FORBIDDEN = re.compile(r'\b(abort|exit|printf|puts)\s*\(')  # in libraries
LIBRARIES = ('engine', 'cuda', 'gst')
MAX_WIDTH_GST, MAX_WIDTH, MAX_FILE, MAX_ELEMENT, MAX_FUNCTION = 80, 100, 700, 1000, 80
SOURCES = ('.c', '.h', '.cu', '.cuh')
# The first line of every source, or the second where the first is a program's name (#!).
LICENSE = 'SPDX-License-Identifier: MIT'
COMMENTS = {**dict.fromkeys(SOURCES + ('.cpp', '.js', '.h.in'), '// {}'), '.css': '/* {} */',
            **dict.fromkeys(('.py', '.sh', 'meson.build', 'meson_options.txt', '.service.in'), '# {}')}


def floor(rel):
    return max((f for f in FLOORS if rel.startswith(f + '/')), key=len, default=None)


def project_files(root):
    built = {p.parent.parent for p in root.glob('*/meson-private/coredata.dat')}
    return [p for p in root.rglob('*') if p.suffix in SOURCES and p.is_file()
            and not any(b in p.parents for b in built)
            and not p.relative_to(root).parts[0].startswith('build-')]


def license_line(rel):
    """The line that a file of the project must have; None: none."""
    form = next((f for end, f in COMMENTS.items() if rel.endswith(end)), None)
    if rel.startswith(('gst/', 'pipelines/', 'tests/gst/', 'tests/live/')) and rel.endswith(('.c', '.h')):
        form = '/* {} */'
    return form and form.format(LICENSE)


def unlicensed(root):
    """(path, its text, the line, where it goes) of every file without it."""
    built = {p.parent.parent for p in root.glob('*/meson-private/coredata.dat')}
    for p in sorted(root.rglob('*')):
        rel = p.relative_to(root).as_posix()
        line = license_line(rel)
        if not line or not p.is_file() or any(b in p.parents for b in built) or rel.startswith(('build-', '.git/', 'runs/')):
            continue
        lines = p.read_text(encoding='utf-8').split('\n')
        at = int(lines[0].startswith('#!'))
        if lines[at:at + 1] != [line]:
            yield p, lines, line, at


def add_license(root):
    for p, lines, line, at in unlicensed(root):
        p.write_text('\n'.join(lines[:at] + [line] + lines[at:]), encoding='utf-8')
        print(p.relative_to(root))
    return 0


def long_functions(lines):
    """(line, length) of every function body beyond the limit; bodies open with { in column 0."""
    start = None
    for n, line in enumerate(lines, 1):
        if line == '{':
            start = n
        elif line == '}' and start:
            if n - start > MAX_FUNCTION:
                yield start, n - start
            start = None


def check_file(root, p, home):
    rel = p.relative_to(root).as_posix()
    here = floor(rel)
    lines = p.read_text().split('\n')
    if here is None:
        yield 1, 'lies on no floor'
        return
    if lines[-1]:
        yield len(lines), 'no newline at end of file'
    length = len(lines) - 1 - (LICENSE in lines[0])
    most = MAX_ELEMENT if any('SECTION:element-' in line for line in lines[:4]) else MAX_FILE
    if length > most and 'table' not in lines[0] + lines[1]:
        yield 1, f'{length} lines, at most {most}'
    for n, length in long_functions(lines):
        if 'tests/' not in rel and not p.suffix == '.cu':
            yield n, f'function of {length} lines, at most {MAX_FUNCTION}'
    for n, line in enumerate(lines, 1):
        yield from ((n, what) for what in check_line(rel, here, line, home))


def check_line(rel, here, line, home):
    if '\t' in line or line.rstrip() != line:
        yield 'tab or trailing blank'
    most = MAX_WIDTH_GST if rel.startswith('gst/') else MAX_WIDTH
    if len(line) > most:
        yield f'{len(line)} columns, at most {most}'
    for pattern, allowed, what in FOREIGN:
        if pattern.match(line) and not any(rel.startswith(a + '/') for a in allowed):
            yield what
    code = line.split('//')[0]
    if rel.startswith(LIBRARIES) and FORBIDDEN.search(code) and '"' not in code.split('(')[0]:
        yield f'{FORBIDDEN.search(code).group(1)} in a library'
    if rel.startswith('engine/') and not rel.startswith(TABLE_USERS) and TABLE.search(code):
        yield "looks into a backend's table"
    if not rel.startswith(EXTENDED) and EXTENSION.search(code) and not EXTENSION_MACRO.match(line):
        yield f'{EXTENSION.search(code).group()} is not C11'
    m = re.match(r'#include "(.+)"', line)
    if m and '*' not in FLOORS[here]:
        # Folders may have headers of one name: one that may be included is enough.
        there = {floor(h) for h in home.get(pathlib.Path(m[1]).name, []) if f'/{h}'.endswith('/' + m[1].replace('../', ''))}
        if there and not there & {here, *FLOORS[here]}:
            yield f'{here} may not include {", ".join(sorted(map(str, there)))}'


def check(root):
    sources = project_files(root)
    home = {}
    for p in sources:
        home.setdefault(p.name, []).append(p.relative_to(root).as_posix())
    bad = [f'{p.relative_to(root)}:{n}: {what}' for p in sorted(sources) for n, what in check_file(root, p, home)]
    bad += [f'{p.relative_to(root)}:{at + 1}: expected {line}' for p, _, line, at in unlicensed(root)]
    for p in root.iterdir():
        if p.name not in TOP and not p.name.startswith('build') and not p.name.endswith('.mp4') \
                and p.name != 'runs':
            bad.append(f'{p.name}: not at home at the top level')
    return bad


def selftest():
    planted = {
        'engine/model/a.c': ('#include <cuda_runtime.h>\n', 'CUDA outside'),
        'engine/ops/b.c': ('#include "track.h"\n', 'may not include'),
        'engine/base/c.c': ('#include <glib.h>\n', 'GLib outside'),
        'engine/base/d.c': ('int x; \n', 'trailing blank'),
        'engine/base/e.c': ('void f(void)\n{\n' + '    ;\n' * 90 + '}\n', 'function of'),
        'engine/base/f.c': ('    exit(1);\n', 'exit in a library'),
        'gst/g.c': ('/* ' + 'x' * 80 + ' */\n', 'columns'),
        'engine/base/h.c': ('int y;', 'no newline'),
        'elsewhere/i.c': ('int z;\n', 'no floor'),
        'engine/track/track.h': ('int t;\n', None),
        'engine/track/session/session.h': ('int s;\n', None),
        'engine/track/memory/u.c': ('#include "session.h"\n', 'may not include'),
        'engine/track/session/v.c': ('#include "track.h"\n', None),
        'engine/track/j.c': ('    q->ops->copy(q, p);\n', "backend's table"),
        'engine/model/k.c': ('#include "device/device.h"\n', "backend's table"),
        'engine/ops/l.c': ('    q->ops->copy(q, p);\n', None),
        'engine/net/m.c': ('    int x __attribute__((unused));\n', 'is not C11'),
        'engine/net/n.c': ('    return __builtin_clz(x);\n', 'is not C11'),
        'engine/base/o.h': ('#define SAM_PRINTF(f, v) __attribute__((format(printf, f, v)))\n', None),
        'engine/ops/cpu/p.c': ('    __builtin_prefetch(p);\n', None),
        'tools/q.py': ('#!/usr/bin/python3\n', 'expected # SPDX'),
        'tools/r.py': ('#!/usr/bin/python3\n# SPDX-License-Identifier: MIT\n', None),
        'engine/seed/s.c': ('int s;\n', 'expected // SPDX'),
        'gst/t.c': ('int t;\n', 'expected /* SPDX'),
        'gst/track/u.h': ('int u;\n', None),
        'cuda/same.h': ('int s;\n', None),
        'engine/base/same.h': ('int s;\n', None),
        'engine/weights/w.c': ('#include "same.h"\n', None),
        'engine/weights/x.c': ('#include "cuda/same.h"\n', 'may not include cuda'),
        'gst/record/v.c': ('#include "u.h"\n', 'may not include gst/track'),
        'gst/overlay/w.c': ('/* ' + 'x' * 80 + ' */\n', 'columns'),
        'gst/overlay/x.c': ('\n' * 701, '701 lines'),
        'gst/overlay/y.c': ('/**\n * SECTION:element-y\n */' + '\n' * 850, None),
        'gst/overlay/z.c': ('/**\n * SECTION:element-z\n */' + '\n' * 1001, 'lines, at most 1000'),
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, (text, what) in planted.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            wants = license_line(name) if not (what or '').startswith('expected') and name != 'tools/r.py' else None
            (root / name).write_text(wants + '\n' + text if wants else text)
        found = check(root)
    missed = [name for name, (_, what) in planted.items()
              if any(name in b and (what or '') in b for b in found) != bool(what)]
    print(f'wrong: {missed}' if missed else 'every planted breach was found, and nothing else')
    return bool(missed)


def main(options, folders):
    if not set(options) <= {'--license', '--selftest'}:
        sys.exit(f"check_style.py: there is no option '{options[0]}', expected --license or --selftest")
    if options == ['--selftest'] and not folders:
        return selftest()
    if len(options) > 1 or len(folders) != 1:
        sys.exit(__doc__)
    root = pathlib.Path(folders[0])
    if not (root / 'meson.build').is_file():
        sys.exit(f'check_style.py: {root}: expected the folder of the sources, found no meson.build in it')
    if options:
        return add_license(root)
    bad = check(root)
    print('\n'.join(bad))
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main([a for a in sys.argv[1:] if a.startswith('-')], [a for a in sys.argv[1:] if not a.startswith('-')]))
