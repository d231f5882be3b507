// SPDX-License-Identifier: MIT
// A video frame to the network's input: stretched over all of it, or in its own shape (letterbox).
//
// Shape: a thread makes one pixel of the input, from the frame's pixels under its triangle filter,
// each converted to R'G'B' on the way (1080p to 1024: some 12 of them).
// Traffic: the frame once over the bus, unless it is on the device; once from memory, its overlaps
// from the cache; dst once.
#include "sample.cuh"
#include "view.cuh"

// Where R', G', B', or Y', Cb, Cr are. A description instead of a case for each format: with all
// the cases' addresses at hand, the kernel needs more registers than there are.
struct channel {
    const uint8_t *first;
    int stride, step;   // bytes from row to row, and from one number to the next
    int half_y, half_x; // 1: shared by two rows, by two columns
};

struct image {
    channel channels[3];
    int width, height;
    bool is_ycbcr, is_wide; // numbers of two bytes, the second the more significant one
    float kr, kg, kb, black, luma, chroma; // of Y'CbCr: R' = luma (Y' - black) + ...
    float luma_by, luma_over;              // luma is their quotient
};

// Y'CbCr as sampled to R'G'B', 0 .. 255, clamped: ITU-R BT.601 and BT.709, see ops/ref.
static __device__ float3 from_ycbcr(const image &m, float y, float cb, float cr)
{
    y = (y - m.black) * m.luma;
    cb = (cb - 128.0f) * m.chroma;
    cr = (cr - 128.0f) * m.chroma;
    const float r = y + 2.0f * (1.0f - m.kr) * cr, b = y + 2.0f * (1.0f - m.kb) * cb;
    const float g = (y - m.kr * r - m.kb * b) / m.kg;
    return make_float3(fminf(fmaxf(r, 0.0f), 255.0f), fminf(fmaxf(g, 0.0f), 255.0f),
                       fminf(fmaxf(b, 0.0f), 255.0f));
}

static __device__ float sample(const image &m, const channel &c, int y, int x)
{
    const uint8_t *at = c.first + (size_t) (y >> c.half_y) * c.stride + (x >> c.half_x) * c.step;
    return m.is_wide ? at[1] + at[0] * (1.0f / 256) : at[0];
}

template <float3 (*FROM_YCBCR)(const image &, float, float, float)>
static __device__ float3 pixel_at(const image &m, int y, int x)
{
    const float a = sample(m, m.channels[0], y, x), b = sample(m, m.channels[1], y, x);
    const float c = sample(m, m.channels[2], y, x);
    return m.is_ycbcr ? FROM_YCBCR(m, a, b, c) : make_float3(a, b, c);
}

struct preprocess_at {
    view dst;
    image frame;
    int h, w;
    enum sam_input_scale scale;

    template <int N> __device__ void at(unsigned i) const
    {
        const tent v = tent_at(i / w, h, frame.height), u = tent_at(i % w, w, frame.width);
        float r = 0.0f, g = 0.0f, b = 0.0f;
        for (int y = v.lo; y < v.hi; y++) {
            float row_r = 0.0f, row_g = 0.0f, row_b = 0.0f;
            for (int x = u.lo; x < u.hi; x++) {
                const float3 rgb = pixel_at<from_ycbcr>(frame, y, x);
                const float weight = tent_weight(u, x);
                row_r += weight * rgb.x, row_g += weight * rgb.y, row_b += weight * rgb.z;
            }
            const float weight = tent_weight(v, y);
            r += weight * row_r, g += weight * row_g, b += weight * row_b;
        }
        const bool even = scale == SAM_INPUT_EVEN;
        const bool centred = even || scale == SAM_INPUT_CENTRED; // else ImageNet's mean and spread
        const float half = even ? 127.5f : 128.0f;
        const float by = 1.0f / ((centred ? half : 255.0f) * v.sum * u.sum);
        const float middle = even ? 1.0f : 127.0f / 128.0f;
        store_one(dst, 3 * i, centred ? r * by - middle : (r * by - 0.485f) / 0.229f);
        store_one(dst, 3 * i + 1, centred ? g * by - middle : (g * by - 0.456f) / 0.224f);
        store_one(dst, 3 * i + 2, centred ? b * by - middle : (b * by - 0.406f) / 0.225f);
    }
};

// The same colours in single, rounded steps, never fused ones: to the bit as on the CPU, whose
// interpolated numbers are rounded to whole ones next.
static __device__ float3 rounded_from_ycbcr(const image &m, float y, float cb, float cr)
{
    y = __fdiv_rn(__fmul_rn(y - m.black, m.luma_by), m.luma_over);
    cb = __fmul_rn(cb - 128.0f, m.chroma);
    cr = __fmul_rn(cr - 128.0f, m.chroma);
    const float r = __fadd_rn(y, __fmul_rn(2.0f * (1.0f - m.kr), cr));
    const float b = __fadd_rn(y, __fmul_rn(2.0f * (1.0f - m.kb), cb));
    const float rest = __fadd_rn(__fadd_rn(y, -__fmul_rn(m.kr, r)), -__fmul_rn(m.kb, b));
    const float g = __fdiv_rn(rest, m.kg);
    return make_float3(fminf(fmaxf(r, 0.0f), 255.0f), fminf(fmaxf(g, 0.0f), 255.0f),
                       fminf(fmaxf(b, 0.0f), 255.0f));
}

// Shape: a thread makes one pixel, from the nearest four of the frame.
// Traffic: as above; pixels beside the frame read nothing.
struct letterbox_at {
    view dst;
    image frame;
    int w, left, top, inner_w, inner_h;
    float fill;

    __device__ void add_scaled(float3 &sum, float by, float3 v) const
    {
        sum.x = __fadd_rn(sum.x, __fmul_rn(by, v.x));
        sum.y = __fadd_rn(sum.y, __fmul_rn(by, v.y));
        sum.z = __fadd_rn(sum.z, __fmul_rn(by, v.z));
    }

    template <int N> __device__ void at(unsigned i) const
    {
        const int row = (int) (i / w) - top, column = (int) (i % w) - left;
        float3 v = make_float3(fill, fill, fill);
        if (row >= 0 && row < inner_h && column >= 0 && column < inner_w) {
            const taps y = rounded_taps_at(row, inner_h, frame.height);
            const taps x = rounded_taps_at(column, inner_w, frame.width);
            float3 sum = make_float3(0.0f, 0.0f, 0.0f);
            add_scaled(sum, __fmul_rn(1.0f - y.weight, 1.0f - x.weight),
                       pixel_at<rounded_from_ycbcr>(frame, y.lo, x.lo));
            add_scaled(sum, __fmul_rn(1.0f - y.weight, x.weight),
                       pixel_at<rounded_from_ycbcr>(frame, y.lo, x.hi));
            add_scaled(sum, __fmul_rn(y.weight, 1.0f - x.weight),
                       pixel_at<rounded_from_ycbcr>(frame, y.hi, x.lo));
            add_scaled(sum, __fmul_rn(y.weight, x.weight),
                       pixel_at<rounded_from_ycbcr>(frame, y.hi, x.hi));
            v = make_float3(floorf(sum.x + 0.5f), floorf(sum.y + 0.5f), floorf(sum.z + 0.5f));
        }
        store_one(dst, 3 * i, v.x / 255.0f);
        store_one(dst, 3 * i + 1, v.y / 255.0f);
        store_one(dst, 3 * i + 2, v.z / 255.0f);
    }
};

// Plane, byte in it, and the rest of a channel, of channel i of a format.
struct layout {
    int plane, offset, step, half_y, half_x;
};

static layout layout_of(enum sam_pixel_format format, int i)
{
    switch (format) {
    case SAM_PIXEL_RGB:   return { 0, i, 3, 0, 0 };
    case SAM_PIXEL_BGR:   return { 0, 2 - i, 3, 0, 0 };
    case SAM_PIXEL_RGBA:  return { 0, i, 4, 0, 0 };
    case SAM_PIXEL_BGRA:  return { 0, 2 - i, 4, 0, 0 };
    case SAM_PIXEL_GRAY8: return { 0, 0, 1, 0, 0 };
    case SAM_PIXEL_NV12:  return i ? layout { 1, i - 1, 2, 1, 1 } : layout { 0, 0, 1, 0, 0 };
    case SAM_PIXEL_I420:  return i ? layout { i, 0, 1, 1, 1 } : layout { 0, 0, 1, 0, 0 };
    case SAM_PIXEL_YUY2:  return i ? layout { 0, 2 * i - 1, 4, 0, 1 } : layout { 0, 0, 2, 0, 0 };
    case SAM_PIXEL_P010:  return i ? layout { 1, 2 * i - 2, 4, 1, 1 } : layout { 0, 0, 2, 0, 0 };
    }
    return {};
}

// Planes in memory of the device, their rows close together.
static bool upload_frame(struct sam_queue *q, const struct sam_frame *f, const uint8_t *planes[3],
                         int strides[3])
{
    uint8_t *at = (uint8_t *) sam_cuda_room(q, sam_frame_bytes(f));
    for (int i = 0; i < 3 && at && !q->status; i++) {
        const size_t row = sam_frame_row_bytes(f, i), rows = row ? sam_frame_rows(f, i) : 0;
        sam_cuda_upload_rows(q, at, f->plane[i], f->stride[i], row, rows);
        planes[i] = at;
        strides[i] = (int) row;
        at += rows * row;
    }
    return !q->status;
}

static bool find_frame(struct sam_queue *q, const struct sam_frame *f, image *m)
{
    const uint8_t *planes[3] = { f->plane[0], f->plane[1], f->plane[2] };
    int strides[3] = { f->stride[0], f->stride[1], f->stride[2] };
    if (!f->on_device && !upload_frame(q, f, planes, strides))
        return false;
    for (int i = 0; i < 3; i++) {
        const layout l = layout_of(f->format, i);
        m->channels[i] = { planes[l.plane] + l.offset, strides[l.plane], l.step, l.half_y,
                           l.half_x };
    }
    return true;
}

// What kernels know of a frame. False: the queue has failed.
static bool image_of(struct sam_queue *q, const struct sam_frame *f, image *m)
{
    const bool given = f->colour.kr > 0 || f->colour.kb > 0, full = f->colour.full_range;
    const float kr = given ? f->colour.kr : 0.299f, kb = given ? f->colour.kb : 0.114f;
    const float white = f->format == SAM_PIXEL_P010 ? 255.75f : 255.0f; // see ops/ref
    m->width = f->width;
    m->height = f->height;
    m->is_ycbcr = layout_of(f->format, 1).half_x; // all of them share chroma
    m->is_wide = f->format == SAM_PIXEL_P010;
    m->kr = kr, m->kg = 1 - kr - kb, m->kb = kb;
    m->black = full ? 0.0f : 16.0f;
    m->luma = full ? 255.0f / white : 255.0f / 219;
    m->luma_by = full ? 255.0f / white : 255.0f;
    m->luma_over = full ? 1.0f : 219.0f;
    m->chroma = full ? 255.0f / white : 255.0f / 224;
    return find_frame(q, f, m);
}

extern "C" void sam_preprocess_cuda(struct sam_queue *q, const struct sam_preprocess *p)
{
    preprocess_at a = { view_of(&p->dst), {}, p->dst.h, p->dst.w, p->scale };
    if (image_of(q, &p->frame, &a.frame))
        each_by<1>(q, "preprocess", a, sam_rows(&p->dst));
}

extern "C" void sam_letterbox_cuda(struct sam_queue *q, const struct sam_letterbox *p)
{
    letterbox_at a = { view_of(&p->dst), {}, p->dst.w, p->x, p->y, p->width, p->height, p->fill };
    if (image_of(q, &p->frame, &a.frame))
        each_by<1>(q, "letterbox", a, sam_rows(&p->dst));
}
