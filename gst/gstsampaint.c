/* Masks, outlines, boxes and labels in system memory: painted into a layer as
 * large as what there is to see, which is then blended over the frame. */

#include "gstsampaint.h"

#include "gstsamblend.h"

#include <string.h>

/* One drawing on its way into the layer. */
typedef struct
{
  GstSamPaint *paint;
  const GstSamDrawing *drawing;
  const struct sam_overlay *overlay;
} Canvas;

static gboolean
prepare_scratch (GstSamPaint * paint, gsize bytes)
{
  if (bytes <= paint->scratch_bytes)
    return TRUE;
  g_free (paint->scratch);
  paint->scratch = g_try_malloc (bytes);
  paint->scratch_bytes = paint->scratch ? bytes : 0;
  return paint->scratch != NULL;
}

static gboolean
prepare_layer (GstSamPaint * paint, gint width, gint height)
{
  const gsize size = (gsize) width * height;

  if (paint->pixels && paint->width == width && paint->height == height)
    return TRUE;
  gst_sam_paint_clear (paint);
  paint->width = width;
  paint->height = height;
  paint->pixels = g_try_malloc_n (size, sizeof *paint->pixels);
  paint->column = g_try_new (gint, width);
  paint->weight = g_try_new (guint8, width);
  if (gst_sam_outline_prepare (&paint->outline, width, height) &&
      paint->pixels && paint->column && paint->weight)
    return TRUE;
  gst_sam_paint_clear (paint);
  return FALSE;
}

gboolean
gst_sam_paint_prepare (GstSamPaint * paint, const GstVideoFrame * frame)
{
  return prepare_layer (paint, GST_VIDEO_FRAME_WIDTH (frame),
      GST_VIDEO_FRAME_HEIGHT (frame)) &&
      prepare_scratch (paint, gst_sam_blend_get_scratch (frame));
}

void
gst_sam_paint_clear (GstSamPaint * paint)
{
  g_clear_pointer (&paint->scratch, g_free);
  paint->scratch_bytes = 0;
  gst_sam_outline_clear (&paint->outline);
  g_clear_pointer (&paint->pixels, g_free);
  g_clear_pointer (&paint->column, g_free);
  g_clear_pointer (&paint->weight, g_free);
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

/* The first pixel right of @x that cell @cell does not reach. */
static gint
find_end (const Canvas * c, gint x, gint cell)
{
  gint end = c->overlay->width;

  while (x + 1 < end) {
    const gint middle = (x + end) / 2;

    if (c->paint->column[middle] < cell)
      x = middle;
    else
      end = middle;
  }
  return end;
}

static void
stretch_row (const Canvas * c, const guint8 * upper, const guint8 * lower,
    guint8 below, guint8 * out)
{
  const gint mw = c->drawing->report->mask_width;
  gint x = 0, end;

  while (x < c->overlay->width) {
    const gint left = c->paint->column[x], right = MIN (left + 1, mw - 1);
    const guint8 cell[4] = {
      upper[left], upper[right], lower[left], lower[right]
    };

    if (cell[0] == cell[1] && cell[0] == cell[2] && cell[0] == cell[3]) {
      gint n = MIN (gst_sam_outline_count_same (upper + left, mw - left),
          gst_sam_outline_count_same (lower + left, mw - left));

      end = left + n < mw ? find_end (c, x, left + n - 1) : c->overlay->width;
      memset (out + x, cell[0], end - x);
      x = end;
    } else {
      out[x] = vote (cell, c->paint->weight[x], below);
      x++;
    }
  }
}

/* Stretch the label map over the layer. */
static void
stretch_labels (const Canvas * c, const guint8 * mask)
{
  GstSamPaint *paint = c->paint;
  const GstSamReport *report = c->drawing->report;
  const gint mw = report->mask_width, mh = report->mask_height;
  gint x, y;

  for (x = 0; x < c->overlay->width; x++)
    paint->column[x] = locate (c->overlay->x + x, paint->width, mw,
        &paint->weight[x]);
  for (y = 0; y < c->overlay->height; y++) {
    guint8 below;
    gint row = locate (c->overlay->y + y, paint->height, mh, &below);

    stretch_row (c, mask + (gsize) row * mw, mask + (gsize) MIN (row + 1,
            mh - 1) * mw, below, gst_sam_outline_get_row (&paint->outline, y));
  }
}

static gboolean
make_labels (const Canvas * c)
{
  const GstSamReport *report = c->drawing->report;
  const struct sam_overlay *overlay = c->overlay;
  GstMapInfo map;
  gboolean ok = FALSE;
  gint y;

  if (!report->mask || !gst_buffer_map (report->mask, &map, GST_MAP_READ))
    return FALSE;
  if (map.size >= (gsize) report->mask_width * report->mask_height) {
    ok = TRUE;
    gst_sam_outline_begin (&c->paint->outline, overlay->width,
        overlay->height);
    if (report->mask_width == c->paint->width &&
        report->mask_height == c->paint->height) {
      for (y = 0; y < overlay->height; y++)
        memcpy (gst_sam_outline_get_row (&c->paint->outline, y), map.data +
            (gsize) (overlay->y + y) * c->paint->width + overlay->x,
            overlay->width);
    } else {
      stretch_labels (c, map.data);
    }
  }
  gst_buffer_unmap (report->mask, &map);
  return ok;
}

static void
fill_pixels (guint32 * out, gint n, guint32 pixel)
{
  gint i;

  for (i = 0; i < n; i++)
    out[i] = pixel;
}

/* As the layer stores it: the most significant byte of Y'CbCr comes first. */
static guint32
get_pixel (const Canvas * c, guint32 colour)
{
  return c->drawing->yuv ? GUINT32_TO_BE (colour) : colour;
}

static void
fill_row (const Canvas * c, const guint8 * labels, guint32 * out)
{
  const gint width = c->overlay->width;
  gint x, n;

  for (x = 0; x < width; x += n) {
    n = gst_sam_outline_count_same (labels + x, width - x);
    fill_pixels (out + x, n, get_pixel (c, c->overlay->fill[labels[x]]));
  }
}

static void
paint_masks (const Canvas * c)
{
  const struct sam_overlay *overlay = c->overlay;
  GstSamOutline *outline = &c->paint->outline;
  gint y;

  if (overlay->line_width)
    gst_sam_outline_find (outline, overlay);
  for (y = 0; y < overlay->height; y++) {
    guint32 *out = c->paint->pixels + (gsize) y * overlay->width;

    if (overlay->line_width)
      gst_sam_outline_colour (outline, overlay, c->drawing->yuv, y, out);
    else
      fill_row (c, gst_sam_outline_get_row (outline, y), out);
  }
}

static void
fill_rect (const Canvas * c, gint left, gint top, gint width, gint height,
    guint32 colour)
{
  const struct sam_overlay *overlay = c->overlay;
  gint x0 = MAX (left - overlay->x, 0);
  gint y0 = MAX (top - overlay->y, 0);
  gint x1 = MIN (left + width - overlay->x, overlay->width);
  gint y1 = MIN (top + height - overlay->y, overlay->height);
  guint32 pixel = get_pixel (c, colour);
  gint y;

  for (y = y0; y < y1 && x0 < x1; y++)
    fill_pixels (c->paint->pixels + (gsize) y * overlay->width + x0, x1 - x0,
        pixel);
}

static void
paint_patch (const Canvas * c, const struct sam_patch *patch)
{
  const gint scale = patch->scale;
  const gint columns = scale ? patch->width / scale : 0;
  const gint rows = scale ? patch->height / scale : 0;
  const guint32 *bits = c->overlay->bits + patch->first;
  gint row, i;

  fill_rect (c, patch->x, patch->y, patch->width, patch->height,
      patch->colour);
  for (row = 0; row < rows; row++, bits += (columns + 31) / 32) {
    for (i = 0; i < columns; i++) {
      if (bits[i / 32] >> (i % 32) & 1)
        fill_rect (c, patch->x + i * scale, patch->y + row * scale, scale,
            scale, patch->ink);
    }
  }
}

gboolean
gst_sam_paint_draw (GstSamPaint * paint, const GstSamDrawing * drawing,
    GstVideoFrame * frame)
{
  const struct sam_overlay *overlay = &drawing->overlay;
  const Canvas c = { paint, drawing, overlay };
  GstSamLayer layer;
  gint i;

  if (drawing->has_labels && make_labels (&c))
    paint_masks (&c);
  else
    memset (paint->pixels, 0, (gsize) overlay->width * overlay->height * 4);
  for (i = 0; i < overlay->num_patches; i++)
    paint_patch (&c, &overlay->patches[i]);
  layer.pixels = paint->pixels;
  layer.yuv = drawing->yuv;
  layer.x = overlay->x;
  layer.y = overlay->y;
  layer.w = overlay->width;
  layer.h = overlay->height;
  return gst_sam_blend (&layer, frame, paint->scratch);
}
