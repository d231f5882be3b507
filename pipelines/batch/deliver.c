/* SPDX-License-Identifier: MIT */
#include "deliver.h"

#include "document.h"
#include "fault.h"
#include "folder.h"
#include "sheet.h"

#include <glib/gstdio.h>
#include <string.h>

#define SHEET "item.json"

gchar *deliver_name(const gchar *folder, const gchar *id)
{
    gchar *name = job_get_name(id), *base = g_path_get_basename(folder);
    gchar *attempt = g_strdup(base + 1 + strlen(name) + 1); /* ".NAME.HOST.PID.NONCE" */

    g_free(base);
    g_free(name);
    return attempt;
}

/* Of the item in the store: as in the job's folder. */
static gchar *get_place(const Job *job, const gchar *id)
{
    gchar *path = job_get_result_path(job, id);
    gchar *place = g_strdup(path + strlen(job->folder) + 1);

    g_free(path);
    return place;
}

typedef gboolean (*Each)(const Job *job, const gchar *path, const gchar *file, GError **error);

static gboolean put(const Job *job, const gchar *path, const gchar *file, GError **error)
{
    return store_put(job->opened, path, file, error);
}

static gboolean take_back(const Job *job, const gchar *path, const gchar *file, GError **error)
{
    store_remove(job->opened, path);
    return TRUE;
}

static gboolean drop(const Job *job, const gchar *path, const gchar *file, GError **error)
{
    folder_remove(file);
    return TRUE;
}

/* All files of a folder but item.json; @place: what the folder is called in the store. */
static gboolean walk(const Job *job, const gchar *place, const gchar *folder, Each each,
    GError **error)
{
    GPtrArray *names = folder_list(folder);
    gboolean ok = TRUE;
    guint i;

    for (i = 0; ok && i < names->len; i++) {
        const gchar *name = g_ptr_array_index(names, i);
        gchar *file = g_build_filename(folder, name, NULL);
        gchar *path = g_strconcat(place, "/", name, NULL);

        if (each != drop && g_file_test(file, G_FILE_TEST_IS_DIR))
            ok = walk(job, path, file, each, error);
        else if (strcmp(name, SHEET))
            ok = each(job, path, file, error);
        g_free(path);
        g_free(file);
    }
    g_ptr_array_unref(names);
    return ok;
}

/* What the store has; NULL without an error: nothing. */
static gchar *get_there(const Job *job, const gchar *place, GError **error)
{
    gchar *path = g_strconcat(place, "/" SHEET, NULL), *text = store_get(job->opened, path, error);
    JsonObject *object = text ? json_read_object(text, strlen(text), NULL) : NULL;

    if (text && (!object || strcmp(json_get_text(object, "run", ""), job->run))) {
        fault_set(error, FAULT_TRANSIENT, "'%s' in the store is not of this job", path);
        g_clear_pointer(&text, g_free);
    }
    g_clear_pointer(&object, json_object_unref);
    g_free(path);
    return text;
}

/* Somebody was first, perhaps this run itself, whose first answer was lost. */
static gboolean give_way(const Job *job, const gchar *place, const gchar *attempt,
    const gchar *folder, GError **error)
{
    gchar *text = get_there(job, place, error), *file = g_build_filename(folder, SHEET, NULL);
    JsonObject *object = text ? json_read_object(text, strlen(text), NULL) : NULL;
    gchar *ours = g_strconcat(place, "/", attempt, NULL);
    gboolean ok = object != NULL;

    if (ok && strcmp(json_get_text(object, "folder", ""), attempt)) {
        walk(job, ours, folder, take_back, NULL);
        ok = !g_unlink(file) ? sheet_write_whole(folder, SHEET, text, SHEET_LASTS, error) :
            fault_set(error, FAULT_TRANSIENT, "'%s' cannot be removed", file);
    } else if (!ok && error && !*error) {
        fault_set(error, FAULT_TRANSIENT, "the store says that it has '%s/" SHEET "', and then "
            "that it has not", place);
    }
    g_clear_pointer(&object, json_object_unref);
    g_free(ours);
    g_free(file);
    g_free(text);
    return ok;
}

gboolean deliver_result(const Job *job, const gchar *id, const gchar *folder, GError **error)
{
    gchar *place = get_place(job, id), *attempt = deliver_name(folder, id), *text = NULL;
    gchar *ours = g_strconcat(place, "/", attempt, NULL);
    gchar *there = g_strconcat(place, "/" SHEET, NULL);
    gchar *file = g_build_filename(folder, SHEET, NULL);
    gboolean ok = walk(job, ours, folder, put, error);

    if (ok && !g_file_get_contents(file, &text, NULL, NULL))
        ok = fault_set(error, FAULT_TRANSIENT, "'%s' cannot be read", file);
    if (ok)
        switch (store_put_first(job->opened, there, text, error)) {
        case STORE_WON:
            break;
        case STORE_LOST:
            ok = give_way(job, place, attempt, folder, error);
            break;
        case STORE_FAILED:
            ok = FALSE;
            break;
        }
    if (ok)
        walk(job, place, folder, drop, NULL);
    g_free(text);
    g_free(file);
    g_free(there);
    g_free(ours);
    g_free(attempt);
    g_free(place);
    return ok;
}

gboolean deliver_find(const Job *job, const gchar *id)
{
    gchar *place = get_place(job, id), *text = get_there(job, place, NULL);
    gchar *target = job_get_result_path(job, id), *ours = text ? folder_begin(target, NULL) : NULL;
    gboolean ok = ours && sheet_write_whole(ours, SHEET, text, SHEET_LASTS, NULL);

    if (ok)
        ok = folder_commit(ours, target, SHEET_LASTS, NULL) != FOLDER_FAILED;
    else if (ours)
        folder_remove(ours);
    g_free(ours);
    g_free(target);
    g_free(text);
    g_free(place);
    return ok;
}
