// One block of memory, handed out front to back. The same layout code runs twice: over a
// measuring arena (no memory behind it) to learn the size, then over the real one. That is
// how every byte is known before anything is opened.
#ifndef SAM_ARENA_H
#define SAM_ARENA_H

#include <stdbool.h>

#include "tensor.h"

enum { SAM_ALIGN = 64 }; // bytes; a cache line, and what the widest vector load likes

struct sam_arena {
    uint8_t *base; // NULL while measuring
    size_t used, peak; // bytes handed out now; the most ever
};

// Room for `bytes`, aligned to SAM_ALIGN. While measuring: NULL, but counted.
void *sam_arena_bytes(struct sam_arena *a, size_t bytes);

// A tensor in the arena; its data is NULL while measuring.
struct sam_tensor sam_arena_tensor(struct sam_arena *a, enum sam_type type, int n, int h, int w,
                                   int c);

// What was handed out after mark is free again after release: two parts that never run at the
// same time share their bytes.
static inline size_t sam_arena_mark(const struct sam_arena *a)
{
    return a->used;
}

static inline void sam_arena_release(struct sam_arena *a, size_t mark)
{
    a->used = mark;
}

#endif // SAM_ARENA_H
