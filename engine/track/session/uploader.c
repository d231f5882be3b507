// SPDX-License-Identifier: MIT
// Frames of host memory, copied to the GPU ahead of their step: a queue of its own, and no model.
#include <stdlib.h>

#include "base/arena.h"
#include "base/frame.h"
#include "device/given.h"
#include "session.h"

// Pinned memory: one piece is copied into it while those before are on their way.
enum { COPY_BYTES = 4 << 20, PLACES = 2 };

struct place {
    uint8_t *memory; // of the device
    size_t bytes;
};

struct sam_uploader {
    struct sam_queue queue;
    struct place place[PLACES];
    int broken; // the status of the failure that ended it
    struct sam_error broken_error;
};

int sam_uploader_open(sam_uploader **out, const sam_tracker *t, struct sam_error *error)
{
    struct sam_uploader *u;

    if (!out)
        return sam_fail(error, SAM_EINVAL, "out is NULL");
    *out = NULL;
    if (!t)
        return sam_fail(error, SAM_EINVAL, "tracker is NULL");
    if (!sam_queue_has_own_memory(&t->queue))
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "the backend '%s' works in host memory: it needs no uploader",
                        sam_queue_backend(&t->queue));
    u = calloc(1, sizeof(*u));
    if (!u)
        return sam_fail(error, SAM_ENOMEM, "no memory for an uploader");
    const int status = sam_queue_open_beside(&u->queue, &t->queue, COPY_BYTES, error);
    if (status) {
        free(u);
        return status;
    }
    *out = u;
    return SAM_OK;
}

void sam_uploader_close(sam_uploader **out)
{
    struct sam_uploader *u = out ? *out : NULL;

    if (!u)
        return;
    sam_queue_enter(&u->queue);
    for (int i = 0; i < PLACES; i++)
        sam_queue_free(&u->queue, u->place[i].memory);
    sam_queue_leave(&u->queue);
    sam_queue_close(&u->queue);
    free(u);
    *out = NULL;
}

// Copy the caller's frame, and check it.
static int check(struct sam_uploader *u, int place, struct sam_frame *own,
                 const struct sam_frame *frame, const struct sam_frame *copy,
                 struct sam_error *error)
{
    int status;

    if (place < 0 || place >= PLACES)
        return sam_fail(error, SAM_EINVAL, "place %d: expected 0 to %d", place, PLACES - 1);
    if (!copy)
        return sam_fail(error, SAM_EINVAL, "copy is NULL");
    if ((status = sam_frame_take(own, &u->queue, frame, error)))
        return status;
    if (own->on_device)
        return sam_fail(error, SAM_EINVAL, "frame: it is on the device already");
    return SAM_OK;
}

// Where each plane begins, in bytes from the first; returns the bytes of all, rows packed.
static size_t lay_out(const struct sam_frame *f, size_t at[3])
{
    size_t bytes = 0;

    for (int i = 0; i < 3; i++) {
        at[i] = bytes;
        bytes += (size_t) sam_frame_rows(f, i) * (size_t) sam_frame_row_bytes(f, i);
        bytes = (bytes + SAM_ALIGN - 1) / SAM_ALIGN * SAM_ALIGN;
    }
    return bytes;
}

static int make_room(struct sam_uploader *u, struct place *p, size_t bytes,
                     struct sam_error *error)
{
    if (bytes <= p->bytes)
        return SAM_OK;
    uint8_t *memory = sam_queue_alloc(&u->queue, bytes);
    if (!memory)
        return sam_fail(error, SAM_ENOMEM,
                        "no memory on device %d, %.80s, for a frame of %.1f MiB: %.1f MiB are free",
                        u->queue.ordinal, u->queue.device_name, (double) bytes / (1 << 20),
                        (double) sam_queue_memory_left(&u->queue) / (1 << 20));
    sam_queue_free(&u->queue, p->memory);
    *p = (struct place) { memory, bytes };
    return SAM_OK;
}

static int copy_frame(struct sam_uploader *u, struct place *p, const struct sam_frame *from,
                      struct sam_frame *copy, struct sam_error *error)
{
    size_t at[3];
    const int status = make_room(u, p, lay_out(from, at), error);

    if (status)
        return status;
    struct sam_frame to = *from;
    to.on_device = 1;
    for (int i = 0; i < 3; i++) {
        const int row = sam_frame_row_bytes(from, i);
        to.plane[i] = row ? p->memory + at[i] : NULL;
        to.stride[i] = row;
        if (row)
            sam_queue_upload_rows(&u->queue, p->memory + at[i], from->plane[i],
                                  (size_t) from->stride[i], (size_t) row,
                                  (size_t) sam_frame_rows(from, i));
    }
    u->broken = sam_queue_finish(&u->queue, &u->broken_error);
    if (u->broken)
        return sam_fail(error, SAM_EDEVICE, "%s", u->broken_error.text);
    *copy = to;
    return SAM_OK;
}

int sam_uploader_copy(sam_uploader *u, int place, const struct sam_frame *frame,
                      struct sam_frame *copy, struct sam_error *error)
{
    struct sam_frame own;
    int status;

    if (!u)
        return sam_fail(error, SAM_EINVAL, "uploader is NULL");
    if (u->broken)
        return sam_fail(error, SAM_EDEVICE, "the uploader failed before and must be closed: %s",
                        u->broken_error.text);
    sam_queue_enter(&u->queue);
    status = check(u, place, &own, frame, copy, error);
    if (!status)
        status = copy_frame(u, &u->place[place], &own, copy, error);
    sam_queue_leave(&u->queue);
    return status;
}
