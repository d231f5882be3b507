/* SPDX-License-Identifier: MIT */
#include "address.h"

#include "reason.h"
#include "refuse.h"
#include "secrets.h"

#include <gst/gst.h>
#include <string.h>

/* One that GStreamer opens by its address. */
static gboolean find_remote(CameraSettings *camera, gboolean *known, GError **error)
{
    gchar *need = reason_of_scheme(camera->source, known);
    gchar *shown = secrets_hide(camera->source);
    const gboolean ok = *known && !need;

    camera->kind = !g_ascii_strncasecmp(camera->source, "rtsp", 4) ? SOURCE_RTSP :
        !g_ascii_strncasecmp(camera->source, "http", 4) ? SOURCE_HTTP : SOURCE_STREAM;
    if (ok)
        camera->location = g_strdup(camera->source);
    else if (need)
        refuse(error, "the source of camera '%s' is '%s', for which GStreamer lacks %s",
            camera->name, shown, need);
    g_free(need);
    g_free(shown);
    return ok;
}

gboolean address_find_source(CameraSettings *camera, GError **error)
{
    const gchar *source = camera->source;
    gboolean known = FALSE;
    gchar *shown;

    if (!source || !*source)
        return refuse(error, "the camera '%s' has no source", camera->name);
    if (!strcmp(source, "demo") || !strcmp(source, "test")) {
        camera->kind = *source == 'd' ? SOURCE_DEMO : SOURCE_TEST;
    } else if (g_str_has_prefix(source, "v4l2:///dev/") || g_str_has_prefix(source, "/dev/")) {
        camera->kind = SOURCE_V4L2;
        camera->location = g_strdup(*source == 'v' ? source + strlen("v4l2://") : source);
    } else if (g_str_has_prefix(source, "file://")) {
        camera->kind = SOURCE_FILE;
        camera->location = g_strdup(source);
    } else if (g_file_test(source, G_FILE_TEST_IS_REGULAR)) {
        camera->kind = SOURCE_FILE;
        camera->location = gst_filename_to_uri(source, error);
        return camera->location != NULL;
    } else if (!find_remote(camera, &known, error)) {
        if (known)
            return FALSE;
        shown = secrets_hide(source);
        refuse(error, "the source of camera '%s' is '%s', expected rtsp://, rtsps://, http://, "
            "https://, srt://, rtmp://, udp://, file://, a video file, /dev/video*, demo or test",
            camera->name, shown);
        g_free(shown);
        return FALSE;
    }
    return TRUE;
}

/* As browsers write it: small letters, and no port where it is the scheme's own. */
static gchar *make_origin(GUri *uri)
{
    gchar *host = g_ascii_strdown(g_uri_get_host(uri), -1);
    gchar *scheme = g_ascii_strdown(g_uri_get_scheme(uri), -1);
    const gint port = g_uri_get_port(uri), own = strcmp(scheme, "https") ? 80 : 443;
    const gboolean six = strchr(host, ':') != NULL;
    gchar *number = port < 0 || port == own ? g_strdup("") : g_strdup_printf(":%d", port);
    gchar *origin = g_strdup_printf("%s://%s%s%s%s", scheme, six ? "[" : "", host, six ? "]" : "",
        number);

    g_free(number);
    g_free(host);
    g_free(scheme);
    return origin;
}

static gboolean is_page(GUri *uri)
{
    const gchar *scheme = g_uri_get_scheme(uri), *path = g_uri_get_path(uri);

    return (!g_ascii_strcasecmp(scheme, "http") || !g_ascii_strcasecmp(scheme, "https")) &&
        g_uri_get_host(uri) && *g_uri_get_host(uri) && !g_uri_get_userinfo(uri) &&
        !g_uri_get_query(uri) && !g_uri_get_fragment(uri) && !strstr(path, "//") &&
        !strpbrk(path, "\"'<>;, \\%");
}

gboolean address_read_public(Settings *settings, GError **error)
{
    GUri *uri;
    gboolean ok;

    settings->public_path = g_strdup("");
    if (!settings->public_url)
        return TRUE;
    uri = g_uri_parse(settings->public_url, G_URI_FLAGS_NONE, NULL);
    ok = uri && is_page(uri);
    if (ok) {
        g_free(settings->public_path);
        settings->public_origin = make_origin(uri);
        settings->public_path = g_strdup(g_uri_get_path(uri));
        if (g_str_has_suffix(settings->public_path, "/"))
            settings->public_path[strlen(settings->public_path) - 1] = 0;
    }
    g_clear_pointer(&uri, g_uri_unref);
    return ok || refuse(error, "public-url is '%s', expected the address of the page in browsers, "
        "as https://cam.example.org or https://example.org/cam", settings->public_url);
}

const gchar *address_strip(const Settings *settings, const gchar *path)
{
    const gsize n = strlen(settings->public_path);

    return n && !strncmp(path, settings->public_path, n) && (path[n] == '/' || !path[n]) ?
        path + n : path;
}
