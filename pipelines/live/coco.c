/* SPDX-License-Identifier: MIT */
/* samexport's writer (gst/record/gstsamcoco.c) makes the same forms of label maps, with a value for
 * each frame of the stream, lost ones too, and begins a video where the size changes. Here masks
 * come as run lengths, only kept frames count, and all have one size. */
#include "coco.h"

#include <errno.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

/* A mask: where its run lengths lie in the scratch file. */
typedef struct {
    guint64 at;
    guint32 bytes, frame, area;
    gint32 box[4];
} Mask;

typedef struct {
    guint64 id;
    GArray *masks; /* in order of frames */
    gchar *label;  /* that a prompt gave; NULL: none */
} Track;

typedef struct {
    guint64 frame, pts, running_time; /* G_MAXUINT64: none */
} Frame;

typedef enum {
    LIST_SEGMENTATIONS,
    LIST_BOXES,
    LIST_AREAS,
} List;

typedef struct {
    Sheet *sheet;
    GHashTable *names;
    Sheet scratch;     /* run lengths, one behind the other */
    gint width, height;
    GArray *frames;    /* Frame */
    GPtrArray *tracks; /* Track, in order of appearance */
    GHashTable *by_id; /* id -> Track */
    GPtrArray *categories;
    gboolean by_video;
    guint num_annotations; /* written */
    GCancellable *cancellable;
} Coco;

/* Numbers in base 32, lowest digits first; from the third on, they are differences to the last but
 * one. Returns what follows, or NULL if the text ends within a number. */
static const gchar *read_run(const gchar *text, gint64 *run)
{
    gint64 value = 0;
    guint shift = 0;
    gint digit;

    do {
        digit = (guchar) *text++ - 48;
        if (digit < 0 || digit > 63 || shift > 30)
            return NULL;
        value |= (gint64) (digit & 31) << shift;
        shift += 5;
    } while (digit & 32);
    if (digit & 16)
        value -= (gint64) 1 << shift;
    *run = value;
    return text;
}

/* Pixels go down the columns. */
static void add_run(gint64 at, gint64 run, gint height, gint low[2], gint high[2])
{
    const gint64 last = at + run - 1;
    const gint x0 = at / height, x1 = last / height;
    const gint y0 = x0 == x1 ? at % height : 0, y1 = x0 == x1 ? last % height : height - 1;

    low[0] = MIN(low[0], x0);
    low[1] = MIN(low[1], y0);
    high[0] = MAX(high[0], x1);
    high[1] = MAX(high[1], y1);
}

gboolean coco_measure(const gchar *counts, gint width, gint height, gint box[4], guint *area)
{
    gint low[2] = {width, height}, high[2] = {-1, -1};
    gint64 last[2] = {0, 0}, at = 0, run;
    guint i;

    *area = 0;
    for (i = 0; *counts; i++) {
        if (!(counts = read_run(counts, &run)))
            return FALSE;
        if (i > 2)
            run += last[i % 2];
        last[i % 2] = run;
        if (run < 0 || run > (gint64) width * height - at)
            return FALSE;
        if (i % 2 && run) {
            add_run(at, run, height, low, high);
            *area += (guint) run;
        }
        at += run;
    }
    box[0] = *area ? low[0] : 0;
    box[1] = *area ? low[1] : 0;
    box[2] = high[0] + 1 - box[0];
    box[3] = high[1] + 1 - box[1];
    return at == (gint64) width * height;
}

static void free_track(gpointer data)
{
    Track *track = data;

    g_array_unref(track->masks);
    g_free(track->label);
    g_free(track);
}

static Track *get_track(Coco *coco, guint64 id)
{
    Track *track = g_hash_table_lookup(coco->by_id, &id);

    if (track)
        return track;
    track = g_new0(Track, 1);
    track->id = id;
    track->masks = g_array_new(FALSE, FALSE, sizeof(Mask));
    g_ptr_array_add(coco->tracks, track);
    g_hash_table_insert(coco->by_id, &track->id, track);
    return track;
}

static guint64 get_time(JsonObject *line, const gchar *name)
{
    return json_object_get_null_member(line, name) ? G_MAXUINT64 :
        (guint64) json_object_get_int_member(line, name);
}

/* An object without a mask is not seen. */
static void add_mask(Coco *coco, JsonObject *object)
{
    JsonNode *node = json_object_get_member(object, "mask");
    Mask mask = {.frame = coco->frames->len - 1,
        .at = coco->scratch.bytes + coco->scratch.text->len};
    const gchar *counts;
    Track *track;

    if (!node || !JSON_NODE_HOLDS_OBJECT(node))
        return;
    counts = json_object_get_string_member(json_node_get_object(node), "counts");
    if (!coco_measure(counts, coco->width, coco->height, mask.box, &mask.area) || !mask.area)
        return;
    mask.bytes = strlen(counts);
    g_string_append(coco->scratch.text, counts);
    track = get_track(coco, json_object_get_int_member(object, "id"));
    g_array_append_val(track->masks, mask);
    if (json_object_has_member(object, "label")) {
        g_free(track->label);
        track->label = g_strdup(json_object_get_string_member(object, "label"));
    }
}

static gboolean add_frame(Coco *coco, JsonObject *line, GError **error)
{
    const Frame frame = {.frame = json_object_get_int_member(line, "frame"),
        .pts = get_time(line, "pts"), .running_time = get_time(line, "mask_time")};
    JsonArray *objects = json_object_get_array_member(line, "objects");
    guint i;

    coco->width = json_object_get_int_member(line, "width");
    coco->height = json_object_get_int_member(line, "height");
    g_array_append_val(coco->frames, frame);
    for (i = 0; i < json_array_get_length(objects); i++)
        add_mask(coco, json_array_get_object_element(objects, i));
    return sheet_flush(&coco->scratch, SHEET_BYTES, error);
}

static gboolean collect(Coco *coco, GArray *segments, GError **error)
{
    JsonParser *parser = json_parser_new_immutable();
    Lines *lines = lines_new(segments);
    gboolean ok = TRUE;
    const gchar *line;
    gsize bytes;

    while (ok && lines_next(lines, &line, &bytes, &ok, error))
        ok = json_parser_load_from_data(parser, line, bytes, error) &&
            add_frame(coco, json_node_get_object(json_parser_get_root(parser)), error) &&
            !g_cancellable_set_error_if_cancelled(coco->cancellable, error);
    lines_free(lines);
    g_object_unref(parser);
    return ok && sheet_flush(&coco->scratch, 0, error);
}

static void add_count(GString *text, const gchar *name, guint64 value)
{
    if (value > G_MAXINT64)
        g_string_append_printf(text, ",\"%s\":null", name);
    else
        g_string_append_printf(text, ",\"%s\":%" G_GUINT64_FORMAT, name, value);
}

static gboolean write_video(Coco *coco, GError **error)
{
    GString *text = coco->sheet->text;
    guint i;

    g_string_append_printf(text, "{\"info\":{\"description\":\"samtrack-live " SAM_VERSION "\"},"
        "\"licenses\":[],\n\"videos\":[{\"id\":1,\"width\":%d,\"height\":%d,\"length\":%u,"
        "\"file_names\":[", coco->width, coco->height, coco->frames->len);
    for (i = 0; i < coco->frames->len; i++) {
        g_string_append_printf(text, "%s\"%05" G_GUINT64_FORMAT ".jpg\"", i ? "," : "",
            g_array_index(coco->frames, Frame, i).frame);
        if (!sheet_flush(coco->sheet, SHEET_BYTES, error))
            return FALSE;
    }
    g_string_append(text, "]}],\n");
    return TRUE;
}

static gboolean write_images(Coco *coco, GError **error)
{
    GString *text = coco->sheet->text;
    guint i;

    g_string_append(text, "\"images\":[");
    for (i = 0; i < coco->frames->len; i++) {
        const Frame *frame = &g_array_index(coco->frames, Frame, i);

        g_string_append_printf(text, "%s\n{\"id\":%u,\"file_name\":\"%05" G_GUINT64_FORMAT
            ".jpg\",\"video_id\":1,\"frame_id\":%u", i ? "," : "", i + 1, frame->frame, i);
        add_count(text, "width", coco->width);
        add_count(text, "height", coco->height);
        add_count(text, "pts", frame->pts);
        add_count(text, "running_time", frame->running_time);
        g_string_append_c(text, '}');
        if (!sheet_flush(coco->sheet, SHEET_BYTES, error))
            return FALSE;
    }
    g_string_append(text, "],\n");
    return TRUE;
}

/* The number of a track's category, from 1. */
static guint get_category(Coco *coco, const Track *track)
{
    const gchar *name = g_hash_table_lookup(coco->names, &track->id);
    guint i;

    if (!name || !*name)
        name = track->label ? track->label : "object";
    for (i = 0; i < coco->categories->len; i++)
        if (!strcmp(g_ptr_array_index(coco->categories, i), name))
            return i + 1;
    g_ptr_array_add(coco->categories, (gpointer) name);
    return coco->categories->len;
}

static gboolean add_segmentation(Coco *coco, const Mask *mask, GError **error)
{
    gchar *counts = g_malloc(mask->bytes + 1);
    const gssize n = pread(coco->scratch.fd, counts, mask->bytes, mask->at);
    const gboolean ok = n == mask->bytes;

    if (ok) {
        counts[mask->bytes] = 0;
        g_string_append_printf(coco->sheet->text, "{\"size\":[%d,%d],\"counts\":", coco->height,
            coco->width);
        sheet_quote(coco->sheet->text, counts);
        g_string_append_c(coco->sheet->text, '}');
    } else {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO, "A mask cannot be read again: %s.",
            n < 0 ? g_strerror(errno) : "the file is too short");
    }
    g_free(counts);
    return ok;
}

static void add_box(Coco *coco, const Mask *mask)
{
    g_string_append_printf(coco->sheet->text, "[%d,%d,%d,%d]", mask->box[0], mask->box[1],
        mask->box[2], mask->box[3]);
}

static gboolean add_value(Coco *coco, const Mask *mask, List list, GError **error)
{
    if (list == LIST_SEGMENTATIONS)
        return add_segmentation(coco, mask, error);
    if (list == LIST_BOXES)
        add_box(coco, mask);
    else
        g_string_append_printf(coco->sheet->text, "%u", mask->area);
    return TRUE;
}

/* A value for every frame: null where the object is not seen. */
static gboolean add_list(Coco *coco, const Track *track, List list, GError **error)
{
    static const gchar *const names[] = {"segmentations", "bboxes", "areas"};
    GString *text = coco->sheet->text;
    guint frame, next = 0;

    g_string_append_printf(text, ",\"%s\":[", names[list]);
    for (frame = 0; frame < coco->frames->len; frame++) {
        const Mask *mask = next < track->masks->len ?
            &g_array_index(track->masks, Mask, next) : NULL;

        if (frame)
            g_string_append_c(text, ',');
        if (!mask || mask->frame != frame)
            g_string_append(text, "null");
        else if (!add_value(coco, mask, list, error))
            return FALSE;
        else
            next++;
        if (!sheet_flush(coco->sheet, SHEET_BYTES, error))
            return FALSE;
    }
    g_string_append_c(text, ']');
    return TRUE;
}

/* What both forms have. */
static void begin_annotation(Coco *coco, const Track *track)
{
    GString *text = coco->sheet->text;

    g_string_append_printf(text, "%s\n{\"id\":%u", coco->num_annotations ? "," : "",
        coco->num_annotations + 1);
    coco->num_annotations++;
    add_count(text, "video_id", 1);
    add_count(text, "category_id", get_category(coco, track));
    add_count(text, "iscrowd", 0);
}

static gboolean end_annotation(Coco *coco, const Mask *mask, GError **error)
{
    GString *text = coco->sheet->text;

    add_count(text, "image_id", mask->frame + 1);
    g_string_append(text, ",\"bbox\":");
    add_box(coco, mask);
    add_count(text, "area", mask->area);
    g_string_append(text, ",\"segmentation\":");
    return add_segmentation(coco, mask, error);
}

/* What plain COCO asks for besides the lists is of the first frame that shows the object. */
static gboolean write_track(Coco *coco, const Track *track, GError **error)
{
    GString *text = coco->sheet->text;

    begin_annotation(coco, track);
    add_count(text, "object_id", track->id);
    add_count(text, "width", coco->width);
    add_count(text, "height", coco->height);
    add_count(text, "length", coco->frames->len);
    if (!end_annotation(coco, &g_array_index(track->masks, Mask, 0), error) ||
        !add_list(coco, track, LIST_SEGMENTATIONS, error) ||
        !add_list(coco, track, LIST_BOXES, error) || !add_list(coco, track, LIST_AREAS, error))
        return FALSE;
    g_string_append_c(text, '}');
    return !g_cancellable_set_error_if_cancelled(coco->cancellable, error);
}

/* An annotation for each frame that shows the object. */
static gboolean write_masks(Coco *coco, const Track *track, GError **error)
{
    GString *text = coco->sheet->text;
    guint i;

    for (i = 0; i < track->masks->len; i++) {
        begin_annotation(coco, track);
        add_count(text, "track_id", track->id);
        g_string_append_printf(text, ",\"attributes\":{\"track_id\":%" G_GUINT64_FORMAT "}",
            track->id);
        if (!end_annotation(coco, &g_array_index(track->masks, Mask, i), error))
            return FALSE;
        g_string_append_c(text, '}');
        if (!sheet_flush(coco->sheet, SHEET_BYTES, error) ||
            g_cancellable_set_error_if_cancelled(coco->cancellable, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean write_all(Coco *coco, GError **error)
{
    GString *text = coco->sheet->text;
    guint i;

    if (!write_video(coco, error) || !write_images(coco, error))
        return FALSE;
    g_string_append(text, "\"annotations\":[");
    for (i = 0; i < coco->tracks->len; i++)
        if (!(coco->by_video ? write_track : write_masks)(coco, g_ptr_array_index(coco->tracks, i),
            error))
            return FALSE;
    g_string_append(text, "],\n\"categories\":[");
    for (i = 0; i < coco->categories->len; i++) {
        g_string_append_printf(text, "%s{\"id\":%u,\"name\":", i ? "," : "", i + 1);
        sheet_quote(text, g_ptr_array_index(coco->categories, i));
        g_string_append_c(text, '}');
    }
    g_string_append(text, "]}\n");
    return TRUE;
}

gboolean coco_write(Sheet *sheet, gboolean by_video, GArray *segments, GHashTable *names,
    const gchar *folder, GCancellable *cancellable, GError **error)
{
    Coco coco = {.sheet = sheet, .by_video = by_video, .names = names, .cancellable = cancellable,
        .scratch = {.fd = lines_open_file(folder), .most = sheet->most}};
    gboolean ok;

    if (coco.scratch.fd < 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "No file can be created: %s.", g_strerror(errno));
        return FALSE;
    }
    coco.scratch.text = g_string_new(NULL);
    coco.frames = g_array_new(FALSE, FALSE, sizeof(Frame));
    coco.tracks = g_ptr_array_new_with_free_func(free_track);
    coco.by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
    coco.categories = g_ptr_array_new();
    ok = collect(&coco, segments, error) && write_all(&coco, error);
    close(coco.scratch.fd);
    g_string_free(coco.scratch.text, TRUE);
    g_array_unref(coco.frames);
    g_hash_table_unref(coco.by_id);
    g_ptr_array_unref(coco.tracks);
    g_ptr_array_unref(coco.categories);
    return ok;
}
