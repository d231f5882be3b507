#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a weight file of a published size without weights: all numbers are zero, or random.

blank_model.py tiny|small|base+|large OUT.safetensors [--random SEED] [--recipes FILE]

Names and shapes are those of SAM 2.1's files, F32. A file of zeros takes hardly any room on the disk
(a hole), and tells everything that does not depend on values: shapes, launches, memory. --random
needs numpy; its numbers are small enough that no layer overflows. Sizes may also be of FILE, JSON of
{size: {tensor: its shape}}, where metadata may stand under the tensor's name __metadata__.
"""
import argparse
import json
import math
import pathlib
import struct

# embed_dim, blocks of the stages, side of the position's table; heads and windows follow from these
# in the engine (engine/model/sam2/sam2.c).
SIZES = {'tiny': (96, (1, 2, 7, 2), 7), 'small': (96, (1, 2, 11, 2), 7),
         'base+': (112, (2, 3, 16, 3), 14), 'large': (144, (2, 6, 36, 4), 7)}
# What all published sizes have in common.
SAME = {'d': 256, 'm': 64, 'maps': 7, 'layers': 4, 'memory_hidden': 2048, 'decoder_hidden': 2048,
        'iou_hidden': 256, 'fuser_hidden': 1024, 'window': 8}


def layer(name, *shape):
    """A weight and its bias."""
    return {f'{name}.weight': shape, f'{name}.bias': shape[:1]}


def attention(name, d, inner, source):
    """Projections of d to `inner`, keys and values of `source` channels."""
    return {**layer(f'{name}.q_proj', inner, d), **layer(f'{name}.k_proj', inner, source),
            **layer(f'{name}.v_proj', inner, source), **layer(f'{name}.out_proj', d, inner)}


def norms(prefix, d, names):
    out = {}
    for name in names:
        out.update(layer(f'{prefix}.{name}', d))
    return out


def mlp(name, *widths):
    out = {}
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        out.update(layer(f'{name}.layers.{i}', b, a))
    return out


def trunk(embed, stages, side, s):
    t = 'image_encoder.trunk'
    out = {**layer(f'{t}.patch_embed.proj', embed, 3, 7, 7),
           f'{t}.pos_embed': (1, embed, side, side),
           f'{t}.pos_embed_window': (1, embed, s['window'], s['window'])}
    i = 0
    for stage, blocks in enumerate(stages):
        for n in range(blocks):
            dim = embed << stage
            before = dim // 2 if stage and n == 0 else dim
            b = f'{t}.blocks.{i}'
            out.update({**layer(f'{b}.norm1', before), **layer(f'{b}.attn.qkv', 3 * dim, before),
                        **layer(f'{b}.attn.proj', dim, dim), **layer(f'{b}.norm2', dim),
                        **mlp(f'{b}.mlp', dim, 4 * dim, dim)})
            if before != dim:
                out.update(layer(f'{b}.proj', dim, before))
            i += 1
    for k in range(4):
        out.update(layer(f'image_encoder.neck.convs.{k}.conv', s['d'], embed << (3 - k), 1, 1))
    return out


def memory(s):
    d, m = s['d'], s['m']
    out = {'maskmem_tpos_enc': (s['maps'], 1, 1, m), 'no_mem_embed': (1, 1, d),
           'no_mem_pos_enc': (1, 1, d), 'no_obj_embed_spatial': (1, m), 'no_obj_ptr': (1, d),
           **layer('obj_ptr_tpos_proj', m, d), **mlp('obj_ptr_proj', d, d, d, d),
           **layer('mask_downsample', 1, 1, 4, 4), **layer('memory_attention.norm', d)}
    for i in range(s['layers']):
        a = f'memory_attention.layers.{i}'
        out.update({**attention(f'{a}.self_attn', d, d, d),
                    **attention(f'{a}.cross_attn_image', d, d, m),
                    **norms(a, d, ['norm1', 'norm2', 'norm3']),
                    **layer(f'{a}.linear1', s['memory_hidden'], d),
                    **layer(f'{a}.linear2', d, s['memory_hidden'])})
    e = 'memory_encoder'
    for i in range(4):
        wide = 4 ** (i + 1)
        out.update({**layer(f'{e}.mask_downsampler.encoder.{3 * i}', wide, wide // 4, 3, 3),
                    **layer(f'{e}.mask_downsampler.encoder.{3 * i + 1}', wide)})
    out.update({**layer(f'{e}.mask_downsampler.encoder.12', d, 256, 1, 1),
                **layer(f'{e}.pix_feat_proj', d, d, 1, 1), **layer(f'{e}.out_proj', m, d, 1, 1)})
    for i in range(2):
        f = f'{e}.fuser.layers.{i}'
        out.update({**layer(f'{f}.dwconv', d, 1, 7, 7), **layer(f'{f}.norm', d),
                    **layer(f'{f}.pwconv1', s['fuser_hidden'], d),
                    **layer(f'{f}.pwconv2', d, s['fuser_hidden']), f'{f}.gamma': (d,)})
    return out


def decoder(s):
    d, p, t = s['d'], 'sam_prompt_encoder', 'sam_mask_decoder.transformer'
    out = {**layer(f'{p}.mask_downscaling.0', 4, 1, 2, 2), **layer(f'{p}.mask_downscaling.1', 4),
           **layer(f'{p}.mask_downscaling.3', 16, 4, 2, 2), **layer(f'{p}.mask_downscaling.4', 16),
           **layer(f'{p}.mask_downscaling.6', d, 16, 1, 1),
           f'{p}.pe_layer.positional_encoding_gaussian_matrix': (2, d // 2)}
    rows = ['no_mask_embed', 'not_a_point_embed', *(f'point_embeddings.{i}' for i in range(4))]
    out.update({f'{p}.{name}.weight': (1, d) for name in rows})
    for i in range(2):
        a = f'{t}.layers.{i}'
        out.update({**attention(f'{a}.self_attn', d, d, d),
                    **attention(f'{a}.cross_attn_token_to_image', d, d // 2, d),
                    **attention(f'{a}.cross_attn_image_to_token', d, d // 2, d),
                    **norms(a, d, ['norm1', 'norm2', 'norm3', 'norm4']),
                    **mlp(f'{a}.mlp', d, s['decoder_hidden'], d)})
    out.update({**attention(f'{t}.final_attn_token_to_image', d, d // 2, d),
                **layer(f'{t}.norm_final_attn', d)})
    h = 'sam_mask_decoder'
    out.update({f'{h}.iou_token.weight': (1, d), f'{h}.mask_tokens.weight': (4, d),
                f'{h}.obj_score_token.weight': (1, d),
                **layer(f'{h}.conv_s0', d // 8, d, 1, 1), **layer(f'{h}.conv_s1', d // 4, d, 1, 1),
                **mlp(f'{h}.iou_prediction_head', d, s['iou_hidden'], s['iou_hidden'], 4),
                **mlp(f'{h}.pred_obj_score_head', d, d, d, 1),
                f'{h}.output_upscaling.0.weight': (d, d // 4, 2, 2),
                f'{h}.output_upscaling.0.bias': (d // 4,),
                **layer(f'{h}.output_upscaling.1', d // 4),
                f'{h}.output_upscaling.3.weight': (d // 4, d // 8, 2, 2),
                f'{h}.output_upscaling.3.bias': (d // 8,)})
    for i in range(4):
        out.update(mlp(f'{h}.output_hypernetworks_mlps.{i}', d, d, d, d // 8))
    return out


def shapes(embed, stages, side, **other):
    """name -> shape of every tensor of a model."""
    s = {**SAME, **other}
    return {**trunk(embed, stages, side, s), **memory(s), **decoder(s)}


def write(path, tensors, metadata=None, seed=None):
    """seed None: zeros, which are a hole."""
    header, at = {'__metadata__': metadata} if metadata else {}, 0
    for name, shape in sorted(tensors.items()):
        size = 4 * math.prod(shape)
        header[name] = {'dtype': 'F32', 'shape': list(shape), 'data_offsets': [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        if seed is not None:
            import numpy
            random = numpy.random.default_rng(seed)
            for name, shape in sorted(tensors.items()):
                scale = 0.5 / math.sqrt(math.prod(shape[1:]))
                numbers = random.standard_normal(math.prod(shape), numpy.float32)
                if name.endswith('running_var'):
                    numbers = (1 + 0.1 * abs(numbers)) / scale  # of BatchNorm: above 0
                f.write((scale * numbers).tobytes())
        f.truncate(8 + len(text) + at)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('size')
    p.add_argument('out', type=pathlib.Path)
    p.add_argument('--random', type=int)
    p.add_argument('--recipes', type=pathlib.Path)
    a = p.parse_args()
    recipes = json.loads(a.recipes.read_text()) if a.recipes else {}
    if a.size not in SIZES and a.size not in recipes:
        p.error(f"size {a.size}: wanted one of {', '.join([*SIZES, *recipes])}")
    tensors = recipes.get(a.size) or shapes(*SIZES[a.size])
    metadata = tensors.pop('__metadata__', None)
    write(a.out, tensors, metadata, a.random)


if __name__ == '__main__':
    main()
