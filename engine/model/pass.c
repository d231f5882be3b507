// SPDX-License-Identifier: MIT
// The outputs of a detector's parts, for stage tests and keep_stages.
#include <stdio.h>

#include "detector.h"

void sam_pass_tell(struct sam_pass *p, const char *name, int i, struct sam_tensor t)
{
    char text[24];

    if (!p->live)
        return;
    snprintf(text, sizeof(text), i < 0 ? "%s" : "%s%d", name, i);
    sam_queue_mark(p->queue, text, t);
}
