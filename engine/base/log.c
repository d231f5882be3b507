#include "log.h"

#include <stdarg.h>
#include <stdio.h>

void sam_log(const struct sam_log *log, enum sam_log_level level, const char *fmt, ...)
{
    if (!log || !log->write)
        return;
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    log->write(log->priv, level, line);
}

int sam_fail(struct sam_error *error, int status, const char *fmt, ...)
{
    if (error) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(error->text, sizeof(error->text), fmt, ap);
        va_end(ap);
    }
    return status;
}
