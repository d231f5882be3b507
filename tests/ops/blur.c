// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "paint_scene.h"

// ---- The same in another way: sums are scattered to cells, covers to units, and colours are
// functions of a place between the centres of cells.

struct wanted {
    const struct scene *s;
    const struct sam_cover *cover;
    uint8_t *data;
    int stride, bytes; // of a number
    int n, units, rows, sub_x, sub_y, w, h, columns, lines;
    long long *sum, *count; // of a cell: n sums
    uint8_t *hidden;        // of a unit
};

static uint8_t *number(const struct wanted *a, int y, int x, int k)
{
    return a->data + (size_t) y * a->stride + (size_t) (x * a->n + k) * a->bytes;
}

static void scatter_units(struct wanted *a)
{
    const struct sam_cover *c = a->cover;
    for (int y = 0; y < a->rows; y++)
        for (int x = 0; x < a->units; x++) {
            const int i = y / a->h * a->columns + x / a->w;
            a->count[i]++;
            for (int k = 0; k < a->n; k++) {
                const uint8_t *at = number(a, y, x, k);
                a->sum[i * a->n + k] += a->bytes == 2 ? at[0] + 256 * at[1] : at[0];
            }
        }
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++)
            if (c->map[(size_t) y * c->stride + x])
                a->hidden[(c->y + y) / a->sub_y * a->units + (c->x + x) / a->sub_x] = 1;
}

static long long mean(const struct wanted *a, int line, int column, int k)
{
    line = line < 0 ? 0 : line >= a->lines ? a->lines - 1 : line;
    column = column < 0 ? 0 : column >= a->columns ? a->columns - 1 : column;
    const int i = line * a->columns + column;
    return llround(floor((double) a->sum[i * a->n + k] / (double) a->count[i] + 0.5));
}

// From the centre of one line of cells to that of the next, in 256ths.
static long long line_mean(const struct wanted *a, double y, int column, int k)
{
    const double at = (y + 0.5) / a->h - 0.5;
    const int line = (int) floor(at), v = (int) floor((at - line) * 256 + 1e-9);
    return mean(a, line, column, k) * (256 - v) + mean(a, line + 1, column, k) * v;
}

static int colour_at(const struct wanted *a, int y, int x, int k)
{
    if (!a->cover->smooth)
        return (int) mean(a, y / a->h, x / a->w, k);
    const int from = x - a->w / 2, column = (int) floor((double) from / a->w);
    const long long left = line_mean(a, y, column, k), right = line_mean(a, y, column + 1, k);
    const double step = trunc((double) (right - left) * 256 / a->w);
    return (int) floor(((double) left * 256 + trunc(step / 2) + step * (from - column * a->w)) /
                       65536);
}

static void write_units(const struct wanted *a)
{
    for (int y = 0; y < a->rows; y++)
        for (int x = 0; x < a->units; x++)
            for (int k = 0; k < a->n; k++) {
                if (!a->hidden[y * a->units + x] || (k == 3 && has_fourth(&a->s->frame)))
                    continue;
                const int v = colour_at(a, y, x, k);
                uint8_t *at = number(a, y, x, k);
                at[0] = (uint8_t) (a->bytes == 2 ? v % 256 / 64 * 64 : v);
                if (a->bytes == 2)
                    at[1] = (uint8_t) (v / 256);
            }
}

static void expect_plane(const struct scene *s, const struct sam_cover *cover, int plane)
{
    static const int numbers[][2] = {
        // of a unit, by format
        [SAM_PIXEL_RGB] = { 3 },     [SAM_PIXEL_BGR] = { 3 },   [SAM_PIXEL_RGBA] = { 4 },
        [SAM_PIXEL_BGRA] = { 4 },    [SAM_PIXEL_GRAY8] = { 1 }, [SAM_PIXEL_NV12] = { 1, 2 },
        [SAM_PIXEL_I420] = { 1, 1 }, [SAM_PIXEL_YUY2] = { 4 },  [SAM_PIXEL_P010] = { 1, 2 },
    };
    const struct sam_frame *f = &s->frame;
    struct wanted a = { .s = s,
                        .cover = cover,
                        .data = s->want[plane],
                        .stride = f->stride[plane],
                        .bytes = f->format == SAM_PIXEL_P010 ? 2 : 1,
                        .n = numbers[f->format][plane > 0],
                        .sub_y = plane ? 2 : 1 };
    a.sub_x = plane || f->format == SAM_PIXEL_YUY2 ? 2 : 1;
    a.units = (f->width + a.sub_x - 1) / a.sub_x, a.rows = (f->height + a.sub_y - 1) / a.sub_y;
    a.w = cover->cell / a.sub_x, a.h = cover->cell / a.sub_y;
    a.columns = (a.units + a.w - 1) / a.w, a.lines = (a.rows + a.h - 1) / a.h;
    a.sum = calloc((size_t) a.columns * a.lines * a.n, sizeof(*a.sum));
    a.count = calloc((size_t) a.columns * a.lines, sizeof(*a.count));
    a.hidden = calloc((size_t) a.units * a.rows, 1);
    scatter_units(&a);
    write_units(&a);
    free(a.sum);
    free(a.count);
    free(a.hidden);
}

// ---- What is hidden.

// Rectangles; some of one pixel, some of other values than 255.
static void draw_cover(struct check *t, const struct scene *s, struct sam_cover *c, uint8_t *map)
{
    const int w = s->frame.width, h = s->frame.height, whole = check_int(t, 0, 2);
    c->x = whole ? check_int(t, 0, w - 1) : 0, c->y = whole ? check_int(t, 0, h - 1) : 0;
    c->width = whole ? check_int(t, 1, w - c->x) : w;
    c->height = whole ? check_int(t, 1, h - c->y) : h;
    c->stride = c->width + check_int(t, 0, 5);
    c->cell = check_int(t, 0, 3) ? check_int(t, SAM_MIN_CELL, 40) : check_int(t, 41, SAM_MAX_CELL);
    c->smooth = check_int(t, 0, 1);
    c->map = map;
    memset(map, 0, (size_t) c->stride * c->height);
    for (int i = 0; i < 6; i++) {
        const int x0 = check_int(t, 0, c->width - 1), y0 = check_int(t, 0, c->height - 1);
        const int x1 = i % 2 ? x0 + 1 : check_int(t, x0, c->width);
        const int y1 = i % 2 ? y0 + 1 : check_int(t, y0, c->height);
        const int value = check_int(t, 0, 3) ? 255 : check_int(t, 1, 254);
        for (int y = y0; y < y1; y++)
            memset(map + (size_t) y * c->stride + x0, value, (size_t) (x1 - x0));
    }
    for (int y = 0; y < c->height; y++) // behind the rows is nothing of the area
        memset(map + (size_t) y * c->stride + c->width, 255, (size_t) (c->stride - c->width));
}

static void run(struct check *t, int format, int width, int height)
{
    struct scene *s = calloc(1, sizeof(*s));
    draw_frame(t, s, formats[format].format, width, height);
    uint8_t *map = malloc(((size_t) width + 5) * (size_t) height);
    struct sam_cover cover = SAM_COVER_INIT;
    draw_cover(t, s, &cover, map);
    const int numbers = sam_blur_numbers(&(struct sam_blur) { s->frame, &cover, { 0 } });
    struct check_buf *room = check_out(t, SAM_I32, 1, 1, 1, numbers);
    if (!t->bench) {
        keep_planes(t, s);
        for (int i = 0; i < 3; i++)
            if (s->plane[i]->host[CHECK_REF].data)
                expect_plane(s, &cover, i);
    }
    check_each_side(t, side)
        sam_op_blur(&t->queue[side],
                    &(struct sam_blur) { frame_on(t, s, side), &cover, room->on[side] });
    check_bytes(t, (double) sam_tensor_bytes(&s->plane[0]->on[0]))
        sam_op_blur(&t->queue[CHECK_NEW],
                    &(struct sam_blur) { frame_on(t, s, CHECK_NEW), &cover, room->on[CHECK_NEW] });
    if (!t->bench) {
        compare_to_wanted(t, s);
        compare_planes(t, s);
    }
    check_done(t);
    free(map);
    free(s);
}

static void check_blur(struct check *t)
{
    static const int sizes[][2] = { { 1, 1 },    { 2, 3 },    { 5, 2 },   { 64, 48 },
                                    { 131, 67 }, { 300, 35 }, { 19, 310 } };
    enum { NUM_SIZES = sizeof(sizes) / sizeof(*sizes) };
    for (int f = 0; f < NUM_FORMATS; f++) {
        for (int i = 0; i < NUM_SIZES; i++)
            for (int again = 0; again < 4; again++)
                if (check_case(t, "blur_%s_%dx%d_%d", formats[f].name, sizes[i][0], sizes[i][1],
                               again))
                    run(t, f, sizes[i][0], sizes[i][1]);
        if (check_speed(t, "blur_%s_1920x1080", formats[f].name))
            run(t, f, 1920, 1080);
    }
}

// ---- the front

static struct sam_cover a_cover;

static struct sam_blur valid_blur(void)
{
    uint8_t *bytes = (uint8_t *) (front_room + 1024);
    a_cover = (struct sam_cover) {
        .x = 1, .y = 2, .width = 6, .height = 3, .map = bytes, .stride = 6, .cell = 8
    };
    return (struct sam_blur) { { .format = SAM_PIXEL_I420,
                                .width = 7,
                                .height = 5,
                                .plane = { bytes, bytes + 100, bytes + 200 },
                                .stride = { 7, 4, 4 } },
                              &a_cover,
                              { front_room, SAM_I32, 1, 1, 1, 3 } };
}

static void fronts_blur(void)
{
    TAKES(blur, (void) p);
    REFUSES(blur, p->cover = NULL, "cover");
    REFUSES(blur, p->frame.format = SAM_PIXEL_P010 + 1, "SAM_PIXEL_P010");
    REFUSES(blur, p->frame.stride[1] = 3, "row_bytes");
    REFUSES(blur, p->frame.on_device = 1, "own_memory");
    REFUSES(blur, a_cover.width = 7, "x");
    REFUSES(blur, a_cover.y = -1, "y");
    REFUSES(blur, a_cover.map = NULL, "map");
    REFUSES(blur, a_cover.stride = 5, "stride");
    REFUSES(blur, a_cover.cell = SAM_MIN_CELL - 1, "SAM_MIN_CELL");
    REFUSES(blur, a_cover.cell = SAM_MAX_CELL + 1, "SAM_MAX_CELL");
    REFUSES(blur, p->frame.format = SAM_PIXEL_RGB; p->frame.stride[0] = 21; p->room.c = 2,
            "sam_blur_numbers");
    REFUSES(blur, p->room.type = SAM_F32, "room");
}

// ---- faults

// The reference, with a cover that has been changed; and, after `;`, a frame.
#define CHANGED_BLUR(name, ...)                                                                \
    static void blur_##name(struct sam_queue *q, const struct sam_blur *p)                     \
    {                                                                                          \
        struct sam_cover c = *p->cover;                                                        \
        struct sam_frame f = p->frame;                                                         \
        __VA_ARGS__;                                                                           \
        sam_blur_ref(q, &(struct sam_blur) { f, &c, p->room });                                \
    }

CHANGED_BLUR(never_smooth, c.smooth = 0)
CHANGED_BLUR(always_smooth, c.smooth = 1)
CHANGED_BLUR(cell_of_one_more, c.cell += c.cell < SAM_MAX_CELL)
CHANGED_BLUR(area_of_one_less, c.width -= c.width > 1)
CHANGED_BLUR(area_one_beside, c.x -= c.x > 0)
CHANGED_BLUR(forgets_the_stride, if (c.height > 1) c.stride = c.width)
CHANGED_BLUR(hides_the_fourth, if (f.format == SAM_PIXEL_RGBA) f.format = SAM_PIXEL_GRAY8)
CHANGED_BLUR(forgets_chroma, if (f.format == SAM_PIXEL_NV12) f.format = SAM_PIXEL_GRAY8)
CHANGED_BLUR(forgets_depth, if (f.format == SAM_PIXEL_P010) f.format = SAM_PIXEL_NV12)

// Means of what the first call left.
static void blur_twice(struct sam_queue *q, const struct sam_blur *p)
{
    sam_blur_ref(q, p);
    sam_blur_ref(q, p);
}

static const struct mutant mutants[] = {
    MUTANT(blur, never_smooth),     MUTANT(blur, always_smooth),
    MUTANT(blur, cell_of_one_more), MUTANT(blur, area_of_one_less),
    MUTANT(blur, area_one_beside),  MUTANT(blur, forgets_the_stride),
    MUTANT(blur, hides_the_fourth), MUTANT(blur, forgets_chroma),
    MUTANT(blur, forgets_depth),    MUTANT(blur, twice),
};

CUDA_FAULT("blur.cu", "bottom = «min(top + a.cells.height, a.is.rows) => top + a.cells.height»;")
CUDA_FAULT("blur.cu", "right = «min(left + a.cells.width, a.is.units) => left + a.cells.width»;")
CUDA_FAULT("blur.cu", "x < right; «x += 32 => x += 64»)")
CUDA_FAULT("blur.cu", "sums[warp][k] = sum[k];\n"
                      "    }\n"
                      "    «__syncthreads() => (void) 0»;")
CUDA_FAULT("blur.cu", "(all + «count / 2 => 0») / count")
CUDA_FAULT("blur.cu", "dy < «a.is.unit_height => 1»;")
CUDA_FAULT("blur.cu", "dx < «a.is.unit_width => 1»;")
CUDA_FAULT("blur.cu", "«py < a.height => true» && px >= 0")
CUDA_FAULT("blur.cu", "«px >= 0 => true» && px < a.width")
CUDA_FAULT("blur.cu", "line - a.cells.line, 0), «a.cells.lines - 1 => a.cells.lines»)")
CUDA_FAULT("blur.cu", "column - a.cells.column, 0), «a.cells.columns - 1 => a.cells.columns»)")
CUDA_FAULT("blur.cu", "i = t < 0 ? «-1 => 0» :")
CUDA_FAULT("blur.cu", "j = u < 0 ? «-1 => 0» :")
CUDA_FAULT("blur.cu", "+ «s / 2 => 0» + s")
CUDA_FAULT("units.cuh", "v : «v & 0xc0 => v»);")
CUDA_FAULT("units.cuh", "at[1] << «8 => 0»;")
CUDA_FAULT("blur.cu", "= «has_fourth ? 3 : a.is.numbers => a.is.numbers»;")

TEST(blur);
