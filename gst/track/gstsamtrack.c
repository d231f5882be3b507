/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-samtrack
 * @title: samtrack
 * @see_also: samoverlay
 *
 * Tracks the masks of objects in live video with a model of the SAM 2 family.
 * Frames pass unchanged. Each frame gets a GstSamTrackMeta with id, state, box,
 * scores and mask of every object, and a #GstVideoRegionOfInterestMeta for each
 * visible object.
 *
 * Prompts select the objects: a point, a box or a mask. They are given in
 * #GstSamTrack:initial-prompt, with the action signals, or in a custom event
 * named `samtrack-prompt`, and are applied to the next frame, or to the frame
 * of the running time that they carry.
 *
 * The request pad `overlay` outputs label maps (GRAY8: the slot of the object
 * at each pixel, 0 for none) or a coloured layer (RGBA, BGRA). Both source pads
 * need a queue, as after a tee.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 filesrc location=in.mp4 ! decodebin ! videoconvert ! \
 *   samtrack initial-prompt="box,x=100,y=80,w=120,h=220" ! samoverlay ! \
 *   videoconvert ! autovideosink
 * ]| Track the object in the box on the first frame, and draw its mask.
 * |[
 * gst-launch-1.0 videotestsrc ! samtrack name=track \
 *   initial-prompt="point,x=0.5,y=0.5,normalized=true" \
 *   track.src ! queue ! videoconvert ! autovideosink \
 *   track.overlay ! queue ! videoconvert ! autovideosink
 * ]| Show the label maps beside the video.
 *
 * Since: 0.1
 */

#include "common/gstsamcaps.h"
#include "common/gstsamfilter.h"
#include "common/gstsamframe.h"
#include "gstsamtrackprivate.h"

#include <gst/video/video.h>

GST_DEBUG_CATEGORY (gst_sam_track_debug);
#define GST_CAT_DEFAULT gst_sam_track_debug

#define OVERLAY_CAPS "video/x-raw, format = (string) " GST_SAM_PAD_FORMATS \
    GST_SAM_FRAME_SIZES

static GstStaticPadTemplate overlay_template =
GST_STATIC_PAD_TEMPLATE ("overlay", GST_PAD_SRC, GST_PAD_REQUEST,
    GST_STATIC_CAPS (OVERLAY_CAPS));

#define gst_sam_track_parent_class parent_class
G_DEFINE_TYPE_WITH_CODE (GstSamTrack, gst_sam_track, GST_TYPE_BASE_TRANSFORM,
    G_IMPLEMENT_INTERFACE (GST_TYPE_PRESET, NULL));
GST_ELEMENT_REGISTER_DEFINE (samtrack, "samtrack", GST_RANK_NONE,
    GST_TYPE_SAM_TRACK);

/* Streaming */

/* While the properties are frozen. */
static void
get_params (GstSamTrack * self, struct sam_params *params)
{
  struct sam_params defaults = SAM_PARAMS_INIT;

  *params = defaults;
  params->model_file = self->model_file && *self->model_file ?
      self->model_file : NULL;
  params->backend = self->backend;
  params->device = self->cuda_device_id;
  params->precision = self->precision;
  params->threads = self->threads;
  params->max_objects = self->max_objects;
  params->lost_after = self->lost_after;
  params->fill_holes = self->fill_holes;
  params->remove_islands = self->remove_islands;
  params->edges = self->edges;
  params->input_size = self->input_size;
  params->budget_mib = self->memory_budget;
  params->history = self->history;
  params->log = gst_sam_track_log;
  params->log_priv = self;
}

static gboolean
open_seed (GstSamTrack * self, const struct sam_params *params)
{
  const GstSamSeedHost host = { GST_ELEMENT (self), self->pending,
    self->stats
  };

  return gst_sam_seed_open (&self->seed, &host, &self->seeding, params);
}

typedef struct
{
  const struct sam_params *params;
  sam_tracker *tracker;
  struct sam_error error;
  int status;
} Opening;

static gpointer
open_yielding (gpointer data)
{
  Opening *opening = data;

  gst_sam_follow_yield ();
  opening->status = sam_tracker_open (&opening->tracker, opening->params,
      &opening->error);
  return NULL;
}

/* Where a fast model follows, threads of this one have a lower priority: the
 * engine's have that of the thread which opens the tracker. */
static int
open_tracker (GstSamTrack * self, const struct sam_params *params,
    sam_tracker ** tracker, struct sam_error *error)
{
  Opening opening = {.params = params };
  GThread *thread = NULL;

  if (gst_sam_follow_is_wanted (self))
    thread = g_thread_try_new ("samtrack-open", open_yielding, &opening, NULL);
  if (!thread)
    return sam_tracker_open (tracker, params, error);
  g_thread_join (thread);
  *tracker = opening.tracker;
  *error = opening.error;
  return opening.status;
}

static gboolean gst_sam_track_stop (GstBaseTransform * base);

static gboolean
gst_sam_track_start (GstBaseTransform * base)
{
  GstSamTrack *self = GST_SAM_TRACK (base);
  struct sam_params params;
  struct sam_error error = { "" };
  struct sam_info info = SAM_INFO_INIT;
  sam_tracker *tracker;
  int status;

  gst_sam_track_set_frozen (self, TRUE);
  g_atomic_int_set (&self->failed, FALSE);
  get_params (self, &params);
  if (!open_seed (self, &params)) {
    gst_sam_track_set_frozen (self, FALSE);
    return FALSE;
  }
  gst_sam_track_start_context (self, &params);
  status = open_tracker (self, &params, &tracker, &error);
  if (status != SAM_OK) {
    gst_sam_track_stop_context (self);
    gst_sam_seed_close (&self->seed);
    gst_sam_track_post_error (self, status, &error, "sam_tracker_open");
    gst_sam_track_set_frozen (self, FALSE);
    return FALSE;
  }
  sam_tracker_info (tracker, &info, NULL);
  GST_INFO_OBJECT (self, "%s on %s (%s), %s: open after %" G_GINT64_FORMAT
      " ms", info.model_file, info.backend, info.device, info.precision,
      info.open_ns / 1000000);
  self->on_cuda = params.cuda_context && g_str_equal (info.backend, "cuda");
  self->logits_side = info.logits_side;
  self->source = gst_object_get_name (GST_OBJECT (self));
  self->report->source = self->source;
  self->reserved = 0;
  self->number = self->reported = self->marked = self->step.number = 0;
  self->last_step = self->added = 0;
  self->passed = 0;
  self->since_reset = 0;
  self->found->looked = FALSE;
  gst_sam_worker_start (&self->worker);
  gst_sam_timeline_start (&self->timeline);
  self->cut.has = self->told_blind = FALSE;
  gst_video_info_init (&self->info);
  gst_video_info_init (&self->given);
  gst_sam_stats_start (self->stats, &info);
  gst_sam_qos_start (&self->qos);
  gst_sam_pad_start (self);
  gst_sam_track_forget_frame (self);
  gst_sam_pending_start (self->pending, info.mask_side);
  gst_sam_turn_begin (&self->turn);
  self->tracker = tracker;
  gst_sam_turn_end (&self->turn);
  if (!gst_sam_follow_start (self->follow, self, &params, &info) ||
      !gst_sam_track_load_initial_tracks (self)) {
    gst_sam_track_stop (base);
    return FALSE;
  }
  gst_sam_track_apply_initial_prompt (self);
  return TRUE;
}

static gboolean
gst_sam_track_stop (GstBaseTransform * base)
{
  GstSamTrack *self = GST_SAM_TRACK (base);

  gst_sam_worker_stop (&self->worker);
  gst_sam_follow_stop (self->follow);
  gst_sam_turn_begin (&self->turn);
  sam_tracker_close (&self->tracker);
  gst_sam_turn_end (&self->turn);
  gst_sam_track_stop_context (self);
  gst_sam_seed_close (&self->seed);
  gst_sam_pending_stop (self->pending);
  gst_sam_pad_stop (self);
  gst_sam_track_forget_frame (self);
  gst_sam_step_forget (&self->step);
  gst_sam_mask_pool_clear (&self->masks);
  gst_sam_soft_clear (&self->soft);
  gst_sam_unpack_clear (&self->unpack);
  self->report->source = NULL;
  g_clear_pointer (&self->source, g_free);
  gst_sam_track_set_frozen (self, FALSE);
  return TRUE;
}

/* While a worker has the tracker, it sees to it with the first such frame. */
static gboolean
reserve (GstSamTrack * self, GstCaps * caps)
{
  gboolean ok;

  if (self->worker.thread)
    return TRUE;
  gst_sam_turn_begin (&self->turn);
  ok = gst_sam_step_reserve (self, &self->info,
      gst_sam_caps_is_cuda (caps));
  gst_sam_turn_end (&self->turn);
  return ok;
}

static gboolean
gst_sam_track_set_caps (GstBaseTransform * base, GstCaps * in, GstCaps * out)
{
  GstSamTrack *self = GST_SAM_TRACK (base);
  const GstVideoInfo last = self->info;

  if (!gst_sam_caps_parse (&self->given, in))
    return FALSE;
  gst_sam_caps_tell (GST_ELEMENT (self), in);
  self->info = self->given;
  if (!gst_sam_frame_has_engine_format (&self->given))
    gst_sam_unpack_describe (&self->info, &self->given);
  if (!reserve (self, in))
    return FALSE;
  /* The last masks are of another picture: the next frame is tracked on. */
  if (GST_VIDEO_INFO_FORMAT (&last) != GST_VIDEO_FORMAT_UNKNOWN &&
      !gst_sam_meta_same_picture (&last, &self->info)) {
    gst_sam_track_forget_frame (self);
    gst_sam_follow_forget (self->follow, self->number);
  }
  gst_sam_pending_set_frame_size (self->pending, self->info.width,
      self->info.height);
  gst_sam_pad_set_caps (self);
  return TRUE;
}

/* What waits for a frame of its time waits in vain. */
static void
end_stream (GstSamTrack * self)
{
  const GstSamPendingCalls calls = { gst_sam_track_refuse, gst_sam_step_moved,
    gst_sam_track_liked, self
  };

  gst_sam_pending_end (self->pending, &calls);
}

static gboolean
is_prompt (GstEvent * event)
{
  return gst_event_has_name (event, "samtrack-prompt");
}

/* What gst-launch-1.0 -m shows at the end, and an application may log. */
static void
post_stats (GstSamTrack * self)
{
  GstStructure *stats = gst_sam_stats_to_structure (self->stats,
      gst_sam_follow_to_structure (self->follow));

  gst_structure_set_name (stats, "samtrack-stats");
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self), stats));
}

/* Downstream first: else the frame that waits here comes out before its pads
 * refuse it. */
static gboolean
start_flush (GstSamTrack * self, GstEvent * event)
{
  gboolean ok;

  gst_sam_pad_forward_event (self, event);
  ok = GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event
      (GST_BASE_TRANSFORM (self), event);
  gst_sam_pending_set_flushing (self->pending, TRUE);
  gst_sam_worker_interrupt (&self->worker, TRUE);
  gst_sam_follow_interrupt (self->follow, TRUE);
  return ok;
}

static gboolean
gst_sam_track_sink_event (GstBaseTransform * base, GstEvent * event)
{
  GstSamTrack *self = GST_SAM_TRACK (base);

  gst_sam_timeline_note_event (&self->timeline, event);
  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_CUSTOM_DOWNSTREAM:
    case GST_EVENT_CUSTOM_DOWNSTREAM_OOB:
    case GST_EVENT_CUSTOM_BOTH:
    case GST_EVENT_CUSTOM_BOTH_OOB:
      if (is_prompt (event)) {
        gst_sam_track_prompt_structure (self, gst_event_get_structure (event));
        gst_event_unref (event);
        return TRUE;
      }
      if (gst_event_has_name (event, "samtrack-preview")) {
        if (self->tracker && GST_EVENT_IS_SERIALIZED (event))
          gst_sam_worker_serve (&self->worker, self);
        gst_event_unref (event);
        return TRUE;
      }
      break;
    case GST_EVENT_STREAM_START:
      gst_sam_track_reset (self);
      break;
    case GST_EVENT_EOS:
      end_stream (self);
      post_stats (self);
      break;
    case GST_EVENT_FLUSH_START:
      return start_flush (self, event);
    case GST_EVENT_FLUSH_STOP:
      gst_sam_pending_set_flushing (self->pending, FALSE);
      gst_sam_worker_interrupt (&self->worker, FALSE);
      gst_sam_follow_interrupt (self->follow, FALSE);
      gst_sam_qos_flush (&self->qos);
      gst_sam_track_jump (self);
      break;
    default:
      break;
  }
  gst_sam_pad_forward_event (self, event);
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (base, event);
}

static gboolean
gst_sam_track_src_event (GstBaseTransform * base, GstEvent * event)
{
  GstSamTrack *self = GST_SAM_TRACK (base);
  gboolean ok;

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_CUSTOM_UPSTREAM:
    case GST_EVENT_CUSTOM_BOTH:
    case GST_EVENT_CUSTOM_BOTH_OOB:
      if (is_prompt (event)) {
        ok = gst_sam_track_prompt_structure (self,
            gst_event_get_structure (event));
        gst_event_unref (event);
        return ok;
      }
      break;
    case GST_EVENT_NAVIGATION:
      if (gst_sam_navigation_handle (&self->navigation, self, event)) {
        gst_event_unref (event);
        return TRUE;
      }
      break;
    default:
      gst_sam_qos_note_event (&self->qos, event);
      break;
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->src_event (base, event);
}

/* The base class stops the element when the streaming thread is out of it, so
 * that must not wait any longer. */
static GstStateChangeReturn
gst_sam_track_change_state (GstElement * element, GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    gst_sam_pending_interrupt (GST_SAM_TRACK (element)->pending);
    gst_sam_worker_interrupt (&GST_SAM_TRACK (element)->worker, TRUE);
    gst_sam_follow_interrupt (GST_SAM_TRACK (element)->follow, TRUE);
  }
  return GST_ELEMENT_CLASS (parent_class)->change_state (element, transition);
}

static gboolean
gst_sam_track_query (GstBaseTransform * base, GstPadDirection direction,
    GstQuery * query)
{
  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT &&
      gst_sam_track_answer_context (GST_SAM_TRACK (base), query))
    return TRUE;
  if (direction == GST_PAD_SRC && GST_QUERY_TYPE (query) == GST_QUERY_LATENCY)
    return gst_sam_qos_query_latency (&GST_SAM_TRACK (base)->qos, base,
        query);
  return GST_BASE_TRANSFORM_CLASS (parent_class)->query (base, direction,
      query);
}

static void
gst_sam_track_finalize (GObject * object)
{
  GstSamTrack *self = GST_SAM_TRACK (object);

  gst_sam_pad_finalize (self);
  gst_sam_track_stop_context (self);
  gst_sam_pending_clear (self->pending);
  gst_sam_worker_clear (&self->worker);
  gst_sam_follow_clear (self->follow);
  gst_sam_turn_clear (&self->turn);
  gst_sam_navigation_clear (&self->navigation);
  gst_sam_step_clear (&self->step);
  gst_sam_qos_clear (&self->qos);
  gst_sam_stats_clear (self->stats);
  g_free (self->pending);
  g_free (self->follow);
  g_free (self->stats);
  g_free (self->report);
  g_free (self->shown);
  gst_sam_found_clear (self->found);
  g_free (self->found);
  g_free (self->analytics);
  gst_sam_seed_settings_clear (&self->seeding);
  g_free (self->model_file);
  g_free (self->follow_model);
  g_free (self->initial_prompt);
  g_free (self->initial_tracks);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
gst_sam_track_class_init (GstSamTrackClass * klass)
{
  GObjectClass *gobject_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *base_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_sam_track_debug, "samtrack", 0,
      "object mask tracker");

  gobject_class->finalize = gst_sam_track_finalize;
  gst_element_class_set_static_metadata (element_class, "Object mask tracker",
      "Filter/Analyzer/Video",
      "Tracks object masks in live video with SAM 2 models",
      "The samtrack authors");
  gst_sam_track_install_properties (klass);
  gst_sam_track_install_signals (klass);
  gst_sam_track_install_save_signals (klass);
  gst_sam_track_install_answer_signals (klass);
  gst_sam_track_install_preview_signal (klass);

  gst_sam_filter_class_init (base_class, GST_SAM_FRAME_FORMATS,
      GST_SAM_UNPACK_FORMATS);
  gst_element_class_add_static_pad_template (element_class, &overlay_template);
  element_class->change_state =
      GST_DEBUG_FUNCPTR (gst_sam_track_change_state);
  element_class->set_context = GST_DEBUG_FUNCPTR (gst_sam_track_set_context);
  element_class->request_new_pad = GST_DEBUG_FUNCPTR (gst_sam_pad_request);
  element_class->release_pad = GST_DEBUG_FUNCPTR (gst_sam_pad_release);

  base_class->start = GST_DEBUG_FUNCPTR (gst_sam_track_start);
  base_class->stop = GST_DEBUG_FUNCPTR (gst_sam_track_stop);
  base_class->set_caps = GST_DEBUG_FUNCPTR (gst_sam_track_set_caps);
  base_class->sink_event = GST_DEBUG_FUNCPTR (gst_sam_track_sink_event);
  base_class->src_event = GST_DEBUG_FUNCPTR (gst_sam_track_src_event);
  base_class->query = GST_DEBUG_FUNCPTR (gst_sam_track_query);
  base_class->propose_allocation =
      GST_DEBUG_FUNCPTR (gst_sam_track_propose_allocation);
  base_class->transform_ip = GST_DEBUG_FUNCPTR (gst_sam_track_transform_ip);

  gst_type_mark_as_plugin_api (GST_TYPE_SAM_TRACK_BACKEND, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_SAM_TRACK_PRECISION, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_SAM_TRACK_EDGES, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_SAM_TRACK_MASK_SIZE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_SAM_TRACK_OVERLOAD_POLICY, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_SAM_TRACK_NAVIGATION, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_SAM_TRACK_PROMPT_SOURCE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_SAM_TRACK_RESET_ON, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_SAM_TRACK_MASK_TYPE, 0);
}

static void
gst_sam_track_init (GstSamTrack * self)
{
  gst_sam_filter_init (GST_BASE_TRANSFORM (self));
  gst_sam_track_init_properties (self);
  self->report = g_new0 (GstSamReport, 1);
  self->shown = g_new0 (GstSamReport, 1);
  self->found = g_new0 (GstSamFound, 1);
  self->analytics = g_new0 (GstSamAnalytics, 1);
  self->pending = g_new0 (GstSamPending, 1);
  self->follow = g_new0 (GstSamFollow, 1);
  self->stats = g_new0 (GstSamStats, 1);
  self->report->running_time = GST_CLOCK_TIME_NONE;
  self->shown->running_time = GST_CLOCK_TIME_NONE;
  gst_video_info_init (&self->info);
  gst_video_info_init (&self->given);
  gst_sam_pending_init (self->pending);
  gst_sam_pending_set_max_objects (self->pending, self->max_objects);
  gst_sam_worker_init (&self->worker);
  gst_sam_follow_init (self->follow);
  gst_sam_turn_init (&self->turn);
  gst_sam_navigation_init (&self->navigation);
  gst_sam_step_init (&self->step);
  gst_sam_qos_init (&self->qos);
  gst_sam_stats_init (self->stats);
  gst_sam_pad_init (self);
}
