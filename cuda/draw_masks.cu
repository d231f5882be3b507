// Masks at the size of the frame: the label map, boxes and areas.
#include "sample.cuh"
#include "view.cuh"

struct maps {
    const float *logits;
    int n, h, w; // h x w logits each
};

// The logit of object n at (y, x) of an image of width x height. The order of the sums is
// PyTorch's: across, then down.
static __device__ float logit_at(const maps &m, int n, const taps &v, const taps &u)
{
    const float *map = m.logits + (size_t) n * m.h * m.w;
    const float *upper = map + v.lo * m.w, *lower = map + v.hi * m.w;
    return blend(blend(upper[u.lo], upper[u.hi], u.weight),
                 blend(lower[u.lo], lower[u.hi], u.weight), v.weight);
}

// Shape: a thread makes one label. Traffic: labels once; logits from the cache.
struct label_at {
    maps m;
    uint8_t *labels;
    int width, height, stride;
    uint8_t slot[256];

    template <int N> __device__ void at(unsigned i) const
    {
        const int y = i / width, x = i % width;
        const taps v = taps_at(y, height, m.h), u = taps_at(x, width, m.w);
        float best = 0.0f;
        uint8_t label = 0;
        for (int n = 0; n < m.n; n++) { // slots ascend: the first of a tie stays
            const float logit = logit_at(m, n, v, u);
            if (logit > best) {
                best = logit;
                label = slot[n];
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
// block's extremes go to the object's box by atomics. Traffic: logits from the cache.
static __global__ void __launch_bounds__(BOX_THREADS)
boxes_kernel(maps m, box *boxes, int width, int height)
{
    const int n = blockIdx.y, first = blockIdx.x * BOX_ROWS, end = min(first + BOX_ROWS, height);
    box b = { INT32_MAX, INT32_MAX, 0, 0, 0 };
    for (int y = first; y < end; y++) {
        const taps v = taps_at(y, height, m.h);
        for (int x = threadIdx.x; x < width; x += BOX_THREADS) {
            if (!(logit_at(m, n, v, taps_at(x, width, m.w)) > 0.0f))
                continue;
            b.x0 = min(b.x0, x), b.x1 = max(b.x1, x + 1);
            b.y0 = min(b.y0, y), b.y1 = y + 1;
            b.count++;
        }
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

static void draw_labels(struct sam_queue *q, const struct sam_draw_masks *p, const maps &m)
{
    const struct sam_labels *l = &p->labels;
    const size_t width = l->width, height = l->height;
    label_at f = { m, l->data, l->width, l->height, l->stride, {} };
    if (!l->on_device) { // on its way to the host it is packed
        f.stride = l->width;
        f.labels = (uint8_t *) sam_cuda_room(q, width * height);
    }
    if (!f.labels)
        return;
    for (int n = 0; n < m.n; n++)
        f.slot[n] = (uint8_t) p->slot[n];
    each_by<1>(q, "draw_masks", f, width * height);
    if (!q->status && !l->on_device)
        sam_cuda_fetch_rows(q, l->data, l->stride, f.labels, width, height);
}

static void measure(struct sam_queue *q, const struct sam_draw_masks *p, const maps &m)
{
    box *boxes = (box *) sam_cuda(q)->workspace;
    each_by<1>(q, "draw_masks", empty_box_at { boxes }, m.n);
    if (q->status)
        return;
    SAM_LAUNCH(boxes_kernel, dim3(blocks_for(p->height, BOX_ROWS), m.n), BOX_THREADS, 0,
               sam_cuda_stream(q), m, boxes, p->width, p->height);
    sam_cuda_launched(q, "draw_masks");
    static_assert(sizeof(box) == sizeof(*p->boxes), "boxes go to the host as they are");
    each_by<1>(q, "draw_masks", close_box_at { boxes }, m.n);
    if (!q->status)
        sam_cuda_fetch(q, p->boxes, boxes, m.n * sizeof(box));
}

extern "C" void sam_draw_masks_cuda(struct sam_queue *q, const struct sam_draw_masks *p)
{
    const struct sam_tensor *t = &p->logits;
    const maps m = { (const float *) t->data, t->n, t->w, t->c };
    if (p->labels.data)
        draw_labels(q, p, m);
    if (!q->status && p->boxes)
        measure(q, p, m);
}
