#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the masks of our own pipeline on every video of a folder: one picture with a row per video.

    contact_sheet.py VIDEOS OUT [--model FILE] [--prompt box|mask|point]
    contact_sheet.py CLIPS OUT --clicks FILE [--model FILE]

The prompt is the region that moves most against the background within the first second, or the
middle of the frame if nothing moves. --clicks names a list in JSON, [[path, x, y], ...]: a video or a folder of frames
within CLIPS, and where its first frame is clicked, as shares of its width and height (clicks.json has eight).
Writes OUT/contact-sheet.png. The last line is JSON that describes each row.
"""

import argparse
import glob
import json
import os
import sys

import cv2
import numpy as np

import bank
import evaluate
import tracks

COLUMNS, TILE = 8, (256, 144)
SPOT = 3  # px, radius of the spot that stands for a click
COLOUR = (40, 220, 60)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("videos")
    p.add_argument("out")
    p.add_argument("--model", default=evaluate.EMBEDDED)
    p.add_argument("--plugins", default=os.path.join(evaluate.ROOT, "build/gst"))
    p.add_argument("--prompt", default="mask", choices=evaluate.PROMPTS)
    p.add_argument("--clicks", help="file of what is clicked, instead of --prompt")
    p.add_argument("--frames", type=int, default=0, help="frames of each video; every second one is used (default: 73, with --clicks all)")
    p.add_argument("--precision", default="fp32")
    p.add_argument("--size", type=int, default=0, help="input size in px (default: the model's; of two, that of quick devices)")
    return p.parse_args()


def thing(frames, within=12):
    """(index of a frame, mask at its size) of the largest mover of the first frames; the middle if none."""
    colours = [cv2.resize(f, tracks.MAP, interpolation=cv2.INTER_AREA) for f in frames[: within + 2]]
    greys = [cv2.cvtColor(c, cv2.COLOR_RGB2GRAY) for c in colours]
    flows = [tracks.flow_between(a, b) for a, b in zip(greys, greys[1:])]
    for t in range(1, min(within, len(flows) - 1)):
        found = tracks.moving(colours[t], flows[t - 1 : t + 2])
        if found:
            best = max(found, key=np.count_nonzero).astype(np.uint8)
            return t, cv2.resize(best, frames[0].shape[1::-1], interpolation=cv2.INTER_NEAREST) > 0
    middle = np.zeros(frames[0].shape[:2], bool)
    h, w = middle.shape
    middle[h // 3 : 2 * h // 3, 2 * w // 5 : 3 * w // 5] = True
    return 0, middle


def tile(frame, mask, text):
    frame = frame.copy()
    frame[mask] = frame[mask] // 2 + np.array(COLOUR, np.uint8) // 2
    edge = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > 0
    frame[edge] = COLOUR
    frame = cv2.resize(frame, TILE, interpolation=cv2.INTER_AREA)
    cv2.putText(frame, text, (4, 12), cv2.FONT_HERSHEY_SIMPLEX, 0.35, (255, 255, 255), 1, cv2.LINE_AA)
    return frame


def row(runner, path, kind, limit):
    """(picture of a video's row, what it shows)."""
    frames = bank.read_video(path, 2, limit)
    first, mask = thing(frames) if len(frames) >= COLUMNS else (0, None)
    return drawn(runner, path, frames[first:], kind, mask)


def clicked(runner, path, x, y, limit):
    """The same from a click at shares `x`, `y` of the first frame; every frame of a folder is used."""
    if os.path.isdir(path):
        paths = sorted(glob.glob(os.path.join(glob.escape(path), "frames", "*.jpg")))
        frames = np.stack([cv2.imread(p)[..., ::-1] for p in paths][:limit]) if paths else np.zeros((0, 1, 1, 3), np.uint8)
    else:
        frames = bank.read_video(path, 2, limit)
    spot = np.zeros(frames.shape[1:3], np.uint8)
    place = int(x * spot.shape[1]), int(y * spot.shape[0])
    return drawn(runner, path, frames, "point", cv2.circle(spot, place, SPOT, 1, -1) > 0)


def drawn(runner, path, frames, kind, mask):
    if len(frames) < COLUMNS:
        raise evaluate.Refused(f"{path}: {len(frames)} readable frames, wanted {COLUMNS} at least")
    masks = list(runner.masks(list(frames), kind, mask))
    at = np.linspace(0, len(frames) - 1, COLUMNS).astype(int)
    name = os.path.splitext(os.path.basename(path))[0]
    tiles = [tile(frames[t], masks[t], f"{name} {t}" if t else f"{name}, {kind}") for t in at]
    if kind == "point":
        h, w = mask.shape
        x, y = evaluate.point_of(mask)
        cv2.circle(tiles[0], (x * TILE[0] // w, y * TILE[1] // h), 4, (255, 40, 40), -1, cv2.LINE_AA)
    shares = [round(float(m.mean()), 4) for m in masks]
    return np.hstack(tiles), {"video": name, "area": [shares[t] for t in at], "empty": sum(s == 0 for s in shares)}


def clicks_of(path):
    try:
        with open(path) as f:
            rows = [(str(p), float(x), float(y)) for p, x, y in json.load(f)]
    except (OSError, ValueError, TypeError) as error:
        raise evaluate.Refused(f"{path}: not a list of [path, x, y] ({error})") from None
    if not rows or any(not 0 <= v < 1 for _, *xy in rows for v in xy):
        raise evaluate.Refused(f"{path}: wanted one click at least, x and y from 0 to less than 1")
    return rows


def main():
    args = arguments()
    try:
        runner = evaluate.Engine(args.model, args.plugins, args.precision, args.size)
        if args.clicks:
            made = [(os.path.join(args.videos, p), x, y, args.frames or 1000) for p, x, y in clicks_of(args.clicks)]
            rows, said = zip(*(clicked(runner, *m) for m in made))
        else:
            paths = bank.videos_of(args.videos)
            if not paths:
                raise evaluate.Refused(f"{args.videos}: no video in it")
            rows, said = zip(*(row(runner, p, args.prompt, args.frames or 73) for p in paths))
        os.makedirs(args.out, exist_ok=True)
        cv2.imwrite(os.path.join(args.out, "contact-sheet.png"), np.vstack(rows)[..., ::-1])
    except (evaluate.Refused, bank.BankError, OSError) as error:
        print(f"contact_sheet.py: {error}", file=sys.stderr)
        return 1
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
