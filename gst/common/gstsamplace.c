/* SPDX-License-Identifier: MIT */
/* A report's masks and boxes where an element has put the picture. */

#include "gstsamplace.h"

#include <math.h>
#include <string.h>

#if GST_CHECK_VERSION (1, 28, 0)
G_STATIC_ASSERT (sizeof (GstSamMatrix) == sizeof (GstVideoMetaTransformMatrix));
#endif

/* Of a cell of the label map: what numbers of 24 bits can be off by. */
#define EXACT 0.01
/* px of a label map */
#define MAX_PIXELS (1 << 26)

/* Along an axis of the frame that comes out: an edge at e of the axis @from is
 * at @scale * e + @shift, px. Its pixels from @begin to @end show the
 * picture. */
typedef struct
{
  gint from;                    /* 0: x, 1: y */
  gdouble scale, shift;
  gdouble begin, end;
  gint size, from_size;         /* px of the frames */

  /* the same in cells of the label maps */
  gint cells, from_cells;
  gint sign, offset;            /* edge e is at sign * e + offset */
  gint first, last;             /* cells that show the picture */
} Axis;

static gboolean
to_cells (gdouble value, gint * cells)
{
  *cells = (gint) CLAMP (floor (value + 0.5), -G_MAXINT / 2, G_MAXINT / 2);
  return fabs (value - *cells) <= EXACT;
}

/* Returns FALSE if the axis is not that of one axis ahead. */
static gboolean
read_axis (Axis * axis, const GstSamMatrix * m, gint i)
{
  const gfloat *row = m->matrix[i];
  const gint in[] = { m->in_rectangle.x, m->in_rectangle.y };
  const gint in_size[] = { m->in_rectangle.w, m->in_rectangle.h };
  const gint out = i ? m->out_rectangle.y : m->out_rectangle.x;
  const gint out_size = i ? m->out_rectangle.h : m->out_rectangle.w;
  gdouble a, b;

  axis->from = row[0] == 0;
  axis->scale = row[axis->from];
  if (row[!axis->from] != 0 || axis->scale == 0 || !isfinite (axis->scale) ||
      !isfinite (row[2]))
    return FALSE;
  /* it is for columns of pixels, whose edges are on their other side then */
  if (axis->scale < 0 && axis->scale != -1)
    return FALSE;
  axis->shift = row[2] + (axis->scale < 0) - axis->scale * in[axis->from] + out;
  a = axis->scale * in[axis->from] + axis->shift;
  b = axis->scale * (in[axis->from] + in_size[axis->from]) + axis->shift;
  axis->size = i ? m->out_info->height : m->out_info->width;
  axis->from_size = axis->from ? m->in_info->height : m->in_info->width;
  axis->begin = MAX (MAX (MIN (a, b), out), 0);
  axis->end = MIN (MIN (MAX (a, b), out + out_size), axis->size);
  return axis->begin < axis->end;
}

/* Returns FALSE if its cells do not fit. */
static gboolean
measure_cells (Axis * axis, gint from_cells)
{
  /* cells per pixel that comes out */
  const gdouble density = from_cells / (axis->from_size * fabs (axis->scale));

  axis->from_cells = from_cells;
  axis->sign = axis->scale < 0 ? -1 : 1;
  return to_cells (axis->size * density, &axis->cells) &&
      to_cells (axis->shift * density, &axis->offset) &&
      to_cells (axis->begin * density, &axis->first) &&
      to_cells (axis->end * density, &axis->last) &&
      axis->cells > 0 && axis->cells <= SAM_MAX_SIDE;
}

/* The cell ahead of a cell that comes out; -1: none. */
static gint
get_source (const Axis * axis, gint cell)
{
  const gint source = axis->sign > 0 ? cell - axis->offset :
      axis->offset - 1 - cell;

  if (cell < axis->first || cell >= axis->last)
    return -1;
  return source < axis->from_cells ? source : -1;
}

/* Planes of the size of the label map, one beneath the other, on their new
 * places. Returns NULL if the buffer cannot be read or is too small. */
static GstBuffer *
move_planes (GstBuffer * from, guint planes, const Axis axis[2])
{
  const gsize in_bytes = (gsize) axis[0].from_cells * axis[1].from_cells;
  const gsize out_bytes = (gsize) axis[0].cells * axis[1].cells;
  const gint width = axis[0].from ? axis[1].from_cells : axis[0].from_cells;
  GstMapInfo in, out;
  GstBuffer *to;
  guint plane;
  gint x, y;

  if (!gst_buffer_map (from, &in, GST_MAP_READ))
    return NULL;
  if (in.size < planes * in_bytes) {
    gst_buffer_unmap (from, &in);
    return NULL;
  }
  to = gst_buffer_new_allocate (NULL, planes * out_bytes, NULL);
  gst_buffer_map (to, &out, GST_MAP_WRITE);
  memset (out.data, 0, out.size);
  for (plane = 0; plane < planes; plane++) {
    for (y = axis[1].first; y < axis[1].last; y++) {
      const gint v = get_source (&axis[1], y);
      guint8 *row = out.data + plane * out_bytes + (gsize) y * axis[0].cells;

      for (x = axis[0].first; v >= 0 && x < axis[0].last; x++) {
        const gint u = get_source (&axis[0], x);
        const gsize at = axis[0].from ? (gsize) u * width + v :
            (gsize) v * width + u;

        if (u >= 0)
          row[x] = in.data[plane * in_bytes + at];
      }
    }
  }
  gst_buffer_unmap (to, &out);
  gst_buffer_unmap (from, &in);
  return to;
}

static void
count_pixels (GstBuffer * mask, guint count[256])
{
  GstMapInfo map;
  gsize i;

  memset (count, 0, 256 * sizeof *count);
  if (!gst_buffer_map (mask, &map, GST_MAP_READ))
    return;
  for (i = 0; i < map.size; i++)
    count[map.data[i]]++;
  gst_buffer_unmap (mask, &map);
}

static gint
place_edge (const Axis * axis, gdouble edge)
{
  return CLAMP (floor (axis->scale * edge + axis->shift + 0.5), axis->begin,
      axis->end);
}

/* The part of a box that is seen; 0 x 0 if none is. */
static void
place_box (GstSamObject * object, const Axis axis[2])
{
  const gint from[] = { object->x, object->y };
  const gint size[] = { object->w, object->h };
  gint at[2], length[2], i;

  for (i = 0; i < 2; i++) {
    const gint k = axis[i].from;
    const gint a = place_edge (&axis[i], from[k]);
    const gint b = place_edge (&axis[i], from[k] + size[k]);

    at[i] = MIN (a, b);
    length[i] = ABS (a - b);
  }
  if (!length[0] || !length[1])
    at[0] = at[1] = length[0] = length[1] = 0;
  object->x = at[0];
  object->y = at[1];
  object->w = length[0];
  object->h = length[1];
}

/* @before, @behind: pixels of each slot in the label maps, whole and cut. */
static void
place_object (GstSamObject * object, const Axis axis[2],
    const guint before[256], const guint behind[256])
{
  const guint slot = object->slot & 255;
  gdouble area = object->area * fabs (axis[0].scale * axis[1].scale);

  place_box (object, axis);
  if (before[slot])
    area = area * behind[slot] / before[slot];
  if (!object->w || (before[slot] && !behind[slot])) {
    object->x = object->y = object->w = object->h = 0;
    area = 0;
  }
  object->area = CLAMP (area + 0.5, 0, (gdouble) object->w * object->h);
}

/* Returns FALSE if nothing of the mark is seen. */
static gboolean
place_mark (GstSamMark * mark, const Axis axis[2])
{
  const gdouble at[] = { mark->x, mark->y }, size[] = { mark->w, mark->h };
  gdouble begin[2], end[2];
  gint i;

  for (i = 0; i < 2; i++) {
    const Axis *x = &axis[i];
    const gint k = x->from;
    const gdouble a = x->scale * at[k] * x->from_size + x->shift;
    const gdouble b = x->scale * (at[k] + size[k]) * x->from_size + x->shift;

    begin[i] = MAX (MIN (a, b), x->begin) / x->size;
    end[i] = MIN (MAX (a, b), x->end) / x->size;
    if (begin[i] > end[i])
      return FALSE;
  }
  mark->x = begin[0];
  mark->y = begin[1];
  mark->w = end[0] - begin[0];
  mark->h = end[1] - begin[1];
  return TRUE;
}

static void
place_marks (GstSamReport * report, const Axis axis[2])
{
  guint i, n = 0;

  for (i = 0; i < report->num_marks; i++) {
    report->mark[n] = report->mark[i];
    n += place_mark (&report->mark[n], axis);
  }
  report->num_marks = n;
}

/* The label map and what is known of it by pixels. */
static gboolean
place_masks (GstSamReport * report, GstBuffer ** soft, Axis axis[2],
    guint before[256], guint behind[256])
{
  const gint cells[] = { report->mask_width, report->mask_height };
  GstBuffer *mask;

  if (!measure_cells (&axis[0], cells[axis[0].from]) ||
      !measure_cells (&axis[1], cells[axis[1].from]) ||
      (gint64) axis[0].cells * axis[1].cells > MAX_PIXELS)
    return FALSE;
  mask = move_planes (report->mask, 1, axis);
  if (!mask)
    return FALSE;
  count_pixels (report->mask, before);
  count_pixels (mask, behind);
  report->mask = mask;
  report->mask_width = axis[0].cells;
  report->mask_height = axis[1].cells;
  if (*soft)
    *soft = move_planes (*soft, report->num_objects, axis);
  return TRUE;
}

gboolean
gst_sam_place (GstSamReport * report, GstBuffer ** soft,
    const GstSamMatrix * matrix)
{
  guint before[256] = { 0, }, behind[256] = { 0, }, i;
  Axis axis[2];

  if (matrix->matrix[2][0] != 0 || matrix->matrix[2][1] != 0 ||
      matrix->matrix[2][2] != 1 ||
      report->width != matrix->in_info->width ||
      report->height != matrix->in_info->height ||
      !read_axis (&axis[0], matrix, 0) || !read_axis (&axis[1], matrix, 1) ||
      axis[0].from == axis[1].from)
    return FALSE;
  if (!report->mask)
    *soft = NULL;
  else if (!place_masks (report, soft, axis, before, behind))
    return FALSE;
  for (i = 0; i < report->num_objects; i++)
    place_object (&report->object[i], axis, before, behind);
  place_marks (report, axis);
  report->width = matrix->out_info->width;
  report->height = matrix->out_info->height;
  return TRUE;
}
