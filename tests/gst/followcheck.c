/* SPDX-License-Identifier: MIT */
#include "followcheck.h"

#define X0 16                   /* of SQUARE_BOX on its first frame, px */

gchar *follow_file;

void
follow_begin (void)
{
  follow_file = g_strdup (g_getenv ("SAMTRACK_DETECTOR"));
  sam_fast_model = follow_file;
  sam_step_reset ();
  sam_step_set (SAM_OK, SLOW);
}

void
follow_end (void)
{
  sam_fast_model = NULL;
  g_clear_pointer (&follow_file, g_free);
}

GstHarness *
follow_harness_new_with (const gchar * prompt, const gchar * model,
    const gchar * follow)
{
  GstElement *element;
  GstHarness *h;

  gst_sam_meta_register ();
  element = g_object_new (GST_TYPE_SAM_TRACK, "initial-prompt", prompt,
      "max-objects", 32, "max-wait", LONG, "lost-after", 1, "model-file",
      model, "follow", follow, NULL);
  gst_object_ref_sink (element);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_harness_set_live (h, TRUE);
  gst_harness_set_src_caps_str (h, CAPS);
  return h;
}

GstHarness *
follow_harness_new (const gchar * prompt)
{
  return follow_harness_new_with (prompt, NULL, follow_file);
}

GstSamTrack *
follow_get_element (GstHarness * h)
{
  return (GstSamTrack *) h->element;
}

void
follow_settle_fast (GstHarness * h)
{
  GstSamFollow *follow = follow_get_element (h)->follow;
  gboolean busy;

  do {
    g_usleep (500);
    gst_sam_mutex_lock (&follow->lock);
    busy = !follow->is_off && (follow->waiting || follow->busy ||
        follow->has_anchor || follow->replays || follow->resets);
    gst_sam_mutex_unlock (&follow->lock);
  } while (busy);
}

void
follow_settle (GstHarness * h)
{
  gst_sam_worker_wait (&follow_get_element (h)->worker, LONG);
  follow_settle_fast (h);
}

/* A slow model that has nothing to do takes the frame that was left for it. */
static void
let_slow_take (GstHarness * h)
{
  GstSamWorker *worker = &follow_get_element (h)->worker;
  gboolean takes = TRUE;

  while (takes) {
    gst_sam_mutex_lock (&worker->lock);
    takes = worker->waiting && !worker->busy;
    gst_sam_mutex_unlock (&worker->lock);
    if (takes)
      g_usleep (200);
  }
}

/* The label map has the object's slot in its box, whose middle is not empty; one
 * on which others lie wholly is not seen. */
static void
check_mask (const GstStructure * meta, const GstStructure * object)
{
  const gint x0 = sam_get_int (object, "x"), w = sam_get_int (object, "w");
  const gint y0 = sam_get_int (object, "y"), h = sam_get_int (object, "h");
  const gint width = sam_get_int (meta, "mask-width");
  GstBuffer *mask = NULL;
  GstMapInfo map;
  guint found = 0, others = 0;
  gint x, y;

  fail_unless (gst_structure_get (meta, "mask", GST_TYPE_BUFFER, &mask, NULL));
  fail_unless (gst_buffer_map (mask, &map, GST_MAP_READ));
  for (y = y0; y < y0 + h; y++)
    for (x = x0; x < x0 + w; x++) {
      const guint slot = map.data[y * width + x];

      found += slot == sam_get_uint (object, "slot");
      others += slot > 0 && slot != sam_get_uint (object, "slot");
    }
  fail_unless (found > 0 || others == (guint) w * h);
  fail_unless (map.data[(y0 + h / 2) * width + x0 + w / 2] > 0);
  gst_buffer_unmap (mask, &map);
  gst_buffer_unref (mask);
}

gchar *
follow_run (GstHarness * h, guint n)
{
  GstBuffer *buf = sam_harness_run (h, n);
  const GstStructure *meta = sam_get_meta (buf);
  GString *text = g_string_new (NULL);
  guint i, age;

  g_string_printf (text, "%s %u:", gst_structure_get_string (meta, "state"),
      sam_get_uint (meta, "age"));
  for (i = 0; i < sam_get_num_objects (meta); i++) {
    const GstStructure *object = sam_get_object (meta, i);

    g_string_append_printf (text, " %u", (guint) sam_get_id (meta, i));
    if (sam_get_uint (object, "area") > 0)
      g_string_append_printf (text, "@%d", sam_get_int (object, "x") - X0);
    else
      g_string_append_printf (text, " %s",
          gst_structure_get_string (object, "state"));
    if (gst_structure_get_uint (object, "anchor-age", &age))
      g_string_append_printf (text, "+%u", age);
    if (sam_get_uint (object, "area") > 0)
      check_mask (meta, object);
  }
  gst_buffer_unref (buf);
  let_slow_take (h);
  return g_string_free (text, FALSE);
}

void
follow_expect (GstHarness * h, guint n, const gchar * wanted)
{
  gchar *text = follow_run (h, n);

  fail_unless (g_str_equal (text, wanted), "frame %u: '%s', expected '%s'", n,
      text, wanted);
  g_free (text);
}

void
follow_expect_begin (GstHarness * h, guint n, const gchar * begin)
{
  gchar *text = follow_run (h, n);

  fail_unless (g_str_has_prefix (text, begin), "frame %u: '%s', expected '%s'",
      n, text, begin);
  g_free (text);
}

void
follow_start_from (GstHarness * h, const gchar * first)
{
  gchar *wanted = g_strconcat ("ok 0:", first, NULL);

  follow_expect (h, 0, wanted);
  g_free (wanted);
  follow_settle (h);
  sam_gate_set (&sam_step_gate, TRUE);
  follow_expect_begin (h, 1, "ok 0: 1@1+1");
  follow_settle_fast (h);
  follow_expect_begin (h, 2, "ok 0: 1@2+2");
}

void
follow_start (GstHarness * h)
{
  follow_start_from (h, " 1@0+0");
}

void
follow_let_slow_come (GstHarness * h)
{
  sam_gate_set (&sam_step_gate, FALSE);
  gst_sam_worker_wait (&follow_get_element (h)->worker, LONG);
  sam_gate_set (&sam_step_gate, TRUE);
}

void
follow_expect_change (GstBus * bus, const gchar * state)
{
  gboolean found = FALSE;
  GstMessage *message;

  while (!found && (message = gst_bus_pop_filtered (bus,
              GST_MESSAGE_ELEMENT))) {
    found = !g_strcmp0 (gst_structure_get_string (gst_message_get_structure
            (message), "state"), state);
    gst_message_unref (message);
  }
  fail_unless (found, "no message with the state %s", state);
}

void
follow_close (GstHarness * h, GstBus * bus)
{
  sam_gate_set (&sam_step_gate, FALSE);
  sam_gate_set (&sam_fast_gate, FALSE);
  if (bus)
    sam_harness_close (h, bus);
  else
    gst_harness_teardown (h);
}
