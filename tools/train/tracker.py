"""Tracks one object through a stream as the published video predictor does (hole filling off).

With "memory_selection": "present" in the configuration, frames that the object is absent from are not remembered and
not counted, like those that SAM 3's tracker leaves out.
"""

import torch
import torch.nn.functional as F

import model


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


class Tracker:
    def __init__(self, net):
        self.net = net.eval()
        self.size = net.image_size
        self.selects = net.samtrack.get("memory_selection") == "present"
        self.frame, self.score = -1, 0.0
        self.prompted = {}  # frame -> (map, pointer)
        self.tracked = {}

    def _count(self):
        """Begin a frame; it has the number of the one before if that is forgotten."""
        if self.selects and self.score <= 0 and self.frame in self.tracked:
            del self.tracked[self.frame]
        else:
            self.frame += 1

    def _features(self, image):
        """`image`: (1, 3, H, W) RGB 0..255."""
        self.video = image.shape[2:]
        return model.encode(self.net, model.normalise(resize(image, (self.size, self.size))))

    def _commit(self, coarse, low, pointer, score, prompted):
        high = model.upsample(low[:, None], self.size)
        probability = (high > 0).float() if prompted else high.sigmoid()
        present = (score > 0).float()
        memory = model.encode_memory(self.net, coarse, probability, present)
        store = self.prompted if prompted else self.tracked
        store[self.frame] = (memory.bfloat16().float(), pointer)
        self.score = score.item()
        return F.interpolate(low[:, None], size=self.video, mode="bilinear", align_corners=False)[0, 0] > 0

    def _finish(self, coarse, out, multi, prompted):
        masks, ious, tokens, score = out
        low, token = (select_multi if multi else select_single)(masks, ious, tokens)
        present = (score > 0).float()
        low = torch.where(present[..., None] > 0, low, torch.full_like(low, model.ABSENT))
        return self._commit(coarse, low, model.point_to(self.net, token, present), score, prompted)

    @torch.inference_mode()
    def prompt_points(self, image, points, labels):
        """Start with points in pixels of `image`; labels 1, 0, and 2, 3 for a box's corners."""
        self._count()
        fine, middle, coarse = self._features(image)
        scale = torch.tensor([self.size / image.shape[3], self.size / image.shape[2]])
        sparse = model.embed_points(self.net, torch.tensor(points).float()[None] * scale, torch.tensor(labels)[None])
        start = coarse + self.net.no_memory_embedding.reshape(1, -1, 1, 1)
        out = model.decode(self.net, start, fine, middle, sparse, model.dense_none(self.net, 1))
        return self._finish(coarse, out, len(points) == 1, True)

    @torch.inference_mode()
    def prompt_mask(self, image, mask):
        """Start with a mask (H, W), nonzero where the object is."""
        self._count()
        fine, middle, coarse = self._features(image)
        mask = (mask > 0).float()[None, None]
        if mask.shape[2:] != (self.size, self.size):
            mask = (resize(mask, (self.size, self.size)) >= 0.5).float()
        low = resize(20 * mask - 10, (self.size // 4, self.size // 4))[:, 0]
        token, own = model.mask_pointer(self.net, coarse, fine, middle, mask)
        pointer = model.point_to(self.net, token, (own > 0).float())
        present = mask.amax((1, 2, 3))[:, None]
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
        mask = self._finish(coarse, model.decode(self.net, conditioned, fine, middle, sparse, dense), True, False)
        self.tracked.pop(now - model.POINTERS, None)
        return mask
