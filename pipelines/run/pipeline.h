/* SPDX-License-Identifier: MIT */
/* The pipeline that the options ask for, and what is seen of its frames. */
#ifndef RUN_PIPELINE_H
#define RUN_PIPELINE_H

#include "gate.h"
#include "options.h"
#include "sequence.h"
#include "streams.h"
#include "window.h"

typedef struct {
    GstElement *bin, *track;
    GThreadPool *changes; /* of one thread: files and devices may block it for ever */
    Sequence *sequence; /* NULL: the video is one file, or none */
    gboolean gated; /* a window has a gate */
    Gate gate;
    Streams streams; /* of the file */

    GMutex lock;
    /* guarded by @lock */
    guint64 entered;      /* frames that samtrack got */
    guint64 frames;       /* tracked */
    guint64 maps;         /* label maps that were written */
    GstClockTime done;    /* where the last tracked frame ends */
    GstClockTime gap;     /* where the first gap between frames begins; NONE: there is none */
    guint64 in_order;     /* pictures of a sequence up to the first that gave no frame */
    gboolean failed;      /* to start */
    guint64 absent;       /* bytes that are missing at the end of the file */
    guint changed;        /* changes that are done */
    GstClockTime seek_from; /* stream time of the next seek */
    guint unsought;       /* seeks that the video has refused */
    GCond done_changing;

    guint asked;          /* changes that were asked for */
    const gchar *file;    /* that is read; NULL: no single one */
    gchar *missing; /* what a plugin is missing for */
} Pipeline;

/* Returns FALSE with an error. */
gboolean pipeline_build(Pipeline *pipeline, const Options *options, GError **error);

/* The file or folder to write. */
void pipeline_set_output(Pipeline *pipeline, const Options *options, const gchar *part);

/* Begins to play; @failed is set if it cannot. */
void pipeline_start(Pipeline *pipeline);

/* Of a window: the last frame before @until is to be shown, found from @from on; both in stream
 * time. The other counts the seeks that the video has refused. */
void pipeline_seek(Pipeline *pipeline, GstClockTime from, GstClockTime until);
guint pipeline_count_unsought(Pipeline *pipeline);

/* Ends all streams behind the video's decoder and samtrack: what was tracked is written, and an EOS
 * message comes. */
void pipeline_end(Pipeline *pipeline);

/* After the end of the stream: sets @absent. Returns FALSE if the file cannot be read in some
 * seconds. */
gboolean pipeline_check_file(Pipeline *pipeline);

/* Stops it and closes what is written. Returns FALSE if the video's file or device does not let it
 * stop in some seconds: then it must not be cleared, and the program cannot but _exit(). */
gboolean pipeline_stop(Pipeline *pipeline);

/* Of the video, ns; 0: not known. */
guint64 pipeline_get_duration(Pipeline *pipeline);

/* Whether it is an element before samtrack. */
gboolean pipeline_is_input(Pipeline *pipeline, GstObject *element);

/* Whether it is an element behind samtrack: what it writes is of no use after its error. */
gboolean pipeline_is_output(Pipeline *pipeline, GstObject *element);

/* Frees all that has stopped. */
void pipeline_clear(Pipeline *pipeline);

#endif
