/* SPDX-License-Identifier: MIT */
#include "manifest.h"

#include "fault.h"
#include "document.h"
#include "object.h"

#include <math.h>
#include <string.h>

#define MOST_ID 200
#define ID_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-"
#define PIECE_MARK "@"
/* Of the mark and the number behind it. */
#define MOST_PIECE 10
#define MOST_PIECES 10000
#define MOST_PARTS 10000
/* A year: longer ones are mistakes. */
#define MOST_SECONDS (366.0 * 24 * 3600)

static void clear_prompt(gpointer data)
{
    g_free(((Prompt *) data)->text);
}

void item_free(Item *item)
{
    if (!item)
        return;
    g_free(item->id);
    g_strfreev(item->uris);
    g_array_unref(item->prompts);
    g_free(item->words);
    g_free(item->sha256);
    g_free(item);
}

gchar *item_get_path(const gchar *uri)
{
    return g_str_has_prefix(uri, "file:") ? g_filename_from_uri(uri, NULL, NULL) : NULL;
}

/* It becomes the name of a folder; what begins with a dot is ours. */
static gboolean check_id(const gchar *id, gboolean planned, GError **error)
{
    const gsize length = id ? strlen(id) : 0;

    if (!id)
        return fault_set(error, FAULT_SETTINGS, "the key 'id' is missing, or is no text");
    if (length < 1 || length > (planned ? MOST_ID + MOST_PIECE : MOST_ID))
        return fault_set(error, FAULT_SETTINGS, "the id has %" G_GSIZE_FORMAT " characters, "
            "expected 1 to %d", length, MOST_ID);
    if (strspn(id, planned ? ID_CHARACTERS PIECE_MARK : ID_CHARACTERS) != length)
        return fault_set(error, FAULT_SETTINGS, "the id '%s' has other characters than letters, "
            "digits and ._/-", id);
    if (*id == '.' || *id == '/' || id[length - 1] == '/' || strstr(id, "/.") || strstr(id, "//"))
        return fault_set(error, FAULT_SETTINGS, "the id '%s' has a part that is empty or begins "
            "with a dot", id);
    return TRUE;
}

/* A path or a URI of a kind that GStreamer reads from here. */
static gchar *read_uri(const gchar *text, const gchar *folder, GError **error)
{
    static const gchar *const kinds[] = {"file", "http", "https", "s3"};
    gchar *scheme, *path, *uri = NULL;
    gsize i;

    if (!text || !*text) {
        fault_set(error, FAULT_SETTINGS, "a URI is empty, or no text");
        return NULL;
    }
    scheme = strstr(text, "://") ? g_uri_parse_scheme(text) : NULL;
    if (!scheme) {
        path = g_canonicalize_filename(text, folder);
        uri = g_filename_to_uri(path, NULL, NULL);
        g_free(path);
        return uri;
    }
    for (i = 0; i < G_N_ELEMENTS(kinds) && !uri; i++)
        uri = !strcmp(scheme, kinds[i]) ? g_strdup(text) : NULL;
    path = uri ? item_get_path(uri) : NULL;
    if (!uri || (!strcmp(scheme, "file") && !path)) {
        fault_set(error, FAULT_SETTINGS, "the URI '%s' is not one of file://, http://, https:// "
            "and s3://", text);
        g_clear_pointer(&uri, g_free);
    } else if (object_is(uri) && !object_check(uri, error)) {
        g_clear_pointer(&uri, g_free);
    }
    g_free(scheme);
    g_free(path);
    return uri;
}

static gboolean read_uris(Item *item, JsonObject *object, const gchar *folder, GError **error)
{
    const gboolean one = json_object_has_member(object, "uri");
    JsonNode *node = json_object_get_member(object, "parts");
    JsonArray *parts = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    const guint n = parts ? json_array_get_length(parts) : 0;
    guint i;

    if (one == !!node)
        return fault_set(error, FAULT_SETTINGS, "expected one of the keys 'uri' and 'parts'");
    if (node && (!n || n > MOST_PARTS))
        return fault_set(error, FAULT_SETTINGS, "the key 'parts' is not a list of 1 to %d URIs",
            MOST_PARTS);
    item->uris = g_new0(gchar *, MAX(n, 1) + 1);
    for (i = 0; i < MAX(n, 1); i++) {
        JsonNode *part = one ? json_object_get_member(object, "uri") :
            json_array_get_element(parts, i);
        const gboolean text = JSON_NODE_HOLDS_VALUE(part) &&
            json_node_get_value_type(part) == G_TYPE_STRING;

        item->uris[i] = read_uri(text ? json_node_get_string(part) : NULL, folder, error);
        if (!item->uris[i])
            return FALSE;
    }
    return TRUE;
}

/* @key absent: *@to stays. */
static gboolean read_seconds(JsonObject *object, const gchar *key, gdouble *to, GError **error)
{
    const gdouble value = json_get_number(object, key, NAN);

    if (!json_object_has_member(object, key))
        return TRUE;
    if (!(value >= 0 && value <= MOST_SECONDS))
        return fault_set(error, FAULT_SETTINGS, "the key '%s' is not a number of seconds from 0 to "
            "a year", key);
    *to = value;
    return TRUE;
}

static gint compare_prompts(gconstpointer a, gconstpointer b)
{
    const Prompt *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

static gboolean add_prompt(Item *item, JsonNode *node, GError **error)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    const gchar *text = object ? json_get_text(object, "prompt", NULL) : NULL;
    gdouble at = 0;
    Prompt prompt;

    if (!text || json_object_get_size(object) != 1u + !!json_object_has_member(object, "at"))
        return fault_set(error, FAULT_SETTINGS, "an element of 'prompts' is not an object with "
            "'prompt' and perhaps 'at'");
    if (!read_seconds(object, "at", &at, error))
        return FALSE;
    prompt.at = (GstClockTime) llround(at * GST_SECOND);
    prompt.text = g_strdup(text);
    g_array_append_val(item->prompts, prompt);
    return TRUE;
}

/* With words the detector starts objects. */
static gboolean read_detect(Item *item, JsonObject *object, GError **error)
{
    JsonNode *detect = json_object_get_member(object, "detect");
    const gboolean has_words = json_object_has_member(object, "words");

    if (detect && (!JSON_NODE_HOLDS_VALUE(detect) ||
        json_node_get_value_type(detect) != G_TYPE_BOOLEAN))
        return fault_set(error, FAULT_SETTINGS, "the key 'detect' is neither true nor false");
    item->detect = detect ? json_node_get_boolean(detect) : has_words;
    if (!has_words)
        return TRUE;
    item->words = g_strdup(json_get_text(object, "words", NULL));
    if (!item->words || !*item->words || strpbrk(item->words, "\"\\"))
        return fault_set(error, FAULT_SETTINGS, "the key 'words' is empty, no text, or has a "
            "quotation mark or a backslash");
    return item->detect || fault_set(error, FAULT_SETTINGS, "the key 'words' needs a detector, "
        "but 'detect' is false");
}

static gboolean read_prompts(Item *item, JsonObject *object, GError **error)
{
    const gboolean one = json_object_has_member(object, "prompt");
    const gchar *text = json_get_text(object, "prompt", NULL);
    JsonNode *node = json_object_get_member(object, "prompts");
    JsonArray *list = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    guint i;

    item->prompts = g_array_new(FALSE, FALSE, sizeof(Prompt));
    g_array_set_clear_func(item->prompts, clear_prompt);
    if (!read_detect(item, object, error))
        return FALSE;
    if ((one && node) || (!one && !node && !item->detect))
        return fault_set(error, FAULT_SETTINGS, "expected one of the keys 'prompt' and 'prompts'%s",
            one ? "" : ", or 'detect'");
    if (one && (!text || !*text))
        return fault_set(error, FAULT_SETTINGS, "the key 'prompt' is empty, or no text");
    if (node && (!list || (!json_array_get_length(list) && !item->detect)))
        return fault_set(error, FAULT_SETTINGS, "the key 'prompts' is empty, or no list");
    if (one) {
        const Prompt prompt = {0, g_strdup(text)};

        g_array_append_val(item->prompts, prompt);
    }
    for (i = 0; list && i < json_array_get_length(list); i++)
        if (!add_prompt(item, json_array_get_element(list, i), error))
            return FALSE;
    /* stable: those of one time stay in their order */
    g_array_sort(item->prompts, compare_prompts);
    return TRUE;
}

static gboolean read_checks(Item *item, JsonObject *object, GError **error)
{
    gdouble start = 0, stop = -1;

    /* The state of the detector's policy is not in the tracks: it cannot go on in another file. */
    if (item->detect && item->uris[1])
        return fault_set(error, FAULT_SETTINGS, "the key 'detect' expects one file, not 'parts'");
    item->frames = json_get_int(object, "frames", -1);
    if (json_object_has_member(object, "frames") && item->frames < 1)
        return fault_set(error, FAULT_SETTINGS, "the key 'frames' is not a whole number from 1 on");
    if (!read_seconds(object, "seconds", &item->seconds, error) ||
        !read_seconds(object, "start", &start, error) ||
        !read_seconds(object, "stop", &stop, error))
        return FALSE;
    if (stop >= 0 && stop <= start)
        return fault_set(error, FAULT_SETTINGS, "'stop' is %g, expected more than 'start', which "
            "is %g", stop, start);
    item->start = (GstClockTime) llround(start * GST_SECOND);
    item->stop = stop < 0 ? GST_CLOCK_TIME_NONE : (GstClockTime) llround(stop * GST_SECOND);
    item->sha256 = g_strdup(json_get_text(object, "sha256", NULL));
    if (!json_object_has_member(object, "sha256"))
        return TRUE;
    if (!item->sha256 || strlen(item->sha256) != 64 ||
        strspn(item->sha256, "0123456789abcdef") != 64)
        return fault_set(error, FAULT_SETTINGS, "the key 'sha256' is not 64 digits of 0-9 and a-f");
    if (item->uris[1] || !g_str_has_prefix(item->uris[0], "file:"))
        return fault_set(error, FAULT_SETTINGS, "the key 'sha256' expects one file");
    return TRUE;
}

static gboolean check_keys(JsonObject *object, GError **error)
{
    static const gchar *const keys[] = {"id", "uri", "parts", "prompt", "prompts", "detect",
        "words", "start", "stop", "frames", "seconds", "sha256", NULL};
    GList *names = json_object_get_members(object), *l;
    gboolean ok = TRUE;

    for (l = names; ok && l; l = l->next)
        if (!g_strv_contains(keys, l->data))
            ok = fault_set(error, FAULT_SETTINGS, "the key '%s' is not known",
                (const gchar *) l->data);
    g_list_free(names);
    return ok;
}

Item *item_read(const gchar *line, gsize bytes, const gchar *folder, GError **error)
{
    JsonObject *object = NULL;
    Item *item;
    gboolean ok;

    if (bytes > MANIFEST_LINE) {
        fault_set(error, FAULT_SETTINGS, "it has %" G_GSIZE_FORMAT " bytes, expected %d at most",
            bytes, MANIFEST_LINE);
        return NULL;
    }
    object = json_read_object(line, bytes, error);
    if (!object)
        return NULL;
    item = g_new0(Item, 1);
    item->id = g_strdup(json_get_text(object, "id", NULL));
    ok = check_id(item->id, !folder, error) && check_keys(object, error) &&
        read_prompts(item, object, error) &&
        read_uris(item, object, folder ? folder : "/", error) &&
        read_checks(item, object, error);
    json_object_unref(object);
    if (ok)
        return item;
    if (!item->prompts)
        item->prompts = g_array_new(FALSE, FALSE, sizeof(Prompt));
    item_free(item);
    return NULL;
}

gchar *item_write(const Item *item)
{
    JsonObject *object = json_object_new();
    JsonArray *parts = json_array_new(), *prompts = json_array_new();
    guint i;

    json_object_set_string_member(object, "id", item->id);
    for (i = 0; item->uris[i]; i++)
        json_array_add_string_element(parts, item->uris[i]);
    json_object_set_array_member(object, "parts", parts);
    for (i = 0; i < item->prompts->len; i++) {
        const Prompt *prompt = &g_array_index(item->prompts, Prompt, i);
        JsonObject *one = json_object_new();

        json_object_set_double_member(one, "at", prompt->at / (gdouble) GST_SECOND);
        json_object_set_string_member(one, "prompt", prompt->text);
        json_array_add_object_element(prompts, one);
    }
    json_object_set_array_member(object, "prompts", prompts);
    if (item->detect)
        json_object_set_boolean_member(object, "detect", TRUE);
    if (item->words)
        json_object_set_string_member(object, "words", item->words);
    json_object_set_double_member(object, "start", item->start / (gdouble) GST_SECOND);
    if (GST_CLOCK_TIME_IS_VALID(item->stop))
        json_object_set_double_member(object, "stop", item->stop / (gdouble) GST_SECOND);
    if (item->frames > 0)
        json_object_set_int_member(object, "frames", item->frames);
    if (item->seconds > 0)
        json_object_set_double_member(object, "seconds", item->seconds);
    if (item->sha256)
        json_object_set_string_member(object, "sha256", item->sha256);
    return json_write_object(object);
}

gboolean item_is_piece(const gchar *id)
{
    return strchr(id, *PIECE_MARK) != NULL;
}

gchar *item_get_whole(const gchar *id)
{
    return g_strndup(id, strcspn(id, PIECE_MARK));
}

/* From @start on, with the prompts before @end. */
static Item *make_piece(const Item *item, guint number, GstClockTime start, GstClockTime end)
{
    Item *piece = g_new0(Item, 1);
    guint i;

    piece->id = g_strdup_printf("%s" PIECE_MARK "%05u", item->id, number);
    piece->uris = g_strdupv(item->uris);
    piece->prompts = g_array_new(FALSE, FALSE, sizeof(Prompt));
    g_array_set_clear_func(piece->prompts, clear_prompt);
    piece->detect = item->detect;
    piece->words = g_strdup(item->words);
    piece->start = start;
    piece->stop = item->stop;
    piece->frames = item->frames;
    piece->sha256 = g_strdup(item->sha256);
    for (i = 0; i < item->prompts->len; i++) {
        const Prompt *prompt = &g_array_index(item->prompts, Prompt, i);
        const Prompt copy = {prompt->at, g_strdup(prompt->text)};

        if ((number && prompt->at < start) || prompt->at >= end)
            g_free(copy.text);
        else
            g_array_append_val(piece->prompts, copy);
    }
    return piece;
}

GPtrArray *item_cut(const Item *item, gdouble seconds, gdouble cut, gdouble overlap,
    GError **error)
{
    GPtrArray *pieces = g_ptr_array_new_with_free_func((GDestroyNotify) item_free);
    const guint n = (guint) ceil(MIN((seconds - overlap) / cut, MOST_PIECES + 1.0));
    guint i;

    if (seconds <= cut + overlap || n < 2)
        g_clear_pointer(&pieces, g_ptr_array_unref);
    if (pieces && n > MOST_PIECES) {
        fault_set(error, FAULT_SETTINGS, "it would be cut into more than %d pieces", MOST_PIECES);
        g_clear_pointer(&pieces, g_ptr_array_unref);
    }
    for (i = 0; pieces && i < n; i++) {
        const GstClockTime start = item->start + (GstClockTime) llround(i * cut * GST_SECOND);
        const GstClockTime next = item->start + (GstClockTime) llround((i + 1) * cut * GST_SECOND);
        Item *piece = make_piece(item, i, start, i + 1 < n ? next : GST_CLOCK_TIME_NONE);

        g_ptr_array_add(pieces, piece);
        if (i + 1 < n)
            piece->stop = next + (GstClockTime) llround(overlap * GST_SECOND);
        piece->seconds = (i + 1 < n ? cut + overlap : seconds - i * cut);
        if (piece->prompts->len || piece->detect)
            continue;
        fault_set(error, FAULT_SETTINGS, "it is cut, and the piece from %.3f s on has no prompt: "
            "expected one from there to %.3f s, or 'detect'", start / 1e9, i + 1 < n ? next / 1e9 :
            item->start / 1e9 + seconds);
        g_clear_pointer(&pieces, g_ptr_array_unref);
    }
    return pieces;
}
