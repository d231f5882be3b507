# SPDX-License-Identifier: MIT
"""Frames of video kept in memory, and the regions that could be followed in them."""

import glob
import os

import cv2
import numpy as np
import torch
import torch.nn.functional as F

HEIGHT, WIDTH = 288, 512
PIECE = 24  # frames
KINDS = (".mp4", ".mkv", ".webm", ".avi", ".mov")

# Of outlines and tracks: of what stands still, of what moves by itself (False and True, as they are found), of rendered
# bodies, and of things that were outlined by hand.
STANDS, MOVES, RENDERED, ANNOTATED = 0, 1, 2, 3
# How often each kind is used, if there are all. What stands is often a patch of one colour; what was outlined by hand is
# what people point at, whole.
SHARES = {STANDS: 0.1, MOVES: 0.3, RENDERED: 0.35, ANNOTATED: 0.25}


class BankError(Exception):
    """A folder that cannot be used, in one sentence."""


def read_video(path, stride, limit):
    """Every `stride`-th frame, RGB u8 (n, H, W, 3), at most `limit`."""
    source = cv2.VideoCapture(path)
    frames = []
    while len(frames) < limit and source.grab():
        ok, frame = source.retrieve()
        if not ok:
            break
        frame = cv2.resize(frame, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
        frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
        for _ in range(stride - 1):
            source.grab()
    return np.stack(frames) if frames else np.zeros((0, HEIGHT, WIDTH, 3), np.uint8)


def videos_of(folder):
    if not os.path.isdir(folder):
        raise BankError(f"{folder}: no such folder")
    return sorted(p for p in glob.glob(os.path.join(folder, "**", "*"), recursive=True) if p.lower().endswith(KINDS))


def read_pieces(path, stride, limit):
    """The whole video as one array, or pieces of PIECE frames evenly from all of it, about `limit` frames in all."""
    source = cv2.VideoCapture(path)
    total = int(source.get(cv2.CAP_PROP_FRAME_COUNT)) // stride
    source.release()
    if total <= max(limit, PIECE):
        return [read_video(path, stride, max(limit, PIECE))]
    count = max(1, limit // PIECE)
    every = total // count
    frames = read_video(path, stride, total)
    return [frames[i * every : i * every + PIECE].copy() for i in range(count)]


def load_videos(folder, megabytes, stride=2):
    """List of (n, H, W, 3) arrays, as many frames of each video at most; and the name of each one's file."""
    paths = videos_of(folder)
    limit = max(2, int(megabytes * 2**20 / (HEIGHT * WIDTH * 3) / max(len(paths), 1)))
    found = [(v, os.path.basename(p)) for p in paths for v in read_pieces(p, stride, limit) if len(v) > 1]
    if not found:
        raise BankError(f"{folder}: no readable video in it")
    return tuple(map(list, zip(*found)))


def shared(videos):
    """(frames of all (n, 3, H, W), lengths of each) in memory that processes share; `videos`: (n, H, W, 3) each."""
    frames = torch.empty(sum(len(v) for v in videos), 3, HEIGHT, WIDTH, dtype=torch.uint8).share_memory_()
    lengths = torch.tensor([len(v) for v in videos])
    for part, video in zip(frames.split(lengths.tolist()), videos):
        part.copy_(torch.from_numpy(video).permute(0, 3, 1, 2))
    return frames, lengths


def shared_tracks(tracks):
    """The same of [(first frame, masks u8 (n, h, w): 0, 255, or 128 where unknown, kind)]; None of none."""
    if not tracks:
        return None
    masks = torch.cat([torch.from_numpy(m) for _, m, _ in tracks]).share_memory_()
    starts, counts, kinds = (torch.tensor(v) for v in zip(*((t, len(m), int(k)) for t, m, k in tracks)))
    return starts, counts, kinds, masks


def shared_outlines(found):
    """The same of [(frame, mask bool (h, w), kind)]; None of none."""
    if not found:
        return None
    frames, masks, kinds = zip(*found)
    return torch.tensor(frames), torch.from_numpy(np.stack(masks)).share_memory_(), torch.tensor([int(k) for k in kinds])


def filled(masks):
    """The share of its own box that each of the masks, bool (n, h, w), covers."""
    sides = [masks.any(k).flip(1).cummax(1).values.flip(1) & masks.any(k).cummax(1).values for k in (1, 2)]
    return masks.sum((1, 2)) / (sides[0].sum(1) * sides[1].sum(1)).clamp(min=1)


def weights_of(kinds, fill):
    """How often each outline is used: by its kind, and less where it fills its box.

    GrabCut is surest of compact things, and those say the least about what in a box is the thing. Outlines by hand are
    of all things alike.
    """
    weights = torch.where(kinds.int() == ANNOTATED, 1.0, (1 - fill).clamp(min=1e-3))
    for kind, share in SHARES.items():
        of_kind = kinds.int() == kind
        weights[of_kind] *= share / weights[of_kind].sum().clamp(min=1e-6)
    return weights


def touch(a, b, reach=4, least=20):
    """Whether masks, bool (h, w), lie within `reach` pixels of each other along a good part of their outlines."""
    near = F.max_pool2d(a[None].float(), 2 * reach + 1, 1, reach)[0] > 0
    return ((near & b).sum() >= least).item()


class Bank:
    aspect = WIDTH / HEIGHT

    def __init__(self, videos, tracks, device, share=0.8, outlines=None):
        """videos: of shared(); tracks: of shared_tracks() or None; share: of clips with a followed region.

        outlines: of shared_outlines() or None.
        """
        frames, lengths = videos
        self.device, self.share = device, share
        self.frames = frames.to(device)
        self.first = torch.cumsum(lengths, 0) - lengths
        self.lengths = lengths
        self.tracks = {}  # kind -> [(first frame, masks)]
        if tracks:
            starts, counts, kinds, masks = tracks
            parts = masks.to(device).split(counts.tolist())
            for kind, *track in zip(kinds.tolist(), starts.tolist(), parts):
                self.tracks.setdefault(kind, []).append(track)
        self.movers = {k: v for k, v in self.tracks.items() if k != STANDS}
        self.outlines = outlines
        if outlines:
            of_frame = outlines[0].tolist()
            self.neighbours = {f: [] for f in of_frame}
            for i, f in enumerate(of_frame):
                self.neighbours[f].append(i)
            self.weights = weights_of(outlines[2], filled(outlines[1]))

    def __len__(self):
        return len(self.frames)

    def get(self, indices):
        return self.frames[indices].float()

    def plain(self, steps):
        """Indices of `steps` frames of one video, forwards or backwards, or one frame standing still."""
        v = torch.randint(len(self.lengths), ()).item()
        gap = torch.randint(0, 3, ()).item()
        length = self.lengths[v].item()
        gap = min(gap, (length - 1) // max(steps - 1, 1))
        begin = torch.randint(0, length - gap * (steps - 1), ()).item()
        indices = self.first[v].item() + begin + gap * torch.arange(steps)
        return indices.flip(0) if torch.rand(()) < 0.5 else indices

    def followed(self, steps, movers=False):
        """The same of a followed region, with its masks; None if none is long enough. movers: no region that stands."""
        kinds = self.movers if movers else self.tracks
        shares = torch.tensor([SHARES[k] for k in kinds])
        for _ in range(4):
            pool = list(kinds.values())[torch.multinomial(shares, 1).item()]
            start, masks = pool[torch.randint(len(pool), ()).item()]
            gap = torch.randint(1, 4, ()).item()
            gap = min(gap, (len(masks) - 1) // max(steps - 1, 1))
            if gap > 0:
                begin = torch.randint(0, len(masks) - gap * (steps - 1), ()).item()
                order = begin + gap * torch.arange(steps)
                order = order.flip(0) if torch.rand(()) < 0.5 else order
                return start + order, masks[order.to(masks.device)]
        return None

    def outlined(self, count, joined=0.5):
        """Frames and two outlines in each: indices (count, 1), masks (count, 1, 2, h, w); empty where there is one.

        joined: how often two of one kind that touch are shown as one thing. GrabCut finds parts of one colour; things
        have several, and rendered and annotated ones are whole.
        """
        frames, masks, kinds = self.outlines
        first = torch.multinomial(self.weights, count, replacement=True)
        found = masks[first][:, None].repeat(1, 2, 1, 1)
        for row, i in zip(found, first.tolist()):
            others = [j for j in self.neighbours[frames[i].item()] if j != i]
            if not others:
                row[1] = False
                continue
            j = others[torch.randint(len(others), ()).item()]
            row[1] = masks[j]
            if kinds[i] == kinds[j] < RENDERED and torch.rand(()) < joined and touch(*row):
                row[0] |= row[1]
        return frames[first][:, None].to(self.device), found[:, None].float().to(self.device)

    def sequences(self, count, steps):
        """Indices (count, steps), masks and known maps (count, steps, h, w)."""
        indices, masks, known = [], [], []
        for _ in range(count):
            found = self.followed(steps) if self.tracks and torch.rand(()) < self.share else None
            if found is None:
                indices.append(self.plain(steps))
                masks.append(torch.zeros(steps, HEIGHT // 2, WIDTH // 2, device=self.device))
                known.append(torch.ones(steps, HEIGHT // 2, WIDTH // 2, device=self.device))
            else:
                indices.append(found[0])
                masks.append((found[1] > 192).float())
                known.append((found[1] != 128).float())
        return torch.stack(indices).to(self.device), torch.stack(masks), torch.stack(known)


def invent(seed, count=6, length=12):
    """Stand-ins where no videos are given: smooth colour noise sliding by."""
    rng = np.random.default_rng(seed)
    videos = []
    for _ in range(count):
        value = sum(
            cv2.resize(rng.normal(size=(2 + 3**k, 3 + 3**k, 3)) / 2**k, (2 * WIDTH, 2 * HEIGHT)) for k in range(5)
        )
        picture = np.clip(128 + 50 * value, 0, 255).astype(np.uint8)
        dy, dx = rng.uniform(0, HEIGHT / length, 2)
        starts = [(int(dy * t), int(dx * t)) for t in range(length)]
        videos.append(np.stack([picture[y : y + HEIGHT, x : x + WIDTH] for y, x in starts]))
    return videos
