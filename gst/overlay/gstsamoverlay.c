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
 * Frames with memory:CUDAMemory are drawn on where they are, by the GPU.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=in.mp4 ! decodebin ! videoconvert ! \
 *   samtrack initial-prompt="box,x=100,y=80,w=120,h=220" ! \
 *   samoverlay opacity=0.4 draw-boxes=true ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "gstsamoverlay.h"

#include "common/gstsamfilter.h"
#include "common/gstsamframe.h"
#include "common/gstsammutex.h"
#include "gstsamcompose.h"
#include "gstsampaint.h"

GST_DEBUG_CATEGORY_STATIC (gst_sam_overlay_debug);
#define GST_CAT_DEFAULT gst_sam_overlay_debug

struct _GstSamOverlay
{
  GstBaseTransform parent;

  GstSamPaintStyle style;       /* properties, guarded by the object lock */

  /* streaming thread only */
  GstVideoInfo info;
  GstSamDrawing drawing;
  GstSamPainter gpu;
  GstSamPaint paint;            /* where the GPU does not paint */
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
};

#define SETTABLE (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_PLAYING)

#define gst_sam_overlay_parent_class parent_class
G_DEFINE_TYPE (GstSamOverlay, gst_sam_overlay, GST_TYPE_BASE_TRANSFORM);
GST_ELEMENT_REGISTER_DEFINE (samoverlay, "samoverlay", GST_RANK_NONE,
    GST_TYPE_SAM_OVERLAY);

static gboolean
gst_sam_overlay_set_caps (GstBaseTransform * base, GstCaps * in, GstCaps * out)
{
  return gst_video_info_from_caps (&GST_SAM_OVERLAY (base)->info, in);
}

static gboolean
gst_sam_overlay_stop (GstBaseTransform * base)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (base);

  gst_sam_painter_close (&self->gpu);
  gst_sam_paint_clear (&self->paint);
  return TRUE;
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
draw_mapped (GstSamOverlay * self, GstBuffer * buf)
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
  ok = gst_sam_paint_draw (&self->paint, &self->drawing, &frame, &why);
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

/* Draw one meta. The frame is not mapped if there is nothing to draw. */
static GstFlowReturn
draw_meta (GstSamOverlay * self, GstBuffer * buf, GstMeta * meta,
    guint tracker, const GstSamPaintStyle * style, gboolean on_gpu)
{
  gboolean drawn;
  gchar *why = NULL;

  if (!gst_sam_meta_read (self->report, meta) ||
      (!self->report->num_objects && !self->report->num_marks) ||
      !gst_sam_compose (&self->drawing, style, self->report, tracker,
          &self->info))
    return GST_FLOW_OK;
  drawn = on_gpu && gst_sam_painter_draw_on_gpu (&self->gpu,
      &self->drawing, buf, &self->info, &why);
  warn (self, why);
  return drawn ? GST_FLOW_OK : draw_mapped (self, buf);
}

static GstFlowReturn
gst_sam_overlay_transform_ip (GstBaseTransform * base, GstBuffer * buf)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (base);
  const GstMetaInfo *info = gst_meta_get_info (GST_SAM_META_NAME);
  GstFlowReturn ret = GST_FLOW_OK;
  GstSamPaintStyle style;
  gpointer state = NULL;
  gchar *why = NULL;
  gboolean on_gpu;
  guint tracker = 0;
  GstMeta *meta;

  /* A frame that is missing may come without pixels. */
  if (GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_GAP) &&
      !gst_buffer_get_size (buf))
    return GST_FLOW_OK;
  on_gpu = gst_sam_painter_open_on_gpu (&self->gpu, buf, &self->info,
      &why);
  warn (self, why);
  gst_sam_object_lock (self);
  style = self->style;
  gst_sam_object_unlock (self);
  while (ret == GST_FLOW_OK &&
      (meta = gst_buffer_iterate_meta_filtered (buf, &state, info->api)))
    ret = draw_meta (self, buf, meta, tracker++, &style, on_gpu);
  return ret;
}

static void
gst_sam_overlay_set_property (GObject * object, guint id, const GValue * value,
    GParamSpec * pspec)
{
  GstSamOverlay *self = GST_SAM_OVERLAY (object);
  GstSamPaintStyle *style = &self->style;

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
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
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

  gst_sam_object_lock (self);
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
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
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
  gst_sam_drawing_clear (&self->drawing);
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
   * Only letters, digits and a few signs are drawn.
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

  gst_sam_filter_class_init (base_class,
      GST_VIDEO_OVERLAY_COMPOSITION_BLEND_FORMATS);
  gst_element_class_set_static_metadata (element_class, "Object mask overlay",
      "Filter/Effect/Overlay/Video",
      "Draws the masks, outlines, ids and scores that samtrack attached",
      "The samtrack authors");

  base_class->set_caps = GST_DEBUG_FUNCPTR (gst_sam_overlay_set_caps);
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
  self->report = g_new0 (GstSamReport, 1);
  gst_video_info_init (&self->info);
}
