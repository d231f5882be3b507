// See rows.h.

#include "ops/cpu/rows.h"

#include <math.h>

#include "ops/cpu/vec.h"

// body for each vector of [0, count), `left` lanes of it to be used: VL but for the last.
#define each_vector(i, count)                                                                      \
    for (size_t i = 0, left = (count) < VL ? (count) : VL; i < (count);                            \
         i += VL, left = (count) - i < VL ? (count) - i : VL)

// Depthwise outputs at a time: one alone waits for each of its sums.
enum { DEPTHWISE_COLUMNS = 4 };

static void convert(struct sam_span dst, struct sam_span src, size_t count)
{
    if (dst.type == src.type) {
        memcpy(dst.data, src.data, count * (dst.type == SAM_F32 ? 4 : 2));
        return;
    }
    each_vector(i, count)
        vf_put(dst.data, dst.type, i, vf_get(src.data, src.type, i, left), left);
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

// Weight, bias and act are not looked at.
static void maxpool_around(const struct sam_depthwise_row *r)
{
    for (int x = 0; x < r->dst_width; x++) {
        const int left_most = x - r->kernel / 2, rest = r->src_width - left_most;
        const int first = left_most < 0 ? -left_most : 0;
        const int last = rest < r->kernel ? rest : r->kernel;
        each_vector(i, (size_t) r->c) {
            const struct sam_span middle = r->src[r->kernel / 2];
            vf most = vf_get(middle.data, middle.type, (size_t) x * r->c + i, left);
            for (int ky = 0; ky < r->kernel; ky++)
                for (int kx = first; r->src[ky].data && kx < last; kx++)
                    most = larger(most, vf_get(r->src[ky].data, r->src[ky].type,
                                               (size_t) (left_most + kx) * r->c + i, left));
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

// Channels i ... of `columns` outputs side by side, from x on, of which each has all taps in
// [first, last). The first tap of output x lies on `column` of the source, which may be outside.
SAM_INLINE void depthwise_at(struct sam_depthwise_row r, enum sam_type type, int x, int columns,
                             int column, int first, int last, size_t i, int left)
{
    const vf start = r.bias ? vf_get(r.bias, SAM_F32, i, left) : (vf) { 0 };
    vf sum[DEPTHWISE_COLUMNS];
    for (int j = 0; j < columns; j++)
        sum[j] = start;
    for (int ky = 0; ky < r.kernel; ky++)
        for (int kx = first; r.src[ky].data && kx < last; kx++) {
            const vf w = vf_get(r.weight, SAM_F32, (size_t) (ky * r.kernel + kx) * r.c + i, left);
            for (int j = 0; j < columns; j++)
                sum[j] += vf_get(r.src[ky].data, type,
                                 (size_t) (column + j * r.stride + kx) * r.c + i, left) * w;
        }
    for (int j = 0; j < columns; j++)
        vf_put(r.dst.data, r.dst.type, (size_t) (x + j) * r.c + i, vf_act(sum[j], r.act), left);
}

SAM_INLINE void depthwise_as(struct sam_depthwise_row r, enum sam_type type)
{
    const int some = DEPTHWISE_COLUMNS;
    const size_t whole = r.c / VL * VL;
    for (int x = 0; x < r.dst_width;) {
        const int column = x * r.stride - r.kernel / 2, rest = r.src_width - column;
        if (column >= 0 && x + some <= r.dst_width && (some - 1) * r.stride + r.kernel <= rest) {
            for (size_t i = 0; i < whole; i += VL)
                depthwise_at(r, type, x, some, column, 0, r.kernel, i, VL);
            if (r.c % VL)
                depthwise_at(r, type, x, some, column, 0, r.kernel, whole, r.c % VL);
            x += some;
        } else {
            const int first = column < 0 ? -column : 0, last = rest < r.kernel ? rest : r.kernel;
            each_vector(i, (size_t) r.c)
                depthwise_at(r, type, x, 1, column, first, last, i, (int) left);
            x++;
        }
    }
}

static void depthwise(const struct sam_depthwise_row *row)
{
    if (row->src->type == SAM_F32)
        depthwise_as(*row, SAM_F32);
    else
        depthwise_as(*row, SAM_BF16);
}

static size_t count_above(const float *src, float threshold, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += src[i] > threshold;
    return sum;
}

const struct sam_row_kernels SAM_LEVEL(sam_row_kernels) = {
    .convert      = convert,
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
