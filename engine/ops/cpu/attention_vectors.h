// SPDX-License-Identifier: MIT
// The products of attention_kernel.h and attention_rope.h by vectors: SAM_ROWS rows by a panel of
// queries in registers.
#ifndef SAM_ATTENTION_VECTORS_H
#define SAM_ATTENTION_VECTORS_H

#define MIN(a, b) ((a) < (b) ? (a) : (b))

static const void *const *place_keys(struct sam_attend *a, const void *const *keys, int num)
{
    (void) a, (void) num;
    return keys; // they are read from where they lie
}

static void end_products(struct sam_attend *a)
{
    (void) a;
}

// S^T of SAM_ROWS keys with a panel of queries.
SAM_INLINE void multiply_keys(struct sam_attend *a, float *dst, const void *const *keys,
                              const float *query, int columns)
{
    scores(dst, keys, query, a->depth, columns, SAM_ROWS);
}

// SAM_ROWS channels of O^T = scale * O^T + V^T P^T.
SAM_INLINE void mix(float *out, const float *scale, const uint32_t *value, const float *weight,
                    int depth, int columns)
{
    const int width = columns * VL;
    vf sum[SAM_ROWS][COLUMNS];
    for (int r = 0; r < SAM_ROWS; r++)
        for (int c = 0; c < columns; c++)
            sum[r][c] = vf_set(0.0f);
    for (long d = 0; d < depth; d++) {
        vf p[COLUMNS];
        for (int c = 0; c < columns; c++)
            p[c] = vf_load(weight + d * width + c * VL);
        for (int r = 0; r < SAM_ROWS; r++)
            for (int c = 0; c < columns; c++)
                sum[r][c] = vf_mac(sum[r][c], value + d * SAM_ROWS + r, p[c]);
    }
    for (int r = 0; r < SAM_ROWS; r++) {
        for (int c = 0; c < columns; c++) {
            float *at = out + r * width + c * VL;
            vf_store(at, vf_load(at) * vf_load(scale + c * VL) + sum[r][c]);
        }
    }
}

// O^T = scale * O^T + V^T P^T.
SAM_INLINE void multiply_values(struct sam_attend *a, float *out, const float *scale,
                                const uint32_t *value, int depth, int columns)
{
    for (int v = 0; v < a->values; v += SAM_ROWS)
        mix(out + (size_t) v * columns * VL, scale, value + (size_t) v * depth, a->score, depth,
            columns);
}

// ---- of rope_attention

// Rows of a panel's terms at a step: those of the m numbers of a key, and the bias.
static int term_rows(const struct sam_rope_attend *r)
{
    return r->m + 1;
}

// Terms of rows d and d + 1 of the weight (of d alone where it is the bias, the last) at the step.
SAM_INLINE void put_terms(const struct sam_rope_attend *r, float *dst, int d, const vf *term, int c,
                          int width)
{
    if (d < r->m)
        store_terms(dst + c * CHANNELS, d, width, term[0], term[1]);
    else
        vf_store(dst + (size_t) d * width + c * VL, term[0]);
}

// SAM_ROWS steps of an axis.
SAM_INLINE void multiply_waves(struct sam_rope_attend *r, float *dst, const void *const *waves,
                               const float *part, int columns)
{
    scores(dst, waves, part, r->wave_depth, columns, SAM_ROWS);
}

// S^T of `rows` keys at one place with a panel of queries, from the terms of its x and y.
SAM_INLINE void place_scores(float *dst, const uint32_t *key, const float *x, const float *y, int m,
                             int columns, int rows)
{
    const int width = columns * VL, depth = m / (1 + PAIRS);
    vf sum[SAM_ROWS][COLUMNS];
    for (int c = 0; c < columns; c++) {
        const size_t bias = (size_t) m * width + c * VL;
        sum[0][c] = vf_load(x + bias) + vf_load(y + bias);
    }
    for (int r = 1; r < rows; r++)
        for (int c = 0; c < columns; c++)
            sum[r][c] = sum[0][c];
    for (long d = 0; d < depth; d++) {
        vf q[COLUMNS];
        for (int c = 0; c < columns; c++)
            q[c] = add_terms(x + (d * columns + c) * CHANNELS, y + (d * columns + c) * CHANNELS);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                sum[r][c] = vf_mac(sum[r][c], key + (size_t) r * depth + d, q[c]);
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            vf_store(dst + r * width + c * VL, sum[r][c]);
}

SAM_INLINE void multiply_place(const struct sam_rope_attend *r, float *dst, const uint32_t *keys,
                               const float *x, const float *y, int columns, int rows)
{
    const int m = r->m;
    // Cases beyond SAM_ROWS do not occur.
    switch (rows) {
    case 1: place_scores(dst, keys, x, y, m, columns, 1); break;
    case 2: place_scores(dst, keys, x, y, m, columns, 2); break;
    case 3: place_scores(dst, keys, x, y, m, columns, 3); break;
    case 4: place_scores(dst, keys, x, y, m, columns, 4); break;
    case 5: place_scores(dst, keys, x, y, m, columns, MIN(5, SAM_ROWS)); break;
    case 6: place_scores(dst, keys, x, y, m, columns, MIN(6, SAM_ROWS)); break;
    case 7: place_scores(dst, keys, x, y, m, columns, MIN(7, SAM_ROWS)); break;
    case 8: place_scores(dst, keys, x, y, m, columns, MIN(8, SAM_ROWS)); break;
    }
}

#endif // SAM_ATTENTION_VECTORS_H
