#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures whether objects that leave are reported as gone, and found again when they return.

In the generated clips an object stays, slides out of the frame, is absent, and slides back. It is
gone in time if it was present before and its object score falls to 0 or below within 5 frames of its
last visible one. It is found again if the score is above 0 and the mask overlaps it within 5 frames
of its return. The last line is JSON.
"""

import argparse
import functools
import json
import math
import os
import sys

import torch

import bank
import data
import evaluate
import measures
import model
import tracker

FRAMES, LEAVES, AWAY, BACK = 26, 6, (9, 17), 20
PATIENCE = 5


class Leaving(data.Generator):
    """Clips whose first thing goes away between the frames of AWAY and comes back."""

    def place(self, count, steps, turn=math.pi):
        d = self.device
        matrix, size = super().place(count, 1, turn)
        size = size.clamp(0.2, 0.6)
        begin = data.uniform((count, 2), -0.4, 0.4, d)
        side = torch.where(data.chance(count, 0.5, d), 1.0, -1.0)
        t = torch.arange(steps, device=d, dtype=torch.float32)
        out = ((t - LEAVES) / (AWAY[0] - LEAVES)).clamp(0, 1) - ((t - AWAY[1]) / (BACK - AWAY[1])).clamp(0, 1)
        centre = begin[:, None].repeat(1, steps, 1)
        centre[:, :, 0] += side[:, None] * out * 2.6
        angle = data.uniform((count, 1), -3, 3, d).expand(-1, steps)
        return data.affine(centre, size.expand(-1, steps), angle, torch.ones_like(angle)), size.expand(-1, steps)


def by_torch(net, frames, first):
    """(mask, object score) of every frame (n, 3, h, w), by the modules."""
    one, images = tracker.Tracker(net), frames.unsqueeze(1)
    yield one.prompt_mask(images[0], first).numpy(), one.score
    for image in images[1:]:
        yield one.track(image).numpy(), one.score


def by_engine(engine, frames, first):
    """The same by our own pipeline."""
    images = [f.numpy().astype("uint8") for f in frames.permute(0, 2, 3, 1).contiguous()]
    return ((mask, score) for mask, _, score in engine.described(images, "mask", first.numpy() > 0))


def judge(track, clips, i):
    """(gone in time, found again in time) of target 0 of clip i; None if the clip does not show it."""
    truth = clips.masks[i, :, 0].bool().numpy()
    seen = truth.any((1, 2))
    if not seen[: LEAVES - 1].all() or seen[AWAY[0] + 1 : AWAY[1]].any() or not seen[BACK:].all():
        return None
    masks, scores = zip(*track(clips.frames[i], clips.masks[i, 0, 0]))
    last, again = int(seen[: AWAY[1]].nonzero()[0].max()), AWAY[1] + int(seen[AWAY[1] :].argmax())
    gone = scores[LEAVES - 1] > 0 and any(s <= 0 for s in scores[last + 1 : last + 1 + PATIENCE])
    after = range(again, min(again + PATIENCE + 1, FRAMES))
    found = any(scores[t] > 0 and measures.region(masks[t], truth[t]) > 0.3 for t in after)
    return gone, found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default=evaluate.EMBEDDED)
    p.add_argument("--videos", help="folder of videos for textures and backgrounds")
    p.add_argument("--clips", type=int, default=100)
    p.add_argument("--engine", action="store_true", help="track by our own pipeline")
    p.add_argument("--plugins", default=os.path.join(evaluate.ROOT, "build/gst"), help="folder of the plugin for --engine")
    p.add_argument("--precision", default="fp32", help="precision of the element, for --engine")
    p.add_argument("--size", type=int, default=0, help="input size in px (default: the model's; of two, that of quick devices)")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    try:
        net = model.load(args.model, model.sized(model.read(args.model)[0], args.size or evaluate.side_of(args.model)))
        videos = bank.load_videos(args.videos, 200)[0] if args.videos else bank.invent(args.seed)
    except (model.ModelError, bank.BankError) as error:
        print(f"presence.py: {error}", file=sys.stderr)
        return 1
    torch.manual_seed(args.seed)
    make = Leaving(bank.Bank(bank.shared(videos), None, "cpu"), net.image_size, "cpu", objects=1, targets=1, cutouts=0, vanish=0)
    track = functools.partial(by_torch, net)
    results = []
    try:
        if args.engine:
            track = functools.partial(by_engine, evaluate.Engine(args.model, args.plugins, args.precision, net.image_size))
        while len(results) < args.clips:
            verdict = judge(track, make(1, FRAMES), 0)
            if verdict:
                results.append(verdict)
    except evaluate.Refused as error:
        print(f"presence.py: {error}", file=sys.stderr)
        return 1
    gone, found = (sum(r[k] for r in results) for k in (0, 1))
    both = sum(a and b for a, b in results)
    print(f"{len(results)} clips: {gone} gone in time, {found} found again, {both} both")
    print(json.dumps({"clips": len(results), "gone": gone, "found": found, "both": both, "seed": args.seed}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
