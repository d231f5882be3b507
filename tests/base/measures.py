#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a change to tests is measured by: tests/faults.py lists and runs what is planted, tools/coverage.py counts lines and
branches, and tells of what has fallen. usage: measures.py ROOT BUILD"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SUITES = ('kernels', 'operations', 'policy', 'choice', 'device', 'tiles', 'outlines', 'masks', 'graph', 'words')
ROOT, BUILD = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
# Five lines that run, of which one is not run without an argument, and two ways out of one branch.
SOURCE = """int main(int argc, char **argv)
{
    int found = 0;
    (void) argv;
    if (argc > 1)
        found = 1;
    return found;
}
"""
MESON = """
import json, os, sys
build, log = (sys.argv[sys.argv.index(option) + 1] for option in ('-C', '--logbase'))
names = sys.argv[sys.argv.index('-t') + 2:]
with open(os.environ['CALLED'], 'a') as f:
    print(*names, sep='\\n', file=f)
with open(f'{build}/meson-logs/{log}.json', 'w') as f:
    for name in names:
        print(json.dumps({'name': f'samtrack:ops / {name}', 'result': 'FAIL' if name == os.environ['LOST'] else 'OK'}), file=f)
sys.exit(int(os.environ['STATUS']))
"""


def expect(what, condition, done):
    if not condition:
        sys.exit(f'FAILED: {what}; status {done.returncode}, {done.stdout[-2000:]!r}, {done.stderr!r}')


def run(script, *arguments, **variables):
    return subprocess.run([sys.executable, script, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **variables})


def change(path, old, new):
    text = path.read_text()
    if text.count(old) != 1:
        sys.exit(f'{path}: {text.count(old)} places, wanted 1: {old}')
    path.write_text(text.replace(old, new))


def check_list(folder):
    """A fault more, one less, and one that cannot be read."""
    for name in ('tests/faults.py', 'tests/plant.py', 'tests/emu/mutate.py', 'tests/seed/mutate.py', 'tests/guarded/selftest.c', 'tests/refine/rules.py',
                 'tests/detect/faulty.py', 'tests/detect/sam3_faults.py', 'tests/detect/dino_faults.py', 'tests/detect/words_faults.py',
                 'engine/ops/list.h'):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / 'tests/ops', folder / 'tests/ops', ignore=lambda _, names: [n for n in names if n[-2:] not in ('.c', '.h', 'py')])
    script, add, layernorm = folder / 'tests/faults.py', folder / 'tests/ops/add.c', folder / 'tests/ops/layernorm.c'
    done = run(script)
    lines = done.stdout.splitlines()
    expect('the list', not done.returncode and lines == run(ROOT / 'tests/faults.py').stdout.splitlines(), done)
    for suite in SUITES:
        expect(f'faults of {suite}', sum(line.startswith(suite + ': ') for line in lines) >= 15, done)
    change(add, '    COMMON_MUTANTS(add),\n', '    COMMON_MUTANTS(add),\n    MUTANT(add, planted_here),\n')
    more = run(script).stdout.splitlines()
    expect('one fault more', set(more) - set(lines) == {'operations: add: planted_here'} and len(more) == len(lines) + 1, done)
    begin = layernorm.read_text().index('CUDA_FAULT(')
    text = layernorm.read_text()
    layernorm.write_text(text[:begin] + text[text.index(')\n', begin) + 2:])
    less = run(script).stdout.splitlines()
    expect('one fault less', len(less) == len(more) - 1 and len(set(more) - set(less)) == 1
           and (set(more) - set(less)).pop().startswith('kernels: layernorm: '), done)
    layernorm.write_text(layernorm.read_text().replace('CUDA_FAULT(', 'CUDA_FAULT( ', 1))
    done = run(script)
    expect('one that cannot be read', done.returncode == 1 and 'layernorm.c: ' in done.stderr, done)


def check_run(folder):
    """With a meson that only tells what it is called with, and of tests that all passed."""
    fake = folder / 'meson'
    fake.write_text(f'#!{sys.executable}\n' + MESON)
    (folder / 'meson-logs').mkdir()
    fake.chmod(0o755)
    (folder / 'build.ninja').touch()
    known = {test['name'] for test in json.loads((BUILD / 'meson-info/intro-tests.json').read_text())}
    for status, lost in ('0', ''), ('1', ''), ('0', 'ops selftest linear'):
        (folder / 'called').unlink(missing_ok=True)
        done = run(ROOT / 'tests/faults.py', folder, PATH=f'{folder}:{os.environ["PATH"]}', CALLED=str(folder / 'called'),
                   STATUS=status, LOST=lost)
        expect(f'meson ends with {status}, {lost} is lost', done.returncode == (status == '1' or lost != ''), done)
        table = {line.split()[0]: line.split()[1:3] for line in done.stdout.splitlines()[1:]}
        planted = {suite: int(counts[0]) for suite, counts in table.items()}
        expect('a row of each suite', set(table) == {*SUITES} - {'kernels'} and min(planted.values()) >= 15, done)
        missed = {suite for suite, (number, caught) in table.items() if number != caught}
        expect('what is caught', missed == ({'operations'} if lost else set()), done)
    called = (folder / 'called').read_text().splitlines()
    names = {line for line in called if line in known}
    others = {'seed mutants', 'refine mutants', 'detect sam3 mutants', 'detect dino mutants', 'detect words mutants',
              'guarded selftest', 'outline mutants', 'tile mutants', 'attention tile mutants', 'recall tile mutants'}
    unoptimized = set() if 'recall tile mutants' in known else {'recall tile mutants'}  # as tools/coverage.sh builds
    expect('the tests that plant faults', others - unoptimized | {'ops selftest linear'} < names, done)
    expect('no other test', all(name.startswith('ops selftest ') for name in names - others), done)
    done = run(ROOT / 'tests/faults.py', folder / 'nowhere')
    expect('no build', done.returncode == 2 and 'no build.ninja' in done.stderr and done.stderr.count('\n') == 1, done)
    done = run(ROOT / 'tests/faults.py', 'a', 'b')
    expect('two arguments', done.returncode == 2 and 'found 2 arguments' in done.stderr, done)


def check_coverage(folder):
    script, build, source = folder / 'tools/coverage.py', folder / 'build', folder / 'engine/base/main.c'
    for path in (script, source, build / 'x'):
        path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / 'tools/coverage.py', script)
    source.write_text(SOURCE)
    for arguments, text in ([[], 'found 0 arguments'], [[build], 'expected files *.gcda'], [[1, 2, 3, 4], 'found 4 arguments']):
        done = run(script, *arguments)
        expect(text, done.returncode == 2 and text in done.stderr and done.stderr.count('\n') == 1, done)
    subprocess.run(['gcc', '--coverage', '-O0', '-c', '../engine/base/main.c', '-o', 'main.o'], cwd=build, check=True)
    subprocess.run(['gcc', '--coverage', 'main.o', '-o', 'main'], cwd=build, check=True)
    subprocess.run(['./main'], cwd=build, check=True)
    part = run(script, build)
    expect('a part of it', part.stdout.splitlines()[1:] == [f'{"engine/base":20}{5:8}{4:9}{80.0:7.1f}{2:10}{1:8}{50.0:7.1f}'], part)
    subprocess.run(['./main', 'more'], cwd=build)
    whole = run(script, build)
    expect('all of it', whole.stdout.splitlines()[1].split()[1:] == ['5', '5', '100.0', '2', '2', '100.0'], whole)
    before = folder / 'before'
    before.write_text(part.stdout)
    done = run(script, build, before)
    expect('more than before', done.returncode == 0 and 'before 80.0 50.0' in done.stdout, done)
    before.write_text(whole.stdout)
    (build / 'main.gcda').unlink()
    subprocess.run(['./main'], cwd=build, check=True)
    done = run(script, build, before)
    expect('less than before', done.returncode == 1 and 'before 100.0 100.0' in done.stdout, done)
    before.write_text(whole.stdout + whole.stdout.splitlines()[1].replace('engine/base', 'engine/gone') + '\n')
    done = run(script, build, before)
    expect('a folder that is gone', done.returncode == 1 and 'engine/gone: nothing of it was run' in done.stdout, done)
    before.write_text(whole.stdout)
    for files, row in ('engine/moved/main.c', 'engine/base '), ('engine/base/other.c', 'engine/base+new '):
        (folder / 'files').write_text(files + '\n')
        done = run(script, build, before, folder / 'files')
        expect('a file that is new', row in done.stdout and ('before' in done.stdout) == (row == 'engine/base '), done)
    before.write_text('a table\nof another kind\n')
    done = run(script, build, before)
    expect('no table', done.returncode == 2 and f'{before}: expected the table' in done.stderr, done)


with tempfile.TemporaryDirectory() as tmp:
    folders = [pathlib.Path(tmp, name) for name in ('list', 'run', 'coverage')]
    for each in folders:
        each.mkdir()
    check_list(folders[0])
    check_run(folders[1])
    if shutil.which('gcc') and shutil.which('gcov'):
        check_coverage(folders[2])
    else:
        print('gcc or gcov is missing: tools/coverage.py was not run')
