#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules of engine/refine/rules.h beside rules of this script: SAMURAI's filter with whole matrices of
8 x 8 in double, DAM4SAM's conditions on whole lists of areas and with pieces joined by label. Objects move,
jump, vanish and are doubted at random; scores and masks are scripted, no model runs.

rules.py PROGRAM [SEED]         compares
rules.py write SOURCES FOLDER   copies of the sources, every fault a choice made at run time
rules.py mutants PROGRAM        compares the program built from those, once per fault; 1 if one is missed
"""
import os
import pathlib
import random
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plant import plant  # noqa: E402

# (file, a piece of it with «expression => its fault»).
MUTANTS = [
    ('motion.c', 'z[X] = («b->x0 + b->x1 => 2 * b->x0») / 2;'),
    ('motion.c', 'z[HEIGHT] = b->y1 - «b->y0 => 0»;'),
    ('motion.c', '(b->x1 - b->x0) / «z[HEIGHT] => (z[HEIGHT] + 1)»'),
    ('motion.c', '«FIRST_PLACE => 1» * PLACE * h'),
    ('motion.c', '«FIRST_SPEED => 1» * SPEED * h'),
    ('motion.c', 'm->value[i] += «m->speed[i] => 0»;'),
    ('motion.c', 'p[0] += 2 * p[1] + «p[2] => 0» +'),
    ('motion.c', 'p[1] += «p[2] => 0»;'),
    ('motion.c', 'p[2] += square(i == ASPECT ? ASPECT_SPEED : «SPEED * h => 0»);'),
    ('motion.c', 'square(i == ASPECT ? «ASPECT_SEEN => ASPECT_PLACE» : PLACE * h);'),
    ('motion.c', 'm->speed[i] += «speed * off => 0»;'),
    ('motion.c', 'p[2] -= «speed * p[1] => 0»;'),
    ('motion.c', 'p[1] -= «place * p[1] => 0»;'),
    ('motion.c', 'const float w = m->value[ASPECT] * «m->value[HEIGHT] => 1» / 2'),
    ('motion.c', 'whole = area(a) + area(b) - «common => 0»;'),
    ('motion.c', 'if («value[i] > value[best] => value[i] >= value[best]»)'),
    ('motion.c', 'if («!sure => false» || is_empty'),
    ('motion.c', ' || «is_empty(&c->box) => false»)'),
    ('motion.c', 'm->stable = fminf(m->stable + «1 => 2», 1 << 16);'),
    ('motion.c', 'runs && «m->stable >= (float) rule->stable_frames => m->stable > (float) rule->stable_frames»;'),
    ('motion.c', 'believed = «runs => true» &&'),
    ('motion.c', 'if («!runs => false»)'),
    ('motion.c', '«rule->weight => 0.5f» * moved[i]'),
    ('motion.c', 'believed ? «candidate[best].iou >= rule->stable_iou => true»'),
    ('motion.c', ': «candidate[best].iou > rule->stable_iou => true»);'),
    ('motion.c', '*score = «moved[best] => moved[0]»;'),
    ('motion.c', 'if («is_empty(box) => false»)'),
    ('motion.c', 'void sam_motion_pass(struct sam_motion *m)\n{\n    if («m->stable > 0 => false»)'),
    ('distractors.c', '«n % 2 => true» ? a[n / 2]'),
    ('distractors.c', 'a[k - 1] > d->area[i]; «k-- => k = 0»)'),
    ('distractors.c', 'd->area[0] = «(float) area => 1»;'),
    ('distractors.c', '«d->areas < SAM_AREAS => d->areas < 3» ?'),
    ('distractors.c', 'if («area < 1 => false»)'),
    ('distractors.c', 'return «d->areas > 1 => true» &&'),
    ('distractors.c', ' && «iou > rule->iou => iou >= rule->iou» && ratio'),
    ('distractors.c', '«ratio >= 1 - rule->area => true» &&'),
    ('distractors.c', '«ratio <= 1 + rule->area => true» &&'),
    ('distractors.c', '(d->since < 0 || «d->since > (float) rule->every => d->since >= (float) rule->every»);'),
    ('distractors.c', 'd->since = «0 => 1»;'),
    ('distractors.c', 'x1 = «x + 1 > x1 ? x + 1 : x1 => x + 1»;'),
    ('distractors.c', 'y1 = «y + 1 => y»;'),
    ('distractors.c', 'if (count > «most => 0») {'),
    ('distractors.c', 'seen[i] = !(mask[i] > 0) || «chosen[i] > 0 => false»;'),
    ('distractors.c', 'for (int u = «x > 0 ? x - 1 : 0 => x»; u <= x + 1'),
    ('distractors.c', 'if («i == chosen => i == 0» || !find_piece'),
    ('distractors.c', 'least = «iou < least ? iou : least => iou»;'),
]
TOLERANCE = 2e-4  # of a number or 1, whichever is larger: single precision over 80 frames


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def turned(a):
    return [list(row) for row in zip(*a)]


def total(a, b, sign=1):
    return [[x + sign * y for x, y in zip(p, q)] for p, q in zip(a, b)]


def diagonal(values):
    return [[v * v if i == k else 0.0 for k in range(len(values))] for i, v in enumerate(values)]


def inverse(a):
    """By Gauss and Jordan; what is inverted here needs no pivots."""
    n = len(a)
    rows = [row + [float(i == k) for k in range(n)] for i, row in enumerate(a)]
    for i in range(n):
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(n):
            if k != i:
                rows[k] = [v - rows[k][i] * w for v, w in zip(rows[k], rows[i])]
    return [row[n:] for row in rows]


STEP = [[float(k == i or k == i + 4) for k in range(8)] for i in range(8)]
SEE = [[float(k == i) for k in range(8)] for i in range(4)]


class Motion:
    """SAMURAI's filter: eight numbers and their covariance."""

    def __init__(self, weight, frames, sure):
        self.weight, self.frames, self.sure = weight, frames, sure
        self.clear()

    def clear(self):
        self.mean, self.cov, self.stable = [[0.0] for _ in range(8)], diagonal([0.0] * 8), 0

    @staticmethod
    def noise(h, place, speed, aspect, aspect_speed):
        p, s = place * h / 20, speed * h / 160
        return diagonal([p, p, aspect, p, s, s, aspect_speed, s])

    @staticmethod
    def measured(box):
        x0, y0, x1, y1 = box
        return [[(x0 + x1) / 2], [(y0 + y1) / 2], [(x1 - x0) / (y1 - y0)], [y1 - y0]]

    def predict(self):
        noise = self.noise(self.mean[3][0], 1, 1, 1e-2, 1e-5)
        self.mean = product(STEP, self.mean)
        self.cov = total(product(product(STEP, self.cov), turned(STEP)), noise)

    def correct(self, box):
        h = self.mean[3][0]
        expected = total(product(product(SEE, self.cov), turned(SEE)), diagonal([h / 20, h / 20, 0.1, h / 20]))
        gain = product(product(self.cov, turned(SEE)), inverse(expected))
        off = total(self.measured(box), product(SEE, self.mean), -1)
        self.mean = total(self.mean, product(gain, off))
        self.cov = total(self.cov, product(product(gain, expected), turned(gain)), -1)

    def overlap(self, box):
        x, y, a, h = (row[0] for row in self.mean[:4])
        own = (x - a * h / 2, y - h / 2, x + a * h / 2, y + h / 2)
        width = min(own[2], box[2]) - max(own[0], box[0])
        height = min(own[3], box[3]) - max(own[1], box[1])
        common = max(width, 0) * max(height, 0)
        whole = a * h * h + (box[2] - box[0]) * (box[3] - box[1]) - common
        return common / whole if whole > 0 else 0.0

    def numbers(self):
        c = self.cov
        spread = [v for i in range(4) for v in (c[i][i], c[i][i + 4], c[i + 4][i + 4])]
        return [*(row[0] for row in self.mean), *spread, self.stable]

    def take(self, ious, boxes):
        """The candidate, its score, the margin that decided."""
        moved, worth = None, list(ious)
        if self.stable:
            self.predict()
        if self.stable and self.stable >= self.frames:
            moved = [self.overlap(b) for b in boxes]
            worth = [self.weight * m + (1 - self.weight) * v for m, v in zip(moved, worth)]
        best = worth.index(max(worth))
        box = boxes[best]
        empty = box[2] <= box[0] or box[3] <= box[1]
        if not self.stable:
            self.clear()
            if not empty:
                self.mean[:4] = self.measured(box)
                self.cov = self.noise(box[3] - box[1], 2, 10, 1e-2, 1e-5)
                self.stable = 1
        elif not empty and (ious[best] >= self.sure if moved else ious[best] > self.sure):
            self.correct(box)
            self.stable += 1
        else:
            self.stable = 0
        margin = min([abs(v - worth[best]) for v in worth if v != worth[best]], default=1.0)
        return best, moved[best] if moved else -1.0, margin


def bits(mask):
    return ''.join('1' if v else '0' for row in mask for v in row)


class Script:
    """Lines for the program, and what each must answer."""

    def __init__(self, rng):
        self.rng, self.lines, self.wanted = rng, [], []

    def motion(self, frames):
        rng = self.rng
        # Eighths: what a float32 holds and a sum of two exactly.
        weight, count, sure = rng.randint(1, 7) / 8, rng.randint(0, 5), rng.randint(0, 3) / 8
        self.lines.append(f'motion {weight} {count} {sure}')
        m = Motion(weight, count, sure)
        x, y, w, h = rng.uniform(50, 300), rng.uniform(50, 300), rng.uniform(8, 120), rng.uniform(8, 120)
        vx, vy = rng.uniform(-6, 6), rng.uniform(-6, 6)
        for _ in range(frames):
            x, y, w, h = x + vx, y + vy, w * rng.uniform(.95, 1.06), h * rng.uniform(.95, 1.06)
            if rng.random() < .1:
                self.lines.append('pass')
                if m.stable:
                    m.predict()
                self.wanted.append((None, None, m.numbers()))
                continue
            ious, boxes = [], []
            for _ in range(3):
                jump = 80 if rng.random() < .4 else 2
                cx, cy = x + rng.uniform(-jump, jump), y + rng.uniform(-jump, jump)
                box = [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2]
                boxes.append([0.0] * 4 if rng.random() < .06 else [round(v * 64) / 64 for v in box])
                ious.append(rng.randint(0, 64) / 64)
            self.lines.append('step ' + ' '.join(f'{v:.9g}' for v in [*ious, *sum(boxes, [])]))
            best, score, margin = m.take(ious, boxes)
            self.wanted.append((best if margin > 1e-4 else None, score, m.numbers()))
            if margin <= 1e-4:  # what follows hangs on rounding
                return

    def distractors(self, frames):
        rng = self.rng
        every = rng.randint(1, 6)
        self.lines.append(f'distractors 0.75 0.25 0.7 {every}')
        areas, last = [], None
        size = rng.randint(30, 400)
        for t in range(frames):
            size = max(1, int(size * rng.choice([1, 1, 1, 1.25, .75, 1.6, .5])))
            area = 0 if rng.random() < .2 else min(size, 3000)
            iou = rng.choice([.5, .75, .875, .9375])
            self.lines.append(f'may {iou} {area}')
            may = False
            if area:
                areas.append(area)
                ratio = area / statistics.median(areas[-10:])
                may = (len(areas) > 1 and iou > .75 and .75 <= ratio <= 1.25 and (last is None or t - last > every))
            last = t if may else last
            self.wanted.append((int(may), None, None))

    def overlaps(self):
        rng = self.rng
        side, chosen = rng.randint(3, 19), rng.randint(0, 2)
        masks = []
        for _ in range(3):
            share, y, x = rng.choice([0, .1, .3, .5]), rng.randrange(side), rng.randrange(side)
            masks.append([[rng.random() < share or (y <= v < y + side // 2 and x <= u < x + side // 2)
                           for u in range(side)] for v in range(side)])
        self.lines.append(f'overlap {side} {chosen} ' + ' '.join(map(bits, masks)))
        self.wanted.append((None, least_overlap(masks, chosen), None))


def places(mask):
    return {(y, x) for y, row in enumerate(mask) for x, v in enumerate(row) if v}


def box_of(some):
    y, x = zip(*some)
    return min(x), min(y), max(x) + 1, max(y) + 1


def largest_piece(left):
    """Of those joined by sides and corners, the first in reading order of the largest."""
    pieces = []
    while left:
        piece, edge = set(), {min(left)}
        while edge:
            piece |= edge
            edge = {(y + dy, x + dx) for y, x in edge for dy in (-1, 0, 1) for dx in (-1, 0, 1)} & left - piece
        pieces.append(piece)
        left = left - piece
    return max(pieces, key=len)


def least_overlap(masks, chosen):
    own, least = places(masks[chosen]), 1.0
    a = box_of(own) if own else (0, 0, 0, 0)
    for i, mask in enumerate(masks):
        beside = places(mask) - own
        if i == chosen or not beside:
            continue
        b = box_of(largest_piece(beside) | own)
        least = min(least, (a[2] - a[0]) * (a[3] - a[1]) / ((b[2] - b[0]) * (b[3] - b[1])))
    return least


def make(seed):
    s = Script(random.Random(seed))
    for _ in range(60):
        s.motion(80)
    for _ in range(12):
        s.distractors(60)
    for _ in range(150):
        s.overlaps()
    return s


def is_near(got, wanted):
    return abs(got - wanted) <= TOLERANCE * max(1, abs(wanted))


def faults_of(script, program, fault=0):
    """The number of answers that are wrong."""
    run = subprocess.run([program], input='\n'.join(script.lines), capture_output=True, text=True, timeout=100,
                         env={**os.environ, 'RULES_FAULT': str(fault)})
    answers = [line.split() for line in run.stdout.splitlines()]
    if run.returncode or len(answers) != len(script.wanted):
        return len(script.wanted)
    wrong = 0
    for got, (choice, number, numbers) in zip(answers, script.wanted):
        if numbers is not None and number is None and choice is None:
            fits = all(map(is_near, map(float, got), numbers))
        elif numbers is not None:
            fits = choice is None or (int(got[0]) == choice and is_near(float(got[1]), number) and
                                      all(map(is_near, map(float, got[2:]), numbers)))
        else:
            fits = int(got[0]) == choice if number is None else is_near(float(got[0]), number)
        wrong += not fits
    return wrong


def write(sources, folder):
    for file in ('motion.c', 'distractors.c'):
        text = (sources / file).read_text()
        for number, (name, piece) in enumerate(MUTANTS, 1):
            if name == file:
                text = plant(text, name, 'rules_fault', number, piece)
        (folder / file).write_text('extern int rules_fault; // 0: none\n' + text)
    (folder / 'fault.c').write_text('''#include <stdlib.h>

extern int rules_fault;
int rules_fault;

__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("RULES_FAULT");

    rules_fault = number ? atoi(number) : 0;
}
''')


def mutants(program, seed):
    script, bad = make(seed), 0
    for number in range(len(MUTANTS) + 1):
        caught = faults_of(script, program, number) > 0
        if caught != (number > 0):
            bad += 1
            print(f'MISSED {MUTANTS[number - 1]}' if number else 'FAILED without a fault', flush=True)
    print(f'{len(MUTANTS)} mutants, {bad} wrong')
    return bad > 0


def main():
    if len(sys.argv) == 4 and sys.argv[1] == 'write':
        return write(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == 'mutants':
        return mutants(sys.argv[2], 20261128)
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 20261128
    script = make(seed)
    wrong = faults_of(script, sys.argv[1])
    print(f'seed {seed}: {len(script.wanted)} answers, {wrong} wrong')
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main())
