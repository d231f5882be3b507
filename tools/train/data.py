# SPDX-License-Identifier: MIT
"""Generates training clips in PyTorch, on the CPU or a GPU.

A clip is a crop of real video (or noise) under a moving camera, with objects pasted over it. An
object's silhouette is a signed distance in its own plane, transformed into every frame by an affine
motion, two hinges and a smooth wave. Regions of the video that optical flow could follow (tracks.py)
are targets like the pasted objects, and are occluded by them.

Coordinates run from -1 to 1 over the frame, as in grid_sample.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

import prompts

CANVAS = 128  # side of a pasted thing's own plane, pixels


def middles(masks):
    """(B, 2): where the masks (B, h, w) lie, x and y from -1 to 1."""
    share = masks / masks.sum((1, 2), keepdim=True).clamp(min=1)
    h, w = masks.shape[1:]
    y, x = (((torch.arange(k, device=masks.device) + 0.5) / k) * 2 - 1 for k in (h, w))
    return torch.stack((share.sum(1) @ x, share.sum(2) @ y), 1)


def boxes(masks):
    """Middles (B, 2) and half sizes (B, 2) of the boxes around masks (B, h, w), x and y from -1 to 1."""
    extent = torch.tensor(masks.shape[:0:-1], device=masks.device)
    low, high = (2 * c / extent - 1 for c in prompts.corners(masks))
    return (low + high) / 2, (high - low) / 2


@dataclass
class Clips:
    frames: torch.Tensor  # (B, T, 3, S, S), 0..255
    masks: torch.Tensor  # (B, T, O, S, S), 0 or 1
    known: torch.Tensor  # (B, T, O, S, S), 0 where nobody knows the truth
    present: torch.Tensor  # (B, T, O), 0 or 1


def uniform(shape, low, high, device):
    return torch.rand(shape, device=device) * (high - low) + low


def chance(count, p, device):
    return torch.rand(count, device=device) < p


def mixed(weights, count, makers, device):
    """A batch whose samples come from different makers (count -> batch), drawn by `weights`."""
    choice = torch.multinomial(torch.tensor(weights, device=device), count, replacement=True)
    out = None
    for i, maker in enumerate(makers):
        rows = (choice == i).nonzero()[:, 0]
        if len(rows):
            made = maker(rows)
            out = made.new_zeros(count, *made.shape[1:]) if out is None else out
            out[rows] = made
    return out


def affine(centre, size, angle, stretch):
    """(..., 2, 3): from the frame to a thing's plane, where it fills -1..1."""
    cos, sin = angle.cos(), angle.sin()
    sx, sy = size * stretch, size / stretch
    rows = torch.stack((torch.stack((cos / sx, sin / sx), -1), torch.stack((-sin / sy, cos / sy), -1)), -2)
    return torch.cat((rows, -(rows @ centre[..., None])), -1)


def smooth_path(shape, steps, strength, device):
    """Random walks with inertia: (*shape, steps), 0 at the first step, about `strength` per step."""
    t = torch.arange(steps, device=device, dtype=torch.float32)
    path = strength[..., None] * torch.randn(*shape, 1, device=device) * t
    swing = strength[..., None] * torch.randn(*shape, 1, device=device) / 0.8
    speed = uniform((*shape, 1), 0.2, 0.9, device)
    phase = uniform((*shape, 1), 0, 2 * math.pi, device)
    return path + swing * ((speed * t + phase).sin() - phase.sin())


class Generator:
    def __init__(self, bank, size, device, objects=3, targets=2, cutouts=0.5, vanish=0.25, tinted=0.4, twins=0.2):
        """Shares. cutouts: of pasted things cut out of the bank's videos; vanish: gone for a while; tinted: in other hues;
        twins: looking as the thing pasted before."""
        self.bank, self.size, self.device = bank, size, device
        self.objects, self.targets = objects, targets
        self.cutouts, self.vanish, self.tinted, self.twins = cutouts, vanish, tinted, twins
        axis = (torch.arange(CANVAS, device=device) + 0.5) / CANVAS * 2 - 1
        self.plane = torch.stack(torch.meshgrid(axis, axis, indexing="xy"), -1)

    # Textures

    def noise(self, count, side):
        """Smooth to rough colour noise between two or three colours, (count, 3, side, side)."""
        d = self.device
        value = torch.zeros(count, 1, side, side, device=d)
        decay = uniform((count, 1, 1, 1), 0.3, 1.0, d)
        for octave in range(1, 6):
            grid = torch.randn(count, 1, 2 ** octave + 1, 2 ** octave + 1, device=d)
            value += decay ** octave * F.interpolate(grid, size=(side, side), mode="bilinear", align_corners=True)
        value /= value.std((2, 3), keepdim=True) + 1e-3
        stripes = chance(count, 0.3, d)[:, None, None, None]
        value = torch.where(stripes, (value * uniform((count, 1, 1, 1), 2, 6, d)).sin(), value)
        hard = chance(count, 0.25, d)[:, None, None, None]
        value = torch.where(hard, (value * 8).clamp(-1, 1), value)
        a, b = uniform((2, count, 3, 1, 1), 0, 255, d)
        return (a + (b - a) * (0.5 + 0.4 * value)).clamp(0, 255)

    def flat(self, count):
        made = self.noise(count, CANVAS)
        mean = made.mean((2, 3), keepdim=True)
        return mean + 0.3 * (made - mean)

    def crops(self, indices, side, zoom):
        """A random turned crop of each of the bank's frames `indices`, `zoom` = its half width."""
        d, n = self.device, len(indices)
        centre = uniform((n, 2), -1, 1, d) * (1 - zoom[:, None]).clamp(min=0)
        matrix = torch.zeros(n, 2, 3, device=d)
        angle = uniform((n,), -math.pi, math.pi, d)
        ratio = self.bank.aspect
        matrix[:, 0, 0], matrix[:, 0, 1] = angle.cos() * zoom, angle.sin() * zoom
        matrix[:, 1, 0], matrix[:, 1, 1] = -angle.sin() * zoom * ratio, angle.cos() * zoom * ratio
        matrix[:, :, 2] = centre
        grid = F.affine_grid(matrix, (n, 3, side, side), align_corners=False)
        return F.grid_sample(self.bank.get(indices), grid, padding_mode="reflection", align_corners=False)

    def textures(self, count, scene):
        """Skins of things; some come from the scene's own frame, so that they hide in it."""
        d = self.device
        indices = torch.randint(len(self.bank), (count,), device=d)
        indices = torch.where(chance(count, 0.3, d), scene, indices)
        skin = mixed(
            [0.6, 0.25, 0.15],
            count,
            [
                lambda rows: self.crops(indices[rows], CANVAS, uniform((len(rows),), 0.08, 0.6, d)),
                lambda rows: self.noise(len(rows), CANVAS),
                lambda rows: self.flat(len(rows)),
            ],
            d,
        )
        light = (self.plane * torch.randn(count, 1, 1, 2, device=d)).sum(-1)[:, None]
        return skin * (1 + uniform((count, 1, 1, 1), 0, 0.35, d) * light.clamp(-1.5, 1.5))

    def hues(self, count):
        """(B, 3, 3): turns of the colours about the grey axis, fuller or paler; for the rest, (1 - tinted), none."""
        d = self.device
        axis = torch.full((3,), 3 ** -0.5, device=d)
        cross = torch.linalg.cross(torch.eye(3, device=d), axis.expand(3, 3))
        grey = axis[:, None] * axis
        some = chance(count, self.tinted, d).float()[:, None, None]
        angle = some * uniform((count, 1, 1), -math.pi, math.pi, d)
        full = 1 + some * uniform((count, 1, 1), -0.8, 0.6, d)
        turn = angle.cos() * (torch.eye(3, device=d) - grey) + angle.sin() * cross
        return grey + full * turn

    def recoloured(self, pictures):
        """Pictures (B, T, 3, h, w), each row of them in hues of its own."""
        return (self.hues(len(pictures))[:, None] @ pictures.flatten(3)).clamp(0, 255).view_as(pictures)

    # Silhouettes: signed distance, positive inside, about in units of the plane

    def blob(self, count):
        d = self.device
        rho, theta = self.plane.norm(dim=-1), torch.atan2(self.plane[..., 1], self.plane[..., 0])
        radius = torch.full((count, 1, 1), 0.7, device=d)
        rough = uniform((count, 1, 1), 0.05, 0.35, d)
        for n in range(1, 7):
            phase = uniform((count, 1, 1), 0, 2 * math.pi, d)
            radius = radius * (1 + rough * torch.randn(count, 1, 1, device=d) / n ** 0.7 * (n * theta + phase).cos())
        return radius.clamp(0.15, 0.95) - rho

    def limbs(self, count, parts=7):
        """A body with limbs: capsules, all hanging on the first."""
        d = self.device
        start = uniform((count, parts, 2), -0.35, 0.35, d)
        angle = uniform((count, parts), -math.pi, math.pi, d)
        reach = uniform((count, parts, 1), 0.2, 0.75, d)
        end = start + reach * torch.stack((angle.cos(), angle.sin()), -1)
        start[:, 0], end[:, 0] = uniform((2, count, 2), -0.45, 0.45, d)
        share = torch.rand(count, parts, 1, device=d)
        start[:, 1:] = start[:, :1] + share[:, 1:] * (end[:, :1] - start[:, :1])
        end = end.clamp(-0.85, 0.85)
        thick = uniform((count, parts), 0.05, 0.16, d)
        thick[:, 0] = uniform((count,), 0.12, 0.4, d)
        used = torch.arange(parts, device=d) < torch.randint(2, parts + 1, (count, 1), device=d)
        best = torch.full((count, CANVAS, CANVAS), -1.0, device=d)
        for i in range(parts):
            a, b = start[:, i, None, None], end[:, i, None, None]
            along = ((self.plane - a) * (b - a)).sum(-1) / ((b - a) ** 2).sum(-1).clamp(min=1e-4)
            inside = thick[:, i, None, None] - (self.plane - a - along.clamp(0, 1)[..., None] * (b - a)).norm(dim=-1)
            best = torch.where(used[:, i, None, None], torch.maximum(best, inside), best)
        return best

    def plate(self, count):
        power = uniform((count, 1, 1), 0.8, 6, self.device)
        x, y = self.plane[..., 0].abs() + 1e-4, self.plane[..., 1].abs() + 1e-4
        return 0.8 - (x ** power + y ** power) ** (1 / power)

    def silhouettes(self, count):
        d = self.device
        makers = [lambda r: self.blob(len(r)), lambda r: self.limbs(len(r)), lambda r: self.plate(len(r))]
        shape = mixed([0.4, 0.45, 0.15], count, makers, d)
        centre = uniform((count, 1, 1, 2), -0.5, 0.5, d)
        hole = (self.plane - centre).norm(dim=-1) - uniform((count, 1, 1), 0.08, 0.3, d)
        return torch.where(chance(count, 0.12, d)[:, None, None], torch.minimum(shape, hole), shape)

    def parts(self, count):
        """(B, 1, C, C): where a thing wears another skin, beyond a bent line, as riders and heads do; often nowhere."""
        d = self.device
        normal = torch.randn(count, 1, 1, 2, device=d)
        along = (self.plane * normal / normal.norm(dim=-1, keepdim=True)).sum(-1)
        along = along + 0.3 * uniform((count, 1, 1), -1, 1, d) * (self.plane * normal.flip(-1)).sum(-1).sin()
        cut = uniform((count, 1, 1), -0.1, 0.6, d)
        return ((along > cut) & chance(count, 0.4, d)[:, None, None])[:, None]

    # Motion

    def warp(self, grid, steps):
        """Bend points (B, T, H, W, 2) of a thing's plane: a wave and two hinges that swing with time."""
        d, n = self.device, len(grid)
        t = torch.arange(steps, device=d, dtype=torch.float32)
        for _ in range(2):
            normal = torch.randn(n, 2, device=d)
            normal = normal / normal.norm(dim=1, keepdim=True)
            strength = 0.35 * torch.rand(n, device=d) * chance(n, 0.6, d)
            angle = smooth_path((n,), steps, strength, d).clamp(-1, 1)[:, :, None, None]
            place = uniform((n, 1), -0.2, 0.3, d)
            along = grid[..., 0] * normal[:, 0, None, None, None] + grid[..., 1] * normal[:, 1, None, None, None]
            side = torch.sigmoid(8 * (along - place[:, :, None, None]))
            turn = angle * side
            offset = grid - (place * normal).reshape(n, 1, 1, 1, 2)
            cos, sin = turn.cos() - 1, turn.sin()
            x, y = offset[..., 0], offset[..., 1]
            grid = grid + torch.stack((cos * x - sin * y, sin * x + cos * y), -1)
        amount = uniform((n, 1, 1, 1, 1), 0, 0.1, d) * chance(n, 0.5, d)[:, None, None, None, None]
        speed = uniform((n, 1), -0.9, 0.9, d)
        phase = (uniform((n, 1), 0, 6, d) + speed * t)[:, :, None, None, None]
        waves = uniform((n, 1, 1, 1, 2), 1, 4, d)
        return grid + amount * (grid.flip(-1) * waves + phase).sin()

    def place(self, count, steps, turn=math.pi):
        """Frame-to-plane matrices (B, T, 2, 3) of things that begin in view, turned by `turn` at most; sizes (B, T)."""
        d = self.device
        size = torch.exp(uniform((count,), math.log(0.18), math.log(0.9), d))
        begin = uniform((count, 2), -0.85, 0.85, d)
        # Per frame in units of the size: most clips overlap by 0.6 to 0.95 from frame to frame.
        pace = size[:, None] * 0.16 * torch.randn(count, 1, device=d).abs() * chance(count, 0.85, d)[:, None]
        centre = begin[:, None] + smooth_path((count, 2), steps, pace.expand(-1, 2), d).transpose(1, 2)
        leave = chance(count, 0.25 if steps > 2 else 0.1, d)[:, None, None]
        direction = torch.randn(count, 2, 2, device=d)
        direction = direction / direction.norm(dim=-1, keepdim=True)
        trip = self.trip(count, steps)[..., None]
        # It comes back elsewhere, another way.
        returns = ((trip >= 1).cummax(1).values & chance(count, 0.7, d)[:, None, None]).float()
        other = uniform((count, 1, 2), -0.7, 0.7, d)
        way = torch.lerp(direction[:, :1], direction[:, 1:], returns)
        gone = torch.lerp(begin[:, None], other, returns) + way * trip * (1.1 + size[:, None, None]) * 1.6
        centre = torch.where(leave, gone, centre)
        grow = smooth_path((count,), steps, 0.03 * torch.rand(count, device=d), d).clamp(-0.8, 0.8)
        angle = uniform((count, 1), -turn, turn, d) + smooth_path(
            (count,), steps, 0.06 * torch.randn(count, device=d).abs(), d
        )
        size = size[:, None] * grow.exp()
        stretch = torch.exp(uniform((count, 1), -0.45, 0.45, d)) * torch.exp(
            smooth_path((count,), steps, torch.full((count,), 0.015, device=d), d).clamp(-0.3, 0.3)
        )
        return affine(centre, size, angle, stretch), size

    def cutout(self, count, steps):
        """Sheets (B, T or 1, 4, C, C) of real things, cut out of their video; None of none.

        They have an outline and stand still, or else move by themselves as they did there.
        """
        if self.bank.outlines and (steps == 1 or torch.rand(()) < 0.5):
            indices, masks = self.bank.outlined(count)
            return self.sheets(indices, masks[:, :, 0])
        found = [self.bank.followed(steps, movers=True) for _ in range(count)] if self.bank.movers else [None]
        if None in found:
            return None
        indices = torch.stack([f[0] for f in found]).to(self.device)
        return self.sheets(indices, torch.stack([(f[1] > 192).float() for f in found]))

    def sheets(self, indices, masks):
        """Colour and signed distance (B, T, 4, C, C) of what `masks` (B, T, h, w) cover in the bank's frames."""
        count, steps = indices.shape
        places = [m.any(0).nonzero() if m.any() else m.new_zeros(1, 2) for m in masks]
        low, high = (torch.stack([k(p, 0) for p in places]).float() for k in (torch.amin, torch.amax))
        extent = torch.tensor(masks.shape[2:], device=self.device)
        centre = ((low + high + 1) / extent - 1).flip(1)
        # Square in pixels, a little wider than the thing ever is.
        half = 0.6 * (high - low + 1).amax(1, keepdim=True) * 2 / extent.flip(0)
        matrix = torch.diag_embed(half)
        matrix = torch.cat((matrix, centre[..., None]), 2).repeat_interleave(steps, 0)
        grid = F.affine_grid(matrix, (count * steps, 3, CANVAS, CANVAS), align_corners=False)
        skin = F.grid_sample(self.bank.get(indices.flatten()), grid, padding_mode="border", align_corners=False)
        cover = F.grid_sample(masks.flatten(0, 1)[:, None], grid, align_corners=False)
        # Few videos are what there is: their things come in other colours too.
        skin = self.recoloured(skin.unflatten(0, (count, steps))).flatten(0, 1)
        # As a signed distance, by a map whose cells are some 0.05 of the plane wide.
        return torch.cat((skin, 1 + 0.05 * (cover - 0.55)), 1).unflatten(0, (count, steps))

    def trip(self, count, steps):
        """(B, T), 0 in view and 1 away: stays a while, goes within four frames, is away, comes back.

        Half of the absences are whole: from the first frames to the last ones.
        """
        d = self.device
        t = torch.arange(steps, device=d, dtype=torch.float32)
        begin, hasty = uniform((count, 1), 0, 0.6 * steps, d), uniform((2, count, 1), 0.7, 4, d)
        back = begin + hasty[0] + uniform((count, 1), 1, max(2, 0.5 * steps), d)
        whole = chance(count, 0.5, d)[:, None]
        begin = torch.where(whole, 1.0 * (hasty[0] < 2), begin)
        back = torch.where(whole, steps - 1 - hasty[1] - uniform((count, 1), 0, 1.5, d), back)
        back = torch.maximum(back, begin + hasty[0])
        return ((t - begin) / hasty[0]).clamp(0, 1) - ((t - back) / hasty[1]).clamp(0, 1)

    def shown(self, count, steps):
        """(B, T, 1, 1, 1): 0 for the frames through which some things are gone at once, and most of them return."""
        d = self.device
        t = torch.arange(steps, device=d)
        begin = torch.randint(1, max(steps, 2), (count, 1), device=d)
        length = torch.randint(1, max(steps, 2), (count, 1), device=d)
        gone = (t >= begin) & (t < begin + length) & chance(count, self.vanish, d)[:, None]
        return (~gone).float()[:, :, None, None, None]

    def thing(self, sheet, steps, turn):
        """Colour (B, T, 3, S, S) and coverage (B, T, 1, S, S) of one pasted thing per clip, of its sheet."""
        n, s = len(sheet), self.size
        matrix, size = self.place(n, steps, turn)
        grid = F.affine_grid(matrix.flatten(0, 1), (n * steps, 3, s, s), align_corners=False)
        if sheet.shape[1] == 1:
            grid = self.warp(grid.unflatten(0, (n, steps)), steps).flatten(0, 1)
        sheet = sheet.expand(-1, steps, -1, -1, -1).flatten(0, 1)
        out = F.grid_sample(sheet, grid, padding_mode="zeros", align_corners=False).unflatten(0, (n, steps))
        edge = size[:, :, None, None, None] * s / 2
        coverage = (0.5 + (out[:, :, 3:] - 1) * edge * 0.8).clamp(0, 1) * self.shown(n, steps)
        gain = 1 + smooth_path((n,), steps, torch.full((n,), 0.03, device=self.device), self.device).clamp(-0.4, 0.4)
        return out[:, :, :3] * gain[:, :, None, None, None], coverage

    # Scenes

    def camera(self, count, steps, masks=None):
        """Frame-to-video matrices (B, T, 2, 3) of a moving camera inside the bank's frames.

        masks (B, h, w): what is to be in view; three in ten are close-ups of it, as boxes are seen ("box_zoom").
        """
        d, ratio = self.device, self.bank.aspect
        half = uniform((count,), 0.55 if masks is None else 0.4, 1.0, d)  # of the video's height
        width = half / ratio * torch.exp(uniform((count,), -0.1, 0.5, d))
        if masks is not None:
            close, (middle, size) = chance(count, 0.3, d), boxes(masks)
            near = (uniform((count,), 1.15, 1.8, d) * size.amax(1)).clamp(0.04, 1.0)
            half = torch.where(close, near, half)
            width = torch.where(close, near * torch.exp(uniform((count,), -0.3, 0.1, d)), width)
        width = width.clamp(max=1.0)
        room = torch.stack((1 - width, 1 - half), 1)
        centre = uniform((count, 2), -1, 1, d)
        if masks is None:
            centre = centre * room
        else:
            look = torch.where(close[:, None], middle, middles(masks))
            look = look + torch.where(close, 0.15, 0.6)[:, None] * centre * torch.stack((width, half), 1)
            centre = torch.maximum(torch.minimum(look, room), -room)
        pace = (0.02 * torch.randn(count, 1, device=d).abs() * chance(count, 0.5, d)[:, None]).expand(-1, 2)
        centre = centre[:, None] + smooth_path((count, 2), steps, pace, d).transpose(1, 2)
        flip = torch.where(chance(count, 0.5, d), -1.0, 1.0)[:, None]
        zoom = smooth_path((count,), steps, 0.012 * torch.rand(count, device=d), d).clamp(-0.3, 0.3).exp()
        # Pictures turned far: what a thing fills of its box then says little.
        tilt = torch.where(chance(count, 0.25 if masks is None else 0.5, d), 1.0, 0.15)[:, None]
        angle = tilt * uniform((count, 1), -1, 1, d)
        angle = angle + smooth_path((count,), steps, 0.01 * torch.rand(count, device=d), d)
        matrix = torch.zeros(count, steps, 2, 3, device=d)
        matrix[..., 0, 0] = flip * width[:, None] * zoom * angle.cos()
        matrix[..., 0, 1] = width[:, None] * zoom * angle.sin()
        matrix[..., 1, 0] = -flip * half[:, None] * zoom * angle.sin()
        matrix[..., 1, 1] = half[:, None] * zoom * angle.cos()
        matrix[..., 2] = centre
        return matrix

    def backdrop(self, count, steps):
        """Video frames under a moving camera, regions in them, and where those are known: (B, T, R and 1, S, S)."""
        s = self.size
        if steps == 1 and self.bank.outlines:
            indices, masks = self.bank.outlined(count)
            known, camera = torch.ones_like(masks[:, :, 0]), self.camera(count, steps, masks[:, 0, 0])
        else:
            indices, masks, known = self.bank.sequences(count, steps)
            masks, camera = masks[:, :, None], self.camera(count, steps)
        grid = F.affine_grid(camera.flatten(0, 1), (count * steps, 3, s, s), align_corners=False)
        frames = F.grid_sample(self.bank.get(indices.flatten()), grid, padding_mode="reflection", align_corners=False)
        maps = torch.cat((masks, known[:, :, None]), 2).flatten(0, 1)
        maps = F.grid_sample(maps, grid, padding_mode="zeros", align_corners=False)
        shape = (count, steps)
        return indices[:, 0], frames.unflatten(0, shape), maps.unflatten(0, shape)

    def ground(self, frames, things, share):
        """Bands of other pictures behind `things` (B, T, 1, S, S), from side to side: a box holds more ground than one.

        Those who see only plain ground in boxes take a bank or a row of trees that crosses the box for the thing.
        """
        d, s, n = self.device, self.size, len(frames)
        axis = (torch.arange(s, device=d) + 0.5) / s * 2 - 1
        for _ in range(2):
            angle = torch.where(chance(n, 0.6, d), 0.2, math.pi) * uniform((n,), -1, 1, d)
            cos, sin = angle.cos()[:, None, None], angle.sin()[:, None, None]
            across, along = axis[:, None] * cos - axis * sin, axis * cos + axis[:, None] * sin
            wave = uniform((n, 1, 1), 0, 0.2, d) * (uniform((n, 1, 1), 1, 9, d) * along + uniform((n, 1, 1), 0, 6, d)).sin()
            # Half of them behind a thing, through its box.
            x, y = axis[self.spot(things)][..., None, None].unbind(1)
            aimed = chance(n, 0.5, d)[:, None, None]
            middle = torch.where(aimed, y * cos - x * sin, uniform((n, 1, 1), -0.8, 0.8, d))
            half = uniform((n, 1, 1), 0.06, 0.6, d) * torch.where(aimed, 0.5, 1.0)
            inside = ((half - (across + wave - middle).abs()) * uniform((n, 1, 1), 5, 60, d)).sigmoid()
            inside = inside * chance(n, share, d)[:, None, None]
            other = self.crops(torch.randint(len(self.bank), (n,), device=d), s, uniform((n,), 0.1, 0.6, d))
            frames = torch.lerp(frames, other[:, None], inside[:, None, None] * (1 - things))
        return frames

    def spot(self, things):
        """(B, 2), column and row: a place in the box around `things` (B, T, 1, S, S) of the first frame."""
        cover = things[:, 0, 0] + 1e-6
        return torch.cat([torch.multinomial(cover.sum(k), 1) for k in (1, 2)], 1)

    def weather(self, frames):
        """Light, colour, blur, coarse coding and noise of a camera, (B, T, 3, S, S)."""
        d, (n, t) = self.device, frames.shape[:2]
        gain = uniform((n, 1, 1, 1, 1), 0.6, 1.3, d) * uniform((n, 1, 3, 1, 1), 0.92, 1.08, d)
        drift = smooth_path((n,), t, torch.full((n,), 0.015, device=d), d).clamp(-0.3, 0.3)
        frames = self.recoloured(frames)
        mean, contrast = frames.mean((1, 2, 3, 4), keepdim=True), uniform((n, 1, 1, 1, 1), 0.5, 1.4, d)
        frames = mean + contrast * (frames - mean)
        frames = (frames * gain * (1 + drift)[:, :, None, None, None] + uniform((n, 1, 1, 1, 1), -15, 15, d))
        kind = torch.rand(n, device=d)
        for i in range(n):
            if kind[i] < 0.15:
                frames[i] = F.avg_pool2d(F.pad(frames[i], (1, 1, 1, 1), mode="replicate"), 3, 1)
            elif kind[i] < 0.3:
                small = F.interpolate(frames[i], scale_factor=0.5, mode="area")
                frames[i] = F.interpolate(small, scale_factor=2, mode="bilinear", align_corners=False)
            elif kind[i] < 0.35:
                frames[i] = frames[i].mean(1, keepdim=True)
        level = uniform((n, 1, 1, 1, 1), 0, 7, d) * chance(n, 0.5, d)[:, None, None, None, None]
        return (frames + level * torch.randn(n, t, 1, *frames.shape[3:], device=d)).clamp(0, 255)

    @torch.no_grad()
    def __call__(self, count, steps):
        d = self.device
        scene, frames, maps = self.backdrop(count, steps)
        layers = list(maps[:, :, :-1].unbind(2))
        known = [maps[:, :, -1]] * len(layers)
        ones = torch.ones_like(known[0])
        # What nobody knows the truth of stays as it is.
        things = torch.maximum(maps[:, :, :-1].amax(2, keepdim=True), 1 - maps[:, :, -1:])
        frames = self.ground(frames, things, 0.6 if steps == 1 else 0.3)
        # Half of the single pictures stay much as they were taken.
        often = torch.where(chance(count, 0.5 if len(layers) > 1 else 1.0, d), 0.85, 0.2)[:, None, None, None, None]
        skin, before = None, None
        most = self.objects if len(layers) == 1 else self.objects - 1
        for _ in range(torch.randint(1, most + 1, ()).item()):
            sheet, turn = self.cutout(count, steps) if torch.rand(()) < self.cutouts else None, 1.0 if steps == 1 else 0.4
            if sheet is None:
                fresh = self.textures(count, scene)
                # A distractor wears the skin of the thing before it.
                skin = fresh if skin is None else torch.where(chance(count, 0.2, d)[:, None, None, None], skin, fresh)
                worn = torch.where(self.parts(count), self.textures(count, scene), skin)
                sheet = torch.cat((worn, self.silhouettes(count)[:, None] + 1), 1)[:, None]
                turn = math.pi
            if before is not None and before.shape == sheet.shape:
                sheet = torch.where(chance(count, self.twins, d)[:, None, None, None, None], before, sheet)
            before = sheet
            colour, cover = self.thing(sheet, steps, turn)
            cover = cover * (torch.rand_like(often) < often)
            frames = torch.lerp(frames, colour.clamp(0, 255), cover)
            layers = [layer * (1 - cover[:, :, 0]) for layer in layers] + [cover[:, :, 0]]
            known.append(ones)
        masks = torch.stack(layers, 2)
        return self.choose(self.weather(frames), (masks > 0.5).float(), torch.stack(known, 2))

    def choose(self, frames, masks, known):
        """Targets: `self.targets` of each clip's things, of those well in view on the first frame."""
        area = masks.mean((3, 4))
        first = area[:, 0]
        fit = ((first > 0.004) & (first < 0.6)).float()
        if frames.shape[1] > 1:
            fit[:, 0] *= 3  # what moved by itself teaches most
        order = (fit + 1e-6) / -torch.log(torch.rand_like(fit).clamp(1e-9, 1 - 1e-6))
        index = order.topk(self.targets, dim=1).indices
        rows = torch.arange(len(index), device=index.device)[:, None]
        masks = masks.transpose(1, 2)[rows, index].transpose(1, 2)
        known = (known.transpose(1, 2)[rows, index].transpose(1, 2) > 0.5).float()
        present = (masks.sum((3, 4)) > 12).float()
        return Clips(frames, masks, known, present)
