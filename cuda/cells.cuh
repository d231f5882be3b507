// SPDX-License-Identifier: MIT
#pragma once

// Cells that cover 2 x 2 logits of an object.
#include "view.cuh"

// The mean of the sigmoids of a cell's logits; w: cells in a row.
static __device__ __forceinline__ float share_of(const float *logits, int w, int cell)
{
    const int at = cell / w * 4 * w + cell % w * 2;
    float sum = 0.0f;
    for (int k = 0; k < 4; k++)
        sum += act_of(SAM_ACT_SIGMOID, logits[at + k / 2 * 2 * w + k % 2]);
    return sum / 4.0f;
}

// Whether a cell within `ring` rows and columns has a share above 0.5.
static __device__ __forceinline__ bool is_near(const float *shares, int h, int w, int ring,
                                               int cell)
{
    const int y = cell / w, x = cell % w;
    for (int v = max(y - ring, 0); v < min(y + ring + 1, h); v++)
        for (int u = max(x - ring, 0); u < min(x + ring + 1, w); u++)
            if (shares[v * w + u] > 0.5f)
                return true;
    return false;
}

// The four cells nearest to a logit weigh 9, 3, 3 and 1 sixteenths; the border repeats itself.
struct add_scores_at {
    float *logits;
    const float *room, *score;
    int h, w;
    float scale;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned object = i / (4u * h * w);
        const int place = i % (4u * h * w), y = place / (2 * w), x = place % (2 * w);
        const int v = y / 2, u = x / 2;
        const int far_v = min(max(v + y % 2 * 2 - 1, 0), h - 1);
        const int far_u = min(max(u + x % 2 * 2 - 1, 0), w - 1);
        const float *cell = room + (size_t) object * h * w;
        if (!(score[object] > 0.0f))
            return;
        const float near = 0.75f * cell[v * w + u] + 0.25f * cell[v * w + far_u];
        const float far = 0.75f * cell[far_v * w + u] + 0.25f * cell[far_v * w + far_u];
        logits[i] += scale * (0.75f * near + 0.25f * far);
    }
};
