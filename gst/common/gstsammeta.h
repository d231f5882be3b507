/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_META_H__
#define __GST_SAM_META_H__

#include <gst/video/video.h>
#include <samtrack/samtrack.h>

G_BEGIN_DECLS

#define GST_SAM_META_NAME "GstSamTrackMeta"
#define GST_SAM_META_VERSION 1

typedef enum
{
  GST_SAM_REPORT_IDLE,          /* nothing to track */
  GST_SAM_REPORT_OK,
  GST_SAM_REPORT_STALE,         /* of an earlier frame */
} GstSamReportState;

typedef struct
{
  guint64 id;
  guint slot;                   /* its value in the label map */
  enum sam_object_state state;
  gint x, y, w, h;              /* px of the frame; all 0: no mask */
  guint area;                   /* px of the frame */
  gdouble iou, score;
  guint behind;                 /* frames that it has still to replay */
  guint64 settled;              /* of GstSamBound; not in the meta */
  gboolean follows;             /* the mask is of the model of "follow" */
  guint anchor_age;             /* then: frames since that of the mask of the
                                 * model that it follows */
  const gchar *label;           /* name of its class, NULL: none */
} GstSamObject;

enum
{
  GST_SAM_MAX_MARKS = 256,      /* in a meta */
};

/* How long a prompt is shown after its result is seen. */
#define GST_SAM_MARK_TIME GST_SECOND

/* A point or box of a recent prompt, in fractions of the frame. */
typedef struct
{
  guint64 id;                   /* of the object */
  gboolean is_box;
  gboolean positive;            /* of a point */
  gboolean waits;               /* its result is not seen yet */
  gdouble x, y, w, h;
  GstClockTime age;             /* since its result is seen; 0 if it waits */
} GstSamMark;

/**
 * GstSamReport:
 *
 * The content of a GstSamTrackMeta as a C structure.
 */
typedef struct
{
  gint width, height;           /* of the frame that coordinates refer to */
  GstSamReportState state;
  guint age;                    /* frames since the masks were made */
  guint64 frame_index;          /* frames processed so far */
  GstClockTime running_time;    /* of the frame that the masks belong to */
  GstClockTime inference_time;
  guint num_objects;
  GstSamObject object[SAM_MAX_OBJECTS];

  /* Label map: GRAY8, stride == width, stretched over the whole frame. In GPU
   * memory if the frame was read there; mapping it without GST_MAP_CUDA copies
   * it to the host. */
  GstBuffer *mask;
  gint mask_width, mask_height;
  /* A plane of that size per object, of how probable its pixels are, 255ths;
   * NULL: not asked for, or not known. In system memory. */
  GstBuffer *soft;

  const gchar *source;          /* name of the element, NULL: not known */

  guint64 current;              /* object that clicks are for; 0: none */
  gboolean waiting;             /* the result of a prompt is not seen yet */
  guint num_marks;
  GstSamMark mark[GST_SAM_MAX_MARKS];   /* the oldest first */
} GstSamReport;

void gst_sam_meta_register (void);

/* Drop the references to its buffers. */
void gst_sam_report_drop_masks (GstSamReport * report);

/* Adds a GstSamTrackMeta, and a region of interest per visible object. */
void gst_sam_meta_add (GstBuffer * buffer, const GstSamReport * report);

/* Reads a GstSamTrackMeta, without report->soft. report->mask, source and
 * labels belong to the meta. */
gboolean gst_sam_meta_read (GstSamReport * report, GstMeta * meta);

/* Sets *array to the field "objects" of the meta. */
void gst_sam_report_objects_to_value (const GstSamReport * report,
    GValue * array);

/* Whether both have the same display aspect ratio, within a bar of one pixel on
 * either side. */
gboolean gst_sam_meta_same_picture (const GstVideoInfo * from,
    const GstVideoInfo * to);

/* Stretch boxes and areas to another frame size. */
void gst_sam_report_scale (GstSamReport * report, gint width, gint height);

const gchar *gst_sam_object_state_get_name (enum sam_object_state state);

G_END_DECLS

#endif /* __GST_SAM_META_H__ */
