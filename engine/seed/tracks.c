// SPDX-License-Identifier: MIT
// What each frame of the tracker does to the tracks: presence, probation's end by absence, shadow
// and its exits, death.
#include <math.h>

#include "state.h"

static struct track *find_track(struct sam_seed *s, uint64_t id)
{
    for (int i = 0; i < s->num_tracks; i++)
        if (s->track[i].used && s->track[i].id == id)
            return &s->track[i];
    return NULL;
}

static void forget(struct sam_seed *s, struct track *t, enum sam_seed_reason reason)
{
    sam_seed_emit(s, SAM_SEED_FORGET, reason, t);
    t->used = false;
}

static struct seen look_at(const struct sam_seed *s, const struct sam_object *o)
{
    const float x0 = (float) o->x, y0 = (float) o->y;
    struct seen seen = { .id = o->id };

    seen.box = sam_seed_clip(
        (struct sam_seed_box) { x0, y0, x0 + (float) o->width, y0 + (float) o->height }, s->width,
        s->height);
    if (!(o->score > 0) || sam_seed_box_area(seen.box) <= 0)
        return seen;
    seen.is_visible = true;
    seen.label = o->slot >= 1 && o->slot <= SAM_MAX_OBJECTS ? o->slot : 0;
    seen.area = fmin(fmax(o->area / (s->width * s->height), 0), 1);
    seen.strength = isfinite(o->iou) ? fmin(fmax(o->iou, 0), 1) : 0;
    return seen;
}

static bool is_plausible(const struct sam_seed *s, const struct seen *seen)
{
    return seen->is_visible && seen->area >= s->settings.min_area &&
           seen->area <= s->settings.max_area;
}

// An object that this policy did not order.
static struct track *meet(struct sam_seed *s, uint64_t id)
{
    for (int i = 0; i < SAM_SEED_MAX_TRACKS; i++) {
        if (s->track[i].used)
            continue;
        s->num_tracks = i < s->num_tracks ? s->num_tracks : i + 1;
        s->track[i] = (struct track) { .used = true, .id = id, .phase = SAM_SEED_USERS,
                                       .class_id = SAM_SEED_NO_CLASS };
        return &s->track[i];
    }
    s->stats.unfollowed++;
    return NULL;
}

static void take_objects(struct sam_seed *s, const struct sam_seed_input *in)
{
    for (int i = 0; i < s->num_tracks; i++) {
        s->track[i].is_listed = false;
        s->track[i].now = (struct seen) { 0 };
    }
    for (int i = 0; i < in->num_objects; i++) {
        const uint64_t id = in->objects[i].id;
        struct track *t = id ? find_track(s, id) : NULL;

        if (id && !t)
            t = meet(s, id);
        if (!t || t->is_listed) // twice in one list: the first one counts
            continue;
        t->is_listed = true;
        t->now = look_at(s, &in->objects[i]);
        if (id > s->highest_id)
            s->highest_id = id;
    }
}

void sam_seed_shade(struct sam_seed *s, struct track *t, enum sam_seed_reason reason)
{
    sam_seed_emit(s, SAM_SEED_SHADOW, reason, t);
    t->phase = SAM_SEED_SHADOWED;
    t->shadow_frame = s->frame;
    t->shadow_time = s->time;
    t->was_absent = t->absent > 0;
    t->back = 0;
    s->wanted |= 1u << SAM_SEED_REQUEST_LOSS;
}

void sam_seed_revive(struct sam_seed *s, struct track *t)
{
    t->phase = SAM_SEED_CONFIRMED;
    t->keep_alive = s->settings.keep_alive_start * KEEP_ALIVE_UNIT;
    t->absent = 0;
}

void sam_seed_try_to_confirm(struct sam_seed *s, struct track *t)
{
    const bool is_instant = t->score >= s->settings.instant_confirm_score;

    if (!is_instant && t->hits < s->settings.confirm_hits)
        return;
    sam_seed_emit(s, SAM_SEED_CONFIRM, is_instant ? SAM_SEED_BY_INSTANT : SAM_SEED_BY_HITS, t);
    sam_seed_revive(s, t);
}

// Returns false if the track has ended, or its order waits.
static bool keep_listed(struct sam_seed *s, struct track *t)
{
    const uint64_t waited = s->frame - t->ordered, limit = (uint64_t) s->settings.start_frames;

    if (t->phase == SAM_SEED_DYING) {
        if (!t->is_listed)
            t->used = false;
        else if (waited >= limit) // the removal was lost: order it again
            sam_seed_order_removal(s, t, t->removed_by);
        return false;
    }
    if (t->is_listed) {
        if (t->is_awaited)
            sam_seed_try_to_confirm(s, t);
        t->is_awaited = false;
        return true;
    }
    if (t->is_awaited && t->id && waited < limit)
        return false;
    forget(s, t, t->is_awaited ? SAM_SEED_BY_NOT_STARTED : SAM_SEED_BY_GONE);
    return false;
}

static void follow_shadow(struct sam_seed *s, struct track *t)
{
    const int64_t timeout = (int64_t) s->settings.shadow_timeout * 1000000;

    // A mask that never went away is the one that was not believed: it takes a detection.
    t->was_absent |= !t->now.is_visible;
    t->back = t->was_absent && is_plausible(s, &t->now) ? t->back + 1 : 0;
    if (t->back >= (uint64_t) s->settings.found_frames) {
        sam_seed_emit(s, SAM_SEED_RETURN, SAM_SEED_BY_REAPPEARED, t);
        sam_seed_revive(s, t);
    } else if (s->time - t->shadow_time >= timeout) {
        sam_seed_order_removal(s, t, SAM_SEED_BY_TIMEOUT);
    }
}

// Its box and motion, where it is visible and believed.
static void follow_box(struct sam_seed *s, struct track *t)
{
    const struct sam_seed_box *a = &t->last_box, *b = &t->now.box;
    const double passed = (double) (s->time - t->last_time) / 1e9;

    if (passed > 0 && passed < 1 && sam_seed_box_area(*a) > 0) {
        // A mean over about a quarter of a second, whatever the frame rate.
        const double part = fmin(1, passed / 0.25);
        t->speed_x += part * ((b->x0 + b->x1 - a->x0 - a->x1) / 2 / passed - t->speed_x);
        t->speed_y += part * ((b->y0 + b->y1 - a->y0 - a->y1) / 2 / passed - t->speed_y);
    }
    t->last_box = *b;
    t->last_time = s->time;
}

static void follow_one(struct sam_seed *s, struct track *t)
{
    t->absent = t->now.is_visible ? 0 : t->absent + 1;
    if (t->phase == SAM_SEED_SHADOWED)
        follow_shadow(s, t);
    else if (t->phase == SAM_SEED_TENTATIVE &&
             t->absent >= (uint64_t) s->settings.absent_frames)
        sam_seed_order_removal(s, t, SAM_SEED_BY_ABSENT);
    else if (t->phase == SAM_SEED_CONFIRMED && t->absent >= (uint64_t) s->settings.lost_frames)
        sam_seed_shade(s, t, SAM_SEED_BY_LOST);
    if (t->now.is_visible && t->phase != SAM_SEED_SHADOWED)
        follow_box(s, t);
}

// A track on probation has no identity that would be worth a shadow.
static void cut(struct sam_seed *s, struct track *t)
{
    if (t->phase == SAM_SEED_TENTATIVE && t->id)
        sam_seed_order_removal(s, t, SAM_SEED_BY_CUT);
    else if (t->phase == SAM_SEED_CONFIRMED)
        sam_seed_shade(s, t, SAM_SEED_BY_CUT);
}

void sam_seed_follow(struct sam_seed *s, const struct sam_seed_input *in)
{
    take_objects(s, in);
    for (int i = 0; i < s->num_tracks; i++) {
        struct track *t = &s->track[i];

        if (t->used && t->ending)
            sam_seed_end(s, t);
        if (t->used && in->has_cut)
            cut(s, t);
        if (t->used && keep_listed(s, t))
            follow_one(s, t);
    }
    while (s->num_tracks > 0 && !s->track[s->num_tracks - 1].used)
        s->num_tracks--;
}
