/* SPDX-License-Identifier: MIT */
/* Masks, outlines, boxes and labels in system memory: painted over the frame,
 * or, if the engine does not know its format, into a layer that is then blended
 * over it. */

#include "gstsampaint.h"

#include "gstsamblend.h"
#include "common/gstsamframe.h"

#include <string.h>

/* Whether the engine paints on frames of this format and layout. It takes
 * neither rows from the bottom up nor a single row with a shorter stride. */
static gboolean
is_direct (const GstVideoFrame * frame)
{
  const GstVideoInfo *info = &frame->info;
  guint i;

  if (!gst_sam_frame_has_engine_format (info))
    return FALSE;
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    const gint stride = GST_VIDEO_INFO_PLANE_STRIDE (info, i);

    if (stride < gst_sam_frame_get_extent (info, i, stride).bytes)
      return FALSE;
  }
  return TRUE;
}

static gboolean
prepare_layer (GstSamPaint * paint, gint width, gint height)
{
  if (paint->pixels && paint->width == width && paint->height == height)
    return TRUE;
  g_free (paint->pixels);
  paint->pixels = g_try_malloc0_n ((gsize) width * height,
      sizeof *paint->pixels);
  paint->width = width;
  paint->height = height;
  return paint->pixels != NULL;
}

static gboolean
prepare_scratch (GstSamPaint * paint, gsize bytes)
{
  if (bytes <= paint->scratch_bytes)
    return TRUE;
  g_free (paint->scratch);
  paint->scratch = g_try_malloc (bytes);
  paint->scratch_bytes = paint->scratch ? bytes : 0;
  return paint->scratch != NULL;
}

gboolean
gst_sam_paint_prepare_layer (GstSamPaint * paint, const GstVideoFrame * frame)
{
  return prepare_layer (paint, GST_VIDEO_FRAME_WIDTH (frame),
      GST_VIDEO_FRAME_HEIGHT (frame)) &&
      prepare_scratch (paint, gst_sam_blend_get_scratch (frame));
}

gboolean
gst_sam_paint_prepare (GstSamPaint * paint, const GstVideoFrame * frame)
{
  return gst_sam_painter_open (&paint->painter) && (is_direct (frame) ||
      gst_sam_paint_prepare_layer (paint, frame));
}

void
gst_sam_paint_clear (GstSamPaint * paint)
{
  gst_sam_painter_close (&paint->painter);
  g_clear_pointer (&paint->scratch, g_free);
  paint->scratch_bytes = 0;
  g_clear_pointer (&paint->pixels, g_free);
}

gboolean
gst_sam_paint_open_layer (GstSamPaint * paint, gint width, gint height)
{
  return gst_sam_painter_open (&paint->painter) &&
      prepare_layer (paint, width, height);
}

gboolean
gst_sam_paint_draw_layer (GstSamPaint * paint, GstSamDrawing * drawing,
    gchar ** why)
{
  const struct sam_overlay *overlay = &drawing->overlay;
  const gint has_alpha = overlay->has_alpha;
  struct sam_frame view = SAM_FRAME_INIT;
  gboolean ok;

  view.format = SAM_PIXEL_BGRA;
  view.width = paint->width;
  view.height = paint->height;
  view.plane[0] = (guint8 *) paint->pixels;
  view.stride[0] = paint->width * sizeof *paint->pixels;
  drawing->overlay.has_alpha = TRUE;
  ok = gst_sam_painter_draw (&paint->painter, drawing, &view, why);
  drawing->overlay.has_alpha = has_alpha;
  return ok;
}

gboolean
gst_sam_paint_takes_parts (const GstSamDrawing * drawing)
{
  return !drawing->has_labels ||
      (drawing->report->mask_width == drawing->width &&
      drawing->report->mask_height == drawing->height);
}

static void
move_patches (GstSamDrawing * drawing, gint x, gint y)
{
  gint i;

  for (i = 0; i < drawing->overlay.num_patches; i++) {
    drawing->patches[i].x += x;
    drawing->patches[i].y += y;
  }
}

/* The part is a frame of its own, and so is that of the label map. */
gboolean
gst_sam_paint_draw_part (GstSamPaint * paint, GstSamDrawing * drawing,
    GstSamRect part, guint32 * pixels, gchar ** why)
{
  struct sam_overlay *overlay = &drawing->overlay;
  const struct sam_overlay whole = *overlay;
  struct sam_frame view = SAM_FRAME_INIT;
  gboolean ok;

  view.format = SAM_PIXEL_BGRA;
  view.width = part.w;
  view.height = part.h;
  view.plane[0] = (guint8 *) pixels;
  view.stride[0] = part.w * sizeof *pixels;
  move_patches (drawing, -part.x, -part.y);
  overlay->x = overlay->y = 0;
  overlay->width = part.w;
  overlay->height = part.h;
  overlay->has_alpha = 2;       /* and the pixels count as clear */
  drawing->part = part;
  ok = gst_sam_painter_draw (&paint->painter, drawing, &view, why);
  drawing->part.w = 0;
  *overlay = whole;
  move_patches (drawing, part.x, part.y);
  return ok;
}

gboolean
gst_sam_paint_draw (GstSamPaint * paint, GstSamDrawing * drawing,
    GstVideoFrame * frame, gchar ** why)
{
  const struct sam_overlay *overlay = &drawing->overlay;
  struct sam_frame view;
  GstSamLayer layer;

  if (is_direct (frame)) {
    gst_sam_frame_describe (&view, frame);
    return gst_sam_painter_draw (&paint->painter, drawing, &view, why);
  }
  if (!gst_sam_paint_draw_layer (paint, drawing, why))
    return FALSE;
  layer.pixels = paint->pixels + (gsize) overlay->y * paint->width +
      overlay->x;
  layer.stride = paint->width;
  layer.yuv = drawing->yuv;
  layer.x = overlay->x;
  layer.y = overlay->y;
  layer.w = overlay->width;
  layer.h = overlay->height;
  if (gst_sam_blend (&layer, frame, paint->scratch))
    return TRUE;
  *why = g_strdup_printf ("GStreamer cannot blend on frames of format %s",
      gst_video_format_to_string (GST_VIDEO_FRAME_FORMAT (frame)));
  return FALSE;
}
