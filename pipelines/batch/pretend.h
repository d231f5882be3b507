/* SPDX-License-Identifier: MIT */
/* A job that tracks nothing, for trials of a cluster: it waits as long as the work would take. */
#ifndef BATCH_PRETEND_H
#define BATCH_PRETEND_H

#include "leg.h"

/* As leg_run(): chunks with a line for each second of video, and files as tracks have them. */
LegOutcome pretend_run(Control *control, const Job *job, const Item *item, Place *place,
    GError **error);

#endif
