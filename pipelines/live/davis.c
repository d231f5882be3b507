/* SPDX-License-Identifier: MIT */
#include "davis.h"

#include "record/gstsamjson.h"
#include "record/gstsamindexed.h"

#include <string.h>

#define MOST_OBJECTS 255 /* colours of a palette, without that of what is no object */

typedef struct {
    Dataset *set;
    GString *videos, *objects; /* the files ImageSets/2017/train.txt and objects.json */
    GByteArray *labels, *png;  /* of a frame */

    /* The video that is written. */
    gchar *name;         /* NULL: none is */
    guint run, part;     /* index of its run; 0, or the number of its part of it */
    guint64 num;         /* frames so far */
    GHashTable *indices; /* of the palette, by the object's id */
} Davis;

/* @num: objects that come into the video. */
static gboolean has_room(const Davis *d, guint run, guint num)
{
    return d->name && run == d->run && g_hash_table_size(d->indices) + num <= MOST_OBJECTS;
}

static void begin_video(Davis *d, guint run)
{
    d->part = d->name && run == d->run ? d->part + 1 : 0;
    d->run = run;
    d->num = 0;
    g_hash_table_remove_all(d->indices);
    g_string_append(d->objects, d->name ? "},\n" : "");
    g_free(d->name);
    d->name = d->part ? g_strdup_printf("run%u-%u", run + 1, d->part + 1) :
        g_strdup_printf("run%u", run + 1);
    g_string_append_printf(d->videos, "%s\n", d->name);
    g_string_append_printf(d->objects, "\"%s\": {", d->name);
}

static guint count_new(const Davis *d, const GstSamRecord *record, GstSamCoder *coder)
{
    guint i, num = 0;

    for (i = 0; i < record->report.num_objects; i++) {
        const GstSamObject *object = &record->report.object[i];

        num += gst_sam_coder_get_region(coder, object) &&
            !g_hash_table_contains(d->indices, &object->id);
    }
    return num;
}

/* Indices go by order of appearance. */
static guint8 get_index(Davis *d, guint64 id, const gchar *class)
{
    guint index = GPOINTER_TO_UINT(g_hash_table_lookup(d->indices, &id));

    if (index)
        return (guint8) index;
    index = g_hash_table_size(d->indices) + 1;
    g_hash_table_insert(d->indices, g_memdup2(&id, sizeof id), GUINT_TO_POINTER(index));
    g_string_append_printf(d->objects, "%s\"%u\": ", index > 1 ? ", " : "", index);
    gst_sam_json_append_text(d->objects, class);
    return (guint8) index;
}

static void paint(Davis *d, const Run *run, const GstSamRecord *record, GstSamCoder *coder,
    gint width, gint height)
{
    guint i;

    g_byte_array_set_size(d->labels, (guint) width * (guint) height);
    memset(d->labels->data, 0, d->labels->len);
    for (i = 0; i < record->report.num_objects; i++) {
        const GstSamObject *object = &record->report.object[i];

        if (gst_sam_coder_get_region(coder, object))
            gst_sam_rle_paint(gst_sam_coder_get_counts(coder, object), d->labels->data,
                (gsize) width, width, height,
                get_index(d, object->id, dataset_get_class(run, record, i)));
    }
}

static gboolean add_file(Davis *d, const gchar *folder, const gchar *end, gconstpointer data,
    gsize bytes, GError **error)
{
    gchar *name = g_strdup_printf("%s/480p/%s/%05" G_GUINT64_FORMAT "%s", folder, d->name, d->num,
        end);
    const gboolean ok = zip_add(d->set->zip, name, data, bytes, error);

    g_free(name);
    return ok;
}

static gboolean add_masks(Davis *d, const Run *run, const GstSamRecord *record,
    GstSamCoder *coder, GError **error)
{
    const gint width = coder->masked ? coder->width : record->report.width;
    const gint height = coder->masked ? coder->height : record->report.height;
    guint8 same[256];
    guint i;

    for (i = 0; i < 256; i++)
        same[i] = (guint8) i;
    paint(d, run, record, coder, width, height);
    g_byte_array_set_size(d->png, 0);
    return gst_sam_indexed_encode(d->png, d->labels->data, same, width, height, error) &&
        add_file(d, "Annotations", ".png", d->png->data, d->png->len, error);
}

/* Frames without a picture are left out; the others are counted in each video from 0 on. */
static void add_frame(Davis *d, const Run *run, guint number, const GstSamRecord *record,
    GstSamCoder *coder, GError **error)
{
    gsize bytes;
    gchar *jpeg = dataset_load_picture(d->set, run, record, &bytes);

    if (!jpeg)
        return;
    if (!has_room(d, number, count_new(d, record, coder)))
        begin_video(d, number);
    if (add_file(d, "JPEGImages", ".jpg", jpeg, bytes, error) &&
        add_masks(d, run, record, coder, error))
        d->num++;
    g_free(jpeg);
}

static gboolean end_set(Davis *d, GError **error)
{
    g_string_prepend(d->objects, "{");
    g_string_append(d->objects, d->name ? "}}\n" : "}\n");
    return zip_add(d->set->zip, "ImageSets/2017/train.txt", d->videos->str, d->videos->len,
        error) &&
        zip_add(d->set->zip, "objects.json", d->objects->str, d->objects->len, error);
}

gboolean davis_write(Dataset *set, Frames *frames, const GPtrArray *runs, GError **error)
{
    Davis d = {.set = set, .videos = g_string_new(NULL), .objects = g_string_new(NULL),
        .labels = g_byte_array_new(), .png = g_byte_array_new(),
        .indices = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL)};
    GError *why = NULL;
    GstSamRecord *record;
    GstSamCoder *coder;

    while (!why && (record = frames_next(frames, &coder, &why))) {
        const guint run = frames_get_run(frames);

        add_frame(&d, g_ptr_array_index(runs, run), run, record, coder, &why);
    }
    if (!why)
        end_set(&d, &why);
    g_string_free(d.videos, TRUE);
    g_string_free(d.objects, TRUE);
    g_byte_array_unref(d.labels);
    g_byte_array_unref(d.png);
    g_hash_table_unref(d.indices);
    g_free(d.name);
    if (why)
        g_propagate_error(error, why);
    return !why;
}
