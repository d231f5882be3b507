// SPDX-License-Identifier: MIT
// Copies what is marked on the queue during a step, for tests and inspection (keep_stages): scratch
// memory does not outlive the step. It only listens: what runs is what always runs. The memory of
// the copies grows on the first frames and is reused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

struct stage {
    enum sam_turn turn;
    uint64_t id;
    char name[40];
    int shape[4];
    float *data;
    size_t capacity; // floats
};

struct sam_stages {
    struct sam_tracker *tracker;
    struct stage *list;
    int count, capacity; // entries in use; entries that have been
    float *transfer;     // on the way from the device, as stored there
    size_t transfer_bytes;
};

static struct stage *find(const struct sam_stages *s, enum sam_turn turn, uint64_t id,
                          const char *name)
{
    for (int i = 0; i < s->count; i++) {
        struct stage *e = &s->list[i];
        if (e->turn == turn && e->id == id && !strcmp(e->name, name))
            return e;
    }
    return NULL;
}

static struct stage *add(struct sam_stages *s)
{
    if (s->count == s->capacity) {
        const int capacity = s->capacity ? 2 * s->capacity : 64;
        struct stage *list = realloc(s->list, (size_t) capacity * sizeof(*list));
        if (!list)
            return NULL;
        memset(list + s->capacity, 0, (size_t) (capacity - s->capacity) * sizeof(*list));
        s->list = list;
        s->capacity = capacity;
    }
    return &s->list[s->count++];
}

// An entry with room for the numbers of its shape; of several with one name the last stays.
static struct stage *claim(struct sam_stages *s, enum sam_turn turn, uint64_t id, const char *name,
                           const int shape[4])
{
    struct stage *e = find(s, turn, id, name);
    const size_t count = (size_t) shape[0] * shape[1] * shape[2] * shape[3];

    if (!e)
        e = add(s);
    if (e) {
        e->turn = turn;
        e->id = id;
        snprintf(e->name, sizeof(e->name), "%s", name);
        memset(e->shape, 0, sizeof(e->shape));
    }
    if (e && e->capacity < count) {
        float *data = realloc(e->data, count * sizeof(*data));
        e->capacity = data ? count : e->capacity;
        e->data = data ? data : e->data;
    }
    if (!e || e->capacity < count) {
        sam_queue_fail(&s->tracker->queue, SAM_ENOMEM, "no memory to keep stage %s", name);
        return NULL;
    }
    memcpy(e->shape, shape, sizeof(e->shape));
    return e;
}

static void keep_number(struct sam_stages *s, enum sam_turn turn, uint64_t id, const char *name,
                        float number)
{
    const int one[4] = { 1, 1, 1, 1 };
    struct stage *e = claim(s, turn, id, name, one);

    if (e)
        e->data[0] = number;
}

// A tensor of the device, as stored, in s->transfer.
static bool fetch(struct sam_stages *s, struct sam_tensor *x)
{
    struct sam_queue *q = &s->tracker->queue;
    const size_t bytes = sam_tensor_bytes(x);

    if (s->transfer_bytes < bytes) {
        float *transfer = realloc(s->transfer, bytes);
        if (!transfer) {
            sam_queue_fail(q, SAM_ENOMEM, "no memory to keep a stage of %zu bytes", bytes);
            return false;
        }
        s->transfer = transfer;
        s->transfer_bytes = bytes;
    }
    sam_queue_download(q, s->transfer, x->data, bytes);
    x->data = s->transfer;
    return !q->status;
}

// ---- Layouts, by names.

enum layout {
    AS_IS, // n, h, w, c
    NCHW,
    TOKENS, // (tokens, 1, c)
};

// Maps have channels first, but blocks of attention; rows of numbers are as they are, but those of
// memory attention.
static enum layout layout_of(const char *name, const struct sam_tensor *x)
{
    static const char *const as_is[] = { "block", "embedded", "pos_embed", "decoder.masks" };

    if (!strncmp(name, "memory_attention.", 17))
        return TOKENS;
    for (size_t i = 0; i < sizeof(as_is) / sizeof(as_is[0]); i++)
        if (!strncmp(name, as_is[i], strlen(as_is[i])))
            return AS_IS;
    return x->h == 1 ? AS_IS : NCHW;
}

static void keep(struct sam_stages *s, enum sam_turn turn, uint64_t id, const char *name,
                 struct sam_tensor x)
{
    const enum layout layout = layout_of(name, &x);
    const int as_is[4] = { 1, x.h, x.w, x.c }, nchw[4] = { 1, x.c, x.h, x.w };
    const int tokens[4] = { 1, x.h * x.w, 1, x.c };
    struct stage *e = claim(s, turn, id, name,
                            layout == NCHW ? nchw : layout == TOKENS ? tokens : as_is);
    if (!e || !fetch(s, &x))
        return;
    const size_t rows = sam_rows(&x), c = (size_t) x.c;
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < c; k++)
            e->data[layout == NCHW ? k * rows + r : r * c + k] = sam_load(&x, r * c + k);
}

// The dense embedding, if it is one row for all positions, as a map.
static void keep_row(struct sam_stages *s, enum sam_turn turn, uint64_t id, const char *name,
                     struct sam_tensor row)
{
    const int h = sam_grid(&s->tracker->model->config), c = row.c, shape[4] = { 1, c, h, h };
    struct stage *e = claim(s, turn, id, name, shape);

    if (!e || !fetch(s, &row))
        return;
    for (int i = 0; i < c; i++)
        for (int k = 0; k < h * h; k++)
            e->data[(size_t) i * h * h + k] = sam_load(&row, (size_t) i);
}

// ---- Listening.

static bool is(const char *name, const char *wanted)
{
    return !strcmp(name, wanted);
}

// Entry i of what objects have in common, or each of its own.
static void keep_entry(struct sam_stages *s, int i, const char *name, struct sam_tensor x)
{
    const struct sam_about *about = &s->tracker->about;
    const struct sam_indices *index = &s->tracker->mem.state.index;
    const uint64_t id = about->object[i]->id;

    x = sam_slice(x, x.n > 1 ? i : 0);
    if (is(name, "memory_attention.memory") || is(name, "memory_attention.keys"))
        x.w = index->num_keys.host[i]; // the others are padding
    if (is(name, "memory_attention.memory"))
        keep_number(s, about->turn, id, "memory_attention.num_ptr_tokens",
                    (float) (index->num_keys.host[i] - index->num_rotated.host[i]));
    if (is(name, "decoder.dense") && sam_rows(&x) == 1)
        keep_row(s, about->turn, id, name, x);
    else
        keep(s, about->turn, id, name, x);
}

static void hear(void *priv, struct sam_queue *q, const char *name, struct sam_tensor x)
{
    struct sam_stages *s = priv;
    const struct sam_about *about = &s->tracker->about;

    if (about->turn == SAM_TURN_FRAME)
        keep(s, about->turn, 0, name, x);
    else if (about->turn != SAM_TURN_WINDOW)
        for (int i = 0; i < about->n; i++)
            keep_entry(s, i, name, x);
}

struct sam_stages *sam_stages_open(struct sam_tracker *t)
{
    struct sam_stages *s = calloc(1, sizeof(*s));

    if (s) {
        s->tracker = t;
        t->queue.listener = (struct sam_listener) { hear, s };
    }
    return s;
}

void sam_stages_close(struct sam_stages **s)
{
    if (!*s)
        return;
    (*s)->tracker->queue.listener = (struct sam_listener) { 0 };
    for (int i = 0; i < (*s)->capacity; i++)
        free((*s)->list[i].data);
    free((*s)->list);
    free((*s)->transfer);
    free(*s);
    *s = NULL;
}

void sam_stages_begin(struct sam_stages *s)
{
    if (s)
        s->count = 0;
}

// ---- Reading.

// A stage by its name, of the object's prompt if it had one on this frame, else of its
// tracking, else of the frame; "track/" or "prompt/" before the name asks for one of them.
static const struct stage *find_named(const struct sam_stages *s, uint64_t id, const char *name)
{
    const struct stage *e;

    if (!strncmp(name, "track/", 6))
        return find(s, SAM_TURN_TRACK, id, name + 6);
    if (!strncmp(name, "prompt/", 7))
        return find(s, SAM_TURN_PROMPT, id, name + 7);
    e = find(s, SAM_TURN_PROMPT, id, name);
    if (!e)
        e = find(s, SAM_TURN_TRACK, id, name);
    return e ? e : find(s, SAM_TURN_FRAME, 0, name);
}

int sam_stage_read(struct sam_tracker *t, uint64_t id, const char *name, float *dst,
                   size_t capacity, int shape[4], struct sam_error *error)
{
    const struct stage *e = t->stages ? find_named(t->stages, id, name) : NULL;

    if (!e)
        return sam_fail(error, SAM_ENOTFOUND, "'%s' of object %llu: no such tensor in this step%s",
                        name, (unsigned long long) id, t->stages ? "" : " (keep_stages is off)");
    const size_t count = (size_t) e->shape[0] * e->shape[1] * e->shape[2] * e->shape[3];
    memcpy(shape, e->shape, sizeof(e->shape));
    if (capacity < count)
        return sam_fail(error, SAM_EINVAL, "'%s' has %zu numbers, room is for %zu", name, count,
                        capacity);
    memcpy(dst, e->data, count * sizeof(float));
    return SAM_OK;
}
