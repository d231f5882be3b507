// SPDX-License-Identifier: MIT
// Times of operations by events around each, and a count of who made the products. The linker puts
// the functions here in the place of the backend's (--wrap): nothing of it is in the library.
#include "op_times.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "costs.h"
#include "op_kinds.h"

enum {
    PAIRS  = 8192, // of events, in one frame
    CHUNK  = 64,   // operations that are queued before the first of them may run
    GATE_MS = 200, // after which they may anyway
    SHAPES = 64,   // of large products that were not the library's
};

static struct {
    bool on;
    int frames, num_pairs, since_gate;
    struct op_kinds kinds;
    int kind_of[PAIRS];
    cudaEvent_t from[PAIRS], to[PAIRS];
    bool is_library; // the product of the operation that is being called
} times;

static struct {
    bool is_open;
    double mib; // of workspace
    long library, own;
    char shape[SHAPES][64];
    int num_shapes;
} products;

// ---- a gate in the stream
//
// Small kernels take less time than their launch. What a pair of events measures would be the wait
// for the next launch; so operations are held back until a chunk of them is queued.

static atomic_int gate_open; // the number of the last gate that is
static int gate_shut;        // and of the last that was put in the stream

static void CUDART_CB hold(void *number)
{
    const struct timespec nap = { 0, 2000 };
    struct timespec began, at;

    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        if (atomic_load(&gate_open) >= (int) (intptr_t) number)
            return;
        nanosleep(&nap, NULL);
        clock_gettime(CLOCK_MONOTONIC, &at);
    } while ((at.tv_sec - began.tv_sec) * 1000 + (at.tv_nsec - began.tv_nsec) / 1000000 < GATE_MS);
}

static void open_gate(void)
{
    atomic_store(&gate_open, gate_shut);
    times.since_gate = 0;
}

static void pass_gate(cudaStream_t stream)
{
    if (times.since_gate++ % CHUNK)
        return;
    open_gate();
    times.since_gate = 1;
    cudaLaunchHostFunc(stream, hold, (void *) (intptr_t) ++gate_shut);
}

static struct {
    bool on;
    long calls;
    double ms;
} waits;

// The only call by which the backend waits.
cudaError_t __real_cudaStreamSynchronize(cudaStream_t stream);
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream);
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream)
{
    struct timespec from, to;
    open_gate();
    clock_gettime(CLOCK_MONOTONIC, &from);
    const cudaError_t error = __real_cudaStreamSynchronize(stream);
    clock_gettime(CLOCK_MONOTONIC, &to);
    waits.calls += waits.on;
    waits.ms += waits.on * ((double) (to.tv_sec - from.tv_sec) * 1e3
                            + (double) (to.tv_nsec - from.tv_nsec) * 1e-6);
    return error;
}

void op_times_count_waits(bool on)
{
    waits.on = on;
}

void op_times_write_waits(FILE *f, int frames)
{
    fprintf(f, "{\"per_frame\": %.2f, \"ms\": %.4f}", (double) waits.calls / frames,
            waits.ms / frames);
}

// ---- products

bool __real_sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p);
bool __wrap_sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p);
bool __wrap_sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p)
{
    const bool is_library = __real_sam_blaslt_linear(q, p);
    const double tiles = (double) p->dst.h * p->dst.w * p->dst.c / (64 * 64);
    char shape[64];

    products.is_open |= sam_cuda(q)->blaslt != NULL;
    products.mib = (double) sam_cuda(q)->blaslt_bytes / (1 << 20);
    products.library += is_library;
    products.own += !is_library;
    times.is_library = is_library;
    if (is_library || tiles < sam_cuda(q)->num_sms)
        return is_library;
    snprintf(shape, sizeof(shape), "%zux%d_to_%d %s%s", sam_rows(&p->src), p->src.c, p->dst.c,
             p->act == SAM_ACT_GELU ? "gelu " : p->act ? "act " : "", sam_type_name(p->dst.type));
    for (int i = 0; i < products.num_shapes; i++)
        if (!strcmp(products.shape[i], shape))
            return is_library;
    if (products.num_shapes < SHAPES)
        strcpy(products.shape[products.num_shapes++], shape);
    return is_library;
}

// The file that this process has open; "" if there is none.
static void find_library(char *path, size_t size)
{
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "r");

    *path = 0;
    while (maps && fgets(line, sizeof(line), maps)) {
        const char *name = strchr(line, '/');
        if (!name || !strstr(name, "libcublasLt.so"))
            continue;
        snprintf(path, size, "%.*s", (int) strcspn(name, "\n\"\\"), name);
        break;
    }
    if (maps)
        fclose(maps);
}

void op_times_write_products(FILE *f)
{
    char path[512];

    if (!products.library && !products.own) {
        fputs("null", f);
        return;
    }
    find_library(path, sizeof(path));
    fprintf(f, "{\"open\": %s, \"file\": \"%s\", \"workspace_mib\": %g, "
            "\"library\": %ld, \"own\": %ld, \"own_large\": [",
            products.is_open ? "true" : "false", path, products.mib, products.library,
            products.own);
    for (int i = 0; i < products.num_shapes; i++)
        fprintf(f, "%s\"%s\"", i ? ", " : "", products.shape[i]);
    fputs("]}", f);
}

// ---- operations

// The entry of an operation, with what it is a sum over; NULL: there are too many.
static struct op_kind *kind_of(const char *name, const void *contract)
{
    char more[64] = "";

    if (now.k)
        snprintf(more, sizeof(more), ", %ld rows over %ld%s", now.rows, now.k,
                 now.exact ? ", f32" : "");
    return op_kinds_find(&times.kinds, name, contract, more);
}

// The pair of events of the operation that begins; -1: it is not timed.
static int begin_pair(struct sam_queue *q, const char *name, const void *contract)
{
    const cudaStream_t stream = sam_cuda_stream(q);
    struct op_kind *k = times.on && times.num_pairs < PAIRS ? kind_of(name, contract) : NULL;

    if (!k)
        return -1;
    const int i = times.num_pairs++;
    if (!times.from[i] && (cudaEventCreate(&times.from[i]) || cudaEventCreate(&times.to[i])))
        return times.num_pairs--, -1;
    times.kind_of[i] = (int) (k - times.kinds.kind);
    k->flop += now.flop;
    k->bytes += now.read + now.written;
    k->calls++;
    times.is_library = false;
    pass_gate(stream);
    cudaEventRecord(times.from[i], stream);
    return i;
}

static void end_pair(struct sam_queue *q, int i)
{
    if (i < 0)
        return;
    cudaEventRecord(times.to[i], sam_cuda_stream(q));
    times.kinds.kind[times.kind_of[i]].is_library |= times.is_library;
}

const struct sam_ops *__real_sam_cuda_ops(void);

#define TIMED_cuda(name)                                                        \
    static void timed_##name(struct sam_queue *q, const struct sam_##name *p)   \
    {                                                                           \
        if (times.on)                                                           \
            find_cost_##name(q, p);                                             \
        const int pair = begin_pair(q, #name, p);                               \
        __real_sam_cuda_ops()->name(q, p);                                      \
        end_pair(q, pair);                                                      \
    }
#define TIMED_none(name)
#define TIMED(name, cpu, cuda) TIMED_##cuda(name)
SAM_OPS(TIMED)

const struct sam_ops *__wrap_sam_cuda_ops(void);
const struct sam_ops *__wrap_sam_cuda_ops(void)
{
    static struct sam_ops table;
    table = *__real_sam_cuda_ops();
#define ENTRY_cuda(name) table.name = timed_##name;
#define ENTRY_none(name)
#define ENTRY(name, cpu, cuda) ENTRY_##cuda(name)
    SAM_OPS(ENTRY)
    return &table;
}

bool op_times_start(void)
{
    times.on = true;
    return true;
}

void op_times_frame(void)
{
    for (int i = 0; i < times.num_pairs; i++) {
        float ms = 0;
        if (!cudaEventElapsedTime(&ms, times.from[i], times.to[i]))
            times.kinds.kind[times.kind_of[i]].ms += ms;
    }
    cudaGetLastError(); // an event that was never reached is no failure of the next launch
    times.num_pairs = 0;
    times.frames++;
}

void op_times_write(FILE *f)
{
    op_kinds_write(&times.kinds, f, times.frames);
}

// ---- frames on the device

void *op_times_copy(const void *src, size_t bytes)
{
    void *data = NULL;

    if (cudaMalloc(&data, bytes))
        return NULL;
    if (!cudaMemcpy(data, src, bytes, cudaMemcpyHostToDevice))
        return data;
    cudaFree(data);
    return NULL;
}

void op_times_free(void *data)
{
    cudaFree(data);
}
