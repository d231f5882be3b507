/* SPDX-License-Identifier: MIT */
/* Masks with soft edges. They are stretched as label maps are: one bilinear
 * step, corners not aligned, across and then down. */

#include "gstsamtrackprivate.h"

#include "gstsamsoft.h"

#include <math.h>
#include <string.h>

/* Logits of +-8 are 0 and 255. */
#define STEPS_PER_LOGIT 256
#define MIDDLE (GST_SAM_SOFT_STEPS / 2)

/* Step i has the logits above (i - 1 - MIDDLE) / STEPS_PER_LOGIT, up to and
 * with (i - MIDDLE) / STEPS_PER_LOGIT: none has both signs. */
static void
fill_table (guint8 * table)
{
  gint i;

  for (i = 0; i <= GST_SAM_SOFT_STEPS; i++) {
    const gdouble logit = (i - MIDDLE - 0.5) / STEPS_PER_LOGIT;

    table[i] = ceil (255 / (1 + exp (-logit)) - 0.5);
  }
}

static guint8
get_probability (const GstSamSoft * soft, gfloat logit)
{
  const gfloat most = MIDDLE - 1;
  const gfloat step = CLAMP (logit * STEPS_PER_LOGIT, -most, most);
  const gint whole = (gint) step;

  return soft->table[MIDDLE + whole + (step > whole)];
}

typedef struct
{
  gint lo, hi;
  gfloat weight;                /* of hi */
} Taps;

static Taps
get_taps (gint position, gint out, gint in)
{
  const gfloat scale = (gfloat) in / (gfloat) out;
  const gfloat at = MAX (scale * (position + 0.5f) - 0.5f, 0);
  const gint lo = MIN ((gint) at, in - 1);
  const Taps taps = { lo, MIN (lo + 1, in - 1), at - lo };

  return taps;
}

/* Row y of the mask across the plane. Both rows that a row of the plane lies
 * between are kept: most of the time the next one lies there, too. */
static const gfloat *
stretch (GstSamSoft * soft, gint y)
{
  const gint place = y % 2;
  const gfloat *from = soft->logits + (gsize) y * soft->side;
  gint x;

  if (soft->held[place] == y)
    return soft->row[place];
  soft->held[place] = y;
  for (x = 0; x < soft->width; x++) {
    const Taps h = get_taps (x, soft->width, soft->side);

    soft->row[place][x] = (1 - h.weight) * from[h.lo] + h.weight * from[h.hi];
  }
  return soft->row[place];
}

static void
draw_plane (GstSamSoft * soft, guint8 * to, gint height)
{
  gint x, y;

  soft->held[0] = soft->held[1] = -1;
  for (y = 0; y < height; y++) {
    const Taps v = get_taps (y, height, soft->side);
    const gfloat *upper = stretch (soft, v.lo);
    const gfloat *lower = stretch (soft, v.hi);

    for (x = 0; x < soft->width; x++)
      *to++ = get_probability (soft,
          (1 - v.weight) * upper[x] + v.weight * lower[x]);
  }
}

/* Allocates where sizes change, not in every frame. */
static void
prepare (GstSamSoft * soft, gsize size, gint width, gint side)
{
  GstStructure *config;

  if (soft->side != side) {
    soft->logits = g_renew (gfloat, soft->logits, (gsize) side * side);
    fill_table (soft->table);
    soft->side = side;
  }
  if (soft->width != width) {
    soft->row[0] = g_renew (gfloat, soft->row[0], width);
    soft->row[1] = g_renew (gfloat, soft->row[1], width);
    soft->width = width;
  }
  if (soft->pool && soft->size == size)
    return;
  if (soft->pool)
    gst_buffer_pool_set_active (soft->pool, FALSE);
  gst_clear_object (&soft->pool);
  soft->pool = gst_buffer_pool_new ();
  soft->size = size;
  config = gst_buffer_pool_get_config (soft->pool);
  gst_buffer_pool_config_set_params (config, NULL, size, 0, 0);
  gst_buffer_pool_set_config (soft->pool, config);
  gst_buffer_pool_set_active (soft->pool, TRUE);
}

GstBuffer *
gst_sam_soft_draw (GstSamSoft * soft, GstSamTrack * self,
    const guint64 * id, const GstSamReport * report)
{
  const gint width = report->mask_width, height = report->mask_height;
  const gint side = self->logits_side;
  const guint num = report->num_objects;
  const gsize plane = (gsize) width * height;
  GstBuffer *buf = NULL;
  struct sam_error error = { "" };
  GstMapInfo map;
  gint shape[4];
  guint i;

  prepare (soft, plane * num, width, side);
  gst_buffer_pool_acquire_buffer (soft->pool, &buf, NULL);
  if (!buf || !gst_buffer_map (buf, &map, GST_MAP_WRITE)) {
    gst_clear_buffer (&buf);
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("Out of memory: no room for the probabilities of %u objects at %d x "
            "%d pixels.", num, width, height), (NULL));
    return NULL;
  }
  for (i = 0; i < num; i++) {
    const int status = sam_tracker_read (self->tracker, id[i], "shown",
        soft->logits, (gsize) side * side, shape, &error);

    if (status == SAM_OK) {
      draw_plane (soft, map.data + i * plane, height);
      continue;
    }
    memset (map.data + i * plane, 0, plane);
    if (status == SAM_ENOTFOUND)
      continue;
    gst_sam_track_post_error (self, status, &error, "sam_tracker_read");
    break;
  }
  gst_buffer_unmap (buf, &map);
  if (i < num)
    gst_clear_buffer (&buf);
  return buf;
}

void
gst_sam_soft_clear (GstSamSoft * soft)
{
  if (soft->pool)
    gst_buffer_pool_set_active (soft->pool, FALSE);
  gst_clear_object (&soft->pool);
  g_clear_pointer (&soft->logits, g_free);
  g_clear_pointer (&soft->row[0], g_free);
  g_clear_pointer (&soft->row[1], g_free);
  soft->width = soft->side = 0;
}
