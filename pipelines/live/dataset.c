/* SPDX-License-Identifier: MIT */
#include "dataset.h"

#include "album.h"

#include "record/gstsamjson.h"
#include "record/gstsampolygon.h"

#include <string.h>

#define NAMELESS "object" /* as in COCO's file */

gchar *dataset_load_picture(const Dataset *set, const Run *run, const GstSamRecord *record,
    gsize *bytes)
{
    gchar *file = album_name_picture(run->id, record->report.running_time);
    gchar *path = g_build_filename(set->pictures, file, NULL), *jpeg = NULL;

    if (g_file_get_contents(path, &jpeg, bytes, NULL) && !*bytes)
        g_clear_pointer(&jpeg, g_free);
    g_free(path);
    g_free(file);
    return jpeg;
}

gboolean dataset_add_picture(Dataset *set, const Run *run, const GstSamRecord *record,
    GError **error)
{
    gsize bytes;
    gchar *jpeg = dataset_load_picture(set, run, record, &bytes), *name;
    gboolean ok;

    if (!jpeg)
        return FALSE;
    name = g_strdup_printf("%s/%05" G_GUINT64_FORMAT ".jpg", set->inside, record->frame);
    ok = zip_add(set->zip, name, jpeg, bytes, error);
    g_free(name);
    g_free(jpeg);
    return ok;
}

/* The number of a class; one that is new is the next. */
static guint find_class(GPtrArray *classes, const gchar *name)
{
    guint i;

    if (g_ptr_array_find_with_equal_func(classes, name, g_str_equal, &i))
        return i;
    g_ptr_array_add(classes, g_strdup(name));
    return classes->len - 1;
}

const gchar *dataset_get_class(const Run *run, const GstSamRecord *record, guint i)
{
    const gchar *name = g_hash_table_lookup(run->names, &record->report.object[i].id);

    return name && *name ? name : *record->label[i] ? record->label[i] : NAMELESS;
}

static void add_labels(GString *text, const Run *run, const GstSamRecord *record,
    GstSamCoder *coder, GPtrArray *classes)
{
    guint i;

    for (i = 0; i < record->report.num_objects; i++) {
        const GstSamObject *object = &record->report.object[i];
        const gsize before = text->len;

        if (!gst_sam_coder_get_region(coder, object))
            continue;
        g_string_append_printf(text, "%u",
            find_class(classes, dataset_get_class(run, record, i)));
        if (gst_sam_polygon_append(text, gst_sam_coder_get_counts(coder, object), coder->width,
            coder->height))
            g_string_append_c(text, '\n');
        else
            g_string_truncate(text, before);
    }
}

/* Texts of YAML may be those of JSON. */
static gboolean write_classes(Dataset *set, const GPtrArray *classes, GError **error)
{
    GString *text = g_string_new("train: images/train\nval: images/train\nnames:\n");
    gboolean ok;
    guint i;

    for (i = 0; i < classes->len; i++) {
        g_string_append_printf(text, "  %u: ", i);
        gst_sam_json_append_text(text, g_ptr_array_index(classes, i));
        g_string_append_c(text, '\n');
    }
    ok = zip_add(set->zip, "data.yaml", text->str, text->len, error);
    g_string_free(text, TRUE);
    return ok;
}

gboolean dataset_write_yolo(Dataset *set, Frames *frames, const GPtrArray *runs, GError **error)
{
    GPtrArray *classes = g_ptr_array_new_with_free_func(g_free);
    GString *text = g_string_new(NULL);
    GError *why = NULL;
    GstSamRecord *record;
    GstSamCoder *coder;
    gchar *name;

    while (!why && (record = frames_next(frames, &coder, &why))) {
        const Run *run = g_ptr_array_index(runs, frames_get_run(frames));

        if (!dataset_add_picture(set, run, record, &why))
            continue;
        g_string_truncate(text, 0);
        add_labels(text, run, record, coder, classes);
        name = g_strdup_printf("labels/train/%05" G_GUINT64_FORMAT ".txt", record->frame);
        zip_add(set->zip, name, text->str, text->len, &why);
        g_free(name);
    }
    if (!why)
        write_classes(set, classes, &why);
    g_string_free(text, TRUE);
    g_ptr_array_unref(classes);
    if (why)
        g_propagate_error(error, why);
    return !why;
}
