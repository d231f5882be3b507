/* SPDX-License-Identifier: MIT */
/* GstSamTrackMeta on its way through other elements. */

#include "samcheck.h"

/* What comes out of @launch, behind a tracker with frames of 320 x 240. */
static GstBuffer *
run_through (GstHarness ** h, const gchar * launch)
{
  gchar *text = g_strdup_printf ("samtrack initial-prompt=" SQUARE_BOX " ! %s",
      launch);

  *h = gst_harness_new_parse (text);
  gst_harness_set_live (*h, FALSE);
  g_free (text);
  gst_harness_set_src_caps_str (*h,
      "video/x-raw,format=I420,width=320,height=240,framerate=30/1");
  gst_harness_push (*h, sam_harness_frame (*h, 0));
  return gst_harness_pull (*h);
}

GST_START_TEST (test_it_is_copied)
{
  static const gchar *chains[] = { "queue", "tee ! queue",
    "videobalance saturation=0.5",
    "videoconvert ! capsfilter caps=video/x-raw,format=RGBA", "identity"
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (chains); i++) {
    GstHarness *h;
    GstBuffer *buf = run_through (&h, chains[i]);
    const GstStructure *meta = sam_get_meta (buf);

    fail_unless_equals_int (sam_get_int (meta, "width"), 320);
    fail_unless_equals_int (sam_get_num_objects (meta), 1);
    fail_unless (sam_meta_iou (meta, 0) > SAME_IOU, "%s", chains[i]);
    gst_buffer_unref (buf);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

GST_START_TEST (test_it_is_scaled)
{
  GstHarness *h, *plain;
  GstBuffer *whole = run_through (&plain, "identity");
  GstBuffer *half = run_through (&h,
      "videoscale ! capsfilter caps=video/x-raw,width=160,height=60");
  const GstStructure *from = sam_get_meta (whole), *to = sam_get_meta (half);
  const GstStructure *a = sam_get_object (from, 0), *b = sam_get_object (to, 0);

  fail_unless_equals_int (sam_get_int (to, "width"), 160);
  fail_unless_equals_int (sam_get_int (to, "height"), 60);
  fail_unless_equals_int (sam_get_int (to, "mask-w"), 160);
  fail_unless_equals_int (sam_get_int (to, "mask-h"), 60);
  fail_unless (ABS (sam_get_int (a, "x") / 2.0 - sam_get_int (b, "x")) <= 0.5);
  fail_unless (ABS (sam_get_int (a, "y") / 4.0 - sam_get_int (b, "y")) <= 0.5);
  fail_unless (ABS (sam_get_int (a, "w") / 2.0 - sam_get_int (b, "w")) <= 1);
  fail_unless (ABS (sam_get_int (a, "h") / 4.0 - sam_get_int (b, "h")) <= 1);
  fail_unless (ABS (sam_get_uint (a, "area") / 8.0 -
          sam_get_uint (b, "area")) <= 1);
  fail_unless_equals_uint64 (sam_get_id (to, 0), sam_get_id (from, 0));
  fail_unless_equals_string (gst_structure_get_string (b, "state"), "new");
  /* the mask is stretched over the frame, so it stays as it is */
  fail_unless (sam_meta_iou (to, 0) == sam_meta_iou (from, 0));
  gst_buffer_unref (half);
  gst_buffer_unref (whole);
  gst_harness_teardown (plain);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A tracked frame of the scene, as it would come from samtrack. */
static GstBuffer *
new_tracked (const gchar * caps)
{
  GstHarness *h = gst_harness_new_parse ("samtrack initial-prompt=" SQUARE_BOX);
  GstBuffer *buf;

  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h, caps);
  buf = sam_harness_run (h, 0);
  gst_harness_teardown (h);
  return buf;
}

static GstBuffer *
push_through (const gchar * launch, const gchar * caps, GstBuffer * frame)
{
  GstHarness *h = gst_harness_new_parse (launch);
  GstBuffer *buf;

  gst_harness_set_src_caps_str (h, caps);
  buf = gst_harness_push_and_pull (h, gst_buffer_copy_deep (frame));
  gst_harness_teardown (h);
  return buf;
}

static guint
count_differences (GstBuffer * a, GstBuffer * b, gint tolerance)
{
  GstMapInfo p, q;
  guint n = 0;
  gsize i;

  fail_unless (gst_buffer_map (a, &p, GST_MAP_READ));
  fail_unless (gst_buffer_map (b, &q, GST_MAP_READ));
  fail_unless_equals_int (p.size, q.size);
  for (i = 0; i < p.size; i += 4) {
    n += ABS (p.data[i] - q.data[i]) > tolerance ||
        ABS (p.data[i + 1] - q.data[i + 1]) > tolerance ||
        ABS (p.data[i + 2] - q.data[i + 2]) > tolerance;
  }
  gst_buffer_unmap (a, &p);
  gst_buffer_unmap (b, &q);
  return n;
}

#define DRAW "samoverlay opacity=1 draw-outlines=false draw-ids=false " \
    "draw-scores=false"

/* @to of GStreamer's scaler; whether the picture is known to fill the frame. */
static const struct
{
  const gchar *from, *to;
  gboolean kept;
} scalings[] = {
  {"width=320,height=240,pixel-aspect-ratio=1/1", "width=160,height=120", TRUE},
  {"width=320,height=240,pixel-aspect-ratio=1/1", "width=160,height=200", TRUE},
  {"width=320,height=240,pixel-aspect-ratio=2/1",
      "width=320,height=120,pixel-aspect-ratio=1/1", TRUE},
  {"width=320,height=240,pixel-aspect-ratio=16/15",
      "width=640,height=480,pixel-aspect-ratio=16/15", TRUE},
  {"width=320,height=180,pixel-aspect-ratio=1/1",
      "width=426,height=240,pixel-aspect-ratio=1/1", TRUE},
  {"width=320,height=180,pixel-aspect-ratio=1/1",
      "width=214,height=120,pixel-aspect-ratio=1/1", TRUE},
  {"width=320,height=240,pixel-aspect-ratio=1/1",
      "width=320,height=320,pixel-aspect-ratio=1/1", FALSE},
  {"width=320,height=240,pixel-aspect-ratio=1/1",
      "width=640,height=240,pixel-aspect-ratio=1/1", FALSE},
  {"width=320,height=240,pixel-aspect-ratio=1/1",
      "width=320,height=240,pixel-aspect-ratio=2/1", FALSE},
  {"width=320,height=240,pixel-aspect-ratio=4/3",
      "width=320,height=180,pixel-aspect-ratio=4/3", FALSE},
};

/* The tracked @frame, scaled and drawn on, must be drawn on and scaled, whether
 * there are bars or not, unless the meta is dropped. */
static void
check_scaling (guint i, const gchar * scaler, const gchar * caps,
    GstBuffer * frame)
{
  gchar *after = g_strdup_printf ("%s ! capsfilter "
      "caps=video/x-raw,format=RGBA,%s ! " DRAW, scaler, scalings[i].to);
  gchar *before = g_strdup_printf (DRAW " ! %s ! capsfilter "
      "caps=video/x-raw,format=RGBA,%s", scaler, scalings[i].to);
  GstBuffer *a = push_through (after, caps, frame);
  GstBuffer *b = push_through (before, caps, frame);
  GstCustomMeta *meta = gst_buffer_get_custom_meta (a, "GstSamTrackMeta");
  const GstStructure *object;
  guint differences, limit;

  fail_if (scalings[i].kept && !meta, "%s, %s to %s: the meta is lost", scaler,
      scalings[i].from, scalings[i].to);
  if (meta) {
    object = sam_get_object (gst_custom_meta_get_structure (meta), 0);
    /* along the edge, two pixels of the tracked frame wide */
    limit = 2 * 2 * (sam_get_int (object, "w") + sam_get_int (object, "h")) *
        MAX (1, sam_get_int (gst_custom_meta_get_structure (meta), "width") /
        320.);
    differences = count_differences (a, b, 24);
    fail_unless (differences < limit, "%s, %s to %s: %u pixels differ", scaler,
        scalings[i].from, scalings[i].to, differences);
  }
  gst_buffer_unref (a);
  gst_buffer_unref (b);
  g_free (before);
  g_free (after);
}

GST_START_TEST (test_scaling_comes_before_or_after_drawing)
{
  static const gchar *scalers[] = { "videoscale",
    "videoscale add-borders=false", "videoconvertscale"
  };
  gchar *caps = g_strdup_printf ("video/x-raw,format=RGBA,framerate=30/1,%s",
      scalings[__i__].from);
  GstBuffer *frame = new_tracked (caps);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (scalers); i++) {
    GstElementFactory *factory = gst_element_factory_find (i < 2 ?
        "videoscale" : scalers[i]);

    fail_unless (factory || i == 2);    /* videoconvertscale: since 1.22 */
    if (factory)
      check_scaling (__i__, scalers[i], caps, frame);
    gst_clear_object (&factory);
  }
  gst_buffer_unref (frame);
  g_free (caps);
}

GST_END_TEST;

/* Two trackers in series, of other objects but the same ids. */
GST_START_TEST (test_each_tracker_has_its_own)
{
  static const gchar *names[] = { "cars", "people" };
  GstHarness *h = gst_harness_new_parse ("samtrack name=cars initial-prompt="
      SQUARE_BOX " ! samtrack name=people initial-prompt=point,x=10,y=10");
  GstBuffer *buf;
  gpointer state = NULL;
  GstMeta *meta;
  GType api;
  guint n = 0;

  api = gst_meta_get_info ("GstSamTrackMeta")->api;     /* the plugin is loaded */
  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=I420,width=320,height=240,framerate=30/1");
  buf = sam_harness_run (h, 0);
  while ((meta = gst_buffer_iterate_meta_filtered (buf, &state, api))) {
    const GstStructure *s =
        gst_custom_meta_get_structure ((GstCustomMeta *) meta);

    fail_unless (n < G_N_ELEMENTS (names), "more than two metas");
    fail_unless_equals_string (gst_structure_get_string (s, "source"),
        names[n]);
    fail_unless_equals_uint64 (sam_get_id (s, 0), 1);
    n++;
  }
  fail_unless_equals_int (n, 2);
  state = NULL;
  n = 0;
  while ((meta = gst_buffer_iterate_meta_filtered (buf, &state,
              GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    const GstStructure *s =
        gst_video_region_of_interest_meta_get_param
        ((GstVideoRegionOfInterestMeta *) meta, "samtrack");

    fail_unless (s != NULL && n < G_N_ELEMENTS (names));
    fail_unless_equals_string (gst_structure_get_string (s, "source"),
        names[n++]);
  }
  fail_unless_equals_int (n, 2);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Cut or turned frames lose it: better none than a wrong one. From 1.28 on the
 * elements tell how they move the picture, and it moves with it (the test
 * transforms); videoflip of 1.28.8 then leaks masks of GstAnalytics, which its
 * gstanalyticssegmentationmtd.c refers to again and does not take over. */
GST_START_TEST (test_it_is_lost_rather_than_wrong)
{
  static const gchar *const changes[] = { "videocrop left=80",
    "videoflip video-direction=90r", "videoflip video-direction=horiz"
  };
  GstHarness *h;
  GstBuffer *buf = run_through (&h, changes[__i__]);

  fail_unless ((gst_buffer_get_custom_meta (buf, "GstSamTrackMeta") != NULL) ==
      GST_CHECK_VERSION (1, 28, 0), "%s", changes[__i__]);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A frame of 64 x 48 whose meta says what no tracker says. */
static GstBuffer *
new_hostile_frame (GstHarness * h, gint width, gint height, guint area)
{
  GstBuffer *buf = sam_harness_frame (h, 0);
  GstStructure *s = gst_custom_meta_get_structure (gst_buffer_add_custom_meta
      (buf, "GstSamTrackMeta"));
  GValue objects = G_VALUE_INIT, object = G_VALUE_INIT;

  g_value_init (&objects, GST_TYPE_ARRAY);
  g_value_init (&object, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&object, gst_structure_new ("object", "id",
          G_TYPE_UINT64, G_GUINT64_CONSTANT (1), "slot", G_TYPE_UINT, 1,
          "score", G_TYPE_DOUBLE, 1.0, "iou", G_TYPE_DOUBLE, 1.0, "x",
          G_TYPE_INT, 0, "y", G_TYPE_INT, 0, "w", G_TYPE_INT, 10, "h",
          G_TYPE_INT, 10, "area", G_TYPE_UINT, area, NULL));
  gst_value_array_append_and_take_value (&objects, &object);
  gst_structure_set (s, "version", G_TYPE_UINT, 1, "width", G_TYPE_INT, width,
      "height", G_TYPE_INT, height, "state", G_TYPE_STRING, "ok", NULL);
  gst_structure_take_value (s, "objects", &objects);
  return buf;
}

GST_START_TEST (test_sizes_that_would_overflow)
{
  /* the names of GstSamTrackMeta are registered by the plugin */
  GstElement *track = gst_element_factory_make ("samtrack", NULL);
  GstHarness *h = gst_harness_new_parse ("videoscale ! "
      "capsfilter caps=video/x-raw,width=640,height=480");
  const GstStructure *meta;
  GstBuffer *buf;

  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  buf = gst_harness_push_and_pull (h, new_hostile_frame (h, 64, 48,
          G_MAXUINT));
  meta = sam_get_meta (buf);
  fail_unless_equals_int (sam_get_int (meta, "width"), 640);
  /* where the picture's way is known, an area is that of a box at most */
  fail_unless_equals_uint64 (sam_get_uint (sam_get_object (meta, 0), "area"),
      GST_CHECK_VERSION (1, 28, 0) ? 100 * 100 : 640 * 480);
  gst_buffer_unref (buf);
  buf = gst_harness_push_and_pull (h, new_hostile_frame (h, G_MAXINT, 48, 9));
  meta = sam_get_meta (buf);
  fail_unless_equals_int (sam_get_int (meta, "width"), G_MAXINT);
  fail_unless_equals_int (sam_get_int (meta, "height"), 480);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
  gst_object_unref (gst_object_ref_sink (track));
}

GST_END_TEST;

/* The region of that object, found by the id that its parameters hold. */
static GstVideoRegionOfInterestMeta *
find_region (GstBuffer * buf, guint64 id)
{
  GstVideoRegionOfInterestMeta *roi;
  gpointer state = NULL;

  while ((roi = (GstVideoRegionOfInterestMeta *)
          gst_buffer_iterate_meta_filtered (buf, &state,
              GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    if (sam_get_uint64 (gst_video_region_of_interest_meta_get_param (roi,
                "samtrack"), "id") == id)
      return roi;
  }
  return NULL;
}

/* Of 4294967298 32 bits are 2, which is another object. */
GST_START_TEST (test_ids_of_more_than_31_bits_are_not_cut)
{
  static const guint64 ids[] = { 2, G_MAXINT, G_GUINT64_CONSTANT (2147483648),
    G_GUINT64_CONSTANT (4294967298)
  };
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=\"" SQUARE_BOX
      ",id=2;" SQUARE_BOX ",id=2147483647;" SQUARE_BOX ",id=2147483648;"
      SQUARE_BOX ",id=4294967298\"", GST_VIDEO_FORMAT_I420, 320, 240);
  GstBuffer *buf = sam_harness_run (h, 0);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (ids); i++) {
    GstVideoRegionOfInterestMeta *roi = find_region (buf, ids[i]);
    const gboolean fits = ids[i] <= G_MAXINT;
    GstStructure *param;

    fail_unless (roi != NULL, "no region of %" G_GUINT64_FORMAT, ids[i]);
    fail_unless_equals_int (roi->id, fits ? ids[i] : 0);
    param = gst_video_region_of_interest_meta_get_param (roi, "object_id");
    fail_unless (fits == (param != NULL));
    if (param) {
      fail_unless_equals_int (sam_get_int (param, "id"), ids[i]);
    }
  }
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

#if GST_CHECK_VERSION (1, 24, 0)
/* As unixfdsink and cudaipcsink send it: all fields, those in arrays and the
 * pixels of masks, too. */
GST_START_TEST (test_serialized)
{
  GstHarness *h = sam_harness_new ("samtrack mask-type=probability",
      GST_VIDEO_FORMAT_GRAY8, 64, 48);
  GstBuffer *buf, *other = gst_buffer_new ();
  GByteArray *data = g_byte_array_new ();
  const GstStructure *sent;
  guint32 used = 0;

  g_signal_emit_by_name (h->element, "prompt",
      SQUARE_BOX ",label=\"Stuhl; \316\264\"");
  buf = sam_harness_run (h, 0);
  sent = sam_get_meta (buf);
  fail_unless_equals_int (sam_get_num_objects (sent), 1);
  fail_unless (gst_structure_has_field (sent, "mask") &&
      gst_structure_has_field (sent, "probability") &&
      gst_structure_has_field (sam_get_object (sent, 0), "label"));
  fail_unless (gst_meta_serialize_simple ((GstMeta *)
          gst_buffer_get_custom_meta (buf, "GstSamTrackMeta"), data));
  fail_unless (gst_meta_deserialize (other, data->data, data->len, &used));
  fail_unless_equals_int (used, data->len);
  fail_unless (gst_structure_is_equal (sam_get_meta (other), sent),
      "%" GST_PTR_FORMAT " became %" GST_PTR_FORMAT, sent,
      sam_get_meta (other));
  g_byte_array_unref (data);
  gst_buffer_unref (other);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;
#endif

static Suite *
meta_suite (void)
{
  Suite *s = suite_create ("meta");
  TCase *tc = sam_tcase_new (s, "transforms");

  tcase_add_test (tc, test_it_is_copied);
  tcase_add_test (tc, test_each_tracker_has_its_own);
  tcase_add_test (tc, test_it_is_scaled);
  tcase_add_loop_test (tc, test_scaling_comes_before_or_after_drawing, 0,
      G_N_ELEMENTS (scalings));
  tcase_add_loop_test (tc, test_it_is_lost_rather_than_wrong, 0,
      GST_CHECK_VERSION (1, 28, 0) ? 1 : 3);
  tcase_add_test (tc, test_sizes_that_would_overflow);
  tcase_add_test (tc, test_ids_of_more_than_31_bits_are_not_cut);
#if GST_CHECK_VERSION (1, 24, 0)
  tcase_add_test (tc, test_serialized);
#endif
  return s;
}

GST_CHECK_MAIN (meta);
