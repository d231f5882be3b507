// SPDX-License-Identifier: MIT
// Colours over a frame, in bands of rows. A row of the area has few labels in long runs: votes are
// held, and colours mixed, only near where labels change.

#include <string.h>

#include "ops/cpu/blend.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/outline.h"

enum {
    REACH   = 2, // px, of a line's window
    SLACK   = SAM_RUN_SLACK + REACH, // bytes that are read behind a pixel
    BAND    = 64, // rows, or more where lines are wide
    COLUMNS = SAM_MAX_SIDE * 4, // bytes, in the caller's workspace: of `struct place`
    COLOURS = SAM_MAX_SIDE * 4, // bytes, in that of each thread
    ENDS    = SAM_MAX_SIDE * 2, // bytes, likewise: of a row's runs
    SHADES  = 256 * SAM_SHADES * 4, // bytes, likewise
    MAPS    = SAM_POOL_WORKSPACE - COLUMNS - COLOURS - 2 * ENDS - SHADES,
    AHEAD   = 16, // rows of labels that are fetched before they are read
    LINE    = 64, // bytes of a processor's cache
    CELL    = 8, // px of a row that are soft together
};

// Where a pixel is between two cells of the label map.
struct place {
    uint16_t cell;
    uint8_t weight; // of the next one, of 256
};

struct painting {
    struct sam_cpu *cpu;
    const struct sam_frame *frame;
    const struct sam_overlay *o;
    const struct place *column; // of the area; NULL: pixels are cells
    int pitch, margin;          // of the maps; labels around a row that its colours depend on
    int band;                   // rows
    int bare;                   // the first bare label; 256: none
    uint8_t same[256];          // the first bare label for those that are bare
};

struct mixed {
    uint32_t key; // 0: none
    uint32_t colour;
};

// Rows of the area, and maps of a byte per pixel, with REACH more pixels around.
struct band {
    const struct painting *p;
    int top, end;     // rows that are painted
    int first, last;  // rows whose labels are known
    uint8_t *labels;  // from row `first` - REACH on
    uint8_t *near;    // from row `top` - REACH on. 255: another label is within a line's width
    uint8_t *soft;    // from row `top` on, a byte per CELL. 0: its pixels' colour is their label's
    uint16_t *runs[2]; // of a row's runs of labels, and of those of the row before
    int num_runs[2];
    uint32_t *colour; // of a row; those with alpha 0 are 0
    uint32_t (*shade)[SAM_SHADES]; // of a label where nothing is beyond it, by shares
    bool has_shades[256];  // of a label
    int num_patches;
    uint16_t patch[SAM_MAX_PATCHES]; // those that touch the band
    struct mixed mixed[256];         // by hash
    struct sam_blend blend;
};

static int min_int(int a, int b) { return a < b ? a : b; }
static int max_int(int a, int b) { return a > b ? a : b; }

static uint8_t *label_row(const struct band *b, int y)
{
    return b->labels + (size_t) (y - b->first + REACH) * b->p->pitch + REACH;
}

static uint8_t *near_row(const struct band *b, int y)
{
    return b->near + (size_t) (y - b->top + REACH) * b->p->pitch + REACH;
}

static int soft_pitch(const struct painting *p)
{
    return (p->o->width + CELL - 1) / CELL;
}

static uint8_t *soft_row(const struct band *b, int y)
{
    return b->soft + (size_t) (y - b->top) * soft_pitch(b->p);
}

static uint64_t load_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

// Where in memory the first byte is that has a bit.
static int first_byte(uint64_t word)
{
    const bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    return (is_big ? __builtin_clzll(word) : __builtin_ctzll(word)) / 8;
}

// Whether 32 bytes differ in one.
static bool differ(const uint8_t *a, const uint8_t *b)
{
    uint64_t bits = 0;
    for (int i = 0; i < 32; i += 8)
        bits |= load_word(a + i) ^ load_word(b + i);
    return bits;
}

// The first byte from i on that differs, or n.
static int find_difference(const uint8_t *a, const uint8_t *b, int i, int n)
{
    while (i + 32 <= n && !differ(a + i, b + i))
        i += 32;
    for (; i + 8 <= n; i += 8) {
        const uint64_t bits = load_word(a + i) ^ load_word(b + i);
        if (bits)
            return i + first_byte(bits);
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

// How many of n bytes are as the first.
static int count_same(const uint8_t *at, int n)
{
    return 1 + find_difference(at, at + 1, 0, n - 1);
}

// A colour with alpha 0 paints nothing.
static uint32_t visible(uint32_t colour)
{
    return colour >> 24 ? colour : 0;
}

// ---- labels

static struct place place_of(int i, int size, int cells)
{
    const int64_t t = (2 * (int64_t) i + 1) * cells * 128 / size - 128;
    return t < 0 ? (struct place) { 0 } : (struct place) { (uint16_t) (t >> 8), (uint8_t) t };
}

// The first pixel after x that lies in cell `cell` or later, or n.
static int find_cell(const struct place *column, int x, int n, int cell)
{
    while (x + 1 < n) {
        const int middle = (x + n) / 2;
        if (column[middle].cell < cell)
            x = middle;
        else
            n = middle;
    }
    return n;
}

// Pixels between the same four cells, with a row's weight of the lower two, of 256. The heaviest
// label wins, the first of equal ones.
static void vote(const uint8_t cell[4], int lower, const struct place *at, int n, uint8_t *out)
{
    const int weight[4] = { 256 - lower, 256 - lower, lower, lower };
    int left[4] = { 0 }, right[4] = { 0 };
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            (k & 1 ? right : left)[i] += cell[k] == cell[i] ? weight[k] : 0;
    for (int x = 0; x < n; x++) {
        int best = 0;
        for (int i = 0; i < 4; i++) {
            const int sum = left[i] * (256 - at[x].weight) + right[i] * at[x].weight;
            if (sum > best) {
                best = sum;
                out[x] = cell[i];
            }
        }
    }
}

static void stretch_row(const struct painting *p, int y, uint8_t *out)
{
    const struct sam_labels *l = &p->o->labels;
    const int width = p->o->width;
    const struct place v = place_of(p->o->y + y, p->frame->height, l->height);
    const uint8_t *upper = l->data + (size_t) v.cell * l->stride;
    const uint8_t *lower = v.cell + 1 < l->height ? upper + l->stride : upper;
    for (int x = 0, end; x < width; x = end) {
        const int left = p->column[x].cell, right = min_int(left + 1, l->width - 1);
        const uint8_t cell[4] = { upper[left], upper[right], lower[left], lower[right] };
        if (cell[0] == cell[1] && cell[0] == cell[2] && cell[0] == cell[3]) {
            const int n = min_int(count_same(upper + left, l->width - left),
                                  count_same(lower + left, l->width - left));
            end = left + n < l->width ? find_cell(p->column, x, width, left + n - 1) : width;
            memset(out + x, cell[0], (size_t) (end - x));
        } else {
            for (end = x + 1; end < width && p->column[end].cell == left;)
                end++;
            vote(cell, v.weight, p->column + x, end - x, out + x);
        }
    }
}

// Pieces of rows are too short for a processor to see that those of the next rows will be read.
static void make_labels(const struct painting *p, int y, uint8_t *out)
{
    const struct sam_labels *l = &p->o->labels;
    const int width = p->o->width, later = min_int(y + AHEAD, p->o->height - 1);
    const uint8_t *row = l->data + (size_t) (p->o->y + y) * l->stride + p->o->x;
    if (p->column) {
        stretch_row(p, y, out);
        return;
    }
    for (int x = 0; x < width; x += LINE)
        __builtin_prefetch(row + (size_t) (later - y) * l->stride + x);
    memcpy(out, row, (size_t) width);
}

// ---- lines

// Most marks are shorter than what a call of memset() takes, and of any length up to a word. The
// rest of the word stays.
static inline void mark_bytes(uint8_t *at, int n)
{
    static const uint8_t mask[16] = { 255, 255, 255, 255, 255, 255, 255, 255 };
    if (n <= 8) {
        const uint64_t marked = load_word(at) | load_word(mask + 8 - n);
        memcpy(at, &marked, sizeof(marked));
    } else {
        memset(at, 255, (size_t) n);
    }
}

// Labels change where pixels x0 to x1 - 1 of a row begin, or all along them.
static void mark_near(const struct band *b, int x0, int x1, int y0, int y1)
{
    const int first = max_int(b->top - REACH, 0), left = max_int(x0, 0);
    const int from = max_int(y0, first), to = min_int(y1, min_int(b->end + REACH, b->p->o->height));
    const int n = min_int(x1, b->p->o->width) - left;
    uint8_t *at = near_row(b, from) + left;
    for (int y = from; y < to; y++, at += b->p->pitch)
        mark_bytes(at, n);
}

static void mark_soft(const struct band *b, int x0, int x1, int y0, int y1)
{
    const int from = max_int(y0, b->top), to = min_int(y1, b->end);
    const int pitch = soft_pitch(b->p), left = max_int(x0, 0) / CELL;
    const int n = min_int((x1 + CELL - 1) / CELL, pitch) - left;
    uint8_t *at = soft_row(b, from) + left;
    for (int y = from; y < to; y++, at += pitch)
        mark_bytes(at, n);
}

// How far from a change a pixel of that label is soft. Nothing is near within the bare ones.
static int soft_reach(const struct painting *p, int label)
{
    return (label == p->bare ? 0 : p->o->line_width) + REACH;
}

// Three colours, weights of 8.
static uint32_t mix(uint32_t a, int wa, uint32_t b, int wb, uint32_t c, int wc)
{
    const uint32_t sa = (uint32_t) wa * (a >> 24), sb = (uint32_t) wb * (b >> 24);
    const uint32_t sc = (uint32_t) wc * (c >> 24), sum = sa + sb + sc;
    uint32_t mixed = (sum + 4) / 8 << 24;
    for (int shift = 0; sum && shift < 24; shift += 8)
        mixed |= (sa * (a >> shift & 255) + sb * (b >> shift & 255) + sc * (c >> shift & 255) +
                  sum / 2) / sum << shift;
    return mixed;
}

// Of struct sam_paint: what two labels make of a pixel's shares.
static uint32_t shade_colour(const struct painting *p, int label, int found, int shade)
{
    const struct sam_overlay *o = p->o;
    const int other = shade / SAM_SHARES, rest = 8 - other;
    const int share = other && label == p->bare ? rest : shade % SAM_SHARES * rest / 8;
    const uint32_t beyond = found == p->bare ? o->contour : o->line[found];
    return visible(label == p->bare ? mix(o->contour, share, beyond, other, 0, 0)
                                    : mix(o->line[label], rest - share, beyond, other,
                                          o->fill[label], share));
}

static void make_shades(struct band *b, int label)
{
    for (int i = 0; i < SAM_SHARES && !b->has_shades[label]; i++)
        b->shade[label][i] = shade_colour(b->p, label, label, i);
    b->has_shades[label] = true;
}

// Bare labels become one, and what is around a change of labels in a row is marked.
static void find_changes_along(struct band *b, int y)
{
    const struct painting *p = b->p;
    const uint16_t *end = b->runs[y & 1];
    uint8_t *row = label_row(b, y);
    b->num_runs[y & 1] = p->cpu->find_runs(row, p->o->width, b->runs[y & 1]);
    for (int i = 0, x = 0; i < b->num_runs[y & 1]; x = end[i++]) {
        if (p->same[row[x]] != row[x])
            memset(row + x, p->same[row[x]], (size_t) (end[i] - x));
        make_shades(b, row[x]);
        if (x > 0 && row[x - 1] != row[x]) {
            const int left = soft_reach(p, row[x - 1]), right = soft_reach(p, row[x]);
            mark_near(b, x - p->o->line_width, x + p->o->line_width, y, y + 1);
            mark_soft(b, x - left, x + right, y - REACH, y + REACH + 1);
        }
    }
}

// The same of changes between a row and that above.
static void find_changes_across(const struct band *b, int y)
{
    const struct painting *p = b->p;
    const uint16_t *own = b->runs[y & 1], *before = b->runs[~y & 1];
    const uint8_t *row = label_row(b, y), *upper = row - p->pitch;
    for (int x = 0, end; x < p->o->width; x = end) {
        end = min_int(*own, *before);
        own += *own == end;
        before += *before == end;
        if (row[x] == upper[x])
            continue;
        const int above = soft_reach(p, upper[x]), below = soft_reach(p, row[x]);
        mark_near(b, x, end, y - above + REACH, y + below - REACH);
        mark_soft(b, x - REACH, end + REACH, y - above, y + below);
    }
}

// What is around the area is as its nearest pixel.
static void pad(const struct painting *p, uint8_t *first, int top, int end)
{
    const int width = p->o->width, last = p->o->height - 1;
    for (int y = max_int(top, 0); y < min_int(end, last + 1); y++) {
        uint8_t *row = first + (ptrdiff_t) (y - top) * p->pitch;
        memset(row - REACH, row[0], REACH);
        memset(row + width, row[width - 1], REACH);
    }
    for (int y = top; y < end; y++)
        if (y < 0 || y > last) {
            const int nearest = y < 0 ? 0 : last;
            memcpy(first + (ptrdiff_t) (y - top) * p->pitch - REACH,
                   first + (ptrdiff_t) (nearest - top) * p->pitch - REACH,
                   (size_t) (width + 2 * REACH));
        }
}

static void find_lines(struct band *b)
{
    const struct painting *p = b->p;
    const int top = b->top - REACH, end = b->end + REACH;
    memset(b->near, 0, (size_t) (end - top) * p->pitch);
    memset(b->soft, 0, (size_t) (b->end - b->top) * soft_pitch(p));
    for (int y = b->first; y < b->last; y++) {
        make_labels(p, y, label_row(b, y));
        find_changes_along(b, y);
        if (y > b->first)
            find_changes_across(b, y);
    }
    pad(p, label_row(b, top), top, end);
    pad(p, near_row(b, top), top, end);
}

// The label of the heaviest pixel of the window that has another one.
static int find_other(const uint8_t *label, int pitch)
{
    static const int8_t around[][2] = {
        { 0, -1 }, { -1, 0 }, { 1, 0 }, { 0, 1 }, { -1, -1 }, { 1, -1 }, { -1, 1 }, { 1, 1 },
        { 0, -2 }, { -2, 0 }, { 2, 0 }, { 0, 2 }, { -1, -2 }, { 1, -2 }, { -2, -1 }, { 2, -1 },
        { -2, 1 }, { 2, 1 }, { -1, 2 }, { 1, 2 }, { -2, -2 }, { 2, -2 }, { -2, 2 }, { 2, 2 },
    };
    for (size_t i = 0; i < sizeof(around) / sizeof(*around); i++) {
        const int found = label[(ptrdiff_t) around[i][1] * pitch + around[i][0]];
        if (found != *label)
            return found;
    }
    return *label;
}

// A colour of the same labels in the same shares is looked up.
static uint32_t find_colour(struct band *b, const uint8_t *label, int shade)
{
    const int found = find_other(label, b->p->pitch);
    const uint32_t key = 1u << 24 | (uint32_t) (*label | found << 8 | shade << 16);
    struct mixed *m = &b->mixed[key * 2654435761u >> 24];
    if (m->key != key) {
        m->key = key;
        m->colour = shade_colour(b->p, *label, found, shade);
    }
    return m->colour;
}

// Pixels with another label beyond them, which few have. The sum of a byte and 128 - SAM_SHARES has
// its highest bit where the byte is SAM_SHARES or more.
static void colour_beyond(struct band *b, const uint8_t *label, const uint8_t shade[SAM_WINDOWS],
                          int n, uint32_t *out)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    for (int x = 0; x < n; x += 8)
        if ((load_word(shade + x) + (128 - SAM_SHARES) * each) & 128 * each)
            for (int i = x; i < min_int(x + 8, n); i++)
                if (shade[i] >= SAM_SHARES)
                    out[i] = find_colour(b, label + i, shade[i]);
}

static void colour_soft(struct band *b, const uint8_t *label, const uint8_t *near, int n,
                        uint32_t *out)
{
    uint8_t shade[SAM_WINDOWS + SAM_SHADES] = { 0 };
    for (int x = 0; x < n; x += SAM_WINDOWS) {
        const int end = min_int(n - x, SAM_WINDOWS);
        b->p->cpu->shade_windows(label + x, near + x, b->p->pitch, b->p->bare, shade);
        b->p->cpu->find_shades(label + x, shade, end, b->shade, out + x);
        colour_beyond(b, label + x, shade, end, out + x);
    }
}

// ---- colours of a row

static void fill_colour(const struct band *b, int x, int n, uint32_t colour)
{
    b->p->cpu->fill_colour(b->colour + x, n, visible(colour));
}

static void colour_lines(struct band *b, int y)
{
    const uint8_t *label = label_row(b, y), *near = near_row(b, y), *soft = soft_row(b, y);
    const int cells = soft_pitch(b->p);
    for (int i = 0, n; i < cells; i += n) {
        n = count_same(soft + i, cells - i);
        const int x = i * CELL, end = min_int((i + n) * CELL, b->p->o->width);
        if (!soft[i])
            fill_colour(b, x, end - x, b->p->o->fill[label[x]]);
        else
            colour_soft(b, label + x, near + x, end - x, b->colour + x);
    }
}

static void colour_labels(const struct band *b, int y)
{
    const uint16_t *end = b->runs[0];
    uint8_t *label = b->labels;
    make_labels(b->p, y, label);
    const int n = b->p->cpu->find_runs(label, b->p->o->width, b->runs[0]);
    for (int i = 0, x = 0; i < n; x = end[i++])
        fill_colour(b, x, end[i] - x, b->p->o->fill[label[x]]);
}

// Pixels x0 to x1 - 1 of the frame's row, where they are the area's.
static void fill_span(const struct band *b, int64_t x0, int64_t x1, uint32_t colour)
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
static void colour_shades(const struct band *b, const struct sam_patch *p, int y)
{
    const struct sam_overlay *o = b->p->o;
    const uint32_t *row = o->bits + p->first + (size_t) (y - p->y) * sam_patch_words(p);
    const int64_t x = (int64_t) p->x - o->x, left = x < 0 ? -x : 0;
    const int64_t right = p->width < o->width - x ? p->width : o->width - x;
    for (int64_t i = left / 4; i < (right + 3) / 4; i++)
        for (int64_t k = 4 * i; row[i] && k < 4 * i + 4; k++) {
            const uint32_t shade = row[i] >> 8 * (k % 4) & 255;
            if (shade && k >= left && k < right)
                b->colour[x + k] = visible(shade == 255 ? p->ink : mix_shade(p, shade));
        }
}

static void colour_patch(const struct band *b, const struct sam_patch *p, int y)
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
static bool colour_row(struct band *b, int y)
{
    const struct sam_overlay *o = b->p->o;
    bool any = o->labels.data;
    if (!any)
        memset(b->colour, 0, (size_t) o->width * sizeof(*b->colour));
    else if (o->line_width)
        colour_lines(b, y);
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

static void choose_patches(struct band *b)
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

static void paint_clear_rows(struct band *b)
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
    const struct painting *p = priv;
    const struct sam_overlay *o = p->o;
    struct band b = { .p = p, .top = i * p->band, .end = min_int((i + 1) * p->band, o->height) };
    b.first = max_int(b.top - p->margin, 0);
    b.last = min_int(b.end + p->margin, o->height);
    b.colour = (uint32_t *) scratch(p->cpu, thread);
    b.runs[0] = (uint16_t *) ((uint8_t *) b.colour + COLOURS);
    b.runs[1] = b.runs[0] + ENDS / sizeof(*b.runs[0]);
    b.shade = (void *) (b.runs[1] + ENDS / sizeof(*b.runs[0]));
    b.labels = (uint8_t *) b.shade + SHADES;
    b.near = b.labels + (size_t) (b.last - b.first + 2 * REACH) * p->pitch;
    b.soft = b.near + (size_t) (b.end - b.top + 2 * REACH) * p->pitch;
    choose_patches(&b);
    sam_blend_begin(&b.blend, p->frame, o->has_alpha);
    if (o->labels.data && o->line_width)
        find_lines(&b);
    if (takes_colours(&b.blend)) {
        paint_clear_rows(&b);
        return;
    }
    for (int y = b.top; y < b.end; y++)
        if (colour_row(&b, y) || b.blend.is_clear)
            p->cpu->blend_row(&b.blend, o->y + y, o->x, o->width, b.colour);
}

static void find_bare(struct painting *p)
{
    for (int i = 255; i >= 0; i--)
        if (!((p->o->fill[i] | p->o->line[i]) >> 24))
            p->bare = i;
    for (int i = 0; i < 256; i++)
        p->same[i] = (uint8_t) ((p->o->fill[i] | p->o->line[i]) >> 24 ? i : p->bare);
}

// Rows of a band: so few that its maps are near, and fit; so many that labels around it, which its
// neighbours look at, too, are the smaller part.
static int band_rows(const struct painting *p)
{
    const int fit = (MAPS - SLACK) / p->pitch - 2 * p->margin - 4 * REACH;
    return min_int(max_int(BAND, 4 * p->margin), fit / 3);
}

void sam_paint_cpu(struct sam_queue *q, const struct sam_paint *given)
{
    const struct sam_overlay *o = given->overlay;
    const struct sam_labels *l = &o->labels;
    const struct sam_frame *f = &given->frame;
    struct painting p = { .cpu = sam_cpu(q), .frame = f, .o = o, .bare = 256 };
    struct place *column = sam_pool_workspace(p.cpu->pool, 0);
    p.pitch = o->width + 2 * REACH;
    p.margin = o->line_width ? o->line_width + REACH : 0;
    p.band = band_rows(&p);
    find_bare(&p);
    if (l->data && (l->width != f->width || l->height != f->height)) {
        for (int x = 0; x < o->width; x++)
            column[x] = place_of(o->x + x, f->width, l->width);
        p.column = column;
    }
    sam_pool_run(p.cpu->pool, (o->height + p.band - 1) / p.band, paint_band, &p);
}
