// SPDX-License-Identifier: MIT
// Loaded ahead of a program: the KILL_AT-th call that changes names or waits for the disk kills it,
// before the call or, with KILL_AFTER, behind it. With CLOCK_SHIFT its clock is so many seconds
// ahead, as that of another node may be.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_int calls;

static void count(int behind)
{
    const char *at = getenv("KILL_AT");
    const int is_behind = getenv("KILL_AFTER") != NULL;
    if (!at || behind != is_behind)
        return;
    if (atomic_fetch_add(&calls, 1) + 1 == atoi(at))
        raise(SIGKILL);
}

#define WRAP(type, name, parameters, arguments)                                                \
    type name parameters                                                                       \
    {                                                                                          \
        static type (*next) parameters;                                                        \
        if (!next)                                                                             \
            *(void **) &next = dlsym(RTLD_NEXT, #name);                                        \
        count(0);                                                                              \
        const type result = next arguments;                                                    \
        count(1);                                                                              \
        return result;                                                                         \
    }

WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(int, unlink, (const char *path), (path))
WRAP(int, rmdir, (const char *path), (path))
WRAP(int, remove, (const char *path), (path))

static time_t get_shift(void)
{
    const char *shift = getenv("CLOCK_SHIFT");
    return shift ? atol(shift) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    static int (*next)(clockid_t, struct timespec *);
    if (!next)
        *(void **) &next = dlsym(RTLD_NEXT, "clock_gettime");
    const int status = next(clock, t);
    if (!status && clock == CLOCK_REALTIME)
        t->tv_sec += get_shift();
    return status;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    const int status = clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval) { now.tv_sec, now.tv_nsec / 1000 };
    return status;
}

time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}
