// SPDX-License-Identifier: MIT
// Stories: the same stream told with something changed, such as a prompt that comes late. What is
// told of an object in one must be the same in another from a frame on.
#ifndef STORIES_H
#define STORIES_H

#include "window.h"

enum { FRAMES = 6, STORY_OBJECTS = 3 };

typedef struct scene_held story_told[FRAMES][STORY_OBJECTS];

struct story_twins {
    int a, b; // stories
    int object, from;
    const char *what;
};

// On how many frames an object differs.
static inline int story_differs(story_told a, story_told b, int object, int from,
                                float tolerance)
{
    int n = 0;

    for (int i = from; i < FRAMES; i++)
        n += held_differs(&a[i][object], &b[i][object], tolerance);
    return n;
}

static inline void story_expect_twins(story_told *told, const struct story_twins *twins,
                                      size_t count, float tolerance)
{
    for (const struct story_twins *t = twins; t < twins + count; t++) {
        const int n = story_differs(told[t->a], told[t->b], t->object, t->from, tolerance);
        expect(!n, "%s: %d frames differ", t->what, n);
    }
}

#endif
