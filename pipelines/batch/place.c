/* SPDX-License-Identifier: MIT */
#include "place.h"

#include "fault.h"
#include "folder.h"
#include "document.h"

#include <string.h>
#include <sys/stat.h>

gchar *place_get_folder(const Job *job, const Item *item)
{
    return job_get_path(job, "parts", item->id);
}

gchar *place_get_chunk(const Job *job, const Item *item, guint chunk)
{
    gchar *folder = place_get_folder(job, item);
    gchar *path = g_strdup_printf("%s/%06u", folder, chunk);

    g_free(folder);
    return path;
}

void place_clear(Place *place)
{
    g_free(place->last_hash);
    g_free(place->tracks);
    g_free(place->source_mark);
    g_free(place->device);
    if (place->lines)
        g_string_free(place->lines, TRUE);
    memset(place, 0, sizeof *place);
    place->last_time = GST_CLOCK_TIME_NONE;
}

gchar *place_mark_source(const gchar *uri)
{
    gchar *path = item_get_path(uri), *mark;
    struct stat st;

    mark = path && !stat(path, &st) ? g_strdup_printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT
        ".%09ld", (gint64) st.st_size, (gint64) st.st_mtim.tv_sec, st.st_mtim.tv_nsec) :
        g_strdup("");
    g_free(path);
    return mark;
}

void place_write(const Place *place, gpointer json_object)
{
    JsonObject *object = json_object;

    json_object_set_int_member(object, "source", place->source);
    json_object_set_int_member(object, "offset", place->offset);
    json_object_set_int_member(object, "time", place->time);
    if (GST_CLOCK_TIME_IS_VALID(place->last_time))
        json_object_set_int_member(object, "last_time", place->last_time);
    if (place->last_hash)
        json_object_set_string_member(object, "last_hash", place->last_hash);
    json_object_set_int_member(object, "frames", place->frames);
    json_object_set_int_member(object, "prompts", place->prompts);
    json_object_set_string_member(object, "source_mark", place->source_mark ? place->source_mark :
        "");
    json_object_set_boolean_member(object, "ended", place->ended);
}

SheetLife place_get_life(const Place *next)
{
    return next->ended ? SHEET_PASSES : SHEET_LASTS;
}

static gboolean read_members(Place *place, JsonObject *object, const Item *item)
{
    JsonNode *ended = json_object_get_member(object, "ended");
    const gint64 source = json_get_int(object, "source", -1);
    const gint64 frames = json_get_int(object, "frames", -1);
    const gint64 prompts = json_get_int(object, "prompts", -1);

    place->offset = json_get_int(object, "offset", 0);
    place->time = json_get_int(object, "time", 0);
    place->last_time = json_get_int(object, "last_time", -1);
    place->last_hash = g_strdup(json_get_text(object, "last_hash", NULL));
    place->source_mark = g_strdup(json_get_text(object, "source_mark", ""));
    place->ended = ended && JSON_NODE_HOLDS_VALUE(ended) && json_node_get_boolean(ended);
    if (source < 0 || frames < 0 || prompts < 0 || prompts > item->prompts->len ||
        source > (gint64) g_strv_length(item->uris))
        return FALSE;
    place->source = source;
    place->frames = frames;
    place->prompts = prompts;
    return place->ended || item->uris[source];
}

static guint count_chunks(const Job *job, const Item *item)
{
    gchar *next = place_get_chunk(job, item, 0);
    guint n = 0;

    while (g_file_test(next, G_FILE_TEST_IS_DIR)) {
        g_free(next);
        next = place_get_chunk(job, item, ++n);
    }
    g_free(next);
    return n;
}

/* part.json of the chunk, NULL with an error. */
static JsonObject *read_part(const gchar *chunk, GError **error)
{
    gchar *path = g_build_filename(chunk, "part.json", NULL);
    JsonObject *part = json_read_file(path, error);

    g_free(path);
    return part;
}

gboolean place_load(Place *place, const Job *job, const Item *item, GError **error)
{
    guint n = count_chunks(job, item);
    JsonObject *part = NULL;
    GError *why = NULL;
    gchar *last = NULL;
    gboolean ok = TRUE;

    place_clear(place);
    while (n && !part && ok) {
        g_free(last);
        last = place_get_chunk(job, item, n - 1);
        part = read_part(last, &why);
        /* If it is not done meanwhile, by another worker that takes its chunks away. */
        ok = part || (job_is_damaged(why) && !job_is_done(job, item->id));
        if (!part && ok) {
            folder_remove(last);
            g_clear_error(&why);
            n--;
        }
    }
    if (part) {
        ok = read_members(place, part, item) || fault_set(error, FAULT_TRANSIENT,
            "'%s/part.json' is not what samtrack-batch writes", last);
        place->chunk = n;
        place->tracks = g_build_filename(last, "tracks", NULL);
        json_object_unref(part);
    } else if (!ok) {
        g_propagate_error(error, why);
    }
    g_free(last);
    return ok;
}
