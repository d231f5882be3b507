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

static bool is_inside(const struct sam_overlay *o, int y, int x)
{
    return x >= o->x && x < o->x + o->width && y >= o->y && y < o->y + o->height;
}

static bool is_line(const struct sam_paint *p, int y, int x, int label)
{
    const struct sam_overlay *o = p->overlay;
    for (int d = -o->line_width; d <= o->line_width; d++)
        if ((is_inside(o, y, x + d) && label_at(p, y, x + d) != label)
            || (is_inside(o, y + d, x) && label_at(p, y + d, x) != label))
            return true;
    return false;
}

static bool is_covered(const struct sam_patch *p, int y, int x)
{
    return x >= p->x && x < p->x + p->width && y >= p->y && y < p->y + p->height;
}

static uint32_t patch_colour(const struct sam_overlay *o, const struct sam_patch *p, int y, int x)
{
    if (!p->scale)
        return p->colour;
    const int column = (x - p->x) / p->scale, row = (y - p->y) / p->scale;
    const uint32_t word = o->bits[p->first + row * sam_patch_words(p) + column / 32];
    return word >> column % 32 & 1 ? p->ink : p->colour;
}

// 0: nothing is painted there.
static uint32_t colour_at(const struct sam_paint *p, int y, int x)
{
    const struct sam_overlay *o = p->overlay;
    if (!is_inside(o, y, x))
        return 0;
    for (int i = o->num_patches - 1; i >= 0; i--)
        if (is_covered(&o->patches[i], y, x))
            return patch_colour(o, &o->patches[i], y, x);
    if (!o->labels.data)
        return 0;
    const int label = label_at(p, y, x);
    return is_line(p, y, x, label) ? o->line[label] : o->fill[label];
}

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
    const bool reverse = p->frame.format == SAM_PIXEL_BGRA;
    uint8_t *at = sample_at(&p->frame, 0, y, 4 * x);
    if (p->overlay->has_alpha)
        blend_with_alpha(at, colour, reverse);
    for (int i = 0; i < 3 && !p->overlay->has_alpha; i++)
        blend(&at[reverse ? 2 - i : i], colour, i);
}

static void blend_yuv(const struct sam_paint *p, int y, int x, uint32_t colour)
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

void sam_paint_ref(struct sam_queue *q, const struct sam_paint *p)
{
    const struct sam_overlay *o = p->overlay;
    const bool is_rgb = p->frame.format == SAM_PIXEL_RGBA || p->frame.format == SAM_PIXEL_BGRA;
    for (int y = o->y; y < o->y + o->height; y++)
        for (int x = o->x; x < o->x + o->width; x++)
            (is_rgb ? blend_rgb : blend_yuv)(p, y, x, colour_at(p, y, x));
}
