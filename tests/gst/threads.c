/* SPDX-License-Identifier: MIT */
/* Eight threads that do to the same elements, at random, all that applications
 * may do from any thread. What it shows is what a sanitizer, the leaks tracer or
 * a critical message says of it. */

#include "samcheck.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 8
#define ROUNDS 150
#define PIPELINES 2
#define SEED 8114

typedef struct
{
  GstElement *pipeline, *track, *over;
} Line;

typedef struct
{
  Line *lines;
  GRand *rand;
  guint changes, accepted, opened;      /* what was not in vain */
} Worker;

static const gchar *prompts[] = {
  SQUARE_POINT, SQUARE_BOX, "box,x=1,y=1,w=9,h=9;point,x=5,y=5,positive=false",
  "point,x=-4,y=4", "undo,id=1", "remove,id=2", "clear", "nonsense", ""
};

static const gchar *
choose (GRand * rand, const gchar ** texts, guint n)
{
  return texts[g_rand_int_range (rand, 0, n)];
}

static void
change_state (Worker * w, Line * line)
{
  static const GstState states[] = { GST_STATE_NULL, GST_STATE_READY,
    GST_STATE_PAUSED, GST_STATE_PLAYING, GST_STATE_PLAYING, GST_STATE_PLAYING
  };

  w->changes += gst_element_set_state (line->pipeline,
      states[g_rand_int_range (w->rand, 0, G_N_ELEMENTS (states))]) !=
      GST_STATE_CHANGE_FAILURE;
}

static void
prompt (Worker * w, Line * line)
{
  const guint64 old = g_rand_int_range (w->rand, 0, 4);
  const gdouble x = g_rand_double (w->rand), y = g_rand_double (w->rand);
  GstSample *mask;
  gboolean ok = FALSE;
  guint64 id = 0;

  switch (g_rand_int_range (w->rand, 0, 7)) {
    case 0:
      g_signal_emit_by_name (line->track, "add-point", old, x, y, TRUE, TRUE,
          &id);
      break;
    case 1:
      g_signal_emit_by_name (line->track, "add-box", old, x / 2, y / 2, 0.4,
          0.4, TRUE, &id);
      break;
    case 2:
      mask = sam_sample_new ();
      g_signal_emit_by_name (line->track, "add-mask", old, mask, &id);
      gst_sample_unref (mask);
      break;
    case 3:
      g_signal_emit_by_name (line->track, "undo", old, &ok);
      break;
    case 4:
      g_signal_emit_by_name (line->track, "remove-object", old, &ok);
      break;
    case 5:
      g_signal_emit_by_name (line->track, "clear");
      break;
    default:
      g_signal_emit_by_name (line->track, "prompt", choose (w->rand, prompts,
              G_N_ELEMENTS (prompts)));
      break;
  }
  w->accepted += id > 0 || ok;
}

static void
send_event (Worker * w, Line * line)
{
  GstStructure *s = gst_structure_new ("samtrack-prompt", "prompt",
      G_TYPE_STRING, choose (w->rand, prompts, G_N_ELEMENTS (prompts)), NULL);
  const gboolean up = g_rand_boolean (w->rand);
  GstPad *pad = gst_element_get_static_pad (line->track, up ? "src" : "sink");

  w->accepted += gst_pad_send_event (pad, gst_event_new_custom (up ?
          GST_EVENT_CUSTOM_UPSTREAM : GST_EVENT_CUSTOM_DOWNSTREAM_OOB, s));
  gst_object_unref (pad);
}

static void
set_property (Worker * w, Line * line)
{
  static const gchar *track[][2] = { {"interval", "0"}, {"interval", "2"},
  {"mask-size", "frame"}, {"mask-size", "model"}, {"overload-policy", "skip"},
  {"overload-policy", "drop"}, {"overload-policy", "block"},
  {"initial-prompt", SQUARE_BOX}, {"initial-prompt", "point,x=3"},
  {"max-objects", "3"}, {"max-objects", "1"}, {"threads", "2"},
  {"threads", "1"}, {"lost-after", "5"}, {"fill-holes", "8"},
  {"remove-islands", "8"}, {"edges", "luma"},
  {"backend", "cpu"}, {"precision", "fp32"}, {"model-file", "/nowhere"},
  {"model-file", ""}
  };
  static const gchar *over[][2] = { {"opacity", "0.3"}, {"line-width", "3"},
  {"draw-boxes", "true"}, {"draw-masks", "false"}, {"draw-ids", "false"},
  {"dim-stale", "false"}
  };
  guint i;

  if (g_rand_int_range (w->rand, 0, 3)) {
    i = g_rand_int_range (w->rand, 0, G_N_ELEMENTS (track));
    gst_util_set_object_arg (G_OBJECT (line->track), track[i][0], track[i][1]);
  } else {
    i = g_rand_int_range (w->rand, 0, G_N_ELEMENTS (over));
    gst_util_set_object_arg (G_OBJECT (line->over), over[i][0], over[i][1]);
  }
}

static void
query_and_seek (Worker * w, Line * line)
{
  GstQuery *query = gst_query_new_latency ();

  gst_element_query (line->pipeline, query);
  gst_query_unref (query);
  if (g_rand_boolean (w->rand))
    gst_element_seek_simple (line->pipeline, GST_FORMAT_TIME,
        GST_SEEK_FLAG_FLUSH, g_rand_int_range (w->rand, 0, 5) * GST_SECOND);
}

/* The overlay pad comes and goes, with a sink of its own. */
static void
branch (Line * line)
{
  GstElement *sink;
  GstPad *pad = gst_element_request_pad_simple (line->track, "overlay");
  GstPad *peer;

  if (!pad)
    return;
  sink = gst_element_factory_make ("fakesink", NULL);
  g_object_set (sink, "async", FALSE, NULL);
  gst_object_ref_sink (sink);
  gst_element_set_state (sink, GST_STATE_PLAYING);
  peer = gst_element_get_static_pad (sink, "sink");
  gst_pad_link (pad, peer);
  g_thread_yield ();
  gst_element_release_request_pad (line->track, pad);
  gst_element_set_state (sink, GST_STATE_NULL);
  gst_object_unref (peer);
  gst_object_unref (pad);
  gst_object_unref (sink);
}

/* An element of this thread alone, of the model that all share. */
static void
open_and_close (Worker * w)
{
  GstHarness *h = sam_harness_new ("samtrack max-objects=1 initial-prompt="
      SQUARE_BOX, GST_VIDEO_FORMAT_RGB, 16, 12);
  GstBuffer *buf = sam_harness_run (h, 0);

  w->opened += sam_get_num_objects (sam_get_meta (buf));
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

static gpointer
work (gpointer data)
{
  Worker *w = data;
  guint i;

  for (i = 0; i < ROUNDS; i++) {
    Line *line = &w->lines[g_rand_int_range (w->rand, 0, PIPELINES)];

    switch (g_rand_int_range (w->rand, 0, 12)) {
      case 0:
        change_state (w, line);
        break;
      case 1:
        open_and_close (w);
        break;
      case 2:
        branch (line);
        break;
      case 3:
        query_and_seek (w, line);
        break;
      case 4:
        sam_read_properties (G_OBJECT (line->track));
        break;
      case 5:
      case 6:
        set_property (w, line);
        break;
      case 7:
        send_event (w, line);
        break;
      default:
        prompt (w, line);
        break;
    }
  }
  return NULL;
}

static GstBusSyncReply
drop_message (GstBus * bus, GstMessage * message, gpointer user)
{
  gst_message_unref (message);
  return GST_BUS_DROP;
}

static void
open_line (Line * line)
{
  GstBus *bus;

  line->pipeline = gst_parse_launch ("videotestsrc pattern=ball ! "
      "video/x-raw,format=I420,width=64,height=48,framerate=30/1 ! "
      "samtrack name=track max-objects=2 ! queue max-size-buffers=2 ! "
      "samoverlay name=over ! fakesink async=false", NULL);
  fail_unless (line->pipeline != NULL);
  line->track = gst_bin_get_by_name (GST_BIN (line->pipeline), "track");
  line->over = gst_bin_get_by_name (GST_BIN (line->pipeline), "over");
  bus = gst_element_get_bus (line->pipeline);
  gst_bus_set_sync_handler (bus, drop_message, NULL, NULL);
  gst_object_unref (bus);
  gst_element_set_state (line->pipeline, GST_STATE_PLAYING);
}

/* Whatever was done to it, it tracks once more, without the prompts that wait. */
static void
check_line (Line * line)
{
  fail_unless (gst_element_set_state (line->pipeline, GST_STATE_NULL) ==
      GST_STATE_CHANGE_SUCCESS);
  g_object_set (line->track, "model-file", NULL, "initial-prompt", SQUARE_BOX,
      "interval", 0, NULL);
  g_signal_emit_by_name (line->track, "clear");
  fail_unless (gst_element_set_state (line->pipeline, GST_STATE_PLAYING) !=
      GST_STATE_CHANGE_FAILURE);
  while (sam_get_stat (line->track, "inferred") < 3)
    g_thread_yield ();
  fail_unless_equals_uint64 (sam_get_stat (line->track, "objects"), 1);
  gst_element_set_state (line->pipeline, GST_STATE_NULL);
  gst_object_unref (line->track);
  gst_object_unref (line->over);
  gst_object_unref (line->pipeline);
}

GST_START_TEST (test_eight_threads_at_random)
{
  const gchar *text = g_getenv ("SAMTRACK_SEED");
  const guint32 seed = text ? strtoul (text, NULL, 10) : SEED;
  guint i, changes = 0, accepted = 0, opened = 0;
  GThread *thread[THREADS];
  Worker worker[THREADS];
  Line lines[PIPELINES];

  g_printerr ("seed %u\n", seed);
  for (i = 0; i < PIPELINES; i++)
    open_line (&lines[i]);
  memset (worker, 0, sizeof worker);
  for (i = 0; i < THREADS; i++) {
    worker[i].lines = lines;
    worker[i].rand = g_rand_new_with_seed (seed + i);
    thread[i] = g_thread_new ("worker", work, &worker[i]);
  }
  for (i = 0; i < THREADS; i++) {
    g_thread_join (thread[i]);
    g_rand_free (worker[i].rand);
    changes += worker[i].changes;
    accepted += worker[i].accepted;
    opened += worker[i].opened;
  }
  for (i = 0; i < PIPELINES; i++)
    check_line (&lines[i]);
  fail_unless (changes > 0 && accepted > 0 && opened > 0, "seed %u: %u changes "
      "of state, %u prompts taken, %u objects tracked", seed, changes, accepted,
      opened);
}

GST_END_TEST;

static gpointer
request_and_release (gpointer element)
{
  guint i, taken = 0;

  for (i = 0; i < 500; i++) {
    GstPad *pad = gst_element_request_pad_simple (element, "overlay");

    if (!pad)
      continue;
    taken++;
    gst_element_release_request_pad (element, pad);
    gst_object_unref (pad);
  }
  return GUINT_TO_POINTER (taken);
}

/* There is one overlay pad, whoever asks for it meanwhile. */
GST_START_TEST (test_requests_of_many_threads)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GThread *thread[THREADS];
  guint i, taken = 0;

  for (i = 0; i < THREADS; i++)
    thread[i] = g_thread_new ("request", request_and_release, element);
  for (i = 0; i < THREADS; i++)
    taken += GPOINTER_TO_UINT (g_thread_join (thread[i]));
  fail_unless (taken > 0);
  fail_unless_equals_int (element->numsrcpads, 1);
  gst_object_unref (element);
}

GST_END_TEST;

typedef struct
{
  GstElement *element;
  gint done;
} Requests;

static gpointer
request_until_done (gpointer data)
{
  Requests *r = data;

  while (!g_atomic_int_get (&r->done)) {
    GstPad *pad = gst_element_request_pad_simple (r->element, "overlay");

    g_thread_yield ();
    gst_element_release_request_pad (r->element, pad);
    gst_object_unref (pad);
  }
  return NULL;
}

/* The overlay pad is requested amid the first events of a stream: it gets them
 * in their order, or core warns. */
GST_START_TEST (test_requests_while_streams_begin)
{
  GstHarness *keeper = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 8, 8);
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstPad *sink = gst_element_get_static_pad (element, "sink");
  GstCaps *caps = gst_caps_from_string ("video/x-raw,format=RGB,width=8,"
      "height=8,framerate=30/1");
  Requests requests = { element, FALSE };
  GThread *thread = g_thread_new ("request", request_until_done, &requests);
  GstSegment segment;
  guint i;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  for (i = 0; i < 250; i++) {
    gst_element_set_state (element, GST_STATE_PAUSED);
    fail_unless (gst_pad_send_event (sink, gst_event_new_stream_start ("s")));
    fail_unless (gst_pad_send_event (sink, gst_event_new_caps (caps)));
    fail_unless (gst_pad_send_event (sink, gst_event_new_segment (&segment)));
    gst_pad_chain (sink, gst_buffer_new_allocate (NULL, 24 * 8, NULL));
    gst_element_set_state (element, GST_STATE_READY);
  }
  g_atomic_int_set (&requests.done, TRUE);
  g_thread_join (thread);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_caps_unref (caps);
  gst_object_unref (sink);
  gst_object_unref (element);
  gst_harness_teardown (keeper);
}

GST_END_TEST;

static Suite *
threads_suite (void)
{
  Suite *s = suite_create ("threads");
  TCase *tc = sam_tcase_new_tiny (s, "random");

  tcase_add_test (tc, test_eight_threads_at_random);
  tcase_add_test (tc, test_requests_of_many_threads);
  tcase_add_test (tc, test_requests_while_streams_begin);
  return s;
}

GST_CHECK_MAIN (threads);
