// SPDX-License-Identifier: MIT
// Helpers of pools: how many there are, whom they help, and that each item of a job is done once,
// by a thread whose workspace is its own meanwhile.
#define _GNU_SOURCE // sched_getaffinity
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "../expect.h"
#include "ops/cpu/pool.h"

enum { POOLS = 8, ITEMS = 50, JOBS = 40 };

// Threads of this process.
static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int n = 0;

    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n - 2; // . and ..
}

// ---- hiring

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static atomic_int serving;

static void serve(void *boss, int thread)
{
    atomic_fetch_add((atomic_int *) boss, 1 << thread);
    atomic_fetch_add(&serving, 1);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    atomic_fetch_sub(&serving, 1);
}

static void wait_for(int count)
{
    while (atomic_load(&serving) != count)
        sched_yield();
}

static void check_hiring(void)
{
    struct sam_crew *c = sam_crew_open(8, serve);
    atomic_int first = 0, second = 0;

    expect(c && sam_crew_threads(c) == 8 && sam_crew_count(8) == 8, "a crew of 8");
    expect(sam_crew_share(c) == 8, "share of nobody: %d", sam_crew_share(c));
    pthread_mutex_lock(&gate);
    sam_crew_begin(c);
    expect(sam_crew_share(c) == 8, "share of one: %d", sam_crew_share(c));
    sam_crew_begin(c);
    sam_crew_begin(c);
    expect(sam_crew_share(c) == 3, "share of three: %d", sam_crew_share(c));
    int hired = sam_crew_hire(c, 2, &first), all = hired;
    expect(hired == 2, "%d of 2 came", hired);
    hired = sam_crew_hire(c, 7, &second); // 3 callers, 2 helpers at work: 3 processors are left
    expect(hired == 3, "%d of 3 came", hired);
    all += hired;
    all += hired = sam_crew_hire(c, 1, &first);
    expect(hired == 0, "%d came, though all processors are taken", hired);
    sam_crew_end(c);
    all += hired = sam_crew_hire(c, 7, &first);
    expect(hired == 1, "%d came when a caller had ended", hired);
    wait_for(all);
    expect(!(atomic_load(&first) & atomic_load(&second)) &&
           (atomic_load(&first) | atomic_load(&second)) == 0x7e, "helpers 1 to 6: %x, %x",
           atomic_load(&first), atomic_load(&second));
    pthread_mutex_unlock(&gate);
    wait_for(0);
    for (int i = 0; i < 9; i++)
        sam_crew_begin(c);
    expect(sam_crew_share(c) == 1, "share of eleven: %d", sam_crew_share(c));
    expect(sam_crew_hire(c, 7, &first) == 0, "none comes to eleven callers");
    sam_crew_close(&c);
    expect(!c, "closed");
}

// ---- where helpers are waked

static cpu_set_t seen; // the processors that a helper may have

static void tell_processors(void *boss, int thread)
{
    (void) thread;
    sched_getaffinity(0, sizeof(seen), &seen);
    atomic_store((atomic_int *) boss, 1);
}

static void ask_helper(struct sam_crew *c)
{
    atomic_int told = 0;

    while (!sam_crew_hire(c, 1, &told)) // it may not have left
        sched_yield();
    while (!atomic_load(&told))
        sched_yield();
}

// Not on the caller's processor, and on none that the caller may not have.
static void check_processors(void)
{
    struct sam_crew *c = sam_crew_open(2, tell_processors);
    cpu_set_t all, one, both, before;
    int count, first = 0;

    sched_getaffinity(0, sizeof(all), &all);
    count = CPU_COUNT(&all);
    while (!CPU_ISSET(first, &all))
        first++;
    ask_helper(c);
    CPU_AND(&both, &seen, &all);
    expect(CPU_EQUAL(&both, &seen) && CPU_COUNT(&seen) == (count > 1 ? count - 1 : 1),
           "a helper may have %d processors of %d", CPU_COUNT(&seen), count);
    before = seen;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof(one), &one);
    ask_helper(c);
    expect(CPU_EQUAL(&before, &seen), "the helper of a caller with one processor was moved");
    sched_setaffinity(0, sizeof(all), &all);
    sam_crew_close(&c);
}

// ---- pools

struct caller {
    struct sam_pool *pool;
    atomic_int done[ITEMS], threads_seen;
    atomic_bool disturbed;
};

static void task(void *priv, int i, int thread)
{
    struct caller *c = priv;
    volatile unsigned char *room = sam_pool_workspace(c->pool, thread);
    const unsigned char mark = (unsigned char) (i + 1);

    room[0] = mark;
    room[SAM_POOL_WORKSPACE - 1] = mark;
    sched_yield();
    if (room[0] != mark || room[SAM_POOL_WORKSPACE - 1] != mark)
        atomic_store(&c->disturbed, true);
    atomic_fetch_or(&c->threads_seen, 1 << (thread < 31 ? thread : 31));
    atomic_fetch_add(&c->done[i], 1);
}

static void *call(void *arg)
{
    struct caller *c = arg;

    for (int job = 0; job < JOBS; job++) {
        sam_pool_begin(c->pool);
        sam_pool_begin(c->pool); // they nest
        sam_pool_run(c->pool, ITEMS, task, c);
        sam_pool_end(c->pool);
        sam_pool_run(c->pool, 1, task, c);
        sam_pool_end(c->pool);
    }
    return NULL;
}

static void check_pools(int threads)
{
    static struct caller callers[POOLS];
    const int one = sam_crew_count(threads), alone = count_threads();
    const int wanted = alone + (threads ? POOLS * (threads - 1) : one - 1);
    pthread_t id[POOLS];

    for (int i = 0; i < POOLS; i++) {
        memset(&callers[i], 0, sizeof(callers[i]));
        callers[i].pool = sam_pool_open(threads);
        expect(callers[i].pool && sam_pool_threads(callers[i].pool) == one, "pool %d", i);
    }
    expect(count_threads() == wanted, "%d pools of %d: %d threads, expected %d", POOLS, threads,
           count_threads(), wanted);
    for (int i = 0; i < POOLS; i++)
        pthread_create(&id[i], NULL, call, &callers[i]);
    for (int i = 0; i < POOLS; i++)
        pthread_join(id[i], NULL);
    for (int i = 0; i < POOLS; i++) {
        for (int k = 0; k < ITEMS; k++)
            expect(callers[i].done[k] == JOBS + (k ? 0 : JOBS),
                   "item %d of pool %d was done %d times", k, i, callers[i].done[k]);
        expect(!callers[i].disturbed, "two threads in one workspace");
        expect(!(callers[i].threads_seen >> one), "threads %x of %d", callers[i].threads_seen, one);
        sam_pool_close(&callers[i].pool);
    }
    expect(count_threads() == alone, "%d threads are left of %d", count_threads(), alone);
}

static void *open_yielding(void *arg)
{
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1); // of this thread
    *(struct sam_pool **) arg = sam_pool_open(0);
    return NULL;
}

// Threads of another priority help none of this one.
static void check_priorities(void)
{
    struct sam_pool *first = sam_pool_open(0), *second = NULL;
    const int before = count_threads();
    pthread_t id;

    pthread_create(&id, NULL, open_yielding, &second);
    pthread_join(id, NULL);
    const int more = getpriority(PRIO_PROCESS, 0) < 19 ? sam_crew_count(0) - 1 : 0;
    expect(second && count_threads() == before + more, "%d threads, expected %d more than %d",
           count_threads(), more, before);
    sam_pool_close(&second);
    sam_pool_close(&first);
}

int main(void)
{
    check_hiring();
    check_processors();
    check_pools(0);
    check_pools(1);
    check_pools(4);
    check_priorities();
    return expect_status();
}
