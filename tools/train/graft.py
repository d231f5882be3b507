# SPDX-License-Identifier: MIT
"""A pretrained trunk under the other parts of trained weights, samtrack-nano's, for a start.

The decoder and the memory know the maps that their trunk gave them. The neck's products are fitted, by ridge regression over
some pictures, to make maps of the new trunk that come nearest to those.
"""

import os

import torch
import torch.nn.functional as F

import bank
import lite
import model
import pictures
import whiten

DONOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models/samtrack-nano.safetensors")
PICTURES = 160  # that the neck is fitted on


def looks(folder, videos):
    """A function of a side: pictures (1, 3, S, S) to fit on, of the pictures or videos given, else invented ones."""

    def some(size):
        torch.manual_seed(0)
        if folder:
            make = pictures.Pictures(pictures.Collection(folder), size)
            for _ in range(PICTURES):
                yield make(1, 1).frames[:, 0]
            return
        found = [f for p in bank.videos_of(videos) for f in whiten.frames_of(p)] if videos else []
        found = found or [torch.from_numpy(f).permute(2, 0, 1)[None] for v in bank.invent(0) for f in v]
        for image in found:
            yield F.interpolate(image.float(), size=(size, size), mode="area")

    return some


@torch.inference_mode()
def neck_maps(net, images):
    """What the neck gives for strides 4, 8 and 16, (n, h, w, d), and the trunk's maps."""
    maps, convs = net.vision_encoder.backbone(images), net.vision_encoder.neck.convs
    maps = maps if model.is_lite(net) else maps.intermediate_hidden_states
    own = [F.linear(x, conv.weight.flatten(1), conv.bias) for x, conv in zip(maps, list(convs)[::-1])]
    return [own[0], own[1], own[2] + doubled(own[3])], maps


def doubled(x):
    """Nearest, (n, h, w, c) to twice the size."""
    return x.repeat_interleave(2, 1).repeat_interleave(2, 2)


@torch.inference_mode()
def fit_neck(net, teacher, images):
    """Shares of the variance of the teacher's maps that the fitted neck does not explain, the finest first."""
    fits = [lite.Fit() for _ in range(3)]
    for image in images:
        wanted, _ = neck_maps(teacher, model.normalise(teacher, image))
        _, maps = neck_maps(net, model.normalise(net, image))
        given = [maps[0], maps[1], torch.cat((maps[2], doubled(maps[3])), 3)]
        for fit, x, y in zip(fits, given, wanted):
            fit.add(x, y)
    left = []
    for i, fit in enumerate(fits):
        weight, bias, share = fit.solve()
        convs = net.vision_encoder.neck.convs  # the coarsest first
        parts = weight.split([c.weight.shape[1] for c in ([convs[1], convs[0]] if i == 2 else [convs[3 - i]])], 1)
        for conv, part, offset in zip([convs[1], convs[0]] if i == 2 else [convs[3 - i]], parts, (bias, 0 * bias)):
            conv.weight.copy_(part[:, :, None, None])
            conv.bias.copy_(offset)
        left.append(share)
    return left


def grafted(path, name, size, some):
    """The network of a file with a pretrained trunk; some: of looks()."""
    config, state = model.read(path)
    teacher = model.load(path, model.sized(config, size)).eval()
    kept = {k: v for k, v in config.items() if k != "target_model"}  # fitted to the old maps
    net = model.build(model.sized(kept | {"trunk": lite.TRUNKS[name], "origin": lite.ORIGIN}, size), model.count_layers(state))
    own = net.state_dict()
    same = {k: v for k, v in teacher.state_dict().items() if k in own and "vision_encoder" not in k}
    net.load_state_dict(same, strict=False)
    net.vision_encoder.backbone.load_state_dict(lite.pretrained(lite.TRUNKS[name]))
    left = fit_neck(net.eval(), teacher, some(size))
    print("neck fitted to that of", os.path.basename(path) + ": unexplained", *(f"{v:.2f}" for v in left), flush=True)
    return net
