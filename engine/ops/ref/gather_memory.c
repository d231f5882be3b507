// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// One stored map: N tokens from row `row` of the output on.
static void gather_map(const struct sam_gather_memory *p, size_t row, int slot, int time)
{
    const size_t m = p->maps.c, count = p->maps.w * m;
    for (size_t i = 0; i < count; i++) {
        const float value = sam_load(&p->maps, slot * count + i);
        const float position = sam_load(&p->place, i) + sam_load(&p->time, time * m + i % m);
        sam_store(&p->values, row * m + i, value);
        sam_store(&p->keys, row * m + i, value + position);
    }
}

// One pointer: d / m tokens from row `row` of the output on, all with the position `time_row`.
static void gather_pointer(const struct sam_gather_memory *p, size_t row, int slot, size_t time_row)
{
    const size_t m = p->maps.c, d = p->pointers.c;
    for (size_t i = 0; i < d; i++) {
        const float value = sam_load(&p->pointers, slot * d + i);
        sam_store(&p->values, row * m + i, value);
        sam_store(&p->keys, row * m + i, value + sam_load(&p->pointer_time, time_row * m + i % m));
    }
}

void sam_gather_memory_ref(struct sam_queue *q, const struct sam_gather_memory *p)
{
    const int max_maps = p->map_slot.c, max_pointers = p->pointer_slot.c;
    for (int n = 0; n < p->values.n; n++) {
        size_t row = (size_t) n * p->values.w;
        for (int i = 0; i < ref_count(&p->num_maps, n); i++) {
            const int at = n * max_maps + i;
            gather_map(p, row, ref_count(&p->map_slot, at), ref_count(&p->map_time, at));
            row += p->maps.w;
        }
        for (int i = 0; i < ref_count(&p->num_pointers, n); i++) {
            const int at = n * max_pointers + i;
            gather_pointer(p, row, ref_count(&p->pointer_slot, at), at);
            row += p->pointers.c / p->maps.c;
        }
    }
}
