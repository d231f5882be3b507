/* SPDX-License-Identifier: MIT */
#include "sign.h"

#include "fault.h"

#include <string.h>

#define DAY_CHARACTERS 8
#define HASH_BYTES 32
/* Of a signed URL: a week, which is the most. */
#define MOST_SECONDS 604800

static gchar *get_variable(const gchar *name)
{
    const gchar *text = g_getenv(name);

    return text && *text ? g_strdup(text) : NULL;
}

gboolean sign_read_keys(SignKeys *keys, GError **error)
{
    keys->id = get_variable("AWS_ACCESS_KEY_ID");
    keys->secret = get_variable("AWS_SECRET_ACCESS_KEY");
    keys->token = get_variable("AWS_SESSION_TOKEN");
    keys->region = get_variable("AWS_REGION");
    if (!keys->region)
        keys->region = get_variable("AWS_DEFAULT_REGION");
    if (!keys->region)
        keys->region = g_strdup("us-east-1");
    return !keys->id == !keys->secret || fault_set(error, FAULT_SETTINGS, "%s is set, but %s is "
        "not", keys->id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY", keys->id ?
        "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
}

void sign_clear_keys(SignKeys *keys)
{
    g_clear_pointer(&keys->id, g_free);
    g_clear_pointer(&keys->secret, g_free);
    g_clear_pointer(&keys->token, g_free);
    g_clear_pointer(&keys->region, g_free);
}

/* @key is that of the next one afterwards. */
static void derive(guint8 key[HASH_BYTES], const gchar *text)
{
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, key, HASH_BYTES);
    gsize bytes = HASH_BYTES;

    g_hmac_update(hmac, (const guchar *) text, strlen(text));
    g_hmac_get_digest(hmac, key, &bytes);
    g_hmac_unref(hmac);
}

/* The key of a day, a region and a service signs; the secret itself does not. */
static gchar *sign_text(const SignKeys *keys, const gchar *day, const gchar *text)
{
    gchar *secret = g_strconcat("AWS4", keys->secret, NULL);
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, (const guchar *) secret, strlen(secret));
    guint8 key[HASH_BYTES];
    gsize bytes = sizeof key;

    g_hmac_update(hmac, (const guchar *) day, strlen(day));
    g_hmac_get_digest(hmac, key, &bytes);
    g_hmac_unref(hmac);
    g_free(secret);
    derive(key, keys->region);
    derive(key, "s3");
    derive(key, "aws4_request");
    return g_compute_hmac_for_string(G_CHECKSUM_SHA256, key, sizeof key, text, -1);
}

/* @query: of the URL, sorted and encoded; @headers: the lines of those that @names lists. */
static gchar *get_signature(const SignKeys *keys, const SignRequest *r, const gchar *query,
    const gchar *headers, const gchar *names, const gchar *scope)
{
    gchar *canonical = g_strdup_printf("%s\n%s\n%s\n%s\n%s\n%s", r->method, r->path, query,
        headers, names, r->hash ? r->hash : "UNSIGNED-PAYLOAD");
    gchar *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, canonical, -1);
    gchar *text = g_strdup_printf("AWS4-HMAC-SHA256\n%s\n%s\n%s", r->date, scope, sum);
    gchar *day = g_strndup(r->date, DAY_CHARACTERS);
    gchar *signature = sign_text(keys, day, text);

    g_free(day);
    g_free(text);
    g_free(sum);
    g_free(canonical);
    return signature;
}

static gchar *get_scope(const SignKeys *keys, const SignRequest *r)
{
    return g_strdup_printf("%.*s/%s/s3/aws4_request", DAY_CHARACTERS, r->date, keys->region);
}

gchar *sign_request(const SignKeys *keys, const SignRequest *r)
{
    const gchar *names = keys->token ? "host;x-amz-content-sha256;x-amz-date;x-amz-security-token" :
        "host;x-amz-content-sha256;x-amz-date";
    gchar *token = keys->token ? g_strdup_printf("x-amz-security-token:%s\n", keys->token) :
        g_strdup("");
    gchar *headers = g_strdup_printf("host:%s\nx-amz-content-sha256:%s\nx-amz-date:%s\n%s", r->host,
        r->hash, r->date, token);
    gchar *scope = get_scope(keys, r);
    gchar *signature = get_signature(keys, r, "", headers, names, scope);
    gchar *header = g_strdup_printf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, "
        "Signature=%s", keys->id, scope, names, signature);

    g_free(signature);
    g_free(scope);
    g_free(headers);
    g_free(token);
    return header;
}

gchar *sign_query(const SignKeys *keys, const SignRequest *r)
{
    gchar *scope = get_scope(keys, r);
    gchar *whose = g_strdup_printf("%s/%s", keys->id, scope);
    gchar *credential = g_uri_escape_string(whose, NULL, FALSE);
    gchar *token = keys->token ? g_uri_escape_string(keys->token, NULL, FALSE) : NULL;
    gchar *query = g_strdup_printf("X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=%s&"
        "X-Amz-Date=%s&X-Amz-Expires=%d%s%s&X-Amz-SignedHeaders=host", credential, r->date,
        MOST_SECONDS, token ? "&X-Amz-Security-Token=" : "", token ? token : "");
    gchar *headers = g_strdup_printf("host:%s\n", r->host);
    gchar *signature = get_signature(keys, r, query, headers, "host", scope);
    gchar *whole = g_strconcat(query, "&X-Amz-Signature=", signature, NULL);

    g_free(signature);
    g_free(headers);
    g_free(query);
    g_free(token);
    g_free(credential);
    g_free(whose);
    g_free(scope);
    return whole;
}
