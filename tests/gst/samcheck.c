/* SPDX-License-Identifier: MIT */
#include "samcheck.h"

#include <glib/gstdio.h>
#include <string.h>

GstHarness *
sam_harness_new (const gchar * launch, GstVideoFormat format, gint width,
    gint height)
{
  GstElement *element = gst_parse_launch (launch, NULL);
  GstVideoInfo info;
  GstHarness *h;

  fail_unless (element != NULL, "%s does not parse", launch);
  gst_object_ref_sink (element);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_live (h, FALSE);
  gst_object_unref (element);

  gst_video_info_set_format (&info, format, width, height);
  info.fps_n = 30;
  info.fps_d = 1;
  gst_harness_set_src_caps (h, gst_video_info_to_caps (&info));
  return h;
}

static void
paint_square (GstVideoFrame * rgba, gdouble moved)
{
  const gint width = GST_VIDEO_FRAME_WIDTH (rgba);
  const gint height = GST_VIDEO_FRAME_HEIGHT (rgba);
  gint x, y;

  for (y = 0; y < height; y++) {
    guint8 *row = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (rgba, 0) +
        (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (rgba, 0);
    gdouble fy = (y + 0.5) / height;

    for (x = 0; x < width; x++) {
      gdouble fx = (x + 0.5) / width - moved;
      gboolean in = fx >= SQUARE_X0 && fx < SQUARE_X1 && fy >= SQUARE_Y0 &&
          fy < SQUARE_Y1;
      /* some life on both, so that no patch is flat */
      guint8 noise = ((x * 7) ^ (y * 13)) & 15;

      row[4 * x + 0] = in ? 225 + noise : 30 + noise;
      row[4 * x + 1] = in ? 190 + noise : 40 + noise;
      row[4 * x + 2] = in ? 60 + noise : 70 + noise;
      row[4 * x + 3] = 255;
    }
  }
}

GstBuffer *
sam_frame_new (const GstVideoInfo * info, gdouble moved)
{
  GstBuffer *rgba, *out;
  GstVideoInfo rgba_info;
  GstVideoFrame in_frame, out_frame;
  GstVideoConverter *converter;

  gst_video_info_set_format (&rgba_info, GST_VIDEO_FORMAT_RGBA, info->width,
      info->height);
  rgba_info.fps_n = info->fps_n;
  rgba_info.fps_d = info->fps_d;
  rgba = gst_buffer_new_allocate (NULL, rgba_info.size, NULL);
  fail_unless (gst_video_frame_map (&in_frame, &rgba_info, rgba,
          GST_MAP_READWRITE));
  paint_square (&in_frame, moved);
  out = gst_buffer_new_allocate (NULL, info->size, NULL);
  gst_buffer_memset (out, 0, 0, info->size);
  fail_unless (gst_video_frame_map (&out_frame, info, out, GST_MAP_WRITE));
  converter = gst_video_converter_new (&rgba_info, info, NULL);
  fail_unless (converter != NULL);
  gst_video_converter_frame (converter, &in_frame, &out_frame);
  gst_video_converter_free (converter);
  gst_video_frame_unmap (&out_frame);
  gst_video_frame_unmap (&in_frame);
  gst_buffer_unref (rgba);
  return out;
}

GstBuffer *
sam_harness_frame (GstHarness * h, guint n)
{
  GstCaps *caps = gst_pad_get_current_caps (h->srcpad);
  GstVideoInfo info;
  GstBuffer *buf;

  fail_unless (gst_video_info_from_caps (&info, caps));
  gst_caps_unref (caps);
  buf = sam_frame_new (&info, 0);
  GST_BUFFER_PTS (buf) = n * GST_SECOND / 30;
  GST_BUFFER_DURATION (buf) = GST_SECOND / 30;
  return buf;
}

GstBuffer *
sam_harness_run (GstHarness * h, guint n)
{
  return gst_harness_push_and_pull (h, sam_harness_frame (h, n));
}

const GstStructure *
sam_get_meta (GstBuffer * buf)
{
  GstCustomMeta *meta;

  fail_unless (buf != NULL, "no buffer came out");
  meta = gst_buffer_get_custom_meta (buf, "GstSamTrackMeta");
  fail_unless (meta != NULL, "the buffer has no GstSamTrackMeta");
  return gst_custom_meta_get_structure (meta);
}

guint
sam_get_num_objects (const GstStructure * meta)
{
  const GValue *objects = gst_structure_get_value (meta, "objects");

  fail_unless (objects && GST_VALUE_HOLDS_ARRAY (objects));
  return gst_value_array_get_size (objects);
}

const GstStructure *
sam_get_object (const GstStructure * meta, guint i)
{
  fail_unless (i < sam_get_num_objects (meta), "there is no object %u", i);
  return gst_value_get_structure (gst_value_array_get_value
      (gst_structure_get_value (meta, "objects"), i));
}

gint
sam_get_int (const GstStructure * s, const gchar * name)
{
  gint value = 0;

  fail_unless (gst_structure_get_int (s, name, &value), "no %s", name);
  return value;
}

guint
sam_get_uint (const GstStructure * s, const gchar * name)
{
  guint value = 0;

  fail_unless (gst_structure_get_uint (s, name, &value), "no %s", name);
  return value;
}

guint64
sam_get_uint64 (const GstStructure * s, const gchar * name)
{
  guint64 value = 0;

  fail_unless (gst_structure_get_uint64 (s, name, &value), "no %s", name);
  return value;
}

gdouble
sam_get_double (const GstStructure * s, const gchar * name)
{
  gdouble value = 0;

  fail_unless (gst_structure_get_double (s, name, &value), "no %s", name);
  return value;
}

guint64
sam_get_seeding (GstElement * track, const gchar * field)
{
  GstStructure *stats = NULL;
  guint64 value;

  g_object_get (track, "stats", &stats, NULL);
  fail_unless (gst_structure_has_field (stats, "seeding"));
  value = sam_get_uint64 (gst_value_get_structure (gst_structure_get_value
          (stats, "seeding")), field);
  gst_structure_free (stats);
  return value;
}

guint
sam_check_objects (const GstStructure * meta, guint most)
{
  const guint n = sam_get_num_objects (meta);
  guint i;

  fail_unless (n <= most, "%u objects", n);
  for (i = 0; i < n; i++) {
    const gchar *label = gst_structure_get_string (sam_get_object (meta, i),
        "label");

    fail_unless (!label || (g_utf8_validate (label, -1, NULL) &&
            strlen (label) < 64));
  }
  return n;
}

guint
sam_take_behind (GstBuffer * buf)
{
  const GstStructure *meta = sam_get_meta (buf);
  const guint behind = sam_get_uint (sam_get_object (meta,
          sam_get_num_objects (meta) - 1), "behind");

  gst_buffer_unref (buf);
  return behind;
}

guint64
sam_get_id (const GstStructure * meta, guint i)
{
  return sam_get_uint64 (sam_get_object (meta, i), "id");
}

guint64
sam_get_stat (GstElement * element, const gchar * name)
{
  GstStructure *stats;
  const GValue *value;
  guint64 n = 0;

  g_object_get (element, "stats", &stats, NULL);
  value = gst_structure_get_value (stats, name);
  fail_unless (value != NULL, "stats have no %s", name);
  if (G_VALUE_HOLDS_UINT64 (value))
    n = g_value_get_uint64 (value);
  else if (G_VALUE_HOLDS_INT64 (value))
    n = g_value_get_int64 (value);
  else
    n = g_value_get_uint (value);
  gst_structure_free (stats);
  return n;
}

gdouble
sam_mask_iou (const guint8 * labels, gint width, gint height, gint stride,
    guint label)
{
  guint both = 0, either = 0;
  gint x, y;

  for (y = 0; y < height; y++) {
    gdouble fy = (y + 0.5) / height;

    for (x = 0; x < width; x++) {
      gdouble fx = (x + 0.5) / width;
      gboolean want = fx >= SQUARE_X0 && fx < SQUARE_X1 && fy >= SQUARE_Y0 &&
          fy < SQUARE_Y1;
      gboolean got = labels[(gsize) y * stride + x] == label;

      both += want && got;
      either += want || got;
    }
  }
  return either ? both / (gdouble) either : 0;
}

gdouble
sam_meta_iou (const GstStructure * meta, guint i)
{
  const guint slot = sam_get_uint (sam_get_object (meta, i), "slot");
  const GValue *value = gst_structure_get_value (meta, "mask");
  gint width = sam_get_int (meta, "mask-width");
  gint height = sam_get_int (meta, "mask-height");
  GstMapInfo map;
  gdouble iou;

  fail_unless (value != NULL, "the meta has no mask");
  fail_unless (gst_buffer_map (gst_value_get_buffer (value), &map,
          GST_MAP_READ));
  fail_unless_equals_int (map.size, width * height);
  iou = sam_mask_iou (map.data, width, height, width, slot);
  gst_buffer_unmap (gst_value_get_buffer (value), &map);
  return iou;
}

void
sam_read_properties (GObject * object)
{
  GParamSpec **specs;
  guint i, n;

  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (object), &n);
  for (i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;

    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (object, specs[i]->name, &value);
    g_value_unset (&value);
  }
  g_free (specs);
}

GstSample *
sam_sample_new (void)
{
  GstCaps *caps = gst_caps_from_string ("video/x-raw,format=GRAY8,width=16,"
      "height=12,framerate=0/1");
  GstBuffer *buf = gst_buffer_new_allocate (NULL, 16 * 12, NULL);
  GstSample *sample;

  gst_buffer_memset (buf, 0, 0, 16 * 12);
  gst_buffer_memset (buf, 16 * 4, 1, 16 * 4);
  sample = gst_sample_new (buf, caps, NULL, NULL);
  gst_buffer_unref (buf);
  gst_caps_unref (caps);
  return sample;
}

void
sam_write_picture (const gchar * format, const gchar * pattern,
    const gchar * location)
{
  gchar *text = g_strdup_printf ("videotestsrc num-buffers=1 %s ! "
      "video/x-raw,%s ! pngenc ! filesink location=\"%s\"", pattern, format,
      location);
  GstElement *pipeline = gst_parse_launch (text, NULL);
  GstBus *bus;

  fail_unless (pipeline != NULL);
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_message_unref (gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE,
          GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  g_free (text);
}

void
sam_write_png (const gchar * location)
{
  sam_write_picture ("format=GRAY8,width=32,height=24", "pattern=circular",
      location);
}

gchar *sam_folder, *sam_file;

void
sam_folder_make (const gchar * name)
{
  sam_folder = g_dir_make_tmp ("samtrack-XXXXXX", NULL);
  fail_unless (sam_folder != NULL);
  sam_file = g_build_filename (sam_folder, name, NULL);
}

void
sam_folder_remove (void)
{
  g_unlink (sam_file);
  fail_unless (g_rmdir (sam_folder) == 0);
  g_free (sam_file);
  g_free (sam_folder);
}

void
sam_add_region (GstBuffer * buf, const gchar * name, gint x, gint y, gint w,
    gint h, gdouble score)
{
  GstVideoRegionOfInterestMeta *region =
      gst_buffer_add_video_region_of_interest_meta (buf, name, x, y, w, h);

  gst_video_region_of_interest_meta_add_param (region,
      gst_structure_new ("detection", "confidence", G_TYPE_DOUBLE, score,
          NULL));
}

void
sam_expect_refusal (const gchar * launch, const gchar * text, gint code)
{
  GstElement *element = gst_parse_launch (launch, NULL);
  GstBus *bus = gst_bus_new ();
  GstMessage *message;
  GError *error = NULL;

  fail_unless (element != NULL, "%s does not parse", launch);
  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  fail_unless (gst_element_set_state (element, GST_STATE_PAUSED) ==
      GST_STATE_CHANGE_FAILURE, "%s starts", launch);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (strstr (error->message, text) != NULL, "%s: '%s'", launch,
      error->message);
  fail_unless_equals_int (error->code, code);
  g_error_free (error);
  gst_message_unref (message);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_object_unref (element);
}

GstBus *
sam_harness_add_bus (GstHarness * h)
{
  GstBus *bus = gst_bus_new ();

  gst_element_set_bus (h->element, bus);
  return bus;
}

void
sam_harness_close (GstHarness * h, GstBus * bus)
{
  gst_element_set_bus (h->element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (h);
}

guint
sam_count_messages (GstBus * bus, GstMessageType type, gchar ** text)
{
  GstMessage *message;
  guint n = 0;

  while ((message = gst_bus_pop_filtered (bus, type))) {
    GError *error = NULL;

    if (type == GST_MESSAGE_WARNING)
      gst_message_parse_warning (message, &error, NULL);
    else if (type == GST_MESSAGE_ERROR)
      gst_message_parse_error (message, &error, NULL);
    if (error && text) {
      g_free (*text);
      *text = g_strdup (error->message);
    }
    g_clear_error (&error);
    gst_message_unref (message);
    n++;
  }
  return n;
}

/* The leaks tracer knows every object and mini object that is alive. */
static void
check_leaks (void)
{
  GList *tracers = gst_tracing_get_active_tracers (), *l;
  gboolean found = FALSE;

  for (l = tracers; l; l = l->next) {
    GstStructure *live = NULL;
    const GValue *list;
    guint i, n;

    if (strcmp (G_OBJECT_TYPE_NAME (l->data), "GstLeaksTracer"))
      continue;
    found = TRUE;
    g_signal_emit_by_name (l->data, "get-live-objects", &live);
    list = gst_structure_get_value (live, "live-objects-list");
    n = list ? gst_value_list_get_size (list) : 0;
    for (i = 0; i < n; i++) {
      gchar *text = gst_value_serialize (gst_value_list_get_value (list, i));

      g_printerr ("leaked: %s\n", text);
      g_free (text);
    }
    gst_structure_free (live);
    fail_unless_equals_int (n, 0);
  }
  g_list_free_full (tracers, gst_object_unref);
  fail_unless (found, "GST_TRACERS does not hold leaks");
}

static void
use_tiny_model (void)
{
  const gchar *name = g_getenv ("SAMTRACK_TINY_MODEL");

  fail_unless (name != NULL);
  g_setenv ("SAMTRACK_MODEL", name, TRUE);
}

static TCase *
add_tcase (Suite * suite, const gchar * name, SFun setup)
{
  TCase *tc = tcase_create (name);

  suite_add_tcase (suite, tc);
  tcase_add_checked_fixture (tc, setup, check_leaks);
  tcase_set_timeout (tc, 240);
  return tc;
}

TCase *
sam_tcase_new (Suite * suite, const gchar * name)
{
  return add_tcase (suite, name, NULL);
}

TCase *
sam_tcase_new_tiny (Suite * suite, const gchar * name)
{
  return add_tcase (suite, name, use_tiny_model);
}
