# SPDX-License-Identifier: MIT
"""Pictures and clips with instance masks, as training samples: seen close and far, turned, and moved, things of others pasted in.

A folder of them (--pictures) has, for each collection:

    <name>/images/*.jpg, <name>/masks/*.png     of the same names; one byte per pixel: 0 nothing, 1.. an instance, 255 unknown
    <name>/<clip>/{frames,masks}                the same of clips, one number being one object in all frames
    <name>/**/*.png with transparency           cut-outs, which are only pasted (a folder without images/ and masks/)

What carries no number may still be a thing. Every fifth picture or clip, by the md5 of its name, is kept apart: nothing is trained on
it. A picture becomes a clip by a view that moves and bends over it, while what is pasted goes ways of its own.
"""

import glob
import hashlib
import os

import cv2
import numpy as np
import torch

import bank
import data

# How often a collection is used: the root of its size times this. Photographs of what people point at are few; plain
# boards and streets of windows are many.
SHARES = {"coco-by": 3.0, "facades": 0.5, "trashnet": 0.5, "small-things": 0.5}
# Of collections that weights were trained on, for the files' metadata.
MODELS = "models of Sweet Home 3D: CC BY 3.0 (Scopia, Kator Legaz, Reallusion, BlendSwap), CC0"
LICENCES = {
    "coco-by": "COCO 2017, annotations CC BY 4.0, photographs CC BY 2.0, without known restrictions, or US Government",
    "collage": "made of trashnet, small-things, coco-by and openclipart (CC0)",
    "cutouts": "TRELLIS (MIT), openclipart (CC0)",
    "facades": "building-facade-segmentation, CC BY 4.0",
    "render3d": MODELS,
    "render3d-video": MODELS,
    "small-things": "Class5Segment, CC BY 4.0",
    "strawberry": "strawberries under grow lights, CC BY 4.0",
    "trashnet": "TrashNet, MIT, Copyright (c) 2017 Gary Thung; boxes CC BY 4.0",
}
APART = 5  # one in so many
CLIPS = (0.1, 0.5)  # how often a clip is the ground of a single frame, and of several; a picture otherwise
LEAST, MOST = 0.002, 0.8  # share of the picture that a target covers on the first frame
ABSENT_PX = 12  # of fewer, as data.Generator has it
UNKNOWN = 255
PASTED = 200  # the first number of what is pasted; instances of pictures have smaller ones
OTHERS = 210  # the first number of what comes while the thing PASTED with the same place in the row is away
AWAY, SUCCEEDED = 0.4, 0.6  # how often a pasted thing is away for some time, and how often another one then comes


def is_apart(name):
    return int(hashlib.md5(name.encode()).hexdigest(), 16) % APART == 0


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def pairs(images, masks):
    """[(image, mask)] of the files of the same names in two folders."""
    known = {stem(p): p for p in sorted(glob.glob(os.path.join(glob.escape(images), "*")))}
    found = sorted(glob.glob(os.path.join(glob.escape(masks), "*.png")))
    return [(known[stem(m)], m) for m in found if stem(m) in known]


class Collection:
    """What a folder holds: stills {name: [(image, mask)]}, clips [[(image, mask)]], cutouts [path]; and what is kept apart."""

    def __init__(self, folder):
        if not os.path.isdir(folder):
            raise bank.BankError(f"{folder}: no such folder")
        self.stills, self.clips, self.cutouts, self.apart, self.clips_apart = {}, [], [], {}, []
        self.licences = {}
        for name in sorted(n for n in os.listdir(folder) if os.path.isdir(os.path.join(folder, n))):
            if self.add(name, os.path.join(folder, name)):
                self.licences[name] = LICENCES.get(name, "not told")
        if not self.stills:
            raise bank.BankError(f"{folder}: no pictures with masks (<name>/images and <name>/masks) in it")

    def add(self, name, path):
        """Whether there is anything to use in it."""
        if os.path.isdir(os.path.join(path, "masks")):
            for pair in pairs(os.path.join(path, "images"), os.path.join(path, "masks")):
                place = self.apart if is_apart(stem(pair[0])) else self.stills
                place.setdefault(name, []).append(pair)
            return name in self.stills
        clips = sorted(os.path.dirname(p) for p in glob.glob(os.path.join(glob.escape(path), "*", "masks")))
        for clip in clips:
            found = pairs(os.path.join(clip, "frames"), os.path.join(clip, "masks"))
            (self.clips_apart if is_apart(f"{name}/{os.path.basename(clip)}") else self.clips).append(found)
        found = [] if clips else sorted(glob.glob(os.path.join(glob.escape(path), "**", "*.png"), recursive=True))
        self.cutouts += found
        return bool(clips or found)


def read(pair):
    """RGB u8 (h, w, 3) and numbers u8 (h, w)."""
    image, labels = cv2.imread(pair[0], cv2.IMREAD_COLOR), cv2.imread(pair[1], cv2.IMREAD_GRAYSCALE)
    for path, x in zip(pair, (image, labels)):
        if x is None:
            raise bank.BankError(f"{path}: not a readable image")
    if image.shape[:2] != labels.shape:
        raise bank.BankError(f"{pair[1]}: of another size than its picture")
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB), labels


def sizes(labels):
    """{number: pixels} of the instances."""
    numbers, counts = np.unique(labels, return_counts=True)
    return {int(n): int(c) for n, c in zip(numbers, counts) if 0 < n < UNKNOWN}


def two_of(labels):
    """The numbers of the largest thing and of the smallest that is not tiny."""
    area = sorted(((c, n) for n, c in sizes(labels).items() if 0.005 < c / labels.size < 0.8), reverse=True)
    return [n for _, n in area[:: max(1, len(area) - 1)][:2]]


def extent(mask):
    """Middle x, y and sides w, h of a mask."""
    (x0, x1), (y0, y1) = ((k[0], k[-1] + 1) for k in (np.flatnonzero(mask.any(axis)) for axis in (0, 1)))
    return (x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0


def turned(matrix, angle, zoom, middle, shift):
    """A view (2, 3), from the output to the picture, turned and enlarged about `middle` of the output and shifted in it."""
    c, s = zoom * np.cos(angle), zoom * np.sin(angle)
    own = np.array([[c, -s], [s, c]])
    move = middle - own @ middle + shift
    return np.column_stack((matrix[:, :2] @ own, matrix[:, :2] @ move + matrix[:, 2]))


class Pictures:
    """Makes data.Clips; `collection` is shared, random numbers come from torch's."""

    def __init__(self, collection, size, targets=2):
        self.all, self.size, self.targets = collection, size, targets
        self.names = list(collection.stills)
        weights = np.array([SHARES.get(n, 1.0) * len(collection.stills[n]) ** 0.5 for n in self.names])
        self.weights = weights / weights.sum()

    def __call__(self, count, steps):
        self.dice = np.random.default_rng(torch.randint(2**62, ()).item())
        parts = zip(*(self.sample(steps) for _ in range(count)))
        return data.Clips(*(torch.from_numpy(np.stack(p)) for p in parts))

    def sample(self, steps):
        """(frames (T, 3, S, S), masks (T, O, S, S), known (T, O, S, S), present (T, O)), float32."""
        while True:
            made = self.scene(steps)
            chosen = self.chosen(made[1], made[2])
            if chosen:
                break
        frames, labels = self.weather(made[0]), made[1]
        masks = np.zeros((steps, self.targets, self.size, self.size), np.float32)
        for i, number in enumerate(chosen):
            masks[:, i] = labels == number
        known = np.repeat((labels != UNKNOWN)[:, None].astype(np.float32), self.targets, 1)
        present = (masks.sum((2, 3)) > ABSENT_PX).astype(np.float32)
        return np.ascontiguousarray(frames.transpose(0, 3, 1, 2)), masks, known, present

    def chosen(self, labels, moving):
        """Numbers of the targets, at most `self.targets`: large ones rather, and what moves by itself."""
        area = labels[0].size
        fit = {n: c**0.5 * (2 if n in moving else 1) for n, c in sizes(labels[0]).items() if LEAST < c / area < MOST}
        if not fit:
            return []
        p = np.array(list(fit.values()))
        return self.dice.choice(list(fit), min(self.targets, len(fit)), replace=False, p=p / p.sum()).tolist()

    def still(self, name=None):
        """A picture that has something in it, of the collection `name` or of any: (its collection, image, labels)."""
        while True:
            own = name or self.names[self.dice.choice(len(self.names), p=self.weights)]
            found = self.all.stills[own]
            image, labels = read(found[self.dice.integers(len(found))])
            if sizes(labels):
                return own, image, labels

    def base(self, steps):
        """[(image, labels)], one of each frame; stills repeat one."""
        d = self.dice
        if self.all.clips and d.random() < CLIPS[steps > 1]:
            clip = self.all.clips[d.integers(len(self.all.clips))]
            gap = min(int(d.integers(1, 4)), (len(clip) - 1) // max(steps - 1, 1))
            if gap > 0:
                first = d.integers(len(clip) - gap * (steps - 1))
                found = [read(p) for p in clip[first : first + gap * (steps - 1) + 1 : gap]]
                if sizes(found[0][1]):
                    return found[::-1] if d.random() < 0.5 and sizes(found[-1][1]) else found
        return [self.still()[1:]] * steps

    def scene(self, steps):
        """Frames u8 (T, S, S, 3), labels u8 (T, S, S), and the numbers of what moves by itself."""
        d, pictures = self.dice, self.base(steps)
        labels = pictures[0][1]
        area = sizes(labels)
        p = np.array(list(area.values())) ** 0.5
        view = self.view(labels, list(area)[d.choice(len(area), p=p / p.sum())])
        ways = self.ways(view, steps)
        bend, swing = self.bend(steps)
        ground = tuple(int(c) for c in d.integers(0, 255, 3)) if d.random() < 0.5 else (0, 0, 0)
        found = [self.look(*picture, m, bend * k, ground) for picture, m, k in zip(pictures, ways, swing)]
        frames, labels = (np.stack(part) for part in zip(*found))
        moving, sprite, kind = [], None, None
        few = len(sizes(labels[0])) < 2
        for i in range(d.choice(3, p=(0.3, 0.5, 0.2) if few or steps > 1 else (0.65, 0.25, 0.1))):
            # One in three is a twin of the one before.
            if sprite is None or d.random() >= 0.33:
                sprite, kind = self.sprite()
            if sprite is not None:
                gone, place = self.absence(steps), self.spot()
                self.paste(frames, labels, sprite, PASTED + i, gone, place)
                moving.append(PASTED + i)
                if gone.any() and d.random() < SUCCEEDED:
                    self.succeed(frames, labels, kind, OTHERS + i, gone, place)
        return frames, labels, moving

    def view(self, labels, thing):
        """From the output to the picture (2, 3): near the thing, or much of the picture with the thing in it."""
        d, size, (h, w) = self.dice, self.size, labels.shape
        x, y, wide, high = extent(labels == thing)
        if d.random() < 0.3:
            sides = np.full(2, max(wide, high) * d.uniform(1.15, 2.2))
            middle = np.array([x, y]) + sides * d.uniform(-0.1, 0.1, 2)
        else:
            sides = np.array([w, h]) * d.uniform(0.55, 1.1) * d.uniform(0.85, 1.18, 2)
            if d.random() < 0.4:
                sides = np.full(2, sides.prod() ** 0.5)
            room = np.abs(np.array([w, h]) - sides) / 2
            middle = np.array([w, h]) / 2 + d.uniform(-1, 1, 2) * room
            middle = np.clip(middle, [x, y] - 0.45 * sides, [x, y] + 0.45 * sides)
        angle = d.uniform(-1, 1) if d.random() < 0.3 else d.normal() * 0.08
        c, s, flip = np.cos(angle), np.sin(angle), (-1 if d.random() < 0.5 else 1)
        own = np.array([[sides[0] * c * flip, -sides[1] * s], [sides[0] * s * flip, sides[1] * c]]) / size
        return np.column_stack((own, middle - own @ np.full(2, size / 2)))

    def ways(self, view, steps):
        """The view in each frame: a hand that moves, turns and zooms, or none."""
        d, half = self.dice, np.full(2, self.size / 2)
        still = d.random() < 0.3
        pace, turn, grow = (0, 0, 0) if still else (d.normal(size=2) * 0.02 * self.size, d.normal() * 0.02, d.normal() * 0.02)
        shake = 0 if still else 0.004 * self.size * d.random()
        return [
            turned(view, turn * t, np.exp(grow * t), half, np.asarray(pace) * t + shake * d.normal(size=2) * (t > 0))
            for t in range(steps)
        ]

    def bend(self, steps):
        """Displacements (S, S, 2) px, and how much of them each frame has: the picture's things change their shapes."""
        d, size = self.dice, self.size
        if d.random() < 0.5:
            return np.zeros((size, size, 2), np.float32), [0] * steps
        rough = d.normal(size=(*d.integers(3, 6, 2), 2)).astype(np.float32) * 0.03 * size * d.random()
        phase, speed = d.uniform(0, 2 * np.pi), d.uniform(0.2, 0.9)
        return cv2.resize(rough, (size, size), interpolation=cv2.INTER_CUBIC), np.sin(phase + speed * np.arange(steps)).tolist()

    def look(self, image, labels, matrix, bend, ground):
        """One frame of a picture through a view."""
        size = self.size
        zoom = abs(np.linalg.det(matrix[:, :2])) ** 0.5
        if zoom > 1.5:
            image = cv2.GaussianBlur(image, (0, 0), 0.35 * zoom)
        y, x = np.mgrid[:size, :size].astype(np.float32)
        x, y = x + bend[..., 0], y + bend[..., 1]
        (a, b, c), (e, f, g) = matrix.astype(np.float32)
        maps = a * x + b * y + c, e * x + f * y + g
        shown = cv2.remap(image, *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=ground)
        return shown, cv2.remap(labels, *maps, cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT, borderValue=0)

    def succeed(self, frames, labels, kind, number, gone, place):
        """Another thing of the same kind comes while one is away: who tracks that one must not take this one for it."""
        d, (other, _) = self.dice, self.sprite(kind)
        if other is not None:
            shown = gone if d.random() < 0.5 else np.maximum.accumulate(gone)  # half of them stay
            self.paste(frames, labels, other, number, ~shown, place if d.random() < 0.4 else self.spot())

    def sprite(self, kind=None):
        """RGB and coverage (h, w, 4), u8, of a thing that is whole, None if none was found soon; and its kind.

        kind: the collection to take it from, "" the cut-outs; None: any.
        """
        d = self.dice
        if self.all.cutouts and (d.random() < 0.3 if kind is None else not kind):
            path = self.all.cutouts[d.integers(len(self.all.cutouts))]
            found = cv2.imread(path, cv2.IMREAD_UNCHANGED)
            if found is not None and found.ndim == 3 and found.shape[2] == 4 and (found[..., 3] > 127).any():
                return cv2.cvtColor(found, cv2.COLOR_BGRA2RGBA), ""
        for _ in range(4):
            name, image, labels = self.still(kind)
            area = sizes(labels)
            number = list(area)[d.integers(len(area))]
            mask = labels == number
            x, y, wide, high = extent(mask)
            x0, y0 = int(x - wide / 2), int(y - high / 2)
            inside = x0 > 0 and y0 > 0 and x0 + wide < labels.shape[1] and y0 + high < labels.shape[0]
            if inside and area[number] > 0.003 * labels.size:
                part = np.s_[y0 - 1 : y0 + high + 1, x0 - 1 : x0 + wide + 1]
                return np.dstack((image[part], mask[part].astype(np.uint8) * 255)), name
        return None, kind

    def paste(self, frames, labels, sprite, number, gone, place):
        """A thing that goes its way over the frames from `place` (shares of the side), in front of all before it.

        It is away in the frames of `gone` (bool of each). When it returns, it is elsewhere half of the time, and in another light
        half of the time. What was away from the first frame on does not return: it comes to `place`.
        """
        d, size, steps = self.dice, self.size, len(frames)
        h, w = sprite.shape[:2]
        zoom = max(h, w) / (size * np.exp(d.uniform(np.log(0.1), np.log(0.65))))
        pace = d.normal(size=2) * 0.05 * size * (d.random() < 0.85)
        haste = d.normal(size=2) * 0.01 * size
        angle, turn, grow = d.normal() * 0.4, d.normal() * 0.05, d.normal() * 0.02
        flip = -1 if d.random() < 0.5 else 1
        back = self.spot() if d.random() < 0.5 else place
        late = np.maximum.accumulate(gone) & ~gone[0]  # the frames from the first absence on, of what was there before
        light = np.exp(0.15 * d.normal() + 0.05 * d.normal(size=3)) if d.random() < 0.5 else np.ones(3)
        if zoom > 1.5:
            sprite = cv2.GaussianBlur(sprite, (0, 0), 0.35 * zoom)
        for t in range(steps):
            if gone[t]:
                continue
            c, s = np.cos(angle + turn * t), np.sin(angle + turn * t)
            own = zoom * np.exp(grow * t) * np.array([[c * flip, -s], [s * flip, c]])
            middle = (back if late[t] else place) * size + pace * t + haste * t * t / 2
            matrix = np.column_stack((own, np.array([w / 2, h / 2]) - own @ middle))
            flags = cv2.WARP_INVERSE_MAP | cv2.INTER_LINEAR
            over = cv2.warpAffine(sprite[..., :3], matrix, (size, size), flags=flags, borderMode=cv2.BORDER_REPLICATE)
            cover = cv2.warpAffine(np.ascontiguousarray(sprite[..., 3]), matrix, (size, size), flags=flags)
            if late[t]:
                over = np.minimum(over * light, 255)
            alpha = cover.astype(np.float32)[..., None] / 255
            frames[t] = (frames[t] * (1 - alpha) + over * alpha).astype(np.uint8)
            labels[t][cover > 127] = number

    def spot(self):
        """Where the middle of a thing is, x and y as shares of the side: not at the edge."""
        return self.dice.uniform(0.12, 0.88, 2)

    def absence(self, steps):
        """Bool of each frame: away from some frame on, for some time."""
        gone = np.zeros(steps, bool)
        if steps > 2 and self.dice.random() < AWAY:
            first = self.dice.integers(1, steps)
            gone[first : first + self.dice.integers(1, steps)] = True
        return gone

    def weather(self, frames):
        """Colours, light, blur, coding and noise, alike in all frames; float32 0..255."""
        d, steps = self.dice, len(frames)
        if d.random() < 0.3:
            shift = d.integers(180)
            for t in range(steps):
                hsv = cv2.cvtColor(frames[t], cv2.COLOR_RGB2HSV)
                hsv[..., 0] = (hsv[..., 0].astype(int) + shift) % 180
                frames[t] = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
        if d.random() < 0.2:
            quality = [cv2.IMWRITE_JPEG_QUALITY, int(d.integers(15, 60))]
            for t in range(steps):
                frames[t] = cv2.imdecode(cv2.imencode(".jpg", frames[t], quality)[1], cv2.IMREAD_COLOR)
        x = frames.astype(np.float32)
        if d.random() < 0.06:
            x = np.repeat(x.mean(3, keepdims=True), 3, 3)
        drift = 1 + 0.02 * d.normal() * np.arange(steps, dtype=np.float32)[:, None, None, None]
        gain = (d.uniform(0.88, 1.12, 3) * d.uniform(0.75, 1.2)).astype(np.float32)
        x = ((x - 128) * np.float32(d.uniform(0.6, 1.3)) + 128 + np.float32(d.uniform(-25, 25))) * gain * drift
        if d.random() < 0.15:
            sigma = d.uniform(0.5, 1.6)
            x = np.stack([cv2.GaussianBlur(f, (0, 0), sigma) for f in x])
        if d.random() < 0.25:
            x = x + d.standard_normal(x.shape, np.float32) * np.float32(d.uniform(2, 9))
        return np.clip(x, 0, 255).astype(np.float32)


class Mixture:
    """Samples of two generators in one batch: of `pictures` the given share of single frames, and of clips."""

    def __init__(self, pictures, others, single=0.75, clips=0.5):
        self.pictures, self.others, self.shares = pictures, others, (single, clips)

    def __call__(self, count, steps):
        some = int((torch.rand(count) < self.shares[steps > 1]).sum())
        parts = [g(n, steps) for g, n in ((self.pictures, some), (self.others, count - some)) if n]
        fields = ("frames", "masks", "known", "present")
        return data.Clips(*(torch.cat([getattr(p, f).to(self.others.device) for p in parts]) for f in fields))
