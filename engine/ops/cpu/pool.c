// SPDX-License-Identifier: MIT
#include "ops/cpu/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// How long a thread without work looks for more before it sleeps: longer than the gap between
// two operations of one step, far shorter than the gap between two frames.
enum { SPIN_NS = 40000, MOST_SHARES = 64 };

// Items that nobody holds: [first, end), first in the lower half. A thread takes those of its own
// share from the front, and those of others from the back, so that most of a map's rows are read on
// the core that made them.
struct share {
    _Alignas(64) atomic_uint_fast64_t items;
};

struct sam_pool {
    struct sam_crew *crew;
    int begun;          // and not ended, nested
    uint8_t *workspace; // of thread 0

    // The job. Written by the caller before any share offers it, and left alone until every item
    // is done; so whoever took an item, of whatever job is on offer by then, may read it.
    void (*task)(void *priv, int i, int thread);
    void *priv;
    int count;
    atomic_int shares; // of the job, or of one before: what is not found is there the next time

    struct share share[MOST_SHARES];
    _Alignas(64) atomic_int done; // items
    atomic_bool caller_sleeps;
    _Alignas(64) atomic_int seats; // helpers that may stay; -1: the pool closes
    atomic_int hired;              // helpers that are here; written under the lock

    pthread_mutex_t lock;
    pthread_cond_t finished; // the job, or what the last helper does here
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

static bool is_open(uint64_t items)
{
    return (uint32_t) items < (uint32_t) (items >> 32);
}

static int count_shares(const struct sam_pool *p)
{
    return atomic_load_explicit(&p->shares, memory_order_relaxed);
}

static bool has_work(struct sam_pool *p)
{
    for (int i = 0, shares = count_shares(p); i < shares; i++)
        if (is_open(atomic_load_explicit(&p->share[i].items, memory_order_relaxed)))
            return true;
    return false;
}

// The first item that is left of a share, or the last; -1: none.
static int take_from(struct share *s, bool last)
{
    uint64_t items = atomic_load_explicit(&s->items, memory_order_relaxed);
    while (is_open(items)) {
        const uint64_t left = last ? items - (UINT64_C(1) << 32) : items + 1;
        if (atomic_compare_exchange_weak_explicit(&s->items, &items, left, memory_order_acquire,
                                                  memory_order_relaxed))
            return last ? (int) (left >> 32) : (int) (uint32_t) items;
    }
    return -1;
}

static int take_item(struct sam_pool *p, int thread)
{
    const int shares = count_shares(p);
    const int own = thread && shares > 1 ? 1 + (thread - 1) % (shares - 1) : 0;
    int item = take_from(&p->share[own], false);
    for (int i = 1; item < 0 && i < shares; i++)
        item = take_from(&p->share[(own + i) % shares], true);
    return item;
}

// Take items until none is left; returns whether there was one.
static bool work_off(struct sam_pool *p, int thread)
{
    int item, taken = 0;
    for (; (item = take_item(p, thread)) >= 0; taken++) {
        const int count = p->count;
        p->task(p->priv, item, thread);
        // Sequentially consistent with wait_done(): either it sees the last item, or we see
        // that it sleeps.
        if (atomic_fetch_add(&p->done, 1) + 1 == count && atomic_load(&p->caller_sleeps)) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->finished);
            pthread_mutex_unlock(&p->lock);
        }
    }
    return taken > 0;
}

static bool are_too_many(const struct sam_pool *p)
{
    return atomic_load_explicit(&p->hired, memory_order_relaxed) >
           atomic_load_explicit(&p->seats, memory_order_relaxed);
}

// Look for work for SPIN_NS. The clock is read now and then only: it costs as much as a pause.
static bool spin_for_work(struct sam_pool *p)
{
    const int64_t end = now_ns() + SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (has_work(p))
                return true;
            relax();
        }
    } while (now_ns() < end && !are_too_many(p));
    return false;
}

// What a helper does while it is hired. It does not touch the pool after it has left.
static void serve(void *boss, int thread)
{
    struct sam_pool *p = boss;
    for (bool stays = true; stays;) {
        const bool must_go = are_too_many(p);
        if (!must_go && (work_off(p, thread) || spin_for_work(p)))
            continue;
        pthread_mutex_lock(&p->lock);
        stays = must_go && !are_too_many(p); // others went
        if (!stays)
            atomic_fetch_sub(&p->hired, 1);
        if (atomic_load(&p->seats) < 0)
            pthread_cond_signal(&p->finished);
        pthread_mutex_unlock(&p->lock);
    }
}

static void hire(struct sam_pool *p, int wanted)
{
    pthread_mutex_lock(&p->lock); // before it is counted, none leaves
    atomic_fetch_add(&p->hired, sam_crew_hire(p->crew, wanted - atomic_load(&p->hired), p));
    pthread_mutex_unlock(&p->lock);
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

// The helpers' shares first, so that they do not take of the caller's before.
static void offer(struct sam_pool *p, int count, int threads)
{
    const int shares = threads < MOST_SHARES ? threads : MOST_SHARES;
    p->count = count;
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    atomic_store_explicit(&p->shares, shares, memory_order_relaxed);
    for (int i = shares - 1; i >= 0; i--) {
        const uint64_t first = (uint64_t) count * (unsigned) i / (unsigned) shares;
        const uint64_t end = (uint64_t) count * (unsigned) (i + 1) / (unsigned) shares;
        atomic_store_explicit(&p->share[i].items, end << 32 | first, memory_order_release);
    }
}

void sam_pool_run(struct sam_pool *p, int count, void (*task)(void *priv, int i, int thread),
                  void *priv)
{
    if (count <= 0)
        return;
    const int width = sam_pool_width(p), wanted = (count < width ? count : width) - 1;
    if (atomic_load_explicit(&p->seats, memory_order_relaxed) != width - 1)
        atomic_store_explicit(&p->seats, width - 1, memory_order_relaxed);
    if (wanted > atomic_load_explicit(&p->hired, memory_order_relaxed))
        hire(p, wanted);
    const int hired = atomic_load_explicit(&p->hired, memory_order_relaxed);
    if (count == 1 || !hired) {
        for (int i = 0; i < count; i++)
            task(priv, i, 0);
        return;
    }
    p->task = task;
    p->priv = priv;
    offer(p, count, hired + 1);
    work_off(p, 0);
    if (atomic_load_explicit(&p->done, memory_order_acquire) != count)
        wait_done(p, count);
}

struct sam_pool *sam_pool_open(int threads)
{
    struct sam_pool *p = aligned_alloc(64, sizeof(*p));
    if (!p)
        return NULL;
    *p = (struct sam_pool) { .begun = 0 };
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->finished, NULL);
    p->workspace = aligned_alloc(4096, SAM_POOL_WORKSPACE);
    p->crew = sam_crew_open(threads, serve);
    if (!p->workspace || !p->crew)
        sam_pool_close(&p);
    else
        memset(p->workspace, 0, SAM_POOL_WORKSPACE); // touched now, as the helpers' is
    return p;
}

void sam_pool_close(struct sam_pool **pool)
{
    struct sam_pool *p = *pool;
    *pool = NULL;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->seats, -1);
    while (atomic_load(&p->hired))
        pthread_cond_wait(&p->finished, &p->lock);
    pthread_mutex_unlock(&p->lock);
    sam_crew_close(&p->crew);
    pthread_cond_destroy(&p->finished);
    pthread_mutex_destroy(&p->lock);
    free(p->workspace);
    free(p);
}

int sam_pool_threads(const struct sam_pool *p)
{
    return sam_crew_threads(p->crew);
}

size_t sam_pool_bytes(const struct sam_pool *p)
{
    return sizeof(*p) + SAM_POOL_WORKSPACE + sam_crew_bytes(p->crew);
}

struct sam_places_list *sam_pool_places(struct sam_pool *p)
{
    return sam_crew_places(p->crew);
}

void sam_pool_begin(struct sam_pool *p)
{
    if (p->begun++ == 0)
        sam_crew_begin(p->crew);
}

void sam_pool_end(struct sam_pool *p)
{
    if (--p->begun == 0)
        sam_crew_end(p->crew);
}

int sam_pool_width(const struct sam_pool *p)
{
    return sam_crew_share(p->crew);
}

void *sam_pool_workspace(struct sam_pool *p, int thread)
{
    return thread ? sam_crew_workspace(p->crew, thread) : p->workspace;
}
