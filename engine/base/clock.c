// SPDX-License-Identifier: MIT
#include "clock.h"

#include <time.h>

int64_t sam_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t sam_lap(int64_t *last)
{
    const int64_t now = sam_now(), ns = now - *last;

    *last = now;
    return ns;
}
