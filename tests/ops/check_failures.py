#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_failures.py CHECK_OPS [emulated]: what check_ops tells and leaves of a failing case: its first and its worst
element, and both sides whole in a file. emulated: that a warning at open is counted apart from the cases, and
which driver is wanted."""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile


def run(program, *args, **more):
    done = subprocess.run([program, *args, '1'], capture_output=True, text=True, env={**os.environ, **more})
    return done.returncode, done.stdout


def expect(true, what, seen):
    if not true:
        sys.exit(f'expected {what}\n{seen}')


def read(path):
    """name -> numbers, and the metadata."""
    with open(path, 'rb') as f:
        header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        data = f.read()
    told = header.pop('__metadata__')
    out = {}
    for name, t in header.items():
        first, end = t['data_offsets']
        out[name] = (t['shape'], struct.unpack(f'<{(end - first) // 4}f', data[first:end]))
    return told, out


def failures(program):
    with tempfile.TemporaryDirectory() as folder:
        status, text = run(program, '--op=add', '--mutant=repeats_the_first', f'--dump={folder}')
        expect(status == 1, 'status 1', text)
        told = re.search(r'^FAIL (\S+) .*\n     \d+ of \d+ values off; first row (\d+) channel (\d+): want (\S+), got (\S+); '
                         r'worst row .*\n     wanted and got: (.*)$', text, re.M)
        expect(told, 'the case, its first element and the file', text)
        case, row, channel, want, got, path = told.groups()
        expect(os.listdir(folder) == [os.path.basename(path)], 'one file', os.listdir(folder))
        meta, tensors = read(path)
        expect(meta['case'] == case and meta['seed'] == '1', 'the case in the file', meta)
        (shape, wanted), (same_shape, had) = tensors['want'], tensors['got']
        at = int(row) * shape[3] + int(channel)
        first = next(i for i in range(len(wanted)) if wanted[i] != had[i])
        expect(shape == same_shape and first == at, f'element {at} to be the first that differs', first)
        expect(f'{wanted[at]:g}' == want and f'{had[at]:g}' == got, 'its values', (wanted[at], want, had[at], got))
        status, text = run(program, '--op=add', f'--dump={folder}/none')
        expect(status == 0 and 'warning' not in text, 'a sound operation to pass', text)


def warnings(program):
    """A library that is not there costs speed: every case passes, whatever it is called."""
    missing = {'SAMTRACK_CUBLASLT': '/nonexistent/libcublasLt.so'}
    status, text = run(program, '--backend=cuda', '--op=add', '--precision=bf16', '--allow-warnings', **missing)
    expect(status == 0 and 'WARNING' in text and re.search(r'^(\d+) of \1 cases passed, 1 warning at open, seed 1$', text, re.M),
           'every case to pass, and one warning', text)
    status, text = run(program, '--backend=cuda', '--op=add', '--precision=bf16', **missing)
    expect(status == 1 and 'FAIL' not in text, 'the run to fail, and no case', text)
    status, text = run(program, '--backend=cuda', '--op=add', EMU_DEVICES='0', EMU_DRIVER='12020')
    expect(status == 77 and 'supports CUDA 12.2, this build needs 13.0 (driver 580 or later)' in text, 'the driver that is '
           'needed', text)
    status, text = run(program, '--backend=cuda', '--op=copy', '--precision=both')
    expect(status == 0 and text.count('cases passed') == 1, 'both precisions in one run', text)


if __name__ == '__main__':
    failures(sys.argv[1])
    if sys.argv[2:] == ['emulated']:
        warnings(sys.argv[1])
