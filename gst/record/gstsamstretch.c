/* SPDX-License-Identifier: MIT */
#include "gstsamstretch.h"

#include <string.h>

gboolean
gst_sam_stretch_open (sam_painter ** painter)
{
  struct sam_params params = SAM_PARAMS_INIT;

  if (*painter)
    return TRUE;
  params.backend = SAM_BACKEND_CPU;
  /* A frame takes less than waking another thread is worth. */
  params.threads = 1;
  return sam_painter_open (painter, &params, NULL) == SAM_OK;
}

gboolean
gst_sam_stretch (sam_painter * painter, const struct sam_labels *from,
    guint8 * to, gint width, gint height, gchar ** why)
{
  struct sam_overlay overlay = SAM_OVERLAY_INIT;
  struct sam_frame frame = SAM_FRAME_INIT;
  struct sam_error error;
  guint32 i;

  overlay.width = width;
  overlay.height = height;
  overlay.labels = *from;
  frame.format = SAM_PIXEL_GRAY8;
  frame.width = frame.stride[0] = width;
  frame.height = height;
  frame.plane[0] = to;
  /* Opaque, and as bright as the label's number; 0 is what is there before. */
  for (i = 1; i < 256; i++)
    overlay.fill[i] = 0xff008080 | i << 16;
  memset (to, 0, (gsize) width * height);
  if (sam_painter_draw (painter, &frame, &overlay, &error) == SAM_OK)
    return TRUE;
  *why = g_strdup (error.text);
  return FALSE;
}
