#include "gstsamimage.h"

#include <string.h>

static enum sam_pixel_format
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
    default:
      return SAM_PIXEL_RGB;
  }
}

void
gst_sam_image_describe (struct sam_frame *to, const GstVideoFrame * frame)
{
  const GstVideoInfo *info = &frame->info;
  gdouble kr = 0, kb = 0;
  guint i;

  memset (to, 0, sizeof *to);
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
