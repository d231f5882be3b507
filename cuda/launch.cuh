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

// Of this file's kernels: 1 leaves the next launch's blocks to come when these are through. Device
// code is not linked, so each file has one; the list has them all.
static __constant__ int comes_late;
struct listed_late {
    struct sam_cuda_late late;

    listed_late(const void *symbol) : late { symbol, sam_cuda_lates }
    {
        sam_cuda_lates = &late;
    }
};
static listed_late late_here((const void *) &comes_late);

// A launch in the stream of a queue, that the compiler of the emulated tests can read, too. A
// template kernel goes in parentheses, for its commas:
// SAM_LAUNCH((k<float, 64>), grid, block, shared, q, ...)
#ifdef __CUDACC__
#define SAM_LAUNCH(kernel, ...) (SAM_LISTED(kernel), launch_in(kernel, __VA_ARGS__))
#else
#define SAM_LAUNCH(kernel, ...) (SAM_LISTED(kernel), launch_in(#kernel, kernel, __VA_ARGS__))
#endif

// The first line of every kernel. Where launches overlap (programmatic dependent launch), blocks
// are there before the launch ahead of theirs is through: here they wait until it is, and all that
// it has written can be seen. From then on the next launch's blocks may come, unless that is
// switched off: the constant is read ahead of the wait, which hides that. CUDA Programming Guide,
// "Programmatic Dependent Launch and Synchronization"; PTX manual, "griddepcontrol".
#ifdef __CUDACC__

static __device__ __forceinline__ void await_earlier()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n.reg .pred late;\n"
                 "setp.ne.s32 late, %0, 0;\n"
                 "griddepcontrol.wait;\n"
                 "@!late griddepcontrol.launch_dependents;\n}" :: "r"(comes_late) : "memory");
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
    emu::await_earlier(!comes_late);
}

template <class... P, class... A>
static void launch_in(const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
                      size_t shared, struct sam_queue *q, A &&...a)
{
    emu::start(name, sam_cuda(q)->overlaps, kernel, grid, block, shared, sam_cuda_stream(q), a...);
}

#endif
