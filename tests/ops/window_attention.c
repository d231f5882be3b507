// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

struct shape {
    int n, h, w, heads, dim, window;
    bool pool;
};

// Awkward ones; then the family's windows 8, 4, 14, 7 and 16, heads of 96, 56, 72, the small
// models' heads, padded at the bottom and the right, pooled, global.
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1, 1, 0 },    { 1, 3, 5, 1, 3, 2, 0 },     { 2, 5, 7, 2, 5, 3, 0 },
    { 1, 8, 8, 1, 96, 8, 0 },   { 1, 16, 8, 2, 56, 8, 1 },   { 1, 8, 12, 2, 72, 4, 1 },
    { 2, 6, 10, 2, 16, 4, 1 },  { 1, 16, 16, 4, 16, 14, 0 }, { 1, 16, 16, 2, 24, 14, 1 },
    { 1, 8, 8, 8, 12, 7, 0 },   { 1, 9, 9, 1, 32, 0, 0 },    { 2, 12, 8, 4, 24, 0, 0 },
    { 1, 16, 20, 1, 48, 16, 0 },{ 1, 8, 10, 1, 96, 0, 0 },   { 1, 10, 6, 3, 40, 0, 1 },
    { 1, 2, 2, 1, 8, 2, 1 },    { 1, 16, 16, 1, 96, 14, 0 }, { 1, 20, 2, 2, 56, 8, 0 },
    { 1, 16, 18, 2, 72, 14, 0 },
};
static const struct shape real[] = {
    { 1, 256, 256, 1, 96, 8, 0 }, { 1, 256, 256, 2, 96, 8, 1 }, { 1, 128, 128, 2, 96, 4, 0 },
    { 1, 64, 64, 4, 96, 14, 0 },  { 1, 64, 64, 4, 96, 0, 0 },   { 1, 64, 64, 8, 96, 14, 1 },
    { 1, 32, 32, 8, 96, 7, 0 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

static double flops(const struct shape *s)
{
    const int window_h = s->window ? s->window : s->h, window_w = s->window ? s->window : s->w;
    const double rows = ceil((double) s->h / window_h) * window_h;
    const double columns = ceil((double) s->w / window_w) * window_w;
    const double products = 4.0 * s->n * rows * columns * window_h * window_w * s->heads * s->dim;
    return s->pool ? products / 4 : products;
}

static void run(struct check *t, const struct check_types *type, const struct shape *s, float width)
{
    const int c = s->heads * s->dim;
    struct check_buf *qkv = check_uniform(t, -width, width, type->in, s->n, s->h, s->w, 3 * c);
    struct check_buf *pad = check_uniform(t, -width, width, SAM_F32, 1, 1, 1, 3 * c);
    struct check_buf *dst = check_out(t, type->out, s->n, s->pool ? s->h / 2 : s->h,
                                      s->pool ? s->w / 2 : s->w, c);
    struct sam_window_attention p[2];
    check_each_side(t, i) {
        p[i] = (struct sam_window_attention) { .dst = dst->on[i], .qkv = qkv->on[i],
                                               .pad = pad->on[i], .heads = s->heads,
                                               .window = s->window, .pool = s->pool };
        sam_op_window_attention(&t->queue[i], &p[i]);
    }
    check_flops(t, flops(s))
        sam_op_window_attention(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // As in attention.c; pooled queries are larger than others, by at most sqrt(3).
    const float size = width * width * (s->pool ? 1.8f : 1);
    const float off = check_rounds(t) ? 2.2e-3f * size : 4e-7f * size * sqrtf((float) s->dim);
    const float rounding = check_rounds(t) ? 0x1p-8f : 1e-6f;
    check_near(t, dst, (2 * off + rounding) * width, type->rel);
    check_done(t);
}

static void check_window_attention(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int peaked = 0; peaked < 2; peaked++) {
                const struct shape *s = &shapes[i];
                if (check_case(t, "window_attention_%s_%dx%dx%d_h%d_%d_w%d%s%s",
                               check_types[k].name, s->n, s->h, s->w, s->heads, s->dim, s->window,
                               s->pool ? "_pool" : "", peaked ? "_peaked" : ""))
                    run(t, &check_types[k], s, peaked ? 6 : 1.5f);
            }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < NUM_REAL; i++)
            if (check_speed(t, "window_attention_%s_%dx%d_h%d_%d_w%d%s", check_types[k].name,
                            real[i].h, real[i].w, real[i].heads, real[i].dim, real[i].window,
                            real[i].pool ? "_pool" : ""))
                run(t, &check_types[k], &real[i], 1.5f);
}

// ---- the front

static struct sam_window_attention valid_window_attention(void)
{
    return (struct sam_window_attention) { f32(0, 2, 3, 4, 6), f32(1, 2, 3, 4, 18),
                                           f32(2, 1, 1, 1, 18), 2, 2, false };
}

static void fronts_window_attention(void)
{
    TAKES(window_attention, (void) p);
    TAKES(window_attention, p->window = 0);
    TAKES(window_attention, p->qkv = f32(1, 1, 6, 8, 18); p->dst.n = 1; p->pool = true);
    REFUSES(window_attention, p->qkv = f32(1, 1, 6, 8, 18); p->dst.n = 1; p->pool = true;
            p->window = 3, "window");
    REFUSES(window_attention, p->qkv = f32(1, 1, 7, 8, 18); p->dst.n = 1; p->pool = true, "qkv.h");
    REFUSES(window_attention, p->pool = true, "qkv.h");
    REFUSES(window_attention, p->qkv.h = 4; p->qkv.w = 3, "same_map");
    REFUSES(window_attention, p->heads = 0, "heads");
    REFUSES(window_attention, p->heads = 4, "heads");
    REFUSES(window_attention, p->window = -1, "window");
    REFUSES(window_attention, p->pad.c = 6, "pad");
    REFUSES(window_attention, p->pad.data = NULL, "pad");
    REFUSES(window_attention, p->qkv.c = 12, "qkv.c");
    REFUSES(window_attention, p->dst = f32(0, 1, 1, 1, 1026); p->qkv = f32(4, 1, 1, 1, 3078);
            p->pad = f32(8, 1, 1, 1, 3078); p->heads = 1, "SAM_MAX_HEAD_DIM");
}

// ---- what PyTorch computed

static void vectors_window_attention(struct vectors *v)
{
    sam_op_window_attention(&v->queue, &(struct sam_window_attention) {
        .dst = vec_out(v, "dst"), .qkv = vec_in(v, "qkv"), .pad = vec_in(v, "pad"),
        .heads = vec_int(v, "heads"), .window = vec_int(v, "window"),
        .pool = vec_int(v, "pool") });
}

// ---- faults

COMMON(window_attention, dst, qkv)
CHANGED(window_attention, pads_with_zeros, static float zeros[4096];
        if (m.qkv.c <= 4096) m.pad.data = zeros)
CHANGED(window_attention, window_of_one_more, m.window += m.window > 0 && !m.pool)
CHANGED(window_attention, forgets_windows, m.window = 0)
CHANGED(window_attention, one_head, m.heads = 1)

// The first of each cell instead of the largest.
static void window_attention_forgets_to_pool(struct sam_queue *q,
                                             const struct sam_window_attention *p)
{
    sam_window_attention_ref(q, p);
    if (!p->pool || p->dst.h > 8)
        return;
    static float room[32 * 32 * 1024];
    struct sam_window_attention m = *p;
    m.pool = false;
    m.dst = (struct sam_tensor) { room, SAM_F32, p->qkv.n, p->qkv.h, p->qkv.w, p->dst.c };
    sam_window_attention_ref(q, &m);
    const struct sam_tensor *d = &p->dst;
    for (size_t i = 0; i < sam_count(d); i++) {
        const size_t row = i / d->c, x = row % d->w, y = row / d->w % d->h, n = row / d->w / d->h;
        const size_t from = (n * m.dst.h + 2 * y) * m.dst.w + 2 * x;
        sam_store(d, i, sam_load(&m.dst, from * d->c + i % d->c));
    }
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(window_attention),
    MUTANT(window_attention, pads_with_zeros),
    MUTANT(window_attention, window_of_one_more),
    MUTANT(window_attention, forgets_windows),
    MUTANT(window_attention, one_head),
    MUTANT(window_attention, forgets_to_pool),
};

CUDA_FAULT("attention_tensor.cu", "rows[i] = attend_key_row(a, group, «i => 0», 0);")
CUDA_FAULT("attention_tensor.cu", "if (known && «a.cell == 1 => true»)")
CUDA_FAULT("attention_tensor.cu",
           "load_ready<S::DV>(to->v[r], a, a.v, valid, «v_row => max(v_row, 0)»",
           "bf16_2x6x10_h2_16_w4_pool")
CUDA_FAULT("attention_tensor.cu", "row / half * 2 * a.map_w + «row % half * 2 => row % half»;",
           "bf16_1x16x8_h2_56_w8_pool")
CUDA_FAULT("attention.cuh", "a.width + «i % a.width => i / a.width»;")
CUDA_FAULT("attention.cuh", "a.pad[«which => 1» * a.heads")
CUDA_FAULT("attention.cuh", "load_one(a.q, «(below + 1) => below» * a.q_step")

TEST(window_attention, .vectors = vectors_window_attention, .abs = 5e-6f, .rel = 1e-6f,
     .fp32_is_another_kernel = true);
