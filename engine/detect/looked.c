// SPDX-License-Identifier: MIT
#include "looked.h"

#include <string.h>

void sam_looked_lay_out(struct sam_looked *l, struct sam_arena *a, struct sam_tensor largest)
{
    for (int i = 0; i < 2; i++)
        l->input[i] = sam_arena_bytes(a, sam_tensor_bytes(&largest));
}

bool sam_looked_again(struct sam_looked *l, struct sam_queue *q, struct sam_tensor input)
{
    const size_t bytes = sam_tensor_bytes(&input);
    const int before = l->latest, now = !before;

    sam_queue_download(q, l->input[now], input.data, bytes);
    const bool is_same = l->width == input.w && l->height == input.h &&
                         !memcmp(l->input[now], l->input[before], bytes);
    l->latest = now;
    l->width = input.w;
    l->height = input.h;
    return is_same;
}
