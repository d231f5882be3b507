#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a weight file in a published layout, made by the published code with seeded random weights.

usage: SAM2_REPO=CHECKOUT EDGETAM_REPO=CHECKOUT EFFICIENTTAM_REPO=CHECKOUT python tools/make_weights.py
           --family edgetam|tiny|small|base+|large|efficienttam_s|efficienttam_ti_1|... [--layout meta|hf] [--size true|micro]
           [--seed N] [--side PX] OUT

meta: OUT is a .pt as Meta writes it; a micro model also gets <stem>.json beside OUT, because it is
not a published variant. hf: OUT is a folder with config.json and model.safetensors, written by
transformers, which has no EfficientTAM. The micro models have the sizes of tests/golden/c (edgetam), e
(EfficientTAM) and a (the others). --side is the side in config.json (default 1024); the weights do not
depend on it."""

import argparse
import json
import os
import pathlib

import torch

import hf
import make_golden
import published


def build(args):
    """The model, and the values that its shapes do not determine."""
    if args.size == 'true':
        side = args.side or (512 if args.family.endswith('512x512') else 1024)
        return published.build(args.family, args.seed, side), {'image_size': side}
    spec = make_golden.MODELS['c' if args.family == 'edgetam' else 'e' if 'efficienttam' in args.family else 'a']
    spec = {**spec, 'image_size': args.side or spec['image_size']}
    model = make_golden.build(spec)
    make_golden.shrink(model, spec['d_model'])
    make_golden.randomize(model, args.seed, spec['present'])
    return model.eval(), make_golden.config(spec)


def trunk_table(trunk):
    """Heads, windows and global blocks of a Hiera."""
    if not hasattr(trunk, 'blocks'):
        return None
    ends = [-1, *trunk.stage_ends]
    return {'num_heads': trunk.blocks[0].attn.num_heads, 'embed_dim': trunk.blocks[0].dim,
            'stages': [b - a for a, b in zip(ends, ends[1:])],
            'global_att_blocks': list(trunk.global_att_blocks),
            'window_spec': list(trunk.window_spec),
            'window_pos_embed_bkg_spatial_size': list(trunk.window_pos_embed_bkg_spatial_size)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--family', required=True, choices=['edgetam', *published.CONFIGS, *published.EFFICIENTTAM])
    parser.add_argument('--layout', default='meta', choices=['meta', 'hf'])
    parser.add_argument('--size', default='true', choices=['true', 'micro'])
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--side', type=int)
    parser.add_argument('out', type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get('THREADS', '2')))
    model, told = build(args)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if args.layout == 'hf':
        other = hf.build(model.state_dict(), told['image_size'], trunk_table(model.image_encoder.trunk))
        other.save_pretrained(args.out)
    else:
        published.save_pt(model, args.out)
        if args.size == 'micro':
            args.out.with_suffix('.json').write_text(json.dumps(told) + '\n')
    parameters = sum(p.numel() for p in model.parameters())
    print(f'{args.out}: {args.family}, {len(model.state_dict())} tensors in the published code, '
          f'{parameters} parameters')


if __name__ == '__main__':
    main()
