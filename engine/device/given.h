// SPDX-License-Identifier: MIT
// The caller's arguments: copied, and checked against the device that is to use them.
#ifndef SAM_GIVEN_H
#define SAM_GIVEN_H

#include "queue.h"

enum { SAM_MAX_COND = 64 }; // maximum of params.max_cond_frames

// Copy the caller's params, and check their ranges.
int sam_params_take(struct sam_params *own, const struct sam_params *params,
                    struct sam_error *error);

// Copy the caller's frame, and check it.
int sam_frame_take(struct sam_frame *own, struct sam_queue *q, const struct sam_frame *frame,
                   struct sam_error *error);

int sam_labels_check(struct sam_queue *q, const struct sam_labels *l, struct sam_error *error);

#endif // SAM_GIVEN_H
