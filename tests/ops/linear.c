#include "product.h"

struct shape {
    int n, rows, in, out;
};

// Awkward ones, then widths of the family: trunk, neck, heads, memory, feed-forward, pointers.
static const struct shape shapes[] = {
    { 1, 1, 1, 1 },      { 1, 2, 3, 5 },      { 3, 7, 17, 13 },    { 1, 33, 31, 67 },
    { 1, 97, 96, 288 },  { 1, 49, 112, 336 }, { 1, 50, 144, 432 }, { 1, 64, 192, 64 },
    { 1, 5, 384, 1152 }, { 1, 9, 768, 256 },  { 2, 8, 256, 256 },  { 3, 1, 256, 4 },
    { 2, 1, 256, 1 },    { 1, 65, 64, 256 },  { 2, 19, 256, 64 },  { 1, 70, 256, 2048 },
    { 3, 6, 2048, 256 }, { 1, 40, 96, 32 },   { 1, 3, 1152, 64 },
};
static const struct shape real[] = {
    { 1, 65536, 96, 288 },  { 1, 4096, 384, 1536 }, { 1, 4096, 1536, 384 },
    { 1, 28736, 64, 256 },  { 1, 4096, 256, 2048 }, { 1, 8, 256, 2048 },
};
// Back to the residual stream: trunk of tiny, then memory attention.
static const struct shape back[] = {
    { 1, 65536, 96, 96 },   { 1, 16384, 768, 192 }, { 1, 4096, 384, 384 },
    { 1, 4096, 1536, 384 }, { 1, 4096, 256, 256 },  { 1, 4096, 2048, 256 },
};
enum {
    NUM_SHAPES = sizeof(shapes) / sizeof(*shapes),
    NUM_REAL   = sizeof(real) / sizeof(*real),
    NUM_BACK   = sizeof(back) / sizeof(*back),
};

struct variant {
    enum sam_act act;
    bool bias, add, repeat, in_place, library;
    enum check_factors factors;
};

// What a backend may leave to a library if it is large: for four multiprocessors, for up to 150.
// Every epilogue that one has, then those it lacks.
static const struct shape large = { 2, 130, 72, 136 }, huge = { 1, 2400, 24, 264 };
static const struct variant epilogues[] = {
    { .act = SAM_ACT_NONE },
    { .act = SAM_ACT_NONE, .bias = true },
    { .act = SAM_ACT_NONE, .add = true },
    { .act = SAM_ACT_NONE, .in_place = true },
    { .act = SAM_ACT_NONE, .bias = true, .in_place = true },
    { .act = SAM_ACT_RELU },
    { .act = SAM_ACT_RELU, .bias = true },
    { .act = SAM_ACT_GELU },
    { .act = SAM_ACT_GELU, .bias = true },
    { .act = SAM_ACT_RELU, .bias = true, .in_place = true },
    { .act = SAM_ACT_NONE, .add = true, .repeat = true },
};
enum {
    NUM_EPILOGUES = sizeof(epilogues) / sizeof(*epilogues),
    NUM_THEIRS    = NUM_EPILOGUES - 2,
};

// What a library may do to BF16 rows: round the bias by 2^-9, and GELU's tanh form.
static const float BIAS_FACTOR = 0x1p-9f * 1.01f, TANH_ABS = 4.8e-4f;

// The bias as a backend's library wants it.
static struct check_buf *rounded(struct check *t, const struct check_buf *bias)
{
    const struct sam_tensor *from = &bias->host[CHECK_REF];
    struct check_buf *b = check_in(t, SAM_BF16, 1, 1, 1, from->c);

    for (int i = 0; i < from->c; i++)
        check_set(t, b, (size_t) i, sam_load(from, (size_t) i));
    return b;
}

static void bound(struct check *t, const struct sam_linear *p, const struct check_buf *src,
                  const struct check_buf *bias, const struct check_buf *add,
                  const struct check_matrix *weight, struct sam_tensor *sum)
{
    *sum = check_temp(t, p->dst.n, p->dst.h, p->dst.w, p->dst.c);
    sam_op_linear(&t->queue[CHECK_REF],
                  &(struct sam_linear) { .dst = *sum, .src = check_abs(t, src),
                                         .weight = check_abs_weight(t, weight),
                                         .bias = check_abs(t, bias), .add = check_abs(t, add) });
}

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                const struct variant *v)
{
    check_set_factors(t, v->factors);
    struct check_buf *src = check_in(t, type->in, s->n, 1, s->rows, s->in);
    struct check_buf *bias = v->bias ? check_in(t, SAM_F32, 1, 1, 1, s->out) : &check_none;
    const bool theirs = v->library && type->out == SAM_BF16 && check_is_bf16(t)
                     && sam_op_wants_bias_bf16(&t->queue[CHECK_NEW]);
    struct check_buf *bias_bf16 = theirs && v->bias ? rounded(t, bias) : &check_none;
    struct check_buf *add = v->in_place ? check_inout(t, type->out, s->n, 1, s->rows, s->out)
                          : v->add ? check_in(t, type->in, v->repeat ? 1 : s->n, 1, s->rows, s->out)
                          : &check_none;
    const struct check_matrix weight = check_weight(t, s->out, s->in);
    struct check_buf *dst = v->in_place ? add : check_out(t, type->out, s->n, 1, s->rows, s->out);
    struct sam_linear p[2];
    struct sam_tensor sum = { 0 };
    check_each_side(t, i) {
        p[i] = (struct sam_linear) { .dst = dst->on[i], .src = src->on[i], .weight = weight.on[i],
                                     .bias = bias->on[i], .bias_bf16 = bias_bf16->on[i],
                                     .add = add->on[i], .act = v->act };
        if (i == CHECK_REF)
            bound(t, &p[i], src, bias, add, &weight, &sum);
        sam_op_linear(&t->queue[i], &p[i]);
    }
    check_flops(t, 2.0 * s->n * s->rows * s->in * s->out)
        sam_op_linear(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_bound(t, dst, &sum,
                (product_factor(t) + (theirs && v->bias ? BIAS_FACTOR : 0)) * product_slope(v->act),
                product_abs(v->act) + (theirs && v->act == SAM_ACT_GELU ? TANH_ABS : 0), type->rel);
    check_done(t);
}

static void run_large(struct check *t, const struct check_types *type, const struct shape *s,
                      int num_epilogues, int num_factors)
{
    for (int i = 0; i < num_epilogues; i++)
        for (int f = 0; f < num_factors; f++) {
            struct variant v = epilogues[i];
            v.factors = f;
            v.library = true;
            if (check_case(t, "linear_%s_%dx%dx%d_to_%d_epilogue_%d%s", type->name, s->n, s->rows,
                           s->in, s->out, i, check_factor_names[f]))
                run(t, type, s, &v);
        }
}

void check_linear(struct check *t)
{
    static const enum sam_act acts[] = { SAM_ACT_NONE, SAM_ACT_RELU, SAM_ACT_GELU,
                                         SAM_ACT_SIGMOID };
    for (int k = 1; k < 4; k += 2) // from BF16
        run_large(t, &check_types[k], &large, NUM_EPILOGUES, check_num_factors(t));
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int f = 0; f < check_num_factors(t); f++) {
                const struct shape *s = &shapes[i];
                if (!check_case(t, "linear_%s_%dx%dx%d_to_%d%s", check_types[k].name, s->n, s->rows,
                                s->in, s->out, check_factor_names[f]))
                    continue;
                const struct variant v = { .act = acts[check_int(t, 0, 3)], .factors = f,
                                           .bias = check_int(t, 0, 3), .add = check_int(t, 0, 1),
                                           .repeat = check_int(t, 0, 1),
                                           .in_place = !check_int(t, 0, 2) };
                run(t, &check_types[k], s, &v);
            }
    for (int k = 1; k < 4; k += 2)
        run_large(t, &check_types[k], &huge, NUM_THEIRS, 1);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < NUM_REAL; i++)
            if (check_speed(t, "linear_%s_%dx%d_to_%d", check_types[k].name, real[i].rows,
                            real[i].in, real[i].out))
                run(t, &check_types[k], &real[i],
                    &(struct variant) { .bias = true, .library = true });
    // With an activation before the addend no library makes it: that is a backend's own kernel.
    for (int i = 0; i < NUM_BACK; i++)
        for (enum sam_act act = SAM_ACT_NONE; act <= SAM_ACT_RELU; act++)
            if (check_speed(t, "linear_back_%dx%d_to_%d%s", back[i].rows, back[i].in, back[i].out,
                            act ? "_relu" : ""))
                run(t, &check_types[3], &back[i],
                    &(struct variant) { .act = act, .bias = true, .in_place = true });
}
