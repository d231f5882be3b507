#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tests/run.sh stands on: tests/progress.py tells failures at once, counts all verdicts, and runs a test again if anything
that it reads has changed; tools/nvcc.py compiles again what
has changed, and only that; tests/children.py leaves no program behind. usage: runner.py ROOT"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
CHILDREN = f'''
import subprocess, sys, time
sys.path.insert(0, {str(ROOT / "tests")!r})
import children
children.end_with_test()
child = subprocess.Popen(['sh', '-c', 'sleep 100 >&2 & echo $!; read never'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(child.pid, child.stdout.readline(), sep='\\n', flush=True)
'''
# Three tests, of which the last one waits until somebody has read of the second's failure.
MESON = r'''#!/usr/bin/env python3
import json, os, pathlib, sys, time
build = pathlib.Path(sys.argv[sys.argv.index('-C') + 1])
if '--list' in sys.argv:
    print('samtrack:base / good', 'samtrack:gst / bad', 'samtrack:live / absent', *os.environ['MORE'].splitlines(), sep='\n')
    sys.exit()
log = build / 'meson-logs' / (sys.argv[sys.argv.index('--logbase') + 1] + '.json')
for name, result in (('base / good', 'OK'), ('gst / bad', 'TIMEOUT'), ('live / absent', 'SKIP')):
    if result == 'SKIP':
        while not (build / 'told').exists():
            time.sleep(0.02)
    with open(log, 'a') as f:
        f.write(json.dumps({'name': 'samtrack:' + name, 'result': result, 'duration': 2, 'stderr': 'why it failed'}) + '\n')
'''
# Two tests, one of which LeakSanitizer breaks in the first run; in the second, which is for it alone, it ends as $SECOND says.
FRAIL = r'''#!/usr/bin/env python3
import json, os, pathlib, sys
if '--list' in sys.argv:
    print('samtrack:base / good', 'samtrack:live / frail', sep='\n')
    sys.exit()
log = pathlib.Path(sys.argv[sys.argv.index('-C') + 1]) / 'meson-logs' / (sys.argv[sys.argv.index('--logbase') + 1] + '.json')
broken = {'result': 'FAIL', 'stderr': 'LeakSanitizer has encountered a fatal error.'}
second = {'OK': {'result': 'OK'}, 'BROKEN': broken, 'FAIL': {'result': 'FAIL', 'stderr': 'a leak'}}[os.environ['SECOND']]
tests = [('live / frail', second)] if sys.argv[-1] == 'frail' else [('base / good', {'result': 'OK'}), ('live / frail', broken)]
log.write_text(''.join(json.dumps({'name': 'samtrack:' + name, 'duration': 2, **rest}) + '\n' for name, rest in tests))
'''
# Tests whose names are appended to the file `ran`; those in the file `bad` fail.
SAME = r'''#!/usr/bin/env python3
import json, pathlib, sys
build = pathlib.Path(sys.argv[sys.argv.index('-C') + 1])
tests = [t['suite'][0] + ' / ' + t['name'] for t in json.loads((build / 'meson-info/intro-tests.json').read_text())]
if '--list' in sys.argv:
    print(*tests, sep='\n')
    sys.exit()
last = sys.argv.index('--num-processes') + 2
tests = [t for t in tests if t.split(' / ')[1] in sys.argv[last:] or not sys.argv[last:]]
with open(build / 'ran', 'a') as f:
    print(*(t.split(' / ')[1] for t in tests), file=f)
bad = (build / 'bad').read_text().split()
(build / 'meson-logs' / (sys.argv[sys.argv.index('--logbase') + 1] + '.json')).write_text(''.join(json.dumps(
    {'name': t, 'duration': 1, 'result': 'FAIL' if t.split(' / ')[1] in bad else 'OK'}) + '\n' for t in tests))
'''
NVCC = r'''#!/bin/sh
if [ "$1" = --version ]; then cat "$VERSION"; exit; fi
echo ran >>"$RAN"
cp "$2" "$4"
echo "$4: $2 $HEADER /usr/include/stdio.h" >"$6"
'''


def expect(truth, what):
    if not truth:
        sys.exit(f'FAILED: {what}')


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def watch(folder, more):
    """The lines of progress.py and what it prints last; a test that failed must be among them before the last test ends."""
    (folder / 'meson-logs').mkdir(exist_ok=True)
    (folder / 'told').unlink(missing_ok=True)
    write_program(folder / 'meson', MESON)
    process = subprocess.Popen([sys.executable, ROOT / 'tests/progress.py', 'part', folder], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=dict(os.environ, PATH=f'{folder}:{os.environ["PATH"]}', MORE=more))
    lines = [process.stderr.readline(), process.stderr.readline()]
    (folder / 'told').touch()
    sums, rest = process.communicate(timeout=60)
    return ''.join(lines), rest, sums.strip()


def check_progress(folder):
    first, _, sums = watch(folder, '')
    expect(first == 'FAILED: bad, timeout after 2 s\nwhy it failed\n', f'of a failure it says: {first}')
    expect(sums == '1 1 1', f'verdicts {sums}, expected 1 1 1')
    _, rest, sums = watch(folder, 'samtrack:base / lost')
    expect(sums == '1 2 1' and '1 tests did not run: lost' in rest, f'of a test that never ran: {sums}, {rest}')


def check_again(folder):
    """A test that LeakSanitizer has broken runs again, three times at most."""
    (folder / 'meson-logs').mkdir()
    write_program(folder / 'meson', FRAIL)
    for second, wanted in (('OK', '2 0 0'), ('FAIL', '1 1 0'), ('BROKEN', '1 1 0')):
        done = subprocess.run([sys.executable, ROOT / 'tests/progress.py', 'part', folder], text=True, capture_output=True, timeout=60,
                              env=dict(os.environ, PATH=f'{folder}:{os.environ["PATH"]}', SECOND=second))
        expect(done.stdout.strip() == wanted and 'again, as LeakSanitizer broke: frail' in done.stderr,
               f'then {second}: {done.stdout}, expected {wanted}; {done.stderr}')


def write_tests(folder, arguments=(), env=None):
    (folder / 'meson-info/intro-tests.json').write_text(json.dumps([
        {'name': name, 'suite': ['samtrack:' + suite for suite in suites], 'cmd': [str(folder / name), *arguments], 'env': env or {},
         'workdir': None, 'depends': ['t']}
        for name, suites in (('op', ['gst']), ('pad', ['gst', 'nosan']), ('threads', ['ops', 'threads']))]))


def check_targets(folder):
    """What the tests of these suites, and no others, need."""
    (folder / 'meson-info').mkdir()
    (folder / 'meson-info/intro-targets.json').write_text(json.dumps(
        [{'id': name, 'filename': [str(folder / name)]} for name in ('one', 'two', 'both')]))
    (folder / 'meson-info/intro-tests.json').write_text(json.dumps(
        [{'suite': ['samtrack:' + suite for suite in suites], 'depends': needed} for suites, needed in (
            (['gst'], ['one', 'both']), (['gst', 'nosan'], ['two']), (['ops', 'threads'], ['both', 'unbuilt']))]))
    for options, wanted in (('', 'both one two'), ('--no-suite nosan', 'both one'), ('--suite threads', 'both'),
                            ('--suite gst --no-suite nosan --no-suite threads', 'both one'), ('--suite none', '')):
        done = subprocess.run([sys.executable, ROOT / 'tests/progress.py', '--targets', folder, *options.split()],
                              text=True, capture_output=True, timeout=60)
        expect(done.stdout.strip() == wanted, f'targets with {options!r}: {done.stdout}{done.stderr}, expected {wanted}')


def check_unchanged(folder):
    """Of three tests only one is known by what it reads: it runs again whenever that is something else."""
    program, data, library, script = folder / 'op', folder / 'data/inner/file', folder / 'lib.so', folder / 'needed'
    for path in (folder / 'meson-logs', folder / 'meson-info', data.parent):
        path.mkdir(parents=True)
    (folder / 'meson-info/intro-targets.json').write_text(json.dumps([{'id': 't', 'filename': [str(script)]}]))
    for path in (program, data, library, script, folder / 'pad', folder / 'threads'):
        path.write_text('one')
    (folder / 'bad').write_text('')
    write_program(folder / 'meson', SAME)
    write_tests(folder, [str(folder / 'data')])

    def run(wanted, why, verdict='3 0 0', env=None, *arguments):
        (folder / 'ran').write_text('')
        done = subprocess.run([sys.executable, ROOT / 'tests/progress.py', *arguments, 'part', folder], text=True, capture_output=True,
                              timeout=60, env=dict(os.environ, PATH=f'{folder}:{os.environ["PATH"]}', **(env or {})))
        ran = (folder / 'ran').read_text().split()
        expect(done.stdout.strip() == verdict, f'{why}: {done.stdout.strip()}, expected {verdict}; {done.stderr}')
        expect(ran == wanted, f'{why}: ran {ran}, expected {wanted}')

    every, others = ['op', 'pad', 'threads'], ['pad', 'threads']
    run(every, 'first')
    run(others, 'nothing changed')
    run(every, 'with --again', '3 0 0', None, '--again')
    for path in (program, data, library, script):
        path.write_text('two')
        run(every, f'{path.name} changed')
        run(others, f'after {path.name} changed')
    run(every, 'another variable', env={'EMU_SM': '89'})
    run(every, 'the variable is gone')
    write_tests(folder, [str(folder / 'data'), '1'])
    run(every, 'another argument')
    write_tests(folder, [str(folder / 'data'), '1'], {'A': 'b'})
    (folder / 'bad').write_text('op')
    run(every, 'another environment', '2 1 0')
    run(every, 'it failed', '2 1 0')
    (folder / 'bad').write_text('')
    run(every, 'it failed before')
    registry = folder / 'registry'
    write_tests(folder, [str(folder / 'data'), '1'], {'GST_REGISTRY': str(registry)})
    run(every, 'a registry')
    registry.write_text('one')
    run(others, 'the registry is written')


def compile_one(folder, env):
    subprocess.run([sys.executable, ROOT / 'tools/nvcc.py', folder, folder / 'nvcc', '-c', folder / 'unit.cu', '-o', 'unit.o', '-MF',
                    'unit.d'], check=True, cwd=folder / 'build', env=env)
    expect((folder / 'build/unit.o').read_text() == (folder / 'unit.cu').read_text(), 'the object is of other sources')
    return len((folder / 'ran').read_text().splitlines())


def check_nvcc(folder):
    write_program(folder / 'nvcc', NVCC)
    (folder / 'build').mkdir()
    unit, header, version = folder / 'unit.cu', folder / 'head.cuh', folder / 'version'
    for path in (unit, header, version):
        path.write_text('one')
    env = dict(os.environ, SAMTRACK_NVCC_CACHE=str(folder / 'cache'), RAN=str(folder / 'ran'), HEADER=str(header),
               VERSION=str(version))
    expect(compile_one(folder, env) == 1, 'nothing was compiled')
    expect(compile_one(folder, env) == 1, 'compiled again without a change')
    for i, path in enumerate((unit, header, version)):
        path.write_text('two')
        expect(compile_one(folder, env) == 2 + i, f'{path.name} has changed, but is not compiled again')
    unit.write_text('one')
    header.write_text('one')
    expect(compile_one(folder, env) == 5, 'another version of nvcc, but not compiled again')
    expect(compile_one(folder, env) == 5, 'compiled again')
    del env['SAMTRACK_NVCC_CACHE']
    expect(compile_one(folder, env) == 6, 'taken from a cache that was not asked for')


def check_children():
    """A test that fails, and one that is ended, with a program that has started another."""
    for end in 'sys.exit("it failed")', 'time.sleep(60)':
        test = subprocess.Popen([sys.executable, '-c', CHILDREN + end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        child, orphan = (int(test.stdout.readline()) for _ in range(2))
        if 'sleep' in end:
            test.terminate()
        expect(test.wait(20) == 1, f'it ends with status {test.returncode}')
        left = [pid for pid in (child, orphan) if os.path.exists(f'/proc/{pid}')]
        expect(not left, f'{left} of {child}, {orphan} still run')


for check in check_progress, check_again, check_targets, check_unchanged, check_nvcc:
    with tempfile.TemporaryDirectory() as made:
        check(pathlib.Path(made))
check_children()
print('ok')
