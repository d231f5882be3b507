/* Lines around masks: found where labels change, and mixed only near there. */

#include "gstsamoutline.h"

#include <string.h>

#define PAD GST_SAM_OUTLINE_PAD
#define ONES G_GUINT64_CONSTANT (0x0101010101010101)
#define SLACK 8                 /* words of 8 bytes are read from any pixel */

gboolean
gst_sam_outline_prepare (GstSamOutline * o, gint width, gint height)
{
  const gsize bytes = (gsize) (width + 2 * PAD) * (height + 2 * PAD) + SLACK;

  if (bytes <= o->bytes)
    return TRUE;
  gst_sam_outline_clear (o);
  o->labels = g_try_malloc0 (bytes);
  o->near = g_try_malloc0 (bytes);
  o->soft = g_try_malloc0 (bytes);
  if (!o->labels || !o->near || !o->soft) {
    gst_sam_outline_clear (o);
    return FALSE;
  }
  o->bytes = bytes;
  return TRUE;
}

void
gst_sam_outline_clear (GstSamOutline * o)
{
  g_clear_pointer (&o->labels, g_free);
  g_clear_pointer (&o->near, g_free);
  g_clear_pointer (&o->soft, g_free);
  o->bytes = 0;
}

void
gst_sam_outline_begin (GstSamOutline * o, gint width, gint height)
{
  o->width = width;
  o->height = height;
  o->pitch = width + 2 * PAD;
}

static inline gsize
get_place (const GstSamOutline * o, gint x, gint y)
{
  return (gsize) (y + PAD) * o->pitch + PAD + x;
}

gint
gst_sam_outline_count_same (const guint8 * at, gint n)
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

/* Mark the pixels x0 to x1 - 1 of the rows y0 to y1 - 1, where they are the
 * layer's. */
static void
mark (const GstSamOutline * o, guint8 * map, gint x0, gint x1, gint y0, gint y1)
{
  const gint left = MAX (x0, 0), right = MIN (x1, o->width);
  const gint top = MAX (y0, 0), bottom = MIN (y1, o->height);
  guint8 *row = map + get_place (o, left, top);
  const guint64 ones = ONES;
  gint x, y;

  for (y = top; y < bottom; y++, row += o->pitch) {
    for (x = 0; x + 8 <= right - left; x += 8)
      memcpy (row + x, &ones, 8);
    for (; x < right - left; x++)
      row[x] = 1;
  }
}

/* Labels change between the pixels x - 1 and x of a row. */
static void
mark_column (const GstSamOutline * o, gint x, gint y, gint width)
{
  mark (o, o->near, x - width, x + width, y, y + 1);
  mark (o, o->soft, x - width - PAD, x + width + PAD, y - PAD, y + PAD + 1);
}

/* Labels change between the rows y - 1 and y. */
static void
mark_row (const GstSamOutline * o, gint x0, gint x1, gint y, gint width)
{
  mark (o, o->near, x0, x1, y - width, y + width);
  mark (o, o->soft, x0 - PAD, x1 + PAD, y - width - PAD, y + width + PAD);
}

/* The first of n bytes that differ, or n. */
static gint
find_difference (const guint8 * a, const guint8 * b, gint i, gint n)
{
  guint64 p, q;

  for (; i + 8 <= n; i += 8) {
    memcpy (&p, a + i, sizeof p);
    memcpy (&q, b + i, sizeof q);
    if (p != q)
      break;
  }
  while (i < n && a[i] == b[i])
    i++;
  return i;
}

static void
find_row (GstSamOutline * o, const struct sam_overlay *overlay, gint y)
{
  guint8 *row = gst_sam_outline_get_row (o, y);
  const guint8 *upper = row - o->pitch;
  gint x, n, end;

  for (x = 0; x < o->width; x += n) {
    n = gst_sam_outline_count_same (row + x, o->width - x);
    if (!((overlay->fill[row[x]] | overlay->line[row[x]]) >> 24))
      memset (row + x, 0, n);
    if (x > 0 && row[x - 1] != row[x])
      mark_column (o, x, y, overlay->line_width);
  }
  for (x = 0; y > 0 && x < o->width; x = end) {
    x = end = find_difference (row, upper, x, o->width);
    while (end < o->width && row[end] != upper[end])
      end++;
    if (x < end)
      mark_row (o, x, end, y, overlay->line_width);
  }
}

/* What is around the layer is as its nearest pixel. */
static void
pad (const GstSamOutline * o, guint8 * map)
{
  gint y;

  for (y = 0; y < o->height; y++) {
    guint8 *row = map + get_place (o, 0, y);

    memset (row - PAD, row[0], PAD);
    memset (row + o->width, row[o->width - 1], PAD);
  }
  for (y = 1; y <= PAD; y++) {
    memcpy (map + get_place (o, -PAD, -y), map + get_place (o, -PAD, 0),
        o->pitch);
    memcpy (map + get_place (o, -PAD, o->height - 1 + y),
        map + get_place (o, -PAD, o->height - 1), o->pitch);
  }
}

void
gst_sam_outline_find (GstSamOutline * o, const struct sam_overlay *overlay)
{
  const gsize bytes = (gsize) o->pitch * (o->height + 2 * PAD);
  gint y;

  memset (o->near, 0, bytes);
  memset (o->soft, 0, bytes);
  for (y = 0; y < o->height; y++)
    find_row (o, overlay, y);
  pad (o, o->labels);
  pad (o, o->near);
}

/* Weights around a pixel, as in struct sam_paint. */
typedef struct
{
  gint same, inner;
} Window;

static inline guint64
read_five (const guint8 * at)
{
  guint64 word;

  memcpy (&word, at, sizeof word);
  return GUINT64_FROM_LE (word);
}

/* Columns of the window, five bytes of up to 9, weighted 1 2 3 2 1: the fifth
 * byte of the product. */
static inline gint
weigh (guint64 columns)
{
  return (columns * G_GUINT64_CONSTANT (0x0102030201)) >> 32 & 255;
}

static inline Window
look (const GstSamOutline * o, gsize place)
{
  const guint64 low = G_GUINT64_CONSTANT (0x7f7f7f7f7f7f7f7f);
  const guint64 five = ONES >> 24;
  const guint64 own = o->labels[place] * ONES;
  guint64 same[5], inner[5];
  Window w;
  gint i;

  place -= PAD * o->pitch + PAD;
  for (i = 0; i < 5; i++, place += o->pitch) {
    const guint64 other = read_five (o->labels + place) ^ own;
    const guint64 differs = ((other & low) + low) | other;

    same[i] = ~differs >> 7 & five;
    inner[i] = same[i] & ~read_five (o->near + place);
  }
  w.same = weigh (same[0] + same[4] + 2 * (same[1] + same[3]) + 3 * same[2]);
  w.inner = weigh (inner[0] + inner[4] + 2 * (inner[1] + inner[3]) +
      3 * inner[2]);
  return w;
}

/* The label of the heaviest pixel of the window that has another one. */
static guint8
find_other (const GstSamOutline * o, gsize place)
{
  static const gint8 around[][2] = { {0, -1}, {-1, 0}, {1, 0}, {0, 1},
  {-1, -1}, {1, -1}, {-1, 1}, {1, 1}, {0, -2}, {-2, 0}, {2, 0}, {0, 2},
  {-1, -2}, {1, -2}, {-2, -1}, {2, -1}, {-2, 1}, {2, 1}, {-1, 2}, {1, 2},
  {-2, -2}, {2, -2}, {-2, 2}, {2, 2}
  };
  const guint8 *at = o->labels + place;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (around); i++) {
    const guint8 label = at[around[i][1] * o->pitch + around[i][0]];

    if (label != *at)
      return label;
  }
  return *at;
}

/* Three colours, weights of 8. */
static guint32
mix (guint32 a, gint wa, guint32 b, gint wb, guint32 c, gint wc)
{
  const guint sa = wa * (a >> 24), sb = wb * (b >> 24), sc = wc * (c >> 24);
  const guint sum = sa + sb + sc;
  guint32 mixed = 0;
  gint shift;

  for (shift = 0; sum && shift < 24; shift += 8)
    mixed |= (sa * (a >> shift & 255) + sb * (b >> shift & 255) +
        sc * (c >> shift & 255) + sum / 2) / sum << shift;
  return (sum + 4) / 8 << 24 | mixed;
}

static guint32
mix_window (const GstSamOutline * o, const struct sam_overlay *overlay,
    gsize place, Window w)
{
  const guint8 label = o->labels[place];
  const gint other = CLAMP ((445 - 8 * w.same) / 27, 0, 4);
  const guint8 found = other ? find_other (o, place) : label;
  const guint32 beyond = found ? overlay->line[found] : overlay->contour;
  gint fill;

  if (!label)
    return mix (overlay->contour, other ? 8 - other : MIN ((81 -
                w.same) * 8 / 27, 8), beyond, other, 0, 0);
  fill = CLAMP ((8 * w.inner - 203) / 27, 0, 8) * (8 - other) / 8;
  return mix (overlay->line[label], 8 - other - fill, beyond, other,
      overlay->fill[label], fill);
}

static guint32
colour_soft (const GstSamOutline * o, const struct sam_overlay *overlay,
    gsize place)
{
  const guint8 label = o->labels[place];
  const Window w = look (o, place);

  if (w.same == 81 && (!label || w.inner == 81))
    return overlay->fill[label];
  if (w.same == 81 && w.inner == 0)
    return overlay->line[label];
  return mix_window (o, overlay, place, w);
}

void
gst_sam_outline_colour (const GstSamOutline * o,
    const struct sam_overlay *overlay, gboolean yuv, gint y, guint32 * out)
{
  const gsize start = get_place (o, 0, y);
  gint x = 0, n, i;

  while (x < o->width) {
    if (o->soft[start + x]) {
      const guint32 colour = colour_soft (o, overlay, start + x);

      out[x++] = yuv ? GUINT32_TO_BE (colour) : colour;
    } else {
      guint32 fill = overlay->fill[o->labels[start + x]];

      fill = yuv ? GUINT32_TO_BE (fill) : fill;
      n = gst_sam_outline_count_same (o->soft + start + x, o->width - x);
      for (i = 0; i < n; i++)
        out[x + i] = fill;
      x += n;
    }
  }
}
