/* SPDX-License-Identifier: MIT */
/* What is kept of a frame: its times and the content of its meta, without
 * pixels. */

#include "gstsamrecord.h"

#include <string.h>

static void
copy_text (gchar to[GST_SAM_TEXT_BYTES], const gchar * from)
{
  const gchar *end;

  *to = 0;
  if (!from)
    return;
  g_strlcpy (to, from, GST_SAM_TEXT_BYTES);
  /* The cut may be within a character. */
  if (!g_utf8_validate (to, -1, &end))
    to[end - to] = 0;
}

static void
set_reference (GstSamRecord * record, GstBuffer * buf)
{
  const GstReferenceTimestampMeta *meta =
      gst_buffer_get_reference_timestamp_meta (buf, NULL);

  *record->reference = 0;
  if (!meta || !meta->reference || gst_caps_is_empty (meta->reference) ||
      gst_caps_is_any (meta->reference))
    return;
  /* From GStreamer 1.26 on the name is the caps' own, not interned. */
  copy_text (record->reference,
      gst_structure_get_name (gst_caps_get_structure (meta->reference, 0)));
  record->reference_time = meta->timestamp;
}

static void
set_labels (GstSamRecord * record)
{
  guint i;

  for (i = 0; i < record->report.num_objects; i++) {
    copy_text (record->label[i], record->report.object[i].label);
    record->report.object[i].label = NULL;      /* it is the buffer's */
  }
}

/* Whether the report describes a label map that its buffer can hold. */
static gboolean
has_mask (const GstSamReport * report)
{
  return report->mask && report->mask_width <= SAM_MAX_SIDE &&
      report->mask_height <= SAM_MAX_SIDE && report->width <= SAM_MAX_SIDE &&
      report->height <= SAM_MAX_SIDE && gst_buffer_get_size (report->mask) >=
      (gsize) report->mask_width * report->mask_height;
}

/* Most frames have none, and nothing is copied. */
static void
set_zone_events (GstSamRecord * record, GstMeta * meta)
{
  const GValue *events = gst_structure_get_value (gst_custom_meta_get_structure
      ((GstCustomMeta *) meta), "zone-events");

  if (!events || !GST_VALUE_HOLDS_ARRAY (events))
    return;
  g_value_init (&record->zone_events, GST_TYPE_ARRAY);
  g_value_copy (events, &record->zone_events);
}

static gboolean
is_wanted (GstMeta * meta, const gchar * tracker)
{
  const GstStructure *s = gst_custom_meta_get_structure
      ((GstCustomMeta *) meta);

  return !tracker || !*tracker ||
      !g_strcmp0 (gst_structure_get_string (s, "source"), tracker);
}

void
gst_sam_record_set_times (GstSamRecord * record, GstBuffer * buf,
    const GstSegment * segment)
{
  record->pts = GST_BUFFER_PTS (buf);
  record->duration = GST_BUFFER_DURATION (buf);
  record->stream_time = record->running_time = GST_CLOCK_TIME_NONE;
  if (segment->format != GST_FORMAT_TIME)
    return;
  record->stream_time = gst_segment_to_stream_time (segment, GST_FORMAT_TIME,
      record->pts);
  record->running_time = gst_segment_to_running_time (segment, GST_FORMAT_TIME,
      record->pts);
}

void
gst_sam_record_set_metas (GstSamRecord * record, GstBuffer * buf,
    const gchar * tracker)
{
  const GType api = gst_meta_get_info (GST_SAM_META_NAME)->api;
  gpointer state = NULL;
  GstMeta *meta;

  set_reference (record, buf);
  record->tracked = FALSE;
  while (!record->tracked &&
      (meta = gst_buffer_iterate_meta_filtered (buf, &state, api)))
    record->tracked = is_wanted (meta, tracker) &&
        gst_sam_meta_read (&record->report, meta);
  if (!record->tracked) {
    memset (&record->report, 0, sizeof record->report);
    return;
  }
  record->width = record->report.width;
  record->height = record->report.height;
  copy_text (record->source, record->report.source);
  record->report.source = NULL; /* it is the buffer's */
  set_labels (record);
  set_zone_events (record, meta);
  if (has_mask (&record->report))
    gst_buffer_ref (record->report.mask);
  else
    record->report.mask = NULL;
}

void
gst_sam_record_clear (GstSamRecord * record)
{
  gst_clear_buffer (&record->report.mask);
  if (G_IS_VALUE (&record->zone_events))
    g_value_unset (&record->zone_events);
}
