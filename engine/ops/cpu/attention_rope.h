// SPDX-License-Identifier: MIT
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

static void rope_load_column(struct sam_rope_attend *r, int column, const void *const *rows,
                             enum sam_type type)
{
    const struct sam_attend *a = &r->attend;
    const int panel = first_of_panel(a, column), width = panel_columns(a, panel) * VL;
    float *dst = r->query + (size_t) panel * VL * r->d + (column - panel) * VL;

    for (int d = 0; d < r->d; d += VL) {
        const int some = r->d - d < VL ? r->d - d : VL;
        vf v[VL];
        for (int i = 0; i < VL; i++)
            v[i] = rows[i] ? vf_get(rows[i], type, d, some) : vf_set(0.0f);
        vf_transpose(v);
        for (int i = 0; i < some; i++)
            vf_store(dst + (size_t) (d + i) * width, v[i]);
    }
}

// Half the channels of a panel's queries, turned back by one step of an axis.
static void turn_back(float *dst, const float *query, const float *angle, int half, int width)
{
    for (int d = 0; d < half; d += 2, query += 2 * width, dst += 2 * width) {
        const vf cosine = vf_set(angle[d]), sine = vf_set(angle[d + 1]);
        const vf minus = vf_set(-angle[d + 1]);
        for (int c = 0; c < width; c += VL) {
            const vf u = vf_load(query + c), v = vf_load(query + width + c);
            vf_store(dst + c, v * sine + (u * cosine));
            vf_store(dst + width + c, u * minus + (v * cosine));
        }
    }
}

// Pair i of the channels: by how much its cosine and its sine count in the sum for this row of
// the weight.
SAM_INLINE void weigh_pair(const float *query, const float *weight, int i, int width, int c,
                           vf *even, vf *odd)
{
    const vf u = vf_load(query + (size_t) (2 * i) * width + c * VL);
    const vf v = vf_load(query + (size_t) (2 * i + 1) * width + c * VL);
    const vf re = vf_set(weight[2 * i]), im = vf_set(weight[2 * i + 1]);
    *even = v * im + (u * re);
    *odd = (v * re) - (u * im);
}

// Pairs [from, to) of the queries turned to the middle, as words: what takes part in the even and
// in the odd half of the sums.
SAM_INLINE void weigh_pairs(const struct sam_rope_attend *r, float *even, float *odd,
                            const float *weight, int from, int to, int columns)
{
    const int width = columns * VL;
    for (int i = from; i < to; i += 2)
        for (int c = 0; c < columns; c++) {
            vf e[2], o[2];
            for (int k = 0; k < 2; k++) {
                e[k] = o[k] = vf_set(0.0f);
                if (i + k < to)
                    weigh_pair(r->turned, weight, i + k, width, c, &e[k], &o[k]);
            }
            store_pair(even + c * VL, i - from, width, e[0], e[1]);
            store_pair(odd + c * VL, i - from, width, o[0], o[1]);
        }
}

// What the steps' rows of r->wave are multiplied with for one row of the weight: r->part[0] and [1]
// from `at` on. Slow pairs come in by their sums at the nodes.
SAM_INLINE void make_parts(struct sam_rope_attend *r, int at, const float *weight, int columns)
{
    const int width = columns * VL, pairs = r->d / 4, fast = r->turns->fast;
    float *part[2] = { r->part[0] + at, r->part[1] + at }, *sum = r->attend.score;
    weigh_pairs(r, part[0], part[1], weight, 0, fast, columns);
    if (fast == pairs)
        return;
    weigh_pairs(r, r->slow[0], r->slow[1], weight, fast, pairs, columns);
    const int depth = (pairs - fast + PAIRS) / (1 + PAIRS);
    for (int half = 0; half < 2; half++) {
        scores(sum, r->node_wave[half], r->slow[half], depth, columns, SAM_ROPE_NODES);
        for (int k = 0; k < SAM_ROPE_NODES; k += 2)
            for (int c = 0; c < width; c += VL)
                store_pair(part[half] + c, fast + k, width, vf_load(sum + k * width + c),
                           vf_load(sum + (k + 1) * width + c));
    }
}

// The terms of the same two rows at SAM_ROWS steps before and after the middle, from step `first`
// on: even half plus and minus odd half.
SAM_INLINE void make_terms(struct sam_rope_attend *r, float *dst, int d, int first, int columns)
{
    const int width = columns * VL, rows = d < r->m ? 2 : 1, middle = r->side / 2;
    const size_t step = (size_t) term_rows(r) * width, size = (size_t) SAM_ROWS * width;
    float *sum = r->attend.score;
    for (int k = 0; k < rows; k++)
        for (int half = 0; half < 2; half++)
            multiply_waves(r, sum + (2 * k + half) * size, r->wave[half] + first,
                           r->part[half] + k * r->part_size, columns);
    for (int i = 0; i < SAM_ROWS && first + i <= middle; i++)
        for (int c = 0; c < columns; c++) {
            vf after[2], before[2];
            for (int k = 0; k < rows; k++) {
                const float *even = sum + 2 * k * size + i * width + c * VL;
                after[k] = vf_load(even) + vf_load(even + size);
                before[k] = vf_load(even) - vf_load(even + size);
            }
            if (middle + first + i < r->side)
                put_terms(r, dst + (middle + first + i) * step, d, after, c, width);
            put_terms(r, dst + (middle - first - i) * step, d, before, c, width);
        }
}

// The terms of keys that are not turned: plain products.
SAM_INLINE void make_unturned(const struct sam_rope_attend *r, float *dst, int d,
                              const float *query, const float *weight, int columns)
{
    const int width = columns * VL;
    const float *next = d < r->m ? weight + r->d : weight; // of the bias there is no second
    vf sum[COLUMNS][2];
    for (int c = 0; c < columns; c++)
        sum[c][0] = sum[c][1] = vf_set(0.0f);
    for (int i = 0; i < r->d / 2; i++)
        for (int c = 0; c < columns; c++) {
            const vf q = vf_load(query + (size_t) i * width + c * VL);
            sum[c][0] = vf_set(weight[i]) * q + sum[c][0];
            sum[c][1] = vf_set(next[i]) * q + sum[c][1];
        }
    for (int c = 0; c < columns; c++)
        put_terms(r, dst, d, sum[c], c, width);
}

// All terms of a panel. With T(t) the one at t steps from the middle, a pair of channels that turns
// by w a step adds a cos(w t) + b sin(w t): the two halves, even and odd, serve t and -t alike.
SAM_INLINE void make_panel(struct sam_rope_attend *r, int column, int columns)
{
    const int width = columns * VL, half = r->d / 2, middle = r->side / 2;
    for (int axis = 0; axis < 2; axis++) {
        const float *query = r->query + (size_t) column * VL * r->d + axis * half * width;
        float *dst = r->along[axis] + (size_t) column * VL * term_rows(r) * (r->side + 1);
        turn_back(r->turned, query, r->axis + (size_t) middle * half, half, width);
        for (int d = 0; d <= r->m; d += 2) {
            const float *weight = r->weight + (size_t) d * r->d + axis * half;
            make_parts(r, 0, weight, columns);
            if (d < r->m)
                make_parts(r, r->part_size, weight + r->d, columns);
            for (int first = 0; first <= middle; first += SAM_ROWS)
                make_terms(r, dst, d, first, columns);
            make_unturned(r, dst + (size_t) r->side * term_rows(r) * width, d, query, weight,
                          columns);
        }
    }
}

static void rope_start(struct sam_rope_attend *r)
{
    struct sam_attend *a = &r->attend;
    start(a);
    for (int column = 0; column < a->columns; column += panel_columns(a, column)) {
        switch (panel_columns(a, column)) {
        case 1: make_panel(r, column, 1); break;
        case 2: make_panel(r, column, 2); break;
        case 3: make_panel(r, column, 3); break;
        }
    }
    end_products(a);
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
    const int width = columns * VL, depth = PAIRS ? (b->num + 1) / 2 : b->num;
    const int key = r->m / (1 + PAIRS);
    const size_t step = (size_t) term_rows(r) * width;
    const size_t first = (size_t) column * VL * term_rows(r) * (r->side + 1);
    float *out = a->out + (size_t) column * VL * a->values;

    for (int p = 0, j = 0; p < b->num_places; p++) {
        const struct sam_rope_place *place = &b->places[p];
        const float *x = r->along[0] + first + place->x * step;
        const float *y = r->along[1] + first + place->y * step;
        if (column == 0)
            rope_fetch(r, j, place->num);
        const int groups = (place->num + SAM_ROWS - 1) / SAM_ROWS;
        for (int i = 0; i < groups; i++) { // of much the same size
            const int rows = (place->num - 1 - i) / groups + 1;
            multiply_place(r, a->score + (size_t) j * width, b->keys + (size_t) j * key, x, y,
                           columns, rows);
            j += rows;
        }
    }

    float scale[COLUMNS * VL];
    for (int c = 0; c < columns; c++)
        soften(a, a->score + c * VL, width, b->num, column + c, scale + c * VL);

    multiply_values(a, out, scale, b->values, depth, columns);
}

static void rope_block(struct sam_rope_attend *r, const struct sam_rope_block *b)
{
    struct sam_attend *a = &r->attend;
    for (int column = 0; column < a->columns; column += panel_columns(a, column)) {
        switch (panel_columns(a, column)) {
        case 1: rope_panel(r, b, column, 1); break;
        case 2: rope_panel(r, b, column, 2); break;
        case 3: rope_panel(r, b, column, 3); break;
        }
    }
    end_products(a);
}

#endif // SAM_ATTENTION_ROPE_H
