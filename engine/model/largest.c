// SPDX-License-Identifier: MIT
#include "largest.h"

#include <math.h>
#include <stdbool.h>

// Whether a comes before b: the larger, the first of equal ones, a NaN last.
static bool is_before(struct sam_largest a, struct sam_largest b)
{
    if (isnan(a.value) || isnan(b.value))
        return isnan(a.value) == isnan(b.value) ? a.index < b.index : isnan(b.value);
    return a.value != b.value ? a.value > b.value : a.index < b.index;
}

// heap[0] comes last of all. Let what is at i sink to its place among n.
static void sink(struct sam_largest *heap, int n, int i)
{
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_before(heap[child], heap[child + 1]))
            child++;
        if (is_before(heap[child], heap[i]))
            break;
        const struct sam_largest t = heap[i];
        heap[i] = heap[child];
        heap[child] = t;
    }
}

int sam_largest_of(struct sam_largest *heap, int most, const float *values, int count)
{
    const int n = count < most ? count : most;

    for (int i = 0; i < n; i++)
        heap[i] = (struct sam_largest) { values[i], i };
    for (int i = n / 2 - 1; i >= 0; i--)
        sink(heap, n, i);
    for (int i = n; i < count; i++)
        if (is_before((struct sam_largest) { values[i], i }, heap[0])) {
            heap[0] = (struct sam_largest) { values[i], i };
            sink(heap, n, 0);
        }
    for (int last = n - 1; last > 0; last--) {
        const struct sam_largest t = heap[0];
        heap[0] = heap[last];
        heap[last] = t;
        sink(heap, last, 0);
    }
    return n;
}
