/* SPDX-License-Identifier: MIT */
#include "secret.h"

#include <string.h>

/* Takes @text. */
static gchar *replace(gchar *text, const gchar *from, const gchar *to)
{
    gchar **parts = g_strsplit(text, from, -1), *result = g_strjoinv(to, parts);

    g_strfreev(parts);
    g_free(text);
    return result;
}

gchar *secret_hide(const gchar *text, const gchar *uri)
{
    const gchar *query = strchr(uri, '?'), *begin = strstr(uri, "://"), *at = NULL, *slash;
    gchar *hidden = g_strdup(text), *part;

    if (query && query[1])
        hidden = replace(hidden, query + 1, "...");
    if (begin) {
        begin += strlen("://");
        slash = begin + strcspn(begin, "/?#");
        at = g_strrstr_len(begin, slash - begin, "@");
    }
    if (at && at > begin) {
        part = g_strndup(begin, at - begin);
        hidden = replace(hidden, part, "...");
        g_free(part);
    }
    return hidden;
}
