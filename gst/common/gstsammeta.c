/* SPDX-License-Identifier: MIT */
/* GstSamTrackMeta: a GstCustomMeta, so that any language can read it by name.
 * docs/GSTREAMER.md lists its fields. */

#include "gstsammeta.h"

#include "gstsamplace.h"

#include <string.h>

static const gchar *object_states[] = {
  [SAM_OBJECT_NEW] = "new",
  [SAM_OBJECT_TRACKED] = "tracked",
  [SAM_OBJECT_OCCLUDED] = "occluded",
  [SAM_OBJECT_LOST] = "lost",
  [SAM_OBJECT_FOUND] = "found",
};

static const gchar *report_states[] = {
  [GST_SAM_REPORT_IDLE] = "idle",
  [GST_SAM_REPORT_OK] = "ok",
  [GST_SAM_REPORT_STALE] = "stale",
};

const gchar *
gst_sam_object_state_get_name (enum sam_object_state state)
{
  return object_states[state];
}

static guint
find_name (const gchar ** names, guint n, const gchar * name)
{
  guint i;

  for (i = 0; i < n; i++) {
    if (!g_strcmp0 (names[i], name))
      return i;
  }
  return 0;
}

static gint
scale (gint value, gint from, gint to)
{
  return from > 0 ? (gint) MIN (gst_util_uint64_scale_int_round (MAX (value,
                  0), to, from), G_MAXINT) : value;
}

/* No area is larger than its frame, whatever a meta from outside says. */
static guint
clip_area (gdouble area, gint width, gint height)
{
  const gdouble most = (gdouble) MAX (width, 0) * MAX (height, 0);

  return CLAMP (area, 0, MIN (most, G_MAXUINT));
}

/* Edges are scaled, not sizes, so that neighbours stay neighbours. */
static void
scale_box (GstSamObject * object, gint width, gint height, gint to_width,
    gint to_height)
{
  gint x1 = scale (object->x + object->w, width, to_width);
  gint y1 = scale (object->y + object->h, height, to_height);

  object->x = scale (object->x, width, to_width);
  object->y = scale (object->y, height, to_height);
  object->w = x1 - object->x;
  object->h = y1 - object->y;
  if (width > 0 && height > 0)
    object->area = clip_area ((gdouble) object->area * to_width / width *
        to_height / height + 0.5, to_width, to_height);
}

void
gst_sam_report_scale (GstSamReport * report, gint width, gint height)
{
  guint i;

  for (i = 0; i < report->num_objects; i++)
    scale_box (&report->object[i], report->width, report->height, width,
        height);
  report->width = width;
  report->height = height;
}

void
gst_sam_report_drop_masks (GstSamReport * report)
{
  gst_clear_buffer (&report->mask);
  gst_clear_buffer (&report->soft);
}

static GstStructure *
object_to_structure (const GstSamObject * object)
{
  GstStructure *s = gst_structure_new ("object",
      "id", G_TYPE_UINT64, object->id,
      "slot", G_TYPE_UINT, object->slot,
      "state", G_TYPE_STRING, object_states[object->state],
      "score", G_TYPE_DOUBLE, object->score,
      "iou", G_TYPE_DOUBLE, object->iou,
      "x", G_TYPE_INT, object->x,
      "y", G_TYPE_INT, object->y,
      "w", G_TYPE_INT, object->w,
      "h", G_TYPE_INT, object->h, "area", G_TYPE_UINT, object->area,
      "behind", G_TYPE_UINT, object->behind, NULL);

  if (object->label)
    gst_structure_set (s, "label", G_TYPE_STRING, object->label, NULL);
  if (object->follows)
    gst_structure_set (s, "model", G_TYPE_STRING, "follow",
        "anchor-age", G_TYPE_UINT, object->anchor_age, NULL);
  return s;
}

/* A meta may come from anywhere: no box leaves the frame. */
static void
clip (gint * at, gint * size, gint frame)
{
  gint64 end = CLAMP ((gint64) * at + MAX (*size, 0), 0, frame);

  *at = CLAMP (*at, 0, frame);
  *size = MAX (end - *at, 0);
}

static void
object_from_structure (GstSamObject * object, const GstStructure * s,
    gint width, gint height)
{
  memset (object, 0, sizeof *object);
  if (!s)
    return;
  gst_structure_get (s, "id", G_TYPE_UINT64, &object->id,
      "slot", G_TYPE_UINT, &object->slot,
      "score", G_TYPE_DOUBLE, &object->score,
      "iou", G_TYPE_DOUBLE, &object->iou,
      "x", G_TYPE_INT, &object->x,
      "y", G_TYPE_INT, &object->y,
      "w", G_TYPE_INT, &object->w,
      "h", G_TYPE_INT, &object->h, "area", G_TYPE_UINT, &object->area, NULL);
  gst_structure_get_uint (s, "behind", &object->behind);
  object->follows = gst_structure_get_uint (s, "anchor-age",
      &object->anchor_age);
  object->label = gst_structure_get_string (s, "label");
  object->state = find_name (object_states, G_N_ELEMENTS (object_states),
      gst_structure_get_string (s, "state"));
  clip (&object->x, &object->w, width);
  clip (&object->y, &object->h, height);
  object->area = clip_area (object->area, width, height);
}

void
gst_sam_report_objects_to_value (const GstSamReport * report, GValue * array)
{
  guint i;

  g_value_init (array, GST_TYPE_ARRAY);
  for (i = 0; i < report->num_objects; i++) {
    GValue value = G_VALUE_INIT;

    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (&value, object_to_structure (&report->object[i]));
    gst_value_array_append_and_take_value (array, &value);
  }
}

static void
add_region (GstBuffer * buffer, const GstSamReport * report,
    const GstSamObject * object)
{
  /* It has 31 bits for an id. A longer one stands in "samtrack" alone. */
  const gboolean fits = object->id <= G_MAXINT;
  GstVideoRegionOfInterestMeta *roi;

  roi = gst_buffer_add_video_region_of_interest_meta (buffer,
      object->label ? object->label : "object", object->x, object->y,
      object->w, object->h);
  if (fits)
    roi->id = (gint) object->id;
  gst_video_region_of_interest_meta_add_param (roi,
      gst_structure_new ("samtrack",
          "id", G_TYPE_UINT64, object->id,
          "score", G_TYPE_DOUBLE, object->score,
          "iou", G_TYPE_DOUBLE, object->iou,
          "state", G_TYPE_STRING, object_states[object->state],
          "source", G_TYPE_STRING, report->source,
          "stale", G_TYPE_BOOLEAN, report->state == GST_SAM_REPORT_STALE,
          NULL));
  /* what DLStreamer's elements look for */
  if (fits)
    gst_video_region_of_interest_meta_add_param (roi,
        gst_structure_new ("object_id", "id", G_TYPE_INT, (gint) object->id,
            NULL));
}

static GstStructure *
mark_to_structure (const GstSamMark * mark)
{
  GstStructure *s = gst_structure_new ("prompt",
      "id", G_TYPE_UINT64, mark->id,
      "kind", G_TYPE_STRING, mark->is_box ? "box" : "point",
      "waiting", G_TYPE_BOOLEAN, mark->waits,
      "age", G_TYPE_UINT64, mark->age,
      "x", G_TYPE_DOUBLE, mark->x, "y", G_TYPE_DOUBLE, mark->y, NULL);

  if (mark->is_box)
    gst_structure_set (s, "w", G_TYPE_DOUBLE, mark->w,
        "h", G_TYPE_DOUBLE, mark->h, NULL);
  else
    gst_structure_set (s, "positive", G_TYPE_BOOLEAN, mark->positive, NULL);
  return s;
}

/* Returns FALSE if it is no point or box of the frame. */
static gboolean
mark_from_structure (GstSamMark * mark, const GstStructure * s)
{
  const gchar *kind = s ? gst_structure_get_string (s, "kind") : NULL;

  memset (mark, 0, sizeof *mark);
  mark->positive = TRUE;
  mark->is_box = !g_strcmp0 (kind, "box");
  if ((!mark->is_box && g_strcmp0 (kind, "point")) ||
      !gst_structure_get (s, "id", G_TYPE_UINT64, &mark->id,
          "x", G_TYPE_DOUBLE, &mark->x, "y", G_TYPE_DOUBLE, &mark->y, NULL))
    return FALSE;
  gst_structure_get_boolean (s, "positive", &mark->positive);
  gst_structure_get_boolean (s, "waiting", &mark->waits);
  gst_structure_get_uint64 (s, "age", &mark->age);
  gst_structure_get_double (s, "w", &mark->w);
  gst_structure_get_double (s, "h", &mark->h);
  /* written so that a NaN is refused */
  if (!(mark->x >= 0 && mark->x <= 1 && mark->y >= 0 && mark->y <= 1 &&
          mark->w >= 0 && mark->h >= 0))
    return FALSE;
  mark->w = MIN (mark->w, 1 - mark->x);
  mark->h = MIN (mark->h, 1 - mark->y);
  return TRUE;
}

static void
write_marks (GstStructure * s, const GstSamReport * report)
{
  GValue marks = G_VALUE_INIT;
  guint i;

  g_value_init (&marks, GST_TYPE_ARRAY);
  for (i = 0; i < report->num_marks; i++) {
    GValue value = G_VALUE_INIT;

    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (&value, mark_to_structure (&report->mark[i]));
    gst_value_array_append_and_take_value (&marks, &value);
  }
  gst_structure_take_value (s, "prompts", &marks);
}

static void
fill (GstStructure * s, const GstSamReport * report)
{
  GValue objects = G_VALUE_INIT;

  gst_structure_set (s, "version", G_TYPE_UINT, GST_SAM_META_VERSION,
      "width", G_TYPE_INT, report->width,
      "height", G_TYPE_INT, report->height,
      "source", G_TYPE_STRING, report->source,
      "state", G_TYPE_STRING, report_states[report->state],
      "age", G_TYPE_UINT, report->age,
      "frame-index", G_TYPE_UINT64, report->frame_index,
      "running-time", G_TYPE_UINT64, report->running_time,
      "inference-time", G_TYPE_UINT64, report->inference_time, NULL);
  gst_sam_report_objects_to_value (report, &objects);
  gst_structure_take_value (s, "objects", &objects);
  if (report->current)
    gst_structure_set (s, "current", G_TYPE_UINT64, report->current, NULL);
  if (report->waiting)
    gst_structure_set (s, "waiting", G_TYPE_BOOLEAN, TRUE, NULL);
  if (report->num_marks)
    write_marks (s, report);
  if (report->mask)
    gst_structure_set (s, "mask", GST_TYPE_BUFFER, report->mask,
        "mask-width", G_TYPE_INT, report->mask_width,
        "mask-height", G_TYPE_INT, report->mask_height,
        "mask-x", G_TYPE_INT, 0, "mask-y", G_TYPE_INT, 0,
        "mask-w", G_TYPE_INT, report->width,
        "mask-h", G_TYPE_INT, report->height, NULL);
  if (report->mask && report->soft)
    gst_structure_set (s, "probability", GST_TYPE_BUFFER, report->soft, NULL);
}

void
gst_sam_meta_add (GstBuffer * buffer, const GstSamReport * report)
{
  GstCustomMeta *meta = gst_buffer_add_custom_meta (buffer, GST_SAM_META_NAME);
  guint i;

  fill (gst_custom_meta_get_structure (meta), report);
  for (i = 0; i < report->num_objects; i++) {
    if (report->object[i].w > 0 && report->object[i].h > 0)
      add_region (buffer, report, &report->object[i]);
  }
}

static const GstStructure *
get_structure (const GValue * value)
{
  return GST_VALUE_HOLDS_STRUCTURE (value) ? gst_value_get_structure (value) :
      NULL;
}

static void
read_marks (GstSamReport * report, const GstStructure * s)
{
  const GValue *marks = gst_structure_get_value (s, "prompts");
  guint i, n;

  gst_structure_get_uint64 (s, "current", &report->current);
  gst_structure_get_boolean (s, "waiting", &report->waiting);
  if (!marks || !GST_VALUE_HOLDS_ARRAY (marks))
    return;
  n = gst_value_array_get_size (marks);
  for (i = 0; i < n && report->num_marks < GST_SAM_MAX_MARKS; i++)
    report->num_marks += mark_from_structure
        (&report->mark[report->num_marks],
        get_structure (gst_value_array_get_value (marks, i)));
}

gboolean
gst_sam_meta_read (GstSamReport * report, GstMeta * meta)
{
  GstStructure *s = gst_custom_meta_get_structure ((GstCustomMeta *) meta);
  const GValue *objects = gst_structure_get_value (s, "objects");
  const GValue *mask = gst_structure_get_value (s, "mask");
  guint i, version = 0;

  memset (report, 0, sizeof *report);
  if (!gst_structure_get_uint (s, "version", &version) ||
      version != GST_SAM_META_VERSION ||
      !gst_structure_get (s, "width", G_TYPE_INT, &report->width,
          "height", G_TYPE_INT, &report->height, NULL) ||
      report->width <= 0 || report->height <= 0)
    return FALSE;
  gst_structure_get (s, "age", G_TYPE_UINT, &report->age,
      "frame-index", G_TYPE_UINT64, &report->frame_index,
      "running-time", G_TYPE_UINT64, &report->running_time,
      "inference-time", G_TYPE_UINT64, &report->inference_time, NULL);
  report->source = gst_structure_get_string (s, "source");
  report->state = find_name (report_states, G_N_ELEMENTS (report_states),
      gst_structure_get_string (s, "state"));
  if (objects && GST_VALUE_HOLDS_ARRAY (objects)) {
    report->num_objects = MIN (gst_value_array_get_size (objects),
        SAM_MAX_OBJECTS);
    for (i = 0; i < report->num_objects; i++)
      object_from_structure (&report->object[i],
          get_structure (gst_value_array_get_value (objects, i)),
          report->width, report->height);
  }
  if (mask && G_VALUE_HOLDS (mask, GST_TYPE_BUFFER) &&
      gst_structure_get (s, "mask-width", G_TYPE_INT, &report->mask_width,
          "mask-height", G_TYPE_INT, &report->mask_height, NULL) &&
      report->mask_width > 0 && report->mask_height > 0)
    report->mask = gst_value_get_buffer (mask);
  read_marks (report, s);
  return TRUE;
}

static gboolean
copy_field (GQuark field, const GValue * value, gpointer dest)
{
  gst_structure_id_set_value (dest, field, value);
  return TRUE;
}

gboolean
gst_sam_meta_same_picture (const GstVideoInfo * from, const GstVideoInfo * to)
{
  gint64 bars;
  gint n, d;

  /* Of the picture, in pixels of @to. */
  if (!gst_util_fraction_multiply (from->width, from->height, from->par_n,
          from->par_d, &n, &d) ||
      !gst_util_fraction_multiply (n, d, to->par_d, to->par_n, &n, &d) ||
      n < 1 || d < 1)
    return FALSE;
  bars = to->height - (gint64) gst_util_uint64_scale_int (to->width, d, n);
  if (bars < 0)
    bars = to->width - (gint64) gst_util_uint64_scale_int (to->height, n, d);
  return bars <= 2;
}

static GstCustomMeta *
copy_meta (GstBuffer * dest, GstCustomMeta * meta)
{
  GstCustomMeta *copy = gst_buffer_add_custom_meta (dest, GST_SAM_META_NAME);

  gst_structure_foreach (gst_custom_meta_get_structure (meta), copy_field,
      gst_custom_meta_get_structure (copy));
  return copy;
}

/* A scaler that changes the display aspect ratio stretches the picture or adds
 * bars, and does not say which. */
static gboolean
transform_scaled (GstBuffer * dest, GstCustomMeta * meta,
    GstSamReport * report, const GstVideoMetaTransform * size)
{
  if (!gst_sam_meta_same_picture (size->in_info, size->out_info))
    return FALSE;
  gst_sam_report_scale (report,
      scale (report->width, GST_VIDEO_INFO_WIDTH (size->in_info),
          GST_VIDEO_INFO_WIDTH (size->out_info)),
      scale (report->height, GST_VIDEO_INFO_HEIGHT (size->in_info),
          GST_VIDEO_INFO_HEIGHT (size->out_info)));
  fill (gst_custom_meta_get_structure (copy_meta (dest, meta)), report);
  return TRUE;
}

static GstBuffer *
get_soft (const GstStructure * s)
{
  const GValue *value = gst_structure_get_value (s, "probability");

  return value && G_VALUE_HOLDS (value, GST_TYPE_BUFFER) ?
      gst_value_get_buffer (value) : NULL;
}

static gboolean
transform_moved (GstBuffer * dest, GstCustomMeta * meta, GstSamReport * report,
    const GstSamMatrix * matrix)
{
  GstBuffer *const mask = report->mask;
  GstBuffer *const soft = get_soft (gst_custom_meta_get_structure (meta));
  GstBuffer *moved = soft;
  const gboolean ok = gst_sam_place (report, &moved, matrix);
  GstStructure *s;

  if (ok) {
    s = gst_custom_meta_get_structure (copy_meta (dest, meta));
    gst_structure_remove_fields (s, "probability", "prompts", NULL);
    report->soft = moved;
    fill (s, report);
    report->soft = NULL;
  }
  if (report->mask != mask)
    gst_buffer_unref (report->mask);
  if (moved != soft && moved)
    gst_buffer_unref (moved);
  return ok;
}

/* Follow the frame through elements that copy, scale or move it. What does not
 * say what it does loses the meta. */
static gboolean
gst_sam_meta_transform (GstBuffer * dest, GstCustomMeta * meta,
    GstBuffer * buffer, GQuark type, gpointer data, gpointer user)
{
  GstSamReport *report = g_new (GstSamReport, 1);
  gboolean ok = FALSE;

  if (!gst_sam_meta_read (report, &meta->meta)) {
    /* somebody else's, of another version */
  } else if (GST_META_TRANSFORM_IS_COPY (type)) {
    copy_meta (dest, meta);
    ok = TRUE;
  } else if (GST_VIDEO_META_TRANSFORM_IS_SCALE (type)) {
    ok = transform_scaled (dest, meta, report, data);
  } else if (type == g_quark_from_static_string ("gst-video-matrix")) {
    ok = transform_moved (dest, meta, report, data);
  }
  g_free (report);
  return ok;
}

void
gst_sam_meta_register (void)
{
  static const gchar *tags[] = { GST_META_TAG_VIDEO_STR,
    GST_META_TAG_VIDEO_SIZE_STR, GST_META_TAG_VIDEO_ORIENTATION_STR, NULL
  };
  static gsize once = 0;

  if (!g_once_init_enter (&once))
    return;
  /* An application may have registered the name before us. */
  if (!gst_meta_get_info (GST_SAM_META_NAME))
    gst_meta_register_custom (GST_SAM_META_NAME, tags, gst_sam_meta_transform,
        NULL, NULL);
  g_once_init_leave (&once, 1);
}
