#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/bench/objects.sh with few frames of a small model: its line of JSON, and what it refuses. No figure is judged.
usage: check_objects.py SOURCES BUILD MODEL"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sources, build, model = map(pathlib.Path, sys.argv[1:4])
failed = 0


def expect(what, ok, done):
    global failed
    if not ok:
        failed += 1
        print(f'FAILED: {what}: status {done.returncode}\n{done.stdout}\n{done.stderr}')


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    (root / 'tests/bench').mkdir(parents=True)
    (root / 'tests/bench/objects.sh').symlink_to(sources / 'tests/bench/objects.sh')
    (root / 'tools').mkdir()
    for name in ('setup.sh', 'build.sh'):  # are other tests'
        (root / 'tools' / name).write_text('#!/bin/sh\n')
        (root / 'tools' / name).chmod(0o755)
    (root / 'build').symlink_to(build)
    env = dict(os.environ, SAMTRACK_MODEL=str(model), GST_REGISTRY=str(build / 'tests/gst/pipelines.registry'))

    def run(*arguments, **variables):
        return subprocess.run([root / 'tests/bench/objects.sh', *arguments], env=dict(env, **variables), capture_output=True, text=True)

    done = run('8')
    expect('it ends well', done.returncode == 0, done)
    lines = done.stdout.splitlines()
    expect('a line for each number of objects and precision', len(lines) == 9, done)
    figures = json.loads(lines[-1]) if lines else {}
    names = {f'{prefix}{name}_{n}' for prefix in ('', 'int8_') for name in ('cpu_ms', 'fps') for n in (1, 2, 4, 8)}
    expect('its figures', figures.keys() == names and all(figures[name] > 0 for name in names if 'fps' in name), done)
    for arguments in (('7',), ('x',), ('8', '8')):
        done = run(*arguments)
        expect(f'{arguments} are refused', done.returncode == 2 and 'usage' in done.stderr and not done.stdout, done)
    done = run('8', SAMTRACK_MODEL='/no/model')
    expect('a pipeline that fails is told', done.returncode == 1 and '/no/model' in done.stderr, done)

print(f'{failed} failed')
sys.exit(failed > 0)
