#include "rtsp.h"

#include "feed.h"
#include "journal.h"

#include <gst/rtsp-server/rtsp-server.h>

#define SESSIONS "samtrack-sessions" /* data of a client: those that it began */
#define USER "viewer" /* the token is its password */
#define CLEANUP_S 1
#define BACKLOG 128 /* connections that wait for the main loop */
#define LAUNCH "( appsrc name=src is-live=true format=time max-bytes=0 " \
    "! rtph264pay name=pay0 pt=96 config-interval=-1 aggregate-mode=zero-latency )"

struct Rtsp {
    GstRTSPServer *server;
    GstRTSPSessionPool *sessions;
    const Settings *settings;
    guint attached, cleanup;
    guint open; /* connections; atomic */

    GMutex lock;              /* guards what follows */
    GPtrArray *gone, *closed; /* clients: before and since the last clean-up */
};

static GTlsCertificate *load_certificate(const Settings *settings, GError **error)
{
    return g_tls_certificate_new_from_files(settings->tls_certificate, settings->tls_key, error);
}

/* Every request needs the token. */
static GstRTSPAuth *new_auth(const Settings *settings, GTlsCertificate *certificate)
{
    GstRTSPAuth *auth = gst_rtsp_auth_new();
    GstRTSPToken *token = gst_rtsp_token_new(GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE, G_TYPE_STRING, USER,
        NULL);
    gchar *basic = gst_rtsp_auth_make_basic(USER, settings->token);

    gst_rtsp_auth_add_basic(auth, basic, token);
    gst_rtsp_auth_add_digest(auth, USER, settings->token, token);
    gst_rtsp_auth_set_supported_methods(auth, GST_RTSP_AUTH_BASIC);
    if (certificate)
        gst_rtsp_auth_set_tls_certificate(auth, certificate);
    g_free(basic);
    gst_rtsp_token_unref(token);
    return auth;
}

/* A session outlives its connection by a minute, and would take the place of another viewer. */
static void remove_sessions(Rtsp *rtsp, GPtrArray *sessions)
{
    guint i;

    for (i = 0; i < sessions->len; i++)
        gst_rtsp_session_pool_remove(rtsp->sessions, g_ptr_array_index(sessions, i));
}

/* When a frame cannot be sent, gst-rtsp-server 1.22 lets the main loop of the client's thread close
 * the client, without a reference to it. By then the client may be gone and a new one have its
 * address, which would be closed in its place. So those that may have been sent frames are kept for
 * a while. */
static void keep(Rtsp *rtsp, GstRTSPClient *client)
{
    g_mutex_lock(&rtsp->lock);
    g_ptr_array_add(rtsp->closed, g_object_ref(client));
    g_mutex_unlock(&rtsp->lock);
}

static void on_closed(GstRTSPClient *client, gpointer data)
{
    GPtrArray *sessions = g_object_get_data(G_OBJECT(client), SESSIONS);
    Rtsp *rtsp = data;

    if (sessions->len)
        keep(rtsp, client);
    remove_sessions(rtsp, sessions);
    g_ptr_array_set_size(sessions, 0);
    log_info("rtsp-closed", "open", G_TYPE_INT, g_atomic_int_add(&rtsp->open, -1) - 1, NULL);
}

/* One viewer more: he can see nothing before a key frame. */
static void on_play(GstRTSPClient *client, GstRTSPContext *context, gpointer data)
{
    Output *output = context->media ? g_object_get_data(G_OBJECT(context->media), "output") : NULL;

    if (output)
        output_request_key(output);
}

static void on_session(GstRTSPClient *client, GstRTSPSession *session, gpointer data)
{
    g_ptr_array_add(g_object_get_data(G_OBJECT(client), SESSIONS), g_object_ref(session));
}

static void on_client(GstRTSPServer *server, GstRTSPClient *client, gpointer data)
{
    GstRTSPConnection *connection = gst_rtsp_client_get_connection(client);
    Rtsp *rtsp = data;
    const gint open = g_atomic_int_add(&rtsp->open, 1) + 1;

    g_object_set_data_full(G_OBJECT(client), SESSIONS,
        g_ptr_array_new_with_free_func(g_object_unref), (GDestroyNotify) g_ptr_array_unref);
    g_signal_connect(client, "new-session", G_CALLBACK(on_session), NULL);
    g_signal_connect(client, "closed", G_CALLBACK(on_closed), rtsp);
    g_signal_connect(client, "play-request", G_CALLBACK(on_play), NULL);
    log_info("rtsp-opened", "peer", G_TYPE_STRING, gst_rtsp_connection_get_ip(connection),
        "open", G_TYPE_INT, open, NULL);
    /* A connection may have a session less; twice as many are enough. */
    if (open > 2 * rtsp->settings->max_viewers) {
        log_warning("rtsp-full", "most", G_TYPE_INT, 2 * rtsp->settings->max_viewers, NULL);
        gst_rtsp_client_close(client);
    }
}

static gboolean clean_up(gpointer data)
{
    Rtsp *rtsp = data;
    GPtrArray *gone;

    gst_rtsp_session_pool_cleanup(rtsp->sessions);
    g_mutex_lock(&rtsp->lock);
    gone = rtsp->gone;
    rtsp->gone = rtsp->closed;
    rtsp->closed = g_ptr_array_new_with_free_func(g_object_unref);
    g_mutex_unlock(&rtsp->lock);
    g_ptr_array_unref(gone);
    return G_SOURCE_CONTINUE;
}

Rtsp *rtsp_new(const Settings *settings, GError **error)
{
    GTlsCertificate *certificate = NULL;
    gchar *port = g_strdup_printf("%d", settings->rtsp_port);
    Rtsp *rtsp = g_new0(Rtsp, 1);
    GstRTSPAuth *auth;

    rtsp->settings = settings;
    g_mutex_init(&rtsp->lock);
    rtsp->gone = g_ptr_array_new_with_free_func(g_object_unref);
    rtsp->closed = g_ptr_array_new_with_free_func(g_object_unref);
    rtsp->server = gst_rtsp_server_new();
    gst_rtsp_server_set_address(rtsp->server, settings->address);
    gst_rtsp_server_set_service(rtsp->server, port);
    gst_rtsp_server_set_backlog(rtsp->server, BACKLOG);
    g_free(port);
    rtsp->sessions = gst_rtsp_server_get_session_pool(rtsp->server);
    gst_rtsp_session_pool_set_max_sessions(rtsp->sessions, settings->max_viewers);
    if (settings->tls_certificate && !(certificate = load_certificate(settings, error))) {
        rtsp_free(rtsp);
        return NULL;
    }
    auth = new_auth(settings, certificate);
    gst_rtsp_server_set_auth(rtsp->server, auth);
    g_object_unref(auth);
    g_clear_object(&certificate);
    g_signal_connect(rtsp->server, "client-connected", G_CALLBACK(on_client), rtsp);
    rtsp->attached = gst_rtsp_server_attach(rtsp->server, NULL);
    if (!rtsp->attached) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
            "cannot listen for RTSP on %s port %d: "
            "the port is in use, or the address is not this machine's", settings->address,
                settings->rtsp_port);
        rtsp_free(rtsp);
        return NULL;
    }
    rtsp->cleanup = g_timeout_add_seconds(CLEANUP_S, clean_up, rtsp);
    return rtsp;
}

static void free_feed(gpointer feed)
{
    feed_free(feed);
}

static void on_unprepared(GstRTSPMedia *media, gpointer data)
{
    g_object_set_data(G_OBJECT(media), "feed", NULL);
}

/* The first viewer came: all viewers of the stream share this media. */
static void on_media(GstRTSPMediaFactory *factory, GstRTSPMedia *media, gpointer data)
{
    GstElement *bin = gst_rtsp_media_get_element(media);
    GstElement *appsrc = gst_bin_get_by_name(GST_BIN(bin), "src");

    g_signal_connect(media, "unprepared", G_CALLBACK(on_unprepared), NULL);
    g_object_set_data(G_OBJECT(media), "output", data);
    g_object_set_data_full(G_OBJECT(media), "feed", feed_new(data, appsrc, TRUE), free_feed);
    gst_object_unref(appsrc);
    gst_object_unref(bin);
}

static void add(Rtsp *rtsp, const gchar *stream, Camera *camera, Output *output)
{
    GstRTSPMountPoints *mounts = gst_rtsp_server_get_mount_points(rtsp->server);
    GstRTSPMediaFactory *factory = gst_rtsp_media_factory_new();
    gchar *path = g_strdup_printf("/%s/%s", stream, camera_get_name(camera));

    gst_rtsp_media_factory_set_launch(factory, LAUNCH);
    gst_rtsp_media_factory_set_shared(factory, TRUE);
    gst_rtsp_media_factory_set_latency(factory, 0);
    gst_rtsp_media_factory_add_role(factory, USER,
        GST_RTSP_PERM_MEDIA_FACTORY_ACCESS, G_TYPE_BOOLEAN, TRUE,
        GST_RTSP_PERM_MEDIA_FACTORY_CONSTRUCT, G_TYPE_BOOLEAN, TRUE, NULL);
    g_signal_connect(factory, "media-configure", G_CALLBACK(on_media), output);
    gst_rtsp_mount_points_add_factory(mounts, path, factory);
    g_object_unref(mounts);
    g_free(path);
}

void rtsp_add(Rtsp *rtsp, Camera *camera)
{
    add(rtsp, "annotated", camera, camera_get_annotated(camera));
    add(rtsp, "clean", camera, camera_get_clean(camera));
}

gint rtsp_get_port(Rtsp *rtsp)
{
    return gst_rtsp_server_get_bound_port(rtsp->server);
}

guint rtsp_get_sessions(Rtsp *rtsp)
{
    return gst_rtsp_session_pool_get_n_sessions(rtsp->sessions);
}

static GstRTSPFilterResult remove_client(GstRTSPServer *server, GstRTSPClient *client,
    gpointer data)
{
    return GST_RTSP_FILTER_REMOVE;
}

static GstRTSPFilterResult remove_session(GstRTSPSessionPool *pool, GstRTSPSession *session,
    gpointer data)
{
    return GST_RTSP_FILTER_REMOVE;
}

void rtsp_free(Rtsp *rtsp)
{
    GList *left;

    g_clear_handle_id(&rtsp->attached, g_source_remove);
    g_clear_handle_id(&rtsp->cleanup, g_source_remove);
    left = gst_rtsp_server_client_filter(rtsp->server, remove_client, NULL);
    g_list_free_full(left, g_object_unref);
    left = gst_rtsp_session_pool_filter(rtsp->sessions, remove_session, NULL);
    g_list_free_full(left, g_object_unref);
    g_object_unref(rtsp->server);
    gst_rtsp_thread_pool_cleanup(); /* waits for the threads of clients */
    g_ptr_array_unref(rtsp->gone);
    g_ptr_array_unref(rtsp->closed);
    g_object_unref(rtsp->sessions);
    g_mutex_clear(&rtsp->lock);
    g_free(rtsp);
}
