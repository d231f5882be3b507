/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_CODER_H__
#define __GST_SAM_CODER_H__

#include "gstsamrecord.h"
#include "gstsamrle.h"

G_BEGIN_DECLS

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
 * GstSamCoder:
 * @masked: there are masks, each an object's at most
 * @labels: the label map of the record between begin and end, without padding
 * between rows; NULL: no masks, or only their run lengths are known
 *
 * Gives the run lengths of a record's masks.
 */
typedef struct
{
  GstSamExportMaskSize size;
  gboolean masked;
  const guint8 *labels;
  gint width, height;
  GstSamRegion region[256];     /* by slot, as are the run lengths: */
  const gchar *packed[256];     /* of a record that was packed */

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

/* Append a record as bytes, with what gst_sam_coder_begin() found of it but
 * without marks. They are of use to programs with the same layout. */
void gst_sam_coder_pack (GstSamCoder * coder, const GstSamRecord * record,
    GString * to);

/* A number that differs where the bytes are others. */
guint gst_sam_coder_get_layout (void);

/* The reverse: fill in @record, and begin. Texts and run lengths are those in
 * @data, which must outlive the use of both. Returns FALSE if it is not the
 * whole of what gst_sam_coder_pack() has appended. */
gboolean gst_sam_coder_unpack (GstSamCoder * coder, GstSamRecord * record,
    const gchar * data, gsize bytes);

G_END_DECLS

#endif /* __GST_SAM_CODER_H__ */
