// SPDX-License-Identifier: MIT
// Loaded ahead of a program: the KILL_AT-th call that changes names or waits for the disk kills it,
// before the call or, with KILL_AFTER, behind it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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
