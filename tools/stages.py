# SPDX-License-Identifier: MIT
"""Records the stages of the published code: wraps the methods of a model's parts and stores their
inputs and outputs under the names of docs/MODEL.md."""

import torch


class Stages:
    def __init__(self, model):
        self.trunk, self.levels, self.step = {}, {}, {}
        trunk = model.image_encoder.trunk
        if hasattr(trunk, 'body') and hasattr(trunk.body, 'conv_stem'):
            self.efficientnet(trunk.body)
        elif hasattr(trunk, 'body'):
            self.repvit(trunk.body)
        else:
            self.hiera(trunk)
        wrap(trunk, 'forward', lambda args, named, out: self.trunk.update(
            {f'trunk{i}': t for i, t in enumerate(out)}))
        wrap(model, 'forward_image', self.features)
        wrap(model.memory_attention, 'forward', self.attention)
        wrap(model.sam_prompt_encoder, 'forward', self.prompt)
        wrap(model.sam_mask_decoder, 'predict_masks', self.decoder)
        wrap(model.memory_encoder, 'forward', self.memory)
        if getattr(model, 'spatial_perceiver', None) is not None:
            self.perceiver(model.spatial_perceiver)
            for i, layer in enumerate(model.memory_attention.layers):
                wrap(layer, 'forward', lambda args, named, out, i=i: self.note(
                    'memory_attention', **{f'layer{i}': out.transpose(0, 1)}))

    def after(self, part, name):
        wrap(part, 'forward', lambda args, named, out: self.trunk.update({name: out}))

    def hiera(self, trunk):
        self.after(trunk.patch_embed, 'patch_embed')
        for i, block in enumerate(trunk.blocks):
            self.after(block, f'block{i:02}')

    def repvit(self, body):
        """`mixed`: a block up to its channel mixer, squeeze-excite included."""
        self.after(body.stem, 'stem')
        for s in range(4):
            stage = body[f'stages_{s}']
            if s:
                self.after(stage.downsample, f'stage{s}.downsample')
            for i, block in enumerate(stage.blocks):
                self.after(block.se, f'stage{s}.block{i:02}.mixed')
                self.after(block, f'stage{s}.block{i:02}')

    def efficientnet(self, body):
        self.after(body.bn1, 'stem')
        for s, stage in enumerate(body.blocks):
            for i, block in enumerate(stage):
                self.after(block, f'stage{s}.block{i:02}')

    def perceiver(self, part):
        """Its two branches share their layers; that of the windows holds one latent per window."""
        for i, layer in enumerate(part.layers):
            def note(args, named, out, i=i):
                windows = len(args) == 2
                self.note('spatial_perceiver', **{f'layer{i}_{"2d" if windows else "1d"}':
                                                  out.transpose(0, 1) if windows else out})
            wrap(layer, 'forward', note)
        wrap(part, 'forward', lambda args, named, out: self.note(
            'spatial_perceiver', pos=args[1], out=out[0], out_pos=out[1]))

    def features(self, args, named, out):
        *fine, fpn = out['backbone_fpn']  # a family may have no finer maps
        self.levels.update(zip(('s0', 's1'), fine), fpn=fpn)

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

    def take(self, prefix, levels=False, trunk=False):
        """What happened since the last call; on demand the frame's levels and the trunk's inside."""
        found = {**self.step, **(self.levels if levels else {}), **(self.trunk if trunk else {})}
        self.step.clear()
        return {f'{prefix}/{k}': v.detach().float().contiguous().clone() if v.is_floating_point()
                else v for k, v in found.items()}


def wrap(part, method, note):
    original = getattr(part, method)

    def run(*args, **named):
        out = original(*args, **named)
        note(args, named, out)
        return out
    setattr(part, method, run)
