// SPDX-License-Identifier: MIT
// Copies the outputs of the network's parts during a step, for tests and inspection (keep_stages):
// scratch memory does not outlive the step. Their memory grows on the first frames and is reused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "track.h"

struct stage {
    enum sam_turn turn;
    uint64_t id;
    char name[40];
    int shape[4];
    float *data;
    size_t capacity; // floats
};

struct sam_stages {
    struct stage *list;
    int count, capacity; // entries in use; entries that have been
    float *transfer;     // on the way from the device, as stored there
    size_t transfer_bytes;
};

struct sam_stages *sam_stages_open(void)
{
    return calloc(1, sizeof(struct sam_stages));
}

void sam_stages_close(struct sam_stages **s)
{
    if (!*s)
        return;
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
static struct stage *claim(struct sam_tracker *t, enum sam_turn turn, uint64_t id,
                           const char *name, const int shape[4])
{
    struct stage *e = find(t->stages, turn, id, name);
    const size_t count = (size_t) shape[0] * shape[1] * shape[2] * shape[3];

    if (!e)
        e = add(t->stages);
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
        sam_queue_fail(&t->queue, SAM_ENOMEM, "no memory to keep stage %s", name);
        return NULL;
    }
    memcpy(e->shape, shape, sizeof(e->shape));
    return e;
}

static void keep_host(struct sam_tracker *t, enum sam_turn turn, uint64_t id, const char *name,
                      const float *data, const int shape[4])
{
    if (!t->stages)
        return;
    struct stage *e = claim(t, turn, id, name, shape);
    if (e)
        memcpy(e->data, data, (size_t) shape[0] * shape[1] * shape[2] * shape[3] * sizeof(float));
}

// A tensor of the device, as stored, in s->transfer.
static bool fetch(struct sam_tracker *t, struct sam_tensor *x)
{
    struct sam_stages *s = t->stages;
    const size_t bytes = sam_tensor_bytes(x);

    if (s->transfer_bytes < bytes) {
        float *transfer = realloc(s->transfer, bytes);
        if (!transfer) {
            sam_queue_fail(&t->queue, SAM_ENOMEM, "no memory to keep a stage of %zu bytes", bytes);
            return false;
        }
        s->transfer = transfer;
        s->transfer_bytes = bytes;
    }
    sam_queue_download(&t->queue, s->transfer, x->data, bytes);
    x->data = s->transfer;
    return !t->queue.status;
}

void sam_stage_keep(struct sam_tracker *t, enum sam_turn turn, uint64_t id, const char *name,
                    struct sam_tensor x, int n, enum sam_stage_layout layout)
{
    if (!t->stages || t->queue.status)
        return;
    x = sam_slice(x, n);
    const int as_is[4] = { 1, x.h, x.w, x.c }, nchw[4] = { 1, x.c, x.h, x.w };
    const int tokens[4] = { 1, x.h * x.w, 1, x.c };
    struct stage *e = claim(t, turn, id, name,
                            layout == SAM_STAGE_NCHW     ? nchw
                            : layout == SAM_STAGE_TOKENS ? tokens
                                                         : as_is);
    if (!e || !fetch(t, &x))
        return;
    const size_t rows = sam_rows(&x), c = (size_t) x.c;
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < c; k++)
            e->data[layout == SAM_STAGE_NCHW ? k * rows + r : r * c + k] = sam_load(&x, r * c + k);
}

// ---- What the parts tell: maps with channels first, but blocks of attention; rows of numbers as
// they are, but those of memory attention.

static enum sam_stage_layout layout_of(const char *name, const struct sam_tensor *x)
{
    if (!strncmp(name, "memory_attention.", 17))
        return SAM_STAGE_TOKENS;
    if (!strncmp(name, "block", 5) || !strcmp(name, "patch_embed") || x->h == 1)
        return SAM_STAGE_AS_IS;
    return SAM_STAGE_NCHW;
}

static void probe_write(void *priv, struct sam_queue *q, const char *name, struct sam_tensor x)
{
    const struct sam_stage_source *s = priv;
    const enum sam_stage_layout layout = layout_of(name, &x);

    if (s->turn == SAM_TURN_FRAME)
        sam_stage_keep(s->tracker, s->turn, 0, name, x, 0, layout);
    else
        for (int i = 0; i < s->batch->n; i++)
            sam_stage_keep(s->tracker, s->turn, s->batch->object[i]->id, name, x,
                           x.n > 1 ? i : 0, layout);
}

struct sam_probe sam_stages_probe(const struct sam_stage_source *source)
{
    return (struct sam_probe) { probe_write, (void *) source };
}

// ---- The parts that run per object.

// (1, tokens, 1, m) of keys less values: the positions that memory attention was given.
static void keep_memory(struct sam_tracker *t, enum sam_turn turn, uint64_t id,
                        struct sam_tensor values, struct sam_tensor keys, int n, int count)
{
    struct stage *memory, *position;

    values = sam_slice(values, n);
    keys = sam_slice(keys, n);
    values.w = keys.w = count;
    sam_stage_keep(t, turn, id, "memory_attention.memory", values, 0, SAM_STAGE_TOKENS);
    sam_stage_keep(t, turn, id, "memory_attention.memory_pos", keys, 0, SAM_STAGE_TOKENS);
    memory = find(t->stages, turn, id, "memory_attention.memory");
    position = find(t->stages, turn, id, "memory_attention.memory_pos");
    for (size_t i = 0; memory && position && i < sam_count(&keys); i++)
        position->data[i] -= memory->data[i];
}

void sam_stages_attended(struct sam_tracker *t, enum sam_turn turn, struct sam_tracked *const *o,
                         int n, struct sam_tensor values, struct sam_tensor keys,
                         struct sam_tensor out)
{
    const struct sam_indices *x = &t->mem.state.index;
    const int one[4] = { 1, 1, 1, 1 };

    for (int i = 0; t->stages && i < n; i++) {
        const float pointers = (float) (x->num_keys.host[i] - x->num_rotated.host[i]);
        sam_stage_keep(t, turn, o[i]->id, "memory_attention.curr", t->mem.state.features.image, 0,
                       SAM_STAGE_TOKENS);
        keep_memory(t, turn, o[i]->id, values, keys, i, x->num_keys.host[i]);
        keep_host(t, turn, o[i]->id, "memory_attention.num_ptr_tokens", &pointers, one);
        sam_stage_keep(t, turn, o[i]->id, "memory_attention.out", out, i, SAM_STAGE_TOKENS);
    }
}

// The dense embedding: a map, or one row for all positions.
static void keep_dense(struct sam_tracker *t, enum sam_turn turn, uint64_t id,
                       struct sam_tensor dense)
{
    const int h = sam_grid(&t->model->config), c = dense.c, shape[4] = { 1, c, h, h };

    if (sam_rows(&dense) > 1) {
        sam_stage_keep(t, turn, id, "decoder.dense", dense, 0, SAM_STAGE_NCHW);
        return;
    }
    struct stage *e = claim(t, turn, id, "decoder.dense", shape);
    if (!e || !fetch(t, &dense))
        return;
    for (int i = 0; i < c; i++)
        for (int k = 0; k < h * h; k++)
            e->data[(size_t) i * h * h + k] = sam_load(&dense, (size_t) i);
}

void sam_stages_prompted(struct sam_tracker *t, enum sam_turn turn, struct sam_tracked *const *o,
                         int n, struct sam_tensor image, struct sam_tensor dense,
                         const float *sparse, int num_tokens)
{
    const int d = image.c;
    int shape[4] = { 1, 1, num_tokens, d };

    if (!t->stages)
        return;
    if (!sparse) { // a frame without points still has its two padding tokens
        shape[2] = sam_prompt_tokens(&t->model->prompt, d, t->model->config.image_size, 0, NULL,
                                     NULL, t->mem.host.staging);
        sparse = t->mem.host.staging;
    }
    for (int i = 0; i < n; i++) {
        keep_host(t, turn, o[i]->id, "decoder.sparse", sparse, shape);
        sam_stage_keep(t, turn, o[i]->id, "decoder.image", image, i, SAM_STAGE_NCHW);
        keep_dense(t, turn, o[i]->id, dense);
    }
}

void sam_stages_decoded(struct sam_tracker *t, enum sam_turn turn, struct sam_tracked *const *o,
                        int n)
{
    const struct sam_decoded *out = &t->mem.scratch.out;
    const int side = t->model->config.image_size / 4;

    for (int i = 0; t->stages && i < n; i++) {
        const struct sam_tensor masks =
            sam_reshape(sam_slice(out->masks, i), 1, SAM_MASK_TOKENS, side, side);
        sam_stage_keep(t, turn, o[i]->id, "decoder.masks", masks, 0, SAM_STAGE_AS_IS);
        sam_stage_keep(t, turn, o[i]->id, "decoder.ious", out->ious, i, SAM_STAGE_AS_IS);
        sam_stage_keep(t, turn, o[i]->id, "decoder.tokens", out->tokens, i, SAM_STAGE_AS_IS);
        sam_stage_keep(t, turn, o[i]->id, "decoder.object_score", out->score, i, SAM_STAGE_AS_IS);
    }
}

void sam_stages_remembered(struct sam_tracker *t, enum sam_turn turn,
                           struct sam_tracked *const *o, int n)
{
    const struct sam_scratch *s = &t->mem.scratch;
    const int h = sam_grid(&t->model->config);

    for (int i = 0; t->stages && i < n; i++) {
        const struct sam_tensor memory = sam_reshape(sam_slice(s->memory, i), 1, h, h, s->memory.c);
        sam_stage_keep(t, turn, o[i]->id, "memory_encoder.pix", t->mem.state.features.image, 0,
                       SAM_STAGE_NCHW);
        sam_stage_keep(t, turn, o[i]->id, "memory_encoder.mask", s->memory_encoder.high_res, i,
                       SAM_STAGE_NCHW);
        sam_stage_keep(t, turn, o[i]->id, "memory_encoder.out", memory, 0, SAM_STAGE_NCHW);
    }
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
