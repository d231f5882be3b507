/* SPDX-License-Identifier: MIT */
/* samdetect: what it attaches is what the engine's detector finds, and samtrack
 * starts objects from it. The weights are small and random: what they find has
 * no meaning, but it is the same each time. */

#include "detectcheck.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 160
#define HEIGHT 120
#define SCORE 0.2
#define PATIENCE (120 * G_TIME_SPAN_SECOND)

static gchar *
with_model (const gchar * properties)
{
  return g_strdup_printf ("samdetect name=detect model-file=\"%s\" "
      "input-size=320 score=0.2 %s", g_getenv ("SAMTRACK_DETECTOR"),
      properties);
}

static GstHarness *
open_detect (const gchar * properties)
{
  gchar *launch = with_model (properties);
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, WIDTH,
      HEIGHT);

  g_free (launch);
  return h;
}

static guint64
get_stat (GstElement * element, const gchar * name)
{
  GstStructure *stats;
  guint64 value = 0;

  g_object_get (element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, name, &value));
  gst_structure_free (stats);
  return value;
}

static GstVideoRegionOfInterestMeta *
get_region (GstBuffer * buf, gpointer * state)
{
  return (GstVideoRegionOfInterestMeta *)
      gst_buffer_iterate_meta_filtered (buf, state,
      GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
}

static guint
count_regions (GstBuffer * buf)
{
  gpointer state = NULL;
  guint num = 0;

  while (get_region (buf, &state))
    num++;
  return num;
}

static const GstStructure *
get_detection (GstVideoRegionOfInterestMeta * region)
{
  const GstStructure *s = gst_video_region_of_interest_meta_get_param (region,
      "samdetect");

  fail_unless (s != NULL);
  return s;
}

static guint
get_age (GstBuffer * buf)
{
  gpointer state = NULL;
  guint age = G_MAXUINT;

  gst_structure_get_uint (get_detection (get_region (buf, &state)), "age",
      &age);
  return age;
}

/* The regions must be the detections of that score, in order. Returns their
 * number. */
static guint
compare (GstBuffer * buf, sam_detector * detector)
{
  struct sam_detections found = SAM_DETECTIONS_INIT;
  struct sam_frame frame;
  struct sam_error error = { "" };
  gpointer state = NULL;
  GstMapInfo map;
  gint i, num = 0;

  frame = map_frame (buf, &map, WIDTH, HEIGHT);
  fail_unless (!sam_detector_run (detector, &frame, &found, &error), "%s",
      error.text);
  gst_buffer_unmap (buf, &map);
  for (i = 0; i < found.num; i++) {
    const struct sam_detection *wanted = &found.list[i];
    GstVideoRegionOfInterestMeta *region;
    gdouble score = 0;
    gint class_id = -1;

    if (wanted->score < (gfloat) SCORE ||
        (gint) (wanted->box[2] + 0.5f) <= (gint) wanted->box[0] ||
        (gint) (wanted->box[3] + 0.5f) <= (gint) wanted->box[1])
      continue;
    region = get_region (buf, &state);
    fail_unless (region != NULL, "detection %d is missing", i);
    fail_unless_equals_int (region->x, (gint) wanted->box[0]);
    fail_unless_equals_int (region->y, (gint) wanted->box[1]);
    fail_unless (region->x + region->w <= WIDTH &&
        region->y + region->h <= HEIGHT);
    fail_unless (abs ((gint) (region->x + region->w) - (gint)
            (wanted->box[2] + 0.5f)) == 0);
    fail_unless (gst_structure_get (get_detection (region), "score",
            G_TYPE_DOUBLE, &score, "class-id", G_TYPE_INT, &class_id, NULL));
    fail_unless (score == wanted->score && class_id == wanted->label);
    num++;
  }
  fail_unless (!get_region (buf, &state), "more than %d regions", num);
  return num;
}

GST_START_TEST (test_what_it_attaches)
{
  GstHarness *h = open_detect ("");
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error = { "" };
  sam_detector *detector;
  guint i, num = 0;

  params.model_file = g_getenv ("SAMTRACK_DETECTOR");
  params.input_size = 320;
  params.precision = SAM_PRECISION_FP32;
  fail_unless (!sam_detector_open (&detector, &params, &error), "%s",
      error.text);
  gst_harness_play (h);
  for (i = 0; i < 3; i++) {
    GstBuffer *buf = sam_harness_run (h, 7 * i);

    num += compare (buf, detector);
    fail_unless (!count_regions (buf) || get_age (buf) == 0);
    gst_buffer_unref (buf);
  }
  fail_unless (num > 3, "%u detections are too few for a test", num);
  fail_unless_equals_uint64 (get_stat (h->element, "frames-in"), 3);
  fail_unless_equals_uint64 (get_stat (h->element, "runs"), 3);
  fail_unless_equals_uint64 (get_stat (h->element, "detections"), num);
  fail_unless (get_stat (h->element, "last-ns") > 0);
  sam_detector_close (&detector);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_interval)
{
  GstHarness *h = open_detect ("interval=3");
  guint i;

  gst_harness_play (h);
  for (i = 0; i < 9; i++) {
    GstBuffer *buf = sam_harness_run (h, 0);

    fail_unless (!count_regions (buf) == (i % 4 != 0), "frame %u has %u", i,
        count_regions (buf));
    gst_buffer_unref (buf);
  }
  fail_unless_equals_uint64 (get_stat (h->element, "runs"), 3);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Those of one class alone, and those of a high score. */
GST_START_TEST (test_choice)
{
  GstHarness *h = open_detect ("");
  GstBuffer *buf = sam_harness_run (h, 0);
  GstVideoRegionOfInterestMeta *region;
  gpointer state = NULL;
  GQuark label;
  gchar *properties;
  guint all = count_regions (buf), num;

  region = get_region (buf, &state);
  fail_unless (region != NULL);
  label = region->roi_type;
  gst_buffer_unref (buf);
  g_object_set (h->element, "score", 1.0, NULL);
  buf = sam_harness_run (h, 0);
  fail_unless_equals_int (count_regions (buf), 0);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);

  properties = g_strdup_printf ("classes=\" %s,\"", g_quark_to_string (label));
  h = open_detect (properties);
  buf = sam_harness_run (h, 0);
  num = count_regions (buf);
  fail_unless (num > 0 && num < all, "%u of %u", num, all);
  for (state = NULL; (region = get_region (buf, &state));)
    fail_unless (region->roi_type == label);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
  g_free (properties);
}

GST_END_TEST;

static void
flush (GstHarness * h)
{
  GstSegment segment;

  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
}

/* Frames pass; detections come with a later one, which says how much later, and
 * not after a flush. */
GST_START_TEST (test_frames_that_do_not_wait)
{
  GstHarness *h = open_detect ("overload-policy=skip");
  const gint64 end = g_get_monotonic_time () + PATIENCE;
  GstBuffer *buf;
  guint i = 0, with = 0, asked = 0;

  gst_harness_play (h);
  while (with < 3 && g_get_monotonic_time () < end) {
    buf = sam_harness_run (h, 0);
    i++;
    if (count_regions (buf)) {
      /* it is given each frame at which it is free: the first, and those at
       * which it has answered */
      fail_unless_equals_int (get_age (buf), i - 1 - asked);
      asked = i - 1;
      with++;
    }
    gst_buffer_unref (buf);
    g_usleep (2000);
  }
  fail_unless_equals_int (with, 3);
  flush (h);
  for (i = 0, with = 0; !with && g_get_monotonic_time () < end; i++) {
    buf = sam_harness_run (h, i);
    with = count_regions (buf);
    fail_unless (!with || get_age (buf) <= i, "of a frame before the flush");
    gst_buffer_unref (buf);
    g_usleep (2000);
  }
  fail_unless (with > 0);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- With samtrack behind it */

/* @pause_us: between frames, which come until an object is shown. 0: there are
 * @frames of them. */
static gchar *
run_both (const gchar * properties, const gchar * source, guint frames,
    guint pause_us)
{
  const gint64 end = g_get_monotonic_time () + PATIENCE;
  gchar *detect = with_model (properties);
  gchar *launch = g_strdup_printf ("%s ! samtrack name=track prompt-source=%s "
      "max-objects=3 seed-score=0.25 instant-confirm-score=0.25", detect,
      source);
  GstHarness *h = gst_harness_new_parse (launch);
  GString *log = g_string_new (NULL);
  GstElement *track = gst_bin_get_by_name (GST_BIN (h->element), "track");
  guint i, k;

  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h, "video/x-raw,format=RGBA,width=160,"
      "height=120,framerate=30/1");
  for (i = 0; pause_us ? !strchr (log->str, ';') &&
      g_get_monotonic_time () < end : i < frames; i++) {
    GstBuffer *buf = sam_harness_run (h, i);
    const GstStructure *meta = sam_get_meta (buf);

    for (k = 0; k < sam_get_num_objects (meta); k++) {
      const GstStructure *object = sam_get_object (meta, k);

      fail_unless (gst_structure_get_string (object, "label") != NULL);
      g_string_append_printf (log, "%u %s %d;",
          (guint) sam_get_uint64 (object, "id"),
          gst_structure_get_string (object, "label"), sam_get_int (object,
              "x"));
    }
    g_string_append_c (log, '\n');
    gst_buffer_unref (buf);
    g_usleep (pause_us);
  }
  fail_unless (sam_get_seeding (track, "births") > 0, "nothing was born");
  fail_unless (sam_get_seeding (track, "detections") > 0);
  /* that runs elsewhere */
  fail_unless_equals_uint64 (sam_get_seeding (track, "detector-runs"), 0);
  fail_unless (!pause_us || sam_get_seeding (track, "max-result-age") > 0,
      "the age of detections is not heeded");
  gst_object_unref (track);
  gst_harness_teardown (h);
  g_free (launch);
  g_free (detect);
  return g_string_free (log, FALSE);
}

GST_START_TEST (test_objects_start_from_it)
{
  gchar *a = run_both ("interval=2", "roi", 12, 0);
  gchar *b = run_both ("interval=2", "roi", 12, 0);

  fail_unless (strchr (a, ';') != NULL, "nothing was shown");
  fail_unless_equals_string (a, b);
  g_free (a);
  g_free (b);
}

GST_END_TEST;

/* Detections that are late are of the frames that they were found on. */
GST_START_TEST (test_objects_start_from_late_ones)
{
  g_free (run_both ("overload-policy=skip", "roi", 0, 200000));
}

GST_END_TEST;

/* The same by GstAnalytics, in builds that have it. */
#ifdef WITH_ANALYTICS
GST_START_TEST (test_objects_start_from_analytics)
{
  g_free (run_both ("interval=2", "analytics", 12, 0));
}

GST_END_TEST;
#endif

/* ---- What is refused */

/* The types of all regions, one a line; free them. */
static gchar *
run_types (GstHarness * h, guint n)
{
  GstBuffer *buf = sam_harness_run (h, n);
  GString *log = g_string_new (NULL);
  GstVideoRegionOfInterestMeta *region;
  gpointer state = NULL;

  while ((region = get_region (buf, &state)))
    g_string_append_printf (log, "%s\n", g_quark_to_string (region->roi_type));
  gst_buffer_unref (buf);
  return g_string_free (log, FALSE);
}

/* What words name is found, from the frame after they were set; words that are
 * refused change nothing. */
GST_START_TEST (test_words)
{
  static const struct
  {
    const gchar *words, *type, *other, *warning;
  } steps[] = {
    {"red car. striped ball", "red car\n", "striped ball\n", NULL},
    {"dog", "dog\n", NULL, NULL},
    {"\344\270\255", "dog\n", NULL, "has no word of which the vocabulary"},
    {"\344\270\255 dog", "", NULL, "has no piece of '\344\270\255'"},
    {NULL, NULL, NULL, NULL},
  };
  gchar *launch = g_strdup_printf ("samdetect model-file=\"%s\" input-size=64",
      g_getenv ("SAMTRACK_WORDS"));
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, WIDTH,
      HEIGHT);
  GstBus *bus = gst_bus_new ();
  guint i;

  gst_element_set_bus (h->element, bus);
  gst_harness_play (h);
  for (i = 0; i < G_N_ELEMENTS (steps); i++) {
    gchar *types, *text = NULL;

    g_object_set (h->element, "words", steps[i].words, NULL);
    types = run_types (h, i);
    fail_unless (!steps[i].type == !*types, "'%s' finds '%s'", steps[i].words,
        types);
    fail_unless (!steps[i].type || strstr (types, steps[i].type) ||
        (steps[i].other && strstr (types, steps[i].other)), "'%s' finds '%s'",
        steps[i].words, types);
    fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING,
            &text), steps[i].warning != NULL);
    fail_unless (!text || strstr (text, steps[i].warning), "'%s'", text);
    g_free (text);
    g_free (types);
  }
  gst_element_set_bus (h->element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_END_TEST;

/* All that is found by these words in a picture whose first @rows are gray; free
 * it. */
static gchar *
run_words (GstHarness * h, guint rows, const gchar * words)
{
  GString *log = g_string_new (NULL);
  GstVideoRegionOfInterestMeta *region;
  gpointer state = NULL;
  GstBuffer *buf = sam_harness_frame (h, 0);

  gst_buffer_memset (buf, 0, 90, rows * WIDTH * 4);
  g_object_set (h->element, "words", words, NULL);
  buf = gst_harness_push_and_pull (h, buf);
  while ((region = get_region (buf, &state))) {
    gchar *params = gst_structure_to_string (get_detection (region));

    g_string_append_printf (log, "%s %u %u %u %u %s\n",
        g_quark_to_string (region->roi_type), region->x, region->y, region->w,
        region->h, params);
    g_free (params);
  }
  gst_buffer_unref (buf);
  return g_string_free (log, FALSE);
}

/* A picture that stands still, of which the detector keeps what words have no
 * part in: what is found is what an element finds that has seen nothing
 * before. */
GST_START_TEST (test_still_picture)
{
  static const struct
  {
    guint rows;
    const gchar *words;
    gboolean flush;
  } steps[] = {
    {0, "red car. striped ball", FALSE},
    {0, "dog", FALSE},
    {0, "red car", TRUE},
    {60, "red car", TRUE},
    {60, "dog", FALSE},
    {0, "dog", FALSE},
  };
  gchar *launch = g_strdup_printf ("samdetect model-file=\"%s\" input-size=64 "
      "score=0.01", g_getenv ("SAMTRACK_WORDS"));
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, WIDTH,
      HEIGHT);
  gchar *last = NULL;
  guint i;

  gst_harness_play (h);
  for (i = 0; i < G_N_ELEMENTS (steps); i++) {
    GstHarness *other = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, WIDTH,
        HEIGHT);
    gchar *found, *alone;

    gst_harness_play (other);
    if (steps[i].flush)
      flush (h);
    found = run_words (h, steps[i].rows, steps[i].words);
    alone = run_words (other, steps[i].rows, steps[i].words);
    fail_unless (*found && g_str_equal (found, alone), "step %u: '%s', alone "
        "'%s'", i, found, alone);
    fail_unless (g_strcmp0 (found, last), "step %u: nothing is different", i);
    g_free (last);
    g_free (alone);
    last = found;
    gst_harness_teardown (other);
  }
  g_free (last);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_END_TEST;

/* Words of SAM 3's detector, which takes each phrase by itself: a phrase is
 * found beside another one as it is alone, and too long a one is told. */
GST_START_TEST (test_phrases)
{
  static const gchar *const words[] = { "striped ball. a big red dog",
    "a big red dog", "\342\202\254\342\202\254\342\202\254\342\202\254"
        "\342\202\254\342\202\254\342\202\254\342\202\254\342\202\254"
        "\342\202\254\342\202\254", NULL
  };
  gchar *types[G_N_ELEMENTS (words)], *text = NULL;
  gchar *launch = g_strdup_printf ("samdetect model-file=\"%s\" input-size=56 "
      "score=0.001", g_getenv ("SAMTRACK_PHRASES"));
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, WIDTH,
      HEIGHT);
  GstBus *bus = gst_bus_new ();
  guint i;

  gst_element_set_bus (h->element, bus);
  gst_harness_play (h);
  for (i = 0; i < G_N_ELEMENTS (words); i++) {
    g_object_set (h->element, "words", words[i], NULL);
    types[i] = run_types (h, i);
    fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING,
            &text), i == 2);
    fail_unless (i != 2 || strstr (text, "has 35 tokens, expected at most 32"),
        "'%s'", text);
    g_clear_pointer (&text, g_free);
  }
  fail_unless (strstr (types[0], "striped ball\n"), "'%s'", types[0]);
  fail_unless (g_str_has_prefix (types[1], "a big red dog\n") &&
      !strstr (types[1], "striped"), "'%s'", types[1]);
  fail_unless (g_str_has_prefix (types[2], "a big red dog\n"), "'%s'", types[2]);
  fail_unless (!*types[3], "'%s'", types[3]);
  for (i = 0; i < G_N_ELEMENTS (words); i++)
    g_free (types[i]);
  gst_element_set_bus (h->element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_END_TEST;

GST_START_TEST (test_refused)
{
  gchar *no_class = with_model ("classes=unicorn");
  gchar *no_words = with_model ("words=unicorn");
  gchar *by_words = g_strdup_printf ("samdetect model-file=\"%s\" "
      "input-size=64 classes=unicorn", g_getenv ("SAMTRACK_WORDS"));
  gchar *foreign = g_strdup_printf ("samdetect model-file=\"%s\"",
      g_getenv ("SAMTRACK_MODEL"));

  sam_expect_refusal ("samdetect", "model-file", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal ("samdetect model-file=/nowhere.safetensors",
      "/nowhere.safetensors", GST_RESOURCE_ERROR_NOT_FOUND);
  sam_expect_refusal (foreign, "detect", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal (no_class, "unicorn", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal (no_words, "'words' is 'unicorn', but this detector finds "
      "objects of its 7 classes", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal (by_words, "'classes' is 'unicorn', but this detector "
      "finds what 'words' name", GST_RESOURCE_ERROR_SETTINGS);
  g_free (no_words);
  g_free (by_words);
  g_free (foreign);
  g_free (no_class);
}

GST_END_TEST;

GST_START_TEST (test_properties)
{
  GstHarness *h = open_detect ("");
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL;
  guint size = 0;

  g_object_set (h->element, "input-size", 640, NULL);
  g_object_get (h->element, "input-size", &size, NULL);
  fail_unless_equals_int (size, 320);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless_equals_string (text, "The property 'input-size' stays 320: it "
      "can be set to 640 only in the states NULL and READY.");
  g_free (text);
  /* To set what it is already is no change. */
  g_object_set (h->element, "input-size", 320, NULL);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  sam_read_properties (G_OBJECT (h->element));
  sam_harness_close (h, bus);
}

GST_END_TEST;

static Suite *
samdetect_suite (void)
{
  Suite *s = suite_create ("samdetect");
  TCase *tc = sam_tcase_new_tiny (s, "general");

  tcase_add_test (tc, test_what_it_attaches);
  tcase_add_test (tc, test_interval);
  tcase_add_test (tc, test_choice);
  tcase_add_test (tc, test_frames_that_do_not_wait);
  tcase_add_test (tc, test_objects_start_from_it);
  tcase_add_test (tc, test_objects_start_from_late_ones);
#ifdef WITH_ANALYTICS
  tcase_add_test (tc, test_objects_start_from_analytics);
#endif
  tcase_add_test (tc, test_words);
  tcase_add_test (tc, test_still_picture);
  tcase_add_test (tc, test_phrases);
  tcase_add_test (tc, test_refused);
  tcase_add_test (tc, test_properties);
  return s;
}

GST_CHECK_MAIN (samdetect);
