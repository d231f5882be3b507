/* SPDX-License-Identifier: MIT */
/* Drawings as rectangles of a GstVideoOverlayComposition. Things whose areas
 * overlap share a rectangle, so that none lies on another, and the picture is
 * the one that would have been drawn on the frame. */

#include "gstsamattach.h"

#include "gstsamcompose.h"

#include <string.h>

/* Rectangles of a drawing; where there would be more, it is a single one. */
#define MAX_RECTANGLES 64

/* A drawing of a tracker, and what came of it. */
typedef struct
{
  struct sam_overlay overlay;   /* without pointers */
  struct sam_patch *patches;
  guint32 *bits;
  GstBuffer *mask;              /* the label map, NULL: none was drawn */
  GPtrArray *rectangles;
} Kept;

static Kept *
new_kept (void)
{
  Kept *kept = g_new0 (Kept, 1);

  kept->rectangles = g_ptr_array_new_with_free_func ((GDestroyNotify)
      gst_video_overlay_rectangle_unref);
  return kept;
}

static void
free_kept (Kept * kept)
{
  g_ptr_array_unref (kept->rectangles);
  g_free (kept->patches);
  g_free (kept->bits);
  gst_clear_buffer (&kept->mask);
  g_free (kept);
}

gboolean
gst_sam_attach_is_possible (void)
{
  return GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB == GST_VIDEO_FORMAT_BGRA;
}

void
gst_sam_attach_clear (GstSamAttach * self)
{
  gst_sam_paint_clear (&self->paint);
  gst_sam_spares_clear (&self->spares);
  g_clear_pointer (&self->kept, g_ptr_array_unref);
  g_clear_pointer (&self->rectangles, g_ptr_array_unref);
}

void
gst_sam_attach_set_info (GstSamAttach * self, const GstVideoInfo * info)
{
  gst_sam_attach_clear (self);
  gst_video_info_set_format (&self->info,
      GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, GST_VIDEO_INFO_WIDTH (info),
      GST_VIDEO_INFO_HEIGHT (info));
  self->kept = g_ptr_array_new_with_free_func ((GDestroyNotify) free_kept);
  self->rectangles = g_ptr_array_new ();
}

static Kept *
find_kept (GstSamAttach * self, guint tracker)
{
  while (self->kept->len <= tracker)
    g_ptr_array_add (self->kept, new_kept ());
  return g_ptr_array_index (self->kept, tracker);
}

static struct sam_overlay
drop_pointers (const struct sam_overlay *overlay)
{
  struct sam_overlay plain = *overlay;

  memset (&plain.labels, 0, sizeof plain.labels);
  plain.patches = NULL;
  plain.bits = NULL;
  return plain;
}

/* Whether the painter would be given the same again. A label map that is held
 * is not written to. */
static gboolean
is_same (const Kept * kept, const GstSamDrawing * drawing)
{
  const struct sam_overlay *overlay = &drawing->overlay;
  const struct sam_overlay plain = drop_pointers (overlay);

  return kept->mask == (drawing->has_labels ? drawing->report->mask : NULL) &&
      !memcmp (&kept->overlay, &plain, sizeof plain) &&
      (!plain.num_patches || !memcmp (kept->patches, overlay->patches,
          plain.num_patches * sizeof *overlay->patches)) &&
      (!plain.num_words || !memcmp (kept->bits, overlay->bits,
          plain.num_words * sizeof *overlay->bits));
}

static void
keep (Kept * kept, const GstSamDrawing * drawing)
{
  const struct sam_overlay *overlay = &drawing->overlay;

  kept->overlay = drop_pointers (overlay);
  g_free (kept->patches);
  kept->patches = g_memdup2 (overlay->patches,
      overlay->num_patches * sizeof *overlay->patches);
  g_free (kept->bits);
  kept->bits = g_memdup2 (overlay->bits,
      overlay->num_words * sizeof *overlay->bits);
  gst_buffer_replace (&kept->mask,
      drawing->has_labels ? drawing->report->mask : NULL);
}

static gboolean
overlap (GstSamRect a, GstSamRect b)
{
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h &&
      b.y < a.y + a.h;
}

/* Add an area to those that overlap none of the others. Returns their number,
 * or 0 if there are too many. */
static guint
add_area (GstSamRect areas[MAX_RECTANGLES], guint n, GstSamRect area)
{
  guint i = 0;

  while (i < n) {
    if (!overlap (areas[i], area)) {
      i++;
      continue;
    }
    gst_sam_rect_include (&area, areas[i]);
    areas[i] = areas[--n];
    i = 0;
  }
  if (n == MAX_RECTANGLES)
    return 0;
  areas[n] = area;
  return n + 1;
}

/* Where something is drawn. */
static guint
find_areas (const GstSamDrawing * drawing, GstSamRect areas[MAX_RECTANGLES])
{
  const struct sam_overlay *overlay = &drawing->overlay;
  const GstSamRect whole = { overlay->x, overlay->y, overlay->width,
    overlay->height
  };
  guint i, n = 0;

  for (i = 0; i < gst_sam_compose_count_things (drawing); i++) {
    GstSamRect area = gst_sam_compose_get_thing (drawing, i);
    const gint x1 = MIN (area.x + area.w, whole.x + whole.w);
    const gint y1 = MIN (area.y + area.h, whole.y + whole.h);

    area.x = MAX (area.x, whole.x);
    area.y = MAX (area.y, whole.y);
    area.w = x1 - area.x;
    area.h = y1 - area.y;
    if (area.w <= 0 || area.h <= 0)
      continue;
    n = add_area (areas, n, area);
    if (!n) {
      areas[0] = whole;
      return 1;
    }
  }
  return n;
}

/* Take an area out of the layer, which is clear there then. */
static void
take_pixels (GstSamAttach * self, GstSamRect area, guint32 * pixels)
{
  const gsize row_bytes = (gsize) area.w * sizeof *pixels;
  gint y;

  for (y = 0; y < area.h; y++) {
    guint32 *row = self->paint.pixels +
        (gsize) (area.y + y) * self->paint.width + area.x;

    memcpy (pixels + (gsize) y * area.w, row, row_bytes);
    memset (row, 0, row_bytes);
  }
}

/* A coarse label map is stretched over whole frames: then the area is drawn in
 * a layer of the frame's size. */
static gboolean
draw_in_layer (GstSamAttach * self, GstSamDrawing * drawing, GstSamRect area,
    guint32 * pixels, gchar ** why)
{
  struct sam_overlay *overlay = &drawing->overlay;
  const struct sam_overlay whole = *overlay;
  gboolean ok;

  if (!gst_sam_paint_open_layer (&self->paint, self->info.width,
          self->info.height)) {
    *why = g_strdup_printf ("out of memory for a layer of %d x %d pixels",
        self->info.width, self->info.height);
    return FALSE;
  }
  overlay->x = area.x;
  overlay->y = area.y;
  overlay->width = area.w;
  overlay->height = area.h;
  ok = gst_sam_paint_draw_layer (&self->paint, drawing, why);
  *overlay = whole;
  if (ok)
    take_pixels (self, area, pixels);
  return ok;
}

static GstBuffer *
wrap_pixels (GstMemory * memory, GstSamRect area)
{
  GstBuffer *pixels = gst_buffer_new ();

  gst_buffer_append_memory (pixels, memory);
  gst_buffer_add_video_meta (pixels, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, area.w, area.h);
  return pixels;
}

/* Returns NULL and sets *why on failure. */
static GstBuffer *
draw_area (GstSamAttach * self, GstSamDrawing * drawing, GstSamRect area,
    gchar ** why)
{
  GstMemory *memory = gst_sam_spares_take (&self->spares,
      (gsize) area.w * area.h * sizeof (guint32));
  GstMapInfo map;
  gboolean ok;

  gst_memory_map (memory, &map, GST_MAP_WRITE);
  if (gst_sam_paint_takes_parts (drawing))
    ok = gst_sam_paint_draw_part (&self->paint, drawing, area,
        (guint32 *) map.data, why);
  else
    ok = draw_in_layer (self, drawing, area, (guint32 *) map.data, why);
  gst_memory_unmap (memory, &map);
  if (ok)
    return wrap_pixels (memory, area);
  gst_memory_unref (memory);
  return NULL;
}

/* One of @old with the same pixels at the same place: a sink that has it need
 * not get it again. Else a new one. Takes over @pixels. */
static GstVideoOverlayRectangle *
make_rectangle (const GPtrArray * old, GstSamRect area, GstBuffer * pixels)
{
  GstVideoOverlayRectangle *rectangle, *found = NULL;
  GstMapInfo map;
  guint i, w, h;
  gint x, y;

  gst_buffer_map (pixels, &map, GST_MAP_READ);
  for (i = 0; i < old->len && !found; i++) {
    rectangle = g_ptr_array_index (old, i);
    gst_video_overlay_rectangle_get_render_rectangle (rectangle, &x, &y, &w,
        &h);
    if (x == area.x && y == area.y && w == (guint) area.w &&
        h == (guint) area.h &&
        !gst_buffer_memcmp (gst_video_overlay_rectangle_get_pixels_unscaled_raw
            (rectangle, GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE), 0, map.data,
            map.size))
      found = gst_video_overlay_rectangle_ref (rectangle);
  }
  gst_buffer_unmap (pixels, &map);
  if (!found)
    found = gst_video_overlay_rectangle_new_raw (pixels, area.x, area.y,
        area.w, area.h, GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE);
  gst_buffer_unref (pixels);
  return found;
}

/* Draw anew. */
static gboolean
draw (GstSamAttach * self, GstSamDrawing * drawing, Kept * kept, gchar ** why)
{
  GPtrArray *rectangles = g_ptr_array_new_with_free_func ((GDestroyNotify)
      gst_video_overlay_rectangle_unref);
  GstSamRect areas[MAX_RECTANGLES];
  const guint n = find_areas (drawing, areas);
  GstBuffer *pixels;
  guint i;

  for (i = 0; i < n; i++) {
    pixels = draw_area (self, drawing, areas[i], why);
    if (!pixels)
      break;
    g_ptr_array_add (rectangles, make_rectangle (kept->rectangles, areas[i],
            pixels));
  }
  g_ptr_array_unref (kept->rectangles);
  kept->rectangles = rectangles;
  self->is_drawn = TRUE;
  return i == n;
}

gboolean
gst_sam_attach_add (GstSamAttach * self, GstSamDrawing * drawing, gchar ** why)
{
  Kept *kept = find_kept (self, drawing->tracker);
  guint i;

  if (!is_same (kept, drawing)) {
    if (!gst_sam_painter_open (&self->paint.painter)) {
      *why = g_strdup ("out of memory for a painter");
      return FALSE;
    }
    keep (kept, drawing);
    if (!draw (self, drawing, kept, why)) {
      memset (&kept->overlay, 0, sizeof kept->overlay);
      return FALSE;
    }
  }
  for (i = 0; i < kept->rectangles->len; i++)
    g_ptr_array_add (self->rectangles, g_ptr_array_index (kept->rectangles, i));
  return TRUE;
}

static void
add_rectangle (GstVideoOverlayComposition ** all,
    GstVideoOverlayRectangle * rectangle)
{
  if (*all)
    gst_video_overlay_composition_add_rectangle (*all, rectangle);
  else
    *all = gst_video_overlay_composition_new (rectangle);
}

/* A composition of others is not changed: they may hold it. */
void
gst_sam_attach_finish (GstSamAttach * self, GstBuffer * frame)
{
  GstVideoOverlayCompositionMeta *meta =
      gst_buffer_get_video_overlay_composition_meta (frame);
  GstVideoOverlayComposition *all = NULL;
  guint i;

  if (self->is_drawn)
    gst_sam_spares_trim (&self->spares);
  self->is_drawn = FALSE;
  if (!self->rectangles->len)
    return;
  for (i = 0; meta && i < gst_video_overlay_composition_n_rectangles
      (meta->overlay); i++)
    add_rectangle (&all, gst_video_overlay_composition_get_rectangle
        (meta->overlay, i));
  for (i = 0; i < self->rectangles->len; i++)
    add_rectangle (&all, g_ptr_array_index (self->rectangles, i));
  if (meta)
    gst_buffer_remove_meta (frame, GST_META_CAST (meta));
  gst_buffer_add_video_overlay_composition_meta (frame, all);
  gst_video_overlay_composition_unref (all);
  g_ptr_array_set_size (self->rectangles, 0);
}
