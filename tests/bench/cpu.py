#!/usr/bin/env python3
"""The table of tests/bench/cpu.sh. Standard library only; the peers run in $PYTHON."""

import json
import os
import platform
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REPLAY = os.path.join(ROOT, 'build', 'tools', 'sam-replay')
PEER = os.path.join(HERE, 'peer.py')
NANO = os.path.join(ROOT, 'models', 'samtrack-nano.safetensors')
MODES = ('fp32', 'bf16')
PEERS = [('published', 'fp32'), ('published', 'bf16'), ('published', 'bf16-compiled'),
         ('transformers', 'fp32'), ('transformers', 'bf16'), ('openvino', 'fp32'), ('openvino', 'bf16')]


def last_json(command):
    """The JSON on the last line of what the command prints; None and a word where it fails."""
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(run.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        print(f"  {' '.join(command[-3:])}: {(run.stderr or run.stdout).strip().splitlines()[-1:]}", file=sys.stderr)
        return None


def replay(model, folder, precision):
    out = os.path.join(folder, f'out-{precision}.safetensors')
    return last_json([REPLAY, '--model', model, '--frames', os.path.join(folder, 'frames.safetensors'),
                      '--script', os.path.join(folder, 'scenarios.json'), '--scenario', 'box',
                      '--out', out, '--backend', 'cpu', '--precision', precision])


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


def show(label, figures, key, base=None):
    if not figures or figures.get(key) is None:
        print(f'  {label:<44} not run')
        return None
    value = figures[key]
    ratio = f'{value / base:6.2f} x ours' if base else ''
    print(f'  {label:<44} {value:9.1f} ms  {ratio}')
    return value


def tiny_table(python, folder, figures):
    """Ours and the peers; fills figures."""
    ours = {m: replay(os.path.join(folder, 'model.pt'), folder, m) for m in MODES}
    peers = {(p, m): last_json([python, PEER, p, m, folder]) for p, m in PEERS}
    print('SAM 2.1 tiny, 1024 px, one object, full memory, ms per frame (median)')
    for m in MODES:
        figures[f'ours_{m}'] = ours[m]
        base = show(f'samtrack {m}', ours[m], 'p50_ms')
        for p, mode in PEERS:
            if p != 'openvino' and mode.startswith(m):
                figures[f'{p}_{mode}'] = peers[p, mode]
                show(f'{p} {mode}', peers[p, mode], 'p50_ms', base)
    print('image encoder plus memory attention, ms')
    for m in MODES:
        vino = peers['openvino', m]
        both = {'ms': vino['encode_ms'] + vino['attend_ms']} if vino else None
        mine = {'ms': ours[m]['encode_ms'] + ours[m]['attend_ms']} if ours[m] else None
        figures[f'openvino_{m}'] = vino
        show(f'OpenVINO {m}', both, 'ms', show(f'samtrack {m}', mine, 'ms'))
    verdicts(figures)


def verdicts(figures):
    """The ratios that matter, beside what was wanted."""
    def p50(name):
        return (figures.get(name) or {}).get('p50_ms')

    torch_all = [p50(f'{p}_{m}') for p, m in PEERS if p != 'openvino']
    torch_fp32 = [p50(f'{p}_fp32') for p in ('published', 'transformers')]
    wanted = [('bf16 against PyTorch at its best', torch_all, p50('ours_bf16'), 3.0),
              ('fp32 against PyTorch fp32', torch_fp32, p50('ours_fp32'), 2.2)]
    for m, least in (('bf16', 1.5), ('fp32', 1.3)):
        vino, ours = figures.get(f'openvino_{m}'), figures.get(f'ours_{m}')
        wanted.append((f'{m} parts against OpenVINO', [vino and vino['encode_ms'] + vino['attend_ms']],
                       ours and ours['encode_ms'] + ours['attend_ms'], least))
    for name, peers, ours, least in wanted:
        peers = [p for p in peers if p]
        if peers and ours:
            figures['ratio ' + name] = round(min(peers) / ours, 3)
            print(f'  {name:<44} {min(peers) / ours:6.2f} x  (wanted {least} x)')


def main():
    python = os.environ.get('PYTHON')
    figures = {'machine': machine()}
    print(figures['machine'])
    peak = os.path.join(ROOT, 'build', 'tests', 'bench', 'bench-peak')
    figures.update(last_json([peak]) or {} if os.path.exists(peak) else {})
    print(f"oneDNN's matrix rate: {figures.get('peak_fp32_gflops')} GFLOP/s fp32, "
          f"{figures.get('peak_bf16_gflops')} GFLOP/s bf16")
    with tempfile.TemporaryDirectory() as folder:
        if python and '--no-peers' not in sys.argv and last_json([python, PEER, 'make', folder]) is not None:
            tiny_table(python, folder, figures)
        else:
            print('peers not run: set PYTHON to one with torch and SAM2_REPO to the published code')
    print('the embedded model, engine alone')
    with tempfile.TemporaryDirectory() as folder:
        write_clip(folder, model_side(NANO))
        for m in MODES:
            figures[f'nano_{m}'] = replay(NANO, folder, m)
            show(f'samtrack {m}', figures[f'nano_{m}'], 'p50_ms')
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
