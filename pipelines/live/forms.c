/* SPDX-License-Identifier: MIT */
#include "forms.h"

#include "dataset.h"
#include "davis.h"

#include "record/gstsamcoco.h"
#include "record/gstsamline.h"

#include <errno.h>
#include <unistd.h>

#define SHEET_BYTES 65536 /* that are worth a write */

void forms_free_job(gpointer data)
{
    FormsJob *job = data;

    if (job->fd >= 0)
        close(job->fd);
    g_free(job->pictures);
    g_array_unref(job->segments);
    g_ptr_array_unref(job->runs);
    g_free(job);
}

static gboolean write_lines(const FormsJob *job, Frames *frames, GstSamOutput *sheet,
    GError **error)
{
    GString *text = g_string_new(NULL);
    GError *why = NULL;
    GstSamRecord *record;
    GstSamCoder *coder;

    while (!why && (record = frames_next(frames, &coder, &why))) {
        const Run *run = g_ptr_array_index(job->runs, frames_get_run(frames));
        const GstSamLineParams params = {.run = run->id, .names = run->names};

        gst_sam_line_append(text, record, coder, &params);
        if (text->len > SHEET_BYTES && sheet->write(sheet, text->str, text->len, &why))
            g_string_truncate(text, 0);
    }
    if (!why)
        sheet->write(sheet, text->str, text->len, &why);
    g_string_free(text, TRUE);
    if (why)
        g_propagate_error(error, why);
    return !why;
}

/* What the runs of a COCO file share. */
typedef struct {
    guint run;
    guint64 before, highest; /* ids: what is added to those of the run, and the highest so far */
    GHashTable *names;       /* of all, by what the ids become */
} Together;

static void add_names(Together *t, const Run *run)
{
    GHashTableIter iter;
    gpointer id, name;

    g_hash_table_iter_init(&iter, run->names);
    while (g_hash_table_iter_next(&iter, &id, &name)) {
        const guint64 whole = *(guint64 *) id + t->before;

        g_hash_table_replace(t->names, g_memdup2(&whole, sizeof whole), name);
    }
}

/* Objects of two runs are two, unless the second has found those of the first again. */
static void count_on(Together *t, GstSamRecord *record, const Run *run, guint number)
{
    guint i;

    if (t->run != number) {
        if (t->run != G_MAXUINT && !run->goes_on)
            t->before = t->highest;
        t->run = number;
        add_names(t, run);
    }
    for (i = 0; i < record->report.num_objects; i++) {
        guint64 *id = &record->report.object[i].id;

        *id += t->before;
        t->highest = MAX(t->highest, *id);
    }
}

/* A video for each run, of the frames that are kept, at the times of their masks. @set: of those
 * with pictures alone, which go into it; NULL: of all. */
static gboolean collect(GstSamCoco *coco, const FormsJob *job, Frames *frames, Together *t,
    Dataset *set, GCancellable *cancellable, GError **error)
{
    GError *why = NULL;
    GstSamRecord *record;
    GstSamCoder *coder;
    guint64 index;

    for (index = 0; !why && (record = frames_next(frames, &coder, &why)); index++) {
        const guint number = frames_get_run(frames);
        const Run *run = g_ptr_array_index(job->runs, number);

        if (set && !dataset_add_picture(set, run, record, &why))
            continue;
        count_on(t, record, run, number);
        record->stream = number;
        record->running_time = record->report.running_time;
        if (gst_sam_coco_add(coco, record, coder, index, &why))
            g_cancellable_set_error_if_cancelled(cancellable, &why);
    }
    if (why)
        g_propagate_error(error, why);
    return !why;
}

/* @set: the archive that it goes into; NULL: it is a file of its own. */
static gboolean write_coco(const FormsJob *job, Frames *frames, GstSamOutput *sheet, Dataset *set,
    GCancellable *cancellable, GError **error)
{
    Together together = {.run = G_MAXUINT};
    GstSamCoco coco;
    gboolean ok;

    together.names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    gst_sam_coco_init(&coco, job->form == ANNOTATIONS_COCO_VIDEO, "samtrack-live",
        "annotations.json");
    coco.plain = TRUE;
    coco.names = together.names;
    ok = gst_sam_coco_check(&coco, gst_sam_spool_open(&coco.spool, job->folder), error) &&
        collect(&coco, job, frames, &together, set, cancellable, error) &&
        (!set || (sheet = zip_begin(set->zip, "annotations/instances_default.json", error))) &&
        gst_sam_coco_write(&coco, sheet, error) && (!set || zip_end(set->zip, error));
    gst_sam_coco_clear(&coco);
    g_hash_table_unref(together.names);
    return ok;
}

static gboolean fill_set(const FormsJob *job, Frames *frames, GstSamOutput *sheet, Dataset *set,
    GCancellable *cancellable, GError **error)
{
    switch (job->form) {
    case ANNOTATIONS_COCO_SET:
        set->inside = "images/default";
        return write_coco(job, frames, sheet, set, cancellable, error);
    case ANNOTATIONS_YOLO_SET:
        set->inside = "images/train";
        return dataset_write_yolo(set, frames, job->runs, error);
    default:
        return davis_write(set, frames, job->runs, error);
    }
}

static gboolean write_set(const FormsJob *job, Frames *frames, GstSamOutput *sheet,
    GCancellable *cancellable, GError **error)
{
    Dataset set = {.zip = zip_new(job->fd, sheet), .pictures = job->pictures};
    const gboolean ok = fill_set(job, frames, sheet, &set, cancellable, error) &&
        zip_finish(set.zip, error);

    zip_free(set.zip);
    return ok;
}

static gboolean write_form(const FormsJob *job, Frames *frames, GstSamOutput *sheet,
    GCancellable *cancellable, GError **error)
{
    switch (job->form) {
    case ANNOTATIONS_LINES:
        return write_lines(job, frames, sheet, error);
    case ANNOTATIONS_COCO_SET:
    case ANNOTATIONS_YOLO_SET:
    case ANNOTATIONS_DAVIS_SET:
        return write_set(job, frames, sheet, cancellable, error);
    default:
        return write_coco(job, frames, sheet, NULL, cancellable, error);
    }
}

/* Returns FALSE and *error if there is no file. */
static gboolean fill_file(FormsJob *job, GCancellable *cancellable, GError **error)
{
    GstSamOutput *sheet;
    Frames *frames;
    gboolean ok;

    if (job->fault) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(job->fault),
            "The kept annotations cannot be opened: %s.", g_strerror(job->fault));
        return FALSE;
    }
    job->fd = store_open_file(job->folder);
    if (job->fd < 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "No file can be created: %s.", g_strerror(errno));
        return FALSE;
    }
    sheet = sheet_new(job->fd, job->most, cancellable);
    frames = frames_new(job->segments);
    ok = write_form(job, frames, sheet, cancellable, error);
    job->bytes = sheet_get_bytes(sheet);
    frames_free(frames);
    sheet->free(sheet);
    return ok;
}

void forms_run(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    GError *error = NULL;

    if (fill_file(data, cancellable, &error))
        g_task_return_boolean(task, TRUE);
    else
        g_task_return_error(task, error);
}
