/* SPDX-License-Identifier: MIT */
#include "finish.h"

#include "fault.h"
#include "folder.h"
#include "document.h"
#include "lines.h"
#include "davis.h"
#include "record/gstsamcoco.h"
#include "sheet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    guint64 id, frames;
    gchar label[GST_SAM_TEXT_BYTES];
    GstClockTime first, last;
    gdouble score; /* the sum */
} Track;

typedef struct {
    const Job *job;
    const Item *item;
    const Place *place;
    gchar *folder;
    JsonObject *files; /* name -> SHA-256 */

    /* of all chunks */
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
    Masks *masks;       /* davis */
    gchar *masks_hash;
    GstSamCoco coco;    /* coco */
    GstSamTally tally;
} Finish;

static gboolean is_coco(const Finish *f)
{
    return !strcmp(f->job->format, "coco");
}

static void count_objects(Finish *f)
{
    const GstSamRecord *record = f->record;
    guint i;

    for (i = 0; i < record->report.num_objects; i++) {
        const GstSamObject *object = &record->report.object[i];
        Track *track = g_hash_table_lookup(f->tracks, &object->id);

        if (!track) {
            track = g_new0(Track, 1);
            track->id = object->id;
            track->first = record->stream_time;
            g_hash_table_insert(f->tracks, &track->id, track);
            g_ptr_array_add(f->order, track);
        }
        if (*record->label[i])
            g_strlcpy(track->label, record->label[i], sizeof track->label);
        if (!gst_sam_coder_get_region(&f->coder, object) && strcmp(f->job->mask_size, "none"))
            continue;
        track->last = record->stream_time;
        track->frames++;
        track->score += object->score;
    }
}

static gboolean add_line(Finish *f, const gchar *line, gsize bytes, GError **error)
{
    if (!lines_read(line, bytes, f->record, &f->coder, f->texts) || f->record->frame != f->frames)
        return fault_set(error, FAULT_TRANSIENT, "line %" G_GUINT64_FORMAT " is damaged",
            f->frames + 1);
    count_objects(f);
    if (!f->frames)
        f->first = f->record->stream_time;
    f->last = f->record->stream_time;
    f->frames++;
    if (is_coco(f))
        return gst_sam_coco_add(&f->coco, f->record, &f->coder, f->record->frame, error);
    if (f->masks)
        return masks_add(f->masks, f->record, &f->coder, error);
    return sheet_write(f->lines, line, bytes, error);
}

static gboolean add_lines(Finish *f, const gchar *path, const gchar *hash, GError **error)
{
    FILE *file = fopen(path, "re");
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    gboolean ok = file != NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    if (!ok)
        fault_set(error, FAULT_TRANSIENT, "'%s' cannot be read: %s", path, g_strerror(errno));
    while (ok && (n = getline(&line, &room, file)) > 0) {
        g_checksum_update(sum, (const guchar *) line, n);
        ok = add_line(f, line, n, error);
    }
    if (ok && strcmp(g_checksum_get_string(sum), hash))
        ok = fault_set(error, FAULT_TRANSIENT, "'%s' is not what was written", path);
    free(line);
    if (file)
        fclose(file);
    g_checksum_free(sum);
    return ok;
}

static gboolean add_chunk(Finish *f, guint n, GError **error)
{
    gchar *folder = place_get_chunk(f->job, f->item, n);
    gchar *lines = g_build_filename(folder, "frames.jsonl", NULL);
    gchar *path = g_build_filename(folder, "part.json", NULL);
    JsonObject *part = json_read_file(path, error);
    gboolean ok = part != NULL;

    if (part) {
        f->cpu += json_get_number(part, "cpu_seconds", 0);
        g_hash_table_add(f->devices, g_strdup_printf("%s %s %s", json_get_text(part, "backend", ""),
            json_get_text(part, "device", ""), json_get_text(part, "precision", "")));
        ok = add_lines(f, lines, json_get_text(part, "sha256", ""), error);
        json_object_unref(part);
    }
    g_free(lines);
    g_free(path);
    g_free(folder);
    return ok;
}

static gboolean end_lines(Finish *f, GError **error)
{
    Sheet *sheet = g_steal_pointer(&f->lines);
    gchar *hash = NULL;
    const gboolean ok = sheet_close(sheet, &hash, error);

    if (ok)
        json_object_set_string_member(f->files, "frames.jsonl", hash);
    g_free(hash);
    return ok;
}

static gboolean write_coco(Finish *f, GError **error)
{
    gchar *path = g_build_filename(f->folder, "coco.json", NULL), *hash = NULL;
    GstSamOutput *output = gst_sam_output_new_atomic(path, &f->tally, error);
    gboolean ok = FALSE;

    if (output) {
        output->frames = 0;
        ok = gst_sam_coco_write(&f->coco, output, error) && output->commit(output, error);
        output->free(output);
    }
    hash = ok ? sheet_hash_file(path, error) : NULL;
    if (hash)
        json_object_set_string_member(f->files, "coco.json", hash);
    g_free(path);
    g_free(hash);
    return hash != NULL;
}

static gboolean write_named(Finish *f, const gchar *name, JsonObject *object, GError **error)
{
    gchar *text = json_write_object(object), *hash;
    const gboolean ok = sheet_write_whole(f->folder, name, text, error);

    if (ok && strcmp(name, "item.json")) {
        hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
        json_object_set_string_member(f->files, name, hash);
        g_free(hash);
    }
    g_free(text);
    return ok;
}

static gboolean write_tracks(Finish *f, GError **error)
{
    JsonObject *all = json_object_new();
    JsonArray *list = json_array_new();
    guint i;

    for (i = 0; i < f->order->len; i++) {
        const Track *track = g_ptr_array_index(f->order, i);
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
    return write_named(f, "tracks.json", all, error);
}

static gboolean write_item(Finish *f, gint64 attempt, GError **error)
{
    JsonObject *object = json_object_new();
    JsonArray *devices = json_array_new();
    GList *names = g_list_sort(g_hash_table_get_keys(f->devices), (GCompareFunc) strcmp), *l;

    for (l = names; l; l = l->next)
        json_array_add_string_element(devices, l->data);
    g_list_free(names);
    json_object_set_string_member(object, "id", f->item->id);
    json_object_set_string_member(object, "status", "done");
    json_object_set_string_member(object, "run", f->job->run);
    json_object_set_string_member(object, "version", f->job->version);
    json_object_set_string_member(object, "model", f->job->model);
    json_object_set_int_member(object, "frames", f->frames);
    json_object_set_int_member(object, "lost", 0);
    json_object_set_int_member(object, "first", f->first);
    json_object_set_int_member(object, "last", f->last);
    json_object_set_object_member(object, "files", json_object_ref(f->files));
    if (f->masks_hash)
        json_object_set_string_member(object, "masks", f->masks_hash);
    json_object_set_array_member(object, "devices", devices);
    json_object_set_string_member(object, "node", g_get_host_name());
    json_object_set_int_member(object, "attempt", attempt);
    json_object_set_double_member(object, "cpu_seconds", f->cpu);
    return write_named(f, "item.json", object, error);
}

static gboolean open_output(Finish *f, GError **error)
{
    gboolean ok = TRUE;
    gint number;

    if (is_coco(f)) {
        gst_sam_coco_init(&f->coco, FALSE, "samtrack-batch", f->item->id);
        number = gst_sam_spool_open(&f->coco.spool, f->folder);
        ok = !number || fault_set(error, FAULT_TRANSIENT, "no file can be made in '%s': %s",
            f->folder, g_strerror(number));
    } else if (!strcmp(f->job->format, "davis")) {
        f->masks = masks_open(f->folder, &f->tally, error);
        ok = f->masks != NULL;
    } else {
        f->lines = sheet_open(f->folder, "frames.jsonl", error);
        ok = f->lines != NULL;
    }
    return ok;
}

/* Removes that chunk and all after it: they are made again. */
static void remove_chunks(Finish *f, guint first)
{
    guint n;

    for (n = f->place->chunk; n > first; n--) {
        gchar *folder = place_get_chunk(f->job, f->item, n - 1);

        folder_remove(folder);
        g_free(folder);
    }
}

static gboolean make(Finish *f, gint64 attempt, GError **error)
{
    gboolean ok = open_output(f, error);
    guint n;

    for (n = 0; ok && n < f->place->chunk; n++) {
        ok = add_chunk(f, n, error);
        if (!ok && !job_is_done(f->job, f->item->id))
            remove_chunks(f, n);
    }
    if (ok && is_coco(f))
        ok = write_coco(f, error);
    else if (ok && f->masks)
        ok = masks_close(g_steal_pointer(&f->masks), &f->masks_hash, error);
    else if (ok)
        ok = end_lines(f, error);
    return ok && write_tracks(f, error) && write_item(f, attempt, error);
}

gboolean finish_item(const Job *job, const Item *item, const Place *place, gint64 attempt,
    GError **error)
{
    gchar *target = job_get_path(job, "items", item->id);
    Finish f = {.job = job, .item = item, .place = place};
    gboolean ok;

    f.folder = folder_begin(target, error);
    if (!f.folder) {
        g_free(target);
        return FALSE;
    }
    f.files = json_object_new();
    f.record = g_new0(GstSamRecord, 1);
    gst_sam_coder_init(&f.coder, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    gst_sam_tally_init(&f.tally, NULL);
    gst_sam_tally_start(&f.tally);
    f.texts = g_string_chunk_new(1 << 16);
    f.tracks = g_hash_table_new(g_int64_hash, g_int64_equal);
    f.order = g_ptr_array_new_with_free_func(g_free);
    f.devices = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    ok = make(&f, attempt, error);
    if (!ok)
        folder_remove(f.folder);
    else
        ok = folder_commit(f.folder, target, error) != FOLDER_FAILED;
    g_clear_pointer(&f.lines, sheet_drop);
    g_clear_pointer(&f.masks, masks_drop);
    g_free(f.masks_hash);
    if (is_coco(&f) && f.coco.videos)
        gst_sam_coco_clear(&f.coco);
    g_hash_table_unref(f.devices);
    g_hash_table_unref(f.tracks);
    g_ptr_array_unref(f.order);
    g_string_chunk_free(f.texts);
    gst_sam_tally_clear(&f.tally);
    gst_sam_coder_clear(&f.coder);
    g_free(f.record);
    json_object_unref(f.files);
    g_free(f.folder);
    g_free(target);
    return ok;
}
