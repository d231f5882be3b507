/* SPDX-License-Identifier: MIT */
/* What one frame is painted with: colours of the frame's format, rectangles and
 * texts. */

#include "gstsamdrawing.h"

#include "gstsamfont.h"
#include "common/gstsampalette.h"

#include <string.h>

/* Squares of a text's picture: a margin, and a gap between letters. */
#define MARGIN 2
#define LETTER_WIDTH (GST_SAM_FONT_WIDTH + 1)
#define TEXT_HEIGHT (GST_SAM_FONT_HEIGHT + 2 * MARGIN)
/* Of masks of an earlier frame, of 1. */
#define STALE_STRENGTH 0.5
#define MAX_DASH_WORDS 8192
#define MAX_WORDS (GST_SAM_DRAWING_MAX_TEXTS * TEXT_HEIGHT * \
    ((GST_SAM_DRAWING_MAX_TEXT * LETTER_WIDTH + 3 + 31) / 32) + MAX_DASH_WORDS)
/* Of Pango's texts, 4 MiB; in frames whose texts are larger, the last ones are
 * in the built-in font. */
#define MAX_SHADES (1 << 20)

void
gst_sam_drawing_set_colours (GstSamDrawing * d, const GstVideoInfo * info)
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

void
gst_sam_drawing_prepare (GstSamDrawing * d)
{
  if (d->patches)
    return;
  d->patches = g_new (struct sam_patch, SAM_MAX_PATCHES);
  d->bits = g_new (guint32, MAX_WORDS + MAX_SHADES);
  d->letters = gst_sam_letters_new ();
  if (d->letters)
    gst_sam_letters_write (d->letters, "#0", TEXT_HEIGHT);
}

void
gst_sam_drawing_begin (GstSamDrawing * d, const GstSamPaintStyle * style,
    const GstSamReport * report, guint tracker, const GstVideoInfo * info)
{
  d->style = style;
  d->report = report;
  d->tracker = tracker;
  d->width = GST_VIDEO_INFO_WIDTH (info);
  d->height = GST_VIDEO_INFO_HEIGHT (info);
  /* 14 pixels high letters at 360 lines, 28 at 1080; upright as lying */
  d->scale = MAX (1, (MIN (d->width, d->height) + 180) / 270);
  d->strength = style->dim_stale && report->state == GST_SAM_REPORT_STALE ?
      STALE_STRENGTH : 1;
  /* not the flag: GStreamer forgot it at AV12 until 1.24.10 (issue 4081) */
  d->overlay.has_alpha = GST_VIDEO_INFO_N_COMPONENTS (info) > GST_VIDEO_COMP_A;
  d->has_labels = report->mask && (style->masks || style->outlines);
  gst_sam_drawing_set_colours (d, info);
  gst_sam_drawing_prepare (d);
  d->part.w = 0;
  d->num_shades = 0;
  d->overlay.num_patches = d->overlay.num_words = 0;
  d->overlay.patches = d->patches;
  d->overlay.bits = d->bits;
}

void
gst_sam_drawing_clear (GstSamDrawing * d)
{
  g_clear_pointer (&d->patches, g_free);
  g_clear_pointer (&d->bits, g_free);
  g_clear_pointer (&d->letters, gst_sam_letters_free);
}

/* 0xAARRGGBB; Y'CbCr frames get one of their own matrix and range, 0xAAYYUUVV:
 * the blending of GstVideo converts RGB with one matrix for all. */
guint32
gst_sam_drawing_get_colour (const GstSamDrawing * d, guint32 rgb, gdouble alpha)
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

/* The slots of each tracker begin elsewhere in the palette of 12. */
guint32
gst_sam_drawing_get_rgb (const GstSamDrawing * d, const GstSamObject * object)
{
  static const guint first[] = { 0, 6, 3, 9 };
  guint32 rgb;

  if (d->style->selection &&
      gst_sam_selection_get_colour (d->style->selection, object, &rgb))
    return rgb;
  return gst_sam_palette_get (object->slot +
      first[d->tracker % G_N_ELEMENTS (first)]);
}

/* Paler where the mask is of an earlier frame. */
gdouble
gst_sam_drawing_get_strength (const GstSamDrawing * d,
    const GstSamObject * object)
{
  return d->style->dim_stale && object->behind ? STALE_STRENGTH : d->strength;
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

gboolean
gst_sam_drawing_shows (const GstSamObject * object)
{
  return object->w > 0 && object->h > 0 && object->slot > 0 &&
      object->slot < 256;
}

/* Where the object lies in a frame of the paint's size. */
GstSamRect
gst_sam_drawing_get_box (const GstSamDrawing * d, const GstSamObject * object)
{
  const GstSamReport *report = d->report;
  GstSamRect box;

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

gint
gst_sam_drawing_count_free (const GstSamDrawing * d)
{
  return SAM_MAX_PATCHES - d->overlay.num_patches;
}

struct sam_patch *
gst_sam_drawing_add_rect (GstSamDrawing * d, gint x, gint y, gint w, gint h,
    guint32 colour)
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

/* NULL: it is to be in the built-in font. */
static const GstSamWriting *
get_writing (GstSamDrawing * d, const gchar * text)
{
  const GstSamWriting *w = d->letters ? gst_sam_letters_write (d->letters,
      text, TEXT_HEIGHT * d->scale) : NULL;

  return w && d->num_shades + (w->width + 3) / 4 * w->height <= MAX_SHADES ? w :
      NULL;
}

gint
gst_sam_drawing_get_text_width (GstSamDrawing * d, const gchar * text)
{
  const GstSamWriting *w = get_writing (d, text);

  return w ? w->width :
      (LETTER_WIDTH * (gint) g_utf8_strlen (text, -1) + 3) * d->scale;
}

gint
gst_sam_drawing_get_text_height (const GstSamDrawing * d)
{
  return TEXT_HEIGHT * d->scale;
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

      if (at < 32 * words && glyph[row] >> (GST_SAM_FONT_WIDTH - 1 - bit) & 1)
        bits[(MARGIN + row) * words + at / 32] |= 1u << (at % 32);
    }
  }
}

guint32 *
gst_sam_drawing_add_shades (GstSamDrawing * d, GstSamRect rect,
    guint32 colour, guint32 ink)
{
  const gint64 words = ((gint64) rect.w + 3) / 4 * rect.h;
  struct sam_patch *patch = gst_sam_drawing_add_rect (d, rect.x, rect.y,
      rect.w, rect.h, colour);

  if (d->num_shades + words > MAX_SHADES)
    return NULL;
  patch->ink = ink;
  patch->scale = SAM_PATCH_SHADES;
  patch->first = d->overlay.num_words;
  d->overlay.num_words += words;
  d->num_shades += words;
  return d->bits + patch->first;
}

void
gst_sam_drawing_add_writing (GstSamDrawing * d, gint x, gint y,
    const GstSamWriting * w, guint32 colour, guint32 ink)
{
  const GstSamRect rect = { x, y, w->width, w->height };
  guint32 *bits = gst_sam_drawing_add_shades (d, rect, colour, ink);

  if (bits)
    memcpy (bits, w->shades, (w->width + 3) / 4 * w->height * sizeof *bits);
}

/* A text at the upper left corner of @rect, as large as it is. */
void
gst_sam_drawing_add_text (GstSamDrawing * d, GstSamRect rect,
    const gchar * text, guint32 colour, guint32 ink)
{
  const gint words = (rect.w / d->scale + 31) / 32;
  const GstSamWriting *writing = get_writing (d, text);
  struct sam_patch *patch;
  gint i;

  if (writing) {
    gst_sam_drawing_add_writing (d, rect.x, rect.y, writing, colour, ink);
    return;
  }
  patch = gst_sam_drawing_add_rect (d, rect.x, rect.y, rect.w, rect.h, colour);
  patch->ink = ink;
  patch->scale = d->scale;
  patch->first = d->overlay.num_words;
  d->overlay.num_words += words * TEXT_HEIGHT;
  memset (d->bits + patch->first, 0, words * TEXT_HEIGHT * sizeof *d->bits);
  for (i = 0; *text; text = g_utf8_next_char (text), i++)
    add_glyph (d->bits + patch->first, words, *text,
        MARGIN + i * LETTER_WIDTH);
}

void
gst_sam_drawing_add_dashes (GstSamDrawing * d, gint x, gint y, gint w, gint h,
    gint scale, guint32 colour, guint32 other)
{
  const gint columns = w / scale, rows = h / scale, words = (columns + 31) / 32;
  struct sam_patch *patch;
  gint i, k;

  patch = gst_sam_drawing_add_rect (d, x, y, columns * scale, rows * scale,
      colour);
  if (d->overlay.num_words - d->num_shades + words * rows > MAX_WORDS)
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

GstSamRect
gst_sam_drawing_get_bar (const GstSamDrawing * d)
{
  const gint height = gst_sam_drawing_get_text_height (d);
  const gint margin = GST_SAM_DRAWING_MARGIN * height;
  GstSamRect panel = { margin, 0, MAX (1, d->width - 2 * margin),
    height + height / 4
  };

  panel.y = d->height - margin - panel.h;
  return panel;
}
