/* SPDX-License-Identifier: MIT */
#include "shards.h"

#include "fault.h"

/* Where a line is in shards.jsonl. */
typedef struct {
    gsize at, bytes;
} Range;

typedef struct {
    ShardsWants wants;
    gpointer data;
    gsize at;
    GArray *ranges; /* of Range */
} Search;

static void look_at(gpointer data, gint64 shard, gsize bytes, const gchar *id)
{
    Search *search = data;
    const Range range = {search->at, bytes};

    if (search->wants(search->data, shard, id))
        g_array_append_val(search->ranges, range);
    search->at += bytes;
}

GPtrArray *shards_read(const Job *job, ShardsWants wants, gpointer data, GError **error)
{
    gchar *path = g_build_filename(job->folder, "shards.jsonl", NULL);
    Search search = {wants, data, 0, g_array_new(FALSE, FALSE, sizeof(Range))};
    GPtrArray *items = g_ptr_array_new_with_free_func((GDestroyNotify) item_free);
    const gboolean indexed = job_read_index(job, look_at, &search, error);
    GMappedFile *file = indexed ? g_mapped_file_new(path, FALSE, NULL) : NULL;
    const gboolean whole = file && g_mapped_file_get_length(file) == search.at;
    GError *why = NULL;
    guint i;

    for (i = 0; whole && !why && i < search.ranges->len; i++) {
        const Range *range = &g_array_index(search.ranges, Range, i);
        Item *item = item_read(g_mapped_file_get_contents(file) + range->at, range->bytes, NULL,
            &why);

        if (item)
            g_ptr_array_add(items, item);
    }
    if (indexed && (!whole || why))
        fault_set(error, FAULT_SETTINGS, "'%s' is not what samtrack-batch plan writes%s%s", path,
            why ? ": " : "", why ? why->message : "");
    if (!whole || why)
        g_clear_pointer(&items, g_ptr_array_unref);
    g_clear_error(&why);
    g_clear_pointer(&file, g_mapped_file_unref);
    g_array_unref(search.ranges);
    g_free(path);
    return items;
}
