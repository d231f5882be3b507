// SPDX-License-Identifier: MIT
// The emulated side of cuda/mma.cuh.
#ifndef EMU_MMA_H
#define EMU_MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

#include <float.h>
#include <math.h>

template <class T> void mma_m16n8k16(float *d, const uint32_t *a, const uint32_t *b, EMU_SITE)
{
    emu::mma_m16n8k16(d, a, b, std::is_same_v<T, __nv_bfloat16>, file, line);
}

inline void ldmatrix_x2(uint32_t *r, const void *row, EMU_SITE)
{
    emu::ldmatrix(r, 2, false, row, file, line);
}
inline void ldmatrix_x2_trans(uint32_t *r, const void *row, EMU_SITE)
{
    emu::ldmatrix(r, 2, true, row, file, line);
}
inline void ldmatrix_x4(uint32_t *r, const void *row, EMU_SITE)
{
    emu::ldmatrix(r, 4, false, row, file, line);
}
inline void ldmatrix_x4_trans(uint32_t *r, const void *row, EMU_SITE)
{
    emu::ldmatrix(r, 4, true, row, file, line);
}

inline void cp_async_16(void *dst, const void *src, bool valid = true, EMU_SITE)
{
    emu::copy_async(dst, src, valid ? 16 : 0, file, line);
}
inline void cp_async_commit() { emu::copy_commit(); }
template <int N> void cp_async_wait() { emu::copy_wait(N); }
inline void cp_async_wait_all() { emu::copy_wait(-1); }

// By one access of 16 bytes, as the cost of banks is counted by accesses.
inline void load_shared_16(float (&v)[4], const float *p)
{
    const unsigned __int128 four = *(const unsigned __int128 *) p;
    memcpy(v, &four, sizeof(four));
}

inline uint32_t bf16_two(float low, float high)
{
    return (uint32_t) __bfloat16_as_ushort(__float2bfloat16_rn(low))
         | (uint32_t) __bfloat16_as_ushort(__float2bfloat16_rn(high)) << 16;
}

inline float exp2_flushed(float x)
{
    const float y = exp2f(fabsf(x) < FLT_MIN ? 0.0f : x);
    return y < FLT_MIN ? 0.0f : y; // a NaN stays one
}

inline void barrier_sync(int id, int threads, EMU_SITE)
{
    bool all;
    emu::barrier("barrier_sync", id, threads, true, &all, file, line);
}

#endif // EMU_MMA_H
