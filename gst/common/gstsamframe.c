/* SPDX-License-Identifier: MIT */
#include "gstsamframe.h"

#include <string.h>

/* -1: none of the engine's. */
static gint
get_pixel_format (const GstVideoInfo * info)
{
  switch (GST_VIDEO_INFO_FORMAT (info)) {
    case GST_VIDEO_FORMAT_NV12:
      return SAM_PIXEL_NV12;
    case GST_VIDEO_FORMAT_I420:
      return SAM_PIXEL_I420;
    case GST_VIDEO_FORMAT_P010_10LE:
      return SAM_PIXEL_P010;
    case GST_VIDEO_FORMAT_YUY2:
      return SAM_PIXEL_YUY2;
    case GST_VIDEO_FORMAT_BGR:
      return SAM_PIXEL_BGR;
    case GST_VIDEO_FORMAT_RGBA:
    case GST_VIDEO_FORMAT_RGBx:
      return SAM_PIXEL_RGBA;
    case GST_VIDEO_FORMAT_BGRA:
    case GST_VIDEO_FORMAT_BGRx:
      return SAM_PIXEL_BGRA;
    case GST_VIDEO_FORMAT_GRAY8:
      return SAM_PIXEL_GRAY8;
    case GST_VIDEO_FORMAT_RGB:
      return SAM_PIXEL_RGB;
    default:
      return -1;
  }
}

gboolean
gst_sam_frame_has_engine_format (const GstVideoInfo * info)
{
  return get_pixel_format (info) >= 0;
}

gboolean
gst_sam_frame_accepts_caps (GstCaps * caps)
{
  const GstStructure *s = gst_caps_get_size (caps) ?
      gst_caps_get_structure (caps, 0) : NULL;
  const gchar *mode = s ? gst_structure_get_string (s, "interlace-mode") : NULL;

  return !mode || strcmp (mode, "alternate") != 0;
}

void
gst_sam_frame_describe (struct sam_frame *to, const GstVideoFrame * frame)
{
  const GstVideoInfo *info = &frame->info;
  gdouble kr = 0, kb = 0;
  guint i;

  *to = (struct sam_frame) SAM_FRAME_INIT;
  to->format = get_pixel_format (info);
  to->width = GST_VIDEO_FRAME_WIDTH (frame);
  to->height = GST_VIDEO_FRAME_HEIGHT (frame);
  for (i = 0; i < GST_VIDEO_FRAME_N_PLANES (frame); i++) {
    to->plane[i] = GST_VIDEO_FRAME_PLANE_DATA (frame, i);
    to->stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE (frame, i);
  }
  if (GST_VIDEO_INFO_IS_YUV (info) &&
      gst_video_color_matrix_get_Kr_Kb (GST_VIDEO_INFO_COLORIMETRY
          (info).matrix, &kr, &kb)) {
    to->colour.kr = kr;
    to->colour.kb = kb;
  }
  to->colour.full_range =
      GST_VIDEO_INFO_COLORIMETRY (info).range == GST_VIDEO_COLOR_RANGE_0_255;
}

/* A stride of tiles counts them in both directions. */
static GstSamExtent
get_tiles (const GstVideoInfo * info, gint plane, gint stride)
{
  const gboolean last = plane + 1 == (gint) GST_VIDEO_INFO_N_PLANES (info);
  const gsize start = GST_VIDEO_INFO_PLANE_OFFSET (info, plane);
  const gsize end = last ? GST_VIDEO_INFO_SIZE (info) :
      GST_VIDEO_INFO_PLANE_OFFSET (info, plane + 1);
  const gint own = GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  GstSamExtent extent = { end - start, 1 };

  extent.bytes /= GST_VIDEO_TILE_X_TILES (own) * GST_VIDEO_TILE_Y_TILES (own);
  extent.bytes *= GST_VIDEO_TILE_X_TILES (stride);
  extent.bytes *= GST_VIDEO_TILE_Y_TILES (stride);
  return extent;
}

GstSamExtent
gst_sam_frame_get_extent (const GstVideoInfo * info, gint plane,
    gint stride)
{
  const GstVideoFormatInfo *finfo = info->finfo;
  GstSamExtent extent = { 0, 0 };
  guint i;

  if (GST_VIDEO_FORMAT_INFO_IS_TILED (finfo))
    return get_tiles (info, plane, stride);
  for (i = 0; i < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (finfo); i++) {
    gint64 width = GST_VIDEO_INFO_COMP_WIDTH (info, i);
    gint64 height = GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT (finfo, i,
        GST_VIDEO_INFO_HEIGHT (info));

    if (GST_VIDEO_FORMAT_INFO_PLANE (finfo, i) != (guint) plane)
      continue;
    extent.bytes = MAX (extent.bytes, width *
        GST_VIDEO_FORMAT_INFO_PSTRIDE (finfo, i));
    extent.rows = MAX (extent.rows, height);
    /* Pixels of no whole bytes: a row as GstVideo lays it out. */
    if (GST_VIDEO_FORMAT_INFO_IS_COMPLEX (finfo) ||
        !GST_VIDEO_FORMAT_INFO_PSTRIDE (finfo, i))
      extent.bytes = GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  }
  if (GST_VIDEO_FORMAT_INFO_HAS_PALETTE (finfo) && plane == 1) {
    extent.bytes = 4 * 256;
    extent.rows = 1;
  }
  return extent;
}

/* Whether the stride reaches from one row to the next. */
static gboolean
is_stride (const GstVideoInfo * info, gint plane, gint stride,
    GstSamExtent extent)
{
  const gint own = GST_VIDEO_INFO_PLANE_STRIDE (info, plane);

  if (GST_VIDEO_FORMAT_INFO_IS_TILED (info->finfo))
    return GST_VIDEO_TILE_X_TILES (stride) >= GST_VIDEO_TILE_X_TILES (own) &&
        GST_VIDEO_TILE_Y_TILES (stride) >= GST_VIDEO_TILE_Y_TILES (own);
  return extent.rows == 1 || ABS ((gint64) stride) >= extent.bytes;
}

/* Whether all rows of a plane lie in its memory. GstVideo maps the one memory
 * that holds the first byte of a plane, and without a meta all of them as one.
 */
static gchar *
check_plane (const GstVideoInfo * info, GstBuffer * buf, gint plane)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buf);
  const gint stride = meta ? meta->stride[plane] :
      GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  const gsize offset = meta ? meta->offset[plane] :
      GST_VIDEO_INFO_PLANE_OFFSET (info, plane);
  const GstSamExtent extent = gst_sam_frame_get_extent (info, plane, stride);
  const gint64 last = stride * (extent.rows - 1);
  gsize size = gst_buffer_get_size (buf), start = offset;
  guint first, n;

  if (meta && gst_buffer_find_memory (buf, offset, 1, &first, &n, &start))
    size = gst_buffer_peek_memory (buf, first)->size;
  if (start <= size && (gint64) start + MIN (last, 0) >= 0 &&
      (gint64) start + MAX (last, 0) + extent.bytes <= (gint64) size &&
      is_stride (info, plane, stride, extent))
    return NULL;
  return g_strdup_printf ("plane %d, %" G_GINT64_FORMAT " rows of %"
      G_GINT64_FORMAT " bytes with a stride of %d from byte %" G_GSIZE_FORMAT
      " on, exceeds the buffer's memory of %" G_GSIZE_FORMAT " bytes", plane,
      extent.rows, extent.bytes, stride, start, size);
}

/* A meta may hold any number; GStreamer takes only its own formats' names. */
static const gchar *
get_format_name (GstVideoFormat format)
{
  GEnumClass *formats = g_type_class_ref (GST_TYPE_VIDEO_FORMAT);
  const gboolean known = g_enum_get_value (formats, format) != NULL;

  g_type_class_unref (formats);
  return known ? gst_video_format_to_string (format) : "an unknown format";
}

gchar *
gst_sam_frame_check (const GstVideoInfo * info, GstBuffer * buf)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buf);
  gchar *why = NULL;
  gint i;

  if (meta && (meta->format != GST_VIDEO_INFO_FORMAT (info) ||
          meta->width < (guint) GST_VIDEO_INFO_WIDTH (info) ||
          meta->height < (guint) GST_VIDEO_INFO_HEIGHT (info) ||
          meta->n_planes != GST_VIDEO_INFO_N_PLANES (info)))
    return g_strdup_printf ("its GstVideoMeta says %s of %u x %u pixels in %u "
        "planes, its caps say %s of %d x %d pixels",
        get_format_name (meta->format), meta->width, meta->height,
        meta->n_planes, gst_video_format_to_string (GST_VIDEO_INFO_FORMAT
            (info)), GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
  for (i = 0; i < (gint) GST_VIDEO_INFO_N_PLANES (info) && !why; i++)
    why = check_plane (info, buf, i);
  return why;
}

gboolean
gst_sam_frame_map (GstVideoFrame * frame, const GstVideoInfo * info,
    GstBuffer * buf, GstMapFlags flags, gchar ** why)
{
  *why = gst_sam_frame_check (info, buf);
  if (*why)
    return FALSE;
  if (!gst_video_frame_map (frame, info, buf, flags)) {
    *why = g_strdup ("its memory cannot be mapped");
    return FALSE;
  }
  /* A GstVideoMeta may have room around the frame. */
  frame->info.width = info->width;
  frame->info.height = info->height;
  return TRUE;
}
