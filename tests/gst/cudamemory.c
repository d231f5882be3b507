/* SPDX-License-Identifier: MIT */
/* memory:CUDAMemory in and through the element: the plugin with the emulated
 * CUDA backend in this program, which is also the driver that GStreamer's own
 * libgstcuda, cudaupload and cudadownload find. Frames are in the emulated
 * device's memory, which the host cannot touch and other contexts do not have. */

#define _GNU_SOURCE
#include "cudacheck.h"
#include "samcheck.h"

#include "common/gstsammeta.h"
#include "overlay/gstsamoverlay.h"
#include "track/gstsamtrack.h"

#include <gmodule.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>

#include <string.h>

#include "emu.h"

#define FRAMES 3
#define WIDTH 96
#define HEIGHT 64
#define ROOM 7000               /* pixels of a label map */
#define SOURCE "videotestsrc pattern=ball num-buffers=3 ! " \
    "video/x-raw,format=%s,framerate=30/1,colorimetry=bt709,"
#define EVEN "width=96,height=64 "
#define ODD "width=97,height=65 "
#define TRACK "samtrack name=t mask-size=frame max-objects=1 " SQUARE
#define SQUARE "initial-prompt=box,x=0.1,y=0.1,w=0.5,h=0.6,normalized=true "

GstContext *gst_context_new_cuda_context (GstCudaContext *);

#define UPLOAD "cudaupload ! video/x-raw(memory:CUDAMemory) !"

typedef struct
{
  guint frames, on_device;
  gsize size;                   /* of a label map */
  guint8 labels[FRAMES][ROOM];
  gdouble score[FRAMES];
  struct emu_copied copied;     /* by all elements, playing alone */
} Seen;

/* What leaves the element, before anything behind it. */
static GstPadProbeReturn
see (GstPad * pad, GstPadProbeInfo * probe, gpointer user_data)
{
  GstBuffer *buf = GST_PAD_PROBE_INFO_BUFFER (probe), *mask = NULL;
  const GstStructure *meta = sam_get_meta (buf);
  Seen *seen = user_data;

  fail_unless (seen->frames < FRAMES);
  fail_unless (gst_structure_get (meta, "mask", GST_TYPE_BUFFER, &mask, NULL));
  seen->size = gst_buffer_get_size (mask);
  fail_unless (seen->size <= ROOM);
  gst_buffer_extract (mask, 0, seen->labels[seen->frames], seen->size);
  gst_buffer_unref (mask);
  seen->score[seen->frames] = sam_get_double (sam_get_object (meta, 0),
      "score");
  seen->on_device += gst_is_cuda_memory (gst_buffer_peek_memory (buf, 0));
  seen->frames++;
  return GST_PAD_PROBE_OK;
}

static void
play (const gchar * launch, Seen * seen)
{
  GstElement *pipeline = gst_parse_launch (launch, NULL);
  GstElement *track = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  GstPad *pad = gst_element_get_static_pad (track, "src");
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  struct emu_copied before, after;

  memset (seen, 0, sizeof *seen);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, see, seen, NULL);
  gst_element_set_state (pipeline, GST_STATE_READY);
  before = emu_copied ();
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 120 * GST_SECOND,
      GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  after = emu_copied ();
  fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS,
      "%s: %" GST_PTR_FORMAT, launch, message);
  seen->copied.to_device = after.to_device - before.to_device;
  seen->copied.to_host = after.to_host - before.to_host;
  seen->copied.within = after.within - before.within;
  fail_unless_equals_int (seen->frames, FRAMES);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pad);
  gst_object_unref (track);
  gst_object_unref (pipeline);
}

static void
play_with (const gchar * backend, const gchar * upload, const gchar * format,
    const gchar * size, Seen * seen)
{
  gchar *launch = g_strdup_printf (SOURCE "%s! %s " TRACK
      "backend=%s ! fakesink", format, size, upload, backend);

  play (launch, seen);
  g_free (launch);
}

static void
check_same (const Seen * a, const Seen * b, const gchar * what)
{
  guint i, labelled = 0;

  fail_unless_equals_uint64 (a->size, b->size);
  for (i = 0; i < a->size; i++)
    labelled += a->labels[0][i] != 0;
  fail_unless (labelled > 0, "%s: nothing is found, all masks are alike", what);
  fail_unless (!memcmp (a->labels, b->labels, sizeof a->labels),
      "%s: other masks", what);
  fail_unless (!memcmp (a->score, b->score, sizeof a->score),
      "%s: other scores", what);
}

static const gchar *const formats[] = { "NV12", "P010_10LE", "I420", "RGBA",
  "BGRA", "RGBx", "BGRx"
};

/* Mask for mask as from system memory; and the copies are the same: what
 * cudaupload copies the element would have copied, and it copies no more.
 * test_overlay has the masks of the other formats. */
GST_START_TEST (test_same_masks)
{
  static Seen host, device;
  const gchar *format = __i__ ? "RGBA" : "NV12";

  play_with ("cuda", "", format, EVEN, &host);
  play_with ("cuda", UPLOAD, format, EVEN, &device);
  check_same (&host, &device, format);
  fail_unless_equals_int (host.on_device, 0);
  fail_unless_equals_int (device.on_device, FRAMES);
  fail_unless_equals_uint64 (device.copied.to_device, host.copied.to_device);
  fail_unless_equals_uint64 (device.copied.to_host, host.copied.to_host);
  fail_unless_equals_uint64 (device.copied.within, host.copied.within);
}

GST_END_TEST;

/* Where chroma is rounded up. */
GST_START_TEST (test_odd_sizes)
{
  static Seen host, device;
  const gchar *format = formats[__i__];

  play_with ("cuda", "", format, ODD, &host);
  play_with ("cuda", UPLOAD, format, ODD, &device);
  fail_unless_equals_uint64 (host.size, 97 * 65);
  check_same (&host, &device, format);
}

GST_END_TEST;

/* backend=cpu takes such frames, too: it maps them, which brings them back. */
GST_START_TEST (test_on_the_cpu)
{
  static Seen host, device;

  play_with ("cpu", "", "NV12", EVEN, &host);
  play_with ("cpu", UPLOAD, "NV12", EVEN, &device);
  check_same (&host, &device, "cpu");
  fail_unless_equals_int (device.on_device, FRAMES);
  fail_unless (device.copied.to_host >= FRAMES * WIDTH * HEIGHT * 3 / 2);
}

GST_END_TEST;

static GstPadProbeReturn
sum (GstPad * pad, GstPadProbeInfo * probe, gpointer user_data)
{
  GstVideoFrame frame;
  GstVideoInfo info;
  GstCaps *caps = gst_pad_get_current_caps (pad);
  GChecksum *checksum = user_data;
  guint i;
  gint y;

  fail_unless (gst_video_info_from_caps (&info, caps));
  gst_caps_unref (caps);
  fail_unless (gst_video_frame_map (&frame, &info,
          GST_PAD_PROBE_INFO_BUFFER (probe), GST_MAP_READ));
  for (i = 0; i < GST_VIDEO_FRAME_N_PLANES (&frame); i++)
    for (y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (&frame, i); y++)
      g_checksum_update (checksum,
          (guchar *) GST_VIDEO_FRAME_PLANE_DATA (&frame, i) +
          (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, i),
          GST_VIDEO_FRAME_COMP_WIDTH (&frame, i) *
          GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, i));
  gst_video_frame_unmap (&frame);
  return GST_PAD_PROBE_OK;
}

/* Of the frames that come out; seen: what leaves the element t. */
static gchar *
sum_of (const gchar * launch, Seen * seen)
{
  GChecksum *checksum = g_checksum_new (G_CHECKSUM_SHA256);
  GstElement *pipeline = gst_parse_launch (launch, NULL);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "s");
  GstPad *pad = gst_element_get_static_pad (sink, "sink");
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  gchar *text;

  if (seen) {
    GstElement *track = gst_bin_get_by_name (GST_BIN (pipeline), "t");
    GstPad *src = gst_element_get_static_pad (track, "src");

    memset (seen, 0, sizeof *seen);
    gst_pad_add_probe (src, GST_PAD_PROBE_TYPE_BUFFER, see, seen, NULL);
    gst_object_unref (src);
    gst_object_unref (track);
  }
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, sum, checksum, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 120 * GST_SECOND,
      GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS,
      "%s: %" GST_PTR_FORMAT, launch, message);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pad);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  text = g_strdup (g_checksum_get_string (checksum));
  g_checksum_free (checksum);
  return text;
}

/* Frames come out as they went in. */
GST_START_TEST (test_through)
{
  gchar *in = g_strdup_printf (SOURCE EVEN "! fakesink name=s", "NV12");
  gchar *out = g_strdup_printf (SOURCE EVEN "! cudaupload ! " TRACK
      "backend=cuda ! video/x-raw(memory:CUDAMemory) ! cudadownload ! "
      "video/x-raw ! fakesink name=s", "NV12");
  gchar *a = sum_of (in, NULL), *b = sum_of (out, NULL);

  fail_unless_equals_string (a, b);
  g_free (a);
  g_free (b);
  g_free (in);
  g_free (out);
}

GST_END_TEST;

/* Masks are as of system memory, and samoverlay draws what it draws there. */
GST_START_TEST (test_overlay)
{
  static Seen host, device;
  const gchar *const *some = formats;
  gchar *plain = g_strdup_printf (SOURCE EVEN "! fakesink name=s", some[__i__]);
  gchar *in = g_strdup_printf (SOURCE EVEN "! " TRACK "backend=cuda ! "
      "samoverlay ! fakesink name=s", some[__i__]);
  gchar *out = g_strdup_printf (SOURCE EVEN "! cudaupload ! " TRACK
      "backend=cuda ! samoverlay ! video/x-raw(memory:CUDAMemory) ! "
      "cudadownload ! video/x-raw ! fakesink name=s", some[__i__]);
  gchar *a = sum_of (in, &host), *b = sum_of (out, &device);
  gchar *c = sum_of (plain, NULL);

  check_same (&host, &device, some[__i__]);
  fail_unless_equals_int (device.on_device, FRAMES);
  fail_unless_equals_string (a, b);
  fail_if (g_str_equal (a, c), "nothing is drawn");
  g_free (a);
  g_free (b);
  g_free (c);
  g_free (in);
  g_free (out);
  g_free (plain);
}

GST_END_TEST;

/* The overlay pad shows what it shows of frames in system memory, from the map
 * of the meta or drawn anew. */
GST_START_TEST (test_overlay_pad)
{
  const gchar *format = __i__ % 2 ? "RGBA" : "GRAY8";
  const gchar *size = __i__ < 2 ? "frame" : "model";
  gchar *sum[2];
  guint i;

  for (i = 0; i < 2; i++) {
    gchar *launch = g_strdup_printf (SOURCE EVEN "! %s samtrack name=t "
        "backend=cuda max-objects=1 mask-size=%s " SQUARE
        "t.src ! queue ! fakesink "
        "t.overlay ! queue ! video/x-raw,format=%s ! fakesink name=s", "NV12",
        i ? UPLOAD : "", size, format);

    sum[i] = sum_of (launch, NULL);
    g_free (launch);
  }
  fail_unless_equals_string (sum[0], sum[1]);
  g_free (sum[0]);
  g_free (sum[1]);
}

GST_END_TEST;

/* To do so it copies no frame and no label map: only rectangles, to the GPU. */
GST_START_TEST (test_overlay_copies)
{
  static Seen without, with;
  gchar *launch = g_strdup_printf (SOURCE EVEN "! " UPLOAD " " TRACK
      "backend=cuda ! samoverlay draw-boxes=true ! fakesink", "NV12");

  play_with ("cuda", UPLOAD, "NV12", EVEN, &without);
  play (launch, &with);
  check_same (&without, &with, "samoverlay");
  fail_unless_equals_int (with.on_device, FRAMES);
  fail_unless_equals_uint64 (with.copied.to_host, without.copied.to_host);
  fail_unless (with.copied.to_device > without.copied.to_device);
  fail_unless (with.copied.to_device < without.copied.to_device + 2000);
  g_free (launch);
}

GST_END_TEST;

/* The element alone, with CUDAMemory caps, told of a context. */
static GstHarness *
harness_new (const gchar * launch, GstCudaContext * context)
{
  GstElement *element = gst_parse_launch (launch, NULL);
  GstHarness *h;

  gst_object_ref_sink (element);
  if (context) {
    GstContext *c = gst_context_new_cuda_context (context);

    gst_element_set_context (element, c);
    gst_context_unref (c);
  }
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_live (h, FALSE);
  gst_object_unref (element);
  gst_harness_set_src_caps_str (h, "video/x-raw(memory:CUDAMemory),"
      "format=NV12,width=96,height=64,framerate=30/1");
  return h;
}

static GstBuffer *
frame_of (GstCudaContext * context)
{
  GstBufferPool *pool = gst_cuda_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstCaps *caps = gst_caps_from_string ("video/x-raw(memory:CUDAMemory),"
      "format=NV12,width=96,height=64,framerate=30/1");
  GstBuffer *buf;

  gst_buffer_pool_config_set_params (config, caps, WIDTH * HEIGHT * 3 / 2, 1,
      0);
  gst_caps_unref (caps);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  fail_unless (gst_buffer_pool_acquire_buffer (pool, &buf, NULL) ==
      GST_FLOW_OK);
  gst_buffer_memset (buf, 0, 90, -1);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  GST_BUFFER_PTS (buf) = 0;
  return buf;
}

/* A frame of another context: one error that says so, and the element goes on
 * with the next one of its own. */
GST_START_TEST (test_foreign_context)
{
  GstCudaContext *own = gst_cuda_context_new (0);
  GstCudaContext *other = gst_cuda_context_new (0);
  GstHarness *h = harness_new (TRACK "backend=cuda", own);
  GstBus *bus = sam_harness_add_bus (h);
  GstMessage *message;
  GError *error = NULL;

  fail_unless_equals_int (gst_harness_push (h, frame_of (other)),
      GST_FLOW_ERROR);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR,
          GST_RESOURCE_ERROR_SETTINGS));
  fail_unless (strstr (error->message, "CUDA context of device 0, the model in "
          "another one of device 0") != NULL, "%s", error->message);
  g_error_free (error);
  gst_message_unref (message);
  fail_unless (gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR) == NULL);
  fail_unless_equals_int (gst_harness_push (h, frame_of (own)), GST_FLOW_OK);
  fail_unless_equals_int (sam_get_stat (h->element, "inferred"), 1);
  gst_bus_set_flushing (bus, TRUE);
  sam_harness_close (h, bus);
  gst_object_unref (own);
  gst_object_unref (other);
}

GST_END_TEST;

static GstCudaContext *
ask_context (GstHarness * h)
{
  GstQuery *query = gst_query_new_context ("gst.cuda.context");
  GstCudaContext *found = NULL;
  GstContext *context;

  if (gst_pad_peer_query (h->srcpad, query)) {
    gst_query_parse_context (query, &context);
    gst_structure_get (gst_context_get_structure (context), "gst.cuda.context",
        GST_TYPE_CUDA_CONTEXT, &found, NULL);
  }
  gst_query_unref (query);
  return found;
}

/* The context that the application gave is used, told to neighbours, and the
 * pool that upstream is offered is of it. */
GST_START_TEST (test_shares_its_context)
{
  GstCudaContext *own = gst_cuda_context_new (0), *found;
  GstHarness *h = harness_new (TRACK "backend=cuda", own);
  GstCaps *caps = gst_pad_get_current_caps (h->srcpad);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool;
  guint size;

  found = ask_context (h);
  fail_unless (found == own);
  gst_clear_object (&found);
  fail_unless (gst_pad_peer_query (h->srcpad, query));
  fail_unless_equals_int (gst_query_get_n_allocation_pools (query), 1);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, NULL, NULL);
  fail_unless (GST_IS_CUDA_BUFFER_POOL (pool));
  fail_unless (GST_CUDA_BUFFER_POOL (pool)->context == own);
  /* rows of 512 bytes, which is more than the caps say */
  fail_unless (size >= 512 * HEIGHT * 3 / 2);
  gst_object_unref (pool);
  gst_query_unref (query);
  gst_caps_unref (caps);
  gst_element_set_state (h->element, GST_STATE_NULL);
  fail_unless (ask_context (h) == NULL);
  gst_harness_teardown (h);
  gst_object_unref (own);
}

GST_END_TEST;

/* Without anybody's context it makes one, on the device that is asked for. */
GST_START_TEST (test_device_id)
{
  GstHarness *h = harness_new (TRACK "backend=cuda cuda-device-id=0", NULL);
  GstCudaContext *found = ask_context (h);
  GstElement *element;
  GstBus *bus;
  gchar *why = NULL;

  fail_unless (found != NULL);
  gst_object_unref (found);
  gst_harness_teardown (h);

  element = gst_parse_launch (TRACK "backend=cuda cuda-device-id=5", NULL);
  bus = gst_bus_new ();
  gst_element_set_bus (element, bus);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED),
      GST_STATE_CHANGE_FAILURE);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_ERROR, &why),
      1);
  fail_unless (strstr (why, "device 5") != NULL, "%s", why);
  g_free (why);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_object_unref (element);
}

GST_END_TEST;

static guint uploads, fail_from;

int __real_sam_uploader_copy (sam_uploader * u, int place,
    const struct sam_frame *frame, struct sam_frame *copy,
    struct sam_error *error);
int __wrap_sam_uploader_copy (sam_uploader * u, int place,
    const struct sam_frame *frame, struct sam_frame *copy,
    struct sam_error *error);

int
__wrap_sam_uploader_copy (sam_uploader * u, int place,
    const struct sam_frame *frame, struct sam_frame *copy,
    struct sam_error *error)
{
  if (uploads++ < fail_from)
    return __real_sam_uploader_copy (u, place, frame, copy, error);
  g_strlcpy (error->text, "planted", sizeof error->text);
  return SAM_ENOMEM;
}

/* Frames in system memory, each of which waits for its masks. */
static void
run_in_system_memory (const gchar * launch, gboolean live, Seen * seen)
{
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_NV12, WIDTH,
      HEIGHT);
  GstPad *pad = gst_element_get_static_pad (h->element, "src");
  guint i;

  memset (seen, 0, sizeof *seen);
  gst_harness_set_live (h, live);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, see, seen, NULL);
  uploads = 0;
  for (i = 0; i < FRAMES; i++)
    gst_buffer_unref (sam_harness_run (h, i));
  fail_unless_equals_int (sam_get_stat (h->element, "inferred"), FRAMES);
  gst_object_unref (pad);
  gst_harness_teardown (h);
}

/* In a live pipeline frames of system memory are on the GPU before the worker
 * takes them; if they cannot be, it takes them from system memory. */
GST_START_TEST (test_live_frames_are_uploaded)
{
  static Seen here, apart;
  static const guint expected[] = { FRAMES, 2, 1 };

  fail_from = expected[__i__] == FRAMES ? G_MAXUINT : expected[__i__] - 1;
  run_in_system_memory (TRACK "backend=cuda", FALSE, &here);
  fail_unless_equals_int (uploads, 0);
  run_in_system_memory (TRACK "backend=cuda max-wait=60000000000", TRUE,
      &apart);
  fail_unless_equals_int (uploads, expected[__i__]);
  check_same (&here, &apart, "live");
}

GST_END_TEST;

/* libgstcuda as it is since 1.24: it does not wait for the upload that a map
 * begins, and has a call for it; which must come when nothing is left to be
 * uploaded by a map. */
static guint syncs;

static void
memory_sync (GstCudaMemory * mem)
{
  syncs++;
  fail_if (GST_MEMORY_FLAG_IS_SET (mem,
          GST_CUDA_MEMORY_TRANSFER_NEED_UPLOAD), "the wait is ahead of the map");
}

gboolean __real_g_module_symbol (GModule * module, const gchar * name,
    gpointer * symbol);
/* The linker takes libgstcuda's own use of it into account. */
__attribute__ ((visibility ("default")))
gboolean __wrap_g_module_symbol (GModule * module, const gchar * name,
    gpointer * symbol);

gboolean
__wrap_g_module_symbol (GModule * module, const gchar * name, gpointer * symbol)
{
  if (!g_str_equal (name, "gst_cuda_memory_sync"))
    return __real_g_module_symbol (module, name, symbol);
  *symbol = (gpointer) memory_sync;
  return TRUE;
}

/* The picture of a test source, written by the host to the device's memory. */
static void
run_written (GstCudaContext * context, Seen * seen)
{
  GstHarness *h = harness_new (TRACK "backend=cuda", context);
  GstHarness *source = gst_harness_new_parse ("videotestsrc pattern=ball "
      "num-buffers=3 ! capsfilter caps=video/x-raw,format=NV12,"
      "framerate=30/1,width=96,height=64");
  GstPad *pad = gst_element_get_static_pad (h->element, "src");
  GstVideoInfo info;
  GstBuffer *buf;
  guint i;

  memset (seen, 0, sizeof *seen);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, see, seen, NULL);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT);
  gst_harness_play (source);
  for (i = 0; i < FRAMES; i++) {
    GstBuffer *from = gst_harness_pull (source);

    buf = sam_frame_to_device (h, context, &info, from);
    GST_BUFFER_PTS (buf) = GST_BUFFER_PTS (from);
    gst_buffer_unref (from);
    fail_unless (GST_MEMORY_FLAG_IS_SET (gst_buffer_peek_memory (buf, 0),
            GST_CUDA_MEMORY_TRANSFER_NEED_UPLOAD));
    fail_unless_equals_int (gst_harness_push (h, buf), GST_FLOW_OK);
  }
  fail_unless_equals_int (seen->frames, FRAMES);
  gst_object_unref (pad);
  gst_harness_teardown (source);
  gst_harness_teardown (h);
}

/* The element waits for uploads that its own mapping begins. */
GST_START_TEST (test_pending_uploads)
{
  static Seen seen;
  GstCudaContext *own = gst_cuda_context_new (0);

  syncs = 0;
  run_written (own, &seen);
  fail_unless (syncs >= FRAMES, "%u waits", syncs);
  gst_object_unref (own);
}

GST_END_TEST;

static Suite *
cudamemory_suite (void)
{
  Suite *s = suite_create ("cudamemory");
  TCase *tc = sam_tcase_new_tiny (s, "cudamemory");

  tcase_add_checked_fixture (tc, sam_cuda_load, NULL);
  gst_sam_meta_register ();
  GST_ELEMENT_REGISTER (samtrack, NULL);
  GST_ELEMENT_REGISTER (samoverlay, NULL);
  sam_let_live ("samtrack");
  sam_let_live ("samoverlay");
  if (gst_registry_check_feature_version (gst_registry_get (), "cudaupload", 1,
          22, 0)) {
    tcase_add_loop_test (tc, test_same_masks, 0, 2);
    tcase_add_loop_test (tc, test_odd_sizes, 0, 3);
    tcase_add_test (tc, test_on_the_cpu);
    tcase_add_test (tc, test_through);
    tcase_add_loop_test (tc, test_overlay, 0, G_N_ELEMENTS (formats));
    tcase_add_test (tc, test_overlay_copies);
    tcase_add_loop_test (tc, test_overlay_pad, 0, 4);
  } else {
    g_printerr ("without cudaupload and cudadownload of GStreamer's nvcodec "
        "plugin: frames of other elements are not tested\n");
  }
  tcase_add_loop_test (tc, test_live_frames_are_uploaded, 0, 3);
  tcase_add_test (tc, test_pending_uploads);
  tcase_add_test (tc, test_foreign_context);
  tcase_add_test (tc, test_shares_its_context);
  tcase_add_test (tc, test_device_id);
  return s;
}

GST_CHECK_MAIN (cudamemory);
