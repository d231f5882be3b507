#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the IoU that a model tells of its masks with the real one, on what is never trained on, and draws the curve.

    calibration.py --pictures DIR [--videos DIR --held NAME,...] [--clips DIR,...] [--model FILE] [--engine] [--out PNG]
    calibration.py --pictures DIR --most 1000 --things 4 ...    all pictures kept apart, up to four things of each
    calibration.py --pictures DIR ... --fit FILE

Clicks and boxes: one click and one exact box on two things, or --things, of every picture kept apart (pictures.py). Tracked: things of the clips kept
apart, with --videos the things outlined by hand in the videos --held, and with --clips those of evaluate.py's clips, from a
click or a box through all of their frames, with --engine by our own pipeline; a frame counts where the model shows a mask, and
the first answer was no other thing.
Masks are those that are shown: after target models, windows and walks. --fit measures what the model predicts, whatever it
tells now, fits curves (told_iou, docs/MODEL.md) to all pictures and things, writes the model with these, and prints and draws
what is told of each by curves that were fitted without it: to nine tenths of them. The last line is JSON: of each tenth of
what is told how many answers, their mean and their mean IoU.
"""

import argparse
import functools
import glob
import json
import os
import sys
import tempfile

import cv2
import numpy as np
import torch

import annotated
import bank
import evaluate
import measures
import model
import pictures
import tracker

TENTHS = 10
PULL = 5.0  # answers that tell what is told now, beside those that are fitted to
FEW = 20  # answers; a tenth that has fewer is drawn hollow
SIDE, ROOM = 720, 90  # px of a plot, and of its margin
INK, PALE, KINDS = (40, 40, 40), (225, 225, 225), {"clicks": (30, 110, 220), "boxes": (60, 140, 40), "tracked": (190, 90, 20)}  # BGR
LEAST_SHARE = 0.0005  # of a picture that a further thing has at least
FOLDS = 10  # parts of the pictures and things: each is told by curves that the others were fitted to
TAKEN = 0.5  # IoU of a first answer that is not another thing


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default=evaluate.EMBEDDED)
    p.add_argument("--pictures", required=True, help="folder of pictures and clips with instance masks, see pictures.py")
    p.add_argument("--videos", help="folder of the videos with things outlined by hand")
    p.add_argument("--held", default="", help="comma-separated names, without endings, of videos that were not trained on")
    p.add_argument("--clips", default="", help="comma-separated folders of clips with masks, as for evaluate.py")
    p.add_argument("--engine", action="store_true", help="track by our own pipeline")
    p.add_argument("--plugins", default=os.path.join(evaluate.ROOT, "build/gst"), help="folder of the plugin for --engine")
    p.add_argument("--precision", default="fp32", help="precision of the element, for --engine")
    p.add_argument("--size", type=int, default=0, help="input size in px (default: the model's; of two, that of quick devices)")
    p.add_argument("--fit", metavar="FILE", help="the file to write: the model with curves of what it tells")
    p.add_argument("--most", type=int, default=60, help="pictures of each collection")
    p.add_argument("--things", type=int, default=2, help="things of a picture, at most")
    p.add_argument("--out", help="the picture to write")
    args = p.parse_args()
    if args.things < 2:
        p.error(f"argument --things: {args.things}, expected 2 at least")
    return args


def prompted(one, image, kind, truth):
    """The mask shown for one click or the exact box on `truth`; one.told is what is told of it."""
    picture = torch.from_numpy(image).permute(2, 0, 1)[None]
    x, y, w, h = evaluate.box_of(truth)
    given = ([evaluate.point_of(truth)], [1]) if kind == "point" else ([[x, y], [x + w, y + h]], [2, 3])
    return one.prompt_points(picture, *given).numpy()


def things_of(labels, most):
    """The numbers of pictures.two_of(), and of the largest others."""
    two, area = pictures.two_of(labels), pictures.sizes(labels)
    others = [n for n in sorted(area, key=area.get, reverse=True) if n not in two and area[n] / labels.size > LEAST_SHARE]
    return two + others[: max(most - 2, 0)]


def of_pictures(net, collection, most, things=2):
    """{clicks, boxes: [[(told, real IoU)] of the single answers on a picture]}."""
    groups = {"clicks": [], "boxes": []}
    for found in collection.apart.values():
        for i in np.linspace(0, len(found) - 1, min(most, len(found))).astype(int):
            image, labels = pictures.read(found[i])
            for name, kind in (("clicks", "point"), ("boxes", "box")):
                groups[name].append([])
                for truth in (labels == n for n in things_of(labels, things)):
                    one = tracker.Tracker(net)
                    mask = prompted(one, image, kind, truth)
                    groups[name][-1].append((one.told, measures.region(mask, truth)))
    return groups


def torch_masks(net, frames, kind, first):
    """(mask, told) of every frame, by the modules; evaluate.Engine.told() gives the same by our own pipeline."""
    one = tracker.Tracker(net)
    yield prompted(one, frames[0], kind, first), one.told
    for image in frames[1:]:
        yield one.track(torch.from_numpy(image).permute(2, 0, 1)[None]).numpy(), one.told


def of_clip(masks, frames, kind):
    """[(told, real IoU)] of the tracked frames, [(image, truth or None)], whose first has the thing; `masks` as torch_masks().

    None where the first answer is another thing: nobody tracks that.
    """
    images, truths = zip(*frames)
    first, *told = masks(list(images), kind, truths[0])
    if measures.region(first[0], truths[0]) < TAKEN:
        return []
    return [(t, measures.region(m, truth)) for (m, t), truth in zip(told, truths[1:]) if truth is not None and m.any()]


def measured(args, net, collection, masks):
    """{kind: [[(told, real IoU)] of a picture or a thing]}."""
    things = list(clips_apart(collection))
    things += outlined(args.videos, args.held.split(",")) if args.videos else []
    for folder in filter(None, args.clips.split(",")):
        clips = sorted(d for d in glob.glob(os.path.join(glob.escape(folder), "*")) if os.path.isdir(os.path.join(d, "frames")))
        things += [list(zip(*evaluate.read_clip(d))) for d in clips]
    tracked = [of_clip(masks, frames, "point") + of_clip(masks, frames, "box") for frames in things]
    return of_pictures(net, collection, args.most, args.things) | {"tracked": tracked}


def fitted(pairs):
    """The curve of told_iou for [(predicted, real IoU)]: least squares of lines between tenths, which never fall.

    A tenth with few answers stays near where it is: every knot has a pull of PULL answers.
    """
    knots = np.linspace(0, 1, TENTHS + 1)
    predicted, real = (np.array(v) for v in zip(*pairs))
    shares = np.maximum(1 - TENTHS * np.abs(predicted[:, None] - knots), 0)
    curve = np.linalg.solve(shares.T @ shares + PULL * np.eye(len(knots)), shares.T @ real + PULL * knots)
    weights = shares.sum(0) + PULL
    blocks = []  # [mean, weight, knots], of which none is less than the one before
    for value, weight in zip(curve, weights):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-1][0] < blocks[-2][0]:
            (v, w, n), (u, x, m) = blocks.pop(), blocks.pop()
            blocks.append([(v * w + u * x) / (w + x), w + x, m + n])
    return [round(float(min(max(v, 0), 1)), 3) for v, _, n in blocks for _ in range(n)]


def crossed(groups, kind):
    """`groups` of (predicted, real IoU) as they are told by curves that were fitted to the other parts of them."""
    out = [[] for _ in groups]
    for part in range(min(FOLDS, len(groups))):
        others = [p for i, g in enumerate(groups) if i % FOLDS != part for p in g]
        config = {"told_iou": {kind: fitted(others)}} if others else {}
        for i in range(part, len(groups), FOLDS):
            out[i] = [(tracker.told_iou(config, p, kind), real) for p, real in groups[i]]
    return out


def clips_apart(collection):
    """Frames [(image, truth)] of two things of each clip."""
    for clip in collection.clips_apart:
        read = [pictures.read(p) for p in clip]
        for n in pictures.two_of(read[0][1]):
            yield [(image, labels == n) for image, labels in read]


def outlined(videos, held):
    """Frames [(image, truth or None)] of each thing that was outlined by hand in the videos `held`."""
    annotations = annotated.read()
    for path in bank.videos_of(videos):
        name = os.path.splitext(os.path.basename(path))[0]
        if name not in held or name not in annotations:
            continue
        frames = bank.read_video(path, 1, max(annotations[name]) + 1)
        for thing in sorted({k for things in annotations[name].values() for k in things}):
            size = frames.shape[2:0:-1]
            keys = {t: annotated.masked(v[thing], size) for t, v in annotations[name].items() if thing in v}
            yield [(frames[t], keys.get(t)) for t in range(min(keys), max(keys) + 1, annotated.STRIDE)]


def tenths(pairs):
    """[(how many, mean of what is told, mean IoU)] of each tenth of what is told; the means are None where there is none."""
    rows = [[] for _ in range(TENTHS)]
    for expected, real in pairs:
        rows[min(int(expected * TENTHS), TENTHS - 1)].append((expected, real))
    return [(len(r), *(np.mean(r, 0).round(3).tolist() if r else (None, None))) for r in rows]


def plot(title, rows, colour):
    """A square: what was told from left to right, what came out from bottom to top."""
    image = np.full((SIDE, SIDE, 3), 255, np.uint8)
    low, high = ROOM, SIDE - ROOM // 2

    def at(x, y):
        return int(low + x * (high - low)), int(SIDE - low - y * (high - low))

    def write(text, place, size=0.6, tone=INK, centred=True):
        (w, h), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_DUPLEX, size, 1)
        place = (place[0] - w // 2 * centred, place[1] + h // 2)
        cv2.putText(image, text, place, cv2.FONT_HERSHEY_DUPLEX, size, tone, 1, cv2.LINE_AA)

    for i in range(0, TENTHS + 1, 2):
        share = i / TENTHS
        cv2.line(image, at(share, 0), at(share, 1), PALE, 1)
        cv2.line(image, at(0, share), at(1, share), PALE, 1)
        write(f"{share:.1f}", (at(share, 0)[0], at(0, 0)[1] + 22), 0.5)
        write(f"{share:.1f}", (at(0, 0)[0] - 28, at(0, share)[1]), 0.5)
    band = np.array([at(0, 0.05), at(0, 0), at(0.05, 0), at(1, 0.95), at(1, 1), at(0.95, 1)])
    cv2.fillPoly(image, [band], (240, 246, 240), cv2.LINE_AA)
    cv2.line(image, at(0, 0), at(1, 1), (150, 180, 150), 2, cv2.LINE_AA)
    most = max((n for n, *_ in rows), default=1) or 1
    for i, (count, *_) in enumerate(rows):
        cv2.rectangle(image, at((i + 0.1) / TENTHS, 0), at((i + 0.9) / TENTHS, 0.18 * count / most), (236, 232, 228), -1)
    cv2.rectangle(image, at(0, 1), at(1, 0), INK, 1)
    points = [(at(e, r), n) for n, e, r in rows if n]
    cv2.polylines(image, [np.array([p for p, _ in points])], False, colour, 2, cv2.LINE_AA)
    for point, count in points:
        cv2.circle(image, point, 7, colour, -1, cv2.LINE_AA)
        if count < FEW:
            cv2.circle(image, point, 5, (255, 255, 255), -1, cv2.LINE_AA)
    write(title, (SIDE // 2, 26), 0.75)
    write("told IoU", (SIDE // 2 + ROOM // 4, SIDE - 26))
    write("real IoU", (at(0, 0)[0], at(0, 1)[1] - 18))
    return image


def off(rows):
    """The largest distance of both means in a tenth that has answers enough."""
    return max((abs(e - r) for n, e, r in rows if n >= FEW), default=None)


def fit(net, config, groups, path):
    """Writes the model that tells by curves of all groups; returns what each is told by curves that the others were fitted to."""
    curves = {kind: fitted([p for g in found for p in g]) for kind, found in groups.items()}
    net.samtrack = config | {"told_iou": curves}
    model.save(net, path)
    print(f"{path}: {json.dumps(curves)}")
    return {kind: crossed(found, kind) for kind, found in groups.items()}


def main():
    args = arguments()
    try:
        config = model.read(args.model)[0]
        net = model.load(args.model, model.sized(config, args.size or evaluate.side_of(args.model))).eval()
        collection = pictures.Collection(args.pictures)
        with tempfile.TemporaryDirectory() as folder:
            path = args.model
            if args.fit:
                net.samtrack = {k: v for k, v in net.samtrack.items() if k != "told_iou"}
                path = os.path.join(folder, "model.safetensors")
                model.save(net, path)
            masks = functools.partial(torch_masks, net)
            if args.engine:
                masks = evaluate.Engine(path, args.plugins, args.precision, net.image_size).told
            groups = measured(args, net, collection, masks)
        if args.fit:
            groups = fit(net, config, groups, args.fit)
    except (bank.BankError, evaluate.Refused, model.ModelError, OSError) as error:
        print(f"calibration.py: {error}", file=sys.stderr)
        return 1
    found = {kind: [p for g in of_kind for p in g] for kind, of_kind in groups.items()}
    rows = {kind: tenths(pairs) for kind, pairs in found.items()}
    if args.out:
        drawn = [plot(f"{kind}: {len(found[kind])}", rows[kind], colour) for kind, colour in KINDS.items()]
        if not cv2.imwrite(args.out, np.hstack(drawn)):
            print(f"calibration.py: {args.out}: cannot be written", file=sys.stderr)
            return 1
    for kind in KINDS:
        print(f"{kind}: {len(found[kind])}, the worst tenth of {FEW} or more is off by {off(rows[kind])}")
    print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
