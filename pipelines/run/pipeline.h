/* The pipeline that the options ask for, and what is seen of its frames. */
#ifndef RUN_PIPELINE_H
#define RUN_PIPELINE_H

#include "options.h"
#include "sequence.h"
#include "window.h"

typedef struct {
    GstElement *bin, *track;
    Sequence *sequence; /* NULL: the video is one file, or none */
    gboolean paced;
    Pace pace;

    GMutex lock;
    /* guarded by @lock */
    guint64 entered;      /* frames that samtrack got */
    guint64 frames;       /* tracked */
    guint64 maps;         /* label maps that were written */
    GstClockTime done;    /* where the last tracked frame ends */
    GstClockTime gap;     /* where the first gap between frames begins; NONE: there is none */
    GstClockTime longest; /* where the last one of any stream of the file ends */
    guint64 in_order;     /* pictures of a sequence up to the first that gave no frame */
    gboolean has_video, has_demuxer;
    gchar *missing; /* what a plugin is missing for */
} Pipeline;

/* @part: the file or folder to write; NULL for a window. Returns FALSE with an error. */
gboolean pipeline_build(Pipeline *pipeline, const Options *options, const gchar *part,
    GError **error);

/* Ends the stream behind samtrack: what was tracked is written, and an EOS message comes. */
void pipeline_end(Pipeline *pipeline);

/* Of the video, ns; 0: not known. */
guint64 pipeline_get_duration(Pipeline *pipeline);

/* Whether it is an element before samtrack. */
gboolean pipeline_is_input(Pipeline *pipeline, GstObject *element);

/* Whether it is an element behind samtrack: what it writes is of no use after its error. */
gboolean pipeline_is_output(Pipeline *pipeline, GstObject *element);

/* Stops and frees all. */
void pipeline_clear(Pipeline *pipeline);

#endif
