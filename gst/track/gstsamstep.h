/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_STEP_H__
#define __GST_SAM_STEP_H__

#include "common/gstsamfound.h"
#include "common/gstsammeta.h"
#include "gstsamprompt.h"
#include "gstsamtrack.h"

#include <samtrack/samtrack.h>

G_BEGIN_DECLS

/**
 * GstSamStep:
 *
 * One step of the tracker: the frame and its results. Must be used by one
 * thread at a time.
 */
typedef struct
{
  /* in */
  GstBuffer *frame;             /* NULL: only @uploaded */
  struct sam_frame uploaded;    /* of the GPU, if there is no @frame */
  GstVideoInfo info;
  GstClockTime running_time;
  GstClockTime running_end;     /* when the next frame is expected */
  guint64 number;               /* of the frame, in order of arrival */
  GstSamFound *found;           /* by a detector upstream */

  /* out */
  GstFlowReturn ret;            /* ERROR: posted; FLUSHING: interrupted */
  GstSamReport *report;         /* its state is IDLE without objects */
  gint64 ns;                    /* time of sam_tracker_step(); 0: not run */
  guint restores;               /* gst_sam_pending_get_restores() then */
  struct sam_times times;
  struct sam_info tracker;
} GstSamStep;

/**
 * GstSamMaskPool:
 *
 * A pool of label maps of one size, in system or GPU memory.
 */
typedef struct
{
  GstBufferPool *pool;
  gint width, height;
  gboolean on_device;           /* allocate in GPU memory */
} GstSamMaskPool;

void gst_sam_step_init (GstSamStep * step);
void gst_sam_step_clear (GstSamStep * step);

/* Drop the references it holds. */
void gst_sam_step_forget (GstSamStep * step);

/* Apply the waiting prompts and track the frame; without objects, only keep it
 * for prompts that come late. @wait: wait for masks that are
 * still being read. Called by the thread that owns the tracker; it does not
 * access data of the streaming thread. */
void gst_sam_step_run (GstSamStep * step, GstSamTrack * self, gboolean wait);

/* Reserve GPU memory for frames of these caps, so that no frame allocates.
 * Returns FALSE if memory runs out, after posting an error. Called by the
 * thread that owns the tracker. */
gboolean gst_sam_step_reserve (GstSamTrack * self, const GstVideoInfo * info,
    gboolean on_device);

/* A GstSamMovedFunc of a GstSamTrack: posts a message. */
void gst_sam_step_moved (gpointer user, const GstSamPrompt * prompt,
    GstClockTime start);

/* The time of the clock that measures steps, ns. */
gint64 gst_sam_now_ns (void);

/* Streaming thread. Copy a frame of the caps into *to, a buffer that is kept
 * from frame to frame. Returns FALSE if memory runs out, after posting an
 * error. */
gboolean gst_sam_step_copy_pixels (GstSamTrack * self, GstBuffer ** to,
    const GstVideoFrame * from);

/* Any thread. The size that label maps of frames of that size have. */
void gst_sam_step_get_mask_size (GstSamTrack * self, gint frame_width,
    gint frame_height, gint * width, gint * height);

/* A buffer for the label map of such frames: in GPU memory with @on_device, if
 * there is room. Returns NULL if memory runs out, after posting an error. */
GstBuffer *gst_sam_mask_pool_acquire (GstSamMaskPool * masks,
    GstSamTrack * self, const GstVideoInfo * info, gboolean on_device);
void gst_sam_mask_pool_clear (GstSamMaskPool * masks);

G_END_DECLS

#endif /* __GST_SAM_STEP_H__ */
