/* SPDX-License-Identifier: MIT */
/* What happened to a camera's objects, with small pictures of the moments. Main thread. */
#ifndef LIVE_EVENTS_H
#define LIVE_EVENTS_H

#include "clips.h"
#include "objects.h"
#include "shelf.h"
#include "small.h"

typedef struct Events Events;

/* @pad: where frames pass with all metas. @folder: of the files, which must outlive it, as must all
 * others. @most: bytes to keep; 0: nothing is kept but the rate. */
Events *events_new(Camera *camera, GstPad *pad, Small *small, Objects *objects,
    const gchar *folder, guint64 most);
/* Reads what was kept, and takes what comes from now on. No other one may be at these files.
 * @clips: is told of each event; NULL: there are none. */
void events_begin(Events *events, Clips *clips);
/* The streams must have stopped. Waits for what is being written. */
void events_end(Events *events);
void events_free(Events *events);

/* Of Event, the oldest first; valid until the main loop runs. */
const GPtrArray *events_list(Events *events);
/* The picture of an event; NULL: there is none. Owned by the caller. */
GBytes *events_read(Events *events, guint64 number);

typedef struct {
    guint64 bytes, most; /* kept now, and at most */
    guint64 forgotten;   /* given up for newer ones, since the start */
    guint64 lost;        /* that are in no file, or that came too fast to be kept */
    const gchar *fault;  /* why events are being lost, a sentence; "": none are */
} EventsStats;

void events_get_stats(Events *events, EventsStats *stats);

/* Frames per second that were tracked, in the last seconds. */
gdouble events_get_rate(Events *events);

#endif
