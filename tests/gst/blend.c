/* Blending against GstVideo's own, to the bit, on every format it knows. */

#include "samcheck.h"

#include "../../gst/gstsamblend.h"

#include <gst/video/video-blend.h>
#include <gst/video/video-overlay-composition.h>
#include <string.h>

#define SEED 20

/* Runs of a few colours, and noise; opaque, translucent and nothing. */
static void
draw_layer (GRand * rand, guint32 * pixels, guint n)
{
  guint32 colour[6];
  guint i, k, end;

  for (i = 0; i < G_N_ELEMENTS (colour); i++)
    colour[i] = g_rand_int (rand);
  colour[0] |= 0xff0000ff;      /* opaque, whichever end alpha is at */
  colour[1] = 0;
  for (i = 0; i < n; i = end) {
    k = g_rand_int_range (rand, 0, 8);
    end = i + g_rand_int_range (rand, 1, k < 6 ? 150 : 9);
    end = MIN (n, end);
    for (; i < end; i++)
      pixels[i] = k < 6 ? colour[k] : g_rand_int (rand);
  }
}

/* @value in the left two thirds of a plane of one byte in @step. */
static void
fill_part (const GstVideoFrame * frame, guint8 * data, gint stride, gint step,
    guint8 value)
{
  gint x, y;

  for (y = 0; y < frame->info.height; y++) {
    for (x = 0; x < frame->info.width * 2 / 3; x++)
      data[y * stride + x * step] = value;
  }
}

/* Noise. Alpha is 255 in a part of half of the frames. */
static GstBuffer *
draw_frame (GRand * rand, const GstVideoInfo * info)
{
  GstBuffer *buf = gst_buffer_new_allocate (NULL, info->size, NULL);
  const gboolean opaque = g_rand_boolean (rand);
  GstVideoFrame frame;
  GstMapInfo map;
  gsize i;

  gst_buffer_map (buf, &map, GST_MAP_WRITE);
  for (i = 0; i < map.size; i++)
    map.data[i] = g_rand_int (rand);
  /* GstVideo takes the x of RGBx for alpha: 255 is what it leaves there */
  if (GST_VIDEO_INFO_IS_RGB (info) && info->finfo->n_components == 3 &&
      info->finfo->pixel_stride[0] == 4) {
    const guint *at = info->finfo->poffset;

    for (i = 6 - at[0] - at[1] - at[2]; i < map.size; i += 4)
      map.data[i] = 255;
  }
  gst_buffer_unmap (buf, &map);
  if (!opaque || GST_VIDEO_INFO_N_COMPONENTS (info) <= GST_VIDEO_COMP_A ||
      GST_VIDEO_INFO_COMP_DEPTH (info, GST_VIDEO_COMP_A) != 8)
    return buf;
  gst_video_frame_map (&frame, info, buf, GST_MAP_WRITE);
  fill_part (&frame, GST_VIDEO_FRAME_COMP_DATA (&frame, GST_VIDEO_COMP_A),
      GST_VIDEO_FRAME_COMP_STRIDE (&frame, GST_VIDEO_COMP_A),
      GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, GST_VIDEO_COMP_A), 255);
  gst_video_frame_unmap (&frame);
  return buf;
}

/* Bytes that belong to no component may differ; where components have no places
 * of their own, no byte may. */
static guint
count_differences (const GstVideoFrame * a, const GstVideoFrame * b)
{
  guint c, differences = 0;
  gint x, y;

  if (a->info.finfo->flags & (GST_VIDEO_FORMAT_FLAG_COMPLEX |
          GST_VIDEO_FORMAT_FLAG_TILED))
    return memcmp (a->data[0], b->data[0], a->info.size) != 0;
  for (c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS (a); c++) {
    for (y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (a, c); y++) {
      const gsize row = (gsize) y * GST_VIDEO_FRAME_COMP_STRIDE (a, c);
      const guint8 *p = GST_VIDEO_FRAME_COMP_DATA (a, c);
      const guint8 *q = GST_VIDEO_FRAME_COMP_DATA (b, c);

      for (x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH (a, c); x++) {
        const gsize at = row + x * GST_VIDEO_FRAME_COMP_PSTRIDE (a, c);

        differences += p[at] != q[at];
      }
    }
  }
  return differences;
}

static void
check_layer (GstVideoFormat format, gint width, gint height, GRand * rand)
{
  GstSamLayer layer = {.yuv = FALSE };
  GstVideoFrame over = { 0, }, ours, theirs;
  GstBuffer *buf, *copy;
  GstVideoInfo info;
  guint32 *pixels;
  guint differences;

  gst_video_info_set_format (&info, format, width, height);
  layer.yuv = GST_VIDEO_INFO_IS_YUV (&info) || GST_VIDEO_INFO_IS_GRAY (&info);
  layer.x = g_rand_int_range (rand, 0, width) & ~1;
  layer.y = g_rand_int_range (rand, 0, height) & ~1;
  layer.w = g_rand_int_range (rand, 1, width - layer.x + 1);
  layer.h = g_rand_int_range (rand, 1, height - layer.y + 1);
  layer.pixels = pixels = g_new (guint32, layer.w * layer.h);
  draw_layer (rand, pixels, layer.w * layer.h);
  buf = draw_frame (rand, &info);
  copy = gst_buffer_copy_deep (buf);

  gst_video_frame_map (&ours, &info, buf, GST_MAP_READWRITE);
  gst_video_frame_map (&theirs, &info, copy, GST_MAP_READWRITE);
  gst_video_info_set_format (&over.info, layer.yuv ? GST_VIDEO_FORMAT_AYUV :
      GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, layer.w, layer.h);
  over.data[0] = pixels;
  fail_unless (gst_video_blend (&theirs, &over, layer.x, layer.y, 1));
  fail_unless (gst_sam_blend (&layer, &ours));
  differences = count_differences (&ours, &theirs);
  gst_video_frame_unmap (&ours);
  gst_video_frame_unmap (&theirs);
  fail_unless (differences == 0, "%s, %d x %d, layer %d x %d at %d, %d, seed "
      "%d: %u samples differ", gst_video_format_to_string (format), width,
      height, layer.w, layer.h, layer.x, layer.y, SEED, differences);
  gst_buffer_unref (buf);
  gst_buffer_unref (copy);
  g_free (pixels);
}

GST_START_TEST (test_as_gstvideo_blends)
{
  GstCaps *caps = gst_caps_from_string
      (GST_VIDEO_CAPS_MAKE (GST_VIDEO_OVERLAY_COMPOSITION_BLEND_FORMATS));
  const GValue *formats =
      gst_structure_get_value (gst_caps_get_structure (caps, 0), "format");
  GRand *rand = g_rand_new_with_seed (SEED);
  guint i, k;

  for (i = 0; i < gst_value_list_get_size (formats); i++) {
    GstVideoFormat format = gst_video_format_from_string (g_value_get_string
        (gst_value_list_get_value (formats, i)));

    for (k = 0; k < 12; k++) {
      gint width = g_rand_int_range (rand, 1, 200);

      /* GstVideo swaps the last U and V of odd lines of it */
      if (format == GST_VIDEO_FORMAT_NV61)
        width = GST_ROUND_UP_2 (width);
      check_layer (format, width, g_rand_int_range (rand, 1, 20), rand);
    }
  }
  g_rand_free (rand);
  gst_caps_unref (caps);
}

GST_END_TEST;

static Suite *
blend_suite (void)
{
  Suite *s = suite_create ("blend");
  TCase *tc = sam_tcase_new (s, "formats");

  tcase_add_test (tc, test_as_gstvideo_blends);
  return s;
}

GST_CHECK_MAIN (blend);
