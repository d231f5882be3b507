# SPDX-License-Identifier: MIT
"""EfficientNet-Lite's files for make_hostile.py: the model of tests/golden/d and what can be wrong with it."""
import containers as c
from hostile_edgetam import EFORMAT, EUNSUPPORTED, pack, read, without

TRUNK = 'image_encoder.trunk.'
OWN = {'kind': 'efficientnet-lite', 'stem': 8, 'stages': [1, 2, 1, 2, 1, 2, 1], 'widths': [4, 8, 12, 12, 16, 20, 24]}


def config(**other):
    return {'image_size': 64, 'trunk': OWN | other}


def files(f):
    tensors = read('d')
    f.good('efficientnet.safetensors', pack(tensors, config()), side=64)
    f.good('efficientnet-short.safetensors', pack(tensors, {'image_size': 64, 'trunk': {'kind': 'efficientnet-lite'}}), side=64)

    def changed(name, words, tensor, shape=None, kind=f.bad):
        kept = without(tensors, tensor)
        kind(f'efficientnet-{name}.safetensors', pack(kept + ([c.tensor(tensor, shape)] if shape else []), config()), words)

    changed('no-stem', "supported family|EfficientNet-Lite 'trunk.conv_stem.weight'", TRUNK + 'conv_stem.weight')
    changed('wide-stem', "conv_stem.weight'|(8, 3, 5, 5)", TRUNK + 'conv_stem.weight', (8, 3, 5, 5))
    changed('no-stage', "'image_encoder.trunk.blocks.3.0.conv_pwl.weight' is missing", TRUNK + 'blocks.3.0.conv_pwl.weight')
    changed('no-bias', "blocks.2.0.conv_dw.bias'|(48)|is missing", TRUNK + 'blocks.2.0.conv_dw.bias', kind=f.hollow)
    changed('small-kernel', "blocks.2.0.conv_dw.weight'|(48, 1, 5, 5)|(48, 1, 3, 3)", TRUNK + 'blocks.2.0.conv_dw.weight',
            (48, 1, 3, 3), f.hollow)
    changed('narrow', "blocks.1.1.conv_pw.weight'|(48, 8, 1, 1)|(40, 8, 1, 1)", TRUNK + 'blocks.1.1.conv_pw.weight',
            (40, 8, 1, 1), f.hollow)
    f.bad('efficientnet-norms.safetensors', pack(tensors + [c.tensor('image_encoder.trunk.pos_embed_window', (1, 8, 8, 8))], config()),
          "two families|SAM 2|EfficientNet-Lite|'image_encoder.trunk.conv_stem.weight'")
    deep = [c.tensor(f'{TRUNK}blocks.6.{i}.conv_pwl.weight', (24, 144, 1, 1)) for i in range(1, 17)]
    f.bad('efficientnet-deep.safetensors', pack(tensors + deep, config()), 'stage 7|more than 16 blocks')

    def told(name, words, json, status=EFORMAT):
        f.bad(f'efficientnet-{name}.safetensors', pack(tensors, json), words, status)

    told('no-json', 'no published EfficientNet-Lite|image_size|missing', None)
    told('stem', "'trunk.stem'|16|8", config(stem=16))
    told('depth', "'trunk.stages'|3 for stage 2|say 2", config(stages=[1, 3, 1, 2, 1, 2, 1]))
    told('six', "'trunk.widths'|seven integers", config(widths=[4, 8, 12, 12, 16, 20]))
    told('words', "'trunk.stages'", config(stages='many'))
    told('side', 'image_size|32|got 80', {'image_size': 80, 'trunk': OWN})
    told('other', "'trunk.kind'|expected efficientnet-lite|got hiera", config(kind='hiera'), EUNSUPPORTED)
    told('hf', "Hugging Face's|'trunk'", {'model_type': 'sam2_video', 'vision_config': {}}, EUNSUPPORTED)
