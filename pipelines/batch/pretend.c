/* SPDX-License-Identifier: MIT */
#include "pretend.h"

#include "document.h"
#include "fault.h"
#include "folder.h"
#include "sheet.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* How long it sleeps at a time; signals and the mark wait so long. */
#define NAP_US 20000
#define MARK_US (30 * G_USEC_PER_SEC)
/* Of a file of tracks. */
#define TRACKS_BYTES 200000

static guint64 count_lines(const Item *item)
{
    const gdouble seconds = item->seconds > 0 ? item->seconds :
        (item->stop - item->start) / (gdouble) GST_SECOND;

    return MAX((guint64) ceil(seconds), 1);
}

static gboolean write_line(Sheet *sheet, const Job *job, const Item *item, guint64 n,
    GError **error)
{
    const GstClockTime time = item->start + n * GST_SECOND;
    gchar *line = g_strdup_printf("{\"run\":\"%s\",\"frame\":%" G_GUINT64_FORMAT ",\"stream\":0,"
        "\"pts\":%" G_GUINT64_FORMAT ",\"stream_time\":%" G_GUINT64_FORMAT ",\"width\":1,"
        "\"height\":1,\"frame_index\":%" G_GUINT64_FORMAT ",\"objects\":[]}\n", job->run, n, time,
        time, n);
    const gboolean ok = sheet_write(sheet, line, strlen(line), error);

    g_free(line);
    return ok;
}

/* FALSE: a signal has come. */
static gboolean wait_until(Control *control, gint64 end_us, GstClockTime now)
{
    for (;;) {
        const gint64 now_us = g_get_monotonic_time();

        while (g_main_context_iteration(NULL, FALSE)) /* signals */
            ;
        if (control->mark && now_us - control->marked_us > MARK_US) {
            control->marked_us = now_us;
            utimensat(AT_FDCWD, control->mark, NULL, 0);
        }
        if (control->tell)
            control->tell(control->data, now);
        if (g_atomic_int_get(&control->interrupted))
            return FALSE;
        if (now_us >= end_us)
            return TRUE;
        g_usleep(MIN(end_us - now_us, NAP_US));
    }
}

static gboolean write_tracks(const gchar *folder, GError **error)
{
    gchar *text = g_strnfill(TRACKS_BYTES, '.');
    const gboolean ok = sheet_write_whole(folder, "tracks", text, SHEET_LASTS, error);

    g_free(text);
    return ok;
}

static gboolean write_part(const gchar *folder, const Place *next, const gchar *hash,
    GError **error)
{
    JsonObject *object = json_object_new();
    gchar *text;
    gboolean ok;

    place_write(next, object);
    json_object_set_string_member(object, "sha256", hash);
    json_object_set_string_member(object, "backend", "pretended");
    json_object_set_string_member(object, "node", g_get_host_name());
    text = json_write_object(object);
    ok = sheet_write_whole(folder, "part.json", text, place_get_life(next), error);
    g_free(text);
    return ok;
}

/* The lines of a chunk, as long as no signal comes. Returns how many; -1 with an error. */
static gint64 write_lines(Control *control, const Job *job, const Item *item, const Place *place,
    Sheet *sheet, GError **error)
{
    const guint64 most = MIN(count_lines(item) - place->frames,
        (guint64) MAX(ceil(job->chunk), 1));
    const gint64 begin_us = g_get_monotonic_time();
    guint64 n = 0;
    gboolean goes_on = TRUE;

    while (n < most && goes_on) {
        goes_on = wait_until(control, begin_us + (gint64) ((n + 1) * job->pretend * 1e6),
            item->start + (place->frames + n) * GST_SECOND);
        if (!goes_on)
            break;
        if (!write_line(sheet, job, item, place->frames + n, error))
            return -1;
        n++;
    }
    return n;
}

LegOutcome pretend_run(Control *control, const Job *job, const Item *item, Place *place,
    GError **error)
{
    gchar *target = place_get_chunk(job, item, place->chunk), *hash = NULL;
    gchar *folder = folder_begin(target, error);
    Sheet *sheet = folder ? sheet_open(folder, "frames.jsonl", error) : NULL;
    const gint64 n = sheet ? write_lines(control, job, item, place, sheet, error) : -1;
    Place next = {.chunk = place->chunk + 1, .last_time = GST_CLOCK_TIME_NONE};
    LegOutcome outcome = n < 0 ? LEG_FAILED : LEG_INTERRUPTED;

    if (n > 0) {
        next.frames = place->frames + n;
        next.ended = next.frames == count_lines(item);
        outcome = sheet_close(g_steal_pointer(&sheet), place_get_life(&next), &hash, error) &&
            (next.ended || write_tracks(folder, error)) &&
            write_part(folder, &next, hash, error) ? LEG_ENDED : LEG_FAILED;
    }
    g_clear_pointer(&sheet, sheet_drop);
    if (outcome == LEG_ENDED) {
        const FolderOutcome kept = folder_commit(folder, target, place_get_life(&next), error);

        outcome = kept == FOLDER_WON ? LEG_ENDED : kept == FOLDER_LOST ? LEG_LOST : LEG_FAILED;
    } else if (folder) {
        folder_remove(folder);
    }
    if (outcome == LEG_ENDED) {
        place_clear(place);
        *place = next;
    }
    g_free(folder);
    g_free(target);
    g_free(hash);
    return outcome;
}
