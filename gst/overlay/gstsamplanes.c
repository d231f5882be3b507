/* SPDX-License-Identifier: MIT */
/* A frame's planes in memory of our own. */

#include "gstsamplanes.h"

#include "common/gstsamframe.h"

#include <string.h>

/* GstVideo writes the last pixels of a row in whole groups, of up to 16 bytes,
 * and whole tiles. */
#define GROUP_BYTES 16
#define TILE_BYTES 4096

typedef struct
{
  GstSamExtent extent;
  gsize offset, stride;
} Plane;

/* Returns the bytes that all planes take. */
static gsize
find_planes (const GstVideoFrame * frame, Plane plane[GST_VIDEO_MAX_PLANES])
{
  const GstVideoInfo *info = &frame->info;
  GstVideoInfo plain;
  gsize size = 0;
  guint i;

  gst_video_info_set_interlaced_format (&plain, GST_VIDEO_INFO_FORMAT (info),
      GST_VIDEO_INFO_INTERLACE_MODE (info), info->width, info->height);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    plane[i].extent = gst_sam_frame_get_extent (&plain, i, info->stride[i]);
    plane[i].offset = size;
    plane[i].stride = GST_ROUND_UP_16 (plane[i].extent.bytes + GROUP_BYTES);
    size += plane[i].extent.rows * plane[i].stride + TILE_BYTES;
  }
  return size;
}

gsize
gst_sam_planes_measure (const GstVideoFrame * frame)
{
  Plane plane[GST_VIDEO_MAX_PLANES];

  return find_planes (frame, plane);
}

void
gst_sam_planes_copy (const GstVideoFrame * frame, guint8 * scratch,
    gboolean back)
{
  Plane plane[GST_VIDEO_MAX_PLANES];
  guint i;
  gint y;

  find_planes (frame, plane);
  for (i = 0; i < GST_VIDEO_FRAME_N_PLANES (frame); i++) {
    for (y = 0; y < plane[i].extent.rows; y++) {
      guint8 *row = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (frame, i) +
          (gssize) y * GST_VIDEO_FRAME_PLANE_STRIDE (frame, i);
      guint8 *copy = scratch + plane[i].offset + y * plane[i].stride;

      memcpy (back ? row : copy, back ? copy : row, plane[i].extent.bytes);
    }
  }
}

void
gst_sam_planes_view (const GstVideoFrame * frame, guint8 * scratch,
    GstVideoFrame * view)
{
  Plane plane[GST_VIDEO_MAX_PLANES];
  guint i;

  find_planes (frame, plane);
  *view = *frame;
  for (i = 0; i < GST_VIDEO_FRAME_N_PLANES (frame); i++) {
    view->data[i] = scratch + plane[i].offset;
    if (!GST_VIDEO_FORMAT_INFO_IS_TILED (view->info.finfo))
      view->info.stride[i] = plane[i].stride;
  }
}
