// SPDX-License-Identifier: MIT
#include "hash.h"

#include <string.h>

static const uint64_t PRIME = 0x9e3779b185ebca87u;

// One to one in x for every word, and in the word for every x.
static uint64_t mix(uint64_t x, uint64_t word)
{
    x = (x ^ word) * PRIME;
    return x << 29 | x >> 35;
}

static uint64_t word_at(const uint8_t *p)
{
    uint64_t word = 0;

    for (int i = 0; i < 8; i++)
        word |= (uint64_t) p[i] << (8 * i);
    return word;
}

static void add_row(struct sam_hash *h, const uint8_t row[32])
{
    for (int i = 0; i < 4; i++)
        h->lane[i] = mix(h->lane[i], word_at(row + 8 * i));
}

void sam_hash_begin(struct sam_hash *h)
{
    *h = (struct sam_hash) { .lane = { 1, 2, 3, 4 } };
}

void sam_hash_add(struct sam_hash *h, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    const size_t held = h->bytes % sizeof(h->rest);

    if (!bytes) // data may be NULL
        return;
    h->bytes += bytes;
    if (held) {
        const size_t room = sizeof(h->rest) - held, some = bytes < room ? bytes : room;
        memcpy(h->rest + held, p, some);
        p += some;
        bytes -= some;
        if (some < room)
            return;
        add_row(h, h->rest);
    }
    for (; bytes >= sizeof(h->rest); bytes -= sizeof(h->rest), p += sizeof(h->rest))
        add_row(h, p);
    if (bytes)
        memcpy(h->rest, p, bytes);
}

uint64_t sam_hash_end(const struct sam_hash *h)
{
    struct sam_hash all = *h;
    const size_t held = h->bytes % sizeof(h->rest);
    uint64_t x = h->bytes;

    if (held) {
        memset(all.rest + held, 0, sizeof(all.rest) - held);
        add_row(&all, all.rest);
    }
    for (int i = 0; i < 4; i++)
        x = mix(x, all.lane[i]);
    return x ^ x >> 32;
}
