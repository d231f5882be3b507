/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_FOUND_H__
#define __GST_SAM_FOUND_H__

#include <gst/video/video.h>
#include <samtrack/seed.h>

G_BEGIN_DECLS

/* One thing that a detector found. */
typedef struct
{
  struct sam_seed_box box;      /* px of the frame; may lie outside of it */
  gfloat score;                 /* whatever the detector says */
  GQuark label;                 /* name of its class, 0: none */

  /* Not zero on the thing, in GRAY8 or GRAY16 as its GstVideoMeta says,
   * stretched over a rectangle of the frame, px; NULL: none is known. */
  GstBuffer *mask;
  gint x, y;
  guint w, h;
} GstSamFind;

/**
 * GstSamFound:
 *
 * What a detector before this element found on a frame.
 */
typedef struct
{
  gboolean looked;              /* the detector has looked at the frame */
  guint64 number;               /* of the frame, in order of arrival */
  guint age;                    /* frames since the one that it looked at */
  guint num;                    /* of @find */
  GstSamFind find[SAM_SEED_MAX_READ];
} GstSamFound;

/* Forget what was found. */
void gst_sam_found_clear (GstSamFound * found);

/* Draw the mask of a find in a frame of @info, as a picture of @width x @height
 * px over all of it, each pixel what is at its middle: 255 on the thing, else
 * 0. Returns FALSE if there is no mask, or none that can be read. */
gboolean gst_sam_find_draw (const GstSamFind * find, const GstVideoInfo * info,
    guint8 * pixels, gint width, gint height, gint stride);

/* The same as a sample of the frame's size, a prompt; NULL: there is none. */
GstSample *gst_sam_find_get_mask (const GstSamFind * find,
    const GstVideoInfo * info);

/* Read the regions of interest of a frame, the first SAM_SEED_MAX_READ of them,
 * but not those that a samtrack has added. A frame without regions leaves
 * @found as it is, but with @empty_counts the detector has looked at every
 * frame. */
void gst_sam_found_read (GstSamFound * found, GstBuffer * frame,
    guint64 number, gboolean empty_counts);

G_END_DECLS

#endif /* __GST_SAM_FOUND_H__ */
