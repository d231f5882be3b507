/* SPDX-License-Identifier: MIT */
/* Masks of several objects in one file, and labels that prompts give. */

#include "samcheck.h"

#include <glib/gstdio.h>
#include <png.h>
#include <string.h>

#define WIDTH 64
#define HEIGHT 48

static void
setup (void)
{
  sam_folder_make ("a.png");
}

/* Blocks of the values 3 and 5, beside each other, and a pixel of 9. */
static guint8
get_value (gint x, gint y)
{
  if (x == WIDTH - 1 && y == 0)
    return 9;
  if (y < 12 || y >= 36 || x < 8 || x >= 56)
    return 0;
  return x < 28 ? 3 : x >= 36 ? 5 : 0;
}

/* The colour of a value: as DAVIS has it, or a gray. */
static png_color
get_colour (guint i, gboolean gray)
{
  const guint8 level = i * 255 / 9;
  png_color colour = { level, level, level };

  if (!gray) {
    colour.red = (i & 1) << 7 | (i >> 3 & 1) << 6;
    colour.green = (i & 2) << 6;
    colour.blue = (i & 4) << 5;
  }
  return colour;
}

static void
write_file (gint type, gboolean gray)
{
  FILE *to = g_fopen (sam_file, "wb");
  png_structp png = png_create_write_struct (PNG_LIBPNG_VER_STRING, NULL, NULL,
      NULL);
  png_infop info = png_create_info_struct (png);
  png_color palette[10];
  guint8 row[3 * WIDTH] = { 0, };
  gint x, y;

  for (x = 0; x < 10; x++)
    palette[x] = get_colour (x, gray);
  png_init_io (png, to);
  png_set_IHDR (png, info, WIDTH, HEIGHT, 8, type, PNG_INTERLACE_NONE, 0, 0);
  if (type == PNG_COLOR_TYPE_PALETTE)
    png_set_PLTE (png, info, palette, 10);
  png_write_info (png, info);
  for (y = 0; y < HEIGHT; y++) {
    for (x = 0; x < WIDTH; x++)
      row[type == PNG_COLOR_TYPE_RGB ? 3 * x : x] = get_value (x, y);
    png_write_row (png, row);
  }
  png_write_end (png, info);
  png_destroy_write_struct (&png, &info);
  fclose (to);
}

static GstHarness *
open_track (const gchar * properties)
{
  gchar *launch = g_strdup_printf ("samtrack %s", properties);
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT);

  g_free (launch);
  return h;
}

static GstHarness *
open_with (const gchar * properties, const gchar * keys)
{
  gchar *all = g_strdup_printf ("%s initial-prompt=\"mask,location=%s%s\"",
      properties, sam_file, keys);
  GstHarness *h = open_track (all);

  g_free (all);
  return h;
}

static void
send_prompt (GstHarness * h, const gchar * format, ...)
{
  va_list args;
  gchar *text;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_signal_emit_by_name (h->element, "prompt", text);
  g_free (text);
}

/* One warning was posted, and it says that text. */
static void
check_warning (GstBus * bus, const gchar * says)
{
  gchar *text = NULL;

  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, says) != NULL, "'%s' does not say '%s'", text,
      says);
  g_free (text);
}

/* An object is where the file has that value: on the first frame its mask is
 * the prompt, to a pixel or two of the model's. */
static void
check_object (const GstStructure * meta, guint i, guint64 id, guint8 value,
    const gchar * label)
{
  const GstStructure *object = sam_get_object (meta, i);
  const gint x0 = value == 3 ? 8 : value == 5 ? 36 : 8;
  const gint x1 = value == 3 ? 28 : 56;

  fail_unless_equals_uint64 (sam_get_id (meta, i), id);
  fail_unless (ABS (sam_get_int (object, "x") - x0) <= 3 &&
      ABS (sam_get_int (object, "x") + sam_get_int (object, "w") - x1) <= 3,
      "object %u: x %d, w %d", i, sam_get_int (object, "x"),
      sam_get_int (object, "w"));
  fail_unless_equals_string (gst_structure_get_string (object, "label"), label);
}

GST_START_TEST (test_an_object_per_value)
{
  GstHarness *h;
  GstBuffer *buf;

  write_file (PNG_COLOR_TYPE_PALETTE, FALSE);
  h = open_with ("", ",label=\\\"red block\\\"");
  buf = sam_harness_run (h, 0);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 3);
  check_object (sam_get_meta (buf), 0, 1, 3, "red block");
  check_object (sam_get_meta (buf), 1, 2, 5, "red block");
  gst_buffer_unref (buf);
  /* later, too, and whoever is first in the queue behind it comes after it */
  send_prompt (h, "clear");
  send_prompt (h, "mask,location=%s,value=5;" SQUARE_BOX, sam_file);
  buf = sam_harness_run (h, 1);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
  check_object (sam_get_meta (buf), 0, 4, 5, NULL);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Pictures with grays are no maps of objects, but a value may be chosen. */
GST_START_TEST (test_a_gray_picture_is_one_object)
{
  static const gint types[] = { PNG_COLOR_TYPE_PALETTE, PNG_COLOR_TYPE_GRAY,
    PNG_COLOR_TYPE_RGB
  };
  GstHarness *h;
  GstBuffer *buf;
  GstBus *bus;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (types); i++) {
    write_file (types[i], TRUE);
    h = open_with ("", "");
    bus = sam_harness_add_bus (h);
    buf = sam_harness_run (h, 0);
    fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
    gst_buffer_unref (buf);
    send_prompt (h, "mask,location=%s,value=5", sam_file);
    buf = sam_harness_run (h, 1);
    if (types[i] == PNG_COLOR_TYPE_RGB) {
      check_warning (bus, "expects a picture with a palette, or gray");
    } else {
      fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
      check_object (sam_get_meta (buf), 1, 2, 5, NULL);
    }
    gst_buffer_unref (buf);
    sam_harness_close (h, bus);
  }
}

GST_END_TEST;

GST_START_TEST (test_values_that_are_refused)
{
  GstHarness *h;
  GstBuffer *buf;
  GstBus *bus;

  write_file (PNG_COLOR_TYPE_PALETTE, FALSE);
  h = open_with ("max-objects=2", "");
  bus = sam_harness_add_bus (h);
  buf = sam_harness_run (h, 0);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
  gst_buffer_unref (buf);
  check_warning (bus, "max-objects is 2");
  send_prompt (h, "mask,location=%s,value=4,id=1", sam_file);
  gst_buffer_unref (sam_harness_run (h, 1));
  check_warning (bus, "no pixel has the value 4, there are 0, 3, 5, 9");
  send_prompt (h, "mask,location=%s,id=1", sam_file);
  gst_buffer_unref (sam_harness_run (h, 2));
  check_warning (bus, "the values 3, 5, 9: 'value' chooses one");
  send_prompt (h, "mask,location=%s,value=5,id=1", sam_file);
  buf = sam_harness_run (h, 3);
  check_object (sam_get_meta (buf), 0, 1, 5, NULL);
  gst_buffer_unref (buf);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static void
check_label (GstHarness * h, guint n, const gchar * label)
{
  GstBuffer *buf = sam_harness_run (h, n);
  GstVideoRegionOfInterestMeta *roi = (GstVideoRegionOfInterestMeta *)
      gst_buffer_get_meta (buf, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);

  fail_unless_equals_string (gst_structure_get_string (sam_get_object
          (sam_get_meta (buf), 0), "label"), label);
  fail_unless (roi != NULL);
  fail_unless_equals_string (g_quark_to_string (roi->roi_type), label);
  gst_buffer_unref (buf);
}

/* From a prompt of any kind, a later one replaces it; it is saved. */
GST_START_TEST (test_labels)
{
  GstHarness *h = open_track ("initial-prompt=\"" SQUARE_BOX ",label=a\"");
  gboolean ok = FALSE;

  check_label (h, 0, "a");
  send_prompt (h, SQUARE_POINT ",id=1");
  check_label (h, 1, "a");
  send_prompt (h, SQUARE_POINT ",id=1,label=\"\u00fc \\\"b\\\",\x1f;\"");
  check_label (h, 2, "\u00fc \"b\",\x1f;");
  g_signal_emit_by_name (h->element, "save-tracks", sam_file, &ok);
  fail_unless (ok);
  gst_harness_teardown (h);
  h = open_track ("");
  gst_buffer_unref (sam_harness_run (h, 0));
  g_signal_emit_by_name (h->element, "load-tracks", sam_file, &ok);
  fail_unless (ok);
  check_label (h, 1, "\u00fc \"b\",\x1f;");
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
values_suite (void)
{
  Suite *s = suite_create ("values");
  TCase *tc = sam_tcase_new (s, "values");

  tcase_add_checked_fixture (tc, setup, sam_folder_remove);
  tcase_add_test (tc, test_an_object_per_value);
  tcase_add_test (tc, test_a_gray_picture_is_one_object);
  tcase_add_test (tc, test_values_that_are_refused);
  tcase_add_test (tc, test_labels);
  return s;
}

GST_CHECK_MAIN (values);
