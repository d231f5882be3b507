// SPDX-License-Identifier: MIT
// RepViT: a stem, four stages of blocks, a downsampling layer before each stage but the first. The
// residual is never normalised, so it is kept in F32 at any precision.
#include "repvit.h"

#include <stdio.h>

#include "net/forward.h"
#include "net/load.h"

#define BODY "image_encoder.trunk.body."

// --- sizes --------------------------------------------------------------------------------------

static int read_stage(struct sam_config *c, const struct sam_weights *w, int stage,
                      struct sam_error *error)
{
    struct sam_edgetam_sizes *e = sam_edgetam_config(c);
    char name[96];
    int status, width;

    snprintf(name, sizeof(name), BODY "stages_%d.blocks.0.token_mixer.conv.c.weight", stage);
    struct sam_size_from from = { name, 0, 4, { 0, 1, 3, 3 } };
    if ((status = sam_config_size(w, &from, &width, error)))
        return status;
    c->stage_width[stage] = width;
    snprintf(name, sizeof(name), BODY "stages_%d.blocks.0.se.fc1.weight", stage);
    from = (struct sam_size_from) { name, 0, 4, { 0, width, 1, 1 } };
    if ((status = sam_config_size(w, &from, &e->squeeze[stage], error)))
        return status;
    snprintf(name, sizeof(name), BODY "stages_%d.blocks.", stage);
    e->depth[stage] = sam_config_layers(w, name, ".token_mixer.conv.c.weight", SAM_MAX_DEPTH);
    if (e->depth[stage] > SAM_MAX_DEPTH)
        return sam_fail(error, SAM_EFORMAT, "%s: stage %d of the trunk has more than %d blocks",
                        sam_weights_file(w), stage + 1, SAM_MAX_DEPTH);
    return SAM_OK;
}

int sam_repvit_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    const struct sam_size_from stem = { BODY "stem.conv1.c.weight", 0, 4, { 0, 3, 3, 3 } };
    int status = sam_config_size(w, &stem, &sam_edgetam_config(c)->stem, error);
    for (int i = 0; i < SAM_STAGES && !status; i++)
        status = read_stage(c, w, i, error);
    return status;
}

// --- loading ------------------------------------------------------------------------------------

// The token mixer is three branches that are summed: a depthwise 3 x 3, a depthwise 1 x 1, each
// with a norm of its own, and the identity. All three are one depthwise 3 x 3.
static void load_mix(struct sam_loader *l, struct sam_spatial *s, int c, const char *name)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const struct sam_load_layer wide = sam_load_normed(l, c, 1, 3, "%s.token_mixer.conv", name);
    const struct sam_load_layer point = sam_load_normed(l, c, 1, 1, "%s.token_mixer.conv1", name);
    if (sam_load_live(l))
        for (int i = 0; i < c; i++) {
            wide.weight[9 * i + 4] += point.weight[i] + 1;
            wide.bias[i] += point.bias[i];
        }
    s->weight = sam_load_depthwise(l, wide.weight, c, 3);
    s->bias = sam_load_tensor(l, wide.bias, 1, 1, c);
    sam_arena_release(&l->staging, mark);
}

static void load_mixer(struct sam_loader *l, struct sam_product *expand,
                       struct sam_product *project, int c, const char *name)
{
    sam_load_conv_normed(l, expand, 2 * c, c, 1, "%s.conv1", name);
    sam_load_conv_normed(l, project, c, 2 * c, 1, "%s.conv2", name);
}

static void load_block(struct sam_loader *l, struct sam_repvit_block *b, int c, int squeeze,
                       const char *name)
{
    char mixer[128];

    load_mix(l, &b->mix, c, name);
    b->has_gate = squeeze > 0;
    if (b->has_gate) {
        const bool exact = l->exact;
        l->exact = true; // few rows, and every pixel is multiplied by them
        sam_load_conv(l, &b->reduce, squeeze, c, 1, "%s.se.fc1", name);
        sam_load_conv(l, &b->excite, c, squeeze, 1, "%s.se.fc2", name);
        l->exact = exact;
    }
    snprintf(mixer, sizeof(mixer), "%s.channel_mixer", name);
    load_mixer(l, &b->expand, &b->project, c, mixer);
}

static void load_downsample(struct sam_loader *l, struct sam_repvit_downsample *d, int old, int c,
                            int stage)
{
    const size_t mark = sam_arena_mark(&l->staging);
    char name[96];

    snprintf(name, sizeof(name), BODY "stages_%d.downsample.pre_block", stage);
    load_block(l, &d->block, old, 0, name);
    const struct sam_load_layer spatial =
        sam_load_normed(l, old, 1, 3, BODY "stages_%d.downsample.spatial_downsample", stage);
    d->spatial.weight = sam_load_depthwise(l, spatial.weight, old, 3);
    d->spatial.bias = sam_load_tensor(l, spatial.bias, 1, 1, old);
    sam_load_conv_normed(l, &d->channel, c, old, 1,
                         BODY "stages_%d.downsample.channel_downsample", stage);
    snprintf(name, sizeof(name), BODY "stages_%d.downsample.ffn", stage);
    load_mixer(l, &d->expand, &d->project, c, name);
    sam_arena_release(&l->staging, mark);
}

void sam_repvit_load(struct sam_loader *l, const struct sam_config *config, void *trunk)
{
    const struct sam_edgetam_sizes *c = sam_edgetam_sizes(config);
    const int *width = config->stage_width;
    struct sam_repvit *r = trunk;
    char name[96];

    sam_load_conv_normed(l, &r->stem1, c->stem, 3, 3, BODY "stem.conv1");
    sam_load_conv_normed(l, &r->stem2, width[0], c->stem, 3, BODY "stem.conv2");
    for (int stage = 0; stage < SAM_STAGES; stage++) {
        if (stage)
            load_downsample(l, &r->downsample[stage], width[stage - 1], width[stage], stage);
        for (int i = 0; i < c->depth[stage]; i++) {
            snprintf(name, sizeof(name), BODY "stages_%d.blocks.%d", stage, i);
            load_block(l, &r->block[stage][i], width[stage], i % 2 ? 0 : c->squeeze[stage], name);
        }
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

void sam_repvit_layout(struct sam_encoder_scratch *s, const struct sam_config *config,
                       const struct sam_queue *q, struct sam_arena *a)
{
    const enum sam_type type = sam_queue_type(q);
    const struct sam_edgetam_sizes *c = sam_edgetam_sizes(config);
    const int S = config->image_size;
    size_t x = 0, row = 0;

    for (int i = 0; i < SAM_STAGES; i++) {
        const size_t side = (size_t) S >> (i + 2), width = (size_t) config->stage_width[i];
        x = max_size(x, side * side * width);
        row = max_size(row, max_size(width, (size_t) c->squeeze[i]));
    }
    const size_t half = (size_t) (S / 2) * (S / 2) * c->stem;
    s->input = sam_arena_tensor(a, SAM_F32, 1, S, S, 3);
    s->x[0] = room(a, SAM_F32, x);
    s->x[1] = room(a, SAM_F32, x);
    s->wide = room(a, type, max_size(2 * x, half));
    s->u = room(a, SAM_F32, row); // of squeeze-excite, like mixed: F32 at any precision
    s->mixed = room(a, SAM_F32, row);
}

static void run_mixer(struct sam_queue *q, const struct sam_product *expand,
                      const struct sam_product *project, const struct sam_encoder_scratch *s,
                      struct sam_tensor src, struct sam_tensor dst)
{
    const struct sam_tensor hidden = sam_view(s->wide, 1, src.h, src.w, 2 * src.c);

    linear(q, .dst = hidden, .src = src, LINEAR(*expand), .act = SAM_ACT_GELU);
    linear(q, .dst = dst, .src = hidden, LINEAR(*project), .add = src);
}

// t *= sigmoid(excite(relu(reduce(mean of t)))).
static void squeeze_excite(struct sam_queue *q, const struct sam_repvit_block *b,
                           const struct sam_encoder_scratch *s, struct sam_tensor t)
{
    const struct sam_tensor mean = sam_view(s->u, 1, 1, 1, t.c);
    const struct sam_tensor squeezed = sam_view(s->mixed, 1, 1, 1, b->reduce.weight.out);
    const struct sam_tensor gates = mean;

    mean_rows(q, .dst = mean, .src = t);
    linear(q, .dst = squeezed, .src = mean, PRODUCT(b->reduce), .act = SAM_ACT_RELU);
    linear(q, .dst = gates, .src = squeezed, PRODUCT(b->excite), .act = SAM_ACT_SIGMOID);
    scale_channels(q, .dst = t, .src = t, .scale = gates);
}

// The residual starts behind the gate.
struct sam_tensor sam_repvit_block_run(struct sam_queue *q, const struct sam_repvit_block *b,
                                       const struct sam_encoder_scratch *s, struct sam_tensor x)
{
    const struct sam_tensor t = sam_view(s->x[1], 1, x.h, x.w, x.c);

    depthwise(q, .dst = t, .src = x, .weight = b->mix.weight, .bias = b->mix.bias, .kernel = 3,
              .stride = 1);
    if (b->has_gate)
        squeeze_excite(q, b, s, t);
    run_mixer(q, &b->expand, &b->project, s, t, x);
    return t;
}

struct sam_tensor sam_repvit_downsample_run(struct sam_queue *q,
                                            const struct sam_repvit_downsample *d,
                                            const struct sam_encoder_scratch *s,
                                            struct sam_tensor x, int width)
{
    const struct sam_tensor t = sam_view(s->x[1], 1, x.h / 2, x.w / 2, x.c);
    const struct sam_tensor y = sam_view(s->x[0], 1, x.h / 2, x.w / 2, width);

    sam_repvit_block_run(q, &d->block, s, x);
    depthwise(q, .dst = t, .src = x, .weight = d->spatial.weight, .bias = d->spatial.bias,
              .kernel = 3, .stride = 2);
    linear(q, .dst = y, .src = t, LINEAR(d->channel));
    run_mixer(q, &d->expand, &d->project, s, y, y);
    return y;
}

static void run_stage(struct sam_queue *q, const struct sam_repvit *r, int stage, int depth,
                      const struct sam_encoder_scratch *s, struct sam_tensor x)
{
    char name[40];

    for (int i = 0; i < depth; i++) {
        const struct sam_tensor mixed = sam_repvit_block_run(q, &r->block[stage][i], s, x);
        snprintf(name, sizeof(name), "stage%d.block%02d.mixed", stage, i);
        sam_queue_mark(q, name, mixed);
        snprintf(name, sizeof(name), "stage%d.block%02d", stage, i);
        sam_queue_mark(q, name, x);
    }
    snprintf(name, sizeof(name), "trunk%d", stage);
    sam_queue_mark(q, name, x);
}

void sam_repvit_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                    const struct sam_features *dst)
{
    const struct sam_edgetam_sizes *c = sam_edgetam_sizes(&m->config);
    const struct sam_repvit *r = m->trunk;
    const int *width = m->config.stage_width, side = m->config.image_size / 4;
    const struct sam_tensor half = sam_view(s->wide, 1, 2 * side, 2 * side, c->stem);
    struct sam_tensor x = sam_view(s->x[0], 1, side, side, width[0]);
    char name[24];

    conv(q, .dst = half, .src = s->input, PRODUCT(r->stem1), .kernel = 3, .stride = 2, .pad = 1,
         .act = SAM_ACT_GELU);
    conv(q, .dst = x, .src = half, PRODUCT(r->stem2), .kernel = 3, .stride = 2, .pad = 1);
    sam_queue_mark(q, "stem", x);
    for (int stage = 0; stage < SAM_STAGES; stage++) {
        if (stage) {
            x = sam_repvit_downsample_run(q, &r->downsample[stage], s, x, width[stage]);
            snprintf(name, sizeof(name), "stage%d.downsample", stage);
            sam_queue_mark(q, name, x);
        }
        run_stage(q, r, stage, c->depth[stage], s, x);
        sam_neck_run(q, &m->neck, s, stage, x, dst);
    }
}
