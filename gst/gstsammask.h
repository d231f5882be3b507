#ifndef __GST_SAM_MASK_H__
#define __GST_SAM_MASK_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Read a mask from a PNG file: GRAY8, 255 where a pixel is neither black nor
 * transparent. */
GstSample *gst_sam_mask_load (const gchar * location, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_MASK_H__ */
