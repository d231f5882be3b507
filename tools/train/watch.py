# SPDX-License-Identifier: MIT
"""Figures for the log: three checks of the memory on a repeated frame, the IoU on held-out outlines, and single answers on pictures."""

import glob
import os

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from transformers.models.sam2_video.modeling_sam2_video import apply_rotary_pos_emb_2d

import evaluate
import losses
import model
import pictures

EACH = 16  # pictures kept apart of each collection


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
        maps = model.encode(net, model.normalise(net, image))
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
    maps = model.encode(net, model.normalise(net, clips.frames.flatten(0, 1)))
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


def first_frames(folders):
    """{clip: (image, mask)} of the first frames of the clips in comma-separated folders."""
    found = {}
    for clip in (c for folder in folders.split(",") for c in sorted(glob.glob(os.path.join(folder, "*")))):
        pairs = pictures.pairs(os.path.join(clip, "frames"), os.path.join(clip, "masks"))
        if pairs:
            image, labels = pictures.read(pairs[0])
            found[os.path.basename(clip)] = image, labels > 127
    return found


def looks(folder, clips, size):
    """{group: [(image (1, 3, S, S), mask (1, 1, S, S))]} of pictures that are kept apart, two things of each, and of clips."""
    found = {"clips": list(first_frames(clips).values())} if clips else {}
    for name, pairs in pictures.Collection(folder).apart.items() if folder else ():
        for pair in [pairs[i] for i in np.linspace(0, len(pairs) - 1, min(EACH, len(pairs))).astype(int)]:
            image, labels = pictures.read(pair)
            found.setdefault(name, []).extend((image, labels == n) for n in pictures.two_of(labels))
    return {k: [prepared(image, mask, size) for image, mask in v] for k, v in found.items()}


def prepared(image, mask, size):
    """As the network sees them; the mask stays as long as something of it is left."""
    image = cv2.resize(image, (size, size), interpolation=cv2.INTER_AREA)
    mask = cv2.resize(mask.astype(np.float32), (size, size), interpolation=cv2.INTER_AREA) >= 0.5
    return torch.from_numpy(image).permute(2, 0, 1)[None], torch.from_numpy(mask)[None, None].float()


@torch.no_grad()
def answer_to(net, maps, given):
    """The masks' logits (4, h, w) and predicted IoUs (4) of points and labels."""
    start = maps[2] + net.no_memory_embedding.reshape(1, -1, 1, 1)
    out = losses.answer(net, given, start, *maps[:2])
    return out[0][0].float(), out[1][0].float()


@torch.no_grad()
def answers(net, groups):
    """Mean IoU of one answer to the innermost point and to the exact box, {group: [click, box]}, and what the heads know.

    best: the mean of the best of a click's three masks; error: mean distance of predicted and real IoU of what is taken.
    """
    out, best, wrong, taken, device = {}, [], [], [], net.no_memory_embedding.device
    for name, group in groups.items():
        rows = []
        for image, mask in group:
            if not mask.any():
                continue
            maps = model.encode(net, model.normalise(net, image.to(device)))
            truth = losses.quartered(mask).to(device)
            thing = mask[0, 0].numpy() > 0
            x, y, w, h = evaluate.box_of(thing)
            prompts = (([evaluate.point_of(thing)], [1]), ([[x, y], [x + w, y + h]], [2, 3]))
            row = []
            for points, labels in prompts:
                given = torch.tensor([points], device=device).float(), torch.tensor([labels], device=device)
                masks, ious = answer_to(net, maps, given)
                real = losses.overlap(masks[None], truth.expand(1, 4, -1, -1), torch.ones_like(masks)[None])[0]
                i = 0 if len(points) > 1 else int(ious[1:].argmax()) + 1
                row.append(real[i].item())
                wrong.append((ious[i] - real[i]).abs().item())
                if len(points) == 1:
                    best.append(real[1:].max().item())
                    taken.append(row[-1])
            rows.append(row)
        out[name] = np.mean(rows, 0).round(3).tolist()
    rest = np.mean([v for k, v in out.items() if k != "clips"] or [[0, 0]], 0).round(3).tolist()
    return {
        "click_box": out, "apart": rest, "click": round(float(np.mean(taken)), 3), "best": round(float(np.mean(best)), 3),
        "error": round(float(np.mean(wrong)), 3),
    }
