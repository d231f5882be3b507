/* SPDX-License-Identifier: MIT */
/* A stream that watches what a client sends over a WebSocket: libsoup limits frames, but neither
 * messages of many frames nor pings, and reads for as long as there is something. */
#ifndef LIVE_GUARD_H
#define LIVE_GUARD_H

#include <gio/gio.h>

#define GUARD_TYPE (guard_get_type())
G_DECLARE_FINAL_TYPE(Guard, guard, LIVE, GUARD, GIOStream)

/* Takes a reference of its own. */
Guard *guard_new(GIOStream *base);

/* From now on frames come: a message of at most @most bytes. FALSE: some came already, before the
 * connection was a WebSocket. */
gboolean guard_expect_frames(Guard *guard, guint64 most);

/* Why reading failed, or NULL. */
const gchar *guard_get_fault(Guard *guard);

#endif
