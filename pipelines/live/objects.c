/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include "journal.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#define FOUND_NS (1500 * GST_MSECOND) /* an object is shown as found after a drop-out */
#define AGES 64
#define MAX_PAST 10000 /* names of objects that are gone */

/* What becomes of an object over a drop-out of the source. */
typedef struct {
    gboolean away;
    GstClockTime found; /* running time; NONE: not yet */
} Absence;

struct Objects {
    Camera *camera;
    const gchar *folder;
    GHashTable *names;    /* id -> text */
    GHashTable *past;     /* the same, with objects that are gone */
    GHashTable *absences; /* id -> Absence */
    gdouble ages[AGES];   /* ms */
    guint num_ages;
    guint busy; /* savings that run */
};

Objects *objects_new(Camera *camera, const gchar *folder)
{
    Objects *objects = g_new0(Objects, 1);

    objects->camera = camera;
    objects->folder = folder;
    objects->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    objects->past = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    objects->absences = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    return objects;
}

gboolean objects_are_busy(Objects *objects)
{
    return objects->busy > 0;
}

void objects_free(Objects *objects)
{
    g_hash_table_unref(objects->names);
    g_hash_table_unref(objects->past);
    g_hash_table_unref(objects->absences);
    g_free(objects);
}

static gpointer copy_id(guint64 id)
{
    return g_memdup2(&id, sizeof id);
}

static const gchar *get_name(Objects *objects, guint64 id)
{
    const gchar *name = g_hash_table_lookup(objects->names, &id);

    return name ? name : "";
}

static void set_name(Objects *objects, guint64 id, const gchar *name)
{
    g_hash_table_replace(objects->names, copy_id(id), g_strdup(name));
    if (g_hash_table_size(objects->past) >= MAX_PAST)
        g_hash_table_remove_all(objects->past);
    g_hash_table_replace(objects->past, copy_id(id), g_strdup(name));
}

GHashTable *objects_copy_names(Objects *objects)
{
    GHashTable *copy = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    GHashTable *const tables[] = {objects->past, objects->names};
    GHashTableIter iter;
    gpointer id, name;
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(tables); i++) {
        g_hash_table_iter_init(&iter, tables[i]);
        while (g_hash_table_iter_next(&iter, &id, &name))
            g_hash_table_replace(copy, copy_id(*(guint64 *) id), g_strdup(name));
    }
    return copy;
}

static void clear_object(gpointer data)
{
    g_free(((Object *) data)->name);
}

static void tell(Objects *objects, guint64 id, const gchar *state)
{
    log_info("object", "camera", G_TYPE_STRING, camera_get_name(objects->camera), "id",
        G_TYPE_UINT64,
        id, "state", G_TYPE_STRING, state, NULL);
}

static Absence *find_absence(Objects *objects, guint64 id)
{
    Absence *absence = g_hash_table_lookup(objects->absences, &id);

    if (!absence) {
        absence = g_new0(Absence, 1);
        absence->found = GST_CLOCK_TIME_NONE;
        g_hash_table_insert(objects->absences, copy_id(id), absence);
    }
    return absence;
}

/* The tracker knows nothing of a source that is gone. @time: of the frame that the states are of.
 * */
static const gchar *get_state(Objects *objects, guint64 id, const gchar *state, GstClockTime time)
{
    const GstClockTime returned = camera_get_return(objects->camera);
    Absence *absence;

    if (!returned) {
        absence = find_absence(objects, id);
        if (!absence->away)
            tell(objects, id, "lost");
        absence->away = TRUE;
        return "lost";
    }
    absence = g_hash_table_lookup(objects->absences, &id);
    if (!absence)
        return state;
    if (absence->away && (!GST_CLOCK_TIME_IS_VALID(time) || time < returned))
        return "lost";
    if (g_str_equal(state, "occluded") || g_str_equal(state, "lost"))
        return absence->away ? "lost" : state;
    if (absence->away) {
        absence->away = FALSE;
        absence->found = time;
        tell(objects, id, "found");
    }
    if (time < absence->found + FOUND_NS)
        return "found";
    g_hash_table_remove(objects->absences, &id);
    return state;
}

static const gchar *const states[] = {"new", "tracked", "occluded", "lost", "found"};

static void read_object(Objects *objects, const GstStructure *s, GstClockTime time, Object *object)
{
    const gchar *state = gst_structure_get_string(s, "state"), *name, *label;
    gsize i;

    memset(object, 0, sizeof *object);
    gst_structure_get(s, "id", G_TYPE_UINT64, &object->id, "slot", G_TYPE_UINT, &object->slot,
        "score", G_TYPE_DOUBLE, &object->score, "iou", G_TYPE_DOUBLE, &object->iou,
        "x", G_TYPE_INT, &object->x, "y", G_TYPE_INT, &object->y, "w", G_TYPE_INT, &object->w,
        "h", G_TYPE_INT, &object->h, "area", G_TYPE_UINT, &object->area, NULL);
    for (i = 0; i < G_N_ELEMENTS(states); i++)
        if (!g_strcmp0(states[i], state))
            object->state = states[i];
    object->state = get_state(objects, object->id, object->state ? object->state : "tracked", time);
    name = get_name(objects, object->id);
    label = gst_structure_get_string(s, "label");
    object->name = g_strdup(*name || !label ? name : label);
}

GArray *objects_list(Objects *objects)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(Object));
    GstClockTime time = GST_CLOCK_TIME_NONE;
    const GValue *array;
    GstStructure *s;
    Object object;
    guint i;

    g_array_set_clear_func(list, clear_object);
    g_object_get(camera_get_track(objects->camera), "objects", &s, NULL);
    gst_structure_get_clock_time(s, "running-time", &time);
    array = gst_structure_get_value(s, "objects");
    for (i = 0; i < gst_value_array_get_size(array); i++) {
        read_object(objects, gst_value_get_structure(gst_value_array_get_value(array, i)), time,
            &object);
        g_array_append_val(list, object);
    }
    gst_structure_free(s);
    return list;
}

static void note_age(Objects *objects, GstClockTime time)
{
    const GstClockTime now = camera_get_time(objects->camera);

    if (GST_CLOCK_TIME_IS_VALID(time) && time <= now)
        objects->ages[objects->num_ages++ % AGES] = (now - time) / 1e6;
}

/* Takes @outcome, a samtrack-outcome. Returns whether it worked; if not, *why is a sentence. */
static gboolean read_outcome(GstStructure *outcome, gchar **why)
{
    gboolean ok = FALSE;

    gst_structure_get_boolean(outcome, "ok", &ok);
    if (!ok)
        *why = g_strdup(gst_structure_get_string(outcome, "message"));
    gst_structure_free(outcome);
    return ok;
}

/* Returns the object's id; 0 if the prompt is refused: then *why is a sentence. Takes @text. */
static guint64 emit_prompt(Objects *objects, gchar *text, gchar **why)
{
    GstStructure *outcome;
    guint64 id = 0;

    g_signal_emit_by_name(camera_get_track(objects->camera), "prompt-full", text, &outcome);
    g_free(text);
    gst_structure_get_uint64(outcome, "id", &id);
    return read_outcome(outcome, why) ? id : 0;
}

static void append_number(GString *text, const gchar *name, gdouble value)
{
    gchar digits[G_ASCII_DTOSTR_BUF_SIZE]; /* not the decimal point of the locale */

    g_string_append_printf(text, ",%s=%s", name, g_ascii_dtostr(digits, sizeof digits, value));
}

/* For the frame that the viewer saw. Free with g_free(). */
static gchar *write_prompt(const Prompt *p)
{
    GString *text = g_string_new(p->box ? "box" : "point");

    append_number(text, "x", p->x);
    append_number(text, "y", p->y);
    if (p->box) {
        append_number(text, "w", p->w);
        append_number(text, "h", p->h);
    } else {
        g_string_append_printf(text, ",positive=%s", p->positive ? "true" : "false");
    }
    g_string_append(text, ",normalized=true");
    if (p->id)
        g_string_append_printf(text, ",id=%" G_GUINT64_FORMAT, p->id);
    if (GST_CLOCK_TIME_IS_VALID(p->time))
        g_string_append_printf(text, ",running-time=%" G_GUINT64_FORMAT, p->time);
    return g_string_free(text, FALSE);
}

guint64 objects_prompt(Objects *objects, const Prompt *p, gchar **why)
{
    if (camera_get_fault(objects->camera)) {
        *why = g_strdup("The camera is gone: nothing can be selected until it is back.");
        return 0;
    }
    note_age(objects, p->time);
    return emit_prompt(objects, write_prompt(p), why);
}

guint64 objects_undo(Objects *objects, guint64 id, gchar **why)
{
    return emit_prompt(objects, g_strdup_printf("undo,id=%" G_GUINT64_FORMAT, id), why);
}

guint64 objects_remove(Objects *objects, guint64 id, gchar **why)
{
    id = emit_prompt(objects, g_strdup_printf("remove,id=%" G_GUINT64_FORMAT, id), why);
    if (id) {
        g_hash_table_remove(objects->names, &id);
        g_hash_table_remove(objects->absences, &id);
    }
    return id;
}

static gboolean exists(Objects *objects, guint64 id)
{
    GArray *list = objects_list(objects);
    gboolean found = FALSE;
    guint i;

    for (i = 0; i < list->len; i++)
        found |= g_array_index(list, Object, i).id == id;
    g_array_unref(list);
    return found;
}

guint64 objects_rename(Objects *objects, guint64 id, const gchar *name, gchar **why)
{
    if (g_utf8_strlen(name, -1) > MAX_NAME) {
        *why = g_strdup_printf("The name has more than %d characters.", MAX_NAME);
        return 0;
    }
    if (!exists(objects, id)) {
        *why = g_strdup_printf("There is no object %" G_GUINT64_FORMAT ".", id);
        return 0;
    }
    set_name(objects, id, name);
    return id;
}

void objects_clear(Objects *objects)
{
    g_signal_emit_by_name(camera_get_track(objects->camera), "clear");
    g_hash_table_remove_all(objects->names);
    g_hash_table_remove_all(objects->absences);
}

/* A saving or restoring that runs. */
typedef struct {
    Objects *objects;
    gboolean save, kept;
    gchar *tracks, *names;
    ObjectsDone done;
    gpointer user;
} Job;

static void free_job(gpointer data)
{
    Job *job = data;

    g_free(job->tracks);
    g_free(job->names);
    g_free(job);
}

/* A thread: the signal waits for the step that runs. */
static void run_job(GTask *task, gpointer object, gpointer data, GCancellable *cancellable)
{
    Job *job = data;
    GstStructure *outcome;
    gchar *why = NULL;

    g_signal_emit_by_name(camera_get_track(job->objects->camera), job->save ? "save-tracks-full" :
        "load-tracks-full", job->tracks, &outcome);
    if (read_outcome(outcome, &why))
        g_task_return_boolean(task, TRUE);
    else
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "%s", why);
    g_free(why);
}

static gboolean save_names(Objects *objects, const gchar *path, GError **error)
{
    GKeyFile *file = g_key_file_new();
    GHashTableIter iter;
    gpointer id, name;
    gboolean ok;

    g_hash_table_iter_init(&iter, objects->names);
    while (g_hash_table_iter_next(&iter, &id, &name)) {
        gchar *key = g_strdup_printf("%" G_GUINT64_FORMAT, *(guint64 *) id);
        g_key_file_set_string(file, "names", key, name);
        g_free(key);
    }
    ok = g_key_file_save_to_file(file, path, error);
    g_key_file_unref(file);
    return ok;
}

/* A file without names is no fault: they were saved without any. */
static void load_names(Objects *objects, const gchar *path)
{
    GKeyFile *file = g_key_file_new();
    GError *error = NULL;
    gchar **keys = g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, &error) ?
        g_key_file_get_keys(file, "names", NULL, NULL) : NULL;
    gsize i;

    /* The objects are restored all the same, without names. */
    if (error && !g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        log_warning("names-lost", "camera", G_TYPE_STRING, camera_get_name(objects->camera),
            "file", G_TYPE_STRING, path, "why", G_TYPE_STRING, error->message, NULL);
    g_clear_error(&error);
    g_hash_table_remove_all(objects->names);
    g_hash_table_remove_all(objects->absences);
    for (i = 0; keys && keys[i]; i++) {
        gchar *name = g_key_file_get_string(file, "names", keys[i], NULL);
        guint64 id;

        if (name && g_utf8_strlen(name, -1) <= MAX_NAME &&
            g_ascii_string_to_unsigned(keys[i], 10, 1, G_MAXUINT64, &id, NULL))
            set_name(objects, id, name);
        g_free(name);
    }
    g_strfreev(keys);
    g_key_file_unref(file);
}

static void on_job_done(GObject *object, GAsyncResult *result, gpointer data)
{
    Job *job = g_task_get_task_data(G_TASK(result));
    GError *error = NULL;
    gboolean ok = g_task_propagate_boolean(G_TASK(result), &error);

    if (ok && job->save)
        ok = save_names(job->objects, job->names, &error);
    else if (ok)
        load_names(job->objects, job->names);
    if (ok && job->save && job->kept)
        ; /* each minute: the log would be full of it */
    else if (ok)
        log_info(job->save ? "saved" : "restored", "camera", G_TYPE_STRING,
            camera_get_name(job->objects->camera), "file", G_TYPE_STRING, job->tracks, NULL);
    else
        log_warning(job->save ? "save-failed" : "restore-failed", "camera", G_TYPE_STRING,
            camera_get_name(job->objects->camera), "file", G_TYPE_STRING, job->tracks,
            "why", G_TYPE_STRING, error->message, NULL);
    job->objects->busy--;
    job->done(ok ? NULL : error->message, job->user);
    g_clear_error(&error);
}

/* The names of cameras have no dot. */
static gchar *get_path(Objects *objects, gboolean kept, const gchar *what)
{
    return g_strdup_printf("%s/%s%s.%s", objects->folder, camera_get_name(objects->camera), kept ?
        ".kept" : "", what);
}

static void start_job(Objects *objects, gboolean save, gboolean kept, ObjectsDone done,
    gpointer user)
{
    GTask *task = g_task_new(NULL, NULL, on_job_done, NULL);
    Job *job = g_new0(Job, 1);

    if (save)
        g_mkdir_with_parents(objects->folder, 0700);
    *job = (Job) {.objects = objects, .save = save, .done = done, .user = user};
    job->tracks = get_path(objects, kept, "tracks");
    job->names = get_path(objects, kept, "names");
    job->kept = kept;
    objects->busy++;
    g_task_set_task_data(task, job, free_job);
    g_task_run_in_thread(task, run_job);
    g_object_unref(task);
}

void objects_save(Objects *objects, ObjectsDone done, gpointer user)
{
    start_job(objects, TRUE, FALSE, done, user);
}

void objects_restore(Objects *objects, ObjectsDone done, gpointer user)
{
    start_job(objects, FALSE, FALSE, done, user);
}

void objects_keep(Objects *objects, ObjectsDone done, gpointer user)
{
    start_job(objects, TRUE, TRUE, done, user);
}

void objects_find_again(Objects *objects, ObjectsDone done, gpointer user)
{
    start_job(objects, FALSE, TRUE, done, user);
}

gint64 objects_get_kept_age(Objects *objects)
{
    gchar *path = get_path(objects, TRUE, "tracks");
    GStatBuf st;
    const gint64 age = g_stat(path, &st) ? -1 :
        MAX(g_get_real_time() / G_USEC_PER_SEC - (gint64) st.st_mtime, 0);

    g_free(path);
    return age;
}

void objects_forget_kept(Objects *objects)
{
    static const gchar *const kinds[] = {"tracks", "names"};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(kinds); i++) {
        gchar *path = get_path(objects, TRUE, kinds[i]);

        g_unlink(path);
        g_free(path);
    }
}

static int compare(const void *a, const void *b)
{
    const gdouble x = *(const gdouble *) a, y = *(const gdouble *) b;

    return (x > y) - (x < y);
}

gdouble objects_get_prompt_age(Objects *objects)
{
    const guint n = MIN(objects->num_ages, AGES);
    gdouble sorted[AGES];

    memcpy(sorted, objects->ages, sizeof sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    return n ? sorted[n / 2] : 0;
}
