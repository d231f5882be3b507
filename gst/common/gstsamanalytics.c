/* SPDX-License-Identifier: MIT */
/* Bridge to GstAnalyticsRelationMeta: detections of elements upstream are read
 * from it, tracked objects are written to it.
 *
 * Per object that is seen, with the relations that GStreamer's own tracker and
 * segmentation decoder use:
 *
 *   object detection --- relates to ---> tracking
 *     (label, box,  <--- relate to each other ---> segmentation
 *      predicted IoU)     (1.26 and later: the mask within its box)
 *
 * One that is not seen has a tracking alone, which is lost. */

#include "gstsamanalytics.h"

#include "gstsamcuda.h"

#include <gst/analytics/analytics.h>

#define SEGMENTATION GST_CHECK_VERSION (1, 26, 0)

gboolean
gst_sam_analytics_is_built (void)
{
  return TRUE;
}

/* ---- Reading */

/* Handles are not constant: GStreamer 1.24 takes none that are. */

/* The class of the highest level that a detection without a type relates to. */
static GQuark
get_class (GstAnalyticsODMtd * od)
{
  GstAnalyticsClsMtd cls;
  GQuark best = 0;
  gfloat level = 0;
  gsize i;

  if (!gst_analytics_relation_meta_get_direct_related (od->meta, od->id,
          GST_ANALYTICS_REL_TYPE_RELATE_TO,
          gst_analytics_cls_mtd_get_mtd_type (), NULL, &cls))
    return 0;
  for (i = 0; i < gst_analytics_cls_mtd_get_length (&cls); i++) {
    const gfloat here = gst_analytics_cls_mtd_get_level (&cls, i);

    if (!best || here > level) {
      best = gst_analytics_cls_mtd_get_quark (&cls, i);
      level = here;
    }
  }
  return best;
}

static gboolean
is_near (gint a, gint b)
{
  return a - b <= 2 && b - a <= 2;
}

static gboolean
has_object (const GstSamReport * report, guint64 id, gint x, gint y, gint w,
    gint h)
{
  guint i;

  for (i = 0; i < report->num_objects; i++) {
    const GstSamObject *object = &report->object[i];

    /* A scaler rounds edges here and sizes there. */
    if (object->id == id && is_near (object->x, x) && is_near (object->y, y)
        && is_near (object->w, w) && is_near (object->h, h))
      return TRUE;
  }
  return FALSE;
}

/* Whether a samtrack wrote it: it relates to the track of an object that stands
 * in a GstSamTrackMeta of the frame, with that box. Nothing else tells the
 * tracks of samtrack from those of other trackers. */
static gboolean
is_tracked (GstSamAnalytics * analytics, GstBuffer * frame,
    GstAnalyticsODMtd * od, gint x, gint y, gint w, gint h)
{
  const GType api = gst_meta_get_info (GST_SAM_META_NAME)->api;
  GstAnalyticsTrackingMtd track;
  GstClockTime first, last;
  gpointer state = NULL;
  gboolean lost;
  GstMeta *meta;
  guint64 id;

  if (!gst_analytics_relation_meta_get_direct_related (od->meta, od->id,
          GST_ANALYTICS_REL_TYPE_RELATE_TO,
          gst_analytics_tracking_mtd_get_mtd_type (), NULL, &track) ||
      !gst_analytics_tracking_mtd_get_info (&track, &id, &first, &last, &lost))
    return FALSE;
  while ((meta = gst_buffer_iterate_meta_filtered (frame, &state, api))) {
    if (gst_sam_meta_read (&analytics->report, meta) &&
        has_object (&analytics->report, id, x, y, w, h))
      return TRUE;
  }
  return FALSE;
}

/* Returns FALSE if it is no detection. */
static gboolean
read_detection (GstSamAnalytics * analytics, GstBuffer * frame,
    GstAnalyticsODMtd * od, GstSamFind * find)
{
  gint x, y, w, h;

  if (!gst_analytics_od_mtd_get_location (od, &x, &y, &w, &h, &find->score) ||
      is_tracked (analytics, frame, od, x, y, w, h))
    return FALSE;
  find->box.x0 = x;
  find->box.y0 = y;
  find->box.x1 = (gfloat) x + w;
  find->box.y1 = (gfloat) y + h;
  find->label = gst_analytics_od_mtd_get_obj_type (od);
  if (!find->label)
    find->label = get_class (od);
  return TRUE;
}

#if SEGMENTATION
/* The mask that it relates to. A map of several regions does not say which of
 * them is the detection. */
static void
read_mask (GstAnalyticsODMtd * od, GstSamFind * find)
{
  GstAnalyticsSegmentationMtd mask;

  if (gst_analytics_relation_meta_get_direct_related (od->meta, od->id,
          GST_ANALYTICS_REL_TYPE_RELATE_TO,
          gst_analytics_segmentation_mtd_get_mtd_type (), NULL, &mask) &&
      gst_analytics_segmentation_mtd_get_region_count (&mask) <= 2)
    find->mask = gst_analytics_segmentation_mtd_get_mask (&mask, &find->x,
        &find->y, &find->w, &find->h);
}
#endif

void
gst_sam_analytics_read (GstSamAnalytics * analytics, GstSamFound * found,
    GstBuffer * frame, guint64 number, gboolean empty_counts)
{
  GstAnalyticsRelationMeta *meta =
      gst_buffer_get_analytics_relation_meta (frame);
  GstAnalyticsODMtd od;
  gpointer state = NULL;
  guint num = 0;

  while (meta && num < SAM_SEED_MAX_READ &&
      gst_analytics_relation_meta_iterate (meta, &state,
          gst_analytics_od_mtd_get_mtd_type (), &od)) {
    GstSamFind find = { 0, };

    if (!read_detection (analytics, frame, &od, &find))
      continue;
    if (!num)
      gst_sam_found_clear (found);
#if SEGMENTATION
    read_mask (&od, &find);
#endif
    found->find[num++] = find;
  }
  if (!num && !empty_counts)
    return;
  if (!num)
    gst_sam_found_clear (found);
  found->looked = TRUE;
  found->number = number;
  found->age = 0;
  found->num = num;
}

/* ---- Writing */

/* That of an element upstream, where there is one. */
static GstAnalyticsRelationMeta *
get_relations (GstBuffer * frame)
{
  GstAnalyticsRelationMeta *meta =
      gst_buffer_get_analytics_relation_meta (frame);

  return meta ? meta : gst_buffer_add_analytics_relation_meta (frame);
}

void
gst_sam_analytics_add_detection (GstBuffer * frame, GQuark label, gint x,
    gint y, gint w, gint h, gfloat score)
{
  GstAnalyticsODMtd od;

  gst_analytics_relation_meta_add_od_mtd (get_relations (frame), label, x, y,
      w, h, CLAMP (score, 0, 1), &od);
}

#if SEGMENTATION
/* The part of the label map inside of an object's box: its left, upper, right
 * and lower edge, px. */
static void
get_part (const GstSamReport * report, const GstSamObject * object,
    gint part[4])
{
  const guint64 width = report->mask_width, height = report->mask_height;

  part[0] = object->x * width / report->width;
  part[1] = object->y * height / report->height;
  part[2] = MIN (width, ((object->x + object->w) * width + report->width - 1) /
      report->width);
  part[3] = MIN (height, ((object->y + object->h) * height + report->height -
          1) / report->height);
}

/* A copy of that part, in which other objects are background. Packed: drawing
 * elements do not heed a stride. Returns NULL if it cannot be made. */
static GstBuffer *
copy_part (const GstSamReport * report, guint slot, const gint part[4])
{
  const gint width = part[2] - part[0], height = part[3] - part[1];
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0 };
  gint stride[GST_VIDEO_MAX_PLANES] = { width };
  GstBuffer *mask;
  GstMapInfo from, to;
  gint x, y;

  if (!gst_buffer_map (report->mask, &from, GST_MAP_READ))
    return NULL;
  mask = gst_buffer_new_allocate (NULL, (gsize) width * height, NULL);
  gst_buffer_map (mask, &to, GST_MAP_WRITE);
  for (y = 0; y < height; y++) {
    const guint8 *row = from.data + (gsize) (part[1] + y) * report->mask_width +
        part[0];

    for (x = 0; x < width; x++)
      to.data[(gsize) y * width + x] = row[x] == slot ? slot : 0;
  }
  gst_buffer_unmap (mask, &to);
  gst_buffer_unmap (report->mask, &from);
  gst_buffer_add_video_meta_full (mask, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, width, height, 1, offset, stride);
  return mask;
}

/* A mask in GPU memory stays there: others read it from GstSamTrackMeta. */
static void
add_segmentation (GstAnalyticsRelationMeta * meta, guint od,
    const GstSamReport * report, const GstSamObject * object)
{
  guint regions[2] = { 0, object->slot };
  GstAnalyticsSegmentationMtd segmentation;
  GstBuffer *mask;
  gint part[4], x, y;

  if (!report->mask || gst_sam_cuda_is_memory (report->mask))
    return;
  get_part (report, object, part);
  if (part[2] <= part[0] || part[3] <= part[1])
    return;
  mask = copy_part (report, object->slot, part);
  x = part[0] * report->width / report->mask_width;
  y = part[1] * report->height / report->mask_height;
  if (!mask || !gst_analytics_relation_meta_add_segmentation_mtd (meta, mask,
          GST_SEGMENTATION_TYPE_INSTANCE, 2, regions, x, y,
          part[2] * report->width / report->mask_width - x,
          part[3] * report->height / report->mask_height - y, &segmentation))
    return;
  gst_analytics_relation_meta_set_relation (meta,
      GST_ANALYTICS_REL_TYPE_RELATE_TO, od, segmentation.id);
  gst_analytics_relation_meta_set_relation (meta,
      GST_ANALYTICS_REL_TYPE_RELATE_TO, segmentation.id, od);
}
#endif

static GstClockTime
get_first_seen (const GstSamAnalytics * analytics, guint64 id,
    GstClockTime otherwise)
{
  guint i;

  for (i = 0; i < analytics->num_seen; i++) {
    if (analytics->seen[i].id == id)
      return analytics->seen[i].first;
  }
  return otherwise;
}

static void
note_seen (GstSamAnalytics * analytics, const GstSamReport * report)
{
  GstClockTime first[SAM_MAX_OBJECTS];
  guint i;

  for (i = 0; i < report->num_objects; i++)
    first[i] = get_first_seen (analytics, report->object[i].id,
        report->running_time);
  for (i = 0; i < report->num_objects; i++) {
    analytics->seen[i].id = report->object[i].id;
    analytics->seen[i].first = first[i];
  }
  analytics->num_seen = report->num_objects;
}

static void
add_object (GstAnalyticsRelationMeta * meta, const GstSamReport * report,
    const GstSamObject * object, GstClockTime first)
{
  GstAnalyticsTrackingMtd track;
  GstAnalyticsODMtd od;

  if (!gst_analytics_relation_meta_add_tracking_mtd (meta, object->id, first,
          &track))
    return;
  gst_analytics_tracking_mtd_update_last_seen (&track, report->running_time);
  if (object->w <= 0 || object->h <= 0) {
    gst_analytics_tracking_mtd_set_lost (&track);
    return;
  }
  if (!gst_analytics_relation_meta_add_od_mtd (meta,
          g_quark_from_string (object->label ? object->label : "object"),
          object->x, object->y, object->w, object->h, CLAMP (object->iou, 0, 1),
          &od))
    return;
  gst_analytics_relation_meta_set_relation (meta,
      GST_ANALYTICS_REL_TYPE_RELATE_TO, od.id, track.id);
#if SEGMENTATION
  add_segmentation (meta, od.id, report, object);
#endif
}

void
gst_sam_analytics_add (GstSamAnalytics * analytics, GstBuffer * frame,
    const GstSamReport * report)
{
  GstAnalyticsRelationMeta *meta;
  guint i;

  note_seen (analytics, report);
  if (!report->num_objects)
    return;
  meta = get_relations (frame);
  for (i = 0; i < report->num_objects; i++)
    add_object (meta, report, &report->object[i], analytics->seen[i].first);
}
