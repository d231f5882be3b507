// SPDX-License-Identifier: MIT
// What a tick does with the detections that match no track: re-acquisition under the same id, then
// births.
#include <math.h>

#include "state.h"

// ---- Tests of a detection alone.

static bool is_wanted(const struct sam_seed *s, int class_id)
{
    bool is_all = true;

    for (int i = 0; i < SAM_SEED_MAX_CLASSES / 64; i++)
        is_all &= !s->settings.classes[i];
    if (is_all)
        return true;
    return class_id != SAM_SEED_NO_CLASS && s->settings.classes[class_id / 64] >> class_id % 64 & 1;
}

static bool is_in_roi(const struct sam_seed *s, struct sam_seed_box b)
{
    const double x = (b.x0 + b.x1) / 2 / s->width, y = (b.y0 + b.y1) / 2 / s->height;

    return x >= s->settings.roi_x0 && x <= s->settings.roi_x1 && y >= s->settings.roi_y0 &&
           y <= s->settings.roi_y1;
}

// Whether it may be a prompt at all; if not, why.
static bool is_seed(const struct sam_seed *s, const struct sam_seed_input *in,
                    const struct candidate *c, enum sam_seed_reason *why)
{
    const struct { bool fails; enum sam_seed_reason reason; } tests[] = {
        { !is_wanted(s, c->class_id), SAM_SEED_BY_NOT_WANTED },
        { c->score < sam_seed_score_of(s, c->class_id), SAM_SEED_BY_LOW_SCORE },
        { c->area < s->settings.min_area, SAM_SEED_BY_SMALL },
        { c->area > s->settings.max_area, SAM_SEED_BY_LARGE },
        { !sam_seed_can_prompt(s, in), SAM_SEED_BY_TOO_LATE },
    };

    for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        if (tests[i].fails) {
            *why = tests[i].reason;
            return false;
        }
    return true;
}

// ---- Tests of a detection and the tracks.

static bool was_seen(const struct track *t, const struct seen *seen)
{
    return seen->is_visible && seen->id == t->id;
}

// The overlap with a track that the record's frame does not show: where it is now, is expected, or
// was seen last, as long as it may return there. Only what is there now can contain a detection.
static struct pair compare_unseen(const struct sam_seed *s, const struct candidate *c,
                                  const struct track *t)
{
    const bool is_there = t->now.is_visible || t->is_awaited;
    const struct sam_seed_box box = t->now.is_visible ? t->now.box : t->last_box;
    const int64_t timeout = (int64_t) s->settings.shadow_timeout * 1000000;

    if (!is_there && s->time - t->last_time >= timeout)
        return (struct pair) { 0 };
    return (struct pair) { .iou = sam_seed_box_iou(c->box, box), .coverage = 1,
                           .containment = is_there ? sam_seed_box_containment(c->box, box) : 0 };
}

// Whether no track is in the way of a birth; if one is, why.
static bool is_free(struct sam_seed *s, const struct candidate *c, const struct record *r,
                    enum sam_seed_reason *why)
{
    const struct sam_seed_settings *set = &s->settings;

    for (int i = 0; i < s->num_tracks; i++) {
        const struct track *t = &s->track[i];

        s->work++;
        if (!t->used || t->phase == SAM_SEED_DYING)
            continue;
        const struct pair p = was_seen(t, &r->seen[i]) ? s->pair[c - s->candidate][i]
                                                       : compare_unseen(s, c, t);
        if (p.iou >= set->birth_max_iou && p.iou > 0) {
            *why = !sam_seed_fits(s, &p) ? SAM_SEED_BY_AMBIGUOUS
                   : sam_seed_same_class(s, c->class_id, t->class_id) ? SAM_SEED_BY_TAKEN
                                                                      : SAM_SEED_BY_OTHER_CLASS;
            return false;
        }
        if (p.containment >= set->birth_max_containment && p.containment > 0) {
            *why = SAM_SEED_BY_CONTAINED;
            return false;
        }
    }
    *why = SAM_SEED_BY_COVERED;
    return c->background >= set->birth_min_background;
}

// ---- Re-acquisition.

// A track that is not there, was not on the record's frame, and was not prompted just now.
static bool is_missing(const struct sam_seed *s, const struct track *t, const struct seen *seen)
{
    const bool may = t->phase == SAM_SEED_SHADOWED || t->phase == SAM_SEED_CONFIRMED;

    return t->used && may && !t->is_awaited && !t->now.is_visible && !was_seen(t, seen) &&
           s->frame - t->prompted >= (uint64_t) s->settings.prompt_gap;
}

// Whether another track that is there fits the detection, of whatever class.
static bool is_occupied(struct sam_seed *s, const struct candidate *c, const struct record *r)
{
    for (int i = 0; i < s->num_tracks; i++) {
        const struct pair *p = &s->pair[c - s->candidate][i];

        s->work++;
        if (s->track[i].used && was_seen(&s->track[i], &r->seen[i]) &&
            sam_seed_fits(s, p))
            return true;
    }
    return false;
}

static struct sam_seed_box moved(struct sam_seed_box b, double x, double y)
{
    return (struct sam_seed_box) { b.x0 + (float) x, b.y0 + (float) y, b.x1 + (float) x,
                                   b.y1 + (float) y };
}

// The better of two guesses: it stayed where it was, or it went on as it moved.
static double nearness(const struct sam_seed *s, const struct candidate *c, const struct track *t,
                       const struct record *r)
{
    const double absent_s = r->time > t->last_time ? (double) (r->time - t->last_time) / 1e9 : 0;
    const double grown = absent_s * s->settings.reacquire_growth;
    const double most = s->settings.reacquire_max_growth;
    const double sides = grown < most ? grown : most;
    const double far = absent_s * s->settings.reacquire_motion;
    const double iou = fmax(
        sam_seed_near_iou(t->last_box, c->box, sides),
        sam_seed_near_iou(moved(t->last_box, far * t->speed_x, far * t->speed_y), c->box, sides));

    return iou >= s->settings.reacquire_iou && iou > 0 ? iou : 0;
}

static double likeness(const struct sam_seed *s, const struct sam_seed_input *in,
                       const struct candidate *c, const struct track *t)
{
    for (int i = 0; in->similarity && i < in->num_objects; i++) {
        const double like = in->similarity[(size_t) c->index * (size_t) in->num_objects + i];
        if (in->objects[i].id == t->id)
            return like >= s->settings.reacquire_similarity ? like + 2 : 0; // never 0 or less
    }
    return 0;
}

static void reacquire(struct sam_seed *s, const struct sam_seed_input *in, struct candidate *c,
                      struct track *t, enum sam_seed_reason reason)
{
    sam_seed_prompt(s, in, c, sam_seed_emit(s, SAM_SEED_REACQUIRE, reason, t));
    sam_seed_revive(s, t);
    t->score = c->score;
    t->prompted = s->frame;
    t->last_box = c->box;
    t->last_time = s->time;
    c->is_decided = true;
}

// The largest value first; of equal ones the better detection, then the older id.
static bool reacquire_best(struct sam_seed *s, const struct sam_seed_input *in,
                           const struct record *r, const bool *may, bool by_likeness)
{
    double best = 0;
    int detection = -1, track = -1;

    for (int d = 0; d < s->num_candidates; d++) {
        const struct candidate *c = &s->candidate[d];

        for (int i = 0; i < s->num_tracks && may[d] && !c->is_decided; i++) {
            const struct track *t = &s->track[i];

            s->work++;
            if (!is_missing(s, t, &r->seen[i]) || !sam_seed_same_class(s, c->class_id, t->class_id))
                continue;
            const double value = by_likeness ? likeness(s, in, c, t) : nearness(s, c, t, r);
            if (value > best ||
                (value > 0 && value == best && d == detection && t->id < s->track[track].id)) {
                best = value;
                detection = d;
                track = i;
            }
        }
    }
    if (detection < 0)
        return false;
    reacquire(s, in, &s->candidate[detection], &s->track[track],
              by_likeness ? SAM_SEED_BY_SIMILAR : SAM_SEED_BY_NEAR);
    return true;
}

void sam_seed_reacquire(struct sam_seed *s, const struct sam_seed_input *in,
                        const struct record *r)
{
    bool may[SAM_SEED_MAX_DETECTIONS];
    enum sam_seed_reason why;

    for (int d = 0; d < s->num_candidates; d++) {
        const struct candidate *c = &s->candidate[d];
        may[d] = !c->is_decided && is_seed(s, in, c, &why) && !is_occupied(s, c, r);
    }
    while (reacquire_best(s, in, r, may, false))
        continue;
    while (reacquire_best(s, in, r, may, true))
        continue;
}

// ---- Births.

// The track that a birth may displace: the probationer with the lowest score, if that is lower,
// else the track that is longest in the shadow. of_class: of the same class alone.
static struct track *find_victim(struct sam_seed *s, const struct candidate *c, bool of_class)
{
    struct track *weak = NULL, *old = NULL;

    for (int i = 0; i < s->num_tracks; i++) {
        struct track *t = &s->track[i];

        s->work++;
        if (!t->used || !t->id || (of_class && t->class_id != c->class_id))
            continue;
        if (t->phase == SAM_SEED_TENTATIVE && t->score < c->score &&
            (!weak || t->score < weak->score || (t->score == weak->score && t->id > weak->id)))
            weak = t;
        if (t->phase == SAM_SEED_SHADOWED &&
            (!old || t->shadow_frame < old->shadow_frame ||
             (t->shadow_frame == old->shadow_frame && t->id < old->id)))
            old = t;
    }
    return weak ? weak : old;
}

static bool make_room(struct sam_seed *s, const struct candidate *c)
{
    const int most = sam_seed_most_of(s, c->class_id);
    int taken = 0, alike = 0;

    for (int i = 0; i < s->num_tracks; i++) {
        const struct track *t = &s->track[i];

        if (!t->used || t->phase == SAM_SEED_DYING)
            continue;
        taken++;
        alike += t->class_id == c->class_id && t->phase != SAM_SEED_USERS;
    }
    s->work += (uint64_t) s->num_tracks;
    const bool is_class_full = most && alike >= most;
    if (taken < s->settings.max_objects && !is_class_full)
        return true;
    if (taken > s->settings.max_objects || (is_class_full && alike > most))
        return false;
    struct track *victim = find_victim(s, c, is_class_full);
    if (victim)
        sam_seed_order_removal(s, victim, SAM_SEED_BY_EVICTED);
    return victim;
}

static struct track *new_track(struct sam_seed *s)
{
    for (int i = 0; i < SAM_SEED_MAX_TRACKS; i++)
        if (!s->track[i].used) {
            s->num_tracks = i < s->num_tracks ? s->num_tracks : i + 1;
            return &s->track[i];
        }
    return NULL;
}

static void start(struct sam_seed *s, const struct sam_seed_input *in, struct candidate *c,
                  struct track *t)
{
    *t = (struct track) { .used = true, .phase = SAM_SEED_TENTATIVE, .class_id = c->class_id,
                          .score = c->score, .is_awaited = true, .ordered = s->frame,
                          .prompted = s->frame, .last_box = c->box, .last_time = s->time,
                          .hits = 1 };
    struct sam_seed_decision *d = sam_seed_emit(s, SAM_SEED_START, SAM_SEED_BY_NEW, t);
    sam_seed_prompt(s, in, c, d);
    s->started[d - s->decision] = (int) (t - s->track);
    c->is_decided = true;
}

static bool may_be_born(struct sam_seed *s, const struct sam_seed_input *in,
                        const struct candidate *c, const struct record *r, int births,
                        enum sam_seed_reason *why)
{
    if (!is_seed(s, in, c, why) || !is_free(s, c, r, why))
        return false;
    *why = SAM_SEED_BY_OUTSIDE_ROI;
    if (!is_in_roi(s, c->box))
        return false;
    *why = SAM_SEED_BY_BORDER;
    if (sam_seed_border_part(c->box, s->width, s->height) > s->settings.birth_max_border)
        return false;
    *why = SAM_SEED_BY_ENOUGH;
    if (births >= s->settings.births_per_tick)
        return false;
    *why = SAM_SEED_BY_FULL;
    return make_room(s, c);
}

void sam_seed_give_birth(struct sam_seed *s, const struct sam_seed_input *in,
                         const struct record *r)
{
    int births = 0;

    for (int d = 0; d < s->num_candidates; d++) {
        struct candidate *c = &s->candidate[d];
        enum sam_seed_reason why = SAM_SEED_BY_FULL;

        if (c->is_decided)
            continue;
        struct track *t = may_be_born(s, in, c, r, births, &why) ? new_track(s) : NULL;
        if (t) {
            start(s, in, c, t);
            births++;
        } else {
            sam_seed_ignore(s, c, why);
        }
    }
}
