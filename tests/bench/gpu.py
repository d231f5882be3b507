#!/usr/bin/env python3
"""The parts of tests/bench/gpu.sh: gpu.py FOLDER [--only correctness|speed|sanitizer] [--quick]
[--minutes N] [--out FOLDER] [--op NAME]...

Uses the standard library only; the peer runs in this Python if it has torch. Every step is a separate
process with a time limit; a step that fails or hangs does not stop the others. After every step the
output folder has report.md (tables), report.json (which tools/kernel_table.py --gpu reads) and each
step's output in logs/. Exit status 1: a step failed."""

import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEER = HERE / 'peer_cuda.py'
# Required on a GPU of the H200 class: (size, side, objects) -> largest ms per frame at full memory.
WANTED_MS = {('tiny', 1024, 1): 2.2, ('base+', 1024, 1): 3.4, ('large', 1024, 1): 7.0,
             ('base+', 1024, 16): 22.0}
WANTED_RATIO = {1024: 3.0, 512: 4.0}  # times the compiled published code
SPEEDS = [('tiny', 1024, 1), ('base+', 1024, 1), ('base+', 1024, 16), ('large', 1024, 1),
          ('tiny', 512, 1), ('base+', 512, 1), ('base+', 1024, 2), ('base+', 1024, 4),
          ('base+', 1024, 8)]
QUICK_SPEEDS = SPEEDS[:3]
QUICK_CHECKED = ('attention', 'window_attention', 'linear', 'layernorm', 'gather_memory')
SANITIZERS = ('memcheck', 'racecheck')
# Estimated minutes on an H100; it has not run there yet.
ESTIMATE = {'correctness': (10, 3), 'speed': (35, 7), 'sanitizer': (20, 5)}
MIB = 1 << 20
# Host memory that the engine counts: SAM_CUDA_RING, and staging of 1024 x 1024 floats.
HOST_MIB = 25 + 4

Done = collections.namedtuple('Done', 'status out err')
LATE = 124


class NoTime(Exception):
    pass


class Report:
    def __init__(self, out, minutes):
        self.out, self.end = out, time.monotonic() + 60 * minutes
        (out / 'logs').mkdir(parents=True, exist_ok=True)
        self.facts = {'date': datetime.date.today().isoformat(), 'device': device(), 'ops': {},
                      'sanitizer': {}, 'goldens': {}, 'speed': {}, 'peer': {}, 'kernels': [],
                      'judged': [], 'lines': []}
        self.failed = 0

    def line(self, what, good, words=''):
        """good: None where it could not be tried."""
        verdict = 'skipped' if good is None else 'ok' if good else 'FAILED'
        self.failed += good is False
        self.facts['lines'].append([what, verdict, words])
        print(f'{what:44} {verdict:8} {words}', flush=True)

    def judge(self, what, got, wanted, most=True):
        good = None if got is None else got <= wanted if most else got >= wanted
        self.facts['judged'].append({'what': what, 'got': got, 'wanted': wanted, 'most': most,
                                     'good': good})
        sign = '<=' if most else '>='
        self.line(what, good, f'{"-" if got is None else f"{got:.3f}"}, wanted {sign} {wanted}')

    def step(self, what, f, *args):
        """f(report, *args), whatever becomes of it."""
        try:
            f(self, *args)
        except NoTime:
            self.line(what, None, 'no time left')
        except Exception as e:  # the rest goes on
            self.line(what, False, f'{type(e).__name__}: {e}')
        self.save()

    def run(self, name, command, limit, **environment):
        left = self.end - time.monotonic()
        if left < 5:
            raise NoTime
        command = [str(c) for c in command]
        began = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                  timeout=min(limit, left), env={**os.environ, **environment})
            done = Done(done.returncode, done.stdout, done.stderr)
        except subprocess.TimeoutExpired as e:
            text = [(s or b'').decode(errors='replace') for s in (e.stdout, e.stderr)]
            done = Done(LATE, text[0], f'{text[1]}\nstopped after {min(limit, left):.0f} s')
        except OSError as e:
            done = Done(127, '', str(e))
        log = self.out / 'logs' / (re.sub(r'[^\w.+-]+', '_', name) + '.log')
        log.write_text(f'{" ".join(command)}\nstatus {done.status}, '
                       f'{time.monotonic() - began:.1f} s\n\n{done.out}\n{done.err}\n')
        return done

    def save(self):
        (self.out / 'report.json').write_text(json.dumps(self.facts, indent=1) + '\n')
        (self.out / 'report.md').write_text(document(self.facts))


def device():
    asked = ['nvidia-smi', '--query-gpu=name,driver_version,clocks.max.sm,power.limit',
             '--format=csv,noheader']
    try:
        return subprocess.run(asked, capture_output=True, text=True, timeout=60).stdout.strip() \
            or 'unknown'
    except (OSError, subprocess.TimeoutExpired):
        return 'unknown'


def last_line(done):
    if done.status == LATE:
        return done.err.splitlines()[-1]
    lines = (done.out.strip() or done.err.strip()).splitlines()
    return lines[-1] if lines else f'ended with {done.status}'


def last_json(done):
    """(the JSON on the last line that is JSON, None), or (None, why there is none)."""
    for line in reversed(done.out.splitlines()):
        if line.startswith('{'):
            try:
                return json.loads(line), None
            except ValueError:
                pass
    said = (done.err or done.out).strip().splitlines()
    return None, said[-1] if said else f'ended with {done.status}'


def status_of(done):
    return {0: 'passed', 77: 'skipped'}.get(done.status, 'failed')


def good_of(status):
    return {'passed': True, 'skipped': None}.get(status, False)


def operations():
    text = (ROOT / 'engine/ops/list.h').read_text()
    return re.findall(r'^ *op\((\w+), *\w+, *cuda\)', text, re.M)


# ---- tables

def table(head, rows):
    return ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)] + \
        ['| ' + ' | '.join('-' if c is None else str(c).replace('|', '/') for c in row) + ' |'
         for row in rows] + ['']


def speed_rows(facts):
    for key, ours in facts['speed'].items():
        its = ours if isinstance(ours, dict) else {}
        peer = facts['peer'].get(key)
        peer = peer if isinstance(peer, dict) else {'failed': peer}
        best = min((t for t in (peer.get('p50_ms'), peer.get('compiled_p50_ms')) if t), default=None)
        p50 = its.get('p50_ms')
        yield [key, p50, its.get('p95_ms'), its.get('p99_ms'), its.get('first_ms'),
               its.get('cold_ms'), f"{its['bytes_used'] / MIB:.0f}" if its else None,
               peer.get('p50_ms'), peer.get('compiled_p50_ms'),
               f'{best / p50:.2f}' if best and p50 else None,
               '; '.join(w for w in (None if its else ours, peer.get('failed')) if w)]


def document(facts):
    judged = [[j['what'], None if j['got'] is None else f"{j['got']:.3f}",
               ('<= ' if j['most'] else '>= ') + str(j['wanted']),
               {True: 'yes', False: 'NO', None: 'not tried'}[j['good']]] for j in facts['judged']]
    lines = ['# One run on a GPU', '', f"{facts['device']}, {facts['date']}.", '',
             '## What is asked for', '', *table(['figure', 'got', 'wanted', 'holds'], judged),
             '## Frames', '',
             *table(['model', 'p50 ms', 'p95', 'p99', 'first', 'cold', 'MiB', 'published p50',
                     'compiled p50', 'ratio', 'words'], speed_rows(facts)),
             '## Kernels', '', *table(['case', 'us', 'Gflop/s or GB/s'], facts['kernels']),
             '## Everything that was tried', '', *table(['step', 'verdict', 'words'], facts['lines'])]
    return '\n'.join(lines) + '\n'


# ---- correctness

def operation(r, folder, op, quick):
    done = r.run(f'op {op}', [folder / 'tests/ops/check_ops', '--backend=cuda', f'--op={op}', '1',
                              *(['--precision=bf16'] if quick else [])], 400)
    r.facts['ops'][op] = status_of(done)
    r.line(f'op {op}', good_of(status_of(done)), last_line(done))


def golden(r, name, command, limit):
    done = r.run(name, command, limit)
    r.facts['goldens'][name] = status_of(done)
    r.line(name, good_of(status_of(done)), last_line(done))


def correctness(r, folder, a):
    for op in a.op or operations():
        r.step(f'op {op}', operation, folder, op, a.quick)
    if a.op:
        return
    for precision in ('fp32', 'bf16'):
        for name, goldens in (('own', ROOT / 'tests/golden'), ('shared', '')):
            name = f'stages {name} {precision}'
            r.step(name, golden, name, ['sh', ROOT / 'tests/model/stages.sh', folder /
                                        'tests/model/sam-stages', goldens, 'cuda', precision], 300)
    r.step('context', golden, 'context', [folder / 'tests/track/check_context',
                                          ROOT / 'tests/golden/a/model.safetensors'], 300)
    runs = [(ROOT / 'tests/golden/a', 'fp32', ['--random', '--stages']),
            (ROOT / 'tests/golden/b', 'fp32', ['--random', '--stages']), ('@nano', 'bf16', [])]
    if not a.quick:
        runs += [(f'@{n}', 'fp32', []) for n in ('nano', 'nano-p', 'mini', 'mini-b')]
        runs += [('@nano-p', 'bf16', [])]
    for where, precision, more in runs:
        name = f'replay {os.path.basename(where)} {precision}'
        r.step(name, golden, name, [sys.executable, ROOT / 'tests/track/golden.py',
                                    folder / 'tools/sam-replay', where, '--backend', 'cuda',
                                    '--precision', precision, *more], 400)


# ---- speed

def model_file(r, folder, size, side):
    """A file with that model, made if need be; or why there is none."""
    path = folder / 'models' / f'{size}-{side}.pt'
    # The time does not depend on the weights; the published file has 1024 px.
    if not path.exists() and not os.environ.get('SAM2_REPO'):
        if side != 1024:
            return None, 'no SAM2_REPO to make it with'
        path = path.with_suffix('.safetensors')
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        command = [PEER, 'make', size, side, path] if path.suffix == '.pt' else \
            [ROOT / 'tools/blank_model.py', size, path, '--random', 1]
        done = r.run(f'make {size} {side}', [sys.executable, *command], 400)
        if done.status:  # half a file is none
            path.unlink(missing_ok=True)
            return None, last_json(done)[1] or last_line(done)
    return path, None


def steps(r, folder, name, model, *more):
    return last_json(r.run(name, [folder / 'tests/bench/bench-steps', '--model', model, '--backend',
                                  'cuda', *more], 300))


def ours(r, folder, size, side, objects):
    key = f'{size} {side} px, {objects} objects'
    model, why = model_file(r, folder, size, side)
    its = None
    if model:
        its, why = steps(r, folder, f'ours {key}', model, '--objects', objects)
    r.facts['speed'][key] = its or why
    ms = its and its['p50_ms']
    r.line(key, None if not model else its is not None, f'{ms} ms' if its else why)
    if (size, side, objects) in WANTED_MS:
        r.judge(f'{key}: ms', ms, WANTED_MS[size, side, objects])


def theirs(r, size, side, objects, quick):
    key = f'{size} {side} px, {objects} objects'
    compiled = objects == 1 and not quick
    done = r.run(f'published {key}', [sys.executable, PEER, 'track', size, side, objects,
                                      *([] if compiled else ['eager'])], 720 if compiled else 240)
    its, why = last_json(done)
    if its and done.status == LATE:
        its['failed'] = last_line(done)
    r.facts['peer'][key] = its or why
    best = min((t for t in (its['compiled_p50_ms'], its['p50_ms']) if t), default=None) \
        if its else None
    mine = r.facts['speed'].get(key)
    ms = mine['p50_ms'] if isinstance(mine, dict) else None
    r.line(f'published, {key}', None if best is None else True,
           f"{its['p50_ms']} ms, compiled {its['compiled_p50_ms']} ms {its['failed'] or ''}"
           if its else why)
    if objects == 1:
        words = 'times the published code' + (', not compiled' if quick else '')
        r.judge(f'{key}: {words}', best / ms if ms and best else None, WANTED_RATIO[side],
                most=False)


def steadiness(r, folder, frames):
    model, why = model_file(r, folder, 'tiny', 1024)
    its = None
    if model:
        its, why = steps(r, folder, 'steadiness', model, '--frames', frames)
    r.facts['speed'][f'tiny, {frames} frames'] = its or why

    def of(f):
        return f(its) if its else None

    r.judge('first frame / median', of(lambda o: o['first_ms'] / o['p50_ms']), 1.2)
    r.judge(f'p99 / p50 over {frames} frames', of(lambda o: o['p99_ms'] / o['p50_ms']), 1.3)
    r.judge('start to first mask, s', of(lambda o: o['cold_ms'] / 1e3), 3.0)
    r.judge('bytes of tiny on the GPU, MiB', of(lambda o: o['bytes_used'] / MIB - HOST_MIB), 300)


def per_object(r):
    few, many = (r.facts['speed'].get(f'base+ 1024 px, {n} objects') for n in (1, 16))
    both = isinstance(few, dict) and isinstance(many, dict)
    state = (many['object_state_bytes'] - many['object_host_bytes']) / MIB if both else None
    r.judge('state on the GPU per further object, MiB', state, 5)
    r.judge('scratch per further object, MiB', many['object_scratch_bytes'] / MIB if both else None,
            32)
    r.judge('ms per further object, base+', (many['p50_ms'] - few['p50_ms']) / 15 if both else None,
            1.2)


def kernel_time(r, folder):
    """Sum of kernels over the frame's time, by the frames that one run has more than another."""
    what = 'sum of kernels / frame'
    nsys, (model, why) = shutil.which('nsys'), model_file(r, folder, 'tiny', 1024)
    if not nsys or not model:
        r.line(what, None, why if nsys else 'no nsys')
        return
    sums, ms = [], None
    for frames in (100, 300):
        base = r.out / f'nsys-{frames}'
        done = r.run(f'nsys {frames}', [nsys, 'profile', '--cuda-graph-trace=node', '-o', base,
                                        '--force-overwrite=true', folder /
                                        'tests/bench/bench-steps', '--model', model, '--backend',
                                        'cuda', '--frames', frames], 300)
        ms = (last_json(done)[0] or {}).get('p50_ms')
        told = r.run(f'nsys stats {frames}', [nsys, 'stats', '--report', 'cuda_gpu_kern_sum',
                                              '--format', 'csv', f'{base}.nsys-rep'], 300)
        sums.append(sum(int(n) for n in re.findall(r'^[\d.]+,(\d+),', told.out, re.M)))
    plain = r.facts['speed'].get('tiny 1024 px, 1 objects')
    ms = plain['p50_ms'] if isinstance(plain, dict) else ms
    r.judge(what, (sums[1] - sums[0]) / 200 * 1e-6 / ms if ms and sums[1] > sums[0] > 0 else None,
            0.85, most=False)


def bench_lines(r, folder, op):
    """name of a case -> (us, rate in G of its unit per second), in bf16."""
    done = r.run(f'bench {op}', [folder / 'tests/ops/check_ops', '--backend=cuda', f'--op={op}',
                                 '--precision=bf16', '--bench', '1'], 200)
    found = re.findall(r'^(\S+) .*? ([\d.]+) us +([\d.]+) ', done.out, re.M)
    r.facts['kernels'] += [[name, us, rate] for name, us, rate in found]
    r.line(f'bench {op}', done.status == 0, f'{len(found)} cases' if not done.status
           else last_line(done))
    return {name: (float(us), float(rate)) for name, us, rate in found}


def kernels(r, folder, quick):
    """Our rates beside the libraries': single calls, each waited for, in both."""
    mine = {}
    for op in ('attention', 'linear', 'layernorm') if quick else operations():
        r.step(f'bench {op}', lambda r, op=op: mine.update(bench_lines(r, folder, op)))
    shape = {name: m[1] for name in mine if (m := re.match(r'linear_bf16_(\d+x\d+_to_\d+)$', name))}
    its, why = last_json(r.run('libraries', [sys.executable, PEER, 'kernels', *shape.values()], 300))
    r.facts['peer']['kernels'] = its or why
    r.line('libraries', None if its is None else True, why or '')
    its = its or {'products': {}, 'copies': {}, 'attention_gflops': None}

    def ratio(name, other):
        return mine[name][1] / other if name in mine and other else None

    r.judge('memory attention / best library at 256/256',
            ratio('attention_bf16_4096x28736_h1_256_64', its['attention_gflops']), 0.6, most=False)
    for name, s in shape.items():
        r.judge(f'{name} / cuBLAS', ratio(name, its['products'].get(s)), 0.9, most=False)
    # Products that the backend leaves to cuBLASLt, beside its own kernel's, which a ReLU makes it
    # take: what the size from which it does so (cuda/blaslt.c, TILE) is to be judged by.
    for name in (n for n in mine if n + '_relu' in mine):
        r.judge(f'{name} as chosen / own kernel', ratio(name, mine[name + '_relu'][1]), 0.95,
                most=False)
    r.judge('layernorm / a copy of 32 MiB',
            ratio('layernorm_f32_65536x96', its['copies'].get('32')), 0.7, most=False)


def speed(r, folder, a):
    chosen = QUICK_SPEEDS if a.quick else SPEEDS
    for one in chosen:
        r.step(f'ours {one}', ours, folder, *one)
    r.step('per object', per_object)
    r.step('steadiness', steadiness, folder, 1000 if a.quick else 10000)
    r.step('kernels', kernels, folder, a.quick)
    r.step('sum of kernels', kernel_time, folder)
    for one in chosen:
        r.step(f'published {one}', theirs, *one, a.quick)


# ---- sanitizer

def sanitize(r, folder, program, tool, op):
    done = r.run(f'{tool} {op}', [program, '--tool', tool, '--error-exitcode', '9', folder /
                                  'tests/ops/check_ops', '--backend=cuda', f'--op={op}',
                                  '--precision=bf16', '1'], 300)
    r.facts['sanitizer'][f'{tool} {op}'] = status_of(done)
    r.line(f'{tool} {op}', None if done.status == LATE else done.status == 0, last_line(done))


def sanitizer(r, folder, a):
    program = shutil.which('compute-sanitizer') or '/usr/local/cuda/bin/compute-sanitizer'
    for tool in SANITIZERS[:1] if a.quick else SANITIZERS:
        if not os.path.exists(program):
            r.line(f'compute-sanitizer {tool}', None, 'not installed')
            continue
        for op in a.op or (QUICK_CHECKED if a.quick else operations()):
            r.step(f'{tool} {op}', sanitize, folder, program, tool, op)


def main():
    parts = {'correctness': correctness, 'speed': speed, 'sanitizer': sanitizer}
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('folder', type=pathlib.Path)
    p.add_argument('--only', choices=list(parts))
    p.add_argument('--quick', action='store_true')
    p.add_argument('--minutes', type=float, default=None)
    p.add_argument('--out', type=pathlib.Path)
    p.add_argument('--op', action='append', choices=operations())
    a = p.parse_args()
    folder = a.folder.resolve()
    chosen = [name for name in parts if a.only in (None, name)]
    expected = sum(ESTIMATE[name][a.quick] for name in chosen)
    r = Report((a.out or folder / 'gpu-report').resolve(), a.minutes or 1.5 * expected)
    print(f"{r.facts['device']}, {r.facts['date']}; about {expected} minutes, at most "
          f'{a.minutes or 1.5 * expected:.0f}; results in {r.out}', flush=True)
    for name in chosen:
        print(f'-- {name}', flush=True)
        r.step(name, parts[name], folder, a)
    r.save()
    print(f"{len(r.facts['lines'])} lines, {r.failed} failed; {r.out / 'report.md'}")
    print(json.dumps(r.facts))
    return r.failed != 0


if __name__ == '__main__':
    sys.exit(main())
