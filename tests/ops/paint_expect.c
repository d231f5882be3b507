// SPDX-License-Identifier: MIT
// The same in another way: a layer of the area's colours is made from back to front, then
// every plane goes over it.
#include <math.h>
#include <stdlib.h>

#include "paint_scene.h"

// 256ths of a cell, in f64: the quotient of integers below 2^53 is rounded once, and is an integer
// only where the exact one is.
static int position(int i, int size, int cells)
{
    return (int) fmax(floor((2.0 * i + 1) * cells * 128 / size) - 128, 0);
}

static int stretch(const struct scene *s, const struct sam_labels *l, int y, int x)
{
    const int v = position(y, s->frame.height, l->height);
    const int h = position(x, s->frame.width, l->width);
    int votes[256] = { 0 }, best = -1;
    for (int k = 0; k < 4; k++) { // from the last to the first, so that the first of a tie stays
        const int dy = 1 - k / 2, dx = 1 - k % 2;
        const int row = v / 256 + dy < l->height ? v / 256 + dy : l->height - 1;
        const int column = h / 256 + dx < l->width ? h / 256 + dx : l->width - 1;
        votes[l->data[(size_t) row * l->stride + column]] +=
            (dy ? v % 256 : 256 - v % 256) * (dx ? h % 256 : 256 - h % 256);
    }
    for (int k = 0; k < 4; k++) {
        const int dy = 1 - k / 2, dx = 1 - k % 2;
        const int row = v / 256 + dy < l->height ? v / 256 + dy : l->height - 1;
        const int column = h / 256 + dx < l->width ? h / 256 + dx : l->width - 1;
        const int label = l->data[(size_t) row * l->stride + column];
        if (best < 0 || votes[label] >= votes[best])
            best = label;
    }
    return best;
}

// Marks what is near a border between i and i + 1 of a row or column of n pixels.
static void mark(uint8_t *marks, int i, int n, int step, int width)
{
    for (int k = i - width + 1; k <= i + width; k++)
        if (k >= 0 && k < n)
            marks[(size_t) k * step] = 1;
}

// Of the layer, or of its nearest pixel.
static size_t at_or_beside(const struct sam_overlay *o, int y, int x)
{
    const double row = fmin(fmax(y, 0), o->height - 1), column = fmin(fmax(x, 0), o->width - 1);
    return (size_t) (row * o->width + column);
}

// Colours in shares, alpha multiplied in.
static void add_share(double sum[4], uint32_t colour, double share)
{
    const double alpha = share * (colour >> 24);
    sum[3] += alpha;
    for (int i = 0; i < 3; i++)
        sum[i] += alpha * (colour >> 8 * i & 255);
}

static uint32_t whole(const double sum[4])
{
    uint32_t colour = (uint32_t) floor((sum[3] + 4) / 8) << 24;
    for (int i = 0; i < 3 && sum[3] > 0; i++)
        colour |= (uint32_t) floor((sum[i] + floor(sum[3] / 2)) / sum[3]) << 8 * i;
    return colour;
}

// label: bare ones are -1. The weights of the window fall with the product of both distances.
static uint32_t line_colour(const struct sam_overlay *o, const int *label, const uint8_t *marks,
                            int y, int x)
{
    const int own = label[y * o->width + x];
    double sum[4] = { 0 }, others = 0, inner = 0, found_at = 0;
    int found = own;
    for (int i = 0; i < 25; i++) {
        const size_t at = at_or_beside(o, y + i / 5 - 2, x + i % 5 - 2);
        const double weight = (3 - fabs(i / 5 - 2.0)) * (3 - fabs(i % 5 - 2.0));
        others += label[at] != own ? weight : 0;
        inner += label[at] == own && !marks[at] ? weight : 0;
        if (label[at] != own && weight > found_at)
            found = label[at], found_at = weight;
    }
    const double beyond = fmin(fmax(floor((8 * others - 203) / 27), 0), 4);
    const double fill = floor(fmin(fmax(floor((8 * inner - 203) / 27), 0), 8) * (8 - beyond) / 8);
    const double contour = beyond > 0 ? 8 - beyond : fmin(floor(others * 8 / 27), 8);
    add_share(sum, found < 0 ? o->contour : o->line[found], beyond);
    add_share(sum, own < 0 ? o->contour : o->line[own], own < 0 ? contour : 8 - beyond - fill);
    if (own >= 0)
        add_share(sum, o->fill[own], fill);
    return whole(sum);
}

static void colour_labels(const struct scene *s, const struct sam_labels *l, uint32_t *layer)
{
    const struct sam_overlay *o = &s->overlay;
    const int w = o->width, h = o->height;
    int *label = malloc((size_t) w * h * sizeof(*label));
    uint8_t *marks = calloc((size_t) w, h);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const int found = stretch(s, l, o->y + y, o->x + x);
            const bool is_bare = o->fill[found] < 1u << 24 && o->line[found] < 1u << 24;
            label[y * w + x] = is_bare ? -1 : found;
        }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            if (x + 1 < w && label[y * w + x] != label[y * w + x + 1])
                mark(marks + y * w, x, w, 1, o->line_width);
            if (y + 1 < h && label[y * w + x] != label[(y + 1) * w + x])
                mark(marks + x, y, h, w, o->line_width);
        }
    for (int i = 0; i < w * h; i++)
        layer[i] = o->line_width  ? line_colour(o, label, marks, i / w, i % w)
                   : label[i] < 0 ? 0 : o->fill[label[i]];
    free(label);
    free(marks);
}

static void fill(const struct scene *s, uint32_t *layer, int x, int y, int w, int h,
                 uint32_t colour)
{
    const struct sam_overlay *o = &s->overlay;
    for (int i = y; i < y + h; i++)
        for (int k = x; k < x + w; k++)
            if (i >= o->y && i < o->y + o->height && k >= o->x && k < o->x + o->width)
                layer[(size_t) (i - o->y) * o->width + k - o->x] = colour;
}

// In f64, byte after byte: the shades are the bytes of the words, row by row.
static void shade_patch(const struct scene *s, const struct sam_patch *p, uint32_t *layer)
{
    const int words = (int) ceil(p->width / 4.0);
    for (int i = 0; i < p->width * p->height; i++) {
        const int row = i / p->width, column = i % p->width;
        const uint32_t word = s->bits[p->first + row * words + column / 4];
        const double ink = floor(word / pow(256, column % 4)), share = fmod(ink, 256) / 255;
        uint32_t colour = 0;
        for (int k = 0; k < 4; k++) {
            const double a = p->colour >> 8 * k & 255, b = p->ink >> 8 * k & 255;
            // no quotient of integers by 255 lies halfway between two
            colour |= (uint32_t) floor(a + (b - a) * share + 0.5) << 8 * k;
        }
        fill(s, layer, p->x + column, p->y + row, 1, 1, colour);
    }
}

static void colour_patch(const struct scene *s, const struct sam_patch *p, uint32_t *layer)
{
    if (p->scale == SAM_PATCH_SHADES) {
        shade_patch(s, p, layer);
        return;
    }
    fill(s, layer, p->x, p->y, p->width, p->height, p->colour);
    for (int top = 0, row = 0; p->scale && top < p->height; top += p->scale, row++)
        for (int left = 0, column = 0; left < p->width; left += p->scale, column++) {
            const int words = (int) ceil(ceil((double) p->width / p->scale) / 32);
            const uint32_t word = s->bits[p->first + row * words + column / 32];
            if (word & UINT32_C(1) << column % 32)
                fill(s, layer, p->x + left, p->y + top,
                     left + p->scale > p->width ? p->width - left : p->scale,
                     top + p->scale > p->height ? p->height - top : p->scale, p->ink);
        }
}

// The colour over a pixel of the frame; alpha 0 outside of the area.
static uint32_t over(const struct scene *s, const uint32_t *layer, int y, int x)
{
    const struct sam_overlay *o = &s->overlay;
    x -= o->x, y -= o->y;
    return x < 0 || y < 0 || x >= o->width || y >= o->height ? 0 : layer[(size_t) y * o->width + x];
}

static int component(uint32_t colour, int i)
{
    return (int) (colour >> (8 * (2 - i))) & 0xff;
}

static void mix_8(uint8_t *b, uint32_t colour, int i)
{
    const int64_t alpha = colour >> 24;
    *b = (uint8_t) floor((double) (*b * (255 - alpha) + alpha * component(colour, i)) / 255);
}

static void mix_16(uint8_t *b, uint32_t colour, int i)
{
    const int64_t alpha = (int64_t) (colour >> 24) * 256, number = b[1] * 256 + b[0];
    const int64_t all = number | number / 1024; // its upper bits again: 65535 is white
    const int64_t mixed = (all * (65535 - alpha) + alpha * component(colour, i) * 256) / 65535;
    if (!alpha)
        return;
    b[0] = (uint8_t) (mixed / 64 * 64 % 256);
    b[1] = (uint8_t) (mixed / 256);
}

// Alpha not multiplied in, over alpha not multiplied in.
static void mix_rgba(uint8_t *b, const int order[3], uint32_t colour)
{
    const int alpha = (int) (colour >> 24), under = b[3] * (255 - alpha);
    if (!alpha)
        return;
    for (int i = 0; i < 3; i++) {
        const double below = floor((double) b[order[i]] * under / 255);
        const double mixed = (component(colour, i) * alpha + below) / (alpha + under / 255);
        b[order[i]] = (uint8_t) fmin(floor(mixed), 255);
    }
    b[3] = (uint8_t) (alpha + under / 255);
}

static void expect_rgb(struct scene *s, const uint32_t *layer)
{
    static const int forward[3] = { 0, 1, 2 }, back[3] = { 2, 1, 0 };
    const enum sam_pixel_format format = s->frame.format;
    const int *order = format == SAM_PIXEL_RGBA || format == SAM_PIXEL_RGB ? forward : back;
    const int bytes = has_fourth(&s->frame) ? 4 : 3;
    const bool has_alpha = s->overlay.has_alpha && bytes == 4;
    const struct sam_overlay *o = &s->overlay;
    for (int y = o->y; has_alpha && o->has_alpha == 2 && y < o->y + o->height; y++)
        memset(s->want[0] + (size_t) y * s->frame.stride[0] + 4 * o->x, 0, 4 * (size_t) o->width);
    for (int y = 0; y < s->frame.height; y++)
        for (int x = 0; x < s->frame.width; x++) {
            uint8_t *b = s->want[0] + (size_t) y * s->frame.stride[0] + bytes * x;
            const uint32_t colour = over(s, layer, y, x);
            if (has_alpha)
                mix_rgba(b, order, colour);
            for (int i = 0; i < 3 && !has_alpha; i++)
                mix_8(&b[order[i]], colour, i);
        }
}

static void expect_yuv(struct scene *s, const uint32_t *layer)
{
    const struct sam_frame *f = &s->frame;
    const int bytes = f->format == SAM_PIXEL_P010 ? 2 : 1;
    void (*mix)(uint8_t *, uint32_t, int) = bytes == 2 ? mix_16 : mix_8;
    const bool planar = f->format == SAM_PIXEL_I420;
    for (int y = 0; y < f->height; y++)
        for (int x = 0; x < f->width; x++)
            mix(s->want[0] + (size_t) y * f->stride[0] + bytes * x, over(s, layer, y, x), 0);
    for (int y = 0; y < (f->height + 1) / 2; y++)
        for (int x = 0; x < (f->width + 1) / 2; x++)
            for (int i = 1; i < 3; i++) {
                const int plane = planar ? i : 1;
                mix(s->want[plane] + (size_t) y * f->stride[plane] +
                        (planar ? x : bytes * (2 * x + i - 1)),
                    over(s, layer, 2 * y, 2 * x), i);
            }
}

// One plane. Every second byte is luma; those between are Cb and Cr by turns, of the even pixels.
static void expect_packed(struct scene *s, const uint32_t *layer)
{
    const struct sam_frame *f = &s->frame;
    const int step = f->format == SAM_PIXEL_YUY2 ? 2 : 1;
    for (int y = 0; y < f->height; y++) {
        uint8_t *row = s->want[0] + (size_t) y * f->stride[0];
        for (int i = 0; i < sam_frame_row_bytes(f, 0); i++)
            if (i % step)
                mix_8(&row[i], over(s, layer, y, i / 4 * 2), i / 2 % 2 + 1);
            else if (i / step < f->width)
                mix_8(&row[i], over(s, layer, y, i / step), 0);
    }
}

void expect_paint(struct scene *s)
{
    const struct sam_overlay *o = &s->overlay;
    uint32_t *layer = calloc((size_t) o->width * o->height, sizeof(*layer));
    struct sam_labels labels = o->labels;
    if (s->labels->host[CHECK_REF].data) {
        labels.data = s->labels->host[CHECK_REF].data;
        colour_labels(s, &labels, layer);
    }
    for (int i = 0; i < o->num_patches; i++)
        colour_patch(s, &s->patches[i], layer);
    const enum sam_pixel_format format = s->frame.format;
    if (has_fourth(&s->frame) || format == SAM_PIXEL_RGB || format == SAM_PIXEL_BGR)
        expect_rgb(s, layer);
    else if (format == SAM_PIXEL_GRAY8 || format == SAM_PIXEL_YUY2)
        expect_packed(s, layer);
    else
        expect_yuv(s, layer);
    free(layer);
}
