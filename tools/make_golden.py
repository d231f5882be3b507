#!/usr/bin/env python3
"""Makes tests/golden: whole runs and stages of the published code on tiny random models.

usage: SAM2_REPO=CHECKOUT python tools/make_golden.py OUTPUT [--only NAME]
       SAM2_REPO=CHECKOUT python tools/make_golden.py --compare GOLDEN-FOLDER

The published video predictor runs in fp32 on the CPU with add_all_frames_to_correct_as_cond and
binarize_mask_from_pts_for_mem_enc on, dynamic multimask by stability (0.05, 0.98) on and hole
filling off. Its code is imported from a checkout; nothing of it is contained here. --compare runs
the scenarios of an existing golden again and says how far apart they are.
"""
import argparse
import json
import os
import pathlib

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import published

# Sizes that exercise what goes wrong: maps that windows do not divide, windows larger than the
# map, odd head widths, a global block, an odd side at the last stage; SAM 2.1 and SAM 2.0.
MODELS = {
    'a': dict(version='2.1', seed=9, image_size=64, embed_dim=8, num_heads=1, stages=[1, 2, 3, 1],
              global_att_blocks=[4], window_spec=[4, 6, 4, 3], bkg=[7, 7], d_model=32, mem_dim=8,
              memory_layers=2, present=-4.4),
    'b': dict(version='2.0', seed=12, image_size=64, embed_dim=9, num_heads=3, stages=[1] * 4,
              global_att_blocks=[], window_spec=[8, 4, 14, 7], bkg=[5, 5], d_model=16, mem_dim=4,
              memory_layers=1, present=-2.0,
              scenarios=('click', 'refine')),
}
CLIP_SEED = 8
NUM_FRAMES = 16  # with fewer, the published code divides pointer distances differently
STAGE_FRAMES = (9,)
TRUNK_TABLE = ('embed_dim', 'num_heads', 'stages', 'global_att_blocks', 'window_spec')


def scenarios(S):
    """Prompts in model pixels."""
    point = dict(points=[[.43 * S, .52 * S]], labels=[1])
    box = dict(box=[.25 * S, .3 * S, .7 * S, .8 * S])

    def item(frame, obj=1, **prompt):
        return dict(frame=frame, obj=obj, **prompt)
    return {
        'click': [item(0, **point)],
        'clicks': [item(0, points=[[.43 * S, .52 * S], [.7 * S, .6 * S], [.2 * S, .3 * S]],
                        labels=[1, 1, 0])],
        'box_click': [item(0, **box, points=[[.3 * S, .35 * S]], labels=[0])],
        'mask': [item(0, mask='disc')],
        'two_objects': [item(0, **point), item(6, obj=2, box=[.5 * S, .1 * S, .9 * S, .5 * S])],
        'refine': [item(0, **box), item(9, points=[[.6 * S, .6 * S]], labels=[0])],
        'twice': [item(0, **point), item(0, points=[[.2 * S, .8 * S]], labels=[0]),
                  item(8, mask='disc')],
    }


def config(spec):
    """What shapes cannot tell, as it stands in the metadata of the weights."""
    trunk = {'kind': 'hiera', **{k: spec[k] for k in TRUNK_TABLE},
             'window_pos_embed_bkg_spatial_size': spec['bkg']}
    return {'image_size': spec['image_size'], 'trunk': trunk, 'd_model': spec['d_model'],
            'mem_dim': spec['mem_dim'], 'num_maskmem': 7}


def build(spec):
    """The published predictor with other sizes."""
    published.find()
    from sam2.modeling.backbones.hieradet import Hiera
    from sam2.modeling.backbones.image_encoder import FpnNeck, ImageEncoder
    from sam2.modeling.memory_attention import MemoryAttention, MemoryAttentionLayer
    from sam2.modeling.memory_encoder import CXBlock, Fuser, MaskDownSampler, MemoryEncoder
    from sam2.modeling.position_encoding import PositionEmbeddingSine
    from sam2.modeling.sam.transformer import RoPEAttention
    from sam2.sam2_video_predictor import SAM2VideoPredictor

    d, m, e, S = spec['d_model'], spec['mem_dim'], spec['embed_dim'], spec['image_size']
    sine = lambda channels: PositionEmbeddingSine(num_pos_feats=channels, normalize=True,
                                                  scale=None, temperature=10000)
    attention = lambda **more: RoPEAttention(
        rope_theta=10000.0, feat_sizes=[S // 16] * 2, embedding_dim=d, num_heads=1,
        downsample_rate=1, dropout=0.1, **more)
    new = spec['version'] == '2.1'
    return SAM2VideoPredictor(
        image_encoder=ImageEncoder(
            scalp=1,
            trunk=Hiera(embed_dim=e, num_heads=spec['num_heads'], stages=tuple(spec['stages']),
                        global_att_blocks=tuple(spec['global_att_blocks']),
                        window_spec=tuple(spec['window_spec']),
                        window_pos_embed_bkg_spatial_size=tuple(spec['bkg'])),
            neck=FpnNeck(position_encoding=sine(d), d_model=d,
                         backbone_channel_list=[8 * e, 4 * e, 2 * e, e],
                         fpn_top_down_levels=[2, 3], fpn_interp_model='nearest')),
        memory_attention=MemoryAttention(
            d_model=d, pos_enc_at_input=True, num_layers=spec['memory_layers'],
            layer=MemoryAttentionLayer(
                activation='relu', dim_feedforward=2 * d, dropout=0.1, pos_enc_at_attn=False,
                d_model=d, pos_enc_at_cross_attn_keys=True, pos_enc_at_cross_attn_queries=False,
                self_attention=attention(),
                cross_attention=attention(rope_k_repeat=True, kv_in_dim=m))),
        memory_encoder=MemoryEncoder(
            in_dim=d, out_dim=m, position_encoding=sine(m),
            mask_downsampler=MaskDownSampler(embed_dim=d, kernel_size=3, stride=2, padding=1),
            fuser=Fuser(CXBlock(dim=d, kernel_size=7, padding=3), num_layers=2)),
        num_maskmem=7, image_size=S, sigmoid_scale_for_mem_enc=20.0,
        sigmoid_bias_for_mem_enc=-10.0, use_mask_input_as_output_without_sam=True,
        directly_add_no_mem_embed=True, use_high_res_features_in_sam=True,
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


def shrink(model, d):
    """The widths that the published code fixes: 2048 and 256 would be most of a tiny model."""
    from sam2.modeling.sam2_utils import MLP
    from sam2.modeling.sam.transformer import TwoWayTransformer
    decoder = model.sam_mask_decoder
    decoder.transformer = TwoWayTransformer(depth=2, embedding_dim=d, mlp_dim=3 * d, num_heads=8)
    decoder.iou_prediction_head = MLP(d, 40, 4, 3, sigmoid_output=True)


def randomize(model, seed, present):
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
            elif 'embed' in name and 'proj' not in name or 'token' in name or 'tpos_enc' in name:
                p.copy_(0.5 * normal(p))
            else:
                fan_in = p[0].numel() if 'output_upscaling' not in name else p.shape[0]
                p.copy_(normal(p) / fan_in ** 0.5)
        # Presence: decided by the content, never by rounding (the script prints the margin).
        last = model.sam_mask_decoder.pred_obj_score_head.layers[-1]
        last.weight.mul_(8)
        last.bias.fill_(present)


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


# ---- stages: the methods of the model's parts are wrapped, what goes in and out is noted

class Stages:
    def __init__(self, model):
        self.model, self.encoder, self.step = model, {}, {}
        trunk = model.image_encoder.trunk
        self.after(trunk.patch_embed, 'forward', self.encoder, 'patch_embed')
        for i, block in enumerate(trunk.blocks):
            self.after(block, 'forward', self.encoder, f'block{i:02}')
        self.wrap(model.image_encoder, 'forward', self.image)
        self.wrap(trunk, 'forward', self.trunk)
        self.wrap(model, 'forward_image', self.features)
        self.wrap(model.memory_attention, 'forward', self.attention)
        self.wrap(model.sam_prompt_encoder, 'forward', self.prompt)
        self.wrap(model.sam_mask_decoder, 'predict_masks', self.decoder)
        self.wrap(model.memory_encoder, 'forward', self.memory)

    def wrap(self, part, method, note):
        original = getattr(part, method)

        def run(*args, **named):
            out = original(*args, **named)
            note(args, named, out)
            return out
        setattr(part, method, run)

    def after(self, part, method, store, name):
        self.wrap(part, method, lambda args, named, out: store.update({name: out}))

    def image(self, args, named, out):
        self.encoder['image'] = (args or list(named.values()))[0]

    def trunk(self, args, named, out):
        self.encoder.update({f'trunk{i}': t for i, t in enumerate(out)})

    def features(self, args, named, out):
        s0, s1, fpn = out['backbone_fpn']
        self.encoder.update(s0=s0, s1=s1, fpn=fpn)

    def attention(self, args, named, out):
        curr = named['curr'][0] if isinstance(named['curr'], list) else named['curr']
        self.note('memory_attention', curr=curr, memory=named['memory'],
                  memory_pos=named['memory_pos'], out=out,
                  num_ptr_tokens=torch.tensor([named['num_obj_ptr_tokens']]))

    def prompt(self, args, named, out):
        if named.get('masks') is not None:
            self.note('prompt_encoder', mask=named['masks'])

    def decoder(self, args, named, out):
        masks, ious, tokens, score = out
        self.note('decoder', image=named['image_embeddings'],
                  sparse=named['sparse_prompt_embeddings'],
                  dense=named['dense_prompt_embeddings'], masks=masks, ious=ious,
                  tokens=tokens, object_score=score)

    def memory(self, args, named, out):
        self.note('memory_encoder', pix=args[0], mask=args[1], out=out['vision_features'])

    def note(self, part, **tensors):
        self.step.update({f'{part}.{k}': v.clone() for k, v in tensors.items()})

    def take(self, prefix, encoder=False):
        found = {**self.encoder, **self.step} if encoder else dict(self.step)
        found.pop('image', None)  # the frame itself, which lies beside
        self.step.clear()
        return {f'{prefix}/{k}': v.detach().float().contiguous().clone() if v.is_floating_point()
                else v for k, v in found.items()}


def disc(S):
    y, x = np.mgrid[:S, :S]
    return (x - .45 * S) ** 2 + (y - .55 * S) ** 2 < (.2 * S) ** 2


def give(model, state, item, folder):
    """One interaction. Points add to those given on this frame before; a box starts over."""
    if 'mask' in item:
        if item['mask'] == 'disc':
            mask = disc(model.image_size)
        else:
            from PIL import Image
            mask = np.array(Image.open(folder / item['mask']).convert('L')) > 127
        model.add_new_mask(state, item['frame'], item['obj'], torch.from_numpy(mask))
        return
    points = item.get('points')
    model.add_new_points_or_box(
        state, item['frame'], item['obj'], box=item.get('box'), clear_old_points='box' in item,
        points=None if points is None else torch.tensor(points, dtype=torch.float32),
        labels=None if points is None else torch.tensor(item['labels'], dtype=torch.int32))


def run_object(model, frames, items, folder, stages):
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
            if stages and t in STAGE_FRAMES and not any(i['frame'] == t for i in items):
                result.update(stages.take(f'{prefix}/track', encoder=True))
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


def run_scenario(model, frames, items, folder, stages=None):
    result = {}
    with torch.inference_mode():
        for obj in sorted({i['obj'] for i in items}):
            result.update(run_object(model, frames, [i for i in items if i['obj'] == obj], folder,
                                     stages))
    return result


def save_frames(frames, folder):
    """The models share one clip."""
    first = folder.parent / next(iter(MODELS))
    link = folder / 'frames.safetensors'
    if folder == first:
        save_file({'frames': torch.from_numpy(frames)}, link)
    elif not link.exists():
        link.symlink_to(os.path.join('..', first.name, link.name))


def make(name, spec, folder):
    model = build(spec)
    shrink(model, spec['d_model'])
    randomize(model, spec['seed'], spec['present'])
    model.half().float().eval()  # what the file holds is what ran
    S = spec['image_size']
    frames = clip(S, CLIP_SEED)
    script = {'image_size': S, 'T': NUM_FRAMES, 'disc': '(x-.45S)^2+(y-.55S)^2 < (.2S)^2',
              'scenarios': {k: v for k, v in scenarios(S).items()
                            if k in spec.get('scenarios', scenarios(S))}}

    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config(spec))
    weights = {k: v.half() for k, v in model.state_dict().items()}
    save_file(weights, folder / 'model.safetensors', metadata={'samtrack': text})
    save_frames(frames, folder)
    (folder / 'scenarios.json').write_text(json.dumps(script, indent=1) + '\n')

    stages = Stages(model)
    for scenario, items in script['scenarios'].items():
        kept = stages if scenario in ('click', 'refine') else None
        out = run_scenario(model, frames, items, folder, kept)
        save_file(out, folder / f'{scenario}.safetensors')
        scores = np.array([float(v) for k, v in out.items() if k.endswith('/score')])
        areas = np.array([int((v > 0).sum()) for k, v in out.items() if k.endswith('/low_res')])
        print(f'{name}/{scenario}: scores {scores.min():.2f} to {scores.max():.2f}, nearest to '
              f'zero {np.abs(scores).min():.3f}, {(scores <= 0).sum()} of {len(scores)} absent; '
              f'areas {areas.min()} to {areas.max()}')


def compare(folder):
    """Runs an existing golden's scenarios with this script."""
    with safe_open(folder / 'model.safetensors', 'pt') as f:
        told = json.loads(f.metadata()['samtrack'])
    weights = {k: v.float() for k, v in load_file(folder / 'model.safetensors').items()}
    trunk = told['trunk']
    spec = {**{k: trunk[k] for k in TRUNK_TABLE}, 'bkg': trunk['window_pos_embed_bkg_spatial_size'],
            **{k: told[k] for k in ('image_size', 'd_model', 'mem_dim')},
            'version': '2.1' if 'no_obj_embed_spatial' in weights else '2.0',
            'memory_layers': len([k for k in weights if k.startswith('memory_attention.layers.')
                                  and k.endswith('.norm1.weight')])}
    model = build(spec)
    fit(model, weights)
    model.load_state_dict(weights)
    model.eval()
    frames = load_file(folder / 'frames.safetensors')['frames'].numpy()
    for scenario, items in json.loads((folder / 'scenarios.json').read_text())['scenarios'].items():
        theirs = load_file(folder / f'{scenario}.safetensors')
        ours = run_scenario(model, frames, items, folder)
        flipped = {k: int(((v > 0) != (theirs[k] > 0)).sum()) for k, v in ours.items()
                   if k.endswith('low_res')}
        worst = max(flipped, key=flipped.get)
        print(f'{scenario}: most flipped pixels in a frame {flipped[worst]} ({worst})')


def fit(model, weights):
    """Give the parts whose widths are not configurable the widths of these weights."""
    from sam2.modeling.sam2_utils import MLP
    from sam2.modeling.sam.transformer import TwoWayTransformer
    d = weights['no_mem_embed'].shape[-1]
    mlp = weights['sam_mask_decoder.transformer.layers.0.mlp.layers.0.weight'].shape[0]
    iou = weights['sam_mask_decoder.iou_prediction_head.layers.0.weight'].shape[0]
    model.sam_mask_decoder.transformer = TwoWayTransformer(depth=2, embedding_dim=d, mlp_dim=mlp,
                                                           num_heads=8)
    model.sam_mask_decoder.iou_prediction_head = MLP(d, iou, 4, 3, sigmoid_output=True)
    for i, layer in enumerate(model.memory_attention.layers):
        hidden = weights[f'memory_attention.layers.{i}.linear1.weight'].shape[0]
        layer.linear1 = torch.nn.Linear(d, hidden)
        layer.linear2 = torch.nn.Linear(hidden, d)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('output', nargs='?', type=pathlib.Path)
    parser.add_argument('--only')
    parser.add_argument('--compare', type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get('THREADS', '2')))
    if args.compare:
        return compare(args.compare)
    if not args.output:
        parser.error('wanted a folder to write to')
    for name, spec in MODELS.items():
        if args.only in (None, name):
            make(name, spec, args.output / name)


if __name__ == '__main__':
    main()
