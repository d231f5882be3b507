/* SPDX-License-Identifier: MIT */
/* Things on frames of a fine texture, with the meta that samtrack would add: no
 * model is needed. */
#ifndef THINGS_H
#define THINGS_H

#include "samcheck.h"

/* Of the frames. */
#define W 96
#define H 64

/* The mask, at even coordinates: no block of chroma lies on its edge. */
#define X0 32
#define Y0 16
#define X1 64
#define Y1 48

typedef struct
{
  guint64 id;
  guint slot;
  const gchar *state, *label;
  gint x, y, w, h;
} Thing;

static const Thing square = { 7, 1, "tracked", NULL, X0, Y0, X1 - X0, Y1 - Y0 };

static const Thing two[] = {
  {1, 1, "tracked", "face", 8, 16, 16, 16},
  {2, 2, "tracked", NULL, 48, 16, 16, 16},
};

/* The meta as samtrack writes it; the label map has the frame's size, and each
 * thing fills its box. */
GstStructure *add_things (GstBuffer * buf, const gchar * state,
    const Thing * things, guint n);

/* Kinds of lies, 2 to 8, of such a meta about its first thing and its mask; of
 * any other the thing's box reaches beyond the frame. */
void tell_lie (GstStructure * meta, guint kind);

/* A picture with fine detail everywhere: component @c of a pixel. */
guint8 texture (gint x, gint y, gint c);
GstBuffer *new_rgba (void);
GstHarness *open_rgba (const gchar * launch);

/* Push a frame of that time whose things are in that state, and pull it; @n 0:
 * without a meta. */
GstBuffer *push (GstHarness * h, guint64 ms, const gchar * state,
    const Thing * things, guint n);

gboolean is_changed (const guint8 * data, gint x, gint y);

/* How many pixels of a rectangle are as they were; takes the buffer over if
 * @last. */
guint count_seen (GstBuffer * buf, gint x0, gint y0, gint x1, gint y1,
    gboolean last);

#endif
