// SPDX-License-Identifier: MIT
// Reads the sizes that tensor shapes do not determine, from JSON in one of two forms: this
// project's (the keys of the published configurations) and the config.json of Hugging Face's
// transformers.
#ifndef SAM_CONFIG_JSON_H
#define SAM_CONFIG_JSON_H

#include "config.h"

// `out` holds what the shapes say: what the JSON says about the same must agree. Adds image_size,
// num_heads, window_spec and global_block. file: for sentences.
int sam_config_read_json(struct sam_config *out, const char *file, const char *text, size_t bytes,
                         struct sam_error *error);

#endif // SAM_CONFIG_JSON_H
