/* SPDX-License-Identifier: MIT */
/* GKeyFile does not tell where a key stands. */
#include "keyfile.h"

#include <string.h>

/* Whether a line without spaces around it is "[GROUP]". */
static gboolean is_group(const gchar *line, const gchar *group)
{
    const gsize length = strlen(group);

    return *line == '[' && !strncmp(line + 1, group, length) && line[length + 1] == ']';
}

static gboolean is_key(const gchar *line, const gchar *key)
{
    const gsize length = strcspn(line, "=");
    gchar *found = line[length] ? g_strchomp(g_strndup(line, length)) : NULL;
    const gboolean is = found && !strcmp(found, key);

    g_free(found);
    return is;
}

guint keyfile_find_line(const gchar *path, const gchar *group, const gchar *key)
{
    gchar *text = NULL, **lines;
    gboolean inside = FALSE;
    guint i, found = 0;

    if (!g_file_get_contents(path, &text, NULL, NULL))
        return 0;
    lines = g_strsplit(text, "\n", -1);
    for (i = 0; lines[i]; i++) {
        const gchar *line = g_strstrip(lines[i]);

        if (*line == '[')
            inside = is_group(line, group);
        if (inside && (key ? is_key(line, key) : *line == '['))
            found = i + 1;
    }
    g_strfreev(lines);
    g_free(text);
    return found;
}
