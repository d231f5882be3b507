// SPDX-License-Identifier: MIT
#include "torchzip.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pickle.h"
#include "zip.h"

enum { MAX_ROOT = 256 }; // characters of the folder inside the zip

struct reader {
    struct sam_weight_list *list;
    struct sam_zip zip;
    const char *root; // "archive/", in the zip's directory
    size_t root_bytes;
    struct sam_error *error;
};

static bool ends_with(const struct sam_zip_member *m, const char *end)
{
    const size_t n = strlen(end);
    return m->name_bytes >= n && memcmp(m->name + m->name_bytes - n, end, n) == 0;
}

// The member <root>/data.pkl; what stands before it is the root of all others.
static int find_pickle(struct reader *r, const struct sam_zip_member **out)
{
    *out = NULL;
    for (int i = 0; i < r->zip.count; i++) {
        const struct sam_zip_member *m = &r->zip.members[i];
        if (!ends_with(m, "/data.pkl"))
            continue;
        if (*out)
            return sam_fail(r->error, SAM_EFORMAT,
                            "%s: two members are called data.pkl, expected one", r->list->file);
        *out = m;
        r->root = m->name;
        r->root_bytes = m->name_bytes - strlen("data.pkl");
    }
    if (!*out)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: a zip without a data.pkl: not made by "
                        "torch.save()",
                        r->list->file);
    if (r->root_bytes > MAX_ROOT)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: the folder of its data.pkl has a name of %zu "
                        "characters, at most %d",
                        r->list->file, r->root_bytes, MAX_ROOT);
    return SAM_OK;
}

static const struct sam_zip_member *find_member(const struct reader *r, const char *folder,
                                                const char *key, size_t key_bytes)
{
    char name[MAX_ROOT + 128];
    const size_t folder_bytes = strlen(folder);
    if (r->root_bytes + folder_bytes + key_bytes > sizeof(name))
        return NULL;
    memcpy(name, r->root, r->root_bytes);
    memcpy(name + r->root_bytes, folder, folder_bytes);
    memcpy(name + r->root_bytes + folder_bytes, key, key_bytes);
    return sam_zip_find(&r->zip, name, r->root_bytes + folder_bytes + key_bytes);
}

// Absent in older files, which were written on little-endian machines.
static int check_byte_order(const struct reader *r)
{
    const struct sam_zip_member *m = find_member(r, "", "byteorder", strlen("byteorder"));
    char order[16];
    if (!m)
        return SAM_OK;
    const size_t bytes = m->bytes < sizeof(order) ? (size_t) m->bytes : sizeof(order);
    const int status = sam_file_read(r->list->source, m->data, order, bytes, "its byte order",
                                     r->error);
    if (status)
        return status;
    if (m->bytes != 6 || memcmp(order, "little", 6) != 0)
        return sam_fail(r->error, SAM_EUNSUPPORTED, "%s: its byte order is %.*s, expected little",
                        r->list->file, (int) bytes, order);
    return SAM_OK;
}

// Whether every element lies in the storage, and there are no more of them than it holds (a
// stride of 0 could make any number of them out of one).
static bool lies_inside(const struct sam_pickle_tensor *t)
{
    const int64_t count = sam_shape_count(t->rank, t->shape);
    int64_t last = t->offset;
    if (t->offset < 0 || t->storage_count < 0 || count < 0 || count > t->storage_count)
        return false;
    for (int i = 0; i < t->rank; i++) {
        const int64_t room = t->storage_count - 1 - last, steps = t->shape[i] - 1;
        if (t->stride[i] < 0)
            return false;
        if (count && (room < 0 || (t->stride[i] && steps > room / t->stride[i])))
            return false;
        last += count ? steps * t->stride[i] : 0;
    }
    return count ? last < t->storage_count : t->offset <= t->storage_count;
}

static int add_tensor(void *priv, const struct sam_pickle_tensor *t)
{
    const struct reader *r = priv;
    const struct sam_zip_member *m = find_member(r, "data/", t->key, t->key_bytes);
    const int name_bytes = (int) t->name_bytes;
    const int status = sam_weight_name_check(r->list, t->name, t->name_bytes, r->error);
    if (status)
        return status;
    if (!m)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: tensor '%.*s': its storage 'data/%.*s' is not "
                        "in the zip",
                        r->list->file, name_bytes, t->name,
                        sam_text_cut(t->key, t->key_bytes, 40), t->key);
    if (t->storage_count < 0 || m->bytes % t->element_bytes ||
        m->bytes / t->element_bytes != (uint64_t) t->storage_count)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: tensor '%.*s': its storage should have %" PRId64
                        " numbers of %d bytes, the zip has %" PRIu64 " bytes",
                        r->list->file, name_bytes, t->name, t->storage_count, t->element_bytes,
                        m->bytes);
    if (!lies_inside(t))
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: tensor '%.*s': %s from %" PRId64
                        " on does not fit its storage of %" PRId64 " numbers",
                        r->list->file, name_bytes, t->name, sam_shape_text(t->rank, t->shape).text,
                        t->offset, t->storage_count);

    struct sam_weight w = { .word = t->word,
                            .type = t->type,
                            .rank = t->rank,
                            .at = m->data + (uint64_t) (t->offset * t->element_bytes) };
    memcpy(w.shape, t->shape, sizeof(w.shape));
    if (sam_shape_count(t->rank, t->shape)) // of nothing, no stride leads anywhere
        memcpy(w.stride, t->stride, sizeof(w.stride));
    return sam_weight_list_add(r->list, t->name, t->name_bytes, &w, r->error);
}

static int read_pickle(struct reader *r, const struct sam_zip_member *m)
{
    if (m->bytes > SAM_MAX_HEADER)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: its pickle has %" PRIu64 " bytes, more than the %d allowed",
                        r->list->file, m->bytes, SAM_MAX_HEADER);
    uint8_t *pickle = malloc(m->bytes + 1);
    if (!pickle)
        return sam_fail(r->error, SAM_ENOMEM, "%s: no memory to read its pickle", r->list->file);
    int status = sam_file_read(r->list->source, m->data, pickle, m->bytes, "its pickle", r->error);
    if (!status)
        status = sam_pickle_list(r->list->file, pickle, m->bytes, add_tensor, r, r->error);
    free(pickle);
    return status;
}

int sam_torchzip_list(struct sam_weight_list *list, struct sam_error *error)
{
    struct reader r = { .list = list, .error = error };
    int status = sam_zip_open(&r.zip, list->source, error);
    if (status)
        return status;
    const struct sam_zip_member *pickle;
    status = find_pickle(&r, &pickle);
    if (!status)
        status = check_byte_order(&r);
    if (!status)
        status = read_pickle(&r, pickle);
    sam_zip_close(&r.zip);
    return status;
}
