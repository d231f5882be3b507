/* SPDX-License-Identifier: MIT */
/* Which objects of two pieces of a recording are the same, by the frames that both have. */
#ifndef BATCH_STITCH_H
#define BATCH_STITCH_H

#include <gst/gst.h>

typedef struct {
    guint64 left, right; /* ids in the earlier and in the later piece */
    gdouble iou;         /* mean of the frames in which both are seen */
} Match;

typedef struct {
    guint frames;              /* that both have */
    GArray *matches;           /* of Match, by @left */
    GArray *left, *right;      /* of guint64, in order: seen there, and matched by none */
} Stitch;

/* Reads the lines of both from @begin on, those of the later piece until @end. A pair is a match if
 * the mean IoU of its masks is at least 0.5, the best pair first, and each object in one pair only.
 * FALSE with an error; stitch_clear() either way. */
gboolean stitch_pieces(Stitch *stitch, const gchar *earlier, const gchar *later,
    GstClockTime begin, GstClockTime end, GError **error);
void stitch_clear(Stitch *stitch);

#endif
