/* SPDX-License-Identifier: MIT */
#include "object.h"

#include "fault.h"
#include "sign.h"

#include <string.h>

#define SCHEME "s3://"
#define LEAST_BUCKET 3
#define MOST_BUCKET 63
#define MOST_KEY 1024

gboolean object_is(const gchar *uri)
{
    return g_str_has_prefix(uri, SCHEME);
}

/* Whoever asks by HTTP would leave out a part that is . or .. */
static gboolean has_dots(const gchar *key)
{
    gchar **parts = g_strsplit(key, "/", -1);
    gboolean any = FALSE;
    guint i;

    for (i = 0; parts[i]; i++)
        any |= !strcmp(parts[i], ".") || !strcmp(parts[i], "..");
    g_strfreev(parts);
    return any;
}

gboolean object_check(const gchar *uri, GError **error)
{
    const gchar *bucket = uri + strlen(SCHEME), *key = strchr(bucket, '/');
    const gsize length = key ? (gsize) (key - bucket) : strlen(bucket);
    const gsize more = key ? strlen(key + 1) : 0;

    if (length < LEAST_BUCKET || length > MOST_BUCKET ||
        strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-") != length)
        return fault_set(error, FAULT_SETTINGS, "the bucket of '%s' is not %d to %d of a-z, 0-9, . "
            "and -", uri, LEAST_BUCKET, MOST_BUCKET);
    if (more < 1 || more > MOST_KEY || has_dots(key + 1))
        return fault_set(error, FAULT_SETTINGS, "the key of '%s' has %" G_GSIZE_FORMAT " bytes or "
            "a part that is . or .., expected 1 to %d bytes without", uri, more, MOST_KEY);
    return TRUE;
}

/* Without a slash at its end; NULL with an error. */
static gchar *get_endpoint(const SignKeys *keys, GError **error)
{
    const gchar *url = g_getenv("AWS_ENDPOINT_URL_S3");
    gchar *text;
    GUri *uri;
    gboolean ok;

    if (!url || !*url)
        url = g_getenv("AWS_ENDPOINT_URL");
    text = url && *url ? g_strdup(url) : g_strdup_printf("https://s3.%s.amazonaws.com",
        keys->region);
    while (g_str_has_suffix(text, "/"))
        text[strlen(text) - 1] = 0;
    uri = g_uri_parse(text, G_URI_FLAGS_HAS_PASSWORD, NULL);
    ok = uri && (!strcmp(g_uri_get_scheme(uri), "http") ||
        !strcmp(g_uri_get_scheme(uri), "https")) && g_uri_get_host(uri) && *g_uri_get_host(uri) &&
        !*g_uri_get_path(uri) && !g_uri_get_userinfo(uri) && !strpbrk(text, "?#");
    g_clear_pointer(&uri, g_uri_unref);
    if (!ok) {
        fault_set(error, FAULT_SETTINGS, "AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or AWS_REGION make "
            "no URL: expected http:// or https://, a host and perhaps a port");
        g_clear_pointer(&text, g_free);
    }
    return text;
}

gchar *object_get_url(const gchar *uri, GError **error)
{
    GDateTime *now = g_date_time_new_now_utc();
    gchar *date = g_date_time_format(now, "%Y%m%dT%H%M%SZ");
    gchar *path = g_uri_escape_string(uri + strlen(SCHEME) - 1, "/", FALSE);
    gchar *endpoint = NULL, *url = NULL;
    SignKeys keys = {NULL};

    if (sign_read_keys(&keys, error))
        endpoint = get_endpoint(&keys, error);
    if (endpoint && keys.id) {
        const SignRequest request = {"GET", strstr(endpoint, "://") + 3, path, NULL, date};
        gchar *query = sign_query(&keys, &request);

        url = g_strconcat(endpoint, path, "?", query, NULL);
        g_free(query);
    } else if (endpoint) {
        url = g_strconcat(endpoint, path, NULL);
    }
    sign_clear_keys(&keys);
    g_free(endpoint);
    g_free(path);
    g_free(date);
    g_date_time_unref(now);
    return url;
}
