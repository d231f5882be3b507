/* SPDX-License-Identifier: MIT */
/* Ends pipelines in threads of their own: a camera or an encoder that hangs may take long. */
#ifndef LIVE_STOPPING_H
#define LIVE_STOPPING_H

#include <gst/gst.h>

typedef struct Stopping Stopping;

Stopping *stopping_new(void);
/* Takes the reference of `pipeline`. */
void stopping_add(Stopping *stopping, GstElement *pipeline);
/* How many have not ended. */
guint stopping_count(Stopping *stopping);
/* Waits, at most 5 s, until all pipelines have ended, and frees it. */
void stopping_finish(Stopping *stopping);

#endif
