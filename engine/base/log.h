// Sentences for people: log lines, which go to the caller's callback, and errors. Each one is made
// here, whatever it quotes: valid UTF-8 in one line, with '?' in place of control characters,
// characters that reorder text, and bytes that are not UTF-8; one that is too long ends in "...".
#ifndef SAM_LOG_H
#define SAM_LOG_H

#include <stdarg.h>

#include "samtrack/samtrack.h"

// A function that takes a printf format as argument f and its values from argument v on (0: as a
// va_list): compilers that can, check calls of it.
#if defined(__GNUC__)
#define SAM_PRINTF(f, v) __attribute__((format(printf, f, v)))
#else
#define SAM_PRINTF(f, v)
#endif

struct sam_log {
    void (*write)(void *priv, enum sam_log_level level, const char *line);
    void *priv;
};

void sam_log(const struct sam_log *log, enum sam_log_level level, const char *fmt, ...)
    SAM_PRINTF(3, 4);

// Write the sentence into *error (which may be NULL) and return status, so that a failing
// function can end in: return sam_fail(error, SAM_EIO, "...", ...);
// No argument may point into *error.
int sam_fail(struct sam_error *error, int status, const char *fmt, ...) SAM_PRINTF(3, 4);
int sam_fail_va(struct sam_error *error, int status, const char *fmt, va_list ap) SAM_PRINTF(3, 0);

// How many of a text's bytes to quote so that they are at most `most` (1 or more) and cut no UTF-8
// character, for "%.*s". Only `bytes` of text are looked at.
int sam_text_cut(const char *text, size_t bytes, int most);

// The end of a long path, at most `most` bytes: the name is what tells.
const char *sam_text_end(const char *path, size_t most);

#endif // SAM_LOG_H
