/* SPDX-License-Identifier: MIT */
#include "refuse.h"

gboolean refuse(GError **error, const gchar *format, ...)
{
    va_list rest;

    va_start(rest, format);
    *error = g_error_new_valist(G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, format, rest);
    va_end(rest);
    return FALSE;
}

gboolean check_name(const gchar *name, glong most, const gchar *what, gchar **why)
{
    const gchar *c;

    if (g_utf8_strlen(name, -1) > most)
        return refuse_why(why, "%s has more than %ld characters.", what, most);
    for (c = name; *c; c = g_utf8_next_char(c))
        if (g_unichar_iscntrl(g_utf8_get_char(c)))
            return refuse_why(why, "%s has a control character, U+%04X.", what, g_utf8_get_char(c));
    return TRUE;
}

gboolean refuse_why(gchar **why, const gchar *format, ...)
{
    va_list rest;

    va_start(rest, format);
    *why = g_strdup_vprintf(format, rest);
    va_end(rest);
    return FALSE;
}
