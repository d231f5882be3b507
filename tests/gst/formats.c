/* SPDX-License-Identifier: MIT */
/* Every pixel format, stride and colorimetry says the same to the engine as the
 * RGBA that GstVideo makes of it: the picture that the network would see is
 * compared, number by number. */

#include "samcheck.h"

#include "common/gstsamframe.h"
#include "common/gstsamunpack.h"
#include "ops/backends.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

/* Side of the network's picture, px. */
#define SIDE 96

/* GstVideo computes with integers and widens 8 bits to 16 by repeating them,
 * which moves limited ranges a little: the worst of all that follows is 2.1 of
 * 255 levels. A wrong matrix, range or order of channels is off by 8 and more,
 * see test_wrong_colours_would_be_seen. */
#define SAME_LEVELS 3.0
/* Of single pixels of random colours, saturated ones among them; RGBA is rounded.
 */
#define SAME_PIXELS 3.5

typedef struct
{
  gfloat value[SIDE * SIDE * 3];
} Picture;

/* What the reference operation makes of the frame, by way of RGBA where it does
 * not read the format. */
static Picture *
see (const GstVideoInfo * given, GstBuffer * buf)
{
  const gboolean unpacks = !gst_sam_frame_has_engine_format (given);
  GstVideoInfo own = *given;
  const GstVideoInfo *info = &own;
  GstSamUnpack unpack = { NULL, };
  gchar *why = NULL;
  Picture *picture = g_new0 (Picture, 1);
  struct sam_preprocess p = {.dst = {picture->value, SAM_F32, 1, SIDE, SIDE, 3}
  };
  const struct sam_log log = { NULL, NULL };
  struct sam_error error = { "" };
  struct sam_queue queue;
  GstVideoFrame frame;

  if (unpacks) {
    gst_sam_unpack_describe (&own, given);
    buf = gst_sam_unpack (&unpack, given, buf, &why);
    fail_unless (buf != NULL, "%s", why);
  }
  fail_unless (gst_video_frame_map (&frame, info, buf, GST_MAP_READ));
  gst_sam_frame_describe (&p.frame, &frame);
  fail_unless (sam_queue_open (&queue, SAM_BACKEND_REF, -1, SAM_PRECISION_FP32,
          1, &log, &error) == SAM_OK, "%s", error.text);
  sam_op_preprocess (&queue, &p);
  fail_unless (sam_queue_finish (&queue, &error) == SAM_OK, "%s", error.text);
  sam_queue_close (&queue);
  gst_video_frame_unmap (&frame);
  gst_sam_unpack_clear (&unpack);
  return picture;
}

static void
set_info (GstVideoInfo * info, GstVideoFormat format, gint width, gint height,
    const gchar * colorimetry)
{
  gst_video_info_set_format (info, format, width, height);
  info->fps_n = 30;
  info->fps_d = 1;
  if (colorimetry)
    fail_unless (gst_video_colorimetry_from_string (&info->colorimetry,
            colorimetry));
}

static GstBuffer *
convert (const GstVideoInfo * from, GstBuffer * buf, const GstVideoInfo * to)
{
  GstVideoConverter *converter;
  GstVideoFrame in, out;
  GstBuffer *made = gst_buffer_new_allocate (NULL, to->size, NULL);

  fail_unless (gst_video_frame_map (&in, from, buf, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&out, to, made, GST_MAP_WRITE));
  converter = gst_video_converter_new (from, to,
      gst_structure_new ("options", GST_VIDEO_CONVERTER_OPT_DITHER_METHOD,
          GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE,
          GST_VIDEO_CONVERTER_OPT_CHROMA_MODE, GST_TYPE_VIDEO_CHROMA_MODE,
          GST_VIDEO_CHROMA_MODE_NONE, NULL));
  gst_video_converter_frame (converter, &in, &out);
  gst_video_converter_free (converter);
  gst_video_frame_unmap (&in);
  gst_video_frame_unmap (&out);
  return made;
}

/* By way of 16 bits a channel: the 8-bit paths of GstVideo are off by up to 5.
 */
static GstBuffer *
to_rgba (const GstVideoInfo * from, GstBuffer * buf, GstVideoInfo * info)
{
  GstVideoInfo wide_info;
  GstBuffer *wide, *rgba;
  GstMapInfo in, out;
  gsize i;

  set_info (&wide_info, GST_VIDEO_FORMAT_RGBA64_LE, from->width, from->height,
      NULL);
  set_info (info, GST_VIDEO_FORMAT_RGBA, from->width, from->height, NULL);
  wide = convert (from, buf, &wide_info);
  rgba = gst_buffer_new_allocate (NULL, info->size, NULL);
  gst_buffer_map (wide, &in, GST_MAP_READ);
  gst_buffer_map (rgba, &out, GST_MAP_WRITE);
  for (i = 0; i < out.size; i++)
    out.data[i] = (GST_READ_UINT16_LE (in.data + 2 * i) + 128) / 257;
  gst_buffer_unmap (wide, &in);
  gst_buffer_unmap (rgba, &out);
  gst_buffer_unref (wide);
  return rgba;
}

/* The largest difference, in levels of 8 bits. */
static gdouble
get_difference (const Picture * a, const Picture * b)
{
  static const gdouble deviation[3] = { 0.229, 0.224, 0.225 };
  gdouble most = 0;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (a->value); i++) {
    gdouble d = fabs (a->value[i] - b->value[i]) * deviation[i % 3] * 255;

    fail_unless (isfinite (d));
    most = MAX (most, d);
  }
  return most;
}

static void
check_same (GstVideoFormat format, gint width, gint height,
    const gchar * colorimetry)
{
  GstVideoInfo info, rgba_info;
  GstBuffer *buf, *rgba;
  Picture *a, *b;

  set_info (&info, format, width, height, colorimetry);
  buf = sam_frame_new (&info, 0);
  rgba = to_rgba (&info, buf, &rgba_info);
  a = see (&info, buf);
  b = see (&rgba_info, rgba);
  GST_INFO ("%s %d x %d %s: %.2f levels apart",
      gst_video_format_to_string (format), width, height,
      colorimetry ? colorimetry : "", get_difference (a, b));
  fail_unless (get_difference (a, b) < SAME_LEVELS,
      "%s %d x %d %s: %g levels apart", gst_video_format_to_string (format),
      width, height, colorimetry ? colorimetry : "", get_difference (a, b));
  g_free (a);
  g_free (b);
  gst_buffer_unref (buf);
  gst_buffer_unref (rgba);
}

static const GstVideoFormat formats[] = {
  GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_YUY2,
  GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_BGR, GST_VIDEO_FORMAT_RGBA,
  GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_RGBx, GST_VIDEO_FORMAT_BGRx,
  GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_P010_10LE,
  /* through GstVideo's unpack */
  GST_VIDEO_FORMAT_NV21, GST_VIDEO_FORMAT_YV12, GST_VIDEO_FORMAT_UYVY,
  GST_VIDEO_FORMAT_YVYU, GST_VIDEO_FORMAT_NV16, GST_VIDEO_FORMAT_Y42B,
  GST_VIDEO_FORMAT_NV24, GST_VIDEO_FORMAT_Y444, GST_VIDEO_FORMAT_AYUV,
  GST_VIDEO_FORMAT_ARGB, GST_VIDEO_FORMAT_ABGR, GST_VIDEO_FORMAT_xRGB,
  GST_VIDEO_FORMAT_xBGR, GST_VIDEO_FORMAT_RGBP, GST_VIDEO_FORMAT_BGRP,
  GST_VIDEO_FORMAT_GBR, GST_VIDEO_FORMAT_I420_10LE, GST_VIDEO_FORMAT_I420_12LE,
  GST_VIDEO_FORMAT_I422_10LE, GST_VIDEO_FORMAT_I422_12LE,
  GST_VIDEO_FORMAT_Y444_10LE, GST_VIDEO_FORMAT_Y444_12LE,
  GST_VIDEO_FORMAT_P012_LE, GST_VIDEO_FORMAT_P016_LE,
  GST_VIDEO_FORMAT_GBR_10LE, GST_VIDEO_FORMAT_GBR_12LE,
  GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_v210, GST_VIDEO_FORMAT_Y210,
  GST_VIDEO_FORMAT_Y410, GST_VIDEO_FORMAT_RGB10A2_LE,
  GST_VIDEO_FORMAT_BGR10A2_LE
};

enum
{
  OWN = 11,                     /* the engine reads so many of them */
};

/* The template and this list name the same formats, in system memory. */
GST_START_TEST (test_these_are_all)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstPad *sink = gst_element_get_static_pad (element, "sink");
  GstCaps *caps = gst_pad_get_pad_template_caps (sink);
  guint i, own = 0;

  while (!gst_caps_features_is_equal (gst_caps_get_features (caps, own),
          GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
    own++;
  for (i = 0; i < G_N_ELEMENTS (formats); i++) {
    const GValue *list = gst_structure_get_value (gst_caps_get_structure (caps,
            i < OWN ? own : own + 1), "format");

    fail_unless_equals_int (gst_value_list_get_size (list),
        i < OWN ? OWN : G_N_ELEMENTS (formats) - OWN);
    fail_unless_equals_string (g_value_get_string (gst_value_list_get_value
            (list, i < OWN ? i : i - OWN)),
        gst_video_format_to_string (formats[i]));
  }
  gst_caps_unref (caps);
  gst_object_unref (sink);
  gst_object_unref (element);
}

GST_END_TEST;

GST_START_TEST (test_every_format)
{
  check_same (formats[__i__], 160, 120, NULL);
}

GST_END_TEST;

/* A picture of the network's size, so that every pixel counts, of blocks of 2 x
 * 2 random colours that chroma samples do not lie between. */
static GstBuffer *
new_colours (const GstVideoInfo * info)
{
  GRand *rand = g_rand_new_with_seed (44);
  GstVideoInfo rgba_info;
  GstBuffer *rgba, *buf;
  GstMapInfo map;
  guint32 *pixel;
  guint i;

  set_info (&rgba_info, GST_VIDEO_FORMAT_RGBA, SIDE, SIDE, NULL);
  rgba = gst_buffer_new_allocate (NULL, rgba_info.size, NULL);
  gst_buffer_map (rgba, &map, GST_MAP_READWRITE);
  pixel = (guint32 *) map.data;
  for (i = 0; i < SIDE * SIDE; i++)
    pixel[i] = i / SIDE % 2 ? pixel[i - SIDE] : i % 2 ? pixel[i - 1] :
        GUINT32_TO_LE (g_rand_int (rand) | 0xff000000);
  gst_buffer_unmap (rgba, &map);
  buf = convert (&rgba_info, rgba, info);
  gst_buffer_unref (rgba);
  g_rand_free (rand);
  return buf;
}

/* What the table of docs/GSTREAMER.md is made of: GST_DEBUG=check:4. */
GST_START_TEST (test_every_pixel)
{
  static const gchar *colours[] = { "bt601", "bt709", "bt2020", "1:4:0:0",
    "1:3:0:0"
  };
  const GstVideoFormat format = formats[__i__];
  gdouble most[5] = { 0, };
  guint i, n;

  for (i = 0; i < G_N_ELEMENTS (colours); i++) {
    GstVideoInfo info, rgba_info;
    GstBuffer *buf, *rgba;
    Picture *a, *b;

    set_info (&info, format, SIDE, SIDE, NULL);
    n = GST_VIDEO_INFO_IS_YUV (&info) ? G_N_ELEMENTS (colours) : 1;
    if (i == n)
      break;
    if (n > 1)
      set_info (&info, format, SIDE, SIDE, colours[i]);
    buf = new_colours (&info);
    rgba = to_rgba (&info, buf, &rgba_info);
    a = see (&info, buf);
    b = see (&rgba_info, rgba);
    most[i] = get_difference (a, b);
    g_free (a);
    g_free (b);
    gst_buffer_unref (buf);
    gst_buffer_unref (rgba);
  }
  GST_INFO ("| %s | %.1f | %.1f | %.1f | %.1f | %.1f |",
      gst_video_format_to_string (format), most[0], most[1], most[2], most[3],
      most[4]);
  for (i = 0; i < G_N_ELEMENTS (colours); i++)
    fail_unless (most[i] < SAME_PIXELS, "%s %s: %g levels apart",
        gst_video_format_to_string (format), colours[i], most[i]);
}

GST_END_TEST;

GST_START_TEST (test_odd_sizes)
{
  check_same (formats[__i__], 131, 97, NULL);
  check_same (formats[__i__], 17, 13, NULL);
  check_same (formats[__i__], 3, 1, NULL);
  check_same (formats[__i__], 1, 3, NULL);
  check_same (formats[__i__], 1, 1, NULL);
}

GST_END_TEST;

GST_START_TEST (test_colorimetry)
{
  static const gchar *colours[] = { "bt601", "bt709", "bt2020",
    "1:4:0:0", "1:3:0:0"
  };

  check_same (GST_VIDEO_FORMAT_NV12, 160, 120, colours[__i__]);
  check_same (GST_VIDEO_FORMAT_P010_10LE, 160, 120, colours[__i__]);
}

GST_END_TEST;

/* The same pixels behind other strides and offsets: the same answer, to the
 * last bit. */
GST_START_TEST (test_strides_and_offsets)
{
  const GstVideoFormat format = formats[__i__];
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0, }, size = 24;
  gint stride[GST_VIDEO_MAX_PLANES] = { 0, };
  GstVideoInfo info;
  GstVideoFrame in, out;
  GstBuffer *buf, *wide;
  Picture *a, *b;
  guint i;

  set_info (&info, format, 97, 61, NULL);
  buf = sam_frame_new (&info, 0);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (&info); i++) {
    offset[i] = size;
    stride[i] = GST_VIDEO_INFO_PLANE_STRIDE (&info, i) + 52;
    size += stride[i] * 70;
  }
  wide = gst_buffer_new_allocate (NULL, size, NULL);
  gst_buffer_memset (wide, 0, 0xa5, size);
  gst_buffer_add_video_meta_full (wide, GST_VIDEO_FRAME_FLAG_NONE, format, 97,
      61, GST_VIDEO_INFO_N_PLANES (&info), offset, stride);
  fail_unless (gst_video_frame_map (&in, &info, buf, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&out, &info, wide, GST_MAP_WRITE));
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (&info); i++) {
    gint y, rows = i ? 31 : 61;

    for (y = 0; y < rows; y++)
      memcpy ((guint8 *) out.data[i] + y * stride[i], (guint8 *) in.data[i] +
          y * GST_VIDEO_FRAME_PLANE_STRIDE (&in, i),
          GST_VIDEO_FRAME_PLANE_STRIDE (&in, i));
  }
  gst_video_frame_unmap (&in);
  gst_video_frame_unmap (&out);
  a = see (&info, buf);
  b = see (&info, wide);
  fail_unless (get_difference (a, b) == 0, "%s: %g levels apart",
      gst_video_format_to_string (format), get_difference (a, b));
  g_free (a);
  g_free (b);
  gst_buffer_unref (buf);
  gst_buffer_unref (wide);
}

GST_END_TEST;

/* Caps that lie about the matrix or the range, or swap two channels, give a
 * picture that the tests above would not take. */
GST_START_TEST (test_wrong_colours_would_be_seen)
{
  GstVideoInfo info, lie;
  GstBuffer *buf;
  Picture *a, *b;
  guint i;

  for (i = 0; i < 3; i++) {
    set_info (&info, i < 2 ? GST_VIDEO_FORMAT_NV12 : GST_VIDEO_FORMAT_RGBA, 320,
        240, NULL);
    lie = info;
    if (i == 0)
      lie.colorimetry.matrix = GST_VIDEO_COLOR_MATRIX_BT2020;
    else if (i == 1)
      lie.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
    else
      set_info (&lie, GST_VIDEO_FORMAT_BGRA, 320, 240, NULL);
    buf = sam_frame_new (&info, 0);
    a = see (&info, buf);
    b = see (&lie, buf);
    fail_unless (get_difference (a, b) > 2 * SAME_LEVELS,
        "lie %u: %g levels apart only", i, get_difference (a, b));
    g_free (a);
    g_free (b);
    gst_buffer_unref (buf);
  }
}

GST_END_TEST;

/* From end to end: whatever the format, the square is found. */
GST_START_TEST (test_the_square_is_found)
{
  static const GstVideoFormat some[] = { GST_VIDEO_FORMAT_NV12,
    GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_BGRx, GST_VIDEO_FORMAT_GRAY8,
    GST_VIDEO_FORMAT_P010_10LE, GST_VIDEO_FORMAT_Y444, GST_VIDEO_FORMAT_ARGB,
    GST_VIDEO_FORMAT_v210, GST_VIDEO_FORMAT_I420_10LE
  };
  GstHarness *h = sam_harness_new ("samtrack max-objects=1 initial-prompt="
      SQUARE_BOX, some[__i__], 321, 241);
  GstBuffer *buf = sam_harness_run (h, 0);

  fail_unless (sam_meta_iou (sam_get_meta (buf), 0) > GOOD_IOU, "%s: IoU %g",
      gst_video_format_to_string (some[__i__]),
      sam_meta_iou (sam_get_meta (buf), 0));
  fail_unless_equals_uint64 (sam_get_stat (h->element, "unpacked"), __i__ > 4);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Whether a pad takes frames of that mode, "" for caps that name none. */
static gboolean
takes_mode (GstPad * sink, const gchar * feature, const gchar * mode)
{
  gchar *text = g_strdup_printf ("video/x-raw%s,format=I420,width=64,height=48,"
      "framerate=30/1%s%s", feature, *mode ? ",interlace-mode=" : "", mode);
  GstCaps *caps = gst_caps_from_string (text);
  gboolean ok = gst_pad_query_accept_caps (sink, caps);

  fail_unless (caps != NULL, "%s", text);
  gst_caps_unref (caps);
  g_free (text);
  return ok;
}

/* Fields that come one by one are no frames, with their feature or without. */
GST_START_TEST (test_whole_frames_alone_are_taken)
{
  static const gchar *elements[] = { "samtrack", "samoverlay" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (elements); i++) {
    GstElement *element = gst_element_factory_make (elements[i], NULL);
    GstPad *sink = gst_element_get_static_pad (element, "sink");

    gst_element_set_state (element, GST_STATE_PAUSED);
    fail_unless (takes_mode (sink, "", "") &&
        takes_mode (sink, "", "progressive") &&
        takes_mode (sink, "", "interleaved") && takes_mode (sink, "", "mixed"));
    fail_if (takes_mode (sink, "", "alternate"), "%s", elements[i]);
    fail_if (takes_mode (sink, "(format:Interlaced)", "alternate"));
    gst_element_set_state (element, GST_STATE_NULL);
    gst_object_unref (sink);
    gst_object_unref (gst_object_ref_sink (element));
  }
}

GST_END_TEST;

/* Side of the embedded model's masks: a quarter of its input's. */
#define MASK_SIDE 80

/* IoU of the mask that the element shows with the square, for a prompt whose
 * mask is the square moved by half a pixel of the model's mask each way. */
static gdouble
iou_of_moved_mask (const gchar * element, GstVideoFormat format, gint width)
{
  const gint height = width * 3 / 4;
  const gint dx = width / (2 * MASK_SIDE), dy = height / (2 * MASK_SIDE);
  GstHarness *h = sam_harness_new (element, format, width, height);
  GstBuffer *buf = gst_buffer_new_allocate (NULL, width * height, NULL);
  gchar *text = g_strdup_printf ("video/x-raw,format=GRAY8,width=%d,height=%d,"
      "framerate=0/1", width, height);
  GstCaps *caps = gst_caps_from_string (text);
  GstSample *mask;
  guint64 id = 0;
  gdouble iou;
  gint y;

  gst_buffer_memset (buf, 0, 0, width * height);
  for (y = SQUARE_Y0 * height; y < SQUARE_Y1 * height; y++)
    gst_buffer_memset (buf, (y + dy) * width + SQUARE_X0 * width + dx, 1,
        (SQUARE_X1 - SQUARE_X0) * width);
  mask = gst_sample_new (buf, caps, NULL, NULL);
  gst_buffer_unref (buf);
  g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0), mask,
      &id);
  buf = gst_harness_push_and_pull (h, sam_harness_frame (h, 0));
  iou = sam_meta_iou (sam_get_meta (buf), 0);
  gst_buffer_unref (buf);
  gst_sample_unref (mask);
  gst_caps_unref (caps);
  g_free (text);
  gst_harness_teardown (h);
  return iou;
}

/* Its edge is found again, in every format, and where label maps are smaller
 * than frames. */
GST_START_TEST (test_edges_follow_the_luma)
{
  static const GstVideoFormat kinds[] = {
    GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_BGR, GST_VIDEO_FORMAT_RGBA,
    GST_VIDEO_FORMAT_BGRx, GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12,
    GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_P010_10LE
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (kinds); i++) {
    const gdouble none = iou_of_moved_mask ("samtrack", kinds[i], 640);
    const gdouble luma = iou_of_moved_mask ("samtrack edges=luma", kinds[i],
        640);

    fail_unless (none < 0.96, "%s: %f", gst_video_format_to_string (kinds[i]),
        none);
    fail_unless (luma > 0.985, "%s: %f, without edges %f",
        gst_video_format_to_string (kinds[i]), luma, none);
  }
  fail_unless (iou_of_moved_mask ("samtrack edges=luma", GST_VIDEO_FORMAT_I420,
          2560) > 0.985);
}

GST_END_TEST;

static Suite *
formats_suite (void)
{
  Suite *s = suite_create ("formats");
  TCase *tc = sam_tcase_new (s, "formats");

  tcase_add_test (tc, test_these_are_all);
  tcase_add_loop_test (tc, test_every_format, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_every_pixel, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_odd_sizes, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_colorimetry, 0, 5);
  tcase_add_loop_test (tc, test_strides_and_offsets, 0, OWN);
  tcase_add_test (tc, test_wrong_colours_would_be_seen);
  tcase_add_test (tc, test_whole_frames_alone_are_taken);
  tcase_add_loop_test (tc, test_the_square_is_found, 0, 9);
  tcase_add_test (tc, test_edges_follow_the_luma);
  return s;
}

GST_CHECK_MAIN (formats);
