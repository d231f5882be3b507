// SPDX-License-Identifier: MIT
// usage: bottlenecks MODEL
// EfficientNet-Lite's trunk with its large blocks as one operation each, and by their parts: the
// same bits. The model is run at 512 px, where the first maps are larger than a cache.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "open.h"
#include "ops/backends.h"

enum { SIDE = 512, NUM_MAPS = 3 };

static struct sam_ops counting; // the queue's table, which counts
static void (*run_bottleneck)(struct sam_queue *q, const struct sam_bottleneck *p);
static int calls;

static void count_bottleneck(struct sam_queue *q, const struct sam_bottleneck *p)
{
    calls++;
    run_bottleneck(q, p);
}

static void fill(struct sam_tensor input)
{
    uint32_t seed = 5;
    for (size_t i = 0; i < sam_count(&input); i++) {
        seed = seed * 1664525u + 1013904223u;
        ((float *) input.data)[i] = (float) (seed >> 8) / (1 << 23) - 1;
    }
}

// The neck's maps, in one block of memory, which is the caller's.
static void *encode(struct sam_queue *q, const struct sam_model *m, size_t *bytes)
{
    const struct sam_config *c = &m->config;
    const int h = SIDE / 16;
    struct sam_features f = { .image = { NULL, SAM_F32, 1, h, h, c->d_model },
                              .s0 = { NULL, SAM_F32, 1, 4 * h, 4 * h, c->d_model / 8 },
                              .s1 = { NULL, SAM_F32, 1, 2 * h, 2 * h, c->d_model / 4 } };
    struct sam_tensor *const map[NUM_MAPS] = { &f.image, &f.s0, &f.s1 };
    struct sam_encoder_scratch s;
    struct sam_arena measured = { 0 };

    sam_encoder_layout(&s, c, q, &measured);
    struct sam_arena arena = { .base = sam_queue_alloc(q, measured.peak) };
    sam_encoder_layout(&s, c, q, &arena);
    *bytes = 0;
    for (int i = 0; i < NUM_MAPS; i++)
        *bytes += sam_tensor_bytes(map[i]);
    char *maps = calloc(1, *bytes), *at = maps;
    for (int i = 0; i < NUM_MAPS; at += sam_tensor_bytes(map[i]), i++)
        map[i]->data = at;
    fill(s.input);
    sam_encoder_run(q, m, &s, &f);
    sam_queue_free(q, arena.base);
    return maps;
}

static int check(const char *path, enum sam_precision precision, int threads)
{
    struct sam_queue q;
    struct sam_error error;
    struct sam_model *m;
    size_t bytes, same;

    if (sam_queue_open(&q, SAM_BACKEND_CPU, -1, precision, threads, NULL, &error) ||
        open_model_at(&m, path, SIDE, &q, &error)) {
        printf("%s\n", error.text);
        return precision != SAM_PRECISION_BF16; // not every processor multiplies in bf16
    }
    const struct sam_ops *const whole = q.ops;
    run_bottleneck = whole->bottleneck;
    counting = *whole;
    counting.bottleneck = count_bottleneck;
    q.ops = &counting;
    calls = 0;
    void *a = encode(&q, m, &bytes);
    const int whole_calls = calls;
    counting.takes_bottleneck = NULL;
    void *b = encode(&q, m, &same);
    const bool failed = sam_queue_finish(&q, &error) || whole_calls < 3 || calls != whole_calls ||
                        bytes != same || memcmp(a, b, bytes);
    printf("%s, %d threads: %d blocks whole, %zu bytes %s\n",
           sam_queue_precision(&q), threads, whole_calls, bytes,
           memcmp(a, b, bytes) ? "DIFFER" : "are the same");
    free(a);
    free(b);
    q.ops = whole;
    sam_model_close(&m);
    sam_queue_close(&q);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: bottlenecks MODEL\n");
        return 2;
    }
    int failed = 0;
    for (int threads = 1; threads <= 3; threads += 2) {
        failed |= check(argv[1], SAM_PRECISION_FP32, threads);
        failed |= check(argv[1], SAM_PRECISION_BF16, threads);
        failed |= check(argv[1], SAM_PRECISION_INT8, threads);
    }
    return failed;
}
