// SPDX-License-Identifier: MIT
// check_recall_tiles [--fault=N] [SEED]: recall_tiles.c, whose tiles are emulated here, beside the
// kernel of AVX-512: the same to the bit, on every processor with AVX512_BF16. Where this one has
// the tiles, theirs as well. Arrays end at a page that may not be read. --fault: a planted one's
// number, see tile_faults.py.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ops/cpu/cpu.h"

#include "../expect.h"

sam_recall_match emulated_recall; // recall_tiles.c, compiled so

enum { SKIP = 77, MOST = 1 << 22, ARRAYS = 2 };

static uint64_t seed = 1;
int tile_fault;
static char *pages[ARRAYS], *room;

static int draw_from(int first, int last)
{
    return draw_int(&seed, first, last);
}

static void map_pages(void)
{
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    for (int i = 0; i < ARRAYS; i++) {
        pages[i] =
            mmap(NULL, MOST + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages[i] == MAP_FAILED || mprotect(pages[i] + MOST, page, PROT_NONE))
            perror("mmap"), exit(1);
    }
    room = aligned_alloc(64, SAM_POOL_WORKSPACE);
    if (!room)
        perror("room"), exit(1);
}

// What features and keys are like.
enum kind {
    WHOLE, // whole numbers that bf16 rounds and F32 sums exactly; equal keys are common
    CLOSE, // keys that bf16 hardly tells apart
    TINY,  // products that vanish
    WILD,  // some are infinite, or no numbers
    NUM_KINDS,
};

static float draw_number(enum kind kind)
{
    const float x = (float) draw_from(-400, 400);
    switch (kind) {
    case CLOSE: return 1 + x * 0x1p-16f;
    case TINY: return x * 0x1p-72f;
    case WILD: return draw_from(0, 60) ? x : draw_from(0, 2) ? x * 1e36f : NAN;
    default: return x;
    }
}

static float *draw_array(int array, size_t count, enum kind kind)
{
    float *const at = (float *) (pages[array] + MOST) - count;
    for (size_t i = 0; i < count; i++)
        at[i] = draw_number(kind);
    return at;
}

// Some keys are others once more, so that the first of equals counts.
static void repeat_keys(float *keys, int num_keys, int c)
{
    for (int k = 0; k < num_keys / 4; k++) {
        const int from = draw_from(0, num_keys - 1), to = draw_from(0, num_keys - 1);
        for (int j = 0; j < c; j++)
            keys[j * num_keys + to] = keys[j * num_keys + from];
    }
}

static void check_match(sam_recall_match *match, const char *who, int round)
{
    const enum kind kind = (enum kind)(round % NUM_KINDS);
    const int c = draw_from(1, round % 3 ? 64 : 140);
    struct sam_recall r = { .cells = draw_from(1, 90), .num_keys = draw_from(1, 150), .c = c };
    float most[2][96];
    int best[2][96];
    float *keys = draw_array(1, (size_t) r.num_keys * c, kind);
    repeat_keys(keys, r.num_keys, c);
    r.keys = keys, r.room = room;
    float *x = draw_array(0, (size_t) r.cells * c, kind);
    for (int i = 0; i < r.cells * c && round % (2 * NUM_KINDS) == CLOSE; i++)
        x[i] = -x[i]; // so that no product is above 0
    r.x = x;
    for (int i = 0; i < 2; i++) {
        memset(room, 0x50, SAM_POOL_WORKSPACE / 8); // large numbers
        r.most = most[i], r.best = best[i];
        (i ? match : sam_recall_match_avx512)(&r);
    }
    for (int i = 0; i < r.cells; i++)
        if (best[0][i] != best[1][i] || memcmp(&most[0][i], &most[1][i], sizeof(float))) {
            expect(false,
                   "%s, round %d, kind %d: %d keys of %d: cell %d of %d is like %d (%.9g), "
                   "expected %d (%.9g)",
                   who, round, kind, r.num_keys, c, i, r.cells, best[1][i], (double) most[1][i],
                   best[0][i], (double) most[0][i]);
            return;
        }
    expect(true, "cells");
}

int main(int argc, char **argv)
{
    if (sam_cpu_detect() < SAM_CPU_AVX512_BF16)
        return puts("no AVX512_BF16 here"), SKIP;
    bool has_tiles = sam_cpu_detect() >= SAM_CPU_AMX;
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "--fault=", 8))
            tile_fault = atoi(argv[i] + 8), has_tiles = false;
        else
            seed = strtoull(argv[i], NULL, 10);
    printf("seed %llu%s\n", (unsigned long long) seed,
           has_tiles ? "" : ", the tiles are emulated alone");
    map_pages();
    for (int own = 0; own <= has_tiles; own++)
        for (int i = 0; i < 40; i++)
            check_match(own ? sam_recall_match_amx : emulated_recall, own ? "tiles" : "emulated",
                        i);
    free(room);
    return expect_status();
}
