// SPDX-License-Identifier: MIT
#include "product.h"
#include "test.h"

struct shape {
    int n, rows, in, out;
};

// Awkward ones, then widths of the family: trunk, neck, heads, memory, feed-forward, pointers; then
// rows longer than the weights that a cache holds.
static const struct shape shapes[] = {
    { 1, 1, 1, 1 },      { 1, 2, 3, 5 },      { 3, 7, 17, 13 },    { 1, 33, 31, 67 },
    { 1, 97, 96, 288 },  { 1, 49, 112, 336 }, { 1, 50, 144, 432 }, { 1, 64, 192, 64 },
    { 1, 5, 384, 1152 }, { 1, 9, 768, 256 },  { 2, 8, 256, 256 },  { 3, 1, 256, 4 },
    { 2, 1, 256, 1 },    { 1, 65, 64, 256 },  { 2, 19, 256, 64 },  { 1, 70, 256, 2048 },
    { 3, 6, 2048, 256 }, { 1, 40, 96, 32 },   { 1, 3, 1152, 64 },
    { 1, 203, 257, 70 }, { 1, 110, 513, 33 }, { 1, 97, 1027, 129 },
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
    bool turns, limited; // by a table, some rows
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
    if (check_known(t, sum))
        return;
    sam_op_linear(&t->queue[CHECK_REF],
                  &(struct sam_linear) { .dst = *sum, .src = check_abs(t, src),
                                         .weight = check_abs_weight(t, weight),
                                         .bias = check_abs(t, bias), .add = check_abs(t, add) });
    if (p->table.data)
        product_add_pairs(sum);
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
    const bool turns = v->turns && s->out % 2 == 0;
    const int table_rows = 1 + s->rows / 2;
    struct check_buf *table = turns ? check_uniform(t, -1, 1, SAM_F32, 1, 1, table_rows, s->out)
                                    : &check_none;
    struct check_buf *rotated = turns && v->limited ? check_ints(t, 0, s->rows, 1, 1, 1, s->n)
                                                    : &check_none;
    struct sam_linear p[2];
    struct sam_tensor sum = { 0 };
    check_each_side(t, i) {
        p[i] = (struct sam_linear) { .dst = dst->on[i], .src = src->on[i], .weight = weight.on[i],
                                     .bias = bias->on[i], .bias_bf16 = bias_bf16->on[i],
                                     .add = add->on[i], .act = v->act, .table = table->on[i],
                                     .num_rotated = rotated->on[i] };
        if (i == CHECK_REF)
            bound(t, &p[i], src, bias, add, &weight, &sum);
        if (i == CHECK_NEW || !check_known(t, &p[i].dst))
            sam_op_linear(&t->queue[i], &p[i]);
    }
    check_flops(t, 2.0 * s->n * s->rows * s->in * s->out)
        sam_op_linear(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    const float factor = product_factor(t) + (theirs && v->bias ? BIAS_FACTOR : 0);
    check_bound(t, dst, &sum,
                factor * product_slope(v->act) + (turns ? product_turn_factor(type->out) : 0),
                (turns ? product_turn_abs(type->out, v->act) : product_abs(v->act))
                    + (theirs && v->act == SAM_ACT_GELU ? TANH_ABS : 0), type->rel);
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

static void check_linear(struct check *t)
{
    static const enum sam_act acts[] = { SAM_ACT_NONE, SAM_ACT_RELU, SAM_ACT_GELU,
                                         SAM_ACT_SIGMOID, SAM_ACT_SILU, SAM_ACT_RELU6 };
    for (int k = 1; k < 4; k += 2) // from BF16
        run_large(t, &check_types[k], &large, NUM_EPILOGUES, check_num_factors(t));
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int f = 0; f < check_num_factors(t); f++) {
                const struct shape *s = &shapes[i];
                if (!check_case(t, "linear_%s_%dx%dx%d_to_%d%s", check_types[k].name, s->n, s->rows,
                                s->in, s->out, check_factor_names[f]))
                    continue;
                const struct variant v = { .act = acts[check_int(t, 0, 5)], .factors = f,
                                           .bias = check_int(t, 0, 3), .add = check_int(t, 0, 1),
                                           .repeat = check_int(t, 0, 1),
                                           .in_place = !check_int(t, 0, 2),
                                           .turns = check_int(t, 0, 1),
                                           .limited = check_int(t, 0, 1) };
                run(t, &check_types[k], s, &v);
            }
    // The host has no library that could be left to: more rows are all that is new there.
    const bool is_device = sam_queue_has_own_memory(&t->queue[CHECK_NEW]);
    for (int k = 1; k < 4; k += 2)
        run_large(t, &check_types[k], &huge, is_device ? NUM_THEIRS : 1, 1);
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

// ---- the front

static struct sam_linear valid_linear(void)
{
    return (struct sam_linear) { f32(0, 2, 1, 4, 5), f32(1, 2, 1, 4, 7), matrix(2, 5, 7),
        f32(3, 1, 1, 1, 5), place(5, SAM_BF16, 1, 1, 1, 5), f32(4, 2, 1, 4, 5), SAM_ACT_NONE,
        { 0 }, { 0 } };
}

static void turn(struct sam_linear *p)
{
    p->dst.c = p->weight.out = p->bias.c = p->bias_bf16.c = p->add.c = 6;
    p->table = f32(6, 1, 1, 3, 6);
    p->num_rotated = i32(7, 1, 1, 1, 2);
}

static void fronts_linear(void)
{
    TAKES(linear, turn(p));
    TAKES(linear, turn(p); p->num_rotated.data = NULL);
    REFUSES(linear, turn(p); p->table.c = 5, "table");
    REFUSES(linear, turn(p); p->table.h = 2, "table");
    REFUSES(linear, turn(p); p->table.type = SAM_BF16, "table of type f32");
    REFUSES(linear, turn(p); p->num_rotated.c = 1, "num_rotated");
    REFUSES(linear, turn(p); p->table.data = NULL, "turns");
    REFUSES(linear, p->table = f32(6, 1, 1, 3, 5), "p->dst.c % 2 == 0");
    TAKES(linear, (void) p);
    TAKES(linear, p->bias.data = p->bias_bf16.data = p->add.data = NULL);
    TAKES(linear, p->dst = p->add);
    TAKES(linear, p->add.n = 1);
    REFUSES(linear, p->dst = p->add; p->add.n = 1, "the same tensor or apart");
    REFUSES(linear, p->weight.in = 6, "weight");
    REFUSES(linear, p->weight.out = 6, "weight (6 x 7)");
    REFUSES(linear, p->weight.data = NULL, "memory behind weight");
    REFUSES(linear, p->src.w = 3, "same_rows");
    REFUSES(linear, p->bias.c = 4, "bias");
    REFUSES(linear, p->bias.type = SAM_BF16, "bias of type f32");
    REFUSES(linear, p->bias_bf16.type = SAM_F32, "SAM_BF16");
    REFUSES(linear, p->bias.data = NULL, "bias.data");
    REFUSES(linear, p->add.c = 4, "add");
    REFUSES(linear, p->act = SAM_NUM_ACTS, "act");
    REFUSES(linear, p->dst.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_linear(struct vectors *v)
{
    sam_op_linear(&v->queue, &(struct sam_linear) {
        .dst = vec_out(v, "dst"), .src = vec_in(v, "src"), .weight = vec_matrix(v, "weight"),
        .bias = vec_in(v, "bias"), .add = vec_in(v, "add"), .act = vec_int(v, "act") });
}

// ---- faults

COMMON(linear, dst, src)
CHANGED(linear, forgets_the_bias, m.bias = without(m.bias))
CHANGED(linear, forgets_the_sum, m.add = without(m.add))
CHANGED(linear, forgets_the_act, m.act = SAM_ACT_NONE)
CHANGED(linear, forgets_to_turn, m.table = m.num_rotated = without(m.table))
CHANGED(linear, turns_all, m.num_rotated = without(m.num_rotated))
CHANGED(linear, repeats_the_first_sum, if (m.add.data) m.add = sam_first(m.add, 1))

// tanh's GELU instead of erf's.
static float tanh_gelu(float x)
{
    return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

static void linear_tanh_gelu(struct sam_queue *q, const struct sam_linear *p)
{
    struct sam_linear m = *p;
    if (p->act != SAM_ACT_GELU || p->add.data) {
        sam_linear_ref(q, p);
        return;
    }
    m.act = SAM_ACT_NONE;
    sam_linear_ref(q, &m);
    for (size_t i = 0; i < sam_count(&p->dst); i++)
        sam_store(&p->dst, i, tanh_gelu(sam_load(&p->dst, i)));
}

// The activation after the sum instead of before.
static void linear_acts_last(struct sam_queue *q, const struct sam_linear *p)
{
    struct sam_linear m = *p;
    m.act = SAM_ACT_NONE;
    sam_linear_ref(q, &m);
    for (size_t i = 0; i < sam_count(&p->dst); i++)
        sam_store(&p->dst, i, ref_act(p->act, sam_load(&p->dst, i)));
}

// A last input channel that does not count: the tail of a vector loop left out.
static void linear_ignores_the_last_input(struct sam_queue *q, const struct sam_linear *p)
{
    const float zero = 0;
    for (size_t r = 0; r < sam_rows(&p->dst); r++)
        for (int o = 0; o < p->dst.c; o++) {
            const struct sam_tensor w = ref_matrix(p->weight);
            const int in = p->src.c;
            const float sum = ref_dot(&w, (size_t) o * in, &p->src, r * in, in - 1) + zero;
            const size_t i = r * p->dst.c + o, period = p->add.data ? sam_count(&p->add) : 1;
            const float add = p->add.data ? sam_load(&p->add, i % period) : 0;
            sam_store(&p->dst, i, add + ref_act(p->act, sum + ref_bias(&p->bias, o)));
        }
}

// Rows whose numbers become whole multiples of a step, as by `round`, before they are multiplied.
static void round_rows(struct sam_queue *q, const struct sam_linear *p,
                       float (*round)(float x, float largest), bool one_for_all)
{
    static float room[1 << 17];
    struct sam_linear m = *p;
    const int in = p->src.c;
    const size_t count = sam_count(&p->src);
    if (p->weight.int8 && count <= sizeof(room) / sizeof(*room)) {
        m.weight.int8 = false;
        m.src = (struct sam_tensor) { room, SAM_F32, p->src.n, p->src.h, p->src.w, in };
        for (size_t i = 0; i < count; i++) {
            const float x = sam_load(&p->src, i);
            room[i] = round(x, one_for_all ? ref_largest(0, &p->src, 0, (int) count)
                                           : ref_largest(0, &p->src, i / in * in, in));
        }
    }
    sam_linear_ref(q, &m);
}

static float round_down(float x, float largest)
{
    return largest > 0 ? truncf(x * (127 / largest)) * (largest / 127) : 0;
}

static float round_to_128(float x, float largest)
{
    return largest > 0 ? rintf(x * (128 / largest)) * (largest / 128) : 0;
}

static float round_nearest(float x, float largest)
{
    return largest > 0 ? rintf(x * (127 / largest)) * (largest / 127) : 0;
}

static void linear_rounds_down(struct sam_queue *q, const struct sam_linear *p)
{
    round_rows(q, p, round_down, false);
}

static void linear_has_128_steps(struct sam_queue *q, const struct sam_linear *p)
{
    round_rows(q, p, round_to_128, false);
}

static void linear_has_one_step_for_all(struct sam_queue *q, const struct sam_linear *p)
{
    round_rows(q, p, round_nearest, true);
}

CHANGED(linear, does_not_round, m.weight.int8 = false)

ROUNDS_THE_EXACT(linear, src)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(linear),
    MUTANT(linear, forgets_the_bias),
    MUTANT(linear, forgets_the_sum),
    MUTANT(linear, forgets_the_act),
    MUTANT(linear, forgets_to_turn),
    MUTANT(linear, turns_all),
    MUTANT(linear, repeats_the_first_sum),
    MUTANT(linear, tanh_gelu),
    MUTANT(linear, acts_last),
    MUTANT(linear, ignores_the_last_input),
    MUTANT(linear, rounds_the_exact),
    MUTANT(linear, rounds_down),
    MUTANT(linear, has_128_steps),
    MUTANT(linear, has_one_step_for_all),
    MUTANT(linear, does_not_round),
};

CUDA_FAULT("gemm.cuh",
           "<S::STAGES - 2>();\n"
           "        «__syncthreads() => (void) 0»;")
CUDA_FAULT("gemm.cuh", "«await_earlier() => (void) 0»;\n    using S = gemm_shape")
CUDA_FAULT("gemm.cuh", "wm + 16 * i + lane % 16, kk + «lane / 16 => 0»)")
CUDA_FAULT("gemm.cuh", "n0 + row < p.n && «n.k < p.ld => true»;")
CUDA_FAULT("gemm_io.cuh",
           "if («row < p.m => row <= p.m» && col < p.n)\n"
           "            gemm_finish_four")
CUDA_FAULT("gemm_io.cuh", "row, c, tile[«i / COLS * LENGTH => 0» + i % COLS]);",
           "linear_f32_1x2x3_to_5")
CUDA_FAULT("gemm_io.cuh", "(!r.valid || «n.k >= a.k => n.k > a.k»)")
CUDA_FAULT("gemm_io.cuh", "load(a.v, p.out.add, «a.at % p.out.period => a.at»);",
           "linear_f32_2x8x256_to_256_coarse")
CUDA_FAULT("gemm_io.cuh", ": «add + act_of(o.act, sum) => act_of(o.act, sum + add)»;")
CUDA_FAULT("gemm_exact.cuh", "{ a.x, a.y, «a.z => a.w», a.w }, right")
CUDA_FAULT("gemm_exact.cuh", "rooms[0].sums[at] += «rooms[k].sums[at] => 0.0f»;")
CUDA_FAULT("gemm_exact.cuh", "along(p.in, «part * EXACT_STEP + own_k => own_k»);")
CUDA_FAULT("gemm_io.cuh", "o.up_w ? v[k] : «add[k] + v[k] => v[k]»;")
CUDA_FAULT("gemm_io.cuh", "v[2 * k + 1] = re * angle[k].y + «im * angle[k].x => im * angle[k].y»;")
CUDA_FAULT("gemm_io.cuh", "r >= t.num_rotated[«row / t.rows => 0»]))")
CUDA_FAULT("gemm_io.cuh", "(size_t) («r % t.table_rows => r») * n;")
CUDA_FAULT("gemm_io.cuh", "const int r = «row % t.rows => row»;")
CUDA_FAULT("linear.cu", "if («p->table.data => NULL» && !q->status)")
CUDA_FAULT("skinny.cuh", "float mine = «lanes_sums(sum) => sum[0]»;")
CUDA_FAULT("skinny.cuh", "if («k >= fours => k > fours»)")
CUDA_FAULT("skinny.cuh", "min(m0 + i, «p.m - 1 => p.m»)")
CUDA_FAULT("skinny.cuh", "min(n0 + j, «p.n - 1 => p.n»)")
CUDA_FAULT("skinny.cuh", "col = n0 + «lane % SKINNY_COLS => lane / SKINNY_ROWS»;")
CUDA_FAULT("skinny.cuh", "«row < p.m => row <= p.m» && col < p.n)\n        gemm_finish")
CUDA_FAULT("skinny.cuh", "v.w * «w[t][j].w => w[t][j].z»;")
CUDA_FAULT("reduce.cuh", "give = lane & half ? «v[i] => v[i + half]» :")
CUDA_FAULT("reduce.cuh", "step >= «N => 2 * N»; step")
CUDA_FAULT("blaslt.c", "transposed = «CUBLAS_OP_T => CUBLAS_OP_N»")
CUDA_FAULT("blaslt.c", "const bool bias = «p->bias.data != NULL => false»;")
CUDA_FAULT("blaslt.c",
           "if («p->act == SAM_ACT_RELU => false»)\n"
           "        return bias")
CUDA_FAULT("blaslt.c",
           "if («p->act == SAM_ACT_GELU => false»)\n"
           "        return bias")
CUDA_FAULT("blaslt.c", "(p->act == SAM_ACT_GELU && «is_bf16 => true»)")
CUDA_FAULT("blaslt.c", "return p->dst.type == SAM_BF16 ? «p->bias_bf16.data => p->bias.data»")
CUDA_FAULT("blaslt.c", "beta = «p->add.data => false» ? 1.0f")
CUDA_FAULT("blaslt.c", "if (p->add.data && «p->act => false»)")
CUDA_FAULT("blaslt.c", "|| «p->add.n != p->dst.n => false»))")
CUDA_FAULT("blaslt.c", "bias_of(p) ? «set_bias(&b->lib, x, bias_of(p)) => 0» :")
CUDA_FAULT("blaslt.c", "&x->algo, b->room, «b->room_bytes => 0»,")

TEST(linear, .vectors = vectors_linear, .abs = 5e-6f, .rel = 1e-6f, .has_int8 = true,
     .fp32_is_another_kernel = true);
