// SPDX-License-Identifier: MIT
// Products in int8 at every level of the CPU backend, against sums of integers in a plain loop:
// random factors, and the largest ones with all signs, with which sums of 16 bits would saturate.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "ops/backends.h"
#include "ops/cpu/cpu.h"

#include "../expect.h"

enum { MOST_ROWS = 27, MOST_OUT = 70, MOST_IN = 2051 };

static const struct shape {
    int rows, in, out;
} shapes[] = { { 1, 1, 1 }, { 2, 3, 5 }, { 13, 66, 33 }, { 27, 257, 70 }, { 5, 2051, 16 },
               { 12, 512, 64 }, { 25, 99, 48 } };
enum { RANDOM, HIGHEST, LOWEST, OPPOSITE, ALTERNATING, NUM_PATTERNS };

// Integers up to 127, the largest of them in each row: they are what they are rounded to, times a
// power of two.
static int8_t row[MOST_ROWS][MOST_IN], weight[MOST_OUT][MOST_IN];
static float src[MOST_ROWS * MOST_IN], plain[MOST_OUT * MOST_IN], dst[MOST_ROWS * MOST_OUT];
static uint16_t half[MOST_ROWS * MOST_IN];

static int number(int pattern, bool is_weight, int i)
{
    static uint32_t state = 12345;
    state = state * 1664525 + 1013904223;
    switch (pattern) {
    case HIGHEST:     return 127;
    case LOWEST:      return -127;
    case OPPOSITE:    return is_weight ? -127 : 127;
    case ALTERNATING: return i % 2 ? -127 : 127;
    default:          return i ? (int) (state >> 8) % 255 - 127 : 127;
    }
}

static void draw_all(const struct shape *s, int pattern)
{
    for (int r = 0; r < s->rows; r++)
        for (int i = 0; i < s->in; i++) {
            row[r][i] = (int8_t) number(pattern, false, i);
            src[r * s->in + i] = ldexpf(row[r][i], r % 7 - 3);
            half[r * s->in + i] = sam_bf16_from_float(src[r * s->in + i]);
        }
    for (int o = 0; o < s->out; o++)
        for (int i = 0; i < s->in; i++) {
            weight[o][i] = (int8_t) number(pattern, true, i);
            plain[o * s->in + i] = ldexpf(weight[o][i], o % 5 - 2);
        }
}

static void multiply(struct sam_queue *q, const struct shape *s, struct sam_tensor from)
{
    struct sam_matrix m = { .out = s->out, .in = s->in, .int8 = true };
    struct sam_error error;
    m.data = aligned_alloc(64, (sam_op_pack_bytes(q, m) + 63) / 64 * 64);
    sam_op_pack(q, m, plain);
    sam_op_linear(q, &(struct sam_linear) {
        .dst = { dst, SAM_F32, 1, 1, s->rows, s->out }, .src = from, .weight = m });
    expect(!sam_queue_finish(q, &error), "%s", error.text);
    free(m.data);
}

static int count_wrong(const struct shape *s)
{
    int wrong = 0;
    for (int r = 0; r < s->rows; r++)
        for (int o = 0; o < s->out; o++) {
            int32_t sum = 0;
            for (int i = 0; i < s->in; i++)
                sum += row[r][i] * weight[o][i];
            wrong += dst[r * s->out + o] != ldexpf((float) sum, r % 7 - 3 + o % 5 - 2);
        }
    return wrong;
}

static void check_sums(struct sam_queue *q, const char *level)
{
    for (size_t k = 0; k < sizeof(shapes) / sizeof(*shapes); k++)
        for (int pattern = 0; pattern < NUM_PATTERNS; pattern++) {
            const struct shape *s = &shapes[k];
            draw_all(s, pattern);
            multiply(q, s, (struct sam_tensor) { src, SAM_F32, 1, 1, s->rows, s->in });
            expect(!count_wrong(s), "%s, %d x %d to %d, pattern %d: %d sums of F32 rows are wrong",
                   level, s->rows, s->in, s->out, pattern, count_wrong(s));
            multiply(q, s, (struct sam_tensor) { half, SAM_BF16, 1, 1, s->rows, s->in });
            expect(!count_wrong(s), "%s, %d x %d to %d, pattern %d: %d sums of BF16 rows are wrong",
                   level, s->rows, s->in, s->out, pattern, count_wrong(s));
        }
}

// Rows that are not rounded as others: a NaN and infinities are seen, what is tiny is not.
static void check_strange_rows(struct sam_queue *q, const char *level)
{
    static const struct shape s = { 5, 99, 40 };
    draw_all(&s, RANDOM);
    src[0 * 99 + 98] = NAN;
    src[1 * 99 + 3] = -INFINITY;
    for (int i = 0; i < 99; i++)
        src[2 * 99 + i] = 0, src[3 * 99 + i] *= 0x1p-126f;
    multiply(q, &s, (struct sam_tensor) { src, SAM_F32, 1, 1, s.rows, s.in });
    for (int o = 0; o < s.out; o++) {
        const float *at = dst + o;
        expect(isnan(at[0]) && isnan(at[40]) && at[80] == 0 && at[120] == 0 && isfinite(at[160]),
               "%s: rows with a NaN, an infinity, zeros, tiny numbers give %g %g %g %g", level,
               at[0], at[40], at[80], at[120]);
    }
}

int main(void)
{
    // The last turn is without a level of its own: AVX-VNNI is none.
    const int detected = (int) sam_cpu_detect();
    for (int turn = 0; turn <= detected + 1; turn++) {
        const int level = turn <= detected ? turn : detected;
        struct sam_queue q;
        struct sam_error error;
        setenv("SAMTRACK_CPU_LEVEL", turn <= detected ? sam_cpu_level_names[level] : "", 1);
        if (sam_queue_open(&q, SAM_BACKEND_CPU, -1, SAM_PRECISION_INT8, 1, NULL, &error)) {
            expect(false, "%s: %s", sam_cpu_level_names[level], error.text);
            continue;
        }
        expect(!strcmp(sam_queue_precision(&q), "int8"), "precision is '%s'",
               sam_queue_precision(&q));
        check_sums(&q, sam_cpu_level_names[level]);
        check_strange_rows(&q, sam_cpu_level_names[level]);
        sam_queue_close(&q);
    }
    return expect_status();
}
