// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// The logit of object n at (y, x) of an image of width x height. The order of the sums is
// PyTorch's too: across, then down.
static float logit_at(const struct sam_tensor *logits, int n, int y, int x, int width, int height)
{
    const struct ref_taps v = ref_bilinear(y, height, logits->w);
    const struct ref_taps h = ref_bilinear(x, width, logits->c);
    const size_t upper = ((size_t) n * logits->w + v.lo) * logits->c;
    const size_t lower = ((size_t) n * logits->w + v.hi) * logits->c;
    const float a = (1 - h.weight) * sam_load(logits, upper + h.lo)
                  + h.weight * sam_load(logits, upper + h.hi);
    const float b = (1 - h.weight) * sam_load(logits, lower + h.lo)
                  + h.weight * sam_load(logits, lower + h.hi);
    return (1 - v.weight) * a + v.weight * b;
}

static void draw_labels(const struct sam_draw_masks *p)
{
    const struct sam_labels *l = &p->labels;
    for (int y = 0; y < l->height; y++)
        for (int x = 0; x < l->width; x++) {
            float best = 0;
            uint8_t label = 0;
            for (int n = 0; n < p->logits.n; n++) { // slots ascend: the first of a tie stays
                const float logit = logit_at(&p->logits, n, y, x, l->width, l->height);
                if (logit > best) {
                    best = logit;
                    label = (uint8_t) p->slot[n];
                }
            }
            l->data[(size_t) y * l->stride + x] = label;
        }
}

static void measure(const struct sam_draw_masks *p, int n)
{
    int x0 = p->width, y0 = p->height, x1 = 0, y1 = 0, count = 0;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            if (!(logit_at(&p->logits, n, y, x, p->width, p->height) > 0))
                continue;
            x0 = ref_min(x0, x), y0 = ref_min(y0, y);
            x1 = ref_max(x1, x + 1), y1 = ref_max(y1, y + 1);
            count++;
        }
    const int32_t box[5] = { count ? x0 : 0, count ? y0 : 0, x1, y1, count };
    for (int i = 0; i < 5; i++)
        p->boxes[n][i] = box[i];
}

void sam_draw_masks_ref(struct sam_queue *q, const struct sam_draw_masks *p)
{
    if (p->labels.data)
        draw_labels(p);
    for (int n = 0; n < p->logits.n && p->boxes; n++)
        measure(p, n);
}
