// SPDX-License-Identifier: MIT
// CUDA C++ for g++: the keywords, built-in variables and device functions a .cu
// file takes for granted, and the launch. Put this folder first on the include
// path and include this file ahead of the .cu file, as nvcc does with its own.
#ifndef EMU_CUDA_RUNTIME_H
#define EMU_CUDA_RUNTIME_H

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>

#include "emu.h"

#define __host__
#define __device__
#define __global__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n)    __attribute__((aligned(n)))
// Local ones become static this way, and "extern __shared__ T smem[]" still
// parses. Blocks run one after the other, so all share one copy. The array of
// dynamic shared memory must be named smem.
#define __shared__ thread_local

enum { warpSize = 32 };
extern const uint3 threadIdx __asm__("emu_threadIdx"), blockIdx __asm__("emu_blockIdx");
extern const dim3 blockDim __asm__("emu_blockDim"), gridDim __asm__("emu_gridDim");

// ---- launch: EMU_LAUNCH(kernel or (kernel<a, b>), grid, block, shared, stream, arguments...)

#define EMU_LAUNCH(kernel, ...)         emu::start(#kernel, false, kernel, __VA_ARGS__)
#define EMU_LAUNCH_OVERLAP(kernel, ...) emu::start(#kernel, true, kernel, __VA_ARGS__)

namespace emu {
// overlaps: it may begin before the launch ahead of it has ended; its threads call await_earlier().
template <class... P, class... A>
void start(const char *name, bool overlaps, void (*kernel)(P...), dim3 grid, dim3 block,
           size_t shared, cudaStream_t stream, A &&...a)
{
    static_assert((std::is_trivially_copyable_v<P> && ...), "kernel arguments are copied as bytes");
    static_assert((sizeof(P) + ... + 0) <= 4096, "kernel arguments exceed 4 KB");
    static_assert(((alignof(P) <= 128) && ...));
    using bound = std::pair<void (*)(P...), std::tuple<P...>>;
    const bound b(kernel, std::tuple<P...>(std::forward<A>(a)...));
    auto call = [](const void *p) {
        alignas(bound) char bytes[sizeof(bound)]; // a string is not aligned that well
        memcpy(bytes, p, sizeof(bytes));
        const bound &b = *reinterpret_cast<const bound *>(bytes);
        std::apply(b.first, b.second);
    };
    submit({ name, (const void *) kernel, grid, block, shared, call,
             std::string((const char *) &b, sizeof(b)), overlaps }, stream);
}

template <class T> struct identity { using type = T; };
template <class T>
using same = typename identity<T>::type; // a parameter that takes no part in deduction
inline unsigned lane() { return self % 32; }
} // namespace emu

// ---- barriers and votes

#define EMU_BARRIER(name, result)                                                      \
    inline int name(int v, EMU_SITE)                                                   \
    {                                                                                  \
        bool all;                                                                      \
        const int count = emu::barrier(#name, 0, 0, v != 0, &all, file, line);         \
        (void) count;                                                                  \
        return result;                                                                 \
    }
EMU_BARRIER(__syncthreads_or, count != 0)
EMU_BARRIER(__syncthreads_and, all)
EMU_BARRIER(__syncthreads_count, count)
inline void __syncthreads(EMU_SITE)
{
    bool all;
    emu::barrier("__syncthreads", 0, 0, true, &all, file, line);
}

namespace emu {
// A collective whose lanes each put in one T and all get the same R out.
template <class T, class R, class F>
EMU_RAW R gather(const char *what, unsigned mask, T in, F, const char *file, int line)
{
    struct operand { T in; R out; } mine = { in, R() };
    meet(what, mask, &mine, [](void *const *o, unsigned members) EMU_RAW {
        auto at = [o](unsigned l) EMU_RAW -> operand & { return *static_cast<operand *>(o[l]); };
        const unsigned first = __builtin_ctz(members);
        R sum = F::start(at(first).in, first);
        for (unsigned l = first + 1; l < 32; l++)
            if (members >> l & 1)
                sum = F::add(sum, at(l).in, l);
        for (unsigned l = 0; l < 32; l++)
            if (members >> l & 1)
                at(l).out = sum;
    }, file, line);
    return mine.out;
}
struct ballot {
    static unsigned start(bool v, unsigned l) { return (unsigned) v << l; }
    static unsigned add(unsigned s, bool v, unsigned l) { return s | (unsigned) v << l; }
};
} // namespace emu

inline unsigned __ballot_sync(unsigned mask, int v, EMU_SITE)
{
    return emu::gather<bool, unsigned>("__ballot_sync", mask, v != 0, emu::ballot(), file, line);
}
inline int __any_sync(unsigned mask, int v, EMU_SITE)
{
    return emu::gather<bool, unsigned>("__any_sync", mask, v != 0, emu::ballot(), file, line) != 0;
}
inline int __all_sync(unsigned mask, int v, EMU_SITE)
{
    return emu::gather<bool, unsigned>("__all_sync", mask, v == 0, emu::ballot(), file, line) == 0;
}
// Lanes need not run together, so the only sure answer is the caller alone.
inline unsigned __activemask() { return 1u << emu::lane(); }

#define EMU_REDUCE(name, expr)                                                                     \
    template <class T,                                                                             \
              class = std::enable_if_t<std::is_same_v<T, int> || std::is_same_v<T, unsigned>>>     \
    T name(unsigned mask, T v, EMU_SITE)                                                           \
    {                                                                                              \
        struct op {                                                                                \
            static T start(T v, unsigned)                                                          \
            {                                                                                      \
                return v;                                                                          \
            }                                                                                      \
            static T add(T a, T b, unsigned)                                                       \
            {                                                                                      \
                return expr;                                                                       \
            }                                                                                      \
        };                                                                                         \
        return emu::gather<T, T>(#name, mask, v, op(), file, line);                                \
    }
EMU_REDUCE(__reduce_add_sync, (T) ((unsigned) a + (unsigned) b))
EMU_REDUCE(__reduce_min_sync, a < b ? a : b)
EMU_REDUCE(__reduce_max_sync, a > b ? a : b)
EMU_REDUCE(__reduce_and_sync, a & b)
EMU_REDUCE(__reduce_or_sync, a | b)
EMU_REDUCE(__reduce_xor_sync, a ^ b)

inline void __syncwarp(unsigned mask = 0xffffffff, EMU_SITE)
{
    emu::meet("__syncwarp", mask, nullptr, [](void *const *, unsigned members) EMU_RAW {
        unsigned lanes[32] = {};
        lanes[emu::self / 32] = members;
        emu::happens(lanes);
    }, file, line);
}

// ---- shuffles: a shuffle orders no memory accesses, as in CUDA

namespace emu {
template <class T>
EMU_RAW T shuffle(const char *what, unsigned mask, T v, unsigned source, const char *file, int line)
{
    struct operand { T in, out; unsigned source; } mine = { v, v, source };
    meet(what, mask, &mine, [](void *const *o, unsigned members) EMU_RAW {
        for (unsigned l = 0; l < 32; l++) {
            if (!(members >> l & 1))
                continue;
            operand *to = static_cast<operand *>(o[l]);
            if (members >> to->source & 1)
                to->out = static_cast<operand *>(o[to->source])->in;
            else
                fault(cudaErrorLaunchFailure, "lane %u shuffles from lane %u, which takes no part",
                      l, to->source);
        }
    }, file, line);
    return mine.out;
}
} // namespace emu

template <class T> T __shfl_sync(unsigned mask, T v, int source, int width = 32, EMU_SITE)
{
    const unsigned first = emu::lane() & -width;
    return emu::shuffle("__shfl_sync", mask, v, first + (source & (width - 1)), file, line);
}
template <class T> T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32, EMU_SITE)
{
    const unsigned l = emu::lane(), end = (l & -width) + width;
    return emu::shuffle("__shfl_xor_sync", mask, v, (l ^ bits) < end ? l ^ bits : l, file, line);
}
template <class T> T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, EMU_SITE)
{
    const unsigned l = emu::lane(), in = l & (width - 1);
    return emu::shuffle("__shfl_up_sync", mask, v, in >= delta ? l - delta : l, file, line);
}
template <class T> T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, EMU_SITE)
{
    const unsigned l = emu::lane(), in = l & (width - 1);
    return emu::shuffle("__shfl_down_sync", mask, v, in + delta < (unsigned) width ? l + delta : l,
                        file, line);
}

// ---- atomics: one thread runs at a time, so a plain update is one

namespace emu {
template <class T, class F> EMU_RAW T update(T *p, F next)
{
    yield(); // others may come first, and must if this one spins on a lock
    touch(p, sizeof(T), ATOMIC, self, __builtin_return_address(0));
    const T old = *p;
    *p = next(old);
    return old;
}
} // namespace emu

#define EMU_ATOMIC(name, expr)                                                         \
    template <class T> EMU_RAW T name(T *p, emu::same<T> v)                            \
    {                                                                                  \
        return emu::update(p, [v](T old) EMU_RAW -> T { return expr; });               \
    }                                                                                  \
    template <class T> EMU_RAW T name##_block(T *p, emu::same<T> v) { return name(p, v); }
EMU_ATOMIC(atomicAdd, old + v)
EMU_ATOMIC(atomicSub, old - v)
EMU_ATOMIC(atomicMin, old < v ? old : v)
EMU_ATOMIC(atomicMax, old > v ? old : v)
EMU_ATOMIC(atomicAnd, old & v)
EMU_ATOMIC(atomicOr, old | v)
EMU_ATOMIC(atomicXor, old ^ v)
EMU_ATOMIC(atomicExch, ((void) old, v))
EMU_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
EMU_ATOMIC(atomicDec, old == 0 || old > v ? v : old - 1)
template <class T> EMU_RAW T atomicCAS(T *p, emu::same<T> expected, emu::same<T> v)
{
    return emu::update(p, [=](T old) EMU_RAW -> T { return old == expected ? v : old; });
}
inline void __threadfence() { emu::fence_device(emu::self); }
inline void __threadfence_block() {}
inline void __threadfence_system() { emu::fence_device(emu::self); }
inline void __nanosleep(unsigned) { emu::yield(); }

// ---- loads and stores with a cache hint

template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldca(const T *p) { return *p; }
// From the L2, where atomics happen: no race with those.
template <class T> EMU_RAW T __ldcg(const T *p)
{
    emu::touch((T *) p, sizeof(T), emu::ATOMIC, emu::self, __builtin_return_address(0));
    return *p;
}
template <class T> T __ldcs(const T *p) { return *p; }
template <class T> void __stcg(T *p, emu::same<T> v) { *p = v; }
template <class T> void __stcs(T *p, emu::same<T> v) { *p = v; }
template <class T> void __stwt(T *p, emu::same<T> v) { *p = v; }

// ---- arithmetic

template <class A, class B,
          class R = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>,
                                     std::common_type_t<A, B>>>
constexpr R min(A a, B b)
{
    if constexpr (std::is_floating_point_v<R>)
        return __builtin_fmin((R) a, (R) b); // the other one if one is NaN
    else
        return (R) a < (R) b ? (R) a : (R) b;
}
template <class A, class B,
          class R = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>,
                                     std::common_type_t<A, B>>>
constexpr R max(A a, B b)
{
    if constexpr (std::is_floating_point_v<R>)
        return __builtin_fmax((R) a, (R) b);
    else
        return (R) a > (R) b ? (R) a : (R) b;
}

#define EMU_MATH(R, name, args, expr) inline R name args { return expr; }
EMU_MATH(float, rsqrtf, (float x), 1.0f / sqrtf(x))
EMU_MATH(double, rsqrt, (double x), 1.0 / sqrt(x))
EMU_MATH(float, __frsqrt_rn, (float x), (float) (1.0 / sqrt((double) x)))
EMU_MATH(float, __expf, (float x), expf(x))
EMU_MATH(float, __exp10f, (float x), powf(10.0f, x))
EMU_MATH(float, __logf, (float x), logf(x))
EMU_MATH(float, __log2f, (float x), log2f(x))
EMU_MATH(float, __sinf, (float x), sinf(x))
EMU_MATH(float, __cosf, (float x), cosf(x))
EMU_MATH(float, __powf, (float x, float y), powf(x, y))
EMU_MATH(float, __tanhf, (float x), tanhf(x))
EMU_MATH(float, fdividef, (float a, float b), a / b)
EMU_MATH(float, __fdividef, (float a, float b), a / b)
EMU_MATH(float, __saturatef, (float x), x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f)
EMU_MATH(float, __fmaf_rn, (float a, float b, float c), fmaf(a, b, c))
EMU_MATH(float, __fadd_rn, (float a, float b), a + b)
EMU_MATH(float, __fsub_rn, (float a, float b), a - b)
EMU_MATH(float, __fmul_rn, (float a, float b), a * b)
EMU_MATH(float, __fdiv_rn, (float a, float b), a / b)
EMU_MATH(float, __frcp_rn, (float x), 1.0f / x)
EMU_MATH(float, __fsqrt_rn, (float x), sqrtf(x))
EMU_MATH(int, __popc, (unsigned x), __builtin_popcount(x))
EMU_MATH(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
EMU_MATH(int, __ffs, (int x), __builtin_ffs(x))
EMU_MATH(int, __clz, (int x), x ? __builtin_clz(x) : 32)
EMU_MATH(int, __clzll, (long long x), x ? __builtin_clzll(x) : 64)
EMU_MATH(int, __mulhi, (int a, int b), (int) ((long long) a * b >> 32))
EMU_MATH(unsigned, __umulhi, (unsigned a, unsigned b), (unsigned) ((unsigned long long) a *b >> 32))
EMU_MATH(unsigned, __funnelshift_r, (unsigned lo, unsigned hi, unsigned n),
         (unsigned) (((unsigned long long) hi << 32 | lo) >> (n & 31)))
inline unsigned __brev(unsigned x)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i++)
        r |= (x >> i & 1) << (31 - i);
    return r;
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
    const unsigned long long in = (unsigned long long) y << 32 | x;
    unsigned r = 0;
    for (int i = 0; i < 4; i++)
        r |= (unsigned) (in >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
    return r;
}
inline int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 4; i++)
        c += (signed char) (a >> 8 * i) * (signed char) (b >> 8 * i);
    return c;
}

namespace emu {
template <class To, class From> To bits(From v)
{
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &v, sizeof(to));
    return to;
}
template <class To> To saturate(float v) // as the hardware converts: NaN to 0, the rest clamped
{
    using limits = std::numeric_limits<To>;
    return v != v                        ? 0
           : v <= (double) limits::min() ? limits::min()
           : v >= (double) limits::max() ? limits::max()
                                         : (To) v;
}
} // namespace emu
EMU_MATH(int, __float_as_int, (float x), emu::bits<int>(x))
EMU_MATH(unsigned, __float_as_uint, (float x), emu::bits<unsigned>(x))
EMU_MATH(float, __int_as_float, (int x), emu::bits<float>(x))
EMU_MATH(float, __uint_as_float, (unsigned x), emu::bits<float>(x))
EMU_MATH(long long, __double_as_longlong, (double x), emu::bits<long long>(x))
EMU_MATH(double, __longlong_as_double, (long long x), emu::bits<double>(x))
EMU_MATH(int, __float2int_rn, (float x), emu::saturate<int>(rintf(x)))
EMU_MATH(int, __float2int_rz, (float x), emu::saturate<int>(truncf(x)))
EMU_MATH(int, __float2int_rd, (float x), emu::saturate<int>(floorf(x)))
EMU_MATH(int, __float2int_ru, (float x), emu::saturate<int>(ceilf(x)))
EMU_MATH(unsigned, __float2uint_rn, (float x), emu::saturate<unsigned>(rintf(x)))
EMU_MATH(unsigned, __float2uint_rz, (float x), emu::saturate<unsigned>(truncf(x)))
EMU_MATH(float, __int2float_rn, (int x), (float) x)
EMU_MATH(float, __uint2float_rn, (unsigned x), (float) x)

long long clock64(); // counts context switches
inline void __trap() { emu::fault(cudaErrorLaunchFailure, "__trap()"); }

// ---- make_float4 and its kin

#define EMU_MAKE(name, T)                                                              \
    inline name##1 make_##name##1(T x) { return { x }; }                               \
    inline name##2 make_##name##2(T x, T y) { return { x, y }; }                       \
    inline name##3 make_##name##3(T x, T y, T z) { return { x, y, z }; }               \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return { x, y, z, w }; }
EMU_MAKE(char, signed char)
EMU_MAKE(uchar, unsigned char)
EMU_MAKE(short, short)
EMU_MAKE(ushort, unsigned short)
EMU_MAKE(int, int)
EMU_MAKE(uint, unsigned)
EMU_MAKE(float, float)
EMU_MAKE(longlong, long long)
EMU_MAKE(ulonglong, unsigned long long)
EMU_MAKE(double, double)

// ---- the runtime's C++ overloads

template <class T> cudaError_t cudaMalloc(T **p, size_t bytes)
{
    return cudaMalloc((void **) p, bytes);
}
template <class T> cudaError_t cudaMallocHost(T **p, size_t bytes)
{
    return cudaMallocHost((void **) p, bytes);
}
template <class T> cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t s)
{
    return cudaMallocAsync((void **) p, bytes, s);
}
template <class T> cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute attr, int value)
{
    return cudaFuncSetAttribute((const void *) kernel, attr, value);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *src, size_t bytes, size_t offset = 0)
{
    return cudaMemcpy((char *) &symbol + offset, src, bytes, cudaMemcpyHostToHost);
}

#endif // EMU_CUDA_RUNTIME_H
