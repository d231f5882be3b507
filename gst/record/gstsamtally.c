/* SPDX-License-Identifier: MIT */
#include "gstsamtally.h"

#include "common/gstsamtext.h"

/* An outage is over when nothing was lost for so long: a disk on which short
 * lines still fit is full all the same. */
#define CALM (1 * G_TIME_SPAN_SECOND)

void
gst_sam_tally_init (GstSamTally * tally, GstElement * element)
{
  tally->element = element;
  gst_sam_mutex_init (&tally->lock, GST_SAM_RANK_TALLY);
}

void
gst_sam_tally_clear (GstSamTally * tally)
{
  gst_sam_mutex_clear (&tally->lock);
}

void
gst_sam_tally_start (GstSamTally * tally)
{
  gst_sam_mutex_lock (&tally->lock);
  tally->frames_in = tally->written = tally->lost = 0;
  tally->bytes = tally->reconnects = tally->lost_before = 0;
  tally->outage = tally->failed = FALSE;
  tally->first_time = tally->last_time = GST_CLOCK_TIME_NONE;
  tally->last_loss = 0;
  tally->last_progress = g_get_monotonic_time ();
  gst_sam_mutex_unlock (&tally->lock);
}

void
gst_sam_tally_add_frame (GstSamTally * tally, GstClockTime stream_time)
{
  gst_sam_mutex_lock (&tally->lock);
  tally->frames_in++;
  if (GST_CLOCK_TIME_IS_VALID (stream_time)) {
    if (!GST_CLOCK_TIME_IS_VALID (tally->first_time))
      tally->first_time = stream_time;
    tally->last_time = stream_time;
  }
  gst_sam_mutex_unlock (&tally->lock);
}

void
gst_sam_tally_add_reconnect (GstSamTally * tally)
{
  gst_sam_mutex_lock (&tally->lock);
  tally->reconnects++;
  gst_sam_mutex_unlock (&tally->lock);
}

/* Called with the lock held; returns the message to post without it, NULL if
 * nobody posts. */
static GstMessage *
new_message (GstSamTally * tally, gboolean recovered)
{
  if (!tally->element)
    return NULL;
  return gst_message_new_element (GST_OBJECT (tally->element),
      gst_structure_new ("samexport-loss",
          "lost", G_TYPE_UINT64, tally->lost - tally->lost_before,
          "frames-lost", G_TYPE_UINT64, tally->lost,
          "recovered", G_TYPE_BOOLEAN, recovered, NULL));
}

void
gst_sam_tally_add_written (GstSamTally * tally, guint frames, gsize bytes)
{
  const gint64 now = g_get_monotonic_time ();
  GstMessage *message = NULL;

  gst_sam_mutex_lock (&tally->lock);
  tally->written += frames;
  tally->bytes += bytes;
  tally->last_progress = now;
  if (tally->outage && now - tally->last_loss >= CALM) {
    tally->outage = FALSE;
    message = new_message (tally, TRUE);
  }
  gst_sam_mutex_unlock (&tally->lock);
  if (message)
    gst_element_post_message (tally->element, message);
}

static void
post_warning (GstSamTally * tally, const GError * why)
{
  gchar *text = g_strdup_printf ("%s The stream goes on; 'stats' counts the "
      "frames that are lost.", why->message);

  gst_element_message_full (tally->element, GST_MESSAGE_WARNING, why->domain,
      why->code, gst_sam_plain_text (text), NULL, __FILE__, GST_FUNCTION,
      __LINE__);
  g_free (text);
}

static void
post_error (GstSamTally * tally, const GError * why)
{
  gst_element_message_full (tally->element, GST_MESSAGE_ERROR, why->domain,
      why->code, gst_sam_plain_text (why->message), NULL, __FILE__,
      GST_FUNCTION, __LINE__);
}

void
gst_sam_tally_add_lost (GstSamTally * tally, guint frames, const GError * why)
{
  gboolean begins, fails;

  gst_sam_mutex_lock (&tally->lock);
  begins = !tally->outage;
  fails = tally->strict && frames && !tally->failed;
  tally->failed |= fails;
  if (begins)
    tally->lost_before = tally->lost;
  tally->outage = TRUE;
  tally->lost += frames;
  tally->last_loss = g_get_monotonic_time ();
  gst_sam_mutex_unlock (&tally->lock);
  if (!tally->element)
    return;
  if (fails)
    post_error (tally, why);
  else if (begins)
    post_warning (tally, why);
}

gboolean
gst_sam_tally_has_failed (GstSamTally * tally)
{
  gboolean failed;

  gst_sam_mutex_lock (&tally->lock);
  failed = tally->failed;
  gst_sam_mutex_unlock (&tally->lock);
  return failed;
}

void
gst_sam_tally_regain (GstSamTally * tally, guint frames)
{
  gst_sam_mutex_lock (&tally->lock);
  tally->lost -= frames;
  tally->lost_before = MIN (tally->lost_before, tally->lost);
  tally->written += frames;
  gst_sam_mutex_unlock (&tally->lock);
}

void
gst_sam_tally_note_progress (GstSamTally * tally)
{
  gst_sam_mutex_lock (&tally->lock);
  tally->last_progress = g_get_monotonic_time ();
  gst_sam_mutex_unlock (&tally->lock);
}

gint64
gst_sam_tally_get_idle (GstSamTally * tally, gint64 from)
{
  gint64 last;

  gst_sam_mutex_lock (&tally->lock);
  last = MAX (tally->last_progress, from);
  gst_sam_mutex_unlock (&tally->lock);
  return g_get_monotonic_time () - last;
}

void
gst_sam_tally_end (GstSamTally * tally)
{
  GstMessage *message = NULL;
  GError *error = NULL;

  gst_sam_mutex_lock (&tally->lock);
  if (tally->outage)
    message = new_message (tally, tally->last_progress > tally->last_loss);
  if (tally->outage && tally->strict && !tally->failed)
    error = g_error_new_literal (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "The stream ends, and not all of it was written.");
  tally->failed |= error != NULL;
  tally->outage = FALSE;
  gst_sam_mutex_unlock (&tally->lock);
  if (message)
    gst_element_post_message (tally->element, message);
  if (error && tally->element)
    post_error (tally, error);
  g_clear_error (&error);
}

guint64
gst_sam_tally_get_lost (GstSamTally * tally)
{
  guint64 lost;

  gst_sam_mutex_lock (&tally->lock);
  lost = tally->lost;
  gst_sam_mutex_unlock (&tally->lock);
  return lost;
}

GstStructure *
gst_sam_tally_to_structure (GstSamTally * tally, const gchar * name)
{
  GstStructure *s;

  gst_sam_mutex_lock (&tally->lock);
  s = gst_structure_new (name,
      "frames-in", G_TYPE_UINT64, tally->frames_in,
      "frames-written", G_TYPE_UINT64, tally->written,
      "frames-lost", G_TYPE_UINT64, tally->lost,
      "bytes", G_TYPE_UINT64, tally->bytes,
      "reconnects", G_TYPE_UINT64, tally->reconnects,
      "first-stream-time", G_TYPE_UINT64, tally->first_time,
      "last-stream-time", G_TYPE_UINT64, tally->last_time, NULL);
  gst_sam_mutex_unlock (&tally->lock);
  return s;
}
