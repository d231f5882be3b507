/* SPDX-License-Identifier: MIT */
/* The pieces of a recording become one result: an object that two pieces have both seen where they
 * overlap goes on under its id. */
#include "merge.h"

#include "document.h"
#include "fault.h"
#include "folder.h"
#include "lines.h"
#include "progress.h"
#include "result.h"
#include "shards.h"
#include "stitch.h"

#include <string.h>

typedef struct {
    const Job *job;
    gchar *id;         /* of the recording */
    GPtrArray *pieces; /* of const Item, in order */

    GHashTable *names; /* of the piece at hand: id -> id in the recording */
    guint64 next_id;
    GstClockTime from, until; /* of the piece at hand: the frames that it gives */
    Result *result;
    GString *line;
} Merge;

static gchar *get_file(const Merge *m, guint piece, const gchar *name)
{
    const Item *item = g_ptr_array_index(m->pieces, piece);
    gchar *folder = job_get_result_path(m->job, item->id);
    gchar *path = g_build_filename(folder, name, NULL);

    g_free(folder);
    return path;
}

static guint64 give_name(gpointer data, guint64 id)
{
    Merge *m = data;
    guint64 *name = g_hash_table_lookup(m->names, &id);

    if (!name) {
        name = g_memdup2(&m->next_id, sizeof m->next_id);
        m->next_id++;
        g_hash_table_insert(m->names, g_memdup2(&id, sizeof id), name);
    }
    return *name;
}

static gboolean add_line(gpointer data, const gchar *line, gsize bytes, GError **error)
{
    Merge *m = data;
    GstClockTime time;

    if (!lines_get_number(line, "stream_time", &time))
        return fault_set(error, FAULT_DAMAGED, "a line has no 'stream_time'");
    if (time < m->from || time >= m->until)
        return TRUE;
    g_string_truncate(m->line, 0);
    if (!lines_renumber(line, result_get_frames(m->result), give_name, m, m->line))
        return fault_set(error, FAULT_DAMAGED, "a line is damaged");
    return result_add_line(m->result, m->line->str, m->line->len, error);
}

/* A piece that is damaged is removed, so that it is tracked again. */
static gboolean add_piece(Merge *m, guint n, GError **error)
{
    const Item *item = g_ptr_array_index(m->pieces, n);
    gchar *path = get_file(m, n, "item.json"), *lines = get_file(m, n, "frames.jsonl");
    gchar *folder = job_get_result_path(m->job, item->id);
    JsonObject *told = json_read_file(path, error);
    JsonNode *files = told ? json_object_get_member(told, "files") : NULL;
    JsonNode *devices = told ? json_object_get_member(told, "devices") : NULL;
    const gchar *hash = files && JSON_NODE_HOLDS_OBJECT(files) ?
        json_get_text(json_node_get_object(files), "frames.jsonl", "") : "";
    gboolean ok = told && lines_read_file(lines, hash, add_line, m, error);
    guint i;

    for (i = 0; ok && devices && JSON_NODE_HOLDS_ARRAY(devices) &&
        i < json_array_get_length(json_node_get_array(devices)); i++)
        result_add_work(m->result, json_array_get_string_element(json_node_get_array(devices), i),
            i ? 0 : json_get_number(told, "cpu_seconds", 0));
    if (!ok && job_is_damaged(*error) && !job_is_done(m->job, m->id))
        folder_remove(folder);
    g_clear_pointer(&told, json_object_unref);
    g_free(folder);
    g_free(lines);
    g_free(path);
    return ok;
}

static JsonArray *list_names(Merge *m, const GArray *ids, GHashTable *names)
{
    JsonArray *list = json_array_new();
    guint i;

    for (i = 0; i < ids->len; i++) {
        const guint64 id = g_array_index(ids, guint64, i);
        const guint64 *name = names ? g_hash_table_lookup(names, &id) : NULL;

        json_array_add_int_element(list, names ? (name ? *name : 0) : give_name(m, id));
    }
    return list;
}

/* For item.json, with ids of the recording. @before: the names in the earlier piece. */
static JsonObject *tell_border(Merge *m, const Stitch *stitch, GHashTable *before,
    GstClockTime time)
{
    JsonObject *border = json_object_new();
    JsonArray *matches = json_array_new();
    guint i;

    for (i = 0; i < stitch->matches->len; i++) {
        const Match *match = &g_array_index(stitch->matches, Match, i);
        JsonObject *one = json_object_new();

        json_object_set_int_member(one, "id", give_name(m, match->right));
        json_object_set_double_member(one, "iou", match->iou);
        json_array_add_object_element(matches, one);
    }
    json_object_set_int_member(border, "time", time);
    json_object_set_int_member(border, "frames", stitch->frames);
    json_object_set_array_member(border, "same", matches);
    json_object_set_array_member(border, "only_before", list_names(m, stitch->left, before));
    json_object_set_array_member(border, "only_after", list_names(m, stitch->right, NULL));
    return border;
}

/* From piece @n - 1 to @n: NULL with an error. */
static JsonObject *cross(Merge *m, guint n, GError **error)
{
    const Item *left = g_ptr_array_index(m->pieces, n - 1), *right =
        g_ptr_array_index(m->pieces, n);
    gchar *earlier = get_file(m, n - 1, "frames.jsonl"), *later = get_file(m, n, "frames.jsonl");
    GHashTable *before = m->names;
    JsonObject *border = NULL;
    Stitch stitch;
    guint i;

    m->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    if (stitch_pieces(&stitch, earlier, later, right->start, left->stop, error)) {
        for (i = 0; i < stitch.matches->len; i++) {
            const Match *match = &g_array_index(stitch.matches, Match, i);
            const guint64 *name = g_hash_table_lookup(before, &match->left);

            if (name) /* it was in a line of the earlier piece */
                g_hash_table_insert(m->names, g_memdup2(&match->right, sizeof match->right),
                    g_memdup2(name, sizeof *name));
        }
        border = tell_border(m, &stitch, before, right->start);
    }
    stitch_clear(&stitch);
    g_hash_table_unref(before);
    g_free(earlier);
    g_free(later);
    return border;
}

static gboolean put_together(Merge *m, GError **error)
{
    const Item *first = g_ptr_array_index(m->pieces, 0);
    JsonArray *borders = json_array_new();
    gboolean ok = TRUE;
    guint n;

    m->until = 0;
    for (n = 0; ok && n < m->pieces->len; n++) {
        const Item *piece = g_ptr_array_index(m->pieces, n);
        JsonObject *border = n ? cross(m, n, error) : NULL;

        m->from = m->until;
        m->until = piece->stop;
        ok = (!n || border) && add_piece(m, n, error);
        if (border)
            json_array_add_object_element(borders, border);
    }
    if (ok && first->frames >= 0 && (guint64) first->frames != result_get_frames(m->result))
        ok = fault_set(error, FAULT_PERMANENT, "the pieces have %" G_GUINT64_FORMAT " frames, "
            "expected %" G_GINT64_FORMAT, result_get_frames(m->result), first->frames);
    if (ok)
        return result_commit(m->result, 1, borders, error);
    json_array_unref(borders);
    return FALSE;
}

static void remove_pieces(const Merge *m)
{
    guint n;

    for (n = 0; n < m->pieces->len; n++) {
        const Item *piece = g_ptr_array_index(m->pieces, n);
        gchar *folder = job_get_result_path(m->job, piece->id);
        gchar *parts = job_get_path(m->job, "parts", piece->id);

        folder_remove(folder);
        folder_remove(parts); /* of whoever was killed behind the last rename */
        g_free(parts);
        g_free(folder);
    }
}

/* The status that follows. */
static gint merge_one(Merge *m)
{
    guint waiting = 0, failed = 0, n;
    GError *error = NULL;
    gint status;

    for (n = 0; n < m->pieces->len && !job_is_done(m->job, m->id); n++) {
        const Item *piece = g_ptr_array_index(m->pieces, n);

        waiting += !job_is_done(m->job, piece->id);
        failed += !job_is_done(m->job, piece->id) && job_has_failed(m->job, piece->id);
    }
    if (failed || waiting) {
        progress_say("'%s': of %u pieces %u are not done, and %u of them have failed for good",
            m->id, m->pieces->len, waiting, failed);
        return failed ? STATUS_FAILED : STATUS_AGAIN;
    }
    if (!job_is_done(m->job, m->id)) {
        m->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        m->next_id = 1;
        m->line = g_string_new(NULL);
        m->result = result_begin(m->job, m->id, &error);
        if (m->result && put_together(m, &error))
            progress_say("'%s' is put together from %u pieces", m->id, m->pieces->len);
        result_free(m->result);
        g_string_free(m->line, TRUE);
        g_hash_table_unref(m->names);
    }
    status = STATUS_DONE;
    if (job_is_done(m->job, m->id)) { /* by whomever */
        remove_pieces(m);
    } else {
        status = g_error_matches(error, BATCH_FAULT, FAULT_PERMANENT) ? STATUS_FAILED :
            STATUS_AGAIN;
        progress_say("'%s': %s", m->id, error->message);
    }
    g_clear_error(&error);
    return status;
}

static gboolean wants_pieces(gpointer data, gint64 shard, const gchar *id)
{
    return item_is_piece(id);
}

static gint compare_items(gconstpointer a, gconstpointer b)
{
    const Item *x = *(Item *const *) a, *y = *(Item *const *) b;

    return strcmp(x->id, y->id);
}

/* What fails weighs more than what waits. */
static gint merge_all(const Job *job, GPtrArray *pieces)
{
    gint status = STATUS_DONE, one;
    guint n = 0;

    g_ptr_array_sort(pieces, compare_items);
    while (n < pieces->len) {
        Merge m = {.job = job, .pieces = g_ptr_array_new()};
        gboolean same = TRUE;

        m.id = item_get_whole(((const Item *) g_ptr_array_index(pieces, n))->id);
        while (same) {
            gchar *next;

            g_ptr_array_add(m.pieces, g_ptr_array_index(pieces, n));
            n++;
            next = n < pieces->len ?
                item_get_whole(((const Item *) g_ptr_array_index(pieces, n))->id) : NULL;
            same = !g_strcmp0(next, m.id);
            g_free(next);
        }
        one = merge_one(&m);
        if (one == STATUS_FAILED || (one && !status))
            status = one;
        g_ptr_array_unref(m.pieces);
        g_free(m.id);
    }
    return status;
}

gint merge(const Options *o, GError **error)
{
    GPtrArray *pieces = NULL;
    gint status = STATUS_OTHER;
    Job job;

    job_init(&job);
    if (job_load(&job, o->job, error))
        pieces = shards_read(&job, wants_pieces, NULL, error);
    if (pieces && !pieces->len)
        fault_set(error, FAULT_SETTINGS, "no recording of '%s' was cut", job.folder);
    else if (pieces && job_open_store(&job, o->patience, NULL, error))
        status = merge_all(&job, pieces);
    g_clear_pointer(&pieces, g_ptr_array_unref);
    job_clear(&job);
    return status;
}
