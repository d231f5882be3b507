// SPDX-License-Identifier: MIT
// Steps of a policy by hand: the test says what tracker and detector show.
#ifndef DRIVE_H
#define DRIVE_H

#include <string.h>

#include "../expect.h"
#include <samtrack/seed.h>

struct drive {
    struct sam_seed *seed;
    struct sam_seed_input in;
    struct sam_seed_output out;
    struct sam_object object[8];
    struct sam_seed_detection detection[8];
    uint64_t next_id;
};

static inline struct sam_seed_box square(double x, double y, double side) // upper left corner
{
    return (struct sam_seed_box) { (float) x, (float) y, (float) (x + side), (float) (y + side) };
}

static inline void drive_open(struct drive *v, const struct sam_seed_settings *settings)
{
    struct sam_error error;

    *v = (struct drive) { .in = { .size = sizeof(v->in), .width = 1000, .height = 1000,
                                  .oldest = UINT64_MAX } };
    expect(sam_seed_open(&v->seed, settings, &error) == SAM_OK, "%s", error.text);
}

// The tracker shows an object for the next steps; side 0: it is absent. iou 0.9.
static inline void show(struct drive *v, uint64_t id, struct sam_seed_box b)
{
    int i = 0;

    while (i < v->in.num_objects && v->object[i].id != id)
        i++;
    if (i == v->in.num_objects)
        v->in.num_objects++;
    v->object[i] = (struct sam_object) { .id = id, .slot = i + 1, .x = (int) b.x0, .y = (int) b.y0,
                                         .width = (int) (b.x1 - b.x0),
                                         .height = (int) (b.y1 - b.y0), .iou = 0.9f };
    v->object[i].area = v->object[i].width * v->object[i].height;
    v->object[i].score = v->object[i].area ? 5 : -5;
}

static inline void hide(struct drive *v, uint64_t id)
{
    show(v, id, square(0, 0, 0));
}

static inline void drop(struct drive *v, uint64_t id)
{
    for (int i = 0; i < v->in.num_objects; i++)
        if (v->object[i].id == id)
            v->object[i] = v->object[--v->in.num_objects];
}

// A detection of the next step, which becomes a tick.
static inline struct sam_seed_detection *found(struct drive *v, struct sam_seed_box b, double score,
                                               int class_id)
{
    struct sam_seed_detection *d = &v->detection[v->in.num_detections++];

    v->in.has_result = 1;
    *d = (struct sam_seed_detection) { .box = b, .score = (float) score, .class_id = class_id };
    return d;
}

// One step, 1/30 s after the last one, at `frame`; the ids of starts are 1, 2, ...
static inline void step_at(struct drive *v, uint64_t frame)
{
    struct sam_error error;

    v->in.time_ns += (int64_t) (frame - v->in.frame) * 33333333;
    v->in.frame = frame;
    v->in.objects = v->object;
    v->in.detections = v->detection;
    expect(sam_seed_step(v->seed, &v->in, &v->out, &error) == SAM_OK, "%s", error.text);
    for (int i = 0; i < v->out.num_decisions; i++)
        if (v->out.decisions[i].kind == SAM_SEED_START)
            expect(sam_seed_bind(v->seed, i, ++v->next_id, &error) == SAM_OK, "%s", error.text);
    v->in.has_result = v->in.num_detections = v->in.has_cut = 0;
}

static inline void step(struct drive *v)
{
    v->in.result_frame = v->in.frame + 1;
    step_at(v, v->in.frame + 1);
}

static inline void tick(struct drive *v) // with what was found, also if that is nothing
{
    v->in.has_result = 1;
    step(v);
}

static inline const struct sam_seed_decision *decided(const struct drive *v,
                                                      enum sam_seed_kind kind)
{
    for (int i = 0; i < v->out.num_decisions; i++)
        if (v->out.decisions[i].kind == kind)
            return &v->out.decisions[i];
    return NULL;
}

// Whether the last step made a decision of a kind for a reason.
static inline int has(const struct drive *v, enum sam_seed_kind kind, enum sam_seed_reason reason)
{
    for (int i = 0; i < v->out.num_decisions; i++)
        if (v->out.decisions[i].kind == kind && v->out.decisions[i].reason == reason)
            return 1;
    return 0;
}

static inline int phase_of(const struct drive *v, uint64_t id) // -1: no track
{
    struct sam_seed_track t;

    return sam_seed_find(v->seed, id, &t) == SAM_OK ? (int) t.phase : -1;
}

static inline double keep_alive_of(const struct drive *v, uint64_t id)
{
    struct sam_seed_track t = { 0 };

    sam_seed_find(v->seed, id, &t);
    return t.keep_alive;
}

// Object `id`, of class 1, shown at b and confirmed by a score of 0.9.
static inline void settle(struct drive *v, struct sam_seed_box b)
{
    found(v, b, 0.9, 1);
    step(v);
    expect(has(v, SAM_SEED_START, SAM_SEED_BY_NEW), "no start");
    show(v, v->next_id, b);
    step(v);
    expect(phase_of(v, v->next_id) == SAM_SEED_CONFIRMED, "not confirmed");
}

#define expect_has(v, kind, reason)                                                            \
    expect(has(v, SAM_SEED_##kind, SAM_SEED_BY_##reason), "no " #kind ", " #reason)
#define expect_phase(v, id, wanted)                                                            \
    expect(phase_of(v, id) == SAM_SEED_##wanted, "phase %d", phase_of(v, id))

#endif // DRIVE_H
