/* SPDX-License-Identifier: MIT */
#include "steal.h"

#include "shards.h"
#include "work.h"

struct Steal {
    const Job *job;
    gint64 shard;
    GHashTable *done, *pieces, *failed; /* names, as they were when the list was made */
    GHashTable *given; /* ids */
    GPtrArray *items;  /* of a look at the job's folder; the next one is the last of them */
    guint before;      /* of them, those of shards before ours */
    gboolean gave;     /* one of them */
};

Steal *steal_begin(const Job *job, gint64 shard)
{
    Steal *steal = g_new0(Steal, 1);

    steal->job = job;
    steal->shard = shard;
    steal->given = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return steal;
}

static gboolean wants(gpointer data, gint64 shard, const gchar *id)
{
    gchar *name = job_get_name(id);
    Steal *steal = data;
    const gboolean is_done = g_hash_table_contains(steal->done, name) ||
        g_hash_table_contains(steal->pieces, name);
    const gboolean wanted = shard != steal->shard && !is_done &&
        !g_hash_table_contains(steal->given, id) &&
        !(g_hash_table_contains(steal->failed, name) && job_has_failed(steal->job, id));

    steal->before += wanted && shard < steal->shard;
    g_free(name);
    return wanted;
}

/* Whoever has a shard goes through it from its longest item to its shortest: from its end others
 * come last into the way. And each worker begins with the shard before its own. */
static void look(Steal *steal)
{
    GPtrArray *found;
    guint i;

    steal->done = job_list_names(steal->job, "items", "");
    steal->pieces = job_list_names(steal->job, "pieces", "");
    steal->failed = job_list_names(steal->job, "failed", ".json");
    steal->before = 0;
    found = shards_read(steal->job, wants, steal, NULL);
    steal->items = found ? g_ptr_array_new_full(found->len, (GDestroyNotify) item_free) : NULL;
    for (i = 0; found && i < found->len; i++)
        g_ptr_array_add(steal->items, g_steal_pointer(&g_ptr_array_index(found,
            (i + steal->before) % found->len)));
    g_clear_pointer(&found, g_ptr_array_unref); /* free functions are not called for NULL */
    steal->gave = FALSE;
    g_hash_table_unref(steal->done);
    g_hash_table_unref(steal->pieces);
    g_hash_table_unref(steal->failed);
}

Item *steal_next(Steal *steal)
{
    for (;;) {
        if (!steal->items)
            look(steal);
        while (steal->items && steal->items->len) {
            Item *item = g_ptr_array_steal_index(steal->items, steal->items->len - 1);

            if (!job_is_done(steal->job, item->id) && !work_is_busy(steal->job, item)) {
                g_hash_table_add(steal->given, g_strdup(item->id));
                steal->gave = TRUE;
                return item;
            }
            item_free(item);
        }
        if (!steal->items || !steal->gave)
            return NULL;
        g_clear_pointer(&steal->items, g_ptr_array_unref);
    }
}

void steal_end(Steal *steal)
{
    g_clear_pointer(&steal->items, g_ptr_array_unref);
    g_hash_table_unref(steal->given);
    g_free(steal);
}
