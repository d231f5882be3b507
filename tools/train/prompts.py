# SPDX-License-Identifier: MIT
"""Simulates user prompts from true masks (n, 1, S, S) of 0 and 1; coordinates are pixels of those masks."""

import torch
import torch.nn.functional as F

# How often a click is sought how near to the middle: the power of the depth, 0 for anywhere on the thing.
MANNERS = ((64.0, 0.2), (16.0, 0.3), (4.0, 0.3), (0.0, 0.1))
EDGE = 0.1  # the share of clicks at the thing's edge; the rest of the shares above
STEP = 4


def depth(masks):
    """How deep inside each pixel lies, 1 where deepest, 0 outside. What lies beyond the frame counts as outside."""
    total = masks
    for k in (3, 7, 15, 31):
        rows = F.avg_pool2d(masks, (1, k), 1, (0, k // 2))
        total = total + F.avg_pool2d(rows, (k, 1), 1, (k // 2, 0))
    total = total * masks
    return total / total.amax((2, 3), keepdim=True).clamp(min=1e-6)


def thinned(masks):
    """Every fourth pixel of each row and column, from a random one on, and that one (x, y)."""
    y, x = (torch.randint(STEP, ()).item() for _ in range(2))
    return masks[:, :, y::STEP, x::STEP], torch.tensor([x, y], device=masks.device)


def drawn(weights):
    """One pixel (n, 2), x and y, of each map (n, 1, h, w), as often as its weight says."""
    index = torch.multinomial(weights.flatten(1) + 1e-12, 1)[:, 0]
    width = weights.shape[3]
    return torch.stack((index % width, index // width), 1)


def manners(inside):
    """Weights of clicks on things of depth `inside`, each thing in a manner of its own."""
    n, d = len(inside), inside.device
    powers, shares = (torch.tensor(v, device=d) for v in zip(*MANNERS))
    power = powers[torch.multinomial(shares.expand(n, -1), 1)][:, :, None, None]
    within = (inside > 0).float()
    weights = inside**power * within
    edge = (within > 0) & (F.avg_pool2d(within, 3, 1, 1) < 0.99)
    edge = edge & (torch.rand(n, 1, 1, 1, device=d) < EDGE)
    return torch.where(edge.any(3).any(2)[:, :, None, None], edge.float(), weights)


def click(masks, power=None):
    """One point (n, 1, 2) on each thing and its label; `power`: how near to the middle, for all of them."""
    few, first = thinned(masks)
    inside = depth(few)
    points = drawn(manners(inside) if power is None else inside**power * (inside > 0)) * STEP + first
    missed = (few.sum((1, 2, 3)) == 0).nonzero()[:, 0]
    if len(missed):
        points[missed] = drawn(masks[missed])  # too thin for every fourth pixel
    return points.float()[:, None], torch.ones(len(masks), 1, dtype=torch.long, device=masks.device)


def corners(masks):
    """First pixels (n, 2) and those behind the last (n, 2), x and y, of masks (n, h, w); of an empty one the sides and 0."""
    inside, low, high = masks > 0.5, [], []
    for line in (inside.any(1), inside.any(2)):
        place = torch.arange(line.shape[1], device=line.device)
        low.append(torch.where(line, place, len(place)).amin(1))
        high.append(torch.where(line, place, -1).amax(1) + 1)
    return torch.stack(low, 1), torch.stack(high, 1)


def box(masks):
    """The corners of each thing's box: exact, shaken, or sloppy, in 0.4, 0.4 and 0.2 of the cases."""
    size, n, d = masks.shape[-1], len(masks), masks.device
    low, high = (c.float() for c in corners(masks[:, 0]))
    shake = torch.tensor((0.0, 0.1, 0.25), device=d)
    shake = shake[torch.multinomial(torch.tensor((0.4, 0.4, 0.2), device=d).expand(n, -1), 1)]
    jitter = (torch.rand(2, n, 2, device=d) * 2 - 1) * shake * (high - low).clamp(min=1)
    points = torch.stack((low + jitter[0], high + jitter[1]), 1).clamp(0, size)
    return points, torch.tensor([2, 3], device=d).expand(n, 2)


def correction(before, truth):
    """A click (n, 1, 2) in the middle of the largest mistake and its label: 1 where the thing is, 0 where it is not.

    before, truth: (n, h, w), logits and coverage; the click in pixels of those.
    """
    wrong = ((before > 0) != (truth > 0.5)).float()[:, None]
    # Where nothing is wrong, a click inside confirms.
    wrong = torch.where(wrong.sum((1, 2, 3), keepdim=True) > 0, wrong, (truth > 0.5).float()[:, None])
    points = drawn(depth(wrong) ** 16)
    rows = torch.arange(len(truth), device=truth.device)
    labels = (truth[rows, points[:, 1], points[:, 0]] > 0.5).long()
    return points.float()[:, None], labels[:, None]
