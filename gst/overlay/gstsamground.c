/* SPDX-License-Identifier: MIT */
#include "gstsamground.h"

#include <samtrack/samtrack.h>
#include <string.h>

static void
drop_frame (GstSamGround * self)
{
  if (self->is_mapped)
    gst_video_frame_unmap (&self->frame);
  self->is_mapped = self->is_filled = FALSE;
}

void
gst_sam_ground_clear (GstSamGround * self)
{
  drop_frame (self);
  gst_clear_buffer (&self->picture);
}

gboolean
gst_sam_ground_load (GstSamGround * self, const gchar * location, gchar ** why)
{
  guint width, height;
  guint8 *pixels;

  gst_sam_ground_clear (self);
  if (!gst_sam_picture_read (location, &width, &height, &pixels, why))
    return FALSE;
  gst_video_info_set_format (&self->info, GST_VIDEO_FORMAT_RGBA, width, height);
  self->picture = gst_buffer_new_wrapped (pixels, self->info.size);
  return TRUE;
}

/* The middle of the picture that has the shape of @info. */
static GstStructure *
get_options (const GstSamGround * self, const GstVideoInfo * info)
{
  const gint width = self->info.width, height = self->info.height;
  const guint64 wide = (guint64) info->width * info->par_n * height;
  const guint64 high = (guint64) info->height * info->par_d * width;
  gint w = width, h = height;

  if (wide < high)
    w = MAX (1, gst_util_uint64_scale_round (width, wide, high));
  else
    h = MAX (1, gst_util_uint64_scale_round (height, high, wide));
  return gst_structure_new ("options",
      GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, (width - w) / 2,
      GST_VIDEO_CONVERTER_OPT_SRC_Y, G_TYPE_INT, (height - h) / 2,
      GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, w,
      GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT, h, NULL);
}

/* Room behind the last row, where GstVideo writes groups of pixels. */
static GstBuffer *
new_frame (const GstVideoInfo * info)
{
  return gst_buffer_new_allocate (NULL, info->size + 4096, NULL);
}

gboolean
gst_sam_ground_fit (GstSamGround * self, const GstVideoInfo * info)
{
  GstVideoInfo to = *info;
  GstVideoConverter *converter;
  GstVideoFrame from;
  GstBuffer *buffer;

  if (self->is_mapped && gst_video_info_is_equal (&self->frame.info, info))
    return TRUE;
  drop_frame (self);
  if (!(buffer = new_frame (info)))
    return FALSE;
  /* the converter wants no other interlacing and no rates */
  to.interlace_mode = self->info.interlace_mode;
  to.fps_n = self->info.fps_n;
  to.fps_d = self->info.fps_d;
  converter = gst_video_converter_new (&self->info, &to,
      get_options (self, info));
  if (converter && gst_video_frame_map (&self->frame, info, buffer,
          GST_MAP_READWRITE)) {
    self->is_mapped = self->is_new = TRUE;
    if (gst_video_frame_map (&from, &self->info, self->picture, GST_MAP_READ)) {
      gst_video_converter_frame (converter, &from, &self->frame);
      gst_video_frame_unmap (&from);
    }
  }
  if (converter)
    gst_video_converter_free (converter);
  gst_buffer_unref (buffer);
  return self->is_mapped;
}

/* Numbers of more than 8 bits have them in their upper byte. */
static void
fill_component (GstVideoFrame * frame, guint i, guint8 value)
{
  const gint step = GST_VIDEO_FRAME_COMP_PSTRIDE (frame, i);
  const gint upper = GST_VIDEO_FRAME_COMP_DEPTH (frame, i) > 8;
  gint x, y;

  for (y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (frame, i); y++) {
    guint8 *row = (guint8 *) GST_VIDEO_FRAME_COMP_DATA (frame, i) +
        (gsize) y * GST_VIDEO_FRAME_COMP_STRIDE (frame, i);

    for (x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH (frame, i); x++)
      row[x * step + upper] = value;
  }
}

gboolean
gst_sam_ground_fill (GstSamGround * self, const GstVideoInfo * info,
    guint32 colour)
{
  GstBuffer *buffer;
  guint i;

  if (self->is_filled && self->colour == colour &&
      gst_video_info_is_equal (&self->frame.info, info))
    return TRUE;
  drop_frame (self);
  if (!(buffer = new_frame (info)))
    return FALSE;
  gst_buffer_memset (buffer, 0, 0, -1);
  self->is_mapped = gst_video_frame_map (&self->frame, info, buffer,
      GST_MAP_READWRITE);
  gst_buffer_unref (buffer);
  for (i = 0; i < MIN (3, GST_VIDEO_INFO_N_COMPONENTS (info)) &&
      self->is_mapped; i++)
    fill_component (&self->frame, i, colour >> (16 - 8 * i) & 255);
  self->is_filled = self->is_new = self->is_mapped;
  self->colour = colour;
  return self->is_filled;
}
