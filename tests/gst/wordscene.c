/* SPDX-License-Identifier: MIT */
/* From words to masks: a detector that was trained on the things of samscene
 * (tools/train_words.py) finds what words name, samtrack tracks it, and the
 * truth says what it is. The scene is none that it was trained on. */

#include "samcheck.h"

#include <stdlib.h>
#include <string.h>

#define MOST 64

/* What became of an object. */
typedef struct
{
  guint64 id;
  gchar *label, *thing;         /* what the words say, and the truth */
  gdouble j;                    /* mean, with the masks of the thing */
  guint frames;
  gboolean dead;
} Thing;

typedef struct
{
  Thing thing[MOST];
  guint num;
  gchar *told[MOST];            /* phrases that were told, "+dog" or "-dog" */
  guint num_told;
  GstElement *track;
  const gchar *later;           /* a prompt that is given */
  guint later_at;               /* to this frame */
  guint frame;
} Story;

static Thing *
get_thing (Story * story, guint64 id)
{
  guint i;

  for (i = 0; i < story->num; i++) {
    if (story->thing[i].id == id)
      return &story->thing[i];
  }
  fail_unless (story->num < MOST);
  story->thing[story->num].id = id;
  return &story->thing[story->num++];
}

static void
take_track (Story * story, const GstStructure * s)
{
  Thing *thing = get_thing (story, sam_get_uint64 (s, "id"));
  const gchar *event = gst_structure_get_string (s, "event");

  if (g_str_equal (event, "track-born"))
    thing->label = g_strdup (gst_structure_get_string (s, "label"));
  thing->dead |= g_str_equal (event, "track-dead");
}

static void
take_score (Story * story, const GstStructure * s)
{
  Thing *thing = get_thing (story, sam_get_uint64 (s, "object"));

  thing->thing = g_strdup (gst_structure_get_string (s, "thing"));
  fail_unless (gst_structure_get (s, "mean-j", G_TYPE_DOUBLE, &thing->j,
          "frames", G_TYPE_UINT, &thing->frames, NULL));
}

static void
take_words (Story * story, const GstStructure * s)
{
  gboolean found = FALSE;
  gdouble best = 0;

  gst_structure_get (s, "found", G_TYPE_BOOLEAN, &found, "best-score",
      G_TYPE_DOUBLE, &best, NULL);
  GST_INFO ("%s: %d, %g", gst_structure_get_string (s, "phrase"), found, best);
  fail_unless (story->num_told < MOST);
  story->told[story->num_told++] = g_strconcat (found ? "+" : "-",
      gst_structure_get_string (s, "phrase"), NULL);
}

static GstPadProbeReturn
on_frame (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  Story *story = data;

  if (story->later && story->frame == story->later_at)
    g_signal_emit_by_name (story->track, "prompt", story->later);
  story->frame++;
  return GST_PAD_PROBE_OK;
}

static void
hear (Story * story, GstMessage * message)
{
  const GstStructure *s = gst_message_get_structure (message);
  GError *error = NULL;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &error, NULL);
    fail ("%s", error->message);
  }
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
    gst_message_parse_warning (message, &error, NULL);
    fail ("%s", error->message);
  }
  if (gst_structure_has_name (s, "samtrack-track"))
    take_track (story, s);
  else if (gst_structure_has_name (s, "samtrack-words"))
    take_words (story, s);
  else if (gst_structure_has_name (s, "samscore"))
    take_score (story, s);
}

static void
play (Story * story, guint frames, const gchar * prompt)
{
  gchar *launch = g_strdup_printf ("samscene seed=2 num-buffers=%u ! "
      "video/x-raw,format=RGBx,width=320,height=180,framerate=10/1 ! samtrack "
      "name=track model-file=\"%s\" input-size=192 detector-file=\"%s\" "
      "detector-size=128 "
      "detect-interval=10 initial-prompt=\"%s\" ! samscore ! fakesink",
      frames, g_getenv ("SAMTRACK_FAST"), g_getenv ("SAMTRACK_SCENE_WORDS"),
      prompt);
  GstElement *pipeline = gst_parse_launch (launch, NULL);
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  gboolean over = FALSE;
  GstPad *pad;

  story->track = gst_bin_get_by_name (GST_BIN (pipeline), "track");
  pad = gst_element_get_static_pad (story->track, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, story, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!over) {
    message = gst_bus_timed_pop_filtered (bus, 240 * GST_SECOND,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING |
        GST_MESSAGE_ELEMENT);
    fail_unless (message != NULL, "no end");
    over = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
    if (!over)
      hear (story, message);
    gst_message_unref (message);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pad);
  gst_object_unref (story->track);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  g_free (launch);
}

static void
clear (Story * story)
{
  guint i;

  for (i = 0; i < story->num; i++) {
    g_free (story->thing[i].label);
    g_free (story->thing[i].thing);
  }
  for (i = 0; i < story->num_told; i++)
    g_free (story->told[i]);
}

/* sign: '+' as found, '-' as not found. */
static gboolean
was_told (const Story * story, gchar sign, const gchar * phrase)
{
  guint i;

  for (i = 0; i < story->num_told; i++) {
    if (story->told[i][0] == sign && g_str_equal (story->told[i] + 1, phrase))
      return TRUE;
  }
  return FALSE;
}

/* The phrase was told as found; its objects are the thing, and there is one. */
static Thing *
expect_thing (Story * story, const gchar * label, const gchar * name)
{
  Thing *best = NULL;
  guint i;

  for (i = 0; i < story->num; i++) {
    Thing *thing = &story->thing[i];

    GST_INFO ("%" G_GUINT64_FORMAT ": %s is %s, %u frames, J %.2f", thing->id,
        thing->label, thing->thing, thing->frames, thing->j);
    if (g_strcmp0 (thing->label, label))
      continue;
    fail_unless (!thing->thing || g_str_equal (thing->thing, name),
        "'%s' is a %s", label, thing->thing);
    if (thing->thing && (!best || thing->frames > best->frames))
      best = thing;
  }
  fail_unless (best != NULL, "no %s", label);
  fail_unless (was_told (story, '+', label), "%s", label);
  fail_unless (best->j > 0.5, "%s: J %.2f", label, best->j);
  return best;
}

/* The phrase was told as not found, never as found, and has no object. */
static void
expect_none (const Story * story, const gchar * phrase)
{
  guint i;

  fail_unless (was_told (story, '-', phrase), "%s", phrase);
  fail_if (was_told (story, '+', phrase), "%s", phrase);
  for (i = 0; i < story->num; i++)
    fail_unless (g_strcmp0 (story->thing[i].label, phrase), "a %s", phrase);
}

/* Each phrase finds its own thing, and what is not there is told. Its best
 * score is far below the others: 0.02 beside 0.8. */
GST_START_TEST (test_select)
{
  Story story = { 0, };

  play (&story, 25, "text,of=striped ball. fish. paper plane. dog");
  expect_thing (&story, "striped ball", "ball");
  expect_thing (&story, "fish", "fish");
  expect_thing (&story, "paper plane", "plane");
  expect_none (&story, "dog");
  clear (&story);
}

GST_END_TEST;

/* Colours select: the scene's fish is blue, and its paper plane purple. Scores
 * are 0.9, and 0.1 of another colour. */
GST_START_TEST (test_colours)
{
  Story story = { 0, };

  play (&story, 25, "text,of=orange fish. blue fish");
  expect_thing (&story, "blue fish", "fish");
  expect_none (&story, "orange fish");
  clear (&story);
}

GST_END_TEST;

GST_START_TEST (test_colour_that_is_not_there)
{
  Story story = { 0, };

  play (&story, 25, "text,of=green fish. green plane");
  fail_unless (story.num == 0, "a %s", story.thing[0].label);
  expect_none (&story, "green fish");
  expect_none (&story, "green plane");
  clear (&story);
}

GST_END_TEST;

/* Other words while it plays: the ball ends, the fish begins. */
GST_START_TEST (test_change)
{
  Story story = {.later = "text,of=fish,max=1",.later_at = 6 };
  gboolean had_ball = FALSE;
  Thing *fish;
  guint i;

  play (&story, 25, "text,of=ball,max=1");
  fish = expect_thing (&story, "fish", "fish");
  fail_unless (fish->frames >= 5 && !fish->dead, "%u frames", fish->frames);
  for (i = 0; i < story.num; i++) {
    if (g_strcmp0 (story.thing[i].label, "ball"))
      continue;
    had_ball = TRUE;
    fail_unless (story.thing[i].dead, "a ball goes on");
  }
  fail_unless (had_ball, "no ball");
  clear (&story);
}

GST_END_TEST;

static Suite *
wordscene_suite (void)
{
  Suite *s = suite_create ("wordscene");
  TCase *tc = tcase_create ("wordscene");

  suite_add_tcase (s, tc);
  tcase_set_timeout (tc, 250);
  tcase_add_test (tc, test_select);
  tcase_add_test (tc, test_colours);
  tcase_add_test (tc, test_colour_that_is_not_there);
  tcase_add_test (tc, test_change);
  return s;
}

GST_CHECK_MAIN (wordscene);
