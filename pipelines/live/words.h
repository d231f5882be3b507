/* SPDX-License-Identifier: MIT */
/* The words that a camera's detector is to find, if it takes any, and what became of each phrase.
 * Main thread. */
#ifndef LIVE_WORDS_H
#define LIVE_WORDS_H

#include "camera.h"

#include <json-glib/json-glib.h>

typedef struct Words Words;

/* The camera must outlive it. */
Words *words_new(Camera *camera);
void words_free(Words *words);

/* What the tracker tells, and its stats. */
void words_hear(Words *words, const GstStructure *message);
void words_look(Words *words, const GstStructure *stats);

/* Phrases with full stops between them; "": nothing. FALSE: *why is a sentence, owned by the
 * caller. */
gboolean words_set(Words *words, const gchar *of, gchar **why);
const gchar *words_get(const Words *words); /* NULL: there is no detector that takes words */

/* For the message of a state. */
void words_add(const Words *words, JsonBuilder *b);

#endif
