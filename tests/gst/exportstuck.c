/* SPDX-License-Identifier: MIT */
/* samexport: a writer that is stuck does not stop frames, and what it refuses.
 */

#include "exportcheck.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Disks that are full */

/* Files cannot have more than that many bytes. A write beyond is EFBIG. */
static void
limit_files (guint bytes)
{
  const struct rlimit limit = { bytes, RLIM_INFINITY };

  signal (SIGXFSZ, SIG_IGN);
  fail_if (setrlimit (RLIMIT_FSIZE, &limit));
}

/* The frames that a COCO file has room for are in it, and it is whole; the rest
 * is counted when the stream has ended, not when the element is stopped. What
 * was lost is written once there is room. */
GST_START_TEST (test_coco_has_the_frames_that_there_is_room_for)
{
  const gchar *format[] = { "format=coco", "format=coco-video" };
  JsonParser *parser = json_parser_new ();
  gchar *path = export_get_path ("a.json"), *text = NULL, **list;
  GstSegment segment;
  guint64 written;
  guint i, f;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  for (f = 0; f < G_N_ELEMENTS (format); f++) {
    GstHarness *h = export_open (format[f], "a.json");
    GstBus *bus = sam_harness_add_bus (h);

    limit_files (10000);
    for (i = 0; i < 100; i++)
      gst_harness_push (h, export_tracked_new (i));
    gst_harness_push_event (h, gst_event_new_eos ());
    written = sam_get_stat (h->element, "frames-written");
    fail_unless (written > 10 && written < 100, "%" G_GUINT64_FORMAT, written);
    fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-lost"),
        100 - written);
    fail_unless (sam_count_messages (bus, GST_MESSAGE_WARNING, &text) >= 1);
    fail_unless (strstr (text, "too large") || strstr (text, "of 100 frames"), "%s", text);
    g_clear_pointer (&text, g_free);
    fail_unless (g_file_get_contents (path, &text, NULL, NULL));
    fail_unless_equals_int (json_array_get_length (json_object_get_array_member
            (export_parse (parser, text), "images")), written);
    g_clear_pointer (&text, g_free);

    limit_files (1 << 20);
    gst_harness_push_event (h, gst_event_new_flush_start ());
    gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
    gst_harness_push_event (h, gst_event_new_segment (&segment));
    gst_harness_push (h, export_tracked_new (100));
    gst_harness_push_event (h, gst_event_new_eos ());
    fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-written"),
        written + 1);
    export_close_bus (bus);
    gst_harness_teardown (h);
    list = export_list ();
    fail_unless_equals_int (g_strv_length (list), 1);
    g_strfreev (list);
  }
  g_object_unref (parser);
  g_free (path);
}

GST_END_TEST;

/* Writers that are stuck */

static gchar *
make_pipe (void)
{
  gchar *path = export_get_path ("pipe");

  fail_if (mkfifo (path, 0600));
  return path;
}

/* A pipe whose reader takes nothing: it fills, then the queue, then frames are
 * lost. In a live pipeline none waits, or this would never end. */
GST_START_TEST (test_a_reader_that_sleeps_stops_no_live_frame)
{
  gchar *path = make_pipe (), *text = NULL;
  const int fd = open (path, O_RDONLY | O_NONBLOCK);
  GstHarness *h = export_open ("overload-policy=drop queue-size=8", "pipe");
  GstBus *bus = sam_harness_add_bus (h);
  guint64 lost;
  guint i;

  fail_unless (fd >= 0);
  for (i = 0; i < 2000; i++)
    fail_unless_equals_int (gst_harness_push (h, export_tracked_new (i)), GST_FLOW_OK);
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
  export_close_bus (bus);
  close (fd);
  g_free (path);
}

GST_END_TEST;

/* A disk that is full: the first frame that is lost ends the stream. */
GST_START_TEST (test_a_strict_one_ends_with_the_first_loss)
{
  GstHarness *h = gst_harness_new_parse ("samexport location=/dev/full "
      "strict=true");
  GstBus *bus = sam_harness_add_bus (h);
  GstFlowReturn flow = GST_FLOW_OK;
  gchar *text = NULL;
  guint i;

  gst_harness_set_src_caps_str (h, "video/x-raw,format=RGB,width=64,height=48,"
      "framerate=30/1");
  gst_harness_set_drop_buffers (h, TRUE);
  for (i = 0; flow == GST_FLOW_OK; i++) {
    flow = gst_harness_push (h, export_tracked_new (i));
    g_usleep (1000);
  }
  fail_unless_equals_int (flow, GST_FLOW_ERROR);
  gst_harness_teardown (h);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_ERROR, &text),
      1);
  fail_unless (strstr (text, "/dev/full") && !strstr (text, "goes on"), "%s",
      text);
  g_free (text);
  export_close_bus (bus);
}

GST_END_TEST;

/* Where frames may wait, they wait for a second once, not one each: 2000 of
 * them would not end before the test's time is over. */
GST_START_TEST (test_a_reader_that_sleeps_stops_no_other_stream_for_long)
{
  gchar *path = make_pipe ();
  const int fd = open (path, O_RDONLY | O_NONBLOCK);
  GstHarness *h = export_open ("queue-size=8", "pipe");
  guint i;

  for (i = 0; i < 2000; i++)
    fail_unless_equals_int (gst_harness_push (h, export_tracked_new (i)), GST_FLOW_OK);
  fail_unless (sam_get_stat (h->element, "frames-lost") > 1000);
  gst_harness_teardown (h);
  close (fd);
  g_free (path);
}

GST_END_TEST;

/* A reader that is slow, but reads: in a stream that is not live nothing is
 * lost, however short the queue is. */
typedef struct
{
  const gchar *path;
  GString *all;
  gint64 pause;                 /* us, the longest from a read to the next */
} SlowReader;

static gpointer
read_slowly (gpointer data)
{
  SlowReader *reader = data;
  const int fd = open (reader->path, O_RDONLY);
  gint64 before = G_MAXINT64, now;
  gchar part[2000];
  gssize n;

  for (; (n = read (fd, part, sizeof part)) > 0; before = now) {
    now = g_get_monotonic_time ();
    reader->pause = MAX (reader->pause, now - before);
    g_string_append_len (reader->all, part, n);
    g_usleep (200);
  }
  close (fd);
  return NULL;
}

GST_START_TEST (test_a_slow_reader_gets_every_line)
{
  gchar *path = make_pipe ();
  SlowReader reader = { path, g_string_new (NULL), 0 };
  GThread *thread = g_thread_new ("reader", read_slowly, &reader);
  GstElement *element;
  GstHarness *h;
  gchar **lines;
  guint64 lost;
  guint i;

  /* The pipe is opened with the first line at the latest; the thread waits. */
  g_usleep (G_USEC_PER_SEC / 5);
  h = export_open ("queue-size=2", "pipe");
  element = gst_object_ref (h->element);
  for (i = 0; i < 1000; i++)
    gst_harness_push (h, export_tracked_new (i));
  export_close (h);
  g_thread_join (thread);
  lost = sam_get_stat (element, "frames-lost");
  lines = g_strsplit (reader.all->str, "\n", -1);
  /* One that had no processor for a second is rightly taken for stuck; then what
   * it did not get is told. */
  fail_unless (lost == 0 || reader.pause >= G_USEC_PER_SEC / 2,
      "%" G_GUINT64_FORMAT " lost, the longest pause was %" G_GINT64_FORMAT
      " us", lost, reader.pause);
  fail_unless_equals_uint64 (g_strv_length (lines) - 1 + lost, 1000);
  for (i = 0; lost == 0 && i < 1000; i++) {
    gchar *part = g_strdup_printf (",\"frame\":%u,", i);

    fail_unless (strstr (lines[i], part) != NULL, "line %u is %s", i, lines[i]);
    g_free (part);
  }
  gst_object_unref (element);
  g_strfreev (lines);
  g_string_free (reader.all, TRUE);
  g_free (path);
}

GST_END_TEST;

/* Without a reader lines are lost; they come when there is one. */
GST_START_TEST (test_a_pipe_gets_lines_when_it_is_read)
{
  gchar *path = make_pipe (), text[4000];
  GstHarness *h = export_open ("", "pipe");
  GstBus *bus = sam_harness_add_bus (h);
  GstMessage *message;
  gboolean recovered = FALSE;
  gssize n;
  guint i;
  int fd;

  for (i = 0; i < 5; i++)
    gst_harness_push (h, export_tracked_new (i));
  while (sam_get_stat (h->element, "frames-lost") < 5)
    g_usleep (1000);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      1);
  fd = open (path, O_RDONLY | O_NONBLOCK);
  /* An outage is over a second after its last loss. */
  g_usleep (1100 * 1000);
  gst_harness_push (h, export_tracked_new (5));
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
  export_close_bus (bus);
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
  REFUSED ("format=yolo location=-", SETTINGS, "folder");
  REFUSED ("format=yolo mask-size=none location=/tmp/x", SETTINGS, "mask-size");
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
  REFUSED ("format=yolo location=/no/such/folder/x", NOT_FOUND,
      "'/no/such/folder/x'");
  REFUSED ("format=yolo location=/dev/null", OPEN_WRITE, "not a folder");
}

GST_END_TEST;

#ifdef WITH_MQTT
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
#endif

GST_START_TEST (test_settings_stay_while_the_element_runs)
{
  GstHarness *h = export_open ("", "a.jsonl");
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
  export_close_bus (bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

#ifdef WITH_MQTT
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
      gst_harness_push (h, export_tracked_new (i));
    gst_harness_teardown (h);
    fail_unless_equals_uint64 (sam_get_stat (element, "frames-lost"),
        10 * round);
    gst_object_unref (element);
  }
}

GST_END_TEST;
#endif

static Suite *
exportstuck_suite (void)
{
  Suite *suite = suite_create ("exportstuck");
  TCase *tc = sam_tcase_new (suite, "exportstuck");

  tcase_add_checked_fixture (tc, export_set_up, export_tear_down);
  tcase_add_test (tc, test_coco_has_the_frames_that_there_is_room_for);
  tcase_add_test (tc, test_a_reader_that_sleeps_stops_no_live_frame);
  tcase_add_test (tc, test_a_reader_that_sleeps_stops_no_other_stream_for_long);
  tcase_add_test (tc, test_a_strict_one_ends_with_the_first_loss);
  tcase_add_test (tc, test_a_slow_reader_gets_every_line);
  tcase_add_test (tc, test_a_pipe_gets_lines_when_it_is_read);
  tcase_add_test (tc, test_what_cannot_be_written_is_refused_at_the_start);
#ifdef WITH_MQTT
  tcase_add_test (tc, test_the_broker_is_named_by_a_valid_uri);
#endif
  tcase_add_test (tc, test_settings_stay_while_the_element_runs);
#ifdef WITH_MQTT
  tcase_add_test (tc, test_without_a_broker_all_is_counted);
#endif
  return suite;
}

GST_CHECK_MAIN (exportstuck);
