/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_FOUND_H__
#define __GST_SAM_FOUND_H__

#include <gst/gst.h>
#include <samtrack/seed.h>

G_BEGIN_DECLS

/* One thing that a detector found. */
typedef struct
{
  struct sam_seed_box box;      /* px of the frame; may lie outside of it */
  gfloat score;                 /* whatever the detector says */
  GQuark label;                 /* name of its class, 0: none */
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

/* Read the regions of interest of a frame, the first SAM_SEED_MAX_READ of them,
 * but not those that a samtrack has added. A frame without regions leaves
 * @found as it is, but with @empty_counts the detector has looked at every
 * frame. */
void gst_sam_found_read (GstSamFound * found, GstBuffer * frame,
    guint64 number, gboolean empty_counts);

G_END_DECLS

#endif /* __GST_SAM_FOUND_H__ */
