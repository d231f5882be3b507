/* SPDX-License-Identifier: MIT */
/* Zones and lines as text. docs/GSTREAMER.md has the form. Knows nothing of
 * elements. */

#include "gstsamzone.h"

#include "common/gstsamitem.h"

#include <math.h>
#include <string.h>

/* Far outside of every frame; products of two stay exact enough. */
#define MAX_COORDINATE 1e6
#define MAX_DWELL 1e7           /* seconds, four months */

#define ZONE_USAGE "zone,name=,points=X:Y X:Y X:Y...[,normalized=][,labels=]" \
    "[,threshold=][,dwell=]"
#define LINE_USAGE "line,name=,points=X:Y X:Y[,normalized=][,labels=]"

enum
{
  KEY_NAME = 1 << 0,
  KEY_POINTS = 1 << 1,
  KEY_NORMALIZED = 1 << 2,
  KEY_LABELS = 1 << 3,
  KEY_THRESHOLD = 1 << 4,       /* of zones only, as is: */
  KEY_DWELL = 1 << 5,
};

static const struct
{
  const gchar *name;
  guint key;
} keys[] = {
  {"name", KEY_NAME},
  {"points", KEY_POINTS},
  {"normalized", KEY_NORMALIZED},
  {"labels", KEY_LABELS},
  {"threshold", KEY_THRESHOLD},
  {"dwell", KEY_DWELL},
};

GstSamZoneList *
gst_sam_zone_list_new (void)
{
  return g_new0 (GstSamZoneList, 1);
}

void
gst_sam_zone_clear (GstSamZone * zone)
{
  g_clear_pointer (&zone->name, g_free);
  g_clear_pointer (&zone->labels, g_strfreev);
  g_clear_pointer (&zone->point, g_free);
}

void
gst_sam_zone_list_free (GstSamZoneList * list)
{
  guint i;

  if (!list)
    return;
  for (i = 0; i < list->num; i++)
    gst_sam_zone_clear (&list->zone[i]);
  g_free (list);
}

static gboolean
is_name (const gchar * text)
{
  return *text && strlen (text) < GST_SAM_ZONE_NAME_BYTES &&
      g_utf8_validate (text, -1, NULL);
}

static gboolean
set_labels (GstSamZone * zone, const gchar * value)
{
  guint i;

  zone->labels = g_strsplit (value, "|", GST_SAM_MAX_ZONE_LABELS + 1);
  for (i = 0; zone->labels[i]; i++) {
    if (i == GST_SAM_MAX_ZONE_LABELS || !is_name (g_strstrip (zone->labels[i])))
      return FALSE;
  }
  return i > 0;
}

/* A point, X:Y. Returns where it ends, or NULL. */
static const gchar *
parse_point (const gchar * pos, gdouble point[2])
{
  gchar *end;
  guint i;

  for (i = 0; i < 2; i++) {
    point[i] = g_ascii_strtod (pos, &end);
    /* written so that a NaN is refused */
    if (end == pos || !(fabs (point[i]) <= MAX_COORDINATE) ||
        (i == 0 && *end != ':'))
      return NULL;
    pos = i ? end : end + 1;
  }
  return !*pos || g_ascii_isspace (*pos) ? gst_sam_item_skip_space (pos) : NULL;
}

static gboolean
set_points (GstSamZone * zone, const gchar * value)
{
  const gchar *pos = gst_sam_item_skip_space (value);

  zone->point = g_malloc (GST_SAM_MAX_ZONE_POINTS * sizeof *zone->point);
  while (pos && *pos) {
    if (zone->num_points == GST_SAM_MAX_ZONE_POINTS)
      return FALSE;
    pos = parse_point (pos, zone->point[zone->num_points]);
    zone->num_points += pos != NULL;
  }
  return pos && zone->num_points;
}

gchar *
gst_sam_zone_begin (GstSamZone * zone, const gchar * kind)
{
  memset (zone, 0, sizeof *zone);
  zone->threshold = zone->dwell = -1;
  zone->is_line = !strcmp (kind, "line");
  return zone->is_line || !strcmp (kind, "zone") ? NULL :
      g_strdup ("it must be a zone or a line, " ZONE_USAGE " or " LINE_USAGE);
}

/* Returns NULL, or what is expected instead of the value. */
static const gchar *
set_value (GstSamZone * zone, guint key, const gchar * value)
{
  switch (key) {
    case KEY_NAME:
      if (!is_name (value))
        return "a text in UTF-8 of 1 to 63 bytes";
      zone->name = g_strdup (value);
      return NULL;
    case KEY_POINTS:
      return set_points (zone, value) ? NULL : "1 to 256 points X:Y with "
          "spaces between them, each number from -1e6 to 1e6";
    case KEY_NORMALIZED:
      return gst_sam_item_parse_boolean (value, &zone->normalized) ? NULL :
          "true or false";
    case KEY_LABELS:
      return set_labels (zone, value) ? NULL :
          "1 to 64 labels of 1 to 63 bytes with | between them";
    case KEY_THRESHOLD:
      return gst_sam_item_parse_number (value, &zone->threshold) &&
          zone->threshold > 0 && zone->threshold <= 1 ? NULL :
          "a share of the mask, more than 0 and at most 1";
    default:
      return gst_sam_item_parse_number (value, &zone->dwell) &&
          zone->dwell >= 0 && zone->dwell <= MAX_DWELL ? NULL :
          "a number of seconds, 0 to 1e7";
  }
}

gchar *
gst_sam_zone_set (GstSamZone * zone, guint * given, const gchar * key,
    const gchar * value)
{
  const guint refused = zone->is_line ? KEY_THRESHOLD | KEY_DWELL : 0;
  const gchar *wanted;
  gchar *shown, *why;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (keys) && strcmp (keys[i].name, key); i++);
  if (i == G_N_ELEMENTS (keys) || (keys[i].key & refused)) {
    shown = gst_sam_item_get_shown (key);
    why = g_strdup_printf ("'%s' is not a key of it; it is written %s", shown,
        zone->is_line ? LINE_USAGE : ZONE_USAGE);
    g_free (shown);
    return why;
  }
  if (*given & keys[i].key)
    return g_strdup_printf ("'%s' is given twice", key);
  *given |= keys[i].key;
  wanted = set_value (zone, keys[i].key, value);
  if (!wanted)
    return NULL;
  shown = gst_sam_item_get_shown (value);
  why = g_strdup_printf ("%s is '%s', expected is %s", key, shown, wanted);
  g_free (shown);
  return why;
}

/* Whether it may have meant fractions, as is asked for prompts. */
static gboolean
may_be_fractions (const GstSamZone * zone)
{
  gboolean fraction = FALSE;
  guint i, k;

  for (i = 0; i < zone->num_points; i++) {
    for (k = 0; k < 2; k++) {
      if (fabs (zone->point[i][k]) > 1)
        return FALSE;
      fraction |= zone->point[i][k] != floor (zone->point[i][k]);
    }
  }
  return fraction;
}

static gchar *
describe_points (const GstSamZone * zone, const gchar * expected)
{
  return g_strdup_printf ("it has %u point%s, expected are %s",
      zone->num_points, zone->num_points == 1 ? "" : "s", expected);
}

static gchar *
check (const GstSamZoneList * list, const GstSamZone * zone, guint given)
{
  guint i;

  if (!(given & KEY_NAME) || !(given & KEY_POINTS))
    return g_strdup_printf ("it needs a name and points; it is written %s",
        zone->is_line ? LINE_USAGE : ZONE_USAGE);
  if (zone->is_line && (zone->num_points != 2 ||
          (zone->point[0][0] == zone->point[1][0] &&
              zone->point[0][1] == zone->point[1][1])))
    return describe_points (zone, "2, which differ");
  if (!zone->is_line && zone->num_points < 3)
    return describe_points (zone, "3 or more");
  if (!(given & KEY_NORMALIZED) && may_be_fractions (zone))
    return g_strdup ("all its points are within the first pixel: expected is "
        "normalized=true if they run from 0 to 1, or normalized=false if they "
        "are pixels");
  for (i = 0; i < list->num; i++) {
    if (!strcmp (list->zone[i].name, zone->name))
      return g_strdup_printf ("its name is that of zone %u, expected is "
          "another one", i + 1);
  }
  return list->num < GST_SAM_MAX_ZONES ? NULL :
      g_strdup_printf ("it is one more than %d", GST_SAM_MAX_ZONES);
}

gchar *
gst_sam_zone_list_add (GstSamZoneList * list, GstSamZone * zone, guint given)
{
  gchar *why = check (list, zone, given);

  if (why)
    gst_sam_zone_clear (zone);
  else
    list->zone[list->num++] = *zone;
  return why;
}

/* Parse one item. Returns where it ends; NULL, and sets *why, if it is bad. */
static const gchar *
parse_item (GstSamZoneList * list, const gchar * item, GString * key,
    GString * value, gchar ** why)
{
  const gchar *pos = gst_sam_item_read_word (item, '\0', key);
  GstSamZone zone;
  guint given = 0;

  *why = gst_sam_zone_begin (&zone, key->str);
  while (!*why && *pos == ',') {
    pos = gst_sam_item_read_word (pos + 1, '=', key);
    if (*pos != '=') {
      *why = g_strdup ("expected key=value after a comma");
      break;
    }
    pos = gst_sam_item_read_value (pos + 1, value);
    *why = pos ? gst_sam_zone_set (&zone, &given, key->str, value->str) :
        g_strdup ("a quote or a bracket is not closed");
  }
  if (*why)
    gst_sam_zone_clear (&zone);
  else
    *why = gst_sam_zone_list_add (list, &zone, given);
  return *why ? NULL : pos;
}

gchar *
gst_sam_zone_list_parse (GstSamZoneList * list, const gchar * text)
{
  GString *key = g_string_new (NULL), *value = g_string_new (NULL);
  const gchar *pos = gst_sam_item_skip_space (text), *item = pos;
  gchar *why = NULL, *shown, *all = NULL;

  while (pos && *pos) {
    item = pos;
    pos = *pos == ';' ? gst_sam_item_skip_space (pos + 1) :
        parse_item (list, pos, key, value, &why);
  }
  if (why) {
    shown = gst_sam_item_get_shown (item);
    all = g_strdup_printf ("The zone '%s' was refused: %s.", shown, why);
    g_free (shown);
  }
  g_free (why);
  g_string_free (key, TRUE);
  g_string_free (value, TRUE);
  return all;
}

static void
append_structure (GValue * array, GstStructure * s)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, s);
  gst_value_array_append_and_take_value (array, &value);
}

static void
set_list_points (GstStructure * s, const GstSamZone * zone)
{
  GValue array = G_VALUE_INIT, number = G_VALUE_INIT;
  guint i;

  g_value_init (&array, GST_TYPE_ARRAY);
  g_value_init (&number, G_TYPE_DOUBLE);
  for (i = 0; i < 2 * zone->num_points; i++) {
    g_value_set_double (&number, zone->point[i / 2][i % 2]);
    gst_value_array_append_value (&array, &number);
  }
  gst_structure_take_value (s, "points", &array);
}

void
gst_sam_zone_list_to_value (const GstSamZoneList * list, GValue * array)
{
  guint i;

  g_value_init (array, GST_TYPE_ARRAY);
  for (i = 0; list && i < list->num; i++) {
    const GstSamZone *zone = &list->zone[i];
    GstStructure *s = gst_structure_new (zone->is_line ? "line" : "zone",
        "name", G_TYPE_STRING, zone->name,
        "normalized", G_TYPE_BOOLEAN, zone->normalized, NULL);

    set_list_points (s, zone);
    append_structure (array, s);
  }
}
