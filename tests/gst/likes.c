/* SPDX-License-Identifier: MIT */
/* The prompt "like": objects begin where something looks like another one.
 * The tracker of these tests finds two such places, to the right and to the
 * left of an object's box, of 0.875 and 0.625. */

#include "samcheck.h"

#include <string.h>

#define WIDTH 160
#define HEIGHT 96
/* In the middle: there is room on both sides. */
#define BOX "box,x=60,y=30,w=30,h=40"

static GstHarness *
start (const gchar * properties, GstBus ** bus)
{
  gchar *launch = g_strdup_printf ("samtrack name=track %s", properties);
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT);

  *bus = sam_harness_add_bus (h);
  gst_harness_play (h);
  g_free (launch);
  return h;
}

static void
prompt (GstHarness * h, const gchar * text)
{
  g_signal_emit_by_name (h->element, "prompt", text);
}

static void
run (GstHarness * h, guint * n, guint count)
{
  while (count--)
    gst_buffer_unref (sam_harness_run (h, (*n)++));
}

/* The next message that tells of a look; other messages of elements are taken
 * away. NULL: there is none. */
static GstMessage *
next_told (GstBus * bus)
{
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT)) &&
      !gst_message_has_name (message, "samtrack-likes"))
    gst_message_unref (message);
  return message;
}

/* One message was posted, and it says that. */
static void
check_told (GstBus * bus, guint64 id, guint found, guint started, gdouble best,
    gdouble threshold)
{
  GstMessage *message = next_told (bus);
  const GstStructure *s;

  fail_unless (message != NULL);
  s = gst_message_get_structure (message);
  fail_unless_equals_uint64 (sam_get_uint64 (s, "id"), id);
  fail_unless_equals_int (sam_get_uint (s, "found"), found);
  fail_unless_equals_int (sam_get_uint (s, "started"), started);
  fail_unless_equals_float (sam_get_double (s, "best-likeness"), best);
  fail_unless_equals_float (sam_get_double (s, "threshold"), threshold);
  gst_message_unref (message);
  fail_unless (next_told (bus) == NULL);
}

static void
check_warned (GstBus * bus, const gchar * words)
{
  gchar *text = NULL;

  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, words) != NULL, "'%s' does not say '%s'", text,
      words);
  g_free (text);
}

/* Of the next frame: objects, all with the label; the first's is also NULL. */
static guint
count_objects (GstHarness * h, guint * n, const gchar * label, gint x[8])
{
  GstBuffer *buf = sam_harness_run (h, (*n)++);
  const GstStructure *meta = sam_get_meta (buf);
  const guint num = sam_get_num_objects (meta);
  guint i;

  fail_unless (num <= 8);
  for (i = 0; i < num; i++) {
    const GstStructure *object = sam_get_object (meta, i);

    fail_unless_equals_string (gst_structure_get_string (object, "label"),
        label);
    x[i] = sam_get_int (object, "x");
  }
  gst_buffer_unref (buf);
  return num;
}

/* In the text that starts the object, it waits for the object's first frame.
 * New ones have its label, and the place where it was on the frame that was
 * looked at, whether prompts can name that or not. */
GST_START_TEST (test_found)
{
  static const gchar *histories[] = { "history=8", "history=0" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (histories); i++) {
    GstBus *bus;
    gchar *properties = g_strdup_printf ("%s initial-prompt=\"" BOX ",id=1,"
        "label=cup;like,id=1\"", histories[i]);
    GstHarness *h = start (properties, &bus);
    guint n = 0;
    gint x[8];

    run (h, &n, 6); /* those begin on a frame that has passed */
    fail_unless_equals_int (count_objects (h, &n, "cup", x), 3);
    fail_unless (ABS (x[1] - x[0] - 30) <= 3, "%d, %d", x[0], x[1]);
    fail_unless (ABS (x[0] - x[2] - 30) <= 3, "%d, %d", x[0], x[2]);
    check_told (bus, 1, 2, 2, 0.875, 0.55);
    fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
        0);
    sam_harness_close (h, bus);
    g_free (properties);
  }
}

GST_END_TEST;

/* As many, and as like, as is asked. What is found is told all the same. */
GST_START_TEST (test_limits)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"" BOX "\"", &bus);
  guint n = 0;
  gint x[8];

  run (h, &n, 2);
  prompt (h, "like,id=1,threshold=0.95");
  run (h, &n, 2);
  check_told (bus, 1, 0, 0, 0.875, 0.95);
  fail_unless_equals_int (count_objects (h, &n, NULL, x), 1);
  prompt (h, "like,id=1,max=1,threshold=0.5");
  run (h, &n, 2);
  check_told (bus, 1, 2, 1, 0.875, 0.5);
  fail_unless_equals_int (count_objects (h, &n, NULL, x), 2);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static guint
count_told (GstBus * bus, guint * started)
{
  GstMessage *message;
  guint count = 0;

  *started = 0;
  for (; (message = next_told (bus)); count++) {
    *started += sam_get_uint (gst_message_get_structure (message), "started");
    gst_message_unref (message);
  }
  return count;
}

/* At the edge there is a place on the right alone, until the object has moved
 * by its width. One look does not find the second; a standing order does, at
 * once, tells of it, and starts nothing twice. */
GST_START_TEST (test_standing)
{
  static const struct
  {
    const gchar *keys;
    guint objects, told;
  } cases[] = { {"", 2, 1}, {",every=1", 3, 2}, {",every=1,max=1", 2, 1},
    {",every=1,threshold=0.75", 2, 1}, {",every=90", 2, 1}
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstBus *bus;
    gchar *properties = g_strdup_printf ("history=8 initial-prompt=\"box,x=20,"
        "y=30,w=30,h=40,id=1,label=cup;like,id=1%s\"", cases[i].keys);
    GstHarness *h = start (properties, &bus);
    guint n = 0, started;
    gint x[8];

    run (h, &n, 11);
    fail_unless_equals_int (count_objects (h, &n, "cup", x), cases[i].objects);
    fail_unless_equals_int (count_told (bus, &started), cases[i].told);
    fail_unless_equals_int (started, cases[i].objects - 1);
    fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
        0);
    sam_harness_close (h, bus);
    g_free (properties);
  }
}

GST_END_TEST;

/* The frames that @prompts and then those of a period have room for are run.
 * Returns how many objects have begun beside the first. */
static guint
count_begun (const gchar * prompts)
{
  GstBus *bus;
  GstHarness *h = start ("max-objects=3 history=8 initial-prompt=\"box,x=20,"
      "y=30,w=30,h=40,id=1;like,id=1,every=1\"", &bus);
  guint n = 0, started;

  run (h, &n, 4);
  prompt (h, prompts);
  run (h, &n, 9);
  count_told (bus, &started);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  sam_harness_close (h, bus);
  return started;
}

/* It ends with its object, with a later one for it, and with all objects. Slots
 * that are not free are waited for. */
GST_START_TEST (test_order_ends)
{
  fail_unless_equals_int (count_begun ("box,x=100,y=10,w=20,h=20"), 1);
  fail_unless_equals_int (count_begun ("undo,id=2"), 3);
  fail_unless_equals_int (count_begun ("like,id=1"), 1);
  fail_unless_equals_int (count_begun ("remove,id=1"), 1);
  fail_unless_equals_int (count_begun ("clear"), 1);
}

GST_END_TEST;

/* The object has left the picture to the right on the 15th frame; the one on its
 * left, which the order started, finds one more on its own left. */
GST_START_TEST (test_absent)
{
  GstBus *bus;
  GstHarness *h = start ("history=8 initial-prompt=\"box,x=125,y=30,w=30,h=40,"
      "id=1,label=cup;like,id=1,every=1\"", &bus);
  guint n = 0, started;

  run (h, &n, 14);
  count_told (bus, &started);
  fail_unless_equals_int (started, 1);
  run (h, &n, 2);
  fail_unless_equals_int (count_told (bus, &started), 1);
  fail_unless_equals_int (started, 1);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Without a free slot one warning is posted, whatever is found. */
GST_START_TEST (test_full)
{
  GstBus *bus;
  GstHarness *h = start ("max-objects=1 initial-prompt=\"" BOX "\"", &bus);
  guint n = 0;

  run (h, &n, 2);
  prompt (h, "like,id=1");
  run (h, &n, 2);
  check_told (bus, 1, 2, 0, 0.875, 0.55);
  prompt (h, "like,id=1");
  run (h, &n, 2);
  check_warned (bus, "1");
  sam_harness_close (h, bus);
}

GST_END_TEST;

static void
expect_refused (GstHarness * h, GstBus * bus, const gchar * text,
    const gchar * why)
{
  prompt (h, text);
  check_warned (bus, why);
}

GST_START_TEST (test_refused)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"" BOX "\"", &bus);
  guint n = 0;
  gint x[8];

  run (h, &n, 2);
  expect_refused (h, bus, "like", "'id' is missing; it is written like,id=");
  expect_refused (h, bus, "like,id=0", "expected is the id of an object");
  expect_refused (h, bus, "like,id=7", "7");
  expect_refused (h, bus, "like,id=1,max=0", "expected is a number of objects");
  expect_refused (h, bus, "like,id=1,threshold=1.5", "expected is a score");
  expect_refused (h, bus, "like,id=1,label=cup", "'label' is not a key of it");
  expect_refused (h, bus, "like,id=1,every=0",
      "expected is a number of tracked frames");
  expect_refused (h, bus, "point,x=5,y=5,every=3", "'every' is not a key of it");
  /* It waits for an object that is gone when its turn comes. */
  prompt (h, "like,id=1;remove,id=1");
  run (h, &n, 12);
  fail_unless (count_objects (h, &n, NULL, x) <= 2);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static Suite *
likes_suite (void)
{
  Suite *suite = suite_create ("likes");
  TCase *tc = sam_tcase_new_tiny (suite, "likes");

  tcase_add_test (tc, test_found);
  tcase_add_test (tc, test_limits);
  tcase_add_test (tc, test_standing);
  tcase_add_test (tc, test_order_ends);
  tcase_add_test (tc, test_absent);
  tcase_add_test (tc, test_full);
  tcase_add_test (tc, test_refused);
  return suite;
}

GST_CHECK_MAIN (likes);
