/* SPDX-License-Identifier: MIT */
/* An item from wherever it is to its end, in two steps: it may begin while the result of the one
 * before is made. */
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

typedef struct Work Work;

/* Up to the end of its frames. *work: what work_end() is to do then; NULL: the outcome is what is
 * returned. @job and @item must outlive it. @why: the sentence of a failure; caller frees it. */
WorkOutcome work_begin(Control *control, const Job *job, const Item *item, gboolean retry,
    Work **work, gchar **why);

/* Any thread: the result of its chunks. Waits for the disk several times. Takes @work. */
WorkOutcome work_end(Work *work, gchar **why);

/* Instead: as if it had been interrupted. */
void work_drop(Work *work);

/* Whether runs of it ended several times without a word, as where it takes more memory than there
 * is: the others of a shard go first. */
gboolean work_is_suspect(const Job *job, const Item *item);

/* Whether another run has said lately that it works on it. */
gboolean work_is_busy(const Job *job, const Item *item);

#endif
