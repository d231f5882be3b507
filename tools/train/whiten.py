#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives a model target models: the features that they are fitted on are principal components of its maps, whitened.

    whiten.py --videos DIR --from FILE --out FILE [--channels 64] [--weight 3] [--held NAME,...]

Six frames of every video are looked at; --held names videos that are not.
"""

import argparse
import os
import sys

import cv2
import torch

import bank
import model
import tracker

FRAMES = 6  # of each video


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--videos", required=True)
    p.add_argument("--from", dest="source", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--channels", type=int, default=64)
    p.add_argument("--weight", type=float, default=3.0, help="of the scores among the logits")
    p.add_argument("--held", default="", help="comma-separated file names of videos that are not looked at")
    return p.parse_args()


def frames_of(path):
    """Some frames (1, 3, H, W) RGB of a video, evenly spaced."""
    video = cv2.VideoCapture(path)
    count = int(video.get(cv2.CAP_PROP_FRAME_COUNT))
    for i in range(FRAMES):
        video.set(cv2.CAP_PROP_POS_FRAMES, int(count * (i + 0.5) / FRAMES))
        read, frame = video.read()
        if read:
            yield torch.from_numpy(frame[..., ::-1].copy()).permute(2, 0, 1)[None]


@torch.inference_mode()
def components(net, paths, channels):
    """(mean (c), directions (c, channels)): x - mean times the directions has no correlations and variances of 1.

    x: the normed maps of a cell, image, s1 and s0, as features that no product has changed.
    """
    width = widest(net)
    plain = given(net, torch.zeros(width), torch.eye(width), 0).eval()
    count, total, products = 0, 0, 0
    for path in paths:
        for frame in frames_of(path):
            image = tracker.resize(frame, (net.image_size, net.image_size))
            x = model.target_features(plain, model.encode(net, model.normalise(net, image)))[0].double()
            count, total, products = count + len(x), total + x.sum(0), products + x.T @ x
    if not count:
        raise bank.BankError("no frame of any video could be read")
    mean = total / count
    values, vectors = torch.linalg.eigh(products / count - mean[:, None] * mean)
    return mean, vectors[:, -channels:] / values[-channels:].sqrt()


def widest(net):
    """How many channels the three maps have together."""
    return net.samtrack["d_model"] * 11 // 8


def given(net, mean, directions, weight):
    """The same network with target models of these components."""
    channels, dim = directions.shape[1], net.samtrack["d_model"]
    config = net.samtrack | {"target_model": {"channels": channels, "weight": weight}}
    own = model.build(config, len(net.memory_attention.layers))
    kept = {k: v for k, v in net.state_dict().items() if not k.startswith("target_model.")}  # those may be of other sizes
    own.load_state_dict(kept, strict=False)
    image, s1, s0 = directions.T.split((dim, dim // 4, dim // 8), 1)
    with torch.no_grad():
        for name, part in (("image", image), ("s1", s1), ("s0", s0 / 4)):
            product = own.target_model[name]
            product.weight.copy_(part[:, :, None, None].expand_as(product.weight))
            product.bias.zero_()
        own.target_model["image"].bias.copy_(-(mean @ directions))
    return own


def main():
    args = arguments()
    try:
        net = model.load(args.source).eval()
        most = widest(net)
        if not 1 <= args.channels <= most:
            raise model.ModelError(f"--channels: wanted 1 to {most}, got {args.channels}")
        if not 0 <= args.weight <= 100:
            raise model.ModelError(f"--weight: wanted 0 to 100, got {args.weight:g}")
        paths = [p for p in bank.videos_of(args.videos) if os.path.basename(p) not in args.held.split(",")]
        model.save(given(net, *components(net, paths, args.channels), args.weight), args.out)
    except (bank.BankError, model.ModelError, OSError) as error:
        print(f"whiten.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
