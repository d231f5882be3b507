// SPDX-License-Identifier: MIT
// The largest of many numbers in host memory, for the choices of detectors.
#ifndef SAM_LARGEST_H
#define SAM_LARGEST_H

struct sam_largest {
    float value;
    int index;
};

// The first `most` of `count` values, in order: the largest, the first of equal ones, a NaN last.
// heap has room for `most`. Returns how many there are.
int sam_largest_of(struct sam_largest *heap, int most, const float *values, int count);

#endif // SAM_LARGEST_H
