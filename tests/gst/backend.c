/* SPDX-License-Identifier: MIT */
/* What the element reports about backends that a machine has or lacks. Most
 * test machines have no GPU; if there is one, it must work. */

#include "samcheck.h"

static GstElement *
make_pipeline (const gchar * properties, GstBus ** bus)
{
  gchar *text = g_strdup_printf ("videotestsrc num-buffers=3 ! "
      "video/x-raw,width=64,height=48 ! samtrack name=t %s ! fakesink",
      properties);
  GstElement *pipeline = gst_parse_launch (text, NULL);

  g_free (text);
  *bus = gst_element_get_bus (pipeline);
  return pipeline;
}

/* What the pipeline ends with; and how many errors came before all was over. */
static GstMessage *
play (GstElement * pipeline, GstBus * bus, guint * errors)
{
  GstMessage *first, *next;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  first = gst_bus_timed_pop_filtered (bus, 60 * GST_SECOND,
      GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless (first != NULL);
  *errors = GST_MESSAGE_TYPE (first) == GST_MESSAGE_ERROR;
  while ((next = gst_bus_timed_pop_filtered (bus, 200 * GST_MSECOND,
              GST_MESSAGE_ERROR))) {
    (*errors)++;
    gst_message_unref (next);
  }
  return first;
}

static void
check_backend (GstElement * pipeline, const gchar * wanted,
    const gchar * or_else)
{
  GstElement *track = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  GstStructure *stats;
  const gchar *got;

  g_object_get (track, "stats", &stats, NULL);
  got = gst_structure_get_string (stats, "backend");
  fail_unless (g_str_equal (got, wanted) || g_str_equal (got, or_else),
      "ran on %s", got);
  fail_unless_equals_uint64 (sam_get_stat (track, "inferred"), 3);
  fail_unless (sam_get_stat (track, "warm-up-ns") <=
      sam_get_stat (track, "open-ns"));
  fail_unless_equals_uint64 (sam_get_stat (track, "graph-misses"), 0);
  gst_structure_free (stats);
  gst_object_unref (track);
}

/* One error, which says why and what to do; then all is clean, and another
 * backend works. */
GST_START_TEST (test_cuda_where_there_is_none)
{
  GstElement *track, *pipeline;
  GstMessage *message;
  GError *error = NULL;
  GstBus *bus;
  guint errors;

  pipeline = make_pipeline ("backend=cuda initial-prompt=point,x=9,y=9", &bus);
  message = play (pipeline, bus, &errors);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS) {
    check_backend (pipeline, "cuda", "cuda");
  } else {
    gst_message_parse_error (message, &error, NULL);
    fail_unless_equals_int (errors, 1);
    fail_unless (g_error_matches (error, GST_LIBRARY_ERROR,
            GST_LIBRARY_ERROR_INIT), "%s", error->message);
    fail_unless (strstr (error->message, "use backend 'cpu'")
        || strstr (error->message, "backend 'cuda': not in this build"), "%s",
        error->message);
    GST_INFO ("%s", error->message);
    g_error_free (error);
  }
  gst_message_unref (message);
  fail_unless_equals_int (gst_element_set_state (pipeline, GST_STATE_NULL),
      GST_STATE_CHANGE_SUCCESS);

  track = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  gst_util_set_object_arg (G_OBJECT (track), "backend", "cpu");
  gst_object_unref (track);
  gst_bus_set_flushing (bus, TRUE);
  gst_bus_set_flushing (bus, FALSE);
  message = play (pipeline, bus, &errors);
  fail_unless_equals_int (errors, 0);
  check_backend (pipeline, "cpu", "cpu");
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
}

GST_END_TEST;

static void
find_line (GstDebugCategory * category, GstDebugLevel level, const gchar * file,
    const gchar * function, gint line, GObject * object,
    GstDebugMessage * message, gpointer found)
{
  if (g_str_equal (gst_debug_category_get_name (category), "samtrack")
      && strstr (gst_debug_message_get (message),
          "backend 'auto' takes 'cpu': "))
    g_atomic_int_inc ((gint *) found);
}

GST_START_TEST (test_auto_takes_what_there_is_and_says_so)
{
  GstElement *pipeline;
  GstMessage *message;
  GstStructure *stats;
  gint found = 0;
  GstElement *track;
  GstBus *bus;
  guint errors;

  gst_debug_set_threshold_for_name ("samtrack", GST_LEVEL_INFO);
  gst_debug_add_log_function (find_line, &found, NULL);
  pipeline = make_pipeline ("backend=auto initial-prompt=point,x=9,y=9", &bus);
  message = play (pipeline, bus, &errors);
  fail_unless_equals_int (errors, 0);
  check_backend (pipeline, "cpu", "cuda");
  track = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  g_object_get (track, "stats", &stats, NULL);
  fail_unless_equals_int (g_atomic_int_get (&found),
      g_str_equal (gst_structure_get_string (stats, "backend"), "cpu"));
  gst_structure_free (stats);
  gst_object_unref (track);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_debug_remove_log_function (find_line);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
}

GST_END_TEST;

/* The device is that of the GPU: the CPU does not care. */
GST_START_TEST (test_the_device_id)
{
  GstElement *track = gst_element_factory_make ("samtrack", NULL);
  GstMessage *message;
  GstElement *pipeline;
  GstBus *bus;
  guint errors;
  gint id = 0;

  g_object_get (track, "cuda-device-id", &id, NULL);
  fail_unless_equals_int (id, -1);
  g_object_set (track, "cuda-device-id", 3, NULL);
  g_object_get (track, "cuda-device-id", &id, NULL);
  fail_unless_equals_int (id, 3);
  gst_object_unref (track);

  pipeline = make_pipeline ("backend=cpu cuda-device-id=1024", &bus);
  message = play (pipeline, bus, &errors);
  fail_unless_equals_int (errors, 0);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);

  pipeline = make_pipeline ("backend=cuda cuda-device-id=1024", &bus);
  message = play (pipeline, bus, &errors);
  fail_unless_equals_int (errors, 1);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
}

GST_END_TEST;

static Suite *
backend_suite (void)
{
  Suite *s = suite_create ("backend");
  TCase *tc = sam_tcase_new_tiny (s, "backend");

  tcase_add_test (tc, test_cuda_where_there_is_none);
  tcase_add_test (tc, test_auto_takes_what_there_is_and_says_so);
  tcase_add_test (tc, test_the_device_id);
  return s;
}

GST_CHECK_MAIN (backend);
