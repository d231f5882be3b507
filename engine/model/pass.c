// SPDX-License-Identifier: MIT
// What the networks of several detectors share; the outputs of their parts, for stage tests and
// keep_stages.
#include <stdio.h>

#include "detector.h"
#include "net/forward.h"

void sam_pass_place(struct sam_pass *p, const struct sam_product *place, struct sam_tensor boxes,
                    struct sam_tensor places)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor sines = sam_pass_rows(p, places.w, 2 * places.c);
    const struct sam_tensor hidden = sam_pass_rows(p, places.w, places.c);

    if (p->live) {
        embed_boxes(p->queue, .dst = sines, .boxes = boxes);
        linear(p->queue, .dst = hidden, .src = sines, LINEAR(place[0]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = places, .src = hidden, LINEAR(place[1]));
    }
    sam_arena_release(p->arena, mark);
}

void sam_pass_tell(struct sam_pass *p, const char *name, int i, struct sam_tensor t)
{
    char text[24];

    if (!p->live)
        return;
    snprintf(text, sizeof(text), i < 0 ? "%s" : "%s%d", name, i);
    sam_queue_mark(p->queue, text, t);
}
