# SPDX-License-Identifier: MIT
"""Writes weights files byte by byte, so that any byte of them can lie. No library but Python's own.

A tensor is (name, dtype, shape, bytes). Nothing here is shared with the reader under test.
"""
import json
import random
import struct
import zlib

SIZES = {'F32': 4, 'F16': 2, 'BF16': 2, 'F64': 8, 'I64': 8, 'U8': 1}
STORAGES = {'F32': 'FloatStorage', 'F16': 'HalfStorage', 'BF16': 'BFloat16Storage',
            'F64': 'DoubleStorage', 'I64': 'LongStorage', 'U8': 'ByteStorage'}


def count(shape):
    n = 1
    for extent in shape:
        n *= extent
    return n


def numbers(dtype, values):
    if dtype == 'F32':
        return struct.pack(f'<{len(values)}f', *values)
    if dtype == 'F16':
        return struct.pack(f'<{len(values)}e', *values)
    if dtype == 'F64':
        return struct.pack(f'<{len(values)}d', *values)
    return b''.join(struct.pack('<f', v)[2:] for v in values)  # BF16: the upper half, exact here


def tensor(name, shape, dtype='F32', seed=1):
    """Random multiples of 1/64 in -1 .. 1, which every one of the types holds exactly."""
    draw = random.Random(f'{name} {seed}')
    return name, dtype, list(shape), numbers(dtype, [draw.randint(-64, 64) / 64 for _ in range(count(shape))])


# --- safetensors ---------------------------------------------------------------------------------

def header(tensors, metadata=None):
    entries, at = {}, 0
    if metadata is not None:
        entries['__metadata__'] = metadata
    for name, dtype, shape, data in tensors:
        entries[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [at, at + len(data)]}
        at += len(data)
    return entries


def raw_safetensors(text, data=b'', length=None):
    if not isinstance(text, bytes):
        text = text.encode()
    return struct.pack('<Q', len(text) if length is None else length) + text + data


def safetensors(tensors, metadata=None):
    return raw_safetensors(json.dumps(header(tensors, metadata)), b''.join(t[3] for t in tensors))


# --- zip -----------------------------------------------------------------------------------------

class Zip:
    """Members stored one after the other as torch.save() does; every field can be overridden."""

    def __init__(self):
        self.body, self.entries = b'', []

    def add(self, name, data, method=0, flags=0x800, local_name=None, local_size=None, size=None, at=None,
            local_method=None, local_flags=None, extra=b'', central_extra=b'', disk=0, stored=None):
        name = name.encode()
        size = len(data) if size is None else size
        local_size = size if local_size is None else local_size
        local_name = name if local_name is None else local_name.encode()
        offset = len(self.body) if at is None else at
        self.body += struct.pack('<IHHHHHIIIHH', 0x04034b50, 0, flags if local_flags is None else local_flags,
                                 method if local_method is None else local_method, 0, 0, zlib.crc32(data),
                                 local_size & 0xffffffff, local_size & 0xffffffff, len(local_name), len(extra))
        self.body += local_name + extra + data
        self.entries.append(struct.pack('<IHHHHHHIIIHHHHHII', 0x02014b50, 0, 0, flags, method, 0, 0, zlib.crc32(data),
                                        (size if stored is None else stored) & 0xffffffff, size & 0xffffffff,
                                        len(name), len(central_extra), 0, disk,
                                        0, 0, offset & 0xffffffff) + name + central_extra)

    def bytes(self, entries=None, directory=None, directory_bytes=None, comment=b'', comment_bytes=None, gap=b'',
              zip64=False, e64=None, locator=None):
        central = b''.join(self.entries)
        n = len(self.entries) if entries is None else entries
        size = len(central) if directory_bytes is None else directory_bytes
        at = len(self.body) if directory is None else directory
        out = self.body + central + gap
        if zip64:
            fields = [known if lie is None else lie for known, lie in
                      zip((len(self.entries), len(central), len(self.body)), e64 or (None,) * 3)]
            here = len(out)
            out += struct.pack('<IQHHIIQQQQ', 0x06064b50, 44, 45, 45, 0, 0, fields[0], *fields)
            out += struct.pack('<IIQI', 0x07064b50, 0, here if locator is None else locator, 1)
        return out + struct.pack('<IHHHHIIH', 0x06054b50, 0, 0, n & 0xffff, n & 0xffff, size & 0xffffffff,
                                 at & 0xffffffff, len(comment) if comment_bytes is None else comment_bytes) + comment


# --- pickle, protocol 2 --------------------------------------------------------------------------

def text(s):
    s = s.encode()
    return b'X' + struct.pack('<I', len(s)) + s


def integer(i):
    if 0 <= i < 256:
        return b'K' + bytes([i])
    if -2**31 <= i < 2**31:
        return b'J' + struct.pack('<i', i)
    return b'\x8a\x08' + struct.pack('<q', i)


def integers(values):
    return b'(' + b''.join(integer(v) for v in values) + b't'


def call(module, name, arguments):
    return f'c{module}\n{name}\n'.encode() + arguments + b'R'


def storage(key, dtype, numbers_in_it, storage_type=None):
    kind = storage_type or STORAGES[dtype]
    return (b'(' + text('storage') + f'ctorch\n{kind}\n'.encode() + text(key) + text('cpu') +
            integer(numbers_in_it) + b'tQ')


def dense_strides(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return strides


def tensor_value(key, dtype, shape, stored=None, offset=0, stride=None):
    return call('torch._utils', '_rebuild_tensor_v2',
                b'(' + storage(key, dtype, count(shape) if stored is None else stored) + integer(offset) +
                integers(shape) + integers(dense_strides(shape) if stride is None else stride) + b'\x89' +
                call('collections', 'OrderedDict', b')') + b't')


def state_dict(tensors):
    """{name: tensor}, storages numbered from 0."""
    pairs = b''.join(text(t[0]) + tensor_value(str(i), t[1], t[2]) for i, t in enumerate(tensors))
    return b'}(' + pairs + b'u'


def torch_pickle(tensors):
    return b'\x80\x02}' + text('model') + state_dict(tensors) + b's.'


def torch_zip(pickle, storages, root='archive', byteorder=b'little'):
    z = Zip()
    z.add(f'{root}/data.pkl', pickle)
    if byteorder:
        z.add(f'{root}/byteorder', byteorder)
    for i, data in enumerate(storages):
        z.add(f'{root}/data/{i}', data, extra=b'FB' + struct.pack('<H', 4) + b'ZZZZ')
    z.add(f'{root}/version', b'3\n')
    return z


def torch_file(tensors):
    return torch_zip(torch_pickle(tensors), [t[3] for t in tensors]).bytes()
