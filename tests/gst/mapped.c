/* SPDX-License-Identifier: MIT */
/* Frames in memory that is neither the system's nor CUDA's: masks and pixels
 * are those of the same frames in system memory, and one message a kind tells
 * what it costs. DMABuf lies in an anonymous file, of which the kernel cannot
 * synchronize anything; VA's driver is played here. */

#define _GNU_SOURCE             /* memfd_create() */

#include "samcheck.h"

#include <gst/allocators/gstdmabuf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHAIN "samtrack name=track initial-prompt=\"" SQUARE_BOX "\" ! " \
    "samoverlay name=overlay"

enum
{
  WIDTH = 64,
  HEIGHT = 48,
  FRAMES = 3,
};

/* ---- VA, as elements see it: mem_type, and memory to be mapped */

typedef struct
{
  GstMemory memory;
  guint8 *data;
} Surface;

typedef struct
{
  GstAllocator parent;
} PlayedVa;

typedef struct
{
  GstAllocatorClass parent;
} PlayedVaClass;

static gint num_mapped;

GType played_va_get_type (void);
G_DEFINE_TYPE (PlayedVa, played_va, GST_TYPE_ALLOCATOR);

static gpointer
map (GstMemory * memory, gsize size, GstMapFlags flags)
{
  num_mapped++;
  return ((Surface *) memory)->data;
}

static void
unmap (GstMemory * memory)
{
}

static GstMemory *
alloc (GstAllocator * self, gsize size, GstAllocationParams * params)
{
  Surface *surface = g_new0 (Surface, 1);

  surface->data = g_malloc0 (size);
  gst_memory_init (&surface->memory, GST_MEMORY_FLAG_NO_SHARE, self, NULL, size,
      0, 0, size);
  return &surface->memory;
}

static void
free_surface (GstAllocator * self, GstMemory * memory)
{
  g_free (((Surface *) memory)->data);
  g_free (memory);
}

static void
played_va_class_init (PlayedVaClass * klass)
{
  GST_ALLOCATOR_CLASS (klass)->alloc = alloc;
  GST_ALLOCATOR_CLASS (klass)->free = free_surface;
}

static void
played_va_init (PlayedVa * self)
{
  GST_ALLOCATOR (self)->mem_type = "VAMemory";
  GST_ALLOCATOR (self)->mem_map = map;
  GST_ALLOCATOR (self)->mem_unmap = unmap;
}

/* ---- Frames */

/* NULL: the system's. */
static GstMemory *
new_memory (GstAllocator * allocator, gsize size)
{
  gint fd;

  if (!allocator || !GST_IS_DMABUF_ALLOCATOR (allocator))
    return gst_allocator_alloc (allocator, size, NULL);
  fd = memfd_create ("frame", MFD_CLOEXEC);
  fail_unless (fd >= 0 && !ftruncate (fd, size));
  return gst_dmabuf_allocator_alloc (allocator, fd, size);
}

static GstBuffer *
new_frame (GstVideoInfo * info, GstAllocator * allocator, guint n)
{
  GstBuffer *plain = sam_frame_new (info, n * 0.02), *buf = gst_buffer_new ();
  GstMapInfo from;

  fail_unless (gst_buffer_map (plain, &from, GST_MAP_READ));
  gst_buffer_append_memory (buf, new_memory (allocator, from.size));
  fail_unless_equals_int (gst_buffer_fill (buf, 0, from.data, from.size),
      from.size);
  gst_buffer_unmap (plain, &from);
  gst_buffer_unref (plain);
  gst_buffer_add_video_meta_full (buf, 0, info->finfo->format, WIDTH, HEIGHT,
      info->finfo->n_planes, info->offset, info->stride);
  GST_BUFFER_PTS (buf) = n * GST_SECOND / 30;
  return buf;
}

/* Pixels that leave the chain, and the label map of the last frame. */
static GByteArray *
run (const gchar * features, const gchar * format, GstVideoFormat layout,
    GstAllocator * allocator, guint * num_told)
{
  GstHarness *h = gst_harness_new_parse (CHAIN);
  GByteArray *all = g_byte_array_new ();
  GstBus *bus = sam_harness_add_bus (h);
  gchar *caps = g_strdup_printf ("video/x-raw%s,%s,width=%d,height=%d,"
      "framerate=30/1,colorimetry=bt601", features, format, WIDTH, HEIGHT);
  GstVideoInfo info;
  guint n;

  gst_video_info_set_format (&info, layout, WIDTH, HEIGHT);
  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h, caps);
  for (n = 0; n < FRAMES; n++) {
    GstBuffer *in = new_frame (&info, allocator, n), *out;
    GstMemory *memory = gst_buffer_peek_memory (in, 0);
    GstMapInfo map;

    out = gst_harness_push_and_pull (h, in);
    fail_unless (out != NULL && gst_buffer_peek_memory (out, 0) == memory,
        "%s: the frame was copied", caps);
    fail_unless (gst_buffer_map (out, &map, GST_MAP_READ));
    g_byte_array_append (all, map.data, map.size);
    gst_buffer_unmap (out, &map);
    fail_unless (n || sam_meta_iou (sam_get_meta (out), 0) > 0.8);
    gst_buffer_unref (out);
  }
  *num_told = sam_count_messages (bus, GST_MESSAGE_INFO, NULL);
  sam_harness_close (h, bus);
  g_free (caps);
  return all;
}

static void
compare (const gchar * features, const gchar * format, GstVideoFormat layout,
    GstAllocator * allocator)
{
  gchar *plain = g_strdup_printf ("format=%s",
      gst_video_format_to_string (layout));
  GByteArray *expected, *got;
  guint told;

  expected = run ("", plain, layout, NULL, &told);
  fail_unless_equals_int (told, 0);
  got = run (features, format ? format : plain, layout, allocator, &told);
  fail_unless_equals_int (told, 2);     /* each element, once */
  fail_unless_equals_int (got->len, expected->len);
  fail_unless (!memcmp (got->data, expected->data, got->len), "%s: other "
      "pixels than in system memory", features);
  g_byte_array_unref (got);
  g_byte_array_unref (expected);
  g_free (plain);
}

GST_START_TEST (test_dmabuf)
{
  GstAllocator *allocator = gst_dmabuf_allocator_new ();

  compare ("(memory:DMABuf)", NULL, GST_VIDEO_FORMAT_NV12, allocator);
  compare ("(memory:DMABuf)", NULL, GST_VIDEO_FORMAT_BGRx, allocator);
#if GST_CHECK_VERSION (1, 24, 0)
  compare ("(memory:DMABuf)", "format=DMA_DRM,drm-format=NV12",
      GST_VIDEO_FORMAT_NV12, allocator);
  compare ("(memory:DMABuf)", "format=DMA_DRM,drm-format=XR24",
      GST_VIDEO_FORMAT_BGRx, allocator);
#endif
  gst_object_unref (allocator);
}

GST_END_TEST;

GST_START_TEST (test_va)
{
  GstAllocator *allocator = g_object_new (played_va_get_type (), NULL);

  gst_object_ref_sink (allocator);
  num_mapped = 0;
  compare ("(memory:VAMemory)", NULL, GST_VIDEO_FORMAT_NV12, allocator);
  /* written and read by the test, read by samtrack, drawn on by samoverlay */
  fail_unless (num_mapped >= 4 * FRAMES, "mapped %d times", num_mapped);
  gst_object_unref (allocator);
}

GST_END_TEST;

/* Memory that is not laid out in rows must be refused when caps are agreed
 * on. */
GST_START_TEST (test_what_cannot_be_mapped)
{
  static const gchar *const refused[] = {
    "video/x-raw(memory:DMABuf),format=DMA_DRM,"
        "drm-format=NV12:0x0100000000000002",
    "video/x-raw(memory:D3D11Memory),format=NV12",
    "video/x-raw(memory:NVMM),format=NV12",
  };
  GstElement *element = gst_element_factory_make (__i__ ? "samoverlay" :
      "samtrack", NULL);
  GstPad *pad = gst_element_get_static_pad (element, "sink");
  guint i;

  for (i = 0; i < G_N_ELEMENTS (refused); i++) {
    GstCaps *caps = gst_caps_from_string (refused[i]);

    gst_caps_set_simple (caps, "width", G_TYPE_INT, WIDTH, "height", G_TYPE_INT,
        HEIGHT, "framerate", GST_TYPE_FRACTION, 30, 1, NULL);
    fail_if (gst_pad_query_accept_caps (pad, caps), "%s", refused[i]);
    gst_caps_unref (caps);
  }
  gst_object_unref (pad);
  gst_object_unref (element);
}

GST_END_TEST;

static Suite *
mapped_suite (void)
{
  Suite *s = suite_create ("mapped");
  TCase *tc = sam_tcase_new_tiny (s, "mapped");

  tcase_add_test (tc, test_dmabuf);
  tcase_add_test (tc, test_va);
  tcase_add_loop_test (tc, test_what_cannot_be_mapped, 0, 2);
  return s;
}

GST_CHECK_MAIN (mapped);
