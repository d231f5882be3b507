/* SPDX-License-Identifier: MIT */
/* The modes of samoverlay that hide, on frames in the GPU's memory: what they
 * make of the same frames in system memory, and no frame crosses the bus. The
 * emulator's program as in cudamemory.c. */

#define _GNU_SOURCE
#include "cudacheck.h"
#include "cudarig.h"

#include "overlay/gstsamoverlay.h"

#include <gst/cuda/gstcudamemory.h>

#include <png.h>
#include <string.h>

#include "emu.h"

#define SEED 31
#define LOOKED_ROWS 36          /* of frames that privacy looks at */

static const gchar *const effects[] = {
  "samoverlay mode=solid effect-color=0xff3060c0 margin=3",
  "samoverlay mode=solid margin=0 hold=0",
  "samoverlay mode=cut-out effect-color=0xffe0a010",
  "samoverlay mode=cut-out keep=outside",
  "samoverlay mode=solid unmasked-frames=cover",
  "samoverlay mode=solid unmasked-frames=hold",
  "samoverlay mode=solid privacy=true",
  "samoverlay mode=blur cell-size=8",
  "samoverlay mode=blur cell-size=40 margin=9 unmasked-frames=cover",
  "samoverlay mode=pixelate cell-size=12",
  "samoverlay mode=blur privacy=true",
  "samoverlay mode=blur unmasked-frames=hold hold=0",
  "samoverlay mode=cut-out ground=picture",
  "samoverlay mode=cut-out ground=transparent",
  "samoverlay mode=cut-out ground=transparent keep=outside",
  "samoverlay mode=cut-out ground=picture keep=outside privacy=true",
};

static gboolean
is_deep (const CudaRig * rig)
{
  return GST_VIDEO_INFO_FORMAT (&rig->info) == GST_VIDEO_FORMAT_P010_10LE;
}

/* The largest difference of two bytes of the same plane; of numbers of 16 bits
 * in 255ths. */
static gint
find_difference (CudaRig * rig, GstBuffer * a, GstBuffer * b, guint plane)
{
  GstVideoFrame p, q;
  gint x, y, most = 0;

  fail_unless (gst_video_frame_map (&p, &rig->info, a, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&q, &rig->info, b, GST_MAP_READ));
  for (y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (&p, plane); y++) {
    const guint8 *u = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&p, plane) +
        y * GST_VIDEO_FRAME_PLANE_STRIDE (&p, plane);
    const guint8 *v = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&q, plane) +
        y * GST_VIDEO_FRAME_PLANE_STRIDE (&q, plane);

    for (x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH (&p, plane) *
        GST_VIDEO_FRAME_COMP_PSTRIDE (&p, plane); x++)
      most = MAX (most, !is_deep (rig) ? ABS (u[x] - v[x]) : x % 2 ? 0 :
          ABS (GST_READ_UINT16_LE (u + x) - GST_READ_UINT16_LE (v + x)) / 257);
  }
  gst_video_frame_unmap (&p);
  gst_video_frame_unmap (&q);
  return most;
}

/* A picture of another shape than the frames, of noise. */
static void
write_ground (void)
{
  png_image image = {.version = PNG_IMAGE_VERSION,.width = 60,.height = 71,
    .format = PNG_FORMAT_RGBA
  };
  GRand *rand = g_rand_new_with_seed (SEED);
  guint8 pixels[4 * 60 * 71];
  guint i;

  for (i = 0; i < sizeof pixels; i++)
    pixels[i] = i % 4 == 3 ? 255 : g_rand_int (rand);
  sam_folder_make ("ground.png");
  fail_unless (png_image_write_to_file (&image, sam_file, 0, pixels, 0, NULL));
  g_rand_free (rand);
}

static GstHarness *
new_harness (const gchar * style)
{
  gchar *text = g_strdup_printf (strstr (style, "ground=picture") ?
      "%s ground-location=\"%s\"" : "%s", style, sam_file);
  GstElement *element = gst_parse_launch (text, NULL);
  GstHarness *h = gst_harness_new_with_element (element, "sink", "src");

  gst_object_unref (element);
  g_free (text);
  return h;
}

/* What `privacy` reads of a frame. */
static gsize
get_looked_bytes (CudaRig * rig, const gchar * style)
{
  return strstr (style, "privacy=true") ? LOOKED_ROWS *
      GST_VIDEO_INFO_WIDTH (&rig->info) *
      GST_VIDEO_INFO_COMP_PSTRIDE (&rig->info, 0) : 0;
}

static void
set_rate (CudaRig * rig, gint fps)
{
  GstCaps *caps;

  rig->info.fps_n = fps;
  caps = gst_video_info_to_caps (&rig->info);
  gst_harness_set_src_caps (rig->host, gst_caps_copy (caps));
  gst_caps_set_features_simple (caps,
      gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, NULL));
  gst_harness_set_src_caps (rig->device, caps);
}

/* Elements of that style. Returns where the one on the device tells what it
 * has to. */
static GstBus *
rig_restyle (CudaRig * rig, const gchar * style)
{
  GstBus *bus;

  gst_harness_teardown (rig->host);
  gst_harness_teardown (rig->device);
  rig->host = new_harness (style);
  rig->device = new_harness (style);
  bus = sam_harness_add_bus (rig->device);
  set_rate (rig, 30);
  return bus;
}

/* One frame in both memories. Returns whether it was changed. P010 has 16 bits on
 * the GPU, and a layer of 8 in system memory: means leave out up to one there
 * and are rounded, pictures and colours become 8 bits, and chroma goes by one
 * pixel, so that luma alone is held against the other. */
static gboolean
run_effect_on (CudaRig * rig, const gchar * effect, GstBuffer * frame,
    GstBuffer * mask, guint n)
{
  GstBuffer *plain = gst_buffer_copy_deep (frame);
  GstBuffer *far = cuda_rig_frame_to_device (rig, frame);
  /* in libgstcuda's memory if their number is one of words */
  const gsize label_bytes = gst_buffer_get_size (mask) % 4 ? 0 :
      gst_buffer_get_size (mask);
  const gint tolerance = !is_deep (rig) ? 0 : strstr (effect, "cut-out") ? 3 :
      2;
  struct emu_copied before, after;
  gboolean changed;
  gsize copied;
  guint i;

  GST_BUFFER_PTS (frame) = GST_BUFFER_PTS (far) = n * GST_SECOND / 30;
  rig->report->mask = mask;
  gst_sam_meta_add (frame, rig->report);
  rig->report->mask = cuda_rig_mask_to_device (rig, mask);
  gst_sam_meta_add (far, rig->report);
  gst_clear_buffer (&rig->report->mask);
  frame = gst_harness_push_and_pull (rig->host, frame);
  before = emu_copied ();
  far = gst_harness_push_and_pull (rig->device, far);
  after = emu_copied ();
  copied = after.to_host - before.to_host;
  fail_unless (copied == label_bytes + get_looked_bytes (rig, effect),
      "%s: %" G_GSIZE_FORMAT " bytes to the host", effect, copied);
  for (i = 0; i < GST_VIDEO_INFO_N_PLANES (&rig->info); i++) {
    const gint most = find_difference (rig, frame, far, i);

    if (tolerance && i > 0)
      continue;
    fail_unless (most <= tolerance, "%s, frame %u, plane %u: %d of 255",
        effect, n, i, most);
  }
  changed = cuda_rig_count_differences (rig, frame, plain) > 0;
  gst_buffer_unref (frame);
  gst_buffer_unref (plain);
  gst_buffer_unref (far);
  return changed;
}

static gboolean
run_effect (CudaRig * rig, const gchar * effect, GstBuffer * mask, guint n)
{
  return run_effect_on (rig, effect, cuda_rig_draw_frame (rig), mask, n);
}

GST_START_TEST (test_effects)
{
  static const GstVideoFormat some[] = { GST_VIDEO_FORMAT_NV12,
    GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_BGRx,
    GST_VIDEO_FORMAT_P010_10LE
  };
  const gchar *effect = effects[__i__ % G_N_ELEMENTS (effects)];
  const GstVideoFormat format = some[__i__ / G_N_ELEMENTS (effects)];
  guint changed = 0, n;
  GstBus *bus;
  CudaRig rig;

  if (strstr (effect, "transparent") && format != GST_VIDEO_FORMAT_RGBA)
    return;                     /* the others have no alpha */
  write_ground ();
  cuda_rig_open (&rig, format, 97, 66, SEED + __i__);
  bus = rig_restyle (&rig, effect);
  for (n = 0; n < 6; n++) {
    const gboolean whole = n % 2;
    GstBuffer *mask;

    if (n == 3)
      set_rate (&rig, 25);
    if (n == 4) {
      gst_util_set_object_arg (G_OBJECT (rig.host->element), "effect-color",
          "0xff406020");
      gst_util_set_object_arg (G_OBJECT (rig.device->element), "effect-color",
          "0xff406020");
    }

    cuda_rig_draw_objects (&rig, 3);
    mask = cuda_rig_draw_mask (&rig, whole ? 97 : 20, whole ? 66 : 12);
    changed += run_effect (&rig, effect, mask, n);
    gst_buffer_unref (mask);
  }
  fail_unless (changed > 2, "%s: %u frames changed", effect, changed);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_INFO, NULL),
      0);
  gst_element_set_bus (rig.device->element, NULL);
  gst_object_unref (bus);
  cuda_rig_close (&rig);
  sam_folder_remove ();
}

GST_END_TEST;

/* What is kept of frames is of their size: another one begins anew. */
GST_START_TEST (test_another_size)
{
  static const gchar *const some[] = {
    "samoverlay mode=cut-out ground=picture",
    "samoverlay mode=blur unmasked-frames=hold",
  };
  static const gint sizes[][2] = { {96, 66}, {64, 50}, {128, 34}, {96, 66} };
  guint i, n;
  GstBus *bus;
  CudaRig rig;

  write_ground ();
  cuda_rig_open (&rig, GST_VIDEO_FORMAT_NV12, 96, 66, SEED);
  bus = rig_restyle (&rig, some[__i__]);
  for (n = 0; n < 3 * G_N_ELEMENTS (sizes); n++) {
    GstBuffer *mask;

    i = n / 3;
    if (n % 3 == 0) {
      gst_video_info_set_format (&rig.info, GST_VIDEO_FORMAT_NV12,
          sizes[i][0], sizes[i][1]);
      rig.info.fps_d = 1;
      set_rate (&rig, 30);
    }
    cuda_rig_draw_objects (&rig, 2);
    rig.report->state = n == 0 || n % 3 == 1 ? GST_SAM_REPORT_OK :
        GST_SAM_REPORT_STALE;
    mask = cuda_rig_draw_mask (&rig, 32, 16);
    run_effect (&rig, some[__i__], mask, n);
    gst_buffer_unref (mask);
  }
  gst_element_set_bus (rig.device->element, NULL);
  gst_object_unref (bus);
  cuda_rig_close (&rig);
  sam_folder_remove ();
}

GST_END_TEST;

/* ---- Privacy over frames that follow each other */

/* Hardly any noise, on a grey that tells scenes apart. */
static GstBuffer *
draw_scene (CudaRig * rig, guint8 grey)
{
  GstBuffer *buf = cuda_rig_draw_frame (rig);
  GstMapInfo map;
  gsize i;

  gst_buffer_map (buf, &map, GST_MAP_READWRITE);
  for (i = 0; i < map.size; i++)
    map.data[i] = is_deep (rig) && i % 2 == 0 ? map.data[i] : grey +
        map.data[i] % 8;
  gst_buffer_unmap (buf, &map);
  return buf;
}

/* A thing that goes on slowly; with its mask, or with that of an earlier frame.
 */
static GstBuffer *
draw_walker (CudaRig * rig, guint n, gboolean is_stale)
{
  GstSamObject *object = &rig->report->object[0];
  GstBuffer *mask;
  GstMapInfo map;
  gint y;

  cuda_rig_draw_objects (rig, 1);
  rig->report->state = is_stale ? GST_SAM_REPORT_STALE : GST_SAM_REPORT_OK;
  rig->report->age = is_stale;
  rig->report->mask_width = rig->info.width;
  rig->report->mask_height = rig->info.height;
  object->id = 1;
  object->state = SAM_OBJECT_TRACKED;
  object->x = 20 + n;
  object->y = 20;
  object->w = 18;
  object->h = 22;
  object->iou = 0.9;
  mask = gst_buffer_new_and_alloc (rig->info.width * rig->info.height);
  gst_buffer_map (mask, &map, GST_MAP_WRITE);
  memset (map.data, 0, map.size);
  for (y = object->y; y < object->y + object->h; y++)
    memset (map.data + y * rig->info.width + object->x, 1, object->w);
  gst_buffer_unmap (mask, &map);
  return mask;
}

static guint
get_count (GstElement * element, const gchar * name)
{
  GstStructure *stats;
  guint count = 0;

  g_object_get (element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint (stats, name, &count));
  gst_structure_free (stats);
  return count;
}

/* Both elements have counted so many. */
static void
expect_count (CudaRig * rig, const gchar * name, guint count)
{
  fail_unless_equals_int (get_count (rig->host->element, name), count);
  fail_unless_equals_int (get_count (rig->device->element, name), count);
}

/* Two frames with masks of an earlier one are held, and ten after a cut, which
 * is seen in what is read of the frame. */
GST_START_TEST (test_privacy)
{
  static const GstVideoFormat some[] = { GST_VIDEO_FORMAT_NV12,
    GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_BGRx,
    GST_VIDEO_FORMAT_P010_10LE
  };
  static const gchar *const effect =
      "samoverlay mode=blur cell-size=8 privacy=true";
  guint n, held = 0;
  GstBuffer *mask;
  GstBus *bus;
  CudaRig rig;

  cuda_rig_open (&rig, some[__i__], 98, 66, SEED);
  bus = rig_restyle (&rig, effect);
  for (n = 0; n < 26; n++) {
    mask = draw_walker (&rig, n, n == 5 || n == 6);
    run_effect_on (&rig, effect, draw_scene (&rig, n < 12 ? 160 : 40), mask,
        n);
    gst_buffer_unref (mask);
    held += n == 5 || n == 6 || (n >= 12 && n < 22);
    expect_count (&rig, "held", held);
    expect_count (&rig, "covered", 0);
  }
  gst_element_set_bus (rig.device->element, NULL);
  gst_object_unref (bus);
  cuda_rig_close (&rig);
}

GST_END_TEST;

/* A frame that was held in another context is not shown: all is covered. */
GST_START_TEST (test_held_elsewhere)
{
  static const gchar *const effect =
      "samoverlay mode=solid privacy=true effect-color=0xff808080";
  GstCudaContext *other = gst_cuda_context_new (0), *own;
  GstBuffer *mask, *plain, *far;
  GstBus *bus;
  CudaRig rig;

  cuda_rig_open (&rig, GST_VIDEO_FORMAT_NV12, 98, 66, SEED);
  own = rig.context;
  bus = rig_restyle (&rig, effect);
  mask = draw_walker (&rig, 0, FALSE);
  run_effect_on (&rig, effect, draw_scene (&rig, 160), mask, 0);
  gst_buffer_unref (mask);
  rig.context = other;
  rig.report->mask = draw_walker (&rig, 1, TRUE);
  plain = draw_scene (&rig, 160);
  far = cuda_rig_frame_to_device (&rig, plain);
  gst_sam_meta_add (far, rig.report);
  far = gst_harness_push_and_pull (rig.device, far);
  fail_unless (find_difference (&rig, plain, far, 0) > 20);
  fail_unless_equals_int (get_count (rig.device->element, "held"), 0);
  fail_unless_equals_int (get_count (rig.device->element, "covered"), 1);
  gst_clear_buffer (&rig.report->mask);
  gst_buffer_unref (plain);
  gst_buffer_unref (far);
  rig.context = own;
  gst_element_set_bus (rig.device->element, NULL);
  gst_object_unref (bus);
  cuda_rig_close (&rig);
  gst_object_unref (other);
}

GST_END_TEST;

static Suite *
cudaeffects_suite (void)
{
  Suite *s = suite_create ("cudaeffects");
  TCase *tc = sam_tcase_new (s, "cudaeffects");

  tcase_add_checked_fixture (tc, sam_cuda_load, NULL);
  gst_sam_meta_register ();
  GST_ELEMENT_REGISTER (samoverlay, NULL);
  sam_let_live ("samoverlay");
  tcase_add_loop_test (tc, test_effects, 0, 5 * G_N_ELEMENTS (effects));
  tcase_add_loop_test (tc, test_another_size, 0, 2);
  tcase_add_loop_test (tc, test_privacy, 0, 5);
  tcase_add_test (tc, test_held_elsewhere);
  return s;
}

GST_CHECK_MAIN (cudaeffects);
