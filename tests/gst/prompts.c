/* SPDX-License-Identifier: MIT */
/* Prompts of every origin: what they give, and how bad ones are refused. */

#include "samcheck.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static guint64
add_point (GstHarness * h, guint64 id, gdouble x, gdouble y,
    gboolean normalized)
{
  g_signal_emit_by_name (h->element, "add-point", id, x, y, TRUE, normalized,
      &id);
  return id;
}

static guint64
add_box (GstHarness * h, guint64 id, gdouble x, gdouble y, gdouble w, gdouble b,
    gboolean normalized)
{
  g_signal_emit_by_name (h->element, "add-box", id, x, y, w, b, normalized,
      &id);
  return id;
}

/* Run the n-th frame; its meta, which lives as long as *buf. */
static const GstStructure *
run (GstHarness * h, guint n, GstBuffer ** buf)
{
  gst_clear_buffer (buf);
  *buf = sam_harness_run (h, n);
  return sam_get_meta (*buf);
}

/* One warning was posted, and it says that word. */
static void
check_refused (GstBus * bus, const gchar * word)
{
  gchar *text = NULL;

  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, word) != NULL, "'%s' does not say '%s'", text,
      word);
  g_free (text);
}

GST_START_TEST (test_signals_in_pixels_and_fractions)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 320, 240);
  GstBuffer *buf = NULL;
  const GstStructure *meta;

  /* before the first frame the size is not known yet: pixels all the same */
  fail_unless_equals_uint64 (add_box (h, 0, 80, 60, 120, 120, FALSE), 1);
  fail_unless_equals_uint64 (add_box (h, 0, SQUARE_X0, SQUARE_Y0, 0.375, 0.5,
          TRUE), 2);
  meta = run (h, 0, &buf);
  fail_unless_equals_int (sam_get_num_objects (meta), 2);
  fail_unless_equals_uint64 (sam_get_id (meta, 0), 1);
  fail_unless_equals_uint64 (sam_get_id (meta, 1), 2);
  /* the same box twice: the lower slot has the pixels */
  fail_unless (sam_meta_iou (meta, 0) > SAME_IOU);
  fail_unless_equals_int (sam_get_int (sam_get_object (meta, 0), "x"),
      sam_get_int (sam_get_object (meta, 1), "x"));
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_a_mask_as_sample)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_I420, 320, 240);
  GstBuffer *buf = NULL, *pixels = gst_buffer_new_allocate (NULL, 64 * 48,
      NULL);
  GstCaps *caps = gst_caps_from_string ("video/x-raw,format=GRAY8,width=64,"
      "height=48,framerate=0/1");
  GstSample *mask;
  GstMapInfo map;
  guint64 id = 0;
  gint y;

  gst_buffer_map (pixels, &map, GST_MAP_WRITE);
  memset (map.data, 0, map.size);
  for (y = 12; y < 36; y++)
    memset (map.data + y * 64 + 16, 1, 24);
  gst_buffer_unmap (pixels, &map);
  mask = gst_sample_new (pixels, caps, NULL, NULL);
  g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0), mask,
      &id);
  fail_unless_equals_uint64 (id, 1);
  gst_sample_unref (mask);
  fail_unless (sam_meta_iou (run (h, 0, &buf), 0) > SAME_IOU);
  gst_buffer_unref (buf);
  gst_caps_unref (caps);
  gst_buffer_unref (pixels);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A PNG made by pngenc, read back by mask,location=. */
GST_START_TEST (test_a_mask_from_a_file)
{
  gchar *folder = g_dir_make_tmp ("samtrack-XXXXXX", NULL);
  gchar *name = g_build_filename (folder, "mask, 1.png", NULL);
  gchar *text = g_strdup_printf ("mask,location=\"%s\"", name);
  gchar *png;
  gsize size;
  GstBuffer *buf = NULL;
  GstHarness *h = gst_harness_new ("pngenc");
  GstMapInfo map;

  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=GRAY8,width=64,height=48,framerate=1/1");
  buf = gst_buffer_new_allocate (NULL, 64 * 48, NULL);
  gst_buffer_map (buf, &map, GST_MAP_WRITE);
  memset (map.data, 0, map.size);
  for (size = 12; size < 36; size++)
    memset (map.data + size * 64 + 16, 1, 24);
  gst_buffer_unmap (buf, &map);
  buf = gst_harness_push_and_pull (h, buf);
  gst_buffer_extract_dup (buf, 0, -1, (gpointer *) & png, &size);
  gst_clear_buffer (&buf);
  gst_harness_teardown (h);
  fail_unless (g_file_set_contents (name, png, size, NULL));
  g_free (png);

  h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_I420, 320, 240);
  g_signal_emit_by_name (h->element, "prompt", text);
  fail_unless (sam_meta_iou (run (h, 0, &buf), 0) > SAME_IOU);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
  g_remove (name);
  g_rmdir (folder);
  g_free (text);
  g_free (name);
  g_free (folder);
}

GST_END_TEST;

static GstEvent *
new_prompt_event (GstEventType type, const gchar * text)
{
  return gst_event_new_custom (type, gst_structure_new ("samtrack-prompt",
          "prompt", G_TYPE_STRING, text, NULL));
}

GST_START_TEST (test_events_from_all_sides)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBuffer *buf = NULL;
  GstEvent *event;

  fail_unless (gst_harness_push_event (h,
          new_prompt_event (GST_EVENT_CUSTOM_DOWNSTREAM, SQUARE_BOX)));
  fail_unless (gst_harness_push_event (h,
          new_prompt_event (GST_EVENT_CUSTOM_DOWNSTREAM_OOB, SQUARE_BOX)));
  fail_unless (gst_harness_push_upstream_event (h,
          new_prompt_event (GST_EVENT_CUSTOM_UPSTREAM, SQUARE_BOX)));
  /* the structure's own fields will do as well */
  fail_unless (gst_harness_push_upstream_event (h,
          gst_event_new_custom (GST_EVENT_CUSTOM_UPSTREAM,
              gst_structure_new ("samtrack-prompt", "op", G_TYPE_STRING,
                  "point", "x", G_TYPE_INT, 30, "y", G_TYPE_DOUBLE, 24.5,
                  NULL))));
  fail_unless_equals_int (sam_get_num_objects (run (h, 0, &buf)), 4);
  gst_buffer_unref (buf);
  /* none of them went on */
  while ((event = gst_harness_try_pull_event (h))) {
    fail_if (gst_event_has_name (event, "samtrack-prompt"));
    gst_event_unref (event);
  }
  /* one that cannot be used says so */
  fail_if (gst_harness_push_upstream_event (h,
          new_prompt_event (GST_EVENT_CUSTOM_UPSTREAM, "box,x=1")));
  while ((event = gst_harness_try_pull_upstream_event (h))) {
    fail_if (gst_event_has_name (event, "samtrack-prompt"));
    gst_event_unref (event);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_other_events_pass)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstEvent *event;
  gboolean up = FALSE, down = FALSE;

  gst_harness_push_event (h, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
          gst_structure_new_empty ("another")));
  gst_harness_push_upstream_event (h,
      gst_event_new_custom (GST_EVENT_CUSTOM_UPSTREAM,
          gst_structure_new_empty ("another")));
  while ((event = gst_harness_try_pull_event (h))) {
    down |= gst_event_has_name (event, "another");
    gst_event_unref (event);
  }
  while ((event = gst_harness_try_pull_upstream_event (h))) {
    up |= gst_event_has_name (event, "another");
    gst_event_unref (event);
  }
  fail_unless (up && down);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_initial_prompt_of_several_objects)
{
  /* 7 and 9 are names: two prompts for the first, one for the second */
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=\"" SQUARE_BOX
      ",id=7; point,x=0.1,y=0.1,positive=false,normalized=true,id=7;"
      "point,x=30,y=20,id=9;\"", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBuffer *buf = NULL;
  const GstStructure *meta = run (h, 0, &buf);

  fail_unless_equals_int (sam_get_num_objects (meta), 2);
  fail_unless_equals_uint64 (sam_get_id (meta, 0), 7);
  fail_unless_equals_uint64 (sam_get_id (meta, 1), 9);
  gst_buffer_unref (buf);
  /* ids go on from there */
  fail_unless_equals_uint64 (add_point (h, 0, 5, 5, FALSE), 10);
  gst_harness_teardown (h);

  /* no name may use up all ids */
  h = sam_harness_new ("samtrack initial-prompt=\"" SQUARE_BOX
      ",id=18446744073709551615\"", GST_VIDEO_FORMAT_RGB, 64, 48);
  fail_unless_equals_uint64 (add_point (h, 0, 5, 5, FALSE), 2);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_a_bad_initial_prompt_is_a_warning)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstBus *bus = gst_bus_new ();
  GstHarness *h;

  gst_object_ref_sink (element);
  g_object_set (element, "initial-prompt", "circle,x=3", NULL);
  gst_element_set_bus (element, bus);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  check_refused (bus, "circle");
  gst_buffer_unref (sam_harness_run (h, 0));
  gst_element_set_bus (element, NULL);
  gst_object_unref (element);
  gst_object_unref (bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_refine_undo_and_remove)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 320, 240);
  GstBuffer *buf = NULL;
  gboolean ok = FALSE;

  fail_unless_equals_int (sam_get_num_objects (run (h, 0, &buf)), 1);
  fail_unless_equals_uint64 (add_point (h, 1, 140, 120, FALSE), 1);
  fail_unless_equals_int (sam_get_num_objects (run (h, 1, &buf)), 1);
  fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 1);

  /* the refinement is taken back, then the first prompt: nothing is left */
  g_signal_emit_by_name (h->element, "undo", G_GUINT64_CONSTANT (1), &ok);
  fail_unless (ok);
  fail_unless_equals_int (sam_get_num_objects (run (h, 2, &buf)), 1);
  g_signal_emit_by_name (h->element, "undo", G_GUINT64_CONSTANT (1), &ok);
  fail_unless (ok);
  fail_unless_equals_int (sam_get_num_objects (run (h, 3, &buf)), 0);
  fail_unless_equals_string (gst_structure_get_string (sam_get_meta (buf),
          "state"), "idle");

  fail_unless_equals_uint64 (add_box (h, 0, 80, 60, 120, 120, FALSE), 2);
  fail_unless_equals_int (sam_get_num_objects (run (h, 4, &buf)), 1);
  g_signal_emit_by_name (h->element, "remove-object", G_GUINT64_CONSTANT (2),
      &ok);
  fail_unless (ok);
  fail_unless_equals_int (sam_get_num_objects (run (h, 5, &buf)), 0);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_clear_takes_those_that_wait_too)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBuffer *buf = NULL;

  run (h, 0, &buf);
  add_point (h, 0, 5, 5, FALSE);
  g_signal_emit_by_name (h->element, "clear");
  fail_unless_equals_uint64 (add_point (h, 0, 30, 24, FALSE), 3);
  fail_unless_equals_int (sam_get_num_objects (run (h, 1, &buf)), 1);
  fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 3);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_commands_as_text)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBuffer *buf = NULL;

  g_signal_emit_by_name (h->element, "prompt",
      "point,x=10,y=10;point,x=30,y=24;point,x=50,y=40");
  fail_unless_equals_int (sam_get_num_objects (run (h, 0, &buf)), 3);
  g_signal_emit_by_name (h->element, "prompt", "remove,id=1;undo,id=3");
  fail_unless_equals_int (sam_get_num_objects (run (h, 1, &buf)), 1);
  fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 2);
  g_signal_emit_by_name (h->element, "prompt", "clear");
  fail_unless_equals_int (sam_get_num_objects (run (h, 2, &buf)), 0);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_what_lies_outside_is_refused)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  GstBuffer *buf = NULL;

  run (h, 0, &buf);
  fail_unless_equals_uint64 (add_point (h, 0, 65, 10, FALSE), 0);
  check_refused (bus, "64 x 48");
  fail_unless_equals_uint64 (add_point (h, 0, -1, 10, FALSE), 0);
  check_refused (bus, "outside");
  fail_unless_equals_uint64 (add_point (h, 0, 0.5, 1.5, TRUE), 0);
  check_refused (bus, "outside");
  fail_unless_equals_uint64 (add_point (h, 0, NAN, 10, FALSE), 0);
  check_refused (bus, "finite");
  fail_unless_equals_uint64 (add_box (h, 0, 1, 1, INFINITY, 4, FALSE), 0);
  check_refused (bus, "finite");
  fail_unless_equals_uint64 (add_box (h, 0, 10, 10, 0, 10, FALSE), 0);
  check_refused (bus, "empty");
  fail_unless_equals_uint64 (add_box (h, 0, 30, 10, -10, 10, FALSE), 0);
  check_refused (bus, "inverted");
  fail_unless_equals_uint64 (add_box (h, 0, 30, 10, 40, 10, FALSE), 0);
  check_refused (bus, "outside");
  /* right up to the edge is inside */
  fail_unless (add_box (h, 0, 32, 24, 32, 24, FALSE) != 0);
  fail_unless (add_box (h, 0, 0.7, 0.7, 0.3, 0.3, TRUE) != 0);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  fail_unless_equals_int (sam_get_num_objects (run (h, 1, &buf)), 3);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "rejected-prompts"), 8);
  gst_buffer_unref (buf);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Too far out for the frame that then comes: refused at that frame. */
GST_START_TEST (test_what_lay_inside_of_nothing_yet)
{
  GstHarness *h = gst_harness_new ("samtrack");
  GstBus *bus = sam_harness_add_bus (h);
  GstBuffer *buf = NULL;

  gst_harness_set_live (h, FALSE);
  fail_unless_equals_uint64 (add_point (h, 0, 1000, 10, FALSE), 1);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  fail_unless_equals_int (sam_get_num_objects (run (h, 0, &buf)), 0);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      1);
  gst_buffer_unref (buf);
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_unknown_and_removed_objects_are_refused)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  GstBuffer *buf = NULL;
  gboolean ok = TRUE;

  run (h, 0, &buf);
  fail_unless_equals_uint64 (add_point (h, 999, 10, 10, FALSE), 0);
  check_refused (bus, "999");
  g_signal_emit_by_name (h->element, "prompt", "point,x=1,y=2,id=998");
  check_refused (bus, "998");
  g_signal_emit_by_name (h->element, "remove-object", G_GUINT64_CONSTANT (5),
      &ok);
  fail_if (ok);
  check_refused (bus, "5");
  g_signal_emit_by_name (h->element, "remove-object", G_GUINT64_CONSTANT (1),
      &ok);
  fail_unless (ok);
  fail_unless_equals_uint64 (add_point (h, 1, 10, 10, FALSE), 0);
  check_refused (bus, "any more");
  g_signal_emit_by_name (h->element, "undo", G_GUINT64_CONSTANT (0), &ok);
  fail_if (ok);
  check_refused (bus, "id is 0");
  fail_unless_equals_int (sam_get_num_objects (run (h, 1, &buf)), 0);
  gst_buffer_unref (buf);
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_one_object_more_than_max)
{
  GstHarness *h = sam_harness_new ("samtrack max-objects=3",
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  GstBuffer *buf = NULL;
  gboolean ok;
  guint i;

  for (i = 0; i < 3; i++)
    fail_unless_equals_uint64 (add_point (h, 0, 10 + 20 * i, 24, FALSE), i + 1);
  fail_unless_equals_uint64 (add_point (h, 0, 5, 5, FALSE), 0);
  check_refused (bus, "max-objects is 3");
  fail_unless_equals_int (sam_get_num_objects (run (h, 0, &buf)), 3);
  fail_unless_equals_uint64 (add_point (h, 0, 5, 5, FALSE), 0);
  check_refused (bus, "max-objects is 3");
  /* a removal makes room at once */
  g_signal_emit_by_name (h->element, "remove-object", G_GUINT64_CONSTANT (2),
      &ok);
  fail_unless_equals_uint64 (add_point (h, 0, 5, 5, FALSE), 4);
  fail_unless_equals_int (sam_get_num_objects (run (h, 1, &buf)), 3);
  /* the new one has the slot of the old one */
  for (i = 0; i < 3; i++) {
    const GstStructure *object = sam_get_object (sam_get_meta (buf), i);

    if (sam_get_uint64 (object, "id") == 4)
      fail_unless_equals_int (sam_get_uint (object, "slot"), 2);
  }
  gst_buffer_unref (buf);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static guint64
add_mask_with (GstHarness * h, const gchar * caps_text, gsize size,
    GstStructure * info)
{
  GstCaps *caps = gst_caps_from_string (caps_text);
  GstBuffer *pixels = gst_buffer_new_allocate (NULL, size, NULL);
  GstSample *mask;
  guint64 id = 0;

  gst_buffer_memset (pixels, 0, 255, size);
  mask = gst_sample_new (pixels, caps, NULL, info);
  g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0), mask,
      &id);
  gst_sample_unref (mask);
  gst_buffer_unref (pixels);
  gst_caps_unref (caps);
  return id;
}

#define add_mask(...) add_mask_with (__VA_ARGS__, NULL)

/* In the info of its sample. */
GST_START_TEST (test_mask_has_a_label)
{
  static const gchar caps[] = "video/x-raw,format=GRAY8,width=64,height=48,"
      "framerate=0/1";
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = g_strnfill (64, 'x');
  GstBuffer *buf;
  guint i;

  for (i = 0; i < 2; i++) {     /* too long, not a text */
    fail_unless_equals_uint64 (add_mask_with (h, caps, 64 * 48, i ?
            gst_structure_new ("mask", "label", G_TYPE_INT, 1, NULL) :
            gst_structure_new ("mask", "label", G_TYPE_STRING, text, NULL)), 0);
    check_refused (bus, "label");
  }
  text[63] = 0;
  fail_unless (add_mask_with (h, caps, 64 * 48, gst_structure_new ("mask",
              "label", G_TYPE_STRING, text, NULL)) > 0);
  buf = sam_harness_run (h, 0);
  fail_unless_equals_string (gst_structure_get_string (sam_get_object
          (sam_get_meta (buf), 0), "label"), text);
  gst_buffer_unref (buf);
  g_free (text);
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_masks_of_the_wrong_size_are_refused)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  guint64 id = 1;

  fail_unless_equals_uint64 (add_mask (h, "video/x-raw,format=GRAY8,width=64,"
          "height=48,framerate=0/1", 64 * 40), 0);
  check_refused (bus, "64 x 48");
  fail_unless_equals_uint64 (add_mask (h, "video/x-raw,format=RGB,width=64,"
          "height=48,framerate=0/1", 64 * 48 * 3), 0);
  check_refused (bus, "GRAY8");
  fail_unless_equals_uint64 (add_mask (h, "video/x-raw,format=GRAY8,"
          "width=[1,64],height=48,framerate=0/1", 64 * 48), 0);
  check_refused (bus, "GRAY8");
  fail_unless_equals_uint64 (add_mask (h, "text/plain", 10), 0);
  check_refused (bus, "GRAY8");
  g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0), NULL,
      &id);
  fail_unless_equals_uint64 (id, 0);
  check_refused (bus, "mask is NULL");
  g_signal_emit_by_name (h->element, "prompt", "mask,location=/nowhere/m.png");
  check_refused (bus, "/nowhere/m.png");
  gst_buffer_unref (sam_harness_run (h, 0));
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_objects_are_announced)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  GstBuffer *buf = NULL;
  GstMessage *message;
  const GstStructure *s;

  run (h, 0, &buf);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT);
  fail_unless (message != NULL);
  s = gst_message_get_structure (message);
  fail_unless (gst_structure_has_name (s, "samtrack-object"));
  fail_unless_equals_uint64 (sam_get_uint64 (s, "id"), 1);
  fail_unless_equals_string (gst_structure_get_string (s, "state"), "new");
  gst_message_unref (message);
  run (h, 1, &buf);
  fail_unless (gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT) == NULL);
  gst_buffer_unref (buf);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static gint stop_prompting, prompted;

/* One of eight: points, boxes, refinements, undos, removals, and nonsense. */
static gpointer
prompt_all_the_time (gpointer data)
{
  GstHarness *h = data;
  GRand *rand = g_rand_new_with_seed (4711);
  guint64 id = 0;
  gboolean ok;

  while (!g_atomic_int_get (&stop_prompting)) {
    switch (g_rand_int_range (rand, 0, 8)) {
      case 0:
      case 1:
        id = add_point (h, 0, g_rand_double_range (rand, -5, 70), 24, FALSE);
        break;
      case 2:
        add_point (h, id, 0.5, 0.5, TRUE);
        break;
      case 3:
        id = add_box (h, 0, 0.1, 0.1, g_rand_double_range (rand, -0.1, 1), 0.5,
            TRUE);
        break;
      case 4:
        g_signal_emit_by_name (h->element, "undo", id, &ok);
        break;
      case 5:
        g_signal_emit_by_name (h->element, "remove-object", id, &ok);
        break;
      case 6:
        g_signal_emit_by_name (h->element, "prompt", "point,x=3,y=4;box,x=");
        break;
      case 7:
        if (g_rand_int_range (rand, 0, 20) == 0)
          g_signal_emit_by_name (h->element, "clear");
        break;
    }
    g_atomic_int_inc (&prompted);
    g_usleep (200);
  }
  g_rand_free (rand);
  return NULL;
}

GST_START_TEST (test_eight_threads_prompt_while_it_plays)
{
  GstHarness *h = sam_harness_new ("samtrack max-objects=4",
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GThread *threads[8];
  guint i, n = 0;

  for (i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("prompter", prompt_all_the_time, h);
  while (n < 30 || g_atomic_int_get (&prompted) < 1000) {
    GstBuffer *buf = sam_harness_run (h, n++);

    fail_unless (sam_get_num_objects (sam_get_meta (buf)) <= 4);
    gst_buffer_unref (buf);
  }
  g_atomic_int_set (&stop_prompting, 1);
  for (i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  fail_unless (sam_get_stat (h->element, "inferred") > 0);

  /* and it still does as it is told */
  g_signal_emit_by_name (h->element, "clear");
  g_signal_emit_by_name (h->element, "prompt", SQUARE_BOX);
  {
    GstBuffer *buf = sam_harness_run (h, n);

    fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_a_full_queue_refuses)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  GstBuffer *buf = NULL;
  guint i, taken = 0;

  run (h, 0, &buf);
  for (i = 0; i < 300; i++)
    taken += add_point (h, 1, 30, 24, FALSE) != 0;
  fail_unless_equals_int (taken, 256);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      44);
  /* The tracker takes so many a frame; none of those taken is refused. */
  for (i = 1; i < 40; i++)
    run (h, i, &buf);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
  gst_buffer_unref (buf);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static Suite *
prompts_suite (void)
{
  Suite *s = suite_create ("prompts");
  TCase *tc = sam_tcase_new (s, "origins");

  tcase_add_test (tc, test_signals_in_pixels_and_fractions);
  tcase_add_test (tc, test_a_mask_as_sample);
  tcase_add_test (tc, test_a_mask_from_a_file);
  tcase_add_test (tc, test_events_from_all_sides);
  tcase_add_test (tc, test_other_events_pass);
  tcase_add_test (tc, test_initial_prompt_of_several_objects);
  tcase_add_test (tc, test_refine_undo_and_remove);
  tcase_add_test (tc, test_clear_takes_those_that_wait_too);
  tcase_add_test (tc, test_commands_as_text);
  tcase_add_test (tc, test_objects_are_announced);
  tc = sam_tcase_new_tiny (s, "refusals");
  tcase_add_test (tc, test_a_bad_initial_prompt_is_a_warning);
  tcase_add_test (tc, test_what_lies_outside_is_refused);
  tcase_add_test (tc, test_what_lay_inside_of_nothing_yet);
  tcase_add_test (tc, test_unknown_and_removed_objects_are_refused);
  tcase_add_test (tc, test_one_object_more_than_max);
  tcase_add_test (tc, test_masks_of_the_wrong_size_are_refused);
  tcase_add_test (tc, test_mask_has_a_label);
  tc = sam_tcase_new_tiny (s, "storms");
  tcase_add_test (tc, test_eight_threads_prompt_while_it_plays);
  tcase_add_test (tc, test_a_full_queue_refuses);
  return s;
}

GST_CHECK_MAIN (prompts);
