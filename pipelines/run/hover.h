/* SPDX-License-Identifier: MIT */
/* In a window: what a click would take, while the mouse is where one would begin an object. Main
 * thread. */
#ifndef RUN_HOVER_H
#define RUN_HOVER_H

#include "gate.h"

typedef struct {
    Gate *gate;
    GstElement *overlay;
    gboolean is_over;          /* the mouse is there */
    gdouble x, y;              /* fractions of the picture */
    gint64 moved_us, asked_us; /* monotonic */
    guint64 number;            /* of the last request */
    gboolean waits;            /* for its answer */
    gboolean is_shown;
} Hover;

/* The mouse has moved; @x, @y: fractions of the picture, or beside it. */
void hover_move(Hover *hover, gdouble x, gdouble y);
/* Nothing is shown any more until it moves. */
void hover_end(Hover *hover);
/* Some times a second. */
void hover_tick(Hover *hover);
/* An answer of the tracker. */
void hover_take(Hover *hover, const GstStructure *answer);

#endif
