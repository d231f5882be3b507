// SPDX-License-Identifier: MIT
// refused MODEL BACKEND
// Nothing that a caller passes with a frame ends a tracker or changes what it gives: of two
// trackers of one script, one gets bad frames, label maps and prompts in between, one fault drawn
// at a time. Each is refused in a sentence, and both give the same masks, to the bit.
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>

#include "scene.h"

enum { FRAMES = 12, BAD_A_FRAME = 60, LOW = 64 * 64, SIDE = 20 };

static const float bad_weights[][2] = {
    { NAN, 0 }, { 0, NAN }, { -0.1f, 0.1f }, { 0.1f, -INFINITY }, { INFINITY, 0 }, { 1, 0 },
    { 0, 1 }, { 0.6f, 0.5f }, { FLT_MAX, FLT_MAX },
};

static int any_int(uint64_t *rng, const int *of, int n)
{
    return of[draw_int(rng, 0, n - 1)];
}

#define ANY_INT(rng, ...) \
    any_int(rng, (const int[]) { __VA_ARGS__ }, sizeof((int[]) { __VA_ARGS__ }) / sizeof(int))

static enum sam_pixel_format any_format(uint64_t *rng)
{
    return (enum sam_pixel_format) draw_int(rng, SAM_PIXEL_RGB, SAM_PIXEL_P010);
}

static bool has_colour(enum sam_pixel_format f)
{
    return f >= SAM_PIXEL_NV12;
}

// A frame of any format over memory that is enough for each.
static struct sam_frame any_frame(uint64_t *rng)
{
    static uint8_t memory[3][SIDE * SIDE * 4];

    return (struct sam_frame) { .size = sizeof(struct sam_frame),
                                .format = any_format(rng), .width = draw_int(rng, 1, SIDE),
                                .height = draw_int(rng, 1, SIDE),
                                .plane = { memory[0], memory[1], memory[2] },
                                .stride = { SIDE * 4, SIDE * 4, SIDE * 4 } };
}

// One fault in it.
static void spoil_frame(struct sam_frame *f, uint64_t *rng)
{
    const float *weights = bad_weights[draw_int(rng, 0, 8)];
    const int bad_side = ANY_INT(rng, 0, -1, 16385, INT_MAX, INT_MIN);

    switch (draw_int(rng, 0, 6)) {
    case 0: f->format = (enum sam_pixel_format) ANY_INT(rng, -1, 9, 99, INT_MAX, INT_MIN); break;
    case 1: f->width = bad_side; break;
    case 2: f->height = bad_side; break;
    case 3: f->plane[0] = NULL; break;
    case 4: f->stride[0] = ANY_INT(rng, 0, -1, -SIDE * 4, INT_MIN); break;
    case 5: f->on_device = ANY_INT(rng, 1, -1); break;
    case 6:
        f->format = has_colour(f->format) ? f->format : SAM_PIXEL_NV12;
        f->colour = (struct sam_colour) { weights[0], weights[1], draw_int(rng, 0, 1) };
        break;
    }
}

static void spoil_labels(struct sam_labels *l, uint64_t *rng)
{
    const int bad_side = ANY_INT(rng, 0, -1, 16385, INT_MAX, INT_MIN);

    switch (draw_int(rng, 0, 4)) {
    case 0: l->data = NULL; break;
    case 1: l->width = bad_side; break;
    case 2: l->height = bad_side; break;
    case 3: l->stride = ANY_INT(rng, 0, -1, SIDE - 1, INT_MIN); break;
    case 4: l->on_device = 1; break;
    }
}

static void expect_alive(int status, const struct sam_error *e, const char *what)
{
    expect(status == SAM_EINVAL, "%s: status %d: %s", what, status, e->text);
    expect(!strstr(e->text, "must be closed"), "%s: %s", what, e->text);
}

static void step_badly(sam_tracker *t, uint64_t *rng)
{
    static uint8_t map[SIDE * SIDE];
    struct sam_labels labels = { map, SIDE, SIDE, SIDE, 0 };
    struct sam_frame frame = any_frame(rng);
    struct sam_error error = { "" };
    struct sam_result r = { .size = sizeof(struct sam_result), .num_objects = 9 };
    const int what = draw_int(rng, 0, 3);

    if (what < 2)
        spoil_frame(&frame, rng);
    else
        spoil_labels(&labels, rng);
    if (what == 3) {
        expect_alive(sam_tracker_draw(t, &labels, &error), &error, "draw");
        return;
    }
    expect_alive(sam_tracker_step(t, &frame, what ? &labels : NULL, &r, &error), &error, "step");
    expect(!r.num_objects, "a refused frame gives %d objects", r.num_objects);
}

static void prompt_badly(sam_tracker *t, uint64_t id, uint64_t *rng)
{
    static const uint8_t mask[4] = { 1 };
    const float numbers[] = { NAN, INFINITY, -INFINITY, -0.001f, 1.001f, FLT_MAX };
    const float bad = numbers[draw_int(rng, 0, 5)];
    const int bad_side = ANY_INT(rng, 0, -1, 16385, INT_MAX, INT_MIN), at = draw_int(rng, 0, 3);
    struct sam_point points[2] = { { 0.5f, 0.5f, 1 }, { 0.5f, 0.5f, 0 } };
    struct sam_prompt p = { .size = sizeof(struct sam_prompt),
                            .id = draw_int(rng, 0, 1) ? id : 0 };
    struct sam_error error = { "" };

    switch (draw_int(rng, 0, 4)) {
    case 0:
        p.num_points = ANY_INT(rng, -1, 33, INT_MAX, INT_MIN);
        p.points = points;
        break;
    case 1:
        p.num_points = 2, p.points = points;
        *(at % 2 ? &points[at / 2].x : &points[at / 2].y) = bad;
        break;
    case 2:
        p.num_points = 1, p.points = points;
        points[0].label = ANY_INT(rng, -1, 2, INT_MAX, INT_MIN);
        break;
    case 3:
        p.has_box = 1;
        p.box[0] = p.box[1] = 0.2f, p.box[2] = p.box[3] = 0.8f;
        p.box[at] = bad;
        break;
    case 4:
        p.mask = mask, p.mask_width = p.mask_height = p.mask_stride = 2;
        *(at == 0 ? &p.mask_width : at == 1 ? &p.mask_height : &p.mask_stride) =
            at < 2 ? bad_side : ANY_INT(rng, 1, 0, -2, INT_MIN);
        break;
    }
    expect_alive(sam_tracker_prompt(t, &p, NULL, &error), &error, "prompt");
}

// Colour has no meaning here, whatever it says.
static void check_colour_of_rgb(sam_tracker *t)
{
    struct scene s;
    struct sam_frame f = *scene_draw(&s, FRAMES);
    struct sam_error error = { "" };

    for (int i = 0; i < 9; i++) {
        f.colour = (struct sam_colour) { bad_weights[i][0], bad_weights[i][1], 7 };
        f.format = i % 2 ? SAM_PIXEL_RGB : SAM_PIXEL_GRAY8;
        expect(!sam_tracker_step(t, &f, NULL, NULL, &error), "kr %g, kb %g of RGB: %s",
               (double) f.colour.kr, (double) f.colour.kb, error.text);
    }
}

int main(int argc, char **argv)
{
    static float low[2][LOW];
    struct sam_params p = scene_params(argv[1]);
    uint64_t rng = 40, id[2];
    struct scene s;
    sam_tracker *t[2];

    p.backend = scene_backend(argv[2]);
    p.precision = p.backend == SAM_BACKEND_CUDA ? SAM_PRECISION_BF16 : SAM_PRECISION_FP32;
    p.max_objects = 2;
    printf("seed %d\n", (int) rng);
    for (int i = 0; i < 2; i++) {
        t[i] = scene_open(&p);
        id[i] = give_box(t[i], 0, 0.1f, 0.1f, 0.5f, 0.6f);
    }
    for (int f = 0; f < FRAMES && expect_failed < 20; f++) {
        for (int i = 0; i < BAD_A_FRAME; i++)
            if (draw_int(&rng, 0, 1))
                step_badly(t[0], &rng);
            else
                prompt_badly(t[0], id[0], &rng);
        for (int i = 0; i < 2; i++) {
            const struct sam_result r = step(t[i], &s, f);
            expect(r.num_objects == 1 && r.frame_index == (uint64_t) f, "frame %d: %d objects", f,
                   r.num_objects);
            expect(fetch(t[i], id[i], "low_res", low[i], LOW) > 0, "frame %d: no mask", f);
        }
        expect(!memcmp(low[0], low[1], sizeof(low[0])), "frame %d: another mask", f);
    }
    check_colour_of_rgb(t[0]);
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
    return expect_status();
}
