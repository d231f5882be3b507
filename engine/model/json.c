// SPDX-License-Identifier: MIT
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sam_json_wrong(const struct sam_json *r, const char *key, const char *wanted, const json_t *got)
{
    static const char *const types[] = { "an object",  "a list", "a string", "an integer",
                                         "a fraction", "true",   "false",    "null" };
    return sam_fail(r->error, SAM_EFORMAT, "%s: key '%s%s': expected %s, got %s", r->file, r->path,
                    key, wanted, got ? types[json_typeof(got)] : "nothing");
}

int sam_json_read(const struct sam_weights *w, int (*read)(void *priv, const struct sam_json *r),
                  void *priv, struct sam_error *error)
{
    const char *file = sam_weights_config_file(w);
    size_t bytes;
    const char *text = sam_weights_config(w, &bytes);
    json_error_t at;
    int status;

    if (!text)
        return SAM_OK;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &at);
    if (!root)
        return sam_fail(error, SAM_EFORMAT, "%s: is not valid JSON: %s (line %d)", file, at.text,
                        at.line);
    if (json_is_object(root))
        status = read(priv, &(struct sam_json) { file, error, root, "" });
    else
        status = sam_fail(error, SAM_EFORMAT, "%s: expected a JSON object, got another value",
                          file);
    json_decref(root);
    return status;
}

const json_t *sam_json_get(const struct sam_json *r, const char *key)
{
    const json_t *v = json_object_get(r->object, key);
    return json_is_null(v) ? NULL : v;
}

int sam_json_enter(struct sam_json *inner, const struct sam_json *r, const char *key,
                   const char *path)
{
    *inner = *r;
    inner->object = sam_json_get(r, key);
    inner->path = path;
    if (inner->object && !json_is_object(inner->object))
        return sam_json_wrong(r, key, "an object", inner->object);
    return SAM_OK;
}

int sam_json_to_int(const struct sam_json *r, const char *key, const json_t *v, int *out)
{
    const json_int_t i = json_integer_value(v);
    if (!json_is_integer(v))
        return sam_json_wrong(r, key, "an integer", v);
    if (i < -1000000 || i > 1000000)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: key '%s%s': %" JSON_INTEGER_FORMAT " is far out of "
                        "range",
                        r->file, r->path, key, i);
    *out = (int) i;
    return SAM_OK;
}

// Absent: *out stays as it is.
static int read_int(const struct sam_json *r, const char *key, int *out)
{
    const json_t *v = sam_json_get(r, key);
    return v ? sam_json_to_int(r, key, v, out) : SAM_OK;
}

int sam_json_required(const struct sam_json *r, const char *key, int *out)
{
    return sam_json_get(r, key) ? read_int(r, key, out)
                                : sam_json_wrong(r, key, "an integer", NULL);
}

int sam_json_number(const struct sam_json *r, const char *key, double least, double most,
                    float *out)
{
    const json_t *v = sam_json_get(r, key);
    const double number = json_number_value(v);
    char wanted[64];

    snprintf(wanted, sizeof(wanted), "a number from %g to %g", least, most);
    if (!json_is_number(v))
        return sam_json_wrong(r, key, wanted, v);
    if (!(number >= least && number <= most))
        return sam_fail(r->error, SAM_EFORMAT, "%s: key '%s%s': expected %s, got %g", r->file,
                        r->path, key, wanted, number);
    *out = (float) number;
    return SAM_OK;
}

int sam_json_four(const struct sam_json *r, const char *key, int out[SAM_STAGES])
{
    const json_t *list = sam_json_get(r, key);
    if (!list)
        return SAM_OK;
    if (json_array_size(list) != SAM_STAGES)
        return sam_json_wrong(r, key, "a list of four integers", list);
    for (int i = 0; i < SAM_STAGES; i++) {
        const int status = sam_json_to_int(r, key, json_array_get(list, i), &out[i]);
        if (status)
            return status;
    }
    return SAM_OK;
}

int sam_json_blocks(const struct sam_json *r, const char *key, int count, bool *out)
{
    const json_t *list = sam_json_get(r, key);
    memset(out, 0, (size_t) count * sizeof(*out));
    if (!json_is_array(list))
        return sam_json_wrong(r, key, "a list of integers", list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        int block = 0;
        const int status = sam_json_to_int(r, key, json_array_get(list, i), &block);
        if (status)
            return status;
        if (block < 0 || block >= count)
            return sam_fail(r->error, SAM_EFORMAT,
                            "%s: key '%s%s': block %d is not among the %d blocks "
                            "of the file",
                            r->file, r->path, key, block, count);
        out[block] = true;
    }
    return SAM_OK;
}

int sam_json_square(const struct sam_json *r, const char *key, int *out)
{
    const json_t *v = sam_json_get(r, key);
    if (!json_is_array(v))
        return read_int(r, key, out);
    int other = 0;
    if (json_array_size(v) != 2)
        return sam_json_wrong(r, key, "an integer or a list of two", v);
    int status = sam_json_to_int(r, key, json_array_get(v, 0), out);
    if (!status)
        status = sam_json_to_int(r, key, json_array_get(v, 1), &other);
    if (!status && *out != other)
        return sam_fail(r->error, SAM_EFORMAT, "%s: key '%s%s': expected a square, got %d x %d",
                        r->file, r->path, key, *out, other);
    return status;
}

int sam_json_agree(const struct sam_json *r, const char *key, int shapes)
{
    int said = shapes;
    const int status = sam_json_square(r, key, &said);
    if (!status && said != shapes)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: key '%s%s' is %d, but the tensors' shapes say %d", r->file, r->path,
                        key, said, shapes);
    return status;
}

int sam_json_agree_four(const struct sam_json *r, const char *key, const int shapes[SAM_STAGES])
{
    int said[SAM_STAGES];
    memcpy(said, shapes, sizeof(said));
    const int status = sam_json_four(r, key, said);
    for (int i = 0; i < SAM_STAGES && !status; i++)
        if (said[i] != shapes[i])
            return sam_fail(r->error, SAM_EFORMAT,
                            "%s: key '%s%s' is %d at stage %d, but the tensors' "
                            "shapes say %d",
                            r->file, r->path, key, said[i], i + 1, shapes[i]);
    return status;
}

// 20 and 20.0 are the same; so are 4 and [4, 4], as transformers reads them.
static bool same_value(const json_t *a, const json_t *b)
{
    if (json_is_array(a)) {
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!same_value(json_array_get(a, i), json_is_array(b) ? json_array_get(b, i) : b))
                return false;
        return !json_is_array(b) || json_array_size(b) == json_array_size(a);
    }
    if (json_is_number(a) && json_is_number(b))
        return fabs(json_number_value(a) - json_number_value(b)) <=
               1e-6 * fabs(json_number_value(a));
    return json_equal(a, b);
}

static int check_one(const struct sam_json *r, const struct sam_json_fixed *f)
{
    const json_t *got = sam_json_get(r, f->key);
    json_t *wanted = got ? json_loads(f->value, JSON_DECODE_ANY, NULL) : NULL;
    const bool same = !got || same_value(wanted, got);
    json_decref(wanted);
    if (same)
        return SAM_OK;
    char *text = json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
    const int status =
        sam_fail(r->error, SAM_EUNSUPPORTED, "%s: key '%s%s': only %s is supported, got %.40s",
                 r->file, r->path, f->key, f->value, text ? text : "another value");
    free(text);
    return status;
}

int sam_json_check_fixed(const struct sam_json *in, const struct sam_json_fixed *list, int count)
{
    int status = SAM_OK;
    for (int i = 0; i < count && !status; i++)
        status = check_one(&in[list[i].place], &list[i]);
    return status;
}

int sam_json_flag(const struct sam_json *r, const char *key, bool *out)
{
    const json_t *v = sam_json_get(r, key);
    if (v && !json_is_boolean(v))
        return sam_json_wrong(r, key, "true or false", v);
    if (v)
        *out = json_is_true(v);
    return SAM_OK;
}

int sam_json_agree_flag(const struct sam_json *r, const char *key, bool shapes)
{
    bool said = shapes;
    const int status = sam_json_flag(r, key, &said);
    if (status)
        return status;
    if (said != shapes)
        return sam_fail(r->error, SAM_EFORMAT, "%s: key '%s' is %s, but the tensors say %s",
                        r->file, key, shapes ? "false" : "true", shapes ? "true" : "false");
    return SAM_OK;
}
