/* What samoverlay paints in system memory against the engine's reference, which
 * paints the same drawing: to the bit. */

#include "samcheck.h"

#include "../../gst/gstsampaint.h"

#include <string.h>

#define SEED 47
#define SCENES 40               /* of each format */

static const struct
{
  GstVideoFormat format;
  enum sam_pixel_format pixel;
} formats[] = {
  {GST_VIDEO_FORMAT_RGBA, SAM_PIXEL_RGBA},
  {GST_VIDEO_FORMAT_BGRA, SAM_PIXEL_BGRA},
  {GST_VIDEO_FORMAT_NV12, SAM_PIXEL_NV12},
  {GST_VIDEO_FORMAT_I420, SAM_PIXEL_I420},
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
  if (gst_sam_drawing_make (&drawing, &style, report, 0, info)) {
    fail_unless (gst_sam_paint_prepare (paint, &a));
    fail_unless (gst_sam_paint_draw (paint, &drawing, &a));
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

static Suite *
paint_suite (void)
{
  Suite *s = suite_create ("paint");
  TCase *tc = sam_tcase_new (s, "pictures");

  tcase_add_loop_test (tc, test_as_the_reference_paints, 0,
      G_N_ELEMENTS (formats));
  return s;
}

GST_CHECK_MAIN (paint);
