/* SPDX-License-Identifier: MIT */
#include "sheet.h"

#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ROOM (1 << 16)

struct Sheet {
    gchar *path;
    int fd;
    GString *text; /* not written yet */
    GChecksum *sum;
};

static gboolean fail(Sheet *sheet, GError **error, gint number)
{
    return fault_set(error, FAULT_TRANSIENT, "'%s' cannot be written: %s", sheet->path,
        g_strerror(number));
}

Sheet *sheet_open(const gchar *folder, const gchar *name, GError **error)
{
    Sheet *sheet = g_new0(Sheet, 1);

    sheet->path = g_build_filename(folder, name, NULL);
    sheet->text = g_string_new(NULL);
    sheet->sum = g_checksum_new(G_CHECKSUM_SHA256);
    sheet->fd = open(sheet->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (sheet->fd >= 0)
        return sheet;
    fail(sheet, error, errno);
    sheet_drop(sheet);
    return NULL;
}

static gboolean flush(Sheet *sheet, GError **error)
{
    gsize done = 0;

    while (done < sheet->text->len) {
        const gssize n = write(sheet->fd, sheet->text->str + done, sheet->text->len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(sheet, error, n ? errno : ENOSPC);
        done += n;
    }
    g_string_truncate(sheet->text, 0);
    return TRUE;
}

gboolean sheet_write(Sheet *sheet, const gchar *data, gsize bytes, GError **error)
{
    g_checksum_update(sheet->sum, (const guchar *) data, bytes);
    g_string_append_len(sheet->text, data, bytes);
    return sheet->text->len < ROOM || flush(sheet, error);
}

gboolean sheet_close(Sheet *sheet, SheetLife life, gchar **hash, GError **error)
{
    gboolean ok = flush(sheet, error);
    int fd;

    if (ok && life == SHEET_LASTS && fsync(sheet->fd))
        ok = fail(sheet, error, errno);
    fd = sheet->fd;
    sheet->fd = -1;
    /* NFS tells of a full disk here. */
    if (close(fd) && ok)
        ok = fail(sheet, error, errno);
    if (ok && hash)
        *hash = g_strdup(g_checksum_get_string(sheet->sum));
    sheet_drop(sheet);
    return ok;
}

void sheet_drop(Sheet *sheet)
{
    if (!sheet)
        return;
    if (sheet->fd >= 0)
        close(sheet->fd);
    g_string_free(sheet->text, TRUE);
    g_checksum_free(sheet->sum);
    g_free(sheet->path);
    g_free(sheet);
}

gboolean sheet_write_whole(const gchar *folder, const gchar *name, const gchar *text,
    SheetLife life, GError **error)
{
    Sheet *sheet = sheet_open(folder, name, error);

    if (!sheet)
        return FALSE;
    if (sheet_write(sheet, text, strlen(text), error))
        return sheet_close(sheet, life, NULL, error);
    sheet_drop(sheet);
    return FALSE;
}

gchar *sheet_hash_file(const gchar *path, GError **error)
{
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    guchar *room = g_malloc(ROOM);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    gint number = fd < 0 ? errno : 0;
    gchar *hash = NULL;
    gssize n = 1;

    while (!number && n) {
        n = read(fd, room, ROOM);
        if (n > 0)
            g_checksum_update(sum, room, n);
        else if (n < 0 && errno != EINTR)
            number = errno;
    }
    if (number)
        fault_set(error, number == ENOENT || number == EISDIR ? FAULT_PERMANENT : FAULT_TRANSIENT,
            "'%s' cannot be read: %s", path, g_strerror(number));
    else
        hash = g_strdup(g_checksum_get_string(sum));
    if (fd >= 0)
        close(fd);
    g_free(room);
    g_checksum_free(sum);
    return hash;
}
