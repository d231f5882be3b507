// SPDX-License-Identifier: MIT
// Operations on the keys and values of what is remembered; ops.h includes them.
#ifndef SAM_OPS_KEYS_H
#define SAM_OPS_KEYS_H

#include "base/tensor.h"

// Attention to what is remembered, with keys that are made on the way, never held:
//   dst[n][i] = sum_j softmax_j(scale * q[n][i] . k[n][j]) values[n][j],
//   k[n][j] = R_j (sum_c keys[n][j][c] weight[c] + weight[m]),
// so weight's rows are what the m channels of the memory add to a key, and the bias. R_j turns as
// sam_rope does, by row j mod N of a table of N = side^2 rows whose row y * side + x is
// [axis[x] | axis[y]]; keys from num_rotated[n] on are not turned. Row t of axis turns each pair of
// channels by t times one angle.
// q (n, 1, Tq, d), keys and values (n, 1, Tk, m), dst (n, 1, Tq, m), weight F32
// (1, 1, m + 1, d), axis F32 (1, 1, side, d / 2); num_keys, num_rotated: I32 (1, 1, 1, n), in
// 1 .. Tk and 0 .. num_keys; scale > 0; m even, d a multiple of 4.
// room: scratch of sam_op_rope_attention_room() bytes. Models ask that first: 0 where it is not the
// fast way, and a linear, a rope and an attention do the same; this operation is refused there.
struct sam_rope_attention {
    struct sam_tensor dst, q, keys, values;
    struct sam_tensor weight, axis;
    struct sam_tensor num_keys, num_rotated;
    float scale;
    void *room;
};

// What is remembered, made fewer. The rows of src (n, 1, T, c) before num_rotated[n] are maps of
// side x side positions, those from there to num_keys[n] are others.
// More than one map: dst's rows are the means of the maps' cells of 2 x 2 positions, each plus
// shift, then the others as they are. Else they are src's rows, as they are. between: the first map
// and the last one are others, too, before those behind the maps: two maps are left as they are.
// dst (n, 1, T', c): it holds the first T' of these rows; what is behind the last one is left as it
// is. counts: I32 (2, 1, 1, n): how many rows it holds; how many of them are means, or all where
// none is. num_rotated, num_keys: I32 (1, 1, 1, n), whole maps, and at least as many; side even.
struct sam_pool_keys {
    struct sam_tensor dst, src;
    struct sam_tensor num_rotated, num_keys, counts;
    int side;
    float shift;
    bool between;
};

#endif // SAM_OPS_KEYS_H
