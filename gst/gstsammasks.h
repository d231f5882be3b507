#ifndef __GST_SAM_MASKS_H__
#define __GST_SAM_MASKS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstSamMask:
 * @location: (nullable): the PNG that it is read from
 * @sample: (nullable): the sample that it is made from, until it is done
 * @side: px of the model's input
 * @bits: @side x @side bits, as sam_mask_stretch() makes them; NULL: it failed
 * @error: why it failed, of the domain GST_SAM_REFUSAL
 *
 * A mask on its way to the model. The last three are fixed once it is done.
 */
typedef struct _GstSamMask
{
  GstMiniObject parent;
  gchar *location;
  GstSample *sample;
  gboolean done;                /* guarded by the lock of GstSamMasks */
  gint side;
  guint8 *bits;
  GError *error;
} GstSamMask;

GType gst_sam_mask_get_type (void);

/**
 * GstSamMasks:
 *
 * Makes masks for the model: samples at once, in the thread of the caller,
 * files one after the other in a thread of its own. What waits before start
 * waits for the model's size.
 */
typedef struct
{
  GMutex lock;
  GCond cond;                   /* something below has changed */
  GThread *thread;              /* NULL: nothing had to be read */
  gint cancelled;               /* atomic */

  /* guarded by @lock */
  gint side;                    /* of the model's input, 0: not started */
  gboolean flushing;
  GQueue jobs;                  /* of GstSamMask, to be made in this order */
  gsize held;                   /* bytes of the samples in @jobs */
  GPtrArray *kept;              /* of GstSamMask: those of initial-prompt */
} GstSamMasks;

void gst_sam_masks_init (GstSamMasks * masks);
void gst_sam_masks_clear (GstSamMasks * masks);

/* Begin to make them, for a model with inputs of side x side px. */
void gst_sam_masks_start (GstSamMasks * masks, gint side);

/* Cancel, and wake who waits. Masks that somebody still holds are made after
 * the next start. */
void gst_sam_masks_stop (GstSamMasks * masks);

/* While flushing nobody waits. */
void gst_sam_masks_set_flushing (GstSamMasks * masks, gboolean flushing);

/* Any thread, without reading a file: NULL and @error where it is clear at once
 * that there will be no mask. @keep: read the file once until stop or
 * gst_sam_masks_forget(), however often it is asked for. */
GstSamMask *gst_sam_masks_get_file (GstSamMasks * masks, const gchar * location,
    gboolean keep, GError ** error);
GstSamMask *gst_sam_masks_get_sample (GstSamMasks * masks, GstSample * sample,
    GError ** error);
void gst_sam_masks_forget (GstSamMasks * masks);

gboolean gst_sam_masks_is_done (GstSamMasks * masks, GstSamMask * mask);

/* Wait until it is done. FALSE: flushing or stopped before. */
gboolean gst_sam_masks_wait (GstSamMasks * masks, GstSamMask * mask);

G_END_DECLS

#endif /* __GST_SAM_MASKS_H__ */
