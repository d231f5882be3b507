// SPDX-License-Identifier: MIT
#pragma once

// Sums over the 32 lanes of a full warp, or over neighbours of a power of two; all get the result.
static __device__ __forceinline__ float lanes_sum(float v, int lanes)
{
    for (int step = lanes / 2; step > 0; step /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

// Of N numbers the sums of those that two lanes share, `half` of them and then of half as many. A
// template, for a loop may stay one in a large kernel, and its numbers would lie in memory.
template <int N, int half> static __device__ __forceinline__ void lanes_halve(float (&v)[N])
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < half; i++) {
        const float keep = lane & half ? v[i + half] : v[i];
        const float give = lane & half ? v[i] : v[i + half];
        v[i] = keep + __shfl_xor_sync(0xffffffffu, give, half);
    }
    if constexpr (half > 1)
        lanes_halve<N, half / 2>(v);
}

// Sums of N numbers over a full warp, N a power of two up to 32: lane i gets that of number i % N.
// In each step two lanes share the numbers that they still have, and swap the other halves.
template <int N> static __device__ __forceinline__ float lanes_sums(float (&v)[N])
{
    lanes_halve<N, N / 2>(v);
    for (int step = 16; step >= N; step /= 2)
        v[0] += __shfl_xor_sync(0xffffffffu, v[0], step);
    return v[0];
}
