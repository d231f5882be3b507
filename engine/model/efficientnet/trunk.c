// SPDX-License-Identifier: MIT
// See trunk.h. The residual is never normalised, so it is kept in F32 at any precision.
#include "trunk.h"

#include <stdio.h>

#include "net/forward.h"
#include "net/load.h"

#define TRUNK "image_encoder.trunk."

const struct sam_lite_stage sam_lite_stages[SAM_LITE_STAGES] = {
    { 3, 1, 1, -1 }, { 3, 2, 6, 0 },  { 5, 2, 6, 1 }, { 3, 2, 6, -1 },
    { 5, 1, 6, 2 },  { 5, 2, 6, -1 }, { 3, 1, 6, 3 },
};

// --- sizes --------------------------------------------------------------------------------------

static int read_stage(struct sam_config *c, const struct sam_weights *w, int stage,
                      struct sam_error *error)
{
    struct sam_lite_sizes *sizes = sam_lite_config(c);
    const int map = sam_lite_stages[stage].map;
    char name[96];

    snprintf(name, sizeof(name), TRUNK "blocks.%d.0.conv_pwl.weight", stage);
    const struct sam_size_from width = { name, 0, 4, { 0, 0, 1, 1 } };
    const int status = sam_config_size(w, &width, &sizes->width[stage], error);
    if (status)
        return status;
    if (map >= 0)
        c->stage_width[map] = sizes->width[stage];
    snprintf(name, sizeof(name), TRUNK "blocks.%d.", stage);
    sizes->depth[stage] = sam_config_layers(w, name, ".conv_pwl.weight", SAM_LITE_DEPTH);
    if (sizes->depth[stage] > SAM_LITE_DEPTH)
        return sam_fail(error, SAM_EFORMAT, "%s: stage %d of the trunk has more than %d blocks",
                        sam_weights_file(w), stage + 1, SAM_LITE_DEPTH);
    return SAM_OK;
}

int sam_lite_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    const struct sam_size_from stem = { TRUNK "conv_stem.weight", 0, 4, { 0, 3, 3, 3 } };
    int status = sam_config_size(w, &stem, &sam_lite_config(c)->stem, error);
    for (int i = 0; i < SAM_LITE_STAGES && !status; i++)
        status = read_stage(c, w, i, error);
    return status;
}

// --- loading ------------------------------------------------------------------------------------

static void load_spatial(struct sam_loader *l, struct sam_lite_block *b, int c, int kernel,
                         const char *name)
{
    const int64_t shape[] = { c, 1, kernel, kernel };
    const size_t mark = sam_arena_mark(&l->staging);
    float *weight = sam_load_room(&l->staging, (size_t) c * kernel * kernel);
    float *bias = sam_load_room(&l->staging, c);

    sam_load_read(l, weight, 4, shape, "%s.conv_dw.weight", name);
    sam_load_read(l, bias, 1, shape, "%s.conv_dw.bias", name);
    b->depthwise = sam_load_depthwise(l, weight, c, kernel);
    b->depthwise_bias = sam_load_tensor(l, bias, 1, 1, c);
    sam_arena_release(&l->staging, mark);
}

static void load_block(struct sam_loader *l, struct sam_lite_block *b,
                       const struct sam_lite_stage *stage, int in, int out, const char *name)
{
    const int inside = in * stage->widening;

    if (stage->widening > 1)
        sam_load_conv(l, &b->expand, inside, in, 1, "%s.conv_pw", name);
    load_spatial(l, b, inside, stage->kernel, name);
    sam_load_conv(l, &b->project, out, inside, 1, "%s.conv_pwl", name);
}

void sam_lite_load(struct sam_loader *l, const struct sam_config *config, void *trunk)
{
    const struct sam_lite_sizes *c = sam_lite_sizes(config);
    struct sam_lite_trunk *t = trunk;
    int in = c->stem;
    char name[96];

    sam_load_conv(l, &t->stem, c->stem, 3, 3, TRUNK "conv_stem");
    for (int stage = 0; stage < SAM_LITE_STAGES; stage++)
        for (int i = 0; i < c->depth[stage]; i++) {
            snprintf(name, sizeof(name), TRUNK "blocks.%d.%d", stage, i);
            load_block(l, &t->block[stage][i], &sam_lite_stages[stage], in, c->width[stage], name);
            in = c->width[stage];
        }
}

// --- the forward --------------------------------------------------------------------------------

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct sam_tensor room(struct sam_arena *a, enum sam_type type, size_t count)
{
    return sam_arena_tensor(a, type, 1, 1, 1, (int) count);
}

// Whether a block is one operation, which keeps nothing of what is inside.
static bool is_whole(const struct sam_queue *q, const struct sam_lite_stage *stage, int side,
                     int inside)
{
    return stage->widening > 1 && sam_op_takes_bottleneck(q, side, inside, stage->kernel);
}

// Numbers at most: of the residual, of what a whole block makes of it, of another block before its
// depthwise convolution, and after it.
struct rooms {
    size_t x, y, wide, mixed;
};

static struct rooms measure(const struct sam_config *config, const struct sam_queue *q)
{
    const struct sam_lite_sizes *c = sam_lite_sizes(config);
    size_t side = (size_t) config->image_size / 2;
    int in = c->stem;
    struct rooms r = { side * side * in, 1, 1, 1 };

    for (int stage = 0; stage < SAM_LITE_STAGES; stage++)
        for (int i = 0; i < c->depth[stage]; i++) {
            const struct sam_lite_stage *s = &sam_lite_stages[stage];
            const size_t inside = (size_t) in * s->widening;
            const bool whole = is_whole(q, s, (int) side, (int) inside);
            if (s->widening > 1 && !whole)
                r.wide = max_size(r.wide, side * side * inside);
            side /= i ? 1 : s->stride;
            in = c->width[stage];
            if (!whole)
                r.mixed = max_size(r.mixed, side * side * inside);
            else
                r.y = max_size(r.y, side * side * in);
            r.x = max_size(r.x, side * side * in);
        }
    return r;
}

void sam_lite_layout(struct sam_encoder_scratch *s, const struct sam_config *config,
                     const struct sam_queue *q, struct sam_arena *a)
{
    const enum sam_type type = sam_queue_type(q);
    const struct rooms r = measure(config, q);
    const int S = config->image_size;

    // The stem is done with the input before the first depthwise convolution.
    const size_t mark = sam_arena_mark(a);
    s->input = sam_arena_tensor(a, SAM_F32, 1, S, S, 3);
    const size_t end = sam_arena_mark(a);
    sam_arena_release(a, mark);
    s->mixed = room(a, type, r.mixed);
    if (a->used < end)
        sam_arena_bytes(a, end - a->used);

    s->x[0] = room(a, SAM_F32, r.x);
    s->x[1] = room(a, SAM_F32, r.y);
    s->wide = room(a, type, r.wide);
}

struct sam_tensor sam_lite_block_run(struct sam_queue *q, const struct sam_lite_block *b,
                                     const struct sam_lite_stage *stage, bool is_first,
                                     const struct sam_encoder_scratch *s, struct sam_tensor x,
                                     int width)
{
    const int stride = is_first ? stage->stride : 1, inside = x.c * stage->widening;
    const bool adds = stride == 1 && width == x.c;
    const struct sam_tensor add = adds ? x : (struct sam_tensor) { 0 };

    if (is_whole(q, stage, x.w, inside)) {
        const struct sam_tensor y = sam_view(s->x[x.data == s->x[0].data], 1, x.h / stride,
                                             x.w / stride, width);
        bottleneck(q, .dst = y, .src = x, .expand = b->expand.weight,
                   .expand_bias = b->expand.bias, .weight = b->depthwise, .bias = b->depthwise_bias,
                   .kernel = stage->kernel, .stride = stride, .late = stride == 2,
                   .project = b->project.weight, .project_bias = b->project.bias, .add = add,
                   .act = SAM_ACT_RELU6);
        return y;
    }
    const struct sam_tensor wide =
        stage->widening > 1 ? sam_view(s->wide, 1, x.h, x.w, inside) : x;
    const struct sam_tensor mixed = sam_view(s->mixed, 1, x.h / stride, x.w / stride, inside);
    const struct sam_tensor y = sam_view(s->x[0], 1, mixed.h, mixed.w, width);

    if (stage->widening > 1)
        linear(q, .dst = wide, .src = x, LINEAR(b->expand), .act = SAM_ACT_RELU6);
    depthwise(q, .dst = mixed, .src = wide, .weight = b->depthwise, .bias = b->depthwise_bias,
              .kernel = stage->kernel, .stride = stride, .late = stride == 2,
              .act = SAM_ACT_RELU6);
    linear(q, .dst = y, .src = mixed, LINEAR(b->project), .add = add);
    return y;
}

static struct sam_tensor run_stage(struct sam_queue *q, const struct sam_model *m, int stage,
                                   const struct sam_encoder_scratch *s, struct sam_tensor x)
{
    const struct sam_lite_sizes *c = sam_lite_sizes(&m->config);
    const struct sam_lite_trunk *t = m->trunk;
    char name[40];

    for (int i = 0; i < c->depth[stage]; i++) {
        x = sam_lite_block_run(q, &t->block[stage][i], &sam_lite_stages[stage], i == 0, s, x,
                               c->width[stage]);
        snprintf(name, sizeof(name), "stage%d.block%02d", stage, i);
        sam_queue_mark(q, name, x);
    }
    return x;
}

void sam_lite_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                  const struct sam_features *dst)
{
    const struct sam_lite_trunk *t = m->trunk;
    const int half = m->config.image_size / 2;
    struct sam_tensor x = sam_view(s->x[0], 1, half, half, sam_lite_sizes(&m->config)->stem);
    char name[24];

    conv(q, .dst = x, .src = s->input, PRODUCT(t->stem), .kernel = 3, .stride = 2, .pad = 0,
         .pad_end = 1, .act = SAM_ACT_RELU6);
    sam_queue_mark(q, "stem", x);
    for (int stage = 0; stage < SAM_LITE_STAGES; stage++) {
        const int map = sam_lite_stages[stage].map;
        x = run_stage(q, m, stage, s, x);
        if (map < 0)
            continue;
        snprintf(name, sizeof(name), "trunk%d", map);
        sam_queue_mark(q, name, x);
        sam_neck_run(q, &m->neck, s, map, x, dst);
    }
}
