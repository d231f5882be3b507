/* SPDX-License-Identifier: MIT */
/* A pipeline that goes on with an item from where it is, to the end of one of its parts, or until
 * it is asked to end. */
#ifndef BATCH_LEG_H
#define BATCH_LEG_H

#include "place.h"

typedef struct {
    gint interrupted;      /* atomic: a signal came */
    gint64 interrupted_us; /* when */
    gint patience;         /* seconds without a frame */
    gchar *mark;           /* (nullable): file whose time tells others that the item is worked on */
    gint64 marked_us;      /* when it was last touched */
    GMainLoop *loop;
    void (*tell)(gpointer data, GstClockTime time); /* several times a second: how far it is */
    gpointer data;
} Control;

typedef enum {
    LEG_ENDED,       /* the part, or the item: the place tells */
    LEG_INTERRUPTED, /* what was tracked is kept */
    LEG_LOST,        /* somebody else works on it: the place is to be loaded anew */
    LEG_FAILED,
} LegOutcome;

/* Moves *place. */
LegOutcome leg_run(Control *control, const Job *job, const Item *item, Place *place,
    GError **error);

#endif
