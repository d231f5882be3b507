/* SPDX-License-Identifier: MIT */
#include "result.h"

#include "davis.h"
#include "deliver.h"
#include "fault.h"
#include "folder.h"
#include "lines.h"
#include "manifest.h"
#include "record/gstsamcoco.h"
#include "sheet.h"
#include "tar.h"

#include <string.h>

typedef struct {
    guint64 id, frames;
    gchar label[GST_SAM_TEXT_BYTES];
    GstClockTime first, last;
    gdouble score; /* the sum */
} Track;

struct Result {
    const Job *job;
    const gchar *id;
    const gchar *format;
    gchar *target, *folder;
    JsonObject *files; /* name -> SHA-256 */

    /* of all lines */
    GstSamRecord *record;
    GstSamCoder coder;
    GStringChunk *texts;
    GHashTable *tracks; /* id -> Track */
    GPtrArray *order;   /* by their first frame */
    guint64 frames;
    GstClockTime first, last;
    gdouble cpu;
    GHashTable *devices; /* "BACKEND DEVICE PRECISION" */

    Sheet *lines;       /* json-lines */
    Masks *masks;       /* davis, webdataset */
    Sheet *tar;         /* webdataset */
    gchar *masks_hash;
    GstSamCoco coco;    /* coco */
    GstSamTally tally;
};

static gboolean is_coco(const Result *r)
{
    return !strcmp(r->format, "coco");
}

/* Pieces are put together from the job's folder. */
static gboolean is_delivered(const Result *r)
{
    return r->job->opened && !item_is_piece(r->id);
}

static void count_objects(Result *r)
{
    const GstSamRecord *record = r->record;
    guint i;

    for (i = 0; i < record->report.num_objects; i++) {
        const GstSamObject *object = &record->report.object[i];
        Track *track = g_hash_table_lookup(r->tracks, &object->id);

        if (!track) {
            track = g_new0(Track, 1);
            track->id = object->id;
            track->first = record->stream_time;
            g_hash_table_insert(r->tracks, &track->id, track);
            g_ptr_array_add(r->order, track);
        }
        if (*record->label[i])
            g_strlcpy(track->label, record->label[i], sizeof track->label);
        if (!gst_sam_coder_get_region(&r->coder, object) && strcmp(r->job->mask_size, "none"))
            continue;
        track->last = record->stream_time;
        track->frames++;
        track->score += object->score;
    }
}

/* A PNG with the masks, and the line. */
static gboolean add_sample(Result *r, const gchar *line, gsize bytes, GError **error)
{
    gchar *stem = g_strdup_printf("%05" G_GUINT64_FORMAT, r->record->frame);
    gchar *png = g_strconcat(stem, ".png", NULL), *json = g_strconcat(stem, ".json", NULL);
    gsize png_bytes = 0;
    gchar *data = masks_add(r->masks, r->record, &r->coder, error) ?
        masks_take(r->masks, &png_bytes, error) : NULL;
    const gboolean ok = data && tar_add(r->tar, png, data, png_bytes, error) &&
        tar_add(r->tar, json, line, bytes, error);

    g_free(data);
    g_free(json);
    g_free(png);
    g_free(stem);
    return ok;
}

gboolean result_add_line(Result *r, const gchar *line, gsize bytes, GError **error)
{
    if (!lines_read(line, bytes, r->record, &r->coder, r->texts) || r->record->frame != r->frames)
        return fault_set(error, FAULT_DAMAGED, "line %" G_GUINT64_FORMAT " is damaged",
            r->frames + 1);
    count_objects(r);
    if (!r->frames)
        r->first = r->record->stream_time;
    r->last = r->record->stream_time;
    r->frames++;
    if (is_coco(r))
        return gst_sam_coco_add(&r->coco, r->record, &r->coder, r->record->frame, error);
    if (r->tar)
        return add_sample(r, line, bytes, error);
    if (r->masks)
        return masks_add(r->masks, r->record, &r->coder, error);
    return sheet_write(r->lines, line, bytes, error);
}

/* Takes the sheet. */
static gboolean end_sheet(Result *r, Sheet *sheet, const gchar *name, GError **error)
{
    gchar *hash = NULL;
    const gboolean ok = sheet_close(sheet, SHEET_LASTS, &hash, error);

    if (ok)
        json_object_set_string_member(r->files, name, hash);
    g_free(hash);
    return ok;
}

static gboolean write_coco(Result *r, GError **error)
{
    gchar *path = g_build_filename(r->folder, "coco.json", NULL), *hash = NULL;
    GstSamOutput *output = gst_sam_output_new_atomic(path, &r->tally, error);
    gboolean ok = FALSE;

    if (output) {
        output->frames = 0;
        ok = gst_sam_coco_write(&r->coco, output, error) && output->commit(output, error);
        output->free(output);
    }
    hash = ok ? sheet_hash_file(path, error) : NULL;
    if (hash)
        json_object_set_string_member(r->files, "coco.json", hash);
    g_free(path);
    g_free(hash);
    return hash != NULL;
}

static gboolean write_named(Result *r, const gchar *name, JsonObject *object, GError **error)
{
    gchar *text = json_write_object(object), *hash;
    const gboolean ok = sheet_write_whole(r->folder, name, text, SHEET_LASTS, error);

    if (ok && strcmp(name, "item.json")) {
        hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
        json_object_set_string_member(r->files, name, hash);
        g_free(hash);
    }
    g_free(text);
    return ok;
}

static gboolean write_tracks(Result *r, GError **error)
{
    JsonObject *all = json_object_new();
    JsonArray *list = json_array_new();
    guint i;

    for (i = 0; i < r->order->len; i++) {
        const Track *track = g_ptr_array_index(r->order, i);
        JsonObject *object = json_object_new();

        json_object_set_int_member(object, "id", track->id);
        if (*track->label)
            json_object_set_string_member(object, "label", track->label);
        json_object_set_int_member(object, "first", track->first);
        if (track->frames) {
            json_object_set_int_member(object, "last", track->last);
            json_object_set_double_member(object, "score", track->score / track->frames);
        }
        json_object_set_int_member(object, "frames", track->frames);
        json_array_add_object_element(list, object);
    }
    json_object_set_array_member(all, "objects", list);
    return write_named(r, "tracks.json", all, error);
}

/* Takes @borders. */
static gboolean write_item(Result *r, gint64 attempt, JsonArray *borders, GError **error)
{
    JsonObject *object = json_object_new();
    JsonArray *devices = json_array_new();
    GList *names = g_list_sort(g_hash_table_get_keys(r->devices), (GCompareFunc) strcmp), *l;

    for (l = names; l; l = l->next)
        json_array_add_string_element(devices, l->data);
    g_list_free(names);
    json_object_set_string_member(object, "id", r->id);
    json_object_set_string_member(object, "status", "done");
    json_object_set_string_member(object, "run", r->job->run);
    json_object_set_string_member(object, "version", r->job->version);
    json_object_set_string_member(object, "model", r->job->model);
    json_object_set_int_member(object, "frames", r->frames);
    json_object_set_int_member(object, "lost", 0);
    json_object_set_int_member(object, "first", r->first);
    json_object_set_int_member(object, "last", r->last);
    json_object_set_object_member(object, "files", json_object_ref(r->files));
    if (r->masks_hash)
        json_object_set_string_member(object, "masks", r->masks_hash);
    json_object_set_array_member(object, "devices", devices);
    json_object_set_string_member(object, "node", g_get_host_name());
    json_object_set_int_member(object, "attempt", attempt);
    json_object_set_double_member(object, "cpu_seconds", r->cpu);
    if (is_delivered(r)) {
        gchar *name = deliver_name(r->folder, r->id);

        json_object_set_string_member(object, "folder", name);
        g_free(name);
    }
    if (borders)
        json_object_set_array_member(object, "borders", borders);
    return write_named(r, "item.json", object, error);
}

static gboolean open_output(Result *r, GError **error)
{
    gboolean ok = TRUE;
    gint number;

    if (is_coco(r)) {
        gst_sam_coco_init(&r->coco, FALSE, "samtrack-batch", r->id);
        number = gst_sam_spool_open(&r->coco.spool, r->folder);
        ok = !number || fault_set(error, FAULT_TRANSIENT, "no file can be made in '%s': %s",
            r->folder, g_strerror(number));
    } else if (!strcmp(r->format, "davis") || !strcmp(r->format, "webdataset")) {
        r->masks = masks_open(r->folder, &r->tally, error);
        ok = r->masks != NULL;
        if (ok && strcmp(r->format, "davis")) {
            r->tar = sheet_open(r->folder, "masks.tar", error);
            ok = r->tar != NULL;
        }
    } else {
        r->lines = sheet_open(r->folder, "frames.jsonl", error);
        ok = r->lines != NULL;
    }
    return ok;
}

static gboolean end_output(Result *r, GError **error)
{
    if (is_coco(r))
        return write_coco(r, error);
    if (r->tar) {
        masks_remove(g_steal_pointer(&r->masks));
        return tar_end(r->tar, error) &&
            end_sheet(r, g_steal_pointer(&r->tar), "masks.tar", error);
    }
    if (r->masks)
        return masks_close(g_steal_pointer(&r->masks), &r->masks_hash, error);
    return end_sheet(r, g_steal_pointer(&r->lines), "frames.jsonl", error);
}

Result *result_begin(const Job *job, const gchar *id, GError **error)
{
    Result *r = g_new0(Result, 1);

    r->job = job;
    r->id = id;
    r->format = item_is_piece(id) ? "json-lines" : job->format;
    r->target = job_get_result_path(job, id);
    r->files = json_object_new();
    r->record = g_new0(GstSamRecord, 1);
    gst_sam_coder_init(&r->coder, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    gst_sam_tally_init(&r->tally, NULL);
    gst_sam_tally_start(&r->tally);
    r->texts = g_string_chunk_new(1 << 16);
    r->tracks = g_hash_table_new(g_int64_hash, g_int64_equal);
    r->order = g_ptr_array_new_with_free_func(g_free);
    r->devices = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    r->folder = folder_begin(r->target, error);
    if (r->folder && open_output(r, error))
        return r;
    result_free(r);
    return NULL;
}

void result_add_work(Result *r, const gchar *device, gdouble cpu)
{
    g_hash_table_add(r->devices, g_strdup(device));
    r->cpu += cpu;
}

guint64 result_get_frames(const Result *r)
{
    return r->frames;
}

gboolean result_commit(Result *r, gint64 attempt, JsonArray *borders, GError **error)
{
    gboolean ok = end_output(r, error) && write_tracks(r, error);

    if (ok)
        ok = write_item(r, attempt, borders, error);
    else
        g_clear_pointer(&borders, json_array_unref);
    if (ok && is_delivered(r))
        ok = deliver_result(r->job, r->id, r->folder, error);
    if (ok) {
        ok = folder_commit(r->folder, r->target, SHEET_LASTS, error) != FOLDER_FAILED;
        g_clear_pointer(&r->folder, g_free);
    }
    return ok;
}

void result_free(Result *r)
{
    if (!r)
        return;
    g_clear_pointer(&r->lines, sheet_drop);
    g_clear_pointer(&r->tar, sheet_drop);
    g_clear_pointer(&r->masks, masks_drop);
    if (r->folder)
        folder_remove(r->folder);
    g_free(r->masks_hash);
    if (is_coco(r) && r->coco.videos)
        gst_sam_coco_clear(&r->coco);
    g_hash_table_unref(r->devices);
    g_hash_table_unref(r->tracks);
    g_ptr_array_unref(r->order);
    g_string_chunk_free(r->texts);
    gst_sam_tally_clear(&r->tally);
    gst_sam_coder_clear(&r->coder);
    g_free(r->record);
    json_object_unref(r->files);
    g_free(r->folder);
    g_free(r->target);
    g_free(r);
}
