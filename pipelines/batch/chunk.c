/* SPDX-License-Identifier: MIT */
#include "chunk.h"

#include "fault.h"
#include "folder.h"
#include "document.h"
#include "record/gstsamline.h"

#include <string.h>
#include <sys/resource.h>

/* Lines are held up to here, as many as wait in memory to be written anyhow. */
#define MOST_HELD (1 << 16)

static gdouble get_cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

void chunk_init(Chunk *chunk, const Job *job, const Item *item, GstElement *track, Place *place)
{
    memset(chunk, 0, sizeof *chunk);
    chunk->job = job;
    chunk->item = item;
    chunk->track = track;
    chunk->place = place;
    chunk->record = g_new0(GstSamRecord, 1);
    chunk->line = g_string_new(NULL);
    chunk->held = g_string_new(NULL);
    gst_sam_coder_init(&chunk->coder, !strcmp(job->mask_size, "none") ?
        GST_SAM_EXPORT_MASK_SIZE_NONE : !strcmp(job->mask_size, "own") ?
        GST_SAM_EXPORT_MASK_SIZE_OWN : GST_SAM_EXPORT_MASK_SIZE_FRAME);
}

static void drop(Chunk *chunk)
{
    g_clear_pointer(&chunk->sheet, sheet_drop);
    if (chunk->folder)
        folder_remove(chunk->folder);
    g_clear_pointer(&chunk->folder, g_free);
    g_string_truncate(chunk->held, 0);
    chunk->frames = 0;
}

void chunk_clear(Chunk *chunk)
{
    drop(chunk);
    gst_sam_coder_clear(&chunk->coder);
    g_free(chunk->record);
    g_string_free(chunk->line, TRUE);
    g_string_free(chunk->held, TRUE);
}

/* What a store does not take at once, another run delivers: then the chunk is written. */
static gboolean can_hold(const Chunk *chunk)
{
    return !chunk->sheet && !chunk->place->chunk && !chunk->job->opened;
}

static gboolean begin(Chunk *chunk, GError **error)
{
    gchar *target = place_get_chunk(chunk->job, chunk->item, chunk->place->chunk);

    chunk->folder = folder_begin(target, error);
    chunk->sheet = chunk->folder ? sheet_open(chunk->folder, "frames.jsonl", error) : NULL;
    g_free(target);
    if (!chunk->sheet || !sheet_write(chunk->sheet, chunk->held->str, chunk->held->len, error))
        return FALSE;
    g_string_truncate(chunk->held, 0);
    return TRUE;
}

static gboolean write_line(Chunk *chunk, GError **error)
{
    const GString *line = chunk->line;

    if (can_hold(chunk) && chunk->held->len + line->len <= MOST_HELD) {
        g_string_append_len(chunk->held, line->str, line->len);
        return TRUE;
    }
    return (chunk->sheet || begin(chunk, error)) &&
        sheet_write(chunk->sheet, line->str, line->len, error);
}

/* Times are those of the item: the running time depends on where a run began. */
static void set_times(GstSamRecord *record, GstClockTime time)
{
    GstSamReport *report = &record->report;
    const GstClockTime running = record->running_time;

    record->stream_time = record->running_time = time;
    if (!record->tracked || !GST_CLOCK_TIME_IS_VALID(report->running_time))
        return;
    if (!GST_CLOCK_TIME_IS_VALID(running) || running < report->running_time ||
        running - report->running_time > time)
        report->running_time = GST_CLOCK_TIME_NONE;
    else
        report->running_time = time - (running - report->running_time);
}

gboolean chunk_add(Chunk *chunk, GstBuffer *buffer, const GstSegment *segment, GstClockTime time,
    GstClockTime duration, GError **error)
{
    const GstSamLineParams params = {.run = chunk->job->run, .steady = TRUE};
    GstSamRecord *record = chunk->record;
    gboolean ok;

    if (!chunk->frames) {
        chunk->start = time;
        chunk->cpu = get_cpu_seconds();
    }
    record->frame = chunk->place->frames + chunk->frames;
    gst_sam_record_set_times(record, buffer, segment);
    gst_sam_record_set_metas(record, buffer, NULL);
    set_times(record, time);
    record->duration = duration;
    ok = gst_sam_coder_begin(&chunk->coder, record, error);
    if (ok) {
        g_string_truncate(chunk->line, 0);
        gst_sam_line_append(chunk->line, record, &chunk->coder, &params);
        gst_sam_coder_end(&chunk->coder);
        ok = write_line(chunk, error);
    }
    gst_sam_record_clear(record);
    chunk->frames += ok;
    return ok;
}

static gboolean save_tracks(Chunk *chunk, GError **error)
{
    gchar *path = g_build_filename(chunk->folder, "tracks", NULL);
    GstStructure *outcome = NULL;
    gboolean ok = FALSE;

    g_signal_emit_by_name(chunk->track, "save-tracks-full", path, &outcome);
    if (!outcome || !gst_structure_get_boolean(outcome, "ok", &ok) || !ok)
        fault_set(error, FAULT_TRANSIENT, "%s", outcome ? gst_structure_get_string(outcome,
            "message") : "The tracks were not saved.");
    g_clear_pointer(&outcome, gst_structure_free);
    g_free(path);
    return ok;
}

static gboolean write_part(Chunk *chunk, const Place *next, const gchar *hash, GError **error)
{
    JsonObject *object = json_object_new();
    GstStructure *stats = NULL;
    gchar *text;
    gboolean ok;

    place_write(next, object);
    g_object_get(chunk->track, "stats", &stats, NULL);
    json_object_set_string_member(object, "sha256", hash);
    json_object_set_string_member(object, "backend", gst_structure_get_string(stats, "backend"));
    json_object_set_string_member(object, "device", gst_structure_get_string(stats, "device"));
    json_object_set_string_member(object, "precision",
        gst_structure_get_string(stats, "precision"));
    json_object_set_string_member(object, "node", g_get_host_name());
    json_object_set_double_member(object, "cpu_seconds", get_cpu_seconds() - chunk->cpu);
    gst_structure_free(stats);
    text = json_write_object(object);
    ok = sheet_write_whole(chunk->folder, "part.json", text, place_get_life(next), error);
    g_free(text);
    return ok;
}

/* The place is @next from here on. */
static void move_on(Chunk *chunk, Place *next)
{
    place_clear(chunk->place);
    *chunk->place = *next;
    memset(next, 0, sizeof *next);
    chunk->frames = 0;
}

/* All of the item: no chunk is written. */
static void keep_held(Chunk *chunk, Place *next)
{
    GstStructure *stats = NULL;

    g_object_get(chunk->track, "stats", &stats, NULL);
    next->device = g_strdup_printf("%s %s %s", gst_structure_get_string(stats, "backend"),
        gst_structure_get_string(stats, "device"), gst_structure_get_string(stats, "precision"));
    gst_structure_free(stats);
    next->cpu = get_cpu_seconds() - chunk->cpu;
    next->lines = g_steal_pointer(&chunk->held);
    chunk->held = g_string_new(NULL);
    move_on(chunk, next);
}

static ChunkOutcome commit(Chunk *chunk, const gchar *target, Place *next, GError **error)
{
    const FolderOutcome outcome = folder_commit(chunk->folder, target, place_get_life(next), error);

    g_clear_pointer(&chunk->folder, g_free);
    if (outcome == FOLDER_WON) {
        next->tracks = g_build_filename(target, "tracks", NULL);
        move_on(chunk, next);
    }
    chunk->frames = 0;
    return outcome == FOLDER_WON ? CHUNK_KEPT : outcome == FOLDER_LOST ? CHUNK_LOST : CHUNK_FAILED;
}

ChunkOutcome chunk_end(Chunk *chunk, Place *next, GError **error)
{
    gchar *target, *hash = NULL;
    ChunkOutcome outcome = CHUNK_FAILED;
    gboolean ok;

    next->frames = chunk->place->frames + chunk->frames;
    if (!chunk->frames)
        chunk->cpu = get_cpu_seconds();
    if (next->ended && can_hold(chunk)) {
        keep_held(chunk, next);
        return CHUNK_KEPT;
    }
    target = place_get_chunk(chunk->job, chunk->item, chunk->place->chunk);
    next->chunk = chunk->place->chunk + 1;
    ok = (chunk->sheet || begin(chunk, error)) && /* the last one may be empty */
        (next->ended || save_tracks(chunk, error)) &&
        sheet_close(g_steal_pointer(&chunk->sheet), place_get_life(next), &hash, error) &&
        write_part(chunk, next, hash, error);
    if (ok)
        outcome = commit(chunk, target, next, error);
    else
        drop(chunk);
    place_clear(next);
    g_free(target);
    g_free(hash);
    return outcome;
}
