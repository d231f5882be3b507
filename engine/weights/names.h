// How tensors are called: rules from the names in a file to those by which they are asked for.
#ifndef SAM_NAMES_H
#define SAM_NAMES_H

#include <stddef.h>

// One rule: a whole name, where each * stands for one or more characters other than a dot, the
// same text on both sides in the same order. rows: each of so many rows becomes a tensor, and %d in
// `name` is the row's number; 0: the tensor stays whole.
struct sam_name_rule {
    const char *stored, *name;
    int rows;
};

struct sam_name_map {
    const struct sam_name_rule *rules; // the first that fits is taken
    int count;
};

// All that is known of names. Both lists end with NULL.
struct sam_names {
    const struct sam_name_map *const *maps;
    const char *const *model_types; // what `model_type` of a config.json beside a file begins with
};

// The rule for a stored name, and the new name in out (untouched where rows are split). NULL: no
// rule, the tensor keeps its name. names: NULL: there are none.
const struct sam_name_rule *sam_names_find(const struct sam_names *names, const char *stored,
                                           char *out, size_t size);

// The name of one row of a tensor that a rule splits.
void sam_name_of_row(const struct sam_name_rule *rule, int row, char *out, size_t size);

#endif // SAM_NAMES_H
