// SPDX-License-Identifier: MIT
#include "warm.h"

#include <stdlib.h>
#include <string.h>

struct sam_tracker;
struct sam_queue;
struct sam_error;

int __real_sam_warm_up(struct sam_tracker *t, struct sam_error *error);
int __wrap_sam_warm_up(struct sam_tracker *t, struct sam_error *error);
int __real_sam_graphs_record(struct sam_tracker *t, struct sam_error *error);
int __wrap_sam_graphs_record(struct sam_tracker *t, struct sam_error *error);
void __real_sam_cuda_compare_twins(struct sam_queue *q);
void __wrap_sam_cuda_compare_twins(struct sam_queue *q);

// From now on, if $EMU_IDLE has this word. Returns what was so before.
static bool begin(const char *word)
{
    const bool was = emu_is_idle;
    const char *words = getenv("EMU_IDLE");

    emu_is_idle = was || (words && strstr(words, word));
    return was;
}

int __wrap_sam_warm_up(struct sam_tracker *t, struct sam_error *error)
{
    const bool was = begin("warm-up");
    const int status = __real_sam_warm_up(t, error);

    emu_is_idle = was;
    return status;
}

int __wrap_sam_graphs_record(struct sam_tracker *t, struct sam_error *error)
{
    const bool was = begin("records");
    const int status = __real_sam_graphs_record(t, error);

    emu_is_idle = was;
    return status;
}

void __wrap_sam_cuda_compare_twins(struct sam_queue *q)
{
    const bool was = begin("twins");

    __real_sam_cuda_compare_twins(q);
    emu_is_idle = was;
}
