#ifndef __GST_SAM_CUDA_H__
#define __GST_SAM_CUDA_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/* All that the plugin knows of libgstcuda. The library is opened where it is
 * there and not linked, so that the plugin loads without it. A GstCudaContext
 * is a GstObject here; NULL stands for none. */

/* Formats with memory:CUDAMemory that the engine reads, NULL where this build
 * knows nothing of it. */
const gchar *gst_sam_cuda_get_formats (void);

/* A pad template for frames in system memory, of these formats, and, in those
 * above, in the GPU's. (gstsamcontext.c) */
void gst_sam_cuda_add_template (GstElementClass * klass, const gchar * name,
    GstPadDirection direction, const gchar * formats, const gchar * sizes);

/* A context for the element: of its neighbours, of the application, or a new
 * one, which is told to all. FALSE where there is no driver, or no device of
 * that id (-1: any). */
gboolean gst_sam_cuda_ensure_context (GstElement * element, gint device_id,
    GstObject ** context);

/* The CUDA context in a GstContext, if it is of that device. */
GstObject *gst_sam_cuda_find_context (GstElement * element,
    GstContext * context, gint device_id);
gboolean gst_sam_cuda_answer (GstElement * element, GstQuery * query,
    GstObject * context);

/* The CUcontext. */
gpointer gst_sam_cuda_get_handle (GstObject * context);

/* Offer a pool for caps with memory:CUDAMemory where downstream offers none. */
void gst_sam_cuda_propose (GstQuery * query, GstObject * context);

/* A pool of buffers of that many bytes in one piece of the context's memory,
 * or some more, with a GstVideoMeta that says something else. NULL: none. */
GstBufferPool *gst_sam_cuda_pool_new (GstObject * context, gsize size);

gboolean gst_sam_cuda_is_memory (GstBuffer * buf);

/* The context that such a buffer is of, to be unreferenced. */
GstObject *gst_sam_cuda_get_context (GstBuffer * buf);

/* Make such a buffer fit to be used by kernels in the context; returns flags to
 * map it with. 0: it belongs to another one, *why gets a sentence. */
GstMapFlags gst_sam_cuda_prepare (GstBuffer * buf, GstObject * context,
    gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_CUDA_H__ */
