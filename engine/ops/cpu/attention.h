// SPDX-License-Identifier: MIT
// Private to ops/cpu/attention*: the two halves of fused attention. attention.c cuts an
// operation into items (one head, one window or sequence, a share of its queries) and streams
// blocks of keys past them; a kernel, compiled once per instruction set, does the arithmetic.
//
// Everything is held transposed, one query per SIMD lane: scores S^T (keys x queries), result
// O^T (dv x queries). So the maximum, the sum and the scaling of the softmax go lane by lane
// without a reduction, K is read from where it lies (one number broadcast to all lanes), and
// only the few queries are shuffled.
//
// Numbers come to a kernel in words of 32 bits: one float, or, in a `pairs` kernel, two bf16
// that are neighbours along the sum of the product (channels of q k^T, keys of P V).
#ifndef SAM_ATTENTION_H
#define SAM_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/cpu/cpu.h"

enum {
    SAM_ATTEND_KEYS = 128,   // keys of one block: P stays in L1, V and K of it in L2
    SAM_ATTEND_COLUMNS = 24, // columns (vectors of queries) of one share, at most
    SAM_ATTEND_BYTES = 512 << 10, // of a share's Q and O, at most: they stay in L2
    SAM_ATTEND_LANES = 16,   // the most lanes that a kernel has
    SAM_ATTEND_ROWS = 16,    // the most keys that a kernel takes at once; blocks are multiples
    SAM_ATTEND_PANEL = 48,   // the most queries that share the scores' place
    SAM_ROPE_NODES = 4,      // steps of half an axis from which those between are blended
    SAM_ROPE_STEPS = 64,     // the most steps of half an axis that is blended
};

// One item while it is worked on. Arrays lie in the thread's workspace, 64-byte aligned.
struct sam_attend {
    int dk, dv;
    int depth;       // words of a row of q and k
    int values;      // dv rounded up to whole groups of the kernel
    int columns;     // vectors of queries
    float exponent;  // |scale| * log2(e): p = exp2(exponent * (s - max))
    // Bytes from a row to the one in its place in the next block; 0: unknown, or no such block.
    long keys_ahead, values_ahead;
    float extra;     // added to the block's scores from extra_from on: log2(a weight) / exponent
    int extra_from;
    uint32_t *query; // per panel: [depth][its queries]
    float *out;      // per panel: [values][its queries], not yet divided by sum
    float *max;      // per query: the running maximum times exponent
    float *sum;      // per query
    float *score;    // [keys][queries of a panel]: S^T, then P^T in place
    uint32_t *key;   // of a kernel by tiles: [keys][depth], where they must be copied,
    const void **key_rows; // the rows of that,
    size_t key_pitch;      // bytes from a key to the next,
    int tile_rows, tile_depth; // and for what products the tiles are configured
    uint32_t *value; // per group of rows of O^T: [keys, or pairs of them][rows of the group]
};

// Keys that lie at one place of the grid, one per remembered map, after another in a block.
// x, y = side: at no place, not turned.
struct sam_rope_place {
    int x, y, num;
};

// Keys and values in the order and the numbers in which a kernel takes them.
struct sam_rope_block {
    int num_places, num; // num: keys of all places
    struct sam_rope_place places[SAM_ATTEND_KEYS];
    uint32_t *keys;      // [num][m]
    uint32_t *values;    // as pack_values() lays them
};

// How the channels of an axis turn, in pairs: those from `fast` on so slowly that cosine and sine
// of each step t are blends of those at a few others: cos(w t) = sum_k e_k(t) cos(w node[k]), and
// sin(w t) likewise with o_k(t).
struct sam_rope_turns {
    int fast;
    int node[SAM_ROPE_NODES];
    double blend[2][SAM_ROPE_STEPS + SAM_ATTEND_ROWS][SAM_ROPE_NODES]; // e_k(t), o_k(t)
};

// One item of rope_attention while it is worked on. Of `attend` only what follows the scores
// is used. along[0] is what the place's x takes part in, along[1] y: per panel, for every step of
// the axis and for none, [m + 1][its queries], the channels in words side by side.
struct sam_rope_attend {
    struct sam_attend attend;
    int d, m, side;
    const float *weight;         // [m + 1][d]
    const float *axis;           // [side][d / 2]: cos, sin
    const struct sam_rope_turns *turns;
    // Cosines and sines in words. wave: for each step from the middle, of the fast pairs, and how
    // the nodes are blended; rows up to a multiple of the kernel's. node_wave: of the slow pairs.
    const void **wave[2], **node_wave[2];
    int wave_depth;              // words of a row of wave
    float *query;                // per panel: [d][its queries]
    float *turned;               // [d / 2][queries of a panel]: half of them, to the middle
    float *part[2];              // [2][words of a wave][queries of a panel]; also slow
    float *slow[2];
    size_t part_size;            // numbers from one of the two to the other
    float *along[2];
    const struct sam_rope_block *next; // to be fetched meanwhile; may be NULL
};

struct sam_attention_kernel {
    int lanes;  // queries in a column
    int rows;   // of O^T in a group, at most SAM_ATTEND_ROWS
    bool pairs; // words are pairs of bf16

    // A row of n numbers as the kernel's: floats, or bf16 with a zero after an odd last one.
    void (*convert)(uint32_t *dst, const void *row, enum sam_type type, int n);
    // One column of queries, rows[lanes]; NULL: a lane without a query. negate: q becomes -q.
    void (*load_column)(struct sam_attend *a, int column, const void *const *rows,
                        enum sam_type type, bool negate);
    void (*start)(struct sam_attend *a);
    // One block: num keys and values, in the kernel's numbers.
    void (*block)(struct sam_attend *a, const void *const *keys, const void *const *values,
                  int num);
    // One column of results to rows[lanes]; NULL: none wanted.
    void (*store_column)(const struct sam_attend *a, int column, void *const *rows,
                         enum sam_type type);

    // num rows in the kernel's numbers to a->value, as block() wants them.
    void (*pack_values)(struct sam_attend *a, const void *const *rows, int num);
    // The same of rope_attention: the queries once in floats, the tables, a block.
    void (*rope_load_column)(struct sam_rope_attend *r, int column, const void *const *rows,
                             enum sam_type type);
    void (*rope_start)(struct sam_rope_attend *r);
    void (*rope_block)(struct sam_rope_attend *r, const struct sam_rope_block *b);
};

extern const struct sam_attention_kernel sam_attention_generic;
extern const struct sam_attention_kernel sam_attention_avx2;
extern const struct sam_attention_kernel sam_attention_avx512;
extern const struct sam_attention_kernel sam_attention_bf16;
extern const struct sam_attention_kernel sam_attention_amx;
extern const struct sam_attention_kernel sam_attention_neon;

#endif // SAM_ATTENTION_H
