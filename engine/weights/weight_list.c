// SPDX-License-Identifier: MIT
#include "weight_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sam_shape_text sam_shape_text(int rank, const int64_t *shape)
{
    struct sam_shape_text s = { "(" };
    const size_t room = sizeof(s.text) - sizeof("...)");
    size_t used = 1;
    for (int i = 0; i < rank; i++) {
        char extent[32];
        const size_t n = snprintf(extent, sizeof(extent), "%s%" PRId64, i ? ", " : "", shape[i]);
        if (used + n > room) {
            memcpy(s.text + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(s.text + used, extent, n);
        used += n;
    }
    s.text[used] = ')';
    return s;
}

int64_t sam_shape_count(int rank, const int64_t *shape)
{
    int64_t count = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return -1;
        empty |= shape[i] == 0;
        if (shape[i] && count > INT64_MAX / shape[i])
            return -1;
        count *= shape[i] ? shape[i] : 1;
    }
    return empty ? 0 : count;
}

static bool is_plain(const char *name, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (name[i] < 0x20 || name[i] > 0x7e)
            return false;
    return bytes > 0 && bytes <= SAM_MAX_NAME;
}

int sam_weight_axes(const struct sam_weight *w, int axis[SAM_MAX_RANK])
{
    int n = 0;
    for (int i = 0; i < w->rank; i++) {
        int k = n;
        if (w->shape[i] == 1)
            continue;
        for (; k > 0 && w->stride[axis[k - 1]] < w->stride[i]; k--)
            axis[k] = axis[k - 1];
        axis[k] = i;
        n++;
    }
    return n;
}

// Whether every number has a place of its own: each stride steps over all that the smaller ones
// reach. Then reading in the order of the file reads each byte once.
static bool has_own_places(const struct sam_weight *w)
{
    int axis[SAM_MAX_RANK];
    int64_t reach = 1;
    if (!sam_shape_count(w->rank, w->shape))
        return true;
    for (int k = sam_weight_axes(w, axis) - 1; k >= 0; k--) {
        if (w->stride[axis[k]] < reach)
            return false;
        reach += (w->shape[axis[k]] - 1) * w->stride[axis[k]];
    }
    return true;
}

int sam_weight_name_check(const struct sam_weight_list *list, const char *name, size_t bytes,
                          struct sam_error *error)
{
    if (!is_plain(name, bytes))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor %d: its name must be 1 to %d printable ASCII "
                        "characters, got %zu bytes",
                        list->file, list->count, SAM_MAX_NAME, bytes);
    return SAM_OK;
}

int sam_weight_list_add(struct sam_weight_list *list, const char *name, size_t bytes,
                        const struct sam_weight *w, struct sam_error *error)
{
    if (!has_own_places(w))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '%.*s': expected a place for each number of %s, its strides "
                        "%s lead to one place twice",
                        list->file, (int) bytes, name, sam_shape_text(w->rank, w->shape).text,
                        sam_shape_text(w->rank, w->stride).text);
    if (list->count == SAM_MAX_TENSORS)
        return sam_fail(error, SAM_EFORMAT, "%s: more than %d tensors", list->file,
                        SAM_MAX_TENSORS);
    if (list->count == list->capacity) {
        const int capacity = list->capacity ? 2 * list->capacity : 256;
        struct sam_weight *items = realloc(list->items, capacity * sizeof(*items));
        if (!items)
            return sam_fail(error, SAM_ENOMEM, "%s: no memory to list its tensors", list->file);
        list->items = items;
        list->capacity = capacity;
    }
    char *stored = strndup(name, bytes), *meta = strndup(name, bytes);
    if (!stored || !meta) {
        free(stored);
        free(meta);
        return sam_fail(error, SAM_ENOMEM, "%s: no memory to list its tensors", list->file);
    }
    struct sam_weight *item = &list->items[list->count++];
    *item = *w;
    item->stored = stored;
    item->name = meta;
    return SAM_OK;
}
