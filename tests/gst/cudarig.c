/* SPDX-License-Identifier: MIT */
#include "cudarig.h"

#include "cudacheck.h"

#include "common/gstsamcuda.h"

#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudamemory.h>

#include <string.h>

void
cuda_rig_open (CudaRig * rig, GstVideoFormat format, gint width, gint height,
    guint32 seed)
{
  GstCaps *caps;

  memset (rig, 0, sizeof *rig);
  rig->rand = g_rand_new_with_seed (seed);
  rig->context = gst_cuda_context_new (0);
  rig->report = g_new0 (GstSamReport, 1);
  gst_video_info_set_format (&rig->info, format, width, height);
  rig->info.fps_n = 30;
  rig->info.fps_d = 1;
  rig->host = gst_harness_new ("samoverlay");
  rig->device = gst_harness_new ("samoverlay");
  caps = gst_video_info_to_caps (&rig->info);
  gst_harness_set_src_caps (rig->host, gst_caps_copy (caps));
  gst_caps_set_features_simple (caps,
      gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, NULL));
  gst_harness_set_src_caps (rig->device, caps);
}

void
cuda_rig_close (CudaRig * rig)
{
  gst_harness_teardown (rig->host);
  gst_harness_teardown (rig->device);
  gst_object_unref (rig->context);
  g_rand_free (rig->rand);
  g_free (rig->report);
}

void
cuda_rig_draw_objects (CudaRig * rig, guint objects)
{
  GstSamReport *report = rig->report;
  const gint w = rig->info.width, h = rig->info.height;
  guint i;

  memset (report, 0, sizeof *report);
  report->width = w;
  report->height = h;
  report->state = g_rand_boolean (rig->rand) ? GST_SAM_REPORT_OK :
      GST_SAM_REPORT_STALE;
  report->num_objects = objects;
  for (i = 0; i < objects; i++) {
    GstSamObject *object = &report->object[i];

    object->id = g_rand_boolean (rig->rand) ? i + 1 : G_MAXUINT64 - i;
    object->slot = i + 1;
    object->x = g_rand_int_range (rig->rand, 0, w);
    object->y = g_rand_int_range (rig->rand, 0, h);
    object->w = g_rand_int_range (rig->rand, 0, w - object->x + 1);
    object->h = g_rand_int_range (rig->rand, 0, h - object->y + 1);
    object->iou = g_rand_double (rig->rand);
  }
}

GstBuffer *
cuda_rig_draw_mask (CudaRig * rig, gint width, gint height)
{
  GstBuffer *mask = gst_buffer_new_and_alloc (width * height);
  GstMapInfo map;
  guint i;
  gint y;

  rig->report->mask_width = width;
  rig->report->mask_height = height;
  gst_buffer_map (mask, &map, GST_MAP_WRITE);
  memset (map.data, 0, map.size);
  for (i = 0; i < MIN (rig->report->num_objects, 40); i++) {
    const gint x = g_rand_int_range (rig->rand, 0, width);
    const gint w = g_rand_int_range (rig->rand, 1, width - x + 1);

    for (y = g_rand_int_range (rig->rand, 0, height); y < height; y++) {
      memset (map.data + y * width + x, i + 1, w);
      if (!g_rand_int_range (rig->rand, 0, height / 2 + 1))
        break;
    }
  }
  gst_buffer_unmap (mask, &map);
  return mask;
}

/* Written on the device: what the host has is old. */
static void
settle (GstBuffer * buf)
{
  GstMapInfo map;

  fail_unless (gst_buffer_map (buf, &map, GST_MAP_READWRITE | GST_MAP_CUDA));
  gst_buffer_unmap (buf, &map);
}

GstBuffer *
cuda_rig_mask_to_device (CudaRig * rig, GstBuffer * mask)
{
  GstBufferPool *pool = gst_sam_cuda_pool_new (GST_OBJECT (rig->context),
      gst_buffer_get_size (mask));
  GstBuffer *copy = NULL;
  GstMapInfo in, out;

  if (!pool)
    return gst_buffer_ref (mask);
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  fail_unless (gst_buffer_pool_acquire_buffer (pool, &copy, NULL) ==
      GST_FLOW_OK);
  gst_buffer_map (mask, &in, GST_MAP_READ);
  gst_buffer_map (copy, &out, GST_MAP_WRITE);
  memcpy (out.data, in.data, in.size);
  gst_buffer_unmap (copy, &out);
  gst_buffer_unmap (mask, &in);
  settle (copy);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  return copy;
}

GstBuffer *
cuda_rig_draw_frame (CudaRig * rig)
{
  GstBuffer *buf = gst_buffer_new_and_alloc (rig->info.size);
  GstMapInfo map;
  gsize i;

  gst_buffer_map (buf, &map, GST_MAP_WRITE);
  for (i = 0; i < map.size; i++) {
    map.data[i] = g_rand_int (rig->rand);
    if (GST_VIDEO_INFO_FORMAT (&rig->info) == GST_VIDEO_FORMAT_P010_10LE &&
        i % 2 == 0)
      map.data[i] &= 0xc0;
    if (GST_VIDEO_INFO_HAS_ALPHA (&rig->info) && i % 4 == 3 && i / 512 % 2)
      map.data[i] = 255;
  }
  gst_buffer_unmap (buf, &map);
  GST_BUFFER_PTS (buf) = 0;
  return buf;
}

GstBuffer *
cuda_rig_frame_to_device (CudaRig * rig, GstBuffer * from)
{
  GstBuffer *buf = sam_frame_to_device (rig->device, rig->context, &rig->info,
      from);

  settle (buf);
  GST_BUFFER_PTS (buf) = 0;
  return buf;
}

guint
cuda_rig_count_differences (CudaRig * rig, GstBuffer * a, GstBuffer * b)
{
  GstVideoFrame p, q;
  guint i, differences = 0;
  gint y;

  fail_unless (gst_video_frame_map (&p, &rig->info, a, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&q, &rig->info, b, GST_MAP_READ));
  for (i = 0; i < GST_VIDEO_FRAME_N_PLANES (&p); i++) {
    for (y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (&p, i); y++)
      differences += memcmp ((guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&p, i) +
          y * GST_VIDEO_FRAME_PLANE_STRIDE (&p, i),
          (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&q, i) +
          y * GST_VIDEO_FRAME_PLANE_STRIDE (&q, i),
          GST_VIDEO_FRAME_COMP_WIDTH (&p, i) *
          GST_VIDEO_FRAME_COMP_PSTRIDE (&p, i)) != 0;
  }
  gst_video_frame_unmap (&p);
  gst_video_frame_unmap (&q);
  return differences;
}
