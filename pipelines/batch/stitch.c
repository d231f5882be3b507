/* SPDX-License-Identifier: MIT */
#include "stitch.h"

#include "fault.h"
#include "lines.h"

#include <string.h>

#define LEAST_IOU 0.5

/* An object in a frame of the earlier piece. */
typedef struct {
    guint64 id;
    GArray *runs;
    gint width, height;
} Seen;

typedef struct {
    guint64 left, right; /* the key */
    gdouble sum;         /* of IoU */
    guint frames;        /* in which both are seen */
} Pair;

typedef struct {
    GstClockTime begin, end;
    GHashTable *frames;       /* of the earlier piece: time -> GPtrArray of Seen */
    GHashTable *pairs;        /* set of Pair */
    GHashTable *left, *right; /* sets of ids that are seen */
    guint common;

    GstSamRecord *record;
    GstSamCoder coder;
    GStringChunk *texts;
} Work;

static void free_seen(gpointer data)
{
    Seen *seen = data;

    g_array_unref(seen->runs);
    g_free(seen);
}

static guint hash_pair(gconstpointer data)
{
    const Pair *pair = data;

    return g_int64_hash(&pair->left) * 31 + g_int64_hash(&pair->right);
}

static gboolean is_same_pair(gconstpointer a, gconstpointer b)
{
    const Pair *x = a, *y = b;

    return x->left == y->left && x->right == y->right;
}

static void add_id(GHashTable *ids, guint64 id)
{
    if (!g_hash_table_contains(ids, &id))
        g_hash_table_add(ids, g_memdup2(&id, sizeof id));
}

static gint64 count_pixels(const GArray *runs)
{
    gint64 n = 0;
    guint i;

    for (i = 0; i < runs->len; i++)
        n += g_array_index(runs, Run, i).end - g_array_index(runs, Run, i).begin;
    return n;
}

static gdouble get_iou(const GArray *a, const GArray *b)
{
    gint64 both = 0, all;
    guint i = 0, k = 0;

    while (i < a->len && k < b->len) {
        const Run *x = &g_array_index(a, Run, i), *y = &g_array_index(b, Run, k);
        const gint64 begin = MAX(x->begin, y->begin), end = MIN(x->end, y->end);

        both += MAX(end - begin, 0);
        if (x->end < y->end)
            i++;
        else
            k++;
    }
    all = count_pixels(a) + count_pixels(b) - both;
    return all ? both / (gdouble) all : 0;
}

/* The masks of a line that is of the overlap: NULL if it is not, or with an error. */
static GPtrArray *read_masks(Work *work, const gchar *line, gsize bytes, GstClockTime *time,
    GError **error)
{
    GPtrArray *all;
    guint i;

    if (!lines_get_number(line, "stream_time", time)) {
        fault_set(error, FAULT_DAMAGED, "a line has no 'stream_time'");
        return NULL;
    }
    if (*time < work->begin || *time >= work->end)
        return NULL;
    if (!lines_read(line, bytes, work->record, &work->coder, work->texts)) {
        fault_set(error, FAULT_DAMAGED, "a line is damaged");
        return NULL;
    }
    all = g_ptr_array_new_with_free_func(free_seen);
    for (i = 0; i < work->record->report.num_objects; i++) {
        const GstSamObject *object = &work->record->report.object[i];
        const gchar *counts = work->coder.packed[object->slot];
        Seen seen = {object->id, NULL, work->coder.width, work->coder.height};

        if (!gst_sam_coder_get_region(&work->coder, object))
            continue;
        seen.runs = lines_get_runs(counts, seen.width, seen.height);
        if (seen.runs) /* lines_read() has looked at it */
            g_ptr_array_add(all, g_memdup2(&seen, sizeof seen));
    }
    return all;
}

static gboolean keep_earlier(gpointer data, const gchar *line, gsize bytes, GError **error)
{
    Work *work = data;
    GError *why = NULL;
    GstClockTime time;
    GPtrArray *seen = read_masks(work, line, bytes, &time, &why);
    guint i;

    for (i = 0; seen && i < seen->len; i++)
        add_id(work->left, ((const Seen *) g_ptr_array_index(seen, i))->id);
    if (seen)
        g_hash_table_insert(work->frames, g_memdup2(&time, sizeof time), seen);
    if (!why)
        return TRUE;
    g_propagate_error(error, why);
    return FALSE;
}

static void add_pair(Work *work, const Seen *left, const Seen *right)
{
    const Pair key = {left->id, right->id, 0, 0};
    Pair *pair = g_hash_table_lookup(work->pairs, &key);

    if (!pair) {
        pair = g_memdup2(&key, sizeof key);
        g_hash_table_add(work->pairs, pair);
    }
    pair->frames++;
    if (left->width == right->width && left->height == right->height)
        pair->sum += get_iou(left->runs, right->runs);
}

static gboolean compare_later(gpointer data, const gchar *line, gsize bytes, GError **error)
{
    Work *work = data;
    GError *why = NULL;
    GstClockTime time;
    GPtrArray *right = read_masks(work, line, bytes, &time, &why);
    GPtrArray *left = right ? g_hash_table_lookup(work->frames, &time) : NULL;
    guint i, k;

    for (k = 0; right && k < right->len; k++)
        add_id(work->right, ((const Seen *) g_ptr_array_index(right, k))->id);
    for (i = 0; left && i < left->len; i++)
        for (k = 0; k < right->len; k++)
            add_pair(work, g_ptr_array_index(left, i), g_ptr_array_index(right, k));
    work->common += left != NULL;
    g_clear_pointer(&right, g_ptr_array_unref);
    if (!why)
        return TRUE;
    g_propagate_error(error, why);
    return FALSE;
}

static gint compare_ids(gconstpointer a, gconstpointer b)
{
    const guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

    return (x > y) - (x < y);
}

/* The best first; the order of equal ones is that of their ids. */
static gint compare_matches(gconstpointer a, gconstpointer b)
{
    const Match *x = a, *y = b;

    if (x->iou != y->iou)
        return x->iou < y->iou ? 1 : -1;
    return x->left != y->left ? compare_ids(&x->left, &y->left) :
        compare_ids(&x->right, &y->right);
}

static void append_ids(GHashTable *ids, GArray *to)
{
    GHashTableIter iter;
    gpointer id;

    g_hash_table_iter_init(&iter, ids);
    while (g_hash_table_iter_next(&iter, &id, NULL))
        g_array_append_vals(to, id, 1);
    g_array_sort(to, compare_ids);
}

static void assign(Work *work, Stitch *stitch)
{
    GArray *likely = g_array_new(FALSE, FALSE, sizeof(Match));
    GHashTableIter iter;
    gpointer data;
    guint i;

    g_hash_table_iter_init(&iter, work->pairs);
    while (g_hash_table_iter_next(&iter, &data, NULL)) {
        const Pair *pair = data;
        const Match match = {pair->left, pair->right, pair->sum / pair->frames};

        if (match.iou >= LEAST_IOU)
            g_array_append_val(likely, match);
    }
    g_array_sort(likely, compare_matches);
    for (i = 0; i < likely->len; i++) {
        const Match *match = &g_array_index(likely, Match, i);

        if (!g_hash_table_contains(work->left, &match->left) ||
            !g_hash_table_contains(work->right, &match->right))
            continue;
        g_hash_table_remove(work->left, &match->left);
        g_hash_table_remove(work->right, &match->right);
        g_array_append_vals(stitch->matches, match, 1);
    }
    g_array_sort(stitch->matches, compare_ids); /* by what it begins with */
    append_ids(work->left, stitch->left);
    append_ids(work->right, stitch->right);
    stitch->frames = work->common;
    g_array_unref(likely);
}

gboolean stitch_pieces(Stitch *stitch, const gchar *earlier, const gchar *later,
    GstClockTime begin, GstClockTime end, GError **error)
{
    Work work = {.begin = begin, .end = end};
    gboolean ok;

    stitch->matches = g_array_new(FALSE, FALSE, sizeof(Match));
    stitch->left = g_array_new(FALSE, FALSE, sizeof(guint64));
    stitch->right = g_array_new(FALSE, FALSE, sizeof(guint64));
    work.frames = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
        (GDestroyNotify) g_ptr_array_unref);
    work.pairs = g_hash_table_new_full(hash_pair, is_same_pair, g_free, NULL);
    work.left = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    work.right = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    work.record = g_new0(GstSamRecord, 1);
    work.texts = g_string_chunk_new(1 << 16);
    gst_sam_coder_init(&work.coder, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    ok = lines_read_file(earlier, NULL, keep_earlier, &work, error) &&
        lines_read_file(later, NULL, compare_later, &work, error);
    if (ok)
        assign(&work, stitch);
    gst_sam_coder_clear(&work.coder);
    g_string_chunk_free(work.texts);
    g_free(work.record);
    g_hash_table_unref(work.right);
    g_hash_table_unref(work.left);
    g_hash_table_unref(work.pairs);
    g_hash_table_unref(work.frames);
    return ok;
}

void stitch_clear(Stitch *stitch)
{
    g_clear_pointer(&stitch->matches, g_array_unref);
    g_clear_pointer(&stitch->left, g_array_unref);
    g_clear_pointer(&stitch->right, g_array_unref);
}
