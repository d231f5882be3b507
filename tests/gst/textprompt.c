/* SPDX-License-Identifier: MIT */
/* The prompt "text": a detector by words in the element. Its weights are small
 * and random, and it finds something for every word: what, has no meaning. */

#include "samcheck.h"

#include <stdlib.h>
#include <string.h>

/* One warning was posted, and it says that. */
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

static gchar *
with_words (const gchar * properties)
{
  return g_strdup_printf ("samtrack name=track detector-file=\"%s\" "
      "detector-size=64 seed-score=0.25 instant-confirm-score=0.25 "
      "min-area=0 birth-min-background=0 max-objects=3 %s",
      g_getenv ("SAMTRACK_WORDS"), properties);
}

/* The labels of all objects of the frames [*first, *first + count), one a
 * line; free them. */
static gchar *
run_labels (GstHarness * h, guint * first, guint count)
{
  GString *log = g_string_new (NULL);
  guint i, k;

  for (i = 0; i < count; i++) {
    GstBuffer *buf = sam_harness_run (h, (*first)++);
    const GstStructure *meta = sam_get_meta (buf);

    for (k = 0; k < sam_get_num_objects (meta); k++)
      g_string_append_printf (log, "%s\n",
          gst_structure_get_string (sam_get_object (meta, k), "label"));
    gst_buffer_unref (buf);
  }
  return g_string_free (log, FALSE);
}

static void
expect_labels (gchar * labels, const gchar * one, const gchar * other)
{
  gchar **each = g_strsplit (g_strchomp (labels), "\n", -1);
  guint i;

  fail_unless (each[0] != NULL, "nothing was shown, expected is %s", one);
  for (i = 0; each[i]; i++)
    fail_unless (g_str_equal (each[i], one) || g_str_equal (each[i], other),
        "'%s', expected is %s or %s", each[i], one, other);
  g_strfreev (each);
  g_free (labels);
}

/* What words name is found, other words while it plays, and nothing without
 * words; words that are refused change nothing. */
GST_START_TEST (test_words)
{
  gchar *launch = with_words ("initial-prompt=\"text,of=\\\"red car. "
      "striped ball\\\"\"");
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, 160, 120);
  GstBus *bus = gst_bus_new ();
  guint n = 0;
  gchar *none;

  gst_element_set_bus (h->element, bus);
  gst_harness_play (h);
  expect_labels (run_labels (h, &n, 20), "red car", "striped ball");
  g_signal_emit_by_name (h->element, "prompt", "text,of=dog; clear");
  expect_labels (run_labels (h, &n, 20), "dog", "dog");
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  g_signal_emit_by_name (h->element, "prompt", "text,of=\"\344\270\255\";clear");
  expect_labels (run_labels (h, &n, 20), "dog", "dog");
  check_warned (bus, "has no word of which the vocabulary has a piece");
  g_signal_emit_by_name (h->element, "prompt", "text,of=\"\";clear");
  none = run_labels (h, &n, 20);
  fail_unless_equals_string (none, "");
  g_free (none);
  gst_element_set_bus (h->element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_END_TEST;

/* ---- What is asked of a phrase */

static GstHarness *
start (const gchar * properties, GstBus ** bus)
{
  gchar *launch = with_words (properties);
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, 160, 120);

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

/* The number of objects of that label on the next frame; *id: of one of them. */
static guint
count_labels (GstHarness * h, guint * n, const gchar * label, guint64 * id)
{
  GstBuffer *buf = sam_harness_run (h, (*n)++);
  const GstStructure *meta = sam_get_meta (buf);
  guint k, found = 0;

  for (k = 0; k < sam_get_num_objects (meta); k++) {
    const GstStructure *object = sam_get_object (meta, k);

    if (g_strcmp0 (gst_structure_get_string (object, "label"), label))
      continue;
    found++;
    if (id)
      *id = sam_get_uint64 (object, "id");
  }
  gst_buffer_unref (buf);
  return found;
}

static void
skip (GstHarness * h, guint * n, guint count)
{
  while (count--)
    gst_buffer_unref (sam_harness_run (h, (*n)++));
}

/* As many objects of a phrase as it may have. */
GST_START_TEST (test_max)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"text,of=dog,max=1\" detect-interval=1",
      &bus);
  GstStructure *stats;
  guint n = 0, i, many;

  skip (h, &n, 10);
  for (i = 0; i < 10; i++)
    fail_unless_equals_int (count_labels (h, &n, "dog", NULL), 1);
  prompt (h, "text,of=dog");
  skip (h, &n, 10);
  many = count_labels (h, &n, "dog", NULL);
  fail_unless (many > 1, "%u without max", many);
  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless_equals_string (gst_structure_get_string (stats, "words"), "dog");
  gst_structure_free (stats);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* What is told of a phrase: the message, NULL if there is none. */
static GstStructure *
get_told (GstBus * bus, const gchar * phrase)
{
  GstStructure *told = NULL;
  GstMessage *message;

  while (!told &&
      (message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT))) {
    const GstStructure *s = gst_message_get_structure (message);

    if (gst_structure_has_name (s, "samtrack-words") &&
        g_str_equal (gst_structure_get_string (s, "phrase"), phrase))
      told = gst_structure_copy (s);
    gst_message_unref (message);
  }
  return told;
}

/* Whether a phrase was found, and the threshold. Returns the best score. */
static gdouble
expect_told (GstBus * bus, const gchar * phrase, gboolean found,
    gdouble threshold)
{
  GstStructure *s = get_told (bus, phrase);
  gdouble best = -1, least = -1;
  gboolean was = !found;

  fail_unless (s != NULL, "nothing was told of '%s'", phrase);
  fail_unless (gst_structure_get (s, "found", G_TYPE_BOOLEAN, &was,
          "best-score", G_TYPE_DOUBLE, &best, "threshold", G_TYPE_DOUBLE,
          &least, NULL));
  fail_unless_equals_int (was, found);
  fail_unless (ABS (least - threshold) < 1e-6, "threshold %g", least);
  fail_unless (found == (best >= threshold), "best score %g", best);
  gst_structure_free (s);
  return best;
}

/* A phrase that is not found says so once, with the best score that was seen:
 * a threshold below that finds it. */
GST_START_TEST (test_threshold)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"text,of=dog,threshold=0.99;"
      "text,of=fish\" detect-interval=1", &bus);
  GstStructure *again;
  guint n = 0;
  gdouble best;
  gchar *text;

  skip (h, &n, 10);
  best = expect_told (bus, "dog", FALSE, 0.99);
  fail_unless (best > 0.25, "best score %g", best);
  again = get_told (bus, "dog");
  fail_unless (again == NULL, "told twice");
  fail_unless_equals_int (count_labels (h, &n, "dog", NULL), 0);
  text = g_strdup_printf ("text,of=dog,threshold=%.3f", best - 0.01);
  prompt (h, text);
  skip (h, &n, 6);
  expect_told (bus, "dog", TRUE, atof (strrchr (text, '=') + 1));
  fail_unless (count_labels (h, &n, "dog", NULL) > 0, "'%s' finds none", text);
  g_free (text);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* The first object of a phrase has the id that was asked for, later ones follow;
 * one that was used before is refused. */
GST_START_TEST (test_id)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"text,of=dog,id=70\" detect-interval=1",
      &bus);
  guint64 id = 0;
  guint n = 0;

  skip (h, &n, 10);
  fail_unless_equals_int (count_labels (h, &n, "dog", &id), 1);
  fail_unless_equals_uint64 (id, 70);
  prompt (h, "text,of=cat,id=3");
  check_warned (bus, "'id' is 3, which was used before; expected is one above "
      "70");
  prompt (h, "text,of=cat. dog,id=90");
  check_warned (bus, "'id' is given with 2 phrases, expected is one");
  prompt (h, "text,of=car,id=90");
  skip (h, &n, 10);
  fail_unless_equals_int (count_labels (h, &n, "car", &id), 1);
  fail_unless_equals_uint64 (id, 90);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* ---- Changes */

/* Objects of words that went end at once, or stay with their id and class,
 * though no look finds them any more. */
GST_START_TEST (test_keep)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"text,of=dog,max=1\" detect-interval=1 "
      "seed-options=keep-alive-start=1,keep-alive=1,shadow-timeout=0", &bus);
  guint64 id = 0, later = 0;
  guint n = 0;

  skip (h, &n, 10);
  fail_unless_equals_int (count_labels (h, &n, "dog", &id), 1);
  prompt (h, "text,of=car,max=1,keep=true");
  skip (h, &n, 20);
  fail_unless_equals_int (count_labels (h, &n, "dog", &later), 1);
  fail_unless_equals_uint64 (id, later);
  fail_unless_equals_int (count_labels (h, &n, "car", NULL), 1);
  prompt (h, "text,of=fish,max=1");
  skip (h, &n, 4);
  fail_unless_equals_int (count_labels (h, &n, "car", NULL), 0);
  fail_unless_equals_int (count_labels (h, &n, "dog", NULL), 1);
  sam_harness_close (h, bus);
}

GST_END_TEST;

#define LONG "dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog do"

/* A class has 63 bytes: phrases that differ behind them are one. */
GST_START_TEST (test_long)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"text,of=" LONG "g red,max=1\" "
      "detect-interval=1", &bus);
  guint64 id = 0, later = 0;
  guint n = 0;

  fail_unless_equals_int (strlen (LONG "g"), 63);
  skip (h, &n, 10);
  fail_unless_equals_int (count_labels (h, &n, LONG "g", &id), 1);
  prompt (h, "text,of=" LONG "g blue,max=1");
  skip (h, &n, 4);
  fail_unless_equals_int (count_labels (h, &n, LONG "g", &later), 1);
  fail_unless_equals_uint64 (id, later);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Several texts of one prompt are asked for together; one phrase may go. All
 * that this detector finds is more like a car than like a dog. */
GST_START_TEST (test_remove)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"text,of=dog,max=1;text,of=car,max=1\" "
      "detect-interval=1", &bus);
  guint n = 0;

  skip (h, &n, 14);
  fail_unless_equals_int (count_labels (h, &n, "dog", NULL), 0);
  fail_unless_equals_int (count_labels (h, &n, "car", NULL), 1);
  prompt (h, "text,of=car,remove=true");
  skip (h, &n, 8);
  fail_unless_equals_int (count_labels (h, &n, "car", NULL), 0);
  fail_unless_equals_int (count_labels (h, &n, "dog", NULL), 1);
  prompt (h, "text,of=car,remove=true");
  check_warned (bus, "'car' is to be removed, but is not asked for");
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Other words are looked for on the next frame, whatever the interval; without
 * any there is no look. */
GST_START_TEST (test_at_once)
{
  GstBus *bus;
  GstHarness *h = start ("detect-interval=1000 detect-on-loss=false "
      "seed-options=lost-frames=100000,absent-frames=100000", &bus);
  guint64 runs;
  guint n = 0;

  skip (h, &n, 10);
  fail_unless_equals_int (sam_get_seeding (h->element, "detector-runs"), 0);
  prompt (h, "text,of=dog");
  skip (h, &n, 10);
  runs = sam_get_seeding (h->element, "detector-runs");
  fail_unless (runs > 0 && runs < 5, "%u looks", (guint) runs);
  prompt (h, "text,of=\"dog. car\"");
  skip (h, &n, 3);
  fail_unless_equals_int (sam_get_seeding (h->element, "detector-runs"),
      runs + 1);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* More phrases in turn than the policy has classes: the last one has its name
 * as well. Between two frames the last prompt counts. */
GST_START_TEST (test_many)
{
  GstBus *bus;
  GstHarness *h = start ("detect-interval=1", &bus);
  guint n = 0, i, k, name = 0;

  for (i = 0; i < 72; i++) {
    GString *text = g_string_new ("text,of=\"");

    prompt (h, "text,of=red");
    for (k = 0; k < 15; k++, name++)
      g_string_append_printf (text, "%c%c%c. ", 'a' + name / 676 % 26,
          'a' + name / 26 % 26, 'a' + name % 26);
    g_string_append_c (text, '"');
    prompt (h, text->str);
    skip (h, &n, 1);
    g_string_free (text, TRUE);
  }
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  prompt (h, "text,of=dog");
  skip (h, &n, 10);
  fail_unless (count_labels (h, &n, "dog", NULL) > 0, "dog is not named");
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Hundreds of changes between two frames are one: the last one's words are
 * looked for, at once and once. */
GST_START_TEST (test_hurried)
{
  GstBus *bus;
  GstHarness *h = start ("detect-interval=1000 detect-on-loss=false "
      "seed-options=lost-frames=100000,absent-frames=100000", &bus);
  guint64 runs;
  guint n = 0, i;

  prompt (h, "text,of=dog");
  skip (h, &n, 10);
  runs = sam_get_seeding (h->element, "detector-runs");
  for (i = 0; i < 500; i++)
    prompt (h, i % 2 ? "text,of=red" : "text,of=\"car. ball\",keep=true");
  skip (h, &n, 3);
  fail_unless_equals_int (sam_get_seeding (h->element, "detector-runs"),
      runs + 1);
  fail_unless_equals_int (count_labels (h, &n, "dog", NULL), 0);
  fail_unless_equals_int (count_labels (h, &n, "car", NULL), 0);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* ---- Bad words */

/* A phrase that is like all there is begins no object that is too large. */
GST_START_TEST (test_half)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"text,of=dog\" detect-interval=1 "
      "max-area=0.0005", &bus);
  guint n = 0;

  skip (h, &n, 6);
  fail_unless_equals_int (count_labels (h, &n, "dog", NULL), 0);
  fail_unless (sam_get_seeding (h->element, "rejected-large") > 0);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Words of which some are not known are taken, and told. */
GST_START_TEST (test_unknown)
{
  GstBus *bus;
  GstHarness *h = start ("initial-prompt=\"text,of=\\\"\344\270\255 dog\\\"\"",
      &bus);
  guint n = 0;

  skip (h, &n, 3);
  check_warned (bus, "no piece of '\344\270\255', so they find nothing");
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

GST_START_TEST (test_bad)
{
  GstBus *bus;
  GstHarness *h = start ("detect-interval=1", &bus);
  GString *many = g_string_new ("text,of=\"");
  guint n = 0, i;

  for (i = 0; i < 65; i++)
    g_string_append_printf (many, "w%u. ", i);
  g_string_append_c (many, '"');
  expect_refused (h, bus, many->str, "more than 64 phrases");
  g_string_assign (many, "text,of=\"");
  for (i = 0; i < 300; i++)
    g_string_append (many, "dog ");
  g_string_append_c (many, '"');
  prompt (h, many->str);
  skip (h, &n, 3);
  check_warned (bus, "303 tokens, expected at most 64");
  expect_refused (h, bus, "text,of=dog,max=0", "max is '0', expected is a number "
      "of objects, 1 to 255");
  expect_refused (h, bus, "text,of=dog,threshold=2", "threshold is '2', expected "
      "is a score, 0 to 1");
  expect_refused (h, bus, "text,of=dog,id=4,max=2", "'id' is of one object, but "
      "max is 2");
  expect_refused (h, bus, "text,of=dog,remove=true,max=2", "remove=true goes "
      "with 'of' and 'keep' alone");
  prompt (h, "text,of=\"\t\001dog\177\"");
  skip (h, &n, 3);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  g_string_free (many, TRUE);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* A detector of classes says which it has; none is told words in vain. */
GST_START_TEST (test_refused)
{
  gchar *launch = g_strdup_printf ("samtrack name=track detector-file=\"%s\" "
      "detector-size=320", g_getenv ("SAMTRACK_DETECTOR"));
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, 160, 120);
  GstBus *bus = sam_harness_add_bus (h);

  gst_harness_play (h);
  expect_refused (h, bus, "text,of=car", "'text' is for a detector that finds "
      "what words name, this one finds the classes 0, 1, 2, 3, 4, 5, 6 "
      "(detect-classes)");
  expect_refused (h, bus, "text", "'of' is missing; it is written text,of=WORDS");
  expect_refused (h, bus, "text,of=car,running-time=5", "'running-time' is not a "
      "key of it");
  sam_harness_close (h, bus);
  g_free (launch);
  h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGBA, 160, 120);
  bus = sam_harness_add_bus (h);
  gst_harness_play (h);
  expect_refused (h, bus, "text,of=car", "what words name, expected is one as "
      "detector-file");
  sam_harness_close (h, bus);
}

GST_END_TEST;

static Suite *
textprompt_suite (void)
{
  Suite *s = suite_create ("textprompt");
  TCase *tc = sam_tcase_new_tiny (s, "words");

  tcase_add_test (tc, test_words);
  tcase_add_test (tc, test_max);
  tcase_add_test (tc, test_threshold);
  tcase_add_test (tc, test_id);
  tcase_add_test (tc, test_keep);
  tcase_add_test (tc, test_long);
  tcase_add_test (tc, test_remove);
  tcase_add_test (tc, test_at_once);
  tcase_add_test (tc, test_many);
  tcase_add_test (tc, test_hurried);
  tcase_add_test (tc, test_half);
  tcase_add_test (tc, test_unknown);
  tcase_add_test (tc, test_bad);
  tcase_add_test (tc, test_refused);
  return s;
}

GST_CHECK_MAIN (textprompt);
