/* SPDX-License-Identifier: MIT */
/* The items of other shards that nobody works on. */
#ifndef BATCH_STEAL_H
#define BATCH_STEAL_H

#include "job.h"
#include "manifest.h"

typedef struct Steal Steal;

Steal *steal_begin(const Job *job, gint64 shard);

/* An item that is not done, has not failed for good, is not worked on, and was not given before;
 * NULL: there is none. Caller frees it. */
Item *steal_next(Steal *steal);
void steal_end(Steal *steal);

#endif
