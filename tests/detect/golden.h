// What the tests of detectors share: reading goldens and frames, and refusals.
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "samtrack/detector.h"
#include "weights/weights.h"

enum { W = 160, H = 120 }; // of the frames

static inline float *read_tensor(const char *file, const char *name, int rank, const int64_t *shape)
{
    struct sam_weights *w;
    struct sam_error error = { "no memory" };
    size_t count = 1;

    for (int i = 0; i < rank; i++)
        count *= (size_t) shape[i];
    float *dst = malloc(count * sizeof(float));
    if (!dst || sam_weights_open(&w, file, NULL, &error) ||
        sam_weights_read(w, name, rank, shape, dst, &error)) {
        fprintf(stderr, "%s: %s\n", name, error.text);
        exit(1);
    }
    sam_weights_close(&w);
    return dst;
}

// Frames are u8, which the weights' reader does not take: their bytes are the end of the file.
static inline uint8_t *read_frames(const char *file)
{
    uint8_t *bytes = malloc(2 * W * H * 3);
    FILE *f = fopen(file, "rb");
    if (!bytes || !f || fseek(f, -2L * W * H * 3, SEEK_END) ||
        fread(bytes, 1, 2 * W * H * 3, f) != 2 * W * H * 3) {
        fprintf(stderr, "%s: not two frames\n", file);
        exit(1);
    }
    fclose(f);
    return bytes;
}

static inline void refused(int wanted_status, const char *words, int status,
                           const struct sam_error *e, int line)
{
    expect(status == wanted_status && strstr(e->text, words), "line %d: status %d, '%s'", line,
           status, e->text);
}

#define REFUSED(status, words, call) refused(status, words, call, &error, __LINE__)

#endif // GOLDEN_H
