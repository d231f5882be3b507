// SPDX-License-Identifier: MIT
// Kernels that tools/sass_model.py must find slow, under names that it has limits for. planted.sass
// is what nvcc -arch=sm_90a -O3 -cubin and cuobjdump -sass make of this file.
// Every load is waited for before the next one begins.
__global__ void linear_skinny_kernel(float *out, const float *a, const float *w, int k)
{
    float sum = 0.0f;
#pragma unroll 1
    for (int i = threadIdx.x; i < k; i += 32)
        sum += a[i] * w[i];
    out[threadIdx.x] = sum;
}

// A constant of type double: two conversions a number, by the units of special functions.
__global__ void attend_kernel(float *out, const float *in, int n)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += 32)
        out[i] = in[i] * 1.1;
}

// The same product with four loads of 16 bytes under way together.
__global__ void sound_kernel(float *out, const float4 *a, const float4 *w, int k)
{
    float sum = 0.0f;
#pragma unroll 1
    for (int i = threadIdx.x; i < k; i += 64) {
        float4 x[2], y[2];
#pragma unroll
        for (int t = 0; t < 2; t++)
            x[t] = a[i + 32 * t], y[t] = w[i + 32 * t];
#pragma unroll
        for (int t = 0; t < 2; t++)
            sum += x[t].x * y[t].x + x[t].y * y[t].y + x[t].z * y[t].z + x[t].w * y[t].w;
    }
    out[threadIdx.x] = sum;
}
