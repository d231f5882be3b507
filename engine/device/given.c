// SPDX-License-Identifier: MIT
#include "given.h"

#include <limits.h>

#include "base/frame.h"
#include "base/log.h"
#include "base/sized.h"

static int check_range(const char *name, int v, int lo, int hi, struct sam_error *error)
{
    if (v >= lo && v <= hi)
        return SAM_OK;
    return sam_fail(error, SAM_EINVAL, "%s = %d: expected %d to %d", name, v, lo, hi);
}

static int check_params(const struct sam_params *p, struct sam_error *error)
{
    const int big = 1 << 30;

    if (check_range("max_objects", p->max_objects, 1, SAM_MAX_OBJECTS, error) ||
        check_range("max_cond_frames", p->max_cond_frames, 2, SAM_MAX_COND, error) ||
        check_range("lost_after", p->lost_after, 1, INT_MAX, error) ||
        check_range("fill_holes", p->fill_holes, 0, big, error) ||
        check_range("remove_islands", p->remove_islands, 0, big, error) ||
        check_range("threads", p->threads, 0, SAM_MAX_THREADS, error) ||
        check_range("input_size", p->input_size, 0, big, error) ||
        check_range("device", p->device, -1, 1024, error) ||
        check_range("budget_mib", p->budget_mib, 0, big, error) ||
        check_range("history", p->history, 0, SAM_MAX_HISTORY, error) ||
        check_range("backend", (int) p->backend, SAM_BACKEND_AUTO, SAM_BACKEND_CUDA, error) ||
        (p->cuda_stream && !p->cuda_context &&
         sam_fail(error, SAM_EINVAL, "cuda_stream is set, but cuda_context is NULL")) ||
        check_range("precision", (int) p->precision, SAM_PRECISION_AUTO, SAM_PRECISION_INT8,
                    error) ||
        check_range("refine", (int) p->refine, SAM_REFINE_PRESENT, SAM_REFINE_ALWAYS, error) ||
        check_range("edges", (int) p->edges, SAM_EDGES_NONE, SAM_EDGES_LUMA, error))
        return SAM_EINVAL;
    return SAM_OK;
}

int sam_params_take(struct sam_params *own, const struct sam_params *params,
                    struct sam_error *error)
{
    const int status =
        sam_sized_read(own, sizeof(*own), sizeof(*own), params, "params", error);

    return status ? status : check_params(own, error);
}

// SAM_EINVAL unless the first and the last byte are in the device memory of the queue.
static int check_device(struct sam_queue *q, const char *what, const uint8_t *at, size_t bytes,
                        struct sam_error *error)
{
    if (!sam_queue_has_own_memory(q))
        return sam_fail(error, SAM_EINVAL,
                        "%s: on_device is set, but the backend '%s' works in host memory",
                        what, sam_queue_backend(q));
    if (!sam_queue_holds(q, at) || !sam_queue_holds(q, at + bytes - 1))
        return sam_fail(error, SAM_EINVAL,
                        "%s, %zu bytes, is not in the memory of device %d, %.80s, in the "
                        "context that the tracker runs in", what, bytes, q->ordinal,
                        q->device_name);
    return SAM_OK;
}

static int check_frame(struct sam_queue *q, const struct sam_frame *f, struct sam_error *error)
{
    static const char *const planes[] = { "frame: plane 0", "frame: plane 1", "frame: plane 2" };
    if (f->width < 1 || f->height < 1 || f->width > SAM_MAX_SIDE ||
        f->height > SAM_MAX_SIDE)
        return sam_fail(error, SAM_EINVAL, "frame of %d x %d px: expected 1 to %d px each way",
                        f->width, f->height, SAM_MAX_SIDE);
    for (int i = 0; i < 3; i++) {
        const int wanted = sam_frame_row_bytes(f, i);
        if (wanted < 0)
            return sam_fail(error, SAM_EINVAL, "frame: pixel format %d is not known",
                            (int) f->format);
        if (wanted && !f->plane[i])
            return sam_fail(error, SAM_EINVAL, "frame: plane %d is NULL", i);
        if (wanted && f->stride[i] < wanted)
            return sam_fail(error, SAM_EINVAL,
                            "frame: plane %d has a stride of %d bytes, expected at least %d", i,
                            f->stride[i], wanted);
        const size_t bytes = (size_t) (sam_frame_rows(f, i) - 1) * f->stride[i] + wanted;
        if (wanted && f->on_device && check_device(q, planes[i], f->plane[i], bytes, error))
            return SAM_EINVAL;
    }
    if (!sam_frame_colour_fits(f))
        return sam_fail(error, SAM_EINVAL,
                        "frame: colour has kr = %g and kb = %g: expected 0 or more each, and less "
                        "than 1 together", f->colour.kr, f->colour.kb);
    return SAM_OK;
}

int sam_frame_take(struct sam_frame *own, struct sam_queue *q, const struct sam_frame *frame,
                   struct sam_error *error)
{
    const int status = sam_sized_read(own, sizeof(*own), sizeof(*own), frame, "frame", error);

    return status ? status : check_frame(q, own, error);
}

int sam_labels_check(struct sam_queue *q, const struct sam_labels *l, struct sam_error *error)
{
    if (!l->data)
        return sam_fail(error, SAM_EINVAL, "labels: data is NULL");
    if (l->width < 1 || l->height < 1 || l->width > SAM_MAX_SIDE || l->height > SAM_MAX_SIDE)
        return sam_fail(error, SAM_EINVAL, "labels of %d x %d px: expected 1 to %d px each way",
                        l->width, l->height, SAM_MAX_SIDE);
    if (l->stride < l->width)
        return sam_fail(error, SAM_EINVAL,
                        "labels: a stride of %d bytes is less than the width, %d px", l->stride,
                        l->width);
    const size_t bytes = (size_t) (l->height - 1) * l->stride + l->width;
    return l->on_device ? check_device(q, "labels: data", l->data, bytes, error) : SAM_OK;
}
