// SPDX-License-Identifier: MIT
// Expectations of the tests: a failed one prints where and goes on, so that one run shows all; the
// program's status is whether there were any.
#ifndef EXPECT_H
#define EXPECT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int expect_failed, expect_count;

#define expect(cond, ...)                                                                      \
    do {                                                                                       \
        expect_count++;                                                                        \
        if (!(cond)) {                                                                         \
            expect_failed++;                                                                   \
            fprintf(stderr, "%s:%d: expected %s: ", __FILE__, __LINE__, #cond);                \
            fprintf(stderr, __VA_ARGS__);                                                      \
            fputc('\n', stderr);                                                               \
        }                                                                                      \
    } while (0)

static inline int expect_status(void)
{
    printf("%d expectations, %d failed\n", expect_count, expect_failed);
    return expect_failed || !expect_count;
}

// splitmix64
static inline uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int draw_int(uint64_t *state, int lo, int hi) // both inclusive
{
    return lo + (int) (draw(state) % (uint64_t) (hi - lo + 1));
}

#endif // EXPECT_H
