#ifndef OPEN_H
#define OPEN_H

#include "model/parts.h"

// A model by the name of its file.
static inline int open_model(struct sam_model **out, const char *path, struct sam_queue *q,
                             struct sam_error *error)
{
    struct sam_model_file file = { 0 };
    int status = sam_model_file_open(&file, path, 0, error);

    *out = NULL;
    if (!status)
        status = sam_model_open(out, &file, q, error);
    sam_model_file_close(&file);
    return status;
}

#endif // OPEN_H
