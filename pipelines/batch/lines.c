/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include "fault.h"
#include "document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number of COCO's run lengths: five bits a character from '0' on, the lowest first; the sixth
 * tells that more follow, the fifth of the last one is the sign. */
static gboolean read_number(const gchar **at, gint64 *number)
{
    guint shift = 0;
    gint64 value = 0, c;

    do {
        c = *(*at)++ - '0';
        if (c < 0 || c > 63 || shift > 30)
            return FALSE;
        value |= (c & 31) << shift;
        shift += 5;
    } while (c & 32);
    if (c & 16)
        value |= -((gint64) 1 << shift);
    *number = value;
    return TRUE;
}

/* What is made of the runs: pixels count column by column. */
typedef struct {
    gint width, height;
    GstSamRegion region;
    guint8 *pixels; /* NULL: only the region */
    guint8 value;
    GArray *runs;   /* (nullable): of Run */
} Picture;

static void add_region(Picture *p, gint64 begin, gint64 end)
{
    const gint left = begin / p->height, right = (end - 1) / p->height;
    const gint top = left == right ? begin % p->height : 0;
    const gint bottom = left == right ? (end - 1) % p->height : p->height - 1;
    GstSamRegion *region = &p->region;
    gint x1, y1;

    if (!region->area) {
        *region = (GstSamRegion) {left, top, right + 1 - left, bottom + 1 - top, end - begin};
        return;
    }
    x1 = MAX(region->x + region->w, right + 1);
    y1 = MAX(region->y + region->h, bottom + 1);
    region->x = MIN(region->x, left);
    region->y = MIN(region->y, top);
    region->w = x1 - region->x;
    region->h = y1 - region->y;
    region->area += end - begin;
}

static void add_run(Picture *p, gint64 begin, gint64 end)
{
    gint64 i;

    if (begin == end)
        return;
    add_region(p, begin, end);
    if (p->runs) {
        const Run run = {begin, end};

        g_array_append_val(p->runs, run);
    }
    for (i = begin; p->pixels && i < end; i++)
        p->pixels[i % p->height * p->width + i / p->height] = p->value;
}

static gboolean read_runs(const gchar *counts, Picture *p)
{
    const gint64 all = (gint64) p->width * p->height;
    gint64 before[2] = {0, 0}, at = 0, run;
    guint n;

    for (n = 0; *counts; n++) {
        if (!read_number(&counts, &run))
            return FALSE;
        run += n > 2 ? before[n & 1] : 0;
        if (run < 0 || run > all - at)
            return FALSE;
        if (n & 1)
            add_run(p, at, at + run);
        before[n & 1] = run;
        at += run;
    }
    return at == all;
}

gboolean lines_find_region(const gchar *counts, gint width, gint height, GstSamRegion *region)
{
    Picture p = {.width = width, .height = height};
    const gboolean ok = read_runs(counts, &p);

    *region = p.region;
    return ok;
}

gboolean lines_paint(const gchar *counts, gint width, gint height, guint8 value, guint8 *pixels)
{
    Picture p = {.width = width, .height = height, .pixels = pixels, .value = value};

    return read_runs(counts, &p);
}

GArray *lines_get_runs(const gchar *counts, gint width, gint height)
{
    Picture p = {.width = width, .height = height, .runs = g_array_new(FALSE, FALSE, sizeof(Run))};

    if (!read_runs(counts, &p))
        g_clear_pointer(&p.runs, g_array_unref);
    return p.runs;
}

gboolean lines_read_file(const gchar *path, const gchar *hash, LinesEach each, gpointer data,
    GError **error)
{
    FILE *file = fopen(path, "re");
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    gboolean ok = file != NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    if (!ok)
        fault_set(error, errno == ENOENT ? FAULT_DAMAGED : FAULT_TRANSIENT, "'%s' cannot be read: "
            "%s", path, g_strerror(errno));
    while (ok && (n = getline(&line, &room, file)) > 0) {
        g_checksum_update(sum, (const guchar *) line, n);
        ok = each(data, line, n, error);
    }
    if (ok && hash && strcmp(g_checksum_get_string(sum), hash))
        ok = fault_set(error, FAULT_DAMAGED, "'%s' is not what was written", path);
    free(line);
    if (file)
        fclose(file);
    g_checksum_free(sum);
    return ok;
}

static guint64 get_time(JsonObject *object, const gchar *key)
{
    return (guint64) json_get_int(object, key, -1);
}

static gboolean read_mask(JsonObject *object, GstSamCoder *coder, guint slot, GStringChunk *texts)
{
    JsonNode *node = json_object_get_member(object, "mask");
    JsonObject *mask = node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    JsonNode *size = mask ? json_object_get_member(mask, "size") : NULL;
    const gchar *counts = mask ? json_get_text(mask, "counts", NULL) : NULL;
    JsonArray *sides = size && JSON_NODE_HOLDS_ARRAY(size) ? json_node_get_array(size) : NULL;

    if (!mask)
        return TRUE;
    if (!counts || !sides || json_array_get_length(sides) != 2)
        return FALSE;
    coder->masked = TRUE;
    coder->height = json_array_get_int_element(sides, 0);
    coder->width = json_array_get_int_element(sides, 1);
    if (coder->width < 1 || coder->height < 1)
        return FALSE;
    coder->packed[slot] = g_string_chunk_insert(texts, counts);
    return lines_find_region(counts, coder->width, coder->height, &coder->region[slot]);
}

static gboolean read_object(JsonObject *object, GstSamRecord *record, guint i, GstSamCoder *coder,
    GStringChunk *texts)
{
    GstSamObject *to = &record->report.object[i];
    const gint64 slot = json_get_int(object, "slot", 0);

    memset(to, 0, sizeof *to);
    to->id = get_time(object, "id");
    to->slot = slot;
    to->score = json_get_number(object, "score", 0);
    g_strlcpy(record->label[i], json_get_text(object, "label", ""), GST_SAM_TEXT_BYTES);
    return slot > 0 && slot < 256 && read_mask(object, coder, slot, texts);
}

gboolean lines_read(const gchar *line, gsize bytes, GstSamRecord *record, GstSamCoder *coder,
    GStringChunk *texts)
{
    JsonObject *object = json_read_object(line, bytes, NULL);
    JsonNode *node = object ? json_object_get_member(object, "objects") : NULL;
    JsonArray *objects = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    const guint n = objects ? json_array_get_length(objects) : 0;
    gboolean ok = objects && n <= SAM_MAX_OBJECTS;
    guint i;

    g_string_chunk_clear(texts);
    coder->masked = FALSE;
    coder->labels = NULL;
    memset(coder->region, 0, sizeof coder->region);
    if (ok) {
        record->frame = get_time(object, "frame");
        record->stream = 0;
        record->pts = get_time(object, "pts");
        record->stream_time = get_time(object, "stream_time");
        record->running_time = get_time(object, "running_time");
        record->width = json_get_int(object, "width", 0);
        record->height = json_get_int(object, "height", 0);
        record->tracked = TRUE;
        g_strlcpy(record->source, json_get_text(object, "source", ""), GST_SAM_TEXT_BYTES);
        record->report.num_objects = n;
    }
    for (i = 0; ok && i < n; i++) {
        JsonNode *element = json_array_get_element(objects, i);

        ok = JSON_NODE_HOLDS_OBJECT(element) && read_object(json_node_get_object(element), record,
            i, coder, texts);
    }
    g_clear_pointer(&object, json_object_unref);
    return ok;
}

/* Behind "KEY": of the line. In texts quotes have a backslash, so that it is not found in them. */
static const gchar *find_number(const gchar *line, const gchar *key)
{
    gchar *wanted = g_strdup_printf("\"%s\":", key);
    const gchar *at = strstr(line, wanted);

    at = at ? at + strlen(wanted) : NULL;
    g_free(wanted);
    return at && g_ascii_isdigit(*at) ? at : NULL;
}

gboolean lines_get_number(const gchar *line, const gchar *key, guint64 *value)
{
    const gchar *at = find_number(line, key);

    if (at)
        *value = g_ascii_strtoull(at, NULL, 10);
    return at != NULL;
}

/* Copies what precedes the number at @at, and @value for it; what follows it is returned. */
static const gchar *replace_number(const gchar *line, const gchar *at, guint64 value, GString *to)
{
    g_string_append_len(to, line, at - line);
    g_string_append_printf(to, "%" G_GUINT64_FORMAT, value);
    while (g_ascii_isdigit(*at))
        at++;
    return at;
}

gboolean lines_renumber(const gchar *line, guint64 frame, LinesRename name, gpointer data,
    GString *to)
{
    static const gchar object[] = "{\"id\":";
    const gchar *at = find_number(line, "frame");
    guint64 old, index;

    if (!at)
        return FALSE;
    old = g_ascii_strtoull(at, NULL, 10);
    line = replace_number(line, at, frame, to);
    at = find_number(line, "frame_index");
    if (at) {
        index = g_ascii_strtoull(at, NULL, 10);
        line = replace_number(line, at, index + frame - old, to);
    }
    while ((at = strstr(line, object))) {
        at += strlen(object);
        if (!g_ascii_isdigit(*at))
            return FALSE;
        line = replace_number(line, at, name(data, g_ascii_strtoull(at, NULL, 10)), to);
    }
    g_string_append(to, line);
    return TRUE;
}
