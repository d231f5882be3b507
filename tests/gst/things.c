/* SPDX-License-Identifier: MIT */
#include "things.h"

#include <string.h>

static void
append_thing (GValue * objects, const Thing * t)
{
  GValue value = G_VALUE_INIT;
  GstStructure *s = gst_structure_new ("object", "id", G_TYPE_UINT64, t->id,
      "slot", G_TYPE_UINT, t->slot, "state", G_TYPE_STRING, t->state,
      "score", G_TYPE_DOUBLE, 5.0, "iou", G_TYPE_DOUBLE, 0.93,
      "x", G_TYPE_INT, t->x, "y", G_TYPE_INT, t->y, "w", G_TYPE_INT, t->w,
      "h", G_TYPE_INT, t->h, "area", G_TYPE_UINT, 1, NULL);

  if (t->label)
    gst_structure_set (s, "label", G_TYPE_STRING, t->label, NULL);
  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, s);
  gst_value_array_append_and_take_value (objects, &value);
}

GstStructure *
add_things (GstBuffer * buf, const gchar * state, const Thing * things, guint n)
{
  GstCustomMeta *meta = gst_buffer_add_custom_meta (buf, "GstSamTrackMeta");
  GstStructure *s = gst_custom_meta_get_structure (meta);
  GstBuffer *mask = gst_buffer_new_allocate (NULL, W * H, NULL);
  GValue objects = G_VALUE_INIT;
  GstMapInfo map;
  guint i;
  gint y;

  g_value_init (&objects, GST_TYPE_ARRAY);
  gst_buffer_map (mask, &map, GST_MAP_WRITE);
  memset (map.data, 0, map.size);
  for (i = 0; i < n; i++) {
    append_thing (&objects, &things[i]);
    for (y = things[i].y; y < things[i].y + things[i].h; y++)
      memset (map.data + y * W + things[i].x, things[i].slot, things[i].w);
  }
  gst_buffer_unmap (mask, &map);
  gst_structure_set (s, "version", G_TYPE_UINT, 1, "width", G_TYPE_INT, W,
      "height", G_TYPE_INT, H, "state", G_TYPE_STRING, state,
      "age", G_TYPE_UINT, strcmp (state, "stale") ? 0 : 1,
      "mask", GST_TYPE_BUFFER, mask, "mask-width", G_TYPE_INT, W,
      "mask-height", G_TYPE_INT, H, NULL);
  gst_structure_take_value (s, "objects", &objects);
  gst_buffer_unref (mask);
  return s;
}

void
tell_lie (GstStructure * meta, guint kind)
{
  gst_structure_set ((GstStructure *) sam_get_object (meta, 0),
      "x", G_TYPE_INT, kind == 2 ? -1000 : 60,
      "y", G_TYPE_INT, kind == 3 ? G_MAXINT : 40,
      "w", G_TYPE_INT, kind == 4 ? G_MAXINT : 2000,
      "h", G_TYPE_INT, kind == 5 ? -7 : 2000, NULL);
  if (kind == 6)
    gst_structure_set (meta, "mask-width", G_TYPE_INT, 6400, NULL);
  if (kind == 7)
    gst_structure_set (meta, "mask-width", G_TYPE_INT, 0, "mask-height",
        G_TYPE_INT, -3, NULL);
  if (kind == 8)
    gst_structure_set (meta, "width", G_TYPE_INT, -64, NULL);
}

guint8
texture (gint x, gint y, gint c)
{
  return 60 + ((x * 37 + y * 91 + c * 53) ^ (x * y)) % 130;
}

GstBuffer *
new_rgba (void)
{
  GstBuffer *buf = gst_buffer_new_allocate (NULL, 4 * W * H, NULL);
  GstMapInfo map;
  gint x, y, c;

  gst_buffer_map (buf, &map, GST_MAP_WRITE);
  for (y = 0; y < H; y++) {
    for (x = 0; x < W; x++) {
      for (c = 0; c < 4; c++)
        map.data[4 * (y * W + x) + c] = c == 3 ? 255 : texture (x, y, c);
    }
  }
  gst_buffer_unmap (buf, &map);
  return buf;
}

GstHarness *
open_rgba (const gchar * launch)
{
  return sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, W, H);
}

GstBuffer *
push (GstHarness * h, guint64 ms, const gchar * state, const Thing * things,
    guint n)
{
  GstBuffer *buf = new_rgba ();

  GST_BUFFER_PTS (buf) = ms * GST_MSECOND;
  if (n)
    add_things (buf, state, things, n);
  return gst_harness_push_and_pull (h, buf);
}

gboolean
is_changed (const guint8 * data, gint x, gint y)
{
  const guint8 *p = data + 4 * (y * W + x);

  return p[0] != texture (x, y, 0) || p[1] != texture (x, y, 1) ||
      p[2] != texture (x, y, 2);
}

guint
count_seen (GstBuffer * buf, gint x0, gint y0, gint x1, gint y1, gboolean last)
{
  GstMapInfo map;
  guint n = 0;
  gint x, y;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = MAX (y0, 0); y < MIN (y1, H); y++) {
    for (x = MAX (x0, 0); x < MIN (x1, W); x++)
      n += !is_changed (map.data, x, y);
  }
  gst_buffer_unmap (buf, &map);
  if (last)
    gst_buffer_unref (buf);
  return n;
}
