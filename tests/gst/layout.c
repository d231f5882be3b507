/* SPDX-License-Identifier: MIT */
/* Frames whose GstVideoMeta or size lies: not one byte outside of their memory
 * is read or written. */

#include "samcheck.h"

#include "common/gstsamframe.h"

#include <string.h>
#include <sys/mman.h>

/* All raw formats, which samoverlay accepts. */
static guint
get_formats (const GstVideoFormat ** formats)
{
  guint n;

  *formats = gst_video_formats_raw (&n);
  fail_unless (n > 80, "%u formats", n);
  return n;
}

/* Memory behind which there is none: one byte too far is a signal. */
typedef struct
{
  guint8 *base;
  gsize room, page;
} Fence;

static GstMemory *
fence_new (Fence * fence, gsize size)
{
  fence->page = 4096;
  fence->room = (size / 4096 + 1) * 4096;
  fence->base = mmap (NULL, fence->room + 2 * 4096, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fail_unless (fence->base != MAP_FAILED);
  fail_unless_equals_int (mprotect (fence->base + 4096, fence->room,
          PROT_READ | PROT_WRITE), 0);
  return gst_memory_new_wrapped (0, fence->base + 4096 + fence->room - size,
      size, 0, size, NULL, NULL);
}

/* A frame of one memory per plane, each of so many bytes. */
static GstBuffer *
frame_of_planes (const GstVideoInfo * info, const gsize size[], Fence fence[])
{
  GstBuffer *buf = gst_buffer_new ();
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0, }, end = 0;
  guint i;

  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    offset[i] = end;
    end += size[i];
    gst_buffer_append_memory (buf, fence_new (&fence[i], size[i]));
  }
  gst_buffer_add_video_meta_full (buf, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_INFO_FORMAT (info), info->width, info->height,
      GST_VIDEO_INFO_N_PLANES (info), offset, (gint *) info->stride);
  return buf;
}

static void
frame_free (GstBuffer * buf, Fence fence[])
{
  guint i, n = gst_buffer_n_memory (buf);

  gst_buffer_unref (buf);
  for (i = 0; i < n; i++)
    munmap (fence[i].base, fence[i].room + 2 * fence[i].page);
}

/* GStreamer's own reading and writing of all rows. */
static void
read_and_write (GstVideoFrame * frame)
{
  const GstVideoFormatInfo *finfo = frame->info.finfo;
  const gint w = GST_VIDEO_FRAME_WIDTH (frame);
  const gint h = GST_VIDEO_FRAME_HEIGHT (frame);
  guint8 *line = g_malloc0 ((gsize) (w + 16) * 8 * h);
  gint y;

  for (y = 0; y < h; y++)
    finfo->unpack_func (finfo, 0, line + (gsize) y * w * 8, frame->data,
        frame->info.stride, 0, y, w);
  for (y = 0; y < h; y += MAX (finfo->pack_lines, 1))
    finfo->pack_func (finfo, 0, line + (gsize) y * w * 8, w * 8, frame->data,
        frame->info.stride, GST_VIDEO_CHROMA_SITE_UNKNOWN, y, w);
  g_free (line);
}

static gboolean
is_accepted (const GstVideoInfo * info, const gsize size[])
{
  Fence fence[GST_VIDEO_MAX_PLANES];
  GstBuffer *buf = frame_of_planes (info, size, fence);
  gchar *why = gst_sam_frame_check (info, buf);
  gboolean ok = why == NULL;

  g_free (why);
  frame_free (buf, fence);
  return ok;
}

/* GStreamer 1.22 itself writes behind its own frames of these widths. What
 * samoverlay does there is in blend.c. */
static gboolean
is_sound (GstVideoFormat format, gint width)
{
  return !(format == GST_VIDEO_FORMAT_UYVP && (width % 8 == 1 ||
              width % 8 == 3)) &&
      !((format == GST_VIDEO_FORMAT_NV12_10LE32 ||
          format == GST_VIDEO_FORMAT_NV16_10LE32) && width % 6 == 3);
}

/* The smallest planes that are accepted are enough for GStreamer to read and
 * write all pixels, and never larger than GStreamer's own. */
static void
check_smallest (GstVideoFormat format, gint width, gint height)
{
  const gchar *name = gst_video_format_to_string (format);
  gsize size[GST_VIDEO_MAX_PLANES] = { 0 };
  Fence fence[GST_VIDEO_MAX_PLANES];
  GstVideoFrame frame;
  GstVideoInfo info;
  GstBuffer *buf;
  gchar *why;
  guint i, n;

  gst_video_info_set_format (&info, format, width, height);
  n = GST_VIDEO_INFO_N_PLANES (&info);
  for (i = 0; i < n; i++)
    size[i] = (i + 1 < n ? info.offset[i + 1] : info.size) - info.offset[i];
  fail_unless (is_accepted (&info, size), "%s of %d x %d as GStreamer lays it "
      "out is refused", name, width, height);
  for (i = 0; i < n; i++) {
    while (size[i] > 1 && is_accepted (&info, size))
      size[i]--;
    if (!is_accepted (&info, size))
      size[i]++;
  }
  buf = frame_of_planes (&info, size, fence);
  fail_unless (gst_sam_frame_map (&frame, &info, buf, GST_MAP_READWRITE, &why));
  GST_INFO ("%s of %d x %d", name, width, height);
  if (is_sound (format, width))
    read_and_write (&frame);
  gst_video_frame_unmap (&frame);
  frame_free (buf, fence);
}

GST_START_TEST (test_the_smallest_memory_is_enough)
{
  static const gint sizes[][2] = { {1, 1}, {2, 2}, {3, 5}, {7, 6}, {9, 1},
  {50, 3}
  };
  const GstVideoFormat *formats;
  guint i, n = get_formats (&formats);

  for (i = 0; i < n; i++)
    check_smallest (formats[i], sizes[__i__][0], sizes[__i__][1]);
}

GST_END_TEST;

/* What samoverlay draws, over all of the frame. */
static void
add_objects (GstBuffer * buf)
{
  GstCustomMeta *meta = gst_buffer_add_custom_meta (buf, "GstSamTrackMeta");
  GstStructure *s;
  GValue objects = G_VALUE_INIT, object = G_VALUE_INIT;
  GstBuffer *mask = gst_buffer_new_allocate (NULL, 64 * 48, NULL);

  fail_unless (meta != NULL);
  s = gst_custom_meta_get_structure (meta);
  gst_buffer_memset (mask, 0, 1, 64 * 48);
  g_value_init (&objects, GST_TYPE_ARRAY);
  g_value_init (&object, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&object, gst_structure_new ("object",
          "id", G_TYPE_UINT64, G_GUINT64_CONSTANT (1), "slot", G_TYPE_UINT, 1,
          "state", G_TYPE_STRING, "tracked", "score", G_TYPE_DOUBLE, 5.0,
          "iou", G_TYPE_DOUBLE, 0.93, "x", G_TYPE_INT, 0, "y", G_TYPE_INT, 0,
          "w", G_TYPE_INT, 64, "h", G_TYPE_INT, 48, "area", G_TYPE_UINT,
          64 * 48, NULL));
  gst_value_array_append_and_take_value (&objects, &object);
  gst_structure_set (s, "version", G_TYPE_UINT, 1, "width", G_TYPE_INT, 64,
      "height", G_TYPE_INT, 48, "state", G_TYPE_STRING, "ok",
      "age", G_TYPE_UINT, 0, "mask", GST_TYPE_BUFFER, mask,
      "mask-width", G_TYPE_INT, 64, "mask-height", G_TYPE_INT, 48, NULL);
  gst_structure_take_value (s, "objects", &objects);
  gst_buffer_unref (mask);
}

typedef void (*Lie) (GstVideoMeta * meta, guint plane);

static void
far_offset (GstVideoMeta * meta, guint plane)
{
  meta->offset[plane] = G_MAXSIZE - 16;
}

static void
late_offset (GstVideoMeta * meta, guint plane)
{
  meta->offset[plane] = gst_buffer_get_size (meta->buffer) - 1;
}

static void
long_stride (GstVideoMeta * meta, guint plane)
{
  meta->stride[plane] = G_MAXINT;
}

static void
negative_stride (GstVideoMeta * meta, guint plane)
{
  meta->offset[plane] = 0;
  meta->stride[plane] = -meta->stride[plane];
}

static void
least_stride (GstVideoMeta * meta, guint plane)
{
  meta->stride[plane] = G_MININT;
}

static void
no_stride (GstVideoMeta * meta, guint plane)
{
  meta->stride[plane] = 0;
}

static void
smaller_frame (GstVideoMeta * meta, guint plane)
{
  meta->height--;
}

static void
other_format (GstVideoMeta * meta, guint plane)
{
  meta->format = meta->format == GST_VIDEO_FORMAT_GRAY8 ?
      GST_VIDEO_FORMAT_RGB : GST_VIDEO_FORMAT_GRAY8;
}

static void
no_format (GstVideoMeta * meta, guint plane)
{
  meta->format = 4711;
}

static void
fewer_planes (GstVideoMeta * meta, guint plane)
{
  meta->n_planes--;
}

static const struct
{
  const gchar *name;
  Lie lie;
} lies[] = {
  {"far offset", far_offset},
  {"late offset", late_offset},
  {"long stride", long_stride},
  {"negative stride", negative_stride},
  {"least stride", least_stride},
  {"no stride", no_stride},
  {"smaller frame", smaller_frame},
  {"other format", other_format},
  {"no format", no_format},
  {"fewer planes", fewer_planes},
};

static GstBuffer *
new_frame (GstVideoFormat format)
{
  GstVideoInfo info;
  GstBuffer *buf;

  gst_video_info_set_format (&info, format, 64, 48);
  buf = gst_buffer_new_allocate (NULL, info.size, NULL);
  gst_buffer_memset (buf, 0, 100, info.size);
  gst_buffer_add_video_meta_full (buf, GST_VIDEO_FRAME_FLAG_NONE, format, 64,
      48, GST_VIDEO_INFO_N_PLANES (&info), info.offset, info.stride);
  return buf;
}

/* Push it: one error message, which says so, and nothing comes out. */
static void
check_refused (GstHarness * h, GstBus * bus, GstBuffer * buf,
    GstVideoFormat format, const gchar * what)
{
  const gchar *name = gst_video_format_to_string (format);
  gchar *text = NULL;

  fail_unless (gst_harness_push (h, buf) == GST_FLOW_ERROR, "%s, %s: taken",
      name, what);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_ERROR, &text),
      1);
  fail_unless (strstr (text, "The frame was refused: ") ||
      strstr (text, "Cannot change the frame: "), "%s, %s: %s", name, what,
      text);
  fail_unless (gst_harness_try_pull (h) == NULL);
  g_free (text);
}

static GstHarness *
open_harness (const gchar * launch, GstVideoFormat format, GstBus ** bus)
{
  GstHarness *h = sam_harness_new (launch, format, 64, 48);

  *bus = sam_harness_add_bus (h);
  return h;
}

static void
close_harness (GstHarness * h, GstBus * bus)
{
  sam_harness_close (h, bus);
}

static void
push_refused (const gchar * launch, GstVideoFormat format, GstBuffer * buf,
    const gchar * what)
{
  GstBus *bus;
  GstHarness *h = open_harness (launch, format, &bus);

  check_refused (h, bus, buf, format, what);
  close_harness (h, bus);
}

/* All lies about all planes, and then a frame that tells the truth. */
static void
check_lies (const gchar * launch, GstVideoFormat format)
{
  const guint planes =
      GST_VIDEO_FORMAT_INFO_N_PLANES (gst_video_format_get_info (format));
  GstBus *bus;
  GstHarness *h = open_harness (launch, format, &bus);
  GstBuffer *buf;
  guint i, plane;

  for (i = 0; i < G_N_ELEMENTS (lies); i++) {
    for (plane = 0; plane < planes; plane++) {
      /* the palette is one row */
      if (plane && format == GST_VIDEO_FORMAT_RGB8P && i >= 2 && i <= 5)
        continue;
      buf = new_frame (format);
      add_objects (buf);
      lies[i].lie (gst_buffer_get_video_meta (buf), plane);
      check_refused (h, bus, buf, format, lies[i].name);
    }
  }
  buf = new_frame (format);
  add_objects (buf);
  gst_buffer_unref (gst_harness_push_and_pull (h, buf));
  close_harness (h, bus);
}

static GstVideoFormat
get_template_format (const gchar * factory, guint n)
{
  GstElement *element = gst_element_factory_make (factory, NULL);
  GstCaps *caps = gst_pad_template_get_caps (gst_element_get_pad_template
      (element, "sink"));
  GstVideoFormat format = GST_VIDEO_FORMAT_UNKNOWN;
  guint i;

  /* those in system memory, the preferred ones first */
  for (i = 0; i < gst_caps_get_size (caps); i++) {
    const GValue *formats = gst_structure_get_value (gst_caps_get_structure
        (caps, i), "format");
    guint count;

    if (!gst_caps_features_is_equal (gst_caps_get_features (caps, i),
            GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
      continue;
    count = gst_value_list_get_size (formats);
    if (n < count) {
      format = gst_video_format_from_string (g_value_get_string
          (gst_value_list_get_value (formats, n)));
      break;
    }
    n -= count;
  }
  gst_caps_unref (caps);
  gst_object_unref (element);
  return format;
}

#define TRACK "samtrack initial-prompt=" SQUARE_BOX

/* All that the engine reads, and some of the others. */
GST_START_TEST (test_samtrack_refuses_metas_that_lie)
{
  GstVideoFormat format = get_template_format ("samtrack",
      __i__ < 11 ? __i__ : 11 + 5 * (__i__ - 11));

  fail_unless (format != GST_VIDEO_FORMAT_UNKNOWN);
  check_lies (TRACK, format);
}

GST_END_TEST;

GST_START_TEST (test_these_are_all_of_samtrack)
{
  fail_unless (get_template_format ("samtrack", 42) !=
      GST_VIDEO_FORMAT_UNKNOWN);
  fail_unless (get_template_format ("samtrack", 43) ==
      GST_VIDEO_FORMAT_UNKNOWN);
}

GST_END_TEST;

GST_START_TEST (test_samoverlay_refuses_metas_that_lie)
{
  GstVideoFormat format;
  guint n = 0;

  while ((format = get_template_format ("samoverlay", n)) !=
      GST_VIDEO_FORMAT_UNKNOWN) {
    check_lies ("samoverlay", format);
    n++;
  }
  fail_unless (n > 80, "%u formats", n);
}

GST_END_TEST;

/* Without a meta the buffer is as large as its caps want it. */
GST_START_TEST (test_frames_that_are_too_small)
{
  GstBuffer *buf = gst_buffer_new_allocate (NULL, 64 * 48 * 3 / 2 - 1, NULL);

  push_refused (TRACK, GST_VIDEO_FORMAT_I420, buf, "no meta");
  buf = gst_buffer_new_allocate (NULL, 64 * 48 * 3 / 2 - 1, NULL);
  add_objects (buf);
  push_refused ("samoverlay", GST_VIDEO_FORMAT_I420, buf, "no meta");
}

GST_END_TEST;

/* Frames of no bytes at all, which no flag calls a gap. */
GST_START_TEST (test_frames_of_zero_size)
{
  gchar *detect = g_strdup_printf ("samdetect model-file=\"%s\"",
      g_getenv ("SAMTRACK_DETECTOR"));
  const gchar *launch[] = { TRACK, detect, "samoverlay",
    "samoverlay mode=blur", "samoverlay mode=cut-out",
    "samoverlay mode=solid privacy=true"
  };
  guint i;

  /* loads the plugin, which registers the meta */
  get_template_format ("samoverlay", 0);
  for (i = 0; i < G_N_ELEMENTS (launch); i++) {
    GstBuffer *buf = gst_buffer_new ();

    add_objects (buf);
    push_refused (launch[i], GST_VIDEO_FORMAT_I420, buf, launch[i]);
  }
  g_free (detect);
}

GST_END_TEST;

/* A plane that begins in one memory and goes on in the next. */
GST_START_TEST (test_planes_in_two_memories)
{
  const gchar *launch[] = { TRACK, "samoverlay" };
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0, };
  gint stride[GST_VIDEO_MAX_PLANES] = { 64, };
  guint i;

  /* loads the plugin, which registers the meta */
  get_template_format ("samoverlay", 0);
  for (i = 0; i < G_N_ELEMENTS (launch); i++) {
    GstBuffer *buf = gst_buffer_new_allocate (NULL, 64 * 24, NULL);

    buf = gst_buffer_append (buf, gst_buffer_new_allocate (NULL, 64 * 24,
            NULL));
    fail_unless_equals_int (gst_buffer_n_memory (buf), 2);
    gst_buffer_add_video_meta_full (buf, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_GRAY8, 64, 48, 1, offset, stride);
    add_objects (buf);
    push_refused (launch[i], GST_VIDEO_FORMAT_GRAY8, buf, "two memories");
  }
}

GST_END_TEST;

/* A meta may describe more than the caps: the frame is what they say. */
GST_START_TEST (test_room_around_the_frame)
{
  GstHarness *h = sam_harness_new (TRACK, GST_VIDEO_FORMAT_GRAY8, 60, 40);
  GstBuffer *buf = new_frame (GST_VIDEO_FORMAT_GRAY8);
  GstMapInfo map;
  guint x, y;

  buf = gst_harness_push_and_pull (h, buf);
  fail_unless_equals_int (sam_get_int (sam_get_meta (buf), "width"), 60);
  gst_harness_teardown (h);
  gst_buffer_unref (buf);

  h = sam_harness_new ("samoverlay", GST_VIDEO_FORMAT_GRAY8, 60, 40);
  buf = new_frame (GST_VIDEO_FORMAT_GRAY8);
  add_objects (buf);
  buf = gst_harness_push_and_pull (h, buf);
  fail_unless (gst_buffer_map (buf, &map, GST_MAP_READ));
  fail_unless (map.data[20 * 64 + 50] != 100);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 64; x++)
      fail_unless (map.data[y * 64 + x] == 100 || (x < 60 && y < 40),
          "(%u, %u) is outside of the frame, and is drawn on", x, y);
  }
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A missing frame without pixels passes all elements, at the beginning and with
 * masks of the frame before. */
GST_START_TEST (test_gaps_without_pixels)
{
  GstHarness *h = gst_harness_new_parse (TRACK " ! samoverlay");
  guint i;

  gst_harness_set_src_caps_str (h, "video/x-raw,format=GRAY8,width=64,"
      "height=48,framerate=30/1");
  for (i = 0; i < 6; i++) {
    const gboolean gap = (gint) i % 3 == __i__;
    GstBuffer *buf = gap ? gst_buffer_new () : new_frame
        (GST_VIDEO_FORMAT_GRAY8);

    GST_BUFFER_PTS (buf) = i * GST_SECOND / 30;
    if (gap)
      GST_BUFFER_FLAG_SET (buf, GST_BUFFER_FLAG_GAP);
    fail_unless_equals_int (gst_harness_push (h, buf), GST_FLOW_OK);
    buf = gst_harness_pull (h);
    fail_unless_equals_int (gst_buffer_get_size (buf) == 0, gap);
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Whatever downstream heeds, upstream is told of what is heeded here. */
GST_START_TEST (test_metas_of_allocation_answers)
{
  gchar *detect = g_strdup_printf ("samdetect model-file=\"%s\"",
      g_getenv ("SAMTRACK_DETECTOR"));
  const gchar *launch[] = { TRACK, "samoverlay", detect, "samscore",
    "samzones", "samexport location=/dev/null"
  };
  const gchar *name = launch[__i__];
  const GType offered[] = { GST_VIDEO_CROP_META_API_TYPE,
    GST_VIDEO_META_API_TYPE, GST_VIDEO_AFFINE_TRANSFORMATION_META_API_TYPE,
    GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
    GST_VIDEO_GL_TEXTURE_UPLOAD_META_API_TYPE,
    GST_VIDEO_CODEC_ALPHA_META_API_TYPE
  };
  GstHarness *h = sam_harness_new (name, GST_VIDEO_FORMAT_GRAY8, 64, 48);
  GstCaps *caps = gst_pad_get_current_caps (h->srcpad);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (offered); i++)
    gst_harness_add_propose_allocation_meta (h, offered[i], NULL);
  gst_buffer_unref (gst_harness_push_and_pull (h, new_frame
          (GST_VIDEO_FORMAT_GRAY8)));
  gst_pad_mark_reconfigure (GST_PAD_PEER (h->sinkpad));
  fail_unless (gst_pad_peer_query (h->srcpad, query));
  for (i = 0; i < G_N_ELEMENTS (offered); i++)
    fail_unless (gst_query_find_allocation_meta (query, offered[i], NULL) ==
        (i == 1 || i == 3), "%s: %s", name, g_type_name (offered[i]));
  gst_query_unref (query);
  gst_caps_unref (caps);
  gst_harness_teardown (h);
  g_free (detect);
}

GST_END_TEST;

/* Before a sink that crops by itself, videocrop leaves the pixels: here it must
 * not, or another region would be tracked. */
GST_START_TEST (test_cropped_frames_before_a_sink_that_crops)
{
  GstHarness *h = gst_harness_new_parse ("videocrop left=24 top=8 ! samtrack "
      "initial-prompt=point,x=5,y=5");
  GstBuffer *buf;

  gst_harness_add_propose_allocation_meta (h, GST_VIDEO_META_API_TYPE, NULL);
  gst_harness_add_propose_allocation_meta (h, GST_VIDEO_CROP_META_API_TYPE,
      NULL);
  gst_harness_set_src_caps_str (h, "video/x-raw,format=GRAY8,width=64,"
      "height=48,framerate=30/1");
  buf = gst_harness_push_and_pull (h, new_frame (GST_VIDEO_FORMAT_GRAY8));
  fail_unless (gst_buffer_get_video_crop_meta (buf) == NULL);
  fail_unless_equals_int (sam_get_int (sam_get_meta (buf), "width"), 40);
  fail_unless_equals_int (gst_buffer_get_video_meta (buf)->width, 40);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
layout_suite (void)
{
  Suite *s = suite_create ("layout");
  TCase *tc = sam_tcase_new_tiny (s, "layout");

  tcase_add_loop_test (tc, test_the_smallest_memory_is_enough, 0, 6);
  tcase_add_test (tc, test_these_are_all_of_samtrack);
  tcase_add_loop_test (tc, test_samtrack_refuses_metas_that_lie, 0, 18);
  tcase_add_test (tc, test_samoverlay_refuses_metas_that_lie);
  tcase_add_test (tc, test_frames_that_are_too_small);
  tcase_add_test (tc, test_frames_of_zero_size);
  tcase_add_test (tc, test_planes_in_two_memories);
  tcase_add_test (tc, test_room_around_the_frame);
  tcase_add_loop_test (tc, test_gaps_without_pixels, 0, 3);
  tcase_add_loop_test (tc, test_metas_of_allocation_answers, 0,
      gst_registry_check_feature_version (gst_registry_get (), "samexport", 0, 0,
          0) ? 6 : 5);
  tcase_add_test (tc, test_cropped_frames_before_a_sink_that_crops);
  return s;
}

GST_CHECK_MAIN (layout);
