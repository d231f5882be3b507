/* SPDX-License-Identifier: MIT */
/* What samoverlay paints in system memory against the engine's reference, which
 * paints the same drawing, and the engine's blending against GstVideo's: to the
 * bit. */

#include "samcheck.h"

#include "overlay/gstsamcompose.h"
#include "overlay/gstsampaint.h"

#include <gst/video/video-blend.h>
#include <string.h>

#define SEED 47
/* Of each format and size. A sanitizer sees in ten, which have all widths of
 * lines, what there is to see. */
#ifdef __SANITIZE_ADDRESS__
#define SCENES 10
#else
#define SCENES 40
#endif

static const struct
{
  GstVideoFormat format;
  enum sam_pixel_format pixel;
} formats[] = {
  {GST_VIDEO_FORMAT_RGBA, SAM_PIXEL_RGBA},
  {GST_VIDEO_FORMAT_BGRA, SAM_PIXEL_BGRA},
  {GST_VIDEO_FORMAT_NV12, SAM_PIXEL_NV12},
  {GST_VIDEO_FORMAT_I420, SAM_PIXEL_I420},
  {GST_VIDEO_FORMAT_P010_10LE, SAM_PIXEL_P010},
  {GST_VIDEO_FORMAT_YUY2, SAM_PIXEL_YUY2},
  {GST_VIDEO_FORMAT_RGB, SAM_PIXEL_RGB},
  {GST_VIDEO_FORMAT_BGR, SAM_PIXEL_BGR},
  {GST_VIDEO_FORMAT_RGBx, SAM_PIXEL_RGBA},
  {GST_VIDEO_FORMAT_BGRx, SAM_PIXEL_BGRA},
  {GST_VIDEO_FORMAT_GRAY8, SAM_PIXEL_GRAY8},
};

/* Discs, which touch, overlap and leave the frame, and noise. */
static void
draw_map (GRand * rand, guint8 * map, gint width, gint height, guint objects)
{
  guint i;
  gint x, y;

  memset (map, 0, width * height);
  for (i = 0; i <= objects; i++) {
    const gint cx = g_rand_int_range (rand, 0, width);
    const gint cy = g_rand_int_range (rand, 0, height);
    const gint r = g_rand_int_range (rand, 1, MAX (width, height) / 2 + 2);
    const gboolean is_noise = !g_rand_int_range (rand, 0, 8);

    for (y = 0; y < height; y++) {
      for (x = 0; x < width; x++) {
        if ((x - cx) * (x - cx) + (y - cy) * (y - cy) < r * r &&
            (!is_noise || g_rand_boolean (rand)))
          map[y * width + x] = i + 1;   /* the last one is no object's */
      }
    }
  }
}

static void
draw_report (GRand * rand, GstSamReport * report, const GstVideoInfo * info,
    guint8 * map, gsize bytes)
{
  guint i;

  report->width = info->width;
  report->height = info->height;
  report->state = g_rand_boolean (rand) ? GST_SAM_REPORT_OK :
      GST_SAM_REPORT_STALE;
  report->num_objects = g_rand_int_range (rand, 1, 6);
  for (i = 0; i < report->num_objects; i++) {
    GstSamObject *object = &report->object[i];
    const gboolean is_whole = i == 0 && g_rand_boolean (rand);

    object->id = object->slot = i + 1;
    object->x = is_whole ? 0 : g_rand_int_range (rand, 0, info->width);
    object->y = is_whole ? 0 : g_rand_int_range (rand, 0, info->height);
    object->w = is_whole ? info->width : 1 + info->width / 2;
    object->h = is_whole ? info->height : 1 + info->height / 2;
    object->iou = 0.5;
    object->state = g_rand_boolean (rand) ? SAM_OBJECT_LOST :
        SAM_OBJECT_TRACKED;
  }
  report->current = g_rand_int_range (rand, 0, 3);
  report->num_marks = g_rand_int_range (rand, 0, 5);
  for (i = 0; i < report->num_marks; i++) {
    GstSamMark *mark = &report->mark[i];

    mark->id = g_rand_int_range (rand, 1, 8);
    mark->is_box = g_rand_boolean (rand);
    mark->positive = g_rand_boolean (rand);
    mark->waits = g_rand_boolean (rand);
    mark->x = g_rand_double (rand);
    mark->y = g_rand_double (rand);
    mark->w = (1 - mark->x) * g_rand_double (rand);
    mark->h = (1 - mark->y) * g_rand_double (rand);
    mark->age = g_rand_int_range (rand, 0, 11) * (GST_SECOND / 10);
  }
  report->mask_width = g_rand_boolean (rand) ? info->width :
      g_rand_int_range (rand, 1, info->width + 1);
  report->mask_height = report->mask_width == info->width ? info->height :
      g_rand_int_range (rand, 1, info->height + 1);
  draw_map (rand, map, report->mask_width, report->mask_height,
      report->num_objects);
  report->mask = gst_buffer_new_wrapped_full (GST_MEMORY_FLAG_READONLY, map,
      bytes, 0, bytes, NULL, NULL);
}

static void
draw_reference (sam_painter * painter, GstSamDrawing * drawing,
    enum sam_pixel_format format, GstVideoFrame * frame, const guint8 * map)
{
  struct sam_frame view = {.size = sizeof view,.format = format };
  struct sam_overlay overlay = drawing->overlay;
  struct sam_error error = { "" };
  guint i;

  view.width = frame->info.width;
  view.height = frame->info.height;
  for (i = 0; i < GST_VIDEO_FRAME_N_PLANES (frame); i++) {
    view.plane[i] = GST_VIDEO_FRAME_PLANE_DATA (frame, i);
    view.stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE (frame, i);
  }
  if (drawing->has_labels) {
    overlay.labels.data = (guint8 *) map;
    overlay.labels.width = drawing->report->mask_width;
    overlay.labels.height = drawing->report->mask_height;
    overlay.labels.stride = drawing->report->mask_width;
  }
  fail_unless (!sam_painter_draw (painter, &view, &overlay, &error), "%s",
      error.text);
}

static void
check_scene (sam_painter * painter, GRand * rand, guint format,
    GstSamPaint * paint, const GstVideoInfo * info, guint n)
{
  static const guint widths[] = { 2, 1, 3, 0, 2, 7, 2, 30, 2, 64 };
  const gsize bytes = (gsize) info->width * info->height;
  GstBuffer *ours = gst_buffer_new_and_alloc (info->size), *theirs;
  GstSamReport *report = g_new0 (GstSamReport, 1);
  guint8 *map = g_malloc0 (bytes);
  GstSamDrawing drawing = { 0, };
  GstSamPaintStyle style = { 0, };
  GstVideoFrame a, b;
  gchar *why = NULL;
  GstMapInfo out;
  gsize i;

  style.line_width = widths[n % G_N_ELEMENTS (widths)];
  style.opacity = g_rand_int_range (rand, 0, 5) / 4.0;
  style.masks = g_rand_int_range (rand, 0, 4) > 0;
  style.outlines = g_rand_int_range (rand, 0, 6) > 0;
  style.ids = style.dim_stale = g_rand_boolean (rand);
  style.points = g_rand_boolean (rand);
  gst_buffer_map (ours, &out, GST_MAP_WRITE);
  for (i = 0; i < out.size; i++)
    out.data[i] = g_rand_int (rand);
  gst_buffer_unmap (ours, &out);
  theirs = gst_buffer_copy_deep (ours);
  draw_report (rand, report, info, map, bytes);
  fail_unless (gst_video_frame_map (&a, info, ours, GST_MAP_READWRITE));
  fail_unless (gst_video_frame_map (&b, info, theirs, GST_MAP_READWRITE));
  if (gst_sam_compose (&drawing, &style, report, 0, info)) {
    fail_unless (gst_sam_paint_prepare (paint, &a));
    fail_unless (gst_sam_paint_draw (paint, &drawing, &a, &why), "%s", why);
    draw_reference (painter, &drawing, formats[format].pixel, &b, map);
  }
  gst_video_frame_unmap (&a);
  gst_video_frame_unmap (&b);
  gst_buffer_map (ours, &out, GST_MAP_READ);
  fail_unless (!gst_buffer_memcmp (theirs, 0, out.data, out.size),
      "%s, %d x %d, scene %u, line of %u px, seed %d: pictures differ",
      gst_video_format_to_string (formats[format].format), info->width,
      info->height, n, style.line_width, SEED);
  gst_buffer_unmap (ours, &out);
  gst_buffer_unref (ours);
  gst_buffer_unref (theirs);
  gst_buffer_unref (report->mask);
  gst_sam_drawing_clear (&drawing);
  g_free (report);
  g_free (map);
}

GST_START_TEST (test_as_the_reference_paints)
{
  static const gint sizes[][2] = { {96, 64}, {97, 65}, {201, 130}, {3, 5} };
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error = { "" };
  GRand *rand = g_rand_new_with_seed (SEED + __i__);
  sam_painter *painter;
  guint i, n;

  params.backend = SAM_BACKEND_REF;
  fail_unless (!sam_painter_open (&painter, &params, &error), "%s", error.text);
  for (i = 0; i < G_N_ELEMENTS (sizes); i++) {
    GstSamPaint paint = { 0, };
    GstVideoInfo info;

    gst_video_info_set_format (&info, formats[__i__].format, sizes[i][0],
        sizes[i][1]);
    for (n = 0; n < SCENES; n++)
      check_scene (painter, rand, __i__, &paint, &info, n);
    gst_sam_paint_clear (&paint);
  }
  sam_painter_close (&painter);
  g_rand_free (rand);
}

GST_END_TEST;

/* Noise where alpha, if any, is 255 or nothing in half of the pixels. The x of
 * RGBx, which GstVideo takes for alpha, is 255; samples of 10 bits have zeros
 * below. */
static void
draw_noise (GRand * rand, const GstVideoInfo * info, GstBuffer * buf)
{
  const gboolean has_fourth = GST_VIDEO_INFO_IS_RGB (info) &&
      info->finfo->pixel_stride[0] == 4;
  const gboolean has_alpha = GST_VIDEO_INFO_HAS_ALPHA (info);
  GstMapInfo map;
  gsize i;

  gst_buffer_map (buf, &map, GST_MAP_WRITE);
  for (i = 0; i < map.size; i++) {
    map.data[i] = g_rand_int (rand);
    if (has_fourth && i % 4 == 3)
      map.data[i] = !has_alpha || i / 64 % 4 == 0 ? 255 :
          i / 64 % 4 == 1 ? 0 : map.data[i];
    if (GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_P010_10LE && i % 2 == 0)
      map.data[i] &= 0xc0;
  }
  gst_buffer_unmap (buf, &map);
}

/* An area of 256 colours: runs, and noise; as labels and as a layer. */
static void
draw_area (GRand * rand, struct sam_overlay *overlay, guint32 * layer)
{
  const struct sam_labels *labels = &overlay->labels;
  gint x, y, n = 0, kind = 0;
  guint8 label = 0;

  for (y = 0; y < 256; y++)
    overlay->fill[y] = g_rand_int (rand) & (y % 4 == 0 ? 0xffffff : ~0u);
  for (y = 0; y < labels->height; y++) {
    for (x = 0; x < labels->width; x++) {
      if (n-- <= 0) {
        kind = g_rand_int_range (rand, 0, 3);
        n = g_rand_int_range (rand, 1, kind ? 100 : 20);
        label = g_rand_int (rand);
      }
      label = kind ? label : g_rand_int (rand);
      labels->data[y * labels->stride + x] = label;
      layer[y * labels->width + x] = GUINT32_TO_LE (overlay->fill[label]);
    }
  }
}

static void
check_blending (sam_painter * painter, GRand * rand, guint format, gint width,
    gint height, GstVideoInterlaceMode mode)
{
  struct sam_overlay overlay = SAM_OVERLAY_INIT;
  struct sam_frame view = SAM_FRAME_INIT;
  struct sam_error error = { "" };
  guint8 *labels = g_malloc (width * height);
  guint32 *layer = g_new (guint32, width * height);
  GstVideoFrame a, b, over = { 0, };
  GstBuffer *ours, *theirs;
  GstVideoInfo info;
  GstMapInfo out;
  guint i;

  gst_video_info_set_interlaced_format (&info, formats[format].format, mode,
      width, height);
  ours = gst_buffer_new_and_alloc (info.size);
  draw_noise (rand, &info, ours);
  if (mode == GST_VIDEO_INTERLACE_MODE_MIXED)
    GST_BUFFER_FLAG_SET (ours, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  theirs = gst_buffer_copy_deep (ours);
  overlay.x = g_rand_int_range (rand, 0, width) & ~1;
  overlay.y = g_rand_int_range (rand, 0, height) & ~1;
  overlay.width = g_rand_int_range (rand, 1, width - overlay.x + 1);
  overlay.height = g_rand_int_range (rand, 1, height - overlay.y + 1);
  overlay.has_alpha = GST_VIDEO_INFO_HAS_ALPHA (&info);
  overlay.labels.data = labels;
  overlay.labels.width = overlay.labels.stride = width;
  overlay.labels.height = height;
  draw_area (rand, &overlay, layer);

  fail_unless (gst_video_frame_map (&a, &info, ours, GST_MAP_READWRITE));
  fail_unless (gst_video_frame_map (&b, &info, theirs, GST_MAP_READWRITE));
  view.format = formats[format].pixel;
  view.width = width;
  view.height = height;
  for (i = 0; i < GST_VIDEO_FRAME_N_PLANES (&a); i++) {
    view.plane[i] = GST_VIDEO_FRAME_PLANE_DATA (&a, i);
    view.stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE (&a, i);
  }
  fail_unless (!sam_painter_draw (painter, &view, &overlay, &error), "%s",
      error.text);
  gst_video_info_set_format (&over.info, GST_VIDEO_INFO_IS_RGB (&info) ?
      GST_VIDEO_FORMAT_BGRA : GST_VIDEO_FORMAT_VUYA, overlay.width,
      overlay.height);
  over.info.stride[0] = 4 * width;
  over.data[0] = layer + overlay.y * width + overlay.x;
  fail_unless (gst_video_blend (&b, &over, overlay.x, overlay.y, 1));
  gst_video_frame_unmap (&a);
  gst_video_frame_unmap (&b);
  gst_buffer_map (ours, &out, GST_MAP_READ);
  fail_unless (!gst_buffer_memcmp (theirs, 0, out.data, out.size),
      "%s, %d x %d, %d x %d at (%d, %d), seed %d: not as GstVideo blends",
      gst_video_format_to_string (formats[format].format), width, height,
      overlay.width, overlay.height, overlay.x, overlay.y, SEED);
  gst_buffer_unmap (ours, &out);
  gst_buffer_unref (ours);
  gst_buffer_unref (theirs);
  g_free (labels);
  g_free (layer);
}

GST_START_TEST (test_as_gstvideo_blends)
{
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error = { "" };
  GRand *rand = g_rand_new_with_seed (SEED + __i__);
  sam_painter *painter;
  guint n;

  params.backend = SAM_BACKEND_CPU;
  params.threads = 1;
  fail_unless (!sam_painter_open (&painter, &params, &error), "%s", error.text);
  for (n = 0; n < 2 * SCENES; n++)
    check_blending (painter, rand, __i__, g_rand_int_range (rand, 1, 200),
        g_rand_int_range (rand, 1, 90), n % 2 ? GST_VIDEO_INTERLACE_MODE_MIXED :
        GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);
  sam_painter_close (&painter);
  g_rand_free (rand);
}

GST_END_TEST;

static Suite *
paint_suite (void)
{
  Suite *s = suite_create ("paint");
  TCase *tc = sam_tcase_new (s, "pictures");

  tcase_add_loop_test (tc, test_as_the_reference_paints, 0,
      G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_as_gstvideo_blends, 0, G_N_ELEMENTS (formats));
  return s;
}

GST_CHECK_MAIN (paint);
