#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times a look of a detector by words beside transformers', on the same weights, frame and words.

  words.py [--bench-looks FILE] [--sizes 384x640,800x1066] [--looks N] [--threads N] [--modes LIST] [--keep FOLDER]

The network is LLMDet's and MM-Grounding DINO's tiny at its true size, with random weights and a made-up vocabulary as large
as BERT's. Every row is a process of its own, of --threads threads. With one, processor time is hardly more on a busy machine;
with several, those of transformers wait by spinning. Times are of a look, words encoded
before by us and within it by transformers (1 GFLOP of 160): the least of --looks behind a first one, in seconds of processor
time of the process (user and system), and likewise by the wall clock. --modes: of ours-fp32, ours-bf16, eager-fp32, eager-bf16,
compiled-fp32, compiled-bf16, openvino-fp32, openvino-bf16. compiled is torch.compile of the whole model, bf16 of transformers the
model in that type; openvino its conversion, whose scores in fp32 must be those of transformers to 1e-3, in their order.

The last line is JSON. Needs torch and transformers, and openvino for its rows.
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
sys.path.insert(0, str(HERE.parent.parent / 'tools'))
try:
    import torch
    import torch._dynamo.utils as dynamo
    from transformers import MMGroundingDinoForObjectDetection

    import groundingdino_torch as groundingdino
    from mask2former_torch import prepare_shape
except ImportError as e:
    sys.exit(f'words.py: {e.name} is not installed in {sys.executable}')

MODES = ['ours-fp32', 'ours-bf16', 'eager-fp32', 'eager-bf16', 'compiled-fp32', 'compiled-bf16', 'openvino-fp32', 'openvino-bf16']
WORDS, IDS = groundingdino.TWO_WORDS, groundingdino.TWO_WORDS_IDS


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bench-looks', default=str(HERE.parent.parent / 'build/tests/bench/bench-looks'))
    p.add_argument('--sizes', default='384x640,800x1066', help='heights and widths of the input')
    p.add_argument('--looks', type=int, default=4, help='that are timed, of each row')
    p.add_argument('--threads', type=int, default=os.cpu_count())
    p.add_argument('--modes', default=','.join(MODES))
    p.add_argument('--keep', help='folder for the model, which is made only if it is not there')
    p.add_argument('--peer', help=argparse.SUPPRESS)
    return p.parse_args()


def make(folder):
    """The model, its vocabulary, and its weights once more for transformers."""
    if (folder / 'model.safetensors').exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    groundingdino.write_words(folder)
    groundingdino.build_true(1).save_pretrained(folder)


def make_frame(height, width):
    rng = torch.Generator().manual_seed(2)
    return torch.randint(0, 128, (height, width, 3), generator=rng).byte()


def run_ours(args, folder, mode, height, width):
    """Least processor and wall time of a look."""
    done = subprocess.run([args.bench_looks, '--model', str(folder / 'model.safetensors'), '--words', WORDS, '--height', str(height),
                           '--width', str(width), '--precision', mode.split('-')[1], '--looks', str(args.looks),
                           '--threads', str(args.threads)],
                          stdout=subprocess.PIPE, check=True)
    report = json.loads(done.stdout.splitlines()[-1])
    return [report['cpu_ms'] / 1e3, report['wall_ms'] / 1e3]


class Results(torch.nn.Module):
    """Scores and boxes alone, of one image and fixed words: what OpenVINO converts."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixel_values):
        ids = torch.tensor([IDS])
        out = self.model(pixel_values=pixel_values, input_ids=ids, attention_mask=torch.ones_like(ids))
        return out.logits[..., :len(IDS)], out.pred_boxes


def is_one_of(x, values):
    return (x[..., None] == values).any(-1)


def logit(x, eps):
    x = x.clamp(eps, 1 - eps)
    return torch.log(x / (1 - x))


def convert(model, image, precision, threads):
    """OpenVINO's conversion, as a function of what the model is given. The converter lacks four functions: two have stand-ins
    here, and two are of the words alone, whose masks are constants then."""
    import openvino
    from transformers.models.mm_grounding_dino import modeling_mm_grounding_dino as code
    masks = code.generate_masks_with_special_tokens_and_transfer_map(torch.tensor([IDS]), torch.tensor(code.SPECIAL_TOKENS))
    code.generate_masks_with_special_tokens_and_transfer_map = lambda *args, **given: masks
    torch.isin, torch.special.logit = is_one_of, logit
    results = Results(model)
    converted = openvino.convert_model(results, example_input=image, input=[list(image.shape)])
    compiled = openvino.compile_model(converted, 'CPU', {
        'INFERENCE_PRECISION_HINT': {'fp32': 'f32'}.get(precision, precision), 'INFERENCE_NUM_THREADS': threads, 'NUM_STREAMS': 1,
        'PERFORMANCE_HINT': 'LATENCY'})
    if precision == 'fp32':
        # Rounding may swap candidates, and with them queries.
        own = results(image)[0].amax(-1).flatten().sort().values
        found = torch.from_numpy(compiled([image.numpy()])[0]).amax(-1).flatten().sort().values
        off = ((found - own).norm() / own.norm()).item()
        if not off <= 1e-3:
            sys.exit(f"words.py: OpenVINO's scores are {off:.2g} off")
    return lambda **given: compiled([given['pixel_values'].numpy()])


def warm_up(call, given):
    """One look, and more until nothing is compiled any more."""
    graphs = None
    while graphs != dynamo.counters['stats']['unique_graphs']:
        graphs = dynamo.counters['stats']['unique_graphs']
        call(**given)


def run_peer(args, folder, mode, height, width):
    """In this process. Prints a line of JSON."""
    torch.set_num_threads(args.threads)
    how, precision = mode.split('-')
    kind = torch.bfloat16 if precision == 'bf16' and how != 'openvino' else torch.float32
    model = MMGroundingDinoForObjectDetection.from_pretrained(folder, dtype=kind).eval()
    image = prepare_shape(make_frame(height, width), height, width).to(kind)
    ids = torch.tensor([IDS])
    given = dict(pixel_values=image, input_ids=ids, attention_mask=torch.ones_like(ids))
    times = []
    with torch.inference_mode():
        call = torch.compile(model) if how == 'compiled' else model if how == 'eager' else convert(model, image, precision, args.threads)
        warm_up(call, given)
        for _ in range(args.looks):
            cpu, wall = time.process_time(), time.monotonic()
            call(**given)
            times.append((time.process_time() - cpu, time.monotonic() - wall))
    print(json.dumps([min(column) for column in zip(*times)]))


def measure(args, folder, mode, size):
    height, width = map(int, size.split('x'))
    if mode.startswith('ours'):
        return run_ours(args, folder, mode, height, width)
    done = subprocess.run([sys.executable, __file__, '--peer', f'{mode},{size}', '--keep', str(folder), '--looks', str(args.looks),
                           '--threads', str(args.threads)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(f'{mode} at {size}: {(done.stderr.strip().splitlines() or ["failed"])[-1]}', flush=True)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main():
    args = arguments()
    wrong = [m for m in args.modes.split(',') if m not in MODES]
    if wrong:
        sys.exit(f'words.py: --modes: {wrong[0]!r} is none of {", ".join(MODES)}')
    with tempfile.TemporaryDirectory() as room:
        folder = pathlib.Path(args.keep or room)
        if args.peer:
            mode, size = args.peer.split(',')
            return run_peer(args, folder, mode, *map(int, size.split('x')))
        make(folder)
        table = {}
        for size in args.sizes.split(','):
            for mode in args.modes.split(','):
                found = measure(args, folder, mode, size)
                if found:
                    table[f'{mode} {size}'] = [round(t, 3) for t in found]
                    print(f'{size} {mode}: {found[0]:.2f} s of processor time, {found[1]:.2f} s', flush=True)
    print(json.dumps(table))


if __name__ == '__main__':
    main()
