/* SPDX-License-Identifier: MIT */
/* Where Pango is missing: texts are written in the built-in font. */

#include "gstsamletters.h"

GstSamLetters *
gst_sam_letters_new (void)
{
  return NULL;
}

void
gst_sam_letters_free (GstSamLetters * self)
{
}

const GstSamWriting *
gst_sam_letters_write (GstSamLetters * self, const gchar * text, gint height)
{
  return NULL;
}

GstSamWriting *
gst_sam_letters_write_block (GstSamLetters * self, const gchar * text,
    gint size, gint width, gint height)
{
  return NULL;
}

void
gst_sam_writing_free (GstSamWriting * writing)
{
}
