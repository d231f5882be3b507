// SPDX-License-Identifier: MIT
// Reads a configuration from JSON: every function reads one key of one object, or fails with a
// sentence that names the file and the key. An absent key equals null, as in transformers.
#ifndef SAM_JSON_H
#define SAM_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/log.h"
#include "config.h"

// One object of a JSON text.
struct sam_json {
    const char *file; // for sentences
    struct sam_error *error;
    const json_t *object; // NULL: an object that is not there, all keys take their defaults
    const char *path;     // what its keys stand under, for sentences: "trunk."
};

// The object of the file beside the weights, given to `read` with priv. There is none: SAM_OK.
int sam_json_read(const struct sam_weights *w, int (*read)(void *priv, const struct sam_json *r),
                  void *priv, struct sam_error *error);

const json_t *sam_json_get(const struct sam_json *r, const char *key);
int sam_json_enter(struct sam_json *inner, const struct sam_json *r, const char *key,
                   const char *path);
int sam_json_wrong(const struct sam_json *r, const char *key, const char *wanted,
                   const json_t *got);

// An integer that fits an int: of a value; of a key that must be there. Ranges are checked when all
// is read.
int sam_json_to_int(const struct sam_json *r, const char *key, const json_t *v, int *out);
int sam_json_required(const struct sam_json *r, const char *key, int *out);
// A number from least to most, at a key that must be there.
int sam_json_number(const struct sam_json *r, const char *key, double least, double most,
                    float *out);
// One integer per stage.
int sam_json_four(const struct sam_json *r, const char *key, int out[SAM_STAGES]);
// A list of some of `count` blocks, at a key that must be there: out[i] of those is set, else not.
int sam_json_blocks(const struct sam_json *r, const char *key, int count, bool *out);
// A side that transformers writes as S or as [S, S].
int sam_json_square(const struct sam_json *r, const char *key, int *out);

// true or false; absent: *out stays.
int sam_json_flag(const struct sam_json *r, const char *key, bool *out);

// What the JSON and the tensors' shapes both say must be the same. Absent: nothing to compare.
int sam_json_agree(const struct sam_json *r, const char *key, int shapes);
int sam_json_agree_four(const struct sam_json *r, const char *key, const int shapes[SAM_STAGES]);
int sam_json_agree_flag(const struct sam_json *r, const char *key, bool shapes);

// The objects of Hugging Face's config.json, each absent or not.
enum sam_json_place {
    SAM_JSON_ROOT,
    SAM_JSON_VISION,
    SAM_JSON_BACKBONE,
    SAM_JSON_PROMPT,
    SAM_JSON_DECODER,
    SAM_JSON_ROPE,
    SAM_JSON_PLACES,
};

// What our code has as a constant, as JSON. A file that says otherwise is another network.
struct sam_json_fixed {
    enum sam_json_place place;
    const char *key, *value;
};
// in: SAM_JSON_PLACES objects.
int sam_json_check_fixed(const struct sam_json *in, const struct sam_json_fixed *list, int count);

#endif // SAM_JSON_H
