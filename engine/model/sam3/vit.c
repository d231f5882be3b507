// SPDX-License-Identifier: MIT
// A plain vision transformer with rotary positions, of which most blocks attend inside windows. Its
// position map is tiled, not scaled, and the sum over the blocks is not normed at its end.
#include "vit.h"

#include <math.h>
#include <stdio.h>

#include "net/forward.h"
#include "net/load.h"

#define TRUNK "image_encoder.trunk."
#define NECK  "image_encoder.neck.levels."

// --- sizes --------------------------------------------------------------------------------------

// One row per place of a square map; the publisher's file has one of a class before them.
static int read_position(struct sam_sam3_sizes *v, const struct sam_weights *w,
                         struct sam_error *error)
{
    int rows = 0, side = 1;
    const int status = sam_config_size(
        w, &(struct sam_size_from){ TRUNK "pos_embed", 1, 3, { 1, 0, v->width } }, &rows, error);

    if (status)
        return status;
    while (side * side < rows - 1)
        side++;
    if (rows < 1 || side > 64 || (side * side != rows && side * side != rows - 1))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '" TRUNK "pos_embed': expected n * n rows or one more, n from "
                        "1 to 64, got %d",
                        sam_weights_file(w), rows);
    v->position_side = side;
    return SAM_OK;
}

int sam_sam3_trunk_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct sam_sam3_sizes *v = sam_sam3_config(c);
    int status;

    if ((status = sam_config_size(
             w,
             &(struct sam_size_from){
                 TRUNK "patch_embed.proj.weight", 0, 4, { 0, 3, SAM_SAM3_PATCH, SAM_SAM3_PATCH } },
             &v->width, error)) ||
        (status = read_position(v, w, error)) ||
        (status = sam_config_count(w, TRUNK "blocks.", ".norm1.weight", ".norm2.weight",
                                   SAM_SAM3_BLOCKS, &v->depth, error)))
        return status;
    if (v->depth < 1 || v->depth > SAM_SAM3_BLOCKS)
        return sam_fail(error, SAM_EFORMAT, "%s: the trunk must have 1 to %d blocks, got %s%d",
                        sam_weights_file(w), SAM_SAM3_BLOCKS,
                        v->depth > SAM_SAM3_BLOCKS ? "at least " : "", v->depth);
    return sam_config_size(
        w, &(struct sam_size_from){ TRUNK "blocks.0.mlp.fc1.weight", 0, 2, { 0, v->width } },
        &v->hidden, error);
}

int sam_sam3_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct sam_sam3_sizes *v = sam_sam3_config(c);
    int status = sam_sam3_trunk_read(c, w, error);
    const struct {
        struct sam_size_from from;
        int *out;
    } sizes[] = {
        { { NECK "0.dconv_2x2_0.bias", 0, 1, { 0 } }, &v->wide },
        { { NECK "0.dconv_2x2_1.bias", 0, 1, { 0 } }, &v->fine },
        { { NECK "1.dconv_2x2.bias", 0, 1, { 0 } }, &v->mid },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !status; i++)
        status = sam_config_size(w, &sizes[i].from, sizes[i].out, error);
    if (status)
        return status;
    for (int i = 0; i < SAM_STAGES; i++) // all are the one map
        c->stage_width[i] = v->width;
    return SAM_OK;
}

// --- loading ------------------------------------------------------------------------------------

// The publisher's file has q, k and v in one tensor, Hugging Face's has three.
static void load_qkv(struct sam_loader *l, struct sam_sam3_block *b, int c, int i)
{
    struct sam_product *const parts[3] = { &b->q, &b->k, &b->v };
    static const char names[3] = { 'q', 'k', 'v' };
    const char *prefix = TRUNK "blocks";

    if (!sam_load_has(l, "%s.%d.attn.qkv.weight", prefix, i)) {
        for (int k = 0; k < 3; k++)
            sam_load_linear(l, parts[k], c, c, "%s.%d.attn.%c_proj", prefix, i, names[k]);
        return;
    }
    const size_t mark = sam_arena_mark(&l->staging), square = (size_t) c * c;
    float *weight = sam_load_room(&l->staging, 3 * square);
    float *bias = sam_load_room(&l->staging, 3 * (size_t) c);
    sam_load_read(l, weight, 2, (int64_t[]){ 3 * c, c }, "%s.%d.attn.qkv.weight", prefix, i);
    sam_load_read(l, bias, 1, (int64_t[]){ 3 * c }, "%s.%d.attn.qkv.bias", prefix, i);
    for (int k = 0; k < 3; k++)
        sam_load_product(l, parts[k], l->measuring ? NULL : weight + k * square,
                         l->measuring ? NULL : bias + (size_t) k * c, c, c);
    sam_arena_release(&l->staging, mark);
}

static void load_block(struct sam_loader *l, const struct sam_sam3_sizes *v,
                       struct sam_sam3_block *b, int i)
{
    const char *prefix = TRUNK "blocks";
    const int c = v->width;

    sam_load_norm(l, &b->norm, c, "%s.%d.norm1", prefix, i);
    load_qkv(l, b, c, i);
    sam_load_linear(l, &b->out, c, c, "%s.%d.attn.proj", prefix, i);
    sam_load_norm(l, &b->mlp.norm, c, "%s.%d.norm2", prefix, i);
    sam_load_linear(l, &b->mlp.up, v->hidden, c, "%s.%d.mlp.fc1", prefix, i);
    sam_load_linear(l, &b->mlp.down, c, v->hidden, "%s.%d.mlp.fc2", prefix, i);
}

// The stored map, tiled over the grid: (1, h, h, width).
static struct sam_tensor load_position(struct sam_loader *l, const struct sam_config *config)
{
    const struct sam_sam3_sizes *v = sam_sam3_of(config);
    const int n = v->position_side, c = v->width, h = sam_grid(config);
    const int64_t places = n * n;
    const bool has_class = sam_weights_find(l->weights, TRUNK "pos_embed")->shape[1] > places;
    const size_t mark = sam_arena_mark(&l->staging);
    float *rows = sam_load_room(&l->staging, (size_t) (1 + places) * c);
    float *map = sam_load_room(&l->staging, (size_t) h * h * c);

    sam_load_read(l, rows, 3, (int64_t[]){ 1, places + has_class, c }, TRUNK "pos_embed");
    const float *first = rows + (has_class ? c : 0);
    for (int y = 0; sam_load_live(l) && y < h; y++)
        for (int x = 0; x < h; x++)
            for (int i = 0; i < c; i++)
                map[((size_t) y * h + x) * c + i] = first[((y % n) * n + x % n) * c + i];
    const struct sam_tensor t = sam_load_tensor(l, map, h, h, c);
    sam_arena_release(&l->staging, mark);
    return t;
}

// One row of the table: how the heads of a token at (x, y) turn. The first half of a head's pairs
// turns with x, the second with y.
static void turn_row(float *row, const struct sam_sam3_sizes *v, double x, double y)
{
    const int head = v->width / v->num_heads, quarter = head / 4;

    for (int c = 0; c < v->width; c += head)
        for (int i = 0; i < 2 * quarter; i++) {
            const double at = i < quarter ? x : y;
            const double angle = at * pow(10000.0, -4.0 * (i % quarter) / head);
            row[c + 2 * i] = (float) cos(angle);
            row[c + 2 * i + 1] = (float) sin(angle);
        }
}

// Of `across` x `across` windows, one after another, as one map that is as wide as a window: so a
// global block sees the places that it was trained on.
static struct sam_tensor load_turns(struct sam_loader *l, const struct sam_sam3_sizes *v,
                                    int across)
{
    const int w = v->window, tokens = across * across * w * w;
    const size_t mark = sam_arena_mark(&l->staging);
    float *table = sam_load_room(&l->staging, (size_t) tokens * v->width);

    for (int t = 0; sam_load_live(l) && t < tokens; t++) {
        const int window = t / (w * w), y = t / w % w, x = t % w;
        turn_row(table + (size_t) t * v->width, v, (double) (window % across * w + x) / across,
                 (double) (window / across * w + y) / across);
    }
    const struct sam_tensor t = sam_load_tensor(l, table, 1, tokens, v->width);
    sam_arena_release(&l->staging, mark);
    return t;
}

void sam_sam3_trunk_load(struct sam_loader *l, const struct sam_config *config,
                         struct sam_sam3_trunk *v)
{
    const struct sam_sam3_sizes *sizes = sam_sam3_of(config);

    sam_load_conv_weight(l, &v->patch_embed, sizes->width, 3, SAM_SAM3_PATCH,
                         TRUNK "patch_embed.proj");
    v->position = load_position(l, config);
    sam_load_norm(l, &v->first_norm, sizes->width, TRUNK "ln_pre");
    v->turn_window = load_turns(l, sizes, 1);
    v->turn_all = load_turns(l, sizes, sam_grid(config) / sizes->window);
    for (int i = 0; i < sizes->depth; i++)
        load_block(l, sizes, &v->block[i], i);
}

void sam_sam3_load(struct sam_loader *l, const struct sam_config *config, void *trunk)
{
    struct sam_sam3 *v = trunk;

    sam_sam3_trunk_load(l, config, &v->trunk);
    sam_sam3_neck_load(l, config, &v->neck);
}

// --- the forward --------------------------------------------------------------------------------

int sam_sam3_channels(const struct sam_config *c)
{
    return sam_sam3_of(c)->width;
}

void sam_sam3_trunk_layout(struct sam_encoder_scratch *s, const struct sam_config *config,
                           const struct sam_queue *q, size_t room, struct sam_arena *a)
{
    const enum sam_type type = sam_queue_type(q);
    const struct sam_sam3_sizes *v = sam_sam3_of(config);
    const int S = config->image_size, h = sam_grid(config), c = v->width;
    const size_t tokens = (size_t) h * h;
    const size_t hidden = sam_mlp_hidden(q, tokens * v->hidden);
    size_t wide = 3 * tokens * c;

    wide = hidden > wide ? hidden : wide;
    wide = room > wide ? room : wide;
    const size_t mark = sam_arena_mark(a);
    s->input = sam_arena_tensor(a, SAM_F32, 1, S, S, 3);
    const size_t end = sam_arena_mark(a);
    sam_arena_release(a, mark);
    s->wide = sam_arena_tensor(a, type, 1, 1, 1, (int) wide);
    if (a->used < end)
        sam_arena_bytes(a, end - a->used);

    s->x[0] = sam_arena_tensor(a, SAM_F32, 1, h, h, c);
    s->x[1] = sam_arena_tensor(a, SAM_F32, 1, h, h, c);
    s->u = sam_arena_tensor(a, type, 1, h, h, c);
    s->mixed = sam_arena_tensor(a, type, 1, h, h, c);
}

void sam_sam3_layout(struct sam_encoder_scratch *s, const struct sam_config *config,
                     const struct sam_queue *q, struct sam_arena *a)
{
    sam_sam3_trunk_layout(s, config, q, sam_sam3_neck_room(config), a);
}

// q, k or v of a block, in the room of all three.
static struct sam_tensor part_of(struct sam_tensor wide, int i, struct sam_tensor x)
{
    const size_t count = sam_count(&x);

    wide.data = (char *) wide.data + i * count * sam_type_size(wide.type);
    wide.c = (int) count;
    return sam_view(wide, x.n, x.h, x.w, x.c);
}

void sam_sam3_block_run(struct sam_queue *q, const struct sam_sam3_trunk *v, int i, int heads,
                        bool all, struct sam_encoder_scratch *s, struct sam_tensor x)
{
    const struct sam_sam3_block *b = &v->block[i];
    const struct sam_tensor turn = all ? v->turn_all : v->turn_window;

    if (all)
        x = sam_view(x, 1, 1, x.n * x.w, x.c);
    const struct sam_tensor u = sam_view(s->u, x.n, 1, x.w, x.c);
    const struct sam_tensor mixed = sam_view(s->mixed, x.n, 1, x.w, x.c);
    const struct sam_tensor Q = part_of(s->wide, 0, x), K = part_of(s->wide, 1, x);
    const struct sam_tensor V = part_of(s->wide, 2, x);
    const struct sam_linear qkv[] = {
        { .dst = Q, .src = u, LINEAR(b->q), .table = turn },
        { .dst = K, .src = u, LINEAR(b->k), .table = turn },
        { .dst = V, .src = u, LINEAR(b->v) },
    };
    norm_linears(q, .norm = { .dst = u, .src = x, NORM(b->norm), .eps = EPS_TRANSFORMER },
                 .each = qkv, .count = 3);
    attention(q, .dst = mixed, .q = Q, .k = K, .v = V, .heads = heads,
              .scale = 1 / sqrtf((float) x.c / heads));
    const struct sam_linear out = { .dst = x, .src = mixed, LINEAR(b->out), .add = x };
    sam_mlp_run_behind(q, &out, &b->mlp, EPS_TRANSFORMER, SAM_ACT_GELU, s->u, s->wide);
}

// Windows, one after another, to the map that they were cut from.
static void join(struct sam_queue *q, struct sam_tensor windows, int side, struct sam_tensor map)
{
    const int across = map.w / side, row = side * map.c;

    for (int i = 0; i < windows.n; i++) {
        struct sam_tensor rows = sam_view(map, across, side, 1, across * row);
        rows = sam_slice(rows, i / across);
        const struct sam_tensor window = sam_view(sam_slice(windows, i), 1, side, 1, row);
        copy_channels(q, .dst = rows, .src = window, .to = i % across * row, .channels = row,
                      .up = 1);
    }
}

struct sam_tensor sam_sam3_trunk_run(struct sam_queue *q, const struct sam_sam3_trunk *v,
                                     const struct sam_config *c, struct sam_encoder_scratch *s)
{
    const struct sam_sam3_sizes *sizes = sam_sam3_of(c);
    const int side = sizes->window, across = sam_grid(c) / side;
    const struct sam_tensor map = s->x[1];
    const struct sam_tensor x = sam_view(s->x[0], across * across, 1, side * side, sizes->width);
    char name[16];

    conv(q, .dst = map, .src = s->input, PRODUCT(v->patch_embed), .kernel = SAM_SAM3_PATCH,
         .stride = SAM_SAM3_PATCH, .add = v->position);
    sam_queue_mark(q, "pos_embed", v->position);
    sam_queue_mark(q, "embedded", map);
    windows(q, .dst = x, .src = map, .side = side);
    layernorm(q, .dst = x, .src = x, NORM(v->first_norm), .eps = EPS_TRANSFORMER);
    for (int i = 0; i < sizes->depth; i++) {
        sam_sam3_block_run(q, v, i, sizes->num_heads, sizes->global_block[i], s, x);
        snprintf(name, sizeof(name), "block%02d", i);
        sam_queue_mark(q, name, sam_reshape(x, 1, x.n, x.w, x.c));
    }
    join(q, x, side, map);
    sam_queue_mark(q, "trunk0", map);
    return map;
}

void sam_sam3_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                  const struct sam_features *dst)
{
    const struct sam_sam3 *v = m->trunk;
    const struct sam_tensor map = sam_sam3_trunk_run(q, &v->trunk, &m->config, s);

    if (dst->trunk.data)
        copy(q, .dst = dst->trunk, .src = map);
    sam_sam3_neck_run(q, &v->neck, &m->config, s, map, dst);
}
