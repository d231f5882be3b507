// SPDX-License-Identifier: MIT
// Reads sizes from the shapes of tensors, and checks their ranges.
#include "config.h"

#include <stdio.h>

#include "family.h"
#include "weights/weight_list.h"

int sam_config_size(const struct sam_weights *w, const struct sam_size_from *from, int *out,
                    struct sam_error *error)
{
    const struct sam_weight *t = sam_weights_find(w, from->name);
    if (!t)
        return sam_fail(error, SAM_EFORMAT, "%s: tensor '%s' is missing", sam_weights_file(w),
                        from->name);
    bool good = t->rank == from->rank;
    for (int i = 0; good && i < t->rank; i++)
        good = t->shape[i] > 0 && t->shape[i] <= 65536 &&
               (!from->shape[i] || t->shape[i] == from->shape[i]);
    if (good) {
        *out = (int) t->shape[from->axis];
        return SAM_OK;
    }
    char wanted[96];
    int used = 0;
    for (int i = 0; i < from->rank; i++)
        used += from->shape[i]
                    ? snprintf(wanted + used, sizeof(wanted) - used, "%s%d", i ? ", " : "",
                               from->shape[i])
                    : snprintf(wanted + used, sizeof(wanted) - used, "%sany", i ? ", " : "");
    return sam_fail(error, SAM_EFORMAT, "%s: tensor '%s': expected shape (%s), got %s",
                    sam_weights_file(w), t->stored, wanted, sam_shape_text(t->rank, t->shape).text);
}

int sam_config_layers(const struct sam_weights *w, const char *prefix, const char *suffix,
                      int limit)
{
    int n = 0;
    for (; n <= limit; n++) {
        char name[96];
        snprintf(name, sizeof(name), "%s%d%s", prefix, n, suffix);
        if (!sam_weights_find(w, name))
            break;
    }
    return n;
}

int sam_config_count(const struct sam_weights *w, const char *prefix, const char *mark,
                     const char *other, int limit, int *out, struct sam_error *error)
{
    *out = sam_config_layers(w, prefix, mark, limit);
    if (sam_config_layers(w, prefix, other, limit) <= *out)
        return SAM_OK;
    return sam_fail(error, SAM_EFORMAT, "%s: tensor '%s%d%s' is missing", sam_weights_file(w),
                    prefix, *out, mark);
}

int sam_config_ranges(const struct sam_size_range *list, int count, const char *file,
                      struct sam_error *error)
{
    for (const struct sam_size_range *r = list; r < list + count; r++) {
        if (r->value >= r->least && r->value <= r->most && r->value % r->multiple == 0)
            continue;
        if (r->multiple > 1)
            return sam_fail(error, SAM_EFORMAT,
                            "%s: %s must be a multiple of %d from %d to %d, got %d", file, r->what,
                            r->multiple, r->least, r->most, r->value);
        return sam_fail(error, SAM_EFORMAT, "%s: %s must be %d to %d, got %d", file, r->what,
                        r->least, r->most, r->value);
    }
    return SAM_OK;
}

int sam_config_unpublished(const struct sam_config *c, const char *file, struct sam_error *error)
{
    return sam_fail(error, SAM_EFORMAT,
                    "%s: no published %s has these shapes (stages of %d, %d, %d, %d channels, "
                    "d_model %d), so it needs JSON with %s, which is missing",
                    file, c->family->title, c->stage_width[0], c->stage_width[1],
                    c->stage_width[2], c->stage_width[3], c->d_model, c->family->lacks);
}
