#ifndef __GST_SAM_STEP_H__
#define __GST_SAM_STEP_H__

#include "gstsammeta.h"
#include "gstsamtrack.h"

#include <samtrack/samtrack.h>

G_BEGIN_DECLS

/**
 * GstSamStep:
 *
 * One step of the tracker: the frame that goes in, and what comes out. Only one
 * thread works on a step at a time.
 */
typedef struct
{
  /* in */
  GstBuffer *frame;
  GstVideoInfo info;
  GstClockTime running_time;
  guint64 number;               /* of the frame, counted as they come */

  /* out */
  GstFlowReturn ret;            /* ERROR was posted; FLUSHING: interrupted */
  GstSamReport *report;         /* IDLE: there is nothing to track */
  gint64 ns;                    /* of sam_tracker_step(); 0: it did not run */
  struct sam_times times;
  struct sam_info tracker;
} GstSamStep;

/**
 * GstSamMaskPool:
 *
 * Buffers for label maps of one size and place.
 */
typedef struct
{
  GstBufferPool *pool;
  gint width, height;
  gboolean on_device;           /* wanted there */
} GstSamMaskPool;

void gst_sam_step_init (GstSamStep * step);
void gst_sam_step_clear (GstSamStep * step);

/* Let go of what it refers to. */
void gst_sam_step_forget (GstSamStep * step);

/* Apply the prompts that wait, and track on the frame. @wait: prompts whose
 * masks are still being read are waited for. On whichever thread has the
 * tracker at the time; nothing of the streaming thread's is touched. */
void gst_sam_step_run (GstSamStep * step, GstSamTrack * self, gboolean wait);

/* A GPU's memory for frames of these caps: no later one allocates. FALSE: there
 * is none, which was posted. With the tracker, as above. */
gboolean gst_sam_step_reserve (GstSamTrack * self, const GstVideoInfo * info,
    gboolean on_device);

/* ns, of the clock that steps are timed by. */
gint64 gst_sam_now_ns (void);

void gst_sam_mask_pool_clear (GstSamMaskPool * masks);

G_END_DECLS

#endif /* __GST_SAM_STEP_H__ */
