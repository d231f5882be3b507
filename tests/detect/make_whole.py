# SPDX-License-Identifier: MIT
"""A file of SAM 3 with both its parts, of the goldens of the detector (sam3-words) and of the tracker (f-hf): the trunk is the
detector's, which is twice as wide, so the tracker's neck has each of its inputs twice.

usage: make_whole.py DETECTOR_FOLDER TRACKER_FOLDER OUT_FOLDER
"""
import json
import pathlib
import struct
import sys


def read(path):
    data = path.read_bytes()
    size, = struct.unpack('<Q', data[:8])
    head = json.loads(data[8:8 + size])
    head.pop('__metadata__', None)
    return {name: (x['dtype'], x['shape'], data[8 + size + x['data_offsets'][0]:8 + size + x['data_offsets'][1]]) for name, x in head.items()}


def twice(shape, data, axis):
    """Each slice of an axis, the first two, is there twice."""
    rows = shape[0] if axis else 1
    part = len(data) // rows
    shape = [n * 2 if i == axis else n for i, n in enumerate(shape)]
    return shape, b''.join(2 * data[i * part:(i + 1) * part] for i in range(rows))


def write(path, tensors):
    head, at = {}, 0
    for name, (kind, shape, data) in tensors.items():
        head[name] = {'dtype': kind, 'shape': shape, 'data_offsets': [at, at + len(data)]}
        at += len(data)
    text = json.dumps(head).encode()
    text += b' ' * (-len(text) % 8)
    path.write_bytes(struct.pack('<Q', len(text)) + text + b''.join(data for _, _, data in tensors.values()))


def main():
    detector, tracker, out = map(pathlib.Path, sys.argv[1:])
    all_of = read(detector / 'model.safetensors')
    for name, (kind, shape, data) in read(tracker / 'model.safetensors').items():
        if name.startswith('detector_model.'):
            continue
        if name.endswith('scale_layers.0.weight'):
            shape, data = twice(shape, data, 0)
        if name.endswith(('fpn_layers.2.proj1.weight', 'fpn_layers.3.proj1.weight')):
            shape, data = twice(shape, data, 1)
        all_of[name] = (kind, shape, data)
    write(out / 'model.safetensors', all_of)
    config = json.loads((detector / 'config.json').read_text())
    config['tracker_config'] = json.loads((tracker / 'config.json').read_text())['tracker_config']
    config['tracker_config']['vision_config']['backbone_config'].update(hidden_size=32, intermediate_size=52)
    (out / 'config.json').write_text(json.dumps(config))
    (out / 'tokenizer.json').write_bytes((detector / 'tokenizer.json').read_bytes())


if __name__ == '__main__':
    main()
