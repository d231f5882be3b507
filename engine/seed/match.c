// SPDX-License-Identifier: MIT
// A tick: which detection is which track, and what that means for tracks in every phase.
#include <math.h>

#include "state.h"

static struct pair compare(const struct candidate *c, const struct seen *seen,
                           uint32_t common, uint32_t mine, uint32_t its)
{
    struct pair p = { .iou = sam_seed_box_iou(c->box, seen->box), .coverage = 1,
                      .containment = sam_seed_box_containment(c->box, seen->box) };

    if (!mine || !its) // without masks, or too small for the grid
        return p;
    p.coverage = (double) common / its;
    p.containment = (double) common / (mine < its ? mine : its);
    if (c->mask) {
        p.iou = (double) common / (mine + its - common);
        p.is_of_masks = true;
    }
    return p;
}

static void compare_all(struct sam_seed *s, struct candidate *c, const struct record *r)
{
    uint32_t common[256] = { 0 }, mine = 0;
    double covered = 0;

    if (r->has_labels)
        s->work += (uint64_t) sam_seed_count_cells(common, r->labels, c->box, c->mask, s->width,
                                                   s->height);
    for (int l = 0; l < 256; l++)
        mine += common[l];
    for (int i = 0; i < s->num_tracks; i++) {
        const struct seen *seen = &r->seen[i];
        struct pair *p = &s->pair[c - s->candidate][i];

        s->work++;
        *p = (struct pair) { 0 };
        if (!s->track[i].used || !seen->is_visible || seen->id != s->track[i].id)
            continue;
        *p = compare(c, seen, common[seen->label], mine, seen->label ? r->cells[seen->label] : 0);
        covered += sam_seed_box_common(c->box, seen->box);
    }
    c->background = mine ? (double) common[0] / mine : 1 - covered / sam_seed_box_area(c->box);
}

static bool is_enough(const struct sam_seed *s, const struct pair *p)
{
    return p->iou > 0 && p->coverage >= s->settings.match_coverage && sam_seed_fits(s, p);
}

// Whether the record's frame tells about the track: it was there, and not prompted since.
static bool is_judged(const struct track *t, const struct seen *seen, const struct record *r)
{
    return t->used && t->id && seen->id == t->id && !t->is_awaited &&
           t->phase != SAM_SEED_DYING && t->prompted <= r->frame;
}

static bool can_match(const struct sam_seed *s, const struct candidate *c, int i,
                      const struct record *r)
{
    const struct track *t = &s->track[i];

    return is_judged(t, &r->seen[i], r) && sam_seed_same_class(s, c->class_id, t->class_id) &&
           is_enough(s, &s->pair[c - s->candidate][i]);
}

// The pair with the largest IoU; of equal ones that of the better detection, then of the older id.
static bool find_best(struct sam_seed *s, const struct record *r, int *detection, int *track)
{
    double best = 0;
    bool found = false;

    for (int d = 0; d < s->num_candidates; d++)
        for (int i = 0; i < s->num_tracks && !s->candidate[d].is_decided; i++) {
            const double iou = s->pair[d][i].iou;

            s->work++;
            if (s->is_matched[i] || iou < best || !can_match(s, &s->candidate[d], i, r) ||
                (found && iou == best && (d > *detection || s->track[i].id > s->track[*track].id)))
                continue;
            best = iou;
            found = true;
            *detection = d;
            *track = i;
        }
    return found;
}

static bool should_recondition(const struct sam_seed *s, const struct sam_seed_input *in,
                               const struct candidate *c, const struct track *t,
                               const struct pair *p, const struct seen *seen)
{
    return t->phase == SAM_SEED_CONFIRMED && p->iou > s->settings.recondition_iou &&
           c->score > s->settings.recondition_score &&
           seen->strength > s->settings.recondition_score && t->now.is_visible &&
           s->frame - t->prompted >= (uint64_t) s->settings.recondition_gap &&
           sam_seed_can_prompt(s, in);
}

static void take_match(struct sam_seed *s, const struct sam_seed_input *in, struct candidate *c,
                       int i, const struct record *r)
{
    struct track *t = &s->track[i];
    const struct pair *p = &s->pair[c - s->candidate][i];
    struct sam_seed_decision *d;

    s->is_matched[i] = true;
    c->is_decided = true;
    if (should_recondition(s, in, c, t, p, &r->seen[i])) {
        d = sam_seed_emit(s, SAM_SEED_RECONDITION, SAM_SEED_BY_AGREES, t);
        sam_seed_prompt(s, in, c, d);
        t->prompted = s->frame;
    } else {
        d = sam_seed_emit(s, SAM_SEED_MATCH, SAM_SEED_BY_MATCHED, t);
    }
    d->detection = c->index;
    t->score = c->score;
    if (t->phase == SAM_SEED_TENTATIVE) {
        t->hits++;
        sam_seed_try_to_confirm(s, t);
    } else if (t->phase == SAM_SEED_CONFIRMED) {
        const int most = s->settings.keep_alive * KEEP_ALIVE_UNIT;
        t->keep_alive = t->keep_alive + KEEP_ALIVE_UNIT < most ? t->keep_alive + KEEP_ALIVE_UNIT
                                                               : most;
    } else if (t->phase == SAM_SEED_SHADOWED && t->now.is_visible) {
        sam_seed_emit(s, SAM_SEED_RETURN, SAM_SEED_BY_MATCHED, t);
        sam_seed_revive(s, t);
    }
}

// The candidate that fits a track best, whatever else it fits; -1: none.
static int best_for(struct sam_seed *s, int i, const struct record *r)
{
    int best = -1;

    for (int d = 0; d < s->num_candidates; d++) {
        s->work++;
        if (!s->candidate[d].is_decided && can_match(s, &s->candidate[d], i, r) &&
            (best < 0 || s->pair[d][i].iou > s->pair[best][i].iou))
            best = d;
    }
    return best;
}

static bool is_younger(const struct track *a, const struct track *b)
{
    if ((a->phase == SAM_SEED_USERS) != (b->phase == SAM_SEED_USERS))
        return b->phase == SAM_SEED_USERS;
    return a->id > b->id;
}

// Whether an older track has the best detection of the track i for its own best one.
static bool shares_detection(struct sam_seed *s, int i, const int *best)
{
    for (int k = 0; k < s->num_tracks; k++) {
        s->work++;
        if (k != i && best[i] >= 0 && best[k] == best[i] && s->is_matched[k] &&
            is_younger(&s->track[i], &s->track[k]))
            return true;
    }
    return false;
}

static void take_miss(struct sam_seed *s, struct track *t, const struct seen *seen)
{
    if (t->phase == SAM_SEED_TENTATIVE) {
        t->misses++;
        if (t->misses > s->settings.confirm_window - s->settings.confirm_hits)
            sam_seed_order_removal(s, t, SAM_SEED_BY_MISSED);
    } else if (t->phase == SAM_SEED_CONFIRMED) {
        const bool is_strong = seen->strength >= s->settings.strong_score &&
                               seen->area >= s->settings.min_area;
        t->keep_alive -= is_strong ? 1 : KEEP_ALIVE_UNIT;
        if (t->keep_alive <= 0)
            sam_seed_shade(s, t, SAM_SEED_BY_UNSUPPORTED);
    }
}

// Two tracks as they are now. From a label map and the masks' own areas: what the masks have in
// common is what is missing where both are drawn.
static double twin_iou(const struct sam_seed *s, const struct seen *a, const struct seen *b)
{
    const double boxes = sam_seed_box_iou(a->box, b->box);
    const uint32_t *cells = s->now.cells;
    const double all = SAM_SEED_GRID * SAM_SEED_GRID;

    if (!s->now.has_labels || !a->label || !b->label || a->label == b->label)
        return boxes;
    const double both = (cells[a->label] + cells[b->label]) / all;
    if (both <= 0)
        return boxes;
    return fmin(boxes, fmax(0, a->area + b->area - both) / both);
}

// Of two tracks that are duplicates, the user's stays, else the confirmed one, else the older one.
static bool gives_way(const struct track *a, const struct track *b)
{
    if ((a->phase == SAM_SEED_USERS) != (b->phase == SAM_SEED_USERS) ||
        a->phase == b->phase)
        return a->phase != SAM_SEED_USERS && is_younger(a, b);
    return a->phase == SAM_SEED_TENTATIVE;
}

static void remove_twins(struct sam_seed *s)
{
    for (int i = 0; i < s->num_tracks; i++) {
        struct track *t = &s->track[i];
        const struct track *twin = NULL;

        for (int k = 0; k < s->num_tracks && sam_seed_lives(t) && t->now.is_visible; k++) {
            const struct track *o = &s->track[k];

            s->work++;
            if (k != i && sam_seed_lives(o) && o->now.is_visible && gives_way(t, o) &&
                twin_iou(s, &t->now, &o->now) >= s->settings.duplicate_iou &&
                (!twin || o->id < twin->id))
                twin = o;
        }
        t->twin_ticks = !twin ? 0 : t->twin == twin->id ? t->twin_ticks + 1 : 1;
        t->twin = twin ? twin->id : 0;
        if (twin && t->twin_ticks >= s->settings.duplicate_ticks)
            sam_seed_order_removal(s, t, SAM_SEED_BY_DUPLICATE);
    }
}

void sam_seed_match(struct sam_seed *s, const struct sam_seed_input *in, const struct record *r)
{
    int best[SAM_SEED_MAX_TRACKS], detection = 0, track = 0;

    for (int d = 0; d < s->num_candidates; d++)
        if (!s->candidate[d].is_decided)
            compare_all(s, &s->candidate[d], r);
    for (int i = 0; i < s->num_tracks; i++) {
        s->is_matched[i] = false;
        best[i] = best_for(s, i, r);
    }
    while (find_best(s, r, &detection, &track))
        take_match(s, in, &s->candidate[detection], track, r);
    for (int i = 0; i < s->num_tracks; i++) {
        struct track *t = &s->track[i];

        if (s->is_matched[i] || !is_judged(t, &r->seen[i], r))
            continue;
        if (t->phase == SAM_SEED_TENTATIVE && shares_detection(s, i, best) &&
            ++t->shared >= s->settings.shared_ticks)
            sam_seed_order_removal(s, t, SAM_SEED_BY_SHARED);
        else
            take_miss(s, t, &r->seen[i]);
    }
    remove_twins(s);
}
