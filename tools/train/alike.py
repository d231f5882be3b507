#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the first layer of memory attention look for what looks alike, near the same place.

    alike.py --videos DIR --from FILE --out FILE --kept FOLDER [--bodies FILES] [--annotated FILE]

A layer that looks at the same place only (model.start_local) finds a thing again as long as it moves by less than a cell
of 16 px. The features of the image encoder know more: labels carried by their similarity follow things much better. So two
linear maps are fitted, from the layer's queries and from its keys to the normalised features of their cells, and become
the slowly rotating half of its projections, whose products hardly depend on places. The quickly rotating half keeps its
biases, which prefer places near by. Train afterwards: what follows the layer has to adapt. --kept is the folder with the tracks
and outlines of train.py; missing ones are computed.
"""

import argparse
import sys

import torch
import torch.nn.functional as F

import bank
import losses
import model
import train

NEARER = 0.8  # factor of the biases of the places; smaller means a wider neighbourhood
SHARP = 20.0  # factor of the cosine of two features


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
    p.add_argument("--size", type=int, default=192, help="side of the pictures it is fitted on, px")
    p.add_argument("--batches", type=int, default=16, help="of two clips of eight frames each")
    p.add_argument("--bank-mib", type=int, default=600)
    p.add_argument("--workers", type=int, default=1, help="processes that compute missing outlines")
    p.add_argument("--seed", type=int, default=1)
    p.set_defaults(stills=1.0, targets=2)
    return p.parse_args()


class Pairs:
    """Sums for two linear fits, with a constant: of queries and of keys to the features of their cells."""

    def __init__(self):
        self.sums = [[0.0, 0.0], [0.0, 0.0]]

    def add(self, which, given, wanted):
        given = with_one(given.float()).flatten(0, -2)
        wanted = wanted.flatten(0, -2)
        self.sums[which][0] += given.T @ given
        self.sums[which][1] += given.T @ wanted

    def fits(self):
        """((inputs + 1, features) of queries, the same of keys)."""
        return [torch.linalg.solve(g + 1e-3 * g.diagonal().mean() * torch.eye(len(g)), w) for g, w in self.sums]


def with_one(x):
    return torch.cat((x, torch.ones_like(x[..., :1])), -1)


@torch.no_grad()
def collect(net, generator, batches, seed):
    """Pairs of so many batches of clips, tracked from masks."""
    pairs, given = Pairs(), []
    reader = net.memory_attention.layers[0].cross_attn_image
    handle = reader.register_forward_pre_hook(lambda m, a, k: given.append((k["query"], k["key"])), with_kwargs=True)
    for i in range(batches):
        torch.manual_seed(seed + i)
        clips = generator(2, 8)
        given.clear()
        losses.follow(net, clips, "mask", own=0.0)
        objects = clips.present.shape[2]
        coarse = model.encode(net, model.normalise(net, clips.frames.flatten(0, 1)))[2]
        cells = F.normalize(coarse.float().flatten(2), dim=1).transpose(1, 2).unflatten(0, clips.frames.shape[:2])
        cells = cells.repeat_interleave(objects, 0)
        memory, present = losses.Memory(net.samtrack["num_maskmem"]), clips.present.transpose(1, 2).flatten(0, 1) > 0
        selects = net.samtrack.get("memory_selection") == "present"
        for now, (query, key) in enumerate(given, 1):
            memory.write((cells[:, now - 1],), now == 1, present[:, now - 1] if selects else None)
            remembered = torch.cat([m[0] for m, _ in memory.read()], 1)
            pairs.add(0, query[:, 0], cells[:, now])
            maps, pointers = key[:, 0].split((remembered.shape[1], key.shape[2] - remembered.shape[1]), 1)
            pairs.add(1, maps, remembered)
            # Pointers are no cells: they are to look like nothing that is there.
            pairs.add(1, pointers, -remembered.mean(1, keepdim=True).expand(-1, pointers.shape[1], -1))
    handle.remove()
    return pairs


def slow(dim):
    """The half of `dim` that rotates slowly, of x and of y in turn; pairs rotate ever more slowly along each half."""
    return torch.stack((torch.arange(dim // 4, dim // 2), torch.arange(3 * dim // 4, dim))).T.flatten()


@torch.no_grad()
def install(net, of_queries, of_keys):
    """Puts the two fits into the first layer: the product of a query and a key is SHARP times that of the features."""
    reader = net.memory_attention.layers[0].cross_attn_image
    dim = reader.q_proj.out_features
    rows = slow(dim)
    # What of the features keys can tell; all of it fits into the rows.
    basis = torch.linalg.svd(of_keys, full_matrices=False).Vh.T[:, : len(rows)]
    gain = (SHARP * dim**0.5) ** 0.5
    for linear, fit in ((reader.q_proj, of_queries), (reader.k_proj, of_keys)):
        linear.bias.mul_(NEARER)
        linear.weight[rows] = 0
        linear.bias[rows] = 0
        linear.weight[rows[: basis.shape[1]]] = gain * (fit[:-1] @ basis).T
        linear.bias[rows[: basis.shape[1]]] = gain * (fit[-1] @ basis)


def main():
    args = arguments()
    try:
        config = model.read(args.source)[0]
        net = model.load(args.source, model.sized(config, args.size)).eval()
        generator = train.generator_of(args, train.load_videos(args), net.image_size, "cpu")
    except (train.Refused, bank.BankError, model.ModelError, OSError) as error:
        print(f"alike.py: {error}", file=sys.stderr)
        return 1
    install(net, *collect(net, generator, args.batches, args.seed).fits())
    net.samtrack = config
    model.save(net, args.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
