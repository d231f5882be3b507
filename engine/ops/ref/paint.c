// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "ops/ref/ref.h"

// Where a pixel is between two cells of a label map.
struct place {
    int cell, next;
    int weight; // of the next one, of 256
};

static struct place place_of(int i, int size, int cells)
{
    const int64_t t = (2 * (int64_t) i + 1) * cells * 128 / size - 128;
    const int cell = t < 0 ? 0 : (int) (t / 256);
    return (struct place) { cell, cell + 1 < cells ? cell + 1 : cell, t < 0 ? 0 : (int) (t % 256) };
}

static int label_at(const struct sam_paint *p, int y, int x)
{
    const struct sam_labels *l = &p->overlay->labels;
    const struct place v = place_of(y, p->frame.height, l->height);
    const struct place h = place_of(x, p->frame.width, l->width);
    const uint8_t *upper = l->data + (size_t) v.cell * l->stride;
    const uint8_t *lower = l->data + (size_t) v.next * l->stride;
    const int cell[4] = { upper[h.cell], upper[h.next], lower[h.cell], lower[h.next] };
    const int weight[4] = { (256 - v.weight) * (256 - h.weight), (256 - v.weight) * h.weight,
                            v.weight * (256 - h.weight), v.weight * h.weight };
    int best = 0, label = 0;
    for (int i = 0; i < 4; i++) {
        int sum = 0;
        for (int k = 0; k < 4; k++)
            sum += cell[k] == cell[i] ? weight[k] : 0;
        if (sum > best) {
            best = sum;
            label = cell[i];
        }
    }
    return label;
}

// ---- lines

enum {
    TILE   = 64, // px
    REACH  = 2,  // of the window
    MARGIN = SAM_MAX_LINE + REACH,
    MAP    = TILE + 2 * MARGIN,
};

// A part of the area: its labels and what is around them.
struct tile {
    int x, y;
    int bare; // the first bare label; 256: none
    uint8_t label[MAP][MAP];
    bool is_near[TILE + 2 * REACH][TILE + 2 * REACH];
};

static bool is_bare(const struct sam_overlay *o, int label)
{
    return !((o->fill[label] | o->line[label]) >> 24);
}

// The nearest of `count` places from `first` on.
static int nearest(int i, int first, int count)
{
    return i < first ? first : i >= first + count ? first + count - 1 : i;
}

static int tile_label(const struct tile *t, int y, int x)
{
    return t->label[y - t->y + MARGIN][x - t->x + MARGIN];
}

// Whether another label is within the line's width along the row or the column.
static bool is_near(const struct sam_overlay *o, const struct tile *t, int y, int x)
{
    const int label = tile_label(t, y, x);
    for (int d = -o->line_width; d <= o->line_width; d++)
        if (tile_label(t, y, x + d) != label || tile_label(t, y + d, x) != label)
            return true;
    return false;
}

static void fill_tile(const struct sam_paint *p, struct tile *t, int y0, int x0)
{
    const struct sam_overlay *o = p->overlay;
    const int margin = o->line_width ? o->line_width + REACH : 0;
    *t = (struct tile) { .x = x0, .y = y0 };
    while (t->bare < 256 && !is_bare(o, t->bare))
        t->bare++;
    for (int y = y0 - margin; y < y0 + TILE + margin; y++)
        for (int x = x0 - margin; x < x0 + TILE + margin; x++) {
            const int label = label_at(p, nearest(y, o->y, o->height), nearest(x, o->x, o->width));
            t->label[y - y0 + MARGIN][x - x0 + MARGIN] =
                (uint8_t) (is_bare(o, label) ? t->bare : label);
        }
    for (int y = 0; margin && y < TILE + 2 * REACH; y++)
        for (int x = 0; x < TILE + 2 * REACH; x++)
            t->is_near[y][x] = is_near(o, t, nearest(y0 + y - REACH, o->y, o->height),
                                       nearest(x0 + x - REACH, o->x, o->width));
}

// What the window around a pixel shows, each of 81.
struct window {
    int same, inner; // with the pixel's label; those of them that no other label is near
    int other;       // the label of the heaviest pixel that has another one
};

static struct window look(const struct tile *t, int y, int x)
{
    const int label = tile_label(t, y, x);
    struct window w = { 0, 0, label };
    int heaviest = 0;
    for (int dy = -REACH; dy <= REACH; dy++)
        for (int dx = -REACH; dx <= REACH; dx++) {
            const int weight = (REACH + 1 - abs(dy)) * (REACH + 1 - abs(dx));
            const int found = tile_label(t, y + dy, x + dx);
            if (found == label) {
                w.same += weight;
                w.inner += t->is_near[y - t->y + dy + REACH][x - t->x + dx + REACH] ? 0 : weight;
            } else if (weight > heaviest) {
                heaviest = weight;
                w.other = found;
            }
        }
    return w;
}

static int clamp(int v, int most)
{
    return v < 0 ? 0 : v < most ? v : most;
}

// Three colours, weights of 8.
static uint32_t mix(const uint32_t colour[3], const int weight[3])
{
    uint32_t share[3], sum = 0, mixed = 0;
    for (int i = 0; i < 3; i++)
        sum += share[i] = (uint32_t) weight[i] * (colour[i] >> 24);
    for (int shift = 0; sum && shift < 24; shift += 8) {
        uint32_t number = sum / 2;
        for (int i = 0; i < 3; i++)
            number += share[i] * (colour[i] >> shift & 255);
        mixed |= number / sum << shift;
    }
    return (sum + 4) / 8 << 24 | mixed;
}

static uint32_t label_colour(const struct sam_overlay *o, const struct tile *t, int y, int x)
{
    const int label = tile_label(t, y, x);
    if (!o->line_width)
        return o->fill[label];
    const struct window w = look(t, y, x);
    const int other = clamp((445 - 8 * w.same) / 27, 4);
    const uint32_t beyond = w.other == t->bare ? o->contour : o->line[w.other];
    if (label == t->bare) {
        const int contour = other ? 8 - other : clamp((81 - w.same) * 8 / 27, 8);
        return mix((uint32_t[]) { o->contour, beyond, 0 }, (int[]) { contour, other, 0 });
    }
    const int fill = clamp((8 * w.inner - 203) / 27, 8) * (8 - other) / 8;
    return mix((uint32_t[]) { o->line[label], beyond, o->fill[label] },
               (int[]) { 8 - other - fill, other, fill });
}

// ---- patches

static bool is_covered(const struct sam_patch *p, int y, int x)
{
    return x >= p->x && x < p->x + p->width && y >= p->y && y < p->y + p->height;
}

static uint32_t shade_colour(const struct sam_patch *p, uint32_t shade)
{
    uint32_t colour = 0;
    for (int i = 0; i < 32; i += 8)
        colour |= ((p->colour >> i & 255) * (255 - shade) + (p->ink >> i & 255) * shade + 127) /
                  255 << i;
    return colour;
}

static uint32_t patch_colour(const struct sam_overlay *o, const struct sam_patch *p, int y, int x)
{
    if (!p->scale)
        return p->colour;
    if (p->scale == SAM_PATCH_SHADES) {
        const int at = p->first + (y - p->y) * sam_patch_words(p) + (x - p->x) / 4;
        return shade_colour(p, o->bits[at] >> 8 * ((x - p->x) % 4) & 255);
    }
    const int column = (x - p->x) / p->scale, row = (y - p->y) / p->scale;
    const uint32_t word = o->bits[p->first + row * sam_patch_words(p) + column / 32];
    return word >> column % 32 & 1 ? p->ink : p->colour;
}

// Of a pixel of the area; 0: nothing is painted there.
static uint32_t colour_at(const struct sam_overlay *o, const struct tile *t, int y, int x)
{
    for (int i = o->num_patches - 1; i >= 0; i--)
        if (is_covered(&o->patches[i], y, x))
            return patch_colour(o, &o->patches[i], y, x);
    return o->labels.data ? label_colour(o, t, y, x) : 0;
}

// ---- blending

// Number i of a colour: R, G, B or Y, Cb, Cr.
static int number(uint32_t colour, int i)
{
    return (int) (colour >> (16 - 8 * i) & 255);
}

static void blend(uint8_t *at, uint32_t colour, int i)
{
    const int alpha = (int) (colour >> 24);
    *at = (uint8_t) ((*at * (255 - alpha) + alpha * number(colour, i)) / 255);
}

static void blend_wide(uint8_t at[2], uint32_t colour, int i)
{
    const uint32_t alpha = colour >> 24 << 8, sample = at[0] | (uint32_t) at[1] << 8;
    if (!alpha)
        return;
    const uint32_t all = sample | sample >> 10, own = (uint32_t) number(colour, i) << 8;
    const uint32_t mixed = (all * (65535 - alpha) + alpha * own) / 65535 & 0xffc0;
    at[0] = (uint8_t) mixed;
    at[1] = (uint8_t) (mixed >> 8);
}

// Four bytes of red, green, blue, or the reverse, and alpha.
static void blend_with_alpha(uint8_t at[4], uint32_t colour, bool reverse)
{
    const int alpha = (int) (colour >> 24), left = at[3] * (255 - alpha), sum = alpha + left / 255;
    if (!alpha)
        return;
    for (int i = 0; i < 3; i++) {
        uint8_t *b = &at[reverse ? 2 - i : i];
        const int mixed = (number(colour, i) * alpha + *b * left / 255) / sum;
        *b = (uint8_t) (mixed < 255 ? mixed : 255);
    }
    at[3] = (uint8_t) sum;
}

static uint8_t *sample_at(const struct sam_frame *f, int plane, int y, int bytes)
{
    return (uint8_t *) f->plane[plane] + (size_t) y * f->stride[plane] + bytes;
}

static void blend_rgb(const struct sam_paint *p, int y, int x, uint32_t colour)
{
    const enum sam_pixel_format format = p->frame.format;
    const bool reverse = format == SAM_PIXEL_BGRA || format == SAM_PIXEL_BGR;
    const bool has_fourth = format == SAM_PIXEL_BGRA || format == SAM_PIXEL_RGBA;
    uint8_t *at = sample_at(&p->frame, 0, y, (has_fourth ? 4 : 3) * x);
    if (has_fourth && p->overlay->has_alpha == 2)
        memset(at, 0, 4);
    if (has_fourth && p->overlay->has_alpha) {
        blend_with_alpha(at, colour, reverse);
        return;
    }
    for (int i = 0; i < 3; i++)
        blend(&at[reverse ? 2 - i : i], colour, i);
}

// Two pixels are Y, Cb, Y, Cr.
static void blend_yuy2(const struct sam_paint *p, int y, int x, uint32_t colour)
{
    uint8_t *at = sample_at(&p->frame, 0, y, 2 * x);
    blend(&at[0], colour, 0);
    if (x % 2 == 0) {
        blend(&at[1], colour, 1);
        blend(&at[3], colour, 2);
    }
}

static void blend_grey(const struct sam_paint *p, int y, int x, uint32_t colour)
{
    blend(sample_at(&p->frame, 0, y, x), colour, 0);
}

static void blend_planes(const struct sam_paint *p, int y, int x, uint32_t colour)
{
    const struct sam_frame *f = &p->frame;
    const bool has_chroma = y % 2 == 0 && x % 2 == 0;
    if (f->format == SAM_PIXEL_P010) {
        blend_wide(sample_at(f, 0, y, 2 * x), colour, 0);
        for (int i = 1; i < 3 && has_chroma; i++)
            blend_wide(sample_at(f, 1, y / 2, 2 * x + 2 * (i - 1)), colour, i);
        return;
    }
    blend(sample_at(f, 0, y, x), colour, 0);
    for (int i = 1; i < 3 && has_chroma; i++)
        blend(f->format == SAM_PIXEL_NV12 ? sample_at(f, 1, y / 2, x + i - 1)
                                          : sample_at(f, i, y / 2, x / 2), colour, i);
}

static void blend_pixel(const struct sam_paint *p, int y, int x, uint32_t colour)
{
    switch (p->frame.format) {
    case SAM_PIXEL_RGB:
    case SAM_PIXEL_BGR:
    case SAM_PIXEL_RGBA:
    case SAM_PIXEL_BGRA:  blend_rgb(p, y, x, colour); break;
    case SAM_PIXEL_GRAY8: blend_grey(p, y, x, colour); break;
    case SAM_PIXEL_YUY2:  blend_yuy2(p, y, x, colour); break;
    case SAM_PIXEL_NV12:
    case SAM_PIXEL_I420:
    case SAM_PIXEL_P010:  blend_planes(p, y, x, colour); break;
    }
}

static void paint_tile(const struct sam_paint *p, int y0, int x0)
{
    const struct sam_overlay *o = p->overlay;
    struct tile tile = { 0 };
    if (o->labels.data)
        fill_tile(p, &tile, y0, x0);
    for (int y = y0; y < y0 + TILE && y < o->y + o->height; y++)
        for (int x = x0; x < x0 + TILE && x < o->x + o->width; x++)
            blend_pixel(p, y, x, colour_at(o, &tile, y, x));
}

void sam_paint_ref(struct sam_queue *q, const struct sam_paint *p)
{
    const struct sam_overlay *o = p->overlay;
    for (int y = o->y; y < o->y + o->height; y += TILE)
        for (int x = o->x; x < o->x + o->width; x += TILE)
            paint_tile(p, y, x);
}
