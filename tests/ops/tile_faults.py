#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernels by tiles with faults planted, one at a time: check_tiles must catch each.

tile_faults.py write SOURCES FOLDER   copies of the sources, every fault a choice made at run time
tile_faults.py run PROGRAM            runs the test, built from those, once per fault; exit status 1 if a fault is missed, or the
                                      test fails without one
"""
import concurrent.futures
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plant import plant  # noqa: E402

# (file, a piece of it with «expression => its fault»).
MUTANTS = [
    ('gemm_amx.c', 'a->rest = «bytes % STEP => 0»;'),
    ('gemm_amx.c', 'memset(a->left + r * STEP, «0 => 0xff», STEP);'),
    ('gemm_amx.c', 'sam_tile_load(5, a + «SIDE * pitch => 0», pitch);'),
    ('gemm_amx.c', 'sam_tile_load(7, b + «PANEL_ROW / 2 => 0», PANEL_ROW);'),
    ('gemm_amx.c', 'low = «rows - high => rows < SIDE ? 0 : SIDE»;'),
    ('gemm_amx.c', 'a->first + «run * a->run_pitch => 0» +'),
    ('gemm_amx.c', '__builtin_convertvector(«sum + start => sum», vf)'),
    ('gemm_amx.c', '(vf_load(w.step + «v * VL => 0»)'),
    ('gemm_amx.c', 'a.first + «((size_t) g->k + 3) / 4 * 4 => (size_t) g->k / 4 * 4»,'),
    ('gemm_amx.c', 'const bool right = g->last - column > «VL => NR»;'),
    ('gemm_amx.c', 'column / SAM_PANEL * «panel_bytes => numbers»;'),
    ('gemm_amx.c', 'multiply_rows(g, int8, «whole => 0», g->m - whole);'),
    ('gemm_amx.c', 'const size_t numbers = «((size_t) g->k + deep - 1) / deep * deep => (size_t) g->k» * SAM_PANEL'),
    ('gemm_amx.c', 'a->steps = «bytes / STEP => 1», a->rest'),
]


def write(sources, folder):
    texts = {path.name: path.read_text() for path in sources.glob('*_amx.c')}
    for number, (file, piece) in enumerate(MUTANTS, 1):
        texts[file] = plant(texts[file], file, 'tile_fault', number, piece)
    for file, text in texts.items():
        pathlib.Path(folder, file).write_text('extern int tile_fault;\n' + text)


def run(program):
    def is_caught(number):
        return subprocess.run([program, f'--fault={number}'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0

    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, caught in enumerate(pool.map(is_caught, range(len(MUTANTS) + 1))):
            if caught != bool(number):
                wrong += 1
                print(f'MISSED {MUTANTS[number - 1]}' if number else 'FAILED without a fault', flush=True)
    print(f'{len(MUTANTS)} mutants, {wrong} wrong')
    return wrong > 0


if __name__ == '__main__':
    if len(sys.argv) == 4 and sys.argv[1] == 'write':
        sys.exit(write(pathlib.Path(sys.argv[2]), sys.argv[3]))
    if len(sys.argv) == 3 and sys.argv[1] == 'run':
        sys.exit(run(sys.argv[2]))
    sys.exit(__doc__)
