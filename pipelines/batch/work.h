/* SPDX-License-Identifier: MIT */
/* An item from wherever it is to its end. */
#ifndef BATCH_WORK_H
#define BATCH_WORK_H

#include "leg.h"

typedef enum {
    WORK_DONE,
    WORK_SKIPPED,     /* it was done, or has failed for good */
    WORK_INTERRUPTED,
    WORK_AGAIN,       /* it has failed, and may work another time */
    WORK_FAILED,      /* for good */
    WORK_STUCK,       /* not even its failure can be written: others would fail as well */
} WorkOutcome;

/* @why: the sentence of a failure; caller frees it. */
WorkOutcome work_item(Control *control, const Job *job, const Item *item, gboolean retry,
    gchar **why);

/* Whether runs of it ended several times without a word, as where it takes more memory than there
 * is: the others of a shard go first. */
gboolean work_is_suspect(const Job *job, const Item *item);

/* Whether another run has said lately that it works on it. */
gboolean work_is_busy(const Job *job, const Item *item);

#endif
