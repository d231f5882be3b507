/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_MASKS_H__
#define __GST_SAM_MASKS_H__

#include "common/gstsammutex.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstSamMask:
 * @location: (nullable): the PNG file to read
 * @sample: (nullable): the sample to convert; dropped when done
 * @wanted: value of its pixels that was asked for; 0: none was
 * @value: that it has; 0: all that are seen are its own
 * @side: side of the model's input, px
 * @bits: @side x @side bits as sam_mask_stretch() makes them; NULL on failure
 * @more: (nullable): of GstSamMask, done: the other objects of a file that has
 * several, where none was asked for
 * @error: the reason of a failure, of the domain GST_SAM_REFUSAL
 *
 * A mask prompt that is being read and scaled. The last five fields do not
 * change once @done is set.
 */
typedef struct _GstSamMask
{
  GstMiniObject parent;
  gchar *location;
  GstSample *sample;
  gint wanted;                  /* value that was asked for, 0: none */
  gboolean done;                /* guarded by the lock of GstSamMasks */
  gint value;
  gint side;
  guint8 *bits;
  GPtrArray *more;
  GError *error;
} GstSamMask;

GType gst_sam_mask_get_type (void);

/**
 * GstSamMasks:
 *
 * Reads and scales masks for the model: samples at once in the calling thread,
 * files one after the other in a thread of its own. Before start, when the
 * model's input size is not known, all masks wait.
 */
typedef struct
{
  GstSamMutex lock;
  GCond cond;                   /* something below has changed */
  GThread *thread;              /* NULL until a file must be read */
  gint cancelled;               /* atomic */

  /* guarded by @lock */
  gint side;                    /* of the model's input, 0: not started */
  gboolean flushing;
  GQueue jobs;                  /* of GstSamMask, in order */
  gsize held;                   /* bytes of the samples in @jobs */
  GPtrArray *kept;              /* of GstSamMask: those of initial-prompt */
} GstSamMasks;

void gst_sam_masks_init (GstSamMasks * masks);
void gst_sam_masks_clear (GstSamMasks * masks);

/* Start processing, for a model with an input of @side x @side px. */
void gst_sam_masks_start (GstSamMasks * masks, gint side);

/* Cancel and wake all waiting threads. Masks that are still referenced are
 * processed after the next start. */
void gst_sam_masks_stop (GstSamMasks * masks);

/* While flushing, gst_sam_masks_wait() returns at once. */
void gst_sam_masks_set_flushing (GstSamMasks * masks, gboolean flushing);

/* Any thread; does not read the file. Returns NULL and sets @error if the mask
 * cannot be made, for example if there is no such file. @keep: cache the mask
 * until stop or gst_sam_masks_forget(). */
GstSamMask *gst_sam_masks_get_file (GstSamMasks * masks, const gchar * location,
    gint value, gboolean keep, GError ** error);
GstSamMask *gst_sam_masks_get_sample (GstSamMasks * masks, GstSample * sample,
    GError ** error);
void gst_sam_masks_forget (GstSamMasks * masks);

gboolean gst_sam_masks_is_done (GstSamMasks * masks, GstSamMask * mask);

/* Wait until the mask is done. Returns FALSE if flushing or stopped. */
gboolean gst_sam_masks_wait (GstSamMasks * masks, GstSamMask * mask);

G_END_DECLS

#endif /* __GST_SAM_MASKS_H__ */
