/* SPDX-License-Identifier: MIT */
/* What is done of a job: the names in its folders tell. */
#include "status.h"

#include "fault.h"
#include "folder.h"
#include "job.h"
#include "manifest.h"
#include "document.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define DAY (24 * 3600)

typedef struct {
    Job job;
    GHashTable *done, *pieces, *failed, *begun; /* names of folders and files */
    GHashTable *cut; /* ids of recordings that have pieces */
    guint num_done, num_failed, num_begun, num_items;
    GByteArray *missing; /* by shard: whether it is to be run */
    guint num_missing;
} State;

static gboolean is_done(State *s, const gchar *id, const gchar *name)
{
    gchar *whole;
    gboolean done;

    if (!item_is_piece(id))
        return g_hash_table_contains(s->done, name);
    whole = item_get_whole(name);
    done = g_hash_table_contains(s->done, whole) || g_hash_table_contains(s->pieces, name);
    g_hash_table_add(s->cut, whole);
    return done;
}

static void count_item(gpointer data, gint64 shard, gsize bytes, const gchar *id)
{
    gchar *name = job_get_name(id);
    State *s = data;

    s->num_items++;
    if (is_done(s, id, name)) {
        s->num_done++;
    } else if (g_hash_table_contains(s->failed, name) && job_has_failed(&s->job, id)) {
        s->num_failed++;
    } else {
        s->num_begun += g_hash_table_contains(s->begun, name);
        if (!s->missing->data[shard]) {
            s->missing->data[shard] = 1;
            s->num_missing++;
        }
    }
    g_free(name);
}

static gboolean count(State *s, GError **error)
{
    s->done = job_list_names(&s->job, "items", "");
    s->pieces = job_list_names(&s->job, "pieces", "");
    s->cut = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    s->failed = job_list_names(&s->job, "failed", ".json");
    s->begun = job_list_names(&s->job, "parts", "");
    s->missing = g_byte_array_new();
    g_byte_array_set_size(s->missing, s->job.shards);
    memset(s->missing->data, 0, s->job.shards);
    return job_read_index(&s->job, count_item, s, error);
}

/* As sbatch --array takes it. */
static void print_missing(const State *s)
{
    const gchar *comma = "";
    guint i, first;

    for (i = 0; i < s->missing->len; i++) {
        if (!s->missing->data[i])
            continue;
        first = i;
        while (i + 1 < s->missing->len && s->missing->data[i + 1])
            i++;
        if (first == i)
            printf("%s%u", comma, first);
        else
            printf("%s%u-%u", comma, first, i);
        comma = ",";
    }
    printf("\n");
}

static void print_failed(const State *s)
{
    GList *names = g_list_sort(g_hash_table_get_keys(s->failed), (GCompareFunc) strcmp), *l;

    for (l = names; l; l = l->next) {
        gchar *id = job_get_id(l->data), *path = job_get_path(&s->job, "failed", id);
        gchar *file = g_strconcat(path, ".json", NULL);
        JsonObject *object = json_read_file(file, NULL);

        if (object && !g_hash_table_contains(s->done, l->data) &&
            !g_hash_table_contains(s->pieces, l->data))
            printf("%s: %s (%s, attempts: %" G_GINT64_FORMAT ")\n", id,
                json_get_text(object, "sentence", ""), json_get_text(object, "kind", ""),
                json_get_int(object, "attempts", 0));
        g_clear_pointer(&object, json_object_unref);
        g_free(file);
        g_free(path);
        g_free(id);
    }
    g_list_free(names);
}

/* Folders of ours that nobody has renamed for a day: whoever made them is gone. */
static void clean(const gchar *path, guint depth, time_t now)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    const gchar *name;
    struct stat st;

    while (dir && (name = g_dir_read_name(dir))) {
        gchar *child = g_build_filename(path, name, NULL);

        if (lstat(child, &st))
            ;
        else if (*name == '.' && now - st.st_mtime > DAY)
            folder_remove(child);
        else if (*name != '.' && S_ISDIR(st.st_mode) && depth)
            clean(child, depth - 1, now);
        g_free(child);
    }
    if (dir)
        g_dir_close(dir);
}

static void clean_all(const State *s)
{
    static const gchar *const kinds[] = {"items", "pieces", "parts", "failed"};
    GHashTableIter iter;
    gpointer name;
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(kinds); i++) {
        gchar *path = g_build_filename(s->job.folder, kinds[i], NULL);

        clean(path, 2, time(NULL));
        g_free(path);
    }
    /* Of whoever was killed between the last rename and this. */
    g_hash_table_iter_init(&iter, s->begun);
    while (g_hash_table_iter_next(&iter, &name, NULL)) {
        if (g_hash_table_contains(s->done, name) || g_hash_table_contains(s->pieces, name)) {
            gchar *id = job_get_id(name), *path = job_get_path(&s->job, "parts", id);

            folder_remove(path);
            g_free(path);
            g_free(id);
        }
    }
}

static void clear(State *s)
{
    g_clear_pointer(&s->done, g_hash_table_unref);
    g_clear_pointer(&s->pieces, g_hash_table_unref);
    g_clear_pointer(&s->cut, g_hash_table_unref);
    g_clear_pointer(&s->failed, g_hash_table_unref);
    g_clear_pointer(&s->begun, g_hash_table_unref);
    g_clear_pointer(&s->missing, g_byte_array_unref);
    job_clear(&s->job);
}

static guint count_merged(const State *s)
{
    GHashTableIter iter;
    gpointer name;
    guint n = 0;

    g_hash_table_iter_init(&iter, s->cut);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        n += g_hash_table_contains(s->done, name);
    return n;
}

gint status(const Options *o, GError **error)
{
    State s = {.num_items = 0};
    gboolean ok;

    job_init(&s.job);
    ok = job_load(&s.job, o->job, error) && count(&s, error);
    if (ok && o->clean)
        clean_all(&s);
    if (ok && o->missing)
        print_missing(&s);
    else if (ok && o->failed)
        print_failed(&s);
    else if (ok)
        printf("items %u, done %u, failed %u, begun %u, to begin %u\n"
            "shards %" G_GINT64_FORMAT ", to run %u\n", s.num_items, s.num_done, s.num_failed,
            s.num_begun, s.num_items - s.num_done - s.num_failed - s.num_begun, s.job.shards,
            s.num_missing);
    if (ok && !o->missing && !o->failed && g_hash_table_size(s.cut))
        printf("recordings cut %u, put together %u\n", g_hash_table_size(s.cut), count_merged(&s));
    clear(&s);
    return ok ? STATUS_DONE : STATUS_OTHER;
}
