// The arithmetic of attention whose keys are made on the way (struct sam_rope_attention), after
// attention_kernel.h's.
//
// The key of memory r at the place (x, y) is k = R (W r + b), where R turns the first half of the
// channels by x and the second by y. A score is then
//   q . k = (W' R' q) . r + (R' q) . b,   W' R' q = Wx' Rx' qx + Wy' Ry' qy,
// m numbers that depend on the query and the place: a sum of one vector of the query and x and
// one of the query and y. Those are few (2 side of them per query, not side^2), so a score costs
// m multiply-adds, and a vector of sums per place, where it cost d: exact but for rounding.
#ifndef SAM_ATTENTION_ROPE_H
#define SAM_ATTENTION_ROPE_H

#define MIN(a, b) ((a) < (b) ? (a) : (b))

static void rope_load_column(struct sam_rope_attend *r, int column, const void *const *rows,
                             enum sam_type type)
{
    const struct sam_attend *a = &r->attend;
    const int panel = first_of_panel(a, column), width = panel_columns(a, panel) * LANES;
    float *dst = r->query + (size_t) panel * LANES * r->d + (column - panel) * LANES;

    for (int d = 0; d < r->d; d += LANES) {
        const int some = r->d - d < LANES ? r->d - d : LANES;
        vec v[LANES];
        for (int i = 0; i < LANES; i++)
            v[i] = rows[i] ? vec_load_some(rows[i], type, d, some) : vec_set1(0.0f);
        vec_transpose(v);
        for (int i = 0; i < some; i++)
            vec_store(dst + (size_t) (d + i) * width, v[i]);
    }
}

// Half the channels of a panel's queries, turned back by one step of an axis.
static void turn_back(float *dst, const float *query, const float *angle, int half, int width)
{
    for (int d = 0; d < half; d += 2, query += 2 * width) {
        const vec cosine = vec_set1(angle[d]), sine = vec_set1(angle[d + 1]);
        const vec minus = vec_set1(-angle[d + 1]);
        for (int c = 0; c < width; c += LANES) {
            const vec u = vec_load(query + c), v = vec_load(query + width + c);
            store_pair(dst + c, d, width, vec_fma(v, sine, vec_mul(u, cosine)),
                       vec_fma(u, minus, vec_mul(v, cosine)));
        }
    }
}

// Not at all.
static void turn_nowhere(float *dst, const float *query, int half, int width)
{
    for (int d = 0; d < half; d += 2, query += 2 * width)
        for (int c = 0; c < width; c += LANES)
            store_pair(dst + c, d, width, vec_load(query + c), vec_load(query + width + c));
}

// [m + 1][width] sums: rows of weight times turned queries.
SAM_INLINE void make_sums(const struct sam_rope_attend *r, float *dst, const void *const *weight,
                          int channels, int columns)
{
    const int width = columns * LANES, depth = channels / (1 + PAIRS);
    int i = 0;
    for (; i + ROWS <= r->m; i += ROWS)
        scores(dst + (size_t) i * width, weight + i, r->turned, depth, columns, ROWS);
    for (; i <= r->m; i++)
        scores(dst + (size_t) i * width, weight + i, r->turned, depth, columns, 1);
}

// Where a column's term of channel d waits for store_terms(), which puts words in its place.
static size_t term_at(int d, int m, int width, int column)
{
    if (PAIRS && d < m)
        return (size_t) (d - d % 2) * width + column * CHANNELS + d % 2 * LANES;
    return (size_t) d * width + column * LANES;
}

// The slow channels' terms of every step, ROWS steps at once.
SAM_INLINE void blend_terms(const struct sam_rope_attend *r, float *dst, int d, int columns)
{
    const int width = columns * LANES;
    const size_t step = (size_t) (r->m + 1) * width;
    for (int t = 0; t < r->side; t += ROWS) {
        vec sum[ROWS][COLUMNS];
        for (int i = 0; i < ROWS; i++)
            for (int c = 0; c < columns; c++)
                sum[i][c] = vec_set1(0.0f);
        for (int k = 0; k < SAM_ROPE_NODES; k++)
            for (int i = 0; i < ROWS; i++)
                for (int c = 0; c < columns; c++)
                    sum[i][c] = vec_fma(vec_set1(r->turns->blend[t + i][k]),
                                        vec_load(r->blended + k * step + d * width + c * LANES),
                                        sum[i][c]);
        for (int i = 0; i < ROWS && t + i < r->side; i++)
            for (int c = 0; c < columns; c++)
                vec_store(dst + (t + i) * step + term_at(d, r->m, width, c), sum[i][c]);
    }
}

SAM_INLINE void make_slow_terms(struct sam_rope_attend *r, float *dst, const float *query, int axis,
                                int columns)
{
    const int width = columns * LANES, half = r->d / 2, fast = r->turns->fast;
    for (int k = 0; k < SAM_ROPE_NODES; k++) {
        turn_back(r->turned, query + (size_t) fast * width,
                  r->axis + (size_t) r->turns->node[k] * half + fast, half - fast, width);
        make_sums(r, r->blended + (size_t) k * (r->m + 1) * width, r->slow[axis], half - fast,
                  columns);
    }
    for (int d = 0; d <= r->m; d++)
        blend_terms(r, dst, d, columns);
}

// One step of an axis from the turned queries; `slow`: added to what waits in dst.
SAM_INLINE void make_terms(struct sam_rope_attend *r, float *dst, const void *const *weight,
                           int channels, bool slow, int columns)
{
    const int width = columns * LANES;
    float *sum = r->attend.score;
    make_sums(r, sum, weight, channels, columns);
    for (int d = 0; slow && d <= r->m; d++)
        for (int c = 0; c < columns; c++) {
            float *at = sum + (size_t) d * width + c * LANES;
            vec_store(at, vec_add(vec_load(at), vec_load(dst + term_at(d, r->m, width, c))));
        }
    for (int d = 0; d < r->m; d += 2)
        for (int c = 0; c < columns; c++) {
            const float *even = sum + (size_t) d * width + c * LANES;
            store_terms(dst + c * CHANNELS, d, width, vec_load(even), vec_load(even + width));
        }
    memcpy(dst + (size_t) r->m * width, sum + (size_t) r->m * width, width * sizeof(float));
}

SAM_INLINE void make_panel(struct sam_rope_attend *r, int column, int columns)
{
    const int width = columns * LANES, half = r->d / 2, fast = r->turns->fast;
    const size_t step = (size_t) (r->m + 1) * width;
    for (int axis = 0; axis < 2; axis++) {
        const float *query = r->query + (size_t) column * LANES * r->d + axis * half * width;
        float *dst = r->along[axis] + (size_t) column * LANES * (r->m + 1) * (r->side + 1);
        if (fast < half)
            make_slow_terms(r, dst, query, axis, columns);
        for (int t = 0; t < r->side; t++, dst += step) {
            turn_back(r->turned, query, r->axis + (size_t) t * half, fast, width);
            make_terms(r, dst, r->weight[axis], fast, fast < half, columns);
        }
        turn_nowhere(r->turned, query, half, width);
        make_terms(r, dst, r->weight[axis], half, false, columns);
    }
}

static void rope_start(struct sam_rope_attend *r)
{
    const struct sam_attend *a = &r->attend;
    start(&r->attend);
    for (int column = 0; column < a->columns; column += panel_columns(a, column)) {
        switch (panel_columns(a, column)) {
        case 1: make_panel(r, column, 1); break;
        case 2: make_panel(r, column, 2); break;
        case 3: make_panel(r, column, 3); break;
        }
    }
}

// S^T of `rows` keys at one place with a panel of queries, from the terms of its x and y.
SAM_INLINE void place_scores(float *dst, const uint32_t *key, const float *x, const float *y,
                             int m, int columns, int rows)
{
    const int width = columns * LANES, depth = m / (1 + PAIRS);
    vec sum[ROWS][COLUMNS];
    for (int c = 0; c < columns; c++) {
        const size_t bias = (size_t) m * width + c * LANES;
        sum[0][c] = vec_add(vec_load(x + bias), vec_load(y + bias));
    }
    for (int r = 1; r < rows; r++)
        for (int c = 0; c < columns; c++)
            sum[r][c] = sum[0][c];
    for (long d = 0; d < depth; d++) {
        vec q[COLUMNS];
        for (int c = 0; c < columns; c++)
            q[c] = add_terms(x + (d * columns + c) * CHANNELS, y + (d * columns + c) * CHANNELS);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                sum[r][c] = vec_mac(sum[r][c], key + (size_t) r * depth + d, q[c]);
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            vec_store(dst + r * width + c * LANES, sum[r][c]);
}

SAM_INLINE void group_scores(float *dst, const uint32_t *keys, const float *x, const float *y,
                             int m, int columns, int rows)
{
    // Cases beyond ROWS do not occur.
    switch (rows) {
    case 1: place_scores(dst, keys, x, y, m, columns, 1); break;
    case 2: place_scores(dst, keys, x, y, m, columns, 2); break;
    case 3: place_scores(dst, keys, x, y, m, columns, 3); break;
    case 4: place_scores(dst, keys, x, y, m, columns, 4); break;
    case 5: place_scores(dst, keys, x, y, m, columns, MIN(5, ROWS)); break;
    case 6: place_scores(dst, keys, x, y, m, columns, MIN(6, ROWS)); break;
    case 7: place_scores(dst, keys, x, y, m, columns, MIN(7, ROWS)); break;
    case 8: place_scores(dst, keys, x, y, m, columns, MIN(8, ROWS)); break;
    }
}

// `num` of the next block's rows, to L2.
static void rope_fetch(const struct sam_rope_attend *r, int from, int num)
{
    const int key = r->m / (1 + PAIRS), value = r->attend.values / (1 + PAIRS);
    for (int i = from * key; r->next && i < (from + num) * key; i += 16)
        __builtin_prefetch(r->next->keys + i, 0, 2);
    for (int i = from * value; r->next && i < (from + num) * value; i += 16)
        __builtin_prefetch(r->next->values + i, 0, 2);
}

SAM_INLINE void rope_panel(struct sam_rope_attend *r, const struct sam_rope_block *b, int column,
                           int columns)
{
    struct sam_attend *a = &r->attend;
    const int width = columns * LANES, depth = PAIRS ? (b->num + 1) / 2 : b->num;
    const int key = r->m / (1 + PAIRS);
    const size_t step = (size_t) (r->m + 1) * width;
    const size_t first = (size_t) column * LANES * (r->m + 1) * (r->side + 1);
    float *out = a->out + (size_t) column * LANES * a->values;

    for (int p = 0, j = 0; p < b->num_places; p++) {
        const struct sam_rope_place *place = &b->places[p];
        const float *x = r->along[0] + first + place->x * step;
        const float *y = r->along[1] + first + place->y * step;
        if (column == 0)
            rope_fetch(r, j, place->num);
        const int groups = (place->num + ROWS - 1) / ROWS;
        for (int i = 0; i < groups; i++) { // of much the same size
            const int rows = (place->num - 1 - i) / groups + 1;
            group_scores(a->score + (size_t) j * width, b->keys + (size_t) j * key, x, y, r->m,
                         columns, rows);
            j += rows;
        }
    }

    float scale[COLUMNS * LANES];
    for (int c = 0; c < columns; c++)
        soften(a, a->score + c * LANES, width, b->num, column + c, scale + c * LANES);

    for (int v = 0; v < a->values; v += ROWS)
        mix(out + (size_t) v * width, scale, b->values + (size_t) v * depth, a->score, depth,
            columns);
}

static void rope_block(struct sam_rope_attend *r, const struct sam_rope_block *b)
{
    const struct sam_attend *a = &r->attend;
    for (int column = 0; column < a->columns; column += panel_columns(a, column)) {
        switch (panel_columns(a, column)) {
        case 1: rope_panel(r, b, column, 1); break;
        case 2: rope_panel(r, b, column, 2); break;
        case 3: rope_panel(r, b, column, 3); break;
        }
    }
}

#endif // SAM_ATTENTION_ROPE_H
