// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

struct shape {
    int n, h, w, heads, dim, window, shift;
};

// Awkward ones; Swin's windows of 7 and 12 with heads of 32, whole and filled up, moved and not; a
// map smaller than a window; a window of more than one block of keys; the widest heads.
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1, 1, 0 },   { 1, 1, 1, 2, 3, 4, 3 },    { 2, 3, 5, 1, 3, 2, 1 },
    { 1, 4, 4, 2, 5, 4, 2 },   { 1, 14, 14, 2, 32, 7, 3 }, { 1, 9, 16, 1, 32, 7, 0 },
    { 1, 16, 9, 2, 16, 7, 3 }, { 2, 2, 3, 1, 8, 7, 3 },    { 1, 24, 13, 1, 32, 12, 6 },
    { 1, 12, 5, 3, 8, 5, 4 },  { 1, 5, 20, 1, 4, 18, 9 },  { 1, 4, 4, 1, 1024, 3, 1 },
};
static const struct shape real[] = {
    { 1, 96, 96, 3, 32, 7, 3 }, { 1, 24, 24, 12, 32, 7, 0 }, { 1, 96, 96, 4, 32, 12, 6 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

static void run(struct check *t, const struct check_types *type, const struct shape *s, float width)
{
    const int c = s->heads * s->dim, table = 2 * s->window - 1;
    struct check_buf *qkv = check_uniform(t, -width, width, type->in, s->n, s->h, s->w, 3 * c);
    struct check_buf *pad = check_uniform(t, -width, width, SAM_F32, 1, 1, 1, 3 * c);
    struct check_buf *bias = check_uniform(t, -2, 2, SAM_F32, 1, s->heads, table, table);
    struct check_buf *dst = check_out(t, type->out, s->n, s->h, s->w, c);
    struct sam_shifted_attention p[2];
    check_each_side(t, i) {
        p[i] = (struct sam_shifted_attention) { .dst = dst->on[i], .qkv = qkv->on[i],
                                                .pad = pad->on[i], .bias = bias->on[i],
                                                .heads = s->heads, .window = s->window,
                                                .shift = s->shift };
        if (i == CHECK_NEW || !check_known(t, &p[i].dst))
            sam_op_shifted_attention(&t->queue[i], &p[i]);
    }
    check_flops(t, 4.0 * s->n * s->h * s->w * s->window * s->window * c)
        sam_op_shifted_attention(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // As in attention.c, in F32 whatever the precision.
    const float off = 4e-7f * (width * width * sqrtf((float) s->dim) + 2);
    check_near(t, dst, (2 * off + 1e-6f) * width, type->rel);
    check_done(t);
}

static void check_shifted_attention(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int peaked = 0; peaked < 2; peaked++) {
                const struct shape *s = &shapes[i];
                if (check_case(t, "shifted_attention_%s_%dx%dx%d_h%d_%d_w%d_s%d%s",
                               check_types[k].name, s->n, s->h, s->w, s->heads, s->dim, s->window,
                               s->shift, peaked ? "_peaked" : ""))
                    run(t, &check_types[k], s, peaked ? 6 : 1.5f);
            }
    for (int i = 0; i < NUM_REAL; i++)
        if (check_speed(t, "shifted_attention_f32_%dx%d_h%d_%d_w%d_s%d", real[i].h, real[i].w,
                        real[i].heads, real[i].dim, real[i].window, real[i].shift))
            run(t, &check_types[0], &real[i], 1.5f);
}

// ---- the front

static struct sam_shifted_attention valid_shifted_attention(void)
{
    return (struct sam_shifted_attention) { f32(0, 2, 3, 4, 6), f32(1, 2, 3, 4, 18),
                                            f32(2, 1, 1, 1, 18), f32(3, 1, 2, 5, 5), 2, 3, 1 };
}

static void fronts_shifted_attention(void)
{
    TAKES(shifted_attention, (void) p);
    TAKES(shifted_attention, p->shift = 0);
    REFUSES(shifted_attention, p->shift = 3, "shift");
    REFUSES(shifted_attention, p->shift = -1, "shift");
    REFUSES(shifted_attention, p->window = 0, "window");
    REFUSES(shifted_attention, p->window = 33, "SAM_MAX_WINDOW");
    REFUSES(shifted_attention, p->window = 2, "bias");
    REFUSES(shifted_attention, p->bias.h = 1, "bias");
    REFUSES(shifted_attention, p->bias.data = NULL, "bias");
    REFUSES(shifted_attention, p->bias.type = SAM_BF16, "bias of type f32");
    REFUSES(shifted_attention, p->heads = 0, "heads");
    REFUSES(shifted_attention, p->heads = 4, "heads");
    REFUSES(shifted_attention, p->pad.c = 6, "pad");
    REFUSES(shifted_attention, p->qkv.c = 12, "qkv.c");
    REFUSES(shifted_attention, p->qkv.h = 4; p->qkv.w = 3, "same_map");
    REFUSES(shifted_attention, p->dst.data = p->bias.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_shifted_attention(struct vectors *v)
{
    sam_op_shifted_attention(&v->queue, &(struct sam_shifted_attention) {
        .dst = vec_out(v, "dst"), .qkv = vec_in(v, "qkv"), .pad = vec_in(v, "pad"),
        .bias = vec_in(v, "bias"), .heads = vec_int(v, "heads"), .window = vec_int(v, "window"),
        .shift = vec_int(v, "shift") });
}

// ---- faults

COMMON(shifted_attention, dst, qkv)
CHANGED(shifted_attention, pads_with_zeros, static float zeros[4096];
        if (m.qkv.c <= 4096) m.pad.data = zeros)
CHANGED(shifted_attention, does_not_shift, m.shift = 0)
CHANGED(shifted_attention, shifts_the_other_way, m.shift = (m.window - m.shift) % m.window)

// The bias of the key as seen from the query.
static void shifted_attention_turns_the_bias(struct sam_queue *q,
                                             const struct sam_shifted_attention *p)
{
    static float room[1 << 14];
    struct sam_shifted_attention m = *p;
    const size_t one = (size_t) p->bias.w * p->bias.c;
    for (size_t i = 0; i < sam_count(&p->bias); i++)
        room[i] = ((const float *) p->bias.data)[i / one * one + one - 1 - i % one];
    m.bias.data = room;
    sam_shifted_attention_ref(q, &m);
}

// Row and column of the bias change places.
static void shifted_attention_transposes_the_bias(struct sam_queue *q,
                                                  const struct sam_shifted_attention *p)
{
    static float room[1 << 14];
    struct sam_shifted_attention m = *p;
    const size_t side = p->bias.c, one = side * side;
    for (size_t i = 0; i < sam_count(&p->bias); i++)
        room[i] = ((const float *) p->bias.data)[i / one * one + i % side * side + i % one / side];
    m.bias.data = room;
    sam_shifted_attention_ref(q, &m);
}

// Every head has the first one's bias.
static void shifted_attention_shares_the_bias(struct sam_queue *q,
                                              const struct sam_shifted_attention *p)
{
    static float room[1 << 14];
    struct sam_shifted_attention m = *p;
    for (size_t i = 0; i < sam_count(&p->bias); i++)
        room[i] = ((const float *) p->bias.data)[i % ((size_t) p->bias.w * p->bias.c)];
    m.bias.data = room;
    sam_shifted_attention_ref(q, &m);
}

// Positions on both sides of the map's end attend to each other: the map is moved first, then run
// without a shift. For maps of whole windows.
static void shifted_attention_crosses_the_end(struct sam_queue *q,
                                              const struct sam_shifted_attention *p)
{
    static float room[1 << 14], out[1 << 13];
    const int h = p->qkv.h, w = p->qkv.w, c = p->dst.c;
    struct sam_shifted_attention m = *p;
    if (h % p->window || w % p->window || sam_count(&p->qkv) > 1 << 14 || p->qkv.n > 1) {
        sam_shifted_attention_ref(q, p);
        return;
    }
    m.shift = 0;
    m.qkv = (struct sam_tensor) { room, SAM_F32, 1, h, w, 3 * c };
    m.dst = (struct sam_tensor) { out, SAM_F32, 1, h, w, c };
    for (int i = 0; i < h * w; i++)
        for (int k = 0; k < 3 * c; k++)
            room[i * 3 * c + k] = sam_load(&p->qkv, ref_pixel(&p->qkv, 0, (i / w + p->shift) % h,
                                                              (i % w + p->shift) % w) + k);
    sam_shifted_attention_ref(q, &m);
    for (int i = 0; i < h * w; i++)
        for (int k = 0; k < c; k++)
            sam_store(&p->dst, ref_pixel(&p->dst, 0, (i / w + p->shift) % h,
                                         (i % w + p->shift) % w) + k, out[i * c + k]);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(shifted_attention),
    MUTANT(shifted_attention, pads_with_zeros),
    MUTANT(shifted_attention, does_not_shift),
    MUTANT(shifted_attention, shifts_the_other_way),
    MUTANT(shifted_attention, turns_the_bias),
    MUTANT(shifted_attention, transposes_the_bias),
    MUTANT(shifted_attention, shares_the_bias),
    MUTANT(shifted_attention, crosses_the_end),
};

CUDA_FAULT("attention.cu", "down * («2 * a.width - 1 => a.width») + right")
CUDA_FAULT("attention.cu", "(y >= rows) + «2 * (x >= columns) => (x >= columns)» }")
CUDA_FAULT("attention.cu", "y -= y >= rows ? «rows => 0» : 0;")
CUDA_FAULT("attention.cu", "a.bias[«head * wide * wide => 0» + middle")
CUDA_FAULT("attention.cu", "middle + «query.at - key.at => key.at - query.at»]")
CUDA_FAULT("attention.cu", "(query.side != key.side ? «100.0f => 0.0f» : 0.0f)")
CUDA_FAULT("attention.cu", "a.height + down + «a.shift => 0»;")
CUDA_FAULT("attention.cu", "columns = «a.across * a.width => a.map_w»,")
CUDA_FAULT("attention.cu", "own.row, warp + EXACT_WARPS * «k => 0»);")
CUDA_FAULT("attention.cu", "a.pad[«which * a.heads * a.dk => 0» + at]")
CUDA_FAULT("attention.cu", "lane < EXACT_ROWS && «query0 + lane < a.queries => true»)")

TEST(shifted_attention, .vectors = vectors_shifted_attention, .abs = 5e-6f, .rel = 1e-6f);
