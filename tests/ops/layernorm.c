// SPDX-License-Identifier: MIT
#include "test.h"

// The channel counts of the family's norms, the mask downsampler's 4 and 16, and odd ones.
static const int channels[] = { 1,  2,   3,   4,   7,   16,  17,  64,   67,
                                96, 112, 132, 144, 192, 256, 288, 384, 1152, 1153 };

static void run(struct check *t, const struct check_types *type, int rows, int c, float eps,
                enum sam_act act, bool in_place)
{
    if (in_place && type->in != type->out)
        in_place = false;
    struct check_buf *src   = in_place ? check_inout(t, type->in, 1, 1, rows, c)
                                       : check_in(t, type->in, 1, 1, rows, c);
    struct check_buf *gamma = check_uniform(t, -2, 2, SAM_F32, 1, 1, 1, c);
    struct check_buf *beta  = check_uniform(t, -2, 2, SAM_F32, 1, 1, 1, c);
    struct check_buf *dst   = in_place ? src : check_out(t, type->out, 1, 1, rows, c);
    const int sums = check_int(t, 0, 3); // two: not; into another tensor; into dst
    struct check_buf *add = sums > 1 ? check_in(t, type->in, 1, 1, check_int(t, 0, 1) ? rows : 1, c)
                                     : &check_none;
    struct check_buf *sum = sums == 2 ? check_out(t, type->out, 1, 1, rows, c)
                          : sums == 3 ? dst : &check_none;
    struct sam_layernorm p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_layernorm) { .dst = dst->on[s], .src = src->on[s],
                                        .gamma = gamma->on[s], .beta = beta->on[s], .eps = eps,
                                        .act = act, .sum = sum->on[s], .add = add->on[s] };
        sam_op_layernorm(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]) + sam_tensor_bytes(&dst->on[0]))
        sam_op_layernorm(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // Rows of 30 + u: the mean's last digit is 2e-6, a unit of spread 0.6, gamma up to 2; where
    // c is 2 or 3 the spread can be a tenth of that. A one-pass variance is off by 1e-3. The
    // running sum of a wide row, in the four lanes of plain C, loses digits of the mean in
    // proportion to its length.
    const float wide = c > 256 ? (float) c / 256.0f : 1.0f;
    const float abs = c < 16 ? 4e-4f : 4e-5f * wide;
    if (sums < 3)
        check_near(t, dst, abs, type->rel * 2);
    // Either side may round to BF16 before it adds; norms are below 70.
    if (sums > 1)
        check_near(t, sum, abs + (type->out == SAM_BF16 ? 70 * 0x1p-8f : 0), type->rel * 2);
    check_done(t);
}

static void check_layernorm(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (size_t i = 0; i < sizeof(channels) / sizeof(*channels); i++) {
            const int c = channels[i];
            if (check_case(t, "layernorm_%s_c%d", check_types[k].name, c))
                run(t, &check_types[k], check_int(t, 1, 90), c, 1e-6f, SAM_ACT_NONE, i % 2);
            if (check_case(t, "layernorm_gelu_%s_c%d", check_types[k].name, c))
                run(t, &check_types[k], check_int(t, 1, 90), c, 1e-5f, SAM_ACT_GELU, i % 2);
            if (check_case(t, "layernorm_silu_%s_c%d", check_types[k].name, c))
                run(t, &check_types[k], check_int(t, 1, 90), c, 1e-5f, SAM_ACT_SILU, i % 2);
        }
    if (check_speed(t, "layernorm_f32_bf16_4096x384"))
        run(t, &check_types[2], 4096, 384, 1e-6f, SAM_ACT_NONE, false);
    if (check_speed(t, "layernorm_f32_65536x96"))
        run(t, &check_types[0], 65536, 96, 1e-6f, SAM_ACT_NONE, false);
    if (check_speed(t, "layernorm_gelu_f32_65536x16"))
        run(t, &check_types[0], 65536, 16, 1e-6f, SAM_ACT_GELU, true);
}

// ---- the front

static struct sam_layernorm valid_layernorm(void)
{
    return (struct sam_layernorm) { f32(0, 1, 1, 4, 5), f32(1, 1, 1, 4, 5), f32(2, 1, 1, 1, 5),
                                    f32(3, 1, 1, 1, 5), 1e-6f, SAM_ACT_NONE, { 0 }, { 0 } };
}

static void fronts_layernorm(void)
{
    TAKES(layernorm, (void) p);
    TAKES(layernorm, p->dst = p->src; p->act = SAM_ACT_GELU);
    TAKES(layernorm, p->act = SAM_ACT_SILU);
    TAKES(layernorm, p->sum = f32(4, 1, 1, 4, 5); p->add = f32(5, 1, 1, 4, 5));
    TAKES(layernorm, p->sum = p->dst; p->add = f32(5, 1, 1, 1, 5));
    REFUSES(layernorm, p->sum = f32(4, 1, 1, 4, 5), "p->sum.data == !p->add.data");
    REFUSES(layernorm, p->add = f32(4, 1, 1, 4, 5), "p->sum.data == !p->add.data");
    REFUSES(layernorm, p->sum = f32(4, 1, 1, 3, 5); p->add = f32(5, 1, 1, 1, 5), "like");
    REFUSES(layernorm, p->sum = p->dst; p->add = f32(5, 1, 1, 3, 5), "repeats");
    REFUSES(layernorm, p->sum = p->add = f32(5, 1, 1, 4, 5), "overlap");
    REFUSES(layernorm, p->act = SAM_ACT_RELU, "act");
    REFUSES(layernorm, p->eps = 0, "eps");
    REFUSES(layernorm, p->eps = __builtin_nanf(""), "eps");
    REFUSES(layernorm, p->gamma.c = 4, "gamma");
    REFUSES(layernorm, p->beta.w = 2, "beta");
    REFUSES(layernorm, p->gamma.type = SAM_BF16, "gamma of type f32");
    REFUSES(layernorm, p->beta.data = NULL, "beta");
    REFUSES(layernorm, p->dst.w = 3, "same_rows");
    REFUSES(layernorm, p->dst = p->gamma; p->src.w = p->dst.w = 1, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_layernorm(struct vectors *v)
{
    sam_op_layernorm(&v->queue, &(struct sam_layernorm) {
        .dst = vec_out(v, "dst"), .src = vec_in(v, "src"), .gamma = vec_in(v, "gamma"),
        .beta = vec_in(v, "beta"), .eps = vec_number(v, "eps"), .act = vec_int(v, "act") });
}

// ---- faults

COMMON(layernorm, dst, gamma)
CHANGED(layernorm, wrong_eps, m.eps = 1e-3f)
CHANGED(layernorm, forgets_gelu, if (m.act == SAM_ACT_GELU) m.act = SAM_ACT_NONE)
CHANGED(layernorm, forgets_the_sum, m.sum = m.add = without(m.sum))
CHANGED(layernorm, forgets_silu, if (m.act == SAM_ACT_SILU) m.act = SAM_ACT_NONE)

// The variance as E[x^2] - E[x]^2, in f32: no digits left beside a large mean.
static void layernorm_one_pass(struct sam_queue *q, const struct sam_layernorm *p)
{
    const int c = p->src.c;
    for (size_t r = 0; r < sam_rows(&p->src); r++) {
        float sum = 0, squares = 0;
        for (int i = 0; i < c; i++) {
            const float x = sam_load(&p->src, r * c + i);
            sum += x;
            squares += x * x;
        }
        const float mean = sum / c, scale = 1 / sqrtf(squares / c - mean * mean + p->eps);
        for (int i = 0; i < c; i++) {
            const float x = (sam_load(&p->src, r * c + i) - mean) * scale;
            sam_store(&p->dst, r * c + i,
                      ref_act(p->act, x * sam_load(&p->gamma, i) + sam_load(&p->beta, i)));
        }
    }
}

// Bessel's correction, as most textbooks' variance has it.
static void layernorm_unbiased(struct sam_queue *q, const struct sam_layernorm *p)
{
    struct sam_layernorm m = *p;
    const int c = p->src.c;
    float gamma[2048];
    for (int i = 0; i < c; i++)
        gamma[i] = sam_load(&p->gamma, i) * sqrtf((float) (c - 1) / c);
    m.gamma.data = gamma;
    sam_layernorm_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(layernorm),
    MUTANT(layernorm, wrong_eps),
    MUTANT(layernorm, forgets_gelu),
    MUTANT(layernorm, forgets_the_sum),
    MUTANT(layernorm, forgets_silu),
    MUTANT(layernorm, one_pass),
    MUTANT(layernorm, unbiased),
};

CUDA_FAULT("reduce.cuh", "int step = «lanes / 2 => lanes / 4»;")
CUDA_FAULT("norm.cuh", "lanes_sum(squares, lanes) / width + «eps => 0.0f»)")
CUDA_FAULT("layernorm.cu", "c = «row < p.rows => row <= p.rows» ? p.c : 0")
CUDA_FAULT("layernorm.cu", "p.act == SAM_ACT_SILU ? «SAM_ACT_SILU => SAM_ACT_GELU»")
CUDA_FAULT("layernorm.cu", "load_packs(add, p.add, first % «p.period => p.c», lane")
CUDA_FAULT("layernorm.cu", "if (p->sum.data && «!sums => false» && !q->status)")
CUDA_FAULT("layernorm.cu", "!(HAS_SUM && «p.dst.p == p.sum.p => true»))")
CUDA_FAULT("layernorm.cu",
           "i += «32 => 64»)\n"
           "        sum +=")

TEST(layernorm, .vectors = vectors_layernorm, .abs = 1e-5f, .rel = 1e-5f);
