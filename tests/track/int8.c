// SPDX-License-Identifier: MIT
// usage: int8 MODEL
// precision=int8 rounds every row by its own largest number, so there are no frames that it is
// calibrated on: what it says must not depend on which come first. A single frame, frames of one
// colour, from the first one on, and a scene behind them give finite numbers; and in a model that
// was trained the masks of fp32.
#include <math.h>

#include "scene.h"

// Of the two precisions, on every frame of the scene: 1 was seen.
static const double LEAST_IOU = 0.9;

static double iou_of(const struct scene_held *a, const struct scene_held *b)
{
    int both = 0, either = 0;
    for (size_t i = 0; i < SCENE_ROOM(a->low_res); i++) {
        both += a->low_res[i] > 0 && b->low_res[i] > 0;
        either += a->low_res[i] > 0 || b->low_res[i] > 0;
    }
    return either ? (double) both / either : 1;
}

static bool are_finite(const float *x, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++)
        all &= isfinite(x[i]) != 0;
    return all;
}

static void expect_finite(sam_tracker *t, const struct sam_result *r, uint64_t id, int frame)
{
    struct scene_held held;
    const struct sam_object *o = object_in(r, id);
    scene_look(t, id, &held);
    expect(o && isfinite(o->score) && isfinite(o->iou) && isfinite(held.score) &&
               are_finite(held.low_res, SCENE_ROOM(held.low_res)) &&
               are_finite(held.pointer, SCENE_ROOM(held.pointer)) &&
               are_finite(held.memory, SCENE_ROOM(held.memory)),
           "frame %d: not all numbers are finite", frame);
}

// Frames of one colour, and of the scene.
static void check_colours(const struct sam_params *p)
{
    static const int frames[] = { DARK, DARK, WHITE, DARK, 0, 1, 2, WHITE, 3 };
    struct scene s;
    sam_tracker *t = scene_open(p);
    const uint64_t early = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);
    uint64_t late = 0;
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        if (frames[i] == 0)
            late = give_box(t, 0, 0.05f, 0.08f, 0.27f, 0.36f);
        const struct sam_result r = step(t, &s, frames[i]);
        expect_finite(t, &r, early, frames[i]);
        if (late)
            expect_finite(t, &r, late, frames[i]);
    }
    sam_tracker_close(&t);
}

// Each is opened for one frame.
static void check_single(const struct sam_params *p, int frame)
{
    struct scene s;
    sam_tracker *t = scene_open(p);
    const uint64_t id = give_point(t, 0, 0.2f, 0.2f, SAM_POINT_POSITIVE);
    const struct sam_result r = step(t, &s, frame);
    expect_finite(t, &r, id, frame);
    sam_tracker_close(&t);
}

// Both from the first frame of the scene on.
static void compare(const struct sam_params *exact, const struct sam_params *rounded)
{
    struct scene s;
    sam_tracker *t[2] = { scene_open(exact), scene_open(rounded) };
    struct scene_held held[2];
    uint64_t id[2];
    double least = 1;
    bool differ = false;
    for (int k = 0; k < 2; k++)
        id[k] = give_box(t[k], 0, 0.05f, 0.08f, 0.27f, 0.36f);
    for (int f = 0; f < 10; f++) {
        for (int k = 0; k < 2; k++) {
            step(t[k], &s, f);
            scene_look(t[k], id[k], &held[k]);
        }
        least = fmin(least, iou_of(&held[0], &held[1]));
        differ |= memcmp(held[0].low_res, held[1].low_res, sizeof(held[0].low_res)) != 0;
    }
    printf("least IoU of masks %.3f\n", least);
    expect(least > LEAST_IOU, "masks differ: IoU %.3f", least);
    expect(differ, "nothing was rounded");
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    const struct sam_params exact = scene_params(argv[1]);
    struct sam_params rounded = exact;
    struct sam_info info = SAM_INFO_INIT;
    rounded.precision = SAM_PRECISION_INT8;

    sam_tracker *t = scene_open(&rounded);
    expect(!sam_tracker_info(t, &info, NULL) && !strcmp(info.precision, "int8"), "precision '%s'",
           info.precision);
    sam_tracker_close(&t);
    check_single(&rounded, DARK);
    check_single(&rounded, 0);
    check_colours(&rounded);
    compare(&exact, &rounded);
    return expect_status();
}
