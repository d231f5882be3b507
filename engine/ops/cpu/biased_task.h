// SPDX-License-Identifier: MIT
// Steps of a thread through attention with biased scores: private to ops/cpu. For each chunk of
// queries: begin, set the queries; for each block of keys set the block, its keys, the rows of
// biases, and add it; then store the rows. The keys stay for the next chunk.
#ifndef SAM_BIASED_TASK_H
#define SAM_BIASED_TASK_H

#include "ops/cpu/biased.h"
#include "ops/cpu/cpu.h"

struct sam_biased_task {
    struct sam_biased b;
    struct sam_cpu *cpu;
    int rows, dv;  // of the chunk; channels of a value
    int most_keys; // of a block
    float *row;    // room to convert one
};

// In the thread's workspace. dk, dv: channels of a head.
void sam_biased_open(struct sam_biased_task *t, struct sam_cpu *cpu, int thread, int dk, int dv);

void sam_biased_begin(struct sam_biased_task *t, int rows); // at most SAM_BIASED_CHUNK
void sam_biased_set_query(struct sam_biased_task *t, int row, const struct sam_tensor *from,
                          size_t at, float scale);

void sam_biased_set_block(struct sam_biased_task *t, int keys); // at most most_keys
void sam_biased_set_key(struct sam_biased_task *t, int j, const struct sam_tensor *k, size_t k_at,
                        const struct sam_tensor *v, size_t v_at);
// What is added to the scores of a row: the caller fills in one number for each key.
float *sam_biased_row(struct sam_biased_task *t, int row);
void sam_biased_add(struct sam_biased_task *t);

void sam_biased_store(struct sam_biased_task *t, int row, const struct sam_tensor *dst, size_t at);

// `count` numbers of an activation as F32: where they are, or converted; valid until the next call.
const float *sam_biased_floats(const struct sam_biased_task *t, const struct sam_tensor *from,
                               size_t at, int count);

#endif // SAM_BIASED_TASK_H
