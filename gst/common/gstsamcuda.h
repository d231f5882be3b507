/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_CUDA_H__
#define __GST_SAM_CUDA_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/* All use of libgstcuda. The library is opened at run time and not linked, so
 * that the plugin loads without it. A GstCudaContext is a GstObject here; NULL
 * means no context. */

/* Formats with memory:CUDAMemory that the engine reads; NULL if this build does
 * not support it. */
const gchar *gst_sam_cuda_get_formats (void);

/* Get a context for the element from its neighbours or the application, or
 * create one and announce it to the pipeline. Returns FALSE if there is no
 * driver or no device with that id (-1: any). */
gboolean gst_sam_cuda_ensure_context (GstElement * element, gint device_id,
    GstObject ** context);

/* Returns the CUDA context in a GstContext if it has that device, or NULL. */
GstObject *gst_sam_cuda_find_context (GstElement * element,
    GstContext * context, gint device_id);
gboolean gst_sam_cuda_answer (GstElement * element, GstQuery * query,
    GstObject * context);

/* Returns the CUcontext. */
gpointer gst_sam_cuda_get_handle (GstObject * context);

/* Propose a pool for caps with memory:CUDAMemory if downstream has none. */
void gst_sam_cuda_propose (GstQuery * query, GstObject * context);

/* Create a pool of buffers with at least @size contiguous bytes in the
 * context. Ignore their GstVideoMeta. Returns NULL on failure. */
GstBufferPool *gst_sam_cuda_pool_new (GstObject * context, gsize size);

gboolean gst_sam_cuda_is_memory (GstBuffer * buf);

/* The context of such a buffer. (transfer full) */
GstObject *gst_sam_cuda_get_context (GstBuffer * buf);

/* Returns the flags to map such a buffer with, for kernels in the context, or 0
 * and sets *why if it belongs to another context. Once it is mapped,
 * gst_sam_cuda_sync() must be called. */
GstMapFlags gst_sam_cuda_prepare (GstBuffer * buf, GstObject * context,
    gchar ** why);

/* Wait until what was written to a buffer, which is mapped, is there. */
void gst_sam_cuda_sync (GstBuffer * buf);

G_END_DECLS

#endif /* __GST_SAM_CUDA_H__ */
