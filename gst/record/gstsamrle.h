/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_RLE_H__
#define __GST_SAM_RLE_H__

#include <glib.h>

G_BEGIN_DECLS

/* The smallest box around the pixels of a label, and their number. All 0 if
 * there are none. */
typedef struct
{
  gint x, y, w, h;
  guint area;
} GstSamRegion;

/* Find the regions of all 256 labels in a map without padding between rows. */
void gst_sam_rle_find (const guint8 * labels, gint width, gint height,
    GstSamRegion region[256]);

/* Bytes of scratch memory that gst_sam_rle_write() needs for a map of that
 * height. */
gsize gst_sam_rle_get_scratch (gint height);

/* Set @counts to the runs of one label as COCO writes them: pixels column by
 * column, runs of others and of the label in turn, beginning with the others,
 * in the characters of pycocotools' `counts`. @region is the label's.
 * @scratch is overwritten. */
void gst_sam_rle_write (GString * counts, const guint8 * labels, gint width,
    gint height, guint8 label, const GstSamRegion * region, guint8 * scratch);

/* The reverse: set the pixels of the mask in @labels, whose rows are @stride
 * bytes apart, to @label, and leave the others. Returns FALSE if @counts are
 * not the runs of a mask of that size; some pixels may be set then. */
gboolean gst_sam_rle_paint (const gchar * counts, guint8 * labels, gsize stride,
    gint width, gint height, guint8 label);

G_END_DECLS

#endif /* __GST_SAM_RLE_H__ */
