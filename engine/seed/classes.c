// SPDX-License-Identifier: MIT
// What is asked of one class: its limits, and its end.
#include <math.h>

#include "base/log.h"
#include "state.h"

static int check_class(int class_id, struct sam_error *error)
{
    if (class_id >= 0 && class_id < SAM_SEED_MAX_CLASSES)
        return SAM_OK;
    return sam_fail(error, SAM_EINVAL, "seeding: class %d, expected 0 to %d", class_id,
                    SAM_SEED_MAX_CLASSES - 1);
}

int sam_seed_limit_class(struct sam_seed *s, int class_id, float score, int objects,
                         struct sam_error *error)
{
    if (check_class(class_id, error))
        return SAM_EINVAL;
    if (isnan(score) || score > 2)
        return sam_fail(error, SAM_EINVAL, "seeding: class %d: score %g, expected at most 2",
                        class_id, (double) score);
    if (objects < 0 || objects > SAM_MAX_OBJECTS)
        return sam_fail(error, SAM_EINVAL, "seeding: class %d: %d objects, expected 0 to %d",
                        class_id, objects, SAM_MAX_OBJECTS);
    s->limit[class_id] = (struct class_limit) { score >= 0, score, objects };
    return SAM_OK;
}

float sam_seed_score_of(const struct sam_seed *s, int class_id)
{
    return class_id != SAM_SEED_NO_CLASS && s->limit[class_id].has_score ? s->limit[class_id].score
                                                                         : s->settings.seed_score;
}

int sam_seed_most_of(const struct sam_seed *s, int class_id)
{
    return class_id != SAM_SEED_NO_CLASS ? s->limit[class_id].objects : 0;
}

int sam_seed_end_class(struct sam_seed *s, int class_id, int keeps, struct sam_error *error)
{
    if (check_class(class_id, error))
        return SAM_EINVAL;
    for (int i = 0; i < s->num_tracks; i++)
        if (s->track[i].used && s->track[i].class_id == class_id)
            s->track[i].ending = keeps ? IS_KEPT : ENDS;
    return SAM_OK;
}

void sam_seed_end(struct sam_seed *s, struct track *t)
{
    const bool is_sure = t->phase == SAM_SEED_CONFIRMED || t->phase == SAM_SEED_SHADOWED;
    const enum ending ending = t->ending;

    t->ending = GOES_ON;
    if (!t->id || (!is_sure && t->phase != SAM_SEED_TENTATIVE))
        return;
    if (ending == ENDS || !is_sure) {
        sam_seed_order_removal(s, t, SAM_SEED_BY_UNASKED);
        return;
    }
    sam_seed_emit(s, SAM_SEED_FORGET, SAM_SEED_BY_UNASKED, t);
    t->phase = SAM_SEED_USERS;
}

int sam_seed_has_class(const struct sam_seed *s, int class_id)
{
    for (int i = 0; i < s->num_tracks; i++)
        if (s->track[i].used && s->track[i].class_id == class_id)
            return 1;
    return 0;
}

void sam_seed_request(struct sam_seed *s)
{
    s->wanted |= 1u << SAM_SEED_REQUEST_ASKED;
}
