#!/usr/bin/env python3
"""The parts of tests/bench/gpu.sh: gpu.py FOLDER [--only correctness|sanitizer|speed].

Standard library only; the peer runs in this Python, if it has torch. Leaves FOLDER/gpu-report.json,
which tools/kernel_table.py --gpu reads."""

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEER = HERE / 'peer_cuda.py'
SANITIZERS = ('memcheck', 'racecheck')
# Asked of a GPU of the H200 class: (size, side, objects) -> most ms of a frame, at full memory.
WANTED_MS = {('tiny', 1024, 1): 2.2, ('base+', 1024, 1): 3.4, ('large', 1024, 1): 7.0,
             ('base+', 1024, 16): 22.0}
WANTED_RATIO = {1024: 3.0, 512: 4.0}  # times the compiled published code
SPEEDS = [('tiny', 1024, 1), ('base+', 1024, 1), ('large', 1024, 1), ('tiny', 512, 1),
          ('base+', 512, 1), ('base+', 1024, 2), ('base+', 1024, 4), ('base+', 1024, 16)]
MIB = 1 << 20


class Report:
    def __init__(self):
        self.facts = {'date': datetime.date.today().isoformat(), 'device': device(), 'ops': {},
                      'sanitizer': {}, 'goldens': {}, 'speed': {}, 'peer': {}, 'judged': []}
        self.failed = 0

    def line(self, what, good, words=''):
        """good: None where it could not be tried."""
        verdict = 'skipped' if good is None else 'ok' if good else 'FAILED'
        self.failed += good is False
        print(f'{what:44} {verdict:8} {words}', flush=True)

    def judge(self, what, got, wanted, most=True):
        good = None if got is None else got <= wanted if most else got >= wanted
        self.facts['judged'].append({'what': what, 'got': got, 'wanted': wanted, 'good': good})
        sign = '<=' if most else '>='
        self.line(what, good, f'{"-" if got is None else f"{got:.3f}"}, wanted {sign} {wanted}')


def device():
    asked = ['nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader']
    try:
        return subprocess.run(asked, capture_output=True, text=True).stdout.strip() or 'unknown'
    except OSError:
        return 'unknown'


def run(command, **environment):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          env={**os.environ, **environment})


def last_line(done):
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return lines[-1] if lines else f'ended with {done.returncode}'


def last_json(done):
    """(the JSON on the last line, None), or (None, why there is none)."""
    try:
        return json.loads(done.stdout.strip().splitlines()[-1]), None
    except (IndexError, ValueError):
        said = (done.stderr or done.stdout).strip().splitlines()
        return None, said[-1] if said else f'ended with {done.returncode}'


def operations():
    text = (ROOT / 'tests/ops/meson.build').read_text()
    names = re.findall(r"'(\w+)'", re.search(r'ops_names = \[(.*?)\]', text, re.S)[1])
    return [n for n in names if n != 'rope_attention']  # the backend does without


def status_of(done):
    return {0: 'passed', 77: 'skipped'}.get(done.returncode, 'failed')


def correctness(r, folder):
    for op in operations():
        done = run([folder / 'tests/ops/check_ops', '--backend=cuda', f'--op={op}', '1'])
        r.facts['ops'][op] = status = status_of(done)
        r.line(f'op {op}', {'passed': True, 'skipped': None}.get(status, False), last_line(done))
    for precision in ('fp32', 'bf16'):
        for name, goldens in (('own', ROOT / 'tests/golden'), ('shared', '')):
            done = run(['sh', ROOT / 'tests/model/stages.sh', folder / 'tests/model/sam-stages',
                        goldens, 'cuda', precision])
            golden(r, f'stages {name} {precision}', done)
    runs = [(ROOT / 'tests/golden/a', 'fp32', ['--random', '--stages']),
            (ROOT / 'tests/golden/b', 'fp32', ['--random', '--stages'])]
    runs += [(f'@{n}', 'fp32', []) for n in ('nano', 'nano-p', 'mini', 'mini-b')]
    runs += [(f'@{n}', 'bf16', []) for n in ('nano', 'nano-p')]
    for where, precision, more in runs:
        done = run([sys.executable, ROOT / 'tests/track/golden.py', folder / 'tools/sam-replay',
                    where, '--backend', 'cuda', '--precision', precision, *more])
        golden(r, f'replay {os.path.basename(where)} {precision}', done)


def golden(r, name, done):
    r.facts['goldens'][name] = status = status_of(done)
    r.line(name, {'passed': True, 'skipped': None}.get(status, False), last_line(done))


def sanitizer(r, folder):
    program = shutil.which('compute-sanitizer') or '/usr/local/cuda/bin/compute-sanitizer'
    for tool in SANITIZERS:
        if not os.path.exists(program):
            r.line(f'compute-sanitizer {tool}', None, 'not installed')
            continue
        for op in operations():
            done = run([program, '--tool', tool, '--error-exitcode', '9',
                        folder / 'tests/ops/check_ops', '--backend=cuda', f'--op={op}', '1'])
            r.facts['sanitizer'][f'{tool} {op}'] = status_of(done)
            r.line(f'{tool} {op}', done.returncode == 0, last_line(done))


def peer(*arguments):
    return last_json(run([sys.executable, PEER, *arguments]))


def frames(r, folder, models):
    for size, side, objects in SPEEDS:
        model = models / f'{size}-{side}.pt'
        if not model.exists():
            _, why = peer('make', size, side, model)
            if not model.exists():
                r.line(f'{size} {side} px, {objects} objects', None, why)
                continue
        ours, why = last_json(run([folder / 'tests/bench/bench-steps', '--model', model,
                                   '--backend', 'cuda', '--objects', objects]))
        theirs, their_why = peer('track', size, side, objects)
        key = f'{size} {side} px, {objects} objects'
        r.facts['speed'][key], r.facts['peer'][key] = ours or why, theirs or their_why
        ms = ours and ours['p50_ms']
        their_ms = theirs and min(t for t in (theirs['compiled_p50_ms'], theirs['p50_ms']) if t)
        r.line(key, None if ours is None else True,
               f'ours {ms} ms, published {their_ms or their_why} ms')
        if (size, side, objects) in WANTED_MS:
            r.judge(f'{key}: ms', ms, WANTED_MS[size, side, objects])
        if objects == 1:
            r.judge(f'{key}: times the published code', their_ms / ms if ms and their_ms else None,
                    WANTED_RATIO[side], most=False)


def steadiness(r, folder, models):
    model = models / 'tiny-1024.pt'
    ours, why = last_json(run([folder / 'tests/bench/bench-steps', '--model', model, '--backend',
                               'cuda', '--frames', 10000])) if model.exists() else (None, 'no model')
    r.facts['speed']['tiny, 10000 frames'] = ours or why
    of = (lambda f: f(ours)) if ours else (lambda f: None)
    r.judge('first frame / median', of(lambda o: o['first_ms'] / o['p50_ms']), 1.2)
    r.judge('p99 / p50 over 10000 frames', of(lambda o: o['p99_ms'] / o['p50_ms']), 1.3)
    r.judge('start to first mask, s', of(lambda o: o['cold_ms'] / 1e3), 3.0)
    r.judge('bytes of tiny, MiB', of(lambda o: o['bytes_used'] / MIB), 300)
    r.judge('state per further object, MiB', of(lambda o: o['object_state_bytes'] / MIB), 5)
    r.judge('scratch per further object, MiB', of(lambda o: o['object_scratch_bytes'] / MIB), 32)
    some = [r.facts['speed'].get(f'base+ 1024 px, {n} objects') for n in (1, 16)]
    both = all(isinstance(s, dict) for s in some)
    r.judge('ms per further object, base+',
            (some[1]['p50_ms'] - some[0]['p50_ms']) / 15 if both else None, 1.2)


def bench_lines(folder, op):
    """name of a case -> (us, rate in G of its unit per second), in bf16."""
    done = run([folder / 'tests/ops/check_ops', '--backend=cuda', f'--op={op}',
                '--precision=bf16', '--bench', '1'])
    found = re.findall(r'^(\S+) .*? ([\d.]+) us +([\d.]+) ', done.stdout, re.M)
    return {name: (float(us), float(rate)) for name, us, rate in found}


def kernels(r, folder):
    """Our rates (each call waited for, so launches count against us) beside the libraries'."""
    theirs, why = peer('kernels')
    r.facts['peer']['kernels'] = theirs or why
    ours = {op: bench_lines(folder, op) for op in ('attention', 'linear', 'layernorm', 'copy')}
    r.facts['speed']['kernels'] = ours
    theirs = theirs or {}

    def rate(op, part):
        found = [v[1] for name, v in ours[op].items() if part in name]
        return max(found) if found else None

    def ratio(mine, other):
        return mine / other if mine and other else None

    r.judge('memory attention / best library at 256/256',
            ratio(rate('attention', 'bf16_4096x28736_h1_256_64'), theirs.get('attention_gflops')),
            0.6, most=False)
    r.judge('best product / best of cuBLAS', ratio(rate('linear', 'linear_bf16'), theirs.get('gemm_gflops')),
            0.9, most=False)
    r.judge('layernorm / copy bandwidth', ratio(rate('layernorm', 'bf16'), theirs.get('copy_gbytes')),
            0.7, most=False)


def speed(r, folder):
    with tempfile.TemporaryDirectory() as tmp:
        frames(r, folder, pathlib.Path(tmp))
        steadiness(r, folder, pathlib.Path(tmp))
    kernels(r, folder)


def main():
    parts = {'correctness': correctness, 'sanitizer': sanitizer, 'speed': speed}
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('folder', type=pathlib.Path)
    p.add_argument('--only', choices=list(parts))
    a = p.parse_args()
    r = Report()
    print(f"{r.facts['device']}, {r.facts['date']}", flush=True)
    for name, part in parts.items():
        if a.only in (None, name):
            part(r, a.folder.resolve())
    (a.folder / 'gpu-report.json').write_text(json.dumps(r.facts, indent=1) + '\n')
    print(f'{r.failed} failed')
    print(json.dumps(r.facts))
    return r.failed != 0


if __name__ == '__main__':
    sys.exit(main())
