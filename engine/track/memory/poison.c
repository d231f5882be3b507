// SPDX-License-Identifier: MIT
// Overwrites memory that must not be read any more, so that reads of stale data become visible.
#include "history.h"
#include "track/tracker.h"

static void poison(struct sam_tracker *t, void *data, size_t bytes)
{
    uint8_t *at = data;

    for (size_t some; bytes && t->mem.host.poison; bytes -= some, at += some) {
        some = bytes < SAM_POISON_BYTES ? bytes : SAM_POISON_BYTES;
        sam_queue_upload(&t->queue, at, t->mem.host.poison, some);
    }
}

static void poison_tensor(struct sam_tracker *t, struct sam_tensor x)
{
    poison(t, x.data, sam_tensor_bytes(&x));
}

void sam_poison_scratch(struct sam_tracker *t)
{
    poison(t, t->scratch_block, t->mem.scratch_bytes);
}

void sam_poison_state(struct sam_tracker *t)
{
    poison(t, t->state_block, t->mem.state_bytes);
}

void sam_poison_frame(struct sam_tracker *t)
{
    const struct sam_state *s = &t->mem.state;
    const struct sam_tensor left[] = { s->features.image, s->features.s0, s->features.s1,
                                       s->features.trunk, s->low_res, s->iou, s->score };

    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        poison_tensor(t, left[i]);
    for (int i = 0; i < SAM_REFINERS; i++)
        for (int k = 0; k < SAM_REFINE_ROOMS; k++)
            poison_tensor(t, t->mem.refine[i].state[k]);
}

// A run of entries of the outermost extent.
static struct sam_tensor entries(struct sam_tensor x, int first, int count)
{
    x = sam_slice(x, first);
    x.n = count;
    return x;
}

void sam_poison_object(struct sam_tracker *t, const struct sam_tracked *o)
{
    const struct sam_state *s = &t->mem.state;
    const struct sam_bank *b = &o->bank;

    poison_tensor(t, entries(s->maps, b->first_map, sam_bank_maps(&t->limits)));
    poison_tensor(t, entries(s->pointers, b->first_pointer, sam_bank_pointers(&t->limits)));
    poison_tensor(t, sam_slice(s->answers, o->slot - 1));
    for (int i = 0; i < SAM_ALL_KEPT; i++) {
        const struct sam_tensor *kept = sam_refine_kept(t->mem.refine, i);
        if (kept->c)
            poison_tensor(t, entries(*kept, sam_kept_at(t, o->slot, 0),
                                     sam_kept_each(&t->limits)));
    }
}
