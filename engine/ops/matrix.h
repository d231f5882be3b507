// SPDX-License-Identifier: MIT
// Weights of matrix products, for the contracts of ops.h.
#ifndef SAM_MATRIX_H
#define SAM_MATRIX_H

#include <stdbool.h>

// The weight of a matrix product (out x in, row-major when loaded), in whatever form the
// backend multiplies fastest. Made once, at load, by sam_op_pack(); opaque to models.
struct sam_matrix {
    void *data;
    int out, in;
    bool exact; // multiplied in F32 at any precision, where the backend can: heads and the like,
                // little work with much at stake
    bool int8;  // multiplied in int8, on a queue that does; never if exact
};

// A product in int8: the rows of the weight, and every row that it multiplies (a window of a
// convolution is one), are rounded to q s, where s is the row's largest magnitude / 127 and q the
// integer nearest to x (127 / largest), computed in F32, ties to even. The sum of the q's products
// is an I32, the same in any order, hence with every backend; it is multiplied by both s, and the
// bias and all behind it are F32. A row with nothing as large as 2^-100 counts as zeros; one that
// has a NaN or an infinity gives NaN.
enum { SAM_MAX_INT8 = 1 << 17 }; // terms at most: a sum of 127 * 127 fits an I32 so often

#endif // SAM_MATRIX_H
