/* SPDX-License-Identifier: MIT */
/* Leads an output into an appsrc. A viewer that is too slow loses frames up to the next key frame;
 * nobody waits for it. */
#ifndef LIVE_FEED_H
#define LIVE_FEED_H

#include "output.h"

typedef struct Feed Feed;

/* Takes a reference of `appsrc`. @restamp: the frames get the running time of the appsrc's
 * pipeline, which has a base time of its own; else they keep the camera's. */
Feed *feed_new(Output *output, GstElement *appsrc, gboolean restamp);
guint64 feed_get_bytes(Feed *feed); /* pushed so far */
void feed_free(Feed *feed);

#endif
