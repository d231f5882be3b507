/* SPDX-License-Identifier: MIT */
#include "rtsp.h"

#include "access.h"
#include "door.h"
#include "feed.h"
#include "journal.h"
#include "medium.h"

#include <fcntl.h>
#include <gst/rtsp-server/rtsp-server.h>
#include <unistd.h>

#define SESSIONS "samtrack-sessions" /* data of a client: those that it began */
#define GUEST "samtrack-guest" /* data of a socket, and of the client made for it */
#define OUTPUT "samtrack-output" /* data of a media: what its frames come from */
#define USER "viewer" /* the token is its password */
#define CLEANUP_S 1
#define PATIENCE 10 /* looks, 5 ms apart, before waiting clients are ended */
#define MAX_BODY 16384
#define BACKLOG 128 /* connections that wait for the main loop */
#define LAUNCH "( appsrc name=src is-live=true format=time max-bytes=0 " \
    "! rtph264pay name=pay0 pt=96 config-interval=-1 aggregate-mode=zero-latency )"

struct Rtsp {
    GstRTSPServer *server;
    GstRTSPSessionPool *sessions;
    GSocketService *listener;
    GTlsCertificate *certificate;
    const Settings *settings;
    Door *door;
    Media *media;
    guint warnings; /* the handler of GStreamer's */
    guint cleanup;
    gint port;

    GMutex lock;              /* guards what follows */
    GPtrArray *served;        /* Output, of the cameras that there are; no references */
    GPtrArray *gone, *closed; /* clients: before and since the last clean-up */
    Rate told;                /* of viewers in the log */
};

/* Every request but OPTIONS needs the token, before anything is looked up for it: whoever lacks it
 * does not learn which cameras there are. */
typedef GstRTSPAuth Lock;
typedef GstRTSPAuthClass LockClass;

GType lock_get_type(void);
G_DEFINE_TYPE(Lock, lock, GST_TYPE_RTSP_AUTH)

static gboolean refuse(GstRTSPAuth *auth, GstRTSPContext *context, GstRTSPStatusCode status)
{
    gst_rtsp_message_init_response(context->response, status, gst_rtsp_status_as_text(status),
        context->request);
    if (status == GST_RTSP_STS_UNAUTHORIZED)
        GST_RTSP_AUTH_GET_CLASS(auth)->generate_authenticate_header(auth, context);
    gst_rtsp_client_send_message(context->client, context->session, context->response);
    return FALSE;
}

static gboolean admit(GSocket *socket)
{
    return socket && guest_admit(g_object_get_data(G_OBJECT(socket), GUEST));
}

static gboolean lock_check(GstRTSPAuth *auth, GstRTSPContext *context, const gchar *check)
{
    GstRTSPAuthClass *klass = GST_RTSP_AUTH_GET_CLASS(auth);

    if (strcmp(check, GST_RTSP_AUTH_CHECK_URL) || context->method == GST_RTSP_OPTIONS)
        return GST_RTSP_AUTH_CLASS(lock_parent_class)->check(auth, context, check);
    if (!context->token && (!klass->authenticate(auth, context) || !context->token))
        return refuse(auth, context, GST_RTSP_STS_UNAUTHORIZED);
    /* They are two where RTSP goes through HTTP. */
    if (!admit(gst_rtsp_connection_get_read_socket(context->conn)) ||
        !admit(gst_rtsp_connection_get_write_socket(context->conn)))
        return refuse(auth, context, GST_RTSP_STS_SERVICE_UNAVAILABLE);
    if (context->method == GST_RTSP_SETUP && !media_may_set_up(context))
        return refuse(auth, context, GST_RTSP_STS_METHOD_NOT_VALID_IN_THIS_STATE);
    return TRUE;
}

static void lock_class_init(LockClass *klass)
{
    klass->check = lock_check;
}

static void lock_init(Lock *lock)
{
}

static GstRTSPAuth *new_auth(const Settings *settings)
{
    GstRTSPAuth *auth = g_object_new(lock_get_type(), NULL);
    GstRTSPToken *token = gst_rtsp_token_new(GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE, G_TYPE_STRING, USER,
        NULL);
    gchar *basic = gst_rtsp_auth_make_basic(USER, settings->token);

    gst_rtsp_auth_add_basic(auth, basic, token);
    gst_rtsp_auth_add_digest(auth, USER, settings->token, token);
    gst_rtsp_auth_set_supported_methods(auth, GST_RTSP_AUTH_BASIC);
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

/* Viewers that come and go without end must not fill the log. */
static void tell(Rtsp *rtsp, const gchar *event, GstRTSPClient *client)
{
    gboolean may;

    g_mutex_lock(&rtsp->lock);
    may = rate_take(&rtsp->told, 1, 100);
    g_mutex_unlock(&rtsp->lock);
    if (may)
        log_info(event, "peer", G_TYPE_STRING,
            gst_rtsp_connection_get_ip(gst_rtsp_client_get_connection(client)), NULL);
}

static void on_closed(GstRTSPClient *client, gpointer data)
{
    GPtrArray *sessions = g_object_get_data(G_OBJECT(client), SESSIONS);
    Rtsp *rtsp = data;

    guest_check_end(g_object_get_data(G_OBJECT(client), GUEST));
    if (sessions->len) {
        keep(rtsp, client);
        tell(rtsp, "rtsp-closed", client);
    }
    remove_sessions(rtsp, sessions);
    g_ptr_array_set_size(sessions, 0);
}

static gboolean has_ended(Rtsp *rtsp, GstRTSPMedia *media)
{
    Output *output = g_object_get_data(G_OBJECT(media), OUTPUT);
    gboolean served;

    g_mutex_lock(&rtsp->lock);
    served = !output || g_ptr_array_find(rtsp->served, output, NULL);
    g_mutex_unlock(&rtsp->lock);
    return !served;
}

/* A viewer may have set up a stream whose camera ended since. */
static GstRTSPStatusCode before_play(GstRTSPClient *client, GstRTSPContext *context, gpointer data)
{
    return context->media && has_ended(data, context->media) ? GST_RTSP_STS_NOT_FOUND :
        GST_RTSP_STS_OK;
}

/* One viewer more: he can see nothing before a key frame. */
static void on_play(GstRTSPClient *client, GstRTSPContext *context, gpointer data)
{
    Output *output = context->media ? g_object_get_data(G_OBJECT(context->media), OUTPUT) : NULL;

    if (output)
        output_request_key(output);
}

static void on_session(GstRTSPClient *client, GstRTSPSession *session, gpointer data)
{
    g_ptr_array_add(g_object_get_data(G_OBJECT(client), SESSIONS), g_object_ref(session));
    tell(data, "rtsp-opened", client);
}

static void on_client(GstRTSPServer *server, GstRTSPClient *client, gpointer data)
{
    GstRTSPConnection *connection = gst_rtsp_client_get_connection(client);
    Rtsp *rtsp = data;

    if (rtsp->certificate) {
        GTlsConnection *tls = gst_rtsp_connection_get_tls(connection, NULL);
        g_tls_connection_set_certificate(tls, rtsp->certificate);
        g_tls_connection_set_database(tls, NULL); /* clients show none; it takes 4 MiB of each */
    }
    g_object_set_data_full(G_OBJECT(client), GUEST, guest_ref(g_object_get_data(
        G_OBJECT(gst_rtsp_connection_get_read_socket(connection)), GUEST)), guest_unref);
    g_object_set_data_full(G_OBJECT(client), SESSIONS,
        g_ptr_array_new_with_free_func(g_object_unref), (GDestroyNotify) g_ptr_array_unref);
    g_signal_connect(client, "new-session", G_CALLBACK(on_session), rtsp);
    g_signal_connect(client, "closed", G_CALLBACK(on_closed), rtsp);
    g_signal_connect(client, "pre-play-request", G_CALLBACK(before_play), rtsp);
    g_signal_connect(client, "play-request", G_CALLBACK(on_play), NULL);
    media_attend(rtsp->media, client);
}

/* Of the same connection, but not closed with the GSocketConnection. */
static GSocket *copy(GSocketConnection *connection)
{
    const gint fd = fcntl(g_socket_get_fd(g_socket_connection_get_socket(connection)),
        F_DUPFD_CLOEXEC, 0);
    GSocket *socket = fd >= 0 ? g_socket_new_from_fd(fd, NULL) : NULL;

    if (!socket && fd >= 0)
        close(fd);
    return socket;
}

/* The server's own listener would make a client of each connection, and one that is refused then
 * never ends: its connection is closed before there is anything that could notice. */
static gboolean on_connection(GSocketService *service, GSocketConnection *connection,
    GObject *source, gpointer data)
{
    GSocketAddress *remote = g_socket_connection_get_remote_address(connection, NULL);
    GSocket *socket = remote ? copy(connection) : NULL;
    Rtsp *rtsp = data;
    Guest *guest = socket ? door_enter(rtsp->door, socket) : NULL;

    if (guest) {
        GInetSocketAddress *inet = G_INET_SOCKET_ADDRESS(remote);
        gchar *ip = g_inet_address_to_string(g_inet_socket_address_get_address(inet));
        g_object_set_data_full(G_OBJECT(socket), GUEST, guest, guest_unref);
        gst_rtsp_server_transfer_connection(rtsp->server, g_object_ref(socket), ip,
            g_inet_socket_address_get_port(inet), NULL);
        g_free(ip);
    }
    g_clear_object(&socket);
    g_clear_object(&remote);
    return TRUE;
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

static gboolean listen(Rtsp *rtsp, GError **error)
{
    const Settings *settings = rtsp->settings;
    GSocketAddress *wanted = g_inet_socket_address_new_from_string(settings->address,
        settings->rtsp_port), *bound = NULL;
    gboolean ok;

    if (!wanted) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
            "the address '%s' is not an IP address", settings->address);
        return FALSE;
    }
    ok = g_socket_listener_add_address(G_SOCKET_LISTENER(rtsp->listener), wanted,
        G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, NULL, &bound, error);
    if (ok)
        rtsp->port = g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(bound));
    else
        g_prefix_error(error, "cannot listen for RTSP on %s port %d: ", settings->address,
            settings->rtsp_port);
    g_clear_object(&bound);
    g_object_unref(wanted);
    return ok;
}

/* GStreamer's RTSP library warns of what clients send: they must not fill the log. */
static void on_warning(const gchar *domain, GLogLevelFlags level, const gchar *text, gpointer data)
{
    static Rate told;
    static GMutex lock;

    g_mutex_lock(&lock);
    if (rate_take(&told, 0.1, 3))
        log_warning("rtsp-library", "why", G_TYPE_STRING, text, NULL);
    g_mutex_unlock(&lock);
}

/* Each client has a thread: one that waits for the first frame of a camera, or that sends without
 * end, keeps no other one waiting. */
static void set_up(Rtsp *rtsp)
{
    GstRTSPThreadPool *threads = gst_rtsp_server_get_thread_pool(rtsp->server);
    GstRTSPAuth *auth = new_auth(rtsp->settings);

    gst_rtsp_thread_pool_set_max_threads(threads, -1);
    gst_rtsp_server_set_content_length_limit(rtsp->server, MAX_BODY);
    gst_rtsp_session_pool_set_max_sessions(rtsp->sessions, rtsp->settings->max_viewers);
    gst_rtsp_server_set_auth(rtsp->server, auth);
    g_signal_connect(rtsp->server, "client-connected", G_CALLBACK(on_client), rtsp);
    g_signal_connect(rtsp->listener, "incoming", G_CALLBACK(on_connection), rtsp);
    g_object_unref(auth);
    g_object_unref(threads);
}

/* A viewer may open a connection more than he has sessions. */
static DoorLimits get_limits(const Settings *settings)
{
    const gboolean tls = settings->tls_certificate != NULL;

    return (DoorLimits) {.guests = 2 * settings->max_viewers + 8, .reserved = 8,
        .strangers = tls ? 16 : 48, .share = tls ? 12 : 24, .silent_s = 10, .stranger_burst = 8192,
        .burst = 65536, .rate = 8192};
}

Rtsp *rtsp_new(const Settings *settings, GError **error)
{
    const DoorLimits limits = get_limits(settings);
    Rtsp *rtsp = g_new0(Rtsp, 1);
    gboolean ok = TRUE;

    rtsp->settings = settings;
    g_mutex_init(&rtsp->lock);
    rtsp->served = g_ptr_array_new();
    rtsp->gone = g_ptr_array_new_with_free_func(g_object_unref);
    rtsp->closed = g_ptr_array_new_with_free_func(g_object_unref);
    rtsp->server = gst_rtsp_server_new();
    rtsp->sessions = gst_rtsp_server_get_session_pool(rtsp->server);
    rtsp->media = media_new(rtsp->server);
    rtsp->door = door_new("rtsp", &limits);
    rtsp->warnings = g_log_set_handler("GStreamer-RTSP", G_LOG_LEVEL_WARNING, on_warning, NULL);
    rtsp->listener = g_socket_service_new();
    g_socket_listener_set_backlog(G_SOCKET_LISTENER(rtsp->listener), BACKLOG);
    set_up(rtsp);
    if (settings->tls_certificate) {
        rtsp->certificate = g_tls_certificate_new_from_files(settings->tls_certificate,
            settings->tls_key, error);
        ok = rtsp->certificate != NULL;
    }
    if (!ok || !listen(rtsp, error)) {
        rtsp_free(rtsp);
        return NULL;
    }
    g_socket_service_start(rtsp->listener);
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
    Rtsp *rtsp = g_object_get_data(G_OBJECT(factory), "rtsp");
    GstElement *bin = gst_rtsp_media_get_element(media);
    GstElement *appsrc = gst_bin_get_by_name(GST_BIN(bin), "src");

    media_add(rtsp->media, media);
    g_signal_connect(media, "unprepared", G_CALLBACK(on_unprepared), NULL);
    g_object_set_data(G_OBJECT(media), OUTPUT, data);
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
    g_object_set_data(G_OBJECT(factory), "rtsp", rtsp);
    g_signal_connect(factory, "media-configure", G_CALLBACK(on_media), output);
    g_mutex_lock(&rtsp->lock);
    g_ptr_array_add(rtsp->served, output);
    g_mutex_unlock(&rtsp->lock);
    gst_rtsp_mount_points_add_factory(mounts, path, factory);
    g_object_unref(mounts);
    g_free(path);
}

void rtsp_add(Rtsp *rtsp, Camera *camera)
{
    add(rtsp, "annotated", camera, camera_get_annotated(camera));
    add(rtsp, "clean", camera, camera_get_clean(camera));
}

static GstRTSPFilterResult pick_ended(GstRTSPSession *session, GstRTSPSessionMedia *one,
    gpointer data)
{
    return has_ended(data, gst_rtsp_session_media_get_media(one)) ? GST_RTSP_FILTER_REF :
        GST_RTSP_FILTER_KEEP;
}

static GstRTSPFilterResult pick_watching(GstRTSPClient *client, GstRTSPSession *session,
    gpointer data)
{
    GList *ended = gst_rtsp_session_filter(session, pick_ended, data);
    const gboolean any = ended != NULL;

    g_list_free_full(ended, g_object_unref);
    return any ? GST_RTSP_FILTER_REF : GST_RTSP_FILTER_KEEP;
}

/* They would be sent reports without a frame for as long as they wait. */
static GstRTSPFilterResult show_out(GstRTSPServer *server, GstRTSPClient *client, gpointer data)
{
    GList *watching = gst_rtsp_client_session_filter(client, pick_watching, data);

    if (watching)
        guest_show_out(g_object_get_data(G_OBJECT(client), GUEST), "its camera has ended");
    g_list_free_full(watching, g_object_unref);
    return GST_RTSP_FILTER_KEEP;
}

void rtsp_remove(Rtsp *rtsp, Camera *camera)
{
    Output *const outputs[] = {camera_get_annotated(camera), camera_get_clean(camera)};
    static const gchar *const streams[] = {"annotated", "clean"};
    GstRTSPMountPoints *mounts = gst_rtsp_server_get_mount_points(rtsp->server);
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(streams); i++) {
        gchar *path = g_strdup_printf("/%s/%s", streams[i], camera_get_name(camera));

        gst_rtsp_mount_points_remove_factory(mounts, path);
        g_mutex_lock(&rtsp->lock);
        g_ptr_array_remove(rtsp->served, outputs[i]);
        g_mutex_unlock(&rtsp->lock);
        g_free(path);
    }
    g_object_unref(mounts);
    g_list_free_full(gst_rtsp_server_client_filter(rtsp->server, show_out, rtsp), g_object_unref);
}

gint rtsp_get_port(Rtsp *rtsp)
{
    return rtsp->port;
}

Door *rtsp_get_door(Rtsp *rtsp)
{
    return rtsp->door;
}

guint rtsp_get_sessions(Rtsp *rtsp)
{
    return gst_rtsp_session_pool_get_n_sessions(rtsp->sessions);
}

/* Whether no client is left after a while. Their threads end them when they find the connection
 * broken, but not while they wait for the first frame of a camera. gst_rtsp_client_close() would
 * take its streams from a thread that reads just then, which would go on reading from none for
 * ever. */
static gboolean await_clients(Rtsp *rtsp)
{
    gint i, n = 1;

    for (i = 0; i < 200 && n; i++) {
        GList *clients = gst_rtsp_server_client_filter(rtsp->server, NULL, NULL);
        n = g_list_length(clients);
        g_list_free_full(clients, g_object_unref);
        if (n && i >= PATIENCE)
            media_let_go(rtsp->media);
        if (n)
            g_usleep(5000);
    }
    return !n;
}

static GstRTSPFilterResult remove_session(GstRTSPSessionPool *pool, GstRTSPSession *session,
    gpointer data)
{
    return GST_RTSP_FILTER_REMOVE;
}

void rtsp_free(Rtsp *rtsp)
{
    GList *left;

    g_socket_service_stop(rtsp->listener);
    g_socket_listener_close(G_SOCKET_LISTENER(rtsp->listener));
    g_clear_handle_id(&rtsp->cleanup, g_source_remove);
    media_end(rtsp->media);
    door_clear(rtsp->door, FALSE);
    if (!await_clients(rtsp)) {
        door_clear(rtsp->door, TRUE);
        /* The program ends: what a thread that hangs still uses stays. */
        if (!await_clients(rtsp)) {
            log_warning("rtsp-stuck", "open", G_TYPE_BOOLEAN, TRUE, NULL);
            return;
        }
    }
    door_free(rtsp->door);
    left = gst_rtsp_session_pool_filter(rtsp->sessions, remove_session, NULL);
    g_list_free_full(left, g_object_unref);
    g_object_unref(rtsp->server);
    g_object_unref(rtsp->listener);
    g_clear_object(&rtsp->certificate);
    gst_rtsp_thread_pool_cleanup(); /* waits for the threads of clients */
    g_log_remove_handler("GStreamer-RTSP", rtsp->warnings);
    g_ptr_array_unref(rtsp->served);
    g_ptr_array_unref(rtsp->gone);
    g_ptr_array_unref(rtsp->closed);
    g_object_unref(rtsp->sessions);
    media_free(rtsp->media);
    g_mutex_clear(&rtsp->lock);
    g_free(rtsp);
}
