// SPDX-License-Identifier: MIT
// The trunk: Hiera, a pyramid of transformer blocks with attention inside windows, max-pooled
// queries at the first block of stages 2 to 4, and a few blocks with global attention.
#include <math.h>
#include <stdio.h>

#include "hiera.h"
#include "net/forward.h"
#include "net/load.h"
#include "net/position.h"

// Sizes of block i. The window of a stage's first block is still that of the stage before.
static void block_sizes(const struct sam_hiera_config *c, int i, struct sam_hiera_block *b)
{
    int stage = 0, first = 0;
    while (i >= first + c->stages[stage])
        first += c->stages[stage++];
    b->pool = stage > 0 && i == first;
    b->dim_out = c->embed_dim << stage;
    b->dim = b->pool ? b->dim_out / 2 : b->dim_out;
    b->heads = c->num_heads << stage;
    b->window = c->global_block[i] ? 0 : c->window_spec[b->pool ? stage - 1 : stage];
}

static void load_block(struct sam_loader *l, struct sam_hiera_block *b, int i)
{
    const char *prefix = "image_encoder.trunk.blocks";
    const int dim = b->dim, out = b->dim_out;
    sam_load_norm(l, &b->norm1, dim, "%s.%d.norm1", prefix, i);
    sam_load_linear(l, &b->qkv, 3 * out, dim, "%s.%d.attn.qkv", prefix, i);
    sam_load_linear(l, &b->proj, out, out, "%s.%d.attn.proj", prefix, i);
    sam_load_norm(l, &b->mlp.norm, out, "%s.%d.norm2", prefix, i);
    sam_load_linear(l, &b->mlp.up, 4 * out, out, "%s.%d.mlp.layers.0", prefix, i);
    sam_load_linear(l, &b->mlp.down, out, 4 * out, "%s.%d.mlp.layers.1", prefix, i);
    if (b->pool)
        sam_load_linear(l, &b->shortcut, out, dim, "%s.%d.proj", prefix, i);
}

static struct sam_tensor load_position(struct sam_loader *l, const struct sam_config *c)
{
    const struct sam_hiera_config *own = sam_hiera_sizes(c);
    const int side = c->image_size / 4, e = own->embed_dim;
    const int size = own->pos_embed_size, window = own->window_pos_embed_size;
    const size_t mark = sam_arena_mark(&l->staging);
    float *background = sam_load_room(&l->staging, (size_t) e * size * size);
    float *tile = sam_load_room(&l->staging, (size_t) e * window * window);
    float *scratch = sam_load_room(&l->staging, (size_t) e * size * side);
    float *map = sam_load_room(&l->staging, (size_t) e * side * side);

    sam_load_read(l, background, 4, (int64_t[]) { 1, e, size, size },
                  "image_encoder.trunk.pos_embed");
    sam_load_read(l, tile, 4, (int64_t[]) { 1, e, window, window },
                  "image_encoder.trunk.pos_embed_window");
    if (sam_load_live(l))
        sam_position_hiera(background, size, tile, window, side, e, scratch, map);
    const struct sam_tensor t = sam_load_tensor(l, map, side, side, e);
    sam_arena_release(&l->staging, mark);
    return t;
}

void sam_hiera_load(struct sam_loader *l, const struct sam_config *config, void *trunk)
{
    const struct sam_hiera_config *c = sam_hiera_sizes(config);
    struct sam_hiera *h = trunk;
    sam_load_conv(l, &h->patch_embed, c->embed_dim, 3, 7, "image_encoder.trunk.patch_embed.proj");
    h->position = load_position(l, config);
    for (int i = 0; i < c->num_blocks; i++) {
        block_sizes(c, i, &h->block[i]);
        load_block(l, &h->block[i], i);
    }
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

// One row of `count` numbers: room that a forward cuts to the extents it needs.
static struct sam_tensor room(struct sam_arena *a, enum sam_type type, size_t count)
{
    return sam_arena_tensor(a, type, 1, 1, 1, (int) count);
}

void sam_hiera_layout(struct sam_encoder_scratch *s, const struct sam_config *config,
                      const struct sam_queue *q, struct sam_arena *a)
{
    const enum sam_type type = sam_queue_type(q);
    const struct sam_hiera_config *c = sam_hiera_sizes(config);
    const int S = config->image_size;
    size_t u = 0, wide = 0, mixed = 0, x[2] = { 0 };
    int side = S / 4, turn = 0;

    for (int i = 0; i < c->num_blocks; i++) {
        struct sam_hiera_block b;
        block_sizes(c, i, &b);
        const size_t in = (size_t) side * side; // tokens
        side /= b.pool ? 2 : 1;
        turn ^= b.pool;
        const size_t out = (size_t) side * side;
        x[turn] = max_size(x[turn], out * b.dim_out);
        u = max_size(u, max_size(in * b.dim, out * b.dim_out));
        mixed = max_size(mixed, out * b.dim_out);
        wide = max_size(wide, max_size(in * (b.pool ? 4 : 3) * b.dim_out,
                                       sam_mlp_hidden(q, out * 4 * b.dim_out)));
    }

    const size_t mark = sam_arena_mark(a);
    s->input = sam_arena_tensor(a, SAM_F32, 1, S, S, 3);
    const size_t end = sam_arena_mark(a);
    sam_arena_release(a, mark);
    s->wide = room(a, type, wide);
    if (a->used < end)
        sam_arena_bytes(a, end - a->used);

    s->x[0] = room(a, SAM_F32, x[0]);
    s->x[1] = room(a, SAM_F32, x[1]);
    s->u = room(a, type, u);
    s->mixed = room(a, type, mixed);
}

// What of a room is behind `count` numbers.
static struct sam_tensor behind(struct sam_tensor room, size_t count)
{
    room.data = (char *) room.data + count * sam_type_size(room.type);
    room.c -= (int) count;
    return room;
}

void sam_hiera_block_run(struct sam_queue *q, const struct sam_hiera_block *b,
                         struct sam_encoder_scratch *s, const struct sam_linear *beside,
                         struct sam_tensor x, struct sam_tensor y)
{
    const int H = x.h, W = x.w, out = b->dim_out;
    const struct sam_tensor u = sam_view(s->u, 1, H, W, b->dim);
    const struct sam_tensor qkv = sam_view(s->wide, 1, H, W, 3 * out);
    const struct sam_tensor mixed = sam_view(s->mixed, 1, y.h, y.w, out);

    // Positions that fill up the last windows are zeros after the norm: their q, k, v are biases.
    // The shortcut of a pooling block is the normalised input projected, then pooled.
    struct sam_linear each[3] = { { .dst = qkv, .src = u, LINEAR(b->qkv) } };
    struct sam_maxpool pool = { 0 };
    int count = 1;
    if (beside)
        each[count++] = *beside;
    if (b->pool) {
        const struct sam_tensor wide = sam_view(behind(s->wide, sam_count(&qkv)), 1, H, W, out);
        each[count++] = (struct sam_linear) { .dst = wide, .src = u, LINEAR(b->shortcut) };
        pool = (struct sam_maxpool) { .dst = y, .src = wide };
    }
    norm_linears(q, .norm = { .dst = u, .src = x, NORM(b->norm1), .eps = EPS_MAP }, .each = each,
                 .count = count, .pool = pool);
    window_attention(q, .dst = mixed, .qkv = qkv, .pad = b->qkv.bias, .heads = b->heads,
                     .window = b->window, .pool = b->pool);
    linear(q, .dst = y, .src = mixed, LINEAR(b->proj), .add = b->pool ? y : x);
    sam_mlp_run(q, &b->mlp, EPS_MAP, SAM_ACT_GELU, y, s->u, s->wide);
}

void sam_hiera_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                   const struct sam_features *dst)
{
    const struct sam_hiera_config *c = sam_hiera_sizes(&m->config);
    const struct sam_hiera *hiera = m->trunk;
    const int side = m->config.image_size / 4;
    struct sam_tensor x = sam_view(s->x[0], 1, side, side, c->embed_dim);
    char name[16];

    conv(q, .dst = x, .src = s->input, PRODUCT(hiera->patch_embed), .kernel = 7, .stride = 4,
         .pad = 3, .add = hiera->position);
    sam_queue_mark(q, "pos_embed", hiera->position);
    sam_queue_mark(q, "embedded", x);

    struct sam_linear lateral; // the neck's product of the stage before
    const struct sam_linear *beside = NULL;
    for (int stage = 0, i = 0; stage < SAM_STAGES; stage++) {
        for (int n = 0; n < c->stages[stage]; n++, i++) {
            const struct sam_hiera_block *b = &hiera->block[i];
            const struct sam_tensor y = b->pool
                ? sam_view(s->x[stage % 2], 1, x.h / 2, x.w / 2, b->dim_out) : x;
            sam_hiera_block_run(q, b, s, beside, x, y);
            x = y;
            beside = NULL;
            snprintf(name, sizeof(name), "block%02d", i);
            sam_queue_mark(q, name, x);
        }
        snprintf(name, sizeof(name), "trunk%d", stage);
        sam_queue_mark(q, name, x);
        // One that is exact is made by another kernel than the block's.
        if (stage + 1 < SAM_STAGES && !m->neck.main.weight.exact) {
            lateral = sam_neck_lateral(&m->neck, stage, x, dst);
            beside = &lateral;
        } else {
            sam_neck_run(q, &m->neck, s, stage, x, dst);
        }
    }
}
