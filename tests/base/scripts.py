#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the scripts say before and while they install and build, with an apt-get, a meson and a ninja that only pretend.
usage: scripts.py SOURCES"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import children

# Those of pipelines/ that install and build, and their arguments; the folder is a new one.
SCRIPTS = {'camera': [], 'demo': [], 'detect': ['/etc/passwd', '/etc/passwd'], 'file': ['/etc/passwd'],
           'label-maps': ['/etc/passwd', '{folder}/maps', 'point,x=1,y=1'], 'live': []}
FAKES = {'dpkg-query': 'exit 1', 'apt-get': 'echo "apt-get: no network" >&2; exit 100', 'sudo': 'exec "$@"',
         'meson': 'echo "meson was called" >&2', 'ninja': 'echo "ninja was called" >&2'}
# An apt-get that installs, slowly.
INSTALLS = '''case "$*" in *install*)
    echo "dlstatus:1:12.5:Retrieving file 1 of 8"; echo "Setting up something"
    echo "pmstatus:libx:62.5:Unpacking libx" ;; esac'''
LIBRARIES = 'test "$1" = --exists && { grep -qx "$2" "$LIBRARIES"; exit; }; echo 1.0'
MESON = 'echo "meson $*" >>"$CALLS"; mkdir -p build; touch build/build.ninja; tools/libraries.sh >build/samtrack-libraries'
NINJA = 'echo "ninja $*" >>"$CALLS"; echo "[1/3] one"; echo "[2/3] two"; sleep 1; echo "[3/3] three"'


def write_fakes(folder, fakes):
    for name, text in fakes.items():
        fake = pathlib.Path(folder, name)
        fake.write_text(f'#!/bin/sh\n{text}\n')
        fake.chmod(0o755)


def run(command, folder, **variables):
    env = dict(os.environ, PATH=f'{folder}:{os.environ["PATH"]}', DISPLAY=':1', SAMTRACK_CAMERA='none', **variables)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)


def expect(what, condition, done):
    if not condition:
        sys.exit(f'FAILED: {what}; status {done.returncode}, {done.stdout!r}, {done.stderr!r}')


def stop_without_packages(sources, folder):
    """A script whose packages cannot be installed stops there, and says no more than why."""
    write_fakes(folder, FAKES)
    for name, arguments in SCRIPTS.items():
        done = run([sources / 'pipelines' / f'{name}.sh', *(a.format(folder=folder) for a in arguments)], folder)
        expect(f'{name}.sh stops', done.returncode == 100 and done.stderr == 'apt-get: no network\n', done)
    done = run([sources / 'tests' / 'arm64.sh'], folder)
    expect('arm64.sh stops', done.returncode == 1 and done.stdout.endswith('0 passed, 1 failed\n') and
           done.stderr == 'apt-get: no network\n', done)


def stop_without_root(sources, folder):
    """The root of another system that cannot be made: the reason, and no test is said to have passed."""
    write_fakes(folder, {'id': 'echo 0', 'debootstrap': 'echo "E: no network"; exit 1'})
    done = run([sources / 'tests' / 'versions.sh', '--debian', '13'], folder, SAMTRACK_ROOTS=str(pathlib.Path(folder, 'roots')))
    expect('versions.sh stops', done.returncode == 1 and done.stdout == '0 passed, 1 failed, 0 skipped\n' and
           'E: no network' in done.stderr and 'cannot be made' in done.stderr, done)
    for arguments in [], ['--debian'], ['--debian', 'bogus'], ['--bogus', '13']:
        done = run([sources / 'tests' / 'versions.sh', *arguments], folder)
        expect('versions.sh refuses what it does not know', done.returncode == 2 and 'usage:' in done.stderr and not done.stdout, done)


def tell_installation(sources, folder):
    write_fakes(folder, {'apt-get': INSTALLS})
    done = run([sources / 'tools' / 'setup.sh', 'run'], folder)
    expect('setup.sh tells what it installs', done.returncode == 0 and 'installing the packages' in done.stdout, done)
    expect('setup.sh tells how far it is', 'downloading packages, 12 %' in done.stderr and 'Setting' not in done.stdout, done)


def ask_the_python_of_the_tests(sources, folder):
    """Another Python, ahead in the PATH, may have the modules: those that run the tests lack them all the same."""
    root = pathlib.Path(folder, 'asked')
    (root / 'tools').mkdir(parents=True)
    shutil.copy(sources / 'tools' / 'setup.sh', root / 'tools')
    has_them = subprocess.run(['/usr/bin/python3', '-c', 'import supervision, datumaro'], capture_output=True).returncode == 0
    write_fakes(folder, {'python3': 'exit 0'})
    done = run([root / 'tools' / 'setup.sh', 'readers'], folder, PIP_NO_INDEX='1')
    expect('setup.sh asks the Python of the tests', done.returncode == 0 and ('cannot be installed' in done.stderr) != has_them, done)
    (pathlib.Path(folder) / 'python3').unlink()


def build_again(sources, folder):
    """The build folder is configured once, and again when a library has come; building tells how far it is."""
    root = pathlib.Path(folder, 'root')
    (root / 'tools').mkdir(parents=True)
    for name in ('build.sh', 'has_gpu.sh', 'libraries.sh'):
        shutil.copy(sources / 'tools' / name, root / 'tools')
    write_fakes(folder, {'meson': MESON, 'ninja': NINJA, 'pkg-config': LIBRARIES})
    calls, libraries = root / 'calls', root / 'libraries'
    libraries.write_text('gstreamer-1.0\n')
    none, some = '/nonexistent', '/dev/null'  # in the place of a GPU's device
    for known, gpu, wanted in (('gstreamer-1.0\n', none, ['meson setup build -Demu=false -Dcuda=disabled']), ('gstreamer-1.0\n', none, []),
                               ('gstreamer-1.0\nlibsoup-3.0\n', none, ['meson setup build --reconfigure']),
                               ('gstreamer-1.0\nlibsoup-3.0\n', f'{none} {some}', ['meson setup build --reconfigure -Dcuda=auto -Dgpu_quick=false']),
                               ('gstreamer-1.0\nlibsoup-3.0\n', some, []), (None, some, ['meson setup build -Demu=false'])):
        if known is None:
            shutil.rmtree(root / 'build')
        libraries.write_text(known or '')
        calls.write_text('')
        done = run([root / 'tools' / 'build.sh', 'target'], folder, CALLS=str(calls), LIBRARIES=str(libraries), SAMTRACK_GPU_DEVICES=gpu)
        expect('build.sh builds', done.returncode == 0, done)
        expect('build.sh configures when it must', calls.read_text().splitlines() == wanted + ['ninja -C build target'], done)
        expect('build.sh tells how far it is', 'building, 1 of 3' in done.stderr and not done.stdout, done)
    write_fakes(folder, {'ninja': 'echo "[1/2] cc"; read line <"$GATE"; echo "[2/2] cc"'})
    os.mkfifo(root / 'gate')
    slow = subprocess.Popen([root / 'tools' / 'build.sh'], stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, PATH=f'{folder}:{os.environ["PATH"]}', GATE=str(root / 'gate'), CALLS=str(calls),
                                     LIBRARIES=str(libraries)))
    line = slow.stderr.readline()
    (root / 'gate').write_text('go on\n')
    slow.wait(timeout=60)
    expect('build.sh tells it while it builds', line.endswith('building, 1 of 2\n') and slow.returncode == 0, done)
    write_fakes(folder, {'ninja': 'echo "[1/2] cc"; echo "x.c: no such thing"; exit 1'})
    done = run([root / 'tools' / 'build.sh'], folder, CALLS=str(calls), LIBRARIES=str(libraries))
    expect('build.sh shows what failed', done.returncode == 1 and 'x.c: no such thing' in done.stdout, done)


def measure_coverage(sources, folder):
    """Of this tree alone, or of a commit's first: then both are told, and nothing is left of the other tree. No table where a test of this one fails twice; of the other one it is told."""
    root, calls = folder / 'measured', folder / 'measured.calls'
    (root / 'tools').mkdir(parents=True)
    shutil.copy(sources / 'tools' / 'coverage.sh', root / 'tools')
    (root / 'tools' / 'coverage.py').write_text('import os, sys\nprint(os.getcwd(), *sys.argv[1:])\n')
    (root / 'tools' / 'setup.sh').write_text('#!/bin/sh\n')
    (root / 'tools' / 'setup.sh').chmod(0o755)
    write_fakes(folder, {'ninja': 'echo "ninja in $PWD"', 'meson': 'echo "$PWD: meson $*" >>"$CALLS"; '
                         'mkdir -p build-coverage/meson-logs; touch build-coverage/build.ninja; test "$1" = setup && exit; '
                         'failures=$FAILURES; case $PWD in *before) failures=$BEFORE ;; esac; test $(grep -c "$PWD: meson test" "$CALLS") -gt $failures && exit; '
                         """echo '{"name": "all / one", "result": "FAIL"}' >build-coverage/meson-logs/testlog.json; exit 1"""})
    who = {f'GIT_{what}_{part}': 'somebody' for what in ('AUTHOR', 'COMMITTER') for part in ('NAME', 'EMAIL')}
    for words in (['init', '-q'], ['add', '.'], ['commit', '-qm', 'all']):
        subprocess.run(['git', '-C', root, *words], check=True, env=dict(os.environ, **who))
    before = root / 'build-coverage-before'
    alone, beside = f'{root}/build-coverage .\n', f'{root}/build-coverage . before.txt before.files\n'
    for arguments, failures, table in (([], {root: 0}, alone), ([], {root: 1}, alone), ([], {root: 2}, ''), (['HEAD'], {before: 0, root: 0}, beside),
                                       (['HEAD'], {before: 2, root: 0}, beside), (['HEAD'], {before: 0, root: 2}, '')):
        calls.write_text('')
        shutil.rmtree(root / 'build-coverage', ignore_errors=True)
        done = run([root / 'tools' / 'coverage.sh', *arguments], folder, CALLS=str(calls), FAILURES=str(failures[root]), BEFORE=str(failures.get(before, 0)))
        called = [line.split()[:3] for line in calls.read_text().splitlines()]
        words = [f'{tree}: meson {word}'.split() for tree, times in failures.items() for word in ('setup', 'test', 'test')[:3 if times else 2]]
        expect(f'coverage.sh {arguments} measures', called == words, done)
        expect(f'coverage.sh {arguments}, its table', (done.returncode == 0) == (done.stdout != '') and done.returncode in (0, 2) and done.stdout == table, done)
        expect('coverage.sh says what failed', ('tests failed twice' in done.stderr and 'one' in done.stderr) == (2 in failures.values()), done)
        expect('coverage.sh leaves no tree', not (root / 'build-coverage-before').exists(), done)
    for arguments in (['--bogus'], ['bogus'], ['HEAD', 'bogus']):
        done = run([root / 'tools' / 'coverage.sh', *arguments], folder)
        expect('coverage.sh refuses what it does not know', done.returncode == 2 and 'bogus' in done.stderr and not done.stdout, done)


def refuse_arguments(sources, folder):
    """Ahead of everything that takes time or leaves something."""
    for arguments in ['--bogus'], [folder / 'packages', 'build', 'bogus']:
        done = run([sources / 'tools' / 'package.sh', *arguments], folder)
        expect('package.sh refuses what it does not know', done.returncode == 2 and 'bogus' in done.stderr and not done.stdout, done)
        expect('package.sh has begun nothing', not (folder / 'packages').exists(), done)
    done = run([sources / 'tests' / 'arm64.sh', '--bogus'], folder)
    expect('arm64.sh refuses what it does not know', done.returncode == 2 and 'bogus' in done.stderr and not done.stdout, done)
    for name, argument in (('check_style.py', '--bogus'), ('check_style.py', folder / 'bogus'), ('check_floors.py', '--bogus'),
                           ('check_floors.py', folder / 'bogus')):
        done = run([sys.executable, sources / 'tools' / name, argument], folder)
        expect(f'{name} refuses what it does not know', done.returncode == 1 and not done.stdout and done.stderr.count('\n') == 1 and
               done.stderr.startswith(f'{name}: ') and 'bogus' in done.stderr and 'expected' in done.stderr, done)


def main(sources):
    children.end_with_test()
    with tempfile.TemporaryDirectory() as folder:
        stop_without_packages(sources, folder)
        stop_without_root(sources, folder)
        tell_installation(sources, folder)
        ask_the_python_of_the_tests(sources, folder)
        build_again(sources, folder)
        if shutil.which('git'):
            measure_coverage(sources, pathlib.Path(folder))
        refuse_arguments(sources, pathlib.Path(folder))
    print(f'{len(SCRIPTS)} scripts stop; set-up and build tell how far they are')


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
