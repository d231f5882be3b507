# SPDX-License-Identifier: MIT
"""RF-DETR as transformers publishes it, with random lively weights: what compare_detectors.py compares with."""
import torch
from safetensors.torch import save_file
import torch.nn.functional as F
from transformers import RfDetrConfig, RfDetrForInstanceSegmentation, RfDetrForObjectDetection

# side of the input in px, layers of the decoder
SIZES = {'nano': (384, 2), 'small': (512, 3), 'medium': (576, 4), 'large': (704, 4)}
# and windows on a side, queries
SEG_SIZES = {'nano': (312, 4, 1, 100), 'small': (384, 4, 2, 100), 'medium': (432, 5, 2, 200), 'large': (504, 5, 2, 200)}
MASK = 384  # px a side of the masks that are compared
MEAN = torch.tensor([0.485, 0.456, 0.406])
STD = torch.tensor([0.229, 0.224, 0.225])


def fill(name, p, rng):
    """Weights with which every part of the network matters. With a larger gain of the products a noise of 1e-6
    on the weights changes which positions are candidates, and no golden would be worth anything."""
    n = torch.randn(p.shape, generator=rng)
    if 'lambda1' in name:
        return 0.3 + 0.1 * n
    if 'norm' in name and name.endswith('weight'):
        return 1 + 0.2 * n
    if 'reference_point_embed' in name:
        return torch.cat([0.1 * n[:, :2], 1 + 0.2 * n[:, 2:]], 1)
    if 'bbox_embed.' in name and '.layers.2' in f'.{name}':
        return n * (0.3 / p.shape[-1] ** 0.5)
    if p.dim() == 1:
        return 0.2 * n
    if any(word in name for word in ('position', 'cls_token', 'query_feat')):
        return 0.5 * n
    return n * (0.5 / p[0].numel() ** 0.5)


def build(side, layers, seed, kind=RfDetrForObjectDetection, **others):
    backbone = {'model_type': 'rf_detr_dinov2', 'hidden_size': 384, 'num_hidden_layers': 12, 'num_attention_heads': 6,
                'patch_size': 16, 'image_size': side, 'num_windows': 2,
                'out_features': ['stage3', 'stage6', 'stage9', 'stage12']}
    backbone.update(others.pop('backbone', {}))
    model = kind(RfDetrConfig(backbone_config=backbone, decoder_layers=layers, decoder_n_points=2,
                              **{'num_queries': 300, 'd_model': 256, 'num_labels': 91, **others})).eval()
    rng = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        p.data.copy_(fill(name, p, rng))
    return model


def build_seg(side, layers, windows, queries, seed, **others):
    backbone = {'patch_size': 12, 'num_windows': windows, **others.pop('backbone', {})}
    return build(side, layers, seed, RfDetrForInstanceSegmentation, backbone=backbone, num_queries=queries, **others)


def prepare(frame, side, dtype=torch.float32):
    """u8 (h, w, 3) to the network's input."""
    x = frame.permute(2, 0, 1)[None].double()
    x = torch.nn.functional.interpolate(x, (side, side), mode='bilinear', antialias=True)
    return ((x / 255 - MEAN.double()[:, None, None]) / STD.double()[:, None, None]).to(dtype)


def run(model, image):
    """The stages as the engine names them, each as rows of channels."""
    stages, hooks = {}, []

    def keep(name, module, rows=lambda t: t):
        def hook(module, inputs, output):
            # The head of candidates runs once more, on those that were picked: the first time counts.
            if name not in stages:
                stages[name] = rows(output[0] if isinstance(output, tuple) else output).detach()
        hooks.append(module.register_forward_hook(hook))

    is_seg = isinstance(model, RfDetrForInstanceSegmentation)
    inner = model.model.model if is_seg else model.model
    dino = inner.backbone.backbone
    keep('embed', dino.embeddings)
    for i, block in enumerate(dino.encoder.layer):
        keep(f'block{i}', block)
    keep('features', inner.backbone.projector, lambda t: t.flatten(2).transpose(1, 2))
    keep('candidates', inner.enc_out_class_embed[0])
    for i, layer in enumerate(inner.decoder.layers):
        keep(f'layer{i}', layer)
    with torch.no_grad():
        out = model(pixel_values=image)
    for hook in hooks:
        hook.remove()
    stages.update(references=out.init_reference_points, logits=out.logits, boxes=out.pred_boxes)
    if is_seg:
        stages['masks'] = out.pred_masks.flatten(2)
    return {name: t.reshape(-1, t.shape[-1]) for name, t in stages.items()}


def choose(stages, width, height):
    """The published choice: scores, labels, queries, boxes in px of the frame, and masks where there are some."""
    logits, box = stages['logits'], stages['boxes']
    value, flat = logits.flatten().topk(len(logits))
    query, label = flat // logits.shape[1], flat % logits.shape[1]
    xy, half = box[:, :2], box[:, 2:] / 2
    corners = torch.cat((xy - half, xy + half), 1) * torch.tensor([width, height] * 2).to(box)
    corners = torch.minimum(corners.clamp(min=0), torch.tensor([width, height] * 2).to(box))
    found = value.sigmoid(), label, query, corners[query]
    if 'masks' not in stages:
        return found
    side = round(stages['masks'].shape[1] ** 0.5)
    masks = stages['masks'].view(1, -1, side, side)
    return *found, F.interpolate(masks, (MASK, MASK), mode='bilinear')[0][query] > 0


def write_mini(folder, picture, with_masks=False):
    """A model of the smallest widths, in fp16, with 7 classes, and what it finds in two frames: at the size of its
    positions, and at another."""
    folder.mkdir(parents=True, exist_ok=True)
    backbone = {'hidden_size': 64, 'num_hidden_layers': 4, 'num_attention_heads': 1, 'mlp_ratio': 2,
                'out_features': ['stage1', 'stage2', 'stage3', 'stage4']}
    sizes = dict(backbone=backbone, group_detr=2, d_model=32, num_labels=7, decoder_ffn_dim=48, c2f_num_blocks=1)
    model = build_seg(96, 2, 2, 30, 4, intermediate_size=40, **sizes) if with_masks else build(128, 2, 4, num_queries=30, **sizes)
    model.half().save_pretrained(folder)
    model.float()
    frame = picture(160, torch.Generator().manual_seed(3))
    frames = torch.stack((frame, frame.flip(1)))[:, :120].contiguous()  # 120 x 160
    save_file({'frames': frames}, folder / 'frames.safetensors')
    want = {}
    for side in (96, 144) if with_masks else (128, 192):
        for t, f in enumerate(frames):
            out = run(model, prepare(f, side))
            found = dict(zip(('score', 'label', 'query', 'box', 'mask'), choose(out, 160, 120)))
            found.update({name: out[name] for name in ('block3', 'features', 'layer1')})
            if with_masks and side == 96:
                found['masks'] = out['masks']
            if with_masks:
                found['mask'] = found['mask'].flatten(1).sum(1)  # pixels of each
            for name, value in found.items():
                want[f'side{side}/frame{t:03}/{name}'] = value.float().contiguous()
    save_file(want, folder / 'want.safetensors')
