// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

static void run(struct check *t, const struct check_types *type, int n, int h, int w, int c,
                int kernel)
{
    struct check_buf *src = check_in(t, type->in, n, h, w, c);
    struct check_buf *dst = check_out(t, type->out, n, h, w, c);
    check_each_side(t, s)
        sam_op_maxpool_around(&t->queue[s],
                              &(struct sam_maxpool_around) { dst->on[s], src->on[s], kernel });
    check_near(t, dst, 0, type->in == SAM_F32 && type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

// A NaN is the largest, of whatever place around.
static void run_nan(struct check *t, enum sam_type type, int c)
{
    const int h = 6, w = 7, at = (3 * w + 2) * c + c - 1;
    struct check_buf *src = check_in(t, type, 1, h, w, c);
    struct check_buf *dst = check_out(t, SAM_F32, 1, h, w, c);
    check_set(t, src, at, NAN);
    check_each_side(t, s)
        sam_op_maxpool_around(&t->queue[s],
                              &(struct sam_maxpool_around) { dst->on[s], src->on[s], 3 });
    if (!t->bench) {
        const int nans = check_nans(t, dst);
        if (nans != 9)
            check_fail(t, "%d numbers are NaN, expected those of 3 x 3 positions", nans);
    }
    check_done(t);
}

static void check_maxpool_around(struct check *t)
{
    static const int channels[] = { 1, 3, 16, 33, 96 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 5; i++)
            for (int kernel = 1; kernel <= 9; kernel += 2)
                if (check_case(t, "maxpool_around_%s_c%d_k%d", check_types[k].name, channels[i],
                               kernel))
                    run(t, &check_types[k], check_int(t, 1, 3), check_int(t, 1, 12),
                        check_int(t, 1, 12), channels[i], kernel);
    if (check_case(t, "maxpool_around_f32_k33"))
        run(t, &check_types[0], 1, 5, 40, 3, 33);
    for (int i = 0; i < 4; i++)
        if (check_case(t, "maxpool_around_nan_%s_c%d", i % 2 ? "bf16" : "f32", i / 2 ? 3 : 8))
            run_nan(t, i % 2 ? SAM_BF16 : SAM_F32, i / 2 ? 3 : 8);
}

// ---- the front

static struct sam_maxpool_around valid_maxpool_around(void)
{
    return (struct sam_maxpool_around) { f32(0, 2, 3, 4, 5), f32(1, 2, 3, 4, 5), 5 };
}

static void fronts_maxpool_around(void)
{
    TAKES(maxpool_around, (void) p);
    REFUSES(maxpool_around, p->kernel = 4, "kernel");
    REFUSES(maxpool_around, p->kernel = -1, "kernel");
    REFUSES(maxpool_around, p->src.w = 3, "src");
    REFUSES(maxpool_around, p->src.c = 4, "src");
    REFUSES(maxpool_around, p->dst.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_maxpool_around(struct vectors *v)
{
    sam_op_maxpool_around(&v->queue, &(struct sam_maxpool_around) {
        vec_out(v, "dst"), vec_in(v, "src"), vec_int(v, "kernel") });
}

// ---- faults

COMMON(maxpool_around, dst, src)
CHANGED(maxpool_around, reaches_too_near, if (m.kernel > 2) m.kernel -= 2)

// Positions beyond the map take part, as zeros.
static void maxpool_around_pads_with_zeros(struct sam_queue *q, const struct sam_maxpool_around *p)
{
    sam_maxpool_around_ref(q, p);
    for (size_t i = 0; p->kernel > 1 && i < (size_t) p->dst.c; i++)
        if (sam_load(&p->dst, i) < 0)
            sam_store(&p->dst, i, 0);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(maxpool_around),
    MUTANT(maxpool_around, reaches_too_near),
    MUTANT(maxpool_around, pads_with_zeros),
};

CUDA_FAULT("pool.cu", "row <= «bottom => bottom - 1»; row++)")
CUDA_FAULT("pool.cu", "left = «max(x - reach, 0) => x - reach»,")
CUDA_FAULT("pool.cu", "u[k] > v[k] || «isnan(u[k]) => false» ?", "nan")
CUDA_FAULT("pool.cu", "first = «i / c / w / h * h => 0u»;")

TEST(maxpool_around, .vectors = vectors_maxpool_around);
