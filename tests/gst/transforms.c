/* SPDX-License-Identifier: MIT */
/* GstSamTrackMeta through elements that change where things are, against a
 * picture that tells the truth: the flat scene, in which each thing has a colour
 * of its own, with a meta made of the labels that the scene knows. Wherever the
 * meta arrives its masks must be those of the picture that arrives. */

#include "samcheck.h"

#include <math.h>
#include <string.h>

#define CAPS "video/x-raw,format=RGBx,width=%d,height=%d,framerate=30/1," \
    "pixel-aspect-ratio=1/1"

typedef struct
{
  gint width, height;
  GstBuffer *frame;             /* RGBx, with a meta */
  guint8 *labels;               /* packed */
  guint32 colour[256];          /* of each label, 0xRRGGBB */
} Scene;

static guint32
get_rgb (const guint8 * p)
{
  return p[0] << 16 | p[1] << 8 | p[2];
}

static const GstStructure *
get_scene_meta (GstBuffer * buf)
{
  GstCustomMeta *meta = gst_buffer_get_custom_meta (buf, "GstSamSceneMeta");

  fail_unless (meta != NULL);
  return gst_custom_meta_get_structure (meta);
}

/* The object of a label: its box and area. */
static void
append_object (const Scene * scene, GValue * objects, guint label)
{
  gint x0 = scene->width, y0 = scene->height, x1 = 0, y1 = 0, x, y;
  GValue value = G_VALUE_INIT;
  guint area = 0;

  for (y = 0; y < scene->height; y++) {
    for (x = 0; x < scene->width; x++) {
      if (scene->labels[y * scene->width + x] != label)
        continue;
      x0 = MIN (x0, x);
      y0 = MIN (y0, y);
      x1 = MAX (x1, x + 1);
      y1 = MAX (y1, y + 1);
      area++;
    }
  }
  if (!area)
    return;
  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, gst_structure_new ("object",
          "id", G_TYPE_UINT64, (guint64) label + 10, "slot", G_TYPE_UINT, label,
          "state", G_TYPE_STRING, "tracked", "score", G_TYPE_DOUBLE, 5.0,
          "iou", G_TYPE_DOUBLE, 0.93, "x", G_TYPE_INT, x0, "y", G_TYPE_INT, y0,
          "w", G_TYPE_INT, x1 - x0, "h", G_TYPE_INT, y1 - y0,
          "area", G_TYPE_UINT, area, NULL));
  gst_value_array_append_and_take_value (objects, &value);
}

/* Of the label map, shrunk by @shrink. */
static void
add_meta (const Scene * scene, gint shrink)
{
  GstCustomMeta *meta;
  GstStructure *s;
  const gint width = scene->width / shrink, height = scene->height / shrink;
  GstBuffer *mask = gst_buffer_new_allocate (NULL, width * height, NULL);
  GstBuffer *soft;
  GValue objects = G_VALUE_INIT;
  GstMapInfo map;
  gint x, y;
  guint label;

  /* the name is registered by the plugin */
  gst_object_unref (gst_object_ref_sink (gst_element_factory_make ("samtrack",
              NULL)));
  meta = gst_buffer_add_custom_meta (scene->frame, "GstSamTrackMeta");
  s = gst_custom_meta_get_structure (meta);
  g_value_init (&objects, GST_TYPE_ARRAY);
  for (label = 1; label < 256; label++)
    append_object (scene, &objects, label);
  fail_unless (gst_value_array_get_size (&objects) >= 3);
  gst_buffer_map (mask, &map, GST_MAP_WRITE);
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++)
      map.data[y * width + x] = scene->labels[(y * shrink) * scene->width +
          x * shrink];
  }
  gst_buffer_unmap (mask, &map);
  /* for the field "probability", as many planes as there are objects */
  soft = gst_buffer_copy_deep (mask);
  for (x = 1; x < (gint) gst_value_array_get_size (&objects); x++)
    soft = gst_buffer_append (soft, gst_buffer_copy_deep (mask));
  gst_structure_set (s, "version", G_TYPE_UINT, 1,
      "width", G_TYPE_INT, scene->width, "height", G_TYPE_INT, scene->height,
      "state", G_TYPE_STRING, "ok", "age", G_TYPE_UINT, 0,
      "mask", GST_TYPE_BUFFER, mask, "mask-width", G_TYPE_INT, width,
      "mask-height", G_TYPE_INT, height,
      "mask-x", G_TYPE_INT, 0, "mask-y", G_TYPE_INT, 0,
      "mask-w", G_TYPE_INT, scene->width, "mask-h", G_TYPE_INT, scene->height,
      "probability", GST_TYPE_BUFFER, soft, NULL);
  gst_structure_take_value (s, "objects", &objects);
  gst_buffer_unref (mask);
  gst_buffer_unref (soft);
}

static void
scene_open (Scene * scene, gint width, gint height, gint shrink)
{
  gchar *caps = g_strdup_printf (CAPS, width, height);
  gchar *launch = g_strdup_printf ("samscene flat=true num-buffers=1 ! "
      "capsfilter caps=%s", caps);
  GstHarness *h = gst_harness_new_parse (launch);
  GstMapInfo pixels, labels;
  GstBuffer *frame, *map;
  gint i;

  memset (scene, 0, sizeof *scene);
  scene->width = width;
  scene->height = height;
  gst_harness_play (h);
  frame = gst_harness_pull (h);
  map = gst_value_get_buffer (gst_structure_get_value (get_scene_meta (frame),
          "labels"));
  gst_buffer_map (map, &labels, GST_MAP_READ);
  gst_buffer_map (frame, &pixels, GST_MAP_READ);
  fail_unless_equals_int (labels.size, width * height);
  scene->labels = g_memdup2 (labels.data, labels.size);
  /* not along an edge, where colours are mixed */
  for (i = width; i < width * (height - 1); i++) {
    if (labels.data[i] == labels.data[i - width] &&
        labels.data[i] == labels.data[i + width] &&
        labels.data[i] == labels.data[i - 1] &&
        labels.data[i] == labels.data[i + 1])
      scene->colour[labels.data[i]] = get_rgb (pixels.data + 4 * i);
  }
  scene->frame = gst_buffer_new_memdup (pixels.data, pixels.size);
  GST_BUFFER_PTS (scene->frame) = 0;
  GST_BUFFER_DURATION (scene->frame) = GST_SECOND / 30;
  gst_buffer_unmap (frame, &pixels);
  gst_buffer_unmap (map, &labels);
  gst_buffer_unref (frame);
  gst_harness_teardown (h);
  add_meta (scene, shrink);
  g_free (launch);
  g_free (caps);
}

static void
scene_close (Scene * scene)
{
  gst_buffer_unref (scene->frame);
  g_free (scene->labels);
}

/* What comes out of a chain, in RGBx of whatever size. */
static GstBuffer *
run_through (const Scene * scene, const gchar * launch, GstVideoInfo * info)
{
  GstHarness *h = gst_harness_new_parse (launch);
  gchar *caps = g_strdup_printf (CAPS, scene->width, scene->height);
  GstBuffer *buf;
  GstCaps *out;

  gst_harness_set_live (h, FALSE);      /* a compositor would wait for a clock */
  gst_harness_set_src_caps_str (h, caps);
  gst_harness_push (h, gst_buffer_copy (scene->frame));
  gst_harness_push_event (h, gst_event_new_eos ());
  buf = gst_harness_pull (h);
  out = gst_pad_get_current_caps (h->sinkpad);
  fail_unless (buf && out && gst_video_info_from_caps (info, out), "%s",
      launch);
  gst_caps_unref (out);
  gst_harness_teardown (h);
  g_free (caps);
  return buf;
}

static gint
get_distance (guint32 a, guint32 b)
{
  return ABS ((gint) (a >> 16) - (gint) (b >> 16)) +
      ABS ((gint) (a >> 8 & 255) - (gint) (b >> 8 & 255)) +
      ABS ((gint) (a & 255) - (gint) (b & 255));
}

/* The label whose colour a pixel has; -1: a mixture, along an edge, or that of
 * no thing. */
static gint
find_label (const Scene * scene, guint32 rgb)
{
  gint label;

  for (label = 0; label < 256; label++) {
    if ((label == 0 || scene->colour[label]) &&
        get_distance (scene->colour[label], rgb) <= 24)
      return label;
  }
  return -1;
}

/* Pixels of @info's frame whose label the meta's map does not have, of those of
 * things in either. */
static gdouble
compare (const Scene * scene, GstBuffer * buf, const GstVideoInfo * info)
{
  const GstStructure *s = sam_get_meta (buf);
  const gint width = sam_get_int (s, "mask-width");
  const gint height = sam_get_int (s, "mask-height");
  GstBuffer *mask = gst_value_get_buffer (gst_structure_get_value (s, "mask"));
  guint wrong = 0, all = 0;
  GstVideoFrame frame;
  GstMapInfo map;
  gint x, y;

  fail_unless (gst_video_frame_map (&frame, info, buf, GST_MAP_READ));
  gst_buffer_map (mask, &map, GST_MAP_READ);
  fail_unless_equals_int (map.size, width * height);
  for (y = 0; y < info->height; y++) {
    const guint8 *row = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, 0) +
        y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);

    for (x = 0; x < info->width; x++) {
      const gint truth = find_label (scene, get_rgb (row + 4 * x));
      const gint label = map.data[(2 * y + 1) * height / (2 * info->height) *
          width + (2 * x + 1) * width / (2 * info->width)];

      all += truth > 0 || label > 0;
      wrong += truth >= 0 && truth != label;
    }
  }
  gst_buffer_unmap (mask, &map);
  gst_video_frame_unmap (&frame);
  return all ? (gdouble) wrong / all : 0;
}

/* ---- Elements of this GStreamer */

enum
{
  LOST,                         /* or right, from 1.28 on */
  KEPT,
};

static const struct
{
  const gchar *launch;
  gint then;
} chains[] = {
  {"identity", KEPT},
  {"tee ! queue", KEPT},
  {"videobalance saturation=0.9", KEPT},
  {"videorate", KEPT},
  {"videoscale ! capsfilter caps=video/x-raw,width=160,height=90", KEPT},
  {"videoscale ! capsfilter caps=video/x-raw,width=480,height=270", KEPT},
  {"videoconvertscale ! capsfilter caps=video/x-raw,width=160,height=90", KEPT},
  {"videoscale ! capsfilter "
        "caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1", LOST},
  {"videoscale add-borders=false ! capsfilter "
        "caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1", LOST},
  {"videocrop left=40", LOST},
  {"videocrop top=21 bottom=33 right=16", LOST},
  {"videoflip video-direction=90r", LOST},
  {"videoflip video-direction=180", LOST},
  {"videoflip video-direction=horiz", LOST},
  {"videoflip video-direction=vert", LOST},
  {"videoflip video-direction=ul-lr", LOST},
  {"videobox left=-20 top=10", LOST},
  {"identity ! compositor", LOST},
  {"identity ! compositor sink_0::xpos=40 sink_0::ypos=-20", LOST},
  {"identity ! compositor sink_0::width=160 sink_0::height=90", LOST},
  {"deinterlace mode=interlaced", LOST},
  {"imagefreeze num-buffers=1", LOST},
};

/* Edges are smooth: some of their pixels have the colour of what is beside, or
 * of another thing. Off by a pixel would be 0.05 or more. */
#define EDGES 0.006

/* Masks of another scene, or of this one mirrored, have at most half of their
 * pixels right. Scaled edges are mixtures, and the scaled label map's are beside
 * them by a pixel: 0.05 was seen. */
#define FEW 0.08

GST_START_TEST (test_masks_are_right_or_lost)
{
  const gchar *launch = chains[__i__].launch;
  const gchar *element = g_str_has_prefix (launch, "identity ! ") ?
      launch + 11 : launch;
  gchar *text = g_strdup_printf ("%s ! videoconvert ! capsfilter "
      "caps=video/x-raw,format=RGBx", launch);
  gchar *name = g_strndup (element, strcspn (element, " "));
  GstElementFactory *factory = gst_element_factory_find (name);
  GstVideoInfo info;
  GstBuffer *buf;
  Scene scene;

  if (factory) {
    scene_open (&scene, 320, 180, 1);
    buf = run_through (&scene, text, &info);
    if (gst_buffer_get_custom_meta (buf, "GstSamTrackMeta")) {
      const gdouble wrong = compare (&scene, buf, &info);

      fail_unless (wrong < FEW, "%s: %.3f of the masks are wrong", launch,
          wrong);
    } else {
      fail_unless (chains[__i__].then == LOST, "%s: the meta is lost", launch);
    }
    gst_buffer_unref (buf);
    scene_close (&scene);
    gst_object_unref (factory);
  }
  g_free (name);
  g_free (text);
}

GST_END_TEST;

/* ---- What elements of GStreamer 1.28 tell, and this one's pictures */

/* Of its documentation. */
typedef struct
{
  const GstVideoInfo *in_info;
  GstVideoRectangle in;
  const GstVideoInfo *out_info;
  GstVideoRectangle out;
  gfloat matrix[3][3];
} Matrix;

static const struct
{
  const gchar *launch;          /* the same by this GStreamer */
  gint shrink;                  /* of the label map */
  gint width, height;           /* of what comes out */
  GstVideoRectangle in, out;    /* w 0: all */
  gfloat matrix[2][3];
  gdouble wrong;                /* at most, of the masks */
} moves[] = {
  {"videocrop left=40 top=21 bottom=33 right=16", 1, 264, 126,
      {40, 21, 264, 126}, {0, 0, 264, 126}, {{1, 0, 0}, {0, 1, 0}}, EDGES},
  {"videocrop left=40 top=20", 4, 280, 160,
      {40, 20, 280, 160}, {0, 0, 280, 160}, {{1, 0, 0}, {0, 1, 0}}, 0.2},
  {"videoflip video-direction=90r", 1, 180, 320, {0}, {0},
      {{0, -1, 179}, {1, 0, 0}}, EDGES},
  {"videoflip video-direction=180", 1, 320, 180, {0}, {0},
      {{-1, 0, 319}, {0, -1, 179}}, EDGES},
  {"videoflip video-direction=90l", 1, 180, 320, {0}, {0},
      {{0, 1, 0}, {-1, 0, 319}}, EDGES},
  {"videoflip video-direction=horiz", 1, 320, 180, {0}, {0},
      {{-1, 0, 319}, {0, 1, 0}}, EDGES},
  {"videoflip video-direction=horiz", 2, 320, 180, {0}, {0},
      {{-1, 0, 319}, {0, 1, 0}}, 0.1},
  {"videoflip video-direction=vert", 1, 320, 180, {0}, {0},
      {{1, 0, 0}, {0, -1, 179}}, EDGES},
  {"videoflip video-direction=ul-lr", 1, 180, 320, {0}, {0},
      {{0, 1, 0}, {1, 0, 0}}, EDGES},
  {"videoflip video-direction=ur-ll", 1, 180, 320, {0}, {0},
      {{0, -1, 179}, {-1, 0, 319}}, EDGES},
  {"videobox left=-20 top=-10 bottom=-6 fill=black", 1, 340, 196, {0},
      {20, 10, 320, 180}, {{1, 0, 0}, {0, 1, 0}}, EDGES},
  {"videobox left=30 bottom=-20 fill=black", 1, 290, 200, {0},
      {-30, 0, 320, 180}, {{1, 0, 0}, {0, 1, 0}}, EDGES},
  {"videoscale ! capsfilter caps=video/x-raw,width=160,height=160,"
        "pixel-aspect-ratio=1/1", 1, 160, 160, {0}, {0, 35, 160, 90},
      {{0.5, 0, 0}, {0, 0.5, 0}}, FEW},
  {"videocrop left=80 bottom=45 ! videoscale ! capsfilter "
        "caps=video/x-raw,width=480,height=270,pixel-aspect-ratio=1/1", 1, 480,
        270, {80, 0, 240, 135}, {0, 0, 480, 270}, {{2, 0, 0}, {0, 2, 0}}, FEW},
};

static void
fill_matrix (Matrix * m, const GstVideoInfo * in, const GstVideoInfo * out,
    gint i)
{
  memset (m, 0, sizeof *m);
  m->in_info = in;
  m->in = moves[i].in;
  m->out_info = out;
  m->out = moves[i].out;
  if (!m->in.w) {
    m->in.w = in->width;
    m->in.h = in->height;
  }
  if (!m->out.w) {
    m->out.w = out->width;
    m->out.h = out->height;
  }
  memcpy (m->matrix[0], moves[i].matrix[0], sizeof m->matrix[0]);
  memcpy (m->matrix[1], moves[i].matrix[1], sizeof m->matrix[1]);
  m->matrix[2][2] = 1;
}

/* As an element does. Returns whether @to has a meta then. */
static gboolean
transform (GstBuffer * from, GstBuffer * to, Matrix * m)
{
  GstMeta *meta = (GstMeta *) gst_buffer_get_custom_meta (from,
      "GstSamTrackMeta");
  GstCustomMeta *old = gst_buffer_get_custom_meta (to, "GstSamTrackMeta");
  gboolean ok;

  if (old)
    gst_buffer_remove_meta (to, (GstMeta *) old);
  ok = meta->info->transform_func (to, meta, from,
      g_quark_from_static_string ("gst-video-matrix"), m);
  fail_unless (ok == (gst_buffer_get_custom_meta (to, "GstSamTrackMeta") !=
          NULL));
  return ok;
}

/* Each object's box is that of its pixels in the label map, its area their
 * number, but for a cell; what is not seen has none. */
static void
check_objects (const GstStructure * s, const gchar * launch, gint shrink)
{
  GstBuffer *mask = gst_value_get_buffer (gst_structure_get_value (s, "mask"));
  const gint width = sam_get_int (s, "mask-width");
  const gint height = sam_get_int (s, "mask-height");
  const gint sx = sam_get_int (s, "width") / width ? sam_get_int (s, "width") /
      width : 1;
  GstMapInfo map;
  guint i;

  gst_buffer_map (mask, &map, GST_MAP_READ);
  for (i = 0; i < sam_get_num_objects (s); i++) {
    const GstStructure *object = sam_get_object (s, i);
    const guint slot = sam_get_uint (object, "slot");
    gint x0 = width, y0 = height, x1 = 0, y1 = 0, x, y;
    guint area = 0;

    for (y = 0; y < height; y++) {
      for (x = 0; x < width; x++) {
        if (map.data[y * width + x] != slot)
          continue;
        x0 = MIN (x0, x);
        y0 = MIN (y0, y);
        x1 = MAX (x1, x + 1);
        y1 = MAX (y1, y + 1);
        area++;
      }
    }
    fail_unless ((area > 0) == (sam_get_int (object, "w") > 0), "%s: slot %u "
        "has %u px in the map, and its box is %d wide", launch, slot, area,
        sam_get_int (object, "w"));
    if (!area || shrink > 1 || sx > 1 || width != sam_get_int (s, "width"))
      continue;
    fail_unless (sam_get_uint (object, "area") == area, "%s: area %u, not %u",
        launch, sam_get_uint (object, "area"), area);
    /* what is cut off is not known of a box: it may be larger */
    fail_unless (sam_get_int (object, "x") <= x0 &&
        sam_get_int (object, "y") <= y0 && sam_get_int (object, "x") +
        sam_get_int (object, "w") >= x1 && sam_get_int (object, "y") +
        sam_get_int (object, "h") >= y1, "%s: the box of slot %u does not have "
        "its mask", launch, slot);
  }
  gst_buffer_unmap (mask, &map);
}

/* Its planes are those of the label map, as the test wrote them. */
static void
check_soft (const GstStructure * s)
{
  GstBuffer *soft = gst_value_get_buffer (gst_structure_get_value (s,
          "probability"));
  GstBuffer *mask = gst_value_get_buffer (gst_structure_get_value (s, "mask"));
  GstMapInfo map;
  guint i;

  gst_buffer_map (mask, &map, GST_MAP_READ);
  fail_unless_equals_int (gst_buffer_get_size (soft),
      map.size * sam_get_num_objects (s));
  for (i = 0; i < sam_get_num_objects (s); i++)
    fail_unless (!gst_buffer_memcmp (soft, i * map.size, map.data, map.size));
  gst_buffer_unmap (mask, &map);
}

GST_START_TEST (test_masks_move_with_the_picture)
{
  const gchar *launch = moves[__i__].launch;
  gchar *text = g_strdup_printf ("%s ! videoconvert ! capsfilter "
      "caps=video/x-raw,format=RGBx", launch);
  GstVideoInfo in, out;
  const GstStructure *s;
  GstBuffer *buf;
  gdouble wrong;
  Matrix m;
  Scene scene;

  scene_open (&scene, 320, 180, moves[__i__].shrink);
  gst_video_info_set_format (&in, GST_VIDEO_FORMAT_RGBx, 320, 180);
  buf = run_through (&scene, text, &out);
  fail_unless_equals_int (out.width, moves[__i__].width);
  fail_unless_equals_int (out.height, moves[__i__].height);
  fill_matrix (&m, &in, &out, __i__);
  fail_unless (transform (scene.frame, buf, &m), "%s: lost", launch);
  s = sam_get_meta (buf);
  fail_unless_equals_int (sam_get_int (s, "width"), out.width);
  fail_unless_equals_int (sam_get_int (s, "mask-w"), out.width);
  wrong = compare (&scene, buf, &out);
  fail_unless (wrong <= moves[__i__].wrong, "%s: %.3f of the masks are wrong",
      launch, wrong);
  check_objects (s, launch, moves[__i__].shrink);
  check_soft (s);
  gst_buffer_unref (buf);
  scene_close (&scene);
  g_free (text);
}

GST_END_TEST;

static const struct
{
  const gchar *what;
  gint shrink;
  GstVideoRectangle in, out;
  gfloat matrix[3][3];
} refused[] = {
  {"cells would be cut", 4, {42, 20, 200, 100}, {0, 0, 200, 100},
      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
  {"a border of half a cell", 4, {0, 0, 320, 180}, {0, 2, 320, 180},
      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
  {"a rotation", 1, {0, 0, 320, 180}, {0, 0, 200, 100},
      {{0.7f, -0.7f, 0}, {0.7f, 0.7f, 0}, {0, 0, 1}}},
  {"a perspective", 1, {0, 0, 320, 180}, {0, 0, 200, 100},
      {{1, 0, 0}, {0, 1, 0}, {0.01f, 0, 1}}},
  {"both axes of one", 1, {0, 0, 320, 180}, {0, 0, 200, 100},
      {{1, 0, 0}, {1, 0, 0}, {0, 0, 1}}},
  {"nothing", 1, {0, 0, 320, 180}, {0, 0, 200, 100}, {{0}}},
  {"nothing seen", 1, {0, 0, 320, 180}, {500, 0, 320, 180},
      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
  {"no numbers", 1, {0, 0, 320, 180}, {0, 0, 200, 100},
      {{NAN, 0, 0}, {0, 1, INFINITY}, {0, 0, 1}}},
  {"a map beyond all sizes", 1, {0, 0, 320, 180}, {0, 0, 200, 100},
      {{1e-30f, 0, 0}, {0, 1e-30f, 0}, {0, 0, 1}}},
  {"far away", 1, {-2147483647, 0, 320, 180}, {2147483647, 0, 200, 100},
      {{1e30f, 0, 1e30f}, {0, 1, 0}, {0, 0, 1}}},
};

/* What cannot be moved to the pixel is lost. */
GST_START_TEST (test_what_would_be_wrong_is_lost)
{
  GstBuffer *to = gst_buffer_new ();
  GstVideoInfo in, out;
  Scene scene;
  Matrix m;

  scene_open (&scene, 320, 180, refused[__i__].shrink);
  gst_video_info_set_format (&in, GST_VIDEO_FORMAT_RGBx, 320, 180);
  gst_video_info_set_format (&out, GST_VIDEO_FORMAT_RGBx, 200, 100);
  m.in_info = &in;
  m.in = refused[__i__].in;
  m.out_info = &out;
  m.out = refused[__i__].out;
  memcpy (m.matrix, refused[__i__].matrix, sizeof m.matrix);
  fail_if (transform (scene.frame, to, &m), "%s", refused[__i__].what);
  /* of a frame of another size than the meta's */
  memset (m.matrix, 0, sizeof m.matrix);
  m.matrix[0][0] = m.matrix[1][1] = m.matrix[2][2] = 1;
  m.in = m.out = (GstVideoRectangle) {
  0, 0, 200, 100};
  fail_unless (transform (scene.frame, to, &m));
  m.in_info = &out;
  fail_if (transform (scene.frame, to, &m));
  gst_buffer_unref (to);
  scene_close (&scene);
}

GST_END_TEST;

/* A map or planes smaller than they claim, and boxes beyond all frames, of a
 * meta from outside. */
GST_START_TEST (test_hostile_metas)
{
  GstBuffer *to = gst_buffer_new (), *small = gst_buffer_new_allocate (NULL, 9,
      NULL);
  GstVideoInfo info;
  GstStructure *s;
  Scene scene;
  Matrix m;

  scene_open (&scene, 320, 180, 1);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBx, 320, 180);
  fill_matrix (&m, &info, &info, 5);
  s = gst_custom_meta_get_structure (gst_buffer_get_custom_meta (scene.frame,
          "GstSamTrackMeta"));
  gst_structure_set (s, "probability", GST_TYPE_BUFFER, small, NULL);
  fail_unless (transform (scene.frame, to, &m));
  fail_if (gst_structure_has_field (sam_get_meta (to), "probability"));
  gst_structure_set (s, "probability", G_TYPE_STRING, "none", NULL);
  fail_unless (transform (scene.frame, to, &m));
  gst_structure_set (s, "mask", GST_TYPE_BUFFER, small, NULL);
  fail_if (transform (scene.frame, to, &m));
  gst_structure_remove_field (s, "mask");
  fail_unless (transform (scene.frame, to, &m));
  gst_structure_set (s, "version", G_TYPE_UINT, 2, NULL);
  fail_if (transform (scene.frame, to, &m));
  gst_buffer_unref (small);
  gst_buffer_unref (to);
  scene_close (&scene);
}

GST_END_TEST;

static Suite *
transforms_suite (void)
{
  Suite *s = suite_create ("transforms");
  TCase *tc = sam_tcase_new (s, "transforms");

  tcase_add_loop_test (tc, test_masks_are_right_or_lost, 0,
      G_N_ELEMENTS (chains));
  tcase_add_loop_test (tc, test_masks_move_with_the_picture, 0,
      G_N_ELEMENTS (moves));
  tcase_add_loop_test (tc, test_what_would_be_wrong_is_lost, 0,
      G_N_ELEMENTS (refused));
  tcase_add_test (tc, test_hostile_metas);
  return s;
}

GST_CHECK_MAIN (transforms);
