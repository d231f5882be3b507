/* SPDX-License-Identifier: MIT */
#include "gate.h"

SamGate sam_step_gate, sam_prompt_gate, sam_fast_gate;
const gchar *sam_fast_model;

/* Of a step, guarded by the lock of its gate. */
static struct
{
  int status;
  guint us;
} step, fast;

int __real_sam_tracker_step (sam_tracker * t, const struct sam_frame *frame,
    const struct sam_labels *labels, struct sam_result *result,
    struct sam_error *error);

int __wrap_sam_tracker_step (sam_tracker * t, const struct sam_frame *frame,
    const struct sam_labels *labels, struct sam_result *result,
    struct sam_error *error);

static gboolean
has_model (sam_tracker * t, const gchar * file)
{
  struct sam_info info = SAM_INFO_INIT;

  sam_tracker_info (t, &info, NULL);
  return !g_strcmp0 (info.model_file, file);
}

int
__wrap_sam_tracker_step (sam_tracker * t, const struct sam_frame *frame,
    const struct sam_labels *labels, struct sam_result *result,
    struct sam_error *error)
{
  const gboolean is_fast = sam_fast_model && has_model (t, sam_fast_model);
  SamGate *gate = is_fast ? &sam_fast_gate : &sam_step_gate;
  int status;
  guint us;

  sam_gate_enter (gate, NULL);
  g_mutex_lock (&gate->lock);
  status = is_fast ? fast.status : step.status;
  us = is_fast ? fast.us : step.us;
  g_mutex_unlock (&gate->lock);
  if (us)
    g_usleep (us);
  if (status)
    g_snprintf (error->text, sizeof error->text, "as the test wants it");
  else
    status = __real_sam_tracker_step (t, frame, labels, result, error);
  sam_gate_leave (gate);
  return status;
}

int __real_sam_tracker_prompt (sam_tracker * t,
    const struct sam_prompt *prompt, uint64_t * id, struct sam_error *error);

int __wrap_sam_tracker_prompt (sam_tracker * t,
    const struct sam_prompt *prompt, uint64_t * id, struct sam_error *error);

int
__wrap_sam_tracker_prompt (sam_tracker * t, const struct sam_prompt *prompt,
    uint64_t * id, struct sam_error *error)
{
  const gboolean is_fast = sam_fast_model && has_model (t, sam_fast_model);
  int status;

  if (!is_fast)
    sam_gate_enter (&sam_prompt_gate, NULL);
  status = __real_sam_tracker_prompt (t, prompt, id, error);
  if (!is_fast)
    sam_gate_leave (&sam_prompt_gate);
  return status;
}

void
sam_step_set (int status, guint us)
{
  g_mutex_lock (&sam_step_gate.lock);
  step.status = status;
  step.us = us;
  g_mutex_unlock (&sam_step_gate.lock);
}

void
sam_fast_set (int status, guint us)
{
  g_mutex_lock (&sam_fast_gate.lock);
  fast.status = status;
  fast.us = us;
  g_mutex_unlock (&sam_fast_gate.lock);
}

static void
reset (SamGate * gate)
{
  g_mutex_lock (&gate->lock);
  gate->shut = FALSE;
  gate->let = 0;
  gate->entered = gate->left = 0;
  g_mutex_unlock (&gate->lock);
}

void
sam_step_reset (void)
{
  sam_step_set (SAM_OK, 0);
  sam_fast_set (SAM_OK, 0);
  reset (&sam_step_gate);
  reset (&sam_prompt_gate);
  reset (&sam_fast_gate);
}

void
sam_gate_enter (SamGate * gate, const gint * cancelled)
{
  g_mutex_lock (&gate->lock);
  gate->entered++;
  gate->thread = g_thread_self ();
  g_cond_broadcast (&gate->cond);
  /* Nobody tells of *cancelled. */
  while (gate->shut && !gate->let && !(cancelled && g_atomic_int_get (cancelled)))
    g_cond_wait_until (&gate->cond, &gate->lock, g_get_monotonic_time () +
        (cancelled ? 1000 : G_TIME_SPAN_HOUR));
  gate->let -= gate->shut && gate->let;
  g_mutex_unlock (&gate->lock);
}

void
sam_gate_leave (SamGate * gate)
{
  g_mutex_lock (&gate->lock);
  gate->left++;
  g_cond_broadcast (&gate->cond);
  g_mutex_unlock (&gate->lock);
}

void
sam_gate_set (SamGate * gate, gboolean shut)
{
  g_mutex_lock (&gate->lock);
  gate->shut = shut;
  g_cond_broadcast (&gate->cond);
  g_mutex_unlock (&gate->lock);
}

void
sam_gate_let_one (SamGate * gate)
{
  g_mutex_lock (&gate->lock);
  gate->let = 1;
  g_cond_broadcast (&gate->cond);
  g_mutex_unlock (&gate->lock);
}

void
sam_gate_wait_entered (SamGate * gate, guint entered)
{
  g_mutex_lock (&gate->lock);
  while (gate->entered < entered)
    g_cond_wait (&gate->cond, &gate->lock);
  g_mutex_unlock (&gate->lock);
}

void
sam_gate_wait_left (SamGate * gate, guint left)
{
  g_mutex_lock (&gate->lock);
  while (gate->left < left)
    g_cond_wait (&gate->cond, &gate->lock);
  g_mutex_unlock (&gate->lock);
}

guint
sam_gate_get_entered (SamGate * gate)
{
  guint n;

  g_mutex_lock (&gate->lock);
  n = gate->entered;
  g_mutex_unlock (&gate->lock);
  return n;
}

GstHarness *
sam_track_harness_new (const gchar * initial_prompt, gboolean live,
    guint64 max_wait)
{
  GstElement *element;
  GstHarness *h;

  gst_sam_meta_register ();
  element = g_object_new (GST_TYPE_SAM_TRACK, "initial-prompt", initial_prompt,
      "max-objects", 32, "max-wait", max_wait, NULL);
  gst_object_ref_sink (element);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_harness_set_live (h, live);
  gst_harness_set_src_caps_str (h, CAPS);
  return h;
}

void
sam_harness_flush (GstHarness * h)
{
  GstSegment segment;

  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
}

gpointer
sam_harness_push_first (gpointer data)
{
  GstHarness *h = data;

  return GINT_TO_POINTER (gst_harness_push (h, sam_harness_frame (h, 0)));
}
