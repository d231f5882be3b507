/* SPDX-License-Identifier: MIT */
/* Several threads do at random all that applications may do, to a live pipeline,
 * which tracks in a thread of its own, and to one that waits for every step. In
 * each pipeline one thread changes states, caps and positions, two give
 * prompts, and one does the rest. Every frame is checked.
 *
 * TORTURE_SECONDS (20) is the time of both tests together, TORTURE_SEED the
 * seed of the first one; that of the second one is the time. A seed repeats
 * what each thread does, but not how they meet. */

#include "inspect.h"

#include "common/gstsamflush.h"
#include "overlay/gstsamoverlay.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 2611
#define ACTORS 4
#define SHOWN 12                /* last acts of a thread */

/* An act that takes longer never ends: save-tracks waits 30 s for a step. */
#define PATIENCE (60 * G_TIME_SPAN_SECOND)

typedef struct _Line Line;

typedef struct
{
  Line *line;
  const gchar *name;
  void (*act) (gpointer actor);
  GRand *rand;
  GThread *thread;

  GMutex lock;
  gchar *acts[SHOWN];           /* guarded by @lock, as the others below */
  guint64 num_acts;
  gint64 since;                 /* when the last one began; 0: it has ended */
} Actor;

struct _Line
{
  gboolean live;
  GstElement *pipeline, *source, *filter, *track, *over, *sink;
  gchar *mask, *tracks;         /* files */
  Actor actor[ACTORS];
  gint done, busy;              /* atomic: the others must end; how many act */
  GstState state;               /* of the controller */

  SamInspector inspector;

  GMutex lock;
  GHashTable *given;            /* guarded by @lock: ids of new objects */
  gint given_in;                /* guarded by @lock: of this run */
};

/* Told before an act begins. */
static void G_GNUC_PRINTF (2, 3)
note (Actor * a, const gchar * format, ...)
{
  va_list args;
  gchar **at;

  g_mutex_lock (&a->lock);
  at = &a->acts[a->num_acts++ % SHOWN];
  g_free (*at);
  va_start (args, format);
  *at = g_strdup_vprintf (format, args);
  va_end (args);
  a->since = g_get_monotonic_time ();
  g_mutex_unlock (&a->lock);
}

static void
print_acts (Line * line)
{
  guint i;
  guint64 k;

  g_printerr ("%s:\n", line->inspector.name);
  for (i = 0; i < ACTORS; i++) {
    Actor *a = &line->actor[i];

    g_mutex_lock (&a->lock);
    g_printerr ("  %s, %" G_GUINT64_FORMAT " acts, %s\n", a->name, a->num_acts,
        a->since ? "at work" : "between two");
    for (k = a->num_acts - MIN (a->num_acts, SHOWN); k < a->num_acts; k++)
      g_printerr ("    %s\n", a->acts[k % SHOWN]);
    g_mutex_unlock (&a->lock);
  }
}

static gint
draw (Actor * a, gint n)
{
  return g_rand_int_range (a->rand, 0, n);
}

#define CHOOSE(a, array) (array)[draw (a, G_N_ELEMENTS (array))]

/* ---- What is done: states, positions, caps */

static void
set_state (Actor * a, GstState state)
{
  Line *line = a->line;
  const gboolean other_run = state < GST_STATE_PAUSED;

  note (a, "state %s", gst_element_state_get_name (state));
  if (other_run)
    g_atomic_int_inc (&line->inspector.runs);
  if (gst_element_set_state (line->pipeline, state) ==
      GST_STATE_CHANGE_FAILURE)
    sam_complain (&line->inspector, "the pipeline does not go to %s",
        gst_element_state_get_name (state));
  if (other_run)
    g_atomic_int_inc (&line->inspector.runs);
  line->state = state;
}

/* Whatever was done: started anew, it runs. */
static void
start_anew (Actor * a)
{
  Line *line = a->line;
  gint first;

  set_state (a, GST_STATE_READY);
  first = g_atomic_int_get (&line->inspector.frames);
  set_state (a, GST_STATE_PLAYING);
  note (a, "wait for frames");
  while (g_atomic_int_get (&line->inspector.frames) < first + 3 &&
      sam_inspector_is_content (&line->inspector))
    g_usleep (1000);
}

/* An event that does not flush waits for the frame that the sink holds until it
 * plays, and keeps it from playing: no pipeline can have that. */
static gboolean
is_playing (Actor * a)
{
  GstState state, pending;

  note (a, "wait for the state");
  return gst_element_get_state (a->line->pipeline, &state, &pending,
      GST_SECOND / 2) != GST_STATE_CHANGE_ASYNC && state == GST_STATE_PLAYING;
}

static void
seek (Actor * a)
{
  static const gdouble rates[] = { 1, 1, 0.5, 2 };
  const gdouble rate = CHOOSE (a, rates);
  const GstClockTime from = draw (a, 50) * GST_SECOND / 10;
  const gboolean ends = !draw (a, 4);
  GstSeekFlags flags = draw (a, 3) ? 0 : GST_SEEK_FLAG_SEGMENT;

  if (draw (a, 2) || !is_playing (a))
    flags |= GST_SEEK_FLAG_FLUSH;
  note (a, "seek to %" GST_TIME_FORMAT " at %g, flags %x%s",
      GST_TIME_ARGS (from), rate, flags, ends ? ", for half a second" : "");
  gst_element_seek (a->line->pipeline, rate, GST_FORMAT_TIME, flags,
      GST_SEEK_TYPE_SET, from, GST_SEEK_TYPE_SET,
      ends ? from + GST_SECOND / 2 : GST_CLOCK_TIME_NONE);
}

static void
change_caps (Actor * a)
{
  static const gchar *sizes[] = { "width=64,height=48", "width=128,height=96",
    "width=96,height=48", "width=17,height=13",
    "width=64,height=48,pixel-aspect-ratio=4/3"
  };
  static const gchar *formats[] = { "I420", "NV12", "RGB", "BGRA", "GRAY8" };
  gchar *text = g_strdup_printf ("video/x-raw,format=%s,%s,framerate=30/1",
      CHOOSE (a, formats), CHOOSE (a, sizes));
  GstCaps *caps = gst_caps_from_string (text);

  note (a, "caps %s", text);
  g_object_set (a->line->filter, "caps", caps, NULL);
  gst_caps_unref (caps);
  g_free (text);
}

/* Where nothing comes any more, as after EOS, it is started anew. */
static void
play (Actor * a)
{
  const gint frames = g_atomic_int_get (&a->line->inspector.frames);

  note (a, "play");
  if (a->line->state != GST_STATE_PLAYING)
    set_state (a, GST_STATE_PLAYING);
  g_usleep (draw (a, 400000));
  if (frames == g_atomic_int_get (&a->line->inspector.frames) && draw (a, 2))
    start_anew (a);
}

static void
control (gpointer actor)
{
  static const GstState states[] = { GST_STATE_NULL, GST_STATE_READY,
    GST_STATE_PAUSED, GST_STATE_PLAYING, GST_STATE_PLAYING
  };
  Actor *a = actor;

  switch (draw (a, 12)) {
    case 0:
      set_state (a, CHOOSE (a, states));
      break;
    case 1:
      start_anew (a);
      break;
    case 2:
    case 3:
      seek (a);
      break;
    case 4:
      change_caps (a);
      break;
    case 5:
      if (draw (a, 3) || !is_playing (a))
        break;
      note (a, "EOS");
      gst_element_send_event (a->line->pipeline, gst_event_new_eos ());
      break;
    case 6:
      note (a, "recalculate latency");
      gst_bin_recalculate_latency (GST_BIN (a->line->pipeline));
      break;
    default:
      play (a);
      break;
  }
}

/* ---- Prompts */

/* The ids of new objects differ, unless the element was started meanwhile. */
static void
check_new_id (Line * line, guint64 id, gint runs)
{
  g_mutex_lock (&line->lock);
  if (runs % 2 || runs != g_atomic_int_get (&line->inspector.runs)) {
    g_mutex_unlock (&line->lock);
    return;
  }
  if (runs != line->given_in)
    g_hash_table_remove_all (line->given);
  line->given_in = runs;
  if (sam_ids_add (line->given, id))
    id = 0;
  g_mutex_unlock (&line->lock);
  if (id)
    sam_complain (&line->inspector, "id %" G_GUINT64_FORMAT
        " was given twice", id);
}

static void
emit_prompt (Actor * a)
{
  GstElement *track = a->line->track;
  const guint64 old = draw (a, 3) ? draw (a, 30) : 0;
  const gdouble x = g_rand_double (a->rand), y = g_rand_double (a->rand);
  const gint runs = g_atomic_int_get (&a->line->inspector.runs);
  const gint kind = draw (a, 3);
  GstSample *mask;
  guint64 id = 0;

  note (a, "emit prompt %d of object %" G_GUINT64_FORMAT " at %g, %g", kind,
      old, x, y);
  if (kind == 0) {
    g_signal_emit_by_name (track, "add-point", old, x, y, draw (a, 3) > 0, TRUE,
        &id);
  } else if (kind == 1) {
    g_signal_emit_by_name (track, "add-box", old, x * 40, y * 30, 8.0, 6.0,
        FALSE, &id);
  } else {
    mask = sam_sample_new ();
    g_signal_emit_by_name (track, "add-mask", old, mask, &id);
    gst_sample_unref (mask);
  }
  if (id && !old)
    check_new_id (a->line, id, runs);
}

static void
send_prompt (Actor * a)
{
  static const gchar *texts[] = { SQUARE_POINT, SQUARE_BOX,
    "box,x=1,y=1,w=9,h=9;point,x=5,y=5,positive=false", "point,x=-4,y=4",
    "undo,id=1", "remove,id=2", "clear", "nonsense", "", NULL
  };
  static const GstEventType types[] = { GST_EVENT_CUSTOM_UPSTREAM,
    GST_EVENT_CUSTOM_BOTH_OOB, GST_EVENT_CUSTOM_DOWNSTREAM_OOB,
    GST_EVENT_CUSTOM_DOWNSTREAM
  };
  const GstEventType type = CHOOSE (a, types);
  GstPad *pad = gst_element_get_static_pad (a->line->track,
      type == GST_EVENT_CUSTOM_UPSTREAM ? "src" : "sink");
  const gchar *chosen = CHOOSE (a, texts);
  gchar *text = chosen ? g_strdup (chosen) :
      g_strdup_printf ("mask,location=\"%s\"", a->line->mask);

  note (a, "event %s '%s'", gst_event_type_get_name (type), text);
  if (draw (a, 2))
    g_signal_emit_by_name (a->line->track, "prompt", text);
  else
    gst_pad_send_event (pad, gst_event_new_custom (type,
            gst_structure_new ("samtrack-prompt", "prompt", G_TYPE_STRING, text,
                NULL)));
  g_free (text);
  gst_object_unref (pad);
}

static void
navigate (Actor * a)
{
  static const gchar *keys[] = { "n", "u", "c", "Delete", "Shift_L", "x" };
  static const gchar *events[] = { "mouse-button-press", "mouse-move",
    "mouse-button-release", "key-press", "key-release"
  };
  const gint event = draw (a, G_N_ELEMENTS (events));
  GstPad *pad = gst_element_get_static_pad (a->line->track, "src");
  GstStructure *s = gst_structure_new ("application/x-gst-navigation",
      "event", G_TYPE_STRING, events[event],
      "button", G_TYPE_INT, event == 1 ? 0 : draw (a, 4) + 1,
      "pointer_x", G_TYPE_DOUBLE, 70 * g_rand_double (a->rand),
      "pointer_y", G_TYPE_DOUBLE, 50 * g_rand_double (a->rand),
      "key", G_TYPE_STRING, CHOOSE (a, keys), NULL);

  note (a, "navigation %s", events[event]);
  gst_pad_send_event (pad, gst_event_new_navigation (s));
  gst_object_unref (pad);
}

static void
prompt (gpointer actor)
{
  Actor *a = actor;
  GstElement *track = a->line->track;
  guint64 id = draw (a, 30);
  gboolean ok;

  switch (draw (a, 10)) {
    case 0:
      send_prompt (a);
      break;
    case 1:
    case 2:
      navigate (a);
      break;
    case 5:
      note (a, "undo %" G_GUINT64_FORMAT, id);
      g_signal_emit_by_name (track, "undo", id, &ok);
      break;
    case 6:
      note (a, "remove %" G_GUINT64_FORMAT, id);
      g_signal_emit_by_name (track, "remove-object", id, &ok);
      break;
    case 7:
      note (a, "clear");
      if (!draw (a, 4))
        g_signal_emit_by_name (track, "clear");
      break;
    case 8:
      g_signal_emit_by_name (track, "preview", SQUARE_POINT, &id);
      break;
    default:
      emit_prompt (a);
  }
  g_usleep (draw (a, 8000));
}

/* ---- The rest */

static void
set_property (Actor * a)
{
  static const gchar *track[][2] = { {"interval", "0"}, {"interval", "2"},
  {"mask-size", "frame"}, {"mask-size", "model"}, {"overload-policy", "auto"},
  {"overload-policy", "skip"}, {"overload-policy", "drop"},
  {"overload-policy", "block"}, {"initial-prompt", SQUARE_BOX},
  {"initial-prompt", "point,x=3"}, {"initial-prompt", ""},
  {"max-objects", "3"}, {"max-objects", "8"}, {"threads", "2"},
  {"lost-after", "5"}, {"fill-holes", "8"}, {"remove-islands", "8"}, {"max-wait", "0"},
  {"max-wait", "18446744073709551615"}, {"max-wait", "200000000"},
  {"navigation", "points"}, {"navigation", "points-boxes"},
  {"navigation", "none"}, {"qos", "true"}, {"qos", "false"}
  };
  static const gchar *over[][2] = { {"opacity", "0.3"}, {"line-width", "3"},
  {"draw-boxes", "true"}, {"draw-masks", "false"}, {"draw-ids", "false"},
  {"dim-stale", "false"}, {"draw-points", "false"}, {"draw-points", "true"}
  };
  const gboolean of_track = draw (a, 4) > 0;
  const gchar **chosen = of_track ? CHOOSE (a, track) : CHOOSE (a, over);

  note (a, "set %s to %s", chosen[0], chosen[1]);
  gst_util_set_object_arg (G_OBJECT (of_track ? a->line->track :
          a->line->over), chosen[0], chosen[1]);
}

/* The overlay pad comes and goes, with a sink of its own. */
static void
branch (Actor * a)
{
  GstElement *track = a->line->track, *sink;
  GstPad *pad, *peer;

  note (a, "request the overlay pad");
  pad = gst_element_request_pad_simple (track, "overlay");
  if (!pad)
    return;
  sink = sam_sink_new ();
  g_object_set (sink, "async", FALSE, "sync", FALSE, NULL);
  gst_object_ref_sink (sink);
  gst_element_set_state (sink, GST_STATE_PLAYING);
  peer = gst_element_get_static_pad (sink, "sink");
  if (draw (a, 4))
    gst_pad_link (pad, peer);
  g_usleep (draw (a, 80000));
  note (a, "release the overlay pad");
  gst_element_release_request_pad (track, pad);
  gst_element_set_state (sink, GST_STATE_NULL);
  gst_object_unref (peer);
  gst_object_unref (pad);
  gst_object_unref (sink);
}

static void
send_upstream (Actor * a)
{
  GstPad *pad = gst_element_get_static_pad (a->line->track, "src");
  const GstQOSType type = draw (a, 3) ? GST_QOS_TYPE_UNDERFLOW :
      GST_QOS_TYPE_THROTTLE;
  const GstClockTimeDiff jitter = draw (a, 3) * GST_SECOND / 20;

  note (a, "QoS %d, jitter %" GST_STIME_FORMAT, type, GST_STIME_ARGS (jitter));
  gst_pad_send_event (pad, gst_event_new_qos (type, 1, jitter,
          draw (a, 50) * GST_SECOND / 10));
  note (a, "latency");
  gst_pad_send_event (pad, gst_event_new_latency (draw (a, 5) * GST_MSECOND));
  gst_object_unref (pad);
}

static void
save_or_load (Actor * a)
{
  const gboolean load = draw (a, 2);
  gboolean ok;

  note (a, load ? "load" : "save");
  if (load)
    g_atomic_int_inc (&a->line->inspector.loads);
  g_signal_emit_by_name (a->line->track, load ? "load-tracks" : "save-tracks",
      a->line->tracks, &ok);
  if (load)
    g_atomic_int_inc (&a->line->inspector.loads);
}

static void
disturb (gpointer actor)
{
  static const guint delays[] = { 0, 0, 0, 2000, 20000, 100000 };
  Actor *a = actor;
  GstQuery *query;
  guint us;

  switch (draw (a, 8)) {
    case 0:
    case 1:
      set_property (a);
      break;
    case 3:
      note (a, "read all properties");
      sam_read_properties (G_OBJECT (a->line->track));
      break;
    case 4:
      branch (a);
      break;
    case 5:
      send_upstream (a);
      break;
    case 6:
      save_or_load (a);
      break;
    case 7:
      us = CHOOSE (a, delays);
      note (a, "steps take %u us more", us);
      sam_step_set (SAM_OK, us);
      break;
    default:
      note (a, "query latency");
      query = gst_query_new_latency ();
      gst_element_query (a->line->pipeline, query);
      gst_query_unref (query);
      break;
  }
  g_usleep (draw (a, 20000));
}

/* ---- The test */

/* The controller goes on until the others have ended: they may wait for it. */
static gpointer
work (gpointer data)
{
  Actor *a = data;
  Line *line = a->line;
  const gboolean last = a->act == control;

  while (!g_atomic_int_get (&line->done) ||
      (last && g_atomic_int_get (&line->busy) > 1)) {
    a->act (a);
    g_mutex_lock (&a->lock);
    a->since = 0;
    g_mutex_unlock (&a->lock);
  }
  g_atomic_int_add (&line->busy, -1);
  return NULL;
}

static void
add_elements (Line * line)
{
  GstBin *bin;

  line->pipeline = gst_pipeline_new (NULL);
  bin = GST_BIN (line->pipeline);
  line->source = sam_source_new (line->live);
  line->filter = gst_element_factory_make ("capsfilter", NULL);
  line->track = g_object_new (GST_TYPE_SAM_TRACK, "max-objects", 6, NULL);
  line->over = g_object_new (GST_TYPE_SAM_OVERLAY, NULL);
  line->sink = sam_sink_new ();
  gst_sam_flush_install (GST_BASE_TRANSFORM (line->filter));
  /* frames of the last caps are still on their way to it */
  gst_util_set_object_arg (G_OBJECT (line->filter), "caps-change-mode",
      "delayed");
  gst_util_set_object_arg (G_OBJECT (line->filter), "caps",
      "video/x-raw,format=I420,width=64,height=48,framerate=30/1");
  gst_util_set_object_arg (G_OBJECT (line->track), "navigation",
      "points-boxes");
  g_object_set (line->sink, "sync", TRUE, "qos", TRUE, NULL);
  gst_bin_add_many (bin, line->source, line->filter, line->track, line->over,
      line->sink, NULL);
  fail_unless (gst_element_link_many (line->source, line->filter, line->track,
          line->over, line->sink, NULL));
}

static void
open_line (Line * line, const gchar * folder, guint32 seed, gboolean live)
{
  static const struct
  {
    const gchar *name;
    void (*act) (gpointer actor);
  } acts[ACTORS] = { {"control", control}, {"prompt 1", prompt},
  {"prompt 2", prompt}, {"disturb", disturb}
  };
  gchar *name = g_strdup_printf ("%s, seed %u", live ? "live" : "block", seed);
  GstPad *pad;
  guint i;

  memset (line, 0, sizeof *line);
  line->live = live;
  line->mask = g_build_filename (folder, "mask.png", NULL);
  line->tracks = g_build_filename (folder, live ? "live" : "block", NULL);
  line->given = sam_ids_new ();
  add_elements (line);
  pad = gst_element_get_static_pad (line->over, "src");
  sam_inspector_init (&line->inspector, line->pipeline, pad, name);
  gst_object_unref (pad);
  g_free (name);
  line->busy = ACTORS;
  for (i = 0; i < ACTORS; i++) {
    Actor *a = &line->actor[i];

    a->line = line;
    a->act = acts[i].act;
    a->name = acts[i].name;
    a->rand = g_rand_new_with_seed (seed + 16 * live + i);
    a->thread = g_thread_new (a->name, work, a);
  }
}

/* Until the time is over or something is wrong; aborts where an act hangs. */
static void
watch (Line lines[2], gint64 end)
{
  gboolean wrong = FALSE;
  guint i, k;

  while (g_atomic_int_get (&lines[0].busy) ||
      g_atomic_int_get (&lines[1].busy)) {
    const gint64 now = g_get_monotonic_time ();

    g_usleep (20000);
    for (i = 0; i < 2; i++) {
      wrong |= !sam_inspector_is_content (&lines[i].inspector);
      if (now >= end || wrong)
        g_atomic_int_set (&lines[i].done, TRUE);
      for (k = 0; k < ACTORS; k++) {
        Actor *a = &lines[i].actor[k];
        gboolean hangs;

        g_mutex_lock (&a->lock);
        hangs = a->since && now - a->since > PATIENCE;
        g_mutex_unlock (&a->lock);
        if (!hangs)
          continue;
        print_acts (&lines[0]);
        print_acts (&lines[1]);
        abort ();
      }
    }
  }
}

static void
close_line (Line * line)
{
  guint i, k;

  for (i = 0; i < ACTORS; i++)
    g_thread_join (line->actor[i].thread);
  fail_unless (gst_element_set_state (line->pipeline, GST_STATE_NULL) ==
      GST_STATE_CHANGE_SUCCESS);
  g_printerr ("%s: %d frames, acts", line->inspector.name,
      line->inspector.frames);
  for (i = 0; i < ACTORS; i++)
    g_printerr (" %" G_GUINT64_FORMAT, line->actor[i].num_acts);
  g_printerr ("\n");
  if (line->inspector.complaint) {
    print_acts (line);
    sam_inspector_print (&line->inspector);
  }
  fail_unless (!line->inspector.complaint, "%s", line->inspector.complaint);
  fail_unless (line->inspector.frames > 0);
  gst_object_unref (line->pipeline);
  for (i = 0; i < ACTORS; i++) {
    for (k = 0; k < SHOWN; k++)
      g_free (line->actor[i].acts[k]);
    g_rand_free (line->actor[i].rand);
  }
  g_hash_table_unref (line->given);
  sam_inspector_clear (&line->inspector);
  g_unlink (line->tracks);
  g_free (line->tracks);
  g_free (line->mask);
}

static gint64
get_seconds (void)
{
  const gchar *text = g_getenv ("TORTURE_SECONDS");

  return text ? atoi (text) : 20;
}

GST_START_TEST (test_all_at_once)
{
  const gchar *text = g_getenv ("TORTURE_SEED");
  const guint32 seed = __i__ ? (guint32) g_get_real_time () : text ?
      strtoul (text, NULL, 10) : SEED;
  gchar *folder = g_dir_make_tmp ("samtrack-torture-XXXXXX", NULL);
  gchar *mask = g_build_filename (folder, "mask.png", NULL);
  Line lines[2];

  g_printerr ("seed %u\n", seed);
  gst_sam_meta_register ();
  sam_write_png (mask);
  open_line (&lines[0], folder, seed, TRUE);
  open_line (&lines[1], folder, seed, FALSE);
  watch (lines, g_get_monotonic_time () + get_seconds () *
      (G_TIME_SPAN_SECOND / 2));
  close_line (&lines[0]);
  close_line (&lines[1]);
  g_unlink (mask);
  g_rmdir (folder);
  g_free (mask);
  g_free (folder);
}

GST_END_TEST;

static Suite *
torture_suite (void)
{
  Suite *s = suite_create ("torture");
  TCase *tc = sam_tcase_new_tiny (s, "torture");

  tcase_set_timeout (tc, 240 + get_seconds ());
  tcase_add_checked_fixture (tc, sam_step_reset, NULL);
  tcase_add_loop_test (tc, test_all_at_once, 0, 2);
  return s;
}

GST_CHECK_MAIN (torture);
