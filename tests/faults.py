#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every fault that the tests plant and must catch, a line each: "SUITE: what".
usage: faults.py           the list; compare it with that of another checkout: a line that is gone is a fault no longer planted
       faults.py BUILD     runs the tests that plant them, all of them (the emulator's mutants take a quarter of an hour of a core,
                           and are left out of a build without -Demu=true), and prints a table: suite, faults planted, caught,
                           seconds of a processor; 1 if a fault is missed, 2 if none could be planted
Suites: "kernels" in the CUDA sources, "operations" in the reference, "policy" in engine/seed, "choice" in engine/refine, "device" on the guarded device,
"tiles" in the kernels by tiles of AMX, which run emulated, "masks" in those of SAM 3's detector, "graph" in Grounding DINO's network,
"words" in what becomes of words ahead of it.
"""
import ast
import collections
import importlib.util
import json
import pathlib
import re
import resource
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


NETWORKS = {'masks': 'sam3', 'graph': 'dino', 'words': 'words'}
TILE_TESTS = {'gemm_amx.c': 'tile mutants', 'attention_tiles.h': 'attention tile mutants', 'recall_tiles.c': 'recall tile mutants'}


def list_all():
    for file, op, piece, _ in load(ROOT / 'tests/emu/mutate.py').MUTANTS:
        yield f'kernels: {op}: {file}: {one_line(piece)}'
    yield from list_operations()
    for file, piece in load(ROOT / 'tests/seed/mutate.py').MUTANTS:
        yield f'policy: {file}: {one_line(piece)}'
    for file, piece in load(ROOT / 'tests/refine/rules.py').MUTANTS:
        yield f'choice: {file}: {one_line(piece)}'
    for suite, name in NETWORKS.items():
        for file, piece in load(ROOT / f'tests/detect/{name}_faults.py').MUTANTS:
            yield f'{suite}: {file}: {one_line(piece)}'
    for file, piece in load(ROOT / 'tests/ops/tile_faults.py').MUTANTS:
        yield f'tiles: {file}: {one_line(piece)}'
    for file, piece, _ in load(ROOT / 'tests/ops/line_faults.py').MUTANTS:
        yield f'outlines: {file}: {one_line(piece)}'
    for name, _ in re.findall(r'^    \{ ' + STRINGS + ', ' + STRINGS + r', \w+ \},$', (ROOT / 'tests/guarded/selftest.c').read_text(),
                              re.M):
        yield f'device: {ast.literal_eval(name)}'


def get_seconds():
    """Of a processor, by what has been run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_tests(build, faults):
    """The tests that plant them: test to the number of its faults. Status, how many were caught, and how many cannot be planted on
    this processor. A test that fails has not caught all: none is counted."""
    log = build / 'meson-logs/faults.json'
    log.unlink(missing_ok=True)
    status = subprocess.run(['meson', 'test', '-C', build, '--no-rebuild', '--logbase', 'faults', '-t', '4', *faults]).returncode
    lines = log.read_text().splitlines() if log.exists() else []
    results = {t['name'].split(' / ')[-1]: t['result'] for t in map(json.loads, lines)}
    return status, *(sum(number for name, number in faults.items() if results.get(name) == result) for result in ('OK', 'SKIP'))


def run(build):
    listed = [line.split(': ') for line in list_all()]
    operations = collections.Counter(f'ops selftest {op}' for suite, op, *_ in listed if suite == 'operations')
    planted = collections.Counter(suite for suite, *_ in listed)
    suites = {'operations': operations, 'policy': {'seed mutants': planted['policy']},
              'choice': {'refine mutants': planted['choice']},
              **{suite: {f'detect {name} mutants': planted[suite]} for suite, name in NETWORKS.items()},
              'outlines': {'outline mutants': planted['outlines']},
              'device': {'guarded selftest': planted['device']},
              'tiles': collections.Counter(TILE_TESTS[file] for suite, file, *_ in listed if suite == 'tiles')}
    program = build / 'tests/emu/check_ops_emu'
    rows, failed = [], False
    for suite, faults in suites.items():
        began = get_seconds()
        status, caught, skipped = run_tests(build, faults)
        planted[suite] -= skipped
        rows.append((suite, planted[suite], caught, get_seconds() - began))
        failed |= status != 0 or caught != planted[suite]
    if program.exists():
        began = get_seconds()
        wrong = load(ROOT / 'tests/emu/mutate.py').run(program, seed=1)
        rows.append(('kernels', planted['kernels'], planted['kernels'] - wrong, get_seconds() - began))
        failed |= wrong > 0
    print(f'{"suite":12}{"planted":>9}{"caught":>9}{"seconds":>9}')
    for suite, number, caught, seconds in rows:
        print(f'{suite:12}{number:9}{caught:9}{seconds:9.0f}')
    return failed


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
