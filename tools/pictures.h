// SPDX-License-Identifier: MIT
// Frames and tensors on disk, for the tools: pictures (JPEG, PNG), safetensors in and out.
#ifndef PICTURES_H
#define PICTURES_H

#include <stddef.h>
#include <stdint.h>

// width x height x channels bytes, dense; channels 3 (RGB) or 1.
struct picture {
    int width, height, channels;
    uint8_t *data;
};

// All of these return 0, or -1 with a sentence in error[size]. A picture is freed by its user.
int picture_read(struct picture *p, const char *file, int channels, char *error, size_t size);

// Frames of one size: a .safetensors with `frames`, u8 (T, H, W, 3), or a folder of pictures in
// the order of their names.
struct frames {
    int count, width, height;
    uint8_t *stack;  // all of them, or
    char **file;     // one name each
    struct picture now;
};

int frames_open(struct frames *f, const char *path, char *error, size_t size);
// Frame t, which lives until the next call. NULL: error.
const uint8_t *frames_at(struct frames *f, int t, char *error, size_t size);
void frames_close(struct frames *f);

// Float tensors, collected and written at once.
struct tensor_file {
    struct named_tensor *list;
    size_t count, capacity;
};

// Add a copy of data. rank 1 to 4.
int tensor_file_add(struct tensor_file *t, const char *name, int rank, const int *shape,
                    const float *data, char *error, size_t size);
int tensor_file_write(const struct tensor_file *t, const char *file, char *error, size_t size);
void tensor_file_free(struct tensor_file *t);

#endif // PICTURES_H
