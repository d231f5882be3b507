/* SPDX-License-Identifier: MIT */
/* Frames as PNGs with a palette, as the DAVIS data set has them: 00000.png and
 * so on, 0 where nothing is. */

#include "gstsamformat.h"
#include "gstsamlock.h"
#include "gstsamindexed.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

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
  GError *why = NULL;
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
  name = g_strdup_printf ("%s/%05" G_GUINT64_FORMAT ".png", self->folder,
      record->frame);
  ok = g_file_set_contents_full (name, (const gchar *) self->data->data,
      self->data->len, G_FILE_SET_CONTENTS_CONSISTENT, 0666, &why);
  if (!ok)
    g_set_error (error, GST_RESOURCE_ERROR, why->code == G_FILE_ERROR_NOSPC ?
        GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE,
        "Cannot write '%s': %s.", name, why->message);
  else
    gst_sam_tally_add_written (self->tally, 1, self->data->len);
  g_free (name);
  g_clear_error (&why);
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

/* Whether the folder has PNGs: those of another run would stay where this one
 * has fewer frames, and nothing would tell them apart. */
static gboolean
check_unused (const gchar * location, GError ** error)
{
  GDir *dir = g_dir_open (location, 0, error);
  const gchar *name;

  if (!dir)
    return FALSE;
  while ((name = g_dir_read_name (dir))) {
    if (g_str_has_suffix (name, ".png"))
      break;
  }
  if (name)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
        "The folder '%s' has PNGs, such as '%s', which would be mixed with "
        "those of this run: expected is a new or an empty folder.", location,
        name);
  g_dir_close (dir);
  return !name;
}

static gboolean
open_folder (const gchar * location, GError ** error)
{
  int number = 0;

  if (g_mkdir (location, 0777))
    number = errno == EEXIST && g_file_test (location, G_FILE_TEST_IS_DIR) ? 0 :
        errno;
  if (!number && g_access (location, W_OK | X_OK))
    number = errno;
  if (number) {
    g_set_error (error, GST_RESOURCE_ERROR, number == ENOENT ?
        GST_RESOURCE_ERROR_NOT_FOUND : GST_RESOURCE_ERROR_OPEN_WRITE,
        "The folder '%s' cannot be written to: %s.", location,
        number == EEXIST ? "it is not a folder" : g_strerror (number));
    return FALSE;
  }
  return check_unused (location, error);
}

GstSamFormat *
gst_sam_format_new_davis (const gchar * location, GstSamExportMaskSize size,
    GstSamTally * tally, GError ** error)
{
  GstSamLock lock;
  DavisFormat *self;

  gst_sam_lock_init (&lock);
  if (!open_folder (location, error) ||
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
