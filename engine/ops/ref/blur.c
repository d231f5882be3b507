// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

struct plane {
    const struct sam_blur *p;
    struct sam_units is;
    struct sam_cells cells;
    uint8_t *data;
    int stride;
    bool is_deep;  // numbers of 16 bits
    int32_t *mean; // (lines, columns, numbers)
};

static int load_number(const struct plane *a, int y, int x, int k)
{
    const uint8_t *row = a->data + (size_t) y * a->stride;
    const size_t i = (size_t) x * a->is.numbers + k;
    return a->is_deep ? row[2 * i] | row[2 * i + 1] << 8 : row[i];
}

static void store_number(const struct plane *a, int y, int x, int k, int v)
{
    uint8_t *row = a->data + (size_t) y * a->stride;
    const size_t i = (size_t) x * a->is.numbers + k;
    if (a->is_deep) {
        row[2 * i] = v & 0xc0;
        row[2 * i + 1] = (uint8_t) (v >> 8);
    } else {
        row[i] = (uint8_t) v;
    }
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int mean_of(const struct plane *a, int line, int column, int k)
{
    const int bottom = smaller((line + 1) * a->cells.height, a->is.rows);
    const int right = smaller((column + 1) * a->cells.width, a->is.units);
    int64_t sum = 0, count = 0;
    for (int y = line * a->cells.height; y < bottom; y++)
        for (int x = column * a->cells.width; x < right; x++, count++)
            sum += load_number(a, y, x, k);
    return (int) ((sum + count / 2) / count);
}

// That of the nearest cell there is.
static int64_t cell(const struct plane *a, int line, int column, int k)
{
    const int last_line = (a->is.rows - 1) / a->cells.height;
    const int last_column = (a->is.units - 1) / a->cells.width;
    line = line < 0 ? 0 : smaller(line, last_line);
    column = column < 0 ? 0 : smaller(column, last_column);
    line -= a->cells.line, column -= a->cells.column;
    return a->mean[(line * a->cells.columns + column) * a->is.numbers + k];
}

static int floor_of(int a, int b)
{
    return a < 0 ? -((b - 1 - a) / b) : a / b;
}

static int smooth_of(const struct plane *a, int y, int x, int k)
{
    const int h = a->cells.height, w = a->cells.width;
    const int t = 2 * y + 1 - h, i = floor_of(t, 2 * h), v = (t - 2 * h * i) * 128 / h;
    const int u = x - w / 2, j = floor_of(u, w);
    const int64_t left = cell(a, i, j, k) * (256 - v) + cell(a, i + 1, j, k) * v;
    const int64_t right = cell(a, i, j + 1, k) * (256 - v) + cell(a, i + 1, j + 1, k) * v;
    const int64_t s = 256 * (right - left) / w;
    return (int) ((256 * left + s / 2 + s * (u - w * j)) >> 16);
}

static bool is_hidden(const struct plane *a, int y, int x)
{
    const struct sam_cover *c = a->p->cover;
    for (int i = 0; i < a->is.unit_height * a->is.unit_width; i++) {
        const int py = y * a->is.unit_height + i / a->is.unit_width - c->y;
        const int px = x * a->is.unit_width + i % a->is.unit_width - c->x;
        if (py >= 0 && py < c->height && px >= 0 && px < c->width &&
            c->map[(size_t) py * c->stride + px])
            return true;
    }
    return false;
}

static void blur_plane(const struct plane *a)
{
    const enum sam_pixel_format format = a->p->frame.format;
    const int n = a->is.numbers, columns = a->cells.columns;
    const int kept = format == SAM_PIXEL_RGBA || format == SAM_PIXEL_BGRA ? 1 : 0;
    for (int i = 0; i < a->cells.lines * columns * n; i++)
        a->mean[i] =
            mean_of(a, a->cells.line + i / n / columns, a->cells.column + i / n % columns, i % n);
    for (int y = 0; y < a->is.rows; y++)
        for (int x = 0; x < a->is.units; x++)
            for (int k = 0; k < n - kept && is_hidden(a, y, x); k++)
                store_number(a, y, x, k,
                             a->p->cover->smooth
                                 ? smooth_of(a, y, x, k)
                                 : (int) cell(a, y / a->cells.height, x / a->cells.width, k));
}

void sam_blur_ref(struct sam_queue *q, const struct sam_blur *p)
{
    (void) q;
    for (int i = 0; i < 3; i++) {
        const struct plane a = { .p = p,
                                 .is = sam_frame_units(&p->frame, i),
                                 .cells = sam_blur_cells(p, i),
                                 .data = (uint8_t *) (uintptr_t) p->frame.plane[i],
                                 .stride = p->frame.stride[i],
                                 .is_deep = p->frame.format == SAM_PIXEL_P010,
                                 .mean = p->room.data };
        if (a.is.units)
            blur_plane(&a);
    }
}
