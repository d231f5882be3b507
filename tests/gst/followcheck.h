/* SPDX-License-Identifier: MIT */
/* Of tests in which a fast model follows a slow one: both are scripted trackers,
 * with a gate before the steps of each, so that a test decides what is slow. A
 * box moves by one pixel with every frame that its tracker processes: its place
 * tells which tracker a mask is of, and from which anchor on. */
#ifndef FOLLOWCHECK_H
#define FOLLOWCHECK_H

#include "gate.h"

#include <string.h>

#define SLOW 5000               /* us, so that the other model is faster */

/* The file of the fast model. */
extern gchar *follow_file;

/* A fixture: steps of both models have gates of their own. */
void follow_begin (void);
void follow_end (void);

GstHarness *follow_harness_new_with (const gchar * prompt, const gchar * model,
    const gchar * follow);
GstHarness *follow_harness_new (const gchar * prompt);
GstSamTrack *follow_get_element (GstHarness * h);

/* Wait for all steps of the fast model, with its replays; or of both. */
void follow_settle_fast (GstHarness * h);
void follow_settle (GstHarness * h);

/* What the n-th frame says: "STATE AGE: ID@X+ANCHOR ...", how far a box has
 * moved, and the anchor's age, if it follows one; "ID STATE" without a mask. The
 * label map must have each object's slot where its box is. */
gchar *follow_run (GstHarness * h, guint n);
void follow_expect (GstHarness * h, guint n, const gchar * wanted);
void follow_expect_begin (GstHarness * h, guint n, const gchar * begin);

/* Run the frames 0 to 2. The fast model has begun with the slow one's masks of
 * frame 0, where objects are as @first says, and the slow one is in a step on
 * frame 1, for as long as the test wants. */
void follow_start_from (GstHarness * h, const gchar * first);
void follow_start (GstHarness * h);

/* The slow model ends its step, and has one on the newest frame. */
void follow_let_slow_come (GstHarness * h);

/* Takes messages up to one of that state, which must be there. */
void follow_expect_change (GstBus * bus, const gchar * state);

void follow_close (GstHarness * h, GstBus * bus);

#endif
