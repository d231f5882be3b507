// SPDX-License-Identifier: MIT
// Wall time, monotonic, in nanoseconds.
#ifndef SAM_CLOCK_H
#define SAM_CLOCK_H

#include <stdint.h>

int64_t sam_now(void);

// Nanoseconds since *last, which becomes now.
int64_t sam_lap(int64_t *last);

#endif // SAM_CLOCK_H
