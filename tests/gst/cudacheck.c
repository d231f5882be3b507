/* SPDX-License-Identifier: MIT */
#include "cudacheck.h"

#include <gst/check/gstcheck.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>

void
sam_cuda_load (void)
{
  fail_unless (gst_cuda_load_library ());
  gst_cuda_memory_init_once ();
}

void
sam_let_live (const gchar * element)
{
  GstElementFactory *factory = gst_element_factory_find (element);

  GST_OBJECT_FLAG_SET (factory, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  gst_object_unref (factory);
}

GstBuffer *
sam_frame_to_device (GstHarness * h, GstCudaContext * context,
    const GstVideoInfo * info, GstBuffer * from)
{
  GstBufferPool *pool = gst_cuda_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstCaps *caps = gst_pad_get_current_caps (h->srcpad);
  GstVideoFrame in, out;
  GstBuffer *buf;

  gst_buffer_pool_config_set_params (config, caps, info->size, 1, 0);
  gst_caps_unref (caps);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  fail_unless (gst_buffer_pool_acquire_buffer (pool, &buf, NULL) ==
      GST_FLOW_OK);
  fail_unless (gst_video_frame_map (&in, info, from, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&out, info, buf, GST_MAP_WRITE));
  fail_unless (gst_video_frame_copy (&out, &in));
  gst_video_frame_unmap (&out);
  gst_video_frame_unmap (&in);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  return buf;
}
