/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sequence.h"

#include <gst/app/gstappsrc.h>
#include <string.h>

static const struct {
    const gchar *suffix, *decoder, *caps;
} kinds[] = {
    {".jpg", "jpegdec", "image/jpeg"},
    {".jpeg", "jpegdec", "image/jpeg"},
    {".png", "pngdec", "image/png"},
};

/* The index of the kind of picture that a name is of, -1 for none. */
static gint find_kind(const gchar *name)
{
    const gsize length = strlen(name);
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const gsize n = strlen(kinds[i].suffix);

        if (length > n && !g_ascii_strcasecmp(name + length - n, kinds[i].suffix))
            return (gint) i;
    }
    return -1;
}

/* Where %d or %0Nd begins, and where it ends; NULL if there is none. */
static const gchar *find_number(const gchar *name, const gchar **end)
{
    const gchar *percent = strchr(name, '%');
    const gchar *c = percent;

    if (!percent)
        return NULL;
    for (c++; g_ascii_isdigit(*c); c++)
        ;
    *end = c + 1;
    return *c == 'd' ? percent : NULL;
}

gboolean sequence_are_named(const gchar *path)
{
    const gchar *end;

    return g_file_test(path, G_FILE_TEST_IS_DIR) ||
        (!g_file_test(path, G_FILE_TEST_EXISTS) && find_number(path, &end));
}

/* Whether a name is the pattern with a number in it; all names where there is no pattern. */
static gboolean fits(const gchar *name, const gchar *pattern)
{
    const gchar *end = NULL, *number = pattern ? find_number(pattern, &end) : NULL;
    gsize before, digits;

    if (!number)
        return TRUE;
    before = number - pattern;
    if (strncmp(name, pattern, before))
        return FALSE;
    digits = strspn(name + before, "0123456789");
    return digits && !strcmp(name + before + digits, end);
}

static gint compare(gconstpointer a, gconstpointer b)
{
    return strverscmp(*(const gchar *const *) a, *(const gchar *const *) b);
}

static gboolean fill(Sequence *sequence, const gchar *folder, const gchar *pattern, GError **error)
{
    GDir *dir = g_dir_open(folder, 0, error);
    const gchar *name;
    gboolean ok = dir != NULL;
    gint kind;

    while (ok && (name = g_dir_read_name(dir))) {
        kind = find_kind(name);
        if (kind < 0 || *name == '.' || !fits(name, pattern))
            continue;
        if (sequence->decoder && strcmp(sequence->decoder, kinds[kind].decoder)) {
            g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                "'%s' has JPEGs and PNGs, expected pictures of one kind", folder);
            ok = FALSE;
        }
        sequence->decoder = kinds[kind].decoder;
        sequence->caps = kinds[kind].caps;
        g_ptr_array_add(sequence->files, g_build_filename(folder, name, NULL));
    }
    if (dir)
        g_dir_close(dir);
    return ok;
}

Sequence *sequence_new(const gchar *path, gint fps, GError **error)
{
    const gboolean whole = g_file_test(path, G_FILE_TEST_IS_DIR);
    gchar *folder = whole ? g_strdup(path) : g_path_get_dirname(path);
    gchar *pattern = whole ? NULL : g_path_get_basename(path);
    Sequence *sequence = g_new0(Sequence, 1);
    const gchar *end;
    gboolean ok;

    sequence->files = g_ptr_array_new_with_free_func(g_free);
    sequence->fps = fps;
    ok = (!pattern || find_number(pattern, &end)) && fill(sequence, folder, pattern, error);
    if (!*error && !sequence->files->len) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "there is no JPEG or PNG %s '%s'",
            whole ? "in the folder" : "with the name", path);
        ok = FALSE;
    }
    g_ptr_array_sort(sequence->files, compare);
    if (!ok)
        g_clear_pointer(&sequence, sequence_free);
    g_free(folder);
    g_free(pattern);
    return sequence;
}

static void on_need_data(GstAppSrc *source, guint size, gpointer data)
{
    Sequence *sequence = data;
    GstBuffer *buffer;
    GError *error = NULL;
    gchar *bytes;
    gsize length;

    if (sequence->next == sequence->files->len) {
        gst_app_src_end_of_stream(source);
        return;
    }
    if (!g_file_get_contents(g_ptr_array_index(sequence->files, sequence->next), &bytes, &length,
        &error)) {
        GST_ELEMENT_ERROR(source, RESOURCE, READ, ("%s.", error->message), (NULL));
        g_error_free(error);
        gst_app_src_end_of_stream(source);
        return;
    }
    buffer = gst_buffer_new_wrapped(bytes, length);
    GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(sequence->next, GST_SECOND, sequence->fps);
    GST_BUFFER_DURATION(buffer) = gst_util_uint64_scale(sequence->next + 1, GST_SECOND,
        sequence->fps) - GST_BUFFER_PTS(buffer);
    sequence->next++;
    gst_app_src_push_buffer(source, buffer);
}

static gboolean on_seek(GstAppSrc *source, guint64 time, gpointer data)
{
    Sequence *sequence = data;

    sequence->next = (guint) MIN(gst_util_uint64_scale(time, sequence->fps, GST_SECOND),
        sequence->files->len);
    return TRUE;
}

void sequence_connect(Sequence *sequence, GstElement *appsrc)
{
    GstCaps *caps = gst_caps_from_string(sequence->caps);

    gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION, sequence->fps, 1, NULL);
    g_object_set(appsrc, "caps", caps, "format", GST_FORMAT_TIME, "max-bytes", (guint64) 1,
        "stream-type", GST_APP_STREAM_TYPE_SEEKABLE, "duration",
        sequence_get_duration(sequence), NULL);
    gst_caps_unref(caps);
    g_signal_connect(appsrc, "need-data", G_CALLBACK(on_need_data), sequence);
    g_signal_connect(appsrc, "seek-data", G_CALLBACK(on_seek), sequence);
}

guint64 sequence_get_duration(const Sequence *sequence)
{
    return gst_util_uint64_scale(sequence->files->len, GST_SECOND, sequence->fps);
}

guint64 sequence_get_index(const Sequence *sequence, GstClockTime pts)
{
    return gst_util_uint64_scale_round(pts, sequence->fps, GST_SECOND);
}

const gchar *sequence_get_last(const Sequence *sequence)
{
    return sequence->next ? g_ptr_array_index(sequence->files, sequence->next - 1) : NULL;
}

void sequence_free(Sequence *sequence)
{
    g_ptr_array_unref(sequence->files);
    g_free(sequence);
}
