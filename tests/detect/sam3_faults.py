#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in how SAM 3's detector makes and chooses masks, each of which its golden must catch: faulty.py has the arguments."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from faulty import main  # noqa: E402

FILES = ('engine/model/sam3words/masks.c', 'engine/model/sam3words/choose.c')

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


if __name__ == '__main__':
    sys.exit(main(__doc__, FILES, MUTANTS))
