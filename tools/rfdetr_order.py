#!/usr/bin/env python3
"""How firm the order of RF-DETR's results is, with random weights: transformers' model in F32, in
F64, and with noise on its weights. A golden of indices is worth what this says.

usage: rfdetr_order.py [nano|small|medium|large] [GAIN]    GAIN: of the weights, 0.5
"""
import sys

import torch
from transformers import RfDetrConfig, RfDetrForObjectDetection

# side of the input in px, layers of the decoder
SIZES = {'nano': (384, 2), 'small': (512, 3), 'medium': (576, 4), 'large': (704, 4)}
RESULTS = 300


def fill(name, p, gain, rng):
    """Weights with which every part of the network matters."""
    n = torch.randn(p.shape, generator=rng)
    if 'lambda1' in name:
        return 0.3 + 0.1 * n
    if 'norm' in name and name.endswith('weight'):
        return 1 + 0.2 * n
    if 'reference_point_embed' in name:
        return torch.cat([0.1 * n[:, :2], 1 + 0.2 * n[:, 2:]], 1)
    if 'bbox_embed.layers.2' in name:
        return n * (0.3 / p.shape[-1] ** 0.5)
    if p.dim() == 1:
        return 0.2 * n
    if any(word in name for word in ('position', 'cls_token', 'query_feat')):
        return 0.5 * n
    return n * (gain / p[0].numel() ** 0.5)


def build(size, gain):
    side, layers = SIZES[size]
    config = RfDetrConfig(
        backbone_config={'model_type': 'rf_detr_dinov2', 'hidden_size': 384, 'num_hidden_layers': 12,
                         'num_attention_heads': 6, 'patch_size': 16, 'image_size': side, 'num_windows': 2,
                         'out_features': ['stage3', 'stage6', 'stage9', 'stage12']},
        decoder_layers=layers, decoder_n_points=2, num_queries=300, d_model=256, num_labels=91)
    model = RfDetrForObjectDetection(config).eval()
    rng = torch.Generator().manual_seed(0)
    for name, p in model.named_parameters():
        p.data.copy_(fill(name, p, gain, rng))
    return model, torch.randn(1, 3, side, side, generator=torch.Generator().manual_seed(1))


def results(model, image):
    with torch.no_grad():
        out = model(pixel_values=image)
    score, index = torch.topk(out.logits.flatten(1)[0], RESULTS)
    return out, score, index


def compare(what, first, second):
    moved = (first[0].init_reference_points - second[0].init_reference_points).abs().amax(-1)[0]
    print(f'{what}: {int((first[2] != second[2]).sum())} of {RESULTS} places differ, '
          f'{len(set(first[2].tolist()) - set(second[2].tolist()))} results are others, '
          f'logits by {(first[0].logits - second[0].logits).abs().max().item():.1e}, '
          f'{int((moved > 1e-3).sum())} boxes of the first stage moved by more than 1e-3', flush=True)


def main():
    size, gain = (sys.argv[1:] + ['nano', '0.5'][len(sys.argv) - 1:])[:2]
    model, image = build(size, float(gain))
    plain = results(model, image)
    gap = (plain[1][:-1] - plain[1][1:]).sort()[0]
    print(f'{size}, gain {gain}: least gap of neighbours in logits {gap[0].item():.1e}, median {gap[RESULTS // 2].item():.1e}')
    weights = {name: w.clone() for name, w in model.state_dict().items()}
    for amount in (1e-7, 1e-6, 1e-5):
        rng = torch.Generator().manual_seed(2)
        for p in model.parameters():
            p.data.mul_(1 + amount * torch.randn(p.shape, generator=rng))
        compare(f'noise of {amount:g}', plain, results(model, image))
        model.load_state_dict(weights)
    compare('in F64', plain, results(model.double(), image.double()))


if __name__ == '__main__':
    main()
