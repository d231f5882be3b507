/* SPDX-License-Identifier: MIT */
/* Prompts for a camera's tracker, as text. Main thread. */
#ifndef LIVE_TRACK_H
#define LIVE_TRACK_H

#include "camera.h"

/* Takes @text. Returns the object's id; 0 if the prompt is refused: then *why is a sentence. */
guint64 track_prompt(Camera *camera, gchar *text, gchar **why);

/* Takes @outcome, a samtrack-outcome. Returns whether it worked; if not, *why is a sentence. */
gboolean track_read_outcome(GstStructure *outcome, gchar **why);

/* A point with coordinates from 0 to 1, or a box if it has a width, to append to. */
GString *track_write(gdouble x, gdouble y, gdouble w, gdouble h);

#endif
