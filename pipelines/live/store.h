/* SPDX-License-Identifier: MIT */
/* Files without names: frames that are kept, and what is made of them for a download. */
#ifndef LIVE_STORE_H
#define LIVE_STORE_H

#include "record/gstsamcoder.h"
#include "record/gstsamoutput.h"

#include <gio/gio.h>

/* A file of frames, each as its size and its bytes. */
typedef struct {
    gint fd;
    guint64 bytes, frames, first_time; /* ns */
} Segment;

/* A file in the folder; -1 and errno if it cannot be created. */
gint store_open_file(const gchar *folder);

/* Writes all; FALSE and errno if it cannot. */
gboolean store_write(gint fd, gconstpointer data, gsize bytes, guint64 at);

/* Appends a frame as a segment has it. @coder has begun with the record. */
void store_pack(GString *to, const GstSamRecord *record, GstSamCoder *coder);

typedef struct Frames Frames;

/* @segments: of Segment; must outlive the result. */
Frames *frames_new(GArray *segments);
/* The next frame and its masks, valid until the next call. NULL at the end, and after a failure,
 * which sets *error. */
GstSamRecord *frames_next(Frames *frames, GstSamCoder **coder, GError **error);
void frames_free(Frames *frames);

/* A file that is written from its start to its end, at most that many bytes. Free it with its
 * free(), which leaves the file open. */
GstSamOutput *sheet_new(gint fd, guint64 most, GCancellable *cancellable);
guint64 sheet_get_bytes(const GstSamOutput *sheet);

#endif
