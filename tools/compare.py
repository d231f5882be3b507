#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares SAM 2.1, EdgeTAM and EfficientTAM at full size in PyTorch (the published code) and in our engine, on a
real clip, with seeded random weights: errors per stage, mask IoU per frame, times. SAM 3's tracker, too: of transformers'
modules (sam3_torch.py), at a side that is a multiple of 336.

usage: SAM2_REPO=CHECKOUT EDGETAM_REPO=CHECKOUT EFFICIENTTAM_REPO=CHECKOUT
           python tools/compare.py --clip FOLDER-OF-JPG
           [--sizes tiny,small,base+,large,edgetam,efficienttam_ti,efficienttam_ti_1,...,sam3] [--side 1024] [--frames 19]
           [--precisions fp32,bf16] [--seed 1] [--work FOLDER] [--stages] [--published]

18 frames fill the memory; eight fill its maps. build/ must be built. OMP_NUM_THREADS says how many threads both have.
Processor times are of a frame: of PyTorch the median of the last three; of ours those of the whole run, the opening
with it, which is more than a frame takes. With random weights
the masks show no objects; only the differences matter. The script prints the largest relative error
in norm of each part fed with PyTorch's inputs (--stages: of every stage), the error of the whole
image encoder, and the IoU of the masks of whole runs. --published runs only PyTorch, a second time
with relative noise of 1e-6 on its weights, as a baseline. The exit status is 1 if a stage is off by
more than 1e-3 (fp32) or 2e-2 (bf16), or a mask in fp32 has an IoU below 0.99. Whole runs in bf16 are
printed only, because an untrained network amplifies rounding errors."""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import torch
    from PIL import Image
    from safetensors.torch import load_file, save_file

    import make_golden
    import published
    import sam3_torch
    from stages import Stages
except ImportError as e:
    sys.exit(f'compare.py: {e.name} is not installed in {sys.executable}')

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = {'block': 'a block', 'stage': 'a block', 'stem': 'a block', 'fpn': 'neck', 's0': 'neck',
         's1': 'neck', 'memory_attention': 'memory attention', 'decoder': 'decoder',
         'memory_encoder': 'memory encoder', 'spatial_perceiver': 'perceiver'}
CLICK = 500 / 1024, 520 / 1024  # of the side
PRESENT = 12.0  # bias of SAM 3's object score: its random head must not say that nothing is there


def read_clip(folder, count, side):
    files = sorted(folder.glob('*.jpg'))[:count]
    if len(files) < max(8, count):
        sys.exit(f'{folder}: wanted {max(8, count)} .jpg frames, got {len(files)}')
    small = [Image.open(f).convert('RGB').resize((side, side), Image.BILINEAR) for f in files]
    return np.stack([np.asarray(f) for f in small])


def click(side):
    return {'frame': 0, 'obj': 1, 'points': [[side * c for c in CLICK]], 'labels': [1]}


def build(size, seed, side):
    if size != 'sam3':
        return published.build(size, seed, side)
    spec = {**sam3_torch.TRUE, 'image_size': side}
    model = make_golden.build(spec)
    sam3_torch.randomize(model.m, seed, PRESENT)
    return model


def save(model, weights):
    if isinstance(model, sam3_torch.Tracker):
        state = {k: v.clone() for k, v in model.m.state_dict().items() if v.is_floating_point()}
        save_file(state, weights, metadata={'samtrack': json.dumps(make_golden.config(model.spec))})
    else:
        published.save_pt(model, weights)


def run_sam3(model, frames):
    last = len(frames) - 1
    result = sam3_torch.run_scenario(model, frames, [click(model.S)], None, True, (last,), last)
    began = np.diff(np.array([*model.began, (time.perf_counter(), time.process_time())]), axis=0)[-3:]
    return result, *(1e3 * np.median(began, axis=0))


def run_published(model, frames):
    """Outputs of every frame, the stages of the last one, ms per frame and of a processor."""
    if isinstance(model, sam3_torch.Tracker):
        return run_sam3(model, frames)
    stages = Stages(model)
    result, times, used = {}, [], []
    with torch.inference_mode():
        state = published.start(model, frames)
        make_golden.give(model, state, click(model.image_size), None)
        last, used_last = time.perf_counter(), time.process_time()
        for t, _, _ in model.propagate_in_video(state):
            times.append(1e3 * (time.perf_counter() - last))
            used.append(1e3 * (time.process_time() - used_last))
            prefix = f'obj1/frame{t:03}'
            if t == len(frames) - 1:
                result.update(stages.take(f'{prefix}/track', levels=True, trunk=True))
            stages.step.clear()
            kept = state['output_dict_per_obj'][0]
            out = kept['cond_frame_outputs'].get(t) or kept['non_cond_frame_outputs'][t]
            result[f'{prefix}/low_res'] = out['pred_masks'][0, 0].float().clone()
            result[f'{prefix}/pointer'] = out['obj_ptr'][0].float().clone()
            result[f'{prefix}/score'] = out['object_score_logits'][0].float().clone()
            result[f'{prefix}/memory'] = out['maskmem_features'][0].clone()
            last, used_last = time.perf_counter(), time.process_time()
    return result, statistics.median(times[-3:]), statistics.median(used[-3:])


def engine(program, side, *args):
    args = [*args, *(['--input-size', side] if side != 1024 else [])]
    run = subprocess.run([ROOT / 'build' / program, *map(str, args)], capture_output=True, text=True)
    if not run.stdout:
        sys.exit(f'{program}: {run.stderr.strip()}')
    return run.stdout.strip().splitlines()


def used_ms():
    """Of a processor, by what has been run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (used.ru_utime + used.ru_stime)


def part_of(stage):
    """The row of the table that a line of sam-stages belongs to; None for what is not told."""
    frame, _, rest = stage.partition('/')
    if rest.startswith('chain/'):
        return 'encoder as one chain'
    for prefix, part in PARTS.items():
        if rest.startswith('track/' + prefix):
            return part
    return None


def weights_of(work, size):
    """A name that tells the variant, where shapes cannot."""
    if size == 'sam3':
        return work / 'model.safetensors'
    return work / (f'{size}.pt' if size in published.EFFICIENTTAM else 'model.pt')


def run_stages(work, model, side, precision, every):
    """Each part fed with PyTorch's own inputs: its worst relative error; and the verdict."""
    lines = engine('tests/model/sam-stages', side, '--model', model, '--golden',
                   work / 'click.safetensors', '--backend', 'cpu', '--precision', precision)
    worst = {}
    for line in lines[:-1]:
        if every:
            print('     ', line)
        stage, relative = line.replace('obj1/frame', '').split()[:2]
        part = part_of(stage)
        if part:
            worst[part] = max(worst.get(part, 0.0), float(relative))
    print(f'    stages ({precision}): ' + ', '.join(f'{k} {v:.1e}' for k, v in worst.items()))
    print('    ' + lines[-1].replace('obj1/frame', ''))
    return worst, lines[-1].startswith('PASSED')


def iou(a, b):
    union = int((a | b).sum())
    return int((a & b).sum()) / union if union else 1.0


def run_masks(work, model, side, precision, theirs, count):
    """A whole run of our engine beside PyTorch's: what it told, and the worst of each."""
    out, used = work / f'ours-{precision}.safetensors', used_ms()
    last = engine('tools/sam-replay', side, '--model', model, '--frames', work / 'frames.safetensors',
                  '--script', work / 'scenarios.json', '--scenario', 'click', '--out', out,
                  '--backend', 'cpu', '--precision', precision, '--threads', torch.get_num_threads())[-1]
    used = (used_ms() - used) / count
    ours, told = load_file(out), json.loads(last)
    ious, flips, scores = [], [], []
    for t in range(count):
        mask, score = f'obj1/frame{t:03}/low_res', f'obj1/frame{t:03}/score'
        a, b = ours[mask] > 0, theirs[mask] > 0
        ious.append(iou(a, b))
        flips.append(int((a != b).sum()))
        scores.append(float((ours[score] - theirs[score]).abs()))
    print(f'    mask IoU per frame ({precision}): ' + ' '.join(f'{i:.4f}' for i in ious))
    print(f'    worst IoU {min(ious):.4f}, most pixels flipped {max(flips)} of {theirs[mask].numel()}, '
          f'largest difference of the object score {max(scores):.1e}')
    return {'ours_ms': told['p50_ms'], 'ours_processor_ms': round(used, 1), 'open_ms': told['open_ms'], 'worst_iou': round(min(ious), 5),
            'most_flipped': max(flips), 'score_error': max(scores)}


def tell_noise(model, frames, theirs):
    """How far the published code's masks move with its weights."""
    noise = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in (model.m if isinstance(model, sam3_torch.Tracker) else model).parameters():
            p.mul_(1 + 1e-6 * torch.randn(p.shape, generator=noise))
    moved, _, _ = run_published(model, frames)
    masks = [k for k in theirs if k.endswith('low_res')]
    flips = [int(((moved[k] > 0) != (theirs[k] > 0)).sum()) for k in masks]
    print(f'    weights times 1 + 1e-6 noise: worst IoU '
          f'{min(iou(moved[k] > 0, theirs[k] > 0) for k in masks):.4f}, most pixels flipped '
          f'{max(flips)} of {theirs[masks[0]].numel()}')


def compare(size, frames, args, work):
    model = build(size, args.seed, args.side)
    weights = weights_of(work, size)
    save(model, weights)
    save_file({'frames': torch.from_numpy(frames)}, work / 'frames.safetensors')
    script = {'image_size': args.side, 'T': len(frames), 'scenarios': {'click': [click(args.side)]}}
    (work / 'scenarios.json').write_text(json.dumps(script))
    theirs, torch_ms, torch_used = run_published(model, frames)
    if args.published:
        tell_noise(model, frames, theirs)
    del model
    save_file(theirs, work / 'click.safetensors')
    frames_of = [theirs[f'obj1/frame{t:03}/low_res'] > 0 for t in range(len(frames))]
    scores = [float(theirs[f'obj1/frame{t:03}/score']) for t in range(len(frames))]
    moves = [iou(a, b) for a, b in zip(frames_of, frames_of[1:])]
    print(f'{size} at {args.side}: PyTorch fp32 {torch_ms:.0f} ms a frame, {torch_used:.0f} of a processor; object scores {min(scores):.2f} to '
          f'{max(scores):.2f}; IoU of one frame\'s mask with the next\'s {min(moves):.3f} to {max(moves):.3f}', flush=True)
    figures, good = {'torch_fp32_ms': round(torch_ms, 1), 'torch_fp32_processor_ms': round(torch_used, 1)}, min(scores) > 1.0
    if not good:
        print('    FAILED: an object score near zero: presence hangs on rounding')
    for precision in [] if args.published else args.precisions.split(','):
        stages, passed = run_stages(work, weights, args.side, precision, args.stages)
        told = run_masks(work, weights, args.side, precision, theirs, len(frames))
        good = good and passed and (precision != 'fp32' or told['worst_iou'] >= 0.99)
        figures[precision] = {**told, 'stages': stages}
        print(f"    ours {precision}: {told['ours_ms']:.0f} ms a frame, {torch_ms / told['ours_ms']:.2f} times as "
              f"fast as PyTorch fp32; {told['ours_processor_ms']:.0f} of a processor, "
              f"{torch_used / told['ours_processor_ms']:.2f} times; open {told['open_ms']:.0f} ms", flush=True)
    return figures, good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--clip', type=pathlib.Path, required=True)
    parser.add_argument('--sizes', default='tiny,small,base+,large')
    parser.add_argument('--side', type=int, default=1024)
    parser.add_argument('--published', action='store_true')
    parser.add_argument('--frames', type=int, default=19)
    parser.add_argument('--precisions', default='fp32,bf16')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--work', type=pathlib.Path)
    parser.add_argument('--stages', action='store_true')
    args = parser.parse_args()
    frames = read_clip(args.clip, args.frames, args.side)
    table, good = {}, True
    with tempfile.TemporaryDirectory() as folder:
        work = args.work or pathlib.Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        for size in args.sizes.split(','):
            table[size], passed = compare(size, frames, args, work)
            good = good and passed
    print(json.dumps(table))
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
