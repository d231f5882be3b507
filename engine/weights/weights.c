// SPDX-License-Identifier: MIT
#include "weights.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "names.h"
#include "safetensors.h"
#include "torchzip.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "weights are read as they lie in the file");

enum {
    MAX_CONFIG = 1 << 20, // bytes of a JSON file beside the weights; published: 5 KB
    MAX_LABEL = 72,       // characters of a path in a sentence
    CHUNK = 32 << 10,     // bytes of a tensor that are read at once to be converted
};

struct sam_weights {
    struct sam_weight_list list; // items sorted by name
    char label[MAX_LABEL + 1];
    char config_label[MAX_LABEL + 24];
    struct sam_file file;
};

// The end of a long path: the name is what tells.
static void shorten(char *label, const char *path)
{
    const bool fits = strlen(path) <= MAX_LABEL;
    snprintf(label, MAX_LABEL + 1, "%s%s", fits ? "" : "...",
             fits ? path : sam_text_end(path, MAX_LABEL - 3));
}

// --- the list -----------------------------------------------------------------------------------

static void free_names(struct sam_weight *w)
{
    free((char *) w->name);
    free((char *) w->stored);
}

static int rename_item(struct sam_weight_list *list, struct sam_weight *w, const char *name,
                       struct sam_error *error)
{
    char *copy = strdup(name);
    if (!copy)
        return sam_fail(error, SAM_ENOMEM, "%s: no memory to name its tensors", list->file);
    free((char *) w->name);
    w->name = copy;
    return SAM_OK;
}

// The rows of a (rows, d) tensor become tensors of (1, d), named by the rule with the number of the
// row for %d; the first takes the item's place.
static int split_rows(struct sam_weight_list *list, int i, const struct sam_name_rule *rule,
                      struct sam_error *error)
{
    const struct sam_weight whole = list->items[i];
    const size_t size = whole.type == SAM_WEIGHT_OTHER ? 0 : sam_type_size(whole.type);
    if (whole.rank != 2 || whole.shape[0] != rule->rows || !size)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '%s': expected %d rows of numbers, got %s %s", list->file,
                        whole.stored, rule->rows, whole.word,
                        sam_shape_text(whole.rank, whole.shape).text);
    for (int row = 0; row < rule->rows; row++) {
        struct sam_weight w = whole;
        char name[2 * SAM_MAX_NAME];
        w.shape[0] = 1;
        w.at += row * (uint64_t) whole.stride[0] * size;
        if (row) {
            const int status =
                sam_weight_list_add(list, whole.stored, strlen(whole.stored), &w, error);
            if (status)
                return status;
        } else {
            list->items[i].shape[0] = 1;
        }
        sam_name_of_row(rule, row, name, sizeof(name));
        const int status = rename_item(list, &list->items[row ? list->count - 1 : i], name, error);
        if (status)
            return status;
    }
    return SAM_OK;
}

// Returns through *foreign whether any tensor has another name in the file.
static int rename_all(struct sam_weight_list *list, const struct sam_names *names, bool *foreign,
                      struct sam_error *error)
{
    const int n = list->count;
    for (int i = 0; i < n; i++) {
        char name[2 * SAM_MAX_NAME];
        const struct sam_name_rule *rule =
            sam_names_find(names, list->items[i].name, name, sizeof(name));
        if (!rule)
            continue;
        const int status = rule->rows ? split_rows(list, i, rule, error)
                                      : rename_item(list, &list->items[i], name, error);
        if (status)
            return status;
        *foreign = true;
    }
    return SAM_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct sam_weight *) a)->name, ((const struct sam_weight *) b)->name);
}

static bool is_dense(const struct sam_weight *w)
{
    int64_t stride = 1;
    for (int i = w->rank - 1; i >= 0; i--) {
        if (w->shape[i] > 1 && w->stride[i] != stride)
            return false;
        stride *= w->shape[i];
    }
    return true;
}

static int read_part(const struct sam_weight_list *list, const struct sam_weight *w, uint64_t at,
                     void *dst, size_t bytes, struct sam_error *error)
{
    char part[SAM_MAX_NAME + 16];
    snprintf(part, sizeof(part), "tensor '%s'", w->stored);
    return sam_file_read(list->source, w->at + at, dst, bytes, part, error);
}

// Hugging Face writes the matrix of the position code twice, tied: whether these are two such.
static int compare_twins(const struct sam_weight_list *list, const struct sam_weight *a,
                         const struct sam_weight *b, bool *same, struct sam_error *error)
{
    uint8_t x[CHUNK], y[CHUNK];
    *same = strcmp(a->stored, b->stored) != 0 && a->type == b->type && a->rank == b->rank &&
            a->type != SAM_WEIGHT_OTHER && is_dense(a) && is_dense(b) &&
            memcmp(a->shape, b->shape, a->rank * sizeof(a->shape[0])) == 0;
    const uint64_t bytes =
        *same ? (uint64_t) sam_shape_count(a->rank, a->shape) * sam_type_size(a->type) : 0;
    for (uint64_t at = 0; at < bytes && *same; at += CHUNK) {
        const size_t n = bytes - at < CHUNK ? bytes - at : CHUNK;
        int status = read_part(list, a, at, x, n, error);
        if (!status)
            status = read_part(list, b, at, y, n, error);
        if (status)
            return status;
        *same = memcmp(x, y, n) == 0;
    }
    return SAM_OK;
}

// Close the hole that dropped items left, so that every name is freed once.
static int stop_sorting(struct sam_weight_list *list, int kept, int at, int status)
{
    memmove(&list->items[kept], &list->items[at], (list->count - at) * sizeof(*list->items));
    list->count -= at - kept;
    return status;
}

static int sort_and_check(struct sam_weight_list *list, struct sam_error *error)
{
    if (!list->count)
        return sam_fail(error, SAM_EFORMAT, "%s: holds no tensor", list->file);
    qsort(list->items, list->count, sizeof(*list->items), compare_names);
    int kept = 1;
    for (int i = 1; i < list->count; i++) {
        struct sam_weight *last = &list->items[kept - 1], *w = &list->items[i];
        bool same = false;
        if (strcmp(last->name, w->name) != 0) {
            list->items[kept++] = *w;
            continue;
        }
        int status = compare_twins(list, last, w, &same, error);
        if (!status && !same)
            status = sam_fail(error, SAM_EFORMAT,
                              "%s: tensor '%.60s' is there twice, as "
                              "'%.60s' and '%.60s', and they differ",
                              list->file, w->name, last->stored, w->stored);
        if (status)
            return stop_sorting(list, kept, i, status);
        free_names(w);
    }
    list->count = kept;
    return SAM_OK;
}

// --- the file -----------------------------------------------------------------------------------

// What people take for a weights file, by its first bytes.
static const struct {
    const char *start, *what;
    size_t bytes;
} foreign_files[] = {
    { "version https://git-lfs", "a Git LFS pointer, not the weights it stands for", 23 },
    { "<!DOCTYPE", "a web page", 9 },
    { "<!doctype", "a web page", 9 },
    { "<html", "a web page", 5 },
    { "GGUF", "a GGUF file", 4 },
    { "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9", "of torch.save() before PyTorch 1.6; save it anew",
      9 },
    { "\x89HDF", "an HDF5 file", 4 },
    { "{", "JSON text", 1 },
    { "\x1f\x8b", "compressed (gzip)", 2 },
};

static int list_tensors(struct sam_weight_list *list, struct sam_error *error)
{
    const uint64_t size = list->source->id.size;
    uint8_t start[32] = { 0 };
    if (!size)
        return sam_fail(error, SAM_EFORMAT, "%s: the file is empty", list->file);
    const int status = sam_file_read(list->source, 0, start,
                                     size < sizeof(start) ? size : sizeof(start), "its first bytes",
                                     error);
    if (status)
        return status;
    // A length below 4 GiB and an object: also where the length begins like another format.
    if (size >= 9 && start[8] == '{' && memcmp(start + 4, "\0\0\0", 4) == 0)
        return sam_safetensors_list(list, error);
    for (size_t i = 0; i < sizeof(foreign_files) / sizeof(foreign_files[0]); i++)
        if (size >= foreign_files[i].bytes &&
            memcmp(start, foreign_files[i].start, foreign_files[i].bytes) == 0)
            return sam_fail(error, SAM_EFORMAT,
                            "%s: is %s; expected .safetensors or a .pt of torch.save()", list->file,
                            foreign_files[i].what);
    if (size >= 4 && memcmp(start, "PK\3\4", 4) == 0)
        return sam_torchzip_list(list, error);
    if (size >= 9 && start[8] != '{')
        return sam_fail(error, SAM_EFORMAT,
                        "%s: is neither safetensors nor the zip of torch.save(): "
                        "it begins with the bytes %02x %02x %02x %02x",
                        list->file, start[0], start[1], start[2], start[3]);
    return sam_safetensors_list(list, error);
}

// Tensors of a .pt may share a storage, as tied ones do; but a file must hold what it claims, so
// that memory planned by its shapes is bounded by its size.
static int check_held(const struct sam_weights *w, struct sam_error *error)
{
    enum { TIMES = 2 };
    uint64_t claimed = 0;
    for (int i = 0; i < w->list.count; i++) {
        const struct sam_weight *t = &w->list.items[i];
        if (t->type != SAM_WEIGHT_OTHER) // each fits the file, and there are at most 2^14
            claimed += (uint64_t) sam_shape_count(t->rank, t->shape) * sam_type_size(t->type);
    }
    if (claimed <= TIMES * w->file.id.size)
        return SAM_OK;
    return sam_fail(error, SAM_EFORMAT,
                    "%s: its tensors claim %" PRIu64 " bytes, expected at most %d times the "
                    "%" PRIu64 " bytes of the file: too many of them share a storage",
                    w->label, claimed, TIMES, w->file.id.size);
}

static int fill_list(struct sam_weights *w, const struct sam_names *names, bool *foreign,
                     struct sam_error *error)
{
    int status = list_tensors(&w->list, error);
    if (!status)
        status = check_held(w, error);
    if (!status)
        status = rename_all(&w->list, names, foreign, error);
    if (!status)
        status = sort_and_check(&w->list, error);
    if (!status && w->list.config)
        snprintf(w->config_label, sizeof(w->config_label), "%s, metadata", w->label);
    return status;
}

static struct sam_weights *new_weights(const char *file)
{
    struct sam_weights *w = calloc(1, sizeof(*w));
    if (w) {
        shorten(w->label, file);
        w->list.file = w->label;
        w->list.source = &w->file;
        w->file.fd = -1;
    }
    return w;
}

// The text of a small file, NUL-terminated; *text stays NULL where there is no such file.
static int read_text(const char *path, char **text, size_t *bytes, struct sam_error *error)
{
    char label[MAX_LABEL + 1];
    struct sam_file f;
    shorten(label, path);
    *text = NULL;
    *bytes = 0;
    int status = sam_file_open(&f, path, label, "JSON file", error);
    if (status)
        return status == SAM_ENOTFOUND ? SAM_OK : status;
    *bytes = f.id.size;
    if (f.id.size > MAX_CONFIG)
        status = sam_fail(error, SAM_EFORMAT, "%s: expected a JSON file of at most %d bytes, found "
                          "%" PRIu64, label, MAX_CONFIG, f.id.size);
    else if (!(*text = malloc(*bytes + 1)))
        status = sam_fail(error, SAM_ENOMEM, "%s: no memory to read its JSON", label);
    else
        status = sam_file_read(&f, 0, *text, *bytes, "the JSON", error);
    sam_file_close(&f);
    if (status) {
        free(*text);
        *text = NULL;
    } else {
        (*text)[*bytes] = 0;
    }
    return status;
}

// A config.json in the same folder need not be about this file: it says so by its model type, or by
// a key that only models have.
static bool is_about_model(const struct sam_names *names, const char *text, size_t bytes)
{
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(root, "model_type"));
    bool yes = json_object_get(root, "trunk") || json_object_get(root, "vision_config");
    for (const char *const *t = names->model_types; !yes && type && *t; t++)
        yes = !strncmp(type, *t, strlen(*t));
    json_decref(root);
    return yes;
}

// The JSON beside the file: <stem>.json is about it alone; config.json is Hugging Face's.
static int find_config(struct sam_weights *w, const char *file, const struct sam_names *names,
                       bool foreign, struct sam_error *error)
{
    if (w->list.config || !names)
        return SAM_OK;
    const char *slash = strrchr(file, '/');
    const size_t folder = slash ? slash + 1 - file : 0, room = strlen(file) + sizeof("config.json");
    const char *dot = strrchr(file + folder, '.');
    char *path = malloc(room);
    if (!path)
        return sam_fail(error, SAM_ENOMEM, "%s: no memory to look for its JSON", w->label);

    char *text;
    size_t bytes;
    snprintf(path, room, "%.*s.json", (int) (dot ? dot - file : (long) strlen(file)), file);
    int status = read_text(path, &text, &bytes, error);
    if (!status && !text) {
        snprintf(path, room, "%.*sconfig.json", (int) folder, file);
        status = read_text(path, &text, &bytes, error);
        if (status && status != SAM_ENOMEM && !foreign)
            status = SAM_OK; // it does not say that it is about this file
        if (text && !foreign && !is_about_model(names, text, bytes)) {
            free(text);
            text = NULL;
        }
    }
    if (text) {
        w->list.config = text;
        w->list.config_bytes = bytes;
        shorten(w->config_label, path);
    }
    free(path);
    return status;
}

int sam_weights_open(struct sam_weights **out, const char *file, const struct sam_names *names,
                     struct sam_error *error)
{
    *out = NULL;
    if (!file || !*file || strlen(file) > PATH_MAX)
        return sam_fail(error, SAM_EIO, "no weights file: its name is %s",
                        file && *file ? "too long" : "empty");
    bool foreign = false;
    struct sam_weights *w = new_weights(file);
    if (!w)
        return sam_fail(error, SAM_ENOMEM, "no memory to open a weights file");
    int status = sam_file_open(&w->file, file, w->label, "weights file", error);
    if (status == SAM_ENOTFOUND)
        status = SAM_EIO; // SAM_ENOTFOUND is about objects
    if (!status)
        status = fill_list(w, names, &foreign, error);
    if (!status)
        status = find_config(w, file, names, foreign, error);
    if (status)
        sam_weights_close(&w);
    *out = w;
    return status;
}

void sam_weights_close(struct sam_weights **w)
{
    if (!*w)
        return;
    for (int i = 0; i < (*w)->list.count; i++)
        free_names(&(*w)->list.items[i]);
    free((*w)->list.items);
    free((*w)->list.config);
    sam_file_close(&(*w)->file);
    free(*w);
    *w = NULL;
}

const char *sam_weights_file(const struct sam_weights *w)
{
    return w->label;
}

const struct sam_file_id *sam_weights_id(const struct sam_weights *w)
{
    return &w->file.id;
}

int sam_weights_unchanged(const struct sam_weights *w, struct sam_error *error)
{
    return sam_file_unchanged(&w->file, error);
}

int sam_weights_count(const struct sam_weights *w)
{
    return w->list.count;
}

const struct sam_weight *sam_weights_at(const struct sam_weights *w, int i)
{
    return &w->list.items[i];
}

const struct sam_weight *sam_weights_find(const struct sam_weights *w, const char *name)
{
    const struct sam_weight key = { .name = name };
    return bsearch(&key, w->list.items, w->list.count, sizeof(key), compare_names);
}

const char *sam_weights_config(const struct sam_weights *w, size_t *bytes)
{
    *bytes = w->list.config_bytes;
    return w->list.config;
}

const char *sam_weights_config_file(const struct sam_weights *w)
{
    return w->list.config ? w->config_label : NULL;
}

// --- numbers ------------------------------------------------------------------------------------

// Convert n numbers from any address. Returns whether all are finite: an exponent of all ones is
// an infinity or a NaN. Written so that the compiler makes vectors of it.
static bool convert(float *dst, const uint8_t *src, enum sam_type type, size_t n)
{
    uint32_t bad = 0;
    if (type == SAM_F32) {
        for (size_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, src + 4 * i, 4);
            memcpy(&dst[i], &bits, 4);
            bad |= (bits & 0x7f800000) == 0x7f800000;
        }
    } else if (type == SAM_BF16) {
        for (size_t i = 0; i < n; i++) {
            uint16_t bits;
            memcpy(&bits, src + 2 * i, 2);
            dst[i] = sam_bf16_to_float(bits);
            bad |= (bits & 0x7f80) == 0x7f80;
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            uint16_t bits;
            memcpy(&bits, src + 2 * i, 2);
            dst[i] = sam_half_to_float(bits);
            bad |= (bits & 0x7c00) == 0x7c00;
        }
    }
    return !bad;
}

static int read_dense(const struct sam_weights *f, const struct sam_weight *w, size_t count,
                      float *dst, bool *finite, struct sam_error *error)
{
    const size_t size = sam_type_size(w->type), most = CHUNK / size;
    uint8_t chunk[CHUNK];
    for (size_t at = 0; at < count; at += most) {
        const size_t n = count - at < most ? count - at : most;
        const int status = read_part(&f->list, w, at * size, chunk, n * size, error);
        if (status)
            return status;
        *finite &= convert(dst + at, chunk, w->type, n);
    }
    return SAM_OK;
}

// In the order of the file, wherever in dst each number belongs.
static int read_strided(const struct sam_weights *f, const struct sam_weight *w, float *dst,
                        bool *finite, struct sam_error *error)
{
    const int64_t size = (int64_t) sam_type_size(w->type);
    int64_t place[SAM_MAX_RANK], at[SAM_MAX_RANK] = { 0 }, begin = 0, end = 0, last = 0;
    int axis[SAM_MAX_RANK];
    uint8_t chunk[CHUNK]; // bytes `begin` to `end` of the tensor
    const int n = sam_weight_axes(w, axis);
    for (int i = w->rank - 1; i >= 0; i--)
        place[i] = i == w->rank - 1 ? 1 : place[i + 1] * w->shape[i + 1];
    for (int k = 0; k < n; k++)
        last += (w->shape[axis[k]] - 1) * w->stride[axis[k]];
    for (;;) {
        int64_t from = 0, to = 0;
        for (int k = 0; k < n; k++) {
            from += at[k] * w->stride[axis[k]] * size;
            to += at[k] * place[axis[k]];
        }
        if (from >= end) {
            begin = from;
            end = (last + 1) * size - from < CHUNK ? (last + 1) * size : from + CHUNK;
            const int status = read_part(&f->list, w, from, chunk, end - begin, error);
            if (status)
                return status;
        }
        *finite &= convert(dst + to, chunk + (from - begin), w->type, 1);
        int k = n - 1;
        while (k >= 0 && ++at[k] == w->shape[axis[k]])
            at[k--] = 0;
        if (k < 0)
            return SAM_OK;
    }
}

int sam_weights_check(const struct sam_weights *f, const char *name, int rank, const int64_t *shape,
                      struct sam_error *error)
{
    const struct sam_weight *w = sam_weights_find(f, name);
    if (!w)
        return sam_fail(error, SAM_EFORMAT, "%s: tensor '%s' %s is missing", f->label, name,
                        sam_shape_text(rank, shape).text);
    bool same = w->rank == rank;
    for (int i = 0; i < rank && same; i++)
        same = w->shape[i] == shape[i];
    if (!same)
        return sam_fail(error, SAM_EFORMAT, "%s: tensor '%s': expected shape %s, got %s", f->label,
                        w->stored, sam_shape_text(rank, shape).text,
                        sam_shape_text(w->rank, w->shape).text);
    if (w->type != SAM_F32 && w->type != SAM_F16 && w->type != SAM_BF16)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '%s': expected float32, float16 or bfloat16, "
                        "got %s",
                        f->label, w->stored, w->word);
    return SAM_OK;
}

int sam_weights_read(const struct sam_weights *f, const char *name, int rank, const int64_t *shape,
                     float *dst, struct sam_error *error)
{
    int status = sam_weights_check(f, name, rank, shape, error);
    if (status)
        return status;
    const struct sam_weight *w = sam_weights_find(f, name);
    const int64_t count = sam_shape_count(rank, shape);
    bool finite = true;
    if (!count)
        return SAM_OK;
    status = is_dense(w) ? read_dense(f, w, count, dst, &finite, error)
                         : read_strided(f, w, dst, &finite, error);
    if (status || finite)
        return status;
    int64_t i = 0;
    while (i < count - 1 && dst[i] - dst[i] == 0.0f)
        i++;
    return sam_fail(error, SAM_EFORMAT,
                    "%s: tensor '%s': every number must be finite, number %" PRId64 " is %g",
                    f->label, w->stored, i, dst[i]);
}
