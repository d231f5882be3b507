#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parts of tests/bench/gpu.sh --bundle.

gpu_bundle.py needs BUNDLE BUILD         writes BUNDLE/needs.json: the glibc, the CUDA and the driver that its programs need
gpu_bundle.py golden BUNDLE GOLDEN       carries a golden of whole runs, without what is not compared on a GPU
gpu_bundle.py fits BUNDLE BYTES          whether an archive of so many bytes travels together with the tracked tree"""

import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOST = 64 << 20  # bytes that travel
DRIVERS = {12: '525.60', 13: '580.65'}  # the first of a major version of CUDA
KEPT = ('click', 'twice', 'two_objects')  # scenarios: bf16 is judged by the median of many frames
COMPARED = ('low_res', 'pointer', 'score')  # tests/track/golden.py, without --stages


def glibc_of(path):
    """The newest version of a symbol that a program wants of glibc."""
    text = subprocess.run(['objdump', '-T', path], capture_output=True, text=True).stdout
    found = [tuple(map(int, v.split('.'))) for v in re.findall(r'GLIBC_(\d+\.\d+)', text)]
    return max(found, default=(0, 0))


def cuda_of(build):
    """Of the toolkit that the build was made with."""
    for option in json.loads((pathlib.Path(build) / 'compile_commands.json').read_text()):
        root = re.search(r'-isystem *(\S*cuda\S*)/include', option['command'])
        if root:
            text = (pathlib.Path(root[1]) / 'include/cuda_runtime_api.h').read_text()
            number = int(re.search(r'#define CUDART_VERSION +(\d+)', text)[1])
            return number // 1000, number % 1000 // 10
    sys.exit(f'{build}: expected a build with CUDA, found none in its compile_commands.json')


def needs(bundle, build):
    programs = [p for p in bundle.rglob('*') if p.is_file() and p.open('rb').read(4) == b'\x7fELF']
    glibc = max(map(glibc_of, programs))
    major, minor = cuda_of(build)
    its = {'glibc': '.'.join(map(str, glibc)), 'cuda': f'{major}.{minor}', 'driver': DRIVERS[major]}
    (bundle / 'needs.json').write_text(json.dumps(its) + '\n')
    print(f"{len(programs)} programs and libraries: they need glibc {its['glibc']} and driver {its['driver']} (CUDA "
          f"{its['cuda']}) or later")


def strip(source, target):
    with open(source, 'rb') as f:
        header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        data = f.read()
    kept, at, parts = {}, 0, []
    for name, t in header.items():
        if name == '__metadata__':
            kept[name] = t
        elif name.split('/')[-1] in COMPARED:
            first, end = t['data_offsets']
            parts.append(data[first:end])
            kept[name] = {**t, 'data_offsets': [at, at + end - first]}
            at += end - first
    text = json.dumps(kept).encode()
    text += b' ' * (-len(text) % 8)
    target.write_bytes(struct.pack('<Q', len(text)) + text + b''.join(parts))


def golden(bundle, source):
    target = bundle / 'golden' / source.name
    target.mkdir(parents=True)
    for name in ('model.safetensors', 'model.json', 'frames.safetensors', 'scenarios.json', *(p.name for p in source.glob('*.png'))):
        shutil.copy(source / name, target)
    for name in KEPT:
        strip(source / f'{name}.safetensors', target / f'{name}.safetensors')


def tracked():
    names = subprocess.run(['git', 'ls-files', '-z'], cwd=ROOT, capture_output=True, check=True).stdout.split(b'\0')
    return sum((ROOT / n.decode()).lstat().st_size for n in names if n and (ROOT / n.decode()).exists())


def fits(bundle, size):
    tree = tracked()
    whole = tree + size
    print(f'{bundle}.tar.xz {size} bytes + tracked tree {tree} bytes = {whole}, of {MOST} that travel')
    if whole > MOST:
        sys.exit(f'gpu.sh: {whole - MOST} bytes too many')
    print('there: ' + f'tests/bench/gpu.sh --lease --from {bundle}.tar.xz --minutes 8.5 --copy RESULTS')


def main():
    command, bundle = sys.argv[1], pathlib.Path(sys.argv[2])
    {'needs': lambda: needs(bundle, sys.argv[3]), 'golden': lambda: golden(bundle, pathlib.Path(sys.argv[3])),
     'fits': lambda: fits(bundle, int(sys.argv[3]))}[command]()


if __name__ == '__main__':
    main()
