#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nocuda.py PLUGIN PRELOAD yes|no: where no CUDA library can be opened, the plugin loads, tracks on
the CPU, and says of backend=cuda in one sentence why not. yes: the build has the CUDA backend."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

CUDA = re.compile(r'\blib(cu(?!rl|ps)|nv)\w*\.so\S*')
PIPELINE = ('videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48 ! '
            'samtrack initial-prompt=box,x=16,y=12,w=24,h=24 backend={} ! fakesink').split()


def run(command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=100,
                          env={**os.environ, **environment})


def main(plugin, preload, with_cuda):
    bad = []
    if not shutil.which('gst-launch-1.0') or not shutil.which('ldd'):
        print('no gst-launch-1.0 or no ldd')
        return 77

    needed = [line.split()[0] for line in run(['ldd', plugin]).stdout.splitlines()]
    cuda = [name for name in needed if CUDA.search(name)]
    if not any('gstreamer' in name for name in needed) or cuda:
        bad.append(f'the plugin is linked to {cuda}, of {needed}')

    with tempfile.NamedTemporaryFile('r') as asked:
        there = {'LD_PRELOAD': preload, 'NOCUDA_ASKED': asked.name}
        found = run(['gst-inspect-1.0', 'samtrack'], **there)
        if found.returncode or 'backend' not in found.stdout:
            bad.append(f'the plugin does not load: {found.stderr}')
        for backend in ('cpu', 'auto'):
            done = run(['gst-launch-1.0', '-q', *[w.format(backend) for w in PIPELINE]], **there)
            if done.returncode or 'ERROR' in done.stdout + done.stderr:
                bad.append(f'backend={backend}: {done.stdout}{done.stderr}')
        done = run(['gst-launch-1.0', '-q', *[w.format('cuda') for w in PIPELINE]], **there)
        said = re.findall(r'^ERROR: from element \S+: (.*)$', done.stdout + done.stderr, re.M)
        print('backend=cuda:', *said)
        wanted = "no NVIDIA driver; use backend 'cpu'" if with_cuda else 'not in this build'
        if done.returncode == 0 or len(said) != 1 or wanted not in said[0]:
            bad.append(f'backend=cuda: wanted one error, "{wanted}": {done.stdout}{done.stderr}')
        names = asked.read().split()
        print('asked for', *sorted(set(names)))
        if with_cuda and not any('libcuda.so' in name for name in names):
            bad.append('no driver was looked for: this test shows nothing')
    print('\n'.join(bad))
    return bool(bad)


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3] == 'yes'))
