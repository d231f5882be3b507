/* SPDX-License-Identifier: MIT */
/* Who is in which zone, on which side of which line, and what is told of it. */

#include "gstsamzonewatch.h"

#include <string.h>

/* Labels whose objects are counted apart; later ones are in the sums alone. */
#define MAX_CLASSES 64

typedef enum
{
  UNKNOWN,                      /* not seen yet */
  OUTSIDE,                      /* or left of the line */
  INSIDE,                       /* or right of it */
} Side;

/* Of an object and a zone. */
typedef struct
{
  Side side;
  gboolean dwell_told;
  GstClockTime since;           /* it entered */
  gdouble x, y;                 /* its centre when it was last on that side, in
                                 * fractions of the frame */
} Stay;

typedef struct
{
  guint64 id;                   /* 0: free */
  gboolean seen;                /* in this report */
  gchar label[GST_SAM_ZONE_NAME_BYTES];
  gint class;                   /* -1: it has no label, or too late a one */
} Watched;

/* Of a zone: entered and left; of a line: to its right and to its left. */
typedef struct
{
  guint64 in, out;
} Count;

struct _GstSamZoneWatch
{
  const GstSamZoneList *list;
  Watched object[SAM_MAX_OBJECTS];
  guint num_objects;            /* of which some may be free */
  guint num_classes;
  gchar class[MAX_CLASSES][GST_SAM_ZONE_NAME_BYTES];
  Stay stay[GST_SAM_MAX_ZONES][SAM_MAX_OBJECTS];
  Count count[GST_SAM_MAX_ZONES];
  Count by_class[GST_SAM_MAX_ZONES][MAX_CLASSES];
};

static const gchar *kinds[] = {
  [GST_SAM_ZONE_ENTERED] = "entered",
  [GST_SAM_ZONE_LEFT] = "left",
  [GST_SAM_ZONE_DWELL] = "dwell",
  [GST_SAM_ZONE_CROSSED] = "crossed",
};

static const gchar *reasons[] = {
  [GST_SAM_ZONE_MOVED] = "moved",
  [GST_SAM_ZONE_APPEARED] = "appeared",
  [GST_SAM_ZONE_LOST] = "lost",
  [GST_SAM_ZONE_REMOVED] = "removed",
  [GST_SAM_ZONE_RELABELLED] = "relabelled",
  [GST_SAM_ZONE_CHANGED] = "zone-changed",
  [GST_SAM_ZONE_FLUSHED] = "flush",
  [GST_SAM_ZONE_ENDED] = "end",
};

GstSamZoneWatch *
gst_sam_zone_watch_new (void)
{
  return g_try_new0 (GstSamZoneWatch, 1);
}

void
gst_sam_zone_watch_free (GstSamZoneWatch * watch)
{
  g_free (watch);
}

/* ---- Objects */

/* The class of a label, which it is given at first. */
static gint
get_class (GstSamZoneWatch * watch, const gchar * label)
{
  guint i;

  if (!*label)
    return -1;
  for (i = 0; i < watch->num_classes; i++) {
    if (!strcmp (watch->class[i], label))
      return i;
  }
  if (i == MAX_CLASSES)
    return -1;
  g_strlcpy (watch->class[i], label, sizeof watch->class[i]);
  watch->num_classes++;
  return i;
}

static void
set_label (GstSamZoneWatch * watch, Watched * object, const gchar * label)
{
  gchar kept[GST_SAM_ZONE_NAME_BYTES] = "";
  const gchar *end;

  if (label)
    g_strlcpy (kept, label, sizeof kept);
  /* The cut may be within a character. */
  if (!g_utf8_validate (kept, -1, &end))
    kept[end - kept] = 0;
  if (object->class >= 0 && !strcmp (object->label, kept))
    return;
  memcpy (object->label, kept, sizeof kept);
  object->class = get_class (watch, kept);
}

/* The index of the object that has this id, new ones included; -1: there is no
 * room. */
static gint
find (GstSamZoneWatch * watch, guint64 id)
{
  gint vacant = -1;
  guint i, z;

  for (i = 0; i < watch->num_objects; i++) {
    if (watch->object[i].id == id)
      return i;
    if (!watch->object[i].id && vacant < 0)
      vacant = i;
  }
  if (vacant < 0 && watch->num_objects < SAM_MAX_OBJECTS)
    vacant = watch->num_objects++;
  if (vacant < 0)
    return -1;
  memset (&watch->object[vacant], 0, sizeof watch->object[vacant]);
  watch->object[vacant].id = id;
  watch->object[vacant].class = -1;
  for (z = 0; z < GST_SAM_MAX_ZONES; z++)
    memset (&watch->stay[z][vacant], 0, sizeof watch->stay[z][vacant]);
  return vacant;
}

static guint
count_inside (const GstSamZoneWatch * watch, guint z, gint class)
{
  guint i, num = 0;

  for (i = 0; i < watch->num_objects; i++)
    num += watch->stay[z][i].side == INSIDE &&
        (class < 0 || watch->object[i].class == class);
  return num;
}

/* ---- Events */

static void
tell (GstSamZoneWatch * watch, guint z, guint i, GstSamZoneEvent * event,
    GArray * events)
{
  const Watched *object = &watch->object[i];
  const gboolean in = event->kind == GST_SAM_ZONE_CROSSED ? event->to_right :
      event->kind == GST_SAM_ZONE_ENTERED;

  event->zone = &watch->list->zone[z];
  event->id = object->id;
  memcpy (event->label, object->label, sizeof event->label);
  event->inside = event->zone->is_line ? 0 : count_inside (watch, z, -1);
  if (event->kind != GST_SAM_ZONE_DWELL) {
    watch->count[z].in += in;
    watch->count[z].out += !in;
    if (object->class >= 0) {
      watch->by_class[z][object->class].in += in;
      watch->by_class[z][object->class].out += !in;
    }
  }
  g_array_append_val (events, *event);
}

static GstClockTime
get_time_inside (const Stay * stay, GstClockTime now)
{
  return GST_CLOCK_TIME_IS_VALID (now) && GST_CLOCK_TIME_IS_VALID (stay->since)
      && now >= stay->since ? now - stay->since : GST_CLOCK_TIME_NONE;
}

/* Forget where an object is. If it was in a zone, it leaves it. */
static void
leave (GstSamZoneWatch * watch, guint z, guint i, GstSamZoneReason reason,
    gdouble share, GstClockTime now, GArray * events)
{
  Stay *stay = &watch->stay[z][i];
  const gboolean was_inside = stay->side == INSIDE &&
      !watch->list->zone[z].is_line;
  GstSamZoneEvent event = {.kind = GST_SAM_ZONE_LEFT,.reason = reason,
    .share = share,.time_inside = get_time_inside (stay, now)
  };

  stay->side = reason == GST_SAM_ZONE_MOVED ? OUTSIDE : UNKNOWN;
  if (was_inside)
    tell (watch, z, i, &event, events);
}

static void
leave_all (GstSamZoneWatch * watch, guint i, GstSamZoneReason reason,
    GstClockTime now, GArray * events)
{
  guint z;

  for (z = 0; z < watch->list->num; z++)
    leave (watch, z, i, reason, -1, now, events);
}

/* ---- Zones */

static void
judge_zone (GstSamZoneWatch * watch, guint z, guint i, gdouble share,
    const GstSamZoneParams * params, GstClockTime now, GArray * events)
{
  const GstSamZone *zone = &watch->list->zone[z];
  const gdouble threshold = zone->threshold > 0 ? zone->threshold :
      params->threshold;
  Stay *stay = &watch->stay[z][i];
  GstSamZoneEvent event = {.kind = GST_SAM_ZONE_ENTERED,.share = share,
    .reason = stay->side == OUTSIDE ? GST_SAM_ZONE_MOVED :
        GST_SAM_ZONE_APPEARED,.time_inside = GST_CLOCK_TIME_NONE
  };

  if (stay->side == INSIDE) {
    if (share <= 0 || share < threshold - params->hysteresis)
      leave (watch, z, i, GST_SAM_ZONE_MOVED, share, now, events);
    return;
  }
  stay->side = share >= threshold ? INSIDE : OUTSIDE;
  if (stay->side == OUTSIDE)
    return;
  stay->since = now;
  stay->dwell_told = FALSE;
  tell (watch, z, i, &event, events);
}

static void
judge_dwell (GstSamZoneWatch * watch, guint z, guint i, gdouble share,
    const GstSamZoneParams * params, GstClockTime now, GArray * events)
{
  const GstSamZone *zone = &watch->list->zone[z];
  const gdouble dwell = zone->dwell >= 0 ? zone->dwell : params->dwell;
  Stay *stay = &watch->stay[z][i];
  GstSamZoneEvent event = {.kind = GST_SAM_ZONE_DWELL,.share = share,
    .reason = GST_SAM_ZONE_MOVED
  };

  if (zone->is_line || stay->side != INSIDE || stay->dwell_told || dwell <= 0)
    return;
  /* Objects that came without a time are counted from the first one on. */
  if (!GST_CLOCK_TIME_IS_VALID (stay->since))
    stay->since = now;
  event.time_inside = get_time_inside (stay, now);
  if (!GST_CLOCK_TIME_IS_VALID (event.time_inside) ||
      event.time_inside < dwell * GST_SECOND)
    return;
  stay->dwell_told = TRUE;
  tell (watch, z, i, &event, events);
}

/* ---- Lines */

/* Which side of the line a point is on, and how far: a measure that is the same
 * for all points of a parallel. */
static gdouble
get_distance (gdouble p[2][2], gdouble x, gdouble y)
{
  return (p[1][0] - p[0][0]) * (y - p[0][1]) -
      (p[1][1] - p[0][1]) * (x - p[0][0]);
}

/* Whether the way from where it was to where it is meets the line between its
 * ends, not where it would be if it were longer. */
static gboolean
meets (const GstSamZone * zone, const GstSamZoneMap * map, const Stay * stay,
    gdouble x, gdouble y)
{
  const gdouble w = zone->normalized ? 1 : map->frame_width;
  const gdouble h = zone->normalized ? 1 : map->frame_height;
  gdouble p[2][2], from, to, part, dx, dy, along;

  p[0][0] = zone->point[0][0] / w;
  p[0][1] = zone->point[0][1] / h;
  p[1][0] = zone->point[1][0] / w;
  p[1][1] = zone->point[1][1] / h;
  from = get_distance (p, stay->x, stay->y);
  to = get_distance (p, x, y);
  /* The centre of a mask may be on another side than most of it. */
  part = (from > 0) != (to > 0) ? from / (from - to) : 0.5;
  x = stay->x + part * (x - stay->x);
  y = stay->y + part * (y - stay->y);
  dx = p[1][0] - p[0][0];
  dy = p[1][1] - p[0][1];
  along = dx * (x - p[0][0]) + dy * (y - p[0][1]);
  return along >= 0 && along <= dx * dx + dy * dy;
}

static void
judge_line (GstSamZoneWatch * watch, guint z, guint i, gdouble share,
    const GstSamZoneMap * map, const GstSamZoneSum * sum, gdouble hysteresis,
    GArray * events)
{
  const gdouble x = sum->x2 / (2. * sum->area * map->width);
  const gdouble y = sum->y2 / (2. * sum->area * map->height);
  const gdouble needed = 0.5 + hysteresis / 2;
  Stay *stay = &watch->stay[z][i];
  GstSamZoneEvent event = {.kind = GST_SAM_ZONE_CROSSED,.share = share,
    .reason = GST_SAM_ZONE_MOVED,.to_right = stay->side == OUTSIDE,
    .time_inside = GST_CLOCK_TIME_NONE
  };
  gboolean turned;

  if (stay->side == UNKNOWN) {
    turned = FALSE;
    stay->side = share > 0.5 ? INSIDE : OUTSIDE;
  } else if (stay->side == OUTSIDE)
    turned = share > 0.5 && share >= needed;
  else
    turned = share < 0.5 && 1 - share >= needed;
  if (turned) {
    stay->side = stay->side == OUTSIDE ? INSIDE : OUTSIDE;
    if (meets (&watch->list->zone[z], map, stay, x, y))
      tell (watch, z, i, &event, events);
  } else if ((share > 0.5) != (stay->side == INSIDE)) {
    return;                     /* it is on its way */
  }
  stay->x = x;
  stay->y = y;
}

/* ---- Frames */

static gboolean
is_for (const GstSamZone * zone, const gchar * label)
{
  return !zone->labels || g_strv_contains ((const gchar * const *)
      zone->labels, label);
}

/* @map: NULL: it has no pixels. */
static void
look_at (GstSamZoneWatch * watch, guint i, guint slot,
    const GstSamZoneMap * map, const GstSamZoneParams * params,
    GstClockTime now, GArray * events)
{
  gdouble share = -1;
  guint z;

  for (z = 0; z < watch->list->num; z++) {
    const GstSamZone *zone = &watch->list->zone[z];

    if (map)
      share = (gdouble) map->inside[z][slot] / map->sum[slot].area;
    if (!is_for (zone, watch->object[i].label)) {
      leave (watch, z, i, GST_SAM_ZONE_RELABELLED, share, now, events);
      continue;
    }
    if (map && zone->is_line)
      judge_line (watch, z, i, share, map, &map->sum[slot], params->hysteresis,
          events);
    else if (map)
      judge_zone (watch, z, i, share, params, now, events);
    judge_dwell (watch, z, i, share, params, now, events);
  }
}

static gboolean
is_reported (const GstSamReport * report, guint64 id)
{
  guint k;

  for (k = 0; k < report->num_objects && report->object[k].id != id; k++);
  return k < report->num_objects;
}

/* Ahead of those that are new, which may need their places. */
static void
remove_gone (GstSamZoneWatch * watch, const GstSamReport * report,
    GstClockTime now, GArray * events)
{
  guint k;

  for (k = 0; k < watch->num_objects; k++) {
    watch->object[k].seen = FALSE;
    if (!watch->object[k].id || is_reported (report, watch->object[k].id))
      continue;
    leave_all (watch, k, GST_SAM_ZONE_REMOVED, now, events);
    watch->object[k].id = 0;
  }
}

void
gst_sam_zone_watch_look (GstSamZoneWatch * watch, const GstSamReport * report,
    const GstSamZoneMap * map, const GstSamZoneParams * params,
    GstClockTime now, GArray * events)
{
  guint k;
  gint i;

  remove_gone (watch, report, now, events);
  for (k = 0; k < report->num_objects; k++) {
    const GstSamObject *object = &report->object[k];
    const gboolean shown = map && object->slot < 256 &&
        map->sum[object->slot].area;

    i = object->id ? find (watch, object->id) : -1;
    if (i < 0 || watch->object[i].seen)
      continue;
    watch->object[i].seen = TRUE;
    set_label (watch, &watch->object[i], object->label);
    if (object->state == SAM_OBJECT_LOST)
      leave_all (watch, i, GST_SAM_ZONE_LOST, now, events);
    else
      look_at (watch, i, object->slot, shown ? map : NULL, params, now,
          events);
  }
}

void
gst_sam_zone_watch_end (GstSamZoneWatch * watch, GstSamZoneReason reason,
    GArray * events)
{
  guint i;

  for (i = 0; i < watch->num_objects && watch->list; i++) {
    if (watch->object[i].id)
      leave_all (watch, i, reason, GST_CLOCK_TIME_NONE, events);
  }
  watch->num_objects = 0;
}

/* ---- Another list */

static gint
find_zone (const GstSamZoneList * list, const GstSamZone * zone)
{
  guint z;

  for (z = 0; z < list->num; z++) {
    if (!strcmp (list->zone[z].name, zone->name) &&
        list->zone[z].is_line == zone->is_line)
      return z;
  }
  return -1;
}

/* A zone that is new, or has taken the place of another one. */
static void
begin_zone (GstSamZoneWatch * watch, guint z)
{
  memset (watch->stay[z], 0, sizeof watch->stay[z]);
  memset (&watch->count[z], 0, sizeof watch->count[z]);
  memset (watch->by_class[z], 0, sizeof watch->by_class[z]);
}

/* Move what is known of a zone from one number to another, in a copy. */
static void
move_zone (GstSamZoneWatch * to, guint z, const GstSamZoneWatch * from,
    guint old)
{
  memcpy (to->stay[z], from->stay[old], sizeof to->stay[z]);
  to->count[z] = from->count[old];
  memcpy (to->by_class[z], from->by_class[old], sizeof to->by_class[z]);
}

void
gst_sam_zone_watch_set_zones (GstSamZoneWatch * watch,
    const GstSamZoneList * list, GArray * events)
{
  GstSamZoneWatch *before = NULL;
  guint i, z;

  for (z = 0; watch->list && z < watch->list->num; z++) {
    for (i = 0; find_zone (list, &watch->list->zone[z]) < 0 &&
        i < watch->num_objects; i++)
      leave (watch, z, i, GST_SAM_ZONE_CHANGED, -1, GST_CLOCK_TIME_NONE,
          events);
  }
  if (watch->list && watch->list->num)
    before = g_try_malloc (sizeof *before);
  if (before)
    memcpy (before, watch, sizeof *before);
  for (z = 0; z < list->num; z++) {
    const gint old = before ? find_zone (before->list, &list->zone[z]) : -1;

    if (old >= 0)
      move_zone (watch, z, before, old);
    else
      begin_zone (watch, z);
    for (i = 0; list->zone[z].is_line && i < watch->num_objects; i++)
      watch->stay[z][i].side = UNKNOWN; /* its sides may be other ones */
  }
  g_free (before);
  watch->list = list;
}

const GstSamZoneList *
gst_sam_zone_watch_get_zones (const GstSamZoneWatch * watch)
{
  return watch->list;
}

/* ---- What is told */

GstStructure *
gst_sam_zone_event_to_structure (const GstSamZoneEvent * event)
{
  GstStructure *s = gst_structure_new ("samzones-event",
      "kind", G_TYPE_STRING, kinds[event->kind],
      "zone", G_TYPE_STRING, event->zone->name,
      "id", G_TYPE_UINT64, event->id, NULL);

  if (*event->label)
    gst_structure_set (s, "label", G_TYPE_STRING, event->label, NULL);
  if (event->share >= 0)
    gst_structure_set (s, "share", G_TYPE_DOUBLE, event->share, NULL);
  if (event->kind == GST_SAM_ZONE_CROSSED) {
    gst_structure_set (s, "direction", G_TYPE_STRING, event->to_right ?
        "left-to-right" : "right-to-left", NULL);
    return s;
  }
  if (event->kind != GST_SAM_ZONE_DWELL)
    gst_structure_set (s, "reason", G_TYPE_STRING, reasons[event->reason],
        NULL);
  if (GST_CLOCK_TIME_IS_VALID (event->time_inside))
    gst_structure_set (s, "time-inside", G_TYPE_UINT64, event->time_inside,
        NULL);
  gst_structure_set (s, "inside", G_TYPE_UINT, event->inside, NULL);
  return s;
}

static void
set_counts (GstStructure * s, gboolean is_line, const Count * count,
    guint inside)
{
  gst_structure_set (s, is_line ? "left-to-right" : "entered", G_TYPE_UINT64,
      count->in, is_line ? "right-to-left" : "left", G_TYPE_UINT64, count->out,
      NULL);
  if (!is_line)
    gst_structure_set (s, "inside", G_TYPE_UINT, inside, NULL);
}

static void
append (GValue * array, GstStructure * s)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, s);
  gst_value_array_append_and_take_value (array, &value);
}

/* Classes of which none was ever there are left out. */
static void
set_classes (const GstSamZoneWatch * watch, guint z, GstStructure * s)
{
  const gboolean is_line = watch->list->zone[z].is_line;
  GValue array = G_VALUE_INIT;
  GstStructure *class;
  guint c;

  g_value_init (&array, GST_TYPE_ARRAY);
  for (c = 0; c < watch->num_classes; c++) {
    const Count *count = &watch->by_class[z][c];
    const guint inside = count_inside (watch, z, c);

    if (!count->in && !count->out && (is_line || !inside))
      continue;
    class = gst_structure_new ("class", "label", G_TYPE_STRING,
        watch->class[c], NULL);
    set_counts (class, is_line, count, inside);
    append (&array, class);
  }
  gst_structure_take_value (s, "classes", &array);
}

void
gst_sam_zone_watch_to_value (const GstSamZoneWatch * watch, GValue * array)
{
  guint z;

  g_value_init (array, GST_TYPE_ARRAY);
  for (z = 0; watch->list && z < watch->list->num; z++) {
    const GstSamZone *zone = &watch->list->zone[z];
    GstStructure *s = gst_structure_new (zone->is_line ? "line" : "zone",
        "name", G_TYPE_STRING, zone->name, NULL);

    set_counts (s, zone->is_line, &watch->count[z], zone->is_line ? 0 :
        count_inside (watch, z, -1));
    set_classes (watch, z, s);
    append (array, s);
  }
}
