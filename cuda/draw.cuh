// SPDX-License-Identifier: MIT
#pragma once

// A label map, boxes and areas of masks whose logits are worked out pixel by pixel. The logits are
// a struct L: height and width are the picture's; pixel_at(y, x) makes an L::pixel, what the logits
// of all objects there have in common; logit_at(n, pixel) is object n's.
#include "view.cuh"

// Shape: a thread makes one label. Traffic: the labels, and what a pixel is made of, once; logits
// from the cache.
template <class L> struct label_at {
    L logits;
    int n; // objects
    uint8_t *labels;
    int stride;
    uint8_t slot[256];

    template <int N> __device__ void at(unsigned i) const
    {
        const int y = i / logits.width, x = i % logits.width;
        const typename L::pixel pixel = logits.pixel_at(y, x);
        float best = 0.0f;
        uint8_t label = 0;
        for (int k = 0; k < n; k++) { // slots ascend: the first of a tie stays
            const float logit = logits.logit_at(k, pixel);
            if (logit > best) {
                best = logit;
                label = slot[k];
            }
        }
        labels[(size_t) y * stride + x] = label;
    }
};

struct box {
    int x0, y0, x1, y1, count;
};

struct empty_box_at {
    box *boxes;

    template <int N> __device__ void at(unsigned i) const
    {
        boxes[i] = { INT32_MAX, INT32_MAX, 0, 0, 0 };
    }
};

// A box around nothing has no corner.
struct close_box_at {
    box *boxes;

    template <int N> __device__ void at(unsigned i) const
    {
        if (!boxes[i].count)
            boxes[i].x0 = boxes[i].y0 = 0;
    }
};

enum { BOX_THREADS = 256, BOX_ROWS = 8 };

// Shape: a block looks at BOX_ROWS rows of one object's mask; its warps add up theirs, then the
// warps' extremes go to the object's box by atomics. Traffic: what a pixel is made of, once per
// object; logits from the cache.
template <class L>
static __global__ void __launch_bounds__(BOX_THREADS) boxes_kernel(L logits, box *boxes)
{
    await_earlier();
    const int n = blockIdx.y, first = blockIdx.x * BOX_ROWS;
    const int end = min(first + BOX_ROWS, logits.height);
    box b = { INT32_MAX, INT32_MAX, 0, 0, 0 };
    for (int y = first; y < end; y++)
        for (int x = threadIdx.x; x < logits.width; x += BOX_THREADS) {
            if (!(logits.logit_at(n, logits.pixel_at(y, x)) > 0.0f))
                continue;
            b.x0 = min(b.x0, x), b.x1 = max(b.x1, x + 1);
            b.y0 = min(b.y0, y), b.y1 = y + 1;
            b.count++;
        }
    b.x0 = __reduce_min_sync(0xffffffffu, b.x0), b.x1 = __reduce_max_sync(0xffffffffu, b.x1);
    b.y0 = __reduce_min_sync(0xffffffffu, b.y0), b.y1 = __reduce_max_sync(0xffffffffu, b.y1);
    b.count = __reduce_add_sync(0xffffffffu, b.count);
    if (threadIdx.x % 32 || !b.count)
        return;
    atomicMin(&boxes[n].x0, b.x0);
    atomicMin(&boxes[n].y0, b.y0);
    atomicMax(&boxes[n].x1, b.x1);
    atomicMax(&boxes[n].y1, b.y1);
    atomicAdd(&boxes[n].count, b.count);
}

// packed: room of the device for labels that are the host's.
template <class L>
static void draw_labels(struct sam_queue *q, const char *op, const struct sam_draw_masks *p,
                        L logits, uint8_t *packed)
{
    const struct sam_labels *l = &p->labels;
    logits.height = l->height;
    logits.width = l->width;
    label_at<L> f = { logits, p->logits.n, l->data, l->stride, {} };
    if (!l->on_device) { // on its way to the host it is packed
        f.stride = l->width;
        f.labels = packed;
    }
    for (int n = 0; n < f.n; n++)
        f.slot[n] = (uint8_t) p->slot[n];
    each_by<1>(q, op, f, (size_t) l->width * l->height);
    if (!q->status && !l->on_device)
        sam_cuda_fetch_rows(q, l->data, l->stride, packed, l->width, l->height);
}

// boxes: room of the device for one per object.
template <class L>
static void measure(struct sam_queue *q, const char *op, const struct sam_draw_masks *p, L logits,
                    box *boxes)
{
    const int n = p->logits.n;
    logits.height = p->height;
    logits.width = p->width;
    each_by<1>(q, op, empty_box_at { boxes }, n);
    if (q->status)
        return;
    SAM_LAUNCH(boxes_kernel<L>, dim3(blocks_for(p->height, BOX_ROWS), n), BOX_THREADS, 0, q, logits,
               boxes);
    sam_cuda_launched(q, op);
    static_assert(sizeof(box) == sizeof(*p->boxes), "boxes go to the host as they are");
    each_by<1>(q, op, close_box_at { boxes }, n);
    if (!q->status)
        sam_cuda_fetch(q, p->boxes, boxes, n * sizeof(box));
}
