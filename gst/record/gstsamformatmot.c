/* SPDX-License-Identifier: MIT */
/* Frames as text of the MOT challenge: a line per object with a box. Classes
 * are numbers there; their names go into a file beside it. */

#include "gstsamformat.h"

#include <math.h>
#include <string.h>

typedef struct
{
  GstSamFormat parent;
  GstSamTally *tally;
  GString *lines;
  GPtrArray *names;             /* of classes, in the order of their numbers */
  gchar *names_file;            /* (nullable) */
} MotFormat;

/* A name on a line of its own. */
static gchar *
make_name (const gchar * label)
{
  gchar *name = g_utf8_make_valid (*label ? label : "object", -1);
  gchar *at;

  for (at = name; *at; at = g_utf8_next_char (at)) {
    const gunichar c = g_utf8_get_char (at);

    if (g_unichar_iscntrl (c) || c == 0x2028 || c == 0x2029)
      memset (at, ' ', g_utf8_skip[*(guchar *) at]);
  }
  g_strstrip (name);
  if (!*name) {
    g_free (name);
    name = g_strdup ("object");
  }
  return name;
}

/* A class of which the file does not tell is told as a fault of its own: the
 * frames are there. */
static void
write_names (MotFormat * self)
{
  GString *text = g_string_new (NULL);
  GError *why = NULL, *error = NULL;
  guint i;

  for (i = 0; i < self->names->len; i++)
    g_string_append_printf (text, "%s\n",
        (gchar *) g_ptr_array_index (self->names, i));
  if (!g_file_set_contents_full (self->names_file, text->str, text->len,
          G_FILE_SET_CONTENTS_CONSISTENT, 0666, &why)) {
    g_set_error (&error, GST_RESOURCE_ERROR, why->code == G_FILE_ERROR_NOSPC ?
        GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE,
        "Cannot write the names of classes to '%s': %s.", self->names_file,
        why->message);
    gst_sam_tally_add_lost (self->tally, 0, error);
    g_error_free (error);
    g_error_free (why);
  }
  g_string_free (text, TRUE);
}

/* The number of a class, from 1 on, by order of appearance. */
static guint
get_class (MotFormat * self, const gchar * label)
{
  gchar *name = make_name (label);
  guint i;

  for (i = 0; i < self->names->len; i++) {
    if (g_str_equal (g_ptr_array_index (self->names, i), name)) {
      g_free (name);
      return i + 1;
    }
  }
  g_ptr_array_add (self->names, name);
  if (self->names_file)
    write_names (self);
  return self->names->len;
}

/* What has a box is seen: its visibility is 1. A confidence of 0 would say that
 * the line is to be ignored. */
static void
add_line (MotFormat * self, const GstSamRecord * record, guint i)
{
  const GstSamObject *object = &record->report.object[i];
  gchar score[G_ASCII_DTOSTR_BUF_SIZE];

  /* not the decimal point of the locale */
  g_ascii_formatd (score, sizeof score, "%.4f",
      isfinite (object->score) ? object->score : 1);
  g_string_append_printf (self->lines, "%" G_GUINT64_FORMAT ",%"
      G_GUINT64_FORMAT ",%d,%d,%d,%d,%s,%u,1\n", record->frame + 1, object->id,
      object->x, object->y, object->w, object->h, score, get_class (self,
          record->label[i]));
}

static gboolean
mot_write (GstSamFormat * format, const GstSamRecord * record, GError ** error)
{
  MotFormat *self = (MotFormat *) format;
  guint i;

  g_string_truncate (self->lines, 0);
  for (i = 0; i < record->report.num_objects; i++) {
    const GstSamObject *object = &record->report.object[i];

    if (object->w > 0 && object->h > 0)
      add_line (self, record, i);
  }
  if (!self->lines->len) {
    gst_sam_tally_add_written (self->tally, 1, 0);
    return TRUE;
  }
  return format->output->write (format->output, self->lines->str,
      self->lines->len, error);
}

static void
mot_free (GstSamFormat * format)
{
  MotFormat *self = (MotFormat *) format;

  format->output->free (format->output);
  g_string_free (self->lines, TRUE);
  g_ptr_array_unref (self->names);
  g_free (self->names_file);
  g_free (self);
}

/* gt/gt.txt has gt/labels.txt, as its readers expect; any other a.txt has
 * a.labels.txt: what is beside it may be somebody else's. */
static gchar *
get_names_file (const gchar * location, gboolean will_be_file)
{
  gchar *folder, *base, *name, *path;

  if (!strcmp (location, "-") || (!will_be_file &&
          !g_file_test (location, G_FILE_TEST_IS_REGULAR)))
    return NULL;
  folder = g_path_get_dirname (location);
  base = g_path_get_basename (location);
  if (g_str_has_suffix (base, ".txt"))
    base[strlen (base) - strlen (".txt")] = 0;
  name = g_str_equal (base, "gt") ? g_strdup ("labels.txt") :
      g_strconcat (base, ".labels.txt", NULL);
  path = g_build_filename (folder, name, NULL);
  g_free (folder);
  g_free (base);
  g_free (name);
  return path;
}

GstSamFormat *
gst_sam_format_new_mot (GstSamOutput * output, const gchar * location,
    gboolean will_be_file, GstSamTally * tally)
{
  MotFormat *self = g_new0 (MotFormat, 1);

  self->parent.write = mot_write;
  self->parent.free = mot_free;
  self->parent.output = output;
  self->tally = tally;
  self->lines = g_string_new (NULL);
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->names_file = get_names_file (location, will_be_file);
  return &self->parent;
}
