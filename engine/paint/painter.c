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

struct sam_painter {
    struct sam_queue queue;
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

// Copy the caller's frame, and check both.
static int check(sam_painter *p, struct sam_frame *f, const struct sam_frame *given,
                 const struct sam_overlay *o, struct sam_error *error)
{
    struct sam_queue *q = &p->queue;
    int status;

    if ((status = sam_frame_take(f, q, given, error)))
        return status;
    if (!f->on_device && sam_queue_has_own_memory(q))
        return sam_fail(error, SAM_EINVAL,
                        "frame: it is in host memory, but the backend '%s' paints in the device's",
                        sam_queue_backend(q));
    return check_overlay(q, f, o, error);
}

// All there is to run, once, on a few pixels: the first frame costs what the thousandth costs.
static int warm_up(sam_painter *p, struct sam_error *error)
{
    const struct sam_patch patch = { .width = 1, .height = 1, .colour = 0xff000000 };
    uint8_t *memory = sam_queue_alloc(&p->queue, 256);

    if (!memory)
        return sam_fail(error, SAM_ENOMEM, "out of memory: cannot allocate 256 bytes to paint");
    for (int i = 0; i <= SAM_PIXEL_P010; i++)
        sam_op_paint(&p->queue, &(struct sam_paint) {
            .frame = { .format = (enum sam_pixel_format) i, .width = 2, .height = 2,
                       .stride = { 16, 16, 16 },
                       .plane = { memory, memory + 64, memory + 128 },
                       .on_device = sam_queue_has_own_memory(&p->queue) },
            .overlay = &(struct sam_overlay) { .width = 2, .height = 2, .num_patches = 1,
                                               .patches = &patch } });
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
    sam_queue_close(&p->queue);
    free(p);
    *out = NULL;
}

// Room for what comes from the host. If the device fails meanwhile, the queue keeps the failure.
static int make_room(sam_painter *p, const struct sam_overlay *o, struct sam_error *error)
{
    const struct sam_labels *l = &o->labels;
    const size_t map = l->data && !l->on_device ? (size_t) l->width * l->height : 0;
    const size_t list = (size_t) o->num_patches * sizeof(*o->patches) +
                        (size_t) o->num_words * sizeof(*o->bits);
    const int status = sam_queue_reserve(&p->queue, map + list + 2 * SAM_ALIGN, error);

    return p->queue.status ? SAM_OK : status;
}

int sam_painter_draw(sam_painter *p, const struct sam_frame *frame,
                     const struct sam_overlay *overlay, struct sam_error *error)
{
    struct sam_frame own;
    struct sam_overlay drawn;
    int status;

    if (!p)
        return sam_fail(error, SAM_EINVAL, "painter is NULL");
    if (p->broken)
        return sam_fail(error, SAM_EDEVICE, "the painter failed before and must be closed: %s",
                        p->broken_error.text);
    if ((status = sam_sized_read(&drawn, sizeof(drawn), sizeof(drawn), overlay, "overlay", error)))
        return status;
    sam_queue_enter(&p->queue);
    status = p->queue.status ? SAM_OK : check(p, &own, frame, &drawn, error);
    if (!status && !p->queue.status)
        status = make_room(p, &drawn, error);
    if (!status) {
        sam_op_paint(&p->queue, &(struct sam_paint) { own, &drawn });
        p->broken = sam_queue_finish(&p->queue, &p->broken_error);
        status = p->broken ? SAM_EDEVICE : SAM_OK;
        if (status && error)
            *error = p->broken_error;
    }
    sam_queue_leave(&p->queue);
    return status;
}
