// SPDX-License-Identifier: MIT
#include "boxes.h"

#include <math.h>

static float inside(float v, int extent)
{
    return v < 0 ? 0 : v > (float) extent ? (float) extent : v;
}

void sam_box_of_middle(const float b[4], int width, int height, float box[4])
{
    box[0] = inside((b[0] - 0.5f * b[2]) * (float) width, width);
    box[1] = inside((b[1] - 0.5f * b[3]) * (float) height, height);
    box[2] = inside((b[0] + 0.5f * b[2]) * (float) width, width);
    box[3] = inside((b[1] + 0.5f * b[3]) * (float) height, height);
}

static float overlap(const float a[4], const float b[4])
{
    const float w = fminf(a[2], b[2]) - fmaxf(a[0], b[0]);
    const float h = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
    const float both = w > 0 && h > 0 ? w * h : 0;
    const float all = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;

    return all > 0 ? both / all : 0;
}

bool sam_box_is_new(const struct sam_detection *list, int num, const float box[4], float most)
{
    for (int i = 0; i < num; i++)
        if (overlap(list[i].box, box) > most)
            return false;
    return true;
}
