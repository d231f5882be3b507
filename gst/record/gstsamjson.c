/* SPDX-License-Identifier: MIT */
/* JSON as elements and programs write it. */

#include "gstsamjson.h"

#include <math.h>
#include <string.h>

static void
append_character (GString * to, gunichar c)
{
  static const gchar letters[] = "btn\0fr";     /* from U+0008 on */

  if (c == '"' || c == '\\') {
    g_string_append_c (to, '\\');
    g_string_append_c (to, c);
  } else if (c >= 8 && c < 8 + 6 && letters[c - 8]) {
    g_string_append_c (to, '\\');
    g_string_append_c (to, letters[c - 8]);
  } else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 ||
      c == 0x2029) {
    g_string_append_printf (to, "\\u%04x", c);
  } else {
    g_string_append_unichar (to, c);
  }
}

void
gst_sam_json_append_text (GString * to, const gchar * text)
{
  const gchar *end = text + strlen (text);

  g_string_append_c (to, '"');
  while (text < end) {
    const gunichar c = g_utf8_get_char_validated (text, end - text);

    if (c == (gunichar) - 1 || c == (gunichar) - 2) {
      g_string_append_unichar (to, 0xfffd);
      text++;
    } else {
      append_character (to, c);
      text = g_utf8_next_char (text);
    }
  }
  g_string_append_c (to, '"');
}

/* It stays a number with a fraction for readers that tell them apart. */
static void
append_double (GString * to, gdouble value)
{
  gchar digits[G_ASCII_DTOSTR_BUF_SIZE];

  if (!isfinite (value)) {
    g_string_append (to, "null");
    return;
  }
  g_string_append (to, g_ascii_dtostr (digits, sizeof digits, value));
  if (!strpbrk (digits, ".e"))
    g_string_append (to, ".0");
}

static void
append_value (GString * to, JsonNode * node)
{
  const GType type = json_node_get_value_type (node);

  if (type == G_TYPE_STRING)
    gst_sam_json_append_text (to, json_node_get_string (node));
  else if (type == G_TYPE_BOOLEAN)
    g_string_append (to, json_node_get_boolean (node) ? "true" : "false");
  else if (type == G_TYPE_INT64)
    g_string_append_printf (to, "%" G_GINT64_FORMAT, json_node_get_int (node));
  else
    append_double (to, json_node_get_double (node));
}

static void
append_object (GString * to, JsonObject * object)
{
  JsonObjectIter iter;
  const gchar *name;
  JsonNode *member;
  gboolean any = FALSE;

  g_string_append_c (to, '{');
  json_object_iter_init_ordered (&iter, object);
  while (json_object_iter_next_ordered (&iter, &name, &member)) {
    if (any)
      g_string_append_c (to, ',');
    any = TRUE;
    gst_sam_json_append_text (to, name);
    g_string_append_c (to, ':');
    gst_sam_json_append_node (to, member);
  }
  g_string_append_c (to, '}');
}

static void
append_array (GString * to, JsonArray * array)
{
  guint i;

  g_string_append_c (to, '[');
  for (i = 0; i < json_array_get_length (array); i++) {
    if (i)
      g_string_append_c (to, ',');
    gst_sam_json_append_node (to, json_array_get_element (array, i));
  }
  g_string_append_c (to, ']');
}

void
gst_sam_json_append_node (GString * to, JsonNode * node)
{
  switch (json_node_get_node_type (node)) {
    case JSON_NODE_OBJECT:
      append_object (to, json_node_get_object (node));
      break;
    case JSON_NODE_ARRAY:
      append_array (to, json_node_get_array (node));
      break;
    case JSON_NODE_VALUE:
      append_value (to, node);
      break;
    case JSON_NODE_NULL:
      g_string_append (to, "null");
      break;
  }
}
