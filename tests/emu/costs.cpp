// SPDX-License-Identifier: MIT
// What a launch costs a multiprocessor's memory and tensor cores, for $EMU_COSTS: a line each,
//   GRID.x GRID.y GRID.z THREADS SHARED WAVES READ WRITTEN PASSES CONFLICTS PRODUCTS KERNEL
// SHARED: bytes of a block. WAVES: in so many turns do its blocks run, as far as threads and shared
// memory tell. READ, WRITTEN: bytes of device memory, each access counted. PASSES: of shared memory,
// 32 banks of 4 bytes each; CONFLICTS: those of them that other banks would have saved. PRODUCTS: of
// 16 x 8 x 16, by mma or by a share of wgmma. What copies of tensor maps and wgmma take of shared
// memory is not counted. Only of kernels that are compiled with the checks of every access.

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "emu.h"

namespace emu {

bool counts = getenv("EMU_COSTS");
static emu_cost now;

// An instruction of a warp that touches shared memory. Its lanes come here one after the other, those
// of a barrier's other side before the next: the n-th time that a thread is at some place in the code
// is that of its neighbours, too.
struct warp_access {
    uint32_t lanes;
    size_t bytes;
    const char *at[32];
};
using place = std::tuple<unsigned, const void *, int>; // warp or thread, place in the code, kind
static std::map<std::pair<place, unsigned>, warp_access> open_accesses;
static std::map<place, unsigned> turns; // of a thread

static FILE *to()
{
    static FILE *const f = file_of("EMU_COSTS");
    return f;
}

// 128 bytes at a time: accesses of 8 bytes by half of a warp, of 16 by a quarter.
static void close_access(const warp_access &a)
{
    const int side_by_side = a.bytes <= 4 ? 32 : a.bytes <= 8 ? 16 : 8;
    for (int first = 0; first < 32; first += side_by_side) {
        std::set<size_t> words[32];
        size_t passes = 0;
        for (int l = first; l < first + side_by_side; l++)
            for (size_t i = 0; a.lanes >> l & 1 && i < std::max<size_t>(a.bytes / 4, 1); i++) {
                const size_t word = (uintptr_t) a.at[l] / 4 + i;
                words[word % 32].insert(word);
                passes = std::max(passes, words[word % 32].size());
            }
        now.passes += passes;
        now.conflicts += passes ? passes - 1 : 0;
    }
}

static void touch_shared(const char *p, size_t bytes, access kind, unsigned thread, const void *pc)
{
    const unsigned turn = turns[{ thread, pc, kind }]++;
    const auto key = std::make_pair(place { thread / 32, pc, kind }, turn);
    warp_access &a = open_accesses[key];
    a.bytes = std::max(a.bytes, bytes);
    a.lanes |= 1u << thread % 32;
    a.at[thread % 32] = p;
    if (a.lanes == 0xffffffff) {
        close_access(a);
        open_accesses.erase(key);
    }
}

void cost_rows(const void *const *row, int count)
{
    warp_access a = { 0xffu, 16, {} };
    for (int m = 0; counts && m < count; m++) {
        std::copy_n((const char *const *) row + 8 * m, 8, a.at);
        close_access(a);
    }
}

void cost_touch(const void *p, size_t bytes, access kind, unsigned thread, const void *pc,
                bool is_shared)
{
    if (!counts || kind == LAND || !pc)
        return;
    const bool is_bulk = kind == BULK_READ || kind == BULK_LAND;
    if (is_shared && !is_bulk)
        touch_shared((const char *) p, bytes, kind, thread, pc);
    if (is_shared)
        return;
    now.read += kind == READ || kind == ATOMIC || kind == BULK_READ ? bytes : 0;
    now.written += kind == WRITE || kind == ATOMIC || kind == BULK_LAND ? bytes : 0;
}

void cost_products(unsigned count)
{
    now.products += count;
}

void cost_begin_grid()
{
    now = {};
}

void cost_end_block()
{
    for (const auto &one : open_accesses)
        close_access(one.second);
    open_accesses.clear();
    turns.clear();
}

static size_t waves_of(size_t shared)
{
    enum { MOST_THREADS = 2048, RESERVED = 1024 }; // of a multiprocessor; bytes beside, of a block
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    const launch &l = *running;
    const size_t threads = l.block.x * l.block.y * l.block.z;
    const size_t side_by_side = std::min(MOST_THREADS / threads, device.sharedMemPerMultiprocessor
                                                                 / (shared + RESERVED));
    const size_t blocks = (size_t) l.grid.x * l.grid.y * l.grid.z;
    const size_t at_once = std::max<size_t>(side_by_side, 1) * device.multiProcessorCount;
    return (blocks + at_once - 1) / at_once;
}

void cost_end_grid(size_t shared)
{
    if (!to() || !emu_instrumented())
        return;
    const launch &l = *running;
    fprintf(to(), "%u %u %u %u %zu %zu %llu %llu %llu %llu %llu %s\n", l.grid.x, l.grid.y, l.grid.z,
            l.block.x * l.block.y * l.block.z, shared, waves_of(shared), now.read, now.written,
            now.passes, now.conflicts, now.products, kernel_name(l.kernel).c_str());
    fflush(to());
}

} // namespace emu

void emu_count_costs(int on)
{
    emu::counts = on || emu::to();
}

struct emu_cost emu_last_cost(void)
{
    return emu::now;
}
