// A video frame to the network's input.
//
// Shape: a thread makes one pixel of the input, from the frame's pixels under its triangle filter,
// each converted to R'G'B' on the way (1080p to 1024: some 12 of them).
// Traffic: the frame once over the bus, once from memory, its overlaps from the cache; dst once.
#include "sample.cuh"
#include "view.cuh"

struct image {
    const uint8_t *plane[3];
    int stride[3], width, height;
    enum sam_pixel_format format;
    float kr, kg, kb, black, luma, chroma; // of Y'CbCr: R' = luma (Y' - black) + ...
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

static __device__ float sample(const image &m, int plane, int y, int x)
{
    return m.plane[plane][(size_t) y * m.stride[plane] + x];
}

// Of two bytes.
static __device__ float sample_wide(const image &m, int plane, int y, int x)
{
    return sample(m, plane, y, 2 * x + 1) + sample(m, plane, y, 2 * x) * (1.0f / 256);
}

static __device__ float3 pixel_at(const image &m, int y, int x)
{
    const int cy = y / 2, cx = x / 2; // chroma is shared by 2 x 2 pixels, in YUY2 by 2
    switch (m.format) {
    case SAM_PIXEL_RGB:
        return make_float3(sample(m, 0, y, 3 * x), sample(m, 0, y, 3 * x + 1),
                           sample(m, 0, y, 3 * x + 2));
    case SAM_PIXEL_BGR:
        return make_float3(sample(m, 0, y, 3 * x + 2), sample(m, 0, y, 3 * x + 1),
                           sample(m, 0, y, 3 * x));
    case SAM_PIXEL_RGBA:
        return make_float3(sample(m, 0, y, 4 * x), sample(m, 0, y, 4 * x + 1),
                           sample(m, 0, y, 4 * x + 2));
    case SAM_PIXEL_BGRA:
        return make_float3(sample(m, 0, y, 4 * x + 2), sample(m, 0, y, 4 * x + 1),
                           sample(m, 0, y, 4 * x));
    case SAM_PIXEL_GRAY8: {
        const float grey = sample(m, 0, y, x);
        return make_float3(grey, grey, grey);
    }
    case SAM_PIXEL_NV12:
        return from_ycbcr(m, sample(m, 0, y, x), sample(m, 1, cy, 2 * cx),
                          sample(m, 1, cy, 2 * cx + 1));
    case SAM_PIXEL_I420:
        return from_ycbcr(m, sample(m, 0, y, x), sample(m, 1, cy, cx), sample(m, 2, cy, cx));
    case SAM_PIXEL_YUY2:
        return from_ycbcr(m, sample(m, 0, y, 2 * x), sample(m, 0, y, 4 * cx + 1),
                          sample(m, 0, y, 4 * cx + 3));
    case SAM_PIXEL_P010:
        return from_ycbcr(m, sample_wide(m, 0, y, x), sample_wide(m, 1, cy, 2 * cx),
                          sample_wide(m, 1, cy, 2 * cx + 1));
    }
    return make_float3(0.0f, 0.0f, 0.0f);
}

struct preprocess_at {
    view dst;
    image frame;
    int h, w;

    template <int N> __device__ void at(unsigned i) const
    {
        const tent v = tent_at(i / w, h, frame.height), u = tent_at(i % w, w, frame.width);
        float r = 0.0f, g = 0.0f, b = 0.0f;
        for (int y = v.lo; y < v.hi; y++) {
            float row_r = 0.0f, row_g = 0.0f, row_b = 0.0f;
            for (int x = u.lo; x < u.hi; x++) {
                const float3 rgb = pixel_at(frame, y, x);
                const float weight = tent_weight(u, x);
                row_r += weight * rgb.x, row_g += weight * rgb.y, row_b += weight * rgb.z;
            }
            const float weight = tent_weight(v, y);
            r += weight * row_r, g += weight * row_g, b += weight * row_b;
        }
        const float scale = 1.0f / (255.0f * v.sum * u.sum); // then ImageNet's mean and spread
        store_one(dst, 3 * i, (r * scale - 0.485f) / 0.229f);
        store_one(dst, 3 * i + 1, (g * scale - 0.456f) / 0.224f);
        store_one(dst, 3 * i + 2, (b * scale - 0.406f) / 0.225f);
    }
};

// Bytes in a row of a plane; 0 where the format has no such plane.
static size_t row_bytes(const struct sam_frame *f, int plane)
{
    const size_t width = f->width, half = (width + 1) / 2;
    switch (f->format) {
    case SAM_PIXEL_RGB:
    case SAM_PIXEL_BGR:   return plane == 0 ? 3 * width : 0;
    case SAM_PIXEL_RGBA:
    case SAM_PIXEL_BGRA:  return plane == 0 ? 4 * width : 0;
    case SAM_PIXEL_GRAY8: return plane == 0 ? width : 0;
    case SAM_PIXEL_NV12:  return plane == 0 ? width : plane == 1 ? 2 * half : 0;
    case SAM_PIXEL_I420:  return plane == 0 ? width : half;
    case SAM_PIXEL_YUY2:  return plane == 0 ? 4 * half : 0;
    case SAM_PIXEL_P010:  return plane == 0 ? 2 * width : plane == 1 ? 4 * half : 0;
    }
    return 0;
}

// Bytes from the first pixel of a plane to its last: the last row has no padding to read.
static size_t plane_bytes(const struct sam_frame *f, int plane)
{
    const size_t row = row_bytes(f, plane);
    const bool is_chroma = plane > 0;
    const size_t rows = is_chroma ? (f->height + 1) / 2 : f->height;
    return row ? (rows - 1) * f->stride[plane] + row : 0;
}

static bool upload_frame(struct sam_queue *q, const struct sam_frame *f, image *m)
{
    size_t at = 0;
    for (int i = 0; i < 3; i++)
        at += plane_bytes(f, i);
    uint8_t *room = (uint8_t *) sam_cuda_room(q, &sam_cuda(q)->frame, at, "the frame");
    if (!room)
        return false;
    at = 0;
    for (int i = 0; i < 3; i++) {
        const size_t bytes = plane_bytes(f, i);
        m->plane[i] = room + at;
        m->stride[i] = f->stride[i];
        if (bytes)
            sam_cuda_upload(q, room + at, f->plane[i], bytes);
        at += bytes;
    }
    return !q->status;
}

extern "C" void sam_preprocess_cuda(struct sam_queue *q, const struct sam_preprocess *p)
{
    const struct sam_frame *f = &p->frame;
    const bool given = f->colour.kr > 0 || f->colour.kb > 0, full = f->colour.full_range;
    const float kr = given ? f->colour.kr : 0.299f, kb = given ? f->colour.kb : 0.114f;
    const float white = f->format == SAM_PIXEL_P010 ? 255.75f : 255.0f; // see ops/ref
    preprocess_at a = { view_of(&p->dst), {}, p->dst.h, p->dst.w };
    a.frame.width = f->width;
    a.frame.height = f->height;
    a.frame.format = f->format;
    a.frame.kr = kr, a.frame.kg = 1 - kr - kb, a.frame.kb = kb;
    a.frame.black = full ? 0.0f : 16.0f;
    a.frame.luma = full ? 255.0f / white : 255.0f / 219;
    a.frame.chroma = full ? 255.0f / white : 255.0f / 224;
    if (upload_frame(q, f, &a.frame))
        each_by<1>(q, "preprocess", a, sam_rows(&p->dst));
}
