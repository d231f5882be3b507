// SPDX-License-Identifier: MIT
// What the emulator keeps in a CUtensorMap: of BF16, tiled.
#ifndef EMU_TENSOR_MAP_H
#define EMU_TENSOR_MAP_H

#include <string.h>

#include "cuda.h"

namespace emu {

enum { TENSOR_MAP = 0x7e5502 };
struct tensor_map {
    unsigned magic, rank;
    const char *base;
    uint32_t size[5];   // in numbers
    uint32_t box[5];
    uint64_t stride[5]; // in bytes
    unsigned swizzle;   // in bytes; 16: none
};
static_assert(sizeof(tensor_map) <= sizeof(CUtensorMap));

inline tensor_map tensor_map_of(const CUtensorMap *map)
{
    tensor_map m;
    memcpy(&m, map, sizeof(m));
    return m;
}

} // namespace emu
#endif // EMU_TENSOR_MAP_H
