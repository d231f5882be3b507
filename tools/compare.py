#!/usr/bin/env python3
"""SAM 2.1 at true size in PyTorch (the published code) and in our engine, on a real clip, with
seeded random weights: errors per stage, mask IoU per frame, both times.

usage: SAM2_REPO=CHECKOUT python tools/compare.py --clip FOLDER-OF-JPG
           [--sizes tiny,small,base+,large] [--frames 19] [--precisions fp32,bf16] [--seed 1]
           [--work FOLDER]

The clip needs at least 18 frames: fewer never fill the memory. build/ must be built. Random
weights look like nothing, so what counts is that both answers are the same; in bf16 a random
network is useless as a whole run, there only the stages are told."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

import make_golden
import published

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIDE, FULL = 1024, 16
ITEM = {'frame': 0, 'obj': 1, 'points': [[500.0, 520.0]], 'labels': [1]}


def read_clip(folder, count):
    files = sorted(folder.glob('*.jpg'))[:count]
    if len(files) < 18:
        sys.exit(f'{folder}: wanted at least 18 .jpg frames, got {len(files)}')
    small = [Image.open(f).convert('RGB').resize((SIDE, SIDE), Image.BILINEAR) for f in files]
    return np.stack([np.asarray(f) for f in small])


def run_published(model, frames):
    """Outputs of every frame, the stages of the last one, ms per frame."""
    stages = make_golden.Stages(model)
    result, times = {}, []
    with torch.inference_mode():
        state = published.start(model, frames)
        make_golden.give(model, state, ITEM, None)
        last = time.perf_counter()
        for t, _, _ in model.propagate_in_video(state):
            times.append(1e3 * (time.perf_counter() - last))
            prefix = f'obj1/frame{t:03}'
            if t == len(frames) - 1:
                result.update(stages.take(f'{prefix}/track', encoder=True))
            stages.step.clear()
            kept = state['output_dict_per_obj'][0]
            out = kept['cond_frame_outputs'].get(t) or kept['non_cond_frame_outputs'][t]
            result[f'{prefix}/low_res'] = out['pred_masks'][0, 0].float().clone()
            result[f'{prefix}/pointer'] = out['obj_ptr'][0].float().clone()
            result[f'{prefix}/score'] = out['object_score_logits'][0].float().clone()
            result[f'{prefix}/memory'] = out['maskmem_features'][0].clone()
            last = time.perf_counter()
    return result, statistics.median(times[FULL:])


def engine(program, *args):
    run = subprocess.run([ROOT / 'build' / program, *map(str, args)], capture_output=True, text=True)
    if not run.stdout:
        sys.exit(f'{program}: {run.stderr.strip()}')
    return run.stdout.strip().splitlines()


def show_stages(work, precision):
    """Each part fed with PyTorch's own inputs: the worst few, and the verdict."""
    lines = engine('tests/model/sam-stages', '--model', work / 'model.pt', '--golden',
                   work / 'click.safetensors', '--backend', 'cpu', '--precision', precision)
    for line in lines:
        print('   ', line.replace('obj1/frame', ''))


def show_masks(work, precision, theirs, count):
    out = work / f'ours-{precision}.safetensors'
    last = engine('tools/sam-replay', '--model', work / 'model.pt', '--frames', work / 'frames.safetensors',
                  '--script', work / 'scenarios.json', '--scenario', 'click', '--out', out,
                  '--backend', 'cpu', '--precision', precision)[-1]
    ours, told = load_file(out), json.loads(last)
    ious, flips = [], []
    for t in range(count):
        a, b = (x[f'obj1/frame{t:03}/low_res'] > 0 for x in (ours, theirs))
        union = int((a | b).sum())
        ious.append(int((a & b).sum()) / union if union else 1.0)
        flips.append(int((a != b).sum()))
    scores = [abs(float(ours[f'obj1/frame{t:03}/score'] - theirs[f'obj1/frame{t:03}/score'])) for t in range(count)]
    print(f'    mask IoU per frame ({precision}): ' + ' '.join(f'{i:.4f}' for i in ious))
    print(f'    worst IoU {min(ious):.4f}, most pixels flipped {max(flips)} of {SIDE * SIDE // 16}, '
          f'largest difference of the object score {max(scores):.2e}')
    return told, min(ious)


def compare(size, frames, args, work):
    model = published.build(size, args.seed)
    published.save_pt(model, work / 'model.pt')
    save_file({'frames': torch.from_numpy(frames)}, work / 'frames.safetensors')
    script = {'image_size': SIDE, 'T': len(frames), 'scenarios': {'click': [ITEM]}}
    (work / 'scenarios.json').write_text(json.dumps(script))
    theirs, torch_ms = run_published(model, frames)
    del model
    save_file(theirs, work / 'click.safetensors')
    scores = [float(theirs[f'obj1/frame{t:03}/score']) for t in range(len(frames))]
    areas = [int((theirs[f'obj1/frame{t:03}/low_res'] > 0).sum()) for t in range(len(frames))]
    print(f'SAM 2.1 {size}: PyTorch fp32 {torch_ms:.0f} ms a frame; object scores {min(scores):.2f} to '
          f'{max(scores):.2f}, mask areas {min(areas)} to {max(areas)} of {SIDE * SIDE // 16}', flush=True)
    figures = {'torch_fp32_ms': round(torch_ms, 1)}
    for precision in args.precisions.split(','):
        show_stages(work, precision)
        told, worst = show_masks(work, precision, theirs, len(frames))
        figures[f'ours_{precision}_ms'] = told['p50_ms']
        figures[f'worst_iou_{precision}'] = round(worst, 5)
        print(f"    ours {precision}: {told['p50_ms']:.0f} ms a frame, {torch_ms / told['p50_ms']:.2f} times as "
              f"fast as PyTorch fp32; open {told['open_ms']:.0f} ms", flush=True)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--clip', type=pathlib.Path, required=True)
    parser.add_argument('--sizes', default='tiny,small,base+,large')
    parser.add_argument('--frames', type=int, default=19)
    parser.add_argument('--precisions', default='fp32,bf16')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--work', type=pathlib.Path)
    args = parser.parse_args()
    frames = read_clip(args.clip, args.frames)
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        work = args.work or pathlib.Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        for size in args.sizes.split(','):
            table[size] = compare(size, frames, args, work)
    print(json.dumps(table))


if __name__ == '__main__':
    main()
