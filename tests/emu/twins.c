// Each kernel of sm_90a beside the one that it takes the place of: alike, it is used; with a fault,
// or where the driver or the device will not have it, the other one is, and a warning says so.
#include <string.h>

#include "backend.h"
#include "device/queue.h"
#include "ops/backends.h"

#include "../expect.h"

enum fault {
    NONE, OTHER_SWIZZLE, OTHER_ROWS, OTHER_ROWS_OF_64, REFUSED, NO_MAPS, NOT_LAUNCHED, NUM_FAULTS
};

static enum fault fault;
static int warnings;
static char last_warning[512];

static void count_warnings(void *priv, enum sam_log_level level, const char *line)
{
    (void) priv;
    if (level == SAM_LOG_WARNING) {
        warnings++;
        snprintf(last_warning, sizeof(last_warning), "%s", line);
    }
}

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
    if (fault == REFUSED)
        return CUDA_ERROR_INVALID_VALUE;
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

int main(void)
{
    static const struct {
        const char *name, *words;
        bool is_used[SAM_CUDA_NUM_WGMMA];
        int warnings;
    } wanted[NUM_FAULTS] = {
        [NONE]             = { "no fault", "", { true, true }, 0 },
        [OTHER_SWIZZLE]    = { "another swizzle", "it is off by", { false, false }, 2 },
        [OTHER_ROWS]       = { "rows further on", "it is off by", { false, false }, 2 },
        [OTHER_ROWS_OF_64] = { "keys further on", "values of 256", { true, false }, 1 },
        [REFUSED]          = { "refused maps", "cannot be prepared", { false, false }, 2 },
        [NO_MAPS]          = { "a driver without maps", "", { false, false }, 0 },
        [NOT_LAUNCHED]     = { "a refused kernel", "values of 64", { false, true }, 1 },
    };
    const struct sam_log log = { count_warnings, NULL };
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
        sam_queue_close(&q);
    }
    return expect_status();
}
