/* SPDX-License-Identifier: MIT */
/* The outline of a zone, as its corners' text. */
#ifndef LIVE_OUTLINE_H
#define LIVE_OUTLINE_H

#include <glib.h>

/* Whether @text is "X:Y X:Y ..." with numbers from 0 to 1 and, if it is @closed, lines that do not
 * cross or touch each other. FALSE: *why is a sentence with the zone's @name, owned by the
 * caller. */
gboolean outline_check(const gchar *text, gboolean closed, const gchar *name, gchar **why);

#endif
