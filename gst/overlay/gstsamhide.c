/* SPDX-License-Identifier: MIT */
#include "gstsamhide.h"

#include "gstsamplanes.h"
#include "common/gstsamframe.h"

#include <string.h>

/* Of the frame's shorter side. */
#define CELLS 24

gboolean
gst_sam_hide_start (GstSamHide * self, const GstSamHideStyle * style,
    gchar ** why)
{
  if (style->bad) {
    *why = g_strdup_printf ("The property %s.", style->bad);
    return FALSE;
  }
  if (style->privacy && (gst_sam_hide_style_draws (style) ||
          (style->mode == GST_SAM_OVERLAY_MODE_CUT_OUT &&
              style->keep == GST_SAM_OVERLAY_KEEP_INSIDE))) {
    *why = g_strdup ("privacy=true needs a mode that hides objects: expected "
        "mode=blur, pixelate, solid, or cut-out with keep=outside.");
    return FALSE;
  }
  if (style->mode != GST_SAM_OVERLAY_MODE_CUT_OUT ||
      style->ground != GST_SAM_OVERLAY_GROUND_PICTURE)
    return TRUE;
  if (style->location)
    return gst_sam_ground_load (&self->ground, style->location, why);
  *why = g_strdup ("ground=picture needs a PNG file: the property "
      "'ground-location' is not set.");
  return FALSE;
}

gboolean
gst_sam_hide_check_caps (const GstSamHideStyle * style,
    const GstVideoInfo * info, gchar ** why)
{
  if (gst_sam_hide_style_draws (style))
    return TRUE;
  if (style->mode == GST_SAM_OVERLAY_MODE_CUT_OUT &&
      style->ground == GST_SAM_OVERLAY_GROUND_TRANSPARENT &&
      !gst_sam_effect_has_alpha (info)) {
    *why = g_strdup_printf ("ground=transparent needs frames with alpha of 8 "
        "bits (RGBA, BGRA, ARGB, ABGR, AYUV, VUYA, A420), and these are %s.",
        gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (info)));
    return FALSE;
  }
  return TRUE;
}

void
gst_sam_hide_set_info (GstSamHide * self, const GstVideoInfo * from,
    const GstVideoInfo * to)
{
  if (!gst_video_info_is_equal (from, to))
    self->held_in = GST_SAM_HELD_NOWHERE;
  if (from->width > 0 && from->height > 0)
    gst_sam_watch_scale (&self->watch, from->width, from->height, to->width,
        to->height);
}

void
gst_sam_hide_reset (GstSamHide * self)
{
  gst_sam_watch_reset (&self->watch);
  gst_sam_surprise_reset (&self->surprise);
  self->held_in = GST_SAM_HELD_NOWHERE;
}

void
gst_sam_hide_clear (GstSamHide * self)
{
  gst_sam_hide_reset (self);
  gst_sam_coverage_clear (&self->coverage);
  gst_sam_effector_clear (&self->effector);
  gst_sam_drawing_clear (&self->drawing);
  gst_sam_ground_clear (&self->ground);
  g_clear_pointer (&self->held, g_free);
  self->held_bytes = 0;
  g_clear_pointer (&self->shades, g_free);
  self->num_shades = 0;
}

/* Whether frames may have to be held. */
static gboolean
holds (const GstSamHideStyle * style)
{
  return style->unmasked == GST_SAM_OVERLAY_UNMASKED_HOLD ||
      (style->privacy && style->unmasked != GST_SAM_OVERLAY_UNMASKED_COVER);
}

static gboolean
prepare (GstSamHide * self, const GstSamHideStyle * style, GstSamPaint * paint,
    const GstVideoFrame * frame)
{
  const gsize bytes = holds (style) ? gst_sam_planes_measure (frame) : 0;
  GstVideoInfo info;

  if (bytes > self->held_bytes) {
    g_free (self->held);
    self->held = g_try_malloc (bytes);
    self->held_bytes = self->held ? bytes : 0;
    self->held_in = GST_SAM_HELD_NOWHERE;
    if (!self->held)
      return FALSE;
  }
  if (!gst_sam_coverage_prepare (&self->coverage, frame->info.width,
          frame->info.height, SAM_MAX_SIDE) ||
      !gst_sam_effector_prepare (&self->effector, paint, frame))
    return FALSE;
  if (!self->ground.picture)
    return TRUE;
  gst_sam_effect_get_picture_info (&frame->info, FALSE, &info);
  return gst_sam_ground_fit (&self->ground, &info);
}

/* Whether the report has a label map that is what it says. */
static gboolean
map_labels (const GstSamReport * report, GstMapInfo * map,
    GstSamLabelMap * labels)
{
  if (!report->mask ||
      MAX (report->mask_width, report->mask_height) > SAM_MAX_SIDE ||
      !gst_buffer_map (report->mask, map, GST_MAP_READ))
    return FALSE;
  labels->data = map->data;
  labels->width = report->mask_width;
  labels->height = report->mask_height;
  if (map->size >= (gsize) labels->width * labels->height)
    return TRUE;
  gst_buffer_unmap (report->mask, map);
  return FALSE;
}

/* Objects that are kept, with soft edges. */
static void
add_kept (GstSamHide * self, const GstSamHideStyle * style,
    const GstSamReport * report, const GstSamLabelMap * labels)
{
  GstSamCoverage *c = &self->coverage;
  guint i;

  self->watch.num_reports++;
  self->watch.is_unmasked |= report->state == GST_SAM_REPORT_STALE;
  for (i = 0; i < report->num_objects && labels; i++) {
    const GstSamObject *object = &report->object[i];
    GstSamRect box = { 0, 0, c->width, c->height };

    if (!gst_sam_selection_has (style->selection, object, FALSE) ||
        !gst_sam_drawing_shows (object))
      continue;
    self->watch.is_unmasked |= object->behind > 0;
    box.x = (gint64) object->x * c->width / report->width;
    box.y = (gint64) object->y * c->height / report->height;
    box.w = (gint64) object->w * c->width / report->width + 2;
    box.h = (gint64) object->h * c->height / report->height + 2;
    gst_sam_coverage_add_soft (c, labels, object->slot, box);
  }
}

/* All trackers' objects on one frame. */
static void
cover (GstSamHide * self, const GstSamHideStyle * style,
    const GstSamWatchStyle * watch, gboolean is_kept, GstBuffer * buf,
    GstSamReport * report)
{
  const GstMetaInfo *info = gst_meta_get_info (GST_SAM_META_NAME);
  gpointer state = NULL;
  guint tracker = 0;
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta_filtered (buf, &state, info->api))) {
    GstSamLabelMap labels;
    GstMapInfo map;
    gboolean mapped;

    if (!gst_sam_meta_read (report, meta)) {
      tracker++;
      continue;
    }
    mapped = map_labels (report, &map, &labels);
    if (is_kept)
      add_kept (self, style, report, mapped ? &labels : NULL);
    else
      gst_sam_watch_add (&self->watch, watch, style->selection, report,
          mapped ? &labels : NULL, tracker, &self->coverage);
    if (mapped)
      gst_buffer_unmap (report->mask, &map);
    tracker++;
  }
  if (is_kept)
    self->watch.is_unmasked |= !self->watch.num_reports;
  else
    gst_sam_watch_end (&self->watch, watch, &self->coverage);
}

static void
get_effect (GstSamHide * self, const GstSamHideStyle * style,
    const GstVideoInfo * info, GstSamEffect * effect)
{
  const gint side = MIN (info->width, info->height);
  const gint cell = style->cell ? (gint) style->cell : side / CELLS;

  gst_sam_drawing_set_colours (&self->drawing, info);
  memset (effect, 0, sizeof *effect);
  effect->colour = gst_sam_drawing_get_colour (&self->drawing,
      style->colour & 0xffffff, 1);
  effect->cell = CLAMP (cell & ~3, GST_SAM_MIN_CELL, GST_SAM_MAX_CELL);
  effect->kind = style->mode == GST_SAM_OVERLAY_MODE_BLUR ?
      GST_SAM_EFFECT_BLUR : style->mode == GST_SAM_OVERLAY_MODE_PIXELATE ?
      GST_SAM_EFFECT_PIXELATE : GST_SAM_EFFECT_SOLID;
  if (style->mode != GST_SAM_OVERLAY_MODE_CUT_OUT)
    return;
  if (style->ground == GST_SAM_OVERLAY_GROUND_TRANSPARENT)
    effect->kind = GST_SAM_EFFECT_TRANSPARENT;
  if (style->ground == GST_SAM_OVERLAY_GROUND_PICTURE) {
    effect->kind = GST_SAM_EFFECT_PICTURE;
    effect->picture = &self->ground.frame;
  }
}

static gboolean
keeps_inside (const GstSamHideStyle * style)
{
  return style->mode == GST_SAM_OVERLAY_MODE_CUT_OUT &&
      style->keep == GST_SAM_OVERLAY_KEEP_INSIDE;
}

/* What is changed of the frame, or would be: TRUE if it must not pass so. */
static gboolean
find_covered (GstSamHide * self, const GstSamHideStyle * style,
    gboolean is_cut, GstBuffer * buf, GstClockTime time, GstSamReport * report)
{
  const gboolean is_kept = keeps_inside (style);
  const GstSamWatchStyle watch = {.margin = style->margin,
    .hold = style->hold,.privacy = style->privacy,.iou = style->iou
  };
  GstSamCoverage *coverage = &self->coverage;

  gst_sam_coverage_begin (coverage);
  gst_sam_watch_begin (&self->watch, time);
  cover (self, style, &watch, is_kept, buf, report);
  if (style->privacy && (gst_sam_surprise_look (&self->surprise, coverage) ||
          is_cut))
    gst_sam_watch_doubt (&self->watch);
  if (is_kept)
    gst_sam_coverage_invert (coverage);
  g_atomic_int_inc (&self->num_frames);
  return (self->watch.is_unmasked &&
      style->unmasked != GST_SAM_OVERLAY_UNMASKED_GROW) || (style->privacy &&
      (self->watch.is_unmasked || self->watch.is_unsure));
}

static void
cover_whole (GstSamHide * self, const GstVideoInfo * info)
{
  const GstSamRect whole = { 0, 0, info->width, info->height };

  gst_sam_coverage_add_rect (&self->coverage, whole);
  g_atomic_int_inc (&self->num_whole);
}

/* To whole blocks of chroma. */
static void
align (GstSamHide * self, const GstSamHideStyle * style,
    const GstVideoInfo * info)
{
  gint columns, rows;

  if (keeps_inside (style))
    return;
  gst_sam_effect_get_blocks (info, &columns, &rows);
  gst_sam_coverage_align (&self->coverage, columns, rows);
}

static gboolean
change (GstSamHide * self, const GstSamHideStyle * style, GstBuffer * buf,
    GstVideoFrame * frame, GstClockTime time, GstSamReport * report,
    GstSamPaint * paint, gchar ** why)
{
  const gboolean is_cut = style->privacy &&
      gst_sam_cut_look_at (&self->surprise.cut, frame);
  const gboolean is_stopped = find_covered (self, style, is_cut, buf, time,
      report);
  GstSamEffect effect;

  if (is_stopped && holds (style) &&
      self->held_in == GST_SAM_HELD_IN_SYSTEM) {
    gst_sam_planes_copy (frame, self->held, TRUE);
    g_atomic_int_inc (&self->num_held);
    return TRUE;
  }
  if (is_stopped)
    cover_whole (self, &frame->info);
  align (self, style, &frame->info);
  get_effect (self, style, &frame->info, &effect);
  if (!gst_sam_effector_apply (&self->effector, paint, &effect,
          &self->coverage, self->drawing.yuv, frame, why))
    return FALSE;
  if (holds (style) && !is_stopped) {
    gst_sam_planes_copy (frame, self->held, FALSE);
    self->held_in = GST_SAM_HELD_IN_SYSTEM;
  }
  return TRUE;
}

static gchar *
say_no_memory (const GstVideoInfo * info)
{
  return g_strdup_printf ("out of memory for effects on frames of %d x %d "
      "pixels", info->width, info->height);
}

gboolean
gst_sam_hide_frame (GstSamHide * self, const GstSamHideStyle * style,
    GstBuffer * buf, const GstVideoInfo * info, GstClockTime time,
    GstSamReport * report, GstSamPaint * paint, gchar ** why)
{
  GstVideoFrame frame;
  gboolean ok;

  if (!gst_sam_frame_map (&frame, info, buf, GST_MAP_READWRITE, why))
    return FALSE;
  ok = prepare (self, style, paint, &frame);
  if (!ok)
    *why = say_no_memory (info);
  else
    ok = change (self, style, buf, &frame, time, report, paint, why);
  gst_video_frame_unmap (&frame);
  return ok;
}

/* ---- On the GPU */

static gboolean
prepare_on_gpu (GstSamHide * self, const GstVideoInfo * info)
{
  const gsize words = (gsize) info->height * ((info->width + 3) / 4);
  GstVideoInfo picture;

  gst_sam_effect_get_picture_info (info, TRUE, &picture);
  if (self->ground.picture && !gst_sam_ground_fit (&self->ground, &picture))
    return FALSE;
  if (words > self->num_shades) {
    g_free (self->shades);
    self->shades = g_try_new (guint32, words);
    self->num_shades = self->shades ? words : 0;
  }
  return self->shades && gst_sam_coverage_prepare (&self->coverage,
      info->width, info->height, SAM_MAX_SIDE);
}

/* The coverage of the area as the shades of one patch: from nothing to the
 * colour. */
static void
draw_shades (GstSamHide * self, guint32 colour, struct sam_patch *patch)
{
  struct sam_overlay *overlay = &self->drawing.overlay;
  const GstSamRect *a = &self->coverage.area;
  const gint words = (a->w + 3) / 4;
  gint y;

  for (y = 0; y < a->h; y++)
    memcpy (self->shades + (gsize) y * words, self->coverage.map +
        (gsize) (a->y + y) * self->coverage.width + a->x, a->w);
  *patch = (struct sam_patch) {.x = a->x,.y = a->y,.width = a->w,.height = a->h,
    .scale = SAM_PATCH_SHADES,.colour = colour & 0xffffff,.ink = colour
  };
  *overlay = (struct sam_overlay) SAM_OVERLAY_INIT;
  overlay->x = a->x;
  overlay->y = a->y;
  overlay->width = a->w;
  overlay->height = a->h;
  overlay->patches = patch;
  overlay->num_patches = 1;
  overlay->bits = self->shades;
  overlay->num_words = words * a->h;
}

/* The picture, or a frame of the colour, goes to the GPU once. */
static gboolean
show_ground (GstSamHide * self, const GstSamEffect * effect,
    const struct sam_cover *cover, GstBuffer * buf, const GstVideoInfo * info,
    GstSamPainter * gpu, gchar ** why)
{
  GstVideoInfo plain;

  gst_sam_effect_get_picture_info (info, TRUE, &plain);
  if (effect->kind == GST_SAM_EFFECT_SOLID && !gst_sam_ground_fill
      (&self->ground, &plain, effect->colour)) {
    *why = say_no_memory (info);
    return FALSE;
  }
  if ((self->ground.is_new || !gpu->has[GST_SAM_KEPT_GROUND]) &&
      !gst_sam_painter_keep_mapped (gpu, GST_SAM_KEPT_GROUND,
          &self->ground.frame, why))
    return FALSE;
  self->ground.is_new = FALSE;
  return gst_sam_painter_show_on_gpu (gpu, GST_SAM_KEPT_GROUND, cover, buf,
      info, why);
}

/* @is_soft: the coverage has soft edges. */
static gboolean
change_on_gpu (GstSamHide * self, const GstSamEffect * effect, gboolean is_soft,
    GstBuffer * buf, const GstVideoInfo * info, GstSamPainter * gpu,
    gchar ** why)
{
  const GstSamCoverage *c = &self->coverage;
  const GstSamRect *a = &c->area;
  struct sam_cover cover = SAM_COVER_INIT;
  struct sam_patch patch;

  if (effect->kind == GST_SAM_EFFECT_SOLID && !is_soft) {
    draw_shades (self, effect->colour, &patch);
    return gst_sam_painter_draw_on_gpu (gpu, &self->drawing, buf, info, why);
  }
  cover.x = a->x;
  cover.y = a->y;
  cover.width = a->w;
  cover.height = a->h;
  cover.map = c->map + (gsize) a->y * c->width + a->x;
  cover.stride = c->width;
  if (effect->kind == GST_SAM_EFFECT_TRANSPARENT)
    return gst_sam_painter_clear_on_gpu (gpu, &cover, buf, info, why);
  if (is_soft || effect->kind == GST_SAM_EFFECT_PICTURE)
    return show_ground (self, effect, &cover, buf, info, gpu, why);
  cover.cell = effect->cell;
  cover.smooth = effect->kind == GST_SAM_EFFECT_BLUR;
  return gst_sam_painter_cover_on_gpu (gpu, &cover, buf, info, why);
}

/* Whether there was a cut. Returns FALSE on failure. */
static gboolean
look_on_gpu (GstSamHide * self, const GstSamHideStyle * style, GstBuffer * buf,
    const GstVideoInfo * info, GstSamPainter * gpu, gboolean * is_cut,
    gchar ** why)
{
  guint8 sample[GST_SAM_SURPRISE_SAMPLES];

  *is_cut = FALSE;
  if (!style->privacy)
    return TRUE;
  if (!gst_sam_painter_look_on_gpu (gpu, sample, buf, info, why))
    return FALSE;
  *is_cut = gst_sam_cut_take (&self->surprise.cut, sample);
  return TRUE;
}

static gboolean
show_held (GstSamHide * self, GstBuffer * buf, const GstVideoInfo * info,
    GstSamPainter * gpu, gchar ** why)
{
  if (!gst_sam_painter_show_on_gpu (gpu, GST_SAM_KEPT_HELD, NULL, buf, info,
          why))
    return FALSE;
  g_atomic_int_inc (&self->num_held);
  return TRUE;
}

static gboolean
hold (GstSamHide * self, GstBuffer * buf, const GstVideoInfo * info,
    GstSamPainter * gpu, gchar ** why)
{
  if (!gst_sam_painter_keep_on_gpu (gpu, GST_SAM_KEPT_HELD, buf, info, why))
    return FALSE;
  self->held_in = GST_SAM_HELD_ON_GPU;
  return TRUE;
}

gboolean
gst_sam_hide_frame_on_gpu (GstSamHide * self, const GstSamHideStyle * style,
    GstBuffer * buf, const GstVideoInfo * info, GstClockTime time,
    GstSamReport * report, GstSamPainter * gpu, gchar ** why)
{
  gboolean is_cut, is_stopped;
  GstSamEffect effect;

  if (!prepare_on_gpu (self, info)) {
    *why = say_no_memory (info);
    return FALSE;
  }
  if (!look_on_gpu (self, style, buf, info, gpu, &is_cut, why))
    return FALSE;
  is_stopped = find_covered (self, style, is_cut, buf, time, report);
  if (is_stopped && holds (style) && self->held_in == GST_SAM_HELD_ON_GPU &&
      gpu->has[GST_SAM_KEPT_HELD])
    return show_held (self, buf, info, gpu, why);
  if (is_stopped)
    cover_whole (self, info);
  align (self, style, info);
  get_effect (self, style, info, &effect);
  if (self->coverage.area.w && !change_on_gpu (self, &effect,
          keeps_inside (style), buf, info, gpu, why))
    return FALSE;
  return is_stopped || !holds (style) || hold (self, buf, info, gpu, why);
}
