/* SPDX-License-Identifier: MIT */
/* detector-file: a detector in the element. Its weights are small and random:
 * what it finds has no meaning, but it is the same each time. */

#include "samcheck.h"

#include <glib/gstdio.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (120 * GST_SECOND)

/* A launch line of samtrack with that detector. What it finds is shown at
 * once. */
static gchar *
with_detector (const gchar * properties)
{
  return g_strdup_printf ("samtrack name=track detector-file=\"%s\" "
      "detector-size=320 seed-score=0.25 instant-confirm-score=0.25 %s",
      g_getenv ("SAMTRACK_DETECTOR"), properties);
}

/* What tells one run from another: ids, boxes and labels of all frames. */
static void
note_frame (GString * log, GstBuffer * buf)
{
  const GstStructure *meta = sam_get_meta (buf);
  guint i;

  for (i = 0; i < sam_get_num_objects (meta); i++) {
    const GstStructure *object = sam_get_object (meta, i);
    const gchar *label = gst_structure_get_string (object, "label");

    fail_unless (label != NULL, "an object without a label");
    g_string_append_printf (log, "%u %s %d,%d,%d,%d;",
        (guint) sam_get_uint64 (object, "id"), label, sam_get_int (object, "x"),
        sam_get_int (object, "y"), sam_get_int (object, "w"),
        sam_get_int (object, "h"));
  }
  g_string_append_c (log, '\n');
}

static gchar *
run_frames (const gchar * properties, guint frames, guint most)
{
  gchar *launch = with_detector (properties);
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, 160, 120);
  GString *log = g_string_new (NULL);
  guint i;

  gst_harness_play (h);
  for (i = 0; i < frames; i++) {
    GstBuffer *buf = sam_harness_run (h, i);

    fail_unless (sam_get_num_objects (sam_get_meta (buf)) <= most);
    note_frame (log, buf);
    gst_buffer_unref (buf);
  }
  fail_unless (sam_get_seeding (h->element, "births") > 0, "nothing was born");
  fail_unless (sam_get_seeding (h->element, "detector-runs") > 0);
  fail_unless (sam_get_seeding (h->element, "max-result-age") == 1);
  gst_harness_teardown (h);
  g_free (launch);
  return g_string_free (log, FALSE);
}

/* What comes out does not depend on how long the detector takes. */
GST_START_TEST (test_two_runs)
{
  gchar *a = run_frames ("max-objects=3", 20, 3);
  gchar *b = run_frames ("max-objects=3", 20, 3);

  fail_unless (strchr (a, ';') != NULL, "nothing was shown");
  fail_unless_equals_string (a, b);
  g_free (a);
  g_free (b);
}

GST_END_TEST;

/* The class of the first object that is shown. */
static gchar *
find_class (void)
{
  gchar *log = run_frames ("max-objects=3", 12, 3), *label = NULL;
  const gchar *c = strchr (log, ' ');

  fail_unless (c != NULL, "nothing was shown");
  label = g_strndup (c + 1, strchr (c + 1, ' ') - c - 1);
  g_free (log);
  return label;
}

static void
expect_label_alone (const gchar * log, const gchar * label)
{
  const gchar *c = log;
  gchar *wanted = g_strdup_printf (" %s ", label);

  fail_unless (strchr (log, ';') != NULL, "no %s was shown", label);
  for (; (c = strchr (c, ' ')); c = strchr (c + 1, '\n'))
    fail_unless (g_str_has_prefix (c, wanted), "another class: %s", log);
  g_free (wanted);
}

GST_START_TEST (test_classes)
{
  gchar *label = find_class ();
  gchar *properties = g_strdup_printf ("max-objects=3 detect-classes=%s", label);
  gchar *log = run_frames (properties, 12, 3);

  expect_label_alone (log, label);
  g_free (log);
  g_free (properties);
  g_free (label);
}

GST_END_TEST;

/* One look when nothing lives; then, while objects live, one in 15 frames. */
GST_START_TEST (test_interval)
{
  gchar *launch = with_detector ("detect-on-loss=false "
      "seed-options=lost-frames=100000,absent-frames=100000,keep-alive=100000,"
      "duplicate-iou=2.0,confirm-window=100,shared-ticks=100");
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, 160, 120);
  guint i;

  gst_harness_play (h);
  for (i = 0; i < 50; i++)
    gst_buffer_unref (sam_harness_run (h, i));
  /* the frames 0, 15, 30 and 45, and 1: its answer comes one frame later */
  fail_unless (sam_get_seeding (h->element, "detector-runs") >= 4);
  fail_unless (sam_get_seeding (h->element, "detector-runs") <= 5, "%u runs",
      (guint) sam_get_seeding (h->element, "detector-runs"));
  gst_harness_teardown (h);
  g_free (launch);
}

GST_END_TEST;

/* A picture that is dark where the other one is bright. */
static void
invert (GstBuffer * buf)
{
  GstMapInfo map;
  gsize i;

  fail_unless (gst_buffer_map (buf, &map, GST_MAP_READWRITE));
  for (i = 0; i < map.size; i++)
    map.data[i] = 255 - map.data[i];
  gst_buffer_unmap (buf, &map);
}

static guint
count_cuts (GstBus * bus)
{
  GstMessage *message;
  guint n = 0;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT))) {
    const GstStructure *s = gst_message_get_structure (message);

    n += gst_structure_has_name (s, "samtrack-track") &&
        g_str_equal (gst_structure_get_string (s, "reason"), "cut");
    gst_message_unref (message);
  }
  return n;
}

/* Another scene: what was tracked is lost, and the detector looks at
 * once. */
GST_START_TEST (test_cut)
{
  gchar *launch = with_detector ("max-objects=3 detect-interval=1000");
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, 160, 120);
  GstBus *bus = sam_harness_add_bus (h);
  guint64 runs = 0;
  guint i;

  gst_harness_play (h);
  for (i = 0; i < 12; i++) {
    GstBuffer *buf = sam_harness_frame (h, i);

    if (i >= 8)
      invert (buf);
    gst_buffer_unref (gst_harness_push_and_pull (h, buf));
    if (i == 7) {
      fail_unless_equals_int (count_cuts (bus), 0);
      runs = sam_get_seeding (h->element, "detector-runs");
    }
  }
  fail_unless (count_cuts (bus) > 0, "no cut was seen");
  fail_unless (sam_get_seeding (h->element, "detector-runs") > runs,
      "the detector was not asked");
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_END_TEST;

static gsize
get_used (void)
{
  return mallinfo2 ().uordblks;
}

/* Once objects have come and gone, memory does not grow. Under a sanitizer both
 * are 0, and its own end speaks. */
GST_START_TEST (test_memory)
{
  gchar *launch = with_detector ("detect-interval=1 max-objects=2");
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, 160, 120);
  GstBus *bus = sam_harness_add_bus (h);
  gsize settled = 0;
  guint i;

  gst_harness_play (h);
  for (i = 0; i < 36; i++) {
    gst_buffer_unref (sam_harness_run (h, i));
    sam_count_messages (bus, GST_MESSAGE_ANY, NULL);
    if (i == 16)
      settled = get_used ();
  }
  fail_unless (get_used () < settled + (64 << 10), "%u KiB more",
      (guint) ((get_used () - settled) >> 10));
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_END_TEST;

/* ---- Live: tracker and detector have a thread each. */

static GstBusSyncReply
count_tracks (GstBus * bus, GstMessage * message, gpointer data)
{
  const GstStructure *s = gst_message_get_structure (message);

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT &&
      gst_structure_has_name (s, "samtrack-track"))
    g_atomic_int_inc ((gint *) data);
  return GST_BUS_PASS;
}

static void
play_live (guint frames, gboolean seeks)
{
  gchar *track = with_detector ("detect-interval=2");
  gchar *launch = g_strdup_printf ("videotestsrc is-live=true num-buffers=%u "
      "pattern=ball ! video/x-raw,format=RGBx,width=160,height=120,"
      "framerate=30/1 ! %s ! fakesink", frames, track);
  GstElement *pipeline = gst_parse_launch (launch, NULL), *e;
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  gint tracks = 0;
  guint i;

  gst_bus_set_sync_handler (bus, count_tracks, &tracks, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (i = 0; seeks && i < 4; i++) {
    g_usleep (200 * 1000);
    gst_element_send_event (pipeline, gst_event_new_flush_start ());
    gst_element_send_event (pipeline, gst_event_new_flush_stop (TRUE));
  }
  if (!seeks) {
    message = gst_bus_timed_pop_filtered (bus, PATIENCE, GST_MESSAGE_EOS |
        GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
    fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS);
    gst_message_unref (message);
    fail_unless (g_atomic_int_get (&tracks) > 0, "nothing was born");
    e = gst_bin_get_by_name (GST_BIN (pipeline), "track");
    fail_unless (sam_get_seeding (e, "detector-runs") > 0);
    gst_object_unref (e);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_bus_set_sync_handler (bus, NULL, NULL, NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  g_free (launch);
  g_free (track);
}

GST_START_TEST (test_live)
{
  play_live (60, FALSE);
}

GST_END_TEST;

/* It stops at any moment. */
GST_START_TEST (test_stop)
{
  play_live (900, TRUE);
}

GST_END_TEST;

/* ---- Refusals */

static void
expect_detector_refusal (const gchar * properties, const gchar * text,
    gint code)
{
  gchar *launch = with_detector (properties);

  sam_expect_refusal (launch, text, code);
  g_free (launch);
}

GST_START_TEST (test_refusals)
{
  gchar *launch;

  expect_detector_refusal ("detect-classes=\"1,unicorn\"",
      "'unicorn', expected are names of the detector's classes: 0, 1, 2, 3, 4, "
      "5, 6.", GST_RESOURCE_ERROR_SETTINGS);
  expect_detector_refusal ("prompt-source=roi", "one of them",
      GST_RESOURCE_ERROR_SETTINGS);
  expect_detector_refusal ("detector-labels=/nowhere/names.txt",
      "/nowhere/names.txt", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal ("samtrack detector-file=/nowhere/a.safetensors",
      "/nowhere/a.safetensors", GST_RESOURCE_ERROR_NOT_FOUND);
  launch = g_strdup_printf ("samtrack detector-file=\"%s\"",
      g_getenv ("SAMTRACK_TINY_MODEL"));
  sam_expect_refusal (launch, "model.safetensors", GST_RESOURCE_ERROR_SETTINGS);
  g_free (launch);
}

GST_END_TEST;

GST_START_TEST (test_labels)
{
  static const gchar *names[] = { "a", "bee", "cd", "e", "f", "g", "h", NULL };
  gchar *file = NULL, *properties, *log, *label = find_class ();
  const gchar *name = names[atoi (label)];
  gchar *text = g_strjoinv ("\n", (gchar **) names);
  gint fd = g_file_open_tmp ("names-XXXXXX", &file, NULL);

  fail_unless (fd >= 0);
  g_close (fd, NULL);
  g_file_set_contents (file, text, -1, NULL);
  properties = g_strdup_printf ("max-objects=3 detector-labels=%s "
      "detect-classes=\" , %c%s\"", file, g_ascii_toupper (*name), name + 1);
  log = run_frames (properties, 12, 3);
  expect_label_alone (log, name);
  g_free (log);
  g_file_set_contents (file, "a\nb\n", -1, NULL);
  expect_detector_refusal (properties, "has 2 names, expected 7",
      GST_RESOURCE_ERROR_SETTINGS);
  g_remove (file);
  g_free (properties);
  g_free (label);
  g_free (text);
  g_free (file);
}

GST_END_TEST;

static Suite *
detector_suite (void)
{
  Suite *s = suite_create ("detector");
  TCase *tc = sam_tcase_new_tiny (s, "detector");

  tcase_add_test (tc, test_refusals);
  tcase_add_test (tc, test_labels);
  tcase_add_test (tc, test_classes);
  tcase_add_test (tc, test_two_runs);
  tcase_add_test (tc, test_interval);
  tcase_add_test (tc, test_cut);
  tcase_add_test (tc, test_memory);
  tcase_add_test (tc, test_live);
  tcase_add_test (tc, test_stop);
  return s;
}

GST_CHECK_MAIN (detector);
