/* SPDX-License-Identifier: MIT */
/* Frames as lines of JSON. */

#include "gstsamformat.h"
#include "gstsamline.h"

typedef struct
{
  GstSamFormat parent;
  GstSamCoder coder;
  GString *line;
  gchar *run;
  GstSamLineParams params;
} JsonFormat;

static gboolean
json_write (GstSamFormat * format, const GstSamRecord * record, GError ** error)
{
  JsonFormat *self = (JsonFormat *) format;

  if (!gst_sam_coder_begin (&self->coder, record, error))
    return FALSE;
  g_string_truncate (self->line, 0);
  gst_sam_line_append (self->line, record, &self->coder, &self->params);
  gst_sam_coder_end (&self->coder);
  return format->output->write (format->output, self->line->str,
      self->line->len, error);
}

static void
json_free (GstSamFormat * format)
{
  JsonFormat *self = (JsonFormat *) format;

  format->output->free (format->output);
  gst_sam_coder_clear (&self->coder);
  g_string_free (self->line, TRUE);
  g_free (self->run);
  g_free (self);
}

GstSamFormat *
gst_sam_format_new_json (GstSamOutput * output, GstSamExportMaskSize size,
    const gchar * run, gboolean steady)
{
  JsonFormat *self = g_new0 (JsonFormat, 1);

  self->parent.write = json_write;
  self->parent.free = json_free;
  self->parent.output = output;
  gst_sam_coder_init (&self->coder, size);
  self->line = g_string_new (NULL);
  self->run = g_strdup (run);
  self->params.run = self->run;
  self->params.steady = steady;
  return &self->parent;
}
