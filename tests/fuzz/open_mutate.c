// SPDX-License-Identifier: MIT
// Most of an input of the target `open` is names of tensors, and most changes of names end in one
// and the same sentence. Three of four mutations are therefore of the settings and the JSON alone.
#include <stdlib.h>

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

// The bytes of the first `lines` lines.
static size_t count_head(const uint8_t *data, size_t size, int lines)
{
    size_t at = 0;
    for (; at < size && lines; at++)
        lines -= data[at] == '\n';
    return at;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    const size_t head = count_head(data, size, seed / 4 % 2 ? 1 : 2), tail = size - head;
    if (seed % 4 == 0 || !head || !tail || size > max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    uint8_t *rest = malloc(tail);
    fuzz_check(rest != NULL);
    memcpy(rest, data + head, tail);
    const size_t changed = LLVMFuzzerMutate(data, head, max_size - tail);
    memcpy(data + changed, rest, tail);
    free(rest);
    return changed + tail;
}
