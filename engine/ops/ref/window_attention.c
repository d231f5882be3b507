// SPDX-License-Identifier: MIT
// Hiera's attention: inside windows, or over the whole map as one window.

#include "ops/ref/ref.h"

struct window {
    int n, top, left, height, width; // may reach beyond the map at the bottom and the right
};

// The token at (y, x) of the map: its tensor, and where its q, k and v begin.
static const struct sam_tensor *find_token(const struct sam_window_attention *p, int n, int y,
                                           int x, size_t *at)
{
    if (y >= p->qkv.h || x >= p->qkv.w) {
        *at = 0;
        return &p->pad;
    }
    *at = (((size_t) n * p->qkv.h + y) * p->qkv.w + x) * p->qkv.c;
    return &p->qkv;
}

// The query at (y, x) of dst: the token's own, or the largest of each 2 x 2 cell, by channel.
static void load_query(const struct sam_window_attention *p, int n, int y, int x, int head, int dim,
                       float *query)
{
    const int cell = p->pool ? 2 : 1;
    for (int c = 0; c < dim; c++)
        query[c] = -INFINITY;
    for (int i = 0; i < cell * cell; i++) {
        size_t at;
        const struct sam_tensor *token =
            find_token(p, n, y * cell + i / cell, x * cell + i % cell, &at);
        for (int c = 0; c < dim; c++)
            query[c] = fmaxf(query[c], sam_load(token, at + (size_t) head * dim + c));
    }
}

// scale * q . k for the key at position i of the window.
static double score(const struct sam_window_attention *p, const struct window *w, int i, int head,
                    const struct sam_tensor *query)
{
    const int dim = query->c;
    size_t at;
    const struct sam_tensor *token =
        find_token(p, w->n, w->top + i / w->width, w->left + i % w->width, &at);
    return ref_dot(query, 0, token, at + p->dst.c + (size_t) head * dim, dim) / sqrt(dim);
}

static void attend(const struct sam_window_attention *p, const struct window *w, int y, int x,
                   int head)
{
    const int dim = p->dst.c / p->heads, num_keys = w->height * w->width;
    float numbers[SAM_MAX_HEAD_DIM];
    double largest = -INFINITY, total = 0, sum[SAM_MAX_HEAD_DIM];
    const struct sam_tensor query = { numbers, SAM_F32, 1, 1, 1, dim };

    load_query(p, w->n, y, x, head, dim, numbers);
    for (int i = 0; i < num_keys; i++)
        largest = fmax(largest, score(p, w, i, head, &query));
    for (int c = 0; c < dim; c++)
        sum[c] = 0;
    for (int i = 0; i < num_keys; i++) {
        size_t at;
        const struct sam_tensor *token =
            find_token(p, w->n, w->top + i / w->width, w->left + i % w->width, &at);
        const double weight = exp(score(p, w, i, head, &query) - largest);
        total += weight;
        ref_accumulate(sum, weight, token, at + 2 * p->dst.c + (size_t) head * dim, dim);
    }

    const size_t row = ((size_t) w->n * p->dst.h + y) * p->dst.w + x;
    for (int c = 0; c < dim; c++)
        sam_store(&p->dst, row * p->dst.c + (size_t) head * dim + c, (float) (sum[c] / total));
}

void sam_window_attention_ref(struct sam_queue *q, const struct sam_window_attention *p)
{
    const int height = p->window ? p->window : p->qkv.h, width = p->window ? p->window : p->qkv.w;
    const int cell = p->pool ? 2 : 1;
    for (int n = 0; n < p->dst.n; n++)
        for (int y = 0; y < p->dst.h; y++)
            for (int x = 0; x < p->dst.w; x++)
                for (int head = 0; head < p->heads; head++) {
                    const struct window w = { n, y * cell / height * height,
                                              x * cell / width * width, height, width };
                    attend(p, &w, y, x, head);
                }
}
