// SPDX-License-Identifier: MIT
// Colours over a frame, in bands of rows. A row of the area has few labels in long runs: colours
// are mixed only near where labels change.

#include <string.h>

#include "ops/cpu/paint.h"

enum {
    BAND    = 128, // rows, or more where lines are wide
    COLUMNS = SAM_MAX_SIDE * 4, // bytes, in the caller's workspace: of `struct sam_place`
    COLOURS = SAM_MAX_SIDE * 4, // bytes, in that of each thread
    ENDS    = SAM_MAX_SIDE * 2, // bytes, likewise: of a row's runs
    MAPS    = SAM_POOL_WORKSPACE - COLUMNS - COLOURS - ENDS,
};

// ---- colours of a row

static void fill_colour(const struct sam_band *b, int x, int n, uint32_t colour)
{
    b->p->cpu->outline->fill_colour(b->colour + x, n, sam_visible(colour));
}

static void colour_labels(const struct sam_band *b, int y)
{
    const uint16_t *end = b->runs;
    uint8_t *label = b->labels + SAM_REACH;
    const uint8_t *found = sam_paint_labels(b->p, y, label);
    if (found != label) // a row may end where memory does
        memcpy(label, found, (size_t) b->p->o->width);
    const int n = b->p->cpu->outline->find_runs(label, b->p->o->width, b->runs);
    for (int i = 0, x = 0; i < n; x = end[i++])
        fill_colour(b, x, end[i] - x, b->p->o->fill[label[x]]);
}

// Pixels x0 to x1 - 1 of the frame's row, where they are the area's.
static void fill_span(const struct sam_band *b, int64_t x0, int64_t x1, uint32_t colour)
{
    const struct sam_overlay *o = b->p->o;
    const int64_t left = x0 < o->x ? 0 : x0 - o->x;
    const int64_t right = x1 - o->x < o->width ? x1 - o->x : o->width;
    if (left < right)
        fill_colour(b, (int) left, (int) (right - left), colour);
}

static uint32_t mix_shade(const struct sam_patch *p, uint32_t shade)
{
    uint32_t colour = 0;
    for (int k = 0; k < 32; k += 8)
        colour |= ((p->colour >> k & 255) * (255 - shade) + (p->ink >> k & 255) * shade + 127) /
                  255 << k;
    return colour;
}

// Over the ground; few words have ink. x: the patch's left edge in the area.
static void colour_shades(const struct sam_band *b, const struct sam_patch *p, int y)
{
    const struct sam_overlay *o = b->p->o;
    const uint32_t *row = o->bits + p->first + (size_t) (y - p->y) * sam_patch_words(p);
    const int64_t x = (int64_t) p->x - o->x, left = x < 0 ? -x : 0;
    const int64_t right = p->width < o->width - x ? p->width : o->width - x;
    for (int64_t i = left / 4; i < (right + 3) / 4; i++)
        for (int64_t k = 4 * i; row[i] && k < 4 * i + 4; k++) {
            const uint32_t shade = row[i] >> 8 * (k % 4) & 255;
            if (shade && k >= left && k < right)
                b->colour[x + k] = sam_visible(shade == 255 ? p->ink : mix_shade(p, shade));
        }
}

static void colour_patch(const struct sam_band *b, const struct sam_patch *p, int y)
{
    const struct sam_overlay *o = b->p->o;
    const int64_t end = (int64_t) p->x + p->width;
    fill_span(b, p->x, end, p->colour);
    if (p->scale == SAM_PATCH_SHADES) {
        colour_shades(b, p, y);
        return;
    }
    if (!p->scale)
        return;
    const uint32_t *bits = o->bits + p->first + (size_t) (y - p->y) / p->scale * sam_patch_words(p);
    const int64_t columns = ((int64_t) p->width + p->scale - 1) / p->scale;
    const int64_t from = p->x < o->x ? (o->x - (int64_t) p->x) / p->scale : 0;
    for (int64_t i = from; i < columns && p->x + i * p->scale < o->x + o->width; i++)
        if (bits[i / 32] >> i % 32 & 1) {
            const int64_t left = p->x + i * p->scale;
            fill_span(b, left, left + p->scale < end ? left + p->scale : end, p->ink);
        }
}

static bool has_row(const struct sam_patch *p, int y)
{
    return y >= p->y && y < (int64_t) p->y + p->height;
}

// False: nothing is painted there.
static bool colour_row(struct sam_band *b, int y)
{
    const struct sam_overlay *o = b->p->o;
    bool any = o->labels.data;
    if (!any)
        memset(b->colour, 0, (size_t) o->width * sizeof(*b->colour));
    else if (o->line_width)
        sam_lines_colour(b, y);
    else
        colour_labels(b, y);
    for (int i = 0; i < b->num_patches; i++) {
        const struct sam_patch *p = &o->patches[b->patch[i]];
        if (has_row(p, o->y + y)) {
            colour_patch(b, p, o->y + y);
            any = true;
        }
    }
    return any;
}

// ---- all of it

// The caller's own workspace begins with what all threads read.
static uint8_t *scratch(struct sam_cpu *cpu, int thread)
{
    return (uint8_t *) sam_pool_workspace(cpu->pool, thread) + COLUMNS;
}

static void choose_patches(struct sam_band *b)
{
    const struct sam_overlay *o = b->p->o;
    const int top = o->y + b->top, end = o->y + b->end;
    b->num_patches = 0;
    for (int i = 0; i < o->num_patches; i++)
        if (o->patches[i].y < end && (int64_t) o->patches[i].y + o->patches[i].height > top)
            b->patch[b->num_patches++] = (uint16_t) i;
}

// Whether the area's rows count as clear, and a pixel is stored as a colour is.
static bool takes_colours(const struct sam_blend *b)
{
    const struct sam_frame *f = b->frame;
    return b->is_clear && f->format == SAM_PIXEL_BGRA &&
           __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&
           ((uintptr_t) f->plane[0] | (uintptr_t) f->stride[0]) % sizeof(uint32_t) == 0;
}

static void paint_clear_rows(struct sam_band *b)
{
    const struct sam_frame *f = b->blend.frame;
    const struct sam_overlay *o = b->p->o;
    for (int y = b->top; y < b->end; y++) {
        b->colour = (uint32_t *) f->plane[0] + (size_t) (o->y + y) * f->stride[0] / 4 + o->x;
        colour_row(b, y);
    }
}

static void paint_band(void *priv, int i, int thread)
{
    const struct sam_painting *p = priv;
    const struct sam_overlay *o = p->o;
    struct sam_band b = { .p = p, .top = i * p->band };
    b.end = min_int(b.top + p->band, o->height);
    b.colour = (uint32_t *) scratch(p->cpu, thread);
    b.runs = (uint16_t *) ((uint8_t *) b.colour + COLOURS);
    b.labels = (uint8_t *) b.runs + ENDS;
    choose_patches(&b);
    sam_blend_begin(&b.blend, p->frame, o->has_alpha);
    if (o->labels.data && o->line_width)
        sam_lines_begin(&b, b.labels);
    if (takes_colours(&b.blend)) {
        paint_clear_rows(&b);
        return;
    }
    for (int y = b.top; y < b.end; y++)
        if (colour_row(&b, y) || b.blend.is_clear)
            p->cpu->blend_row(&b.blend, o->y + y, o->x, o->width, b.colour);
}

static void find_bare(struct sam_painting *p)
{
    for (int i = 255; i >= 0; i--)
        if (!((p->o->fill[i] | p->o->line[i]) >> 24))
            p->bare = i;
    for (int i = 0; i < 256; i++)
        p->same[i] = (uint8_t) ((p->o->fill[i] | p->o->line[i]) >> 24 ? i : p->bare);
}

// Rows of a band: so few that its maps are near, and fit; so many that labels around it, which its
// neighbours look at, too, are the smaller part.
static int band_rows(const struct sam_painting *p)
{
    if (!p->o->line_width)
        return BAND;
    const int fit = (int) ((MAPS - sam_lines_bytes(p)) / sam_lines_row_bytes(p));
    return min_int(max_int(BAND, 4 * p->margin), fit);
}

// Rows begin where lines of a cache do, and not all of them at the same ones.
static int pitch_of(int width)
{
    const int pitch = (width + 2 * SAM_REACH + SAM_CACHE_LINE - 1) / SAM_CACHE_LINE *
                      SAM_CACHE_LINE;
    return pitch % 1024 ? pitch : pitch + SAM_CACHE_LINE;
}

void sam_paint_cpu(struct sam_queue *q, const struct sam_paint *given)
{
    const struct sam_overlay *o = given->overlay;
    const struct sam_labels *l = &o->labels;
    const struct sam_frame *f = &given->frame;
    struct sam_painting p = { .cpu = sam_cpu(q), .frame = f, .o = o, .bare = 256 };
    struct sam_place *column = sam_pool_workspace(p.cpu->pool, 0);
    p.pitch = pitch_of(o->width);
    p.words = (o->width + 64 * SAM_WORDS - 1) / (64 * SAM_WORDS) * SAM_WORDS;
    p.margin = o->line_width ? o->line_width + SAM_REACH : 0;
    p.band = band_rows(&p);
    find_bare(&p);
    if (l->data && (l->width != f->width || l->height != f->height)) {
        sam_paint_places(&p, column);
        p.column = column;
    }
    sam_pool_run(p.cpu->pool, (o->height + p.band - 1) / p.band, paint_band, &p);
}
