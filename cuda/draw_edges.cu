// Masks whose edges follow the frame's luma: see sam_draw_edges. Means of the luma in the cells,
// then labels, then boxes; a pixel works out its nine weights and adds up every object's logits.
#include "view.cuh"

// Plane 0, and where the numbers of a pixel are.
struct luma_plane {
    const uint8_t *first;
    int height, width, stride, step, red, blue;
    bool is_rgb;
};

static __device__ int luma_of(const luma_plane &f, int y, int x)
{
    const uint8_t *at = f.first + (size_t) y * f.stride;
    if (!f.is_rgb)
        return at[x * f.step];
    return (77 * at[x * f.step + f.red] + 150 * at[x * f.step + 1] +
            29 * at[x * f.step + f.blue] + 128) / 256;
}

// The first pixel whose centre is not before cell i of `count` over `size` pixels.
static __device__ int begin_of(int i, int count, int size)
{
    return (2 * i * size + count - 1) / (2 * count);
}

// The mean of the luma in cell (i, j) of h x w.
static __device__ float mean_of(const luma_plane &f, int i, int h, int j, int w)
{
    const int y0 = min(begin_of(i, h, f.height), f.height - 1);
    const int x0 = min(begin_of(j, w, f.width), f.width - 1);
    const int y1 = max(begin_of(i + 1, h, f.height), y0 + 1);
    const int x1 = max(begin_of(j + 1, w, f.width), x0 + 1);
    long long sum = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            sum += luma_of(f, y, x);
    return (float) sum / (float) ((long long) (y1 - y0) * (x1 - x0));
}

// Shape: a thread makes the mean of a cell (1080p, 64 x 64 cells: 510 pixels). Traffic: the plane
// once, means once.
struct edge_mean_at {
    luma_plane frame;
    float *mean;
    int h, w;

    template <int N> __device__ void at(unsigned i) const
    {
        mean[i] = mean_of(frame, i / w, h, i % w, w);
    }
};

struct edge_maps {
    luma_plane frame;
    const float *logits, *mean;
    int n, h, w;       // h x w cells
    int height, width; // of the picture
};

static __device__ float edge_nearness(int pixel, int i, int count, int size)
{
    const float t = ((2 * pixel + 1) * count - (2 * i + 1) * size) / (2.0f * size);
    const float a = 1.0f - t * t * (4.0f / 9);
    return a > 0.0f ? a * a : 0.0f;
}

// A pixel's nine weights and cells.
struct edge_taps {
    float weight[9];
    int cell[9];
};

static __device__ void find_taps(const edge_maps &m, int y, int x, edge_taps &taps)
{
    const int cy = (2 * y + 1) * m.h / (2 * m.height), cx = (2 * x + 1) * m.w / (2 * m.width);
    const float luma = mean_of(m.frame, y, m.height, x, m.width);
#pragma unroll
    for (int k = 0; k < 9; k++) {
        const int i = cy + k / 3 - 1, j = cx + k % 3 - 1;
        taps.cell[k] = min(max(i, 0), m.h - 1) * m.w + min(max(j, 0), m.w - 1);
        const float d = luma - m.mean[taps.cell[k]];
        float like = fmaxf(1.0f - d * d * (1.0f / 8192), 0.0f);
        like *= like, like *= like, like *= like, like *= like;
        taps.weight[k] = edge_nearness(y, i, m.h, m.height) * edge_nearness(x, j, m.w, m.width) *
                         (like + 1.0f / 8192);
    }
}

static __device__ float edge_logit(const edge_maps &m, int n, const edge_taps &taps)
{
    const float *map = m.logits + (size_t) n * m.h * m.w;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 9; k++)
        sum += taps.weight[k] * map[taps.cell[k]];
    return sum;
}

// Shape: a thread makes one label. Traffic: the plane and the labels once; the rest from the cache.
struct edge_label_at {
    edge_maps m;
    uint8_t *labels;
    int stride;
    uint8_t slot[256];

    template <int N> __device__ void at(unsigned i) const
    {
        const int y = i / m.width, x = i % m.width;
        edge_taps taps;
        find_taps(m, y, x, taps);
        float best = 0.0f;
        uint8_t label = 0;
        for (int n = 0; n < m.n; n++) { // slots ascend: the first of a tie stays
            const float logit = edge_logit(m, n, taps);
            if (logit > best) {
                best = logit;
                label = slot[n];
            }
        }
        labels[(size_t) y * stride + x] = label;
    }
};

struct edge_box {
    int x0, y0, x1, y1, count;
};

struct empty_edge_box_at {
    edge_box *boxes;

    template <int N> __device__ void at(unsigned i) const
    {
        boxes[i] = { INT32_MAX, INT32_MAX, 0, 0, 0 };
    }
};

// A box around nothing has no corner.
struct close_edge_box_at {
    edge_box *boxes;

    template <int N> __device__ void at(unsigned i) const
    {
        if (!boxes[i].count)
            boxes[i].x0 = boxes[i].y0 = 0;
    }
};

enum { EDGE_THREADS = 256, EDGE_ROWS = 8 };

// Shape: a block looks at EDGE_ROWS rows of one object's mask; its warps add up theirs, then the
// warps' extremes go to the object's box by atomics. Traffic: the plane once per object.
static __global__ void __launch_bounds__(EDGE_THREADS) edge_boxes_kernel(edge_maps m,
                                                                         edge_box *boxes)
{
    const int n = blockIdx.y, first = blockIdx.x * EDGE_ROWS;
    const int end = min(first + EDGE_ROWS, m.height);
    edge_box b = { INT32_MAX, INT32_MAX, 0, 0, 0 };
    for (int y = first; y < end; y++)
        for (int x = threadIdx.x; x < m.width; x += EDGE_THREADS) {
            edge_taps taps;
            find_taps(m, y, x, taps);
            if (!(edge_logit(m, n, taps) > 0.0f))
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

// Of the frame, at `first`, rows `stride` bytes apart.
static luma_plane plane_of(const struct sam_frame *f, const uint8_t *first, int stride)
{
    luma_plane p = { first, f->height, f->width, stride, 1, 0, 2, false };
    switch (f->format) {
    case SAM_PIXEL_BGR:
    case SAM_PIXEL_BGRA:
        p.red = 2, p.blue = 0;
        // fall through
    case SAM_PIXEL_RGB:
    case SAM_PIXEL_RGBA:
        p.is_rgb = true;
        p.step = f->format == SAM_PIXEL_RGB || f->format == SAM_PIXEL_BGR ? 3 : 4;
        break;
    case SAM_PIXEL_P010:
        p.first++;
        // fall through
    case SAM_PIXEL_YUY2: p.step = 2; break;
    default: break;
    }
    return p;
}

// What one call needs of the room: plane 0 and labels where they are the host's, and boxes.
struct edge_room {
    uint8_t *plane, *labels;
    edge_box *boxes;
};

static size_t whole_words(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static bool find_room(struct sam_queue *q, const struct sam_draw_edges *p, edge_room *room)
{
    const struct sam_labels *l = &p->masks.labels;
    const struct sam_frame *f = &p->frame;
    const size_t plane = f->on_device ? 0 : (size_t) sam_frame_row_bytes(f, 0) * f->height;
    const size_t labels = l->data && !l->on_device ? (size_t) l->width * l->height : 0;
    uint8_t *at = (uint8_t *) sam_cuda_room(q, whole_words(plane) + whole_words(labels) +
                                                   p->masks.logits.n * sizeof(edge_box));
    if (!at)
        return false;
    room->plane = at;
    room->labels = at + whole_words(plane);
    room->boxes = (edge_box *) (room->labels + whole_words(labels));
    if (!f->on_device)
        sam_cuda_upload_rows(q, at, f->plane[0], f->stride[0], sam_frame_row_bytes(f, 0),
                             f->height);
    return !q->status;
}

static void draw_labels(struct sam_queue *q, const struct sam_draw_edges *p, edge_maps m,
                        uint8_t *packed)
{
    const struct sam_labels *l = &p->masks.labels;
    edge_label_at f = { m, l->data, l->stride, {} };
    f.m.height = l->height;
    f.m.width = l->width;
    if (!l->on_device) { // on its way to the host it is packed
        f.stride = l->width;
        f.labels = packed;
    }
    for (int n = 0; n < m.n; n++)
        f.slot[n] = (uint8_t) p->masks.slot[n];
    each_by<1>(q, "draw_edges", f, (size_t) l->width * l->height);
    if (!q->status && !l->on_device)
        sam_cuda_fetch_rows(q, l->data, l->stride, packed, l->width, l->height);
}

static void measure(struct sam_queue *q, const struct sam_draw_edges *p, const edge_maps &m,
                    edge_box *boxes)
{
    each_by<1>(q, "draw_edges", empty_edge_box_at { boxes }, m.n);
    if (q->status)
        return;
    SAM_LAUNCH(edge_boxes_kernel, dim3(blocks_for(m.height, EDGE_ROWS), m.n), EDGE_THREADS, 0,
               sam_cuda_stream(q), m, boxes);
    sam_cuda_launched(q, "draw_edges");
    static_assert(sizeof(edge_box) == sizeof(*p->masks.boxes), "boxes go to the host as they are");
    each_by<1>(q, "draw_edges", close_edge_box_at { boxes }, m.n);
    if (!q->status)
        sam_cuda_fetch(q, p->masks.boxes, boxes, m.n * sizeof(edge_box));
}

extern "C" void sam_draw_edges_cuda(struct sam_queue *q, const struct sam_draw_edges *p)
{
    const struct sam_tensor *t = &p->masks.logits;
    edge_room room = {};
    if (!find_room(q, p, &room))
        return;
    const luma_plane plane = p->frame.on_device
        ? plane_of(&p->frame, p->frame.plane[0], p->frame.stride[0])
        : plane_of(&p->frame, room.plane, sam_frame_row_bytes(&p->frame, 0));
    const edge_maps m = { plane, (const float *) t->data, (const float *) p->room.data, t->n, t->w,
                          t->c, p->frame.height, p->frame.width };
    each_by<1>(q, "draw_edges", edge_mean_at { m.frame, (float *) p->room.data, m.h, m.w },
               (size_t) m.h * m.w);
    if (!q->status && p->masks.labels.data)
        draw_labels(q, p, m, room.labels);
    if (!q->status && p->masks.boxes)
        measure(q, p, m, room.boxes);
}
