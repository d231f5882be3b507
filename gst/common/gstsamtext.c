/* SPDX-License-Identifier: MIT */
#include "gstsamtext.h"

/* As in the engine: controls, line breaks, and what reverses the text behind
 * it. A zero-width joiner or a soft hyphen may stay. */
static gboolean
is_plain (gunichar c)
{
  return !g_unichar_iscntrl (c) && c != 0x200e && c != 0x200f &&
      !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

gchar *
gst_sam_plain_text (const gchar * text)
{
  gchar *valid = g_utf8_make_valid (text, -1);
  GString *plain = g_string_new (NULL);
  const gchar *c;

  for (c = valid; *c; c = g_utf8_next_char (c))
    g_string_append_unichar (plain, is_plain (g_utf8_get_char (c)) ?
        g_utf8_get_char (c) : '?');
  g_free (valid);
  return g_string_free (plain, FALSE);
}
