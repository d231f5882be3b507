/* Draws masks, outlines, boxes and labels in GPU memory with the engine's
 * painter. Only rectangles are uploaded, and the label map if it is in system
 * memory. */

#include "gstsamgpupaint.h"

#include "gstsamcuda.h"
#include "gstsamframe.h"

void
gst_sam_gpu_paint_clear (GstSamGpuPaint * gpu)
{
  sam_painter_close (&gpu->painter);
  gst_clear_object (&gpu->context);
}

gboolean
gst_sam_gpu_paint_open (GstSamGpuPaint * gpu, GstBuffer * buf,
    const GstVideoInfo * info, gchar ** why)
{
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error;
  GstObject *context;

  /* GstVideo takes fields apart */
  if (!gst_sam_cuda_is_memory (buf) || GST_VIDEO_INFO_IS_INTERLACED (info))
    return FALSE;
  context = gst_sam_cuda_get_context (buf);
  if (gpu->context && gst_sam_cuda_get_handle (gpu->context) ==
      gst_sam_cuda_get_handle (context)) {
    gst_object_unref (context);
    return gpu->painter != NULL;
  }
  gst_sam_gpu_paint_clear (gpu);
  gpu->context = context;
  params.backend = SAM_BACKEND_CUDA;
  params.cuda_context = gst_sam_cuda_get_handle (context);
  if (sam_painter_open (&gpu->painter, &params, &error) != SAM_OK)
    *why = g_strdup (error.text);
  return gpu->painter != NULL;
}

/* Wherever the label map is. */
static gboolean
map_labels (GstSamGpuPaint * gpu, GstSamDrawing * drawing, GstMapInfo * map)
{
  const GstSamReport *report = drawing->report;
  struct sam_labels *labels = &drawing->overlay.labels;
  GstMapFlags flags = 0;
  gchar *why = NULL;

  labels->data = NULL;
  if (!drawing->has_labels)
    return FALSE;
  /* of another context it is read in system memory */
  if (gst_sam_cuda_is_memory (report->mask))
    flags = gst_sam_cuda_prepare (report->mask, gpu->context, &why);
  g_free (why);
  if (!gst_buffer_map (report->mask, map, flags | GST_MAP_READ))
    return FALSE;
  if (map->size < (gsize) report->mask_width * report->mask_height)
    return TRUE;
  labels->data = map->data;
  labels->width = labels->stride = report->mask_width;
  labels->height = report->mask_height;
  labels->on_device = flags != 0;
  return TRUE;
}

static int
draw (GstSamGpuPaint * gpu, GstSamDrawing * drawing, GstVideoFrame * frame,
    struct sam_error *error)
{
  struct sam_frame view;
  GstMapInfo map;
  const gboolean mapped = map_labels (gpu, drawing, &map);
  int status;

  gst_sam_frame_describe (&view, frame);
  view.on_device = TRUE;
  status = sam_painter_draw (gpu->painter, &view, &drawing->overlay, error);
  if (mapped)
    gst_buffer_unmap (drawing->report->mask, &map);
  drawing->overlay.labels.data = NULL;
  return status;
}

gboolean
gst_sam_gpu_paint_draw (GstSamGpuPaint * gpu, GstSamDrawing * drawing,
    GstBuffer * buf, const GstVideoInfo * info, gchar ** why)
{
  struct sam_error error;
  GstVideoFrame frame;
  GstMapFlags flags;
  int status;

  if (!gpu->painter)            /* it failed at the meta before */
    return FALSE;
  flags = gst_sam_cuda_prepare (buf, gpu->context, why);
  if (!flags || !gst_sam_frame_map (&frame, info, buf,
          flags | GST_MAP_READWRITE, why))
    return FALSE;
  status = draw (gpu, drawing, &frame, &error);
  gst_video_frame_unmap (&frame);
  if (status == SAM_OK)
    return TRUE;
  *why = g_strdup (error.text);
  sam_painter_close (&gpu->painter);
  return FALSE;
}
