// SPDX-License-Identifier: MIT
// Memory between pages that fault. No address is used twice, so that what was freed faults, too.
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "guarded.h"

enum { PAGE = 4096 };

struct block {
    struct block *next;
    uint8_t *map, *begin; // begin + bytes, rounded up to SAM_ALIGN, is the end of the pages
    size_t mapped, bytes;
    bool is_live;
};

static pthread_mutex_t mutex;
static struct block *blocks;
static size_t used;
static int entered;
static _Thread_local const char *now; // what this thread does with the memory
static const size_t total = (size_t) 8 << 30;

void guarded_finding(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("guarded device: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    _exit(GUARDED_STATUS);
}

static struct block *owner(const uint8_t *p)
{
    for (struct block *b = blocks; b; b = b->next)
        if (p >= b->map - PAGE && p < b->map + b->mapped + PAGE)
            return b;
    return NULL;
}

// The program ends here, whatever was locked.
static void fault(int number, siginfo_t *info, void *context)
{
    const uint8_t *p = info->si_addr;
    const struct block *b = owner(p);
    const char *who = entered && now ? now : "the host";

    if (!b) { // not ours
        signal(number, SIG_DFL);
        return;
    }
    if (b->is_live && p >= b->begin && p < b->begin + b->bytes)
        guarded_finding("%s touches byte %zu of memory of %zu bytes", who,
                        (size_t) (p - b->begin), b->bytes);
    if (p < b->begin)
        guarded_finding("%s touches what is %zu bytes ahead of %smemory of %zu bytes", who,
                        (size_t) (b->begin - p), b->is_live ? "" : "freed ", b->bytes);
    guarded_finding("%s touches byte %zu of %smemory of %zu bytes", who,
                    (size_t) (p - b->begin), b->is_live ? "" : "freed ", b->bytes);
}

static void expect_freed(void)
{
    for (const struct block *b = blocks; b; b = b->next)
        if (b->is_live)
            guarded_finding("memory of %zu bytes was never freed", b->bytes);
}

static void begin(void)
{
    const struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &attributes);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    atexit(expect_freed);
}

static void lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, begin);
    pthread_mutex_lock(&mutex);
}

static void check_bytes(const struct block *b, const uint8_t *from, const uint8_t *to,
                        const char *who)
{
    for (const uint8_t *p = from; p < to; p++)
        if (*p != 0xff)
            guarded_finding("%s wrote %zu bytes %s memory of %zu bytes", who,
                            (size_t) (p < b->begin ? b->begin - p : p - (b->begin + b->bytes)),
                            p < b->begin ? "ahead of" : "past the end of", b->bytes);
}

// The pages hold more than what was asked for: bytes on both sides that nobody may write.
static void check_slack(const struct block *b, const char *who)
{
    check_bytes(b, b->map, b->begin, who);
    check_bytes(b, b->begin + b->bytes, b->map + b->mapped, who);
}

static void protect(const struct block *b, int how)
{
    if (mprotect(b->map, b->mapped, how)) {
        perror("mprotect");
        abort();
    }
}

void guarded_enter(void)
{
    lock();
    if (!entered++)
        for (const struct block *b = blocks; b; b = b->next)
            if (b->is_live)
                protect(b, PROT_READ | PROT_WRITE);
}

void guarded_leave(void)
{
    now = NULL;
    if (!--entered)
        for (const struct block *b = blocks; b; b = b->next)
            if (b->is_live)
                protect(b, PROT_NONE);
    pthread_mutex_unlock(&mutex);
}

void guarded_now(const char *what)
{
    for (const struct block *b = blocks; b && now; b = b->next)
        if (b->is_live)
            check_slack(b, now);
    now = what;
}

void *guarded_alloc(size_t bytes)
{
    const size_t rounded = (bytes + SAM_ALIGN - 1) / SAM_ALIGN * SAM_ALIGN;
    const size_t mapped = (rounded + PAGE - 1) / PAGE * PAGE;
    uint8_t *map = NULL;
    struct block *b = NULL;

    lock();
    if (bytes <= total - used && (b = calloc(1, sizeof(*b))))
        map = mmap(NULL, mapped + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!b || map == MAP_FAILED) {
        free(b);
        pthread_mutex_unlock(&mutex);
        return NULL;
    }
    map += PAGE;
    *b = (struct block) { blocks, map, map + mapped - rounded, mapped, bytes, true };
    protect(b, PROT_READ | PROT_WRITE);
    memset(map, 0xff, mapped); // a NaN in every float format, -1 in integers
    if (!entered)
        protect(b, PROT_NONE);
    blocks = b;
    used += bytes;
    pthread_mutex_unlock(&mutex);
    return b->begin;
}

void guarded_free(void *data)
{
    struct block *b;

    lock();
    b = data ? owner(data) : NULL;
    if (data && (!b || !b->is_live || b->begin != data))
        guarded_finding("what is freed is no memory of the device");
    if (b) {
        protect(b, PROT_READ);
        check_slack(b, "an operation");
        protect(b, PROT_NONE);
        madvise(b->map, b->mapped, MADV_DONTNEED);
        b->is_live = false;
        used -= b->bytes;
    }
    pthread_mutex_unlock(&mutex);
}

size_t guarded_left(void)
{
    lock();
    const size_t left = total - used;
    pthread_mutex_unlock(&mutex);
    return left;
}

bool guarded_holds(const void *p)
{
    const uint8_t *at = p;

    lock();
    const struct block *b = owner(at);
    const bool holds = b && b->is_live && at >= b->begin && at < b->begin + b->bytes;
    pthread_mutex_unlock(&mutex);
    return holds;
}
