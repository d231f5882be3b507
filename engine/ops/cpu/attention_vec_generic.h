// Four floats in the compiler's own vector type, for every processor.
#ifndef SAM_ATTENTION_VEC_H
#define SAM_ATTENTION_VEC_H

#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "base/tensor.h"

typedef float vec __attribute__((vector_size(16)));
typedef int32_t vec_int __attribute__((vector_size(16)));

enum { LANES = 4, ROWS = 4 };

static inline vec vec_set1(float x)
{
    return (vec) { x, x, x, x };
}

static inline vec vec_load(const float *p)
{
    vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void vec_store(float *p, vec v)
{
    memcpy(p, &v, sizeof(v));
}

static inline vec vec_fma(vec a, vec b, vec c)
{
    return a * b + c;
}

static inline vec vec_max(vec a, vec b)
{
    const vec_int larger = a > b;
    return (vec) (((vec_int) a & larger) | ((vec_int) b & ~larger));
}

static inline vec vec_add(vec a, vec b)
{
    return a + b;
}

static inline vec vec_sub(vec a, vec b)
{
    return a - b;
}

static inline vec vec_mul(vec a, vec b)
{
    return a * b;
}

static inline vec vec_div(vec a, vec b)
{
    return a / b;
}

// 2^x, x <= 10 or so; below 2^-125 it stays there, which is as good as 0 beside a maximum of 1.
static inline vec vec_exp2(vec x)
{
    x = vec_max(x, vec_set1(-125.0f));
    // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
    const vec big = x + 0x1.8p23f;
    const vec r = x - (big - 0x1.8p23f);
    // Minimax on [-1/2, 1/2], relative error 7.5e-8.
    vec y = vec_set1(0x1.5c08e6p-10f);
    y = y * r + 0x1.3d0c52p-7f;
    y = y * r + 0x1.c6b6e4p-5f;
    y = y * r + 0x1.ebf918p-3f;
    y = y * r + 0x1.62e428p-1f;
    y = y * r + 0x1.000002p+0f;
    return (vec) ((vec_int) y + ((vec_int) big << 23));
}

// n <= LANES numbers of a row, zeros after them.
static inline vec vec_load_some(const void *row, enum sam_type type, int at, int n)
{
    vec v = vec_set1(0.0f);
    for (int i = 0; i < n; i++)
        v[i] = type == SAM_F32 ? ((const float *) row)[at + i]
                               : sam_bf16_to_float(((const sam_bf16 *) row)[at + i]);
    return v;
}

static inline void vec_store_some(void *row, enum sam_type type, int at, int n, vec v)
{
    for (int i = 0; i < n; i++) {
        if (type == SAM_F32)
            ((float *) row)[at + i] = v[i];
        else
            ((sam_bf16 *) row)[at + i] = sam_bf16_from_float(v[i]);
    }
}

static inline void vec_transpose(vec v[LANES])
{
    for (int i = 0; i < LANES; i++) {
        for (int j = i + 1; j < LANES; j++) {
            const float t = v[i][j];
            v[i][j] = v[j][i];
            v[j][i] = t;
        }
    }
}

#endif // SAM_ATTENTION_VEC_H
