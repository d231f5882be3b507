// SPDX-License-Identifier: MIT
// What the parts of the emulator share. Kernels see this through
// cuda_runtime.h; a test needs only the C calls at the end.
#ifndef EMU_H
#define EMU_H

#include "cuda.h"

#ifdef __cplusplus
#include <stdio.h>

#include <functional>
#include <string>
#include <vector>

// Where a device function was called, for reports.
#define EMU_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
// For code whose memory accesses are the emulator's own, not the kernel's.
#define EMU_RAW __attribute__((no_sanitize("thread")))

namespace emu {

enum { MAX_THREADS = 1024, MAX_SHARED = 227 << 10, STACK = 256 << 10, PAGE = 4096 };

// ---- emu.cpp: threads and what they do together

struct launch {
    const char *name;
    const void *kernel;
    dim3 grid, block;
    size_t shared;
    void (*call)(const void *args);
    std::string args; // the argument values, as bytes
    bool overlaps;    // the launch before it: threads wait for its end in await_earlier()
};
extern const launch *running; // null outside a kernel
extern uint3 block_index;
extern unsigned block_threads;
extern unsigned self;         // the running thread's number in its block, MAX_THREADS if none
extern const char *stack_low; // of that thread

// Programmatic dependent launch. The launches of a stream still run one after the other; but a
// thread that touches device memory before this, or ends without it, is found.
void await_earlier();
void expect_begun(const char *what);

extern __thread char mine; // at an address of each host thread's own
extern const char *runner; // the one's that runs the kernel
// Called from a kernel, not from a host thread beside it.
inline bool on_device() { return running && self < MAX_THREADS && runner == &mine; }

// Wait for every live lane of the mask to call this with the same fn, then let
// the last one run fn over all their operands. An aligned instruction must also
// be the same one in the source.
typedef void combine(void *const *operand, unsigned members);
void meet(const char *what, unsigned mask, void *operand, combine *fn, const char *file, int line,
          bool aligned = false);
// Barrier of `expected` threads, 0 for all live ones. Returns how many gave true.
int barrier(const char *what, int id, unsigned expected, bool value, bool *all, const char *file,
            int line);
void yield();       // let any other thread go on first
void maybe_yield(); // in random order only, and seldom

void copy_async(void *dst, const void *src, unsigned bytes, const char *file, int line);
void copy_commit();
void copy_wait(int pending); // negative: for all, committed or not
void ldmatrix(uint32_t *r, int count, bool transposed, const void *row, const char *file, int line);
void mma_m16n8k16(float *d, const uint32_t *a, const uint32_t *b, bool bf16, const char *file,
                  int line);

// ---- hopper.cpp: what runs beside the threads

// The address of dynamic shared memory as its instructions know it.
uint32_t shared_address(const void *p);
void mbarrier_init(uint64_t *b, int arrivals, const char *file, int line);
void mbarrier_arrive(uint64_t *b, unsigned bytes, const char *file, int line);
bool mbarrier_try_wait(uint64_t *b, unsigned parity, const char *file, int line);
void tensor_copy(void *dst, const CUtensorMap *map, const int *at, int rank, uint64_t *b,
                 const char *file, int line);
struct product { // of a warpgroup: m64 n k16, BF16 factors, F32 sums
    float *d;
    int n;
    const uint32_t *a; // registers; null: in shared memory
    uint64_t from_a, from_b;
    bool add, a_transposed, b_transposed;
};
void wgmma(const product &p, const char *file, int line);
void wgmma_fence(const char *file, int line);
void wgmma_commit();
void wgmma_wait(int pending);
bool land_copy(); // one that is under way; false: there is none
void begin_hopper();
void end_hopper();            // of a block
void exit_hopper(unsigned t); // of a thread

// ---- emu.cpp once more

void sleep_on(const void *p, const char *what, const char *file, int line); // until it is woken
void wake(const void *p);
unsigned pick(unsigned n); // one of n: by the order, the first, the last or any
bool seldom();             // in random order only, one time in four

void run_grid(const launch &l);
// End the launch with this error: at once, or after the running block.
[[noreturn]] void fault(cudaError_t error, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void stop(cudaError_t error, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// ---- check.cpp: what is touched, when, by whom

// ASYNC, LAND: a cp.async is issued, has arrived. BULK: of copies and products that run on their
// own, which see what a thread wrote behind its fence.proxy.async only.
enum access { READ, WRITE, ATOMIC, ASYNC, LAND, BULK_READ, BULK_LAND };
void touch(const void *p, size_t bytes, access kind, unsigned thread, const void *pc);
void happens(
    const unsigned *lanes); // a sync among these threads, one mask per warp, or null for the block
void fence_proxy(unsigned thread);
void fence_device(unsigned thread);
using clocks = std::vector<uint32_t>; // of each thread, the last sync that is heard of
void pass_on(clocks &to, unsigned thread);
void hear(const clocks &of, unsigned thread);
void begin_grid();
void begin_block();
void end_block();
void end_grid();
size_t shadow_bytes(size_t bytes);
void catch_signals();
void finding(const void *pc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// ---- runtime.cpp: memory and queues

struct memory {
    char *begin, *map; // map: the pages around it
    size_t bytes, mapped;
    bool live, pinned;
    void *shadow;
    CUcontext context; // that was current
};
bool in_arena(const void *p);
const memory *owner(const void *p);         // of an address in the arena; null if never allocated
bool inside(const void *p, size_t bytes);   // one live allocation
std::string describe(const void *p);
cudaError_t enqueue(cudaStream_t stream, std::function<void()> op);
cudaError_t submit(const launch &l, cudaStream_t stream);
cudaError_t set_error(cudaError_t error);
size_t shared_limit(const void *kernel);
void release_all(CUcontext context); // its memory and streams

// ---- driver.cpp

CUcontext current(); // of this thread; the primary one where it has none

// ---- plan.cpp: what would run, where EMU_PLAN is set

FILE *file_of(const char *variable); // of the environment, whose value is its name; null: not set
bool plans(); // nothing touches the device's memory then
void plan(const char *fmt, ...) __attribute__((format(printf, 1, 2))); // adds a line
void plan_launch(const launch &l);
std::string kernel_name(const void *kernel); // check.cpp; demangled

// ---- costs.cpp: what a launch costs, where EMU_COSTS is set or a test has asked

extern bool counts;
// pc: where in the code; null: it is counted by one of the others.
void cost_touch(const void *p, size_t bytes, access kind, unsigned thread, const void *pc,
                bool is_shared);
void cost_rows(const void *const *row, int count); // ldmatrix of `count` times 8 rows of 16 bytes
void cost_products(unsigned count);                // of 16 x 8 x 16
void cost_begin_grid();
void cost_end_block();
void cost_end_grid(size_t shared); // bytes of a block, static ones included

} // namespace emu

extern "C" {
#endif // __cplusplus

// Environment:
//   EMU_ORDER=forward, reverse, random or random:<seed>  order of threads and blocks
//   EMU_RACE=0              no race check
//   EMU_TIMEOUT=<seconds>   of processor time for one launch, 20 if not set, 0 for no limit
//   EMU_MEMORY=<bytes>      of the device
//   EMU_DEVICES=0           as on a machine without a GPU
//   EMU_DRIVER=<version>    e.g. 12020: with EMU_DEVICES=0, a driver too old for the toolkit
//   EMU_SM=80, 86, 89, 90   compute capability
//   EMU_SMS=<number>        multiprocessors, 4 if not set
//   EMU_CUBLASLT=0          cuBLASLt does not work
//   EMU_PLAN=<file>         nothing runs and no memory of the device is touched: launches, products
//                           of cuBLASLt, copies and captures are written there, a line each
//   EMU_COSTS=<file>        what each launch costs is written there: see costs.cpp
//   EMU_KERNELS=<file>     to which the kernels that ran are added at exit
//   EMU_EXIT=0              findings leave the exit status alone

// All findings so far, one per line, "" if none. Unless forgotten they make the
// process exit with status 86.
const char *emu_findings(void);
void emu_forget(void);
int emu_instrumented(void); // whether the compiler was told to watch every access
void emu_set_order(const char *order);

int emu_overlaps(cudaGraph_t graph); // launches in it that may begin before those ahead have ended
int emu_late_loads(void); // kernels that were launched before anyone asked for their attributes

// Of the last launch, once costs are counted: bytes of device memory; passes of shared memory, and
// those that bank conflicts add; products of 16 x 8 x 16 of tensor cores.
struct emu_cost {
    unsigned long long read, written, passes, conflicts, products;
};
void emu_count_costs(int on);
struct emu_cost emu_last_cost(void);

// Bytes copied since the start.
struct emu_copied {
    size_t to_device, to_host, within; // within the device
};
struct emu_copied emu_copied(void);

// A line of the program's own among those of EMU_PLAN.
void emu_plan(const char *line);

#ifdef __cplusplus
}
#endif
#endif // EMU_H
