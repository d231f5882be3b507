/* SPDX-License-Identifier: MIT */
/* Files of frames that are kept, and what is made of them for a download. */
#ifndef LIVE_STORE_H
#define LIVE_STORE_H

#include "record/gstsamcoder.h"
#include "record/gstsamoutput.h"

#include <gio/gio.h>

/* A run of the program. Objects of two runs may have the same ids. */
typedef struct {
    gchar *id;
    gboolean goes_on;  /* it found the objects of the run before again: their ids are the same */
    GHashTable *names; /* of its objects, id -> text, as they were last */
} Run;

/* A file of chunks: first the run that it is of, then frames and names. */
typedef struct {
    gint fd;       /* -1: it is opened when it is read */
    gchar *path;
    guint run;     /* index of it */
    guint64 bytes, frames, first_time, last_time; /* ns; of frames with masks */
} Segment;

/* A file in the folder that has no name any more; -1 and errno if it cannot be created. */
gint store_open_file(const gchar *folder);

/* Writes all; FALSE and errno if it cannot. */
gboolean store_write(gint fd, gconstpointer data, gsize bytes, guint64 at);

/* Append chunks as a segment has them. A segment begins with that of its run. */
void store_pack_run(GString *to, const gchar *run);
void store_pack_going_on(GString *to);
void store_pack_name(GString *to, guint64 id, const gchar *name);
/* A frame; @coder has begun with the record. */
void store_pack(GString *to, const GstSamRecord *record, GstSamCoder *coder);

/* Reads a segment that was written by a program before, as far as it is whole: that may have been
 * killed while it wrote, or still write. @runs: of Run; the segment's is
 * the last of them, or is appended. @last_frame: number of its last frame. FALSE: it is not a
 * segment of this version, and *why says so, a sentence that is owned by the caller. */
gboolean store_recover(Segment *segment, GPtrArray *runs, guint64 *last_frame, gchar **why);
void store_free_run(gpointer run);

typedef struct Frames Frames;

/* @segments: of Segment; must outlive the result. */
Frames *frames_new(GArray *segments);
/* The next frame and its masks, valid until the next call. NULL at the end, and after a failure,
 * which sets *error. A file that was given up meanwhile is left out. */
GstSamRecord *frames_next(Frames *frames, GstSamCoder **coder, GError **error);
/* The run of the frame that was returned last. */
guint frames_get_run(const Frames *frames);
void frames_free(Frames *frames);

/* A file that is written from its start to its end, at most that many bytes. Free it with its
 * free(), which leaves the file open. */
GstSamOutput *sheet_new(gint fd, guint64 most, GCancellable *cancellable);
guint64 sheet_get_bytes(const GstSamOutput *sheet);

#endif
