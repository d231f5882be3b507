/* SPDX-License-Identifier: MIT */
/* The points and boxes of prompts, from rectangles. A patch replaces what lies
 * below it, so that a disc is drawn from the outside in, and its smooth edges
 * are discs of half a pixel more in a colour between the two. */

#include "gstsampoints.h"

#include <math.h>

/* Sizes in px of a frame of 360 lines: of the light ring, and of what is inside
 * of it; how wide the dark rim around it is. */
#define LINES 360.0
#define RADIUS 6.0
#define INNER 4.0
#define RIM 1.25
/* A ring of less is nothing but a dot. */
#define LEAST_RADIUS 3.0

/* How long a mark shrinks before it is gone. */
#define SHRINK (3 * GST_SECOND / 10)

#define LIGHT 0xffffff
#define DARK 0x000000

typedef struct
{
  GstSamDrawing *d;
  const GstSamMark *mark;
  gdouble unit;                 /* px of this frame */
  guint32 rgb;                  /* of the object */
  gdouble left;                 /* 1, less at the end of its time */
} Pen;

static gdouble
get_unit (const GstSamDrawing * d)
{
  return MAX (MIN (d->width, d->height) / LINES, LEAST_RADIUS / RADIUS);
}

static guint32
mix (guint32 a, guint32 b)
{
  return ((a & 0xfefefe) >> 1) + ((b & 0xfefefe) >> 1);
}

/* All of its rows that have one width are one rectangle. Returns how many those
 * are; @d may be NULL, to count them. */
static gint
add_disc (GstSamDrawing * d, gint x, gint y, gdouble radius, guint32 colour)
{
  gint row, width, last = -1, n = 0;

  for (row = (gint) radius; row >= 0; row--) {
    width = (gint) sqrt (radius * radius - row * row);
    if (width == last)
      continue;
    if (d)
      gst_sam_drawing_add_rect (d, x - width, y - row, 2 * width + 1,
          2 * row + 1, colour);
    last = width;
    n++;
  }
  return n;
}

static gint
scale (gdouble fraction, gint size)
{
  return CLAMP ((gint) floor (fraction * size), 0, size - 1);
}

/* A filled disc in a light ring: on the object. A dark disc with a minus in a
 * ring of the object's colour: not on it. While they wait, both are hollow. */
static void
add_point (const Pen * p)
{
  const GstSamMark *mark = p->mark;
  GstSamDrawing *d = p->d;
  const gdouble size = p->unit * p->left, outer = RADIUS * size;
  const gdouble inner = INNER * size, rim = MAX (1, RIM * p->unit);
  const gboolean hollow = mark->waits;
  const guint32 ring = mark->positive && !hollow ? LIGHT : p->rgb;
  const guint32 fill = mark->positive ? p->rgb : DARK;
  const gint x = scale (mark->x, d->width), y = scale (mark->y, d->height);
  guint32 colour;

  if (outer < 1)
    return;
  colour = gst_sam_drawing_get_colour (d, DARK, 0.2);
  add_disc (d, x, y, outer + rim + 0.6, colour);
  colour = gst_sam_drawing_get_colour (d, DARK, 0.6);
  add_disc (d, x, y, outer + rim, colour);
  colour = gst_sam_drawing_get_colour (d, mix (ring, DARK), 0.8);
  add_disc (d, x, y, outer + 0.5, colour);
  colour = gst_sam_drawing_get_colour (d, ring, 1);
  add_disc (d, x, y, outer, colour);
  colour = gst_sam_drawing_get_colour (d, mix (ring, hollow ? DARK : fill), 1);
  add_disc (d, x, y, inner + 0.5, colour);
  if (hollow) {
    colour = gst_sam_drawing_get_colour (d, DARK, 0.6);
    add_disc (d, x, y, inner, colour);
    add_disc (d, x, y, inner - rim, 0);
  } else {
    add_disc (d, x, y, inner, gst_sam_drawing_get_colour (d, fill, 1));
  }
  if (!mark->positive) {
    const gint half = (gint) (0.6 * inner);
    const gint thick = (gint) (0.4 * inner) / 2;

    colour = gst_sam_drawing_get_colour (d, hollow ? p->rgb : LIGHT, 1);
    gst_sam_drawing_add_rect (d, x - half, y - thick, 2 * half + 1,
        2 * thick + 1, colour);
  }
}

static gint
count_rects (const Pen * p)
{
  const gdouble most = (RADIUS + RIM) * p->unit + 1.6;

  return p->mark->is_box ? 4 : 7 * add_disc (NULL, 0, 0, most, 0) + 1;
}

/* Dashed while it waits. */
static void
add_box (const Pen * p)
{
  const GstSamMark *mark = p->mark;
  GstSamDrawing *d = p->d;
  const gint t = MAX (1, (gint) (p->unit + 0.5));
  const gint x = scale (mark->x, d->width), y = scale (mark->y, d->height);
  const gint w = MAX ((gint) (mark->w * d->width + 0.5), t);
  const gint h = MAX ((gint) (mark->h * d->height + 0.5), t);
  const gint edges[4][4] = {
    {x, y, w, t}, {x, y + h - t, w, t}, {x, y, t, h}, {x + w - t, y, t, h}
  };
  const guint32 colour = gst_sam_drawing_get_colour (d, p->rgb, p->left);
  const guint32 dark = gst_sam_drawing_get_colour (d, DARK, 0.6);
  gint i;

  for (i = 0; i < 4; i++) {
    const gint *e = edges[i];

    if (mark->waits)
      gst_sam_drawing_add_dashes (d, e[0], e[1], e[2], e[3], t, colour, dark);
    else
      gst_sam_drawing_add_rect (d, e[0], e[1], e[2], e[3], colour);
  }
}

/* An angle whose outermost pixel is at (x, y). */
static void
add_corner (GstSamDrawing * d, gint x, gint y, gint right, gint down, gint arm,
    gint thick, guint32 colour)
{
  gst_sam_drawing_add_rect (d, right > 0 ? x : x - arm + 1,
      down > 0 ? y : y - thick + 1, arm, thick, colour);
  gst_sam_drawing_add_rect (d, right > 0 ? x : x - thick + 1,
      down > 0 ? y : y - arm + 1, thick, arm, colour);
}

/* Four corners around the object that clicks are for, inside of the frame. */
static void
add_current (GstSamDrawing * d)
{
  const GstSamObject *object = d->report->current ?
      gst_sam_drawing_find (d, d->report->current) : NULL;
  const gdouble unit = get_unit (d);
  const gint thick = MAX (1, (gint) (1.5 * unit + 0.5));
  const gint rim = MAX (1, (gint) (unit + 0.5)), gap = 4 * unit + rim;
  GstSamRect box;
  gint x[2], y[2], arm, pass, i;

  if (!object || !gst_sam_drawing_shows (object))
    return;
  box = gst_sam_drawing_get_box (d, object);
  arm = CLAMP (MIN (box.w, box.h) / 4, 2 * thick, (gint) (12 * unit + 0.5));
  x[0] = MAX (box.x - gap, 0);
  y[0] = MAX (box.y - gap, 0);
  x[1] = MIN (box.x + box.w + gap, d->width) - 1;
  y[1] = MIN (box.y + box.h + gap, d->height) - 1;
  /* dark first, then a light line in the middle of it */
  for (pass = 0; pass < 2; pass++) {
    const gint inset = pass ? rim : 0, more = pass ? 0 : 2 * rim;
    const guint32 colour = pass ? gst_sam_drawing_get_colour (d, LIGHT, 1) :
        gst_sam_drawing_get_colour (d, DARK, 0.6);

    for (i = 0; i < 4; i++) {
      const gint right = i % 2 ? -1 : 1, down = i / 2 ? -1 : 1;

      add_corner (d, x[i % 2] + right * inset, y[i / 2] + down * inset, right,
          down, arm + more, thick + more, colour);
    }
  }
}

static void
begin (Pen * p, GstSamDrawing * d, const GstSamMark * mark)
{
  const GstSamObject *object = gst_sam_drawing_find (d, mark->id);
  const GstClockTime age = mark->waits ? 0 : MIN (mark->age, GST_SAM_MARK_TIME);

  p->d = d;
  p->mark = mark;
  p->unit = get_unit (d);
  p->rgb = object ? gst_sam_drawing_get_rgb (d, object) : LIGHT;
  p->left = MIN (1, (gdouble) (GST_SAM_MARK_TIME - age) / SHRINK);
}

void
gst_sam_points_add (GstSamDrawing * d)
{
  const GstSamReport *report = d->report;
  guint first = report->num_marks, i;
  gint room;
  Pen pen;

  if (gst_sam_drawing_count_free (d) >= 16)
    add_current (d);
  room = gst_sam_drawing_count_free (d);
  while (first > 0) {
    begin (&pen, d, &report->mark[first - 1]);
    room -= count_rects (&pen);
    if (room < 0)
      break;
    first--;
  }
  for (i = first; i < report->num_marks; i++) {
    begin (&pen, d, &report->mark[i]);
    if (pen.mark->is_box)
      add_box (&pen);
    else
      add_point (&pen);
  }
}
