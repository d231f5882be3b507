#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The policy with faults planted, one at a time: its tests must catch each.

mutate.py write SOURCES FOLDER   copies of the sources, every fault a choice made at run time
mutate.py run PROGRAM...         runs the tests, built from those, until one fails, once per fault;
                                 exit status 1 if a fault is missed, or a test fails without one
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plant import plant  # noqa: E402

# (file, a piece of it with «expression => its fault»).
MUTANTS = [
    # What each frame does.
    ('tracks.c', '«!(o->score > 0) => o->score < 0»'),
    ('tracks.c', 'if (id && «!t => false»)'),
    ('tracks.c', '.phase = «SAM_SEED_USERS => SAM_SEED_CONFIRMED»'),
    ('tracks.c', 't->was_absent = «t->absent > 0 => true»;'),
    ('tracks.c', 't->keep_alive = «s->settings.keep_alive_start => s->settings.keep_alive» *'),
    ('tracks.c', '«t->score >= s->settings.instant_confirm_score => false»'),
    ('tracks.c', '«t->hits < s->settings.confirm_hits => false»'),
    ('tracks.c', 'else if («waited >= limit => false»)'),
    ('tracks.c', '«waited < limit => true»)\n'),
    ('tracks.c', 't->is_awaited && «t->id => true» &&'),
    ('tracks.c', 'back = «t->was_absent => true» &&'),
    ('tracks.c', '«is_plausible(s, &t->now) => t->now.is_visible» ?'),
    ('tracks.c', '«t->back + 1 => t->back + 2» : 0'),
    ('tracks.c', '«s->time - t->shadow_time >= timeout => false»'),
    ('tracks.c', 't->absent >= «(uint64_t) s->settings.absent_frames => 4»)'),
    ('tracks.c', 't->absent >= «(uint64_t) s->settings.lost_frames => 14»)'),
    ('tracks.c', '«t->absent + 1 => t->absent»;'),
    ('tracks.c', '«t->phase != SAM_SEED_SHADOWED => true»)\n        follow_box'),
    ('tracks.c', 't->speed_x += «part => -part» *'),
    ('tracks.c', '«t->used && in->has_cut => false»'),
    # Which detections are considered.
    ('read.c', '«score >= 0 && score <= 1 => !(score < 0)»'),
    ('read.c', '«in->num_detections < SAM_SEED_MAX_READ => true» ?'),
    ('read.c', 'at > 0 && «score > rank(s->candidate[at - 1].score) => score >= rank(s->candidate[at - 1].score)»'),
    ('read.c', '«from->class_id >= SAM_SEED_MAX_CLASSES => from->class_id > SAM_SEED_MAX_CLASSES»'),
    ('read.c', '«isfinite(b.x0) && isfinite(b.y0) => true»'),
    ('read.c', '«sam_seed_clip(from->box, s->width, s->height) => from->box»'),
    ('read.c', '«isfinite(from->mask_quality) ? from->mask_quality : 0 => 1»'),
    ('read.c', 'if («!cells => false»)'),
    # What is asked of a class.
    ('classes.c', '«score >= 0 => true», score'),
    ('classes.c', 's->track[i].ending = «keeps => !keeps» ?'),
    ('classes.c', 'ending == ENDS || «!is_sure => false»'),
    ('classes.c', 's->wanted |= «1u << SAM_SEED_REQUEST_ASKED => 0u»;'),
    ('classes.c', 't->phase = «SAM_SEED_USERS => t->phase»;'),
    ('birth.c', '&& «!is_class_full => true»)'),
    ('birth.c', 'is_class_full && «alike > most => false»'),
    ('birth.c', 'find_victim(s, c, «is_class_full => false»)'),
    ('birth.c', 'alike += «t->class_id == c->class_id => true»'),
    # Matching.
    ('match.c', '«p->coverage >= s->settings.match_coverage => true»'),
    ('decide.c', '«p->is_of_masks ? s->settings.match_iou : s->settings.match_box_iou => 0.1»'),
    ('match.c', 'p.iou = «(double) common / (mine + its - common) => p.iou»;'),
    ('match.c', '«t->prompted <= r->frame => true»;'),
    ('match.c', '«sam_seed_same_class(s, c->class_id, t->class_id) => true» &&'),
    ('match.c', '«iou < best => false» ||'),
    ('match.c', '«s->track[i].id > s->track[*track].id => true»'),
    ('match.c', 's->work++;\n            if («s->is_matched[i] => false»'),
    ('match.c', '«p->iou > s->settings.recondition_iou => true»'),
    ('match.c', '«c->score > s->settings.recondition_score => true»'),
    ('match.c', '«seen->strength > s->settings.recondition_score => true»'),
    ('match.c', '«s->frame - t->prompted >= (uint64_t) s->settings.recondition_gap => true»'),
    ('match.c', '«t->hits++ => t->hits»;'),
    ('match.c', '«t->keep_alive + KEEP_ALIVE_UNIT < most => true»'),
    ('match.c', 't->phase == SAM_SEED_SHADOWED && «t->now.is_visible => false»'),
    ('match.c', '«is_younger(&s->track[i], &s->track[k]) => !is_younger(&s->track[i], &s->track[k])»'),
    ('match.c', '«++t->shared >= s->settings.shared_ticks => false»'),
    ('match.c', 't->misses > «s->settings.confirm_window - s->settings.confirm_hits => 0»'),
    ('match.c', '«is_strong ? 1 : KEEP_ALIVE_UNIT => KEEP_ALIVE_UNIT»'),
    ('match.c', '«seen->area >= s->settings.min_area => true»;'),
    ('match.c', '«fmin(boxes, fmax(0, a->area + b->area - both) / both) => boxes»'),
    ('match.c', 'return «a->phase != SAM_SEED_USERS => true» && is_younger'),
    ('match.c', '«t->twin == twin->id => true»'),
    ('match.c', '«s->is_matched[i] => false» || !is_judged'),
    # Re-acquisition and births.
    ('birth.c', '«is_wanted(s, c->class_id) => true», SAM_SEED_BY_NOT_WANTED'),
    ('birth.c', '«c->score < sam_seed_score_of(s, c->class_id) => false», SAM'),
    ('birth.c', '«c->area < s->settings.min_area => false», SAM'),
    ('birth.c', '«c->area > s->settings.max_area => false», SAM'),
    ('birth.c', '«!sam_seed_can_prompt(s, in) => false», SAM'),
    ('birth.c', '«x <= s->settings.roi_x1 => true»'),
    ('birth.c', 't->now.is_visible || «t->is_awaited => false»;'),
    ('birth.c', '!is_there && «s->time - t->last_time >= timeout => true»'),
    ('birth.c', '«p.iou >= set->birth_max_iou => p.iou >= 0.4»'),
    ('birth.c', '«p.containment >= set->birth_max_containment => false»'),
    ('birth.c', '«c->background >= set->birth_min_background => true»;'),
    ('birth.c', '«!t->now.is_visible => true» && !was_seen'),
    ('birth.c', '«s->frame - t->prompted >= (uint64_t) s->settings.prompt_gap => true»'),
    ('birth.c', '«!is_occupied(s, c, r) => true»;'),
    ('birth.c', '«grown < most ? grown : most => 0»'),
    ('birth.c', 'far = «absent_s * s->settings.reacquire_motion => 0»'),
    ('birth.c', '«like >= s->settings.reacquire_similarity => true»'),
    ('birth.c', '«!sam_seed_same_class(s, c->class_id, t->class_id) => false»)\n'),
    ('birth.c', '«value > best => value > 0» ||'),
    ('birth.c', 't->phase == SAM_SEED_TENTATIVE && «t->score < c->score => true» &&'),
    ('birth.c', '«t->phase == SAM_SEED_SHADOWED => t->phase == SAM_SEED_CONFIRMED» &&\n            (!old'),
    ('birth.c', '«t->shadow_frame < old->shadow_frame => t->shadow_frame > old->shadow_frame»'),
    ('birth.c', '«taken < s->settings.max_objects => true»'),
    ('birth.c', '«weak ? weak : old => old ? old : weak»'),
    ('birth.c', '«births >= s->settings.births_per_tick => false»'),
    ('birth.c', '«sam_seed_border_part(c->box, s->width, s->height) => 0» >'),
    # Prompts, schedule, ids.
    ('decide.c', '«in->frame - in->result_frame <= (uint64_t) s->settings.late_frames => true»'),
    ('decide.c', 'd->has_frame = «is_held(in) => false»;'),
    ('decide.c', '«c->quality >= s->settings.mask_quality => true»'),
    ('decide.c', '&& «s->settings.group[a] == s->settings.group[b] => true»'),
    ('decide.c', 'return «s->settings.group[a] => true» &&'),
    ('seed.c', '«in->time_ns > s->given_time => true»'),
    ('seed.c', '«s->has_cut => false» && in'),
    ('seed.c', '«s->past[i].frame == frame => true»'),
    ('seed.c', '«!r || is_before_cut => !r»'),
    ('seed.c', '«s->interval > most / 2 ? most : 2 * s->interval => 2 * s->interval»'),
    ('seed.c', '«!s->settings.adaptive => false» ||'),
    ('seed.c', '«!s->settings.detect_on_loss => false»'),
    ('seed.c', '«in->busy => false» ||'),
    ('seed.c', '«in->overloaded => false»)\n'),
    ('seed.c', '«!does_any_live(s) => false»'),
    ('seed.c', '«id <= s->highest_id => id == 0»'),
    ('seed.c', 'index >= s->num_decisions || «s->started[index] < 0 => false»'),
    ('seed.c', '«t->phase == SAM_SEED_CONFIRMED => true» || t'),
    ('overlap.c', 'width - 1 ? «h => 0»'),
    ('overlap.c', '«mask[y * (SAM_SEED_GRID / 64) + x / 64] >> (x % 64) & 1 => true»'),
    ('overlap.c', '«at * SAM_SEED_GRID / size - 0.5 => at * SAM_SEED_GRID / size + 2»'),
    ('overlap.c', '/ («sam_seed_box_area(a) + sam_seed_box_area(b) - common => sam_seed_box_area(a)»)'),
]


def write(sources, folder):
    for source in sorted(sources.glob('*.c')):
        text = source.read_text()
        for number, (name, piece) in enumerate(MUTANTS, 1):
            if name == source.name:
                text = plant(text, name, 'seed_mutant', number, piece)
        if source.name == 'seed.c':
            text += '''
#include <stdlib.h>

int seed_mutant;

__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("SEED_MUTANT");

    seed_mutant = number ? atoi(number) : 0;
}
'''
        (folder / source.name).write_text('extern int seed_mutant; // 0: none\n' + text)


def caught_by(programs, number):
    """The first test that notices; None: no one does."""
    for program in programs:
        command = [program, '20261122', '1' if program.endswith('returns') else '1500']
        try:
            status = subprocess.run(command, env={**os.environ, 'SEED_MUTANT': str(number)}, timeout=100,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL).returncode
        except subprocess.TimeoutExpired:
            status = 'endless'
        if status:
            return pathlib.Path(program).name
    return None


def run(programs):
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda n: caught_by(programs, n), range(len(MUTANTS) + 1))
        for number, by in enumerate(results):
            if bool(by) != bool(number):
                bad += 1
                print(f'MISSED {number}: {MUTANTS[number - 1]}' if number else f'FAILED without a fault: {by}', flush=True)
    print(f'{len(MUTANTS)} mutants, {bad} wrong')
    return bool(bad)


def main():
    if len(sys.argv) >= 3 and sys.argv[1] == 'run':
        return run(sys.argv[2:])
    if len(sys.argv) == 4 and sys.argv[1] == 'write':
        return write(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    sys.exit(__doc__)


if __name__ == '__main__':
    sys.exit(main())
