# SPDX-License-Identifier: MIT
"""Mask2Former as transformers publishes it, with random lively weights: what compare_detectors.py compares with."""
import torch
import torch.nn.functional as F
import transformers.models.mask2former.modeling_mask2former as published
from safetensors.torch import save_file
from transformers import Mask2FormerConfig, Mask2FormerForUniversalSegmentation, Mask2FormerImageProcessor

STAGES = ['stage1', 'stage2', 'stage3', 'stage4']


def swin(width, depths, window):
    return {'model_type': 'swin', 'embed_dim': width, 'depths': depths, 'num_heads': [width // 32 << i for i in range(4)],
            'window_size': window, 'image_size': 224, 'out_features': STAGES}


def resnet(depths):
    return {'model_type': 'resnet', 'embedding_size': 64, 'hidden_sizes': [256, 512, 1024, 2048], 'depths': depths,
            'layer_type': 'bottleneck', 'out_features': STAGES}


# trunk, queries
SIZES = {'tiny': (swin(96, [2, 2, 6, 2], 7), 100), 'small': (swin(96, [2, 2, 18, 2], 7), 100),
         'base': (swin(128, [2, 2, 18, 2], 12), 100), 'large': (swin(192, [2, 2, 18, 2], 12), 200),
         'r50': (resnet([3, 4, 6, 3]), 100)}
MEAN = torch.tensor([0.485, 0.456, 0.406])
STD = torch.tensor([0.229, 0.224, 0.225])


def fill(name, p, rng):
    """Weights with which every part of the network matters."""
    n = torch.randn(p.shape, generator=rng)
    if 'transformer_module' in name and 'norm' in name and name.endswith('bias'):
        return 0.05 * n
    if ('norm' in name or 'input_projections' in name or 'adapter' in name or 'layer_1.1' in name) and p.dim() == 1:
        return 1 + 0.2 * n if name.endswith('weight') else 0.2 * n
    if 'relative_position_bias_table' in name:
        return 0.5 * n
    if 'sampling_offsets' in name and p.dim() == 1:
        return 2 * n
    if 'queries' in name or 'level_embed' in name:
        return n * (2 if 'features' in name else 1)
    if p.dim() == 1:
        return (0.05 if 'transformer_module' in name or 'class' in name else 0.2) * n
    gains = {'class_predictor': 3, 'mask_embedder': 2, 'in_proj': 1.2, 'transformer_module.decoder': 0.2}
    gain = next((g for part, g in gains.items() if part in name), 0.7)
    return n * (gain / p[0].numel() ** 0.5)


def keep_masks_small(model, amount, rng):
    """Adds -amount^2 to all logits of masks: the product of two biases that point away from each other."""
    away = model.model.pixel_level_module.decoder.mask_projection.bias
    back = model.get_parameter('model.transformer_module.decoder.mask_predictor.mask_embedder.2.0.bias')
    towards = F.normalize(torch.randn(away.shape, generator=rng), dim=0)
    away.data += amount * towards
    back.data -= amount * towards


def build(trunk, queries, seed, **others):
    # The loss, which only training needs, wants scipy.
    published.requires_backends = lambda *a: None
    sizes = {'num_labels': 80, 'num_queries': queries, **others}
    model = Mask2FormerForUniversalSegmentation(Mask2FormerConfig(backbone_config=trunk, **sizes)).eval()
    rng = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        p.data.copy_(fill(name, p, rng))
    keep_masks_small(model, 1 if trunk['model_type'] == 'resnet' else 2, rng)
    for m in model.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.momentum = 1.0
    return model


def measure(model, image):
    """BatchNorm's statistics become those of the image, so that activations are of order one."""
    model.model.pixel_level_module.encoder.train()
    with torch.no_grad():
        model(pixel_values=image)
    model.eval()


def prepare(frame, side, dtype=torch.float32):
    """u8 (h, w, 3) to the network's input."""
    return prepare_shape(frame, side, side, dtype)


def prepare_shape(frame, height, width, dtype=torch.float32):
    x = frame.permute(2, 0, 1)[None].double()
    x = F.interpolate(x, (height, width), mode='bilinear', antialias=True)
    return ((x / 255 - MEAN.double()[:, None, None]) / STD.double()[:, None, None]).to(dtype)


def rows(t):
    """A map, or tokens with the batch in any of the first two places, as rows of channels."""
    return (t.flatten(2).transpose(1, 2) if t.dim() == 4 else t).reshape(-1, t.shape[1] if t.dim() == 4 else t.shape[-1])


def run(model, image):
    """The stages as the engine names them, each as rows of channels."""
    stages, hooks = {}, []

    def keep(name, module):
        def hook(module, inputs, output):
            stages[name] = rows(output[0] if isinstance(output, tuple) else output).detach()
        hooks.append(module.register_forward_hook(hook))

    pixels = model.model.pixel_level_module
    trunk = pixels.encoder
    if hasattr(trunk, 'swin'):
        blocks = [b for layer in trunk.swin.encoder.layers for b in layer.blocks]
        keep('embed', trunk.swin.embeddings)
    elif hasattr(trunk, 'embedder'):
        blocks = [b for stage in trunk.encoder.stages for b in stage.layers]
        keep('embed', trunk.embedder)
    else:
        blocks = [b for layer in trunk.encoder.layers for b in layer.blocks]
        keep('embed', trunk.embeddings)
    for i, block in enumerate(blocks):
        keep(f'block{i}', block)
    for i, layer in enumerate(pixels.decoder.encoder.layers):
        keep(f'encoded{i}', layer)
    for i, layer in enumerate(model.model.transformer_module.decoder.layers):
        keep(f'layer{i}', layer)
    with torch.no_grad():
        out = model(pixel_values=image, output_hidden_states=True)
    for hook in hooks:
        hook.remove()
    for i, t in enumerate(out.encoder_hidden_states):
        stages[f'stage{i + 1}'] = rows(t)
    stages['features'] = rows(out.pixel_decoder_last_hidden_state)
    stages['logits'] = out.class_queries_logits[0]
    stages['masks'] = out.masks_queries_logits[0].flatten(1)
    return stages


class Outputs:
    def __init__(self, logits, masks):
        side = int(masks.shape[-1] ** 0.5)
        self.class_queries_logits, self.masks_queries_logits = logits[None], masks.reshape(1, -1, side, side)


def choose(stages, width, height):
    """Scores, labels, queries, boxes in px of the frame and masks: the published post-processing, with its own function
    for each pair alone, so that it is known which query a result is of; by score."""
    logits, masks = stages['logits'], stages['masks']
    classes = logits.shape[1] - 1
    chance = logits.softmax(-1)[:, :-1].flatten()
    pairs = chance.topk(len(logits)).indices
    large = F.interpolate(Outputs(logits, masks).masks_queries_logits, (384, 384), mode='bilinear')[0]
    found = []
    for pair in pairs.tolist():
        query, label = pair // classes, pair % classes
        inside = large[query] > 0
        if not inside.any():
            continue
        score = chance[pair] * (large[query].sigmoid() * inside).sum() / (inside.sum() + 1e-6)
        y, x = inside.nonzero(as_tuple=True)
        box = torch.stack((x.min() * width, y.min() * height, (x.max() + 1) * width, (y.max() + 1) * height)) / 384
        found.append((score.item(), label, query, box, inside))
    found.sort(key=lambda f: (-f[0], f[2], f[1]))
    score, label, query, box, inside = zip(*found)
    check_published(logits, masks, found)
    return torch.tensor(score), torch.tensor(label), torch.tensor(query), torch.stack(box), torch.stack(inside)


def check_published(logits, masks, found):
    """What is found above is what the published function finds."""
    theirs = Mask2FormerImageProcessor().post_process_instance_segmentation(
        Outputs(logits, masks), threshold=0.0, return_binary_maps=True)[0]
    mine = sorted((f[1], int(f[4].sum()), f[0]) for f in found)
    other = sorted((s['label_id'], int(m.sum()), s['score']) for s, m in zip(theirs['segments_info'], theirs['segmentation']))
    assert len(mine) == len(other), (len(mine), len(other))
    for a, b in zip(mine, other):
        assert a[:2] == b[:2] and abs(a[2] - b[2]) < 1e-5, (a, b)


def write_mini(folder, picture, trunk):
    """A model of the smallest widths, in fp16, with 7 classes, and what it finds in two frames, at two sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    small = {'swin': {'model_type': 'swin', 'embed_dim': 8, 'depths': [2, 1, 2, 1], 'num_heads': [1, 2, 2, 4],
                      'window_size': 5, 'image_size': 64, 'mlp_ratio': 2, 'out_features': STAGES},
             'resnet': {'model_type': 'resnet', 'embedding_size': 8, 'hidden_sizes': [16, 24, 32, 40],
                        'depths': [2, 1, 1, 1], 'layer_type': 'bottleneck', 'out_features': STAGES}}[trunk]
    model = build(small, 20, 3, num_labels=7, feature_size=32, mask_feature_size=24, hidden_dim=32, encoder_layers=2,
                  decoder_layers=5, encoder_feedforward_dim=40, dim_feedforward=48, num_attention_heads=4)
    frame = picture(160, torch.Generator().manual_seed(3))
    frames = torch.stack((frame, frame.flip(1)))[:, :120].contiguous()  # 120 x 160
    measure(model, prepare(frames[0], 128))
    model.half().save_pretrained(folder)
    model.float()
    save_file({'frames': frames}, folder / 'frames.safetensors')
    want = {}
    for side in (128, 192):
        for t, f in enumerate(frames):
            out = run(model, prepare(f, side))
            found = dict(zip(('score', 'label', 'query', 'box', 'mask'), choose(out, 160, 120)))
            found['mask'] = found['mask'].flatten(1).sum(1)  # pixels of each
            found.update({name: out[name] for name in ('stage4', 'encoded1', 'layer3')})
            for name, value in found.items():
                want[f'side{side}/frame{t:03}/{name}'] = value.float().contiguous()
    save_file(want, folder / 'want.safetensors')
