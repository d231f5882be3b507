// SPDX-License-Identifier: MIT
// What a public call has from its begin to its end: scratch, and what is current for the thread.
#include "session.h"

static int check_alive(const struct sam_tracker *t, struct sam_error *error)
{
    if (!t)
        return sam_fail(error, SAM_EINVAL, "tracker is NULL");
    if (t->broken)
        return sam_fail(error, t->broken, "the tracker failed before and must be closed: %s",
                        t->broken_error.text);
    return SAM_OK;
}

void sam_scratch_take(struct sam_tracker *t, bool hurries)
{
    if (t->scratch_taken++)
        return;
    void *block = sam_places_take(t->places, hurries);
    if (block != t->scratch_block)
        sam_layout_scratch(&t->mem, &t->model->config, &t->queue, &t->limits, &t->params,
                           t->params.max_objects, t->batch, block);
    t->scratch_block = block;
}

void sam_scratch_give(struct sam_tracker *t)
{
    if (--t->scratch_taken == 0)
        sam_places_give(t->places, t->scratch_block);
}

static int enter(struct sam_tracker *t, bool hurries, struct sam_error *error)
{
    const int status = check_alive(t, error);

    if (status)
        return status;
    sam_scratch_take(t, hurries); // who waits for it has no share of the processors yet
    sam_queue_enter(&t->queue);
    return SAM_OK;
}

int sam_enter(struct sam_tracker *t, struct sam_error *error)
{
    return enter(t, true, error);
}

int sam_enter_frame(struct sam_tracker *t, struct sam_error *error)
{
    return enter(t, false, error);
}

int sam_leave(struct sam_tracker *t, int status)
{
    sam_queue_leave(&t->queue);
    sam_scratch_give(t);
    return status;
}
