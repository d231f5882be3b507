// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "net/load.h"
#include "swin.h"

enum { NAME = 112 };

// q, k and v as one layer, one below the other.
static void load_qkv(struct sam_loader *l, struct sam_product *p, int c, const char *at)
{
    static const char *const part[3] = { "query", "key", "value" };
    const size_t mark = sam_arena_mark(&l->staging), square = (size_t) c * c;
    float *weight = sam_load_room(&l->staging, 3 * square);
    float *bias = sam_load_room(&l->staging, 3 * (size_t) c);

    for (int i = 0; i < 3; i++) {
        sam_load_read(l, l->measuring ? NULL : weight + i * square, 2, (int64_t[]) { c, c },
                      "%s.attention.self.%s.weight", at, part[i]);
        sam_load_read(l, l->measuring ? NULL : bias + (size_t) i * c, 1, (int64_t[]) { c },
                      "%s.attention.self.%s.bias", at, part[i]);
    }
    sam_load_product(l, p, weight, bias, 3 * c, c);
    sam_arena_release(&l->staging, mark);
}

// (places, heads) -> (heads, places).
static struct sam_tensor load_bias(struct sam_loader *l, int heads, int window, const char *at)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const int side = 2 * window - 1, places = side * side;
    float *src = sam_load_room(&l->staging, (size_t) places * heads);
    float *dst = sam_load_room(&l->staging, (size_t) places * heads);

    sam_load_read(l, src, 2, (int64_t[]) { places, heads },
                  "%s.attention.self.relative_position_bias_table", at);
    for (int i = 0; sam_load_live(l) && i < places * heads; i++)
        dst[i % heads * places + i / heads] = src[i];
    const struct sam_tensor t = sam_load_tensor(l, dst, heads, side, side);
    sam_arena_release(&l->staging, mark);
    return t;
}

static void load_block(struct sam_loader *l, const struct sam_swin_sizes *s,
                       struct sam_swin_block *b, int stage, int i, const char *prefix)
{
    const int c = s->width[stage];
    char at[NAME];

    snprintf(at, sizeof(at), "%sencoder.layers.%d.blocks.%d", prefix, stage, i);
    sam_load_norm(l, &b->norm, c, "%s.layernorm_before", at);
    load_qkv(l, &b->qkv, c, at);
    b->bias = load_bias(l, s->heads[stage], s->window, at);
    sam_load_linear(l, &b->out, c, c, "%s.attention.output.dense", at);
    sam_load_norm(l, &b->mlp.norm, c, "%s.layernorm_after", at);
    sam_load_linear(l, &b->mlp.up, s->inner[stage], c, "%s.intermediate.dense", at);
    sam_load_linear(l, &b->mlp.down, c, s->inner[stage], "%s.output.dense", at);
}

// The published order of a cell's positions is column by column; here they stand row by row.
static void order_cell(const float *src, float *dst, int rows, int c)
{
    static const int from[4] = { 0, 2, 1, 3 };

    for (int row = 0; row < rows; row++)
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < c; i++)
                dst[((size_t) row * 4 + k) * c + i] = src[((size_t) row * 4 + from[k]) * c + i];
}

static void load_merge(struct sam_loader *l, const struct sam_swin_sizes *s,
                       struct sam_swin_stage *w, int stage, const char *prefix)
{
    const int c = s->width[stage], out = s->width[stage + 1];
    const size_t mark = sam_arena_mark(&l->staging), count = (size_t) out * 4 * c;
    float *src = sam_load_room(&l->staging, count), *dst = sam_load_room(&l->staging, count);
    struct sam_tensor *const norm[2] = { &w->merge.weight, &w->merge.bias };

    for (int i = 0; i < 2; i++) {
        sam_load_read(l, src, 1, (int64_t[]) { 4 * c }, "%sencoder.layers.%d.downsample.norm.%s",
                      prefix, stage, i ? "bias" : "weight");
        if (sam_load_live(l))
            order_cell(src, dst, 1, c);
        *norm[i] = sam_load_tensor(l, dst, 1, 1, 4 * c);
    }
    sam_load_read(l, src, 2, (int64_t[]) { out, 4 * c },
                  "%sencoder.layers.%d.downsample.reduction.weight", prefix, stage);
    if (sam_load_live(l))
        order_cell(src, dst, out, c);
    w->reduce.weight = sam_load_matrix(l, dst, out, 4 * c);
    sam_arena_release(&l->staging, mark);
}

static struct sam_tensor load_zero(struct sam_loader *l, int c)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *numbers = sam_load_room(&l->staging, c);

    for (int i = 0; sam_load_live(l) && i < c; i++)
        numbers[i] = 0;
    const struct sam_tensor t = sam_load_tensor(l, numbers, 1, 1, c);
    sam_arena_release(&l->staging, mark);
    return t;
}

void sam_swin_load(struct sam_loader *l, const struct sam_swin_sizes *s, int first,
                   const char *prefix, struct sam_swin *w)
{
    sam_load_conv(l, &w->stem, s->stem, 3, 4, "%sembeddings.patch_embeddings.projection", prefix);
    sam_load_norm(l, &w->stem_norm, s->stem, "%sembeddings.norm", prefix);
    for (int stage = 0; stage < SAM_STAGES; stage++) {
        for (int i = 0; i < s->blocks[stage]; i++)
            load_block(l, s, &w->stage[stage].block[i], stage, i, prefix);
        if (stage >= first)
            sam_load_norm(l, &w->stage[stage].norm, s->width[stage],
                          "%shidden_states_norms.stage%d", prefix, stage + 1);
        if (stage + 1 < SAM_STAGES)
            load_merge(l, s, &w->stage[stage], stage, prefix);
    }
    w->zero = load_zero(l, s->width[SAM_STAGES - 2]);
}
