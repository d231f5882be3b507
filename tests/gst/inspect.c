/* SPDX-License-Identifier: MIT */
#include "inspect.h"

#include <string.h>

GHashTable *
sam_ids_new (void)
{
  return g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
}

gboolean
sam_ids_add (GHashTable * ids, guint64 id)
{
  return g_hash_table_add (ids, g_memdup2 (&id, sizeof id));
}

void
sam_complain (SamInspector * in, const gchar * format, ...)
{
  va_list args;
  gchar *text;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_mutex_lock (&in->lock);
  if (!in->complaint)
    in->complaint = g_strdup_printf ("%s: %s", in->name, text);
  g_mutex_unlock (&in->lock);
  g_free (text);
}

gboolean
sam_inspector_is_content (SamInspector * in)
{
  gboolean content;

  g_mutex_lock (&in->lock);
  content = in->complaint == NULL;
  g_mutex_unlock (&in->lock);
  return content;
}

static void
check_mask (SamInspector * in, const GstSamReport * report,
    const gboolean * slots)
{
  GstMapInfo map;
  gsize i;

  if (!report->mask || !gst_buffer_map (report->mask, &map, GST_MAP_READ))
    return;
  if (map.size != (gsize) report->mask_width * report->mask_height)
    sam_complain (in, "a mask of %d x %d has %" G_GSIZE_FORMAT " bytes",
        report->mask_width, report->mask_height, map.size);
  for (i = 0; i < map.size; i++) {
    if (map.data[i] && !slots[map.data[i]]) {
      sam_complain (in, "a mask holds %d, which is no object's slot",
          map.data[i]);
      break;
    }
  }
  gst_buffer_unmap (report->mask, &map);
}

/* Whether ids that were gone may come back. After tracks were loaded, two
 * results may still be of before: that of the frame which was on its way to the
 * inspector, and that of the step for which the loading waited. */
static gboolean
may_return (SamInspector * in, const GstSamReport * report)
{
  const gint runs = g_atomic_int_get (&in->runs);
  const gint loads = g_atomic_int_get (&in->loads);
  const gboolean loaded = loads % 2 || loads != in->seen_loads;
  const gboolean began = runs % 2 || runs != in->seen_runs;

  in->seen_runs = runs;
  in->seen_loads = loads;
  if (loaded)
    in->old_results = 2;
  else if (in->old_results && report->running_time != in->result_time)
    in->old_results--;
  in->result_time = report->running_time;
  return began || loaded || in->old_results;
}

/* An object that was gone never comes back, unless tracks are loaded or the
 * element starts anew. */
static void
check_ids (SamInspector * in, const GstSamReport * report)
{
  GHashTable *now = sam_ids_new ();
  GHashTableIter iter;
  gpointer key;
  guint i;

  if (may_return (in, report)) {
    g_hash_table_remove_all (in->alive);
    g_hash_table_remove_all (in->gone);
  }
  /* Masks of other caps may not fit the frame, and come again. */
  if (report->state == GST_SAM_REPORT_IDLE) {
    g_hash_table_unref (now);
    return;
  }
  for (i = 0; i < report->num_objects; i++) {
    const guint64 id = report->object[i].id;

    if (!id || !sam_ids_add (now, id))
      sam_complain (in, "id %" G_GUINT64_FORMAT " is 0 or comes twice",
          id);
    if (g_hash_table_contains (in->gone, &id))
      sam_complain (in, "id %" G_GUINT64_FORMAT " was gone", id);
  }
  g_hash_table_iter_init (&iter, in->alive);
  while (g_hash_table_iter_next (&iter, &key, NULL)) {
    if (!g_hash_table_contains (now, key))
      sam_ids_add (in->gone, *(guint64 *) key);
  }
  g_hash_table_unref (in->alive);
  in->alive = now;
}

static void
check_report (SamInspector * in, const GstSamReport * report)
{
  gboolean slots[256] = { FALSE, };
  guint i;

  for (i = 0; i < report->num_objects; i++) {
    const GstSamObject *o = &report->object[i];

    if (o->slot < 1 || o->slot > 255 || slots[o->slot])
      sam_complain (in, "slot %u is no slot or comes twice", o->slot);
    else
      slots[o->slot] = TRUE;
  }
  if ((report->state == GST_SAM_REPORT_IDLE) != !report->mask ||
      (report->state == GST_SAM_REPORT_IDLE && report->num_objects))
    sam_complain (in, "state %d with %u objects, %s mask",
        report->state, report->num_objects, report->mask ? "a" : "no");
  if ((report->state == GST_SAM_REPORT_OK) && report->age)
    sam_complain (in, "the masks are ok, but %u frames old", report->age);
  check_mask (in, report, slots);
  check_ids (in, report);
}

/* For those who look for the cause of a complaint: up to the frame after which
 * there was one. */
static void
note_report (SamInspector * in, const GstSamReport * report)
{
  GString *text;
  guint i;

  if (in->is_noted)
    return;
  in->is_noted = !sam_inspector_is_content (in);
  in->last_noted = in->frames;
  text = g_string_new (NULL);
  g_string_printf (text, "frame %d, pts %" GST_TIME_FORMAT ", run %d, load %d: "
      "state %d, age %u, index %" G_GUINT64_FORMAT ", of %" GST_TIME_FORMAT
      ", ids", in->frames, GST_TIME_ARGS (in->last_pts), in->seen_runs,
      in->seen_loads, report->state, report->age, report->frame_index,
      GST_TIME_ARGS (report->running_time));
  for (i = 0; i < report->num_objects; i++)
    g_string_append_printf (text, " %" G_GUINT64_FORMAT,
        report->object[i].id);
  i = in->frames % SAM_INSPECTOR_KEPT;
  g_free (in->report[i]);
  in->report[i] = g_string_free (text, FALSE);
}

void
sam_inspector_print (SamInspector * in)
{
  gint i;

  for (i = MAX (0, in->last_noted - SAM_INSPECTOR_KEPT + 1);
      i <= in->last_noted; i++)
    g_printerr ("  %s\n", in->report[i % SAM_INSPECTOR_KEPT]);
}

static void
keep (SamInspector * in, const GstSamReport * report)
{
  g_mutex_lock (&in->lock);
  in->last = *report;
  in->last.mask = NULL;
  in->last.source = NULL;
  g_mutex_unlock (&in->lock);
}

static GstPadProbeReturn
look_at_frame (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  SamInspector *in = data;
  GstBuffer *buf = info->data;
  GstCustomMeta *meta;
  GstSamReport *report;
  GstCaps *caps;
  GstVideoInfo video;

  if (GST_CLOCK_TIME_IS_VALID (in->last_pts) &&
      GST_BUFFER_PTS (buf) < in->last_pts)
    sam_complain (in, "a frame of %" GST_TIME_FORMAT " after one of %"
        GST_TIME_FORMAT, GST_TIME_ARGS (GST_BUFFER_PTS (buf)),
        GST_TIME_ARGS (in->last_pts));
  in->last_pts = GST_BUFFER_PTS (buf);
  report = g_new (GstSamReport, 1);
  meta = gst_buffer_get_custom_meta (buf, GST_SAM_META_NAME);
  caps = gst_pad_get_current_caps (pad);        /* NULL while it stops */
  if (!meta || !gst_sam_meta_read (report, (GstMeta *) meta))
    sam_complain (in, "a frame without a meta that can be read");
  else if (caps && (!gst_video_info_from_caps (&video, caps) ||
          video.width != report->width || video.height != report->height))
    sam_complain (in, "a meta of %d x %d on other frames", report->width,
        report->height);
  else
    check_report (in, report);
  if (meta) {
    note_report (in, report);
    keep (in, report);
  }
  gst_clear_caps (&caps);
  g_free (report);
  g_atomic_int_inc (&in->frames);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
look_at_event (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  SamInspector *in = data;

  switch (GST_EVENT_TYPE (info->data)) {
    case GST_EVENT_FLUSH_STOP:
    case GST_EVENT_SEGMENT:
    case GST_EVENT_STREAM_START:
      in->last_pts = GST_CLOCK_TIME_NONE;
      break;
    default:
      break;
  }
  return GST_PAD_PROBE_OK;
}

static void
count (SamInspector * in, guint * n)
{
  g_mutex_lock (&in->lock);
  (*n)++;
  g_mutex_unlock (&in->lock);
}

static void
look_at_warning (SamInspector * in, GstMessage * message)
{
  const GstStructure *details = NULL;
  GError *error = NULL;
  gchar *debug = NULL;

  gst_message_parse_warning (message, &error, &debug);
  gst_message_parse_warning_details (message, &details);
  if (!details || !gst_structure_has_name (details, "samtrack-refusal") ||
      !g_strcmp0 (gst_structure_get_string (details, "reason"), "engine"))
    sam_complain (in, "a warning: %s (%s)", error->message, debug);
  count (in, &in->refusals);
  g_error_free (error);
  g_free (debug);
}

static void
look_at_error (SamInspector * in, GstMessage * message)
{
  GError *error = NULL;
  gchar *debug = NULL;

  gst_message_parse_error (message, &error, &debug);
  sam_complain (in, "an error: %s (%s)", error->message, debug);
  count (in, &in->errors);
  g_error_free (error);
  g_free (debug);
}

/* Errors there are none; warnings have a reason. */
static GstBusSyncReply
look_at_message (GstBus * bus, GstMessage * message, gpointer data)
{
  SamInspector *in = data;

  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_ERROR:
      look_at_error (in, message);
      break;
    case GST_MESSAGE_WARNING:
      look_at_warning (in, message);
      break;
    case GST_MESSAGE_EOS:
      count (in, &in->eos);
      break;
    case GST_MESSAGE_SEGMENT_DONE:
      count (in, &in->segments_done);
      break;
    case GST_MESSAGE_ELEMENT:
      if (!g_strcmp0 (gst_structure_get_string (gst_message_get_structure
                  (message), "state"), "new"))
        count (in, &in->appeared);
      break;
    default:
      break;
  }
  gst_message_unref (message);
  return GST_BUS_DROP;
}

void
sam_inspector_init (SamInspector * in, GstElement * pipeline, GstPad * pad,
    const gchar * name)
{
  GstBus *bus = gst_element_get_bus (pipeline);

  memset (in, 0, sizeof *in);
  in->name = g_strdup (name);
  in->last_pts = GST_CLOCK_TIME_NONE;
  in->alive = sam_ids_new ();
  in->gone = sam_ids_new ();
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, look_at_frame, in, NULL);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
      GST_PAD_PROBE_TYPE_EVENT_FLUSH, look_at_event, in, NULL);
  gst_bus_set_sync_handler (bus, look_at_message, in, NULL);
  gst_object_unref (bus);
}

void
sam_inspector_clear (SamInspector * in)
{
  guint i;

  g_hash_table_unref (in->alive);
  g_hash_table_unref (in->gone);
  for (i = 0; i < SAM_INSPECTOR_KEPT; i++)
    g_free (in->report[i]);
  g_free (in->complaint);
  g_free (in->name);
}

/* Core takes an event that a sink refuses because it stops for an error, and
 * the source tells the application of it. See gstsamflush.h. */
static GstFlowReturn
pass_event (GstPad * pad, GstObject * parent, GstEvent * event)
{
  GstPadEventFunction refuse_or_take = gst_pad_get_element_private (pad);

  if (refuse_or_take (pad, parent, event))
    return GST_FLOW_OK;
  GST_INFO_OBJECT (pad, "an event is refused");
  return GST_PAD_IS_FLUSHING (pad) ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
}

static GstPadProbeReturn
drop_negative (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  const GstBuffer *buf = info->data;

  return (GstClockTimeDiff) GST_BUFFER_PTS (buf) < 0 ? GST_PAD_PROBE_DROP :
      GST_PAD_PROBE_OK;
}

GstElement *
sam_source_new (gboolean live)
{
  GstElement *source = gst_element_factory_make ("videotestsrc", NULL);
  GstPad *pad = gst_element_get_static_pad (source, "src");

  g_object_set (source, "is-live", live, NULL);
  gst_util_set_object_arg (G_OBJECT (source), "pattern", "ball");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, drop_negative, NULL, NULL);
  gst_object_unref (pad);
  return source;
}

GstElement *
sam_sink_new (void)
{
  GstElement *sink = gst_element_factory_make ("fakesink", NULL);
  GstPad *pad = gst_element_get_static_pad (sink, "sink");

  gst_pad_set_element_private (pad, GST_PAD_EVENTFUNC (pad));
  gst_pad_set_event_full_function (pad, pass_event);
  gst_object_unref (pad);
  return sink;
}
