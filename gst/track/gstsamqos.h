/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_QOS_H__
#define __GST_SAM_QOS_H__

#include "common/gstsammutex.h"

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_QOS_WINDOW = 64,      /* frames that the estimate covers */
};

/**
 * GstSamQos:
 *
 * Estimates the inference time, derives the latency to report, and decides
 * whether a frame is late.
 */
typedef struct
{
  GstSamMutex lock;

  /* guarded by @lock */
  GstClockTime earliest;        /* frames up to this running time are late */
  GstClockTime granted;         /* latency of the pipeline; NONE: not known */
  GstClockTime upstream;        /* minimum latency of upstream */
  GstClockTime reported;        /* what the element adds to latency queries */
  gboolean live;

  /* streaming thread only */
  gboolean asked;               /* whether @live is known */
  gint64 recent[GST_SAM_QOS_WINDOW];   /* ns, a ring */
  guint measured;
  GstClockTime typical;         /* median of @recent */
  gint64 last_inference;        /* monotonic, us */
  gint64 last_message;
} GstSamQos;

void gst_sam_qos_init (GstSamQos * qos);
void gst_sam_qos_clear (GstSamQos * qos);
void gst_sam_qos_start (GstSamQos * qos);
void gst_sam_qos_flush (GstSamQos * qos);

/* Any thread. Reads QoS and LATENCY events; does not take ownership. */
void gst_sam_qos_note_event (GstSamQos * qos, GstEvent * event);
gboolean gst_sam_qos_query_latency (GstSamQos * qos, GstBaseTransform * base,
    GstQuery * query);
GstClockTime gst_sam_qos_get_reported (GstSamQos * qos);

/* Streaming thread. */
gboolean gst_sam_qos_is_live (GstSamQos * qos, GstBaseTransform * base);

/* Whether the frame at @running_time is too late to be inferred; sets *jitter
 * to its lateness. @apart: the frame need not wait for its inference, so only
 * what the sink reports counts. Returns FALSE from time to time although the
 * frame is late, so that masks are updated under permanent overload. */
gboolean gst_sam_qos_is_late (GstSamQos * qos, GstBaseTransform * base,
    GstClockTime running_time, gboolean apart, GstClockTimeDiff * jitter);

/* Any thread. The running time of the frame that the sink shows now, NONE
 * unless the element is PLAYING with a clock; sets *live. */
GstClockTime gst_sam_qos_get_shown (GstSamQos * qos, GstElement * element,
    gboolean * live);

/* Record that there was an inference. */
void gst_sam_qos_note_inference (GstSamQos * qos);

/* Record how long a frame stayed in the element, ns. Returns TRUE if the
 * latency to report has changed. */
gboolean gst_sam_qos_measure (GstSamQos * qos, gint64 ns);

/* Whether another QoS message may be posted: at most one per second. */
gboolean gst_sam_qos_may_post (GstSamQos * qos);

G_END_DECLS

#endif /* __GST_SAM_QOS_H__ */
