#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_gpu.py ROOT: the scripts of tests/bench/gpu.sh with programs that imitate a GPU's answers: the order of
the steps, one that fails, one that hangs, going on in a second command, and the archive. Needs no GPU."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(sys.argv[1])
OPS = ['--op', 'linear', '--op', 'conv']  # the other operations are done alike
COPIED = ['tests/bench/gpu.sh', 'tests/bench/gpu.py', 'tests/bench/gpu_report.py', 'engine/ops/list.h']
# Answers by what the command line has; HANG: with a child that holds the output open.
STEPS = {'p50_ms': 2.0, 'p95_ms': 2.1, 'p99_ms': 2.2, 'first_ms': 2.2, 'cold_ms': 900.0, 'bytes_used': 300 << 20,
         'object_state_bytes': 6 << 20, 'object_host_bytes': 1 << 20, 'object_scratch_bytes': 14 << 20,
         'cublaslt': {'open': True, 'file': '/x/libcublasLt.so.13', 'library': 60, 'own': 40, 'own_large': []}}
NOT_OPEN = {**STEPS, 'cublaslt': {**STEPS['cublaslt'], 'open': False, 'library': 0, 'own': 100}}
LISTED = {**STEPS, 'operations': [['linear', '1x64x64x96 bf16', 4, 120.5, 3.0, 2.0, True],
                                  ['add', '1x64x64x96 f32', 2, 4.5, 0, 6.0, False]]}
STUB = '''#!{python} -SE
import sys
line = ' '.join(sys.argv)
with open({log!r}, 'a') as f:
    f.write(line + '\\n')
for words, answer in {answers!r}:
    if all(w in line for w in words):
        break
if answer == 'HANG':
    import subprocess
    subprocess.run(['sleep', '60'])
if answer == 'FAIL':
    sys.exit('CUDA: it did not work')
print(answer)
'''
PEER = {'p50_ms': 9.0, 'compiled_p50_ms': None, 'failed': None}
ANSWERS = {
    'tests/bench/bench-steps': [(['large', '--device-frames', '--operations'], 'HANG'),
                                (['large', '--device-frames'], 'FAIL'), (['--operations'], LISTED),
                                (['--frames 36', 'base+'], NOT_OPEN), ([], STEPS)],
    'tests/ops/check_ops': [(['--bench', '--op=linear '], 'linear_bf16_8x256_to_2048      cuda bf16 x0      '
                             '  12.50 us      8.0 GFLOP/s, recorded'), (['--op=conv '], 'FAIL'),
                            ([], '5 of 5 cases passed, seed 1')],
    'tests/model/stages.sh': [([], 'all stages agree')],
    'tests/track/golden.py': [([], 'all frames agree')],
    'tests/track/check_context': [([], 'ok')],
    'tests/track/check_uploader': [([], 'ok')],
    'tools/blank_model.py': [([], '')],
    'tests/bench/peer_cuda.py': [(['kernels'], {'cases': {'linear_bf16_8x256_to_2048': {'cublas': 10.0}},
                                                'copies': {'32': 3000.0}}), ([], PEER)],
}


def plant(folder, log):
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name, answers in ANSWERS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = STUB.format(python=sys.executable, answers=[
            (words, json.dumps(a) if isinstance(a, dict) else a) for words, a in answers], log=str(log))
        if name.endswith('.sh'):  # is run by sh
            text = f"exec '{sys.executable}' -c 'print(1)'\n"
        if name.endswith('blank_model.py'):  # writes the file that it is asked for
            text += 'open(sys.argv[2], "w").close()\n'
        path.write_text(text)
        path.chmod(0o755)


def run(folder, *args, hurry='0.03'):
    done = subprocess.run(['bash', str(folder / 'tests/bench/gpu.sh'), *args], capture_output=True, text=True,
                          timeout=120, env={**os.environ, 'SAMTRACK_GPU_HURRY': hurry, 'PYTHON': sys.executable})
    if 'Traceback' in done.stdout + done.stderr:
        sys.exit(done.stdout + done.stderr)
    return done


def expect(true, what, seen=''):
    if not true:
        sys.exit(f'expected {what}\n{seen}')


def whole_run(folder, log):
    """Without a limit: what is tried, in which order, and what is told of it."""
    began = time.monotonic()
    done = run(folder, '--out', str(folder / 'out'), *OPS)
    report = json.loads((folder / 'out/report.json').read_text())
    said = {what: (verdict, words) for what, verdict, words, _ in report['lines']}
    expect(done.returncode == 1, 'status 1, as something failed', done.stdout + done.stderr)
    steps = [line.split()[2].rstrip(',') for line in done.stdout.splitlines() if line.startswith('-- ')]
    expect(steps == ['library', 'frames', 'peers', 'kernels', 'correctness', 'more', 'sanitizer'], 'the order of worth',
           steps)
    expect(said['cuBLASLt, tiny'][0] == 'ok', 'cuBLASLt to be found used', said['cuBLASLt, tiny'])
    expect(said['cuBLASLt, base+'][0] == 'FAILED' and 'NOT OPENED' in said['cuBLASLt, base+'][1],
           'a loud failure where our own kernel made the products', said['cuBLASLt, base+'])
    expect(said['large 1024 px, 1 objects, device frames'] == ('FAILED', 'CUDA: it did not work'), 'the sentence of '
           'what failed', said['large 1024 px, 1 objects, device frames'])
    hung = said['operations, large 1024 px, 1 objects, device frames']
    expect(hung[0] == 'FAILED' and 'stopped after' in hung[1], 'what hangs to be stopped', hung)
    expect(time.monotonic() - began < 60, 'its child to be stopped with it')
    expect(said['op conv'][0] == 'FAILED' and said['op linear'][0] == 'ok', 'one operation to fail', said['op conv'])
    expect(report['ops']['linear'] == 'passed' and report['ops']['conv'] == 'failed', 'what kernel_table.py reads')
    tables = (folder / 'out/report.md').read_text()
    for part in ('| tiny 1024 px, 1 objects, device frames | 2.0 |', '| linear | 1x64x64x96 bf16 | 4 | 120.5 |',
                 '| linear_bf16_8x256_to_2048 | 12.5 | 8.0 | GFLOP/s recorded | cublas 10.00 | 0.80 |'):
        expect(part in tables, part, tables)
    with tarfile.open(folder / 'out/report.tar.gz') as tar:
        names = tar.getnames()
    expect({'report/report.md', 'report/report.json', 'report/logs'} <= set(names), 'the archive to have all', names)
    expect(any(n.startswith('report/logs/ours_large') for n in names), 'logs in the archive', names)
    return len(report['lines'])


def in_pieces(folder, log):
    """Commands of a few seconds each, which go on; what hangs is tried once."""
    log.unlink()
    commands, out = 0, ['--out', str(folder / 'pieces'), *OPS]
    while commands < 40:
        done = run(folder, *out, '--minutes', '5', *(['--continue'] if commands else []),
                   hurry='0.015')
        commands += 1
        if done.returncode != 3:
            break
        expect('the minutes are over' in done.stdout, 'the command to say where it stopped', done.stdout)
        expect(tarfile.is_tarfile(folder / 'pieces/report.tar.gz'), 'an archive after every command')
    expect(commands > 1 and done.returncode == 1, 'several commands, then an end', (commands, done.stdout, done.stderr))
    report = json.loads((folder / 'pieces/report.json').read_text())
    told = [what for what, *_ in report['lines']]
    expect(len(told) == len(set(told)), 'everything to be told once', told)
    models = [line for line in log.read_text().splitlines() if 'blank_model.py' in line]
    expect(len(models) <= 3, 'models to be made once', models)
    again = run(folder, *out, '--step', '1')
    more = json.loads((folder / 'pieces/report.json').read_text())
    expect(len(more['lines']) == len(told) and again.stdout.count('cuBLASLt') == 3, 'a step to be taken again', again.stdout)
    return commands


def main():
    with tempfile.TemporaryDirectory() as where:
        folder, log = pathlib.Path(where) / 'bundle', pathlib.Path(where) / 'log'
        plant(folder, log)
        lines = whole_run(folder, log)
        commands = in_pieces(folder, log)
        wrong = run(folder, '--step', '9')
        expect(wrong.returncode == 2 and 'wanted 1 to 7' in wrong.stderr, 'a step that is none to be refused', wrong.stderr)
    print(f'{lines} lines in one command, the same in {commands}')


if __name__ == '__main__':
    main()
