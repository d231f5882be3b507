// SPDX-License-Identifier: MIT
// See rows.h.

#include "ops/cpu/rows.h"

#include <math.h>

#include "ops/cpu/vec.h"

// body for each vector of [from, count), `left` lanes of it to be used: VL but for the last.
#define each_vector_from(i, from, count)                                                           \
    for (size_t i = (from), left = (count) - i < VL ? (count) - i : VL; i < (count);               \
         i += VL, left = (count) - i < VL ? (count) - i : VL)
#define each_vector(i, count) each_vector_from(i, (size_t) 0, count)

// Depthwise outputs at a time: one alone waits for each of its sums, and neighbours share what they
// read. Sums, the columns of the source and a weight must fit the registers.
#if SAM_VL == 16 || defined(SAM_NEON) // 32 registers
enum { MAX_OUTPUTS = 8, MAX_COLUMNS = MAX_OUTPUTS + 7 };
#else
enum { MAX_OUTPUTS = 4, MAX_COLUMNS = MAX_OUTPUTS + 7 };
#endif

static void convert(struct sam_span dst, struct sam_span src, size_t count)
{
    if (dst.type == src.type) {
        memcpy(dst.data, src.data, count * (dst.type == SAM_F32 ? 4 : 2));
        return;
    }
    each_vector(i, count)
        vf_put(dst.data, dst.type, i, vf_get(src.data, src.type, i, left), left);
}

// As memcpy(), which takes longer where a run is short.
#ifdef __AVX512BW__

SAM_INLINE void copy_run(char *dst, const char *src, size_t bytes)
{
    const size_t whole = bytes / 64 * 64;
    const __mmask64 rest = ((__mmask64) 1 << (bytes - whole)) - 1;
    for (size_t at = 0; at < whole; at += 64)
        memcpy(dst + at, src + at, 64);
    if (rest)
        _mm512_mask_storeu_epi8(dst + whole, rest, _mm512_maskz_loadu_epi8(rest, src + whole));
}

#else

SAM_INLINE void copy_run(char *dst, const char *src, size_t bytes)
{
    size_t at = 0;
    for (; at + 64 <= bytes; at += 64)
        memcpy(dst + at, src + at, 64);
    for (size_t part = 32; part > 1; part /= 2)
        if (bytes & part) {
            memcpy(dst + at, src + at, part);
            at += part;
        }
}

#endif

static void copy_runs(struct sam_span dst, size_t dst_step, struct sam_span src, size_t src_step,
                      size_t run, int count)
{
    const size_t size = src.type == SAM_F32 ? 4 : 2;
    for (int n = 0; n < count; n++) {
        const size_t to = n * dst_step, from = n * src_step;
        if (dst.type == src.type)
            copy_run((char *) dst.data + to * size, (const char *) src.data + from * size,
                     run * size);
        else
            each_vector(i, run)
                vf_put(dst.data, dst.type, to + i, vf_get(src.data, src.type, from + i, left),
                       left);
    }
}

static void add(struct sam_span dst, struct sam_span a, struct sam_span b, float scale,
                size_t count)
{
    each_vector(i, count)
        vf_put(dst.data, dst.type, i,
               vf_get(a.data, a.type, i, left) + scale * vf_get(b.data, b.type, i, left), left);
}

SAM_INLINE void finish_as(struct sam_span dst, const float *sum, const float *bias,
                          struct sam_span more, enum sam_act act, size_t count)
{
    each_vector(i, count) {
        vf x = vf_get(sum, SAM_F32, i, left);
        if (bias)
            x += vf_get(bias, SAM_F32, i, left);
        if (more.data)
            x += vf_get(more.data, more.type, i, left);
        vf_put(dst.data, dst.type, i, vf_act(x, act), left);
    }
}

static void finish(struct sam_span dst, const float *sum, const float *bias, struct sam_span more,
                   enum sam_act act, size_t count)
{
    switch (act) {
    case SAM_ACT_NONE:    finish_as(dst, sum, bias, more, SAM_ACT_NONE, count); break;
    case SAM_ACT_RELU:    finish_as(dst, sum, bias, more, SAM_ACT_RELU, count); break;
    case SAM_ACT_GELU:    finish_as(dst, sum, bias, more, SAM_ACT_GELU, count); break;
    case SAM_ACT_SIGMOID: finish_as(dst, sum, bias, more, SAM_ACT_SIGMOID, count); break;
    case SAM_ACT_SILU:    finish_as(dst, sum, bias, more, SAM_ACT_SILU, count); break;
    case SAM_ACT_RELU6:   finish_as(dst, sum, bias, more, SAM_ACT_RELU6, count); break;
    case SAM_NUM_ACTS:    break;
    }
}

// Two passes, because E[x^2] - E[x]^2 loses all its digits when the mean is large against the
// spread.
SAM_INLINE void normalize(struct sam_span dst, struct sam_span src, const float *gamma,
                          const float *beta, float eps, enum sam_act act, size_t at, size_t c)
{
    vf sum = { 0 }, squares = { 0 };
    each_vector(i, c)
        sum += vf_get(src.data, src.type, at + i, left);
    const float mean = vf_sum(sum) / c;
    each_vector(i, c) {
        vf d = vf_get(src.data, src.type, at + i, left) - mean;
        if (left < VL) { // lanes beyond the row hold 0 - mean
            float lane[SAM_VL] = { 0 };
            memcpy(lane, &d, left * sizeof(float));
            d = vf_load(lane);
        }
        squares += d * d;
    }
    const float scale = 1 / sqrtf(vf_sum(squares) / c + eps);
    each_vector(i, c) {
        const vf x = (vf_get(src.data, src.type, at + i, left) - mean) * scale;
        const vf y = x * vf_get(gamma, SAM_F32, i, left) + vf_get(beta, SAM_F32, i, left);
        vf_put(dst.data, dst.type, at + i, vf_act(y, act), left);
    }
}

// Rows shorter than a vector: VL rows side by side, one lane each.
SAM_INLINE void normalize_narrow(struct sam_span dst, struct sam_span src, const float *gamma,
                                 const float *beta, float eps, enum sam_act act, size_t at,
                                 size_t rows, size_t c)
{
    float block[SAM_VL * SAM_VL] = { 0 };
    vf sum = { 0 }, squares = { 0 };
    const struct sam_tensor from = { .data = src.data, .type = src.type };
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < c; i++)
            block[i * VL + r] = src.type == SAM_F32 ? ((const float *) src.data)[at + r * c + i]
                                                    : sam_load(&from, at + r * c + i);
    for (size_t i = 0; i < c; i++)
        sum += vf_load(block + i * VL);
    const vf mean = sum / (float) c;
    for (size_t i = 0; i < c; i++) {
        const vf d = vf_load(block + i * VL) - mean;
        squares += d * d;
    }
    vf scale = squares / (float) c + eps;
    for (int i = 0; i < VL; i++)
        scale[i] = 1 / sqrtf(scale[i]);
    for (size_t i = 0; i < c; i++) {
        const vf x = (vf_load(block + i * VL) - mean) * scale;
        vf_store(block + i * VL, vf_act(x * gamma[i] + beta[i], act));
    }
    float row[SAM_VL * SAM_VL];
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < c; i++)
            row[r * c + i] = block[i * VL + r];
    each_vector(i, rows * c)
        vf_put(dst.data, dst.type, at + i, vf_load(row + i), left);
}

SAM_INLINE void layernorm_as(struct sam_span dst, struct sam_span src, const float *gamma,
                             const float *beta, float eps, enum sam_act act, size_t rows, size_t c)
{
    if (c >= VL) {
        for (size_t r = 0; r < rows; r++)
            normalize(dst, src, gamma, beta, eps, act, r * c, c);
        return;
    }
    for (size_t r = 0; r < rows; r += VL)
        normalize_narrow(dst, src, gamma, beta, eps, act, r * c, rows - r < VL ? rows - r : VL, c);
}

static void layernorm(struct sam_span dst, struct sam_span src, const float *gamma,
                      const float *beta, float eps, enum sam_act act, size_t rows, int c)
{
    if (act == SAM_ACT_GELU)
        layernorm_as(dst, src, gamma, beta, eps, SAM_ACT_GELU, rows, c);
    else if (act == SAM_ACT_SILU)
        layernorm_as(dst, src, gamma, beta, eps, SAM_ACT_SILU, rows, c);
    else
        layernorm_as(dst, src, gamma, beta, eps, SAM_ACT_NONE, rows, c);
}

// (a, b) -> (a cos - b sin, b cos + a sin): each lane needs its partner in the pair, and its
// pair's cos and sin.
static void rope(struct sam_span dst, struct sam_span src, const float *table, size_t count)
{
    vf sign;
    for (int i = 0; i < VL; i++)
        sign[i] = i % 2 ? 1 : -1;
    each_vector(i, count) {
        const vf x = vf_get(src.data, src.type, i, left);
        const vf angle = vf_get(table, SAM_F32, i, left);
        const vf turned = x * vf_first_of_pairs(angle) +
                          sign * vf_swap_pairs(x) * vf_second_of_pairs(angle);
        vf_put(dst.data, dst.type, i, turned, left);
    }
}

SAM_INLINE vf larger(vf a, vf b)
{
    return vf_select((a > b) | (b != b), a, b); // as fmaxf(): a number rather than a NaN
}

static void maxpool(struct sam_span dst, struct sam_span upper, struct sam_span lower, int width,
                    int c)
{
    for (int x = 0; x < width; x++)
        each_vector(i, (size_t) c) {
            const size_t a = (size_t) 2 * x * c + i, b = a + c;
            const vf top = larger(vf_get(upper.data, upper.type, a, left),
                                  vf_get(upper.data, upper.type, b, left));
            const vf bottom = larger(vf_get(lower.data, lower.type, a, left),
                                     vf_get(lower.data, lower.type, b, left));
            vf_put(dst.data, dst.type, (size_t) x * c + i, larger(top, bottom), left);
        }
}

SAM_INLINE vf larger_or_nan(vf a, vf b)
{
    return vf_select((a > b) | (a != a), a, b);
}

// The largest of the window's rows in one column of the map.
SAM_INLINE vf largest_down(const struct sam_depthwise_row *r, int x, size_t i, size_t left)
{
    const struct sam_span middle = r->src[r->kernel / 2];
    vf most = vf_get(middle.data, middle.type, (size_t) x * r->c + i, left);
    for (int ky = 0; ky < r->kernel; ky++)
        if (r->src[ky].data && ky != r->kernel / 2)
            most = larger_or_nan(most, vf_get(r->src[ky].data, r->src[ky].type,
                                              (size_t) x * r->c + i, left));
    return most;
}

// Down, then across: k + k comparisons instead of k k. Weight, bias and act are not looked at.
static void maxpool_around(const struct sam_depthwise_row *r)
{
    enum { RING = 32 }; // columns, more than a kernel has
    const int half = r->kernel / 2, width = r->src_width;
    each_vector(i, (size_t) r->c) {
        vf down[RING];
        int next = 0; // the first column that is not in it
        for (int x = 0; x < r->dst_width; x++) {
            const int first = x < half ? 0 : x - half;
            const int last = x + half < width ? x + half : width - 1;
            for (; next <= last; next++)
                down[next % RING] = largest_down(r, next, i, left);
            vf most = down[first % RING];
            for (int column = first + 1; column <= last; column++)
                most = larger_or_nan(most, down[column % RING]);
            vf_put(r->dst.data, r->dst.type, (size_t) x * r->c + i, most, left);
        }
    }
}

static void upsample_add(struct sam_span dst, struct sam_span a, struct sam_span b, int width,
                         int c)
{
    for (int x = 0; x < width; x++)
        each_vector(i, (size_t) c) {
            const size_t at = (size_t) x * c + i;
            vf_put(dst.data, dst.type, at,
                   vf_get(a.data, a.type, at, left) +
                       vf_get(b.data, b.type, (size_t) (x / 2) * c + i, left), left);
        }
}

static void signal(float *dst, const float *src, bool binary, float scale, float bias,
                   size_t count)
{
    each_vector(i, count) {
        const vf x = vf_get(src, SAM_F32, i, left);
        const vf p = binary ? vf_select(x > 0.0f, vf_set(1), (vf) { 0 })
                            : vf_act(x, SAM_ACT_SIGMOID);
        vf_put(dst, SAM_F32, i, scale * p + bias, left);
    }
}

// Channels i ... of one output, which has the taps in [first, last). Its first tap lies on `column`
// of the source, which may be outside.
SAM_INLINE void depthwise_one(const struct sam_depthwise_row *r, enum sam_type type, int x,
                              int column, int first, int last, size_t i, int left)
{
    vf sum = r->bias ? vf_get(r->bias, SAM_F32, i, left) : (vf) { 0 };
    for (int ky = 0; ky < r->kernel; ky++)
        for (int kx = first; r->src[ky].data && kx < last; kx++)
            sum += vf_get(r->src[ky].data, type, (size_t) (column + kx) * r->c + i, left) *
                   vf_get(r->weight, SAM_F32, (size_t) (ky * r->kernel + kx) * r->c + i, left);
    vf_put(r->dst.data, r->dst.type, (size_t) x * r->c + i, vf_act(sum, r->act), left);
}

SAM_INLINE void depthwise_ones(const struct sam_depthwise_row *r, enum sam_type type, size_t from)
{
    for (int x = 0; x < r->dst_width; x++) {
        const int column = x * r->stride - r->before, rest = r->src_width - column;
        const int first = column < 0 ? -column : 0, last = rest < r->kernel ? rest : r->kernel;
        each_vector_from(i, from, (size_t) r->c)
            depthwise_one(r, type, x, column, first, last, i, (int) left);
    }
}

// Outputs side by side, and their sums, MAX_OUTPUTS x VL, of channels i ... i + left - 1.
struct outputs {
    int x, count;
    size_t i;
    int left;
};

SAM_INLINE void store_outputs_as(const struct sam_depthwise_row *r, const struct outputs *o,
                                 const float *sums, enum sam_act act)
{
    for (int j = 0; j < o->count; j++)
        vf_put(r->dst.data, r->dst.type, (size_t) (o->x + j) * r->c + o->i,
               vf_act(vf_load(sums + j * VL), act), o->left);
}

static __attribute__((noinline)) void store_outputs(const struct sam_depthwise_row *r,
                                                    const struct outputs *o, const float *sums)
{
    switch (r->act) {
    case SAM_ACT_NONE:    store_outputs_as(r, o, sums, SAM_ACT_NONE); break;
    case SAM_ACT_RELU:    store_outputs_as(r, o, sums, SAM_ACT_RELU); break;
    case SAM_ACT_GELU:    store_outputs_as(r, o, sums, SAM_ACT_GELU); break;
    case SAM_ACT_SIGMOID: store_outputs_as(r, o, sums, SAM_ACT_SIGMOID); break;
    case SAM_ACT_SILU:    store_outputs_as(r, o, sums, SAM_ACT_SILU); break;
    case SAM_ACT_RELU6:   store_outputs_as(r, o, sums, SAM_ACT_RELU6); break;
    case SAM_NUM_ACTS:    break;
    }
}

// What is constant where sum_outputs() is inlined.
struct depthwise_shape {
    enum sam_type type;
    int kernel, stride, count;
    bool plain;       // dst has the type of src, and act is
    enum sam_act act; // NONE or RELU6
    bool inside;      // no column lies outside of the map
    size_t from; // channel; not constant
};

// With a check at every access unrolled loops take minutes to compile.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_CHECKED 1
#elif defined(__has_feature)
#define IS_CHECKED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_CHECKED 0
#endif

// With AVX2 gcc leaves inner loops of constant bounds as they are, unless it is told.
#if SAM_VL == 8 && !IS_CHECKED
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

// Each column of the source is read once for all outputs.
SAM_INLINE void depthwise_at(const struct sam_depthwise_row *r, struct depthwise_shape d, int x,
                             size_t i, int left)
{
    const int column = x * d.stride - r->before, columns = (d.count - 1) * d.stride + d.kernel;
    const size_t c = (size_t) r->c;
    const vf start = r->bias ? vf_get(r->bias, SAM_F32, i, left) : (vf) { 0 };
    vf sum[MAX_OUTPUTS], v[MAX_COLUMNS];
    UNROLL for (int j = 0; j < d.count; j++)
        sum[j] = start;
    const float *weight = r->weight + i;
    for (int ky = 0; ky < d.kernel; ky++, weight += d.kernel * c) {
        const struct sam_span row = r->src[ky];
        if (!row.data)
            continue;
        UNROLL for (int at = 0; at < columns; at++)
            v[at] = d.inside || (column + at >= 0 && column + at < r->src_width) ?
                    vf_get(row.data, d.type, (size_t) (column + at) * c + i, left) : (vf) { 0 };
        UNROLL for (int kx = 0; kx < d.kernel; kx++) {
            const vf w = vf_get(weight, SAM_F32, kx * c, left);
            UNROLL for (int j = 0; j < d.count; j++)
                sum[j] += v[j * d.stride + kx] * w;
        }
    }
    if (d.plain) {
        for (int j = 0; j < d.count; j++)
            vf_put(r->dst.data, d.type, (size_t) (x + j) * c + i, vf_act(sum[j], d.act), left);
        return;
    }
    _Alignas(64) float sums[MAX_OUTPUTS * VL];
    const struct outputs outputs = { x, d.count, i, left };
    for (int j = 0; j < d.count; j++)
        vf_store(sums + j * VL, sum[j]);
    store_outputs(r, &outputs, sums);
}

// The channels that depthwise_as() makes: those of whole vectors where a part of one is loaded lane
// by lane, which takes long, and unrolled long to compile.
SAM_INLINE size_t get_grouped(size_t c)
{
#ifdef __AVX512F__
    return c;
#else
    return c / VL * VL;
#endif
}

// d.count outputs from x on.
SAM_INLINE void depthwise_group(const struct sam_depthwise_row *r, struct depthwise_shape d, int x)
{
    const size_t c = get_grouped((size_t) r->c), whole = c / VL * VL;
    for (size_t i = d.from; i < whole; i += VL)
        depthwise_at(r, d, x, i, VL);
    if (whole < c)
        depthwise_at(r, d, x, whole, (int) (c - whole));
}

// Of the channels from d.from on. The last outputs are computed twice if their number is no
// multiple of d.count.
SAM_INLINE void depthwise_as(const struct sam_depthwise_row *r, struct depthwise_shape d)
{
    for (int to = d.count; to < r->dst_width + d.count; to += d.count) {
        const int x = (to < r->dst_width ? to : r->dst_width) - d.count;
        const int column = x * d.stride - r->before;
        d.inside = column >= 0 && column + (d.count - 1) * d.stride + d.kernel <= r->src_width;
        if (d.inside) {
            d.inside = true; // now a constant
            depthwise_group(r, d, x);
        } else {
            depthwise_group(r, d, x);
        }
    }
}

SAM_INLINE bool depthwise_shaped(const struct sam_depthwise_row *r, struct depthwise_shape d)
{
    if (r->kernel != d.kernel || r->stride != d.stride || r->dst_width < d.count ||
        (d.plain && (r->act != d.act || r->dst.type != d.type)))
        return false;
    depthwise_as(r, d);
    return true;
}

// The shapes that networks have most. Each is a function: for one that has them all a compiler
// takes twice as long.
#define SHAPE(name, TYPE, KERNEL, STRIDE, COUNT, PLAIN, ACT)                                       \
    static __attribute__((noinline)) bool name(const struct sam_depthwise_row *r, size_t from)     \
    {                                                                                              \
        return depthwise_shaped(                                                                   \
            r, (struct depthwise_shape){ TYPE, KERNEL, STRIDE, COUNT, PLAIN, ACT, false, from });  \
    }
#define SHAPES(type)                                                                               \
    SHAPE(plain_3_1_##type, SAM_##type, 3, 1, MAX_OUTPUTS, true, SAM_ACT_NONE)                     \
    SHAPE(plain_3_2_##type, SAM_##type, 3, 2, 4, true, SAM_ACT_NONE)                               \
    SHAPE(any_3_1_##type, SAM_##type, 3, 1, MAX_OUTPUTS, false, SAM_ACT_NONE)                      \
    SHAPE(any_5_1_##type, SAM_##type, 5, 1, MAX_OUTPUTS, false, SAM_ACT_NONE)                      \
    SHAPE(any_7_1_##type, SAM_##type, 7, 1, MAX_OUTPUTS, false, SAM_ACT_NONE)                      \
    SHAPE(any_3_2_##type, SAM_##type, 3, 2, 4, false, SAM_ACT_NONE)
#if IS_CHECKED
#define RELU6_SHAPES(type)
#define RELU6_NAMES(type)
#else
#define RELU6_SHAPES(type)                                                                         \
    SHAPE(relu6_3_1_##type, SAM_##type, 3, 1, MAX_OUTPUTS, true, SAM_ACT_RELU6)                    \
    SHAPE(relu6_3_2_##type, SAM_##type, 3, 2, 4, true, SAM_ACT_RELU6)                              \
    SHAPE(relu6_5_1_##type, SAM_##type, 5, 1, MAX_OUTPUTS, true, SAM_ACT_RELU6)                    \
    SHAPE(relu6_5_2_##type, SAM_##type, 5, 2, 4, true, SAM_ACT_RELU6)
#define RELU6_NAMES(type) relu6_3_1_##type, relu6_3_2_##type, relu6_5_1_##type, relu6_5_2_##type,
#endif
// In the order in which they are tried: those whose act is a constant come first.
#define NAMES(type)                                                                                \
    plain_3_1_##type, plain_3_2_##type, RELU6_NAMES(type) any_3_1_##type, any_5_1_##type,          \
        any_7_1_##type, any_3_2_##type, NULL

typedef bool run_shape(const struct sam_depthwise_row *r, size_t from);

static bool depthwise_grouped(const struct sam_depthwise_row *r, run_shape *const *shapes,
                              size_t from)
{
    while (*shapes && !(*shapes)(r, from))
        shapes++;
    return *shapes;
}

SAM_INLINE void depthwise_typed(const struct sam_depthwise_row *r, enum sam_type type,
                                run_shape *const *shapes, size_t from)
{
    if (depthwise_grouped(r, shapes, from) && from < get_grouped((size_t) r->c))
        from = get_grouped((size_t) r->c);
    depthwise_ones(r, type, from);
}

SHAPES(BF16)
RELU6_SHAPES(BF16)
static run_shape *const shapes_bf16[] = { NAMES(BF16) };

#ifdef __AVX512BF16__

static void depthwise(const struct sam_depthwise_row *r)
{
    if (r->src->type == SAM_F32) {
        sam_row_kernels_avx512.depthwise(r); // compiled here it would be the same
        return;
    }
    const size_t done = sam_depthwise_bf16(r);
    if (done < (size_t) r->c)
        depthwise_typed(r, SAM_BF16, shapes_bf16, done);
}

#else

SHAPES(F32)
RELU6_SHAPES(F32)
static run_shape *const shapes_f32[] = { NAMES(F32) };

static void depthwise(const struct sam_depthwise_row *r)
{
    if (r->src->type == SAM_F32)
        depthwise_typed(r, SAM_F32, shapes_f32, 0);
    else
        depthwise_typed(r, SAM_BF16, shapes_bf16, 0);
}

#endif

static size_t count_above(const float *src, float threshold, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += src[i] > threshold;
    return sum;
}

const struct sam_row_kernels SAM_LEVEL(sam_row_kernels) = {
    .convert      = convert,
    .copy_runs    = copy_runs,
    .add          = add,
    .finish       = finish,
    .layernorm    = layernorm,
    .rope         = rope,
    .maxpool      = maxpool,
    .maxpool_around = maxpool_around,
    .upsample_add = upsample_add,
    .signal       = signal,
    .depthwise    = depthwise,
    .count_above  = count_above,
};
