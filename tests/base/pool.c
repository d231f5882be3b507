// SPDX-License-Identifier: MIT
// test-pool [SEED]: the threads of a CPU queue. Every item of a job is done once, by whatever
// thread is there, and the job is over when the call returns; a thread has its own items first.
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../expect.h"
#include "ops/cpu/pool.h"

enum { MOST_ITEMS = 300, MOST_THREADS = 5, ROUNDS = 400 };

struct job {
    int threads, count;
    atomic_int done[MOST_ITEMS]; // times
    int order[MOST_THREADS][MOST_ITEMS], taken[MOST_THREADS];
    atomic_int most; // items that may wait for the other threads
    long plain;      // written without a lock, by the caller between jobs
    long seen[MOST_THREADS];
};

static void pause_for(long ns)
{
    nanosleep(&(struct timespec){ 0, ns }, NULL);
}

static void note(void *priv, int i, int thread)
{
    struct job *job = priv;
    atomic_fetch_add(&job->done[i], 1);
    job->order[thread][job->taken[thread]++] = i;
    job->seen[thread] = job->plain;
    if (atomic_fetch_sub(&job->most, 1) > 0)
        pause_for(20000);
}

// Of two threads each takes its half's items upwards, and those of the other half downwards. Where
// no helper came the caller takes all upwards.
static void check_order(const struct job *job)
{
    const int half = job->count / 2;
    for (int t = 0; t < 2 && job->taken[1]; t++) {
        int last[2] = { -1, MOST_ITEMS };
        for (int k = 0; k < job->taken[t]; k++) {
            const int i = job->order[t][k];
            const bool own = (i >= half) == (t == 1);
            expect(own ? i > last[0] : i < last[1], "%d items: thread %d took %d behind %d",
                   job->count, t, i, last[!own]);
            last[!own] = i;
        }
    }
}

static void run(struct sam_pool *pool, struct job *job, uint64_t *seed, int round)
{
    *job = (struct job){ .threads = sam_pool_threads(pool), .plain = round };
    job->count = draw_int(seed, 0, draw_int(seed, 0, 3) ? 12 : MOST_ITEMS);
    atomic_store(&job->most, draw_int(seed, 0, 3));
    if (round % 100 == 0)
        pause_for(200000); // longer than the threads spin
    sam_pool_run(pool, job->count, note, job);
    int taken = 0;
    for (int i = 0; i < job->count; i++)
        expect(atomic_load(&job->done[i]) == 1, "%d items: %d was done %d times", job->count, i,
               atomic_load(&job->done[i]));
    for (int t = 0; t < job->threads; t++) {
        taken += job->taken[t];
        expect(!job->taken[t] || job->seen[t] == round, "thread %d saw job %ld, not %d", t,
               job->seen[t], round);
    }
    expect(taken == job->count, "%d items: %d were noted", job->count, taken);
    if (job->threads == 2)
        check_order(job);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    static struct job job;
    printf("seed %llu\n", (unsigned long long) seed);
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        struct sam_pool *pool = sam_pool_open(threads);
        expect(pool && sam_pool_threads(pool) == threads, "%d threads", threads);
        if (pool)
            sam_pool_begin(pool);
        for (int round = 0; pool && round < ROUNDS; round++)
            run(pool, &job, &seed, round);
        if (pool)
            sam_pool_end(pool);
        if (pool)
            sam_pool_close(&pool);
    }
    return expect_status();
}
