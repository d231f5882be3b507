/* SPDX-License-Identifier: MIT */
/* Objects that are started by the regions of interest of a detector upstream.
 * The detector is played by a probe, which knows the truth of samscene. */

#include "samcheck.h"

#include <glib/gstdio.h>
#include <string.h>

#define PATIENCE (120 * GST_SECOND)
#define MAX_FRAMES 2000
#define NUM_THINGS 4

/* An object of a frame. */
typedef struct
{
  guint64 id;
  gchar label[16];
  guint truth;                  /* label of the thing that it covers most */
  guint area;
} Shown;

typedef struct
{
  Shown object[16];
  guint num, seen;              /* slots in the label map */
} Frame;

typedef struct
{
  /* what the detector does */
  guint every;                  /* frames */
  gdouble score;

  gboolean until_shown;         /* the stream ends once an object is shown */

  guint frames_in, frames_out;
  gchar names[NUM_THINGS + 1][16];
  Frame frame[MAX_FRAMES];
  guint born, confirmed, lost, reacquired, dead;        /* messages */
  guint64 num_births, num_ticks;        /* statistics */
} Run;

/* ---- The detector */

static const GstStructure *
get_truth (GstBuffer * buf)
{
  GstCustomMeta *meta = gst_buffer_get_custom_meta (buf, "GstSamSceneMeta");

  fail_unless (meta != NULL);
  return gst_custom_meta_get_structure (meta);
}

/* The box of what is seen of a thing. */
static void
detect_thing (Run * run, GstBuffer * buf, const guint8 * labels, gint width,
    gint height, guint label)
{
  gint x, y, x0 = width, y0 = height, x1 = -1, y1 = -1;

  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++) {
      if (labels[y * width + x] == label) {
        x0 = MIN (x0, x);
        x1 = MAX (x1, x);
        y0 = MIN (y0, y);
        y1 = MAX (y1, y);
      }
    }
  }
  if (x1 >= 0)
    sam_add_region (buf, run->names[label], x0, y0, x1 - x0 + 1, y1 - y0 + 1,
        run->score);
}

static void
detect (Run * run, GstBuffer * buf)
{
  const GstStructure *truth = get_truth (buf);
  const GValue *things = gst_structure_get_value (truth, "things");
  const gint width = sam_get_int (truth, "width");
  const gint height = sam_get_int (truth, "height");
  GstBuffer *labels =
      gst_value_get_buffer (gst_structure_get_value (truth, "labels"));
  GstMapInfo map;
  guint i;

  fail_unless (gst_buffer_map (labels, &map, GST_MAP_READ));
  for (i = 0; i < NUM_THINGS; i++) {
    const GstStructure *thing =
        gst_value_get_structure (gst_value_array_get_value (things, i));

    g_strlcpy (run->names[i + 1], gst_structure_get_string (thing, "name"),
        sizeof run->names[0]);
    if (sam_get_double (thing, "visibility") > 0.6 &&
        sam_get_uint (thing, "area") > 60)
      detect_thing (run, buf, map.data, width, height, i + 1);
  }
  gst_buffer_unmap (labels, &map);
}

static GstPadProbeReturn
on_frame_in (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  Run *run = data;

  if (run->frames_in++ % run->every)
    return GST_PAD_PROBE_OK;
  info->data = gst_buffer_make_writable (info->data);
  detect (run, info->data);
  return GST_PAD_PROBE_OK;
}

/* ---- What comes out */

static void
look_at_mask (Frame * frame, const GstStructure * meta, GstBuffer * buf)
{
  const GstStructure *truth = get_truth (buf);
  guint common[256][256] = { {0,}, }, i, k;
  GstMapInfo mask, labels;
  gsize p;

  if (!gst_structure_has_field (meta, "mask"))
    return;
  fail_unless (gst_buffer_map (gst_value_get_buffer (gst_structure_get_value
              (meta, "mask")), &mask, GST_MAP_READ));
  fail_unless (gst_buffer_map (gst_value_get_buffer (gst_structure_get_value
              (truth, "labels")), &labels, GST_MAP_READ));
  fail_unless_equals_int (mask.size, labels.size);
  for (p = 0; p < mask.size; p++)
    common[mask.data[p]][labels.data[p]]++;
  for (i = 1; i < 256; i++) {
    gboolean any = FALSE;

    for (k = 0; k < 256; k++)
      any |= common[i][k] > 0;
    frame->seen += any;
  }
  for (i = 0; i < frame->num; i++) {
    const guint slot = sam_get_uint (sam_get_object (meta, i), "slot");

    for (k = 1; k < 256; k++) {
      if (common[slot][k] > common[slot][frame->object[i].truth] ||
          (!frame->object[i].truth && common[slot][k]))
        frame->object[i].truth = k;
    }
  }
  gst_buffer_unmap (gst_value_get_buffer (gst_structure_get_value (truth,
              "labels")), &labels);
  gst_buffer_unmap (gst_value_get_buffer (gst_structure_get_value (meta,
              "mask")), &mask);
}

static GstPadProbeReturn
on_frame_out (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  Run *run = data;
  const GstStructure *meta = sam_get_meta (info->data);
  Frame *frame = &run->frame[run->frames_out];
  guint i;

  fail_unless (run->frames_out++ < MAX_FRAMES);
  memset (frame, 0, sizeof *frame);
  frame->num = sam_get_num_objects (meta);
  fail_unless (frame->num <= G_N_ELEMENTS (frame->object));
  for (i = 0; i < frame->num; i++) {
    const GstStructure *object = sam_get_object (meta, i);
    const gchar *label = gst_structure_get_string (object, "label");

    frame->object[i].id = sam_get_uint64 (object, "id");
    frame->object[i].area = sam_get_uint (object, "area");
    g_strlcpy (frame->object[i].label, label ? label : "",
        sizeof frame->object[i].label);
  }
  if (frame->num && run->until_shown)
    gst_element_post_message (GST_PAD_PARENT (pad),
        gst_message_new_element (GST_OBJECT (pad),
            gst_structure_new_empty ("shown")));
  look_at_mask (frame, meta, info->data);
  return GST_PAD_PROBE_OK;
}

static void
count_event (Run * run, const GstStructure * s)
{
  const gchar *event;

  if (!gst_structure_has_name (s, "samtrack-track"))
    return;
  event = gst_structure_get_string (s, "event");
  fail_unless (gst_structure_get_string (s, "reason") != NULL);
  fail_unless (sam_get_uint64 (s, "id") > 0);
  run->born += g_str_equal (event, "track-born");
  run->confirmed += g_str_equal (event, "track-confirmed");
  run->lost += g_str_equal (event, "track-lost");
  run->reacquired += g_str_equal (event, "track-reacquired");
  run->dead += g_str_equal (event, "track-dead");
}

static void
read_stats (Run * run, GstElement * track)
{
  GstStructure *stats = NULL;
  const GstStructure *seeding;

  g_object_get (track, "stats", &stats, NULL);
  fail_unless (gst_structure_has_field (stats, "seeding"));
  seeding = gst_value_get_structure (gst_structure_get_value (stats,
          "seeding"));
  run->num_births = sam_get_uint64 (seeding, "births");
  run->num_ticks = sam_get_uint64 (seeding, "ticks");
  gst_structure_free (stats);
}

/* Plays until the end; no warning may come. */
static void
play (Run * run, GstElement * pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  gboolean done = FALSE;

  fail_unless (gst_element_set_state (pipeline, GST_STATE_PLAYING) !=
      GST_STATE_CHANGE_FAILURE);
  while (!done) {
    GstMessage *message = gst_bus_timed_pop_filtered (bus, PATIENCE,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING |
        GST_MESSAGE_ELEMENT);

    fail_unless (message != NULL, "nothing comes");
    done = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
    fail_if (!done && GST_MESSAGE_TYPE (message) != GST_MESSAGE_ELEMENT,
        "a message of type %s", GST_MESSAGE_TYPE_NAME (message));
    if (!done)
      count_event (run, gst_message_get_structure (message));
    if (!done && gst_message_has_name (message, "shown"))
      gst_element_send_event (pipeline, gst_event_new_eos ());
    gst_message_unref (message);
  }
  gst_object_unref (bus);
}

static void
add_probe (GstElement * pipeline, const gchar * element, const gchar * name,
    GstPadProbeCallback callback, Run * run)
{
  GstElement *e = gst_bin_get_by_name (GST_BIN (pipeline), element);
  GstPad *pad = gst_element_get_static_pad (e, name);

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, callback, run, NULL);
  gst_object_unref (pad);
  gst_object_unref (e);
}

/* @source: properties of samscene; @track: of samtrack. */
static void
run_pipeline (Run * run, const gchar * source, const gchar * track,
    guint every, gdouble score)
{
  gchar *launch = g_strdup_printf ("samscene %s ! video/x-raw,width=320,"
      "height=180,framerate=15/1 ! identity name=detector ! samtrack name=track "
      "prompt-source=roi %s ! fakesink name=sink", source, track);
  GstElement *pipeline = gst_parse_launch (launch, NULL), *e;

  fail_unless (pipeline != NULL, "%s does not parse", launch);
  run->every = every;
  run->score = score;
  add_probe (pipeline, "detector", "sink", on_frame_in, run);
  add_probe (pipeline, "sink", "sink", on_frame_out, run);
  play (run, pipeline);
  e = gst_bin_get_by_name (GST_BIN (pipeline), "track");
  read_stats (run, e);
  gst_object_unref (e);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  g_free (launch);
}

static Run *
run_new (const gchar * source, const gchar * track, guint every, gdouble score)
{
  Run *run = g_new0 (Run, 1);

  run_pipeline (run, source, track, every, score);
  return run;
}

static guint64
find_label (const Frame * frame, const gchar * label)
{
  guint i;

  for (i = 0; i < frame->num; i++) {
    if (g_str_equal (frame->object[i].label, label))
      return frame->object[i].id;
  }
  return 0;
}

/* ---- Tests */

/* The detector looks at the frames 0, 5, 10: with a score of 0.7 it takes two
 * of them. */
GST_START_TEST (test_probation)
{
  Run *run = run_new ("num-buffers=12", "", 5, 0.7);
  guint i, k, right = 0, all = 0;

  fail_unless_equals_int (run->frames_out, 12);
  fail_unless (run->born >= 2, "%u born", run->born);
  fail_unless (run->confirmed >= 2, "%u confirmed", run->confirmed);
  fail_unless_equals_uint64 (run->num_ticks, 3);
  fail_unless_equals_uint64 (run->num_births, run->born);
  for (i = 0; i < 5; i++) {
    fail_unless_equals_int (run->frame[i].num, 0);
    fail_unless_equals_int (run->frame[i].seen, 0);
  }
  fail_unless (run->frame[5].num >= 2, "%u objects", run->frame[5].num);
  for (i = 5; i < 12; i++) {
    fail_unless (run->frame[i].seen <= run->frame[i].num,
        "frame %u: %u slots in the label map, %u objects", i,
        run->frame[i].seen, run->frame[i].num);
    for (k = 0; k < run->frame[i].num; k++) {
      const Shown *object = &run->frame[i].object[k];

      fail_unless (*object->label, "frame %u: no label", i);
      all++;
      right += g_str_equal (object->label, run->names[object->truth]);
    }
  }
  fail_unless (right * 10 >= all * 9, "%u of %u labels are right", right, all);
  g_free (run);
}

GST_END_TEST;

GST_START_TEST (test_publish_tentative)
{
  Run *run = run_new ("num-buffers=4", "publish-tentative=true", 5, 0.7);

  fail_unless_equals_int (run->frame[0].num, 0);
  fail_unless (run->frame[1].num >= 2, "%u objects", run->frame[1].num);
  fail_unless_equals_int (run->confirmed, 0);
  g_free (run);
}

GST_END_TEST;

/* One detection with a high score is enough; so is a class that is wanted. */
GST_START_TEST (test_classes)
{
  Run *run = run_new ("num-buffers=4", "detect-classes=\"nothing, ball\"", 5,
      0.9);

  fail_unless_equals_int (run->born, 1);
  fail_unless_equals_int (run->frame[1].num, 1);
  fail_unless_equals_string (run->frame[1].object[0].label, "ball");
  g_free (run);
}

GST_END_TEST;

static gchar *
read_file (const gchar * folder, const gchar * name)
{
  gchar *path = g_build_filename (folder, name, NULL), *text = NULL;

  fail_unless (g_file_get_contents (path, &text, NULL, NULL), "no %s", path);
  g_remove (path);
  g_free (path);
  return text;
}

/* Into lines of JSON and as COCO's categories, where samexport is built. */
GST_START_TEST (test_labels_in_files)
{
  GstElementFactory *factory = gst_element_factory_find ("samexport");
  gchar *folder, *track, *text;
  Run *run;

  if (!factory) {
    g_print ("not tested: the build has no samexport\n");
    return;
  }
  gst_object_unref (factory);
  folder = g_dir_make_tmp ("seeding-XXXXXX", NULL);
  track = g_strdup_printf ("detect-classes=ball ! samexport "
      "location=%s/a.jsonl ! samexport format=coco location=%s/a.json", folder,
      folder);
  run = run_new ("num-buffers=3", track, 5, 0.9);
  fail_unless_equals_int (run->born, 1);
  text = read_file (folder, "a.jsonl");
  fail_unless (strstr (text, "\"label\":\"ball\"") != NULL, "%s", text);
  g_free (text);
  text = read_file (folder, "a.json");
  fail_unless (strstr (text, "\"ball\"") != NULL, "%s", text);
  g_free (text);
  g_rmdir (folder);
  g_free (folder);
  g_free (track);
  g_free (run);
}

GST_END_TEST;

/* Ten seconds, in which things go behind the pillar and return. A thing has one
 * id at the end that it had at the beginning. */
GST_START_TEST (test_pillar)
{
  static const gchar *things[] = { "walker", "ball", "fish" };
  Run *run = run_new ("num-buffers=150", "", 5, 0.7);
  guint64 begin[3] = { 0, }, end[3] = { 0, };
  guint i, k, kept = 0;

  for (i = 0; i < 150; i++) {
    for (k = 0; k < 3; k++) {
      const guint64 id = find_label (&run->frame[i], things[k]);

      begin[k] = begin[k] ? begin[k] : id;
      end[k] = id ? id : end[k];
    }
  }
  for (k = 0; k < 3; k++) {
    fail_unless (begin[k] > 0, "no %s", things[k]);
    kept += begin[k] == end[k];
  }
  g_print ("%u of 3 ids kept; %u born, %u lost, %u reacquired, %u dead\n", kept,
      run->born, run->lost, run->reacquired, run->dead);
  fail_unless (run->lost >= 1);
  fail_unless (run->reacquired >= 1);
  fail_unless_equals_int (kept, 3);
  g_free (run);
}

GST_END_TEST;

GST_START_TEST (test_two_runs)
{
  Run *a = run_new ("num-buffers=25", "", 5, 0.7);
  Run *b = run_new ("num-buffers=25", "", 5, 0.7);

  fail_unless (a->born > 0);
  fail_unless_equals_int (a->born, b->born);
  fail_unless (!memcmp (a->frame, b->frame, sizeof a->frame));
  g_free (a);
  g_free (b);
}

GST_END_TEST;

/* Without history prompts are for the next frame. */
GST_START_TEST (test_without_history)
{
  Run *run = run_new ("num-buffers=12", "history=0", 5, 0.7);

  fail_unless (run->confirmed >= 2, "%u confirmed", run->confirmed);
  fail_unless (run->frame[11].num >= 2, "%u objects", run->frame[11].num);
  g_free (run);
}

GST_END_TEST;

/* In a live pipeline the tracker has a thread of its own. On a slow machine
 * many frames pass before it has an answer: the stream has two minutes. */
GST_START_TEST (test_live)
{
  Run *run = g_new0 (Run, 1);
  guint i, most = 0;

  run->until_shown = TRUE;
  run_pipeline (run, "is-live=true num-buffers=1800", "", 3, 0.9);
  for (i = 0; i < run->frames_out; i++)
    most = MAX (most, run->frame[i].num);
  fail_unless (run->confirmed >= 1, "%u confirmed", run->confirmed);
  fail_unless (most >= 1, "nothing was shown");
  g_free (run);
}

GST_END_TEST;

/* What a user has started is no second object, and gets no label. */
GST_START_TEST (test_users_objects)
{
  Run *free_run = run_new ("num-buffers=12", "", 5, 0.9);
  Run *run = run_new ("num-buffers=12",
      "initial-prompt=\"point,x=0.4563,y=0.7444,normalized=true\"", 5, 0.9);
  guint i, unlabelled = 0;

  for (i = 0; i < run->frame[11].num; i++)
    unlabelled += !*run->frame[11].object[i].label;
  fail_unless_equals_int (unlabelled, 1);
  fail_unless (run->num_births < free_run->num_births,
      "%u births, without a user %u", (guint) run->num_births,
      (guint) free_run->num_births);
  g_free (run);
  g_free (free_run);
}

GST_END_TEST;

/* Births only in the lower half: the fish and the plane are above. */
GST_START_TEST (test_roi)
{
  Run *run = run_new ("num-buffers=3", "roi=<0.0,0.5,1.0,1.0>", 5, 0.9);
  Run *all = run_new ("num-buffers=3",
      "seed-options=\"roi-y0=0.0,birth-max-border=(int)1\"", 5, 0.9);

  fail_unless (run->born >= 1);
  fail_unless (all->born > run->born, "%u born, in the lower half %u",
      all->born, run->born);
  g_free (run);
  g_free (all);
}

GST_END_TEST;

static Suite *
seeding_suite (void)
{
  Suite *s = suite_create ("seeding");
  TCase *tc = sam_tcase_new (s, "seeding");

  tcase_add_test (tc, test_probation);
  tcase_add_test (tc, test_publish_tentative);
  tcase_add_test (tc, test_classes);
  tcase_add_test (tc, test_labels_in_files);
  tcase_add_test (tc, test_roi);
  tcase_add_test (tc, test_without_history);
  tcase_add_test (tc, test_users_objects);
  tcase_add_test (tc, test_live);
  tcase_add_test (tc, test_two_runs);
  tcase_add_test (tc, test_pillar);
  return s;
}

GST_CHECK_MAIN (seeding);
