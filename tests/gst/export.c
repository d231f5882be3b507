/* SPDX-License-Identifier: MIT */
/* samexport: what it writes of metas good and bad. export.py has others read it.
 */

#include "exportcheck.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 64           /* that are kept of a label, with the final 0 */

GST_START_TEST (test_frames_pass_as_they_are)
{
  GstHarness *h = export_open ("", "a.jsonl");
  GstBuffer *buf = export_tracked_new (0), *out;

  gst_harness_set_drop_buffers (h, FALSE);
  /* It is shared: an element that writes to it would have to copy it. */
  gst_buffer_ref (buf);
  out = gst_harness_push_and_pull (h, buf);
  fail_unless (out == buf);
  gst_buffer_unref (out);
  gst_buffer_unref (buf);
  export_close (h);
}

GST_END_TEST;

GST_START_TEST (test_lines_are_json_whatever_the_metas_are)
{
  GstHarness *h = export_open ("", "a.jsonl");
  GstBuffer *buf = export_frame_new (0), *small;
  GValue objects = G_VALUE_INIT;
  JsonParser *parser = json_parser_new ();
  JsonObject *line, *object;
  JsonArray *array;
  gchar **lines;

  g_value_init (&objects, GST_TYPE_ARRAY);
  export_add_object (&objects, G_MAXUINT64, 300, "a \"label\"\n\\ \x01", NAN);
  /* 80 bytes: it is cut, not within a character */
  export_add_object (&objects, 2, 2, "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
      "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
      "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
      "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", -INFINITY);
  export_add_object (&objects, 3, 100, "", 1e300);
  export_add_meta (buf, "\"\x7f\x01", &objects, export_mask_new ());
  gst_harness_push (h, buf);
  gst_harness_push (h, export_frame_new (1));  /* without a meta */
  buf = export_frame_new (2);
  g_value_init (&objects, GST_TYPE_ARRAY);
  export_add_object (&objects, 1, 1, NULL, 0);
  small = gst_buffer_new_allocate (NULL, WIDTH * HEIGHT - 1, NULL);
  gst_structure_set (export_add_meta (buf, NULL, &objects, small), "width", G_TYPE_INT,
      G_MAXINT, "height", G_TYPE_INT, G_MAXINT, NULL);
  gst_harness_push (h, buf);
  export_close (h);

  lines = export_read_lines ("a.jsonl");
  fail_unless_equals_int (g_strv_length (lines), 3);
  line = export_parse (parser, lines[0]);
  fail_unless_equals_int (json_object_get_int_member (line, "width"), WIDTH);
  fail_unless_equals_int (json_object_get_int_member (line, "frame_index"), 7);
  fail_unless (json_object_get_null_member (line, "mask_time"));
  array = json_object_get_array_member (line, "objects");
  fail_unless_equals_int (json_array_get_length (array), 3);
  object = json_array_get_object_element (array, 0);
  fail_unless (json_object_get_null_member (object, "id"));
  fail_unless (json_object_get_null_member (object, "score"));
  fail_unless (json_object_get_null_member (object, "mask"));
  fail_unless (g_str_has_prefix (json_object_get_string_member (object,
              "label"), "a \"label\"\n\\ \x01"));
  object = json_array_get_object_element (array, 1);
  fail_unless_equals_int (strlen (json_object_get_string_member (object,
              "label")), 62);
  fail_unless (json_object_get_null_member (object, "score"));
  object = json_object_get_object_member (object, "mask");
  /* a column of 48 pixels with 48 before it: 16 + 32, 1, twice; then the rest,
   * 2976, less the run two before it */
  fail_unless_equals_string (json_object_get_string_member (object, "counts"),
      "`1`1Pm2");
  fail_if (json_object_has_member (json_array_get_object_element (array, 2),
          "label"));

  line = export_parse (parser, lines[1]);
  fail_unless_equals_string (json_object_get_string_member (line, "state"),
      "untracked");
  fail_unless_equals_int (json_array_get_length (json_object_get_array_member
          (line, "objects")), 0);
  line = export_parse (parser, lines[2]);
  object = json_array_get_object_element (json_object_get_array_member (line,
          "objects"), 0);
  fail_unless (json_object_get_null_member (object, "mask"));
  g_strfreev (lines);
  g_object_unref (parser);
}

GST_END_TEST;

/* Of every byte that a text can have: in lines and in COCO, in an object's
 * label and in the tracker's name. JSON-GLib takes control characters as they
 * are, others do not. */
GST_START_TEST (test_every_character_is_read_back)
{
  gchar text[3][TEXT_BYTES] = { "", "", "\xc2\x85 \u2028 \u2029 \ufeff \uffff "
        "\U0001f41f \U0010ffff" };
  const gchar *format[] = { "format=json-lines", "format=coco" };
  JsonParser *parser = json_parser_new ();
  GValue objects = G_VALUE_INIT;
  JsonObject *all, *object;
  JsonArray *list;
  GstHarness *h;
  GstBuffer *buf;
  gchar *path, *written, *at;
  guint i, f;

  for (i = 1; i < 0x80; i++)
    text[i / 0x40][i % 0x40 - (i < 0x40)] = i;
  text[1][TEXT_BYTES - 1] = 0;  /* the last one has no room */
  for (f = 0; f < G_N_ELEMENTS (format); f++) {
    h = export_open (format[f], "a.json");
    buf = export_frame_new (0);
    g_value_init (&objects, GST_TYPE_ARRAY);
    for (i = 0; i < 3; i++)
      export_add_object (&objects, i + 1, i + 1, text[i], 0);
    export_add_meta (buf, text[0], &objects, export_mask_new ());
    gst_harness_push (h, buf);
    export_close (h);
    path = export_get_path ("a.json");
    fail_unless (g_file_get_contents (path, &written, NULL, NULL));
    for (at = written; *at; at++)
      fail_unless ((guchar) * at >= 0x20 || *at == '\n', "byte %d", *at);
    all = export_parse (parser, written);
    list = json_object_get_array_member (all, f ? "categories" : "objects");
    for (i = 0; i < 3; i++) {
      object = json_array_get_object_element (list, i);
      fail_unless_equals_string (json_object_get_string_member (object, f ?
              "name" : "label"), text[i]);
    }
    object = f ? json_array_get_object_element (json_object_get_array_member
        (all, "annotations"), 0) : all;
    fail_unless_equals_string (json_object_get_string_member (object,
            "source"), text[0]);
    g_free (written);
    g_free (path);
  }
  g_object_unref (parser);
}

GST_END_TEST;

GST_START_TEST (test_times_streams_and_trackers_are_told)
{
  GstHarness *h = export_open ("tracker=second mask-size=none", "a.jsonl");
  GstCaps *clock = gst_caps_new_empty_simple ("timestamp/x-ntp");
  JsonParser *parser = json_parser_new ();
  GValue objects = G_VALUE_INIT;
  JsonObject *line, *object;
  GstStructure *s;
  GstSegment segment;
  GstBuffer *buf;
  gchar **lines;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.time = GST_SECOND;
  segment.base = 5 * GST_SECOND;
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  buf = export_tracked_new (45);
  g_value_init (&objects, GST_TYPE_ARRAY);
  export_add_followed (&objects, 12, 1, 9);
  export_add_object (&objects, 13, 2, NULL, 0);
  s = export_add_meta (buf, "second", &objects, NULL);
  gst_structure_set (s, "state", G_TYPE_STRING, "stale", "age", G_TYPE_UINT, 3,
      NULL);
  gst_buffer_add_reference_timestamp_meta (buf, clock, 77,
      GST_CLOCK_TIME_NONE);
  gst_caps_unref (clock);
  gst_harness_push (h, buf);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  buf = export_frame_new (30);
  GST_BUFFER_PTS (buf) = GST_BUFFER_DURATION (buf) = GST_CLOCK_TIME_NONE;
  gst_harness_push (h, buf);
  gst_harness_push_event (h, gst_event_new_stream_start ("next"));
  gst_harness_push (h, export_frame_new (0));
  export_close (h);

  lines = export_read_lines ("a.jsonl");
  fail_unless_equals_int (g_strv_length (lines), 3);
  line = export_parse (parser, lines[0]);
  fail_unless_equals_int64 (json_object_get_int_member (line, "pts"),
      45 * GST_SECOND / 30);
  fail_unless_equals_int64 (json_object_get_int_member (line, "stream_time"),
      45 * GST_SECOND / 30);
  fail_unless_equals_int64 (json_object_get_int_member (line, "running_time"),
      5 * GST_SECOND + GST_SECOND / 2);
  fail_unless_equals_string (json_object_get_string_member (line, "source"),
      "second");
  fail_unless (json_object_get_boolean_member (line, "stale"));
  fail_unless_equals_int (json_object_get_int_member (line, "age"), 3);
  fail_unless_equals_int (json_object_get_int_member (line, "stream"), 0);
  object = json_object_get_object_member (line, "reference");
  fail_unless_equals_string (json_object_get_string_member (object, "clock"),
      "timestamp/x-ntp");
  fail_unless_equals_int (json_object_get_int_member (object, "time"), 77);
  object = json_array_get_object_element (json_object_get_array_member (line,
          "objects"), 0);
  fail_unless_equals_int (json_object_get_int_member (object, "id"), 12);
  fail_if (json_object_has_member (object, "mask"));
  fail_unless_equals_string (json_object_get_string_member (object, "model"),
      "follow");
  fail_unless_equals_int (json_object_get_int_member (object, "anchor_age"),
      9);
  object = json_array_get_object_element (json_object_get_array_member (line,
          "objects"), 1);
  fail_if (json_object_has_member (object, "anchor_age"));

  line = export_parse (parser, lines[1]);
  fail_unless_equals_int (json_object_get_int_member (line, "stream"), 1);
  fail_unless_equals_int (json_object_get_int_member (line, "frame"), 1);
  fail_unless (json_object_get_null_member (line, "pts"));
  fail_unless (json_object_get_null_member (line, "running_time"));
  fail_if (json_object_has_member (line, "reference"));
  line = export_parse (parser, lines[2]);
  fail_unless_equals_int (json_object_get_int_member (line, "stream"), 2);
  g_strfreev (lines);
  g_object_unref (parser);
}

GST_END_TEST;

static JsonObject *
read_coco (JsonParser * parser, const gchar * name)
{
  gchar *path = export_get_path (name), *text;

  fail_unless (g_file_get_contents (path, &text, NULL, NULL), "no %s", path);
  export_parse (parser, text);
  g_free (text);
  g_free (path);
  return json_node_get_object (json_parser_get_root (parser));
}

static void
wait_for_message (GstBus * bus, const gchar * name)
{
  GstMessage *message = gst_bus_timed_pop_filtered (bus, 30 * GST_SECOND,
      GST_MESSAGE_ELEMENT);

  fail_unless (message && gst_message_has_name (message, name), "no %s", name);
  gst_message_unref (message);
}

/* A file holds the lines of the frames from @from to before @end. */
static void
check_frames (const gchar * name, guint from, guint end)
{
  gchar **lines = export_read_lines (name);
  JsonParser *parser = json_parser_new ();
  guint i;

  fail_unless_equals_int (g_strv_length (lines), end - from);
  for (i = from; i < end; i++)
    fail_unless_equals_int (json_object_get_int_member (export_parse (parser,
                lines[i - from]), "frame"), i);
  g_object_unref (parser);
  g_strfreev (lines);
}

/* Streams and sizes make videos; the file is there at EOS, and again with what
 * has come after it. */
GST_START_TEST (test_coco_has_a_video_per_stream_and_size)
{
  GstHarness *h = export_open ("format=coco-video", "a.json");
  JsonParser *parser = json_parser_new ();
  JsonObject *data, *video, *annotation;
  JsonArray *list;
  guint i;

  gst_harness_push (h, export_frame_new (0));
  for (i = 1; i < 4; i++)
    gst_harness_push (h, export_tracked_new (i));
  gst_harness_push_event (h, gst_event_new_eos ());
  data = read_coco (parser, "a.json");
  fail_unless_equals_int (json_array_get_length (json_object_get_array_member
          (data, "videos")), 1);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-written"), 4);

  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_harness_set_src_caps_str (h, "video/x-raw,format=GRAY8,width=64,"
      "height=48,framerate=30/1");
  for (i = 0; i < 2; i++)
    gst_harness_push (h, export_tracked_new (i));
  gst_harness_teardown (h);
  data = read_coco (parser, "a.json");
  list = json_object_get_array_member (data, "videos");
  fail_unless_equals_int (json_array_get_length (list), 2);
  video = json_array_get_object_element (list, 1);
  fail_unless_equals_int (json_object_get_int_member (video, "length"), 2);
  list = json_object_get_array_member (data, "annotations");
  fail_unless_equals_int (json_array_get_length (list), 2);
  annotation = json_array_get_object_element (list, 0);
  list = json_object_get_array_member (annotation, "areas");
  fail_unless_equals_int (json_array_get_length (list), 4);
  fail_unless (json_array_get_null_element (list, 0));
  fail_unless_equals_int (json_array_get_int_element (list, 1), HEIGHT);
  fail_unless_equals_int (json_object_get_int_member (annotation, "image_id"),
      2);
  g_object_unref (parser);
}

GST_END_TEST;

/* An annotation per object and frame, each of an image of its own, whose ids
 * and tracks tell what belongs together. Both forms have the same masks. */
GST_START_TEST (test_coco_has_an_annotation_per_object_and_frame)
{
  GstHarness *h = export_open ("format=coco", "a.json");
  JsonParser *parser = json_parser_new ();
  JsonObject *data, *mask, *image;
  JsonArray *list, *images;
  guint i;

  for (i = 0; i < 4; i++) {
    GstBuffer *buf = export_frame_new (i);
    GValue objects = G_VALUE_INIT;

    g_value_init (&objects, GST_TYPE_ARRAY);
    export_add_object (&objects, 7, 1, NULL, 0);
    if (i != 1)
      export_add_object (&objects, 9, 2, "fish", 0);
    export_add_meta (buf, "track", &objects, export_mask_new ());
    gst_harness_push (h, buf);
  }
  export_close (h);
  data = read_coco (parser, "a.json");
  list = json_object_get_array_member (data, "annotations");
  images = json_object_get_array_member (data, "images");
  fail_unless_equals_int (json_array_get_length (images), 4);
  fail_unless_equals_int (json_array_get_length (list), 4 + 3);
  for (i = 0; i < 7; i++) {
    const gint frame = i < 4 ? i : i == 4 ? 0 : i - 3;

    mask = json_array_get_object_element (list, i);
    image = json_array_get_object_element (images, frame);
    fail_unless_equals_int (json_object_get_int_member (mask, "id"), i + 1);
    fail_unless_equals_int (json_object_get_int_member (mask, "track_id"),
        i < 4 ? 7 : 9);
    fail_unless_equals_int (json_object_get_int_member (mask, "category_id"),
        i < 4 ? 1 : 2);
    fail_unless_equals_int (json_object_get_int_member (mask, "image_id"),
        json_object_get_int_member (image, "id"));
    fail_unless_equals_int (json_object_get_int_member (mask, "area"), HEIGHT);
    fail_unless_equals_int (json_object_get_int_member (mask, "iscrowd"), 0);
    fail_unless_equals_string (json_object_get_string_member
        (json_object_get_object_member (mask, "segmentation"), "counts"),
        i < 4 ? "0`1`n2" : "`1`1Pm2");
    fail_unless_equals_int (json_object_get_int_member
        (json_object_get_object_member (mask, "attributes"), "track_id"),
        i < 4 ? 7 : 9);
  }
  g_object_unref (parser);
}

GST_END_TEST;

/* Labels become categories; at a caps change another video begins. */
GST_START_TEST (test_coco_has_labels_as_categories)
{
  GstHarness *h = export_open ("format=coco mask-size=own", "a.json");
  JsonParser *parser = json_parser_new ();
  GValue objects = G_VALUE_INIT;
  GstBuffer *buf = export_frame_new (0);
  JsonArray *list;
  JsonObject *data;

  g_value_init (&objects, GST_TYPE_ARRAY);
  export_add_object (&objects, 1, 1, "fish", 0);
  export_add_object (&objects, 2, 2, NULL, 0);
  export_add_object (&objects, 3, 3, "fish", 0);
  export_add_meta (buf, "track", &objects, export_mask_new ());
  gst_harness_push (h, buf);
  gst_harness_set_src_caps_str (h, "video/x-raw,format=GRAY8,width=32,"
      "height=96,framerate=30/1");
  gst_harness_push (h, export_frame_new (1));
  export_close (h);
  data = read_coco (parser, "a.json");
  list = json_object_get_array_member (data, "categories");
  fail_unless_equals_int (json_array_get_length (list), 2);
  fail_unless_equals_string (json_object_get_string_member
      (json_array_get_object_element (list, 0), "name"), "fish");
  list = json_object_get_array_member (data, "annotations");
  fail_unless_equals_int (json_object_get_int_member
      (json_array_get_object_element (list, 1), "category_id"), 2);
  fail_unless_equals_int (json_object_get_int_member
      (json_array_get_object_element (list, 2), "category_id"), 1);
  list = json_object_get_array_member (data, "videos");
  fail_unless_equals_int (json_array_get_length (list), 2);
  fail_unless_equals_int (json_object_get_int_member
      (json_array_get_object_element (list, 1), "height"), 96);
  g_object_unref (parser);
}

GST_END_TEST;

static gchar *
read_text (const gchar * name)
{
  gchar *path = export_get_path (name), *text;

  fail_unless (g_file_get_contents (path, &text, NULL, NULL), "no %s", path);
  g_free (path);
  return text;
}

/* Classes are numbers, whose names are lines of a file beside; a name is one
 * line whatever it holds. */
GST_START_TEST (test_mot_has_classes_and_visibility)
{
  GstHarness *h = export_open ("format=mot", "gt.txt");
  GValue objects = G_VALUE_INIT;
  GstBuffer *buf = export_frame_new (0);
  gchar *text;

  g_value_init (&objects, GST_TYPE_ARRAY);
  export_add_object (&objects, 1, 1, "a\nfish\x1f\xe2\x80\xa8", 2);
  export_add_object (&objects, 2, 2, NULL, NAN);
  export_add_object (&objects, 3, 3, "a fish", -0.5);
  export_add_meta (buf, "track", &objects, export_mask_new ());
  gst_harness_push (h, buf);
  export_close (h);
  text = read_text ("gt.txt");
  fail_unless_equals_string (text, "1,1,1,2,3,4,2.0000,1,1\n"
      "1,2,1,2,3,4,1.0000,2,1\n1,3,1,2,3,4,-0.5000,1,1\n");
  g_free (text);
  text = read_text ("labels.txt");
  fail_unless_equals_string (text, "a fish\nobject\n");
  g_free (text);
  h = export_open ("format=mot", "b.txt");
  gst_harness_push (h, export_tracked_new (0));
  export_close (h);
  text = read_text ("b.labels.txt");
  fail_unless_equals_string (text, "object\n");
  g_free (text);
}

GST_END_TEST;

GST_START_TEST (test_a_stream_without_frames_is_written)
{
  JsonParser *parser = json_parser_new ();
  JsonObject *data;
  gchar **lines;
  GDir *dir;
  gchar *path;

  export_close (export_open ("", "a.jsonl"));
  lines = export_read_lines ("a.jsonl");
  fail_unless_equals_int (g_strv_length (lines), 0);
  g_strfreev (lines);
  export_close (export_open ("format=mot", "a.txt"));
  lines = export_read_lines ("a.txt");
  fail_unless_equals_int (g_strv_length (lines), 0);
  g_strfreev (lines);
  export_close (export_open ("format=coco", "a.json"));
  data = read_coco (parser, "a.json");
  fail_unless_equals_int (json_array_get_length (json_object_get_array_member
          (data, "annotations")), 0);
  export_close (export_open ("format=davis", "davis"));
  path = export_get_path ("davis");
  dir = g_dir_open (path, 0, NULL);
  fail_unless (dir && !g_dir_read_name (dir));
  g_dir_close (dir);
  g_free (path);
  g_object_unref (parser);
}

GST_END_TEST;

/* Two exporters on one file or folder would write over each other. */
GST_START_TEST (test_a_second_exporter_is_refused)
{
  const gchar *format[] = { "format=json-lines", "format=mot", "format=coco",
    "format=coco-video", "format=yolo",
#ifdef WITH_PNG
    "format=davis",
#endif
  };
  gchar *text, **lines;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (format); i++) {
    gchar *name = g_strdup_printf ("a%u", i);
    GstHarness *h = export_open (format[i], name);

    text = export_get_refusal (format[i], name);
    fail_unless (text && strstr (text, "another samexport"), "%s: %s",
        format[i], text);
    g_free (text);
    gst_harness_push (h, export_tracked_new (0));
    gst_harness_push_event (h, gst_event_new_eos ());
    fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-written"), 1);
    gst_harness_teardown (h);
    text = i < 4 ? export_get_refusal (format[i], name) : NULL;
    fail_unless (text == NULL, "%s: %s", format[i], text);
    g_free (name);
  }
  lines = export_list ();
  fail_unless_equals_int (g_strv_length (lines), G_N_ELEMENTS (format) + 1);
  g_strfreev (lines);
}

GST_END_TEST;

GST_START_TEST (test_yolo_refuses_a_folder_with_labels)
{
  GstHarness *h = export_open ("format=yolo", "yolo");
  gchar *text;

  gst_harness_push (h, export_tracked_new (0));
  export_close (h);
  text = export_get_refusal ("format=yolo", "yolo");
  fail_unless (text && strstr (text, "00000.txt") && strstr (text,
          "expected is a new or an empty folder"), "%s", text);
  g_free (text);
}

GST_END_TEST;

#ifdef WITH_PNG
GST_START_TEST (test_davis_refuses_a_folder_with_pngs)
{
  GstHarness *h = export_open ("format=davis", "davis");
  gchar *text;

  gst_harness_push (h, export_tracked_new (0));
  export_close (h);
  text = export_get_refusal ("format=davis", "davis");
  fail_unless (text && strstr (text, "00000.png") && strstr (text,
          "expected is a new or an empty folder"), "%s", text);
  g_free (text);
}

GST_END_TEST;
#endif

/* A rotated file goes on under its name when that is asked for; one that was
 * removed or truncated, by itself. No line is lost, none is broken. */
GST_START_TEST (test_a_file_is_reopened)
{
  GstHarness *h = export_open ("", "a.jsonl");
  gchar *path = export_get_path ("a.jsonl"), *old = export_get_path ("b.jsonl");
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL;
  guint n;

  gst_harness_push (h, export_frame_new (0));
  export_wait_until_written (h, 1);
  fail_if (g_rename (path, old));
  gst_harness_push (h, export_frame_new (1));
  export_wait_until_written (h, 2);
  g_signal_emit_by_name (h->element, "reopen");
  wait_for_message (bus, "samexport-reopened");
  gst_harness_push (h, export_frame_new (2));
  export_wait_until_written (h, 3);
  check_frames ("b.jsonl", 0, 2);
  check_frames ("a.jsonl", 2, 3);
  /* nothing was moved: it goes on at its end */
  gst_harness_push_event (h, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
          gst_structure_new_empty ("samexport-reopen")));
  wait_for_message (bus, "samexport-reopened");
  gst_harness_push (h, export_frame_new (3));
  export_wait_until_written (h, 4);
  check_frames ("a.jsonl", 2, 4);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  for (n = 0; n < 2; n++) {
    fail_if (n ? truncate (path, 0) : g_remove (path));
    gst_harness_push (h, export_frame_new (4 + n));
    export_wait_until_written (h, 5 + n);
    check_frames ("a.jsonl", 4 + n, 5 + n);
    fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING,
            &text), 1);
    fail_unless (strstr (text, n ? "truncated" : "removed") != NULL, "%s",
        text);
    g_clear_pointer (&text, g_free);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-lost"), 0);
  export_close_bus (bus);
  gst_harness_teardown (h);
  g_free (path);
  g_free (old);
}

GST_END_TEST;

/* 300 objects after each other, 255 at a time: the palette ends at 255. */
GST_START_TEST (test_davis_tells_when_the_palette_is_full)
{
  GstHarness *h = export_open ("format=davis", "davis");
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL;
  guint n, i;

  for (n = 0; n < 6; n++) {
    GstBuffer *buf = export_frame_new (n);
    GValue objects = G_VALUE_INIT;

    g_value_init (&objects, GST_TYPE_ARRAY);
    for (i = 0; i < 50; i++)
      export_add_object (&objects, n * 50 + i + 1, i + 1, NULL, 0);
    export_add_meta (buf, "track", &objects, export_mask_new ());
    gst_harness_push (h, buf);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-written"), 6);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, "object 256 ") != NULL, "%s", text);
  g_free (text);
  export_close_bus (bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
export_suite (void)
{
  Suite *suite = suite_create ("export");
  TCase *tc = sam_tcase_new (suite, "export");

  tcase_add_checked_fixture (tc, export_set_up, export_tear_down);
  tcase_add_test (tc, test_frames_pass_as_they_are);
  tcase_add_test (tc, test_lines_are_json_whatever_the_metas_are);
  tcase_add_test (tc, test_every_character_is_read_back);
  tcase_add_test (tc, test_times_streams_and_trackers_are_told);
  tcase_add_test (tc, test_coco_has_a_video_per_stream_and_size);
  tcase_add_test (tc, test_coco_has_an_annotation_per_object_and_frame);
  tcase_add_test (tc, test_coco_has_labels_as_categories);
  tcase_add_test (tc, test_mot_has_classes_and_visibility);
  tcase_add_test (tc, test_a_stream_without_frames_is_written);
  tcase_add_test (tc, test_a_second_exporter_is_refused);
  tcase_add_test (tc, test_a_file_is_reopened);
  tcase_add_test (tc, test_yolo_refuses_a_folder_with_labels);
#ifdef WITH_PNG
  tcase_add_test (tc, test_davis_refuses_a_folder_with_pngs);
  tcase_add_test (tc, test_davis_tells_when_the_palette_is_full);
#endif
  return suite;
}

GST_CHECK_MAIN (export);
