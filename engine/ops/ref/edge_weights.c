// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

static float distance2(const struct sam_tensor *t, int y, int x, int v, int u)
{
    const size_t a = ref_pixel(t, 0, y, x), b = ref_pixel(t, 0, v, u);
    float sum = 0;
    for (int k = 0; k < t->c; k++) {
        const float d = sam_load(t, a + k) - sam_load(t, b + k);
        sum += d * d;
    }
    return sum;
}

void sam_edge_weights_ref(struct sam_queue *q, const struct sam_edge_weights *p)
{
    const int h = p->src.h, w = p->src.w;
    float *right = p->dst.data, *down = right + (size_t) h * w;
    double sum = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const int i = y * w + x;
            right[i] = x + 1 < w ? distance2(&p->src, y, x, y, x + 1) : 0;
            down[i] = y + 1 < h ? distance2(&p->src, y, x, y + 1, x) : 0;
            sum += (double) right[i] + (double) down[i];
        }
    const int edges = ref_max(h * (w - 1) + w * (h - 1), 1);
    const float scale = p->sharpness / fmaxf((float) (sum / edges), 1e-12f);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const int i = y * w + x;
            right[i] = x + 1 < w ? expf(-scale * right[i]) + p->least : 0;
            down[i] = y + 1 < h ? expf(-scale * down[i]) + p->least : 0;
        }
}
