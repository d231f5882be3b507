// The arithmetic of fused attention, once for every instruction set: the file that includes
// this names the vectors (attention_vec_*.h) and the words (attention_float.h, or its own).
//
// A product holds ROWS x columns vectors of sums in registers: 8 x 3 of AVX-512's 32, 4 x 3 of
// AVX2's 16. Each step along the sum loads `columns` vectors and broadcasts ROWS words for
// ROWS x columns multiply-adds.
#include "ops/cpu/attention.h"

enum {
    COLUMNS = 3, // of a panel
    CHANNELS = LANES * (1 + PAIRS), // of one vector of words
};

#define SAM_INLINE static inline __attribute__((always_inline))

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
    const int panel = first_of_panel(a, column), width = panel_columns(a, panel) * LANES;
    float *dst = (float *) a->query + (size_t) panel * LANES * a->depth + (column - panel) * LANES;

    for (int c = 0, d = 0; c < a->dk; c += CHANNELS, d += LANES) {
        vec v[LANES];
        for (int i = 0; i < LANES; i++)
            v[i] = rows[i] ? load_words(rows[i], type, c, a->dk - c) : vec_set1(0.0f);
        vec_transpose(v);
        for (int i = 0; i < LANES && d + i < a->depth; i++)
            vec_store(dst + (size_t) (d + i) * width, negate ? negate_words(v[i]) : v[i]);
    }
}

static void start(struct sam_attend *a)
{
    const size_t queries = (size_t) a->columns * LANES;
    memset(a->out, 0, queries * a->values * sizeof(float));
    for (size_t i = 0; i < queries; i++) {
        a->max[i] = -1e30f; // any real score is larger, and 2^(this - it) is 0
        a->sum[i] = 0.0f;
    }
}

// S^T of `rows` keys, at most ROWS, with a panel of queries.
SAM_INLINE void scores(float *dst, const void *const *keys, const float *query, int depth,
                       int columns, int rows)
{
    const int width = columns * LANES;
    const char *key[ROWS];
    vec sum[ROWS][COLUMNS];
    for (int r = 0; r < rows; r++) {
        key[r] = (const char *) keys[r];
        for (int c = 0; c < columns; c++)
            sum[r][c] = vec_set1(0.0f);
    }
    for (long d = 0; d < depth; d++) {
        vec q[COLUMNS];
        for (int c = 0; c < columns; c++)
            q[c] = vec_load(query + d * width + c * LANES);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                sum[r][c] = vec_mac(sum[r][c], key[r] + 4 * d, q[c]);
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            vec_store(dst + r * width + c * LANES, sum[r][c]);
}

// ROWS channels of O^T = scale * O^T + V^T P^T.
SAM_INLINE void mix(float *out, const float *scale, const uint32_t *value, const float *weight,
                    int depth, int columns)
{
    const int width = columns * LANES;
    vec sum[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < columns; c++)
            sum[r][c] = vec_set1(0.0f);
    for (long d = 0; d < depth; d++) {
        vec p[COLUMNS];
        for (int c = 0; c < columns; c++)
            p[c] = vec_load(weight + d * width + c * LANES);
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < columns; c++)
                sum[r][c] = vec_mac(sum[r][c], value + d * ROWS + r, p[c]);
    }
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < columns; c++) {
            float *at = out + r * width + c * LANES;
            vec_store(at, vec_fma(vec_load(at), vec_load(scale + c * LANES), sum[r][c]));
        }
    }
}

// Of num vectors, width apart. Four chains: one would wait for each comparison.
SAM_INLINE vec largest(const float *score, int width, int num)
{
    vec top[4];
    for (int i = 0; i < 4; i++)
        top[i] = vec_load(score + (i < num ? i * width : 0));
    int j = 4;
    for (; j + 4 <= num; j += 4)
        for (int i = 0; i < 4; i++)
            top[i] = vec_max(top[i], vec_load(score + (j + i) * width));
    for (; j < num; j++)
        top[0] = vec_max(top[0], vec_load(score + j * width));
    return vec_max(vec_max(top[0], top[1]), vec_max(top[2], top[3]));
}

// Scores of one column to weights; the maximum and the sum of its queries move on. scale: by
// what the sum and the result so far shrink.
SAM_INLINE void soften(struct sam_attend *a, float *score, int width, int num, int column,
                       float *scale)
{
    const vec exponent = vec_set1(a->exponent);
    const vec top = largest(score, width, num);
    float *max = a->max + column * LANES, *sum = a->sum + column * LANES;
    const vec before = vec_load(max), now = vec_max(before, vec_mul(top, exponent));
    const vec shrink = vec_exp2(vec_sub(before, now));
    vec_store(max, now);
    vec_store(scale, shrink);
    if (a->extra != 0.0f) {
        float *last = score + (size_t) (num - 1) * width;
        vec_store(last, vec_add(vec_load(last), vec_set1(a->extra)));
    }
    vec_store(sum, vec_fma(vec_load(sum), shrink, weigh(score, width, num, exponent, now)));
}

// ROWS of the keys and values of the next block: to L2.
static void fetch_ahead(const struct sam_attend *a, const void *const *keys,
                        const void *const *values, int from, int num)
{
    const int to = from + ROWS < num ? from + ROWS : num, size = PAIRS ? 2 : 4;
    for (int j = from; j < to; j++) {
        for (long i = 0; a->keys_ahead && i < a->dk * size; i += 64)
            __builtin_prefetch((const char *) keys[j] + a->keys_ahead + i, 0, 2);
        for (long i = 0; a->values_ahead && i < a->dv * size; i += 64)
            __builtin_prefetch((const char *) values[j] + a->values_ahead + i, 0, 2);
    }
}

SAM_INLINE void panel(struct sam_attend *a, const void *const *keys, const void *const *values,
                      int num, int column, int columns)
{
    const int width = columns * LANES, depth = PAIRS ? (num + 1) / 2 : num;
    const float *query = (const float *) a->query + (size_t) column * LANES * a->depth;
    float *out = a->out + (size_t) column * LANES * a->values;

    for (int j = 0; j < num; j += ROWS) {
        if (column == 0)
            fetch_ahead(a, keys, values, j, num);
        scores(a->score + (size_t) j * width, keys + j, query, a->depth, columns, ROWS);
    }

    float scale[COLUMNS * LANES];
    for (int c = 0; c < columns; c++)
        soften(a, a->score + c * LANES, width, num, column + c, scale + c * LANES);

    for (int v = 0; v < a->values; v += ROWS)
        mix(out + (size_t) v * width, scale, a->value + (size_t) v * depth, a->score, depth,
            columns);
}

static void block(struct sam_attend *a, const void *const *keys, const void *const *values,
                  int num)
{
    pack_values(a, values, num);
    for (int column = 0; column < a->columns; column += panel_columns(a, column)) {
        switch (panel_columns(a, column)) {
        case 1: panel(a, keys, values, num, column, 1); break;
        case 2: panel(a, keys, values, num, column, 2); break;
        case 3: panel(a, keys, values, num, column, 3); break;
        }
    }
}

static void store_column(const struct sam_attend *a, int column, void *const *rows,
                         enum sam_type type)
{
    const int panel = first_of_panel(a, column), width = panel_columns(a, panel) * LANES;
    const float *src = a->out + (size_t) panel * LANES * a->values + (column - panel) * LANES;
    const vec norm = vec_div(vec_set1(1.0f), vec_load(a->sum + column * LANES));

    for (int c = 0; c < a->dv; c += LANES) {
        const int some = a->dv - c < LANES ? a->dv - c : LANES;
        vec v[LANES];
        for (int i = 0; i < LANES; i++)
            v[i] = i < some ? vec_mul(vec_load(src + (size_t) (c + i) * width), norm)
                            : vec_set1(0.0f);
        vec_transpose(v);
        for (int i = 0; i < LANES; i++) {
            if (rows[i])
                vec_store_some(rows[i], type, c, some, v[i]);
        }
    }
}

#include "ops/cpu/attention_rope.h"

#define SAM_ATTENTION_KERNEL \
    { \
        .lanes = LANES, .rows = ROWS, .pairs = PAIRS, .convert = convert, \
        .load_column = load_column, .start = start, .block = block, \
        .store_column = store_column, .pack_values = pack_values, \
        .rope_load_column = rope_load_column, .rope_start = rope_start, \
        .rope_block = rope_block, \
    }
