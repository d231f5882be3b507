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


def build(size, seed=1):
    """The published video predictor of one size, fp32, with the reference's semantics."""
    find()
    from sam2.build_sam import build_sam2_video_predictor
    torch.manual_seed(seed)
    model = build_sam2_video_predictor(
        CONFIGS[size], device='cpu',
        hydra_overrides_extra=['++model.fill_hole_area=0',
                               '++model.add_all_frames_to_correct_as_cond=true'])
    randomize(model, seed)
    return model.float().eval()


def randomize(model, seed):
    """Random weights that behave: every tensor that starts as zero gets noise, and the object
    score stays well above zero, so that no rounding decides presence."""
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if float(p.abs().max()) == 0.0 and 'bias' not in name:
                p.copy_(0.02 * torch.randn(p.shape, generator=noise))
        last = model.sam_mask_decoder.pred_obj_score_head.layers[-1]
        last.weight.mul_(0.1)
        last.bias.fill_(5.0)
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
    return model.init_state('frames')
