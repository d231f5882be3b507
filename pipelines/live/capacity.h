/* SPDX-License-Identifier: MIT */
/* How much of its frames a camera's tracker keeps up with, lately. Main thread. */
#ifndef LIVE_CAPACITY_H
#define LIVE_CAPACITY_H

#include <gst/gst.h>

/* All 0 at first. */
typedef struct {
    gint64 since_us;                  /* when the counts were these; 0: never yet */
    guint64 frames, inferred, stale, ages;
    gdouble steps_per_second;         /* that the tracker could do now; 0: it has done none */
    gboolean known;                   /* what follows: of a time of some seconds */
    gdouble frames_per_second, tracked_per_second;
    gdouble stale_ratio;              /* of the frames */
    gdouble mask_age;                 /* of the masks of all frames, mean, s */
} Capacity;

/* Takes in the statistics of samtrack. However often it is asked, its rates are of 5 s at least. */
void capacity_update(Capacity *capacity, const GstStructure *stats);

#endif
