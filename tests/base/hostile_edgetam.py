# SPDX-License-Identifier: MIT
"""EdgeTAM's files for make_hostile.py: the model of tests/golden/c and what can be wrong with it."""
import json
import pathlib
import struct

import containers as c

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / 'golden'
EFORMAT, EUNSUPPORTED = -4, -6
CONFIG = {'image_size': 128, 'trunk': {'kind': 'repvit'}}
BODY = 'image_encoder.trunk.body.'
NORM = BODY + 'stages_0.blocks.0.token_mixer.conv.bn.'
RESNET = {'model_type': 'timm_wrapper', 'architecture': 'resnet50'}


def read(folder):
    """The tensors of a safetensors file as containers.py has them."""
    data = (GOLDEN / folder / 'model.safetensors').read_bytes()
    size = struct.unpack('<Q', data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop('__metadata__', None)
    body = data[8 + size:]
    return [(name, t['dtype'], t['shape'], body[slice(*t['data_offsets'])]) for name, t in header.items()]


def pack(tensors, config=CONFIG):
    return c.safetensors(tensors, {'samtrack': json.dumps(config)} if config else None)


def without(tensors, *names):
    return [t for t in tensors if t[0] not in names]


def numbers(tensors, name, first):
    """The first number of an F16 tensor replaced."""
    return [t if t[0] != name else t[:3] + (struct.pack('<e', first) + t[3][2:],) for t in tensors]


def files(f):
    tensors = read('c')
    f.good('edgetam.safetensors', pack(tensors), side=128)
    f.same(GOLDEN / 'c/model.safetensors', GOLDEN / 'c/model.pt')

    def changed(name, words, tensor, shape=None, kind=f.bad):
        kept = without(tensors, tensor)
        kind(f'edgetam-{name}.safetensors', pack(kept + ([c.tensor(tensor, shape)] if shape else [])), words)

    f.bad('edgetam-both.safetensors', pack(tensors + [c.tensor('image_encoder.trunk.pos_embed_window', (1, 8, 8, 8))]),
          "two families|SAM 2|'image_encoder.trunk.pos_embed_window'|EdgeTAM|'spatial_perceiver.latents'")
    changed('no-latents', "supported family|SAM 2 lacks 'trunk|EdgeTAM 'spatial_perceiver.latents'",
            'spatial_perceiver.latents')
    changed('no-grid', "'spatial_perceiver.latents_2d' is missing", 'spatial_perceiver.latents_2d')
    changed('no-square', "'spatial_perceiver.latents_2d'|square|got 15", 'spatial_perceiver.latents_2d', (15, 8))
    changed('wide-grid', "'spatial_perceiver.latents_2d'|64|got 4225", 'spatial_perceiver.latents_2d', (65 * 65, 8))
    changed('many-latents', 'latents|4096|got 4097', 'spatial_perceiver.latents', (4097, 8))
    changed('narrow-latents', "'spatial_perceiver.latents'|(12, 8)|(12, 7)", 'spatial_perceiver.latents', (12, 7), f.hollow)
    changed('no-stem', f"'{BODY}stem.conv1.c.weight' is missing", BODY + 'stem.conv1.c.weight')
    changed('no-stage', f"'{BODY}stages_2.blocks.0.token_mixer.conv.c.weight' is missing",
            BODY + 'stages_2.blocks.0.token_mixer.conv.c.weight')
    changed('no-squeeze', "se.fc1.weight' is missing", BODY + 'stages_1.blocks.0.se.fc1.weight')
    changed('squeeze', "se.fc1.weight'|(any, 16, 1, 1)|(8, 17, 1, 1)", BODY + 'stages_1.blocks.0.se.fc1.weight', (8, 17, 1, 1))
    changed('no-query', 'layers', 'spatial_perceiver.layers.0.attn.to_q.weight')
    changed('no-keys', "'spatial_perceiver.layers.1.attn.to_kv.weight'|is missing",
            'spatial_perceiver.layers.1.attn.to_kv.weight', kind=f.hollow)
    # Statistics of BatchNorm: without them nothing can be folded.
    for part in 'weight', 'bias', 'running_mean', 'running_var':
        changed(f'no-{part}', f"'{NORM}{part}'|is missing", NORM + part, kind=f.hollow)
        f.bad(f'edgetam-nan-{part}.safetensors', pack(numbers(tensors, NORM + part, float('nan'))),
              f"'{NORM}{part}'|finite|nan")
    changed('variances', f"'{NORM}running_var'|(8)|(7)", NORM + 'running_var', (7,), f.hollow)
    f.late('edgetam-negative.safetensors', pack(numbers(tensors, NORM + 'running_var', -0.5)),
             f"'{NORM}running_var'|negative|-0.5 at channel 0")

    f.bad('edgetam-no-json.safetensors', pack(tensors, None), 'published EdgeTAM|stages of 8, 16, 24, 40|JSON|image_size')
    for side in 0, 32, 96, 100, 2112:
        f.bad(f'edgetam-size-{side}.safetensors', pack(tensors, {**CONFIG, 'image_size': side}),
              f'image_size|multiple of 64 from 64 to 2048|got {side}')

    def trunk(name, words, status=EFORMAT, **table):
        f.bad(f'edgetam-{name}.safetensors', pack(tensors, {**CONFIG, 'trunk': {'kind': 'repvit', **table}}), words, status)

    f.bad('edgetam-pooling.safetensors', pack(tensors, {**CONFIG, 'memory_pooling': 'counted'}),
          "'memory_pooling'|EdgeTAM stores no maps", EUNSUPPORTED)
    trunk('kind', "'trunk.kind'|repvit|hiera", EUNSUPPORTED, kind='hiera')
    trunk('dims', "'trunk.embed_dim'|17 at stage 2|16", embed_dim=[8, 17, 24, 40])
    trunk('depths', "'trunk.depth'|14 at stage 3|3", depth=[2, 1, 14, 1])
    config_files(f, read('c-hf'))


def config_files(f, tensors):
    """config.json beside the file, and what transformers' own defaults are."""
    told = (GOLDEN / 'c-hf/config.json').read_text()

    def hf(name, words, status=EFORMAT, backbone=None, **changes):
        config = {**json.loads(told), **changes}
        if backbone is not None:
            config['vision_config']['backbone_config'] = backbone
        f.bad(f'edgetam-hf-{name}/model.safetensors', pack(tensors, None), 'config.json|' + words, status)
        f.write(f'edgetam-hf-{name}/config.json', json.dumps(config).encode())

    f.good('edgetam-hf/model.safetensors', pack(tensors, None), side=128)
    f.write('edgetam-hf/config.json', told.encode())
    backbone = json.loads(told)['vision_config']['backbone_config']
    f.good('edgetam-hf-timm/model.safetensors', pack(tensors, None), side=128)
    config = json.loads(told)
    config['vision_config']['backbone_config']['architecture'] = 'timm/repvit_m1.dist_in1k'
    f.write('edgetam-hf-timm/config.json', json.dumps(config).encode())
    hf('hiera', "backbone_config.architecture'|repvit_m1|nothing", vision_config={'model_type': 'sam2_vision_model'})
    hf('misspelt', "architecture'|repvit_m1|nothing", backbone={'archirecture': 'repvit_m1'})
    hf('resnet', "architecture'|repvit_m1|resnet50", EUNSUPPORTED, backbone=RESNET)
    hf('larger', "architecture'|repvit_m1|repvit_m1_1", EUNSUPPORTED, backbone={**backbone, 'architecture': 'repvit_m1_1'})
    hf('dims', "model_args.embed_dim'|48|8", backbone={**backbone, 'model_args': {'embed_dim': [48, 96, 192, 384]}})
    hf('occlusion', 'enable_occlusion_spatial_embedding|true', enable_occlusion_spatial_embedding=True)
    hf('times', 'enable_temporal_pos_encoding_for_object_pointers|true', enable_temporal_pos_encoding_for_object_pointers=True)
    hf('latents', "'perceiver_resampler_num_latents'|256|12", perceiver_resampler_num_latents=256)
    hf('grid', "'memory_attention_rope_k_sizes'|16|4", memory_attention_rope_k_sizes=[16, 16])
    hf('heads', "'perceiver_resampler_num_attention_heads'|1|2", EUNSUPPORTED, perceiver_resampler_num_attention_heads=2)
    hf('act', "'memory_attention_mlp_hidden_act'|relu|gelu", EUNSUPPORTED, memory_attention_mlp_hidden_act='gelu')
    hf('size', 'image_size|96', image_size=96, prompt_encoder_config={})
