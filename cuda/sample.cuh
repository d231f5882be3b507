// SPDX-License-Identifier: MIT
#pragma once

// Where resizing reads, as in ops/ref/ref.h: PyTorch's arithmetic, F32 and all.

// Bilinear, corners not aligned.
struct taps {
    int lo, hi;
    float weight; // of hi; lo has the rest
};

static __device__ __forceinline__ taps taps_from(float at, int in)
{
    const int lo = min((int) at, in - 1);
    return { lo, min(lo + 1, in - 1), at - lo };
}

static __device__ __forceinline__ taps taps_at(int position, int out, int in)
{
    const float scale = (float) in / (float) out;
    return taps_from(fmaxf(scale * (position + 0.5f) - 0.5f, 0.0f), in);
}

// To the bit as on the CPU: no step is fused with the next.
static __device__ __forceinline__ taps rounded_taps_at(int position, int out, int in)
{
    const float scale = (float) in / (float) out;
    const float at = __fadd_rn(__fmul_rn(scale, position + 0.5f), -0.5f);
    return taps_from(fmaxf(at, 0.0f), in);
}

static __device__ __forceinline__ float blend(float lo, float hi, float weight)
{
    return (1.0f - weight) * lo + weight * hi;
}

// The antialiased triangle filter: a tent as wide as the shrink factor over the centre, cut at
// the border. Sources lo .. hi - 1; their weights add up to sum.
struct tent {
    int lo, hi;
    float centre, width, sum;
};

static __device__ __forceinline__ float tent_weight(const tent &t, int source)
{
    return fmaxf(1.0f - fabsf((source - t.centre + 0.5f) / t.width), 0.0f);
}

static __device__ __forceinline__ tent tent_at(int position, int out, int in)
{
    const float scale = (float) in / (float) out;
    tent t = { 0, 0, scale * (position + 0.5f), fmaxf(scale, 1.0f), 0.0f };
    t.lo = max((int) (t.centre - t.width + 0.5f), 0);
    t.hi = min((int) (t.centre + t.width + 0.5f), in);
    for (int source = t.lo; source < t.hi; source++)
        t.sum += tent_weight(t, source);
    return t;
}
