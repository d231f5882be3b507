#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains the embedded model, and others of its kind, on pictures and clips.

    train.py --minutes 2                      a short trial: trains, logs, writes a checkpoint, exports
    train.py --pictures DIR --videos DIR      with pictures that have instance masks, and videos
    train.py --videos DIR --from FILE         starts from released weights
    train.py --resume                         continues from the last checkpoint of --out

The process can be killed at any moment: a checkpoint is written to a temporary file and renamed.
"""

import argparse
import collections
import contextlib
import ctypes
import datetime
import functools
import json
import math
import os
import pickle
import random
import shutil
import sys
import tempfile
import time

import numpy as np
import torch
import torch.distributed
import torch.multiprocessing

import annotated
import bank
import bodies
import data
import feeder
import graft
import lite
import losses
import model
import muon
import outlines
import pictures
import tracks
import watch

DISK_MIB = 512  # checkpoints, two of them while one is written
MEMORY_MIB = 3072
USUAL_SIZE = 0.1  # root mean square of weights that --rate suits
LENGTHS = (3, 4, 6, 8, 12)
# How the names of memory's parameters begin. The head that tells whether the object is there is one of them: it changes no mask.
MEMORY = ("memory_attention", "memory_encoder", "memory_temporal", "object_pointer", "no_object_pointer", "occlusion", "temporal_positional",
          "mask_decoder.pred_obj_score_head")


class Refused(Exception):
    """Why training cannot begin, in one sentence."""


def sides(text):
    """Of input sizes, as 448,320."""
    if not all(part.isdecimal() and int(part) and int(part) % 64 == 0 for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted multiples of 64, as 448,320")
    return tuple(map(int, text.split(",")))


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--videos", help="folder of videos for textures, backgrounds and real motion")
    p.add_argument("--pictures", help="folder of pictures and clips with instance masks, see pictures.py")
    p.add_argument("--watch", help="comma-separated folders of clips whose first frames are only looked at, for the log")
    p.add_argument("--annotated", help="file of things outlined by hand, made by annotated.py, used beside the videos")
    p.add_argument("--bodies", help="comma-separated files of moving bodies made by bodies.py, used beside the videos")
    p.add_argument("--out", default=os.path.join(here, "../../runs/train"), help="folder for checkpoints, log and exported weights")
    p.add_argument("--from", dest="source", help="released weights to start from")
    p.add_argument("--trunk", choices=(*lite.TRUNKS, "hiera"), default="efficientnet-lite0",
                   help="of a start without --from: hiera begins from nothing, others from their ImageNet weights under"
                   " samtrack-nano's other parts (default: efficientnet-lite0)")
    p.add_argument("--resume", action="store_true", help="continue from the checkpoint in --out")
    p.add_argument("--minutes", type=float, default=120, help="total training time")
    p.add_argument("--batch", type=int, default=4, help="clips of 4 frames per step and worker; longer clips are fewer")
    p.add_argument("--frames", type=int, default=8, help="largest number of frames per clip")
    p.add_argument("--targets", type=int, default=2, help="objects tracked per clip")
    p.add_argument("--only", choices=("memory",), help="train the memory's parts alone, and the object score: masks of single answers stay what they are")
    p.add_argument("--stills", type=float, default=0.0, help="share of the steps on single frames with outlines")
    p.add_argument("--held", help="comma-separated file names of videos used for validation only")
    p.add_argument("--size", type=sides, default=(256,), dest="sizes",
                   help="input side in px, a multiple of 64; may change with --resume. Several, as 448,320: each step takes one of them, and"
                   " the first is looked at and exported")
    p.add_argument("--rate", type=float, default=4e-4)
    p.add_argument("--trunk-rate", type=float, default=0.1, help="of a pretrained trunk, as a share of --rate")
    p.add_argument("--watch-minutes", type=float, default=10, help="between two looks at what is kept apart")
    p.add_argument("--workers", type=int, default=0, help="processes that share the batch (default: one per core)")
    p.add_argument("--save-seconds", type=float, default=180, help="seconds between two checkpoints")
    p.add_argument("--bank-mib", type=int, default=600, help="memory for video frames")
    p.add_argument("--feeders", type=int, default=0, help="processes that generate clips ahead (default: none)")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--compile", action="store_true", help="compile the image encoder")
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    if args.only and args.stills:
        p.error(f"argument --only: single frames teach memory nothing; got --stills {args.stills:g}, expected 0")
    if args.only and not (args.source or args.resume):
        p.error("argument --only: expected --from or --resume beside it: other starts begin with single frames")
    args.size = args.sizes[0]
    args.workers = args.workers or (1 if args.device.startswith("cuda") else os.cpu_count() or 1)
    args.grafted = False  # begin_anew() knows better
    args.kind = model.fast_type(args.device)  # chosen once: workers that differ would part
    return args


def check_room(out, bank_mib):
    free = shutil.disk_usage(out).free >> 20
    if free < DISK_MIB:
        raise Refused(f"{out}: {free} MiB of disk are free, {DISK_MIB} are needed")
    with open("/proc/meminfo") as f:
        left = next(int(line.split()[1]) >> 10 for line in f if line.startswith("MemAvailable"))
    if left < MEMORY_MIB + bank_mib:
        raise Refused(f"{left} MiB of memory are available, {MEMORY_MIB + bank_mib} are needed (see --bank-mib)")


def optimizers(net, rate, kind, rank=0, workers=1, trunk_rate=0.1):
    """Muon for the matrices of the blocks, AdamW for everything else, at one rate; a pretrained trunk at `trunk_rate` of it.

    Muon's steps are scaled to AdamW's size. Beside it on the same pictures, it needs two thirds of the time to a loss.
    """
    parts = ("backbone.blocks", "memory_attention.layers", "mask_decoder.transformer")
    matrices, decayed, plain, pretrained = [], [], [], []
    if model.is_lite(net):
        for p in net.vision_encoder.backbone.early():
            p.requires_grad_(False)
    for name, p in net.named_parameters():
        if not p.requires_grad:
            continue
        if model.is_lite(net) and "vision_encoder.backbone" in name:
            # A step is a share of the weights' size, which norms that were folded have made as different as 1 and 50.
            size = 1.0 if p.ndim == 1 else (p.detach().square().mean().sqrt().item() / USUAL_SIZE)
            pretrained.append({"params": [p], "weight_decay": 0.0, "share": trunk_rate * min(max(size, 0.1), 4.0)})
            continue
        inner = p.ndim == 2 and min(p.shape) >= 16 and any(part in name for part in parts)
        (matrices if inner else decayed if p.ndim > 1 else plain).append(p)
    groups = [{"params": decayed, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}, *pretrained]
    return [
        muon.Muon(matrices, lr=rate, weight_decay=0.02, momentum=0.95, kind=kind, rank=rank, workers=workers),
        torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98)),
    ]


def freeze(net):
    """Leave only the parts of memory to be trained: how it is made, read, and pointed to, and the object score."""
    for name, p in net.named_parameters():
        p.requires_grad_(p.requires_grad and name.startswith(MEMORY))


class Run:
    """A network in training: its average, its optimizer, its place in time, its files."""

    def __init__(self, args, net, rank=0):
        self.args, self.net = args, net.to(args.device).train()
        if args.only:
            freeze(net)
        self.nets = [net, *(model.at_size(net, side).to(args.device).train() for side in args.sizes[1:])]
        self.average = {k: v.detach().clone() for k, v in net.named_parameters()}
        self.optimizers = optimizers(net, args.rate, args.kind, rank, args.workers, args.trunk_rate)
        self.step, self.seconds, self.warm = 0, 0.0, 0
        self.young = 0.0 if args.source and not args.grafted else 0.4  # this part of the time goes to single frames

    @property
    def path(self):
        return os.path.join(self.args.out, "checkpoint.pt")

    def save(self):
        state = {
            "net": self.net.state_dict(),
            "average": self.average,
            "optimizers": [o.state_dict() for o in self.optimizers],
            "step": self.step,
            "seconds": self.seconds,
            "young": self.young,
            "architecture": (self.net.samtrack, len(self.net.memory_attention.layers)),
        }
        part = f"{self.path}.part"
        with open(part, "wb") as f:
            torch.save(state, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, self.path)
        self.export()

    def export(self):
        with self.averaged():
            model.save(self.net, os.path.join(self.args.out, "weights.safetensors"))

    @contextlib.contextmanager
    def averaged(self):
        """The network with the running average of its weights."""
        own = {k: p.detach().clone() for k, p in self.net.named_parameters()}
        with torch.no_grad():
            for k, p in self.net.named_parameters():
                p.copy_(self.average[k])
            try:
                yield self.net
            finally:
                for k, p in self.net.named_parameters():
                    p.copy_(own[k])

    def restore(self, state):
        missing = {"net", "average", "optimizers", "step", "seconds"} - set(state if isinstance(state, dict) else ())
        if missing:
            raise Refused(f"{self.path}: not a checkpoint of this trainer ({min(missing)} is missing)")
        try:
            self.net.load_state_dict(state["net"])
        except RuntimeError as error:
            raise Refused(f"{self.path}: of another architecture ({str(error).splitlines()[-1].strip()})") from None
        self.average = {k: v.to(self.args.device) for k, v in state["average"].items()}
        try:
            for optimizer, own in zip(self.optimizers, state["optimizers"]):
                optimizer.load_state_dict(own)
        except ValueError:
            raise Refused(f"{self.path}: of a run that trained other parts (see --only)") from None
        self.step, self.seconds = state["step"], state["seconds"]
        self.young = state.get("young", 0.0)
        self.warm = -60  # the optimizer knows its steps: no second warm-up

    @property
    def part(self):
        return min(1.0, self.seconds / (60 * self.args.minutes))

    def shape(self, step):
        """(clips, frames, prompt, frame to correct or None) of a step; alike in all workers, which wait for each other.

        Single pictures are asked by all prompts; the last number is then how often each answer is corrected.
        """
        batch, longest, dice = self.args.batch, self.args.frames, random.Random(step)
        if self.part < self.young or dice.random() < self.args.stills:
            return 3 * batch, 1, None, dice.choice((0, 0, 0, 1, 2))
        lengths = [n for n in LENGTHS if n <= max(longest, LENGTHS[0])]
        # The long ones later: what is wrong after three frames is not learnt from eight.
        frames = dice.choice(lengths[: max(1, math.ceil(len(lengths) * min(1.0, 0.5 + self.part)))])
        corrected = dice.randrange(1, frames) if frames > 2 and dice.random() < 0.2 else None
        return max(1, 4 * batch // frames), frames, dice.choice(("mask", "box", "point")), corrected

    def size(self, step):
        """Which of the sizes a step takes; alike in all workers, too."""
        return random.Random(-1 - step).randrange(len(self.nets))

    def rate(self):
        """Warm-up, then flat, then a cosine to a twentieth over the last half."""
        fall = max(0.0, self.part - 0.5) / 0.5
        return self.args.rate * min(1.0, (self.step - self.warm + 1) / 60) * (0.525 + 0.475 * math.cos(math.pi * fall))

    def share_gradients(self):
        """The mean of every worker's gradients, in one message."""
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in self.net.parameters()]
        flat = torch.cat([g.flatten() for g in grads] + [torch.tensor([self.seconds])])
        torch.distributed.all_reduce(flat)
        flat /= self.args.workers
        parts = flat.split([g.numel() for g in grads] + [1])
        for p, g in zip(self.net.parameters(), parts):
            p.grad = g.view_as(p)
        self.seconds = parts[-1].item()

    def update(self, cost):
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.rate() * group.get("share", 1.0)
            optimizer.zero_grad(set_to_none=True)
        cost.backward()
        if self.args.workers > 1:
            self.share_gradients()
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        if not torch.isfinite(norm):
            return
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1
        keep = min(0.997, (self.step + 1) / (self.step + 10))
        with torch.no_grad():
            for k, p in self.net.named_parameters():
                self.average[k].lerp_(p, 1 - keep)


def begin(args):
    """The network to train, and the checkpoint to resume from, if any."""
    path = os.path.join(args.out, "checkpoint.pt")
    if args.resume:
        if not os.path.exists(path):
            raise Refused(f"{path}: no checkpoint to resume from")
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            config, layers = (state.get("architecture") if isinstance(state, dict) else None) or (model.NANO, 2)
            return model.build(model.sized(config, args.size), layers), state
        except (RuntimeError, EOFError, ValueError, KeyError, TypeError, pickle.UnpicklingError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise Refused(f"{path}: not a checkpoint of this trainer ({reason})") from None
    if args.source:
        return model.load(args.source, model.sized(model.read(args.source)[0], args.size)), None
    net = model.build(model.sized(model.NANO, args.size))
    model.start_local(net)
    return net, None


def begin_anew(args):
    """A start without weights: unless from nothing, a pretrained trunk under samtrack-nano's other parts, in a file."""
    args.grafted = not (args.resume or args.source or args.trunk == "hiera")
    if args.grafted:
        net = graft.grafted(graft.DONOR, args.trunk, args.size, graft.looks(args.pictures, args.videos))
        args.source = os.path.join(args.out, "start.safetensors")
        model.save(net, args.source)


def load_videos(args):
    """In memory that every worker shares: frames, what could be followed in them, outlines, and those held apart."""
    if not args.videos:
        return bank.shared(bank.invent(args.seed)), None, None, None
    videos, names = bank.load_videos(args.videos, args.bank_mib)
    kept = os.path.join(args.out, "tracks.npz")
    found = tracks.load(kept, videos)
    if found is None:
        print(f"following regions in {len(videos)} videos", flush=True)
        found = tracks.of_videos(videos)
        tracks.save(kept, videos, found)
    # Pictures have masks that are better.
    drawn = find_outlines(args, videos, found) if args.stills and not args.pictures else []
    found += follow_outlines(args, videos, drawn)
    found += tracks.load(os.path.join(args.out, "agreed.npz"), videos) or []
    if args.annotated:
        made, more, moving, outlined = annotated.load(args.annotated, sum(map(len, videos)))
        videos, names, found, drawn = videos + made, names + more, found + moving, drawn + outlined
    apart = frames_apart(args.held, videos, names)
    for path in args.bodies.split(",") if args.bodies else ():
        made, moving, outlined = bodies.load(path, sum(map(len, videos)))
        videos, found, drawn = videos + made, found + moving, drawn + outlined
    return (
        bank.shared(videos),
        bank.shared_tracks([f for f in found if f[0] not in apart]),
        bank.shared_outlines([d for d in drawn if d[0] not in apart]),
        bank.shared_outlines(best_of(d for d in drawn if d[0] in apart)),
    )


def best_of(drawn):
    """Outlines by hand, if there are any, to measure on; else all."""
    drawn = list(drawn)
    return [d for d in drawn if d[2] == bank.ANNOTATED] or drawn


def frames_apart(held, videos, names):
    """The frames of the videos that are measured on, in the concatenation of all."""
    if held is None:
        return frozenset()
    wanted = held.split(",")
    for name in wanted:
        if name not in names:
            raise Refused(f"--held: no video of that name; got {name}, there are {', '.join(sorted(set(names)))}")
    first = np.cumsum([0] + [len(v) for v in videos])
    return frozenset(t for i, name in enumerate(names) if name in wanted for t in range(first[i], first[i + 1]))


def find_outlines(args, videos, followed):
    kept = os.path.join(args.out, "outlines.npz")
    drawn = outlines.load(kept, videos)
    if drawn is None:
        print(f"drawing outlines in {len(videos)} videos", flush=True)
        drawn = outlines.of_videos(videos, followed, args.workers)
        outlines.save(kept, videos, drawn)
    return drawn


def follow_outlines(args, videos, drawn):
    """What tracks.of_videos() gives, of the outlines."""
    kept = os.path.join(args.out, "outlines-followed.npz")
    found = tracks.load(kept, videos) if drawn else []
    if found is None:
        print(f"following {len(drawn)} outlines", flush=True)
        found = tracks.of_masks(videos, drawn)
        tracks.save(kept, videos, found)
    return found


class Source:
    """Shapes and clips, step after step; made ahead where there are feeders."""

    def __init__(self, args, run, found):
        self.run, self.device = run, args.device
        self.make = maker_of(args, found, args.device)
        self.asked, self.ticket, self.most = collections.deque(), run.step, 2 * args.feeders
        if args.feeders:
            maker = functools.partial(maker_of, args, found, "cpu")
            self.feeder = feeder.Feeder(maker, args.feeders, torch.initial_seed() % 2**31)

    def next(self):
        """(Shape, number of its size, clips) of a step."""
        if not self.most:
            shape, size = self.run.shape(self.run.step), self.run.size(self.run.step)
            return shape, size, self.make(*shape[:2], size)
        while len(self.asked) < self.most:
            shape, size = self.run.shape(self.ticket), self.run.size(self.ticket)
            self.asked.append((self.ticket, shape, size))
            self.feeder.ask(self.ticket, *shape[:2], size)
            self.ticket += 1
        ticket, shape, size = self.asked.popleft()
        return shape, size, self.feeder.take(ticket, self.device)


def train(args, run, source, held, first):
    """Until the time is over. held: outlines to measure on, or None; first: this worker logs and writes."""
    looks, looked = watch.looks(args.pictures, args.watch, run.net.image_size) if first else {}, 0.0
    net, log = run.net, Log(args.out) if first else None
    if args.compile:
        model.encode = torch.compile(model.encode)
    saved = clock = time.time()
    while run.seconds < 60 * args.minutes:
        (count, frames, kind, corrected), size, clips = source.next()
        made = time.time()
        with model.mixed_precision(args.device, args.kind):
            if frames == 1:
                cost, ious, seen = losses.stills(run.nets[size], clips, corrected)
            else:
                cost, ious, seen = losses.follow(run.nets[size], clips, kind, corrected=corrected)
        run.update(cost)
        now = time.time()
        # A process stopped and continued from outside did not train meanwhile.
        run.seconds += min(now - clock, 60.0)
        if first:
            log.add(cost, ious, seen, frames == 1, now - clock, made - clock, count * frames * args.workers)
            if len(log) == 20:
                log.write(run, watch.numbers(net, source.make, held) if run.step % 100 < 20 else {})
        if looks and now - looked > 60 * args.watch_minutes:
            with run.averaged() as net:
                log.say({"step": run.step, "minutes": round(run.seconds / 60, 1)} | watch.answers(net, looks))
            looked = now = time.time()
        clock = now
        if first and now - saved > args.save_seconds:
            run.save()
            saved = now
    if first:
        log.write(run, {})
        log.file.close()
        run.save()


class Log:
    """A line of JSON every so many steps, on the screen and in a file."""

    def __init__(self, folder):
        self.file, self.steps = open(os.path.join(folder, "log.jsonl"), "a", buffering=1), []

    def __len__(self):
        return len(self.steps)

    def add(self, cost, ious, seen, still, seconds, making, frames):
        # By distance from the prompt; clips differ in length.
        hits = [((ious[:, t] * seen[:, t]).sum().item(), seen[:, t].sum().item()) for t in range(ious.shape[1])]
        self.steps.append((cost.item(), hits, still, seconds, making, frames))

    def means(self, still):
        """Mean IoUs of the steps on single frames (by box, by click), or on clips, by distance."""
        rows = [s[1] for s in self.steps if s[2] == still]
        longest = max(map(len, rows), default=0)
        sums = [[sum(r[t][i] for r in rows if t < len(r)) for i in (0, 1)] for t in range(longest)]
        return [round(a / max(b, 1), 3) for a, b in sums]

    def write(self, run, more):
        if not self.steps:
            return
        spent = sum(s[3] for s in self.steps)
        line = {
            "step": run.step,
            "minutes": round(run.seconds / 60, 1),
            "loss": round(sum(s[0] for s in self.steps) / len(self.steps), 3),
            "iou": self.means(still=False),
            "still_iou": self.means(still=True),
            "rate": round(run.rate(), 6),
            "frames_per_second": round(sum(s[5] for s in self.steps) / spent, 1),
            "data_share": round(sum(s[4] for s in self.steps) / spent, 2),
        } | more
        self.steps = []
        self.say(line)

    def say(self, line):
        print(json.dumps(line), flush=True)
        self.file.write(json.dumps(line) + "\n")


def work(rank, args, found, meeting):
    """One of the processes that train together; rank 0 logs and writes. found: of load_videos()."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // args.workers))
    torch.manual_seed((args.seed or int(time.time())) * 64 + rank)
    if args.workers > 1:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        patience = datetime.timedelta(days=7)  # the first may be stopped and continued
        torch.distributed.init_process_group("gloo", f"file://{meeting}", patience, args.workers, rank)
    net, state = begin(args)
    if args.pictures and model.is_lite(net):
        of = {"data": pictures.Collection(args.pictures).licences}
        if args.videos:
            of["videos"] = ", ".join(os.path.basename(p) for p in bank.videos_of(args.videos))
        net.samtrack = net.samtrack | {"origin": net.samtrack.get("origin", {}) | of}
    run = Run(args, net, rank)
    if state:
        run.restore(state)
    if args.workers > 1:
        for p in net.parameters():
            torch.distributed.broadcast(p.data, 0)
    held = bank.Bank(found[0], None, args.device, outlines=found[3]) if found[3] else None
    train(args, run, Source(args, run, found), held, rank == 0)


def generator_of(args, found, size, device):
    videos, followed, drawn, _ = found
    moving = data.Generator(bank.Bank(videos, followed, device, outlines=drawn), size, device, targets=args.targets)
    if not args.pictures:
        return moving
    return pictures.Mixture(pictures.Pictures(pictures.Collection(args.pictures), size, args.targets), moving)


def maker_of(args, found, device):
    """A function of (clips, frames, number of their size)."""
    generators = [generator_of(args, found, side, device) for side in args.sizes]
    return lambda count, frames, size=0: generators[size](count, frames)


def follow_the_first(*rest):
    # Linux: PR_SET_PDEATHSIG, SIGKILL. A killed first worker leaves none behind.
    ctypes.CDLL(None).prctl(1, 9)
    try:
        work(*rest)
    except (RuntimeError, KeyboardInterrupt):
        pass  # the first worker ended, or Ctrl-C ended both; nothing is left to do


def start(args):
    found = load_videos(args)
    begin_anew(args)
    begin(args)  # refuses before any process is made
    spawn = torch.multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "meeting")
        others = [
            spawn.Process(target=follow_the_first, args=(i, args, found, meeting), daemon=True)
            for i in range(1, args.workers)
        ]
        for process in others:
            process.start()
        work(0, args, found, meeting)


def main():
    args = arguments()
    try:
        os.makedirs(args.out, exist_ok=True)
        check_room(args.out, args.bank_mib)
        start(args)
    except (Refused, bank.BankError, feeder.FeederError, model.ModelError, lite.StartError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
