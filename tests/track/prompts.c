// SPDX-License-Identifier: MIT
// Prompts in model coordinates: scale, order and accumulation of points; masks of any size
// against the reference resize (whose own test compares it with PyTorch).
#include "track/prompts/prompts.h"

#include <stdlib.h>

#include "../expect.h"
#include "ops/backends.h"
#include "ops/ops.h"

enum { SIDE = 64, MASKS = 4 };

static struct sam_mask_pool open_pool(void)
{
    return (struct sam_mask_pool) {
        .bits = calloc(MASKS, sam_mask_bytes(SIDE)), .taken = calloc(MASKS, sizeof(bool)),
        .side = SIDE, .count = MASKS, .column = calloc(SIDE, sizeof(struct sam_triangle)),
        .row = calloc(SIDE, sizeof(float)),
    };
}

static void close_pool(struct sam_mask_pool *p)
{
    free(p->bits), free(p->taken), free(p->column), free(p->row);
}

static struct sam_interaction read_prompt(struct sam_mask_pool *pool, struct sam_prompt p)
{
    struct sam_error error = { "" };
    struct sam_interaction i;
    const int status = sam_interaction_read(&i, &p, pool, &error);

    expect(!status, "%s", error.text);
    return i;
}

static void check_coordinates(void)
{
    struct sam_mask_pool pool = open_pool();
    const struct sam_point points[] = { { 0, 0, SAM_POINT_NEGATIVE },
                                        { 240, 60, SAM_POINT_POSITIVE } };
    const struct sam_interaction i = read_prompt(&pool, (struct sam_prompt) {
        .space_width = 320, .space_height = 240, .num_points = 2, .points = points, .has_box = 1,
        .box = { 80, 120, 160, 240 } });

    // The box first, as two points, whatever the order in the prompt.
    const float xy[4][2] = { { 16, 32 }, { 32, 64 }, { 0, 0 }, { 48, 16 } };
    const int label[4] = { SAM_LABEL_BOX0, SAM_LABEL_BOX1, SAM_LABEL_NEGATIVE, SAM_LABEL_POSITIVE };
    expect(i.num_points == 4 && i.has_box && i.mask < 0, "%d points", i.num_points);
    for (int k = 0; k < 4; k++)
        expect(i.xy[k][0] == xy[k][0] && i.xy[k][1] == xy[k][1] && i.label[k] == label[k],
               "point %d: (%g, %g) label %d", k, (double) i.xy[k][0], (double) i.xy[k][1],
               i.label[k]);
    const struct sam_point half = { 0.5f, 0.25f, SAM_POINT_POSITIVE };
    const struct sam_interaction n =
        read_prompt(&pool, (struct sam_prompt){ .num_points = 1, .points = &half });
    expect(n.xy[0][0] == 32 && n.xy[0][1] == 16, "normalized: (%g, %g)", (double) n.xy[0][0],
           (double) n.xy[0][1]);
    close_pool(&pool);
}

static void check_accumulation(void)
{
    struct sam_mask_pool pool = open_pool();
    const struct sam_point p[SAM_MAX_POINTS] = { { 0.5f, 0.5f, 1 } };
    const uint8_t mask[1] = { 1 };
    const struct sam_prompt point = { .num_points = 1, .points = p },
                            many = { .num_points = 32, .points = p };
    const struct sam_prompt box = {
        .has_box = 1, .box = { 0, 0, 1, 1 }, .num_points = 1, .points = p
    };
    const struct sam_prompt full = {
        .mask = mask, .mask_width = 1, .mask_height = 1, .mask_stride = 1
    };
    const struct sam_prompt order[] = { point, point, box, point, full, point, many };
    const int points[] = { 1, 2, 3, 4, 0, 1, -1 }, boxes[] = { 0, 0, 1, 1, 0, 0, 0 };
    struct sam_interactions list = { 0 };
    struct sam_interaction all;

    for (int i = 0; i < 7; i++) {
        list.item[list.count++] = read_prompt(&pool, order[i]);
        const int n = sam_interactions_points(&list, list.count, &all);
        expect(n == points[i], "after %d interactions: %d points, wanted %d", i + 1, n, points[i]);
        expect(n < 0 || all.has_box == boxes[i], "after %d interactions: box %d", i + 1,
               all.has_box);
        if (n > 2 && all.has_box)
            expect(all.label[0] == SAM_LABEL_BOX0 && all.label[1] == SAM_LABEL_BOX1,
                   "the box is first");
    }
    expect(pool.taken[0] && sam_mask_any(&pool, list.item[4].mask), "the mask waits in the pool");
    sam_interactions_cut(&list, 4, &pool);
    expect(list.count == 4 && !pool.taken[0], "cut gives the mask back");
    close_pool(&pool);
}

// Blobs: rectangles on and off, so that edges fall anywhere between pixels.
static void draw_blobs(uint8_t *mask, int w, int h, int stride, uint64_t *rng)
{
    memset(mask, 0, (size_t) stride * h);
    for (int k = 0; k < 6; k++) {
        const int x0 = draw_int(rng, 0, w - 1), x1 = draw_int(rng, x0, w - 1);
        const int y0 = draw_int(rng, 0, h - 1), y1 = draw_int(rng, y0, h - 1);
        for (int y = y0; y <= y1; y++)
            memset(mask + (size_t) y * stride + x0, k % 3 < 2 ? 1 + 127 * (k % 2) : 0,
                   (size_t) (x1 - x0 + 1));
    }
}

struct rows {
    const uint8_t *mask;
    int stride, left; // rows to give until there are no more
};

static const uint8_t *give_row(void *priv, int y)
{
    struct rows *r = priv;
    return r->left-- > 0 ? r->mask + (size_t) y * (size_t) r->stride : NULL;
}

// Stretched outside of the tracker it is the same, to the bit, and so it is when it comes back.
static void check_stretch(struct sam_mask_pool *pool, const struct sam_prompt *p, int mask)
{
    struct rows rows = { p->mask, p->mask_stride, 1 << 20 };
    uint8_t bits[SIDE * SIDE / 8];
    struct sam_error error = { "" };

    expect(sizeof(bits) == sam_mask_bytes(SIDE), "%zu bytes", sam_mask_bytes(SIDE));
    expect(!sam_mask_stretch(bits, SIDE, p->mask_width, p->mask_height, give_row, &rows, &error),
           "%s", error.text);
    expect(!memcmp(bits, pool->bits + (size_t) mask * sizeof(bits), sizeof(bits)),
           "mask of %d x %d: other bits", p->mask_width, p->mask_height);
    const struct sam_interaction i =
        read_prompt(pool, (struct sam_prompt){ .mask_bits = bits, .mask_side = SIDE });
    expect(!memcmp(bits, pool->bits + (size_t) i.mask * sizeof(bits), sizeof(bits)),
           "mask of %d x %d: other bits came back", p->mask_width, p->mask_height);
    rows.left = p->mask_height / 2;
    expect(sam_mask_stretch(bits, SIDE, p->mask_width, p->mask_height, give_row, &rows, &error) ==
               SAM_EIO, "half a mask of %d x %d was stretched", p->mask_width, p->mask_height);
}

static void check_bad_stretches(void)
{
    struct sam_mask_pool pool = open_pool();
    const uint8_t mask[4] = { 1 };
    struct rows rows = { mask, 1, 100 };
    uint8_t bits[SIDE * SIDE / 8];
    struct sam_error error = { "" };
    struct sam_interaction i;

    expect(sam_mask_stretch(bits, SIDE, 0, 1, give_row, &rows, &error) == SAM_EINVAL, "0 px");
    expect(sam_mask_stretch(bits, SIDE, 1, 16385, give_row, &rows, &error) == SAM_EINVAL, "16385");
    expect(sam_mask_stretch(bits, 0, 1, 1, give_row, &rows, &error) == SAM_EINVAL, "side 0");
    expect(sam_interaction_read(&i, &(struct sam_prompt){ .mask_bits = bits, .mask_side = 32 },
                                &pool, &error) == SAM_EINVAL, "bits of another model");
    expect(sam_interaction_read(&i, &(struct sam_prompt){ .mask_bits = bits, .mask_side = SIDE,
                                                          .mask = mask },
                                &pool, &error) == SAM_EINVAL, "two masks");
    close_pool(&pool);
}

static void check_mask(struct sam_queue *q, int w, int h, uint64_t *rng)
{
    struct sam_mask_pool pool = open_pool();
    const int stride = w + draw_int(rng, 0, 3);
    uint8_t *mask = malloc((size_t) stride * h);
    float *src = malloc((size_t) w * h * sizeof(float)), want[SIDE * SIDE], got[SIDE * SIDE];

    draw_blobs(mask, w, h, stride, rng);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            src[(size_t) y * w + x] = mask[(size_t) y * stride + x] != 0;
    sam_op_resize(q, &(struct sam_resize){ .dst = { want, SAM_F32, 1, SIDE, SIDE, 1 },
                                           .src = { src, SAM_F32, 1, h, w, 1 },
                                           .antialias = true });
    struct sam_error error = { "" };
    expect(!sam_queue_finish(q, &error), "%s", error.text);
    const struct sam_prompt p = { .mask = mask, .mask_width = w, .mask_height = h,
                                  .mask_stride = stride };
    const struct sam_interaction i = read_prompt(&pool, p);
    check_stretch(&pool, &p, i.mask);
    sam_mask_expand(&pool, i.mask, got);
    int wrong = 0, any = 0;
    for (int k = 0; k < SIDE * SIDE; k++) {
        any |= got[k] > 0;
        // Where the sum is a half but for rounding, either answer is right.
        wrong += got[k] != (float) (want[k] >= 0.5f) && !(want[k] > 0.49999f && want[k] < 0.50001f);
    }
    expect(!wrong, "mask of %d x %d: %d pixels of %d differ", w, h, wrong, SIDE * SIDE);
    expect(any == sam_mask_any(&pool, i.mask), "mask of %d x %d: any", w, h);
    free(mask), free(src);
    close_pool(&pool);
}

int main(int argc, char **argv)
{
    uint64_t rng = argc > 1 ? strtoull(argv[1], NULL, 0) : 3;
    const int sizes[][2] = { { SIDE, SIDE }, { 1, 1 }, { 128, 128 }, { 63, 65 }, { 320, 240 },
                             { 7, 301 }, { 1920, 3 }, { 192, 33 }, { 2, 2 } };
    struct sam_queue q;

    printf("seed %llu\n", (unsigned long long) rng);
    if (sam_queue_open(&q, SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1, NULL, NULL))
        return 1;
    check_coordinates();
    check_accumulation();
    check_bad_stretches();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check_mask(&q, sizes[i][0], sizes[i][1], &rng);
    for (int i = 0; i < 20; i++)
        check_mask(&q, draw_int(&rng, 1, 300), draw_int(&rng, 1, 300), &rng);
    sam_queue_close(&q);
    return expect_status();
}
