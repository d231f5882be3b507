/* SPDX-License-Identifier: MIT */
/* What a shard tells on standard error: on a terminal always the same line, else one a minute. */
#ifndef BATCH_PROGRESS_H
#define BATCH_PROGRESS_H

#include "manifest.h"

typedef struct {
    guint items, number; /* of them, the one that is worked on, from 1 */
    const gchar *id;
    gdouble seconds, behind; /* of video: of the shard as far as it is known, of the items before */
    gdouble first;       /* of the item: where this run took it up; < 0: not known yet */
    gdouble worked;      /* seconds of video that were tracked by this run, in the items before */
    gdouble now;
    gint64 start_us, told_us;
} Progress;

void progress_begin(Progress *progress, guint items, gdouble seconds);
void progress_item(Progress *progress, const Item *item);
void progress_item_done(Progress *progress, const Item *item);

/* Several times a second. @time: how far the item is. */
void progress_tell(gpointer progress, GstClockTime time);

/* A line of its own. */
void progress_say(const gchar *format, ...) G_GNUC_PRINTF(1, 2);

#endif
