#include "access.h"

#include <string.h>

#define COOKIE "samtrack-live-"

/* Takes as long wherever they differ. */
static gboolean is_token(const Settings *settings, const gchar *text)
{
    const gsize n = strlen(settings->token);
    guchar differ = 0;
    gsize i;

    if (!text || strlen(text) != n)
        return FALSE;
    for (i = 0; i < n; i++)
        differ |= settings->token[i] ^ text[i];
    return !differ;
}

static gboolean has_cookie(const Settings *settings, SoupMessageHeaders *headers)
{
    const gchar *text = soup_message_headers_get_list(headers, "Cookie");
    gchar **pairs = text ? g_strsplit(text, ";", 64) : NULL;
    gboolean ok = FALSE;
    gsize i;

    for (i = 0; pairs && pairs[i]; i++) {
        const gchar *pair = g_strstrip(pairs[i]), *equals = strchr(pair, '=');
        ok |= g_str_has_prefix(pair, COOKIE) && equals && is_token(settings, equals + 1);
    }
    g_strfreev(pairs);
    return ok;
}

static gboolean has_query(const Settings *settings, SoupServerMessage *message)
{
    const gchar *query = g_uri_get_query(soup_server_message_get_uri(message));
    GHashTable *fields = query ? soup_form_decode(query) : NULL;
    const gboolean ok = fields && is_token(settings, g_hash_table_lookup(fields, "token"));

    g_clear_pointer(&fields, g_hash_table_unref);
    return ok;
}

gboolean access_has_token(const Settings *settings, SoupServerMessage *message)
{
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    const gchar *bearer = soup_message_headers_get_one(headers, "Authorization");

    return has_cookie(settings, headers) || has_query(settings, message) ||
        (bearer && g_str_has_prefix(bearer, "Bearer ") &&
            is_token(settings, bearer + strlen("Bearer ")));
}

gboolean access_has_origin(const Settings *settings, SoupServerMessage *message)
{
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    const gchar *origin = soup_message_headers_get_list(headers, "Origin");
    const gchar *host = soup_message_headers_get_list(headers, "Host");
    gchar *wanted;
    gboolean ok;

    if (!origin)
        return TRUE;
    wanted = g_strdup_printf("%s://%s", settings->tls_certificate ? "https" : "http",
        host ? host : "");
    ok = !g_ascii_strcasecmp(origin, wanted);
    g_free(wanted);
    return ok;
}

gchar *access_make_cookie(const Settings *settings, gint port)
{
    return g_strdup_printf(COOKIE "%d=%s; Path=/; HttpOnly; SameSite=Strict%s", port,
        settings->token,
        settings->tls_certificate ? "; Secure" : "");
}

gboolean rate_take(Rate *rate, gdouble per_second, gdouble most)
{
    const gint64 now = g_get_monotonic_time();

    rate->used = MAX(0, rate->used - (now - rate->last) / 1e6 * per_second);
    rate->last = now;
    if (rate->used + 1 > most)
        return FALSE;
    rate->used++;
    return TRUE;
}
