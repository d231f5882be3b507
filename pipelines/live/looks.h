/* SPDX-License-Identifier: MIT */
/* What a click would take, for pages that show it before somebody clicks. Main thread. */
#ifndef LIVE_LOOKS_H
#define LIVE_LOOKS_H

#include "camera.h"

typedef struct Looks Looks;

/* Called once for each request. @answer: a samtrack-preview with a mask; NULL: there is none, as a
 * newer request came first, the tracker has no frame, or the camera is gone. */
typedef void (*LookDone)(const GstStructure *answer, gpointer user);

Looks *looks_new(Camera *camera);
/* Ends the request that waits. */
void looks_free(Looks *looks);

/* @text: a prompt for a new object, as the tracker takes it. */
void looks_ask(Looks *looks, const gchar *text, LookDone done, gpointer user);

/* What the tracker tells. */
void looks_hear(Looks *looks, const GstStructure *message);

#endif
