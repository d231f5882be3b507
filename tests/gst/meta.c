/* GstSamTrackMeta on its way through other elements. */

#include "samcheck.h"

/* What comes out of @launch, behind a tracker with frames of 320 x 240. */
static GstBuffer *
run_through (GstHarness ** h, const gchar * launch)
{
  gchar *text = g_strdup_printf ("samtrack initial-prompt=" SQUARE_BOX " ! %s",
      launch);

  *h = gst_harness_new_parse (text);
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
    fail_unless (sam_meta_iou (meta, 0) > GOOD_IOU, "%s", chains[i]);
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

/* Scaled and drawn on must be drawn on and scaled, whether there are bars or
 * not, unless the meta is dropped. */
static void
check_scaling (guint i, const gchar * scaler)
{
  gchar *caps = g_strdup_printf ("video/x-raw,format=RGBA,framerate=30/1,%s",
      scalings[i].from);
  gchar *after = g_strdup_printf ("%s ! capsfilter "
      "caps=video/x-raw,format=RGBA,%s ! " DRAW, scaler, scalings[i].to);
  gchar *before = g_strdup_printf (DRAW " ! %s ! capsfilter "
      "caps=video/x-raw,format=RGBA,%s", scaler, scalings[i].to);
  GstBuffer *frame = new_tracked (caps);
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
  gst_buffer_unref (frame);
  g_free (before);
  g_free (after);
  g_free (caps);
}

GST_START_TEST (test_scaling_comes_before_or_after_drawing)
{
  static const gchar *scalers[] = { "videoscale",
    "videoscale add-borders=false", "videoconvertscale"
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (scalers); i++) {
    GstElementFactory *factory = gst_element_factory_find (i < 2 ?
        "videoscale" : scalers[i]);

    fail_unless (factory || i == 2);    /* videoconvertscale: since 1.22 */
    if (factory)
      check_scaling (__i__, scalers[i]);
    gst_clear_object (&factory);
  }
}

GST_END_TEST;

/* Cut or turned frames lose it: better none than a wrong one. */
GST_START_TEST (test_it_is_lost_rather_than_wrong)
{
  GstHarness *h;
  GstBuffer *buf = run_through (&h, "videocrop left=80");
  GstCustomMeta *meta = gst_buffer_get_custom_meta (buf, "GstSamTrackMeta");

  /* later releases of GStreamer may know how to move it */
  if (meta)
    fail_unless_equals_int (sam_get_int (gst_custom_meta_get_structure (meta),
            "width"), 240);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The area of a square with a hole of a hundredth of the frame, as the element
 * shows it. */
static guint
area_with_a_hole (const gchar * element)
{
  GstHarness *h =
      sam_harness_new (element, GST_VIDEO_FORMAT_I420, 320, 240);
  GstBuffer *buf = gst_buffer_new_allocate (NULL, 64 * 48, NULL);
  GstCaps *caps = gst_caps_from_string ("video/x-raw,format=GRAY8,width=64,"
      "height=48,framerate=0/1");
  GstSample *mask;
  guint64 id = 0;
  guint area, y;

  gst_buffer_memset (buf, 0, 0, 64 * 48);
  for (y = 12; y < 36; y++)
    gst_buffer_memset (buf, y * 64 + 16, 1, 24);
  for (y = 20; y < 25; y++)
    gst_buffer_memset (buf, y * 64 + 24, 0, 6);
  mask = gst_sample_new (buf, caps, NULL, NULL);
  gst_buffer_unref (buf);
  g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0), mask,
      &id);
  buf = gst_harness_push_and_pull (h, sam_harness_frame (h, 0));
  area = sam_get_uint (sam_get_object (sam_get_meta (buf), 0), "area");
  gst_buffer_unref (buf);
  gst_sample_unref (mask);
  gst_caps_unref (caps);
  gst_harness_teardown (h);
  return area;
}

GST_START_TEST (test_holes_are_filled)
{
  /* 24 x 24 of 64 x 48, less 6 x 5; 40 pixels of a mask of 64 x 64 */
  const gint whole = 24 * 24 * 25, hole = 6 * 5 * 25;
  const gint open = area_with_a_hole ("samtrack");
  const gint too_small = area_with_a_hole ("samtrack fill-holes=8");
  const gint filled = area_with_a_hole ("samtrack fill-holes=80");

  fail_unless (ABS (open - (whole - hole)) < hole / 2, "%d", open);
  fail_unless_equals_int (too_small, open);
  fail_unless (ABS (filled - whole) < hole / 2, "%d", filled);
  fail_unless (filled > open + hole / 2, "%d of %d", filled, open);
}

GST_END_TEST;

static Suite *
meta_suite (void)
{
  Suite *s = suite_create ("meta");
  TCase *tc = sam_tcase_new (s, "transforms");

  tcase_add_test (tc, test_it_is_copied);
  tcase_add_test (tc, test_it_is_scaled);
  tcase_add_loop_test (tc, test_scaling_comes_before_or_after_drawing, 0,
      G_N_ELEMENTS (scalings));
  tcase_add_test (tc, test_it_is_lost_rather_than_wrong);
  tcase_add_test (tc, test_holes_are_filled);
  return s;
}

GST_CHECK_MAIN (meta);
