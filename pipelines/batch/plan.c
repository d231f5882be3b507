/* SPDX-License-Identifier: MIT */
/* From a manifest to a job: checked, packed, frozen. */
#include "plan.h"

#include "fault.h"
#include "folder.h"
#include "job.h"
#include "manifest.h"
#include "sheet.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Sentences about bad lines that are printed. */
#define MOST_TOLD 20
/* What a video of unknown length is taken for. */
#define UNKNOWN_SECONDS 60.0
#define BYTES_PER_SECOND 500000.0

typedef struct {
    gchar *id, *line;
    gdouble seconds;
    guint number; /* of its line */
    guint shard;
} Entry;

typedef struct {
    const Options *options;
    gchar *folder; /* of the manifest */
    GArray *entries;
    GHashTable *ids; /* -> line's number */
    gboolean detects;
    guint num_bad, num_cut, num_unknown;
} Plan;

static void clear_entry(gpointer data)
{
    Entry *entry = data;

    g_free(entry->id);
    g_free(entry->line);
}

static void tell_bad(Plan *p, guint number, const gchar *why)
{
    if (++p->num_bad <= MOST_TOLD)
        fprintf(stderr, "samtrack-batch: '%s', line %u: %s.\n", p->options->manifest, number, why);
}

/* Seconds of video, for the packing alone. */
static gdouble guess_seconds(const Item *item)
{
    gdouble seconds = 0;
    guint i;

    if (item->seconds > 0)
        return item->seconds;
    if (GST_CLOCK_TIME_IS_VALID(item->stop))
        return (item->stop - item->start) / (gdouble) GST_SECOND;
    for (i = 0; item->uris[i]; i++) {
        gchar *path = item_get_path(item->uris[i]);
        struct stat s;

        seconds += path && !stat(path, &s) ? s.st_size / BYTES_PER_SECOND : UNKNOWN_SECONDS;
        g_free(path);
    }
    return MAX(seconds, 0.1);
}

static void add_entry(Plan *p, const Item *item, gdouble seconds, guint number)
{
    const Entry entry = {g_strdup(item->id), item_write(item), seconds, number, 0};

    g_array_append_val(p->entries, entry);
}

/* As it is, or in pieces. */
static void add_item(Plan *p, const Item *item, guint number, GError **error)
{
    const Options *o = p->options;
    const gdouble stop = GST_CLOCK_TIME_IS_VALID(item->stop) ? item->stop / 1e9 : G_MAXDOUBLE;
    const gdouble end = item->seconds > 0 ? MIN(item->seconds, stop) : stop;
    const gdouble seconds = end < G_MAXDOUBLE ? end - item->start / 1e9 : 0;
    GPtrArray *pieces = o->cut > 0 ? item_cut(item, seconds, o->cut, o->overlap, error) : NULL;
    guint i;

    if (pieces) {
        for (i = 0; i < pieces->len; i++) {
            const Item *piece = g_ptr_array_index(pieces, i);

            add_entry(p, piece, piece->seconds, number);
        }
        g_ptr_array_unref(pieces);
        p->num_cut++;
    } else if (!*error) {
        p->num_unknown += o->cut > 0 && end == G_MAXDOUBLE;
        add_entry(p, item, guess_seconds(item), number);
    }
    g_hash_table_insert(p->ids, g_strdup(item->id), GUINT_TO_POINTER(number));
}

static void add_line(Plan *p, const gchar *line, gsize bytes, guint number)
{
    GError *error = NULL;
    Item *item = item_read(line, bytes, p->folder, &error);
    gpointer earlier = item ? g_hash_table_lookup(p->ids, item->id) : NULL;

    if (earlier)
        fault_set(&error, FAULT_SETTINGS, "the id '%s' is that of line %u, too", item->id,
            GPOINTER_TO_UINT(earlier));
    if (!error && item->detect && !p->detects)
        fault_set(&error, FAULT_SETTINGS, "'detect' is true, but the job has no detector: expected "
            "--set=detector-file=FILE");
    if (!error && p->options->pretend > 0 && item->seconds <= 0 &&
        !GST_CLOCK_TIME_IS_VALID(item->stop))
        fault_set(&error, FAULT_SETTINGS, "expected 'seconds' or 'stop': with --pretend no video "
            "is read");
    if (!error)
        add_item(p, item, number, &error);
    if (error)
        tell_bad(p, number, error->message);
    g_clear_error(&error);
    item_free(item);
}

static gboolean is_blank(const gchar *line, gsize bytes)
{
    gsize i = 0;

    while (i < bytes && g_ascii_isspace(line[i]))
        i++;
    return i == bytes;
}

static gboolean read_manifest(Plan *p, Job *job, GError **error)
{
    GError *why = NULL;
    GMappedFile *file = g_mapped_file_new(p->options->manifest, FALSE, &why);
    const gchar *at, *end, *stop;
    guint number = 0;

    if (!file) {
        fault_set(error, FAULT_SETTINGS, "the manifest cannot be read: %s", why->message);
        g_error_free(why);
        return FALSE;
    }
    at = g_mapped_file_get_contents(file);
    stop = at + g_mapped_file_get_length(file);
    job->manifest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *) at, stop - at);
    for (; at && at < stop; at = end + 1) {
        end = memchr(at, '\n', stop - at);
        end = end ? end : stop;
        number++;
        if (!is_blank(at, end - at))
            add_line(p, at, end - at, number);
    }
    g_mapped_file_unref(file);
    if (p->num_bad > MOST_TOLD)
        fprintf(stderr, "samtrack-batch: '%s': %u more lines are wrong.\n", p->options->manifest,
            p->num_bad - MOST_TOLD);
    if (p->num_bad)
        return fault_set(error, FAULT_SETTINGS, "nothing was planned: %u of %u lines are wrong",
            p->num_bad, number);
    if (!p->entries->len)
        return fault_set(error, FAULT_SETTINGS, "the manifest '%s' has no lines",
            p->options->manifest);
    return TRUE;
}

/* Packing: the longest first, each into the shard with the least */

static gint compare_entries(gconstpointer a, gconstpointer b)
{
    const Entry *x = a, *y = b;

    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

typedef struct {
    gdouble load;
    guint shard;
} Bin;

static gboolean is_before(const Bin *a, const Bin *b)
{
    return a->load < b->load || (a->load == b->load && a->shard < b->shard);
}

/* The first one of a heap has become heavier. */
static void sink(Bin *bins, guint n)
{
    guint at = 0, child;
    Bin moved = bins[0];

    for (; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_before(&bins[child + 1], &bins[child]))
            child++;
        if (is_before(&moved, &bins[child]))
            break;
        bins[at] = bins[child];
    }
    bins[at] = moved;
}

static void pack(Plan *p, Job *job)
{
    const Options *o = p->options;
    gdouble all = 0;
    Bin *bins;
    guint i;

    for (i = 0; i < p->entries->len; i++)
        all += g_array_index(p->entries, Entry, i).seconds;
    job->items = p->entries->len;
    job->shards = o->shards ? o->shards : (gint64) (all * o->work / (60 * o->shard_minutes)) + 1;
    job->shards = MIN(job->shards, job->items);
    g_array_sort(p->entries, compare_entries);
    bins = g_new0(Bin, job->shards);
    for (i = 0; i < job->shards; i++)
        bins[i].shard = i;
    for (i = 0; i < p->entries->len; i++) {
        Entry *entry = &g_array_index(p->entries, Entry, i);

        entry->shard = bins[0].shard;
        bins[0].load += entry->seconds;
        sink(bins, job->shards);
    }
    g_free(bins);
}

/* Writing */

static gint compare_shards(gconstpointer a, gconstpointer b)
{
    const Entry *x = a, *y = b;

    return x->shard == y->shard ? compare_entries(a, b) : x->shard < y->shard ? -1 : 1;
}

/* All shards are one file: thousands of small ones take long on the file systems of clusters. The
 * index tells the shard, the bytes and the id of each line; status reads that alone. */
static gboolean write_shards(Plan *p, const gchar *ours, GError **error)
{
    Sheet *lines = sheet_open(ours, "shards.jsonl", error);
    Sheet *index = lines ? sheet_open(ours, "index", error) : NULL;
    GString *text = g_string_new(NULL);
    gboolean ok = index != NULL;
    guint i;

    g_array_sort(p->entries, compare_shards);
    for (i = 0; ok && i < p->entries->len; i++) {
        const Entry *entry = &g_array_index(p->entries, Entry, i);
        const gsize bytes = strlen(entry->line);

        g_string_printf(text, "%u %" G_GSIZE_FORMAT " %s\n", entry->shard, bytes, entry->id);
        ok = sheet_write(lines, entry->line, bytes, error) &&
            sheet_write(index, text->str, text->len, error);
    }
    if (ok) {
        ok = sheet_close(g_steal_pointer(&lines), SHEET_LASTS, NULL, error);
        ok = ok && sheet_close(g_steal_pointer(&index), SHEET_LASTS, NULL, error);
    }
    sheet_drop(lines);
    sheet_drop(index);
    g_string_free(text, TRUE);
    return ok;
}

/* Planned already: the same, or another job, which stays. */
static gboolean compare_job(const Job *job, const gchar *text, GError **error)
{
    gchar *path = g_build_filename(job->folder, "job.json", NULL), *there = NULL;
    gboolean same = g_file_get_contents(path, &there, NULL, NULL) && !strcmp(there, text);

    if (!same)
        fault_set(error, FAULT_SETTINGS, "'%s' exists, and is not this job: nothing was changed",
            job->folder);
    g_free(there);
    g_free(path);
    return same;
}

static gboolean has_content(const gchar *folder)
{
    GPtrArray *names = folder_list(folder);
    const gboolean has = names->len || (g_file_test(folder, G_FILE_TEST_EXISTS) &&
        !g_file_test(folder, G_FILE_TEST_IS_DIR));

    g_ptr_array_unref(names);
    return has;
}

static gboolean write_job(Plan *p, Job *job, GError **error)
{
    gchar *text = job_write(job), *ours = NULL;
    gboolean ok = FALSE;

    if (has_content(job->folder)) {
        ok = compare_job(job, text, error);
    } else {
        ours = folder_begin(job->folder, error);
        ok = ours && write_shards(p, ours, error) &&
            sheet_write_whole(ours, "job.json", text, SHEET_LASTS, error);
        if (ours && !ok)
            folder_remove(ours);
        else if (ours)
            switch (folder_commit(ours, job->folder, SHEET_LASTS, error)) {
            case FOLDER_WON:
                break;
            case FOLDER_LOST:
                ok = compare_job(job, text, error);
                break;
            case FOLDER_FAILED:
                ok = FALSE;
                break;
            }
    }
    g_free(ours);
    g_free(text);
    return ok;
}

static gboolean read_settings(Job *job, const Options *o, GError **error)
{
    GstElement *track;
    gboolean ok;
    guint i;

    for (i = 0; o->set && o->set[i]; i++) {
        const gchar *equals = strchr(o->set[i], '=');
        gchar *name = equals ? g_strndup(o->set[i], equals - o->set[i]) : NULL;
        gchar *path = name && job_is_file(name) ? g_canonicalize_filename(equals + 1, NULL) : NULL;

        if (!name || job_get_setting(job, name)) {
            fault_set(error, FAULT_SETTINGS, name ? "--set names '%s' twice" :
                "--set is '%s', expected NAME=VALUE", name ? name : o->set[i]);
            g_free(name);
            return FALSE;
        }
        job_add_setting(job, name, path ? path : equals + 1);
        g_free(name);
        g_free(path);
    }
    track = gst_element_factory_make("samtrack", NULL);
    if (!track)
        return fault_set(error, FAULT_SETTINGS, "GStreamer does not find the element samtrack");
    ok = job_apply(job, track, TRUE, error);
    gst_object_unref(gst_object_ref_sink(track));
    return ok;
}

gint plan(const Options *o, GError **error)
{
    gchar *path = g_canonicalize_filename(o->manifest, NULL);
    Plan p = {.options = o, .folder = g_path_get_dirname(path)};
    gboolean ok;
    Job job;

    job_init(&job);
    p.entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    g_array_set_clear_func(p.entries, clear_entry);
    p.ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    job.folder = g_canonicalize_filename(o->job, NULL);
    job.version = g_strdup(SAM_VERSION);
    job.format = g_strdup(o->format);
    job.mask_size = g_strdup(o->mask_size);
    job.store = g_strdup(o->store ? o->store : "");
    job.chunk = o->chunk;
    job.pretend = o->pretend;
    job.cut = o->cut;
    job.overlap = o->cut > 0 ? o->overlap : 0;
    ok = read_settings(&job, o, error);
    p.detects = job_get_setting(&job, "detector-file") != NULL;
    ok = ok && read_manifest(&p, &job, error) && job_fix(&job, error);
    if (ok) {
        pack(&p, &job);
        ok = write_job(&p, &job, error);
    }
    if (ok)
        printf("items %" G_GINT64_FORMAT ", shards %" G_GINT64_FORMAT ", run %s\n", job.items,
            job.shards, job.run);
    if (ok && p.num_cut)
        printf("recordings cut %u\n", p.num_cut);
    if (ok && p.num_unknown)
        fprintf(stderr, "samtrack-batch: %u items have neither 'seconds' nor 'stop': they are not "
            "cut.\n", p.num_unknown);
    g_hash_table_unref(p.ids);
    g_array_unref(p.entries);
    g_free(p.folder);
    g_free(path);
    job_clear(&job);
    return ok ? STATUS_DONE : STATUS_OTHER;
}
