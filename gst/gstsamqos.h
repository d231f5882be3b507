#ifndef __GST_SAM_QOS_H__
#define __GST_SAM_QOS_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_QOS_WINDOW = 64,     /* inferences that the estimate looks back */
};

/**
 * GstSamQos:
 *
 * Knows how long inference takes, what latency to report for it, and whether a
 * frame is late.
 */
typedef struct
{
  GMutex lock;

  /* guarded by @lock */
  GstClockTime earliest;        /* running time that sinks want, from QoS */
  GstClockTime granted;         /* of the whole pipeline, NONE: not known */
  GstClockTime upstream;        /* smallest latency of what is before us */
  GstClockTime reported;        /* what we add to the latency query */
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

/* Any thread: note what an upstream event tells; does not consume it. */
void gst_sam_qos_note_event (GstSamQos * qos, GstEvent * event);
gboolean gst_sam_qos_query_latency (GstSamQos * qos, GstBaseTransform * base,
    GstQuery * query);
GstClockTime gst_sam_qos_get_reported (GstSamQos * qos);

/* Streaming thread. */
gboolean gst_sam_qos_is_live (GstSamQos * qos, GstBaseTransform * base);

/* Whether the frame of that running time comes too late to be inferred; by how
 * much, in *jitter. Never lets masks die: now and then it says no. */
gboolean gst_sam_qos_is_late (GstSamQos * qos, GstBaseTransform * base,
    GstClockTime running_time, GstClockTimeDiff * jitter);

/* An inference took that long. TRUE: the latency to report has changed. */
gboolean gst_sam_qos_measure (GstSamQos * qos, gint64 ns);

/* Whether it is time for another QoS message. */
gboolean gst_sam_qos_may_post (GstSamQos * qos);

G_END_DECLS

#endif /* __GST_SAM_QOS_H__ */
