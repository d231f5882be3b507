/* SPDX-License-Identifier: MIT */
/* Masks that a detector in the element finds are compared with objects, and are
 * prompts where the policy trusts them. The detector's weights are small and
 * random. */

#include "detectcheck.h"

#include "detect/gstsamdetector.h"

#include <math.h>
#include <string.h>

enum
{
  WIDTH = 160, HEIGHT = 120,
  SIDE = 64,                    /* of the detector's input, px */
  FRAMES = 5,                   /* in which a late prompt has caught up */
};

/* One with classes; and one by words, whose scores tell of words, so that its
 * masks are trusted whatever these are. */
static const struct
{
  const gchar *file, *words;
  gint side;                    /* of its input, px */
  const gchar *trusting;        /* mask-quality */
} kinds[] = {
  {"SAMTRACK_MASKS", NULL, SIDE, "0.0"},
  {"SAMTRACK_PHRASES", "striped ball", 56, "0.8"},
};

static void
run_detector (sam_detector * detector, struct sam_detections *found)
{
  GstHarness *h = sam_harness_new ("identity", GST_VIDEO_FORMAT_RGBA, WIDTH,
      HEIGHT);
  GstBuffer *buf = sam_harness_frame (h, 0);
  struct sam_error error = { "" };
  GstMapInfo map;
  const struct sam_frame frame = map_frame (buf, &map, WIDTH, HEIGHT);

  fail_unless (sam_detector_run (detector, &frame, found, &error) == SAM_OK,
      "%s", error.text);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

/* Returns the label map of the last frame, to be freed. */
static guint8 *
run_frames (const gchar * launch, GstSample * mask, guint objects)
{
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, WIDTH,
      HEIGHT);
  guint8 *labels = NULL;
  guint64 id = 0;
  guint i;

  gst_harness_play (h);
  if (mask)
    g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0),
        mask, &id);
  for (i = 0; i < FRAMES; i++) {
    GstBuffer *buf = sam_harness_run (h, i);
    const GstStructure *meta = sam_get_meta (buf);

    if (i == FRAMES - 1) {
      GstBuffer *map = gst_value_get_buffer (gst_structure_get_value (meta,
              "mask"));
      gsize size = gst_buffer_get_size (map);

      fail_unless_equals_int (sam_get_num_objects (meta), objects);
      labels = g_malloc0 (WIDTH * HEIGHT);
      fail_unless (size == WIDTH * HEIGHT);
      gst_buffer_extract (map, 0, labels, size);
    }
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
  return labels;
}

static guint8 *
run_with_detector (guint kind, const gchar * quality)
{
  gchar *words = kinds[kind].words ? g_strdup_printf ("initial-prompt=\"text,"
      "of=%s\"", kinds[kind].words) : g_strdup ("");
  gchar *launch = g_strdup_printf ("samtrack detector-file=\"%s\" "
      "detector-size=%d seed-score=0.0 instant-confirm-score=0.0 max-objects=1 "
      "detect-interval=1000 detect-on-loss=false seed-options=mask-quality=%s "
      "%s", g_getenv (kinds[kind].file), kinds[kind].side, quality, words);
  guint8 *labels = run_frames (launch, NULL, 1);

  g_free (words);
  g_free (launch);
  return labels;
}

static GstSample *
get_sample (const struct sam_detections *found, gint i)
{
  const gsize size = (gsize) found->mask_width * found->mask_height;
  GstBuffer *buf = gst_buffer_new_memdup (found->list[i].mask, size);
  GstCaps *caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING,
      "GRAY8", "width", G_TYPE_INT, found->mask_width, "height", G_TYPE_INT,
      found->mask_height, NULL);
  GstSample *sample = gst_sample_new (buf, caps, NULL, NULL);

  gst_buffer_unref (buf);
  gst_caps_unref (caps);
  return sample;
}

/* Of the detection whose mask, given by hand in time, makes that label map;
 * -1: none. */
static gint
find_prompt (const struct sam_detections *found, const guint8 * labels)
{
  gint i;

  for (i = 0; i < found->num; i++) {
    GstSample *sample;
    guint8 *own;
    gboolean same;

    if (!found->list[i].mask)
      continue;
    sample = get_sample (found, i);
    own = run_frames ("samtrack", sample, 1);
    same = !memcmp (own, labels, WIDTH * HEIGHT);
    g_free (own);
    gst_sample_unref (sample);
    if (same)
      return i;
  }
  return -1;
}

/* A mask of quality gives what the same mask gives by hand; a worse one is a
 * box. */
GST_START_TEST (test_mask_prompts)
{
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_detections found = SAM_DETECTIONS_INIT;
  struct sam_error error = { "" };
  sam_detector *detector;
  guint8 *by_mask, *by_box;

  params.model_file = g_getenv (kinds[__i__].file);
  params.input_size = kinds[__i__].side;
  params.precision = SAM_PRECISION_FP32;
  fail_unless (sam_detector_open (&detector, &params, &error) == SAM_OK, "%s",
      error.text);
  fail_unless (!kinds[__i__].words || sam_detector_set_words (detector,
          kinds[__i__].words, &error) == SAM_OK, "%s", error.text);
  run_detector (detector, &found);
  fail_unless (found.num > 0 && found.mask_width > 0);
  by_mask = run_with_detector (__i__, kinds[__i__].trusting);
  by_box = run_with_detector (__i__, "2.0");
  fail_unless (find_prompt (&found, by_mask) >= 0, "no detection's mask was "
      "the prompt");
  fail_unless (find_prompt (&found, by_box) < 0, "a mask was the prompt where "
      "a box was to be");
  g_free (by_mask);
  g_free (by_box);
  sam_detector_close (&detector);
}

GST_END_TEST;

/* Each cell of the policy is the mask's pixel at its middle. */
static void
check_cells (const GstSamAnswer * answer, guint i)
{
  const gint width = answer->mask_width, height = answer->mask_height;
  guint x, y, set = 0;

  for (y = 0; y < SAM_SEED_GRID; y++) {
    for (x = 0; x < SAM_SEED_GRID; x++) {
      const gint px = floor ((x + 0.5) * width / SAM_SEED_GRID);
      const gint py = floor ((y + 0.5) * height / SAM_SEED_GRID);
      const gboolean wanted = answer->found[i].mask[py * width + px] != 0;

      fail_unless_equals_int (answer->find[i].mask[(y * SAM_SEED_GRID + x) /
              64] >> (x % 64) & 1, wanted);
      set += wanted;
    }
  }
  fail_unless (set > 0 && set < SAM_SEED_GRID * SAM_SEED_GRID, "mask %u has no "
      "edge", i);
  fail_unless (answer->find[i].mask_quality == answer->found[i].score);
}

GST_START_TEST (test_cells)
{
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error = { "" };
  const GstSamAnswer *answer;
  GstSamDetector *detect;
  GstVideoInfo info;
  GstBuffer *frame;
  GstHarness *h = sam_harness_new ("identity", GST_VIDEO_FORMAT_RGBA, WIDTH,
      HEIGHT);
  gchar *why = NULL;
  guint i;
  int status;

  params.model_file = g_getenv ("SAMTRACK_MASKS");
  params.input_size = SIDE;
  detect = gst_sam_detector_new (&params, &status, &error);
  fail_unless (detect != NULL, "%s", error.text);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, WIDTH, HEIGHT);
  frame = sam_harness_frame (h, 0);
  fail_unless (gst_sam_detector_ask (detect, frame, &info, 7, NULL,
          &why), "%s", why);
  answer = gst_sam_detector_take (detect, TRUE);
  fail_unless (answer && answer->status == SAM_OK && answer->number == 7);
  fail_unless (answer->num > 1);
  for (i = 0; i < answer->num; i++)
    check_cells (answer, i);
  gst_sam_detector_free (detect);
  gst_buffer_unref (frame);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The scores of what is found, to be freed. */
static GArray *
look (GstSamDetector * detect, GstBuffer * frame, sam_tracker * tracker)
{
  GArray *scores = g_array_new (FALSE, FALSE, sizeof (gfloat));
  const GstSamAnswer *answer;
  GstVideoInfo info;
  gchar *why = NULL;
  guint i;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, WIDTH, HEIGHT);
  fail_unless (gst_sam_detector_ask (detect, frame, &info, 1, tracker, &why),
      "%s", why);
  answer = gst_sam_detector_take (detect, TRUE);
  fail_unless (answer && answer->status == SAM_OK && answer->num > 1);
  for (i = 0; i < answer->num; i++)
    g_array_append_val (scores, answer->find[i].score);
  return scores;
}

static gboolean
is_same (const GArray * a, const GArray * b)
{
  return a->len == b->len && !memcmp (a->data, b->data, a->len *
      sizeof (gfloat));
}

static sam_tracker *
new_tracker (const struct sam_params *params, GstBuffer * buf)
{
  GstMapInfo map;
  const struct sam_frame frame = map_frame (buf, &map, WIDTH, HEIGHT);
  struct sam_result result = SAM_RESULT_INIT;
  struct sam_error error = { "" };
  sam_tracker *tracker = NULL;

  fail_unless (sam_tracker_open (&tracker, params, &error) == SAM_OK &&
      sam_tracker_step (tracker, &frame, NULL, &result, &error) == SAM_OK, "%s",
      error.text);
  gst_buffer_unmap (buf, &map);
  return tracker;
}

/* A tracker of the same file that has seen the other frame: what it made of it
 * is looked at, once. */
GST_START_TEST (test_shared_trunk)
{
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error = { "" };
  GstHarness *h = sam_harness_new ("identity", GST_VIDEO_FORMAT_RGBA, WIDTH,
      HEIGHT);
  GstBuffer *frame = sam_harness_frame (h, 0);
  GstBuffer *other = gst_buffer_copy_deep (frame);
  GArray *found[4];
  GstSamDetector *detect;
  sam_tracker *tracker;
  guint i;
  int status;

  gst_buffer_memset (other, 0, 7, -1);
  params.model_file = g_getenv ("SAMTRACK_WHOLE");
  params.input_size = 56;
  params.backend = SAM_BACKEND_CPU;
  params.precision = SAM_PRECISION_FP32;
  tracker = new_tracker (&params, other);
  detect = gst_sam_detector_new (&params, &status, &error);
  fail_unless (detect != NULL, "%s", error.text);
  gst_sam_detector_set_words (detect, g_strdup ("striped ball"));
  found[0] = look (detect, frame, NULL);
  found[1] = look (detect, other, NULL);
  found[2] = look (detect, frame, tracker);
  found[3] = look (detect, frame, NULL);
  fail_unless (!is_same (found[0], found[1]));
  fail_unless (is_same (found[2], found[1]));
  fail_unless (is_same (found[3], found[0]));
  for (i = 0; i < G_N_ELEMENTS (found); i++)
    g_array_unref (found[i]);
  gst_sam_detector_free (detect);
  sam_tracker_close (&tracker);
  gst_buffer_unref (frame);
  gst_buffer_unref (other);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
detectmasks_suite (void)
{
  Suite *s = suite_create ("detectmasks");
  TCase *tc = sam_tcase_new_tiny (s, "detectmasks");

  tcase_add_test (tc, test_cells);
  tcase_add_test (tc, test_shared_trunk);
  tcase_add_loop_test (tc, test_mask_prompts, 0, G_N_ELEMENTS (kinds));
  return s;
}

GST_CHECK_MAIN (detectmasks);
