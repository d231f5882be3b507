# SPDX-License-Identifier: MIT
"""SAM 3's tracker with the modules of Hugging Face transformers (Apache-2.0), for make_golden.py.

Trunk, neck, prompt encoder, mask decoder, memory attention and memory encoder are transformers'. What is attended to and
remembered is written here, after the behaviour of the publisher's tracker, from which transformers' own session deviates:
memory masks are resized behind the sigmoid; a mask prompt is resized to 16 times the grid, has its pointer from the single
mask and is remembered by itself, not made binary; pointers only of conditioning frames whose maps are attended to; frames are
chosen by presence times predicted IoU; the trunk's epsilon is 1e-5. No code of the publisher is included or needed."""
import math
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

PATCH = 14
CONDS, MAPS, POINTERS = 4, 6, 16  # most conditioning frames and maps of others; pointers, with the current frame's
KEPT = 0.01
# The published sizes; image_size is 1008, or a multiple of a window's side, 336.
TRUE = dict(version='sam3', embed_dim=1024, num_heads=16, depth=32, hidden=4736, window=24, global_att_blocks=[7, 15, 23, 31],
            position=24, d_model=256, mem_dim=64, memory_layers=4, mlp_hidden=2048, iou_hidden=256, memory_hidden=2048)


def config(spec):
    from transformers import Sam3TrackerVideoConfig
    S, d, grid = spec['image_size'], spec['d_model'], spec['image_size'] // PATCH
    backbone = dict(model_type='sam3_vit_model', hidden_size=spec['embed_dim'], intermediate_size=spec['hidden'],
                    num_hidden_layers=spec['depth'], num_attention_heads=spec['num_heads'], image_size=S, patch_size=PATCH,
                    window_size=spec['window'], global_attn_indexes=spec['global_att_blocks'],
                    pretrain_image_size=PATCH * spec['position'], layer_norm_eps=1e-5)
    return Sam3TrackerVideoConfig(
        vision_config=dict(model_type='sam3_vision_model', fpn_hidden_size=d, backbone_config=backbone,
                           backbone_feature_sizes=[[4 * grid] * 2, [2 * grid] * 2, [grid] * 2]),
        prompt_encoder_config=dict(hidden_size=d, image_size=S),
        mask_decoder_config=dict(hidden_size=d, mlp_dim=spec.get('mlp_hidden', 3 * d),
                                 iou_head_hidden_dim=spec.get('iou_hidden', 40)),
        memory_attention_hidden_size=d, memory_attention_num_layers=spec['memory_layers'],
        memory_attention_feed_forward_hidden_size=spec.get('memory_hidden', 2 * d), memory_attention_rope_feat_sizes=[grid] * 2,
        memory_encoder_hidden_size=d, memory_encoder_output_channels=spec['mem_dim'], mask_downsampler_embed_dim=d,
        memory_fuser_embed_dim=d, memory_fuser_intermediate_dim=4 * d, image_size=S)


def build(spec):
    """The class takes the width of a memory as 64 here, and a mask's last map as 256 wide, whatever the sizes say."""
    from transformers import Sam3TrackerVideoModel
    model = Sam3TrackerVideoModel(config(spec))
    for layer in model.memory_attention.layers:
        for name in ('k_proj', 'v_proj'):
            wide = getattr(layer.cross_attn_image, name)
            setattr(layer.cross_attn_image, name, torch.nn.Linear(spec['mem_dim'], wide.out_features))
    return model.eval()


def randomize(model, seed, present):
    """Random weights under which every tensor matters, as make_golden.randomize() has them."""
    noise = torch.Generator().manual_seed(seed)
    normal = lambda p: torch.randn(p.shape, generator=noise)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith('scale'):
                p.copy_(0.4 * normal(p))
            elif p.dim() == 1 and name.endswith('weight'):
                p.copy_(1 + 0.2 * normal(p))
            elif p.dim() == 1:
                p.copy_(0.1 * normal(p))
            elif p.dim() == 2 and '_proj' not in name and ('embed' in name or 'token' in name) or name.startswith(
                    ('no_', 'memory_temporal', 'occlusion')) or name.endswith('position_embeddings'):
                p.copy_(0.5 * normal(p))
            else:
                fan_in = p.shape[0] if 'upscale_conv' in name or 'scale_layers' in name else p[0].numel()
                p.copy_(normal(p) / fan_in ** 0.5)
        for name, p in model.named_parameters():
            if '.attention.q_proj.weight' in name or '.attention.k_proj.weight' in name:
                p.mul_(2)
        for layer in model.memory_attention.layers:  # let masks depend on the past
            layer.cross_attn_image.o_proj.weight.mul_(2)
        fourier = model.prompt_encoder.shared_embedding.positional_embedding
        fourier.copy_(normal(fourier))
        model.shared_image_embedding.positional_embedding.copy_(fourier)
        score = model.mask_decoder.pred_obj_score_head.proj_out
        score.weight.mul_(8)
        score.bias.fill_(present)


def round_to_half(model):
    """What a file in fp16 holds; tables that no file holds stay as they are."""
    with torch.no_grad():
        for p in model.state_dict().values():
            p.copy_(p.half().float())


def normalize(frames):
    """Frames u8 (T, S, S, 3) as the trunk takes them, (T, 3, S, S)."""
    return (torch.from_numpy(frames).permute(0, 3, 1, 2).float() - 127.5) / 127.5


def resize(x, side):
    return F.interpolate(x, size=(side, side), mode='bilinear', align_corners=False, antialias=True)


class Tracker:
    """One object, forward in time."""

    def __init__(self, model, spec):
        self.m, self.spec, self.S, self.grid = model, spec, spec['image_size'], spec['image_size'] // PATCH
        self.selects = spec.get('memory_selection', 'scored') == 'scored'
        self.window = spec['window']
        self.stage = {}
        self.caught = {}
        backbone = model.vision_encoder.backbone
        backbone.embeddings.patch_embeddings.register_forward_hook(lambda m, args, out: self.caught.update(patch_embed=out))
        for i, layer in enumerate(backbone.layers):
            layer.register_forward_hook(lambda m, args, out, i=i: self.caught.update({f'block{i:02}': out}))

    def note(self, part, **tensors):
        self.stage.update({f'{part}.{k}': v.detach().clone() for k, v in tensors.items()})

    def by_windows(self, x):
        """(1, h, h, c) as windows, one after another."""
        n, w = self.grid // self.window, self.window
        return x.reshape(n, w, n, w, -1).transpose(1, 2).reshape(1, n * n, w * w, -1)

    def encode(self, image):
        self.caught.clear()
        out = self.m.get_image_features(image[None])
        maps = [f.permute(1, 2, 0).reshape(1, -1, s, s) for f, s in zip(out.fpn_hidden_states, (4 * self.grid, 2 * self.grid, self.grid))]
        self.s0, self.s1, self.f = maps
        self.position = out.fpn_position_encoding[-1]
        g = self.grid
        inside = {k: v.reshape(1, g, g, -1) for k, v in self.caught.items()}
        last = f'block{len(self.m.vision_encoder.backbone.layers) - 1:02}'
        self.trunk = {'patch_embed': inside.pop('patch_embed'), 'trunk0': inside[last].permute(0, 3, 1, 2)}
        self.trunk.update({k: self.by_windows(v) for k, v in inside.items()})
        self.levels = {'s0': self.s0, 's1': self.s1, 'fpn': self.f}

    # ---- what is attended to

    def kept(self, t):
        """The frames that count, oldest first; the one before t is always among them."""
        frames = []
        for i in range(t - 1, 0, -1):
            if i in self.others and self.others[i]['value'] > KEPT:
                frames.insert(0, i)
            if len(frames) == POINTERS - 1:
                break
        if t > 0 and t - 1 not in frames:
            frames.append(t - 1)
        return frames

    def past(self, t):
        """Maps with the row of the temporal code of each, and pointers with their distances."""
        conds = sorted(sorted((k for k in self.conds if k < t), key=lambda k: t - k)[:CONDS])
        maps = [(self.conds[k]['memory'], 6) for k in conds]
        pointers = [(self.conds[k]['pointer'], t - k) for k in conds]
        kept = self.kept(t) if self.selects else None
        at = lambda d: (self.others.get(kept[-d]) if d <= len(kept) else None) if self.selects else self.others.get(t - d)
        maps += [(at(d)['memory'], d - 1) for d in range(MAPS, 0, -1) if at(d)]
        last = min(POINTERS - 1, len(kept) - 1) if self.selects else POINTERS - 1
        pointers += [(at(d)['pointer'], d) for d in range(1, last + 1) if at(d)]
        return maps, pointers

    def attend(self, t):
        m = self.m
        maps, pointers = self.past(t)
        d, width = self.f.shape[1], m.mem_dim
        grid = torch.zeros(1, width, self.grid, self.grid)
        place = m.memory_encoder.position_encoding(grid.shape, grid.device, grid.dtype).flatten(2).permute(2, 0, 1)
        memory = [x.float().flatten(2).permute(2, 0, 1) for x, _ in maps]
        position = [place + m.memory_temporal_positional_encoding[row] for _, row in maps]
        half = d // 2
        rate = 10000.0 ** (2 * (torch.arange(half) // 2).float() / half)
        angle = torch.tensor([[k] for _, k in pointers]).float() / (POINTERS - 1) / rate
        code = m.temporal_positional_encoding_projection_layer(torch.cat([angle.sin(), angle.cos()], 1))
        parts = d // width
        memory.append(torch.stack([p for p, _ in pointers]).reshape(-1, 1, width))
        position.append(code.repeat_interleave(parts, 0)[:, None])
        memory, position = torch.cat(memory), torch.cat(position)
        curr = self.f.flatten(2).permute(2, 0, 1)
        out = m.memory_attention(current_vision_features=curr, memory=memory,
                                 current_vision_position_embeddings=self.position.reshape(curr.shape),
                                 memory_posision_embeddings=position, num_object_pointer_tokens=parts * len(pointers))
        out = out.reshape(-1, 1, d)
        self.note('memory_attention', curr=curr, memory=memory, memory_pos=position, out=out,
                  num_ptr_tokens=torch.tensor([parts * len(pointers)]))
        return out.permute(1, 2, 0).reshape(self.f.shape)

    # ---- the decoder

    def candidates(self, image, sparse, dense):
        """All four masks, their IoUs, the mask tokens and the object score."""
        m = self.m.mask_decoder
        run = lambda many: m(image_embeddings=image, sparse_prompt_embeddings=sparse, dense_prompt_embeddings=dense,
                             image_positional_embeddings=self.m.get_image_wide_positional_embeddings(),
                             multimask_output=many, high_resolution_features=[self.s0, self.s1])
        dynamic, m.dynamic_multimask_via_stability = m.dynamic_multimask_via_stability, False
        one, three = run(False), run(True)
        m.dynamic_multimask_via_stability = dynamic
        masks, ious, tokens = (torch.cat([a, b], dim=2) for a, b in zip(one[:3], three[:3]))
        return masks, ious, tokens, one[3]

    def decode(self, image, points, labels, logits, multimask):
        m = self.m
        if not points:
            points, labels = [[0.0, 0.0]], [-1]
        sparse, dense = m.prompt_encoder(
            input_points=torch.tensor(points, dtype=torch.float32)[None, None],
            input_labels=torch.tensor(labels, dtype=torch.int32)[None, None], input_boxes=None, input_masks=logits)
        if logits is not None:
            self.note('prompt_encoder', mask=logits)
        masks, ious, tokens, score = self.candidates(image, sparse, dense)
        self.note('decoder', image=image, sparse=sparse[0], dense=dense, masks=masks[0], ious=ious[0], tokens=tokens[0],
                  object_score=score[0])
        if multimask:
            best = 1 + int(ious[0, 0, 1:].argmax())
            low, iou, token = masks[:, :, best], ious[0, 0, best], tokens[:, :, best]
        else:
            low, iou = m.mask_decoder._dynamic_multimask_via_stability(masks, ious)
            low, iou, token = low[:, :, 0], iou[0, 0, 0], tokens[:, :, 0]
        there = bool(score > 0)
        pointer = m.object_pointer_proj(token)[0, 0] if there else m.no_object_pointer[0]
        low = low if there else torch.full_like(low, -1024.0)
        presence = 2 * torch.sigmoid(score) - 1 if there else torch.tensor(0.0)
        return dict(low=low, pointer=pointer, score=score.reshape(1), iou=iou, value=float(presence * iou))

    # ---- memory

    def remember(self, out, mask, hard):
        m = self.m
        mask = ((mask > 0).float() if hard else torch.sigmoid(mask)) * 20 - 10
        mask = mask if mask.shape[-1] == 16 * self.grid else resize(mask, 16 * self.grid)
        memory = m.memory_encoder(self.f, mask)[0]
        self.note('memory_encoder', pix=self.f, mask=mask, out=memory)
        if not out['score'] > 0:
            memory = memory + m.occlusion_spatial_embedding_parameter[..., None, None]
        out['memory'] = memory.bfloat16()

    def upscaled(self, low):
        return F.interpolate(low, size=(self.S, self.S), mode='bilinear', align_corners=False)

    # ---- a frame

    def track(self, t):
        image = self.attend(t)
        self.others[t] = out = self.decode(image, None, None, None, True)
        self.remember(out, self.upscaled(out['low']), False)

    def prompt(self, t, items, folder):
        """Interactions one after another: points add up, a box or a mask starts over."""
        started = t not in self.others
        out = self.others.pop(t, None)
        points, labels = [], []
        for i, item in enumerate(items):
            self.stage.clear()
            if 'mask' in item:
                out, points, labels = self.use_mask(item['mask'], folder), [], []
                continue
            if 'box' in item:
                points, labels = np.reshape(item['box'], (2, 2)).tolist(), [2, 3]
            points, labels = points + item.get('points', []), labels + item.get('labels', [])
            image = self.f + self.m.no_memory_embedding.reshape(1, -1, 1, 1) if started else self.attend(t)
            before = None if started and i == 0 else out['low'].clamp(-32, 32)
            out = self.decode(image, points, labels, before, len(points) == 1)
        given = out.pop('given', None)
        self.remember(out, self.upscaled(out['low']) if given is None else given, given is None)
        self.conds[t] = out

    def use_mask(self, name, folder):
        y, x = np.mgrid[:self.S, :self.S]
        disc = (x - .45 * self.S) ** 2 + (y - .55 * self.S) ** 2 < (.2 * self.S) ** 2
        assert name == 'disc', name
        mask = (resize(torch.from_numpy(disc)[None, None].float(), 16 * self.grid) >= 0.5).float()
        out = self.decode(self.f, None, None, self.m.mask_downsample(mask), False)
        there = bool(mask.any())
        logits = mask * 20 - 10
        # The published code has its own size of the mask that is shown, 4 (16 h // 14): here it is the logits' size.
        return dict(out, low=resize(logits, 4 * self.grid)[:, 0][:, None], given=logits, iou=torch.tensor(1.0),
                    score=torch.tensor([10.0 if there else -10.0]),
                    pointer=out['pointer'] if there else self.m.no_object_pointer[0])

    def run(self, frames, items, folder, stages, stage_frames, trunk_frame):
        obj, first = items[0]['obj'], items[0]['frame']
        images = normalize(frames)
        self.began = []  # of each frame: by the clock and on a processor, in s
        self.conds, self.others, result = {}, {}, {}
        for t in range(first, len(frames)):
            prefix = f'obj{obj}/frame{t:03}'
            given = [i for i in items if i['frame'] == t]
            self.began.append((time.perf_counter(), time.process_time()))
            self.encode(images[t])
            self.stage.clear()
            if t > first:
                self.track(t)
                if stages and t in stage_frames and not given:
                    more = {**self.levels, **(self.trunk if t == trunk_frame else {})}
                    result.update({f'{prefix}/track/{k}': v for k, v in {**self.stage, **more}.items()})
            if given:
                self.prompt(t, given, folder)
                if stages:
                    result.update({f'{prefix}/prompt/{k}': v for k, v in self.stage.items()})
            out = self.conds.get(t) or self.others[t]
            result[f'{prefix}/low_res'] = out['low'].reshape(4 * self.grid, 4 * self.grid)
            result[f'{prefix}/pointer'] = out['pointer']
            result[f'{prefix}/score'] = out['score']
            result[f'{prefix}/memory'] = out['memory'][0]
        return {k: v.detach().contiguous().clone() for k, v in result.items()}


def run_scenario(model, frames, items, folder, stages=None, stage_frames=(), trunk_frame=-1):
    result = {}
    with torch.inference_mode():
        for obj in sorted({i['obj'] for i in items}):
            result.update(model.run(frames, [i for i in items if i['obj'] == obj], folder, stages, stage_frames or (), trunk_frame))
    return result


def spec_of(told, weights, side):
    """What a golden's files tell of its sizes."""
    trunk = told['trunk']
    return {**trunk, 'version': 'sam3', 'image_size': side, 'd_model': told['d_model'], 'mem_dim': told['mem_dim'],
            'memory_selection': told.get('memory_selection', 'scored'),
            'hidden': weights['vision_encoder.backbone.layers.0.mlp.fc1.weight'].shape[0],
            'position': math.isqrt(weights['vision_encoder.backbone.embeddings.position_embeddings'].shape[1]),
            'memory_layers': len({k.split('.')[2] for k in weights if k.startswith('memory_attention.layers.')})}


def official(weights):
    """A state dict under the names of the publisher's file, with what only that one has: a row of a class in the position map,
    q, k and v of the trunk in one tensor."""
    import re
    decoder = {'proj_in': '0', 'layers.0': '1', 'proj_out': '2'}
    rules = [(r'^vision_encoder\.backbone\.embeddings\.position_embeddings', 'T.pos_embed'),
             (r'^vision_encoder\.backbone\.embeddings\.patch_embeddings\.projection', 'T.patch_embed.proj'),
             (r'^vision_encoder\.backbone\.layer_norm', 'T.ln_pre'),
             (r'^vision_encoder\.backbone\.layers', 'T.blocks'),
             (r'^vision_encoder\.neck\.fpn_layers', 'detector.backbone.vision_backbone.sam2_convs'),
             (r'^T\.', 'detector.backbone.vision_backbone.trunk.'),
             (r'attention\.(q|k|v)_proj', r'attn.\1'), (r'attention\.o_proj', 'attn.proj'),
             (r'(trunk\.blocks\.\d+)\.layer_norm', r'\1.norm'),
             (r'convs\.0\.scale_layers\.0', 'convs.0.dconv_2x2_0'), (r'convs\.0\.scale_layers\.2', 'convs.0.dconv_2x2_1'),
             (r'convs\.1\.scale_layers\.0', 'convs.1.dconv_2x2'), (r'\.proj1', '.conv_1x1'), (r'\.proj2', '.conv_3x3')]
    meta = [(r'^mask_decoder', 'sam_mask_decoder'), (r'^prompt_encoder', 'sam_prompt_encoder'), (r'\.o_proj', '.out_proj'),
            (r'\.layer_norm', '.norm'), (r'\.mlp\.proj_in', '.mlp.lin1'), (r'\.mlp\.proj_out', '.mlp.lin2'),
            (r'(_mlps\.\d|_head|object_pointer_proj)\.(proj_in|layers\.0|proj_out)', lambda m: f'{m[1]}.layers.{decoder[m[2]]}'),
            (r'upscale_conv1', 'output_upscaling.0'), (r'upscale_layer_norm', 'output_upscaling.1'),
            (r'upscale_conv2', 'output_upscaling.3'), (r'mask_embed\.conv1', 'mask_downscaling.0'),
            (r'mask_embed\.norm1', 'mask_downscaling.1'), (r'mask_embed\.conv2', 'mask_downscaling.3'),
            (r'mask_embed\.norm2', 'mask_downscaling.4'), (r'mask_embed\.conv3', 'mask_downscaling.6'),
            (r'mask_downsampler\.layers\.(\d)\.conv', lambda m: f'mask_downsampler.encoder.{3 * int(m[1])}'),
            (r'mask_downsampler\.layers\.(\d)\.norm', lambda m: f'mask_downsampler.encoder.{3 * int(m[1]) + 1}'),
            (r'mask_downsampler\.final_conv', 'mask_downsampler.encoder.12'),
            (r'shared_embedding\.positional_embedding', 'pe_layer.positional_encoding_gaussian_matrix'),
            (r'memory_encoder\.projection', 'memory_encoder.out_proj'), (r'feature_projection', 'pix_feat_proj'),
            (r'memory_fuser', 'fuser'), (r'depthwise_conv', 'dwconv'), (r'pointwise_conv', 'pwconv'), (r'\.scale$', '.gamma'),
            (r'temporal_positional_encoding_projection_layer', 'obj_ptr_tpos_proj'),
            (r'occlusion_spatial_embedding_parameter', 'no_obj_embed_spatial'),
            (r'memory_temporal_positional_encoding', 'maskmem_tpos_enc'), (r'no_memory_embedding', 'no_mem_embed'),
            (r'no_memory_positional_encoding', 'no_mem_pos_enc'), (r'no_object_pointer', 'no_obj_ptr'),
            (r'object_pointer_proj', 'obj_ptr_proj'), (r'^memory_attention', 'transformer.encoder'),
            (r'^memory_encoder', 'maskmem_backbone')]
    out = {}
    for name, tensor in weights.items():
        if name.startswith('shared_image_embedding'):
            continue
        if name == 'prompt_encoder.point_embed.weight':
            out.update({f'tracker.sam_prompt_encoder.point_embeddings.{i}.weight': tensor[i:i + 1].clone() for i in range(4)})
            continue
        of_trunk = name.startswith('vision_encoder')
        for pattern, new in rules if of_trunk else meta:
            name = re.sub(pattern, new, name)
        out[name if of_trunk else 'tracker.' + name] = tensor
    first = 'detector.backbone.vision_backbone.trunk.'
    out[first + 'pos_embed'] = torch.cat([torch.full_like(out[first + 'pos_embed'][:, :1], 9.0), out[first + 'pos_embed']], 1)
    for name in [n for n in out if '.attn.q.' in n]:
        parts = [out.pop(name.replace('.attn.q.', f'.attn.{p}.')) for p in 'qkv']
        out[name.replace('.attn.q.', '.attn.qkv.')] = torch.cat(parts)
        # A table that the publisher's file holds, and nobody reads.
        out[name.rsplit('.q.', 1)[0] + '.freqs_cis'] = torch.ones(4, 2, dtype=torch.complex64)
    return out


def whole(weights):
    """A state dict under the names of transformers' file that has a detector, too, with a neck of its own."""
    out = {}
    for name, tensor in weights.items():
        if name.startswith('vision_encoder.neck.'):
            out[name.replace('vision_encoder.neck.', 'tracker_neck.')] = tensor
            out['detector_model.' + name] = torch.zeros_like(tensor)
        elif name.startswith('vision_encoder.'):
            out['detector_model.' + name] = tensor
        else:
            out['tracker_model.' + name] = tensor
    # By this tensor the detector is known: a file with both is a tracker's, too.
    out['detector_model.detr_decoder.presence_token.weight'] = torch.zeros(1, 4, dtype=torch.float16)
    return out


def save(model, told, folder):
    """The weights in fp16 under transformers' names of the tracker alone, with what shapes cannot tell; under those of the file
    with a detector, in a folder beside it; and under the publisher's, as a .pt."""
    import json
    from safetensors.torch import save_file
    folder = pathlib.Path(folder)
    state = {k: v.half() for k, v in model.state_dict().items() if v.is_floating_point()}
    save_file(state, folder / 'model.safetensors', metadata={'samtrack': json.dumps(told)})
    torch.save(official(state), folder / 'model.pt')
    (folder / 'model.json').write_text(json.dumps(told) + '\n')
    other = folder.parent / f'{folder.name}-hf'
    other.mkdir(exist_ok=True)
    save_file(whole(state), other / 'model.safetensors', metadata={'format': 'pt'})
    tracker = model.config.to_dict()
    (other / 'config.json').write_text(json.dumps({'model_type': 'sam3_video', 'tracker_config': tracker}, indent=1) + '\n')
