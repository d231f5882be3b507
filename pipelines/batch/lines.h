/* SPDX-License-Identifier: MIT */
/* The lines of frames, read again. */
#ifndef BATCH_LINES_H
#define BATCH_LINES_H

#include "record/gstsamcoder.h"

/* Fills in what the formats of files need of a line: @record, and @coder as gst_sam_coder_begin()
 * does. @texts: keeps the run lengths until the next call; caller frees it. FALSE: it is not a
 * line of ours. */
gboolean lines_read(const gchar *line, gsize bytes, GstSamRecord *record, GstSamCoder *coder,
    GStringChunk *texts);

/* What COCO's run lengths cover. FALSE if they are not of that size. */
gboolean lines_find_region(const gchar *counts, gint width, gint height, GstSamRegion *region);

/* Pixels from @begin to @end - 1, counted column by column. */
typedef struct {
    gint64 begin, end;
} Run;

/* The runs that they cover, in order; NULL if they are not of that size. */
GArray *lines_get_runs(const gchar *counts, gint width, gint height);

/* Sets the pixels that they cover. FALSE if they are not of that size. */
gboolean lines_paint(const gchar *counts, gint width, gint height, guint8 value, guint8 *pixels);

/* FALSE with an error ends the reading. */
typedef gboolean (*LinesEach)(gpointer data, const gchar *line, gsize bytes, GError **error);

/* Calls @each with every line of a file, and its newline. @hash: (nullable): SHA-256 that the file
 * must have, which is known only after its last line. */
gboolean lines_read_file(const gchar *path, const gchar *hash, LinesEach each, gpointer data,
    GError **error);

/* A number of the line itself, which is one of ours; FALSE if it is not there. */
gboolean lines_get_number(const gchar *line, const gchar *key, guint64 *value);

/* What an object is called instead. */
typedef guint64 (*LinesRename)(gpointer data, guint64 id);

/* Appends a line with another number of its frame and other ids of its objects, and all else as it
 * is. FALSE: it is not a line of ours. */
gboolean lines_renumber(const gchar *line, guint64 frame, LinesRename name, gpointer data,
    GString *to);

#endif
