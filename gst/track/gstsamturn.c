/* SPDX-License-Identifier: MIT */
/* Orders the threads that use the tracker between two steps. */

#include "gstsamturn.h"

#include "common/gstsammutex.h"

/* How long save-tracks and load-tracks wait for the step that runs. */
#define LONGEST_STEP (30 * G_TIME_SPAN_SECOND)

void
gst_sam_turn_init (GstSamTurn * turn)
{
  g_mutex_init (&turn->lock);
  g_cond_init (&turn->cond);
}

void
gst_sam_turn_clear (GstSamTurn * turn)
{
  g_cond_clear (&turn->cond);
  g_mutex_clear (&turn->lock);
}

void
gst_sam_turn_begin (GstSamTurn * turn)
{
  gst_sam_rank_take (GST_SAM_RANK_TURN);
  g_mutex_lock (&turn->lock);
  while (turn->owner || turn->guests)
    g_cond_wait (&turn->cond, &turn->lock);
  turn->owner = g_thread_self ();
  g_mutex_unlock (&turn->lock);
}

gboolean
gst_sam_turn_begin_as_guest (GstSamTurn * turn)
{
  const gint64 end = g_get_monotonic_time () + LONGEST_STEP;
  gboolean ok;

  g_mutex_lock (&turn->lock);
  turn->guests++;
  while (turn->owner && turn->owner != g_thread_self () &&
      g_cond_wait_until (&turn->cond, &turn->lock, end));
  turn->guests--;
  ok = !turn->owner;
  if (ok)
    turn->owner = g_thread_self ();
  else
    g_cond_broadcast (&turn->cond);
  g_mutex_unlock (&turn->lock);
  if (ok)
    gst_sam_rank_take (GST_SAM_RANK_TURN);
  return ok;
}

void
gst_sam_turn_end (GstSamTurn * turn)
{
  g_mutex_lock (&turn->lock);
  turn->owner = NULL;
  g_cond_broadcast (&turn->cond);
  g_mutex_unlock (&turn->lock);
  gst_sam_rank_release (GST_SAM_RANK_TURN);
}
