/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_EXPORT_PRIVATE_H__
#define __GST_SAM_EXPORT_PRIVATE_H__

#include "gstsamexport.h"
#include "record/gstsamwriter.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_sam_export_debug);

/**
 * GstSamExportFormat:
 * @GST_SAM_EXPORT_FORMAT_JSON_LINES: one JSON object per frame and line
 * @GST_SAM_EXPORT_FORMAT_COCO: a COCO file, an annotation per object and frame
 * @GST_SAM_EXPORT_FORMAT_DAVIS: a PNG with a palette per frame
 * @GST_SAM_EXPORT_FORMAT_MOT: text of the MOT challenge
 * @GST_SAM_EXPORT_FORMAT_COCO_VIDEO: a COCO file of videos, as YouTube-VIS has
 * it
 *
 * Form in which frames are written.
 */
typedef enum
{
  GST_SAM_EXPORT_FORMAT_JSON_LINES,
  GST_SAM_EXPORT_FORMAT_COCO,
  GST_SAM_EXPORT_FORMAT_DAVIS,
  GST_SAM_EXPORT_FORMAT_MOT,
  GST_SAM_EXPORT_FORMAT_COCO_VIDEO,
} GstSamExportFormat;

/**
 * GstSamExportOverload:
 * @GST_SAM_EXPORT_OVERLOAD_AUTO: drop in a live pipeline, else block
 * @GST_SAM_EXPORT_OVERLOAD_BLOCK: a frame waits for room in the queue while
 * data moves, at most a second after it has stopped
 * @GST_SAM_EXPORT_OVERLOAD_DROP: a frame passes at once and is not written
 *
 * Handling of frames that come faster than they can be written.
 */
typedef enum
{
  GST_SAM_EXPORT_OVERLOAD_AUTO,
  GST_SAM_EXPORT_OVERLOAD_BLOCK,
  GST_SAM_EXPORT_OVERLOAD_DROP,
} GstSamExportOverload;

struct _GstSamExport
{
  GstBaseTransform parent;

  /* properties, guarded by the object lock */
  gboolean frozen;              /* MUTABLE_READY properties are read-only */
  gint format;
  gint mask_size;
  gint policy;
  gchar *location;
  gchar *tracker;
  gchar *run;                   /* NULL: one of our own */
  gboolean volatile_fields, atomic;
  gchar *mqtt_uri, *mqtt_topic, *mqtt_user, *mqtt_password;
  gint mqtt_qos;
  guint64 mqtt_buffer;          /* bytes */
  guint queue_size;

  GstSamTally tally;
  GstSamWriter writer;

  /* streaming thread only */
  GstVideoInfo info;
  guint64 frame;                /* index of the next one */
  guint stream;                 /* index of this one */
  guint64 stream_start;         /* index of its first frame */
  gboolean asked, live;
};

/* gstsamexportproperties.c */

void gst_sam_export_install_properties (GstSamExportClass * klass);
void gst_sam_export_init_properties (GstSamExport * self);
void gst_sam_export_clear_properties (GstSamExport * self);

/* While frozen, from start to stop, properties with GST_PARAM_MUTABLE_READY
 * keep their values and may be read without the lock; an attempt to change one
 * posts a warning. */
void gst_sam_export_set_frozen (GstSamExport * self, gboolean frozen);

G_END_DECLS

#endif /* __GST_SAM_EXPORT_PRIVATE_H__ */
