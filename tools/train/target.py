# SPDX-License-Identifier: MIT
"""The target model of an object: a linear function of a frame's features that tells its cells from those around it.

It is fitted by ridge regression to the masks so far, and its scores are added to the decoder's logits ("fast target models",
Robinson et al., CVPR 2020). With "recall", so is what each cell's nearest neighbour in the frame that was prompted
tells; with "pieces", those of a mask whose cells are told to be ground are dropped. docs/MODEL.md has the formulas.
"""

import cv2
import numpy as np
import torch
import torch.nn.functional as F

import model

KEEP = 0.9  # of the sums of tracked frames, from frame to frame
FAR = 0.3  # weight of cells that no cell of the object is near
UNSURE = 0.2  # and of those that the mask is unsure about, least
MOST = 1.5  # score, either way; fitted are 1 and -1
RIDGE = 0.01  # of the mean of the diagonal
NEAR = 4  # cells, each way
RING = 1  # cells, each way, around the object that are neighbours one by one
NEAR_KEYS = 256  # of those, at most
SOFTNESS = 0.03  # of the likeness from which on a neighbour is believed
SHARE = 0.2  # of a mask's places that must stay, or no piece is dropped
DROPPED = -10.0  # logit, as of a mask prompt
DOUBTED, TRUSTED = 0.7, 0.85  # predicted IoU of a mask: ground beside it is believed from one on, wholly from the other


def own_of(low, votes):
    """Logits (1, 4h, 4h) without the pieces whose cells' votes (1, 2h, 2h), in whole 1024ths, have a sum below 0."""
    _, pieces = cv2.connectedComponents((low[0] > 0).numpy().astype(np.uint8), connectivity=8)
    told = (1024 * votes.clamp(-1, 1)).round()[0].repeat_interleave(2, 0).repeat_interleave(2, 1).double().numpy()
    against = np.bincount(pieces.flatten(), told.flatten()) < 0
    against[0] = False
    foreign = against[pieces]
    if (pieces > 0).sum() - foreign.sum() < SHARE * (pieces > 0).sum():
        return low
    return torch.where(torch.from_numpy(foreign), torch.full_like(low, DROPPED), low)


class Target:
    """Of one object that is prompted once."""

    def __init__(self, net):
        self.net, self.weight = net, net.samtrack["target_model"]["weight"]
        self.first = self.recent = None  # (n, n) and (n)
        self.recall = net.samtrack["target_model"].get("recall", {"weight": 0, "likeness": 0})

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

    def neighbours(self, low, iou):
        """Cells of a frame with a mask's logits (1, 4h, 4h): features of length 1 (k, n), and 2p - 1 (k), of ground beside the
        mask as far as its predicted IoU is trusted."""
        side = self.net.image_size // 8
        told = 2 * F.avg_pool2d(low.sigmoid()[None], 2) - 1
        near, beside = (F.max_pool2d((told > 0).float(), 2 * cells + 1, 1, cells) for cells in (RING, NEAR))
        cells = torch.cat((self.features[:, :-1].T.view(1, -1, side, side), told, beside), 1)
        own = cells.flatten(2)[0].T[near.flatten() > 0]
        most = min(len(own), NEAR_KEYS)
        own = own[torch.arange(most) * len(own) // max(most, 1)]
        far = F.avg_pool2d(cells, 2).flatten(2)[0].T[F.max_pool2d(near, 2).flatten() == 0]
        features, told, beside = torch.cat((own, far)).split((cells.shape[1] - 2, 1, 1), 1)
        trust = min(max((iou - DOUBTED) / (TRUSTED - DOUBTED), 0), 1)
        told = torch.where((told < 0) & (beside > 0), told * trust, told)
        return F.normalize(features, dim=1), told[:, 0]

    def recalled(self):
        """What the nearest neighbour of every cell tells (1, 2h, 2h)."""
        side, (keys, told) = self.net.image_size // 8, self.keys
        likeness, best = (F.normalize(self.features[:, :-1], dim=1) @ keys.T).max(1)
        return (told[best] * ((likeness - self.recall["likeness"]) / SOFTNESS).sigmoid()).view(1, side, side)

    def prompted(self, low, iou):
        """Learn from a prompted mask's logits (1, 4h, 4h); iou: predicted of it."""
        self.keys = self.neighbours(low, iou)
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
        """The logits (1, 4h, 4h) with the scores, and without foreign pieces."""
        if self.first is None:
            return low
        scores = self.weight * self.scores()
        if self.recall["weight"]:
            votes = self.recalled()
            scores = scores + self.recall["weight"] * votes
        low = low + F.interpolate(scores[None], scale_factor=2, mode="bilinear", align_corners=False)[0]
        return own_of(low, votes) if self.recall["weight"] and self.recall.get("pieces") else low

    def learn(self, low):
        """Learn from the logits (1, 4h, 4h) that a tracked frame has in the end."""
        if self.first is not None:
            self.recent = tuple(KEEP * r + (1 - KEEP) * x for r, x in zip(self.recent, self.products(low)))
