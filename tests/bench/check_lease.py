#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_lease.py ROOT [BUILD]: tests/bench/gpu.sh --lease, up to the last file that it writes.

With programs that imitate a GPU's answers: the order, what is beside what, an answer that is wrong and its tries under each
switch, what does not fit and --continue, a run that is killed, a machine without a GPU, one that is too old, and a bundle
that is too large. BUILD, with the emulator's programs: a dry run of the whole order."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import check_gpu
from check_gpu import ROOT, expect

FILES = {'report.md', 'report.json', 'timeline.txt', 'light.txt', 'operations.json', 'left.txt', 'logs.tar.gz', 'dumps.tar.gz'}
PHASES = ['light', 'right', 'sanitizers', 'alone', 'eager', 'compiled']
TREE = ['tests/bench/gpu_lease.py', 'tests/bench/gpu_bundle.py', 'tests/bench/recipes.json', 'tests/track/golden.py',
        'tests/bench/gpu.sh', 'tests/bench/gpu.py', 'tests/bench/gpu_report.py', 'engine/ops/list.h']
STEPS = {**check_gpu.LISTED, 'backend': 'cuda', 'device': 'a GPU', 'precision': 'bf16', 'open_ms': 100.0, 'graphs': 5,
         'graph_misses': 0, 'overlaps': True, 'wgmma': True, 'without': [], 'twins': {'64': 0.002},
         'waits': {'per_frame': 7.0, 'ms': 0.1}}
WRONG = 'FAIL conv_bf16_odd (cuda bf16 x0), seed 1, launched: _Z11gemm_kernelILi2ELi4EEvT_, cuBLASLt\n     3 of 9 values off; first row 1 channel 2: ' \
    'want 1, got 2; worst row 1\n     wanted and got: /d/conv.safetensors\n4 of 5 cases passed, seed 1'
# Programs of the bundle: parts of their command lines, and the answer; SLOW: it takes all the time of its phase.
ANSWERS = {
    'tests/bench/bench-steps': [([], STEPS)],
    'tests/ops/check_ops': [(['--op=conv ', 'WITHOUT=wgmma'], '5 of 5 cases passed, seed 1'), (['--op=conv '], WRONG),
                            ([], '5 of 5 cases passed, seed 1')],
    'tests/ops/check_wgmma': [([], 'both kernels agree with the other and with the reference')],
    'tests/model/sam-stages': [([], 'ok')], 'tools/sam-replay': [([], 'ok')],
    'tools/sam-detect': [([], {'p50_ms': 1.5})],
    'tests/track/check_context': [([], 'ok')], 'tests/track/check_uploader': [([], 'ok')],
    'tests/detect/detect': [([], 'ok')], 'tests/detect/rfdetr': [([], 'ok')], 'tests/detect/mask2former': [([], 'ok')],
}
SCRIPTS = {
    'tools/blank_model.py': 'assert sys.argv[1] in ("tiny", "base+", "large", "edgetam", "rf-detr-nano", "yolov10-s"), sys.argv\n'
                            'open(sys.argv[2], "w").close()\n',
    # Compiles for a while, waits for its turn, and tells by its log whether it was stopped meanwhile.
    'tests/bench/peer_cuda.py': '''
import json, os, time
if sys.argv[-1] != 'eager':
    ticks = []
    while not os.path.exists(os.environ['SAM_PEER_GO']):
        time.sleep(0.01)
        ticks.append(time.time())
    open(os.environ['SAM_PEER_GO'] + '.ticks', 'w').write(json.dumps(ticks))
print(json.dumps({'p50_ms': 9.0, 'compiled_p50_ms': None if sys.argv[-1] == 'eager' else 6.6, 'failed': None}))
''',
}


def stub(path, answers, log):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f'''#!{sys.executable} -SE
import os, sys, time
line = ' '.join(sys.argv) + ' WITHOUT=' + os.environ.get('SAMTRACK_CUDA_WITHOUT', '')
with open({str(log)!r}, 'a') as f:
    f.write(line + '\\n')
for words, answer in {[(w, json.dumps(a) if isinstance(a, dict) else a) for w, a in answers]!r}:
    if all(w in line for w in words):
        break
time.sleep(0.02)
print('bench-steps: warning: the library is not there\\nbench-steps: 5 graphs', file=sys.stderr)
print(answer)
if 'FAIL' in answer and 'bench-steps' in line:
    print(answer, file=sys.stderr)
sys.exit('FAIL' in answer)
'''
    path.write_text(text)
    path.chmod(0o755)


def plant(tree, bundle, log):
    for name in TREE:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    for golden in ('a', 'b', 'c'):
        (tree / 'tests/golden' / golden).mkdir(parents=True)
        shutil.copy(ROOT / 'tests/golden' / golden / 'scenarios.json', tree / 'tests/golden' / golden)
        for name in ('click', 'model'):
            (tree / 'tests/golden' / golden / f'{name}.safetensors').touch()
    for name, answers in ANSWERS.items():
        stub(bundle / name, answers, log)
    stub(tree / 'bin/compute-sanitizer', [([], 'ERROR SUMMARY: 0 errors')], log)
    for name, text in SCRIPTS.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text('import sys\n' + text)
    # What compares is tested elsewhere.
    (tree / 'tests/model').mkdir(parents=True)
    (tree / 'tests/model/stages.sh').write_text('echo ok\n')
    (tree / 'tests/track/golden.py').write_text('print("ok")\ndef read_safetensors(path): return {}\n'
                                                'def compare(*_): return [], "equal"\n')
    (bundle / 'needs.json').write_text('{"glibc": "2.10", "cuda": "13.0", "driver": "580.65"}\n')
    (bundle / 'lib').mkdir()


def command(tree, *args):
    return ['bash', str(tree / 'tests/bench/gpu.sh'), '--lease', *map(str, args)]


def environment(tree, hurry):
    return {**os.environ, 'SAMTRACK_GPU_HURRY': hurry, 'PYTHON': sys.executable, 'PATH': f"{tree}/bin:{os.environ['PATH']}"}


def run(tree, *args, hurry='0.02'):
    done = subprocess.run(command(tree, *args), capture_output=True, text=True, timeout=200, env=environment(tree, hurry))
    expect('Traceback' not in done.stdout + done.stderr, 'no exception', done.stdout + done.stderr)
    return done


def whole_of(folder):
    """The report of a folder in which every file is whole."""
    names = {p.name for p in folder.iterdir()}
    expect(names == FILES, 'the eight files', names)
    for name in ('logs.tar.gz', 'dumps.tar.gz'):
        with tarfile.open(folder / name) as tar:
            tar.getmembers()
    return json.loads((folder / 'report.json').read_text())


def in_order(tree, archive, copy):
    done = run(tree, '--from', archive, '--copy', copy, '--out', tree / 'out', '--op', 'add', '--op', 'conv', hurry='0.05')
    report = whole_of(copy)
    expect(all(report['speed'][n] for n in ('light', 'first tiny', 'embedded 320 px', 'rf-detr-nano 384 px')) and
           'AssertionError' not in str(report['lines']), 'models that there are', report['lines'])
    expect(done.returncode == 1, 'status 1, as an answer was wrong', done.stdout + done.stderr)
    phases = [line.split()[1].rstrip(',') for line in done.stdout.splitlines() if line.startswith('-- ')]
    expect(phases == PHASES, 'the order', phases)
    for line in ('launches: overlap', 'kernels of sm_90a: used', 'twin 64: 0.002', 'cuBLASLt: open, /x/libcublasLt.so.13'):
        expect(line in done.stdout[:done.stdout.index('-- right')], f'{line} to be told first', done.stdout)
    said = {what: (verdict, words) for what, verdict, words, _ in report['lines']}
    expect(said['op conv'][0] == 'FAILED' and all(w in said['op conv'][1] for w in (
        'launched: gemm_kernel<2,4>, cuBLASLt', 'conv_bf16_odd', 'first row 1 channel 2: want 1, got 2', '/d/conv.safetensors')),
        'the kernel, the case, the element and the file', said['op conv'])
    tried = {what: verdict for what, (verdict, _) in said.items() if what.startswith('op conv without')}
    expect(len(tried) == 5 and tried['op conv without wgmma'] == 'ok' and list(tried.values()).count('FAILED') == 4,
           'the same under each switch', tried)
    expect(report['ops'] == {'add': 'passed', 'conv': 'failed', **{f'conv without {s}': 'passed' if s == 'wgmma' else 'failed'
                                                                   for s in ('wgmma', 'overlap', 'cublaslt', 'graphs', 'carveout')}},
           'what kernel_table.py reads', report['ops'])
    expect(all(said[f'{what} {g} {p}' if what == 'replay' else f'{what} {p} {g}'][0] == 'ok' for g in 'abc' for what, p in (
        ('replay', 'fp32 click'), ('stages own', 'fp32'), ('stages own', 'bf16'))), 'every golden', sorted(said))
    expect(report['warnings'] == ['the library is not there'], 'a warning to be told once', report['warnings'])
    expect('op add without wgmma' not in said, 'no more tries of what is right')
    times = {name: (a, b, phase) for a, b, phase, _, name in report['timeline']}
    beside = [n for n, (a, b, phase) in times.items() if phase == 'right']
    expect(any(times[x][0] < times[y][1] and times[y][0] < times[x][1] for x in beside for y in beside if x != y),
           'answers to be checked beside each other', report['timeline'])
    alone = sorted((a, b) for a, b, phase in times.values() if phase in ('alone', 'eager'))
    expect(all(x[1] <= y[0] + 0.06 for x, y in zip(alone, alone[1:])), 'times to be taken alone', alone)
    expect(said['published, compiled, tiny 1024 px, 1 objects'] == ('ok', '6.6 ms'), 'the compiled peer', said)
    expect(said['embedded 320 px'][1].count('7.0 waits a frame, 0.100 ms in them') == 1, 'what the waits cost', said['embedded 320 px'])
    line = next(x for x in (tree.parent / 'log').read_text().splitlines() if '--precision fp32' in x and 'bench-steps' in x)
    expect('/tiny.safetensors' in line and '--side 1024' in line, 'one fp32 frame of the true size', line)
    expect(said['memcheck linear linear_bf16_2x130x72_to_136'][0] == 'ok', 'the sanitizer', said)
    expect((copy / 'left.txt').read_text() == 'nothing\n', 'nothing left', (copy / 'left.txt').read_text())
    ticks = json.loads((tree / 'out/go.ticks').read_text())
    gap = max(b - a for a, b in zip(ticks, ticks[1:]))
    expect(gap > 0.8 * (alone[-1][1] - alone[0][0]), 'the compiler to be stopped while others are timed', gap)
    return len(report['lines'])


def in_pieces(tree, bundle, copy):
    """Too few minutes: what does not fit is named, and done by the next command."""
    args = ['--from', bundle, '--copy', copy, '--out', tree / 'pieces', '--op', 'add']
    done = run(tree, *args, '--minutes', '1.8')
    left = (copy / 'left.txt').read_text().splitlines()
    whole_of(copy)
    expect(done.returncode == 3 and len(left) > 3, 'status 3, and what is left', done.stdout)
    expect(all(f"left: {line.split(': is')[0]}" in done.stdout for line in left), 'each of it to be told', done.stdout)
    commands = 1
    while done.returncode == 3 and commands < 30:
        done = run(tree, *args, '--minutes', '3', '--continue')
        commands += 1
    expect(commands > 1 and done.returncode == 0, 'the rest to be done', done.stdout)
    report = whole_of(copy)
    told = [what for what, *_ in report['lines']]
    expect(len(told) == len(set(told)), 'everything to be told once', told)
    # Of a fault that the first command had no time for, too: its tries under switches.
    stub(bundle / 'tests/ops/check_ops', ANSWERS['tests/ops/check_ops'], tree / 'log')
    args[args.index('add')] = 'conv'
    args[args.index(tree / 'pieces')] = tree / 'faults'
    done = run(tree, *args, '--minutes', '1.2')
    while done.returncode == 3 and commands < 60:
        done = run(tree, *args, '--minutes', '3', '--continue')
        commands += 1
    tries = [what for what, *_ in whole_of(copy)['lines'] if what.startswith('op conv without')]
    expect(len(tries) == 5, 'five tries', (tries, done.stdout))
    return commands


def nowhere(tree):
    """A bundle that is not there is told, and nothing is made in its place."""
    absent = tree / 'absent.tar.xz'
    done = run(tree, '--from', absent)
    expect(done.returncode == 2 and f'--from {absent}: expected a folder or an archive' in done.stderr and not absent.exists(),
           'one sentence', done.stdout + done.stderr)


def by_name(tree, bundle):
    """The phases that are asked for, and light, which tells whether the rest is worth a try."""
    phases = run(tree, '--from', bundle, '--dry-run', '--phases', 'alone,right').stdout
    expect([line.split(',')[0] for line in phases.splitlines() if ', to ' in line] == ['light', 'right', 'alone'], 'three phases', phases)
    done = run(tree, '--from', bundle, '--dry-run', '--phases', 'right,wrong')
    expect(done.returncode == 2 and '--phases wrong: wanted some of light,right' in done.stderr, 'one sentence', done.stderr)


def killed(tree, bundle, copy):
    """A command that ends in the middle leaves whole files."""
    log = tree / 'killed.log'
    with open(log, 'w') as f:
        process = subprocess.Popen(command(tree, '--from', bundle, '--copy', copy, '--out', tree / 'killed', '--op', 'add'),
                                   stdout=f, stderr=f, env=environment(tree, '0.05'), start_new_session=True)
        until = time.monotonic() + 60
        while '-- alone' not in log.read_text() and time.monotonic() < until:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):  # the compiling peer has a group of its own
        try:
            if str(tree / 'tests/bench/peer_cuda.py').encode() in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)
        except OSError:
            pass
    report = whole_of(copy)
    expect('op add' in report['done'] and 'light' in report['done'], 'what was done to be kept', report['done'])


def refused(tree, bundle):
    """Where nothing can run, one sentence says why."""
    stub(bundle / 'tests/bench/bench-steps', [([], "FAIL: CUDA: this machine has no NVIDIA driver; use backend 'cpu'")], tree / 'log')
    done = run(tree, '--from', bundle, '--out', tree / 'none')
    expect(done.returncode == 77 and 'this machine has no NVIDIA driver' in done.stdout.splitlines()[-1], 'status 77 and why', done.stdout)
    # A backend that opens and fails is no reason to stop.
    stub(bundle / 'tests/bench/bench-steps', [(['WITHOUT=graphs'], STEPS), ([], 'FAIL: step: a record cannot be launched')],
         tree / 'log')
    done = run(tree, '--from', bundle, '--out', tree / 'fault', '--copy', tree / 'fault-copy', '--op', 'add', hurry='0.05')
    told = whole_of(tree / 'fault-copy')
    said = {what: verdict for what, verdict, *_ in told['lines']}
    expect(done.returncode == 1 and said['light'] == 'FAILED' and said['light without graphs'] == 'ok' and said['op add'] == 'ok',
           'the rest to be tried, and the switch that helps to be found', done.stdout)
    expect('WITHOUT graphs' in (tree / 'fault-copy/light.txt').read_text() and said['first tiny'] == 'ok', 'all else without it', said)
    (bundle / 'needs.json').write_text('{"glibc": "2.99", "cuda": "13.0", "driver": "580.65"}\n')
    done = run(tree, '--from', bundle, '--out', tree / 'none')
    expect(done.returncode == 77 and 'need glibc 2.99 or later, and this machine has 2.' in done.stdout, 'the glibc', done.stdout)
    done = run(tree)
    expect(done.returncode == 2 and '--lease wants --from' in done.stderr, 'a bundle to be asked for', done.stderr)
    done = subprocess.run([sys.executable, ROOT / 'tests/bench/gpu_bundle.py', 'fits', 'x', str(64 << 20)], capture_output=True, text=True)
    expect('bytes too many' in done.stderr or 'git' in done.stderr, 'a bundle that is too large to be refused', done.stderr)


def dry_run(build):
    with tempfile.TemporaryDirectory() as where:
        copy = pathlib.Path(where) / 'copy'
        done = subprocess.run(command(ROOT, '--emulated', '--from', build, '--minutes', '60', '--copy', copy, '--out',
                                      pathlib.Path(where) / 'out', '--op', 'add'), capture_output=True, text=True,
                              env={**os.environ, 'PYTHON': sys.executable})
        report = whole_of(copy)
        wrong = [x for x in report['lines'] if x[1] == 'FAILED' and not any(j['what'] == x[0] for j in report['judged'])]
        expect(not wrong and done.returncode in (0, 1), 'nothing to fail but figures', (wrong, done.stdout, done.stderr))
        expect((copy / 'left.txt').read_text() == 'nothing\n', 'nothing left', (copy / 'left.txt').read_text())
        print((copy / 'timeline.txt').read_text(), f"{len(report['lines'])} lines", sep='')


def main():
    if len(sys.argv) > 2:
        return dry_run(sys.argv[2])
    with tempfile.TemporaryDirectory() as where:
        where = pathlib.Path(where)
        tree, bundle = where / 'tree', where / 'lease'
        plant(tree, bundle, where / 'log')
        with tarfile.open(where / 'lease.tar.xz', 'w:xz', preset=0) as tar:
            tar.add(bundle, 'lease')
        lines = in_order(tree, where / 'lease.tar.xz', where / 'copy')
        stub(bundle / 'tests/ops/check_ops', [([], '5 of 5 cases passed, seed 1')], where / 'log')
        commands = in_pieces(tree, bundle, where / 'copy2')
        nowhere(tree)
        by_name(tree, bundle)
        killed(tree, bundle, where / 'copy3')
        refused(tree, bundle)
    print(f'{lines} lines in one command; {commands} commands for what did not fit in one')


if __name__ == '__main__':
    main()
