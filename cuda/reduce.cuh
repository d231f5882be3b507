#pragma once

// Sums over the 32 lanes of a full warp, or over neighbours of a power of two; all get the result.
static __device__ __forceinline__ float lanes_sum(float v, int lanes)
{
    for (int step = lanes / 2; step > 0; step /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}
