/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PNG_ERROR_H__
#define __GST_SAM_PNG_ERROR_H__

#include <glib.h>
#include <png.h>

G_BEGIN_DECLS

/* What libpng says of an error: the error pointer of readers and writers. */
typedef struct
{
  gchar text[200];
} GstSamPngError;

/* For png_create_read_struct() and png_create_write_struct(): back to where
 * setjmp() was called. */
static inline void
gst_sam_png_on_error (png_structp png, png_const_charp text)
{
  GstSamPngError *error = png_get_error_ptr (png);

  g_strlcpy (error->text, text, sizeof error->text);
  png_longjmp (png, 1);
}

static inline void
gst_sam_png_on_warning (png_structp png, png_const_charp text)
{
}

G_END_DECLS

#endif /* __GST_SAM_PNG_ERROR_H__ */
