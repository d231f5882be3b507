/* SPDX-License-Identifier: MIT */
/* Zones in a JSON file: an array of objects, or an object with one, `zones`.
 * What is in an object is that of the text form, by the same names. */

#include "gstsamzone.h"

#include "common/gstsamitem.h"

#include <json-glib/json-glib.h>

/* More is a mistake or an attack: 64 zones of 256 points are 1 MiB. */
#define MAX_FILE_BYTES (4 << 20)

/* JSON-GLib takes stack for each bracket within another. Zones have four. */
#define MAX_DEPTH 16

/* Append what an array has as the text form has it: numbers of a point with ':'
 * between them, points with ' ', labels with '|'. Returns FALSE if it is
 * something else. */
static gboolean
append_value (GString * to, JsonNode * node, gboolean in_array)
{
  gchar digits[G_ASCII_DTOSTR_BUF_SIZE];
  const GType type = json_node_get_value_type (node);
  JsonArray *array;
  JsonNode *child;
  guint i, n;

  if (JSON_NODE_HOLDS_VALUE (node)) {
    if (type == G_TYPE_STRING)
      g_string_append (to, json_node_get_string (node));
    else if (type == G_TYPE_BOOLEAN)
      g_string_append (to, json_node_get_boolean (node) ? "true" : "false");
    else
      g_string_append (to, g_ascii_dtostr (digits, sizeof digits,
              json_node_get_double (node)));
    return TRUE;
  }
  if (!JSON_NODE_HOLDS_ARRAY (node))
    return FALSE;
  array = json_node_get_array (node);
  n = json_array_get_length (array);
  for (i = 0; i < n; i++) {
    child = json_array_get_element (array, i);
    if (i)
      g_string_append_c (to, in_array ? ':' : JSON_NODE_HOLDS_ARRAY (child) ?
          ' ' : '|');
    if ((in_array && !JSON_NODE_HOLDS_VALUE (child)) ||
        !append_value (to, child, TRUE))
      return FALSE;
  }
  return TRUE;
}

/* Returns NULL, or what is wrong. */
static gchar *
read_member (GstSamZone * zone, guint * given, const gchar * key,
    JsonNode * node, GString * value)
{
  gchar *shown, *why;

  g_string_truncate (value, 0);
  if (append_value (value, node, FALSE))
    return gst_sam_zone_set (zone, given, key, value->str);
  shown = gst_sam_item_get_shown (key);
  why = g_strdup_printf ("'%s' is neither a value nor an array of values or "
      "points", shown);
  g_free (shown);
  return why;
}

static gchar *
read_zone (GstSamZoneList * list, JsonNode * node, GString * value)
{
  JsonObject *object;
  GstSamZone zone;
  guint given = 0;
  GList *keys, *key;
  gchar *why;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return g_strdup ("it is not a JSON object");
  object = json_node_get_object (node);
  node = json_object_get_member (object, "kind");
  why = gst_sam_zone_begin (&zone, !node ? "zone" :
      json_node_get_value_type (node) == G_TYPE_STRING ?
      json_node_get_string (node) : "");
  keys = json_object_get_members (object);
  for (key = keys; key && !why; key = key->next) {
    if (g_strcmp0 (key->data, "kind"))
      why = read_member (&zone, &given, key->data,
          json_object_get_member (object, key->data), value);
  }
  g_list_free (keys);
  if (why)
    gst_sam_zone_clear (&zone);
  else
    why = gst_sam_zone_list_add (list, &zone, given);
  return why;
}

/* @root: of the document; NULL: it is empty. */
static gchar *
read_root (GstSamZoneList * list, JsonNode * root)
{
  GString *value;
  JsonArray *array;
  gchar *why = NULL, *all;
  guint i, n;

  if (root && JSON_NODE_HOLDS_OBJECT (root))
    root = json_object_get_member (json_node_get_object (root), "zones");
  if (!root || !JSON_NODE_HOLDS_ARRAY (root))
    return g_strdup ("it has neither an array of zones nor an object with one, "
        "'zones'");
  array = json_node_get_array (root);
  n = json_array_get_length (array);
  value = g_string_new (NULL);
  for (i = 0; i < n && !why; i++)
    why = read_zone (list, json_array_get_element (array, i), value);
  g_string_free (value, TRUE);
  if (!why)
    return NULL;
  all = g_strdup_printf ("its zone %u was refused: %s", i, why);
  g_free (why);
  return all;
}

static gboolean
is_flat (const gchar * text, gsize bytes)
{
  gboolean quoted = FALSE;
  guint depth = 0;
  gsize i;

  for (i = 0; i < bytes && depth <= MAX_DEPTH; i++) {
    if (quoted && text[i] == '\\')
      i++;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && (text[i] == '[' || text[i] == '{'))
      depth++;
    else if (!quoted && (text[i] == ']' || text[i] == '}') && depth)
      depth--;
  }
  return depth <= MAX_DEPTH;
}

/* Returns NULL, or what is wrong. */
static gchar *
read_text (GstSamZoneList * list, const gchar * text, gsize bytes)
{
  JsonParser *parser;
  GError *error = NULL;
  gchar *why;

  if (bytes > MAX_FILE_BYTES)
    return g_strdup_printf ("it has %" G_GSIZE_FORMAT " bytes, expected are at "
        "most %d", bytes, MAX_FILE_BYTES);
  if (!g_utf8_validate (text, bytes, NULL))
    return g_strdup ("it is not text in UTF-8");
  if (!is_flat (text, bytes))
    return g_strdup_printf ("its brackets are nested more than %d deep",
        MAX_DEPTH);
  parser = json_parser_new ();
  if (json_parser_load_from_data (parser, text, bytes, &error))
    why = read_root (list, json_parser_get_root (parser));
  else
    why = g_strdup_printf ("it is not JSON: %s", error->message);
  g_clear_error (&error);
  g_object_unref (parser);
  return why;
}

gchar *
gst_sam_zone_list_read (GstSamZoneList * list, const gchar * file)
{
  GError *error = NULL;
  gchar *text, *why, *all = NULL;
  gsize bytes;

  if (!g_file_get_contents (file, &text, &bytes, &error)) {
    all = g_strdup_printf ("The file of zones cannot be read: %s.",
        error->message);
    g_error_free (error);
    return all;
  }
  why = read_text (list, text, bytes);
  if (why)
    all = g_strdup_printf ("The file of zones '%s' was refused: %s.", file,
        why);
  g_free (why);
  g_free (text);
  return all;
}
