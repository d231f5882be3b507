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

/* Sets the pixels that they cover. FALSE if they are not of that size. */
gboolean lines_paint(const gchar *counts, gint width, gint height, guint8 value, guint8 *pixels);

#endif
