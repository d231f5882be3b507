/* Geometry, colours and text of what is painted: masks, outlines, boxes and
 * labels, as tables of colours and rectangles. */

#include "gstsamdrawing.h"

#include "gstsamfont.h"
#include "gstsampalette.h"
#include "gstsampoints.h"

#include <string.h>

/* Squares of a label's picture: a margin, and a gap between letters. */
#define MARGIN 2
#define LETTER_WIDTH (GST_SAM_FONT_WIDTH + 1)
#define LABEL_HEIGHT (GST_SAM_FONT_HEIGHT + 2 * MARGIN)
/* Opacity of the dark contour: lines show on things of their own colour. */
#define CONTOUR 0.6
/* Of masks of an earlier frame, of 1. */
#define STALE_STRENGTH 0.5
#define CONTOUR_WIDTH 2         /* px */
#define MAX_TEXT 40
/* Lines of the list of lost objects. */
#define MAX_LOST 8
#define MAX_DASH_WORDS 8192
#define MAX_WORDS ((SAM_MAX_OBJECTS + MAX_LOST) * LABEL_HEIGHT * \
    ((MAX_TEXT * LETTER_WIDTH + 3 + 31) / 32) + MAX_DASH_WORDS)

typedef GstSamRect Rect;

/* 0xAARRGGBB; Y'CbCr frames get one of their own matrix and range, 0xAAYYUUVV:
 * the blending of GstVideo converts RGB with one matrix for all. */
static guint32
get_colour (const GstSamDrawing * d, guint32 rgb, gdouble alpha)
{
  const guint a = CLAMP (alpha, 0, 1) * 255 + 0.5;
  gdouble r = (rgb >> 16 & 255) / 255.0, g = (rgb >> 8 & 255) / 255.0;
  gdouble b = (rgb & 255) / 255.0;
  gdouble y = d->kr * r + (1 - d->kr - d->kb) * g + d->kb * b;
  guint yuv[3];

  if (!d->yuv)
    return a << 24 | rgb;
  yuv[0] = d->offset[0] + y * d->range[0] + 0.5;
  yuv[1] = d->offset[1] + (b - y) / (2 - 2 * d->kb) * d->range[1] + 0.5;
  yuv[2] = d->offset[2] + (r - y) / (2 - 2 * d->kr) * d->range[2] + 0.5;
  return a << 24 | MIN (yuv[0], 255) << 16 | MIN (yuv[1], 255) << 8 |
      MIN (yuv[2], 255);
}

/* How the frame's format stores colours. */
static void
set_colours (GstSamDrawing * d, const GstVideoInfo * info)
{
  const GstVideoColorimetry *colour = &GST_VIDEO_INFO_COLORIMETRY (info);
  const GstVideoFormatInfo *ayuv =
      gst_video_format_get_info (GST_VIDEO_FORMAT_AYUV);

  d->yuv = GST_VIDEO_INFO_IS_YUV (info) || GST_VIDEO_INFO_IS_GRAY (info);
  if (!gst_video_color_matrix_get_Kr_Kb (colour->matrix, &d->kr, &d->kb))
    gst_video_color_matrix_get_Kr_Kb (GST_VIDEO_COLOR_MATRIX_BT601, &d->kr,
        &d->kb);
  gst_video_color_range_offsets (colour->range, ayuv, d->offset, d->range);
}

/* The slots of each tracker begin elsewhere in the palette of 12. */
static guint32
get_rgb (const GstSamDrawing * d, const GstSamObject * object)
{
  static const guint first[] = { 0, 6, 3, 9 };

  return gst_sam_palette_get (object->slot +
      first[d->tracker % G_N_ELEMENTS (first)]);
}

static gboolean
is_visible (const GstSamObject * object)
{
  return object->w > 0 && object->h > 0 && object->slot > 0 &&
      object->slot < 256;
}

/* Where the object lies in a frame of the paint's size. */
static Rect
get_box (const GstSamDrawing * d, const GstSamObject * object)
{
  const GstSamReport *report = d->report;
  Rect box;

  box.x = gst_util_uint64_scale_int (MAX (object->x, 0), d->width,
      report->width);
  box.y = gst_util_uint64_scale_int (MAX (object->y, 0), d->height,
      report->height);
  box.w = gst_util_uint64_scale_int_ceil (MAX (object->x, 0) + object->w,
      d->width, report->width) - box.x;
  box.h = gst_util_uint64_scale_int_ceil (MAX (object->y, 0) + object->h,
      d->height, report->height) - box.y;
  return box;
}

static gint
get_label_height (const GstSamDrawing * d)
{
  if (!d->style->ids && !d->style->scores)
    return 0;
  return LABEL_HEIGHT * d->scale;
}

static void
write_label (const GstSamDrawing * d, const GstSamObject * object,
    gchar text[MAX_TEXT])
{
  gchar tracker[12] = "", id[24] = "", score[16] = "";

  if (d->style->ids && d->tracker)
    g_snprintf (tracker, sizeof tracker, "%u", d->tracker + 1);
  if (d->style->ids)
    g_snprintf (id, sizeof id, "#%" G_GUINT64_FORMAT, object->id);
  if (d->style->scores)
    g_snprintf (score, sizeof score, "%.2f", CLAMP (object->iou, 0, 1));
  g_snprintf (text, MAX_TEXT, "%s%s%s%s", tracker, id,
      *id && *score ? " " : "", score);
  /* the decimal point of the locale */
  g_strdelimit (text, ",", '.');
}

static gint
get_label_width (const GstSamDrawing * d, const gchar * text)
{
  return (LETTER_WIDTH * (gint) strlen (text) + 3) * d->scale;
}

/* The label stands on the box, or hangs from it at the frame's upper edge. */
static Rect
get_label (const GstSamDrawing * d, const GstSamObject * object,
    const gchar * text)
{
  Rect box = get_box (d, object), label;

  label.w = get_label_width (d, text);
  label.h = get_label_height (d);
  label.x = CLAMP (box.x, 0, MAX (0, d->width - label.w));
  label.y = box.y >= label.h ? box.y - label.h : MIN (box.y,
      MAX (0, d->height - label.h));
  return label;
}

/* Paler where the mask is of an earlier frame. */
static gdouble
get_strength (const GstSamDrawing * d, const GstSamObject * object)
{
  return d->style->dim_stale && object->behind ? STALE_STRENGTH : d->strength;
}

static void
colour_masks (GstSamDrawing * d)
{
  struct sam_overlay *overlay = &d->overlay;
  guint i;

  memset (overlay->fill, 0, sizeof overlay->fill);
  memset (overlay->line, 0, sizeof overlay->line);
  for (i = 0; i < d->report->num_objects; i++) {
    const GstSamObject *object = &d->report->object[i];
    guint32 rgb = get_rgb (d, object);
    guint32 *fill = &overlay->fill[object->slot & 255];
    const gdouble strength = get_strength (d, object);

    if (!is_visible (object))
      continue;
    if (d->style->masks)
      *fill = get_colour (d, rgb, d->style->opacity * strength);
    overlay->line[object->slot] = d->style->outlines && d->style->line_width ?
        get_colour (d, rgb, strength) : *fill;
  }
  overlay->contour = get_colour (d, 0x000000, CONTOUR * d->strength);
  overlay->line_width = d->style->outlines ? d->style->line_width : 0;
}

static struct sam_patch *
add_patch (GstSamDrawing * d, gint x, gint y, gint w, gint h, guint32 colour)
{
  struct sam_patch *patch = &d->patches[d->overlay.num_patches++];

  memset (patch, 0, sizeof *patch);
  patch->x = x;
  patch->y = y;
  patch->width = MAX (w, 0);
  patch->height = MAX (h, 0);
  patch->colour = colour;
  return patch;
}

static void
add_box (GstSamDrawing * d, const GstSamObject * object)
{
  const guint32 colour = get_colour (d, get_rgb (d, object),
      get_strength (d, object));
  const gint line = MAX (1, (gint) d->style->line_width);
  Rect b = get_box (d, object);

  add_patch (d, b.x, b.y, b.w, line, colour);
  add_patch (d, b.x, b.y + b.h - line, b.w, line, colour);
  add_patch (d, b.x, b.y, line, b.h, colour);
  add_patch (d, b.x + b.w - line, b.y, line, b.h, colour);
}

/* Bits of a glyph whose upper left is in the given column of the picture. */
static void
add_glyph (guint32 * bits, gint words, gchar c, gint column)
{
  const guint8 *glyph = gst_sam_font_get (c);
  gint row, bit;

  for (row = 0; glyph && row < GST_SAM_FONT_HEIGHT; row++) {
    for (bit = 0; bit < GST_SAM_FONT_WIDTH; bit++) {
      const gint at = column + bit;

      if (glyph[row] >> (GST_SAM_FONT_WIDTH - 1 - bit) & 1)
        bits[(MARGIN + row) * words + at / 32] |= 1u << (at % 32);
    }
  }
}

/* A text at the upper left corner of @rect, as large as it is. */
static void
add_text (GstSamDrawing * d, Rect rect, const gchar * text, guint32 colour,
    guint32 ink)
{
  const gint words = (rect.w / d->scale + 31) / 32;
  struct sam_patch *patch;
  gint i;

  patch = add_patch (d, rect.x, rect.y, rect.w, rect.h, colour);
  patch->ink = ink;
  patch->scale = d->scale;
  patch->first = d->overlay.num_words;
  d->overlay.num_words += words * LABEL_HEIGHT;
  memset (d->bits + patch->first, 0, words * LABEL_HEIGHT * sizeof *d->bits);
  for (i = 0; text[i]; i++)
    add_glyph (d->bits + patch->first, words, text[i],
        MARGIN + i * LETTER_WIDTH);
}

/* Black or white, which is easier to read on the colour. */
static guint32
get_contrast (guint32 rgb)
{
  /* Rec. 601 luma: dark letters on light colours */
  const gint luma = (299 * (rgb >> 16) + 587 * (rgb >> 8 & 255) +
      114 * (rgb & 255)) / 1000;

  return luma > 140 ? 0x000000 : 0xffffff;
}

/* The label of the current object has its colours swapped. */
static void
add_label (GstSamDrawing * d, const GstSamObject * object)
{
  const gboolean current = d->style->points && d->report->current == object->id;
  const guint32 rgb = get_rgb (d, object), contrast = get_contrast (rgb);
  const gdouble strength = get_strength (d, object);
  gchar text[MAX_TEXT];

  write_label (d, object, text);
  if (*text)
    add_text (d, get_label (d, object, text), text,
        get_colour (d, current ? contrast : rgb, 0.8 * strength),
        get_colour (d, current ? rgb : contrast, strength));
}

/* In the lower left corner, a line for each; behind the first tracker, to the
 * right of that. The last line counts those that have none. */
static void
add_lost (GstSamDrawing * d)
{
  const gint height = LABEL_HEIGHT * d->scale, gap = 2 * d->scale;
  const gint column = get_label_width (d, "2#123 lost") + gap;
  guint lost = 0, lines, line = 0, i;

  for (i = 0; i < d->report->num_objects; i++)
    lost += d->report->object[i].state == SAM_OBJECT_LOST;
  lines = MIN (lost, MIN (MAX_LOST, (guint) (d->height / 2 / (height + gap))));
  for (i = 0; i < d->report->num_objects && line < lines; i++) {
    const GstSamObject *object = &d->report->object[i];
    const gboolean is_rest = line + 1 == lines && lost > lines;
    gchar text[MAX_TEXT], tracker[12] = "";
    Rect rect;

    if (object->state != SAM_OBJECT_LOST)
      continue;
    if (d->tracker)
      g_snprintf (tracker, sizeof tracker, "%u", d->tracker + 1);
    if (is_rest)
      g_snprintf (text, sizeof text, "%s+%u lost", tracker, lost - lines + 1);
    else
      g_snprintf (text, sizeof text, "%s#%" G_GUINT64_FORMAT " lost", tracker,
          object->id);
    rect.x = gap + (gint) MIN (d->tracker, 64) * column;
    rect.y = d->height - (gint) (lines - line) * (height + gap);
    rect.w = get_label_width (d, text);
    rect.h = height;
    add_text (d, rect, text, get_colour (d, 0x000000, 0.55),
        get_colour (d, is_rest ? 0xffffff : get_rgb (d, object), 1));
    line++;
  }
}

static void
add_patches (GstSamDrawing * d)
{
  const GstSamReport *report = d->report;
  guint i;

  if (!d->patches) {
    d->patches = g_new (struct sam_patch, SAM_MAX_PATCHES);
    d->bits = g_new (guint32, MAX_WORDS);
  }
  d->overlay.num_patches = d->overlay.num_words = 0;
  d->overlay.patches = d->patches;
  d->overlay.bits = d->bits;
  for (i = 0; i < report->num_objects; i++) {
    if (d->style->boxes && is_visible (&report->object[i]))
      add_box (d, &report->object[i]);
  }
  for (i = 0; i < report->num_objects; i++) {
    if (is_visible (&report->object[i]))
      add_label (d, &report->object[i]);
  }
  if (d->style->ids)
    add_lost (d);
  if (d->style->points)
    gst_sam_points_add (d);
}

static void
include (Rect * area, Rect r)
{
  gint right, bottom;

  if (!area->w) {
    *area = r;
    return;
  }
  right = MAX (area->x + area->w, r.x + r.w);
  bottom = MAX (area->y + area->h, r.y + r.h);
  area->x = MIN (area->x, r.x);
  area->y = MIN (area->y, r.y);
  area->w = right - area->x;
  area->h = bottom - area->y;
}

/* All that is painted, at even coordinates: chroma is blended in pairs. */
static gboolean
find_area (GstSamDrawing * d)
{
  const GstSamReport *report = d->report;
  const gint width = d->width, height = d->height;
  struct sam_overlay *overlay = &d->overlay;
  Rect area = { 0, };
  gint margin_x = 0, margin_y = 0;
  guint i;

  /* A box is the frame's, a mask may be coarse: its edges lie a cell off. */
  if (report->mask) {
    margin_x = width / report->mask_width + 1;
    margin_y = height / report->mask_height + 1;
    margin_x += CONTOUR_WIDTH;
    margin_y += CONTOUR_WIDTH;
  }
  for (i = 0; i < report->num_objects; i++) {
    const GstSamObject *object = &report->object[i];
    Rect box;

    if (!is_visible (object))
      continue;
    box = get_box (d, object);
    box.x -= margin_x;
    box.y -= margin_y;
    box.w += 2 * margin_x;
    box.h += 2 * margin_y;
    include (&area, box);
  }
  for (i = 0; i < (guint) overlay->num_patches; i++) {
    const struct sam_patch *patch = &overlay->patches[i];
    const Rect rect = { patch->x, patch->y, patch->width, patch->height };

    include (&area, rect);
  }
  area.w = MIN (GST_ROUND_UP_2 (area.x + area.w), width);
  area.h = MIN (GST_ROUND_UP_2 (area.y + area.h), height);
  area.x = MAX (area.x, 0) & ~1;
  area.y = MAX (area.y, 0) & ~1;
  area.w -= area.x;
  area.h -= area.y;
  overlay->x = area.x;
  overlay->y = area.y;
  overlay->width = area.w;
  overlay->height = area.h;
  return area.w > 0 && area.h > 0;
}

gboolean
gst_sam_drawing_make (GstSamDrawing * d, const GstSamPaintStyle * style,
    const GstSamReport * report, guint tracker, const GstVideoInfo * info)
{
  d->style = style;
  d->report = report;
  d->tracker = tracker;
  d->width = GST_VIDEO_INFO_WIDTH (info);
  d->height = GST_VIDEO_INFO_HEIGHT (info);
  /* 14 pixels high letters at 360 lines, 28 at 1080 */
  d->scale = MAX (1, (d->height + 180) / 270);
  d->strength = style->dim_stale && report->state == GST_SAM_REPORT_STALE ?
      STALE_STRENGTH : 1;
  /* not the flag: GStreamer 1.22 forgot it at AV12 */
  d->overlay.has_alpha = GST_VIDEO_INFO_N_COMPONENTS (info) > GST_VIDEO_COMP_A;
  d->has_labels = report->mask && (style->masks || style->outlines);
  set_colours (d, info);
  colour_masks (d);
  add_patches (d);
  return find_area (d);
}

void
gst_sam_drawing_clear (GstSamDrawing * d)
{
  g_clear_pointer (&d->patches, g_free);
  g_clear_pointer (&d->bits, g_free);
}

guint32
gst_sam_drawing_get_colour (const GstSamDrawing * d, guint32 rgb, gdouble alpha)
{
  return get_colour (d, rgb, alpha);
}

const GstSamObject *
gst_sam_drawing_find (const GstSamDrawing * d, guint64 id)
{
  guint i;

  for (i = 0; i < d->report->num_objects; i++) {
    if (d->report->object[i].id == id)
      return &d->report->object[i];
  }
  return NULL;
}

guint32
gst_sam_drawing_get_rgb (const GstSamDrawing * d, const GstSamObject * object)
{
  return get_rgb (d, object);
}

gboolean
gst_sam_drawing_get_box (const GstSamDrawing * d, const GstSamObject * object,
    GstSamRect * box)
{
  *box = get_box (d, object);
  return is_visible (object);
}

gint
gst_sam_drawing_count_free (const GstSamDrawing * d)
{
  return SAM_MAX_PATCHES - d->overlay.num_patches;
}

void
gst_sam_drawing_add_rect (GstSamDrawing * d, gint x, gint y, gint w, gint h,
    guint32 colour)
{
  add_patch (d, x, y, w, h, colour);
}

void
gst_sam_drawing_add_dashes (GstSamDrawing * d, gint x, gint y, gint w, gint h,
    gint scale, guint32 colour, guint32 other)
{
  const gint columns = w / scale, rows = h / scale, words = (columns + 31) / 32;
  struct sam_patch *patch;
  gint i, k;

  patch = add_patch (d, x, y, columns * scale, rows * scale, colour);
  if (d->overlay.num_words + words * rows > MAX_WORDS)
    return;
  patch->ink = other;
  patch->scale = scale;
  patch->first = d->overlay.num_words;
  d->overlay.num_words += words * rows;
  /* four set, four not */
  for (i = 0; i < rows; i++) {
    for (k = 0; k < words; k++)
      d->bits[patch->first + i * words + k] =
          (i / 4) % 2 ? 0x0f0f0f0fu : 0xf0f0f0f0u;
  }
}
