// SPDX-License-Identifier: MIT
// Layout and field names: PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.
#include "zip.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    END_BYTES = 22,     // end of central directory record, without comment
    LOCATOR_BYTES = 20, // zip64 end of central directory locator
    END64_BYTES = 56,   // zip64 end of central directory record
    CENTRAL_BYTES = 46, // central directory header, without its three texts
    LOCAL_BYTES = 30,   // local file header, without its two texts
    MAX_MEMBERS = 1 << 15,
    MAX_DIRECTORY = 4 << 20, // bytes; published: 70 KB
    ENCRYPTED = 1 | 1 << 6 | 1 << 13, // flags
    DESCRIPTOR = 1 << 3,              // sizes follow the data; the local header may say 0
};

#define ALL16 0xffffu
#define ALL32 0xffffffffu // "see the zip64 field"

struct zip_file {
    const struct sam_file *file;
    uint64_t directory, directory_bytes, entries;
    uint8_t *local; // room for the name and the extra field of a local header
    struct sam_error *error;
};

static uint16_t u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}

static uint32_t u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static uint64_t u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static int bad(const struct zip_file *z, const char *what)
{
    return sam_fail(z->error, SAM_EFORMAT, "%s: damaged zip: %s", z->file->label, what);
}

static int bad_member(const struct zip_file *z, const struct sam_zip_member *m, const char *what)
{
    const int n = sam_text_cut(m->name, m->name_bytes, 100);
    return sam_fail(z->error, SAM_EFORMAT, "%s: zip member '%.*s': %s", z->file->label, n,
                    m->name, what);
}

// The zip64 record and its locator, where there are both before the end record.
static int read_end64(struct zip_file *z, const uint8_t *e64, bool *one_disk)
{
    const uint8_t *locator = e64 + END64_BYTES;
    if (memcmp(e64, "PK\6\6", 4) != 0 || u64(e64 + 4) != END64_BYTES - 12)
        return bad(z, "its zip64 end record is none");
    *one_disk &= !u32(locator + 4) && u32(locator + 16) <= 1 && !u32(e64 + 16) && !u32(e64 + 20) &&
                 u64(e64 + 24) == u64(e64 + 32);
    if ((z->entries != ALL16 && z->entries != u64(e64 + 32)) ||
        (z->directory_bytes != ALL32 && z->directory_bytes != u64(e64 + 40)) ||
        (z->directory != ALL32 && z->directory != u64(e64 + 48)))
        return bad(z, "its two end records disagree");
    z->entries = u64(e64 + 32);
    z->directory_bytes = u64(e64 + 40);
    z->directory = u64(e64 + 48);
    return SAM_OK;
}

// The record at the very end says where the directory is. torch.save() writes no comment behind
// it, so the record's place is not searched for and cannot be forged.
static int read_end(struct zip_file *z)
{
    uint8_t tail[END64_BYTES + LOCATOR_BYTES + END_BYTES];
    const uint64_t size = z->file->id.size;
    if (size < END_BYTES)
        return bad(z, "it is shorter than a zip's end record");
    const size_t have = size < sizeof(tail) ? (size_t) size : sizeof(tail);
    int status = sam_file_read(z->file, size - have, tail + sizeof(tail) - have, have,
                               "its end record", z->error);
    if (status)
        return status;
    const uint64_t end = size - END_BYTES;
    const uint8_t *e = tail + sizeof(tail) - END_BYTES;
    if (memcmp(e, "PK\5\6", 4) != 0 || u16(e + 20))
        return bad(z, "expected an end record in its last 22 bytes, found none: truncated?");
    uint64_t behind = end; // what follows the directory
    z->entries = u16(e + 10);
    z->directory_bytes = u32(e + 12);
    z->directory = u32(e + 16);
    bool one_disk = !u16(e + 4) && !u16(e + 6) && u16(e + 8) == u16(e + 10);

    if (end >= LOCATOR_BYTES && memcmp(e - LOCATOR_BYTES, "PK\6\7", 4) == 0) {
        if (end < LOCATOR_BYTES + END64_BYTES ||
            u64(e - LOCATOR_BYTES + 8) != end - LOCATOR_BYTES - END64_BYTES)
            return bad(z, "its zip64 record is not where its locator must be");
        behind = end - LOCATOR_BYTES - END64_BYTES;
        status = read_end64(z, tail, &one_disk);
        if (status)
            return status;
    }
    if (!one_disk)
        return bad(z, "it spans several disks");
    if (z->directory > behind || z->directory_bytes != behind - z->directory)
        return bad(z, "its directory does not end where its end record begins");
    if (z->entries > MAX_MEMBERS || z->entries > z->directory_bytes / CENTRAL_BYTES)
        return bad(z, "its end record counts more members than its directory can hold");
    if (z->directory_bytes > MAX_DIRECTORY)
        return bad(z, "its directory has more than the 4 MiB allowed");
    return SAM_OK;
}

// The value of a 32-bit field that may stand in the zip64 extra field instead: those that do
// stand there one after the other.
static bool widen(uint64_t *value, const uint8_t *extra, size_t extra_bytes, size_t *used)
{
    if (*value != ALL32)
        return true;
    for (size_t at = 0; at + 4 <= extra_bytes;) {
        const size_t id = u16(extra + at), bytes = u16(extra + at + 2);
        if (bytes > extra_bytes - at - 4)
            return false;
        if (id == 1) {
            if (*used + 8 > bytes)
                return false;
            *value = u64(extra + at + 4 + *used);
            *used += 8;
            return true;
        }
        at += 4 + bytes;
    }
    return false;
}

// The local header must tell the same story as the directory.
static int read_local(const struct zip_file *z, struct sam_zip_member *m, unsigned flags)
{
    if (m->begin > z->directory || z->directory - m->begin < LOCAL_BYTES)
        return bad_member(z, m, "its header is outside the file");
    uint8_t l[LOCAL_BYTES];
    int status = sam_file_read(z->file, m->begin, l, sizeof(l), "a header of its zip", z->error);
    if (status)
        return status;
    const uint64_t name_bytes = u16(l + 26), extra_bytes = u16(l + 28);
    if (memcmp(l, "PK\3\4", 4) != 0)
        return bad_member(z, m, "expected its header at the offset in the directory, found none");
    if (z->directory - m->begin - LOCAL_BYTES < name_bytes + extra_bytes)
        return bad_member(z, m, "its header is outside the file");
    status = sam_file_read(z->file, m->begin + LOCAL_BYTES, z->local, name_bytes + extra_bytes,
                           "a header of its zip", z->error);
    if (status)
        return status;
    if (name_bytes != m->name_bytes || memcmp(z->local, m->name, name_bytes) != 0)
        return bad_member(z, m, "its own header has another name");
    if (u16(l + 6) != flags || u16(l + 8))
        return bad_member(z, m, "its own header has other flags or another method");

    const uint8_t *extra = z->local + name_bytes;
    uint64_t stored = u32(l + 18), size = u32(l + 22);
    size_t used = 0;
    const bool untold = (flags & DESCRIPTOR) && !stored && !size;
    if (!untold &&
        (!widen(&size, extra, extra_bytes, &used) || !widen(&stored, extra, extra_bytes, &used) ||
         size != m->bytes || stored != m->bytes))
        return bad_member(z, m, "its own header has another size");

    const uint64_t data = m->begin + LOCAL_BYTES + name_bytes + extra_bytes;
    if (m->bytes > z->directory - data)
        return bad_member(z, m, "its data run beyond the file");
    m->data = data;
    m->end = data + m->bytes;
    return SAM_OK;
}

// One entry of the directory at *at, which moves to the next.
static int read_entry(const struct zip_file *z, const uint8_t *directory, uint64_t *at,
                      struct sam_zip_member *m)
{
    const uint64_t end = z->directory_bytes;
    const uint8_t *c = directory + *at;
    if (end - *at < CENTRAL_BYTES || memcmp(c, "PK\1\2", 4) != 0)
        return bad(z, "its directory contains an invalid entry");
    const unsigned flags = u16(c + 8), method = u16(c + 10);
    const uint64_t extra_bytes = u16(c + 30), comment_bytes = u16(c + 32);
    m->name = (const char *) c + CENTRAL_BYTES;
    m->name_bytes = u16(c + 28);
    if (end - *at - CENTRAL_BYTES < m->name_bytes + extra_bytes + comment_bytes)
        return bad(z, "an entry of its directory runs beyond it");
    *at += CENTRAL_BYTES + m->name_bytes + extra_bytes + comment_bytes;

    const uint8_t *extra = (const uint8_t *) m->name + m->name_bytes;
    uint64_t stored = u32(c + 20);
    size_t used = 0;
    m->bytes = u32(c + 24);
    m->begin = u32(c + 42);
    if (!m->name_bytes || memchr(m->name, 0, m->name_bytes))
        return bad(z, "a member has no proper name");
    if (flags & ENCRYPTED)
        return bad_member(z, m, "is encrypted");
    if (method)
        return bad_member(z, m, "is compressed; torch.save() stores its members");
    if (!widen(&m->bytes, extra, extra_bytes, &used) ||
        !widen(&stored, extra, extra_bytes, &used) || !widen(&m->begin, extra, extra_bytes, &used))
        return bad_member(z, m, "its zip64 sizes are missing");
    if (stored != m->bytes)
        return bad_member(z, m, "is stored, but with two different sizes");
    if (u16(c + 34))
        return bad_member(z, m, "is on another disk");
    return read_local(z, m, flags);
}

static int compare_places(const void *a, const void *b)
{
    const struct sam_zip_member *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int compare_names(const void *a, const void *b)
{
    const struct sam_zip_member *x = a, *y = b;
    const size_t n = x->name_bytes < y->name_bytes ? x->name_bytes : y->name_bytes;
    const int order = memcmp(x->name, y->name, n);
    return order ? order : (x->name_bytes > y->name_bytes) - (x->name_bytes < y->name_bytes);
}

static int check_members(const struct zip_file *z, struct sam_zip_member *m, int count)
{
    qsort(m, count, sizeof(*m), compare_places);
    for (int i = 1; i < count; i++)
        if (m[i].begin < m[i - 1].end)
            return bad_member(z, &m[i], "overlaps another member");
    qsort(m, count, sizeof(*m), compare_names);
    for (int i = 1; i < count; i++)
        if (compare_names(&m[i - 1], &m[i]) == 0)
            return bad_member(z, &m[i], "is there twice");
    return SAM_OK;
}

static int list_members(struct sam_zip *zip, const struct zip_file *z)
{
    int status = sam_file_read(z->file, z->directory, zip->directory, z->directory_bytes,
                               "its zip directory", z->error);
    uint64_t at = 0;
    for (uint64_t i = 0; i < z->entries && !status; i++)
        status = read_entry(z, zip->directory, &at, &zip->members[i]);
    if (!status && at != z->directory_bytes)
        status = bad(z, "its directory holds more than its end record counts");
    return status ? status : check_members(z, zip->members, (int) z->entries);
}

int sam_zip_open(struct sam_zip *zip, const struct sam_file *file, struct sam_error *error)
{
    struct zip_file z = { .file = file, .error = error };
    *zip = (struct sam_zip){ 0 };
    int status = read_end(&z);
    if (status)
        return status;
    zip->members = calloc(z.entries + 1, sizeof(*zip->members));
    zip->directory = malloc(z.directory_bytes + 1);
    z.local = malloc(2 * 0xffff);
    status = zip->members && zip->directory && z.local
                 ? list_members(zip, &z)
                 : sam_fail(error, SAM_ENOMEM, "%s: no memory to list its members", file->label);
    free(z.local);
    if (status)
        sam_zip_close(zip);
    else
        zip->count = (int) z.entries;
    return status;
}

void sam_zip_close(struct sam_zip *zip)
{
    free(zip->members);
    free(zip->directory);
    *zip = (struct sam_zip){ 0 };
}

const struct sam_zip_member *sam_zip_find(const struct sam_zip *zip, const char *name,
                                          size_t name_bytes)
{
    const struct sam_zip_member key = { .name = name, .name_bytes = name_bytes };
    return bsearch(&key, zip->members, zip->count, sizeof(key), compare_names);
}
