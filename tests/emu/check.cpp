// SPDX-License-Identifier: MIT
// Watches what kernels touch, on two levels:
//  - always: pages that fault around device memory (runtime.cpp), poison in
//    fresh memory and in the shared memory of each block, signals as reports;
//  - when the .cu files are compiled with -fsanitize=thread,alignment,bounds,...
//    (meson.build) and linked without the runtimes of these: the compiler then
//    calls the __tsan_ and __ubsan_ functions below at every access. That gives
//    exact bounds, reads of shared memory nobody wrote, misaligned vectors, races.

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "emu.h"

extern "C" {
// Dynamic shared memory, whole pages of it, and one more.
alignas(emu::PAGE) thread_local unsigned char smem[(emu::MAX_SHARED + 2 * emu::PAGE) / emu::PAGE *
                                                   emu::PAGE];
void _ZTH4smem() {} // g++ calls this "initialiser" wherever an extern thread_local smem is used
}

namespace emu {

// ---- findings

enum { MAX_FINDINGS = 20 };
static std::string findings;
static int num_findings;
static std::set<const void *> told; // one finding per place in the code

static std::string source_of(const void *pc) // the return address of a call
{
    Dl_info in;
    if (!pc || !dladdr(pc, &in))
        return "";
    const size_t base =
        ((const ElfW(Ehdr) *) in.dli_fbase)->e_type == ET_EXEC ? 0 : (size_t) in.dli_fbase;
    char text[1024];
    snprintf(text, sizeof(text), "addr2line -Cfipse /proc/%d/exe %#zx 2>/dev/null", getpid(),
             (size_t) pc - base - 1);
    std::string out;
    FILE *f = popen(text, "r");
    while (f && fgets(text, sizeof(text), f))
        out += "\n    in " + std::string(text, strcspn(text, "\n"));
    if (f)
        pclose(f);
    return out;
}

void finding(const void *pc, const char *fmt, ...)
{
    if (running)
        set_error(cudaErrorLaunchFailure);
    if ((pc && !told.insert(pc).second) || ++num_findings > MAX_FINDINGS)
        return;
    char text[4096], where[512] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    const uint3 b = block_index;
    if (running)
        snprintf(where, sizeof(where), "%s, block (%u,%u,%u): ", running->name, b.x, b.y, b.z);
    const std::string line = std::string("emu: ") + where + text + source_of(pc) + "\n";
    fputs(line.c_str(), stderr);
    findings += line;
}

static void judge()
{
    const char *leave = getenv("EMU_EXIT");
    if (findings.empty() || (leave && *leave == '0'))
        return;
    fprintf(stderr, "emu: %d finding(s), see above\n", num_findings);
    fflush(nullptr);
    _exit(86);
}
static const int at_exit = atexit(judge);

// ---- shared memory: all thread_local variables of C++ functions in the program

struct symbol {
    ptrdiff_t at; // from smem
    size_t bytes;
    std::string name;
    bool used; // by the kernel that runs
};
static std::vector<symbol> shared;
static ptrdiff_t shared_first, shared_end = sizeof(smem);
static size_t static_shared;

// Calls f for every symbol of the program's table.
template <class F> static void each_symbol(const F &f)
{
    const int fd = open("/proc/self/exe", O_RDONLY);
    struct stat st;
    fstat(fd, &st);
    const char *file = (const char *) mmap(nullptr, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *) file;
    const ElfW(Shdr) *section = (const ElfW(Shdr) *) (file + head->e_shoff);
    for (int s = 0; s < head->e_shnum; s++) {
        if (section[s].sh_type != SHT_SYMTAB)
            continue;
        const char *names = file + section[section[s].sh_link].sh_offset;
        const ElfW(Sym) *sym = (const ElfW(Sym) *) (file + section[s].sh_offset),
                        *end = sym + section[s].sh_size / sizeof(*sym);
        for (; sym < end; sym++)
            if (sym->st_shndx)
                f(names + sym->st_name, *sym);
    }
    munmap((void *) file, st.st_size);
    close(fd);
}

static void find_shared()
{
    ptrdiff_t smem_at = 0;
    each_symbol([&](const char *name, const ElfW(Sym) &sym) {
        if ((sym.st_info & 15) != STT_TLS)
            return;
        if (!strcmp(name, "smem"))
            smem_at = sym.st_value;
        else if (!strncmp(name, "_ZZ", 3)) // local to a function
            shared.push_back({ (ptrdiff_t) sym.st_value, sym.st_size, name, false });
    });
    for (symbol &s : shared) {
        s.at -= smem_at;
        shared_first = std::min(shared_first, s.at & ~(ptrdiff_t) 15);
        shared_end   = std::max(shared_end, s.at + (ptrdiff_t) s.bytes);
    }
}

// ---- which kernels ran, for $EMU_KERNELS: a line each with launches and bytes of shared memory

struct use {
    size_t launches, bytes;
};
static std::map<const void *, use> used; // the static ones are known after the first block

static void tell_kernels()
{
    const char *path = getenv("EMU_KERNELS");
    FILE *f = path && !used.empty() ? fopen(path, "a") : nullptr;
    Dl_info in;
    if (!f || !dladdr((void *) tell_kernels, &in))
        return;
    each_symbol([&](const char *name, const ElfW(Sym) &sym) {
        const auto it = used.find((const char *) in.dli_fbase + sym.st_value);
        if ((sym.st_info & 15) != STT_FUNC || it == used.end())
            return;
        char *plain = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
        fprintf(f, "%zu %zu %s\n", it->second.launches, it->second.bytes, plain ? plain : name);
        free(plain);
    });
    fclose(f);
}
static const int tell_at_exit = atexit(tell_kernels);

std::string kernel_name(const void *kernel)
{
    Dl_info in;
    std::string found;
    if (!dladdr((void *) tell_kernels, &in))
        return found;
    each_symbol([&](const char *name, const ElfW(Sym) &sym) {
        if ((sym.st_info & 15) != STT_FUNC || (const char *) in.dli_fbase + sym.st_value != kernel)
            return;
        char *plain = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
        found = plain ? plain : name;
        free(plain);
    });
    return found;
}

static std::string name_of(const char *p)
{
    if (in_arena(p))
        return describe(p);
    const ptrdiff_t at = (unsigned char *) p - smem;
    for (const symbol &s : shared)
        if (at >= s.at && at < s.at + (ptrdiff_t) s.bytes) {
            char *plain = abi::__cxa_demangle(s.name.c_str(), nullptr, nullptr, nullptr);
            const char *colon = plain ? strrchr(plain, ':') : nullptr;
            const std::string name = colon ? colon + 1 : s.name;
            free(plain);
            return name + "+" + std::to_string(at - s.at);
        }
    return "smem+" + std::to_string(at);
}

static void poison_shared(bool all)
{
    for (const symbol &s : shared)
        if (all || s.used)
            memset(smem + s.at, 0xff, s.bytes);
    memset(smem, 0xff, running->shared);
}

static bool dirty(const unsigned char *p, size_t bytes)
{
    return bytes && (*p != 0xff || memcmp(p, p + 1, bytes - 1));
}

// ---- order in time

// Every sync takes the next number from this clock, and an access is stamped
// with its thread's latest sync. A later access of another thread is ordered
// after it if the stamp lies before the last barrier of the whole block, or
// before the last sync of the first thread that the other has heard of.
static uint32_t now, grid_start, block_start, block_barrier;
static uint32_t latest[MAX_THREADS];
static uint32_t heard[MAX_THREADS][MAX_THREADS]; // [by][of]
static uint32_t fenced[MAX_THREADS];             // the last fence.proxy.async
static bool instrumented, race_check, trust_earlier_blocks;

static bool ordered(unsigned earlier, uint32_t at, unsigned thread)
{
    return at < block_barrier || earlier == thread || heard[thread][earlier] > at;
}

void happens(const unsigned *lanes)
{
    now++;
    if (!lanes)
        block_barrier = now;
    if (!lanes || !instrumented)
        return;
    static uint32_t sum[MAX_THREADS];
    memset(sum, 0, sizeof(sum));
    const auto each = [lanes](auto fn) {
        for (unsigned t = 0; t < block_threads; t++)
            if (lanes[t / 32] >> t % 32 & 1)
                fn(t);
    };
    each([](unsigned t) {
        for (unsigned u = 0; u < block_threads; u++)
            sum[u] = std::max(sum[u], heard[t][u]);
    });
    each([](unsigned t) { sum[t] = latest[t] = now; });
    each([](unsigned t) { memcpy(heard[t], sum, block_threads * sizeof(*sum)); });
}

// An atomic operation passes on what its thread did to the next one at the same
// address. CUDA wants fences for that, too, which are not looked for inside of a block.
static std::map<const void *, clocks> passed_on;

void pass_on(clocks &to, unsigned thread)
{
    to.resize(MAX_THREADS);
    latest[thread] = heard[thread][thread] = ++now;
    for (unsigned t = 0; t < block_threads; t++)
        to[t] = std::max(heard[thread][t], to[t]);
}

void hear(const clocks &of, unsigned thread)
{
    for (unsigned t = 0; t < block_threads && t < of.size(); t++)
        heard[thread][t] = std::max(heard[thread][t], of[t]);
}

void fence_proxy(unsigned thread) { fenced[thread] = latest[thread] = heard[thread][thread] = ++now; }

// From block to block: what the threads of the earlier one had written, as far as it was heard of
// at a __threadfence that is ordered before an atomic operation of that block, is known behind a
// __threadfence of the later one that is ordered behind an atomic operation of its own.
struct device_fence {
    uint32_t at;
    bool is_behind_atomic;
    clocks known; // of each thread
};
struct published {
    uint32_t block; // its beginning
    clocks known;
};
static device_fence fences[MAX_THREADS];
static std::vector<unsigned> fencing; // the threads of this block that have one
static uint32_t atomic_at[MAX_THREADS];
static std::vector<published> earlier_blocks; // of this grid, in order

void fence_device(unsigned thread)
{
    device_fence &f = fences[thread];
    if (!instrumented)
        return;
    if (f.at < block_start)
        fencing.push_back(thread), f.is_behind_atomic = false;
    latest[thread] = heard[thread][thread] = f.at = ++now;
    f.known.resize(MAX_THREADS);
    for (unsigned t = 0; t < block_threads; t++) {
        f.known[t] = std::max(heard[thread][t], block_barrier);
        f.is_behind_atomic |= atomic_at[t] >= block_start && ordered(t, atomic_at[t], thread);
    }
}

static void publish(unsigned thread)
{
    for (unsigned by : fencing) {
        if (!ordered(by, fences[by].at, thread))
            continue;
        if (earlier_blocks.empty() || earlier_blocks.back().block != block_start)
            earlier_blocks.push_back({ block_start, clocks(block_threads) });
        clocks &all = earlier_blocks.back().known;
        for (unsigned t = 0; t < block_threads; t++)
            all[t] = std::max(all[t], fences[by].known[t]);
    }
    atomic_at[thread] = latest[thread];
}

// What `writer` of an earlier block wrote at this time, by `thread` of this one.
static bool is_known(unsigned writer, uint32_t at, unsigned thread)
{
    const auto of = std::find_if(earlier_blocks.rbegin(), earlier_blocks.rend(),
                                 [at](const published &p) { return p.block <= at; });
    return of != earlier_blocks.rend() && of->known[writer] > at
        && std::any_of(fencing.begin(), fencing.end(), [thread](unsigned by) {
               return fences[by].is_behind_atomic && ordered(by, fences[by].at, thread);
           });
}

static void happens_at(const void *p, unsigned thread)
{
    pass_on(passed_on[p], thread);
    hear(passed_on[p], thread);
    publish(thread);
}

// What is known of four bytes of shared or device memory.
struct cell {
    uint32_t wrote, read; // stamps
    uint32_t read_before; // stamp of the last read by an earlier block
    uint32_t read_warps, read_lanes;
    uint16_t writer;
    uint8_t wrote_bytes : 4, init_bytes : 4;
    uint8_t read_bytes : 4, atomic : 1, pending : 1, bulk : 1;
};
static cell *shared_cells;
// Of a cell of shared memory, the stamp of each warp's last read: warps that pass a cell on by
// barriers in shared memory each do so at a time of their own. Warp by warp: lanes read neighbours.
static uint32_t *shared_reads;
static size_t num_shared_cells;

static uint32_t *read_of(const cell &c, unsigned warp)
{
    const size_t at = &c - shared_cells;
    return at < num_shared_cells ? shared_reads + warp * num_shared_cells + at : nullptr;
}

[[gnu::cold]] static void tell_race(const char *what, int by, access kind, unsigned thread,
                                    const void *pc, const char *p)
{
    const std::string who = by < 0 ? "another block" : "thread " + std::to_string(by);
    finding(pc, "race: thread %u %s what was %s by %s, with no sync between: %s", thread,
            kind == READ ? "reads" : "writes", what, who.c_str(), name_of(p).c_str());
}

// Half of the emulator's time is spent from here to touch(): each of the compiler's calls has a copy
// of its own, for its kind and number of bytes.
#define ALWAYS_INLINE [[gnu::always_inline]] static inline

ALWAYS_INLINE void check_race(const cell &c, unsigned bytes, access kind, unsigned thread,
                              const void *pc, const char *p)
{
    if ((c.wrote_bytes & bytes) && !(kind == ATOMIC && c.atomic)) {
        if (c.wrote >= block_start && !ordered(c.writer, c.wrote, thread))
            tell_race("written", c.writer, kind, thread, pc, p);
        if (c.wrote < block_start && c.wrote >= grid_start
            && !(trust_earlier_blocks && is_known(c.writer, c.wrote, thread)))
            tell_race("written", -1, kind, thread, pc, p);
    }
    if (kind != READ && (c.read_bytes & bytes)) {
        for (unsigned t = 0; c.read >= block_barrier && t < block_threads; t++)
            if (c.read_warps >> t / 32 & 1 && c.read_lanes >> t % 32 & 1 &&
                !ordered(t, read_of(c, t / 32) ? *read_of(c, t / 32) : c.read, thread)) {
                tell_race("read", t, kind, thread, pc, p);
                break;
            }
        if ((c.read < block_start ? c.read : c.read_before) >= grid_start && !trust_earlier_blocks)
            tell_race("read", -1, kind, thread, pc, p);
    }
}

[[gnu::cold]] static void tell_cell(const char *what, unsigned thread, const void *pc, const char *p,
                                    unsigned writer)
{
    const std::string where = name_of(p);
    finding(pc, what, thread, where.c_str(), writer);
}

ALWAYS_INLINE void check_cell(cell &c, unsigned bytes, access kind, unsigned thread, const void *pc,
                              const char *p, bool is_shared)
{
    if (is_shared) {
        if (c.wrote < block_start) // left over from another block
            c.init_bytes = c.wrote_bytes = c.pending = 0;
        if (c.read < block_start)
            c.read_bytes = c.read = c.read_before = 0;
        if (c.pending && (c.wrote_bytes & bytes) && kind != LAND && kind != BULK_LAND)
            tell_cell("thread %u touches %s, where a cp.async of thread %u may still be writing",
                      thread, pc, p, c.writer);
        if (kind == BULK_READ && !c.bulk && (c.wrote_bytes & bytes) && fenced[c.writer] <= c.wrote)
            tell_cell("a product or copy of thread %u reads %s, which thread %u wrote without "
                      "fence.proxy.async", thread, pc, p, c.writer);
        if ((kind == READ || kind == ATOMIC || kind == BULK_READ) && (bytes & ~c.init_bytes))
            tell_cell("thread %u reads %s, which nobody wrote in this block", thread, pc, p, 0);
    }
    const bool bulk = kind == BULK_LAND || kind == BULK_READ;
    kind = kind == BULK_READ ? READ : kind;
    if (race_check)
        check_race(c, bytes, kind, thread, pc, p);
    if (kind == ATOMIC && c.atomic && c.wrote >= grid_start && c.wrote < block_start)
        trust_earlier_blocks =
            true; // blocks count each other here; what the count guards is theirs to know

    const uint32_t at = std::max(latest[thread], block_barrier);
    if (kind == READ) {
        // The first since the barrier; or other bytes of the cell, as neighbours of 1 or 2 bytes
        // have: of those only the last reader is kept, for all together would be a false alarm.
        if (c.read < block_barrier || c.read_bytes != bytes) {
            if (c.read < block_start && c.read >= grid_start)
                c.read_before = c.read;
            c.read_bytes = c.read_warps = c.read_lanes = c.read = 0;
        }
        if (uint32_t *read = read_of(c, thread / 32)) {
            const bool again = c.read_warps >> thread / 32 & 1;
            *read = again ? std::max(*read, at) : at;
        }
        c.read_warps |= 1u << thread / 32;
        c.read_lanes |= 1u << thread % 32;
        c.read_bytes |= bytes;
        c.read = std::max(c.read, at);
        return;
    }
    c.read = c.read_before = c.read_bytes =
        0; // what is ordered after this write is so after the reads
    c.wrote_bytes = bytes;
    c.init_bytes |= bytes;
    c.wrote   = at;
    c.writer  = (uint16_t) thread;
    c.atomic  = kind == ATOMIC;
    c.pending = kind == ASYNC;
    c.bulk    = bulk;
}

static bool in_image(const char *p) // the program's own variables, constants and literals
{
    static std::vector<std::pair<const char *, const char *>> ranges;
    if (ranges.empty())
        dl_iterate_phdr([](dl_phdr_info *in, size_t, void *) {
            for (int i = 0; i < in->dlpi_phnum; i++) {
                const char *low = (const char *) in->dlpi_addr + in->dlpi_phdr[i].p_vaddr;
                if (in->dlpi_phdr[i].p_type == PT_LOAD)
                    ranges.push_back({ low, low + in->dlpi_phdr[i].p_memsz });
            }
            return 0;
        }, nullptr);
    return std::any_of(ranges.begin(), ranges.end(),
                       [p](auto &r) { return p >= r.first && p < r.second; });
}

static const memory *find_memory(const char *p, size_t bytes, access kind, const void *pc)
{
    static const memory *last; // most accesses are where the one before was
    if (last && last->live && p >= last->begin && p + bytes <= last->begin + last->bytes)
        return last;
    if (in_arena(p) && !inside(p, bytes))
        fault(cudaErrorIllegalAddress, "%s %zu bytes %s%s", kind == READ ? "reads" : "writes", bytes,
              describe(p).c_str(), source_of(pc).c_str());
    return last = in_arena(p) ? owner(p) : nullptr;
}

ALWAYS_INLINE void watch(const void *where, size_t bytes, access kind, unsigned thread, const void *pc)
{
    const char *p = (const char *) where;
    if (!instrumented || !on_device() || (size_t) (p - stack_low) < STACK ||
        (size_t) (p - running->args.data()) < running->args.size())
        return;

    const ptrdiff_t at = p - (const char *) smem;
    const bool is_shared = at >= shared_first && at < shared_end;
    cell *c;
    if (is_shared) {
        if (at >= 0 && at < MAX_SHARED && at + bytes > running->shared)
            fault(cudaErrorIllegalAddress, "%zu bytes at smem+%td, but the launch asked for %zu%s",
                  bytes, at, running->shared, source_of(pc).c_str());
        c = shared_cells + (at - shared_first) / 4;
    } else if (const memory *m = find_memory(p, bytes, kind, pc)) {
        expect_begun("touches device memory");
        c = (cell *) m->shadow + (p - m->begin) / 4; // begin is a multiple of 256
    } else if (in_image(p)) {
        return;
    } else {
        fault(cudaErrorIllegalAddress, "touches host memory at %p%s", p, source_of(pc).c_str());
    }
    if (kind == ATOMIC)
        happens_at(p, thread);
    if (counts)
        cost_touch(p, bytes, kind, thread, pc, is_shared);
    for (const char *end = p + bytes; p < end; c++) {
        const unsigned in = (uintptr_t) p % 4, n = std::min<size_t>(4 - in, end - p);
        check_cell(*c, ((1u << n) - 1) << in, kind, thread, pc, p, is_shared);
        p += n;
    }
}

void touch(const void *where, size_t bytes, access kind, unsigned thread, const void *pc)
{
    watch(where, bytes, kind, thread, pc);
}

size_t shadow_bytes(size_t bytes) { return (bytes / 4 + 2) * sizeof(cell); }

// ---- milestones of a launch

void begin_grid()
{
    if (!shared_cells) {
        find_shared();
        const char *off = getenv("EMU_RACE");
        race_check   = !(off && *off == '0');
        const auto take = [](size_t bytes) {
            return mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        };
        const size_t bytes = shared_end - shared_first;
        shared_cells = (cell *) take(shadow_bytes(bytes));
        num_shared_cells = bytes / 4 + 2;
        shared_reads     = (uint32_t *) take(num_shared_cells * (MAX_THREADS / 32) * sizeof(*shared_reads));
    }
    const size_t pages = (running->shared + PAGE - 1) & -(size_t) PAGE;
    memset(smem, 0xff, pages);
    mprotect(smem + pages, sizeof(smem) - pages,
             PROT_NONE); // what lies past the dynamic shared memory faults
    poison_shared(true);
    for (symbol &s : shared)
        s.used = false;
    static_shared = 0;
    earlier_blocks.clear();
    grid_start    = ++now;
    cost_begin_grid();
}

void begin_block()
{
    poison_shared(false);
    block_start = block_barrier = ++now;
    trust_earlier_blocks = false;
    passed_on.clear();
    fencing.clear();
}

void end_block()
{
    const size_t want = running->shared;
    cost_end_block();
    if (dirty(smem + want, -want % PAGE))
        stop(cudaErrorIllegalAddress, "wrote past the end of the %zu bytes of smem", want);
    if (static_shared)
        return;
    for (symbol &s : shared) // after the first block: which variables are this kernel's?
        if (dirty(smem + s.at, s.bytes))
            s.used = true, static_shared += s.bytes;
    if (static_shared + want > shared_limit(running->kernel))
        stop(cudaErrorInvalidValue,
             "%zu bytes of static and %zu of dynamic shared memory, limit %zu", static_shared, want,
             shared_limit(running->kernel));
}

void end_grid()
{
    use &u = used[running->kernel];
    u.launches++;
    u.bytes = std::max(u.bytes, running->shared + static_shared);
    cost_end_grid(running->shared + static_shared);
    mprotect(smem, sizeof(smem), PROT_READ | PROT_WRITE);
}

// ---- signals

static void on_signal(int number, siginfo_t *in, void *context)
{
#if defined(__x86_64__)
    const void *pc = (void *) (((ucontext_t *) context)->uc_mcontext.gregs[REG_RIP] + 1);
#elif defined(__aarch64__)
    const void *pc = (void *) (((ucontext_t *) context)->uc_mcontext.pc + 1);
#else
    const void *pc = nullptr;
#endif
    const char *p = (const char *) in->si_addr;
    const std::string at = source_of(pc);
    if (!on_device()) {
        const std::string touches = "host code touches " + describe(p);
        finding(nullptr, "%s%s", in_arena(p) ? touches.c_str() : strsignal(number), at.c_str());
        signal(number, SIG_DFL); // and again, to die of it
        return;
    }
    if (number == SIGPROF) {
        finding(nullptr, "thread %u does not come to an end%s", self, at.c_str());
        _exit(86);
    }
    if (number == SIGFPE)
        fault(cudaErrorLaunchFailure, "integer division by zero%s", at.c_str());
    if (number == SIGSEGV && in->si_code == SI_KERNEL)
        fault(cudaErrorMisalignedAddress, "misaligned or wild access%s", at.c_str());
    if ((size_t) (p - stack_low) < PAGE)
        fault(cudaErrorIllegalAddress, "stack overflow%s", at.c_str());
    fault(cudaErrorIllegalAddress, "touches %s%s", describe(p).c_str(), at.c_str());
}

void catch_signals()
{
    static char stack[128 << 10];
    const stack_t alternate = { stack, 0, sizeof(stack) };
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags =
        SA_SIGINFO | SA_ONSTACK | SA_NODEFER; // a fault leaves the handler for another fiber
    for (int s : { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGPROF })
        sigaction(s, &action, nullptr);
}

} // namespace emu

// ---- for tests

int emu_instrumented(void) { return emu::instrumented; }
const char *emu_findings(void) { return emu::findings.c_str(); }

void emu_forget(void)
{
    emu::findings.clear();
    emu::told.clear();
    emu::num_findings = 0;
}

// ---- what the compiler calls

#define HOOK(name, kind, bytes, then) \
    extern "C" void __tsan_##name##bytes(void *p) \
    { \
        emu::watch(p, bytes, emu::kind, emu::self, __builtin_return_address(0)); \
        emu::then(); \
    }
#define HOOKS(bytes)                                                                               \
    HOOK(read, READ, bytes, maybe_yield)                                                           \
    HOOK(unaligned_read, READ, bytes, maybe_yield) HOOK(write, WRITE, bytes, maybe_yield)          \
        HOOK(unaligned_write, WRITE, bytes, maybe_yield) HOOK(volatile_read, READ, bytes, yield)   \
            HOOK(volatile_write, WRITE, bytes, yield) /* for loops that wait */
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

// Of std::atomic and the like, in the host's part of a .cu file.
#define ATOMICS(bits, T)                                                                           \
    extern "C" T __tsan_atomic##bits##_load(const volatile T *p, int)                              \
    {                                                                                              \
        return __atomic_load_n(p, 5);                                                              \
    }                                                                                              \
    extern "C" void __tsan_atomic##bits##_store(volatile T *p, T v, int)                           \
    {                                                                                              \
        __atomic_store_n(p, v, 5);                                                                 \
    }                                                                                              \
    extern "C" T __tsan_atomic##bits##_exchange(volatile T *p, T v, int)                           \
    {                                                                                              \
        return __atomic_exchange_n(p, v, 5);                                                       \
    }                                                                                              \
    extern "C" T __tsan_atomic##bits##_fetch_add(volatile T *p, T v, int)                          \
    {                                                                                              \
        return __atomic_fetch_add(p, v, 5);                                                        \
    }                                                                                              \
    extern "C" T __tsan_atomic##bits##_fetch_sub(volatile T *p, T v, int)                          \
    {                                                                                              \
        return __atomic_fetch_sub(p, v, 5);                                                        \
    }                                                                                              \
    extern "C" bool __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *old, T v, int, \
                                                                  int)                             \
    {                                                                                              \
        return __atomic_compare_exchange_n(p, old, v, false, 5, 5);                                \
    }
ATOMICS(8, uint8_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

extern "C" {
void __tsan_init() { emu::instrumented = true; }
void __tsan_vptr_update(void *, void *) {}
void __tsan_vptr_read(void *) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_read_range(void *p, size_t bytes)
{
    emu::touch(p, bytes, emu::READ, emu::self, __builtin_return_address(0));
}
void __tsan_write_range(void *p, size_t bytes)
{
    emu::touch(p, bytes, emu::WRITE, emu::self, __builtin_return_address(0));
}

struct source_location {
    const char *file;
    unsigned line, column;
};
struct type_mismatch {
    source_location at;
    const void *type;
    unsigned char log_alignment, kind;
};
void __ubsan_handle_type_mismatch_v1(const type_mismatch *m, void *p)
{
    emu::fault(cudaErrorMisalignedAddress, "%p is not a multiple of %d, at %s:%u", p,
               1 << m->log_alignment, m->at.file, m->at.line);
}
void __ubsan_handle_out_of_bounds(const source_location *at, size_t index)
{
    emu::fault(cudaErrorIllegalAddress, "array index %zd out of bounds, at %s:%u", (ssize_t) index,
               at->file, at->line);
}
// The GPU gives these a meaning, shifts everything out or clamps; C++ and the CPU do not.
void __ubsan_handle_shift_out_of_bounds(const source_location *at, size_t, size_t)
{
    emu::finding(__builtin_return_address(0), "shift by too many bits, at %s:%u", at->file,
                 at->line);
}
void __ubsan_handle_float_cast_overflow(const source_location *at, size_t)
{
    emu::finding(__builtin_return_address(0), "float too large for its integer type, at %s:%u",
                 at->file, at->line);
}
} // extern "C"
