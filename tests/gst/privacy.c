/* SPDX-License-Identifier: MIT */
/* The modes of samoverlay that change what masks cover: what must never be
 * seen, and what must be refused. */

#include "things.h"

#include <glib/gstdio.h>
#include <string.h>

/* A mask of an earlier frame covers what the object may have reached: it moved
 * by 6 px a frame. */
GST_START_TEST (test_stale_masks_grow)
{
  GstHarness *h = open_rgba ("samoverlay mode=solid margin=0");
  Thing t = { 1, 1, "tracked", NULL, 10, 20, 12, 12 };
  guint i;

  for (i = 0; i < 4; i++) {
    t.x = 10 + 6 * i;
    gst_buffer_unref (push (h, 33 * i, "ok", &t, 1));
  }
  /* it went on, the mask did not */
  fail_unless_equals_int (count_seen (push (h, 33 * i, "stale", &t, 1), t.x,
          t.y, t.x + 6 + 12, t.y + 12, TRUE), 0);
  /* its own mask again: the other pixels are seen */
  t.x += 6;
  fail_unless (count_seen (push (h, 33 * 5, "ok", &t, 1), 0, 0, W, H, TRUE) >=
      W * H - 14 * 14);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* However an object goes: with a state, without a mask, without a word. */
GST_START_TEST (test_last_places_stay_covered)
{
  GstHarness *h = open_rgba ("samoverlay mode=solid margin=0 hold=500000000");
  const Thing other = { 2, 2, "tracked", NULL, 80, 50, 4, 4 };
  Thing t[2] = { square, other };
  const gint n = __i__ == 2 ? 1 : 2;
  GstBuffer *buf;

  gst_buffer_unref (push (h, 0, "ok", t, 2));
  t[0].state = __i__ == 0 ? "occluded" : "lost";
  t[0].x = t[0].y = t[0].w = t[0].h = 0;
  if (__i__ == 2)
    t[0] = other;
  buf = push (h, 400, "ok", t, n);
  fail_unless_equals_int (count_seen (buf, X0, Y0, X1, Y1, TRUE), 0);
  /* without a meta, too */
  buf = push (h, 450, "ok", t, 0);
  fail_unless_equals_int (count_seen (buf, X0, Y0, X1, Y1, TRUE), 0);
  buf = push (h, 500, "ok", t, n);
  fail_unless_equals_int (count_seen (buf, X0, Y0, X1, Y1, TRUE),
      (X1 - X0) * (Y1 - Y0));
  gst_harness_teardown (h);
}

GST_END_TEST;

static guint
get_stat (GstHarness * h, const gchar * name)
{
  GstElement *overlay = gst_harness_find_element (h, "samoverlay");
  GstStructure *stats;
  guint n = 0;

  g_object_get (overlay, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint (stats, name, &n));
  gst_structure_free (stats);
  gst_object_unref (overlay);
  return n;
}

/* Whether all of the frame is covered. */
static gboolean
is_whole (GstBuffer * buf)
{
  return !count_seen (buf, 0, 0, W, H, TRUE);
}

GST_START_TEST (test_unmasked_frames_are_covered)
{
  GstHarness *h = open_rgba ("samoverlay mode=solid unmasked-frames=cover");

  fail_unless (is_whole (push (h, 0, "ok", NULL, 0)));
  fail_unless (!is_whole (push (h, 33, "ok", &square, 1)));
  fail_unless (is_whole (push (h, 66, "stale", &square, 1)));
  fail_unless (is_whole (push (h, 99, "ok", NULL, 0)));
  fail_unless_equals_int (get_stat (h, "frames"), 4);
  fail_unless_equals_int (get_stat (h, "covered"), 3);
  fail_unless_equals_int (get_stat (h, "held"), 0);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The last frame that had its own masks is seen again, as it was. */
GST_START_TEST (test_unmasked_frames_are_held)
{
  GstHarness *h = open_rgba ("samoverlay mode=solid unmasked-frames=hold");
  GstBuffer *safe, *held;
  GstSegment segment;
  GstMapInfo map;

  fail_unless (is_whole (push (h, 0, "ok", NULL, 0)));
  safe = push (h, 33, "ok", &square, 1);
  held = new_rgba ();
  gst_buffer_memset (held, 0, 17, 4 * W * 20);
  GST_BUFFER_PTS (held) = 66 * GST_MSECOND;
  add_things (held, "stale", &square, 1);
  held = gst_harness_push_and_pull (h, held);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (held), 66 * GST_MSECOND);
  gst_buffer_map (held, &map, GST_MAP_READ);
  fail_unless (!gst_buffer_memcmp (safe, 0, map.data, map.size));
  gst_buffer_unmap (held, &map);
  gst_buffer_unref (held);
  gst_buffer_unref (safe);
  fail_unless_equals_int (get_stat (h, "held"), 1);
  fail_unless_equals_int (get_stat (h, "covered"), 1);
  /* a seek: what is held is of another place */
  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  fail_unless (is_whole (push (h, 99, "stale", &square, 1)));
  gst_harness_teardown (h);
}

GST_END_TEST;

/* With privacy=true no frame passes on which a hidden object may be seen. */
GST_START_TEST (test_privacy_fails_closed)
{
  GstHarness *h = open_rgba ("samoverlay mode=blur privacy=true "
      "unmasked-frames=cover hold=100000000");
  Thing t = square, weak = square;
  GstBuffer *buf;
  guint i, ms = 0;

  /* nothing is known */
  fail_unless (is_whole (push (h, ms++, "ok", NULL, 0)));
  t.state = "new";
  buf = push (h, ms++, "ok", &t, 1);
  fail_unless (count_seen (buf, 0, 0, W, H, FALSE) > 0);
  /* more than the mask: a quarter of the box on either side */
  fail_unless (count_seen (buf, X0 - 8, Y0 - 8, X1 + 8, Y1 + 8, TRUE) <= 2);
  t.state = "tracked";
  fail_unless (!is_whole (push (h, ms++, "ok", &t, 1)));
  fail_unless (count_seen (push (h, ms++, "stale", &t, 1), 0, 0, W, H,
          TRUE) <= 6);
  /* it jumps: the mask is another thing's until it has stayed for a while */
  t.x = 2;
  for (i = 0; i < 10; i++)
    fail_unless (count_seen (push (h, ms++, "ok", &t, 1), 0, 0, W, H,
            TRUE) <= 6, "frame %u passed", i);
  fail_unless (count_seen (push (h, ms++, "ok", &t, 1), 0, 0, W, H,
          TRUE) > 20);
  /* it is gone, and as long as the tracker looks for it, nobody knows */
  weak.state = "lost";
  weak.x = weak.y = weak.w = weak.h = 0;
  fail_unless (count_seen (push (h, ms + 1000, "ok", &weak, 1), 0, 0, W, H,
          TRUE) <= 6);
  /* somebody removed it */
  buf = new_rgba ();
  GST_BUFFER_PTS (buf) = (ms + 2000) * GST_MSECOND;
  add_things (buf, "ok", NULL, 0);
  buf = gst_harness_push_and_pull (h, buf);
  fail_unless_equals_int (count_seen (buf, 0, 0, W, H, TRUE), W * H);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A head that claims more pixels than are read, with a right sum. */
static void
write_huge (void)
{
  static const guint8 head[] = { 0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0,
    13, 'I', 'H', 'D', 'R', 0, 0, 0x80, 0, 0, 0, 0x80, 0, 8, 2, 0, 0, 0, 0x4b,
    0x1e, 0x34, 0x28, 0, 0, 0, 0, 'I', 'D', 'A', 'T', 0x35, 0xaf, 0x06, 0x1e
  };

  fail_unless (g_file_set_contents (sam_file, (const gchar *) head,
          sizeof head, NULL));
}

static void
refuse_picture (const gchar * text)
{
  gchar *launch = g_strdup_printf ("samoverlay mode=cut-out ground=picture "
      "ground-location=\"%s\"", sam_file);

  sam_expect_refusal (launch, text, GST_RESOURCE_ERROR_SETTINGS);
  g_free (launch);
}

GST_START_TEST (test_bad_pictures)
{
  gchar *bytes;
  gsize n;

  sam_expect_refusal ("samoverlay mode=cut-out ground=picture",
      "'ground-location' is not set", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal ("samoverlay mode=cut-out ground=picture "
      "ground-location=/dev/zero", "'/dev/zero' cannot be read: it is not a "
      "regular file.", GST_RESOURCE_ERROR_SETTINGS);
  sam_folder_make ("ground.png");
  refuse_picture ("cannot be read: No such file");
  sam_write_picture ("format=RGB,width=64,height=48", "pattern=snow",
      sam_file);
  fail_unless (g_file_get_contents (sam_file, &bytes, &n, NULL));
  /* truncated; then damaged within */
  fail_unless (g_file_set_contents (sam_file, bytes, n / 2, NULL));
  refuse_picture ("cannot be read: ");
  memset (bytes + n / 2, 0x55, n / 4);
  fail_unless (g_file_set_contents (sam_file, bytes, n, NULL));
  refuse_picture ("cannot be read: ");
  g_free (bytes);
  write_huge ();
  refuse_picture ("32768 x 32768");
  sam_folder_remove ();
}

GST_END_TEST;

GST_START_TEST (test_refused_settings)
{
  sam_expect_refusal ("samoverlay privacy=true", "privacy=true needs a mode "
      "that hides objects", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal ("samoverlay privacy=true mode=cut-out",
      "keep=outside", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal ("samoverlay mode=blur selected-ids=1,x",
      "'selected-ids' is '1,x': 'x' is not an id", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal ("samoverlay selected-labels=\"a,,b\"",
      "item 2 is empty", GST_RESOURCE_ERROR_SETTINGS);
  sam_expect_refusal ("samoverlay colors=1=#12345", "'1=#12345' is not a "
      "colour", GST_RESOURCE_ERROR_SETTINGS);
}

GST_END_TEST;

/* What cannot be set while it runs stays, and a text that cannot be read leaves
 * what was there in use. */
GST_START_TEST (test_settings_while_running)
{
  GstHarness *h = open_rgba ("samoverlay mode=solid margin=0 selected-ids=1");
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL;
  GstBuffer *buf;
  gint mode;

  gst_buffer_unref (push (h, 0, "ok", two, 2));
  g_object_set (h->element, "mode", 0, NULL);
  g_object_get (h->element, "mode", &mode, NULL);
  fail_unless_equals_int (mode, 3);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, "'mode' stays solid") != NULL, "%s", text);
  g_object_set (h->element, "selected-ids", "2x", NULL);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, "'2x' is not an id") != NULL, "%s", text);
  buf = push (h, 33, "ok", two, 2);
  fail_unless_equals_int (count_seen (buf, 12, 20, 20, 28, FALSE), 0);
  fail_unless_equals_int (count_seen (buf, 52, 20, 60, 28, TRUE), 64);
  g_object_set (h->element, "selected-ids", "2", "effect-color", 0xff010203,
      NULL);
  buf = push (h, 66, "ok", two, 2);
  fail_unless_equals_int (count_seen (buf, 12, 20, 20, 28, FALSE), 64);
  fail_unless_equals_int (count_seen (buf, 52, 20, 60, 28, TRUE), 0);
  g_free (text);
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_transparent_needs_alpha)
{
  GstHarness *h = gst_harness_new_parse ("samoverlay mode=cut-out "
      "ground=transparent");
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL;

  gst_harness_set_src_caps_str (h, "video/x-raw,format=NV12,width=96,"
      "height=64,framerate=30/1");
  fail_unless (sam_count_messages (bus, GST_MESSAGE_ERROR, &text) > 0);
  fail_unless (strstr (text, "and these are NV12.") != NULL, "%s", text);
  g_free (text);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Metas that lie, in frames of any size and layout: nothing is read or written
 * elsewhere (sanitizers look), and no object passes because of them. */
GST_START_TEST (test_hostile_metas)
{
  static const gchar *launch[] = { "samoverlay mode=blur", "samoverlay "
        "mode=pixelate privacy=true unmasked-frames=cover", "samoverlay "
        "mode=cut-out", "samoverlay mode=cut-out keep=outside"
  };
  GstHarness *h = open_rgba (launch[__i__]);
  guint i;

  for (i = 0; i < 10; i++) {
    const Thing t = { i == 0 ? 0 : 1, 1, "tracked", NULL, X0, Y0, 32, 32 };
    GstBuffer *buf = new_rgba ();
    GstStructure *s = add_things (buf, i == 9 ? "none" : "ok", &t, 1);

    if (i == 1)
      gst_structure_set ((GstStructure *) sam_get_object (s, 0), "slot",
          G_TYPE_UINT, 300, NULL);
    tell_lie (s, i);
    buf = gst_harness_push_and_pull (h, buf);
    /* no label map, but a box */
    if (__i__ != 2 && (i == 6 || i == 7))
      fail_unless (count_seen (buf, 60, 40, W, H, FALSE) <= 8);
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_sizes)
{
  static const gint sizes[][2] = { {1, 1}, {3, 1}, {1, 5}, {17, 13},
  {16384, 1}, {1, 16384}
  };
  static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_NV12,
    GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_I420_10LE, GST_VIDEO_FORMAT_RGB,
    GST_VIDEO_FORMAT_v210, GST_VIDEO_FORMAT_Y41B, GST_VIDEO_FORMAT_NV12_4L4
  };
  static const gchar *launch[] = { "samoverlay mode=blur", "samoverlay "
        "mode=pixelate", "samoverlay mode=cut-out", "samoverlay mode=solid "
        "privacy=true" };
  guint i, k;

  for (i = 0; i < G_N_ELEMENTS (sizes); i++) {
    for (k = 0; k < G_N_ELEMENTS (formats); k++) {
      GstHarness *h = sam_harness_new (launch[__i__], formats[k], sizes[i][0],
          sizes[i][1]);
      GstVideoInfo info;
      GstBuffer *buf;
      guint n;

      gst_video_info_set_format (&info, formats[k], sizes[i][0], sizes[i][1]);
      for (n = 0; n < 2; n++) {
        buf = gst_buffer_new_allocate (NULL, info.size, NULL);
        gst_buffer_memset (buf, 0, 100, -1);
        add_things (buf, n ? "stale" : "ok", &square, 1);
        gst_buffer_unref (gst_harness_push_and_pull (h, buf));
      }
      gst_harness_teardown (h);
    }
  }
}

GST_END_TEST;

/* Rows that are longer than the frame, at an odd address: what lies between
 * them stays. */
GST_START_TEST (test_odd_strides)
{
  GstHarness *h = sam_harness_new (__i__ ? "samoverlay mode=blur" :
      "samoverlay mode=cut-out keep=outside", GST_VIDEO_FORMAT_NV12, W, H);
  gsize offset[GST_VIDEO_MAX_PLANES] = { 1, 1 + H * (W + 5), };
  gint stride[GST_VIDEO_MAX_PLANES] = { W + 5, W + 5, };
  GstBuffer *buf = gst_buffer_new_allocate (NULL, 1 + 3 * H / 2 * (W + 5),
      NULL);
  guint changed = 0;
  GstMapInfo map;
  gint x, y;

  gst_buffer_map (buf, &map, GST_MAP_WRITE);
  for (x = 0; x < (gint) map.size; x++)
    map.data[x] = x % 200;
  gst_buffer_unmap (buf, &map);
  gst_buffer_add_video_meta_full (buf, 0, GST_VIDEO_FORMAT_NV12, W, H, 2,
      offset, stride);
  add_things (buf, "ok", &square, 1);
  buf = gst_harness_push_and_pull (h, buf);
  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = 0; y < 3 * H / 2; y++) {
    for (x = 0; x < W + 5; x++) {
      const gint at = 1 + y * (W + 5) + x, rows = y < H ? 1 : 2;
      const gint row = y < H ? y : y - H;
      const gboolean inside = x >= X0 - 2 && x < X1 + 2 &&
          row * rows >= Y0 - 2 && row * rows < Y1 + 2;

      if (!inside)
        fail_unless_equals_int (map.data[at], at % 200);
      changed += map.data[at] != at % 200;
    }
  }
  fail_unless (changed > (X1 - X0) * (Y1 - Y0), "%u bytes changed", changed);
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* In interlaced 4:2:0 two lines of a field share their chroma. */
GST_START_TEST (test_interlaced_frames)
{
  GstHarness *h = gst_harness_new_parse ("samoverlay mode=solid margin=0");
  const Thing t = { 1, 1, "tracked", NULL, 32, 18, 16, 10 };
  GstVideoInfo info;
  GstBuffer *buf;
  GstMapInfo map;
  gint x, y;

  gst_harness_set_src_caps_str (h, "video/x-raw,format=I420,width=96,"
      "height=64,framerate=30/1,interlace-mode=interleaved");
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, W, H);
  buf = gst_buffer_new_allocate (NULL, info.size, NULL);
  gst_buffer_memset (buf, 0, 77, -1);
  add_things (buf, "ok", &t, 1);
  buf = gst_harness_push_and_pull (h, buf);
  gst_buffer_map (buf, &map, GST_MAP_READ);
  for (y = 0; y < H; y++) {
    for (x = 0; x < W; x++)
      fail_unless_equals_int (map.data[y * W + x] == 16, x >= 32 && x < 48 &&
          y >= 16 && y < 28);
  }
  for (y = 0; y < H / 2; y++) {
    for (x = 0; x < W / 2; x++)
      fail_unless_equals_int (map.data[info.offset[1] + y * W / 2 + x] == 128,
          x >= 16 && x < 24 && y >= 8 && y < 14);
  }
  gst_buffer_unmap (buf, &map);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
privacy_suite (void)
{
  Suite *s = suite_create ("privacy");
  TCase *tc;

  tc = sam_tcase_new (s, "places");
  tcase_add_test (tc, test_stale_masks_grow);
  tcase_add_loop_test (tc, test_last_places_stay_covered, 0, 3);
  tcase_add_test (tc, test_unmasked_frames_are_covered);
  tcase_add_test (tc, test_unmasked_frames_are_held);
  tcase_add_test (tc, test_privacy_fails_closed);
  tc = sam_tcase_new (s, "input");
  tcase_add_test (tc, test_bad_pictures);
  tcase_add_test (tc, test_refused_settings);
  tcase_add_test (tc, test_settings_while_running);
  tcase_add_test (tc, test_transparent_needs_alpha);
  tcase_add_loop_test (tc, test_hostile_metas, 0, 4);
  tcase_add_loop_test (tc, test_sizes, 0, 4);
  tcase_add_loop_test (tc, test_odd_strides, 0, 2);
  tcase_add_test (tc, test_interlaced_frames);
  return s;
}

GST_CHECK_MAIN (privacy);
