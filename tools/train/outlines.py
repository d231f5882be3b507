# SPDX-License-Identifier: MIT
"""Targets from real outlines: regions of video whose edges GrabCut refines.

Regions are those that optical flow followed (tracks.py) and those that GrabCut finds in random boxes.
An outline is kept if it agrees with its region, a perturbed start gives the same outline, it is one
piece that does not fill its box, and it lies on a change of colour.
"""

import concurrent.futures
import multiprocessing
import os

import cv2
import numpy as np

import measures
import tracks

SIZE = (384, 216)  # (w, h) at which outlines are sought
STEPS = 3  # of GrabCut


def bounds(mask):
    """x0, y0, x1, y1, the last two exclusive."""
    y, x = np.nonzero(mask)
    return x.min(), y.min(), x.max() + 1, y.max() + 1


def widened(box, share):
    """A box grown on every side by a share of its mean side, within the picture."""
    x0, y0, x1, y1 = box
    by = max(3, round(share * (x1 - x0 + y1 - y0) / 2))
    return max(0, x0 - by), max(0, y0 - by), min(SIZE[0], x1 + by), min(SIZE[1], y1 + by)


def solve(colour, labels, around):
    """What GrabCut makes of `labels` looking at the box `around` only; None where nothing is left."""
    x0, y0, x1, y1 = around
    part = np.ascontiguousarray(labels[y0:y1, x0:x1])
    if not (part & 1).any() or (part & 1).all():
        return None
    models = np.zeros((2, 1, 65))
    cv2.setRNGSeed(1)
    cv2.grabCut(
        np.ascontiguousarray(colour[y0:y1, x0:x1]), part, None, models[0], models[1], STEPS, cv2.GC_INIT_WITH_MASK
    )
    mask = np.zeros(labels.shape, bool)
    mask[y0:y1, x0:x1] = (part & 1) == 1
    return mask


def refine(colour, region, margin):
    """`region` drawn to the edges: sure core, likely region, likely ground in its box, sure ground outside."""
    box = widened(bounds(region), margin)
    side = max(3, int(np.sqrt(np.count_nonzero(region)) / 5)) | 1
    core = cv2.erode(region.astype(np.uint8), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side)), borderValue=0)
    labels = np.full(region.shape, cv2.GC_BGD, np.uint8)
    labels[box[1] : box[3], box[0] : box[2]] = cv2.GC_PR_BGD
    labels[region] = cv2.GC_PR_FGD
    labels[core > 0] = cv2.GC_FGD
    return solve(colour, labels, widened(box, 0.3))


def in_box(colour, box):
    """What GrabCut finds in a box and nothing else, roughly: at half the size; the largest piece."""
    half = cv2.resize(colour, (SIZE[0] // 2, SIZE[1] // 2), interpolation=cv2.INTER_AREA)
    x0, y0, x1, y1 = (v // 2 for v in box)
    labels = np.full(half.shape[:2], cv2.GC_BGD, np.uint8)
    labels[y0:y1, x0:x1] = cv2.GC_PR_FGD
    around = [v // 2 for v in widened(box, 0.4)]
    found = solve(half, labels, around)
    mask = None if found is None else tracks.tidy(found)
    return None if mask is None else cv2.resize(mask.astype(np.uint8), SIZE, interpolation=cv2.INTER_NEAREST) > 0


def shaken(region, rng):
    """The region moved and thickened or thinned a little."""
    length = max(1.0, 0.06 * np.sqrt(np.count_nonzero(region)))
    move = np.float32([[1, 0, rng.uniform(-length, length)], [0, 1, rng.uniform(-length, length)]])
    moved = cv2.warpAffine(region.astype(np.uint8), move, SIZE)
    kernel = np.ones((2 * int(length / 2) + 1,) * 2, np.uint8)
    return (cv2.dilate if rng.random() < 0.5 else cv2.erode)(moved, kernel) > 0


def on_edges(colour, mask, reach=7, contrast=16):
    """The share of the outline across which the mean colour changes by `contrast` of 255 or more."""
    inside = mask.astype(np.float32)
    near = (cv2.blur(inside, (reach, reach)) > 0) & (cv2.blur(inside, (reach, reach)) < 1)
    means = []
    for side in (inside, 1 - inside):
        total = cv2.blur(colour.astype(np.float32) * side[..., None], (reach, reach))
        means.append(total / np.maximum(cv2.blur(side, (reach, reach)), 1e-3)[..., None])
    line = near & (cv2.erode(inside, np.ones((3, 3))) < inside)
    jump = np.abs(means[0] - means[1]).max(-1)[line]
    return np.mean(jump > contrast) if len(jump) else 0.0


def shapely(mask):
    """Whether a mask may be a thing: of fitting size, not its whole box, hardly cut by the frame."""
    share = mask.mean()
    if not 0.004 < share < 0.4:
        return False
    x0, y0, x1, y1 = bounds(mask)
    fill = np.count_nonzero(mask) / ((x1 - x0) * (y1 - y0))
    box = mask[y0:y1, x0:x1]
    # A long straight side on the box is GrabCut's own border, not the thing's.
    flat = max(line.mean() for line in (box[0], box[-1], box[:, 0], box[:, -1]))
    cut = sum(np.count_nonzero(line) for line in (mask[0], mask[-1], mask[:, 0], mask[:, -1]))
    return 0.2 < fill < 0.88 and flat < 0.7 and min(x1 - x0, y1 - y0) > 10 and cut < 0.8 * np.sqrt(np.count_nonzero(mask))


def believable(colour, region, rng):
    """The outline of a region (bool at SIZE); None where GrabCut cannot be trusted with it."""
    found = refine(colour, region, 0.15)
    if found is None or not found.any():
        return None
    mask = tracks.tidy(found)
    # One piece: what tidy() leaves out must be little.
    if mask is None or measures.region(mask, found) < 0.85 or measures.region(mask, region) < 0.5 or not shapely(mask):
        return None
    if on_edges(colour, mask) < 0.78:
        return None
    start = shaken(region, rng)
    again = refine(colour, start, rng.uniform(0.08, 0.35)) if start.any() else None
    return mask if again is not None and measures.region(mask, again) >= 0.85 else None


def thrown(colour, rng, count):
    """Regions that GrabCut finds in boxes thrown at random; each once drawn in to what was found."""
    w, h = SIZE
    for _ in range(count):
        side = np.exp(rng.uniform(np.log(0.15), np.log(0.6))) * h
        bw, bh = int(min(w, side * np.exp(rng.uniform(-0.2, 0.6)))), int(min(h, side * np.exp(rng.uniform(-0.5, 0.3))))
        x, y = int(rng.integers(0, w - bw + 1)), int(rng.integers(0, h - bh + 1))
        mask = in_box(colour, (x, y, x + bw, y + bh))
        if mask is not None and shapely(mask):
            yield mask


def of_frame(frame, regions, rng, boxes):
    """[(outline, whether it moves by itself)] of one RGB frame; regions: [(mask of any size, moves)]."""
    colour = cv2.resize(frame, SIZE, interpolation=cv2.INTER_AREA)
    wanted = [(cv2.resize(r.astype(np.uint8), SIZE, interpolation=cv2.INTER_NEAREST) > 0, m) for r, m in regions]
    movers = [in_box(colour, widened(bounds(r), 0.1)) for r, m in wanted if m and r.any()]
    wanted = [(r, True) for r in movers if r is not None] + wanted
    wanted += [(r, False) for r in thrown(colour, rng, boxes)]
    kept = []
    for region, moves in wanted:
        if not region.any() or any(measures.region(region, k) > 0.7 for k, _ in kept):
            continue
        mask = believable(colour, region, rng)
        if mask is not None and not any(measures.region(mask, k) > 0.7 for k, _ in kept):
            kept.append((mask, moves))
    return kept


def of_video(frames, regions, seed, every, boxes):
    """[(frame, outline, whether it moves by itself)] of one video; regions: frame -> [(mask, moves)]."""
    cv2.setNumThreads(1)
    rng, found = np.random.default_rng(seed), []
    for t in range(0, len(frames), every):
        here = sorted(regions.get(t, []), key=lambda r: not r[1])[:6]
        found += [(t, m, k) for m, k in of_frame(frames[t], here, rng, boxes)]
    return found


def of_videos(videos, followed, workers=1, every=2, boxes=12):
    """[(frame in the concatenation of all videos, outline, whether it moves by itself)].

    followed: what tracks.of_videos() found in the same videos.
    """
    first = np.cumsum([0] + [len(v) for v in videos])
    regions = [{} for _ in videos]
    for start, masks, moves in followed:
        v = int(np.searchsorted(first, start, side="right")) - 1
        for t, mask in enumerate(masks):
            regions[v].setdefault(start + t - int(first[v]), []).append((mask > 192, moves))
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        jobs = [pool.submit(of_video, v, r, i, every, boxes) for i, (v, r) in enumerate(zip(videos, regions))]
        return [(int(f) + t, m, k) for f, job in zip(first, jobs) for t, m, k in job.result()]


def save(path, videos, found):
    part = f"{path}.part.npz"
    masks = np.stack([m for _, m, _ in found]) if found else np.zeros((0, SIZE[1], SIZE[0]), bool)
    np.savez_compressed(
        part,
        mark=tracks.mark(videos),
        frames=np.array([t for t, _, _ in found], np.int64),
        moves=np.array([k for _, _, k in found], bool),
        masks=np.packbits(masks, axis=2),
    )
    os.replace(part, path)


def load(path, videos):
    """What save() wrote for the same videos, else None."""
    if not os.path.exists(path):
        return None
    with np.load(path) as f:
        mark = tracks.mark(videos)
        if f["mark"].shape != mark.shape or (f["mark"] != mark).any():
            return None
        masks = np.unpackbits(f["masks"], axis=2, count=SIZE[0]) > 0
        return list(zip(f["frames"].tolist(), masks, f["moves"].tolist()))
