/* SPDX-License-Identifier: MIT */
#include "store.h"

#include "document.h"
#include "fault.h"
#include "sheet.h"
#include "sign.h"

#include <gio/gio.h>
#include <libsoup/soup.h>
#include <string.h>

/* Requests of one kind: pauses of 0.2, 0.4 ... 3.2 s are between them. */
#define MOST_TRIES 6
#define FIRST_PAUSE_MS 200
#define PAUSE_STEP_MS 50
/* Of an answer: those that are read are item.json and job.json. */
#define MOST_ANSWER (16 << 20)
#define HEADERS_VARIABLE "SAMTRACK_STORE_HEADERS"

struct Store {
    SoupSession *session;
    gchar *url, *host;
    const gint *interrupted;
    SignKeys keys;
    GPtrArray *headers; /* of gchar *[2]: name and value */
};

/* A request, which may be sent several times. */
typedef struct {
    const gchar *method, *path;
    const gchar *file; /* (nullable): the body; else @text */
    const gchar *text;
    const gchar *hash; /* of the body */
    gboolean first;    /* only if there is none of that name */
    GBytes *answer;
    guint status;      /* 0: none came */
    GError *error;
} Request;

gboolean store_check(const gchar *url, GError **error)
{
    GUri *uri = g_uri_parse(url, SOUP_HTTP_URI_FLAGS, NULL);
    const gchar *scheme = uri ? g_uri_get_scheme(uri) : NULL, *host = uri ? g_uri_get_host(uri) :
        NULL;
    gboolean ok = TRUE;

    if (!uri || (strcmp(scheme, "http") && strcmp(scheme, "https")) || !host || !*host)
        ok = fault_set(error, FAULT_SETTINGS, "the store is no URL of http:// or https://");
    else if (g_uri_get_userinfo(uri) || g_uri_get_query(uri) || g_uri_get_fragment(uri) ||
        strpbrk(url, "?#"))
        ok = fault_set(error, FAULT_SETTINGS, "the store's URL has a user, a query or a fragment: "
            "expected none, since it is printed; credentials are read from the environment");
    g_clear_pointer(&uri, g_uri_unref);
    return ok;
}

/* Their values are secret: no error has them. */
static gboolean read_headers(Store *store, GError **error)
{
    const gchar *path = g_getenv(HEADERS_VARIABLE);
    gchar *text = NULL, **lines;
    GError *why = NULL;
    gboolean ok = TRUE;
    guint i;

    if (!path || !*path)
        return TRUE;
    if (!g_file_get_contents(path, &text, NULL, &why)) {
        fault_set(error, FAULT_SETTINGS, HEADERS_VARIABLE ": %s", why->message);
        g_error_free(why);
        return FALSE;
    }
    lines = g_strsplit(text, "\n", -1);
    for (i = 0; ok && lines[i]; i++) {
        gchar *colon = strchr(g_strchomp(lines[i]), ':'), **pair;
        const gsize length = colon ? colon - lines[i] : 0;

        if (!*lines[i])
            continue;
        ok = length && strcspn(lines[i], " \t\"(),/;<=>?@[\\]{}:") == length &&
            g_utf8_validate(lines[i], -1, NULL) && !strpbrk(lines[i], "\r\v\f\x7f");
        if (!ok)
            fault_set(error, FAULT_SETTINGS, HEADERS_VARIABLE ": line %u of '%s' is not "
                "'Name: value'", i + 1, path);
        else {
            pair = g_new0(gchar *, 3);
            pair[0] = g_strndup(lines[i], length);
            pair[1] = g_strdup(g_strchug(colon + 1));
            g_ptr_array_add(store->headers, pair);
        }
    }
    g_strfreev(lines);
    g_free(text);
    return ok;
}

static void authorize(const Store *store, SoupMessage *message, const Request *r)
{
    SoupMessageHeaders *headers = soup_message_get_request_headers(message);
    GDateTime *now;
    gchar *date, *value, *path;
    SignRequest request;
    guint i;

    for (i = 0; i < store->headers->len; i++) {
        gchar **pair = g_ptr_array_index(store->headers, i);

        soup_message_headers_append(headers, pair[0], pair[1]);
    }
    if (store->headers->len || !store->keys.id)
        return;
    now = g_date_time_new_now_utc();
    date = g_date_time_format(now, "%Y%m%dT%H%M%SZ");
    path = g_strdup(g_uri_get_path(soup_message_get_uri(message)));
    request = (SignRequest) {r->method, store->host, path, r->hash, date};
    value = sign_request(&store->keys, &request);
    soup_message_headers_replace(headers, "Host", store->host);
    soup_message_headers_replace(headers, "X-Amz-Content-Sha256", r->hash);
    soup_message_headers_replace(headers, "X-Amz-Date", date);
    if (store->keys.token)
        soup_message_headers_replace(headers, "X-Amz-Security-Token", store->keys.token);
    soup_message_headers_replace(headers, "Authorization", value);
    g_free(value);
    g_free(path);
    g_free(date);
    g_date_time_unref(now);
}

static gboolean set_body(SoupMessage *message, const Request *r, GError **error)
{
    GFileInputStream *stream;
    GFileInfo *info;
    GFile *file;

    if (!r->file) {
        GBytes *bytes = r->text ? g_bytes_new(r->text, strlen(r->text)) : NULL;

        soup_message_set_request_body_from_bytes(message, bytes ? "application/json" : NULL, bytes);
        g_clear_pointer(&bytes, g_bytes_unref);
        return TRUE;
    }
    file = g_file_new_for_path(r->file);
    stream = g_file_read(file, NULL, error);
    info = stream ? g_file_input_stream_query_info(stream, G_FILE_ATTRIBUTE_STANDARD_SIZE, NULL,
        error) : NULL;
    if (info)
        soup_message_set_request_body(message, "application/octet-stream", G_INPUT_STREAM(stream),
            g_file_info_get_size(info));
    g_clear_object(&stream);
    g_object_unref(file);
    if (!info)
        return FALSE;
    g_object_unref(info);
    return TRUE;
}

/* Over a connection that the store had closed: the body is read from its begin again. */
static void on_restarted(SoupMessage *message, gpointer data)
{
    set_body(message, data, NULL);
}

static void receive(Store *store, SoupMessage *message, Request *r)
{
    GInputStream *stream = soup_session_send(store->session, message, NULL, &r->error);
    GOutputStream *memory;
    guint8 room[4096];
    gssize n = stream ? 1 : -1;
    gsize all = 0;

    if (!stream)
        return;
    memory = g_memory_output_stream_new_resizable();
    while (n > 0 && all <= MOST_ANSWER) {
        n = g_input_stream_read(stream, room, sizeof room, NULL, &r->error);
        if (n > 0 && !g_output_stream_write_all(memory, room, n, NULL, NULL, &r->error))
            n = -1;
        all += MAX(n, 0);
    }
    g_output_stream_close(memory, NULL, NULL);
    if (n > 0)
        r->error = g_error_new_literal(G_IO_ERROR, G_IO_ERROR_MESSAGE_TOO_LARGE, "the answer is "
            "too long");
    if (!r->error) {
        r->answer = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(memory));
        r->status = soup_message_get_status(message);
    }
    g_object_unref(memory);
    g_object_unref(stream);
}

/* Once. */
static void send_once(Store *store, Request *r)
{
    gchar *path = g_uri_escape_string(r->path, "/", FALSE);
    gchar *url = g_strconcat(store->url, "/", path, NULL);
    SoupMessage *message = soup_message_new(r->method, url);

    r->status = 0;
    g_clear_error(&r->error);
    g_clear_pointer(&r->answer, g_bytes_unref);
    /* Credentials are for this store alone. */
    soup_message_add_flags(message, SOUP_MESSAGE_NO_REDIRECT);
    authorize(store, message, r);
    if (r->first)
        soup_message_headers_replace(soup_message_get_request_headers(message), "If-None-Match",
            "*");
    g_signal_connect(message, "restarted", G_CALLBACK(on_restarted), r);
    if (set_body(message, r, &r->error))
        receive(store, message, r);
    g_object_unref(message);
    g_free(url);
    g_free(path);
}

/* Whether another try may end otherwise. */
static gboolean may_pass(const Request *r)
{
    return !r->status || r->status == 408 || r->status == 409 || r->status == 429 ||
        (r->status >= 500 && r->status != SOUP_STATUS_NOT_IMPLEMENTED);
}

static gboolean is_interrupted(const Store *store)
{
    return store->interrupted && g_atomic_int_get(store->interrupted);
}

/* Signals are seen meanwhile. */
static void pause_for(const Store *store, guint ms)
{
    guint past;

    for (past = 0; past < ms && !is_interrupted(store); past += PAUSE_STEP_MS) {
        g_usleep(PAUSE_STEP_MS * 1000);
        while (g_main_context_iteration(NULL, FALSE))
            ;
    }
}

static void ask(Store *store, Request *r)
{
    guint n;

    send_once(store, r);
    for (n = 1; n < MOST_TRIES && may_pass(r) && !is_interrupted(store); n++) {
        pause_for(store, FIRST_PAUSE_MS << (n - 1));
        if (!is_interrupted(store))
            send_once(store, r);
    }
}

/* Credentials, and a store that is away, are the same for all files. */
static gboolean fail(const Store *store, const Request *r, GError **error)
{
    const gboolean all = may_pass(r) || r->status == SOUP_STATUS_UNAUTHORIZED ||
        r->status == SOUP_STATUS_FORBIDDEN;
    const Fault fault = all ? FAULT_STORE : FAULT_TRANSIENT;

    if (r->status)
        return fault_set(error, fault, "'%s/%s': the store answers %s with %u %s", store->url,
            r->path, r->method, r->status, soup_status_get_phrase(r->status));
    return fault_set(error, fault, "'%s/%s': the store does not answer %s: %s", store->url, r->path,
        r->method, r->error->message);
}

static void clear(Request *r)
{
    g_clear_error(&r->error);
    g_clear_pointer(&r->answer, g_bytes_unref);
}

static gchar *hash_text(const gchar *text)
{
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

gboolean store_put(Store *store, const gchar *path, const gchar *file, GError **error)
{
    gchar *hash = sheet_hash_file(file, error);
    Request r = {.method = "PUT", .path = path, .file = file, .hash = hash};
    gboolean ok = hash != NULL;

    if (ok) {
        ask(store, &r);
        ok = SOUP_STATUS_IS_SUCCESSFUL(r.status) || fail(store, &r, error);
    }
    clear(&r);
    g_free(hash);
    return ok;
}

/* For stores that do not know the condition: there may be two at the same moment, of which the
 * second stays. */
static StoreOutcome put_plainly(Store *store, Request *r, GError **error)
{
    GError *why = NULL;
    gchar *there = store_get(store, r->path, &why);
    StoreOutcome outcome = there ? STORE_LOST : STORE_FAILED;

    if (why) {
        g_propagate_error(error, why);
    } else if (!there) {
        r->first = FALSE;
        ask(store, r);
        if (SOUP_STATUS_IS_SUCCESSFUL(r->status))
            outcome = STORE_WON;
        else
            fail(store, r, error);
    }
    g_free(there);
    return outcome;
}

StoreOutcome store_put_first(Store *store, const gchar *path, const gchar *text, GError **error)
{
    gchar *hash = hash_text(text);
    Request r = {.method = "PUT", .path = path, .text = text, .hash = hash, .first = TRUE};
    StoreOutcome outcome = STORE_FAILED;

    ask(store, &r);
    if (SOUP_STATUS_IS_SUCCESSFUL(r.status))
        outcome = STORE_WON;
    else if (r.status == SOUP_STATUS_PRECONDITION_FAILED)
        outcome = STORE_LOST;
    else if (r.status == SOUP_STATUS_NOT_IMPLEMENTED)
        outcome = put_plainly(store, &r, error);
    else
        fail(store, &r, error);
    clear(&r);
    g_free(hash);
    return outcome;
}

gchar *store_get(Store *store, const gchar *path, GError **error)
{
    gchar *hash = hash_text(""), *text = NULL;
    Request r = {.method = "GET", .path = path, .hash = hash};
    gconstpointer data;
    gsize bytes;

    ask(store, &r);
    if (SOUP_STATUS_IS_SUCCESSFUL(r.status)) {
        data = g_bytes_get_data(r.answer, &bytes);
        text = g_strndup(data ? data : "", bytes);
    } else if (r.status != SOUP_STATUS_NOT_FOUND) {
        fail(store, &r, error);
    }
    clear(&r);
    g_free(hash);
    return text;
}

void store_remove(Store *store, const gchar *path)
{
    gchar *hash = hash_text("");
    Request r = {.method = "DELETE", .path = path, .hash = hash};

    send_once(store, &r);
    clear(&r);
    g_free(hash);
}

/* Two jobs in one folder would mix their results. */
static gboolean check_run(Store *store, const gchar *run, GError **error)
{
    JsonObject *object = json_object_new(), *there;
    gchar *ours, *text = store_get(store, "job.json", NULL);
    gboolean ok = text != NULL;

    json_object_set_string_member(object, "run", run);
    ours = json_write_object(object);
    if (!ok) { /* whoever may not list a folder is not told that there is none */
        const StoreOutcome outcome = store_put_first(store, "job.json", ours, error);

        ok = outcome == STORE_WON;
        text = outcome == STORE_LOST ? store_get(store, "job.json", error) : NULL;
    }
    there = text ? json_read_object(text, strlen(text), NULL) : NULL;
    if (text)
        ok = (there && !strcmp(json_get_text(there, "run", ""), run)) || fault_set(error,
            FAULT_SETTINGS, "the store '%s' has the results of another job", store->url);
    g_clear_pointer(&there, json_object_unref);
    g_free(ours);
    g_free(text);
    return ok;
}

static gchar *get_host(const gchar *url)
{
    GUri *uri = g_uri_parse(url, SOUP_HTTP_URI_FLAGS, NULL);
    const gboolean tls = !strcmp(g_uri_get_scheme(uri), "https");
    const gchar *host = g_uri_get_host(uri), *mark = strchr(host, ':') ? "[" : "";
    const gint port = g_uri_get_port(uri);
    gchar *text = g_strconcat(mark, host, *mark ? "]" : "", NULL), *whole;

    whole = port < 0 || port == (tls ? 443 : 80) ? g_strdup(text) :
        g_strdup_printf("%s:%d", text, port);
    g_free(text);
    g_uri_unref(uri);
    return whole;
}

Store *store_open(const gchar *url, const gchar *run, gint patience, const gint *interrupted,
    GError **error)
{
    Store *store = g_new0(Store, 1);

    store->headers = g_ptr_array_new_with_free_func((GDestroyNotify) g_strfreev);
    store->interrupted = interrupted;
    store->session = soup_session_new_with_options("timeout", (guint) patience, "user-agent",
        "samtrack-batch/" SAM_VERSION, NULL);
    store->url = g_strdup(url);
    while (g_str_has_suffix(store->url, "/"))
        store->url[strlen(store->url) - 1] = 0;
    if (store_check(url, error)) {
        store->host = get_host(url);
        if (read_headers(store, error) && sign_read_keys(&store->keys, error) &&
            check_run(store, run, error))
            return store;
    }
    store_close(store);
    return NULL;
}

void store_close(Store *store)
{
    if (!store)
        return;
    g_object_unref(store->session);
    g_ptr_array_unref(store->headers);
    sign_clear_keys(&store->keys);
    g_free(store->host);
    g_free(store->url);
    g_free(store);
}
