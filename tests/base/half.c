// SPDX-License-Identifier: MIT
// Both 16-bit types against their definition: the nearest multiple of the step that the
// exponent gives, ties to even, worked out in doubles, which hold every value exactly. Every
// 16-bit pattern is converted up; down, every pattern's float, the midpoints between
// neighbours, the floats next to those, and a walk through all floats.
#include "base/half.h"

#include <float.h>
#include <math.h>

#include "../expect.h"

struct format {
    const char *name;
    int mantissa_bits, min_exponent; // of the smallest normal number
    double max;
    uint16_t infinity, max_bits;
    float (*up)(uint16_t);
    uint16_t (*down)(float);
};

static float half_up(uint16_t h)
{
    return sam_half_to_float(h);
}

static uint16_t half_down(float f)
{
    return sam_half_from_float(f);
}

static float bf16_up(uint16_t h)
{
    return sam_bf16_to_float(h);
}

static uint16_t bf16_down(float f)
{
    return sam_bf16_from_float(f);
}

static const struct format formats[] = {
    { "half", 10, -14, 65504.0, 0x7c00, 0x7bff, half_up, half_down },
    { "bf16", 7, -126, 0x1.fep127, 0x7f80, 0x7f7f, bf16_up, bf16_down },
};

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

// What the pattern means by the definition of the format.
static double meaning(const struct format *m, uint16_t h)
{
    const int fraction = h & ((1 << m->mantissa_bits) - 1),
              exponent = (h & 0x7fff) >> m->mantissa_bits;
    const double lead = exponent ? 1 << m->mantissa_bits : 0;
    const double v =
        ldexp(lead + fraction, m->min_exponent + (exponent ? exponent - 1 : 0) - m->mantissa_bits);
    return h & 0x8000 ? -v : v;
}

// The nearest number of the format.
static double nearest(const struct format *m, double v)
{
    int exponent;
    frexp(v, &exponent); // v = 0.5 .. 1 times 2^exponent
    exponent = exponent - 1 < m->min_exponent ? m->min_exponent : exponent - 1;
    const double step = ldexp(1, exponent - m->mantissa_bits), r = rint(v / step) * step;
    return fabs(r) > m->max ? copysign(INFINITY, v) : r;
}

static void check_up(const struct format *m)
{
    for (uint32_t i = 0; i <= 0xffff; i++) {
        const uint16_t h = (uint16_t) i;
        const float f = m->up(h);
        if ((h & 0x7fff) > m->infinity)
            expect(isnan(f), "%s %04x: %g", m->name, h, f);
        else if ((h & 0x7fff) == m->infinity)
            expect(isinf(f) && !signbit(f) == !(h & 0x8000), "%s %04x: %g", m->name, h, f);
        else
            expect(f == meaning(m, h) && !signbit(f) == !(h & 0x8000), "%s %04x: %g", m->name, h,
                   f);
    }
}

static void check_down(const struct format *m, float f)
{
    const uint16_t h = m->down(f);
    if (isnan(f)) {
        expect((h & 0x7fff) > m->infinity, "%s: NaN became %04x", m->name, h);
        return;
    }
    const double wanted = isinf(f) ? f : nearest(m, f);
    const double got =
        (h & 0x7fff) == m->infinity ? (h & 0x8000 ? -INFINITY : INFINITY) : meaning(m, h);
    expect(got == wanted && !signbit(f) == !(h & 0x8000), "%s: %a became %04x, wanted %a", m->name,
           f, h, wanted);
}

static void check_around(const struct format *m)
{
    for (uint16_t h = 0; h <= m->max_bits; h++) {
        const double a = meaning(m, h),
                     b = h < m->max_bits ? meaning(m, h + 1) : 2 * a - meaning(m, h - 1);
        const float middle = (float) ((a + b) / 2);
        for (int sign = -1; sign <= 1; sign += 2) {
            check_down(m, sign * (float) a);
            check_down(m, sign * middle);
            check_down(m, sign * nextafterf(middle, 0));
            check_down(m, sign * nextafterf(middle, INFINITY));
        }
    }
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        check_up(&formats[i]);
        check_around(&formats[i]);
        uint32_t bits = 0;
        for (int n = 0; n < 2000000; n++, bits += 2147u * 1000003u) // odd: never the same twice
            check_down(&formats[i], float_of(bits));
        for (bits = 0x7f800000; bits < 0x80000000; bits += 4093) { // infinity, then NaNs
            check_down(&formats[i], float_of(bits));
            check_down(&formats[i], float_of(bits | 0x80000000));
        }
    }
    return expect_status();
}
