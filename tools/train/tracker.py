# SPDX-License-Identifier: MIT
"""Tracks one object through a stream as the published video predictor does (hole filling off).

With "memory_selection": "present" in the configuration, frames that the object is absent from are not remembered and
not counted, like those that SAM 3's tracker leaves out. With "box_zoom": k, a box is answered in a window of k times its
size, with "click_zoom": k, a click is answered again in one of k times its answer's. With "piece_reach" pieces of a tracked
mask that are far from the mask before are dropped. With "odds_exponent" answers to points are cut by their predicted IoU (docs/MODEL.md).
"""

import math

import cv2
import numpy as np
import torch
import torch.nn.functional as F

import model
import target
import walk

SMALLEST_WINDOW = 16  # model px
SLACK = 1e-3  # of four px: a last bit of the box's coordinates moves no window
OUTSIDE = -10.0  # logit of what lies outside of a window, and of other pieces than a click's, as of a mask prompt
LEAST_REACH = 2  # places of 4 px that a piece may be away from the last mask, whatever its size
LEAST_IOU = 0.05  # that a predicted one counts as
SHARPNESS = 4.0  # of the weight of a mask among those that answers to a click are compared with
NEAR_SHARE = 0.2  # of the last mask's area that near pieces must have


def resize(image, size):
    """(n, c, H, W) float to `size` (h, w), triangle filter over the source as the models' own resize."""
    return F.interpolate(image.float(), size=size, mode="bilinear", align_corners=False, antialias=True)


def select_multi(masks, ious, tokens):
    """Best of masks 1 to 3 by predicted IoU, and its token."""
    best = ious[:, 1:].argmax(1) + 1
    rows = torch.arange(len(masks))
    return masks[rows, best], tokens[rows, best]


def select_single(masks, ious, tokens):
    """Mask 0, or the best of 1 to 3 where mask 0 is not stable; the token is always 0's."""
    first = masks[:, 0]
    inner, outer = (first > 0.05).sum((1, 2)), (first > -0.05).sum((1, 2))
    stable = torch.where(outer > 0, inner / outer, torch.ones(())) >= 0.98
    best, _ = select_multi(masks, ious, tokens)
    return torch.where(stable[:, None, None], first, best), tokens[:, 0]


def window_of(box, zoom, size):
    """(x, y, side): the square around a box (x0, y0, x1, y1) in model px, of `zoom` times its longer side; multiples of 4."""
    x0, y0, x1, y1 = box
    side = 4 * math.ceil(max(zoom * max(x1 - x0, y1 - y0), SMALLEST_WINDOW) / 4 - SLACK)
    last = size - side
    return *(min(max(4 * math.floor((a + b - side) / 8 + 0.5 + SLACK), 0), last) for a, b in ((x0, x1), (y0, y1))), side


def put_back(low, window):
    """Logits (1, s, s) of a window, at their place in those of the whole, s = a quarter of the model's side."""
    left, top, side = (n // 4 for n in window)
    whole = torch.full_like(low, OUTSIDE)
    whole[:, top : top + side, left : left + side] = resize(low[:, None], (side, side))[:, 0]
    return whole


def piece_of(low, click):
    """Logits (1, s, s) with the piece alone that a click (x, y) in model px is on, or the nearest one; neighbours by corners, too."""
    count, pieces = cv2.connectedComponents((low[0] > 0).numpy().astype(np.uint8), connectivity=8)
    if count < 2:
        return low
    x, y = (min(int(v) // 4, low.shape[2] - 1) for v in click)
    rows, columns = np.nonzero(pieces)
    near = ((rows - y) ** 2 + (columns - x) ** 2).argmin()
    others = torch.from_numpy((pieces > 0) & (pieces != pieces[rows[near], columns[near]]))
    return torch.where(others, torch.full_like(low, OUTSIDE), low)


def cut_of(low, more):
    """Logits (1, s, s) with `more` where that makes a piece of what is above 0 larger."""
    pieces = cv2.connectedComponents((low[0] + more > 0).numpy().astype(np.uint8), connectivity=8)[1]
    own = np.unique(pieces[(low[0] > 0).numpy()])
    return torch.where(torch.from_numpy(np.isin(pieces, own)), low + more, low)


def box_of(low):
    """(x0, y0, x1, y1, area) of logits (1, s, s) above 0, in places; None if there are none."""
    y, x = torch.nonzero(low[0] > 0, as_tuple=True)
    return (x.min().item(), y.min().item(), x.max().item() + 1, y.max().item() + 1, len(x)) if len(x) else None


def near_of(low, last, reach):
    """Logits (1, s, s) without the pieces that are farther from the box of the mask before than `reach` of its size; `last` as box_of()."""
    x0, y0, x1, y1, area = last
    far = int(reach * max(x1 - x0, y1 - y0)) + LEAST_REACH
    _, pieces = cv2.connectedComponents((low[0] > 0).numpy().astype(np.uint8), connectivity=8)
    within = pieces[max(y0 - far, 0) : y1 + far, max(x0 - far, 0) : x1 + far]
    near = np.isin(pieces, within[within > 0])
    if not near.any() or near.sum() < NEAR_SHARE * area:
        return low
    return torch.where(torch.from_numpy((pieces > 0) & ~near), torch.full_like(low, target.DROPPED), low)


def agreement(answers, looks):
    """Of each of `answers`, [(logits, predicted IoU)], its mean IoU with those of `looks`, which weigh e^(SHARPNESS IoU)."""
    seen = torch.stack([low.flatten() > 0 for low, _ in looks]).float()
    own = torch.stack([low.flatten() > 0 for low, _ in answers]).float()
    both = own @ seen.T
    union = own.sum(1, keepdim=True) + seen.sum(1) - both
    weight = torch.tensor([math.exp(SHARPNESS * iou) for _, iou in looks])
    return (both / union.clamp(min=1)) @ weight / weight.sum()


def told_iou(config, expected, kind):
    """The IoU that is told of an expected one: how good masks of that `kind` (clicks, boxes, tracked) are in the mean ("told_iou")."""
    curve = config.get("told_iou", {}).get(kind)
    if not curve or not 0 <= expected < 1:  # 1 is that of a mask prompt
        return expected
    return float(np.interp(expected, np.linspace(0, 1, len(curve)), curve))


class Tracker:
    def __init__(self, net):
        self.net = net.eval()
        self.size = net.image_size
        self.zoom, self.click_zoom = (net.samtrack.get(f"{kind}_zoom", 0) for kind in ("box", "click"))
        self.exponent = net.samtrack.get("odds_exponent", 0)
        self.selects = net.samtrack.get("memory_selection") == "present"
        self.least = net.samtrack.get("memory_iou", 0)
        self.frame, self.score, self.expected, self.asked = -1, 0.0, 0.0, "others"
        self.target = target.Target(net) if "target_model" in net.samtrack else None
        self.reach, self.last = net.samtrack.get("piece_reach", 0), None
        self.fidelity = net.samtrack.get("random_walk", {}).get("fidelity", 0)
        self.prompted = {}  # frame -> (map, pointer)
        self.tracked = {}

    @property
    def told(self):
        """The IoU that is told with the last mask."""
        kind = self.asked if self.frame in self.prompted else "tracked"
        return told_iou(self.net.samtrack, self.expected, kind)

    def _count(self):
        """Begin a frame; it has the number of the one before if that is forgotten."""
        if self.selects and (self.score <= 0 or self.expected < self.least) and self.frame in self.tracked:
            del self.tracked[self.frame]
        else:
            self.frame += 1

    def _input(self, image):
        """`image`: (1, 3, H, W) RGB 0..255."""
        self.video = image.shape[2:]
        return model.normalise(self.net, resize(image, (self.size, self.size)))

    def _features(self, image):
        return self._look(*self.seen(image))

    def seen(self, image):
        """What a frame is known by: its picture, as large as the logits, and what model.encode() gives for it."""
        x = self._input(image)
        return self._small(x), model.encode(self.net, x)

    def _look(self, picture, maps):
        """Begin a frame, with what seen() gives for it."""
        self.picture = picture
        if self.target:
            self.target.look(maps)
        return maps

    def _small(self, x):
        return resize(x, (self.size // 4, self.size // 4))[0]

    def _walked(self, low, score, picture, box=None):
        """Logits (1, s, s) after a random walk, if the model asks for one; `box` (2, 2) in cells."""
        if not self.fidelity or score <= 0:
            return low
        return walk.walked(low[0], picture, self.fidelity, box)[None]

    def _prompted(self, low):
        """The logits (1, s, s) of a prompted frame, which are learnt from."""
        return self.target.prompted(low, self.expected) if self.target else low

    def _tracked(self, low):
        """Those of a tracked one, with a target model's scores and without far pieces; likewise."""
        if self.target:
            low = self.target.tracked(low)
        if self.reach and self.last:
            low = near_of(low, self.last, self.reach)
        if self.target:
            self.target.learn(low)
        return low

    def _commit(self, coarse, low, pointer, score, prompted):
        if score > 0:
            low = self._prompted(low) if prompted else self._tracked(low)
            self.last = box_of(low) or self.last
        high = model.upsample(low[:, None], self.size)
        probability = (high > 0).float() if prompted else high.sigmoid()
        present = (score > 0).float()
        memory = model.encode_memory(self.net, coarse, probability, present)
        store = self.prompted if prompted else self.tracked
        store[self.frame] = (memory.bfloat16().float(), pointer)
        self.score = score.item()
        shown = low if prompted else self._walked(low, score, self.picture)
        return F.interpolate(shown[:, None], size=self.video, mode="bilinear", align_corners=False)[0, 0] > 0

    def _chosen(self, out, multi):
        """The logits (1, s, s), the token and the score that count, of what the decoder gives."""
        masks, ious, tokens, score = out
        low, token = (select_multi if multi else select_single)(masks, ious, tokens)
        # Of the mask that is kept: mask 0 where it is stable.
        kept = (low[:, None] == masks).flatten(2).all(2).float().argmax(1)
        self.expected = ious[0, kept[0]].item()
        return torch.where(score[..., None] > 0, low, torch.full_like(low, model.ABSENT)), token, score

    def _finish(self, coarse, low, token, score, prompted):
        return self._commit(coarse, low, model.point_to(self.net, token, (score > 0).float()), score, prompted)

    def _answered(self, coarse, low, token, score):
        """Finish a frame with an answer to points: what is above 0 of it raises its expected IoU ("odds_exponent")."""
        if score > 0 and self.exponent:
            low = cut_of(low, -self.exponent * math.log(min(max(self.expected, LEAST_IOU), 1)))
        return self._finish(coarse, low, token, score, True)

    @torch.inference_mode()
    def prompt_points(self, image, points, labels):
        """Start with points in pixels of `image`; labels 1, 0, and 2, 3 for a box's corners."""
        self._count()
        self.asked = "clicks" if len(points) == 1 else "boxes" if labels == [2, 3] else "others"
        x = self._input(image)
        maps = self._look(self._small(x), model.encode(self.net, x))
        points = torch.tensor(points).float() * torch.tensor([self.size / image.shape[3], self.size / image.shape[2]])
        window = window_of(points.flatten().tolist(), self.zoom, self.size) if labels == [2, 3] and self.zoom else None
        if window and window[2] < self.size:
            return self._answered(maps[2], *self._zoomed(x, points, labels, window))
        out = self._answer(maps, points, labels)
        if labels == [1] and self.click_zoom and out[3] > 0:
            return self._answered(maps[2], *self._agreed(x, points, out))
        low, token, score = self._chosen(out, len(points) == 1)
        low = self._walked(low, score, self.picture, points / 4 if labels == [2, 3] else None)
        return self._answered(maps[2], low, token, score)

    def _agreed(self, x, click, out):
        """What counts for a click (1, 2) in model px on the input `x`, of the three answers that the decoder gives as `out`.

        Each is cut to the clicked piece, and asked for again in the window of that; taken is the one that all masks agree with most.
        """
        masks, ious, tokens, score = out
        looks, answers = [], []  # (logits, predicted IoU, token, score)
        for k in (1, 2, 3):
            low = piece_of(self._walked(masks[:, k], score, self.picture), click[0])
            look = low, ious[0, k].item(), tokens[:, k], score
            looks.append(look)
            window = self._window_of_answer(low, click)
            if window and window[2] < self.size:
                low, token, seen = self._zoomed(x, click, [1], window)
                if seen > 0:
                    look = piece_of(low, click[0]), self.expected, token, seen
                    looks.append(look)
            answers.append(look)
        low, self.expected, token, score = answers[agreement([(a[0], a[1]) for a in answers], [(a[0], a[1]) for a in looks]).argmax()]
        return low, token, score

    def _window_of_answer(self, low, click):
        """The window of the box of logits (1, s, s) above 0 and a click (1, 2) in model px; None if all are below."""
        box = box_of(low)
        if not box:
            return None
        first, last = ((4 * torch.tensor(corner)) for corner in (box[:2], box[2:4]))
        corners = torch.cat((torch.minimum(first, click[0]), torch.maximum(last, click[0])))
        return window_of(corners.tolist(), self.click_zoom, self.size)

    def _answer(self, maps, points, labels):
        """What the decoder gives for points (n, 2) in model px, without memory."""
        fine, middle, coarse = maps
        sparse = model.embed_points(self.net, points[None], torch.tensor(labels)[None])
        start = coarse + self.net.no_memory_embedding.reshape(1, -1, 1, 1)
        return model.decode(self.net, start, fine, middle, sparse, model.dense_none(self.net, 1))

    def _zoomed(self, x, points, labels, window):
        """What counts for points (n, 2) in model px where the window of the input `x` is all that the model sees."""
        left, top, side = window
        close = resize(x[:, :, top : top + side, left : left + side], (self.size, self.size))
        near = (points - torch.tensor([left, top])) * (self.size / side)
        low, token, score = self._chosen(self._answer(model.encode(self.net, close), near, labels), len(points) == 1)
        picture = self._small(x[:, :, top : top + side, left : left + side])
        low = self._walked(low, score, picture, near / 4 if labels == [2, 3] else None)
        return put_back(low, window), token, score

    @torch.inference_mode()
    def prompt_mask(self, image, mask):
        """Start with a mask (H, W), nonzero where the object is."""
        self._count()
        self.asked = "others"
        fine, middle, coarse = self._features(image)
        mask = (mask > 0).float()[None, None]
        if mask.shape[2:] != (self.size, self.size):
            mask = (resize(mask, (self.size, self.size)) >= 0.5).float()
        low = resize(20 * mask - 10, (self.size // 4, self.size // 4))[:, 0]
        token, own = model.mask_pointer(self.net, coarse, fine, middle, mask)
        pointer = model.point_to(self.net, token, (own > 0).float())
        present, self.expected = mask.amax((1, 2, 3))[:, None], 1.0
        pointer = torch.lerp(self.net.no_object_pointer, pointer, present)
        return self._commit(coarse, low, pointer, 20 * present - 10, True)

    @torch.inference_mode()
    def track(self, image):
        self._count()
        fine, middle, coarse = self._features(image)
        now = self.frame
        recent = [t for t in range(now - self.net.samtrack["num_maskmem"] + 1, now) if t in self.tracked]
        memories = [(m, -1) for m, _ in self.prompted.values()]
        memories += [(self.tracked[t][0], now - t - 1) for t in recent]
        pointers = [(p, now - t) for t, (_, p) in self.prompted.items()]
        ages = range(1, model.POINTERS)
        pointers += [(self.tracked[now - a][1], a) for a in ages if now - a in self.tracked]
        conditioned = model.attend(self.net, coarse, memories, pointers)
        sparse, dense = model.no_points(self.net, 1), model.dense_none(self.net, 1)
        out = model.decode(self.net, conditioned, fine, middle, sparse, dense)
        mask = self._finish(coarse, *self._chosen(out, True), False)
        self.tracked.pop(now - model.POINTERS, None)
        return mask
