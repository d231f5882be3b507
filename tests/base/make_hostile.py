#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes weights files, good and hostile, and a manifest of what must come of each.

usage: make_hostile.py --run PROGRAM        writes them to a temporary folder, runs PROGRAM manifest
       make_hostile.py --golden PROGRAM     the same with the models in the folder SAMTRACK_GOLDEN

Python's own library alone is used.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

import containers as c
import hostile_edgetam
import hostile_efficientnet
import hostile_efficienttam
import hostile_sam3
import small_model as m

EINVAL, ENOMEM, EIO, EFORMAT, EDEVICE, EUNSUPPORTED = -1, -2, -3, -4, -5, -6
NAN = {'F32': b'\0\0\xc0\x7f', 'F16': b'\0\x7e', 'BF16': b'\xc0\x7f'}
INFINITY = {'F32': b'\0\0\x80\xff', 'F16': b'\0\xfc', 'BF16': b'\x80\x7f'}


class Files:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.manifest = []

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def good(self, name, data, variant='custom', side=64, side_bf16=None):
        self.manifest.append(f'good\t{self.write(name, data)}\t{variant}\t{side} {side_bf16 or side}')

    def same(self, a, b):
        self.manifest.append(f'same\t{a}\t{b}')

    def bad(self, name, data, words, status=EFORMAT):
        path = self.folder / name if data is None else self.write(name, data)
        self.manifest.append(f'bad\t{path}\t{status}\t{words}')

    def hollow(self, name, data, words, status=EFORMAT):
        self.manifest.append(f'hollow\t{self.write(name, data)}\t{status}\t{words}')

    def late(self, name, data, words, status=EFORMAT):
        self.manifest.append(f'late\t{self.write(name, data)}\t{status}\t{words}')

    def finish(self):
        return self.write('manifest', ('\n'.join(self.manifest) + '\n').encode())


def own(config):
    return {'samtrack': json.dumps(config)}


def model(config=m.CONFIG, **sizes):
    """The small model as safetensors with its JSON in the metadata."""
    return c.safetensors(m.tensors(**sizes), own(config))


# --- files that must load ------------------------------------------------------------------------

def good_files(f):
    meta, hf = m.tensors(m.META), m.tensors(m.HF)
    tied = ('shared_image_embedding.positional_embedding',) + next(t for t in hf if 'shared_embedding' in t[0])[1:]
    config, hf_config = json.dumps(m.CONFIG).encode(), json.dumps(m.HF_CONFIG).encode()
    first = f.folder / 'meta.safetensors'
    f.good('meta.safetensors', model())
    for selection in 'all', 'present':
        f.good(f'selection-{selection}.safetensors', model(m.config(memory_selection=selection)))
    for least in 0, 0.5, 1:
        f.good(f'told-{least}.safetensors', model(m.config(told_iou={'tracked': [least / 2] * 10 + [1]})))
        f.good(f'iou-{least}.safetensors', model(m.config(memory_selection='present', memory_iou=least)))
    for side in 64, 96, 2048:
        f.good(f'bf16-{side}.safetensors', model(m.config(image_size_bf16=side)), side_bf16=side)
    f.good('pooled-from.safetensors', model(m.config(memory_pooling='counted', memory_pooling_from=128)))
    f.good('pooled-between.safetensors', model(m.config(memory_pooling='counted', memory_pooling_between=True)))
    for exact in False, True:
        f.good(f'exact-{exact}.safetensors', model(m.config(exact_maps=exact)))
    for channels, weight in (1, 0), (64, 3), (256, 2.5):
        f.good(f'target-{channels}.safetensors', model(m.config(target_model={'channels': channels, 'weight': weight})))
    for fidelity in 0.0001, 0.05, 1000:
        f.good(f'walk-{fidelity}.safetensors', model(m.config(random_walk={'fidelity': fidelity})))
    for zoom in 0, 1, 1.3, 8:
        f.good(f'zoom-{zoom}.safetensors', model(m.config(box_zoom=zoom, click_zoom=zoom)))
    for reach in 0, 0.01, 0.125, 8:
        f.good(f'reach-{reach}.safetensors', model(m.config(piece_reach=reach)))
    for exponent in 0, 0.01, 1, 4:
        f.good(f'odds-{exponent}.safetensors', model(m.config(odds_exponent=exponent)))
    f.good('hf/model.safetensors', c.safetensors(hf + [tied], {'format': 'pt'}))
    f.write('hf/config.json', hf_config)
    f.good('hf-stem.safetensors', c.safetensors(hf))
    f.write('hf-stem.json', config)
    f.good('meta.pt', c.torch_file(meta))
    f.write('meta.json', config)
    f.good('hf-pt/model.pt', c.torch_file(hf))
    f.write('hf-pt/config.json', hf_config)
    for name in 'hf/model.safetensors', 'hf-stem.safetensors', 'meta.pt', 'hf-pt/model.pt':
        f.same(first, f.folder / name)
    for name in 'meta.safetensors', 'hf/model.safetensors', 'meta.pt', 'hf-pt/model.pt':
        f.manifest.append(f'memory\t{f.folder / name}')
    for dtype in 'F16', 'BF16':
        f.good(f'{dtype}.safetensors', c.safetensors(m.tensors(dtype=dtype), own(m.CONFIG)))
        f.good(f'{dtype}.pt', c.torch_file(m.tensors(dtype=dtype)))
        f.write(f'{dtype}.json', config)
        f.same(first, f.folder / f'{dtype}.safetensors')
        f.same(first, f.folder / f'{dtype}.pt')

    # A config.json that is about something else does not concern a file with Meta's names.
    f.good('other/sam.safetensors', published((1, 2, 7, 2), 96), 'sam2.1_hiera_tiny', 1024)
    f.write('other/config.json', b'{"editor": "tabs"}')
    # A header length that is no multiple of 8 puts the numbers at odd addresses.
    odd = json.dumps(c.header(meta, own(m.CONFIG))).encode()
    odd += b' ' * (1 - len(odd) % 2)
    f.good('odd.safetensors', c.raw_safetensors(odd, b''.join(t[3] for t in meta)))
    f.same(first, f.folder / 'odd.safetensors')
    # Lengths whose bytes are those that JSON text and gzip begin with.
    for name, low in ('brace', 0x7b), ('gzip', 0x8b1f):
        text = json.dumps(c.header(meta, own(m.CONFIG))).encode()
        size = low if low > len(text) else len(text) + (low - len(text)) % 256
        f.good(f'{name}.safetensors', c.raw_safetensors(text + b' ' * (size - len(text)), b''.join(t[3] for t in meta)))
        f.same(first, f.folder / f'{name}.safetensors')
    # SAM 2.0: no mark of absence, no temporal code. JSON of transformers in which most is default.
    f.good('v20.safetensors', model(v21=False))
    partial = {'model_type': 'sam2_video', 'image_size': 128, 'vision_config': {'backbone_config': {
        'blocks_per_stage': [1, 1, 8, 1], 'embed_dim_per_stage': [8, 16, 32, 64]}},
        'memory_attention_hidden_size': 16, 'memory_attention_num_layers': 2, 'memory_encoder_output_channels': 4,
        'num_maskmem': 3}
    f.good('partial/model.safetensors', c.safetensors(m.tensors(m.HF, stages=(1, 1, 8, 1))), side=128)
    f.write('partial/config.json', json.dumps(partial).encode())
    strided_files(f, meta, config)
    f.good('checkpoint.pt', checkpoint(meta))
    f.write('checkpoint.json', config)
    f.same(first, f.folder / 'checkpoint.pt')


def checkpoint(tensors):
    """What a training program saves: parameters in an OrderedDict with attributes, numbers and lists beside."""
    pairs = b''.join(
        c.text(t[0]) + c.call('torch._utils', '_rebuild_parameter', b'(' + c.tensor_value(str(i), t[1], t[2]) + b'\x88' +
                              c.call('collections', 'OrderedDict', b')') + b't') for i, t in enumerate(tensors))
    state = c.call('collections', 'OrderedDict', b')') + b'(' + pairs + b'u}' + c.text('_metadata') + b'}sb'
    loss = c.text('loss') + b'G' + struct.pack('>d', 0.5)
    steps = c.text('steps') + b']' + b'(' + c.integer(7) + c.integer(-7) + c.integer(2**40) + b'N\x88\x8a\0e' + b'N' + b'a'
    return c.torch_zip(b'\x80\x02}(' + loss + steps + c.text('model') + state + c.text('epoch') + b'K\x05u.',
                       [t[3] for t in tensors]).bytes()


def strided_files(f, tensors, config):
    """The same numbers, stored transposed, behind other numbers, or shared with a twin."""
    name = 'memory_attention.layers.0.linear1.weight'
    i = next(i for i, t in enumerate(tensors) if t[0] == name)
    _, dtype, (rows, columns), data = tensors[i]
    cells = [data[4 * k:4 * k + 4] for k in range(rows * columns)]
    turned = b''.join(cells[r * columns + k] for k in range(columns) for r in range(rows))
    pairs = b''.join(
        c.text(t[0]) + (c.tensor_value(str(k), dtype, t[2], rows * columns + 5, 5, [1, rows]) if k == i else
                        c.tensor_value(str(k), t[1], t[2])) for k, t in enumerate(tensors))
    storages = [t[3] if k != i else b'\xff' * 20 + turned for k, t in enumerate(tensors)]
    f.good('strided.pt', c.torch_zip(b'\x80\x02}' + c.text('model') + b'}(' + pairs + b'us.', storages).bytes())
    f.write('strided.json', config)
    f.same(f.folder / 'meta.safetensors', f.folder / 'strided.pt')
    for dtype in 'F32', 'F16':
        permuted_files(f, tensors, config, dtype)


def permuted_files(f, tensors, config, dtype):
    """A tensor larger than what is read at once, stored in another order of axes and with gaps between its rows."""
    extra = c.tensor('extra', (40, 50, 30), dtype)
    f.good(f'whole-{dtype}.safetensors', c.safetensors(tensors + [extra], own(m.CONFIG)))
    size, stride = c.SIZES[dtype], (53, 1, 40 * 53 + 7)
    data = bytearray(b'\xff' * (size * (11 + 30 * (40 * 53 + 7))))
    for i in range(40 * 50 * 30):
        at = 11 + i // 1500 * stride[0] + i // 30 % 50 * stride[1] + i % 30 * stride[2]
        data[size * at:size * (at + 1)] = extra[3][size * i:size * (i + 1)]
    pairs = b''.join(c.text(t[0]) + c.tensor_value(str(k), t[1], t[2]) for k, t in enumerate(tensors))
    pairs += c.text('extra') + c.tensor_value(str(len(tensors)), dtype, (40, 50, 30), len(data) // size, 11, stride)
    f.good(f'permuted-{dtype}.pt', c.torch_zip(b'\x80\x02}' + c.text('model') + b'}(' + pairs + b'us.',
                                               [t[3] for t in tensors] + [bytes(data)]).bytes())
    f.write(f'permuted-{dtype}.json', config)
    f.same(f.folder / f'whole-{dtype}.safetensors', f.folder / f'permuted-{dtype}.pt')


# --- files of no format --------------------------------------------------------------------------

def foreign_files(f):
    f.bad('missing.safetensors', None, 'cannot open', EIO)
    (f.folder / 'folder.safetensors').mkdir()
    f.bad('folder.safetensors', None, 'folder', EIO)
    os.mkfifo(f.folder / 'pipe.safetensors')
    f.bad('pipe.safetensors', None, 'regular file', EIO)
    f.bad('empty.safetensors', b'', 'empty')
    f.bad('five.safetensors', b'12345', '5 bytes')
    f.bad('lfs.safetensors', b'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n', 'Git LFS')
    f.bad('page.pt', b'<!DOCTYPE html><html></html>', 'web page')
    f.bad('gguf.safetensors', b'GGUF\3\0\0\0' + bytes(64), 'GGUF')
    f.bad('old.pt', b'\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.', '1.6')
    f.bad('bare.pt', b'\x80\x02}q\0.' + bytes(32), 'neither')
    f.bad('json.safetensors', b'{"image_size": 1024}', 'JSON')
    f.bad('image.pt', b'\x89PNG\r\n\x1a\n' + bytes(64), 'neither|89 50 4e 47')
    f.bad('none.safetensors', c.safetensors([]), 'no tensor')
    f.bad('x' * 200 + '.safetensors', None, 'cannot open', EIO)
    f.manifest[-1] = f.manifest[-1].replace('x' * 200, '../' + 'x' * 50)  # a name that is not cut


# --- safetensors ---------------------------------------------------------------------------------

def safetensors_files(f):
    two = [c.tensor('a', (2, 3)), c.tensor('b', (4,))]
    data = b''.join(t[3] for t in two)
    whole = c.safetensors(two)

    def lie(name, words, tensor='b', text=None, data_=data, status=EFORMAT, **fields):
        entries = c.header(two)
        for key, value in fields.items():
            if value is None:
                del entries[tensor][key]
            else:
                entries[tensor][key] = value
        f.bad(f'st-{name}.safetensors', c.raw_safetensors(text or json.dumps(entries), data_), words, status)

    f.bad('st-cut-header.safetensors', whole[:40], 'truncated')
    f.bad('st-cut-data.safetensors', whole[:-5], "'b'|truncated|40|35")
    f.bad('st-length-huge.safetensors', c.raw_safetensors('{}', length=2**63), 'claims 9223372036854775808')
    f.bad('st-length-long.safetensors', c.raw_safetensors('{' + ' ' * (5 << 20) + '}'), 'allowed')
    f.bad('st-tail.safetensors', whole + b'tail', '40|44|gap')
    lie('no-json', 'JSON', text='{"a": 1,,}')
    lie('array', 'JSON', text='{}x')
    lie('utf8', 'JSON', text=b'{"\xff\xfe": {}}')
    lie('nul', 'JSON', text='{"a\\u0000b": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}')
    lie('deep', 'JSON|depth', text='{"a":' + '[' * 1000000 + ']' * 1000000 + '}')
    lie('deep-object', 'JSON|depth', text='{"a":' * 300000 + '1' + '}' * 300000)
    lie('wide', "'a'|object", text='{"a": [' + '0,' * 1000000 + '0]}')
    lie('twice', 'JSON|duplicate', text='{"a": {"dtype": "F32", "shape": [10], "data_offsets": [0, 40]},'
                                        ' "a": {"dtype": "F32", "shape": [10], "data_offsets": [0, 40]}}')
    lie('entry', "'a'|object", text='{"a": 7}')
    lie('dtype', "'b'|Q4_K", dtype='Q4_K')
    lie('dtype-number', "'b'|dtype", dtype=3)
    lie('dtype-none', "'b'|dtype|not given", dtype=None)
    lie('shape-text', "'b'|shape", shape='4')
    lie('shape-negative', "'b'|extent 0", shape=[-4])
    lie('shape-fraction', "'b'|extent 1", shape=[2, 2.0])
    lie('shape-rank', "'b'|at most 5|got 6", shape=[1, 1, 1, 1, 1, 4])
    lie('shape-small', "'b'|(3)|16 bytes", shape=[3])
    lie('shape-huge', "'b'|16 bytes", shape=[2**62])
    lie('shape-wrap', "'b'|16 bytes", shape=[2**32, 2**32])
    lie('shape-wrap4', "'b'|16 bytes", shape=[2**62, 4])
    lie('shape-wrap-none', "'b'|0 bytes", shape=[2**62], data_offsets=[40, 40])
    lie('shape-beyond', 'JSON|big', text='{"b": {"dtype": "F32", "shape": [99999999999999999999],'
                                         ' "data_offsets": [0, 40]}}')
    lie('offsets-none', "'b'|data_offsets", data_offsets=None)
    lie('offsets-three', "'b'|data_offsets", data_offsets=[24, 40, 40])
    lie('offsets-negative', "'b'|-16", data_offsets=[-16, 0])
    lie('offsets-reversed', "'b'|40 to 24", data_offsets=[40, 24])
    lie('offsets-beyond', "'b'|56|40", data_offsets=[40, 56])
    lie('offsets-far', "'b'|4611686018427387904", data_offsets=[24, 2**62])
    lie('overlap', "'a'|'b'|overlap|24|8", data_offsets=[8, 24])
    lie('same-place', 'overlap|0', shape=[6], data_offsets=[0, 24])
    lie('gap', "'b'|28|24|gap", data_offsets=[28, 44], data_=data + b'1234')
    lie('meta-list', '__metadata__', text='{"__metadata__": [1]}')
    lie('meta-number', 'samtrack', text='{"__metadata__": {"samtrack": 4}}')
    f.bad('st-name-empty.safetensors', c.safetensors([c.tensor('', (1,))]), 'name')
    f.bad('st-name-line.safetensors', c.safetensors([c.tensor('a\nb\x1b[31m', (1,))]), 'name|printable')
    f.bad('st-name-long.safetensors', c.safetensors([c.tensor('n' * 113, (1,))]), 'name|113')
    f.bad('st-name-long-dtype.safetensors', c.safetensors([('n' * 5000, 'Q' * 5000, [1], b'1')]), 'name|5000')
    lie('dtype-long', "'b'|dtype is q" + '\u00e4' * 19 + ',', dtype='q' + '\u00e4' * 5000)
    long = c.header([c.tensor('n' * 112, (1,)), c.tensor('m' * 112, (1,))])
    for name, fields in ('far', {'data_offsets': [4, 2**62]}), ('range', {'data_offsets': [2**62, 4]}), (
            'shape', {'shape': [2**61] * 5}), ('overlap', {'data_offsets': [2, 6]}), ('gap', {'data_offsets': [8, 12]}):
        text = json.dumps({**long, 'm' * 112: {**long['m' * 112], **fields}})
        f.bad(f'st-long-{name}.safetensors', c.raw_safetensors(text, bytes(12)), 'mmmmm')
    f.bad('st-many.safetensors', c.safetensors([c.tensor(f't{i}', (1,)) for i in range(16385)]), '16384')


# --- zip -----------------------------------------------------------------------------------------

def zip_files(f):
    tensors = [c.tensor('a', (2, 3)), c.tensor('b', (4,))]
    pickle, storages = c.torch_pickle(tensors), [t[3] for t in tensors]
    whole = c.torch_zip(pickle, storages).bytes()

    def lie(name, words, status=EFORMAT, end=None, **member):
        """data/1 with some fields wrong."""
        z = c.torch_zip(pickle, storages[:1])
        z.add('archive/data/1', storages[1], **member)
        f.bad(f'zip-{name}.pt', z.bytes(**(end or {})), words, status)

    f.bad('zip-cut.pt', whole[:-30], 'truncated')
    f.bad('zip-cut-start.pt', whole[:100], 'truncated')
    f.bad('zip-short.pt', b'PK\3\4', 'zip')
    lie('comment', 'end record', end={'comment': b'hello'})
    lie('comment-missing', 'end record', end={'comment_bytes': 5})
    lie('directory-gap', 'directory', end={'gap': b'hidden'})
    lie('stored', "'archive/data/1'|two different sizes", stored=12)
    lie('entries-more', 'more members', end={'entries': 5000})
    lie('entries-less', 'more than its end record', end={'entries': 2})
    lie('entries-huge', 'more members', end={'zip64': True, 'entries': 0xffff, 'e64': (2**60, None, None)})
    lie('directory-far', 'directory', end={'directory': 0x7fffffff})
    lie('directory-size', 'directory', end={'directory_bytes': 10})
    lie('locator', 'locator', end={'zip64': True, 'locator': 2**63})
    lie('two-ends', 'disagree', end={'zip64': True, 'e64': (1, 10, 10)})
    lie('e64-huge', 'directory', end={'zip64': True, 'entries': 0xffff, 'directory': 0xffffffff,
                                      'directory_bytes': 0xffffffff, 'e64': (5, 2**64 - 1, 100)})
    lie('compressed', "'archive/data/1'|compressed", method=8)
    lie('local-compressed', "'archive/data/1'|method", local_method=8)
    lie('encrypted', "'archive/data/1'|encrypted", flags=1)
    lie('flags', "'archive/data/1'|flags", local_flags=0)
    lie('local-name', "'archive/data/1'|name", local_name='archive/data/7')
    lie('local-name-long', "'archive/data/1'|name", local_name='archive/data/1' + 'x' * 60000)
    lie('local-size', "'archive/data/1'|size", local_size=12)
    lie('beyond', "'archive/data/1'|beyond", size=2**31)
    lie('no-zip64', "'archive/data/1'|zip64", size=0xffffffff)
    lie('zip64-lie', "'archive/data/1'|", size=0xffffffff,
        central_extra=struct.pack('<HHQQ', 1, 16, 2**64 - 1, 2**64 - 1))
    lie('header-far', "'archive/data/1'|outside", at=2**31)
    lie('header-none', "'archive/data/1'|found none", at=1)
    lie('disk', "'archive/data/1'|disk", disk=1)
    z = c.torch_zip(pickle, storages)
    z.entries[-2] = z.entries[-3].replace(b'archive/data/0', b'archive/data/1')
    f.bad('zip-shared.pt', z.bytes(), "another name")
    z = c.torch_zip(pickle, storages)
    z.add('archive/data/1', storages[1])
    f.bad('zip-twice.pt', z.bytes(), "'archive/data/1'|twice")
    z = c.torch_zip(pickle, storages)
    z.entries.append(z.entries[-1])
    f.bad('zip-overlap.pt', z.bytes(), 'overlaps')
    inner = c.Zip()  # a member inside the data of another
    inner.add('archive/data/1', storages[1])
    z = c.torch_zip(pickle, [inner.body])
    z.add('archive/data/2', b'')
    start = z.body.index(inner.body)
    z.add('archive/data/1', b'', at=start)
    z.entries[-1] = z.entries[-1][:20] + struct.pack('<II', 16, 16) + z.entries[-1][28:]
    z.entries[-1] = z.entries[-1][:16] + inner.entries[0][16:20] + z.entries[-1][20:]
    f.bad('zip-inside.pt', z.bytes(), 'overlaps')
    z = c.Zip()
    z.add('readme.txt', b'hello')
    f.bad('zip-other.pt', z.bytes(), 'data.pkl|torch.save')
    z = c.torch_zip(pickle, storages)
    z.add('other/data.pkl', pickle)
    f.bad('zip-two-pickles.pt', z.bytes(), 'two|data.pkl')
    f.bad('zip-big-endian.pt', c.torch_zip(pickle, storages, byteorder=b'big').bytes(), 'big|little', EUNSUPPORTED)
    f.bad('zip-long-root.pt', c.torch_zip(pickle, storages, root='r' * 1000).bytes(), '1001|256')
    path = f.folder / 'zip-deflated.pt'
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as deflated:
        deflated.writestr('archive/data.pkl', pickle * 100)
    f.bad('zip-deflated.pt', None, "'archive/data.pkl'|compressed")


# --- pickle --------------------------------------------------------------------------------------

def pickle_files(f):
    tensors = [c.tensor('a', (2, 3)), c.tensor('b', (4,))]
    storages = [t[3] for t in tensors]
    marker = f.folder / 'executed'

    def bad(name, pickle, words, status=EFORMAT):
        f.bad(f'pkl-{name}.pt', c.torch_zip(pickle, storages).bytes(), words, status)

    def value(name, words, tensor):
        bad(name, b'\x80\x02}(' + c.text('a') + tensor + b'u.', words)

    command = c.text(f'touch {marker}')
    nothing = 'refused|nothing was executed'
    bad('system', b'\x80\x02cos\nsystem\n(' + command + b'tR.', f"'os.system'|{nothing}")
    bad('posix', b'\x80\x02cposix\nsystem\n' + command + b'\x85R.', f"'posix.system'|{nothing}")
    bad('eval', b'\x80\x02}(' + c.text('model') + c.call('builtins', 'eval', b'(' + c.text('1') + b't') + b'u.',
        f"'builtins.eval'|{nothing}")
    bad('stack-global', b'\x80\x04\x95\x20\0\0\0\0\0\0\0\x8c\x02os\x94\x8c\x06system\x94\x93\x94(' + command + b'tR.',
        f"'os.system'|{nothing}")
    bad('inst', b'\x80\x02(' + command + b'ios\nsystem\n.', "'os.system'|refused")
    bad('dotted', b'\x80\x02ctorch\n_utils._rebuild_tensor_v2\n.', "'torch._utils._rebuild_tensor_v2'|refused")
    bad('long-name', b'\x80\x02c' + b'm' * 900 + b'\n' + b'n' * 900 + b'\n.', 'refused')
    bad('escape-name', b'\x80\x02cos\x1b[2J\nsys\rtem\n.', 'refused')
    bad('global-cut', b'\x80\x02cos', 'global')
    bad('object', b'\x80\x02(cos\nsystem\n' + command + b'o.', "'os.system'")
    bad('newobj', b'\x80\x02)\x81.', f'NEWOBJ|{nothing}')
    bad('extension', b'\x80\x02\x82\x01.', f'EXT1|{nothing}')
    bad('persid', b'\x80\x02P12\n.', 'PERSID')
    bad('opcode', b'\x80\x02\xff.', '0xff')
    bad('protocol', b'\x80\x09}.', 'protocol 9')
    bad('call-storage', b'\x80\x02ctorch\nFloatStorage\n)R.', 'torch.FloatStorage')
    bad('call-text', b'\x80\x02' + c.text('os.system') + b')R.', 'not a function')
    bad('dict-arguments', b'\x80\x02' + c.call('collections', 'OrderedDict', c.integers([1])) + b'.', 'OrderedDict')

    bad('empty', b'', 'ends')
    bad('no-stop', c.torch_pickle(tensors)[:-1], 'ends')
    bad('cut', c.torch_pickle(tensors)[:90], 'ends|truncated')
    bad('tail', c.torch_pickle(tensors) + b'tail', '4 bytes left over')
    bad('left-over', b'\x80\x02KKK\x01K\x02.', 'left over|3 values')
    bad('underflow', b'\x80\x02\x87.', 'more values')
    bad('across-mark', b'\x80\x02K\x01(K\x02\x86.', 'more values')
    bad('no-mark', b'\x80\x02t.', 'mark')
    bad('below-mark', b'\x80\x02}K\x01(s.', 'not among')
    bad('recall', b'\x80\x02h\x07.', 'recalls value 7')
    bad('remember-far', b'\x80\x02}r\xff\xff\xff\xff.', 'remembers value 4294967295')
    bad('remember-none', b'\x80\x02q\0.', 'there is none')
    bad('long-text', b'\x80\x02X\xff\xff\xff\xffhello.', 'truncated')
    bad('long-integer', b'\x80\x02\x8a\xff' + b'1' * 255 + b'.', '255 bytes')
    bad('deep-tuples', b'\x80\x02)' + b'\x85' * 1000000 + b'.', 'dict')
    bad('deep-marks', b'\x80\x02' + b'(' * 1000000 + b'.', 'left over')
    bad('deep-dicts', b'\x80\x02' + (b'}' + c.text('model')) * 200000 + b'}' + b's' * 200000 + b'.', "'model'")
    bad('laughs', b'\x80\x02)q\0' + b'h\0h\0\x86q\0' * 100000 + b'.', '100001 values')
    bad('memo-full', b'\x80\x02}' + b''.join(b'r' + struct.pack('<I', i) for i in range(200000)) + b'.', 'dict of tensors')
    bad('cycle', b'\x80\x02}q\0' + c.text('model') + b'h\0s.', "'model' is not a tensor")
    bad('long', b'\x80\x02' + b')0' * (2 << 20) + b'}.', 'allowed')
    bad('many', b'\x80\x02}(' + b''.join(c.text(f't{i}') + (c.tensor_value('0', 'F32', (2, 3)) + b'q\0' if i == 0 else
                                                           b'h\0') for i in range(16385)) + b'u.', '16384')
    bad('odd', b'\x80\x02}(' + c.text('a') + b'u.', 'key')
    bad('items-list', b'\x80\x02](K\x01K\x02u.', 'not a dict')
    bad('append-dict', b'\x80\x02}K\x01a.', 'not a list')
    bad('build', b'\x80\x02K\x01K\x02b.', 'OrderedDict')
    bad('root', b'\x80\x02K\x01.', 'expected a dict')
    bad('state-dict', b'\x80\x02}' + c.text('state_dict') + c.state_dict(tensors) + b's.', "'state_dict'|'model'")
    bad('two-models', b'\x80\x02}(' + (c.text('model') + c.state_dict(tensors)) * 2 + b'u.', "'model'|twice")
    bad('number-key', b'\x80\x02}(K\x05' + c.tensor_value('0', 'F32', (2, 3)) + b'u.', 'not a string')
    bad('not-tensor', b'\x80\x02}' + c.text('model') + b'}(' + c.text('epoch') + b'K\x05us.', "'epoch' is not a tensor")
    pair = c.text('a') + c.tensor_value('0', 'F32', (2, 3))
    bad('same-name', b'\x80\x02}(' + pair + pair + b'u.', "'a'|twice")

    value('no-storage', "'a'|data/9", c.tensor_value('9', 'F32', (2, 3)))
    value('storage-path', "'a'|../data.pkl", c.tensor_value('../data.pkl', 'F32', (2, 3)))
    value('storage-long', "'a'|data/", c.tensor_value('k' * 5000, 'F32', (2, 3)))
    value('storage-count', "'a'|7 numbers|24 bytes", c.tensor_value('0', 'F32', (2, 3), stored=7))
    value('storage-negative', "'a'|-6", c.tensor_value('0', 'F32', (2, 3), stored=-6))
    value('storage-type', "'a'|6 numbers of 8", c.tensor_value('0', 'F64', (2, 3)))
    value('storage-unknown', "'torch.EvilStorage'", c.tensor_value('0', 'F32', (2, 3)).replace(b'FloatS', b'EvilS'))
    value('shape-beyond', "'a'|(2, 4)|6 numbers", c.tensor_value('0', 'F32', (2, 4), stored=6))
    value('shape-negative', "'a'|(-2, 3)", c.tensor_value('0', 'F32', (-2, 3), stored=6))
    value('shape-wrap', "'a'|does not fit", c.tensor_value('0', 'F32', (2**32, 2**32), stored=6))
    value('shape-rank', 'extents', c.tensor_value('0', 'F32', (1,) * 6, stored=6))
    value('shape-text', 'extents', c.tensor_value('0', 'F32', (6,)).replace(b'(K\x06t', b'(' + c.text('6') + b't', 1))
    value('offset', "'a'|from 1 on", c.tensor_value('0', 'F32', (2, 3), offset=1))
    value('offset-negative', "'a'|from -1 on", c.tensor_value('0', 'F32', (2, 3), offset=-1))
    value('offset-far', "'a'|does not fit", c.tensor_value('0', 'F32', (2, 3), offset=2**63 - 1))
    value('stride', "'a'|does not fit", c.tensor_value('0', 'F32', (2, 3), stride=[4, 1]))
    value('stride-negative', "'a'|does not fit", c.tensor_value('0', 'F32', (2, 3), offset=5, stride=[-3, -1]))
    value('stride-wrap', "'a'|does not fit", c.tensor_value('0', 'F32', (2, 3), stride=[2**63 - 1, 2**62]))
    value('stride-none', "'a'|place|(0, 1)", c.tensor_value('0', 'F32', (2, 3), stride=[0, 1]))
    value('stride-overlap', "'a'|place|(2, 3)|(2, 1)", c.tensor_value('0', 'F32', (2, 3), stride=[2, 1]))
    value('stride-rank', 'extents', c.tensor_value('0', 'F32', (2, 3), stride=[1]))
    value('expanded', "'a'|does not fit", c.tensor_value('0', 'F32', (2**40,), stored=6, stride=[0]))
    value('no-arguments', 'without a storage', c.call('torch._utils', '_rebuild_tensor_v2', b')'))
    value('parameter', 'parameter', c.call('torch._utils', '_rebuild_parameter', c.integers([1, 2, 3])))
    value('persistent', 'persistent', b'(' + c.text('storage') + b'K\x01K\x01K\x01K\x01tQ')
    value('half-list', "first key is 'a'", b'](K\x01K\x02e')
    f.manifest.append(f'bad\t{marker}\t{EIO}\tcannot open')  # nothing was executed


# --- models --------------------------------------------------------------------------------------

def published(stages, e, pos=7, **more):
    """The shapes by which a published model is known. Numbers are zeros: nothing runs it."""
    out = []
    for meta, _, shape in m.rows(stages=stages, e=e, d=256, m=64, maps=7, layers=4, hidden=2048, pos=pos, **more):
        out.append((meta, 'F16', list(shape), bytes(2 * c.count(shape))))
    return c.safetensors(out)


def model_files(f):
    f.good('tiny.safetensors', published((1, 2, 7, 2), 96), 'sam2.1_hiera_tiny', 1024)
    f.good('small20.safetensors', published((1, 2, 11, 2), 96, v21=False), 'sam2_hiera_small', 1024)
    f.good('base.safetensors', published((2, 3, 16, 3), 112, 14), 'sam2.1_hiera_base_plus', 1024)
    f.good('large.safetensors', published((2, 6, 36, 4), 144), 'sam2.1_hiera_large', 1024)
    f.bad('no-json.safetensors', c.safetensors(m.tensors()), 'JSON|image_size|missing|stages of 8, 16, 32, 64')
    f.bad('class-token.safetensors',
          c.safetensors([t if t[0] != 'image_encoder.trunk.pos_embed' else c.tensor(t[0], (1, 197, 8)) for t in m.tensors()]),
          "pos_embed'|(1, 8, any, any)|(1, 197, 8)")
    f.bad('foreign.safetensors', c.safetensors([c.tensor('bert.embeddings', (2, 2))]), "supported family|SAM 2|pos_embed_window")
    f.bad('image-only.safetensors',
          c.safetensors([t for t in m.tensors() if not t[0].startswith(('memory', 'maskmem'))]), 'images alone')

    def changed(name, words, tensor, shape, names=m.META, status=EFORMAT):
        kept = [t for t in m.tensors(names) if t[0] != tensor]
        f.bad(f'{name}.safetensors', c.safetensors(kept + ([c.tensor(tensor, shape)] if shape else []), own(m.CONFIG)),
              words, status)

    neck, trunk = 'image_encoder.neck.convs.0.conv.weight', 'image_encoder.trunk.'
    changed('no-neck', f"'{neck}'|missing", neck, None)
    changed('no-blocks', 'blocks.0.norm1.weight', trunk + 'blocks.0.norm1.weight', None)
    changed('three-stages', '3 stages|expected 4', trunk + 'blocks.1.proj.weight', None)
    changed('five-stages', 'stage 5|4 stages', trunk + 'blocks.3.proj.weight', (16, 8))
    changed('wide-at-once', 'stage', trunk + 'blocks.0.proj.weight', (16, 8))
    changed('wrong-neck', f"'{neck}'|any, 64, 1, 1|(16, 65, 1, 1)", neck, (16, 65, 1, 1))
    changed('wrong-neck-hf', "'vision_encoder.neck.convs.0.weight'|(16, 64, 3, 3)", 'vision_encoder.neck.convs.0.weight',
            (16, 64, 3, 3), m.HF)
    changed('wrong-rank', 'maskmem_tpos_enc|(3, 4)', 'maskmem_tpos_enc', (3, 4))
    changed('not-square', 'pos_embed|(1, 8, 5, 7)', trunk + 'pos_embed', (1, 8, 5, 7))
    changed('point-rows', "'prompt_encoder.point_embed.weight'|4 rows|(3, 16)", 'prompt_encoder.point_embed.weight',
            (3, 16), m.HF)
    changed('no-extent', f"'{neck}'|(0, 64, 1, 1)", neck, (0, 64, 1, 1))
    for name, row in zip(('pos', 'e'), ({'pos': 65}, {'e': 600})):
        free = m.config(trunk__embed_dim=None, trunk__window_pos_embed_bkg_spatial_size=None)
        f.bad(f'large-{name}.safetensors', model(free, **row), f'must be|{row[name]}')
    f.bad('many-blocks.safetensors', model(stages=(1, 1, 62, 1)), '64 blocks')
    f.bad('many-layers.safetensors', model(layers=9), 'memory-attention layers|1 to 8|9')
    f.bad('many-maps.safetensors', model(m.config(num_maskmem=None), maps=17), 'num_maskmem|16|17')
    f.bad('odd-width.safetensors', model(m.config(d_model=None), d=24), 'd_model|multiple of 16|24')
    f.bad('memory-width.safetensors', model(m.config(mem_dim=12), m=12), 'mem')
    f.bad('window-position.safetensors', model(window_pos=7), 'window position map|divide 16|7')
    both = m.tensors() + [c.tensor('vision_encoder.neck.convs.0.weight', (16, 64, 1, 1), seed=2)]
    f.bad('both-names.safetensors', c.safetensors(both, own(m.CONFIG)), f"'{neck}'|twice|differ")
    for dtype in 'F32', 'F16', 'BF16':
        for word, number in ('nan', NAN[dtype]), ('inf', INFINITY[dtype]):
            tensors = m.tensors(dtype=dtype)
            name, _, shape, data = tensors[3]
            tensors[3] = (name, dtype, shape, data[:-len(number)] + number)
            f.bad(f'{word}-{dtype}.safetensors', c.safetensors(tensors, own(m.CONFIG)), f"'{name}'|finite|{word}|1023")
    tensors = m.tensors()
    tensors[3] = (neck, 'F64', [16, 64, 1, 1], bytes(8 * 16 * 64))
    f.bad('f64.safetensors', c.safetensors(tensors, own(m.CONFIG)), f"'{neck}'|F64")


def shared_files(f):
    """Tensors of one storage: one tie is usual, a model of nothing but ties claims more than the file holds."""
    tensors = m.tensors(m.META)
    widest = max(range(len(tensors)), key=lambda i: len(tensors[i][3]))

    def shared(count):
        pairs = b''.join(
            c.text(f'a{i}') + c.tensor_value('0', tensors[widest][1], tensors[widest][2]) for i in range(count))
        return c.torch_zip(b'\x80\x02}' + c.text('model') + b'}(' + pairs + b'us.', [tensors[widest][3]]).bytes()

    f.bad('shared-twice.pt', shared(2), 'family')
    f.bad('shared-often.pt', shared(50), 'claim|at most 2 times|share a storage')


def hollow_files(f):
    """Few bytes that claim a model of many GiB: refused before memory is asked for."""
    huge = {'stages': (1, 1, 40, 2), 'e': 512}
    config = m.config(image_size=2048, trunk__embed_dim=None, trunk__stages=None, trunk__num_heads=8)
    f.hollow('hollow.safetensors', model(config, **huge), 'is missing|image_encoder')
    f.hollow('hollow.pt', c.torch_file(m.tensors(**huge)), 'is missing|image_encoder')
    f.write('hollow.json', json.dumps(config).encode())
    f.hollow('hollow-small.safetensors', model(), 'is missing')


def config_files(f):
    def bad(name, words, status=EFORMAT, **changes):
        f.bad(f'json-{name}.safetensors', model(m.config(**changes)), 'metadata|' + words, status)

    bad('size-none', 'image_size|nothing', image_size=None)
    for side in 0, 32, 100, 2080, -64, 999999999:
        bad(f'size-{side}', 'image_size|got|multiple of 32' if abs(side) < 10**6 else 'image_size', image_size=side)
    for side in 32, 65, 2080, -64:
        bad(f'bf16-size-{side}', f'image_size_bf16|got {side}|multiple of 32', image_size_bf16=side)
    bad('bf16-size-0', "'image_size_bf16'|a side in px|an integer", image_size_bf16=0)
    bad('bf16-size-text', "'image_size_bf16'|an integer|a string", image_size_bf16='448')
    bad('size-text', "'image_size'|an integer|a string", image_size='64')
    bad('size-fraction', "'image_size'|an integer|a fraction", image_size=64.5)
    bad('trunk', "'trunk'|a list", trunk=[1])
    bad('kind', "'trunk.kind'|hiera|repvit", EUNSUPPORTED, trunk__kind='repvit')
    bad('heads-none', "'trunk.num_heads'|nothing", trunk__num_heads=None)
    bad('heads', 'num_heads|divide|3', trunk__num_heads=3)
    bad('heads-zero', 'num_heads|got 0', trunk__num_heads=0)
    bad('width', "'trunk.embed_dim'|9|8", trunk__embed_dim=9)
    bad('stages', "'trunk.stages'|stage 3|say 2", trunk__stages=[1, 1, 3, 1])
    bad('stages-three', "'trunk.stages'|four", trunk__stages=[1, 1, 3])
    bad('windows-none', "'trunk.window_spec'|nothing", trunk__window_spec=None)
    bad('windows-five', "'trunk.window_spec'|four", trunk__window_spec=[8, 4, 4, 4, 4])
    bad('windows-zero', 'stage 2|1 to 64|got 0', trunk__window_spec=[8, 0, 4, 2])
    bad('windows-large', 'stage 4|got 65', trunk__window_spec=[8, 4, 4, 65])
    bad('windows-odd', 'stage 3|even|7', trunk__window_spec=[8, 4, 7, 2])
    bad('global-none', "'trunk.global_att_blocks'|nothing", trunk__global_att_blocks=None)
    bad('global-far', "'trunk.global_att_blocks'|block 5|5 blocks", trunk__global_att_blocks=[5])
    bad('global-negative', 'block -1', trunk__global_att_blocks=[-1])
    bad('global-first', 'block 2|stage 3', EUNSUPPORTED, trunk__global_att_blocks=[2])
    bad('background', "'trunk.window_pos_embed_bkg_spatial_size'|9|7", trunk__window_pos_embed_bkg_spatial_size=[9, 9])
    bad('d-model', "'d_model'|256|16", d_model=256)
    bad('mem-dim', "'mem_dim'|64|4", mem_dim=64)
    bad('maskmem', "'num_maskmem'|7|3", num_maskmem=7)
    bad('selection', "'memory_selection'|all, present or scored|sometimes", memory_selection='sometimes')
    f.good('motion.safetensors', model(m.config(motion_model={'weight': 0.15})))
    f.good('distractors.safetensors', model(m.config(memory_selection='present', distractor_memory={})))
    bad('motion-number', "'motion_model'|an object|a fraction", motion_model=0.5)
    bad('motion-empty', "'motion_model.weight'|from 0 to 1|nothing", motion_model={})
    bad('motion-weight', "'motion_model.weight'|from 0 to 1|1.5", motion_model={'weight': 1.5})
    bad('motion-frames', "'motion_model.stable_frames'|1 to 1000|0", motion_model={'weight': 0.2, 'stable_frames': 0})
    bad('motion-least', "'motion_model.least'|from 0 to 1|a string", motion_model={'weight': 0.2, 'least': 'few'})
    bad('distractors-all', "'distractor_memory'|memory_selection present|all", distractor_memory={})
    bad('distractors-scored', "'distractor_memory'|memory_selection present|scored", memory_selection='scored', distractor_memory={})
    bad('distractors-stride', "'distractor_memory.stride'|1 to 1000|-5", memory_selection='present',
        distractor_memory={'stride': -5})
    bad('distractors-overlap', "'distractor_memory.overlap'|from 0 to 1|2", memory_selection='present',
        distractor_memory={'overlap': 2})
    bad('iou-alone', "'memory_iou'|memory_selection present|none", memory_iou=0.5)
    bad('iou-all', "'memory_iou'|memory_selection present|all", memory_selection='all', memory_iou=0.5)
    bad('iou-two', "'memory_iou'|from 0 to 1|2", memory_selection='present', memory_iou=2)
    bad('iou-text', "'memory_iou'|from 0 to 1|a string", memory_selection='present', memory_iou='half')
    bad('pooled-from-zero', "'memory_pooling_from'|a side in px|an integer", memory_pooling='counted', memory_pooling_from=0)
    bad('pooled-from-text', "'memory_pooling_from'|an integer|a string", memory_pooling='counted', memory_pooling_from='448')
    bad('pooled-between', "'memory_pooling_between'|true or false|an integer", memory_pooling='counted', memory_pooling_between=1)
    bad('exact-number', "'exact_maps'|true or false|an integer", exact_maps=1)
    bad('exact-text', "'exact_maps'|true or false|a string", exact_maps='no')
    bad('selection-flag', "'memory_selection'|all, present or scored|true", memory_selection=True)
    for name, zoom, found in (('half', 0.5, '0.5'), ('nine', 9, '9'), ('minus', -1, '-1'), ('text', 'x', 'a string'), ('flag', True, 'true')):
        bad(f'zoom-{name}', f"'box_zoom'|0 or a number from 1 to 8|{found}", box_zoom=zoom)
        bad(f'click-zoom-{name}', f"'click_zoom'|0 or a number from 1 to 8|{found}", click_zoom=zoom)
    for name, reach, found in (('tiny', 0.001, '0.001'), ('nine', 9, '9'), ('minus', -1, '-1'), ('text', 'x', 'a string')):
        bad(f'reach-{name}', f"'piece_reach'|0 or a number from 0.01 to 8|{found}", piece_reach=reach)
    for name, exponent, found in (('tiny', 0.001, '0.001'), ('five', 5, '5'), ('minus', -1, '-1'), ('text', 'x', 'a string')):
        bad(f'odds-{name}', f"'odds_exponent'|0 or a number from 0.01 to 4|{found}", odds_exponent=exponent)
    for name, target, words in (('text', 'yes', "'target_model'|an object|a string"), ('empty', {}, "'target_model.weight'|0 to 100|nothing"),
                                ('narrow', {'channels': 0, 'weight': 1}, "'target_model.channels'|1 to 256|0"),
                                ('wide', {'channels': 257, 'weight': 1}, "'target_model.channels'|1 to 256|257"),
                                ('none', {'weight': 1}, "'target_model.channels'|an integer|nothing"),
                                ('minus', {'channels': 4, 'weight': -1}, "'target_model.weight'|0 to 100|-1"),
                                ('word', {'channels': 4, 'weight': 'x'}, "'target_model.weight'|0 to 100|a string")):
        bad(f'target-{name}', words, target_model=target)
    for name, recall, words in (('text', 'yes', "'target_model.recall'|an object|a string"),
                                ('empty', {}, "'target_model.recall.weight'|0 to 100|nothing"),
                                ('minus', {'weight': -1, 'likeness': 0.5}, "'target_model.recall.weight'|0 to 100|-1"),
                                ('unlike', {'weight': 1}, "'target_model.recall.likeness'|0 to 1|nothing"),
                                ('likest', {'weight': 1, 'likeness': 2}, "'target_model.recall.likeness'|0 to 1|2"),
                                ('pieces', {'weight': 1, 'likeness': 0.5, 'pieces': 1}, "'target_model.recall.pieces'|true or false|an integer")):
        bad(f'recall-{name}', words, target_model={'channels': 4, 'weight': 1, 'recall': recall})
    for name, walk, found in (('empty', {}, 'nothing'), ('none', {'fidelity': 0}, '0'), ('much', {'fidelity': 1001}, '1001'),
                              ('minus', {'fidelity': -0.05}, '-0.05'), ('word', {'fidelity': 'x'}, 'a string')):
        bad(f'walk-{name}', f"'random_walk.fidelity'|a number from 0.0001 to 1000|{found}", random_walk=walk)
    rising = [i / 10 for i in range(11)]
    for name, told, key, found in (('text', 'yes', 'told_iou', 'a string'), ('number', {'clicks': 0.5}, 'told_iou.clicks', 'a fraction'),
                                   ('short', {'tracked': rising[1:]}, 'told_iou.tracked', 'a list'),
                                   ('falling', {'tracked': [*rising[:5], 0.3, *rising[6:]]}, 'told_iou.tracked', 'a list'),
                                   ('above', {'clicks': [*rising[:10], 1.1]}, 'told_iou.clicks', 'a list'),
                                   ('minus', {'clicks': [-0.1, *rising[1:]]}, 'told_iou.clicks', 'a list'),
                                   ('boxed', {'boxes': [*rising[:10], 1.1]}, 'told_iou.boxes', 'a list'),
                                   ('word', {'clicks': [*rising[:10], 'one']}, 'told_iou.clicks', 'a list'),
                                   ('nothing', {'clicks': [0] * 11}, 'told_iou.clicks', 'a list')):
        bad(f'told-{name}', f"'{key}'|{found}", told_iou=told)
    bad('walk-text', "'random_walk'|an object|a string", random_walk='yes')
    f.bad('json-no-object.safetensors', c.safetensors(m.tensors(), {'samtrack': '[1]'}), 'metadata|object')
    f.bad('json-empty.safetensors', c.safetensors(m.tensors(), {'samtrack': ''}), 'metadata|JSON')
    f.bad('json-cut.safetensors', c.safetensors(m.tensors(), {'samtrack': '{"trunk": {'}), 'metadata|JSON|line 1')
    f.bad('json-other.safetensors', c.safetensors(m.tensors(), {'samtrack': '{"a": 1}'}), "metadata|'trunk'|vision_config")
    # What a terminal obeys, what forges a line, and characters that a quotation of 40 bytes cuts.
    for name, kind in (('escape', '\x1b[2J\x07'), ('line', 'a\nmodel: loaded'), ('c1', '\x9b2J'), ('order', '\u202exod.')):
        bad(f'kind-{name}', "'trunk.kind'|?", EUNSUPPORTED, trunk__kind=kind)
    for n in range(3):
        kind = 'x' * n + '\u6771' * 30
        bad(f'kind-cut-{n}', "'trunk.kind'|" + kind.encode()[:40].decode(errors='ignore'), EUNSUPPORTED, trunk__kind=kind)
    f.bad('json-raw.safetensors', c.safetensors(m.tensors(), {'samtrack': '{"trunk": \x1b[31m}'}), 'metadata|JSON|?')
    f.bad('json-deep.safetensors', c.safetensors(m.tensors(), {'samtrack': '[' * 100000}), 'metadata|depth')

    def hf(name, words, status=EFORMAT, text=None, **changes):
        f.bad(f'hf-{name}/model.safetensors', c.safetensors(m.tensors(m.HF)), 'config.json|' + words, status)
        f.write(f'hf-{name}/config.json', text or json.dumps(m.hf_config(**changes)).encode())

    hf('cut', 'JSON', text=b'{"model_type": "sam2_video", ')
    hf('size', 'image_size|96|64', image_size=96)
    hf('size-oblong', 'square|64 x 96', vision_config__backbone_config__image_size=[64, 96])
    hf('default-heads', 'head', vision_config__backbone_config__num_attention_heads_per_stage=[3, 6, 12, 24])
    hf('heads', 'doubling|2 after 2', EUNSUPPORTED, vision_config__backbone_config__num_attention_heads_per_stage=[2, 2, 4, 8])
    hf('widths', 'embed_dim_per_stage|16|8', vision_config__backbone_config__embed_dim_per_stage=[16, 32, 64, 128])
    hf('blocks', 'blocks_per_stage|stage 3', vision_config__backbone_config__blocks_per_stage=[1, 1, 3, 1])
    hf('global', 'global_attention_blocks', vision_config__backbone_config__global_attention_blocks=None)
    hf('layers', 'memory_attention_num_layers|4|2', memory_attention_num_layers=4)
    hf('occlusion', 'enable_occlusion_spatial_embedding|false', enable_occlusion_spatial_embedding=False)
    hf('decoder-heads', 'num_attention_heads|8|4', EUNSUPPORTED, mask_decoder_config__num_attention_heads=4)
    hf('scale', 'sigmoid_scale_for_mem_enc|20|1', EUNSUPPORTED, sigmoid_scale_for_mem_enc=1.0)
    hf('act', 'memory_fuser_hidden_act|gelu|silu', EUNSUPPORTED, memory_fuser_hidden_act='silu')
    hf('levels', 'fpn_top_down_levels|[2, 3]|got [0,1]', EUNSUPPORTED, vision_config__fpn_top_down_levels=[0, 1])
    hf('stride', 'backbone_config.patch_stride|[4, 4]|got 2', EUNSUPPORTED, vision_config__backbone_config__patch_stride=2)
    hf('theta', 'rope_theta|10000|got 100.5', EUNSUPPORTED, rope_parameters={'rope_theta': 100.5})
    hf('dynamic', 'via_stability|true|false', EUNSUPPORTED, mask_decoder_config__dynamic_multimask_via_stability=False)
    hf('long', 'hidden_act|gelu', EUNSUPPORTED, mask_downsampler_hidden_act='\u00e4\n' * 5000)
    hf('vision', 'vision_config|an object', vision_config=7)


# --- real models ---------------------------------------------------------------------------------

def golden_files(f):
    """A real model under both sets of names and in both containers, and others of other sizes."""
    golden = pathlib.Path(os.environ.get('SAMTRACK_GOLDEN', '/nowhere'))
    if not (golden / 'mini-hf').is_dir():
        print('skipped: SAMTRACK_GOLDEN names no folder of goldens')
        sys.exit(77)
    for name in 'mini/model.pt', 'mini-hf/model.safetensors':
        f.same(golden / 'mini/model.safetensors', golden / name)
    for name, side in ('mini/model.safetensors', 256), ('mini-b/model.safetensors', 256), ('nano-p/model.safetensors', 192):
        f.manifest.append(f'good\t{golden / name}\tcustom\t{side} {side}')


EVERYTHING = (good_files, foreign_files, safetensors_files, zip_files, pickle_files, model_files, shared_files, hollow_files,
              config_files, hostile_edgetam.files, hostile_efficientnet.files, hostile_efficienttam.files,
              hostile_sam3.files)


def main():
    mode, *rest = sys.argv[1:] or ['']
    writers = {'--run': EVERYTHING, '--golden': (golden_files,)}.get(mode)
    if writers is None or len(rest) != 1:
        sys.exit(__doc__)
    # The folder's name is long so that sentences are as long as they get.
    with tempfile.TemporaryDirectory(prefix='a-long-name-so-that-sentences-are-as-long-as-they-get-') as folder:
        f = Files(folder)
        for write in writers:
            write(f)
        sys.exit(subprocess.run([rest[0], f.finish()]).returncode)


if __name__ == '__main__':
    main()
