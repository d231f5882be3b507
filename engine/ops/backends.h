// SPDX-License-Identifier: MIT
// The list of backends, and opening a queue on one of them.
#ifndef SAM_BACKENDS_H
#define SAM_BACKENDS_H

#include "device/queue.h"

// Open a queue. AUTO is resolved: the best backend that this build and machine have, the best
// precision that backend has. threads: see struct sam_params.
int sam_queue_open(struct sam_queue *q, enum sam_backend backend, int ordinal,
                   enum sam_precision precision, int threads, const struct sam_log *log,
                   struct sam_error *error);
// The same for a tracker. to_plan: only to ask what memory it would take: it takes none, and
// nothing can run on it.
int sam_queue_open_for(struct sam_queue *q, const struct sam_params *params, bool to_plan,
                       struct sam_error *error);
// The same for one who asks for few operations, and small ones.
int sam_queue_open_small(struct sam_queue *q, const struct sam_params *params, size_t work_bytes,
                         struct sam_error *error);

// The backends themselves. cuda is NULL where it is not in this build; whether there is a usable
// device, its open says.
const struct sam_device *sam_device_ref(void);
const struct sam_device *sam_device_cpu(void);
const struct sam_device *sam_device_cuda(void);

#endif // SAM_BACKENDS_H
