#ifndef __GST_SAM_PENDING_H__
#define __GST_SAM_PENDING_H__

#include "gstsammasks.h"
#include "gstsamprompt.h"

#include <samtrack/samtrack.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_PENDING_SIZE = 256,   /* prompts that may wait */
};

/**
 * GstSamPending:
 *
 * Prompts of every origin, from any thread, wait here for the next frame.
 *
 * Ids are given out at once, before the tracker knows the object: the element's
 * ids count from 1 after every start, and @bound translates.
 */
typedef struct
{
  GMutex lock;

  /* guarded by @lock */
  GstSamPrompt waiting[GST_SAM_PENDING_SIZE];     /* a ring */
  guint head, length;
  guint64 last_id;              /* the highest that was given out */
  guint64 known[SAM_MAX_OBJECTS];   /* ids, tracked or to be */
  guint num_known;

  /* written under @lock, max_objects while nothing streams and the size by the
   * streaming thread: it reads them as they are */
  guint max_objects;
  gint width, height;           /* of the frames, 0: not known yet */

  GstSamMasks masks;            /* has a lock of its own */

  /* streaming thread only */
  struct
  {
    guint64 id, engine_id;
  } bound[SAM_MAX_OBJECTS];
  guint num_bound;
} GstSamPending;

/* Called for a prompt that cannot be applied; the queue is not locked. @error
 * is of the domain GST_SAM_REFUSAL, as all errors of the queue. */
typedef void (*GstSamRejectFunc) (gpointer user, const GstSamPrompt * prompt,
    const GError * error);

void gst_sam_pending_init (GstSamPending * pending);
void gst_sam_pending_clear (GstSamPending * pending);

/* The model's input has side x side px: masks can be made for it. */
void gst_sam_pending_start (GstSamPending * pending, gint side);

/* Any thread: until stop, or until @flushing is FALSE again, the streaming
 * thread waits for no mask. */
void gst_sam_pending_interrupt (GstSamPending * pending);
void gst_sam_pending_set_flushing (GstSamPending * pending, gboolean flushing);

/* Read the files of initial-prompt again when they are next asked for. */
void gst_sam_pending_forget_masks (GstSamPending * pending);

/* Any thread. Returns the id of the object it is for (GST_SAM_PENDING_ALL for
 * "clear") and takes over what the prompt owns; or returns 0 and @error.
 * @wish is the id that a new object should get where it is still free, 0: any.
 */
#define GST_SAM_PENDING_ALL G_MAXUINT64
guint64 gst_sam_pending_push (GstSamPending * pending, GstSamPrompt * prompt,
    guint64 wish, GError ** error);

void gst_sam_pending_set_frame_size (GstSamPending * pending, gint width,
    gint height);
void gst_sam_pending_set_max_objects (GstSamPending * pending,
    guint max_objects);

/* Streaming thread, while no frame is being processed. */
gboolean gst_sam_pending_has_objects (const GstSamPending * pending);
gboolean gst_sam_pending_is_idle (GstSamPending * pending);

/* Apply the prompts in order, up to the first one whose mask is still being
 * read; with @wait, wait for that. FALSE: the wait was interrupted. */
gboolean gst_sam_pending_apply (GstSamPending * pending, sam_tracker * tracker,
    gboolean wait, GstSamRejectFunc reject, gpointer user);

/* After a frame: forget what the tracker no longer has. */
void gst_sam_pending_settle (GstSamPending * pending,
    const struct sam_result * result);
guint64 gst_sam_pending_get_id (const GstSamPending * pending,
    guint64 engine_id);

/* A new stream: forget the tracked objects and what waits of initial-prompt,
 * keep other new ones that wait. */
void gst_sam_pending_reset (GstSamPending * pending, sam_tracker * tracker);

/* The end of it: forget all, ids count from 1 again. */
void gst_sam_pending_stop (GstSamPending * pending);

G_END_DECLS

#endif /* __GST_SAM_PENDING_H__ */
