# SPDX-License-Identifier: MIT
"""EfficientNet-Lite as the trunk of the published predictor: timm's own network, of any widths. Nothing is downloaded."""

import functools

import torch
from timm.models._efficientnet_builder import decode_arch_def
from timm.models.efficientnet import EfficientNet

# Kind of block, kernel, stride, widening of the seven stages.
STAGES = (('ds', 3, 1, 1), ('ir', 3, 2, 6), ('ir', 5, 2, 6), ('ir', 3, 2, 6), ('ir', 5, 1, 6), ('ir', 5, 2, 6), ('ir', 3, 1, 6))
ENDS = (1, 2, 4, 6)  # the stages that end with the maps of strides 4, 8, 16, 32
EPSILON = 1e-3


class Trunk(torch.nn.Module):
    """What sam2's ImageEncoder asks of a trunk: channel_list, coarsest first, and a list of maps, finest first."""

    def __init__(self, spec):
        super().__init__()
        arch = [[f'{kind}_r{depth}_k{kernel}_s{stride}_e{wide}_c{width}']
                for (kind, kernel, stride, wide), depth, width in zip(STAGES, spec['depths'], spec['widths'])]
        self.body = EfficientNet(
            decode_arch_def(arch), stem_size=spec['stem'], fix_stem=True, round_chs_fn=lambda channels: channels,
            act_layer=torch.nn.ReLU6, norm_layer=functools.partial(torch.nn.BatchNorm2d, eps=EPSILON), pad_type='same',
            num_classes=0, num_features=8)
        del self.body.conv_head, self.body.bn2
        self.channel_list = [spec['widths'][i] for i in reversed(ENDS)]

    @staticmethod
    def normalize(frames):
        """Frames u8 (T, S, S, 3) as the trunk takes them, (T, 3, S, S)."""
        return (torch.from_numpy(frames).permute(0, 3, 1, 2).float() - 127) / 128

    def forward(self, x):
        x, maps = self.body.bn1(self.body.conv_stem(x)), []
        for i, stage in enumerate(self.body.blocks):
            x = stage(x)
            if i in ENDS:
                maps.append(x)
        return maps


def pairs(body):
    """(name in a file, convolution, its norm) of every layer."""
    yield 'conv_stem', body.conv_stem, body.bn1
    for i, stage in enumerate(body.blocks):
        for j, block in enumerate(stage):
            name = f'blocks.{i}.{j}.'
            if STAGES[i][0] == 'ds':
                layers = (('conv_dw', block.conv_dw, block.bn1), ('conv_pwl', block.conv_pw, block.bn2))
            else:
                layers = (('conv_pw', block.conv_pw, block.bn1), ('conv_dw', block.conv_dw, block.bn2),
                          ('conv_pwl', block.conv_pwl, block.bn3))
            for layer, conv, norm in layers:
                yield name + layer, conv, norm


def randomize(body, noise):
    """Weights whose outputs reach both bounds of ReLU6 and keep their size over all blocks."""
    with torch.no_grad():
        for name, conv, norm in pairs(body):
            size = conv.weight[0].numel() ** -0.5
            conv.weight.copy_(size * torch.randn(conv.weight.shape, generator=noise))
            low, high = (0.4, 0.9) if name.endswith('pwl') else (1.0, 3.0)
            norm.weight.copy_(low + (high - low) * torch.rand(norm.weight.shape, generator=noise))
            norm.bias.copy_((0.1 if name.endswith('pwl') else 1.0) * torch.randn(norm.bias.shape, generator=noise))
            norm.running_mean.copy_(0.2 * torch.randn(norm.bias.shape, generator=noise))
            norm.running_var.copy_(0.5 + 1.5 * torch.rand(norm.bias.shape, generator=noise))


def folded(body):
    """The tensors of a file: norms in the convolutions. The network then computes with just these numbers, in fp16."""
    state = {}
    with torch.no_grad():
        for name, conv, norm in pairs(body):
            scale = norm.weight.double() / (norm.running_var.double() + norm.eps).sqrt()
            weight = (conv.weight.double() * scale[:, None, None, None]).half()
            bias = (norm.bias.double() - norm.running_mean.double() * scale).half()
            state[f'image_encoder.trunk.{name}.weight'], state[f'image_encoder.trunk.{name}.bias'] = weight, bias
            conv.weight.copy_(weight)
            norm.running_mean.zero_()
            norm.running_var.fill_(1 - norm.eps)
            norm.weight.fill_(1)
            norm.bias.copy_(bias)
    return state


def unfold(body, state):
    """Put such tensors back into the network."""
    with torch.no_grad():
        for name, conv, norm in pairs(body):
            conv.weight.copy_(state[f'image_encoder.trunk.{name}.weight'])
            norm.running_mean.zero_()
            norm.running_var.fill_(1 - norm.eps)
            norm.weight.fill_(1)
            norm.bias.copy_(state[f'image_encoder.trunk.{name}.bias'])
