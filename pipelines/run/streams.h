/* SPDX-License-Identifier: MIT */
/* The streams of a video file behind a decodebin: the first video is decoded and goes to the
 * element "frames" of the pipeline; what else there is ends in sinks, as its end, too, tells how
 * long the file is. */
#ifndef STREAMS_H
#define STREAMS_H

#include <gst/gst.h>

typedef struct {
    GstElement *bin; /* the pipeline; not owned */
    GMutex lock;
    /* guarded by @lock */
    gboolean has_video, has_demuxer;
    GstClockTime longest; /* where the last frame of any stream ends, in stream time */
} Streams;

/* @decoder: decodebin or uridecodebin of @bin; NULL: frames come from elsewhere. @streams must be
 * zeroed, and outlive @bin. */
void streams_init(Streams *streams, GstElement *bin, GstElement *decoder);
void streams_clear(Streams *streams);

/* When a frame begins, in stream time; NONE: not known. */
GstClockTime streams_get_time(GstPad *pad, GstBuffer *buffer);

/* Where a frame ends, in stream time; its start, if it has no duration; NONE: not known. */
GstClockTime streams_get_end(GstPad *pad, GstBuffer *buffer);

/* Of a frame that has come; NONE is left out. */
void streams_note_end(Streams *streams, GstClockTime end);

/* Ends the streams that are not tracked: their end may not come, as that of the video. */
void streams_end_others(Streams *streams);

/* At the end of the stream: whether it was as long, about, as its container says. @all: that, in
 * ns; 0: not known. *longest: where the last frame ended. */
gboolean streams_are_whole(Streams *streams, GstClockTime all, GstClockTime *longest);

#endif
