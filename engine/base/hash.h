// SPDX-License-Identifier: MIT
// A 64-bit checksum of bytes, the same on every machine. A change of up to 8 adjacent bytes that
// begin at a multiple of 8 is always found. It does not withstand forgery.
#ifndef SAM_HASH_H
#define SAM_HASH_H

#include <stddef.h>
#include <stdint.h>

struct sam_hash {
    uint64_t lane[4];
    uint8_t rest[32]; // bytes that do not fill a row of lanes yet
    uint64_t bytes;
};

void sam_hash_begin(struct sam_hash *h);
void sam_hash_add(struct sam_hash *h, const void *data, size_t bytes); // NULL: of 0 bytes
uint64_t sam_hash_end(const struct sam_hash *h); // of all added so far; more may follow

#endif // SAM_HASH_H
