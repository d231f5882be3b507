/* SPDX-License-Identifier: MIT */
#include "gstsamselection.h"

#include <string.h>

/* The most items of a list. */
#define MAX_ITEMS 256

typedef struct
{
  guint64 id;                   /* 0: not by id */
  gchar *label;                 /* NULL: not by label */
  guint32 rgb;
} Colour;

static void
clear_colour (gpointer colour)
{
  g_free (((Colour *) colour)->label);
}

static void
free_contents (gpointer data)
{
  GstSamSelection *self = data;

  g_free (self->ids);
  g_strfreev (self->labels);
  if (self->colours)
    g_array_unref (self->colours);
}

GstSamSelection *
gst_sam_selection_ref (GstSamSelection * self)
{
  return g_atomic_rc_box_acquire (self);
}

void
gst_sam_selection_unref (GstSamSelection * self)
{
  g_atomic_rc_box_release_full (self, free_contents);
}

/* Items between commas, without spaces around them; NULL if there are none. */
static gchar **
split (const gchar * text, const gchar * name, gchar ** why)
{
  gchar **items = text ? g_strsplit (text, ",", MAX_ITEMS + 1) : NULL;
  guint i, n = items ? g_strv_length (items) : 0;

  if (n > MAX_ITEMS)
    *why = g_strdup_printf ("'%s' has more than %d items", name, MAX_ITEMS);
  for (i = 0; i < n; i++)
    g_strstrip (items[i]);
  if (n == 1 && !*items[0])
    n = 0;
  for (i = 0; i < n && !*why; i++) {
    if (!*items[i])
      *why = g_strdup_printf ("'%s' is '%s': item %u is empty", name, text,
          i + 1);
  }
  if (!n)
    g_clear_pointer (&items, g_strfreev);
  return items;
}

static void
parse_ids (GstSamSelection * self, const gchar * text, gchar ** why)
{
  gchar **items = split (text, "selected-ids", why);
  guint i;

  self->num_ids = items ? g_strv_length (items) : 0;
  self->ids = g_new0 (guint64, self->num_ids + 1);
  for (i = 0; i < self->num_ids && !*why; i++) {
    if (!g_ascii_string_to_unsigned (items[i], 10, 1, G_MAXUINT64,
            &self->ids[i], NULL))
      *why = g_strdup_printf ("'selected-ids' is '%s': '%s' is not an id, "
          "expected numbers from 1 on and commas between them", text, items[i]);
  }
  g_strfreev (items);
}

/* `ID=#rrggbb`, `LABEL=#rrggbb`, or `#rrggbb` for all others. */
static gboolean
parse_colour (Colour * colour, const gchar * item)
{
  const gchar *hash = strrchr (item, '#');
  guint64 rgb;

  if (!hash || strlen (hash) != 7 ||
      !g_ascii_string_to_unsigned (hash + 1, 16, 0, 0xffffff, &rgb, NULL) ||
      (hash > item && (hash[-1] != '=' || hash - item < 2)))
    return FALSE;
  memset (colour, 0, sizeof *colour);
  colour->rgb = rgb;
  if (hash == item)
    return TRUE;
  colour->label = g_strndup (item, hash - item - 1);
  if (g_ascii_string_to_unsigned (colour->label, 10, 1, G_MAXUINT64,
          &colour->id, NULL))
    g_clear_pointer (&colour->label, g_free);
  return TRUE;
}

static void
parse_colours (GstSamSelection * self, const gchar * text, gchar ** why)
{
  gchar **items = split (text, "colors", why);
  guint i, n = items ? g_strv_length (items) : 0;

  self->colours = g_array_new (FALSE, FALSE, sizeof (Colour));
  g_array_set_clear_func (self->colours, clear_colour);
  for (i = 0; i < n && !*why; i++) {
    Colour colour;

    if (parse_colour (&colour, items[i]))
      g_array_append_val (self->colours, colour);
    else
      *why = g_strdup_printf ("'colors' is '%s': '%s' is not a colour, "
          "expected ID=#rrggbb, LABEL=#rrggbb or #rrggbb", text, items[i]);
  }
  g_strfreev (items);
}

GstSamSelection *
gst_sam_selection_new (const gchar * ids, const gchar * labels,
    const gchar * colours, gchar ** why)
{
  GstSamSelection *self = g_atomic_rc_box_new0 (GstSamSelection);

  *why = NULL;
  parse_ids (self, ids, why);
  if (!*why)
    self->labels = split (labels, "selected-labels", why);
  if (!*why)
    parse_colours (self, colours, why);
  if (!*why)
    return self;
  gst_sam_selection_unref (self);
  return NULL;
}

gboolean
gst_sam_selection_has (const GstSamSelection * self,
    const GstSamObject * object, gboolean unknown)
{
  guint i;

  if (!self->num_ids && !self->labels)
    return TRUE;
  for (i = 0; i < self->num_ids; i++) {
    if (self->ids[i] == object->id)
      return TRUE;
  }
  if (!self->labels)
    return FALSE;
  if (!object->label)
    return unknown;
  return g_strv_contains ((const gchar * const *) self->labels, object->label);
}

gboolean
gst_sam_selection_get_colour (const GstSamSelection * self,
    const GstSamObject * object, guint32 * rgb)
{
  const Colour *found = NULL;
  guint i;

  /* an id says more than a label, and that more than a colour for all */
  for (i = 0; i < self->colours->len; i++) {
    const Colour *c = &g_array_index (self->colours, Colour, i);

    if (c->id && c->id == object->id) {
      *rgb = c->rgb;
      return TRUE;
    }
    if (c->id || (c->label && g_strcmp0 (c->label, object->label)))
      continue;
    if (!found || (c->label && !found->label))
      found = c;
  }
  if (found)
    *rgb = found->rgb;
  return found != NULL;
}

void
gst_sam_selection_filter (const GstSamSelection * self, GstSamReport * report)
{
  guint i, n = 0;

  for (i = 0; i < report->num_objects; i++) {
    if (gst_sam_selection_has (self, &report->object[i], FALSE))
      report->object[n++] = report->object[i];
  }
  report->num_objects = n;
}
