/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_RECORD_H__
#define __GST_SAM_RECORD_H__

#include "common/gstsammeta.h"
#include "gstsamrle.h"

G_BEGIN_DECLS

/* Bytes of an object's label and of an element's name that are kept, with the
 * final 0. */
#define GST_SAM_TEXT_BYTES 64

/**
 * GstSamExportMaskSize:
 * @GST_SAM_EXPORT_MASK_SIZE_NONE: no masks
 * @GST_SAM_EXPORT_MASK_SIZE_OWN: the size of the label map in the meta
 * @GST_SAM_EXPORT_MASK_SIZE_FRAME: the size of the frame
 *
 * Size of the masks that samexport writes.
 */
typedef enum
{
  GST_SAM_EXPORT_MASK_SIZE_NONE,
  GST_SAM_EXPORT_MASK_SIZE_OWN,
  GST_SAM_EXPORT_MASK_SIZE_FRAME,
} GstSamExportMaskSize;

/**
 * GstSamRecord:
 *
 * What samexport keeps of a frame.
 */
typedef struct
{
  guint64 frame;                /* index of the frame since start */
  guint stream;                 /* index of its stream since start */
  GstClockTime pts, duration, stream_time, running_time;
  gchar reference[GST_SAM_TEXT_BYTES];  /* the clock of its reference timestamp;
                                         * "": it has none */
  GstClockTime reference_time;
  gint width, height;           /* px; 0: not known */

  gboolean tracked;             /* it has a meta, and this is its content: */
  gchar source[GST_SAM_TEXT_BYTES];     /* "": not known */
  GstSamReport report;          /* holds a reference to its mask */
  gchar label[SAM_MAX_OBJECTS][GST_SAM_TEXT_BYTES];     /* "": none */
} GstSamRecord;

/* Fill in all that comes from the metas of @buf. @tracker: name of the samtrack
 * whose meta counts; NULL: the first meta. Valid UTF-8 is kept of texts. */
void gst_sam_record_set_metas (GstSamRecord * record, GstBuffer * buf,
    const gchar * tracker);
void gst_sam_record_clear (GstSamRecord * record);

/**
 * GstSamCoder:
 * @labels: the label map of the record between begin and end, without padding
 * between rows; NULL: no masks
 *
 * Makes run lengths of a record's masks.
 */
typedef struct
{
  GstSamExportMaskSize size;
  const guint8 *labels;
  gint width, height;
  GstSamRegion region[256];

  GString *counts;
  GstBuffer *mapped;
  GstMapInfo map;
  guint8 *stretched, *scratch;
  gsize stretched_bytes, scratch_bytes;
  sam_painter *painter;         /* opened when a map is stretched */
} GstSamCoder;

void gst_sam_coder_init (GstSamCoder * coder, GstSamExportMaskSize size);
void gst_sam_coder_clear (GstSamCoder * coder);

/* Returns FALSE and sets @error (GST_RESOURCE_ERROR) if the record's label map
 * cannot be read or stretched. Call gst_sam_coder_end() only after success. */
gboolean gst_sam_coder_begin (GstSamCoder * coder, const GstSamRecord * record,
    GError ** error);
void gst_sam_coder_end (GstSamCoder * coder);

/* The region of an object; NULL if the label map does not show it. */
const GstSamRegion *gst_sam_coder_get_region (const GstSamCoder * coder,
    const GstSamObject * object);

/* COCO's `counts` of an object that has a region; valid until the next call. */
const gchar *gst_sam_coder_get_counts (GstSamCoder * coder,
    const GstSamObject * object);

G_END_DECLS

#endif /* __GST_SAM_RECORD_H__ */
