#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scores a model on clips that have masks.

    evaluate.py --clips DIR                   the embedded model, in PyTorch
    evaluate.py --clips DIR --model FILE
    evaluate.py --clips DIR --engine          the same through our own pipeline (build/gst)

Reads DIR/<clip>/frames/*.jpg and DIR/<clip>/masks/*.png, of the same names; frames without a mask are tracked and not
scored. The first mask gives three prompts: the mask,
its box, and its innermost point. --prompts near gives a click that is nearer to that point than to
the outline, as people click. J and F are means over frames 1 to the last one, then over clips. The
last line is JSON.
"""

import argparse
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np

import measures

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
EMBEDDED = os.path.join(ROOT, "models/samtrack-lite0.safetensors")
PROMPTS = ("mask", "box", "point", "near")


class Refused(Exception):
    """Why there is no score, in one sentence."""


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--clips", required=True)
    p.add_argument("--model", default=EMBEDDED)
    p.add_argument("--engine", action="store_true", help="run gst-launch-1.0 with our own element")
    p.add_argument("--plugins", default=os.path.join(ROOT, "build/gst"), help="folder of the plugin for --engine")
    p.add_argument("--precision", default="fp32", help="precision of the element, for --engine")
    p.add_argument("--size", type=int, default=0, help="input size in px (default: the model's; of two, that of quick devices)")
    p.add_argument("--prompts", default=",".join(PROMPTS[:3]), help=f"comma-separated prompts of: {', '.join(PROMPTS)}")
    p.add_argument("--only", help="name of a single clip to score")
    return p.parse_args()


def read_clip(folder):
    """Frames RGB u8 of a clip, and the mask (bool) of each, None where there is none."""
    frames = sorted(glob.glob(os.path.join(folder, "frames", "*.jpg")))
    masks = sorted(glob.glob(os.path.join(folder, "masks", "*.png")))
    names = [[os.path.splitext(os.path.basename(p))[0] for p in paths] for paths in (frames, masks)]
    if len(masks) < 2 or names[1][0] != names[0][0] or not set(names[1]) <= set(names[0]):
        raise Refused(
            f"{folder}: {len(frames)} frames and {len(masks)} masks, wanted a mask of the first frame and of another one"
            " at least, and a frame of the same name for each"
        )
    images = [cv2.imread(f, cv2.IMREAD_COLOR) for f in frames]
    truths = [cv2.imread(f, cv2.IMREAD_GRAYSCALE) for f in masks]
    for path, image in zip(frames + masks, images + truths):
        if image is None:
            raise Refused(f"{path}: not a readable image")
        if image.shape[:2] != images[0].shape[:2]:
            raise Refused(f"{path}: of {image.shape[1]}x{image.shape[0]}, unlike the clip's first frame")
    if not (truths[0] > 127).any():
        raise Refused(f"{masks[0]}: the first mask is empty")
    truths = dict(zip(names[1], truths))
    wanted = [truths[name] > 127 if name in truths else None for name in names[0]]
    return [np.ascontiguousarray(i[..., ::-1]) for i in images], wanted


def box_of(mask):
    """x, y, w, h in whole pixels."""
    y, x = np.nonzero(mask)
    return int(x.min()), int(y.min()), int(x.max() - x.min() + 1), int(y.max() - y.min() + 1)


def depth(mask):
    """Each pixel's distance to the outside; what lies beyond the frame counts as outside."""
    return cv2.distanceTransform(np.pad(mask.astype(np.uint8), 1), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]


def point_of(mask):
    """The pixel farthest from the outside."""
    y, x = np.unravel_index(depth(mask).argmax(), mask.shape)
    return int(x), int(y)


def near_of(mask):
    """A pixel, the same every time, of those at least half as far from the outside."""
    y, x = np.nonzero(depth(mask) >= 0.5 * depth(mask).max())
    i = np.random.default_rng(0).integers(len(x))
    return int(x[i]), int(y[i])


CLICKS = {"point": point_of, "near": near_of}


def side_of(path):
    """The side of a file of ours in px, of two that of devices that are faster in BF16; 0: no such file, the engine knows."""
    try:
        with open(path, "rb") as f:
            header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        config = json.loads(header["__metadata__"]["samtrack"])
        return config.get("image_size_bf16", config["image_size"])
    except (OSError, struct.error, MemoryError, OverflowError, ValueError, LookupError, TypeError):
        return 0


class Torch:
    """transformers' modules with our weights; `size` in px, 0: the model's own."""

    def __init__(self, path, size=0):
        import model

        try:
            self.net = model.load(path, model.sized(model.read(path)[0], size or side_of(path)))
        except model.ModelError as error:
            raise Refused(str(error)) from None

    def masks(self, frames, kind, first):
        import torch
        import tracker

        one = tracker.Tracker(self.net)
        images = (torch.from_numpy(f).permute(2, 0, 1)[None] for f in frames)
        if kind == "mask":
            yield one.prompt_mask(next(images), torch.from_numpy(first)).numpy()
        elif kind == "box":
            x, y, w, h = box_of(first)
            yield one.prompt_points(next(images), [[x, y], [x + w, y + h]], [2, 3]).numpy()
        else:
            yield one.prompt_points(next(images), [CLICKS[kind](first)], [1]).numpy()
        for image in images:
            yield one.track(image).numpy()


class Engine:
    """Our own pipeline: the frames as PNG files in, the label maps of the overlay pad as PNG files out; `size` as of Torch."""

    def __init__(self, path, plugins, precision, size=0):
        if not os.path.isdir(plugins):
            raise Refused(f"{plugins}: no such folder; build first, or name the folder with --plugins")
        self.path, self.plugins, self.precision = os.path.abspath(path), plugins, precision
        self.size = size or side_of(path)

    def prompt(self, kind, first, folder):
        if kind == "mask":
            name = os.path.join(folder, "prompt.png")
            cv2.imwrite(name, first.astype(np.uint8) * 255)
            return f"mask,location={name}"
        if kind == "box":
            return "box,x={},y={},w={},h={}".format(*box_of(first))
        return "point,x={},y={}".format(*CLICKS[kind](first))

    def run(self, folder, prompt):
        command = (
            f"multifilesrc location={folder}/in%05d.png caps=image/png,framerate=25/1 ! pngdec ! samtrack name=t"
            f" model-file={self.path} initial-prompt=PROMPT overload-policy=block precision={self.precision}"
            f" input-size={self.size}"
            f" t.src ! queue ! samexport location={folder}/lines.jsonl mask-size=none ! fakesink"
            f" t.overlay ! queue ! video/x-raw,format=GRAY8 ! pngenc ! multifilesink location={folder}/out%05d.png"
        ).split()
        command = [c.replace("PROMPT", f'"{prompt}"') for c in command]
        environment = dict(os.environ, GST_PLUGIN_PATH=self.plugins)
        done = subprocess.run(["gst-launch-1.0", "-q", *command], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise Refused(f"gst-launch-1.0 failed: {done.stderr.strip().splitlines()[:1]}")

    def masks(self, frames, kind, first):
        return (mask for mask, _, _ in self.described(frames, kind, first))

    def told(self, frames, kind, first):
        """(mask, predicted IoU) of every frame."""
        return ((mask, iou) for mask, iou, _ in self.described(frames, kind, first))

    def described(self, frames, kind, first):
        """(mask, predicted IoU, object score) of every frame."""
        with tempfile.TemporaryDirectory() as folder:
            for i, frame in enumerate(frames):
                fast = [cv2.IMWRITE_PNG_COMPRESSION, 1]
                cv2.imwrite(f"{folder}/in{i:05d}.png", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), fast)
            self.run(folder, self.prompt(kind, first, folder))
            found = sorted(glob.glob(f"{folder}/out*.png"))
            if len(found) != len(frames):
                raise Refused(f"the pipeline gave {len(found)} label maps for {len(frames)} frames")
            with open(f"{folder}/lines.jsonl") as f:
                lines = [json.loads(line) for line in f]
            for name, line in zip(found, lines, strict=True):
                (thing,) = line["objects"]
                yield cv2.imread(name, cv2.IMREAD_GRAYSCALE) > 0, thing["iou"], thing["score"]


def score(masks, truths):
    """Mean J and F over frames 1 to the end, of those with a mask."""
    pairs = [(m, t) for m, t in zip(masks, truths) if t is not None][1:]
    j = [measures.region(m, t) for m, t in pairs]
    f = [measures.boundary(m, t) for m, t in pairs]
    return float(np.mean(j)), float(np.mean(f))


def main():
    args = arguments()
    begun = time.time()
    try:
        folders = sorted(d for d in glob.glob(os.path.join(args.clips, "*")) if os.path.isdir(os.path.join(d, "frames")))
        if args.only:
            folders = [d for d in folders if os.path.basename(d) == args.only]
        if not folders:
            raise Refused(f"{args.clips}: no clip (a folder with frames/ and masks/) in it")
        kinds = args.prompts.split(",")
        wrong = [k for k in kinds if k not in PROMPTS]
        if wrong:
            raise Refused(f"--prompts: {wrong[0]!r} is none of {', '.join(PROMPTS)}")
        if not os.path.exists(args.model):
            raise Refused(f"{args.model}: no such file")
        runner = (
            Engine(args.model, args.plugins, args.precision, args.size) if args.engine else Torch(args.model, args.size)
        )
        report([score_clip(runner, d, kinds) for d in folders], begun)
    except Refused as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 1
    return 0


def score_clip(runner, folder, prompts):
    frames, truths = read_clip(folder)
    row = {"clip": os.path.basename(folder)}
    row["J_copy"], _ = score([truths[0]] * len(truths), truths)
    for kind in prompts:
        row[f"J_{kind}"], row[f"F_{kind}"] = score(runner.masks(frames, kind, truths[0]), truths)
    return row


def report(rows, begun):
    names = [k for k in rows[0] if k != "clip"]
    names.sort(key=lambda k: (k == "J_copy", k[0] == "F", PROMPTS.index(k[2:]) if k[2:] in PROMPTS else 9))
    mean = {k: float(np.mean([r[k] for r in rows])) for k in names}
    print("| clip | " + " | ".join(k.replace("_", " ") for k in names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for row in rows + [dict(mean, clip="mean")]:
        print(f"| {row['clip']} | " + " | ".join(f"{row[k]:.3f}" for k in names) + " |")
    print(json.dumps({k: round(v, 4) for k, v in mean.items()} | {"seconds": round(time.time() - begun, 1)}))


if __name__ == "__main__":
    sys.exit(main())
