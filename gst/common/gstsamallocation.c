/* SPDX-License-Identifier: MIT */
#include "gstsamallocation.h"

#include <gst/video/video.h>

/* Where planes and rows lie is heeded. What is to be drawn over the picture is
 * not part of it, and whoever shows it draws it. All else may change what the
 * pixels mean. */
static gboolean
is_understood (GType api)
{
  return api == GST_VIDEO_META_API_TYPE ||
      api == GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE;
}

void
gst_sam_allocation_keep_understood (GstQuery * query)
{
  guint i = gst_query_get_n_allocation_metas (query);

  for (; i > 0; i--) {
    const GType api = gst_query_parse_nth_allocation_meta (query, i - 1, NULL);

    if (!is_understood (api))
      gst_query_remove_nth_allocation_meta (query, i - 1);
  }
}

gboolean
gst_sam_allocation_propose (GstBaseTransform * base, GstQuery * decided,
    GstQuery * query)
{
  GstBaseTransformClass *parent =
      g_type_class_peek_parent (GST_BASE_TRANSFORM_GET_CLASS (base));

  if (!parent->propose_allocation (base, decided, query))
    return FALSE;
  gst_sam_allocation_keep_understood (query);
  return TRUE;
}
