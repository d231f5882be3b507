/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SPARES_H__
#define __GST_SAM_SPARES_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstSamSpares:
 *
 * Memory for pixels that others hold for some frames, and that is used again
 * when they do not: to get new pages takes as long as to draw on them. Must be
 * zeroed before first use. Used by one thread; others may drop their references
 * at any time.
 */
typedef struct
{
  GArray *all;                  /* NULL: none was taken yet */
} GstSamSpares;

/* Memory of that size, with what was in it before. */
GstMemory *gst_sam_spares_take (GstSamSpares * spares, gsize bytes);

/* Once a frame for which something was taken: drops what was free in many. */
void gst_sam_spares_trim (GstSamSpares * spares);
void gst_sam_spares_clear (GstSamSpares * spares);

G_END_DECLS

#endif /* __GST_SAM_SPARES_H__ */
