/* SPDX-License-Identifier: MIT */
/* Frames as labels of YOLO's segmentation: a text per frame with a line for
 * each mask, and a file that names the classes. */

#include "gstsamfolder.h"
#include "gstsamformat.h"
#include "gstsamjson.h"
#include "gstsamlock.h"
#include "gstsampolygon.h"

typedef struct
{
  GstSamFormat parent;
  GstSamTally *tally;
  gchar *folder;
  gchar *labels;                /* the folder of the texts */
  GstSamLock lock;
  GstSamCoder coder;
  GPtrArray *names;             /* of classes, in the order of their numbers */
  GString *text;
} YoloFormat;

/* Texts of YAML may be those of JSON. */
static gboolean
write_names (YoloFormat * self, GError ** error)
{
  GString *text = g_string_new ("train: images/train\nval: images/train\n");
  gboolean ok;
  guint i;

  g_string_append (text, self->names->len ? "names:\n" : "names: {}\n");
  for (i = 0; i < self->names->len; i++) {
    g_string_append_printf (text, "  %u: ", i);
    gst_sam_json_append_text (text, g_ptr_array_index (self->names, i));
    g_string_append_c (text, '\n');
  }
  ok = gst_sam_folder_write (self->folder, "data.yaml", text->str, text->len,
      error);
  g_string_free (text, TRUE);
  return ok;
}

/* The number of a class, by order of appearance. One that the file does not
 * name is told as a fault of its own: the frames are there. */
static guint
get_class (YoloFormat * self, const gchar * label)
{
  const gchar *name = *label ? label : "object";
  GError *error = NULL;
  guint i;

  if (g_ptr_array_find_with_equal_func (self->names, name, g_str_equal, &i))
    return i;
  g_ptr_array_add (self->names, g_strdup (name));
  if (!write_names (self, &error))
    gst_sam_tally_add_lost (self->tally, 0, error);
  g_clear_error (&error);
  return self->names->len - 1;
}

static void
add_line (YoloFormat * self, const GstSamRecord * record, guint i)
{
  const GstSamObject *object = &record->report.object[i];
  const gsize before = self->text->len;

  if (!gst_sam_coder_get_region (&self->coder, object))
    return;
  g_string_append_printf (self->text, "%u", get_class (self,
          record->label[i]));
  if (gst_sam_polygon_append (self->text,
          gst_sam_coder_get_counts (&self->coder, object), self->coder.width,
          self->coder.height))
    g_string_append_c (self->text, '\n');
  else
    g_string_truncate (self->text, before);
}

static gboolean
yolo_write (GstSamFormat * format, const GstSamRecord * record, GError ** error)
{
  YoloFormat *self = (YoloFormat *) format;
  gchar *name;
  gboolean ok;
  guint i;

  if (!gst_sam_coder_begin (&self->coder, record, error))
    return FALSE;
  g_string_truncate (self->text, 0);
  for (i = 0; i < record->report.num_objects; i++)
    add_line (self, record, i);
  gst_sam_coder_end (&self->coder);
  name = g_strdup_printf ("%05" G_GUINT64_FORMAT ".txt", record->frame);
  ok = gst_sam_folder_write (self->labels, name, self->text->str,
      self->text->len, error);
  if (ok)
    gst_sam_tally_add_written (self->tally, 1, self->text->len);
  g_free (name);
  return ok;
}

static void
yolo_free (GstSamFormat * format)
{
  YoloFormat *self = (YoloFormat *) format;

  gst_sam_lock_release (&self->lock);
  gst_sam_coder_clear (&self->coder);
  g_ptr_array_unref (self->names);
  g_string_free (self->text, TRUE);
  g_free (self->labels);
  g_free (self->folder);
  g_free (self);
}

/* Where pictures may be already. */
static gboolean
open_folders (const gchar * location, const gchar * labels, GError ** error)
{
  gchar *above = g_path_get_dirname (labels);
  const gboolean ok = gst_sam_folder_open (location, error) &&
      gst_sam_folder_open (above, error) && gst_sam_folder_open (labels, error)
      && gst_sam_folder_check_unused (labels, ".txt", "labels", error);

  g_free (above);
  return ok;
}

GstSamFormat *
gst_sam_format_new_yolo (const gchar * location, GstSamExportMaskSize size,
    GstSamTally * tally, GError ** error)
{
  gchar *labels = g_build_filename (location, "labels", "train", NULL);
  GstSamLock lock;
  YoloFormat *self;

  gst_sam_lock_init (&lock);
  if (!open_folders (location, labels, error) ||
      !gst_sam_lock_take_folder (&lock, location, error)) {
    g_free (labels);
    return NULL;
  }
  self = g_new0 (YoloFormat, 1);
  self->parent.write = yolo_write;
  self->parent.free = yolo_free;
  self->tally = tally;
  self->lock = lock;
  self->folder = g_strdup (location);
  self->labels = labels;
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->text = g_string_new (NULL);
  gst_sam_coder_init (&self->coder, size);
  if (write_names (self, error))
    return &self->parent;
  yolo_free (&self->parent);
  return NULL;
}
