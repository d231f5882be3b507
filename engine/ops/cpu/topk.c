// SPDX-License-Identifier: MIT
// The k largest numbers: a heap holds the best so far with the smallest on top, and removing the
// top sorts them. A key combines a number and its position, so that no two keys are equal.

#include <string.h>

#include "ops/cpu/cpu.h"

// Larger for larger numbers, and among equal ones for the first. A NaN is below all numbers.
static uint64_t key_of(float number, int place)
{
    uint32_t bits;
    const bool is_nan = number != number;
    number += 0.0f; // -0 is 0
    memcpy(&bits, &number, sizeof(bits));
    bits = is_nan ? 0 : bits >> 31 ? ~bits : bits | 0x80000000u;
    return (uint64_t) bits << 32 | (uint32_t) ~place;
}

static int place_of(uint64_t key)
{
    return (int) ~(uint32_t) key;
}

// Put `key` where the hole at `at` is, or below it.
static void sink(uint64_t *heap, int size, int at, uint64_t key)
{
    for (int child = 2 * at + 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= key)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = key;
}

static void rise(uint64_t *heap, int at, uint64_t key)
{
    for (; at > 0 && heap[(at - 1) / 2] > key; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = key;
}

// The best k that count, in a heap. Returns how many there are.
static int collect(uint64_t *heap, const struct sam_topk *p, const float *src)
{
    const int k = p->index.c;
    int size = 0;
    for (int i = 0; i < p->src.c; i++) {
        if (!p->all && !(src[i] > p->threshold))
            continue;
        const uint64_t key = key_of(src[i], i);
        if (size < k)
            rise(heap, size++, key);
        else if (key > heap[0])
            sink(heap, size, 0, key);
    }
    return size;
}

static void topk_task(void *priv, int n, int thread)
{
    const struct sam_topk *p = priv;
    const int count = p->src.c, k = p->index.c;
    const float *src = (const float *) p->src.data + (size_t) n * count;
    int32_t *index = (int32_t *) p->index.data + (size_t) n * k;
    float *score = (float *) p->score.data + (size_t) n * k;
    const uintptr_t room = (uintptr_t) ((int32_t *) p->room.data + (size_t) n * p->room.c);
    uint64_t *heap = (uint64_t *) ((room + 7) & ~(uintptr_t) 7);

    const int num = collect(heap, p, src);
    for (int i = num; i < k; i++)
        index[i] = -1, score[i] = 0;
    for (int left = num; left > 0; left--) {
        index[left - 1] = place_of(heap[0]);
        score[left - 1] = src[index[left - 1]];
        sink(heap, left - 1, 0, heap[left - 1]);
    }
    ((int32_t *) p->num.data)[n] = num;
}

void sam_topk_cpu(struct sam_queue *q, const struct sam_topk *p)
{
    struct sam_topk op = *p;
    sam_pool_run(sam_cpu(q)->pool, p->src.n, topk_task, &op);
}
