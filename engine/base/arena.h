// SPDX-License-Identifier: MIT
// A linear allocator over one block of memory. Layout code runs twice: over an arena without
// memory to measure the size, then over the allocated block. So the memory of a tracker is known
// before it is allocated.
#ifndef SAM_ARENA_H
#define SAM_ARENA_H

#include <assert.h>
#include <stdbool.h>

#include "tensor.h"

enum { SAM_ALIGN = 64 }; // bytes: a cache line, and the widest vector

struct sam_arena {
    uint8_t *base; // NULL while measuring
    size_t used, peak; // bytes allocated now, and their maximum so far
};

// Allocate `bytes`, aligned to SAM_ALIGN. While measuring it returns NULL and counts them.
void *sam_arena_bytes(struct sam_arena *a, size_t bytes);

// A tensor in the arena; its data is NULL while measuring.
struct sam_tensor sam_arena_tensor(struct sam_arena *a, enum sam_type type, int n, int h, int w,
                                   int c);

// Release frees all that was allocated since mark, so that two parts that never run at the same
// time share their memory.
static inline size_t sam_arena_mark(const struct sam_arena *a)
{
    return a->used;
}

static inline void sam_arena_release(struct sam_arena *a, size_t mark)
{
    assert(mark <= a->used);
    a->used = mark;
}

#endif // SAM_ARENA_H
