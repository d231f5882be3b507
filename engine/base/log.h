// Where the engine's words go: the callback of the caller, or nowhere.
#ifndef SAM_LOG_H
#define SAM_LOG_H

#include "samtrack/samtrack.h"

struct sam_log {
    void (*write)(void *priv, enum sam_log_level level, const char *line);
    void *priv;
};

void sam_log(const struct sam_log *log, enum sam_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Write the sentence into *error (which may be NULL) and return status, so that a failing
// function can end in: return sam_fail(error, SAM_EIO, "...", ...);
int sam_fail(struct sam_error *error, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif // SAM_LOG_H
