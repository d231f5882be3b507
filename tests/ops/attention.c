// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

struct shape {
    int n, queries, keys, heads, dk, dv;
    bool shared_keys, shared_values, lengths, rests;
};

// Awkward ones, then the family's: two-way transformer (heads of 32 and 16), memory attention
// (one head of 256, values of 256 or 64), the small model's (64, 16), lengths per object; keys that
// count less.
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1, 1, 0, 0, 0, 0 }, { 2, 3, 5, 1, 3, 2, 0, 0, 0, 0 },
    { 1, 7, 17, 2, 5, 9, 0, 0, 0, 0 }, { 3, 9, 8, 8, 32, 32, 0, 0, 0, 0 },
    { 3, 8, 70, 8, 16, 16, 0, 0, 0, 0 }, { 2, 67, 9, 8, 16, 16, 0, 0, 0, 0 },
    { 1, 40, 41, 1, 256, 256, 0, 0, 0, 0 }, { 2, 33, 130, 1, 256, 64, 0, 0, 1, 0 },
    { 3, 16, 77, 1, 64, 16, 0, 0, 1, 0 }, { 3, 16, 64, 1, 64, 64, 1, 1, 0, 0 },
    { 2, 20, 300, 1, 256, 64, 1, 0, 1, 0 }, { 3, 11, 513, 1, 48, 24, 0, 1, 1, 0 },
    { 1, 70, 1030, 1, 64, 64, 0, 0, 1, 0 }, { 2, 8, 35, 4, 24, 40, 0, 0, 1, 0 },
    { 1, 130, 260, 2, 96, 96, 0, 0, 0, 0 }, { 3, 1, 129, 1, 256, 64, 0, 0, 1, 0 },
    { 1, 150, 1090, 1, 256, 64, 0, 0, 1, 0 }, { 2, 19, 33, 1, 128, 128, 0, 0, 0, 0 },
    { 1, 9, 14, 2, 120, 104, 0, 0, 0, 0 }, { 1, 9, 16, 2, 96, 96, 0, 0, 0, 0 },
    { 1, 20, 50, 2, 72, 72, 0, 0, 0, 0 }, { 1, 10, 12, 1, 64, 56, 0, 0, 0, 0 },
    { 1, 5, 37, 1, 40, 300, 0, 0, 0, 0 }, { 1, 3, 200, 1, 24, 264, 0, 0, 0, 0 },
    { 1, 5, 1900, 1, 16, 16, 0, 0, 1, 0 }, { 3, 6, 413, 2, 12, 8, 1, 1, 1, 0 },
    { 1, 7, 500, 2, 28, 32, 0, 0, 1, 0 }, { 2, 133, 100, 2, 8, 16, 1, 0, 1, 0 },
    { 1, 4, 150, 1, 10, 6, 0, 0, 0, 0 }, { 1, 5, 140, 2, 256, 64, 0, 0, 0, 0 },
    { 2, 33, 200, 1, 256, 256, 1, 0, 1, 0 }, { 1, 130, 70, 2, 256, 256, 0, 0, 0, 0 },
    { 1, 5, 530, 1, 256, 256, 0, 0, 1, 0 }, { 2, 130, 270, 2, 56, 56, 0, 0, 1, 0 },
    { 1, 140, 300, 3, 72, 72, 1, 0, 1, 0 }, { 2, 35, 131, 1, 256, 64, 0, 0, 1, 1 },
    { 1, 21, 90, 2, 24, 104, 0, 0, 1, 1 }, { 3, 9, 301, 1, 16, 16, 0, 1, 1, 1 },
    { 2, 140, 450, 1, 256, 64, 0, 0, 1, 1 }, { 3, 5, 66, 8, 16, 16, 1, 0, 0, 1 },
};
static const struct shape real[] = {
    { 1, 4096, 4096, 1, 256, 256, 0, 0, 0, 0 }, { 1, 4096, 28736, 1, 256, 64, 0, 0, 1, 0 },
    { 1, 8, 4096, 8, 16, 16, 0, 0, 0, 0 }, { 1, 4096, 8, 8, 16, 16, 0, 0, 0, 0 },
    { 1, 144, 1072, 1, 128, 32, 0, 0, 1, 0 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

// CALM: scores within a few units. PEAKED: within 60 or so, so that one key takes all, and
// maxima come late. EQUAL: every key the same, the result is the mean. OFFSET: values of 30 + u.
enum pattern { CALM, PEAKED, EQUAL, OFFSET, NUM_PATTERNS };
static const char *const pattern_names[] = { "calm", "peaked", "equal", "offset" };

static struct check_buf *draw_lengths(struct check *t, const struct shape *s)
{
    struct check_buf *b = check_ints(t, 1, s->keys, 1, 1, 1, s->n);
    if (s->n > 1)
        check_set(t, b, (size_t) check_int(t, 0, s->n - 1), 1);
    check_set(t, b, (size_t) check_int(t, 0, s->n - 1), t->bench ? s->keys : (s->keys + 1) / 2);
    return b;
}

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                enum pattern pattern, enum check_factors factors)
{
    check_set_factors(t, factors);
    // Scores have a spread of width^2 * sqrt(dk) / 3 * scale.
    const float scale = 1 / sqrtf((float) s->dk), width = pattern == PEAKED ? 6 : 1.5f;
    const float k_lo = pattern == EQUAL ? 0.25f : -width, k_hi = pattern == EQUAL ? 0.25f : width;
    const float v_lo = pattern == OFFSET ? 29 : -1, v_hi = pattern == OFFSET ? 31 : 1;
    struct check_buf *q = check_uniform(t, -width, width, type->in, s->n, 1, s->queries,
                                        s->heads * s->dk);
    struct check_buf *k = check_uniform(t, k_lo, k_hi, type->in, s->shared_keys ? 1 : s->n, 1,
                                        s->keys, s->heads * s->dk);
    struct check_buf *v = check_uniform(t, v_lo, v_hi, type->in, s->shared_values ? 1 : s->n, 1,
                                        s->keys, s->heads * s->dv);
    struct check_buf *lengths = s->lengths ? draw_lengths(t, s) : &check_none;
    struct check_buf *firsts =
        s->rests ? check_ints(t, 0, s->keys, 1, 1, 1, s->n) : &check_none;
    struct check_buf *dst = check_out(t, type->out, s->n, 1, s->queries, s->heads * s->dv);
    struct sam_attention p[2];
    check_each_side(t, i) {
        p[i] = (struct sam_attention) { .dst = dst->on[i], .q = q->on[i], .k = k->on[i],
                                        .v = v->on[i], .num_keys = lengths->on[i],
                                        .heads = s->heads, .scale = scale,
                                        .exact = factors == CHECK_EXACT,
                                        .num_first = firsts->on[i],
                                        .rest = s->rests ? -1.3862944f : 0 };
        if (i == CHECK_NEW || !check_known(t, &p[i].dst))
            sam_op_attention(&t->queue[i], &p[i]);
    }
    check_flops(t, 2.0 * s->n * s->queries * s->keys * s->heads * (s->dk + s->dv))
        sam_op_attention(&t->queue[CHECK_NEW], &p[CHECK_NEW]);

    // A score that is off by e moves its weight by a factor exp(e): the result by 2 e |v|. f32: e
    // is some 1e-7 of sum |q k| scale, at most 4e-7 * width^2 * sqrt(dk). bf16: the factors (rms
    // 0.58 width) are off by 2^-9 at most, at random: their sum by 6 sigma at the very most, 6 *
    // sqrt(2) * 0.3 * 2^-9 * width^2 * 0.33; weights and values are rounded as well, 2^-8 |v|.
    const float size = width * width, value = pattern == OFFSET ? 31 : 1;
    const float off = check_rounds(t) ? 2.2e-3f * size : 4e-7f * size * sqrtf((float) s->dk);
    const float rounding = check_rounds(t) ? 0x1p-8f : 1e-6f;
    // With an offset the rows' weights still sum to 1, so that the scores' error moves only u.
    check_near(t, dst, (pattern == EQUAL ? 0 : 2 * off) + rounding * value, type->rel);
    check_done(t);
}

static void check_attention(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int pattern = 0; pattern < NUM_PATTERNS; pattern++)
                for (int f = 0; f < check_num_factors(t); f += CHECK_EXACT) {
                    const struct shape *s = &shapes[i];
                    if (check_case(t, "attention_%s_%dx%dx%d_h%d_%d_%d_%s%s", check_types[k].name,
                                   s->n, s->queries, s->keys, s->heads, s->dk, s->dv,
                                   pattern_names[pattern], check_factor_names[f]))
                        run(t, &check_types[k], s, pattern, f);
                }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < NUM_REAL; i++)
            if (check_speed(t, "attention_%s_%dx%d_h%d_%d_%d", check_types[k].name,
                            real[i].queries, real[i].keys, real[i].heads, real[i].dk, real[i].dv))
                run(t, &check_types[k], &real[i], CALM, CHECK_ANY);
}

// ---- the front

static struct sam_attention valid_attention(void)
{
    return (struct sam_attention) { f32(0, 2, 1, 4, 6), f32(1, 2, 1, 4, 8), f32(2, 2, 1, 5, 8),
                                    f32(3, 2, 1, 5, 6), i32(4, 1, 1, 1, 2), 2, 0.5f, false,
                                    i32(5, 1, 1, 1, 2), -1.5f };
}

static void fronts_attention(void)
{
    TAKES(attention, (void) p);
    TAKES(attention, p->num_keys.data = NULL);
    TAKES(attention, p->num_first.data = NULL; p->scale = -1);
    REFUSES(attention, p->scale = -1, "scale");
    REFUSES(attention, p->rest = 0.5f, "rest");
    REFUSES(attention, p->num_first.c = 1, "num_first");
    REFUSES(attention, p->num_first.type = SAM_F32, "num_first of type i32");
    TAKES(attention, p->k.n = 1; p->v.n = 1);
    REFUSES(attention, p->k.n = 3, "p->k.n");
    REFUSES(attention, p->v.w = 4, "p->v.w");
    REFUSES(attention, p->k.c = 6, "p->k.c");
    REFUSES(attention, p->heads = 3, "heads");
    REFUSES(attention, p->dst.c = 8, "dst.c");
    REFUSES(attention, p->dst.w = 3, "same_map");
    REFUSES(attention, p->num_keys.c = 1, "num_keys");
    REFUSES(attention, p->num_keys.type = SAM_F32, "num_keys of type i32");
    REFUSES(attention, p->q.h = 4; p->q.w = 1, "q.h");
    REFUSES(attention, p->dst.data = p->q.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_attention(struct vectors *v)
{
    sam_op_attention(&v->queue, &(struct sam_attention) {
        .dst = vec_out(v, "dst"), .q = vec_in(v, "q"), .k = vec_in(v, "k"), .v = vec_in(v, "v"),
        .num_keys = vec_ints(v, "num_keys"), .heads = vec_int(v, "heads"),
        .scale = vec_number(v, "scale"), .num_first = vec_ints(v, "num_first"),
        .rest = vec_number(v, "rest") });
}

// ---- faults

COMMON(attention, dst, k)
ROUNDS_THE_EXACT(attention, q)
CHANGED(attention, ignores_lengths, m.num_keys = without(m.num_keys))
CHANGED(attention, wrong_scale, m.scale *= 1.05f)
CHANGED(attention, counts_all_alike, m.num_first = without(m.num_first); m.rest = 0)
CHANGED(attention, one_head, m.scale *= 1; m.heads = 1)
CHANGED(attention, shares_the_first_values, m.v = sam_first(m.v, 1))

// Weights that do not sum to 1 by one key: a tail of the keys counted in the sum alone.
static void attention_drops_the_last_key(struct sam_queue *q, const struct sam_attention *p)
{
    struct sam_attention m = *p;
    int32_t count[8];
    for (int n = 0; n < p->q.n; n++) {
        count[n] = p->num_keys.data ? ref_count(&p->num_keys, n) : p->k.w;
        count[n] -= count[n] > 1;
    }
    m.num_keys = (struct sam_tensor) { count, SAM_I32, 1, 1, 1, p->q.n };
    sam_attention_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(attention),
    MUTANT(attention, ignores_lengths),
    MUTANT(attention, wrong_scale),
    MUTANT(attention, counts_all_alike),
    MUTANT(attention, one_head),
    MUTANT(attention, shares_the_first_values),
    MUTANT(attention, drops_the_last_key),
    MUTANT(attention, rounds_the_exact),
};

CUDA_FAULT("attention.cu", "fade = «expf(top[i] - now) => 1.0f»;")
CUDA_FAULT("attention.cu", "= «key0 + lane < num_keys => key0 + lane <= num_keys» ? score")
CUDA_FAULT("attention.cu", "«__syncthreads() => (void) 0»; // keys are done with")
CUDA_FAULT("attention.cu", "steps * «(split + 1) => split» / a.splits * EXACT_KEYS;")
CUDA_FAULT("attention.cu", "from = «blockIdx.y / a.heads * 32 * PIECES => 0»;",
           "attention_f32_1x5x37_h1_40_300_calm")
CUDA_FAULT("attention.cu", "KIND::RESTS && «key0 + lane >= a.num_first[group] => key0 + lane > "
           "a.num_first[group]»)", "attention_f32_2x35x131_h1_256_64_calm")
CUDA_FAULT("attention.cu", "s += «a.rest => 0.0f»;", "attention_f32_3x9x301_h1_16_16_calm")
CUDA_FAULT("attention_few.cu", "«__syncthreads() => (void) 0»;\n    float top",
           "attention_f32_3x8x70_h8_16_16_calm")
CUDA_FAULT("attention_few.cu", "key < «num_keys => num_keys - 1»; key++) {",
           "attention_f32_3x8x70_h8_16_16_calm")
CUDA_FAULT("attention_few.cu", "if («query >= a.queries => false»)\n        return;",
           "attention_f32_2x133x100_h2_8_16_calm")
CUDA_FAULT("attention_few.cu", "(steps * «(split + 1) => split» / a.splits",
           "attention_f32_1x5x1900_h1_16_16_calm")
CUDA_FAULT("attention_few.cu", "fade = «expf(s.top - now) => 1.0f»,",
           "attention_f32_1x5x1900_h1_16_16_peaked")
CUDA_FAULT("attention_few.cu", "0.0f : «expf(top - all) => 1.0f»;",
           "attention_f32_1x5x1900_h1_16_16_peaked")
CUDA_FAULT("attention_few.cu", "group * «a.k_rows => a.keys», v0",
           "attention_f32_3x6x413_h2_12_8_calm")
CUDA_FAULT("attention_few.cu", "group * «a.v_rows => a.keys»;",
           "attention_f32_3x6x413_h2_12_8_calm")
CUDA_FAULT("attention_tensor.cu", "valid = «key0 + r < num_keys => true»;",
           "attention_bf16_3x9x8_h8_32_32_calm")
CUDA_FAULT("attention_tensor.cu", "«key < num_keys && c < dim => c < dim»)")
CUDA_FAULT("attention_tensor.cu", "first + e % 2 >= «left => left + 1»)")
CUDA_FAULT("attention_tensor.cu", "if («left < S::KEYS => left <= 0»)\n            hide_beyond")
CUDA_FAULT("attention_tensor.cu",
           "cp_async_wait<0>();\n"
           "        «__syncthreads() => (void) 0»; // the stage is there",
           "sm_80 attention_bf16_1x150x1090_h1_256_64_calm")
CUDA_FAULT("attention_tensor.cu",
           "cp_async_wait<0>();\n"
           "        «__syncthreads() => (void) 0»;\n"
           "#pragma unroll", "sm_80 attention_bf16_1x150x1090_h1_256_64_calm")
CUDA_FAULT("attention_tensor.cu", "take_queries<S>(sh, c, kept[«c => 0»]);",
           "sm_80 attention_bf16_1x150x1090_h1_256_64_calm")
CUDA_FAULT("attention_tensor.cu", "«__syncwarp() => (void) 0»; // all lanes are done",
           "attention_bf16_3x9x8_h8_32_32_calm")
CUDA_FAULT("attention_tensor.cu",
           "16 * S::MI;\n"
           "    «__syncwarp() => (void) 0»;\n"
           "#pragma unroll\n"
           "    for (int r = row0", "attention_bf16_3x9x8_h8_32_32_calm")
CUDA_FAULT("attention_tensor.cu", "&sh->s[«step % 2 => 0»];",
           "sm_80 attention_bf16_1x150x1090_h1_256_64_calm")
CUDA_FAULT("attention_tensor.cu", "fade = «exp2_flushed((top[h] - most) * scale) => 1.0f», zero")
CUDA_FAULT("attention_tensor.cu", "«__shfl_xor_sync(0xffffffffu, v, 2) => v»);")
CUDA_FAULT("attention_tensor.cu",
           "take_queries<S>(sh, c, fq);\n"
           "#pragma unroll\n"
           "        for (int j = 0; j < «S::KEYS / 16 => S::KEYS / 16 - 1»; j++) {")
CUDA_FAULT("attention_tensor.cu",
           "weight[i][2 * k + 1][0], «weight[i][2 * k + 1][1] => weight[i][2 * k][1]» };")
CUDA_FAULT("attention_wgmma.cu", "«left < S::KEYS => left <= 0»)\n"
           "        hide_beyond(score, left);\n"
           "    make_weights<S>(score, weight", "attention_bf16_2x33x130_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "«left < S::KEYS => left <= 0»)\n"
           "        hide_beyond(score, left);\n"
           "    make_weights<S>(score, weight", "attention_bf16_1x5x530_h1_256_256_calm")
CUDA_FAULT("attention_wgmma.cu", "first + e % 2 >= «left => left + 1»)",
           "attention_bf16_2x33x130_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "fade[h] = «exp2_flushed((s.top[h] - most) * scale) => 1.0f»;",
           "attention_bf16_2x33x130_h1_256_64_peaked")
CUDA_FAULT("attention_wgmma.cu", "«fence_proxy_async() => (void) 0»;\n    __syncwarp();",
           "attention_bf16_2x33x130_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "i < «(S::KEYS - left) * SLAB / 8 => 0»; i += 32",
           "attention_bf16_2x33x130_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "«wgmma_wait<1>(score) => (void) 0»;",
           "attention_bf16_2x33x130_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "wait_for(sh, &sh->k_full[at], «i / STAGES & 1 => 0»);",
           "attention_bf16_2x20x300_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "(i / STAGES & 1) ^ «1 => 0»; // the first waits",
           "attention_bf16_2x33x130_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "mbarrier_init(&sh->k_empty[i], «WARPS => WARPS / 2»);",
           "attention_bf16_2x20x300_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "(full, «slabs => 1» * (int) sizeof(slab<N>));",
           "attention_bf16_2x33x130_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "(k, «s * (int) sizeof(slab<S::KEYS>) => 0» + 2 * c);",
           "attention_bf16_2x33x130_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "wgmma_factor(sh->v[at][0], «sizeof(slab<S::KEYS>) => 16»);",
           "attention_bf16_1x40x41_h1_256_256_calm")
CUDA_FAULT("attention_wgmma.cu", "for (int s = 0; s < «S::V_SLABS => 1»; s++) {",
           "attention_bf16_1x40x41_h1_256_256_calm")
CUDA_FAULT("attention_wgmma.cu", "&m.v, p.head * a.dv, «key0 => key0 + 1», v_group,\n",
           "attention_bf16_2x33x200_h1_256_256_calm")
CUDA_FAULT("attention_wgmma.cu", "weight[2 * j + «h => 1 - h»] = two;",
           "attention_bf16_2x33x130_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "key0 = («p.first + i => i») * S::KEYS,")
CUDA_FAULT("attention_wgmma.cu", "k_group = «a.k_rows ? p.group : 0 => p.group»,",
           "attention_bf16_2x20x300_h1_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "S::K_SLABS, &m.k, «p.head * a.dk => 0», key0",
           "attention_bf16_1x5x140_h2_256_64_calm")
CUDA_FAULT("attention_wgmma.cu", "eight < EIGHTS && «eight >= dk / 8 => false»)",
           "attention_bf16_2x130x270_h2_56_56_calm")
CUDA_FAULT("attention_wgmma.cu", "«fence_proxy_async() => (void) 0»;\n    barrier_sync",
           "attention_bf16_2x130x270_h2_56_56_calm")
CUDA_FAULT("attention_wgmma.cu", "if («8 * j < a.dv => true»)\n                *(uint32_t *)",
           "attention_bf16_2x130x270_h2_56_56_calm")
CUDA_FAULT("attention_wgmma.cu", "(eight % 8 ^ «row % 8 => 0») * 8;",
           "attention_bf16_1x140x300_h3_72_72_calm")
CUDA_FAULT("attention_tensor.cu", "make_float2(«top * a.scale => top», total);")
CUDA_FAULT("attention.cuh", "total += weight * «its[s].y => 1.0f»;",
           "attention_bf16_1x40x41_h1_256_256_calm")
CUDA_FAULT("attention.cuh", "«__threadfence() => (void) 0»; // what this thread has left",
           "attention_f32_1x5x1900_h1_16_16_calm")
CUDA_FAULT("attention.cuh", "«__threadfence() => (void) 0»; // what others have left",
           "attention_f32_1x5x1900_h1_16_16_calm")
CUDA_FAULT("attention.cuh", "«__threadfence() => (void) 0»; // what this thread has left",
           "attention_bf16_1x150x1090_h1_256_64_calm")
CUDA_FAULT("attention.cuh", "other blocks\n"
           "    «barrier_sync(1, THREADS) => (void) 0»;", "attention_f32_1x5x1900_h1_16_16_calm")
CUDA_FAULT("attention.cuh", "«atomicInc(&a.arrivals[tile], a.splits - 1) => "
           "atomicAdd(&a.arrivals[tile], 1u)» ==", "attention_f32_1x5x1900_h1_16_16")
CUDA_FAULT("attention.cuh", "«atomicInc(&a.arrivals[tile], a.splits - 1) => "
           "atomicAdd(&a.arrivals[tile], 1u)» ==", "attention_bf16_1x150x1090_h1_256_64")
CUDA_FAULT("attention.cuh", "+ «blockIdx.x / a.splits => blockIdx.x % a.splits»;",
           "attention_f32_1x5x1900_h1_16_16_calm")
CUDA_FAULT("attention.cuh", "query0 + «i / DV => 0», i % DV);",
           "attention_bf16_1x150x1090_h1_256_64_calm")

TEST(attention, .vectors = vectors_attention, .abs = 5e-6f, .rel = 1e-6f,
     .fp32_is_another_kernel = true);
