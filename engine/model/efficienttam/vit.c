// SPDX-License-Identifier: MIT
// A plain vision transformer (ViTDet): patches, a position map scaled to the input's size, blocks
// of which most attend inside windows. The sum over the blocks is not normed at its end; the neck
// norms what it makes of it.
#include "vit.h"

#include <stdio.h>

#include "net/forward.h"
#include "net/load.h"
#include "net/position.h"

#define TRUNK "image_encoder.trunk."
#define NECK  "image_encoder.neck.convs.0."

// --- sizes --------------------------------------------------------------------------------------

int sam_vit_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct sam_vit_sizes *v = sam_vit_config(c);
    const char *file = sam_weights_file(w);
    int rows = 0, side = 0, status;

    if ((status = sam_config_size(w, &(struct sam_size_from){
             TRUNK "patch_embed.proj.weight", 0, 4, { 0, 3, SAM_VIT_PATCH, SAM_VIT_PATCH } },
             &v->width, error)) ||
        (status = sam_config_size(w, &(struct sam_size_from){
             TRUNK "pos_embed", 1, 3, { 1, 0, v->width } }, &rows, error)) ||
        (status = sam_config_count(w, TRUNK "blocks.", ".norm1.weight", ".norm2.weight",
                                   SAM_MAX_BLOCKS, &v->depth, error)))
        return status;
    while (side * side < rows - 1)
        side++;
    if (side * side != rows - 1 || side < 1 || side > 64)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '" TRUNK "pos_embed': expected 1 + n * n rows (a class and a "
                        "square), n from 1 to 64, got %d", file, rows);
    if (v->depth < 1 || v->depth > SAM_MAX_BLOCKS)
        return sam_fail(error, SAM_EFORMAT, "%s: the trunk must have 1 to %d blocks, got %s%d",
                        file, SAM_MAX_BLOCKS, v->depth > SAM_MAX_BLOCKS ? "at least " : "",
                        v->depth);
    v->position_side = side;
    for (int i = 0; i < SAM_STAGES; i++) // all are the one map
        c->stage_width[i] = v->width;
    return SAM_OK;
}

// --- loading ------------------------------------------------------------------------------------

static void load_block(struct sam_loader *l, struct sam_hiera_block *b, int i)
{
    const char *prefix = TRUNK "blocks";
    const int c = b->dim;
    sam_load_norm(l, &b->norm1, c, "%s.%d.norm1", prefix, i);
    sam_load_linear(l, &b->qkv, 3 * c, c, "%s.%d.attn.qkv", prefix, i);
    sam_load_linear(l, &b->proj, c, c, "%s.%d.attn.proj", prefix, i);
    sam_load_norm(l, &b->mlp.norm, c, "%s.%d.norm2", prefix, i);
    sam_load_linear(l, &b->mlp.up, 4 * c, c, "%s.%d.mlp.layers.0", prefix, i);
    sam_load_linear(l, &b->mlp.down, c, 4 * c, "%s.%d.mlp.layers.1", prefix, i);
}

// The first row belongs to a class token, which the trunk does not have.
static struct sam_tensor load_position(struct sam_loader *l, const struct sam_config *config)
{
    const struct sam_vit_sizes *v = sam_vit_sizes(config);
    const int n = v->position_side, c = v->width, side = sam_grid(config);
    const size_t places = (size_t) n * n, mark = sam_arena_mark(&l->staging);
    float *rows = sam_load_room(&l->staging, (1 + places) * c);
    float *map = sam_load_room(&l->staging, places * c); // (c, n, n)
    float *scratch = sam_load_room(&l->staging, (size_t) n * side * c);
    float *scaled = sam_load_room(&l->staging, (size_t) side * side * c);

    sam_load_read(l, rows, 3, (int64_t[]) { 1, 1 + n * n, c }, TRUNK "pos_embed");
    if (sam_load_live(l)) {
        for (size_t p = 0; p < places; p++)
            for (int i = 0; i < c; i++)
                map[i * places + p] = rows[(1 + p) * c + i];
        sam_position_scale(map, n, side, c, scratch, scaled);
    }
    const struct sam_tensor t = sam_load_tensor(l, scaled, side, side, c);
    sam_arena_release(&l->staging, mark);
    return t;
}

static void load_neck(struct sam_loader *l, const struct sam_config *config, struct sam_vit *v)
{
    const int d = config->d_model;

    // As of other families' necks: all later parts depend on it.
    l->exact = config->exact_maps;
    sam_load_conv_weight(l, &v->narrow, d, sam_vit_sizes(config)->width, 1, NECK "conv_1x1");
    sam_load_norm(l, &v->narrow_norm, d, NECK "norm_0");
    sam_load_conv_weight(l, &v->smooth, d, d, 3, NECK "conv_3x3");
    sam_load_norm(l, &v->smooth_norm, d, NECK "norm_1");
    l->exact = false;
}

void sam_vit_load(struct sam_loader *l, const struct sam_config *config, void *trunk)
{
    const struct sam_vit_sizes *sizes = sam_vit_sizes(config);
    struct sam_vit *v = trunk;

    sam_load_conv(l, &v->patch_embed, sizes->width, 3, SAM_VIT_PATCH, TRUNK "patch_embed.proj");
    v->position = load_position(l, config);
    for (int i = 0; i < sizes->depth; i++) {
        struct sam_hiera_block *b = &v->block[i];
        b->dim = b->dim_out = sizes->width;
        b->heads = sizes->num_heads;
        b->window = sizes->global_block[i] ? 0 : sizes->window;
        load_block(l, b, i);
    }
    load_neck(l, config, v);
}

// --- the forward --------------------------------------------------------------------------------

void sam_vit_layout(struct sam_encoder_scratch *s, const struct sam_config *config,
                    const struct sam_queue *q, struct sam_arena *a)
{
    const enum sam_type type = sam_queue_type(q);
    const int S = config->image_size, h = sam_grid(config), c = sam_vit_sizes(config)->width;
    const size_t hidden = sam_mlp_hidden(q, (size_t) h * h * 4 * c), qkv = (size_t) h * h * 3 * c;

    const size_t mark = sam_arena_mark(a);
    s->input = sam_arena_tensor(a, SAM_F32, 1, S, S, 3);
    const size_t end = sam_arena_mark(a);
    sam_arena_release(a, mark);
    s->wide = sam_arena_tensor(a, type, 1, 1, 1, (int) (hidden > qkv ? hidden : qkv));
    if (a->used < end)
        sam_arena_bytes(a, end - a->used);

    s->x[0] = sam_arena_tensor(a, SAM_F32, 1, h, h, c);
    s->x[1] = sam_arena_tensor(a, SAM_F32, 1, h, h, config->d_model);
    s->u = sam_arena_tensor(a, type, 1, h, h, c);
    s->mixed = sam_arena_tensor(a, type, 1, h, h, c);
}

void sam_vit_neck_run(struct sam_queue *q, const struct sam_vit *v, struct sam_encoder_scratch *s,
                      struct sam_tensor x, struct sam_tensor image)
{
    const struct sam_tensor narrow = s->x[1];
    const struct sam_linear first = { .dst = narrow, .src = x, LINEAR(v->narrow) };
    const struct sam_conv second = { .dst = image, .src = narrow, PRODUCT(v->smooth),
                                     .kernel = 3, .stride = 1, .pad = 1 };

    product_norm(q, .linear = &first, .norm = { .dst = narrow, .src = narrow,
                                                NORM(v->narrow_norm), .eps = EPS_MAP });
    product_norm(q, .conv = &second, .norm = { .dst = image, .src = image, NORM(v->smooth_norm),
                                               .eps = EPS_MAP });
}

void sam_vit_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                 const struct sam_features *dst)
{
    const struct sam_vit *v = m->trunk;
    const struct sam_tensor x = s->x[0];
    char name[16];

    conv(q, .dst = x, .src = s->input, PRODUCT(v->patch_embed), .kernel = SAM_VIT_PATCH,
         .stride = SAM_VIT_PATCH, .add = v->position);
    sam_queue_mark(q, "pos_embed", v->position);
    sam_queue_mark(q, "embedded", x);
    for (int i = 0; i < sam_vit_sizes(&m->config)->depth; i++) {
        sam_hiera_block_run(q, &v->block[i], s, NULL, x, x);
        snprintf(name, sizeof(name), "block%02d", i);
        sam_queue_mark(q, name, x);
    }
    sam_queue_mark(q, "trunk0", x);
    sam_vit_neck_run(q, v, s, x, dst->image);
}
