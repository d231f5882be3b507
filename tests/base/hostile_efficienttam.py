# SPDX-License-Identifier: MIT
"""EfficientTAM's files for make_hostile.py: the model of tests/golden/e and what can be wrong with it, and the names
of the published files, whose shapes are all that is written here."""
import json

import containers as c
import small_model as m
from hostile_edgetam import EFORMAT, EUNSUPPORTED, GOLDEN, pack, read, without

TRUNK = 'image_encoder.trunk.'
NECK = 'image_encoder.neck.convs.0.'
OWN = json.loads((GOLDEN / 'e/model.json').read_text())


def config(**other):
    return {**OWN, 'trunk': {**OWN['trunk'], **other}}


def published(e):
    """The shapes by which a published model is known. Numbers are zeros: nothing runs it."""
    rows = [(meta, shape) for meta, _, shape in m.rows(d=256, m=64, maps=7, layers=4, hidden=2048, v21=False)
            if not meta.startswith('image_encoder') and '.conv_s' not in meta]
    rows += [(TRUNK + 'pos_embed', (1, 197, e)), (TRUNK + 'patch_embed.proj.weight', (e, 3, 16, 16)),
             (NECK + 'conv_1x1.weight', (256, e, 1, 1)), ('sam_mask_decoder.output_upscaling.0.bias', (64,)),
             ('sam_mask_decoder.output_upscaling.3.bias', (32,))]
    rows += [(f'{TRUNK}blocks.{i}.norm{k}.weight', (e,)) for i in range(12) for k in (1, 2)]
    return c.safetensors([(name, 'F16', list(shape), bytes(2 * c.count(shape))) for name, shape in rows])


def named_files(f):
    """Which variant it is stands in the name alone."""
    files = {'s': published(384), 'ti': published(192)}
    for name, side in ('s', 1024), ('ti', 1024), ('s_1', 1024), ('ti_1', 1024), ('s_2', 1024), ('ti_2', 1024), \
            ('s_512x512', 512), ('ti_512x512', 512):
        f.good(f'efficienttam_{name}.safetensors', files[name.split('_')[0]], f'efficienttam_{name}', side)
    for name in 'efficienttam_ti (1)', 'my-efficienttam_ti-fp16', 'efficienttam_ti.half':
        f.good(f'{name}.safetensors', files['ti'], 'efficienttam_ti', 1024)
    for name in 'model', 'efficienttam_', 'efficienttam_s', 'efficienttam_ti_3', 'efficienttam_tiny', 'efficienttam_ti_512':
        f.bad(f'wrong/{name}.safetensors', files['ti'], 'which EfficientTAM|efficienttam_ti, _1, _2 or _512x512|JSON')
    # A folder's name tells nothing.
    f.bad('efficienttam_ti/model.safetensors', files['ti'], 'which EfficientTAM')
    # What JSON tells goes before the name.
    trunk = {'kind': 'vit', 'num_heads': 3, 'window': 14, 'global_att_blocks': [2, 5, 8, 11]}
    for name, variant, side, pooling in ('ti', 'ti_512x512', 512, 'none'), ('ti_2', 'ti_1', 1024, 'counted'), \
            ('ti_1', 'ti_2', 1024, 'shifted'):
        f.good(f'told/efficienttam_{name}.safetensors', files['ti'], f'efficienttam_{variant}', side)
        f.write(f'told/efficienttam_{name}.json',
                json.dumps({'image_size': side, 'trunk': trunk, 'memory_pooling': pooling}).encode())


def files(f):
    tensors = read('e')
    f.good('efficienttam.safetensors', pack(tensors, OWN), side=64)
    for pooling in 'counted', 'shifted':
        f.good(f'efficienttam-{pooling}.safetensors', pack(tensors, {**OWN, 'memory_pooling': pooling}), side=64)
    named_files(f)

    def changed(name, words, tensor, shape=None, kind=f.bad):
        kept = without(tensors, tensor)
        kind(f'efficienttam-{name}.safetensors', pack(kept + ([c.tensor(tensor, shape)] if shape else []), OWN), words)

    changed('no-neck', "supported family|EfficientTAM 'neck.convs.0.conv_1x1.weight'", NECK + 'conv_1x1.weight')
    changed('no-patches', f"'{TRUNK}patch_embed.proj.weight' is missing", TRUNK + 'patch_embed.proj.weight')
    changed('patches', f"'{TRUNK}patch_embed.proj.weight'|(any, 3, 16, 16)|(24, 3, 14, 14)", TRUNK + 'patch_embed.proj.weight',
            (24, 3, 14, 14))
    changed('no-position', f"'{TRUNK}pos_embed' is missing", TRUNK + 'pos_embed')
    changed('classless', "pos_embed'|1 + n * n|got 9", TRUNK + 'pos_embed', (1, 9, 24))
    changed('no-square', "pos_embed'|1 + n * n|got 12", TRUNK + 'pos_embed', (1, 12, 24))
    changed('class-alone', "pos_embed'|1 + n * n|got 1", TRUNK + 'pos_embed', (1, 1, 24))
    changed('wide-position', "pos_embed'|n from 1 to 64|got 4226", TRUNK + 'pos_embed', (1, 4226, 24))
    changed('narrow-position', "pos_embed'|(1, any, 24)|(1, 10, 23)", TRUNK + 'pos_embed', (1, 10, 23))
    changed('no-block', f"'{TRUNK}blocks.1.norm1.weight' is missing", TRUNK + 'blocks.1.norm1.weight')
    changed('no-product', "blocks.1.attn.qkv.bias'|(72)|is missing", TRUNK + 'blocks.1.attn.qkv.bias', kind=f.hollow)
    changed('hidden', "blocks.2.mlp.layers.0.weight'|(96, 24)|(48, 24)", TRUNK + 'blocks.2.mlp.layers.0.weight', (48, 24), f.hollow)
    changed('narrow-neck', "conv_1x1.weight'|(any, 24, 1, 1)|(32, 20, 1, 1)", NECK + 'conv_1x1.weight', (32, 20, 1, 1))
    changed('no-smoothing', f"'{NECK}conv_3x3.weight'|(32, 32, 3, 3)|is missing", NECK + 'conv_3x3.weight', kind=f.hollow)
    changed('no-norm', f"'{NECK}norm_1.bias'|(32)|is missing", NECK + 'norm_1.bias', kind=f.hollow)
    changed('upscaling', "output_upscaling.0.bias'|(8)|(9)", 'sam_mask_decoder.output_upscaling.0.bias', (9,))
    changed('no-upscaling', "output_upscaling.3.bias' is missing", 'sam_mask_decoder.output_upscaling.3.bias')
    f.bad('efficienttam-both.safetensors', pack(tensors + [c.tensor('spatial_perceiver.latents', (4, 8))], OWN),
          f"two families|EdgeTAM|EfficientTAM|'{NECK}conv_1x1.weight'")
    deep = [c.tensor(f'{TRUNK}blocks.{i}.{norm}.weight', (24,)) for i in range(3, 66) for norm in ('norm1', 'norm2')]
    f.bad('efficienttam-deep.safetensors', pack(tensors + deep, OWN), '1 to 64 blocks|at least 65')
    none = [t for t in tensors if f'{TRUNK}blocks.' not in t[0]]
    f.bad('efficienttam-no-blocks.safetensors', pack(none, OWN), '1 to 64 blocks|got 0')
    told_files(f, tensors)


def told_files(f, tensors):
    def told(name, words, told, status=EFORMAT):
        f.bad(f'efficienttam-{name}.safetensors', pack(tensors, told), words, status)

    told('no-json', 'no published EfficientTAM|image_size, num_heads, window|missing', None)
    for side in 32, 80, 2080:
        told(f'side-{side}', f'image_size|multiple of 32 from 64 to 2048|got {side}', {**OWN, 'image_size': side})
    told('no-heads', "'trunk.num_heads'|nothing", config(num_heads=None))
    told('heads', 'num_heads must divide embed_dim 24|got 5', config(num_heads=5))
    told('heads-zero', 'num_heads|1 to 64|got 0', config(num_heads=0))
    told('heads-negative', 'num_heads|1 to 64|got -3', config(num_heads=-3))
    told('no-window', "'trunk.window'|nothing", config(window=None))
    told('window', 'window must be 1 to 64, got 0', config(window=0))
    told('wide-window', 'window must be 1 to 64, got 65', config(window=65))
    told('no-global', "'trunk.global_att_blocks'|nothing", config(global_att_blocks=None))
    told('global', "'trunk.global_att_blocks'|block 3 is not among the 3", config(global_att_blocks=[3]))
    told('last', 'block 2 is the last|globally', config(global_att_blocks=[0, 1]), EUNSUPPORTED)
    told('depth', "'trunk.depth' is 12|say 3", config(depth=12))
    told('width', "'trunk.embed_dim' is 192|say 24", config(embed_dim=192))
    told('kind', "'trunk.kind'|expected vit|got hiera", config(kind='hiera'), EUNSUPPORTED)
    told('hf', "Hugging Face's|'trunk'", {'model_type': 'sam2_video', 'vision_config': {}}, EUNSUPPORTED)
    told('pooling', "'memory_pooling'|none, counted or shifted|a string", {**OWN, 'memory_pooling': 'average'})
    told('pooling-kind', "'memory_pooling'|none, counted or shifted|an integer", {**OWN, 'memory_pooling': 1})
    for key, value in ('box_zoom', 2), ('click_zoom', 2), ('target_model', {'channels': 8, 'weight': 1}):
        told(key, f"'{key}'|EfficientTAM has no finer maps", {**OWN, key: value}, EUNSUPPORTED)
