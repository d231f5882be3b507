// SPDX-License-Identifier: MIT
// Copies of the outputs of a detector's parts (keep_stages), for tests and inspection: scratch
// memory does not outlive a run. Their memory grows on the first frames and is reused.
#ifndef SAM_KEPT_H
#define SAM_KEPT_H

#include "device/queue.h"

struct sam_kept;

// Listens to what runs on q, which must not run anything once it is closed.
struct sam_kept *sam_kept_open(struct sam_queue *q);
void sam_kept_close(struct sam_kept **k);

// As sam_detector_read().
int sam_kept_read(const struct sam_kept *k, const char *name, float *dst, size_t capacity,
                  int shape[4], struct sam_error *error);

#endif // SAM_KEPT_H
