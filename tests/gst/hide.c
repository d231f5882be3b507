/* SPDX-License-Identifier: MIT */
/* The modes of samoverlay that change what masks cover: pictures. */

#include "things.h"

#include <string.h>
#include <sys/mman.h>

/* In solid black no pixel of the texture is what it was. */
GST_START_TEST (test_solid_covers_the_mask_and_its_margin)
{
  const gint margin = __i__;
  gchar *launch = g_strdup_printf ("samoverlay mode=solid margin=%d", margin);
  GstHarness *h = open_rgba (launch);
  GstBuffer *buf = push (h, 0, "ok", &square, 1);
  /* blocks of two pixels are covered as a whole */
  const gint x0 = (X0 - margin) & ~1, x1 = (X1 + margin + 1) & ~1;
  const gint y0 = (Y0 - margin) & ~1, y1 = (Y1 + margin + 1) & ~1;
  const guint outside = W * H - (x1 - x0) * (y1 - y0);

  fail_unless_equals_int (count_seen (buf, x0, y0, x1, y1, FALSE), 0);
  fail_unless_equals_int (count_seen (buf, 0, 0, W, H, TRUE), outside);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_END_TEST;

/* Each square of 8 px has the mean of what was there. */
GST_START_TEST (test_pixelate_makes_means)
{
  GstHarness *h = open_rgba ("samoverlay mode=pixelate cell-size=8 margin=0");
  GstBuffer *buf = push (h, 0, "ok", &square, 1);
  GstMapInfo map;
  gint x, y, c, i;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = Y0; y < Y1; y++) {
    for (x = X0; x < X1; x++) {
      for (c = 0; c < 3; c++) {
        gint sum = 0;

        for (i = 0; i < 64; i++)
          sum += texture ((x & ~7) + i % 8, (y & ~7) + i / 8, c);
        fail_unless_equals_int (map.data[4 * (y * W + x) + c],
            (sum + 32) / 64);
      }
    }
  }
  gst_buffer_unmap (buf, &map);
  fail_unless_equals_int (count_seen (buf, 0, 0, W, H, TRUE),
      W * H - (X1 - X0) * (Y1 - Y0));
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Along a row colours are a line from the middle of a cell to that of the next,
 * between those that mode=pixelate gives. */
GST_START_TEST (test_blur_is_smooth)
{
  GstHarness *h = open_rgba ("samoverlay mode=blur cell-size=8 margin=0");
  GstBuffer *buf = push (h, 0, "ok", &square, 1);
  GstMapInfo map;
  gint x, y, step = 0;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = Y0; y < Y1; y++) {
    for (x = X0; x + 1 < X1; x++)
      step = MAX (step, ABS (map.data[4 * (y * W + x)] -
              map.data[4 * (y * W + x + 1)]));
  }
  /* means of the texture differ by less than 40 */
  fail_unless (step > 0 && step <= 6, "colours jump by %d", step);
  gst_buffer_unmap (buf, &map);
  /* a mean may be a pixel's own colour, but hardly in all of its components */
  fail_unless (count_seen (buf, X0, Y0, X1, Y1, TRUE) <= 1);
  gst_harness_teardown (h);
}

GST_END_TEST;

static GstBuffer *
convert (GstVideoFormat from, GstBuffer * in, GstVideoFormat to)
{
  GstVideoInfo a, b;
  GstVideoFrame f, g;
  GstVideoConverter *converter;
  GstBuffer *out;

  gst_video_info_set_format (&a, from, W, H);
  gst_video_info_set_format (&b, to, W, H);
  out = gst_buffer_new_allocate (NULL, b.size, NULL);
  gst_buffer_memset (out, 0, 0, b.size);
  fail_unless (gst_video_frame_map (&f, &a, in, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&g, &b, out, GST_MAP_WRITE));
  converter = gst_video_converter_new (&a, &b, gst_structure_new ("options",
          GST_VIDEO_CONVERTER_OPT_DITHER_METHOD,
          GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE,
          GST_VIDEO_CONVERTER_OPT_CHROMA_MODE, GST_TYPE_VIDEO_CHROMA_MODE,
          GST_VIDEO_CHROMA_MODE_NONE, NULL));
  fail_unless (converter != NULL);
  gst_video_converter_frame (converter, &f, &g);
  gst_video_converter_free (converter);
  gst_video_frame_unmap (&f);
  gst_video_frame_unmap (&g);
  return out;
}

/* What is seen of a frame of the format, in RGBA; with or without the mask. */
static GstBuffer *
see (const gchar * launch, GstVideoFormat format, gboolean is_masked)
{
  GstHarness *h = sam_harness_new (launch, format, W, H);
  GstBuffer *rgba = new_rgba (), *buf;

  buf = convert (GST_VIDEO_FORMAT_RGBA, rgba, format);
  gst_buffer_unref (rgba);
  if (is_masked)
    add_things (buf, "ok", &square, 1);
  buf = gst_harness_push_and_pull (h, buf);
  rgba = convert (format, buf, GST_VIDEO_FORMAT_RGBA);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
  return rgba;
}

/* Inside of the mask: the largest difference of neighbours in luma. Outside:
 * the largest difference to the frame without a mask. */
static void
measure (GstBuffer * a, GstBuffer * b, gint * detail, gint * harm)
{
  GstMapInfo m, n;
  gint x, y, c;

  gst_buffer_map (a, &m, GST_MAP_READ);
  gst_buffer_map (b, &n, GST_MAP_READ);
  *detail = *harm = 0;
  for (y = 0; y < H; y++) {
    for (x = 0; x < W; x++) {
      const guint8 *p = m.data + 4 * (y * W + x);
      const guint8 *q = n.data + 4 * (y * W + x);

      for (c = 0; c < 3; c++) {
        /* blocks of four belong together in some formats */
        if (x < X0 - 4 || x >= X1 + 4 || y < Y0 - 4 || y >= Y1 + 4)
          *harm = MAX (*harm, ABS (p[c] - q[c]));
        if (x >= X0 && x + 1 < X1 && y >= Y0 && y < Y1)
          *detail = MAX (*detail, ABS (p[c] - p[c + 4]));
      }
    }
  }
  gst_buffer_unmap (a, &m);
  gst_buffer_unmap (b, &n);
}

/* All that the pad template promises of system memory, in every mode that
 * hides. */
GST_START_TEST (test_every_format)
{
  static const gchar *launch[] = { "samoverlay mode=blur cell-size=8 margin=0",
    "samoverlay mode=pixelate cell-size=32 margin=0",
    "samoverlay mode=solid margin=0",
    "samoverlay mode=cut-out keep=outside margin=0"
  };
  /* of neighbours: a blur's slope, in steps of four pixels where chroma is
   * that coarse; the border of a square; nothing */
  static const gint most[] = { 32, 255, 2, 2 };
  GstElement *element = gst_element_factory_make ("samoverlay", NULL);
  GstPadTemplate *templ =
      gst_element_class_get_pad_template (GST_ELEMENT_GET_CLASS (element),
      "sink");
  GstCaps *caps = gst_pad_template_get_caps (templ);
  const GValue *formats =
      gst_structure_get_value (gst_caps_get_structure (caps,
          gst_caps_get_size (caps) - 1), "format");
  guint i, n = gst_value_list_get_size (formats);

  fail_unless (n > 80, "%u formats", n);
  for (i = 0; i < n; i++) {
    const gchar *name = g_value_get_string (gst_value_list_get_value (formats,
            i));
    GstVideoFormat format = gst_video_format_from_string (name);
    const GstVideoFormatInfo *info = gst_video_format_get_info (format);
    GstBuffer *a = see (launch[__i__], format, TRUE);
    GstBuffer *b = see (launch[__i__], format, FALSE);
    gint detail, harm;

    measure (a, b, &detail, &harm);
    fail_unless (harm == 0, "%s, %s: %d outside of the mask", launch[__i__],
        name, harm);
    /* colours of fewer bits are in steps */
    if (GST_VIDEO_FORMAT_INFO_BITS (info) >= 8 &&
        format != GST_VIDEO_FORMAT_RGB8P)
      fail_unless (detail <= most[__i__], "%s, %s: %d inside of the mask",
          launch[__i__], name, detail);
    gst_buffer_unref (a);
    gst_buffer_unref (b);
  }
  gst_caps_unref (caps);
  gst_object_unref (element);
}

GST_END_TEST;

static void
check_selection (const gchar * properties, gboolean one, gboolean other)
{
  gchar *launch = g_strconcat ("samoverlay margin=0 ", properties, NULL);
  GstHarness *h = open_rgba (launch);
  GstBuffer *buf = push (h, 0, "ok", two, 2);

  fail_unless_equals_int (count_seen (buf, 12, 20, 20, 28, FALSE),
      one ? 0 : 64);
  fail_unless_equals_int (count_seen (buf, 52, 20, 60, 28, TRUE),
      other ? 0 : 64);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_START_TEST (test_selection)
{
  check_selection ("mode=solid", TRUE, TRUE);
  check_selection ("mode=solid selected-ids=2", FALSE, TRUE);
  check_selection ("mode=solid selected-ids=\"2, 1\"", TRUE, TRUE);
  check_selection ("mode=solid selected-ids=9", FALSE, FALSE);
  check_selection ("mode=solid selected-labels=\"face, hand\"", TRUE, FALSE);
  check_selection ("mode=solid selected-labels=face selected-ids=2", TRUE,
      TRUE);
  check_selection ("draw-outlines=false draw-scores=false draw-ids=false "
      "selected-ids=2 opacity=1", FALSE, TRUE);
  check_selection ("mode=cut-out ground=color selected-ids=1", FALSE, TRUE);
}

GST_END_TEST;

GST_START_TEST (test_colours_by_id_and_label)
{
  GstHarness *h = open_rgba ("samoverlay draw-outlines=false draw-ids=false "
      "draw-scores=false draw-labels=false opacity=1 "
      "colors=\"#102030, face=#405060, 2=#708090\"");
  const Thing third = { 3, 3, "tracked", "dog", 72, 16, 16, 16 };
  const Thing things[] = { two[0], two[1], third };
  static const guint8 rgb[][3] = { {0x40, 0x50, 0x60}, {0x70, 0x80, 0x90},
  {0x10, 0x20, 0x30}
  };
  GstBuffer *buf = push (h, 0, "ok", things, 3);
  GstMapInfo map;
  guint i;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (i = 0; i < 3; i++)
    fail_unless (!memcmp (map.data + 4 * (24 * W + things[i].x + 8), rgb[i],
            3), "object %u has another colour", i + 1);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_cut_out_to_alpha)
{
  GstHarness *h = open_rgba ("samoverlay mode=cut-out ground=transparent");
  GstBuffer *buf = push (h, 0, "ok", &square, 1);
  GstMapInfo map;
  gint x, y;

  fail_unless_equals_int (count_seen (buf, 0, 0, W, H, FALSE), W * H);
  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = 0; y < H; y++) {
    for (x = 0; x < W; x++) {
      const gint alpha = map.data[4 * (y * W + x) + 3];
      /* how far beyond the edge; -1 is the outermost inside */
      const gint beyond = MAX (MAX (X0 - 1 - x, x - X1), MAX (Y0 - 1 - y,
              y - Y1));

      /* the edge is soft */
      fail_unless (beyond < -1 ? alpha == 255 : beyond > 0 ? alpha == 0 :
          alpha > 0 && alpha < 255, "alpha at (%d, %d) is %d", x, y, alpha);
    }
  }
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A picture of another shape and size fills the frame; inside of the mask is
 * what was there. */
GST_START_TEST (test_ground_picture)
{
  const gboolean is_nv12 = __i__;
  GstVideoFormat format = is_nv12 ? GST_VIDEO_FORMAT_NV12 :
      GST_VIDEO_FORMAT_RGBA;
  GstHarness *h;
  GstBuffer *buf, *rgba;
  GstMapInfo map;
  gchar *launch;
  gint x, y;

  sam_folder_make ("ground.png");
  sam_write_picture ("format=RGBA,width=40,height=90",
      "pattern=solid-color foreground-color=0xff20a040", sam_file);
  launch = g_strdup_printf ("samoverlay mode=cut-out ground=picture "
      "ground-location=\"%s\"", sam_file);
  h = sam_harness_new (launch, format, W, H);
  rgba = new_rgba ();
  buf = convert (GST_VIDEO_FORMAT_RGBA, rgba, format);
  gst_buffer_unref (rgba);
  add_things (buf, "ok", &square, 1);
  buf = gst_harness_push_and_pull (h, buf);
  rgba = convert (format, buf, GST_VIDEO_FORMAT_RGBA);
  gst_buffer_unref (buf);
  gst_buffer_map (rgba, &map, GST_MAP_READ);
  for (y = 0; y < H; y++) {
    for (x = 0; x < W; x++) {
      const guint8 *p = map.data + 4 * (y * W + x);
      const gint beyond = MAX (MAX (X0 - 1 - x, x - X1), MAX (Y0 - 1 - y,
              y - Y1));

      if (beyond > 2)
        fail_unless (ABS (p[0] - 0x20) < 8 && ABS (p[1] - 0xa0) < 8 &&
            ABS (p[2] - 0x40) < 8, "(%d, %d) is %d %d %d", x, y, p[0], p[1],
            p[2]);
      else if (beyond < -3 && !is_nv12)
        fail_unless (!is_changed (map.data, x, y));
    }
  }
  gst_buffer_unmap (rgba, &map);
  gst_buffer_unref (rgba);
  gst_harness_teardown (h);
  sam_folder_remove ();
  g_free (launch);
}

GST_END_TEST;

/* Pixels that nobody may write to, as of a file that is mapped, or of a picture
 * that is shown again: they are copied, and stay as they are. A write would be a
 * signal. */
GST_START_TEST (test_read_only)
{
  static const gchar *const launch[] = { "samoverlay", "samoverlay mode=solid",
    "samoverlay mode=blur", "samoverlay mode=cut-out",
    "samoverlay mode=solid privacy=true"
  };
  const gsize size = W * H * 4;
  GstHarness *h = open_rgba (launch[__i__]);
  GstBuffer *plain = new_rgba (), *buf = gst_buffer_new ();
  guint8 *pixels = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE |
      MAP_ANONYMOUS, -1, 0);
  GstMapInfo map;
  gint x, y;

  fail_unless (pixels != MAP_FAILED);
  fail_unless_equals_int (gst_buffer_extract (plain, 0, pixels, size), size);
  fail_unless_equals_int (mprotect (pixels, size, PROT_READ), 0);
  gst_buffer_append_memory (buf, gst_memory_new_wrapped
      (GST_MEMORY_FLAG_READONLY, pixels, size, 0, size, NULL, NULL));
  GST_BUFFER_PTS (buf) = 0;
  add_things (buf, "ok", &square, 1);
  buf = gst_harness_push_and_pull (h, buf);
  fail_unless (gst_buffer_map (buf, &map, GST_MAP_READ));
  fail_unless (map.data != pixels);
  y = __i__ == 3 ? Y1 + 8 : (Y0 + Y1) / 2;
  for (x = X0 + 8; x < X1 - 8 && !is_changed (map.data, x, y); x++);
  fail_unless (x < X1 - 8, "%s: nothing is drawn", launch[__i__]);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  fail_unless (!gst_buffer_memcmp (plain, 0, pixels, size));
  gst_buffer_unref (plain);
  gst_harness_teardown (h);
  munmap (pixels, size);
}

GST_END_TEST;

static Suite *
hide_suite (void)
{
  Suite *s = suite_create ("hide");
  TCase *tc = sam_tcase_new (s, "pictures");

  tcase_add_loop_test (tc, test_solid_covers_the_mask_and_its_margin, 0, 4);
  tcase_add_test (tc, test_pixelate_makes_means);
  tcase_add_test (tc, test_blur_is_smooth);
  tcase_add_loop_test (tc, test_every_format, 0, 4);
  tcase_add_test (tc, test_cut_out_to_alpha);
  tcase_add_loop_test (tc, test_ground_picture, 0, 2);
  tcase_add_test (tc, test_selection);
  tcase_add_test (tc, test_colours_by_id_and_label);
  tcase_add_loop_test (tc, test_read_only, 0, 5);
  return s;
}

GST_CHECK_MAIN (hide);
