/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "fault.h"
#include "job.h"
#include "object.h"
#include "progress.h"
#include "shards.h"
#include "steal.h"
#include "work.h"

#include <glib-unix.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    guint done, skipped, failed, again;
} Counts;

typedef struct {
    GThread *thread; /* NULL: there is none */
    const Item *item;
    Counts *counts;
    Work *work;      /* NULL: nothing ends */
    WorkOutcome outcome;
    gchar *why;
} Ending;

typedef struct {
    Job job;
    GPtrArray *items;
    Control control;
    Progress progress;
    GstElement *keeper; /* holds the model open from one item to the next */
    GPtrArray *busy; /* items of the shard that another worker is at; those of @items */
    Counts counts;
    Ending ending; /* of the item before */
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

static gboolean is_of_shard(gpointer data, gint64 shard, const gchar *id)
{
    return shard == *(const gint64 *) data;
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
    ok = job_apply(&r->job, r->keeper, FALSE, error);
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

static void count(Run *r, Counts *counts, const Item *item, WorkOutcome outcome, const gchar *why)
{
    switch (outcome) {
    case WORK_DONE:
        counts->done++;
        break;
    case WORK_SKIPPED:
        counts->skipped++;
        if (!job_is_done(&r->job, item->id))
            counts->failed++;
        break;
    case WORK_FAILED:
        counts->failed++;
        progress_say("'%s' has failed: %s", item->id, why);
        break;
    case WORK_STUCK:
        progress_say(r->job.opened ? "the store or the job's folder takes no files" :
            "the job's folder takes no files");
        /* fall through */
    case WORK_AGAIN:
        counts->again++;
        progress_say("'%s' is to be tried again: %s", item->id, why);
        break;
    case WORK_INTERRUPTED:
        break;
    }
}

static gpointer end_work(gpointer data)
{
    Ending *e = data;

    e->outcome = work_end(e->work, &e->why);
    return NULL;
}

/* Of the item before. FALSE: no other one is to follow. */
static gboolean wait_for_end(Run *r)
{
    Ending *e = &r->ending;
    gboolean goes_on;

    if (!e->work)
        return TRUE;
    if (e->thread)
        g_thread_join(e->thread);
    goes_on = e->outcome != WORK_STUCK;
    count(r, e->counts, e->item, e->outcome, e->why);
    g_free(e->why);
    memset(e, 0, sizeof *e);
    return goes_on;
}

/* The result of an item is made beside the next one: the disk is waited for meanwhile. A store is
 * used by one thread. FALSE: no other one is to follow. */
static gboolean begin_end(Run *r, Counts *counts, const Item *item, Work *work)
{
    r->ending = (Ending) {.item = item, .counts = counts, .work = work};
    if (!r->job.opened)
        r->ending.thread = g_thread_try_new("result", end_work, &r->ending, NULL);
    if (r->ending.thread)
        return TRUE;
    end_work(&r->ending);
    return wait_for_end(r);
}

/* FALSE: no other one is to follow. The outcome is told with the next one. */
static gboolean work_on(Run *r, Counts *counts, const Item *item, gboolean retry)
{
    WorkOutcome outcome;
    gchar *why = NULL;
    gboolean goes_on;
    Work *work;

    while (g_main_context_iteration(NULL, FALSE)) /* signals between items */
        ;
    if (g_atomic_int_get(&r->control.interrupted))
        return FALSE;
    progress_item(&r->progress, item);
    outcome = work_begin(&r->control, &r->job, item, retry, &work, &why);
    progress_item_done(&r->progress, item);
    goes_on = wait_for_end(r);
    if (work && goes_on)
        return begin_end(r, counts, item, work);
    if (work)
        work_drop(work);
    else if (goes_on || outcome != WORK_STUCK) /* told once */
        count(r, counts, item, outcome, why);
    g_free(why);
    return goes_on && outcome != WORK_INTERRUPTED && outcome != WORK_STUCK;
}

/* To the end of the list, in the order that they have. */
static void put_back(GPtrArray *items, gboolean (*is_last)(const Job *job, const Item *item),
    const Job *job)
{
    guint i, left;

    for (i = 0, left = items->len; left; left--) {
        if (is_last(job, g_ptr_array_index(items, i)))
            g_ptr_array_add(items, g_ptr_array_steal_index(items, i));
        else
            i++;
    }
}

static void begin_progress(Run *r)
{
    gdouble seconds = 0;
    guint i;

    for (i = 0; i < r->items->len; i++) {
        const Item *item = g_ptr_array_index(r->items, i);

        seconds = item->seconds > 0 && seconds >= 0 ? seconds + item->seconds : -1;
    }
    progress_begin(&r->progress, r->items->len, seconds);
}

/* What nobody works on of the other shards, until nothing of it is left. */
static void steal(Run *r, gint64 shard)
{
    Counts counts = {0};
    gboolean goes_on = TRUE;
    Steal *others = steal_begin(&r->job, shard);
    Item *item;

    while (goes_on && (item = steal_next(others))) {
        goes_on = work_on(r, &counts, item, FALSE) && wait_for_end(r);
        item_free(item);
    }
    steal_end(others);
    progress_say("of other shards: %u done, %u failed, %u to be tried again", counts.done,
        counts.failed, counts.again);
}

static gint work_off(Run *r, const Options *o, gint64 shard)
{
    const gboolean many = r->items->len > 1;
    const Counts *counts = &r->counts;
    guint i, end;

    /* What ends the program each time must not keep it from the rest. */
    put_back(r->items, work_is_suspect, &r->job);
    begin_progress(r);
    for (i = 0; i < r->items->len; i++) {
        if (o->steal && work_is_busy(&r->job, g_ptr_array_index(r->items, i))) {
            g_ptr_array_add(r->busy, g_ptr_array_index(r->items, i));
            continue;
        }
        if (!work_on(r, &r->counts, g_ptr_array_index(r->items, i), o->retry))
            break;
    }
    end = wait_for_end(r) ? i : MIN(i, r->items->len - 1);
    if (end == r->items->len && o->steal)
        steal(r, shard);
    /* Whoever is faster than the one that works on them goes ahead. */
    for (i = 0; end == r->items->len && i < r->busy->len; i++)
        if (!work_on(r, &r->counts, g_ptr_array_index(r->busy, i), o->retry))
            end = 0;
    if (!wait_for_end(r))
        end = 0;
    progress_say("%u done, %u were done or given up before, %u failed, %u to be tried again%s",
        counts->done, counts->skipped, counts->failed, counts->again, end < r->items->len && many ?
        ", the rest waits" : "");
    if (end < r->items->len || counts->again)
        return STATUS_AGAIN;
    return counts->failed ? STATUS_FAILED : STATUS_DONE;
}

static gint work(Run *r, const Options *o, gint64 shard)
{
    gint result;

    r->control.loop = g_main_loop_new(NULL, FALSE);
    r->control.patience = o->patience;
    r->control.tell = progress_tell;
    r->control.data = &r->progress;
    r->busy = g_ptr_array_new();
    result = work_off(r, o, shard);
    g_ptr_array_unref(r->busy);
    g_main_loop_unref(r->control.loop);
    return result;
}

/* Settings that are wrong for one video of a store are wrong for all: no item is to fail then. */
static gboolean check_objects(const GPtrArray *items, GError **error)
{
    const gchar *uri = NULL;
    gchar *url;
    guint i, n;

    for (i = 0; i < items->len && !uri; i++) {
        const Item *item = g_ptr_array_index(items, i);

        for (n = 0; item->uris[n] && !uri; n++)
            uri = object_is(item->uris[n]) ? item->uris[n] : NULL;
    }
    url = uri ? object_get_url(uri, error) : NULL;
    g_free(url);
    return !uri || url;
}

gint run(const Options *o, GError **error)
{
    static const gint signals[] = {SIGTERM, SIGINT, SIGUSR1};
    Run r = {.items = NULL};
    gint result = STATUS_OTHER;
    gint64 shard;
    gsize i;

    /* while the model opens, too */
    for (i = 0; i < G_N_ELEMENTS(signals); i++)
        g_unix_signal_add(signals[i], on_signal, &r);
    job_init(&r.job);
    shard = job_load(&r.job, o->job, error) ? get_shard(o, &r.job, error) : -1;
    r.items = shard >= 0 ? shards_read(&r.job, is_of_shard, &shard, error) : NULL;
    if (r.items && access(o->job, W_OK | X_OK))
        fault_set(error, FAULT_SETTINGS, "'%s' cannot be written to: %s", o->job,
            g_strerror(errno));
    else if (r.items && (r.job.pretend > 0 || check_objects(r.items, error)) &&
        job_check_model(&r.job, error) && job_open_store(&r.job,
        o->patience, &r.control.interrupted, error) && (r.job.pretend > 0 ||
        keep_model(&r, error)))
        result = work(&r, o, shard);
    if (r.keeper)
        gst_element_set_state(r.keeper, GST_STATE_NULL);
    gst_clear_object(&r.keeper);
    g_clear_pointer(&r.items, g_ptr_array_unref);
    job_clear(&r.job);
    while (g_source_remove_by_user_data(&r))
        ;
    return result;
}
