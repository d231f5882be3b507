#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures in real video whether things that are taken away are reported as gone, and found again under their own id.

    returns.py VIDEOS [--model FILE] [--plugins FOLDER] [--size PX]

Tracks the three like bottles of VIDEOS/bottle-detection.mp4 with our own pipeline, prompted by boxes on frame 0. A leaving
is told if the bottle has no mask in some frame from the one where it is out of view to the tenth after it. A return is found if,
within 30 frames after the bottle is whole in view again, half of the mask of its id lies in the box where it stands then, and covers
a third of that box. A twin is taken if, while its bottle is away, most of an id's mask lies in the box of another bottle for ten
frames. The last line is JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import evaluate

VIDEO, SIZE = "bottle-detection.mp4", (640, 360)
# Of each bottle, left to right: its box on frame 0 (x, y, w, h in px), and its absences: the first frame without it, the first
# frame with the whole of it, and its box 30 frames later.
BOTTLES = (
    ((57, 109, 67, 202), ((216, 346, (65, 125, 70, 185)), (534, 826, (55, 125, 70, 185)))),
    ((285, 109, 64, 202), ((534, 668, (280, 130, 70, 180)),)),
    ((504, 106, 70, 211), ((959, 1049, (515, 130, 70, 180)),)),
)
TOLD, FOUND, TAKEN = 10, 30, 10  # frames


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("videos")
    p.add_argument("--model", default=evaluate.EMBEDDED)
    p.add_argument("--plugins", default=os.path.join(evaluate.ROOT, "build/gst"))
    p.add_argument("--size", type=int, default=0, help="input size in px (default: the model's; of two, that of quick devices)")
    p.add_argument("--precision", default="fp32")
    return p.parse_args()


def label_maps(args):
    """Label maps u8 (frames, h, w) of the pipeline; bottle i has value i + 1."""
    path = os.path.join(args.videos, VIDEO)
    if not os.path.exists(path):
        raise evaluate.Refused(f"{path}: no such file")
    prompt = ";".join("box,x={},y={},w={},h={}".format(*box) for box, _ in BOTTLES)
    with tempfile.TemporaryDirectory() as folder:
        command = (
            f"filesrc location={path} ! decodebin ! videoconvert ! video/x-raw,width={SIZE[0]},height={SIZE[1]} ! samtrack name=t"
            f" model-file={os.path.abspath(args.model)} initial-prompt=PROMPT overload-policy=block precision={args.precision}"
            f" input-size={args.size or evaluate.side_of(args.model)} t.src ! queue ! fakesink"
            f" t.overlay ! queue ! video/x-raw,format=GRAY8 ! filesink location={folder}/maps"
        )
        command = [c.replace("PROMPT", f'"{prompt}"') for c in command.split()]
        environment = dict(os.environ, GST_PLUGIN_PATH=args.plugins)
        done = subprocess.run(["gst-launch-1.0", "-q", *command], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise evaluate.Refused(f"gst-launch-1.0 failed: {done.stderr.strip().splitlines()[:1]}")
        return np.fromfile(f"{folder}/maps", np.uint8).reshape(-1, SIZE[1], SIZE[0])


def inside(mask, box):
    """The pixels of `mask` in `box`."""
    x, y, w, h = box
    return int(mask[y : y + h, x : x + w].sum())


def absence(maps, i, gone, back, box):
    """{told, found, taken} of one absence of bottle i: the frames it took, or None; whether it took another for itself."""
    masks = maps == i + 1
    told = next((t - gone for t in range(gone, gone + TOLD + 1) if not masks[t].any()), None)

    def is_back(mask):
        hit = inside(mask, box)
        return hit > 0.5 * mask.sum() and hit > box[2] * box[3] / 3

    found = next((t - back for t in range(back, back + FOUND + 1) if is_back(masks[t])), None)
    others = [b for j, (b, _) in enumerate(BOTTLES) if j != i]
    taken = sum(max(inside(masks[t], b) for b in others) > 0.5 * masks[t].sum() for t in range(gone, back) if masks[t].any())
    return {"bottle": i + 1, "gone": gone, "told": told, "back": back, "found": found, "taken": bool(taken >= TAKEN)}


def main():
    args = arguments()
    try:
        maps = label_maps(args)
    except evaluate.Refused as error:
        print(f"returns.py: {error}", file=sys.stderr)
        return 1
    rows = [absence(maps, i, *a) for i, (_, absences) in enumerate(BOTTLES) for a in absences]
    for row in rows:
        told, found = ("never" if row[k] is None else f"after {row[k]} frames" for k in ("told", "found"))
        print(f"bottle {row['bottle']}: away from frame {row['gone']}, told {told}; back at {row['back']}, found {found}")
    told, found = (sum(row[k] is not None for row in rows) for k in ("told", "found"))
    print(json.dumps({"absences": len(rows), "told": told, "found": found, "taken": sum(row["taken"] for row in rows)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
