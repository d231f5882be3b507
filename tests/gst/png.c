/* SPDX-License-Identifier: MIT */
/* Masks from PNG files of every kind, against pixels that are known: each kind
 * is written with libpng, from values that a function gives. */

#define _GNU_SOURCE
#include "track/gstsampng.h"
#include "samcheck.h"

#include <glib/gstdio.h>
#include <png.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const gint never = FALSE;

typedef struct
{
  gint type, depth;
  gboolean transparent;         /* has a colour that is not there */
} Kind;

#define OPAQUE(type, depth) {PNG_COLOR_TYPE_##type, depth, FALSE}
#define HOLES(type, depth) {PNG_COLOR_TYPE_##type, depth, TRUE}

static const Kind kinds[] = {
  OPAQUE (GRAY, 1), OPAQUE (GRAY, 2), OPAQUE (GRAY, 4), OPAQUE (GRAY, 8),
  OPAQUE (GRAY, 16), OPAQUE (RGB, 8), OPAQUE (RGB, 16), OPAQUE (GRAY_ALPHA, 8),
  OPAQUE (GRAY_ALPHA, 16), OPAQUE (RGB_ALPHA, 8), OPAQUE (RGB_ALPHA, 16),
  OPAQUE (PALETTE, 1), OPAQUE (PALETTE, 2), OPAQUE (PALETTE, 4),
  OPAQUE (PALETTE, 8), HOLES (GRAY, 8), HOLES (GRAY, 16), HOLES (RGB, 8),
  HOLES (PALETTE, 4),
};

/* Each pixel has one of four values: black, a colour, the darkest colour that
 * there is, and one that may be transparent. */
enum
{
  BLACK,
  COLOUR,
  DARKEST,
  HOLE,
};

static gint
get_value (gint x, gint y)
{
  return (x * 7 + y * 13 + x * y) % 11 % 4;
}

static gboolean
is_set (const Kind * kind, gint value)
{
  gboolean holes = kind->transparent || (kind->type & PNG_COLOR_MASK_ALPHA);

  /* with one bit there is no third value */
  if (kind->depth == 1)
    value &= 1;
  return value && !(value == HOLE && holes);
}

static void
put (guint8 * row, gint depth, gint i, guint sample)
{
  if (depth == 16)
    row[2 * i] = sample >> 8;
  if (depth >= 8)
    row[depth / 8 * (i + 1) - 1] = sample;
  else
    row[i * depth / 8] |= sample << (8 - depth - i * depth % 8);
}

static void
make_row (const Kind * kind, guint8 * row, gint width, gint y)
{
  const guint most = (1u << kind->depth) - 1;
  const gint colours = kind->type & PNG_COLOR_MASK_COLOR &&
      kind->type != PNG_COLOR_TYPE_PALETTE ? 3 : 1;
  const gint channels = colours + !!(kind->type & PNG_COLOR_MASK_ALPHA);
  gint x, c;

  memset (row, 0, width * 8);
  for (x = 0; x < width; x++) {
    const gint value = get_value (x, y);

    for (c = 0; c < colours; c++) {
      guint sample = value == BLACK ? 0 : value == COLOUR ? most :
          value == DARKEST ? c == colours - 1 : MIN (2, most);

      if (kind->type == PNG_COLOR_TYPE_PALETTE)
        sample = value & most;
      else if (kind->depth == 1)
        sample = value & 1;
      put (row, kind->depth, x * channels + c, sample);
    }
    if (channels > colours)
      put (row, kind->depth, x * channels + colours, value != HOLE);
  }
}

static void
set_colours (const Kind * kind, png_structp png, png_infop info)
{
  png_color palette[4] = { {0, 0, 0}, {200, 100, 0}, {0, 0, 1}, {9, 9, 9} };
  guint8 alpha[4] = { 255, 255, 255, 0 };
  png_color_16 hole = { 0, 2, 2, 2, 2 };

  if (kind->type == PNG_COLOR_TYPE_PALETTE) {
    png_set_PLTE (png, info, palette, MIN (4, 1 << kind->depth));
    if (kind->transparent)
      png_set_tRNS (png, info, alpha, 4, NULL);
  } else if (kind->transparent) {
    png_set_tRNS (png, info, NULL, 0, &hole);
  }
}

/* A file in memory: thousands are written. */
static int
open_file (gchar ** name)
{
  int fd = memfd_create ("mask.png", 0);

  fail_unless (fd >= 0);
  *name = g_strdup_printf ("/proc/self/fd/%d", fd);
  return fd;
}

static void
close_file (int fd, gchar * name)
{
  close (fd);
  g_free (name);
}

/* Without @rows there is only the header. */
static void
write_file (const gchar * name, const Kind * kind, gint width, gint height,
    gboolean interlaced, gboolean rows)
{
  FILE *file = g_fopen (name, "wb");
  png_structp png = png_create_write_struct (PNG_LIBPNG_VER_STRING, NULL, NULL,
      NULL);
  png_infop info = png_create_info_struct (png);
  guint8 *row = g_malloc (width * 8);
  gint pass, y;

  png_init_io (png, file);
  png_set_IHDR (png, info, width, height, kind->depth, kind->type, interlaced ?
      PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
  set_colours (kind, png, info);
  png_write_info (png, info);
  pass = interlaced ? png_set_interlace_handling (png) : 1;
  while (rows && pass--) {
    for (y = 0; y < height; y++) {
      make_row (kind, row, width, y);
      png_write_row (png, row);
    }
  }
  if (rows)
    png_write_end (png, info);
  else
    png_write_chunk (png, (png_const_bytep) "IDAT", NULL, 0);
  png_destroy_write_struct (&png, &info);
  fclose (file);
  g_free (row);
}

static void
write_bytes (const gchar * name, const gchar * bytes, gsize size)
{
  FILE *file = g_fopen (name, "wb");

  fail_unless (file && fwrite (bytes, 1, size, file) == size);
  fclose (file);
}

static gboolean
get_bit (const GstSamPlane * plane, gint x, gint y)
{
  return plane->bits[y * ((plane->width + 7) / 8) + x / 8] >> (x % 8) & 1;
}

/* Of a palette and of grays, one value can be chosen; a palette tells its
 * objects. Those of @kinds have a colour beside grays. */
static void
check_values (const Kind * kind, gint width, gint height, const gchar * name)
{
  const gboolean palette = kind->type == PNG_COLOR_TYPE_PALETTE;
  const gint wanted = palette ? DARKEST % (1 << kind->depth) : 1;
  const gboolean has = palette || (kind->type == PNG_COLOR_TYPE_GRAY &&
      kind->depth <= 8);
  guint8 used[256];
  GstSamPlane plane;
  guint num, n = 0;
  gint x, y, v;

  fail_unless (gst_sam_png_find_values (name, used, &num, &never, NULL));
  for (v = 0; palette && v < 1 << MIN (kind->depth, 2); v++) {
    gboolean any = FALSE;

    for (y = 0; y < height; y++) {
      for (x = 0; x < width; x++)
        any |= get_value (x, y) % (1 << kind->depth) == v;
    }
    any &= is_set (kind, v);
    fail_unless_equals_int (used[v], any);
    n += any;
  }
  fail_unless_equals_int (num, n);
  if (!gst_sam_png_read (&plane, name, MAX (wanted, 1), &never, NULL)) {
    fail_if (has && width * height > 100);
    return;
  }
  fail_unless (has);
  for (y = 0; palette && wanted && y < height; y++) {
    for (x = 0; x < width; x++)
      fail_unless_equals_int (get_bit (&plane, x, y),
          get_value (x, y) % (1 << kind->depth) == wanted);
  }
  g_free (plane.bits);
}

static void
check_kind (const Kind * kind, gint width, gint height, gboolean interlaced)
{
  GError *error = NULL;
  GstSamPlane plane;
  gint x, y, fd;
  gchar *name;

  fd = open_file (&name);
  write_file (name, kind, width, height, interlaced, TRUE);
  fail_unless (gst_sam_png_check (name, &error));
  fail_unless (gst_sam_png_read (&plane, name, 0, &never, &error), "%s",
      error ? error->message : "");
  fail_unless_equals_int (plane.width, width);
  fail_unless_equals_int (plane.height, height);
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++)
      fail_unless (get_bit (&plane, x, y) == is_set (kind, get_value (x, y)),
          "type %d, %d bits, interlaced %d, %d x %d: (%d, %d), a %d, is %d",
          kind->type, kind->depth, interlaced, width, height, x, y,
          get_value (x, y), get_bit (&plane, x, y));
  }
  g_free (plane.bits);
  check_values (kind, width, height, name);
  close_file (fd, name);
}

GST_START_TEST (test_every_kind)
{
  static const gint sizes[][2] = { {1, 1}, {2, 1}, {5, 3}, {8, 8}, {33, 17},
  {3, 100}
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (sizes); i++) {
    check_kind (&kinds[__i__], sizes[i][0], sizes[i][1], FALSE);
    check_kind (&kinds[__i__], sizes[i][0], sizes[i][1], TRUE);
  }
}

GST_END_TEST;

static void
check_refused (const gchar * name, gboolean at_once, const gchar * word)
{
  GError *error = NULL;
  GstSamPlane plane;

  fail_unless (gst_sam_png_check (name, &error) == !at_once, "%s", name);
  g_clear_error (&error);
  fail_if (gst_sam_png_read (&plane, name, 0, &never, &error), "%s", name);
  fail_unless (plane.bits == NULL);
  fail_unless (strstr (error->message, word) && strstr (error->message, name),
      "'%s' does not say '%s'", error->message, word);
  g_error_free (error);
}

/* A pipe must not be opened at all: that would block. */
GST_START_TEST (test_what_is_no_file)
{
  gchar *folder = g_dir_make_tmp ("samtrack-XXXXXX", NULL);
  gchar *pipe = g_build_filename (folder, "pipe.png", NULL);
  gchar *link = g_build_filename (folder, "link.png", NULL);
  gchar *text = g_build_filename (folder, "text.png", NULL);

  fail_unless_equals_int (mkfifo (pipe, 0600), 0);
  fail_unless_equals_int (symlink (pipe, link), 0);
  check_refused (pipe, TRUE, "it is not a regular file");
  check_refused (link, TRUE, "it is not a regular file");
  check_refused (folder, TRUE, "it is not a regular file");
  check_refused ("/dev/zero", TRUE, "it is not a regular file");
  check_refused ("/nowhere/m.png", TRUE, "No such file");
  write_bytes (text, "", 0);
  check_refused (text, FALSE, "the file is truncated");
  write_bytes (text, "this is no picture", 18);
  check_refused (text, FALSE, "PNG");
  g_remove (text);
  g_remove (link);
  g_remove (pipe);
  g_rmdir (folder);
  g_free (text);
  g_free (link);
  g_free (pipe);
  g_free (folder);
}

GST_END_TEST;

GST_START_TEST (test_sizes)
{
  static const gint sizes[][2] = { {16385, 1}, {1, 16385}, {16384, 4097},
  {8193, 8192}
  };
  gint cancelled = TRUE, fd;
  GError *error = NULL;
  GstSamPlane plane;
  gchar *name;
  guint i;

  fd = open_file (&name);
  for (i = 0; i < G_N_ELEMENTS (sizes); i++) {
    write_file (name, &kinds[0], sizes[i][0], sizes[i][1], FALSE, FALSE);
    check_refused (name, FALSE, "at most 16384");
  }
  check_kind (&kinds[0], 16384, 3, FALSE);
  check_kind (&kinds[3], 3, 16384, TRUE);

  write_file (name, &kinds[0], 100, 100, FALSE, TRUE);
  fail_if (gst_sam_png_read (&plane, name, 0, &cancelled, &error));
  fail_unless (strstr (error->message, "cancelled"), "%s", error->message);
  g_error_free (error);
  close_file (fd, name);
}

GST_END_TEST;

/* Damaged files give a mask or a sentence, and nothing else. */
GST_START_TEST (test_damaged_files)
{
  const guint32 seed = 20261122 + __i__;
  GRand *rand = g_rand_new_with_seed (seed);
  guint i, k, refused = 0;
  gchar *name, *bytes;
  gsize size;
  int fd = open_file (&name);

  g_print ("seed %u\n", seed);
  write_file (name, &kinds[__i__], 33, 17, __i__ % 2, TRUE);
  fail_unless (g_file_get_contents (name, &bytes, &size, NULL));
  for (i = 0; i < 200; i++) {
    gsize cut = i % 2 ? size : (gsize) g_rand_int_range (rand, 0, size);
    gchar *bad = g_malloc (size);
    GError *error = NULL;
    GstSamPlane plane;

    memcpy (bad, bytes, size);
    for (k = 0; k < 3; k++)
      bad[g_rand_int_range (rand, 8, size)] ^= 1 << g_rand_int_range (rand, 0,
          8);
    write_bytes (name, bad, cut);
    if (gst_sam_png_read (&plane, name, 0, &never, &error)) {
      g_free (plane.bits);
    } else {
      refused++;
      g_error_free (error);
    }
    g_free (bad);
  }
  fail_unless (refused > 100, "%u", refused);
  g_rand_free (rand);
  g_free (bytes);
  close_file (fd, name);
}

GST_END_TEST;

static Suite *
png_suite (void)
{
  Suite *s = suite_create ("png");
  TCase *tc = sam_tcase_new (s, "png");

  tcase_add_loop_test (tc, test_every_kind, 0, G_N_ELEMENTS (kinds));
  tcase_add_test (tc, test_what_is_no_file);
  tcase_add_test (tc, test_sizes);
  tcase_add_loop_test (tc, test_damaged_files, 0, G_N_ELEMENTS (kinds));
  return s;
}

GST_CHECK_MAIN (png);
