/* SPDX-License-Identifier: MIT */
#include "folder.h"

#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* Of a host's name, so that the whole name fits into what file systems take. */
#define HOST_BYTES 20

static gchar *name_ours(const gchar *target)
{
    gchar *parent = g_path_get_dirname(target), *name = g_path_get_basename(target);
    gchar *ours = g_strdup_printf("%s/.%s.%.*s.%d.%08x", parent, name, HOST_BYTES,
        g_get_host_name(), (int) getpid(), g_random_int());

    g_free(parent);
    g_free(name);
    return ours;
}

gchar *folder_begin(const gchar *target, GError **error)
{
    gchar *parent = g_path_get_dirname(target), *ours = name_ours(target);

    if (g_mkdir_with_parents(parent, 0777) || g_mkdir(ours, 0777)) {
        fault_set(error, FAULT_TRANSIENT, "the folder '%s' cannot be made: %s", ours,
            g_strerror(errno));
        g_clear_pointer(&ours, g_free);
    }
    g_free(parent);
    return ours;
}

gboolean folder_write_file(const gchar *path, const gchar *text, SheetLife life)
{
    gchar *parent = g_path_get_dirname(path), *ours = name_ours(path);
    gchar *name = g_path_get_basename(ours);
    const gboolean ok = !g_mkdir_with_parents(parent, 0777) &&
        sheet_write_whole(parent, name, text, life, NULL) && !g_rename(ours, path);

    if (!ok)
        g_unlink(ours);
    g_free(name);
    g_free(ours);
    g_free(parent);
    return ok;
}

/* Some file systems have no such call for folders; what they promise must do then. */
static gboolean sync_folder(const gchar *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const gboolean ok = fd >= 0 && (!fsync(fd) || errno == EINVAL || errno == ENOTSUP);

    if (fd >= 0)
        close(fd);
    return ok;
}

FolderOutcome folder_commit(const gchar *ours, const gchar *target, SheetLife life,
    GError **error)
{
    gchar *parent;
    gint number;

    number = (life == SHEET_LASTS && !sync_folder(ours)) || g_rename(ours, target) ? errno : 0;
    if (number) {
        folder_remove(ours);
        if (number == EEXIST || number == ENOTEMPTY)
            return FOLDER_LOST;
        fault_set(error, FAULT_TRANSIENT, "'%s' cannot be renamed to '%s': %s", ours, target,
            g_strerror(number));
        return FOLDER_FAILED;
    }
    if (life == SHEET_LASTS) {
        parent = g_path_get_dirname(target);
        sync_folder(parent);
        g_free(parent);
    }
    return FOLDER_WON;
}

void folder_remove(const gchar *path)
{
    GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
    const gchar *name;

    while (dir && (name = g_dir_read_name(dir))) {
        gchar *child = g_build_filename(path, name, NULL);

        folder_remove(child);
        g_free(child);
    }
    if (dir)
        g_dir_close(dir);
    g_remove(path);
}

static gint compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const gchar *const *) a, *(const gchar *const *) b);
}

GPtrArray *folder_list(const gchar *path)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open(path, 0, NULL);
    const gchar *name;

    while (dir && (name = g_dir_read_name(dir)))
        if (*name != '.')
            g_ptr_array_add(names, g_strdup(name));
    if (dir)
        g_dir_close(dir);
    g_ptr_array_sort(names, compare);
    return names;
}
