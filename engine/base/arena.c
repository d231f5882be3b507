// SPDX-License-Identifier: MIT
#include "arena.h"

void *sam_arena_bytes(struct sam_arena *a, size_t bytes)
{
    void *p = a->base ? a->base + a->used : NULL;
    a->used += (bytes + SAM_ALIGN - 1) / SAM_ALIGN * SAM_ALIGN;
    if (a->used > a->peak)
        a->peak = a->used;
    return p;
}

struct sam_tensor sam_arena_tensor(struct sam_arena *a, enum sam_type type, int n, int h, int w,
                                   int c)
{
    struct sam_tensor t = { NULL, type, n, h, w, c };
    t.data = sam_arena_bytes(a, sam_tensor_bytes(&t));
    return t;
}
