// SPDX-License-Identifier: MIT
// switches MODEL: what SAMTRACK_CUDA_WITHOUT switches off is off, all else is as without it; what
// SAMTRACK_CUBLASLT_MIB asks for is there; and what neither knows is told once, as is a precision
// that the backend lacks.
#include <stdlib.h>

#include "backend.h"
#include "device/queue.h"
#include "emu.h"
#include "ops/backends.h"

#include "../track/scene.h"
#include "heard.h"

// ---- what the backend asks of the runtime

static int num_fixed, num_free; // kernels whose carve-out was set, and given back

cudaError_t __real_cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute a, int value);
cudaError_t __wrap_cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute a, int value);
cudaError_t __wrap_cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute a, int value)
{
    if (a == cudaFuncAttributePreferredSharedMemoryCarveout) {
        num_fixed += value == 100;
        num_free += value == -1;
    }
    return __real_cudaFuncSetAttribute(kernel, a, value);
}

static int num_captures;

cudaError_t __real_cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode m);
cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode m);
cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode m)
{
    num_captures++;
    return __real_cudaStreamBeginCapture(s, m);
}

// ---- one queue after the other

static int num_kernels(void)
{
    int count = 0;
    for (const struct sam_cuda_kernel *k = sam_cuda_kernels; k; k = k->next)
        count++;
    return count;
}

// A queue with these off; -1 where it cannot be opened.
static int open_without(struct sam_queue *q, const char *words)
{
    const struct sam_log log = { hear, NULL };
    struct sam_error error = { "" };

    setenv("SAMTRACK_CUDA_WITHOUT", words, 1);
    warnings = num_fixed = num_free = num_captures = 0;
    const int status = sam_queue_open(q, SAM_BACKEND_CUDA, -1, SAM_PRECISION_BF16, 1, &log, &error);
    setenv("SAMTRACK_CUDA_WITHOUT", "", 1); // it is read once
    expect(!status, "without '%s': %s", words, error.text);
    return status;
}

// bits: what the words switch off. was_fixed: by the queue before.
static void check_words(const char *words, unsigned bits, bool was_fixed)
{
    struct sam_queue q;

    if (open_without(&q, words))
        return;
    const struct sam_cuda *cuda = sam_cuda(&q);
    const bool wgmma = !(bits & SAM_CUDA_WGMMA);
    printf("without '%s': overlaps %d, wgmma %d, products %s, %d captures\n", q.without, q.overlaps,
           q.wgmma, q.products, num_captures);
    expect(!strcmp(q.without, words) && !warnings, "'%s', %d warnings: %s", q.without, warnings,
           last_warning);
    expect(q.overlaps == !(bits & SAM_CUDA_OVERLAP) && q.overlaps == cuda->overlaps, "%s: overlap",
           words);
    expect(q.wgmma == wgmma && q.num_twins == (wgmma ? SAM_CUDA_NUM_WGMMA : 0)
               && cuda->has_wgmma[SAM_CUDA_WGMMA_64] == wgmma, "%s: wgmma", words);
    expect(!strcmp(q.products, bits & SAM_CUDA_CUBLASLT ? "own" : "cublaslt")
               && !cuda->blaslt == !!(bits & SAM_CUDA_CUBLASLT), "%s: %s", words, q.products);
    expect(q.without_records == !!(bits & SAM_CUDA_GRAPHS), "%s: graphs", words);
    expect(num_captures == (bits & (SAM_CUDA_GRAPHS | SAM_CUDA_OVERLAP) ? 0 : 1), "%s: %d captures",
           words, num_captures);
    expect(num_fixed == (bits & SAM_CUDA_CARVEOUT ? num_kernels() : 0), "%s: %d fixed", words,
           num_fixed);
    expect(num_free == (was_fixed ? num_kernels() : 0) || bits & SAM_CUDA_CARVEOUT, "%s: %d free",
           words, num_free);
    sam_queue_close(&q);
}

static void check_unknown(void)
{
    struct sam_queue q;

    if (open_without(&q, "wgma,graphs,,fast"))
        return;
    printf("%s\n", last_warning);
    expect(!strcmp(q.without, "graphs"), "'%s'", q.without);
    expect(warnings == 1 && strstr(last_warning, "'wgma'")
               && strstr(last_warning, "overlap,wgmma,graphs,cublaslt,carveout"),
           "%d warnings: %s", warnings, last_warning);
    sam_queue_close(&q);
}

// ---- the workspace of cuBLASLt

static void check_workspace(const char *mib, size_t bytes, bool is_own, int told)
{
    struct sam_queue q;

    setenv("SAMTRACK_CUBLASLT_MIB", mib, 1);
    const int status = open_without(&q, "wgmma"); // the trial takes time
    unsetenv("SAMTRACK_CUBLASLT_MIB");
    if (status)
        return;
    const size_t more = sam_cuda_memory_bytes(&q);
    expect(sam_cuda(&q)->blaslt_bytes == bytes, "'%s': %zu bytes", mib,
           sam_cuda(&q)->blaslt_bytes);
    expect(warnings == told, "'%s': %d warnings: %s", mib, warnings, last_warning);
    if (told)
        printf("%s\n", last_warning);
    sam_queue_close(&q);
    open_without(&q, "wgmma");
    expect(more - sam_cuda_memory_bytes(&q) == (is_own ? bytes : 0), "'%s': %zu bytes more", mib,
           more - sam_cuda_memory_bytes(&q));
    sam_queue_close(&q);
}

// ---- a precision

static void check_int8(void)
{
    const struct sam_log log = { hear, NULL };
    struct sam_error error = { "" };
    struct sam_queue q;

    setenv("SAMTRACK_CUDA_WITHOUT", "wgmma", 1); // the trial takes time
    warnings = 0;
    const int status =
        sam_queue_open(&q, SAM_BACKEND_CUDA, -1, SAM_PRECISION_INT8, 1, &log, &error);
    expect(!status, "int8: %s", error.text);
    if (status)
        return;
    expect(warnings == 1
               && strstr(last_warning, "'int8': the backend 'cuda' has none, it takes 'bf16'")
               && !strcmp(sam_queue_precision(&q), "bf16"),
           "int8 is %s, %d warnings: %s", sam_queue_precision(&q), warnings, last_warning);
    sam_queue_close(&q);
}

// ---- a tracker

static void check_tracker(const char *model)
{
    struct sam_params p = scene_params(model);
    struct sam_info info = SAM_INFO_INIT;
    struct scene s;

    p.backend = SAM_BACKEND_CUDA;
    p.precision = SAM_PRECISION_BF16;
    setenv("SAMTRACK_CUDA_WITHOUT", "graphs,overlap", 1);
    sam_tracker *t = scene_open(&p);
    give_mask(t, 0, 1);
    for (int f = 0; f < 2; f++)
        step(t, &s, f);
    sam_tracker_info(t, &info, NULL);
    expect(!info.graphs && !info.graph_replays && !info.graph_misses, "%d graphs", info.graphs);
    expect(!info.overlaps && info.wgmma && info.num_twins == SAM_CUDA_NUM_WGMMA
               && !strcmp(info.without, "overlap,graphs"), "without '%s'", info.without);
    sam_tracker_close(&t);
    p.backend = SAM_BACKEND_CPU;
    p.precision = SAM_PRECISION_FP32;
    t = scene_open(&p);
    sam_tracker_info(t, &info, NULL);
    expect(!info.overlaps && !info.wgmma && !info.num_twins && !info.twins && !*info.without,
           "of a CPU: without '%s'", info.without);
    sam_tracker_close(&t);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *words;
        unsigned bits;
    } cases[] = {
        { "", 0 },
        { "overlap", SAM_CUDA_OVERLAP },
        { "carveout", SAM_CUDA_CARVEOUT },
        { "wgmma", SAM_CUDA_WGMMA },
        { "graphs", SAM_CUDA_GRAPHS },
        { "cublaslt", SAM_CUDA_CUBLASLT },
        { "overlap,wgmma,graphs,cublaslt,carveout", 31 },
        { "", 0 },
    };
    const int count = sizeof(cases) / sizeof(cases[0]);
    bool was_fixed = false; // once set, each queue says what it wants

    for (int i = 0; i < count; i++) {
        check_words(cases[i].words, cases[i].bits, was_fixed);
        was_fixed |= cases[i].bits & SAM_CUDA_CARVEOUT;
    }
    check_unknown();
    check_workspace("", SAM_CUDA_WORKSPACE, false, 0);
    check_workspace("8", 8 << 20, false, 0);
    check_workspace("32", 32 << 20, true, 0);
    check_workspace("32 MiB", SAM_CUDA_WORKSPACE, false, 1);
    check_workspace("-1", SAM_CUDA_WORKSPACE, false, 1);
    check_int8();
    check_tracker(argc > 1 ? argv[1] : "");
    return expect_status();
}
