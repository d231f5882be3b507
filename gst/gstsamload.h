#ifndef __GST_SAM_LOAD_H__
#define __GST_SAM_LOAD_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_LOAD_WINDOW = 64,     /* inferences that the estimate looks back */
};

/**
 * GstSamLoad:
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
  gint64 recent[GST_SAM_LOAD_WINDOW];   /* ns, a ring */
  guint measured;
  GstClockTime typical;         /* median of @recent */
  gint64 last_inference;        /* monotonic, us */
  gint64 last_message;
} GstSamLoad;

void gst_sam_load_init (GstSamLoad * load);
void gst_sam_load_clear (GstSamLoad * load);
void gst_sam_load_start (GstSamLoad * load);
void gst_sam_load_flush (GstSamLoad * load);

/* Any thread: note what an upstream event tells; does not consume it. */
void gst_sam_load_note_event (GstSamLoad * load, GstEvent * event);
gboolean gst_sam_load_query_latency (GstSamLoad * load, GstBaseTransform * base,
    GstQuery * query);
GstClockTime gst_sam_load_get_reported (GstSamLoad * load);

/* Streaming thread. */
gboolean gst_sam_load_is_live (GstSamLoad * load, GstBaseTransform * base);

/* Whether the frame of that running time comes too late to be inferred; by how
 * much, in *jitter. Never lets masks die: now and then it says no. */
gboolean gst_sam_load_is_late (GstSamLoad * load, GstBaseTransform * base,
    GstClockTime running_time, GstClockTimeDiff * jitter);

/* An inference took that long. TRUE: the latency to report has changed. */
gboolean gst_sam_load_measure (GstSamLoad * load, gint64 ns);

/* Whether it is time for another QoS message. */
gboolean gst_sam_load_may_post (GstSamLoad * load);

G_END_DECLS

#endif /* __GST_SAM_LOAD_H__ */
