#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_golden.py SAM_REPLAY GOLDEN: what golden.py tells and keeps of a run that differs from a golden: the first element
that is off, with both values, and all that the run has given."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NAME, ELEMENT, VALUE = 'obj1/frame003/pointer', 7, 100.0


def expect(true, what, seen):
    if not true:
        sys.exit(f'expected {what}\n{seen}')


def change(path):
    """One number of a golden."""
    data = bytearray(path.read_bytes())
    size = struct.unpack('<Q', data[:8])[0]
    first = json.loads(data[8:8 + size])[NAME]['data_offsets'][0]
    at = 8 + size + first + 4 * ELEMENT
    before = struct.unpack('<f', data[at:at + 4])[0]
    data[at:at + 4] = struct.pack('<f', VALUE)
    path.write_bytes(data)
    return before


def main():
    replay, golden = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as where:
        folder, kept = pathlib.Path(where) / 'changed', pathlib.Path(where) / 'kept'
        shutil.copytree(golden, folder)
        for path in folder.iterdir():
            os.chmod(path, 0o644)
        kept.mkdir()
        before = change(folder / 'click.safetensors')
        done = subprocess.run([sys.executable, HERE / 'golden.py', replay, folder, '--random', '--stages', '--scenario', 'click',
                               '--keep', kept], capture_output=True, text=True)
        told = re.search(rf'{NAME}: off by .*; first element (\d+): want (\S+), got (\S+)', done.stdout)
        expect(done.returncode == 1 and told, 'the tensor and its first element', done.stdout + done.stderr)
        at, want, got = int(told[1]), float(told[2]), float(told[3])
        expect(at == ELEMENT and want == VALUE and abs(got - before) < 1e-3, f'element {ELEMENT}: {VALUE} and {before}', told[0])
        file = kept / 'changed_click_fp32.safetensors'
        expect(f'its own: {file}' in done.stdout and NAME.encode() in file.read_bytes(), 'what the run has given', done.stdout)
        # Of fewer frames, those ahead of the change.
        done = subprocess.run([sys.executable, HERE / 'golden.py', replay, folder, '--random', '--stages', '--scenario', 'click',
                               '--frames', '3'], capture_output=True, text=True)
        expect(done.returncode == 0 and 'click: ok: 3 frames' in done.stdout, 'three frames that are right', done.stdout + done.stderr)
        done = subprocess.run([sys.executable, HERE / 'golden.py', replay, folder, '--random', '--scenario', 'refine', '--frames', '1'],
                              capture_output=True, text=True)
        expect(done.returncode == 1 and 'refine: it has a prompt behind frame 0' in done.stderr, 'a prompt that is cut off to be told',
               done.stdout + done.stderr)


if __name__ == '__main__':
    main()
