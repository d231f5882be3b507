/* SPDX-License-Identifier: MIT */
/* Masks of detectors upstream, as samtrack reads them: against the same pixels
 * looked up one by one, in 8 and 16 bits, with strides of their own, wherever
 * their rectangle lies. What cannot be read is none. */

#include "samcheck.h"

#include <string.h>

#include "common/gstsamfound.h"

#define W 96
#define H 64

/* The value of a mask's pixel: a pattern without symmetry. */
static gboolean
is_set (gint u, gint v)
{
  return (u * 7 + v * 13 + u * v) % 5 < 2;
}

static GstBuffer *
new_mask (GstVideoFormat format, gint width, gint height, gint padding)
{
  const gint bytes = format == GST_VIDEO_FORMAT_GRAY8 ? 1 : 2;
  gint stride[4] = { width * bytes + padding };
  gsize offset[4] = { 3 };
  GstBuffer *mask = gst_buffer_new_allocate (NULL, 3 + stride[0] * height,
      NULL);
  GstMapInfo map;
  gint u, v;

  gst_buffer_map (mask, &map, GST_MAP_WRITE);
  memset (map.data, 0xaa, map.size);    /* of the padding nothing is read */
  for (v = 0; v < height; v++) {
    for (u = 0; u < width; u++) {
      guint8 *p = map.data + 3 + v * stride[0] + u * bytes;

      memset (p, 0, bytes);
      /* 256 in 16 bits: one of its bytes is 0 */
      p[format == GST_VIDEO_FORMAT_GRAY16_LE] = is_set (u, v);
    }
  }
  gst_buffer_unmap (mask, &map);
  gst_buffer_add_video_meta_full (mask, GST_VIDEO_FRAME_FLAG_NONE, format,
      width, height, 1, offset, stride);
  return mask;
}

static const struct
{
  GstVideoFormat format;
  gint width, height, padding;
  gint x, y;
  guint w, h;
} masks[] = {
  {GST_VIDEO_FORMAT_GRAY8, W, H, 0, 0, 0, W, H},
  {GST_VIDEO_FORMAT_GRAY8, 12, 9, 5, 20, 11, 36, 27},
  {GST_VIDEO_FORMAT_GRAY8, 40, 30, 0, 10, 10, 20, 15},
  {GST_VIDEO_FORMAT_GRAY16_LE, 12, 9, 2, -10, -7, 36, 27},
  {GST_VIDEO_FORMAT_GRAY16_BE, 12, 9, 0, 80, 50, 36, 27},
  {GST_VIDEO_FORMAT_GRAY8, 3, 3, 0, 500, 0, 3, 3},
  {GST_VIDEO_FORMAT_GRAY8, 1, 1, 0, G_MININT, G_MININT, G_MAXUINT, G_MAXUINT},
};

/* The pixel of the mask at a pixel's middle of the frame, in doubles. */
static guint8
look_up (guint i, gdouble px, gdouble py)
{
  const gdouble u = (px - masks[i].x) * masks[i].width / masks[i].w;
  const gdouble v = (py - masks[i].y) * masks[i].height / masks[i].h;

  return u >= 0 && v >= 0 && u < masks[i].width && v < masks[i].height &&
      is_set (u, v) ? 255 : 0;
}

static void
check_size (const GstSamFind * find, guint i, gint width, gint height)
{
  guint8 pixels[128 * 130];
  GstVideoInfo info;
  gint x, y;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, W, H);
  memset (pixels, 1, sizeof pixels);
  fail_unless (gst_sam_find_draw (find, &info, pixels, width, height, 130));
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++)
      fail_unless (pixels[y * 130 + x] == look_up (i, (x + 0.5) * W / width,
              (y + 0.5) * H / height), "mask %u, pixel (%d, %d) of %d x %d", i,
          x, y, width, height);
    fail_unless (pixels[y * 130 + width] == 1);
  }
}

GST_START_TEST (test_masks)
{
  GstSamFind find = { 0, };
  GstVideoInfo info;
  GstSample *sample;

  find.mask = new_mask (masks[__i__].format, masks[__i__].width,
      masks[__i__].height, masks[__i__].padding);
  find.x = masks[__i__].x;
  find.y = masks[__i__].y;
  find.w = masks[__i__].w;
  find.h = masks[__i__].h;
  check_size (&find, __i__, W, H);
  check_size (&find, __i__, 128, 128);
  check_size (&find, __i__, 5, 3);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, W, H);
  sample = gst_sam_find_get_mask (&find, &info);
  fail_unless (sample != NULL);
  fail_unless_equals_int (gst_buffer_get_size (gst_sample_get_buffer (sample)),
      W * H);
  gst_sample_unref (sample);
  gst_buffer_unref (find.mask);
}

GST_END_TEST;

/* Without a meta, of another format, with rows beyond its memory, of no size:
 * a box alone. */
GST_START_TEST (test_what_cannot_be_read)
{
  gsize offset[4] = { 0 };
  gint stride[4] = { 1 << 30 };
  GstSamFind find = { 0, };
  guint8 pixels[4];
  GstVideoInfo info;
  guint i;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, W, H);
  for (i = 0; i < 5; i++) {
    find.w = find.h = i == 3 ? 0 : 4;
    find.mask = i < 4 ? gst_buffer_new_allocate (NULL, 16, NULL) : NULL;
    if (i == 1)
      gst_buffer_add_video_meta (find.mask, GST_VIDEO_FRAME_FLAG_NONE,
          GST_VIDEO_FORMAT_RGBA, 2, 2);
    else if (i == 2)
      gst_buffer_add_video_meta_full (find.mask, GST_VIDEO_FRAME_FLAG_NONE,
          GST_VIDEO_FORMAT_GRAY8, 4, 4, 1, offset, stride);
    else if (i == 3)
      gst_buffer_add_video_meta (find.mask, GST_VIDEO_FRAME_FLAG_NONE,
          GST_VIDEO_FORMAT_GRAY8, 4, 4);
    fail_if (gst_sam_find_draw (&find, &info, pixels, 2, 2, 2), "%u", i);
    fail_unless (gst_sam_find_get_mask (&find, &info) == NULL);
    gst_clear_buffer (&find.mask);
  }
}

GST_END_TEST;

static Suite *
found_suite (void)
{
  Suite *s = suite_create ("found");
  TCase *tc = sam_tcase_new (s, "found");

  tcase_add_loop_test (tc, test_masks, 0, G_N_ELEMENTS (masks));
  tcase_add_test (tc, test_what_cannot_be_read);
  return s;
}

GST_CHECK_MAIN (found);
