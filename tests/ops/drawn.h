// SPDX-License-Identifier: MIT
// What draw_masks and draw_edges draw, compared: label maps and boxes.
#ifndef DRAWN_H
#define DRAWN_H

#include <math.h>
#include <stdlib.h>

#include "check.h"

struct drawn {
    const struct check_buf *logits, *labels;
    const int32_t *slot;
    int height, width; // of the labels
    // The logit of object n at a pixel of the labels, in f64, straight from the contract.
    double (*logit_at)(const struct drawn *d, int n, int y, int x);
    const void *priv; // of logit_at()
};

// A label may be another one only where rounding decides: where both objects' logits (no object: 0)
// are within this of each other.
enum { SLACK_PER_MILLION = 20 }; // of the largest logit

static inline bool is_close_call(const struct drawn *d, int y, int x, int a, int b)
{
    const struct sam_tensor *l = &d->logits->host[CHECK_REF];
    double of[2] = { 0, 0 }, largest = 0;
    for (int n = 0; n < l->n; n++) {
        if (d->slot[n] == a)
            of[0] = d->logit_at(d, n, y, x);
        if (d->slot[n] == b)
            of[1] = d->logit_at(d, n, y, x);
    }
    for (size_t i = 0; i < sam_count(l); i++)
        largest = fmax(largest, fabs(sam_load(l, i)));
    return fabs(of[0] - of[1]) <= largest * SLACK_PER_MILLION * 1e-6;
}

static inline void compare_labels(struct check *t, const struct drawn *d)
{
    const struct sam_tensor *want = &d->labels->host[CHECK_REF];
    const struct sam_tensor *got = &d->labels->host[CHECK_NEW];
    const int stride = want->c;
    int close = 0;
    for (int y = 0; y < d->height; y++)
        for (int x = 0; x < stride; x++) {
            const size_t i = (size_t) y * stride + x;
            const int a = (int) sam_load(want, i), b = (int) sam_load(got, i);
            if (a == b)
                continue;
            if (x >= d->width || !is_close_call(d, y, x, a, b)) {
                check_fail(t, "label at (%d, %d): want %d, got %d", x, y, a, b);
                return;
            }
            close++;
        }
    if (close > 2)
        check_fail(t, "%d labels differ, each a close call; at most 2 are luck", close);
}

static inline void compare_boxes(struct check *t, int n, int32_t (*const boxes[2])[5])
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 5; k++) {
            // Pixels that rounding decides, as above; where none differs, no side may.
            const bool differs = boxes[CHECK_REF][i][4] != boxes[CHECK_NEW][i][4];
            const int slack = k == 4 ? 2 : differs ? 1 : 0;
            if (abs(boxes[CHECK_REF][i][k] - boxes[CHECK_NEW][i][k]) > slack)
                check_fail(t, "box of %d, number %d: want %d, got %d", i, k, boxes[CHECK_REF][i][k],
                           boxes[CHECK_NEW][i][k]);
        }
}

#endif // DRAWN_H
