/* SPDX-License-Identifier: MIT */
#include "work.h"

#include "deliver.h"
#include "fault.h"
#include "finish.h"
#include "folder.h"
#include "document.h"
#include "pretend.h"
#include "sheet.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often a failure that may pass is tried again, in all runs. */
#define MOST_ATTEMPTS 5
/* After so many runs that ended without a word an item has to wait for the others. */
#define MOST_SILENT 3
/* Who works on an item says so each half a minute; caches of file systems are a minute late. */
#define BUSY_SECONDS 150
/* How often in one run somebody else may be faster with a chunk: they would be faster with all. */
#define MOST_LOST 1000

typedef struct {
    gboolean permanent;
    gint64 attempts;
    gint64 silent; /* runs that began with it and told nothing of it any more */
} Failure;

struct Work {
    const Job *job;
    const Item *item;
    Failure failure, begun;
    Place place;
    LegOutcome leg;
    GError *error;
};

static gchar *get_failure_path(const Job *job, const Item *item)
{
    gchar *path = job_get_path(job, "failed", item->id), *file = g_strconcat(path, ".json", NULL);

    g_free(path);
    return file;
}

static Failure read_failure(const Job *job, const Item *item)
{
    gchar *path = get_failure_path(job, item);
    JsonObject *object = json_read_file(path, NULL);
    Failure failure = {FALSE, 0, 0};

    if (object) {
        failure.permanent = !strcmp(json_get_text(object, "kind", ""), "permanent");
        failure.attempts = json_get_int(object, "attempts", 0);
        failure.silent = json_get_int(object, "silent", 0);
        json_object_unref(object);
    }
    g_free(path);
    return failure;
}

static gboolean write_failure(const Job *job, const Item *item, Failure failure, SheetLife life,
    const gchar *why)
{
    gchar *path = get_failure_path(job, item), *text;
    JsonObject *object = json_object_new();
    gboolean ok;

    json_object_set_string_member(object, "id", item->id);
    json_object_set_string_member(object, "kind", failure.permanent ? "permanent" : "transient");
    json_object_set_string_member(object, "sentence", why);
    json_object_set_int_member(object, "attempts", failure.attempts);
    json_object_set_int_member(object, "silent", failure.silent);
    json_object_set_string_member(object, "node", g_get_host_name());
    text = json_write_object(object);
    ok = folder_write_file(path, text, life);
    g_free(text);
    g_free(path);
    return ok;
}

static void clear_failure(const Job *job, const Item *item)
{
    gchar *path = get_failure_path(job, item);

    g_unlink(path);
    g_free(path);
}

gboolean work_is_suspect(const Job *job, const Item *item)
{
    return read_failure(job, item).silent >= MOST_SILENT;
}

/* The file system's own time: clocks of nodes differ. 0: not known. */
static gint64 get_now(const Job *job)
{
    gchar *path = g_strdup_printf("%s/.now.%s.%d.%08x", job->folder, g_get_host_name(),
        (int) getpid(), g_random_int());
    const int fd = g_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    struct stat st;
    gint64 now = 0;

    if (fd >= 0) {
        now = fstat(fd, &st) ? 0 : st.st_mtim.tv_sec;
        close(fd);
        g_unlink(path);
    }
    g_free(path);
    return now;
}

gboolean work_is_busy(const Job *job, const Item *item)
{
    gchar *path = get_failure_path(job, item);
    struct stat st;
    const gboolean busy = read_failure(job, item).silent && !stat(path, &st) &&
        get_now(job) - st.st_mtim.tv_sec < BUSY_SECONDS;

    g_free(path);
    return busy;
}

/* It is done: what led to it goes. */
static void clear_traces(const Job *job, const Item *item)
{
    gchar *parts = place_get_folder(job, item);

    folder_remove(parts);
    clear_failure(job, item);
    g_free(parts);
}

/* A file that was replaced has other frames: what was tracked of the old one is of no use. */
static gboolean check_sources(const Job *job, const Item *item, Place *place, GError **error)
{
    gchar *mark, *parts, *hash;
    gboolean ok = TRUE;

    if (place->chunk && !place->ended && place->source_mark && *place->source_mark) {
        mark = place_mark_source(item->uris[place->source]);
        if (strcmp(mark, place->source_mark)) {
            parts = place_get_folder(job, item);
            folder_remove(parts);
            g_free(parts);
            place_clear(place);
        }
        g_free(mark);
    }
    if (!place->chunk && item->sha256 && job->pretend <= 0) {
        gchar *path = item_get_path(item->uris[0]);

        hash = sheet_hash_file(path, error);
        ok = hash && (!strcmp(hash, item->sha256) || fault_set(error, FAULT_PERMANENT,
            "'%s' has another SHA-256 than the manifest tells: %s", path, hash));
        g_free(hash);
        g_free(path);
    }
    return ok;
}

/* As far as it comes: to the end of its frames, if place.ended. */
static void go_on(Work *w, Control *control)
{
    guint lost = 0;

    w->leg = LEG_LOST;
    for (;;) {
        if (w->leg == LEG_LOST && (lost++ > MOST_LOST || !place_load(&w->place, w->job, w->item,
            &w->error) || !check_sources(w->job, w->item, &w->place, &w->error))) {
            w->leg = LEG_FAILED;
            break;
        }
        if (w->place.ended || g_atomic_int_get(&control->interrupted))
            break;
        w->leg = (w->job->pretend > 0 ? pretend_run : leg_run)(control, w->job, w->item, &w->place,
            &w->error);
        if (w->leg == LEG_FAILED || w->leg == LEG_INTERRUPTED || job_is_done(w->job, w->item->id))
            break;
    }
}

static WorkOutcome fail(const Job *job, const Item *item, Failure failure, const GError *error)
{
    gchar *parts = place_get_folder(job, item);

    failure.permanent = g_error_matches(error, BATCH_FAULT, FAULT_PERMANENT) ||
        failure.attempts >= MOST_ATTEMPTS;
    if (failure.permanent || g_error_matches(error, BATCH_FAULT, FAULT_ANEW))
        folder_remove(parts);
    g_free(parts);
    if (!write_failure(job, item, failure, SHEET_LASTS, error->message))
        return WORK_STUCK;
    return failure.permanent ? WORK_FAILED : WORK_AGAIN;
}

/* As if this run had not begun with it. */
static void forget_run(const Job *job, const Item *item, Failure begun)
{
    begun.silent = 0;
    if (begun.attempts)
        write_failure(job, item, begun, SHEET_LASTS,
            "it failed, and was interrupted when tried again");
    else
        clear_failure(job, item);
}

/* Takes @w. */
static WorkOutcome judge(Work *w, gchar **why)
{
    WorkOutcome outcome;

    if (job_is_done(w->job, w->item->id)) { /* by whomever */
        clear_traces(w->job, w->item);
        outcome = WORK_DONE;
    } else if (w->leg == LEG_INTERRUPTED) {
        forget_run(w->job, w->item, w->begun);
        outcome = WORK_INTERRUPTED;
    } else if (g_error_matches(w->error, BATCH_FAULT, FAULT_STORE)) { /* no fault of the item */
        forget_run(w->job, w->item, w->begun);
        outcome = WORK_STUCK;
        *why = g_strdup(w->error->message);
    } else {
        if (!w->error)
            fault_set(&w->error, FAULT_TRANSIENT, "the work ended without a result");
        outcome = fail(w->job, w->item, w->failure, w->error);
        *why = g_strdup(w->error->message);
    }
    g_clear_error(&w->error);
    place_clear(&w->place);
    g_free(w);
    return outcome;
}

/* Notes that a run of it goes on. */
static Work *begin(const Job *job, const Item *item, Failure failure)
{
    Work *w = g_new0(Work, 1);

    w->job = job;
    w->item = item;
    w->place.last_time = GST_CLOCK_TIME_NONE;
    w->begun = failure;
    w->begun.permanent = FALSE;
    w->begun.silent++;
    write_failure(job, item, w->begun, w->begun.attempts ? SHEET_LASTS : SHEET_PASSES,
        "a run of it goes on, or has ended without a word");
    w->failure = failure;
    w->failure.attempts = failure.permanent ? 1 : failure.attempts + 1;
    w->failure.silent = 0;
    return w;
}

WorkOutcome work_begin(Control *control, const Job *job, const Item *item, gboolean retry,
    Work **work, gchar **why)
{
    Failure failure;
    Work *w;

    *work = NULL;
    if (job_is_done(job, item->id)) {
        clear_traces(job, item);
        return WORK_SKIPPED;
    }
    if (job->opened && !item_is_piece(item->id) && deliver_find(job, item->id)) {
        clear_traces(job, item);
        return WORK_SKIPPED;
    }
    failure = read_failure(job, item);
    if (failure.permanent && !retry)
        return WORK_SKIPPED;
    w = begin(job, item, failure);
    control->mark = get_failure_path(job, item);
    control->marked_us = g_get_monotonic_time();
    go_on(w, control);
    g_clear_pointer(&control->mark, g_free);
    if (w->leg != LEG_FAILED && w->place.ended) {
        *work = w;
        return WORK_DONE;
    }
    if (w->leg != LEG_FAILED)
        w->leg = LEG_INTERRUPTED;
    return judge(w, why);
}

WorkOutcome work_end(Work *w, gchar **why)
{
    w->leg = finish_item(w->job, w->item, &w->place, w->failure.attempts, &w->error) ? LEG_ENDED :
        LEG_FAILED;
    return judge(w, why);
}

void work_drop(Work *w)
{
    gchar *why = NULL;

    w->leg = LEG_INTERRUPTED;
    judge(w, &why);
    g_free(why);
}
