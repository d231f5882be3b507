/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_WATCH_H__
#define __GST_SAM_WATCH_H__

#include "gstsamcoverage.h"
#include "gstsamselection.h"

G_BEGIN_DECLS

#define GST_SAM_MAX_PLACES 256

/* How hidden objects are covered. */
typedef struct
{
  gint margin;                  /* px around masks */
  GstClockTime hold;            /* how long a last place stays covered */
  gboolean privacy;             /* frames pass only if all is covered */
  gdouble iou;                  /* predicted: less is not believed */
} GstSamWatchStyle;

/* Where a hidden object was seen. */
typedef struct
{
  guint tracker;
  guint64 id;
  GstSamRect box;               /* px of the frame */
  gdouble speed;                /* px a frame, of the fastest edge */
  gdouble width, height;        /* of the largest box of late */
  guint64 frame;                /* number of the frame of its own mask */
  GstClockTime time;            /* when it was seen */
  guint sights;                 /* masks of its own so far */
  guint steady;                 /* of them that went on from the last one */
  gboolean is_seen;             /* on this frame */
} GstSamPlace;

/**
 * GstSamWatch:
 *
 * Covers hidden objects, and where they may be: remembers where they were and
 * how fast. Begin with zeros.
 */
typedef struct
{
  GstSamPlace place[GST_SAM_MAX_PLACES];
  guint num;
  guint64 frame;                /* their number so far */
  GstClockTime time;            /* of this one */

  /* about this frame */
  guint num_reports;
  gboolean is_unmasked;         /* masks of an earlier frame, or none */
  gboolean is_unsure;           /* a hidden object may be elsewhere */
} GstSamWatch;

/* Forget all: another stream begins. */
void gst_sam_watch_reset (GstSamWatch * self);

/* Frames have another size from now on. */
void gst_sam_watch_scale (GstSamWatch * self, gint width, gint height,
    gint to_width, gint to_height);

/* Begin a frame. @time never is GST_CLOCK_TIME_NONE. */
void gst_sam_watch_begin (GstSamWatch * self, GstClockTime time);

/* Cover the objects of a report that are meant. @labels: NULL if the report has
 * no label map that can be read; boxes are covered then. */
void gst_sam_watch_add (GstSamWatch * self, const GstSamWatchStyle * style,
    const GstSamSelection * selection, const GstSamReport * report,
    const GstSamLabelMap * labels, guint tracker, GstSamCoverage * coverage);

/* Something may have happened to the objects that their masks do not tell:
 * their next masks have to go on from each other for a while. */
void gst_sam_watch_doubt (GstSamWatch * self);

/* Cover where objects were that are not seen on this frame. */
void gst_sam_watch_end (GstSamWatch * self, const GstSamWatchStyle * style,
    GstSamCoverage * coverage);

G_END_DECLS

#endif /* __GST_SAM_WATCH_H__ */
