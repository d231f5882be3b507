/* SPDX-License-Identifier: MIT */
/* A request source pad on a GstBaseTransform. The base class knows one source
 * pad, so its chain function is wrapped to combine the flow of both. */

#include "gstsampad.h"

#include "common/gstsampalette.h"
#include "gstsamtrackprivate.h"

#include <string.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

/* Opacity of the coloured layer, of 255: straight alpha, for a compositor. */
#define LAYER_ALPHA 140

static GstPad *
ref_pad (GstSamTrack * self)
{
  GstPad *pad;

  gst_sam_mutex_lock (&self->overlay.lock);
  pad = self->overlay.pad ? gst_object_ref (self->overlay.pad) : NULL;
  gst_sam_mutex_unlock (&self->overlay.lock);
  return pad;
}

/* The same stream as the frames', with an id of its own. */
static GstEvent *
new_stream_start (GstEvent * event)
{
  GstEvent *copy;
  GstStreamFlags flags;
  const gchar *stream_id;
  gchar *id;
  guint group;

  gst_event_parse_stream_start (event, &stream_id);
  id = g_strconcat (stream_id, "/overlay", NULL);
  copy = gst_event_new_stream_start (id);
  g_free (id);
  if (gst_event_parse_group_id (event, &group))
    gst_event_set_group_id (copy, group);
  gst_event_parse_stream_flags (event, &flags);
  gst_event_set_stream_flags (copy, flags);
  gst_event_set_seqnum (copy, gst_event_get_seqnum (event));
  return copy;
}

/* What the pad could send now: all formats, at the size of the frames once that
 * is known. */
static GstCaps *
get_possible_caps (GstSamTrack * self, GstPad * pad)
{
  GstCaps *caps = gst_pad_get_pad_template_caps (pad);

  gst_sam_mutex_lock (&self->overlay.lock);
  if (GST_VIDEO_INFO_FORMAT (&self->overlay.info) != GST_VIDEO_FORMAT_UNKNOWN) {
    const GstVideoInfo *info = &self->overlay.info;

    caps = gst_caps_make_writable (caps);
    gst_caps_set_simple (caps, "width", G_TYPE_INT, info->width,
        "height", G_TYPE_INT, info->height,
        "framerate", GST_TYPE_FRACTION, info->fps_n, info->fps_d,
        "pixel-aspect-ratio", GST_TYPE_FRACTION, info->par_n, info->par_d,
        NULL);
  }
  gst_sam_mutex_unlock (&self->overlay.lock);
  return caps;
}

static GstCaps *
get_current_caps (GstSamTrack * self)
{
  GstCaps *caps = NULL;

  gst_sam_mutex_lock (&self->overlay.lock);
  if (GST_VIDEO_INFO_FORMAT (&self->overlay.info) != GST_VIDEO_FORMAT_UNKNOWN)
    caps = gst_video_info_to_caps (&self->overlay.info);
  gst_sam_mutex_unlock (&self->overlay.lock);
  return caps;
}

static void
set_format (GstSamTrack * self, GstVideoFormat format)
{
  const GstVideoInfo *from = &self->info;
  GstVideoInfo info;

  gst_video_info_set_format (&info, format, from->width, from->height);
  info.fps_n = from->fps_n;
  info.fps_d = from->fps_d;
  info.par_n = from->par_n;
  info.par_d = from->par_d;
  gst_sam_mutex_lock (&self->overlay.lock);
  self->overlay.info = info;
  gst_sam_mutex_unlock (&self->overlay.lock);
}

/* Ask downstream for its format, tell it. Without a peer the first one stands,
 * so that CAPS are there before SEGMENT. */
static gboolean
negotiate (GstSamTrack * self, GstPad * pad)
{
  GstCaps *possible, *wanted, *caps, *old = gst_pad_get_current_caps (pad);
  GstVideoInfo info;
  gboolean ok;

  possible = get_possible_caps (self, pad);
  wanted = gst_pad_peer_query_caps (pad, possible);
  caps = gst_caps_intersect (wanted, possible);
  gst_caps_unref (wanted);
  gst_caps_unref (possible);
  if (!gst_caps_is_empty (caps))
    caps = gst_caps_fixate (caps);
  ok = gst_caps_is_fixed (caps) && gst_video_info_from_caps (&info, caps);
  gst_caps_unref (caps);
  if (ok) {
    set_format (self, GST_VIDEO_INFO_FORMAT (&info));
    caps = get_current_caps (self);
    if (!old || !gst_caps_is_equal (old, caps))
      ok = gst_pad_push_event (pad, gst_event_new_caps (caps)) ||
          !gst_pad_is_linked (pad);
    gst_caps_unref (caps);
  }
  gst_clear_caps (&old);
  return ok;
}

/* Store an event that is made anew each time, unless the pad has it. */
static void
store_sticky_event (GstPad * pad, GstEvent * event)
{
  GstEvent *old = gst_pad_get_sticky_event (pad, GST_EVENT_TYPE (event), 0);

  if (!old || !gst_structure_is_equal (gst_event_get_structure (old),
          gst_event_get_structure (event)))
    gst_pad_store_sticky_event (pad, event);
  gst_clear_event (&old);
  gst_event_unref (event);
}

/* The pad sends what is stored in it before its next buffer, once. */
static gboolean
copy_sticky_event (GstPad * sink, GstEvent ** event, gpointer data)
{
  GstPad *pad = data;
  GstSamTrack *self = GST_SAM_TRACK (gst_pad_get_parent_element (sink));
  GstCaps *caps;

  switch (GST_EVENT_TYPE (*event)) {
    case GST_EVENT_STREAM_START:
      store_sticky_event (pad, new_stream_start (*event));
      break;
    case GST_EVENT_CAPS:
      if ((caps = get_current_caps (self))) {
        store_sticky_event (pad, gst_event_new_caps (caps));
        gst_caps_unref (caps);
      }
      break;
    default:
      gst_pad_store_sticky_event (pad, *event);
      break;
  }
  gst_object_unref (self);
  return TRUE;
}

/* Streaming thread: the pad, before it gets anything. Until its first push it
 * may have missed an event that passed while it was requested, after the others
 * were copied: that one is in the sink pad by now. */
static GstPad *
ref_current_pad (GstSamTrack * self)
{
  GstPad *pad = ref_pad (self);

  if (pad && pad != self->overlay.combined)
    gst_pad_sticky_events_foreach (GST_BASE_TRANSFORM_SINK_PAD (self),
        copy_sticky_event, pad);
  return pad;
}

void
gst_sam_pad_set_caps (GstSamTrack * self)
{
  GstPad *pad = ref_current_pad (self);

  gst_clear_buffer (&self->overlay.layer);
  set_format (self, GST_VIDEO_FORMAT_GRAY8);
  if (!pad)
    return;
  gst_pad_check_reconfigure (pad);
  if (!negotiate (self, pad))
    gst_pad_mark_reconfigure (pad);
  gst_object_unref (pad);
}

static gboolean
gst_sam_pad_event (GstPad * pad, GstObject * parent, GstEvent * event)
{
  GstSamTrack *self = GST_SAM_TRACK (parent);

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_QOS:        /* must not throttle the frames */
    case GST_EVENT_RECONFIGURE:        /* core has flagged the pad */
      gst_event_unref (event);
      return TRUE;
    default:
      return GST_BASE_TRANSFORM_GET_CLASS (self)->src_event (GST_BASE_TRANSFORM
          (self), event);
  }
}

static gboolean
gst_sam_pad_query (GstPad * pad, GstObject * parent, GstQuery * query)
{
  GstSamTrack *self = GST_SAM_TRACK (parent);
  GstCaps *filter, *caps, *result;

  switch (GST_QUERY_TYPE (query)) {
    case GST_QUERY_CAPS:
      gst_query_parse_caps (query, &filter);
      caps = get_possible_caps (self, pad);
      result = filter ? gst_caps_intersect_full (filter, caps,
          GST_CAPS_INTERSECT_FIRST) : gst_caps_ref (caps);
      gst_query_set_caps_result (query, result);
      gst_caps_unref (result);
      gst_caps_unref (caps);
      return TRUE;
    case GST_QUERY_ALLOCATION:
      return FALSE;
    case GST_QUERY_LATENCY:
      return gst_sam_qos_query_latency (&self->qos,
          GST_BASE_TRANSFORM (self), query);
    default:
      return gst_pad_query_default (pad, parent, query);
  }
}

GstPad *
gst_sam_pad_request (GstElement * element, GstPadTemplate * templ,
    const gchar * name, const GstCaps * caps)
{
  GstSamTrack *self = GST_SAM_TRACK (element);
  /* Not "overlay": core takes a request by a name that is there for a mistake,
   * before it asks the element. */
  GstPad *pad = gst_pad_new_from_template (templ, "overlay_0");
  gboolean taken;

  gst_pad_set_event_function (pad, GST_DEBUG_FUNCPTR (gst_sam_pad_event));
  gst_pad_set_query_function (pad, GST_DEBUG_FUNCPTR (gst_sam_pad_query));
  gst_pad_set_active (pad, TRUE);
  gst_pad_sticky_events_foreach (GST_BASE_TRANSFORM_SINK_PAD (self),
      copy_sticky_event, pad);
  gst_pad_mark_reconfigure (pad);
  gst_sam_mutex_lock (&self->overlay.lock);
  taken = self->overlay.taken;
  self->overlay.taken = TRUE;
  if (!taken)
    self->overlay.pad = pad;
  gst_sam_mutex_unlock (&self->overlay.lock);
  if (taken) {
    gst_sam_track_post_refusal (self, FALSE, GST_SAM_REFUSED_TAKEN,
        "The request for the pad 'overlay' was refused: the element has only "
        "one, and it is in use. A tee after it provides more.", "pad",
        G_TYPE_STRING, "overlay", NULL);
    gst_object_ref_sink (pad);
    gst_object_unref (pad);
    return NULL;
  }
  gst_element_add_pad (element, pad);
  return pad;
}

void
gst_sam_pad_release (GstElement * element, GstPad * pad)
{
  GstSamTrack *self = GST_SAM_TRACK (element);
  GstPad *peer;

  gst_sam_mutex_lock (&self->overlay.lock);
  if (self->overlay.pad != pad) {
    gst_sam_mutex_unlock (&self->overlay.lock);
    return;
  }
  self->overlay.pad = NULL;
  gst_sam_mutex_unlock (&self->overlay.lock);
  /* First, or a push under way could find the pad's events gone, and its peer
   * still there. */
  peer = gst_pad_get_peer (pad);
  if (peer)
    gst_pad_unlink (pad, peer);
  gst_clear_object (&peer);
  /* Ends a push that blocks. The combiner forgets the pad with the next frame:
   * to wait for the streaming thread would be to wait for a paused sink. */
  gst_pad_set_active (pad, FALSE);
  gst_element_remove_pad (element, pad);
  gst_sam_mutex_lock (&self->overlay.lock);
  self->overlay.taken = FALSE;
  gst_sam_mutex_unlock (&self->overlay.lock);
}

/* Streaming thread: let the combiner know this pad (or NULL), no other. */
static void
set_combined (GstSamTrack * self, GstPad * pad)
{
  GstSamPad *overlay = &self->overlay;

  if (overlay->combined == pad)
    return;
  if (overlay->combined)
    gst_flow_combiner_remove_pad (overlay->combiner, overlay->combined);
  overlay->combined = pad;
  if (pad)
    gst_flow_combiner_add_pad (overlay->combiner, pad);
}

/* With the lock, streaming thread: let the combiner know @pad unless it was
 * released: the combiner reads what pads say, and a released one says that it
 * flushes, which would stop the source. Returns whether it knows @pad. */
static gboolean
keep_combined (GstSamTrack * self, GstPad * pad)
{
  set_combined (self, self->overlay.pad == pad ? pad : NULL);
  return self->overlay.combined != NULL;
}

void
gst_sam_pad_forward_event (GstSamTrack * self, GstEvent * event)
{
  GstPad *pad = GST_EVENT_IS_SERIALIZED (event) ? ref_current_pad (self) :
      ref_pad (self);

  if (pad && GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START)
    gst_pad_push_event (pad, new_stream_start (event));
  else if (pad && GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    gst_pad_push_event (pad, gst_event_ref (event));
  gst_clear_object (&pad);
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    gst_flow_combiner_reset (self->overlay.combiner);
}

/* Combine what both pads say: one that is not linked, or has seen EOS, does not
 * stop the other. */
static GstFlowReturn
gst_sam_pad_chain (GstPad * sink, GstObject * parent, GstBuffer * buf)
{
  GstSamTrack *self = GST_SAM_TRACK (parent);
  GstPad *src = GST_BASE_TRANSFORM_SRC_PAD (self);
  GstFlowReturn ret = self->overlay.parent_chain (sink, parent, buf);

  if (ret != GST_FLOW_OK && ret != GST_FLOW_NOT_LINKED && ret != GST_FLOW_EOS)
    return ret;
  gst_sam_mutex_lock (&self->overlay.lock);
  if (keep_combined (self, self->overlay.combined)) {
    gst_flow_combiner_update_pad_flow (self->overlay.combiner, src,
        ret == GST_FLOW_OK ? GST_PAD_LAST_FLOW_RETURN (src) : ret);
    ret = gst_flow_combiner_update_flow (self->overlay.combiner, GST_FLOW_OK);
  }
  gst_sam_mutex_unlock (&self->overlay.lock);
  return ret;
}

static void
free_pool (GstSamPad * overlay)
{
  gst_clear_buffer (&overlay->layer);
  if (overlay->pool)
    gst_buffer_pool_set_active (overlay->pool, FALSE);
  gst_clear_object (&overlay->pool);
  g_clear_pointer (&overlay->labels, g_free);
}

/* One error per failure; FALSE. */
static gboolean
refuse_layer (GstSamTrack * self, const gchar * why)
{
  const GstVideoInfo *info = &self->overlay.pool_info;

  GST_ELEMENT_ERROR (self, STREAM, FAILED,
      ("The pad 'overlay' has no layer of %d x %d pixels in %s: %s.",
          info->width, info->height, gst_video_format_to_string
          (GST_VIDEO_INFO_FORMAT (info)), why), (NULL));
  return FALSE;
}

/* A pool and, for a coloured layer, room for its label map. */
static gboolean
prepare_pool (GstSamTrack * self)
{
  GstSamPad *overlay = &self->overlay;
  GstStructure *config;
  GstCaps *caps;

  if (overlay->pool && gst_video_info_is_equal (&overlay->pool_info,
          &overlay->info))
    return TRUE;
  free_pool (overlay);
  overlay->pool_info = overlay->info;
  if (GST_VIDEO_INFO_FORMAT (&overlay->info) != GST_VIDEO_FORMAT_GRAY8) {
    overlay->labels =
        g_try_malloc ((gsize) overlay->info.width * overlay->info.height);
    if (!overlay->labels)
      return refuse_layer (self, "out of memory");
  }
  caps = gst_video_info_to_caps (&overlay->info);
  overlay->pool = gst_video_buffer_pool_new ();
  config = gst_buffer_pool_get_config (overlay->pool);
  gst_buffer_pool_config_set_params (config, caps,
      GST_VIDEO_INFO_SIZE (&overlay->info), 2, 0);
  gst_caps_unref (caps);
  if (gst_buffer_pool_set_config (overlay->pool, config) &&
      gst_buffer_pool_set_active (overlay->pool, TRUE))
    return TRUE;
  gst_clear_object (&overlay->pool);
  return refuse_layer (self, "its buffer pool cannot be started");
}

/* The label map of the meta, as it is or each of its pixels as a block. */
static gboolean
stretch_labels (const GstSamReport * report, struct sam_labels *labels)
{
  GstMapInfo map;
  gint x, y;

  if (!gst_buffer_map (report->mask, &map, GST_MAP_READ))
    return FALSE;
  for (y = 0; y < labels->height; y++) {
    const guint8 *from = map.data + (gsize) y * report->mask_height /
        labels->height * report->mask_width;
    guint8 *to = labels->data + (gsize) y * labels->stride;

    if (report->mask_width == labels->width)
      memcpy (to, from, labels->width);
    else
      for (x = 0; x < labels->width; x++)
        to[x] = from[(gsize) x * report->mask_width / labels->width];
  }
  gst_buffer_unmap (report->mask, &map);
  return TRUE;
}

/* Labels at frame size: from the meta where it holds them, or while a worker
 * has the tracker; else drawn anew. */
static gboolean
get_labels (GstSamTrack * self, struct sam_labels *labels)
{
  const GstSamReport *report = self->report;
  struct sam_error error = { "" };
  int status;

  if (!report->num_objects) {
    memset (labels->data, 0, (gsize) labels->stride * labels->height);
    return TRUE;
  }
  if (report->mask && (self->worker.thread ||
          (report->mask_width == labels->width &&
              report->mask_height == labels->height)) &&
      stretch_labels (report, labels))
    return TRUE;
  if (self->worker.thread)
    return refuse_layer (self, "the label map of the frame cannot be read");
  gst_sam_turn_begin (&self->turn);
  status = sam_tracker_draw (self->tracker, labels, &error);
  gst_sam_turn_end (&self->turn);
  if (status != SAM_OK)
    gst_sam_track_post_error (self, status, &error, "sam_tracker_draw");
  return status == SAM_OK;
}

static void
colour_layer (GstVideoFrame * frame, const guint8 * labels)
{
  const gint width = GST_VIDEO_FRAME_WIDTH (frame);
  const gboolean bgra = GST_VIDEO_FRAME_FORMAT (frame) == GST_VIDEO_FORMAT_BGRA;
  guint8 lut[256][4] = { {0,} };
  gint i, x, y;

  for (i = 1; i < 256; i++) {
    guint32 rgb = gst_sam_palette_get (i);

    lut[i][bgra ? 2 : 0] = rgb >> 16;
    lut[i][1] = rgb >> 8;
    lut[i][bgra ? 0 : 2] = rgb;
    lut[i][3] = LAYER_ALPHA;
  }
  for (y = 0; y < GST_VIDEO_FRAME_HEIGHT (frame); y++) {
    guint8 *out = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (frame, 0) +
        (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (frame, 0);

    for (x = 0; x < width; x++)
      memcpy (out + 4 * x, lut[labels[x]], 4);
    labels += width;
  }
}

static gboolean
draw_layer (GstSamTrack * self, GstBuffer * layer)
{
  struct sam_labels labels;
  GstVideoFrame frame;
  gboolean ok;

  if (!gst_video_frame_map (&frame, &self->overlay.pool_info, layer,
          GST_MAP_WRITE | GST_VIDEO_FRAME_MAP_FLAG_NO_REF))
    return refuse_layer (self, "its memory cannot be mapped for writing");
  labels.width = GST_VIDEO_FRAME_WIDTH (&frame);
  labels.height = GST_VIDEO_FRAME_HEIGHT (&frame);
  labels.on_device = FALSE;
  if (self->overlay.labels) {
    labels.data = self->overlay.labels;
    labels.stride = labels.width;
  } else {
    labels.data = GST_VIDEO_FRAME_PLANE_DATA (&frame, 0);
    labels.stride = GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
  }
  ok = get_labels (self, &labels);
  if (ok && self->overlay.labels)
    colour_layer (&frame, labels.data);
  gst_video_frame_unmap (&frame);
  return ok;
}

static GstFlowReturn
make_layer (GstSamTrack * self, gboolean fresh)
{
  GstFlowReturn ret;

  if (self->overlay.layer && !fresh)
    return GST_FLOW_OK;
  gst_clear_buffer (&self->overlay.layer);
  if (!prepare_pool (self))
    return GST_FLOW_ERROR;
  ret = gst_buffer_pool_acquire_buffer (self->overlay.pool,
      &self->overlay.layer, NULL);
  if (ret == GST_FLOW_ERROR)
    refuse_layer (self, "out of memory");
  if (ret == GST_FLOW_OK && !draw_layer (self, self->overlay.layer)) {
    gst_clear_buffer (&self->overlay.layer);
    ret = GST_FLOW_ERROR;
  }
  return ret;
}

/* A sink that is flushed or stopped while it takes an event refuses that, which
 * core takes for an error. */
static gboolean
is_stopping (GstPad * pad)
{
  GstPad *peer = gst_pad_get_peer (pad);
  const gboolean stopping = GST_PAD_IS_FLUSHING (pad) ||
      (peer && GST_PAD_IS_FLUSHING (peer));

  gst_clear_object (&peer);
  return stopping;
}

static GstFlowReturn
push_layer (GstSamTrack * self, GstPad * pad, GstBuffer * buf, gboolean fresh)
{
  GstFlowReturn ret;
  GstBuffer *out;
  gint64 start;

  if (!gst_pad_is_linked (pad))
    return GST_FLOW_NOT_LINKED;
  if (gst_pad_check_reconfigure (pad)) {
    gst_clear_buffer (&self->overlay.layer);
    if (!negotiate (self, pad)) {
      gst_pad_mark_reconfigure (pad);
      return is_stopping (pad) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
    }
  }
  ret = make_layer (self, fresh);
  if (ret != GST_FLOW_OK)
    return ret;
  /* The memory is shared with the copy: a stale frame shows it once more. */
  out = gst_buffer_copy (self->overlay.layer);
  gst_buffer_copy_into (out, buf,
      GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_FLAGS, 0, -1);
  start = g_get_monotonic_time ();
  ret = gst_pad_push (pad, out);
  self->overlay.pushing = (g_get_monotonic_time () - start) * 1000;
  if (ret == GST_FLOW_ERROR && is_stopping (pad))
    ret = GST_FLOW_FLUSHING;
  return ret;
}

/* Note how the push went, unless the pad was released in the meantime: that it
 * flushes then is nobody's concern. */
static void
combine (GstSamTrack * self, GstPad * pad, GstFlowReturn ret)
{
  gst_sam_mutex_lock (&self->overlay.lock);
  if (keep_combined (self, pad))
    gst_flow_combiner_update_pad_flow (self->overlay.combiner, pad, ret);
  gst_sam_mutex_unlock (&self->overlay.lock);
}

void
gst_sam_pad_push (GstSamTrack * self, GstBuffer * buf, gboolean fresh)
{
  GstPad *pad = ref_current_pad (self);

  self->overlay.pushing = 0;
  if (fresh)
    gst_clear_buffer (&self->overlay.layer);
  if (!pad) {
    set_combined (self, NULL);
    return;
  }
  combine (self, pad, push_layer (self, pad, buf, fresh));
  gst_object_unref (pad);
}

void
gst_sam_pad_push_gap (GstSamTrack * self, GstBuffer * buf)
{
  GstPad *pad = ref_current_pad (self);

  if (!pad)
    return;
  if (GST_BUFFER_PTS_IS_VALID (buf))
    gst_pad_push_event (pad, gst_event_new_gap (GST_BUFFER_PTS (buf),
            GST_BUFFER_DURATION (buf)));
  gst_object_unref (pad);
}

void
gst_sam_pad_init (GstSamTrack * self)
{
  GstPad *sink = GST_BASE_TRANSFORM_SINK_PAD (self);

  gst_sam_mutex_init (&self->overlay.lock, GST_SAM_RANK_PAD);
  gst_video_info_init (&self->overlay.info);
  self->overlay.combiner = gst_flow_combiner_new ();
  gst_flow_combiner_add_pad (self->overlay.combiner,
      GST_BASE_TRANSFORM_SRC_PAD (self));
  self->overlay.parent_chain = GST_PAD_CHAINFUNC (sink);
  gst_pad_set_chain_function (sink, GST_DEBUG_FUNCPTR (gst_sam_pad_chain));
}

void
gst_sam_pad_finalize (GstSamTrack * self)
{
  gst_sam_pad_stop (self);
  gst_flow_combiner_free (self->overlay.combiner);
  gst_sam_mutex_clear (&self->overlay.lock);
}

void
gst_sam_pad_start (GstSamTrack * self)
{
  gst_flow_combiner_reset (self->overlay.combiner);
  gst_sam_mutex_lock (&self->overlay.lock);
  gst_video_info_init (&self->overlay.info);
  gst_sam_mutex_unlock (&self->overlay.lock);
}

void
gst_sam_pad_stop (GstSamTrack * self)
{
  set_combined (self, NULL);
  free_pool (&self->overlay);
}
