#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every fault that the tests plant and must catch, a line each: "SUITE: what".
usage: faults.py           the list; compare it with that of another checkout: a line that is gone is a fault no longer planted
       faults.py BUILD     runs the tests that plant them, all of them (the emulator's mutants take minutes of a core, and
                           are left out of a build without -Demu=true); 1 if a fault is missed, 2 if none could be planted
Suites: "kernels" in the CUDA sources, "operations" in the reference, "policy" in engine/seed, "device" on the guarded device.
"""
import ast
import importlib.util
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRINGS = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'


def load(path):
    spec = importlib.util.spec_from_file_location(path.parent.name + '_mutate', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one_line(text):
    return ' '.join(text.split())


def list_operations():
    """Of the tables `mutants` in tests/ops/; what COMMON_MUTANTS stands for is in faulty.h."""
    common = re.search(r'COMMON_MUTANTS\(op\)((?:.*\\\n)*.*)', (ROOT / 'tests/ops/faulty.h').read_text())[1]
    for path in sorted((ROOT / 'tests/ops').glob('*.c')):
        table = re.search(r'static const struct mutant mutants\[\] = \{(.*?)\n\};', path.read_text(), re.S)
        if not table:
            continue
        for name in re.findall(r'\bMUTANT\(\w+, (\w+)\)', re.sub(r'COMMON_MUTANTS\(\w+\)', common, table[1])):
            yield f'operations: {path.stem}: {name}'


def list_all():
    for file, op, piece, _ in load(ROOT / 'tests/emu/mutate.py').MUTANTS:
        yield f'kernels: {op}: {file}: {one_line(piece)}'
    yield from list_operations()
    for file, piece in load(ROOT / 'tests/seed/mutate.py').MUTANTS:
        yield f'policy: {file}: {one_line(piece)}'
    for name, _ in re.findall(r'^    \{ ' + STRINGS + ', ' + STRINGS + r', \w+ \},$', (ROOT / 'tests/guarded/selftest.c').read_text(),
                              re.M):
        yield f'device: {ast.literal_eval(name)}'


def run(build):
    program = build / 'tests/emu/mutants/check_mutants_emu'
    commands = [['meson', 'test', '-C', build, '--no-rebuild', 'seed mutants', 'guarded selftest',
                 *(f'ops selftest {path.stem}' for path in sorted((ROOT / 'tests/ops').glob('*.c'))
                   if 'static const struct mutant mutants[]' in path.read_text())]]
    if program.exists():
        commands.append([sys.executable, ROOT / 'tests/emu/mutate.py', 'run', program])
    return any([subprocess.run(command).returncode for command in commands])


def fail(text):
    print(f'faults.py: {text}', file=sys.stderr)
    sys.exit(2)


if __name__ == '__main__':
    if sys.argv[1:] in (['-h'], ['--help']):
        print(__doc__)
        sys.exit()
    if len(sys.argv) > 2:
        fail(f'expected BUILD or nothing, found {len(sys.argv) - 1} arguments; --help tells what it is')
    if len(sys.argv) == 2:
        if not pathlib.Path(sys.argv[1], 'build.ninja').exists():
            fail(f'{sys.argv[1]}: expected a folder that meson has set up, found no build.ninja')
        sys.exit(run(pathlib.Path(sys.argv[1])))
    print(*list_all(), sep='\n')
