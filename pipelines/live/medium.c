/* SPDX-License-Identifier: MIT */
#include "medium.h"

#define HELD "samtrack-held" /* data of a client */
#define LEAVING_US (5 * G_USEC_PER_SEC)
#define PAUSE_US 2000

struct Media {
    GstRTSPServer *server;
    GMutex lock;
    GPtrArray *awaited; /* GstRTSPMedia, one for each client that waits; guarded by lock */
    gboolean ended;     /* guarded by lock */
};

static void release(gpointer data)
{
    gst_rtsp_media_unprepare(data);
    g_object_unref(data);
}

/* FALSE: nobody may wait any more. */
static gboolean begin_waiting(Media *media, GstRTSPMedia *one)
{
    gboolean may;

    g_mutex_lock(&media->lock);
    may = !media->ended;
    if (may)
        g_ptr_array_add(media->awaited, g_object_ref(one));
    g_mutex_unlock(&media->lock);
    return may;
}

/* FALSE: nobody may wait any more. */
static gboolean end_waiting(Media *media, GstRTSPMedia *one)
{
    gboolean may;

    g_mutex_lock(&media->lock);
    may = !media->ended;
    g_ptr_array_remove_fast(media->awaited, one);
    g_mutex_unlock(&media->lock);
    return may;
}

/* Returns when the stream's first frame is there; FALSE after 20 s without one. */
static gboolean prepare(Media *media, GstRTSPMedia *one, GstRTSPContext *context)
{
    GstRTSPThreadPool *pool = gst_rtsp_server_get_thread_pool(media->server);
    GstRTSPThread *thread = gst_rtsp_thread_pool_get_thread(pool, GST_RTSP_THREAD_TYPE_MEDIA,
        context);

    g_object_unref(pool);
    return thread && gst_rtsp_media_prepare(one, thread);
}

/* A media that is ready, and stays so until it is released; NULL if there is none. The last viewer
 * may just leave the one that there is, in another thread: soon the factory makes a new one. */
static GstRTSPMedia *hold(Media *media, GstRTSPMediaFactory *factory, GstRTSPContext *context)
{
    const gint64 end = g_get_monotonic_time() + LEAVING_US;
    gboolean ok = FALSE, may = TRUE;
    GstRTSPMedia *one = NULL;

    while (!ok && may && g_get_monotonic_time() < end) {
        if (one)
            g_usleep(PAUSE_US);
        g_clear_object(&one);
        one = gst_rtsp_media_factory_construct(factory, context->uri);
        may = one && begin_waiting(media, one);
        if (may) {
            ok = prepare(media, one, context);
            may = end_waiting(media, one);
            ok = ok && may;
        }
    }
    if (!ok)
        g_clear_object(&one);
    return one;
}

/* gst-rtsp-server 1.22 answers 503 where it finds a media that its last viewer leaves just then.
 * It finds the held one. */
static GstRTSPStatusCode on_ask(GstRTSPClient *client, GstRTSPContext *context, gpointer data)
{
    GstRTSPMountPoints *mounts = gst_rtsp_client_get_mount_points(client);
    gchar *path = gst_rtsp_mount_points_make_path(mounts, context->uri);
    GstRTSPMediaFactory *factory = path ? gst_rtsp_mount_points_match(mounts, path, NULL) : NULL;
    GstRTSPMedia *one = factory ? hold(data, factory, context) : NULL;
    const gboolean failed = factory && !one;

    g_object_set_data_full(G_OBJECT(client), HELD, one, release);
    g_clear_object(&factory);
    g_free(path);
    g_object_unref(mounts);
    return failed ? GST_RTSP_STS_SERVICE_UNAVAILABLE : GST_RTSP_STS_OK;
}

/* By now the client holds it, too. */
static void on_answered(GstRTSPClient *client, GstRTSPContext *context, gpointer data)
{
    g_object_set_data(G_OBJECT(client), HELD, NULL);
}

static void on_closed(GstRTSPClient *client, gpointer data)
{
    g_object_set_data(G_OBJECT(client), HELD, NULL);
}

void media_attend(Media *media, GstRTSPClient *client)
{
    g_signal_connect(client, "pre-describe-request", G_CALLBACK(on_ask), media);
    g_signal_connect(client, "describe-request", G_CALLBACK(on_answered), NULL);
    g_signal_connect(client, "closed", G_CALLBACK(on_closed), NULL);
}

Media *media_new(GstRTSPServer *server)
{
    Media *media = g_new0(Media, 1);

    media->server = server;
    g_mutex_init(&media->lock);
    media->awaited = g_ptr_array_new_with_free_func(g_object_unref);
    return media;
}

void media_end(Media *media)
{
    GPtrArray *awaited = g_ptr_array_new_with_free_func(g_object_unref);
    guint i;

    g_mutex_lock(&media->lock);
    media->ended = TRUE;
    for (i = 0; i < media->awaited->len; i++)
        g_ptr_array_add(awaited, g_object_ref(g_ptr_array_index(media->awaited, i)));
    g_mutex_unlock(&media->lock);
    for (i = 0; i < awaited->len; i++)
        gst_rtsp_media_unprepare(g_ptr_array_index(awaited, i));
    g_ptr_array_unref(awaited);
}

void media_free(Media *media)
{
    g_ptr_array_unref(media->awaited);
    g_mutex_clear(&media->lock);
    g_free(media);
}
