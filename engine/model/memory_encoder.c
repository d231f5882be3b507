// SPDX-License-Identifier: MIT
// The memory encoder: makes a small map of a mask and the features of its frame, and loads the
// encodings of position, time and absence that belong to memories.
//
// Narrow models compute it in F32 at any precision: its errors affect every later frame.
#include <math.h>

#include "family.h"
#include "net/forward.h"
#include "net/load.h"
#include "net/position.h"

// Layer i of the fuser. Its last scale is one factor per channel: it goes into the layer before.
static void load_fuser(struct sam_loader *l, const struct sam_config *config,
                       struct sam_fuser_layer *f, int i)
{
    const int d = config->d_model, hidden = config->fuser_hidden, taps = 7 * 7;
    const char *prefix = "memory_encoder.fuser.layers";
    const size_t mark = sam_arena_mark(&l->staging);
    float *src = sam_load_room(&l->staging, (size_t) d * taps);

    sam_load_read(l, src, 4, (int64_t[]) { d, 1, 7, 7 }, "%s.%d.dwconv.weight", prefix, i);
    f->depthwise = sam_load_depthwise(l, src, d, 7);
    f->depthwise_bias = sam_load_rows(l, 1, (int64_t[]) { d }, "%s.%d.dwconv.bias", prefix, i);
    sam_load_norm(l, &f->norm, d, "%s.%d.norm", prefix, i);
    sam_load_linear(l, &f->in, hidden, d, "%s.%d.pwconv1", prefix, i);

    const struct sam_load_layer out =
        sam_load_layer(l, d, hidden, false, "%s.%d.pwconv2", prefix, i);
    float *gamma = sam_load_room(&l->staging, d);
    sam_load_read(l, gamma, 1, (int64_t[]) { d }, "%s.%d.gamma", prefix, i);
    if (sam_load_live(l))
        for (int c = 0; c < d; c++) {
            out.bias[c] *= gamma[c];
            for (int k = 0; k < hidden; k++)
                out.weight[(size_t) c * hidden + k] *= gamma[c];
        }
    f->out.weight = sam_load_matrix(l, out.weight, d, hidden);
    f->out.bias = sam_load_tensor(l, out.bias, 1, 1, d);
    sam_arena_release(&l->staging, mark);
}

// What a stored map or pointer carries besides its numbers.
static void load_tags(struct sam_loader *l, const struct sam_config *c,
                      struct sam_memory_encoder *e)
{
    const struct sam_compressor *compressor = c->family->compressor;
    const int m = c->mem_dim, tokens = c->memory.map_tokens;
    const size_t mark = sam_arena_mark(&l->staging);
    float *table = sam_load_room(&l->staging, (size_t) tokens * m);
    if (sam_load_live(l) && compressor)
        compressor->place(c, table);
    else if (sam_load_live(l))
        sam_position_sine(sam_grid(c), m, table);
    e->place = sam_load_tensor(l, table, 1, tokens, m);
    if (sam_load_live(l))
        for (int i = 0; i < m; i++)
            table[i] = 0;
    e->no_time = sam_load_tensor(l, table, 1, 1, m);
    sam_arena_release(&l->staging, mark);

    e->time = sam_load_rows(l, 4, (int64_t[]) { c->num_maskmem, 1, 1, m }, "maskmem_tpos_enc");
    if (c->no_obj_embed_spatial)
        e->no_obj_embed = sam_load_rows(l, 2, (int64_t[]) { 1, m }, "no_obj_embed_spatial");
    if (c->pointer_time)
        sam_load_linear(l, &e->pointer_time, m, c->d_model, "obj_ptr_tpos_proj");
}

void sam_memory_encoder_load(struct sam_loader *l, const struct sam_config *config,
                             struct sam_memory_encoder *e)
{
    const int d = config->d_model;
    const char *down = "memory_encoder.mask_downsampler.encoder";
    l->exact = config->exact_maps;
    for (int i = 0, in = 1; i < 4; i++, in *= 4) {
        sam_load_conv(l, &e->down[i], 4 * in, in, 3, "%s.%d", down, 3 * i);
        sam_load_norm(l, &e->down_norm[i], 4 * in, "%s.%d", down, 3 * i + 1);
    }
    sam_load_conv(l, &e->down_out, d, 256, 1, "%s.12", down);
    sam_load_conv(l, &e->pix_proj, d, d, 1, "memory_encoder.pix_feat_proj");
    for (int i = 0; i < config->fuser_layers; i++)
        load_fuser(l, config, &e->fuser[i], i);
    if (config->mem_dim != d) // else the published code has none
        sam_load_conv(l, &e->out, config->mem_dim, d, 1, "memory_encoder.out_proj");
    load_tags(l, config, e);
    l->exact = false;
}

void sam_memory_encoder_layout(struct sam_memory_encoder_scratch *s, const struct sam_config *c,
                               enum sam_type type, int batch, struct sam_arena *a)
{
    const int S = c->image_size, M = sam_mask_side(c);
    const int N = sam_grid(c) * sam_grid(c), d = c->d_model;
    s->high_res = sam_arena_tensor(a, SAM_F32, batch, M, M, 1);
    const size_t mark = sam_arena_mark(a);
    s->of_input = (struct sam_tensor) { 0 };
    if (M != S)
        s->of_input = sam_arena_tensor(a, SAM_F32, batch, S, S, 1);
    const size_t end = sam_arena_mark(a);
    sam_arena_release(a, mark);
    for (int i = 0; i < 4; i++)
        s->down[i] = sam_arena_tensor(a, type, batch, M >> (i + 1), M >> (i + 1), 4 << (2 * i));
    if (a->used < end)
        sam_arena_bytes(a, end - a->used);
    s->pix = sam_arena_tensor(a, SAM_F32, 1, 1, N, d);
    s->x = sam_arena_tensor(a, SAM_F32, batch, 1, N, d);
    s->u = sam_arena_tensor(a, type, batch, 1, N, d);
    s->normed = sam_arena_tensor(a, type, batch, 1, N, d);
    s->hidden = sam_arena_tensor(a, type, batch, 1, N, c->fuser_hidden);
}

void sam_memory_encoder_signal(struct sam_queue *q, struct sam_memory_encoder_scratch *s,
                               struct sam_tensor low_res, struct sam_tensor binary)
{
    const struct sam_tensor high_res = sam_first(s->high_res, low_res.n);
    const bool resized = s->of_input.data && low_res.h != high_res.h;
    const struct sam_tensor signal = resized ? sam_first(s->of_input, low_res.n) : high_res;

    mask_signal(q, .dst = signal, .src = low_res, .binary = binary, .scale = 20, .bias = -10);
    if (resized)
        resize(q, .dst = high_res, .src = signal);
    sam_queue_mark(q, "memory_encoder.mask", high_res);
}

void sam_memory_encoder_run_signal(struct sam_queue *q, const struct sam_model *m,
                                   struct sam_memory_encoder_scratch *s, struct sam_tensor image,
                                   struct sam_tensor dst)
{
    const struct sam_memory_encoder *e = &m->memory;
    const int B = dst.n, N = dst.w, d = m->config.d_model;
    const struct sam_tensor x = sam_first(s->x, B), u = sam_first(s->u, B);
    const struct sam_tensor normed = sam_first(s->normed, B), hidden = sam_first(s->hidden, B);
    const int h = sam_grid(&m->config);

    struct sam_tensor mask = sam_first(s->high_res, B);
    for (int i = 0; i < 4; i++) {
        const struct sam_tensor down = sam_first(s->down[i], B);
        const struct sam_conv halve = { .dst = down, .src = mask, PRODUCT(e->down[i]), .kernel = 3,
                                        .stride = 2, .pad = 1 };
        product_norm(q, .conv = &halve, .norm = { .dst = down, .src = down, NORM(e->down_norm[i]),
                                                  .eps = EPS_MAP, .act = SAM_ACT_GELU });
        mask = down;
    }

    // The frame's share is the same for every object.
    linear(q, .dst = s->pix, .src = sam_reshape(image, 1, 1, N, d), LINEAR(e->pix_proj));
    linear(q, .dst = x, .src = sam_reshape(mask, B, 1, N, mask.c), LINEAR(e->down_out),
           .add = s->pix);

    for (int i = 0; i < m->config.fuser_layers; i++) {
        const struct sam_fuser_layer *f = &e->fuser[i];
        depthwise(q, .dst = sam_reshape(u, B, h, h, d), .src = sam_reshape(x, B, h, h, d),
                  .weight = f->depthwise, .bias = f->depthwise_bias, .kernel = 7,
                  .stride = 1);
        const struct sam_linear in = { .dst = hidden, .src = normed, LINEAR(f->in),
                                       .act = SAM_ACT_GELU };
        norm_linears(q, .norm = { .dst = normed, .src = u, NORM(f->norm), .eps = EPS_MAP },
                     .each = &in, .count = 1);
        linear(q, .dst = x, .src = hidden, LINEAR(f->out), .add = x);
    }
    if (m->config.mem_dim != d)
        linear(q, .dst = dst, .src = x, LINEAR(e->out));
    else
        copy(q, .dst = dst, .src = x);
    sam_queue_mark(q, "memory_encoder.out", sam_reshape(dst, B, h, h, dst.c));
}

void sam_memory_encoder_run(struct sam_queue *q, const struct sam_model *m,
                            struct sam_memory_encoder_scratch *s, struct sam_tensor image,
                            struct sam_tensor low_res, struct sam_tensor binary,
                            struct sam_tensor dst)
{
    sam_memory_encoder_signal(q, s, low_res, binary);
    sam_memory_encoder_run_signal(q, m, s, image, dst);
}

struct sam_tensor sam_memory_stored(struct sam_tensor memory, const struct sam_config *c,
                                    struct sam_arena *a)
{
    return c->family->compressor ? sam_arena_tensor(a, SAM_F32, memory.n, 1, c->memory.map_tokens,
                                                    c->memory.width)
                                 : memory;
}

void sam_memory_compress_layout(struct sam_compressor_scratch *s, const struct sam_config *c,
                                const struct sam_queue *q, int batch, struct sam_arena *a)
{
    if (c->family->compressor)
        c->family->compressor->layout(s, c, q, batch, a);
}

void sam_memory_compress(struct sam_queue *q, const struct sam_model *m,
                         struct sam_compressor_scratch *s, struct sam_tensor memory,
                         struct sam_tensor stored)
{
    if (m->compressor)
        m->config.family->compressor->run(q, m, s, memory, stored);
}

void sam_pointer_time_run(struct sam_queue *q, const struct sam_model *m, struct sam_tensor sine,
                          struct sam_tensor dst)
{
    if (m->config.pointer_time)
        linear(q, .dst = dst, .src = sine, LINEAR(m->memory.pointer_time));
    else
        copy(q, .dst = dst, .src = m->memory.no_time);
}

void sam_pointer_sine(int d, int distance, float *dst)
{
    const double a = (double) distance / (SAM_MAX_POINTERS - 1);
    const int half = d / 2;
    for (int i = 0; i < half; i++) {
        const double angle = a / pow(10000.0, (double) (i / 2 * 2) / half);
        dst[i] = (float) sin(angle);
        dst[half + i] = (float) cos(angle);
    }
}
