// SPDX-License-Identifier: MIT
// The threads of one queue. The caller is thread 0; the others are the pool's own, wait by a
// short spin and then asleep, and never outlive the pool: neighbours on the machine keep their
// cores.
#ifndef SAM_POOL_H
#define SAM_POOL_H

#include <stddef.h>

struct sam_pool;

enum { SAM_POOL_WORKSPACE = 4 << 20 }; // bytes of scratch each thread owns

// threads: 0 for as many as there are processors this process may use. NULL: no memory.
struct sam_pool *sam_pool_open(int threads);
void sam_pool_close(struct sam_pool **p);
int sam_pool_threads(const struct sam_pool *p);
size_t sam_pool_bytes(int threads);

// Call task(priv, i, thread) once for every i in [0, count), shared out one by one as threads
// become free; returns when all are done. thread is in [0, sam_pool_threads()). count = 1 runs
// on the caller without waking anyone.
void sam_pool_run(struct sam_pool *p, int count, void (*task)(void *priv, int i, int thread),
                  void *priv);

// The thread's own scratch, SAM_POOL_WORKSPACE bytes, 64-byte aligned.
void *sam_pool_workspace(struct sam_pool *p, int thread);

#endif // SAM_POOL_H
