#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the tensors out of a .pt or .pth file that holds a program's own objects, and runs nothing of it.

usage: convert_pt.py FILE.pt OUT.safetensors

Such a file, for example a checkpoint of Ultralytics or of RF-DETR's training, is a pickle: to load it as its
authors do runs code that it names. Here every class and function of it is an empty stand-in, except what makes a
tensor. Of the entries `ema`, `model` and `state_dict` the first one that is there is taken: a module, whose
parameters and buffers get the names that its state dict has, or a dict of tensors. Needs Python alone.
"""
import collections
import itertools
import json
import math
import pickle
import struct
import sys
import zipfile

Type = collections.namedtuple('Type', 'name size')
STORAGES = {'DoubleStorage': Type('F64', 8), 'FloatStorage': Type('F32', 4), 'HalfStorage': Type('F16', 2),
            'BFloat16Storage': Type('BF16', 2), 'LongStorage': Type('I64', 8), 'IntStorage': Type('I32', 4),
            'ShortStorage': Type('I16', 2), 'CharStorage': Type('I8', 1), 'ByteStorage': Type('U8', 1),
            'BoolStorage': Type('BOOL', 1)}
ENTRIES = ('ema', 'model', 'state_dict')
# strides: numbers from one index to the next, of each extent
Tensor = collections.namedtuple('Tensor', 'type storage offset shape strides')


class Refused(Exception):
    """Why the file cannot be converted, in one sentence."""


class StandIn:
    """An object of any class, or the result of any function: it keeps its attributes and does nothing."""

    def __new__(cls, *args, **kwargs):
        return super().__new__(cls)

    def __init__(self, *args, **kwargs):
        pass

    def __setstate__(self, state):
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, dict):
                self.__dict__.update(part)

    def __setitem__(self, key, value):
        pass

    def __call__(self, *args, **kwargs):
        return StandIn()

    def append(self, value):
        pass

    def extend(self, values):
        pass


def make_tensor(storage, offset, shape, strides, *rest):
    return Tensor(storage[0], storage[1], offset, tuple(shape), tuple(strides))


def make_parameter(tensor, *rest):
    return tensor


KNOWN = {('torch._utils', '_rebuild_tensor_v2'): make_tensor, ('torch._utils', '_rebuild_parameter'): make_parameter,
         ('collections', 'OrderedDict'): collections.OrderedDict, ('builtins', 'set'): set, ('__builtin__', 'set'): set}


class Unpickler(pickle.Unpickler):
    def __init__(self, file, read):
        super().__init__(file)
        self.read = read

    def find_class(self, module, name):
        if module == 'torch' and name in STORAGES:
            return STORAGES[name]
        return KNOWN.get((module, name)) or type(name, (StandIn,), {})

    def persistent_load(self, pid):
        kind, of, key = pid[:3]
        if kind != 'storage' or not isinstance(of, Type):
            raise Refused(f'a storage of a type that is none of {", ".join(STORAGES)}')
        return of, self.read(str(key))


def numbers_of(t):
    """The bytes of a tensor's numbers, the last extent's side by side."""
    size, count = t.type.size, math.prod(t.shape)
    dense = [math.prod(t.shape[i + 1:]) for i in range(len(t.shape))]
    reach = t.offset + sum((n - 1) * s for n, s in zip(t.shape, t.strides)) + 1 if count else 0
    if t.offset < 0 or min(t.shape + t.strides, default=0) < 0 or max(reach, count) * size > len(t.storage):
        raise Refused(f'a tensor of shape {t.shape} reaches beyond its storage')
    if all(n == 1 or s == d for n, s, d in zip(t.shape, t.strides, dense)):
        return t.storage[t.offset * size:(t.offset + count) * size]
    places = (t.offset + sum(i * s for i, s in zip(at, t.strides))
              for at in itertools.product(*(range(n) for n in t.shape)))
    return b''.join(t.storage[p * size:(p + 1) * size] for p in places)


def walk(module, prefix=''):
    """(name, tensor) of a module's parameters and buffers, as its state dict has them."""
    own = vars(module)
    passing = own.get('_non_persistent_buffers_set') or ()
    for name, t in [*(own.get('_parameters') or {}).items(), *(own.get('_buffers') or {}).items()]:
        if isinstance(t, Tensor) and name not in passing:
            yield prefix + name, t
    for name, child in (own.get('_modules') or {}).items():
        if isinstance(child, StandIn):
            yield from walk(child, f'{prefix}{name}.')


def tensors_of(thing):
    if isinstance(thing, dict):
        for entry in ENTRIES:
            if thing.get(entry) is not None:
                return tensors_of(thing[entry])
        return {str(name): t for name, t in thing.items() if isinstance(t, Tensor)}
    return dict(walk(thing)) if isinstance(thing, StandIn) else {}


def read(path):
    try:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.endswith('data.pkl')]
            if len(names) != 1:
                raise Refused('no data.pkl in it, expected a file of torch.save()')
            folder = names[0][:-len('data.pkl')]
            with archive.open(names[0]) as file:
                found = tensors_of(Unpickler(file, lambda key: archive.read(f'{folder}data/{key}')).load())
    except zipfile.BadZipFile:
        raise Refused('no zip archive, expected a file of torch.save() of PyTorch 1.6 or later') from None
    except Refused:
        raise
    except Exception as e:  # whatever a damaged pickle can cause
        raise Refused(f'its pickle cannot be read: {type(e).__name__}: {e}') from e
    if not found:
        raise Refused(f'no tensors in it, nor in its entries {", ".join(ENTRIES)}')
    return found


def write(path, tensors):
    header, parts, at = {}, [], 0
    for name, t in tensors.items():
        data = numbers_of(t)
        header[name] = {'dtype': t.type.name, 'shape': list(t.shape), 'data_offsets': [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        file.writelines(parts)


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith('-'):
        sys.exit('usage: convert_pt.py FILE.pt OUT.safetensors')
    try:
        tensors = read(sys.argv[1])
        write(sys.argv[2], tensors)
    except (Refused, OSError) as e:
        sys.exit(f'convert_pt.py: {sys.argv[1]}: {e}' if isinstance(e, Refused) else f'convert_pt.py: {e}')
    print(f'{len(tensors)} tensors in {sys.argv[2]}')


if __name__ == '__main__':
    main()
