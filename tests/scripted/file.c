// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "scripted_priv.h"

static const char magic[8] = "scripted";

struct header {
    char magic[8];
    uint64_t hash; // of what follows
    int64_t frame, side;
    uint64_t next_id, bytes, note_bytes;
    int32_t width, height, count, most; // most: the last slot that is taken
};

struct saved_object { // and its givens
    uint64_t id;
    int64_t done, next, born;
    int32_t slot, num_given;
};

static size_t put(uint8_t *to, size_t at, const void *data, size_t bytes)
{
    if (to && bytes)
        memcpy(to + at, data, bytes);
    return at + bytes;
}

// Returns the bytes; writes nothing where `to` is NULL.
static size_t put_all(uint8_t *to, const struct sam_tracker *t, struct header *h, const void *note)
{
    size_t at = put(NULL, 0, h, sizeof(*h));

    at = put(to, at, note, h->note_bytes);
    h->count = h->most = 0;
    for (int i = 0; i < t->params.max_objects; i++) {
        const struct scripted_object *o = &t->object[i];
        const struct saved_object saved = { o->id, o->done, o->next, o->born, i, o->num_given };
        if (!o->id)
            continue;
        at = put(to, at, &saved, sizeof(saved));
        for (int j = 0; j < o->num_given; j++)
            at = put(to, at, o->given[j], sizeof(*o->given[j]));
        h->count++;
        h->most = i + 1;
    }
    return at;
}

static uint64_t hash_of(const uint8_t *data, size_t bytes)
{
    struct sam_hash hash;

    sam_hash_begin(&hash);
    sam_hash_add(&hash, data + 16, bytes - 16);
    return sam_hash_end(&hash);
}

static int write_file(const char *path, const uint8_t *data, size_t bytes)
{
    char part[4096 + 8];
    int failed;
    FILE *f;

    snprintf(part, sizeof(part), "%s.part", path);
    if (!(f = fopen(part, "wb")))
        return errno;
    failed = fwrite(data, bytes, 1, f) != 1;
    if (fclose(f) || failed || rename(part, path)) {
        failed = errno;
        remove(part);
        return failed;
    }
    return 0;
}

int scripted_save(struct sam_tracker *t, const char *path, const void *note, size_t note_bytes,
                  struct sam_error *error)
{
    struct header h = { .frame = t->frame, .side = t->masks.side, .next_id = t->next_id,
                        .note_bytes = note_bytes, .width = t->width, .height = t->height };
    struct stat st;
    uint8_t *data;
    int why;

    if (!path || !*path)
        return sam_fail(error, SAM_EINVAL, "path is %s", path ? "empty" : "NULL");
    if (!stat(path, &st) && !S_ISREG(st.st_mode))
        return sam_fail(error, SAM_EIO, "%.72s: cannot be written: expected a regular file", path);
    scripted_catch_up(t);
    memcpy(h.magic, magic, sizeof(magic));
    h.bytes = put_all(NULL, t, &h, note);
    if (!(data = malloc(h.bytes)))
        return sam_fail(error, SAM_ENOMEM, "no memory to save to %.72s", path);
    put_all(data, t, &h, note);
    memcpy(data, &h, sizeof(h));
    h.hash = hash_of(data, h.bytes);
    memcpy(data, &h, sizeof(h));
    why = write_file(path, data, h.bytes);
    free(data);
    return why ? sam_fail(error, SAM_EIO, "%.72s: cannot be written: %s", path, strerror(why))
               : SAM_OK;
}

// The whole of it; NULL: errno tells why.
static uint8_t *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    struct stat st;

    if (!f)
        return NULL;
    if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode) && (data = malloc((size_t) st.st_size + 1))) {
        *bytes = (size_t) st.st_size;
        if (*bytes && fread(data, *bytes, 1, f) != 1) {
            free(data);
            data = NULL;
        }
    }
    fclose(f);
    return data;
}

static int check(const struct sam_tracker *t, const char *path, const uint8_t *data, size_t bytes,
                 struct header *h, struct sam_error *error)
{
    if (bytes < sizeof(*h))
        return sam_fail(error, SAM_EFORMAT, "%.72s: not a saved tracker: %zu bytes", path, bytes);
    memcpy(h, data, sizeof(*h));
    if (memcmp(h->magic, magic, sizeof(magic)) || h->bytes != bytes ||
        h->hash != hash_of(data, bytes))
        return sam_fail(error, SAM_EFORMAT, "%.72s: damaged: its checksum does not fit", path);
    if (h->side != t->masks.side)
        return sam_fail(error, SAM_EFORMAT, "%.72s: saved with an input of %d px, expected %d",
                        path, (int) h->side, t->masks.side);
    if (h->count > t->params.max_objects)
        return sam_fail(error, SAM_EFULL, "%.72s: needs room for %d objects, max_objects is %d",
                        path, h->count, t->params.max_objects);
    return SAM_OK;
}

// What was checked.
static int take(struct sam_tracker *t, const struct header *h, const uint8_t *data)
{
    size_t at = sizeof(*h) + h->note_bytes;

    sam_tracker_clear(t);
    t->frame = h->frame;
    t->first_held = h->frame + 1;
    t->next_id = h->next_id;
    t->width = h->width;
    t->height = h->height;
    for (int i = 0; i < h->count; i++) {
        struct saved_object saved;
        memcpy(&saved, data + at, sizeof(saved));
        at += sizeof(saved);
        struct scripted_object *o =
            &t->object[h->most > t->params.max_objects ? i : saved.slot];
        *o = (struct scripted_object) { .id = saved.id, .done = saved.done, .next = saved.next,
                                        .born = saved.born };
        for (int j = 0; j < saved.num_given; j++) {
            struct scripted_given given;
            memcpy(&given, data + at, sizeof(given));
            at += sizeof(given);
            struct scripted_given *to = scripted_give(o, given.frame);
            if (!to)
                return SAM_ENOMEM;
            *to = given;
        }
    }
    return SAM_OK;
}

int scripted_load(struct sam_tracker *t, const char *path, sam_note_reader *reader, void *priv,
                  struct sam_error *error)
{
    size_t bytes = 0;
    struct header h;
    int status;

    if (!path || !*path)
        return sam_fail(error, SAM_EINVAL, "path is %s", path ? "empty" : "NULL");
    uint8_t *data = read_file(path, &bytes);
    if (!data)
        return sam_fail(error, SAM_EIO, "%.72s: cannot be read: %s", path, strerror(errno));
    status = check(t, path, data, bytes, &h, error);
    if (!status && reader) {
        // Aligned to 8 bytes, as a header is.
        if (reader(priv, data + sizeof(h), h.note_bytes))
            status = sam_fail(error, SAM_EFORMAT, "%.72s: its note of %d bytes was refused", path,
                              (int) h.note_bytes);
    }
    if (!status && (status = take(t, &h, data)))
        sam_fail(error, status, "no memory for the objects of %.72s", path);
    free(data);
    return status;
}
