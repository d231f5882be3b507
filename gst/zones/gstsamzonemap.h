/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ZONE_MAP_H__
#define __GST_SAM_ZONE_MAP_H__

#include "gstsamzone.h"

G_BEGIN_DECLS

/**
 * GstSamZoneBits:
 *
 * The pixels of a label map whose centres are in a zone, or right of a line. A
 * row is whole words, the first pixel the lowest bit.
 */
typedef struct
{
  guint64 *bits;                /* NULL: no pixel */
  gint first_row, rows;         /* that have bits */
} GstSamZoneBits;

/**
 * GstSamZoneSum:
 *
 * Of the pixels of a label. Their mean centre is x2 / area / 2 px from the left
 * edge.
 */
typedef struct
{
  guint area;
  guint64 x2, y2;
} GstSamZoneSum;

/**
 * GstSamZoneMap:
 *
 * Zones drawn in the size of a label map, and how many pixels of each label
 * they have. Zero it before use.
 */
typedef struct
{
  guint num;                    /* of zones */
  gint width, height;           /* of the label map */
  gint frame_width, frame_height;
  GstSamZoneBits zone[GST_SAM_MAX_ZONES];

  /* of the last map that was counted */
  GstSamZoneSum sum[256];
  guint inside[GST_SAM_MAX_ZONES][256];
} GstSamZoneMap;

/* Draw the zones of a list. Returns FALSE if memory runs out: no zone then has
 * pixels. A polygon that crosses itself has the pixels from which a ray to the
 * outside meets its edges an odd number of times (even-odd). Right of a line is
 * right for one who looks from its first point to the second. */
gboolean gst_sam_zone_map_draw (GstSamZoneMap * map,
    const GstSamZoneList * list, gint width, gint height, gint frame_width,
    gint frame_height);

/* Count the pixels of a label map of the size that was drawn, without padding
 * between rows. Allocates nothing. */
void gst_sam_zone_map_count (GstSamZoneMap * map, const guint8 * labels);

void gst_sam_zone_map_clear (GstSamZoneMap * map);

G_END_DECLS

#endif /* __GST_SAM_ZONE_MAP_H__ */
