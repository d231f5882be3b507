// SPDX-License-Identifier: MIT
// The choice among the decoder's three masks by the object's motion, after SAMURAI (Yang et al.,
// "Adapting Segment Anything Model for Zero-Shot Visual Tracking with Motion-Aware Memory", 2024).
// The filter is that of SORT-like trackers: constant speed, and noise in proportion to the height.
#include <math.h>
#include <string.h>

#include "rules.h"

enum { X, Y, ASPECT, HEIGHT };

// Deviations, of the height; those of the aspect are numbers.
static const float PLACE = 1 / 20.0f, SPEED = 1 / 160.0f;
static const float ASPECT_PLACE = 1e-2f, ASPECT_SPEED = 1e-5f, ASPECT_SEEN = 0.1f;
static const float FIRST_PLACE = 2, FIRST_SPEED = 10; // times that, of a filter that begins

static float square(float x)
{
    return x * x;
}

static bool is_empty(const struct sam_extent *b)
{
    return b->x1 <= b->x0 || b->y1 <= b->y0;
}

static void measure(const struct sam_extent *b, float z[4])
{
    z[X] = (b->x0 + b->x1) / 2;
    z[Y] = (b->y0 + b->y1) / 2;
    z[HEIGHT] = b->y1 - b->y0;
    z[ASPECT] = (b->x1 - b->x0) / z[HEIGHT];
}

static void begin(struct sam_motion *m, const struct sam_extent *box)
{
    memset(m, 0, sizeof(*m));
    if (is_empty(box))
        return;
    measure(box, m->value);
    for (int i = 0; i < 4; i++) {
        const float h = m->value[HEIGHT];
        m->spread[i][0] = square(i == ASPECT ? ASPECT_PLACE : FIRST_PLACE * PLACE * h);
        m->spread[i][2] = square(i == ASPECT ? ASPECT_SPEED : FIRST_SPEED * SPEED * h);
    }
    m->stable = 1;
}

static void predict(struct sam_motion *m)
{
    const float h = m->value[HEIGHT];

    for (int i = 0; i < 4; i++) {
        float *p = m->spread[i];
        m->value[i] += m->speed[i];
        p[0] += 2 * p[1] + p[2] + square(i == ASPECT ? ASPECT_PLACE : PLACE * h);
        p[1] += p[2];
        p[2] += square(i == ASPECT ? ASPECT_SPEED : SPEED * h);
    }
}

static void correct(struct sam_motion *m, const struct sam_extent *box)
{
    const float h = m->value[HEIGHT];
    float z[4];

    measure(box, z);
    for (int i = 0; i < 4; i++) {
        float *p = m->spread[i];
        const float sum = p[0] + square(i == ASPECT ? ASPECT_SEEN : PLACE * h);
        const float place = p[0] / sum, speed = p[1] / sum, off = z[i] - m->value[i];
        m->value[i] += place * off;
        m->speed[i] += speed * off;
        p[2] -= speed * p[1];
        p[1] -= place * p[1];
        p[0] -= place * p[0];
    }
}

static struct sam_extent expected(const struct sam_motion *m)
{
    const float w = m->value[ASPECT] * m->value[HEIGHT] / 2, h = m->value[HEIGHT] / 2;

    return (struct sam_extent){ m->value[X] - w, m->value[Y] - h, m->value[X] + w,
                                m->value[Y] + h };
}

static float area(const struct sam_extent *b)
{
    return is_empty(b) ? 0 : (b->x1 - b->x0) * (b->y1 - b->y0);
}

static float overlap(const struct sam_extent *a, const struct sam_extent *b)
{
    const struct sam_extent both = { fmaxf(a->x0, b->x0), fmaxf(a->y0, b->y0), fminf(a->x1, b->x1),
                                     fminf(a->y1, b->y1) };
    const float common = area(&both), whole = area(a) + area(b) - common;

    return whole > 0 ? common / whole : 0;
}

static int best_of(const float value[SAM_CANDIDATES])
{
    int best = 0;

    for (int i = 1; i < SAM_CANDIDATES; i++)
        if (value[i] > value[best])
            best = i;
    return best;
}

// The filter follows the mask, unless the model sets little on it: then it begins anew.
static void follow(struct sam_motion *m, const struct sam_candidate *c, bool sure)
{
    if (!sure || is_empty(&c->box)) {
        m->stable = 0;
        return;
    }
    correct(m, &c->box);
    m->stable = fminf(m->stable + 1, 1 << 16);
}

int sam_motion_choose(struct sam_motion *m, const struct sam_motion_rule *rule,
                      const struct sam_candidate candidate[SAM_CANDIDATES], float *score)
{
    const bool runs = m->stable > 0;
    const bool believed = runs && m->stable >= (float) rule->stable_frames;
    float value[SAM_CANDIDATES], moved[SAM_CANDIDATES];

    *score = -1;
    if (runs)
        predict(m);
    const struct sam_extent box = expected(m);
    for (int i = 0; i < SAM_CANDIDATES; i++) {
        moved[i] = overlap(&box, &candidate[i].box);
        value[i] = believed ? rule->weight * moved[i] + (1 - rule->weight) * candidate[i].iou
                            : candidate[i].iou;
    }
    const int best = best_of(value);
    if (!runs)
        begin(m, &candidate[best].box);
    else
        follow(m, &candidate[best],
               believed ? candidate[best].iou >= rule->stable_iou
                        : candidate[best].iou > rule->stable_iou);
    if (believed)
        *score = moved[best];
    return best;
}

void sam_motion_pass(struct sam_motion *m)
{
    if (m->stable > 0)
        predict(m);
}
