/* SPDX-License-Identifier: MIT */
/* Reads masks from PNG files with libpng, row by row. All kinds of PNG are
 * accepted, also those with a palette, which are usual in data sets. */

#include "gstsampng.h"

#include "common/gstsampngerror.h"
#include "gstsamprompt.h"

#include <errno.h>
#include <fcntl.h>
#include <samtrack/samtrack.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 8 MiB of bits: what a file of a few KiB may cost. */
#define MAX_PIXELS (1 << 26)

typedef struct
{
  GstSamPlane *plane;           /* NULL: values are looked for */
  gint value;                   /* that is wanted; 0: whatever is seen */
  guint8 used[256];             /* values that there are */
  guint num_objects;            /* as of gst_sam_png_find_values() */
  gint width, height;
  const gint *cancelled;
  int fd;
  png_structp png;
  png_infop info;
  guint8 *row;
  GstSamPngError why;
} Reader;

static void
G_GNUC_PRINTF (3, 4)
fail (GError ** error, const gchar * location, const gchar * format, ...)
{
  va_list args;
  gchar *why;

  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GST_SAM_REFUSAL, GST_SAM_REFUSED_MASK,
      "The mask '%s' cannot be read: %s.", location, why);
  g_free (why);
}

static gboolean
check_regular (const struct stat *st, const gchar * location, GError ** error)
{
  if (!S_ISREG (st->st_mode))
    fail (error, location, "it is not a regular file");
  return S_ISREG (st->st_mode);
}

gboolean
gst_sam_png_check (const gchar * location, GError ** error)
{
  struct stat st;

  if (!stat (location, &st))
    return check_regular (&st, location, error);
  fail (error, location, "%s", g_strerror (errno));
  return FALSE;
}

/* The file may have become another one since it was checked. */
static int
open_regular (const gchar * location, GError ** error)
{
  struct stat st;
  int fd;

  if (!gst_sam_png_check (location, error))
    return -1;
  fd = open (location, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd >= 0 && !fstat (fd, &st)) {
    if (check_regular (&st, location, error))
      return fd;
  } else {
    fail (error, location, "%s", g_strerror (errno));
  }
  if (fd >= 0)
    close (fd);
  return -1;
}

static void
check_cancelled (const Reader * r)
{
  if (g_atomic_int_get (r->cancelled))
    png_error (r->png, "reading was cancelled");
}

static void
on_read (png_structp png, png_bytep to, size_t bytes)
{
  const Reader *r = png_get_io_ptr (png);

  while (bytes) {
    ssize_t n = read (r->fd, to, bytes);

    check_cancelled (r);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      png_error (png, g_strerror (errno));
    if (!n)
      png_error (png, "the file is truncated");
    to += n;
    bytes -= n;
  }
}

static gboolean
is_any (const guint8 * bytes, gint n)
{
  while (n > 0 && !bytes[n - 1])
    n--;
  return n > 0;
}

/* A byte per pixel, its value. */
static void
note_values (Reader * r, gint y, gint pass, gint n)
{
  guint8 *bits = r->plane ? r->plane->bits + (gsize) y *
      ((r->plane->width + 7) / 8) : NULL;
  gint i;

  for (i = 0; i < n; i++) {
    const gint x = pass < 0 ? i : PNG_COL_FROM_PASS_COL (i, pass);

    r->used[r->row[i]] = TRUE;
    if (bits && r->row[i] == r->value)
      bits[x / 8] |= 1 << (x % 8);
  }
}

/* Pixels of one row of one pass. Alpha, where there is any, comes last. */
static void
set_pixels (Reader * r, gint y, gint pass, gint n)
{
  const gint step = png_get_channels (r->png, r->info) *
      png_get_bit_depth (r->png, r->info) / 8;
  const gint alpha = png_get_channels (r->png, r->info) % 2 ? 0 :
      png_get_bit_depth (r->png, r->info) / 8;
  guint8 *bits = r->plane->bits + (gsize) y * ((r->plane->width + 7) / 8);
  const guint8 *at = r->row;
  gint i;

  for (i = 0; i < n; i++, at += step) {
    gint x = pass < 0 ? i : PNG_COL_FROM_PASS_COL (i, pass);

    if (is_any (at, step - alpha) &&
        (!alpha || is_any (at + step - alpha, alpha)))
      bits[x / 8] |= 1 << (x % 8);
  }
}

static void
read_rows (Reader * r)
{
  void (*const take) (Reader *, gint, gint, gint) = r->plane && !r->value ?
      set_pixels : note_values;
  const gint w = r->width, h = r->height;
  gint pass, y;

  if (png_get_interlace_type (r->png, r->info) == PNG_INTERLACE_NONE) {
    for (y = 0; y < h; y++) {
      check_cancelled (r);
      png_read_row (r->png, r->row, NULL);
      take (r, y, -1, w);
    }
    return;
  }
  for (pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
    const gint columns = PNG_PASS_COLS (w, pass);
    const gint rows = columns ? PNG_PASS_ROWS (h, pass) : 0;

    for (y = 0; y < rows; y++) {
      check_cancelled (r);
      png_read_row (r->png, r->row, NULL);
      take (r, PNG_ROW_FROM_PASS_ROW (y, pass), pass, columns);
    }
  }
}

/* Of the values that are used and seen: an object each, or one of all. A gray
 * picture with a palette is no map of objects: bright grays tell it. */
static void
count_objects (Reader * r)
{
  png_colorp palette = NULL;
  png_bytep alpha = NULL;
  gboolean coloured = FALSE, bright = FALSE;
  int i, colours = 0, alphas = 0;

  png_get_PLTE (r->png, r->info, &palette, &colours);
  png_get_tRNS (r->png, r->info, &alpha, &alphas, NULL);
  for (i = 0; i < 256; i++) {
    const png_color *c = i < colours ? &palette[i] : NULL;

    r->used[i] = r->used[i] && c && (c->red || c->green || c->blue) &&
        !(i < alphas && !alpha[i]);
    if (!r->used[i])
      continue;
    r->num_objects++;
    coloured |= c->red != c->green || c->green != c->blue;
    bright |= c->red >= 128;
  }
  if (bright && !coloured)
    r->num_objects = 0;
}

/* Have rows of values. Returns FALSE if the picture has none. */
static gboolean
want_values (Reader * r)
{
  const gint type = png_get_color_type (r->png, r->info);

  if (type != PNG_COLOR_TYPE_PALETTE && (type != PNG_COLOR_TYPE_GRAY ||
          png_get_bit_depth (r->png, r->info) > 8))
    return FALSE;
  png_set_packing (r->png);
  return TRUE;
}

/* Rows of whole bytes per channel: no palette, no transparent colour. */
static void
read_picture (Reader * r)
{
  guint32 w, h;

  png_set_read_fn (r->png, r, on_read);
  png_read_info (r->png, r->info);
  w = png_get_image_width (r->png, r->info);
  h = png_get_image_height (r->png, r->info);
  if (w > SAM_MAX_SIDE || h > SAM_MAX_SIDE || (guint64) w * h > MAX_PIXELS) {
    gchar text[sizeof r->why.text];

    g_snprintf (text, sizeof text, "it has %u x %u pixels, expected at most %d "
        "each way and %d in all", w, h, SAM_MAX_SIDE, MAX_PIXELS);
    png_error (r->png, text);
  }
  if (!r->plane && png_get_color_type (r->png, r->info) !=
      PNG_COLOR_TYPE_PALETTE)
    return;
  if (r->plane && !r->value)
    png_set_expand (r->png);
  else if (!want_values (r))
    png_error (r->png, "'value' is given, which expects a picture with a "
        "palette, or gray with at most 8 bits");
  png_read_update_info (r->png, r->info);
  r->width = w;
  r->height = h;
  if (r->plane) {
    r->plane->width = w;
    r->plane->height = h;
    r->plane->bits = g_try_malloc0 ((gsize) (w + 7) / 8 * h);
  }
  r->row = g_try_malloc (png_get_rowbytes (r->png, r->info));
  if ((r->plane && !r->plane->bits) || !r->row)
    png_error (r->png, "out of memory");
  read_rows (r);
  if (!r->plane)
    count_objects (r);
}

/* The pixels that were asked for must be there. */
static void
check_value (Reader * r)
{
  gchar text[sizeof r->why.text - 60];
  gsize at = 0;
  gint i;

  if (!r->value || r->used[r->value])
    return;
  for (i = 0; i < 256 && at + 8 < sizeof text; i++) {
    if (r->used[i])
      at += g_snprintf (text + at, sizeof text - at, "%s%d", at ? ", " : "", i);
  }
  g_snprintf (r->why.text, sizeof r->why.text,
      "no pixel has the value %d, there are %s%s", r->value, text,
      i < 256 ? " ..." : "");
  png_longjmp (r->png, 1);
}

/* libpng comes back here on errors: nothing of this frame changes before. */
static gboolean
try_picture (Reader * r)
{
  if (setjmp (png_jmpbuf (r->png)))
    return FALSE;
  read_picture (r);
  check_value (r);
  return TRUE;
}

static gboolean
read_file (Reader * r, const gchar * location, GError ** error)
{
  gboolean ok;

  g_strlcpy (r->why.text, "out of memory", sizeof r->why.text);
  r->fd = open_regular (location, error);
  if (r->fd < 0)
    return FALSE;
  r->png = png_create_read_struct (PNG_LIBPNG_VER_STRING, &r->why,
      gst_sam_png_on_error, gst_sam_png_on_warning);
  r->info = r->png ? png_create_info_struct (r->png) : NULL;
  ok = r->info && try_picture (r);
  if (!ok)
    fail (error, location, "%s", r->why.text);
  g_free (r->row);
  png_destroy_read_struct (&r->png, &r->info, NULL);
  close (r->fd);
  return ok;
}

gboolean
gst_sam_png_read (GstSamPlane * plane, const gchar * location, gint value,
    const gint * cancelled, GError ** error)
{
  Reader r = {.plane = plane,.value = value,.cancelled = cancelled };
  gboolean ok;

  memset (plane, 0, sizeof *plane);
  ok = read_file (&r, location, error);
  if (!ok)
    g_clear_pointer (&plane->bits, g_free);
  return ok;
}

gboolean
gst_sam_png_find_values (const gchar * location, guint8 used[256], guint * num,
    const gint * cancelled, GError ** error)
{
  Reader r = {.cancelled = cancelled };
  const gboolean ok = read_file (&r, location, error);

  memcpy (used, r.used, sizeof r.used);
  *num = r.num_objects;
  return ok;
}
