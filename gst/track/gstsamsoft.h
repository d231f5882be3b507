/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SOFT_H__
#define __GST_SAM_SOFT_H__

#include "common/gstsammeta.h"
#include "gstsamtrack.h"

#include <samtrack/samtrack.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_SOFT_STEPS = 4096,    /* of the table */
};

/**
 * GstSamSoft:
 *
 * Draws masks with soft edges: how probable it is that a pixel is the
 * object's. Used by one thread at a time. Begin with zeros.
 */
typedef struct
{
  GstBufferPool *pool;
  gsize size;                   /* of its buffers, bytes */
  gint width, side;             /* of a plane, of the model's mask; px */
  gfloat *logits;               /* of one mask */
  gfloat *row[2];               /* two of its rows, stretched */
  gint held[2];                 /* which ones; -1: none */
  guint8 table[GST_SAM_SOFT_STEPS + 1]; /* probability by logit */
} GstSamSoft;

/* Draw the masks of the last step's report: GRAY8, a plane of the label map's
 * size per object, one beneath the other, without padding: 255 / (1 + exp (-l))
 * of the stretched logit l, to one unit; 128 or more where it is above 0. @id:
 * those of the tracker; an object without a mask has zeros. Returns NULL after
 * posting an error. */
GstBuffer *gst_sam_soft_draw (GstSamSoft * soft, GstSamTrack * self,
    const guint64 * id, const GstSamReport * report);

void gst_sam_soft_clear (GstSamSoft * soft);

G_END_DECLS

#endif /* __GST_SAM_SOFT_H__ */
