/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syncfs */
#include "davis.h"

#include "fault.h"
#include "folder.h"
#include "lines.h"
#include "record/gstsamformat.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* Of the palette: 0 is none. */
#define MOST_OBJECTS 255

struct Masks {
    gchar *folder;
    GstSamFormat *format;
    GHashTable *ids;
    guint64 frames;
};

Masks *masks_open(const gchar *folder, GstSamTally *tally, GError **error)
{
    Masks *masks = g_new0(Masks, 1);

    masks->folder = g_build_filename(folder, "masks", NULL);
    masks->ids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    masks->format = gst_sam_format_new_davis(masks->folder, GST_SAM_EXPORT_MASK_SIZE_OWN, tally,
        error);
    if (masks->format)
        return masks;
    masks_drop(masks);
    return NULL;
}

void masks_drop(Masks *masks)
{
    if (!masks)
        return;
    if (masks->format)
        masks->format->free(masks->format);
    g_hash_table_unref(masks->ids);
    g_free(masks->folder);
    g_free(masks);
}

static gboolean paint(GstSamReport *report, const GstSamCoder *coder, guint8 *labels)
{
    guint i;

    for (i = 0; i < report->num_objects; i++) {
        const guint slot = report->object[i].slot;

        if (gst_sam_coder_get_region(coder, &report->object[i]) &&
            !lines_paint(coder->packed[slot], coder->width, coder->height, slot, labels))
            return FALSE;
    }
    return TRUE;
}

gboolean masks_add(Masks *masks, GstSamRecord *record, const GstSamCoder *coder, GError **error)
{
    GstSamReport *report = &record->report;
    gsize bytes;
    guint8 *labels;
    gboolean ok;
    guint i;

    for (i = 0; i < report->num_objects; i++)
        g_hash_table_add(masks->ids, g_memdup2(&report->object[i].id, sizeof(guint64)));
    if (g_hash_table_size(masks->ids) > MOST_OBJECTS)
        return fault_set(error, FAULT_PERMANENT, "there are more than %d objects: the palette of "
            "DAVIS has no colours for others", MOST_OBJECTS);
    report->width = report->mask_width = coder->masked ? coder->width : record->width;
    report->height = report->mask_height = coder->masked ? coder->height : record->height;
    bytes = (gsize) report->width * report->height;
    labels = g_malloc0(bytes);
    ok = !coder->masked || paint(report, coder, labels);
    report->mask = gst_buffer_new_wrapped(labels, bytes);
    if (ok)
        ok = masks->format->write(masks->format, record, error);
    else
        fault_set(error, FAULT_DAMAGED, "the masks of frame %" G_GUINT64_FORMAT " are damaged",
            record->frame);
    gst_sam_record_clear(record);
    masks->frames += ok;
    return ok;
}

static gchar *get_path(const Masks *masks, guint64 frame)
{
    return g_strdup_printf("%s/%05" G_GUINT64_FORMAT ".png", masks->folder, frame);
}

gchar *masks_take(Masks *masks, gsize *bytes, GError **error)
{
    gchar *path = get_path(masks, masks->frames - 1), *data = NULL;

    if (!g_file_get_contents(path, &data, bytes, NULL))
        fault_set(error, FAULT_TRANSIENT, "'%s' cannot be read", path);
    g_unlink(path);
    g_free(path);
    return data;
}

void masks_remove(Masks *masks)
{
    gchar *folder = g_strdup(masks->folder);

    masks_drop(masks);
    folder_remove(folder);
    g_free(folder);
}

/* Thousands of files are brought to the disk by one call. */
static gboolean sync_all(const Masks *masks, GError **error)
{
    const int fd = open(masks->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const gboolean ok = fd >= 0 && !syncfs(fd);

    if (!ok)
        fault_set(error, FAULT_TRANSIENT, "'%s' cannot be written: %s", masks->folder,
            g_strerror(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

gboolean masks_close(Masks *masks, gchar **hash, GError **error)
{
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    gboolean ok = sync_all(masks, error);
    guint64 n;

    for (n = 0; ok && n < masks->frames; n++) {
        gchar *path = get_path(masks, n);
        gchar *data = NULL;
        gsize bytes;

        ok = g_file_get_contents(path, &data, &bytes, NULL);
        if (ok)
            g_checksum_update(sum, (const guchar *) data, bytes);
        else
            fault_set(error, FAULT_TRANSIENT, "'%s' cannot be read", path);
        g_free(data);
        g_free(path);
    }
    if (ok)
        *hash = g_strdup(g_checksum_get_string(sum));
    g_checksum_free(sum);
    masks_drop(masks);
    return ok;
}
