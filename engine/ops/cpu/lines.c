// SPDX-License-Identifier: MIT
// Outlines of masks. Rows of bits tell where labels change, and what is near that; colours are
// mixed in windows there, SAM_WINDOWS pixels of SAM_LINE_ROWS rows, and all around them is fill. In
// most windows a label meets the bare one.

#include "ops/cpu/paint.h"

enum {
    REACH = SAM_REACH,
    SPAN  = SAM_WINDOWS + 2 * REACH, // px of a row that a window sees
    GUARD = SAM_WORDS, // before a row of changes, and behind it
    ALIGN = 64, // bytes
    SLACK = 2 * ALIGN, // bytes that are read behind a pixel: SAM_RUN_SLACK + REACH
};

static uint8_t *label_row(const struct sam_band *b, int y)
{
    return b->labels + (size_t) (y - b->first + REACH) * b->p->pitch;
}

static uint8_t *inside_row(const struct sam_band *b, int y)
{
    return b->inside + (size_t) (y - b->top + REACH) * b->p->pitch;
}

static uint64_t *along_row(const struct sam_band *b, int y)
{
    return b->along + (size_t) (y - b->first) * (b->p->words + GUARD) + GUARD;
}

static uint64_t *near_row(const struct sam_band *b, int y)
{
    return b->near + (size_t) (y - b->top + REACH) * b->p->words;
}

static uint64_t *across_row(const struct sam_band *b, int y)
{
    return b->across + (size_t) (y - b->first) * b->p->words;
}

// ---- memory

static size_t word_bytes(int words)
{
    return (size_t) words * sizeof(uint64_t);
}

size_t sam_lines_row_bytes(const struct sam_painting *p)
{
    return 2 * (size_t) p->pitch + word_bytes(3 * p->words + GUARD);
}

static size_t window_bytes(const struct sam_painting *p)
{
    const int most = (p->o->width + SAM_WINDOWS - 1) / SAM_WINDOWS;
    return (most * sizeof(struct sam_line_window) + ALIGN - 1) / ALIGN * ALIGN;
}

size_t sam_lines_bytes(const struct sam_painting *p)
{
    const int around = 2 * p->margin, beyond = 2 * REACH;
    return 256 * (SAM_PAIR + SAM_SHADES) * sizeof(uint32_t) + window_bytes(p) +
           word_bytes(GUARD + around * (2 * p->words + GUARD) + beyond * p->words) +
           (size_t) (around + 2 * beyond) * p->pitch + 2 * (ALIGN + SLACK);
}

static void *take(uint8_t **room, size_t bytes)
{
    uint8_t *at = *room;
    *room += bytes;
    return at;
}

void sam_lines_begin(struct sam_band *b, uint8_t *room)
{
    const struct sam_painting *p = b->p;
    b->next = b->first = max_int(b->top - p->margin, 0);
    b->last = min_int(b->end + p->margin, p->o->height);
    b->next_near = max_int(b->top - REACH, 0);
    const int rows = b->end - b->top + 2 * REACH, known = b->last - b->first;
    b->pair = take(&room, 256 * sizeof(*b->pair));
    b->shade = take(&room, 256 * sizeof(*b->shade));
    b->window = take(&room, window_bytes(p));
    b->along = take(&room, word_bytes(known * (p->words + GUARD) + GUARD));
    b->near = take(&room, word_bytes(rows * p->words));
    b->across = take(&room, word_bytes(known * p->words));
    b->labels = take(&room, ALIGN + (size_t) (known + 2 * REACH) * p->pitch + SLACK);
    b->labels += ALIGN;
    b->inside = room + ALIGN;
    for (int y = b->first; y < b->last; y++)
        along_row(b, y)[-1] = along_row(b, y)[p->words] = 0;
}

// ---- what is near

// What is around the area is as its nearest pixel. Rows from `from` to `to` - 1 are there.
static void pad(const struct sam_painting *p, uint8_t *row, int y, int from, int to)
{
    const int width = p->o->width, last = p->o->height - 1;
    for (int x = 1; x <= REACH; x++) {
        row[-x] = row[0];
        row[width - 1 + x] = row[width - 1];
    }
    for (int i = from; y == 0 && i < 0; i++)
        memcpy(row - REACH + (ptrdiff_t) i * p->pitch, row - REACH, (size_t) p->pitch);
    for (int i = last + 1; y == last && i < to; i++)
        memcpy(row - REACH + (ptrdiff_t) (i - y) * p->pitch, row - REACH, (size_t) p->pitch);
}

static void make_row(struct sam_band *b, int y)
{
    const struct sam_painting *p = b->p;
    uint8_t *row = label_row(b, y);
    p->cpu->outline->take_labels(sam_paint_labels(p, y, row), y > b->first ? row - p->pitch : NULL,
                                 p->o->width, p->words, row, along_row(b, y), across_row(b, y));
}

static void make_near(const struct sam_band *b, int y)
{
    const struct sam_painting *p = b->p;
    const int line = p->o->line_width;
    const int from = max_int(y - line, b->first) + 1, to = min_int(y + line, b->last - 1);
    p->cpu->outline->find_near(along_row(b, y), across_row(b, from), to - from + 1, p->words, line,
                               p->o->width, near_row(b, y), inside_row(b, y));
}

// What is near in rows before `end`, which needs labels of some more. They are padded when all are
// there: a processor waits for what it reads just after it wrote a part of that.
static void make_rows(struct sam_band *b, int end)
{
    const struct sam_painting *p = b->p;
    const int last = min_int(end, p->o->height), label = b->next, near = b->next_near;
    while (b->next < min_int(last + p->o->line_width, b->last))
        make_row(b, b->next++);
    while (b->next_near < last)
        make_near(b, b->next_near++);
    for (int y = label; y < b->next; y++)
        pad(p, label_row(b, y), y, b->first - REACH, b->last + REACH);
    for (int y = near; y < last; y++)
        pad(p, inside_row(b, y), y, b->top - REACH, b->end + REACH);
}

// ---- shares

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
static uint32_t shade_colour(const struct sam_painting *p, int label, int found, int shade)
{
    const struct sam_overlay *o = p->o;
    const int other = shade / SAM_SHARES, rest = 8 - other;
    const int share = other && label == p->bare ? rest : shade % SAM_SHARES * rest / 8;
    const uint32_t beyond = found == p->bare ? o->contour : o->line[found];
    return sam_visible(label == p->bare ? mix(o->contour, share, beyond, other, 0, 0)
                                    : mix(o->line[label], rest - share, beyond, other,
                                          o->fill[label], share));
}

// The shades of a label, as shade_windows() counts them.
static void make_shades(struct sam_band *b, int label)
{
    for (int i = 0; i < SAM_SHARES && !b->has_shades[label]; i++)
        b->shade[label][i] = shade_colour(b->p, label, label, i);
    b->has_shades[label] = true;
}

// Of a label and the bare one, as shade_pair() counts them.
static void make_pair(struct sam_band *b, int own)
{
    const struct sam_painting *p = b->p;
    uint32_t *colour = b->pair[own];
    for (int i = 0; i < SAM_SHADES && !b->has_pair[own]; i++) {
        const int other = max_int(i - SAM_SHARES + 1, 0) * SAM_SHARES;
        const bool is_beyond = other > 0;
        colour[i] = i > 12 ? 0 : shade_colour(p, p->bare, own, is_beyond ? other : i);
        colour[SAM_SHADES + i] =
            i > 12 ? 0 : shade_colour(p, own, p->bare, is_beyond ? other : SAM_SHARES - 1 - i);
    }
    b->has_pair[own] = true;
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
static uint32_t find_colour(struct sam_band *b, const uint8_t *label, int shade)
{
    const int found = find_other(label, b->p->pitch);
    const uint32_t key = 1u << 24 | (uint32_t) (*label | found << 8 | shade << 16);
    struct sam_mixed *m = &b->mixed[key * 2654435761u >> 24];
    if (m->key != key) {
        m->key = key;
        m->colour = shade_colour(b->p, *label, found, shade);
    }
    return m->colour;
}

// Pixels with another label beyond them, which few have. The sum of a byte and 128 - SAM_SHARES has
// its highest bit where the byte is SAM_SHARES or more.
static void colour_beyond(struct sam_band *b, const uint8_t *label,
                          const uint8_t shade[SAM_WINDOWS], int n, uint32_t *out)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    for (int x = 0; x < n; x += 8)
        if ((load_word(shade + x) + (128 - SAM_SHARES) * each) & 128 * each)
            for (int i = x; i < min_int(x + 8, n); i++)
                if (shade[i] >= SAM_SHARES)
                    out[i] = find_colour(b, label + i, shade[i]);
}

// ---- windows

// The first bit that is set from `from` on, or n.
static int find_bit(const uint64_t *word, int from, int n)
{
    if (from >= n)
        return n;
    uint64_t left = word[from / 64] >> from % 64 << from % 64;
    int i = from / 64;
    while (!left && 64 * (i + 1) < n)
        left = word[++i];
    return left ? min_int(64 * i + __builtin_ctzll(left), n) : n;
}

// What is near in some rows, with those around that windows see.
static void collect_near(const struct sam_band *b, int y, int rows, uint64_t *found)
{
    const int from = max_int(y - REACH, 0), to = min_int(y + rows + REACH, b->p->o->height);
    const int words = b->p->words;
    for (int k = 0; k < words; k += 2) {
        const uint64_t *near = near_row(b, from) + k;
        uint64_t first = 0, second = 0;
        for (int i = from; i < to; i++, near += words) {
            first |= near[0];
            second |= near[1];
        }
        found[k] = first;
        found[k + 1] = second;
    }
}

// Eight of the labels that a window sees in a row: from x on, or the last where those are fewer.
static uint64_t load_labels(const uint8_t *row, int x, int *from)
{
    *from = min_int(x, SPAN - 8);
    return load_word(row + *from);
}

// A label that a window sees and that is not the bare one, or that where there is none.
static int find_own(const struct sam_band *b, const uint8_t *label, int rows)
{
    const uint64_t bare = (uint64_t) b->p->bare * UINT64_C(0x0101010101010101);
    for (int r = -REACH; r < rows + REACH; r++) {
        const uint8_t *row = label + (ptrdiff_t) r * b->p->pitch - REACH;
        uint64_t others = 0;
        for (int x = 0, from; x < SPAN; x += 8)
            others |= load_labels(row, x, &from) ^ bare;
        for (int x = 0, from; others && x < SPAN; x += 8) {
            const uint64_t found = load_labels(row, x, &from) ^ bare;
            if (found)
                return row[from + first_byte(found)];
        }
    }
    return b->p->bare;
}

// Bare labels become one, and colours are ready.
static void prepare_labels(struct sam_band *b, uint8_t *label, int rows, int n)
{
    for (int r = -REACH; r < rows + REACH; r++) {
        uint8_t *at = label + (ptrdiff_t) r * b->p->pitch;
        for (int x = -REACH; x < n + REACH; x++) {
            at[x] = b->p->same[at[x]];
            make_shades(b, at[x]);
        }
    }
}

static void make_window(struct sam_band *b, int x, int y, int rows)
{
    const struct sam_painting *p = b->p;
    struct sam_line_window *w = &b->window[b->num_windows];
    uint8_t *label = label_row(b, y) + x;
    const int own = p->bare < 256 ? find_own(b, label, rows) : 256;
    if (own == p->bare && own < 256)
        return;
    w->x = (uint16_t) x;
    w->n = (uint8_t) min_int(SAM_WINDOWS, p->o->width - x);
    w->own = (uint8_t) own;
    w->is_pair = own < 256 && p->same[own] == own &&
                 p->cpu->outline->shade_pair(label, inside_row(b, y) + x, p->pitch, rows, own,
                                             p->bare, w->index);
    if (w->is_pair)
        make_pair(b, own);
    else
        prepare_labels(b, label, rows, w->n);
    b->num_mixed += !w->is_pair;
    b->num_windows++;
}

static void find_windows(struct sam_band *b, int y)
{
    const int rows = min_int(SAM_LINE_ROWS, b->end - y), width = b->p->o->width;
    uint64_t near[SAM_MAX_SIDE / 64];
    make_rows(b, y + rows + REACH);
    collect_near(b, y, rows, near);
    b->num_windows = b->num_mixed = 0;
    const int last = max_int(width - SAM_WINDOWS, 0); // none sees more than there is
    for (int end = 0, x; end < width; end = x + SAM_WINDOWS) {
        const int bit = find_bit(near, max_int(end - REACH, 0), width);
        if (bit == width)
            break;
        x = min_int(max_int(bit - REACH, end), last);
        make_window(b, x, y, rows);
    }
}

// ---- colours

static void colour_soft(struct sam_band *b, const uint8_t *label, const uint8_t *inside, int n,
                        uint32_t *out)
{
    uint8_t shade[SAM_WINDOWS + SAM_SHADES] = { 0 };
    b->p->cpu->outline->shade_windows(label, inside, b->p->pitch, b->p->bare, shade);
    b->p->cpu->outline->find_shades(label, shade, n, b->shade, out);
    colour_beyond(b, label, shade, n, out);
}

void sam_lines_colour(struct sam_band *b, int y)
{
    const struct sam_painting *p = b->p;
    const uint8_t *label = label_row(b, y), *inside = inside_row(b, y);
    const int row = (y - b->top) % SAM_LINE_ROWS;
    if (row == 0)
        find_windows(b, y);
    p->cpu->outline->colour_lines(b->window, b->num_windows, row, b->pair, label, p->o->fill,
                                  p->o->width, b->colour);
    for (int i = 0; b->num_mixed && i < b->num_windows; i++) {
        const struct sam_line_window *w = &b->window[i];
        if (!w->is_pair)
            colour_soft(b, label + w->x, inside + w->x, w->n, b->colour + w->x);
    }
}
