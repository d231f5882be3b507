// SPDX-License-Identifier: MIT
// A log that counts the warnings, and keeps the last one.
#ifndef HEARD_H
#define HEARD_H

#include <stdio.h>

#include <samtrack/samtrack.h>

static int warnings;
static char last_warning[512];

static inline void hear(void *priv, enum sam_log_level level, const char *line)
{
    (void) priv;
    if (level == SAM_LOG_WARNING) {
        warnings++;
        snprintf(last_warning, sizeof(last_warning), "%s", line);
    }
}

#endif // HEARD_H
