#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Averages several weight files of one architecture; changes the input size, the number of memory maps, which
frames are remembered, how memory is read, or what is told of predicted IoUs.

    mix.py --out FILE A.safetensors=0.5 B.safetensors=0.5
    mix.py --out FILE --size 320 --size-bf16 448 --maps 4 A.safetensors
    mix.py --out FILE --selection present A.safetensors
    mix.py --out FILE --pooling counted A.safetensors
    mix.py --out FILE --told '{"clicks": [0, ...], "tracked": [0, ...]}' A.safetensors
    mix.py --out FILE --exact-maps no A.safetensors
    mix.py --out FILE --random-walk 0.05 A.safetensors
    mix.py --out FILE --recall 2 A.safetensors
    mix.py --out FILE --lead 2 A.safetensors

The mean of weights that were trained from one start on different data is often better than each of them.
If mask 0, which is trained on every sample, is better than the choice among masks 1 to 3, --lead copies its weights to
one of those.
"""

import argparse
import json
import sys

import torch

import model
import pooling

TIMES = "maskmem_tpos_enc"
HEAD = "sam_mask_decoder.iou_prediction_head.layers.2"
AHEAD = 0.02  # before the sigmoid
MOST_MAPS = 16  # that the engine loads
LIKENESS = 0.55  # cosine from which on a neighbour is believed, of features that whiten.py makes


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--size", type=int, help="input side in px, a multiple of 32 (default: that of the first file)")
    p.add_argument("--size-bf16", type=int, help="the side where BF16 is faster than FP32, px; 0: the same everywhere")
    p.add_argument("--maps", type=int, help="number of memory maps: that of the prompted frame and the latest others")
    p.add_argument("--selection", choices=("all", "present"), help="remember all frames, or only those with the object")
    p.add_argument("--pooling", choices=pooling.KINDS, help="whether attention to several maps of memory reads means of 2 x 2 positions")
    p.add_argument("--pooling-from", type=int, metavar="PX", help="the input side from which on it does; 0: any")
    p.add_argument("--pooling-between", choices=("yes", "no"), help="whether the first map and the youngest stay whole")
    p.add_argument("--told", metavar="JSON", help="the curves that calibration.py --fit prints; {}: none, predictions are told as they are")
    p.add_argument("--exact-maps", choices=("yes", "no"), help="whether maps are multiplied in F32 where the precision is less")
    p.add_argument("--box-zoom", type=float, help="answer a box in a window of so many times its size; 0: in the whole frame")
    p.add_argument("--click-zoom", type=float, help="answer a click again in a window of so many times its answer's size; 0: once")
    p.add_argument("--piece-reach", type=float, help="drop pieces farther from the last mask than this share of its size; 0: none")
    p.add_argument("--odds-exponent", type=float, help="cut answers to points where their odds are this power of the predicted IoU; 0: at 1")
    p.add_argument("--random-walk", type=float, help="fidelity of random walks that move outlines to edges; 0: none")
    p.add_argument("--recall", type=float, help="weight of what nearest neighbours in the prompted frame tell; 0: they are not asked")
    p.add_argument("--recall-pieces", choices=("yes", "no"), help="drop pieces of a tracked mask that those neighbours tell to be ground, or not")
    p.add_argument("--lead", type=int, choices=(1, 2, 3), help="mask that becomes a copy of mask 0 and is chosen first")
    p.add_argument("parts", nargs="+", metavar="FILE[=SHARE]")
    return p.parse_args()


def share_of(part):
    """(path, share) of FILE=SHARE."""
    path, equals, share = part.rpartition("=")
    if not equals:
        return part, 1.0
    try:
        return path, float(share)
    except ValueError:
        raise model.ModelError(f"{part}: the share after the last = is not a number") from None


def with_maps(state, maps, path):
    """`state` with the places in time of so many memory maps: the youngest, and the last, of prompted frames.

    Tracked frames older than `state` knows have the place of its oldest one.
    """
    times = state[TIMES]
    if not 2 <= maps <= MOST_MAPS:
        raise model.ModelError(f"{path}: {maps} memory maps, expected 2 to {MOST_MAPS}")
    ages = [min(age, len(times) - 2) for age in range(maps - 1)]
    return state | {TIMES: torch.cat((times[ages], times[-1:]))}


def with_number(config, key, value, most):
    """`config` with this number from 0.01 to `most`, which an option of the same name gives; 0: without."""
    if value and not 0.01 <= value <= most:
        raise model.ModelError(f"--{key.replace('_', '-')}: {value:g} is neither 0 nor from 0.01 to {most}")
    config = {k: v for k, v in config.items() if k != key}
    return config | {key: value} if value else config


def with_walk(config, fidelity):
    """`config` with random walks of this fidelity; 0: without."""
    if fidelity and not 0.0001 <= fidelity <= 1000:
        raise model.ModelError(f"--random-walk: {fidelity:g} is neither 0 nor from 0.0001 to 1000")
    config = {k: v for k, v in config.items() if k != "random_walk"}
    return config | {"random_walk": {"fidelity": fidelity}} if fidelity else config


def with_lead(state, row):
    """`state` whose mask `row` is made as mask 0 is; its predicted IoU is mask 0's and a little more."""
    state, mlp = dict(state), "sam_mask_decoder.output_hypernetworks_mlps"
    for name in ("sam_mask_decoder.mask_tokens.weight", *(f"{HEAD}.{k}" for k in ("weight", "bias"))):
        state[name] = state[name].clone()
        state[name][row] = state[name][0]
    state[f"{HEAD}.bias"][row] += AHEAD
    return state | {k.replace(f"{mlp}.0", f"{mlp}.{row}"): v for k, v in state.items() if k.startswith(f"{mlp}.0.")}


def with_recall(config, weight, path):
    if not 0 <= weight <= 100:
        raise model.ModelError(f"--recall: {weight:g} is not from 0 to 100")
    if "target_model" not in config:
        raise model.ModelError(f"{path}: it has no target model, whose features --recall needs; whiten.py makes them")
    own = {k: v for k, v in config["target_model"].items() if k != "recall"}
    return config | {"target_model": own | ({"recall": {"weight": weight, "likeness": LIKENESS}} if weight else {})}


def with_recall_pieces(config, drops, path):
    target = config.get("target_model", {})
    if "recall" not in target:
        raise model.ModelError(f"{path}: it asks no nearest neighbours, which tell what --recall-pieces drops; --recall does")
    recall = {k: v for k, v in target["recall"].items() if k != "pieces"} | ({"pieces": True} if drops else {})
    return config | {"target_model": target | {"recall": recall}}


def with_told(config, text):
    """`config` with the curves of told_iou in `text`."""
    try:
        curves = json.loads(text)
        fits = set(curves) <= {"clicks", "boxes", "tracked"}
        for curve in curves.values():
            fits = fits and len(curve) == 11 and curve == sorted(curve) and 0 <= curve[0] and 0 < curve[-1] <= 1
    except (AttributeError, TypeError, ValueError):
        fits = False
    if not fits:
        raise model.ModelError(f"--told: {text}: not an object with clicks, boxes or tracked, 11 numbers each from 0 to 1 that do not fall")
    config = {k: v for k, v in config.items() if k != "told_iou"}
    return config | {"told_iou": curves} if curves else config


def mixed(parts, maps=None):
    """(configuration of the first file, state) of [(path, share)]."""
    config, sums = None, {}
    total = sum(share for _, share in parts)
    if not total > 0:
        raise model.ModelError(f"{parts[0][0]}: the shares add up to {total:g}, wanted more than 0")
    for path, share in parts:
        found, state = model.read(path)
        config = config or found
        state = with_maps(state, maps or config["num_maskmem"], path)
        if sums and {k: v.shape for k, v in sums.items()} != {k: v.shape for k, v in state.items()}:
            raise model.ModelError(f"{path}: of another architecture than {parts[0][0]}")
        sums = {k: sums.get(k, 0) + v * (share / total) for k, v in state.items()}
    return config | {"num_maskmem": maps or config["num_maskmem"]}, sums


def main():
    args = arguments()
    try:
        config, state = mixed([share_of(p) for p in args.parts], args.maps)
        if args.size:
            if args.size < 64 or args.size % 32:
                raise model.ModelError(f"--size: {args.size} is not a multiple of 32 from 64 on")
            config = model.sized(config, args.size)
        if args.size_bf16 is not None:
            if args.size_bf16 and (args.size_bf16 < 64 or args.size_bf16 % 32):
                raise model.ModelError(f"--size-bf16: {args.size_bf16} is neither 0 nor a multiple of 32 from 64 on")
            config = {k: v for k, v in config.items() if k != "image_size_bf16"}
            config |= {"image_size_bf16": args.size_bf16} if args.size_bf16 else {}
        if args.selection:
            config = config | {"memory_selection": args.selection}
        if args.pooling:
            config = config | {"memory_pooling": args.pooling}
        if args.pooling_from is not None:
            config = {k: v for k, v in config.items() if k != "memory_pooling_from"}
            config |= {"memory_pooling_from": args.pooling_from} if args.pooling_from > 0 else {}
        if args.pooling_between:
            config = config | {"memory_pooling_between": args.pooling_between == "yes"}
        if args.told is not None:
            config = with_told(config, args.told)
        if args.exact_maps:
            config = config | {"exact_maps": args.exact_maps == "yes"}
        for kind, zoom in (("box", args.box_zoom), ("click", args.click_zoom)):
            if zoom and not 1 <= zoom <= 8:
                raise model.ModelError(f"--{kind}-zoom: {zoom:g} is neither 0 nor from 1 to 8")
            config = config if zoom is None else config | {f"{kind}_zoom": zoom}
        for key, value, most in (("piece_reach", args.piece_reach, 8), ("odds_exponent", args.odds_exponent, 4)):
            config = config if value is None else with_number(config, key, value, most)
        if args.random_walk is not None:
            config = with_walk(config, args.random_walk)
        if args.recall is not None:
            config = with_recall(config, args.recall, args.parts[0])
        if args.recall_pieces:
            config = with_recall_pieces(config, args.recall_pieces == "yes", args.parts[0])
        state = with_lead(state, args.lead) if args.lead else state
        net = model.build(config, model.count_layers(state))
        model.load_state(net, state, args.parts[0])
        model.save(net, args.out)
    except (model.ModelError, OSError) as error:
        print(f"mix.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
