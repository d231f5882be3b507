/* SPDX-License-Identifier: MIT */
/* Finds events in what passes behind the tracker, frame by frame. One streaming thread. */
#ifndef LIVE_MOMENTS_H
#define LIVE_MOMENTS_H

#include "shelf.h"

#include "record/gstsamrecord.h"

/* What is known of the object in a slot. */
typedef struct {
    guint64 id; /* 0: there is none */
    gboolean seen, away; /* ever; now lost */
    gdouble box[4];
} Known;

typedef struct {
    Known known[SAM_MAX_OBJECTS + 1];
} Moments;

/* @label: of the object, "": none. @slot: 0: the object is not tracked any more. The event is the
 * callee's. */
typedef void (*MomentsFunc)(Event *event, const gchar *label, guint slot, gpointer user);

/* @fresh: the masks are others than those of the frame before. */
void moments_take(Moments *moments, const GstSamRecord *record, gboolean fresh, MomentsFunc func,
    gpointer user);

#endif
