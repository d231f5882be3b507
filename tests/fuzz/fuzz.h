// SPDX-License-Identifier: MIT
// What the fuzz targets share. Each target is one LLVMFuzzerTestOneInput(): libFuzzer drives it,
// or replay.c does with the files of a corpus.
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What must hold for any input; a breach is a finding like any crash.
#define fuzz_check(cond)                                                                           \
    do {                                                                                           \
        if (!(cond))                                                                               \
            __builtin_trap();                                                                      \
    } while (0)

// A sentence: there, whole, one plain line.
static inline void fuzz_check_sentence(const char *text, size_t room)
{
    fuzz_check(text[0] && strlen(text) < room - 1);
    for (const char *c = text; *c; c++)
        fuzz_check((unsigned char) *c >= 0x20 && *c != 0x7f);
}

#endif // FUZZ_H
