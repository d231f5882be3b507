// SPDX-License-Identifier: MIT
// Multi-scale deformable attention. Each head of a query first lists the positions that it takes
// something from, and how much: four at most for each place it looks at. Then it adds them up,
// sixteen channels at a time, so that the sums stay in registers.

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "ops/cpu/cpu.h"

enum {
    QUERIES = 8, // of a task
    LANES   = 16,
};

struct tap {
    float weight;
    size_t at; // number of the first channel
};

struct job {
    const struct sam_deform_attention *p;
    bool is_wide;
};

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef uint32_t lanes_bits __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef uint16_t lanes_bf16 __attribute__((vector_size(LANES * sizeof(uint16_t))));

#define INLINE static inline __attribute__((always_inline))

// The weighted sum of channels [0, count) of the taps.
INLINE void add_taps(float *restrict sum, const struct tap *tap, int num, const void *values,
                     bool is_bf16, int count)
{
    int c = 0;
    for (; c + LANES <= count; c += LANES) {
        lanes total = { 0 };
        for (int t = 0; t < num; t++) {
            lanes v;
            if (is_bf16) {
                lanes_bf16 half;
                memcpy(&half, (const sam_bf16 *) values + tap[t].at + c, sizeof(half));
                const lanes_bits bits = __builtin_convertvector(half, lanes_bits) << 16;
                memcpy(&v, &bits, sizeof(v));
            } else {
                memcpy(&v, (const float *) values + tap[t].at + c, sizeof(v));
            }
            total += tap[t].weight * v;
        }
        memcpy(sum + c, &total, sizeof(total));
    }
    for (; c < count; c++) {
        float total = 0;
        for (int t = 0; t < num; t++)
            total += tap[t].weight *
                     (is_bf16 ? sam_bf16_to_float(((const sam_bf16 *) values)[tap[t].at + c])
                              : ((const float *) values)[tap[t].at + c]);
        sum[c] = total;
    }
}

static void add(float *sum, const struct tap *tap, int num, const struct sam_tensor *values,
                int count)
{
    if (values->type == SAM_BF16)
        add_taps(sum, tap, num, values->data, true, count);
    else
        add_taps(sum, tap, num, values->data, false, count);
}

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

WIDE static void add_wide(float *sum, const struct tap *tap, int num,
                          const struct sam_tensor *values, int count)
{
    if (values->type == SAM_BF16)
        add_taps(sum, tap, num, values->data, true, count);
    else
        add_taps(sum, tap, num, values->data, false, count);
}

static void softmax(float *restrict dst, const float *restrict src, int count)
{
    float largest = src[0], total = 0;
    for (int i = 1; i < count; i++)
        largest = fmaxf(largest, src[i]);
    for (int i = 0; i < count; i++)
        total += dst[i] = expf(src[i] - largest);
    for (int i = 0; i < count; i++)
        dst[i] /= total;
}

// The steps of the contract.
static float position(const struct sam_deform_attention *p, float middle, float extent,
                      float offset, int size)
{
    const float shift = p->references.c == 2 ? offset / (float) size
                                             : offset / (float) p->points * extent * 0.5f;
    return (middle + shift) * (float) size - 0.5f;
}

// Appends the positions around (x, y) that lie inside of the map. first: of its first number.
static int list_around(const struct sam_deform_attention *p, struct tap *tap, int level,
                       size_t first, float weight, float x, float y)
{
    const int width = p->width[level], height = p->height[level];
    if (!(x > -1 && x < width && y > -1 && y < height))
        return 0;
    const float left = floorf(x), top = floorf(y), across = x - left, down = y - top;
    const int x0 = (int) left, y0 = (int) top;
    int num = 0;
    for (int k = 0; k < 4; k++) {
        const int row = y0 + k / 2, column = x0 + k % 2;
        if (row < 0 || row >= height || column < 0 || column >= width)
            continue;
        tap[num].weight =
            weight * (k / 2 ? down : 1 - down) * (k % 2 ? across : 1 - across);
        tap[num++].at = first + ((size_t) row * width + column) * p->values.c;
    }
    return num;
}

// The taps of head `head` of query i, counted through all n.
static int list_taps(const struct sam_deform_attention *p, struct tap *tap, size_t i, int head)
{
    const int samples = p->levels * p->points, kind = p->references.c;
    const size_t at = (i * p->heads + head) * samples;
    const float *offset = (const float *) p->offsets.data + 2 * at;
    const float *box = (const float *) p->references.data +
                       (p->references.n == 1 ? i % p->dst.w : i) * kind;
    size_t first = i / p->dst.w * p->values.h * p->values.w * p->values.c +
                   (size_t) head * (p->values.c / p->heads);
    float weight[SAM_MAX_SAMPLES];
    int num = 0;

    softmax(weight, (const float *) p->weights.data + at, samples);
    for (int level = 0, s = 0; level < p->levels; level++) {
        for (int k = 0; k < p->points; k++, s++)
            num += list_around(p, tap + num, level, first, weight[s],
                               position(p, box[0], box[kind - 2], offset[2 * s], p->width[level]),
                               position(p, box[1], box[kind - 1], offset[2 * s + 1],
                                        p->height[level]));
        first += (size_t) p->height[level] * p->width[level] * p->values.c;
    }
    return num;
}

static void attend_task(void *priv, int task, int thread)
{
    const struct job *job = priv;
    const struct sam_deform_attention *p = job->p;
    const size_t all = (size_t) p->dst.n * p->dst.w;
    const int channels = p->dst.c / p->heads;
    struct tap tap[4 * SAM_MAX_SAMPLES];
    float sum[SAM_MAX_HEAD_DIM];
    for (size_t i = (size_t) task * QUERIES; i < all && i < ((size_t) task + 1) * QUERIES; i++)
        for (int head = 0; head < p->heads; head++) {
            const size_t at = i * p->dst.c + (size_t) head * channels;
            const int num = list_taps(p, tap, i, head);
            (job->is_wide ? add_wide : add)(sum, tap, num, &p->values, channels);
            if (p->dst.type == SAM_F32)
                memcpy((float *) p->dst.data + at, sum, (size_t) channels * sizeof(*sum));
            else
                for (int c = 0; c < channels; c++)
                    ((sam_bf16 *) p->dst.data)[at + c] = sam_bf16_from_float(sum[c]);
        }
}

void sam_deform_attention_cpu(struct sam_queue *q, const struct sam_deform_attention *p)
{
    struct job job = { p, sam_cpu(q)->level >= SAM_CPU_AVX2 };
    const size_t all = (size_t) p->dst.n * p->dst.w;
    sam_pool_run(sam_cpu(q)->pool, (int) ((all + QUERIES - 1) / QUERIES), attend_task, &job);
}
