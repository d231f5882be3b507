/* SPDX-License-Identifier: MIT */
/* Replaces gstsamcuda.c in builds without libgstcuda or without the CUDA
 * backend: frames in system memory only. */

#include "gstsamcuda.h"

const gchar *
gst_sam_cuda_get_formats (void)
{
  return NULL;
}

gboolean
gst_sam_cuda_ensure_context (GstElement * element, gint device_id,
    GstObject ** context)
{
  return FALSE;
}

GstObject *
gst_sam_cuda_find_context (GstElement * element, GstContext * context,
    gint device_id)
{
  return NULL;
}

gboolean
gst_sam_cuda_answer (GstElement * element, GstQuery * query,
    GstObject * context)
{
  return FALSE;
}

gpointer
gst_sam_cuda_get_handle (GstObject * context)
{
  return NULL;
}

void
gst_sam_cuda_propose (GstQuery * query, GstObject * context)
{
}

GstBufferPool *
gst_sam_cuda_pool_new (GstObject * context, gsize size)
{
  return NULL;
}

gboolean
gst_sam_cuda_is_memory (GstBuffer * buf)
{
  return FALSE;
}

GstObject *
gst_sam_cuda_get_context (GstBuffer * buf)
{
  return NULL;
}

void
gst_sam_cuda_sync (GstBuffer * buf)
{
}

GstMapFlags
gst_sam_cuda_prepare (GstBuffer * buf, GstObject * context, gchar ** why)
{
  *why = g_strdup ("This build does not support memory:CUDAMemory.");
  return 0;
}
