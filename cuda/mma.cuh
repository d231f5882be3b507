// SPDX-License-Identifier: MIT
#pragma once

// Instructions that CUDA C++ has no function for, or a slower one: tensor cores, asynchronous
// copies, fast conversions. One function each, so that no kernel holds inline PTX. In the
// emulated build tests/emu/emu_mma.h declares the same functions. Layouts: PTX manual, "Matrix
// Fragments for mma.m16n8k16". Needs sm_80.

#include <stdint.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifdef __CUDACC__

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t) __cvta_generic_to_shared(p);
}

// d (16 x 8) += a (16 x 16) b (16 x 8)
template <typename T>
static __device__ __forceinline__ void mma_m16n8k16(float *d, const uint32_t *a, const uint32_t *b);

#define MMA_M16N8K16(T, name)                                                          \
    template <>                                                                        \
    __device__ __forceinline__ void mma_m16n8k16<T>(float *d, const uint32_t *a,       \
                                                    const uint32_t *b)                 \
    {                                                                                  \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." name "." name ".f32 "    \
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    }
MMA_M16N8K16(half, "f16")
MMA_M16N8K16(__nv_bfloat16, "bf16")

// Load 2 or 4 matrices of 8 x 8 elements; lane 8i + j gives the address of row j of matrix i.
#define LDMATRIX_X2(name, trans)                                                       \
    static __device__ __forceinline__ void name(uint32_t *r, const void *row)          \
    {                                                                                  \
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" trans ".shared.b16 {%0, %1}, [%2];" \
                     : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)) : "memory");  \
    }
#define LDMATRIX_X4(name, trans)                                                       \
    static __device__ __forceinline__ void name(uint32_t *r, const void *row)          \
    {                                                                                  \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                  \
                     : "r"(shared_address(row)) : "memory");                           \
    }
LDMATRIX_X2(ldmatrix_x2, "")
LDMATRIX_X2(ldmatrix_x2_trans, ".trans")
LDMATRIX_X4(ldmatrix_x4, "")
LDMATRIX_X4(ldmatrix_x4_trans, ".trans")

// Copy 16 bytes from global to shared memory, or clear them when !valid; not
// there before a wait by this thread, nor for other threads before a barrier.
static __device__ __forceinline__ void cp_async_16(void *dst, const void *src, bool valid = true)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(dst)), "l"(src), "r"(valid ? 16 : 0) : "memory");
}

static __device__ __forceinline__ void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Wait until at most N of the committed groups are under way.
template <int N> static __device__ __forceinline__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}

static __device__ __forceinline__ void cp_async_wait_all()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// Four numbers of shared memory at once, 16 bytes aligned.
static __device__ __forceinline__ void load_shared_16(float (&v)[4], const float *p)
{
    const float4 four = *(const float4 *) p;
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
}

// Two floats as BF16, rounded to nearest, ties to even; a NaN stays one. One instruction of the
// arithmetic units, where a conversion of one float takes a turn of the special function units.
static __device__ __forceinline__ uint32_t bf16_two(float low, float high)
{
    uint32_t two;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
}

// 2^x within 2 ulp; 0 where the result would be a denormal number. exp2f spends three more
// instructions on those.
static __device__ __forceinline__ float exp2_flushed(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Barrier 1 .. 15 for the given number of threads, a multiple of 32.
static __device__ __forceinline__ void barrier_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory");
}

#endif // __CUDACC__
