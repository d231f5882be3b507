/* SPDX-License-Identifier: MIT */
#include "access.h"

#include <string.h>

#define COOKIE "samtrack-live-%d"
#define SESSION_S (30 * 24 * 3600)

/* Takes as long wherever they differ. */
static gboolean is_same(const gchar *wanted, const gchar *text)
{
    const gsize n = strlen(wanted);
    guchar differ = 0;
    gsize i;

    if (!text || strlen(text) != n)
        return FALSE;
    for (i = 0; i < n; i++)
        differ |= wanted[i] ^ text[i];
    return !differ;
}

/* Who knows the token alone can write it. */
static gchar *sign(const Settings *settings, gint port, const gchar *session)
{
    gchar *text = g_strdup_printf(COOKIE " %s", port, session);
    gchar *mark = g_compute_hmac_for_string(G_CHECKSUM_SHA256, (const guchar *) settings->token,
        strlen(settings->token), text, -1);

    g_free(text);
    return mark;
}

/* BEGIN.RANDOM.SIGNATURE; BEGIN is in seconds since 1970. */
static gboolean is_session(const Settings *settings, gint port, const gchar *text)
{
    const gchar *dot = strrchr(text, '.');
    const gint64 age = g_get_real_time() / G_USEC_PER_SEC - g_ascii_strtoll(text, NULL, 10);
    gchar *session, *mark;
    gboolean ok;

    if (!dot || age < -300 || age > SESSION_S)
        return FALSE;
    session = g_strndup(text, dot - text);
    mark = sign(settings, port, session);
    ok = is_same(mark, dot + 1);
    g_free(session);
    g_free(mark);
    return ok;
}

static gboolean has_cookie(const Settings *settings, gint port, SoupMessageHeaders *headers)
{
    const gchar *text = soup_message_headers_get_list(headers, "Cookie");
    gchar **pairs = text ? g_strsplit(text, ";", 64) : NULL;
    gchar *name = g_strdup_printf(COOKIE "=", port);
    gboolean ok = FALSE;
    gsize i;

    for (i = 0; pairs && pairs[i]; i++) {
        const gchar *pair = g_strstrip(pairs[i]);
        ok |= g_str_has_prefix(pair, name) && is_session(settings, port, pair + strlen(name));
    }
    g_strfreev(pairs);
    g_free(name);
    return ok;
}

static gboolean has_query(const Settings *settings, SoupServerMessage *message)
{
    const gchar *query = g_uri_get_query(soup_server_message_get_uri(message));
    GHashTable *fields = query ? soup_form_decode(query) : NULL;
    const gboolean ok = fields && is_same(settings->token, g_hash_table_lookup(fields, "token"));

    g_clear_pointer(&fields, g_hash_table_unref);
    return ok;
}

gboolean access_has_token(const Settings *settings, gint port, SoupServerMessage *message)
{
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    const gchar *bearer = soup_message_headers_get_one(headers, "Authorization");

    return has_cookie(settings, port, headers) || has_query(settings, message) ||
        (bearer && g_str_has_prefix(bearer, "Bearer ") &&
            is_same(settings->token, bearer + strlen("Bearer ")));
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
    ok = !g_ascii_strcasecmp(origin, wanted) || (settings->public_origin &&
        !g_ascii_strcasecmp(origin, settings->public_origin));
    g_free(wanted);
    return ok;
}

/* Lax: a link on another site opens the page, and nothing else of another site has the cookie. */
gchar *access_make_cookie(const Settings *settings, gint port, const gchar *path)
{
    const gboolean secure = settings->tls_certificate ||
        (settings->public_origin && g_str_has_prefix(settings->public_origin, "https:"));
    gchar *session = g_strdup_printf("%" G_GINT64_FORMAT ".%08x%08x",
        g_get_real_time() / G_USEC_PER_SEC, g_random_int(), g_random_int());
    gchar *mark = sign(settings, port, session);
    gchar *cookie = g_strdup_printf(COOKIE "=%s.%s%s%s%s; HttpOnly; SameSite=Lax%s", port,
        session, mark, path ? "; Path=" : "", path ? path : "", path ? "/" : "",
        secure ? "; Secure" : "");

    g_free(session);
    g_free(mark);
    return cookie;
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
