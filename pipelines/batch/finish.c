/* SPDX-License-Identifier: MIT */
#include "finish.h"

#include "document.h"
#include "fault.h"
#include "folder.h"
#include "lines.h"
#include "result.h"

#include <string.h>

static gboolean add_line(gpointer data, const gchar *line, gsize bytes, GError **error)
{
    return result_add_line(data, line, bytes, error);
}

static gboolean add_chunk(Result *result, const gchar *folder, GError **error)
{
    gchar *lines = g_build_filename(folder, "frames.jsonl", NULL);
    gchar *path = g_build_filename(folder, "part.json", NULL), *device;
    JsonObject *part = json_read_file(path, error);
    gboolean ok = FALSE;

    if (part) {
        device = g_strdup_printf("%s %s %s", json_get_text(part, "backend", ""),
            json_get_text(part, "device", ""), json_get_text(part, "precision", ""));
        result_add_work(result, device, json_get_number(part, "cpu_seconds", 0));
        g_free(device);
        ok = lines_read_file(lines, json_get_text(part, "sha256", ""), add_line, result, error);
        json_object_unref(part);
    }
    g_free(lines);
    g_free(path);
    return ok;
}

/* Of an item that has ended before a chunk was written. */
static gboolean add_lines(Result *result, const Place *place, GError **error)
{
    const gchar *at = place->lines->str, *end;
    gboolean ok = TRUE;

    result_add_work(result, place->device, place->cpu);
    for (; ok && (end = strchr(at, '\n')); at = end + 1)
        ok = result_add_line(result, at, end + 1 - at, error);
    return ok;
}

/* Removes that chunk and all after it: they are made again. */
static void remove_chunks(const Job *job, const Item *item, const Place *place, guint first)
{
    guint n;

    for (n = place->chunk; n > first; n--) {
        gchar *folder = place_get_chunk(job, item, n - 1);

        folder_remove(folder);
        g_free(folder);
    }
}

gboolean finish_item(const Job *job, const Item *item, const Place *place, gint64 attempt,
    GError **error)
{
    Result *result = result_begin(job, item->id, error);
    gboolean ok = result && (!place->lines || add_lines(result, place, error));
    guint n;

    for (n = 0; ok && n < place->chunk; n++) {
        gchar *folder = place_get_chunk(job, item, n);

        ok = add_chunk(result, folder, error);
        if (!ok && job_is_damaged(*error) && !job_is_done(job, item->id))
            remove_chunks(job, item, place, n);
        g_free(folder);
    }
    ok = ok && result_commit(result, attempt, NULL, error);
    result_free(result);
    return ok;
}
