// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

struct shape {
    int n, queries, keys, heads, dk, dv;
    bool shared;
};

// Awkward ones; Mask2Former's 100 queries with heads of 32 channels; more than one chunk of queries
// and one block of keys; the widest heads; few queries and many keys, which a GPU cuts into parts.
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1, 1, 0 },    { 2, 3, 5, 1, 3, 2, 0 },     { 1, 7, 17, 2, 5, 9, 0 },
    { 1, 100, 144, 8, 32, 32, 0 }, { 3, 9, 33, 2, 16, 16, 1 }, { 1, 65, 300, 1, 8, 24, 0 },
    { 2, 11, 513, 2, 40, 16, 1 }, { 1, 3, 70, 1, 1024, 300, 0 }, { 1, 5, 300, 1, 16, 8, 0 },
};
static const struct shape real[] = {
    { 1, 100, 144, 8, 32, 32, 0 }, { 1, 100, 2304, 8, 32, 32, 0 }, { 1, 100, 6400, 8, 32, 32, 0 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

// HALF: half of the keys count. NONE: no mask leaves any. FEW: one or two. SOLID: the first blocks
// of keys count for no one. ZERO: masks of 0, -0 and NaN, which leave keys in. LONE: a NaN alone.
enum pattern { HALF, NONE, FEW, SOLID, ZERO, LONE, NUM_PATTERNS };
static const char *const pattern_names[] = { "half", "none", "few", "solid", "zero", "lone" };

static void draw_mask(struct check *t, struct check_buf *b, const struct shape *s,
                      enum pattern pattern)
{
    const size_t rows = (size_t) s->n * s->queries, keys = s->keys;
    for (size_t i = 0; i < rows * keys; i++) {
        const int key = (int) (i % keys);
        float v = check_unit(t);
        if (pattern == NONE)
            v = -1;
        else if (pattern == FEW)
            v = -0.5f;
        else if (pattern == SOLID)
            v = key < s->keys * 4 / 5 ? -1e-30f : v;
        else if (pattern == ZERO)
            v = key % 4 == 0 ? 0.0f : key % 4 == 1 ? -0.0f : key % 4 == 2 ? NAN : -v * v - 1e-9f;
        else if (pattern == LONE)
            v = key == (int) (i / keys % keys) ? NAN : -1;
        check_set(t, b, i, v);
    }
    for (size_t row = 0; pattern == FEW && row < rows; row++)
        for (int k = 0; k < 2; k++)
            check_set(t, b, row * keys + check_int(t, 0, s->keys - 1), 1e-30f);
}

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                enum pattern pattern)
{
    const float scale = 1 / sqrtf((float) s->dk), width = pattern == HALF ? 6 : 1.5f;
    const int n = s->shared ? 1 : s->n;
    struct check_buf *q =
        check_uniform(t, -width, width, type->in, s->n, 1, s->queries, s->heads * s->dk);
    struct check_buf *k =
        check_uniform(t, -width, width, type->in, n, 1, s->keys, s->heads * s->dk);
    struct check_buf *v = check_uniform(t, -1, 1, type->in, n, 1, s->keys, s->heads * s->dv);
    struct check_buf *mask = check_uniform(t, -1, 1, SAM_F32, s->n, 1, s->queries, s->keys);
    struct check_buf *dst = check_out(t, type->out, s->n, 1, s->queries, s->heads * s->dv);
    struct sam_masked_attention p[2];
    draw_mask(t, mask, s, pattern);
    check_each_side(t, i) {
        p[i] = (struct sam_masked_attention) { .dst = dst->on[i], .q = q->on[i], .k = k->on[i],
                                               .v = v->on[i], .mask = mask->on[i],
                                               .heads = s->heads, .scale = scale };
        if (i == CHECK_NEW || !check_known(t, &p[i].dst))
            sam_op_masked_attention(&t->queue[i], &p[i]);
    }
    check_flops(t, 2.0 * s->n * s->queries * s->keys * s->heads * (s->dk + s->dv))
        sam_op_masked_attention(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // As in attention.c, in F32 whatever the precision.
    check_near(t, dst, 8e-7f * width * width * sqrtf((float) s->dk) + 1e-6f, type->rel);
    check_done(t);
}

static void check_masked_attention(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int pattern = 0; pattern < NUM_PATTERNS; pattern++) {
                const struct shape *s = &shapes[i];
                if (check_case(t, "masked_attention_%s_%dx%dx%d_h%d_%d_%d_%s", check_types[k].name,
                               s->n, s->queries, s->keys, s->heads, s->dk, s->dv,
                               pattern_names[pattern]))
                    run(t, &check_types[k], s, pattern);
            }
    for (int i = 0; i < NUM_REAL; i++)
        if (check_speed(t, "masked_attention_f32_%dx%d_h%d_%d", real[i].queries, real[i].keys,
                        real[i].heads, real[i].dk))
            run(t, &check_types[0], &real[i], HALF);
}

// ---- the front

static struct sam_masked_attention valid_masked_attention(void)
{
    return (struct sam_masked_attention) { f32(0, 2, 1, 4, 6), f32(1, 2, 1, 4, 8),
                                           f32(2, 2, 1, 5, 8), f32(3, 2, 1, 5, 6),
                                           f32(4, 2, 1, 4, 5), 2, 0.5f };
}

static void fronts_masked_attention(void)
{
    TAKES(masked_attention, (void) p);
    TAKES(masked_attention, p->k.n = 1; p->v.n = 1);
    REFUSES(masked_attention, p->k.n = 3, "p->k.n");
    REFUSES(masked_attention, p->v.w = 4, "p->v.w");
    REFUSES(masked_attention, p->k.c = 6, "p->k.c");
    REFUSES(masked_attention, p->heads = 3, "heads");
    REFUSES(masked_attention, p->heads = 0, "heads");
    REFUSES(masked_attention, p->dst.c = 8, "dst.c");
    REFUSES(masked_attention, p->dst.w = 3, "same_map");
    REFUSES(masked_attention, p->mask.c = 4, "mask");
    REFUSES(masked_attention, p->mask.n = 1, "mask");
    REFUSES(masked_attention, p->mask.data = NULL, "mask");
    REFUSES(masked_attention, p->mask.type = SAM_BF16, "mask of type f32");
    REFUSES(masked_attention, p->q.h = 4; p->q.w = 1, "q.h");
    REFUSES(masked_attention, p->dst.data = p->mask.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_masked_attention(struct vectors *v)
{
    sam_op_masked_attention(&v->queue, &(struct sam_masked_attention) {
        .dst = vec_out(v, "dst"), .q = vec_in(v, "q"), .k = vec_in(v, "k"), .v = vec_in(v, "v"),
        .mask = vec_in(v, "mask"), .heads = vec_int(v, "heads"), .scale = vec_number(v, "scale") });
}

// ---- faults

COMMON(masked_attention, dst, mask)
CHANGED(masked_attention, wrong_scale, m.scale *= 1.05f)
CHANGED(masked_attention, one_head, m.heads = 1)
CHANGED(masked_attention, shares_the_first_values, m.v = sam_first(m.v, 1))

// Runs it with the mask's numbers made others.
static void with_mask(struct sam_queue *q, const struct sam_masked_attention *p,
                      float (*other)(float))
{
    static float room[64 * 1024];
    struct sam_masked_attention m = *p;
    if (sam_count(&p->mask) <= sizeof(room) / sizeof(*room)) {
        for (size_t i = 0; i < sam_count(&p->mask); i++)
            room[i] = other(((const float *) p->mask.data)[i]);
        m.mask.data = room;
    }
    sam_masked_attention_ref(q, &m);
}

static float nothing(float v) { return 1; }
static float above(float v) { return v > 0 ? 1 : -1; }
static float no_nan(float v) { return isnan(v) ? -1 : v; }
static float turned(float v) { return -v; }

static void masked_attention_ignores_masks(struct sam_queue *q,
                                           const struct sam_masked_attention *p)
{
    with_mask(q, p, nothing);
}

static void masked_attention_leaves_out_zeros(struct sam_queue *q,
                                              const struct sam_masked_attention *p)
{
    with_mask(q, p, above);
}

static void masked_attention_leaves_out_nans(struct sam_queue *q,
                                             const struct sam_masked_attention *p)
{
    with_mask(q, p, no_nan);
}

static void masked_attention_turns_masks(struct sam_queue *q, const struct sam_masked_attention *p)
{
    with_mask(q, p, turned);
}

// Nothing is the result of a query that its mask leaves no key.
static void masked_attention_gives_nothing(struct sam_queue *q,
                                           const struct sam_masked_attention *p)
{
    sam_masked_attention_ref(q, p);
    for (size_t row = 0; row < (size_t) p->q.n * p->q.w; row++) {
        const float *mask = (const float *) p->mask.data + row * p->k.w;
        int left = 0;
        for (int j = 0; j < p->k.w; j++)
            left += !(mask[j] < 0);
        for (int c = 0; !left && c < p->dst.c; c++)
            sam_store(&p->dst, row * p->dst.c + c, 0);
    }
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(masked_attention),
    MUTANT(masked_attention, wrong_scale),
    MUTANT(masked_attention, one_head),
    MUTANT(masked_attention, shares_the_first_values),
    MUTANT(masked_attention, ignores_masks),
    MUTANT(masked_attention, leaves_out_zeros),
    MUTANT(masked_attention, leaves_out_nans),
    MUTANT(masked_attention, turns_masks),
    MUTANT(masked_attention, gives_nothing),
};

CUDA_FAULT("attention.cu", "key0 + lane < num_keys && «!open[i] => true»)")
CUDA_FAULT("attention.cu", "leaves_one |= «!(row[key] < 0.0f) => row[key] >= 0.0f»;", "_lone")
CUDA_FAULT("attention.cu", "a.mask[query * a.keys + key] < «0.0f => 1e-20f» ?")
CUDA_FAULT("attention.cu", "KIND::MASKS ? «-FLT_MAX => -INFINITY» :")
CUDA_FAULT("attention.cu", "size_t query = «(size_t) group * a.queries => 0» + query0")
CUDA_FAULT("attention.cu", "key = threadIdx.x; key < «keys => keys - 1»; key += OPEN")
CUDA_FAULT("attention_tensor.cu", "(uint8_t *) sam_cuda(q)->workspace + «a->used => 0»)",
           "masked_attention_f32_1x5x300_h1_16_8_few")

TEST(masked_attention, .vectors = vectors_masked_attention, .abs = 5e-6f, .rel = 1e-6f);
