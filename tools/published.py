"""The published SAM 2 code as a peer: found through $SAM2_REPO (a checkout of it), run in PyTorch
on a CPU, with seeded random weights. Nothing of it is contained here."""

import os
import sys

import torch

CONFIGS = {
    'tiny': 'configs/sam2.1/sam2.1_hiera_t.yaml',
    'small': 'configs/sam2.1/sam2.1_hiera_s.yaml',
    'base+': 'configs/sam2.1/sam2.1_hiera_b+.yaml',
    'large': 'configs/sam2.1/sam2.1_hiera_l.yaml',
}
MEAN = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
STD = torch.tensor([0.229, 0.224, 0.225])[:, None, None]


def find():
    """Put the checkout on the path, or leave with one sentence."""
    repo = os.environ.get('SAM2_REPO', '')
    if not os.path.isdir(os.path.join(repo, 'sam2')):
        sys.exit(f"SAM2_REPO: wanted a checkout of the published SAM 2 code, got '{repo}'")
    if repo not in sys.path:
        sys.path.insert(0, repo)


def build(size, seed=1, side=1024):
    """The published video predictor of one size, fp32, with the reference's semantics."""
    find()
    from sam2.build_sam import build_sam2_video_predictor
    torch.manual_seed(seed)
    model = build_sam2_video_predictor(
        CONFIGS[size], device='cpu',
        hydra_overrides_extra=['++model.add_all_frames_to_correct_as_cond=true',
                               f'++model.image_size={side}'])
    model.fill_hole_area = 0  # the builder's own override comes last and says 8
    randomize(model, seed)
    return model.float().eval()


def randomize(model, seed):
    """Random weights under which every tensor matters: what starts as nothing or as the identity
    gets noise, attention is sharp enough to tell keys apart, and the object score stays well above
    zero, so that no rounding decides presence."""
    noise = torch.Generator().manual_seed(seed)

    def normal(p, deviation):
        return deviation * torch.randn(p.shape, generator=noise)

    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith('gamma'):  # of the fuser: 1e-6 would switch its blocks off
                p.copy_(normal(p, 0.4))
            elif float(p.abs().max()) == 0.0:
                p.copy_(normal(p, 0.05))
            elif p.dim() == 1 and float((p - 1).abs().max()) == 0.0:  # norms
                p.add_(normal(p, 0.1))
            elif name.endswith(('q_proj.weight', 'k_proj.weight')):
                p.mul_(3.0)
            elif name.endswith('qkv.weight'):
                p.mul_(2.0)
        last = model.sam_mask_decoder.pred_obj_score_head.layers[-1]
        last.weight.mul_(4.0)
        last.bias.fill_(6.0)
        # Masks with structure: the hypernetworks' products would else be near zero.
        for mlp in model.sam_mask_decoder.output_hypernetworks_mlps:
            mlp.layers[-1].weight.mul_(4.0)


def save_pt(model, path):
    """As Meta writes its checkpoints."""
    torch.save({'model': model.state_dict()}, path)


def start(model, frames):
    """An inference state over frames u8 (T, S, S, 3), without going through image files."""
    import sam2.sam2_video_predictor as published
    images = torch.from_numpy(frames).permute(0, 3, 1, 2).float() / 255
    images = (images - MEAN) / STD
    side = frames.shape[1]
    published.load_video_frames = lambda **_: (images, side, side)
    published.tqdm = lambda steps, **_: steps  # no progress bars
    return model.init_state('frames')
