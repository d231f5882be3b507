// SPDX-License-Identifier: MIT
// Log lines, for the caller's callback, and error texts. Each is one line of valid UTF-8 whatever
// it quotes: '?' replaces control characters, characters that reorder text, and bytes that are not
// UTF-8; a text that is too long is cut and ends in "...".
#ifndef SAM_LOG_H
#define SAM_LOG_H

#include <stdarg.h>

#include "samtrack/samtrack.h"

// Marks a function with a printf format as argument f and values from argument v on (0: a va_list),
// so that GCC and Clang check its calls.
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

// Write a sentence to *error (which may be NULL) and return status, so that a failing function can
// end with: return sam_fail(error, SAM_EIO, "...", ...);
// No argument may point into *error. State what failed, the value, and what was expected.
int sam_fail(struct sam_error *error, int status, const char *fmt, ...) SAM_PRINTF(3, 4);
int sam_fail_va(struct sam_error *error, int status, const char *fmt, va_list ap) SAM_PRINTF(3, 0);

// Returns the number of bytes of text to print with "%.*s": at most `most` (1 or more), without
// cutting a UTF-8 character. Reads at most `bytes` bytes of text.
int sam_text_cut(const char *text, size_t bytes, int most);

// Returns the end of a path, at most `most` bytes, as the file name matters most.
const char *sam_text_end(const char *path, size_t most);

#endif // SAM_LOG_H
