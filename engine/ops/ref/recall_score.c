// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// What the key that is most like cell i tells.
static float recall(const struct sam_recall_score *p, const float *keys, int i)
{
    const int c = p->features.c, count = p->keys.c / (c + 1);
    const float *x = (const float *) p->features.data + (size_t) i * c;
    float most = -1e30f, y = 0, square = 0;
    for (int k = 0; k < count; k++) {
        float product = 0;
        for (int j = 0; j < c; j++)
            product += x[j] * keys[(size_t) j * count + k];
        if (product > most)
            most = product, y = keys[(size_t) c * count + k];
    }
    for (int j = 0; j < c; j++)
        square += x[j] * x[j];
    most /= fmaxf(sqrtf(square), 1e-12f);
    return y / (1 + expf((p->likeness - most) / p->softness));
}

void sam_recall_score_ref(struct sam_queue *q, const struct sam_recall_score *p)
{
    const int h = p->features.h, w = p->features.w;
    for (int n = 0; n < p->logits.n; n++) {
        const int slot = ref_count(&p->slot, n);
        float *room = (float *) p->room.data + (size_t) n * h * w;
        if (slot < 0 || !(sam_load(&p->score, n) > 0))
            continue;
        for (int i = 0; i < h * w; i++)
            room[i] = recall(p, (const float *) p->keys.data + (size_t) slot * p->keys.c, i);
        ref_add_cells((float *) p->logits.data + (size_t) n * 4 * h * w, room, h, w, p->scale);
    }
}
