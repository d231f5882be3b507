// SPDX-License-Identifier: MIT
#include "world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../expect.h" // draw()

// A broken promise of the policy, which every test checks at the end.
#define promise(w, cond, ...)                                                                  \
    do {                                                                                       \
        if (!(cond)) {                                                                         \
            (w)->broken++;                                                                     \
            fprintf(stderr, "frame %d: %s: ", (int) (w)->frame, #cond);                        \
            fprintf(stderr, __VA_ARGS__);                                                      \
            fputc('\n', stderr);                                                               \
        }                                                                                      \
    } while (0)

void world_open(struct world *w, const struct sam_seed_settings *settings, uint64_t seed)
{
    struct sam_seed_settings defaults;
    struct sam_error error;

    sam_seed_defaults(&defaults, sizeof(defaults));
    settings = settings ? settings : &defaults;
    *w = (struct world) { .rng = seed, .max_objects = settings->max_objects, .delay = 1,
                          .held = 8, .memory = 10 };
    promise(w, sam_seed_open(&w->seed, settings, &error) == SAM_OK, "%s", error.text);
}

int world_close(struct world *w)
{
    sam_seed_close(&w->seed);
    return w->broken;
}

double world_random(struct world *w)
{
    return (double) (draw(&w->rng) >> 11) * 0x1p-53;
}

// ---- The detector.

static float noisy(struct world *w, float value, double side)
{
    return value + (float) ((world_random(w) + world_random(w) - 1) * 2 * w->noise * side);
}

static void detect(struct world *w, struct flight *f)
{
    *f = (struct flight) { .is_used = true, .frame = w->frame };
    for (int i = 0; i < w->num_things; i++) {
        const struct thing *t = &w->thing[i];
        const double side = t->box.x1 - t->box.x0;
        struct sam_seed_detection d = { .box = t->box, .score = t->score,
                                        .class_id = t->class_id };

        if (!t->is_visible || !t->is_detected || (w->miss > 0 && world_random(w) < w->miss))
            continue;
        if (w->noise > 0)
            d.box = (struct sam_seed_box) { noisy(w, d.box.x0, side), noisy(w, d.box.y0, side),
                                            noisy(w, d.box.x1, side), noisy(w, d.box.y1, side) };
        f->detection[f->count++] = d;
        if (t->second_class == -2)
            continue;
        d.class_id = t->second_class;
        d.score -= 0.02f;
        f->detection[f->count++] = d;
    }
    for (double rest = w->false_rate; rest > 0 && world_random(w) < rest; rest--)
        f->detection[f->count++] = (struct sam_seed_detection) {
            .box = box_at(world_random(w) * WORLD_WIDTH, world_random(w) * WORLD_HEIGHT,
                          40 + world_random(w) * 120),
            .score = (float) (0.5 + world_random(w) * 0.4) };
}

// ---- The tracker.

static struct tracked *by_id(struct world *w, uint64_t id, int *slot)
{
    for (int i = 1; i <= w->max_objects; i++)
        if (w->tracked[i].is_used && w->tracked[i].id == id) {
            if (slot)
                *slot = i;
            return &w->tracked[i];
        }
    return NULL;
}

static double common_iou(struct sam_seed_box a, struct sam_seed_box b)
{
    const double x = fmin(a.x1, b.x1) - fmax(a.x0, b.x0), y = fmin(a.y1, b.y1) - fmax(a.y0, b.y0);
    const double one = ((double) a.x1 - a.x0) * ((double) a.y1 - a.y0);
    const double two = ((double) b.x1 - b.x0) * ((double) b.y1 - b.y0);

    return x > 0 && y > 0 ? x * y / (one + two - x * y) : 0;
}

// What a prompt selects: the visible thing that fits the box best.
static int thing_in(const struct world *w, struct sam_seed_box box)
{
    double best = 0.2;
    int found = -1;

    for (int i = 0; i < w->num_things; i++) {
        const double iou = w->thing[i].is_visible ? common_iou(w->thing[i].box, box) : 0;
        if (iou > best) {
            best = iou;
            found = i;
        }
    }
    return found;
}

static struct tracked *add(struct world *w)
{
    for (int slot = 1; slot <= w->max_objects; slot++)
        if (!w->tracked[slot].is_used) {
            w->tracked[slot] = (struct tracked) { .is_used = true, .id = ++w->next_id,
                                                  .prompted = w->frame, .thing = -1 };
            return &w->tracked[slot];
        }
    return NULL;
}

static void drop(struct world *w, uint64_t id)
{
    struct tracked *t = by_id(w, id, NULL);

    if (t)
        t->is_used = false;
}

static void carry_out(struct world *w, int index)
{
    const struct sam_seed_decision *d = &w->out.decisions[index];
    struct sam_error error;
    struct tracked *t;

    switch (d->kind) {
    case SAM_SEED_START:
        if (!(t = add(w))) {
            w->refusals++;
            return;
        }
        promise(w, sam_seed_bind(w->seed, index, t->id, &error) == SAM_OK, "%s", error.text);
        t->thing = thing_in(w, d->box);
        return;
    case SAM_SEED_REMOVE: drop(w, d->id); return;
    case SAM_SEED_REACQUIRE:
    case SAM_SEED_RECONDITION:
        t = by_id(w, d->id, NULL);
        promise(w, t, "%s of %d, which is not tracked", sam_seed_kind_name(d->kind), (int) d->id);
        if (t && thing_in(w, d->box) >= 0) {
            t->thing = thing_in(w, d->box);
            t->is_lost = false;
            t->hidden = 0;
        }
        return;
    default: return;
    }
}

static void list_objects(struct world *w)
{
    w->num_objects = 0;
    for (int slot = 1; slot <= w->max_objects; slot++) {
        struct tracked *t = &w->tracked[slot];
        struct sam_object *o = &w->object[w->num_objects];

        if (!t->is_used)
            continue;
        t->is_shown = true;
        const struct thing *on = t->thing >= 0 ? &w->thing[t->thing] : NULL;
        const bool is_there = on && on->is_visible;
        t->hidden = is_there ? t->hidden : t->hidden + 1;
        t->is_lost |= t->hidden > w->memory;
        *o = (struct sam_object) { .id = t->id, .slot = slot, .score = -4, .iou = 0.1f };
        if (is_there && !t->is_lost) {
            t->hidden = 0;
            o->score = 6;
            o->iou = 0.9f;
            o->x = (int) on->box.x0, o->y = (int) on->box.y0;
            o->width = (int) (on->box.x1 - on->box.x0), o->height = (int) (on->box.y1 - on->box.y0);
            o->area = o->width * o->height;
        }
        w->num_objects++;
    }
}

static void draw_labels(struct world *w)
{
    memset(w->labels, 0, sizeof(w->labels));
    for (int i = w->num_objects - 1; i >= 0; i--) {
        const struct sam_object *o = &w->object[i];

        for (int y = 0; y < SAM_SEED_GRID; y++) {
            const double py = (y + 0.5) * WORLD_HEIGHT / SAM_SEED_GRID;

            for (int x = 0; x < SAM_SEED_GRID && py >= o->y && py < o->y + o->height; x++) {
                const double px = (x + 0.5) * WORLD_WIDTH / SAM_SEED_GRID;
                if (px >= o->x && px < o->x + o->width)
                    w->labels[y * SAM_SEED_GRID + x] = (uint8_t) o->slot;
            }
        }
    }
}

void world_step(struct world *w)
{
    struct sam_error error;

    w->frame++;
    list_objects(w);
    if (w->has_labels)
        draw_labels(w);
    if (!w->delay && w->frame % w->interval == 0)
        detect(w, &w->flight);
    struct flight *f = &w->flight;
    struct sam_seed_input in = {
        .size = sizeof(in),
        .frame = w->frame, .time_ns = (int64_t) w->frame * FRAME_NS, .width = WORLD_WIDTH,
        .height = WORLD_HEIGHT, .num_objects = w->num_objects, .objects = w->object,
        .labels = w->has_labels ? w->labels : NULL, .has_cut = w->has_cut,
        .oldest = w->frame > w->held ? w->frame - w->held : 0,
    };
    if (f->is_used && f->frame + w->delay <= w->frame) {
        in.has_result = true;
        in.result_frame = f->frame;
        in.num_detections = f->count;
        in.detections = f->detection;
        f->is_used = false;
    }
    in.busy = f->is_used;
    w->has_cut = false;
    promise(w, sam_seed_step(w->seed, &in, &w->out, &error) == SAM_OK, "%s", error.text);
    promise(w, w->out.work <= SAM_SEED_MAX_WORK, "work %d", (int) w->out.work);
    for (int i = 0; i < w->out.num_decisions; i++) {
        w->count[w->out.decisions[i].kind][w->out.decisions[i].reason]++;
        carry_out(w, i);
    }
    w->requests[w->out.detect]++;
    if (w->out.detect && w->delay)
        detect(w, f);
}

uint64_t world_shown(const struct world *w, int thing, int *count)
{
    uint64_t id = 0;

    *count = 0;
    for (int slot = 1; slot <= w->max_objects; slot++) {
        const struct tracked *t = &w->tracked[slot];
        struct sam_seed_track track;

        if (!t->is_used || !t->is_shown || t->thing != thing || t->is_lost ||
            !w->thing[thing].is_visible ||
            sam_seed_find(w->seed, t->id, &track) != SAM_OK || !track.is_published)
            continue;
        ++*count;
        id = !id || t->id < id ? t->id : id;
    }
    return id;
}
