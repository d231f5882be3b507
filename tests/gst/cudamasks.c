/* SPDX-License-Identifier: MIT */
/* Label maps in the GPU's memory: with frames in memory:CUDAMemory they are
 * drawn there, and reach the host when somebody maps them. The emulator's
 * program as in cudamemory.c. */

#define _GNU_SOURCE
#include "cudacheck.h"
#include "samcheck.h"

#include "common/gstsammeta.h"
#include "track/gstsamtrack.h"

#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>

#include <cuda_runtime_api.h>
#include <string.h>

#include "emu.h"

#define FRAMES 5
#define ROOM (100 * 100)
#define WIDTH 96
#define HEIGHT 64
#define TRACK "samtrack backend=cuda max-objects=1 initial-prompt=" SQUARE_BOX

GstContext *gst_context_new_cuda_context (GstCudaContext *);

/* The element, and what frames it is given. */
typedef struct
{
  GstCudaContext *context;
  GstHarness *h;
  GstVideoInfo info;
  gboolean on_device;
} Rig;

/* Frames of another size or in other memory from now on. */
static void
rig_set_frames (Rig * rig, gint width, gint height, gboolean on_device)
{
  GstCaps *caps;

  gst_video_info_set_format (&rig->info, GST_VIDEO_FORMAT_NV12, width, height);
  rig->info.fps_n = 30;
  rig->info.fps_d = 1;
  rig->on_device = on_device;
  caps = gst_video_info_to_caps (&rig->info);
  if (on_device)
    gst_caps_set_features_simple (caps,
        gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, NULL));
  gst_harness_set_src_caps (rig->h, caps);
}

static void
rig_open (Rig * rig, const gchar * launch, gint width, gint height,
    gboolean on_device)
{
  GstElement *element = gst_parse_launch (launch, NULL);
  GstContext *context;

  gst_object_ref_sink (element);
  rig->context = gst_cuda_context_new (0);
  context = gst_context_new_cuda_context (rig->context);
  gst_element_set_context (element, context);
  gst_context_unref (context);
  rig->h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_live (rig->h, FALSE);
  gst_object_unref (element);
  rig_set_frames (rig, width, height, on_device);
}

static void
rig_close (Rig * rig)
{
  gst_harness_teardown (rig->h);
  gst_object_unref (rig->context);
}

/* The n-th frame; the square moves a little. */
static GstBuffer *
rig_frame (Rig * rig, guint n)
{
  GstBuffer *buf = sam_frame_new (&rig->info, 0.03 * (n % FRAMES)), *near = buf;

  if (rig->on_device) {
    buf = sam_frame_to_device (rig->h, rig->context, &rig->info, near);
    gst_buffer_unref (near);
  }
  GST_BUFFER_PTS (buf) = n * GST_SECOND / 30;
  GST_BUFFER_DURATION (buf) = GST_SECOND / 30;
  return buf;
}

/* The label map of a frame, which is over. */
static GstBuffer *
rig_push (Rig * rig, GstBuffer * frame)
{
  GstBuffer *out = gst_harness_push_and_pull (rig->h, frame);
  GstBuffer *mask = NULL;

  fail_unless (gst_structure_get (sam_get_meta (out), "mask", GST_TYPE_BUFFER,
          &mask, NULL));
  gst_buffer_unref (out);
  return mask;
}

static GstBuffer *
rig_run (Rig * rig, guint n)
{
  return rig_push (rig, rig_frame (rig, n));
}

/* How much the n-th frame copies to the host. */
static GstBuffer *
rig_run_counted (Rig * rig, guint n, gsize * copied)
{
  GstBuffer *frame = rig_frame (rig, n), *mask;
  gsize before = emu_copied ().to_host;

  mask = rig_push (rig, frame);
  *copied = emu_copied ().to_host - before;
  return mask;
}

static gboolean
is_on_device (GstBuffer * mask)
{
  fail_unless_equals_int (gst_buffer_n_memory (mask), 1);
  return gst_is_cuda_memory (gst_buffer_peek_memory (mask, 0));
}

typedef struct
{
  gsize size;
  guint8 labels[FRAMES][ROOM];
} Maps;

static void
keep (Maps * maps, guint n, GstBuffer * mask)
{
  maps->size = gst_buffer_get_size (mask);
  fail_unless (maps->size <= ROOM);
  gst_buffer_extract (mask, 0, maps->labels[n], maps->size);
}

static void
check (const Maps * maps, guint n, GstBuffer * mask)
{
  GstMapInfo map;

  fail_unless (gst_buffer_map (mask, &map, GST_MAP_READ));
  fail_unless_equals_uint64 (map.size, maps->size);
  fail_unless (!memcmp (map.data, maps->labels[n], map.size),
      "the label map of frame %u differs", n);
  gst_buffer_unmap (mask, &map);
}

/* The maps that frames in system memory give; copies to the host per frame. */
static gsize
expect (Maps * maps, const gchar * launch, gint width, gint height)
{
  guint n, i, shown = 0;
  GstBuffer *mask;
  gsize copied = 0;
  Rig rig;

  memset (maps, 0, sizeof *maps);
  rig_open (&rig, launch, width, height, FALSE);
  for (n = 0; n < FRAMES; n++) {
    mask = rig_run_counted (&rig, n, &copied);
    fail_if (is_on_device (mask));
    keep (maps, n, mask);
    gst_buffer_unref (mask);
    for (i = 0; i < maps->size; i++)
      shown += maps->labels[n][i] != 0;
  }
  rig_close (&rig);
  fail_unless (shown > 0, "nothing is found, all masks are alike");
  return copied;
}

static void
check_packed (GstBuffer * mask, gint width, gint height)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (mask);
  GstVideoFrame frame;
  GstVideoInfo info;

  fail_unless (meta != NULL);
  fail_unless_equals_int (meta->format, GST_VIDEO_FORMAT_GRAY8);
  fail_unless_equals_int (meta->n_planes, 1);
  fail_unless_equals_int (meta->width, width);
  fail_unless_equals_int (meta->height, height);
  fail_unless_equals_int (meta->stride[0], width);
  fail_unless_equals_uint64 (meta->offset[0], 0);
  fail_unless_equals_uint64 (gst_buffer_get_size (mask), width * height);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, width, height);
  fail_unless (gst_video_frame_map (&frame, &info, mask, GST_MAP_READ));
  fail_unless_equals_int (GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0), width);
  gst_video_frame_unmap (&frame);
}

static const struct
{
  const gchar *launch;
  gint width, height;           /* of frames */
  gint mask_width, mask_height;
  gboolean on_device;
} sizes[] = {
  {TRACK " mask-size=frame", 96, 64, 96, 64, TRUE},
  {TRACK " mask-size=model", 96, 64, 16, 16, TRUE},
  {TRACK " mask-size=frame", 97, 64, 97, 64, TRUE},
  /* not a whole number of the library's pixels */
  {TRACK " mask-size=frame", 97, 65, 97, 65, FALSE},
  {TRACK " mask-size=frame", 98, 65, 98, 65, FALSE},
};

/* The same maps as from system memory; to the host goes a map less per frame,
 * and one where it is mapped, once. */
GST_START_TEST (test_stays)
{
  const gint width = sizes[__i__].mask_width, height = sizes[__i__].mask_height;
  const gsize size = width * height;
  static Maps maps;
  gsize wanted = expect (&maps, sizes[__i__].launch, sizes[__i__].width,
      sizes[__i__].height);
  gsize copied, before;
  GstBuffer *mask;
  guint n;
  Rig rig;

  fail_unless_equals_uint64 (maps.size, size);
  rig_open (&rig, sizes[__i__].launch, sizes[__i__].width, sizes[__i__].height,
      TRUE);
  for (n = 0; n < FRAMES; n++) {
    mask = rig_run_counted (&rig, n, &copied);
    fail_unless_equals_int (is_on_device (mask), sizes[__i__].on_device);
    fail_unless_equals_uint64 (copied,
        sizes[__i__].on_device ? wanted - size : wanted);
    before = emu_copied ().to_host;
    check_packed (mask, width, height);
    check (&maps, n, mask);
    fail_unless_equals_uint64 (emu_copied ().to_host - before,
        sizes[__i__].on_device ? size : 0);
    gst_buffer_unref (mask);
  }
  rig_close (&rig);
}

GST_END_TEST;

/* Frames that change their memory and their size; maps outlive all of it and
 * are copied only then. */
GST_START_TEST (test_caps_change)
{
  static const struct
  {
    gint width, height;
    gboolean on_device;
  } steps[FRAMES] = {
    {96, 64, TRUE}, {96, 64, FALSE}, {64, 100, TRUE}, {97, 65, TRUE},
    {96, 64, TRUE},
  };
  GstBuffer *mask[2][FRAMES];
  static Maps maps;
  guint i, n;

  for (i = 0; i < 2; i++) {
    Rig rig;

    rig_open (&rig, TRACK " mask-size=frame", 96, 64, i);
    for (n = 0; n < FRAMES; n++) {
      rig_set_frames (&rig, steps[n].width, steps[n].height,
          i && steps[n].on_device);
      mask[i][n] = rig_run (&rig, n);
      fail_unless_equals_int (is_on_device (mask[i][n]), i &&
          steps[n].on_device && steps[n].width != 97);
    }
    rig_close (&rig);
  }
  for (n = 0; n < FRAMES; n++) {
    check_packed (mask[1][n], steps[n].width, steps[n].height);
    keep (&maps, n, mask[0][n]);
    check (&maps, n, mask[1][n]);
    gst_buffer_unref (mask[0][n]);
    gst_buffer_unref (mask[1][n]);
  }
}

GST_END_TEST;

#define ROUNDS 2

typedef struct
{
  const Maps *maps;
  GAsyncQueue *masks;
  GThread *thread;
} Reader;

static gpointer
read_masks (gpointer data)
{
  Reader *reader = data;
  GstBuffer *mask;
  guint n, i;

  for (n = 0; n < ROUNDS * FRAMES; n++) {
    mask = g_async_queue_pop (reader->masks);
    for (i = 0; i < 20; i++)
      check (reader->maps, n % FRAMES, mask);
    gst_buffer_unref (mask);
  }
  return NULL;
}

/* Others read while the next frames are tracked. */
GST_START_TEST (test_read_by_others)
{
  static Maps maps;
  Reader reader[2];
  GstBuffer *mask;
  guint i, n;
  Rig rig;

  expect (&maps, TRACK " mask-size=frame", WIDTH, HEIGHT);
  for (i = 0; i < 2; i++) {
    reader[i].maps = &maps;
    reader[i].masks = g_async_queue_new ();
    reader[i].thread = g_thread_new ("reader", read_masks, &reader[i]);
  }
  for (i = 0; i < ROUNDS; i++) {
    rig_open (&rig, TRACK " mask-size=frame", WIDTH, HEIGHT, TRUE);
    for (n = 0; n < FRAMES; n++) {
      mask = rig_run (&rig, n);
      g_async_queue_push (reader[0].masks, gst_buffer_ref (mask));
      g_async_queue_push (reader[1].masks, mask);
    }
    rig_close (&rig);
  }
  for (i = 0; i < 2; i++) {
    g_thread_join (reader[i].thread);
    g_async_queue_unref (reader[i].masks);
  }
}

GST_END_TEST;

/* Who alone holds a map may write to it, and nobody else: it is shared with the
 * frames that pass until the next is tracked. What was written is gone with it. */
GST_START_TEST (test_written)
{
  static Maps maps;
  GstBuffer *mask, *last = NULL;
  GstMapInfo map;
  guint n, on_device;
  Rig rig;

  expect (&maps, TRACK " mask-size=frame", WIDTH, HEIGHT);
  for (on_device = 0; on_device < 2; on_device++, last = NULL) {
    rig_open (&rig, TRACK " mask-size=frame", WIDTH, HEIGHT, on_device);
    for (n = 0; n < FRAMES; n++) {
      mask = rig_run (&rig, n);
      fail_unless_equals_int (is_on_device (mask), on_device);
      fail_if (gst_buffer_is_writable (mask));
      check (&maps, n, mask);
      if (last) {
        fail_unless (gst_buffer_is_writable (last));
        fail_unless (gst_buffer_map (last, &map, GST_MAP_READWRITE));
        fail_unless (!memcmp (map.data, maps.labels[n - 1], map.size));
        memset (map.data, 0xee, map.size);
        gst_buffer_unmap (last, &map);
        gst_buffer_unref (last);
      }
      last = mask;
    }
    gst_buffer_unref (last);
    rig_close (&rig);
  }
}

GST_END_TEST;

/* A frame that passes has the map of the last one that was tracked. */
GST_START_TEST (test_stale)
{
  GstBuffer *mask, *again;
  gsize copied;
  Rig rig;

  rig_open (&rig, TRACK " mask-size=frame interval=1", WIDTH, HEIGHT, TRUE);
  mask = rig_run (&rig, 0);
  again = rig_run_counted (&rig, 1, &copied);
  fail_unless (again == mask);
  fail_unless_equals_uint64 (copied, 0);
  gst_buffer_unref (again);
  again = rig_run (&rig, 2);
  fail_if (again == mask);
  gst_buffer_unref (again);
  gst_buffer_unref (mask);
  rig_close (&rig);
}

GST_END_TEST;

/* Without room on the device, at the start or for one map more, maps are in
 * system memory. */
GST_START_TEST (test_no_room)
{
  GstBuffer *mask[FRAMES], *frame[FRAMES];
  static Maps maps;
  gsize left, total;
  guint n;
  void *all = NULL;
  Rig rig;

  expect (&maps, TRACK " mask-size=frame", WIDTH, HEIGHT);
  rig_open (&rig, TRACK " mask-size=frame", WIDTH, HEIGHT, TRUE);
  for (n = 0; n < FRAMES; n++)
    frame[n] = rig_frame (&rig, n);
  for (n = 0; n < FRAMES; n++) {
    if (n == (__i__ ? 2 : 0)) {
      cudaMemGetInfo (&left, &total);
      fail_unless (cudaMalloc (&all, left) == cudaSuccess);
    }
    mask[n] = rig_push (&rig, frame[n]);
    fail_unless_equals_int (is_on_device (mask[n]), !all);
    check (&maps, n, mask[n]);
  }
  for (n = 0; n < FRAMES; n++)
    gst_buffer_unref (mask[n]);
  cudaFree (all);
  rig_close (&rig);
}

GST_END_TEST;

static Suite *
cudamasks_suite (void)
{
  Suite *s = suite_create ("cudamasks");
  TCase *tc = sam_tcase_new_tiny (s, "cudamasks");

  tcase_add_checked_fixture (tc, sam_cuda_load, NULL);
  gst_sam_meta_register ();
  GST_ELEMENT_REGISTER (samtrack, NULL);
  sam_let_live ("samtrack");
  tcase_add_loop_test (tc, test_stays, 0, G_N_ELEMENTS (sizes));
  tcase_add_test (tc, test_caps_change);
  tcase_add_test (tc, test_read_by_others);
  tcase_add_test (tc, test_written);
  tcase_add_test (tc, test_stale);
  tcase_add_loop_test (tc, test_no_room, 0, 2);
  return s;
}

GST_CHECK_MAIN (cudamasks);
