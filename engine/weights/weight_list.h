// What the readers of the two containers fill: the tensors of one file, under the file's own
// names.
#ifndef SAM_WEIGHT_LIST_H
#define SAM_WEIGHT_LIST_H

#include "weights.h"

enum {
    // Bounds on what a file may ask of us before a single number is read. The largest published
    // file has 982 tensors and 250 KB of names and shapes.
    SAM_MAX_TENSORS = 16384,
    SAM_MAX_HEADER = 4 << 20, // bytes, JSON or pickle
    SAM_MAX_NAME = 112,       // characters of a tensor's name; published: 83
};

struct sam_weight_list {
    const char *file; // for sentences
    const struct sam_file *source;

    struct sam_weight *items; // name and stored of each are owned
    int count, capacity;

    char *config; // the metadata's `samtrack`, NUL-terminated, owned; NULL: none
    size_t config_bytes;
};

// SAM_EFORMAT unless name (bytes of it, which need no NUL) is 1 to SAM_MAX_NAME characters of
// printable ASCII. What passed may stand in a sentence.
int sam_weight_name_check(const struct sam_weight_list *list, const char *name, size_t bytes,
                          struct sam_error *error);

// Append a tensor of that name: w without its names. Refuses too many tensors, and strides that
// lead to one number twice.
int sam_weight_list_add(struct sam_weight_list *list, const char *name, size_t bytes,
                        const struct sam_weight *w, struct sam_error *error);

// The axes of more than one step, from the largest stride to the smallest: the order of the file.
// Returns how many.
int sam_weight_axes(const struct sam_weight *w, int axis[SAM_MAX_RANK]);

// "(64, 3, 7, 7)", for sentences; what does not fit is "...".
struct sam_shape_text {
    char text[60];
};
struct sam_shape_text sam_shape_text(int rank, const int64_t *shape);

// The product of the extents, or -1 where it does not fit.
int64_t sam_shape_count(int rank, const int64_t *shape);

#endif // SAM_WEIGHT_LIST_H
