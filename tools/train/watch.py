"""Figures for the log: three checks of the memory on a repeated frame, and the IoU on held-out outlines."""

import torch
import torch.nn.functional as F
from transformers.models.sam2_video.modeling_sam2_video import apply_rotary_pos_emb_2d

import losses
import model


class SamePlace:
    """The share of the first layer's cross-attention at the query's own position."""

    def __init__(self, net):
        self.share = 0.0
        self.layer = net.memory_attention.layers[0].cross_attn_image
        self.handle = self.layer.register_forward_pre_hook(self.look, with_kwargs=True)

    def look(self, layer, _, kwargs):
        query, key = layer.q_proj(kwargs["query"]), layer.k_proj(kwargs["key"])
        pointers = kwargs["num_k_exclude_rope"]
        query, key = apply_rotary_pos_emb_2d(
            query, key, *kwargs["position_embeddings"], repeat_freqs_k=True, num_k_exclude_rope=pointers
        )
        weights = (query.float() @ key.float().transpose(2, 3) * layer.scaling).softmax(-1)
        places = query.shape[2]
        own = weights[..., :places].diagonal(dim1=2, dim2=3)
        self.share = own.mean().item()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.handle.remove()


def numbers(net, generator, held):
    return memory(net, generator) | (outlines(net, held) if held else {})


@torch.no_grad()
def outlines(net, held, count=96):
    """IoU of the answers to the exact box and to a point for outlines of `held`, a bank, the same ones every time."""
    frames, masks, _ = held.outlines
    side, hits = net.image_size, {"box": [], "point": []}
    for i in torch.linspace(0, len(frames) - 1, min(count, len(frames))).long():
        image = F.interpolate(held.get(frames[i][None]), size=(side, side), mode="area")
        mask = F.interpolate(masks[i][None, None].float().to(image.device), size=(side, side), mode="area").round()
        maps = model.encode(net, model.normalise(image))
        truth = F.avg_pool2d(mask, 4)
        for kind, found in hits.items():
            with torch.random.fork_rng():
                torch.manual_seed(0)
                out, _, _ = losses.prompt(net, kind, mask, maps[2], *maps[:2])
            best = 0 if kind == "box" else out[1][0, 1:].argmax() + 1
            found.append(losses.overlap(out[0][:, best][:, None].float(), truth[:, 0][:, None], torch.ones_like(truth)))
    return {f"held_{kind}": round(torch.cat(found).mean().item(), 3) for kind, found in hits.items()}


@torch.no_grad()
def memory(net, generator, count=4):
    """IoU on a repeated frame, what another mask in memory changes, attention on the same place."""
    clips = generator(count, 1)
    size, n = net.image_size, count * clips.masks.shape[2]
    maps = model.encode(net, model.normalise(clips.frames.flatten(0, 1)))
    fine, middle, coarse = (m.repeat_interleave(n // count, 0) for m in maps)
    masks = clips.masks.reshape(n, 1, size, size)
    # The other target of the same picture.
    other = clips.masks.flip(2).reshape(n, 1, size, size)

    def again(truth):
        _, high, token = losses.prompt(net, "mask", truth, coarse, fine, middle)
        ones = torch.ones(n, 1, device=high.device)
        stored = model.encode_memory(net, coarse, high, ones)
        out = model.attend(net, coarse, [(stored, -1)], [(model.point_to(net, token, ones), 1)])
        out = model.decode(net, out, fine, middle, model.no_points(net, n), model.dense_none(net, n))
        rows = torch.arange(n, device=high.device)
        return out[0][rows, out[1][:, 1:].argmax(1) + 1].float()

    with SamePlace(net) as attention:
        found = again(masks)
    swapped = again(other)
    truth = torch.nn.functional.avg_pool2d(masks, 4)[:, 0]
    iou = losses.overlap(found[:, None], truth[:, None], torch.ones_like(truth)[:, None])
    return {
        "repeat_iou": round(iou.mean().item(), 3),
        "swap_change": round((found - swapped).abs().mean().item(), 2),
        "same_place": round(attention.share, 3),
    }
