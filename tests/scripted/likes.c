// SPDX-License-Identifier: MIT
#include <samtrack/likes.h>
#include <samtrack/trunk.h>

#include <math.h>

#include "base/sized.h"
#include "scripted_priv.h"

static const struct scripted_object *find_shown(const struct sam_tracker *t, uint64_t id)
{
    for (int i = 0; id && i < t->params.max_objects; i++)
        if (t->object[i].id == id && t->object[i].done >= 0 && t->object[i].done == t->frame)
            return &t->object[i];
    return NULL;
}

// Whether objects cover a third of a place.
static bool is_covered(const struct sam_tracker *t, const float box[4])
{
    const float all = (box[2] - box[0]) * (box[3] - box[1]);

    for (int i = 0; i < t->params.max_objects; i++) {
        const struct scripted_object *other = &t->object[i];
        if (!other->id || other->done < 0)
            continue;
        const struct sam_object o = scripted_describe(t, other);
        const float w = fminf(box[2], (float) (o.x + o.width)) - fmaxf(box[0], (float) o.x);
        const float h = fminf(box[3], (float) (o.y + o.height)) - fmaxf(box[1], (float) o.y);
        if (w > 0 && h > 0 && 3 * w * h >= all)
            return true;
    }
    return false;
}

// The box moved by its own width, to the right and to the left, as far as the frame reaches.
int sam_tracker_likes(sam_tracker *t, uint64_t id, float least, struct sam_likes *likes,
                      struct sam_error *error)
{
    struct sam_likes all = { .frame_index = (uint64_t) t->frame };
    const struct scripted_object *own = find_shown(t, id);
    const int status = sam_sized_check(likes, sizeof(*likes), sizeof(*likes), "likes", error);

    if (status)
        return status;
    if (!own)
        return sam_fail(error, SAM_ENOTFOUND, "no object with the id %llu is on the last frame",
                        (unsigned long long) id);
    const struct sam_object o = scripted_describe(t, own);
    for (int side = 1; side >= -1; side -= 2) {
        const int x = o.x + side * o.width;
        const struct sam_like like = {
            .box = { (float) x, (float) o.y, (float) (x + o.width), (float) (o.y + o.height) },
            .likeness = side > 0 ? SCRIPTED_LIKE : SCRIPTED_LESS_LIKE,
        };
        if (!o.width || x < 0 || x + o.width > t->width || is_covered(t, like.box))
            continue;
        all.best = all.best > like.likeness ? all.best : like.likeness;
        if (like.likeness >= least)
            all.like[all.num_likes++] = like;
    }
    sam_sized_write(likes, &all);
    return SAM_OK;
}

int sam_tracker_trunk(sam_tracker *t, struct sam_trunk *trunk, struct sam_error *error)
{
    return sam_fail(error, SAM_EUNSUPPORTED, "a script has no trunk");
}
