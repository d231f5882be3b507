#ifndef __GST_SAM_WORKER_H__
#define __GST_SAM_WORKER_H__

#include "gstsamstep.h"

G_BEGIN_DECLS

enum
{
  /* Between two frames two steps may end: the one that runs, and the one of the
   * frame that waits. */
  GST_SAM_WORKER_ENDED = 2,
};

/**
 * GstSamWorker:
 *
 * The thread that tracks where the pipeline is live. The streaming thread
 * leaves every frame here and goes on; the worker takes the newest one whenever
 * it has finished a step. From the first frame that is left here until
 * gst_sam_worker_drain() or gst_sam_worker_stop() the tracker is the worker's.
 */
typedef struct
{
  GMutex lock;
  GCond wake;                   /* for the worker: a frame, or the end */
  GCond done;                   /* for the streaming thread: a step has ended */
  GThread *thread;              /* streaming thread only */

  /* guarded by @lock */
  gboolean quit, interrupted;
  gboolean failed;              /* a step did: there is no other */
  gboolean waiting;             /* @next holds a frame */
  gboolean busy;                /* between taking a frame and its end */
  guint64 taken;                /* number of the last frame that was taken */
  guint64 forgotten;            /* steps of frames up to this number are void */
  GstSamStep next;              /* the newest frame */
  GstSamStep ended[GST_SAM_WORKER_ENDED];       /* that nobody has taken yet */
  guint num_ended;

  GstSamStep current;           /* the worker's own while @busy */
} GstSamWorker;

void gst_sam_worker_init (GstSamWorker * worker);
void gst_sam_worker_clear (GstSamWorker * worker);

/* The streaming thread's: */

/* Leave a frame, instead of the one that waits. It is copied, or in a GPU's
 * memory referred to: the buffer itself stays the caller's alone. FALSE: it
 * cannot be copied, which was posted. */
gboolean gst_sam_worker_leave (GstSamWorker * worker, GstSamTrack * self,
    GstBuffer * frame, GstClockTime running_time, guint64 number);

/* Swap the first step that has ended since then into *step. FALSE: there is
 * none. */
gboolean gst_sam_worker_take (GstSamWorker * worker, GstSamStep * step);

/* Wait until the frame that was left has been tracked on, at most @ns, or until
 * it is interrupted. */
void gst_sam_worker_wait (GstSamWorker * worker, gint64 ns);

/* How many frames came between the last one that was taken and @number. */
guint64 gst_sam_worker_get_passed (GstSamWorker * worker, guint64 number);

/* What is known of frames up to @number is of no use any more. */
void gst_sam_worker_forget (GstSamWorker * worker, guint64 number);

/* Wait for the step that runs; the one that waits is not begun. */
void gst_sam_worker_drain (GstSamWorker * worker);

void gst_sam_worker_start (GstSamWorker * worker);
void gst_sam_worker_stop (GstSamWorker * worker);

/* Any thread: gst_sam_worker_wait() returns at once while @interrupted. */
void gst_sam_worker_interrupt (GstSamWorker * worker, gboolean interrupted);

G_END_DECLS

#endif /* __GST_SAM_WORKER_H__ */
