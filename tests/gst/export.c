/* samexport: what it writes of metas good and bad, that a writer that is stuck
 * does not stop frames, and what it refuses. export.py has others read it. */

#include "samcheck.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WIDTH 64
#define HEIGHT 48

static gchar *folder;           /* of this test */

static void
set_up (void)
{
  folder = g_dir_make_tmp ("samexport-XXXXXX", NULL);
  fail_unless (folder != NULL);
}

static void
empty (const gchar * path)
{
  GDir *dir = g_dir_open (path, 0, NULL);
  const gchar *name;

  while (dir && (name = g_dir_read_name (dir))) {
    gchar *child = g_build_filename (path, name, NULL);

    empty (child);
    g_free (child);
  }
  if (dir)
    g_dir_close (dir);
  g_remove (path);
}

static void
tear_down (void)
{
  empty (folder);
  g_clear_pointer (&folder, g_free);
}

/* @launch has one %s, for a path in the folder of the test. */
static GstHarness *
open_harness (const gchar * properties, const gchar * name)
{
  gchar *path = g_build_filename (folder, name, NULL);
  gchar *launch = g_strdup_printf ("samexport %s location=%s", properties,
      path);
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_GRAY8, WIDTH,
      HEIGHT);

  gst_harness_set_drop_buffers (h, TRUE);
  g_free (launch);
  g_free (path);
  return h;
}

static GstBuffer *
new_frame (guint n)
{
  GstBuffer *buf = gst_buffer_new_allocate (NULL, WIDTH * HEIGHT, NULL);

  gst_buffer_memset (buf, 0, 0, WIDTH * HEIGHT);
  GST_BUFFER_PTS (buf) = n * GST_SECOND / 30;
  GST_BUFFER_DURATION (buf) = GST_SECOND / 30;
  return buf;
}

static void
add_object (GValue * objects, guint64 id, guint slot, const gchar * label,
    gdouble score)
{
  GValue value = G_VALUE_INIT;
  GstStructure *s = gst_structure_new ("object", "id", G_TYPE_UINT64, id,
      "slot", G_TYPE_UINT, slot, "state", G_TYPE_STRING, "tracked",
      "score", G_TYPE_DOUBLE, score, "iou", G_TYPE_DOUBLE, 0.5,
      "x", G_TYPE_INT, 1, "y", G_TYPE_INT, 2, "w", G_TYPE_INT, 3,
      "h", G_TYPE_INT, 4, "area", G_TYPE_UINT, 5, NULL);

  if (label)
    gst_structure_set (s, "label", G_TYPE_STRING, label, NULL);
  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, s);
  gst_value_array_append_and_take_value (objects, &value);
}

/* Takes @objects; @mask is a map with rows of a number of slots below each
 * other, or of random bytes if it is too small. */
static GstStructure *
add_meta (GstBuffer * buf, const gchar * source, GValue * objects,
    GstBuffer * mask)
{
  GstStructure *s = gst_custom_meta_get_structure (gst_buffer_add_custom_meta
      (buf, "GstSamTrackMeta"));

  gst_structure_set (s, "version", G_TYPE_UINT, 1, "width", G_TYPE_INT, WIDTH,
      "height", G_TYPE_INT, HEIGHT, "source", G_TYPE_STRING, source,
      "state", G_TYPE_STRING, "ok", "age", G_TYPE_UINT, 0,
      "frame-index", G_TYPE_UINT64, (guint64) 7,
      "running-time", G_TYPE_UINT64, GST_CLOCK_TIME_NONE,
      "inference-time", G_TYPE_UINT64, (guint64) 9, NULL);
  gst_structure_take_value (s, "objects", objects);
  if (mask) {
    gst_structure_set (s, "mask", GST_TYPE_BUFFER, mask,
        "mask-width", G_TYPE_INT, WIDTH, "mask-height", G_TYPE_INT, HEIGHT,
        NULL);
    gst_buffer_unref (mask);
  }
  return s;
}

/* Every pixel of column x has the label x + 1. */
static GstBuffer *
new_mask (void)
{
  GstBuffer *mask = gst_buffer_new_allocate (NULL, WIDTH * HEIGHT, NULL);
  gint i;

  for (i = 0; i < WIDTH * HEIGHT; i++)
    gst_buffer_memset (mask, i, i % WIDTH + 1, 1);
  return mask;
}

/* A frame with one object, whose mask is column 0. */
static GstBuffer *
new_tracked (guint n)
{
  GstBuffer *buf = new_frame (n);
  GValue objects = G_VALUE_INIT;

  g_value_init (&objects, GST_TYPE_ARRAY);
  add_object (&objects, 1, 1, NULL, 2);
  add_meta (buf, "track", &objects, new_mask ());
  return buf;
}

static gchar **
read_lines (const gchar * name)
{
  gchar *path = g_build_filename (folder, name, NULL), *text = NULL;
  gchar **lines;
  gsize bytes;

  fail_unless (g_file_get_contents (path, &text, &bytes, NULL), "no %s", path);
  fail_unless (!bytes || text[bytes - 1] == '\n', "%s ends within a line",
      path);
  fail_unless (g_utf8_validate (text, bytes, NULL));
  if (bytes)
    text[bytes - 1] = 0;
  lines = bytes ? g_strsplit (text, "\n", -1) : g_new0 (gchar *, 1);
  g_free (text);
  g_free (path);
  return lines;
}

static JsonObject *
parse (JsonParser * parser, const gchar * text)
{
  GError *error = NULL;

  fail_unless (json_parser_load_from_data (parser, text, -1, &error),
      "%s: %s", text, error ? error->message : "");
  return json_node_get_object (json_parser_get_root (parser));
}

/* Before the harness: the messages that are left refer to its element. */
static void
close_bus (GstBus * bus)
{
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
}

/* Ends the stream and the harness. */
static void
close_harness (GstHarness * h)
{
  gst_harness_push_event (h, gst_event_new_eos ());
  gst_harness_teardown (h);
}

/* What is written */

GST_START_TEST (test_frames_pass_as_they_are)
{
  GstHarness *h = open_harness ("", "a.jsonl");
  GstBuffer *buf = new_tracked (0), *out;

  gst_harness_set_drop_buffers (h, FALSE);
  /* It is shared: an element that writes to it would have to copy it. */
  gst_buffer_ref (buf);
  out = gst_harness_push_and_pull (h, buf);
  fail_unless (out == buf);
  gst_buffer_unref (out);
  gst_buffer_unref (buf);
  close_harness (h);
}

GST_END_TEST;

GST_START_TEST (test_lines_are_json_whatever_the_metas_are)
{
  GstHarness *h = open_harness ("", "a.jsonl");
  GstBuffer *buf = new_frame (0), *small;
  GValue objects = G_VALUE_INIT;
  JsonParser *parser = json_parser_new ();
  JsonObject *line, *object;
  JsonArray *array;
  gchar **lines;

  g_value_init (&objects, GST_TYPE_ARRAY);
  add_object (&objects, G_MAXUINT64, 300, "a \"label\"\n\\ \x01", NAN);
  /* 80 bytes: it is cut, not within a character */
  add_object (&objects, 2, 2, "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
      "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
      "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
      "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", -INFINITY);
  add_object (&objects, 3, 100, "", 1e300);
  add_meta (buf, "\"\x7f\x01", &objects, new_mask ());
  gst_harness_push (h, buf);
  gst_harness_push (h, new_frame (1));  /* without a meta */
  buf = new_frame (2);
  g_value_init (&objects, GST_TYPE_ARRAY);
  add_object (&objects, 1, 1, NULL, 0);
  small = gst_buffer_new_allocate (NULL, WIDTH * HEIGHT - 1, NULL);
  gst_structure_set (add_meta (buf, NULL, &objects, small), "width", G_TYPE_INT,
      G_MAXINT, "height", G_TYPE_INT, G_MAXINT, NULL);
  gst_harness_push (h, buf);
  close_harness (h);

  lines = read_lines ("a.jsonl");
  fail_unless_equals_int (g_strv_length (lines), 3);
  line = parse (parser, lines[0]);
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

  line = parse (parser, lines[1]);
  fail_unless_equals_string (json_object_get_string_member (line, "state"),
      "untracked");
  fail_unless_equals_int (json_array_get_length (json_object_get_array_member
          (line, "objects")), 0);
  line = parse (parser, lines[2]);
  object = json_array_get_object_element (json_object_get_array_member (line,
          "objects"), 0);
  fail_unless (json_object_get_null_member (object, "mask"));
  g_strfreev (lines);
  g_object_unref (parser);
}

GST_END_TEST;

GST_START_TEST (test_times_streams_and_trackers_are_told)
{
  GstHarness *h = open_harness ("tracker=second mask-size=none", "a.jsonl");
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
  buf = new_tracked (45);
  g_value_init (&objects, GST_TYPE_ARRAY);
  add_object (&objects, 12, 1, NULL, 0);
  s = add_meta (buf, "second", &objects, NULL);
  gst_structure_set (s, "state", G_TYPE_STRING, "stale", "age", G_TYPE_UINT, 3,
      NULL);
  gst_buffer_add_reference_timestamp_meta (buf, clock, 77,
      GST_CLOCK_TIME_NONE);
  gst_caps_unref (clock);
  gst_harness_push (h, buf);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  buf = new_frame (30);
  GST_BUFFER_PTS (buf) = GST_BUFFER_DURATION (buf) = GST_CLOCK_TIME_NONE;
  gst_harness_push (h, buf);
  gst_harness_push_event (h, gst_event_new_stream_start ("next"));
  gst_harness_push (h, new_frame (0));
  close_harness (h);

  lines = read_lines ("a.jsonl");
  fail_unless_equals_int (g_strv_length (lines), 3);
  line = parse (parser, lines[0]);
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

  line = parse (parser, lines[1]);
  fail_unless_equals_int (json_object_get_int_member (line, "stream"), 1);
  fail_unless_equals_int (json_object_get_int_member (line, "frame"), 1);
  fail_unless (json_object_get_null_member (line, "pts"));
  fail_unless (json_object_get_null_member (line, "running_time"));
  fail_if (json_object_has_member (line, "reference"));
  line = parse (parser, lines[2]);
  fail_unless_equals_int (json_object_get_int_member (line, "stream"), 2);
  g_strfreev (lines);
  g_object_unref (parser);
}

GST_END_TEST;

static JsonObject *
read_coco (JsonParser * parser, const gchar * name)
{
  gchar *path = g_build_filename (folder, name, NULL), *text;

  fail_unless (g_file_get_contents (path, &text, NULL, NULL), "no %s", path);
  parse (parser, text);
  g_free (text);
  g_free (path);
  return json_node_get_object (json_parser_get_root (parser));
}

/* Streams and sizes make videos; the file is there at EOS, and again with what
 * has come after it. */
GST_START_TEST (test_coco_has_a_video_per_stream_and_size)
{
  GstHarness *h = open_harness ("format=coco", "a.json");
  JsonParser *parser = json_parser_new ();
  JsonObject *data, *video, *annotation;
  JsonArray *list;
  guint i;

  gst_harness_push (h, new_frame (0));
  for (i = 1; i < 4; i++)
    gst_harness_push (h, new_tracked (i));
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
    gst_harness_push (h, new_tracked (i));
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

/* Labels become categories; at a caps change another video begins. */
GST_START_TEST (test_coco_has_labels_as_categories)
{
  GstHarness *h = open_harness ("format=coco mask-size=own", "a.json");
  JsonParser *parser = json_parser_new ();
  GValue objects = G_VALUE_INIT;
  GstBuffer *buf = new_frame (0);
  JsonArray *list;
  JsonObject *data;

  g_value_init (&objects, GST_TYPE_ARRAY);
  add_object (&objects, 1, 1, "fish", 0);
  add_object (&objects, 2, 2, NULL, 0);
  add_object (&objects, 3, 3, "fish", 0);
  add_meta (buf, "track", &objects, new_mask ());
  gst_harness_push (h, buf);
  gst_harness_set_src_caps_str (h, "video/x-raw,format=GRAY8,width=32,"
      "height=96,framerate=30/1");
  gst_harness_push (h, new_frame (1));
  close_harness (h);
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

GST_START_TEST (test_a_stream_without_frames_is_written)
{
  JsonParser *parser = json_parser_new ();
  JsonObject *data;
  gchar **lines;
  GDir *dir;
  gchar *path;

  close_harness (open_harness ("", "a.jsonl"));
  lines = read_lines ("a.jsonl");
  fail_unless_equals_int (g_strv_length (lines), 0);
  g_strfreev (lines);
  close_harness (open_harness ("format=mot", "a.txt"));
  lines = read_lines ("a.txt");
  fail_unless_equals_int (g_strv_length (lines), 0);
  g_strfreev (lines);
  close_harness (open_harness ("format=coco", "a.json"));
  data = read_coco (parser, "a.json");
  fail_unless_equals_int (json_array_get_length (json_object_get_array_member
          (data, "annotations")), 0);
  close_harness (open_harness ("format=davis", "davis"));
  path = g_build_filename (folder, "davis", NULL);
  dir = g_dir_open (path, 0, NULL);
  fail_unless (dir && !g_dir_read_name (dir));
  g_dir_close (dir);
  g_free (path);
  g_object_unref (parser);
}

GST_END_TEST;

/* 300 objects after each other, 255 at a time: the palette ends at 255. */
GST_START_TEST (test_davis_tells_when_the_palette_is_full)
{
  GstHarness *h = open_harness ("format=davis", "davis");
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL;
  guint n, i;

  for (n = 0; n < 6; n++) {
    GstBuffer *buf = new_frame (n);
    GValue objects = G_VALUE_INIT;

    g_value_init (&objects, GST_TYPE_ARRAY);
    for (i = 0; i < 50; i++)
      add_object (&objects, n * 50 + i + 1, i + 1, NULL, 0);
    add_meta (buf, "track", &objects, new_mask ());
    gst_harness_push (h, buf);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-written"), 6);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, "object 256 ") != NULL, "%s", text);
  g_free (text);
  close_bus (bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Writers that are stuck */

static gchar *
make_pipe (void)
{
  gchar *path = g_build_filename (folder, "pipe", NULL);

  fail_if (mkfifo (path, 0600));
  return path;
}

/* A pipe whose reader takes nothing: it fills, then the queue, then frames are
 * lost. In a live pipeline none waits, or this would never end. */
GST_START_TEST (test_a_reader_that_sleeps_stops_no_live_frame)
{
  gchar *path = make_pipe (), *text = NULL;
  const int fd = open (path, O_RDONLY | O_NONBLOCK);
  GstHarness *h = open_harness ("overload-policy=drop queue-size=8", "pipe");
  GstBus *bus = sam_harness_add_bus (h);
  guint64 lost;
  guint i;

  fail_unless (fd >= 0);
  for (i = 0; i < 2000; i++)
    fail_unless_equals_int (gst_harness_push (h, new_tracked (i)), GST_FLOW_OK);
  lost = sam_get_stat (h->element, "frames-lost");
  /* the pipe has 64 KiB, a line some 300 bytes */
  fail_unless (lost > 1000, "only %" G_GUINT64_FORMAT " lost", lost);
  fail_unless_equals_uint64 (lost + sam_get_stat (h->element,
          "frames-written") + sam_get_stat (h->element, "frames-queued"), 2000);
  gst_harness_teardown (h);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, "the queue of 8 frames is full") != NULL, "%s",
      text);
  g_free (text);
  close_bus (bus);
  close (fd);
  g_free (path);
}

GST_END_TEST;

/* Where frames may wait, they wait for a second once, not one each: 2000 of
 * them would not end before the test's time is over. */
GST_START_TEST (test_a_reader_that_sleeps_stops_no_other_stream_for_long)
{
  gchar *path = make_pipe ();
  const int fd = open (path, O_RDONLY | O_NONBLOCK);
  GstHarness *h = open_harness ("queue-size=8", "pipe");
  guint i;

  for (i = 0; i < 2000; i++)
    fail_unless_equals_int (gst_harness_push (h, new_tracked (i)), GST_FLOW_OK);
  fail_unless (sam_get_stat (h->element, "frames-lost") > 1000);
  gst_harness_teardown (h);
  close (fd);
  g_free (path);
}

GST_END_TEST;

/* A reader that is slow, but reads: in a stream that is not live nothing is
 * lost, however short the queue is. */
static gpointer
read_slowly (gpointer data)
{
  GString *all = g_string_new (NULL);
  const int fd = open (data, O_RDONLY);
  gchar part[2000];
  gssize n;

  while ((n = read (fd, part, sizeof part)) > 0) {
    g_string_append_len (all, part, n);
    g_usleep (200);
  }
  close (fd);
  return all;
}

GST_START_TEST (test_a_slow_reader_gets_every_line)
{
  gchar *path = make_pipe ();
  GThread *thread = g_thread_new ("reader", read_slowly, path);
  GstHarness *h;
  GString *all;
  gchar **lines;
  guint i;

  /* The pipe is opened with the first line at the latest; the thread waits. */
  g_usleep (G_USEC_PER_SEC / 5);
  h = open_harness ("queue-size=2", "pipe");
  for (i = 0; i < 1000; i++)
    gst_harness_push (h, new_tracked (i));
  close_harness (h);
  all = g_thread_join (thread);
  lines = g_strsplit (all->str, "\n", -1);
  fail_unless_equals_int (g_strv_length (lines), 1001);
  for (i = 0; i < 1000; i++) {
    gchar *part = g_strdup_printf (",\"frame\":%u,", i);

    fail_unless (strstr (lines[i], part) != NULL, "line %u is %s", i, lines[i]);
    g_free (part);
  }
  g_strfreev (lines);
  g_string_free (all, TRUE);
  g_free (path);
}

GST_END_TEST;

/* Without a reader lines are lost; they come when there is one. */
GST_START_TEST (test_a_pipe_gets_lines_when_it_is_read)
{
  gchar *path = make_pipe (), text[4000];
  GstHarness *h = open_harness ("", "pipe");
  GstBus *bus = sam_harness_add_bus (h);
  GstMessage *message;
  gboolean recovered = FALSE;
  gssize n;
  guint i;
  int fd;

  for (i = 0; i < 5; i++)
    gst_harness_push (h, new_tracked (i));
  while (sam_get_stat (h->element, "frames-lost") < 5)
    g_usleep (1000);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      1);
  fd = open (path, O_RDONLY | O_NONBLOCK);
  /* An outage is over a second after its last loss. */
  g_usleep (1100 * 1000);
  gst_harness_push (h, new_tracked (5));
  while (sam_get_stat (h->element, "frames-written") < 1)
    g_usleep (1000);
  n = read (fd, text, sizeof text - 1);
  fail_unless (n > 0);
  text[n] = 0;
  fail_unless (strstr (text, "\"frame\":5,") && text[n - 1] == '\n', "%s",
      text);
  gst_harness_teardown (h);
  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT))) {
    const GstStructure *s = gst_message_get_structure (message);

    if (gst_structure_has_name (s, "samexport-loss")) {
      gst_structure_get_boolean (s, "recovered", &recovered);
      fail_unless_equals_uint64 (sam_get_uint64 (s, "lost"), 5);
    }
    gst_message_unref (message);
  }
  fail_unless (recovered);
  close_bus (bus);
  close (fd);
  g_free (path);
}

GST_END_TEST;

/* Settings */

static void
check_refused (const gchar * properties, const gchar * code_name, gint code,
    const gchar * expected)
{
  gchar *launch = g_strdup_printf ("videotestsrc num-buffers=2 ! samexport "
      "%s ! fakesink", properties);
  GstElement *pipeline = gst_parse_launch (launch, NULL);
  GstBus *bus = gst_element_get_bus (pipeline);
  GError *error = NULL;
  GstMessage *message;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND,
      GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR,
      "%s was not refused", properties);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (strstr (error->message, expected) != NULL, "%s: %s",
      properties, error->message);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, code),
      "%s: not %s: %s", properties, code_name, error->message);
  g_error_free (error);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  g_free (launch);
}

#define REFUSED(properties, code, expected) \
  check_refused (properties, #code, GST_RESOURCE_ERROR_##code, expected)

GST_START_TEST (test_what_cannot_be_written_is_refused_at_the_start)
{
  REFUSED ("", SETTINGS, "'location'");
  REFUSED ("location=/tmp/x mqtt-uri=mqtt://localhost/a", SETTINGS, "Both");
  REFUSED ("format=mot mqtt-uri=mqtt://localhost/a", SETTINGS, "json-lines");
  REFUSED ("format=davis location=-", SETTINGS, "folder");
  REFUSED ("format=coco mask-size=none location=/tmp/x", SETTINGS, "mask-size");
  REFUSED ("location=/no/such/folder/x", NOT_FOUND, "'/no/such/folder/x'");
  REFUSED ("format=coco location=/no/such/folder/x", NOT_FOUND,
      "'/no/such/folder'");
  REFUSED ("format=davis location=/no/such/folder/x", NOT_FOUND,
      "'/no/such/folder/x'");
  REFUSED ("location=/tmp", OPEN_WRITE, "directory");
  REFUSED ("format=coco location=/tmp", OPEN_WRITE, "is a folder");
  REFUSED ("format=coco location=/dev/full", OPEN_WRITE, "device");
  REFUSED ("format=davis location=/dev/null", OPEN_WRITE, "not a folder");
}

GST_END_TEST;

GST_START_TEST (test_the_broker_is_named_by_a_valid_uri)
{
  REFUSED ("mqtt-uri=http://localhost/a", SETTINGS, "mqtt://host");
  REFUSED ("mqtt-uri=mqtt:///a", SETTINGS, "mqtt://host");
  REFUSED ("mqtt-uri=nothing", SETTINGS, "mqtt://host");
  REFUSED ("mqtt-uri=mqtt://localhost", SETTINGS, "mqtt-topic");
  REFUSED ("mqtt-uri=mqtt://localhost/a mqtt-topic=all/#", SETTINGS, "'#'");
  REFUSED ("mqtt-uri=mqtt://me:secret@localhost/a", SETTINGS, "mqtt-user");
}

GST_END_TEST;

GST_START_TEST (test_settings_stay_while_the_element_runs)
{
  GstHarness *h = open_harness ("", "a.jsonl");
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL, *location;

  g_object_set (h->element, "location", "/tmp/elsewhere", NULL);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, "'location'") != NULL, "%s", text);
  g_object_get (h->element, "location", &location, NULL);
  fail_unless (g_str_has_suffix (location, "/a.jsonl"));
  g_object_set (h->element, "location", location, "mqtt-qos", 1, NULL);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  g_free (location);
  g_free (text);
  close_bus (bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* No broker, and every way to stop: nothing hangs, and what waits is lost. */
GST_START_TEST (test_without_a_broker_all_is_counted)
{
  guint round, i;

  for (round = 0; round < 3; round++) {
    GstHarness *h = sam_harness_new ("samexport mqtt-uri=mqtt://127.0.0.1:9/a",
        GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    GstElement *element = gst_object_ref (h->element);

    gst_harness_set_drop_buffers (h, TRUE);
    for (i = 0; i < 10 * round; i++)
      gst_harness_push (h, new_tracked (i));
    gst_harness_teardown (h);
    fail_unless_equals_uint64 (sam_get_stat (element, "frames-lost"),
        10 * round);
    gst_object_unref (element);
  }
}

GST_END_TEST;

static void
add_tests (TCase * tc)
{
  tcase_add_checked_fixture (tc, set_up, tear_down);
  tcase_add_test (tc, test_frames_pass_as_they_are);
  tcase_add_test (tc, test_lines_are_json_whatever_the_metas_are);
  tcase_add_test (tc, test_times_streams_and_trackers_are_told);
  tcase_add_test (tc, test_coco_has_a_video_per_stream_and_size);
  tcase_add_test (tc, test_coco_has_labels_as_categories);
  tcase_add_test (tc, test_a_stream_without_frames_is_written);
  tcase_add_test (tc, test_a_reader_that_sleeps_stops_no_live_frame);
  tcase_add_test (tc, test_a_reader_that_sleeps_stops_no_other_stream_for_long);
  tcase_add_test (tc, test_a_slow_reader_gets_every_line);
  tcase_add_test (tc, test_a_pipe_gets_lines_when_it_is_read);
  tcase_add_test (tc, test_what_cannot_be_written_is_refused_at_the_start);
  tcase_add_test (tc, test_settings_stay_while_the_element_runs);
#ifdef WITH_PNG
  tcase_add_test (tc, test_davis_tells_when_the_palette_is_full);
#endif
#ifdef WITH_MQTT
  tcase_add_test (tc, test_the_broker_is_named_by_a_valid_uri);
  tcase_add_test (tc, test_without_a_broker_all_is_counted);
#endif
}

static Suite *
export_suite (void)
{
  Suite *suite = suite_create ("samexport");

  add_tests (sam_tcase_new (suite, "export"));
  return suite;
}

GST_CHECK_MAIN (export);
