/* SPDX-License-Identifier: MIT */
/* GstAnalytics metadata: what samtrack writes, against its own meta, and what
 * it reads of detectors upstream, damaged ones too. */

#include "samcheck.h"

#include <gst/analytics/analytics.h>
#include <math.h>
#include <string.h>

#define RELATES GST_ANALYTICS_REL_TYPE_RELATE_TO

/* ---- What is written */

/* The n-th object detection of a frame. */
static GstAnalyticsODMtd
get_detection (GstBuffer * buf, guint n)
{
  GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta (buf);
  GstAnalyticsODMtd od;
  gpointer state = NULL;

  fail_unless (meta != NULL, "no analytics metadata");
  do {
    fail_unless (gst_analytics_relation_meta_iterate (meta, &state,
            gst_analytics_od_mtd_get_mtd_type (), &od),
        "a detection is missing");
  } while (n--);
  return od;
}

static void
check_box (GstAnalyticsODMtd * od, const GstStructure * object)
{
  gint x, y, w, h;
  gfloat score;

  fail_unless (gst_analytics_od_mtd_get_location (od, &x, &y, &w, &h, &score));
  fail_unless_equals_int (x, sam_get_int (object, "x"));
  fail_unless_equals_int (y, sam_get_int (object, "y"));
  fail_unless_equals_int (w, sam_get_int (object, "w"));
  fail_unless_equals_int (h, sam_get_int (object, "h"));
  fail_unless (fabs (score - CLAMP (sam_get_double (object, "iou"), 0, 1)) <
      1e-6);
}

static void
check_track (GstAnalyticsODMtd * od, const GstStructure * object,
    GstClockTime first_seen, GstClockTime last_seen)
{
  GstAnalyticsTrackingMtd track;
  GstClockTime since, until;
  gboolean lost;
  guint64 id;

  fail_unless (gst_analytics_relation_meta_get_direct_related (od->meta, od->id,
          RELATES, gst_analytics_tracking_mtd_get_mtd_type (), NULL, &track));
  fail_unless (gst_analytics_tracking_mtd_get_info (&track, &id, &since, &until,
          &lost));
  fail_unless_equals_uint64 (id, sam_get_uint64 (object, "id"));
  fail_unless_equals_uint64 (since, first_seen);
  fail_unless_equals_uint64 (until, last_seen);
  fail_if (lost);
}

#if GST_CHECK_VERSION (1, 26, 0)
/* The mask's value at a pixel of the frame; 0 outside of its box. */
static guint
look_up (const GstVideoMeta * video, const guint8 * mask, gint left, gint top,
    guint w, guint h, gint x, gint y)
{
  if (x < left || y < top || x >= left + (gint) w || y >= top + (gint) h)
    return 0;
  return mask[(gsize) ((y - top) * video->height / h) * video->width +
      (x - left) * video->width / w];
}

/* The map of GstSamTrackMeta has the frame's size: every pixel is the same. */
static void
check_mask (GstAnalyticsODMtd * od, const GstStructure * meta,
    const GstStructure * object)
{
  const gint width = sam_get_int (meta, "width");
  const gint height = sam_get_int (meta, "height");
  const guint slot = sam_get_uint (object, "slot");
  GstBuffer *labels = gst_value_get_buffer (gst_structure_get_value (meta,
          "mask")), *mask;
  GstAnalyticsSegmentationMtd seg;
  GstMapInfo want, got;
  guint w, h, shown = 0;
  gint left, top, x, y;

  fail_unless (gst_analytics_relation_meta_get_direct_related (od->meta, od->id,
          RELATES, gst_analytics_segmentation_mtd_get_mtd_type (), NULL, &seg));
  fail_unless_equals_int (gst_analytics_relation_meta_get_relation (od->meta,
          seg.id, od->id), RELATES);
  fail_unless_equals_int (gst_analytics_segmentation_mtd_get_region_count
      (&seg), 2);
  fail_unless_equals_int (gst_analytics_segmentation_mtd_get_region_id (&seg,
          1), slot);
  mask = gst_analytics_segmentation_mtd_get_mask (&seg, &left, &top, &w, &h);
  fail_unless (sam_get_int (meta, "mask-width") == width &&
      gst_buffer_map (labels, &want, GST_MAP_READ) &&
      gst_buffer_map (mask, &got, GST_MAP_READ));
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++) {
      const guint value = want.data[(gsize) y * width + x];

      fail_unless (look_up (gst_buffer_get_video_meta (mask), got.data, left,
              top, w, h, x, y) == (value == slot ? slot : 0), "pixel %d, %d", x,
          y);
      shown += value == slot;
    }
  }
  fail_unless (shown > 20, "%u pixels of object %u", shown, slot);
  gst_buffer_unmap (mask, &got);
  gst_buffer_unmap (labels, &want);
  gst_buffer_unref (mask);
}
#endif

/* Two objects, the second one from the third frame on. */
GST_START_TEST (test_written)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=\"" SQUARE_BOX "\"",
      GST_VIDEO_FORMAT_RGBA, 128, 96);
  guint64 id = 0;
  guint i, k;

  gst_harness_play (h);
  for (i = 0; i < 6; i++) {
    GstBuffer *buf;
    const GstStructure *meta;

    if (i == 2)
      g_signal_emit_by_name (h->element, "add-box", G_GUINT64_CONSTANT (0),
          0.7, 0.1, 0.25, 0.4, TRUE, &id);
    buf = sam_harness_run (h, i);
    meta = sam_get_meta (buf);
    fail_unless_equals_int (sam_get_num_objects (meta), i < 2 ? 1 : 2);
    for (k = 0; k < sam_get_num_objects (meta); k++) {
      const GstStructure *object = sam_get_object (meta, k);
      GstAnalyticsODMtd od = get_detection (buf, k);

      check_box (&od, object);
      fail_unless_equals_string (g_quark_to_string
          (gst_analytics_od_mtd_get_obj_type (&od)), "object");
      check_track (&od, object, (sam_get_uint64 (object, "id") == id ? 2 : 0)
          * GST_SECOND / 30,
          i * GST_SECOND / 30);
#if GST_CHECK_VERSION (1, 26, 0)
      check_mask (&od, meta, object);
#endif
    }
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- What is read */

static guint
add_detection (GstBuffer * buf, const gchar * name, gint x, gint y, gint w,
    gint h, gfloat score)
{
  GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta (buf);
  GstAnalyticsODMtd od;

  if (!meta)
    meta = gst_buffer_add_analytics_relation_meta (buf);
  fail_unless (gst_analytics_relation_meta_add_od_mtd (meta,
          name ? g_quark_from_string (name) : 0, x, y, w, h, score, &od));
  return od.id;
}

/* The best of two classes, for a detection that tells none. */
static void
add_classes (GstBuffer * buf, guint od)
{
  GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta (buf);
  gfloat levels[2] = { 0.2, 0.8 };
  GQuark names[2] = { g_quark_from_string ("round"),
    g_quark_from_string ("square")
  };
  GstAnalyticsClsMtd cls;

  fail_unless (gst_analytics_relation_meta_add_cls_mtd (meta, 2, levels, names,
          &cls));
  fail_unless (gst_analytics_relation_meta_set_relation (meta, RELATES, od,
          cls.id));
}

#if GST_CHECK_VERSION (1, 26, 0)
/* The mask of a detection, as GStreamer's decoder of segmentations writes it:
 * the left half of its box. */
static void
add_half_mask (GstBuffer * buf, guint od)
{
  GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta (buf);
  GstBuffer *mask = gst_buffer_new_allocate (NULL, 48 * 48, NULL);
  GstAnalyticsSegmentationMtd seg;
  guint region = 3, x, y;
  GstMapInfo map;

  gst_buffer_map (mask, &map, GST_MAP_WRITE);
  for (y = 0; y < 48; y++) {
    for (x = 0; x < 48; x++)
      map.data[48 * y + x] = x < 24 ? 3 : 0;
  }
  gst_buffer_unmap (mask, &map);
  gst_buffer_add_video_meta (mask, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 48, 48);
  fail_unless (gst_analytics_relation_meta_add_segmentation_mtd (meta, mask,
          GST_SEGMENTATION_TYPE_INSTANCE, 1, &region, 32, 24, 48, 48, &seg));
  fail_unless (gst_analytics_relation_meta_set_relation (meta, RELATES, od,
          seg.id));
  fail_unless (gst_analytics_relation_meta_set_relation (meta, RELATES, seg.id,
          od));
}

/* The object begins with the mask, not with the box: its first mask, which is
 * what was given, has nothing right of the middle. */
GST_START_TEST (test_masks_of_detections_are_prompts)
{
  GstHarness *h = sam_harness_new ("samtrack prompt-source=analytics",
      GST_VIDEO_FORMAT_RGBA, 128, 96);
  const GstStructure *object;
  guint i, shown = 0;

  gst_harness_play (h);
  for (i = 0; i < 4 && !shown; i++) {
    GstBuffer *buf = sam_harness_frame (h, i);

    add_half_mask (buf, add_detection (buf, "half", 32, 24, 48, 48, 0.9));
    buf = gst_harness_push_and_pull (h, buf);
    shown = sam_get_num_objects (sam_get_meta (buf));
    if (shown) {
      object = sam_get_object (sam_get_meta (buf), 0);
      fail_unless (sam_get_int (object, "w") > 12 &&
          sam_get_int (object, "x") + sam_get_int (object, "w") < 32 + 36,
          "frame %u: the box is %d px wide", i, sam_get_int (object, "w"));
    }
    gst_buffer_unref (buf);
  }
  fail_unless_equals_int (shown, 1);
  gst_harness_teardown (h);
}

GST_END_TEST;
#endif

static void
run_detections (const gchar * name, const gchar * label)
{
  GstHarness *h = sam_harness_new ("samtrack prompt-source=analytics",
      GST_VIDEO_FORMAT_RGBA, 128, 96);
  guint i, shown = 0;

  gst_harness_play (h);
  for (i = 0; i < 6; i++) {
    GstBuffer *buf = sam_harness_frame (h, i);
    const GstStructure *meta;
    guint od = add_detection (buf, name, 32, 24, 48, 48, 0.9);

    if (!name)
      add_classes (buf, od);
    buf = gst_harness_push_and_pull (h, buf);
    meta = sam_get_meta (buf);
    fail_unless (sam_get_num_objects (meta) <= 1);
    if (sam_get_num_objects (meta)) {
      shown++;
      fail_unless_equals_string (gst_structure_get_string (sam_get_object (meta,
                  0), "label"), label);
      fail_unless (i < 2 || sam_meta_iou (meta, 0) > GOOD_IOU);
    }
    gst_buffer_unref (buf);
  }
  fail_unless (shown >= 4, "shown on %u of 6 frames", shown);
  gst_harness_teardown (h);
}

GST_START_TEST (test_detections)
{
  run_detections ("square", "square");
  run_detections (NULL, "square");
}

GST_END_TEST;

/* Objects of a samtrack before this one are none; what stands beside them in the
 * same metadata is. */
GST_START_TEST (test_own_objects)
{
  GstHarness *h = gst_harness_new_parse ("samtrack initial-prompt=\"" SQUARE_BOX
      "\" ! samtrack name=second prompt-source=analytics roi-empty=true");
  GstElement *tracker;
  guint i;

  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h, "video/x-raw,format=RGBA,width=128,"
      "height=96,framerate=30/1");
  for (i = 0; i < 5; i++) {
    GstBuffer *buf = sam_harness_frame (h, i);

    if (i == 4)
      add_detection (buf, "corner", 100, 60, 20, 20, 0.9);
    gst_buffer_unref (gst_harness_push_and_pull (h, buf));
  }
  tracker = gst_bin_get_by_name (GST_BIN (h->element), "second");
  fail_unless_equals_uint64 (sam_get_seeding (tracker, "ticks"), 5);
  fail_unless_equals_uint64 (sam_get_seeding (tracker, "detections"), 1);
  gst_object_unref (tracker);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_hostile)
{
  static const gint numbers[] = { 0, 1, 20, 64, 100, -7, G_MAXINT, G_MININT };
  static const gfloat scores[] = { 0, 0.7, 0.9, 1, -1, 2, NAN, INFINITY };
  static const gchar *names[] = { "car", "", "a\xff\xc3", NULL };
  const guint seed = 20261124;
  GRand *rand = g_rand_new_with_seed (seed);
  GstHarness *h = sam_harness_new ("samtrack prompt-source=analytics "
      "max-objects=3", GST_VIDEO_FORMAT_RGBA, 128, 96);
  guint i, k, shown = 0;

  g_print ("seed %u\n", seed);
  gst_harness_play (h);
  for (i = 0; i < 40; i++) {
    const guint many = i % 20 == 7 ? 600 : g_rand_int (rand) % 40;
    GstBuffer *buf = sam_harness_frame (h, i);

    for (k = 0; k < many; k++)
      add_detection (buf, names[g_rand_int (rand) % 4],
          numbers[g_rand_int (rand) % 8], numbers[g_rand_int (rand) % 8],
          numbers[g_rand_int (rand) % 8], numbers[g_rand_int (rand) % 8],
          scores[g_rand_int (rand) % 8]);
    buf = gst_harness_push_and_pull (h, buf);
    shown += sam_check_objects (sam_get_meta (buf), 3);
    gst_buffer_unref (buf);
  }
  fail_unless (shown > 0, "nothing was ever shown");
  g_rand_free (rand);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
analytics_suite (void)
{
  Suite *s = suite_create ("analytics");
  TCase *tc = sam_tcase_new_tiny (s, "analytics");

  tcase_add_test (tc, test_written);
  tcase_add_test (tc, test_own_objects);
  tcase_add_test (tc, test_hostile);
  tc = sam_tcase_new (s, "detections");
  tcase_add_test (tc, test_detections);
#if GST_CHECK_VERSION (1, 26, 0)
  tcase_add_test (tc, test_masks_of_detections_are_prompts);
#endif
  return s;
}

GST_CHECK_MAIN (analytics);
