// SPDX-License-Identifier: MIT
#include "log.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_continuation(char c)
{
    return ((unsigned char) c & 0xc0) == 0x80;
}

// The bytes and the code of the UTF-8 character at s, which ends with a NUL. 0: there is none.
static int read_character(const char *s, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 }; // no longer form than needed
    const unsigned char lead = (unsigned char) *s;
    const int n = lead < 0x80       ? 1
                  : lead >> 5 == 6  ? 2
                  : lead >> 4 == 14 ? 3
                  : lead >> 3 == 30 ? 4
                                    : 0;
    *code = n == 1 ? lead : n ? lead & (0x7fu >> n) : 0;
    for (int i = 1; i < n; i++) {
        if (!is_continuation(s[i]))
            return 0;
        *code = *code << 6 | ((unsigned char) s[i] & 0x3f);
    }
    const bool is_surrogate = *code >> 11 == 0xd800 >> 11;
    return n && *code >= least[n] && *code <= 0x10ffff && !is_surrogate ? n : 0;
}

// Control characters move the cursor of a terminal or begin a line of their own; those of U+200E
// and after break lines or reverse what stands behind them.
static bool is_plain(uint32_t c)
{
    return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && c != 0x200e && c != 0x200f &&
           !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

static void make_plain(char *text)
{
    char *to = text;
    uint32_t code;
    for (const char *from = text; *from;) {
        const int n = read_character(from, &code);
        if (n && is_plain(code))
            memmove(to, from, (size_t) n), to += n;
        else
            *to++ = '?';
        from += n ? n : 1;
    }
    *to = '\0';
}

int sam_text_cut(const char *text, size_t bytes, int most)
{
    int n = most;
    assert(most >= 1);
    if (bytes <= (size_t) most)
        return (int) bytes;
    while (n > 0 && most - n < 3 && is_continuation(text[n]))
        n--;
    return is_continuation(text[n]) ? most : n;
}

const char *sam_text_end(const char *path, size_t most)
{
    const size_t bytes = strlen(path);
    if (bytes <= most)
        return path;
    path += bytes - most;
    while (is_continuation(*path))
        path++;
    return path;
}

static void write_plain(char *text, size_t size, const char *fmt, va_list ap)
{
    static const char more[] = "...";
    const int n = vsnprintf(text, size, fmt, ap);
    if (n < 0)
        text[0] = '\0';
    else if ((size_t) n >= size)
        memcpy(text + sam_text_cut(text, size - 1, (int) (size - sizeof(more))), more,
               sizeof(more));
    make_plain(text);
}

void sam_log(const struct sam_log *log, enum sam_log_level level, const char *fmt, ...)
{
    if (!log || !log->write)
        return;
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    write_plain(line, sizeof(line), fmt, ap);
    va_end(ap);
    log->write(log->priv, level, line);
}

int sam_fail_va(struct sam_error *error, int status, const char *fmt, va_list ap)
{
    if (error)
        write_plain(error->text, sizeof(error->text), fmt, ap);
    return status;
}

int sam_fail(struct sam_error *error, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    sam_fail_va(error, status, fmt, ap);
    va_end(ap);
    return status;
}
