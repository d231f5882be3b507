/* Every element of the plugin, up and down through all states, whatever they
 * answer: in the manner of GStreamer's generic test. */

#include "samcheck.h"

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
  tc = sam_tcase_new (s, "plugin");
  tcase_add_test (tc, test_the_plugin_names_no_address);
  return s;
}

GST_CHECK_MAIN (states);
