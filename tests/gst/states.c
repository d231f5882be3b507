/* SPDX-License-Identifier: MIT */
/* Every element of the plugin, up and down through all states, whatever they
 * answer: in the manner of GStreamer's generic test. */

#include "samcheck.h"

#include <gst/base/gstbasetransform.h>

#define CAPS "video/x-raw,format=I420,width=64,height=48,framerate=30/1"
#define OTHER_CAPS "video/x-raw,format=I420,width=32,height=32,framerate=30/1"

static GList *
list_factories (void)
{
  GList *plugins = gst_registry_get_plugin_list (gst_registry_get ()), *p;
  GList *factories = NULL;

  for (p = plugins; p; p = p->next) {
    GList *features, *f;

    if (g_strcmp0 (gst_plugin_get_source (p->data), "gst-samtrack"))
      continue;
    features = gst_registry_get_feature_list_by_plugin (gst_registry_get (),
        gst_plugin_get_name (p->data));
    for (f = features; f; f = f->next) {
      if (GST_IS_ELEMENT_FACTORY (f->data))
        factories = g_list_prepend (factories, gst_object_ref (f->data));
    }
    gst_plugin_feature_list_free (features);
  }
  gst_plugin_list_free (plugins);
  return factories;
}

static void
check_walk (const GstState * walk, guint n)
{
  GList *factories = list_factories (), *f;
  guint i, count = 0;

  for (f = factories; f; f = f->next, count++) {
    GstElement *element = gst_element_factory_create (f->data, NULL);

    fail_unless (element != NULL);
    for (i = 0; i < n; i++)
      gst_element_set_state (element, walk[i]);
    fail_unless_equals_int (gst_element_set_state (element, GST_STATE_NULL),
        GST_STATE_CHANGE_SUCCESS);
    gst_object_unref (element);
  }
  fail_unless (count >= 2, "%u elements of gst-samtrack were found", count);
  g_list_free_full (factories, gst_object_unref);
}

GST_START_TEST (test_up_and_down)
{
  static const GstState walk[] = { GST_STATE_READY, GST_STATE_PAUSED,
    GST_STATE_PLAYING, GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_NULL,
    GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_PLAYING
  };

  check_walk (walk, G_N_ELEMENTS (walk));
}

GST_END_TEST;

GST_START_TEST (test_up_and_down_in_leaps)
{
  static const GstState walk[] = { GST_STATE_PLAYING, GST_STATE_NULL,
    GST_STATE_PAUSED, GST_STATE_NULL, GST_STATE_PAUSED, GST_STATE_READY,
    GST_STATE_PLAYING, GST_STATE_READY, GST_STATE_PAUSED
  };

  check_walk (walk, G_N_ELEMENTS (walk));
}

GST_END_TEST;

GST_START_TEST (test_never_used)
{
  check_walk (NULL, 0);
}

GST_END_TEST;

static GstHarness *
open_harness (GstElement * element)
{
  GstHarness *h;

  if (g_object_class_find_property (G_OBJECT_GET_CLASS (element), "location"))
    g_object_set (element, "location", "/dev/null", NULL);
  /* which has no default, as samtrack's has */
  if (g_str_equal (G_OBJECT_TYPE_NAME (element), "GstSamDetect"))
    g_object_set (element, "model-file", g_getenv ("SAMTRACK_DETECTOR"),
        "input-size", 320, NULL);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_src_caps_str (h, CAPS);
  return h;
}

/* Stops the source pad that it is called for in the streaming thread, as a
 * change of state or a flushing seek does in another one. */
static GstPadProbeReturn
stop_pad (GstPad * pad, GstPadProbeInfo * info, gpointer type)
{
  if (GST_EVENT_TYPE (info->data) != GPOINTER_TO_UINT (type))
    return GST_PAD_PROBE_OK;
  gst_pad_set_active (GST_PAD (gst_pad_get_element_private (pad)), FALSE);
  return GST_PAD_PROBE_REMOVE;
}

/* The event comes while the source pad stops: FLUSHING, no error. Core asks the
 * event function for no more than yes or no, and takes no for an error. */
static void
check_stop (GstElement * element, GstEventType type)
{
  GstHarness *h = open_harness (element);
  GstPad *sink = gst_element_get_static_pad (element, "sink");
  GstPad *src = gst_element_get_static_pad (element, "src");
  GstCaps *caps = gst_caps_from_string (OTHER_CAPS);
  GstSegment segment;
  GstFlowReturn ret;

  fail_unless_equals_int (gst_harness_push (h, sam_harness_frame (h, 0)),
      GST_FLOW_OK);
  gst_pad_set_element_private (sink, src);
  gst_pad_add_probe (sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, stop_pad,
      GUINT_TO_POINTER (type), NULL);
  if (type == GST_EVENT_STREAM_START)
    gst_harness_push_event (h, gst_event_new_stream_start ("another"));
  if (type == GST_EVENT_CAPS)
    gst_harness_push_event (h, gst_event_new_caps (caps));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.base = GST_SECOND;
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  ret = gst_harness_push (h, sam_harness_frame (h, 1));
  fail_unless (ret == GST_FLOW_FLUSHING, "%s, %s: %s",
      GST_OBJECT_NAME (element), gst_event_type_get_name (type),
      gst_flow_get_name (ret));
  gst_caps_unref (caps);
  gst_object_unref (src);
  gst_object_unref (sink);
  gst_harness_teardown (h);
}

GST_START_TEST (test_an_event_meets_a_source_pad_that_stops)
{
  static const GstEventType types[] = { GST_EVENT_STREAM_START, GST_EVENT_CAPS,
    GST_EVENT_SEGMENT
  };
  GList *factories = list_factories (), *f;
  guint count = 0;

  for (f = factories; f; f = f->next) {
    GstElement *element = gst_element_factory_create (f->data, NULL);

    gst_object_ref_sink (element);
    if (GST_IS_BASE_TRANSFORM (element)) {
      check_stop (element, types[__i__]);
      count++;
    }
    gst_object_unref (element);
  }
  fail_unless (count >= 2, "%u elements were found", count);
  g_list_free_full (factories, gst_object_unref);
}

GST_END_TEST;

/* What gst-inspect-1.0 shows. The project has no public address, so the origin
 * is GStreamer's own words for that. */
GST_START_TEST (test_the_plugin_names_no_address)
{
  GstPlugin *plugin = gst_registry_find_plugin (gst_registry_get (),
      "samtrack");

  fail_unless (plugin != NULL);
  fail_unless_equals_string (gst_plugin_get_origin (plugin),
      "Unknown package origin");
  fail_unless_equals_string (gst_plugin_get_package (plugin), "gst-samtrack");
  fail_unless_equals_string (gst_plugin_get_license (plugin), "MIT/X11");
  gst_object_unref (plugin);
}

GST_END_TEST;

static Suite *
states_suite (void)
{
  Suite *s = suite_create ("states");
  TCase *tc = sam_tcase_new_tiny (s, "walks");

  tcase_add_test (tc, test_never_used);
  tcase_add_test (tc, test_up_and_down);
  tcase_add_test (tc, test_up_and_down_in_leaps);
  tcase_add_loop_test (tc, test_an_event_meets_a_source_pad_that_stops, 0, 3);
  tc = sam_tcase_new (s, "plugin");
  tcase_add_test (tc, test_the_plugin_names_no_address);
  return s;
}

GST_CHECK_MAIN (states);
