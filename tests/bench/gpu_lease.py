#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tests/bench/gpu.sh --lease does on a machine with a GPU that is there for minutes only.

gpu_lease.py FOLDER --minutes N [--copy FOLDER] [--out FOLDER] [--continue] [--emulated] [--op NAME]... [--phases NAME,...]
    [--dry-run]

Phases follow each other, each with an end; a unit begins only if what it is expected to need fits before
that, and what does not is named, and left for --continue. After every unit the whole report is written
anew, and copied: a run that is killed has lost one unit. A unit that fails runs again under each switch of
the backend. --emulated: FOLDER is a build with the emulator, and the small models stand for all. --dry-run
prints the units. Exit status: 0, all was done; 1, something failed; 3, something is left; 77, no GPU."""

import argparse
import atexit
import collections
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import time

import gpu
import gpu_report
from gpu import ROOT, SIZES, bench, name_of, own, program
from gpu_report import HURRY, last_json, last_line

sys.path.insert(0, str(ROOT / 'tests/track'))
import golden as replays  # noqa: E402

WHOLE = 510  # seconds, which the ends of phases are shares of
PHASES = {'light': 10, 'right': 90, 'sanitizers': 150, 'alone': 300, 'eager': 390, 'compiled': 510}
AT_ONCE = {'light': 6, 'right': 12, 'sanitizers': 4}
SWITCHES = ('wgmma', 'overlap', 'cublaslt', 'graphs', 'carveout')
# Seconds, or three times what is expected: a process that needs more hangs, and is ended. In the test all times shrink but
# those in which processes start.
HANGS = 40 if HURRY == 1 else 1000
TRIED = {'right': 12, 'alone': 2, 'eager': 0}  # units of a phase that are tried under each switch when they fail
MOST_DUMPED = 14 << 20  # bytes that are copied
NO_GPU = 77
Unit = collections.namedtuple('Unit', 'phase name seconds f args without', defaults=['', ])
SANITIZED = [('memcheck', 'attention', 'attention_bf16_2x33x130_h1_256_64_calm'),
             ('memcheck', 'attention', 'attention_bf16_2x33x200_h1_256_256_calm'),
             ('memcheck', 'norm_linears', 'norm_linears_bf16_wide'), ('memcheck', 'linear', 'linear_bf16_2x130x72_to_136'),
             ('racecheck', 'product_norm', 'product_norm_bf16_'),
             ('racecheck', 'attention', 'attention_bf16_2x33x130_h1_256_64_calm')]
# With and without, as reading cannot tell: name, environment.
VARIANTS = [('without graphs', {'SAMTRACK_CUDA_WITHOUT': 'graphs'}),
            ('without overlap', {'SAMTRACK_CUDA_WITHOUT': 'overlap'}),
            ('without carveout', {'SAMTRACK_CUDA_WITHOUT': 'carveout'}),
            ('without cublaslt', {'SAMTRACK_CUDA_WITHOUT': 'cublaslt'})]


def emulated():
    return bool(os.environ.get('SAMTRACK_GPU_EMULATED'))


# ---- the report, and its copies

class Lease(gpu_report.Report):
    """Times count from here; `ends` are of phases, in seconds of this command."""

    def __init__(self, out, minutes, keep, copy):
        super().__init__(out, minutes, keep)
        if emulated():
            self.facts['device'] = 'the emulator, whose times say nothing'
        self.copy, self.left_over = copy, []
        self.without, self.tried = '', collections.Counter()  # what is switched off for all that follows
        for kind in ('timeline', 'light', 'warnings'):
            self.facts.setdefault(kind, [])
        share = self.seconds / WHOLE
        self.ends = {phase: self.seconds if keep else end * share for phase, end in PHASES.items()}
        self.ends['light'] = self.ends['right']  # it is never left out

    def judge(self, what, got, wanted, most=True):
        super().judge(what, None if emulated() else got, wanted, most)  # the emulator's times say nothing

    def now(self):
        return time.monotonic() - self.began

    def fits(self, unit):
        return self.now() + unit.seconds * HURRY <= self.ends[unit.phase]

    def files(self):
        """name -> text, of all that is copied: few files, each whole."""
        left = [f'{u.phase}: {u.name}: is expected to need {u.seconds:.0f} s' for u in self.left_over]
        return {
            'report.json': lambda: json.dumps(self.facts, indent=1),
            'report.md': lambda: gpu_report.document(self.facts) + self.warned(),
            'timeline.txt': lambda: '\n'.join(f'{a:7.1f} {b:7.1f}  {phase:10} {verdict:8} {name}'
                                              for a, b, phase, verdict, name in self.facts['timeline']),
            'light.txt': lambda: '\n'.join(self.facts['light']),
            'operations.json': lambda: json.dumps(self.facts['operations']),
            'left.txt': lambda: '\n'.join(left) or 'nothing'}

    def warned(self):
        return '\n## Warnings\n\n' + ''.join(f'- {w}\n' for w in self.facts['warnings']) if self.facts['warnings'] else ''

    def save_all(self):
        self.facts['left'] = [[u.name, u.without] for u in self.left_over]
        for name, text in self.files().items():
            try:
                data = f'{text()}\n'.encode()
            except Exception as e:  # a table that cannot be made costs that table
                data = f'{name} cannot be made: {type(e).__name__}: {e}\n'.encode()
            replace(self.out / name, lambda half, data=data: half.write_bytes(data))
            self.take(name)
        for name in ('logs', 'dumps'):
            replace(self.out / f'{name}.tar.gz', lambda half, name=name: self.pack(half, name))
            self.take(f'{name}.tar.gz')

    def pack(self, half, name):
        bytes_left = MOST_DUMPED
        with tarfile.open(half, 'w:gz', compresslevel=3) as tar:
            for path in sorted((self.out / name).iterdir()):
                bytes_left -= path.stat().st_size
                if bytes_left >= 0:  # what is missing is named in the logs
                    tar.add(path, f'{name}/{path.name}')

    def take(self, name):
        if self.copy:
            replace(self.copy / name, lambda half: shutil.copyfile(self.out / name, half))


def replace(path, write):
    """A file that is whole or not there. The half of it lies beside the folder, if one can be renamed from there: in the
    folder it would count among the few files that are fetched."""
    for half in (path.parent.parent / f'.{path.name}.half', path.with_name(f'{path.name}.half')):
        try:
            write(half)
            os.replace(half, path)
            return
        except OSError:  # of another file system, or not for writing
            half.unlink(missing_ok=True)
    print(f'{path}: it cannot be written', flush=True)


# ---- light: what there is, and what the backend makes of it

def light(r, folder):
    """Told before all else, in seconds."""
    told = {'machine': f'{platform.machine()}, {os.cpu_count()} cores, glibc {glibc()}', 'device': r.facts['device']}
    its, why = bench(r, folder, 'light', 'own golden', '--frames', 36, side=64)
    r.line('light', its is not None, f"{its['p50_ms']} ms a frame of 64 px" if its else why)
    if its:
        r.note('speed', 'light', its)
        who, overlaps = its.get('cublaslt') or {}, its.get('overlaps')
        told.update({
            'the backend': f"{its['backend']} on {its['device']}, {its['precision']}, opened in {its['open_ms']:.0f} ms",
            'cuBLASLt': f"open, {who.get('file') or 'no file'}" if who.get('open') else 'NOT OPEN: see the warnings',
            'launches': 'overlap' if overlaps else 'overlap: not told' if overlaps is None else 'DO NOT overlap',
            'kernels of sm_90a': {True: 'used', False: 'NOT USED'}.get(its.get('wgmma'), 'not told'), 'graphs': f"{its.get('graphs')}, missed {its.get('graph_misses')}",
            'switched off': ', '.join(its.get('without') or []) or 'nothing',
            **{f'twin {name}': distance for name, distance in (its.get('twins') or {}).items()}})
    else:
        told['the backend'] = why
        r.facts['no_gpu'] = why if "use backend 'cpu'" in why else None  # else it is a fault, which the rest is to show
    if not r.here.suffix:
        r.facts['light'] = [f'{k}: {v}' for k, v in told.items()] + [f'WARNING {w}' for w in r.facts['warnings']]
        print('\n'.join(r.facts['light']), flush=True)


def twins(r, folder):
    """Both results whole, whichever is used."""
    dumps = r.out / 'dumps'
    done = own(r, 'kernels of sm_90a', [program(folder, 'tests/ops/check_wgmma'), dumps], 60)
    lines = [line.strip() for line in done.out.splitlines()]
    wrong = [line for i, line in enumerate(lines) if 'FAILED' in line or (i and 'FAILED' in lines[i - 1])]
    r.line('kernels of sm_90a', gpu.good_of(gpu.status_of(done)), '; '.join(wrong) if done.status == 1 else last_line(done))
    if not done.status:
        for path in dumps.glob('wgmma_*'):
            path.unlink()


# ---- right: answers beside the reference's, the goldens' and the CPU's

def make(r, folder, size):
    path, why = gpu.model_file(r, folder, size)
    r.line(f'model {size}', path is not None, why or f'{path.stat().st_size >> 20} MiB')


def detector(r, folder, name, golden, *more):
    gpu.golden(r, f'detector {golden}', [program(folder, f'tests/detect/{name}'), *more])


def element(r, folder):
    """The plugin on frames in the GPU's memory, where the machine has GStreamer with its CUDA elements."""
    plugin, launch, inspect = folder / 'gst', shutil.which('gst-launch-1.0'), shutil.which('gst-inspect-1.0')
    why = 'no plugin was carried' if not (plugin / 'libgstsamtrack.so').exists() else \
        'gst-launch-1.0 is not installed' if not launch or not inspect else None
    if not why and r.run('has cudaupload', [inspect, 'cudaupload'], 30).status:
        why = 'GStreamer has no cudaupload here'
    if why:
        r.line('element', None, why)
        return
    caps = 'video/x-raw,format=NV12,width=640,height=360'
    done = own(r, 'element', [launch, '-q', 'videotestsrc', 'num-buffers=40', '!', caps, '!', 'cudaupload', '!', 'samtrack',
                              'backend=cuda', 'overload-policy=block', 'initial-prompt=box,x=200,y=100,w=200,h=160',
                              f"model-file={gpu.model_file(r, folder, 'embedded')[0]}", '!', 'fakesink'], 60,
               GST_PLUGIN_PATH=str(plugin))
    r.line('element', not done.status, last_line(done) if done.status else '40 frames in the memory of the GPU')


def embedded(r, folder):
    """The embedded model on the GPU beside the CPU, whose masks are computed once."""
    model, _ = gpu.model_file(r, folder, 'embedded')
    golden = ROOT / 'tests/golden' / ('a' if emulated() else 'c')
    keep, got = r.out / 'dumps', {}
    for backend, precision in (('cpu', 'fp32'), ('cuda', 'fp32'), ('cuda', 'bf16')):
        out = folder / f'embedded-{backend}-{precision}.safetensors'
        done = own(r, f'embedded {backend} {precision}', [
            program(folder, 'tools/sam-replay'), '--model', model, '--frames', golden / 'frames.safetensors', '--script',
            golden / 'scenarios.json', '--scenario', 'box_click', '--out', out, '--backend', backend, '--precision',
            precision], 100)
        if done.status:
            r.line(f'embedded, {backend} {precision}', False, last_line(done))
            return
        got[backend, precision] = replays.read_safetensors(out)
    for precision in ('fp32', 'bf16'):
        problems, words = replays.compare(got['cuda', precision], got['cpu', 'fp32'], not emulated(), precision == 'bf16')
        r.line(f'embedded, cuda {precision} beside cpu', not problems, '; '.join(problems[:2]) or words)
        if problems:
            for backend, kind in (('cpu', 'fp32'), ('cuda', precision)):
                shutil.copy(folder / f'embedded-{backend}-{kind}.safetensors', keep)


# ---- alone: times

def cold(r, folder, size, words):
    its, why = bench(r, folder, f'{words} {size}', size, '--frames', 36)
    r.note('speed', f'{words} {size}', its or why)
    r.line(f'{words} {size}', its is not None, f"{its['cold_ms']:.0f} ms to the first mask, {its['open_ms']:.0f} of them to "
           'open' if its else why)
    if its and words != 'first':
        r.judge(f'start to first mask, {size}, s', its['cold_ms'] / 1e3, 3.0)


def waits(r, folder):
    """The embedded model, whose masks are refined on the device, too: what waits for the host are left."""
    key = 'embedded 320 px'
    its, why = bench(r, folder, key, 'embedded', '--frames', 200, side=320)
    parts, other = bench(r, folder, f'operations {key}', 'embedded', '--frames', 52, '--operations', side=320)
    r.note('speed', key, its or why)
    r.note('operations', key, parts or other)
    if not its or not parts:
        r.line(key, False, why or other)
        return
    kernels = sum(o[3] for o in parts['operations']) / 1e3
    told = its.get('waits')
    words = f"{told['per_frame']:.1f} waits a frame, {told['ms']:.3f} ms in them" if told else 'waits: not told'
    r.line(key, True, f"{its['p50_ms']} ms a frame, {kernels:.3f} of them in kernels; {words}; {its['graphs']} graphs")


def one_fp32(r, folder):
    its, why = bench(r, folder, 'fp32 tiny', 'tiny', '--frames', 36, precision='fp32')
    r.note('speed', 'tiny 1024 px, fp32', its or why)
    r.line('tiny 1024 px, fp32', its is not None, f"{its['p50_ms']} ms; no TF32" if its else why)


def steady(r, folder):
    its, why = bench(r, folder, 'steady', 'tiny', '--frames', 3000)
    r.note('speed', 'tiny, 3000 frames', its or why)
    r.judge('first frame / median', its and its['first_ms'] / its['p50_ms'], 1.2)
    r.judge('p99 / p50 over 3000 frames', its and its['p99_ms'] / its['p50_ms'], 1.3)
    r.judge('bytes of tiny on the GPU, MiB', its and its['bytes_used'] / gpu.MIB - gpu.HOST_MIB, 300)


def variant(r, folder, size, words, environment):
    key = f'{name_of(size, 1024, 1)}, {words}'
    its, why = bench(r, folder, key, size, '--device-frames', **environment)
    r.note('speed', key, its or why)
    plain = r.facts['speed'].get(f'{name_of(size, 1024, 1)}, device frames')
    ratio = f", {its['p50_ms'] / plain['p50_ms']:.3f} of what it is with all" if its and isinstance(plain, dict) else ''
    r.line(key, its is not None, f"{its['p50_ms']} ms{ratio}" if its else why)


def write_frames(path, count, side):
    header = json.dumps({'frames': {'dtype': 'U8', 'shape': [count, side, side, 3],
                                    'data_offsets': [0, 3 * count * side * side]}}).encode()
    header += b' ' * (-len(header) % 8)
    with open(path, 'wb') as f:
        f.write(len(header).to_bytes(8, 'little') + header)
        for _ in range(count):
            f.write(os.urandom(3 * 16 * side) * (side // 16))


def detect(r, folder, name, side):
    model, why = gpu.model_file(r, folder, name)
    if not model:
        r.line(f'{name} {side} px', False, why)
        return
    frames = folder / f'frames-{side}.safetensors'
    if not frames.exists():
        write_frames(frames, 4 if emulated() else 60, side)
    its, why = last_json(own(r, f'detect {name}', [
        program(folder, 'tools/sam-detect'), '--model', model, '--frames', frames, '--out', folder / f'{name}.out', '--backend',
        'cuda', '--precision', 'bf16', *(['--input-size', side] if name.startswith('yolo') else [])], 60))
    r.note('speed', f'{name} {side} px', its or why)
    r.line(f'{name} {side} px', its is not None, f"{its['p50_ms']} ms" if its else why)


# ---- the published code, compiled beside the rest and timed alone

def descendants(pid):
    """Compilers start processes, and sessions, of their own."""
    children = collections.defaultdict(list)
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            text = stat.read_text()
        except OSError:
            continue
        children[int(text.rsplit(')', 1)[1].split()[1])].append(int(stat.parent.name))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += children[found[-1]]
    return found


class Compiled:
    """One process: compiles while others check, is stopped while others are timed, and is timed last."""

    def __init__(self, r, folder):
        self.sign = r.out / 'go'
        self.sign.unlink(missing_ok=True)
        self.out, self.err = (open(r.out / 'logs' / f'published_compiled.{kind}.log', 'w+') for kind in ('out', 'err'))
        command = [sys.executable, str(gpu.PEER), 'track', *map(str, gpu.COMPILED)]
        self.process = subprocess.Popen(command, stdout=self.out, stderr=self.err, stdin=subprocess.DEVNULL,
                                        start_new_session=True, env={**os.environ, **gpu.peer_environment(folder),
                                                                     'SAM_PEER_GO': str(self.sign)})
        atexit.register(self.tell, signal.SIGKILL)

    def tell(self, what):
        if self.process.poll() is None:
            for pid in descendants(self.process.pid):
                try:
                    os.kill(pid, what)
                except ProcessLookupError:
                    pass

    def finish(self, seconds):
        """(its JSON, what it said last)"""
        self.sign.touch()
        self.tell(signal.SIGCONT)
        try:
            self.process.wait(max(0, seconds))
        except subprocess.TimeoutExpired:
            self.tell(signal.SIGKILL)
            self.process.wait()
        texts = []
        for f in (self.out, self.err):
            f.seek(0)
            texts.append(f.read())
            f.close()
        return last_json(gpu_report.Done(self.process.returncode, *texts))


def compiled(r, job):
    its, why = job.finish((r.ends['compiled'] - r.now()))
    key = name_of(*gpu.COMPILED)
    ms = its and its.get('compiled_p50_ms')
    before = r.facts['peer'].get(key)
    if isinstance(before, dict) and its:  # its eager frames ran beside others
        r.facts['peer'][key] = {**before, 'compiled_p50_ms': ms, 'failed': its.get('failed')}
    words = f'{ms} ms' if ms else (its and its.get('failed')) or (
        'not compiled in time' if job.process.returncode == -signal.SIGKILL else why)
    mine = r.facts['speed'].get(key)
    r.line(f'published, compiled, {key}', True if ms else None, words)
    r.judge(f'{key}: times the published code', ms / mine['p50_ms'] if ms and isinstance(mine, dict) else None,
            gpu.WANTED_RATIO[gpu.COMPILED[1]], most=False)


# ---- all units, in their order

def replay(out, name, command):
    """What a failing one has given is kept; of a golden that was carried, those scenarios that are there."""
    command += ['--keep', out / 'dumps']
    where = command[3]
    folder = pathlib.Path(os.environ.get('SAMTRACK_GOLDEN', '/nonexistent')) / str(where)[1:] if str(where)[0] == '@' else where
    scenarios = json.loads((folder / 'scenarios.json').read_text())['scenarios'] if folder.is_dir() else []
    for scenario in scenarios:
        if (folder / f'{scenario}.safetensors').exists() and (scenario == 'click' or not emulated()):
            yield f'{name} {scenario}', command + ['--scenario', scenario]


def own_goldens(folder, out):
    for name, command in gpu.goldens(folder):
        if name.startswith('replay'):
            yield from replay(out, name, command)
        elif name.startswith('stages own'):
            first = command.index(gpu.OWN[0])
            yield from ((f'{name} {which}', [*command[:first], which]) for which in gpu.OWN)
        elif 'shared' not in name:  # of those that are carried only whole runs are
            yield name, command


def checks(folder, out, ops):
    yield from (Unit('right', f'model {s}', 12, make, (folder, s)) for s in
                ([] if emulated() else [*SIZES, 'edgetam', 'rf-detr-nano', 'yolov10-s']))
    yield from (Unit('right', f'op {o}', 8, gpu.operation, (folder, o)) for o in ops)
    yield Unit('right', 'embedded', 20, embedded, (folder,))
    for name, command in own_goldens(folder, out):
        if not emulated() or name == 'replay a fp32 click':
            yield Unit('right', name, 10, gpu.golden, (name, command))
    for name, golden, more in (('detect', 'yolov10', None), ('rfdetr', 'rf-detr', 'boxes'), ('rfdetr', 'rf-detr-seg', 'masks'),
                               ('mask2former', 'mask2former-swin', 'swin'), ('mask2former', 'mask2former-resnet', 'resnet')):
        where = ROOT / 'tests/golden' / golden
        args = [where, 'cuda', more] if more else [*(where / f'{n}.safetensors' for n in ('model', 'want', 'frames')),
                                                   ROOT / 'tests/golden/a/model.safetensors', 'cuda']
        if not emulated() or golden == 'rf-detr':
            yield Unit('right', f'detector {golden}', 15, detector, (folder, name, golden, *args))
    yield Unit('right', 'element', 15, element, (folder,))


def times(folder):
    def at(name, seconds, f, *args):
        return Unit('alone', name, seconds, f, args)
    ones = [(s, 1024, 1) for s in SIZES]
    expected = {'tiny': 5, 'base+': 6, 'large': 9}
    yield at('first tiny', 6, cold, folder, 'tiny', 'first')
    for s in ones:
        for on_device in (True, False):
            yield at(f'frames {s} {"device" if on_device else "host"}', expected[s[0]], gpu.frames, folder, *s, on_device)
    for s in ones:
        yield at(f'operations {s}', expected[s[0]] + 1, gpu.one_by_one, folder, *s, True)
    if not emulated():  # no product of the small models is large enough for it
        yield at('library', 6, gpu.library, folder, 'tiny')
    yield at('again tiny', 5, cold, folder, 'tiny', 'again')
    yield at('embedded and its waits', 9, waits, folder)
    yield at('fp32', 6, one_fp32, folder)
    for s in (('base+', 1024, 16), ('tiny', 512, 1), ('edgetam', 1024, 1)):
        yield at(f'frames {s}', 9 if s[2] > 1 else 5, gpu.frames, folder, *s, False)
    yield at('per object', 1, gpu.per_object)
    yield at('steady', 12, steady, folder)
    for words, environment in VARIANTS[:1] if emulated() else VARIANTS:
        yield at(words, 5, variant, folder, 'tiny', words, environment)
    for name, side in (('rf-detr-nano', 128 if emulated() else 384), ('yolov10-s', 320 if emulated() else 640)):
        yield at(name, 5, detect, folder, name, side)
    if not emulated():  # the emulator has nothing to measure
        yield at('top-k', 5, gpu.kernel, folder, 'topk')


def all_units(folder, out, ops):
    yield Unit('light', 'light', 15, light, (folder,))
    yield Unit('light', 'kernels of sm_90a', 4, twins, (folder,))
    yield from checks(folder, out, ops)
    for tool, op, case in SANITIZED if not emulated() else []:
        yield Unit('sanitizers', f'{tool} {op} {case}', 25, gpu.sanitize, (folder, tool, op, case))
    yield from times(folder)
    for size in SIZES if not emulated() else []:
        yield Unit('eager', f'published {size}', 28, gpu.theirs, (folder, size, 1024, 1, False))


# ---- going through them

def is_wrong(r, unit):
    """Whether a line of it failed that is no judgement of a figure."""
    judged = {j['what'] for j in r.facts['judged'] if j['unit'] == unit}
    return any(x[3] == unit and x[1] == 'FAILED' and x[0] not in judged for x in r.facts['lines'])


def switches(r, unit):
    return ','.join(w for w in (r.without, unit.without) if w)


def take(r, unit):
    """Units that are to follow: of one that fails itself, under each switch."""
    with r.lock:
        r.left_over = [u for u in r.left_over if u.name != unit.name]
        if not r.fits(unit):
            r.left_over.append(unit)
            return []
    began = r.now()
    r.here.suffix = f' without {unit.without}' if unit.without else ''
    r.here.most = None if emulated() else max(HANGS, 3 * unit.seconds)
    r.here.environment = {'SAMTRACK_CUDA_WITHOUT': switches(r, unit)} if switches(r, unit) else {}
    done = r.do(unit.name, 0, unit.f, *unit.args)
    wrong = is_wrong(r, unit.name)
    with r.lock:
        r.facts['timeline'].append([round(began, 1), round(r.now(), 1), unit.phase,
                                    'cut' if not done else 'FAILED' if wrong else 'done', unit.name])
        if not done:
            r.left_over.append(unit)
        if not wrong or unit.without or r.facts.get('no_gpu') or r.tried[unit.phase] >= TRIED.get(unit.phase, 4):
            return []
        r.tried[unit.phase] += 1
    return [unit._replace(name=f'{unit.name} without {s}', without=s) for s in SWITCHES]


def go_without(r):
    """Where no frame is made, but is without something, all that follows goes without it: figures of that are better than
    none."""
    verdicts = {x[0]: x[1] for x in r.facts['lines']}
    r.without = next((s for s in SWITCHES if verdicts.get('light') == 'FAILED' and verdicts.get(f'light without {s}') == 'ok'), '')
    if r.without:
        r.facts['light'].append(f'ALL THAT FOLLOWS IS WITHOUT {r.without}, as nothing works with it')
        print(r.facts['light'][-1], flush=True)


def take_all(r, units, at_once):
    """Units beside each other; those that failures add come after them."""
    units = list(units)
    while units:
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            units = [more for added in pool.map(lambda u: take(r, u), units) for more in added]


def go(r, folder, units, phases):
    """False: there is no GPU."""
    job, compiles = None, 'compiled' in phases and not emulated()
    for phase in phases:
        if job and phase in ('alone', 'eager'):
            job.tell(signal.SIGSTOP)
        print(f'-- {phase}, at {r.now():.0f} s', flush=True)
        if phase == 'compiled' and job:
            take(r, Unit('compiled', 'published, compiled', 0, compiled, (job,)))
            continue
        take_all(r, [u for u in units if u.phase == phase], AT_ONCE.get(phase, 1))
        if phase == 'light':
            if r.facts.get('no_gpu'):  # nothing else is worth a try
                return False
            go_without(r)
            if compiles and 'published, compiled' not in r.facts['done']:
                job = Compiled(r, folder)
    r.ends = {p: r.seconds for p in PHASES}
    take_all(r, list(r.left_over), 1)  # what did not fit in its phase, in the time that others left
    return True


def still_to_do(r, units):
    """What the last command has left: light again, as the process is another; tries under switches, too."""
    its = {u.name: u for u in units}
    todo = [u for u in units if u.phase == 'light' or u.name not in r.facts['done']]
    for name, without in r.facts.get('left', []):
        of = its.get(name.removesuffix(f' without {without}'))
        if of and without:
            todo.append(of._replace(name=name, without=without))
    return todo


# ---- before and after

def glibc():
    return (os.confstr('CS_GNU_LIBC_VERSION') or '0').split()[-1]


def version(text):
    return [int(n) for n in re.findall(r'\d+', text)[:2]]


def refusal(folder):
    """Why the programs of the bundle cannot run here; None: they can."""
    path = folder / 'needs.json'
    needs = json.loads(path.read_text()) if path.exists() else {}
    if needs and version(glibc()) < version(needs['glibc']):
        return f"the bundle's programs need glibc {needs['glibc']} or later, and this machine has {glibc()}"
    if needs and platform.machine() != 'x86_64':
        return f"the bundle's programs are for x86_64, and this machine is {platform.machine()}"
    driver = re.search(r', (\d+\.\d+[\d.]*)', gpu_report.device())
    if needs and driver and version(driver[1]) < version(needs['driver']):
        return f"the bundle needs driver {needs['driver']} or later (CUDA {needs['cuda']}), and this machine has {driver[1]}"
    return None


def conclude(r):
    for unit in r.left_over:
        print(f'left: {unit.phase}: {unit.name}')
    for what, verdict, words, _ in r.facts['lines']:
        if verdict == 'FAILED':
            print(f'FAILED: {what}: {words[:600]}')
    waited = [b - a for a, b, *_ in r.facts['timeline']]
    print(f"{len(r.facts['lines'])} lines, {r.failed()} failed, {len(r.left_over)} units left; {r.now():.0f} s, units of "
          f'{statistics.median(waited) if waited else 0:.1f} s in the middle; {r.copy or r.out}')


def parse():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('folder', type=pathlib.Path)
    p.add_argument('--minutes', type=float, default=8.5)
    p.add_argument('--copy', type=pathlib.Path)
    p.add_argument('--out', type=pathlib.Path)
    p.add_argument('--continue', action='store_true', dest='go_on')
    p.add_argument('--emulated', action='store_true')
    p.add_argument('--dry-run', action='store_true')
    p.add_argument('--phases', default=','.join(PHASES))
    p.add_argument('--op', action='append', choices=gpu.operations())
    a = p.parse_args()
    for phase in a.phases.split(','):
        if phase not in PHASES:
            p.error(f"--phases {phase}: wanted some of {','.join(PHASES)}")
    return a


def main():
    a = parse()
    phases = [p for p in PHASES if p == 'light' or p in a.phases.split(',')]  # light tells whether the rest is worth a try
    folder = a.folder.resolve()
    if a.emulated:
        os.environ['SAMTRACK_GPU_EMULATED'] = '1'
        a.op = a.op or ['add', 'copy']
    os.environ['SAMTRACK_GPU_LIB'] = str(folder / 'lib')
    out = (a.out or folder / 'gpu-report').resolve()
    units = [u for u in all_units(folder, out, a.op or gpu.operations()) if u.phase in phases]
    if a.dry_run:
        for phase in phases:
            its = [u for u in units if u.phase == phase]
            print(f'{phase}, to {PHASES[phase]} s: {len(its)} units of {sum(u.seconds for u in its) / AT_ONCE.get(phase, 1):.0f} s')
            print(''.join(f'    {u.seconds:3} {u.name}\n' for u in its), end='')
        return 0
    why = refusal(folder)
    if why:
        print(f'gpu.sh: {why}')
        return NO_GPU
    if a.copy:
        a.copy.mkdir(parents=True, exist_ok=True)
    r = Lease(out, a.minutes, a.go_on, a.copy and a.copy.resolve())
    (out / 'dumps').mkdir(exist_ok=True)
    if a.go_on:
        units = still_to_do(r, units)
    found = go(r, folder, units, phases)
    r.save()
    if not found:
        print(f"gpu.sh: no GPU to use: {r.facts['no_gpu']}")
        return NO_GPU
    conclude(r)
    return 3 if r.left_over else int(r.failed() != 0)


if __name__ == '__main__':
    sys.exit(main())
