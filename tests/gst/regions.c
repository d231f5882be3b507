/* SPDX-License-Identifier: MIT */
/* Regions of interest of a detector upstream, as they may be: damaged, many, of
 * other elements; before a flush. And the properties that they go with. */

#include "samcheck.h"

#include <math.h>
#include <string.h>

static void
add_bad_region (GstBuffer * buf, GRand * rand)
{
  static const gchar *names[] = { "car", "", "a\xff\xc3", "x y/z;\"'\\,",
    "a name that is far longer than any name of a class of things should be, "
        "and goes on and on"
  };
  static const guint sizes[] = { 0, 1, 7, 20, 64, 100, G_MAXINT, G_MAXUINT };
  static const gdouble scores[] = { 0, 0.3, 0.7, 0.9, 1, -1, 2, NAN, INFINITY };
  const guint kind = g_rand_int (rand) % 8;
  gchar *name = kind == 7 ? g_strdup_printf ("class %u",
      g_rand_int (rand) % 2000) : g_strdup (names[kind % 5]);

  sam_add_region (buf, name, sizes[g_rand_int (rand) % 8],
      sizes[g_rand_int (rand) % 8], sizes[g_rand_int (rand) % 8],
      sizes[g_rand_int (rand) % 8], scores[g_rand_int (rand) % 9]);
  g_free (name);
}

/* Whatever stands in the regions: no more objects than there may be, and every
 * label can be written. */
GST_START_TEST (test_hostile_regions)
{
  const guint seed = 20261123;
  GRand *rand = g_rand_new_with_seed (seed);
  GstHarness *h = sam_harness_new ("samtrack prompt-source=roi max-objects=3",
      GST_VIDEO_FORMAT_RGBA, 128, 96);
  guint i, shown = 0;

  g_print ("seed %u\n", seed);
  gst_harness_play (h);
  for (i = 0; i < 60; i++) {
    const guint many = i % 20 == 7 ? 6000 : g_rand_int (rand) % 40;
    GstBuffer *buf = sam_harness_frame (h, i);
    guint k;

    for (k = 0; k < many; k++)
      add_bad_region (buf, rand);
    buf = gst_harness_push_and_pull (h, buf);
    shown += sam_check_objects (sam_get_meta (buf), 3);
    gst_buffer_unref (buf);
  }
  fail_unless (shown > 0, "nothing was ever shown");
  g_rand_free (rand);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Regions that a samtrack wrote are objects already, and no detections. */
GST_START_TEST (test_own_regions)
{
  GstHarness *h = gst_harness_new_parse ("samtrack initial-prompt=\"" SQUARE_BOX
      "\" ! samtrack name=second prompt-source=roi roi-empty=true");
  GstElement *e;
  guint i;

  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h, "video/x-raw,format=RGBA,width=128,"
      "height=96,framerate=30/1");
  for (i = 0; i < 5; i++)
    gst_buffer_unref (sam_harness_run (h, i));
  e = gst_bin_get_by_name (GST_BIN (h->element), "second");
  fail_unless_equals_uint64 (sam_get_seeding (e, "ticks"), 5);
  fail_unless_equals_uint64 (sam_get_seeding (e, "detections"), 0);
  gst_object_unref (e);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A flush, while a box waits for the next frame: ids go on, objects begin anew,
 * also where that box was, and nothing is refused. Nor is it at the end. */
GST_START_TEST (test_flush)
{
  GstHarness *h = sam_harness_new ("samtrack prompt-source=roi",
      GST_VIDEO_FORMAT_RGBA, 128, 96);
  GstBus *bus = sam_harness_add_bus (h);
  guint64 ids[2] = { 0, };
  GstSegment segment;
  guint round, i;

  gst_harness_play (h);
  for (round = 0; round < 2; round++) {
    for (i = 0; i < 4; i++) {
      GstBuffer *buf = sam_harness_frame (h, i);

      if (i != 1)
        sam_add_region (buf, "square", 32, 24, 48, 48, 0.9);
      if (i == 3 || round == 1)
        sam_add_region (buf, "corner", 100, 60, 20, 20, 0.9);
      if (i == 3)
        sam_add_region (buf, "other", 4, 4, 20, 16, 0.9);
      buf = gst_harness_push_and_pull (h, buf);
      if (i == 2) {
        fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)),
            round + 1);
        ids[round] = sam_get_id (sam_get_meta (buf), 0);
      }
      gst_buffer_unref (buf);
    }
    if (round == 1)
      break;
    gst_harness_push_event (h, gst_event_new_flush_start ());
    gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_harness_push_event (h, gst_event_new_segment (&segment));
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless (ids[1] > ids[0], "%" G_GUINT64_FORMAT " after %"
      G_GUINT64_FORMAT, ids[1], ids[0]);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Bytes of the last of three frames that the overlay has changed. */
static guint
count_drawn (const gchar * properties)
{
  gchar *launch = g_strdup_printf ("samtrack prompt-source=roi ! samoverlay "
      "draw-masks=false draw-outlines=false draw-scores=false draw-ids=false %s",
      properties);
  GstHarness *h = gst_harness_new_parse (launch);
  GstMapInfo was, is;
  GstBuffer *buf;
  guint i, n = 0;
  gsize p;

  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h, "video/x-raw,format=RGBA,width=128,"
      "height=96,framerate=30/1");
  for (i = 0; i < 3; i++) {
    GstBuffer *before = sam_harness_frame (h, i);

    buf = sam_harness_frame (h, i);
    sam_add_region (buf, "thing", 32, 24, 48, 48, 0.9);
    buf = gst_harness_push_and_pull (h, buf);
    fail_unless (gst_buffer_map (before, &was, GST_MAP_READ));
    fail_unless (gst_buffer_map (buf, &is, GST_MAP_READ));
    for (n = 0, p = 0; p < is.size; p++)
      n += was.data[p] != is.data[p];
    gst_buffer_unmap (buf, &is);
    gst_buffer_unmap (before, &was);
    gst_buffer_unref (before);
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
  g_free (launch);
  return n;
}

GST_START_TEST (test_label_on_the_overlay)
{
  fail_unless (count_drawn ("") > 100, "%u bytes", count_drawn (""));
  fail_unless_equals_int (count_drawn ("draw-labels=false"), 0);
}

GST_END_TEST;

/* A faint patch where the square was, a little to the right. */
static void
draw_patch (GstBuffer * buf)
{
  GstMapInfo map;
  gint x, y, c;

  fail_unless (gst_buffer_map (buf, &map, GST_MAP_READWRITE));
  for (y = 24; y < 72; y++) {
    for (x = 40; x < 88; x++) {
      for (c = 0; c < 3; c++)
        map.data[4 * (y * 128 + x) + c] += 40;
    }
  }
  gst_buffer_unmap (buf, &map);
}

/* A thing of the class vanishes, and one that looks otherwise comes: it takes
 * the detector to see that it is the same. */
GST_START_TEST (test_reacquisition)
{
  GstHarness *h = sam_harness_new ("samtrack prompt-source=roi lost-frames=4",
      GST_VIDEO_FORMAT_RGBA, 128, 96);
  GstVideoInfo info;
  guint64 id = 0;
  guint i, shown = 0;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 128, 96);
  info.fps_n = 30;
  gst_harness_play (h);
  for (i = 0; i < 24; i++) {
    GstBuffer *buf = sam_frame_new (&info, i < 4 ? 0 : 2);
    const GstStructure *meta;

    GST_BUFFER_PTS (buf) = i * GST_SECOND / 30;
    if (i < 4)
      sam_add_region (buf, "thing", 32, 24, 48, 48, 0.9);
    if (i >= 16)
      draw_patch (buf);
    if (i == 16)
      sam_add_region (buf, "thing", 40, 24, 48, 48, 0.9);
    buf = gst_harness_push_and_pull (h, buf);
    meta = sam_get_meta (buf);
    if (i == 3)
      id = sam_get_id (meta, 0);
    fail_if (i > 10 && i < 16 && sam_get_num_objects (meta),
        "frame %u: an object that has vanished is shown", i);
    shown += i > 17 && sam_get_num_objects (meta) == 1 &&
        sam_get_id (meta, 0) == id &&
        sam_get_double (sam_get_object (meta, 0), "score") > 0;
    gst_buffer_unref (buf);
  }
  fail_unless (id > 0);
  fail_unless (shown >= 5, "shown on %u of 6 frames", shown);
  gst_harness_teardown (h);
}

GST_END_TEST;

static void
expect_refusal (const gchar * launch, const gchar * text)
{
  sam_expect_refusal (launch, text, GST_RESOURCE_ERROR_SETTINGS);
}

GST_START_TEST (test_refusals)
{
  expect_refusal ("samtrack prompt-source=roi seed-options=no-such=1",
      "'no-such'");
  expect_refusal ("samtrack prompt-source=roi "
      "seed-options=prompt-gap=1.5", "prompt-gap=1.5, expected a whole");
  expect_refusal ("samtrack prompt-source=roi "
      "seed-options=reacquire-iou=(string)x", "reacquire-iou=x");
  expect_refusal ("samtrack prompt-source=roi "
      "seed-options=reacquire-iou=7.0", "reacquire_iou is 7");
  expect_refusal ("samtrack prompt-source=roi seed-options=\"a b\"",
      "is 'a b', expected");
  expect_refusal ("samtrack prompt-source=roi confirm-hits=4",
      "confirm_window has 3");
  expect_refusal ("samtrack prompt-source=roi roi=<0.0,0.5,1.0>",
      "roi has 3 numbers");
}

GST_END_TEST;

GST_START_TEST (test_properties)
{
  GstElement *track = gst_element_factory_make ("samtrack", NULL);
  gchar *options = NULL;
  gint interval = 0, source = 1;
  gdouble score = 0;
  gboolean on_loss = FALSE;

  sam_read_properties (G_OBJECT (track));
  g_object_get (track, "detect-interval", &interval, "seed-score", &score,
      "detect-on-loss", &on_loss, "seed-options", &options, "prompt-source",
      &source, NULL);
  fail_unless_equals_int (interval, 15);
  fail_unless (fabs (score - 0.6) < 1e-6);
  fail_unless (on_loss && !options && !source);
  gst_util_set_object_arg (G_OBJECT (track), "roi", "<0.25,0.0,1.0,0.5>");
  gst_util_set_object_arg (G_OBJECT (track), "keep-alive", "9");
  sam_read_properties (G_OBJECT (track));
  g_object_get (track, "keep-alive", &interval, NULL);
  fail_unless_equals_int (interval, 9);
  gst_object_unref (track);
}

GST_END_TEST;

static Suite *
regions_suite (void)
{
  Suite *s = suite_create ("regions");
  TCase *tc = sam_tcase_new_tiny (s, "regions");

  tcase_add_test (tc, test_properties);
  tcase_add_test (tc, test_refusals);
  tcase_add_test (tc, test_own_regions);
  tcase_add_test (tc, test_hostile_regions);
  tcase_add_test (tc, test_flush);
  tcase_add_test (tc, test_label_on_the_overlay);
  /* Only a trained model sees that a thing has vanished. */
  tc = sam_tcase_new (s, "reacquisition");
  tcase_add_test (tc, test_reacquisition);
  return s;
}

GST_CHECK_MAIN (regions);
