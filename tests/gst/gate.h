/* SPDX-License-Identifier: MIT */
/* Gates that a test shuts and opens: before sam_tracker_step(), so that it
 * decides how long a step takes, and wherever else it puts one. With harnesses
 * of elements that are linked into the test. */
#ifndef GATE_H
#define GATE_H

#include "samcheck.h"

#include "track/gstsamtrackprivate.h"

/* Nothing that a test waits for takes so long. */
#define LONG (G_GUINT64_CONSTANT (3600) * GST_SECOND)
#define CAPS "video/x-raw,format=RGB,width=64,height=48,framerate=30/1"

/* Zeroed it is open. Any change of it is told by the cond. */
typedef struct
{
  GMutex lock;
  GCond cond;

  /* guarded by @lock */
  gboolean shut;
  guint let;                    /* threads that may go on all the same */
  guint entered, left;          /* times that a thread came and went */
  GThread *thread;              /* that came last */
} SamGate;

/* Threads that come wait while the gate is shut, or until *cancelled (NULL:
 * never). */
void sam_gate_enter (SamGate * gate, const gint * cancelled);
void sam_gate_leave (SamGate * gate);

void sam_gate_set (SamGate * gate, gboolean shut);
/* The thread that waits may go on; the gate stays shut for others. */
void sam_gate_let_one (SamGate * gate);
void sam_gate_wait_entered (SamGate * gate, guint entered);
void sam_gate_wait_left (SamGate * gate, guint left);
guint sam_gate_get_entered (SamGate * gate);

/* The gate before sam_tracker_step(), in programs that are linked with
 * --wrap=sam_tracker_step. */
extern SamGate sam_step_gate;

/* The one before sam_tracker_prompt(), likewise. */
extern SamGate sam_prompt_gate;

/* The one before steps of trackers of this file, if it is not NULL. Their prompts
 * have none. */
extern SamGate sam_fast_gate;
extern const gchar *sam_fast_model;

/* All steps from now on end with @status, and take @us microseconds more. */
void sam_step_set (int status, guint us);
void sam_fast_set (int status, guint us);

/* Open, without failures or delay, with counts of 0. */
void sam_step_reset (void);

/* Of a samtrack with frames of CAPS. */
GstHarness *sam_track_harness_new (const gchar * initial_prompt, gboolean live,
    guint64 max_wait);

void sam_harness_flush (GstHarness * h);

/* A GThreadFunc: push the first frame into a harness; returns the flow. */
gpointer sam_harness_push_first (gpointer h);

#endif
