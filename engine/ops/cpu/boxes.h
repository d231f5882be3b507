// SPDX-License-Identifier: MIT
// Boxes of masks that tasks measure in parts, in the form that sam_draw_masks has: x0, y0, x1, y1
// and a count of pixels. Tasks of several threads add to them at once; in which order makes no
// difference.
#ifndef SAM_BOXES_H
#define SAM_BOXES_H

#include <stdint.h>
#include <string.h>

static inline void sam_boxes_begin(int32_t (*boxes)[5], int n)
{
    for (int i = 0; i < n; i++)
        memcpy(boxes[i], (const int32_t[5]) { INT32_MAX, INT32_MAX, 0, 0, 0 }, sizeof(boxes[i]));
}

static inline void sam_boxes_lower(int32_t *to, int32_t value)
{
    int32_t held = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (value < held &&
           !__atomic_compare_exchange_n(to, &held, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static inline void sam_boxes_raise(int32_t *to, int32_t value)
{
    int32_t held = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (value > held &&
           !__atomic_compare_exchange_n(to, &held, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static inline void sam_boxes_add(int32_t (*boxes)[5], const int32_t (*parts)[5], int n)
{
    for (int i = 0; i < n; i++) {
        if (!parts[i][4])
            continue;
        sam_boxes_lower(&boxes[i][0], parts[i][0]);
        sam_boxes_lower(&boxes[i][1], parts[i][1]);
        sam_boxes_raise(&boxes[i][2], parts[i][2]);
        sam_boxes_raise(&boxes[i][3], parts[i][3]);
        __atomic_fetch_add(&boxes[i][4], parts[i][4], __ATOMIC_RELAXED);
    }
}

static inline void sam_boxes_end(int32_t (*boxes)[5], int n)
{
    for (int i = 0; i < n; i++)
        if (!boxes[i][4])
            memset(boxes[i], 0, sizeof(boxes[i]));
}

#endif // SAM_BOXES_H
