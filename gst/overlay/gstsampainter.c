/* SPDX-License-Identifier: MIT */
/* Masks, outlines, boxes and labels: the engine paints them, in system memory
 * or in that of a GPU. What crosses the bus there are rectangles, and the label
 * map if that is in system memory. */

#include "gstsampainter.h"

#include "common/gstsamcuda.h"
#include "common/gstsamcut.h"
#include "common/gstsamframe.h"

#include <string.h>

/* With what it keeps. */
static void
drop (GstSamPainter * self)
{
  sam_painter_close (&self->painter);
  memset (self->has, 0, sizeof self->has);
}

void
gst_sam_painter_close (GstSamPainter * self)
{
  drop (self);
  gst_clear_object (&self->context);
}

gboolean
gst_sam_painter_open_on_gpu (GstSamPainter * self, GstBuffer * buf,
    const GstVideoInfo * info, gchar ** why)
{
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error;
  GstObject *context;

  /* GstVideo takes fields apart */
  if (!gst_sam_cuda_is_memory (buf) || GST_VIDEO_INFO_IS_INTERLACED (info))
    return FALSE;
  context = gst_sam_cuda_get_context (buf);
  if (self->context && gst_sam_cuda_get_handle (self->context) ==
      gst_sam_cuda_get_handle (context)) {
    gst_object_unref (context);
    return self->painter != NULL;
  }
  gst_sam_painter_close (self);
  self->context = context;
  params.backend = SAM_BACKEND_CUDA;
  params.cuda_context = gst_sam_cuda_get_handle (context);
  if (sam_painter_open (&self->painter, &params, &error) != SAM_OK)
    *why = g_strdup (error.text);
  return self->painter != NULL;
}

gboolean
gst_sam_painter_open (GstSamPainter * self)
{
  struct sam_params params = SAM_PARAMS_INIT;

  if (self->painter)
    return TRUE;
  params.backend = SAM_BACKEND_CPU;
  /* A frame takes less than waking another thread is worth. */
  params.threads = 1;
  return sam_painter_open (&self->painter, &params, NULL) == SAM_OK;
}

/* Wherever the label map is. */
static gboolean
map_labels (GstSamPainter * self, GstSamDrawing * drawing, GstMapInfo * map)
{
  const GstSamReport *report = drawing->report;
  const GstSamRect *part = &drawing->part;
  struct sam_labels *labels = &drawing->overlay.labels;
  GstMapFlags flags = 0;
  gchar *why = NULL;

  labels->data = NULL;
  if (!drawing->has_labels)
    return FALSE;
  /* of another context it is read in system memory */
  if (self->context && gst_sam_cuda_is_memory (report->mask))
    flags = gst_sam_cuda_prepare (report->mask, self->context, &why);
  g_free (why);
  if (!gst_buffer_map (report->mask, map, flags | GST_MAP_READ))
    return FALSE;
  if (flags)
    gst_sam_cuda_sync (report->mask);
  if (MAX (report->mask_width, report->mask_height) > SAM_MAX_SIDE ||
      map->size < (gsize) report->mask_width * report->mask_height)
    return TRUE;
  labels->data = map->data;
  labels->width = labels->stride = report->mask_width;
  labels->height = report->mask_height;
  labels->on_device = flags != 0;
  if (part->w) {
    labels->data += (gsize) part->y * labels->stride + part->x;
    labels->width = part->w;
    labels->height = part->h;
  }
  return TRUE;
}

gboolean
gst_sam_painter_draw (GstSamPainter * self, GstSamDrawing * drawing,
    const struct sam_frame *frame, gchar ** why)
{
  struct sam_error error;
  GstMapInfo map;
  const gboolean mapped = map_labels (self, drawing, &map);
  const int status = sam_painter_draw (self->painter, frame,
      &drawing->overlay, &error);

  if (mapped)
    gst_buffer_unmap (drawing->report->mask, &map);
  drawing->overlay.labels.data = NULL;
  if (status != SAM_OK)
    *why = g_strdup (error.text);
  return status == SAM_OK;
}

/* A frame while it is mapped on the GPU. */
typedef struct
{
  GstVideoFrame frame;
  struct sam_frame view;
  struct sam_error error;       /* of what is done with it */
} OnGpu;

static gboolean
map_on_gpu (GstSamPainter * self, GstBuffer * buf, const GstVideoInfo * info,
    GstMapFlags access, OnGpu * on, gchar ** why)
{
  const GstMapFlags flags = gst_sam_cuda_prepare (buf, self->context, why);

  if (!flags || !gst_sam_frame_map (&on->frame, info, buf,
          flags | access, why))
    return FALSE;
  gst_sam_cuda_sync (buf);
  gst_sam_frame_describe (&on->view, &on->frame);
  on->view.on_device = TRUE;
  return TRUE;
}

gboolean
gst_sam_painter_draw_on_gpu (GstSamPainter * self, GstSamDrawing * drawing,
    GstBuffer * buf, const GstVideoInfo * info, gchar ** why)
{
  gboolean ok;
  OnGpu on;

  if (!self->painter)           /* it failed at the meta before */
    return FALSE;
  if (!map_on_gpu (self, buf, info, GST_MAP_READWRITE, &on, why))
    return FALSE;
  ok = gst_sam_painter_draw (self, drawing, &on.view, why);
  gst_video_frame_unmap (&on.frame);
  if (!ok)
    drop (self);
  return ok;
}

/* What failed on the GPU ends its painter. */
static gboolean
end (GstSamPainter * self, int status, const struct sam_error *error,
    gchar ** why)
{
  if (status == SAM_OK)
    return TRUE;
  *why = g_strdup (error->text);
  drop (self);
  return FALSE;
}

static gboolean
unmap (GstSamPainter * self, OnGpu * on, int status, gchar ** why)
{
  gst_video_frame_unmap (&on->frame);
  return end (self, status, &on->error, why);
}

gboolean
gst_sam_painter_cover_on_gpu (GstSamPainter * self,
    const struct sam_cover *cover, GstBuffer * buf, const GstVideoInfo * info,
    gchar ** why)
{
  OnGpu on;

  return map_on_gpu (self, buf, info, GST_MAP_READWRITE, &on, why) &&
      unmap (self, &on, sam_painter_cover (self->painter, &on.view, cover,
          &on.error), why);
}

gboolean
gst_sam_painter_show_on_gpu (GstSamPainter * self, GstSamKept kept,
    const struct sam_cover *cover, GstBuffer * buf, const GstVideoInfo * info,
    gchar ** why)
{
  OnGpu on;

  return map_on_gpu (self, buf, info, GST_MAP_READWRITE, &on, why) &&
      unmap (self, &on, sam_painter_show (self->painter, kept + 1, &on.view,
          cover, &on.error), why);
}

gboolean
gst_sam_painter_clear_on_gpu (GstSamPainter * self,
    const struct sam_cover *cover, GstBuffer * buf, const GstVideoInfo * info,
    gchar ** why)
{
  OnGpu on;

  return map_on_gpu (self, buf, info, GST_MAP_READWRITE, &on, why) &&
      unmap (self, &on, sam_painter_clear (self->painter, &on.view, cover,
          &on.error), why);
}

static gboolean
keep (GstSamPainter * self, GstSamKept kept, const struct sam_frame *view,
    gchar ** why)
{
  struct sam_error error;
  const int status = sam_painter_keep (self->painter, kept + 1, view, &error);

  self->has[kept] = status == SAM_OK;
  return end (self, status, &error, why);
}

gboolean
gst_sam_painter_keep_on_gpu (GstSamPainter * self, GstSamKept kept,
    GstBuffer * buf, const GstVideoInfo * info, gchar ** why)
{
  gboolean ok;
  OnGpu on;

  if (!map_on_gpu (self, buf, info, GST_MAP_READ, &on, why))
    return FALSE;
  ok = keep (self, kept, &on.view, why);
  gst_video_frame_unmap (&on.frame);
  return ok;
}

gboolean
gst_sam_painter_keep_mapped (GstSamPainter * self, GstSamKept kept,
    const GstVideoFrame * frame, gchar ** why)
{
  struct sam_frame view;

  gst_sam_frame_describe (&view, frame);
  return keep (self, kept, &view, why);
}

gboolean
gst_sam_painter_look_on_gpu (GstSamPainter * self, guint8 * sample,
    GstBuffer * buf, const GstVideoInfo * info, gchar ** why)
{
  OnGpu on;

  return map_on_gpu (self, buf, info, GST_MAP_READ, &on, why) &&
      unmap (self, &on, sam_painter_look (self->painter, &on.view,
          GST_SAM_CUT_COLUMNS, GST_SAM_CUT_ROWS, sample, &on.error), why);
}
