// SPDX-License-Identifier: MIT
#include "kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STAGES = 128 };

struct stage {
    char name[40];
    struct sam_tensor t; // data: the copy, as stored on the device
    size_t bytes;        // that data has room for
};

struct sam_kept {
    struct stage list[MAX_STAGES];
    int count;
};

void sam_kept_close(struct sam_kept **k)
{
    for (int i = 0; *k && i < (*k)->count; i++)
        free((*k)->list[i].t.data);
    free(*k);
    *k = NULL;
}

static struct stage *find(const struct sam_kept *k, const char *name)
{
    for (int i = 0; i < k->count; i++)
        if (!strcmp(k->list[i].name, name))
            return (struct stage *) &k->list[i];
    return NULL;
}

static void keep(void *priv, struct sam_queue *q, const char *name, struct sam_tensor t)
{
    struct sam_kept *k = priv;
    struct stage *s = find(k, name);
    const size_t bytes = sam_tensor_bytes(&t);

    if (!s && k->count < MAX_STAGES) {
        s = &k->list[k->count++];
        snprintf(s->name, sizeof(s->name), "%s", name);
    }
    if (s && s->bytes < bytes) {
        free(s->t.data);
        s->t.data = malloc(bytes);
        s->bytes = s->t.data ? bytes : 0;
    }
    if (!s || !s->t.data) {
        sam_queue_fail(q, SAM_ENOMEM, "no memory to keep stage %s", name);
        return;
    }
    sam_queue_download(q, s->t.data, t.data, bytes);
    t.data = s->t.data;
    s->t = t;
}

struct sam_kept *sam_kept_open(struct sam_queue *q)
{
    struct sam_kept *k = calloc(1, sizeof(*k));

    if (k)
        q->listener = (struct sam_listener) { keep, k };
    return k;
}

int sam_kept_read(const struct sam_kept *k, const char *name, float *dst, size_t capacity,
                  int shape[4], struct sam_error *error)
{
    const struct stage *s = k ? find(k, name) : NULL;

    if (!s || !s->t.data)
        return sam_fail(error, SAM_ENOTFOUND, "'%.40s': no such tensor in this run%s", name,
                        k ? "" : " (keep_stages is off)");
    const struct sam_tensor t = s->t;
    const size_t count = sam_count(&t), rows = sam_rows(&t), c = (size_t) t.c;
    const bool is_map = t.h > 1;
    memcpy(shape, is_map ? (int[]) { t.n, t.c, t.h, t.w } : (int[]) { t.n, t.h, t.w, t.c },
           4 * sizeof(int));
    if (capacity < count)
        return sam_fail(error, SAM_EINVAL, "'%s' has %zu numbers, room is for %zu", name, count,
                        capacity);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < c; i++)
            dst[is_map ? i * rows + r : r * c + i] = sam_load(&t, r * c + i);
    return SAM_OK;
}
