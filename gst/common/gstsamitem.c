/* SPDX-License-Identifier: MIT */
#include "gstsamitem.h"

#include <math.h>
#include <string.h>

/* How much of a bad text is repeated in the error. */
#define SHOWN 60

gchar *
gst_sam_item_get_shown (const gchar * text)
{
  gsize len = strlen (text), cut = MIN (len, SHOWN);
  gchar *head, *all;

  while (cut > SHOWN - 4 && ((guchar) text[cut] & 0xc0) == 0x80)
    cut--;
  head = g_utf8_make_valid (text, cut);
  all = g_strconcat (head, len > SHOWN ? "..." : NULL, NULL);

  g_free (head);
  return all;
}

gboolean
gst_sam_item_parse_number (const gchar * value, gdouble * number)
{
  gchar *end;

  *number = g_ascii_strtod (value, &end);
  return end != value && *end == '\0' && isfinite (*number);
}

gboolean
gst_sam_item_parse_boolean (const gchar * value, gboolean * flag)
{
  static const gchar *yes[] = { "true", "t", "yes", "1", NULL };
  static const gchar *no[] = { "false", "f", "no", "0", NULL };
  gint i;

  for (i = 0; yes[i]; i++) {
    if (!g_ascii_strcasecmp (value, yes[i])) {
      *flag = TRUE;
      return TRUE;
    }
    if (!g_ascii_strcasecmp (value, no[i])) {
      *flag = FALSE;
      return TRUE;
    }
  }
  return FALSE;
}

const gchar *
gst_sam_item_skip_space (const gchar * pos)
{
  while (g_ascii_isspace (*pos))
    pos++;
  return pos;
}

static gboolean
is_end (gchar c)
{
  return c == '\0' || c == ',' || c == ';';
}

const gchar *
gst_sam_item_read_word (const gchar * pos, gchar stop, GString * word)
{
  g_string_truncate (word, 0);
  pos = gst_sam_item_skip_space (pos);
  for (; !is_end (*pos) && *pos != stop; pos++)
    g_string_append_c (word, *pos);
  while (word->len && g_ascii_isspace (word->str[word->len - 1]))
    g_string_truncate (word, word->len - 1);
  return pos;
}

const gchar *
gst_sam_item_read_value (const gchar * pos, GString * word)
{
  pos = gst_sam_item_skip_space (pos);
  if (*pos == '(') {
    while (*pos != ')') {
      if (is_end (*pos))
        return NULL;
      pos++;
    }
    pos = gst_sam_item_skip_space (pos + 1);
  }
  if (*pos != '"')
    return gst_sam_item_read_word (pos, '\0', word);

  g_string_truncate (word, 0);
  for (pos++; *pos != '"'; pos++) {
    if (*pos == '\\')
      pos++;
    if (*pos == '\0')
      return NULL;
    g_string_append_c (word, *pos);
  }
  pos = gst_sam_item_skip_space (pos + 1);
  return is_end (*pos) ? pos : NULL;
}
