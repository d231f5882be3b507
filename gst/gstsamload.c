#include "gstsamload.h"

#include "gstsamstats.h"

#include <string.h>

/* What video sinks grant without being asked: their processing-deadline. */
#define SINK_GRANTS (15 * GST_MSECOND)

/* However late the stream is, inference runs this often, so that the masks go
 * on following their objects: every half second, or a fifth of the time. */
#define STARVED_US (G_USEC_PER_SEC / 2)
#define STARVED_STEPS 5

void
gst_sam_load_init (GstSamLoad * load)
{
  g_mutex_init (&load->lock);
  gst_sam_load_start (load);
}

void
gst_sam_load_clear (GstSamLoad * load)
{
  g_mutex_clear (&load->lock);
}

void
gst_sam_load_start (GstSamLoad * load)
{
  g_mutex_lock (&load->lock);
  load->earliest = GST_CLOCK_TIME_NONE;
  load->granted = GST_CLOCK_TIME_NONE;
  load->upstream = 0;
  load->reported = 0;
  load->live = FALSE;
  g_mutex_unlock (&load->lock);
  load->asked = FALSE;
  load->measured = 0;
  load->typical = 0;
  load->last_inference = 0;
  load->last_message = 0;
}

void
gst_sam_load_flush (GstSamLoad * load)
{
  g_mutex_lock (&load->lock);
  load->earliest = GST_CLOCK_TIME_NONE;
  g_mutex_unlock (&load->lock);
}

void
gst_sam_load_note_event (GstSamLoad * load, GstEvent * event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_QOS) {
    GstQOSType type;
    GstClockTimeDiff diff;
    GstClockTime time;

    gst_event_parse_qos (event, &type, NULL, &diff, &time);
    if (type == GST_QOS_TYPE_THROTTLE || !GST_CLOCK_TIME_IS_VALID (time))
      return;
    g_mutex_lock (&load->lock);
    load->earliest = diff < 0 && (GstClockTime) - diff > time ? 0 : time + diff;
    g_mutex_unlock (&load->lock);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_LATENCY) {
    g_mutex_lock (&load->lock);
    gst_event_parse_latency (event, &load->granted);
    g_mutex_unlock (&load->lock);
  }
}

gboolean
gst_sam_load_query_latency (GstSamLoad * load, GstBaseTransform * base,
    GstQuery * query)
{
  GstClockTime min, max;
  gboolean live;

  if (!gst_pad_peer_query (GST_BASE_TRANSFORM_SINK_PAD (base), query))
    return FALSE;
  gst_query_parse_latency (query, &live, &min, &max);
  g_mutex_lock (&load->lock);
  load->live = live;
  load->upstream = min;
  min += load->reported;
  if (GST_CLOCK_TIME_IS_VALID (max))
    max += load->reported;
  g_mutex_unlock (&load->lock);
  gst_query_set_latency (query, live, min, max);
  return TRUE;
}

GstClockTime
gst_sam_load_get_reported (GstSamLoad * load)
{
  GstClockTime reported;

  g_mutex_lock (&load->lock);
  reported = load->reported;
  g_mutex_unlock (&load->lock);
  return reported;
}

gboolean
gst_sam_load_is_live (GstSamLoad * load, GstBaseTransform * base)
{
  gboolean live;

  /* Nobody may have asked yet; later queries come by themselves. */
  if (!load->asked) {
    GstQuery *query = gst_query_new_latency ();

    load->asked = TRUE;
    gst_sam_load_query_latency (load, base, query);
    gst_query_unref (query);
  }
  g_mutex_lock (&load->lock);
  live = load->live;
  g_mutex_unlock (&load->lock);
  return live;
}

static gboolean
is_starved (const GstSamLoad * load)
{
  gint64 since = g_get_monotonic_time () - load->last_inference;

  return since > MAX (STARVED_US, STARVED_STEPS * (gint64) (load->typical /
          GST_USECOND));
}

/* Time that the clock shows, as running time; NONE while it does not run. */
static GstClockTime
get_running_time_now (GstElement * element)
{
  GstClock *clock = NULL;
  GstClockTime now = GST_CLOCK_TIME_NONE, base_time;
  gboolean playing;

  GST_OBJECT_LOCK (element);
  playing = GST_STATE (element) == GST_STATE_PLAYING;
  GST_OBJECT_UNLOCK (element);
  if (playing)
    clock = gst_element_get_clock (element);
  if (!clock)
    return now;
  base_time = gst_element_get_base_time (element);
  now = gst_clock_get_time (clock);
  gst_object_unref (clock);
  return now > base_time ? now - base_time : 0;
}

gboolean
gst_sam_load_is_late (GstSamLoad * load, GstBaseTransform * base,
    GstClockTime running_time, GstClockTimeDiff * jitter)
{
  GstClockTime now, ready, due;
  gboolean late = FALSE;

  if (!GST_CLOCK_TIME_IS_VALID (running_time) || is_starved (load))
    return FALSE;
  now = get_running_time_now (GST_ELEMENT (base));
  g_mutex_lock (&load->lock);
  if (GST_CLOCK_TIME_IS_VALID (load->earliest) &&
      running_time <= load->earliest) {
    *jitter = load->earliest - running_time;
    late = TRUE;
  } else if (load->live && GST_CLOCK_TIME_IS_VALID (now)) {
    ready = now + load->typical;
    due = running_time + SINK_GRANTS + (GST_CLOCK_TIME_IS_VALID (load->granted)
        ? load->granted : load->upstream + load->reported);
    *jitter = GST_CLOCK_DIFF (due, ready);
    late = ready > due;
  }
  g_mutex_unlock (&load->lock);
  return late;
}

/* The hysteresis: up at once, down when it is a quarter too high, and away only
 * when it is well below what sinks grant. */
static gboolean
update_reported (GstSamLoad * load, GstClockTime p95)
{
  GstClockTime wanted;
  gboolean changed;

  g_mutex_lock (&load->lock);
  wanted = p95 > (load->reported ? SINK_GRANTS / 3 * 2 : SINK_GRANTS) ?
      p95 + p95 / 20 : 0;
  changed = wanted > load->reported || wanted < load->reported / 4 * 3;
  if (changed)
    load->reported = wanted;
  g_mutex_unlock (&load->lock);
  return changed;
}

gboolean
gst_sam_load_measure (GstSamLoad * load, gint64 ns)
{
  gint64 sorted[GST_SAM_LOAD_WINDOW];
  GstClockTime p95;
  guint n;

  load->last_inference = g_get_monotonic_time ();
  load->recent[load->measured++ % GST_SAM_LOAD_WINDOW] = ns;
  n = MIN (load->measured, GST_SAM_LOAD_WINDOW);
  /* One outlier must not make the latency; nor must every frame be work. */
  if (load->measured != 4 && load->measured % 16)
    return FALSE;
  memcpy (sorted, load->recent, n * sizeof *sorted);
  gst_sam_sort (sorted, n);
  load->typical = gst_sam_percentile (sorted, n, 50);
  p95 = gst_sam_percentile (sorted, n, 95);
  return update_reported (load, p95);
}

gboolean
gst_sam_load_may_post (GstSamLoad * load)
{
  gint64 now = g_get_monotonic_time ();

  if (load->last_message && now - load->last_message < G_USEC_PER_SEC)
    return FALSE;
  load->last_message = now;
  return TRUE;
}
