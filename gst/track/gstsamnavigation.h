/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_NAVIGATION_H__
#define __GST_SAM_NAVIGATION_H__

#include "common/gstsammutex.h"
#include "gstsamtrack.h"

G_BEGIN_DECLS

/**
 * GstSamNavigation:
 *
 * Turns navigation events (mouse, touch, keys) into prompts. Coordinates are
 * kept as fractions of the frame, so that a drag may outlast a change of size.
 */
typedef struct
{
  GstSamMutex lock;

  /* guarded by @lock */
  guint shifts;                 /* Shift keys that are held: 1 left, 2 right */
  gdouble x, y;                 /* position of the pointer */
  gboolean pressed;             /* a click or drag has begun */
  gboolean negative;            /* the click adds a negative point */
  gdouble press_x, press_y;     /* where the click or drag began */
  gboolean press_timed;         /* when it did is known: */
  GstClockTime press_time;      /* running time of the frame that was shown */
  guint finger;                 /* touch id that makes it; 0: the mouse */
} GstSamNavigation;

void gst_sam_navigation_init (GstSamNavigation * navigation);
void gst_sam_navigation_clear (GstSamNavigation * navigation);

/* Any thread. Returns TRUE if the event was turned into a prompt or command.
 * Does not take ownership of the event. */
gboolean gst_sam_navigation_handle (GstSamNavigation * navigation,
    GstSamTrack * self, GstEvent * event);

G_END_DECLS

#endif /* __GST_SAM_NAVIGATION_H__ */
