// SPDX-License-Identifier: MIT
// Pictures as large as the input of a model of 64 px, or of WINDOW_FRAME, and windows of half of
// that, twice as large.
#ifndef WINDOW_H
#define WINDOW_H

#include <math.h>

#include "scene.h"

#ifndef WINDOW_FRAME
#define WINDOW_FRAME 64
#endif

enum { SIDE = WINDOW_FRAME, LOW = SIDE / 4, WINDOW = SIDE / 2 };

struct picture {
    uint8_t rgb[SIDE][SIDE][3];
};

static inline void step_picture(sam_tracker *t, const struct picture *p)
{
    const struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_RGB, .width = SIDE,
                                     .height = SIDE, .plane = { &p->rgb[0][0][0] },
                                     .stride = { SIDE * 3 } };
    struct sam_error error = { "" };
    struct sam_result result = SAM_RESULT_INIT;

    expect(!sam_tracker_step(t, &frame, NULL, &result, &error), "%s", error.text);
}

// Blocks of multiples of 16, so that the window twice as large has whole numbers again.
static inline void draw_blocks(struct picture *p, uint64_t *rng)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            for (int k = 0; k < 3; k++)
                p->rgb[y][x][k] = y % 4 ? p->rgb[y - 1][x][k] : x % 4 ? p->rgb[y][x - 1][k]
                                        : (uint8_t) (16 * draw_int(rng, 0, 15));
}

// The number of the window that lies at i of n of it, enlarged; its neighbours count by quarters.
static inline int at(int i, int *other)
{
    const int near = i / 2, far = i % 2 ? near + 1 : near - 1;

    *other = far < 0 ? 0 : far >= WINDOW ? WINDOW - 1 : far;
    return near;
}

static inline void enlarge(struct picture *dst, const struct picture *src, int left, int top)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            for (int k = 0; k < 3; k++) {
                int x2, y2;
                const int x1 = at(x, &x2), y1 = at(y, &y2);
                const uint8_t (*p)[3] = &src->rgb[top + y1][left];
                const uint8_t (*q)[3] = &src->rgb[top + y2][left];
                dst->rgb[y][x][k] =
                    (uint8_t) ((9 * p[x1][k] + 3 * p[x2][k] + 3 * q[x1][k] + q[x2][k]) / 16);
            }
}

// The weight of source i for output o of a triangle filter that halves n numbers.
static inline float weight(int o, int i, int n)
{
    float sum = 0, own = 0;

    for (int k = 0; k < n; k++) {
        const float w = fmaxf(0, 1 - fabsf((float) k + 0.5f - 2 * ((float) o + 0.5f)) / 2);
        sum += w;
        own = k == i ? w : own;
    }
    return own / sum;
}

// The logits of a window at its place among those of the frame, -10 elsewhere.
static inline void put_back(float *dst, const float *src, int left, int top)
{
    for (int y = 0; y < LOW; y++)
        for (int x = 0; x < LOW; x++) {
            const int oy = y - top / 4, ox = x - left / 4;
            float sum = 0;
            if (oy < 0 || ox < 0 || oy >= LOW / 2 || ox >= LOW / 2) {
                dst[y * LOW + x] = -10;
                continue;
            }
            for (int i = 0; i < LOW; i++)
                for (int k = 0; k < LOW; k++)
                    sum += weight(oy, i, LOW) * weight(ox, k, LOW) * src[i * LOW + k];
            dst[y * LOW + x] = sum;
        }
}

static inline float largest_difference(const float *a, const float *b, size_t n)
{
    float most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

// Whether two trackers remember the same of an object; which mask they show does not matter.
static inline bool hold_the_same(const struct scene_held *a, const struct scene_held *b,
                                 float tolerance)
{
    return largest_difference(a->pointer, b->pointer, SCENE_ROOM(a->pointer)) <= tolerance &&
           largest_difference(a->memory, b->memory, SCENE_ROOM(a->memory)) <= tolerance &&
           fabsf(a->score - b->score) <= tolerance;
}

// Whether two trackers show or remember an object differently.
static inline bool held_differs(const struct scene_held *a, const struct scene_held *b,
                                float tolerance)
{
    return largest_difference(a->low_res, b->low_res, LOW * LOW) > tolerance ||
           !hold_the_same(a, b, tolerance);
}

#endif
