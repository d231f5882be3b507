/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_WORKER_H__
#define __GST_SAM_WORKER_H__

#include "common/gstsammutex.h"
#include "gstsampreview.h"
#include "gstsamstep.h"

G_BEGIN_DECLS

enum
{
  /* Between two frames at most two steps end: the running one, and that of the
   * waiting frame. */
  GST_SAM_WORKER_ENDED = 2,
};

/**
 * GstSamWorker:
 *
 * The thread that tracks in a live pipeline. The streaming thread leaves every
 * frame here and continues; when the worker has finished a step, it takes the
 * newest frame. Between two steps it answers previews. From the first
 * gst_sam_worker_leave() until gst_sam_worker_drain() or
 * gst_sam_worker_stop() only the worker may use the tracker.
 */
typedef struct
{
  GstSamMutex lock;
  GCond wake;                   /* wakes the worker: a frame, a preview, or
                                 * quit */
  GCond done;                   /* wakes the streaming thread: a step ended */

  /* streaming thread only */
  GThread *thread;
  sam_uploader *uploader;       /* NULL: frames are copied in system memory */
  gboolean uploads;             /* worth a try to open one */

  /* guarded by @lock */
  gboolean quit, interrupted;
  gboolean failed;              /* a step has failed; no other one will run */
  gboolean waiting;             /* @next holds a frame */
  gboolean busy;                /* a step or a preview is running */
  gint place;                   /* of the uploader: for @next; 1 - place is that
                                 * of @current; changes while @waiting only */
  guint64 taken;                /* number of the last frame the worker took */
  guint64 forgotten;            /* results up to this frame are discarded */
  GstSamStep next;              /* the newest frame; the streaming thread's own
                                 * while not @waiting */
  GstSamStep ended[GST_SAM_WORKER_ENDED];       /* for the streaming thread */
  guint num_ended;
  GstSamPreview preview;
  gint64 left;                  /* monotonic time of the last frame; 0: none */
  gint64 interval, step;        /* µs between two frames and of a step, means of
                                 * the last ones; 0: not known */

  GstSamStep current;           /* used by the worker while @busy */
} GstSamWorker;

void gst_sam_worker_init (GstSamWorker * worker);
void gst_sam_worker_clear (GstSamWorker * worker);

/* Functions of the streaming thread: */

/* Leave a frame for the worker; it replaces a waiting one. The frame is copied,
 * to the GPU if the model runs there, or in GPU memory referenced, so that the
 * buffer stays writable. Returns FALSE if it cannot be copied, after posting an
 * error. */
gboolean gst_sam_worker_leave (GstSamWorker * worker, GstSamTrack * self,
    GstBuffer * frame, GstClockTime running_time, GstClockTime running_end,
    guint64 number);

/* Swap the first ended step that was not taken yet with *step. Returns FALSE if
 * there is none. */
gboolean gst_sam_worker_take (GstSamWorker * worker, GstSamStep * step);

/* Wait until the last frame left here was tracked, for at most @ns, or until
 * interrupted. */
void gst_sam_worker_wait (GstSamWorker * worker, gint64 ns);

/* The number of frames between the last one that the worker took and
 * @number. */
guint64 gst_sam_worker_get_passed (GstSamWorker * worker, guint64 number);

/* Discard the results of frames up to @number. */
void gst_sam_worker_forget (GstSamWorker * worker, guint64 number);

/* Serve a preview here: the worker has no frames. */
void gst_sam_worker_serve (GstSamWorker * worker, GstSamTrack * self);

/* Wait for the running step; drop the waiting frame. */
void gst_sam_worker_drain (GstSamWorker * worker);

void gst_sam_worker_start (GstSamWorker * worker);
void gst_sam_worker_stop (GstSamWorker * worker);

/* Any thread. As gst_sam_preview_ask(). */
guint64 gst_sam_worker_ask (GstSamWorker * worker,
    const GstSamPrompt * prompt);

/* Any thread: gst_sam_worker_wait() returns at once while @interrupted. */
void gst_sam_worker_interrupt (GstSamWorker * worker, gboolean interrupted);

G_END_DECLS

#endif /* __GST_SAM_WORKER_H__ */
