/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PAD_H__
#define __GST_SAM_PAD_H__

#include "common/gstsammutex.h"
#include "gstsamtrack.h"

#include <gst/base/gstflowcombiner.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_SAM_PAD_FORMATS "{ GRAY8, RGBA, BGRA }"

/**
 * GstSamPad:
 *
 * The request pad "overlay": outputs a label map or a coloured layer for every
 * frame.
 */
typedef struct
{
  GstSamMutex lock;
  gboolean taken;               /* guarded by @lock; until the pad is removed */
  GstPad *pad;                  /* guarded by @lock; until it is released */
  GstVideoInfo info;            /* guarded by @lock; UNKNOWN: no caps */

  /* streaming thread only, under the stream lock of the sink pad */
  GstFlowCombiner *combiner;
  GstPad *combined;             /* the pad added to the combiner */
  GstPadChainFunction parent_chain;
  GstBufferPool *pool;
  GstVideoInfo pool_info;
  GstBuffer *layer;             /* last pushed; repeated for stale frames */
  guint8 *labels;               /* label map of a coloured layer, frame size */
  gint64 pushing;               /* duration of the last push, ns */
} GstSamPad;

void gst_sam_pad_init (GstSamTrack * self);
void gst_sam_pad_finalize (GstSamTrack * self);
void gst_sam_pad_start (GstSamTrack * self);
void gst_sam_pad_stop (GstSamTrack * self);

GstPad *gst_sam_pad_request (GstElement * element, GstPadTemplate * templ,
    const gchar * name, const GstCaps * caps);
void gst_sam_pad_release (GstElement * element, GstPad * pad);

/* Streaming thread. Forward events and caps of the sink pad to the overlay. */
void gst_sam_pad_forward_event (GstSamTrack * self, GstEvent * event);
void gst_sam_pad_set_caps (GstSamTrack * self);

/* Push the layer of this frame. @fresh: draw it; else repeat the last one. */
void gst_sam_pad_push (GstSamTrack * self, GstBuffer * buf, gboolean fresh);
void gst_sam_pad_push_gap (GstSamTrack * self, GstBuffer * buf);

G_END_DECLS

#endif /* __GST_SAM_PAD_H__ */
