// SPDX-License-Identifier: MIT
// What the tests of late prompts share: prompts for any frame, and what a frame gave for an object,
// compared between two trackers, of which one got its prompts in time.
#ifndef LATE_H
#define LATE_H

#include <math.h>
#include <stdbool.h>

#include "scene.h"

enum { OBJECTS = 3, SPEED = 2, LOW = 64 * 64, ROOM = 1 << 16 };

static const char *model, *backend, *precision;
static int compared;

// How far logits and pointers may be apart. On a GPU the objects that are run together decide the
// shape of a product, and that the order of its sums, and the object that replays runs alone.
static float tolerance;

static void begin_test(char **argv)
{
    model = argv[1], backend = argv[2], precision = argv[3];
    tolerance = strcmp(backend, "cuda") ? 0 : 1e-2f;
}

static struct sam_params params_of(int history)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.precision = !strcmp(precision, "bf16") ? SAM_PRECISION_BF16 : SAM_PRECISION_FP32;
    p.max_objects = OBJECTS;
    p.lost_after = 3;
    p.history = history;
    p.poison = scene_is_guarded(backend);
    return p;
}

static bool can_run(void)
{
    const struct sam_params p = params_of(0);
    return scene_can_run(&p);
}

// ---- What a frame gave for one object.

struct shown {
    float low_res[LOW], pointer[512], memory[ROOM];
    struct sam_object object;
};

static void look(sam_tracker *t, const struct sam_result *r, uint64_t id, struct shown *s)
{
    const struct sam_object *o = object_in(r, id);

    memset(s, 0, sizeof(*s));
    expect(o && fetch(t, id, "low_res", s->low_res, LOW) &&
           fetch(t, id, "pointer", s->pointer, 512) && fetch(t, id, "memory", s->memory, ROOM),
           "object %d is not there", (int) id);
    if (o)
        s->object = *o;
    s->object.id = 0; // differs between the trackers
    s->object.slot = 0;
}

static float largest(const float *a, const float *b, size_t n)
{
    float d = 0;

    for (size_t i = 0; i < n; i++)
        d = fabsf(a[i] - b[i]) <= d ? d : fabsf(a[i] - b[i]);
    return d;
}

// Object by object, with the answer that it should have been.
static bool expect_same(sam_tracker *const t[2], const struct sam_result r[2], const uint64_t id[2],
                        const char *what, int frame)
{
    static struct shown a, b;

    look(t[0], &r[0], id[0], &a);
    look(t[1], &r[1], id[1], &b);
    compared++;
    const bool same = tolerance > 0 ? largest(a.low_res, b.low_res, LOW) <= tolerance &&
                                          largest(a.pointer, b.pointer, 512) <= tolerance &&
                                          a.object.state == b.object.state
                                    : !memcmp(&a, &b, sizeof(a));
    expect(same, "%s, frame %d: logits differ by %g, pointers by %g, memory by %g, states %d, %d",
           what, frame, (double) largest(a.low_res, b.low_res, LOW),
           (double) largest(a.pointer, b.pointer, 512), (double) largest(a.memory, b.memory, ROOM),
           (int) a.object.state, (int) b.object.state);
    return same;
}

// ---- Prompts.

enum kind { POINT, NEGATIVE, BOX, MASK, EMPTY, KINDS };

// A prompt of an object for a frame, given before the step `arrival`.
struct event {
    int object, frame, arrival;
    int undone; // before which step it is taken back; 0: never
    enum kind kind;
};

// Where the square k of the scene is on a frame, in fractions of its size.
static void square_at(int k, int frame, float box[4])
{
    const float x = (float) ((5 + 25 * k + SPEED * frame) % (SCENE_W - 16)), y = 5 + 17 * (float) k;

    box[0] = x / SCENE_W, box[1] = y / SCENE_H_PX;
    box[2] = (x + 16) / SCENE_W;
    box[3] = (y + 16 < SCENE_H_PX ? y + 16 : SCENE_H_PX) / SCENE_H_PX;
}

// frame -1: the prompt names none.
static int try_prompt(sam_tracker *t, uint64_t *id, const struct event *e, int64_t frame,
                      struct sam_error *error)
{
    uint8_t mask[SCENE_W * SCENE_H_PX];
    float box[4];

    square_at(e->object, e->frame, box);
    const struct sam_point point = { (box[0] + box[2]) / 2, (box[1] + box[3]) / 2,
                                     e->kind == POINT };
    struct sam_prompt p = SAM_PROMPT_INIT;
    p.id = *id;
    p.has_frame = frame >= 0;
    p.frame = frame >= 0 ? (uint64_t) frame : 12345;
    if (e->kind == BOX) {
        p.has_box = 1;
        memcpy(p.box, box, sizeof(box));
    } else if (e->kind == MASK || e->kind == EMPTY) {
        for (int i = 0; i < SCENE_W * SCENE_H_PX; i++) {
            const float x = (float) (i % SCENE_W) / SCENE_W, y = (float) (i / SCENE_W) / SCENE_H_PX;
            mask[i] = e->kind == MASK && x >= box[0] && x < box[2] && y >= box[1] && y < box[3];
        }
        p.mask = mask;
        p.mask_width = p.mask_stride = SCENE_W;
        p.mask_height = SCENE_H_PX;
    } else {
        p.points = &point;
        p.num_points = 1;
    }
    return sam_tracker_prompt(t, &p, id, error);
}

static void prompt(sam_tracker *t, uint64_t *id, const struct event *e, int64_t frame)
{
    struct sam_error error = { "" };

    expect(!try_prompt(t, id, e, frame, &error), "prompt of frame %d: %s", (int) frame, error.text);
}

static void undo(sam_tracker *t, uint64_t id)
{
    struct sam_error error = { "" };

    expect(!sam_tracker_undo(t, id, &error), "undo: %s", error.text);
}

#endif // LATE_H
