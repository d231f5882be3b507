// SPDX-License-Identifier: MIT
// What the tests of detectors share: reading goldens and frames, and refusals.
#ifndef GOLDEN_H
#define GOLDEN_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "samtrack/detector.h"
#include "weights/weights.h"

enum { W = 160, H = 120 }; // of the frames
enum { MASK = 384 };       // side of a detector's masks, in pixels

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

static inline enum sam_backend backend_of(const char *name)
{
    return !strcmp(name, "ref")  ? SAM_BACKEND_REF
         : !strcmp(name, "cuda") ? SAM_BACKEND_CUDA
                                 : SAM_BACKEND_CPU;
}

// Stages are kept.
static inline struct sam_params params_of(const char *file, enum sam_backend backend)
{
    struct sam_params p = SAM_PARAMS_INIT;
    p.model_file = file;
    p.backend = backend;
    p.precision = SAM_PRECISION_FP32;
    p.threads = 2;
    p.keep_stages = 1;
    return p;
}

// A frame at a size of the input.
struct place {
    const char *file; // the golden
    int side, frame;
};

static inline const char *name_of(const struct place *at, const char *what)
{
    static char name[64];
    snprintf(name, sizeof(name), "side%d/frame%03d/%s", at->side, at->frame, what);
    return name;
}

static inline float *wanted(const struct place *at, const char *what, int rows, int columns)
{
    return read_tensor(at->file, name_of(at, what), columns > 1 ? 2 : 1,
                       (int64_t[]) { rows, columns });
}

// By what part of it a stage differs from the golden's. stored: its name there.
static inline double off_by(sam_detector *d, const struct place *at, const char *stored,
                            const char *name, int rows, int columns)
{
    const size_t count = (size_t) rows * columns;
    float *want = wanted(at, stored, rows, columns), *got = calloc(count, sizeof(float));
    struct sam_error error = { "" };
    double square = 0, whole = 0;
    int shape[4] = { 0 };
    const int status = sam_detector_read(d, name, got, count, shape, &error);
    const bool is_map = shape[2] > 1 && shape[1] > 1;

    expect(!status && shape[0] * shape[1] * shape[2] * shape[3] == (int) count,
           "%s: %s, (%d, %d, %d, %d)", name, error.text, shape[0], shape[1], shape[2], shape[3]);
    for (size_t i = 0; i < count; i++) { // maps come channel by channel
        const float x = got[is_map ? i % columns * rows + i / columns : i];
        square += ((double) x - want[i]) * ((double) x - want[i]);
        whole += (double) want[i] * want[i];
    }
    free(want), free(got);
    return sqrt(square / whole);
}

// That it differs by no more than `most`.
static inline void expect_stored(sam_detector *d, const struct place *at, const char *stored,
                                 const char *name, int rows, int columns, double most)
{
    const double off = off_by(d, at, stored, name, rows, columns);

    expect(off <= most, "side %d, frame %d: %s is off by %g", at->side, at->frame, stored, off);
}

static inline void expect_stage(sam_detector *d, const struct place *at, const char *name, int rows,
                                int columns, double most)
{
    expect_stored(d, at, name, name, rows, columns, most);
}

// How many detections the golden has, at most `most`: some models leave some out.
static inline int count_wanted(const struct place *at, int most)
{
    struct sam_error error = { "" };
    struct sam_weights *w;
    int count = 0;

    if (sam_weights_open(&w, at->file, NULL, &error))
        exit(1);
    for (int n = 1; n <= most; n++)
        if (!sam_weights_check(w, name_of(at, "score"), 1, (int64_t[]){ n }, &error))
            count = n;
    sam_weights_close(&w);
    return count;
}

// That all detections are the golden's, in their order, of which there are at most `most`.
static inline void expect_found(const struct place *at, const struct sam_detections *found,
                                int most)
{
    const int num = count_wanted(at, most);
    float *score = wanted(at, "score", num, 1), *label = wanted(at, "label", num, 1);
    float *query = wanted(at, "query", num, 1), *box = wanted(at, "box", num, 4);

    expect(found->num == num, "side %d, frame %d: %d detections, not %d", at->side, at->frame,
           found->num, num);
    for (int i = 0; i < found->num && i < num; i++) {
        const struct sam_detection *d = &found->list[i];
        expect(d->query == (int) query[i] && d->label == (int) label[i],
               "side %d, frame %d: %d is query %d, label %d, not %g, %g", at->side, at->frame, i,
               d->query, d->label, query[i], label[i]);
        expect(fabsf(d->score - score[i]) <= 1e-5f, "%d has score %g, not %g", i, d->score,
               score[i]);
        for (int e = 0; e < 4; e++)
            expect(fabsf(d->box[e] - box[4 * i + e]) <= 2e-3f, "box %d.%d is %g, not %g", i, e,
                   d->box[e], box[4 * i + e]);
    }
    free(score), free(label), free(query), free(box);
}

static inline int count_pixels(const uint8_t *mask) // (MASK, MASK)
{
    int count = 0;
    for (int i = 0; i < MASK * MASK; i++)
        count += mask[i] != 0;
    return count;
}

static inline void refused(int wanted_status, const char *words, int status,
                           const struct sam_error *e, int line)
{
    expect(status == wanted_status && strstr(e->text, words), "line %d: status %d, '%s'", line,
           status, e->text);
}

// The detector is opened with each of the texts in the file beside its own.
struct json_case {
    const char *json, *words; // of the sentence; NULL: it is taken
    int status;
};

static inline void check_json(const struct sam_params *p, const char *beside,
                              const struct json_case *list, int count)
{
    sam_detector *d;

    for (int i = 0; i < count; i++) {
        struct sam_error error = { "" };
        FILE *f = fopen(beside, "wb");
        expect(f && fputs(list[i].json, f) >= 0, "%s cannot be written", beside);
        if (f)
            fclose(f);
        const int status = sam_detector_open(&d, p, &error);
        if (list[i].words)
            refused(list[i].status, list[i].words, status, &error, i);
        else
            expect(!status, "JSON %d: %s", i, error.text);
        sam_detector_close(&d);
    }
    remove(beside);
}

#define REFUSED(status, words, call) refused(status, words, call, &error, __LINE__)

#endif // GOLDEN_H
