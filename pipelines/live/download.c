/* SPDX-License-Identifier: MIT */
#include "download.h"

#include "journal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MOST 4 /* files at a time: each takes room on the disk */
#define CHUNK 65536

struct Downloads {
    GPtrArray *list; /* Download */
};

/* An answer: the file is made, then it is sent. */
typedef struct {
    Downloads *downloads;
    Room *room;
    AnnotationsForm form;
    SoupServerMessage *message;
    GCancellable *cancellable;
    gboolean making, gone;
    gint fd;
    guint64 at, bytes;
} Download;

static void refuse(SoupServerMessage *message, guint status, const gchar *why)
{
    soup_server_message_set_status(message, status, NULL);
    soup_server_message_set_response(message, "text/plain; charset=utf-8", SOUP_MEMORY_COPY, why,
        strlen(why));
}

static void free_download(gpointer data)
{
    Download *download = data;

    if (download->fd >= 0)
        close(download->fd);
    g_signal_handlers_disconnect_by_data(download->message, download);
    g_object_unref(download->message);
    g_object_unref(download->cancellable);
    g_free(download);
}

/* Once its thread has ended and the client has it all, or has left. */
static void end(Download *download)
{
    if (download->gone && !download->making)
        g_ptr_array_remove_fast(download->downloads->list, download);
}

static void on_finished(SoupServerMessage *message, gpointer data)
{
    Download *download = data;

    download->gone = TRUE;
    g_cancellable_cancel(download->cancellable);
    end(download);
}

static void send_chunk(Download *download)
{
    SoupMessageBody *body = soup_server_message_get_response_body(download->message);
    guchar *chunk = g_malloc(CHUNK);
    gssize n = pread(download->fd, chunk, MIN(CHUNK, download->bytes - download->at),
        download->at);

    if (n < 0)
        log_warning("download-failed", "camera", G_TYPE_STRING,
            camera_get_name(download->room->camera), "why", G_TYPE_STRING, g_strerror(errno), NULL);
    if (n > 0) {
        download->at += n;
        soup_message_body_append_take(body, chunk, n);
    } else {
        /* With less than its Content-Length the client knows that it is not whole. */
        g_free(chunk);
        soup_message_body_complete(body);
    }
    soup_server_message_unpause(download->message);
}

static void on_wrote_chunk(SoupServerMessage *message, gpointer data)
{
    send_chunk(data);
}

static void send_head(Download *download)
{
    static const gchar *const ends[] = {[ANNOTATIONS_LINES] = "jsonl", [ANNOTATIONS_COCO] = "json",
        [ANNOTATIONS_COCO_VIDEO] = "video.json", [ANNOTATIONS_COCO_SET] = "coco.zip",
        [ANNOTATIONS_YOLO_SET] = "yolo.zip", [ANNOTATIONS_DAVIS_SET] = "davis.zip"};
    static const gchar *const types[] = {[ANNOTATIONS_LINES] = "application/x-ndjson",
        [ANNOTATIONS_COCO] = "application/json", [ANNOTATIONS_COCO_VIDEO] = "application/json",
        [ANNOTATIONS_COCO_SET] = "application/zip", [ANNOTATIONS_YOLO_SET] = "application/zip",
        [ANNOTATIONS_DAVIS_SET] = "application/zip"};
    SoupMessageHeaders *headers =
        soup_server_message_get_response_headers(download->message);
    gchar *as = g_strdup_printf("attachment; filename=\"%s.%s\"",
        camera_get_name(download->room->camera), ends[download->form]);

    soup_server_message_set_status(download->message, SOUP_STATUS_OK, NULL);
    soup_message_headers_set_content_type(headers, types[download->form], NULL);
    soup_message_headers_replace(headers, "Content-Disposition", as);
    soup_message_headers_set_content_length(headers, download->bytes);
    soup_message_body_set_accumulate(soup_server_message_get_response_body(download->message),
        FALSE);
    g_free(as);
}

static void on_made(GObject *object, GAsyncResult *result, gpointer data)
{
    Download *download = data;
    GError *error = NULL;

    download->making = FALSE;
    download->fd = annotations_make_finish(result, &download->bytes, &error);
    if (download->gone) {
        g_clear_error(&error);
        end(download);
        return;
    }
    if (error) {
        log_warning("download-failed", "camera", G_TYPE_STRING,
            camera_get_name(download->room->camera), "why", G_TYPE_STRING, error->message, NULL);
        refuse(download->message, SOUP_STATUS_INSUFFICIENT_STORAGE, error->message);
        g_error_free(error);
        soup_server_message_unpause(download->message);
        return;
    }
    send_head(download);
    g_signal_connect(download->message, "wrote-chunk", G_CALLBACK(on_wrote_chunk), download);
    send_chunk(download);
}

Downloads *downloads_new(void)
{
    Downloads *downloads = g_new0(Downloads, 1);

    downloads->list = g_ptr_array_new_with_free_func(free_download);
    return downloads;
}

static void start(Downloads *downloads, Room *room, AnnotationsForm form,
    SoupServerMessage *message)
{
    GHashTable *names = objects_copy_names(room->objects);
    Download *download = g_new0(Download, 1);

    *download = (Download) {.downloads = downloads, .room = room, .form = form, .making = TRUE,
        .message = g_object_ref(message), .cancellable = g_cancellable_new(), .fd = -1};
    g_ptr_array_add(downloads->list, download);
    g_signal_connect(message, "finished", G_CALLBACK(on_finished), download);
    soup_server_message_pause(message);
    annotations_make(room->annotations, form, names, download->cancellable, on_made, download);
    g_hash_table_unref(names);
}

/* An archive has no frames without pictures. */
static gboolean lacks_pictures(const Room *room, AnnotationsForm form)
{
    AlbumStats stats = {0};

    if (form != ANNOTATIONS_COCO_SET && form != ANNOTATIONS_YOLO_SET &&
        form != ANNOTATIONS_DAVIS_SET)
        return FALSE;
    if (room->album)
        album_get_stats(room->album, &stats);
    return !stats.pictures;
}

void downloads_serve(Downloads *downloads, Room *room, AnnotationsForm form,
    SoupServerMessage *message)
{
    AnnotationsStats stats = {0};

    if (room->annotations)
        annotations_get_stats(room->annotations, &stats);
    if (!stats.frames)
        refuse(message, SOUP_STATUS_SERVICE_UNAVAILABLE, room->annotations ?
            "Nothing was tracked yet.\n" : "No annotations are kept.\n");
    else if (lacks_pictures(room, form))
        refuse(message, SOUP_STATUS_SERVICE_UNAVAILABLE, room->album ?
            "There is no picture of a tracked frame yet.\n" : "No pictures are kept.\n");
    else if (downloads->list->len >= MOST)
        refuse(message, SOUP_STATUS_SERVICE_UNAVAILABLE,
            "Too many downloads are under way: try again in a while.\n");
    else
        start(downloads, room, form, message);
}

gboolean downloads_are_of(Downloads *downloads, const Room *room)
{
    guint i;

    for (i = 0; i < downloads->list->len; i++)
        if (((Download *) g_ptr_array_index(downloads->list, i))->room == room)
            return TRUE;
    return FALSE;
}

static gboolean is_making(Downloads *downloads)
{
    guint i;

    for (i = 0; i < downloads->list->len; i++)
        if (((Download *) g_ptr_array_index(downloads->list, i))->making)
            return TRUE;
    return FALSE;
}

void downloads_free(Downloads *downloads)
{
    guint i;

    for (i = 0; i < downloads->list->len; i++)
        g_cancellable_cancel(((Download *) g_ptr_array_index(downloads->list, i))->cancellable);
    while (is_making(downloads))
        g_main_context_iteration(NULL, TRUE);
    g_ptr_array_unref(downloads->list);
    g_free(downloads);
}
