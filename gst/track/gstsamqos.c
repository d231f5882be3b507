/* SPDX-License-Identifier: MIT */
#include "gstsamqos.h"

#include "gstsamstats.h"

#include <string.h>

/* Default processing-deadline of video sinks: latency they always allow. */
#define SINK_GRANTS (15 * GST_MSECOND)

/* Under permanent overload inference still runs at this rate, so that masks
 * follow their objects: every half second, or a fifth of the time. */
#define STARVED_US (G_USEC_PER_SEC / 2)
#define STARVED_STEPS 5

void
gst_sam_qos_init (GstSamQos * qos)
{
  gst_sam_mutex_init (&qos->lock, GST_SAM_RANK_QOS);
  gst_sam_qos_start (qos);
}

void
gst_sam_qos_clear (GstSamQos * qos)
{
  gst_sam_mutex_clear (&qos->lock);
}

void
gst_sam_qos_start (GstSamQos * qos)
{
  gst_sam_mutex_lock (&qos->lock);
  qos->earliest = GST_CLOCK_TIME_NONE;
  qos->granted = GST_CLOCK_TIME_NONE;
  qos->upstream = 0;
  qos->reported = 0;
  qos->live = FALSE;
  gst_sam_mutex_unlock (&qos->lock);
  qos->asked = FALSE;
  qos->measured = 0;
  qos->typical = 0;
  qos->last_inference = 0;
  qos->last_message = 0;
}

void
gst_sam_qos_flush (GstSamQos * qos)
{
  gst_sam_mutex_lock (&qos->lock);
  qos->earliest = GST_CLOCK_TIME_NONE;
  gst_sam_mutex_unlock (&qos->lock);
}

void
gst_sam_qos_note_event (GstSamQos * qos, GstEvent * event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_QOS) {
    GstQOSType type;
    GstClockTimeDiff diff;
    GstClockTime time;

    gst_event_parse_qos (event, &type, NULL, &diff, &time);
    if (type == GST_QOS_TYPE_THROTTLE || !GST_CLOCK_TIME_IS_VALID (time))
      return;
    gst_sam_mutex_lock (&qos->lock);
    qos->earliest = diff < 0 && (GstClockTime) - diff > time ? 0 : time + diff;
    gst_sam_mutex_unlock (&qos->lock);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_LATENCY) {
    gst_sam_mutex_lock (&qos->lock);
    gst_event_parse_latency (event, &qos->granted);
    gst_sam_mutex_unlock (&qos->lock);
  }
}

gboolean
gst_sam_qos_query_latency (GstSamQos * qos, GstBaseTransform * base,
    GstQuery * query)
{
  GstClockTime min, max;
  gboolean live;

  if (!gst_pad_peer_query (GST_BASE_TRANSFORM_SINK_PAD (base), query))
    return FALSE;
  gst_query_parse_latency (query, &live, &min, &max);
  gst_sam_mutex_lock (&qos->lock);
  qos->live = live;
  qos->upstream = min;
  min += qos->reported;
  if (GST_CLOCK_TIME_IS_VALID (max))
    max += qos->reported;
  gst_sam_mutex_unlock (&qos->lock);
  gst_query_set_latency (query, live, min, max);
  return TRUE;
}

GstClockTime
gst_sam_qos_get_reported (GstSamQos * qos)
{
  GstClockTime reported;

  gst_sam_mutex_lock (&qos->lock);
  reported = qos->reported;
  gst_sam_mutex_unlock (&qos->lock);
  return reported;
}

gboolean
gst_sam_qos_is_live (GstSamQos * qos, GstBaseTransform * base)
{
  gboolean live;

  /* No latency query may have arrived yet; later ones update @live. */
  if (!qos->asked) {
    GstQuery *query = gst_query_new_latency ();

    qos->asked = TRUE;
    gst_sam_qos_query_latency (qos, base, query);
    gst_query_unref (query);
  }
  gst_sam_mutex_lock (&qos->lock);
  live = qos->live;
  gst_sam_mutex_unlock (&qos->lock);
  return live;
}

static gboolean
is_starved (const GstSamQos * qos)
{
  gint64 since = g_get_monotonic_time () - qos->last_inference;

  return since > MAX (STARVED_US, STARVED_STEPS * (gint64) (qos->typical /
          GST_USECOND));
}

/* Current running time; NONE unless the element is PLAYING. */
static GstClockTime
get_running_time_now (GstElement * element)
{
  GstClock *clock = NULL;
  GstClockTime now = GST_CLOCK_TIME_NONE, base_time;
  gboolean playing;

  gst_sam_object_lock (element);
  playing = GST_STATE (element) == GST_STATE_PLAYING;
  gst_sam_object_unlock (element);
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
gst_sam_qos_is_late (GstSamQos * qos, GstBaseTransform * base,
    GstClockTime running_time, gboolean apart, GstClockTimeDiff * jitter)
{
  GstClockTime now, ready, due;
  gboolean late = FALSE;

  if (!GST_CLOCK_TIME_IS_VALID (running_time) || is_starved (qos))
    return FALSE;
  now = get_running_time_now (GST_ELEMENT (base));
  gst_sam_mutex_lock (&qos->lock);
  if (GST_CLOCK_TIME_IS_VALID (qos->earliest) &&
      running_time <= qos->earliest) {
    *jitter = qos->earliest - running_time;
    late = TRUE;
  } else if (!apart && qos->live && GST_CLOCK_TIME_IS_VALID (now)) {
    ready = now + qos->typical;
    due = running_time + SINK_GRANTS + (GST_CLOCK_TIME_IS_VALID (qos->granted)
        ? qos->granted : qos->upstream + qos->reported);
    *jitter = GST_CLOCK_DIFF (due, ready);
    late = ready > due;
  }
  gst_sam_mutex_unlock (&qos->lock);
  return late;
}

GstClockTime
gst_sam_qos_get_shown (GstSamQos * qos, GstElement * element, gboolean * live)
{
  GstClockTime now = get_running_time_now (element), latency;

  gst_sam_mutex_lock (&qos->lock);
  *live = qos->live;
  latency = GST_CLOCK_TIME_IS_VALID (qos->granted) ? qos->granted :
      qos->upstream + qos->reported;
  gst_sam_mutex_unlock (&qos->lock);
  if (GST_CLOCK_TIME_IS_VALID (now))
    now = now > latency ? now - latency : 0;
  return now;
}

/* With hysteresis: the reported latency rises at once, falls when it is a
 * quarter too high, and becomes 0 below two thirds of SINK_GRANTS. */
static gboolean
update_reported (GstSamQos * qos, GstClockTime p95)
{
  GstClockTime wanted;
  gboolean changed;

  gst_sam_mutex_lock (&qos->lock);
  wanted = p95 > (qos->reported ? SINK_GRANTS / 3 * 2 : SINK_GRANTS) ?
      p95 + p95 / 20 : 0;
  changed = wanted > qos->reported || wanted < qos->reported / 4 * 3;
  if (changed)
    qos->reported = wanted;
  gst_sam_mutex_unlock (&qos->lock);
  return changed;
}

void
gst_sam_qos_note_inference (GstSamQos * qos)
{
  qos->last_inference = g_get_monotonic_time ();
}

gboolean
gst_sam_qos_measure (GstSamQos * qos, gint64 ns)
{
  gint64 sorted[GST_SAM_QOS_WINDOW];
  GstClockTime p95;
  guint n;

  qos->recent[qos->measured++ % GST_SAM_QOS_WINDOW] = ns;
  n = MIN (qos->measured, GST_SAM_QOS_WINDOW);
  /* Re-estimate after the first 4 samples and then every 16: one outlier must
   * not set the latency, and sorting at every frame is wasted work. */
  if (qos->measured != 4 && qos->measured % 16)
    return FALSE;
  memcpy (sorted, qos->recent, n * sizeof *sorted);
  gst_sam_sort (sorted, n);
  qos->typical = gst_sam_percentile (sorted, n, 50);
  p95 = gst_sam_percentile (sorted, n, 95);
  return update_reported (qos, p95);
}

gboolean
gst_sam_qos_may_post (GstSamQos * qos)
{
  gint64 now = g_get_monotonic_time ();

  if (qos->last_message && now - qos->last_message < G_USEC_PER_SEC)
    return FALSE;
  qos->last_message = now;
  return TRUE;
}
