/* SPDX-License-Identifier: MIT */
/* samzones: what it tells of label maps that are made here, so that every share
 * is known. zonemap.c is about the maps and the texts of zones. */

#include "samcheck.h"

#include <string.h>

#define WIDTH 64
#define HEIGHT 48

/* Right half of the frame. */
#define HALF "zone,name=half,points=32:0 64:0 64:48 32:48"

/* ---- The element */

typedef struct
{
  guint64 id;
  const gchar *state, *label;
  gint x, y, w, h;              /* its mask */
} Thing;

static GstHarness *
open_zones (const gchar * properties, GstBus ** bus)
{
  gchar *launch = g_strdup_printf ("samzones %s", properties);
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_GRAY8, WIDTH,
      HEIGHT);

  gst_harness_set_drop_buffers (h, TRUE);
  *bus = sam_harness_add_bus (h);
  g_free (launch);
  return h;
}

static void
add_thing (GValue * objects, const Thing * thing, guint slot)
{
  GValue value = G_VALUE_INIT;
  GstStructure *s = gst_structure_new ("object", "id", G_TYPE_UINT64, thing->id,
      "slot", G_TYPE_UINT, slot, "state", G_TYPE_STRING, thing->state ?
      thing->state : "tracked", "score", G_TYPE_DOUBLE, 1.,
      "iou", G_TYPE_DOUBLE, 1., "x", G_TYPE_INT, thing->x,
      "y", G_TYPE_INT, thing->y, "w", G_TYPE_INT, thing->w,
      "h", G_TYPE_INT, thing->h, "area", G_TYPE_UINT,
      (guint) (thing->w * thing->h), NULL);

  if (thing->label)
    gst_structure_set (s, "label", G_TYPE_STRING, thing->label, NULL);
  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, s);
  gst_value_array_append_and_take_value (objects, &value);
}

/* A frame @n of 10 a second with these masks in a map of its size. */
static GstBuffer *
new_frame (guint n, gint width, gint height, const Thing * things, guint num)
{
  GstBuffer *buf = gst_buffer_new_allocate (NULL, width * height, NULL);
  GstBuffer *mask = gst_buffer_new_allocate (NULL, width * height, NULL);
  GValue objects = G_VALUE_INIT;
  GstStructure *s;
  guint i;
  gint y;

  gst_buffer_memset (buf, 0, 0, width * height);
  gst_buffer_memset (mask, 0, 0, width * height);
  g_value_init (&objects, GST_TYPE_ARRAY);
  for (i = 0; i < num; i++) {
    add_thing (&objects, &things[i], i + 1);
    for (y = things[i].y; y < things[i].y + things[i].h; y++)
      gst_buffer_memset (mask, y * width + things[i].x, i + 1, things[i].w);
  }
  s = gst_custom_meta_get_structure (gst_buffer_add_custom_meta (buf,
          "GstSamTrackMeta"));
  gst_structure_set (s, "version", G_TYPE_UINT, 1, "width", G_TYPE_INT, width,
      "height", G_TYPE_INT, height, "source", G_TYPE_STRING, "track",
      "state", G_TYPE_STRING, "ok", "age", G_TYPE_UINT, 0,
      "frame-index", G_TYPE_UINT64, (guint64) n, "running-time", G_TYPE_UINT64,
      n * GST_SECOND / 10, "inference-time", G_TYPE_UINT64, (guint64) 1,
      "mask", GST_TYPE_BUFFER, mask, "mask-width", G_TYPE_INT, width,
      "mask-height", G_TYPE_INT, height, NULL);
  gst_structure_take_value (s, "objects", &objects);
  gst_buffer_unref (mask);
  GST_BUFFER_PTS (buf) = n * GST_SECOND / 10;
  GST_BUFFER_DURATION (buf) = GST_SECOND / 10;
  return buf;
}

/* One thing alone. */
static void
push_thing (GstHarness * h, guint n, Thing thing)
{
  fail_unless_equals_int (gst_harness_push (h, new_frame (n, WIDTH, HEIGHT,
              &thing, thing.id ? 1 : 0)), GST_FLOW_OK);
}

static void
push_box (GstHarness * h, guint n, gint x, gint y)
{
  push_thing (h, n, (Thing) {.id = 1,.x = x,.y = y,.w = 10,.h = 10});
}

static void
append_event (GString * to, const GstStructure * s)
{
  const gchar *more = gst_structure_get_string (s, "reason");
  guint64 time;

  if (!more)
    more = gst_structure_get_string (s, "direction");
  g_string_append_printf (to, "%s %s %" G_GUINT64_FORMAT "%s%s",
      gst_structure_get_string (s, "kind"),
      gst_structure_get_string (s, "zone"), sam_get_uint64 (s, "id"),
      more ? " " : "", more ? more : "");
  if (gst_structure_get_uint64 (s, "time-inside", &time))
    g_string_append_printf (to, " %u ms", (guint) (time / GST_MSECOND));
  g_string_append (to, "; ");
}

/* What was told since the last call is this. */
static void
expect (GstBus * bus, const gchar * events)
{
  GString *text = g_string_new (NULL);
  GstMessage *message;
  GError *error;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT |
              GST_MESSAGE_WARNING | GST_MESSAGE_ERROR))) {
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT) {
      if (gst_message_has_name (message, "samzones-event"))
        append_event (text, gst_message_get_structure (message));
    } else {
      if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING)
        gst_message_parse_warning (message, &error, NULL);
      else
        gst_message_parse_error (message, &error, NULL);
      g_string_append_printf (text, "%s; ", error->message);
      g_error_free (error);
    }
    gst_message_unref (message);
  }
  fail_unless (!strcmp (text->str, events), "'%s', expected '%s'", text->str,
      events);
  g_string_free (text, TRUE);
}

/* Columns of ten that are in the zone from column 32 on: 5 enter, 3 leave. */
GST_START_TEST (test_share_of_the_mask_with_hysteresis)
{
  static const gint at[] = { 10, 26, 27, 26, 27, 24, 26, 27, 40 };
  static const gchar *told[] = { "", "", "entered half 1 moved; ", "", "",
    "left half 1 moved 300 ms; ", "", "entered half 1 moved; ", ""
  };
  GstBus *bus;
  GstHarness *h = open_zones ("hysteresis=0.15 zones=\"" HALF "\"", &bus);
  guint n;

  for (n = 0; n < G_N_ELEMENTS (at); n++) {
    push_box (h, n, at[n], 3);
    expect (bus, told[n]);
  }
  /* above the lower threshold, and it leaves where nothing is left */
  g_object_set (h->element, "hysteresis", 1.0, NULL);
  push_box (h, n++, 23, 3);
  expect (bus, "");
  push_box (h, n++, 22, 3);
  expect (bus, "left half 1 moved 300 ms; ");
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_zones_have_their_own_settings)
{
  GstBus *bus;
  GstHarness *h = open_zones ("dwell=0.3 zones=\"" HALF ";zone,name=most,"
      "points=32:0 64:0 64:48 32:48,threshold=0.9,dwell=0.5;zone,name=quiet,"
      "points=32:0 64:0 64:48 32:48,dwell=0\"", &bus);
  guint n;

  push_box (h, 0, 28, 3);
  expect (bus, "entered half 1 appeared; entered quiet 1 appeared; ");
  push_box (h, 1, 32, 3);
  expect (bus, "entered most 1 moved; ");
  for (n = 2; n < 9; n++) {
    push_box (h, n, 33, 3);
    expect (bus, n == 3 ? "dwell half 1 300 ms; " : n == 6 ?
        "dwell most 1 500 ms; " : "");
  }
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* A line down the middle, from row 0 to 24: right of it is the left half. */
GST_START_TEST (test_lines_have_two_sides_and_two_ends)
{
  static const gint way[][2] = { {10, 3}, {24, 3}, {27, 3}, {28, 3}, {27, 3},
    {50, 3}, {10, 3}, {10, 35}, {50, 35}, {50, 3}, {10, 3}
  };
  static const gchar *told[] = { "", "", "", "crossed gate 1 right-to-left; ",
    "", "", "crossed gate 1 left-to-right; ", "", "", "",
    "crossed gate 1 left-to-right; "
  };
  GstBus *bus;
  GstHarness *h = open_zones ("hysteresis=0.2 zones=\"line,name=gate,"
      "points=32:0 32:24\"", &bus);
  guint n;

  for (n = 0; n < G_N_ELEMENTS (way); n++) {
    push_box (h, n, way[n][0], way[n][1]);
    expect (bus, told[n]);
  }
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_objects_that_go_and_come_back)
{
  const Thing in = {.id = 1,.label = "car",.x = 40,.y = 3,.w = 10,.h = 10 };
  Thing other = in;
  GstBus *bus;
  GstHarness *h = open_zones ("dwell=0.4 zones=\"" HALF ",labels=bus|car\"",
      &bus);

  push_thing (h, 0, in);
  expect (bus, "entered half 1 appeared; ");
  /* hidden: it is where it was, and its time goes on */
  push_thing (h, 1, (Thing) {.id = 1,.label = "car",.state = "occluded"});
  gst_harness_push (h, gst_buffer_new_allocate (NULL, WIDTH * HEIGHT, NULL));
  expect (bus, "");
  push_thing (h, 4, (Thing) {.id = 1,.label = "car",.state = "occluded"});
  expect (bus, "dwell half 1 400 ms; ");
  push_thing (h, 5, (Thing) {.id = 1,.label = "car",.state = "lost"});
  expect (bus, "left half 1 lost 500 ms; ");
  push_thing (h, 6, (Thing) {.id = 1,.label = "car",.state = "lost"});
  expect (bus, "");
  other.state = "found";
  push_thing (h, 7, other);
  expect (bus, "entered half 1 appeared; ");
  push_thing (h, 8, (Thing) {.id = 0});
  expect (bus, "left half 1 removed 100 ms; ");
  /* another label, and none */
  push_thing (h, 9, in);
  other.label = "cart";
  push_thing (h, 10, other);
  expect (bus, "entered half 1 appeared; left half 1 relabelled 100 ms; ");
  other.label = NULL;
  push_thing (h, 11, other);
  expect (bus, "");
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_seeks_and_the_end)
{
  GstBus *bus;
  GstHarness *h = open_zones ("zones=\"" HALF "\"", &bus);
  GstStructure *stats;
  GstSegment segment;

  push_box (h, 5, 40, 3);
  expect (bus, "entered half 1 appeared; ");
  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  expect (bus, "left half 1 flush; ");
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  push_box (h, 0, 40, 3);
  expect (bus, "entered half 1 appeared; ");
  gst_harness_push_event (h, gst_event_new_eos ());
  expect (bus, "left half 1 end; ");
  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless_equals_uint64 (sam_get_uint64 (stats, "events"), 4);
  gst_structure_free (stats);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Normalized zones follow the size of the frame, others do not. */
GST_START_TEST (test_another_size)
{
  const Thing thing = {.id = 1,.x = 40,.y = 3,.w = 10,.h = 10 };
  GstBus *bus;
  GstHarness *h = open_zones ("zones=\"zone,name=part,normalized=true,"
      "points=0.5:0 1:0 1:1 0.5:1;zone,name=px,points=100:0 128:0 128:9\"",
      &bus);

  push_thing (h, 0, thing);
  expect (bus, "The zone 'px' has no pixel of the frame, which has 64 x 48.; "
      "entered part 1 appeared; ");
  gst_harness_set_src_caps_str (h, "video/x-raw,format=GRAY8,width=128,"
      "height=96,framerate=30/1");
  gst_harness_push (h, new_frame (1, 128, 96, &thing, 1));
  expect (bus, "left part 1 moved 100 ms; ");
  sam_harness_close (h, bus);
}

GST_END_TEST;

static void
expect_list (GstElement * element, const gchar * expected)
{
  GString *text = g_string_new (NULL);
  const GValue *zones, *points;
  gboolean normalized;
  GstStructure *s;
  guint i, k;

  g_object_get (element, "list", &s, NULL);
  zones = gst_structure_get_value (s, "zones");
  for (i = 0; i < gst_value_array_get_size (zones); i++) {
    const GstStructure *zone =
        gst_value_get_structure (gst_value_array_get_value (zones, i));

    fail_unless (gst_structure_get_boolean (zone, "normalized", &normalized));
    g_string_append_printf (text, "%s %s %d:", gst_structure_get_name (zone),
        gst_structure_get_string (zone, "name"), normalized);
    points = gst_structure_get_value (zone, "points");
    for (k = 0; k < gst_value_array_get_size (points); k++)
      g_string_append_printf (text, " %g",
          g_value_get_double (gst_value_array_get_value (points, k)));
    g_string_append (text, "; ");
  }
  gst_structure_free (s);
  fail_unless_equals_string (text->str, expected);
  g_string_free (text, TRUE);
}

static void
expect_check (GstElement * element, const gchar * zones, const gchar * expected)
{
  gchar *why;

  g_signal_emit_by_name (element, "check", zones, &why);
  fail_unless_equals_string (why, expected);
  g_free (why);
}

GST_START_TEST (test_zones_change_while_the_stream_runs)
{
  GstBus *bus;
  GstHarness *h = open_zones ("zones=\"" HALF ";zone,name=b,points=32:0 64:0 "
      "64:48 32:48\"", &bus);

  push_box (h, 0, 40, 3);
  expect (bus, "entered half 1 appeared; entered b 1 appeared; ");
  /* its name stays, its place in the list and its shape do not */
  g_object_set (h->element, "zones", "zone,name=new,points=0:0 9:0 9:9;"
      "zone,name=b,points=36:0 64:0 64:48 36:48", NULL);
  push_box (h, 1, 40, 3);
  expect (bus, "left half 1 zone-changed; ");
  g_object_set (h->element, "zones", "zone,name=b,points=1:1 2:2", NULL);
  expect (bus, "The zone 'zone,name=b,points=1:1 2:2' was refused: it has 2 "
      "points, expected are 3 or more. The zones before stay.; ");
  push_box (h, 2, 20, 3);
  expect (bus, "left b 1 moved 200 ms; ");
  expect_list (h->element, "zone new 0: 0 0 9 0 9 9; zone b 0: 36 0 64 0 64 48 "
      "36 48; ");
  expect_check (h->element, "zone,name=c,points=0:0", "The zone 'zone,name=c,"
      "points=0:0' was refused: it has 1 point, expected are 3 or more.");
  expect_check (h->element, "line,name=c,points=0:0 9:9", NULL);
  expect_check (h->element, NULL, NULL);
  g_object_set (h->element, "zones", "line,name=l,points=0.5:0 0.5:1,"
      "normalized=true", NULL);
  expect_list (h->element, "line l 1: 0.5 0 0.5 1; ");
  g_object_set (h->element, "zones", NULL, NULL);
  push_box (h, 3, 40, 3);
  expect (bus, "");
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* An event's field on the frame, and counts by class. */
GST_START_TEST (test_fields_and_counts)
{
  static const gchar *name = "\u0442\u0443\u0442 \U0001f6aa, \\\"a\\\";";
  const Thing things[] = {
    {.id = 7,.label = "\u8eca",.x = 40,.y = 3,.w = 10,.h = 10},
    {.id = G_MAXUINT64,.x = 50,.y = 20,.w = 8,.h = 8},
    {.id = 9,.label = "\u8eca",.x = 3,.y = 20,.w = 8,.h = 8},
  };
  gchar *zones = g_strdup_printf ("zone,name=\"%s\",points=32:0 64:0 64:48 "
      "32:48", name);
  GstBus *bus;
  GstHarness *h = open_zones ("", &bus);
  const GstStructure *event, *zone, *class;
  const GValue *events;
  GstStructure *stats;
  GstBuffer *buf;

  gst_harness_set_drop_buffers (h, FALSE);
  g_object_set (h->element, "zones", zones, NULL);
  buf = gst_harness_push_and_pull (h, new_frame (0, WIDTH, HEIGHT, things, 3));
  events = gst_structure_get_value (sam_get_meta (buf), "zone-events");
  fail_unless_equals_int (gst_value_array_get_size (events), 2);
  event = gst_value_get_structure (gst_value_array_get_value (events, 0));
  fail_unless_equals_string (gst_structure_get_string (event, "zone"),
      "\u0442\u0443\u0442 \U0001f6aa, \"a\";");
  fail_unless_equals_string (gst_structure_get_string (event, "label"),
      "\u8eca");
  fail_unless (sam_get_double (event, "share") == 1);
  event = gst_value_get_structure (gst_value_array_get_value (events, 1));
  fail_unless_equals_uint64 (sam_get_uint64 (event, "id"), G_MAXUINT64);
  fail_unless_equals_int (sam_get_uint (event, "inside"), 2);
  fail_if (gst_structure_has_field (event, "label"));
  gst_buffer_unref (buf);
  buf = gst_harness_push_and_pull (h, new_frame (1, WIDTH, HEIGHT, things, 3));
  fail_if (gst_structure_has_field (sam_get_meta (buf), "zone-events"));
  gst_buffer_unref (buf);
  g_object_get (h->element, "stats", &stats, NULL);
  zone = gst_value_get_structure (gst_value_array_get_value
      (gst_structure_get_value (stats, "zones"), 0));
  fail_unless_equals_int (sam_get_uint (zone, "inside"), 2);
  fail_unless_equals_uint64 (sam_get_uint64 (zone, "entered"), 2);
  events = gst_structure_get_value (zone, "classes");
  fail_unless_equals_int (gst_value_array_get_size (events), 1);
  class = gst_value_get_structure (gst_value_array_get_value (events, 0));
  fail_unless_equals_string (gst_structure_get_string (class, "label"),
      "\u8eca");
  fail_unless_equals_int (sam_get_uint (class, "inside"), 1);
  fail_unless_equals_uint64 (sam_get_uint64 (class, "entered"), 1);
  gst_structure_free (stats);
  g_free (zones);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Metas of others: an id twice, none, slots that no map has, a map that is too
 * small, of another size, or none. */
GST_START_TEST (test_metas_that_lie)
{
  const Thing things[] = {
    {.id = 1,.x = 40,.y = 3,.w = 10,.h = 10},
    {.id = 1,.x = 4,.y = 3,.w = 10,.h = 10},
    {.id = 0,.x = 40,.y = 20,.w = 10,.h = 10},
  };
  const Thing half = {.id = 1,.x = 17,.y = 3,.w = 10,.h = 10 };
  static const gint wrong[][2] = { {64, 49}, {G_MAXINT, G_MAXINT}, {0, 48} };
  GstBus *bus;
  GstHarness *h = open_zones ("zones=\"" HALF "\"", &bus);
  GstBuffer *buf;
  guint i;

  gst_harness_push (h, new_frame (0, WIDTH, HEIGHT, things, 3));
  expect (bus, "entered half 1 appeared; ");
  for (i = 0; i < G_N_ELEMENTS (wrong); i++) {
    buf = new_frame (i + 1, WIDTH, HEIGHT, &things[1], 1);
    gst_structure_set ((GstStructure *) sam_get_meta (buf), "mask-width",
        G_TYPE_INT, wrong[i][0], "mask-height", G_TYPE_INT, wrong[i][1], NULL);
    fail_unless_equals_int (gst_harness_push (h, buf), GST_FLOW_OK);
  }
  buf = new_frame (4, WIDTH, HEIGHT, &things[1], 1);
  gst_structure_set ((GstStructure *) sam_get_object (sam_get_meta (buf), 0),
      "slot", G_TYPE_UINT, 300, NULL);
  fail_unless_equals_int (gst_harness_push (h, buf), GST_FLOW_OK);
  expect (bus, "");
  /* a map of half the size */
  buf = new_frame (5, WIDTH / 2, HEIGHT / 2, &half, 1);
  fail_unless_equals_int (gst_harness_push (h, buf), GST_FLOW_OK);
  /* another tracker's */
  g_object_set (h->element, "tracker", "other", NULL);
  push_box (h, 6, 3, 3);
  expect (bus, "");
  g_object_set (h->element, "tracker", "track", NULL);
  push_box (h, 7, 3, 3);
  expect (bus, "left half 1 moved 700 ms; ");
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* As many objects as there are slots, all of whom change from one frame to the
 * next. */
GST_START_TEST (test_all_objects_change)
{
  Thing things[255] = { {0}, };
  GstBus *bus;
  GstHarness *h = open_zones ("zones=\"" HALF "\"", &bus);
  GstStructure *stats;
  const GstStructure *zone;
  guint n, i;

  for (n = 0; n < 3; n++) {
    for (i = 0; i < 255; i++)
      things[i] = (Thing) {.id = 1000 * n + i + 1,.x = 32 + i % 32,
        .y = i / 32,.w = 1,.h = 1};
    gst_harness_push (h, new_frame (n, WIDTH, HEIGHT, things, 255));
    g_object_get (h->element, "stats", &stats, NULL);
    zone = gst_value_get_structure (gst_value_array_get_value
        (gst_structure_get_value (stats, "zones"), 0));
    fail_unless_equals_int (sam_get_uint (zone, "inside"), 255);
    fail_unless_equals_uint64 (sam_get_uint64 (zone, "entered"), 255 * (n + 1));
    fail_unless_equals_uint64 (sam_get_uint64 (zone, "left"), 255 * n);
    gst_structure_free (stats);
  }
  sam_harness_close (h, bus);
}

GST_END_TEST;

static void
expect_bad (const gchar * property, const gchar * value, const gchar * text)
{
  GstElement *element = gst_element_factory_make ("samzones", NULL);
  GstBus *bus = gst_bus_new ();
  GstMessage *message;
  GError *error;

  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  g_object_set (element, property, value, NULL);
  fail_unless (gst_element_set_state (element, GST_STATE_PAUSED) ==
      GST_STATE_CHANGE_FAILURE, "%s", value);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (strstr (error->message, text) != NULL, "%s: '%s'", value,
      error->message);
  fail_unless (strlen (error->message) < 1000);
  fail_unless_equals_int (error->code, GST_RESOURCE_ERROR_SETTINGS);
  g_error_free (error);
  gst_message_unref (message);
  gst_element_set_bus (element, NULL);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (element);
}

GST_START_TEST (test_bad_zones_stop_the_start)
{
  expect_bad ("zones", "zone,name=a,points=0:0 9:0", "The zone 'zone,name=a,"
      "points=0:0 9:0' was refused: it has 2 points, expected are 3 or more.");
}

GST_END_TEST;

/* ---- With samexport */

static gboolean
has_export (void)
{
  return gst_registry_check_feature_version (gst_registry_get (), "samexport",
      0, 0, 0);
}

GST_START_TEST (test_zones_in_a_file)
{
  static const gchar *bad[][2] = {
    {"[", "it is not JSON"}, {"7", "neither an array"},
    {"{\"zones\": 7}", "neither an array"}, {"", "neither an array"},
    {"[7]", "its zone 1 was refused: it is not a JSON object"},
    {"[{\"name\": \"a\", \"points\": [[0, 0], [9, 0]]}]",
        "its zone 1 was refused: it has 2 points"},
    {"[{\"name\": \"a\", \"points\": [[0, 0, 0], [9, 0], [9, 9]]}]",
        "1 to 256 points"},
    {"[{\"name\": \"a\", \"points\": [[[0]], [9, 0], [9, 9]]}]",
        "neither a value nor an array"},
    {"[{\"name\": null}]", "neither a value nor an array"},
    {"[{\"kind\": 3, \"name\": \"a\"}]", "must be a zone or a line"},
    {"[{\"name\": \"a\", \"colour\": 3}]", "'colour' is not a key of it"},
    {"[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]", "nested more than 16 deep"},
    {"\xff", "not text in UTF-8"},
  };
  GstBus *bus;
  GstHarness *h;
  gchar *properties;
  guint i;

  if (!has_export ()) {
    expect_bad ("zones-file", "/a.json", "has no JSON-GLib");
    return;
  }
  sam_folder_make ("zones.json");
  expect_bad ("zones-file", sam_file, "cannot be read");
  for (i = 0; i < G_N_ELEMENTS (bad); i++) {
    fail_unless (g_file_set_contents (sam_file, bad[i][0], -1, NULL));
    expect_bad ("zones-file", sam_file, bad[i][1]);
  }
  fail_unless (g_file_set_contents (sam_file, "{\"zones\": [{\"name\": \"f\", "
          "\"points\": [[0.5, 0], [1, 0], [1, 1.0], [5e-1, 1]], \"normalized\":"
          " true, \"labels\": [\"car\", \"bus\"], \"dwell\": 0.1}, {\"kind\": "
          "\"line\", \"name\": \"g\", \"points\": [[32, 0], [32, 48]]}]}", -1,
          NULL));
  properties = g_strdup_printf ("zones-file=%s zones=\"" HALF "\"", sam_file);
  h = open_zones (properties, &bus);
  push_thing (h, 0, (Thing) {.id = 1,.label = "bus",.x = 40,.w = 10,.h = 10});
  expect (bus, "entered half 1 appeared; entered f 1 appeared; ");
  push_thing (h, 1, (Thing) {.id = 1,.label = "bus",.x = 3,.w = 10,.h = 10});
  expect (bus, "left half 1 moved 100 ms; left f 1 moved 100 ms; "
      "crossed g 1 left-to-right; ");
  sam_harness_close (h, bus);
  g_free (properties);
  sam_folder_remove ();
}

GST_END_TEST;

/* Lines have the events of two elements; frames without any say nothing. */
GST_START_TEST (test_lines_have_events)
{
  gchar *launch, *text, **lines;
  GstHarness *h;

  if (!has_export ())
    return;
  sam_folder_make ("a.jsonl");
  launch = g_strdup_printf ("samzones zones=\"" HALF "\" ! samzones "
      "zones=\"line,name=gate,points=32:0 32:48\" ! samexport mask-size=none "
      "location=%s", sam_file);
  h = gst_harness_new_parse (launch);
  gst_harness_set_drop_buffers (h, TRUE);
  gst_harness_set_src_caps_str (h, "video/x-raw,format=GRAY8,width=64,"
      "height=48,framerate=10/1");
  push_box (h, 0, 3, 3);
  push_box (h, 1, 40, 3);
  push_box (h, 2, 40, 3);
  gst_harness_push_event (h, gst_event_new_eos ());
  gst_harness_teardown (h);
  fail_unless (g_file_get_contents (sam_file, &text, NULL, NULL));
  lines = g_strsplit (text, "\n", -1);
  fail_if (strstr (lines[0], "zone_events"));
  fail_unless (strstr (lines[1], "\"zone_events\":[{\"kind\":\"entered\","
          "\"zone\":\"half\",\"id\":1,\"reason\":\"moved\",\"share\":1.0,"
          "\"inside\":1},{\"kind\":\"crossed\",\"zone\":\"gate\",\"id\":1,"
          "\"direction\":\"right-to-left\",\"share\":0.0}]") != NULL, "%s",
      lines[1]);
  fail_if (strstr (lines[2], "zone_events"));
  g_strfreev (lines);
  g_free (text);
  g_free (launch);
  sam_folder_remove ();
}

GST_END_TEST;

static Suite *
zones_suite (void)
{
  Suite *s = suite_create ("zones");
  TCase *tc = sam_tcase_new (s, "zones");

  tcase_add_test (tc, test_share_of_the_mask_with_hysteresis);
  tcase_add_test (tc, test_zones_have_their_own_settings);
  tcase_add_test (tc, test_lines_have_two_sides_and_two_ends);
  tcase_add_test (tc, test_objects_that_go_and_come_back);
  tcase_add_test (tc, test_seeks_and_the_end);
  tcase_add_test (tc, test_another_size);
  tcase_add_test (tc, test_zones_change_while_the_stream_runs);
  tcase_add_test (tc, test_fields_and_counts);
  tcase_add_test (tc, test_metas_that_lie);
  tcase_add_test (tc, test_all_objects_change);
  tcase_add_test (tc, test_bad_zones_stop_the_start);
  tcase_add_test (tc, test_zones_in_a_file);
  tcase_add_test (tc, test_lines_have_events);
  return s;
}

GST_CHECK_MAIN (zones);
