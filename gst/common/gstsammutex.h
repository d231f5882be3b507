/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_MUTEX_H__
#define __GST_SAM_MUTEX_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstSamRank:
 * @GST_SAM_RANK_TURN: GstSamTurn, for as long as a step uses the tracker
 * @GST_SAM_RANK_NAVIGATION: GstSamNavigation
 * @GST_SAM_RANK_PAD: GstSamPad
 * @GST_SAM_RANK_WORKER: GstSamWorker
 * @GST_SAM_RANK_FOLLOW: GstSamFollow
 * @GST_SAM_RANK_DETECTOR: GstSamDetector
 * @GST_SAM_RANK_WRITER: GstSamWriter
 * @GST_SAM_RANK_MQTT: the connection of samexport to a broker
 * @GST_SAM_RANK_TALLY: GstSamTally
 * @GST_SAM_RANK_OBJECT: the object lock of an element
 * @GST_SAM_RANK_PENDING: GstSamPending
 * @GST_SAM_RANK_MASKS: GstSamMasks
 * @GST_SAM_RANK_MARKS: GstSamMarks
 * @GST_SAM_RANK_QOS: GstSamQos
 * @GST_SAM_RANK_STATS: GstSamStats
 *
 * The order of locks: a thread that holds one takes no other but those that
 * follow it here. All come behind the stream lock of a pad. Under none of them
 * but @GST_SAM_RANK_TURN a frame is mapped, copied or uploaded.
 */
typedef enum
{
  GST_SAM_RANK_TURN,
  GST_SAM_RANK_NAVIGATION,
  GST_SAM_RANK_PAD,
  GST_SAM_RANK_WORKER,
  GST_SAM_RANK_FOLLOW,
  GST_SAM_RANK_DETECTOR,
  GST_SAM_RANK_WRITER,
  GST_SAM_RANK_MQTT,
  GST_SAM_RANK_TALLY,
  GST_SAM_RANK_OBJECT,
  GST_SAM_RANK_PENDING,
  GST_SAM_RANK_MASKS,
  GST_SAM_RANK_MARKS,
  GST_SAM_RANK_QOS,
  GST_SAM_RANK_STATS,
} GstSamRank;

/* Note that this thread takes or releases what has a rank. Debug builds, and
 * those with a sanitizer, end the program if it is out of order; others do
 * nothing. */
#ifdef GST_SAM_CHECK_LOCKS
void gst_sam_rank_take (GstSamRank rank);
void gst_sam_rank_release (GstSamRank rank);
#else
#define gst_sam_rank_take(rank) ((void) 0)
#define gst_sam_rank_release(rank) ((void) 0)
#endif

/**
 * GstSamMutex:
 *
 * A GMutex with a rank.
 */
typedef struct
{
  GMutex mutex;
  GstSamRank rank;
} GstSamMutex;

static inline void
gst_sam_mutex_init (GstSamMutex * self, GstSamRank rank)
{
  g_mutex_init (&self->mutex);
  self->rank = rank;
}

static inline void
gst_sam_mutex_clear (GstSamMutex * self)
{
  g_mutex_clear (&self->mutex);
}

static inline void
gst_sam_mutex_lock (GstSamMutex * self)
{
  gst_sam_rank_take (self->rank);
  g_mutex_lock (&self->mutex);
}

static inline void
gst_sam_mutex_unlock (GstSamMutex * self)
{
  g_mutex_unlock (&self->mutex);
  gst_sam_rank_release (self->rank);
}

/* g_cond_wait() and g_cond_wait_until(). */
static inline void
gst_sam_mutex_wait (GstSamMutex * self, GCond * cond)
{
  gst_sam_rank_release (self->rank);
  g_cond_wait (cond, &self->mutex);
  gst_sam_rank_take (self->rank);
}

static inline gboolean
gst_sam_mutex_wait_until (GstSamMutex * self, GCond * cond, gint64 end)
{
  gboolean ok;

  gst_sam_rank_release (self->rank);
  ok = g_cond_wait_until (cond, &self->mutex, end);
  gst_sam_rank_take (self->rank);
  return ok;
}

/* GST_OBJECT_LOCK() and GST_OBJECT_UNLOCK(). */
static inline void
gst_sam_object_lock (gpointer object)
{
  gst_sam_rank_take (GST_SAM_RANK_OBJECT);
  GST_OBJECT_LOCK (object);
}

static inline void
gst_sam_object_unlock (gpointer object)
{
  GST_OBJECT_UNLOCK (object);
  gst_sam_rank_release (GST_SAM_RANK_OBJECT);
}

G_END_DECLS

#endif /* __GST_SAM_MUTEX_H__ */
