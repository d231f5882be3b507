// SPDX-License-Identifier: MIT
// Inputs as files: in a folder of the process's own, which goes when the process ends.
#ifndef FUZZ_FOLDER_H
#define FUZZ_FOLDER_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"

enum { FUZZ_PATH = 64, FUZZ_FILES = 8 };

static char fuzz_folder[32], fuzz_paths[FUZZ_FILES][FUZZ_PATH]; // a path has 21 characters more

static void fuzz_clean(void)
{
    for (int i = 0; i < FUZZ_FILES && fuzz_paths[i][0]; i++)
        unlink(fuzz_paths[i]);
    rmdir(fuzz_folder);
}

static inline void fuzz_open_folder(void)
{
    if (fuzz_folder[0])
        return;
    strcpy(fuzz_folder, "/dev/shm/fuzz-XXXXXX"); // memory, where there is such a place
    if (!mkdtemp(fuzz_folder)) {
        strcpy(fuzz_folder, "/tmp/fuzz-XXXXXX");
        fuzz_check(mkdtemp(fuzz_folder) != NULL);
    }
    atexit(fuzz_clean);
}

// Write the bytes to the file of this name, at most 20 characters, and return its path. NULL: there
// shall be no such file.
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    int i = 0;
    fuzz_open_folder();
    snprintf(path, sizeof(path), "%s/%.20s", fuzz_folder, name);
    while (fuzz_paths[i][0] && strcmp(fuzz_paths[i], path) != 0)
        fuzz_check(++i < FUZZ_FILES);
    strcpy(fuzz_paths[i], path);
    if (!data) {
        unlink(path);
        return fuzz_paths[i];
    }
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t) size && !close(fd));
    return fuzz_paths[i];
}

#endif // FUZZ_FOLDER_H
