# SPDX-License-Identifier: MIT
"""Runs the published code of SAM 2, EdgeTAM and EfficientTAM in PyTorch on a CPU, with seeded random
weights, from checkouts named by $SAM2_REPO, $EDGETAM_REPO and $EFFICIENTTAM_REPO. Their code is not
included here. EdgeTAM's trunk comes from timm; nothing is downloaded."""

import contextlib
import importlib
import io
import os
import sys

import torch

REPOS = {'sam2': 'SAM2_REPO', 'edgetam': 'EDGETAM_REPO', 'efficienttam': 'EFFICIENTTAM_REPO'}
TITLES = {'sam2': 'SAM 2', 'edgetam': 'EdgeTAM', 'efficienttam': 'EfficientTAM'}
PACKAGES = {'efficienttam': 'efficient_track_anything'}  # the others': sam2
EFFICIENTTAM = [f'efficienttam_{size}{variant}' for size in ('s', 'ti') for variant in ('', '_1', '_2', '_512x512')]
CONFIGS = {
    'tiny': 'configs/sam2.1/sam2.1_hiera_t.yaml',
    'small': 'configs/sam2.1/sam2.1_hiera_s.yaml',
    'base+': 'configs/sam2.1/sam2.1_hiera_b+.yaml',
    'large': 'configs/sam2.1/sam2.1_hiera_l.yaml',
}
# The sizes of EdgeTAM as it was published; other values give a model made of the same parts.
EDGETAM = dict(image_size=1024, dims=[48, 96, 192, 384], depths=[2, 2, 14, 2], d_model=256,
               mem_dim=64, memory_layers=2, memory_hidden=2048, latents=256, grid=16)
PREDICTORS = {'sam2': ('sam2.sam2_video_predictor', 'SAM2VideoPredictor'),
              'efficient_track_anything': ('efficient_track_anything.efficienttam_video_predictor',
                                           'EfficientTAMVideoPredictor')}
MEAN = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
STD = torch.tensor([0.229, 0.224, 0.225])[:, None, None]


def find(family='sam2'):
    """Put a family's checkout on the path, or exit with an error. SAM 2's and EdgeTAM's both call
    their package sam2: the other family's is dropped first. Returns the package's name."""
    variable, package = REPOS[family], PACKAGES.get(family, 'sam2')
    repo = os.environ.get(variable, '')
    if not os.path.isdir(os.path.join(repo, package)):
        sys.exit(f"{variable}: expected a checkout of the published {TITLES[family]} code, found '{repo}'")
    loaded, repo = sys.modules.get(package), os.path.abspath(repo)
    home = os.path.dirname(list(loaded.__path__)[0]) if loaded else repo
    if home != repo:
        from hydra.core.global_hydra import GlobalHydra
        GlobalHydra.instance().clear()
        for name in [n for n in sys.modules if n.split('.')[0] == package]:
            del sys.modules[name]
    sys.path[:] = [repo] + [p for p in sys.path if p not in (home, repo)]
    return package


@contextlib.contextmanager
def double(family):
    """Within it the published code computes in fp64 wherever it asks for fp32, tables included.
    Memory is stored as bf16 all the same."""
    package = find(family)
    importlib.import_module(f'{package}.{"build_sam" if package == "sam2" else "build_efficienttam"}')
    importlib.import_module(PREDICTORS[package][0])

    class Torch:
        float32 = float = torch.float64

        def __getattr__(self, name):
            return getattr(torch, name)
    modules = [m for n, m in sys.modules.items()
               if n.split('.')[0] == package and getattr(m, 'torch', None) is torch]
    single = torch.Tensor.float
    torch.Tensor.float = torch.Tensor.double
    for module in modules:
        module.torch = Torch()
    try:
        yield
    finally:
        torch.Tensor.float = single
        for module in modules:
            module.torch = torch


def build(size, seed=1, side=1024):
    """The published video predictor of one size, fp32, with the reference's semantics."""
    torch.manual_seed(seed)
    if size == 'edgetam':
        model = edgetam({**EDGETAM, 'image_size': side})
    elif size in EFFICIENTTAM:
        model = efficienttam(size, side)
    else:
        find('sam2')
        from sam2.build_sam import build_sam2_video_predictor
        model = build_sam2_video_predictor(
            CONFIGS[size], device='cpu',
            hydra_overrides_extra=['++model.add_all_frames_to_correct_as_cond=true',
                                   f'++model.image_size={side}'])
        model.fill_hole_area = 0  # the builder's own override comes last and says 8
    randomize(model, seed)
    return model.float().eval()


def edgetam_overrides(spec):
    """The published configuration, told other sizes. The query table of the memory attention has
    to be set: the published one fits 1024 px alone."""
    side, d, m, grid = spec['image_size'], spec['d_model'], spec['mem_dim'], spec['grid']
    h = side // 16
    attention = 'memory_attention.layer'
    sizes = {
        'image_size': side,
        'image_encoder.neck.backbone_channel_list': list(spec['dims'])[::-1],
        'image_encoder.neck.d_model': d,
        'image_encoder.neck.position_encoding.num_pos_feats': d,
        'memory_attention.num_layers': spec['memory_layers'],
        'memory_attention.d_model': d,
        f'{attention}.d_model': d,
        f'{attention}.dim_feedforward': spec['memory_hidden'],
        f'{attention}.self_attention.embedding_dim': d,
        f'{attention}.cross_attention.embedding_dim': d,
        f'{attention}.cross_attention.kv_in_dim': m,
        f'{attention}.cross_attention.q_sizes': [h, h],
        f'{attention}.cross_attention.k_sizes': [grid, grid],
        'memory_encoder.in_dim': d,
        'memory_encoder.out_dim': m,
        'memory_encoder.position_encoding.num_pos_feats': m,
        'memory_encoder.mask_downsampler.embed_dim': d,
        'memory_encoder.fuser.layer.dim': d,
        'spatial_perceiver.dim': m,
        'spatial_perceiver.dim_head': m,
        'spatial_perceiver.num_latents': spec['latents'],
        'spatial_perceiver.num_latents_2d': grid * grid,
        'spatial_perceiver.position_encoding.num_pos_feats': m,
        'add_all_frames_to_correct_as_cond': 'true',
    }
    return [f'++model.{key}={value}' for key, value in sizes.items()]


def edgetam(spec):
    """The published EdgeTAM predictor with the sizes of `spec` (see EDGETAM)."""
    find('edgetam')
    import sam2.modeling.backbones.timm as trunk
    from sam2.build_sam import build_sam2_video_predictor
    from timm.models import create_model

    def repvit(name, pretrained, **more):
        return create_model(name.split('.')[0], pretrained=False, embed_dim=tuple(spec['dims']),
                            depth=tuple(spec['depths']), **more)
    trunk.create_model = repvit
    with contextlib.redirect_stdout(io.StringIO()):  # the builder tells its steps
        model = build_sam2_video_predictor('configs/edgetam.yaml', device='cpu',
                                           hydra_overrides_extra=edgetam_overrides(spec))
    model.fill_hole_area = 0
    return model


def efficienttam(name, side):
    """A published EfficientTAM predictor. Its builder would drop these overrides without a GPU."""
    package = find('efficienttam')
    import efficient_track_anything.build_efficienttam  # noqa: F401: where configurations are
    from hydra import compose
    from hydra.utils import instantiate
    extra = {'dynamic_multimask_via_stability': True, 'dynamic_multimask_stability_delta': 0.05,
             'dynamic_multimask_stability_thresh': 0.98}
    told = {'_target_': '.'.join(PREDICTORS[package]), 'compile_image_encoder': False,
            'binarize_mask_from_pts_for_mem_enc': True, 'add_all_frames_to_correct_as_cond': True,
            'image_size': side, **{f'sam_mask_decoder_extra_args.{k}': v for k, v in extra.items()}}
    config = compose(config_name=f'configs/efficienttam/{name}.yaml',
                     overrides=[f'++model.{k}={v}' for k, v in told.items()])
    return instantiate(config.model, _recursive_=True)


def edgetam_spec(weights, side):
    """The sizes of an EdgeTAM state dict."""
    body = 'image_encoder.trunk.body.stages_'
    return dict(
        image_size=side,
        dims=[weights[f'image_encoder.neck.convs.{3 - s}.conv.weight'].shape[1] for s in range(4)],
        depths=[len({k.split('.')[5] for k in weights if k.startswith(f'{body}{s}.blocks.')})
                for s in range(4)],
        d_model=weights['no_mem_embed'].shape[-1], mem_dim=weights['maskmem_tpos_enc'].shape[-1],
        memory_layers=len({k.split('.')[2] for k in weights
                           if k.startswith('memory_attention.layers.')}),
        memory_hidden=weights['memory_attention.layers.0.linear1.weight'].shape[0],
        latents=weights['spatial_perceiver.latents'].shape[0],
        grid=round(weights['spatial_perceiver.latents_2d'].shape[0] ** 0.5))


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
            elif name.endswith(('q_proj.weight', 'k_proj.weight', 'to_q.weight')):
                p.mul_(3.0)
            elif name.endswith('qkv.weight'):
                p.mul_(2.0)
        last = model.sam_mask_decoder.pred_obj_score_head.layers[-1]
        last.weight.mul_(4.0)
        last.bias.fill_(6.0)
        # Masks with structure: the hypernetworks' products would else be near zero.
        for mlp in model.sam_mask_decoder.output_hypernetworks_mlps:
            mlp.layers[-1].weight.mul_(4.0)
    randomize_convolutions(model, noise)


def randomize_convolutions(model, noise):
    """Convolutions of a trunk with BatchNorm: statistics that differ from (0, 1), no gamma of 0,
    and small ones where a residual is added, so that sums keep their size over all blocks."""
    def normal(p, deviation):
        return deviation * torch.randn(p.shape, generator=noise)

    def uniform(p, low, high):
        return low + (high - low) * torch.rand(p.shape, generator=noise)

    with torch.no_grad():
        for name, part in model.named_modules():
            norm, conv = getattr(part, 'bn', None), getattr(part, 'c', None)
            if not isinstance(norm, torch.nn.BatchNorm2d):
                continue
            conv.weight.copy_(normal(conv.weight, conv.weight[0].numel() ** -0.5))
            residual = '_mixer' in name or '.ffn.' in name
            norm.weight.copy_(uniform(norm.weight, *((.16, .48) if residual else (.8, 1.2))))
            norm.bias.copy_(normal(norm.bias, 0.1))
            norm.running_mean.copy_(normal(norm.running_mean, 0.2))
            norm.running_var.copy_(uniform(norm.running_var, 0.5, 2.0))
            norm.num_batches_tracked.fill_(1000)


def save_pt(model, path):
    """As Meta writes its checkpoints."""
    torch.save({'model': model.state_dict()}, path)


def normalize(frames):
    """Frames u8 (T, S, S, 3) as the models take them, (T, 3, S, S)."""
    images = torch.from_numpy(frames).permute(0, 3, 1, 2).float() / 255
    return (images - MEAN) / STD


def start(model, frames):
    """An inference state over frames u8 (T, S, S, 3), without going through image files."""
    published = sys.modules[type(model).__module__]
    images, side = getattr(model.image_encoder.trunk, 'normalize', normalize)(frames), frames.shape[1]
    published.load_video_frames = lambda **_: (images, side, side)
    published.tqdm = lambda steps, **_: steps  # no progress bars
    return model.init_state('frames')
