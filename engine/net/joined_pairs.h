// SPDX-License-Identifier: MIT
// The pairs of tokens that a vocabulary joins. Private to byte_pairs.c and byte_pairs_read.c.
#ifndef SAM_JOINED_PAIRS_H
#define SAM_JOINED_PAIRS_H

#include "byte_pairs.h"

struct sam_joined_pair {
    int left, right;
    int rank; // its place in the list: the lowest is joined first
    int id;   // of what they become
};

// NULL: they are not joined.
const struct sam_joined_pair *sam_joined_pair_find(const struct sam_byte_pairs *p, int left,
                                                   int right);

#endif // SAM_JOINED_PAIRS_H
