# SPDX-License-Identifier: MIT
"""The target model of an object: a linear function of a frame's features that tells its cells from those around it.

It is fitted by ridge regression to the masks so far, and its scores are added to the decoder's logits ("fast target models",
Robinson et al., CVPR 2020). docs/MODEL.md has the formulas.
"""

import torch
import torch.nn.functional as F

import model

KEEP = 0.9  # of the sums of tracked frames, from frame to frame
FAR = 0.3  # weight of cells that no cell of the object is near
UNSURE = 0.2  # and of those that the mask is unsure about, least
MOST = 1.5  # score, either way; fitted are 1 and -1
RIDGE = 0.01  # of the mean of the diagonal
NEAR = 4  # cells, each way


class Target:
    """Of one object that is prompted once."""

    def __init__(self, net):
        self.net, self.weight = net, net.samtrack["target_model"]["weight"]
        self.first = self.recent = None  # (n, n) and (n)

    def look(self, maps):
        """Begin a frame, with what model.encode() gives for it."""
        x = model.target_features(self.net, maps)[0]
        self.features = torch.cat((x, torch.ones(len(x), 1)), 1)

    def products(self, low):
        """What a mask's logits (1, 4h, 4h) add to the regression: (n, n) and (n)."""
        p = F.avg_pool2d(low.sigmoid()[None], 2)
        near = F.max_pool2d((p > 0.5).float(), 2 * NEAR + 1, 1, NEAR).flatten()
        p = p.flatten()
        inside = p > 0.5
        weight = torch.where(inside, 1 / inside.sum(), 1 / (~inside).sum())
        weight = weight * (FAR + (1 - FAR) * near) * (UNSURE + (1 - UNSURE) * (2 * p - 1).abs())
        weighted = self.features * weight[:, None]
        return weighted.T @ self.features, weighted.T @ (2 * p - 1)

    def prompted(self, low):
        self.first = self.products(low)
        self.recent = tuple(torch.zeros_like(x) for x in self.first)
        return low

    def scores(self):
        """Of every cell (1, 2h, 2h), from the frames before."""
        a, y = (f + r for f, r in zip(self.first, self.recent))
        a = a + RIDGE * a.diagonal().mean() * torch.eye(len(a))
        side = self.net.image_size // 8
        return (self.features @ torch.linalg.solve(a, y)).clamp(-MOST, MOST).view(1, side, side)

    def tracked(self, low):
        """The logits (1, 4h, 4h) with the scores; then they are learnt from."""
        if self.first is None:
            return low
        scores = F.interpolate(self.scores()[None], scale_factor=2, mode="bilinear", align_corners=False)[0]
        low = low + self.weight * scores
        self.recent = tuple(KEEP * r + (1 - KEEP) * x for r, x in zip(self.recent, self.products(low)))
        return low
