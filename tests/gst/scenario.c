/* SPDX-License-Identifier: MIT */
/* What a player does, step by step: play, pause, seek, prompt, other caps, EOS.
 * Each scenario is a text, played by a live pipeline, which tracks in a thread of
 * its own, or by another one, and whatever comes out is checked.
 *
 *   state NAME        go to the state and wait until it is there
 *   seek S [FLAGS]    seek to S seconds: "flush", "segment"; "until=S"
 *   prompt TEXT       emit the signal
 *   event TEXT        send the event upstream from the sink
 *   caps CAPS         change the capsfilter
 *   eos               send EOS and wait for its message
 *   done              wait for SEGMENT_DONE
 *   frames N          wait for N more frames
 *   until KEY=VALUE.. wait for a frame of which all is true: objects, the last
 *                     object's id, width, state; good: of each object's mask and
 *                     what it covers most J is at least that
 *   total KEY=N..     counts of messages so far: refusals, appeared */

#include "inspect.h"

#include "overlay/gstsamoverlay.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE (60 * G_TIME_SPAN_SECOND)

typedef struct
{
  GstElement *pipeline, *filter, *track, *sink;
  SamInspector inspector;
  const gchar *step;            /* that is being done */

  GMutex lock;
  GCond cond;
  guint frames;                 /* guarded by @lock, as the next */
  gdouble worst;                /* the least J of an object in the last frame */
} Player;

/* ---- Masks against the scene's labels */

/* J of a slot's mask and the thing that it covers most. */
static gdouble
get_j (const guint8 * mask, gint mask_width, gint mask_height,
    const guint8 * labels, gint width, gint height, guint slot)
{
  guint both[256] = { 0, }, all[256] = { 0, }, own = 0, i, best = 1;
  gint x, y;

  for (y = 0; y < height; y++) {
    const guint8 *row = mask + (gsize) (y * mask_height / height) * mask_width;

    for (x = 0; x < width; x++) {
      const guint8 label = labels[y * width + x];
      const gboolean in = row[x * mask_width / width] == slot;

      all[label]++;
      own += in;
      both[label] += in;
    }
  }
  for (i = 1; i < 256; i++)
    best = both[i] > both[best] ? i : best;
  return own ? both[best] / (gdouble) (own + all[best] - both[best]) : 0;
}

/* Stale masks are of another frame than the labels. */
static gdouble
get_worst (GstBuffer * buf)
{
  const GstStructure *track = sam_get_meta (buf), *scene, *object;
  GstCustomMeta *meta = gst_buffer_get_custom_meta (buf, "GstSamSceneMeta");
  gint width = 0, height = 0, mask_width = 0, mask_height = 0;
  GstBuffer *labels, *mask;
  GstMapInfo a, b;
  gdouble worst = 1;
  guint i;

  if (!meta || !gst_structure_has_field (track, "mask") ||
      g_strcmp0 (gst_structure_get_string (track, "state"), "ok"))
    return 0;
  scene = gst_custom_meta_get_structure (meta);
  gst_structure_get (scene, "width", G_TYPE_INT, &width,
      "height", G_TYPE_INT, &height, NULL);
  gst_structure_get (track, "mask-width", G_TYPE_INT, &mask_width,
      "mask-height", G_TYPE_INT, &mask_height, NULL);
  mask = gst_value_get_buffer (gst_structure_get_value (track, "mask"));
  labels = gst_value_get_buffer (gst_structure_get_value (scene, "labels"));
  gst_buffer_map (mask, &a, GST_MAP_READ);
  gst_buffer_map (labels, &b, GST_MAP_READ);
  for (i = 0; i < sam_get_num_objects (track); i++) {
    object = sam_get_object (track, i);
    worst = MIN (worst, get_j (a.data, mask_width, mask_height, b.data, width,
            height, sam_get_uint (object, "slot")));
  }
  gst_buffer_unmap (mask, &a);
  gst_buffer_unmap (labels, &b);
  return worst;
}

static GstPadProbeReturn
look (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  Player *p = data;
  const gdouble worst = get_worst (info->data);

  g_mutex_lock (&p->lock);
  p->frames++;
  p->worst = worst;
  g_cond_broadcast (&p->cond);
  g_mutex_unlock (&p->lock);
  return GST_PAD_PROBE_OK;
}

/* ---- Steps */

static const gchar *
state_name (GstSamReportState state)
{
  return state == GST_SAM_REPORT_OK ? "ok" : state == GST_SAM_REPORT_STALE ?
      "stale" : "idle";
}

/* Whether the last frame is as the condition wants. With the lock held. */
static gboolean
holds (Player * p, const GstSamReport * last, const gchar * key,
    const gchar * value)
{
  const gdouble number = g_ascii_strtod (value, NULL);

  if (!strcmp (key, "objects"))
    return last->num_objects == number;
  if (!strcmp (key, "id"))
    return last->num_objects &&
        last->object[last->num_objects - 1].id == number;
  if (!strcmp (key, "width"))
    return last->width == number;
  if (!strcmp (key, "state"))
    return !strcmp (state_name (last->state), value);
  fail_unless (!strcmp (key, "good"), "%s is no condition", key);
  return p->worst >= number;
}

static gboolean
all_hold (Player * p, gchar ** words)
{
  static GstSamReport last;
  gboolean all = TRUE;
  gchar **pair;
  guint i;

  g_mutex_lock (&p->inspector.lock);
  last = p->inspector.last;
  g_mutex_unlock (&p->inspector.lock);
  for (i = 0; words[i]; i++) {
    pair = g_strsplit (words[i], "=", 2);
    fail_unless (pair[1] != NULL, "%s", p->step);
    all = all && holds (p, &last, pair[0], pair[1]);
    g_strfreev (pair);
  }
  return all;
}

static void
check_content (Player * p)
{
  gboolean content;

  g_mutex_lock (&p->inspector.lock);
  content = p->inspector.complaint == NULL;
  g_mutex_unlock (&p->inspector.lock);
  fail_unless (content, "at '%s': %s", p->step, p->inspector.complaint);
}

/* @words NULL: the next frame will do; else all of them must hold. */
static void
wait_for_frames (Player * p, guint frames, gchar ** words)
{
  const gint64 end = g_get_monotonic_time () + PATIENCE;
  gboolean in_time = TRUE, done = FALSE;
  guint wanted;

  g_mutex_lock (&p->lock);
  wanted = p->frames + frames;
  while (!done && in_time) {
    done = p->frames >= wanted && (!words || all_hold (p, words));
    if (!done)
      in_time = g_cond_wait_until (&p->cond, &p->lock, end);
  }
  g_mutex_unlock (&p->lock);
  check_content (p);
  fail_unless (done, "'%s' was not so within a minute", p->step);
}

static void
wait_for_message (Player * p, const guint * count, guint before)
{
  const gint64 end = g_get_monotonic_time () + PATIENCE;
  guint now = before;

  while (now == before && g_get_monotonic_time () < end) {
    g_usleep (1000);
    g_mutex_lock (&p->inspector.lock);
    now = *count;
    g_mutex_unlock (&p->inspector.lock);
  }
  fail_unless (now > before, "'%s': no message within a minute", p->step);
}

/* After a flush the sink plays again when it has a frame. Until then no event
 * may be sent that does not flush: it would wait for that frame, and keep the
 * pipeline from playing. */
static void
wait_for_state (Player * p)
{
  fail_unless (gst_element_get_state (p->pipeline, NULL, NULL,
          PATIENCE * GST_USECOND) != GST_STATE_CHANGE_ASYNC,
      "'%s': no state within a minute", p->step);
}

static void
set_state (Player * p, const gchar * name)
{
  static const GstState states[] = { GST_STATE_NULL, GST_STATE_READY,
    GST_STATE_PAUSED, GST_STATE_PLAYING
  };
  GstState state = GST_STATE_VOID_PENDING;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (states); i++) {
    if (!g_ascii_strcasecmp (gst_element_state_get_name (states[i]), name))
      state = states[i];
  }
  fail_unless (state != GST_STATE_VOID_PENDING, "%s is no state", name);
  if (state < GST_STATE_PAUSED)
    g_atomic_int_inc (&p->inspector.runs);
  fail_unless (gst_element_set_state (p->pipeline, state) !=
      GST_STATE_CHANGE_FAILURE);
  if (state < GST_STATE_PAUSED)
    g_atomic_int_inc (&p->inspector.runs);
  wait_for_state (p);
}

static void
seek (Player * p, gchar ** words)
{
  GstClockTime stop = GST_CLOCK_TIME_NONE;
  GstSeekFlags flags = 0;
  guint i;

  for (i = 1; words[i]; i++) {
    if (!strcmp (words[i], "flush"))
      flags |= GST_SEEK_FLAG_FLUSH;
    else if (!strcmp (words[i], "segment"))
      flags |= GST_SEEK_FLAG_SEGMENT;
    else if (g_str_has_prefix (words[i], "until="))
      stop = g_ascii_strtod (words[i] + 6, NULL) * GST_SECOND;
    else
      fail ("'%s': what is %s?", p->step, words[i]);
  }
  if (!(flags & GST_SEEK_FLAG_FLUSH))
    wait_for_state (p);
  fail_unless (gst_element_seek (p->pipeline, 1, GST_FORMAT_TIME, flags,
          GST_SEEK_TYPE_SET, g_ascii_strtod (words[0], NULL) * GST_SECOND,
          GST_SEEK_TYPE_SET, stop), "'%s' is refused", p->step);
}

static void
check_totals (Player * p, gchar ** words)
{
  guint i;

  for (i = 0; words[i]; i++) {
    const gchar *value = strchr (words[i], '=');
    guint n;

    fail_unless (value != NULL);
    g_mutex_lock (&p->inspector.lock);
    n = g_str_has_prefix (words[i], "refusals") ? p->inspector.refusals :
        p->inspector.appeared;
    g_mutex_unlock (&p->inspector.lock);
    fail_unless (n == (guint) atoi (value + 1), "'%s', but it is %u", p->step,
        n);
  }
}

static void
send_prompt (Player * p, const gchar * text)
{
  GstPad *pad = gst_element_get_static_pad (p->sink, "sink");

  fail_unless (gst_pad_push_event (pad, gst_event_new_custom
          (GST_EVENT_CUSTOM_UPSTREAM, gst_structure_new ("samtrack-prompt",
                  "prompt", G_TYPE_STRING, text, NULL))));
  gst_object_unref (pad);
}

static void
do_step (Player * p, const gchar * step)
{
  const gchar *space = strchr (step, ' ');
  const gchar *rest = space ? space + 1 : "";
  gchar *verb = space ? g_strndup (step, space - step) : g_strdup (step);
  gchar **words = g_strsplit (rest, " ", -1);

  p->step = step;
  if (!strcmp (verb, "state"))
    set_state (p, rest);
  else if (!strcmp (verb, "seek"))
    seek (p, words);
  else if (!strcmp (verb, "prompt"))
    g_signal_emit_by_name (p->track, "prompt", rest);
  else if (!strcmp (verb, "event"))
    send_prompt (p, rest);
  else if (!strcmp (verb, "caps"))
    gst_util_set_object_arg (G_OBJECT (p->filter), "caps", rest);
  else if (!strcmp (verb, "eos")) {
    const guint before = p->inspector.eos;

    wait_for_state (p);
    gst_element_send_event (p->pipeline, gst_event_new_eos ());
    wait_for_message (p, &p->inspector.eos, before);
  } else if (!strcmp (verb, "done"))
    wait_for_message (p, &p->inspector.segments_done, 0);
  else if (!strcmp (verb, "frames"))
    wait_for_frames (p, atoi (rest), NULL);
  else if (!strcmp (verb, "until"))
    wait_for_frames (p, 0, words);
  else if (!strcmp (verb, "total"))
    check_totals (p, words);
  else
    fail ("'%s' is no step", step);
  check_content (p);
  g_strfreev (words);
  g_free (verb);
}

/* ---- Pipelines */

#define SIZE(w, h) "video/x-raw,width=" #w ",height=" #h ",framerate=10/1"
#define BALL "point,x=292,y=268"

static void
open_player (Player * p, gboolean live)
{
  GstElement *source = gst_element_factory_make ("samscene", NULL);
  GstElement *over = g_object_new (GST_TYPE_SAM_OVERLAY, NULL);
  GstPad *pad = gst_element_get_static_pad (over, "src");

  fail_unless (source != NULL);
  memset (p, 0, sizeof *p);
  gst_sam_meta_register ();
  p->pipeline = gst_pipeline_new (NULL);
  p->filter = gst_element_factory_make ("capsfilter", NULL);
  p->track = g_object_new (GST_TYPE_SAM_TRACK, "initial-prompt", BALL, NULL);
  p->sink = gst_element_factory_make ("fakesink", NULL);
  g_object_set (source, "is-live", live, NULL);
  /* However slow the machine, frames get masks of their own. */
  g_object_set (p->track, "max-wait", LONG, NULL);
  gst_util_set_object_arg (G_OBJECT (p->filter), "caps-change-mode",
      "delayed");
  gst_util_set_object_arg (G_OBJECT (p->filter), "caps", SIZE (640, 360));
  g_object_set (p->sink, "sync", TRUE, NULL);
  gst_bin_add_many (GST_BIN (p->pipeline), source, p->filter, p->track, over,
      p->sink, NULL);
  fail_unless (gst_element_link_many (source, p->filter, p->track, over,
          p->sink, NULL));
  sam_inspector_init (&p->inspector, p->pipeline, pad, live ? "live" : "file");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, look, p, NULL);
  gst_object_unref (pad);
}

static void
close_player (Player * p)
{
  gst_element_set_state (p->pipeline, GST_STATE_NULL);
  gst_object_unref (p->pipeline);
  sam_inspector_clear (&p->inspector);
}

static void
run (gboolean live, const gchar ** steps)
{
  Player p;

  open_player (&p, live);
  for (; *steps; steps++)
    do_step (&p, *steps);
  close_player (&p);
}

/* In both pipelines; ids tell what began anew. */
static const gchar *prompts[] = {
  "state PLAYING", "until objects=1 id=1 state=ok good=0.5",
  "prompt point,x=0.42,y=0.24,normalized=true", "until objects=2 id=2",
  "event box,x=380,y=40,w=50,h=240", "until objects=3 id=3",
  "prompt point,x=900,y=3", "total refusals=1",
  "prompt remove,id=2", "until objects=2 id=3", "prompt clear",
  "until objects=0 state=idle", "frames 2", "total appeared=3", NULL
};

static const gchar *seeks[] = {
  "state PLAYING", "until objects=1 id=1", "frames 2",
  "seek 1 flush", "until objects=1 id=2", "frames 2",
  "seek 0", "until objects=1 id=3 state=ok good=0.5", "frames 2",
  "seek 2 flush until=2.6", "until objects=1 id=4", "eos",
  "seek 0 flush segment until=0.8", "until objects=1 id=5", "done",
  "seek 0 flush", "until objects=1 id=6 state=ok good=0.5",
  "total refusals=0", NULL
};

static const gchar *caps[] = {
  "state PLAYING", "until objects=1 id=1 width=640",
  "caps " SIZE (320, 180), "until objects=1 id=1 width=320 state=ok good=0.4",
  "caps " SIZE (320, 240), "until objects=1 id=1 width=320 state=ok",
  "caps " SIZE (640, 360), "until objects=1 id=1 width=640 state=ok",
  "seek 0 flush", "caps " SIZE (480, 270), "until objects=1 width=480 id=2",
  "total appeared=2 refusals=0", NULL
};

static const gchar *states[] = {
  "state READY", "state PAUSED", "state PLAYING", "until objects=1 id=1",
  "state PAUSED", "prompt point,x=0.42,y=0.24,normalized=true",
  "state PLAYING", "until objects=2 id=2", "eos",
  "state READY", "state PLAYING", "until objects=1 id=1",
  "state NULL", "state PLAYING", "until objects=1 id=1 state=ok good=0.5",
  "total appeared=4 refusals=0", NULL
};

/* What a paused player shows after a seek is the frame of that place. */
static const gchar *scrub[] = {
  "state PAUSED", "until objects=1 id=1 state=ok good=0.5",
  "seek 1 flush", "frames 1", "until objects=1 id=2 state=ok",
  "seek 0.5 flush", "frames 1", "until objects=1 id=3 state=ok",
  "seek 0 flush", "frames 1", "until objects=1 id=4 state=ok good=0.5",
  "prompt point,x=0.42,y=0.24,normalized=true", "state PLAYING",
  "until objects=2 id=5 state=ok", NULL
};

static const gchar **scenarios[] = { prompts, seeks, caps, states };

GST_START_TEST (test_scenarios)
{
  run (__i__ % 2, scenarios[__i__ / 2]);
}

GST_END_TEST;

GST_START_TEST (test_scrubbing)
{
  run (FALSE, scrub);
}

GST_END_TEST;

static Suite *
scenario_suite (void)
{
  Suite *s = suite_create ("scenario");
  TCase *tc = sam_tcase_new (s, "steps");

  tcase_add_loop_test (tc, test_scenarios, 0, 2 * G_N_ELEMENTS (scenarios));
  tcase_add_test (tc, test_scrubbing);
  return s;
}

GST_CHECK_MAIN (scenario);
