// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

enum { ROWS = 6, TERMS = 40 };

// Row `at`: a part of the sums of `terms` products to either half, which then have a decomposition.
static void fill(struct check *t, struct check_buf *sums, int at, int numbers, int terms)
{
    const int half = numbers * (numbers + 3) / 2;
    static float row[2 * 65 * 68];
    float x[65];
    memset(row, 0, sizeof(row));
    for (int i = 0; i < terms; i++) {
        const float y = check_unit(t), part = 0.1f + fabsf(check_unit(t));
        float *s = row + (i % 3 ? half : 0);
        for (int k = 0; k < numbers; k++)
            x[k] = k + 1 < numbers ? check_unit(t) : 1;
        for (int r = 0; r < numbers; r++, s += r)
            for (int k = 0; k <= r; k++)
                s[k] += part * x[r] * x[k];
        for (int r = 0; r < numbers; r++)
            s[r] += part * y * x[r];
    }
    for (int i = 0; i < 2 * half; i++)
        check_set(t, sums, (size_t) at * 2 * half + i, row[i]);
}

static void run(struct check *t, int n, int numbers)
{
    const float values[] = { 1.5f, 1e-20f, 2, 0, NAN };
    const int slot[] = { 2, 5, -1, 2, 3 };
    struct check_buf *sums = check_uniform(t, -1, 1, SAM_F32, ROWS, 1, 1, numbers * (numbers + 3));
    fill(t, sums, 2, numbers, TERMS);
    fill(t, sums, 5, numbers, n % 2 ? 0 : TERMS); // zeros have none
    struct check_buf *at = check_list(t, n, slot), *score = check_scores(t, n, values);
    struct check_buf *room = check_out(t, SAM_F32, n, 1, numbers + 1, 2 * numbers);
    struct check_buf *dst = check_out(t, SAM_F32, n, 1, 1, numbers);
    struct sam_ridge_fit p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_ridge_fit) { dst->on[s], sums->on[s], at->on[s], score->on[s],
                                        room->on[s], 0.01f };
        sam_op_ridge_fit(&t->queue[s], &p[s]);
    }
    check_flops(t, (double) n * numbers * numbers * numbers / 3)
        sam_op_ridge_fit(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 1e-6f, 1e-6f); // in double: of one rounding
    check_done(t);
}

static void check_ridge_fit(struct check *t)
{
    static const int numbers[] = { 2, 3, 7, 20, 65 };
    for (int i = 0; i < 5; i++)
        for (int n = 1; n < 6; n += 1 + i % 2)
            if (check_case(t, "ridge_fit_%dx%d", n, numbers[i]))
                run(t, n, numbers[i]);
    if (check_speed(t, "ridge_fit_8x65"))
        run(t, 2, 65);
}

// ---- the front

static struct sam_ridge_fit valid_ridge_fit(void)
{
    return (struct sam_ridge_fit) { f32(0, 2, 1, 1, 3), f32(1, 5, 1, 1, 18), i32(2, 1, 1, 1, 2),
                                    f32(3, 2, 1, 1, 1), f32(4, 2, 1, 4, 6), 0.01f };
}

static void fronts_ridge_fit(void)
{
    TAKES(ridge_fit, (void) p);
    TAKES(ridge_fit, p->ridge = 0);
    REFUSES(ridge_fit, p->dst.c = 4, "sums");
    REFUSES(ridge_fit, p->slot.c = 1, "slot");
    REFUSES(ridge_fit, p->score.n = 1, "score");
    REFUSES(ridge_fit, p->room.w = 3, "room");
    REFUSES(ridge_fit, p->ridge = -1, "ridge");
    REFUSES(ridge_fit, p->slot.type = SAM_F32, "slot of type i32");
    REFUSES(ridge_fit, p->room.data = p->sums.data, "room and sums");
}

// ---- what PyTorch computed

static void vectors_ridge_fit(struct vectors *v)
{
    sam_op_ridge_fit(&v->queue, &(struct sam_ridge_fit) {
        vec_out(v, "dst"), vec_in(v, "sums"), vec_ints(v, "slot"), vec_in(v, "score"),
        vec_in(v, "room"), vec_number(v, "ridge") });
}

// ---- faults

COMMON(ridge_fit, dst, sums)
CHANGED(ridge_fit, less_ridge, m.ridge *= 0.99f)
CHANGED(ridge_fit, absent_fit, static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        m.score.data = ones)
CHANGED(ridge_fit, one_row_for_all, static int32_t twos[8] = { 2, 2, 2, 2, 2, 2, 2, 2 };
        m.slot.data = twos)

static const struct mutant mutants[] = {
    MUTANT(ridge_fit, writes_too_far),
    MUTANT(ridge_fit, forgets_the_last),
    MUTANT(ridge_fit, scribbles),
    MUTANT(ridge_fit, less_ridge),
    MUTANT(ridge_fit, absent_fit),
    MUTANT(ridge_fit, one_row_for_all),
};

CUDA_FAULT("ridge.cu", "bool has_any = slot >= 0 && «k.score[object] > 0.0f => true»;")
CUDA_FAULT("ridge.cu", "x[k] -= «l[i * n + k] => l[k * n + i]» * x[i];")
CUDA_FAULT("ridge.cu", "% 32; «j <= i => j < i»; j += 32)\n                a[i")

TEST(ridge_fit, .vectors = vectors_ridge_fit, .abs = 1e-5f, .rel = 1e-5f);
