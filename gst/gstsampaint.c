/* Masks, outlines, boxes and labels, painted into a layer as large as what
 * there is to see, which is then blended over the frame. */

#include "gstsampaint.h"

#include "gstsamblend.h"
#include "gstsamfont.h"
#include "gstsampalette.h"

#include <string.h>

typedef struct
{
  gint x, y, w, h;
} Rect;

/* One drawing: where its layer lies in the frame, and with what it is drawn. */
typedef struct
{
  GstSamPaint *paint;
  const GstSamPaintStyle *style;
  const GstSamReport *report;
  Rect area;
  gint scale;                   /* of the font */
  gdouble strength;             /* 1, less where the masks are stale */

  gboolean yuv;                 /* the frame's colours are Y'CbCr, or gray */
  gdouble kr, kb;
  gint offset[GST_VIDEO_MAX_COMPONENTS], range[GST_VIDEO_MAX_COMPONENTS];
} Drawing;

gboolean
gst_sam_paint_prepare (GstSamPaint * paint, gint width, gint height)
{
  const gsize size = (gsize) width * height;

  if (paint->labels && paint->width == width && paint->height == height)
    return TRUE;
  gst_sam_paint_clear (paint);
  paint->width = width;
  paint->height = height;
  paint->labels = g_try_malloc (size);
  paint->pixels = g_try_malloc_n (size, sizeof *paint->pixels);
  paint->column = g_try_new (gint, width);
  paint->weight = g_try_new (guint8, width);
  paint->edge = g_try_new (guint8, width);
  if (paint->labels && paint->pixels && paint->column && paint->weight &&
      paint->edge)
    return TRUE;
  gst_sam_paint_clear (paint);
  return FALSE;
}

void
gst_sam_paint_clear (GstSamPaint * paint)
{
  g_clear_pointer (&paint->labels, g_free);
  g_clear_pointer (&paint->pixels, g_free);
  g_clear_pointer (&paint->column, g_free);
  g_clear_pointer (&paint->weight, g_free);
  g_clear_pointer (&paint->edge, g_free);
}

/* A pixel of the layer, most significant byte last in memory. Y'CbCr frames get
 * a layer of their own matrix and range: the blending of GstVideo converts RGB
 * with one matrix for all. */
static guint32
get_pixel (const Drawing * d, guint32 rgb, gdouble alpha)
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
  /* the bytes A, Y, U, V */
  return GUINT32_TO_BE (a << 24 | MIN (yuv[0], 255) << 16 |
      MIN (yuv[1], 255) << 8 | MIN (yuv[2], 255));
}

/* How the frame's format stores colours. */
static void
set_colours (Drawing * d, const GstVideoInfo * info)
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

static gboolean
is_visible (const GstSamObject * object)
{
  return object->w > 0 && object->h > 0 && object->slot > 0 &&
      object->slot < 256;
}

/* Where the object lies in a frame of the paint's size. */
static Rect
get_box (const Drawing * d, const GstSamObject * object)
{
  const GstSamReport *report = d->report;
  Rect box;

  box.x = gst_util_uint64_scale_int (MAX (object->x, 0), d->paint->width,
      report->width);
  box.y = gst_util_uint64_scale_int (MAX (object->y, 0), d->paint->height,
      report->height);
  box.w = gst_util_uint64_scale_int_ceil (MAX (object->x, 0) + object->w,
      d->paint->width, report->width) - box.x;
  box.h = gst_util_uint64_scale_int_ceil (MAX (object->y, 0) + object->h,
      d->paint->height, report->height) - box.y;
  return box;
}

static gint
get_label_height (const Drawing * d)
{
  if (!d->style->ids && !d->style->scores)
    return 0;
  return (GST_SAM_FONT_HEIGHT + 4) * d->scale;
}

static void
write_label (const Drawing * d, const GstSamObject * object, gchar text[40])
{
  gchar id[24] = "", score[16] = "";

  if (d->style->ids)
    g_snprintf (id, sizeof id, "#%" G_GUINT64_FORMAT, object->id);
  if (d->style->scores)
    g_snprintf (score, sizeof score, "%.2f", CLAMP (object->iou, 0, 1));
  g_snprintf (text, 40, "%s%s%s", id, *id && *score ? " " : "", score);
  /* the decimal point of the locale */
  g_strdelimit (text, ",", '.');
}

static gint
get_label_width (const Drawing * d, const gchar * text)
{
  return ((GST_SAM_FONT_WIDTH + 1) * (gint) strlen (text) + 3) * d->scale;
}

/* The label stands on the box, or hangs from it at the frame's upper edge. */
static Rect
get_label (const Drawing * d, const GstSamObject * object, const gchar * text)
{
  Rect box = get_box (d, object), label;

  label.w = get_label_width (d, text);
  label.h = get_label_height (d);
  label.x = CLAMP (box.x, 0, MAX (0, d->paint->width - label.w));
  label.y = box.y >= label.h ? box.y - label.h : MIN (box.y,
      MAX (0, d->paint->height - label.h));
  return label;
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

/* All that will be painted, at even coordinates: chroma is blended in pairs. */
static gboolean
find_area (Drawing * d)
{
  const GstSamReport *report = d->report;
  const gint width = d->paint->width, height = d->paint->height;
  gint margin_x = 0, margin_y = 0;
  guint i;

  /* A box is the frame's, a mask may be coarse: its edges lie a cell off. */
  if (report->mask) {
    margin_x = width / report->mask_width + 1;
    margin_y = height / report->mask_height + 1;
  }
  for (i = 0; i < report->num_objects; i++) {
    const GstSamObject *object = &report->object[i];
    gchar text[40];
    Rect box;

    if (!is_visible (object))
      continue;
    box = get_box (d, object);
    box.x -= margin_x;
    box.y -= margin_y;
    box.w += 2 * margin_x;
    box.h += 2 * margin_y;
    include (&d->area, box);
    write_label (d, object, text);
    if (*text)
      include (&d->area, get_label (d, object, text));
  }
  d->area.w = MIN (GST_ROUND_UP_2 (d->area.x + d->area.w), width);
  d->area.h = MIN (GST_ROUND_UP_2 (d->area.y + d->area.h), height);
  d->area.x = MAX (d->area.x, 0) & ~1;
  d->area.y = MAX (d->area.y, 0) & ~1;
  d->area.w -= d->area.x;
  d->area.h -= d->area.y;
  return d->area.w > 0 && d->area.h > 0;
}

/* Which of the four cells around a pixel weighs most there: straight edges
 * where a nearest neighbour would show stairs. Weights are of 256. */
static guint8
vote (const guint8 cell[4], gint right, gint below)
{
  const gint weight[4] = {
    (256 - right) * (256 - below), right * (256 - below),
    (256 - right) * below, right * below
  };
  gint best = -1, i, k;
  guint8 label = 0;

  for (i = 0; i < 4; i++) {
    gint sum = 0;

    for (k = 0; k < 4; k++)
      sum += cell[k] == cell[i] ? weight[k] : 0;
    if (sum > best) {
      best = sum;
      label = cell[i];
    }
  }
  return label;
}

/* The cell left of (or above) the middle of pixel @i, and how far the middle is
 * on the way to the next one, of 256. */
static gint
locate (gint i, gint size, gint cells, guint8 * weight)
{
  gint64 at = ((gint64) (2 * i + 1) * cells * 128) / size - 128;

  *weight = at < 0 ? 0 : at & 255;
  return at < 0 ? 0 : MIN (at >> 8, cells - 1);
}

/* How many of the n bytes at @at are as the first. */
static gint
count_same (const guint8 * at, gint n)
{
  guint64 word, same;
  gint i = 1;

  memset (&same, *at, sizeof same);
  for (; i + 8 <= n; i += 8) {
    memcpy (&word, at + i, sizeof word);
    if (word != same)
      break;
  }
  while (i < n && at[i] == *at)
    i++;
  return i;
}

/* The first pixel right of @x that cell @cell does not reach. */
static gint
find_end (const Drawing * d, gint x, gint cell)
{
  gint end = d->area.w;

  while (x + 1 < end) {
    const gint middle = (x + end) / 2;

    if (d->paint->column[middle] < cell)
      x = middle;
    else
      end = middle;
  }
  return end;
}

static void
stretch_row (const Drawing * d, const guint8 * upper, const guint8 * lower,
    guint8 below, guint8 * out)
{
  const gint mw = d->report->mask_width;
  gint x = 0, end;

  while (x < d->area.w) {
    const gint left = d->paint->column[x], right = MIN (left + 1, mw - 1);
    const guint8 cell[4] = {
      upper[left], upper[right], lower[left], lower[right]
    };

    if (cell[0] == cell[1] && cell[0] == cell[2] && cell[0] == cell[3]) {
      gint n = MIN (count_same (upper + left, mw - left),
          count_same (lower + left, mw - left));

      end = left + n < mw ? find_end (d, x, left + n - 1) : d->area.w;
      memset (out + x, cell[0], end - x);
      x = end;
    } else {
      out[x] = vote (cell, d->paint->weight[x], below);
      x++;
    }
  }
}

/* Stretch the label map over the layer. */
static void
stretch_labels (Drawing * d, const guint8 * mask)
{
  GstSamPaint *paint = d->paint;
  const gint mw = d->report->mask_width, mh = d->report->mask_height;
  gint x, y;

  for (x = 0; x < d->area.w; x++)
    paint->column[x] = locate (d->area.x + x, paint->width, mw,
        &paint->weight[x]);
  for (y = 0; y < d->area.h; y++) {
    guint8 below;
    gint row = locate (d->area.y + y, paint->height, mh, &below);

    stretch_row (d, mask + (gsize) row * mw, mask + (gsize) MIN (row + 1,
            mh - 1) * mw, below, paint->labels + (gsize) y * d->area.w);
  }
}

static gboolean
make_labels (Drawing * d)
{
  const GstSamReport *report = d->report;
  GstMapInfo map;
  gboolean ok = FALSE;
  gint y;

  if (!report->mask || !gst_buffer_map (report->mask, &map, GST_MAP_READ))
    return FALSE;
  if (map.size >= (gsize) report->mask_width * report->mask_height) {
    ok = TRUE;
    if (report->mask_width == d->paint->width &&
        report->mask_height == d->paint->height) {
      for (y = 0; y < d->area.h; y++)
        memcpy (d->paint->labels + (gsize) y * d->area.w, map.data +
            (gsize) (d->area.y + y) * d->paint->width + d->area.x, d->area.w);
    } else {
      stretch_labels (d, map.data);
    }
  }
  gst_buffer_unmap (report->mask, &map);
  return ok;
}

/* Mark in @edge where one of the rows within the width of the line above or
 * below has another label than the run of @n pixels at @at. What the layer does
 * not show counts as the same object. FALSE: nowhere. */
static gboolean
find_edges (const Drawing * d, const guint8 * at, gint n, gint y)
{
  guint8 *edge = d->paint->edge;
  const gint width = d->style->line_width;
  const guint8 label = *at;
  gboolean found = FALSE;
  gint k, i;

  for (k = -width; k <= width; k++) {
    const guint8 *other = at + (gssize) k * d->area.w;

    if (!k || y + k < 0 || y + k >= d->area.h || !memcmp (at, other, n))
      continue;
    if (!found)
      memset (edge, 0, n);
    found = TRUE;
    for (i = 0; i < n; i++)
      edge[i] |= other[i] ^ label;
  }
  return found;
}

static void
fill_pixels (guint32 * out, gint n, guint32 pixel)
{
  gint i;

  for (i = 0; i < n; i++)
    out[i] = pixel;
}

/* One run of a row: filled, with a line on the inner side of the mask's edge.
 */
static void
paint_run (const Drawing * d, gint x, gint y, gint n, guint32 fill,
    guint32 line)
{
  const gsize start = (gsize) y * d->area.w + x;
  const gint width = MIN (n, (gint) d->style->line_width);
  guint32 *out = d->paint->pixels + start;
  gint i;

  if (line != fill && find_edges (d, d->paint->labels + start, n, y)) {
    for (i = 0; i < n; i++)
      out[i] = d->paint->edge[i] ? line : fill;
  } else {
    fill_pixels (out, n, fill);
  }
  if (x > 0)
    fill_pixels (out, width, line);
  if (x + n < d->area.w)
    fill_pixels (out + n - width, width, line);
}

static void
paint_masks (Drawing * d)
{
  guint32 fill[256] = { 0, }, line[256] = { 0, };
  guint i;
  gint x, y, n;

  for (i = 0; i < d->report->num_objects; i++) {
    const GstSamObject *object = &d->report->object[i];
    guint32 rgb = gst_sam_palette_get (object->slot);

    if (!is_visible (object))
      continue;
    if (d->style->masks)
      fill[object->slot] = get_pixel (d, rgb, d->style->opacity * d->strength);
    line[object->slot] = d->style->outlines && d->style->line_width ?
        get_pixel (d, rgb, d->strength) : fill[object->slot];
  }
  for (y = 0; y < d->area.h; y++) {
    const guint8 *labels = d->paint->labels + (gsize) y * d->area.w;

    for (x = 0; x < d->area.w; x += n) {
      n = count_same (labels + x, d->area.w - x);
      if (line[labels[x]])
        paint_run (d, x, y, n, fill[labels[x]], line[labels[x]]);
      else
        memset (d->paint->pixels + (gsize) y * d->area.w + x, 0, n * 4);
    }
  }
}

static void
fill_rect (Drawing * d, gint left, gint top, gint width, gint height,
    guint32 colour)
{
  gint x0 = MAX (left - d->area.x, 0);
  gint y0 = MAX (top - d->area.y, 0);
  gint x1 = MIN (left + width - d->area.x, d->area.w);
  gint y1 = MIN (top + height - d->area.y, d->area.h);
  gint x, y;

  for (y = y0; y < y1; y++) {
    for (x = x0; x < x1; x++)
      d->paint->pixels[(gsize) y * d->area.w + x] = colour;
  }
}

static void
paint_box (Drawing * d, const GstSamObject * object)
{
  const guint32 colour = get_pixel (d, gst_sam_palette_get (object->slot),
      d->strength);
  const gint line = MAX (1, (gint) d->style->line_width);
  Rect b = get_box (d, object);

  fill_rect (d, b.x, b.y, b.w, line, colour);
  fill_rect (d, b.x, b.y + b.h - line, b.w, line, colour);
  fill_rect (d, b.x, b.y, line, b.h, colour);
  fill_rect (d, b.x + b.w - line, b.y, line, b.h, colour);
}

static void
paint_glyph (Drawing * d, gchar c, gint x, gint y, guint32 colour)
{
  const guint8 *glyph = gst_sam_font_get (c);
  gint row, bit;

  for (row = 0; glyph && row < GST_SAM_FONT_HEIGHT; row++) {
    for (bit = 0; bit < GST_SAM_FONT_WIDTH; bit++) {
      if (glyph[row] >> (GST_SAM_FONT_WIDTH - 1 - bit) & 1)
        fill_rect (d, x + bit * d->scale, y + row * d->scale, d->scale,
            d->scale, colour);
    }
  }
}

static void
paint_label (Drawing * d, const GstSamObject * object)
{
  const guint32 rgb = gst_sam_palette_get (object->slot);
  /* Rec. 601 luma: dark letters on light colours */
  const gint luma = (299 * (rgb >> 16) + 587 * (rgb >> 8 & 255) +
      114 * (rgb & 255)) / 1000;
  const guint32 ink = get_pixel (d, luma > 140 ? 0x000000 : 0xffffff,
      d->strength);
  gchar text[40];
  Rect label;
  gint i;

  write_label (d, object, text);
  if (!*text)
    return;
  label = get_label (d, object, text);
  fill_rect (d, label.x, label.y, label.w, label.h,
      get_pixel (d, rgb, 0.8 * d->strength));
  for (i = 0; text[i]; i++)
    paint_glyph (d, text[i], label.x + (2 + i * (GST_SAM_FONT_WIDTH + 1)) *
        d->scale, label.y + 2 * d->scale, ink);
}

gboolean
gst_sam_paint_draw (GstSamPaint * paint, const GstSamPaintStyle * style,
    const GstSamReport * report, GstVideoFrame * frame)
{
  Drawing d = {.paint = paint,.style = style,.report = report };
  GstSamLayer layer;
  guint i;

  /* 14 pixels high letters at 360 lines, 28 at 1080 */
  d.scale = MAX (1, (paint->height + 180) / 270);
  d.strength = style->dim_stale && report->state == GST_SAM_REPORT_STALE ?
      0.5 : 1;
  set_colours (&d, &frame->info);
  if (!find_area (&d))
    return TRUE;
  if ((style->masks || style->outlines) && make_labels (&d))
    paint_masks (&d);
  else
    memset (paint->pixels, 0, (gsize) d.area.w * d.area.h * 4);
  for (i = 0; i < report->num_objects; i++) {
    if (style->boxes && is_visible (&report->object[i]))
      paint_box (&d, &report->object[i]);
  }
  for (i = 0; i < report->num_objects; i++) {
    if (is_visible (&report->object[i]))
      paint_label (&d, &report->object[i]);
  }
  layer.pixels = paint->pixels;
  layer.yuv = d.yuv;
  layer.x = d.area.x;
  layer.y = d.area.y;
  layer.w = d.area.w;
  layer.h = d.area.h;
  return gst_sam_blend (&layer, frame);
}
