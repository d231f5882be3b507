// SPDX-License-Identifier: MIT
// What sm_90a adds and runs beside the threads: barriers in shared memory, copies by tensor maps,
// products of warpgroups. By the PTX manual: "mbarrier", "Tensors", "Asynchronous Warpgroup Level
// Matrix Multiply-Accumulate Instructions". Everything happens as late as it may: a copy lands when
// no thread can go on, the registers of a product are NaN until its wait. What takes part must not
// change meanwhile, and what was not there in time is told.

#include <string.h>

#include <algorithm>
#include <map>
#include <vector>

#include "emu_half.h"
#include "tensor_map.h"

extern "C" thread_local unsigned char smem[];

namespace emu {

uint32_t shared_address(const void *p)
{
    const ptrdiff_t at = (const unsigned char *) p - smem;
    if (at < 0 || at >= (ptrdiff_t) running->shared)
        fault(cudaErrorIllegalAddress, "%p is not in the %zu bytes of dynamic shared memory", p,
              running->shared);
    return (uint32_t) at;
}

// The place of a byte as a swizzle of `width` bytes has it: address bits 4 and up, exclusive or
// those from 7 on.
static uint32_t swizzled(uint32_t at, unsigned width)
{
    return at ^ (at >> 3 & (width - 1) & ~15u);
}

// ---- barriers

struct barrier64 {
    int arrivals, pending; // of the phase: wanted, and left
    int bytes;             // that are left
    unsigned phases;       // that are over
    clocks coming, over;   // what the arrivals pass on: of this phase, of those that are over
};
static std::map<const uint64_t *, barrier64> barriers;
static bool in_use; // any of what is here, by the running block

void mbarrier_init(uint64_t *b, int arrivals, const char *file, int line)
{
    if (shared_address(b) % 8 || arrivals < 1 || arrivals >= 1 << 20)
        fault(cudaErrorMisalignedAddress, "mbarrier_init at %s:%d: %d arrivals at smem+%u", file,
              line, arrivals, shared_address(b));
    in_use = true;
    touch(b, 8, WRITE, self, __builtin_return_address(0));
    memset(b, 0, 8);
    barriers[b] = { arrivals, arrivals, 0, 0, {}, {} };
}

static barrier64 &barrier_at(const uint64_t *b, access kind, const char *what, const char *file,
                             int line)
{
    const auto it = barriers.find(b);
    if (it == barriers.end())
        fault(cudaErrorLaunchFailure, "%s at %s:%d: no mbarrier was made at smem+%u", what, file,
              line, shared_address(b));
    touch(b, 8, kind, self, nullptr);
    return it->second;
}

static void end_phase(const uint64_t *at, barrier64 &b)
{
    if (b.pending || b.bytes)
        return;
    b.pending = b.arrivals;
    b.phases++;
    b.over = b.coming;
    wake(at);
}

void mbarrier_arrive(uint64_t *at, unsigned bytes, const char *file, int line)
{
    barrier64 &b = barrier_at(at, READ, "mbarrier_arrive", file, line);
    if (!b.pending)
        fault(cudaErrorLaunchFailure, "mbarrier_arrive at %s:%d: more than the %d arrivals of a phase",
              file, line, b.arrivals);
    pass_on(b.coming, self);
    b.bytes += (int) bytes;
    b.pending--;
    end_phase(at, b);
    maybe_yield();
}

bool mbarrier_try_wait(uint64_t *at, unsigned parity, const char *file, int line)
{
    barrier64 &b = barrier_at(at, READ, "mbarrier_try_wait", file, line);
    const unsigned phases = b.phases;
    if (seldom())
        land_copy();
    if ((b.phases & 1) == (parity & 1) && b.phases == phases)
        sleep_on(at, "mbarrier_try_wait", file, line);
    if ((b.phases & 1) == (parity & 1))
        return false;
    hear(b.over, self);
    return true;
}

// ---- copies

struct box_copy {
    std::vector<uint8_t> bytes; // the source when it was issued
    const tensor_map *map;
    const char *src;
    std::vector<std::pair<const char *, size_t>> rows; // of the source, and where in `bytes`
    size_t row_bytes;
    uint32_t dst;
    unsigned swizzle, by;
    uint64_t *barrier;
};
static std::vector<box_copy> copies;

// Calls f(row of the box, address or null where it is beyond the tensor, bytes that are there).
template <class F> static void each_row(const tensor_map &m, const int *at, const F &f)
{
    unsigned rows = 1;
    for (unsigned r = 1; r < m.rank; r++)
        rows *= m.box[r];
    for (unsigned row = 0; row < rows; row++) {
        const char *p = m.base + (ptrdiff_t) at[0] * 2;
        unsigned rest = row;
        bool there = at[0] >= 0 && at[0] < (int64_t) m.size[0];
        for (unsigned r = 1; r < m.rank; r++) {
            const int64_t i = at[r] + (int64_t) (rest % m.box[r]);
            there = there && i >= 0 && i < (int64_t) m.size[r];
            p += i * (int64_t) m.stride[r];
            rest /= m.box[r];
        }
        const uint64_t left = there ? m.size[0] - at[0] : 0;
        f(row, p, 2 * std::min<uint64_t>(left, m.box[0]));
    }
}

static void each_piece(const box_copy &c, access kind)
{
    for (uint32_t i = 0; i < c.bytes.size(); i += 16) {
        unsigned char *to = smem + swizzled(c.dst + i, c.swizzle);
        touch(to, 16, kind, c.by, nullptr);
        if (kind == ASYNC)
            memset(to, 0xff, 16); // it may be written at any moment from now on
        else
            memcpy(to, c.bytes.data() + i, 16);
    }
}

void tensor_copy(void *dst, const CUtensorMap *map, const int *at, int rank, uint64_t *barrier,
                 const char *file, int line)
{
    const tensor_map m = tensor_map_of(map);
    const uint32_t to = shared_address(dst), whole = m.swizzle > 16 ? m.swizzle * 8 : 128;
    if (m.magic != TENSOR_MAP || (int) m.rank != rank)
        fault(cudaErrorLaunchFailure, "tensor_copy at %s:%d: no map of %d dimensions", file, line,
              rank);
    if (to % whole)
        fault(cudaErrorMisalignedAddress, "tensor_copy at %s:%d to smem+%u, which is no multiple of "
              "%u", file, line, to, whole);
    barrier_at(barrier, BULK_READ, "tensor_copy", file, line);
    box_copy c = {};
    c.row_bytes = m.box[0] * 2;
    each_row(m, at, [&](unsigned row, const char *p, size_t bytes) {
        c.bytes.resize((row + 1) * c.row_bytes); // with zeros
        if (!bytes)
            return;
        touch((void *) p, bytes, READ, self, nullptr);
        memcpy(c.bytes.data() + row * c.row_bytes, p, bytes);
        c.rows.push_back({ p, bytes });
        c.rows.push_back({ nullptr, row * c.row_bytes });
    });
    c.dst = to, c.swizzle = m.swizzle, c.by = self, c.barrier = barrier;
    shared_address((char *) dst + c.bytes.size() - 1);
    each_piece(c, ASYNC);
    copies.push_back(c);
}

bool land_copy()
{
    if (copies.empty())
        return false;
    const unsigned which = pick(copies.size());
    const box_copy c = copies[which];
    copies.erase(copies.begin() + which);
    for (size_t i = 0; i < c.rows.size(); i += 2)
        if (memcmp(c.rows[i].first, c.bytes.data() + c.rows[i + 1].second, c.rows[i].second))
            finding(nullptr, "the source of a tensor copy changed while it was under way");
    each_piece(c, BULK_LAND);
    barrier64 &b = barriers[c.barrier];
    pass_on(b.coming, c.by);
    b.bytes -= (int) c.bytes.size();
    end_phase(c.barrier, b);
    return true;
}

// ---- products

// How a factor lies in shared memory: PTX manual, "Matrix Descriptor Format" and "Canonical Layouts".
struct factor {
    uint32_t start, lead, stride;
    unsigned width; // of the swizzle in bytes; 16: none
    bool transposed;

    // Where the 8 numbers are that have this number k and these 8 rows (columns of the second
    // factor) if it is transposed, else this row and these 8 numbers k: row or 8 of them, k or 8.
    uint32_t piece(unsigned i, unsigned k) const
    {
        uint32_t at = start;
        if (transposed && width == 16)
            at += i * stride + k / 8 * lead + k % 8 * 16;
        else if (transposed)
            at += i / (width / 16) * lead + k / 8 * stride + k % 8 * width + i % (width / 16) * 16;
        else
            at += i / 8 * stride + i % 8 * width + k * (width == 16 ? lead : 16);
        return swizzled(at, width);
    }
};

static factor factor_of(uint64_t d, bool transposed, const char *file, int line)
{
    static const unsigned widths[] = { 16, 128, 64, 32 };
    const auto field = [d](int bit) { return (uint32_t) (d >> bit & 0x3fff) << 4; };
    const factor f = { field(0), field(16), field(32), widths[d >> 62], transposed };
    if (d >> 49 & 7 || d & 0x3f01c000c000c000u)
        fault(cudaErrorLaunchFailure, "wgmma at %s:%d: descriptor %016llx", file, line,
              (unsigned long long) d);
    return f;
}

// Calls fn(row or column, number k of 16, address of the piece, place in it) for `rows` rows from
// `first` on; each piece once with each of its numbers.
template <class F> static void each_number(const factor &f, unsigned first, unsigned rows, const F &fn)
{
    for (unsigned i = 0; i < rows; i += f.transposed ? 8 : 1)
        for (unsigned k = 0; k < 16; k += f.transposed ? 1 : 8) {
            const uint32_t at = f.transposed ? f.piece((first + i) / 8, k)
                                             : f.piece(first + i, k / 8);
            for (unsigned e = 0; e < 8; e++)
                fn(i + f.transposed * e, k + !f.transposed * e, at, e);
        }
}

struct sums { // registers that a product has not left yet
    std::vector<float> value;
    int group;
};
struct held { // what a product of a warp may still be reading: pieces of shared memory
    std::vector<uint32_t> pieces;
    uint64_t sum;
    int group;
};
struct asked { // of a warpgroup: what its warps must have alike
    uint64_t a, b;
    int n;
};
struct on_its_own { // of a thread
    bool fenced;
    int groups;
    std::map<float *, sums> sum;
    std::map<const uint32_t *, std::vector<uint32_t>> known; // registers, as of the last fence
    std::map<const uint32_t *, std::pair<std::vector<uint32_t>, int>> factors; // with the group
    std::vector<held> reads; // of the first lane of a warp
    size_t count;
};
static on_its_own own[MAX_THREADS];
static std::vector<asked> asked_of[MAX_THREADS / 128];

static bool poisoned(const float *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bits<uint32_t>(d[i]) != 0xffffffff)
            return false;
    return true;
}

static uint64_t sum_of(const std::vector<uint32_t> &pieces)
{
    uint64_t sum = 0;
    for (uint32_t at : pieces) {
        uint64_t v[2];
        memcpy(v, smem + at, 16);
        sum = (sum * 31 + v[0]) * 31 + v[1];
    }
    return sum;
}

static void touch_pieces(const std::vector<uint32_t> &pieces, unsigned thread)
{
    for (uint32_t at : pieces)
        touch(smem + at, 16, BULK_READ, thread, nullptr);
}

void wgmma_fence(const char *, int)
{
    on_its_own &o = own[self];
    in_use = o.fenced = true;
    for (auto &k : o.known)
        k.second.assign(k.first, k.first + k.second.size());
}

void wgmma_commit() { own[self].groups++; }

void wgmma_wait(int pending)
{
    on_its_own &o = own[self];
    const auto over = [&](int group) { return group < o.groups - pending; };
    o.fenced = false;
    for (auto it = o.sum.begin(); it != o.sum.end();) {
        if (!over(it->second.group)) {
            ++it;
            continue;
        }
        if (!poisoned(it->first, it->second.value.size()))
            finding(nullptr, "thread %u writes registers of a wgmma before its wait", self);
        memcpy(it->first, it->second.value.data(), it->second.value.size() * 4);
        it = o.sum.erase(it);
    }
    for (auto it = o.factors.begin(); it != o.factors.end();) {
        if (!over(it->second.second)) {
            ++it;
            continue;
        }
        if (memcmp(it->first, it->second.first.data(), 16))
            finding(nullptr, "thread %u writes a factor of a wgmma before its wait", self);
        it = o.factors.erase(it);
    }
    size_t kept = 0;
    for (held &h : o.reads) {
        if (!over(h.group)) {
            o.reads[kept++] = h;
            continue;
        }
        touch_pieces(h.pieces, self);
        if (sum_of(h.pieces) != h.sum)
            finding(nullptr, "shared memory changed while a wgmma may be reading it");
    }
    o.reads.resize(kept);
}

// Registers that were written behind the fence.
static bool are_late(on_its_own &o, const void *p, size_t words)
{
    std::vector<uint32_t> &known = o.known[(const uint32_t *) p];
    const bool late = known.size() == words && memcmp(known.data(), p, words * 4);
    known.assign((const uint32_t *) p, (const uint32_t *) p + words);
    return late;
}

// A thread's part before the product: its sums so far, poison in their place.
static void take_registers(const product &p, const char *file, int line)
{
    on_its_own &o = own[self];
    const size_t words = p.n / 2;
    const auto it = o.sum.find(p.d);
    if (it != o.sum.end() && (it->second.value.size() != words || !poisoned(p.d, words)))
        finding(nullptr, "thread %u touches registers of a wgmma before its wait, at %s:%d", self,
                file, line);
    if (!o.fenced && (it == o.sum.end() || p.a))
        finding(nullptr, "wgmma at %s:%d without wgmma.fence", file, line);
    if ((it == o.sum.end() && are_late(o, p.d, words)) || (p.a && are_late(o, p.a, 4)))
        finding(nullptr, "registers of the wgmma at %s:%d are written behind the fence", file, line);
    if (it == o.sum.end())
        o.sum[p.d].value.assign(p.d, p.d + words);
    o.sum[p.d].group = o.groups;
    if (p.a)
        o.factors[p.a] = { { p.a, p.a + 4 }, o.groups };
    memset(p.d, 0xff, words * 4);
    o.known[(uint32_t *) p.d].assign(words, 0xffffffff);
}

struct product_operand {
    product p;
    const char *file;
    int line;
};

// 16 rows of a warp, by its last lane to arrive.
static void multiply(void *const *operand, unsigned members)
{
    const auto at = [operand](int l) -> product_operand & {
        return *(product_operand *) operand[l];
    };
    const product_operand &any = at(0);
    const product &p = any.p;
    const unsigned first = self & ~31u, warp = self / 32, rows0 = warp % 4 * 16;
    if (members != 0xffffffff || block_threads % 128)
        fault(cudaErrorLaunchFailure, "wgmma at %s:%d without the whole warpgroup", any.file,
              any.line);
    cost_products(p.n / 8);
    for (int l = 1; l < 32; l++)
        if (at(l).p.from_a != p.from_a || at(l).p.from_b != p.from_b)
            fault(cudaErrorLaunchFailure, "wgmma at %s:%d: lanes differ in the descriptor", any.file,
                  any.line);
    std::vector<asked> &all = asked_of[warp / 4];
    size_t &count = own[first].count;
    if (count == all.size())
        all.push_back({ p.from_a, p.from_b, p.n });
    const asked &same = all[count++];
    if (same.a != p.from_a || same.b != p.from_b || same.n != p.n)
        fault(cudaErrorLaunchFailure, "wgmma at %s:%d: warps of a warpgroup differ in the descriptor",
              any.file, any.line);

    static float a[16][16], b[16][256], sum[16][256]; // the factors by number k
    held reads = { {}, 0, own[first].groups };
    const auto load = [&](const factor &f, unsigned row0, unsigned rows, auto &to) {
        each_number(f, row0, rows, [&](unsigned i, unsigned k, uint32_t from, unsigned e) {
            uint16_t raw;
            if (e == 0) {
                if (from + 16 > running->shared)
                    fault(cudaErrorIllegalAddress, "wgmma at %s:%d reads smem+%u of %zu bytes",
                          any.file, any.line, from, running->shared);
                reads.pieces.push_back(from);
            }
            memcpy(&raw, smem + from + 2 * e, 2);
            to[k][i] = bf16::widen(raw);
        });
    };
    load(factor_of(p.from_b, p.b_transposed, any.file, any.line), 0, p.n, b);
    if (!p.a)
        load(factor_of(p.from_a, p.a_transposed, any.file, any.line), rows0, 16, a);
    for (int l = 0; l < 32 && p.a; l++)
        for (int r = 0; r < 4; r++)
            for (int i = 0; i < 2; i++)
                a[2 * (l % 4) + i + 8 * (r / 2)][l / 4 + 8 * (r % 2)] =
                    bf16::widen((uint16_t) (at(l).p.a[r] >> 16 * i));
    touch_pieces(reads.pieces, first);
    reads.sum = sum_of(reads.pieces);
    own[first].reads.push_back(reads);

    memset(sum, 0, sizeof(sum));
    for (int m = 0; m < 16; m++)
        for (int k = 0; k < 16; k++)
            for (int n = 0; n < p.n; n++)
                sum[m][n] += a[k][m] * b[k][n];
    for (int l = 0; l < 32; l++) {
        float *d = own[first + l].sum[at(l).p.d].value.data();
        for (int r = 0; r < p.n / 2; r++) {
            const float s = sum[l / 4 + 8 * (r % 4 / 2)][8 * (r / 4) + 2 * (l % 4) + r % 2];
            d[r] = p.add ? d[r] + s : s;
        }
    }
}

void wgmma(const product &p, const char *file, int line)
{
    product_operand mine = { p, file, line };
    in_use = true;
    take_registers(p, file, line);
    meet("wgmma", 0xffffffff, &mine, multiply, file, line, true);
}

// ---- blocks

void begin_hopper()
{
    if (!in_use) // before this one
        return;
    in_use = false;
    barriers.clear();
    copies.clear();
    for (std::vector<asked> &all : asked_of)
        all.clear();
    for (on_its_own &o : own)
        o = {};
}

void exit_hopper(unsigned t)
{
    if (in_use && !own[t].sum.empty())
        finding(nullptr, "thread %u ends before a wait for its wgmma", t);
}

void end_hopper()
{
    if (!in_use)
        return;
    if (!copies.empty())
        finding(nullptr, "the block ends with %zu tensor copies under way", copies.size());
    for (const auto &b : barriers)
        if (b.second.bytes)
            finding(nullptr, "the block ends with %d bytes expected at smem+%u", b.second.bytes,
                    shared_address(b.first));
    for (unsigned w = 0; w < block_threads / 128; w++)
        for (unsigned t = 128 * w; t < 128 * w + 128; t += 32)
            if (own[t].count != asked_of[w].size())
                finding(nullptr, "warp %u takes no part in all products of its warpgroup", t / 32);
    copies.clear();
}

} // namespace emu
