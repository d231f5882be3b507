// SPDX-License-Identifier: MIT
#ifndef OPEN_H
#define OPEN_H

#include "model/parts.h"

// A model by the name of its file; input_size: the side it is to run at, px, 0: the file's own.
static inline int open_model_at(struct sam_model **out, const char *path, int input_size,
                                struct sam_queue *q, struct sam_error *error)
{
    struct sam_model_file file = { 0 };
    int status = sam_model_file_open(&file, path, input_size, q->bf16_is_faster, error);

    *out = NULL;
    if (!status)
        status = sam_model_open(out, &file, q, error);
    sam_model_file_close(&file);
    return status;
}

static inline int open_model(struct sam_model **out, const char *path, struct sam_queue *q,
                             struct sam_error *error)
{
    return open_model_at(out, path, 0, q, error);
}

#endif // OPEN_H
