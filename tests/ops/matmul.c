// SPDX-License-Identifier: MIT
#include "product.h"
#include "test.h"

static void run(struct check *t, const struct check_types *type, int n, int a_rows, int b_rows,
                int c, enum check_factors factors)
{
    check_set_factors(t, factors);
    struct check_buf *a = check_in(t, type->in, n, 1, a_rows, c);
    struct check_buf *b = check_in(t, type->in, n, 1, b_rows, c);
    struct check_buf *dst = check_out(t, SAM_F32, n, 1, a_rows, b_rows);
    struct sam_matmul p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_matmul) { dst->on[s], a->on[s], b->on[s] };
        sam_op_matmul(&t->queue[s], &p[s]);
    }
    check_flops(t, 2.0 * n * a_rows * b_rows * c)
        sam_op_matmul(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    struct sam_tensor sum = { 0 };
    if (!t->bench) {
        sum = check_temp(t, n, 1, a_rows, b_rows);
        sam_op_matmul(&t->queue[CHECK_REF],
                      &(struct sam_matmul) { sum, check_abs(t, a), check_abs(t, b) });
    }
    check_bound(t, dst, &sum, product_factor(t), 1e-7f, 1e-6f);
    check_done(t);
}

static void check_matmul(struct check *t)
{
    static const int shapes[][3] = { { 1, 1, 1 }, { 4, 7, 3 }, { 3, 65, 17 }, { 4, 256, 32 },
                                     { 4, 513, 8 }, { 1, 100, 64 }, { 5, 130, 256 } };
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 7; i++)
            for (int f = 0; f < check_num_factors(t) && f <= CHECK_COARSE; f++)
                if (check_case(t, "matmul_%s_%dx%dx%d%s", check_types[k].name, shapes[i][0],
                               shapes[i][1], shapes[i][2], check_factor_names[f]))
                    run(t, &check_types[k], check_int(t, 1, 3), shapes[i][0], shapes[i][1],
                        shapes[i][2], f);
    for (int k = 0; k < 2; k++)
        if (check_speed(t, "matmul_%s_4x65536x32", check_types[k].name))
            run(t, &check_types[k], 1, 4, 65536, 32, CHECK_ANY);
}

// ---- the front

static struct sam_matmul valid_matmul(void)
{
    return (struct sam_matmul) { f32(0, 2, 1, 4, 7), f32(1, 2, 1, 4, 5), f32(2, 2, 1, 7, 5) };
}

static void fronts_matmul(void)
{
    TAKES(matmul, (void) p);
    REFUSES(matmul, p->dst.type = SAM_BF16, "dst of type f32");
    REFUSES(matmul, p->b.n = 1, "b.n");
    REFUSES(matmul, p->b.c = 4, "b.c");
    REFUSES(matmul, p->dst.c = 4, "dst");
}

// ---- what PyTorch computed

static void vectors_matmul(struct vectors *v)
{
    sam_op_matmul(&v->queue, &(struct sam_matmul) { vec_out(v, "dst"), vec_in(v, "a"),
                                                    vec_in(v, "b") });
}

// ---- faults

COMMON(matmul, dst, b)
CHANGED(matmul, repeats_the_first, for (int n = 0; n < m.a.n; n++) {
    struct sam_matmul one = { sam_slice(p->dst, n), sam_slice(p->a, n), sam_slice(p->b, 0) };
    sam_matmul_ref(q, &one);
} return)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(matmul),
    MUTANT(matmul, repeats_the_first),
};

CUDA_FAULT("linear.cu",
           "c0 += MATMUL_STEP) {\n"
           "        «__syncthreads() => (void) 0»;")
CUDA_FAULT("linear.cu", "is_row && «first + i < p.a_rows => true»)")

TEST(matmul, .vectors = vectors_matmul, .abs = 1e-5f, .rel = 1e-6f);
