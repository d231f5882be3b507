/* SPDX-License-Identifier: MIT */
/* What the window is asked to do, by keys, and by the mouse on its bar of time; what it says on the
 * picture. Main thread. */
#ifndef RUN_PLAYER_H
#define RUN_PLAYER_H

#include "hover.h"
#include "pipeline.h"

#define PLAYER_NOTES 3

typedef struct {
    gchar *text;
    gint64 until_us; /* monotonic */
} Note;

typedef struct {
    Pipeline *pipeline;
    GMainLoop *loop;
    GstElement *overlay;
    gboolean is_file;
    guint timer, probe;
    GstPad *keys;           /* of the sink, where keys come from */
    GstEvent *release;      /* of the mouse, that reached nobody; NULL: none */
    gint changed;           /* atomic, any thread: an update is on its way */
    gint64 active_us;       /* the last key or move of the mouse, monotonic */

    Hover hover;
    gboolean is_pressed;    /* a button of the mouse */

    gboolean help;
    Note note[PLAYER_NOTES]; /* the newest one is the last */
    gboolean clicked;        /* somebody has, so answers are told */
    guint64 answered;        /* object of the last answer; 0: none */
    guint taken;             /* that answer, 1 to 3 */

    /* the seek that runs, and the one that is wanted after it */
    gboolean seeking, has_next;
    GstClockTime goal, until; /* of the last one that was asked for, stream time */
    GstClockTime lead;        /* how far before @until it begins */
    GstClockTime back_from;   /* where steps back began */
    guint backs;              /* of these; 0: the last seek was none */
    guint landed, missed, unsought; /* of the gate and the pipeline, that were seen */

    gchar *text;              /* on the picture */
    gdouble bar;
    GstClockTime mark;
} Player;

/* After pipeline_build(), of a window. */
void player_start(Player *player, Pipeline *pipeline, GMainLoop *loop, gboolean is_file,
    gboolean has_prompt);
void player_stop(Player *player);

/* A message of an element of the pipeline. */
void player_hear(Player *player, GstMessage *of);
/* For some seconds. */
void player_note(Player *player, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

#endif
