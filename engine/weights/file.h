// SPDX-License-Identifier: MIT
// A file opened for reading. It is read, not mapped: if the file is truncated meanwhile, a read
// fails with an error, while access to a mapping would raise SIGBUS.
#ifndef SAM_FILE_H
#define SAM_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/log.h"

// Identifies a file and its version.
struct sam_file_id {
    dev_t dev;
    ino_t ino;
    uint64_t size; // bytes
    struct timespec time; // of its last modification
};

struct sam_file {
    const char *label; // its name in error texts; the caller's, must outlive the struct
    int fd;            // -1: closed
    struct sam_file_id id; // at the time of opening
};

// Open a regular file. `what` names its kind in error texts ("weights file"). SAM_ENOTFOUND: there
// is no file of this name. SAM_EIO: it cannot be opened, or is not a regular file. On failure
// f->fd is -1.
int sam_file_open(struct sam_file *f, const char *path, const char *label, const char *what,
                  struct sam_error *error);

// Close it. Does nothing if f->fd is -1.
void sam_file_close(struct sam_file *f);

// Read `bytes` bytes at offset `at` to dst. `part` names them in error texts. SAM_EFORMAT: the file
// ends before them. SAM_EIO: the read failed. After a failure dst is undefined.
int sam_file_read(const struct sam_file *f, uint64_t at, void *dst, size_t bytes, const char *part,
                  struct sam_error *error);

// SAM_EIO if the file was modified since it was opened, so that the data read may be
// inconsistent.
int sam_file_unchanged(const struct sam_file *f, struct sam_error *error);

bool sam_file_same(const struct sam_file_id *a, const struct sam_file_id *b);

#endif // SAM_FILE_H
