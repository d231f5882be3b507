#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The OpenVINO peer of tests/bench/cpu.sh: the published image encoder and memory attention of DIR/model.pt,
converted, over a full memory (7 maps of 64 x 64, 16 pointers of 4 tokens), on all processors.

  peer_openvino.py DIR [RUNS]

The converter knows no complex numbers, with which the published code writes its rotary encoding, so
that function gets a real-valued stand-in here; the parts with it must equal the published ones to
1e-4, and so must OpenVINO's fp32 outputs, or nothing is timed. One line of JSON per precision:
{"fp32": {"encode_ms", "attend_ms", ...}, "bf16": ...}, medians of RUNS after a warm-up."""

import json
import os
import statistics
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'tools'))
import cpu

try:
    import openvino as ov
    import torch

    import published
except ImportError as e:
    sys.exit(f'{e.name} is not installed in {sys.executable}')

CELLS, WIDTH, MEMORY, POINTER_TOKENS = 64 * 64, 256, 64, 16 * 4
KEYS = 7 * CELLS + POINTER_TOKENS
EXACT = 1e-4  # relative in norm: fp32 sums in another order
PRODUCTS = ('FullyConnected', 'MatMul', 'Convolution', 'ScaledDotProductAttention', 'MHA')


class Encoder(torch.nn.Module):
    """The published image encoder with the decoder's two high-resolution convolutions."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        out = self.model.forward_image(image)['backbone_fpn']
        return out[0], out[1], out[2]


class Attention(torch.nn.Module):
    """The published memory attention; memory and its positions lie ready."""

    def __init__(self, model):
        super().__init__()
        self.attention = model.memory_attention

    def forward(self, curr, pos, memory, memory_pos):
        return self.attention(curr=[curr], curr_pos=[pos], memory=memory, memory_pos=memory_pos,
                              num_obj_ptr_tokens=POINTER_TOKENS)


def turn(x, table):
    """Pairs (2i, 2i + 1) of the channels turned by table (tokens, 2, c / 2): cosines, sines."""
    pairs = x.unflatten(-1, (-1, 2))
    a, b = pairs[..., 0], pairs[..., 1]
    cos, sin = table[:, 0], table[:, 1]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def turn_both(xq, xk, freqs_cis, repeat_freqs_k=False):
    """Stands in for the published function of this signature."""
    times = xk.shape[-2] // xq.shape[-2]
    return turn(xq, freqs_cis), turn(xk, freqs_cis.repeat(times, 1, 1) if repeat_freqs_k else freqs_cis)


def make_real(model):
    from sam2.modeling.sam import transformer
    for part in model.memory_attention.modules():
        if isinstance(part, transformer.RoPEAttention):
            part.freqs_cis = torch.view_as_real(part.freqs_cis).transpose(1, 2).contiguous()
    transformer.apply_rotary_enc = turn_both


def as_list(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


def error(got, want):
    """The largest relative error in norm."""
    return max(float((g - w).norm() / w.norm()) for g, w in zip(got, want))


def demand(what, value):
    if not value < EXACT:
        sys.exit(f'{what} is off by {value:.1e} from the published code, wanted {EXACT:.0e}')


def bf16_share(compiled):
    """'n of m': how many of the nodes that multiply run in bf16, by the graph that is executed."""
    kinds = []
    for node in compiled.get_runtime_model().get_ops():
        info = node.get_rt_info()
        if 'layerType' in info and str(info['layerType'].astype(str)) in PRODUCTS:
            kinds.append(str(info['runtimePrecision'].astype(str)))
    return sum(k == 'bf16' for k in kinds), len(kinds)


def measure(core, converted, inputs, want, mode, runs):
    """(ms, relative error, nodes in bf16, nodes that multiply)"""
    compiled = core.compile_model(converted, 'CPU', cpu.openvino_settings(mode))
    request = compiled.create_infer_request()
    arrays, times = [x.numpy() for x in inputs], []
    for _ in range(1 + runs):
        began = time.perf_counter()
        request.infer(arrays, share_inputs=True, share_outputs=True)
        times.append(1e3 * (time.perf_counter() - began))
    got = [torch.from_numpy(request.get_output_tensor(i).data) for i in range(len(want))]
    return round(statistics.median(times[1:]), 1), error(got, want), *bf16_share(compiled)


def run_all(folder, runs):
    torch.manual_seed(3)
    model = published.build('tiny')
    model.load_state_dict(torch.load(os.path.join(folder, 'model.pt'), weights_only=True)['model'])
    parts = {
        'encode': (Encoder(model).eval(), (torch.randn(1, 3, 1024, 1024),)),
        'attend': (Attention(model).eval(), (torch.randn(CELLS, 1, WIDTH), torch.randn(CELLS, 1, WIDTH),
                                             torch.randn(KEYS, 1, MEMORY), torch.randn(KEYS, 1, MEMORY))),
    }
    result, core = {'fp32': {}, 'bf16': {}, 'keys': KEYS, 'version': ov.get_version()}, ov.Core()
    with torch.no_grad():
        want = {name: as_list(part(*inputs)) for name, (part, inputs) in parts.items()}
        make_real(model)
        for name, (part, inputs) in parts.items():
            demand(f'{name}: the real-valued stand-in', error(as_list(part(*inputs)), want[name]))
            converted = ov.convert_model(part, example_input=inputs, input=[tuple(x.shape) for x in inputs])
            for mode in ('fp32', 'bf16'):
                ms, off, low, products = measure(core, converted, inputs, want[name], mode, runs)
                if mode == 'fp32':
                    demand(f'{name}: OpenVINO in fp32', off)
                elif not low:
                    result[mode] = None  # the processor has no bf16, the hint is not followed
                if result[mode] is not None:
                    result[mode].update({f'{name}_ms': ms, f'{name}_error': float(f'{off:.1e}'),
                                         f'{name}_in_bf16': f'{low} of {products}'})
    return result


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    warnings.filterwarnings('ignore')  # the tracer's and the converter's
    print(json.dumps(run_all(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 5)))


if __name__ == '__main__':
    main()
