// SPDX-License-Identifier: MIT
// Attention whose scores have a number of their own added, for each query and key: private to
// ops/cpu. A task takes the queries of one head in chunks and their keys in blocks; a block's keys
// and values are packed once, in F32.
#ifndef SAM_BIASED_H
#define SAM_BIASED_H

enum {
    SAM_BIASED_LANES  = 16,  // keys of a block, and channels of a packed value, are a multiple
    SAM_BIASED_ROWS   = 8,   // queries of a chunk likewise
    SAM_BIASED_CHUNK  = 64,  // at most
    SAM_BIASED_KEYS   = 256, // of a block, at most
    SAM_BIASED_PACKED = 1 << 16, // numbers of a block's keys or values, at most
};

// A score with this in it counts for nothing, unless all of a query's have it.
#define SAM_BIASED_OUT (-1e30f)

// A chunk of queries and a block of keys.
struct sam_biased {
    int rows, dim;            // of the chunk, padded; channels of a query and a key
    int keys, pitch;          // of the block; padded
    int wide;                 // channels of a value, padded
    float *query;             // (rows, dim), scaled
    float *key;               // (dim, pitch)
    float *value;             // (keys, wide)
    float *score;             // (rows, pitch): what is added to each score; overwritten
    float *out, *largest, *sum; // (rows, wide), (rows), (rows): of the blocks until now
};

typedef void sam_biased_block(const struct sam_biased *b);

// biased_block.c: takes another block into out, largest and sum.
sam_biased_block sam_biased_block_generic, sam_biased_block_avx2, sam_biased_block_avx512,
    sam_biased_block_neon;

#endif // SAM_BIASED_H
