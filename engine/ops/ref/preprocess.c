// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

static float clamp(float v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

// Y'CbCr as sampled to R'G'B'. Y' = kr R' + kg G' + kb B', Cb = (B' - Y') / (2 (1 - kb)),
// Cr = (R' - Y') / (2 (1 - kr)), solved for R'G'B' (ITU-R BT.601 and BT.709). y, cb, cr: in levels
// of 8 bits; 10 bits have quarters of them, and 255.75 is white in the full range.
static struct ref_rgb from_ycbcr(const struct sam_frame *f, float y, float cb, float cr)
{
    const struct sam_colour *colour = &f->colour;
    const float full = f->format == SAM_PIXEL_P010 ? 255 / 255.75f : 1;
    const bool given = colour->kr > 0 || colour->kb > 0;
    const float kr = given ? colour->kr : 0.299f, kb = given ? colour->kb : 0.114f;
    const float kg = 1 - kr - kb;

    y = colour->full_range ? y * full : (y - 16) * 255 / 219;
    const float chroma = colour->full_range ? full : 255.0f / 224;
    cb = (cb - 128) * chroma;
    cr = (cr - 128) * chroma;

    const float r = y + 2 * (1 - kr) * cr;
    const float b = y + 2 * (1 - kb) * cb;
    const float g = (y - kr * r - kb * b) / kg;
    return (struct ref_rgb) { clamp(r), clamp(g), clamp(b) };
}

static uint8_t sample(const struct sam_frame *f, int plane, int y, int x)
{
    return f->plane[plane][(size_t) y * f->stride[plane] + x];
}

// Of two bytes.
static float sample_wide(const struct sam_frame *f, int plane, int y, int x)
{
    return sample(f, plane, y, 2 * x + 1) + sample(f, plane, y, 2 * x) / 256.0f;
}

struct ref_rgb ref_rgb(const struct sam_frame *f, int y, int x)
{
    const int cy = y / 2, cx = x / 2; // chroma is shared by 2 x 2 pixels, in YUY2 by 2
    switch (f->format) {
    case SAM_PIXEL_RGB:
    case SAM_PIXEL_RGBA: {
        const int at = x * (f->format == SAM_PIXEL_RGB ? 3 : 4);
        return (struct ref_rgb) { sample(f, 0, y, at), sample(f, 0, y, at + 1),
                              sample(f, 0, y, at + 2) };
    }
    case SAM_PIXEL_BGR:
    case SAM_PIXEL_BGRA: {
        const int at = x * (f->format == SAM_PIXEL_BGR ? 3 : 4);
        return (struct ref_rgb) { sample(f, 0, y, at + 2), sample(f, 0, y, at + 1),
                              sample(f, 0, y, at) };
    }
    case SAM_PIXEL_GRAY8: {
        const float grey = sample(f, 0, y, x);
        return (struct ref_rgb) { grey, grey, grey };
    }
    case SAM_PIXEL_NV12:
        return from_ycbcr(f, sample(f, 0, y, x), sample(f, 1, cy, 2 * cx),
                          sample(f, 1, cy, 2 * cx + 1));
    case SAM_PIXEL_I420:
        return from_ycbcr(f, sample(f, 0, y, x), sample(f, 1, cy, cx), sample(f, 2, cy, cx));
    case SAM_PIXEL_YUY2:
        return from_ycbcr(f, sample(f, 0, y, 2 * x), sample(f, 0, y, 4 * cx + 1),
                          sample(f, 0, y, 4 * cx + 3));
    case SAM_PIXEL_P010:
        return from_ycbcr(f, sample_wide(f, 0, y, x), sample_wide(f, 1, cy, 2 * cx),
                          sample_wide(f, 1, cy, 2 * cx + 1));
    }
    return (struct ref_rgb) { 0 };
}

static void store_pixel(const struct sam_preprocess *p, size_t at, double r, double g, double b)
{
    const double v[3] = { r, g, b };
    static const double mean[3] = { 0.485, 0.456, 0.406 }, std[3] = { 0.229, 0.224, 0.225 };
    for (int c = 0; c < 3; c++)
        sam_store(&p->dst, at + c, p->scale == SAM_INPUT_CENTRED ?
                                       (float) ((v[c] - 127) / 128) :
                                   p->scale == SAM_INPUT_EVEN ?
                                       (float) ((v[c] - 127.5) / 127.5) :
                                       (float) ((v[c] / 255 - mean[c]) / std[c]));
}

void sam_preprocess_ref(struct sam_queue *q, const struct sam_preprocess *p)
{
    const struct sam_tensor *d = &p->dst;
    for (int y = 0; y < d->h; y++) {
        const struct ref_tent v = ref_tent(y, d->h, p->frame.height);
        for (int x = 0; x < d->w; x++) {
            const struct ref_tent h = ref_tent(x, d->w, p->frame.width);
            double r = 0, g = 0, b = 0;
            for (int i = v.lo; i < v.hi; i++)
                for (int j = h.lo; j < h.hi; j++) {
                    const struct ref_rgb pixel = ref_rgb(&p->frame, i, j);
                    const double weight = (double) ref_tent_weight(&v, i) / v.sum
                                        * ref_tent_weight(&h, j) / h.sum;
                    r += weight * pixel.r;
                    g += weight * pixel.g;
                    b += weight * pixel.b;
                }
            store_pixel(p, ((size_t) y * d->w + x) * 3, r, g, b);
        }
    }
}
