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

gboolean refuse_why(gchar **why, const gchar *format, ...)
{
    va_list rest;

    va_start(rest, format);
    *why = g_strdup_vprintf(format, rest);
    va_end(rest);
    return FALSE;
}
