// SPDX-License-Identifier: MIT
// Masks whose edges follow the frame's luma: see sam_draw_edges. Means of the luma in the cells,
// then labels, then boxes; a pixel works out its nine weights and adds up every object's logits.
#include "draw.cuh"

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

static __device__ float edge_nearness(int pixel, int i, int count, int size)
{
    const float t = ((2 * pixel + 1) * count - (2 * i + 1) * size) / (2.0f * size);
    const float a = 1.0f - t * t * (4.0f / 9);
    return a > 0.0f ? a * a : 0.0f;
}

struct edge_logits {
    luma_plane frame;
    const float *logits, *mean;
    int h, w; // cells
    int height, width;

    // Its nine weights and cells.
    struct pixel {
        float weight[9];
        int cell[9];
    };

    __device__ pixel pixel_at(int y, int x) const
    {
        const int cy = (2 * y + 1) * h / (2 * height), cx = (2 * x + 1) * w / (2 * width);
        const float luma = mean_of(frame, y, height, x, width);
        pixel taps;
#pragma unroll
        for (int k = 0; k < 9; k++) {
            const int i = cy + k / 3 - 1, j = cx + k % 3 - 1;
            taps.cell[k] = min(max(i, 0), h - 1) * w + min(max(j, 0), w - 1);
            const float d = luma - mean[taps.cell[k]];
            float like = fmaxf(1.0f - d * d * (1.0f / 8192), 0.0f);
            like *= like, like *= like, like *= like, like *= like;
            taps.weight[k] = edge_nearness(y, i, h, height) * edge_nearness(x, j, w, width) *
                             (like + 1.0f / 8192);
        }
        return taps;
    }

    __device__ float logit_at(int n, const pixel &taps) const
    {
        const float *map = logits + (size_t) n * h * w;
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < 9; k++)
            sum += taps.weight[k] * map[taps.cell[k]];
        return sum;
    }
};

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
    box *boxes;
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
                                                   p->masks.logits.n * sizeof(box));
    if (!at)
        return false;
    room->plane = at;
    room->labels = at + whole_words(plane);
    room->boxes = (box *) (room->labels + whole_words(labels));
    if (!f->on_device)
        sam_cuda_upload_rows(q, at, f->plane[0], f->stride[0], sam_frame_row_bytes(f, 0),
                             f->height);
    return !q->status;
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
    const edge_logits m = { plane, (const float *) t->data, (const float *) p->room.data,
                            t->w, t->c, 0, 0 };
    each_by<1>(q, "draw_edges", edge_mean_at { plane, (float *) p->room.data, m.h, m.w },
               (size_t) m.h * m.w);
    if (!q->status && p->masks.labels.data)
        draw_labels(q, "draw_edges", &p->masks, m, room.labels);
    if (!q->status && p->masks.boxes)
        measure(q, "draw_edges", &p->masks, m, room.boxes);
}
