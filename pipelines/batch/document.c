/* SPDX-License-Identifier: MIT */
#include "document.h"

#include "fault.h"
#include "record/gstsamjson.h"

#include <string.h>

/* Of brackets in each other: the parser calls itself for each. */
#define MOST_DEPTH 8

static gboolean check_depth(const gchar *text, gsize bytes, GError **error)
{
    gboolean quoted = FALSE;
    guint depth = 0;
    gsize i;

    for (i = 0; i < bytes; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == '{' || text[i] == '[') && ++depth > MOST_DEPTH)
            return fault_set(error, FAULT_SETTINGS, "brackets are nested more than %d deep",
                MOST_DEPTH);
        else if (!quoted && (text[i] == '}' || text[i] == ']') && depth)
            depth--;
    }
    return TRUE;
}

JsonObject *json_read_object(const gchar *text, gsize bytes, GError **error)
{
    JsonParser *parser = json_parser_new_immutable();
    JsonObject *object = NULL;
    GError *why = NULL;
    JsonNode *root = NULL;

    if (memchr(text, 0, bytes) || !g_utf8_validate(text, bytes, NULL))
        fault_set(error, FAULT_SETTINGS, "it is not text in UTF-8");
    else if (!check_depth(text, bytes, error))
        ;
    else if (!json_parser_load_from_data(parser, text, bytes, &why))
        fault_set(error, FAULT_SETTINGS, "it is not JSON: %s", why->message);
    else
        root = json_parser_get_root(parser);
    if (root && JSON_NODE_HOLDS_OBJECT(root))
        object = json_object_ref(json_node_get_object(root));
    else if (!why && error && !*error)
        fault_set(error, FAULT_SETTINGS, "it is not an object of JSON");
    g_clear_error(&why);
    g_object_unref(parser);
    return object;
}

JsonObject *json_read_file(const gchar *path, GError **error)
{
    JsonObject *object = NULL;
    GError *why = NULL;
    gchar *text;
    gsize bytes;

    if (!g_file_get_contents(path, &text, &bytes, &why)) {
        fault_set(error, g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? FAULT_SETTINGS :
            FAULT_TRANSIENT, "%s", why->message);
        g_error_free(why);
        return NULL;
    }
    object = json_read_object(text, bytes, &why);
    if (why)
        fault_set(error, FAULT_SETTINGS, "'%s' cannot be read: %s", path, why->message);
    g_clear_error(&why);
    g_free(text);
    return object;
}

const gchar *json_get_text(JsonObject *object, const gchar *key, const gchar *otherwise)
{
    JsonNode *node = json_object_get_member(object, key);

    return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING ?
        json_node_get_string(node) : otherwise;
}

gint64 json_get_int(JsonObject *object, const gchar *key, gint64 otherwise)
{
    JsonNode *node = json_object_get_member(object, key);

    return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_INT64 ?
        json_node_get_int(node) : otherwise;
}

gdouble json_get_number(JsonObject *object, const gchar *key, gdouble otherwise)
{
    JsonNode *node = json_object_get_member(object, key);

    const GType type = node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) :
        G_TYPE_INVALID;

    if (type == G_TYPE_DOUBLE)
        return json_node_get_double(node);
    return type == G_TYPE_INT64 ? (gdouble) json_node_get_int(node) : otherwise;
}

gchar *json_write_object(JsonObject *object)
{
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);
    GString *text = g_string_new(NULL);

    json_node_take_object(node, object);
    gst_sam_json_append_node(text, node);
    g_string_append_c(text, '\n');
    json_node_unref(node);
    return g_string_free(text, FALSE);
}
