// SPDX-License-Identifier: MIT
// The arithmetic of fused attention, once for every instruction set: the file that includes this
// defines the words. SAM_ROWS is the number of rows of a product that are held in registers.
//
// A product holds SAM_ROWS x columns vectors of sums in registers: 8 x 3 of AVX-512's 32, 4 x 3 of
// AVX2's 16. Each step along the sum loads `columns` vectors and broadcasts SAM_ROWS words for
// SAM_ROWS x columns multiply-adds.
enum {
    COLUMNS = 3,                 // of a panel
    CHANNELS = VL * (1 + PAIRS), // of one vector of words
};

// Panels of three columns; four left are two and two.
static int panel_columns(const struct sam_attend *a, int column)
{
    const int left = a->columns - column;
    return left > 4 || left == COLUMNS ? COLUMNS : left == 4 ? 2 : left;
}

static int first_of_panel(const struct sam_attend *a, int column)
{
    int at = 0;
    while (at + panel_columns(a, at) <= column)
        at += panel_columns(a, at);
    return at;
}

static void load_column(struct sam_attend *a, int column, const void *const *rows,
                        enum sam_type type, bool negate)
{
    const int panel = first_of_panel(a, column), width = panel_columns(a, panel) * VL;
    float *dst = (float *) a->query + (size_t) panel * VL * a->depth + (column - panel) * VL;

    for (int c = 0, d = 0; c < a->dk; c += CHANNELS, d += VL) {
        vf v[VL];
        for (int i = 0; i < VL; i++)
            v[i] = rows[i] ? load_words(rows[i], type, c, a->dk - c) : vf_set(0.0f);
        vf_transpose(v);
        for (int i = 0; i < VL && d + i < a->depth; i++)
            vf_store(dst + (size_t) (d + i) * width, negate ? negate_words(v[i]) : v[i]);
    }
}

static void start(struct sam_attend *a)
{
    const size_t queries = (size_t) a->columns * VL;
    memset(a->out, 0, queries * a->values * sizeof(float));
    for (size_t i = 0; i < queries; i++) {
        a->max[i] = -1e30f; // any real score is larger, and 2^(this - it) is 0
        a->sum[i] = 0.0f;
    }
}

// Of num vectors, width apart. Four chains: one would wait for each comparison.
SAM_INLINE vf largest(const float *score, int width, int num)
{
    vf top[4];
    for (int i = 0; i < 4; i++)
        top[i] = vf_load(score + (i < num ? i * width : 0));
    int j = 4;
    for (; j + 4 <= num; j += 4)
        for (int i = 0; i < 4; i++)
            top[i] = vf_max(top[i], vf_load(score + (j + i) * width));
    for (; j < num; j++)
        top[0] = vf_max(top[0], vf_load(score + j * width));
    return vf_max(vf_max(top[0], top[1]), vf_max(top[2], top[3]));
}

// Scores of one column to weights; the maximum and the sum of its queries move on. scale: by
// what the sum and the result so far shrink.
SAM_INLINE void soften(struct sam_attend *a, float *score, int width, int num, int column,
                       float *scale)
{
    const vf exponent = vf_set(a->exponent);
    const vf top = largest(score, width, num);
    float *max = a->max + column * VL, *sum = a->sum + column * VL;
    const vf before = vf_load(max), now = vf_max(before, top * exponent);
    const vf shrink = vf_exp2(before - now);
    vf_store(max, now);
    vf_store(scale, shrink);
    for (int j = a->extra != 0.0f ? a->extra_from : num; j < num; j++) {
        float *at = score + (size_t) j * width;
        vf_store(at, vf_load(at) + vf_set(a->extra));
    }
    vf_store(sum, vf_load(sum) * shrink + weigh(score, width, num, exponent, now));
}

// S^T of `rows` keys, at most SAM_ROWS, with a panel of queries.
SAM_INLINE void scores(float *dst, const void *const *keys, const float *query, int depth,
                       int columns, int rows)
{
    const int width = columns * VL;
    const char *key[SAM_ROWS];
    vf sum[SAM_ROWS][COLUMNS];
    for (int r = 0; r < rows; r++) {
        key[r] = (const char *) keys[r];
        for (int c = 0; c < columns; c++)
            sum[r][c] = vf_set(0.0f);
    }
    for (long d = 0; d < depth; d++) {
        vf q[COLUMNS];
        for (int c = 0; c < columns; c++)
            q[c] = vf_load(query + d * width + c * VL);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                sum[r][c] = vf_mac(sum[r][c], key[r] + 4 * d, q[c]);
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            vf_store(dst + r * width + c * VL, sum[r][c]);
}

// SAM_ROWS of the keys and values of the next block: to L2.
static void fetch_ahead(const struct sam_attend *a, const void *const *keys,
                        const void *const *values, int from, int num)
{
    const int to = from + SAM_ROWS < num ? from + SAM_ROWS : num, size = PAIRS ? 2 : 4;
    for (int j = from; j < to; j++) {
        for (long i = 0; a->keys_ahead && i < a->dk * size; i += 64)
            __builtin_prefetch((const char *) keys[j] + a->keys_ahead + i, 0, 2);
        for (long i = 0; a->values_ahead && i < a->dv * size; i += 64)
            __builtin_prefetch((const char *) values[j] + a->values_ahead + i, 0, 2);
    }
}

#ifdef SAM_ATTENTION_TILES
#include SAM_ATTENTION_TILES
#else
#include "ops/cpu/attention_vectors.h"
#endif

SAM_INLINE void panel(struct sam_attend *a, const void *const *keys, const void *const *values,
                      int num, int column, int columns)
{
    const int width = columns * VL, depth = PAIRS ? (num + 1) / 2 : num;
    const float *query = (const float *) a->query + (size_t) column * VL * a->depth;
    float *out = a->out + (size_t) column * VL * a->values;

    for (int j = 0; j < num; j += SAM_ROWS) {
        if (column == 0)
            fetch_ahead(a, keys, values, j, num);
        multiply_keys(a, a->score + (size_t) j * width, keys + j, query, columns);
    }

    float scale[COLUMNS * VL];
    for (int c = 0; c < columns; c++)
        soften(a, a->score + c * VL, width, num, column + c, scale + c * VL);

    multiply_values(a, out, scale, a->value, depth, columns);
}

static void block(struct sam_attend *a, const void *const *keys, const void *const *values, int num)
{
    pack_values(a, values, num);
    keys = place_keys(a, keys, num);
    for (int column = 0; column < a->columns; column += panel_columns(a, column)) {
        switch (panel_columns(a, column)) {
        case 1: panel(a, keys, values, num, column, 1); break;
        case 2: panel(a, keys, values, num, column, 2); break;
        case 3: panel(a, keys, values, num, column, 3); break;
        }
    }
    end_products(a);
}

static void store_column(const struct sam_attend *a, int column, void *const *rows,
                         enum sam_type type)
{
    const int panel = first_of_panel(a, column), width = panel_columns(a, panel) * VL;
    const float *src = a->out + (size_t) panel * VL * a->values + (column - panel) * VL;
    const vf norm = 1.0f / vf_load(a->sum + column * VL);

    for (int c = 0; c < a->dv; c += VL) {
        const int some = a->dv - c < VL ? a->dv - c : VL;
        vf v[VL];
        for (int i = 0; i < VL; i++)
            v[i] = i < some ? vf_load(src + (size_t) (c + i) * width) * norm : vf_set(0.0f);
        vf_transpose(v);
        for (int i = 0; i < VL; i++) {
            if (rows[i])
                vf_put(rows[i], type, c, v[i], some);
        }
    }
}

#include "ops/cpu/attention_rope.h"

#define SAM_ATTENTION_KERNEL                                                                       \
    {                                                                                              \
        .lanes = VL, .rows = SAM_ROWS, .pairs = PAIRS, .convert = convert,                         \
        .load_column = load_column, .start = start, .block = block, .store_column = store_column,  \
        .pack_values = pack_values, .rope_load_column = rope_load_column,                          \
        .rope_start = rope_start, .rope_block = rope_block,                                        \
    }
