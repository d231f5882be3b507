/* SPDX-License-Identifier: MIT */
#include "gstsampolygon.h"
#include "gstsamrle.h"

#include <string.h>

/* Sides of pixels around a piece: less is left out if there is more. */
#define SPECK 16

/* A mask with a margin of one pixel. */
typedef struct
{
  guint8 *cells;
  guint8 *seen;                 /* upper edges that a loop has followed */
  gint width, height, stride;
} Field;

typedef struct
{
  gint x, y;
} Corner;

static guint8 *
get_cell (const Field * f, gint x, gint y)
{
  return &f->cells[(gsize) (y + 1) * f->stride + x + 1];
}

/* Follow the edge between pixels with the mask on the right; what touches at a
 * corner is apart. Corners alone are kept. Returns its length in sides of
 * pixels. */
static guint
follow (Field * f, gint x, gint y, GArray * loop)
{
  /* right, down, left, up */
  static const gint ahead[4][2] = { {1, 0}, {0, 1}, {-1, 0}, {0, -1} };
  /* The pixel at a corner that is right of one who goes so. */
  static const gint beside[4][2] = { {0, 0}, {-1, 0}, {-1, -1}, {0, -1} };
  const Corner start = { x, y };
  guint turn = 0, steps = 0, left;

  g_array_append_val (loop, start);
  do {
    const guint before = turn;

    if (!turn)
      f->seen[(y + 1) * f->stride + x + 1] = 1;
    x += ahead[turn][0];
    y += ahead[turn][1];
    steps++;
    left = (turn + 3) % 4;
    if (!*get_cell (f, x + beside[turn][0], y + beside[turn][1]))
      turn = (turn + 1) % 4;
    else if (*get_cell (f, x + beside[left][0], y + beside[left][1]))
      turn = left;
    if (turn != before) {
      const Corner corner = { x, y };

      g_array_append_val (loop, corner);
    }
  } while (x != start.x || y != start.y || turn);
  return steps;
}

static void
append_corner (GString * to, const Field * f, Corner corner)
{
  gchar text[2][G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (to, " %s %s",
      g_ascii_formatd (text[0], sizeof *text, "%.6g",
          (gdouble) corner.x / f->width),
      g_ascii_formatd (text[1], sizeof *text, "%.6g",
          (gdouble) corner.y / f->height));
}

/* Each loop ends where it began, and the line goes back the way it came. */
static void
trace (Field * f, guint least, GString * to)
{
  GArray *loop = g_array_new (FALSE, FALSE, sizeof (Corner));
  GArray *starts = g_array_new (FALSE, FALSE, sizeof (Corner));
  gint x, y;
  guint i;

  for (y = 0; y < f->height; y++) {
    for (x = 0; x < f->width; x++) {
      if (!*get_cell (f, x, y) || *get_cell (f, x, y - 1) ||
          f->seen[(gsize) (y + 1) * f->stride + x + 1])
        continue;
      g_array_set_size (loop, 0);
      if (follow (f, x, y, loop) < least)
        continue;
      g_array_append_val (starts, g_array_index (loop, Corner, 0));
      for (i = 0; i < loop->len; i++)
        append_corner (to, f, g_array_index (loop, Corner, i));
    }
  }
  for (i = starts->len; i > 2; i--)
    append_corner (to, f, g_array_index (starts, Corner, i - 2));
  g_array_unref (loop);
  g_array_unref (starts);
}

gboolean
gst_sam_polygon_append (GString * to, const gchar * counts, gint width,
    gint height)
{
  const gsize bytes = ((gsize) width + 2) * ((gsize) height + 2);
  const gsize before = to->len;
  Field field = { g_malloc0 (bytes), g_malloc0 (bytes), width, height,
    width + 2
  };

  if (gst_sam_rle_paint (counts, get_cell (&field, 0, 0), field.stride, width,
          height, 1)) {
    trace (&field, SPECK, to);
    if (to->len == before) {    /* a speck is all that there is */
      memset (field.seen, 0, bytes);
      trace (&field, 0, to);
    }
  }
  g_free (field.cells);
  g_free (field.seen);
  return to->len > before;
}
