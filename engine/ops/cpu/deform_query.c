// SPDX-License-Identifier: MIT
// See deform.h. Each head of a query first lists the rows of values that it takes something from,
// and how much: four at most for each place that it looks at, VL places at a time. Then it adds
// them up, with the sums in registers. Compiled without contraction: coordinates are rounded step
// by step.
#include <math.h>

#include "ops/cpu/deform.h"
#include "ops/cpu/vec.h"

enum { PLACES = SAM_MAX_SAMPLES }; // a multiple of VL

struct taps {
    int count;
    float weight[4 * PLACES];
    int32_t row[4 * PLACES]; // of the values
};

// ---- which rows

static void softmax(float dst[PLACES], const float *src, int count)
{
    float largest = src[0], part[VL];
    vf total = vf_set(0);

    for (int i = 1; i < count; i++)
        largest = fmaxf(largest, src[i]);
    for (int i = 0; i < count; i += VL) {
        const int some = count - i < VL ? count - i : VL;
        vf v = vf_exp(vf_get(src, SAM_F32, (size_t) i, some) - largest);
        vf_store(part, v);
        for (int k = some; k < VL; k++)
            part[k] = 0;
        v = vf_load(part);
        vf_store(dst + i, v);
        total += v;
    }
    const vf all = vf_set(vf_sum(total));
    for (int i = 0; i < count; i += VL)
        vf_store(dst + i, vf_load(dst + i) / all);
}

// The steps of the contract.
SAM_INLINE vf position(const struct sam_deform_attention *p, float middle, float extent,
                       vf offset, vf size)
{
    const vf shift = p->references.c == 2 ? offset / size
                                          : offset / (float) p->points * extent * 0.5f;
    return (middle + shift) * size - 0.5f;
}

SAM_INLINE vi vi_load(const int32_t *p)
{
    vi v;
    memcpy(&v, p, sizeof(v));
    return v;
}

SAM_INLINE vi floor_of(vf x, vf *whole)
{
    const vi cut = __builtin_convertvector(x, vi);
    const vi i = cut + (vi) (__builtin_convertvector(cut, vf) > x);

    *whole = __builtin_convertvector(i, vf);
    return i;
}

// The four rows around VL places, one after another in four arrays; -1: it is outside of the map.
SAM_INLINE void list_around(const struct sam_deform_maps *m, int s, vf weight, vf x, vf y,
                            float *weights, int32_t *rows)
{
    const vf width = vf_load(m->width + s), height = vf_load(m->height + s);
    const vi columns = vi_load(m->columns + s), lines = vi_load(m->rows + s);
    const vi near = (x > -1) & (x < width) & (y > -1) & (y < height);
    vf left, top;

    x = vf_select(near, x, vf_set(0)), y = vf_select(near, y, vf_set(0));
    const vi x0 = floor_of(x, &left), y0 = floor_of(y, &top);
    const vf across = x - left, down = y - top;
    for (int k = 0; k < 4; k++) {
        const vi row = y0 + k / 2, column = x0 + k % 2;
        const vi inside = near & (row >= 0) & (row < lines) & (column >= 0) & (column < columns);
        const vi at = vi_load(m->first + s) + row * columns + column;
        const vi kept = (inside & at) | ~inside;
        vf_store(weights + k * PLACES + s,
                 weight * (k / 2 ? down : 1 - down) * (k % 2 ? across : 1 - across));
        memcpy(rows + k * PLACES + s, &kept, sizeof(kept));
    }
}

static void list_taps(const struct sam_deform_attention *p, const struct sam_deform_maps *m,
                      size_t query, int head, struct taps *taps)
{
    const int samples = p->levels * p->points, kind = p->references.c;
    const size_t at = (query * (size_t) p->heads + (size_t) head) * (size_t) samples;
    const float *offset = (const float *) p->offsets.data + 2 * at;
    const size_t own = p->references.n == 1 ? query % (size_t) p->dst.w : query;
    const float *box = (const float *) p->references.data + own * (size_t) kind;
    float weight[PLACES], x[PLACES], y[PLACES], weights[4 * PLACES];
    int32_t rows[4 * PLACES];

    softmax(weight, (const float *) p->weights.data + at, samples);
    for (int s = 0; s < samples; s++)
        x[s] = offset[2 * s], y[s] = offset[2 * s + 1];
    for (int s = samples; s % VL; s++)
        x[s] = y[s] = 0;
    for (int s = 0; s < samples; s += VL)
        list_around(m, s, vf_load(weight + s),
                    position(p, box[0], box[kind - 2], vf_load(x + s), vf_load(m->width + s)),
                    position(p, box[1], box[kind - 1], vf_load(y + s), vf_load(m->height + s)),
                    weights, rows);
    taps->count = 0;
    for (int s = 0; s < samples; s++)
        for (int k = 0; k < 4; k++) {
            taps->weight[taps->count] = weights[k * PLACES + s];
            taps->row[taps->count] = rows[k * PLACES + s];
            taps->count += rows[k * PLACES + s] >= 0;
        }
}

// ---- what they give

SAM_INLINE vf get(const void *values, bool is_bf16, size_t at)
{
    return is_bf16 ? vf_load_bf16((const uint16_t *) values + at)
                   : vf_load((const float *) values + at);
}

// Two vectors of channels; two rows at a time, so that sums do not wait for one another.
SAM_INLINE void add_pair(const struct taps *taps, const void *values, bool is_bf16, size_t c,
                         size_t first, vf sum[2])
{
    vf a[2] = { vf_set(0), vf_set(0) }, b[2] = { vf_set(0), vf_set(0) };
    int t = 0;

    for (; t + 2 <= taps->count; t += 2) {
        const size_t i = first + (size_t) taps->row[t] * c;
        const size_t j = first + (size_t) taps->row[t + 1] * c;
        for (int v = 0; v < 2; v++) {
            a[v] += taps->weight[t] * get(values, is_bf16, i + (size_t) (v * VL));
            b[v] += taps->weight[t + 1] * get(values, is_bf16, j + (size_t) (v * VL));
        }
    }
    for (int v = 0; v < 2; v++) {
        if (t < taps->count)
            a[v] += taps->weight[t] *
                    get(values, is_bf16,
                        first + (size_t) taps->row[t] * c + (size_t) (v * VL));
        sum[v] = a[v] + b[v];
    }
}

static void add_some(const struct taps *taps, const struct sam_tensor *values, size_t first,
                     int count, vf *sum)
{
    *sum = vf_set(0);
    for (int t = 0; t < taps->count; t++)
        *sum += taps->weight[t] *
                vf_get(values->data, values->type,
                       first + (size_t) taps->row[t] * (size_t) values->c, count);
}

// Channels [first, first + count) of a row of values, into row `query` of dst.
static void add_taps(const struct sam_deform_attention *p, const struct taps *taps, size_t query,
                     size_t map, size_t first, int count)
{
    const struct sam_tensor *values = &p->values;
    const size_t to = query * (size_t) p->dst.c + first;
    int c = 0;

    for (; c + 2 * VL <= count; c += 2 * VL) {
        vf sum[2];
        if (values->type == SAM_BF16)
            add_pair(taps, values->data, true, (size_t) values->c, map + (size_t) c, sum);
        else
            add_pair(taps, values->data, false, (size_t) values->c, map + (size_t) c, sum);
        for (int v = 0; v < 2; v++)
            vf_put(p->dst.data, p->dst.type, to + (size_t) (c + v * VL), sum[v], VL);
    }
    for (; c < count; c += VL) {
        const int some = count - c < VL ? count - c : VL;
        vf sum;
        add_some(taps, values, map + (size_t) c, some, &sum);
        vf_put(p->dst.data, p->dst.type, to + (size_t) c, sum, some);
    }
}

void SAM_LEVEL(sam_deform_query)(const struct sam_deform_attention *p,
                                 const struct sam_deform_maps *maps, size_t query)
{
    const int channels = p->dst.c / p->heads;
    const size_t rows = (size_t) p->values.h * (size_t) p->values.w;
    const size_t map = query / (size_t) p->dst.w * rows * (size_t) p->values.c;
    struct taps taps;

    for (int head = 0; head < p->heads; head++) {
        const size_t first = (size_t) (head * channels);
        list_taps(p, maps, query, head, &taps);
        add_taps(p, &taps, query, map + first, first, channels);
    }
}
