/* SPDX-License-Identifier: MIT */
/* A stream that the program gives: encoded once, handed to any number of viewers, and encoded only
 * while there are any. */
#ifndef LIVE_OUTPUT_H
#define LIVE_OUTPUT_H

#include <gst/gst.h>

typedef struct Output Output;

/* Called in a streaming thread with each encoded frame; must not wait. */
typedef void (*OutputFunc)(GstSample *sample, gpointer user);

/* @main: the pipeline whose running time the frames' time stamps are. @valve: opened while there
 * are subscribers; NULL: none. Both must outlive the output. */
Output *output_new(const gchar *name, GstElement *main, GstElement *valve);

/* From now on `sink`, an appsink, gives the frames; NULL: none does. */
void output_attach(Output *output, GstElement *sink);

/* Counts a failure of what gives the frames. */
void output_add_failure(Output *output);

/* May be called from any thread. A key frame follows soon. output_unsubscribe() waits for a call
 * of `func` that is under way; afterwards there is none. */
guint output_subscribe(Output *output, OutputFunc func, gpointer user);
void output_unsubscribe(Output *output, guint id);

/* Asks the encoder for a key frame, at most every half second. */
void output_request_key(Output *output);

typedef struct {
    const gchar *name;
    guint viewers;         /* subscribers */
    guint64 frames, bytes; /* encoded */
    guint64 failures;      /* of the encoder */
    gint64 p50_us, p95_us, p99_us; /* from the frame's time to its being encoded, last 256 frames */
} OutputStats;

void output_get_stats(Output *output, OutputStats *stats);
void output_free(Output *output);

#endif
