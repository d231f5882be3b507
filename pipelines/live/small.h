/* SPDX-License-Identifier: MIT */
/* Small copies of a camera's last frames, from before the tracker: pictures of now, and of the
 * moments of events, whose masks come later. */
#ifndef LIVE_SMALL_H
#define LIVE_SMALL_H

#include <gst/gst.h>

#define SMALL_PX 320 /* the longer side, at most */

typedef struct Small Small;

/* @pad: where the frames pass, I420, with their running times as time stamps. @depth: how many are
 * kept. */
Small *small_new(GstPad *pad, guint depth);
void small_free(Small *small);

/* A copy of the frame of that running time, or of the nearest that is kept; NONE: the newest. NULL:
 * there is none. Owned by the caller. Any thread. */
GstSample *small_take(Small *small, GstClockTime time);

/* Draws the edge of a label's pixels in its colour. The map is stretched over the picture. */
void small_draw_outline(GstSample *sample, const guint8 *labels, gint width, gint height,
    guint8 label);
/* Draws a dashed box, given in fractions of the picture, in the colour of a label. */
void small_draw_box(GstSample *sample, const gdouble box[4], guint8 label);

/* As JPEG, owned by the caller; NULL and *error. Takes some ms. Any thread. */
GBytes *small_encode(GstSample *sample, GError **error);

#endif
