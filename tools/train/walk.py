# SPDX-License-Identifier: MIT
"""Random walks that move the outline of a mask to the edges of the picture ("random walks with prior models", Grady, CVPR 2005).

docs/MODEL.md has the formulas.
"""

import torch
import torch.nn.functional as F

SHARPNESS = 3.0  # of the weights of edges
LEAST = 1e-5  # weight of an edge
ROUNDS = 10  # of successive over-relaxation, red cells and black ones in turn
RELAXATION = 1.5
MOST = 0.9999  # of 2p - 1, either way: logits of 9.9
OUTSIDE = -0.8  # 2p - 1 beyond a box: less would eat from it where it is shrunk


def edges(picture):
    """Weights (h, w - 1) and (h - 1, w) of the ways to the right and down, of colours (3, h, w)."""
    right = (picture[:, :, 1:] - picture[:, :, :-1]).square().sum(0)
    down = (picture[:, 1:] - picture[:, :-1]).square().sum(0)
    mean = ((right.mean() + down.mean()) / 2).clamp(min=1e-12)
    return tuple(torch.exp(-SHARPNESS * d / mean) + LEAST for d in (right, down))


def walked(low, picture, fidelity, box=None):
    """Logits (h, w) after a walk over `picture` (3, h, w); what is outside of `box` (2, 2), in cells, is no object."""
    h, w = low.shape
    right, down = edges(picture)
    left, right = F.pad(right, (1, 0)), F.pad(right, (0, 1))
    up, down = F.pad(down, (0, 0, 1, 0)), F.pad(down, (0, 0, 0, 1))
    given = torch.tanh(low / 2)
    total = fidelity + left + right + up + down
    y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    free = torch.ones(h, w, dtype=torch.bool)
    if box is not None:
        (x0, y0), (x1, y1) = box
        free = (x + 0.5 > x0) & (x + 0.5 <= x1) & (y + 0.5 > y0) & (y + 0.5 <= y1)
        free = free if free.any() else torch.ones_like(free)  # it may be smaller than a place
        given = torch.where(free, given, OUTSIDE)
    now = given
    for turn in range(2 * ROUNDS):
        around = F.pad(now, (1, 1, 1, 1))
        mean = fidelity * given + left * around[1:-1, :-2] + right * around[1:-1, 2:]
        mean = (mean + up * around[:-2, 1:-1] + down * around[2:, 1:-1]) / total
        now = torch.where(free & ((y + x) % 2 == turn % 2), now + RELAXATION * (mean - now), now)
    return 2 * torch.atanh(now.clamp(-MOST, MOST))
