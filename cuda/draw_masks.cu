// SPDX-License-Identifier: MIT
// Masks at the size of the frame: the label map, boxes and areas.
#include "draw.cuh"
#include "sample.cuh"

struct mask_logits {
    const float *logits;
    int h, w; // logits of an object
    int height, width;

    struct pixel {
        taps v, u;
    };

    __device__ pixel pixel_at(int y, int x) const
    {
        return { taps_at(y, height, h), taps_at(x, width, w) };
    }

    // The order of the sums is PyTorch's: across, then down.
    __device__ float logit_at(int n, const pixel &at) const
    {
        const float *map = logits + (size_t) n * h * w;
        const float *upper = map + at.v.lo * w, *lower = map + at.v.hi * w;
        return blend(blend(upper[at.u.lo], upper[at.u.hi], at.u.weight),
                     blend(lower[at.u.lo], lower[at.u.hi], at.u.weight), at.v.weight);
    }
};

static void draw_map(struct sam_queue *q, const struct sam_draw_masks *p, const mask_logits &m)
{
    const struct sam_labels *l = &p->labels;
    uint8_t *packed = NULL;
    if (!l->on_device) {
        packed = (uint8_t *) sam_cuda_room(q, (size_t) l->width * l->height);
        if (!packed)
            return;
    }
    draw_labels(q, "draw_masks", p, m, packed);
}

extern "C" void sam_draw_masks_cuda(struct sam_queue *q, const struct sam_draw_masks *p)
{
    const struct sam_tensor *t = &p->logits;
    const mask_logits m = { (const float *) t->data, t->w, t->c, 0, 0 };
    if (p->labels.data)
        draw_map(q, p, m);
    if (!q->status && p->boxes)
        measure(q, "draw_masks", p, m, (box *) sam_cuda(q)->workspace);
}
