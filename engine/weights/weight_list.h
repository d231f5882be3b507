// SPDX-License-Identifier: MIT
// The tensors of one file under their stored names, as filled by the readers of the two
// containers.
#ifndef SAM_WEIGHT_LIST_H
#define SAM_WEIGHT_LIST_H

#include "weights.h"

enum {
    // Limits on a file's header, which is untrusted. The largest published file has 982 tensors
    // and 250 KB of names and shapes.
    SAM_MAX_TENSORS = 16384,
    SAM_MAX_HEADER = 4 << 20, // bytes, JSON or pickle
    SAM_MAX_NAME = 112,       // characters of a tensor's name; the longest published has 83
};

struct sam_weight_list {
    const char *file; // for error texts
    const struct sam_file *source;

    struct sam_weight *items; // name and stored of each are owned
    int count, capacity;

    char *config; // the metadata's `samtrack`, NUL-terminated, owned; NULL: none
    size_t config_bytes;
};

// SAM_EFORMAT unless name, `bytes` long without NUL, is 1 to SAM_MAX_NAME characters of printable
// ASCII, so that error texts may quote it.
int sam_weight_name_check(const struct sam_weight_list *list, const char *name, size_t bytes,
                          struct sam_error *error);

// Append a tensor of that name; the names in w are ignored. SAM_EFORMAT: too many tensors, or
// strides by which two elements overlap.
int sam_weight_list_add(struct sam_weight_list *list, const char *name, size_t bytes,
                        const struct sam_weight *w, struct sam_error *error);

// Write the axes with an extent of more than 1 to `axis`, from the largest stride to the smallest:
// the order in the file. Returns their number.
int sam_weight_axes(const struct sam_weight *w, int axis[SAM_MAX_RANK]);

// "(64, 3, 7, 7)", for error texts; cut with "..." if it does not fit.
struct sam_shape_text {
    char text[60];
};
struct sam_shape_text sam_shape_text(int rank, const int64_t *shape);

// The product of the extents, or -1 on overflow.
int64_t sam_shape_count(int rank, const int64_t *shape);

#endif // SAM_WEIGHT_LIST_H
