/* SPDX-License-Identifier: MIT */
/* samtrack-live: tracks objects in live video; shows it in a browser and by RTSP. */

#include "encoder.h"
#include "journal.h"
#include "rooms.h"
#include "secrets.h"
#include "settings.h"
#include "standard.h"

#include <glib-unix.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_FILES 8192
#define LONGEST_STOP_MS 4500
#define TLS_PRIORITY "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:-AES-128-CBC:" \
    "-AES-256-CBC:-AES-128-CCM:-AES-256-CCM:-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1:%SERVER_PRECEDENCE"

typedef struct {
    Settings settings;
    GMainLoop *loop;
    Rooms rooms;
} Live;

/* Ends the program if stopping does not: a source, a client or a disk may hang. */
static gpointer watch_stop(gpointer data)
{
    g_usleep(LONGEST_STOP_MS * 1000);
    log_error("stop-hangs", "after-ms", G_TYPE_INT, LONGEST_STOP_MS, NULL);
    _exit(1);
}

static void begin_to_stop(void)
{
    static gsize begun;

    if (!g_once_init_enter(&begun))
        return;
    g_thread_unref(g_thread_new("watch-stop", watch_stop, NULL));
    g_once_init_leave(&begun, 1);
}

static gboolean quit(gpointer data)
{
    g_main_loop_quit(data);
    return G_SOURCE_REMOVE;
}

/* In a thread of its own: the main loop may hang, too. */
static gboolean on_signal(gpointer data)
{
    Live *live = data;

    log_info("stopping", "cameras", G_TYPE_UINT, live->settings.cameras->len, NULL);
    begin_to_stop();
    g_idle_add_full(G_PRIORITY_HIGH, quit, live->loop, NULL);
    return G_SOURCE_CONTINUE;
}

static gboolean reload(gpointer data)
{
    Live *live = data;

    rooms_reload(&live->rooms);
    return G_SOURCE_REMOVE;
}

static gboolean on_hangup(gpointer data)
{
    g_idle_add(reload, data);
    return G_SOURCE_CONTINUE;
}

static void watch_signal(GMainContext *context, gint number, GSourceFunc func, Live *live)
{
    GSource *source = g_unix_signal_source_new(number);

    g_source_set_callback(source, func, live, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
}

static gpointer wait_for_signals(gpointer data)
{
    g_main_loop_run(data);
    return NULL;
}

static void free_room(gpointer data)
{
    room_free(data);
}

static gboolean add_room(Live *live, CameraSettings **settings, GError **error)
{
    Room *room = room_new(&live->settings, *settings, live->rooms.encoder, error);

    if (!room)
        return FALSE;
    *settings = NULL;
    g_ptr_array_add(live->rooms.rooms, room);
    rooms_enter(&live->rooms, room);
    return TRUE;
}

/* What a tracking pipeline is made of beside GStreamer's own elements. */
static gboolean find_plugin(GError **error)
{
    GstElementFactory *factory = gst_element_factory_find("samtrack");
    const gchar *path = g_getenv("GST_PLUGIN_PATH");

    if (!factory)
        g_set_error(error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN,
            "there is no element samtrack: expected libgstsamtrack.so in a folder of "
            "GST_PLUGIN_PATH, which is %s", path && *path ? path : "not set");
    g_clear_pointer(&factory, gst_object_unref);
    return !*error;
}

static gboolean start_cameras(Live *live, GError **error)
{
    const gchar *encoder = live->rooms.encoder = encoder_find();
    guint i;

    if (!find_plugin(error))
        return FALSE;
    if (!encoder) {
        g_set_error(error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN,
            "there is no H.264 encoder: install gstreamer1.0-plugins-ugly");
        return FALSE;
    }
    log_info("start", "version", G_TYPE_STRING, SAM_VERSION, "encoder", G_TYPE_STRING, encoder,
        "cameras", G_TYPE_UINT, live->settings.cameras->len, NULL);
    for (i = 0; i < live->settings.cameras->len; i++)
        if (!add_room(live, (CameraSettings **) &g_ptr_array_index(live->settings.cameras, i),
            error))
            return FALSE;
    return TRUE;
}

/* So that it is the same after a restart. */
static void keep_token(const Settings *settings)
{
    gchar *path = g_build_filename(settings->state_folder, SETTINGS_TOKEN, NULL);
    GError *error = NULL;

    if (secrets_write_token(path, settings->token, &error))
        log_info("token", "file", G_TYPE_STRING, path, NULL);
    else
        log_warning("token-lost", "file", G_TYPE_STRING, path, "why", G_TYPE_STRING,
            error ? error->message : "its mode cannot be set", NULL);
    g_clear_error(&error);
    g_free(path);
}

/* The journal keeps what is printed, and shows it to more people than may watch. */
static void print_addresses(Live *live)
{
    static const gchar *const streams[] = {"annotated", "clean"};
    const Settings *settings = &live->settings;
    const gboolean public = secrets_are_public();
    const gchar *s = settings->tls_certificate ? "s" : "";
    gchar *host = strchr(settings->address, ':') ? g_strdup_printf("[%s]", settings->address) :
        g_strdup(settings->address);
    gchar *query = public ? g_strdup("") : g_strconcat("?token=", settings->token, NULL);
    gchar *user = public ? g_strdup("") : g_strdup_printf("viewer:%s@", settings->token);
    const gchar *lost;
    guint i, k;

    if (settings->public_origin)
        printf("%s%s/%s\n", settings->public_origin, settings->public_path, query);
    printf("http%s://%s:%d/%s\n", s, host, http_get_port(live->rooms.http), query);
    for (i = 0; i < live->rooms.rooms->len; i++)
        for (k = 0; k < G_N_ELEMENTS(streams); k++)
            printf("rtsp%s://%s%s:%d/%s/%s\n", s, user, host, rtsp_get_port(live->rooms.rtsp),
                streams[k],
                camera_get_name(((Room *) g_ptr_array_index(live->rooms.rooms, i))->camera));
    lost = standard_flush();
    if (lost)
        log_warning("addresses-lost", "why", G_TYPE_STRING, lost, NULL);
    if (settings->token_made && (!settings->token_found || public || lost))
        keep_token(settings);
    g_free(host);
    g_free(query);
    g_free(user);
}

static gboolean start(Live *live, GError **error)
{
    guint i;

    for (i = 0; i < live->settings.secrets->len; i++)
        secrets_check(g_ptr_array_index(live->settings.secrets, i));
    live->rooms.rtsp = rtsp_new(&live->settings, error);
    if (!live->rooms.rtsp || !start_cameras(live, error))
        return FALSE;
    live->rooms.http = http_new(&live->settings, live->rooms.rooms, live->rooms.rtsp, error);
    if (live->rooms.http)
        http_set_change(live->rooms.http, rooms_change, &live->rooms);
    return live->rooms.http != NULL;
}

static void run(Live *live)
{
    GMainContext *context = g_main_context_new();
    GMainLoop *signals = g_main_loop_new(context, FALSE);
    GThread *thread;

    watch_signal(context, SIGINT, on_signal, live);
    watch_signal(context, SIGTERM, on_signal, live);
    if (live->settings.file)
        watch_signal(context, SIGHUP, on_hangup, live);
    thread = g_thread_new("signals", wait_for_signals, signals);
    print_addresses(live);
    g_main_loop_run(live->loop);
    g_main_loop_quit(signals);
    g_thread_join(thread);
    g_main_loop_unref(signals);
    g_main_context_unref(context);
}

static gboolean is_any_busy(GPtrArray *rooms)
{
    guint i;

    for (i = 0; i < rooms->len; i++)
        if (objects_are_busy(((Room *) g_ptr_array_index(rooms, i))->objects))
            return TRUE;
    return FALSE;
}

static void stop(Live *live)
{
    rooms_end(&live->rooms);
    /* Pages may ask for a saving in one room while another's is waited for. */
    while (is_any_busy(live->rooms.rooms))
        g_main_context_iteration(NULL, TRUE);
    g_clear_pointer(&live->rooms.http, http_free);
    g_clear_pointer(&live->rooms.rtsp, rtsp_free);
    g_ptr_array_set_size(live->rooms.rooms, 0);
    g_ptr_array_set_size(live->rooms.leaving, 0);
}

/* Viewers and sources come with threads of their own. glibc's malloc() hands these out over eight
 * heaps per processor, each of which keeps what the busiest moment took. */
static void limit_heaps(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 2);
#endif
}

/* Each viewer takes some; the usual limit of 1024 is one for programs that use select(). */
static void raise_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= MAX_FILES)
        return;
    limit.rlim_cur = MIN(limit.rlim_max, MAX_FILES);
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* TLS 1.2 at least, with forward secrecy and authenticated encryption. GnuTLS would go down to
 * TLS 1.0. Who has a camera that knows no better sets the variable. */
static void set_up_tls(void)
{
    g_setenv("G_TLS_GNUTLS_PRIORITY", TLS_PRIORITY, FALSE);
}

int main(int argc, char **argv)
{
    Live live = {0};
    GError *error = NULL;
    SettingsResult result;
    gboolean ok = TRUE;

    standard_begin("samtrack-live");
    signal(SIGPIPE, SIG_IGN); /* of a log that nobody reads */
    signal(SIGXFSZ, SIG_IGN); /* annotations that find no room are counted */
    limit_heaps();
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* numbers in JSON have a point */
    raise_files();
    set_up_tls();
    gst_init(NULL, NULL);
    live.rooms.words = g_strdupv(argv);
    result = settings_read(&live.settings, NULL, &argc, &argv, &error);
    if (result == SETTINGS_RUN) {
        live.loop = g_main_loop_new(NULL, FALSE);
        live.rooms.settings = &live.settings;
        live.rooms.rooms = g_ptr_array_new_with_free_func(free_room);
        live.rooms.leaving = g_ptr_array_new_with_free_func(free_room);
        ok = start(&live, &error);
        if (ok)
            run(&live);
        begin_to_stop();
        stop(&live);
        if (ok)
            log_info("stopped", "cameras", G_TYPE_UINT, live.settings.cameras->len, NULL);
        g_ptr_array_unref(live.rooms.rooms);
        g_ptr_array_unref(live.rooms.leaving);
        g_main_loop_unref(live.loop);
    }
    if (error) {
        gchar *text = secrets_hide(error->message);
        fprintf(stderr, "samtrack-live: %s\n", text);
        g_free(text);
        g_error_free(error);
    }
    settings_free(&live.settings);
    g_strfreev(live.rooms.words);
    return result == SETTINGS_BAD ? 2 : !ok;
}
