#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the goldens of tests/golden: what every one has to hold, what its tensors say about each
other, and, where PyTorch and the published code are ($SAM2_REPO, $EDGETAM_REPO, $EFFICIENTTAM_REPO), that they
give the same again in fp32.

usage: goldens.py FOLDER
"""
import json
import math
import os
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / '../track'), str(HERE / '../../tools')]
from golden import read_safetensors  # noqa: E402

RESULTS = ('low_res', 'pointer', 'score', 'memory')


def shapes(path):
    with open(path, 'rb') as f:
        header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
    return {k: v['shape'] for k, v in header.items() if k != '__metadata__'}


def check_run(golden, items, frames, logits):
    """Every frame of every object has its results; numbers are finite; masks are no constant."""
    for obj in {i['obj'] for i in items}:
        first = min(i['frame'] for i in items if i['obj'] == obj)
        areas = set()
        for t in range(first, frames):
            for part in RESULTS:
                name = f'obj{obj}/frame{t:03}/{part}'
                if name not in golden:
                    yield f'{name} is missing'
            shape, mask = golden[f'obj{obj}/frame{t:03}/low_res']
            areas.add(sum(x > 0 for x in mask))
            if shape != [logits] * 2:
                yield f'frame {t}: a mask of {shape}, expected {[logits] * 2}'
        if len(areas) < 5:
            yield f'object {obj}: masks of {len(areas)} different areas, expected 5 at least'
    for name, (shape, values) in golden.items():
        if math.prod(shape) != len(values) or not all(map(math.isfinite, values)):
            yield f'{name}: not finite, or not of its shape'


def bf16(values):
    """Rounded to nearest even."""
    bits = struct.unpack(f'<{len(values)}I', struct.pack(f'<{len(values)}f', *values))
    bits = [(b + 0x7fff + (b >> 16 & 1)) & 0xffff0000 for b in bits]
    return list(struct.unpack(f'<{len(bits)}f', struct.pack(f'<{len(bits)}I', *bits)))


def check_edgetam(golden, weights):
    """The stages that EdgeTAM adds, against each other and the sizes of the weights."""
    one, m = weights['spatial_perceiver.latents']
    two = weights['spatial_perceiver.latents_2d'][0]
    d = weights['no_mem_embed'][-1]
    frames = sorted({k.rsplit('/', 1)[0] for k in golden if k.endswith('spatial_perceiver.out')})
    if not frames:
        yield 'no stages'
    for frame in frames:
        memory = golden[frame.rsplit('/', 1)[0] + '/memory']
        if memory[0] != [one + two, m]:
            yield f'{frame}: a memory of {memory[0]}, expected {[one + two, m]}'
        if bf16(golden[f'{frame}/spatial_perceiver.out'][1]) != list(memory[1]):
            yield f'{frame}: the memory is not what the perceiver gave, rounded to bf16'
        if any(golden[f'{frame}/spatial_perceiver.out_pos'][1][:one * m]):
            yield f'{frame}: positions of the first {one} tokens are not 0'
        past = golden.get(f'{frame}/memory_attention.memory')
        if not past:
            continue
        pointers = golden[f'{frame}/memory_attention.num_ptr_tokens'][1][0]
        if (past[0][0] - pointers) % (one + two) or pointers % (d // m):
            yield f'{frame}: {past[0][0]} rows of memory, {pointers} of pointers: no whole maps'
        start = golden[frame.split('/')[0] + '/frame000/memory'][1]
        if list(past[1][:len(start)]) != list(start):
            yield f'{frame}: the first map is not that of the conditioning frame'


def check_folder(folder):
    script = json.loads((folder / 'scenarios.json').read_text())
    weights = shapes(folder / script.get('model', 'model.safetensors'))
    side, frames = script['image_size'], script['T']
    patch = 14 if folder.name[0] == 'f' else 16
    if shapes(folder / 'frames.safetensors')['frames'] != [frames, side, side, 3]:
        yield 'frames of another size than the script tells'
    for name, items in script['scenarios'].items():
        golden = read_safetensors(folder / f'{name}.safetensors')
        problems = list(check_run(golden, items, frames, 4 * side // patch))
        if 'spatial_perceiver.latents' in weights and name in ('click', 'refine'):
            problems += check_edgetam(golden, weights)
        yield from (f'{name}: {p}' for p in problems)


def check_names(folder):
    """The weights under Hugging Face's names are the same tensors."""
    import hf
    import sam3_torch
    from safetensors.torch import load_file
    rename = sam3_torch.whole if folder.name[0] == 'f' else hf.weights
    want = rename(load_file(folder / 'model.safetensors'))
    have = load_file(folder.parent / f'{folder.name}-hf' / 'model.safetensors')
    if want.keys() != have.keys() or any((want[k] != have[k]).any() for k in want):
        yield 'the weights under Hugging Face\'s names differ'


def check_again(folder):
    """The published code, run again: rounding alone may differ."""
    import make_golden
    for pixels, error in make_golden.compare(folder, 0.0, False):
        if pixels > 1 or error > 2e-3:
            yield f'the published code now differs by {pixels} pixels, {error:.1e} in norm'


def can_run(folder):
    family = {'c': 'edgetam', 'e': 'efficienttam', 'f': 'sam3'}.get(folder.name[0], 'sam2')
    try:
        import safetensors, torch, transformers  # noqa: E401, F401
        if family == 'sam3':  # transformers is all that it needs
            torch.set_num_threads(1)
            return hasattr(transformers, 'Sam3TrackerVideoModel')
        import hydra, safetensors, timm, torch, transformers  # noqa: E401, F401
        import published
    except ImportError:
        return False
    torch.set_num_threads(1)
    repo = os.environ.get(published.REPOS[family], '')
    return os.path.isdir(os.path.join(repo, published.PACKAGES.get(family, 'sam2')))


def main():
    failed = 0
    folders = [p.parent for p in sorted(pathlib.Path(sys.argv[1]).glob('*/scenarios.json'))]
    for folder in folders:
        problems, again = list(check_folder(folder)), can_run(folder)
        if again:
            problems += check_again(folder)
            if (folder.parent / f'{folder.name}-hf').is_dir():
                problems += check_names(folder)
        failed += bool(problems)
        print(f'{folder.name}: {"FAILED" if problems else "ok"}'
              f'{"" if again else " (contents; not run again: no published code)"}', flush=True)
        for text in problems[:5]:
            print('  ', text)
    return not folders or failed != 0


if __name__ == '__main__':
    sys.exit(main())
