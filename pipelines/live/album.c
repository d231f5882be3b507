/* SPDX-License-Identifier: MIT */
#include "album.h"

#include "journal.h"
#include "small.h"

#include <glib/gstdio.h>
#include <string.h>

#define MOST_PICTURES 60000    /* an archive has at most 65535 files */
#define MOST_HELD 32           /* frames that wait for their masks, */
#define MOST_HELD_BYTES (64 << 20) /* and what they have together */
#define PATIENCE_US (2 * G_USEC_PER_SEC) /* without masks: no frames are held for them */
#define ENDING ".jpg"

typedef struct {
    gchar *name;
    guint64 bytes;
    gint64 made; /* us since 1970 */
} Picture;

struct Album {
    gchar *folder, *camera;
    guint64 most;
    GstClockTime every;
    GstPad *pad;
    gulong probe;
    gboolean failing; /* of the thread that takes pictures */

    GMutex lock;         /* guards what follows */
    GQueue held;         /* GstSample, the oldest first: copies, as sources may have few */
    gint64 asked;        /* us, when there were masks last */
    GstClockTime last;   /* of the last picture; NONE: there is none */
    GQueue pictures;     /* Picture, the oldest first */
    guint64 bytes, lost;
};

static void free_picture(gpointer data)
{
    Picture *picture = data;

    g_free(picture->name);
    g_free(picture);
}

static void free_sample(gpointer data)
{
    gst_sample_unref(data);
}

/* ---- Files */

static void forget_oldest(Album *album)
{
    Picture *picture = g_queue_pop_head(&album->pictures);
    gchar *path = g_build_filename(album->folder, picture->name, NULL);

    g_unlink(path);
    album->bytes -= picture->bytes;
    g_free(path);
    free_picture(picture);
}

/* Needs the lock. */
static void note_picture(Album *album, gchar *name, guint64 bytes, gint64 made)
{
    Picture *picture = g_new(Picture, 1);

    *picture = (Picture) {.name = name, .bytes = bytes, .made = made};
    g_queue_push_tail(&album->pictures, picture);
    album->bytes += bytes;
}

static void forget(Album *album)
{
    while (album->pictures.length &&
        (album->bytes > album->most || album->pictures.length > MOST_PICTURES))
        forget_oldest(album);
}

static gint compare(gconstpointer a, gconstpointer b, gpointer user)
{
    const Picture *x = a, *y = b;

    return x->made < y->made ? -1 : x->made > y->made;
}

/* What a program that was killed has left half written goes. */
static void find_pictures(Album *album)
{
    GDir *dir = g_dir_open(album->folder, 0, NULL);
    const gchar *name;

    while (dir && (name = g_dir_read_name(dir))) {
        gchar *path = g_build_filename(album->folder, name, NULL);
        GStatBuf info;

        if (strstr(name, ENDING ".") && !g_str_has_suffix(name, ENDING))
            g_unlink(path);
        else if (g_str_has_suffix(name, ENDING) && !g_lstat(path, &info))
            note_picture(album, g_strdup(name), (guint64) info.st_size,
                (gint64) info.st_mtim.tv_sec * G_USEC_PER_SEC + info.st_mtim.tv_nsec / 1000);
        g_free(path);
    }
    g_clear_pointer(&dir, g_dir_close);
    g_queue_sort(&album->pictures, compare, NULL);
    forget(album);
}

gchar *album_name_picture(const gchar *run, GstClockTime time)
{
    return g_strdup_printf("%s.%020" G_GUINT64_FORMAT ENDING, run, time);
}

static gboolean write_picture(Album *album, const gchar *name, GBytes *jpeg, GError **error)
{
    gchar *path = g_build_filename(album->folder, name, NULL);
    gboolean ok;

    g_mkdir_with_parents(album->folder, 0700);
    ok = g_file_set_contents_full(path, g_bytes_get_data(jpeg, NULL),
        (gssize) g_bytes_get_size(jpeg), G_FILE_SET_CONTENTS_CONSISTENT, 0600, error);
    g_free(path);
    return ok;
}

/* ---- Frames */

/* Needs the lock. */
static gboolean is_due(const Album *album, GstClockTime time)
{
    return !GST_CLOCK_TIME_IS_VALID(album->last) || time < album->last ||
        time - album->last >= album->every;
}

/* With its caps: at the end of the pipeline the pad has none any more. */
static void hold(Album *album, GstBuffer *buffer)
{
    GstBuffer *copy = gst_buffer_copy_deep(buffer);
    GstCaps *caps = gst_pad_get_current_caps(album->pad);
    const gsize most = MOST_HELD_BYTES / MAX(gst_buffer_get_size(buffer), 1);

    g_queue_push_tail(&album->held, gst_sample_new(copy, caps, NULL, NULL));
    gst_buffer_unref(copy);
    gst_clear_caps(&caps);
    while (album->held.length > CLAMP(most, 2, MOST_HELD))
        gst_sample_unref(g_queue_pop_head(&album->held));
}

/* A streaming thread. */
static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    Album *album = data;

    g_mutex_lock(&album->lock);
    if (g_get_monotonic_time() - album->asked > PATIENCE_US)
        g_queue_clear_full(&album->held, free_sample);
    else if (!GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_GAP) &&
        is_due(album, GST_BUFFER_PTS(buffer)))
        hold(album, buffer);
    g_mutex_unlock(&album->lock);
    return GST_PAD_PROBE_OK;
}

/* NULL: it is not held, or none is due. */
static GstSample *find_frame(Album *album, GstClockTime time)
{
    GstSample *found = NULL;
    GList *at;

    g_mutex_lock(&album->lock);
    album->asked = g_get_monotonic_time();
    for (at = is_due(album, time) ? album->held.head : NULL; at && !found; at = at->next)
        if (GST_BUFFER_PTS(gst_sample_get_buffer(at->data)) == time)
            found = gst_sample_ref(at->data);
    if (found) {
        album->last = time;
        g_queue_clear_full(&album->held, free_sample);
    }
    g_mutex_unlock(&album->lock);
    return found;
}

static void note_failure(Album *album, const GError *error)
{
    if (!album->failing)
        log_warning("pictures-lost", "camera", G_TYPE_STRING, album->camera, "why", G_TYPE_STRING,
            error ? error->message : "the frame cannot be read", NULL);
    album->failing = TRUE;
    g_mutex_lock(&album->lock);
    album->lost++;
    g_mutex_unlock(&album->lock);
}

void album_take(Album *album, const gchar *run, GstClockTime time)
{
    GstSample *frame = find_frame(album, time);
    gchar *name = frame ? album_name_picture(run, time) : NULL;
    GError *error = NULL;
    GBytes *jpeg;

    if (!frame)
        return;
    jpeg = small_encode(frame, &error);
    if (jpeg && write_picture(album, name, jpeg, &error)) {
        album->failing = FALSE;
        g_mutex_lock(&album->lock);
        note_picture(album, g_steal_pointer(&name), g_bytes_get_size(jpeg), g_get_real_time());
        forget(album);
        g_mutex_unlock(&album->lock);
    } else {
        note_failure(album, error);
    }
    g_clear_error(&error);
    g_clear_pointer(&jpeg, g_bytes_unref);
    g_free(name);
    gst_sample_unref(frame);
}

/* ---- */

Album *album_new(const gchar *folder, const gchar *camera, guint64 most, GstClockTime every)
{
    Album *album = g_new0(Album, 1);
    gchar *name = g_strconcat(camera, ".pictures", NULL);

    g_mutex_init(&album->lock);
    g_queue_init(&album->held);
    g_queue_init(&album->pictures);
    album->folder = g_build_filename(folder, name, NULL);
    album->camera = g_strdup(camera);
    album->most = most;
    album->every = every;
    album->last = GST_CLOCK_TIME_NONE;
    album->asked = -PATIENCE_US;
    g_free(name);
    find_pictures(album);
    return album;
}

void album_watch(Album *album, GstPad *pad)
{
    album->pad = gst_object_ref(pad);
    album->probe = gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, album, NULL);
}

void album_free(Album *album)
{
    if (album->pad) {
        gst_pad_remove_probe(album->pad, album->probe);
        gst_object_unref(album->pad);
    }
    g_queue_clear_full(&album->held, free_sample);
    g_queue_clear_full(&album->pictures, free_picture);
    g_mutex_clear(&album->lock);
    g_free(album->folder);
    g_free(album->camera);
    g_free(album);
}

void album_get_stats(Album *album, AlbumStats *stats)
{
    g_mutex_lock(&album->lock);
    *stats = (AlbumStats) {.pictures = album->pictures.length, .bytes = album->bytes,
        .lost = album->lost};
    g_mutex_unlock(&album->lock);
}

guint64 album_get_most(const Album *album)
{
    return album->most;
}

const gchar *album_get_folder(const Album *album)
{
    return album->folder;
}
