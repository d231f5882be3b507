/* SPDX-License-Identifier: MIT */
/* Masks as prompts: samples that are not what they say, files that are none,
 * and large ones. */

#define _GNU_SOURCE
#include "samcheck.h"

#include <glib/gstdio.h>
#include <math.h>
#include <png.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static guint64
add_mask (GstHarness * h, GstBuffer * pixels, const gchar * caps_text)
{
  GstCaps *caps = gst_caps_from_string (caps_text);
  GstSample *mask = gst_sample_new (pixels, caps, NULL, NULL);
  guint64 id = 0;

  g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0), mask,
      &id);
  gst_sample_unref (mask);
  gst_buffer_unref (pixels);
  gst_caps_unref (caps);
  return id;
}

/* One warning was posted, and it says that word. */
static void
check_refused (GstBus * bus, const gchar * word)
{
  gchar *text = NULL;

  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, word) != NULL, "'%s' does not say '%s'", text,
      word);
  g_free (text);
}

typedef struct
{
  gint width, height;           /* of the caps, GRAY8 */
  gsize size;                   /* of the buffer */
  GstVideoFormat format;        /* of the meta, and all that follows */
  guint meta_width, meta_height;
  gsize offset;
  gint stride;
  const gchar *word;            /* of the refusal, NULL: it is taken */
} Lie;

#define HUGE_OFFSET ((gsize) -64)
#define GRAY GST_VIDEO_FORMAT_GRAY8

static const Lie lies[] = {
  /* the truth, with room around it, and upside down */
  {64, 48, 64 * 48, GRAY, 64, 48, 0, 64, NULL},
  {60, 44, 64 * 48, GRAY, 64, 48, 0, 64, NULL},
  {64, 48, 64 * 48, GRAY, 64, 48, 64 * 47, -64, NULL},
  {1, 1, 1, GRAY, 1, 1, 0, 1, NULL},
  /* 16 bytes for 16 MiB */
  {4096, 4096, 16, GRAY, 4096, 4096, 0, 4096, "16 bytes"},
  /* one row, one byte too long */
  {64, 48, 64 * 47, GRAY, 64, 48, 0, 64, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, 1, 64, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, 0, 65, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, 64 * 47 - 1, -64, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, 0, -64, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, 0, 63, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, 0, 0, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, 0, G_MININT, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, 0, G_MAXINT, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, HUGE_OFFSET, 64, "plane 0"},
  {64, 48, 64 * 48, GRAY, 64, 48, 64 * 48, 64, "plane 0"},
  /* another picture than that of the caps */
  {64, 64, 64 * 64 * 3, GST_VIDEO_FORMAT_RGB, 64, 64, 0, 192, "RGB"},
  {64, 64, 64 * 64, GRAY, 8, 8, 0, 8, "8 x 8"},
  {64, 64, 64 * 64, GRAY, 64, 63, 0, 64, "64 x 63"},
  /* sizes that no mask has */
  {0, 0, 16, GRAY, 16, 1, 0, 16, "0 x 0"},
  {100000, 1, 100000, GRAY, 100000, 1, 0, 100000, "100000 x 1"},
  {1, 16385, 16385, GRAY, 1, 16385, 0, 1, "1 x 16385"},
};

GST_START_TEST (test_masks_whose_meta_lies)
{
  const Lie *lie = &lies[__i__];
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  GstBuffer *pixels = gst_buffer_new_allocate (NULL, lie->size, NULL), *buf;
  gsize offset[GST_VIDEO_MAX_PLANES] = { lie->offset };
  gint stride[GST_VIDEO_MAX_PLANES] = { lie->stride };
  gchar *caps = g_strdup_printf ("video/x-raw,format=GRAY8,width=%d,"
      "height=%d,framerate=0/1", lie->width, lie->height);
  guint64 id;

  gst_buffer_memset (pixels, 0, 255, lie->size);
  gst_buffer_add_video_meta_full (pixels, GST_VIDEO_FRAME_FLAG_NONE,
      lie->format, lie->meta_width, lie->meta_height, 1, offset, stride);
  id = add_mask (h, pixels, caps);
  fail_unless_equals_uint64 (id, lie->word == NULL);
  if (lie->word)
    check_refused (bus, lie->word);
  buf = sam_harness_run (h, 0);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)),
      lie->word == NULL);
  gst_buffer_unref (buf);
  g_free (caps);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Fields of interlace-mode=alternate have half as many rows as their caps say.
 */
GST_START_TEST (test_half_a_mask_is_refused)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);

  fail_unless_equals_uint64 (add_mask (h, gst_buffer_new_allocate (NULL,
              4096 * 2048, NULL), "video/x-raw(format:Interlaced),"
          "format=GRAY8,width=4096,height=4096,interlace-mode=alternate,"
          "framerate=0/1"), 0);
  check_refused (bus, "plane 0");
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Samples may wait for the element to start, but not any number of them. */
GST_START_TEST (test_samples_before_the_start)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstBus *bus = gst_bus_new ();
  GstHarness *h;
  GstBuffer *buf;
  guint i, taken = 0;

  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  for (i = 0; i < 6; i++) {
    GstCaps *caps = gst_caps_from_string ("video/x-raw,format=GRAY8,"
        "width=4096,height=4096,framerate=0/1");
    GstBuffer *pixels = gst_buffer_new_allocate (NULL, 4096 * 4096, NULL);
    GstSample *mask;
    guint64 id;

    gst_buffer_memset (pixels, 0, 1, 4096 * 4096);
    mask = gst_sample_new (pixels, caps, NULL, NULL);
    g_signal_emit_by_name (element, "add-mask", G_GUINT64_CONSTANT (0), mask,
        &id);
    taken += id != 0;
    gst_sample_unref (mask);
    gst_buffer_unref (pixels);
    gst_caps_unref (caps);
  }
  fail_unless_equals_int (taken, 4);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      2);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  buf = sam_harness_run (h, 0);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 4);
  gst_buffer_unref (buf);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_object_unref (element);
  gst_harness_teardown (h);
}

GST_END_TEST;

static gboolean
is_in_blob (gint x, gint y, gint width, gint height)
{
  const gdouble fx = (x + 0.5) / width - 0.4, fy = (y + 0.5) / height - 0.5;

  return fx * fx + fy * fy < 0.06 && fmod (fx * 40, 1) < 0.8;
}

/* A PNG of the blob in memory; its name as long as *fd is open. */
static gchar *
write_blob (gint width, gint height, int *fd)
{
  gchar *name;
  png_structp png = png_create_write_struct (PNG_LIBPNG_VER_STRING, NULL, NULL,
      NULL);
  png_infop info = png_create_info_struct (png);
  guint8 *row = g_malloc (width);
  FILE *file;
  gint x, y;

  *fd = memfd_create ("mask.png", 0);
  name = g_strdup_printf ("/proc/self/fd/%d", *fd);
  file = g_fopen (name, "wb");
  png_init_io (png, file);
  png_set_IHDR (png, info, width, height, 8, PNG_COLOR_TYPE_GRAY,
      PNG_INTERLACE_NONE, 0, 0);
  png_write_info (png, info);
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++)
      row[x] = is_in_blob (x, y, width, height) ? 1 : 0;
    png_write_row (png, row);
  }
  png_write_end (png, info);
  png_destroy_write_struct (&png, &info);
  fclose (file);
  g_free (row);
  return name;
}

static guint64
get_peak_kib (void)
{
  gchar *text = NULL, *at;
  guint64 kib;

  fail_unless (g_file_get_contents ("/proc/self/status", &text, NULL, NULL));
  at = strstr (text, "VmHWM:");
  fail_unless (at != NULL);
  kib = g_ascii_strtoull (at + 6, NULL, 10);
  g_free (text);
  return kib;
}

/* 64 Mi pixels, twenty times: what was kept of each was one byte per pixel. */
GST_START_TEST (test_large_masks_take_little_memory)
{
  GstHarness *h = sam_harness_new ("samtrack max-objects=20",
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GString *text = g_string_new (NULL);
  GstBuffer *buf;
  guint64 before, after;
  gchar *name;
  gint i, fd;

  name = write_blob (16384, 4096, &fd);
  for (i = 0; i < 20; i++)
    g_string_append_printf (text, "mask,location=%s;", name);
  gst_harness_set_live (h, FALSE);
  gst_buffer_unref (sam_harness_run (h, 0));
  before = get_peak_kib ();
  g_signal_emit_by_name (h->element, "prompt", text->str);
  buf = sam_harness_run (h, 1);
  after = get_peak_kib ();
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 20);
  fail_unless (after - before < 100 * 1024, "%" G_GUINT64_FORMAT " MiB more",
      (after - before) / 1024);
  gst_buffer_unref (buf);
  g_string_free (text, TRUE);
  close (fd);
  g_free (name);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The label map of the frame that the mask is for. */
static GstBuffer *
track_mask (GstHarness * h, const gchar * text, GstSample * sample)
{
  GstBuffer *buf, *labels;
  guint64 id;

  gst_harness_set_live (h, FALSE);
  if (text)
    g_signal_emit_by_name (h->element, "prompt", text);
  else
    g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0),
        sample, &id);
  buf = sam_harness_run (h, 0);
  labels = gst_buffer_copy_deep (gst_value_get_buffer (gst_structure_get_value
          (sam_get_meta (buf), "mask")));
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
  return labels;
}

/* From a file or from a sample, and upside down in memory or not: the same
 * pixels give the same label map, and it is the blob. */
GST_START_TEST (test_files_and_samples_are_one)
{
  static const gint sizes[][2] = { {64, 48}, {37, 211}, {1500, 1000} };
  const gint w = sizes[__i__][0], h = sizes[__i__][1];
  gsize offset[GST_VIDEO_MAX_PLANES] = { (gsize) (h - 1) * w };
  gint stride[GST_VIDEO_MAX_PLANES] = { -w }, x, y, k, fd, wrong = 0;
  gchar *name = write_blob (w, h, &fd);
  gchar *text = g_strdup_printf ("mask,location=%s", name);
  gchar *caps_text = g_strdup_printf ("video/x-raw,format=GRAY8,width=%d,"
      "height=%d,framerate=0/1", w, h);
  GstCaps *caps = gst_caps_from_string (caps_text);
  GstBuffer *pixels = gst_buffer_new_allocate (NULL, (gsize) w * h, NULL);
  GstBuffer *label[2];
  GstSample *sample;
  GstMapInfo map;

  gst_buffer_map (pixels, &map, GST_MAP_WRITE);
  for (y = 0; y < h; y++) {
    for (x = 0; x < w; x++)
      map.data[(gsize) (h - 1 - y) * w + x] = is_in_blob (x, y, w, h) ? 7 : 0;
  }
  gst_buffer_unmap (pixels, &map);
  gst_buffer_add_video_meta_full (pixels, GST_VIDEO_FRAME_FLAG_NONE, GRAY, w, h,
      1, offset, stride);
  sample = gst_sample_new (pixels, caps, NULL, NULL);
  for (k = 0; k < 2; k++)
    label[k] = track_mask (sam_harness_new ("samtrack mask-size=model",
            GST_VIDEO_FORMAT_RGB, 64, 64), k ? text : NULL, sample);
  gst_buffer_map (label[0], &map, GST_MAP_READ);
  fail_unless_equals_int (gst_buffer_memcmp (label[1], 0, map.data, map.size),
      0);
  /* a label map of 16 x 16: only edges may differ */
  fail_unless_equals_int (map.size, 16 * 16);
  for (k = 0; k < 16 * 16; k++)
    wrong += !map.data[k] != !is_in_blob (k % 16, k / 16, 16, 16);
  fail_unless (wrong < 40, "%d of 256 differ", wrong);
  gst_buffer_unmap (label[0], &map);
  gst_buffer_unref (label[0]);
  gst_buffer_unref (label[1]);
  gst_sample_unref (sample);
  gst_buffer_unref (pixels);
  gst_caps_unref (caps);
  close (fd);
  g_free (name);
  g_free (text);
  g_free (caps_text);
}

GST_END_TEST;

static gchar *
make_pipe (gchar ** folder)
{
  gchar *name;

  *folder = g_dir_make_tmp ("samtrack-XXXXXX", NULL);
  name = g_build_filename (*folder, "pipe.png", NULL);
  fail_unless_equals_int (mkfifo (name, 0600), 0);
  return name;
}

static void
remove_pipe (gchar * folder, gchar * name)
{
  g_remove (name);
  g_rmdir (folder);
  g_free (name);
  g_free (folder);
}

/* A pipe that nobody writes to: at the start, and in an event of the stream. */
GST_START_TEST (test_a_pipe_in_the_initial_prompt)
{
  gchar *folder, *name = make_pipe (&folder);
  gchar *text = g_strdup_printf ("mask,location=%s", name);
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstBus *bus = gst_bus_new ();

  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  g_object_set (element, "initial-prompt", text, NULL);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED),
      GST_STATE_CHANGE_SUCCESS);
  check_refused (bus, "is not a regular file");
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_object_unref (element);
  g_free (text);
  remove_pipe (folder, name);
}

GST_END_TEST;

GST_START_TEST (test_a_pipe_in_an_event)
{
  gchar *folder, *name = make_pipe (&folder);
  gchar *text = g_strdup_printf ("mask,location=%s", name);
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);

  gst_harness_push_event (h, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
          gst_structure_new ("samtrack-prompt", "prompt", G_TYPE_STRING, text,
              NULL)));
  check_refused (bus, "is not a regular file");
  gst_buffer_unref (sam_harness_run (h, 0));
  g_free (text);
  sam_harness_close (h, bus);
  remove_pipe (folder, name);
}

GST_END_TEST;

static Suite *
masks_suite (void)
{
  Suite *s = suite_create ("masks");
  TCase *tc = sam_tcase_new_tiny (s, "samples");

  tcase_add_loop_test (tc, test_masks_whose_meta_lies, 0,
      G_N_ELEMENTS (lies));
  tcase_add_test (tc, test_half_a_mask_is_refused);
  tcase_add_test (tc, test_samples_before_the_start);
  tc = sam_tcase_new_tiny (s, "files");
  tcase_add_test (tc, test_large_masks_take_little_memory);
  tcase_add_loop_test (tc, test_files_and_samples_are_one, 0, 3);
  tc = sam_tcase_new_tiny (s, "pipes");
  tcase_set_timeout (tc, 30);
  tcase_add_test (tc, test_a_pipe_in_the_initial_prompt);
  tcase_add_test (tc, test_a_pipe_in_an_event);
  return s;
}

GST_CHECK_MAIN (masks);
