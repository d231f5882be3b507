/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-samoverlay
 * @title: samoverlay
 * @see_also: samtrack
 *
 * Draws what #samtrack found: masks, their outlines, ids and scores, from the
 * GstSamTrackMeta of each frame. Frames without one pass untouched. Masks that
 * are stale, because the frame they belong to has passed, are drawn paler.
 * Behind several trackers each has colours of its own. Outlines are antialiased
 * and have a dark contour.
 *
 * #GstSamOverlay:preview, #GstSamOverlay:text and #GstSamOverlay:time-bar are
 * drawn in front of that.
 *
 * Frames with memory:CUDAMemory are drawn on where they are, by the GPU.
 *
 * With mode=composition the masks are attached as a
 * GstVideoOverlayCompositionMeta where downstream takes it, and the sink draws
 * them; else they are drawn as with mode=blend.
 *
 * Other modes change what the masks cover, on the GPU where frames are there.
 * They blur objects, turn them into squares,
 * paint them over, or cut them, or all else, out. Masks of an earlier frame
 * grow by the motion that was seen, and the last place of a lost object stays
 * covered for #GstSamOverlay:hold. With #GstSamOverlay:privacy a frame passes
 * only if all objects to hide were found on it.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=in.mp4 ! decodebin ! videoconvert ! \
 *   samtrack initial-prompt="box,x=100,y=80,w=120,h=220" ! \
 *   samoverlay opacity=0.4 draw-boxes=true ! videoconvert ! autovideosink
 * gst-launch-1.0 filesrc location=in.mp4 ! decodebin ! videoconvert ! \
 *   samtrack initial-prompt="box,x=100,y=80,w=120,h=220" ! \
 *   samoverlay mode=blur privacy=true ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "gstsamoverlay.h"

#include "common/gstsamcaps.h"
#include "common/gstsamfilter.h"
#include "common/gstsamframe.h"
#include "common/gstsamfrozen.h"
#include "common/gstsammutex.h"
#include "gstsamattach.h"
#include "gstsamcaption.h"
#include "gstsamcompose.h"
#include "gstsamhide.h"
#include "gstsamhint.h"

#define COMPOSITION GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION

GST_DEBUG_CATEGORY_STATIC (gst_sam_overlay_debug);
#define GST_CAT_DEFAULT gst_sam_overlay_debug

struct _GstSamOverlay
{
  GstBaseTransform parent;

  /* properties, guarded by the object lock */
  GstSamPaintStyle style;
  GstSamHideStyle hiding;
  GstSamCaptionStyle captions;
  gboolean is_started;
  gboolean is_refused;          /* downstream takes compositions and draws none;
                                 * until it changes, none are offered */

  /* likewise: of the last frame */
  GstSamBar bar;

  /* streaming thread only */
  GstVideoInfo info;
  GstSamDrawing drawing;
  GstSamPainter gpu;
  GstSamPaint paint;            /* where the GPU does not paint */
  GstSamAttach attach;          /* where nothing is painted */
  gboolean attaches;
  gboolean asks;                /* whether downstream takes what is attached
                                 * is to be asked with the next frame */
  GstSamHide hide;
  GstSamCaption caption;
  GstSamHint hint;
  GstClockTime time;            /* of the last frame */
  GstSamReport *report;
};

enum
{
  PROP_0,
  PROP_OPACITY,
  PROP_LINE_WIDTH,
  PROP_DRAW_MASKS,
  PROP_DRAW_OUTLINES,
  PROP_DRAW_BOXES,
  PROP_DRAW_IDS,
  PROP_DRAW_LABELS,
  PROP_DRAW_SCORES,
  PROP_DIM_STALE,
  PROP_DRAW_POINTS,
  PROP_STATS,
  PROP_CAPTION,                 /* and those that follow it */
  PROP_HIDING = PROP_CAPTION + GST_SAM_CAPTION_NUM,     /* likewise */
};

#define SETTABLE (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_PLAYING)

#define gst_sam_overlay_parent_class parent_class
G_DEFINE_TYPE_WITH_CODE (GstSamOverlay, gst_sam_overlay,
    GST_TYPE_BASE_TRANSFORM, G_IMPLEMENT_INTERFACE (GST_TYPE_PRESET, NULL));
GST_ELEMENT_REGISTER_DEFINE (samoverlay, "samoverlay", GST_RANK_NONE,
    GST_TYPE_SAM_OVERLAY);

/* The selection and the captions of a frame are its own: properties may change
 * meanwhile. Drop them with gst_sam_selection_unref() and
 * gst_sam_caption_style_clear(). */
static void
take_styles (GstSamOverlay * self, GstSamPaintStyle * style,
    GstSamHideStyle * hiding, GstSamCaptionStyle * captions)
{
  gst_sam_object_lock (self);
  *style = self->style;
  gst_sam_hide_style_copy (hiding, &self->hiding);
  gst_sam_caption_style_copy (captions, &self->captions);
  gst_sam_object_unlock (self);
  style->selection = hiding->selection;
  style->has_bar = captions->bar > 0;
}

/* ---- Whether a composition is attached */

static gboolean
has_composition (const GstCaps * caps, guint i)
{
  GstCapsFeatures *features = gst_caps_get_features (caps, i);

  return features && gst_caps_features_contains (features, COMPOSITION);
}

/* The caps with a composition, or without; those in GPU memory are painted
 * on. */
static GstCaps *
copy_caps (const GstCaps * caps, gboolean with)
{
  GstCaps *copy = gst_caps_new_empty ();
  guint i;

  for (i = 0; i < gst_caps_get_size (caps); i++) {
    GstCapsFeatures *features = gst_caps_get_features (caps, i);
    GstCapsFeatures *other = features ? gst_caps_features_copy (features) :
        gst_caps_features_new_empty ();

    if (!with)
      gst_caps_features_remove (other, COMPOSITION);
    else if (!has_composition (caps, i) &&
        !gst_caps_features_contains (other, "memory:CUDAMemory"))
      gst_caps_features_add (other, COMPOSITION);
    gst_caps_append_structure_full (copy,
        gst_structure_copy (gst_caps_get_structure (caps, i)), other);
  }
  return copy;
}

static void
set_refused (GstSamOverlay * self, gboolean is_refused)
{
  gst_sam_object_lock (self);
  self->is_refused = is_refused;
  gst_sam_object_unlock (self);
}

static gboolean
is_composition (GstSamOverlay * self)
{
  gboolean is;

  gst_sam_object_lock (self);
  is = self->hiding.mode == GST_SAM_OVERLAY_MODE_COMPOSITION &&
      !self->is_refused;
  gst_sam_object_unlock (self);
  return is && gst_sam_attach_is_possible ();
}

/* Frames that have a composition keep it; others may get one. */
static GstCaps *
gst_sam_overlay_transform_caps (GstBaseTransform * base,
    GstPadDirection direction, GstCaps * caps, GstCaps * filter)
{
  GstCaps *all, *other, *result;

  if (!is_composition (GST_SAM_OVERLAY (base))) {
    all = gst_caps_ref (caps);
  } else if (direction == GST_PAD_SINK) {
    all = gst_caps_merge (copy_caps (caps, TRUE), gst_caps_ref (caps));
  } else {
    other = copy_caps (caps, FALSE);
    all = gst_caps_merge (gst_caps_ref (caps), other);
  }
  if (!filter)
    return all;
  result = gst_caps_intersect_full (filter, all, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (all);
  return result;
}

/* What takes a composition is preferred, in whatever order it is named. */
static GstCaps *
gst_sam_overlay_fixate_caps (GstBaseTransform * base,
    GstPadDirection direction, GstCaps * caps, GstCaps * other)
{
  GstCaps *chosen;
  guint i;

  for (i = 0; i < gst_caps_get_size (other); i++) {
    if (direction != GST_PAD_SINK || !has_composition (other, i))
      continue;
    chosen = gst_caps_copy_nth (other, i);
    gst_caps_unref (other);
    return gst_caps_fixate (chosen);
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->fixate_caps (base, direction,
      caps, other);
}

/* Whether downstream, which takes the caps, says that it draws. Many take all
 * caps there are, and draw nothing. */
static gboolean
draws_composition (GstBaseTransform * base)
{
  GstCaps *caps = gst_pad_get_current_caps (base->srcpad);
  GstQuery *query = gst_query_new_allocation (caps, FALSE);
  const gboolean draws = gst_pad_peer_query (base->srcpad, query) &&
      gst_query_find_allocation_meta (query,
      GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, NULL);

  gst_query_unref (query);
  gst_caps_unref (caps);
  return draws;
}

/* With the first frame behind its caps, since elements downstream must know
 * these: where nobody draws, frames go on without a composition. */
static void
ask_downstream (GstSamOverlay * self)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (self);
  GstCaps *caps, *plain;

  self->asks = FALSE;
  if (draws_composition (base))
    return;
  set_refused (self, TRUE);
  caps = gst_pad_get_current_caps (base->srcpad);
  plain = copy_caps (caps, FALSE);
  self->attaches = !gst_base_transform_update_src_caps (base, plain);
  gst_caps_unref (plain);
  gst_caps_unref (caps);
}

static gboolean
gst_sam_overlay_set_caps (GstBaseTransform * base, GstCaps * in, GstCaps * out)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (base);
  GstVideoInfo info;
  gchar *why = NULL;

  if (!gst_sam_caps_parse (&info, in))
    return FALSE;
  if (!gst_sam_hide_check_caps (&self->hiding, &info, &why)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("%s", why), (NULL));
    g_free (why);
    return FALSE;
  }
  gst_sam_hide_set_info (&self->hide, &self->info, &info);
  self->info = info;
  self->attaches = is_composition (self) && has_composition (out, 0);
  /* what comes with one has been promised that it is drawn */
  self->asks = self->attaches && !has_composition (in, 0);
  gst_sam_attach_set_info (&self->attach, &info);
  if (!self->attaches)
    gst_sam_caps_tell (GST_ELEMENT (self), in);
  return TRUE;
}

static gboolean
gst_sam_overlay_start (GstBaseTransform * base)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (base);
  gchar *why = NULL;

  gst_sam_object_lock (self);
  self->is_started = TRUE;
  self->is_refused = FALSE;
  gst_sam_object_unlock (self);
  self->time = 0;
  if (gst_sam_hide_style_draws (&self->hiding))
    gst_sam_drawing_prepare (&self->drawing);
  g_atomic_int_set (&self->hide.num_frames, 0);
  g_atomic_int_set (&self->hide.num_held, 0);
  g_atomic_int_set (&self->hide.num_whole, 0);
  if (gst_sam_hide_start (&self->hide, &self->hiding, &why))
    return TRUE;
  GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("%s", why), (NULL));
  g_free (why);
  gst_sam_object_lock (self);
  self->is_started = FALSE;
  gst_sam_object_unlock (self);
  return FALSE;
}

static gboolean
gst_sam_overlay_stop (GstBaseTransform * base)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (base);

  gst_sam_painter_close (&self->gpu);
  gst_sam_paint_clear (&self->paint);
  gst_sam_attach_clear (&self->attach);
  gst_sam_hide_clear (&self->hide);
  gst_video_info_init (&self->info);
  gst_sam_object_lock (self);
  self->is_started = FALSE;
  self->bar.duration = GST_CLOCK_TIME_NONE;
  gst_sam_object_unlock (self);
  return TRUE;
}

static gboolean
gst_sam_overlay_sink_event (GstBaseTransform * base, GstEvent * event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP ||
      GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START)
    gst_sam_hide_reset (&GST_SAM_OVERLAY (base)->hide);
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (base, event);
}

static void
gst_sam_overlay_before_transform (GstBaseTransform * base, GstBuffer * buf)
{
  GstClockTime time = GST_CLOCK_TIME_NONE;

  if (base->segment.format == GST_FORMAT_TIME)
    time = gst_segment_to_stream_time (&base->segment, GST_FORMAT_TIME,
        GST_BUFFER_PTS (buf));
  if (GST_CLOCK_TIME_IS_VALID (time))
    gst_object_sync_values (GST_OBJECT (base), time);
}

/* Draw in system memory; a frame of the GPU is copied to it and back. */
static GstFlowReturn
draw_mapped (GstSamOverlay * self, GstSamDrawing * drawing, GstBuffer * buf)
{
  GstVideoFrame frame;
  gchar *why;
  gboolean ok;

  if (!gst_sam_frame_map (&frame, &self->info, buf, GST_MAP_READWRITE, &why)) {
    GST_ELEMENT_ERROR (self, STREAM, FAILED,
        ("The frame was refused: %s.", why), (NULL));
    g_free (why);
    return GST_FLOW_ERROR;
  }
  if (!gst_sam_paint_prepare (&self->paint, &frame)) {
    gst_video_frame_unmap (&frame);
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("Out of memory: cannot draw on frames of %d x %d pixels.",
            self->info.width, self->info.height), (NULL));
    return GST_FLOW_ERROR;
  }
  ok = gst_sam_paint_draw (&self->paint, drawing, &frame, &why);
  gst_video_frame_unmap (&frame);
  if (ok)
    return GST_FLOW_OK;
  GST_ELEMENT_ERROR (self, STREAM, FAILED, ("Cannot draw on the frame: %s.",
          why), (NULL));
  g_free (why);
  return GST_FLOW_ERROR;
}

static void
warn (GstSamOverlay * self, gchar * why)
{
  if (why)
    GST_WARNING_OBJECT (self,
        "drawing in system memory instead of on the GPU: %s", why);
  g_free (why);
}

static GstFlowReturn
draw (GstSamOverlay * self, GstSamDrawing * drawing, GstBuffer * buf,
    gboolean on_gpu)
{
  gchar *why = NULL;
  const gboolean drawn = on_gpu && gst_sam_painter_draw_on_gpu (&self->gpu,
      drawing, buf, &self->info, &why);

  warn (self, why);
  return drawn ? GST_FLOW_OK : draw_mapped (self, drawing, buf);
}

static GstFlowReturn
attach (GstSamOverlay * self)
{
  gchar *why;

  if (gst_sam_attach_add (&self->attach, &self->drawing, &why))
    return GST_FLOW_OK;
  GST_ELEMENT_ERROR (self, STREAM, FAILED, ("Cannot draw the masks: %s.",
          why), (NULL));
  g_free (why);
  return GST_FLOW_ERROR;
}

/* Draw one meta. The frame is not mapped if there is nothing to draw. */
static GstFlowReturn
draw_meta (GstSamOverlay * self, GstBuffer * buf, GstMeta * meta,
    guint tracker, const GstSamPaintStyle * style, gboolean on_gpu)
{
  if (!gst_sam_meta_read (self->report, meta))
    return GST_FLOW_OK;
  gst_sam_selection_filter (style->selection, self->report);
  if ((!self->report->num_objects && !self->report->num_marks) ||
      !gst_sam_compose (&self->drawing, style, self->report, tracker,
          self->attaches ? &self->attach.info : &self->info))
    return GST_FLOW_OK;
  if (self->attaches)
    return attach (self);
  return draw (self, &self->drawing, buf, on_gpu);
}

static GstFlowReturn
draw_metas (GstSamOverlay * self, GstBuffer * buf,
    const GstSamPaintStyle * style)
{
  const GstMetaInfo *info = gst_meta_get_info (GST_SAM_META_NAME);
  GstFlowReturn ret = GST_FLOW_OK;
  gpointer state = NULL;
  gchar *why = NULL;
  gboolean on_gpu;
  guint tracker = 0;
  GstMeta *meta;

  if (self->asks)
    ask_downstream (self);
  on_gpu = gst_sam_painter_open_on_gpu (&self->gpu, buf, &self->info,
      &why);
  warn (self, why);
  while (ret == GST_FLOW_OK &&
      (meta = gst_buffer_iterate_meta_filtered (buf, &state, info->api)))
    ret = draw_meta (self, buf, meta, tracker++, style, on_gpu);
  if (self->attaches)
    gst_sam_attach_finish (&self->attach, buf);
  return ret;
}

/* Without timestamps, frames follow each other as the caps say. */
static GstClockTime
get_time (GstSamOverlay * self, GstBuffer * buf)
{
  const GstVideoInfo *info = &self->info;

  if (GST_BUFFER_PTS_IS_VALID (buf))
    self->time = GST_BUFFER_PTS (buf);
  else
    self->time += info->fps_n > 0 ? gst_util_uint64_scale (GST_SECOND,
        info->fps_d, info->fps_n) : GST_SECOND / 30;
  return self->time;
}

static GstFlowReturn
hide (GstSamOverlay * self, GstBuffer * buf, const GstSamHideStyle * style)
{
  const GstClockTime time = get_time (self, buf);
  gchar *why = NULL;
  gboolean on_gpu, ok;

  on_gpu = gst_sam_painter_open_on_gpu (&self->gpu, buf, &self->info, &why);
  warn (self, why);
  why = NULL;
  ok = on_gpu ? gst_sam_hide_frame_on_gpu (&self->hide, style, buf,
      &self->info, time, self->report, &self->gpu, &why) :
      gst_sam_hide_frame (&self->hide, style, buf, &self->info, time,
      self->report, &self->paint, &why);
  if (ok)
    return GST_FLOW_OK;
  GST_ELEMENT_ERROR (self, STREAM, FAILED, ("Cannot change the frame: %s.",
          why), (NULL));
  g_free (why);
  return GST_FLOW_ERROR;
}

static GstClockTime
get_stream_time (GstSamOverlay * self, GstBuffer * buf)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;

  return segment->format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID (buf) ?
      gst_segment_to_stream_time (segment, GST_FORMAT_TIME,
      GST_BUFFER_PTS (buf)) : GST_CLOCK_TIME_NONE;
}

/* What is in front of all else. */
static GstFlowReturn
draw_in_front (GstSamOverlay * self, GstSamDrawing * drawing, GstBuffer * buf)
{
  gchar *why = NULL;
  const gboolean on_gpu = gst_sam_painter_open_on_gpu (&self->gpu, buf,
      &self->info, &why);

  warn (self, why);
  return draw (self, drawing, buf, on_gpu);
}

static GstFlowReturn
draw_captions (GstSamOverlay * self, GstBuffer * buf,
    const GstSamCaptionStyle * style)
{
  gint64 duration = -1;
  GstSamBar bar;
  gboolean any;

  if (style->bar > 0)
    gst_pad_peer_query_duration (GST_BASE_TRANSFORM_SINK_PAD (self),
        GST_FORMAT_TIME, &duration);
  any = gst_sam_caption_compose (&self->caption, style, &self->info,
      get_stream_time (self, buf), duration > 0 ? (GstClockTime) duration : 0,
      &bar);
  gst_sam_object_lock (self);
  bar.pressed = self->bar.pressed;
  self->bar = bar;
  gst_sam_object_unlock (self);
  return any ? draw_in_front (self, &self->caption.drawing, buf) : GST_FLOW_OK;
}

static GstFlowReturn
gst_sam_overlay_transform_ip (GstBaseTransform * base, GstBuffer * buf)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (base);
  GstSamPaintStyle style;
  GstSamHideStyle hiding;
  GstSamCaptionStyle captions;
  GstFlowReturn ret;

  /* A frame that is missing may come without pixels. */
  if (GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_GAP) &&
      !gst_buffer_get_size (buf))
    return GST_FLOW_OK;
  take_styles (self, &style, &hiding, &captions);
  ret = gst_sam_hide_style_draws (&hiding) ? draw_metas (self, buf, &style) :
      hide (self, buf, &hiding);
  if (ret == GST_FLOW_OK &&
      gst_sam_hint_compose (&self->hint, captions.preview, &self->info))
    ret = draw_in_front (self, &self->hint.drawing, buf);
  if (ret == GST_FLOW_OK)
    ret = draw_captions (self, buf, &captions);
  gst_sam_selection_unref (hiding.selection);
  gst_sam_caption_style_clear (&captions);
  return ret;
}

/* A click on the bar of time is for the application. What is new downstream may
 * draw compositions. */
static gboolean
gst_sam_overlay_src_event (GstBaseTransform * base, GstEvent * event)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (base);
  const gchar *what = NULL;
  GstClockTime position;

  if (GST_EVENT_TYPE (event) == GST_EVENT_RECONFIGURE)
    set_refused (self, FALSE);
  if (GST_EVENT_TYPE (event) == GST_EVENT_NAVIGATION) {
    gst_sam_object_lock (self);
    what = gst_sam_bar_handle (&self->bar, event, &position);
    gst_sam_object_unlock (self);
  }
  if (!what)
    return GST_BASE_TRANSFORM_CLASS (parent_class)->src_event (base, event);
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self),
          gst_structure_new ("samoverlay-time-bar", "event", G_TYPE_STRING,
              what, "position", G_TYPE_UINT64, position, NULL)));
  gst_event_unref (event);
  return TRUE;
}

/* A property of the modes that change frames. */
static void
set_hiding (GstSamOverlay * self, guint id, const GValue * value,
    GParamSpec * spec)
{
  gboolean is_started, is_frozen;
  gchar *bad = NULL;

  gst_sam_object_lock (self);
  is_started = self->is_started;
  is_frozen = is_started && (spec->flags & GST_PARAM_MUTABLE_READY);
  if (!is_frozen) {
    gst_sam_hide_style_set (&self->hiding, id, value);
    bad = is_started ? g_strdup (self->hiding.bad) : NULL;
  }
  gst_sam_object_unlock (self);
  if (is_frozen)
    gst_sam_frozen_refuse (GST_ELEMENT (self), spec, value,
        "samoverlay-refused", FALSE);
  if (bad)
    GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS, ("The property %s; what was "
            "set before stays in use.", bad), (NULL));
  g_free (bad);
}

static GstStructure *
get_stats (GstSamOverlay * self)
{
  return gst_structure_new ("samoverlay-stats",
      "frames", G_TYPE_UINT, (guint) g_atomic_int_get (&self->hide.num_frames),
      "held", G_TYPE_UINT, (guint) g_atomic_int_get (&self->hide.num_held),
      "covered", G_TYPE_UINT, (guint) g_atomic_int_get (&self->hide.num_whole),
      NULL);
}

static void
gst_sam_overlay_set_property (GObject * object, guint id, const GValue * value,
    GParamSpec * pspec)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (object);
  GstSamPaintStyle *style = &self->style;

  if (id >= PROP_HIDING) {
    set_hiding (self, id - PROP_HIDING, value, pspec);
    return;
  }
  gst_sam_object_lock (self);
  switch (id) {
    case PROP_OPACITY:
      style->opacity = g_value_get_double (value);
      break;
    case PROP_LINE_WIDTH:
      style->line_width = g_value_get_uint (value);
      break;
    case PROP_DRAW_MASKS:
      style->masks = g_value_get_boolean (value);
      break;
    case PROP_DRAW_OUTLINES:
      style->outlines = g_value_get_boolean (value);
      break;
    case PROP_DRAW_BOXES:
      style->boxes = g_value_get_boolean (value);
      break;
    case PROP_DRAW_IDS:
      style->ids = g_value_get_boolean (value);
      break;
    case PROP_DRAW_LABELS:
      style->names = g_value_get_boolean (value);
      break;
    case PROP_DRAW_SCORES:
      style->scores = g_value_get_boolean (value);
      break;
    case PROP_DIM_STALE:
      style->dim_stale = g_value_get_boolean (value);
      break;
    case PROP_DRAW_POINTS:
      style->points = g_value_get_boolean (value);
      break;
    default:
      gst_sam_caption_style_set (&self->captions, id - PROP_CAPTION, value);
      break;
  }
  gst_sam_object_unlock (self);
}

static void
gst_sam_overlay_get_property (GObject * object, guint id, GValue * value,
    GParamSpec * pspec)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (object);
  const GstSamPaintStyle *style = &self->style;

  if (id == PROP_STATS) {
    g_value_take_boxed (value, get_stats (self));
    return;
  }
  gst_sam_object_lock (self);
  if (id >= PROP_HIDING) {
    gst_sam_hide_style_get (&self->hiding, id - PROP_HIDING, value);
    gst_sam_object_unlock (self);
    return;
  }
  switch (id) {
    case PROP_OPACITY:
      g_value_set_double (value, style->opacity);
      break;
    case PROP_LINE_WIDTH:
      g_value_set_uint (value, style->line_width);
      break;
    case PROP_DRAW_MASKS:
      g_value_set_boolean (value, style->masks);
      break;
    case PROP_DRAW_OUTLINES:
      g_value_set_boolean (value, style->outlines);
      break;
    case PROP_DRAW_BOXES:
      g_value_set_boolean (value, style->boxes);
      break;
    case PROP_DRAW_IDS:
      g_value_set_boolean (value, style->ids);
      break;
    case PROP_DRAW_LABELS:
      g_value_set_boolean (value, style->names);
      break;
    case PROP_DRAW_SCORES:
      g_value_set_boolean (value, style->scores);
      break;
    case PROP_DIM_STALE:
      g_value_set_boolean (value, style->dim_stale);
      break;
    case PROP_DRAW_POINTS:
      g_value_set_boolean (value, style->points);
      break;
    default:
      gst_sam_caption_style_get (&self->captions, id - PROP_CAPTION, value);
      break;
  }
  gst_sam_object_unlock (self);
}

static void
gst_sam_overlay_finalize (GObject * object)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (object);

  gst_sam_painter_close (&self->gpu);
  gst_sam_paint_clear (&self->paint);
  gst_sam_attach_clear (&self->attach);
  gst_sam_hide_clear (&self->hide);
  gst_sam_hide_style_clear (&self->hiding);
  gst_sam_drawing_clear (&self->drawing);
  gst_sam_caption_clear (&self->caption);
  gst_sam_hint_clear (&self->hint);
  gst_sam_caption_style_clear (&self->captions);
  g_free (self->report);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
install_properties (GObjectClass * klass)
{
  /**
   * GstSamOverlay:opacity:
   *
   * Opacity of the filled masks, from 0 to 1.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_OPACITY,
      g_param_spec_double ("opacity", "Opacity",
          "Opacity of the filled masks", 0, 1, 0.5,
          SETTABLE | GST_PARAM_CONTROLLABLE));
  /**
   * GstSamOverlay:line-width:
   *
   * Width of outlines and boxes in pixels.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_LINE_WIDTH,
      g_param_spec_uint ("line-width", "Line width",
          "Width of outlines and boxes, in pixels", 0, 64, 2,
          SETTABLE | GST_PARAM_CONTROLLABLE));
  /**
   * GstSamOverlay:stats:
   *
   * A structure `samoverlay-stats` about the modes that change frames: `frames`
   * (uint), `held` of them that were not shown, the last one before them was,
   * and `covered` as a whole.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Stats",
          "Numbers of frames changed, held and covered as a whole",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
install_switch (GObjectClass * klass, guint id, const gchar * name,
    const gchar * nick, const gchar * blurb, gboolean value)
{
  g_object_class_install_property (klass, id,
      g_param_spec_boolean (name, nick, blurb, value, SETTABLE));
}

static void
install_switches (GObjectClass * klass)
{
  /**
   * GstSamOverlay:draw-masks:
   *
   * Whether to fill the masks.
   *
   * Since: 0.1
   */
  install_switch (klass, PROP_DRAW_MASKS, "draw-masks", "Draw masks",
      "Fill the masks", TRUE);
  /**
   * GstSamOverlay:draw-outlines:
   *
   * Whether to draw the outlines of the masks.
   *
   * Since: 0.1
   */
  install_switch (klass, PROP_DRAW_OUTLINES, "draw-outlines", "Draw outlines",
      "Draw the outlines of the masks", TRUE);
  /**
   * GstSamOverlay:draw-boxes:
   *
   * Whether to draw the boxes around the masks.
   *
   * Since: 0.1
   */
  install_switch (klass, PROP_DRAW_BOXES, "draw-boxes", "Draw boxes",
      "Draw the boxes around the masks", FALSE);
  /**
   * GstSamOverlay:draw-ids:
   *
   * Whether to write the ids of the objects.
   *
   * Since: 0.1
   */
  install_switch (klass, PROP_DRAW_IDS, "draw-ids", "Draw ids",
      "Write the ids of the objects", TRUE);
  /**
   * GstSamOverlay:draw-labels:
   *
   * Whether to write the names of the objects' classes, which a detector tells.
   * Without Pango only letters of ASCII, digits and a few signs are drawn.
   *
   * Since: 0.1
   */
  install_switch (klass, PROP_DRAW_LABELS, "draw-labels", "Draw labels",
      "Write the names of the objects' classes", TRUE);
  /**
   * GstSamOverlay:draw-scores:
   *
   * Whether to write the predicted IoU of each mask: the model's estimate of
   * its intersection over union with the true mask.
   *
   * Since: 0.1
   */
  install_switch (klass, PROP_DRAW_SCORES, "draw-scores", "Draw scores",
      "Write the predicted IoU of the masks", TRUE);
  /**
   * GstSamOverlay:dim-stale:
   *
   * Whether to draw stale masks, those of an earlier frame, at half opacity; so
   * too those of objects that have not caught up after a late prompt.
   *
   * Since: 0.1
   */
  install_switch (klass, PROP_DIM_STALE, "dim-stale", "Dim stale",
      "Draw the masks of an earlier frame at half opacity", TRUE);
  /**
   * GstSamOverlay:draw-points:
   *
   * Whether to draw the points and boxes of prompts, from the moment they are
   * given until a second after their result is seen, and to mark the object
   * that clicks are for.
   *
   * Since: 0.1
   */
  install_switch (klass, PROP_DRAW_POINTS, "draw-points", "Draw points",
      "Draw the points and boxes of recent and waiting prompts, and mark the "
      "current object", TRUE);
}

static void
gst_sam_overlay_class_init (GstSamOverlayClass * klass)
{
  GObjectClass *gobject_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *base_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_sam_overlay_debug, "samoverlay", 0,
      "object mask overlay");

  gobject_class->set_property = gst_sam_overlay_set_property;
  gobject_class->get_property = gst_sam_overlay_get_property;
  gobject_class->finalize = gst_sam_overlay_finalize;
  install_properties (gobject_class);
  install_switches (gobject_class);
  gst_sam_caption_style_install (gobject_class, PROP_CAPTION);
  gst_sam_hide_style_install (gobject_class, PROP_HIDING);

  gst_sam_filter_class_init (base_class,
      GST_VIDEO_OVERLAY_COMPOSITION_BLEND_FORMATS, NULL);
  gst_element_class_set_static_metadata (element_class, "Object mask overlay",
      "Filter/Effect/Overlay/Video",
      "Draws the masks, outlines, ids and scores that samtrack attached, or "
      "hides what they cover",
      "The samtrack authors");

  base_class->transform_caps =
      GST_DEBUG_FUNCPTR (gst_sam_overlay_transform_caps);
  base_class->fixate_caps = GST_DEBUG_FUNCPTR (gst_sam_overlay_fixate_caps);
  base_class->set_caps = GST_DEBUG_FUNCPTR (gst_sam_overlay_set_caps);
  base_class->start = GST_DEBUG_FUNCPTR (gst_sam_overlay_start);
  base_class->sink_event = GST_DEBUG_FUNCPTR (gst_sam_overlay_sink_event);
  base_class->src_event = GST_DEBUG_FUNCPTR (gst_sam_overlay_src_event);
  base_class->stop = GST_DEBUG_FUNCPTR (gst_sam_overlay_stop);
  base_class->before_transform =
      GST_DEBUG_FUNCPTR (gst_sam_overlay_before_transform);
  base_class->transform_ip = GST_DEBUG_FUNCPTR (gst_sam_overlay_transform_ip);
}

static void
gst_sam_overlay_init (GstSamOverlay * self)
{
  gst_sam_filter_init (GST_BASE_TRANSFORM (self));
  self->style.opacity = 0.5;
  self->style.line_width = 2;
  self->style.masks = TRUE;
  self->style.outlines = TRUE;
  self->style.ids = TRUE;
  self->style.names = TRUE;
  self->style.scores = TRUE;
  self->style.dim_stale = TRUE;
  self->style.points = TRUE;
  gst_sam_hide_style_init (&self->hiding);
  self->captions.mark = GST_CLOCK_TIME_NONE;
  self->bar.duration = GST_CLOCK_TIME_NONE;
  self->report = g_new0 (GstSamReport, 1);
  gst_video_info_init (&self->info);
}
