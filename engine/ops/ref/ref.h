// SPDX-License-Identifier: MIT
// Private to ops/ref: what its files share. Every operation is the formula of its contract in
// ops.h, written to be read; one thread, no workspace. The only concession to time: dot
// products and weighted sums run over plain floats.
#ifndef SAM_REF_H
#define SAM_REF_H

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "ops/ops.h"

enum {
    REF_LANES = 16,  // partial sums of a dot product: compilers make vectors of them
    REF_CHUNK = 256, // numbers converted at once
};

static inline float ref_dot_f32(const float *a, const float *b, int count)
{
    float lane[REF_LANES] = { 0 }, sum = 0;
    int i = 0;
    for (; i + REF_LANES <= count; i += REF_LANES)
        for (int l = 0; l < REF_LANES; l++)
            lane[l] += a[i + l] * b[i + l];
    for (; i < count; i++)
        sum += a[i] * b[i];
    for (int l = 0; l < REF_LANES; l++)
        sum += lane[l];
    return sum;
}

// Numbers i ... of an activation as f32: where they are, or converted to `room`.
static inline const float *ref_floats(const struct sam_tensor *t, size_t i, int count, float *room)
{
    if (t->type == SAM_F32)
        return (const float *) t->data + i;
    const sam_bf16 *numbers = (const sam_bf16 *) t->data + i;
    for (int k = 0; k < count; k++)
        room[k] = sam_bf16_to_float(numbers[k]);
    return room;
}

// a[i ...] . b[j ...] over count numbers.
static inline float ref_dot(const struct sam_tensor *a, size_t i, const struct sam_tensor *b,
                            size_t j, int count)
{
    float sum = 0, a_room[REF_CHUNK], b_room[REF_CHUNK];
    for (int k = 0; k < count; k += REF_CHUNK) {
        const int n = count - k < REF_CHUNK ? count - k : REF_CHUNK;
        sum += ref_dot_f32(ref_floats(a, i + k, n, a_room), ref_floats(b, j + k, n, b_room), n);
    }
    return sum;
}

// ---- products in int8: see sam_matrix

// How the numbers of a row are rounded: to multiples of `step`. step 0: to zeros.
struct ref_steps {
    float inverse, step;
    bool rounds;
};

// The largest magnitude of t[i ...] and of `other`; a NaN is larger than any.
static inline float ref_largest(float other, const struct sam_tensor *t, size_t i, int count)
{
    for (int k = 0; k < count; k++) {
        const float x = fabsf(sam_load(t, i + k));
        other = x > other || isnan(x) ? x : other;
    }
    return other;
}

static inline struct ref_steps ref_steps_of(float largest)
{
    if (!isfinite(largest))
        return (struct ref_steps) { 1, NAN, true };
    if (largest < 0x1p-100f)
        return (struct ref_steps) { 0, 0, true };
    return (struct ref_steps) { 127 / largest, largest / 127, true };
}

static inline float ref_round(struct ref_steps s, float x)
{
    return s.rounds ? rintf(x * s.inverse) * s.step : x;
}

// Of t[i ...] beside this matrix.
static inline struct ref_steps ref_steps(struct sam_matrix m, const struct sam_tensor *t, size_t i,
                                         int count)
{
    return m.int8 ? ref_steps_of(ref_largest(0, t, i, count)) : (struct ref_steps) { 0 };
}

// a[i ...] . b[j ...], where b is rounded.
static inline float ref_dot_rounded(const struct sam_tensor *a, size_t i,
                                    const struct sam_tensor *b, size_t j, int count,
                                    struct ref_steps s)
{
    float sum = 0, room[REF_CHUNK];
    const struct sam_tensor rounded = { room, SAM_F32, 1, 1, 1, REF_CHUNK };
    if (!s.rounds)
        return ref_dot(a, i, b, j, count);
    for (int k = 0; k < count; k += REF_CHUNK) {
        const int n = count - k < REF_CHUNK ? count - k : REF_CHUNK;
        const float *x = ref_floats(b, j + k, n, room);
        for (int l = 0; l < n; l++)
            room[l] = ref_round(s, x[l]);
        sum += ref_dot(a, i + k, &rounded, 0, n);
    }
    return sum;
}

// ----

// sum += weight * a[i ...], at most SAM_MAX_HEAD_DIM numbers.
static inline void ref_accumulate(double *sum, double weight, const struct sam_tensor *a, size_t i,
                                  int count)
{
    float room[SAM_MAX_HEAD_DIM];
    const float *v = ref_floats(a, i, count, room);
    for (int k = 0; k < count; k++)
        sum[k] += weight * v[k];
}

static inline float ref_act(enum sam_act act, float x)
{
    switch (act) {
    case SAM_ACT_NONE:    return x;
    case SAM_ACT_RELU:    return x < 0 ? 0 : x; // a NaN stays one
    case SAM_ACT_GELU:    return 0.5f * x * (1 + erff(x * (float) M_SQRT1_2));
    case SAM_ACT_SIGMOID: return 1 / (1 + expf(-x));
    case SAM_ACT_SILU:    return x / (1 + expf(-x));
    case SAM_ACT_RELU6:   return x < 0 ? 0 : x > 6 ? 6 : x;
    case SAM_NUM_ACTS:    break;
    }
    return x;
}

// The packed form of the reference is the plain matrix.
static inline struct sam_tensor ref_matrix(struct sam_matrix m)
{
    return (struct sam_tensor) { m.data, SAM_F32, 1, 1, m.out, m.in };
}

static inline float ref_bias(const struct sam_tensor *bias, int i)
{
    return bias->data ? sam_load(bias, i) : 0;
}

static inline int ref_min(int a, int b) { return a < b ? a : b; }
static inline int ref_max(int a, int b) { return a > b ? a : b; }

// Where the channels of a pixel begin.
static inline size_t ref_pixel(const struct sam_tensor *t, int n, int y, int x)
{
    return (((size_t) n * t->h + y) * t->w + x) * t->c;
}

static inline int ref_count(const struct sam_tensor *t, int i) // an I32 per object
{
    return ((const int32_t *) t->data)[i];
}

// Where bilinear interpolation reads for one output position, corners not aligned: PyTorch's
// arithmetic, f32 and all, so that masks cut at zero are PyTorch's masks.
struct ref_taps {
    int lo, hi;
    float weight; // of hi; lo has the rest
};

static inline struct ref_taps ref_bilinear(int position, int out, int in)
{
    const float scale = (float) in / (float) out;
    float at = scale * (position + 0.5f) - 0.5f;
    if (at < 0)
        at = 0;
    const int lo = (int) at < in - 1 ? (int) at : in - 1;
    return (struct ref_taps) { lo, lo + 1 < in ? lo + 1 : lo, at - lo };
}

// Row `after` of `rows` becomes row `before`, or zeros where that is negative. Returns it.
static inline float *ref_carry_row(const struct sam_tensor *rows, int before, int after)
{
    const size_t count = rows->c;
    float *row = (float *) rows->data + after * count;
    if (before < 0)
        memset(row, 0, count * sizeof(*row));
    else
        memcpy(row, (const float *) rows->data + before * count, count * sizeof(*row));
    return row;
}

// A cell covers 2 x 2 logits of (n, 2 h, 2 w, 1): the mean of their sigmoids.
static inline float ref_share(const struct sam_tensor *logits, int n, int y, int x)
{
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        const float l = sam_load(logits, ref_pixel(logits, n, 2 * y + k / 2, 2 * x + k % 2));
        sum += ref_act(SAM_ACT_SIGMOID, l);
    }
    return sum / 4;
}

// Whether a cell within `ring` rows and columns of cell i has a share above 0.5.
static inline bool ref_is_near(const float *shares, int h, int w, int ring, int i)
{
    const int y = i / w, x = i % w;
    for (int v = ref_max(y - ring, 0); v < ref_min(y + ring + 1, h); v++)
        for (int u = ref_max(x - ring, 0); u < ref_min(x + ring + 1, w); u++)
            if (shares[v * w + u] > 0.5f)
                return true;
    return false;
}

// logits, 2 h x 2 w, += scale times h x w cells that are stretched to them.
static inline void ref_add_cells(float *logits, const float *cells, int h, int w, float scale)
{
    for (int y = 0; y < 2 * h; y++)
        for (int x = 0; x < 2 * w; x++) {
            const struct ref_taps v = ref_bilinear(y, 2 * h, h), u = ref_bilinear(x, 2 * w, w);
            const float *top = cells + v.lo * w, *bottom = cells + v.hi * w;
            const float above = (1 - u.weight) * top[u.lo] + u.weight * top[u.hi];
            const float below = (1 - u.weight) * bottom[u.lo] + u.weight * bottom[u.hi];
            logits[y * 2 * w + x] += scale * ((1 - v.weight) * above + v.weight * below);
        }
}

// The antialiased triangle filter for one output position (PyTorch's and PIL's rule): a tent
// as wide as the shrink factor over the centre, cut at the border, its weights scaled to sum 1.
struct ref_tent {
    int lo, hi; // sources lo .. hi - 1
    float centre, width, sum;
};

static inline float ref_tent_weight(const struct ref_tent *t, int source)
{
    const float distance = fabsf((source - t->centre + 0.5f) / t->width);
    return distance < 1 ? 1 - distance : 0;
}

static inline struct ref_tent ref_tent(int position, int out, int in)
{
    const float scale = (float) in / (float) out;
    struct ref_tent t = { .centre = scale * (position + 0.5f), .width = scale > 1 ? scale : 1 };
    t.lo = (int) (t.centre - t.width + 0.5f);
    t.hi = (int) (t.centre + t.width + 0.5f);
    t.lo = t.lo > 0 ? t.lo : 0;
    t.hi = t.hi < in ? t.hi : in;
    for (int source = t.lo; source < t.hi; source++)
        t.sum += ref_tent_weight(&t, source);
    return t;
}

// One pixel of a frame as sam_preprocess has it: preprocess.c.
struct ref_rgb {
    float r, g, b; // 0 .. 255
};
struct ref_rgb ref_rgb(const struct sam_frame *f, int y, int x);

#define SAM_REF(name, cpu, cuda) \
    void sam_##name##_ref(struct sam_queue *q, const struct sam_##name *p);
SAM_OPS(SAM_REF)
#undef SAM_REF

#endif // SAM_REF_H
