// SPDX-License-Identifier: MIT
#pragma once

#include "backend.h"

// What is launched anywhere adds its kernel to sam_cuda_kernels before main(), by the initialiser
// of a variable that the launch mentions: so the list is complete, and no other place names them.
struct listed {
    struct sam_cuda_kernel kernel;

    listed(const void *entry) : kernel { entry, sam_cuda_kernels }
    {
        sam_cuda_kernels = &kernel;
    }
};
template <auto K> struct listed_once {
    static listed one;
};
template <auto K> listed listed_once<K>::one((const void *) K);
#define SAM_LISTED(kernel) ((void) &listed_once<kernel>::one)

// A launch in the stream of a queue, that the compiler of the emulated tests can read, too. A
// template kernel goes in parentheses, for its commas:
// SAM_LAUNCH((k<float, 64>), grid, block, shared, q, ...)
#ifdef __CUDACC__
#define SAM_LAUNCH(kernel, ...) (SAM_LISTED(kernel), launch_in(kernel, __VA_ARGS__))
#else
#define SAM_LAUNCH(kernel, ...) (SAM_LISTED(kernel), launch_in(#kernel, kernel, __VA_ARGS__))
#endif

// The first line of every kernel. Where launches overlap (programmatic dependent launch), blocks
// are there when those of the launch ahead of theirs have ended, but before what these wrote can be
// seen: here they wait until it can. They are not called earlier, by
// griddepcontrol.launch_dependents: on an H200 blocks that only wait, beside others that work, made
// a frame 2 % slower. CUDA
// Programming Guide, "Programmatic Dependent Launch and Synchronization"; PTX manual,
// "griddepcontrol".
#ifdef __CUDACC__

static __device__ __forceinline__ void await_earlier()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <class... P, class... A>
static void launch_in(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                      struct sam_queue *q, A &&...a)
{
    cudaLaunchAttribute overlap = {};
    cudaLaunchConfig_t config = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = sam_cuda_stream(q);
    config.attrs = &overlap;
    config.numAttrs = sam_cuda(q)->overlaps ? 1 : 0;
    cudaLaunchKernelEx(&config, kernel, P(a)...); // what it returns, sam_cuda_launched() asks for
}

#else

static inline void await_earlier()
{
    emu::await_earlier();
}

template <class... P, class... A>
static void launch_in(const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
                      size_t shared, struct sam_queue *q, A &&...a)
{
    emu::start(name, sam_cuda(q)->overlaps, kernel, grid, block, shared, sam_cuda_stream(q), a...);
}

#endif
