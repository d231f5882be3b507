# SPDX-License-Identifier: MIT
"""Copies a weight file and sets keys of its configuration, null takes one away. usage: configured.py IN OUT '{"KEY": VALUE}'

With "target_model", the tensors that it wants are random, unless the file has them."""

import json
import random
import struct
import sys

with open(sys.argv[1], 'rb') as f:
    header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
    tensors = f.read()
config = {**json.loads(header['__metadata__']['samtrack']), **json.loads(sys.argv[3])}
config = {k: v for k, v in config.items() if v is not None}
header['__metadata__']['samtrack'] = json.dumps(config)


def add(name, *shape):
    global tensors
    count, draw = 1, random.Random(name)
    for extent in shape:
        count *= extent
    first = len(tensors)
    tensors += struct.pack(f'<{count}f', *(draw.uniform(-1, 1) / (shape[1] if len(shape) > 1 else 1) ** 0.5 for _ in range(count)))
    header[name] = {'dtype': 'F32', 'shape': list(shape), 'data_offsets': [first, len(tensors)]}


if 'target_model' in config and 'target_model.image.weight' not in header:
    width = header['image_encoder.neck.convs.0.conv.weight']['shape'][0]
    for part, inner, kernel in (('image', width, 1), ('s1', width // 4, 1), ('s0', width // 8, 2)):
        channels = config['target_model']['channels']
        add(f'target_model.{part}.weight', channels, inner, kernel, kernel)
        add(f'target_model.{part}.bias', channels)
        add(f'target_model.{part}_norm.weight', inner)
        add(f'target_model.{part}_norm.bias', inner)
text = json.dumps(header).encode()
text += b' ' * (-len(text) % 8)
with open(sys.argv[2], 'wb') as f:
    f.write(struct.pack('<Q', len(text)) + text + tensors)
