/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ZONE_H__
#define __GST_SAM_ZONE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_MAX_ZONES = 64,
  GST_SAM_MAX_ZONE_POINTS = 256,        /* of one */
  GST_SAM_MAX_ZONE_LABELS = 64, /* of one */
  GST_SAM_ZONE_NAME_BYTES = 64, /* of a name and a label, with the final 0 */
};

/**
 * GstSamZone:
 * @name: valid UTF-8, another one than those of all other zones of a list
 * @labels: (nullable): of the objects that it is for; %NULL: all
 * @point: corners of the polygon, or both ends of the line; px of the frame or,
 * if @normalized, fractions of it. They may lie outside of it
 * @threshold, @dwell: -1: those of the element
 */
typedef struct
{
  gboolean is_line;
  gchar *name;
  gchar **labels;
  gboolean normalized;
  guint num_points;
  gdouble (*point)[2];
  gdouble threshold;            /* share of the mask */
  gdouble dwell;                /* seconds */
} GstSamZone;

typedef struct
{
  guint num;
  GstSamZone zone[GST_SAM_MAX_ZONES];
} GstSamZoneList;

/* An empty one. */
GstSamZoneList *gst_sam_zone_list_new (void);
void gst_sam_zone_list_free (GstSamZoneList * list);

/* Append the zones of a text. Returns NULL, or a sentence that tells why it is
 * refused; free it with g_free(). @list then has those ahead of the bad one. */
gchar *gst_sam_zone_list_parse (GstSamZoneList * list, const gchar * text);

/* The same for a JSON file. */
gchar *gst_sam_zone_list_read (GstSamZoneList * list, const gchar * file);

/* Set *array to a structure for each zone, with its `name`, whether it is
 * `normalized`, and its `points`: x, y, x, y... @list: (nullable). */
void gst_sam_zone_list_to_value (const GstSamZoneList * list, GValue * array);

/* What both are made of: begin with the kind, set keys, end. Each returns NULL,
 * or a clause that tells what is wrong. @given: the keys so far, 0 at first.
 * After a refusal, gst_sam_zone_clear(). gst_sam_zone_list_add() takes the
 * zone in both cases. */
gchar *gst_sam_zone_begin (GstSamZone * zone, const gchar * kind);
gchar *gst_sam_zone_set (GstSamZone * zone, guint * given, const gchar * key,
    const gchar * value);
gchar *gst_sam_zone_list_add (GstSamZoneList * list, GstSamZone * zone,
    guint given);
void gst_sam_zone_clear (GstSamZone * zone);

G_END_DECLS

#endif /* __GST_SAM_ZONE_H__ */
