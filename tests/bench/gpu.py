#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The steps of tests/bench/gpu.sh: gpu.py FOLDER [--step STEP]... [--continue] [--minutes N]
[--out FOLDER] [--op NAME]... [--list]

Uses the standard library only, and numpy to write models; the peers run in this Python if it has
torch. A step is a list of units; each unit runs processes of its own with time limits, so that one
that fails or hangs does not stop the others. See gpu_report.py for what is written after each.
Exit status: 0, all was done; 1, something failed; 3, --minutes are over, go on with --continue."""

import argparse
import os
import pathlib
import re
import shutil
import sys
import zipfile

import gpu_report
from gpu_report import LATE, MIB, best_of, last_json, last_line

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEER = HERE / 'peer_cuda.py'
# Required on a GPU of the H200 class: (size, side, objects) -> largest ms per frame at full memory.
WANTED_MS = {('tiny', 1024, 1): 2.2, ('base+', 1024, 1): 3.4, ('large', 1024, 1): 7.0,
             ('base+', 1024, 16): 22.0}
WANTED_RATIO = {1024: 3.0, 512: 4.0}  # times the compiled published code
SIZES = ('tiny', 'base+', 'large')
MORE = [('base+', 1024, 16), ('tiny', 512, 1), ('base+', 512, 1), ('base+', 1024, 2), ('base+', 1024, 4),
        ('base+', 1024, 8)]
COMPILED = ('tiny', 1024, 1)  # the size whose compiler is waited for
# Goldens of trackers, beside which are detectors'; those that have a model of their own are replayed.
OWN = sorted(p.name for p in (ROOT / 'tests/golden').glob('*') if (p / 'click.safetensors').exists() or p.name.endswith('-hf'))
SANITIZERS = ('memcheck', 'racecheck')
SMALL = {'rf-detr-nano': 'rf-detr', 'yolov10-s': 'yolov10'}  # goldens in the place of models; else a
# Host memory that the engine counts: SAM_CUDA_RING, and staging of 1024 x 1024 floats.
HOST_MIB = 25 + 4


def status_of(done):
    return {0: 'passed', 77: 'skipped'}.get(done.status, 'failed')


def kernels_in(line):
    """With names of kernels as people write them, not as compilers do."""
    def plain(m):
        numbers = re.findall(r'Li(\d+)E', m[2])
        return m[1] + (f"<{','.join(numbers)}>" if numbers else '')
    return re.sub(r'_Z\w*?\d([a-z]\w*?_kernel)(\w*)', plain, line)


def failure_of(done):
    """What went wrong, on one line: of a failing case its kernels, its first element and the file of both sides."""
    lines = [kernels_in(line.strip()) for line in done.out.splitlines()]
    at = next((i for i, line in enumerate(lines) if 'FAIL' in line), None)
    return last_line(done) if at is None else '; '.join([*lines[at:at + 3], *lines[at + 3:][-1:]])


def warn(r, done):
    """Each warning of the engine once, whoever meets it."""
    for line in re.findall(r'^(?:WARNING |[\w-]+: warning: )(.*)', done.out + done.err, re.M):
        with r.lock:
            kept = r.facts.setdefault('warnings', [])
            if line not in kept:
                kept.append(line)
                print(f'WARNING {line}', flush=True)


def good_of(status):
    return {'passed': True, 'skipped': None}.get(status, False)


def operations():
    text = (ROOT / 'engine/ops/list.h').read_text()
    return re.findall(r'^ *op\((\w+), *\w+, *cuda\)', text, re.M)


def name_of(size, side, objects):
    return f'{size} {side} px, {objects} objects'


# ---- what the other machine has

EMULATED = {  # folder of a build whose backend is emulated: where its programs are
    'tests/ops/check_ops': 'tests/emu/check_ops_emu', 'tests/ops/check_wgmma': 'tests/emu/check_wgmma',
    'tests/model/sam-stages': 'tests/emu/sam-stages', 'tools/sam-replay': 'tests/emu/sam-replay',
    'tools/sam-detect': 'tests/emu/sam-detect', 'tests/bench/bench-steps': 'tests/emu/bench-steps',
    'tests/track/check_context': 'tests/emu/emu_context', 'tests/track/check_uploader': 'tests/emu/emu_uploader',
    'tests/detect/detect': 'tests/detect/emu_detect_detect', 'tests/detect/rfdetr': 'tests/detect/emu_detect_rfdetr',
    'tests/detect/mask2former': 'tests/detect/emu_detect_mask2former'}


emulated_answers = {}  # of commands that small models have made the same: the emulator is slow


def program(folder, name):
    return folder / (EMULATED[name] if os.environ.get('SAMTRACK_GPU_EMULATED') else name)


def own(r, name, command, limit, **more):
    """One of our programs, with the libraries that were carried for it, which a Python with torch must not see. It
    looks for cuBLASLt itself: in the packages of this Python, too."""
    paths = [os.environ.get('SAMTRACK_GPU_LIB', ''), os.environ.get('LD_LIBRARY_PATH', '')]
    key = (*map(str, command), *more.items(), *r.here.environment.items())
    if key not in emulated_answers:
        done = r.run(name, command, limit, VIRTUAL_ENV=os.environ.get('VIRTUAL_ENV', sys.prefix),
                     LD_LIBRARY_PATH=':'.join(p for p in paths if p), **more)
        if not os.environ.get('SAMTRACK_GPU_EMULATED'):
            return done
        emulated_answers[key] = done
    return emulated_answers[key]


def peer_environment(folder):
    """The published code, and what it needs that this Python lacks, from what was carried."""
    site, more = folder / 'peer-site', {'TORCHINDUCTOR_CACHE_DIR': str(folder / 'torch-cache')}
    carried = folder if (folder / 'wheels').is_dir() else ROOT
    wheels = sorted((carried / 'wheels').glob('*.whl'))
    for wheel in wheels if not site.exists() else []:
        zipfile.ZipFile(wheel).extractall(site)
    if wheels:
        more['SAM_PEER_SITE'] = str(site)
    if not os.environ.get('SAM2_REPO') and (carried / 'published/sam2').is_dir():
        more['SAM2_REPO'] = str(carried / 'published')
    return more


# ---- library: is cuBLASLt really used

def model_file(r, folder, size):
    """A file with that model, of random numbers, made if need be; or why there is none."""
    path = folder / 'models' / f'{size}.safetensors'
    if os.environ.get('SAMTRACK_GPU_EMULATED'):
        return ROOT / 'tests/golden' / SMALL.get(size, 'a') / 'model.safetensors', None
    at_hand = {'embedded': 'models/samtrack-lite0.safetensors', 'own golden': 'tests/golden/a/model.safetensors'}
    if size in at_hand:
        return ROOT / at_hand[size], None
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        half = path.with_suffix('.new')
        done = r.run(f'make {size}', [sys.executable, ROOT / 'tools/blank_model.py', size, half, '--random', 1,
                                      '--recipes', ROOT / 'tests/bench/recipes.json'], 200)
        if done.status:
            half.unlink(missing_ok=True)
            return None, last_line(done)
        half.rename(path)
    return path, None


def bench(r, folder, name, size, *more, side=1024, precision='bf16', limit=200, **environment):
    """What bench-steps tells, or why it does not."""
    model, why = model_file(r, folder, size)
    if not model:
        return None, why
    if os.environ.get('SAMTRACK_GPU_EMULATED'):
        side, more = 64, small(more)
    done = own(r, name, [program(folder, 'tests/bench/bench-steps'), '--model', model, '--backend', 'cuda',
                         '--precision', precision, '--side', side, *more], limit, **environment)
    warn(r, done)
    return last_json(done)


def small(options):
    """For the emulator: the fewest frames, and one object."""
    options = [str(o) for o in options]
    for option in ('--frames', '--objects'):
        if option in options:
            at = options.index(option)
            del options[at:at + 2]
    return [*options, '--frames', '8', '--full', '4']


def library(r, folder, size):
    its, why = bench(r, folder, f'library {size}', size, '--frames', 36)
    who = its and its['cublaslt']
    r.facts['peer'][f'cublaslt {size}'] = who or why
    if not its:
        r.line(f'cuBLASLt, {size}', False, why)
    elif not who:
        r.line(f'cuBLASLt, {size}', False, 'no product ran on the GPU')
    elif not who['open']:
        r.line(f'cuBLASLt, {size}', False, f"NOT OPENED: all {who['own']} products are our own kernel's; "
               'the log of bench-steps tells why, and SAMTRACK_CUBLASLT may name its file')
    else:
        r.line(f'cuBLASLt, {size}', who['library'] > 0, f"{who['library']} products by {who['file']}, "
               f"{who['own']} by our own kernel, {len(who['own_large'])} shapes of them large: "
               f"{', '.join(who['own_large']) or 'none'}")


# ---- frames

def frames(r, folder, size, side, objects, on_device):
    key = name_of(size, side, objects) + (', device frames' if on_device else '')
    where = ['--device-frames'] if on_device else []
    its, why = bench(r, folder, f'ours {key}', size, '--objects', objects, *where, side=side)
    r.note('speed', key, its or why)
    r.line(key, its is not None, f"{its['p50_ms']} ms" if its else why)
    if not on_device and (size, side, objects) in WANTED_MS:
        r.judge(f'{key}: ms', its and its['p50_ms'], WANTED_MS[size, side, objects])


def one_by_one(r, folder, size, side, objects, on_device):
    key = name_of(size, side, objects) + (', device frames' if on_device else '')
    where = ['--device-frames'] if on_device else []
    its, why = bench(r, folder, f'operations {key}', size, '--objects', objects,
                     '--frames', 52, '--operations', *where, side=side)
    r.note('operations', key, its or why)
    told = sum(o[3] for o in its['operations']) if its else 0
    r.line(f'operations, {key}', told > 0, f'{told / 1e3:.3f} ms in {len(its["operations"])} kinds' if its else why)


# ---- peers

def theirs(r, folder, size, side, objects, compiled):
    key = name_of(size, side, objects)
    limit = 480 if compiled else 200
    done = r.run(f'published {key}{" compiled" if compiled else ""}',
                 [sys.executable, PEER, 'track', size, side, objects, *([] if compiled else ['eager'])], limit,
                 **peer_environment(folder))
    its, why = last_json(done)
    if its and done.status == LATE:
        its['failed'] = last_line(done)
    before = r.facts['peer'].get(key)
    if not its and isinstance(before, dict):  # what ran before the compiler counts
        its, why = {**before, 'failed': why}, None
    r.facts['peer'][key] = its or why
    best, mine = best_of(its) if its else None, r.facts['speed'].get(key)
    ms = mine['p50_ms'] if isinstance(mine, dict) else None
    r.line(f'published{", compiled" if compiled else ""}, {key}', None if best is None else True,
           f"{its['p50_ms']} ms, compiled {its['compiled_p50_ms']} ms {its['failed'] or ''}" if its else why)
    has_compiled = bool(its and its['compiled_p50_ms'])
    if objects == 1 and has_compiled == compiled:
        words = 'times the published code' + ('' if compiled else ', not compiled')
        r.judge(f'{key}: {words}', best / ms if ms and best else None, WANTED_RATIO[side], most=False)


# ---- kernels

def kernel(r, folder, op):
    done = own(r, f'bench {op}', [program(folder, 'tests/ops/check_ops'), '--backend=cuda', f'--op={op}',
                                  '--precision=bf16', '--bench', '1'], 100)
    found = re.findall(r'^(\S+) .*? ([\d.]+) us +([\d.]+) (\S+?),?( recorded)?$', done.out, re.M)
    r.facts['kernels'].update({n: [float(us), float(rate), unit + (recorded or ', single calls')]
                               for n, us, rate, unit, recorded in found})
    r.line(f'bench {op}', good_of(status_of(done)), f'{len(found)} cases' if not done.status else last_line(done))


def libraries(r, folder):
    mine = r.facts['kernels']
    done = r.run('libraries', [sys.executable, PEER, 'kernels', *mine], 300, **peer_environment(folder))
    its, why = last_json(done)
    r.facts['peer']['kernels'] = its or why
    r.line('libraries', None if its is None else True, why or f"{len(its['cases'])} cases"
           + (f', then {last_line(done)}' if done.status else ''))
    cases, copies = (its['cases'], its['copies']) if its else ({}, {})

    def best(name, prefix=''):
        return min((t for k, t in cases.get(name, {}).items() if k.startswith(prefix) and isinstance(t, float)),
                   default=None)

    def ratio(name, other):
        return other / mine[name][0] if name in mine and other else None

    for name in ('attention_bf16_4096x28736_h1_256_64', 'attention_bf16_4096x4096_h1_256_256'):
        r.judge(f'{name} / best library', ratio(name, best(name)), 0.6, most=False)
    for name in mine:
        if re.fullmatch(r'linear_(bf16|back)_\d+x\d+_to_\d+', name):
            r.judge(f'{name} / cuBLAS', ratio(name, best(name)), 0.9, most=False)
    # Products that the backend leaves to cuBLASLt, beside its own kernel's, which a ReLU makes it
    # take: what the size from which it does so (cuda/blaslt.c, TILE) is to be judged by.
    for name in (n for n in mine if n + '_relu' in mine):
        r.judge(f'{name} as chosen / own kernel', ratio(name, mine[name + '_relu'][0]), 0.95, most=False)
    norm, copied = mine.get('layernorm_f32_65536x96'), copies.get('32')
    r.judge('layernorm / a copy of 32 MiB', norm[1] / copied if norm and copied else None, 0.7, most=False)


# ---- correctness

def operation(r, folder, op):
    dumps = r.out / 'dumps'
    dumps.mkdir(exist_ok=True)
    done = own(r, f'op {op}', [program(folder, 'tests/ops/check_ops'), '--backend=cuda', f'--op={op}', '--precision=both',
                               f'--dump={dumps}', '--allow-warnings', '1'], 400)
    r.note('ops', op, status_of(done))
    r.line(f'op {op}', good_of(status_of(done)), last_line(done) if not done.status else failure_of(done))
    warn(r, done)


def golden(r, name, command):
    done = own(r, name, command, 400)
    r.note('goldens', name, status_of(done))
    r.line(name, good_of(status_of(done)), last_line(done) if not done.status else failure_of(done))


def goldens(folder):
    """(name, command) of whole stages and runs."""
    for precision in ('fp32', 'bf16'):
        for name, where, which in (('own', ROOT / 'tests/golden', OWN), ('shared', '', ())):
            yield f'stages {name} {precision}', ['sh', ROOT / 'tests/model/stages.sh', program(
                folder, 'tests/model/sam-stages'), where, 'cuda', precision, *which]
    for name in ('context', 'uploader'):
        yield name, [program(folder, f'tests/track/check_{name}'), ROOT / 'tests/golden/a/model.safetensors']
    runs = [(ROOT / 'tests/golden' / name, 'fp32', ['--random', '--stages']) for name in OWN
            if (ROOT / 'tests/golden' / name / 'model.safetensors').exists() and not name.endswith('-hf')]
    runs += [(f'@{n}', 'bf16', []) for n in ('nano', 'nano-p')]
    for where, precision, more in runs + [(f'@{n}', 'fp32', []) for n in ('nano', 'nano-p', 'mini', 'mini-b')]:
        yield f'replay {os.path.basename(where)} {precision}', [
            sys.executable, ROOT / 'tests/track/golden.py', program(folder, 'tools/sam-replay'), where, '--backend', 'cuda',
            '--precision', precision, *more]


# ---- more figures

def steadiness(r, folder):
    its, why = bench(r, folder, 'steadiness', 'tiny', '--frames', 10000)
    r.facts['speed']['tiny, 10000 frames'] = its or why

    def of(f):
        return f(its) if its else None

    r.judge('first frame / median', of(lambda o: o['first_ms'] / o['p50_ms']), 1.2)
    r.judge('p99 / p50 over 10000 frames', of(lambda o: o['p99_ms'] / o['p50_ms']), 1.3)
    r.judge('start to first mask, s', of(lambda o: o['cold_ms'] / 1e3), 3.0)
    r.judge('bytes of tiny on the GPU, MiB', of(lambda o: o['bytes_used'] / MIB - HOST_MIB), 300)


def per_object(r):
    few, many = (r.facts['speed'].get(name_of('base+', 1024, n)) for n in (1, 16))
    both = isinstance(few, dict) and isinstance(many, dict)
    state = (many['object_state_bytes'] - many['object_host_bytes']) / MIB if both else None
    r.judge('state on the GPU per further object, MiB', state, 5)
    r.judge('scratch per further object, MiB', many['object_scratch_bytes'] / MIB if both else None, 32)
    r.judge('ms per further object, base+', (many['p50_ms'] - few['p50_ms']) / 15 if both else None, 1.2)


def sum_of_kernels(r):
    """Over the frame's time: how much of it is launches and waits."""
    for size in SIZES:
        key = name_of(size, 1024, 1)
        whole, parts = r.facts['speed'].get(key), r.facts['operations'].get(key)
        both = isinstance(whole, dict) and isinstance(parts, dict)
        r.judge(f'operations one by one / frame, {size}', sum(o[3] for o in parts['operations']) * 1e-3
                / whole['p50_ms'] if both else None, 0.85, most=False)


# ---- sanitizer

def sanitize(r, folder, tool, op, case=''):
    sanitizer = shutil.which('compute-sanitizer') or '/usr/local/cuda/bin/compute-sanitizer'
    if not os.path.exists(sanitizer):
        r.line(f'{tool} {op} {case}'.strip(), None, 'compute-sanitizer is not installed')
        return
    done = own(r, f'{tool} {op} {case}'.strip(), [sanitizer, '--tool', tool, '--error-exitcode', '9', program(folder, 'tests/ops/check_ops'),
                                   '--backend=cuda', f'--op={op}', '--precision=bf16', '--allow-warnings',
                                   *([f'--case={case}'] if case else []), '1'], 300)
    name = f'{tool} {op} {case}'.strip()
    r.note('sanitizer', name, status_of(done))
    r.line(name, None if done.status == LATE else good_of(status_of(done)), last_line(done))


# ---- steps, in order of worth

def plan(folder, ops):
    """step -> its units: (name, seconds that it is expected to need, function, arguments)."""
    ones = [(s, 1024, 1) for s in SIZES]
    first = ('attention', 'window_attention', 'linear', 'linears', 'norm_linears', 'layernorm', 'conv', 'gather_memory')
    by_worth = [o for o in first if o in ops] + [o for o in ops if o not in first]
    return {
        'library': [(f'library {s}', 40, library, folder, s) for s in SIZES],
        'frames': [(f'{what} {s} {"device" if on_device else "host"}', 40, f, folder, *s, on_device)
                   for s in ones for on_device in (True, False)
                   for what, f in (('frames', frames), ('operations', one_by_one))] +
                  [('sum of kernels', 1, sum_of_kernels)],
        'peers': [(f'published {s}', 90, theirs, folder, *s, False) for s in ones] +
                 [(f'published compiled {COMPILED}', 490, theirs, folder, *COMPILED, True)],
        'kernels': [(f'bench {o}', 30, kernel, folder, o) for o in by_worth] +
                   [('libraries', 200, libraries, folder)],
        'correctness': [(f'op {o}', 60, operation, folder, o) for o in by_worth] +
                       [(name, 100, golden, name, command) for name, command in goldens(folder)],
        'more': [(f'frames {s}', 40, frames, folder, *s, False) for s in MORE] +
                [('per object', 1, per_object), ('steadiness', 100, steadiness, folder)] +
                [(f'published {s}', 90, theirs, folder, *s, False) for s in MORE[:3]],
        'sanitizer': [(f'{tool} {o}', 120, sanitize, folder, tool, o) for tool in SANITIZERS for o in by_worth],
    }


def go_through(r, steps, chosen, repeat):
    """How many units are for the next command: what does not fit in the time that is left is passed over."""
    passed_over = 0
    for number, (step, units) in enumerate(steps.items(), 1):
        todo = [u for u in units if step in chosen and (repeat or f'{step}: {u[0]}' not in r.facts['done'])]
        if todo:
            print(f'-- {number} {step}, {len(todo)} of {len(units)}', flush=True)
        for name, seconds, f, *args in todo:
            passed_over += not r.do(f'{step}: {name}', seconds, f, *args)
    return passed_over


def main():
    ops = operations()
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('folder', type=pathlib.Path)
    p.add_argument('--step', action='append', default=[])
    p.add_argument('--continue', action='store_true', dest='go_on')
    p.add_argument('--minutes', type=float)
    p.add_argument('--out', type=pathlib.Path)
    p.add_argument('--op', action='append', choices=ops)
    p.add_argument('--list', action='store_true')
    a = p.parse_args()
    folder = a.folder.resolve()
    steps = plan(folder, a.op or ops)
    names = list(steps)
    if a.list:
        print('\n'.join(f'{i} {n}: {len(steps[n])} units, about {sum(u[1] for u in steps[n]) // 60 + 1} minutes at '
                        'most' for i, n in enumerate(names, 1)))
        return 0
    for one in a.step:
        if one not in names and not (one.isdigit() and 1 <= int(one) <= len(names)):
            p.error(f'--step {one}: wanted 1 to {len(names)}, or one of {", ".join(names)}')
    chosen = {names[int(s) - 1] if s.isdigit() else s for s in a.step} or set(names)
    r = gpu_report.Report((a.out or folder / 'gpu-report').resolve(), a.minutes, a.go_on or bool(a.step))
    print(f"{r.facts['device']}, {r.facts['date']}; results in {r.out}", flush=True)
    left = go_through(r, steps, chosen, repeat=bool(a.step) and not a.go_on)
    r.save()
    print(f"{len(r.facts['lines'])} lines, {r.failed()} failed; {r.out / 'report.tar.gz'}")
    if left:
        print(f'the minutes are over before {left} others: go on with --continue')
    return 3 if left else int(r.failed() != 0)


if __name__ == '__main__':
    sys.exit(main())
