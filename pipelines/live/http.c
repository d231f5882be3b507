#include "http.h"

#include "access.h"
#include "download.h"
#include "journal.h"
#include "metrics.h"
#include "mjpeg.h"

#include <string.h>

#define MAX_CONNECTIONS 128
#define BACKLOG 128 /* connections that wait for the main loop */
#define TIMEOUT_S 30 /* of a connection on which nothing moves */
#define SILENT_S 10  /* from a connection's begin to its first request with the token */
#define HEARD "samtrack-heard" /* data of the address of a client that sent one */
#define PAGE "/samtrack/live"
#define POLICY "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
    "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; " \
    "frame-ancestors 'none'"

struct Http {
    const Settings *settings;
    GPtrArray *rooms;
    Rtsp *rtsp;
    Hub *hub;
    Mjpeg *mjpeg;
    Downloads *downloads;
    GSocketService *listener;
    GTlsCertificate *certificate;
    SoupServer *server;
    gint port;
    guint *open; /* connections; in a box of its own, which they may outlive the server with */
    Rate told;  /* refusals in the log */
};

static void refuse(Http *http, SoupServerMessage *message, guint status, const gchar *why)
{
    soup_server_message_set_status(message, status, NULL);
    soup_server_message_set_response(message, "text/plain; charset=utf-8", SOUP_MEMORY_COPY, why,
        strlen(why));
    if (rate_take(&http->told, 1, 10))
        log_warning("http-refused", "peer", G_TYPE_STRING,
        soup_server_message_get_remote_host(message),
            "status", G_TYPE_UINT, status, "why", G_TYPE_STRING, why, NULL);
}

/* Before the body is read. */
static void on_headers(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    SoupMessageHeaders *in = soup_server_message_get_request_headers(message);
    SoupMessageHeaders *out = soup_server_message_get_response_headers(message);
    const gchar *method = soup_server_message_get_method(message);
    Http *http = data;

    soup_message_headers_replace(out, "Content-Security-Policy", POLICY);
    soup_message_headers_replace(out, "X-Content-Type-Options", "nosniff");
    soup_message_headers_replace(out, "Referrer-Policy", "no-referrer");
    soup_message_headers_replace(out, "Cache-Control", "no-store");
    /* libsoup cuts parts out of what is in memory: answers that are streamed are not. */
    soup_message_headers_remove(in, "Range");
    /* A body that comes all the same is read and forgotten. */
    soup_message_body_set_accumulate(soup_server_message_get_request_body(message), FALSE);
    if (strcmp(method, "GET") && strcmp(method, "HEAD"))
        refuse(http, message, SOUP_STATUS_METHOD_NOT_ALLOWED, "Only GET is allowed.\n");
    else if (soup_message_headers_get_encoding(in) == SOUP_ENCODING_CHUNKED ||
        soup_message_headers_get_content_length(in) > 0)
        refuse(http, message, SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE,
            "A request has no body here.\n");
    else if (!access_has_origin(http->settings, message))
        refuse(http, message, SOUP_STATUS_FORBIDDEN, "The request comes from another page.\n");
    else if (access_has_token(http->settings, message))
        g_object_set_data(G_OBJECT(soup_server_message_get_remote_address(message)), HEARD, http);
    else if (strcmp(path, "/healthz"))
        refuse(http, message, SOUP_STATUS_UNAUTHORIZED,
            "The token is missing or wrong: open the address that samtrack-live printed.\n");
    if (soup_server_message_get_status(message))
        soup_message_headers_replace(out, "Connection", "close");
}

static void serve_file(SoupServerMessage *message, const gchar *path, const gchar *type)
{
    gchar *resource = g_strconcat(PAGE, path, NULL);
    GBytes *bytes = g_resources_lookup_data(resource, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

    g_free(resource);
    if (!bytes) {
        soup_server_message_set_status(message, SOUP_STATUS_NOT_FOUND, NULL);
        return;
    }
    soup_server_message_set_status(message, SOUP_STATUS_OK, NULL);
    soup_message_headers_set_content_type(soup_server_message_get_response_headers(message), type,
        NULL);
    soup_message_body_append_bytes(soup_server_message_get_response_body(message), bytes);
    g_bytes_unref(bytes);
}

/* Opened with the token: from now on the cookie has it, and the address no longer shows it. */
static void enter(Http *http, SoupServerMessage *message)
{
    gchar *cookie = access_make_cookie(http->settings, http->port);

    soup_message_headers_append(soup_server_message_get_response_headers(message), "Set-Cookie",
        cookie);
    soup_server_message_set_redirect(message, SOUP_STATUS_SEE_OTHER, "/");
    g_free(cookie);
}

static void on_page(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    static const gchar *const types[][2] = {
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
    };
    gsize i;

    if (soup_server_message_get_status(message))
        return;
    if (!strcmp(path, "/")) {
        if (query && g_hash_table_contains(query, "token"))
            enter(data, message);
        else
            serve_file(message, "/index.html", "text/html; charset=utf-8");
        return;
    }
    for (i = 0; i < G_N_ELEMENTS(types); i++) {
        if (g_str_has_suffix(path, types[i][0])) {
            serve_file(message, path, types[i][1]);
            return;
        }
    }
    soup_server_message_set_status(message, SOUP_STATUS_NOT_FOUND, NULL);
}

static void on_health(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    Http *http = data;
    guint i, failed = 0;

    if (soup_server_message_get_status(message))
        return;
    for (i = 0; i < http->rooms->len; i++)
        failed += camera_get_failure(((Room *) g_ptr_array_index(http->rooms, i))->camera) != NULL;
    soup_server_message_set_status(message,
        failed ? SOUP_STATUS_SERVICE_UNAVAILABLE : SOUP_STATUS_OK,
        NULL);
    soup_server_message_set_response(message, "text/plain", SOUP_MEMORY_STATIC,
        failed ? "failed\n" : "ok\n", failed ? 7 : 3);
}

static void on_metrics(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    Http *http = data;
    gchar *text;

    if (soup_server_message_get_status(message))
        return;
    text = metrics_write(http->rooms, http->hub, http->mjpeg, http->rtsp);
    soup_server_message_set_status(message, SOUP_STATUS_OK, NULL);
    soup_server_message_set_response(message, "text/plain; version=0.0.4", SOUP_MEMORY_TAKE, text,
        strlen(text));
}

static void on_mjpeg(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    Http *http = data;
    guint i;

    if (soup_server_message_get_status(message))
        return;
    for (i = 0; i < http->rooms->len; i++) {
        Camera *camera = ((Room *) g_ptr_array_index(http->rooms, i))->camera;
        if (strcmp(path + strlen("/mjpeg/"), camera_get_name(camera)) ||
            strcmp(soup_server_message_get_method(message), "GET"))
            continue;
        /* Without pictures nothing would be written, and a client that leaves not be noticed. */
        if (camera_has_frames(camera))
            mjpeg_serve(http->mjpeg, camera_get_jpeg(camera), message);
        else
            soup_server_message_set_status(message, SOUP_STATUS_SERVICE_UNAVAILABLE, NULL);
        return;
    }
    soup_server_message_set_status(message, SOUP_STATUS_NOT_FOUND, NULL);
}

/* Whether the file is of that camera, and in which form. */
static gboolean get_form(const gchar *file, const gchar *name, AnnotationsForm *form)
{
    static const gchar *const ends[] = {[ANNOTATIONS_LINES] = ".jsonl",
        [ANNOTATIONS_COCO] = ".json", [ANNOTATIONS_COCO_VIDEO] = ".video.json"};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(ends); i++) {
        *form = i;
        if (g_str_has_prefix(file, name) && !strcmp(file + strlen(name), ends[i]))
            return TRUE;
    }
    return FALSE;
}

/* /annotations/NAME.json, NAME.video.json and NAME.jsonl. */
static void on_annotations(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    const gchar *file = path + strlen("/annotations/");
    AnnotationsForm form;
    Http *http = data;
    guint i;

    if (soup_server_message_get_status(message))
        return;
    for (i = 0; i < http->rooms->len; i++) {
        Room *room = g_ptr_array_index(http->rooms, i);
        if (!get_form(file, camera_get_name(room->camera), &form) ||
            strcmp(soup_server_message_get_method(message), "GET"))
            continue;
        downloads_serve(http->downloads, room, form, message);
        return;
    }
    soup_server_message_set_status(message, SOUP_STATUS_NOT_FOUND, NULL);
}

static void on_websocket(SoupServer *server, SoupServerMessage *message, const char *path,
    SoupWebsocketConnection *connection, gpointer data)
{
    hub_add(((Http *) data)->hub, connection);
}

static void on_connection_gone(gpointer data, GObject *connection)
{
    --*(guint *) data;
    g_rc_box_release(data);
}

/* Who has connected. The address is of this connection alone; the server shows it with each of its
 * requests. */
typedef struct {
    GSocket *socket;
    GSocketAddress *address;
} Guest;

/* Strangers that send a byte now and then would keep others out. */
static gboolean end_if_silent(gpointer data)
{
    Guest *guest = data;

    if (!g_object_get_data(G_OBJECT(guest->address), HEARD))
        g_socket_shutdown(guest->socket, TRUE, TRUE, NULL);
    return G_SOURCE_REMOVE;
}

static void free_guest(gpointer data)
{
    Guest *guest = data;

    g_object_unref(guest->socket);
    g_object_unref(guest->address);
    g_free(guest);
}

static void limit_time(GSocket *socket, GSocketAddress *address)
{
    Guest *guest = g_new(Guest, 1);

    *guest = (Guest) {g_object_ref(socket), g_object_ref(address)};
    g_socket_set_timeout(socket, TIMEOUT_S);
    g_timeout_add_seconds_full(G_PRIORITY_DEFAULT, SILENT_S, end_if_silent, guest, free_guest);
}

static gboolean on_connection(GSocketService *service, GSocketConnection *connection,
    GObject *source, gpointer data)
{
    Http *http = data;
    GIOStream *stream = G_IO_STREAM(connection), *tls = NULL;
    GSocketAddress *local = g_socket_connection_get_local_address(connection, NULL);
    GSocketAddress *remote = g_socket_connection_get_remote_address(connection, NULL);

    if (*http->open < MAX_CONNECTIONS && local && remote) {
        ++*http->open;
        g_object_weak_ref(G_OBJECT(connection), on_connection_gone, g_rc_box_acquire(http->open));
        limit_time(g_socket_connection_get_socket(connection), remote);
        if (http->certificate)
            tls = g_tls_server_connection_new(stream, http->certificate, NULL);
        soup_server_accept_iostream(http->server, tls ? tls : stream, local, remote, NULL);
        g_clear_object(&tls);
    } else {
        g_io_stream_close(stream, NULL, NULL);
    }
    g_clear_object(&local);
    g_clear_object(&remote);
    return TRUE;
}

static gboolean listen(Http *http, GError **error)
{
    GSocketAddress *wanted = g_inet_socket_address_new_from_string(http->settings->address,
        http->settings->http_port);
    GSocketAddress *bound = NULL;
    gboolean ok;

    if (!wanted) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
            "the address '%s' is not an IP address",
            http->settings->address);
        return FALSE;
    }
    ok = g_socket_listener_add_address(G_SOCKET_LISTENER(http->listener), wanted,
        G_SOCKET_TYPE_STREAM,
        G_SOCKET_PROTOCOL_TCP, NULL, &bound, error);
    if (ok)
        http->port = g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(bound));
    else
        g_prefix_error(error, "cannot listen for HTTP on %s port %d: ", http->settings->address,
            http->settings->http_port);
    g_clear_object(&bound);
    g_object_unref(wanted);
    return ok;
}

/* A request goes to the handlers of one path alone, so every path needs its checks. */
static void add(Http *http, const gchar *path, SoupServerCallback callback)
{
    soup_server_add_early_handler(http->server, path, on_headers, http, NULL);
    if (callback)
        soup_server_add_handler(http->server, path, callback, http, NULL);
}

static void add_handlers(Http *http)
{
    add(http, NULL, on_page);
    add(http, "/healthz", on_health);
    add(http, "/metrics", on_metrics);
    add(http, "/mjpeg/", on_mjpeg);
    add(http, "/annotations/", on_annotations);
    add(http, "/socket", NULL);
    /* The limit of a message's size is that of its compressed form: there must be none. */
    soup_server_remove_websocket_extension(http->server, SOUP_TYPE_WEBSOCKET_EXTENSION_DEFLATE);
    soup_server_add_websocket_handler(http->server, "/socket", NULL, NULL, on_websocket, http,
        NULL);
    g_signal_connect(http->listener, "incoming", G_CALLBACK(on_connection), http);
}

Http *http_new(const Settings *settings, GPtrArray *rooms, Rtsp *rtsp, GError **error)
{
    Http *http = g_new0(Http, 1);
    gboolean ok = TRUE;

    http->settings = settings;
    http->rooms = rooms;
    http->rtsp = rtsp;
    http->open = g_rc_box_new0(guint);
    http->hub = hub_new(settings, rooms);
    http->mjpeg = mjpeg_new(settings->max_viewers);
    http->downloads = downloads_new();
    http->listener = g_socket_service_new();
    g_socket_listener_set_backlog(G_SOCKET_LISTENER(http->listener), BACKLOG);
    http->server = soup_server_new("server-header", "samtrack-live", NULL);
    if (settings->tls_certificate) {
        http->certificate = g_tls_certificate_new_from_files(settings->tls_certificate,
            settings->tls_key,
            error);
        ok = http->certificate != NULL;
    }
    if (!ok || !listen(http, error)) {
        http_free(http);
        return NULL;
    }
    add_handlers(http);
    g_socket_service_start(http->listener);
    return http;
}

gint http_get_port(Http *http)
{
    return http->port;
}

void http_free(Http *http)
{
    g_socket_service_stop(http->listener);
    g_socket_listener_close(G_SOCKET_LISTENER(http->listener));
    if (http->port)
        soup_server_remove_handler(http->server, "/socket");
    hub_close(http->hub); /* or what follows could begin a saving of tracks */
    downloads_free(http->downloads); /* runs the main loop, which may serve requests */
    hub_free(http->hub);
    mjpeg_free(http->mjpeg);
    soup_server_disconnect(http->server);
    g_clear_object(&http->certificate);
    g_object_unref(http->server);
    g_object_unref(http->listener);
    g_rc_box_release(http->open);
    g_free(http);
}
