// SPDX-License-Identifier: MIT
#pragma once

// Instructions of sm_90a alone: barriers in shared memory, copies by tensor maps, products of four
// warps that run on their own. One function each, as in mma.cuh; in the emulated build
// tests/emu/emu_hopper.h declares the same. PTX manual: "Parallel Synchronization and Communication
// Instructions: mbarrier", "Tensor Swizzling", "Asynchronous Warpgroup Level Matrix Instructions".

#include <stdint.h>

#include <cuda.h>

#include "mma.cuh"

// Whether this pass of the compiler knows them. Elsewhere their kernels are empty.
#if !defined(__CUDACC__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SAM_HAS_HOPPER 1
#else
#define SAM_HAS_HOPPER 0
#endif

#ifdef __CUDACC__

// ---- barriers in shared memory: 8 bytes that count arrivals, and bytes that copies bring. A phase
// ends when both counts are zero; phases alternate between parity 0 and 1, the first is of 0.

static __device__ __forceinline__ void mbarrier_init(uint64_t *b, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(shared_address(b)), "r"(arrivals) : "memory");
}

static __device__ __forceinline__ void mbarrier_arrive(uint64_t *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :: "r"(shared_address(b)) : "memory");
}

// Arrive, and let the phase wait for this many bytes more.
static __device__ __forceinline__ void mbarrier_arrive_expect(uint64_t *b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(b)), "r"(bytes) : "memory");
}

// Whether the phase of this parity, the present one or the one before, is over; waits a while.
static __device__ __forceinline__ bool mbarrier_try_wait(uint64_t *b, unsigned parity)
{
    uint32_t over;
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(over) : "r"(shared_address(b)), "r"(parity) : "memory");
    return over;
}

// What this thread has written to shared memory, barriers included, is there for copies and
// products that run on their own, once these are told to begin.
static __device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- copies by a map that the host made (cuTensorMapEncodeTiled)

// The box at these coordinates to shared memory, zeros where it is beyond the tensor. The barrier
// gets as many bytes as the box has.
static __device__ __forceinline__ void tensor_copy(void *dst, const CUtensorMap *map, int x, int y,
                                                   int z, uint64_t *b)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];"
                 :: "r"(shared_address(dst)), "l"(map), "r"(x), "r"(y), "r"(z),
                    "r"(shared_address(b)) : "memory");
}

// ---- registers of a warpgroup: the block's are dealt anew, in pieces of 8 a thread

template <int N> static __device__ __forceinline__ void registers_shrink()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N));
}

template <int N> static __device__ __forceinline__ void registers_grow()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N));
}

// ---- products of a warpgroup: registers that take part are not to be touched between the fence
// before a product and the wait for it

static __device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Registers that the products behind the next fence take: written before it, for the compiler, too.
template <int N> static __device__ __forceinline__ void wgmma_ready(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i]) :: "memory");
}

template <int N> static __device__ __forceinline__ void wgmma_ready(uint32_t (&a)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+r"(a[i]) :: "memory");
}

// Wait until at most PENDING of the committed groups are under way. d: what the others made; the
// compiler must not read it earlier.
template <int PENDING, int N> static __device__ __forceinline__ void wgmma_wait(float (&d)[N])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(PENDING) : "memory");
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i]) :: "memory");
}

#define WGMMA_8(d, i)                                                                           \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define WGMMA_32(d, i) WGMMA_8(d, i), WGMMA_8(d, i + 8), WGMMA_8(d, i + 16), WGMMA_8(d, i + 24)
#define WGMMA_NAMES_32                                                                      \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_NAMES_40 WGMMA_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_NAMES_48 WGMMA_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_NAMES_64                                                                         \
    WGMMA_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "  \
    "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_NAMES_128                                                                       \
    WGMMA_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, " \
    "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, "   \
    "%95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "   \
    "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, "    \
    "%124, %125, %126, %127"

// d (64 x 128) = a (64 x 16) b (16 x 128), or += where `add`. Both factors in shared memory, 16
// neighbouring numbers of a row of a and of a column of b.
static __device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], uint64_t a, uint64_t b,
                                                        bool add)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WGMMA_NAMES_64 "}, "
                 "%64, %65, p, 1, 1, 0, 0;\n}"
                 : WGMMA_32(d, 0), WGMMA_32(d, 32) : "l"(a), "l"(b), "r"((int) add) : "memory");
}

// Likewise, 64 columns.
static __device__ __forceinline__ void wgmma_m64n64k16(float (&d)[32], uint64_t a, uint64_t b,
                                                       bool add)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" WGMMA_NAMES_32 "}, "
                 "%32, %33, p, 1, 1, 0, 0;\n}"
                 : WGMMA_32(d, 0) : "l"(a), "l"(b), "r"((int) add) : "memory");
}

// d (64 x 64) += a (64 x 16) b (16 x 64). a: as in mma_m16n8k16, each warp 16 rows; b in shared
// memory, 64 neighbouring numbers of a row.
static __device__ __forceinline__ void wgmma_m64n64k16(float (&d)[32], const uint32_t *a,
                                                       uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" WGMMA_NAMES_32 "}, "
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : WGMMA_32(d, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b) : "memory");
}

// Likewise, 80, 96 and 256 columns: b is 64 of them after each other.
static __device__ __forceinline__ void wgmma_m64n80k16(float (&d)[40], const uint32_t *a,
                                                       uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 {" WGMMA_NAMES_40 "}, "
                 "{%40, %41, %42, %43}, %44, 1, 1, 1, 1;"
                 : WGMMA_32(d, 0), WGMMA_8(d, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b) : "memory");
}

static __device__ __forceinline__ void wgmma_m64n96k16(float (&d)[48], const uint32_t *a,
                                                       uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 {" WGMMA_NAMES_48 "}, "
                 "{%48, %49, %50, %51}, %52, 1, 1, 1, 1;"
                 : WGMMA_32(d, 0), WGMMA_8(d, 32), WGMMA_8(d, 40)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b) : "memory");
}

static __device__ __forceinline__ void wgmma_m64n256k16(float (&d)[128], const uint32_t *a,
                                                        uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" WGMMA_NAMES_128 "}, "
                 "{%128, %129, %130, %131}, %132, 1, 1, 1, 1;"
                 : WGMMA_32(d, 0), WGMMA_32(d, 32), WGMMA_32(d, 64), WGMMA_32(d, 96)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b) : "memory");
}

#endif // __CUDACC__

// A factor in shared memory as the copies with 128-byte swizzle leave it: rows of 128 bytes, row r
// of eight has its pieces of 16 bytes at place piece ^ r, and the first of each eight begins at a
// multiple of 1024 bytes. p: the first number that takes part. further_64: bytes from 64 columns to
// the next 64, where neighbouring numbers are of a row and there are more (PTX manual, "Leading
// dimension byte offset"); ignored elsewhere.
static __device__ __forceinline__ uint64_t wgmma_factor(const void *p, int further_64 = 16)
{
    return (uint64_t) ((shared_address(p) & 0x3ffff) >> 4) | (uint64_t) (further_64 >> 4) << 16
         | (uint64_t) (1024 >> 4) << 32 | (uint64_t) 1 << 62;
}

// The factor so many bytes further on.
static __device__ __forceinline__ uint64_t wgmma_further(uint64_t factor, int bytes)
{
    return factor + (bytes >> 4);
}
