#ifndef __GST_SAM_QUEUE_H__
#define __GST_SAM_QUEUE_H__

#include "gstsammasks.h"
#include "gstsamprompt.h"

#include <samtrack/samtrack.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_QUEUE_SIZE = 256,     /* prompts that may wait */
  GST_SAM_MAX_OBJECTS = 255,
};

/**
 * GstSamQueue:
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
  GstSamPrompt waiting[GST_SAM_QUEUE_SIZE];     /* a ring */
  guint head, length;
  guint64 last_id;              /* the highest that was given out */
  guint64 known[GST_SAM_MAX_OBJECTS];   /* ids, tracked or to be */
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
  } bound[GST_SAM_MAX_OBJECTS];
  guint num_bound;
} GstSamQueue;

/* Called for a prompt that cannot be applied; the queue is not locked. @error
 * is of the domain GST_SAM_REFUSAL, as all errors of the queue. */
typedef void (*GstSamRejectFunc) (gpointer user, const GstSamPrompt * prompt,
    const GError * error);

void gst_sam_queue_init (GstSamQueue * queue);
void gst_sam_queue_clear (GstSamQueue * queue);

/* The model's input has side x side px: masks can be made for it. */
void gst_sam_queue_start (GstSamQueue * queue, gint side);

/* Any thread: until stop, or until @flushing is FALSE again, the streaming
 * thread waits for no mask. */
void gst_sam_queue_interrupt (GstSamQueue * queue);
void gst_sam_queue_set_flushing (GstSamQueue * queue, gboolean flushing);

/* Read the files of initial-prompt again when they are next asked for. */
void gst_sam_queue_forget_masks (GstSamQueue * queue);

/* Any thread. Returns the id of the object it is for (GST_SAM_QUEUE_ALL for
 * "clear") and takes over what the prompt owns; or returns 0 and @error.
 * @wish is the id that a new object should get where it is still free, 0: any.
 */
#define GST_SAM_QUEUE_ALL G_MAXUINT64
guint64 gst_sam_queue_push (GstSamQueue * queue, GstSamPrompt * prompt,
    guint64 wish, GError ** error);

void gst_sam_queue_set_frame_size (GstSamQueue * queue, gint width,
    gint height);
void gst_sam_queue_set_max_objects (GstSamQueue * queue, guint max_objects);

/* Streaming thread, while no frame is being processed. */
gboolean gst_sam_queue_has_objects (const GstSamQueue * queue);
gboolean gst_sam_queue_is_idle (GstSamQueue * queue);

/* Apply the prompts in order, up to the first one whose mask is still being
 * read; with @wait, wait for that. FALSE: the wait was interrupted. */
gboolean gst_sam_queue_apply (GstSamQueue * queue, sam_tracker * tracker,
    gboolean wait, GstSamRejectFunc reject, gpointer user);

/* After a frame: forget what the tracker no longer has. */
void gst_sam_queue_settle (GstSamQueue * queue,
    const struct sam_result * result);
guint64 gst_sam_queue_get_id (const GstSamQueue * queue, guint64 engine_id);

/* A new stream: forget the tracked objects and what waits of initial-prompt,
 * keep other new ones that wait. */
void gst_sam_queue_reset (GstSamQueue * queue, sam_tracker * tracker);

/* The end of it: forget all, ids count from 1 again. */
void gst_sam_queue_stop (GstSamQueue * queue);

G_END_DECLS

#endif /* __GST_SAM_QUEUE_H__ */
