#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_op_times.py BENCH_STEPS MODEL: what bench-steps tells of operations and products, on the emulated
device. How long they take there means nothing; that every operation of every frame is told of does."""

import json
import os
import subprocess
import sys

FRAMES, FULL = 10, 6  # of the run; from which on bench-steps times
CUDA = {'overlaps', 'wgmma', 'graphs', 'graph_misses', 'twins', 'without'}  # told of that backend alone


def run(*more, backend=('cuda', 'bf16'), without=''):
    done = subprocess.run([sys.argv[1], '--model', sys.argv[2], '--backend', backend[0], '--precision', backend[1],
                           '--side', '64', '--frames', str(FRAMES), '--full', str(FULL), *more],
                          capture_output=True, text=True, timeout=300,
                          env={**os.environ, 'SAMTRACK_CUDA_WITHOUT': without})
    if done.returncode:
        sys.exit(f'bench-steps ended with {done.returncode}: {done.stderr}')
    its = json.loads(done.stdout.splitlines()[-1])
    words = [w for w in without.split(',') if w]
    expect(('bench-steps: cuda: device 0' in done.stderr) == (backend[0] == 'cuda'), 'the log on standard error')
    expect(all(w in ''.join(done.stderr) for w in words), 'the log to name what is switched off')
    if backend[0] != 'cuda':
        expect(not CUDA & its.keys(), 'nothing of CUDA with another backend')
        return its
    expect(CUDA <= its.keys() and its['without'] == words, f'{sorted(CUDA)} with {words}')
    expect(its['overlaps'] == ('overlap' not in words), 'overlaps to be what was asked for')
    expect(its['wgmma'] == ('wgmma' not in words), 'wgmma to be what was asked for')
    expect(len(its['twins']) == (0 if 'wgmma' in words else 5) and
           all('attend_wgmma_kernel' in name and 0 < off <= 2**-7 for name, off in its['twins'].items()),
           'the distance of each twin')
    return its


def expect(true, what):
    if not true:
        sys.exit(f'expected {what}')


on_cpu = run('--operations', '--threads', '1', backend=('cpu', 'fp32'))['operations']
names = {name for name, *_ in on_cpu}
for name in ('preprocess', 'linear', 'attention', 'gather_memory'):
    expect(name in names, f'{name} among the operations of the CPU')
expect(sum(calls for name, _, calls, *_ in on_cpu if name == 'preprocess') == 1, 'one preprocess a frame on the CPU')
expect(all(us > 0 for _, _, _, us, *_ in on_cpu), 'each operation of the CPU to take time')
recorded = run()
expect('operations' not in recorded and recorded['graphs'] > 0, 'a recorded run without times of operations')
expect(recorded['cublaslt']['library'] + recorded['cublaslt']['own'] > 0, 'products to be counted')
waits = recorded['waits']['per_frame']
expect(waits == 1 and recorded['waits']['ms'] > 0, f'a recorded frame to be waited for once, found {waits}')
of = {}
for where in ([], ['--device-frames']):
    its = run('--operations', *where, without='' if where else 'overlap,wgmma')
    expect(its['graphs'] == 0, 'nothing to be recorded')
    expect(its['on_device'] == bool(where), 'frames where they were asked for')
    of[bool(where)] = its['operations']
    names = {name for name, *_ in its['operations']}
    for name in ('preprocess', 'linear', 'attention', 'window_attention', 'gather_memory'):
        expect(name in names, f'{name} among the operations')
    for name, shape, calls, us, gflop, mb, library in its['operations']:
        expect(us > 0, f'{name} {shape} to take time')
    calls = {name: calls for name, _, calls, *_ in its['operations']}
    expect(calls['preprocess'] == 1, 'one preprocess a frame')
    expect(sum(g for *_, g, _, _ in its['operations']) > 0.001, 'floating-point operations to be counted')
told = [[(name, shape, calls) for name, shape, calls, *_ in sorted(of[w])] for w in (False, True)]
expect(told[0] == told[1], 'the same operations wherever the frames are')
print(f'{len(told[0])} operations with their shapes, {sum(c for *_, c in told[0]):.0f} calls a frame')
