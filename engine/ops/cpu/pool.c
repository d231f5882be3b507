// SPDX-License-Identifier: MIT
#define _GNU_SOURCE // sched_getaffinity

#include "ops/cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ops/cpu/quota.h"
#include "samtrack/samtrack.h"

// How long a thread without work looks for more before it sleeps: longer than the gap between
// two operations of one step, far shorter than the gap between two frames.
enum { SPIN_NS = 40000 };

struct sam_pool;

struct worker {
    struct sam_pool *pool;
    pthread_t id;
    int thread;
};

struct sam_pool {
    int threads, started;
    uint8_t *workspace;

    // The job. Written by the caller before `ticket` offers it, and left alone until every item
    // is done; so whoever holds an item may read it.
    void (*task)(void *priv, int i, int thread);
    void *priv;

    // Items of the job in the upper half, the next one nobody holds in the lower. An increment
    // that finds next < count owns that item, of whatever job is on offer by then.
    _Alignas(64) atomic_uint_fast64_t ticket;
    _Alignas(64) atomic_int done; // items
    atomic_int sleepers;          // workers asleep
    atomic_bool caller_sleeps, quit;

    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    struct worker worker[];
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int count_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set))
        return 1;
    const int quota = sam_cpu_quota("");
    const int given = CPU_COUNT(&set);
    const int n = quota && quota < given ? quota : given;
    return n < 1 ? 1 : n < SAM_MAX_THREADS ? n : SAM_MAX_THREADS;
}

static bool is_open(uint64_t ticket)
{
    return (uint32_t) ticket < (uint32_t) (ticket >> 32);
}

// Take items until none is left; returns whether there was one.
static bool work_off(struct sam_pool *p, int thread)
{
    bool any = false;
    while (is_open(atomic_load_explicit(&p->ticket, memory_order_relaxed))) {
        const uint64_t t = atomic_fetch_add_explicit(&p->ticket, 1, memory_order_acquire);
        if (!is_open(t))
            break;
        const int count = (int) (t >> 32);
        p->task(p->priv, (int) (uint32_t) t, thread);
        any = true;
        // Sequentially consistent with wait_done(): either it sees the last item, or we see
        // that it sleeps.
        if (atomic_fetch_add(&p->done, 1) + 1 == count && atomic_load(&p->caller_sleeps)) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->finished);
            pthread_mutex_unlock(&p->lock);
        }
    }
    return any;
}

// Look for work for SPIN_NS. The clock is read now and then only: it costs as much as a pause.
static bool spin_for_work(struct sam_pool *p)
{
    const int64_t end = now_ns() + SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (is_open(atomic_load_explicit(&p->ticket, memory_order_relaxed)))
                return true;
            relax();
        }
    } while (now_ns() < end);
    return false;
}

static void sleep_until_work(struct sam_pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (!is_open(atomic_load(&p->ticket)) && !atomic_load(&p->quit))
        pthread_cond_wait(&p->work, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct sam_pool *p = w->pool;
    while (!atomic_load_explicit(&p->quit, memory_order_relaxed)) {
        if (!work_off(p, w->thread) && !spin_for_work(p))
            sleep_until_work(p);
    }
    return NULL;
}

static void wait_done(struct sam_pool *p, int count)
{
    const int64_t end = now_ns() + SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(&p->done, memory_order_acquire) == count)
                return;
            relax();
        }
    } while (now_ns() < end);

    pthread_mutex_lock(&p->lock);
    atomic_store(&p->caller_sleeps, true);
    while (atomic_load(&p->done) != count)
        pthread_cond_wait(&p->finished, &p->lock);
    atomic_store(&p->caller_sleeps, false);
    pthread_mutex_unlock(&p->lock);
}

void sam_pool_run(struct sam_pool *p, int count, void (*task)(void *priv, int i, int thread),
                  void *priv)
{
    if (count <= 0)
        return;
    if (count == 1 || p->threads == 1) {
        for (int i = 0; i < count; i++)
            task(priv, i, 0);
        return;
    }
    p->task = task;
    p->priv = priv;
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    // Sequentially consistent with sleep_until_work(): either it sees the job, or we see it asleep.
    atomic_store(&p->ticket, (uint64_t) count << 32);
    if (atomic_load(&p->sleepers)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->work);
        pthread_mutex_unlock(&p->lock);
    }
    work_off(p, 0);
    if (atomic_load_explicit(&p->done, memory_order_acquire) != count)
        wait_done(p, count);
}

static size_t struct_bytes(int threads)
{
    return (sizeof(struct sam_pool) + (size_t) threads * sizeof(struct worker) + 63) & ~(size_t) 63;
}

struct sam_pool *sam_pool_open(int threads)
{
    if (threads <= 0)
        threads = count_processors();
    struct sam_pool *p = aligned_alloc(64, struct_bytes(threads));
    if (!p)
        return NULL;
    *p = (struct sam_pool) { .threads = threads };
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->finished, NULL);
    p->workspace = aligned_alloc(4096, (size_t) threads * SAM_POOL_WORKSPACE);
    if (!p->workspace)
        goto error;
    // Touched now: memory is taken when a tracker opens, not by some later frame.
    memset(p->workspace, 0, (size_t) threads * SAM_POOL_WORKSPACE);
    for (int i = 1; i < threads; i++) {
        p->worker[i] = (struct worker) { .pool = p, .thread = i };
        if (pthread_create(&p->worker[i].id, NULL, worker_main, &p->worker[i]))
            goto error;
        p->started++;
    }
    return p;
error:
    sam_pool_close(&p);
    return NULL;
}

void sam_pool_close(struct sam_pool **pool)
{
    struct sam_pool *p = *pool;
    *pool = NULL;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->quit, true);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 1; i <= p->started; i++)
        pthread_join(p->worker[i].id, NULL);
    pthread_cond_destroy(&p->finished);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p->workspace);
    free(p);
}

int sam_pool_threads(const struct sam_pool *p)
{
    return p->threads;
}

size_t sam_pool_bytes(int threads)
{
    if (threads <= 0)
        threads = count_processors();
    return struct_bytes(threads) + (size_t) threads * SAM_POOL_WORKSPACE;
}

void *sam_pool_workspace(struct sam_pool *p, int thread)
{
    return p->workspace + (size_t) thread * SAM_POOL_WORKSPACE;
}
