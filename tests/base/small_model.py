# SPDX-License-Identifier: MIT
"""The smallest model that has every tensor from which sizes are read, and its two sets of names."""
import copy

import containers

CONFIG = {
    'image_size': 64,
    'trunk': {'kind': 'hiera', 'embed_dim': 8, 'num_heads': 1, 'stages': [1, 1, 2, 1], 'global_att_blocks': [3],
              'window_spec': [8, 4, 4, 2], 'window_pos_embed_bkg_spatial_size': [7, 7]},
    'd_model': 16, 'mem_dim': 4, 'num_maskmem': 3,
}
HF_CONFIG = {
    'model_type': 'sam2_video', 'image_size': 64, 'num_maskmem': 3,
    'memory_attention_hidden_size': 16, 'memory_attention_num_layers': 2, 'memory_encoder_output_channels': 4,
    'mask_decoder_config': {'hidden_size': 16, 'num_attention_heads': 8},
    'prompt_encoder_config': {'image_size': 64, 'hidden_size': 16},
    'vision_config': {'fpn_hidden_size': 16, 'backbone_config': {
        'image_size': [64, 64], 'blocks_per_stage': [1, 1, 2, 1], 'embed_dim_per_stage': [8, 16, 32, 64],
        'num_attention_heads_per_stage': [1, 2, 4, 8], 'window_size_per_stage': [8, 4, 4, 2],
        'global_attention_blocks': [3]}},
}

META, HF = 0, 1


def rows(stages=(1, 1, 2, 1), e=8, d=16, m=4, maps=3, layers=2, hidden=8, pos=7, window_pos=8, v21=True):
    """(Meta's name, Hugging Face's, shape)"""
    trunk, backbone = 'image_encoder.trunk.', 'vision_encoder.backbone.'
    out = [
        (trunk + 'pos_embed', backbone + 'pos_embed', (1, e, pos, pos)),
        (trunk + 'pos_embed_window', backbone + 'pos_embed_window', (1, e, window_pos, window_pos)),
        (trunk + 'patch_embed.proj.weight', backbone + 'patch_embed.projection.weight', (e, 3, 7, 7)),
        ('image_encoder.neck.convs.0.conv.weight', 'vision_encoder.neck.convs.0.weight', (d, 8 * e, 1, 1)),
        ('maskmem_tpos_enc', 'memory_temporal_positional_encoding', (maps, 1, 1, m)),
        ('memory_encoder.out_proj.weight', 'memory_encoder.projection.weight', (m, d, 1, 1)),
        ('sam_mask_decoder.transformer.layers.0.mlp.layers.0.weight',
         'mask_decoder.transformer.layers.0.mlp.proj_in.weight', (hidden, d)),
        ('sam_mask_decoder.conv_s0.weight', 'mask_decoder.conv_s0.weight', (d // 8, d, 1, 1)),
        ('sam_mask_decoder.conv_s1.weight', 'mask_decoder.conv_s1.weight', (d // 4, d, 1, 1)),
        ('sam_mask_decoder.iou_prediction_head.layers.0.weight', 'mask_decoder.iou_prediction_head.proj_in.weight',
         (hidden, d)),
        ('sam_prompt_encoder.mask_downscaling.3.weight', 'prompt_encoder.mask_embed.conv2.weight', (4, 1, 2, 2)),
        ('sam_prompt_encoder.pe_layer.positional_encoding_gaussian_matrix',
         'prompt_encoder.shared_embedding.positional_embedding', (2, d // 2)),
    ]
    for i in range(sum(stages)):
        out.append((f'{trunk}blocks.{i}.norm1.weight', f'{backbone}blocks.{i}.layer_norm1.weight', (e,)))
    first = 0
    for blocks in stages[:-1]:
        first += blocks
        out.append((f'{trunk}blocks.{first}.proj.weight', f'{backbone}blocks.{first}.proj.weight', (2 * e, e)))
    for i in range(layers):
        out.append((f'memory_attention.layers.{i}.norm1.weight', f'memory_attention.layers.{i}.layer_norm1.weight', (d,)))
        out.append((f'memory_attention.layers.{i}.linear1.weight', f'memory_attention.layers.{i}.linear1.weight',
                    (hidden, d)))
    for i in range(2):
        out.append((f'memory_encoder.fuser.layers.{i}.gamma', f'memory_encoder.memory_fuser.layers.{i}.scale', (d,)))
        out.append((f'memory_encoder.fuser.layers.{i}.pwconv1.weight',
                    f'memory_encoder.memory_fuser.layers.{i}.pointwise_conv1.weight', (hidden, d)))
    for i in range(4):
        out.append((f'sam_prompt_encoder.point_embeddings.{i}.weight', 'prompt_encoder.point_embed.weight', (1, d)))
    if v21:
        out.append(('no_obj_embed_spatial', 'occlusion_spatial_embedding_parameter', (1, m)))
        out.append(('obj_ptr_tpos_proj.weight', 'temporal_positional_encoding_projection_layer.weight', (m, d)))
    return out


def tensors(names=META, dtype='F32', **sizes):
    """The same numbers under either set of names; Hugging Face joins the four point embeddings."""
    out = {}
    for row in rows(**sizes):
        name, dtype_, shape, data = containers.tensor(row[META], row[2], dtype)
        name = row[names]
        if name in out:
            data = out[name][3] + data
            shape = [out[name][2][0] + 1, shape[1]]
        out[name] = (name, dtype_, shape, data)
    return list(out.values())


def config(**changes):
    """CONFIG with some keys replaced; a key of the trunk is given as trunk__key; None removes it."""
    out = copy.deepcopy(CONFIG)
    for path, value in changes.items():
        place = out
        *folders, key = path.split('__')
        for folder in folders:
            place = place[folder]
        if value is None:
            place.pop(key, None)
        else:
            place[key] = value
    return out


def hf_config(**changes):
    out = copy.deepcopy(HF_CONFIG)
    for path, value in changes.items():
        place = out
        *folders, key = path.split('__')
        for folder in folders:
            place = place.setdefault(folder, {})
        if value is None:
            place.pop(key, None)
        else:
            place[key] = value
    return out
