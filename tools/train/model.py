# SPDX-License-Identifier: MIT
"""The network, built from transformers' Sam2Video modules, and the steps of tracking with it.

Files use the published (Meta) tensor names. The configuration that shapes do not show is JSON in the
metadata key `samtrack`. Every step follows the published video predictor, batched over objects;
training and evaluation run the same code.
"""

import functools
import json
import os
import re
import time
import types

import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from transformers import Sam2VideoConfig, Sam2VideoModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.sam2_video.modeling_sam2_video import Sam2VideoLayerNorm

import lite
import pooling

NANO = {
    "image_size": 256,
    "trunk": {
        "kind": "hiera",
        "embed_dim": 32,
        "num_heads": 1,
        "stages": [1, 2, 5, 1],
        "global_att_blocks": [],
        "window_spec": [8, 4, 16, 8],
        "window_pos_embed_bkg_spatial_size": [7, 7],
    },
    "d_model": 128,
    "mem_dim": 32,
    "num_maskmem": 4,
    "memory_selection": "present",
    "box_zoom": 1.3,
}


def sized(config, side):
    """`config` at another input size, the windows of Hiera's last stages spanning their maps."""
    if side == config["image_size"]:
        return config
    if config["trunk"]["kind"] != "hiera":
        return config | {"image_size": side}
    trunk = config["trunk"] | {"window_spec": [*config["trunk"]["window_spec"][:2], side // 16, side // 32]}
    return config | {"image_size": side, "trunk": trunk}


MEAN = torch.tensor((0.485, 0.456, 0.406)).view(1, 3, 1, 1)
STD = torch.tensor((0.229, 0.224, 0.225)).view(1, 3, 1, 1)
ABSENT = -1024.0
POINTERS = 16


class ModelError(Exception):
    """A file that cannot be used, in one sentence."""


@functools.lru_cache
def is_bf16_faster():
    """Whether this CPU multiplies matrices faster in BF16; without instructions for it, it is ten times slower.

    By processor time of one thread: on a busy machine threads wait for each other, and wall time has chosen BF16 where it is slow.
    """

    def seconds(kind):
        x, w, best = torch.ones(1024, 128, dtype=kind), torch.ones(128, 128, dtype=kind), float("inf")
        for _ in range(20):
            begin = time.process_time()
            x @ w
            best = min(best, time.process_time() - begin)
        return best

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return seconds(torch.bfloat16) < seconds(torch.float32)
    finally:
        torch.set_num_threads(threads)


def fast_type(device):
    """What to multiply in: BF16 on GPUs, and on CPUs where it is faster."""
    return torch.bfloat16 if torch.device(device).type != "cpu" or is_bf16_faster() else torch.float32


def mixed_precision(device, kind):
    """The context in which a loss is computed, its products of type `kind` of fast_type()."""
    return torch.autocast(torch.device(device).type, torch.bfloat16, enabled=kind == torch.bfloat16)


def hf_config(config, layers):
    """transformers' configuration of a model in our terms; `layers` of memory attention."""
    trunk, size, dim = config["trunk"], config["image_size"], config["d_model"]
    if trunk["kind"] == "hiera":
        dims = [trunk["embed_dim"] * 2**i for i in range(4)]
    else:
        dims, trunk = lite.widths_of(trunk), NANO["trunk"]  # build() puts another in its place
    first = trunk["embed_dim"]
    backbone = {
        "model_type": "sam2_hiera_det_model",
        "image_size": [size, size],
        "hidden_size": first,
        "num_attention_heads": trunk["num_heads"],
        "embed_dim_per_stage": [first * 2**i for i in range(4)],
        "num_attention_heads_per_stage": [trunk["num_heads"] * 2**i for i in range(4)],
        "blocks_per_stage": trunk["stages"],
        "global_attention_blocks": trunk["global_att_blocks"],
        "window_size_per_stage": trunk["window_spec"],
        "window_positional_embedding_background_size": trunk["window_pos_embed_bkg_spatial_size"],
    }
    vision = {
        "model_type": "sam2_vision_model",
        "backbone_config": backbone,
        "backbone_channel_list": dims[::-1],
        "backbone_feature_sizes": [[size // s] * 2 for s in (4, 8, 16)],
        "fpn_hidden_size": dim,
    }
    return Sam2VideoConfig(
        vision_config=vision,
        prompt_encoder_config={"image_size": size, "hidden_size": dim},
        mask_decoder_config={"hidden_size": dim},
        image_size=size,
        num_maskmem=config["num_maskmem"],
        enable_temporal_pos_encoding_for_object_pointers=True,
        enable_occlusion_spatial_embedding=True,
        memory_attention_hidden_size=dim,
        memory_attention_num_layers=layers,
        memory_attention_feed_forward_hidden_size=4 * dim,
        memory_attention_rope_feat_sizes=[size // 16] * 2,
        memory_attention_dropout=0.0,
        memory_attention_rope_dropout=0.0,
        memory_encoder_hidden_size=dim,
        memory_encoder_output_channels=config["mem_dim"],
        mask_downsampler_embed_dim=dim,
        memory_fuser_embed_dim=dim,
        memory_fuser_intermediate_dim=4 * dim,
    )


def plain_attention(module, query, key, value, attention_mask, scaling, dropout=0.0, **unused):
    """Two products and a softmax: on CPUs faster than the fused form at these sizes, above all backwards; and its weights."""
    scores = torch.matmul(query * scaling, key.transpose(2, 3))
    weights = (scores if attention_mask is None else scores + attention_mask).softmax(-1)
    return torch.matmul(weights.to(value.dtype), value).transpose(1, 2).contiguous(), weights


ALL_ATTENTION_FUNCTIONS.register("samtrack_plain", plain_attention)


def use_attention(net, name):
    for module in net.modules():
        if hasattr(getattr(module, "config", None), "_attn_implementation"):
            module.config._attn_implementation = name


def build(config, layers=2):
    """A network with default weights. Its `samtrack` attribute is the configuration."""
    if config["trunk"]["kind"] not in ("hiera", "efficientnet-lite"):
        raise ModelError(f"trunk {config['trunk']['kind']!r}: wanted hiera or efficientnet-lite")
    pool_kind = pooling.kind_of(config)
    if pool_kind not in pooling.KINDS:
        raise ModelError(f"memory_pooling {pool_kind!r}: wanted {', '.join(pooling.KINDS[:2])} or {pooling.KINDS[2]}")
    net = Sam2VideoModel(hf_config(config, layers))
    if config["trunk"]["kind"] == "efficientnet-lite":
        net.vision_encoder.backbone = lite.Trunk(config["trunk"])
    use_attention(net, "samtrack_plain")
    dim, mem = config["d_model"], config["mem_dim"]
    for layer in net.memory_attention.layers:
        # The class fixes these two at a memory width of 64.
        layer.cross_attn_image.k_proj = torch.nn.Linear(mem, dim)
        layer.cross_attn_image.v_proj = torch.nn.Linear(mem, dim)
        if pool_kind != "none":
            pooling.install(layer.cross_attn_image, config, plain_attention)
    if "target_model" in config:
        # Fitted by whiten.py; the losses do not see it.
        net.target_model = target_model(config["target_model"]["channels"], dim).requires_grad_(False)
    for module in net.memory_encoder.modules():
        if isinstance(module, Sam2VideoLayerNorm):
            module.forward = types.MethodType(norm_channels, module)
    for layer in net.memory_encoder.memory_fuser.layers:
        # Depthwise convolutions of channels in the midst take two to three times as long on CPUs.
        layer.depthwise_conv.register_forward_pre_hook(lambda _, x: (x[0].contiguous(memory_format=torch.channels_last),))
    net.samtrack = config
    return net


def target_model(channels, dim):
    """What makes the features of target models of the decoder's maps (docs/MODEL.md)."""
    parts = {}
    for name, width, side in (("image", dim, 1), ("s1", dim // 4, 1), ("s0", dim // 8, 2)):
        parts[f"{name}_norm"] = torch.nn.LayerNorm(width)
        parts[name] = torch.nn.Conv2d(width, channels, side, side)
    return torch.nn.ModuleDict(parts)


def target_features(net, maps):
    """Features (n, (2h)^2, channels) of the three maps that encode() gives."""
    parts = []
    for name, x in zip(("s0", "s1", "image"), maps):
        x = net.target_model[f"{name}_norm"](x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        parts.append(net.target_model[name](x))
    parts[2] = F.interpolate(parts[2], scale_factor=2, mode="bilinear", align_corners=False)
    return sum(parts).flatten(2).transpose(1, 2)


def norm_channels(norm, x):
    """LayerNorm over the channels of (n, c, h, w). The kernel over rows is slow for rows of 4 and 16."""
    if x.shape[1] > 16:
        return type(norm).forward(norm, x)
    x = x.float()
    x = x - x.mean(1, keepdim=True)
    x = x * (x.square().mean(1, keepdim=True) + norm.eps).rsqrt()
    return x * norm.weight[:, None, None] + norm.bias[:, None, None]


def start_local(net):
    """Begin memory attention looking at the same place.

    Memory is not normalised before the key projection, so default weights saturate the softmax on
    arbitrary places. Equal constants in query and key peak, under rotary positions, where the
    positions are equal.
    """
    with torch.no_grad():
        net.memory_encoder.projection.weight.mul_(0.1)
        for layer in net.memory_attention.layers:
            for linear in (layer.cross_attn_image.q_proj, layer.cross_attn_image.k_proj):
                linear.weight.mul_(0.3)
                linear.bias.fill_(3.0)


# From transformers' names to the published ones, applied in order.
RULES = [
    (r"^vision_encoder\.neck\.convs\.(\d)", r"image_encoder.neck.convs.\1.conv"),
    (r"^vision_encoder\.backbone\.", "image_encoder.trunk."),
    (r"patch_embed\.projection", "patch_embed.proj"),
    (r"^prompt_encoder\.shared_embedding\.positional_embedding",
     "sam_prompt_encoder.pe_layer.positional_encoding_gaussian_matrix"),
    (r"^prompt_encoder\.mask_embed\.conv1", "sam_prompt_encoder.mask_downscaling.0"),
    (r"^prompt_encoder\.mask_embed\.layer_norm1", "sam_prompt_encoder.mask_downscaling.1"),
    (r"^prompt_encoder\.mask_embed\.conv2", "sam_prompt_encoder.mask_downscaling.3"),
    (r"^prompt_encoder\.mask_embed\.layer_norm2", "sam_prompt_encoder.mask_downscaling.4"),
    (r"^prompt_encoder\.mask_embed\.conv3", "sam_prompt_encoder.mask_downscaling.6"),
    (r"^prompt_encoder\.", "sam_prompt_encoder."),
    (r"^mask_decoder\.", "sam_mask_decoder."),
    (r"upscale_conv1", "output_upscaling.0"),
    (r"upscale_layer_norm", "output_upscaling.1"),
    (r"upscale_conv2", "output_upscaling.3"),
    (r"mlp\.proj_in", "mlp.layers.0"),
    (r"mlp\.proj_out", "mlp.layers.1"),
    (r"mask_downsampler\.final_conv", "mask_downsampler.encoder.12"),
    (r"memory_encoder\.feature_projection", "memory_encoder.pix_feat_proj"),
    (r"memory_encoder\.projection", "memory_encoder.out_proj"),
    (r"memory_fuser", "fuser"),
    (r"depthwise_conv", "dwconv"),
    (r"pointwise_conv", "pwconv"),
    (r"(fuser\.layers\.\d)\.scale", r"\1.gamma"),
    (r"o_proj", "out_proj"),
    (r"layer_norm", "norm"),
    (r"^temporal_positional_encoding_projection_layer", "obj_ptr_tpos_proj"),
    (r"^occlusion_spatial_embedding_parameter", "no_obj_embed_spatial"),
    (r"^memory_temporal_positional_encoding", "maskmem_tpos_enc"),
    (r"^no_memory_embedding", "no_mem_embed"),
    (r"^no_memory_positional_encoding", "no_mem_pos_enc"),
    (r"^no_object_pointer", "no_obj_ptr"),
    (r"^object_pointer_proj", "obj_ptr_proj"),
]

THREE = {"proj_in": "layers.0", "layers.0": "layers.1", "proj_out": "layers.2"}


def published_name(name):
    """The published name of one of transformers' tensors."""
    name = re.sub(
        r"(mlps\.\d|prediction_head|score_head|pointer_proj)\.(proj_in|layers\.0|proj_out)",
        lambda m: f"{m[1]}.{THREE[m[2]]}",
        name,
    )
    name = re.sub(
        r"mask_downsampler\.layers\.(\d)\.(conv|layer_norm)",
        lambda m: f"mask_downsampler.encoder.{3 * int(m[1]) + (m[2] != 'conv')}",
        name,
    )
    for pattern, new in RULES:
        name = re.sub(pattern, new, name)
    return name


def published_state(net):
    """Name to tensor, as the published checkpoints have it."""
    state = {}
    for name, value in net.state_dict().items():
        if name == "shared_image_embedding.positional_embedding":
            continue  # the same matrix as the prompt encoder's
        if name == "prompt_encoder.point_embed.weight":
            for i in range(4):
                state[f"sam_prompt_encoder.point_embeddings.{i}.weight"] = value[i : i + 1]
            continue
        state[published_name(name)] = value
    return state


def save(net, path):
    """Write the weights as fp16, whole or not at all."""
    state = {k: v.detach().to("cpu", torch.float16).contiguous() for k, v in published_state(net).items()}
    part = f"{path}.part"
    metadata = {"samtrack": json.dumps({k: v for k, v in net.samtrack.items() if k != "origin"})}
    if "origin" in net.samtrack:
        metadata["origin"] = json.dumps(net.samtrack["origin"])
    try:
        save_file(state, part, metadata=metadata)
    except SafetensorError as error:
        raise ModelError(f"{path}: cannot be written: {error}") from None
    os.chmod(part, 0o644)
    os.replace(part, path)


def load_state(net, state, path):
    """Fill `net` from published names; every tensor must be there and fit."""
    wanted = published_state(net)
    for name, value in wanted.items():
        if name not in state:
            raise ModelError(f"{path}: tensor {name} is missing: another architecture")
        if state[name].shape != value.shape:
            raise ModelError(
                f"{path}: tensor {name} has shape {list(state[name].shape)}, wanted {list(value.shape)}:"
                " another architecture"
            )
    extra = sorted(set(state) - set(wanted))
    if extra:
        raise ModelError(f"{path}: tensor {extra[0]} is unknown: another architecture")
    with torch.no_grad():
        for name, value in wanted.items():
            value.copy_(state[name])
        net.shared_image_embedding.positional_embedding.copy_(
            net.prompt_encoder.shared_embedding.positional_embedding
        )


def read(path):
    """(configuration, name to tensor) of a file with our metadata."""
    try:
        with safe_open(path, "pt") as f:
            metadata = f.metadata() or {}
            state = {k: f.get_tensor(k).float() for k in f.keys()}
    except Exception as error:
        raise ModelError(f"{path}: not a readable safetensors file ({error})") from None
    if "samtrack" not in metadata:
        raise ModelError(f"{path}: no configuration under the metadata key samtrack")
    config = json.loads(metadata["samtrack"])
    if "origin" in metadata:
        config["origin"] = json.loads(metadata["origin"])  # from whom the weights are, under which licences
    return config, state


def count_layers(state):
    return 1 + max(int(m[1]) for m in (re.match(r"memory_attention\.layers\.(\d+)", k) for k in state) if m)


def load(path, config=None):
    """The network of a file; with `config`, the same weights under another configuration."""
    found, state = read(path)
    net = build(config or found, count_layers(state))
    load_state(net, state, path)
    return net


def at_size(net, side):
    """The network at another input size: of its parameters themselves, so that what trains one trains the other."""
    other = build(sized(net.samtrack, side), len(net.memory_attention.layers))
    other.load_state_dict(net.state_dict())
    own = dict(net.named_modules())
    for name, module in other.named_modules():
        for key, p in own[name].named_parameters(recurse=False):
            setattr(module, key, p)
    return other


# The steps of tracking. Maps are (objects, channels, h, w); h = image_size / 16.


def is_lite(net):
    return isinstance(net.vision_encoder.backbone, lite.Trunk)


def normalise(net, frames):
    """u8 or 0..255 RGB (n, 3, S, S) to the network's input."""
    if is_lite(net):
        return (frames.float() - 127) / 128
    return (frames.float() / 255 - MEAN.to(frames.device)) / STD.to(frames.device)


def windows(x, side):
    """(n, H, W, c) cut into (n * windows, side * side, c); `side` divides H and W."""
    n, h, w, c = x.shape
    x = x.view(n, h // side, side, w // side, side, c).transpose(2, 3)
    return x.reshape(-1, side * side, c)


def unwindows(x, side, n, h, w):
    x = x.view(n, h // side, w // side, side, side, -1).transpose(2, 3)
    return x.reshape(n, h, w, -1)


def pool(x):
    return F.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)


def block(b, x):
    """One Hiera block on (n, H, W, c) whose windows divide the map, as all do at training sizes."""
    n, h, w, _ = x.shape
    side, heads = b.window_size or h, b.attn.num_attention_heads
    u = b.layer_norm1(x)
    if b.dim != b.dim_out:
        x = b.proj(u)
        x = pool(x) if b.query_stride else x
    qkv = b.attn.qkv(windows(u, side))
    q, k, v = qkv.chunk(3, 2)
    inner = side
    if b.query_stride:
        inner, h, w = side // 2, h // 2, w // 2
        q = pool(q.reshape(-1, side, side, q.shape[2])).flatten(1, 2)
    q, k, v = (z.unflatten(2, (heads, -1)).transpose(1, 2) for z in (q, k, v))
    out = b.attn.proj(attention(q, k, v).transpose(1, 2).flatten(2))
    x = x + unwindows(out, inner, n, h, w)
    return x + b.mlp(b.layer_norm2(x))


def attention(q, k, v):
    if q.is_cuda:
        return F.scaled_dot_product_attention(q, k, v)
    return torch.matmul(torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(2, 3)).softmax(-1).to(v.dtype), v)


def fits(net):
    """Whether every window divides its map, so that block() may stand in for the module's own forward."""
    side = net.image_size // 4
    for b in net.vision_encoder.backbone.blocks:
        if b.window_size and side % b.window_size:
            return False
        side //= 2 if b.query_stride else 1
    return True


def encode(net, images):
    """The maps of strides 4, 8 (for the decoder) and 16.

    The neck's convolutions of the two fine maps have no other reader than the decoder's next ones,
    so the two are multiplied into one.
    """
    trunk, convs = net.vision_encoder.backbone, net.vision_encoder.neck.convs
    if is_lite(net):
        maps = trunk(images)
    elif fits(net):
        maps = []
        x = trunk.patch_embed(images)
        x = x + trunk._get_pos_embed(x.shape[1:3])
        for i, b in enumerate(trunk.blocks):
            x = block(b, x)
            if i in trunk.stage_ends:
                maps.append(x)
    else:
        maps = trunk(images).intermediate_hidden_states
    flat = [conv.weight.flatten(1) for conv in convs]
    coarse = F.linear(maps[2], flat[1], convs[1].bias).permute(0, 3, 1, 2)
    top = F.linear(maps[3], flat[0], convs[0].bias).permute(0, 3, 1, 2)
    coarse = coarse + F.interpolate(top.float(), scale_factor=2, mode="nearest")
    fine = []
    for x, neck, own in ((maps[0], 3, net.mask_decoder.conv_s0), (maps[1], 2, net.mask_decoder.conv_s1)):
        with torch.autocast(x.device.type, enabled=False):
            weight = own.weight.flatten(1) @ flat[neck]
            bias = own.weight.flatten(1) @ convs[neck].bias + own.bias
        fine.append(F.linear(x, weight, bias).permute(0, 3, 1, 2))
    return fine[0], fine[1], coarse


def embed_points(net, points, labels):
    """Sparse tokens (objects, n + 1, d) of points in model pixels; labels 1, 0, 2, 3 (box), -1 (none)."""
    return net.prompt_encoder._embed_points(points[:, None], labels[:, None], pad=True)[:, 0]


def no_points(net, count):
    device = net.no_memory_embedding.device
    return embed_points(
        net, torch.zeros(count, 1, 2, device=device), -torch.ones(count, 1, dtype=torch.long, device=device)
    )


def dense_none(net, count):
    h = net.image_size // 16
    return net.prompt_encoder.no_mask_embed.weight.reshape(1, -1, 1, 1).expand(count, -1, h, h)


def decode(net, conditioned, fine, middle, sparse, dense):
    """All four masks: logits (n, 4, 4h, 4h), IoUs (n, 4), mask tokens (n, 4, d), object score (n, 1)."""
    decoder = net.mask_decoder
    n, d, h, w = conditioned.shape
    own = torch.cat((decoder.obj_score_token.weight, decoder.iou_token.weight, decoder.mask_tokens.weight))
    tokens = torch.cat((own.expand(n, -1, -1), sparse), 1)[:, None]
    position = net.get_image_wide_positional_embeddings().expand(n, -1, -1, -1)
    tokens, image = decoder.transformer(
        point_embeddings=tokens,
        image_embeddings=conditioned + dense,
        image_positional_embeddings=position,
        attention_similarity=None,
    )
    tokens = tokens[:, 0]
    image = image[:, 0].transpose(1, 2).reshape(n, d, h, w)
    up = F.gelu(decoder.upscale_layer_norm(decoder.upscale_conv1(image) + middle))
    up = F.gelu(decoder.upscale_conv2(up) + fine)
    hyper = torch.stack([mlp(tokens[:, 2 + i]) for i, mlp in enumerate(decoder.output_hypernetworks_mlps)], 1)
    masks = (hyper @ up.flatten(2)).unflatten(2, up.shape[2:])
    return masks, decoder.iou_prediction_head(tokens[:, 1]), tokens[:, 2:6], decoder.pred_obj_score_head(tokens[:, 0])


def upsample(low, size):
    return F.interpolate(low.float(), size=(size, size), mode="bilinear", align_corners=False)


def encode_memory(net, coarse, probability, present):
    """Memory map of masks given as probabilities (n, 1, S, S); `present` (n, 1) is 0 or 1."""
    memory, _ = net.memory_encoder(coarse, 20 * probability - 10)
    return memory + (1 - present)[..., None, None] * net.occlusion_spatial_embedding_parameter[..., None, None]


def sine_1d(distance, dim):
    i = torch.arange(dim // 2, device=distance.device)
    angle = distance[:, None] / 10000 ** (2 * (i // 2) / (dim // 2))
    return torch.cat((angle.sin(), angle.cos()), 1)


def sine_2d(module, h):
    """The module's sine map (1, d, h, h); kept, for the modules' own memory holds one shape only."""
    if getattr(module, "kept", None) is None or module.kept.shape[2] != h:
        d = 2 * module.num_position_features
        module.kept = module(torch.Size((1, d, h, h)), torch.device("cpu"), torch.float32)
    return module.kept


def attend(net, coarse, memories, pointers):
    """Condition `coarse` on what is remembered.

    memories: (map, slot), slot -1 (the last) for a prompted frame, else its age - 1; pointers: (pointer (n, d), age).
    """
    n, d, h, w = coarse.shape
    sine = sine_2d(net.memory_encoder.position_encoding, h).to(coarse.device)
    slots = net.memory_temporal_positional_encoding[:, 0, 0]
    keys = torch.cat([m.flatten(2).transpose(1, 2) for m, _ in memories], 1)
    places = torch.cat([(sine + slots[s][None, :, None, None]).flatten(2).transpose(1, 2) for _, s in memories], 1)
    ages = torch.tensor([age for _, age in pointers], dtype=torch.float32, device=coarse.device) / (POINTERS - 1)
    split = d // net.mem_dim
    tokens = torch.stack([p for p, _ in pointers], 1).reshape(n, len(pointers) * split, net.mem_dim)
    times = net.temporal_positional_encoding_projection_layer(sine_1d(ages, d)).repeat_interleave(split, 0)
    keys = torch.cat((keys, tokens.to(keys.dtype)), 1)
    places = torch.cat((places, times[None]), 1).expand(n, -1, -1)
    position = sine_2d(net.vision_encoder.neck.position_encoding, h).to(coarse.device)
    out = net.memory_attention(
        coarse.flatten(2).permute(2, 0, 1),
        keys.transpose(0, 1),
        position.flatten(2).permute(2, 0, 1),
        places.transpose(0, 1),
        num_object_pointer_tokens=tokens.shape[1],
    )
    return out.reshape(n, h * w, d).transpose(1, 2).reshape(n, d, h, w)


def point_to(net, token, present):
    """Object pointer of a mask token; the learned one where absent."""
    return torch.lerp(net.no_object_pointer.expand(len(token), -1), net.object_pointer_proj(token).float(), present)


def mask_pointer(net, coarse, fine, middle, mask):
    """Pointer (n, d) of a mask prompt (n, 1, S, S): token 0 of a decoder pass without memory."""
    dense = net.prompt_encoder.mask_embed(net.mask_downsample(mask))
    _, _, tokens, score = decode(net, coarse, fine, middle, no_points(net, len(mask)), dense)
    return tokens[:, 0], score
