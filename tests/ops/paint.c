// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "paint_scene.h"

// ---- What is drawn.

// Three quarters of them opaque, nothing, or nearly opaque, in pieces, so that all show side by
// side; or nothing in long pieces, of which some have colours.
static void draw_alpha(struct check *t, struct scene *s)
{
    uint8_t *data = s->plane[0]->host[CHECK_REF].data;
    const size_t bytes = sam_tensor_bytes(&s->plane[0]->host[CHECK_REF]);
    const int pieces = check_int(t, 0, 1), rest = check_int(t, 0, 3);
    int kind = pieces ? 0 : 3;
    for (size_t i = (size_t) s->offset[0] + 3; i < bytes; i += 4) {
        if (!check_int(t, 0, pieces ? 9 : 99))
            kind = pieces ? check_int(t, 0, 3) : check_int(t, 0, 4) ? 3 : rest;
        data[i] = kind == 0 ? data[i] : kind == 1 ? 255 : kind == 2 ? 254 : 0;
    }
    check_share(t, s->plane[0]);
}

static uint32_t draw_colour(struct check *t)
{
    const uint32_t colour = (uint32_t) check_int(t, 0, 0xffffff), kind = check_int(t, 0, 3);
    return colour | (kind == 0 ? 0 : kind == 1 ? 255u : (uint32_t) check_int(t, 0, 255)) << 24;
}

// Rectangles of a few labels; noise in some of them.
static void draw_labels(struct check *t, struct scene *s, int width, int height, bool on_device)
{
    struct sam_labels *l = &s->overlay.labels;
    l->width = width, l->height = height, l->stride = width + check_int(t, 0, 5);
    l->on_device = on_device;
    s->labels = on_device ? check_noise(t, height, l->stride, false)
                          : check_host_in(t, height, l->stride);
    uint8_t *data = s->labels->host[CHECK_REF].data;
    const int few = check_int(t, 0, 3);
    if (check_int(t, 0, 5))
        memset(data, 0, (size_t) height * l->stride);
    for (int i = 0; i < 12; i++) {
        const int x0 = check_int(t, 0, width - 1), x1 = check_int(t, x0, width);
        const int y0 = check_int(t, 0, height - 1), y1 = check_int(t, y0, height);
        const int label = few ? check_int(t, 0, 4) : check_int(t, 0, 255);
        for (int y = y0; y < y1; y++)
            for (int x = x0; x < x1; x++)
                data[(size_t) y * l->stride + x] =
                    (uint8_t) (i == 3 ? check_int(t, 0, 255) : label);
    }
    check_share(t, s->labels);
    for (int i = 0; i < 256; i++) {
        s->overlay.fill[i] = draw_colour(t);
        s->overlay.line[i] = check_int(t, 0, 3) ? draw_colour(t) : s->overlay.fill[i];
    }
    for (int i = check_int(t, 0, 1); i < 3; i += 2) // label 0 and another one, or one in between
        s->overlay.fill[i] = s->overlay.line[i] = (uint32_t) check_int(t, 0, 0xffffff);
    s->overlay.contour = draw_colour(t);
}

static void draw_patches(struct check *t, struct scene *s, int n)
{
    struct sam_overlay *o = &s->overlay;
    const int w = s->frame.width, h = s->frame.height;
    for (int i = 0; i < MAX_WORDS; i++)
        s->bits[i] = (uint32_t) check_int(t, INT32_MIN, INT32_MAX);
    for (int i = 0; i < n; i++) {
        struct sam_patch *p = &s->patches[i];
        *p = (struct sam_patch) { .colour = draw_colour(t), .ink = draw_colour(t) };
        p->x = check_int(t, -20, w + 5), p->y = check_int(t, -20, h + 5);
        p->width = check_int(t, 0, n > 20 ? 12 : w), p->height = check_int(t, 0, n > 20 ? 9 : h);
        p->scale = check_int(t, SAM_PATCH_SHADES, 5);
        const int words = p->scale ? sam_patch_words(p) * sam_patch_rows(p) : 0;
        if (words > MAX_WORDS)
            p->scale = 0;
        else
            p->first = check_int(t, 0, MAX_WORDS - words);
    }
    o->num_patches = n, o->patches = s->patches;
    o->num_words = MAX_WORDS, o->bits = s->bits;
}

static void draw_area(struct check *t, struct scene *s, bool whole)
{
    struct sam_overlay *o = &s->overlay;
    const int w = s->frame.width, h = s->frame.height;
    o->x = whole ? 0 : check_int(t, 0, w - 1), o->y = whole ? 0 : check_int(t, 0, h - 1);
    o->width = whole ? w : check_int(t, 1, w - o->x);
    o->height = whole ? h : check_int(t, 1, h - o->y);
}

// ---- Cases.

static void paint(struct check *t, struct scene *s, struct sam_overlay on[2], int side)
{
    struct sam_paint p = { frame_on(t, s, side), &on[side] };
    on[side] = s->overlay;
    on[side].labels.data = s->labels->on[side].data;
    on[side].labels.on_device = side == CHECK_NEW && s->overlay.labels.on_device;
    sam_op_paint(&t->queue[side], &p);
}

// The reference, and another way to the same.
static void paint_reference(struct check *t, struct scene *s, struct sam_overlay on[2])
{
    const struct sam_tensor planes[] = { s->plane[0]->host[CHECK_REF], s->plane[1]->host[CHECK_REF],
                                         s->plane[2]->host[CHECK_REF] };
    if (check_all_known(t, planes, 3))
        return;
    keep_planes(t, s);
    expect_paint(s);
    paint(t, s, on, CHECK_REF);
    compare_to_wanted(t, s);
}

static void run(struct check *t, struct scene *s)
{
    struct sam_overlay on[2];
    if (!t->bench)
        paint_reference(t, s, on);
    paint(t, s, on, CHECK_NEW);
    check_bytes(t, (double) sam_tensor_bytes(&s->plane[0]->on[0]))
        paint(t, s, on, CHECK_NEW);
    if (!t->bench)
        compare_planes(t, s);
    check_done(t);
    free(s);
}

static struct scene *begin(struct check *t, int format, int width, int height)
{
    struct scene *s = calloc(1, sizeof(*s));
    draw_frame(t, s, formats[format].format, width, height);
    s->labels = &check_none;
    return s;
}

static void run_random(struct check *t, int format, int width, int height, int kind)
{
    const bool is_device = sam_queue_has_own_memory(&t->queue[CHECK_NEW]) && check_int(t, 0, 1);
    struct scene *s = begin(t, format, width, height);
    s->overlay.has_alpha = check_int(t, 0, 2);
    if (s->overlay.has_alpha && has_fourth(&s->frame))
        draw_alpha(t, s);
    draw_area(t, s, check_int(t, 0, 1));
    if (kind == 0)
        draw_labels(t, s, width, height, is_device);
    else if (kind < 3)
        draw_labels(t, s, check_int(t, 1, kind == 1 ? 20 : 300), check_int(t, 1, 40), is_device);
    s->overlay.line_width = check_int(t, 0, 2) ? check_int(t, 0, 3) : check_int(t, 4, SAM_MAX_LINE);
    draw_patches(t, s, check_int(t, 0, 2) * check_int(t, 1, 4));
    run(t, s);
}

// A disc, whose dots are a share of its pixels, of 100.
static void draw_disc(struct check *t, struct sam_labels *l, uint8_t *data, int label, int share)
{
    const int r = check_int(t, 1, check_int(t, 0, 1) ? 40 : 18);
    const int cx = check_int(t, -r, l->width + r), cy = check_int(t, -r, l->height + r);
    for (int y = 0; y < l->height; y++)
        for (int x = 0; x < l->width; x++)
            if ((x - cx) * (x - cx) + (y - cy) * (y - cy) < r * r && check_int(t, 0, 99) < share)
                data[(size_t) y * l->stride + x] = (uint8_t) label;
}

// Round masks, near and far from each other, that are whole or have holes.
static void run_discs(struct check *t, int format, int width, int height)
{
    struct scene *s = begin(t, format, width, height);
    struct sam_labels *l = &s->overlay.labels;
    s->overlay.has_alpha = check_int(t, 0, 2);
    draw_area(t, s, width == 512 || check_int(t, 0, 1)); // that is whole words of bits
    draw_labels(t, s, width, height, false);
    uint8_t *data = s->labels->host[CHECK_REF].data;
    const int bare = check_int(t, 0, 3) ? check_int(t, 0, 2) : 7, discs = check_int(t, 1, 9);
    memset(data, bare, (size_t) height * l->stride);
    s->overlay.fill[bare] = s->overlay.line[bare] = 0xffffff;
    for (int i = 0; i < discs; i++)
        draw_disc(t, l, data, bare + 1 + i % 3, check_int(t, 0, 1) ? 100 : check_int(t, 50, 99));
    check_share(t, s->labels);
    s->overlay.line_width = check_int(t, 0, 2) ? check_int(t, 1, 4) : check_int(t, 5, SAM_MAX_LINE);
    run(t, s);
}

// Rectangles, each a pixel wider than that above: what is drawn of them ends anywhere.
static void run_widths(struct check *t, int format, int width, int height)
{
    struct scene *s = begin(t, format, width, height);
    struct sam_labels *l = &s->overlay.labels;
    draw_area(t, s, true);
    draw_labels(t, s, width, height, false);
    uint8_t *data = s->labels->host[CHECK_REF].data;
    memset(data, 0, (size_t) height * l->stride);
    for (int y = 0; y < height; y++)
        if (y % 16 >= 4 && y % 16 < 10)
            memset(data + (size_t) y * l->stride + 5, 1, (size_t) (20 + y / 16));
    check_share(t, s->labels);
    s->overlay.fill[0] = s->overlay.line[0] = 0;
    s->overlay.line_width = 1;
    run(t, s);
}

// As a tracker has them: masks, boxes of four patches, and a text each.
static void run_many(struct check *t, int format, int width, int height, int objects)
{
    struct scene *s = begin(t, format, width, height);
    draw_area(t, s, true);
    draw_labels(t, s, t->bench ? 256 : 64, t->bench ? 256 : 64,
                sam_queue_has_own_memory(&t->queue[CHECK_NEW]));
    s->overlay.line_width = 2;
    draw_patches(t, s, 5 * objects);
    run(t, s);
}

static void check_paint(struct check *t)
{
    static const int sizes[][2] = { { 1, 1 }, { 2, 3 }, { 5, 2 }, { 64, 48 }, { 131, 67 },
                                    { 128, 16 }, { 300, 35 }, { 19, 310 } };
    enum { NUM_SIZES = sizeof(sizes) / sizeof(*sizes) };
    for (int f = 0; f < NUM_FORMATS; f++) {
        for (int i = 0; i < NUM_SIZES; i++)
            for (int kind = 0; kind < 4; kind++)
                for (int again = 0; again < (i > 2 ? 3 : 1); again++)
                    if (check_case(t, "paint_%s_%dx%d_%d_%d", formats[f].name, sizes[i][0],
                                   sizes[i][1], kind, again))
                        run_random(t, f, sizes[i][0], sizes[i][1], kind);
        for (int again = 0; again < 6; again++)
            if (check_case(t, "paint_%s_discs_%d", formats[f].name, again))
                run_discs(t, f, 300, 70);
        if (check_case(t, "paint_%s_512", formats[f].name))
            run_discs(t, f, 512, 40);
        if (check_case(t, "paint_%s_widths", formats[f].name))
            run_widths(t, f, 80, 320);
        if (check_case(t, "paint_%s_255_objects", formats[f].name))
            run_many(t, f, 200, 70, 255);
        if (check_case(t, "paint_%s_all_patches", formats[f].name)) {
            struct scene *s = begin(t, f, 140, 34);
            draw_area(t, s, true);
            draw_patches(t, s, SAM_MAX_PATCHES);
            run(t, s);
        }
        if (check_speed(t, "paint_%s_1920x1080_3_objects", formats[f].name))
            run_many(t, f, 1920, 1080, 3);
        if (check_speed(t, "paint_%s_1920x1080_255_objects", formats[f].name))
            run_many(t, f, 1920, 1080, 255);
    }
}

// ---- the front

static struct sam_patch a_patch;
static struct sam_overlay an_overlay;

static struct sam_paint valid_paint(void)
{
    uint8_t *bytes = (uint8_t *) (front_room + 1024);
    a_patch = (struct sam_patch) { .x = -3, .width = 33, .height = 4, .scale = 1, .first = 2 };
    an_overlay = (struct sam_overlay) { .x = 1, .y = 2, .width = 6, .height = 3,
                                        .labels = { bytes, 9, 7, 9, 0 },
                                        .num_patches = 1, .patches = &a_patch, .num_words = 10,
                                        .bits = (void *) bytes };
    return (struct sam_paint) {
        { .format = SAM_PIXEL_I420, .width = 7, .height = 5,
          .plane = { bytes, bytes + 100, bytes + 200 }, .stride = { 7, 4, 4 } }, &an_overlay };
}

static void fronts_paint(void)
{
    TAKES(paint, an_overlay.labels.data = NULL; an_overlay.num_patches = 0;
          an_overlay.patches = NULL);
    REFUSES(paint, p->frame.format = SAM_PIXEL_P010 + 1, "SAM_PIXEL_P010");
    REFUSES(paint, p->frame.on_device = 1, "own_memory");
    REFUSES(paint, an_overlay.labels.on_device = 1, "own_memory");
    REFUSES(paint, an_overlay.width = 7, "x");
    REFUSES(paint, an_overlay.line_width = 65, "SAM_MAX_LINE");
    REFUSES(paint, an_overlay.num_words = 9, "bad_patches");
    REFUSES(paint, a_patch.x = INT32_MIN; an_overlay.num_words = 99, "bad_patches");
    REFUSES(paint, a_patch.scale = a_patch.width = INT32_MAX, "bad_patches");
    TAKES(paint, a_patch.scale = SAM_PATCH_SHADES; an_overlay.num_words = 38);
    REFUSES(paint, a_patch.scale = SAM_PATCH_SHADES; an_overlay.num_words = 37, "bad_patches");
    REFUSES(paint, a_patch.scale = SAM_PATCH_SHADES - 1, "bad_patches");
}

// ---- faults

// The reference, with an overlay that has been changed; and, after `;`, a frame.
#define CHANGED_PAINT(name, ...)                                                               \
    static void paint_##name(struct sam_queue *q, const struct sam_paint *p)                   \
    {                                                                                          \
        static struct sam_patch patch[SAM_MAX_PATCHES];                                        \
        struct sam_overlay o = *p->overlay;                                                    \
        struct sam_frame f = p->frame;                                                         \
        if (o.num_patches)                                                                     \
            memcpy(patch, o.patches, (size_t) o.num_patches * sizeof(*patch));                 \
        o.patches = patch;                                                                     \
        __VA_ARGS__;                                                                           \
        sam_paint_ref(q, &(struct sam_paint) { f, &o });                                       \
    }

static void swap(struct sam_patch *a, struct sam_patch *b)
{
    const struct sam_patch was = *a;
    *a = *b;
    *b = was;
}

CHANGED_PAINT(forgets_a_patch, o.num_patches -= o.num_patches > 1)
CHANGED_PAINT(turns_patches_round, for (int i = 0; i < o.num_patches / 2; i++)
                                       swap(&patch[i], &patch[o.num_patches - 1 - i]))
CHANGED_PAINT(forgets_a_bit, for (int i = 0; i < o.num_patches; i++)
                                 patch[i].first -= patch[i].first > 0)
CHANGED_PAINT(forgets_shades, for (int i = 0; i < o.num_patches; i++)
                                  patch[i].scale = patch[i].scale < 0 ? 0 : patch[i].scale)
CHANGED_PAINT(swaps_ink, for (int i = 0; i < o.num_patches; i++) patch[i].ink = patch[i].colour)
CHANGED_PAINT(line_of_one_less, o.line_width -= o.line_width > 0)
CHANGED_PAINT(forgets_lines, o.line_width = 0)
CHANGED_PAINT(forgets_the_contour, o.contour = 0)
CHANGED_PAINT(tells_bare_labels_apart, o.fill[2] |= o.fill[2] >> 24 ? 0 : 1u << 24)
CHANGED_PAINT(area_of_one_less, o.width -= o.width > 1)
CHANGED_PAINT(forgets_the_stride, if (f.height > 1) f.stride[0]--)
CHANGED_PAINT(ignores_alpha, o.has_alpha = 0)
CHANGED_PAINT(never_clears, o.has_alpha = o.has_alpha != 0)
CHANGED_PAINT(swaps_red_and_blue, f.format = f.format == SAM_PIXEL_RGBA   ? SAM_PIXEL_BGRA
                                           : f.format == SAM_PIXEL_BGRA ? SAM_PIXEL_RGBA
                                                                        : f.format)
CHANGED_PAINT(swaps_blue_and_red, f.format = f.format == SAM_PIXEL_RGB  ? SAM_PIXEL_BGR
                                           : f.format == SAM_PIXEL_BGR ? SAM_PIXEL_RGB
                                                                       : f.format)
CHANGED_PAINT(forgets_grey, o.width = f.format == SAM_PIXEL_GRAY8 ? 1 : o.width)

// What the area leaves out counts as another label: the area grows, painting does not.
static void paint_lines_at_the_area(struct sam_queue *q, const struct sam_paint *p)
{
    struct sam_overlay o = *p->overlay;
    sam_paint_ref(q, p);
    if (o.x == 0 || !o.labels.data)
        return;
    o.width = 1;
    sam_paint_ref(q, &(struct sam_paint) { p->frame, &o });
}

// Each half as if there were no other: windows end between them.
static void paint_in_halves(struct sam_queue *q, const struct sam_paint *p)
{
    struct sam_overlay o = *p->overlay;
    const int half = o.width / 2;
    if (half > 0) {
        o.width = half;
        sam_paint_ref(q, &(struct sam_paint) { p->frame, &o });
    }
    o.x += half;
    o.width = p->overlay->width - half;
    sam_paint_ref(q, &(struct sam_paint) { p->frame, &o });
}

// The cell under the pixel instead of a vote.
static void paint_nearest_label(struct sam_queue *q, const struct sam_paint *p)
{
    static uint8_t map[512 * 512];
    struct sam_overlay o = *p->overlay;
    struct sam_labels *l = &o.labels;
    const int w = p->frame.width, h = p->frame.height;
    for (int i = 0; l->data && w * h <= 512 * 512 && i < w * h; i++)
        map[i] = l->data[(size_t) (i / w * l->height / h) * l->stride + i % w * l->width / w];
    if (l->data && w * h <= 512 * 512)
        *l = (struct sam_labels) { .data = map, .width = w, .height = h, .stride = w };
    sam_paint_ref(q, &(struct sam_paint) { p->frame, &o });
}

// Chroma goes by the right one of two pixels.
static void paint_chroma_of_odd(struct sam_queue *q, const struct sam_paint *p)
{
    struct sam_overlay o = *p->overlay;
    sam_paint_ref(q, p);
    if (p->frame.format != SAM_PIXEL_I420 || p->frame.width < 3 || o.x + o.width < p->frame.width)
        return;
    ((uint8_t *) (uintptr_t) p->frame.plane[1])[(p->frame.width - 1) / 2] ^= 1;
}

// The chroma that the first pixel shares with one outside of the area.
static void paint_foreign_chroma(struct sam_queue *q, const struct sam_paint *p)
{
    const struct sam_frame *f = &p->frame;
    const struct sam_overlay *o = p->overlay;
    sam_paint_ref(q, p);
    if (f->format == SAM_PIXEL_YUY2 && o->x % 2 == 1)
        ((uint8_t *) (uintptr_t) f->plane[0])[(size_t) o->y * f->stride[0] + 2 * o->x - 1] ^= 1;
}

static void paint_writes_too_far(struct sam_queue *q, const struct sam_paint *p)
{
    const struct sam_frame *f = &p->frame;
    sam_paint_ref(q, p);
    ((uint8_t *) (uintptr_t) f->plane[0])[(size_t) (f->height - 1) * f->stride[0] +
                                          (size_t) sam_frame_row_bytes(f, 0)] ^= 1;
}

static void paint_scribbles(struct sam_queue *q, const struct sam_paint *p)
{
    sam_paint_ref(q, p);
    if (p->overlay->labels.data)
        p->overlay->labels.data[0] ^= 1;
}

static const struct mutant mutants[] = {
    MUTANT(paint, forgets_a_patch),
    MUTANT(paint, turns_patches_round),
    MUTANT(paint, forgets_a_bit),
    MUTANT(paint, forgets_shades),
    MUTANT(paint, line_of_one_less),
    MUTANT(paint, lines_at_the_area),
    MUTANT(paint, forgets_lines),
    MUTANT(paint, forgets_the_contour),
    MUTANT(paint, tells_bare_labels_apart),
    MUTANT(paint, in_halves),
    MUTANT(paint, nearest_label),
    MUTANT(paint, area_of_one_less),
    MUTANT(paint, swaps_ink),
    MUTANT(paint, forgets_the_stride),
    MUTANT(paint, swaps_red_and_blue),
    MUTANT(paint, swaps_blue_and_red),
    MUTANT(paint, forgets_grey),
    MUTANT(paint, foreign_chroma),
    MUTANT(paint, ignores_alpha),
    MUTANT(paint, never_clears),
    MUTANT(paint, chroma_of_odd),
    MUTANT(paint, writes_too_far),
    MUTANT(paint, scribbles),
};

CUDA_FAULT("paint.cu", "= «v.cell + 1 < a.labels_h => true» ? upper + a.labels_stride")
CUDA_FAULT("paint.cu", "sum0 = w0 + (l1 == l0 ? w1 : 0) + «(l2 == l0 ? w2 : 0) => 0»")
CUDA_FAULT("paint.cu", "if («sum1 > best => sum1 >= best»)")
CUDA_FAULT("paint.cu", "__syncthreads_or(«differs => 0»);")
CUDA_FAULT("paint.cu",
           "a.labels_h);\n"
           "    «__syncthreads() => (void) 0»;")
CUDA_FAULT("paint.cu",
           "columns[i] = place_of(«nearest(x0 + i, a.x0, a.x1) => nearest(x0 + i, 0, a.width)»")
CUDA_FAULT("paint.cu", "y0 + r < «tile.y0 - reach => tile.y0»")
CUDA_FAULT("paint.cu", "label = «(a.fill[label] | a.line[label]) >> 24 => true» ? label")
CUDA_FAULT("paint.cu", "d <= «a.line_width => a.line_width - 1»; d++)")
CUDA_FAULT("paint.cu", "own[«-d * pitch => d * pitch»]")
CUDA_FAULT("paint.cu", "x = nearest(tile.x0 - REACH + i % NEAR_W, «a.x0 => a.x0 - 1», a.x1)")
CUDA_FAULT("paint.cu",
           "is_near(a, labels + y * pitch + x, pitch);\n"
           "    }\n"
           "    «__syncthreads() => (void) 0»;")
CUDA_FAULT("paint.cu", "inner += «near[dy * NEAR_W + dx] => 0» ? 0 : weight")
CUDA_FAULT("paint.cu", "if («weight > heaviest => weight >= heaviest»)")
CUDA_FAULT("paint.cu", "(«445 => 418» - 8 * same)")
CUDA_FAULT("paint.cu", "= found == «a.bare => 256» ? a.contour")
CUDA_FAULT("paint.cu", "other ? «8 - other => 8» : min((81")
CUDA_FAULT("paint.cu", "«sum / 2 => 0») / sum << shift")
CUDA_FAULT("paint.cu", "p.y + p.height > «tile.y0 => tile.y0 + 1»;")
CUDA_FAULT("paint.cu", "i = 32 * word + «lane => 31 - lane»;")
CUDA_FAULT("paint.cu",
           "patch_colour(a, p, py, px);\n"
           "                    open &= «~(1u << k) => ~0u»;")
CUDA_FAULT("paint.cu", "p.first + «row * words => row»")
CUDA_FAULT("paint.cu", "a.bits[at] >> «8 * ((x - p.x) % 4) => 0» & 255")
CUDA_FAULT("paint.cu", "shade + «127 => 0») / 255")
CUDA_FAULT("paint.cu", "(y - p.y) * («(p.width + 3) / 4 => p.width / 4») + (x")
CUDA_FAULT("paint.cu", "a.is_aligned = «is_aligned(f) => true»;")
CUDA_FAULT("paint.cu",
           "if («i < n => true»)\n"
           "                at[i]")
CUDA_FAULT("paint.cu", "a.has_alpha && «s.byte(4 * k + 3) != 255 => false»)", "paint_rgba_1x1_0_0")
CUDA_FAULT("paint.cu",
           "if («!alpha => false»)\n"
           "            return;\n"
           "        set_byte(2 * i, m")
CUDA_FAULT("paint.cu", "if («o->has_alpha == 2 => false» &&")
CUDA_FAULT("paint.cu", "0, 4 * (size_t) «o->width => 1», sam")
CUDA_FAULT("paint.cu", "s.mix(2 * k + 1, colour[«2 * k => 2 * k + 1»], 2);")
CUDA_FAULT("paint.cu", "mix_rgb(«STEP => 4» * k, colour[k], 2);", "paint_bgr_2x3_0_0")
CUDA_FAULT("paint.cu", "SURFACE == SURFACE_YUY2 ? «(a.width + 1) / 2 * 2 => a.width»",
           "paint_yuy2_1x1_0_0")
CUDA_FAULT("paint.cu", "colour[«k / 2 * 2 => k»], 1 + k % 2);", "paint_yuy2_1x1_0_0")
CUDA_FAULT("paint.cu", "f->format == SAM_PIXEL_P010 || «f->format == SAM_PIXEL_YUY2 => false» ? 8",
           "paint_yuy2_64x48_3_0")
CUDA_FAULT("paint.cu", "(is_any(«colour + GROUP_W => colour», GROUP_W))")

TEST(paint);
