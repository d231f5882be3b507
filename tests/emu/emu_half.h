// SPDX-License-Identifier: MIT
// half and bfloat16 for g++, one template for both. Arithmetic is done in float
// and rounded once, which for + - * / and sqrt gives the correctly rounded result.
#ifndef EMU_HALF_H
#define EMU_HALF_H

#include "cuda_runtime.h"

namespace emu {

struct fp16 {
    static float widen(uint16_t v)
    {
        const float f =
            bits<float>((uint32_t) (v & 0x7fff) << 13) * 0x1p112f; // rebias the exponent
        const uint32_t b = bits<uint32_t>(f) | (f >= 65536.0f ? 0x7f800000 : 0);
        return bits<float>(b | (uint32_t) (v & 0x8000) << 16);
    }
    static uint16_t narrow(float f)
    {
        uint32_t b = bits<uint32_t>(f);
        const uint16_t sign = (b >> 16) & 0x8000;
        b &= 0x7fffffff;
        if (b > 0x7f800000)
            return 0x7fff; // the NaN CUDA makes
        if (b >= 0x47800000)
            return sign | 0x7c00;
        if (b < 0x38800000) // subnormal: let the float adder round
            return sign | (uint16_t) (bits<uint32_t>(bits<float>(b) + 0.5f) - 0x3f000000);
        return sign | (uint16_t) ((b + 0xc8000fff + (b >> 13 & 1)) >> 13);
    }
};
struct bf16 {
    static float widen(uint16_t v) { return bits<float>((uint32_t) v << 16); }
    static uint16_t narrow(float f)
    {
        const uint32_t b = bits<uint32_t>(f);
        return f != f ? 0x7fff : (uint16_t) ((b + 0x7fff + (b >> 16 & 1)) >> 16);
    }
};

template <class F> struct small {
    uint16_t raw;
    small() = default;
    template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
    small(N v) : raw(F::narrow((float) v))
    {
    }
    operator float() const { return F::widen(raw); }
    small operator-() const { return of(raw ^ 0x8000); }
    static small of(uint16_t raw)
    {
        small s;
        s.raw = raw;
        return s;
    }
#define EMU_OPERATOR(op)                                                               \
    friend small operator op(small a, small b) { return (float) a op (float) b; }      \
    friend small &operator op##=(small &a, small b) { return a = a op b; }
    EMU_OPERATOR(+)
    EMU_OPERATOR(-)
    EMU_OPERATOR(*)
    EMU_OPERATOR(/)
#define EMU_COMPARE(op) \
    friend bool operator op(small a, small b) { return (float) a op (float) b; }
    EMU_COMPARE(==)
    EMU_COMPARE(!=)
    EMU_COMPARE(<)
    EMU_COMPARE(<=)
    EMU_COMPARE(>)
    EMU_COMPARE(>=)
};

template <class F> struct alignas(4) small2 {
    small<F> x, y;
    small2() = default;
    small2(small<F> x, small<F> y) : x(x), y(y) {}
#undef EMU_OPERATOR
#define EMU_OPERATOR(op) \
    friend small2 operator op(small2 a, small2 b) { return small2(a.x op b.x, a.y op b.y); }
    EMU_OPERATOR(+)
    EMU_OPERATOR(-)
    EMU_OPERATOR(*)
    EMU_OPERATOR(/)
#undef EMU_OPERATOR
};

} // namespace emu

// name for one and name2 for two
#define EMU_HALF1(name, name2, expr)                                                   \
    template <class F> emu::small<F> name(emu::small<F> a) { return expr; }            \
    template <class F> emu::small2<F> name2(emu::small2<F> a) { return { name(a.x), name(a.y) }; }
#define EMU_HALF2(name, name2, expr)                                                   \
    template <class F> emu::small<F> name(emu::small<F> a, emu::small<F> b) { return expr; } \
    template <class F> emu::small2<F> name2(emu::small2<F> a, emu::small2<F> b)        \
    {                                                                                  \
        return { name(a.x, b.x), name(a.y, b.y) };                                     \
    }
EMU_HALF2(__hadd, __hadd2, a + b)
EMU_HALF2(__hsub, __hsub2, a - b)
EMU_HALF2(__hmul, __hmul2, a * b)
EMU_HALF2(__hdiv, __h2div, a / b)
EMU_HALF2(__hmax, __hmax2, fmaxf(a, b))
EMU_HALF2(__hmin, __hmin2, fminf(a, b))
EMU_HALF1(__hneg, __hneg2, -a)
EMU_HALF1(__habs, __habs2, fabsf(a))
EMU_HALF1(hexp, h2exp, expf(a))
EMU_HALF1(hexp2, h2exp2, exp2f(a))
EMU_HALF1(hlog, h2log, logf(a))
EMU_HALF1(hsqrt, h2sqrt, sqrtf(a))
EMU_HALF1(hrsqrt, h2rsqrt, 1.0f / sqrtf(a))
EMU_HALF1(hrcp, h2rcp, 1.0f / (float) a)
EMU_HALF1(htanh, h2tanh, tanhf(a))
template <class F> emu::small<F> __hfma(emu::small<F> a, emu::small<F> b, emu::small<F> c)
{
    return (double) a * (double) b + (double) c;
}
template <class F> emu::small2<F> __hfma2(emu::small2<F> a, emu::small2<F> b, emu::small2<F> c)
{
    return { __hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y) };
}
template <class F> float __low2float(emu::small2<F> v) { return v.x; }
template <class F> float __high2float(emu::small2<F> v) { return v.y; }

// The names that carry the type. H: as in __float2H; P: as in __Hs2P, one and two.
#define EMU_HALF_NAMES(type, type2, F, H, P)                                           \
    using type  = emu::small<emu::F>;                                                  \
    using type2 = emu::small2<emu::F>;                                                 \
    inline type __float2##H(float v) { return v; }                                     \
    inline type __float2##H##_rn(float v) { return v; }                                \
    inline float __##H##2float(type v) { return v; }                                   \
    inline type __int2##H##_rn(int v) { return v; }                                    \
    inline int __##H##2int_rn(type v) { return (int) rintf(v); }                       \
    inline type __ushort_as_##H(unsigned short v) { return type::of(v); }              \
    inline unsigned short __##H##_as_ushort(type v) { return v.raw; }                  \
    inline type2 __floats2##P##_rn(float x, float y) { return { x, y }; }              \
    inline type2 __float2##P##_rn(float v) { return { v, v }; }                        \
    inline type2 __float22##P##_rn(float2 v) { return { v.x, v.y }; }                  \
    inline float2 __##P##2float2(type2 v) { return { v.x, v.y }; }                     \
    inline type2 __##H##2##P(type v) { return { v, v }; }                              \
    inline type2 __halves2##P(type x, type y) { return { x, y }; }                     \
    inline type2 make_##P(type x, type y) { return { x, y }; }                         \
    inline type __low2##H(type2 v) { return v.x; }                                     \
    inline type __high2##H(type2 v) { return v.y; }

#endif // EMU_HALF_H
