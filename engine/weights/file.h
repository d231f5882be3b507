// A file of the user's, open for reading. Its bytes are read, never mapped: where the file has
// become shorter meanwhile, a read fails with a sentence, and a mapping would raise SIGBUS.
#ifndef SAM_FILE_H
#define SAM_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/log.h"

// Which file it is, and which version of it.
struct sam_file_id {
    dev_t dev;
    ino_t ino;
    uint64_t size; // bytes
    struct timespec time; // of its last modification
};

struct sam_file {
    const char *label; // its name in sentences; the caller keeps it
    int fd;            // -1: closed
    struct sam_file_id id; // when it was opened
};

// Open a regular file, which should be a `what` ("weights file"). SAM_ENOTFOUND: there is no file
// of this name; SAM_EIO: it cannot be opened, or is a folder, a FIFO, a device. On failure
// f->fd is -1.
int sam_file_open(struct sam_file *f, const char *path, const char *label, const char *what,
                  struct sam_error *error);

// Close it. A file whose fd is -1 is left alone.
void sam_file_close(struct sam_file *f);

// Read `bytes` bytes from byte `at` on into dst. `part` names them in the sentence. SAM_EFORMAT:
// the file ends before them. SAM_EIO: the system cannot read them. A failure leaves dst undefined.
int sam_file_read(const struct sam_file *f, uint64_t at, void *dst, size_t bytes, const char *part,
                  struct sam_error *error);

// SAM_EIO if the file was written to since it was opened: what was read before and after that may
// not belong together.
int sam_file_unchanged(const struct sam_file *f, struct sam_error *error);

bool sam_file_same(const struct sam_file_id *a, const struct sam_file_id *b);

#endif // SAM_FILE_H
