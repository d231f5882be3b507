/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "fault.h"
#include "job.h"
#include "progress.h"
#include "work.h"

#include <glib-unix.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    Job job;
    GPtrArray *items;
    Control control;
    Progress progress;
    GstElement *keeper; /* holds the model open from one item to the next */
    guint done, skipped, failed, again;
} Run;

/* The number of the shard that a scheduler gives; -1 with an error. */
static gint64 get_shard(const Options *o, const Job *job, GError **error)
{
    static const gchar *const names[] = {"SAMTRACK_SHARD", "SLURM_ARRAY_TASK_ID",
        "JOB_COMPLETION_INDEX"};
    const gchar *name = "--shard", *text = NULL;
    gint64 shard = o->shard;
    gsize i;

    for (i = 0; shard < 0 && !text && i < G_N_ELEMENTS(names); i++) {
        name = names[i];
        text = g_getenv(name);
    }
    if (shard < 0 && !text) {
        fault_set(error, FAULT_SETTINGS, "no shard is named: expected --shard, or a number in %s, "
            "%s or %s", names[0], names[1], names[2]);
        return -1;
    }
    if (text && !g_ascii_string_to_signed(text, 10, 0, G_MAXINT, &shard, NULL)) {
        fault_set(error, FAULT_SETTINGS, "%s is '%s', expected a number", name, text);
        return -1;
    }
    if (shard >= job->shards) {
        fault_set(error, FAULT_SETTINGS, "%s is %" G_GINT64_FORMAT ", the job has the shards 0 to %"
            G_GINT64_FORMAT, name, shard, job->shards - 1);
        return -1;
    }
    return shard;
}

/* Where the lines of a shard are. */
typedef struct {
    gint64 shard;
    gsize at, first, end;
} Range;

static void find_range(gpointer data, gint64 shard, gsize bytes, const gchar *id)
{
    Range *range = data;

    if (shard < range->shard)
        range->first = range->end = range->at + bytes;
    else if (shard == range->shard)
        range->end = range->at + bytes;
    range->at += bytes;
}

static gboolean read_shard(Run *r, gint64 shard, GError **error)
{
    gchar *path = g_build_filename(r->job.folder, "shards.jsonl", NULL);
    Range range = {.shard = shard};
    GMappedFile *file = job_read_index(&r->job, find_range, &range, error) ?
        g_mapped_file_new(path, FALSE, NULL) : NULL;
    const gboolean whole = file && g_mapped_file_get_length(file) == range.at;
    const gchar *text = whole ? g_mapped_file_get_contents(file) : NULL;
    const gchar *at = whole ? text + range.first : NULL;
    GError *why = NULL;

    while (whole && !why && at < text + range.end) {
        const gchar *end = memchr(at, '\n', text + range.end - at);
        Item *item = item_read(at, (end ? end : text + range.end) - at, "/", &why);

        if (item)
            g_ptr_array_add(r->items, item);
        at = end ? end + 1 : text + range.end;
    }
    if (error && !*error && (!whole || why))
        fault_set(error, FAULT_SETTINGS, "'%s' is not what samtrack-batch plan writes%s%s", path,
            why ? ": " : "", why ? why->message : "");
    g_clear_error(&why);
    g_clear_pointer(&file, g_mapped_file_unref);
    g_free(path);
    return error && !*error;
}

static gboolean on_signal(gpointer data)
{
    Run *r = data;

    if (!r->control.interrupted)
        progress_say("interrupted: the chunk ends at the next frame");
    r->control.interrupted_us = g_get_monotonic_time();
    g_atomic_int_set(&r->control.interrupted, TRUE);
    return G_SOURCE_CONTINUE;
}

/* Weights are shared by all that have them open: a tracker of its own, as small as it can be. */
static gboolean keep_model(Run *r, GError **error)
{
    GstBus *bus = gst_bus_new();
    GstMessage *message;
    GError *why = NULL;
    gboolean ok;

    r->keeper = gst_element_factory_make("samtrack", NULL);
    if (!r->keeper) {
        gst_object_unref(bus);
        return fault_set(error, FAULT_SETTINGS, "GStreamer does not find the element samtrack");
    }
    gst_object_ref_sink(r->keeper);
    gst_element_set_bus(r->keeper, bus);
    ok = job_apply(&r->job, r->keeper, error);
    if (ok) {
        g_object_set(r->keeper, "max-objects", 1, "history", 0, NULL);
        ok = gst_element_set_state(r->keeper, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
        message = ok ? NULL : gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
        if (message)
            gst_message_parse_error(message, &why, NULL);
        if (!ok)
            fault_set(error, FAULT_SETTINGS, "%s", why ? why->message :
                "the model cannot be opened");
        g_clear_error(&why);
        g_clear_pointer(&message, gst_message_unref);
    }
    gst_element_set_bus(r->keeper, NULL);
    gst_object_unref(bus);
    return ok;
}

static void count(Run *r, const Item *item, WorkOutcome outcome, const gchar *why)
{
    switch (outcome) {
    case WORK_DONE:
        r->done++;
        break;
    case WORK_SKIPPED:
        r->skipped++;
        if (!job_is_done(&r->job, item->id))
            r->failed++;
        break;
    case WORK_FAILED:
        r->failed++;
        progress_say("'%s' has failed: %s", item->id, why);
        break;
    case WORK_STUCK:
        progress_say("the job's folder takes no files");
        /* fall through */
    case WORK_AGAIN:
        r->again++;
        progress_say("'%s' is to be tried again: %s", item->id, why);
        break;
    case WORK_INTERRUPTED:
        break;
    }
}

static gint work_off(Run *r, gboolean retry)
{
    const gboolean many = r->items->len > 1;
    gdouble seconds = 0;
    guint i, left;

    for (i = 0; i < r->items->len; i++) {
        const Item *item = g_ptr_array_index(r->items, i);

        seconds = item->seconds > 0 && seconds >= 0 ? seconds + item->seconds : -1;
    }
    /* What ends the program each time must not keep it from the rest. */
    for (i = 0, left = r->items->len; left; left--) {
        if (work_is_suspect(&r->job, g_ptr_array_index(r->items, i)))
            g_ptr_array_add(r->items, g_ptr_array_steal_index(r->items, i));
        else
            i++;
    }
    progress_begin(&r->progress, r->items->len, seconds);
    for (i = 0; i < r->items->len; i++) {
        const Item *item = g_ptr_array_index(r->items, i);
        WorkOutcome outcome;
        gchar *why = NULL;

        while (g_main_context_iteration(NULL, FALSE)) /* signals between items */
            ;
        if (g_atomic_int_get(&r->control.interrupted))
            break;
        progress_item(&r->progress, item);
        outcome = work_item(&r->control, &r->job, item, retry, &why);
        progress_item_done(&r->progress, item);
        count(r, item, outcome, why);
        g_free(why);
        if (outcome == WORK_INTERRUPTED || outcome == WORK_STUCK)
            break;
    }
    progress_say("%u done, %u were done or given up before, %u failed, %u to be tried again%s",
        r->done, r->skipped, r->failed, r->again, i < r->items->len && many ? ", the rest waits" :
        "");
    if (i < r->items->len || r->again)
        return STATUS_AGAIN;
    return r->failed ? STATUS_FAILED : STATUS_DONE;
}

static gint work(Run *r, const Options *o)
{
    gint result;

    r->control.loop = g_main_loop_new(NULL, FALSE);
    r->control.patience = o->patience;
    r->control.tell = progress_tell;
    r->control.data = &r->progress;
    result = work_off(r, o->retry);
    g_main_loop_unref(r->control.loop);
    return result;
}

gint run(const Options *o, GError **error)
{
    static const gint signals[] = {SIGTERM, SIGINT, SIGUSR1};
    Run r = {.items = g_ptr_array_new_with_free_func((GDestroyNotify) item_free)};
    gint result = STATUS_OTHER;
    gint64 shard;
    gsize i;

    /* while the model opens, too */
    for (i = 0; i < G_N_ELEMENTS(signals); i++)
        g_unix_signal_add(signals[i], on_signal, &r);
    job_init(&r.job);
    shard = job_load(&r.job, o->job, error) ? get_shard(o, &r.job, error) : -1;
    if (shard >= 0 && read_shard(&r, shard, error) && access(o->job, W_OK | X_OK)) {
        fault_set(error, FAULT_SETTINGS, "'%s' cannot be written to: %s", o->job,
            g_strerror(errno));
    } else if (shard >= 0 && error && !*error && job_check_model(&r.job, error) &&
        keep_model(&r, error)) {
        result = work(&r, o);
    }
    if (r.keeper)
        gst_element_set_state(r.keeper, GST_STATE_NULL);
    gst_clear_object(&r.keeper);
    g_ptr_array_unref(r.items);
    job_clear(&r.job);
    while (g_source_remove_by_user_data(&r))
        ;
    return result;
}
