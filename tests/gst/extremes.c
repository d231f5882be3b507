/* SPDX-License-Identifier: MIT */
/* The longest and the smallest frames: every format of every element that reads
 * or draws, 16384 px by one, one by 16384 and a single pixel, in memory that
 * ends with the frame. */

#include "samcheck.h"

static const gint sizes[][2] = { {16384, 1}, {1, 16384}, {1, 1} };

static const gchar *launches[] = {
  "samtrack initial-prompt=box,x=0,y=0,w=1,h=1,normalized=true",
  "samoverlay draw-boxes=true",
  "samoverlay mode=composition",
  "samoverlay mode=blur",
  "samoverlay mode=pixelate",
  "samoverlay mode=solid",
  "samoverlay mode=cut-out keep=outside",
};

/* Formats whose own layout GStreamer reads beyond at some widths: then frames
 * are refused. */
static const gchar *short_of[] = { "UYVP", "NV12_10LE32", "NV16_10LE32" };

/* The names of formats in the caps of the template, system memory alone. */
static GPtrArray *
list_formats (GstElement * element)
{
  GstCaps *caps = gst_pad_template_get_caps
      (gst_element_get_pad_template (element, "sink"));
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  guint i, k;

  for (i = 0; i < gst_caps_get_size (caps); i++) {
    GstCapsFeatures *features = gst_caps_get_features (caps, i);
    const GValue *list = gst_structure_get_value (gst_caps_get_structure (caps,
            i), "format");

    if (!gst_caps_features_is_equal (features,
            GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
      continue;
    for (k = 0; k < gst_value_list_get_size (list); k++)
      g_ptr_array_add (names, g_value_dup_string (gst_value_list_get_value
              (list, k)));
  }
  gst_caps_unref (caps);
  return names;
}

/* An object that is the whole frame, beside one that is beyond it. */
static void
add_meta (GstBuffer * buf, gint width, gint height)
{
  GstStructure *s = gst_custom_meta_get_structure (gst_buffer_add_custom_meta
      (buf, "GstSamTrackMeta"));
  GstBuffer *mask = gst_buffer_new_allocate (NULL, width * height, NULL);
  GValue objects = G_VALUE_INIT;
  gint i;

  gst_buffer_memset (mask, 0, 1, -1);
  g_value_init (&objects, GST_TYPE_ARRAY);
  for (i = 0; i < 2; i++) {
    GValue value = G_VALUE_INIT;

    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (&value, gst_structure_new ("object",
            "id", G_TYPE_UINT64, (guint64) i + 1, "slot", G_TYPE_UINT, i + 1,
            "state", G_TYPE_STRING, "tracked", "score", G_TYPE_DOUBLE, 5.0,
            "iou", G_TYPE_DOUBLE, 0.9, "x", G_TYPE_INT, i * G_MAXINT,
            "y", G_TYPE_INT, 0, "w", G_TYPE_INT, i ? G_MAXINT : width,
            "h", G_TYPE_INT, height, "area", G_TYPE_UINT, G_MAXUINT, NULL));
    gst_value_array_append_and_take_value (&objects, &value);
  }
  gst_structure_set (s, "version", G_TYPE_UINT, 1, "width", G_TYPE_INT, width,
      "height", G_TYPE_INT, height, "state", G_TYPE_STRING, "ok",
      "age", G_TYPE_UINT, 0, "mask", GST_TYPE_BUFFER, mask,
      "mask-width", G_TYPE_INT, width, "mask-height", G_TYPE_INT, height, NULL);
  gst_structure_take_value (s, "objects", &objects);
  gst_buffer_unref (mask);
}

static gboolean
is_short (const gchar * format)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (short_of); i++) {
    if (g_str_equal (format, short_of[i]))
      return TRUE;
  }
  return FALSE;
}

static void
run (GstHarness * h, GstBus * bus, const gchar * format, const gint size[2])
{
  gchar *caps = g_strdup_printf ("video/x-raw,format=%s,width=%d,height=%d,"
      "framerate=30/1", format, size[0], size[1]);
  GstVideoInfo info;
  GstBuffer *buf;
  gchar *text = NULL;
  GstFlowReturn ret;

  gst_harness_set_src_caps_str (h, caps);
  fail_unless (gst_video_info_set_format (&info,
          gst_video_format_from_string (format), size[0], size[1]));
  buf = gst_buffer_new_wrapped (g_malloc0 (info.size), info.size);
  GST_BUFFER_PTS (buf) = 0;
  if (g_str_has_prefix (GST_OBJECT_NAME (h->element), "samoverlay"))
    add_meta (buf, size[0], size[1]);
  ret = gst_harness_push (h, buf);
  fail_unless (sam_count_messages (bus, GST_MESSAGE_ERROR, &text) <= 1);
  fail_unless (ret == GST_FLOW_OK || (is_short (format) && text), "%s: %s (%s)",
      caps, gst_flow_get_name (ret), text);
  if (ret == GST_FLOW_OK)
    gst_buffer_unref (gst_harness_pull (h));
  g_free (text);
  g_free (caps);
}

GST_START_TEST (test_every_format)
{
  GstHarness *h = sam_harness_new (launches[__i__], GST_VIDEO_FORMAT_I420, 16,
      16);
  GPtrArray *formats = list_formats (h->element);
  GstBus *bus = sam_harness_add_bus (h);
  guint i, k;

  gst_harness_add_propose_allocation_meta (h,
      GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, NULL);
  fail_unless (formats->len >= 43, "only %u formats", formats->len);
  for (i = 0; i < formats->len; i++) {
    for (k = 0; k < G_N_ELEMENTS (sizes); k++)
      run (h, bus, g_ptr_array_index (formats, i), sizes[k]);
  }
  g_ptr_array_unref (formats);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static Suite *
extremes_suite (void)
{
  Suite *s = suite_create ("extremes");
  TCase *tc = sam_tcase_new (s, "extremes");

  tcase_add_loop_test (tc, test_every_format, 0, G_N_ELEMENTS (launches));
  return s;
}

GST_CHECK_MAIN (extremes);
