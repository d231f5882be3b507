// SPDX-License-Identifier: MIT
#include "test.h"

// Partial sums are added up: some ten roundings, each by 2^-24 of what was added up. A sum of one
// number after another is off by more where there are tens of thousands.
static const float FACTOR = 0x1p-20f;

static void run(struct check *t, const struct check_types *type, bool even, int n, int h, int w,
                int c)
{
    struct check_buf *src = even ? check_uniform(t, 0.5f, 0.7f, type->in, n, h, w, c)
                                 : check_in(t, type->in, n, h, w, c);
    struct check_buf *dst = check_out(t, type->out, n, 1, 1, c);
    struct sam_mean_rows p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_mean_rows) { dst->on[s], src->on[s] };
        sam_op_mean_rows(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&src->on[CHECK_NEW]))
        sam_op_mean_rows(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    struct sam_tensor size = { 0 };
    if (!t->bench) {
        size = check_temp(t, n, 1, 1, c);
        sam_op_mean_rows(&t->queue[CHECK_REF],
                         &(struct sam_mean_rows) { size, check_abs(t, src) });
    }
    check_bound(t, dst, &size, FACTOR, 0, type->out == SAM_BF16 ? type->rel : 0);
    check_done(t);
}

static void check_mean_rows(struct check *t)
{
    static const int sides[][3] = { { 1, 1, 1 }, { 2, 3, 5 }, { 3, 1, 40 }, { 1, 37, 29 },
                                    { 2, 64, 64 } };
    static const int channels[] = { 1, 3, 16, 48, 67, 96, 384, 1100 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < (i < 4 ? 8 : 4); j++)
                if (check_case(t, "mean_rows_%s_%dx%dx%dx%d", check_types[k].name, sides[i][0],
                               sides[i][1], sides[i][2], channels[j]))
                    run(t, &check_types[k], false, sides[i][0], sides[i][1], sides[i][2],
                        channels[j]);
    if (check_case(t, "mean_rows_f32_many"))
        run(t, &check_types[0], true, 1, 250, 200, 3);
    if (check_case(t, "mean_rows_f32_objects"))
        run(t, &check_types[0], false, 300, 2, 3, 3);
    if (check_case(t, "mean_rows_f32_wide"))
        run(t, &check_types[0], false, 2, 2, 2, 9001);
    static const int shapes[][2] = { { 256, 48 }, { 128, 96 }, { 64, 192 }, { 32, 384 } };
    for (int i = 0; i < 4; i++)
        if (check_speed(t, "mean_rows_f32_%dx%dx%d", shapes[i][0], shapes[i][0], shapes[i][1]))
            run(t, &check_types[0], false, 1, shapes[i][0], shapes[i][0], shapes[i][1]);
}

// ---- the front

static struct sam_mean_rows valid_mean_rows(void)
{
    return (struct sam_mean_rows) { f32(0, 2, 1, 1, 5), f32(1, 2, 3, 4, 5) };
}

static void fronts_mean_rows(void)
{
    TAKES(mean_rows, (void) p);
    TAKES(mean_rows, p->src.type = SAM_BF16);
    REFUSES(mean_rows, p->dst.n = 1, "dst");
    REFUSES(mean_rows, p->dst.w = 2, "dst");
    REFUSES(mean_rows, p->dst.c = 4, "dst");
    REFUSES(mean_rows, p->src.type = SAM_I32, "src of type");
    REFUSES(mean_rows, overlap_by_one(&p->dst, &p->src), "apart in memory");
    REFUSES(mean_rows, p->src.h = 0, "extents");
}

// ---- what PyTorch computed

static void vectors_mean_rows(struct vectors *v)
{
    sam_op_mean_rows(&v->queue, &(struct sam_mean_rows) { vec_out(v, "dst"), vec_in(v, "src") });
}

// ---- faults

COMMON(mean_rows, dst, src)

static void mean_rows_reads_the_first_object(struct sam_queue *q, const struct sam_mean_rows *p)
{
    for (int n = 0; n < p->src.n; n++)
        sam_mean_rows_ref(q, &(struct sam_mean_rows) { sam_slice(p->dst, n),
                                                       sam_slice(p->src, 0) });
}

static void mean_rows_forgets_the_last_row(struct sam_queue *q, const struct sam_mean_rows *p)
{
    const size_t rows = (size_t) p->src.h * p->src.w, c = p->src.c;
    sam_mean_rows_ref(q, p);
    for (size_t i = 0; i < p->src.n * c; i++) {
        const float last = sam_load(&p->src, ((i / c + 1) * rows - 1) * c + i % c);
        sam_store(&p->dst, i, sam_load(&p->dst, i) - last / rows);
    }
}

static void mean_rows_adds_one_by_one(struct sam_queue *q, const struct sam_mean_rows *p)
{
    const size_t rows = (size_t) p->src.h * p->src.w, c = p->src.c;
    for (size_t i = 0; i < p->src.n * c; i++) {
        float sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += sam_load(&p->src, (i / c * rows + r) * c + i % c);
        sam_store(&p->dst, i, sum / rows);
    }
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(mean_rows),
    MUTANT(mean_rows, reads_the_first_object),
    MUTANT(mean_rows, forgets_the_last_row),
    MUTANT(mean_rows, adds_one_by_one),
};

CUDA_FAULT("mean_rows.cu", "row = «first + lane => first + lane + 1»;")
CUDA_FAULT("mean_rows.cu", "if («lane + half < left => lane + half + 1 < left»)")
CUDA_FAULT("mean_rows.cu", "part < min(«parts => parts - 1», first + SOME_PARTS)")
CUDA_FAULT("mean_rows.cu", "load(v, p.src, («n => 0» * p.rows + row)")

TEST(mean_rows, .vectors = vectors_mean_rows, .abs = 1e-7f, .rel = 1e-7f);
