#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in how SAM 3's detector makes and chooses masks (engine/model/sam3words), each of which its golden must catch.

sam3_faults.py write SOURCES FOLDER     copies of the sources, every fault a choice made at run time
sam3_faults.py run PROGRAM FOLDER       runs the test built from those, once per fault; 1 if one is missed
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plant import plant  # noqa: E402

FILES = ('masks.c', 'choose.c')

# (file, a piece of it with «expression => its fault»).
MUTANTS = [
    ('masks.c', '"%s.levels.%d.dconv_2x2%s", neck, i, «i => !i» ?'),
    ('masks.c', 'PRODUCT(w->wide), .act = «SAM_ACT_GELU => SAM_ACT_RELU»);'),
    ('masks.c', 'PRODUCT(«w->up[1] => w->up[0]»));'),
    ('masks.c', 'PRODUCT(«w->smooth[0] => w->smooth[1]»)'),
    ('masks.c', 'const int layer = «1 - i => i»;'),
    ('masks.c', '.a = «maps->level[i] => out[i]», .b = from);'),
    ('masks.c', '.groups = «GROUPS => GROUPS / 2»,'),
    ('masks.c', '.act = «SAM_ACT_RELU => SAM_ACT_NONE»);\n        from'),
    ('masks.c', 'LINEAR(«sam3w_weights_of(p)->masks.pixel => sam3w_weights_of(p)->masks.query[0]»)'),
    ('masks.c', 'sam3w_attend(p, p->live ? &w->prompt : NULL, «y => image», prompt, prompt, image);'),
    ('masks.c', 'layernorm(p->queue, .dst = y, .src = image, NORM(«w->norm => w->layer_norm[0]»)'),
    ('masks.c', 'sam3w_run_three(p, p->live ? «w->query => sam3w_weights_of(p)->box» : NULL,'),
    ('masks.c', '.a = «rows => queries», .b = pixels);'),
    ('choose.c', 'to[x] = «row[x] > 0 => row[x] < 0»;'),
    ('choose.c', '(size_t) «d->query => (d->query + 1) % masks->h» * side * side;'),
    ('choose.c', 'r->mask + (size_t) «i => 0» * SAM_DETECTED_PIXELS;'),
    ('choose.c', 'if (d->query >= masks->h || «d->score < DRAWN => false»)'),
    ('choose.c', 'if («d->query >= masks->h => d->query >= masks->h / 2» ||'),
    ('choose.c', 'd->mask = «mask => NULL»;'),
    ('choose.c', '«chance(presence[phrase], MOST_PRESENCE) => 1»;'),
    ('choose.c', 'if («!sam_box_is_new(out, num, d.box, SAME_BOX) => false»)'),
    ('choose.c', '.label = query / «queries => (queries / 2)»,'),
]


def write(sources, folder):
    for file in FILES:
        text = (sources / file).read_text()
        for number, (name, piece) in enumerate(MUTANTS, 1):
            if name == file:
                text = plant(text, name, 'sam3_fault', number, piece)
        (folder / file).write_text('extern int sam3_fault; // 0: none\n' + text)
    (folder / 'fault.c').write_text('''#include <stdlib.h>

extern int sam3_fault;
int sam3_fault;

__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("SAM3_FAULT");

    sam3_fault = number ? atoi(number) : 0;
}
''')


def run(program, folder):
    bad = 0
    for number in range(len(MUTANTS) + 1):
        done = subprocess.run([program, folder, 'cpu', 'quick'], capture_output=True, env={**os.environ, 'SAM3_FAULT': str(number)})
        if (done.returncode != 0) != (number > 0):
            bad += 1
            print(f'MISSED {MUTANTS[number - 1]}' if number else f'FAILED without a fault: {done.stderr.decode()}', flush=True)
    print(f'{len(MUTANTS)} mutants, {bad} wrong')
    return bad > 0


def main():
    if len(sys.argv) == 4 and sys.argv[1] == 'write':
        return write(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    if len(sys.argv) == 4 and sys.argv[1] == 'run':
        return run(sys.argv[2], sys.argv[3])
    sys.exit(__doc__)


if __name__ == '__main__':
    sys.exit(main())
