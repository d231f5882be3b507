/* SPDX-License-Identifier: MIT */
/* What samoverlay paints, from metas written by hand: no model is needed. */

#include "samcheck.h"

#include <string.h>

/* The mask: a rectangle in a frame of 64 x 48. */
#define X0 20
#define Y0 16
#define X1 44
#define Y1 40

/* red, the colour of the first slot */
#define RED_R 0xff
#define RED_G 0x3b
#define RED_B 0x30

static GstBuffer *
new_mask (gint width, gint height)
{
  GstBuffer *mask = gst_buffer_new_allocate (NULL, width * height, NULL);
  GstMapInfo map;
  gint x, y;

  gst_buffer_map (mask, &map, GST_MAP_WRITE);
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++) {
      gdouble fx = (x + 0.5) * 64 / width, fy = (y + 0.5) * 48 / height;

      map.data[y * width + x] = fx > X0 && fx < X1 && fy > Y0 && fy < Y1;
    }
  }
  gst_buffer_unmap (mask, &map);
  return mask;
}

static void
append_object (GValue * objects, guint64 id, guint slot, gint x, gint y, gint w,
    gint h)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, gst_structure_new ("object",
          "id", G_TYPE_UINT64, id, "slot", G_TYPE_UINT, slot,
          "state", G_TYPE_STRING, "tracked", "score", G_TYPE_DOUBLE, 5.0,
          "iou", G_TYPE_DOUBLE, 0.93, "x", G_TYPE_INT, x, "y", G_TYPE_INT, y,
          "w", G_TYPE_INT, w, "h", G_TYPE_INT, h,
          "area", G_TYPE_UINT, (guint) w * (guint) h, NULL));
  gst_value_array_append_and_take_value (objects, &value);
}

/* The meta as samtrack writes it, of frames of 64 x 48. */
static GstStructure *
add_meta (GstBuffer * buf, const gchar * state, gint mask_width,
    gint mask_height)
{
  GstCustomMeta *meta = gst_buffer_add_custom_meta (buf, "GstSamTrackMeta");
  GstStructure *s = gst_custom_meta_get_structure (meta);
  GstBuffer *mask = new_mask (mask_width, mask_height);
  GValue objects = G_VALUE_INIT;

  g_value_init (&objects, GST_TYPE_ARRAY);
  append_object (&objects, 12, 1, X0, Y0, X1 - X0, Y1 - Y0);
  gst_structure_set (s, "version", G_TYPE_UINT, 1, "width", G_TYPE_INT, 64,
      "height", G_TYPE_INT, 48, "state", G_TYPE_STRING, state,
      "age", G_TYPE_UINT, 0, "mask", GST_TYPE_BUFFER, mask,
      "mask-width", G_TYPE_INT, mask_width,
      "mask-height", G_TYPE_INT, mask_height, NULL);
  gst_structure_take_value (s, "objects", &objects);
  gst_buffer_unref (mask);
  return s;
}

static void
set_object (GstStructure * s, guint64 id, gint x, gint y, gint w, gint h)
{
  GValue objects = G_VALUE_INIT;

  g_value_init (&objects, GST_TYPE_ARRAY);
  append_object (&objects, id, 1, x, y, w, h);
  gst_structure_take_value (s, "objects", &objects);
}

static GstBuffer *
new_gray (const GstVideoInfo * info)
{
  GstBuffer *buf = gst_buffer_new_allocate (NULL, info->size, NULL);
  GstMapInfo map;
  gsize i;

  gst_buffer_map (buf, &map, GST_MAP_WRITE);
  memset (map.data, 100, map.size);
  if (GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_RGBA) {
    for (i = 3; i < map.size; i += 4)
      map.data[i] = 255;
  }
  gst_buffer_unmap (buf, &map);
  return buf;
}

/* Draw on a gray RGBA frame of 64 x 48. */
static GstBuffer *
draw (const gchar * launch, const gchar * state, gint mask_width,
    gint mask_height)
{
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGBA, 64, 48);
  GstVideoInfo info;
  GstBuffer *buf;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 64, 48);
  buf = new_gray (&info);
  add_meta (buf, state, mask_width, mask_height);
  buf = gst_harness_push_and_pull (h, buf);
  gst_harness_teardown (h);
  return buf;
}

static void
check_pixel (const guint8 * data, gint x, gint y, gint r, gint g, gint b)
{
  const guint8 *p = data + 4 * (y * 64 + x);

  /* blending rounds twice */
  fail_unless (ABS (p[0] - r) <= 2 && ABS (p[1] - g) <= 2 &&
      ABS (p[2] - b) <= 2, "(%d, %d) is %d %d %d, not %d %d %d", x, y, p[0],
      p[1], p[2], r, g, b);
}

/* Every pixel of a mask of the frame's own size, but for those around its
 * corners: inside, the line, the dark contour of two pixels, outside. */
GST_START_TEST (test_mask_and_outline_pixel_by_pixel)
{
  GstBuffer *buf = draw ("samoverlay draw-ids=false draw-scores=false "
      "line-width=2 opacity=0.25", "ok", 64, 48);
  GstMapInfo map;
  gint x, y;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 64; x++) {
      /* how far the pixel is beyond the edge; -1 is the outermost inside */
      const gint dx = MAX (X0 - 1 - x, x - X1), dy = MAX (Y0 - 1 - y, y - Y1);
      const gint beyond = MAX (dx, dy);

      if (ABS (dx - dy) < 5 && beyond > -5 && beyond < 2)
        continue;
      if (beyond < -2)
        check_pixel (map.data, x, y, 100 + (RED_R - 100) / 4,
            100 + (RED_G - 100) / 4, 100 + (RED_B - 100) / 4);
      else if (beyond < 0)
        check_pixel (map.data, x, y, RED_R, RED_G, RED_B);
      else if (beyond < 2)
        check_pixel (map.data, x, y, beyond ? 85 : 40, beyond ? 85 : 40,
            beyond ? 85 : 40);
      else
        check_pixel (map.data, x, y, 100, 100, 100);
    }
  }
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
}

GST_END_TEST;

/* Along a slanted edge colours go over into each other: more of them are seen
 * than the line, the fill and the contour have, and no line runs along the
 * frame's edge. */
GST_START_TEST (test_slanted_edges_are_smooth)
{
  GstHarness *h = sam_harness_new ("samoverlay draw-ids=false "
      "draw-scores=false opacity=0.25", GST_VIDEO_FORMAT_RGBA, 64, 48);
  guint8 seen[256] = { 0, };
  GstVideoInfo info;
  GstStructure *s;
  GstBuffer *buf, *mask;
  GstMapInfo map;
  gint x, y, shades = 0;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 64, 48);
  buf = new_gray (&info);
  s = add_meta (buf, "ok", 64, 48);
  set_object (s, 1, 0, 0, 64, 48);
  mask = gst_buffer_new_allocate (NULL, 64 * 48, NULL);
  gst_buffer_map (mask, &map, GST_MAP_WRITE);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 64; x++)
      map.data[y * 64 + x] = x > 20 + y / 3;
  }
  gst_buffer_unmap (mask, &map);
  gst_structure_set (s, "mask", GST_TYPE_BUFFER, mask, NULL);
  gst_buffer_unref (mask);
  buf = gst_harness_push_and_pull (h, buf);
  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (x = 0; x < 64; x++)
    seen[map.data[4 * (24 * 64 + x)]] = seen[map.data[4 * (25 * 64 + x)]] = 1;
  for (x = 0; x < 256; x++)
    shades += seen[x];
  fail_unless (shades > 7, "only %d shades", shades);
  for (y = 0; y < 48; y += 47) {
    check_pixel (map.data, 63, y, 100 + (RED_R - 100) / 4,
        100 + (RED_G - 100) / 4, 100 + (RED_B - 100) / 4);
    check_pixel (map.data, 0, y, 100, 100, 100);
  }
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_stale_masks_are_paler)
{
  GstBuffer *buf = draw ("samoverlay draw-outlines=false", "stale", 64, 48);
  GstMapInfo map;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  check_pixel (map.data, 32, 28, 100 + (RED_R - 100) / 4,
      100 + (RED_G - 100) / 4, 100 + (RED_B - 100) / 4);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);

  buf = draw ("samoverlay draw-outlines=false dim-stale=false", "stale", 64,
      48);
  gst_buffer_map (buf, &map, GST_MAP_READ);
  check_pixel (map.data, 32, 28, (100 + RED_R) / 2, (100 + RED_G) / 2,
      (100 + RED_B) / 2);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
}

GST_END_TEST;

/* An object that still replays shows the mask of an earlier frame, too. */
GST_START_TEST (test_objects_that_are_behind_are_paler)
{
  const gboolean dim = __i__;
  GstHarness *h = sam_harness_new (dim ? "samoverlay draw-outlines=false" :
      "samoverlay draw-outlines=false dim-stale=false", GST_VIDEO_FORMAT_RGBA,
      64, 48);
  const gint share = dim ? 4 : 2;
  GstVideoInfo info;
  GstStructure *object;
  GstBuffer *buf;
  GstMapInfo map;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 64, 48);
  buf = new_gray (&info);
  object = (GstStructure *) sam_get_object (add_meta (buf, "ok", 64, 48), 0);
  gst_structure_set (object, "behind", G_TYPE_UINT, 3, NULL);
  buf = gst_harness_push_and_pull (h, buf);
  gst_buffer_map (buf, &map, GST_MAP_READ);
  check_pixel (map.data, 32, 28, 100 + (RED_R - 100) / share,
      100 + (RED_G - 100) / share, 100 + (RED_B - 100) / share);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A coarse mask covers the same pixels, its straight edges stay.
 */
GST_START_TEST (test_coarse_masks_are_stretched)
{
  GstBuffer *buf = draw ("samoverlay draw-ids=false draw-scores=false "
      "draw-outlines=false opacity=1", "ok", 16, 12);
  GstMapInfo map;
  gint x, y, wrong = 0;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 64; x++) {
      gboolean in = x >= X0 && x < X1 && y >= Y0 && y < Y1;

      wrong += (map.data[4 * (y * 64 + x)] > 200) != in;
    }
  }
  /* only the four corners may be rounded off */
  fail_unless (wrong <= 8, "%d pixels are wrong", wrong);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
}

GST_END_TEST;

/* Whether a text of 11 px height and so many letters can cover so many pixels.
 * Pango's letters have widths of their own. */
static gboolean
is_text (gint pixels, gint letters)
{
#ifdef WITH_PANGO
  /* a pixel may have the colour of the ground by chance */
  return (pixels + 2) % 11 <= 2 && pixels >= letters * 4 * 11 &&
      pixels <= (letters * 9 + 4) * 11;
#else
  return pixels == (letters * 6 + 3) * 11;
#endif
}

/* Ids and scores: ink above the box, nothing beside it. */
GST_START_TEST (test_labels_stand_on_the_box)
{
  GstBuffer *buf = draw ("samoverlay draw-masks=false draw-outlines=false",
      "ok", 64, 48);
  GstMapInfo map;
  gint x, y, ground = 0, ink = 0, elsewhere = 0;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 64; x++) {
      const guint8 *p = map.data + 4 * (y * 64 + x);

      if (p[0] == 100 && p[1] == 100 && p[2] == 100)
        continue;
      if (y >= Y0)
        elsewhere++;
      else if (p[1] > 150)      /* of white, on red */
        ink++;
      else
        ground++;
    }
  }
  fail_unless_equals_int (elsewhere, 0);
  fail_unless (is_text (ink + ground, strlen ("#12 0.93")), "%d pixels",
      ink + ground);
  fail_unless (ink > 60 && ink < 200, "%d pixels of ink", ink);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
}

GST_END_TEST;

GST_START_TEST (test_boxes)
{
  GstBuffer *buf = draw ("samoverlay draw-masks=false draw-outlines=false "
      "draw-ids=false draw-scores=false draw-boxes=true line-width=1", "ok",
      64, 48);
  GstMapInfo map;
  gint x, y, drawn = 0;

  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 64; x++)
      drawn += map.data[4 * (y * 64 + x)] != 100;
  }
  fail_unless_equals_int (drawn, 2 * (X1 - X0) + 2 * (Y1 - Y0) - 4);
  check_pixel (map.data, X0, Y0, RED_R, RED_G, RED_B);
  check_pixel (map.data, X1 - 1, Y1 - 1, RED_R, RED_G, RED_B);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
}

GST_END_TEST;

/* As many metas as trackers, whose first slot is in use: five colours would be
 * one too many for a palette of 12. */
GST_START_TEST (test_trackers_have_colours_of_their_own)
{
  static const gint colours[][3] = { {RED_R, RED_G, RED_B}, {0x0a, 0x5c, 0xff},
  {0xbf, 0x5a, 0xf2}, {0xa2, 0x84, 0x5e}
  };
  GstHarness *h = sam_harness_new ("samoverlay draw-masks=false "
      "draw-outlines=false draw-ids=false draw-scores=false draw-boxes=true "
      "line-width=1", GST_VIDEO_FORMAT_RGBA, 64, 48);
  GstVideoInfo info;
  GstBuffer *buf;
  GstMapInfo map;
  gint i;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 64, 48);
  buf = new_gray (&info);
  for (i = 0; i < (gint) G_N_ELEMENTS (colours); i++)
    set_object (add_meta (buf, "ok", 64, 48), 1, 16 * i + 2, 4, 10, 20);
  buf = gst_harness_push_and_pull (h, buf);
  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (i = 0; i < (gint) G_N_ELEMENTS (colours); i++)
    check_pixel (map.data, 16 * i + 2, 10, colours[i][0], colours[i][1],
        colours[i][2]);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The second tracker's label is "2#1". The first one's has no number, and
 * stands elsewhere. */
GST_START_TEST (test_trackers_are_numbered)
{
  GstHarness *h = sam_harness_new ("samoverlay draw-masks=false "
      "draw-outlines=false draw-scores=false", GST_VIDEO_FORMAT_RGBA, 64, 48);
  GstVideoInfo info;
  GstBuffer *buf;
  GstMapInfo map;
  gint x, y, drawn[2] = { 0, };

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 64, 48);
  buf = new_gray (&info);
  set_object (add_meta (buf, "ok", 64, 48), 1, 2, 20, 10, 10);
  set_object (add_meta (buf, "ok", 64, 48), 1, 34, 20, 10, 10);
  buf = gst_harness_push_and_pull (h, buf);
  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 64; x++)
      drawn[x >= 32] += map.data[4 * (y * 64 + x)] != 100;
  }
  fail_unless (is_text (drawn[0], strlen ("#1")), "%d pixels", drawn[0]);
  fail_unless (is_text (drawn[1], strlen ("2#1")), "%d pixels", drawn[1]);
  fail_unless (drawn[1] > drawn[0]);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

static GstBuffer *
convert (const GstVideoInfo * from, GstBuffer * in, GstVideoFormat to)
{
  GstVideoInfo info;
  GstVideoFrame a, b;
  GstVideoConverter *converter;
  GstBuffer *out;

  gst_video_info_set_format (&info, to, from->width, from->height);
  info.fps_n = from->fps_n;
  info.fps_d = from->fps_d;
  out = gst_buffer_new_allocate (NULL, info.size, NULL);
  gst_buffer_memset (out, 0, 0, info.size);
  fail_unless (gst_video_frame_map (&a, from, in, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&b, &info, out, GST_MAP_WRITE));
  converter = gst_video_converter_new (from, &info,
      gst_structure_new ("options", GST_VIDEO_CONVERTER_OPT_DITHER_METHOD,
          GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE, NULL));
  fail_unless (converter != NULL);
  gst_video_converter_frame (converter, &a, &b);
  gst_video_converter_free (converter);
  gst_video_frame_unmap (&a);
  gst_video_frame_unmap (&b);
  return out;
}

/* Brightness at a pixel of an RGBA frame of 64 x 48. */
static gint
luma (const guint8 * data, gint x, gint y)
{
  const guint8 *p = data + 4 * (y * 64 + x);

  return (299 * p[0] + 587 * p[1] + 114 * p[2]) / 1000;
}

static void
check_format (GstVideoFormat format)
{
  const gchar *name = gst_video_format_to_string (format);
  GstHarness *h = sam_harness_new ("samoverlay draw-ids=false "
      "draw-scores=false draw-outlines=false opacity=0.8", format, 64, 48);
  GstVideoInfo info;
  GstBuffer *buf, *rgba;
  GstMapInfo map;
  gint inside, x, y, wrong = 0;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 64, 48);
  info.fps_n = 30;
  info.fps_d = 1;
  rgba = new_gray (&info);
  buf = convert (&info, rgba, format);
  gst_buffer_unref (rgba);
  add_meta (buf, "ok", 64, 48);
  buf = gst_harness_push_and_pull (h, buf);
  gst_video_info_set_format (&info, format, 64, 48);
  info.fps_n = 30;
  info.fps_d = 1;
  rgba = convert (&info, buf, GST_VIDEO_FORMAT_RGBA);
  gst_buffer_map (rgba, &map, GST_MAP_READ);
  /* 0.8 of red's brightness and 0.2 of the gray's; formats of less than 8 bits
   * are as coarse as they are */
  inside = luma (map.data, 32, 28);
  if (GST_VIDEO_FORMAT_INFO_BITS (info.finfo) >= 8 &&
      GST_VIDEO_FORMAT_INFO_FORMAT (info.finfo) != GST_VIDEO_FORMAT_RGB8P)
    fail_unless (ABS (inside - 113) <= 3, "%s: %d inside", name, inside);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 64; x++) {
      gboolean in = x >= X0 && x < X1 && y >= Y0 && y < Y1;
      /* chroma reaches over the edge by up to 4 pixels */
      gboolean edge = x > X0 - 5 && x < X1 + 5 && y > Y0 - 5 && y < Y1 + 5 &&
          !(x > X0 + 5 && x < X1 - 5 && y > Y0 + 5 && y < Y1 - 5);

      if (!in && !edge)
        wrong += ABS (luma (map.data, x, y) - luma (map.data, 0, 0)) > 1;
    }
  }
  fail_unless (wrong == 0, "%s: %d pixels outside of the mask changed", name,
      wrong);
  gst_buffer_unmap (rgba, &map);
  gst_buffer_unref (rgba);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

/* All that the pad template promises of system memory. */
GST_START_TEST (test_every_format_is_drawn_on)
{
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
  for (i = 0; i < n; i++)
    check_format (gst_video_format_from_string (g_value_get_string
            (gst_value_list_get_value (formats, i))));
  gst_caps_unref (caps);
  gst_object_unref (element);
}

GST_END_TEST;

GST_START_TEST (test_frames_without_meta_pass_untouched)
{
  GstHarness *h = sam_harness_new ("samoverlay", GST_VIDEO_FORMAT_RGBA, 64, 48);
  GstVideoInfo info;
  GstBuffer *buf, *out;
  GstMemory *memory;
  GstMapInfo map;
  guint i;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 64, 48);
  buf = new_gray (&info);
  memory = gst_buffer_peek_memory (buf, 0);
  out = gst_harness_push_and_pull (h, gst_buffer_ref (buf));
  fail_unless (gst_buffer_peek_memory (out, 0) == memory);
  gst_buffer_map (out, &map, GST_MAP_READ);
  for (i = 0; i < map.size; i++)
    fail_unless_equals_int (map.data[i], i % 4 == 3 ? 255 : 100);
  gst_buffer_unmap (out, &map);
  gst_buffer_unref (out);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Somebody else holds the frame: what they see stays as it is. */
GST_START_TEST (test_shared_frames_are_copied)
{
  GstHarness *h = sam_harness_new ("samoverlay", GST_VIDEO_FORMAT_RGBA, 64, 48);
  GstVideoInfo info;
  GstBuffer *buf, *out;
  GstMapInfo map;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 64, 48);
  buf = new_gray (&info);
  add_meta (buf, "ok", 64, 48);
  out = gst_harness_push_and_pull (h, gst_buffer_ref (buf));
  gst_buffer_map (buf, &map, GST_MAP_READ);
  check_pixel (map.data, 32, 28, 100, 100, 100);
  gst_buffer_unmap (buf, &map);
  gst_buffer_map (out, &map, GST_MAP_READ);
  check_pixel (map.data, 32, 28, (100 + RED_R) / 2, (100 + RED_G) / 2,
      (100 + RED_B) / 2);
  gst_buffer_unmap (out, &map);
  gst_buffer_unref (out);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Metas that lie must not be believed. */
GST_START_TEST (test_hostile_metas)
{
  GstHarness *h = sam_harness_new ("samoverlay draw-boxes=true",
      GST_VIDEO_FORMAT_I420, 64, 48);
  GstVideoInfo info;
  guint i;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 64, 48);
  for (i = 0; i < 9; i++) {
    GstBuffer *buf = new_gray (&info);
    GstStructure *s = add_meta (buf, "ok", 64, 48);
    GValue objects = G_VALUE_INIT;

    g_value_init (&objects, GST_TYPE_ARRAY);
    append_object (&objects, 1, i == 0 ? 0 : i == 1 ? 300 : 1,
        i == 2 ? -1000 : 60, i == 3 ? G_MAXINT : 40, i == 4 ? G_MAXINT : 2000,
        i == 5 ? -7 : 2000);
    gst_structure_take_value (s, "objects", &objects);
    if (i == 6)
      gst_structure_set (s, "mask-width", G_TYPE_INT, 6400, NULL);
    if (i == 7)
      gst_structure_set (s, "mask-width", G_TYPE_INT, 0, "mask-height",
          G_TYPE_INT, -3, NULL);
    if (i == 8)
      gst_structure_set (s, "width", G_TYPE_INT, -64, "state", G_TYPE_STRING,
          "none", NULL);
    gst_buffer_unref (gst_harness_push_and_pull (h, buf));
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_tiny_and_odd_frames)
{
  static const gint sizes[][2] = { {1, 1}, {3, 1}, {1, 5}, {17, 13} };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (sizes); i++) {
    GstHarness *h = sam_harness_new ("samoverlay draw-boxes=true",
        GST_VIDEO_FORMAT_I420, sizes[i][0], sizes[i][1]);
    GstVideoInfo info;
    GstBuffer *buf;

    gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, sizes[i][0],
        sizes[i][1]);
    buf = new_gray (&info);
    add_meta (buf, "ok", 16, 12);
    gst_buffer_unref (gst_harness_push_and_pull (h, buf));
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

GST_START_TEST (test_interlaced_frames_at_odd_addresses)
{
  GstHarness *h = gst_harness_new_parse ("samoverlay draw-ids=false "
      "draw-scores=false draw-outlines=false");
  gsize offset[GST_VIDEO_MAX_PLANES] = { 1, };
  gint stride[GST_VIDEO_MAX_PLANES] = { 64 * 4 + 3, }, x, y;
  GstBuffer *buf = gst_buffer_new_allocate (NULL, 1 + 48 * stride[0], NULL);
  GstMapInfo map;

  gst_harness_set_src_caps_str (h, "video/x-raw,format=RGBA,width=64,height=48,"
      "framerate=30/1,interlace-mode=mixed");
  GST_BUFFER_FLAG_SET (buf, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  gst_buffer_memset (buf, 0, 100, -1);
  gst_buffer_map (buf, &map, GST_MAP_WRITE);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 64; x++)
      map.data[1 + y * stride[0] + 4 * x + 3] = 255;
  }
  gst_buffer_unmap (buf, &map);
  gst_buffer_add_video_meta_full (buf, 0, GST_VIDEO_FORMAT_RGBA, 64, 48, 1,
      offset, stride);
  add_meta (buf, "ok", 64, 48);
  buf = gst_harness_push_and_pull (h, buf);
  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = 0; y < 48; y++) {
    const guint8 *row = map.data + 1 + y * stride[0];

    for (x = 0; x < 64; x++) {
      gboolean in = x >= X0 && x < X1 && y >= Y0 && y < Y1;

      fail_unless (ABS (row[4 * x] - (in ? (100 + RED_R) / 2 : 100)) <= 2);
    }
    for (x = 64 * 4; x < stride[0]; x++)
      fail_unless_equals_int (row[x], 100);
  }
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
samoverlay_suite (void)
{
  Suite *s = suite_create ("samoverlay");
  TCase *tc = sam_tcase_new (s, "pictures");

  tcase_add_test (tc, test_mask_and_outline_pixel_by_pixel);
  tcase_add_test (tc, test_slanted_edges_are_smooth);
  tcase_add_test (tc, test_stale_masks_are_paler);
  tcase_add_loop_test (tc, test_objects_that_are_behind_are_paler, 0, 2);
  tcase_add_test (tc, test_coarse_masks_are_stretched);
  tcase_add_test (tc, test_labels_stand_on_the_box);
  tcase_add_test (tc, test_boxes);
  tcase_add_test (tc, test_trackers_have_colours_of_their_own);
  tcase_add_test (tc, test_trackers_are_numbered);
  tcase_add_test (tc, test_every_format_is_drawn_on);
  tc = sam_tcase_new (s, "frames");
  tcase_add_test (tc, test_frames_without_meta_pass_untouched);
  tcase_add_test (tc, test_shared_frames_are_copied);
  tcase_add_test (tc, test_hostile_metas);
  tcase_add_test (tc, test_tiny_and_odd_frames);
  tcase_add_test (tc, test_interlaced_frames_at_odd_addresses);
  return s;
}

GST_CHECK_MAIN (samoverlay);
