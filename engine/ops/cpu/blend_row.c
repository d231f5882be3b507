// SPDX-License-Identifier: MIT
// See blend.h. A row has few colours in long runs: a run is blended at once, all bytes of a plane
// that belong to it in one pass. Compilers make vectors of the loops.

#include "ops/cpu/blend.h"

#include <string.h>

enum {
    PERIOD = SAM_BLEND_PERIOD,
    WIDE   = 16, // samples of two bytes in a vector
    LOOK   = 32, // pixels that are looked at together: longer than what is unrolled
    FEW    = 8,  // pixels that are not worth a table
};

static int min_int(int a, int b) { return a < b ? a : b; }

// Rounded down, for v up to 255 * 255.
static inline uint8_t divide_by_255(uint16_t v)
{
    const uint16_t more = (uint16_t) (v + 1);
    return (uint8_t) ((uint16_t) (more + (more >> 8)) >> 8);
}

// Rounded down, for v up to 65535 * 65535.
static inline uint32_t divide_by_65535(uint32_t v)
{
    const uint32_t more = v + 1;
    return (more + (more >> 16)) >> 16;
}

// Number i of a colour: R, G, B or Y, Cb, Cr.
static inline int number(uint32_t colour, int i)
{
    return (int) (colour >> (16 - 8 * i) & 255);
}

static inline uint8_t mix(uint8_t b, uint32_t colour, int i)
{
    const int alpha = (int) (colour >> 24);
    return divide_by_255((uint16_t) (b * (255 - alpha) + alpha * number(colour, i)));
}

// Of a sample of two bytes, the lower one first, whatever the processor's order is.
static inline uint16_t in_order(uint16_t v)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? (uint16_t) (v << 8 | v >> 8) : v;
}

static inline void mix_wide(uint8_t *at, uint32_t rest, uint32_t term)
{
    uint16_t sample;
    memcpy(&sample, at, 2);
    sample = in_order(sample);
    const uint32_t all = sample | (uint32_t) sample >> 10;
    sample = in_order((uint16_t) (divide_by_65535(all * rest + term) & 0xffc0));
    memcpy(at, &sample, 2);
}

// ---- runs of one colour

static struct sam_blend_ink *find_ink(struct sam_blend *b, uint32_t colour)
{
    struct sam_blend_ink *ink = &b->ink[colour * 2654435761u >> 16 & (SAM_BLEND_INKS - 1)];
    if (ink->colour != colour || !ink->is_mixed) {
        const int alpha = (int) (colour >> 24);
        for (int i = 0; i < b->num_streams; i++)
            for (int k = 0; k < PERIOD; k++) {
                const int n = b->stream[i].number[k];
                ink->factor[i][k] = (uint16_t) (n < 0 ? 255 : 255 - alpha);
                ink->term[i][k] = (uint16_t) (n < 0 ? 0 : alpha * number(colour, n));
            }
        ink->colour = colour;
        ink->is_mixed = true;
    }
    return ink;
}

static void blend_bytes(uint8_t *data, size_t bytes, const uint16_t *restrict factor,
                        const uint16_t *restrict term)
{
    size_t i;
    for (; bytes >= PERIOD; bytes -= PERIOD, data += PERIOD)
        for (i = 0; i < PERIOD; i++)
            data[i] = divide_by_255((uint16_t) (data[i] * factor[i] + term[i]));
    for (i = 0; i < bytes; i++)
        data[i] = divide_by_255((uint16_t) (data[i] * factor[i] + term[i]));
}

static void blend_plain(uint8_t *data, size_t bytes, uint16_t factor, uint16_t term)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = divide_by_255((uint16_t) (data[i] * factor + term));
}

static void blend_wide(uint8_t *data, size_t samples, uint32_t colour, const int8_t *numbers)
{
    const uint32_t alpha = colour >> 24 << 8, rest = 65535 - alpha;
    uint32_t term[WIDE];
    size_t i;
    for (i = 0; i < WIDE; i++)
        term[i] = alpha * ((uint32_t) number(colour, numbers[i]) << 8);
    for (; samples >= WIDE; samples -= WIDE, data += 2 * WIDE)
        for (i = 0; i < WIDE; i++)
            mix_wide(data + 2 * i, rest, term[i]);
    for (i = 0; i < samples; i++)
        mix_wide(data + 2 * i, rest, term[i]);
}

// Samples of a stream that belong to pixels from x on: the first of a sample's pixels has it.
static inline int sample_of(const struct sam_blend_stream *s, int x)
{
    return (x + (1 << s->w_sub) - 1) >> s->w_sub;
}

static inline bool has_row(const struct sam_blend_stream *s, int y)
{
    return !(y & ((1 << s->h_sub) - 1));
}

static inline uint8_t *find_sample(const struct sam_blend *b, const struct sam_blend_stream *s,
                                   int y, int sample)
{
    const struct sam_frame *f = b->frame;
    const int bytes = s->step << (f->format == SAM_PIXEL_P010);
    return (uint8_t *) f->plane[s->plane] + (size_t) (y >> s->h_sub) * f->stride[s->plane] +
           (size_t) sample * bytes;
}

static void blend_run(struct sam_blend *b, int y, int x0, int x1, uint32_t colour)
{
    const struct sam_blend_ink *ink = find_ink(b, colour);
    for (int i = 0; i < b->num_streams; i++) {
        const struct sam_blend_stream *s = &b->stream[i];
        const int first = sample_of(s, x0);
        const size_t bytes = (size_t) (sample_of(s, x1) - first) * s->step;
        if (!has_row(s, y))
            continue;
        uint8_t *at = find_sample(b, s, y, first);
        if (b->frame->format == SAM_PIXEL_P010)
            blend_wide(at, bytes, colour, s->number);
        else if (s->step == 1)
            blend_plain(at, bytes, ink->factor[i][0], ink->term[i][0]);
        else
            blend_bytes(at, bytes, ink->factor[i], ink->term[i]);
    }
}

// ---- pixels of a colour each

// One byte of each sample; a sample belongs to `pixels` of them.
static inline void blend_number(uint8_t *restrict at, int step, const uint32_t *restrict colour,
                                int pixels, int which, int n)
{
    for (int i = 0; i < n; i++)
        at[i * step] = mix(at[i * step], colour[i * pixels], which);
}

static void blend_samples(const struct sam_blend_stream *s, uint8_t *at, const uint32_t *colour,
                          int n)
{
    for (int k = 0; k < s->step; k++) {
        const int which = s->number[k];
        if (which < 0)
            continue;
        if (s->step == 1)
            blend_number(at, 1, colour, 1 << s->w_sub, which, n);
        else if (s->step == 2)
            blend_number(at + k, 2, colour, 1 << s->w_sub, which, n);
        else if (s->step == 3)
            blend_number(at + k, 3, colour, 1, which, n);
        else
            blend_number(at + k, 4, colour, 1 << s->w_sub, which, n);
    }
}

static void blend_wide_samples(const struct sam_blend_stream *s, uint8_t *at,
                               const uint32_t *colour, int n)
{
    const int pixels = 1 << s->w_sub, step = s->step;
    for (int i = 0; i < n; i++, at += 2 * step, colour += pixels) {
        const uint32_t alpha = *colour >> 24 << 8;
        for (int k = 0; k < step && alpha; k++)
            mix_wide(at + 2 * k, 65535 - alpha,
                     alpha * ((uint32_t) number(*colour, s->number[k]) << 8));
    }
}

// colour: of the pixel x0.
static void blend_pixels(const struct sam_blend *b, int y, int x0, int x1, const uint32_t *colour)
{
    for (int i = 0; i < b->num_streams; i++) {
        const struct sam_blend_stream *s = &b->stream[i];
        const int first = sample_of(s, x0), n = sample_of(s, x1) - first;
        if (!has_row(s, y) || n <= 0)
            continue;
        uint8_t *at = find_sample(b, s, y, first);
        const uint32_t *own = colour + (first << s->w_sub) - x0;
        if (b->frame->format == SAM_PIXEL_P010)
            blend_wide_samples(s, at, own, n);
        else
            blend_samples(s, at, own, n);
    }
}

// ---- frames with an alpha of their own

static inline uint32_t swap_ends(uint32_t colour)
{
    return (colour & 0xff00ff00u) | (colour >> 16 & 255) | (colour & 255) << 16;
}

static void store_colour(uint8_t *at, uint32_t colour)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t) (colour >> 8 * i);
}

static void store_run(uint8_t *at, int n, uint32_t colour)
{
    uint8_t bytes[PERIOD];
    for (int i = 0; i < PERIOD; i += 4)
        store_colour(bytes + i, colour);
    for (n *= 4; n >= PERIOD; n -= PERIOD, at += PERIOD)
        memcpy(at, bytes, PERIOD);
    memcpy(at, bytes, (size_t) n);
}

// The colour's bytes as the frame has them, the first in the lowest. Over nothing it is stored.
static void blend_translucent(uint8_t *at, uint32_t colour)
{
    const int alpha = (int) (colour >> 24), left = at[3] * (255 - alpha), sum = alpha + left / 255;
    if (at[3] == 0) {
        store_colour(at, colour);
        return;
    }
    for (int i = 0; i < 3; i++) {
        const int mixed = ((int) (colour >> 8 * i & 255) * alpha + at[i] * left / 255) / sum;
        at[i] = (uint8_t) min_int(mixed, 255);
    }
    at[3] = (uint8_t) sum;
}

// The first of the pixels x to end - 1 whose alpha is another one than that of x: whole vectors
// first.
static int find_other_alpha(const uint8_t *row, int x, int end)
{
    const uint8_t alpha = row[4 * x + 3];
    for (x++; x + LOOK <= end; x += LOOK) {
        uint8_t differs = 0;
        for (int i = 0; i < LOOK; i++)
            differs |= row[4 * (x + i) + 3] ^ alpha;
        if (differs)
            break;
    }
    while (x < end && row[4 * x + 3] == alpha)
        x++;
    return x;
}

static void blend_run_with_alpha(struct sam_blend *b, int y, int x0, int x1, uint32_t colour)
{
    uint8_t *row = find_sample(b, &b->stream[0], y, 0);
    const uint32_t own = b->stream[0].number[0] == 2 ? colour : swap_ends(colour);
    for (int x = x0, end; x < x1; x = end) {
        end = find_other_alpha(row, x, x1);
        if (row[4 * x + 3] == 255 && end - x > FEW)
            blend_run(b, y, x, end, colour);
        else if (row[4 * x + 3] == 0)
            store_run(row + 4 * x, end - x, own);
        else
            for (int i = x; i < end; i++)
                blend_translucent(row + 4 * i, own);
    }
}

static void blend_pixels_with_alpha(struct sam_blend *b, int y, int x0, int x1,
                                    const uint32_t *colour)
{
    uint8_t *row = find_sample(b, &b->stream[0], y, 0);
    const bool is_bgra = b->stream[0].number[0] == 2;
    for (int x = x0; x < x1; x++)
        if (colour[x - x0] >> 24)
            blend_translucent(row + 4 * x, is_bgra ? colour[x - x0] : swap_ends(colour[x - x0]));
}

// A pixel of the frame as one number, its first byte in the lowest.
static inline uint32_t bytes_of(uint32_t pixel)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap32(pixel) : pixel;
}

static inline uint32_t load_pixel(const uint8_t *at)
{
    uint32_t pixel;
    memcpy(&pixel, at, sizeof(pixel));
    return pixel;
}

// Whether n pixels have alpha 0, as rows of a layer often have. Other frames are known at once.
static bool is_clear(const uint8_t *row, int n)
{
    uint32_t bits = 0;
    for (int x = 0, end; x < n && !(bytes_of(bits) >> 24); x = end) {
        end = min_int(n, x ? n : LOOK);
        for (int i = x; i < end; i++)
            bits |= load_pixel(row + 4 * i);
    }
    return !(bytes_of(bits) >> 24);
}

// Over a clear row colours are stored.
static void store_row(const struct sam_blend *b, uint8_t *row, int n, const uint32_t *colour)
{
    const bool is_bgra = b->stream[0].number[0] == 2;
    for (int i = 0; i < n; i++) {
        const uint32_t own = bytes_of(is_bgra ? colour[i] : swap_ends(colour[i]));
        const uint32_t stored = colour[i] >> 24 ? own : load_pixel(row + 4 * i);
        memcpy(row + 4 * i, &stored, sizeof(stored));
    }
}

// The same over a row that counts as clear: it is not read.
static void overwrite_row(const struct sam_blend *b, uint8_t *row, int n, const uint32_t *colour)
{
    const bool is_bgra = b->stream[0].number[0] == 2;
    for (int i = 0; i < n; i++) {
        const uint32_t own = bytes_of(is_bgra ? colour[i] : swap_ends(colour[i]));
        const uint32_t stored = colour[i] >> 24 ? own : 0;
        memcpy(row + 4 * i, &stored, sizeof(stored));
    }
}

// ---- rows

// The end of the run that begins at i: whole vectors first.
static int find_end(const uint32_t *colour, int i, int n)
{
    const uint32_t own = colour[i];
    int end = i + 1;
    if (end < n && colour[end] != own)
        return end;
    for (; end + LOOK <= n; end += LOOK) {
        uint32_t differs = 0;
        for (int k = 0; k < LOOK; k++)
            differs |= colour[end + k] ^ own;
        if (differs)
            break;
    }
    while (end < n && colour[end] == own)
        end++;
    return end;
}

void SAM_LEVEL(sam_blend_row)(struct sam_blend *b, int y, int x, int n, const uint32_t *colour)
{
    int end, next;
    if (b->is_clear) {
        overwrite_row(b, find_sample(b, &b->stream[0], y, x), n, colour);
        return;
    }
    if (b->has_alpha && is_clear(find_sample(b, &b->stream[0], y, x), n)) {
        store_row(b, find_sample(b, &b->stream[0], y, x), n, colour);
        return;
    }
    for (int i = 0; i < n; i = end) {
        end = find_end(colour, i, n);
        if (!(colour[i] >> 24))
            continue;
        if (end - i > FEW) {
            (b->has_alpha ? blend_run_with_alpha : blend_run)(b, y, x + i, x + end, colour[i]);
            continue;
        }
        for (; end < n && colour[end] >> 24; end = next) // other short runs
            if ((next = find_end(colour, end, n)) - end > FEW)
                break;
        if (b->has_alpha)
            blend_pixels_with_alpha(b, y, x + i, x + end, colour + i);
        else
            blend_pixels(b, y, x + i, x + end, colour + i);
    }
}
