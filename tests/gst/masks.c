/* Masks as prompts: samples that are not what they say. */

#include "samcheck.h"

#include <string.h>

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
  /* the truth, with room around it */
  {64, 48, 64 * 48, GRAY, 64, 48, 0, 64, NULL},
  {60, 44, 64 * 48, GRAY, 64, 48, 0, 64, NULL},
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
  gst_element_set_bus (h->element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (h);
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
  gst_element_set_bus (h->element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (h);
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
  return s;
}

GST_CHECK_MAIN (masks);
