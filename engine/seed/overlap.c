// SPDX-License-Identifier: MIT
#include "overlap.h"

#include <math.h>
#include <string.h>

struct sam_seed_box sam_seed_clip(struct sam_seed_box b, double width, double height)
{
    const float w = (float) width, h = (float) height;

    return (struct sam_seed_box) { fminf(fmaxf(b.x0, 0), w), fminf(fmaxf(b.y0, 0), h),
                                   fminf(fmaxf(b.x1, 0), w), fminf(fmaxf(b.y1, 0), h) };
}

double sam_seed_box_area(struct sam_seed_box b)
{
    return b.x1 > b.x0 && b.y1 > b.y0 ? ((double) b.x1 - b.x0) * ((double) b.y1 - b.y0) : 0;
}

double sam_seed_box_common(struct sam_seed_box a, struct sam_seed_box b)
{
    return sam_seed_box_area((struct sam_seed_box) { fmaxf(a.x0, b.x0), fmaxf(a.y0, b.y0),
                                                     fminf(a.x1, b.x1), fminf(a.y1, b.y1) });
}

double sam_seed_box_iou(struct sam_seed_box a, struct sam_seed_box b)
{
    const double common = sam_seed_box_common(a, b);

    return common > 0 ? common / (sam_seed_box_area(a) + sam_seed_box_area(b) - common) : 0;
}

double sam_seed_box_containment(struct sam_seed_box a, struct sam_seed_box b)
{
    const double common = sam_seed_box_common(a, b);

    return common > 0 ? common / fmin(sam_seed_box_area(a), sam_seed_box_area(b)) : 0;
}

double sam_seed_border_part(struct sam_seed_box b, double width, double height)
{
    const double w = (double) b.x1 - b.x0, h = (double) b.y1 - b.y0;
    const double on = (b.x0 <= 1 ? h : 0) + (b.x1 >= width - 1 ? h : 0) + (b.y0 <= 1 ? w : 0) +
                      (b.y1 >= height - 1 ? w : 0);

    return w + h > 0 ? on / (2 * (w + h)) : 0;
}

double sam_seed_near_iou(struct sam_seed_box a, struct sam_seed_box b, double sides)
{
    const float m = (float) (sides * ((double) a.x1 - a.x0 + a.y1 - a.y0) / 2);

    return sam_seed_box_iou(
        (struct sam_seed_box) { a.x0 - m, a.y0 - m, a.x1 + m, a.y1 + m },
        (struct sam_seed_box) { b.x0 - m, b.y0 - m, b.x1 + m, b.y1 + m });
}

// The first cell whose centre is at or behind `at` px of `size`.
static int first_cell(double at, double size)
{
    const double cell = ceil(at * SAM_SEED_GRID / size - 0.5);

    return cell < 0 ? 0 : cell > SAM_SEED_GRID ? SAM_SEED_GRID : (int) cell;
}

int sam_seed_count_cells(uint32_t count[256], const uint8_t *labels, struct sam_seed_box box,
                         const uint64_t *mask, double width, double height)
{
    int x0 = 0, y0 = 0, x1 = SAM_SEED_GRID, y1 = SAM_SEED_GRID;

    if (!mask) {
        x0 = first_cell(box.x0, width), x1 = first_cell(box.x1, width);
        y0 = first_cell(box.y0, height), y1 = first_cell(box.y1, height);
    }
    memset(count, 0, 256 * sizeof(count[0]));
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            if (!mask || mask[y * (SAM_SEED_GRID / 64) + x / 64] >> (x % 64) & 1)
                count[labels[y * SAM_SEED_GRID + x]]++;
    return (x1 - x0) * (y1 - y0);
}

int sam_seed_mask_cells(const uint64_t *mask)
{
    int n = 0;

    for (int i = 0; i < SAM_SEED_WORDS; i++)
        for (uint64_t bits = mask[i]; bits; bits &= bits - 1)
            n++;
    return n;
}
