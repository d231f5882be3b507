#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose results find no room on standard output, or for which it is closed, say so and end with status 1.
usage: printing.py BUILD SOURCES"""
import pathlib
import subprocess
import sys
import tempfile

BUILD, SOURCES = (pathlib.Path(a).resolve() for a in sys.argv[1:])
GOLDEN = SOURCES / 'tests/golden/a'
MODEL = ['--model', GOLDEN / 'model.safetensors']


def get_programs(folder):
    return {
        'tools/sam-replay': [*MODEL, '--frames', GOLDEN / 'frames.safetensors', '--script', GOLDEN / 'scenarios.json', '--scenario', 'click',
                             '--out', f'{folder}/out'],
        'tools/sam-detect': ['--model', SOURCES / 'tests/golden/yolov10/model.safetensors', '--frames', GOLDEN / 'frames.safetensors',
                             '--out', f'{folder}/out'],
        'tests/model/sam-stages': [*MODEL, '--golden', GOLDEN / 'click.safetensors'],
        'tests/bench/bench-steps': [*MODEL, '--side', '64', '--frames', '35'],
        'tests/bench/bench-encode': [*MODEL, '--image', f'{folder}/image', '--maps', f'{folder}/maps', '--runs', '1'],
        'tests/bench/bench-streams': [*MODEL, '--streams', '2', '--rounds', '1', '--ms', '1'],
        'pipelines/run/samtrack-run': ['--help'],
        'pipelines/live/samtrack-live': ['--help'],
        'pipelines/batch/samtrack-batch': ['--help'],
        'pipelines/fleet/samtrack-fleet': ['--help'],
    }


def run(program, arguments, stdout):
    return subprocess.run([program, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=120)


def main():
    tried = 0
    with tempfile.TemporaryDirectory() as folder, open('/dev/full', 'wb') as full:
        pathlib.Path(folder, 'image').write_bytes(bytes(64 * 64 * 3 * 4))  # GOLDEN's side
        for name, arguments in get_programs(folder).items():
            program = BUILD / name
            if not program.exists():
                print(f'{name} was not built')
                continue
            closed = ['sh', '-c', 'exec "$0" "$@" >&-', program]
            for done in run(program, arguments, full), run(closed[0], [*closed[1:], *arguments], None):
                if done.returncode != 1 or f'{program.name}: cannot write to standard output: ' not in done.stderr:
                    sys.exit(f'FAILED: {name}: status {done.returncode}, {done.stderr}')
            tried += 1
    print(f'{tried} programs')
    if not tried:
        sys.exit(77)


main()
