// SPDX-License-Identifier: MIT
// Runs kernels. The threads of a block are fibers: each runs until it has to
// wait for others, then the next ready one goes on. Blocks run one by one.

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "emu.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

uint3 emu_threadIdx, emu_blockIdx;
dim3 emu_blockDim, emu_gridDim;
static long long switches;
long long clock64() { return switches; }

namespace emu {

const launch *running;
__thread char mine;
const char *runner;
uint3 block_index;
unsigned block_threads, self = MAX_THREADS;
const char *stack_low;

// ---- fibers

// Park the running fiber, leaving its stack pointer in *from, and resume the
// one parked at `to`. A new fiber is parked just ahead of its entry function.
extern "C" void emu_switch(void **from, void *to);

#if defined(__x86_64__) && !defined(EMU_UCONTEXT)
asm(".text\n.globl emu_switch\n.type emu_switch, @function\nemu_switch:\n"
    "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
    "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n"
    ".size emu_switch, .-emu_switch\n");
enum { FRAME = 8, ENTRY = 6 }; // in words: six registers, the entry, the entry's own return address
#elif defined(__aarch64__) && !defined(EMU_UCONTEXT)
asm(".text\n.globl emu_switch\n.type emu_switch, %function\nemu_switch:\n"
    "stp x19, x20, [sp, #-160]!\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n"
    "stp x25, x26, [sp, #48]\n stp x27, x28, [sp, #64]\n stp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n stp d12, d13, [sp, #128]\n stp d14, d15, "
    "[sp, #144]\n"
    "mov x9, sp\n str x9, [x0]\n mov sp, x1\n"
    "ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n ldp x25, x26, [sp, #48]\n ldp x27, x28, "
    "[sp, #64]\n"
    "ldp x29, x30, [sp, #80]\n ldp d8, d9, [sp, #96]\n ldp d10, d11, [sp, #112]\n ldp d12, d13, "
    "[sp, #128]\n"
    "ldp d14, d15, [sp, #144]\n ldp x19, x20, [sp], #160\n ret\n"
    ".size emu_switch, .-emu_switch\n");
enum { FRAME = 20, ENTRY = 11 }; // x30
#else
#undef EMU_UCONTEXT
#define EMU_UCONTEXT
} // namespace emu
#include <ucontext.h>
namespace emu {
extern "C" void emu_switch(void **from, void *to)
{
    ucontext_t here;
    *from = &here;
    swapcontext(&here, (ucontext_t *) to);
}
#endif

static void *new_fiber(char *top, void (*entry)())
{
#ifdef EMU_UCONTEXT
    ucontext_t *c = (ucontext_t *) (top - 2048);
    getcontext(c);
    c->uc_stack.ss_sp   = top - (STACK - PAGE);
    c->uc_stack.ss_size = STACK - PAGE - 2048;
    makecontext(c, entry, 0);
    return c;
#else
    void **sp = (void **) top - FRAME;
    memset(sp, 0, FRAME * sizeof(*sp));
    sp[ENTRY] = (void *) entry;
    return sp;
#endif
}

// ---- the block that runs

enum { COLOUR = PAGE / 32 }; // from where one lane's stack begins in a page to where the next one's does

enum { SCHEDULER = MAX_THREADS, WARPS = MAX_THREADS / 32, BARRIERS = 16 };

struct copy { // a cp.async under way
    char *dst;
    const char *src;
    unsigned bytes;
    int group;
    char was[16]; // the source when it was issued
};
struct alignas(64) thread { // of which a switch touches one line of the cache
    void *sp;
    const char *what, *file; // what it waits in, and where
    const void *on;          // what it sleeps on
    uint3 index;
    int line;
    unsigned mask;
    int groups; // of copies, committed
    bool begun; // the launch before this one has ended, as far as this thread knows
    std::vector<copy> copies;
};
struct meeting { // lanes of a warp on their way to the same collective
    const char *what;
    combine *fn;
    unsigned mask, arrived;
    int key;
    void *operand[32];
};
struct warp {
    unsigned alive, ready;
    int meetings;
    meeting met[32];
};
struct barrier_state {
    const char *what;
    unsigned expected, arrived, lanes[WARPS];
    int sum, result;
    bool all;
};

static char *stacks;
static thread threads[MAX_THREADS + 1]; // the last is the scheduler
static warp warps[WARPS];
static unsigned ready_warps, live;
static bool combining; // while the last lane works for all, no other may run
static barrier_state barriers[BARRIERS];
static std::string fault_text; // why the launch was stopped, "" while it goes well
static cudaError_t fault_error;

// ---- which thread runs next

static enum { FORWARD, REVERSE, RANDOM } order;
static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned) ((random_state >> 32) * n >> 32);
}

static unsigned choose(unsigned set, bool anyhow) // one of the set's bits
{
    if (order == RANDOM || anyhow) {
        const unsigned turn = random_below(32);
        return (__builtin_ctz(set >> turn | set << (-turn & 31)) + turn) & 31;
    }
    return order == FORWARD ? __builtin_ctz(set) : 31 - __builtin_clz(set);
}

unsigned pick(unsigned n)
{
    return order == RANDOM ? random_below(n) : order == FORWARD ? 0 : n - 1;
}

bool seldom() { return order == RANDOM && random_below(4) == 0; }

static unsigned next_thread(bool anyhow)
{
    while (!ready_warps && land_copy()) {} // as late as can be
    if (!ready_warps)
        return SCHEDULER;
    const bool stay = order != RANDOM && !anyhow && self < SCHEDULER && warps[self / 32].ready;
    const unsigned w = stay ? self / 32 : choose(ready_warps, anyhow);
    return 32 * w + choose(warps[w].ready, anyhow);
}

#ifdef __SANITIZE_ADDRESS__
static const void *main_low; // the scheduler's stack
static size_t main_bytes;

static void before_switch(void **fake, unsigned next)
{
    __sanitizer_start_switch_fiber(fake,
                                   next < SCHEDULER ? stacks + (size_t) next * STACK : main_low,
                                   next < SCHEDULER ? (size_t) STACK : main_bytes);
}

static void after_switch(void *fake)
{
    const void *low;
    size_t bytes;
    __sanitizer_finish_switch_fiber(fake, &low, &bytes);
    if (low < stacks || low >= stacks + (size_t) MAX_THREADS * STACK)
        main_low = low, main_bytes = bytes;
}
#else
#define before_switch(fake, next)
#define after_switch(fake)
#define ASAN_UNPOISON_MEMORY_REGION(p, bytes)
#endif

static void resume(unsigned next)
{
    const unsigned me = self;
    if (next == me)
        return;
    switches++;
    self          = next;
    emu_threadIdx = threads[next].index;
    stack_low     = next < SCHEDULER ? stacks + (size_t) next * STACK : nullptr;
    void *fake    = nullptr;
    (void) fake;
    before_switch(&fake, next);
    emu_switch(&threads[me].sp, threads[next].sp);
    after_switch(fake);
}

static void set_ready(unsigned w, unsigned lanes)
{
    warps[w].ready |= lanes;
    if (warps[w].ready)
        ready_warps |= 1u << w;
}

static void park()
{
    warp &w = warps[self / 32];
    w.ready &= ~(1u << self % 32);
    if (!w.ready)
        ready_warps &= ~(1u << self / 32);
    resume(next_thread(false));
}

void yield()
{
    if (on_device() && !combining)
        resume(next_thread(true));
}

void maybe_yield()
{
    if (order == RANDOM && random_below(64) == 0)
        yield();
}

static void set_fault(cudaError_t error, const char *fmt, va_list ap)
{
    char text[4096];
    vsnprintf(text, sizeof(text), fmt, ap);
    if (fault_text.empty()) // the first is the cause
        fault_text = text, fault_error = error;
}

void stop(cudaError_t error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_fault(error, fmt, ap);
    va_end(ap);
}

void fault(cudaError_t error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_fault(error, fmt, ap);
    va_end(ap);
    if (!on_device()) { // nothing to stop but the program
        finding(nullptr, "%s", fault_text.c_str());
        abort();
    }
    void *lost;
    before_switch(nullptr, SCHEDULER);
    emu_switch(&lost, threads[SCHEDULER].sp);
    __builtin_unreachable();
}

// ---- collectives

static void wait_in(const char *what, const char *file, int line, unsigned mask)
{
    thread &t = threads[self];
    t.what = what, t.file = file, t.line = line, t.mask = mask;
}

static bool release(unsigned wi, meeting &m)
{
    warp &w = warps[wi];
    if ((m.mask & w.alive) != m.arrived)
        return false;
    combining = true;
    m.fn(m.operand, m.arrived);
    combining = false;
    set_ready(wi, m.arrived);
    if (&m != &w.met[--w.meetings])
        m = w.met[w.meetings];
    return true;
}

void meet(const char *what, unsigned mask, void *operand, combine *fn, const char *file, int line,
          bool aligned)
{
    const unsigned wi = self / 32, bit = 1u << self % 32;
    warp &w = warps[wi];
    wait_in(what, file, line, mask);
    if (!(mask & bit))
        fault(cudaErrorLaunchFailure, "%s at %s:%d: the mask %08x lacks the calling lane", what,
              file, line, mask);

    const int key = aligned ? line : 0;
    const auto same = [&](const meeting &m) {
        return m.fn == fn && m.mask == mask && m.key == key &&
               (m.what == what || !strcmp(m.what, what));
    };
    int i = 0;
    while (i < w.meetings && !same(w.met[i]))
        i++;
    meeting &m = w.met[i];
    if (i == w.meetings) {
        w.meetings++;
        m.what = what, m.fn = fn, m.mask = mask, m.key = key, m.arrived = 0;
    }
    m.arrived |= bit;
    m.operand[self % 32] = operand;
    if (!release(wi, m))
        park();
    threads[self].what = nullptr;
}

static bool release(barrier_state &b)
{
    if (b.arrived < (b.expected ? b.expected : live))
        return false;
    for (unsigned t = 0; t < block_threads; t++) { // a warp must come to it as one
        const unsigned lanes = b.lanes[t / 32];
        const thread &one = threads[t],
                     &first = threads[t / 32 * 32 + __builtin_ctz(lanes | 1u << 31)];
        if (lanes >> t % 32 & 1 && (one.line != first.line || strcmp(one.file, first.file)))
            fault(cudaErrorLaunchFailure,
                  "divergent barrier: lanes of one warp are in %s at %s:%d and at %s:%d", b.what,
                  first.file, first.line, one.file, one.line);
    }
    happens(b.arrived == live ? nullptr : b.lanes);
    b.result = b.sum;
    b.all    = b.sum == (int) b.arrived;
    b.sum    = 0;
    b.arrived = 0;
    for (unsigned w = 0; w < WARPS; w++) {
        set_ready(w, b.lanes[w]);
        b.lanes[w] = 0;
    }
    return true;
}

int barrier(const char *what, int id, unsigned expected, bool value, bool *all, const char *file,
            int line)
{
    barrier_state &b = barriers[id];
    wait_in(what, file, line, 0);
    if (b.arrived && (b.expected != expected || strcmp(b.what, what)))
        fault(cudaErrorLaunchFailure, "%s at %s:%d while others wait in %s", what, file, line,
              b.what);
    b.what     = what;
    b.expected = expected;
    b.sum += value;
    b.arrived++;
    b.lanes[self / 32] |= 1u << self % 32;
    if (!release(b))
        park();
    threads[self].what = nullptr;
    *all = b.all;
    return b.result;
}

void sleep_on(const void *p, const char *what, const char *file, int line)
{
    wait_in(what, file, line, 0);
    threads[self].on = p;
    park();
    threads[self].on   = nullptr;
    threads[self].what = nullptr;
}

void wake(const void *p)
{
    for (unsigned t = 0; t < block_threads; t++)
        if (threads[t].on == p)
            set_ready(t / 32, 1u << t % 32);
}

// ---- asynchronous copies

void copy_async(void *dst, const void *src, unsigned bytes, const char *file, int line)
{
    const void *pc = __builtin_return_address(0);
    if ((uintptr_t) dst % 16 || (uintptr_t) src % 16)
        fault(cudaErrorMisalignedAddress, "cp.async at %s:%d from %p to %p", file, line, src, dst);
    copy c = { (char *) dst, (const char *) src, bytes, threads[self].groups, {} };
    if (bytes) {
        touch(src, bytes, READ, self, pc);
        memcpy(c.was, src, bytes);
    }
    touch(dst, 16, ASYNC, self, pc);
    memset(dst, 0xff, 16); // it may be written at any moment from now on
    threads[self].copies.push_back(c);
}

void copy_commit() { threads[self].groups++; }

void copy_wait(int pending)
{
    const void *pc = __builtin_return_address(0);
    thread &t = threads[self];
    size_t kept = 0;
    for (const copy &c : t.copies) {
        if (pending >= 0 && c.group >= t.groups - pending) {
            t.copies[kept++] = c;
            continue;
        }
        if (memcmp(c.was, c.src, c.bytes))
            finding(pc, "the source of a cp.async changed before its wait");
        touch(c.dst, 16, LAND, self, pc);
        memset(c.dst, 0, 16);
        memcpy(c.dst, c.was, c.bytes);
    }
    t.copies.resize(kept);
}

// ---- tensor cores: layouts as in the PTX manual, "Matrix Fragments for mma.m16n8k16"

struct ldmatrix_operand {
    uint32_t *r;
    int count;
    bool transposed;
    const char *row, *file;
    int line;
};

void ldmatrix(uint32_t *r, int count, bool transposed, const void *row, const char *file, int line)
{
    ldmatrix_operand mine = { r, count, transposed, (const char *) row, file, line };
    const auto run = [](void *const *operand, unsigned members) {
        const auto at = [operand](int l) -> ldmatrix_operand & {
            return *(ldmatrix_operand *) operand[l];
        };
        const ldmatrix_operand &any = at(__builtin_ctz(members));
        if (members != 0xffffffff)
            fault(cudaErrorLaunchFailure, "ldmatrix at %s:%d without the whole warp", any.file,
                  any.line);
        for (int l = 0; l < 8 * any.count; l++) {
            if ((uintptr_t) at(l).row % 16)
                fault(cudaErrorMisalignedAddress, "ldmatrix at %s:%d: lane %d gives row %p",
                      any.file, any.line, l, at(l).row);
            touch(at(l).row, 16, READ, (self & ~31u) + l, nullptr);
        }
        const void *rows[32];
        for (int l = 0; l < 32; l++)
            rows[l] = at(l).row;
        cost_rows(rows, any.count);
        for (int l = 0; l < 32; l++)
            for (int m = 0; m < any.count;
                 m++) { // lane l gets element (l / 4, 2 (l % 4)) and its right neighbour
                uint16_t pair[2];
                for (int i = 0; i < 2; i++) {
                    const int down = l / 4, right = 2 * (l % 4) + i;
                    const char *row = at(8 * m + (any.transposed ? right : down)).row;
                    memcpy(&pair[i], row + 2 * (any.transposed ? down : right), 2);
                }
                memcpy(&at(l).r[m], pair, 4);
            }
    };
    meet("ldmatrix", 0xffffffff, &mine, run, file, line, true);
}

struct mma_operand {
    float *d;
    const uint32_t *a, *b;
    bool is_bf16;
};

void mma_m16n8k16(float *d, const uint32_t *a, const uint32_t *b, bool is_bf16, const char *file,
                  int line)
{
    mma_operand mine = { d, a, b, is_bf16 };
    const auto run = [](void *const *operand, unsigned members) {
        if (members != 0xffffffff)
            fault(cudaErrorLaunchFailure, "mma without the whole warp");
        cost_products(1);
        float a[16][16], b[16][8], sum[16][8] = {};
        for (int l = 0; l < 32; l++) {
            const mma_operand &x = *(mma_operand *) operand[l];
            const auto half = [&](uint32_t pair, int i) {
                const uint16_t raw = (uint16_t) (pair >> 16 * i);
                return x.is_bf16 ? bf16::widen(raw) : fp16::widen(raw);
            };
            for (int r = 0; r < 4; r++)
                for (int i = 0; i < 2; i++) {
                    const int k = 2 * (l % 4) + i;
                    a[l / 4 + 8 * (r % 2)][k + 8 * (r / 2)] = half(x.a[r], i);
                    if (r < 2)
                        b[k + 8 * r][l / 4] = half(x.b[r], i);
                }
        }
        for (int m = 0; m < 16; m++)
            for (int k = 0; k < 16; k++)
                for (int n = 0; n < 8; n++)
                    sum[m][n] += a[m][k] * b[k][n];
        for (int l = 0; l < 32; l++)
            for (int r = 0; r < 4; r++)
                ((mma_operand *) operand[l])->d[r] += sum[l / 4 + 8 * (r / 2)][2 * (l % 4) + r % 2];
    };
    meet(is_bf16 ? "mma.bf16" : "mma.f16", 0xffffffff, &mine, run, file, line, true);
}

// ---- blocks and grids

void await_earlier()
{
    threads[self].begun = true;
}

void expect_begun(const char *what)
{
    if (!threads[self].begun)
        fault(cudaErrorLaunchFailure, "%s ahead of await_earlier()", what);
}

static void exit_thread()
{
    expect_begun("ends");
    exit_hopper(self);
    const unsigned wi = self / 32;
    warp &w = warps[wi];
    w.alive &= ~(1u << self % 32);
    live--;
    for (int i = 0; i < w.meetings;) // whoever waited for this lane need not any more
        i += !release(wi, w.met[i]);
    for (barrier_state &b : barriers)
        if (b.arrived)
            release(b);
    park();
}

static void run_thread()
{
    after_switch(nullptr);
    running->call(running->args.data());
    exit_thread();
}

// Every live thread waits and none can go on: say who waits where.
static std::string deadlock()
{
    std::string text = "deadlock:";
    const auto alive = [](unsigned t) {
        return t < block_threads && warps[t / 32].alive >> t % 32 & 1;
    };
    const auto alike = [&](unsigned a, unsigned b) {
        const thread &x = threads[a], &y = threads[b];
        return alive(a) && alive(b) && x.file == y.file && x.line == y.line && x.mask == y.mask &&
               x.what == y.what;
    };
    for (unsigned t = 0, first = 0; t < block_threads; t++) {
        if (t > 0 && !alike(t - 1, t))
            first = t;
        if (!alive(t) || alike(t, t + 1))
            continue;
        const thread &one = threads[t];
        char line[512], lanes[64] = "";
        if (one.mask)
            snprintf(lanes, sizeof(lanes), " for lanes %08x, alive are %08x", one.mask,
                     one.mask & warps[t / 32].alive);
        snprintf(line, sizeof(line), "\n    threads %u-%u wait in %s at %s:%d%s", first, t,
                 one.what, one.file, one.line, lanes);
        text += line;
    }
    return text;
}

// A wait on a barrier in shared memory ends after a while, whatever has come. A kernel that gives up
// then goes on, without an error as on a device, and a finding tells of it, once for a block; one
// that does not is in a deadlock.
enum { MOST_WAITS = 1000, WAIT_CLOCKS = 1 << 28 };
static bool end_waits(bool is_first)
{
    bool any = false;

    for (unsigned t = 0; t < block_threads; t++)
        any |= threads[t].on != nullptr;
    if (any && is_first) {
        const std::string text = std::string(running->name) + ": " + deadlock();
        const launch *const its = running;
        running = nullptr; // a finding of a launch ends it with an error
        finding(nullptr, "%s", text.c_str());
        running = its;
    }
    for (unsigned t = 0; t < block_threads; t++)
        if (threads[t].on)
            set_ready(t / 32, 1u << t % 32);
    switches += WAIT_CLOCKS;
    self = SCHEDULER;
    return any;
}

static void run_block()
{
    live = ready_warps = 0;
    combining = false;
    memset(barriers, 0, sizeof(barriers));
    for (warp &w : warps)
        w.alive = w.ready = 0, w.meetings = 0;
    for (unsigned t = 0; t < block_threads; t++) {
        // Not all at the same place of a page, or they would share a few lines of the cache.
        char *const top = stacks + (size_t) (t + 1) * STACK - t % 32 * COLOUR;
        ASAN_UNPOISON_MEMORY_REGION(top - PAGE,
                                    PAGE); // frames the last fiber here never returned from
        const unsigned x = emu_blockDim.x, y = emu_blockDim.y;
        threads[t].sp     = new_fiber(top, run_thread);
        threads[t].index  = { t % x, t / x % y, t / x / y };
        threads[t].groups = 0;
        threads[t].on     = nullptr;
        threads[t].begun  = !running->overlaps;
        threads[t].copies.clear();
        warps[t / 32].alive |= 1u << t % 32;
        set_ready(t / 32, 1u << t % 32);
    }
    live = block_threads;
    begin_block();
    begin_hopper();
    resume(next_thread(false));
    int waits = 0;
    for (; fault_text.empty() && live && waits < MOST_WAITS && end_waits(!waits);
         waits++)
        resume(next_thread(false));

    // Here when all have ended, or none can go on, or one has a fault.
    if (!fault_text.empty()) {
        const uint3 i = threads[self].index;
        char who[64];
        snprintf(who, sizeof(who), "thread (%u,%u,%u): ", i.x, i.y, i.z);
        fault_text.insert(0, who);
    }
    self      = SCHEDULER;
    stack_low = nullptr;
    if (fault_text.empty() && live)
        stop(cudaErrorLaunchTimeout, "%s", deadlock().c_str());
    if (fault_text.empty()) {
        if (!waits) // what has not come by now was told
            end_hopper();
        end_block();
    }
}

// Processor time, not the clock's: a busy machine is no deadlock.
static void set_watchdog(int seconds)
{
    const struct itimerval t = { {}, { seconds, 0 } };
    setitimer(ITIMER_PROF, &t, nullptr);
}

void run_grid(const launch &l)
{
    if (!stacks) {
        stacks = (char *) mmap(nullptr, (size_t) MAX_THREADS * STACK, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        for (size_t i = 0; i < MAX_THREADS; i++)
            mprotect(stacks + i * STACK, PAGE, PROT_NONE);
        catch_signals();
        if (const char *name = getenv("EMU_ORDER"))
            emu_set_order(name);
    }
    const char *seconds = getenv("EMU_TIMEOUT");
    const int limit = seconds ? atoi(seconds) : 20;
    set_watchdog(limit);
    running       = &l;
    runner        = &mine;
    emu_gridDim   = l.grid;
    emu_blockDim  = l.block;
    block_threads = l.block.x * l.block.y * l.block.z;
    begin_grid();

    const dim3 g = l.grid;
    const uint64_t blocks = (uint64_t) g.x * g.y * g.z,
                   turn = order == RANDOM ? random_below((unsigned) blocks) : 0;
    const uint64_t step =
        order == RANDOM && blocks % 7919 ? 7919 : 1; // a prime, so that each block has its turn
    for (uint64_t i = 0; i < blocks && fault_text.empty(); i++) {
        const uint64_t n = order == REVERSE ? blocks - 1 - i : (i * step + turn) % blocks;
        emu_blockIdx = block_index = { (unsigned) (n % g.x), (unsigned) (n / g.x % g.y),
                                       (unsigned) (n / g.x / g.y) };
        run_block();
    }
    if (!fault_text.empty()) {
        ASAN_UNPOISON_MEMORY_REGION(stacks, (size_t) MAX_THREADS * STACK);
        set_error(fault_error);
        finding(nullptr, "%s", fault_text.c_str());
        fault_text.clear();
    }
    end_grid();
    running = nullptr;
    if (limit)
        set_watchdog(0);
}

} // namespace emu


void emu_set_order(const char *name)
{
    using namespace emu;
    const char *colon = strchr(name, ':');
    order = !strncmp(name, "random", 6) ? RANDOM : !strcmp(name, "reverse") ? REVERSE : FORWARD;
    random_state =
        88172645463325252u + (colon ? 2654435761u * strtoull(colon + 1, nullptr, 10) : 0);
}
