/* SPDX-License-Identifier: MIT */
/* A window: which sink shows it, and when a frame of a file is due. */
#ifndef RUN_WINDOW_H
#define RUN_WINDOW_H

#include <gst/gst.h>

/* A sink that can open a window here, floating, with its name, in the state READY; NULL with an
 * error if there is none. */
GstElement *window_new_sink(const gchar *name, GError **error);

/* Frames of a file are shown as fast as they are tracked, at most as fast as the file has them:
 * none is dropped, and none is hurried after a slow one. */
typedef struct {
    GMutex lock;
    GCond stopping;
    gboolean stopped;
    GstClockTime last;  /* PTS of the last frame */
    gint64 last_due_us; /* when it was due, monotonic */
} Pace;

void pace_start(Pace *pace, GstElement *sink);
/* No frame waits any more. */
void pace_stop(Pace *pace);
void pace_clear(Pace *pace);

#endif
