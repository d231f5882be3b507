# SPDX-License-Identifier: MIT
"""Converts models of the published code to Hugging Face transformers (names, weights, configuration)
and runs them with transformers' own classes as a second reference."""

import re
import sys

import torch

import published

THREE = {'0': 'proj_in', '1': 'layers.0', '2': 'proj_out'}
MASK = {'0': 'conv1', '1': 'layer_norm1', '3': 'conv2', '4': 'layer_norm2', '6': 'conv3'}
UPSCALE = {'0': 'upscale_conv1', '1': 'upscale_layer_norm', '3': 'upscale_conv2'}
FORWARD = {'0': 'layer_norm', '1': 'up_proj', '3': 'down_proj'}
GAUSSIAN = 'prompt_encoder.shared_embedding.positional_embedding'
POINTS = 'sam_prompt_encoder.point_embeddings.{}.weight'


def downsampler(m):
    """Convolution, norm and activation in turn, and one last convolution."""
    i = int(m[1])
    return 'mask_downsampler.' + ('final_conv' if i == 12 else
                                  f'layers.{i // 3}.' + ('layer_norm' if i % 3 else 'conv'))


# Meta's names to Hugging Face's: every rule is applied, in this order.
RULES = [(re.compile(pattern), new) for pattern, new in [
    (r'^image_encoder\.trunk\.body', 'vision_encoder.backbone.timm_model'),
    (r'^image_encoder\.neck\.convs\.(\d)\.conv', r'vision_encoder.neck.convs.\1'),
    (r'^image_encoder\.trunk', 'vision_encoder.backbone'),
    (r'^sam_(prompt_encoder|mask_decoder)', r'\1'),
    (r'\.norm', '.layer_norm'),
    (r'patch_embed\.proj\b', 'patch_embed.projection'),
    (r'(blocks\.\d+|transformer\.layers\.\d)\.mlp\.layers\.0', r'\1.mlp.proj_in'),
    (r'(blocks\.\d+|transformer\.layers\.\d)\.mlp\.layers\.1', r'\1.mlp.proj_out'),
    (r'(_mlps\.\d|_head|obj_ptr_proj)\.layers\.(\d)', lambda m: f'{m[1]}.{THREE[m[2]]}'),
    (r'output_upscaling\.(\d)', lambda m: UPSCALE[m[1]]),
    (r'mask_downscaling\.(\d)', lambda m: f'mask_embed.{MASK[m[1]]}'),
    (r'mask_downsampler\.encoder\.(\d+)', downsampler),
    (r'pe_layer\.positional_encoding_gaussian_matrix', 'shared_embedding.positional_embedding'),
    (r'perceiver\.latents$', 'perceiver.latents_1d'),
    (r'(perceiver\.layers\.\d)\.attn\.layer_norm_x', r'\1.layer_norm_input'),
    (r'(perceiver\.layers\.\d)\.attn\.layer_norm_latents', r'\1.layer_norm_latents'),
    (r'(perceiver\.layers\.\d)\.self_attn\.layer_norm', r'\1.layer_norm_self'),
    (r'(perceiver\.layers\.\d)\.attn', r'\1.cross_attention'),
    (r'(perceiver\.layers\.\d)\.self_attn', r'\1.self_attention'),
    (r'(self_|)ff\.(\d)', lambda m: f'{m[1]}mlp.{FORWARD[m[2]]}'),
    (r'\.to_(q|kv)\b', r'.\1_proj'),
    (r'\.to_out\b', '.o_proj'),
    (r'memory_encoder\.out_proj', 'memory_encoder.projection'),
    (r'\.out_proj\b', '.o_proj'),
    (r'pix_feat_proj', 'feature_projection'),
    (r'\.fuser\b', '.memory_fuser'),
    (r'dwconv', 'depthwise_conv'),
    (r'pwconv', 'pointwise_conv'),
    (r'\.gamma$', '.scale'),
    (r'obj_ptr_tpos_proj', 'temporal_positional_encoding_projection_layer'),
    (r'no_obj_embed_spatial', 'occlusion_spatial_embedding_parameter'),
    (r'maskmem_tpos_enc', 'memory_temporal_positional_encoding'),
    (r'no_mem_embed', 'no_memory_embedding'),
    (r'no_mem_pos_enc', 'no_memory_positional_encoding'),
    (r'obj_ptr', 'object_pointer'),
]]
EDGETAM_RULES = [(re.compile(r'(memory_attention\.layers\.\d)\.linear1'), r'\1.mlp.up_proj'),
                 (re.compile(r'(memory_attention\.layers\.\d)\.linear2'), r'\1.mlp.down_proj')]


def weights(state):
    """A state dict of the published code under Hugging Face's names."""
    edgetam = 'spatial_perceiver.latents' in state
    points = [state[POINTS.format(i)] for i in range(4)]
    out = {'prompt_encoder.point_embed.weight': torch.cat(points)}
    for name, tensor in state.items():
        if name in [POINTS.format(i) for i in range(4)]:
            continue
        for pattern, new in RULES + (EDGETAM_RULES if edgetam else []):
            name = pattern.sub(new, name)
        if '.kv_proj.' in name:
            for part, half in zip('kv', tensor.chunk(2)):
                out[name.replace('kv_proj', part + '_proj')] = half.contiguous()
        else:
            out[name] = tensor
    out['shared_image_embedding.positional_embedding'] = out[GAUSSIAN].clone()
    return out


def shared_config(state, side):
    """What the configurations of both families say in the same words, read from the weights."""
    d, m = state['no_mem_embed'].shape[-1], state['maskmem_tpos_enc'].shape[-1]
    decoder = 'sam_mask_decoder.'
    return dict(
        image_size=side,
        num_maskmem=state['maskmem_tpos_enc'].shape[0],
        memory_attention_hidden_size=d,
        memory_attention_num_layers=len([k for k in state if k.startswith('memory_attention.layers.')
                                         and k.endswith('.norm1.weight')]),
        memory_attention_rope_feat_sizes=[side // 16] * 2,
        memory_encoder_hidden_size=d, memory_encoder_output_channels=m,
        mask_downsampler_embed_dim=d, memory_fuser_embed_dim=d, memory_fuser_intermediate_dim=4 * d,
        enable_occlusion_spatial_embedding='no_obj_embed_spatial' in state,
        enable_temporal_pos_encoding_for_object_pointers='obj_ptr_tpos_proj.weight' in state,
        prompt_encoder_config=dict(hidden_size=d, image_size=side),
        mask_decoder_config=dict(
            hidden_size=d,
            mlp_dim=state[decoder + 'transformer.layers.0.mlp.layers.0.weight'].shape[0],
            iou_head_hidden_dim=state[decoder + 'iou_prediction_head.layers.0.weight'].shape[0]))


def vision_sizes(state, side):
    convs = [state[f'image_encoder.neck.convs.{i}.conv.weight'] for i in range(4)]
    return dict(backbone_channel_list=[c.shape[1] for c in convs], fpn_hidden_size=convs[0].shape[0],
                backbone_feature_sizes=[[side // s] * 2 for s in (4, 8, 16)])


def edgetam_config(state, side):
    """Said in full: transformers' defaults name other trunks, and switch on what EdgeTAM lacks."""
    from transformers import EdgeTamVideoConfig, EdgeTamVisionConfig, TimmWrapperConfig
    spec = published.edgetam_spec(state, side)
    backbone = TimmWrapperConfig(architecture='repvit_m1', model_args=dict(
        in_chans=3, features_only=True, out_indices=[0, 1, 2, 3], embed_dim=spec['dims'],
        depth=spec['depths']))
    return EdgeTamVideoConfig(
        vision_config=EdgeTamVisionConfig(backbone_config=backbone, **vision_sizes(state, side)),
        memory_attention_mlp_hidden_size=spec['memory_hidden'],
        memory_attention_rope_k_sizes=[spec['grid']] * 2,
        perceiver_resampler_num_latents=spec['latents'],
        perceiver_resampler_num_latents_2d=spec['grid'] ** 2,
        perceiver_resampler_hidden_size=spec['mem_dim'],
        perceiver_resampler_attention_head_dim=spec['mem_dim'],
        perceiver_resampler_mlp_intermediate_size=4 * spec['mem_dim'],
        **shared_config(state, side))


def sam2_config(state, side, trunk):
    """`trunk`: heads, windows and global blocks, which no shape tells (see make_golden.config)."""
    from transformers import Sam2HieraDetConfig, Sam2VideoConfig, Sam2VisionConfig
    sizes = vision_sizes(state, side)
    heads, e = trunk['num_heads'], trunk['embed_dim']
    backbone = Sam2HieraDetConfig(
        hidden_size=e, num_attention_heads=heads, image_size=[side] * 2,
        blocks_per_stage=list(trunk['stages']), embed_dim_per_stage=[e << i for i in range(4)],
        num_attention_heads_per_stage=[heads << i for i in range(4)],
        window_size_per_stage=list(trunk['window_spec']),
        global_attention_blocks=list(trunk['global_att_blocks']),
        window_positional_embedding_background_size=list(trunk['window_pos_embed_bkg_spatial_size']))
    return Sam2VideoConfig(
        vision_config=Sam2VisionConfig(backbone_config=backbone, **sizes),
        memory_attention_feed_forward_hidden_size=state[
            'memory_attention.layers.0.linear1.weight'].shape[0],
        **shared_config(state, side))


def build(state, side, trunk=None):
    """transformers' own video model with these weights; `trunk` for SAM 2 alone."""
    from transformers import EdgeTamVideoModel, Sam2VideoModel
    edgetam = 'spatial_perceiver.latents' in state
    model = (EdgeTamVideoModel(edgetam_config(state, side)) if edgetam
             else Sam2VideoModel(sam2_config(state, side, trunk)))
    # Both classes take the width of a memory as 64 here, whatever the configuration says.
    for layer in model.memory_attention.layers:
        attention, m = layer.cross_attn_image, state['maskmem_tpos_enc'].shape[-1]
        for name in ('k_proj', 'v_proj'):
            setattr(attention, name, torch.nn.Linear(m, getattr(attention, name).out_features))
    model.load_state_dict(weights(state), strict=True)
    return model.eval()


def run(model, images, points, labels):
    """Masks of one object, prompted with points (boxes: labels 2 and 3) on the first frame of
    images f32 (T, 3, S, S). Memory is rounded to bf16 when it is stored, as the published code
    does and transformers does not."""
    home = sys.modules[type(model).__module__]
    session_class = getattr(home, type(model).__name__.replace('Model', 'InferenceSession'))
    encode = model._encode_new_memory

    def rounded(*args, **named):
        features, positions = encode(*args, **named)
        return features.bfloat16().to(features.dtype), positions
    model._encode_new_memory = rounded
    session = session_class(video=images, dtype=images.dtype, video_height=images.shape[-2],
                            video_width=images.shape[-1])
    index = session.obj_id_to_idx(1)
    session.add_point_inputs(index, 0, {
        'point_coords': torch.tensor(points, dtype=torch.float32)[None, None],
        'point_labels': torch.tensor(labels, dtype=torch.int32)[None, None]})
    session.obj_with_new_inputs = [1]
    with torch.inference_mode():
        masks = [model(session, frame_idx=t).pred_masks[0, 0].clone() for t in range(len(images))]
    del model._encode_new_memory
    return masks
