/* SPDX-License-Identifier: MIT */
/* What is done with the objects of a camera and takes its time: files are written or read. */
#include "answers.h"
#include "journal.h"
#include "objects_private.h"
#include "refuse.h"
#include "track.h"

#include <gio/gio.h>
#include <glib/gstdio.h>

#define MAX_JOBS 8 /* of saving and restoring, at a time */

typedef enum {
    JOB_SAVE,
    JOB_AUTOSAVE,
    JOB_RESTORE,
    JOB_BEGIN,
    JOB_REMOVE,
    JOB_CLEAR,
    JOB_BACK,
} JobKind;

/* Tracks are written, or read, or first the one and then the other. */
typedef struct {
    Objects *objects;
    JobKind kind;
    gchar *write, *read; /* files; NULL: that is not done */
    gchar *unwritten;    /* why they could not be written; NULL: they were */
    Save save;           /* that is written, or read */
    UndoStep *step;      /* of what is done, or undone */
    GHashTable *names;   /* of JOB_SAVE */
    ObjectsDone done;
    gpointer user;
} Job;

static void free_job(gpointer data)
{
    Job *job = data;

    g_clear_pointer(&job->step, undo_step_free);
    g_clear_pointer(&job->names, g_hash_table_unref);
    g_free(job->write);
    g_free(job->read);
    g_free(job->unwritten);
    g_free(job->save.id);
    g_free(job->save.title);
    g_free(job);
}

static gboolean emit(Objects *objects, const gchar *signal, const gchar *path, gchar **why)
{
    GstStructure *outcome;

    g_signal_emit_by_name(camera_get_track(objects->camera), signal, path, &outcome);
    return track_read_outcome(outcome, why);
}

/* A thread: the signals wait for the step that runs. */
static void run_job(GTask *task, gpointer object, gpointer data, GCancellable *cancellable)
{
    Job *job = data;
    gchar *why = NULL;

    if (job->write)
        emit(job->objects, "save-tracks-full", job->write, &job->unwritten);
    if (!job->read || emit(job->objects, "load-tracks-full", job->read, &why))
        g_task_return_boolean(task, TRUE);
    else
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "%s", why);
    g_free(why);
}

static void tell_job(const Job *job, gboolean ok, const gchar *why)
{
    static const gchar *const events[][2] = {[JOB_SAVE] = {"save-failed", "saved"},
        [JOB_AUTOSAVE] = {"save-failed", NULL}, [JOB_RESTORE] = {"restore-failed", "restored"},
        [JOB_BEGIN] = {"restore-failed", "restored"}, [JOB_REMOVE] = {NULL, NULL},
        [JOB_CLEAR] = {NULL, NULL}, [JOB_BACK] = {"undo-failed", "undone"}};
    const gchar *event = events[job->kind][ok];
    const gchar *file = job->read ? job->read : job->write, *camera =
        camera_get_name(job->objects->camera);

    if (!event)
        return;
    if (ok)
        log_info(event, "camera", G_TYPE_STRING, camera, "file", G_TYPE_STRING, file, NULL);
    else
        log_warning(event, "camera", G_TYPE_STRING, camera, "file", G_TYPE_STRING, file,
            "why", G_TYPE_STRING, why, NULL);
}

/* Takes @names, which may be NULL. All objects are others. */
static void replace_names(Objects *objects, GHashTable *names)
{
    GHashTableIter iter;
    gpointer id, name;
    gchar *why = NULL;

    g_hash_table_remove_all(objects->names);
    g_hash_table_remove_all(objects->absences);
    answers_forget_all(objects->answers);
    if (!names)
        return;
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &id, &name))
        if (check_name(name, MAX_NAME, "The name", &why))
            objects_set_name(objects, *(guint64 *) id, name);
        else
            g_clear_pointer(&why, g_free);
    g_hash_table_unref(names);
}

/* The objects are restored all the same, without names. */
static void load_names(Objects *objects, const Save *save)
{
    const gchar *camera = camera_get_name(objects->camera);
    gchar *path = saves_get_path(objects->folder, camera, save->id, "names");
    GError *error = NULL;

    replace_names(objects, saves_read_names(path, &error));
    if (error)
        log_warning("names-lost", "camera", G_TYPE_STRING, camera, "file", G_TYPE_STRING, path,
            "why", G_TYPE_STRING, error->message, NULL);
    g_clear_error(&error);
    g_free(path);
}

static guint64 remove_object(Objects *objects, guint64 id, gchar **why)
{
    id = track_prompt(objects->camera, g_strdup_printf("remove,id=%" G_GUINT64_FORMAT, id), why);
    if (id) {
        answers_forget(objects->answers, id);
        g_hash_table_remove(objects->names, &id);
        g_hash_table_remove(objects->absences, &id);
    }
    return id;
}

static void remove_all(Objects *objects)
{
    g_signal_emit_by_name(camera_get_track(objects->camera), "clear");
    replace_names(objects, NULL);
}

/* What was done can be undone if there is a file of what was before. */
static void push_step(Job *job)
{
    if (job->write && !job->unwritten)
        undo_push(job->objects->undo, g_steal_pointer(&job->step));
    else if (job->write)
        log_warning("undo-lost", "camera", G_TYPE_STRING, camera_get_name(job->objects->camera),
            "why", G_TYPE_STRING, job->unwritten, NULL);
}

static gboolean write_save(Job *job, GError **error)
{
    Objects *objects = job->objects;
    const gchar *camera = camera_get_name(objects->camera);

    if (job->unwritten)
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, job->unwritten);
    else if (saves_write(objects->folder, camera, &job->save, job->names, error) &&
        job->kind == JOB_SAVE)
        saves_prune(objects->folder, camera);
    return !*error;
}

/* The part of the main thread. Returns the object's id, 0 with *why: it failed. */
static guint64 finish_job(Job *job, gchar **why)
{
    Objects *objects = job->objects;
    GError *error = NULL;
    guint64 id = 0;

    switch (job->kind) {
    case JOB_SAVE:
    case JOB_AUTOSAVE:
        if (!write_save(job, &error))
            *why = g_strdup(error->message);
        break;
    case JOB_RESTORE:
        push_step(job);
        /* fall through */
    case JOB_BEGIN:
        load_names(objects, &job->save);
        if (job->kind == JOB_BEGIN && objects->annotations)
            annotations_note_going_on(objects->annotations);
        break;
    case JOB_REMOVE:
        id = remove_object(objects, job->step->id, why);
        if (id)
            push_step(job);
        break;
    case JOB_CLEAR:
        remove_all(objects);
        push_step(job);
        break;
    case JOB_BACK:
        replace_names(objects, g_steal_pointer(&job->step->names));
        break;
    }
    g_clear_error(&error);
    return id;
}

static void on_job_done(GObject *object, GAsyncResult *result, gpointer data)
{
    Job *job = g_task_get_task_data(G_TASK(result));
    GError *error = NULL;
    gchar *why = NULL;
    guint64 id = 0;

    if (g_task_propagate_boolean(G_TASK(result), &error))
        id = finish_job(job, &why);
    else
        why = g_strdup(error->message);
    if (error && job->kind == JOB_BACK) /* it may work later */
        undo_push(job->objects->undo, g_steal_pointer(&job->step));
    tell_job(job, !why, why);
    job->objects->busy--;
    if (job->done)
        job->done(id, why, job->user);
    g_clear_error(&error);
    g_free(why);
}

static Job *new_job(Objects *objects, JobKind kind, ObjectsDone done, gpointer user)
{
    Job *job = g_new0(Job, 1);

    job->objects = objects;
    job->kind = kind;
    job->done = done;
    job->user = user;
    return job;
}

static void start_job(Job *job)
{
    GTask *task = g_task_new(NULL, NULL, on_job_done, NULL);

    if (job->write)
        g_mkdir_with_parents(job->objects->folder, 0700);
    job->objects->busy++;
    g_task_set_task_data(task, job, free_job);
    g_task_run_in_thread(task, run_job);
    g_object_unref(task);
}

/* For whoever asks for another thing that takes its time. */
static gboolean is_too_busy(Objects *objects, ObjectsDone done, gpointer user)
{
    if (objects->busy < MAX_JOBS)
        return FALSE;
    done(0, "Too much is being saved and restored: try it again.", user);
    return TRUE;
}

static GHashTable *copy_table(GHashTable *names)
{
    GHashTable *copy = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    GHashTableIter iter;
    gpointer id, name;

    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &id, &name))
        g_hash_table_replace(copy, objects_copy_id(*(guint64 *) id), g_strdup(name));
    return copy;
}

/* What is there now is written before it is changed. Takes @text. */
static void keep_before(Job *job, guint64 id, gchar *text)
{
    Objects *objects = job->objects;

    job->write = g_strdup_printf("%s/%s.undo-%u.tracks", objects->folder,
        camera_get_name(objects->camera), ++objects->last_undo);
    job->step = undo_step_new(UNDO_TRACKS, id, text);
    job->step->tracks = g_strdup(job->write);
    job->step->names = copy_table(objects->names);
}

static guint count_objects(Objects *objects)
{
    GArray *list = objects_list(objects);
    const guint n = list->len;

    g_array_unref(list);
    return n;
}

void objects_remove(Objects *objects, guint64 id, ObjectsDone done, gpointer user)
{
    Job *job;

    if (is_too_busy(objects, done, user))
        return;
    job = new_job(objects, JOB_REMOVE, done, user);
    keep_before(job, id, objects_describe(objects, "removed", id));
    if (!objects_exists(objects, id)) /* there is none, or it waits for its first frame */
        g_clear_pointer(&job->write, g_free);
    start_job(job);
}

void objects_clear(Objects *objects, ObjectsDone done, gpointer user)
{
    const guint n = count_objects(objects);
    Job *job;

    if (is_too_busy(objects, done, user))
        return;
    job = new_job(objects, JOB_CLEAR, done, user);
    keep_before(job, 0, n == 1 ? g_strdup("removed the object") :
        g_strdup_printf("removed all %u objects", n));
    if (!n)
        g_clear_pointer(&job->write, g_free);
    start_job(job);
}

static void set_up_save(Job *job, gchar *id, const gchar *title)
{
    Objects *objects = job->objects;
    const gchar *camera = camera_get_name(objects->camera);

    job->save = (Save) {.id = id, .title = g_strdup(title),
        .time = g_get_real_time() / G_USEC_PER_SEC,
        .number = saves_get_next_number(objects->folder, camera),
        .objects = count_objects(objects)};
    job->write = saves_get_path(objects->folder, camera, id, "tracks");
    job->names = copy_table(objects->names);
}

void objects_save(Objects *objects, const gchar *title, ObjectsDone done, gpointer user)
{
    gchar *why = NULL;
    Job *job;

    if (title && !check_name(title, MAX_TITLE, "The name of the save", &why)) {
        done(0, why, user);
        g_free(why);
        return;
    }
    if (is_too_busy(objects, done, user))
        return;
    job = new_job(objects, JOB_SAVE, done, user);
    set_up_save(job, saves_make_id(objects->folder, camera_get_name(objects->camera)), title);
    start_job(job);
}

void objects_keep(Objects *objects, ObjectsDone done, gpointer user)
{
    Job *job = new_job(objects, JOB_AUTOSAVE, done, user);

    set_up_save(job, g_strdup(AUTOSAVE), "");
    start_job(job);
}

static Save *find_save(const GPtrArray *list, const gchar *id)
{
    guint i;

    for (i = 0; i < list->len; i++) {
        Save *save = g_ptr_array_index(list, i);

        if (id ? g_str_equal(save->id, id) : !g_str_equal(save->id, AUTOSAVE))
            return save;
    }
    return NULL;
}

static gchar *describe_save(const Save *save)
{
    GDateTime *time = g_date_time_new_from_unix_local(save->time);
    gchar *date = time ? g_date_time_format(time, "%Y-%m-%d %H:%M") : g_strdup("");
    gchar *text = g_strdup_printf("restored %s", *save->title ? save->title : date);

    g_clear_pointer(&time, g_date_time_unref);
    g_free(date);
    return text;
}

/* Takes @job, which is for that save. */
static void read_save(Job *job, const Save *save)
{
    Objects *objects = job->objects;

    job->save.id = g_strdup(save->id);
    job->read = saves_get_path(objects->folder, camera_get_name(objects->camera), save->id,
        "tracks");
    start_job(job);
}

void objects_restore(Objects *objects, const gchar *id, ObjectsDone done, gpointer user)
{
    GPtrArray *list = saves_list(objects->folder, camera_get_name(objects->camera));
    const Save *save = find_save(list, id);
    Job *job;

    if (!save) {
        done(0, id ? "There is no such save any more." : "Nothing was saved yet.", user);
    } else if (!is_too_busy(objects, done, user)) {
        job = new_job(objects, JOB_RESTORE, done, user);
        keep_before(job, 0, describe_save(save));
        read_save(job, save);
    }
    g_ptr_array_unref(list);
}

void objects_find_again(Objects *objects, ObjectsDone done, gpointer user)
{
    const Save kept = {.id = (gchar *) AUTOSAVE};

    read_save(new_job(objects, JOB_BEGIN, done, user), &kept);
}

static gchar *get_kept_path(Objects *objects, const gchar *ending)
{
    return saves_get_path(objects->folder, camera_get_name(objects->camera), AUTOSAVE, ending);
}

gint64 objects_get_kept_age(Objects *objects)
{
    gchar *path = get_kept_path(objects, "tracks");
    GStatBuf st;
    const gint64 age = g_stat(path, &st) ? -1 :
        MAX(g_get_real_time() / G_USEC_PER_SEC - (gint64) st.st_mtime, 0);

    g_free(path);
    return age;
}

void objects_forget_kept(Objects *objects)
{
    static const gchar *const endings[] = {"tracks", "names"};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(endings); i++) {
        gchar *path = get_kept_path(objects, endings[i]);

        g_unlink(path);
        g_free(path);
    }
}

GPtrArray *objects_list_saves(Objects *objects)
{
    return saves_list(objects->folder, camera_get_name(objects->camera));
}

/* Steps that need no file. */
static guint64 undo_at_once(Objects *objects, const UndoStep *step, gchar **why)
{
    if (step->kind == UNDO_RENAME && !objects_exists(objects, step->id))
        *why = g_strdup("The object is gone.");
    else if (step->kind == UNDO_RENAME)
        objects_set_name(objects, step->id, step->name);
    else if (step->kind == UNDO_ZONES)
        zones_restore(objects->zones, step->zones, why);
    else if (step->kind == UNDO_WORDS)
        words_set(objects->words, step->name, why);
    else if (step->kind == UNDO_TAKE)
        return answers_take(objects->answers, step->id, step->answer, why);
    else {
        answers_forget(objects->answers, step->id);
        return track_prompt(objects->camera,
            g_strdup_printf("undo,id=%" G_GUINT64_FORMAT, step->id), why);
    }
    return *why ? 0 : step->id;
}

void objects_back(Objects *objects, guint64 number, ObjectsDone done, gpointer user)
{
    const UndoStep *top = undo_peek(objects->undo);
    UndoStep *step;
    gchar *why = NULL;
    Job *job;

    if (!top || (number && top->number != number)) {
        why = top ? g_strdup_printf("Somebody did something else meanwhile: %s.", top->text) :
            g_strdup("There is nothing to undo.");
        done(0, why, user);
        g_free(why);
        return;
    }
    if (is_too_busy(objects, done, user))
        return;
    step = undo_pop(objects->undo);
    if (step->kind == UNDO_TRACKS) {
        job = new_job(objects, JOB_BACK, done, user);
        job->read = g_strdup(step->tracks);
        job->step = step;
        start_job(job);
        return;
    }
    undo_at_once(objects, step, &why);
    top = undo_peek(objects->undo);
    done(top ? top->number : 0, why, user);
    undo_step_free(step);
    g_free(why);
}

const UndoStep *objects_get_undo(Objects *objects)
{
    return undo_peek(objects->undo);
}
