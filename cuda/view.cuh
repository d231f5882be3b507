// SPDX-License-Identifier: MIT
#pragma once

#include <math.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "backend.h"
#include "launch.cuh"
#include "mma.cuh"

// The numbers of an activation as kernels see them. The type is told at run time, by a branch
// that all threads of a launch take alike: one kernel serves every mix of F32 and BF16.
struct view {
    void *p;
    bool bf16;
};

static inline struct view view_of(const struct sam_tensor *t)
{
    return { t->data, t->type == SAM_BF16 };
}

static __device__ __forceinline__ float bf16_low(uint32_t two)
{
    return __uint_as_float(two << 16);
}

static __device__ __forceinline__ float bf16_high(uint32_t two)
{
    return __uint_as_float(two & 0xffff0000u);
}

static __device__ __forceinline__ __nv_bfloat16 bf16_one(float v)
{
    return __ushort_as_bfloat16((unsigned short) bf16_two(v, 0.0f));
}

// N numbers from number i on: 1, or 4 or 8 where i, and the start, are multiples of N.
template <int N> static __device__ __forceinline__ void load(float (&v)[N], view t, unsigned i)
{
    if constexpr (N == 4) {
        if (t.bf16) {
            const uint2 u = *(const uint2 *) ((const __nv_bfloat16 *) t.p + i);
            v[0] = bf16_low(u.x), v[1] = bf16_high(u.x);
            v[2] = bf16_low(u.y), v[3] = bf16_high(u.y);
        } else {
            const float4 u = *(const float4 *) ((const float *) t.p + i);
            v[0] = u.x, v[1] = u.y, v[2] = u.z, v[3] = u.w;
        }
    } else if constexpr (N == 8) {
        if (t.bf16) {
            const uint4 u = *(const uint4 *) ((const __nv_bfloat16 *) t.p + i);
            v[0] = bf16_low(u.x), v[1] = bf16_high(u.x), v[2] = bf16_low(u.y);
            v[3] = bf16_high(u.y), v[4] = bf16_low(u.z), v[5] = bf16_high(u.z);
            v[6] = bf16_low(u.w), v[7] = bf16_high(u.w);
        } else {
            const float4 *u = (const float4 *) ((const float *) t.p + i), low = u[0], high = u[1];
            v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
            v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
        }
    } else {
        for (int k = 0; k < N; k++)
            v[k] = t.bf16 ? __bfloat162float(((const __nv_bfloat16 *) t.p)[i + k])
                          : ((const float *) t.p)[i + k];
    }
}

template <int N>
static __device__ __forceinline__ void store(view t, unsigned i, const float (&v)[N])
{
    if constexpr (N == 4) {
        if (t.bf16)
            *(uint2 *) ((__nv_bfloat16 *) t.p + i) =
                make_uint2(bf16_two(v[0], v[1]), bf16_two(v[2], v[3]));
        else
            *(float4 *) ((float *) t.p + i) = make_float4(v[0], v[1], v[2], v[3]);
    } else if constexpr (N == 8) {
        if (t.bf16) {
            *(uint4 *) ((__nv_bfloat16 *) t.p + i) =
                make_uint4(bf16_two(v[0], v[1]), bf16_two(v[2], v[3]), bf16_two(v[4], v[5]),
                           bf16_two(v[6], v[7]));
        } else {
            float4 *u = (float4 *) ((float *) t.p + i);
            u[0] = make_float4(v[0], v[1], v[2], v[3]);
            u[1] = make_float4(v[4], v[5], v[6], v[7]);
        }
    } else {
        for (int k = 0; k < N; k++) {
            if (t.bf16)
                ((__nv_bfloat16 *) t.p)[i + k] = bf16_one(v[k]);
            else
                ((float *) t.p)[i + k] = v[k];
        }
    }
}

static __device__ __forceinline__ float load_one(view t, unsigned i)
{
    float v[1];
    load(v, t, i);
    return v[0];
}

static __device__ __forceinline__ void store_one(view t, unsigned i, float x)
{
    const float v[1] = { x };
    store(t, i, v);
}

static __device__ __forceinline__ float act_of(enum sam_act act, float x)
{
    switch (act) {
    case SAM_ACT_NONE:    return x;
    case SAM_ACT_RELU:    return x < 0.0f ? 0.0f : x; // a NaN stays one
    case SAM_ACT_GELU:    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case SAM_ACT_SIGMOID: return 1.0f / (1.0f + expf(-x));
    case SAM_ACT_SILU:    return x / (1.0f + expf(-x));
    case SAM_ACT_RELU6:   return x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x;
    case SAM_NUM_ACTS:    break;
    }
    return x;
}

// Whether groups of four numbers can be read at once: the start of a tensor allows it, and so
// does every offset that is a multiple of `step`. An absent tensor allows anything.
static inline bool by_four(const struct sam_tensor *t, size_t step)
{
    return step % 4 == 0 && (uintptr_t) t->data % (4 * sam_type_size(t->type)) == 0;
}

// Likewise for eight numbers, 16 bytes at once.
static inline bool by_eight(const struct sam_tensor *t, size_t step)
{
    return step % 8 == 0 && (uintptr_t) t->data % 16 == 0;
}

static inline int blocks_for(size_t count, int threads)
{
    return (int) ((count + threads - 1) / threads);
}

// A kernel of one formula: `at` is called for numbers i .. i + N - 1 of `count`, i a multiple of N.
enum { EACH_THREADS = 256 };

template <int N, class F>
static __global__ void __launch_bounds__(EACH_THREADS) each_kernel(F f, unsigned count)
{
    await_earlier();
    const unsigned i = (blockIdx.x * EACH_THREADS + threadIdx.x) * N;
    if (i < count)
        f.template at<N>(i);
}

template <int N, class F>
static void each_by(struct sam_queue *q, const char *op, const F &f, size_t count)
{
    if (count > INT32_MAX) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "%s: %zu numbers, at most %d on a GPU", op, count,
                       INT32_MAX);
        return;
    }
    SAM_LAUNCH((each_kernel<N, F>), blocks_for(count / N, EACH_THREADS), EACH_THREADS, 0, q, f,
               (unsigned) count);
    sam_cuda_launched(q, op);
}

// Four numbers per thread where `four`, else one.
template <class F>
static void each(struct sam_queue *q, const char *op, const F &f, size_t count, bool four)
{
    if (four)
        each_by<4>(q, op, f, count);
    else
        each_by<1>(q, op, f, count);
}
