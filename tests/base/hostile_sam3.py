# SPDX-License-Identifier: MIT
"""SAM 3's files for make_hostile.py: the models of tests/golden/f and f-hf and what can be wrong with them, and the
published one, whose shapes are all that is written here."""
import json

import containers as c
import small_model as m
from hostile_edgetam import EFORMAT, EUNSUPPORTED, GOLDEN, pack, read, without

TRUNK = 'vision_encoder.backbone.'
NECK = 'vision_encoder.neck.fpn_layers.'
OURS = 'image_encoder.trunk.'
OWN = json.loads((GOLDEN / 'f/model.json').read_text())
HF = json.loads((GOLDEN / 'f-hf/config.json').read_text())


def config(**other):
    return {**OWN, 'trunk': {**OWN['trunk'], **other}}


def published():
    """The shapes by which the published model is known, under the publisher's names. Numbers are zeros: nothing runs it."""
    meta = {'memory_attention': 'transformer.encoder', 'memory_encoder': 'maskmem_backbone'}
    rows = []
    for name, _, shape in m.rows(d=256, m=64, maps=7, layers=4, hidden=2048, v21=True):
        first = name.split('.')[0]
        if first == 'image_encoder':
            continue
        for i in 0, 1:
            name = name.replace(f'.mlp.layers.{i}.', f'.mlp.lin{i + 1}.')
        rows.append(('tracker.' + name.replace(first, meta.get(first, first), 1), shape))
    vision = 'detector.backbone.vision_backbone.'
    trunk, neck = vision + 'trunk.', vision + 'sam2_convs.'
    rows += [(trunk + 'pos_embed', (1, 577, 1024)), (trunk + 'patch_embed.proj.weight', (1024, 3, 14, 14)),
             (trunk + 'ln_pre.weight', (1024,)), (trunk + 'blocks.0.mlp.fc1.weight', (4736, 1024)),
             (neck + '0.dconv_2x2_0.bias', (512,)), (neck + '0.dconv_2x2_1.bias', (256,)), (neck + '1.dconv_2x2.bias', (512,)),
             (neck + '2.conv_1x1.weight', (256, 1024, 1, 1))]
    rows += [(f'{trunk}blocks.{i}.norm{k}.weight', (1024,)) for i in range(32) for k in (1, 2)]
    return c.safetensors([(name, 'F16', list(shape), bytes(2 * c.count(shape))) for name, shape in rows])


def files(f):
    tensors = read('f')
    f.good('sam3.safetensors', pack(tensors, OWN), side=112)
    f.good('sam3-official.safetensors', published(), 'sam3', 1008)
    for selection in 'all', 'present', 'scored':
        f.good(f'sam3-{selection}.safetensors', pack(tensors, {**OWN, 'memory_selection': selection}), side=112)

    def changed(name, words, tensor, shape=None, kind=f.bad):
        kept = without(tensors, tensor)
        kind(f'sam3-{name}.safetensors', pack(kept + ([c.tensor(tensor, shape)] if shape else []), OWN), words)

    changed('no-norm', "supported family|SAM 3 'trunk.ln_pre.weight'", TRUNK + 'layer_norm.weight')
    changed('no-patches', f"'{OURS}patch_embed.proj.weight' is missing", TRUNK + 'embeddings.patch_embeddings.projection.weight')
    changed('patches', "projection.weight'|(any, 3, 14, 14)|(16, 3, 16, 16)", TRUNK + 'embeddings.patch_embeddings.projection.weight',
            (16, 3, 16, 16))
    changed('no-square', "pos_embed'|n * n rows|got 12", TRUNK + 'embeddings.position_embeddings', (1, 12, 16))
    changed('wide-position', "pos_embed'|n from 1 to 64|got 4226", TRUNK + 'embeddings.position_embeddings', (1, 4226, 16))
    changed('no-block', f"'{OURS}blocks.1.norm1.weight' is missing", TRUNK + 'layers.1.layer_norm1.weight')
    changed('no-product', "blocks.1.attn.v_proj.bias'|(16)|is missing", TRUNK + 'layers.1.attention.v_proj.bias', kind=f.hollow)
    changed('hidden', "fc2.weight'|(16, 26)|(16, 25)", TRUNK + 'layers.2.mlp.fc2.weight', (16, 25), f.hollow)
    changed('no-neck', "levels.0.dconv_2x2_1.bias' is missing", NECK + '0.scale_layers.2.bias')
    changed('narrow-neck', "proj1.weight'|(any, 16, 1, 1)|(32, 20, 1, 1)", NECK + '2.proj1.weight', (32, 20, 1, 1))
    changed('no-smoothing', "levels.1.conv_3x3.weight'|(32, 32, 3, 3)|is missing", NECK + '1.proj2.weight', kind=f.hollow)
    changed('no-lateral', "conv_s1.weight' is missing", 'mask_decoder.conv_s1.weight')
    changed('no-memory', "'memory_attention.layers.0.linear1.weight' is missing", 'memory_attention.layers.0.linear1.weight')
    f.bad('sam3-both.safetensors', pack(tensors + [c.tensor('spatial_perceiver.latents', (4, 8))], OWN), 'two families|EdgeTAM|SAM 3')
    deep = [c.tensor(f'{TRUNK}layers.{i}.layer_norm{k}.weight', (16,)) for i in range(3, 66) for k in (1, 2)]
    f.bad('sam3-deep.safetensors', pack(tensors + deep, OWN), '1 to 64 blocks|at least 65')
    half_files(f)
    told_files(f, tensors)


def half_files(f):
    """The file that has a detector, too, whole and by halves; another family's weights under its name."""
    tensors = read('f-hf')
    whole = pack(tensors, None)
    names = 'whole', 'detector', 'no-tracker-neck', 'sam2'
    for name in names:
        f.write(f'sam3-{name}/config.json', json.dumps(HF).encode())
    f.good('sam3-whole/model.safetensors', whole, side=112)
    detector = [t for t in tensors if t[0].startswith('detector_model.')]
    f.bad('sam3-detector/model.safetensors', pack(detector, None), "SAM 3's detector|cannot track")
    neckless = [t for t in tensors if not t[0].startswith('tracker_neck.')]
    f.bad('sam3-no-tracker-neck/model.safetensors', pack(neckless, None), "neck.levels.0.dconv_2x2_0.bias' is missing")
    f.bad('sam3-sam2/model.safetensors', pack(read('c-hf'), None), "config.json|'vision_config.backbone_config.architecture'|repvit_m1")


def told_files(f, tensors):
    def told(name, words, told, status=EFORMAT):
        f.bad(f'sam3-{name}.safetensors', pack(tensors, told), words, status)

    told('no-json', 'no published SAM 3|image_size, num_heads, window|missing', None)
    for side in 56 - 14, 64, 2072:
        told(f'side-{side}', f'image_size|multiple of 56 from 56 to 2016|got {side}', {**OWN, 'image_size': side})
    told('heads', 'num_heads must divide embed_dim 16|got 5', config(num_heads=5))
    told('odd-heads', 'num_heads must divide|multiples of 4|got 8', config(num_heads=8))
    told('window', 'window must be 1 to 64, got 0', config(window=0))
    told('global', "'trunk.global_att_blocks'|block 3 is not among the 3", config(global_att_blocks=[3]))
    told('depth', "'trunk.depth' is 12|say 3", config(depth=12))
    told('kind', "'trunk.kind'|expected sam3-vit|got vit", config(kind='vit'), EUNSUPPORTED)
    told('selection', "'memory_selection'|all, present or scored|got sure", {**OWN, 'memory_selection': 'sure'})
    told('selection-kind', "'memory_selection'|all, present or scored|an integer", {**OWN, 'memory_selection': 2})
    for key, value in ('box_zoom', 2), ('click_zoom', 2), ('random_walk', {'fidelity': 1}):
        told(key, f"'{key}'|SAM 3 has tokens of 14 px", {**OWN, key: value}, EUNSUPPORTED)
    tracker = HF['tracker_config']
    told('hf', 'image_size', {**tracker, 'image_size': 113})
    told('hf-conds', "'max_cond_frame_num'", {**tracker, 'max_cond_frame_num': 8}, EUNSUPPORTED)
    told('hf-patch', 'patch_size|14', {**tracker, 'prompt_encoder_config': {**tracker['prompt_encoder_config'], 'patch_size': 16}})
