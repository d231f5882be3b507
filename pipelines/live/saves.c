/* SPDX-License-Identifier: MIT */
#include "saves.h"

#include "refuse.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_ID 32
#define MAX_NAMES 100000

gboolean saves_is_id(const gchar *text)
{
    const gsize n = strlen(text);

    return g_str_equal(text, AUTOSAVE) ||
        (n > 0 && n <= MOST_ID && strspn(text, "0123456789-") == n);
}

gchar *saves_get_path(const gchar *folder, const gchar *camera, const gchar *id,
    const gchar *ending)
{
    return g_strdup_printf("%s/%s.%s.%s", folder, camera, id, ending);
}

gchar *saves_make_id(const gchar *folder, const gchar *camera)
{
    GDateTime *now = g_date_time_new_now_utc();
    gchar *second = g_date_time_format(now, "%Y%m%d-%H%M%S"), *id = NULL;
    gboolean taken = TRUE;
    guint i;

    for (i = 1; taken; i++) {
        gchar *path;

        g_free(id);
        id = g_strdup_printf("%s-%u", second, i);
        path = saves_get_path(folder, camera, id, "names");
        taken = g_file_test(path, G_FILE_TEST_EXISTS);
        g_free(path);
    }
    g_free(second);
    g_date_time_unref(now);
    return id;
}

static void free_save(gpointer data)
{
    Save *save = data;

    g_free(save->id);
    g_free(save->title);
    g_free(save);
}

/* Takes @id. */
static Save *read_save(const gchar *folder, const gchar *camera, gchar *id)
{
    gchar *path = saves_get_path(folder, camera, id, "names");
    GKeyFile *file = g_key_file_new();
    Save *save = g_new0(Save, 1);
    gchar *why = NULL;
    GStatBuf info;

    save->id = id;
    if (g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL)) {
        save->title = g_key_file_get_string(file, "save", "title", NULL);
        save->time = g_key_file_get_int64(file, "save", "time", NULL);
        save->number = g_key_file_get_int64(file, "save", "number", NULL);
        save->objects = (guint) MAX(g_key_file_get_integer(file, "save", "objects", NULL), 0);
    }
    g_free(path);
    path = saves_get_path(folder, camera, id, "tracks");
    if (!save->time && !g_stat(path, &info))
        save->time = info.st_mtime;
    if (!save->title || !g_utf8_validate(save->title, -1, NULL) ||
        !check_name(save->title, MAX_TITLE, "The name of the save", &why)) {
        g_free(save->title);
        save->title = g_strdup("");
    }
    g_free(why);
    g_free(path);
    g_key_file_unref(file);
    return save;
}

static gint compare(gconstpointer a, gconstpointer b)
{
    const Save *x = *(Save *const *) a, *y = *(Save *const *) b;

    if (x->number != y->number)
        return x->number < y->number ? 1 : -1;
    return x->time != y->time ? (x->time < y->time) - (x->time > y->time) : -strcmp(x->id, y->id);
}

/* The id in the name of a file of tracks; NULL: it is another file. Owned by the caller. */
static gchar *get_id(const gchar *file, const gchar *camera)
{
    const gsize n = strlen(camera);
    gchar *id;

    if (strncmp(file, camera, n) || file[n] != '.' || !g_str_has_suffix(file + n, ".tracks") ||
        strlen(file + n) < strlen(".1.tracks"))
        return NULL;
    id = g_strndup(file + n + 1, strlen(file + n) - strlen("..tracks"));
    if (!saves_is_id(id))
        g_clear_pointer(&id, g_free);
    return id;
}

GPtrArray *saves_list(const gchar *folder, const gchar *camera)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(free_save);
    GDir *dir = g_dir_open(folder, 0, NULL);
    const gchar *file;

    while (dir && (file = g_dir_read_name(dir))) {
        gchar *id = get_id(file, camera);

        if (id)
            g_ptr_array_add(list, read_save(folder, camera, id));
    }
    g_clear_pointer(&dir, g_dir_close);
    g_ptr_array_sort(list, compare);
    return list;
}

gint64 saves_get_next_number(const gchar *folder, const gchar *camera)
{
    GPtrArray *list = saves_list(folder, camera);
    const gint64 last = list->len ? ((Save *) g_ptr_array_index(list, 0))->number : 0;

    g_ptr_array_unref(list);
    return last < G_MAXINT64 ? last + 1 : last;
}

gboolean saves_write(const gchar *folder, const gchar *camera, const Save *save, GHashTable *names,
    GError **error)
{
    gchar *path = saves_get_path(folder, camera, save->id, "names");
    GKeyFile *file = g_key_file_new();
    GHashTableIter iter;
    gpointer id, name;
    gboolean ok;

    g_key_file_set_string(file, "save", "title", save->title ? save->title : "");
    g_key_file_set_int64(file, "save", "time", save->time);
    g_key_file_set_int64(file, "save", "number", save->number);
    g_key_file_set_integer(file, "save", "objects", (gint) save->objects);
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &id, &name)) {
        gchar *key = g_strdup_printf("%" G_GUINT64_FORMAT, *(guint64 *) id);
        g_key_file_set_string(file, "names", key, name);
        g_free(key);
    }
    ok = g_key_file_save_to_file(file, path, error);
    g_key_file_unref(file);
    g_free(path);
    return ok;
}

GHashTable *saves_read_names(const gchar *path, GError **error)
{
    GHashTable *names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    GKeyFile *file = g_key_file_new();
    GError *why = NULL;
    gchar **keys = g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, &why) ?
        g_key_file_get_keys(file, "names", NULL, NULL) : NULL;
    gsize i;

    if (g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        g_clear_error(&why);
    if (why)
        g_propagate_error(error, why);
    for (i = 0; keys && keys[i] && i < MAX_NAMES; i++) {
        gchar *name = g_key_file_get_string(file, "names", keys[i], NULL);
        guint64 id;

        if (name && g_ascii_string_to_unsigned(keys[i], 10, 1, G_MAXUINT64, &id, NULL))
            g_hash_table_replace(names, g_memdup2(&id, sizeof id), g_steal_pointer(&name));
        g_free(name);
    }
    g_strfreev(keys);
    g_key_file_unref(file);
    return names;
}

static void delete(const gchar *folder, const gchar *camera, const gchar *id)
{
    static const gchar *const endings[] = {"tracks", "names"};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(endings); i++) {
        gchar *path = saves_get_path(folder, camera, id, endings[i]);
        g_unlink(path);
        g_free(path);
    }
}

void saves_forget_undo(const gchar *folder, const gchar *camera)
{
    gchar *prefix = g_strdup_printf("%s.undo-", camera);
    GDir *dir = g_dir_open(folder, 0, NULL);
    const gchar *file;

    while (dir && (file = g_dir_read_name(dir))) {
        if (g_str_has_prefix(file, prefix) && g_str_has_suffix(file, ".tracks")) {
            gchar *path = g_build_filename(folder, file, NULL);
            g_unlink(path);
            g_free(path);
        }
    }
    g_clear_pointer(&dir, g_dir_close);
    g_free(prefix);
}

void saves_prune(const gchar *folder, const gchar *camera)
{
    GPtrArray *list = saves_list(folder, camera);
    guint i, n = 0;

    for (i = 0; i < list->len; i++) {
        const Save *save = g_ptr_array_index(list, i);

        if (!g_str_equal(save->id, AUTOSAVE) && ++n > MAX_SAVES)
            delete(folder, camera, save->id);
    }
    g_ptr_array_unref(list);
}
