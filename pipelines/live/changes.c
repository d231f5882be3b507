/* SPDX-License-Identifier: MIT */
#include "changes.h"

#include <glib/gstdio.h>
#include <string.h>

#define ADDED "added "
#define CHANGED "changed "
#define REMOVED "removed"

gchar *changes_get_path(const gchar *folder, const gchar *file)
{
    gchar *name, *stem, *path;

    if (!file)
        return g_build_filename(folder, "cameras.conf", NULL);
    stem = g_path_get_basename(file);
    if (g_str_has_suffix(stem, ".conf"))
        stem[strlen(stem) - strlen(".conf")] = 0;
    name = g_strconcat(stem, ".cameras.conf", NULL);
    path = g_build_filename(folder, name, NULL);
    g_free(stem);
    g_free(name);
    return path;
}

GKeyFile *changes_read(const gchar *path, GError **error)
{
    GKeyFile *changes = g_key_file_new();
    GError *why = NULL;

    if (g_key_file_load_from_file(changes, path, G_KEY_FILE_KEEP_COMMENTS, &why))
        return changes;
    /* The program runs without a folder for its state, too. */
    if (g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT) ||
        g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOTDIR)) {
        g_error_free(why);
        return changes;
    }
    g_key_file_unref(changes);
    g_propagate_prefixed_error(error, why, "cannot read the changes of cameras in '%s': ", path);
    return NULL;
}

GKeyFile *changes_copy(GKeyFile *changes)
{
    GKeyFile *copy = g_key_file_new();
    gsize bytes;
    gchar *text = g_key_file_to_data(changes, &bytes, NULL);

    if (bytes)
        g_key_file_load_from_data(copy, text, bytes, G_KEY_FILE_KEEP_COMMENTS, NULL);
    g_free(text);
    return copy;
}

/* It may hold passwords. */
gboolean changes_write(GKeyFile *changes, const gchar *path, GError **error)
{
    gchar *folder = g_path_get_dirname(path);
    gsize bytes;
    gchar *text = g_key_file_to_data(changes, &bytes, NULL);
    gboolean ok;

    g_mkdir_with_parents(folder, 0700);
    ok = g_file_set_contents_full(path, text, bytes, G_FILE_SET_CONTENTS_CONSISTENT |
        G_FILE_SET_CONTENTS_DURABLE, 0600, error);
    g_free(folder);
    g_free(text);
    return ok;
}

const gchar *changes_get_camera(const gchar *group, gboolean *added)
{
    *added = g_str_has_prefix(group, ADDED);
    if (*added)
        return group + strlen(ADDED);
    return g_str_has_prefix(group, CHANGED) ? group + strlen(CHANGED) : NULL;
}

static gboolean has_group(GKeyFile *changes, const gchar *kind, const gchar *camera)
{
    gchar *group = g_strconcat(kind, camera, NULL);
    const gboolean has = g_key_file_has_group(changes, group);

    g_free(group);
    return has;
}

gboolean changes_has_added(GKeyFile *changes, const gchar *camera)
{
    return has_group(changes, ADDED, camera);
}

gchar **changes_list_removed(GKeyFile *changes)
{
    return g_key_file_get_keys(changes, REMOVED, NULL, NULL);
}

static void drop_group(GKeyFile *changes, const gchar *kind, const gchar *camera)
{
    gchar *group = g_strconcat(kind, camera, NULL);

    g_key_file_remove_group(changes, group, NULL);
    g_free(group);
}

static void set_keys(GKeyFile *changes, const gchar *kind, const gchar *camera, GHashTable *keys)
{
    gchar *group = g_strconcat(kind, camera, NULL);
    GHashTableIter iter;
    gpointer name, text;

    g_hash_table_iter_init(&iter, keys);
    while (g_hash_table_iter_next(&iter, &name, &text)) {
        if (text)
            g_key_file_set_string(changes, group, name, text);
        else
            g_key_file_remove_key(changes, group, name, NULL);
    }
    g_free(group);
}

void changes_add(GKeyFile *changes, const gchar *camera, GHashTable *keys)
{
    g_key_file_remove_key(changes, REMOVED, camera, NULL);
    drop_group(changes, CHANGED, camera);
    set_keys(changes, ADDED, camera, keys);
}

void changes_change(GKeyFile *changes, const gchar *camera, GHashTable *keys)
{
    set_keys(changes, changes_has_added(changes, camera) ? ADDED : CHANGED, camera, keys);
}

void changes_remove(GKeyFile *changes, const gchar *camera, gboolean given)
{
    drop_group(changes, ADDED, camera);
    drop_group(changes, CHANGED, camera);
    if (given)
        g_key_file_set_boolean(changes, REMOVED, camera, TRUE);
}
