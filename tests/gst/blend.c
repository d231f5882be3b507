/* SPDX-License-Identifier: MIT */
/* Blending against GstVideo's own, to the bit, on every format it knows. */

#include "samcheck.h"

#include "overlay/gstsamblend.h"

#include <gst/video/video-blend.h>
#include <gst/video/video-overlay-composition.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEED 20

/* Runs of a few colours, and noise; opaque, translucent and nothing. */
static void
draw_layer (GRand * rand, guint32 * pixels, guint n)
{
  guint32 colour[6];
  guint i, k, end;

  for (i = 0; i < G_N_ELEMENTS (colour); i++)
    colour[i] = g_rand_int (rand);
  colour[0] |= GUINT32_TO_LE (0xff000000u);     /* opaque */
  colour[1] = 0;
  for (i = 0; i < n; i = end) {
    k = g_rand_int_range (rand, 0, 8);
    end = i + g_rand_int_range (rand, 1, k < 6 ? 150 : 9);
    end = MIN (n, end);
    for (; i < end; i++)
      pixels[i] = k < 6 ? colour[k] : g_rand_int (rand);
  }
}

/* The bytes of a plane where GstVideo lays out the frame. */
static gsize
get_plane_size (const GstVideoInfo * like, guint i)
{
  GstVideoInfo info;

  gst_video_info_set_interlaced_format (&info, GST_VIDEO_INFO_FORMAT (like),
      GST_VIDEO_INFO_INTERLACE_MODE (like), like->width, like->height);
  return (i + 1 < GST_VIDEO_INFO_N_PLANES (&info) ? info.offset[i + 1] :
      info.size) - info.offset[i];
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

/* gst_video_frame_copy() takes other tiles than there are for some formats. */
static void
copy_frame (GstVideoFrame * to, const GstVideoFrame * from)
{
  guint i;

  if (!GST_VIDEO_FORMAT_INFO_IS_TILED (from->info.finfo)) {
    fail_unless (gst_video_frame_copy (to, from));
    return;
  }
  for (i = 0; i < GST_VIDEO_FRAME_N_PLANES (from); i++)
    memcpy (to->data[i], from->data[i], get_plane_size (&from->info, i));
}

/* The same frame whose planes begin, and whose rows follow each other, at
 * @skew (0: any) bytes from where they could. */
static GstBuffer *
skew_frame (GRand * rand, const GstVideoInfo * info, GstBuffer * from,
    guint skew)
{
  const guint planes = GST_VIDEO_INFO_N_PLANES (info);
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0, }, size = 0;
  gint stride[GST_VIDEO_MAX_PLANES] = { 0, };
  GstVideoFrame a, b;
  GstBuffer *buf;
  guint i;

  for (i = 0; i < planes; i++) {
    stride[i] = info->stride[i];
    if (!GST_VIDEO_FORMAT_INFO_IS_TILED (info->finfo))
      stride[i] += skew ? skew : (guint) g_rand_int_range (rand, 0, 16);
    offset[i] = size + (skew ? skew : (guint) g_rand_int_range (rand, 0, 16));
    size = offset[i] + info->size + 16 * (info->height + 4);
  }
  buf = gst_buffer_new_allocate (NULL, size, NULL);
  gst_buffer_memset (buf, 0, 0, size);
  gst_buffer_add_video_meta_full (buf, 0, GST_VIDEO_INFO_FORMAT (info),
      info->width, info->height, planes, offset, stride);
  fail_unless (gst_video_frame_map (&a, info, from, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&b, info, buf, GST_MAP_WRITE));
  copy_frame (&b, &a);
  gst_video_frame_unmap (&a);
  gst_video_frame_unmap (&b);
  return buf;
}

/* A pixel of alpha 0 may keep its colour: it is not blended. */
static void
check_clear (const GstSamLayer * layer)
{
  gint x, y;

  for (y = 0; y < layer->h; y++) {
    for (x = 0; x < layer->w; x++)
      fail_unless (GUINT32_FROM_LE (layer->pixels[y * layer->stride + x]) <
          1 << 24, "pixel %d, %d of the layer was left", x, y);
  }
}

/* skew -1: the layout that GstVideo gives a frame. */
static void
check_layer (GstVideoFormat format, gint width, gint height, gint skew,
    GstVideoInterlaceMode mode, GRand * rand)
{
  GstSamLayer layer = {.yuv = FALSE };
  GstVideoFrame over = { 0, }, ours, theirs, plain;
  GstBuffer *buf, *copy, *skewed;
  GstVideoInfo info;
  guint32 *pixels;
  guint differences;
  gpointer scratch;

  gst_video_info_set_interlaced_format (&info, format, mode, width, height);
  layer.yuv = GST_VIDEO_INFO_IS_YUV (&info) || GST_VIDEO_INFO_IS_GRAY (&info);
  layer.x = g_rand_int_range (rand, 0, width) & ~1;
  layer.y = g_rand_int_range (rand, 0, height) & ~1;
  layer.w = g_rand_int_range (rand, 1, width - layer.x + 1);
  layer.h = g_rand_int_range (rand, 1, height - layer.y + 1);
  layer.stride = layer.w + g_rand_int_range (rand, 0, 5);
  layer.pixels = pixels = g_new (guint32, layer.stride * layer.h);
  draw_layer (rand, pixels, layer.stride * layer.h);
  buf = draw_frame (rand, &info);
  if (mode == GST_VIDEO_INTERLACE_MODE_MIXED)
    GST_BUFFER_FLAG_SET (buf, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  copy = gst_buffer_copy_deep (buf);
  skewed = skew < 0 ? buf : skew_frame (rand, &info, buf, skew);

  fail_unless (gst_video_frame_map (&ours, &info, skewed, GST_MAP_READWRITE));
  gst_video_frame_map (&theirs, &info, copy, GST_MAP_READWRITE);
  gst_video_info_set_format (&over.info, layer.yuv ? GST_VIDEO_FORMAT_VUYA :
      GST_VIDEO_FORMAT_BGRA, layer.w, layer.h);
  over.info.stride[0] = 4 * layer.stride;
  over.data[0] = pixels;
  fail_unless (gst_video_blend (&theirs, &over, layer.x, layer.y, 1));
  scratch = g_malloc (gst_sam_blend_get_scratch (&ours));
  fail_unless (gst_sam_blend (&layer, &ours, scratch));
  check_clear (&layer);
  if (skew >= 0) {
    fail_unless (gst_video_frame_map (&plain, &info, buf, GST_MAP_WRITE));
    copy_frame (&plain, &ours);
    gst_video_frame_unmap (&ours);
    ours = plain;
  }
  differences = count_differences (&ours, &theirs);
  gst_video_frame_unmap (&ours);
  gst_video_frame_unmap (&theirs);
  fail_unless (differences == 0, "%s, %d x %d, skewed by %d, layer %d x %d at "
      "%d, %d, seed %d: %u samples differ", gst_video_format_to_string (format),
      width, height, skew, layer.w, layer.h, layer.x, layer.y, SEED,
      differences);
  gst_buffer_unref (buf);
  gst_buffer_unref (copy);
  if (skewed != buf)
    gst_buffer_unref (skewed);
  g_free (scratch);
  g_free (pixels);
}

/* Even widths where GstVideo is no reference for odd ones: it swaps the last U
 * and V of NV61, writes into the next row of the formats that have no regular
 * places, and gst_video_frame_copy() leaves out the last V of packed ones. */
static gint
get_width (GRand * rand, GstVideoFormat format, gboolean is_copied)
{
  const GstVideoFormatInfo *info = gst_video_format_get_info (format);
  gint width = g_rand_int_range (rand, 1, 200);

  if (format == GST_VIDEO_FORMAT_NV61 ||
      (info->flags & GST_VIDEO_FORMAT_FLAG_COMPLEX) ||
      (is_copied && info->n_planes == 1 && info->n_components > 1 &&
          info->w_sub[1]))
    width = GST_ROUND_UP_2 (width);
  return width;
}

/* All formats, in the layouts that @skew asks for. */
static void
check_formats (gint skew, GstVideoInterlaceMode mode, guint rounds)
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

    for (k = 0; k < rounds; k++) {
      gint width = get_width (rand, format, skew >= 0);

      check_layer (format, width, g_rand_int_range (rand, 1, 20), skew, mode,
          rand);
    }
  }
  g_rand_free (rand);
  gst_caps_unref (caps);
}

GST_START_TEST (test_as_gstvideo_blends)
{
  check_formats (-1, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE, 12);
}

GST_END_TEST;

/* Planes and rows anywhere in memory, against GstVideo on the same frame in its
 * own layout. */
GST_START_TEST (test_planes_and_rows_at_any_address)
{
  check_formats (0, __i__ % 2 ? GST_VIDEO_INTERLACE_MODE_MIXED :
      GST_VIDEO_INTERLACE_MODE_PROGRESSIVE, 6);
  check_formats (__i__, __i__ % 2 ? GST_VIDEO_INTERLACE_MODE_PROGRESSIVE :
      GST_VIDEO_INTERLACE_MODE_MIXED, 2);
}

GST_END_TEST;

/* A frame whose last byte is the last one before a page that cannot be
 * accessed. */
static void
check_end (GstVideoFormat format, gint width, gint height,
    GstVideoInterlaceMode mode)
{
  const gsize page = sysconf (_SC_PAGESIZE);
  GstSamLayer layer = {.w = width,.h = height,.stride = width };
  GstVideoInfo info;
  GstVideoFrame frame;
  GstBuffer *buf;
  guint32 *pixels = g_new (guint32, width * height);
  guint8 *memory;
  gpointer scratch;
  gsize size;

  gst_video_info_set_interlaced_format (&info, format, mode, width, height);
  layer.yuv = GST_VIDEO_INFO_IS_YUV (&info) || GST_VIDEO_INFO_IS_GRAY (&info);
  layer.pixels = pixels;
  memset (pixels, 0x90, 4 * width * height);
  size = (info.size + page - 1) / page * page;
  memory = mmap (NULL, size + page, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fail_unless (memory != MAP_FAILED);
  fail_unless (!mprotect (memory + size, page, PROT_NONE));
  buf = gst_buffer_new_wrapped_full (0, memory + size - info.size, info.size,
      0, info.size, NULL, NULL);
  if (mode == GST_VIDEO_INTERLACE_MODE_MIXED)
    GST_BUFFER_FLAG_SET (buf, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  fail_unless (gst_video_frame_map (&frame, &info, buf, GST_MAP_READWRITE));
  scratch = g_malloc (gst_sam_blend_get_scratch (&frame));
  fail_unless (gst_sam_blend (&layer, &frame, scratch));
  gst_video_frame_unmap (&frame);
  gst_buffer_unref (buf);
  munmap (memory, size + page);
  g_free (scratch);
  g_free (pixels);
}

GST_START_TEST (test_no_byte_behind_the_frame)
{
  GstCaps *caps = gst_caps_from_string
      (GST_VIDEO_CAPS_MAKE (GST_VIDEO_OVERLAY_COMPOSITION_BLEND_FORMATS));
  const GValue *formats =
      gst_structure_get_value (gst_caps_get_structure (caps, 0), "format");
  const guint n = gst_value_list_get_size (formats);
  GstVideoFormat format;
  gint width;
  guint i;

  for (i = 0; i < n; i++) {
    format = gst_video_format_from_string (g_value_get_string
        (gst_value_list_get_value (formats, i)));
    for (width = 1; width < 50; width++) {
      check_end (format, width, 1, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);
      check_end (format, width, 3, GST_VIDEO_INTERLACE_MODE_MIXED);
    }
  }
  fail_unless (n > 80, "%u formats", n);
  gst_caps_unref (caps);
}

GST_END_TEST;

static Suite *
blend_suite (void)
{
  Suite *s = suite_create ("blend");
  TCase *tc = sam_tcase_new (s, "formats");

  tcase_add_test (tc, test_as_gstvideo_blends);
  tcase_add_loop_test (tc, test_planes_and_rows_at_any_address, 1, 9);
  tcase_add_test (tc, test_no_byte_behind_the_frame);
  return s;
}

GST_CHECK_MAIN (blend);
