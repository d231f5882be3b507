#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernels by tiles with faults planted, one at a time: check_tiles, check_attention_tiles and
check_recall_tiles must catch each.

tile_faults.py write SOURCES FOLDER   copies of the sources, every fault a choice made at run time
tile_faults.py run PROGRAM FILE       runs the test, built from those, once per fault of the file; exit status 1 if a fault is
                                      missed, or the test fails without one
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plant import count_wrong, write_faulty  # noqa: E402

SKIP = 77  # meson: not run here

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
    ('attention_tiles.h', 'if (a->tile_rows == rows && «a->tile_depth == depth => true»)'),
    ('attention_tiles.h', 'sam_tile_load(1, from + «VL => 0», pitch);'),
    ('attention_tiles.h', 'sam_tile_store(2, to + «2 * VL => VL», pitch);'),
    ('attention_tiles.h', 'sam_tile_load(5, words + «2 * VL => VL», row);'),
    ('attention_tiles.h', 'sam_tile_load(6, words + «VL => 0», row);'),
    ('attention_tiles.h', 'if («depth == 0 => true»)'),
    ('attention_tiles.h', 'a->key_pitch = «num % SIDE == 0 => true» ?'),
    ('attention_tiles.h', 'v[i] = (vf) («even | odd << 16 => even»);'),
    ('attention_tiles.h', 'float *at = out + («(size_t) v * columns + c => (size_t) v * columns») * VL;'),
    ('attention_tiles.h', 'add_product(value + «(size_t) v * depth => 0»,'),
    ('attention_tiles.h', 'vf_store(dst + «(size_t) (d / 2) * width => 0» + c * VL, term[0]);'),
    ('attention_tiles.h', 'vf_load(x + last + c) + «vf_load(y + last + c) => vf_set(0.0f)»);'),
    ('attention_tiles.h', 'add_product(keys, pitch, «y => x», depth, columns);'),
    ('attention_tiles.h', 'load_sums(bias, «0 => width», columns);'),
    ('recall_tiles.c', 'sam_tile_load(5, p->keys + «SIDE * row => 0» + d * 4, row);'),
    ('recall_tiles.c', 'sam_tile_load(7, cells + «next => 0» + d * SIDE,'),
    ('recall_tiles.c', 'p->keys + «(count - 1) * row => i * row», row);'),
    ('recall_tiles.c', 'if («count > SIDE => false»)'),
    ('recall_tiles.c', 'for (int k = 0; k < «GROUP => SIDE»; k += 4)'),
    ('recall_tiles.c', 'vf_max(vf_max(top[0], top[1]), «vf_max(top[2], top[3]) => top[2]»)'),
    ('recall_tiles.c', 'p->least[i] -= «2 * 0x1.1p-7f => 0x1p-14f» *'),
    ('recall_tiles.c', 'for (unsigned in = «there & ~out => there & ~out & 0x7fff»;'),
    ('recall_tiles.c', 'which[count++] = «i => 0» + __builtin_ctz(in);'),
    ('recall_tiles.c', 'match_group(r, which + i, MANY, «first => 0», whole, whole);'),
    ('recall_tiles.c', 'for (; i < count; i += «FEW => FEW + 1»)'),
    ('recall_tiles.c', 'keep_larger(r, which[i], sum[i][1], first + «VL => 0», high.there);'),
    ('recall_tiles.c', 'r->best[cell] = key + «__builtin_ctz(equal) => 31 - __builtin_clz(equal)»;'),
    ('recall_tiles.c', '_mm512_set1_ps(«r->most[cell] => nextafterf(r->most[cell], -INFINITY)»)'),
    ('recall_tiles.c', 'i < 2 && 2 * (d + j) + i < «r->c => r->c - 1»;'),
    ('recall_tiles.c', 'r->x + (size_t) («i + j => i») * r->c,'),
    ('recall_tiles.c', '«low.fused = true, high.fused = false => low.fused = high.fused = true»;'),
    ('recall_tiles.c', 'return «sqrtf(longest) => 0»;'),
]


def run(program, only):
    numbers = [0] + [number for number, (file, _) in enumerate(MUTANTS, 1) if file == only]

    def is_caught(number):
        return subprocess.run([program, f'--fault={number}'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0

    if subprocess.run([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == SKIP:
        print('not on this processor')
        return SKIP
    wrong = count_wrong(MUTANTS, numbers, is_caught)
    print(f'{len(numbers) - 1} mutants, {wrong} wrong')
    return wrong > 0


if __name__ == '__main__':
    if len(sys.argv) == 4 and sys.argv[1] == 'write':
        sys.exit(write_faulty(MUTANTS, 'tile_fault', sys.argv[2], sys.argv[3]))
    if len(sys.argv) == 4 and sys.argv[1] == 'run':
        sys.exit(run(sys.argv[2], sys.argv[3]))
    sys.exit(__doc__)
