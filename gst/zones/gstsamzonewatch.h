/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ZONE_WATCH_H__
#define __GST_SAM_ZONE_WATCH_H__

#include "common/gstsammeta.h"
#include "gstsamzonemap.h"

G_BEGIN_DECLS

typedef enum
{
  GST_SAM_ZONE_ENTERED,
  GST_SAM_ZONE_LEFT,
  GST_SAM_ZONE_DWELL,           /* it is inside for that long */
  GST_SAM_ZONE_CROSSED,
} GstSamZoneEventKind;

typedef enum
{
  GST_SAM_ZONE_MOVED,           /* it was seen on both sides */
  GST_SAM_ZONE_APPEARED,        /* entered: it was inside when first seen */
  GST_SAM_ZONE_LOST,            /* left: it is lost */
  GST_SAM_ZONE_REMOVED,         /* left: it is not tracked any more */
  GST_SAM_ZONE_RELABELLED,      /* left: the zone is not for its label */
  GST_SAM_ZONE_CHANGED,         /* left: the zone is gone */
  GST_SAM_ZONE_FLUSHED,         /* left: a seek */
  GST_SAM_ZONE_ENDED,           /* left: the stream has ended */
} GstSamZoneReason;

/**
 * GstSamZoneEvent:
 * @zone: of the list that was in use; freed with it
 * @share: of the mask that is inside or right of the line; -1: it has no mask
 * @inside: objects that are inside after it
 * @time_inside: since it entered, ns; GST_CLOCK_TIME_NONE: not known
 */
typedef struct
{
  GstSamZoneEventKind kind;
  GstSamZoneReason reason;
  const GstSamZone *zone;
  guint64 id;
  gchar label[GST_SAM_ZONE_NAME_BYTES];
  gdouble share;
  gboolean to_right;            /* of what crossed */
  guint inside;
  GstClockTime time_inside;
} GstSamZoneEvent;

/* What holds for zones that do not say otherwise. */
typedef struct
{
  gdouble threshold, hysteresis;        /* shares of the mask */
  gdouble dwell;                /* seconds; 0: not told */
} GstSamZoneParams;

/**
 * GstSamZoneWatch:
 *
 * Who is in which zone. Not thread-safe. Functions append what happens to
 * @events (of GstSamZoneEvent).
 */
typedef struct _GstSamZoneWatch GstSamZoneWatch;

/* Returns NULL if memory runs out. */
GstSamZoneWatch *gst_sam_zone_watch_new (void);
void gst_sam_zone_watch_free (GstSamZoneWatch * watch);

/* Use another list, which must live as long as it is used. Objects stay inside
 * zones that keep their name and kind, and their counts go on. */
void gst_sam_zone_watch_set_zones (GstSamZoneWatch * watch,
    const GstSamZoneList * list, GArray * events);

/* The list in use. */
const GstSamZoneList *gst_sam_zone_watch_get_zones (const GstSamZoneWatch *
    watch);

/* Look at the objects of a frame. @map: with its label map counted; NULL: the
 * frame has none. @now: GST_CLOCK_TIME_NONE: not known. Allocates nothing
 * unless something happens. */
void gst_sam_zone_watch_look (GstSamZoneWatch * watch,
    const GstSamReport * report, const GstSamZoneMap * map,
    const GstSamZoneParams * params, GstClockTime now, GArray * events);

/* All objects leave and are forgotten; counts stay. */
void gst_sam_zone_watch_end (GstSamZoneWatch * watch, GstSamZoneReason reason,
    GArray * events);

/* Set *array to a structure of counts for each zone. */
void gst_sam_zone_watch_to_value (const GstSamZoneWatch * watch,
    GValue * array);

/* The fields of an event without its times. */
GstStructure *gst_sam_zone_event_to_structure (const GstSamZoneEvent * event);

G_END_DECLS

#endif /* __GST_SAM_ZONE_WATCH_H__ */
