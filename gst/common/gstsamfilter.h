/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_FILTER_H__
#define __GST_SAM_FILTER_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

/* What the elements share that look at frames in place, in either memory, and
 * add metas to them or draw on them. */

/* In class_init, ahead of what the element has of its own: pads for frames of
 * these formats in system memory, then @more (nullable), which are preferred
 * less, and of gst_sam_cuda_get_formats() in GPU memory; frames in system
 * memory may have an overlay composition, which passes; caps of single fields
 * are refused; of allocation queries only what gst_sam_allocation_propose()
 * lets through is answered. */
void gst_sam_filter_class_init (GstBaseTransformClass * klass,
    const gchar * formats, const gchar * more);

/* In an instance's init: it works in place on frames that are writable, and
 * tells a flush from an error (gst_sam_flush_install()). */
void gst_sam_filter_init (GstBaseTransform * base);

G_END_DECLS

#endif /* __GST_SAM_FILTER_H__ */
