/* SPDX-License-Identifier: MIT */
#include "clips.h"

#include "journal.h"
#include "reason.h"

#include <glib/gstdio.h>
#include <gst/app/gstappsrc.h>
#include <string.h>

#define AROUND (5 * GST_SECOND)   /* before an event, and behind it */
#define LONGEST (30 * GST_SECOND) /* of a clip: events beyond begin another one */
#define MOST_HELD (32 << 20)      /* bytes of encoded frames, of what passes and of a clip each */
#define KEY_EVERY (2 * GST_SECOND) /* a clip begins with a key frame */
#define WRITE_TIME (10 * GST_SECOND)
#define ENDING ".mp4"

/* Encoded frames, the oldest first, with running times as time stamps. */
typedef struct {
    GQueue frames; /* GstBuffer */
    gsize bytes;
} Stretch;

typedef struct {
    guint64 first, last; /* numbers of events */
    GstClockTime from, to;
    Stretch video; /* from a key frame on */
    GstCaps *caps;
} Clip;

/* A file. */
typedef struct {
    guint64 first, last, bytes;
} Kept;

struct Clips {
    gchar *folder, *camera;
    guint64 most;
    Output *video;
    guint id;
    GThreadPool *pool;
    gboolean failing; /* of the pool's one thread */

    GMutex lock;        /* guards what follows */
    Stretch passing;    /* from a key frame on */
    GstClockTime asked; /* when a key frame was asked for */
    GstCaps *caps;
    Clip *open;         /* NULL: there is none */
    GArray *kept;       /* Kept, the oldest first */
    guint64 bytes;
};

/* ---- Frames */

static gboolean is_key(const GstBuffer *buffer)
{
    return !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
}

static void add_frame(Stretch *stretch, GstBuffer *buffer)
{
    g_queue_push_tail(&stretch->frames, gst_buffer_ref(buffer));
    stretch->bytes += gst_buffer_get_size(buffer);
}

static void add_next(Stretch *stretch, GstBuffer *buffer)
{
    if (is_key(buffer) || stretch->frames.length)
        add_frame(stretch, buffer);
}

static void drop_frame(Stretch *stretch)
{
    GstBuffer *buffer = g_queue_pop_head(&stretch->frames);

    stretch->bytes -= gst_buffer_get_size(buffer);
    gst_buffer_unref(buffer);
}

/* Up to the last key frame at or before that time. */
static void drop_before(Stretch *stretch, GstClockTime time)
{
    GList *at, *key = NULL;

    for (at = stretch->frames.head; at && GST_BUFFER_PTS(at->data) <= time; at = at->next)
        if (is_key(at->data))
            key = at;
    while (key && stretch->frames.head != key)
        drop_frame(stretch);
}

static void clear(Stretch *stretch)
{
    while (stretch->frames.length)
        drop_frame(stretch);
}

static void free_clip(Clip *clip)
{
    clear(&clip->video);
    gst_clear_caps(&clip->caps);
    g_free(clip);
}

/* Needs the lock. */
static void end_clip(Clips *clips)
{
    gst_caps_replace(&clips->open->caps, clips->caps);
    g_thread_pool_push(clips->pool, g_steal_pointer(&clips->open), NULL);
}

/* The thread of the encoder: must not wait. */
static void on_frame(GstSample *sample, gpointer data)
{
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    const GstClockTime time = GST_BUFFER_PTS(buffer);
    Clips *clips = data;

    if (!GST_CLOCK_TIME_IS_VALID(time))
        return;
    g_mutex_lock(&clips->lock);
    gst_caps_replace(&clips->caps, gst_sample_get_caps(sample));
    add_next(&clips->passing, buffer);
    drop_before(&clips->passing, time > AROUND ? time - AROUND : 0);
    while (clips->passing.bytes > MOST_HELD)
        drop_frame(&clips->passing);
    if (clips->open && (time > clips->open->to || clips->open->video.bytes > MOST_HELD))
        end_clip(clips);
    else if (clips->open)
        add_next(&clips->open->video, buffer);
    if (is_key(buffer))
        clips->asked = time;
    if (time - clips->asked > KEY_EVERY) {
        clips->asked = time;
        output_request_key(clips->video);
    }
    g_mutex_unlock(&clips->lock);
}

/* Needs the lock. With what has passed since. */
static void begin_clip(Clips *clips, guint64 number, GstClockTime time)
{
    Clip *clip = g_new0(Clip, 1);
    GList *at;

    *clip = (Clip) {.first = number, .last = number, .from = time > AROUND ? time - AROUND : 0,
        .to = time + AROUND};
    g_queue_init(&clip->video.frames);
    for (at = clips->passing.frames.head; at; at = at->next)
        add_frame(&clip->video, at->data);
    drop_before(&clip->video, clip->from);
    while (clip->video.frames.length && !is_key(clip->video.frames.head->data))
        drop_frame(&clip->video);
    clips->open = clip;
}

void clips_note(Clips *clips, guint64 number, GstClockTime time)
{
    g_mutex_lock(&clips->lock);
    if (clips->open && time + AROUND > clips->open->from + LONGEST)
        end_clip(clips);
    if (clips->open) {
        clips->open->last = number;
        clips->open->to = MAX(clips->open->to, time + AROUND);
    } else {
        begin_clip(clips, number, time);
    }
    g_mutex_unlock(&clips->lock);
}

/* ---- Files. The pool's thread, but for finding those of before */

static gchar *get_path(const Clips *clips, const Kept *kept)
{
    return g_strdup_printf("%s/%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT ENDING, clips->folder,
        kept->first, kept->last);
}

static void forget(Clips *clips)
{
    while (clips->kept->len && clips->bytes > clips->most) {
        const Kept *oldest = &g_array_index(clips->kept, Kept, 0);
        gchar *path = get_path(clips, oldest);

        g_unlink(path);
        g_free(path);
        clips->bytes -= oldest->bytes;
        g_array_remove_index(clips->kept, 0);
    }
}

/* Its time begins with its first frame. There are no B-frames. */
static void push_frames(GstAppSrc *src, Clip *clip)
{
    const GstClockTime start = GST_BUFFER_PTS(clip->video.frames.head->data);
    GList *at;

    for (at = clip->video.frames.head; at; at = at->next) {
        GstBuffer *buffer = gst_buffer_copy(at->data);

        GST_BUFFER_PTS(buffer) = GST_BUFFER_DTS(buffer) = GST_BUFFER_PTS(buffer) - start;
        if (at->next)
            GST_BUFFER_DURATION(buffer) = GST_BUFFER_PTS(at->next->data) - GST_BUFFER_PTS(at->data);
        gst_app_src_push_buffer(src, buffer);
    }
    gst_app_src_end_of_stream(src);
}

/* NULL: it is written; else a sentence, owned by the caller. */
static gchar *mux(Clip *clip, const gchar *path)
{
    GError *error = NULL;
    GstElement *pipeline = gst_parse_launch_full("appsrc name=src format=time max-bytes=0 "
        "! h264parse ! mp4mux faststart=true ! filesink name=sink", NULL,
        GST_PARSE_FLAG_FATAL_ERRORS, &error), *src, *sink;
    GstMessage *message;
    gchar *why = NULL;
    GstBus *bus;

    if (!pipeline) {
        why = g_strdup(error->message);
        g_error_free(error);
        return why;
    }
    src = gst_bin_get_by_name(GST_BIN(pipeline), "src");
    sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    g_object_set(sink, "location", path, NULL);
    gst_app_src_set_caps(GST_APP_SRC(src), clip->caps);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    push_frames(GST_APP_SRC(src), clip);
    bus = gst_element_get_bus(pipeline);
    message = gst_bus_timed_pop_filtered(bus, WRITE_TIME, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    if (!message)
        why = g_strdup("it takes too long");
    else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
        why = reason_of_message(message);
    gst_clear_message(&message);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(sink);
    gst_object_unref(src);
    gst_object_unref(pipeline);
    return why;
}

static void note_kept(Clips *clips, Kept kept)
{
    g_mutex_lock(&clips->lock);
    g_array_append_val(clips->kept, kept);
    clips->bytes += kept.bytes;
    forget(clips);
    g_mutex_unlock(&clips->lock);
}

/* It gets its name when it is whole. */
static void write_clip(gpointer data, gpointer user)
{
    Clip *clip = data;
    Clips *clips = user;
    Kept kept = {.first = clip->first, .last = clip->last};
    gchar *path = get_path(clips, &kept), *part = g_strconcat(path, ".part", NULL), *why;
    GStatBuf info;

    g_mkdir_with_parents(clips->folder, 0700);
    why = clip->video.frames.length ? mux(clip, part) : g_strdup("there is no video");
    if (!why && (g_stat(part, &info) || g_rename(part, path)))
        why = g_strdup("the file is gone");
    if (!why) {
        kept.bytes = (guint64) info.st_size;
        note_kept(clips, kept);
    } else {
        g_unlink(part);
        if (!clips->failing)
            log_warning("clip-lost", "camera", G_TYPE_STRING, clips->camera, "why", G_TYPE_STRING,
                why, NULL);
    }
    clips->failing = why != NULL;
    g_free(why);
    g_free(part);
    g_free(path);
    free_clip(clip);
}

static gint compare(gconstpointer a, gconstpointer b)
{
    const Kept *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/* FALSE: it is another file. */
static gboolean read_name(const gchar *name, Kept *kept)
{
    gchar **parts = g_strsplit(name, "-", 3);
    gchar *end = parts[0] && parts[1] ? strstr(parts[1], ENDING) : NULL;
    gboolean ok = end && !strcmp(end, ENDING) && !parts[2];

    if (ok) {
        *end = 0;
        ok = g_ascii_string_to_unsigned(parts[0], 10, 1, G_MAXINT64, &kept->first, NULL) &&
            g_ascii_string_to_unsigned(parts[1], 10, kept->first, G_MAXINT64, &kept->last, NULL);
    }
    g_strfreev(parts);
    return ok;
}

/* What a program that was killed has left half written goes. */
static void find_clips(Clips *clips)
{
    GDir *dir = g_dir_open(clips->folder, 0, NULL);
    const gchar *name;

    while (dir && (name = g_dir_read_name(dir))) {
        gchar *path = g_build_filename(clips->folder, name, NULL);
        Kept kept = {0};
        GStatBuf info;

        if (g_str_has_suffix(name, ENDING ".part"))
            g_unlink(path);
        else if (read_name(name, &kept) && !g_lstat(path, &info)) {
            kept.bytes = (guint64) info.st_size;
            clips->bytes += kept.bytes;
            g_array_append_val(clips->kept, kept);
        }
        g_free(path);
    }
    g_clear_pointer(&dir, g_dir_close);
    g_array_sort(clips->kept, compare);
    forget(clips);
}

/* ---- */

Clips *clips_new(const gchar *folder, const gchar *camera, Output *video, guint64 most)
{
    Clips *clips = g_new0(Clips, 1);
    gchar *name = g_strconcat(camera, ".clips", NULL);

    g_mutex_init(&clips->lock);
    g_queue_init(&clips->passing.frames);
    clips->folder = g_build_filename(folder, name, NULL);
    clips->camera = g_strdup(camera);
    clips->most = most;
    clips->kept = g_array_new(FALSE, FALSE, sizeof(Kept));
    g_free(name);
    find_clips(clips);
    clips->pool = g_thread_pool_new(write_clip, clips, 1, FALSE, NULL);
    clips->video = video;
    clips->id = output_subscribe(video, on_frame, clips);
    return clips;
}

void clips_free(Clips *clips)
{
    output_unsubscribe(clips->video, clips->id);
    if (clips->open)
        end_clip(clips);
    g_thread_pool_free(clips->pool, FALSE, TRUE);
    clear(&clips->passing);
    gst_clear_caps(&clips->caps);
    g_array_unref(clips->kept);
    g_mutex_clear(&clips->lock);
    g_free(clips->folder);
    g_free(clips->camera);
    g_free(clips);
}

/* FALSE: there is none. */
static gboolean find(Clips *clips, guint64 number, Kept *kept)
{
    gboolean found = FALSE;
    guint i;

    g_mutex_lock(&clips->lock);
    for (i = clips->kept->len; i && !found; i--) {
        *kept = g_array_index(clips->kept, Kept, i - 1);
        found = kept->first <= number && number <= kept->last;
    }
    g_mutex_unlock(&clips->lock);
    return found;
}

gboolean clips_have(Clips *clips, guint64 number)
{
    Kept kept;

    return find(clips, number, &kept);
}

GBytes *clips_read(Clips *clips, guint64 number)
{
    Kept kept;
    gchar *path = find(clips, number, &kept) ? get_path(clips, &kept) : NULL;
    GMappedFile *file = path ? g_mapped_file_new(path, FALSE, NULL) : NULL;
    GBytes *bytes = file ? g_mapped_file_get_bytes(file) : NULL;

    g_clear_pointer(&file, g_mapped_file_unref);
    g_free(path);
    return bytes;
}

guint64 clips_get_bytes(Clips *clips)
{
    guint64 bytes;

    g_mutex_lock(&clips->lock);
    bytes = clips->bytes;
    g_mutex_unlock(&clips->lock);
    return bytes;
}
