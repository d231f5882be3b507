/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include "record/gstsamjson.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 65536

/* Quotes inside of texts are escaped, so these stand for themselves wherever they occur. */
#define MASK_TIME "\"mask_time\":"
#define OBJECT "{\"id\":"
#define SLOT ",\"slot\":"
#define LABEL ",\"label\":\""
#define NO_OBJECT "\"objects\":[]}\n"

struct Lines {
    GArray *segments;
    guint segment;
    guint64 at;      /* in the segment's file */
    GString *buffer;
    gsize used;      /* of the buffer, by lines that were returned */
};

gint lines_open_file(const gchar *folder)
{
    gchar *path = g_build_filename(folder, ".annotations-XXXXXX", NULL);
    const gint fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        g_unlink(path);
    g_free(path);
    return fd;
}

gboolean lines_write(gint fd, gconstpointer data, gsize bytes, guint64 at)
{
    const gchar *from = data;

    while (bytes) {
        const gssize n = pwrite(fd, from, bytes, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return FALSE;
        from += n;
        bytes -= n;
        at += n;
    }
    return TRUE;
}

gboolean lines_get_mask_time(const gchar *line, gsize bytes, guint64 *time)
{
    const gchar *found = g_strstr_len(line, bytes, MASK_TIME);

    if (!found || !g_ascii_isdigit(found[strlen(MASK_TIME)]))
        return FALSE;
    *time = g_ascii_strtoull(found + strlen(MASK_TIME), NULL, 10);
    return TRUE;
}

gboolean lines_has_no_object(const gchar *line, gsize bytes)
{
    const gsize n = strlen(NO_OBJECT);

    return bytes >= n && !memcmp(line + bytes - n, NO_OBJECT, n);
}

void sheet_quote(GString *text, const gchar *value)
{
    gst_sam_json_append_text(text, value);
}

/* Behind `"slot":N`, the label that a prompt gave: it is skipped. */
static const gchar *skip_label(GString *text, const gchar *from, const gchar *end)
{
    const gchar *at = g_str_has_prefix(from, SLOT) ? from + strlen(SLOT) : NULL;

    while (at && at < end && g_ascii_isdigit(*at))
        at++;
    if (!at || !g_str_has_prefix(at, LABEL))
        return from;
    g_string_append_len(text, from, at - from);
    for (at += strlen(LABEL); at < end && *at != '"'; at++)
        at += *at == '\\';
    return MIN(at + 1, end);
}

void lines_add_labels(GString *text, const gchar *line, gsize bytes, GHashTable *names)
{
    const gchar *from = line, *end = line + bytes, *found;

    while ((found = g_strstr_len(from, end - from, OBJECT))) {
        gchar *after;
        const guint64 id = g_ascii_strtoull(found + strlen(OBJECT), &after, 10);
        const gchar *name = g_hash_table_lookup(names, &id);

        g_string_append_len(text, from, after - from);
        if (name && *name) {
            g_string_append(text, ",\"label\":");
            sheet_quote(text, name);
            after = (gchar *) skip_label(text, after, end);
        }
        from = after;
    }
    g_string_append_len(text, from, end - from);
}

Lines *lines_new(GArray *segments)
{
    Lines *lines = g_new0(Lines, 1);

    lines->segments = segments;
    lines->buffer = g_string_sized_new(2 * BLOCK);
    return lines;
}

/* FALSE at the end of the last file, or after a failure. */
static gboolean read_more(Lines *l, gboolean *ok, GError **error)
{
    const gsize had = l->buffer->len - l->used;
    const Segment *segment = NULL;
    gssize n;

    for (; l->segment < l->segments->len; l->segment++, l->at = 0) {
        segment = &g_array_index(l->segments, Segment, l->segment);
        if (l->at < segment->bytes)
            break;
        segment = NULL;
    }
    if (!segment)
        return FALSE;
    g_string_erase(l->buffer, 0, l->used);
    l->used = 0;
    g_string_set_size(l->buffer, had + MIN(BLOCK, segment->bytes - l->at));
    do
        n = pread(segment->fd, l->buffer->str + had, l->buffer->len - had, l->at);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO, "The kept annotations cannot be read: "
            "%s.", n ? g_strerror(errno) : "a file is too short");
        return *ok = FALSE;
    }
    g_string_truncate(l->buffer, had + n);
    l->at += n;
    return TRUE;
}

gboolean lines_next(Lines *l, const gchar **line, gsize *bytes, gboolean *ok, GError **error)
{
    const gchar *end;

    while (!(end = memchr(l->buffer->str + l->used, '\n', l->buffer->len - l->used)))
        if (!read_more(l, ok, error))
            return FALSE;
    *line = l->buffer->str + l->used;
    *bytes = end + 1 - *line;
    l->used += *bytes;
    return TRUE;
}

void lines_free(Lines *l)
{
    g_string_free(l->buffer, TRUE);
    g_free(l);
}

gboolean sheet_flush(Sheet *sheet, gsize more_than, GError **error)
{
    if (sheet->text->len <= more_than)
        return TRUE;
    if (sheet->bytes + sheet->text->len > sheet->most) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC,
            "The file would have more than %" G_GUINT64_FORMAT " MiB.", sheet->most >> 20);
        return FALSE;
    }
    if (!lines_write(sheet->fd, sheet->text->str, sheet->text->len, sheet->bytes)) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "The file cannot be written: %s.", g_strerror(errno));
        return FALSE;
    }
    sheet->bytes += sheet->text->len;
    g_string_truncate(sheet->text, 0);
    return TRUE;
}
