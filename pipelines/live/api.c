/* SPDX-License-Identifier: MIT */
#include "api.h"

#include "apichange.h"
#include "apitell.h"
#include "later.h"
#include "pages.h"

#include <string.h>

#define MAX_BODY 65536 /* bytes */
#define STILL_US (2 * G_USEC_PER_SEC) /* that a picture is given again */
#define DEFAULT_EVENTS 100

struct Api {
    const Settings *settings;
    GPtrArray *rooms;
    ApiChange change;
    gpointer user;
    guint pending; /* answers that are being made */
};

/* A request. */
typedef struct {
    Api *api;
    SoupServerMessage *message;
    const gchar *method;
    GHashTable *query; /* NULL: there is none */
    Room *room;        /* that the path names; NULL: it names none */
    const gchar *name; /* of the camera in the path */
    gchar *last;       /* what stands for {number} */
} Call;

static void answer(SoupServerMessage *message, guint status, const gchar *type, const gchar *text,
    gsize bytes)
{
    soup_server_message_set_status(message, status, NULL);
    soup_server_message_set_response(message, type, SOUP_MEMORY_COPY, text, bytes);
}

static void refuse(SoupServerMessage *message, guint status, const gchar *why)
{
    answer(message, status, "text/plain; charset=utf-8", why, strlen(why));
}

static void answer_json(SoupServerMessage *message, guint status, JsonBuilder *b)
{
    GString *text = api_tell_end(b);

    answer(message, status, "application/json", text->str, text->len);
    g_string_free(text, TRUE);
}

static void answer_bytes(SoupServerMessage *message, const gchar *type, GBytes *bytes)
{
    soup_server_message_set_status(message, SOUP_STATUS_OK, NULL);
    soup_message_headers_set_content_type(soup_server_message_get_response_headers(message), type,
        NULL);
    soup_message_body_append_bytes(soup_server_message_get_response_body(message), bytes);
}

static Room *find_room(Api *api, const gchar *name)
{
    guint i;

    for (i = 0; i < api->rooms->len; i++) {
        Room *room = g_ptr_array_index(api->rooms, i);

        if (!strcmp(room->settings->name, name))
            return room;
    }
    return NULL;
}

/* ---- Changes */

typedef struct {
    Api *api;
    Later *later;
    ApiJob *job;
} Work;

static void refuse_change(SoupServerMessage *message, ApiResult result, const GError *error)
{
    static const guint statuses[] = {[API_REFUSED] = SOUP_STATUS_BAD_REQUEST,
        [API_BUSY] = SOUP_STATUS_SERVICE_UNAVAILABLE,
        [API_UNWRITTEN] = SOUP_STATUS_INSUFFICIENT_STORAGE};
    gchar *why = api_tell_sentence(error->message);

    refuse(message, statuses[result], why);
    g_free(why);
}

static void answer_change(Api *api, SoupServerMessage *message, const ApiJob *job)
{
    Room *room = find_room(api, job->camera);
    gchar *path;

    if (job->kind == API_REMOVE) {
        soup_server_message_set_status(message, SOUP_STATUS_NO_CONTENT, NULL);
        return;
    }
    if (job->kind == API_ADD) {
        path = g_strconcat("cameras/", job->camera, NULL);
        soup_message_headers_replace(soup_server_message_get_response_headers(message), "Location",
            path);
        g_free(path);
    }
    if (room)
        answer_json(message, job->kind == API_ADD ? SOUP_STATUS_CREATED : SOUP_STATUS_OK,
            api_tell_camera(room, api->settings->changes));
    else /* another change came meanwhile */
        soup_server_message_set_status(message, SOUP_STATUS_NOT_FOUND, NULL);
}

/* In the main loop, not in libsoup's call: cameras that end run the main loop. */
static gboolean change(gpointer data)
{
    Work *work = data;
    Api *api = work->api;
    SoupServerMessage *message = work->later->message;
    Room *room = find_room(api, work->job->camera);
    guint status = 0;
    const gchar *why = api_job_check(work->job, room, api->rooms->len, &status);
    GError *error = NULL;
    GKeyFile *changes;
    ApiResult result;

    if (!why) {
        changes = api_job_apply(work->job, room, api->settings->changes);
        result = api->change(work->job->camera, changes, api->user, &error);
        g_key_file_unref(changes);
        api_job_log(work->job, message, error);
        if (work->later->gone)
            ;
        else if (error)
            refuse_change(message, result, error);
        else
            answer_change(api, message, work->job);
        g_clear_error(&error);
    } else {
        refuse(message, status, why);
    }
    later_end(work->later);
    api_job_free(work->job);
    g_free(work);
    api->pending--;
    return G_SOURCE_REMOVE;
}

static void start_change(const Call *call, ApiJobKind kind)
{
    GBytes *body = kind == API_REMOVE ? NULL :
        soup_message_body_flatten(soup_server_message_get_request_body(call->message));
    gchar *why = NULL;
    ApiJob *job = api_job_new(kind, call->name, body, &why);
    Work *work;

    g_clear_pointer(&body, g_bytes_unref);
    if (!job) {
        refuse(call->message, SOUP_STATUS_BAD_REQUEST, why);
        g_free(why);
        return;
    }
    work = g_new0(Work, 1);
    *work = (Work) {call->api, later_new(call->message), job};
    call->api->pending++;
    g_idle_add(change, work);
}

/* ---- Answers */

static void serve_description(const Call *call)
{
    pages_serve(call->message, "/openapi.json", "application/json");
}

static void serve_cameras(const Call *call)
{
    if (!strcmp(call->method, "POST"))
        start_change(call, API_ADD);
    else
        answer_json(call->message, SOUP_STATUS_OK, api_tell_cameras(call->api->rooms,
            call->api->settings));
}

static void serve_camera(const Call *call)
{
    if (!strcmp(call->method, "PATCH"))
        start_change(call, API_ALTER);
    else if (!strcmp(call->method, "DELETE"))
        start_change(call, API_REMOVE);
    else
        answer_json(call->message, SOUP_STATUS_OK, api_tell_camera(call->room,
            call->api->settings->changes));
}

/* A picture that is being encoded. */
typedef struct {
    Api *api;
    Later *later;
    Room *room; /* which may be gone */
    GstSample *sample;
} Shot;

static void free_shot(gpointer data)
{
    Shot *shot = data;

    gst_sample_unref(shot->sample);
    g_free(shot);
}

static void encode(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    Shot *shot = data;
    GError *error = NULL;
    GBytes *jpeg = small_encode(shot->sample, &error);

    if (jpeg)
        g_task_return_pointer(task, jpeg, (GDestroyNotify) g_bytes_unref);
    else
        g_task_return_error(task, error);
}

static void on_encoded(GObject *object, GAsyncResult *result, gpointer data)
{
    Shot *shot = g_task_get_task_data(G_TASK(result));
    GError *error = NULL;
    GBytes *jpeg = g_task_propagate_pointer(G_TASK(result), &error);
    Api *api = shot->api;

    if (jpeg && g_ptr_array_find(api->rooms, shot->room, NULL)) {
        g_clear_pointer(&shot->room->still, g_bytes_unref);
        shot->room->still = g_bytes_ref(jpeg);
        shot->room->still_us = g_get_monotonic_time();
    }
    if (!shot->later->gone && jpeg)
        answer_bytes(shot->later->message, "image/jpeg", jpeg);
    else if (!shot->later->gone)
        refuse(shot->later->message, SOUP_STATUS_INTERNAL_SERVER_ERROR,
            "The picture cannot be encoded.\n");
    later_end(shot->later);
    g_clear_pointer(&jpeg, g_bytes_unref);
    g_clear_error(&error);
    api->pending--;
}

/* All that ask within two seconds get the same one. */
static void serve_picture(const Call *call)
{
    Room *room = call->room;
    GstSample *sample;
    GTask *task;
    Shot *shot;

    if (room->still && g_get_monotonic_time() - room->still_us < STILL_US) {
        answer_bytes(call->message, "image/jpeg", room->still);
        return;
    }
    sample = small_take(room->small, GST_CLOCK_TIME_NONE);
    if (!sample) {
        refuse(call->message, SOUP_STATUS_SERVICE_UNAVAILABLE,
            "The camera has not given a picture yet.\n");
        return;
    }
    shot = g_new0(Shot, 1);
    *shot = (Shot) {call->api, later_new(call->message), room, sample};
    call->api->pending++;
    task = g_task_new(NULL, NULL, on_encoded, NULL);
    g_task_set_task_data(task, shot, free_shot);
    g_task_run_in_thread(task, encode);
    g_object_unref(task);
}

/* A number of the query, or what stands for it if there is none. */
static gboolean read_number(const Call *call, const gchar *name, guint64 least, guint64 most,
    guint64 *number)
{
    const gchar *text = call->query ? g_hash_table_lookup(call->query, name) : NULL;
    gchar *why;

    if (!text || g_ascii_string_to_unsigned(text, 10, least, most, number, NULL))
        return TRUE;
    why = g_strdup_printf("'%s' is not a whole number from %" G_GUINT64_FORMAT " to %"
        G_GUINT64_FORMAT ".\n", name, least, most);
    refuse(call->message, SOUP_STATUS_BAD_REQUEST, why);
    g_free(why);
    return FALSE;
}

static void serve_events(const Call *call)
{
    guint64 since = 0, limit = DEFAULT_EVENTS;

    if (read_number(call, "since", 0, G_MAXINT64, &since) &&
        read_number(call, "limit", 1, SHELF_MOST_EVENTS, &limit))
        answer_json(call->message, SOUP_STATUS_OK, api_tell_events(call->room, since,
            (guint) limit));
}

static void serve_event(const Call *call)
{
    guint64 number;
    GBytes *jpeg = g_ascii_string_to_unsigned(call->last, 10, 1, G_MAXINT64, &number, NULL) ?
        events_read(call->room->events, number) : NULL;

    if (jpeg)
        answer_bytes(call->message, "image/jpeg", jpeg);
    else
        refuse(call->message, SOUP_STATUS_NOT_FOUND,
            "There is no such event any more, or it has no picture.\n");
    g_clear_pointer(&jpeg, g_bytes_unref);
}

static void serve_clip(const Call *call)
{
    guint64 number;
    GBytes *clip = call->room->clips &&
        g_ascii_string_to_unsigned(call->last, 10, 1, G_MAXINT64, &number, NULL) ?
        clips_read(call->room->clips, number) : NULL;

    if (clip)
        answer_bytes(call->message, "video/mp4", clip);
    else
        refuse(call->message, SOUP_STATUS_NOT_FOUND,
            "There is no clip of such an event, or not yet.\n");
    g_clear_pointer(&clip, g_bytes_unref);
}

/* ---- Paths */

typedef struct {
    const gchar *path, *methods;
    void (*serve)(const Call *call);
} Route;

static const Route routes[] = {
    {"/api/openapi.json", "GET, HEAD", serve_description},
    {"/api/cameras", "GET, HEAD, POST", serve_cameras},
    {"/api/cameras/{camera}", "DELETE, GET, HEAD, PATCH", serve_camera},
    {"/api/cameras/{camera}/picture.jpg", "GET, HEAD", serve_picture},
    {"/api/cameras/{camera}/events", "GET, HEAD", serve_events},
    {"/api/cameras/{camera}/events/{number}.jpg", "GET, HEAD", serve_event},
    {"/api/cameras/{camera}/events/{number}.mp4", "GET, HEAD", serve_clip},
};

/* Puts what stands for each name in brackets into @values, of two; free with g_free(). */
static gboolean matches(const gchar *pattern, const gchar *path, gchar **values)
{
    guint n = 0;

    while (*pattern) {
        if (*pattern == '{') {
            const gchar *end = strchr(pattern, '}') + 1;
            const gsize length = strcspn(path, "/"), rest = strcspn(end, "/");

            if (length <= rest)
                return FALSE;
            values[n++] = g_strndup(path, length - rest);
            pattern = end;
            path += length - rest;
        } else if (*pattern++ != *path++) {
            return FALSE;
        }
    }
    return !*path;
}

static const Route *find_route(const gchar *path, gchar **values)
{
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(routes); i++) {
        if (matches(routes[i].path, path, values))
            return &routes[i];
        g_clear_pointer(&values[0], g_free);
        g_clear_pointer(&values[1], g_free);
    }
    return NULL;
}

const gchar *api_get_methods(const gchar *path)
{
    gchar *values[2] = {NULL, NULL};
    const Route *route = find_route(path, values);

    g_free(values[0]);
    g_free(values[1]);
    return route ? route->methods : NULL;
}

const gchar *api_refuse_head(Api *api, const gchar *method, SoupMessageHeaders *headers,
    guint *status)
{
    const gboolean body = !strcmp(method, "POST") || !strcmp(method, "PATCH");
    const gchar *type = soup_message_headers_get_content_type(headers, NULL);

    if (!body && strcmp(method, "DELETE"))
        return NULL;
    if (api->settings->api != API_CHANGE) {
        *status = SOUP_STATUS_FORBIDDEN;
        return "Cameras are not changed here: the key 'api' says so.\n";
    }
    if (!body)
        return NULL;
    if (soup_message_headers_get_encoding(headers) != SOUP_ENCODING_CONTENT_LENGTH) {
        *status = SOUP_STATUS_LENGTH_REQUIRED;
        return "The request must have a Content-Length.\n";
    }
    if (soup_message_headers_get_content_length(headers) > MAX_BODY) {
        *status = SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE;
        return "The request has more than 64 KiB.\n";
    }
    if (type && !g_ascii_strcasecmp(type, "application/json"))
        return NULL;
    *status = SOUP_STATUS_UNSUPPORTED_MEDIA_TYPE;
    return "The request must have the Content-Type application/json.\n";
}

gboolean api_serve(Api *api, SoupServerMessage *message, const gchar *path, GHashTable *query)
{
    gchar *values[2] = {NULL, NULL};
    const Route *route = find_route(path, values);
    const Call call = {.api = api, .message = message, .query = query, .name = values[0],
        .method = soup_server_message_get_method(message), .last = values[1],
        .room = values[0] ? find_room(api, values[0]) : NULL};

    if (route && call.name && !call.room)
        refuse(message, SOUP_STATUS_NOT_FOUND, "There is no camera of that name.\n");
    else if (route)
        route->serve(&call);
    g_free(values[0]);
    g_free(values[1]);
    return route != NULL;
}

Api *api_new(const Settings *settings, GPtrArray *rooms)
{
    Api *api = g_new0(Api, 1);

    api->settings = settings;
    api->rooms = rooms;
    return api;
}

void api_set_change(Api *api, ApiChange func, gpointer user)
{
    api->change = func;
    api->user = user;
}

void api_free(Api *api)
{
    while (api->pending)
        g_main_context_iteration(NULL, TRUE);
    g_free(api);
}
