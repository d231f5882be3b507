#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/golden: results of whole runs and of stages of the published code on tiny random
models.

usage: SAM2_REPO=CHECKOUT EDGETAM_REPO=CHECKOUT EFFICIENTTAM_REPO=CHECKOUT
           python tools/make_golden.py OUTPUT [--only NAME]
       ... python tools/make_golden.py OUTPUT-FOLDER --of GOLDEN-FOLDER --side PX
       ... python tools/make_golden.py --more GOLDEN-FOLDER
       ... python tools/make_golden.py --compare GOLDEN-FOLDER [--noise X | --double]

The published video predictors run in fp32 on the CPU with add_all_frames_to_correct_as_cond and
binarize_mask_from_pts_for_mem_enc on, dynamic multimask by stability (0.05, 0.98) on and hole
filling off, one object at a time. Their code is imported from checkouts and not included here.
--more adds the scenarios that an existing golden of MODELS lacks.
--compare runs the scenarios of an existing golden again and prints the differences: with the same
weights, with weights times 1 + X * normal noise, or in fp64.
"""
import argparse
import contextlib
import importlib
import json
import os
import pathlib

import numpy as np
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import hf
import published
import sam3_torch
from stages import Stages

# Sizes that exercise what goes wrong: maps that windows do not divide, windows larger than the
# map, odd head widths, a global block, an odd side at the last stage; SAM 2.1 and SAM 2.0.
# EdgeTAM: another number of latents in each branch, windows of 2 x 2 tokens, stages without a
# second block; `mini` has the published numbers of latents and is not part of tests/golden.
# SAM 3: a position map that the windows do not fit, a global block among others, six prompts, frames that do not count.
# EfficientTAM: windows that stand over the map's end, a position map of another size; what pools
# keys has the same weights, and stages with one map, with two, and with two prompts.
E = dict(version='efficienttam', seed=16, embed_dim=24, num_heads=3, depth=3, window=3, global_att_blocks=[1, 2],
         position=3, d_model=32, mem_dim=8, memory_layers=2, present=3.0)
POOLED = {'counted': 'EfficientRoPEAttention1', 'shifted': 'EfficientRoPEAttention2'}
A = ('click', 'clicks', 'box_click', 'mask', 'two_objects', 'refine', 'twice', 'part', 'thing', 'group', 'refine_part')
MODELS = {
    'a': dict(version='2.1', seed=9, image_size=64, embed_dim=8, num_heads=1, stages=[1, 2, 3, 1],
              global_att_blocks=[4], window_spec=[4, 6, 4, 3], bkg=[7, 7], d_model=32, mem_dim=8,
              memory_layers=2, present=-4.4, scenarios=A),
    'b': dict(version='2.0', seed=12, image_size=64, embed_dim=9, num_heads=3, stages=[1] * 4,
              global_att_blocks=[], window_spec=[8, 4, 14, 7], bkg=[5, 5], d_model=16, mem_dim=4,
              memory_layers=1, present=-2.0,
              scenarios=('click', 'refine')),
    'c': dict(version='edgetam', seed=38, image_size=128, dims=[8, 16, 24, 40], depths=[2, 1, 3, 1],
              d_model=32, mem_dim=8, memory_layers=2, memory_hidden=64, latents=12, grid=4,
              present=4.2, stage_frames={'click': (1, 9, 11), 'refine': (12,)},
              scenarios=('click', 'clicks', 'box_click', 'box', 'mask', 'two_objects', 'refine', 'refine_three', 'refine_mask', 'twice')),
    'd': dict(version='2.1', kind='efficientnet-lite', seed=5, image_size=64, stem=8, depths=[1, 2, 1, 2, 1, 2, 1],
              widths=[4, 8, 12, 12, 16, 20, 24], d_model=32, mem_dim=8, memory_layers=1, present=4.5,
              scenarios=('click', 'box_click', 'refine', 'group')),
    'e': dict(**E, pooling='none', image_size=64, scenarios=('click', 'box_click', 'mask', 'two_objects', 'refine')),
    'e-1': dict(**E, pooling='counted', image_size=64, weights='e', stage_frames={'click': (1, 2, 9), 'refine': (12,)},
                scenarios=('click', 'two_objects', 'refine')),
    'e-2': dict(**E, pooling='shifted', image_size=64, weights='e', stage_frames={'click': (1, 2, 9), 'refine': (12,)},
                scenarios=('click', 'two_objects', 'refine')),
    'f': dict(version='sam3', seed=2, image_size=112, embed_dim=16, num_heads=2, depth=3, hidden=26, window=4, global_att_blocks=[1],
              position=3, d_model=32, mem_dim=8, memory_layers=2, present=-1.5,
              scenarios=('click', 'clicks', 'box_click', 'mask', 'two_objects', 'refine', 'refine_mask', 'twice', 'six')),
}
LARGER = {
    'mini': dict(version='edgetam', seed=3, image_size=512, dims=[16, 32, 64, 96],
                 depths=[2, 2, 3, 2], d_model=128, mem_dim=64, memory_layers=2, memory_hidden=256,
                 latents=256, grid=16, past=1, present=0.0,
                 stage_frames={'click': (1, 9), 'refine': (12,)}),
}
CLIP_SEED = 8
NUM_FRAMES = 16  # with fewer, the published code divides pointer distances differently
STAGE_FRAMES = {'click': (9,), 'refine': (9,)}  # tracked frames; prompted ones are all kept
TRUNK_FRAME = 9  # the inside of the trunk is kept of this frame alone
TRUNK_TABLE = ('embed_dim', 'num_heads', 'stages', 'global_att_blocks', 'window_spec')


def scenarios(S):
    """Prompts in model pixels."""
    point = dict(points=[[.43 * S, .52 * S]], labels=[1])
    other = dict(points=[[.2 * S, .3 * S]], labels=[1])
    box = dict(box=[.25 * S, .3 * S, .7 * S, .8 * S])

    def item(frame, obj=1, **prompt):
        return dict(frame=frame, obj=obj, **prompt)
    return {
        'click': [item(0, **point)],
        'clicks': [item(0, points=[[.43 * S, .52 * S], [.7 * S, .6 * S], [.2 * S, .3 * S]],
                        labels=[1, 1, 0])],
        'box_click': [item(0, **box, points=[[.3 * S, .35 * S]], labels=[0])],
        'box': [item(0, **box)],
        'mask': [item(0, mask='disc')],
        # The answers to a click, by area, where all models here see an object.
        'part': [item(3, **other, answer=1)],
        'thing': [item(3, **other, answer=2)],
        'group': [item(3, **other, answer=3)],
        'refine_part': [item(0, **box), item(7, **point, answer=1)],
        'two_objects': [item(0, **point), item(6, obj=2, box=[.5 * S, .1 * S, .9 * S, .5 * S])],
        'refine': [item(0, **box), item(9, points=[[.6 * S, .6 * S]], labels=[0])],
        'refine_three': [item(0, **box), item(5, points=[[.6 * S, .6 * S]], labels=[1]),
                         item(13, points=[[.3 * S, .4 * S], [.7 * S, .7 * S]], labels=[0, 1])],
        'six': [item(t, points=[[(.4 + .02 * t) * S, .52 * S]], labels=[1]) for t in (0, 1, 2, 5, 8, 12)],
        'refine_mask': [item(0, **box), item(8, mask='disc')],
        'twice': [item(0, **point), item(0, points=[[.2 * S, .8 * S]], labels=[0]),
                  item(8, mask='disc')],
    }


def is_vit(spec):
    return spec.get('version') == 'efficienttam'


def is_sam3(spec):
    return spec.get('version') == 'sam3'


def is_lite(spec):
    return spec.get('kind') == 'efficientnet-lite'


def trunk_of(spec):
    from sam2.modeling.backbones.hieradet import Hiera
    if is_lite(spec):
        import efficientnet_torch
        return efficientnet_torch.Trunk(spec)
    return Hiera(embed_dim=spec['embed_dim'], num_heads=spec['num_heads'], stages=tuple(spec['stages']),
                 global_att_blocks=tuple(spec['global_att_blocks']), window_spec=tuple(spec['window_spec']),
                 window_pos_embed_bkg_spatial_size=tuple(spec['bkg']))


def config(spec):
    """What shapes cannot tell, as it stands in the metadata of the weights."""
    if spec['version'] == 'edgetam':
        return {'image_size': spec['image_size'], 'trunk': {'kind': 'repvit'}}
    if is_sam3(spec):
        trunk = {'kind': 'sam3-vit', **{k: spec[k] for k in ('embed_dim', 'depth', 'num_heads', 'window', 'global_att_blocks')}}
        return {'image_size': spec['image_size'], 'trunk': trunk, 'd_model': spec['d_model'], 'mem_dim': spec['mem_dim']}
    if spec['version'] == 'efficienttam':
        trunk = {'kind': 'vit', **{k: spec[k] for k in ('embed_dim', 'depth', 'num_heads', 'window', 'global_att_blocks')}}
        return {'image_size': spec['image_size'], 'trunk': trunk, 'memory_pooling': spec['pooling'],
                'd_model': spec['d_model'], 'mem_dim': spec['mem_dim']}
    if is_lite(spec):
        trunk = {'kind': spec['kind'], 'stem': spec['stem'], 'stages': spec['depths'], 'widths': spec['widths']}
    else:
        trunk = {'kind': 'hiera', **{k: spec[k] for k in TRUNK_TABLE},
                 'window_pos_embed_bkg_spatial_size': spec['bkg']}
    return {'image_size': spec['image_size'], 'trunk': trunk, 'd_model': spec['d_model'],
            'mem_dim': spec['mem_dim'], 'num_maskmem': 7}


def image_encoder(spec, part, position):
    """part: a module of the published package by its name."""
    module = part('backbones.image_encoder')
    if not is_vit(spec):
        trunk = trunk_of(spec)
        return module.ImageEncoder(scalp=1, trunk=trunk, neck=module.FpnNeck(
            position_encoding=position, d_model=spec['d_model'], backbone_channel_list=trunk.channel_list,
            fpn_top_down_levels=[2, 3], fpn_interp_model='nearest'))
    windowed = [i for i in range(spec['depth']) if i not in spec['global_att_blocks']]
    trunk = part('backbones.vitdet').ViT(
        patch_size=16, embed_dim=spec['embed_dim'], depth=spec['depth'], num_heads=spec['num_heads'],
        window_size=spec['window'], window_block_indexes=windowed, pretrain_img_size=16 * spec['position'])
    return module.ImageEncoder(scalp=0, trunk=trunk, neck=module.ViTDetNeck(
        position_encoding=position, d_model=spec['d_model'], backbone_channel_list=trunk.channel_list,
        neck_norm='LN'))


def build(spec):
    """The published predictor with other sizes."""
    if spec['version'] == 'edgetam':
        return published.edgetam(spec)
    if is_sam3(spec):
        return sam3_torch.Tracker(sam3_torch.build(spec), spec)
    package = published.find('efficienttam' if is_vit(spec) else 'sam2')

    def part(module):
        return importlib.import_module(f'{package}.modeling.{module}')
    layers, encoder, transformer = part('memory_attention'), part('memory_encoder'), part('sam.transformer')
    module, predictor = published.PREDICTORS[package]
    d, m, S = spec['d_model'], spec['mem_dim'], spec['image_size']
    sine = lambda channels: part('position_encoding').PositionEmbeddingSine(
        num_pos_feats=channels, normalize=True, scale=None, temperature=10000)
    attention = lambda kind='RoPEAttention', **more: getattr(transformer, kind)(
        rope_theta=10000.0, feat_sizes=[S // 16] * 2, embedding_dim=d, num_heads=1,
        downsample_rate=1, dropout=0.1, **more)
    cross = POOLED.get(spec.get('pooling'), 'RoPEAttention')
    new = spec['version'] == '2.1'
    return getattr(importlib.import_module(module), predictor)(
        image_encoder=image_encoder(spec, part, sine(d)),
        memory_attention=layers.MemoryAttention(
            d_model=d, pos_enc_at_input=True, num_layers=spec['memory_layers'],
            layer=layers.MemoryAttentionLayer(
                activation='relu', dim_feedforward=2 * d, dropout=0.1, pos_enc_at_attn=False,
                d_model=d, pos_enc_at_cross_attn_keys=True, pos_enc_at_cross_attn_queries=False,
                self_attention=attention(),
                cross_attention=attention(cross, rope_k_repeat=True, kv_in_dim=m))),
        memory_encoder=encoder.MemoryEncoder(
            in_dim=d, out_dim=m, position_encoding=sine(m),
            mask_downsampler=encoder.MaskDownSampler(embed_dim=d, kernel_size=3, stride=2, padding=1),
            fuser=encoder.Fuser(encoder.CXBlock(dim=d, kernel_size=7, padding=3), num_layers=2)),
        num_maskmem=7, image_size=S, sigmoid_scale_for_mem_enc=20.0,
        sigmoid_bias_for_mem_enc=-10.0, use_mask_input_as_output_without_sam=True,
        directly_add_no_mem_embed=True, use_high_res_features_in_sam=not is_vit(spec),
        multimask_output_in_sam=True, iou_prediction_use_sigmoid=True,
        use_obj_ptrs_in_encoder=True, only_obj_ptrs_in_the_past_for_eval=True,
        pred_obj_scores=True, pred_obj_scores_mlp=True, fixed_no_obj_ptr=True,
        multimask_output_for_tracking=True, use_multimask_token_for_obj_ptr=True,
        multimask_min_pt_num=0, multimask_max_pt_num=1, use_mlp_for_obj_ptr_proj=True,
        no_obj_embed_spatial=new, add_tpos_enc_to_obj_ptrs=new, proj_tpos_enc_in_obj_ptrs=new,
        use_signed_tpos_enc_to_obj_ptrs=new, binarize_mask_from_pts_for_mem_enc=True,
        add_all_frames_to_correct_as_cond=True, fill_hole_area=0,
        sam_mask_decoder_extra_args=dict(dynamic_multimask_via_stability=True,
                                         dynamic_multimask_stability_delta=0.05,
                                         dynamic_multimask_stability_thresh=0.98))


def give_widths(decoder, d, mlp, iou):
    MLP, TwoWayTransformer = type(decoder.iou_prediction_head), type(decoder.transformer)
    decoder.transformer = TwoWayTransformer(depth=2, embedding_dim=d, mlp_dim=mlp, num_heads=8)
    decoder.iou_prediction_head = MLP(d, iou, 4, 3, sigmoid_output=True)


def shrink(model, d):
    """The widths that the published code fixes: 2048 and 256 would be most of a tiny model."""
    give_widths(model.sam_mask_decoder, d, 3 * d, 40)


def randomize(model, seed, present, past=3):
    """Random weights under which every tensor matters: nothing near zero, nothing exploding."""
    noise = torch.Generator().manual_seed(seed)
    normal = lambda p: torch.randn(p.shape, generator=noise)
    with torch.no_grad():
        fourier = model.sam_prompt_encoder.pe_layer.positional_encoding_gaussian_matrix
        fourier.copy_(normal(fourier))
        for name, p in model.named_parameters():
            if p.dim() == 1 and name.endswith('.weight') or name.endswith('.gamma'):
                p.copy_(1 + 0.2 * normal(p) if not name.endswith('.gamma') else 0.4 * normal(p))
            elif p.dim() == 1:
                p.copy_(0.1 * normal(p))
            elif ('embed' in name and 'proj' not in name or 'token' in name or 'latents' in name
                  or 'tpos_enc' in name):
                p.copy_(0.5 * normal(p))
            else:
                fan_in = p[0].numel() if 'output_upscaling' not in name else p.shape[0]
                p.copy_(normal(p) / fan_in ** 0.5)
        # Presence: decided by the content, never by rounding (the script prints the margin).
        last = model.sam_mask_decoder.pred_obj_score_head.layers[-1]
        last.weight.mul_(8)
        last.bias.fill_(present)
        if getattr(model, 'spatial_perceiver', None) is not None:
            last.weight.mul_(4)  # a score is a lone number: keep it away from zero
            for layer in model.memory_attention.layers:  # let masks depend on the past
                layer.cross_attn_image.out_proj.weight.mul_(past)
                layer.cross_attn_image.q_proj.weight.mul_(2)
    published.randomize_convolutions(model, noise)
    if hasattr(model.image_encoder.trunk, 'body') and hasattr(model.image_encoder.trunk.body, 'conv_stem'):
        import efficientnet_torch
        efficientnet_torch.randomize(model.image_encoder.trunk.body, noise)


def clip(S, seed):
    """A textured disc that crosses a textured ground, u8 (T, S, S, 3)."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(30, 140, (8, 8, 3)).astype(np.float32)
    ground = coarse.repeat(S // 8, 0).repeat(S // 8, 1)
    y, x = np.mgrid[:S, :S]
    frames = []
    for t in range(NUM_FRAMES):
        cx, cy = S * (.40 + .02 * t), S * (.52 + .04 * np.sin(t / 3))
        disc = ((x - cx) ** 2 + (y - cy) ** 2 < (.2 * S) ** 2)[..., None]
        stripes = (150 + 80 * (((x - cx) // (S / 24)) % 2))[..., None] * np.array([1, .8, .5])
        shade = 1 - .5 * (t in (11, 12))
        frames.append(np.where(disc, stripes, np.roll(ground, t, 1)) * shade)
    return np.clip(np.stack(frames), 0, 255).astype(np.uint8)


def disc(S):
    y, x = np.mgrid[:S, :S]
    return (x - .45 * S) ** 2 + (y - .55 * S) ** 2 < (.2 * S) ** 2


@contextlib.contextmanager
def taking(model, answer):
    """Within it the published code takes another mask for a click than the one with the highest IoU: of the decoder's three,
    the one that is `answer` by its number of positive logits. Nothing else looks at the IoUs."""
    decoder = model.sam_mask_decoder
    published_forward = decoder.forward

    def forward(**inputs):
        masks, ious, *rest = published_forward(**inputs)
        assert masks.shape[:2] == (1, 3), masks.shape
        order = torch.sort((masks[0] > 0).sum((1, 2)), stable=True).indices
        return masks, torch.nn.functional.one_hot(order[answer - 1], 3)[None].to(ious), *rest
    decoder.forward = forward
    try:
        yield
    finally:
        decoder.forward = published_forward


def give(model, state, item, folder):
    """One interaction. Points add to those given on this frame before; a box starts over."""
    if 'mask' in item:
        if item['mask'] == 'disc':
            mask = disc(model.image_size)
        else:
            mask = np.array(Image.open(folder / item['mask']).convert('L')) > 127
        model.add_new_mask(state, item['frame'], item['obj'], torch.from_numpy(mask))
        return
    points = item.get('points')
    with taking(model, item['answer']) if 'answer' in item else contextlib.nullcontext():
        model.add_new_points_or_box(
            state, item['frame'], item['obj'], box=item.get('box'), clear_old_points='box' in item,
            points=None if points is None else torch.tensor(points, dtype=torch.float32),
            labels=None if points is None else torch.tensor(item['labels'], dtype=torch.int32))


def run_object(model, frames, items, folder, stages, stage_frames):
    """All frames of one object: a prompt acts after its frame was tracked, if the object was
    there before, else it starts it."""
    obj, first = items[0]['obj'], items[0]['frame']
    state = published.start(model, frames)
    result = {}
    for t in range(first, len(frames)):
        prefix = f'obj{obj}/frame{t:03}'
        if t > first:
            for _ in model.propagate_in_video(state, start_frame_idx=t, max_frame_num_to_track=0):
                pass
            if stages and t in stage_frames and not any(i['frame'] == t for i in items):
                result.update(stages.take(f'{prefix}/track', levels=True, trunk=t == TRUNK_FRAME))
            elif stages:
                stages.step.clear()
        given = [i for i in items if i['frame'] == t]
        if stages:
            stages.step.clear()
        for item in given:
            give(model, state, item, folder)
        if given:
            model.propagate_in_video_preflight(state)
            if stages:
                result.update(stages.take(f'{prefix}/prompt'))
        outputs = state['output_dict_per_obj'][0]
        out = outputs['cond_frame_outputs'].get(t) or outputs['non_cond_frame_outputs'][t]
        result[f'{prefix}/low_res'] = out['pred_masks'][0, 0].float().clone()
        result[f'{prefix}/pointer'] = out['obj_ptr'][0].float().clone()
        result[f'{prefix}/score'] = out['object_score_logits'][0].float().clone()
        result[f'{prefix}/memory'] = out['maskmem_features'][0].clone()
    return result


def run_scenario(model, frames, items, folder, stages=None, stage_frames=()):
    if isinstance(model, sam3_torch.Tracker):
        return sam3_torch.run_scenario(model, frames, items, folder, stages, stage_frames, TRUNK_FRAME)
    result = {}
    with torch.inference_mode():
        for obj in sorted({i['obj'] for i in items}):
            result.update(run_object(model, frames, [i for i in items if i['obj'] == obj], folder,
                                     stages, stage_frames))
    return result


def save_frames(frames, folder):
    """Models of one side share one clip."""
    link, first = folder / 'frames.safetensors', next(iter(MODELS))
    if folder.name != first and len(frames[0]) == MODELS[first]['image_size']:
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.join('..', first, link.name))
    else:
        save_file({'frames': torch.from_numpy(frames)}, link)


def save_weights(model, spec, folder):
    """In fp16. EdgeTAM's in every container that users have, each with what shapes cannot tell."""
    told = config(spec)
    if is_sam3(spec):
        sam3_torch.save(model.m, told, folder)
        return
    state = {k: v.half() if v.is_floating_point() else v for k, v in model.state_dict().items()}
    if is_lite(spec):
        import efficientnet_torch
        state = {k: v for k, v in state.items() if '.trunk.body.' not in k}
        state.update(efficientnet_torch.folded(model.image_encoder.trunk.body))
    if is_vit(spec):  # variants share their weights
        save_file(state, folder / 'model.safetensors')
        (folder / 'model.json').write_text(json.dumps(told) + '\n')
        return
    save_file(state, folder / 'model.safetensors', metadata={'samtrack': json.dumps(told)})
    if spec['version'] != 'edgetam':
        return
    torch.save({'model': state}, folder / 'model.pt')
    (folder / 'model.json').write_text(json.dumps(told) + '\n')
    other = hf.build(state, spec['image_size']).half()
    other.save_pretrained(folder.parent / f'{folder.name}-hf')


def second_opinion(model, frames, script):
    """transformers' own EdgeTAM with the same weights, on runs prompted with points or a box."""
    state, side = model.state_dict(), script['image_size']
    other = hf.build(state, side)
    images = published.normalize(frames)
    for name, items in script['scenarios'].items():
        if len(items) > 1 or 'mask' in items[0]:
            continue  # there its semantics differ
        item = items[0]
        corners = np.reshape(item.get('box', []), (-1, 2)).tolist()
        theirs = hf.run(other, images, corners + item.get('points', []),
                        [2, 3][:len(corners)] + item.get('labels', []))
        ours = run_scenario(model, frames, items, None)
        ours = [ours[f'obj1/frame{t:03}/low_res'] for t in range(len(frames))]
        flips = [int(((a > 0) != (b > 0)).sum()) for a, b in zip(ours, theirs)]
        errors = [float((a - b).norm() / a.norm()) for a, b in zip(ours, theirs)]
        print(f'transformers, {name}: at most {max(flips)} pixels of a mask differ, logits by '
              f'{errors[0]:.1e} on the first frame and at most {max(errors):.1e} in norm')


def make(name, spec, folder):
    model = build(spec)
    if is_sam3(spec):
        sam3_torch.randomize(model.m, spec['seed'], spec['present'])
        sam3_torch.round_to_half(model.m)
    else:
        shrink(model, spec['d_model'])
        randomize(model, spec['seed'], spec['present'], spec.get('past', 3))
        model.half().float().eval()  # what the file holds is what ran
    S = spec['image_size']
    frames = clip(S, CLIP_SEED)
    script = {'image_size': S, 'T': NUM_FRAMES, 'disc': '(x-.45S)^2+(y-.55S)^2 < (.2S)^2',
              'scenarios': {k: v for k, v in scenarios(S).items()
                            if k in spec.get('scenarios', scenarios(S))}}
    folder.mkdir(parents=True, exist_ok=True)
    save_weights(model, spec, folder)
    if spec.get('weights'):
        (folder / 'model.safetensors').unlink()
        (folder / 'model.safetensors').symlink_to(os.path.join('..', spec['weights'], 'model.safetensors'))
    save_frames(frames, folder)
    save_runs(model, frames, script, folder, spec.get('stage_frames', STAGE_FRAMES))
    if spec['version'] == 'edgetam':
        second_opinion(model, frames, script)


def stages_of(model):
    return isinstance(model, sam3_torch.Tracker) or Stages(model)


def save_runs(model, frames, script, folder, stage_frames):
    (folder / 'scenarios.json').write_text(json.dumps(script, indent=1) + '\n')
    stages = stages_of(model)
    for scenario, items in script['scenarios'].items():
        held = stage_frames.get(scenario)
        out = run_scenario(model, frames, items, folder, stages if held else None, held)
        save_file(out, folder / f'{scenario}.safetensors')
        scores = np.array([float(v) for k, v in out.items() if k.endswith('/score')])
        areas = np.array([int((v > 0).sum()) for k, v in out.items() if k.endswith('/low_res')])
        print(f'{folder.name}/{scenario}: scores {scores.min():.2f} to {scores.max():.2f}, nearest '
              f'to zero {np.abs(scores).min():.3f}, {(scores <= 0).sum()} of {len(scores)} absent; '
              f'areas {areas.min()} to {areas.max()}')


def make_side(source, side, folder):
    """The weights, the clip and the prompts of a golden at another side. The weights stay there:
    the script says where."""
    script = json.loads((source / 'scenarios.json').read_text())
    ratio = side / script['image_size']
    clip = load_file(source / 'frames.safetensors')['frames'].numpy()
    frames = np.stack([np.asarray(Image.fromarray(f).resize((side, side), Image.BILINEAR))
                       for f in clip])
    folder.mkdir(parents=True, exist_ok=True)
    for items in script['scenarios'].values():
        for item in items:
            if 'points' in item:
                item['points'] = (np.array(item['points']) * ratio).tolist()
            if 'box' in item:
                item['box'] = (np.array(item['box']) * ratio).tolist()
            if item.get('mask', 'disc') != 'disc':
                mask = Image.open(source / item['mask']).convert('L')
                mask.resize((side, side), Image.NEAREST).save(folder / item['mask'])
    script.update(image_size=side, model=os.path.relpath(source / 'model.safetensors', folder))
    save_file({'frames': torch.from_numpy(frames)}, folder / 'frames.safetensors')
    model = load(source / 'model.safetensors', side)
    save_runs(model, frames, script, folder, STAGE_FRAMES)


def add_more(folder):
    script = json.loads((folder / 'scenarios.json').read_text())
    spec = MODELS[folder.name]
    known = scenarios(script['image_size'])
    wanted = {k: known[k] for k in spec.get('scenarios', known) if k not in script['scenarios']}
    frames = load_file(folder / 'frames.safetensors')['frames'].numpy()
    model = load(folder / script.get('model', 'model.safetensors'), script['image_size'])
    new = {**script, 'scenarios': wanted}
    save_runs(model, frames, new, folder, spec.get('stage_frames', STAGE_FRAMES))
    script['scenarios'].update(wanted)
    (folder / 'scenarios.json').write_text(json.dumps(script, indent=1) + '\n')


def vit_spec(told, weights, side):
    return {**told['trunk'], 'version': 'efficienttam', 'pooling': told['memory_pooling'], 'image_size': side,
            'd_model': told['d_model'], 'mem_dim': told['mem_dim'],
            'position': round((weights['image_encoder.trunk.pos_embed'].shape[1] - 1) ** 0.5),
            'memory_layers': len({k.split('.')[2] for k in weights if k.startswith('memory_attention.layers.')})}


def load(path, side):
    """The published predictor with the weights of a golden."""
    beside = path.with_suffix('.json')
    with safe_open(path, 'pt') as f:
        told = json.loads((f.metadata() or {}).get('samtrack') or beside.read_text())
    weights = load_file(path)
    if 'spatial_perceiver.latents' in weights:
        spec = {'version': 'edgetam', **published.edgetam_spec(weights, side)}
    elif told['trunk'].get('kind') == 'sam3-vit':
        spec = sam3_torch.spec_of(told, weights, side)
        model = build(spec)
        model.m.load_state_dict(weights, strict=False)
        model.m.float().eval()
        return model
    elif told['trunk'].get('kind') == 'vit':
        spec = vit_spec(told, weights, side)
    else:
        trunk = told['trunk']
        sizes = ({'kind': trunk['kind'], 'stem': trunk['stem'], 'depths': trunk['stages'], 'widths': trunk['widths']}
                 if is_lite(trunk) else {**{k: trunk[k] for k in TRUNK_TABLE}, 'bkg': trunk['window_pos_embed_bkg_spatial_size']})
        spec = {**sizes, 'image_size': side, **{k: told[k] for k in ('d_model', 'mem_dim')},
                'version': '2.1' if 'no_obj_embed_spatial' in weights else '2.0',
                'memory_layers': len({k.split('.')[2] for k in weights
                                      if k.startswith('memory_attention.layers.')})}
    model = build(spec)
    fit(model, weights)
    model.load_state_dict(weights, strict=not is_lite(spec))
    if is_lite(spec):
        import efficientnet_torch
        efficientnet_torch.unfold(model.image_encoder.trunk.body, weights)
    return model.float().eval()


def compare(folder, noise, double):
    """Runs an existing golden's scenarios again: the same, with other weights, or in fp64. Returns
    for each the most pixels of a mask that differ, and the worst relative error of its tensors."""
    told, script = [], json.loads((folder / 'scenarios.json').read_text())
    path = folder / script.get('model', 'model.safetensors')
    weights = load_file(path)
    family = ('edgetam' if 'spatial_perceiver.latents' in weights else
              'efficienttam' if 'image_encoder.neck.convs.0.conv_1x1.weight' in weights else 'sam2')
    frames = load_file(folder / 'frames.safetensors')['frames'].numpy()
    with published.double(family) if double else contextlib.nullcontext():
        model = load(path, script['image_size'])
        with torch.no_grad():
            random = torch.Generator().manual_seed(1)
            for p in (model.m if isinstance(model, sam3_torch.Tracker) else model).parameters():
                p.mul_(1 + noise * torch.randn(p.shape, generator=random))
        stages = stages_of(model)
        for scenario, items in script['scenarios'].items():
            theirs = load_file(folder / f'{scenario}.safetensors')
            held = sorted({int(k.split('frame')[1][:3]) for k in theirs if '/track/' in k})
            ours = run_scenario(model, frames, items, folder, stages, held)
            told.append(tell(scenario, ours, theirs))
    return told


def tell(scenario, ours, theirs):
    """A line about one scenario. Of a lone number: the error relative to 1 at least."""
    masks = [k for k in theirs if k.endswith('low_res')]
    ious, flips = zip(*(overlap(ours[k], theirs[k]) for k in masks))
    good = sum(i >= .99 or f <= 4 for i, f in zip(ious, flips))
    errors = {k: float((ours[k].double() - v.double()).norm()
                       / max(1e-30 if v.numel() > 1 else 1, v.double().norm()))
              for k, v in theirs.items() if v.is_floating_point()}
    worst = max(errors, key=errors.get)
    print(f'{scenario}: worst IoU {min(ious):.4f}, at most {max(flips)} of {theirs[masks[0]].numel()} '
          f'pixels differ, {good} of {len(masks)} frames within IoU 0.99 or 4 pixels; worst of all '
          f'tensors {worst} {errors[worst]:.1e}, median {np.median(list(errors.values())):.1e}',
          flush=True)
    return max(flips), errors[worst]


def overlap(a, b):
    both, either = int(((a > 0) & (b > 0)).sum()), int(((a > 0) | (b > 0)).sum())
    return (both / either if either else 1.0), either - both


def fit(model, weights):
    """Give the parts whose widths are not configurable the widths of these weights."""
    d = weights['no_mem_embed'].shape[-1]
    mlp = weights['sam_mask_decoder.transformer.layers.0.mlp.layers.0.weight'].shape[0]
    iou = weights['sam_mask_decoder.iou_prediction_head.layers.0.weight'].shape[0]
    give_widths(model.sam_mask_decoder, d, mlp, iou)
    for i, layer in enumerate(model.memory_attention.layers):
        hidden = weights[f'memory_attention.layers.{i}.linear1.weight'].shape[0]
        layer.linear1 = torch.nn.Linear(d, hidden)
        layer.linear2 = torch.nn.Linear(hidden, d)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('output', nargs='?', type=pathlib.Path)
    parser.add_argument('--only', choices=[*MODELS, *LARGER])
    parser.add_argument('--side', type=int, help='with --of: the golden --of at another side')
    parser.add_argument('--of', type=pathlib.Path)
    parser.add_argument('--more', type=pathlib.Path)
    parser.add_argument('--compare', type=pathlib.Path)
    parser.add_argument('--noise', type=float, default=0.0)
    parser.add_argument('--double', action='store_true')
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get('THREADS', '2')))
    if args.compare:
        compare(args.compare, args.noise, args.double)
        return
    if args.more:
        return add_more(args.more)
    if not args.output:
        parser.error('expected a folder to write to')
    if args.side:
        return make_side(args.of, args.side, args.output)
    for name in [args.only] if args.only else MODELS:
        make(name, {**MODELS, **LARGER}[name], args.output / name)


if __name__ == '__main__':
    main()
