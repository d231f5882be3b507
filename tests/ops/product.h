// SPDX-License-Identifier: MIT
// Tolerances of products, per element: factor * sum |factors|.
#ifndef PRODUCT_H
#define PRODUCT_H

#include "check.h"

// bf16 products round each factor by at most 2^-8, two factors: 2^-7. Sums are f32 either way:
// in another order they differ by some 1e-6 of what was added up. In int8 the reference rounds as
// the new side does.
static inline float product_factor(const struct check *t)
{
    return check_rounds(t) && !check_is_int8(t) ? 0x1p-7f * 1.02f : 4e-6f;
}

// The slopes of the activations are below 1.13 (GELU; SiLU 1.1); what an error before does after.
static inline float product_slope(enum sam_act act)
{
    return act == SAM_ACT_GELU || act == SAM_ACT_SILU ? 1.13f : 1.0f;
}

// Absolute error of a backend's own erf and exp.
static inline float product_abs(enum sam_act act)
{
    return act == SAM_ACT_GELU || act >= SAM_ACT_SIGMOID ? 2e-6f : 1e-7f;
}

// Of a sum that is turned, half of a pair has the errors of both: sines and cosines are at most 1.
static inline void product_add_pairs(struct sam_tensor *bound)
{
    for (size_t i = 0; i + 1 < sam_count(bound); i += 2) {
        const float both = sam_load(bound, i) + sam_load(bound, i + 1);
        sam_store(bound, i, both);
        sam_store(bound, i + 1, both);
    }
}

// Either side may round to BF16 before it turns.
static inline float product_turn_factor(enum sam_type type)
{
    return type == SAM_BF16 ? 0x1p-8f * 1.01f : 0;
}

// A sigmoid is up to 1 where all factors are 0.
static inline float product_turn_abs(enum sam_type type, enum sam_act act)
{
    return 2 * product_abs(act) + (type == SAM_BF16 && act == SAM_ACT_SIGMOID ? 0x1p-7f : 0);
}

#endif // PRODUCT_H
