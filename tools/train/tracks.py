# SPDX-License-Identifier: MIT
"""Targets from real motion: regions of video followed by dense optical flow.

Regions are those that move against the background (cut out along colour edges) and evenly coloured
patches. The chain of flows carries the first mask into later frames. A pixel whose forward and
backward flow do not meet is marked unknown. A track ends where its region is mostly unknown or no
longer looks like itself.
"""

import os

import cv2
import numpy as np

UNKNOWN = 128
LENGTH = 12  # frames of a track at most
SHORTEST = 4
MAP = (256, 144)  # (w, h) of masks and flow


def flow_between(a, b):
    """Dense flow from grey image a to b, float (h, w, 2)."""
    return cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(a, b, None)


def grid():
    return np.stack(np.meshgrid(np.arange(MAP[0]), np.arange(MAP[1])), -1).astype(np.float32)


def sample(image, where, order=cv2.INTER_LINEAR):
    """`image` at the points `where` (h, w, 2); zero outside."""
    return cv2.remap(image, where[..., 0], where[..., 1], order, borderMode=cv2.BORDER_CONSTANT, borderValue=0)


def own_motion(flow):
    """How far each pixel's flow is from the camera's, pixels (h, w); None without a camera motion."""
    points = grid()[4::8, 4::8].reshape(-1, 2)
    moved = points + flow[4::8, 4::8].reshape(-1, 2)
    matrix, inliers = cv2.findHomography(points, moved, cv2.RANSAC, 0.7)
    if matrix is None or inliers.mean() < 0.4:
        return None
    expected = cv2.perspectiveTransform(grid().reshape(1, -1, 2), matrix).reshape(MAP[1], MAP[0], 2)
    return np.linalg.norm(grid() + flow - expected, axis=-1)


def cut_out(colour, rough):
    """`rough` (bool) drawn to the colour edges around it; None if that makes another thing of it."""
    size = max(3, int(np.sqrt(np.count_nonzero(rough)) / 6)) | 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    rough8 = rough.astype(np.uint8)
    sure, wide = cv2.erode(rough8, kernel), cv2.dilate(rough8, kernel)
    if not sure.any() or wide.all():
        return None
    labels = np.full(rough.shape, cv2.GC_BGD, np.uint8)
    labels[wide > 0] = cv2.GC_PR_BGD
    labels[rough] = cv2.GC_PR_FGD
    labels[sure > 0] = cv2.GC_FGD
    models = np.zeros((2, 1, 65))
    cv2.grabCut(colour, labels, None, models[0], models[1], 3, cv2.GC_INIT_WITH_MASK)
    mask = tidy((labels == cv2.GC_FGD) | (labels == cv2.GC_PR_FGD))
    if mask is None or np.count_nonzero(mask & rough) < 0.6 * np.count_nonzero(mask | rough):
        return None
    return mask


def tidy(mask):
    """The largest piece of a mask, smoothed and without small holes; None if nothing is left."""
    mask = cv2.medianBlur(mask.astype(np.uint8) * 255, 5)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask)
    if count < 2:
        return None
    largest = (labels == 1 + stats[1:, cv2.CC_STAT_AREA].argmax()).astype(np.uint8)
    outlines, _ = cv2.findContours(largest, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    whole = cv2.drawContours(np.zeros_like(largest), outlines, -1, 1, -1)
    holes = np.count_nonzero(whole) - np.count_nonzero(largest)
    return (whole if holes < 0.1 * np.count_nonzero(whole) else largest) > 0


def pieces(mask, low=0.004, high=0.35, most=3):
    """Connected pieces of fitting area, largest first."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    areas = stats[:, cv2.CC_STAT_AREA] / mask.size
    order = [i for i in np.argsort(-areas) if i and low < areas[i] < high]
    return [labels == i for i in order[:most]]


def moving(colour, flows):
    """Things that move against the background in `flows` (of neighbouring frames)."""
    rests = [r for r in (own_motion(f) for f in flows) if r is not None]
    if not rests:
        return []
    rest = np.median(rests, 0)
    scale = max(0.5, 3 * np.median(rest), 0.25 * np.percentile(rest, 99))
    rough = cv2.morphologyEx((rest > scale).astype(np.uint8), cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    rough = cv2.morphologyEx(rough, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8))
    cuts = (cut_out(colour, p) for p in pieces(rough > 0))
    return [m for m in cuts if m is not None]


def whole(mask):
    """Whether a mask hardly touches the frame's border, where flow invents motion and things are cut."""
    touching = sum(np.count_nonzero(line) for line in (mask[0], mask[-1], mask[:, 0], mask[:, -1]))
    return touching < 0.6 * np.sqrt(np.count_nonzero(mask))


def patches(colour, rng, most=1):
    """Evenly coloured regions, from random seeds."""
    even = cv2.pyrMeanShiftFiltering(colour, 8, 18)
    found = []
    for _ in range(12):
        seed = (int(rng.integers(8, MAP[0] - 8)), int(rng.integers(8, MAP[1] - 8)))
        fill = np.zeros((MAP[1] + 2, MAP[0] + 2), np.uint8)
        cv2.floodFill(even, fill, seed, 0, (4,) * 3, (4,) * 3, 8 | (1 << 8) | cv2.FLOODFILL_MASK_ONLY)
        mask = tidy(fill[1:-1, 1:-1] > 0)
        share = 0 if mask is None else mask.mean()
        if 0.008 < share < 0.2 and not any((m & mask).any() for m in found):
            found.append(mask)
        if len(found) == most:
            break
    return found


def follow(mask, colours, forward, backward):
    """Masks u8 (n, h, w) of `mask` seen in each of `colours`; fewer where it is lost."""
    origin, certain = grid(), np.ones(mask.shape, np.float32)
    first, area = mask.astype(np.float32), np.count_nonzero(mask)
    out = [mask.astype(np.uint8) * 255]
    for t in range(len(colours) - 1):
        back = backward[t]
        where = grid() + back
        miss = np.linalg.norm(back + sample(forward[t], where), axis=-1)
        meets = (miss < 0.7 + 0.05 * np.linalg.norm(back, axis=-1)).astype(np.float32)
        inside = sample(np.ones_like(first), where)
        certain = np.minimum(sample(certain, where), meets * (inside > 0.99))
        origin = sample(origin, where)
        now = sample(first, origin) > 0.5
        if not area / 2.5 < np.count_nonzero(now) < 2.5 * area:
            break
        near = cv2.dilate(now.astype(np.uint8), np.ones((7, 7), np.uint8)) > 0
        changed = np.abs(colours[t + 1].astype(np.float32) - sample(colours[0], origin)).mean(-1)
        if certain[near].mean() < 0.65 or changed[now].mean() > 30:
            break
        step = now.astype(np.uint8) * 255
        step[(certain < 0.5) & near] = UNKNOWN
        out.append(step)
    return np.stack(out)


def flows_of(frames):
    """The frames of one video (n, H, W, 3) at MAP, and the flows from each to the next and back."""
    colours = [cv2.resize(f, MAP, interpolation=cv2.INTER_AREA) for f in frames]
    greys = [cv2.cvtColor(c, cv2.COLOR_RGB2GRAY) for c in colours]
    forward = [flow_between(a, b) for a, b in zip(greys, greys[1:])]
    backward = [flow_between(b, a) for a, b in zip(greys, greys[1:])]
    return colours, forward, backward


def of_video(frames, rng, every=2):
    """[(first frame, masks, whether it moves by itself)] of one video, (n, H, W, 3) RGB."""
    colours, forward, backward = flows_of(frames)
    tracks = []
    for t in range(1, len(frames) - SHORTEST, every):
        things = [(m, whole(m)) for m in moving(colours[t], forward[t - 1 : t + 2])]
        if t % (4 * every) == 1:
            things += [(m, False) for m in patches(colours[t], rng)]
        for mask, moves in things:
            end = t + LENGTH
            masks = follow(mask, colours[t:end], forward[t : end - 1], backward[t : end - 1])
            if len(masks) >= SHORTEST:
                tracks.append((t, masks, moves))
    return tracks


def of_videos(videos, seed=0):
    """[(first frame in the concatenation of all videos, masks, whether it moves by itself)]."""
    rng, first, tracks = np.random.default_rng(seed), 0, []
    for frames in videos:
        tracks += [(first + t, masks, moves) for t, masks, moves in of_video(frames, rng)]
        first += len(frames)
    return tracks


def both_ways(mask, t, colours, forward, backward):
    """(first frame, masks) of `mask` in frame t followed from there into the past and into the future."""
    half = LENGTH // 2
    end, begin = t + half, max(0, t - half + 1)
    after = follow(mask, colours[t:end], forward[t : end - 1], backward[t : end - 1])
    # Time reversed: the flow to the frame before is the one that leads on.
    colours, forward, backward = (part[::-1] for part in (colours[begin : t + 1], backward[begin:t], forward[begin:t]))
    before = follow(mask, colours, forward, backward)
    return t + 1 - len(before), np.concatenate((before[:0:-1], after))


def of_masks(videos, found):
    """[(first frame, masks, whether it moves by itself)] of [(frame, mask bool, whether it moves by itself)]."""
    first, tracks = 0, []
    for frames in videos:
        here = [f for f in found if first <= f[0] < first + len(frames)]
        flows = flows_of(frames) if here else None
        for t, mask, moves in here:
            small = cv2.resize(mask.astype(np.float32), MAP, interpolation=cv2.INTER_AREA) > 0.5
            begin, masks = both_ways(small, t - first, *flows)
            if len(masks) >= SHORTEST:
                tracks.append((first + begin, masks, moves))
        first += len(frames)
    return tracks


def mark(videos):
    """What tells one set of videos from another."""
    return np.array([[len(v), int(v[0].astype(np.int64).sum())] for v in videos])


def save(path, videos, tracks):
    part = f"{path}.part.npz"
    np.savez_compressed(
        part,
        mark=mark(videos),
        starts=np.array([t for t, _, _ in tracks], np.int64),
        counts=np.array([len(m) for _, m, _ in tracks], np.int64),
        moves=np.array([m for _, _, m in tracks], bool),
        masks=np.concatenate([m for _, m, _ in tracks]) if tracks else np.zeros((0, MAP[1], MAP[0]), np.uint8),
    )
    os.replace(part, path)


def load(path, videos):
    """What save() wrote for the same videos, else None."""
    if not os.path.exists(path):
        return None
    with np.load(path) as f:
        if "moves" not in f or f["mark"].shape != mark(videos).shape or (f["mark"] != mark(videos)).any():
            return None
        masks = np.split(f["masks"], np.cumsum(f["counts"])[:-1])
        return list(zip(f["starts"].tolist(), masks, f["moves"].tolist())) if len(f["starts"]) else []
