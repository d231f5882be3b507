/* SPDX-License-Identifier: MIT */
/* A source of frames in a pipeline of its own, which is rebuilt whenever it fails: the pipeline
 * that
 * tracks never notices more than that frames are missing. */
#ifndef LIVE_SOURCE_H
#define LIVE_SOURCE_H

#include "settings.h"

#include <gst/gst.h>

typedef struct Source Source;

typedef struct {
    /* A frame: I420 in system memory, with the caps that source_fix() was given. Called in a
     * streaming
     * thread; must not wait. */
    void (*frame)(GstSample *sample, gpointer user);
    /* The source gives frames, or no longer does; `why` is a sentence, NULL if it does. Called in
     * the main thread. */
    void (*changed)(gboolean up, const gchar *why, gpointer user);
} SourceHandlers;

/* `settings` must outlive the source. */
Source *source_new(const CameraSettings *settings, const SourceHandlers *handlers, gpointer user);
void source_start(Source *source);

/* From now on all frames have these caps: they are scaled, with bars where the aspect differs. */
void source_fix(Source *source, GstCaps *caps);

/* Number of times the source came back after it had gone. */
guint source_get_reconnects(Source *source);

/* Stops it and waits, at most 5 s, until all its pipelines have ended. No handler is called after
 * the return. */
void source_free(Source *source);

#endif
