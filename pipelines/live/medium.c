/* SPDX-License-Identifier: MIT */
#include "medium.h"

#define HELD "samtrack-held" /* data of a client */
#define DESCRIBED "samtrack-described" /* data of a client that a stream was described to */
#define LEAVING_US (5 * G_USEC_PER_SEC)
#define PAUSE_US 2000

struct Media {
    GstRTSPServer *server;
    GMutex lock;
    GPtrArray *made; /* GWeakRef, of each GstRTSPMedia; guarded by lock */
    gboolean ended;  /* guarded by lock */
};

static void release(gpointer data)
{
    gst_rtsp_media_unprepare(data);
    g_object_unref(data);
}

static void free_weak(gpointer data)
{
    g_weak_ref_clear(data);
    g_free(data);
}

/* Needs the lock. References to those that there are; what is left of others goes. */
static GPtrArray *list(Media *media)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(g_object_unref);
    guint i = 0;

    while (i < media->made->len) {
        GstRTSPMedia *one = g_weak_ref_get(g_ptr_array_index(media->made, i));

        if (one) {
            g_ptr_array_add(all, one);
            i++;
        } else {
            g_ptr_array_remove_index_fast(media->made, i);
        }
    }
    return all;
}

void media_add(Media *media, GstRTSPMedia *one)
{
    GWeakRef *weak = g_new(GWeakRef, 1);
    GPtrArray *all;

    g_weak_ref_init(weak, one);
    g_mutex_lock(&media->lock);
    all = list(media);
    g_ptr_array_add(media->made, weak);
    g_mutex_unlock(&media->lock);
    g_ptr_array_unref(all);
}

/* FALSE: nobody may wait any more. */
static gboolean may_wait(Media *media)
{
    gboolean may;

    g_mutex_lock(&media->lock);
    may = !media->ended;
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
        may = one && may_wait(media);
        if (may) {
            ok = prepare(media, one, context);
            may = may_wait(media);
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
    g_object_set_data(G_OBJECT(client), DESCRIBED, client);
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

static void unprepare(gpointer one, gpointer data)
{
    gst_rtsp_media_unprepare(one);
}

gboolean media_may_set_up(GstRTSPContext *context)
{
    return context->session || g_object_get_data(G_OBJECT(context->client), DESCRIBED);
}

Media *media_new(GstRTSPServer *server)
{
    Media *media = g_new0(Media, 1);

    media->server = server;
    g_mutex_init(&media->lock);
    media->made = g_ptr_array_new_with_free_func(free_weak);
    return media;
}

void media_end(Media *media)
{
    g_mutex_lock(&media->lock);
    media->ended = TRUE;
    g_mutex_unlock(&media->lock);
}

void media_let_go(Media *media)
{
    GPtrArray *all;

    g_mutex_lock(&media->lock);
    all = list(media);
    g_mutex_unlock(&media->lock);
    g_ptr_array_foreach(all, unprepare, NULL);
    g_ptr_array_unref(all);
}

void media_free(Media *media)
{
    g_ptr_array_unref(media->made);
    g_mutex_clear(&media->lock);
    g_free(media);
}
