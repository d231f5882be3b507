// SPDX-License-Identifier: MIT
// Each kernel of sm_90a beside the one that it takes the place of: alike, it is used; with a fault,
// or where the driver or the device will not have it, the other one is, and a warning says so. A
// copy that does not come all the way leaves the kernel out at open, and fails a step later on.
#include <math.h>
#include <string.h>

#include "backend.h"
#include "device/queue.h"
#include "emu.h"
#include "ops/backends.h"

#include "../expect.h"
#include "heard.h"

enum fault {
    NONE, OTHER_SWIZZLE, OTHER_ROWS, OTHER_ROWS_OF_64, REFUSED, NO_MAPS, NOT_LAUNCHED, FEWER_ROWS,
    NUM_FAULTS
};

static enum fault fault;

// ---- what the backend asks of the driver and of the runtime

static CUresult make_map(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
                         const cuuint64_t *size, const cuuint64_t *stride, const cuuint32_t *box,
                         const cuuint32_t *step, CUtensorMapInterleave interleave,
                         CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                         CUtensorMapFloatOOBfill fill)
{
    // Boxes of 64 rows are of keys and values of 256 channels.
    const bool is_further = fault == OTHER_ROWS || (fault == OTHER_ROWS_OF_64 && box[1] == 64);
    char *first = (char *) base + (is_further ? stride[0] : 0);
    const cuuint32_t fewer[] = { box[0], box[1] - 1, box[2] };
    if (fault == REFUSED)
        return CUDA_ERROR_INVALID_VALUE;
    if (fault == FEWER_ROWS) // a copy of it brings less than the kernel waits for
        box = fewer;
    if (fault == OTHER_SWIZZLE)
        swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
    return cuTensorMapEncodeTiled(map, type, rank, first, size, stride, box, step, interleave,
                                  swizzle, promotion, fill);
}

cudaError_t __real_cudaGetDriverEntryPointByVersion(const char *symbol, void **entry,
                                                    unsigned version, unsigned long long flags,
                                                    enum cudaDriverEntryPointQueryResult *found);
cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char *symbol, void **entry,
                                                    unsigned version, unsigned long long flags,
                                                    enum cudaDriverEntryPointQueryResult *found);
cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char *symbol, void **entry,
                                                    unsigned version, unsigned long long flags,
                                                    enum cudaDriverEntryPointQueryResult *found)
{
    const bool is_map = !strcmp(symbol, "cuTensorMapEncodeTiled");
    const cudaError_t error =
        __real_cudaGetDriverEntryPointByVersion(symbol, entry, version, flags, found);
    if (is_map && fault == NO_MAPS)
        *entry = NULL, *found = cudaDriverEntryPointSymbolNotFound;
    else if (is_map)
        *entry = (void *) make_map;
    return error;
}

// The one kernel that asks for so much shared memory: over values of 64 channels.
cudaError_t __real_cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute a, int value);
cudaError_t __wrap_cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute a, int value);
cudaError_t __wrap_cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute a, int value)
{
    if (fault == NOT_LAUNCHED && value > 220 << 10)
        return cudaErrorInvalidValue;
    return __real_cudaFuncSetAttribute(kernel, a, value);
}

// What is told of the twins; which is known by whether they are used, and by the fault.
static void check_told(const struct sam_queue *q, const char *name)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    expect(q->num_twins == (fault == NO_MAPS ? 0 : SAM_CUDA_NUM_WGMMA), "%s: %d twins", name,
           q->num_twins);
    expect(q->wgmma == (fault == NONE), "%s: wgmma %d", name, q->wgmma);
    for (int i = 0; i < q->num_twins; i++) {
        const struct sam_twin *t = &q->twins[i];
        const bool ran = fault != REFUSED && fault != FEWER_ROWS
                         && (fault != NOT_LAUNCHED || cuda->has_wgmma[i]);
        printf("%s: %s, %s, distance %g\n", name, t->kernel, t->is_used ? "used" : "not used",
               (double) t->distance);
        expect(t->is_used == cuda->has_wgmma[i], "%s: %s", name, t->kernel);
        expect(ran == !isnan(t->distance), "%s: %s: %g", name, t->kernel, (double) t->distance);
        expect(!ran || t->is_used == (t->distance <= 0x1p-7f), "%s: %g", name,
               (double) t->distance);
        expect(!t->is_used || t->distance > 0, "%s: the very same results", name);
    }
}

// Attention as a tracker's memory attention asks for it; what becomes of it.
static int attend(struct sam_queue *q, struct sam_error *error)
{
    enum { QUERIES = 128, KEYS = 200, DK = 256, DV = 64 };
    uint16_t *p = sam_queue_alloc(q, 2 * (2 * QUERIES + KEYS) * (DK + DV));
    const struct sam_tensor query = { p, SAM_BF16, 1, 1, QUERIES, DK };
    const struct sam_tensor key = { p + QUERIES * DK, SAM_BF16, 1, 1, KEYS, DK };
    const struct sam_tensor value = { p + (QUERIES + KEYS) * DK, SAM_BF16, 1, 1, KEYS, DV };
    uint16_t *to = p + (QUERIES + KEYS) * DK + KEYS * DV;
    sam_op_attention(q, &(struct sam_attention) {
        .dst = { to, SAM_BF16, 1, 1, QUERIES, DV }, .q = query, .k = key, .v = value, .heads = 1,
        .scale = 1.0f / 16 });
    const int status = sam_queue_finish(q, error);
    sam_queue_free(q, p);
    return status;
}

// Copies that stay away after open: the step has no masks but an error, and the next one works.
static void check_later(const struct sam_log *log)
{
    struct sam_error error = { "" };
    struct sam_queue q;

    fault = NONE;
    expect(!sam_queue_open(&q, SAM_BACKEND_CUDA, -1, SAM_PRECISION_BF16, 1, log, &error), "%s",
           error.text);
    expect(!attend(&q, &error), "attention: %s", error.text);
    fault = FEWER_ROWS;
    expect(attend(&q, &error) == SAM_EDEVICE, "attention without its copies");
    printf("%s\n", error.text);
    expect(strstr(error.text, "did not come") && strstr(error.text, "SAMTRACK_CUDA_WITHOUT=wgmma"),
           "%s", error.text);
    fault = NONE;
    expect(!attend(&q, &error), "attention after it: %s", error.text);
    expect(strstr(emu_findings(), "mbarrier_try_wait"), "nothing waited: %s", emu_findings());
    emu_forget();
    sam_queue_close(&q);
}

int main(void)
{
    static const struct {
        const char *name, *words;
        bool is_used[SAM_CUDA_NUM_WGMMA];
        int warnings;
    } wanted[NUM_FAULTS] = {
        [NONE]             = { "no fault", "", { true, true, true, true, true }, 0 },
        [OTHER_SWIZZLE]    = { "another swizzle", "it is off by", { false }, 5 },
        [OTHER_ROWS]       = { "rows further on", "it is off by", { false }, 5 },
        [OTHER_ROWS_OF_64] = { "keys further on", "values of 256",
                               { true, false, true, true, true }, 1 },
        [REFUSED]          = { "refused maps", "cannot be prepared", { false }, 5 },
        [NO_MAPS]          = { "a driver without maps", "", { false }, 0 },
        [NOT_LAUNCHED]     = { "a refused kernel", "values of 64",
                               { false, true, true, true, true }, 1 },
        [FEWER_ROWS]       = { "copies that stay away", "did not come", { false }, 5 },
    };
    const struct sam_log log = { hear, NULL };
    for (fault = NONE; fault < NUM_FAULTS; fault++) {
        const char *name = wanted[fault].name;
        struct sam_error error = { "" };
        struct sam_queue q;
        warnings = 0;
        expect(!sam_queue_open(&q, SAM_BACKEND_CUDA, -1, SAM_PRECISION_BF16, 1, &log, &error),
               "%s: %s", name, error.text);
        if (!q.priv)
            continue;
        for (int i = 0; i < SAM_CUDA_NUM_WGMMA; i++)
            expect(sam_cuda(&q)->has_wgmma[i] == wanted[fault].is_used[i], "%s: number %d is %s",
                   name, i, sam_cuda(&q)->has_wgmma[i] ? "used" : "not used");
        expect(warnings == wanted[fault].warnings, "%s: %d warnings", name, warnings);
        if (warnings) {
            printf("%s: %s\n", name, last_warning);
            expect(strstr(last_warning, wanted[fault].words)
                       && strstr(last_warning, "emulated sm_90")
                       && strstr(last_warning, "attend_wgmma_kernel"),
                   "%s: %s", name, last_warning);
        }
        check_told(&q, name);
        sam_queue_close(&q);
        if (fault == FEWER_ROWS) // the emulator tells of the barrier, too
            emu_forget();
    }
    check_later(&log);
    return expect_status();
}
