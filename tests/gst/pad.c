/* SPDX-License-Identifier: MIT */
/* The request pad "overlay": its events, formats and flow. */

#include "samcheck.h"

#include <string.h>

#define TRACK "samtrack initial-prompt=" SQUARE_BOX

/* A harness on the overlay pad of @h's element. */
static GstHarness *
add_overlay (GstHarness * h, const gchar * caps)
{
  GstHarness *o = gst_harness_new_with_element (h->element, NULL, NULL);
  GstPad *pad;

  if (caps)
    gst_harness_set_sink_caps_str (o, caps);
  pad = gst_element_request_pad_simple (h->element, "overlay");
  gst_harness_add_element_src_pad (o, pad);
  gst_object_unref (pad);
  return o;
}

static void
remove_overlay (GstHarness * h, GstHarness * o)
{
  GstPad *pad = gst_pad_get_peer (o->sinkpad);

  gst_element_release_request_pad (h->element, pad);
  gst_object_unref (pad);
  gst_harness_teardown (o);
}

static GstCaps *
pull_caps (GstHarness * h)
{
  GstCaps *caps = NULL;
  GstEvent *event;

  while ((event = gst_harness_try_pull_event (h))) {
    if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
      gst_clear_caps (&caps);
      gst_event_parse_caps (event, &caps);
      gst_caps_ref (caps);
    }
    gst_event_unref (event);
  }
  return caps;
}

static void
check_caps (GstHarness * o, const gchar * format, gint width, gint height)
{
  GstCaps *caps = pull_caps (o);
  GstStructure *s;

  fail_unless (caps != NULL);
  s = gst_caps_get_structure (caps, 0);
  fail_unless_equals_string (gst_structure_get_string (s, "format"), format);
  fail_unless_equals_int (sam_get_int (s, "width"), width);
  fail_unless_equals_int (sam_get_int (s, "height"), height);
  gst_caps_unref (caps);
}

GST_START_TEST (test_label_maps_agree_with_the_meta)
{
  GstHarness *h = sam_harness_new (TRACK " mask-size=frame",
      GST_VIDEO_FORMAT_NV12, 322, 240);
  GstHarness *o = add_overlay (h, NULL);
  guint n;

  for (n = 0; n < 3; n++) {
    GstBuffer *buf = sam_harness_run (h, n), *layer = gst_harness_pull (o);
    const GstStructure *meta = sam_get_meta (buf);
    GstMapInfo mask, map;
    GstBuffer *mask_buf = gst_value_get_buffer (gst_structure_get_value (meta,
            "mask"));
    gint y;

    fail_unless_equals_uint64 (GST_BUFFER_PTS (layer), n * GST_SECOND / 30);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (layer), GST_SECOND / 30);
    gst_buffer_map (mask_buf, &mask, GST_MAP_READ);
    gst_buffer_map (layer, &map, GST_MAP_READ);
    fail_unless_equals_int (map.size, 324 * 240);
    for (y = 0; y < 240; y++)
      fail_unless_equals_int (memcmp (mask.data + y * 322, map.data + y * 324,
              322), 0);
    fail_unless (sam_mask_iou (map.data, 322, 240, 324, 1) > (n ? GOOD_IOU : SAME_IOU));
    gst_buffer_unmap (layer, &map);
    gst_buffer_unmap (mask_buf, &mask);
    gst_buffer_unref (layer);
    gst_buffer_unref (buf);
  }
  check_caps (o, "GRAY8", 322, 240);
  remove_overlay (h, o);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The mask of the meta is coarse here; the pad's map is as large as the frame.
 */
GST_START_TEST (test_label_maps_have_the_size_of_the_frame)
{
  GstHarness *h = sam_harness_new (TRACK, GST_VIDEO_FORMAT_RGB, 320, 240);
  GstHarness *o = add_overlay (h, NULL);
  GstBuffer *buf = sam_harness_run (h, 0), *layer = gst_harness_pull (o);
  GstMapInfo map;

  gst_buffer_map (layer, &map, GST_MAP_READ);
  fail_unless_equals_int (map.size, 320 * 240);
  fail_unless (sam_mask_iou (map.data, 320, 240, 320, 1) > SAME_IOU);
  gst_buffer_unmap (layer, &map);
  gst_buffer_unref (layer);
  gst_buffer_unref (buf);
  remove_overlay (h, o);
  gst_harness_teardown (h);
}

GST_END_TEST;

static void
check_layer (const gchar * format, gboolean bgra)
{
  GstHarness *h = sam_harness_new (TRACK " mask-size=frame",
      GST_VIDEO_FORMAT_RGB, 64, 48);
  gchar *caps = g_strdup_printf ("video/x-raw,format=%s", format);
  GstHarness *o = add_overlay (h, caps);
  GstBuffer *buf = sam_harness_run (h, 0), *layer = gst_harness_pull (o);
  GstBuffer *mask_buf = gst_value_get_buffer (gst_structure_get_value
      (sam_get_meta (buf), "mask"));
  GstMapInfo mask, map;
  guint i, set = 0;

  gst_buffer_map (mask_buf, &mask, GST_MAP_READ);
  gst_buffer_map (layer, &map, GST_MAP_READ);
  fail_unless_equals_int (map.size, 4 * mask.size);
  for (i = 0; i < mask.size; i++) {
    const guint8 *p = map.data + 4 * i;

    if (!mask.data[i]) {
      fail_unless_equals_int (p[3], 0);
      continue;
    }
    set++;
    fail_unless (p[3] > 0 && p[3] < 255);
    /* the first slot is red */
    fail_unless (p[bgra ? 2 : 0] > 200 && p[bgra ? 0 : 2] < 100);
  }
  fail_unless (set > 100);
  gst_buffer_unmap (layer, &map);
  gst_buffer_unmap (mask_buf, &mask);
  gst_buffer_unref (layer);
  gst_buffer_unref (buf);
  check_caps (o, format, 64, 48);
  g_free (caps);
  remove_overlay (h, o);
  gst_harness_teardown (h);
}

GST_START_TEST (test_coloured_layers)
{
  check_layer ("RGBA", FALSE);
  check_layer ("BGRA", TRUE);
}

GST_END_TEST;

GST_START_TEST (test_events_reach_it_in_order)
{
  GstHarness *h = sam_harness_new (TRACK, GST_VIDEO_FORMAT_RGB, 64, 48);
  GstHarness *o;
  const gchar *id, *main_id;
  GstEvent *event, *main_event;

  gst_buffer_unref (sam_harness_run (h, 0));
  o = add_overlay (h, NULL);    /* while it is streaming */
  gst_buffer_unref (sam_harness_run (h, 1));
  gst_buffer_unref (gst_harness_pull (o));
  event = gst_harness_pull_event (o);
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_STREAM_START);
  main_event = gst_harness_pull_event (h);
  gst_event_parse_stream_start (event, &id);
  gst_event_parse_stream_start (main_event, &main_id);
  fail_unless (g_str_has_prefix (id, main_id) && strcmp (id, main_id));
  gst_event_unref (main_event);
  gst_event_unref (event);
  event = gst_harness_pull_event (o);
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_CAPS);
  gst_event_unref (event);
  event = gst_harness_pull_event (o);
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_SEGMENT);
  gst_event_unref (event);

  gst_harness_push_event (h, gst_event_new_eos ());
  event = gst_harness_pull_event (o);
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_EOS);
  gst_event_unref (event);
  remove_overlay (h, o);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_it_follows_new_caps)
{
  GstHarness *h = sam_harness_new (TRACK, GST_VIDEO_FORMAT_RGB, 64, 48);
  GstHarness *o = add_overlay (h, "video/x-raw,format=RGBA");

  gst_buffer_unref (sam_harness_run (h, 0));
  check_caps (o, "RGBA", 64, 48);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=I420,width=66,height=50,framerate=30/1");
  gst_buffer_unref (sam_harness_run (h, 1));
  check_caps (o, "RGBA", 66, 50);
  gst_buffer_unref (gst_harness_pull (o));
  {
    GstBuffer *layer = gst_harness_pull (o);

    fail_unless_equals_int (gst_buffer_get_size (layer), 66 * 50 * 4);
    gst_buffer_unref (layer);
  }
  remove_overlay (h, o);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_stale_frames_show_the_last_map_again)
{
  GstHarness *h = sam_harness_new (TRACK " interval=1", GST_VIDEO_FORMAT_RGB,
      64, 48);
  GstHarness *o = add_overlay (h, NULL);
  GstBuffer *fresh, *stale;
  GstMapInfo a, b;

  gst_buffer_unref (sam_harness_run (h, 0));
  gst_buffer_unref (sam_harness_run (h, 1));
  fresh = gst_harness_pull (o);
  stale = gst_harness_pull (o);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (stale), GST_SECOND / 30);
  gst_buffer_map (fresh, &a, GST_MAP_READ);
  gst_buffer_map (stale, &b, GST_MAP_READ);
  fail_unless_equals_int (memcmp (a.data, b.data, a.size), 0);
  gst_buffer_unmap (fresh, &a);
  gst_buffer_unmap (stale, &b);
  gst_buffer_unref (fresh);
  gst_buffer_unref (stale);
  remove_overlay (h, o);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_without_objects_it_is_black)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstHarness *o = add_overlay (h, NULL);
  GstBuffer *layer;
  GstMapInfo map;
  guint i;

  gst_buffer_unref (sam_harness_run (h, 0));
  layer = gst_harness_pull (o);
  gst_buffer_map (layer, &map, GST_MAP_READ);
  for (i = 0; i < map.size; i++)
    fail_unless_equals_int (map.data[i], 0);
  gst_buffer_unmap (layer, &map);
  gst_buffer_unref (layer);
  remove_overlay (h, o);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* One warning whose details say why. */
static void
check_taken (GstBus * bus)
{
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
  const GstStructure *details = NULL;

  fail_unless (message != NULL);
  gst_message_parse_warning_details (message, &details);
  fail_unless (details && gst_structure_has_name (details, "samtrack-refusal"));
  fail_unless_equals_string (gst_structure_get_string (details, "reason"),
      "taken");
  fail_unless_equals_string (gst_structure_get_string (details, "pad"),
      "overlay");
  gst_message_unref (message);
}

/* In whatever way it is requested again: a CRITICAL would fail the test. */
GST_START_TEST (test_there_is_one_of_it)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstElement *sink = gst_element_factory_make ("fakesink", NULL);
  GstPad *pad = gst_element_request_pad_simple (element, "overlay");
  GstBus *bus = gst_bus_new ();

  gst_element_set_bus (element, bus);
  fail_unless (pad != NULL);
  fail_unless (gst_element_request_pad_simple (element, "overlay") == NULL);
  check_taken (bus);
  fail_unless (gst_element_request_pad (element, GST_PAD_PAD_TEMPLATE (pad),
          NULL, NULL) == NULL);
  check_taken (bus);
  fail_if (gst_element_link_pads (element, "overlay", sink, "sink"));
  check_taken (bus);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_object_unref (sink);
  gst_element_release_request_pad (element, pad);
  gst_object_unref (pad);
  pad = gst_element_request_pad_simple (element, "overlay");
  fail_unless (pad != NULL);
  gst_element_release_request_pad (element, pad);
  gst_object_unref (pad);
  gst_object_unref (element);
}

GST_END_TEST;

/* Run a pipeline to its end. */
static void
check_pipeline (const gchar * launch, GstMessageType want)
{
  GstElement *pipeline = gst_parse_launch (launch, NULL);
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 30 * GST_SECOND,
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  fail_unless (message != NULL, "%s does not end", launch);
  fail_unless (GST_MESSAGE_TYPE (message) == want, "%s gave %s", launch,
      GST_MESSAGE_TYPE_NAME (message));
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
}

#define SOURCE "videotestsrc num-buffers=5 ! video/x-raw,width=64,height=48 ! "

GST_START_TEST (test_either_pad_may_stand_alone)
{
  check_pipeline (SOURCE TRACK " name=t t.src ! queue ! fakesink "
      "t.overlay ! queue ! fakesink", GST_MESSAGE_EOS);
  check_pipeline (SOURCE TRACK " name=t t.overlay ! queue ! fakesink",
      GST_MESSAGE_EOS);
  check_pipeline (SOURCE TRACK " name=t t.src ! queue ! fakesink",
      GST_MESSAGE_EOS);
}

GST_END_TEST;

GST_START_TEST (test_one_branch_may_end_early)
{
  check_pipeline (SOURCE TRACK " name=t t.src ! queue ! fakesink "
      "t.overlay ! queue ! identity eos-after=2 ! fakesink", GST_MESSAGE_EOS);
  check_pipeline (SOURCE TRACK " name=t t.src ! queue ! identity eos-after=2 ! "
      "fakesink t.overlay ! queue ! fakesink", GST_MESSAGE_EOS);
}

GST_END_TEST;

GST_START_TEST (test_nothing_linked_is_an_error)
{
  check_pipeline (SOURCE TRACK, GST_MESSAGE_ERROR);
}

GST_END_TEST;

GST_START_TEST (test_prompts_and_latency_through_it)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstHarness *o = add_overlay (h, NULL);
  GstBuffer *buf;

  fail_unless (gst_harness_push_upstream_event (o,
          gst_event_new_custom (GST_EVENT_CUSTOM_UPSTREAM,
              gst_structure_new ("samtrack-prompt", "prompt", G_TYPE_STRING,
                  SQUARE_BOX, NULL))));
  buf = sam_harness_run (h, 0);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
  gst_buffer_unref (buf);
  gst_harness_set_upstream_latency (h, 10 * GST_MSECOND);
  fail_unless_equals_uint64 (gst_harness_query_latency (o),
      gst_harness_query_latency (h));
  remove_overlay (h, o);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_it_flushes)
{
  GstHarness *h = sam_harness_new (TRACK, GST_VIDEO_FORMAT_RGB, 64, 48);
  GstHarness *o = add_overlay (h, NULL);
  GstSegment segment;

  gst_buffer_unref (sam_harness_run (h, 0));
  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  gst_buffer_unref (sam_harness_run (h, 1));
  fail_unless (gst_harness_buffers_in_queue (o) >= 1);
  remove_overlay (h, o);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Requests and releases from another thread while frames run through. */
GST_START_TEST (test_requests_while_streaming)
{
  GstHarness *h = sam_harness_new ("samtrack interval=1000 initial-prompt="
      SQUARE_BOX, GST_VIDEO_FORMAT_RGB, 64, 48);
  GstPadTemplate *templ =
      gst_element_class_get_pad_template (GST_ELEMENT_GET_CLASS (h->element),
      "overlay");
  GstHarnessThread *requests;
  guint n = 0, cycles;
  gint64 end = g_get_monotonic_time () + G_USEC_PER_SEC;

  requests = gst_harness_stress_requestpad_start (h, templ, "overlay", NULL,
      TRUE);
  while (g_get_monotonic_time () < end)
    gst_buffer_unref (sam_harness_run (h, n++));
  cycles = gst_harness_stress_thread_stop (requests);
  fail_unless (n > 10 && cycles > 3, "%u frames, %u requests", n, cycles);
  gst_harness_teardown (h);
}

GST_END_TEST;

typedef struct
{
  GstElement *element;
  gint stop, requests, frames, wrong;   /* atomic */
} Requests;

/* The test's segments have the base that is the timestamp of their frame. */
static GstFlowReturn
compare_with_segment (GstPad * pad, GstObject * parent, GstBuffer * buf)
{
  Requests *r = g_object_get_data (G_OBJECT (pad), "requests");
  GstEvent *event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
  const GstSegment *segment;

  gst_event_parse_segment (event, &segment);
  g_atomic_int_inc (&r->frames);
  g_atomic_int_add (&r->wrong, segment->base != GST_BUFFER_PTS (buf));
  gst_event_unref (event);
  gst_buffer_unref (buf);
  return GST_FLOW_OK;
}

static gpointer
request_and_release (gpointer data)
{
  Requests *r = data;
  GRand *rand = g_rand_new_with_seed (4711);

  while (!g_atomic_int_get (&r->stop)) {
    GstPad *sink = gst_pad_new ("sink", GST_PAD_SINK), *pad;

    g_object_set_data (G_OBJECT (sink), "requests", r);
    gst_pad_set_chain_function (sink, compare_with_segment);
    gst_pad_set_active (sink, TRUE);
    pad = gst_element_request_pad_simple (r->element, "overlay");
    fail_unless_equals_int (gst_pad_link (pad, sink), GST_PAD_LINK_OK);
    g_usleep (g_rand_int_range (rand, 0, 300));
    gst_element_release_request_pad (r->element, pad);
    gst_pad_set_active (sink, FALSE);
    gst_object_unref (pad);
    gst_object_unref (sink);
    g_atomic_int_inc (&r->requests);
  }
  g_rand_free (rand);
  return NULL;
}

/* Events that pass while the pad is requested reach it all the same: with a
 * segment for every frame, each finds its own. */
GST_START_TEST (test_no_event_is_lost_by_a_request)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_GRAY8, 16, 16);
  Requests r = { h->element, 0, 0, 0, 0 };
  GThread *thread = g_thread_new ("requests", request_and_release, &r);
  GstClockTime n;

  gst_harness_set_drop_buffers (h, TRUE);
  for (n = 1; n < 20000 || g_atomic_int_get (&r.requests) < 1000; n++) {
    GstBuffer *buf = gst_buffer_new_allocate (NULL, 16 * 16, NULL);
    GstSegment segment;

    gst_segment_init (&segment, GST_FORMAT_TIME);
    segment.base = GST_BUFFER_PTS (buf) = n;
    fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
    fail_unless_equals_int (gst_harness_push (h, buf), GST_FLOW_OK);
    while (gst_harness_events_in_queue (h))
      gst_event_unref (gst_harness_pull_event (h));
  }
  g_atomic_int_set (&r.stop, 1);
  g_thread_join (thread);
  fail_unless (r.frames > 100, "%d frames", r.frames);
  fail_unless (r.wrong == 0, "%d of %d frames, after %d requests, have another "
      "segment", r.wrong, r.frames, r.requests);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A branch is linked and taken away many times; the stream never notices. */
GST_START_TEST (test_branches_come_and_go)
{
  GstElement *pipeline = gst_parse_launch ("videotestsrc ! video/x-raw,"
      "width=64,height=48 ! samtrack name=t interval=1000 initial-prompt="
      SQUARE_BOX " t.src ! fakesink", NULL);
  GstElement *track = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  GstBus *bus = gst_element_get_bus (pipeline);
  guint i;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_element_get_state (pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
  for (i = 0; i < 1000; i++) {
    GstElement *sink = gst_element_factory_make ("fakesink", NULL);
    GstPad *pad = gst_element_request_pad_simple (track, "overlay");
    GstPad *peer = gst_element_get_static_pad (sink, "sink");

    g_object_set (sink, "async", FALSE, NULL);
    gst_bin_add (GST_BIN (pipeline), sink);
    gst_element_sync_state_with_parent (sink);
    fail_unless_equals_int (gst_pad_link (pad, peer), GST_PAD_LINK_OK);
    g_usleep (i * 37 % 400);    /* anywhere in a frame */
    gst_element_release_request_pad (track, pad);
    gst_element_set_state (sink, GST_STATE_NULL);
    gst_bin_remove (GST_BIN (pipeline), sink);
    gst_object_unref (peer);
    gst_object_unref (pad);
  }
  {
    guint64 before = sam_get_stat (track, "frames-in");

    for (i = 0; i < 1000 && sam_get_stat (track, "frames-in") < before + 10;
        i++)
      g_usleep (10000);
    fail_unless (i < 1000, "the stream has stopped");
  }
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_ERROR, NULL), 0);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (track);
  gst_object_unref (pipeline);
}

GST_END_TEST;

/* A paused sink holds the streaming thread; a release must not wait for it. */
GST_START_TEST (test_a_release_does_not_wait)
{
  GstElement *pipeline = gst_parse_launch ("videotestsrc ! video/x-raw,"
      "width=64,height=48 ! samtrack name=t t.src ! fakesink "
      "t.overlay ! queue ! fakesink async=false", NULL);
  GstElement *track = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  GstPad *pad = gst_element_get_static_pad (track, "overlay_0");

  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
  gst_element_release_request_pad (track, pad);
  gst_object_unref (pad);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (track);
  gst_object_unref (pipeline);
}

GST_END_TEST;

static GstPadProbeReturn
release (GstPad * pad, GstPadProbeInfo * info, gpointer overlay)
{
  GstElement *track = gst_pad_get_parent_element (pad);

  gst_element_release_request_pad (track, overlay);
  gst_object_unref (track);
  return GST_PAD_PROBE_REMOVE;
}

/* What the released pad says, that it flushes, does not reach the source: that
 * would end the stream without a word. Here the other pad is not linked, which
 * makes samtrack ask both. */
GST_START_TEST (test_a_release_within_a_frame)
{
  GstHarness *h = gst_harness_new_with_padnames ("samtrack", "sink", NULL);
  GstHarness *o = add_overlay (h, "video/x-raw,format=GRAY8");
  GstPad *src = gst_element_get_static_pad (h->element, "src");
  GstPad *overlay = gst_pad_get_peer (o->sinkpad);

  gst_harness_set_src_caps_str (h, "video/x-raw,format=I420,width=64,height=48,"
      "framerate=30/1");
  fail_unless_equals_int (gst_harness_push (h, gst_harness_create_buffer (h,
              64 * 48 * 3 / 2)), GST_FLOW_OK);
  gst_pad_add_probe (src, GST_PAD_PROBE_TYPE_BUFFER, release, overlay,
      NULL);
  fail_unless_equals_int (gst_harness_push (h, gst_harness_create_buffer (h,
              64 * 48 * 3 / 2)), GST_FLOW_NOT_LINKED);
  gst_object_unref (overlay);
  gst_object_unref (src);
  gst_harness_teardown (o);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
pad_suite (void)
{
  Suite *s = suite_create ("pad");
  TCase *tc = sam_tcase_new (s, "layers");

  tcase_add_test (tc, test_label_maps_agree_with_the_meta);
  tcase_add_test (tc, test_label_maps_have_the_size_of_the_frame);
  tcase_add_test (tc, test_coloured_layers);
  tcase_add_test (tc, test_stale_frames_show_the_last_map_again);
  tcase_add_test (tc, test_without_objects_it_is_black);
  tc = sam_tcase_new_tiny (s, "events");
  tcase_add_test (tc, test_events_reach_it_in_order);
  tcase_add_test (tc, test_it_follows_new_caps);
  tcase_add_test (tc, test_prompts_and_latency_through_it);
  tcase_add_test (tc, test_it_flushes);
  tc = sam_tcase_new_tiny (s, "flow");
  tcase_add_test (tc, test_there_is_one_of_it);
  tcase_add_test (tc, test_either_pad_may_stand_alone);
  tcase_add_test (tc, test_one_branch_may_end_early);
  tcase_add_test (tc, test_nothing_linked_is_an_error);
  tcase_add_test (tc, test_requests_while_streaming);
  tcase_add_test (tc, test_no_event_is_lost_by_a_request);
  tcase_add_test (tc, test_branches_come_and_go);
  tcase_add_test (tc, test_a_release_does_not_wait);
  tcase_add_test (tc, test_a_release_within_a_frame);
  return s;
}

GST_CHECK_MAIN (pad);
