/* SPDX-License-Identifier: MIT */
/* Label maps as PNGs with a palette. */

#include "gstsamindexed.h"

#include "common/gstsampngerror.h"

#include <gst/gst.h>
#include <string.h>

/* Label maps are mostly runs: more effort gains little. */
#define COMPRESSION 2

/* A picture that is written. */
typedef struct
{
  GByteArray *to;
  const guint8 *labels, *lut;
  gint width, height;
  guint8 *row;
  GstSamPngError why;
} Picture;

/* The colours of PASCAL VOC, which DAVIS took over: bits of the index, three at
 * a time, from the highest bit of red, green and blue on. */
static void
fill_palette (png_color palette[256])
{
  guint i, bit;

  memset (palette, 0, 256 * sizeof *palette);
  for (i = 0; i < 256; i++) {
    for (bit = 0; bit < 8; bit++) {
      const guint three = i >> (3 * bit);

      palette[i].red |= (three & 1) << (7 - bit);
      palette[i].green |= (three >> 1 & 1) << (7 - bit);
      palette[i].blue |= (three >> 2 & 1) << (7 - bit);
    }
  }
}

static void
on_write (png_structp png, png_bytep data, size_t bytes)
{
  Picture *self = png_get_io_ptr (png);

  g_byte_array_append (self->to, data, bytes);
}

static void
on_flush (png_structp png)
{
}

static void
write_rows (Picture * self, png_structp png)
{
  const guint8 *from = self->labels;
  gint x, y;

  for (y = 0; y < self->height; y++) {
    for (x = 0; x < self->width; x++)
      self->row[x] = from ? self->lut[from[x]] : 0;
    png_write_row (png, self->row);
    from += from ? self->width : 0;
  }
}

/* libpng comes back here on errors. */
static gboolean
try_picture (Picture * self, png_structp png, png_infop info)
{
  png_color palette[256];

  if (setjmp (png_jmpbuf (png)))
    return FALSE;
  fill_palette (palette);
  png_set_write_fn (png, self, on_write, on_flush);
  png_set_compression_level (png, COMPRESSION);
  png_set_filter (png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
  png_set_IHDR (png, info, self->width, self->height, 8,
      PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
      PNG_FILTER_TYPE_BASE);
  png_set_PLTE (png, info, palette, 256);
  png_write_info (png, info);
  write_rows (self, png);
  png_write_end (png, info);
  return TRUE;
}

gboolean
gst_sam_indexed_encode (GByteArray * to, const guint8 * labels,
    const guint8 lut[256], gint width, gint height, GError ** error)
{
  Picture self = {.to = to,.labels = labels,.lut = lut,.width = width,.height =
        height,.row = g_malloc (width),.why = {"out of memory"}
  };
  png_structp png = png_create_write_struct (PNG_LIBPNG_VER_STRING,
      &self.why, gst_sam_png_on_error, gst_sam_png_on_warning);
  png_infop info = png ? png_create_info_struct (png) : NULL;
  const gboolean ok = info && try_picture (&self, png, info);

  png_destroy_write_struct (&png, &info);
  g_free (self.row);
  if (!ok)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED,
        "A PNG of %d x %d pixels cannot be made: %s.", width, height,
        self.why.text);
  return ok;
}
