// SPDX-License-Identifier: MIT
// The trunk's map of the last frame, for a detector of the same file.
#include <samtrack/trunk.h>

#include "base/sized.h"
#include "session.h"

static int check(const struct sam_tracker *t, const struct sam_trunk *out, size_t capacity,
                 struct sam_error *error)
{
    if (!out->source)
        return sam_fail(error, SAM_EUNSUPPORTED, "%s: no detector begins with what its trunk gives",
                        t->file);
    if (t->trunk_frame < 0 || t->trunk_frame != t->frame)
        return sam_fail(error, SAM_ENOTFOUND, "the last frame was not encoded");
    if (capacity < out->count)
        return sam_fail(error, SAM_EINVAL, "trunk: its map has %zu numbers, room is for %zu",
                        out->count, capacity);
    return SAM_OK;
}

int sam_tracker_trunk(sam_tracker *t, struct sam_trunk *trunk, struct sam_error *error)
{
    int status = sam_sized_check(trunk, sizeof(*trunk), sizeof(*trunk), "trunk", error);

    if (status || (status = sam_enter(t, error)))
        return status;
    const struct sam_tensor map = t->mem.state.features.trunk;
    struct sam_trunk all = { .source = sam_model_trunk(t->model),
                             .frame_index = (uint64_t) t->frame,
                             .count = map.data ? sam_count(&map) : 0,
                             .map = trunk->map,
                             .capacity = trunk->capacity };
    status = check(t, &all, all.map ? all.capacity : all.count, error);
    if (!status && all.map) {
        sam_queue_download(&t->queue, all.map, map.data, sam_tensor_bytes(&map));
        status = sam_finish(t, error);
    }
    if (!status)
        sam_sized_write(trunk, &all);
    return sam_leave(t, status);
}
