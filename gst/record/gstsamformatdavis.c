/* SPDX-License-Identifier: MIT */
/* Frames as PNGs with a palette, as the DAVIS data set has them: 00000.png and
 * so on, 0 where nothing is. */

#include "gstsamfolder.h"
#include "gstsamformat.h"
#include "gstsamlock.h"
#include "gstsamindexed.h"

#include <string.h>

typedef struct
{
  GstSamFormat parent;
  GstSamTally *tally;
  gchar *folder;
  GstSamLock lock;
  GstSamCoder coder;
  GHashTable *indices;          /* of palette indices, by the object's id */
  gboolean full;                /* all 255 are given */

  /* the picture that is written */
  guint8 lut[256];              /* index by slot */
  gint width, height;
  GByteArray *data;
} DavisFormat;

static guint8
get_index (DavisFormat * self, guint64 id)
{
  guint index = GPOINTER_TO_UINT (g_hash_table_lookup (self->indices, &id));

  if (index)
    return index;
  index = g_hash_table_size (self->indices) + 1;
  if (index < 256) {
    g_hash_table_insert (self->indices, g_memdup2 (&id, sizeof id),
        GUINT_TO_POINTER (index));
    return index;
  }
  if (!self->full)
    GST_ELEMENT_WARNING (self->tally->element, RESOURCE, NO_SPACE_LEFT,
        ("The palette has 255 colours, which have been given to objects: object"
            " %" G_GUINT64_FORMAT " and later ones are left out of the PNGs.",
            id), (NULL));
  self->full = TRUE;
  return 0;
}

/* Whatever the label map shows: indices go by order of appearance. */
static void
fill_lut (DavisFormat * self, const GstSamReport * report)
{
  guint i;

  memset (self->lut, 0, sizeof self->lut);
  for (i = 0; i < report->num_objects; i++) {
    const GstSamObject *object = &report->object[i];

    if (gst_sam_coder_get_region (&self->coder, object))
      self->lut[object->slot] = get_index (self, object->id);
  }
}

static gboolean
write_picture (DavisFormat * self, const GstSamRecord * record, GError ** error)
{
  gboolean ok;
  gchar *name;

  self->width = self->coder.labels ? self->coder.width : record->width;
  self->height = self->coder.labels ? self->coder.height : record->height;
  if (self->width < 1 || self->height < 1 || self->width > SAM_MAX_SIDE ||
      self->height > SAM_MAX_SIDE) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED,
        "A frame of %d x %d pixels cannot be written as a PNG, expected 1 to %d"
        " a side.", self->width, self->height, SAM_MAX_SIDE);
    return FALSE;
  }
  fill_lut (self, &record->report);
  g_byte_array_set_size (self->data, 0);
  if (!gst_sam_indexed_encode (self->data, self->coder.labels, self->lut,
          self->width, self->height, error))
    return FALSE;
  name = g_strdup_printf ("%05" G_GUINT64_FORMAT ".png", record->frame);
  ok = gst_sam_folder_write (self->folder, name, self->data->data,
      self->data->len, error);
  if (ok)
    gst_sam_tally_add_written (self->tally, 1, self->data->len);
  g_free (name);
  return ok;
}

static gboolean
davis_write (GstSamFormat * format, const GstSamRecord * record,
    GError ** error)
{
  DavisFormat *self = (DavisFormat *) format;
  gboolean ok;

  if (!gst_sam_coder_begin (&self->coder, record, error))
    return FALSE;
  ok = write_picture (self, record, error);
  gst_sam_coder_end (&self->coder);
  return ok;
}

static void
davis_free (GstSamFormat * format)
{
  DavisFormat *self = (DavisFormat *) format;

  gst_sam_lock_release (&self->lock);
  gst_sam_coder_clear (&self->coder);
  g_hash_table_unref (self->indices);
  g_byte_array_unref (self->data);
  g_free (self->folder);
  g_free (self);
}

GstSamFormat *
gst_sam_format_new_davis (const gchar * location, GstSamExportMaskSize size,
    GstSamTally * tally, GError ** error)
{
  GstSamLock lock;
  DavisFormat *self;

  gst_sam_lock_init (&lock);
  if (!gst_sam_folder_open (location, error) ||
      !gst_sam_folder_check_unused (location, ".png", "PNGs", error) ||
      !gst_sam_lock_take_folder (&lock, location, error))
    return NULL;
  self = g_new0 (DavisFormat, 1);
  self->parent.write = davis_write;
  self->parent.free = davis_free;
  self->tally = tally;
  self->lock = lock;
  self->folder = g_strdup (location);
  self->indices = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free,
      NULL);
  self->data = g_byte_array_new ();
  gst_sam_coder_init (&self->coder, size);
  return &self->parent;
}
