/* Frames as text of the MOT challenge: a line per object with a box. */

#include "gstsamformat.h"

#include <math.h>

typedef struct
{
  GstSamFormat parent;
  GstSamTally *tally;
  GString *lines;
} MotFormat;

static void
add_line (MotFormat * self, guint64 frame, const GstSamObject * object)
{
  gchar score[G_ASCII_DTOSTR_BUF_SIZE];

  /* not the decimal point of the locale */
  g_ascii_formatd (score, sizeof score, "%.4f",
      isfinite (object->score) ? object->score : 0);
  g_string_append_printf (self->lines, "%" G_GUINT64_FORMAT ",%"
      G_GUINT64_FORMAT ",%d,%d,%d,%d,%s,-1,-1,-1\n", frame + 1, object->id,
      object->x, object->y, object->w, object->h, score);
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
      add_line (self, record->frame, object);
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
  g_free (self);
}

GstSamFormat *
gst_sam_format_new_mot (GstSamOutput * output, GstSamTally * tally)
{
  MotFormat *self = g_new0 (MotFormat, 1);

  self->parent.write = mot_write;
  self->parent.free = mot_free;
  self->parent.output = output;
  self->tally = tally;
  self->lines = g_string_new (NULL);
  return &self->parent;
}
