#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Targets from the model's own tracks: outlines that it tracks forwards and back to their start.

    agreed.py --videos DIR --model FILE --kept FOLDER [--each 4] [--steps 24]

Each outline of outlines.npz in --kept is a mask prompt; the mask at the end of its track is the prompt of the way back. A
track is kept if it returns to its start; pixels where the two directions differ are marked unknown. The script writes
agreed.npz to the same folder, where train.py reads it like the tracks of optical flow. Better weights keep more tracks.
"""

import argparse
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

HOME = 0.75  # IoU of the outline and what came back to it, at least


def run(net, frames, mask):
    """Masks bool (n, h, w) of what `mask` covers in the first of the frames (n, H, W, 3), and in each of the others."""
    one, images = tracker.Tracker(net), [torch.from_numpy(f).permute(2, 0, 1)[None] for f in frames]
    found = [one.prompt_mask(images[0], torch.from_numpy(mask))] + [one.track(i) for i in images[1:]]
    return np.stack([m.numpy() for m in found])


def there_and_back(net, frames, mask, home=HOME):
    """Masks u8 (n, h, w) at the size of tracks: 0, 255, and UNKNOWN where the ways differ; None if it does not come home."""
    large = cv2.resize(mask.astype(np.uint8), frames.shape[2:0:-1], interpolation=cv2.INTER_NEAREST) > 0
    there = run(net, frames, large)
    # What is out of view at the end is asked back from where it was seen last.
    last = int(np.nonzero(there.any((1, 2)))[0].max(initial=0))
    if last + 1 < tracks.SHORTEST:
        return None
    back = run(net, frames[last::-1], there[last])[::-1]
    there = there[: last + 1]
    if measures.region(back[0], large) < home:
        return None
    there[0] = back[0] = large
    pairs = np.where(there == back, there * np.uint8(255), np.uint8(tracks.UNKNOWN))
    return np.stack([cv2.resize(p, tracks.MAP, interpolation=cv2.INTER_NEAREST) for p in pairs])


def of_videos(net, videos, found, each, steps, seed=0):
    """[(first frame, masks, whether it moves by itself)] of `each` outlines of every video, forwards or backwards."""
    rng, first, out = np.random.default_rng(seed), 0, []
    for frames in videos:
        here = [f for f in found if first <= f[0] < first + len(frames)]
        for i in rng.permutation(len(here))[:each]:
            t, mask, moves = here[i][0] - first, *here[i][1:]
            forwards = len(frames) - t >= min(steps, t + 1)
            part = frames[t : t + steps] if forwards else frames[max(0, t - steps + 1) : t + 1][::-1]
            masks = there_and_back(net, part, mask)
            if masks is not None:
                begin = t if forwards else t - len(masks) + 1
                out.append((first + begin, masks if forwards else masks[::-1], moves))
        first += len(frames)
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--videos", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--kept", required=True, help="the --out folder of train.py; reads outlines.npz, writes agreed.npz")
    p.add_argument("--each", type=int, default=4, help="outlines per piece of video")
    p.add_argument("--steps", type=int, default=24, help="frames per track")
    p.add_argument("--bank-mib", type=int, default=600, help="memory for video frames, as for train.py")
    args = p.parse_args()
    try:
        net = model.load(args.model)
        videos, _ = bank.load_videos(args.videos, args.bank_mib)
        found = outlines.load(os.path.join(args.kept, "outlines.npz"), videos)
        if found is None:
            raise bank.BankError(f"{args.kept}/outlines.npz: no outlines of these videos; train.py --stills draws them")
    except (bank.BankError, model.ModelError, OSError) as error:
        print(f"agreed.py: {error}", file=sys.stderr)
        return 1
    kept = of_videos(net, videos, found, args.each, args.steps)
    tracks.save(os.path.join(args.kept, "agreed.npz"), videos, kept)
    print(f"{len(kept)} runs came home")
    return 0


if __name__ == "__main__":
    sys.exit(main())
