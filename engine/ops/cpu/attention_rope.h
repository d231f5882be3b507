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

// One step of an axis: the rows of weight times the turned queries, [m + 1][width].
SAM_INLINE void make_terms(struct sam_rope_attend *r, float *dst, const void *const *weight,
                           int columns)
{
    const int width = columns * LANES, depth = r->d / 2 / (1 + PAIRS);
    float *sum = r->attend.score;
    int i = 0;
    for (; i + ROWS <= r->m; i += ROWS)
        scores(sum + (size_t) i * width, weight + i, r->turned, depth, columns, ROWS);
    for (; i <= r->m; i++)
        scores(sum + (size_t) i * width, weight + i, r->turned, depth, columns, 1);

    for (int d = 0; d < r->m; d += 2)
        for (int c = 0; c < columns; c++) {
            const float *even = sum + (size_t) d * width + c * LANES;
            store_terms(dst + c * CHANNELS, d, width, vec_load(even), vec_load(even + width));
        }
    memcpy(dst + (size_t) r->m * width, sum + (size_t) r->m * width, width * sizeof(float));
}

SAM_INLINE void make_panel(struct sam_rope_attend *r, int column, int columns)
{
    const int width = columns * LANES, half = r->d / 2;
    const size_t step = (size_t) (r->m + 1) * width;
    for (int axis = 0; axis < 2; axis++) {
        const float *query = r->query + (size_t) column * LANES * r->d + axis * half * width;
        float *dst = r->along[axis] + (size_t) column * LANES * (r->m + 1) * (r->side + 1);
        for (int t = 0; t <= r->side; t++, dst += step) {
            if (t < r->side)
                turn_back(r->turned, query, r->axis + (size_t) t * half, half, width);
            else
                turn_nowhere(r->turned, query, half, width);
            make_terms(r, dst, r->weight[axis], columns);
        }
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
SAM_INLINE void place_scores(float *dst, const void *const *keys, const float *x, const float *y,
                             int m, int columns, int rows)
{
    const int width = columns * LANES;
    const char *key[ROWS];
    vec sum[ROWS][COLUMNS];
    for (int c = 0; c < columns; c++) {
        const size_t bias = (size_t) m * width + c * LANES;
        sum[0][c] = vec_add(vec_load(x + bias), vec_load(y + bias));
    }
    for (int r = 0; r < rows; r++) {
        key[r] = (const char *) keys[r];
        for (int c = 0; c < columns; c++)
            sum[r][c] = sum[0][c];
    }
    for (long d = 0; d < m / (1 + PAIRS); d++) {
        vec q[COLUMNS];
        for (int c = 0; c < columns; c++)
            q[c] = add_terms(x + (d * columns + c) * CHANNELS, y + (d * columns + c) * CHANNELS);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                sum[r][c] = vec_mac(sum[r][c], key[r] + 4 * d, q[c]);
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            vec_store(dst + r * width + c * LANES, sum[r][c]);
}

SAM_INLINE void group_scores(float *dst, const void *const *keys, const float *x, const float *y,
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

// Some of the next block's rows, to L2.
static void rope_fetch(const struct sam_rope_attend *r, int from, int num)
{
    const struct sam_rope_block *b = r->next;
    const int size = PAIRS ? 2 : 4;
    for (int j = from; b && j < from + num && j < b->num; j++) {
        for (int i = 0; i < r->m * size; i += 64)
            __builtin_prefetch((const char *) b->keys[j] + i, 0, 2);
        for (int i = 0; i < r->attend.dv * size; i += 64)
            __builtin_prefetch((const char *) b->values[j] + i, 0, 2);
    }
}

SAM_INLINE void rope_panel(struct sam_rope_attend *r, const struct sam_rope_block *b, int column,
                           int columns)
{
    struct sam_attend *a = &r->attend;
    const int width = columns * LANES, depth = PAIRS ? (b->num + 1) / 2 : b->num;
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
            group_scores(a->score + (size_t) j * width, b->keys + j, x, y, r->m, columns, rows);
            j += rows;
        }
    }

    float scale[COLUMNS * LANES];
    for (int c = 0; c < columns; c++)
        soften(a, a->score + c * LANES, width, b->num, column + c, scale + c * LANES);

    for (int v = 0; v < a->values; v += ROWS)
        mix(out + (size_t) v * width, scale, a->value + (size_t) v * depth, a->score, depth,
            columns);
}

static void rope_block(struct sam_rope_attend *r, const struct sam_rope_block *b)
{
    struct sam_attend *a = &r->attend;
    pack_values(a, b->values, b->num);
    for (int column = 0; column < a->columns; column += panel_columns(a, column)) {
        switch (panel_columns(a, column)) {
        case 1: rope_panel(r, b, column, 1); break;
        case 2: rope_panel(r, b, column, 2); break;
        case 3: rope_panel(r, b, column, 3); break;
        }
    }
}

#endif // SAM_ATTENTION_ROPE_H
