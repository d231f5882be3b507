#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/convert_pt.py on files that are written here: what it finds, and that it runs nothing.

The files are pickles of objects of modules that exist in this process alone, as a program's own classes do. usage: convert.py ROOT
"""
import io
import json
import pathlib
import pickle
import random
import struct
import subprocess
import sys
import tempfile
import types
import zipfile

SEED = 8
ROOT = pathlib.Path(sys.argv[1])


def make_class(module, name, base=object):
    """A class that pickles as module.name."""
    for part in range(1, module.count('.') + 2):
        sys.modules.setdefault('.'.join(module.split('.')[:part]), types.ModuleType('m'))
    made = type(name, (base,), {'__module__': module})
    setattr(sys.modules[module], name, made)
    return made


class Storage:
    def __init__(self, of, data):
        self.of, self.data = of, data


HALF, FLOAT, LONG = (make_class('torch', f'{t}Storage') for t in ('Half', 'Float', 'Long'))
for name in ('_rebuild_tensor_v2', '_rebuild_parameter'):
    make_class('torch._utils', name)
REBUILD, PARAMETER = (getattr(sys.modules['torch._utils'], n) for n in ('_rebuild_tensor_v2', '_rebuild_parameter'))
MODEL = make_class('ultralytics.nn.tasks', 'DetectionModel')
CONV = make_class('torch.nn.modules.conv', 'Conv2d')
STRANGE_DICT = make_class('ultralytics.utils', 'IterableSimpleNamespace', dict)


class Tensor:
    def __init__(self, of, data, offset, shape, strides, is_parameter=False):
        self.args = (Storage(of, data), offset, shape, strides, False, {})
        self.is_parameter = is_parameter

    def __reduce__(self):
        inner = Tensor(self.args[0].of, self.args[0].data, *self.args[1:4])
        inner.args = self.args
        return (PARAMETER, (inner, True, {})) if self.is_parameter else (REBUILD, self.args)


class Pickler(pickle.Pickler):
    def __init__(self, file, storages):
        super().__init__(file, 2)
        self.storages = storages

    def persistent_id(self, thing):
        if not isinstance(thing, Storage):
            return None
        if thing not in self.storages:
            self.storages.append(thing)
        return 'storage', thing.of, str(self.storages.index(thing)), 'cpu', len(thing.data)


class Runs:
    """What a hostile file would have run."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path(self.path),)


def write_pt(path, thing):
    text, storages = io.BytesIO(), []
    Pickler(text, storages).dump(thing)
    with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr('name/data.pkl', text.getvalue())
        for i, s in enumerate(storages):
            archive.writestr(f'name/data/{i}', s.data)


def module(of, parameters=(), buffers=(), children=(), **more):
    made = of()
    vars(made).update(_parameters=dict(parameters), _buffers=dict(buffers), _modules=dict(children), **more)
    return made


def convert(folder, data=None):
    """(exit status, what is said, tensors) of a file with this content."""
    if data is not None:
        (folder / 'in.pt').write_bytes(data)
    out = folder / 'out.safetensors'
    out.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, ROOT / 'tools/convert_pt.py', folder / 'in.pt', out], capture_output=True, text=True)
    found = {}
    if done.returncode == 0:
        raw = out.read_bytes()
        size = struct.unpack('<Q', raw[:8])[0]
        for name, t in json.loads(raw[8:8 + size]).items():
            first, last = t['data_offsets']
            found[name] = t['dtype'], t['shape'], raw[8 + size + first:8 + size + last]
    return done.returncode, (done.stdout + done.stderr).strip(), found


def check(truth, what):
    if not truth:
        sys.exit(f'FAILED: {what}')


def check_module(folder, rng):
    weights = rng.randbytes(2 * 24)
    turned = b''.join(weights[2 * (4 * c + r):][:2] for r in range(4) for c in range(6))  # 6 x 4 becomes 4 x 6
    conv = module(CONV, {'weight': Tensor(HALF, weights, 0, (6, 4), (4, 1), True), 'bias': None},
                  {'turned': Tensor(HALF, weights, 0, (4, 6), (1, 4)), 'part': Tensor(HALF, weights, 5, (3,), (1,)),
                   'count': Tensor(LONG, struct.pack('<q', 7), 0, (), ()), 'scratch': Tensor(HALF, weights, 0, (1,), (1,))},
                  _non_persistent_buffers_set={'scratch'})
    ran = folder / 'ran'
    whole = module(MODEL, children={'model': module(CONV, children={'0': conv})}, args=STRANGE_DICT(a=1), late=Runs(ran))
    write_pt(folder / 'in.pt', {'epoch': 3, 'ema': None, 'model': whole})
    status, said, found = convert(folder)
    wanted = {'model.0.weight': ('F16', [6, 4], weights), 'model.0.turned': ('F16', [4, 6], turned),
              'model.0.part': ('F16', [3], weights[10:16]), 'model.0.count': ('I64', [], struct.pack('<q', 7))}
    check(status == 0 and found == wanted, f'a module: {said}; found {sorted(found)}')
    check(not ran.exists(), 'what the file names was run')
    other = module(MODEL, {'x': Tensor(HALF, weights, 0, (2,), (1,))})
    write_pt(folder / 'in.pt', {'ema': other, 'model': whole})
    check(list(convert(folder)[2]) == ['x'], 'the running average comes first')


def check_dict(folder, rng):
    data = rng.randbytes(40)
    write_pt(folder / 'in.pt', {'model': {'a.b': Tensor(FLOAT, data, 2, (2, 4), (4, 1))}, 'args': MODEL()})
    check(convert(folder)[2] == {'a.b': ('F32', [2, 4], data[8:40])}, 'a dict of tensors')


def check_refused(folder, rng):
    def refused(thing, text):
        write_pt(folder / 'in.pt', thing)
        status, said, _ = convert(folder)
        check(status == 1 and text in said and said.count('\n') == 0, f'expected "{text}", got "{said}"')
        check(not (folder / 'out.safetensors').exists(), 'a file was written')

    data = rng.randbytes(16)
    refused({'model': MODEL()}, 'no tensors in it')
    refused({'x': Tensor(FLOAT, data, 1, (4,), (1,))}, 'reaches beyond its storage')
    refused({'x': Tensor(FLOAT, data, 0, (10 ** 12,), (0,))}, 'reaches beyond its storage')
    refused({'x': Tensor(FLOAT, data, 0, (2, -1), (1, 1))}, 'reaches beyond its storage')
    refused({'x': Tensor(make_class('torch', 'ComplexStorage'), data, 0, (1,), (1,))}, 'a type that is none of')
    itself = module(MODEL)
    vars(itself)['_modules'] = {'again': itself}
    refused({'model': itself}, 'RecursionError')
    write_pt(folder / 'in.pt', {'x': Tensor(FLOAT, data, 0, (4,), (1,))})
    whole = (folder / 'in.pt').read_bytes()
    for data in (b'', b'not a zip', *(whole[:rng.randrange(len(whole))] for _ in range(6))):
        status, said, _ = convert(folder, data)
        check(status == 1 and 'no zip archive' in said, f'{len(data)} bytes of {len(whole)}: {said}')
    for _ in range(10):  # of the pickle, whose checksum is mended
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            parts = {n: bytearray(archive.read(n)) for n in archive.namelist()}
        text = parts['name/data.pkl']
        text[rng.randrange(len(text))] = rng.randrange(256)
        with zipfile.ZipFile(folder / 'in.pt', 'w') as archive:
            for n, part in parts.items():
                archive.writestr(n, bytes(part))
        status, said, _ = convert(folder)
        check(status == 0 or said.startswith('convert_pt.py: '), f'a damaged pickle: {said}')


def main():
    print(f'seed {SEED}')
    rng = random.Random(SEED)
    for case in (check_module, check_dict, check_refused):
        with tempfile.TemporaryDirectory() as folder:
            case(pathlib.Path(folder), rng)


main()
