#!/usr/bin/env python3
"""A script whose packages cannot be installed stops there, and says no more than why.
usage: scripts.py SOURCES"""
import os
import pathlib
import subprocess
import sys
import tempfile

# Those of pipelines/ that install and build, and their arguments; the folder is a new one.
SCRIPTS = {'camera': ['/dev/null'], 'demo': [], 'detect': ['/dev/null', '/dev/null'], 'file': ['/dev/null'],
           'label-maps': ['/dev/null', '{folder}/maps', 'point,x=1,y=1'], 'live': []}
FAKES = {'dpkg-query': 'exit 1', 'apt-get': 'echo "apt-get: no network" >&2; exit 100', 'sudo': 'exec "$@"',
         'meson': 'echo "meson was called" >&2', 'ninja': 'echo "ninja was called" >&2'}


def main(sources):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FAKES.items():
            fake = pathlib.Path(folder, name)
            fake.write_text(f'#!/bin/sh\n{text}\n')
            fake.chmod(0o755)
        for name, arguments in SCRIPTS.items():
            command = [sources / 'pipelines' / f'{name}.sh', *(a.format(folder=folder) for a in arguments)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                  env=dict(os.environ, PATH=f'{folder}:{os.environ["PATH"]}'))
            if done.returncode != 100 or done.stderr != 'apt-get: no network\n':
                sys.exit(f'{name}.sh ends with status {done.returncode} and says: {done.stderr}')
    print(f'{len(SCRIPTS)} scripts stop')


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
