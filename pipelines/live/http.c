/* SPDX-License-Identifier: MIT */
#include "http.h"

#include "access.h"
#include "address.h"
#include "api.h"
#include "door.h"
#include "download.h"
#include "guard.h"
#include "journal.h"
#include "message.h"
#include "metrics.h"
#include "mjpeg.h"
#include "pages.h"

#include <string.h>

#define BACKLOG 128 /* connections that wait for the main loop */
#define TIMEOUT_S 30 /* of a connection on which nothing moves */
#define GUEST "samtrack-guest" /* data of the address of a client */
#define GUARD "samtrack-guard"

struct Http {
    const Settings *settings;
    GPtrArray *rooms;
    Rtsp *rtsp;
    Hub *hub;
    Mjpeg *mjpeg;
    Downloads *downloads;
    Api *api;
    GSocketService *listener;
    GTlsCertificate *certificate;
    SoupServer *server;
    gint port;
    gchar *base; /* "/live-PORT": the path that the cookie is for */
    Door *door;
    Rate told; /* refusals in the log */
};

/* A page has a WebSocket, perhaps JPEGs, and connections that it loads files by. A handshake of TLS
 * that stalls keeps a thread of GLib's busy: there are ten of those, and more after a while. */
static DoorLimits get_limits(const Settings *settings)
{
    const gboolean tls = settings->tls_certificate != NULL;

    return (DoorLimits) {.guests = 64 + 4 * settings->max_viewers, .reserved = 16,
        .strangers = tls ? 16 : 64, .share = tls ? 12 : 24, .silent_s = 10,
        .stranger_burst = 1 << 20, .burst = 1 << 20, .rate = 1 << 17};
}

/* Everything is there with and without the page's public path, and with and without the base. */
static const gchar *strip(Http *http, const gchar *path)
{
    const gsize n = strlen(http->base);

    path = address_strip(http->settings, path);
    return !strncmp(path, http->base, n) && path[n] == '/' ? path + n : path;
}

static gpointer get_data(SoupServerMessage *message, const gchar *name)
{
    return g_object_get_data(G_OBJECT(soup_server_message_get_remote_address(message)), name);
}

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

static gboolean is_public(Http *http, SoupServerMessage *message, const gchar *path)
{
    const gchar *query = g_uri_get_query(soup_server_message_get_uri(message));
    const gchar *inner = address_strip(http->settings, path);

    return !strcmp(strip(http, path), "/healthz") || (!query && (!*inner || !strcmp(inner, "/") ||
        !strcmp(inner, http->base) || !strcmp(strip(http, path), "/style.css")));
}

/* Whether a browser is to show the answer: then the token can be typed. */
static gboolean is_opened(Http *http, SoupServerMessage *message, const gchar *path)
{
    const gchar *accept = soup_message_headers_get_list(
        soup_server_message_get_request_headers(message), "Accept");

    return accept && strstr(accept, "text/html") && (!strcmp(strip(http, path), "/") ||
        !strcmp(strip(http, path), "/cameras") || g_str_has_prefix(strip(http, path), "/camera/") ||
        !strcmp(address_strip(http->settings, path), http->base));
}

static void check_token(Http *http, SoupServerMessage *message, const gchar *path)
{
    Guest *guest = get_data(message, GUEST);

    if (access_has_token(http->settings, http->port, message)) {
        if (guest && !guest_admit(guest))
            refuse(http, message, SOUP_STATUS_SERVICE_UNAVAILABLE,
                "Too many connections are open.\n");
    } else if (!is_public(http, message, path)) {
        refuse(http, message, SOUP_STATUS_UNAUTHORIZED,
            "The token is missing or wrong: open the address that samtrack-live printed.\n");
        if (is_opened(http, message, path))
            pages_ask_for_token(message);
    }
}

/* Whether the method goes with the path, and the body with the method. Bodies of others than the
 * API's changes are read and forgotten. */
static void check_head(Http *http, SoupServerMessage *message, const gchar *path)
{
    SoupMessageHeaders *in = soup_server_message_get_request_headers(message);
    SoupMessageHeaders *out = soup_server_message_get_response_headers(message);
    const gchar *method = soup_server_message_get_method(message);
    const gchar *methods = api_get_methods(strip(http, path)), *why;
    gchar **list = g_strsplit(methods ? methods : "GET, HEAD", ", ", -1);
    const gboolean takes = !strcmp(method, "POST") || !strcmp(method, "PATCH");
    guint status = 0;

    if (!g_strv_contains((const gchar *const *) list, method)) {
        gchar *sentence = g_strdup_printf("Only %s are allowed.\n", methods ? methods :
            "GET, HEAD");

        soup_message_headers_replace(out, "Allow", methods ? methods : "GET, HEAD");
        refuse(http, message, SOUP_STATUS_METHOD_NOT_ALLOWED, sentence);
        g_free(sentence);
    } else if (!takes && (soup_message_headers_get_encoding(in) == SOUP_ENCODING_CHUNKED ||
        soup_message_headers_get_content_length(in) > 0)) {
        refuse(http, message, SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE,
            "A request has no body here.\n");
    } else if ((why = api_refuse_head(http->api, method, in, &status))) {
        refuse(http, message, status, why);
    }
    g_strfreev(list);
    if (!takes || soup_server_message_get_status(message))
        soup_message_body_set_accumulate(soup_server_message_get_request_body(message), FALSE);
}

/* Before the body is read. */
static void on_headers(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    SoupMessageHeaders *in = soup_server_message_get_request_headers(message);
    SoupMessageHeaders *out = soup_server_message_get_response_headers(message);
    Http *http = data;

    soup_message_headers_replace(out, "Content-Security-Policy", pages_get_policy());
    soup_message_headers_replace(out, "X-Content-Type-Options", "nosniff");
    soup_message_headers_replace(out, "Referrer-Policy", "no-referrer");
    soup_message_headers_replace(out, "Cache-Control", "no-store");
    soup_message_headers_replace(out, "X-Accel-Buffering", "no"); /* nginx would hold pictures */
    /* libsoup cuts parts out of what is in memory: answers that are streamed are not. */
    soup_message_headers_remove(in, "Range");
    check_head(http, message, path);
    if (soup_server_message_get_status(message))
        ;
    else if (!access_has_origin(http->settings, message))
        refuse(http, message, SOUP_STATUS_FORBIDDEN, "The request comes from another page.\n");
    else
        check_token(http, message, path);
    if (soup_server_message_get_status(message))
        soup_message_headers_replace(out, "Connection", "close");
}

/* Opened with the token: from now on the cookie stands for it, and the address no longer shows
 * it. */
static void enter(Http *http, SoupServerMessage *message)
{
    /* Without a path it is for the folder that the browser sees: only the proxy knows that one. */
    gchar *cookie = access_make_cookie(http->settings, http->port,
        *http->settings->public_path ? NULL : http->base);

    soup_message_headers_append(soup_server_message_get_response_headers(message), "Set-Cookie",
        cookie);
    g_free(cookie);
}

/* The path is that of the request, / or one of the two names of the base. */
static void serve_start(Http *http, SoupServerMessage *message, const gchar *path,
    GHashTable *query)
{
    const gboolean token = query && g_hash_table_contains(query, "token");
    const gboolean below = strcmp(path, "/") && strcmp(path, http->base);
    const gboolean later = token && !below && *http->settings->public_path;
    gchar *down = g_strconcat(http->base + 1, "/", later ? "?token=" : NULL,
        http->settings->token, NULL);

    if (token && !later)
        enter(http, message);
    if (below)
        token ? pages_redirect(message, "./") : pages_serve(message, "/index.html",
            "text/html; charset=utf-8");
    else if (!token && access_has_token(http->settings, http->port, message))
        pages_serve(message, "/index.html", "text/html; charset=utf-8");
    else
        pages_redirect(message, down);
    g_free(down);
}

/* Pages beside the one at the base are served below it, where the cookie is sent; a token in the
 * address goes as there. @page: the path below the base; @up: from it to the base. FALSE: the
 * browser is sent elsewhere. */
static gboolean is_settled(Http *http, SoupServerMessage *message, const gchar *path,
    GHashTable *query, const gchar *page, const gchar *up)
{
    const gchar *inner = address_strip(http->settings, path);
    const gboolean token = query && g_hash_table_contains(query, "token");
    gchar *to;

    if (inner != strip(http, path)) {
        if (!token)
            return TRUE;
        enter(http, message);
        to = g_strconcat(up, page, NULL);
    } else {
        to = g_strconcat(up, http->base + 1, "/", page, token ? "?token=" : NULL,
            http->settings->token, NULL);
    }
    pages_redirect(message, to);
    g_free(to);
    return FALSE;
}

static void on_page(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    static const gchar *const types[][2] = {
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
    };
    static const gchar *const pages[][2] = {{"/cameras", "/cameras.html"},
        {"/events", "/events.html"}};
    Http *http = data;
    const gchar *inner, *full;
    gsize i;

    if (soup_server_message_get_status(message))
        return;
    inner = address_strip(http->settings, path);
    if (!*inner) {
        gchar *page = g_strconcat(http->settings->public_path, "/", NULL);
        pages_redirect(message, page);
        g_free(page);
        return;
    }
    if (!strcmp(inner, http->base) || !strcmp(strip(http, path), "/")) {
        serve_start(http, message, inner, query);
        return;
    }
    path = strip(http, full = path);
    for (i = 0; i < G_N_ELEMENTS(pages); i++) {
        if (strcmp(path, pages[i][0]))
            continue;
        if (is_settled(http, message, full, query, pages[i][0] + 1, ""))
            pages_serve(message, pages[i][1], "text/html; charset=utf-8");
        return;
    }
    for (i = 0; i < G_N_ELEMENTS(types); i++) {
        if (g_str_has_suffix(path, types[i][0])) {
            pages_serve(message, path, types[i][1]);
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
    text = metrics_write(http->rooms, http->hub, http->mjpeg, http->rtsp, http->door);
    soup_server_message_set_status(message, SOUP_STATUS_OK, NULL);
    soup_server_message_set_response(message, "text/plain; version=0.0.4", SOUP_MEMORY_TAKE, text,
        strlen(text));
}

/* What follows the folder; NULL if the path is another. The page's public path may be named as a
 * folder is: what is not found in the folder may be the page's. */
static const gchar *get_rest(Http *http, const gchar *path, const gchar *folder)
{
    const gchar *const paths[] = {strip(http, path), path};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(paths); i++)
        if (g_str_has_prefix(paths[i], folder))
            return paths[i] + strlen(folder);
    return NULL;
}

static Room *find_room(Http *http, const gchar *name)
{
    guint i;

    for (i = 0; name && i < http->rooms->len; i++) {
        Room *room = g_ptr_array_index(http->rooms, i);

        if (!strcmp(camera_get_name(room->camera), name))
            return room;
    }
    return NULL;
}

/* Of "/camera/NAME/FILE", if there is such a camera. */
static Room *find_room_of(Http *http, const gchar *path, const gchar *file)
{
    const gchar *rest = get_rest(http, path, "/camera/");
    const gchar *slash = rest ? strchr(rest, '/') : NULL;
    gchar *name = slash && !strcmp(slash + 1, file) ? g_strndup(rest, slash - rest) : NULL;
    Room *room = find_room(http, name);

    g_free(name);
    return room;
}

/* /camera/NAME/; without the last slash, it is added. */
static void on_camera(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    Http *http = data;
    Room *room = find_room_of(http, path, "");
    const gchar *rest = get_rest(http, path, "/camera/");
    gchar *page;

    if (soup_server_message_get_status(message) || find_room_of(http, path, "socket"))
        return; /* libsoup goes on with what is for the WebSocket */
    if (!room && !find_room(http, rest)) {
        on_page(server, message, path, query, data);
        return;
    }
    page = room ? g_strdup_printf("camera/%s/", camera_get_name(room->camera)) :
        g_strconcat(rest, "/", NULL);
    if (!room)
        pages_redirect(message, page);
    else if (is_settled(http, message, path, query, page, "../../"))
        pages_serve_below(message);
    g_free(page);
}

static void on_mjpeg(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    Http *http = data;
    const gchar *name = get_rest(http, path, "/mjpeg/");
    const gboolean clean = query && g_hash_table_contains(query, "clean");
    guint i;

    if (soup_server_message_get_status(message))
        return;
    for (i = 0; name && i < http->rooms->len; i++) {
        Camera *camera = ((Room *) g_ptr_array_index(http->rooms, i))->camera;
        if (strcmp(name, camera_get_name(camera)) ||
            strcmp(soup_server_message_get_method(message), "GET"))
            continue;
        /* Without pictures nothing would be written, and a client that leaves not be noticed. */
        if (camera_has_frames(camera))
            mjpeg_serve(http->mjpeg, clean ? camera_get_picture(camera) : camera_get_jpeg(camera),
                message);
        else
            soup_server_message_set_status(message, SOUP_STATUS_SERVICE_UNAVAILABLE, NULL);
        return;
    }
    on_page(server, message, path, query, data);
}

/* Whether the file is of that camera, and in which form. */
static gboolean get_form(const gchar *file, const gchar *name, AnnotationsForm *form)
{
    static const gchar *const ends[] = {[ANNOTATIONS_LINES] = ".jsonl",
        [ANNOTATIONS_COCO] = ".json", [ANNOTATIONS_COCO_VIDEO] = ".video.json",
        [ANNOTATIONS_COCO_SET] = ".coco.zip", [ANNOTATIONS_YOLO_SET] = ".yolo.zip",
        [ANNOTATIONS_DAVIS_SET] = ".davis.zip"};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(ends); i++) {
        *form = i;
        if (g_str_has_prefix(file, name) && !strcmp(file + strlen(name), ends[i]))
            return TRUE;
    }
    return FALSE;
}

/* /annotations/NAME.json, NAME.video.json, NAME.jsonl, NAME.coco.zip and so on. */
static void on_annotations(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    Http *http = data;
    const gchar *file = get_rest(http, path, "/annotations/");
    AnnotationsForm form;
    guint i;

    if (soup_server_message_get_status(message))
        return;
    for (i = 0; file && i < http->rooms->len; i++) {
        Room *room = g_ptr_array_index(http->rooms, i);
        if (!get_form(file, camera_get_name(room->camera), &form) ||
            strcmp(soup_server_message_get_method(message), "GET"))
            continue;
        downloads_serve(http->downloads, room, form, message);
        return;
    }
    on_page(server, message, path, query, data);
}

static void on_api(SoupServer *server, SoupServerMessage *message, const char *path,
    GHashTable *query, gpointer data)
{
    Http *http = data;
    const gchar *rest = get_rest(http, path, "/api/");
    gchar *inner = rest ? g_strconcat("/api/", rest, NULL) : NULL;

    if (!soup_server_message_get_status(message) && !(inner && api_serve(http->api, message, inner,
        query)))
        on_page(server, message, path, query, data);
    g_free(inner);
}

static void on_websocket(SoupServer *server, SoupServerMessage *message, const char *path,
    SoupWebsocketConnection *connection, gpointer data)
{
    Guard *guard = get_data(message, GUARD);
    Http *http = data;

    if (guard_expect_frames(guard, MESSAGE_MAX_BYTES))
        hub_add(http->hub, connection, guard, find_room_of(http, path, "socket"));
    else
        guest_show_out(get_data(message, GUEST), "it sends messages before there is a WebSocket");
}

/* The address is of this connection alone; the server shows it with each of its requests. */
static void serve(Http *http, GSocketConnection *connection, Guest *guest)
{
    GSocketAddress *local = g_socket_connection_get_local_address(connection, NULL);
    GSocketAddress *remote = g_socket_connection_get_remote_address(connection, NULL);
    GIOStream *tls = http->certificate ? g_tls_server_connection_new(G_IO_STREAM(connection),
        http->certificate, NULL) : NULL;
    Guard *guard = guard_new(tls ? tls : G_IO_STREAM(connection));

    if (tls) /* clients show no certificates; what checks them takes 4 MiB of each connection */
        g_tls_connection_set_database(G_TLS_CONNECTION(tls), NULL);
    g_socket_set_timeout(g_socket_connection_get_socket(connection), TIMEOUT_S);
    if (local && remote) {
        g_object_set_data_full(G_OBJECT(remote), GUEST, guest_ref(guest), guest_unref);
        g_object_set_data(G_OBJECT(remote), GUARD, guard);
        soup_server_accept_iostream(http->server, G_IO_STREAM(guard), local, remote, NULL);
    }
    g_object_unref(guard);
    g_clear_object(&tls);
    g_clear_object(&local);
    g_clear_object(&remote);
}

static gboolean on_connection(GSocketService *service, GSocketConnection *connection,
    GObject *source, gpointer data)
{
    Http *http = data;
    Guest *guest = door_enter(http->door, g_socket_connection_get_socket(connection));

    if (guest) {
        serve(http, connection, guest);
        guest_unref(guest);
    } else {
        g_io_stream_close(G_IO_STREAM(connection), NULL, NULL);
    }
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

/* A request goes to the handlers of one path alone, so every path needs its checks. A proxy may ask
 * for the path that the page has in public, too. */
static void add(Http *http, const gchar *path, SoupServerCallback callback)
{
    const gchar *public = http->settings->public_path;
    gchar *paths[] = {g_strdup(path), g_strconcat(http->base, path, NULL),
        g_strconcat(public, path, NULL), g_strconcat(public, http->base, path, NULL)};
    const gsize n = *public ? 4 : 2;
    gsize i;

    for (i = 0; i < n; i++) {
        soup_server_add_early_handler(http->server, paths[i], on_headers, http, NULL);
        if (callback)
            soup_server_add_handler(http->server, paths[i], callback, http, NULL);
        else
            soup_server_add_websocket_handler(http->server, paths[i], NULL, NULL, on_websocket,
                http, NULL);
    }
    for (i = 0; i < G_N_ELEMENTS(paths); i++)
        g_free(paths[i]);
}

static void add_handlers(Http *http)
{
    soup_server_add_early_handler(http->server, NULL, on_headers, http, NULL);
    soup_server_add_handler(http->server, NULL, on_page, http, NULL);
    add(http, "/healthz", on_health);
    add(http, "/metrics", on_metrics);
    add(http, "/mjpeg/", on_mjpeg);
    add(http, "/annotations/", on_annotations);
    add(http, "/api/", on_api);
    add(http, "/camera/", on_camera);
    add(http, "/camera/", NULL);
    /* The limit of a message's size is that of its compressed form: there must be none. */
    soup_server_remove_websocket_extension(http->server, SOUP_TYPE_WEBSOCKET_EXTENSION_DEFLATE);
    add(http, "/socket", NULL);
    g_signal_connect(http->listener, "incoming", G_CALLBACK(on_connection), http);
}

Http *http_new(const Settings *settings, GPtrArray *rooms, Rtsp *rtsp, GError **error)
{
    const DoorLimits limits = get_limits(settings);
    Http *http = g_new0(Http, 1);
    gboolean ok = TRUE;

    http->settings = settings;
    http->rooms = rooms;
    http->rtsp = rtsp;
    http->door = door_new("http", &limits);
    http->hub = hub_new(settings, rooms);
    http->mjpeg = mjpeg_new(settings->max_viewers);
    http->downloads = downloads_new();
    http->api = api_new(settings, rooms);
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
    http->base = g_strdup_printf("/live-%d", http->port);
    add_handlers(http);
    g_socket_service_start(http->listener);
    return http;
}

gint http_get_port(Http *http)
{
    return http->port;
}

void http_update(Http *http)
{
    hub_update(http->hub);
}

void http_set_change(Http *http, ApiChange change, gpointer user)
{
    api_set_change(http->api, change, user);
}

gboolean http_is_watched(Http *http, Room *room)
{
    Output *const outputs[] = {camera_get_clean(room->camera), camera_get_annotated(room->camera),
        camera_get_jpeg(room->camera)};
    OutputStats stats;
    gsize i;

    mjpeg_end(http->mjpeg, camera_get_jpeg(room->camera));
    for (i = 0; i < G_N_ELEMENTS(outputs); i++) {
        output_get_stats(outputs[i], &stats);
        if (stats.viewers)
            return TRUE;
    }
    return downloads_are_of(http->downloads, room);
}

void http_free(Http *http)
{
    g_socket_service_stop(http->listener);
    g_socket_listener_close(G_SOCKET_LISTENER(http->listener));
    door_clear(http->door, FALSE); /* no more pages come in */
    hub_close(http->hub); /* or what follows could begin a saving of tracks */
    api_free(http->api); /* runs the main loop, as does the next: that may serve requests */
    downloads_free(http->downloads); /* runs the main loop, which may serve requests */
    hub_free(http->hub);
    mjpeg_free(http->mjpeg);
    soup_server_disconnect(http->server);
    g_clear_object(&http->certificate);
    g_object_unref(http->server);
    g_object_unref(http->listener);
    door_free(http->door);
    g_free(http->base);
    g_free(http);
}
