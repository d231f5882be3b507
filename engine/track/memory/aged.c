// SPDX-License-Identifier: MIT
// The bank's list of maps where frames are remembered at a distance (limits.stride), as DAM4SAM's
// memory of recent appearance: the last frame's, and of those before it one in so many. By turn.
#include "bank.h"

#include <string.h>

static void drop(struct sam_bank *b, int i)
{
    b->num_aged--;
    memmove(&b->aged[i], &b->aged[i + 1], (size_t) (b->num_aged - i) * sizeof(b->aged[0]));
}

const struct sam_bank_aged *sam_aged_find(const struct sam_bank *b, int64_t turn)
{
    for (int i = 0; i < b->num_aged; i++)
        if (b->aged[i].turn == turn)
            return &b->aged[i];
    return NULL;
}

void sam_aged_drop(struct sam_bank *b, int64_t turn)
{
    for (int i = b->num_aged - 1; i >= 0; i--)
        if (b->aged[i].turn == turn)
            drop(b, i);
}

void sam_aged_add(struct sam_bank *b, int64_t turn, int map_slot)
{
    if (b->num_aged == SAM_MAX_AGED)
        drop(b, 0);
    b->aged[b->num_aged++] = (struct sam_bank_aged){ turn, map_slot };
}

// The last one stays, whatever it is; the one before it if it is far enough from the one before.
void sam_aged_thin(struct sam_bank *b)
{
    const int n = b->num_aged;

    if (n > 2 && b->aged[n - 2].turn - b->aged[n - 3].turn < b->limits.stride)
        drop(b, n - 2);
    while (b->num_aged > b->limits.num_maskmem - 1)
        drop(b, 0);
}
