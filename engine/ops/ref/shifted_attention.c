// SPDX-License-Identifier: MIT
// Swin's attention, one query and one head at a time.

#include "ops/ref/ref.h"

// Position (y, x) of a window whose first position is (top, left) of the torus.
struct place {
    int y, x;           // inside of the window
    bool below, right;  // beyond the map's end
    const struct sam_tensor *token;
    size_t at;          // its q, k and v
};

static struct place find(const struct sam_shifted_attention *p, int n, int top, int left, int y,
                         int x)
{
    const int w = p->window;
    const int rows = (p->qkv.h + w - 1) / w * w, columns = (p->qkv.w + w - 1) / w * w;
    struct place f = { y, x, top + y >= rows, left + x >= columns, &p->pad, 0 };
    const int row = (top + y) % rows, column = (left + x) % columns;

    if (row < p->qkv.h && column < p->qkv.w) {
        f.token = &p->qkv;
        f.at = ref_pixel(&p->qkv, n, row, column);
    }
    return f;
}

static double score(const struct sam_shifted_attention *p, int head, const struct place *query,
                    const struct place *key)
{
    const int dim = p->dst.c / p->heads, side = 2 * p->window - 1;
    const int y = query->y - key->y + p->window - 1, x = query->x - key->x + p->window - 1;
    const double dot = ref_dot(query->token, query->at + (size_t) head * dim, key->token,
                               key->at + p->dst.c + (size_t) head * dim, dim);
    const double apart = query->below != key->below || query->right != key->right ? 100 : 0;
    return dot / sqrt(dim) + sam_load(&p->bias, ((size_t) head * side + y) * side + x) - apart;
}

// The query of the map's position (row, column).
static void attend(const struct sam_shifted_attention *p, int n, int row, int column, int head)
{
    const int w = p->window, dim = p->dst.c / p->heads;
    const int rows = (p->qkv.h + w - 1) / w * w, columns = (p->qkv.w + w - 1) / w * w;
    const int y = (row - p->shift + rows) % rows, x = (column - p->shift + columns) % columns;
    const int top = y / w * w + p->shift, left = x / w * w + p->shift;
    const struct place query = find(p, n, top, left, y % w, x % w);
    double largest = -INFINITY, total = 0, sum[SAM_MAX_HEAD_DIM] = { 0 };

    for (int i = 0; i < w * w; i++) {
        const struct place key = find(p, n, top, left, i / w, i % w);
        largest = fmax(largest, score(p, head, &query, &key));
    }
    for (int i = 0; i < w * w; i++) {
        const struct place key = find(p, n, top, left, i / w, i % w);
        const double weight = exp(score(p, head, &query, &key) - largest);
        total += weight;
        ref_accumulate(sum, weight, key.token, key.at + 2 * p->dst.c + (size_t) head * dim, dim);
    }
    for (int c = 0; c < dim; c++)
        sam_store(&p->dst, ref_pixel(&p->dst, n, row, column) + (size_t) head * dim + c,
                  (float) (sum[c] / total));
}

void sam_shifted_attention_ref(struct sam_queue *q, const struct sam_shifted_attention *p)
{
    for (int n = 0; n < p->dst.n; n++)
        for (int y = 0; y < p->dst.h; y++)
            for (int x = 0; x < p->dst.w; x++)
                for (int head = 0; head < p->heads; head++)
                    attend(p, n, y, x, head);
}
