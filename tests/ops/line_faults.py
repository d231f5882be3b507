#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The CPU's outlines of masks with faults planted, one at a time: check_ops must catch each.

line_faults.py write SOURCES FOLDER   copies of the sources, every fault a choice made at run time
line_faults.py run PROGRAM            runs check_ops, built from those, once per fault that this processor can run; exit status 1
                                      if a fault is missed, or the test fails without one
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plant import count_wrong, write_faulty  # noqa: E402

# (file, a piece of it with «expression => its fault», the level that has it, or none: all have).
MUTANTS = [
    ('outline.c', 'same[i] = (pixels) (load(label + «i - 2 => i - 1») ==', ''),
    ('outline.c', 'inner[i] = same[i] & load(inside + «i - 2 => i - 1»);', ''),
    ('outline.c', 'for (int i = «-2 => 2»; i <= 2; i += 4)', ''),
    ('outline.c', 'const pixels v = load(label + «i => -2»);', ''),
    ('outline.c', 'half = «at_most(beyond, 40) => at_most(beyond, 38)»,', ''),
    ('outline.c', 'is_beyond = «twice > 57 => twice > 59»;', ''),
    ('outline.c', '(numbers) («sum.inner + sum.inner + 112 => sum.inner + sum.inner + 114»)', ''),
    ('outline.c', ', «56 => 60»);', ''),
    ('outline.c', '(~is_own & («twice + 1 => twice»));', ''),
    ('outline.c', 'index = «own & SAM_SHADES => own & 0»;', ''),
    ('outline.c', 'const ptrdiff_t at = (ptrdiff_t) (r - «2 => 1») * pitch;', ''),
    ('outline.c', 'shade_columns(label + x, inside + «x => 0», pitch, rows', ''),
    ('outline.c', 'inner += found & «load(inside + at) => found»;', ''),
    ('outline.c', 'for (int k = 1; k < «line => line - 1»; k++)', ''),
    ('outline.c', 'near |= own >> k | «right << (64 - k) => own» | own << k', ''),
    ('outline.c', '| own << k | «left >> (64 - k) => own»;', ''),
    ('outline.c', 'near | «own >> (line - 1) >> 1 => own» |', ''),
    ('outline.c', ' | «right << (64 - line) => own»;', ''),
    ('outline.c', 'for (int r = 0; r < «rows => rows - 1»; r++)\n            found |=', ''),
    ('outline.c', 'across[i] = known && «upper => 0» ?', 'avx2'),
    ('outline.c', 'along[0] &= «~UINT64_C(1) => UINT64_MAX»;', 'avx2'),
    ('outline.c', 'first, first & «later => 0», row', 'avx512'),
    ('outline.c', '_mm512_maskz_loadu_epi8(own, from - «1 => 0»)', 'avx512'),
    ('outline.c', 'first_bits(n - LOOK * «full => (full - 1)»);', 'avx512'),
    ('outline.c', 'if (full > 0 && «full < used => false»)', 'avx512'),
    ('outline.c', '(UINT64_C(1) << «n => SAM_WINDOWS») - 1;', 'avx512'),
    ('outline.c', '(__mmask16) (wanted >> «i => 0»)', 'avx512'),
    ('outline.c', '_mm256_slli_epi32(at, «28 => 27»)', 'avx2'),
    ('outline.c', '_mm256_slli_epi32(at, «27 => 28»)', 'avx2'),
    ('outline.c', '(int) (uint32_t) (word >> «i => 0»));', 'avx2'),
    ('outline.c', 'sam_visible(fill_of[label[«x => 0»]]));\n        if', ''),
    ('lines.c', 'max_int(b->top - «p->margin => REACH», 0);\n    b->last', ''),
    ('lines.c', 'min_int(b->end + «p->margin => REACH», p->o->height);', ''),
    ('lines.c', 'along_row(b, y)[p->words] = «0 => UINT64_MAX»;', ''),
    ('lines.c', 'row[width - 1 + x] = row[«width - 1 => 0»];', ''),
    ('lines.c', 'y == 0 && i < «0 => -1»; i++)', ''),
    ('lines.c', 'y == last && i < «to => to - 1»; i++)', ''),
    ('lines.c', 'max_int(y - line, b->first) + «1 => 2»,', ''),
    ('lines.c', 'min_int(«y + line => y + line - 1», b->last - 1);', ''),
    ('lines.c', 'max_int(«i - SAM_SHARES + 1 => 0», 0) * SAM_SHARES;', ''),
    ('lines.c', 'shade_colour(p, p->bare, «own => p->bare», is_beyond', ''),
    ('lines.c', 'other : «SAM_SHARES - 1 - i => i»);', ''),
    ('lines.c', '«min_int(64 * i + __builtin_ctzll(left), n) => n» : n;', ''),
    ('lines.c', 'max_int(y - «REACH => 0», 0), to =', ''),
    ('lines.c', 'min_int(y + rows + «REACH => 0», b->p->o->height);', ''),
    ('lines.c', 'for (int r = -REACH; r < rows + «REACH => 0»; r++) {\n        const uint8_t *row', ''),
    ('lines.c', 'min_int(x, «SPAN - 8 => SAM_WINDOWS - 8»);', ''),
    ('lines.c', 'at[x] = «b->p->same[at[x]] => at[x]»;', ''),
    ('lines.c', 'x < n + «REACH => 0»; x++)', ''),
    ('lines.c', '«p->same[own] == own => true» &&', ''),
    ('lines.c', 'max_int(bit - «REACH => 0», end), last);', ''),
    ('lines.c', 'find_bit(near, max_int(end - «REACH => 0», 0), width)', ''),
    ('lines.c', 'end = x + «SAM_WINDOWS => SAM_WINDOWS + 1») {', ''),
    ('lines.c', 'b->num_mixed += «!w->is_pair => 0»;', ''),
]
# (cases whose names begin so, seed): the first ones are quick and find most, the last ones are all.
TRIES = [('paint_bgra_discs', '1'), ('paint_bgra_widths', '1'), ('paint_bgra_512', '1'), ('paint_bgra', '1'), ('paint_bgra', '2'),
         ('paint_rgba', '1'), ('paint_rgb', '1'), ('paint_nv12', '1'), ('paint', '1')]
FLAGS = {'avx2': 'avx2', 'avx512': 'avx512bw'}

CHOICE = '''#include <stdlib.h>

extern int line_fault;
int line_fault; // 0: none

__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("LINE_FAULT");

    line_fault = number ? atoi(number) : 0;
}
'''


def write(sources, folder):
    write_faulty(MUTANTS, 'line_fault', sources, folder)
    (folder / 'line_fault.c').write_text(CHOICE)


def run(program):
    cpu = pathlib.Path('/proc/cpuinfo')
    flags = set(cpu.read_text().split()) if cpu.exists() else set()
    numbers = [0] + [number for number, (*_, level) in enumerate(MUTANTS, 1) if not level or FLAGS[level] in flags]

    def is_caught(number):
        env = {**os.environ, 'LINE_FAULT': str(number)}
        commands = [[program, '--op=paint', f'--case={case}', seed] for case, seed in TRIES]
        return any(subprocess.run(command, capture_output=True, env=env).returncode for command in commands)

    wrong = count_wrong(MUTANTS, numbers, is_caught)
    print(f'{len(numbers) - 1} mutants of {len(MUTANTS)}, {wrong} wrong')
    return wrong > 0


if __name__ == '__main__':
    if len(sys.argv) == 4 and sys.argv[1] == 'write':
        sys.exit(write(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])))
    if len(sys.argv) == 3 and sys.argv[1] == 'run':
        sys.exit(run(sys.argv[2]))
    sys.exit(__doc__)
