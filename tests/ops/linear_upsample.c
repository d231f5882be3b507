// SPDX-License-Identifier: MIT
#include "product.h"
#include "test.h"

// Parts of tiles of 64 rows and of columns, several maps, and what no tensor core makes.
static const struct shape {
    const char *name;
    int n, h, w, in, out; // of src, and channels of dst
} shapes[] = {
    { "odd", 1, 3, 5, 7, 5 },       { "some", 2, 7, 6, 40, 64 },   { "many", 1, 8, 8, 96, 256 },
    { "columns", 3, 5, 9, 16, 36 }, { "turned", 1, 4, 4, 24, 72 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), TURNED = NUM_SHAPES - 1, SHIFTED = 1 };

// Of a flat tensor, the elements from `at` on as rows of s->out channels.
static struct sam_tensor rows_from(struct sam_tensor flat, int at, const struct shape *s)
{
    if (flat.data)
        flat.data = (char *) flat.data + at * (flat.type == SAM_F32 ? 4 : 2);
    flat.h = s->h;
    flat.w = s->w;
    flat.c = s->out;
    return flat;
}

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                bool in_place, enum check_factors factors)
{
    check_set_factors(t, factors);
    in_place = in_place && type->in == type->out;
    const bool adds = check_int(t, 0, 1);
    struct check_buf *src = check_in(t, type->in, s->n, s->h, s->w, s->in);
    struct check_buf *bias = check_in(t, SAM_F32, 1, 1, 1, s->out);
    // Not at a multiple of four once: threads then add what others have written.
    const int at = s == &shapes[SHIFTED];
    struct check_buf *add =
        adds ? check_in(t, type->in, 1, 1, 1, s->h * s->w * s->out + at) : &check_none;
    struct check_buf *table = s == &shapes[TURNED]
                                  ? check_uniform(t, -1, 1, SAM_F32, 1, 1, s->h * s->w, s->out)
                                  : &check_none;
    const struct check_matrix weight = check_weight(t, s->out, s->in);
    struct check_buf *a = in_place ? check_inout(t, type->in, s->n, 2 * s->h, 2 * s->w, s->out)
                                   : check_in(t, type->in, s->n, 2 * s->h, 2 * s->w, s->out);
    struct check_buf *dst =
        in_place ? a : check_out(t, type->out, s->n, 2 * s->h, 2 * s->w, s->out);
    struct check_buf *room = check_out(t, SAM_F32, s->n, s->h, s->w, s->out);
    struct sam_tensor sum = check_temp(t, s->n, s->h, s->w, s->out);
    const struct sam_tensor wide = check_temp(t, s->n, 2 * s->h, 2 * s->w, s->out);
    const struct sam_tensor none = check_temp(t, s->n, 2 * s->h, 2 * s->w, s->out);
    struct sam_linear bound = { .dst = sum, .src = check_abs(t, src), .bias = check_abs(t, bias),
                                .weight = check_abs_weight(t, &weight),
                                .add = rows_from(check_abs(t, add), at, s) };
    sam_op_linear(&t->queue[CHECK_REF], &bound);
    if (table != &check_none)
        product_add_pairs(&sum);
    for (size_t i = 0; i < sam_count(&none); i++)
        sam_store(&none, i, 0);
    sam_op_upsample_add(&t->queue[CHECK_REF], &(struct sam_upsample_add) { wide, none, sum });
    check_each_side(t, i)
        sam_op_linear_upsample(&t->queue[i], &(struct sam_linear_upsample) {
            { dst->on[i], a->on[i], room->on[i] },
            { .dst = room->on[i], .src = src->on[i], .weight = weight.on[i], .bias = bias->on[i],
              .add = rows_from(add->on[i], at, s), .table = table->on[i] } });
    check_bound(t, dst, &wide, product_factor(t) + 2e-6f, 2e-6f, type->rel);
    check_done(t);
}

static void check_linear_upsample(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int f = 0; f < check_num_factors(t); f++)
                if (check_case(t, "linear_upsample_%s_%s%s", check_types[k].name, shapes[i].name,
                               check_factor_names[f]))
                    run(t, &check_types[k], &shapes[i], i % 2, f);
}

// ---- the front

static struct sam_linear_upsample valid_linear_upsample(void)
{
    return (struct sam_linear_upsample) {
        { f32(0, 2, 6, 8, 5), f32(1, 2, 6, 8, 5), f32(2, 2, 3, 4, 5) },
        { .dst = f32(2, 2, 3, 4, 5), .src = f32(3, 2, 3, 4, 7), .weight = matrix(4, 5, 7) } };
}

static void fronts_linear_upsample(void)
{
    TAKES(linear_upsample, (void) p);
    TAKES(linear_upsample, p->sum.dst = p->sum.a);
    TAKES(linear_upsample, p->product.add = f32(5, 1, 3, 4, 5));
    REFUSES(linear_upsample, p->product.weight.in = 6, "weight");
    REFUSES(linear_upsample, p->sum.a.h = 5; p->sum.dst.h = 5, "b.h");
    REFUSES(linear_upsample, p->sum.dst.n = 1, "a.n");
    REFUSES(linear_upsample, p->sum.b = f32(6, 2, 3, 4, 5), "sum.b.data");
    REFUSES(linear_upsample, p->product.dst.type = SAM_BF16, "sum.b.data");
    REFUSES(linear_upsample, p->sum.dst.data = p->product.src.data, "apart in memory");
    REFUSES(linear_upsample, p->product.add = p->sum.dst; p->product.add.n = 2;
            p->product.add.h = 3; p->product.add.w = 4, "apart in memory");
}

// ---- faults

COMMON(linear_upsample, sum.dst, product.src)
CHANGED(linear_upsample, forgets_the_bias, m.product.bias = without(m.product.bias))
CHANGED(linear_upsample, adds_it_twice, sam_linear_upsample_ref(q, p); m.sum.a = m.sum.dst)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(linear_upsample),
    MUTANT(linear_upsample, forgets_the_bias),
    MUTANT(linear_upsample, adds_it_twice),
};

CUDA_FAULT("linear_upsample.cu",
           "«__syncthreads() => (void) 0»; // the block's part")
CUDA_FAULT("linear_upsample.cu", "if («row >= p.one.m => row > p.one.m» ||")
CUDA_FAULT("linear_upsample.cu", "|| «col >= n => false»)")
CUDA_FAULT("linear_upsample.cu", "2 * y + «k / 2 => k % 2») * 2")
CUDA_FAULT("linear_upsample.cu", "y = row / p.w % «p.h => p.w»,")
CUDA_FAULT("linear_upsample.cu", "if (four && «!p->product.table.data => true» &&", "_turned")

TEST(linear_upsample, .abs = 5e-6f, .rel = 1e-6f, .fp32_is_another_kernel = true);
