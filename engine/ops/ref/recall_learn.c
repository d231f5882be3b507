// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// A row of keys: number by number, K of each; then K y.
struct keys {
    float *x, *y;
    int c, count; // K
    float trust;
};

// Whether one of the cells has one of the object around it.
static bool is_beside(const struct sam_recall_learn *p, const int *cells, int count,
                      const float *shares)
{
    for (int k = 0; k < count; k++)
        if (ref_is_near(shares, p->features.h, p->features.w, p->beside, cells[k]))
            return true;
    return false;
}

// Key i: the mean of cells that are given by their number, and of their y.
static void store_key(const struct sam_recall_learn *p, struct keys keys, int i, const int *cells,
                      int count, const float *shares)
{
    float sum[SAM_MAX_RIDGE] = { 0 }, y = 0, square = 0;
    for (int k = 0; k < count; k++) {
        const float *x = (const float *) p->features.data + (size_t) cells[k] * keys.c;
        for (int j = 0; j < keys.c; j++)
            sum[j] += x[j] / (float) count;
        y += (2 * shares[cells[k]] - 1) / (float) count;
    }
    for (int j = 0; j < keys.c; j++)
        square += sum[j] * sum[j];
    for (int j = 0; j < keys.c; j++)
        keys.x[(size_t) j * keys.count + i] = sum[j] / fmaxf(sqrtf(square), 1e-12f);
    keys.y[i] = y < 0 && is_beside(p, cells, count, shares) ? y * keys.trust : y;
}

static void learn(const struct sam_recall_learn *p, int n, struct keys keys)
{
    const int h = p->features.h, w = p->features.w, cells = h * w, blocks = cells / 4;
    float *shares = (float *) p->room.data + (size_t) n * 2 * cells, *near = shares + cells;
    int count = 0, seen = 0, stored = 0;
    for (int i = 0; i < cells; i++)
        shares[i] = ref_share(&p->logits, n, i / w, i % w);
    for (int i = 0; i < cells; i++)
        count += near[i] = ref_is_near(shares, h, w, p->ring, i);
    const int most = ref_min(count, keys.count - blocks);
    for (int i = 0; i < cells; i++)
        if (near[i] > 0 && seen++ == (int) ((int64_t) stored * count / ref_max(most, 1)) &&
            stored < most)
            store_key(p, keys, stored++, &i, 1, shares);
    for (int i = 0; i < blocks; i++) {
        const int first = i / (w / 2) * 2 * w + i % (w / 2) * 2;
        const int block[] = { first, first + 1, first + w, first + w + 1 };
        if (near[block[0]] + near[block[1]] + near[block[2]] + near[block[3]] == 0)
            store_key(p, keys, keys.count - blocks + i, block, 4, shares);
    }
}

void sam_recall_learn_ref(struct sam_queue *q, const struct sam_recall_learn *p)
{
    const int c = p->features.c, k = p->keys.c / (c + 1);
    for (int n = 0; n < p->logits.n; n++) {
        const int after = ref_count(&p->after, n);
        const bool is_new = ref_count(&p->prompted, n) > 0 && sam_load(&p->score, n) > 0;
        if (after < 0)
            continue;
        float *row = ref_carry_row(&p->keys, is_new ? -1 : ref_count(&p->before, n), after);
        const float trust = (sam_load(&p->iou, n) - p->doubted) / (p->trusted - p->doubted);
        if (is_new)
            learn(p, n, (struct keys) { row, row + (size_t) c * k, c, k,
                                        fminf(fmaxf(trust, 0), 1) });
    }
}
