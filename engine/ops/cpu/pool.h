// SPDX-License-Identifier: MIT
// The threads of one queue. The caller is thread 0; the others help it (crew.h), wait by a short
// spin and then asleep, and do not outlive the last pool that they help: neighbours on the machine
// keep their cores.
#ifndef SAM_POOL_H
#define SAM_POOL_H

#include <stddef.h>

#include "ops/cpu/crew.h"

struct sam_pool;

// threads: 0 for as many as there are processors this process may use; such pools share them, and
// each has its part while several have work. NULL: no memory.
struct sam_pool *sam_pool_open(int threads);
void sam_pool_close(struct sam_pool **p);
int sam_pool_threads(const struct sam_pool *p); // at most
// Scratch of those that share its threads. NULL: nobody does.
struct sam_places_list *sam_pool_places(struct sam_pool *p);
size_t sam_pool_bytes(const struct sam_pool *p);

// The pool has work from begin to end. They nest.
void sam_pool_begin(struct sam_pool *p);
void sam_pool_end(struct sam_pool *p);

// How many threads the next job may have, 1 to sam_pool_threads(): for how finely it is divided. No
// result may depend on it.
int sam_pool_width(const struct sam_pool *p);

// Call task(priv, i, thread) once for every i in [0, count); returns when all are done. thread is
// in [0, sam_pool_threads()). Each thread has a share of neighbouring items; one that is done with
// its own takes the last ones of others. count = 1 runs on the caller without waking anyone.
void sam_pool_run(struct sam_pool *p, int count, void (*task)(void *priv, int i, int thread),
                  void *priv);

// The thread's own scratch, SAM_POOL_WORKSPACE bytes, 64-byte aligned. That of thread 0 is the
// pool's; what is in that of others lasts as long as the job.
void *sam_pool_workspace(struct sam_pool *p, int thread);

#endif // SAM_POOL_H
