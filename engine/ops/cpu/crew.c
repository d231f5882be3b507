// SPDX-License-Identifier: MIT
#define _GNU_SOURCE // sched_getaffinity, sched_getcpu

#include "ops/cpu/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ops/cpu/quota.h"
#include "samtrack/samtrack.h"

// What the threads of a crew inherit of the thread that opens it. A child of fork() has none of the
// threads of its parent.
struct key {
    cpu_set_t set;
    pid_t process;
    int threads, nice, policy;
};

struct helper {
    struct sam_crew *crew;
    pthread_t id;
    pthread_cond_t hired;
    void *boss; // NULL: it sleeps
    int thread;
};

struct sam_crew {
    struct key key;
    bool is_shared;
    int users; // of the shared one: under crews.lock
    struct sam_places_list places; // of the shared one
    struct sam_crew *next;

    void (*serve)(void *boss, int thread);
    atomic_int busy; // callers that have work
    int threads, started;
    uint8_t *workspace; // of the helpers

    pthread_mutex_t lock; // of what follows, and of every boss; never held while one serves
    bool quit;
    int idle; // helpers in free[]
    int free[SAM_MAX_THREADS];
    struct helper helper[]; // by thread; the first one is the caller
};

// Those that callers share: the other global of the engine is the cache of models.
static struct {
    pthread_mutex_t lock;
    struct sam_crew *first;
} crews = { PTHREAD_MUTEX_INITIALIZER, NULL };

static struct key make_key(void)
{
    struct key key;

    memset(&key, 0, sizeof(key)); // it is compared as bytes
    if (sched_getaffinity(0, sizeof(key.set), &key.set))
        CPU_ZERO(&key.set);
    const int quota = sam_cpu_quota("");
    const int given = CPU_COUNT(&key.set);
    const int n = quota && quota < given ? quota : given;
    key.threads = n < 1 ? 1 : n < SAM_MAX_THREADS ? n : SAM_MAX_THREADS;
    key.process = getpid();
    key.nice = getpriority(PRIO_PROCESS, 0); // of the thread
    key.policy = sched_getscheduler(0);
    return key;
}

static void *helper_main(void *arg)
{
    struct helper *h = arg;
    struct sam_crew *c = h->crew;

    pthread_mutex_lock(&c->lock);
    while (!c->quit) {
        void *boss = h->boss;
        if (!boss) {
            pthread_cond_wait(&h->hired, &c->lock);
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        c->serve(boss, h->thread);
        pthread_mutex_lock(&c->lock);
        h->boss = NULL;
        c->free[c->idle++] = h->thread;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void destroy(struct sam_crew *c)
{
    pthread_mutex_lock(&c->lock);
    c->quit = true;
    for (int i = 1; i <= c->started; i++)
        pthread_cond_signal(&c->helper[i].hired);
    pthread_mutex_unlock(&c->lock);
    for (int i = 1; i <= c->started; i++) {
        pthread_join(c->helper[i].id, NULL);
        pthread_cond_destroy(&c->helper[i].hired);
    }
    if (c->is_shared)
        sam_places_list_end(&c->places);
    pthread_mutex_destroy(&c->lock);
    free(c->workspace);
    free(c);
}

static size_t helpers_bytes(int threads)
{
    return (size_t) (threads - 1) * SAM_POOL_WORKSPACE;
}

static struct sam_crew *create(int threads, void (*serve)(void *boss, int thread))
{
    struct sam_crew *c = calloc(1, sizeof(*c) + (size_t) threads * sizeof(struct helper));

    if (!c)
        return NULL;
    c->threads = threads;
    c->serve = serve;
    pthread_mutex_init(&c->lock, NULL);
    // Touched now: memory is taken when a tracker opens, not by some later frame.
    if (threads > 1 && !(c->workspace = aligned_alloc(4096, helpers_bytes(threads))))
        goto error;
    if (threads > 1)
        memset(c->workspace, 0, helpers_bytes(threads));
    for (int i = 1; i < threads; i++) {
        c->helper[i] = (struct helper) { .crew = c, .thread = i };
        pthread_cond_init(&c->helper[i].hired, NULL);
        if (pthread_create(&c->helper[i].id, NULL, helper_main, &c->helper[i])) {
            pthread_cond_destroy(&c->helper[i].hired);
            goto error;
        }
        c->started = i;
    }
    pthread_mutex_lock(&c->lock);
    for (int i = threads - 1; i > 0; i--)
        c->free[c->idle++] = i;
    pthread_mutex_unlock(&c->lock);
    return c;
error:
    destroy(c);
    return NULL;
}

static struct sam_crew *join_shared(void (*serve)(void *boss, int thread))
{
    const struct key key = make_key();
    struct sam_crew *c;

    pthread_mutex_lock(&crews.lock);
    for (c = crews.first; c && memcmp(&c->key, &key, sizeof(key)); c = c->next)
        ;
    if (!c && (c = create(key.threads, serve))) {
        c->key = key;
        c->is_shared = true;
        sam_places_list_init(&c->places, c->threads);
        c->next = crews.first;
        crews.first = c;
    }
    if (c)
        c->users++;
    pthread_mutex_unlock(&crews.lock);
    return c;
}

// Whether it was the last one.
static bool part_from_shared(struct sam_crew *c)
{
    struct sam_crew **at = &crews.first;

    pthread_mutex_lock(&crews.lock);
    const bool was_last = --c->users == 0;
    while (was_last && *at != c)
        at = &(*at)->next;
    if (was_last)
        *at = c->next;
    pthread_mutex_unlock(&crews.lock);
    return was_last;
}

struct sam_crew *sam_crew_open(int threads, void (*serve)(void *boss, int thread))
{
    return threads > 0 ? create(threads, serve) : join_shared(serve);
}

void sam_crew_close(struct sam_crew **crew)
{
    struct sam_crew *c = *crew;

    *crew = NULL;
    if (c && (!c->is_shared || part_from_shared(c)))
        destroy(c);
}

int sam_crew_count(int threads)
{
    return threads > 0 ? threads : make_key().threads;
}

int sam_crew_threads(const struct sam_crew *c)
{
    return c->threads;
}

struct sam_places_list *sam_crew_places(struct sam_crew *c)
{
    return c->is_shared ? &c->places : NULL;
}

size_t sam_crew_bytes(const struct sam_crew *c)
{
    return sizeof(*c) + (size_t) c->threads * sizeof(struct helper) + helpers_bytes(c->threads);
}

void sam_crew_begin(struct sam_crew *c)
{
    atomic_fetch_add_explicit(&c->busy, 1, memory_order_relaxed);
}

void sam_crew_end(struct sam_crew *c)
{
    atomic_fetch_sub_explicit(&c->busy, 1, memory_order_relaxed);
}

int sam_crew_share(const struct sam_crew *c)
{
    const int busy = atomic_load_explicit(&c->busy, memory_order_relaxed);

    return busy > 1 ? (c->threads + busy - 1) / busy : c->threads;
}

// Every processor that the caller may have but the one that it is on. A helper that is waked is put
// where it slept, or where the caller is. If something else keeps the other processors busy, of
// however low a priority, it waits there until the caller has done its work, too, and is not moved,
// since it hardly ever runs.
static bool find_others(cpu_set_t *others)
{
    const int own = sched_getcpu();

    if (own < 0 || sched_getaffinity(0, sizeof(*others), others))
        return false;
    CPU_CLR(own, others);
    return CPU_COUNT(others) > 0;
}

int sam_crew_hire(struct sam_crew *c, int count, void *boss)
{
    cpu_set_t others;
    int hired = 0;

    pthread_mutex_lock(&c->lock);
    // Callers and helpers are as many as processors, at most: the caller itself is one of the busy.
    const int busy = atomic_load_explicit(&c->busy, memory_order_relaxed);
    const int at_work = c->threads - 1 - c->idle;
    const int most = c->threads - (busy > 1 ? busy : 1) - at_work;
    const bool has_others = count > 0 && most > 0 && c->idle && find_others(&others);
    for (; hired < count && hired < most && c->idle; hired++) {
        struct helper *h = &c->helper[c->free[--c->idle]];
        h->boss = boss;
        if (has_others)
            pthread_setaffinity_np(h->id, sizeof(others), &others);
        pthread_cond_signal(&h->hired);
    }
    pthread_mutex_unlock(&c->lock);
    return hired;
}

void *sam_crew_workspace(struct sam_crew *c, int thread)
{
    return c->workspace + (size_t) (thread - 1) * SAM_POOL_WORKSPACE;
}
