"""Copies a weight file and sets keys of its configuration. usage: configured.py IN OUT '{"KEY": VALUE}'"""

import json
import struct
import sys

with open(sys.argv[1], 'rb') as f:
    header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
    tensors = f.read()
config = json.loads(header['__metadata__']['samtrack'])
header['__metadata__']['samtrack'] = json.dumps({**config, **json.loads(sys.argv[3])})
text = json.dumps(header).encode()
text += b' ' * (-len(text) % 8)
with open(sys.argv[2], 'wb') as f:
    f.write(struct.pack('<Q', len(text)) + text + tensors)
