/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PALETTE_H__
#define __GST_SAM_PALETTE_H__

#include <glib.h>

G_BEGIN_DECLS

/* Colour of a slot, 0xRRGGBB. The colours differ from each other and from skin,
 * grass and sky; the most different ones come first. */
static inline guint32
gst_sam_palette_get (guint slot)
{
  static const guint32 colour[] = {
    0xff3b30, 0x00c7ff, 0xffd60a, 0xbf5af2, 0x30d158, 0xff9500, 0x0a5cff,
    0xff2d92, 0x64ffda, 0xa2845e, 0xc6ff00, 0x8e8eff,
  };

  return colour[(slot + G_N_ELEMENTS (colour) - 1) % G_N_ELEMENTS (colour)];
}

G_END_DECLS

#endif /* __GST_SAM_PALETTE_H__ */
