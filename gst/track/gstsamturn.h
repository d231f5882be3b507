/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_TURN_H__
#define __GST_SAM_TURN_H__

#include <glib.h>

G_BEGIN_DECLS

/**
 * GstSamTurn:
 *
 * Who uses the tracker. The thread that owns it takes a turn for each step;
 * other threads may take one in between.
 */
typedef struct
{
  GMutex lock;
  GCond cond;

  /* guarded by @lock */
  GThread *owner;               /* whose turn it is, NULL: nobody's */
  guint guests;                 /* other threads that wait; they go first */
} GstSamTurn;

void gst_sam_turn_init (GstSamTurn * turn);
void gst_sam_turn_clear (GstSamTurn * turn);
void gst_sam_turn_begin (GstSamTurn * turn);
/* Returns FALSE at once within a turn of this thread, or if the turn of another
 * thread does not end in time. */
gboolean gst_sam_turn_begin_as_guest (GstSamTurn * turn);
void gst_sam_turn_end (GstSamTurn * turn);

G_END_DECLS

#endif /* __GST_SAM_TURN_H__ */
