// SPDX-License-Identifier: MIT
// Tensor names: rules that map the names in a file to the names used by the engine.
#ifndef SAM_NAMES_H
#define SAM_NAMES_H

#include <stddef.h>

// One rule. `stored` and `name` are whole names; each * matches one or more characters other than a
// dot and is copied from left to right. rows > 0: the tensor is split into so many rows, and %d in
// `name` is the row's number. 0: it is not split.
struct sam_name_rule {
    const char *stored, *name;
    int rows;
};

struct sam_name_map {
    const struct sam_name_rule *rules; // the first match applies
    int count;
};

// All known names. The lists end with NULL.
struct sam_names {
    const struct sam_name_map *const *maps;
    const char *const *model_types; // prefixes of `model_type` in a config.json
    const char *const *prefixes; // that a name loses where no rule has it whole; NULL: none
};

// Find the rule for a stored name and write the new name to out (not written if the rule splits
// rows). Returns NULL if no rule matches: the tensor keeps its name. names may be NULL.
const struct sam_name_rule *sam_names_find(const struct sam_names *names, const char *stored,
                                           char *out, size_t size);

// Write the name of one row of a tensor that a rule splits.
void sam_name_of_row(const struct sam_name_rule *rule, int row, char *out, size_t size);

#endif // SAM_NAMES_H
