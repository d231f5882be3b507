#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `follow` of the element gains, on clips that have masks.

    follow.py --clips DIR [--clips DIR] [--every 12,24] [--sheet FILE.png]

Reads DIR/<clip>/frames/*.jpg and DIR/<clip>/masks/*.png. The true mask of every n-th frame stands for a slow model, and
arrives n frames late. J of three ways, each from the first mask at frame 0, mean over frames 1 to the last, then over clips:
the last mask that arrived (stale), the fast model alone, and the fast model that follows (two speeds). The latter does what
gst/track/gstsamfollow.c does with one step of catching up a frame. What cannot be exceeded is the column `next`: the fast
model one frame after a true mask, on every third frame. Calls libsamtrack; needs numpy and Pillow. The last line is JSON.
"""

import argparse
import ctypes as c
import glob
import json
import os
import sys
import time

import numpy as np
from PIL import Image, ImageDraw

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
REPLAYS = 4  # GST_SAM_FOLLOW_REPLAYS


class Refused(Exception):
    """Why there is no score, in one sentence."""


class Params(c.Structure):
    _fields_ = (
        [("size", c.c_size_t), ("model_file", c.c_char_p), ("input_size", c.c_int), ("backend", c.c_int), ("device", c.c_int)]
        + [("cuda_context", c.c_void_p), ("cuda_stream", c.c_void_p), ("precision", c.c_int), ("threads", c.c_int)]
        + [(name, c.c_int) for name in ("max_objects", "max_cond_frames", "lost_after", "refine", "fill_holes", "budget_mib")]
        + [(name, c.c_int) for name in ("poison", "no_graphs", "keep_stages")]
        + [("log", c.c_void_p), ("log_priv", c.c_void_p), ("edges", c.c_int), ("history", c.c_int), ("remove_islands", c.c_int)]
    )


class Frame(c.Structure):
    _fields_ = [("size", c.c_size_t), ("format", c.c_int), ("width", c.c_int), ("height", c.c_int)]
    _fields_ += [("plane", c.c_void_p * 3), ("stride", c.c_int * 3), ("kr", c.c_float), ("kb", c.c_float)]
    _fields_ += [("full_range", c.c_int), ("on_device", c.c_int)]


class Labels(c.Structure):
    _fields_ = [("data", c.c_void_p), ("width", c.c_int), ("height", c.c_int), ("stride", c.c_int), ("on_device", c.c_int)]


class Prompt(c.Structure):
    _fields_ = [("size", c.c_size_t), ("id", c.c_uint64), ("space_width", c.c_int), ("space_height", c.c_int)]
    _fields_ += [("num_points", c.c_int), ("points", c.c_void_p), ("has_box", c.c_int), ("box", c.c_float * 4)]
    _fields_ += [("mask", c.c_void_p), ("mask_width", c.c_int), ("mask_height", c.c_int), ("mask_stride", c.c_int)]
    _fields_ += [("mask_bits", c.c_void_p), ("mask_side", c.c_int), ("has_frame", c.c_int), ("frame", c.c_uint64)]
    _fields_ += [("answer", c.c_int)]


class Tracker:
    """A tracker of one object."""

    def __init__(self, lib, model, threads):
        self.lib, self.t, self.error = lib, c.c_void_p(), c.create_string_buffer(320)
        params = Params(size=c.sizeof(Params), model_file=model.encode(), backend=2, device=-1, precision=1, threads=threads)
        params.max_objects, params.max_cond_frames, params.lost_after = 1, 4, 30
        self.check(lib.sam_tracker_open(c.byref(self.t), c.byref(params), self.error))

    def check(self, status):
        if status:
            raise Refused(self.error.value.decode())

    def begin(self, image, mask):
        """Forget all, and start the object from its mask on a frame."""
        bits = np.ascontiguousarray(mask.astype(np.uint8))
        h, w = mask.shape
        self.lib.sam_tracker_clear(self.t)
        prompt = Prompt(size=c.sizeof(Prompt), mask=bits.ctypes.data, mask_width=w, mask_height=h, mask_stride=w)
        self.check(self.lib.sam_tracker_prompt(self.t, c.byref(prompt), None, self.error))
        return self.step(image)

    def step(self, image):
        h, w, _ = image.shape
        frame = Frame(size=c.sizeof(Frame), width=w, height=h)
        frame.plane[0], frame.stride[0] = image.ctypes.data, 3 * w
        found = np.zeros((h, w), np.uint8)
        labels = Labels(data=found.ctypes.data, width=w, height=h, stride=w)
        self.check(self.lib.sam_tracker_step(self.t, c.byref(frame), c.byref(labels), None, self.error))
        return found > 0

    def close(self):
        self.lib.sam_tracker_close(c.byref(self.t))


def region(found, truth):
    union = np.count_nonzero(found | truth)
    return np.count_nonzero(found & truth) / union if union else 1.0


def read_clip(folder):
    frames, masks = (sorted(glob.glob(os.path.join(folder, *p))) for p in (("frames", "*.jpg"), ("masks", "*.png")))
    if len(frames) < 2 or len(frames) != len(masks):
        raise Refused(f"{folder}: {len(frames)} frames and {len(masks)} masks, expected two frames at least and a mask for each")
    images = [np.ascontiguousarray(np.asarray(Image.open(f).convert("RGB"))) for f in frames]
    return images, [np.asarray(Image.open(m).convert("L")) > 127 for m in masks]


def stale(truths, every):
    return [truths[max(t // every - 1, 0) * every] for t in range(len(truths))]


def alone(tracker, images, first):
    return [tracker.begin(images[0], first)] + [tracker.step(i) for i in images[1:]]


def two_speeds(front, back, images, truths, every):
    found, replayed, stride = [], None, 0  # replayed: the frame that `back` has come to; None: it rests
    for t, image in enumerate(images):
        found.append(front.begin(image, truths[0]) if t == 0 else front.step(image))
        if t and t % every == 0:
            replayed = t - every
            stride = -(-every // REPLAYS)
            back.begin(images[replayed], truths[replayed])
        elif replayed is not None:
            replayed = min(replayed + stride, t)
            back.step(images[replayed])
        if replayed == t:
            front, back, replayed = back, front, None
    return found


def next_frames(tracker, images, truths):
    """Masks of every third frame, each from the true mask of the frame before; None of the others."""
    found = [None] * len(images)
    for t in range(1, len(images), 3):
        tracker.begin(images[t - 1], truths[t - 1])
        found[t] = tracker.step(images[t])
    return found


def mean_region(found, truths):
    return float(np.mean([region(m, t) for m, t in list(zip(found, truths))[1:] if m is not None]))


def sheet(path, rows, columns, count=6):
    """A picture: a row for each clip and way, `count` frames from left to right."""
    width, gap = 240, 4
    tiles = []
    for clip, images, ways in rows:
        at = np.linspace(0, len(images) - 1, count + 1).astype(int)[1:]
        for name, masks in zip(columns, ways):
            for t in at:
                shown = images[t].copy()
                shown[masks[t]] = shown[masks[t]] // 2 + np.array([0, 110, 0], np.uint8)
                tile = Image.fromarray(shown).resize((width, width * shown.shape[0] // shown.shape[1]))
                ImageDraw.Draw(tile).text((4, 4), f"{clip}, {name}, frame {t}", fill=(255, 255, 0))
                tiles.append(tile)
    height = max(tile.height for tile in tiles) + gap
    page = Image.new("RGB", (count * (width + gap), height * (len(tiles) // count)))
    for i, tile in enumerate(tiles):
        page.paste(tile, (i % count * (width + gap), i // count * height))
    page.save(path)


def load(path):
    try:
        lib = c.CDLL(path)
    except OSError as error:
        raise Refused(f"{path}: cannot be loaded: {error}; build first, or name it with --library") from None
    lib.sam_tracker_close.argtypes = lib.sam_tracker_clear.argtypes = [c.c_void_p]
    lib.sam_tracker_step.argtypes = [c.c_void_p] * 5
    lib.sam_tracker_prompt.argtypes = [c.c_void_p] * 4
    return lib


def run(args):
    lib = load(args.library)
    folders = sorted(f for d in args.clips for f in glob.glob(os.path.join(d, "*")) if os.path.isdir(os.path.join(f, "frames")))
    if not folders:
        raise Refused(f"{args.clips[0]}: no clip (a folder with frames/ and masks/) in it")
    rows, pictures = [], []
    trackers = [Tracker(lib, args.model, args.threads) for _ in range(2)]
    for folder in folders:
        images, truths = read_clip(folder)
        clip = os.path.basename(folder)
        ways = {"alone": alone(trackers[0], images, truths[0]), "next": next_frames(trackers[0], images, truths)}
        for n in args.every:
            ways[f"stale {n}"] = stale(truths, n)
            ways[f"two speeds {n}"] = two_speeds(*trackers, images, truths, n)
        rows.append({"clip": clip} | {k: mean_region(v, truths) for k, v in ways.items()})
        print(" ".join(f"{k} {v:.3f}" if k != "clip" else v for k, v in rows[-1].items()), file=sys.stderr)
        last = args.every[-1]
        pictures.append((clip, images, [ways[k] for k in (f"stale {last}", "alone", f"two speeds {last}")]))
    for tracker in trackers:
        tracker.close()
    if args.sheet:
        sheet(args.sheet, pictures, ("stale", "alone", "two speeds"))
    return rows


def report(rows, begun):
    names = [k for k in rows[0] if k != "clip"]
    mean = {k: float(np.mean([r[k] for r in rows])) for k in names}
    print("| clip | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for row in rows + [dict(mean, clip="mean")]:
        print(f"| {row['clip']} | " + " | ".join(f"{row[k]:.3f}" for k in names) + " |")
    print(json.dumps({k.replace(" ", "_"): round(v, 4) for k, v in mean.items()} | {"seconds": round(time.time() - begun, 1)}))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--clips", required=True, action="append", help="folder of clips; may be given again")
    p.add_argument("--every", default="12,24", help="comma-separated numbers of frames between two masks of the slow model")
    p.add_argument("--model", default=os.path.join(ROOT, "models/samtrack-lite0.safetensors"), help="the fast model")
    p.add_argument("--library", default=os.path.join(ROOT, "build/libsamtrack.so"))
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--sheet", help="write a picture of all clips")
    args = p.parse_args()
    begun = time.time()
    try:
        if not all(n.isdigit() and int(n) > 0 for n in args.every.split(",")):
            raise Refused(f"--every: {args.every!r} is not a list of positive numbers")
        args.every = [int(n) for n in args.every.split(",")]
        report(run(args), begun)
    except Refused as error:
        print(f"follow.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
