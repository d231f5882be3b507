/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_LETTERS_H__
#define __GST_SAM_LETTERS_H__

#include <glib.h>

G_BEGIN_DECLS

/**
 * GstSamLetters:
 *
 * Writes texts in any script, with Pango. Texts are kept: those of a frame are
 * mostly those of the frame before.
 */
typedef struct _GstSamLetters GstSamLetters;

/* A text as shades of its ink: a byte per pixel, rows of whole words, as in a
 * patch with SAM_PATCH_SHADES. */
typedef struct
{
  gint width, height;           /* px */
  guint32 *shades;
} GstSamWriting;

/* Returns NULL if the plugin was built without Pango, or there is no font. */
GstSamLetters *gst_sam_letters_new (void);
void gst_sam_letters_free (GstSamLetters * self);

/* A text of one line, @height px high with its margins; the end of one that is
 * more than 24 times as wide is left out. It is valid until the next call.
 * Returns NULL if memory runs out. */
const GstSamWriting *gst_sam_letters_write (GstSamLetters * self,
    const gchar * text, gint height);

/* A text of several lines in letters of that size, wrapped at @width px, at
 * most @height px high: what is beyond that is left out. Columns of lines are
 * divided by tabs. It has no margins. Free it with gst_sam_writing_free().
 * Returns NULL if memory runs out. */
GstSamWriting *gst_sam_letters_write_block (GstSamLetters * self,
    const gchar * text, gint size, gint width, gint height);
void gst_sam_writing_free (GstSamWriting * writing);

G_END_DECLS

#endif /* __GST_SAM_LETTERS_H__ */
