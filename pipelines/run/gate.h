/* SPDX-License-Identifier: MIT */
/* Between the video and the tracker of a window: which frames are tracked, and when they are shown.
 *
 * A file is not live: its frames wait here while the window is paused, after the last one, and
 * until the model is loaded; none is dropped but those before the target of a seek. What is on the
 * picture can be drawn again at any time, also while a step of the tracker runs. A live video
 * passes, untracked until the model is loaded. */
#ifndef RUN_GATE_H
#define RUN_GATE_H

#include <gst/gst.h>

typedef struct {
    GstPad *in;           /* where frames come from; source pad of the element before the tracker */
    GstElement *track;
    GstPad *drawn;        /* sink pad of the element after the tracker */
    gboolean is_file;     /* else a live video */
    gboolean stays;       /* on the last frame */
    void (*on_change)(gpointer user); /* any thread, without the lock */
    gpointer user;

    GThread *drawer;      /* draws the picture again */
    GMutex drawing;
    gpointer drawing_thread; /* atomic: who draws it again now */

    GMutex lock;
    GCond wake;
    /* guarded by @lock */
    gboolean ready, linked;    /* the model is loaded; frames go through the tracker */
    gboolean stopped, flushing;
    gboolean paused, at_end;
    guint steps;               /* frames that may pass in a pause */
    gboolean repeat;           /* the last frame is to be tracked again */
    guint repeats;             /* how often it was, one after the other */
    gboolean redraw;
    gboolean serve;            /* a preview waits for an answer */
    gboolean has_current;      /* on the last frame there is an object that clicks are for */
    GstClockTime until, next_until; /* stream time: of frames before it only the last one passes */
    GstBuffer *candidate;      /* the last one of these so far */
    GstBuffer *entered;        /* the last frame that went to the tracker */
    GstBuffer *shown;          /* the last one that came out of it; NULL: not to be drawn */
    gboolean landing;          /* no frame has passed since the seek */
    guint landed;              /* seeks whose first frame has come out of the tracker */
    guint missed;              /* seeks behind which there was no frame */
    GstClockTime position, duration; /* stream time of @shown, its duration; NONE: not known */
    guint64 num_shown;         /* frames, each counted once */
    GstClockTime last;         /* PTS of the last one */
    gint64 last_due_us;        /* when it was due, monotonic */

    gboolean is_repeating;     /* streaming thread: the frame was tracked before */
} Gate;

/* What is seen of it at one time. */
typedef struct {
    gboolean linked, paused, at_end, has_current;
    guint landed, missed;
    GstClockTime position, duration;
} GateView;

/* @in is linked to @next; the tracker is linked to nothing until gate_open(). */
void gate_init(Gate *gate, GstPad *in, GstElement *track, GstElement *next, gboolean is_file);
void gate_clear(Gate *gate);

/* Frames pass @sink as fast as they are tracked, at most as fast as the file has them: none is
 * hurried after a slow one. */
void gate_pace(Gate *gate, GstElement *sink);

/* The tracker has its model: frames go through it from the next one on, that of a file's first
 * one included. */
void gate_open(Gate *gate);
/* No frame waits any more; all are dropped. */
void gate_stop(Gate *gate);

void gate_pause(Gate *gate, gboolean paused);
/* Lets one more frame pass in a pause; at most so many wait to. */
#define GATE_STEPS 10
void gate_step(Gate *gate);
/* The frame that is shown is to be tracked again, since there is a prompt for it. */
void gate_repeat(Gate *gate);
/* A preview that was asked for is to be answered in a pause, too. */
void gate_serve(Gate *gate);
/* Draws the picture again, with what the overlay has now: soon, or before it returns. */
void gate_redraw(Gate *gate);
void gate_draw(Gate *gate);
/* After the next flush: the last frame before @until, in stream time, passes first, or the first
 * one if there is none. */
void gate_set_target(Gate *gate, GstClockTime until);

void gate_look(Gate *gate, GateView *view);
guint64 gate_count_shown(Gate *gate);
/* Streaming thread: whether this frame was tracked before. */
gboolean gate_is_repeating(const Gate *gate);

#endif
