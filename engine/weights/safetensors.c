// SPDX-License-Identifier: MIT
// The JSON is read by jansson: small, C, MIT, packaged by every distribution, and strict: it
// refuses duplicate keys, malformed UTF-8, integers beyond 64 bits and nesting beyond 2048.
#include "safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct type_word {
    const char *word;
    enum sam_type type;
    int bytes;
};

static const struct type_word type_words[] = {
    { "F32", SAM_F32, 4 },
    { "F16", SAM_F16, 2 },
    { "BF16", SAM_BF16, 2 },
    { "U8", SAM_U8, 1 },
    { "I32", SAM_I32, 4 },
    { "F64", SAM_WEIGHT_OTHER, 8 },
    { "I64", SAM_WEIGHT_OTHER, 8 },
    { "U64", SAM_WEIGHT_OTHER, 8 },
    { "U32", SAM_WEIGHT_OTHER, 4 },
    { "I16", SAM_WEIGHT_OTHER, 2 },
    { "U16", SAM_WEIGHT_OTHER, 2 },
    { "I8", SAM_WEIGHT_OTHER, 1 },
    { "BOOL", SAM_WEIGHT_OTHER, 1 },
    { "F8_E4M3", SAM_WEIGHT_OTHER, 1 },
    { "F8_E5M2", SAM_WEIGHT_OTHER, 1 },
};

// Where the numbers of one tensor lie, in bytes from the end of the header.
struct extent {
    const char *name;
    int64_t begin, end;
};

static int read_type(const struct sam_weight_list *list, const char *name, const json_t *entry,
                     struct sam_weight *w, int *bytes, struct sam_error *error)
{
    const char *said = json_string_value(json_object_get(entry, "dtype"));
    const char *word = said ? said : "not given";
    for (size_t i = 0; i < sizeof(type_words) / sizeof(type_words[0]); i++) {
        if (strcmp(word, type_words[i].word) != 0)
            continue;
        w->word = type_words[i].word;
        w->type = type_words[i].type;
        *bytes = type_words[i].bytes;
        return SAM_OK;
    }
    return sam_fail(error, SAM_EFORMAT,
                    "%s: tensor '%.*s': its dtype is %.*s, expected F32, F16, "
                    "BF16 or another of safetensors' types",
                    list->file, SAM_MAX_NAME, name, sam_text_cut(word, strlen(word), 40), word);
}

static int read_shape(const struct sam_weight_list *list, const char *name, const json_t *entry,
                      struct sam_weight *w, struct sam_error *error)
{
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape) || json_array_size(shape) > SAM_MAX_RANK)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '%.*s': its shape must be a list of at "
                        "most %d extents, got %zu",
                        list->file, SAM_MAX_NAME, name, SAM_MAX_RANK, json_array_size(shape));
    w->rank = (int) json_array_size(shape);
    for (int i = 0; i < w->rank; i++) {
        const json_t *extent = json_array_get(shape, i);
        w->shape[i] = json_integer_value(extent);
        if (!json_is_integer(extent) || w->shape[i] < 0)
            return sam_fail(error, SAM_EFORMAT,
                            "%s: tensor '%.*s': extent %d of its shape must be "
                            "an integer of 0 or more",
                            list->file, SAM_MAX_NAME, name, i);
    }
    int64_t stride = 1;
    for (int i = w->rank - 1; i >= 0; i--) {
        w->stride[i] = stride;
        // An overflow is found by sam_shape_count() before anyone uses a stride.
        stride = (int64_t) ((uint64_t) stride * (uint64_t) w->shape[i]);
    }
    return SAM_OK;
}

static int read_offsets(const struct sam_weight_list *list, const char *name, const json_t *entry,
                        int64_t data_bytes, struct extent *e, struct sam_error *error)
{
    const json_t *pair = json_object_get(entry, "data_offsets");
    const json_t *begin = json_array_get(pair, 0), *end = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '%.*s': its data_offsets must be a list of "
                        "two integers",
                        list->file, SAM_MAX_NAME, name);
    e->begin = json_integer_value(begin);
    e->end = json_integer_value(end);
    if (e->begin < 0 || e->end < e->begin)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '%.*s': its data runs from byte %" PRId64 " to %" PRId64
                        ", which is not a range",
                        list->file, SAM_MAX_NAME, name, e->begin, e->end);
    if (e->end > data_bytes)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '%.*s': its data ends at byte %" PRId64
                        ", the file holds %" PRId64 ": truncated, or the header lies",
                        list->file, SAM_MAX_NAME, name, e->end, data_bytes);
    return SAM_OK;
}

// data: where the numbers of all tensors begin in the file.
static int read_entry(struct sam_weight_list *list, const char *name, const json_t *entry,
                      uint64_t data, struct extent *e, struct sam_error *error)
{
    struct sam_weight w = { 0 };
    int size = 0, status = sam_weight_name_check(list, name, strlen(name), error);
    e->name = name;
    if (status)
        return status;
    if (!json_is_object(entry))
        return sam_fail(error, SAM_EFORMAT, "%s: tensor '%.*s': its entry must be an object",
                        list->file, SAM_MAX_NAME, name);
    const int64_t data_bytes = (int64_t) (list->source->id.size - data);
    if ((status = read_type(list, name, entry, &w, &size, error)) ||
        (status = read_shape(list, name, entry, &w, error)) ||
        (status = read_offsets(list, name, entry, data_bytes, e, error)))
        return status;

    const int64_t count = sam_shape_count(w.rank, w.shape), bytes = e->end - e->begin;
    if (count < 0 || count > bytes / size || count * size != bytes)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '%.*s': %s %s does not fill its %" PRId64 " bytes", list->file,
                        SAM_MAX_NAME, name, w.word, sam_shape_text(w.rank, w.shape).text, bytes);
    w.at = data + (uint64_t) e->begin;
    return sam_weight_list_add(list, name, strlen(name), &w, error);
}

static int compare_extents(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

// The format says that the tensors fill the data: no two share a byte, none is left over.
static int check_extents(const struct sam_weight_list *list, struct extent *e, int n,
                         int64_t data_bytes, struct sam_error *error)
{
    qsort(e, n, sizeof(*e), compare_extents);
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        if (e[i].begin < at)
            return sam_fail(error, SAM_EFORMAT,
                            "%s: tensors '%.*s' and '%.*s' overlap: one ends at "
                            "byte %" PRId64 ", the next begins at %" PRId64,
                            list->file, 60, e[i - 1].name, 60, e[i].name, at, e[i].begin);
        if (e[i].begin > at)
            return sam_fail(error, SAM_EFORMAT,
                            "%s: tensor '%.*s' begins at byte %" PRId64 ", expected "
                            "%" PRId64 ": there must be no gap",
                            list->file, SAM_MAX_NAME, e[i].name, e[i].begin, at);
        at = e[i].end;
    }
    if (at != data_bytes)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: its tensors end at byte %" PRId64 ", its data at %" PRId64
                        ": there must be no gap",
                        list->file, at, data_bytes);
    return SAM_OK;
}

static int read_metadata(struct sam_weight_list *list, const json_t *meta, struct sam_error *error)
{
    if (meta && !json_is_object(meta))
        return sam_fail(error, SAM_EFORMAT, "%s: its __metadata__ must be an object", list->file);
    const json_t *text = json_object_get(meta, "samtrack");
    if (!text)
        return SAM_OK;
    if (!json_is_string(text))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: the metadata key 'samtrack' must be JSON in a string", list->file);
    list->config_bytes = json_string_length(text);
    list->config = malloc(list->config_bytes + 1);
    if (!list->config)
        return sam_fail(error, SAM_ENOMEM, "%s: no memory for its metadata", list->file);
    memcpy(list->config, json_string_value(text), list->config_bytes + 1);
    return SAM_OK;
}

static int list_entries(struct sam_weight_list *list, json_t *root, uint64_t data,
                        struct sam_error *error)
{
    struct extent *extents = calloc(json_object_size(root) + 1, sizeof(*extents));
    if (!extents)
        return sam_fail(error, SAM_ENOMEM, "%s: no memory to list its tensors", list->file);
    int status = read_metadata(list, json_object_get(root, "__metadata__"), error), n = 0;
    const char *name;
    json_t *entry;
    json_object_foreach(root, name, entry)
    {
        if (status)
            break;
        if (strcmp(name, "__metadata__") != 0)
            status = read_entry(list, name, entry, data, &extents[n++], error);
    }
    if (!status)
        status = check_extents(list, extents, n, (int64_t) (list->source->id.size - data), error);
    free(extents);
    return status;
}

static int list_header(struct sam_weight_list *list, const char *text, size_t bytes,
                       struct sam_error *error)
{
    json_error_t at;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &at);
    if (!root || !json_is_object(root)) {
        const int status =
            sam_fail(error, SAM_EFORMAT, "%s: its header is not a JSON object: %s (byte %d)",
                     list->file, root ? "another value" : at.text, root ? 8 : 8 + at.position);
        json_decref(root);
        return status;
    }
    const int status = list_entries(list, root, 8 + bytes, error);
    json_decref(root);
    return status;
}

int sam_safetensors_list(struct sam_weight_list *list, struct sam_error *error)
{
    const uint64_t size = list->source->id.size;
    uint64_t header;
    if (size < 8)
        return sam_fail(error, SAM_EFORMAT, "%s: %" PRIu64 " bytes are no weights file",
                        list->file, size);
    int status = sam_file_read(list->source, 0, &header, 8, "its header", error);
    if (status)
        return status;
    if (header > size - 8)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: its header claims %" PRIu64 " bytes, the file has %" PRIu64
                        " more: truncated, or no weights file",
                        list->file, header, size - 8);
    if (header > SAM_MAX_HEADER)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: its header claims %" PRIu64 " bytes, more than the %d "
                        "allowed",
                        list->file, header, SAM_MAX_HEADER);

    char *text = malloc(header + 1);
    if (!text)
        return sam_fail(error, SAM_ENOMEM, "%s: no memory to read its header", list->file);
    status = sam_file_read(list->source, 8, text, header, "its header", error);
    if (!status)
        status = list_header(list, text, header, error);
    free(text);
    return status;
}
