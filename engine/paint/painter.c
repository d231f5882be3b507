// SPDX-License-Identifier: MIT
// What is seen of a tracker's results, painted over a frame: a queue of its own, and no model.
#include <stdlib.h>

#include "base/arena.h"
#include "base/sized.h"
#include "device/given.h"
#include "ops/backends.h"
#include "ops/ops.h"

// Of device memory, and of pinned memory on the way there: 2048 patches with a picture each. A
// label map in the host's memory that is larger makes the former grow, once.
enum { WORK_BYTES = 256 << 10 };

// A frame in the memory that the painter works in.
struct sam_kept {
    struct sam_frame frame;
    uint8_t *memory;
    size_t bytes;
    bool is_there;
};

struct sam_painter {
    struct sam_queue queue;
    struct sam_tensor means; // room for covers
    struct sam_kept kept[SAM_MAX_KEPT];
    uint8_t *rows; // of the frame that is looked at; in host memory
    size_t rows_bytes;
    int broken; // the status of the failure that ended it
    struct sam_error broken_error;
};

static int check_patches(const struct sam_overlay *o, struct sam_error *error)
{
    if (o->num_patches < 0 || o->num_patches > SAM_MAX_PATCHES)
        return sam_fail(error, SAM_EINVAL, "overlay: %d patches, expected 0 to %d", o->num_patches,
                        SAM_MAX_PATCHES);
    if (o->num_patches && !o->patches)
        return sam_fail(error, SAM_EINVAL, "overlay: num_patches is %d, but patches is NULL",
                        o->num_patches);
    if (o->num_words < 0 || (o->num_words && !o->bits))
        return sam_fail(error, SAM_EINVAL,
                        "overlay: num_words is %d and bits is %p: expected 0 or more words",
                        o->num_words, (const void *) o->bits);
    for (int i = 0; i < o->num_patches; i++) {
        const struct sam_patch *p = &o->patches[i];
        if (!sam_patch_fits(o, p))
            return sam_fail(error, SAM_EINVAL,
                            "overlay: patch %d, %d x %d px at (%d, %d) with squares of %d px from "
                            "word %d of %d: its position or its bits are out of range",
                            i, p->width, p->height, p->x, p->y, p->scale, p->first, o->num_words);
    }
    return SAM_OK;
}

static int check_overlay(struct sam_queue *q, const struct sam_frame *f,
                         const struct sam_overlay *o, struct sam_error *error)
{
    const struct sam_labels *l = &o->labels;

    if (o->x < 0 || o->y < 0 || o->width < 1 || o->height < 1 || o->x > f->width - o->width ||
        o->y > f->height - o->height)
        return sam_fail(error, SAM_EINVAL,
                        "overlay: an area of %d x %d px at (%d, %d) is not inside a frame of %d x "
                        "%d px", o->width, o->height, o->x, o->y, f->width, f->height);
    if (o->line_width < 0 || o->line_width > SAM_MAX_LINE)
        return sam_fail(error, SAM_EINVAL, "overlay: line_width is %d px, expected 0 to %d",
                        o->line_width, SAM_MAX_LINE);
    if (l->data && sam_labels_check(q, l, error))
        return SAM_EINVAL;
    return check_patches(o, error);
}

static int check_area(const struct sam_frame *f, const struct sam_cover *c,
                      struct sam_error *error)
{
    if (c->x < 0 || c->y < 0 || c->width < 1 || c->height < 1 || c->x > f->width - c->width ||
        c->y > f->height - c->height)
        return sam_fail(error, SAM_EINVAL,
                        "cover: an area of %d x %d px at (%d, %d) is not inside a frame of %d x %d "
                        "px", c->width, c->height, c->x, c->y, f->width, f->height);
    if (!c->map || c->stride < c->width)
        return sam_fail(error, SAM_EINVAL,
                        "cover: map is %p with a stride of %d bytes, expected at least %d",
                        (const void *) c->map, c->stride, c->width);
    return SAM_OK;
}

static int check_cover(const struct sam_frame *f, const struct sam_cover *c,
                       struct sam_error *error)
{
    if (check_area(f, c, error))
        return SAM_EINVAL;
    if (c->cell < SAM_MIN_CELL || c->cell > SAM_MAX_CELL)
        return sam_fail(error, SAM_EINVAL, "cover: cell is %d px, expected %d to %d", c->cell,
                        SAM_MIN_CELL, SAM_MAX_CELL);
    return SAM_OK;
}

// Copy the caller's frame, and check it.
static int take_frame(sam_painter *p, struct sam_frame *f, const struct sam_frame *given,
                      struct sam_error *error)
{
    struct sam_queue *q = &p->queue;
    int status;

    if ((status = sam_frame_take(f, q, given, error)))
        return status;
    if (!f->on_device && sam_queue_has_own_memory(q))
        return sam_fail(error, SAM_EINVAL,
                        "frame: it is in host memory, but the backend '%s' paints in the device's",
                        sam_queue_backend(q));
    return SAM_OK;
}

// All there is to run, once, on a few pixels: the first frame costs what the thousandth costs.
static int warm_up(sam_painter *p, struct sam_error *error)
{
    const struct sam_patch patch = { .width = 1, .height = 1, .colour = 0xff000000 };
    uint8_t *memory = sam_queue_alloc(&p->queue, 512);

    if (!memory)
        return sam_fail(error, SAM_ENOMEM, "out of memory: cannot allocate 512 bytes to paint");
    for (int i = 0; i <= SAM_PIXEL_P010; i++) {
        const struct sam_frame f = { .format = (enum sam_pixel_format) i, .width = 2, .height = 2,
                                     .stride = { 16, 16, 16 },
                                     .plane = { memory, memory + 64, memory + 128 },
                                     .on_device = sam_queue_has_own_memory(&p->queue) };
        sam_op_paint(&p->queue, &(struct sam_paint) {
            f, &(struct sam_overlay) { .width = 2, .height = 2, .num_patches = 1,
                                       .patches = &patch } });
        sam_op_blur(&p->queue, &(struct sam_blur) {
            f, &(struct sam_cover) { .width = 2, .height = 2, .map = (const uint8_t[4]) { 1 },
                                     .stride = 2, .cell = SAM_MIN_CELL },
            { memory + 256, SAM_I32, 1, 1, 1, 16 } });
        sam_op_replace(&p->queue, &(struct sam_replace) { f, f, NULL, 0 });
    }
    const int status = sam_queue_finish(&p->queue, error);
    sam_queue_free(&p->queue, memory);
    return status;
}

int sam_painter_open(sam_painter **out, const struct sam_params *params, struct sam_error *error)
{
    struct sam_params own;
    struct sam_painter *p;
    int status;

    if (!out)
        return sam_fail(error, SAM_EINVAL, "out is NULL");
    *out = NULL;
    if ((status = sam_params_take(&own, params, error)))
        return status;
    p = calloc(1, sizeof(*p));
    if (!p)
        return sam_fail(error, SAM_ENOMEM, "no memory for a painter");
    status = sam_queue_open_small(&p->queue, &own, WORK_BYTES, error);
    if (!status) {
        sam_queue_enter(&p->queue);
        status = warm_up(p, error);
        sam_queue_leave(&p->queue);
    }
    if (status) {
        sam_painter_close(&p);
        return status;
    }
    *out = p;
    return SAM_OK;
}

void sam_painter_close(sam_painter **out)
{
    struct sam_painter *p = out ? *out : NULL;

    if (!p)
        return;
    if (p->means.data || p->kept[0].memory || p->kept[1].memory) {
        sam_queue_enter(&p->queue);
        sam_queue_free(&p->queue, p->means.data);
        for (int i = 0; i < SAM_MAX_KEPT; i++)
            sam_queue_free(&p->queue, p->kept[i].memory);
        sam_queue_leave(&p->queue);
    }
    sam_queue_close(&p->queue);
    free(p->rows);
    free(p);
    *out = NULL;
}

// Room for what comes from the host. If the device fails meanwhile, the queue keeps the failure.
static int make_room(sam_painter *p, size_t bytes, struct sam_error *error)
{
    const int status = sam_queue_reserve(&p->queue, bytes + 2 * SAM_ALIGN, error);

    return p->queue.status ? SAM_OK : status;
}

static size_t overlay_bytes(const struct sam_overlay *o)
{
    const struct sam_labels *l = &o->labels;
    const size_t map = l->data && !l->on_device ? (size_t) l->width * l->height : 0;

    return map + (size_t) o->num_patches * sizeof(*o->patches) +
           (size_t) o->num_words * sizeof(*o->bits);
}

// Room for the means of any cover of such frames.
static int make_means(sam_painter *p, const struct sam_blur *blur, struct sam_error *error)
{
    const struct sam_cover whole = { .width = blur->frame.width, .height = blur->frame.height,
                                     .cell = blur->cover->cell };
    const int numbers = sam_blur_numbers(&(struct sam_blur) { blur->frame, &whole, p->means });

    if (p->means.c >= numbers)
        return SAM_OK;
    sam_queue_free(&p->queue, p->means.data);
    p->means = (struct sam_tensor) { NULL, SAM_I32, 1, 1, 1, 0 };
    p->means.data = sam_queue_alloc(&p->queue, (size_t) numbers * sizeof(int32_t));
    if (!p->means.data && !p->queue.status)
        return sam_fail(error, SAM_ENOMEM,
                        "out of memory: cannot allocate %zu bytes for means of cells of %d px",
                        (size_t) numbers * sizeof(int32_t), whole.cell);
    p->means.c = numbers;
    return SAM_OK;
}

static int check_open(const sam_painter *p, struct sam_error *error)
{
    if (!p)
        return sam_fail(error, SAM_EINVAL, "painter is NULL");
    if (p->broken)
        return sam_fail(error, SAM_EDEVICE, "the painter failed before and must be closed: %s",
                        p->broken_error.text);
    return SAM_OK;
}

// Wait for what was painted.
static int finish(sam_painter *p, struct sam_error *error)
{
    p->broken = sam_queue_finish(&p->queue, &p->broken_error);
    if (p->broken && error)
        *error = p->broken_error;
    return p->broken ? SAM_EDEVICE : SAM_OK;
}

int sam_painter_draw(sam_painter *p, const struct sam_frame *frame,
                     const struct sam_overlay *overlay, struct sam_error *error)
{
    struct sam_frame own;
    struct sam_overlay drawn;
    int status;

    if ((status = check_open(p, error)) ||
        (status = sam_sized_read(&drawn, sizeof(drawn), sizeof(drawn), overlay, "overlay", error)))
        return status;
    sam_queue_enter(&p->queue);
    if (!p->queue.status && !(status = take_frame(p, &own, frame, error)) &&
        !(status = check_overlay(&p->queue, &own, &drawn, error)) && !p->queue.status)
        status = make_room(p, overlay_bytes(&drawn), error);
    if (!status) {
        sam_op_paint(&p->queue, &(struct sam_paint) { own, &drawn });
        status = finish(p, error);
    }
    sam_queue_leave(&p->queue);
    return status;
}

int sam_painter_cover(sam_painter *p, const struct sam_frame *frame, const struct sam_cover *cover,
                      struct sam_error *error)
{
    struct sam_cover own;
    struct sam_blur blur = { .cover = &own };
    int status;

    if ((status = check_open(p, error)) ||
        (status = sam_sized_read(&own, sizeof(own), sizeof(own), cover, "cover", error)))
        return status;
    sam_queue_enter(&p->queue);
    if (!p->queue.status && !(status = take_frame(p, &blur.frame, frame, error)) &&
        !(status = check_cover(&blur.frame, &own, error)) && !p->queue.status)
        status = make_room(p, (size_t) own.width * own.height, error);
    if (!status && !p->queue.status)
        status = make_means(p, &blur, error);
    if (!status) {
        blur.room = p->means;
        sam_op_blur(&p->queue, &blur);
        status = finish(p, error);
    }
    sam_queue_leave(&p->queue);
    return status;
}

// ---- frames that are kept

static int check_number(const sam_painter *p, int number, struct sam_error *error)
{
    int status;

    if ((status = check_open(p, error)))
        return status;
    if (number < 1 || number > SAM_MAX_KEPT)
        return sam_fail(error, SAM_EINVAL, "kept frame %d, expected 1 to %d", number,
                        SAM_MAX_KEPT);
    return SAM_OK;
}

// Memory for a frame like that one, its rows close together.
static int make_kept(sam_painter *p, struct sam_kept *k, const struct sam_frame *like,
                     struct sam_error *error)
{
    const size_t bytes = sam_frame_bytes(like);
    size_t used = 0;

    if (bytes > k->bytes) {
        sam_queue_free(&p->queue, k->memory);
        k->memory = sam_queue_alloc(&p->queue, bytes);
        k->bytes = k->memory ? bytes : 0;
    }
    if (p->queue.status)
        return SAM_OK;
    if (!k->memory)
        return sam_fail(error, SAM_ENOMEM,
                        "out of memory: cannot allocate %zu bytes to keep a frame", bytes);
    k->frame = *like;
    k->frame.on_device = sam_queue_has_own_memory(&p->queue);
    for (int i = 0; i < 3; i++) {
        k->frame.stride[i] = sam_frame_row_bytes(like, i);
        k->frame.plane[i] = k->memory + used;
        used += (size_t) k->frame.stride[i] * sam_frame_rows(like, i);
    }
    return SAM_OK;
}

static void upload_planes(struct sam_queue *q, const struct sam_frame *to,
                          const struct sam_frame *from)
{
    for (int i = 0; i < 3; i++)
        if (to->stride[i])
            sam_queue_upload_rows(q, (uint8_t *) to->plane[i], from->plane[i],
                                  (size_t) from->stride[i], (size_t) to->stride[i],
                                  (size_t) sam_frame_rows(to, i));
}

int sam_painter_keep(sam_painter *p, int number, const struct sam_frame *frame,
                     struct sam_error *error)
{
    struct sam_frame own;
    struct sam_kept *k;
    int status;

    if ((status = check_number(p, number, error)))
        return status;
    k = &p->kept[number - 1];
    sam_queue_enter(&p->queue);
    k->is_there = false;
    if (!p->queue.status && !(status = sam_frame_take(&own, &p->queue, frame, error)))
        status = make_kept(p, k, &own, error);
    if (!status && !p->queue.status && !own.on_device == !k->frame.on_device)
        sam_op_replace(&p->queue, &(struct sam_replace) { k->frame, own, NULL, 0 });
    else if (!status && !p->queue.status)
        upload_planes(&p->queue, &k->frame, &own);
    if (!status)
        k->is_there = !(status = finish(p, error));
    sam_queue_leave(&p->queue);
    return status;
}

static int check_kept(const struct sam_kept *k, const struct sam_frame *f,
                      struct sam_error *error)
{
    const struct sam_frame *own = &k->frame;

    if (!k->is_there)
        return sam_fail(error, SAM_ENOTFOUND, "no frame was kept under that number");
    if (own->format != f->format || own->width != f->width || own->height != f->height)
        return sam_fail(error, SAM_EINVAL,
                        "the kept frame has pixel format %d and %d x %d px, this one %d and %d x "
                        "%d px", own->format, own->width, own->height, f->format, f->width,
                        f->height);
    return SAM_OK;
}

// The caller's cover, or none.
static int take_cover(sam_painter *p, struct sam_cover *own, const struct sam_frame *f,
                      const struct sam_cover *cover, struct sam_error *error)
{
    int status;

    if (!cover)
        return SAM_OK;
    if ((status = sam_sized_read(own, sizeof(*own), sizeof(*own), cover, "cover", error)) ||
        (status = check_area(f, own, error)))
        return status;
    return make_room(p, (size_t) own->width * own->height, error);
}

int sam_painter_show(sam_painter *p, int number, const struct sam_frame *frame,
                     const struct sam_cover *cover, struct sam_error *error)
{
    struct sam_frame own;
    struct sam_cover area;
    int status;

    if ((status = check_number(p, number, error)))
        return status;
    const struct sam_kept *k = &p->kept[number - 1];
    sam_queue_enter(&p->queue);
    if (!p->queue.status && !(status = take_frame(p, &own, frame, error)) &&
        !(status = check_kept(k, &own, error)))
        status = take_cover(p, &area, &own, cover, error);
    if (!status && !p->queue.status)
        sam_op_replace(&p->queue,
                       &(struct sam_replace) { own, k->frame, cover ? &area : NULL, 0 });
    if (!status)
        status = finish(p, error);
    sam_queue_leave(&p->queue);
    return status;
}

int sam_painter_clear(sam_painter *p, const struct sam_frame *frame, const struct sam_cover *cover,
                      struct sam_error *error)
{
    struct sam_frame own;
    struct sam_cover area;
    int status;

    if ((status = check_open(p, error)))
        return status;
    if (!cover)
        return sam_fail(error, SAM_EINVAL, "cover is NULL");
    sam_queue_enter(&p->queue);
    if (!p->queue.status && !(status = take_frame(p, &own, frame, error)) &&
        own.format != SAM_PIXEL_RGBA && own.format != SAM_PIXEL_BGRA)
        status = sam_fail(error, SAM_EINVAL,
                          "frame: pixel format %d has no alpha, expected %d or %d", own.format,
                          SAM_PIXEL_RGBA, SAM_PIXEL_BGRA);
    if (!status && !p->queue.status)
        status = take_cover(p, &area, &own, cover, error);
    if (!status && !p->queue.status)
        sam_op_replace(&p->queue, &(struct sam_replace) { own, own, &area, 1 });
    if (!status)
        status = finish(p, error);
    sam_queue_leave(&p->queue);
    return status;
}

// ---- samples

// From a pixel to the next, and its luma, or green: bytes.
static void find_luma(enum sam_pixel_format format, int *step, int *offset)
{
    static const int8_t steps[][2] = {
        [SAM_PIXEL_RGB] = { 3, 1 },   [SAM_PIXEL_BGR] = { 3, 1 },   [SAM_PIXEL_RGBA] = { 4, 1 },
        [SAM_PIXEL_BGRA] = { 4, 1 },  [SAM_PIXEL_GRAY8] = { 1, 0 }, [SAM_PIXEL_NV12] = { 1, 0 },
        [SAM_PIXEL_I420] = { 1, 0 },  [SAM_PIXEL_YUY2] = { 2, 0 },  [SAM_PIXEL_P010] = { 2, 1 },
    };

    *step = steps[format][0];
    *offset = steps[format][1];
}

static int make_rows(sam_painter *p, size_t bytes, struct sam_error *error)
{
    if (bytes <= p->rows_bytes)
        return SAM_OK;
    free(p->rows);
    p->rows = malloc(bytes);
    p->rows_bytes = p->rows ? bytes : 0;
    return p->rows ? SAM_OK : sam_fail(error, SAM_ENOMEM,
                                       "out of memory: cannot allocate %zu bytes to look at a "
                                       "frame", bytes);
}

static void fetch_rows(sam_painter *p, const struct sam_frame *f, int rows)
{
    const size_t bytes = (size_t) sam_frame_row_bytes(f, 0);

    for (int y = 0; y < rows; y++)
        sam_queue_fetch(&p->queue, p->rows + (size_t) y * bytes,
                        f->plane[0] + (size_t) ((2 * y + 1) * f->height / (2 * rows)) *
                        f->stride[0], bytes);
}

static void pick_samples(const sam_painter *p, const struct sam_frame *f, int columns, int rows,
                         uint8_t *samples)
{
    const size_t bytes = (size_t) sam_frame_row_bytes(f, 0);
    int step, offset;

    find_luma(f->format, &step, &offset);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            *samples++ = p->rows[(size_t) y * bytes +
                                 (size_t) ((2 * x + 1) * f->width / (2 * columns)) * step + offset];
}

int sam_painter_look(sam_painter *p, const struct sam_frame *frame, int columns, int rows,
                     uint8_t *samples, struct sam_error *error)
{
    struct sam_frame own;
    int status;

    if ((status = check_open(p, error)))
        return status;
    if (columns < 1 || columns > SAM_MAX_LOOK || rows < 1 || rows > SAM_MAX_LOOK)
        return sam_fail(error, SAM_EINVAL, "%d x %d samples, expected 1 to %d each way", columns,
                        rows, SAM_MAX_LOOK);
    if (!samples)
        return sam_fail(error, SAM_EINVAL, "samples is NULL");
    sam_queue_enter(&p->queue);
    if (!p->queue.status && !(status = take_frame(p, &own, frame, error)))
        status = make_rows(p, (size_t) sam_frame_row_bytes(&own, 0) * rows, error);
    if (!status && !p->queue.status)
        fetch_rows(p, &own, rows);
    if (!status && !(status = finish(p, error)))
        pick_samples(p, &own, columns, rows, samples);
    sam_queue_leave(&p->queue);
    return status;
}
