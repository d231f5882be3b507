/* SPDX-License-Identifier: MIT */
/* libgstcuda of GStreamer 1.22 and later, opened at run time. The headers are
 * used only for what all of its versions have in common; symbols that are new
 * in 1.24 are looked up. */

#include "gstsamcuda.h"

#include <gmodule.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>

#define LIBRARY "libgstcuda-1.0.so.0"

/* gstcudautils.h would need OpenGL's headers. */
typedef gboolean (*EnsureContext) (GstElement *, gint, GstCudaContext **);
typedef gboolean (*SetContext) (GstElement *, GstContext *, gint,
    GstCudaContext **);
typedef gboolean (*ContextQuery) (GstElement *, GstQuery *, GstCudaContext *);
typedef void (*MemorySync) (GstCudaMemory *);

typedef struct
{
  __typeof__ (&gst_cuda_load_library) load_library;
  __typeof__ (&gst_cuda_memory_init_once) memory_init_once;
  __typeof__ (&gst_cuda_context_get_handle) context_get_handle;
  __typeof__ (&gst_is_cuda_memory) is_cuda_memory;
  __typeof__ (&gst_cuda_buffer_pool_new) buffer_pool_new;
  EnsureContext ensure_element_context;
  SetContext handle_set_context;
  ContextQuery handle_context_query;
  MemorySync memory_sync;       /* NULL before 1.24 */
} Library;

static gboolean
find (GModule * module, const gchar * name, gpointer * symbol)
{
  if (g_module_symbol (module, name, symbol))
    return TRUE;
  *symbol = NULL;
  return FALSE;
}

static Library *
open_library (void)
{
  GModule *module = g_module_open (LIBRARY, G_MODULE_BIND_LAZY);
  Library *lib;

  if (!module) {
    GST_INFO ("memory:CUDAMemory is not available: %s", g_module_error ());
    return NULL;
  }
  lib = g_new0 (Library, 1);
  find (module, "gst_cuda_memory_sync", (gpointer *) & lib->memory_sync);
  if (find (module, "gst_cuda_load_library", (gpointer *) & lib->load_library)
      && find (module, "gst_cuda_memory_init_once",
          (gpointer *) & lib->memory_init_once)
      && find (module, "gst_cuda_context_get_handle",
          (gpointer *) & lib->context_get_handle)
      && find (module, "gst_is_cuda_memory",
          (gpointer *) & lib->is_cuda_memory)
      && find (module, "gst_cuda_buffer_pool_new",
          (gpointer *) & lib->buffer_pool_new)
      && find (module, "gst_cuda_ensure_element_context",
          (gpointer *) & lib->ensure_element_context)
      && find (module, "gst_cuda_handle_set_context",
          (gpointer *) & lib->handle_set_context)
      && find (module, "gst_cuda_handle_context_query",
          (gpointer *) & lib->handle_context_query)) {
    g_module_make_resident (module);    /* it has types by then */
    return lib;
  }
  GST_WARNING ("memory:CUDAMemory is not available: %s lacks the symbols %s",
      LIBRARY, g_module_error ());
  g_free (lib);
  g_module_close (module);
  return NULL;
}

static gpointer
open_once (gpointer unused)
{
  return open_library ();
}

static const Library *
get_library (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, open_once, NULL);
}

const gchar *
gst_sam_cuda_get_formats (void)
{
  return "{ NV12, P010_10LE, I420, RGBA, BGRA, RGBx, BGRx }";
}

gboolean
gst_sam_cuda_ensure_context (GstElement * element, gint device_id,
    GstObject ** context)
{
  const Library *lib = get_library ();

  if (!lib || !lib->load_library ())
    return FALSE;
  lib->memory_init_once ();
  return lib->ensure_element_context (element, device_id,
      (GstCudaContext **) context);
}

GstObject *
gst_sam_cuda_find_context (GstElement * element, GstContext * context,
    gint device_id)
{
  const Library *lib = get_library ();
  GstCudaContext *found = NULL;

  if (lib)
    lib->handle_set_context (element, context, device_id, &found);
  return (GstObject *) found;
}

gboolean
gst_sam_cuda_answer (GstElement * element, GstQuery * query,
    GstObject * context)
{
  return context && get_library ()->handle_context_query (element, query,
      (GstCudaContext *) context);
}

gpointer
gst_sam_cuda_get_handle (GstObject * context)
{
  return get_library ()->context_get_handle ((GstCudaContext *) context);
}

void
gst_sam_cuda_propose (GstQuery * query, GstObject * context)
{
  GstBufferPool *pool = NULL;
  GstStructure *config;
  GstVideoInfo info;
  GstCaps *caps;
  gboolean need_pool;
  guint size;

  gst_query_parse_allocation (query, &caps, &need_pool);
  if (!context || !caps || gst_query_get_n_allocation_pools (query) ||
      !gst_caps_features_contains (gst_caps_get_features (caps, 0),
          GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY) ||
      !gst_video_info_from_caps (&info, caps))
    return;
  size = GST_VIDEO_INFO_SIZE (&info);
  if (need_pool) {
    pool = get_library ()->buffer_pool_new ((GstCudaContext *) context);
    config = gst_buffer_pool_get_config (pool);
    gst_buffer_pool_config_add_option (config,
        GST_BUFFER_POOL_OPTION_VIDEO_META);
    gst_buffer_pool_config_set_params (config, caps, size, 0, 0);
    if (!gst_buffer_pool_set_config (pool, config)) {
      gst_object_unref (pool);
      return;
    }
    /* rows are longer on the device */
    config = gst_buffer_pool_get_config (pool);
    gst_buffer_pool_config_get_params (config, NULL, &size, NULL, NULL);
    gst_structure_free (config);
  }
  gst_query_add_allocation_pool (query, pool, size, 0, 0);
  gst_clear_object (&pool);
}

/* libgstcuda has no GRAY8 and pads rows, so the pool's buffers are one row of
 * RGBA. The library copies whole pixels of that row to the host, so sizes that
 * are not a multiple of 4 are rejected. */
GstBufferPool *
gst_sam_cuda_pool_new (GstObject * context, gsize size)
{
  GstBufferPool *pool;
  GstStructure *config;
  GstCaps *caps;

  if (size % 4)
    return NULL;
  caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, "RGBA",
      "width", G_TYPE_INT, (gint) (size / 4), "height", G_TYPE_INT, 1, NULL);
  gst_caps_set_features_simple (caps,
      gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, NULL));
  pool = get_library ()->buffer_pool_new ((GstCudaContext *) context);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, 2, 0);
  gst_caps_unref (caps);
  if (gst_buffer_pool_set_config (pool, config))
    return pool;
  gst_object_unref (pool);
  return NULL;
}

gboolean
gst_sam_cuda_is_memory (GstBuffer * buf)
{
  const Library *lib = get_library ();

  return lib && gst_buffer_n_memory (buf) == 1 &&
      lib->is_cuda_memory (gst_buffer_peek_memory (buf, 0));
}

GstObject *
gst_sam_cuda_get_context (GstBuffer * buf)
{
  GstCudaMemory *mem = GST_CUDA_MEMORY_CAST (gst_buffer_peek_memory (buf, 0));

  return gst_object_ref (GST_OBJECT_CAST (mem->context));
}

static guint
get_device_id (GstCudaContext * context)
{
  guint id = 0;

  g_object_get (context, "cuda-device-id", &id, NULL);
  return id;
}

GstMapFlags
gst_sam_cuda_prepare (GstBuffer * buf, GstObject * context, gchar ** why)
{
  const Library *lib = get_library ();
  GstCudaMemory *mem = GST_CUDA_MEMORY_CAST (gst_buffer_peek_memory (buf, 0));
  GstCudaContext *own = (GstCudaContext *) context;

  if (lib->context_get_handle (mem->context) != lib->context_get_handle (own)) {
    *why = g_strdup_printf ("The frame is in a CUDA context of device %u, the "
        "model in another one of device %u: all elements must share one "
        "context.", get_device_id (mem->context), get_device_id (own));
    return 0;
  }
  return GST_MAP_CUDA;
}

/* Before 1.24 an element waits until its frame is written before it pushes it,
 * and mapping waits for the upload of what the host wrote. Since then either
 * may be under way in the stream of the memory, and mapping begins the latter:
 * so the reader must wait, and after mapping. Elements downstream need not
 * wait for this one: the engine has finished with a frame when the step
 * returns. */
void
gst_sam_cuda_sync (GstBuffer * buf)
{
  const Library *lib = get_library ();

  if (lib->memory_sync)
    lib->memory_sync (GST_CUDA_MEMORY_CAST (gst_buffer_peek_memory (buf, 0)));
}
