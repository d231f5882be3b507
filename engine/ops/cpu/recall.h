// SPDX-License-Identifier: MIT
// The keys that are most like cells: private to ops/cpu.
#ifndef SAM_RECALL_H
#define SAM_RECALL_H

// Of each cell's features x[cell][0 .. c): the largest product with a key, keys[0 .. c)[key], and
// its number, the first of equals; where none is above -1e30, that and -1.
struct sam_recall {
    const float *x, *keys;
    int cells, num_keys, c; // cells: SAM_RECALL_CELLS at most
    float *most;
    int *best;
    void *room; // SAM_POOL_WORKSPACE bytes
};
typedef void sam_recall_match(const struct sam_recall *r);

enum { SAM_RECALL_CELLS = 1024 };

// recall_match.c, recall_tiles.c
sam_recall_match sam_recall_match_generic, sam_recall_match_avx2, sam_recall_match_avx512,
    sam_recall_match_amx, sam_recall_match_neon;

#endif // SAM_RECALL_H
