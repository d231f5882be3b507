#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes targets from things that were outlined by hand in key frames of videos: annotations/<video>.json.

    annotated.py --videos DIR --out FILE [--model FILE]      then: train.py --annotated FILE
    annotated.py --videos DIR --clips DIR --only NAME,...    clips for evaluate.py, masked at their key frames

An annotation holds {frame number in the video: {thing: polygons}}; a polygon is a flat list x, y, x, y, ... in px of
a picture of SIZE, and cuts a hole if its first element is "hole". Between two key frames a thing is tracked by the
model from both. The way is kept where both tracks agree; pixels where they differ are unknown. Better weights
keep more of it.
"""

import argparse
import glob
import itertools
import json
import os
import sys

import cv2
import numpy as np
import torch

import bank
import measures
import model
import outlines
import tracker
import tracks

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "annotations")
SIZE = (1024, 576)  # (w, h) of the pictures that were outlined
STRIDE = 2  # of the frames that are kept; key frames lie on it
AGREED = 0.6  # IoU of both tracks in every frame between two key frames, at least
SURE = 0.92  # the same, where the frame becomes an outline of its own
GROWTH = 1.6  # of a thing's area against the smaller and the larger of both key frames, at most


def masked(polygons, size=SIZE):
    """A mask, bool (h, w), of one thing's polygons."""
    mask = np.zeros(SIZE[::-1], np.uint8)
    for polygon in polygons:
        hole = polygon[0] == "hole"
        points = np.array(polygon[hole:], np.float64)
        if len(points) < 6 or len(points) % 2 or not np.isfinite(points).all():
            raise ValueError(f"a polygon of {len(points)} numbers, wanted x and y of three points or more")
        cv2.fillPoly(mask, [np.round(points.reshape(-1, 2)).astype(np.int32)], 0 if hole else 1)
    return cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0.5


def read(folder=FOLDER):
    """{name of a video without its ending: {frame: {thing: polygons}}}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        try:
            with open(path) as f:
                frames = {int(t): things for t, things in json.load(f).items()}
            for things in frames.values():
                for polygons in things.values():
                    masked(polygons)
        except (OSError, ValueError, TypeError, AttributeError, IndexError) as error:
            raise bank.BankError(f"{path}: not an annotation ({error})") from None
        found[os.path.basename(path)[:-5]] = frames
    if not found:
        raise bank.BankError(f"{folder}: no annotations in it")
    return found


class Remembering(tracker.Tracker):
    """Tracks through frames that were encoded before; an image is its index among them."""

    def __init__(self, net, frames):
        super().__init__(net)
        self.frames = frames

    def _features(self, image):
        self.video = (bank.HEIGHT, bank.WIDTH)
        return self._look(*self.frames[image])


@torch.inference_mode()
def encoded(net, frames):
    """What each of the frames (n, H, W, 3) is known by."""
    one = tracker.Tracker(net)
    return [one.seen(torch.from_numpy(f).permute(2, 0, 1)[None]) for f in frames]


def tracked(net, maps, order, mask):
    """Masks bool in the frames `order` of what `mask` covers in the first of them."""
    one = Remembering(net, maps)
    first = one.prompt_mask(order[0], torch.from_numpy(mask))
    return [first.numpy()] + [one.track(t).numpy() for t in order[1:]]


def agreement(there, back, areas):
    """IoU of two masks of one thing; 0 where it has another size than in its key frames, whose `areas` are given.

    What both tracks have lost, or both have joined to its neighbour, is no agreement.
    """
    low, high = min(areas) / GROWTH, max(areas) * GROWTH
    return measures.region(there, back) if low <= np.count_nonzero(there) <= high else 0.0


def between(net, maps, begin, end, masks):
    """[(mask, IoU of both tracks)] of the frames between two key frames, whose masks are given; mask: u8, as tracks have it."""
    there = tracked(net, maps, range(begin, end), masks[0])[1:]
    back = tracked(net, maps, range(end, begin, -1), masks[1])[:0:-1]
    pairs = [(a, b, agreement(a, b, [np.count_nonzero(m) for m in masks])) for a, b in zip(there, back)]
    return [(np.where(a == b, a * np.uint8(255), np.uint8(tracks.UNKNOWN)), iou) for a, b, iou in pairs]


def ways(net, maps, keys):
    """[(first frame, [(mask, IoU)])] of one thing; keys: {frame: mask}. What cannot be tracked from key to key is cut there."""
    whole, out = [(t, (mask * np.uint8(255), 1.0)) for t, mask in sorted(keys.items())], []
    for (t, first), (end, last) in itertools.pairwise(whole):
        way = between(net, maps, t, end, (keys[t], keys[end]))
        if any(iou < AGREED for _, iou in way):
            continue
        if out and out[-1][0] + len(out[-1][1]) == t + 1:
            out[-1][1].extend(way + [last])
        else:
            out.append((t, [first] + way + [last]))
    return out


def smaller(mask, size):
    """A mask of 0, UNKNOWN and 255 at another size."""
    return cv2.resize(mask, size, interpolation=cv2.INTER_NEAREST)


def of_video(net, frames, annotation):
    """Tracks [(first frame, masks)] and outlines [(frame, mask)] of one video at every STRIDE-th frame, (n, H, W, 3)."""
    size, followed, drawn = (bank.WIDTH, bank.HEIGHT), [], []
    keys = {}
    for t, things in sorted(annotation.items()):
        for name, polygons in things.items():
            if t % STRIDE == 0 and t // STRIDE < len(frames):
                keys.setdefault(name, {})[t // STRIDE] = masked(polygons, size)
    maps = encoded(net, frames) if net else None
    for masks in keys.values():
        drawn += [(t, m) for t, m in masks.items()]
        for first, way in ways(net, maps, masks) if net else []:
            followed.append((first, np.stack([smaller(m, tracks.MAP) for m, _ in way])))
            sure = [(first + i, m > 192) for i, (m, iou) in enumerate(way) if SURE <= iou < 1]
            drawn += sure[::3]
    fit = ((t, cv2.resize(m.astype(np.float32), outlines.SIZE, interpolation=cv2.INTER_AREA) > 0.5) for t, m in drawn)
    return followed, [(t, m) for t, m in fit if 0.002 < m.mean() < 0.7]


def pieces(frames, followed, drawn):
    """The runs of frames that are used: [(first, one past the last)]."""
    used = np.zeros(len(frames) + 1, bool)
    for first, masks in followed:
        used[first : first + len(masks)] = True
    used[[t for t, _ in drawn]] = True
    edges = np.flatnonzero(np.diff(np.concatenate(([False], used)).astype(np.int8)))
    return list(zip(edges[::2], edges[1::2]))


def make(net, folder, annotations):
    """[(video's name, frames, tracks, outlines)] of every run of frames that is used."""
    out = []
    for path in bank.videos_of(folder):
        name = os.path.basename(path)
        annotation = annotations.get(os.path.splitext(name)[0])
        if not annotation:
            continue
        frames = bank.read_video(path, STRIDE, max(annotation) // STRIDE + 1)
        followed, drawn = of_video(net, frames, annotation)
        for begin, end in pieces(frames, followed, drawn):
            here = [(t - begin, m) for t, m in followed if begin <= t < end]
            out.append((name, frames[begin:end], here, [(t - begin, m) for t, m in drawn if begin <= t < end]))
        kept = sum(len(m) for _, m in followed)
        print(f"{name}: {len(drawn)} outlines, {len(followed)} tracks of {kept} frames together", flush=True)
    return out


def save(path, made):
    """Frames as JPEG, masks as they are, in one file."""
    images = [cv2.imencode(".jpg", f[..., ::-1], (cv2.IMWRITE_JPEG_QUALITY, 95))[1] for _, v, *_ in made for f in v]
    followed = [(i, t, m) for i, (_, _, here, _) in enumerate(made) for t, m in here]
    drawn = [(i, t, m) for i, (*_, here) in enumerate(made) for t, m in here]
    none = np.zeros((0, tracks.MAP[1], tracks.MAP[0]), np.uint8)
    part = f"{path}.part.npz"
    np.savez_compressed(
        part,
        names=np.array([name for name, *_ in made]),
        lengths=np.array([len(v) for _, v, *_ in made]),
        sizes=np.array([len(i) for i in images]),
        images=np.concatenate(images),
        tracks=np.array([(i, t, len(m)) for i, t, m in followed]).reshape(-1, 3),
        followed=np.concatenate([none] + [m for *_, m in followed]),
        outlines=np.array([(i, t) for i, t, _ in drawn]).reshape(-1, 2),
        drawn=np.packbits(np.stack([m for *_, m in drawn]), axis=2),
    )
    os.replace(part, path)


def load(path, first):
    """Videos, their names, tracks and outlines as those modules have theirs; `first`: how many frames are before them."""
    try:
        with np.load(path) as f:
            names, lengths, sizes = (f[k].tolist() for k in ("names", "lengths", "sizes"))
            images, rows, masks = f["images"], f["tracks"].tolist(), f["followed"]
            places, drawn = f["outlines"].tolist(), np.unpackbits(f["drawn"], axis=2, count=outlines.SIZE[0]) > 0
    except (OSError, KeyError, ValueError) as error:
        raise bank.BankError(f"{path}: not a file of annotated videos ({error})") from None
    frames = [cv2.imdecode(i, cv2.IMREAD_COLOR)[..., ::-1] for i in np.split(images, np.cumsum(sizes)[:-1])]
    starts = np.cumsum([0] + lengths)
    videos = [np.stack(frames[a:b]) for a, b in itertools.pairwise(starts)]
    found, row = [], 0
    for i, t, count in rows:
        found.append((first + int(starts[i]) + t, masks[row : row + count], bank.ANNOTATED))
        row += count
    return videos, names, found, [(first + int(starts[i]) + t, m, bank.ANNOTATED) for (i, t), m in zip(places, drawn)]


def write_clips(folder, videos, annotations, names):
    """A folder for evaluate.py of every thing of the videos `names`, from its first key frame to its last."""
    for name in names:
        path = next((p for p in bank.videos_of(videos) if os.path.splitext(os.path.basename(p))[0] == name), None)
        if path is None or name not in annotations:
            raise bank.BankError(f"--only: no annotated video named {name}; there are {', '.join(annotations)}")
        frames = bank.read_video(path, 1, max(annotations[name]) + 1)
        for thing in sorted({k for things in annotations[name].values() for k in things}):
            keys = [t for t, things in annotations[name].items() if thing in things]
            out = os.path.join(folder, f"{name}-{thing}")
            for kind in ("frames", "masks"):
                os.makedirs(os.path.join(out, kind), exist_ok=True)
            for t in range(min(keys), max(keys) + 1):
                cv2.imwrite(os.path.join(out, "frames", f"{t:05d}.jpg"), frames[t][..., ::-1])
                if t in annotations[name]:
                    mask = masked(annotations[name][t].get(thing, []), (bank.WIDTH, bank.HEIGHT))
                    cv2.imwrite(os.path.join(out, "masks", f"{t:05d}.png"), mask * np.uint8(255))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--videos", required=True)
    p.add_argument("--annotations", default=FOLDER)
    p.add_argument("--model", help="weights that track from key frame to key frame; without them key frames alone are used")
    p.add_argument("--out", help="the file to write")
    p.add_argument("--clips", help="the folder to write clips for evaluate.py to")
    p.add_argument("--only", help="names of videos without their endings, for --clips")
    args = p.parse_args()
    try:
        annotations = read(args.annotations)
        if args.clips:
            write_clips(args.clips, args.videos, annotations, (args.only or ",".join(annotations)).split(","))
        if args.out:
            net = model.load(args.model).eval() if args.model else None
            save(args.out, make(net, args.videos, annotations))
    except (bank.BankError, model.ModelError, OSError) as error:
        print(f"annotated.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
