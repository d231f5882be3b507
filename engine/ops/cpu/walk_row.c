// SPDX-License-Identifier: MIT
// See walk.h.

#include "ops/cpu/vec.h"
#include "ops/cpu/walk.h"

static void prior(float *dst, const float *logits, int count)
{
    int i = 0;
    for (; i + VL <= count; i += VL) {
        // What e^x loses above 88 and below -87, 1 and -1 do not show.
        vf_store(dst + i, 1.0f - 2.0f / (1.0f + vf_exp(vf_load(logits + i))));
    }
    if (i < count) {
        float rest[VL] = { 0 };
        memcpy(rest, logits + i, (size_t) (count - i) * sizeof(float));
        vf_store(rest, 1.0f - 2.0f / (1.0f + vf_exp(vf_load(rest))));
        memcpy(dst + i, rest, (size_t) (count - i) * sizeof(float));
    }
}

// Columns x to x + VL - 1, inside of the map with those beside them.
SAM_INLINE void relax_some(const struct sam_walk_row *r, int x, vi chosen)
{
    const vf left = vf_load(r->right + x - 1), right = vf_load(r->right + x);
    const vf up = vf_load(r->up + x), down = vf_load(r->down + x);
    const vf now = vf_load(r->now + x), total = (r->fidelity + left) + (right + up) + down;
    vf sum = r->fidelity * vf_load(r->given + x);
    sum += left * vf_load(r->now + x - 1) + right * vf_load(r->now + x + 1);
    sum += up * vf_load(r->above + x) + down * vf_load(r->below + x);
    vf_store(r->now + x, vf_select(chosen, now + r->relaxation * (sum / total - now), now));
}

SAM_INLINE void relax_one(const struct sam_walk_row *r, int x)
{
    const float left = x ? r->right[x - 1] : 0, right = r->right[x];
    float sum = r->fidelity * r->given[x], now = r->now[x];
    sum += x ? left * r->now[x - 1] : 0;
    sum += x + 1 < r->width ? right * r->now[x + 1] : 0;
    sum += r->up[x] * r->above[x] + r->down[x] * r->below[x];
    sum /= r->fidelity + left + right + r->up[x] + r->down[x];
    r->now[x] = now + r->relaxation * (sum - now);
}

static void relax(const struct sam_walk_row *r)
{
    int x = r->begin;
    vi chosen;
    for (int i = 0; i < VL; i++)
        chosen[i] = i % 2 ? 0 : -1;
    if (!x && r->end) {
        relax_one(r, 0);
        x = 2;
    }
    // VL is even, so that each begins with a chosen one.
    for (; x + VL <= r->end && x + VL < r->width; x += VL)
        relax_some(r, x, chosen);
    for (; x < r->end; x += 2)
        relax_one(r, x);
}

const struct sam_walk_kernels SAM_LEVEL(sam_walk_kernels) = { prior, relax };
