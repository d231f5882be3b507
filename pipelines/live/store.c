/* SPDX-License-Identifier: MIT */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

gint store_open_file(const gchar *folder)
{
    gchar *path = g_build_filename(folder, ".annotations-XXXXXX", NULL);
    const gint fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        g_unlink(path);
    g_free(path);
    return fd;
}

gboolean store_write(gint fd, gconstpointer data, gsize bytes, guint64 at)
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

void store_pack(GString *to, const GstSamRecord *record, GstSamCoder *coder)
{
    const gsize at = to->len;
    guint32 bytes = 0;

    g_string_append_len(to, (const gchar *) &bytes, sizeof bytes);
    gst_sam_coder_pack(coder, record, to);
    bytes = to->len - at - sizeof bytes;
    memcpy(to->str + at, &bytes, sizeof bytes);
}

struct Frames {
    GArray *segments;
    guint segment;
    guint64 at; /* in the segment's file */
    GString *bytes;
    GstSamRecord record;
    GstSamCoder coder;
};

Frames *frames_new(GArray *segments)
{
    Frames *f = g_new0(Frames, 1);

    f->segments = segments;
    f->bytes = g_string_new(NULL);
    gst_sam_coder_init(&f->coder, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    return f;
}

static gboolean read_all(const Segment *segment, gpointer to, gsize bytes, guint64 at,
    GError **error)
{
    gchar *left = to;
    gssize n;

    for (; bytes; left += MAX(n, 0), at += MAX(n, 0), bytes -= MAX(n, 0)) {
        n = at + bytes > segment->bytes ? 0 : pread(segment->fd, left, bytes, at);
        if (n > 0 || (n < 0 && errno == EINTR))
            continue;
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO, "The kept annotations cannot be read: "
            "%s.", n ? g_strerror(errno) : "a file is too short");
        return FALSE;
    }
    return TRUE;
}

/* The segment in which the next frame is; NULL: there is none. */
static const Segment *find_segment(Frames *f)
{
    for (; f->segment < f->segments->len; f->segment++, f->at = 0) {
        const Segment *segment = &g_array_index(f->segments, Segment, f->segment);

        if (f->at < segment->bytes)
            return segment;
    }
    return NULL;
}

GstSamRecord *frames_next(Frames *f, GstSamCoder **coder, GError **error)
{
    const Segment *segment = find_segment(f);
    guint32 bytes;

    if (!segment || !read_all(segment, &bytes, sizeof bytes, f->at, error))
        return NULL;
    f->at += sizeof bytes;
    g_string_set_size(f->bytes, bytes);
    if (!read_all(segment, f->bytes->str, bytes, f->at, error))
        return NULL;
    f->at += bytes;
    if (!gst_sam_coder_unpack(&f->coder, &f->record, f->bytes->str, bytes)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO, "The kept annotations cannot be read: "
            "a frame is damaged.");
        return NULL;
    }
    *coder = &f->coder;
    return &f->record;
}

void frames_free(Frames *f)
{
    gst_sam_coder_clear(&f->coder);
    g_string_free(f->bytes, TRUE);
    g_free(f);
}

typedef struct {
    GstSamOutput parent;
    gint fd;
    guint64 bytes, most;
    GCancellable *cancellable;
} Sheet;

static gboolean sheet_write(GstSamOutput *output, const gchar *data, gsize bytes, GError **error)
{
    Sheet *sheet = (Sheet *) output;

    if (g_cancellable_set_error_if_cancelled(sheet->cancellable, error))
        return FALSE;
    if (sheet->bytes + bytes > sheet->most) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC,
            "The file would have more than %" G_GUINT64_FORMAT " MiB.", sheet->most >> 20);
        return FALSE;
    }
    if (!store_write(sheet->fd, data, bytes, sheet->bytes)) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "The file cannot be written: %s.", g_strerror(errno));
        return FALSE;
    }
    sheet->bytes += bytes;
    return TRUE;
}

static void sheet_free(GstSamOutput *output)
{
    g_free(output);
}

GstSamOutput *sheet_new(gint fd, guint64 most, GCancellable *cancellable)
{
    Sheet *sheet = g_new0(Sheet, 1);

    sheet->parent.write = sheet_write;
    sheet->parent.free = sheet_free;
    sheet->fd = fd;
    sheet->most = most;
    sheet->cancellable = cancellable;
    return &sheet->parent;
}

guint64 sheet_get_bytes(const GstSamOutput *sheet)
{
    return ((const Sheet *) sheet)->bytes;
}
