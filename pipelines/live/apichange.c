/* SPDX-License-Identifier: MIT */
#include "apichange.h"

#include "cameras.h"
#include "changes.h"
#include "journal.h"
#include "keys.h"
#include "message.h"
#include "refuse.h"
#include "secrets.h"

#include <string.h>

/* Lines of logs and of the file hold it. */
static gboolean is_text(JsonNode *node)
{
    const gchar *text;

    if (json_node_get_value_type(node) != G_TYPE_STRING)
        return FALSE;
    for (text = json_node_get_string(node); *text; text++)
        if (g_ascii_iscntrl(*text))
            return FALSE;
    return TRUE;
}

/* What a key file would have. */
static gboolean read_value(const Key *key, JsonNode *node, gboolean may_be_null, gchar **text,
    gchar **why)
{
    const gboolean number = key->type == KEY_NUMBER;

    *text = NULL;
    if (JSON_NODE_HOLDS_NULL(node) && may_be_null)
        return TRUE;
    if (!JSON_NODE_HOLDS_VALUE(node) || (number ? json_node_get_value_type(node) != G_TYPE_INT64 :
        !is_text(node)))
        return refuse_why(why, "The key '%s' is not %s.\n", key->name, number ? "a whole number" :
            "a text without control characters");
    *text = number ? g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node)) :
        json_node_dup_string(node);
    return TRUE;
}

/* As a key file would set it. An empty text stands for what is not set. */
static gboolean try_key(const Key *key, const gchar *text, gchar **why)
{
    CameraSettings *camera;
    GError *error = NULL;

    if (!text || (key->type == KEY_TEXT && !*text))
        return TRUE;
    camera = g_new0(CameraSettings, 1);
    if (!keys_set(&keys_camera, camera, "The request", key->name, text, &error))
        *why = g_strdup_printf("%s.\n", error->message);
    g_clear_error(&error);
    settings_free_camera(camera);
    return !*why;
}

static gboolean read_name(ApiJob *job, JsonNode *node, gchar **why)
{
    const gchar *name = JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) ==
        G_TYPE_STRING ? json_node_get_string(node) : "";

    if (!settings_is_name(name))
        return refuse_why(why, "The camera's name must be 1 to 32 letters, digits, '_' or '-'.\n");
    job->camera = g_strdup(name);
    return TRUE;
}

static gboolean read_member(ApiJob *job, const gchar *name, JsonNode *node, gchar **why)
{
    const Key *key = keys_find(&keys_camera, name);
    gchar *text;

    if (job->kind == API_ADD && !strcmp(name, "name"))
        return read_name(job, node, why);
    if (!key)
        return refuse_why(why, "A key of the request is not one of a camera.\n");
    if (!read_value(key, node, job->kind == API_ALTER, &text, why))
        return FALSE;
    g_hash_table_replace(job->keys, g_strdup(name), text);
    return try_key(key, text, why);
}

static gboolean read_object(ApiJob *job, JsonObject *object, gchar **why)
{
    GList *names = json_object_get_members(object), *at;

    for (at = names; at && !*why; at = at->next)
        read_member(job, at->data, json_object_get_member(object, at->data), why);
    g_list_free(names);
    if (!*why && job->kind == API_ADD && !job->camera)
        refuse_why(why, "The camera's name is missing.\n");
    else if (!*why && job->kind == API_ADD && !g_hash_table_contains(job->keys, "source"))
        refuse_why(why, "The camera's source is missing.\n");
    return !*why;
}

static gboolean read_body(ApiJob *job, GBytes *body, gchar **why)
{
    gsize bytes;
    const gchar *text = g_bytes_get_data(body, &bytes);
    JsonParser *parser;

    if (!text || !g_utf8_validate(text, bytes, NULL) || !message_is_flat(text, bytes))
        return refuse_why(why, "The request is not one JSON object of keys and values.\n");
    parser = json_parser_new();
    if (!json_parser_load_from_data(parser, text, bytes, NULL) || !json_parser_get_root(parser) ||
        !JSON_NODE_HOLDS_OBJECT(json_parser_get_root(parser)))
        refuse_why(why, "The request is not one JSON object of keys and values.\n");
    else
        read_object(job, json_node_get_object(json_parser_get_root(parser)), why);
    g_object_unref(parser);
    return !*why;
}

ApiJob *api_job_new(ApiJobKind kind, const gchar *camera, GBytes *body, gchar **why)
{
    ApiJob *job = g_new0(ApiJob, 1);

    job->kind = kind;
    job->camera = g_strdup(camera);
    job->keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    if (kind == API_REMOVE || read_body(job, body, why))
        return job;
    api_job_free(job);
    return NULL;
}

void api_job_free(ApiJob *job)
{
    g_hash_table_unref(job->keys);
    g_free(job->camera);
    g_free(job);
}

const gchar *api_job_check(const ApiJob *job, const Room *room, guint rooms, guint *status)
{
    if (job->kind != API_ADD) {
        *status = SOUP_STATUS_NOT_FOUND;
        return room ? NULL : "There is no camera of that name.\n";
    }
    *status = SOUP_STATUS_CONFLICT;
    if (room)
        return "There is a camera of that name already.\n";
    return rooms < LIVE_MOST_CAMERAS ? NULL : "There are as many cameras as there may be.\n";
}

GKeyFile *api_job_apply(const ApiJob *job, const Room *room, GKeyFile *changes)
{
    GKeyFile *copy = changes_copy(changes);

    switch (job->kind) {
    case API_ADD:
        changes_add(copy, job->camera, job->keys);
        break;
    case API_ALTER:
        changes_change(copy, job->camera, job->keys);
        break;
    case API_REMOVE:
        changes_remove(copy, job->camera, room->settings->given);
        break;
    }
    return copy;
}

void api_job_log(const ApiJob *job, SoupServerMessage *message, const GError *error)
{
    static const gchar *const done[] = {"added", "changed", "removed"};
    const gchar *peer = soup_server_message_get_remote_host(message);
    gchar *why;

    if (!error) {
        log_info("camera-changed", "camera", G_TYPE_STRING, job->camera, "how", G_TYPE_STRING,
            done[job->kind], "peer", G_TYPE_STRING, peer, NULL);
        return;
    }
    why = secrets_hide(error->message);
    log_warning("change-refused", "camera", G_TYPE_STRING, job->camera, "peer", G_TYPE_STRING, peer,
        "why", G_TYPE_STRING, why, NULL);
    g_free(why);
}
