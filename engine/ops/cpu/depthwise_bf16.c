// SPDX-License-Identifier: MIT
// Depthwise convolution of BF16 rows, on processors that round to BF16 by an instruction: whole
// blocks of 32 channels. A BF16 number is the upper half of the float of that value, so one load
// holds the floats of the even channels, once shifted, and of the odd ones, once masked. Weights
// are split in the same way, once per row and block.
#include "ops/cpu/rows.h"

#include "ops/cpu/vec.h"

enum { CHANNELS = 2 * VL, MAX_SIDE = 7, MAX_OUTPUTS = 4, MAX_COLUMNS = 11 };

struct halves {
    vf even, odd; // channels of a block
};

struct block {
    struct halves weight[MAX_SIDE * MAX_SIDE]; // (ky, kx)
    struct halves bias;
    size_t first; // channel
};

// What is constant where sum_outputs() is inlined.
struct shape {
    int kernel, stride, count;
    bool inside; // no column lies outside of the map
};

SAM_INLINE struct halves split(const float *p)
{
    const __m512i lane = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                           30);
    const __m512 a = _mm512_loadu_ps(p), b = _mm512_loadu_ps(p + VL);
    return (struct halves) {
        (vf) _mm512_permutex2var_ps(a, lane, b),
        (vf) _mm512_permutex2var_ps(a, _mm512_or_epi32(lane, _mm512_set1_epi32(1)), b) };
}

SAM_INLINE struct halves load(const uint16_t *p)
{
    vu both;
    memcpy(&both, p, sizeof(both));
    return (struct halves) { (vf) (both << 16), (vf) (both & 0xffff0000) };
}

// Of BF16: the pairs come together again by a shift and a mask.
SAM_INLINE void store_bf16(uint16_t *p, struct halves h)
{
    const __m512i rounded = (__m512i) _mm512_cvtne2ps_pbh((__m512) h.odd, (__m512) h.even);
    const __m512i lane = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9,
                                          24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
                                          16, 0);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi16(lane, rounded));
}

SAM_INLINE void store_f32(float *p, struct halves h)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    _mm512_storeu_ps(p, _mm512_permutex2var_ps((__m512) h.even, low, (__m512) h.odd));
    _mm512_storeu_ps(p + VL, _mm512_permutex2var_ps((__m512) h.even, high, (__m512) h.odd));
}

static void read_block(struct block *b, const struct sam_depthwise_row *r, size_t first)
{
    b->first = first;
    b->bias = r->bias ? split(r->bias + first) : (struct halves) { { 0 }, { 0 } };
    for (int tap = 0; tap < r->kernel * r->kernel; tap++)
        b->weight[tap] = split(r->weight + (size_t) tap * r->c + first);
}

// d.count outputs from x on. Each column of the source is read once for all.
SAM_INLINE void sum_outputs(struct halves *sum, const struct sam_depthwise_row *r, struct shape d,
                            const struct block *b, int x)
{
    const int column = x * d.stride - r->before, columns = (d.count - 1) * d.stride + d.kernel;
    const ptrdiff_t c = r->c;
    for (int j = 0; j < d.count; j++)
        sum[j] = b->bias;
    const struct halves *weight = b->weight;
    for (int ky = 0; ky < d.kernel; ky++, weight += d.kernel) {
        struct halves v[MAX_COLUMNS];
        if (!r->src[ky].data)
            continue;
        const uint16_t *row =
            (const uint16_t *) r->src[ky].data + column * c + (ptrdiff_t) b->first;
        for (int at = 0; at < columns; at++)
            v[at] = d.inside || (column + at >= 0 && column + at < r->src_width) ?
                    load(row + at * c) : (struct halves) { { 0 }, { 0 } };
        for (int kx = 0; kx < d.kernel; kx++)
            for (int j = 0; j < d.count; j++) {
                sum[j].even += v[j * d.stride + kx].even * weight[kx].even;
                sum[j].odd += v[j * d.stride + kx].odd * weight[kx].odd;
            }
    }
}

SAM_INLINE void store(const struct sam_depthwise_row *r, const struct block *b, int x,
                      struct halves h, enum sam_act act)
{
    const size_t at = (size_t) x * r->c + b->first;
    h = (struct halves) { vf_act(h.even, act), vf_act(h.odd, act) };
    if (r->dst.type == SAM_F32)
        store_f32((float *) r->dst.data + at, h);
    else
        store_bf16((uint16_t *) r->dst.data + at, h);
}

static __attribute__((noinline)) void store_active(const struct sam_depthwise_row *r,
                                                   const struct block *b, int x,
                                                   const struct halves *sum, int count)
{
    for (int j = 0; j < count; j++)
        switch (r->act) {
        case SAM_ACT_NONE:    store(r, b, x + j, sum[j], SAM_ACT_NONE); break;
        case SAM_ACT_RELU:    store(r, b, x + j, sum[j], SAM_ACT_RELU); break;
        case SAM_ACT_GELU:    store(r, b, x + j, sum[j], SAM_ACT_GELU); break;
        case SAM_ACT_SIGMOID: store(r, b, x + j, sum[j], SAM_ACT_SIGMOID); break;
        case SAM_ACT_SILU:    store(r, b, x + j, sum[j], SAM_ACT_SILU); break;
        case SAM_ACT_RELU6:   store(r, b, x + j, sum[j], SAM_ACT_RELU6); break;
        case SAM_NUM_ACTS:    break;
        }
}

SAM_INLINE void run_outputs(const struct sam_depthwise_row *r, struct shape d,
                            const struct block *b, int x)
{
    struct halves sum[MAX_OUTPUTS];
    sum_outputs(sum, r, d, b, x);
    if (r->act != SAM_ACT_NONE) {
        store_active(r, b, x, sum, d.count);
        return;
    }
    for (int j = 0; j < d.count; j++)
        store(r, b, x + j, sum[j], SAM_ACT_NONE);
}

// The last outputs are computed twice if their number is no multiple of d.count.
SAM_INLINE void run_block(const struct sam_depthwise_row *r, struct shape d, const struct block *b)
{
    for (int to = d.count; to < r->dst_width + d.count; to += d.count) {
        const int x = (to < r->dst_width ? to : r->dst_width) - d.count;
        const int column = x * d.stride - r->before;
        d.inside = column >= 0 && column + (d.count - 1) * d.stride + d.kernel <= r->src_width;
        if (d.inside) {
            d.inside = true; // now a constant
            run_outputs(r, d, b, x);
        } else {
            run_outputs(r, d, b, x);
        }
    }
}

SAM_INLINE void run_shape(const struct sam_depthwise_row *r, int kernel, int stride, size_t end)
{
    struct block b;
    for (size_t first = 0; first < end; first += CHANNELS) {
        read_block(&b, r, first);
        run_block(r, (struct shape) { kernel, stride, MAX_OUTPUTS, false }, &b);
    }
}

size_t sam_depthwise_bf16(const struct sam_depthwise_row *r)
{
    const size_t end = (size_t) r->c / CHANNELS * CHANNELS;
    if (r->dst_width < MAX_OUTPUTS)
        return 0;
    if (r->kernel == 3 && r->stride == 1)
        run_shape(r, 3, 1, end);
    else if (r->kernel == 3 && r->stride == 2)
        run_shape(r, 3, 2, end);
    else if (r->kernel == 5 && r->stride == 1)
        run_shape(r, 5, 1, end);
    else if (r->kernel == 5 && r->stride == 2)
        run_shape(r, 5, 2, end);
    else if (r->kernel == 7 && r->stride == 1)
        run_shape(r, 7, 1, end);
    else
        return 0;
    return end;
}
