#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times image encoders in fp32, bf16 and int8 beside OpenVINO's, the same weights and pictures, on one thread.

  int8.py [--bench-encode FILE] [--models LIST] [--turns N] [--runs N] [--keep FOLDER]

OpenVINO runs the published encoder, converted; in int8 NNCF has quantized it (post-training, on pictures of the scene that
is encoded, the mixed preset, and its rules for transformers where the trunk is one). Times are processor time of the
process, the least of --runs in each of --turns turns of ours and theirs. Errors are of the map of stride 16 beside
PyTorch's in fp32, relative in norm, the mean of pictures that NNCF has not seen. --models: of lite0, tiny, edgetam (default:
all). bf16 is left out where the processor has none; what of a quantized model is not in int8 runs in bf16, too, if it can.

The last line is JSON. Needs torch, openvino and nncf, SAM2_REPO for tiny and EDGETAM_REPO for edgetam.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / 'tools'), str(ROOT / 'tools' / 'train'), str(HERE)]
try:
    import torch
    import numpy as np
    import openvino as ov
    import nncf
except ImportError as e:
    sys.exit(f'int8.py: {e.name} is not installed in {sys.executable}')

MODELS = {'lite0': 320, 'tiny': 1024, 'edgetam': 512}  # sides, px
CALIBRATION, PICTURES = 8, 2  # seen by NNCF; those that are compared
MODES = ('fp32', 'bf16', 'int8')


class Published(torch.nn.Module):
    """Maps of strides 16, 4 and 8 of the published image encoder."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        fine, middle, coarse = self.model.forward_image(image)['backbone_fpn'][:3]
        return coarse, fine, middle


class Embedded(torch.nn.Module):
    """The same of the embedded model, whose network is that of tools/train."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, image):
        import model as naming
        fine, middle, coarse = naming.encode(self.net, image)
        return coarse, fine, middle


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bench-encode', default=str(ROOT / 'build/tests/bench/bench-encode'))
    p.add_argument('--models', default=','.join(MODELS))
    p.add_argument('--turns', type=int, default=3)
    p.add_argument('--runs', type=int, default=5)
    p.add_argument('--keep', help='folder for weights and pictures')
    args = p.parse_args()
    wrong = [m for m in args.models.split(',') if m not in MODELS]
    if wrong:
        sys.exit(f'int8.py: --models: {wrong[0]!r} is none of {", ".join(MODELS)}')
    return args


def pictures(side):
    """uint8 (count, 3, side, side) of a scene that moves."""
    import peer
    frames = peer.clip(CALIBRATION + PICTURES, side)
    return torch.from_numpy(frames).permute(0, 3, 1, 2)


def make(name, folder):
    """The encoder in PyTorch, the file of its weights for the engine, and its pictures, normalised."""
    side = MODELS[name]
    if name == 'lite0':
        import cpu
        import model as naming
        config, _ = naming.read(cpu.EMBEDDED)
        net = naming.load(cpu.EMBEDDED, naming.sized(config, side))
        return Embedded(net).eval(), pathlib.Path(cpu.EMBEDDED), naming.normalise(net, pictures(side))
    import published
    model, file = published.build(name, side=side), folder / f'{name}.pt'
    published.save_pt(model, file)
    return Published(model).eval(), file, (pictures(side).float() / 255 - published.MEAN) / published.STD


def has_bf16():
    return 'avx512_bf16' in pathlib.Path('/proc/cpuinfo').read_text()


def error(got, want):
    return float((got - want).norm() / want.norm())


class Ours:
    def __init__(self, args, folder, file, side, mode):
        self.command = [args.bench_encode, '--model', str(file), '--side', str(side), '--precision', mode, '--runs', str(args.runs)]
        self.folder = folder

    def run(self, image):
        """(least ms, the map of stride 16 as NCHW)"""
        given, maps = self.folder / 'image.f32', self.folder / 'maps.f32'
        image[0].permute(1, 2, 0).contiguous().numpy().tofile(given)
        done = subprocess.run([*self.command, '--image', str(given), '--maps', str(maps)], stdout=subprocess.PIPE, check=True)
        told = json.loads(done.stdout.splitlines()[-1])
        h, d = told['side'] // 16, told['d_model']
        coarse = np.fromfile(maps, np.float32, h * h * d).reshape(h, h, d)
        return told['cpu_ms'], torch.from_numpy(coarse).permute(2, 0, 1)[None]


class Theirs:
    def __init__(self, args, core, converted, mode):
        self.runs = args.runs
        hint = 'bf16' if mode != 'fp32' and has_bf16() else 'f32'
        compiled = core.compile_model(converted, 'CPU', {'INFERENCE_PRECISION_HINT': hint, 'PERFORMANCE_HINT': 'LATENCY',
                                                         'INFERENCE_NUM_THREADS': 1, 'NUM_STREAMS': '1'})
        self.request = compiled.create_infer_request()
        self.in_int8 = count_int8(compiled)

    def run(self, image):
        times = []
        for _ in range(self.runs + 1):
            before = time.process_time()
            self.request.infer([image.numpy()], share_inputs=True, share_outputs=True)
            times.append(1e3 * (time.process_time() - before))
        return min(times[1:]), torch.from_numpy(self.request.get_output_tensor(0).data.copy())


def count_int8(compiled):
    """'n of m': how many of the nodes that multiply run in int8, by the graph that is executed."""
    kinds = []
    for node in compiled.get_runtime_model().get_ops():
        info = node.get_rt_info()
        if 'layerType' in info and str(info['layerType'].astype(str)) in ('FullyConnected', 'MatMul', 'Convolution'):
            kinds.append(str(info['runtimePrecision'].astype(str)))
    return f"{sum(k in ('i8', 'u8') for k in kinds)} of {len(kinds)}"


def quantize(converted, name, seen):
    transformer = nncf.ModelType.TRANSFORMER if name == 'tiny' else None
    return nncf.quantize(converted, nncf.Dataset([x[None].numpy() for x in seen]), subset_size=len(seen),
                         preset=nncf.QuantizationPreset.MIXED, model_type=transformer)


def convert(net, name, images):
    """{mode: OpenVINO's model}"""
    example = images[:1]
    plain = ov.convert_model(net, example_input=example, input=[tuple(example.shape)])
    return {'fp32': plain, 'bf16': plain, 'int8': quantize(plain, name, images[:CALIBRATION])}


def measure(args, folder, name):
    """{who: {mode: {'ms', 'error'}}}"""
    net, file, images = make(name, folder)
    with torch.no_grad():
        want = [net(x[None])[0] for x in images[CALIBRATION:]]
        converted, core = convert(net, name, images), ov.Core()
    modes = [m for m in MODES if m != 'bf16' or has_bf16()]
    runners = [(who, mode, Ours(args, folder, file, MODELS[name], mode) if who == 'samtrack' else
                Theirs(args, core, converted[mode], mode)) for mode in modes for who in ('samtrack', 'OpenVINO')]
    row = {who: {mode: {'ms': float('inf'), 'error': []} for mode in modes} for who in ('samtrack', 'OpenVINO')}
    for turn in range(max(args.turns, PICTURES)):
        for who, mode, runner in runners:
            at = turn % PICTURES
            ms, got = runner.run(images[CALIBRATION + at][None])
            cell = row[who][mode]
            cell['ms'] = min(cell['ms'], ms)
            if turn < PICTURES:
                cell['error'].append(error(got, want[at]))
    for cells in row.values():
        for cell in cells.values():
            cell['ms'], cell['error'] = round(cell['ms'], 2), float(f"{sum(cell['error']) / len(cell['error']):.1e}")
    row['in_int8'] = next(r.in_int8 for who, mode, r in runners if (who, mode) == ('OpenVINO', 'int8'))
    return row


def show(name, row):
    print(f"{name}, {MODELS[name]} px; OpenVINO multiplies {row['in_int8']} in int8", flush=True)
    for mode, ours in row['samtrack'].items():
        theirs = row['OpenVINO'][mode]
        print(f"  {mode}: samtrack {ours['ms']:8.1f} ms (error {ours['error']:.0e}), OpenVINO {theirs['ms']:8.1f} ms "
              f"({theirs['error']:.0e}), {theirs['ms'] / ours['ms']:.2f} x", flush=True)


def main():
    args = arguments()
    torch.set_num_threads(1)
    figures = {'openvino': ov.get_version(), 'nncf': nncf.__version__}
    with tempfile.TemporaryDirectory() as room:
        folder = pathlib.Path(args.keep or room)
        folder.mkdir(parents=True, exist_ok=True)
        for name in args.models.split(','):
            figures[name] = measure(args, folder, name)
            show(name, figures[name])
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
