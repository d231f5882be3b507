/* SPDX-License-Identifier: MIT */
#include "exportcheck.h"

#include <glib/gstdio.h>
#include <string.h>

static gchar *folder;           /* of this test */

gchar *
export_get_path (const gchar * name)
{
  return g_build_filename (folder, name, NULL);
}

void
export_set_up (void)
{
  folder = g_dir_make_tmp ("samexport-XXXXXX", NULL);
  fail_unless (folder != NULL);
}

gchar **
export_list (void)
{
  GPtrArray *names = g_ptr_array_new ();
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;

  while ((name = g_dir_read_name (dir)))
    g_ptr_array_add (names, g_strdup (name));
  g_dir_close (dir);
  g_ptr_array_add (names, NULL);
  return (gchar **) g_ptr_array_free (names, FALSE);
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

void
export_tear_down (void)
{
  empty (folder);
  g_clear_pointer (&folder, g_free);
}

GstHarness *
export_open (const gchar * properties, const gchar * name)
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

GstBuffer *
export_frame_new (guint n)
{
  GstBuffer *buf = gst_buffer_new_allocate (NULL, WIDTH * HEIGHT, NULL);

  gst_buffer_memset (buf, 0, 0, WIDTH * HEIGHT);
  GST_BUFFER_PTS (buf) = n * GST_SECOND / 30;
  GST_BUFFER_DURATION (buf) = GST_SECOND / 30;
  return buf;
}

static GstStructure *
add (GValue * objects, guint64 id, guint slot, const gchar * label,
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
  return s;
}

void
export_add_object (GValue * objects, guint64 id, guint slot, const gchar * label,
    gdouble score)
{
  add (objects, id, slot, label, score);
}

void
export_add_followed (GValue * objects, guint64 id, guint slot,
    guint anchor_age)
{
  gst_structure_set (add (objects, id, slot, NULL, 0), "model", G_TYPE_STRING,
      "follow", "anchor-age", G_TYPE_UINT, anchor_age, NULL);
}

/* Takes @objects; @mask is a map with rows of a number of slots below each
 * other, or of random bytes if it is too small. */
GstStructure *
export_add_meta (GstBuffer * buf, const gchar * source, GValue * objects,
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
GstBuffer *
export_mask_new (void)
{
  GstBuffer *mask = gst_buffer_new_allocate (NULL, WIDTH * HEIGHT, NULL);
  gint i;

  for (i = 0; i < WIDTH * HEIGHT; i++)
    gst_buffer_memset (mask, i, i % WIDTH + 1, 1);
  return mask;
}

/* A frame with one object, whose mask is column 0. */
GstBuffer *
export_tracked_new (guint n)
{
  GstBuffer *buf = export_frame_new (n);
  GValue objects = G_VALUE_INIT;

  g_value_init (&objects, GST_TYPE_ARRAY);
  export_add_object (&objects, 1, 1, NULL, 2);
  export_add_meta (buf, "track", &objects, export_mask_new ());
  return buf;
}

gchar **
export_read_lines (const gchar * name)
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

JsonObject *
export_parse (JsonParser * parser, const gchar * text)
{
  GError *error = NULL;

  fail_unless (json_parser_load_from_data (parser, text, -1, &error),
      "%s: %s", text, error ? error->message : "");
  return json_node_get_object (json_parser_get_root (parser));
}

/* Before the harness: the messages that are left refer to its element. */
void
export_close_bus (GstBus * bus)
{
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
}

/* Ends the stream and the harness. */
void
export_close (GstHarness * h)
{
  gst_harness_push_event (h, gst_event_new_eos ());
  gst_harness_teardown (h);
}

void
export_wait_until_written (GstHarness * h, guint64 frames)
{
  guint i;

  for (i = 0; i < 3000 && sam_get_stat (h->element, "frames-written") < frames;
      i++)
    g_usleep (10000);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-written"),
      frames);
}

gchar *
export_get_refusal (const gchar * properties, const gchar * name)
{
  gchar *path = export_get_path (name), *text = NULL;
  gchar *launch = g_strdup_printf ("samexport %s location=%s", properties,
      path);
  GstElement *export = gst_parse_launch (launch, NULL);
  GstBus *bus = gst_bus_new ();
  GstMessage *message;
  GError *error = NULL;

  gst_element_set_bus (export, bus);
  if (gst_element_set_state (export, GST_STATE_PAUSED) ==
      GST_STATE_CHANGE_FAILURE) {
    message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    gst_message_parse_error (message, &error, NULL);
    text = g_strdup (error->message);
    g_error_free (error);
    gst_message_unref (message);
  }
  gst_bus_set_flushing (bus, TRUE);
  gst_element_set_state (export, GST_STATE_NULL);
  gst_element_set_bus (export, NULL);
  gst_object_unref (bus);
  gst_object_unref (export);
  g_free (launch);
  g_free (path);
  return text;
}
