#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times every model here beside its published code in PyTorch, and makes docs/MODELS.md of the figures.

  models.py measure [NAME ...]   measures all models, or those named, and keeps the figures in models.json
  models.py laptop [NAME ...]    measures ours alone as a laptop has it, AVX2 without AVX-512: processor time of one thread
  models.py page                 prints docs/MODELS.md from models.json

Weights are random, of the true shapes. Trackers follow one object with a full memory; detectors look at one frame.
Each figure is a median of runs that are made in turn, ours and PyTorch's. GFLOP are PyTorch's own count of the products
of one frame, two per multiplication. measure needs a Python with torch, transformers and safetensors (openvino for its
column), and SAM2_REPO, EDGETAM_REPO, EFFICIENTTAM_REPO: checkouts of the published code. It takes two hours on two idle cores.
"""
import contextlib
import datetime
import json
import math
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KEPT = HERE / 'models.json'
MODES = ('fp32', 'bf16')
TURNS, SLOW_TURNS = 3, 2  # of a detector; of one that takes a second or more
REPEATS, TURN_MS = 3, 500  # of the frame in a turn: at least so many, and so much time, as the first ones are slow
FULL = 17  # frames after which a tracker's memory is full
CORES, GAIN = 4, 3.2  # of a laptop, and what so many do beside one
APACHE, CC_BY_NC, AGPL = 'Apache-2.0', 'CC-BY-NC 4.0', 'AGPL-3.0'
SAM2_README = 'J&F on SA-V test, README of SAM 2'
YOLO_README = 'box AP on COCO val, README of YOLOv10'
RFDETR_README = 'box AP on COCO val, README of RF-DETR'
RFDETR_MASKS = 'mask AP on COCO val, README of RF-DETR'
M2F_ZOO = 'mask AP on COCO val at 800 x 1333 px, model zoo of Mask2Former'

# name: family, size, side in px, licence of the weights, published quality and what it is of
MODELS = {
    'samtrack-lite0': ('tracker', 'embedded', 320, 'MIT and Apache-2.0, in this repository', 0.79, 'J with a mask on seven clips of DAVIS, models/README.md'),
    'EdgeTAM': ('tracker', 'edgetam', 1024, APACHE, 71.7, 'J&F on SA-V test, README of EdgeTAM'),
    'EdgeTAM at 512': ('tracker', 'edgetam', 512, APACHE, None, ''),
    'EfficientTAM Ti at 512': ('tracker', 'efficienttam_ti_512x512', 512, APACHE, None, ''),
    'EfficientTAM Ti': ('tracker', 'efficienttam_ti', 1024, APACHE, None, ''),
    'EfficientTAM Ti, _1': ('tracker', 'efficienttam_ti_1', 1024, APACHE, None, ''),
    'EfficientTAM Ti, _2': ('tracker', 'efficienttam_ti_2', 1024, APACHE, None, ''),
    'EfficientTAM S at 512': ('tracker', 'efficienttam_s_512x512', 512, APACHE, None, ''),
    'EfficientTAM S': ('tracker', 'efficienttam_s', 1024, APACHE, None, ''),
    'EfficientTAM S, _1': ('tracker', 'efficienttam_s_1', 1024, APACHE, None, ''),
    'EfficientTAM S, _2': ('tracker', 'efficienttam_s_2', 1024, APACHE, None, ''),
    'SAM 2.1 tiny': ('tracker', 'tiny', 1024, APACHE, 76.5, SAM2_README),
    'SAM 2.1 tiny at 512': ('tracker', 'tiny', 512, APACHE, None, ''),
    'SAM 2.1 small': ('tracker', 'small', 1024, APACHE, 76.6, SAM2_README),
    'SAM 2.1 base+': ('tracker', 'base+', 1024, APACHE, 78.2, SAM2_README),
    'SAM 2.1 large': ('tracker', 'large', 1024, APACHE, 79.5, SAM2_README),
    'RF-DETR nano': ('rfdetr', 'nano', 384, APACHE, 48.4, RFDETR_README),
    'RF-DETR small': ('rfdetr', 'small', 512, APACHE, 53.0, RFDETR_README),
    'RF-DETR medium': ('rfdetr', 'medium', 576, APACHE, 54.7, RFDETR_README),
    'RF-DETR large': ('rfdetr', 'large', 704, APACHE, 56.5, RFDETR_README),
    'RF-DETR-Seg nano': ('rfdetrseg', 'nano', 312, APACHE, 40.3, RFDETR_MASKS),
    'RF-DETR-Seg small': ('rfdetrseg', 'small', 384, APACHE, 43.1, RFDETR_MASKS),
    'RF-DETR-Seg medium': ('rfdetrseg', 'medium', 432, APACHE, 45.3, RFDETR_MASKS),
    'RF-DETR-Seg large': ('rfdetrseg', 'large', 504, APACHE, 47.1, RFDETR_MASKS),
    'YOLOv10-n': ('yolo', 'n', 640, AGPL, 38.5, YOLO_README),
    'YOLOv10-s': ('yolo', 's', 640, AGPL, 46.3, YOLO_README),
    'YOLOv10-m': ('yolo', 'm', 640, AGPL, 51.1, YOLO_README),
    'YOLOv10-b': ('yolo', 'b', 640, AGPL, 52.5, YOLO_README),
    'YOLOv10-l': ('yolo', 'l', 640, AGPL, 53.2, YOLO_README),
    'YOLOv10-x': ('yolo', 'x', 640, AGPL, 54.4, YOLO_README),
    'Mask2Former R50': ('mask2former', 'r50', 384, CC_BY_NC, 43.7, M2F_ZOO),
    'Mask2Former Swin-T': ('mask2former', 'tiny', 384, CC_BY_NC, 45.0, M2F_ZOO),
    'Mask2Former Swin-S': ('mask2former', 'small', 384, CC_BY_NC, 46.3, M2F_ZOO),
    'Mask2Former Swin-B': ('mask2former', 'base', 384, CC_BY_NC, 48.1, M2F_ZOO),
    'Mask2Former Swin-L': ('mask2former', 'large', 384, CC_BY_NC, 50.1, M2F_ZOO),
}


# ---- measuring

def modes():
    """Those of this processor: our engine has bf16 only where that is faster."""
    return MODES if 'avx512_bf16' in pathlib.Path('/proc/cpuinfo').read_text() else MODES[:1]


def autocast(mode):
    import torch
    return torch.autocast('cpu', torch.bfloat16, enabled=mode == 'bf16')


def count_gflop(run):
    """Products and convolutions of one run."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        run()
    return round(counter.get_total_flops() / 1e9, 2)


def milliseconds(run):
    began = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - began)


class Published:
    """A published video predictor at a full memory: frame 1's is repeated until there is no room for more, as what
    stands in it does not change the time. EdgeTAM's code keeps it twice."""

    def __init__(self, model, frames, box, mode):
        import make_golden
        import published
        self.model, self.mode = model.requires_grad_(False), mode  # gradients would confuse the counter of GFLOP
        self.keys = []
        model.memory_attention.register_forward_pre_hook(self.note, with_kwargs=True)
        with autocast(mode):
            self.state = published.start(model, frames)
            make_golden.give(model, self.state, {'frame': 0, 'obj': 1, 'box': box}, None)
            for _ in model.propagate_in_video(self.state, max_frame_num_to_track=1):
                pass
        for kept in (self.state['output_dict_per_obj'][0], self.state.get('output_dict')):
            for t in range(2, FULL) if kept else ():
                kept['non_cond_frame_outputs'][t] = kept['non_cond_frame_outputs'][1]

    def note(self, module, args, named):
        self.keys.append(len(named['memory']))

    def run(self, t):
        with autocast(self.mode):
            for _ in self.model.propagate_in_video(self.state, start_frame_idx=t, max_frame_num_to_track=0):
                pass


def write_tracker(folder, side, size):
    """The published predictor, its file, frames and a box."""
    import cpu
    import numpy as np
    import published
    from safetensors.torch import load_file
    cpu.write_clip(str(folder), side, FULL + 3)
    model = published.build(size, 1, side)
    file = folder / f'{size}.pt'  # of EfficientTAM the name tells the variant
    published.save_pt(model, file)
    frames = load_file(folder / 'frames.safetensors')['frames'].numpy()
    box = json.loads((folder / 'scenarios.json').read_text())['scenarios']['box'][0]['box']
    return model, file, np.ascontiguousarray(frames), box


def measure_tracker(name, size, side):
    import torch
    row = {'ours': {}, 'torch': {}}
    with tempfile.TemporaryDirectory() as text, torch.no_grad():
        folder = pathlib.Path(text)
        if size == 'embedded':
            return measure_embedded(folder, side)
        model, file, frames, box = write_tracker(folder, side, size)
        row['parameters'] = sum(p.numel() for p in model.parameters())
        for mode in modes():
            told = replay(folder, file, mode, side)
            peer = Published(model, frames, box, mode)
            times = [milliseconds(lambda t=t: peer.run(t)) for t in range(FULL, FULL + 2)]
            if len(set(peer.keys[-2:])) > 1:
                sys.exit(f'{name}: the memory of the published code still grows: {peer.keys[-2:]} keys')
            row['ours'][mode], row['torch'][mode] = told['p50_ms'], round(statistics.median(times), 1)
            row['bytes'] = told['bytes_used'] if mode == 'fp32' else row['bytes']
            if mode == 'fp32':
                row['gflop'] = count_gflop(lambda: peer.run(FULL + 2))
    return row


def replay(folder, model, mode, side, *more):
    import cpu
    told, why = cpu.replay(model, folder, mode, '--input-size', str(side), *more)
    return told or sys.exit(f'sam-replay: {why}')


def measure_embedded(folder, side):
    """The embedded model beside transformers' modules with its weights."""
    import cpu
    import model as naming
    import torch
    import tracker
    from safetensors.torch import load_file
    file = cpu.EMBEDDED
    cpu.write_clip(str(folder), side)
    frames = load_file(folder / 'frames.safetensors')['frames'].permute(0, 3, 1, 2)
    x0, y0, x1, y1 = json.loads((folder / 'scenarios.json').read_text())['scenarios']['box'][0]['box']
    net = naming.load(file)
    row = {'ours': {}, 'torch': {}, 'parameters': sum(p.numel() for p in net.parameters())}
    for mode in modes():
        told = replay(folder, file, mode, side)
        with autocast(mode), torch.no_grad():
            one = tracker.Tracker(net)
            one.prompt_points(frames[:1], [[x0, y0], [x1, y1]], [2, 3])
            times = [milliseconds(lambda f=f: one.track(f[None])) for f in frames[1:40]]
            if mode == 'fp32':
                row['gflop'] = count_gflop(lambda: one.track(frames[40:41]))
        row['ours'][mode], row['torch'][mode] = told['p50_ms'], round(statistics.median(times[FULL:]), 1)
        row['bytes'] = told['bytes_used'] if mode == 'fp32' else row['bytes']
    return row


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_laptop(name):
    """Processor ms of a frame at a full memory, one thread: a long run less a short one; of the embedded model the least of several."""
    import cpu
    _, size, side = MODELS[name][:3]
    times = []
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        file = cpu.EMBEDDED if size == 'embedded' else write_tracker(folder, side, size)[1]
        more, runs = (40, 3) if size == 'embedded' else (3, 1)
        for _ in range(runs):
            took = []
            for count in FULL + 1, FULL + 1 + more:
                cpu.write_clip(text, side, count)
                before = spent()
                replay(folder, file, 'fp32', side, '--threads', '1')
                took.append(spent() - before)
            times.append(1e3 * (took[1] - took[0]) / more)
    return round(min(times), 1)


def make_case(family, size, side):
    import argparse

    import compare_detectors as detectors
    kind = {'yolo': detectors.YoloCase, 'rfdetr': detectors.RfdetrCase, 'rfdetrseg': detectors.RfdetrSegCase,
            'mask2former': detectors.Mask2FormerCase}[family]
    case = kind(argparse.Namespace(side=side, seed=1), size)
    case.model.requires_grad_(False)  # gradients would confuse the counter of GFLOP
    return case


def image_of(case):
    """What the network is given, and the network alone."""
    import compare_detectors as detectors
    if isinstance(case, detectors.YoloCase):
        return case.frame.permute(2, 0, 1)[None].float() / 255
    prepare = detectors.rfdetr.prepare if isinstance(case, detectors.RfdetrCase) else detectors.mask2former.prepare
    return prepare(case.frame, case.side)


def openvino_times(case, image):
    """{mode: request, or None where the converter or the processor cannot}"""
    import cpu
    import torch
    try:
        import openvino as ov
    except ImportError:
        return {}

    class Outputs(torch.nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def forward(self, x):
            out = self.net(x)
            if 'logits' in out and 'bins' in out:
                return out['logits'], out['bins']
            keys = [k for k in ('logits', 'pred_boxes', 'pred_masks', 'class_queries_logits', 'masks_queries_logits') if k in out]
            return tuple(out[k] for k in keys)

    try:
        converted = ov.convert_model(Outputs(case.model), example_input=image, input=[tuple(image.shape)])
    except Exception as e:  # the converter's, of any kind
        print(f'  OpenVINO: {type(e).__name__}: {str(e).splitlines()[0][:120]}', file=sys.stderr)
        return {}
    core, requests = ov.Core(), {}
    for mode in modes():
        requests[mode] = core.compile_model(converted, 'CPU', cpu.openvino_settings(mode)).create_infer_request()
    with torch.no_grad():
        want = Outputs(case.model)(image)
    requests['fp32'].infer([image.numpy()])
    for i, w in enumerate(want):
        off = (torch.from_numpy(requests['fp32'].get_output_tensor(i).data.copy()) - w).norm() / w.norm()
        if not off < 1e-3:  # RF-DETR chooses candidates, which one rounding may change
            print(f'  OpenVINO: output {i} is off by {off:.1e} from PyTorch in fp32', file=sys.stderr)
    return requests


def write_turn(folder, frame, count):
    from safetensors.torch import save_file
    save_file({'frames': frame[None].repeat(count, 1, 1, 1).contiguous()}, folder / 'turn.safetensors')


def detect(folder, mode, side):
    import cpu
    told, why = cpu.last_json([str(a) for a in (
        ROOT / 'build' / 'tools' / 'sam-detect', '--model', folder / 'model.safetensors', '--frames', folder / 'turn.safetensors',
        '--out', folder / 'out.safetensors', '--precision', mode, '--input-size', side)])
    return told or sys.exit(f'sam-detect: {why}')


def repeat(run, times=REPEATS):
    return statistics.median(milliseconds(run) for _ in range(times))


def measure_detector(name, family, size, side):
    import torch
    case = make_case(family, size, side)
    image = image_of(case)
    row = {'ours': {}, 'torch': {}, 'openvino': {}, 'parameters': sum(p.numel() for p in case.model.parameters())}
    with tempfile.TemporaryDirectory() as text, torch.no_grad():
        folder = pathlib.Path(text)
        case.save(folder)
        write_turn(folder, case.frame, REPEATS)
        row['gflop'] = count_gflop(lambda: case.model(image))
        vino = openvino_times(case, image)
        for mode in modes():
            told = detect(folder, mode, side)
            count = max(REPEATS, int(TURN_MS / told['p50_ms']))
            write_turn(folder, case.frame, count)
            times = {'ours': [], 'torch': [], 'openvino': []}
            for _ in range(TURNS if told['p50_ms'] < 1000 else SLOW_TURNS):  # in turn: all see the same machine
                times['ours'].append(detect(folder, mode, side)['p50_ms'])
                with autocast(mode):
                    times['torch'].append(repeat(lambda: case.model(image), count))
                if mode in vino:
                    times['openvino'].append(repeat(
                        lambda: vino[mode].infer([image.numpy()], share_inputs=True, share_outputs=True), count))
            for who, found in times.items():
                if found:
                    row[who][mode] = round(statistics.median(found), 1)
            row['bytes'] = told['bytes_used'] if mode == 'fp32' else row['bytes']
    return row


def find_modules():
    sys.path[:0] = [str(ROOT / 'tools'), str(ROOT / 'tools' / 'train'), str(HERE)]


def laptop(names):
    find_modules()
    import cpu
    os.environ['SAMTRACK_CPU_LEVEL'] = 'avx2'
    kept = read()
    for name in names or [n for n in MODELS if MODELS[n][0] == 'tracker']:
        with contextlib.redirect_stdout(sys.stderr):
            kept[name]['laptop'] = {'ms': measure_laptop(name), 'machine': cpu.machine().split(',')[0]}
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + '\n')
        print(name, json.dumps(kept[name]['laptop']), flush=True)


def measure(names):
    find_modules()
    import torch

    import cpu
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    kept = read()
    for name in names or MODELS:
        family, size, side = MODELS[name][:3]
        with contextlib.redirect_stdout(sys.stderr):
            row = measure_tracker(name, size, side) if family == 'tracker' else measure_detector(name, family, size, side)
        row |= {'laptop': kept[name]['laptop']} if 'laptop' in kept.get(name, {}) else {}
        row.update(machine=cpu.machine(), date=datetime.date.today().isoformat(), torch_version=torch.__version__.split('+')[0])
        kept[name] = row
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + '\n')
        print(name, json.dumps(row), flush=True)


# ---- the page

def read():
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def ms(value):
    return '' if value is None else f'{value:.0f}' if value >= 100 else f'{value:.1f}'


def beside(value, base):
    """A peer's time, and how many times ours it is."""
    return '' if value is None else f'{ms(value)} ({value / base:.2f} x)'


def cells(name, row, columns):
    family, _, side, licence, quality, of = MODELS[name]
    start = [name, f'{side}', licence, f'{row["parameters"] / 1e6:.1f}', f'{row["gflop"]:.1f}', f'{row["bytes"] / 2 ** 20:.0f}']
    for mode in MODES:
        start.append(ms(row['ours'].get(mode)))
        for peer in columns:
            start.append(beside(row.get(peer, {}).get(mode), row['ours'].get(mode)))
    return start + ['' if quality is None else f'{quality}']


def table(names, columns, kept):
    told = {'torch': 'PyTorch', 'openvino': 'OpenVINO'}
    head = ['model', 'side, px', 'licence of its weights', 'parameters, M', 'GFLOP a frame', 'memory, MiB']
    for mode in MODES:
        head += [f'ms, {mode}'] + [f'{told[c]}, {mode}' for c in columns]
    lines = [head + ['published quality'], ['---'] * (len(head) + 1)]
    lines += [cells(n, kept[n], columns) for n in names if n in kept]
    return '\n'.join('| ' + ' | '.join(line) + ' |' for line in lines)


def sources(names):
    found = {}
    for name in names:
        if MODELS[name][5]:
            found.setdefault(MODELS[name][5], []).append(name)
    return '\n'.join(f'- {", ".join(who)}: {of}' for of, who in found.items())


def untimed(kept):
    names = [n for n in MODELS if n in kept and not kept[n]['ours']]
    return f"\nNot timed on a quiet machine yet: {', '.join(names)}; [SPEED.md](SPEED.md) and the embedded model's card have processor times. GFLOP and memory\nof EfficientTAM are computed from its sizes.\n" if names else ''


PAGE = """# Models

Which models run here, how large and how fast they are, and what to choose. This page is made by `tests/bench/models.py page` from the figures that
`tests/bench/models.py measure` took; see [SPEED.md](SPEED.md) for the whole comparison of SAM 2.1 tiny, [DETECTORS.md](DETECTORS.md) for files, parity and
licences of detectors.

## What to choose

- **A camera on a CPU**: the embedded model, `samtrack-lite0`. It needs no file. It takes less of a processor's time than samtrack-nano before it, which kept up with
  30 frames a second on two cores with AVX-512. Where BF16 is faster than FP32 its input has 448 px (J 0.84 by mask, 0.82 by box, 0.75 by click), elsewhere 320 (0.79, 0.79, 0.72), in half
  the time; `input-size` sets either anywhere, and 256 where both are too slow ([models/README.md](../models/README.md)).
- **Better masks on a CPU, live**: EdgeTAM at 512 px (`input-size=512`). The stream goes on meanwhile; masks are a few frames old, or with `follow=embedded` those of every frame.
- **Annotation, where no frame may be lost and time does not count**: SAM 2.1 base+ or large, in files with `overload-policy=block`.
- **A GPU**: SAM 2.1 tiny, base+ or large: 3.2, 4.9 and 8.1 ms a frame on an H200 in bf16 ([SPEED.md](SPEED.md#gpus)).
- **Nobody to click**: RF-DETR nano or small, whose code and weights may be used freely. YOLOv10-n is the fastest detector, under the AGPL.
  Where objects overlap a mask is a better start than a box: RF-DETR-Seg. Mask2Former has masks, too; its weights exclude commercial use.

## Trackers

One object, full memory, ms per frame; behind a peer's time how many times ours it is. PyTorch runs the published code (for the embedded model the modules of transformers), eager, the median of two frames; bf16 is
autocast.

{trackers}
{untimed}
### SAM 3

Its tracker runs here with weights that you bring: `sam3.pt` or `model.safetensors` with its `config.json`, 3.4 GB, from `facebook/sam3` at Hugging Face. They are gated: you ask there, with your name, and agree to the **SAM License**, which goes with every copy and excludes
military, nuclear and espionage uses among others. Read it before you build on it. Nothing of the weights or of the publisher's code is in this project. The detector that finds things by words is in the same file: [DETECTORS.md](DETECTORS.md#sam-3s-detector).

| | |
| --- | --- |
| side | 1008 px; `input-size=336` has a ninth of its tokens, `672` four ninths: both were not trained, and their masks not measured |
| parameters read | 466 M of 860 M, 1.7 GiB in fp32 |
| work | 5613 GFLOP a frame in its trunk alone, six times SAM 2.1 tiny whole: at the rates of that table 17 s a frame in fp32 and 9 s in bf16, which nobody has timed; on a CPU it is for archives (`overload-policy=block`) |
| exactness | each part and whole runs with random weights, small ones and of the true shapes at 336 px, as for the other models ([MODEL.md](MODEL.md#sam-3-a-plain-vision-transformer-with-rotary-positions)); true weights were not run here, nor was anything on a GPU |

## Live, with and without `follow`

In a live pipeline the stream never waits for a model. Of a camera of 30 Hz so many frames go by in a step of a model on that machine, computed from the table above:

{live}

- **Without [`follow`](GSTREAMER.md#two-speeds)** masks are at least so many frames old, and twice as old when the next come: right for what stands still, beside what moves.
- **With `follow=embedded`** every frame has masks of its own as long as samtrack-lite0 takes less than a frame's time. They follow masks of the slow model that are once to twice so many frames old, more where both share the processors: the fast model comes first. A click has an
  answer with the next frame, and the slow model's some steps later. Where the fast model would drift away, the slow one brings it back: J on seven clips is 0.79 alone, 0.83 with true masks every 12 frames, 0.81 every 24, and 0.39 and 0.32 where those masks are shown as they
  come ([SPEED.md](SPEED.md#two-speeds)). Details of a mask are the fast model's.
- **A model that takes less than a frame** needs none: `follow=auto` leaves it alone.

What to expect on a laptop of {cores} cores with AVX2 and without AVX-512, in fp32, of a camera of 30 Hz. The first column is processor time of a frame at full memory, one thread, measured with `SAMTRACK_CPU_LEVEL=avx2` on a server's core ({laptop_machine}),
or, where it says *about*, computed from the work of a frame and the rate of the largest model that was measured; {cores} cores are taken for {gain} times one. Laptops that get warm are slower.

{laptop}

## Detectors

One frame, ms. PyTorch runs transformers' code (RF-DETR, Mask2Former) or a network of the same shapes (YOLOv10), eager; bf16 is autocast. OpenVINO runs the same
network converted, in LATENCY mode. The times of the peers are those of the network alone; ours include preprocessing and the results.

{detectors}

## Where figures come from

Speed and memory: {machine}, PyTorch {torch}, {dates}; weights are random, of the true shapes. GFLOP count products and convolutions, two per multiplication. Memory is what
the engine holds in fp32, weights included.

Published quality, which was not measured here:

{sources}
"""


def live(names, kept):
    """How many frames of a camera of 30 Hz go by in a step; a mask is that old when it comes, and twice as old before the next."""
    lines = ['| model | frames in a step, fp32 | bf16 |', '| --- | --- | --- |']
    for name in names:
        steps = [kept[name]['ours'].get(mode) if name in kept else None for mode in MODES]
        if any(steps):
            lines.append(f'| {name} | ' + ' | '.join(str(math.ceil(ms * 30 / 1000)) if ms else '' for ms in steps) + ' |')
    return '\n'.join(lines)


def of_laptop(name, kept):
    """(ms of one core, whether that is computed): by GFLOP and the rate of the measured model with most of them."""
    if 'laptop' in kept[name]:
        return kept[name]['laptop']['ms'], False
    most = max((n for n in kept if 'laptop' in kept[n]), key=lambda n: kept[n]['gflop'])
    return kept[name]['gflop'] / kept[most]['gflop'] * kept[most]['laptop']['ms'], True


def frames_of(ms):
    return math.ceil(ms * 30 / 1000)


def on_laptop(names, kept):
    """What becomes of a camera of 30 Hz. The fast model comes first: the slow one has what it leaves of the cores."""
    fast = of_laptop('samtrack-lite0', kept)[0] / GAIN
    lines = ['| model | ms of a core | frames a second | without `follow` masks are so many frames old | with `follow=embedded` every frame has its own, after ones that old |',
             '| --- | --- | --- | --- | --- |']
    for name in names:
        one, computed = of_laptop(name, kept)
        alone = one / GAIN
        behind = frames_of(alone / max(0.1, 1 - fast * 30 / 1000))
        old = ('0', 'not needed') if frames_of(alone) == 1 else (f'{n} to {2 * n}' for n in (frames_of(alone), behind))
        one = f'about {float(f"{one:.2g}"):.0f}' if computed else f'{one:.0f}'
        lines.append(f"| {name} | {one} | {1000 / alone:.2g} | {' | '.join(old)} |")
    return '\n'.join(lines)


def page():
    kept = read()
    trackers = [n for n in MODELS if MODELS[n][0] == 'tracker']
    detectors = [n for n in MODELS if MODELS[n][0] != 'tracker']
    rows = [kept[n] for n in MODELS if n in kept]
    return PAGE.format(
        trackers=table(trackers, ['torch'], kept), live=live(trackers, kept), laptop=on_laptop(trackers, kept), cores=CORES, gain=GAIN, untimed=untimed(kept), detectors=table(detectors, ['torch', 'openvino'], kept),
        laptop_machine=next(kept[n]['laptop']['machine'] for n in kept if 'laptop' in kept[n]),
        machine='; '.join(sorted({r['machine'] for r in rows})), torch=', '.join(sorted({r['torch_version'] for r in rows})),
        dates=', '.join(sorted({r['date'] for r in rows})), sources=sources([n for n in MODELS if n in kept]))


def main():
    command, names = sys.argv[1:2], sys.argv[2:]
    unknown = [n for n in names if n not in MODELS]
    if unknown:
        sys.exit(f'{unknown[0]}: no such model, expected one of: {", ".join(MODELS)}')
    if command == ['measure']:
        measure(names)
    elif command == ['laptop']:
        laptop(names)
    elif command == ['page'] and not names:
        print(page(), end='')
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
