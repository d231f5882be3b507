// SPDX-License-Identifier: MIT
// bench-products
// Products of the models' shapes by the CPU backend in fp32, bf16 (where there is one) and int8, in
// turn, each the least of several: processor time of one thread, so that other work does not count.
// A product and its sum count as 2. The last line is JSON: how many times the rate of fp32 int8
// reaches where there are 256 terms and more, least and geometric mean. $SAMTRACK_CPU_LEVEL: the
// instruction set.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ops/backends.h"
#include "ops/ops.h"
#include "standard.h"

enum { ROUNDS = 12, NUM_MODES = 3, MANY = 256 };

static const struct shape {
    int rows, in, out;
    enum sam_act act;
} shapes[] = {
    { 16384, 96, 288, SAM_ACT_NONE },  { 16384, 96, 384, SAM_ACT_GELU },
    { 4096, 192, 768, SAM_ACT_GELU },  { 1024, 144, 24, SAM_ACT_NONE },
    { 400, 672, 112, SAM_ACT_NONE },   { 4096, 256, 256, SAM_ACT_NONE },
    { 2048, 256, 2048, SAM_ACT_RELU }, { 2048, 2048, 256, SAM_ACT_NONE },
    { 2048, 384, 1536, SAM_ACT_GELU }, { 2048, 1536, 384, SAM_ACT_NONE },
    { 1024, 768, 3072, SAM_ACT_GELU }, { 1024, 3072, 768, SAM_ACT_NONE },
};

static struct sam_queue queue[NUM_MODES]; // fp32, bf16, int8; bf16 may not be open
static float *src, *dst, *weight;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static double run(struct sam_queue *q, const struct sam_linear *p)
{
    const double begun = now_ms();
    sam_op_linear(q, p);
    return now_ms() - begun;
}

// As models have them: rows in the type of the queue's activations.
static struct sam_linear make(struct sam_queue *q, const struct shape *s)
{
    struct sam_linear p = {
        .dst = { dst, sam_queue_type(q), 1, 1, s->rows, s->out },
        .src = { src, sam_queue_type(q), 1, 1, s->rows, s->in },
        .weight = { .out = s->out, .in = s->in, .int8 = q->int8 }, .act = s->act,
    };
    const struct sam_tensor numbers = { weight, SAM_F32, 1, 1, s->rows, s->in };
    p.weight.data = aligned_alloc(64, (sam_op_pack_bytes(q, p.weight) + 63) / 64 * 64);
    sam_op_pack(q, p.weight, weight);
    sam_op_copy(q, &(struct sam_copy) { .dst = p.src, .src = numbers });
    return p;
}

// Least times of the modes, ms.
static void measure(const struct shape *s, double ms[NUM_MODES])
{
    struct sam_linear p[NUM_MODES];
    for (int m = 0; m < NUM_MODES; m++)
        ms[m] = INFINITY;
    for (int round = 0; round < ROUNDS; round++)
        for (int m = 0; m < NUM_MODES; m++) {
            if (!sam_queue_is_open(&queue[m]))
                continue;
            p[m] = make(&queue[m], s);
            run(&queue[m], &p[m]);
            ms[m] = fmin(ms[m], run(&queue[m], &p[m]));
            free(p[m].weight.data);
        }
}

int main(void)
{
    static const enum sam_precision precisions[NUM_MODES] = {
        SAM_PRECISION_FP32, SAM_PRECISION_BF16, SAM_PRECISION_INT8 };
    const size_t room = (size_t) 16384 * 384, most = (size_t) 3072 * 2048;
    struct sam_error error;
    double least = INFINITY, sum = 0;
    int many = 0;

    standard_begin("bench-products");
    src = malloc(most * sizeof(*src));
    dst = malloc(room * sizeof(*dst));
    weight = malloc(most * sizeof(*weight));
    for (int m = 0; m < NUM_MODES; m++)
        if (sam_queue_open(&queue[m], SAM_BACKEND_CPU, -1, precisions[m], 1, NULL, &error)
            && precisions[m] != SAM_PRECISION_BF16)
            return 1;
    if (!src || !dst || !weight)
        return 1;
    for (size_t i = 0; i < most; i++)
        weight[i] = (float) (i * 2654435761u % 1021) / 510 - 1;
    printf("%s, one thread: GFLOP/s\nrows x in -> out                  fp32     bf16     int8"
           "  int8 / fp32\n", queue[0].device_name);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        const struct shape *s = &shapes[i];
        const double flop = 2e-6 * s->rows * s->in * s->out;
        double ms[NUM_MODES];
        measure(s, ms);
        printf("%6d x %4d -> %4d%-7s %10.0f %8.0f %8.0f %12.2f\n", s->rows, s->in, s->out,
               s->act == SAM_ACT_GELU ? " GELU" : s->act ? " ReLU" : "", flop / ms[0],
               flop / ms[1], flop / ms[2], ms[0] / ms[2]);
        if (s->in < MANY)
            continue;
        least = fmin(least, ms[0] / ms[2]);
        sum += log(ms[0] / ms[2]);
        many++;
    }
    printf("{\"int8_least\": %.2f, \"int8_mean\": %.2f}\n", least, exp(sum / many));
    for (int m = 0; m < NUM_MODES; m++)
        sam_queue_close(&queue[m]);
    free(src);
    free(dst);
    free(weight);
    return 0;
}
