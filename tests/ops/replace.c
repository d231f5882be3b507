// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "paint_scene.h"

// ---- The same in another way: pixels give their shares to units, counted twice at odd edges.

struct wanted {
    uint8_t *data;
    const uint8_t *other;
    int stride, other_stride;
    int bytes, n, units, rows, sub_x, sub_y; // of a number; of a unit
    double *share;                           // of a unit
};

// Each pixel of a unit weighs as many fourths as there are corners that it is.
static void give_shares(const struct wanted *a, const struct sam_frame *f,
                        const struct sam_cover *c)
{
    for (int y = 0; y < a->rows * a->sub_y; y++)
        for (int x = 0; x < a->units * a->sub_x; x++) {
            const int row = (y < f->height ? y : f->height - 1) - c->y;
            const int column = (x < f->width ? x : f->width - 1) - c->x;
            const bool inside = row >= 0 && row < c->height && column >= 0 && column < c->width;
            a->share[y / a->sub_y * a->units + x / a->sub_x] +=
                (inside ? c->map[(size_t) row * c->stride + column] : 0) /
                (double) (a->sub_x * a->sub_y);
        }
}

static int load(const struct wanted *a, const uint8_t *at)
{
    return a->bytes == 2 ? at[0] + 256 * at[1] : at[0];
}

// Numbers `from` to `to` - 1 of each unit; without another frame they go to 0.
static void mix_units(const struct wanted *a, int from, int to)
{
    for (int i = 0; i < a->rows * a->units; i++) {
        const int share = (int) floor(a->share[i] + 0.5), y = i / a->units, x = i % a->units;
        for (int k = from; share && k < to; k++) {
            const size_t at = (size_t) (x * a->n + k) * a->bytes;
            uint8_t *own = a->data + (size_t) y * a->stride + at;
            const int new = a->other ? load(a, a->other + (size_t) y * a->other_stride + at) : 0;
            const double mixed = load(a, own) * (255.0 - share) + new * share;
            const int v = (int) floor((mixed + 127.25) / 255);
            own[0] = (uint8_t) (a->bytes == 2 ? v % 256 / 64 * 64 : v);
            if (a->bytes == 2)
                own[1] = (uint8_t) (v / 256);
        }
    }
}

static void expect_plane(const struct scene *s, const struct scene *other,
                         const struct sam_cover *c, bool alpha, int plane)
{
    static const int numbers[][2] = {
        // of a unit, by format
        [SAM_PIXEL_RGB] = { 3 },     [SAM_PIXEL_BGR] = { 3 },   [SAM_PIXEL_RGBA] = { 4 },
        [SAM_PIXEL_BGRA] = { 4 },    [SAM_PIXEL_GRAY8] = { 1 }, [SAM_PIXEL_NV12] = { 1, 2 },
        [SAM_PIXEL_I420] = { 1, 1 }, [SAM_PIXEL_YUY2] = { 4 },  [SAM_PIXEL_P010] = { 1, 2 },
    };
    const struct sam_frame *f = &s->frame;
    struct wanted a = { .data = s->want[plane],
                        .other = (uint8_t *) other->plane[plane]->host[CHECK_REF].data +
                                 other->offset[plane],
                        .stride = f->stride[plane],
                        .other_stride = other->frame.stride[plane],
                        .bytes = f->format == SAM_PIXEL_P010 ? 2 : 1,
                        .n = numbers[f->format][plane > 0],
                        .sub_y = plane ? 2 : 1 };
    a.sub_x = plane || f->format == SAM_PIXEL_YUY2 ? 2 : 1;
    a.units = (f->width + a.sub_x - 1) / a.sub_x, a.rows = (f->height + a.sub_y - 1) / a.sub_y;
    if (!c) {
        for (int y = 0; y < a.rows; y++)
            memcpy(a.data + (size_t) y * a.stride, a.other + (size_t) y * a.other_stride,
                   (size_t) a.units * a.n * a.bytes);
        return;
    }
    a.share = calloc((size_t) a.units * a.rows, sizeof(*a.share));
    give_shares(&a, f, c);
    a.other = alpha ? NULL : a.other;
    mix_units(&a, alpha ? 3 : 0, has_fourth(f) && !alpha ? 3 : a.n);
    free(a.share);
}

// ---- What is replaced.

// Rectangles, some of one pixel, of any share; beside them half of a share's noise.
static void draw_cover(struct check *t, const struct scene *s, struct sam_cover *c, uint8_t *map)
{
    const int w = s->frame.width, h = s->frame.height, part = check_int(t, 0, 2);
    c->x = part ? check_int(t, 0, w - 1) : 0, c->y = part ? check_int(t, 0, h - 1) : 0;
    c->width = part ? check_int(t, 1, w - c->x) : w;
    c->height = part ? check_int(t, 1, h - c->y) : h;
    c->stride = c->width + check_int(t, 0, 5);
    c->map = map;
    memset(map, 0, (size_t) c->stride * c->height);
    for (int i = 0; i < 6; i++) {
        const int x0 = check_int(t, 0, c->width - 1), y0 = check_int(t, 0, c->height - 1);
        const int x1 = i % 2 ? x0 + 1 : check_int(t, x0, c->width);
        const int y1 = i % 2 ? y0 + 1 : check_int(t, y0, c->height);
        const int value = check_int(t, 0, 2) ? 255 : check_int(t, 0, 255);
        for (int y = y0; y < y1; y++)
            for (int x = x0; x < x1; x++)
                map[(size_t) y * c->stride + x] =
                    (uint8_t) (i == 2 ? check_int(t, 0, 255) : value);
    }
    for (int y = 0; y < c->height; y++) // behind the rows is nothing of the area
        memset(map + (size_t) y * c->stride + c->width, 255, (size_t) (c->stride - c->width));
}

static void replace(struct check *t, const struct scene *s, const struct scene *other,
                    const struct sam_cover *cover, bool alpha, int side)
{
    sam_op_replace(&t->queue[side],
                   &(struct sam_replace) { frame_on(t, s, side), frame_on(t, other, side), cover,
                                           alpha });
}

enum kind { COVERED, ALPHA, WHOLE };

static void run(struct check *t, int format, int width, int height, enum kind kind)
{
    struct scene *s = calloc(2, sizeof(*s)), *other = s + 1;
    const bool alpha = kind == ALPHA;
    draw_frame(t, s, formats[format].format, width, height);
    draw_frame(t, other, formats[format].format, width, height);
    uint8_t *map = malloc(((size_t) width + 5) * (size_t) height);
    struct sam_cover own = SAM_COVER_INIT, *cover = kind == WHOLE ? NULL : &own;
    draw_cover(t, s, &own, map);
    if (!t->bench) {
        keep_planes(t, s);
        for (int i = 0; i < 3; i++)
            if (s->plane[i]->host[CHECK_REF].data)
                expect_plane(s, other, cover, alpha, i);
    }
    check_each_side(t, side)
        replace(t, s, other, cover, alpha, side);
    check_bytes(t, (double) sam_tensor_bytes(&s->plane[0]->on[0]))
        replace(t, s, other, cover, alpha, CHECK_NEW);
    if (!t->bench) {
        compare_to_wanted(t, s);
        compare_planes(t, s);
        compare_planes(t, other);
    }
    check_done(t);
    free(map);
    free(s);
}

static void check_replace(struct check *t)
{
    static const int sizes[][2] = { { 1, 1 },    { 2, 3 },    { 5, 2 },   { 64, 48 },
                                    { 131, 67 }, { 300, 35 }, { 19, 310 } };
    enum { NUM_SIZES = sizeof(sizes) / sizeof(*sizes) };
    for (int f = 0; f < NUM_FORMATS; f++) {
        const bool has_alpha =
            formats[f].format == SAM_PIXEL_RGBA || formats[f].format == SAM_PIXEL_BGRA;
        for (int i = 0; i < NUM_SIZES; i++)
            for (int again = 0; again < 4; again++)
                if (check_case(t, "replace_%s_%dx%d_%d", formats[f].name, sizes[i][0], sizes[i][1],
                               again))
                    run(t, f, sizes[i][0], sizes[i][1],
                        again == 3 ? WHOLE : again == 2 && has_alpha ? ALPHA : COVERED);
        if (check_speed(t, "replace_%s_1920x1080", formats[f].name))
            run(t, f, 1920, 1080, COVERED);
    }
}

// ---- the front

static struct sam_cover a_cover;

static struct sam_replace valid_replace(void)
{
    uint8_t *bytes = (uint8_t *) (front_room + 1024);
    const struct sam_frame frame = { .format = SAM_PIXEL_I420,
                                     .width = 7,
                                     .height = 5,
                                     .plane = { bytes, bytes + 100, bytes + 200 },
                                     .stride = { 7, 4, 4 } };
    a_cover = (struct sam_cover) {
        .x = 1, .y = 2, .width = 6, .height = 3, .map = bytes, .stride = 6
    };
    return (struct sam_replace) { frame, frame, &a_cover, 0 };
}

static void fronts_replace(void)
{
    TAKES(replace, (void) p);
    TAKES(replace, p->cover = NULL);
    REFUSES(replace, p->frame.format = SAM_PIXEL_P010 + 1, "SAM_PIXEL_P010");
    REFUSES(replace, p->frame.stride[1] = 3, "row_bytes");
    REFUSES(replace, p->other.stride[2] = 3, "row_bytes");
    REFUSES(replace, p->frame.on_device = p->other.on_device = 1, "own_memory");
    REFUSES(replace, p->other.on_device = 1, "on_device");
    REFUSES(replace, p->other.format = SAM_PIXEL_GRAY8, "format");
    REFUSES(replace, p->other.width = 6, "width");
    REFUSES(replace, p->other.height = 4, "height");
    REFUSES(replace, a_cover.width = 7, "x");
    REFUSES(replace, a_cover.y = -1, "y");
    REFUSES(replace, a_cover.map = NULL, "map");
    REFUSES(replace, a_cover.stride = 5, "stride");
    REFUSES(replace, p->alpha = 1, "SAM_PIXEL_RGBA");
    TAKES(replace, p->frame.format = p->other.format = SAM_PIXEL_BGRA;
          p->frame.stride[0] = p->other.stride[0] = 28; p->alpha = 1);
    REFUSES(replace, p->frame.format = p->other.format = SAM_PIXEL_BGRA; p->cover = NULL;
            p->frame.stride[0] = p->other.stride[0] = 28; p->alpha = 1, "cover");
}

// ---- faults

// The reference, with a cover or frames that have been changed.
#define CHANGED_REPLACE(name, ...)                                                             \
    static void replace_##name(struct sam_queue *q, const struct sam_replace *p)               \
    {                                                                                          \
        struct sam_cover c = p->cover ? *p->cover : (struct sam_cover) SAM_COVER_INIT;         \
        struct sam_replace r = *p;                                                             \
        r.cover = p->cover ? &c : NULL;                                                        \
        __VA_ARGS__;                                                                           \
        sam_replace_ref(q, &r);                                                                \
    }

static void change_format(struct sam_replace *r, enum sam_pixel_format from,
                          enum sam_pixel_format to)
{
    if (r->frame.format == from)
        r->frame.format = r->other.format = to;
}

CHANGED_REPLACE(forgets_the_cover, r.cover = NULL)
CHANGED_REPLACE(area_of_one_less, c.width -= c.width > 1)
CHANGED_REPLACE(area_one_beside, c.x -= c.x > 0)
CHANGED_REPLACE(forgets_the_stride, if (c.height > 1) c.stride = c.width)
CHANGED_REPLACE(of_the_frames_stride,
                if (r.frame.stride[0] < r.other.stride[0]) r.other.stride[0] = r.frame.stride[0])
CHANGED_REPLACE(mixes_the_fourth, change_format(&r, SAM_PIXEL_RGBA, SAM_PIXEL_YUY2))
CHANGED_REPLACE(forgets_chroma, change_format(&r, SAM_PIXEL_NV12, SAM_PIXEL_GRAY8))
CHANGED_REPLACE(forgets_depth, change_format(&r, SAM_PIXEL_P010, SAM_PIXEL_NV12))
CHANGED_REPLACE(keeps_the_frame, r.other = r.frame)
CHANGED_REPLACE(forgets_alpha, r.alpha = 0)

// Half of what is there already.
static void replace_twice(struct sam_queue *q, const struct sam_replace *p)
{
    sam_replace_ref(q, p);
    sam_replace_ref(q, p);
}

static const struct mutant mutants[] = {
    MUTANT(replace, forgets_the_cover),    MUTANT(replace, area_of_one_less),
    MUTANT(replace, area_one_beside),      MUTANT(replace, forgets_the_stride),
    MUTANT(replace, of_the_frames_stride), MUTANT(replace, mixes_the_fourth),
    MUTANT(replace, forgets_chroma),       MUTANT(replace, forgets_depth),
    MUTANT(replace, keeps_the_frame),      MUTANT(replace, twice),
    MUTANT(replace, forgets_alpha),
};

CUDA_FAULT("replace.cu", "row = «min(y, a.bottom) => y» - a.y0")
CUDA_FAULT("replace.cu", "column = «min(x, a.right) => x» - a.x0")
CUDA_FAULT("replace.cu", "«row >= 0 => true» && row < a.height")
CUDA_FAULT("replace.cu", "«row < a.height => true» && column >= 0")
CUDA_FAULT("replace.cu", "«column >= 0 => true» && column < a.width")
CUDA_FAULT("replace.cu", "«column < a.width => true»;")
CUDA_FAULT("replace.cu", "bottom = top + «a.is.unit_height - 1 => 0», right")
CUDA_FAULT("replace.cu", "right = left + «a.is.unit_width - 1 => 0»;")
CUDA_FAULT("replace.cu", "byte_of(a, bottom, right) + «2 => 0») / 4")
CUDA_FAULT("units.cuh", "at[1] << «8 => 0»;")
CUDA_FAULT("replace.cu", "«column >= a.columns => false»)")
CUDA_FAULT("replace.cu", "k < «N * B => N»; k++)")
CUDA_FAULT("replace.cu", "* share + «127 => 0») / 255")
CUDA_FAULT("replace.cu", "«!share => false»)")
CUDA_FAULT("replace.cu", "if («k < a.first => false» ||")
CUDA_FAULT("replace.cu", "a.first = «p->alpha ? 3 : 0 => 0»;")
CUDA_FAULT("replace.cu", "c = «a.alpha => false» ?")
CUDA_FAULT("units.cuh", "v : «v & 0xc0 => v»);")
CUDA_FAULT("replace.cu", "= «has_fourth && !p->alpha ? 3 : a.is.numbers => a.is.numbers»;")
CUDA_FAULT("replace.cu", "a.other + (size_t) y * «a.other_stride => a.stride» + x")

TEST(replace);
