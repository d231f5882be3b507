#!/usr/bin/env python3
"""Trains only the IoU head, which chooses among masks 1 to 3 on clicks and tracked frames.

    choice.py --videos DIR --from FILE --out FILE --kept FOLDER [--batches 60]

All other weights stay unchanged. The decoder's outputs are computed once, without gradients, and the head is trained on
them in seconds; the whole run takes minutes. --kept is the folder with the tracks and outlines of train.py; missing ones
are computed. One batch in five is held out, and the best head on it is written.
"""

import argparse
import sys

import torch

import bank
import losses
import model
import train


class Answers:
    """What the head saw, the true IoUs of the four masks, and which count; of every answer while it is entered."""

    def __init__(self, net):
        self.net, self.seen, self.true, self.counts = net, [], [], []

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
        # With more weight on it, mask 0 is the answer, and nothing is chosen.
        self.counts.append((present * alive > 0) & (single < 1))
        return cost, real

    def rows(self):
        seen = torch.cat([s.flatten(0, -2) for s in self.seen])
        counts = torch.cat(self.counts)
        return seen[counts], torch.cat(self.true)[counts]


def collect(net, generator, batches, seed):
    """[(inputs of the head, true IoUs)] of so many batches: two of single pictures for each of short clips."""
    out = []
    for i in range(batches):
        torch.manual_seed(seed + i)
        with Answers(net) as answers, torch.no_grad(), model.mixed_precision("cpu", model.fast_type("cpu")):
            if i % 3 < 2:
                losses.stills(net, generator(6, 1), mended=0, clicks=4)
            else:
                losses.follow(net, generator(3, 3), ("mask", "box", "point")[i // 3 % 3])
        out.append(answers.rows())
    return out


def taken(ious, real):
    """The mean IoU of the masks that the predictions `ious` choose."""
    return real[torch.arange(len(real)), losses.of_chosen(ious)].mean().item()


def teach(head, rows, apart, steps=400, rate=1e-3):
    """The head's best state on `apart`, and the mean IoU of its choices there: before, after, and of the best choice."""
    seen, real = rows
    optimizer = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=0.01)
    first = best = taken(head(apart[0]), apart[1])
    state = {k: v.clone() for k, v in head.state_dict().items()}
    for step in range(steps):
        picked = torch.randint(len(seen), (min(512, len(seen)),))
        ious = head(seen[picked])
        cost = (ious - real[picked]).abs().mean() + losses.choice_cost(ious, real[picked]).mean()
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        if step % 10 == 9:
            with torch.no_grad():
                now = taken(head(apart[0]), apart[1])
            if now > best:
                best, state = now, {k: v.clone() for k, v in head.state_dict().items()}
    head.load_state_dict(state)
    return first, best, apart[1][:, 1:].amax(1).mean().item()


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
        generator = train.generator_of(args, train.load_videos(args), net.image_size, "cpu")
    except (train.Refused, bank.BankError, model.ModelError, OSError) as error:
        print(f"choice.py: {error}", file=sys.stderr)
        return 1
    found = collect(net, generator, args.batches, args.seed)
    parts = [[torch.cat(v) for v in zip(*rows)] for rows in (found[: -len(found) // 5], found[-len(found) // 5 :])]
    first, best, most = teach(net.mask_decoder.iou_prediction_head, *parts)
    print(f"IoU of what is chosen, on {len(parts[1][0])} answers kept apart: {first:.3f}, now {best:.3f}; best {most:.3f}")
    model.save(net, args.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
