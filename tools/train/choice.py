#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains only the IoU head, which chooses among masks 1 to 3 on clicks and tracked frames, and says how good a mask is.

    choice.py --videos DIR --from FILE --out FILE --kept FOLDER [--batches 60]

All other weights stay unchanged. The decoder's outputs are computed once, without gradients, and the head is trained on
them in seconds; the whole run takes minutes. --kept is the folder with the tracks and outlines of train.py; missing ones
are computed. With --pictures half of the answers come from tracking their clips to the end, as nothing in eight frames of training
drifts as far as in a hundred. One batch in five, and one clip in five, is held out, and the best head on them is written.
"""

import argparse
import itertools
import sys

import numpy as np
import torch

import bank
import losses
import model
import pictures
import prompts
import tracker
import train


TENTHS = 10


class Answers:
    """What the head saw, the true IoUs of the four masks, which count, and where mask 0 is the answer; while it is entered."""

    def __init__(self, net):
        self.net, self.seen, self.true, self.counts, self.alone = net, [], [], [], []

    def __enter__(self):
        self.judge = losses.decoder_cost
        head = self.net.mask_decoder.iou_prediction_head
        self.handle = head.register_forward_pre_hook(lambda _, x: self.seen.append(x[0].detach().float()))
        losses.decoder_cost = self.note
        return self

    def __exit__(self, *error):
        self.handle.remove()
        losses.decoder_cost = self.judge

    def note(self, masks, ious, score, truth, known, present, alive, single=0.5):
        cost, real = self.judge(masks, ious, score, truth, known, present, alive, single)
        self.true.append(real.float())
        self.counts.append(present * alive > 0)
        # With more weight on it, mask 0 is the answer, and nothing is chosen.
        self.alone.append(torch.full_like(self.counts[-1], single >= 1))
        return cost, real

    def rows(self):
        """Inputs of the head (n, d), true IoUs (n, 4), and where mask 0 is the answer (n,)."""
        seen = torch.cat([s.flatten(0, -2) for s in self.seen])
        counts = torch.cat(self.counts)
        return seen[counts], torch.cat(self.true)[counts], torch.cat(self.alone)[counts]


def collect(net, generator, batches, seed):
    """[what Answers.rows() gives] of so many batches: two of single pictures for each of clips."""
    out = []
    for i in range(batches):
        torch.manual_seed(seed + i)
        with Answers(net) as answers, torch.no_grad(), model.mixed_precision("cpu", model.fast_type("cpu")):
            if i % 3 < 2:
                losses.stills(net, generator(6, 1), mended=0, clicks=4)
            else:
                losses.follow(net, generator(2, 8), ("mask", "box", "point")[i // 3 % 3])
        out.append(answers.rows())
    return out


class Noting(tracker.Tracker):
    """Tracks, and notes the four masks' logits (1, 4, s, s) of every frame."""

    def _chosen(self, out, multi):
        self.masks = out[0]
        return super()._chosen(out, multi)


def tracked(net, frames, masks, kind):
    """What Answers.rows() gives of a thing followed through frames (T, H, W, 3) u8; masks (T, h, w) u8: 255, 0, or neither."""
    one, seen, real, side = Noting(net), [], [], (net.image_size, net.image_size)
    take = net.mask_decoder.iou_prediction_head.register_forward_pre_hook(lambda _, x: seen.append(x[0].detach().float()))
    for t, (image, mask) in enumerate(zip(frames, torch.from_numpy(masks)[:, None, None])):
        picture = torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1)[None]
        truth = tracker.resize(mask == 255, side).round()
        if t == 0:
            points, labels = prompts.click(truth) if kind == "point" else prompts.box(truth)
            scale = torch.tensor([picture.shape[3], picture.shape[2]]) / net.image_size
            one.prompt_points(picture, (points[0] * scale).tolist(), labels[0].tolist())
            seen.clear()
            continue
        one.track(picture)
        if not truth.any():
            seen.pop()
            continue
        known = (losses.quartered(tracker.resize((mask == 255) | (mask == 0), side)) > 0.9).float()
        real.append(losses.overlap(one.masks.float(), losses.quartered(truth).expand(1, 4, -1, -1), known))
    take.remove()
    seen = torch.cat([s.flatten(0, -2) for s in seen]) if seen else torch.zeros(0, net.samtrack["d_model"])
    return seen, torch.cat(real) if real else torch.zeros(0, 4), torch.zeros(len(seen), dtype=torch.bool)


def collect_tracked(net, clips, ways):
    """[what Answers.rows() gives] of two things of each of the clips of pictures, and of ways(), by clicks and boxes in turn."""
    out, kinds = [], itertools.cycle(("point", "box"))
    for clip in clips:
        images, labels = (np.stack(v) for v in zip(*(pictures.read(p) for p in clip)))
        for n in pictures.two_of(labels[0]):
            out.append(tracked(net, images, (labels == n) * np.uint8(255), next(kinds)))
    for images, masks in ways:
        out.append(tracked(net, images, masks, next(kinds)))
    return out


def ways(found, least=12):
    """(frames, masks) for tracked() of what outlines by hand were tracked to, if they were for `least` frames."""
    (frames, _), moving = found[:2]
    if moving is None:
        return
    starts, counts, kinds, masks = moving
    for start, masks, kind in zip(starts.tolist(), masks.split(counts.tolist()), kinds.tolist()):
        if kind == bank.ANNOTATED and len(masks) >= least:
            yield frames[start : start + len(masks)].permute(0, 2, 3, 1).numpy(), masks.numpy()


def balanced(found):
    """One set of rows of several [what Answers.rows() gives], as many of each: of the larger ones a random part."""
    sets = [[torch.cat(v) for v in zip(*rows)] for rows in found]
    least = min(len(s[0]) for s in sets)
    picks = [torch.randperm(len(s[0]))[:least] for s in sets]
    return [torch.cat([s[i][p] for s, p in zip(sets, picks)]) for i in range(3)]


def taken(ious, real, alone):
    """(predicted, true) IoUs (n,) of the masks that the predictions `ious` (n, 4) choose, mask 0 where it is `alone`."""
    rows, best = torch.arange(len(real)), torch.where(alone, 0, losses.of_chosen(ious))
    return ious[rows, best], real[rows, best]


def off(expected, real):
    """How far predictions are off: the distance of both means in every tenth of the predictions, the mean over all answers."""
    tenth = (expected * TENTHS).long().clamp(0, TENTHS - 1)
    sums = torch.zeros(TENTHS).index_add_(0, tenth, expected - real)
    return (sums.abs().sum() / len(real)).item()


def judged(head, rows):
    """(mean IoU of what the head takes, how far it is off) on what Answers.rows() gives."""
    with torch.no_grad():
        expected, real = taken(head(rows[0]), *rows[1:])
    return real.mean().item(), off(expected, real)


def teach(head, rows, apart, steps=600, rate=1e-3):
    """Leaves the head in its best state on `apart`. Returns judged() there before and after, and the mean IoU of the best choice."""
    seen, real, alone = rows
    single = torch.tensor([1.0, 0.0, 0.0, 0.0])
    optimizer = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=0.01)
    first = best = judged(head, apart)
    state = {k: v.clone() for k, v in head.state_dict().items()}
    for step in range(steps):
        picked = torch.randint(len(seen), (min(512, len(seen)),))
        for group in optimizer.param_groups:
            group["lr"] = rate * (1 - step / steps)
        ious, lone = head(seen[picked]), alone[picked]
        # Of a box only mask 0 is seen by anybody.
        weight = torch.where(lone[:, None], 4 * single, torch.ones(4))
        cost = 4 * (weight * (ious - real[picked]).square()).mean()
        cost = cost + (losses.choice_cost(ious, real[picked]) * ~lone).mean()
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        if step % 10 == 9:
            now = judged(head, apart)
            if now[0] - now[1] > best[0] - best[1]:
                best, state = now, {k: v.clone() for k, v in head.state_dict().items()}
    head.load_state_dict(state)
    most = torch.where(apart[2], apart[1][:, 0], apart[1][:, 1:].amax(1)).mean().item()
    return first, best, most


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--videos", help="folder of videos, as for train.py")
    p.add_argument("--from", dest="source", required=True)
    p.add_argument("--out", dest="file", required=True, help="the file to write")
    p.add_argument("--kept", dest="out", required=True, help="folder of tracks.npz and outlines.npz")
    p.add_argument("--pictures", help="folder of pictures with instance masks, as for train.py")
    p.add_argument("--bodies", help="comma-separated files made by bodies.py")
    p.add_argument("--annotated", help="file made by annotated.py")
    p.add_argument("--held", help="comma-separated file names of videos that are left out")
    p.add_argument("--batches", type=int, default=60)
    p.add_argument("--bank-mib", type=int, default=600)
    p.add_argument("--workers", type=int, default=1, help="processes that compute missing outlines")
    p.add_argument("--seed", type=int, default=1)
    p.set_defaults(stills=1.0, targets=2)
    return p.parse_args()


def main():
    args = arguments()
    try:
        net = model.load(args.source).eval()
        videos = train.load_videos(args)
        generator = train.generator_of(args, videos, net.image_size, "cpu")
        found = [collect(net, generator, args.batches, args.seed)]
        if args.pictures:
            found.append(collect_tracked(net, pictures.Collection(args.pictures).clips, ways(videos)))
    except (train.Refused, bank.BankError, model.ModelError, OSError) as error:
        print(f"choice.py: {error}", file=sys.stderr)
        return 1
    parts = [balanced([f[: -len(f) // 5] for f in found]), balanced([f[-len(f) // 5 :] for f in found])]
    first, best, most = teach(net.mask_decoder.iou_prediction_head, *parts)
    print(
        f"IoU of what is taken, on {len(parts[1][0])} answers kept apart: {first[0]:.3f}, now {best[0]:.3f}; best {most:.3f}."
        f" Predictions are off by {first[1]:.3f}, now {best[1]:.3f}"
    )
    model.save(net, args.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
