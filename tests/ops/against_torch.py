#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The reference operations against PyTorch: random cases, computed by torch.nn.functional, run by
check_ops --vectors.

usage: against_torch.py CHECK_OPS [SEED]    fresh cases, larger ones; 77 where there is no torch
       against_torch.py --write FILE             the stored cases: small ones, fixed seed

$PYTHON may name an interpreter that has torch.
"""
import os
import subprocess
import sys
import tempfile
import time

SKIP = 77

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from safetensors.numpy import save_file
except ImportError:
    other = os.environ.get('PYTHON')
    if other and not os.environ.get('AGAINST_TORCH_TRIED'):
        os.environ['AGAINST_TORCH_TRIED'] = '1'
        os.execvp(other, [other] + sys.argv)
    print('no torch here: not run')
    sys.exit(SKIP)

NONE, RELU, GELU, SIGMOID, SILU, RELU6 = range(6)
ACT = [lambda x: x, F.relu, F.gelu, torch.sigmoid, F.silu, F.relu6]
MEAN = torch.tensor([0.485, 0.456, 0.406])
STD = torch.tensor([0.229, 0.224, 0.225])


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


class Cases:
    """Collects cases; every tensor is stored as f32 with four extents (n, h, w, c)."""

    def __init__(self, seed, big):
        self.tensors, self.count, self.big = {}, {}, big
        self.rng = torch.Generator().manual_seed(seed)

    def randn(self, *shape):
        return torch.randn(*shape, generator=self.rng)

    def rand(self, *shape):
        return torch.rand(*shape, generator=self.rng)

    def ints(self, lo, hi, *shape):
        """In [lo, hi]."""
        return torch.randint(lo, hi + 1, shape, generator=self.rng)

    def size(self, small, big):
        return big if self.big else small

    def add(self, op, **tensors):
        k = self.count[op] = self.count.get(op, -1) + 1
        for name, t in tensors.items():
            if t is None:
                continue
            t = torch.as_tensor(t, dtype=torch.float32)
            while t.dim() < 4:
                t = t[None]
            self.tensors[f'{op}.{k}/{name}'] = t.contiguous().numpy()


def vector(x):
    return x.reshape(1, 1, 1, -1)


def copies(c):
    src = c.randn(1, 2, 3, 5)
    c.add('copy', src=src, dst=src.expand(3, 2, 3, 5))
    c.add('copy', src=vector(c.randn(7)), dst=torch.zeros(2, 1, 4, 7))
    row = torch.as_tensor(c.tensors['copy.1/src'])
    c.tensors['copy.1/dst'] = row.expand(2, 1, 4, 7).contiguous().numpy()
    src, old = c.randn(2, 1, 6, 4), c.randn(2, 1, 7, 4)
    dst = old.clone()
    dst[:, :, 3:6] = src[:, :, 1:4]
    c.add('copy_rows', src=src, before=old, dst=dst, to=3, rows=3, **{'from': 1})
    picked = torch.tensor([[5, 0, 5], [2, 1, 4]])
    dst = old.clone()
    dst[:, 0, 2:5] = torch.stack([src[n, 0, picked[n]] for n in range(2)])
    c.add('copy_rows', src=src, before=old, dst=dst, to=2, rows=3, index=picked[:, None, None].int(), **{'from': 0})
    for up in (1, 2):
        src, old = c.randn(2, 3, 4, 5), c.randn(2, 3 * up, 4 * up, 9)
        dst = old.clone()
        dst[..., 2:6] = nhwc(F.interpolate(nchw(src), scale_factor=up, mode='nearest'))[..., 1:5]
        c.add('copy_channels', src=src, before=old, dst=dst, to=2, channels=4, up=up, **{'from': 1})
    a, b = c.randn(2, 3, 4, 5), c.randn(1, 3, 4, 5)
    c.add('add', a=a, b=b, scale=0.1, dst=torch.add(a, b, alpha=0.1))


def norms(c):
    for channels, eps, act in ((96, 1e-6, NONE), (16, 1e-5, GELU), (7, 1e-6, GELU)):
        src = c.randn(1, 2, c.size(3, 50), channels) * 3 + 20
        gamma, beta = c.randn(channels), c.randn(channels)
        dst = ACT[act](F.layer_norm(src.double(), (channels,), gamma.double(), beta.double(), eps))
        c.add('layernorm', src=src, gamma=vector(gamma), beta=vector(beta), eps=eps, act=act, dst=dst)


def products(c):
    for rows, n_in, n_out, act in ((4, 24, 17, NONE), (3, 33, 8, RELU), (5, 16, 40, GELU), (2, 5, 3, SIGMOID),
                                   (3, 18, 20, SILU)):
        rows *= c.size(1, 20)
        src, w, b = c.randn(2, 1, rows, n_in), c.randn(n_out, n_in) / n_in ** 0.5, c.randn(n_out)
        add = c.randn(1, 1, rows, n_out) if act != RELU else None
        dst = ACT[act](F.linear(src, w, b))
        c.add('linear', src=src, weight=w, bias=vector(b), add=add, act=act,
              dst=dst if add is None else dst + add)
    a, b = c.randn(2, 1, 4, 32), c.randn(2, 1, c.size(21, 700), 32)
    c.add('matmul', a=a, b=b, dst=torch.matmul(a, b.transpose(2, 3)))


def convolutions(c):
    shapes = ((1, 16, 13, 3, 8, 7, 4, 3, NONE), (2, 9, 8, 4, 6, 3, 2, 1, GELU),
              (2, 8, 6, 1, 4, 2, 2, 0, RELU), (1, 5, 7, 8, 5, 1, 1, 0, SIGMOID), (1, 7, 6, 5, 9, 3, 2, 1, SILU))
    for n, h, w, n_in, n_out, kernel, stride, pad, act in shapes:
        h, w = h * c.size(1, 4), w * c.size(1, 4)
        src, b = c.randn(n, h, w, n_in), c.randn(n_out)
        weight = c.randn(n_out, n_in, kernel, kernel) / (n_in * kernel * kernel) ** 0.5
        dst = ACT[act](F.conv2d(nchw(src), weight, b, stride, pad))
        c.add('conv', src=src, weight=nhwc(weight).reshape(n_out, -1), bias=vector(b), kernel=kernel,
              stride=stride, pad=pad, act=act, dst=nhwc(dst))
    for kernel, channels, act in ((7, 8, NONE), (3, 5, NONE), (3, 9, SILU)):
        src, b = c.randn(2, 6, c.size(5, 40), channels), c.randn(channels)
        weight = c.randn(channels, 1, kernel, kernel) / kernel
        dst = ACT[act](F.conv2d(nchw(src), weight, b, padding=kernel // 2, groups=channels))
        c.add('depthwise', src=src, weight=nhwc(weight.permute(1, 0, 2, 3)), bias=vector(b),
              kernel=kernel, stride=1, act=act, dst=nhwc(dst))
    for act, adding in ((GELU, True), (NONE, False)):
        src, b = c.randn(2, 3, c.size(4, 30), 16), c.randn(6)
        weight = c.randn(16, 6, 2, 2) / 4
        dst = nhwc(F.conv_transpose2d(nchw(src), weight, b, 2))
        add = c.randn(1, *dst.shape[1:]) if adding else None
        dst = ACT[act](dst + add if adding else dst)
        c.add('conv_transpose', src=src, weight=weight.permute(2, 3, 1, 0).reshape(24, 16),
              bias=vector(b), add=add, act=act, dst=dst)
    src = c.randn(2, 5, 7, 3)
    c.add('maxpool', src=src, dst=nhwc(F.max_pool2d(nchw(src), 2, 2)))
    for kernel in (5, 3):
        c.add('maxpool_around', src=src, kernel=kernel, dst=nhwc(F.max_pool2d(nchw(src), kernel, 1, kernel // 2)))


def window_attention(c):
    for h, w, heads, dim, window, pool in ((6, 7, 2, 4, 4, False), (6, 8, 1, 6, 4, True),
                                           (5, 3, 2, 4, 0, False), (8, 8, 2, 3, 8, True)):
        n, dim = c.size(1, 2), dim * c.size(1, 5)
        wide = heads * dim
        qkv, pad = c.randn(n, h, w, 3 * wide), c.randn(3 * wide)
        wh, ww = (window, window) if window else (h, w)
        rows, columns = -(-h // wh), -(-w // ww)
        x = pad.expand(n, rows * wh, columns * ww, -1).clone()
        x[:, :h, :w] = qkv
        x = x.reshape(n, rows, wh, columns, ww, 3, heads, dim).permute(5, 0, 1, 3, 6, 2, 4, 7)
        q, k, v = x  # each (n, rows, columns, heads, wh, ww, dim)
        qh, qw = wh, ww
        if pool:
            qh, qw = wh // 2, ww // 2
            q = F.max_pool2d(q.reshape(-1, wh, ww, dim).permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)
        q, k, v = (t.reshape(n * rows * columns, heads, -1, dim) for t in (q, k, v))
        o = F.scaled_dot_product_attention(q, k, v).reshape(n, rows, columns, heads, qh, qw, dim)
        o = o.permute(0, 1, 4, 2, 5, 3, 6).reshape(n, rows * qh, columns * qw, wide)
        o = o[:, :h // 2, :w // 2] if pool else o[:, :h, :w]
        c.add('window_attention', qkv=qkv, pad=vector(pad), heads=heads, window=window,
              pool=int(pool), dst=o)


def attention(c):
    def split(x, heads):
        return x.reshape(x.shape[0], x.shape[2], heads, -1).transpose(1, 2)

    for queries, keys, heads, dk, dv, shared in ((5, 9, 2, 8, 6, False), (4, 20, 1, 16, 8, False),
                                                 (3, 7, 4, 4, 4, True)):
        keys *= c.size(1, 12)
        n, scale = 3, 0.3
        q = c.randn(n, 1, queries, heads * dk)
        k, v = (c.randn(1 if shared else n, 1, keys, heads * d) for d in (dk, dv))
        lengths = c.ints(1, keys, n) if not shared else None
        mask = None if shared else torch.arange(keys)[None] < lengths[:, None]
        dst = F.scaled_dot_product_attention(
            split(q, heads), split(k, heads).expand(n, -1, -1, -1),
            split(v, heads).expand(n, -1, -1, -1),
            attn_mask=None if shared else mask[:, None, None], scale=scale)
        c.add('attention', q=q, k=k, v=v, num_keys=lengths, heads=heads, scale=scale,
              dst=dst.transpose(1, 2).reshape(n, 1, queries, heads * dv))


def rope(c):
    n, rows, period, channels = 2, 14, 6, 8
    src, angle = c.randn(n, 1, rows, channels), c.randn(period, channels // 2) * 3
    rotated = c.ints(0, rows, n)
    table = torch.stack((angle.cos(), angle.sin()), -1).reshape(1, 1, period, channels)
    turn = torch.polar(torch.ones_like(angle), angle).repeat(3, 1)[:rows]
    x = torch.view_as_complex(src.reshape(n, rows, -1, 2)) * turn
    x = torch.view_as_real(x).reshape(n, rows, channels)
    keep = torch.arange(rows)[None] >= rotated[:, None]
    dst = torch.where(keep[..., None], src[:, 0], x)
    c.add('rope', src=src, table=table, num_rotated=rotated, dst=dst[:, None])


def images(c):
    b = c.randn(2, 2, 3, 4)
    a = c.randn(2, 4, 6, 4)
    c.add('upsample_add', a=a, b=b, dst=a + nhwc(F.interpolate(nchw(b), scale_factor=2, mode='nearest')))
    for h, w, to_h, to_w, antialias in ((16, 12, 4, 3, True), (16, 13, 7, 20, True), (5, 9, 5, 9, True),
                                        (6, 5, 23, 17, False), (20, 17, 6, 5, False), (1, 1, 3, 2, False)):
        h, w, to_h, to_w = (x * c.size(1, 5) for x in (h, w, to_h, to_w))
        src = c.randn(2, h, w, 2)
        dst = F.interpolate(nchw(src), (to_h, to_w), mode='bilinear', align_corners=False, antialias=antialias)
        c.add('resize', src=src, antialias=int(antialias), dst=nhwc(dst))


def select_mask(c):
    n, pixels, d = 16, 56, 3
    masks, tokens = c.randn(n, 1, 4, pixels) * 2, c.randn(n, 1, 4, d)
    for i in range(0, n, 2):  # 50 pixels above -0.05, 47 to 50 of them above 0.05
        masks[i, 0, 0] = -1
        masks[i, 0, 0, :50] = 0.04
        masks[i, 0, 0, :47 + i // 2 % 4] = 1
    masks[5, 0, 0] = -7
    ious, score = c.rand(n, 1, 1, 4), c.randn(n, 1, 1, 1)
    ious[3, 0, 0, 2] = ious[3, 0, 0, 3] = 2
    score[4] = 0
    multi = c.ints(0, 1, n)
    best = ious[:, 0, 0, 1:].argmax(-1) + 1
    flat = masks[:, 0, 0]
    sure, likely = (flat > 0.05).sum(-1).float(), (flat > -0.05).sum(-1).float()
    stable = torch.where(likely > 0, sure / likely, torch.ones(n)) >= 0.98
    chosen = torch.where((multi == 0) & stable, 0, best)
    token = torch.where(multi == 1, best, 0)
    pick = torch.arange(n)
    low = torch.where(score[:, 0, 0] > 0, masks[pick, 0, chosen], torch.tensor(-1024.0))
    c.add('select_mask', masks=masks, tokens=tokens, ious=ious, score=score, multimask=multi,
          low_res=low[:, None, None], token=tokens[pick, 0, token][:, None, None],
          iou=ious[pick, 0, 0, chosen].reshape(n, 1, 1, 1))


def masks_and_memory(c):
    src, binary = c.randn(3, 4, 5, 1) * 8, torch.tensor([0, 1, 0])
    src[1, 0, 0, 0] = 0
    p = torch.where(binary.reshape(3, 1, 1, 1) > 0, (src > 0).float(), torch.sigmoid(src))
    c.add('mask_signal', src=src, binary=binary, scale=20, bias=-10, dst=20 * p - 10)
    select_mask(c)

    score = torch.tensor([1.0, 0.0, -1.0, 1e-9]).reshape(4, 1, 1, 1)
    src, other = c.randn(4, 1, 2, 6), c.randn(6)
    c.add('gate', src=src, other=vector(other), score=score, dst=torch.where(score > 0, src, other))

    before, src, absent = c.randn(6, 1, 5, 3), c.randn(4, 1, 5, 3), c.randn(3)
    slot = torch.tensor([5, 0, 2, -1])
    dst = before.clone()
    dst[slot[:3]] = torch.where(score > 0, src, src + absent)[:3]
    c.add('scatter', src=src, slot=slot, absent=vector(absent), score=score, before=before, dst=dst)

    n, tokens, m, parts, slots = 2, 4, 6, 2, 5
    maps, pointers, place = c.randn(slots, tokens, m), c.randn(7, parts * m), c.randn(tokens, m)
    when, pointer_time = c.randn(3, m), c.randn(n, 4, m)
    map_slot, map_time, pointer_slot = c.ints(0, 4, n, 3), c.ints(0, 2, n, 3), c.ints(0, 6, n, 4)
    num_maps, num_pointers = torch.tensor([3, 1]), torch.tensor([2, 4])
    old = c.randn(2, n, 3 * tokens + 4 * parts, m)
    values, keys = old.clone()
    for i in range(n):
        chosen = maps[map_slot[i, :num_maps[i]]]
        at = chosen + place + when[map_time[i, :num_maps[i]]][:, None]
        pointer = pointers[pointer_slot[i, :num_pointers[i]]].reshape(-1, parts, m)
        aged = pointer + pointer_time[i, :num_pointers[i], None]
        count = chosen.shape[0] * tokens + pointer.shape[0] * parts
        values[i, :count] = torch.cat((chosen.reshape(-1, m), pointer.reshape(-1, m)))
        keys[i, :count] = torch.cat((at.reshape(-1, m), aged.reshape(-1, m)))
    c.add('gather_memory', maps=maps[:, None], pointers=pointers[:, None, None], place=place, time=when,
          pointer_time=pointer_time[:, None], map_slot=map_slot[:, None, None],
          map_time=map_time[:, None, None], pointer_slot=pointer_slot[:, None, None],
          num_maps=num_maps, num_pointers=num_pointers, values_before=old[0][:, None],
          keys_before=old[1][:, None], values=values[:, None], keys=keys[:, None])


def normalised(rgb, side, centred=False):
    """rgb: (h, w, 3), 0 .. 255, to the network's input by PyTorch's antialiased resize."""
    x = F.interpolate(nchw(rgb[None]), (side, side), mode='bilinear', align_corners=False, antialias=True)
    return (nhwc(x) - 127) / 128 if centred else (nhwc(x) / 255 - MEAN) / STD


def rgb_of(y, cb, cr, kr, kb, full, white=255):
    """By inverting the definition of Y'CbCr, a 3 x 3 system. white: the largest sample there is."""
    kg = 1 - kr - kb
    forward = np.array([[kr, kg, kb],
                        [-kr / (2 - 2 * kb), -kg / (2 - 2 * kb), 0.5],
                        [0.5, -kg / (2 - 2 * kr), -kb / (2 - 2 * kr)]])
    scale = [white / 255] * 3 if full else [219 / 255, 224 / 255, 224 / 255]
    offset = np.array([0 if full else 16, 128, 128])
    v = (np.stack([y, cb, cr], -1).astype(np.float64) - offset) / scale
    return torch.tensor((v @ np.linalg.inv(forward).T).clip(0, 255), dtype=torch.float32)


def frames(c):
    """Every pixel format: planes as they lie in memory, with odd sizes and padded rows."""
    rgb_formats = {0: (0, 1, 2), 1: (2, 1, 0), 2: (0, 1, 2), 3: (2, 1, 0), 4: (0, 0, 0)}
    for fmt, order in rgb_formats.items():
        h, w, side = c.size(11, 131), c.size(9, 97), c.size(4, 32)
        bytes_of = {0: 3, 1: 3, 2: 4, 3: 4, 4: 1}[fmt]
        plane = c.ints(0, 255, h, w, bytes_of)
        rows = torch.cat((plane.reshape(h, -1), c.ints(0, 255, h, 3)), 1)
        c.add('preprocess', format=fmt, width=w, height=h, plane0=rows,
              dst=normalised(plane[..., list(order)].float(), side))
    for fmt in (5, 6, 7):
        for kr, kb, full in ((0.299, 0.114, 0), (0.2126, 0.0722, 1)):
            h, w, side = c.size(7, 91), c.size(9, 77), c.size(8, 40)
            half_h, half_w = (h + 1) // 2, (w + 1) // 2
            y = c.ints(0, 255, h, w)
            cb, cr = (c.ints(0, 255, h if fmt == 7 else half_h, half_w) for _ in range(2))
            planes = {}
            if fmt == 7:
                packed = torch.zeros(h, half_w, 4, dtype=torch.int64)
                luma = F.pad(y, (0, 2 * half_w - w)).reshape(h, half_w, 2)
                packed[..., 0], packed[..., 2] = luma[..., 0], luma[..., 1]
                packed[..., 1], packed[..., 3] = cb, cr
                planes['plane0'] = packed.reshape(h, -1)
            else:
                planes['plane0'] = torch.cat((y, c.ints(0, 255, h, 5)), 1)
                if fmt == 5:
                    planes['plane1'] = torch.stack((cb, cr), -1).reshape(half_h, -1)
                else:
                    planes['plane1'], planes['plane2'] = cb, torch.cat((cr, c.ints(0, 255, half_h, 2)), 1)
            up = np.arange(h) // (1 if fmt == 7 else 2)
            wide = [p.numpy()[up][:, np.arange(w) // 2] for p in (cb, cr)]
            c.add('preprocess', format=fmt, width=w, height=h, kr=kr, kb=kb, full=full, **planes,
                  dst=normalised(rgb_of(y.numpy(), *wide, kr, kb, full), side))


def draw_masks(c):
    for side, h, w, n in ((8, 13, 21, 3), (8, 4, 5, 2), (6, 6, 6, 1)):
        side, h, w = (x * c.size(1, 9) for x in (side, h, w))
        logits = F.interpolate(c.randn(n, 1, 4, 4) * 4, (side, side), mode='bilinear')
        slot = torch.arange(n) * 3 + 2
        full = F.interpolate(logits, (h, w), mode='bilinear', align_corners=False)[:, 0]
        best, of = full.max(0)
        labels = torch.where(best > 0, slot[of], 0)
        boxes = torch.zeros(n, 5)
        for i in range(n):
            ys, xs = torch.nonzero(full[i] > 0, as_tuple=True)
            if len(ys):
                boxes[i] = torch.tensor([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1, len(ys)])
        c.add('draw_masks', logits=logits, slot=slot, labels=labels, boxes=boxes)


def cell_means(luma, h, w):
    """Means over the pixels whose centres lie in each of h x w cells; a cell with none takes the pixel behind its start."""
    def members(cells, size):
        of = ((np.arange(size) + 0.5) * cells / size).astype(int)
        first = [min(int(np.ceil(i * size / cells - 0.5)), size - 1) for i in range(cells)]
        return [np.flatnonzero(of == i) if (of == i).any() else np.array([first[i]]) for i in range(cells)]
    rows, columns = members(h, luma.shape[0]), members(w, luma.shape[1])
    return np.array([[luma[np.ix_(r, k)].mean() for k in columns] for r in rows])


def draw_edges(c):
    """In f64, with numpy: all cells weigh, most of them 0."""
    def near(cells, size):  # (size, cells + 2): distances in cells, one cell more on each side
        t = ((np.arange(size) + 0.5) * cells / size)[:, None] - (np.arange(-1, cells + 1) + 0.5)
        a = np.clip(1 - (t / 1.5) ** 2, 0, None) ** 2
        inside = a[:, 1:-1].copy()
        inside[:, 0] += a[:, 0]  # cells beyond the border are the nearest ones
        inside[:, -1] += a[:, -1]
        return inside

    for fmt, side, n, size, shown in ((5, 6, 2, (13, 21), (13, 21)), (0, 4, 1, (9, 10), (17, 6)), (8, 5, 3, (11, 9), (11, 9)),
                                      (3, 8, 2, (5, 6), (12, 14)), (7, 4, 2, (8, 12), (8, 12))):
        side, (h, w), (oh, ow) = side * c.size(1, 4), (x * c.size(1, 4) for x in size), (x * c.size(1, 4) for x in shown)
        step = {0: 3, 3: 4, 5: 1, 7: 2, 8: 2}[fmt]
        logits = F.interpolate(c.randn(n, 1, 3, 3) * 4, (side, side), mode='bilinear')
        plane = c.ints(0, 255, h, w, step) // 64 * 50 + c.ints(0, 9, h, w, step)
        colour = plane.numpy()
        if fmt in (0, 3):
            rgb = colour[..., :3] if fmt == 0 else colour[..., 2::-1]
            luma = (rgb @ np.array([77, 150, 29]) + 128) // 256
        else:
            luma = colour[..., 1 if fmt == 8 else 0]
        means, slot = cell_means(luma, side, side), torch.arange(n) * 3 + 2

        def draw(h, w):
            own, a, b = cell_means(luma, h, w), near(side, h), near(side, w)
            like = np.clip(1 - (own[..., None, None] - means) ** 2 / 8192, 0, None) ** 16 + 1 / 8192
            return np.einsum('yi,xj,yxij,nij->nyx', a, b, like, logits[:, 0].double().numpy())

        full = torch.tensor(draw(oh, ow))
        best, of = full.max(0)
        labels = torch.where(best > 0, slot[of], 0)
        boxes = torch.zeros(n, 5)
        for i, own in enumerate(draw(h, w)):
            ys, xs = np.nonzero(own > 0)
            if len(ys):
                boxes[i] = torch.tensor([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1, len(ys)])
        rows = torch.cat((plane.reshape(h, -1), c.ints(0, 255, h, 4)), 1)
        c.add('draw_edges', logits=logits, slot=slot, format=fmt, width=w, height=h, plane=rows,
              room=torch.zeros(side, side), labels=labels, boxes=boxes)


def components(members):
    """A number of the component at each place, 0 in none, by letting the largest among neighbours spread until nothing changes."""
    label = members * torch.arange(1, members.numel() + 1.0).reshape(members.shape)
    while True:
        spread = F.max_pool2d(label, 3, 1, 1) * members
        if torch.equal(spread, label):
            return label
        label = spread


def areas(members):
    """Of the component at each place."""
    label = components(members).long()
    return torch.bincount(label.flatten())[label]


def fill_holes(c):
    for n, h, w, max_area in ((3, 9, 11, 3), (2, 12, 7, 1)):
        h, w = h * c.size(1, 5), w * c.size(1, 5)
        src = c.randn(n, 1, h, w) + 0.7
        holes = (src <= 0).float()
        dst = torch.where((holes > 0) & (areas(holes) <= max_area), 0.1, src)
        c.add('fill_holes', src=nhwc(src), room=torch.zeros(n, 1, 1, 2 * h * w + 1), max_area=max_area, value=0.1,
              dst=nhwc(dst))


def islands(c):
    for n, h, w, level, max_area in ((3, 9, 11, -0.7, 3), (4, 3, 4, -1.5, 9)):
        h, w = h * c.size(1, 5), w * c.size(1, 5)
        src = c.randn(n, 1, h, w) + level
        members = (src > 0).float()
        half = members.sum((1, 2, 3), keepdim=True).floor_divide(2).clamp(max=max_area)
        dst = torch.where((members > 0) & (areas(members) <= half), -0.1, src)
        c.add('fill_holes', src=nhwc(src), room=torch.zeros(n, 1, 1, 2 * h * w + 1), max_area=max_area, value=-0.1,
              dst=nhwc(dst))


def box_of(mask):
    """(x0, y0, x1, y1, area) of a mask (h, w); all 0 if it is empty."""
    y, x = torch.nonzero(mask, as_tuple=True)
    if not len(x):
        return torch.zeros(5)
    return torch.stack((x.min(), y.min(), x.max() + 1, y.max() + 1, mask.sum())).float()


def nearby(c):
    """Pieces of masks that have a place in the enlarged box of the mask before."""
    for n, h, w, reach, least, share in ((4, 9, 11, 0.25, 2, 0.05), (4, 7, 16, 0.125, 1, 0.4)):
        h, w = h * c.size(1, 5), w * c.size(1, 5)
        before, after, prompted = [2, -1, 0, 4][:n], [3, 1, -1, 5][:n], [0, 0, 0, 1][:n]
        logits = c.randn(n, 1, h, w) - 0.9
        old = torch.stack([box_of(c.rand(h, w) * (torch.arange(w) < w * c.rand(1)) > 0.98) for _ in range(6)])
        new, boxes = logits.clone(), old.clone()
        for i in range(n):
            b = old[before[i]] if before[i] >= 0 else torch.zeros(5)
            label = components((logits[i:i + 1] > 0).float())[0, 0]
            far = int(reach * max(b[2] - b[0], b[3] - b[1])) + least
            y, x = torch.arange(h)[:, None], torch.arange(w)
            within = (x >= b[0] - far) & (x < b[2] + far) & (y >= b[1] - far) & (y < b[3] + far)
            near = torch.isin(label, label[within & (label > 0)])
            if b[4] > 0 and not prompted[i] and near.any() and near.sum() >= share * b[4]:
                new[i, 0] = torch.where((label > 0) & ~near, -10.0, logits[i, 0])
            if after[i] >= 0:
                found = box_of(new[i, 0] > 0)
                boxes[after[i]] = found if found[4] else b
        c.add('keep_near', before_logits=nhwc(logits), before_boxes=old.reshape(6, 1, 1, 5), logits=nhwc(new), boxes=boxes.reshape(6, 1, 1, 5),
              score=torch.ones(n, 1, 1, 1), room=torch.zeros(n, 1, 1, 2 * h * w), reach=reach, least=least, share=share, value=-10,
              **{k: vector(torch.tensor(v)) for k, v in (('before', before), ('after', after), ('prompted', prompted))})


def foreign(c):
    """Pieces of masks whose cells vote against them in the mean."""
    for n, h, w, share in ((4, 10, 12, 0.2), (3, 8, 16, 0.5)):
        h, w = h * c.size(1, 5), w * c.size(1, 5)
        slot, score = [2, -1, 0, 4][:n], torch.tensor([1.0, 1.0, 0.5, -1.0])[:n]
        logits, votes = c.randn(n, 1, h, w) - 0.9, 1.4 * c.randn(n, 1, h // 2, w // 2)
        new, label = logits.clone(), components((logits > 0).float()).long()
        told = (1024 * F.interpolate(votes, scale_factor=2, mode='nearest').clamp(-1, 1)).round()
        for i in range(n):
            sums = torch.zeros(int(label.max()) + 1).index_add_(0, label[i].flatten(), told[i].flatten())
            gone = (label[i] > 0) & (sums[label[i]] < 0)
            if slot[i] >= 0 and score[i] > 0 and (label[i] > 0).sum() - gone.sum() >= share * (label[i] > 0).sum():
                new[i] = torch.where(gone, -10.0, logits[i])
        c.add('drop_foreign', before=nhwc(logits), votes=nhwc(votes), slot=vector(torch.tensor(slot)), score=score.reshape(n, 1, 1, 1),
              room=torch.zeros(n, 1, 1, 2 * h * w), share=share, value=-10, logits=nhwc(new))


def walks(c):
    """Random walks as a system of equations over all places at once, in double."""
    for n, h, w, box, rounds in ((2, 5, 7, (0, 0, 7, 5), 10), (1, 8, 6, (1, 2, 5, 7), 3)):
        h, w = h * c.size(1, 4), w * c.size(1, 4)
        box = [int(v) * c.size(1, 4) for v in box]
        src = c.randn(1, h, w, 3).double()
        right = ((src[:, :, 1:] - src[:, :, :-1]) ** 2).sum(3, keepdim=True)
        down = ((src[:, 1:] - src[:, :-1]) ** 2).sum(3, keepdim=True)
        scale = 3 / ((right.sum() + down.sum()) / (right.numel() + down.numel()))
        edges = torch.zeros(2, h, w, 1, dtype=torch.double)
        edges[0, :, :-1] = torch.exp(-scale * right[0]) + 1e-5
        edges[1, :-1] = torch.exp(-scale * down[0]) + 1e-5
        c.add('edge_weights', src=src, sharpness=3, least=1e-5, dst=edges)
        matrix = torch.zeros(h * w, h * w, dtype=torch.double)
        for i in range(h * w):
            for plane, k in ((0, i + 1), (1, i + w)):
                if edges[plane].flatten()[i] > 0:
                    matrix[i, k] = matrix[k, i] = edges[plane].flatten()[i]
        before, score = 3 * c.randn(n, h, w, 1), torch.tensor([0.5, -1.0])[:n]
        y, x = torch.arange(h)[:, None].expand(h, w).flatten(), torch.arange(w).repeat(h)
        free = (x >= box[0]) & (x < box[2]) & (y >= box[1]) & (y < box[3])
        after = before.clone()
        given = torch.where(free, torch.tanh(before[0].flatten().double() / 2), -0.8)
        now = given.clone()
        for turn in range(2 * rounds):
            mean = (0.05 * given + matrix @ now) / (0.05 + matrix.sum(1))
            now = torch.where(free & ((x + y) % 2 == turn % 2), now + 1.5 * (mean - now), now)
        after[0] = (2 * torch.atanh(now.clamp(-0.9999, 0.9999))).reshape(h, w, 1)
        c.add('random_walk', before=before, edges=edges, score=score.reshape(n, 1, 1, 1), fidelity=0.05,
              relaxation=1.5, outside=-0.8, most=0.9999, rounds=rounds, room=torch.zeros(n, h, w, 2),
              x0=box[0], y0=box[1], x1=box[2], y1=box[3], logits=after)


def ridge(c):
    """Ridge regression by matrices of all cells, in double."""
    for n, h, w, k, near in ((3, 4, 5, 3, 1), (2, 6, 3, 6, 2)):
        h, w, numbers = h * c.size(1, 3), w * c.size(1, 3), k + 1
        features, logits = c.randn(1, h, w, k), 4 * c.randn(n, 1, h, w)
        logits = F.interpolate(logits, scale_factor=2, mode='nearest') + c.randn(n, 1, 2 * h, 2 * w)
        x = torch.cat((features.reshape(-1, k), torch.ones(h * w, 1)), 1).double()
        i, j = torch.tril_indices(numbers, numbers)
        old = c.rand(8, numbers * (numbers + 3))
        sums, half = old.clone().double(), numbers * (numbers + 3) // 2
        score = torch.tensor([1.0, 0.5, -1.0])[:n]
        before, after, prompted = [2, -1, 4][:n], [3, 1, 5][:n], [0, 2, 0][:n]
        for a in range(n):
            new = sums[before[a]].clone() if before[a] >= 0 else torch.zeros(2 * half, dtype=torch.double)
            p = F.avg_pool2d(torch.sigmoid(logits[a].double()), 2)
            inside = (p > 0.5).double()
            near_one = F.max_pool2d(inside[None], 2 * near + 1, 1, near)[0]
            weight = torch.where(inside > 0, 1 / inside.sum(), 1 / (1 - inside).sum())
            weight *= torch.where(near_one > 0, 1.0, 0.3) * (0.2 + 0.8 * (2 * p - 1).abs())
            weight, y = weight.flatten(), (2 * p - 1).flatten()
            frame = torch.cat(((x.T @ (weight[:, None] * x))[i, j], x.T @ (weight * y)))
            if score[a] > 0:
                count = prompted[a]
                if count:
                    new[:half] = (1 - 1 / count) * new[:half] + frame / count
                    new[half:] = 0
                else:
                    new[half:] = 0.9 * new[half:] + 0.1 * frame
            sums[after[a]] = new
        numbers_of = {'before': before, 'after': after, 'prompted': prompted}
        c.add('ridge_learn', old=old.reshape(8, 1, 1, -1), sums=sums.reshape(8, 1, 1, -1), features=features,
              logits=nhwc(logits), score=score.reshape(n, 1, 1, 1), room=torch.zeros(n, h, w, 2), near=near, keep=0.9,
              far=0.3, unsure=0.2, **{name: vector(torch.tensor(v)) for name, v in numbers_of.items()})
        terms, b = c.randn(30, numbers).double(), c.randn(numbers).double()
        a = terms.T @ terms
        rows = torch.zeros(2, 2 * half, dtype=torch.double)
        rows[1, :half - numbers], rows[1, half - numbers:half] = 0.4 * a[i, j], 0.3 * b
        rows[1, half:-numbers], rows[1, -numbers:] = 0.6 * a[i, j], 0.7 * b
        rows = rows.float()
        fitted = torch.zeros(2, numbers, dtype=torch.double)
        ridged = a + 0.01 * a.diagonal().mean() * torch.eye(numbers, dtype=torch.double)
        fitted[0] = torch.linalg.solve(ridged, b)
        c.add('ridge_fit', sums=rows.reshape(2, 1, 1, -1), slot=vector(torch.tensor([1, -1])),
              score=torch.ones(2, 1, 1, 1), ridge=0.01, room=torch.zeros(2, 1, numbers + 1, 2 * numbers),
              dst=fitted.reshape(2, 1, 1, -1))
        w1 = c.randn(n, numbers)
        cells = (w1.double() @ x.T).clamp(-1.5, 1.5).reshape(n, 1, h, w)
        large = F.interpolate(cells, scale_factor=2, mode='bilinear', align_corners=False)
        after_score = logits + 3 * large * (score > 0).reshape(n, 1, 1, 1)
        c.add('ridge_score', before=nhwc(logits), features=features, weights=w1.reshape(n, 1, 1, -1),
              score=score.reshape(n, 1, 1, 1), room=torch.zeros(n, h, w, 1), scale=3, most=1.5,
              logits=nhwc(after_score))


def recall(c):
    """Nearest neighbours by matrices of all cells and keys, in double."""
    for n, h, w, k, near, ring in ((3, 4, 6, 3, 5, 1), (2, 6, 4, 6, 20, 0)):
        h, w = h * c.size(1, 3), w * c.size(1, 3)
        features, blocks = c.randn(1, h, w, k), h * w // 4
        logits = F.interpolate(4 * c.randn(n, 1, h, w) - 2, scale_factor=2, mode='nearest') + c.randn(n, 1, 2 * h, 2 * w)
        score = torch.tensor([1.0, 0.5, -1.0])[:n]
        before, after, prompted = [2, -1, 4][:n], [3, 1, 5][:n], [0, 2, 1][:n]
        iou, beside = torch.tensor([1.0, 0.6, 1.0])[:n], ring + 1
        old = c.rand(6, (k + 1) * (near + blocks))
        keys, x = old.clone().double(), features[0].permute(2, 0, 1).double()
        for a in range(n):
            row = keys[before[a]].clone() if before[a] >= 0 else torch.zeros(keys.shape[1], dtype=torch.double)
            if prompted[a] and score[a] > 0:
                p = F.avg_pool2d(torch.sigmoid(logits[a].double()), 2)
                is_near = F.max_pool2d((p > 0.5).double()[None], 2 * ring + 1, 1, ring)[0, 0] > 0
                is_beside = F.max_pool2d((p > 0.5).double()[None], 2 * beside + 1, 1, beside)[0]
                own = torch.cat((x, is_beside, 2 * p - 1)).flatten(1)[:, is_near.flatten()]
                most = min(own.shape[1], near)
                own = own[:, [i * own.shape[1] // most for i in range(most)]]
                far = F.avg_pool2d(torch.cat((x, is_beside, 2 * p - 1))[None], 2)[0].flatten(1)
                far = far * (F.max_pool2d(is_near.double()[None], 2).flatten() == 0)
                row = torch.cat((F.pad(own, (0, near - most)), far), 1)
                trust = ((iou[a].double() - 0.5) / 0.25).clamp(0, 1)
                told = torch.where((row[-2] > 0) & (row[-1] < 0), row[-1] * trust, row[-1])
                row = torch.cat((F.normalize(row[:-2], dim=0), told[None]))
                row = row.flatten()
            keys[after[a]] = row
        numbers_of = {'before': before, 'after': after, 'prompted': prompted}
        c.add('recall_learn', old=old.reshape(6, 1, 1, -1), keys=keys.reshape(6, 1, 1, -1), features=features,
              logits=nhwc(logits), iou=iou.reshape(n, 1, 1, 1), score=score.reshape(n, 1, 1, 1),
              room=torch.zeros(n, h, w, 2), ring=ring, beside=beside,
              **{name: vector(torch.tensor(v)) for name, v in numbers_of.items()})
        slot = [1, 3, 0][:n]
        # In steps by which products are exact: of which key is the most like a cell rounding must not decide.
        rows = (8 * c.randn(6, k + 1, near + blocks)).round() / 16
        features = (4 * c.randn(1, h, w, k)).round()
        x = features.double().reshape(-1, k)
        products = torch.einsum('ik,akj->aij', x, rows[slot, :-1].double())
        best = torch.from_numpy(products.numpy().argmax(2))  # the first of equals
        most = products.gather(2, best[..., None])[..., 0] / x.norm(dim=1).clamp(min=1e-12)
        cells = rows[slot, -1].double().gather(1, best) * torch.sigmoid((most - 0.5) / 0.1)
        large = F.interpolate(cells.reshape(n, 1, h, w), scale_factor=2, mode='bilinear', align_corners=False)
        c.add('recall_score', before=nhwc(logits), features=features, keys=rows.reshape(6, 1, 1, -1),
              slot=vector(torch.tensor(slot)), score=score.reshape(n, 1, 1, 1), room=torch.zeros(n, h, w, 1), scale=3,
              likeness=0.5, softness=0.1, logits=nhwc(logits + 3 * large * (score > 0).reshape(n, 1, 1, 1)))


def wide_frames(c):
    """P010: NV12 of 10 bits, in the upper bits of two bytes."""
    for kr, kb, full in ((0.2627, 0.0593, 0), (0.2126, 0.0722, 1)):
        h, w, side = c.size(7, 91), c.size(9, 77), c.size(8, 40)
        y = c.ints(0, 1023, h, w)
        cb, cr = (c.ints(0, 1023, (h + 1) // 2, (w + 1) // 2) for _ in range(2))
        planes = []
        for samples in (y, torch.stack((cb, cr), -1).reshape(len(cb), -1)):
            pairs = torch.stack((samples % 4 * 64, samples // 4), -1).reshape(len(samples), -1)
            planes.append(torch.cat((pairs, c.ints(0, 255, len(samples), 3)), 1))
        wide = [p.numpy()[np.arange(h) // 2][:, np.arange(w) // 2] / 4 for p in (cb, cr)]
        c.add('preprocess', format=8, width=w, height=h, kr=kr, kb=kb, full=full, plane0=planes[0],
              plane1=planes[1], dst=normalised(rgb_of(y.numpy() / 4, *wide, kr, kb, full, 1023 / 4), side))


def topk(c):
    for n, count, k, threshold in ((2, 40, 7, 0.5), (3, 9, 12, -9.0)):
        count = count * c.size(1, 100)
        src = (c.randn(n, count) * 8).round() / 8  # ties
        score, index = torch.sort(src, dim=1, descending=True, stable=True)
        score, index = (F.pad(t, (0, max(0, k - count)))[:, :k] for t in (score, index))
        num = (src > threshold).sum(1).clamp(max=k)
        there = torch.arange(k) < num[:, None]
        index, score = torch.where(there, index, -1), torch.where(there, score, 0.0)
        row = (n, 1, 1, -1)
        c.add('topk', src=src.reshape(row), threshold=threshold, room=torch.zeros(n, 1, 1, 2 * (count + k + 1)),
              index=index.reshape(row), score=score.reshape(row), num=num)
    src = (c.randn(2, 50) * 4).round()
    score, index = torch.sort(src, dim=1, descending=True, stable=True)
    c.add('topk', src=src.reshape(2, 1, 1, 50), room=torch.zeros(2, 1, 1, 182), index=index[:, :40].reshape(2, 1, 1, 40),
          score=score[:, :40].reshape(2, 1, 1, 40), num=[40, 40], threshold=9, all=1)


def deformable(values, sizes, places, weights):
    """By grid_sample: values (n, T, heads, d), places (n, Tq, heads, levels, points, 2), in f64."""
    n, queries, heads, levels, points, _ = places.shape
    out, first = 0, 0
    for level, (h, w) in enumerate(sizes):
        maps = values[:, first:first + h * w].permute(0, 2, 3, 1).reshape(n * heads, -1, h, w)
        grid = 2 * places[:, :, :, level].transpose(1, 2).reshape(n * heads, queries, points, 2) - 1
        got = F.grid_sample(maps, grid, mode='bilinear', padding_mode='zeros', align_corners=False)
        share = weights[:, :, :, level].transpose(1, 2).reshape(n * heads, 1, queries, points)
        out, first = out + (got * share).sum(-1), first + h * w
    return out.reshape(n, heads, -1, queries).permute(0, 3, 1, 2).flatten(2)


def deform_attention(c):
    cases = ((2, 5, 3, 4, 2, [(3, 4), (1, 5), (2, 1)], 2), (1, 9, 2, 16, 2, [(4, 3)], 4),
             (2, 6, 2, 17, 3, [(2, 3), (5, 2)], 4))
    for n, queries, heads, d, points, sizes, kind in cases:
        queries, levels = queries * c.size(1, 20), len(sizes)
        sizes = [(h * c.size(1, 5), w * c.size(1, 5)) for h, w in sizes]
        values = c.randn(n, sum(h * w for h, w in sizes), heads, d)
        offsets = c.randn(n, queries, heads, levels, points, 2) * 2
        logits = c.randn(n, queries, heads, levels * points)
        references = c.rand(n, queries, kind) * 1.2 - 0.1
        middle = references.double()[:, :, None, None, None, :2]
        if kind == 2:
            places = middle + offsets / torch.tensor([(w, h) for h, w in sizes]).double()[:, None]
        else:
            places = middle + offsets / points * references.double()[:, :, None, None, None, 2:] / 2
        weights = logits.double().softmax(-1).reshape(n, queries, heads, levels, points)
        dst = deformable(values.double(), sizes, places, weights)
        row = (n, 1, queries, -1)
        c.add('deform_attention', values=values.reshape(n, 1, -1, heads * d), offsets=offsets.reshape(row),
              weights=logits.reshape(row), references=references.reshape(row), heads=heads, points=points,
              sizes=torch.tensor(sizes), dst=dst.reshape(row))


def feed_forward(c):
    for rows, n, wide, act in ((3, 24, 96, GELU), (5, 17, 33, RELU)):
        rows *= c.size(1, 20)
        x, gamma, beta = c.randn(1, 1, rows, n) * 2 + 3, c.randn(n), c.randn(n)
        up, up_bias = c.randn(wide, n) / n ** 0.5, c.randn(wide)
        down, down_bias = c.randn(n, wide) / wide ** 0.5, c.randn(n)
        normed = F.layer_norm(x.double(), (n,), gamma.double(), beta.double(), 1e-5)
        hidden = ACT[act](F.linear(normed, up.double(), up_bias.double()))
        c.add('feed_forward', before=x, gamma=vector(gamma), beta=vector(beta), eps=1e-5, act=act, up=up, down=down,
              up_bias=vector(up_bias), down_bias=vector(down_bias),
              x=x + F.linear(hidden, down.double(), down_bias.double()))


def rope_attention(c):
    """In f64, by sam_rope's rule: complex numbers, the angle of place (y, x) being [x | y] steps."""
    for queries, side, maps, loose, d, m in ((3, 4, 1, 2, 8, 4), (5, 5, 2, 1, 12, 6)):
        queries, side = queries * c.size(1, 5), side * c.size(1, 3)
        n, scale, places = 2, 0.2, side * side
        tokens = maps * places + loose
        q, keys, values = c.randn(n, queries, d), c.randn(n, tokens, m), c.randn(n, tokens, m)
        weight, steps = c.randn(m + 1, d), c.randn(d // 4) * 2
        rotated = torch.tensor([maps * places, places - 1])
        count = torch.tensor([tokens, maps * places])
        angle = torch.arange(side)[:, None] * steps
        axis = torch.stack((angle.cos(), angle.sin()), -1).reshape(side, d // 2)
        wide = angle.double()
        table = torch.cat((wide.repeat(side, 1), wide.repeat_interleave(side, 0)), 1)
        turn = torch.polar(torch.ones_like(table), table).repeat(maps + 1, 1)[:tokens]
        plain = F.linear(keys.double(), weight[:m].double().T, weight[m].double())
        turned = torch.view_as_complex(plain.reshape(n, tokens, -1, 2)) * turn
        turned = torch.view_as_real(turned).reshape(n, tokens, d)
        at = torch.arange(tokens)[None]
        k = torch.where((at < rotated[:, None])[..., None], turned, plain)
        score = (scale * q.double() @ k.transpose(1, 2)).masked_fill((at >= count[:, None])[:, None], -np.inf)
        dst = torch.softmax(score, -1) @ values.double()
        c.add('rope_attention', q=q[:, None], keys=keys[:, None], values=values[:, None], weight=weight, axis=axis,
              num_keys=count, num_rotated=rotated, scale=scale, dst=dst[:, None])


def strided(c):
    """In f64."""
    for kernel, h, w in ((3, 6, 8), (3, 5, 7), (1, 4, 3), (5, 1, 6)):
        src, b = c.randn(2, h, w * c.size(1, 9), 5), c.randn(5)
        weight = c.randn(5, 1, kernel, kernel) / kernel
        dst = F.conv2d(nchw(src).double(), weight.double(), b.double(), 2, kernel // 2, groups=5)
        c.add('depthwise', src=src, weight=nhwc(weight.permute(1, 0, 2, 3)), bias=vector(b),
              kernel=kernel, stride=2, dst=nhwc(dst))


def squeeze_excite(c):
    """Means and products in f64."""
    for n, h, w, channels in ((2, 3, 5, 6), (1, 4, 1, 9), (1, 17, 13, 4)):
        src, scale = c.randn(n, h, w * c.size(1, 9), channels) + 0.5, c.rand(n, 1, 1, channels)
        c.add('mean_rows', src=src, dst=src.double().mean((1, 2), keepdim=True))
        c.add('scale_channels', src=src, scale=scale, dst=src.double() * scale.double())


def letterbox(c):
    """The nearest four pixels, rounded: where that is not a matter of the last digit."""
    for h, w, side, x, y, width, height in ((9, 16, 12, 0, 2, 12, 7), (5, 4, 9, 2, 1, 6, 8), (6, 6, 6, 0, 0, 6, 6)):
        scale = c.size(1, 7)
        frame = c.ints(0, 255, 1, h * scale, w * scale, 3)
        small = F.interpolate(nchw(frame.double()), (height, width), mode='bilinear', antialias=False)
        near = (small - small.floor() - 0.5).abs().amin() < 1e-3
        if near:
            frame = torch.full_like(frame, 77)
            small = torch.full_like(small, 77)
        dst = torch.full((1, side, side, 3), 114.0)
        dst[:, y:y + height, x:x + width] = nhwc((small + 0.5).floor())
        c.add('letterbox', frame=frame, x=x, y=y, width=width, height=height, fill=114, dst=dst / 255)


def windows(c):
    for n, rows, columns, side in ((1, 2, 3, 2), (2, 1, 2, 3), (2, 2, 2, 1)):
        rows *= c.size(1, 5)
        src = c.randn(n, rows * side, columns * side, 3)
        dst = src.view(n, rows, side, columns, side, 3).permute(0, 1, 3, 2, 4, 5)
        c.add('windows', src=src, side=side, dst=dst.reshape(-1, 1, side * side, 3))


def normed(c):
    """With SiLU, in f64."""
    for channels in (24, 5):
        src, gamma, beta = c.randn(1, 2, c.size(3, 50), channels) * 2 - 5, c.randn(channels), c.randn(channels)
        dst = F.silu(F.layer_norm(src.double(), (channels,), gamma.double(), beta.double(), 1e-5))
        c.add('layernorm', src=src, gamma=vector(gamma), beta=vector(beta), eps=1e-5, act=SILU, dst=dst)


def boxes(c):
    """Of detectors, in f64."""
    for n, rows, others, shared in ((1, 6, 9, False), (2, 3, 5, True), (2, 4, 0, False)):
        rows *= c.size(1, 30)
        base, deltas = c.rand(n, 1, others or rows, 4), c.randn(1 if shared else n, 1, rows, 4)
        index = c.ints(0, others - 1, n, rows) if others else None
        b = torch.stack([base[k, 0, index[k]] for k in range(n)])[:, None].double() if others else base.double()
        d = deltas.double().expand(n, 1, rows, 4)
        dst = torch.cat((b[..., :2] + d[..., :2] * b[..., 2:], b[..., 2:] * d[..., 2:].exp()), -1)
        c.add('refine_boxes', boxes=base, deltas=deltas, index=None if index is None else index[:, None, None], dst=dst)
    for n, rows, d in ((1, 3, 8), (2, 2, 14), (1, 2, 128)):
        rows *= c.size(1, 30)
        base = c.rand(n, 1, rows, 4) * 1.4 - 0.2
        angle = 2 * np.pi * base.double()[..., None] / 10000 ** (torch.arange(0, d, 2).double() / d)
        dst = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[..., [1, 0, 2, 3], :]
        c.add('embed_boxes', boxes=base, dst=dst.flatten(-2))


def segmentation(c):
    """GroupNorm, attention with a mask, and Swin's with roll, in f64."""
    for n, h, w, channels, groups, act in ((2, 3, 4, 12, 4, NONE), (1, 5, 3, 10, 2, RELU)):
        src, gamma, beta = c.randn(n, h, w * c.size(1, 20), channels) * 2 + 9, c.randn(channels), c.randn(channels)
        dst = ACT[act](F.group_norm(nchw(src).double(), groups, gamma.double(), beta.double(), 1e-5))
        c.add('groupnorm', src=src, gamma=vector(gamma), beta=vector(beta), groups=groups, eps=1e-5, act=act, dst=nhwc(dst))
    for n, queries, keys, heads, dk, dv in ((2, 4, 7, 2, 5, 3), (1, 3, 20, 1, 16, 8)):
        keys *= c.size(1, 20)
        q, k, v = c.randn(n, queries, heads, dk), c.randn(n, keys, heads, dk), c.randn(n, keys, heads, dv)
        mask = c.randn(n, queries, keys)
        mask[:, 1] = -1
        seen = (mask >= 0) | (mask < 0).all(-1, keepdim=True)
        dst = F.scaled_dot_product_attention(*(t.double().transpose(1, 2) for t in (q, k, v)), attn_mask=seen[:, None],
                                             scale=0.3)
        c.add('masked_attention', mask=mask[:, None], heads=heads, scale=0.3, dst=dst.transpose(1, 2).reshape(n, 1, queries, -1),
              **{name: t.reshape(n, 1, t.shape[1], -1) for name, t in zip('qkv', (q, k, v))})
    for h, w, heads, dim, side, shift in ((6, 6, 2, 4, 3, 1), (5, 7, 1, 6, 4, 2), (2, 3, 2, 3, 4, 3), (5, 4, 1, 3, 2, 0)):
        h, w = h * c.size(1, 3), w * c.size(1, 3)
        qkv, pad, table = c.randn(2, h, w, 3 * heads * dim), c.randn(3 * heads * dim), c.randn(heads, 2 * side - 1, 2 * side - 1)
        rows, columns = -(-h // side), -(-w // side)

        def cut(x):
            x = torch.roll(x, (-shift, -shift), (1, 2)).reshape(2, rows, side, columns, side, -1)
            return x.permute(0, 1, 3, 2, 4, 5).reshape(2 * rows * columns, side * side, -1)

        x = pad.expand(2, rows * side, columns * side, -1).double().clone()
        x[:, :h, :w] = qkv
        q, k, v = cut(x).reshape(-1, side * side, 3, heads, dim).permute(2, 0, 3, 1, 4)
        y, x = torch.arange(rows * side), torch.arange(columns * side)
        end = 2 * (y < shift).long()[:, None] + (x < shift).long() if shift else torch.zeros(rows * side, columns * side)
        # Only windows at the end hold positions from beyond it; in the others all are from one side.
        side_of = cut(end.double().expand(2, -1, -1)[..., None])[..., 0]
        apart = side_of[:, :, None] != side_of[:, None]
        a, b = torch.arange(side * side) // side, torch.arange(side * side) % side
        bias = table[:, a[:, None] - a + side - 1, b[:, None] - b + side - 1].double() - 100 * apart[:, None]
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2)
        o = o.reshape(2, rows, columns, side, side, heads * dim).permute(0, 1, 3, 2, 4, 5)
        o = torch.roll(o.reshape(2, rows * side, columns * side, -1), (shift, shift), (1, 2))[:, :h, :w]
        c.add('shifted_attention', qkv=qkv, pad=vector(pad), bias=table, heads=heads, window=side, shift=shift, dst=o)


def same_padding(c):
    """TensorFlow's SAME with stride 2 and even sides: one row and column less of zeros ahead of the map than behind."""
    for kernel, channels in ((3, 5), (5, 7)):
        ahead = (kernel - 2) // 2
        sides = (ahead, ahead + 1) * 2
        src, b = c.randn(2, 6, 2 * c.size(4, 20), channels), 3 * c.randn(channels)
        weight = 4 * c.randn(channels, 1, kernel, kernel) / kernel
        dst = F.relu6(F.conv2d(F.pad(nchw(src), sides), weight, b, 2, groups=channels))
        c.add('depthwise', src=src, weight=nhwc(weight.permute(1, 0, 2, 3)), bias=vector(b), kernel=kernel, stride=2,
              late=1, act=RELU6, dst=nhwc(dst))
        weight, b = 2 * c.randn(6, channels, kernel, kernel) / kernel, c.randn(6)
        dst = F.relu6(F.conv2d(F.pad(nchw(src), sides), weight, b, 2))
        c.add('conv', src=src, weight=nhwc(weight).reshape(6, -1), bias=vector(b), kernel=kernel, stride=2, pad=ahead,
              pad_end=1, act=RELU6, dst=nhwc(dst))
    plane = c.ints(0, 255, 11, c.size(9, 97), 3)
    c.add('preprocess', format=0, width=plane.shape[1], height=11, plane0=plane.reshape(11, -1), scale=1,
          dst=normalised(plane.float(), 5, centred=True))


def pooled(c):
    """A memory attention's maps made fewer, and keys that count less, as a bias on scores."""
    side, channels, others = 4, 6, 3
    area = side * side
    for maps, shift, between in ((1, 0.5, 0), (3, 0, 0), (2, 1.5, 0), (1, 0.5, 1), (2, 1.5, 1), (3, 0.5, 1), (5, 0, 1)):
        src = c.randn(1, 1, maps * area + others, channels)
        x = src[0, 0, :maps * area].reshape(maps, side, side, channels).permute(0, 3, 1, 2)
        pools = maps > (2 if between else 1)
        ends = (x[:1], x[-1:]) if between and pools else () if pools else (x,)
        means = F.avg_pool2d((x[1:-1] if between else x) if pools else x[:0], 2) + shift
        rows = torch.cat([m.permute(0, 2, 3, 1).reshape(-1, channels) for m in (means, *ends)] + [src[0, 0, maps * area:]])
        count, first = len(rows), len(means) * area // 4 if pools else len(rows)
        c.add('pool_keys', src=src, num_rotated=torch.tensor([maps * area]), num_keys=torch.tensor([maps * area + others]),
              side=side, shift=shift, between=between, dst=rows[None, None],
              counts=torch.tensor([count, first], dtype=torch.float32).reshape(2, 1, 1, 1))
    n, queries, keys, scale, rest = 2, 5, c.size(5, 200), 0.4, -1.25
    q, k, v = c.randn(n, 1, queries, 8), c.randn(n, 1, keys, 8), c.randn(n, 1, keys, 4)
    first = c.ints(0, keys, n)
    bias = rest * (torch.arange(keys)[None] >= first[:, None]).float()
    dst = F.scaled_dot_product_attention(q, k, v, attn_mask=bias[:, None, None].expand(-1, 1, queries, -1), scale=scale)
    c.add('attention', q=q, k=k, v=v, num_first=first, rest=rest, heads=1, scale=scale, dst=dst)


def make(seed, big):
    c = Cases(seed, big)
    for part in (copies, norms, products, convolutions, window_attention, attention, rope, images,
                 masks_and_memory, frames, draw_masks, fill_holes, wide_frames, topk,
                 feed_forward, rope_attention, strided, squeeze_excite, windows, draw_edges,
                 deform_attention, letterbox, normed, boxes, segmentation, same_padding, walks, ridge, recall, islands,
                 pooled, nearby, foreign):
        part(c)
    return c.tensors


def main():
    if len(sys.argv) == 3 and sys.argv[1] == '--write':
        save_file(make(1, False), sys.argv[2])
        return 0
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    seed = int(sys.argv[2]) if len(sys.argv) == 3 else int(time.time())
    print(f'seed {seed}, torch {torch.__version__}', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'vectors.safetensors')
        save_file(make(seed, True), path)
        return subprocess.run([sys.argv[1], '--vectors=' + path]).returncode


if __name__ == '__main__':
    sys.exit(main())
