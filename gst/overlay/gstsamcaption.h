/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_CAPTION_H__
#define __GST_SAM_CAPTION_H__

#include "gstsamcaptionstyle.h"
#include "gstsamdrawing.h"

G_BEGIN_DECLS

/* Where the bar is in the frame. One without a duration takes no clicks. */
typedef struct
{
  GstSamRect panel, track;      /* px of the frame */
  GstClockTime duration;        /* of the track; NONE: not known */
  gboolean pressed;             /* a press on it was not released yet */
} GstSamBar;

/**
 * GstSamCaption:
 *
 * A text and a bar of time over the frame, in front of what is drawn of
 * objects. Must be zeroed before first use.
 */
typedef struct
{
  GstSamDrawing drawing;
  gchar *text;                  /* a GRefString: the one that is laid out */
  gint width, height;           /* for frames of that size */
  GstSamWriting *block;         /* NULL: in the built-in font */
} GstSamCaption;

/* Compose what is asked for on a frame at @position, in stream time, and say
 * where the bar is. @position, @duration: NONE: not known. Returns FALSE if
 * there is nothing to paint. */
gboolean gst_sam_caption_compose (GstSamCaption * caption,
    const GstSamCaptionStyle * style, const GstVideoInfo * info,
    GstClockTime position, GstClockTime duration, GstSamBar * bar);
void gst_sam_caption_clear (GstSamCaption * caption);

/* What a press, move or release of the left button at a point of the frame is
 * for the bar: "press", "move" or "release", with the time there; NULL:
 * nothing. */
const gchar *gst_sam_bar_handle (GstSamBar * bar, GstEvent * event,
    GstClockTime * position);

G_END_DECLS

#endif /* __GST_SAM_CAPTION_H__ */
