// SPDX-License-Identifier: MIT
#include "standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name;
static bool told;

static const char *flush(void)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return NULL;
    return errno ? strerror(errno) : "some of it is lost"; // by a printf() long ago
}

const char *standard_flush(void)
{
    const char *why = flush();

    told = told || why;
    return why;
}

static void on_exit_flush(void)
{
    const char *why = flush();

    if (why && !told)
        fprintf(stderr, "%s: cannot write to standard output: %s\n", name, why);
    if (why)
        _exit(1);
}

void standard_begin(const char *program)
{
    // No file of ours may take the place of one that was closed. What is written to it, or read
    // from it, must still fail: so it is opened for the other. open() takes the lowest number.
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
            break;
    name = program;
    atexit(on_exit_flush);
}
