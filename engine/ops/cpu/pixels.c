// SPDX-License-Identifier: MIT
// See pixels.h. Plain loops: compilers make vectors of them.

#include "ops/cpu/pixels.h"

#include "ops/cpu/vec.h"

static void stretch(float *restrict dst, const float *restrict src,
                    const struct sam_tap *restrict taps, int count, int c)
{
    if (c == 1) {
        for (int i = 0; i < count; i++)
            dst[i] = (1 - taps[i].weight) * src[taps[i].lo] + taps[i].weight * src[taps[i].hi];
        return;
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < c; k++)
            dst[i * c + k] = (1 - taps[i].weight) * src[taps[i].lo * c + k] +
                             taps[i].weight * src[taps[i].hi * c + k];
}

static void blend(float *restrict dst, const float *restrict a, const float *restrict b,
                  float weight, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dst[i] = (1 - weight) * a[i] + weight * b[i];
}

static void accumulate(float *restrict dst, const float *restrict src, float weight, bool more,
                       size_t count)
{
    if (more)
        for (size_t i = 0; i < count; i++)
            dst[i] += weight * src[i];
    else
        for (size_t i = 0; i < count; i++)
            dst[i] = weight * src[i];
}

static void shrink(float *restrict dst, const float *restrict src,
                   const struct sam_tent *restrict tents, const float *restrict weights, int count,
                   int c)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < c; k++) {
            float sum = 0;
            for (int j = 0; j < tents[i].count; j++)
                sum += weights[tents[i].at + j] * src[(size_t) (tents[i].first + j) * c + k];
            dst[(size_t) i * c + k] = sum;
        }
}

static void shrink_rgb(float *restrict dst, const float *restrict src,
                       const struct sam_tent *restrict tents, const float *restrict weights,
                       const float scale[3], const float bias[3], int count)
{
    const v4 by = { scale[0], scale[1], scale[2] }, plus = { bias[0], bias[1], bias[2] };
    for (int i = 0; i < count; i++) {
        const float *pixel = src + (size_t) tents[i].first * 4, *weight = weights + tents[i].at;
        v4 sum = { 0 };
        for (int j = 0; j < tents[i].count; j++) {
            v4 v;
            memcpy(&v, pixel + 4 * j, sizeof(v));
            sum += v * weight[j];
        }
        sum = sum * by + plus;
        for (int k = 0; k < 3; k++)
            dst[i * 3 + k] = sum[k];
    }
}

// Add to box the pixels above zero of row[0, count), which begins at (x, y).
SAM_INLINE void measure(const float *row, int x, int y, int count, int32_t *box)
{
    int above = 0, first = 0, last = count;
    for (int i = 0; i < count; i++)
        above += row[i] > 0;
    if (!above)
        return;
    while (!(row[first] > 0))
        first++;
    while (!(row[last - 1] > 0))
        last--;
    const bool empty = !box[4];
    box[0] = empty || x + first < box[0] ? x + first : box[0];
    box[1] = empty || y < box[1] ? y : box[1];
    box[2] = empty || x + last > box[2] ? x + last : box[2];
    box[3] = empty || y + 1 > box[3] ? y + 1 : box[3];
    box[4] += above;
}

enum { STRIP = 512 }; // pixels whose logits stand on the stack

static void draw(const float *restrict a, const float *restrict b, float weight, int first,
                 int last, int y, float *restrict best, uint8_t *restrict label, uint8_t slot,
                 int32_t *box)
{
    float row[STRIP];
    for (int at = first; at < last; at += STRIP) {
        const int count = last - at < STRIP ? last - at : STRIP;
        for (int x = 0; x < count; x++)
            row[x] = (1 - weight) * a[at + x] + weight * b[at + x];
        for (int x = 0; x < count && label; x++) {
            label[at + x] = row[x] > best[at + x] ? slot : label[at + x];
            best[at + x] = row[x] > best[at + x] ? row[x] : best[at + x];
        }
        if (box)
            measure(row, at, y, count, box);
    }
}

SAM_INLINE void load_bytes(float *restrict dst, const uint8_t *restrict src, int step, int r, int g,
                           int b, int width)
{
    for (int x = 0; x < width; x++) {
        dst[4 * x + 0] = src[step * x + r];
        dst[4 * x + 1] = src[step * x + g];
        dst[4 * x + 2] = src[step * x + b];
        dst[4 * x + 3] = 0;
    }
}

static void load_packed(float *dst, const uint8_t *src, int step, bool swap, int width)
{
    if (step == 1)
        load_bytes(dst, src, 1, 0, 0, 0, width);
    else if (step == 3 && swap)
        load_bytes(dst, src, 3, 2, 1, 0, width);
    else if (step == 3)
        load_bytes(dst, src, 3, 0, 1, 2, width);
    else if (swap)
        load_bytes(dst, src, 4, 2, 1, 0, width);
    else
        load_bytes(dst, src, 4, 0, 1, 2, width);
}

SAM_INLINE float clamp(float v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

// A sample in levels of 8 bits.
SAM_INLINE float level(const uint8_t *p, bool wide)
{
    return wide ? p[1] + p[0] * (1.0f / 256) : p[0];
}

// What a chroma sample adds to r, g and b, twice over: once per pixel that shares it.
SAM_INLINE void load_chroma(float *restrict r, float *restrict g, float *restrict b,
                            const uint8_t *restrict cb, const uint8_t *restrict cr, int step,
                            bool wide, const struct sam_ycbcr *how, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        const float u = level(cb + step * i, wide) + how->chroma_bias;
        const float v = level(cr + step * i, wide) + how->chroma_bias;
        r[2 * i] = r[2 * i + 1] = how->r_cr * v;
        g[2 * i] = g[2 * i + 1] = how->g_cr * v + how->g_cb * u;
        b[2 * i] = b[2 * i + 1] = how->b_cb * u;
    }
}

SAM_INLINE void combine(float *restrict dst, const uint8_t *restrict y, int step, bool wide,
                        const float *restrict r, const float *restrict g, const float *restrict b,
                        const struct sam_ycbcr *how, int width)
{
    for (int x = 0; x < width; x++) {
        const float luma = level(y + step * x, wide) * how->y_scale + how->y_bias;
        dst[4 * x + 0] = clamp(luma + r[x]);
        dst[4 * x + 1] = clamp(luma + g[x]);
        dst[4 * x + 2] = clamp(luma + b[x]);
        dst[4 * x + 3] = 0;
    }
}

static void load_ycbcr(float *dst, const uint8_t *y, int step, const uint8_t *cb, const uint8_t *cr,
                       int chroma_step, const struct sam_ycbcr *how, float *room, int width)
{
    const int pairs = (width + 1) / 2;
    float *r = room, *g = r + 2 * pairs, *b = g + 2 * pairs;
    if (chroma_step == 1)
        load_chroma(r, g, b, cb, cr, 1, false, how, pairs);
    else if (chroma_step == 2)
        load_chroma(r, g, b, cb, cr, 2, false, how, pairs);
    else
        load_chroma(r, g, b, cb, cr, 4, false, how, pairs);
    if (step == 1)
        combine(dst, y, 1, false, r, g, b, how, width);
    else
        combine(dst, y, 2, false, r, g, b, how, width);
}

static void load_wide(float *dst, const uint8_t *y, const uint8_t *chroma,
                      const struct sam_ycbcr *how, float *room, int width)
{
    const int pairs = (width + 1) / 2;
    float *r = room, *g = r + 2 * pairs, *b = g + 2 * pairs;
    load_chroma(r, g, b, chroma, chroma + 2, 4, true, how, pairs);
    combine(dst, y, 2, true, r, g, b, how, width);
}

typedef int32_t i4 __attribute__((vector_size(16)));

SAM_INLINE v4 load_pixel(const float *row, int x)
{
    v4 v;
    memcpy(&v, row + 4 * (size_t) x, sizeof(v));
    return v;
}

static void mix_rgb(float *restrict dst, const float *restrict upper, const float *restrict lower,
                    float weight, const struct sam_tap *restrict taps, int count)
{
    for (int i = 0; i < count; i++, dst += 3) {
        const struct sam_tap h = taps[i];
        const float a = (1 - weight) * (1 - h.weight), b = (1 - weight) * h.weight;
        const float c = weight * (1 - h.weight), d = weight * h.weight;
        const v4 v = a * load_pixel(upper, h.lo) + b * load_pixel(upper, h.hi) +
                     c * load_pixel(lower, h.lo) + d * load_pixel(lower, h.hi);
        // not negative, but for the fourth
        const v4 whole = __builtin_convertvector(__builtin_convertvector(v + 0.5f, i4), v4) / 255;
        memcpy(dst, &whole, 3 * sizeof(float));
    }
}

// Four pixels at a time.
static void round_rgb(float *restrict dst, const float *restrict src, int count)
{
    typedef float v16 __attribute__((vector_size(64)));
    typedef int32_t i16 __attribute__((vector_size(64)));

    for (int i = 0; i < count; i += 4) {
        v16 v = { 0 };
        const int left = count - i < 4 ? count - i : 4;
        memcpy(&v, src + 4 * (size_t) i, left * 4 * sizeof(float));
        v = __builtin_convertvector(__builtin_convertvector(v + 0.5f, i16), v16) / 255;
        for (int j = 0; j < left; j++)
            memcpy(dst + 3 * (size_t) (i + j), (const float *) &v + 4 * j, 3 * sizeof(float));
    }
}

const struct sam_pixel_kernels SAM_LEVEL(sam_pixel_kernels) = {
    .stretch     = stretch,
    .blend       = blend,
    .accumulate  = accumulate,
    .shrink      = shrink,
    .shrink_rgb  = shrink_rgb,
    .draw        = draw,
    .mix_rgb     = mix_rgb,
    .round_rgb   = round_rgb,
    .load_packed = load_packed,
    .load_ycbcr  = load_ycbcr,
    .load_wide   = load_wide,
};
