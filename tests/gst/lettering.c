/* SPDX-License-Identifier: MIT */
/* Names in any script, as samoverlay writes them. */

#include "things.h"

#include <string.h>

/* Draw a name alone. Returns how many shades of green it has; @pixels: those
 * that were drawn on, 0 elsewhere. */
static guint
draw_name (const gchar * name, guint8 pixels[W * H])
{
  GstHarness *h = open_rgba ("samoverlay draw-masks=false draw-outlines=false "
      "draw-ids=false draw-scores=false");
  const Thing t = { 1, 1, "tracked", name, X0, Y0, 8, 8 };
  GstBuffer *buf = push (h, 0, "ok", &t, 1);
  gboolean seen[256] = { 0, };
  guint shades = 0;
  GstMapInfo map;
  gint i;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (i = 0; i < W * H; i++) {
    pixels[i] = is_changed (map.data, i % W, i / W) ? map.data[4 * i + 1] : 0;
    shades += pixels[i] && !seen[pixels[i]];
    seen[pixels[i]] = TRUE;
  }
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
  return shades;
}

/* Latin, Cyrillic, Greek, Hebrew, Devanagari; controls, and a name without
 * end. */
GST_START_TEST (test_scripts)
{
  static const gchar *names[] = { "dog", "собака", "σκύλος",
    "\xd7\x9b\xd7\x9c\xd7\x91",
    "\xe0\xa4\x95\xe0\xa5\x81\xe0\xa4\xa4\xe0\xa5\x8d"
        "\xe0\xa4\xa4\xe0\xa4\xbe", "a\nb\t\xe2\x80\xae" "c",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW"
  };
  guint8 pixels[2][W * H];
  guint i, shades;

  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    shades = draw_name (names[i], pixels[i % 2]);
    fail_unless (shades > 1, "'%s' is not drawn", names[i]);
#ifdef WITH_PANGO
    if (i)
      fail_unless (memcmp (pixels[0], pixels[1], sizeof pixels[0]) != 0,
          "'%s' looks like '%s'", names[i], names[i - 1]);
#endif
  }
  fail_unless_equals_int (draw_name ("", pixels[0]), 0);
}

GST_END_TEST;

/* Texts that come again are not laid out again; in other sizes they are. */
GST_START_TEST (test_sizes_of_frames)
{
  static const gint heights[] = { 48, 1080, 48 };
  guint drawn[3] = { 0, }, i;

  for (i = 0; i < 3; i++) {
    const gint h = heights[i], w = h * 4 / 3;
    GstHarness *harness = sam_harness_new ("samoverlay draw-masks=false "
        "draw-outlines=false", GST_VIDEO_FORMAT_GRAY8, w, h);
    const Thing t = { 1, 1, "tracked", "Жук", X0, Y0, 8, 8 };
    GstBuffer *buf = gst_buffer_new_allocate (NULL, (gsize) w * h, NULL);
    GstMapInfo map;
    gsize k;

    gst_buffer_memset (buf, 0, 100, -1);
    add_things (buf, "ok", &t, 1);
    buf = gst_harness_push_and_pull (harness, buf);
    gst_buffer_map (buf, &map, GST_MAP_READ);
    for (k = 0; k < map.size; k++)
      drawn[i] += map.data[k] != 100;
    gst_buffer_unmap (buf, &map);
    gst_buffer_unref (buf);
    gst_harness_teardown (harness);
  }
  fail_unless_equals_int (drawn[0], drawn[2]);
  /* letters are four times as high */
  fail_unless (drawn[1] > 10 * drawn[0] && drawn[1] < 25 * drawn[0],
      "%u and %u pixels", drawn[0], drawn[1]);
}

GST_END_TEST;

/* No font at all, as in small containers: the font of the plugin's own, not the
 * boxes that Pango draws for letters that no font has. */
GST_START_TEST (test_no_fonts)
{
  static guint8 pixels[2][W * H];
  gchar *config;

  sam_folder_make ("fonts.conf");
  config = g_strdup_printf ("<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM "
      "\"fonts.dtd\"><fontconfig><dir>%s/none</dir></fontconfig>", sam_folder);
  fail_unless (g_file_set_contents (sam_file, config, -1, NULL));
  g_setenv ("FONTCONFIG_FILE", sam_file, TRUE);
  fail_unless (draw_name ("cat", pixels[0]) > 1);
  fail_unless (draw_name ("dog", pixels[1]) > 1);
  fail_unless (memcmp (pixels[0], pixels[1], sizeof pixels[0]) != 0,
      "'cat' looks like 'dog'");
  g_unsetenv ("FONTCONFIG_FILE");
  sam_folder_remove ();
  g_free (config);
}

GST_END_TEST;

static Suite *
lettering_suite (void)
{
  Suite *s = suite_create ("lettering");
  TCase *tc = sam_tcase_new (s, "texts");

  tcase_add_test (tc, test_no_fonts);   /* first: fontconfig asks once */
  tcase_add_test (tc, test_scripts);
  tcase_add_test (tc, test_sizes_of_frames);
  return s;
}

GST_CHECK_MAIN (lettering);
