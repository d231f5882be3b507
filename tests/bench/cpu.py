#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of tests/bench/cpu.sh. Standard library only; the peers run in $PYTHON."""

import argparse
import json
import os
import platform
import struct
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REPLAY = os.path.join(ROOT, 'build', 'tools', 'sam-replay')
PEER = os.path.join(HERE, 'peer.py')
OPENVINO = os.path.join(HERE, 'peer_openvino.py')
EMBEDDED = os.path.join(ROOT, 'models', 'samtrack-lite0.safetensors')
MODES = ('fp32', 'bf16')
TORCH = ('published', 'transformers')
NAMES = {'published': 'published code', 'transformers': 'transformers'}
FULL_KEYS = 7 * 64 * 64 + 16 * 4
EDGETAM = {512: 'EdgeTAM at 512', 1024: 'EdgeTAM'}  # side in px: its name in models.json
QUICK_FRAMES = 19


def last_json(command):
    """(the JSON on the last line of what the command prints, None), or (None, why there is none)."""
    try:
        run = subprocess.run(command, capture_output=True, text=True)
    except OSError as e:
        return None, str(e)
    try:
        return json.loads(run.stdout.strip().splitlines()[-1]), None
    except (IndexError, ValueError):
        said = (run.stderr or run.stdout).strip().splitlines()
        return None, said[-1] if said else f'ended with {run.returncode}'


def replay(model, folder, precision, *more):
    out = os.path.join(folder, f'out-{precision}.safetensors')
    return last_json([REPLAY, '--model', model, '--frames', os.path.join(folder, 'frames.safetensors'),
                      '--script', os.path.join(folder, 'scenarios.json'), '--scenario', 'box',
                      '--out', out, '--backend', 'cpu', '--precision', precision, *more])


def openvino_settings(mode):
    """Of a compiled model: one frame at a time, on all processors."""
    return {'INFERENCE_PRECISION_HINT': 'f32' if mode == 'fp32' else 'bf16', 'PERFORMANCE_HINT': 'LATENCY',
            'INFERENCE_NUM_THREADS': len(os.sched_getaffinity(0)), 'NUM_STREAMS': '1'}


def write_clip(folder, side, count=64):
    """frames.safetensors and scenarios.json: a bright square moves over a dark ground."""
    frames = bytearray()
    for t in range(count):
        frame = bytearray([40, 44, 60]) * (side * side)
        left, size = side // 8 + t, side // 4
        for y in range(side // 3, side // 3 + size):
            frame[3 * (y * side + left):3 * (y * side + left + size)] = bytearray([220, 180, 60]) * size
        frames += frame
    header = json.dumps({'frames': {'dtype': 'U8', 'shape': [count, side, side, 3],
                                    'data_offsets': [0, len(frames)]}}).encode()
    with open(os.path.join(folder, 'frames.safetensors'), 'wb') as f:
        f.write(struct.pack('<Q', len(header)) + header + frames)
    box = [side / 8, side / 3, side / 8 + side / 4, side / 3 + side / 4]
    with open(os.path.join(folder, 'scenarios.json'), 'w') as f:
        json.dump({'image_size': side, 'T': count,
                   'scenarios': {'box': [{'frame': 0, 'obj': 1, 'box': box}]}}, f)


def model_side(path):
    """image_size of a safetensors file, from its metadata."""
    with open(path, 'rb') as f:
        header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
    return json.loads(header['__metadata__']['samtrack'])['image_size']


def machine():
    name = platform.processor()
    for line in open('/proc/cpuinfo'):
        if line.startswith('model name'):
            name = line.split(':')[1].strip()
            break
    return f'{name}, {len(os.sched_getaffinity(0))} processors'


def row(label, ms, base=None, note=''):
    """One line of the table: ms, how many times ours that is, a note."""
    value = f'{ms:9.1f} ms' if ms else '  not run   '
    ratio = f'{ms / base:6.2f} x ours' if ms and base else ' ' * 13
    print(f'  {label:<32} {value}  {ratio}  {note}'.rstrip(), flush=True)


def show_ours(mode, told, why):
    note = f"encoder {told['encode_ms']:.0f}, memory attention {told['attend_ms']:.0f}" if told else why
    row(f'samtrack {mode}', told and told['p50_ms'], None, note)


def show_torch(name, mode, told, why, base):
    """Two rows: as it is, and compiled."""
    label = f'{NAMES[name]} {mode}'
    if not told:
        row(label, None, None, why)
        return
    same = '' if told['iou_least'] is None else f"masks as ours to IoU {told['iou_least']:.4f}"
    row(label, told['p50_ms'], base, f"{told['keys']} keys; {same}")
    if told['compiled_p50_ms'] or told['failed']:
        row(label + ', compiled', told['compiled_p50_ms'], base, told['failed'] or '')


def tiny_table(python, folder, frames, figures):
    """Whole frames. Ours stands just before the peers of its precision, in the same minutes."""
    print('SAM 2.1 tiny, 1024 px, one object, ms per frame (median)')
    for mode in MODES:
        ours, why = replay(os.path.join(folder, 'model.pt'), folder, mode)
        figures[f'ours_{mode}'] = ours
        show_ours(mode, ours, why)
        for name in TORCH if python else ():
            told, why = last_json([python, PEER, name, mode, folder])
            figures[f'{name}_{mode}'] = told
            show_torch(name, mode, told, why, ours and ours['p50_ms'])
            if told and frames == 0 and told['keys'] != FULL_KEYS:
                print(f"  {NAMES[name]} {mode}: {told['keys']} keys, wanted {FULL_KEYS}: not the same work")
                figures[f'{name}_{mode}'] = None


def edgetam_table(python, side, figures):
    """EdgeTAM beside its published code, and the part of oneDNN's rate that it reaches."""
    print(f'EdgeTAM, {side} px, one object, ms per frame (median)', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        made, why = last_json([python, PEER, 'make', folder, '0', 'edgetam', str(side)])
        if not made:
            print(f'  not run: {why}')
            return
        for mode in MODES:
            key = f'edgetam{side}_{{}}_{mode}'
            ours, why = replay(os.path.join(folder, 'model.pt'), folder, mode, '--input-size', str(side))
            figures[key.format('ours')] = ours
            show_ours(mode, ours, why)
            told, why = last_json([python, PEER, 'published', mode, folder])
            figures[key.format('published')] = told
            show_torch('published', mode, told, why, ours and ours['p50_ms'])


def edgetam_asked(side, figures):
    def found(who, keys):
        told = [figures.get(f'edgetam{side}_{who}_{mode}') or {} for mode in MODES]
        return least(*(t.get(k) for t in told for k in keys))

    ours = found('ours', ['p50_ms'])
    yield f'EdgeTAM at {side}: PyTorch at its best / ours', found('published', ['p50_ms', 'compiled_p50_ms']), ours, 3.0
    with open(os.path.join(HERE, 'models.json')) as f:
        gflop = json.load(f)[EDGETAM[side]]['gflop']
    alone = 1e3 * gflop / figures['peak_bf16_gflops'] if 'peak_bf16_gflops' in figures else None
    yield f"EdgeTAM at {side}: its products at oneDNN's rate / ours", alone, ours, 0.55


def parts(told):
    return told['encode_ms'] + told['attend_ms'] if told else None


def openvino_table(python, folder, runs, figures):
    print('image encoder plus memory attention over a full memory, ms (median)', flush=True)
    told, why = last_json([python, OPENVINO, folder, str(runs)])
    for mode in MODES:
        ours = parts(figures[f'ours_{mode}'])
        row(f'samtrack {mode}', ours)
        vino = told and told[mode]
        figures[f'openvino_{mode}'] = vino
        note = why or 'this processor has no bf16 for it'
        if vino:
            note = (f"encoder {vino['encode_ms']:.0f}, memory attention {vino['attend_ms']:.0f}; "
                    f"error {max(vino['encode_error'], vino['attend_error']):.0e}")
            if mode == 'bf16':
                note += f"; products in bf16: {vino['encode_in_bf16']}, {vino['attend_in_bf16']}"
        row(f'OpenVINO {mode}', parts(vino), ours, note)


def least(*values):
    known = [v for v in values if v]
    return min(known) if known else None


def asked(figures):
    """(what, a peer's figure or a limit, ours, the ratio asked for)"""
    def times(mode):
        told = [figures.get(f'{name}_{mode}') or {} for name in TORCH]
        return [t.get(k) for t in told for k in ('p50_ms', 'compiled_p50_ms')]

    def ours(mode, key):
        return (figures.get(f'ours_{mode}') or {}).get(key)

    yield 'bf16: PyTorch at its best / ours', least(*times('fp32'), *times('bf16')), ours('bf16', 'p50_ms'), 3.0
    yield 'fp32: PyTorch fp32 / ours', least(*times('fp32')), ours('fp32', 'p50_ms'), 2.2
    for mode, ratio in (('bf16', 1.5), ('fp32', 1.3)):
        yield (f'{mode}: OpenVINO / ours, both parts', parts(figures.get(f'openvino_{mode}')),
               parts(figures.get(f'ours_{mode}')), ratio)
    yield 'tiny: 2 s / open to ready', 2000.0, least(ours('fp32', 'open_ms')), 1.0
    yield ('embedded: 0.3 s / open to ready', 300.0,
           (figures.get('embedded_fp32') or {}).get('open_ms'), 1.0)


def verdicts(figures, rows):
    print('asked for')
    for what, peer, ours, ratio in rows:
        if not ours or not peer:
            print(f'  {what:<40}    not run')
            continue
        figures['ratio ' + what] = round(peer / ours, 3)
        print(f"  {what:<40} {peer / ours:6.2f} x of {ratio} x: {'holds' if peer / ours >= ratio else 'MISSED'}")


def matrix_rate(figures):
    """The machine's own, by oneDNN; and how much of it our exact work reaches."""
    told, why = last_json([os.path.join(ROOT, 'build', 'tests', 'bench', 'bench-peak')])
    if not told:
        print(f"oneDNN's matrix rate: not run: {why}")
        return
    figures.update(told)
    print(f"oneDNN's matrix rate: {told['peak_fp32_gflops']:.0f} GFLOP/s in fp32, "
          f"{told['peak_bf16_gflops']:.0f} in bf16", flush=True)


def embedded_table(figures):
    print('the embedded model, engine alone')
    with tempfile.TemporaryDirectory() as folder:
        write_clip(folder, model_side(EMBEDDED))
        for mode in MODES:
            figures[f'embedded_{mode}'], why = replay(EMBEDDED, folder, mode)
            show_ours(mode, figures[f'embedded_{mode}'], why)


def main():
    parser = argparse.ArgumentParser(prog='tests/bench/cpu.sh', description='Times our engine and its peers on this CPU.')
    parser.add_argument('--quick', action='store_true', help='only our own rows')
    parser.add_argument('--edgetam', action='store_true', help='EdgeTAM at 512 and 1024 px instead, 10 minutes')
    parser.add_argument('--try', dest='frames', type=int, default=0, metavar='N', help='every row with N frames')
    args = parser.parse_args()
    if args.frames and args.frames < 2:
        parser.error(f'--try: wanted 2 frames or more, got {args.frames}')
    python = os.environ.get('PYTHON')
    figures = {'machine': machine()}
    print(figures['machine'])
    matrix_rate(figures)
    if args.edgetam:
        for side in EDGETAM:
            edgetam_table(python, side, figures)
        verdicts(figures, [row for side in EDGETAM for row in edgetam_asked(side, figures)])
        print(json.dumps(figures))
        return
    with tempfile.TemporaryDirectory() as folder:
        frames = QUICK_FRAMES if args.quick else args.frames
        made, why = last_json([python, PEER, 'make', folder, str(frames)]) if python else (None, 'PYTHON is not set')
        if not made:
            print(f'SAM 2.1 tiny and its peers: not run: {why} (wanted: PYTHON, one with torch and safetensors; '
                  'SAM2_REPO, the published code)')
        else:
            figures['frames'] = made['frames']
            tiny_table(None if args.quick else python, folder, args.frames, figures)
            if not args.quick:
                openvino_table(python, folder, 1 if args.frames else 5, figures)
    embedded_table(figures)
    if args.frames:
        print('tried out: memory was not full, nothing is judged')
    else:
        verdicts(figures, asked(figures))
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
