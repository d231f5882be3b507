// SPDX-License-Identifier: MIT
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sam_file_id id_of(const struct stat *st)
{
    return (struct sam_file_id) { st->st_dev, st->st_ino, (uint64_t) st->st_size, st->st_mtim };
}

bool sam_file_same(const struct sam_file_id *a, const struct sam_file_id *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->time.tv_sec == b->time.tv_sec && a->time.tv_nsec == b->time.tv_nsec;
}

int sam_file_open(struct sam_file *f, const char *path, const char *label, const char *what,
                  struct sam_error *error)
{
    struct stat st;
    int status = SAM_OK;

    // O_NONBLOCK: a FIFO must not make us wait for its writer.
    *f = (struct sam_file) { .label = label,
                             .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    if (f->fd < 0) // no file has a name that is too long
        return sam_fail(error, errno == ENOENT || errno == ENAMETOOLONG ? SAM_ENOTFOUND : SAM_EIO,
                        "%s: cannot open the %s: %s", label, what, strerror(errno));
    if (fstat(f->fd, &st))
        status = sam_fail(error, SAM_EIO, "%s: cannot read the %s: %s", label, what,
                          strerror(errno));
    else if (!S_ISREG(st.st_mode))
        status = sam_fail(error, SAM_EIO, "%s: expected a %s, found %s", label, what,
                          S_ISDIR(st.st_mode) ? "a folder" : "something that is not a regular "
                          "file");
    if (status)
        sam_file_close(f);
    else
        f->id = id_of(&st);
    return status;
}

void sam_file_close(struct sam_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

// Nothing is left at byte `at`.
static int fail_short(const struct sam_file *f, uint64_t at, const char *part,
                      struct sam_error *error)
{
    struct stat st;
    const uint64_t now = fstat(f->fd, &st) ? at : (uint64_t) st.st_size;

    return sam_fail(error, SAM_EFORMAT, "%s: %s: expected a file of %" PRIu64
                    " bytes, found %" PRIu64 ": it was shortened while it was read",
                    f->label, part, f->id.size, now < at ? now : at);
}

int sam_file_read(const struct sam_file *f, uint64_t at, void *dst, size_t bytes, const char *part,
                  struct sam_error *error)
{
    uint8_t *p = dst;

    while (bytes) {
        const ssize_t got = pread(f->fd, p, bytes, (off_t) at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sam_fail(error, SAM_EIO, "%s: %s: cannot read %zu bytes at byte %" PRIu64
                            ": %s", f->label, part, bytes, at, strerror(errno));
        if (!got)
            return fail_short(f, at, part, error);
        p += got;
        at += (uint64_t) got;
        bytes -= (size_t) got;
    }
    return SAM_OK;
}

int sam_file_unchanged(const struct sam_file *f, struct sam_error *error)
{
    struct stat st;

    if (fstat(f->fd, &st))
        return sam_fail(error, SAM_EIO, "%s: cannot ask for its size again: %s", f->label,
                        strerror(errno));
    const struct sam_file_id now = id_of(&st);
    if (sam_file_same(&f->id, &now))
        return SAM_OK;
    return sam_fail(error, SAM_EIO, "%s: it was written to while it was read: expected the "
                    "%" PRIu64 " bytes that were opened, found %" PRIu64 " bytes of a later time",
                    f->label, f->id.size, now.size);
}
