/* SPDX-License-Identifier: MIT */
#include "result.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static gboolean fail(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean fail(GError **error, const gchar *format, ...)
{
    va_list rest;

    va_start(rest, format);
    *error = g_error_new_valist(G_FILE_ERROR, G_FILE_ERROR_FAILED, format, rest);
    va_end(rest);
    return FALSE;
}

static gboolean is_same(const gchar *a, const gchar *b)
{
    struct stat x, y;

    return !g_stat(a, &x) && !g_stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static gboolean is_empty(const gchar *folder)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    const gboolean empty = dir && !g_dir_read_name(dir);

    if (dir)
        g_dir_close(dir);
    return empty;
}

static gboolean begin_file(Result *result, const gchar *input, GError **error)
{
    struct stat s;
    int fd;

    if (!g_stat(result->path, &s) && !S_ISREG(s.st_mode))
        return fail(error, "cannot write '%s': it is not a regular file", result->path);
    if (input && is_same(result->path, input))
        return fail(error, "the video and the file to write are the same, '%s'", input);
    fd = g_open(result->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(error, "cannot write '%s': %s", result->part, g_strerror(errno));
    close(fd);
    return TRUE;
}

/* The file that a link points to is written, not the link replaced. */
static gchar *follow_link(const gchar *path, gsize length)
{
    gchar *name = g_strndup(path, length);
    char *real = g_file_test(name, G_FILE_TEST_IS_SYMLINK) ? realpath(name, NULL) : NULL;

    if (real) {
        g_free(name);
        name = g_strdup(real);
        free(real);
    }
    return name;
}

static gboolean begin_folder(Result *result, GError **error)
{
    struct stat s;

    if (!g_stat(result->path, &s) && (!S_ISDIR(s.st_mode) || !is_empty(result->path)))
        return fail(error, "'%s' exists, expected a new or an empty folder", result->path);
    result_remove(result); /* of an earlier run that was killed */
    if (g_mkdir_with_parents(result->part, 0777))
        return fail(error, "cannot make the folder '%s': %s", result->part, g_strerror(errno));
    return TRUE;
}

gboolean result_begin(Result *result, const gchar *file, const gchar *folder, const gchar *input,
    GError **error)
{
    const gchar *path = file ? file : folder;
    gsize length = path ? strlen(path) : 0;
    gboolean ok;

    if (!path)
        return TRUE;
    while (length > 1 && path[length - 1] == '/')
        length--;
    result->is_folder = !file;
    result->path = follow_link(path, length);
    result->part = g_strconcat(result->path, ".part", NULL);
    ok = file ? begin_file(result, input, error) : begin_folder(result, error);
    if (!ok)
        g_clear_pointer(&result->part, g_free);
    return ok;
}

static gboolean move(const Result *result, const gchar *to, GError **error)
{
    if (result->is_folder && g_rmdir(to) && errno != ENOENT)
        return fail(error, "cannot replace the folder '%s': %s", to, g_strerror(errno));
    if (g_rename(result->part, to))
        return fail(error, "cannot rename '%s' to '%s': %s", result->part, to, g_strerror(errno));
    return TRUE;
}

gboolean result_finish(Result *result, GError **error)
{
    const gboolean ok = !result->path || move(result, result->path, error);

    if (ok)
        g_clear_pointer(&result->part, g_free);
    return ok;
}

gchar *result_keep_part(Result *result, GError **error)
{
    const gchar *slash = strrchr(result->path, '/');
    const gchar *name = slash ? slash + 1 : result->path;
    const gchar *dot = result->is_folder ? NULL : strrchr(name, '.');
    const gchar *end = dot && dot != name ? dot : name + strlen(name);
    gchar *to = g_strdup_printf("%.*s.partial%s", (int) (end - result->path), result->path, end);

    if (result->is_folder) {
        Result earlier = {NULL, to, TRUE};

        result_remove(&earlier);
        to = earlier.part;
    }
    if (move(result, to, error))
        g_clear_pointer(&result->part, g_free);
    else
        g_clear_pointer(&to, g_free);
    return to;
}

void result_remove(Result *result)
{
    GDir *dir = result->part && result->is_folder ? g_dir_open(result->part, 0, NULL) : NULL;
    const gchar *name;

    while (dir && (name = g_dir_read_name(dir))) {
        gchar *path = g_build_filename(result->part, name, NULL);

        if (g_str_has_suffix(name, ".png"))
            g_unlink(path);
        g_free(path);
    }
    if (dir)
        g_dir_close(dir);
    if (result->part)
        g_remove(result->part);
}

void result_clear(Result *result)
{
    g_clear_pointer(&result->path, g_free);
    g_clear_pointer(&result->part, g_free);
}
