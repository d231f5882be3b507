#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a network deeper: adds blocks that change nothing until they are trained.

    grow.py --out FILE --stages 1,2,8,2 --layers 3 A.safetensors

New blocks of the trunk come after the old ones of their stage, new layers of memory attention after the old layers. They
have default weights, and zeros in the products whose results they add to their input: what comes in goes out (Chen et al.,
"Net2Net", ICLR 2016, and the zero-initialised residual branches of Goyal et al., 2017).
"""

import argparse
import itertools
import re
import sys

import torch

import model

BLOCK = re.compile(r"image_encoder\.trunk\.blocks\.(\d+)\.(.*)")
ENDS = re.compile(
    r"(image_encoder\.trunk\.blocks\.\d+\.(attn\.proj|mlp\.layers\.1)"
    r"|memory_attention\.layers\.\d+\.((self_attn|cross_attn_image)\.out_proj|linear2))\.(weight|bias)"
)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--stages", help="number of blocks of the trunk's four stages, as 1,2,8,2 (default: as they are)")
    p.add_argument("--layers", type=int, help="number of layers of memory attention (default: as they are)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("source", metavar="FILE")
    return p.parse_args()


def places(old, new):
    """{number of a block before: its number afterwards}, of stages with so many blocks."""
    first = itertools.accumulate([0, *new])
    return dict(enumerate(start + i for start, count in zip(first, old) for i in range(count)))


def grown(config, state, stages, layers):
    """The network of (configuration, state) with so many blocks per stage and layers of memory attention."""
    old = config["trunk"]["stages"]
    if config["trunk"]["kind"] != "hiera" and stages != old:
        raise model.ModelError(f"--stages: blocks can be added to a trunk of kind hiera, this one is {config['trunk']['kind']}")
    if len(stages) != len(old) or any(n < o for n, o in zip(stages, old)):
        raise model.ModelError(f"--stages: wanted {len(old)} numbers from {','.join(map(str, old))} on, got {stages}")
    if layers < model.count_layers(state):
        raise model.ModelError(f"--layers: wanted {model.count_layers(state)} or more, got {layers}")
    moved = places(old, stages)
    kept = {}
    for name, value in state.items():
        m = BLOCK.fullmatch(name)
        kept[f"image_encoder.trunk.blocks.{moved[int(m[1])]}.{m[2]}" if m else name] = value
    net = model.build(config | {"trunk": config["trunk"] | {"stages": list(stages)}}, layers)
    fresh = model.published_state(net)
    for name, value in fresh.items():
        if name not in kept:
            kept[name] = torch.zeros_like(value) if ENDS.fullmatch(name) else value.clone()
    model.load_state(net, kept, "grown")
    return net


def main():
    args = arguments()
    torch.manual_seed(args.seed)
    try:
        config, state = model.read(args.source)
        stages = [int(n) for n in args.stages.split(",")] if args.stages else config["trunk"]["stages"]
        net = grown(config, state, stages, args.layers or model.count_layers(state))
        model.save(net, args.out)
    except (model.ModelError, ValueError, OSError) as error:
        print(f"grow.py: {error}", file=sys.stderr)
        return 1
    print(f"{args.out}: {sum(p.numel() for p in net.parameters()) / 1e6:.2f} million parameters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
