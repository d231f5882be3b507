// SPDX-License-Identifier: MIT
// Kernels are loaded at open, all of them: so no frame loads one. Prints where they are, for
// loaded.py, which knows all that the program has.
#include <string.h>

#include "backend.h"
#include "device/queue.h"
#include "emu.h"
#include "ops/backends.h"

#include "../expect.h"
#include "heard.h"

int main(int argc, char **argv);

static int fail_from, fail_to, asked; // calls that fail
static int old_at = -1;               // the call that finds a kernel of an older device

cudaError_t __real_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel);
cudaError_t __wrap_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel);
cudaError_t __wrap_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
    const int call = asked++;

    if (call >= fail_from && call < fail_to)
        return cudaErrorMemoryAllocation;
    const cudaError_t error = __real_cudaFuncGetAttributes(attributes, kernel);
    if (call == old_at)
        attributes->ptxVersion = 89;
    return error;
}

static void open_queue(struct sam_queue *q)
{
    const struct sam_log log = { hear, NULL };
    struct sam_error error = { "" };

    warnings = asked = 0;
    expect(!sam_queue_open(q, SAM_BACKEND_CUDA, -1, SAM_PRECISION_BF16, 1, &log, &error), "%s",
           error.text);
}

// Copies of an odd number of numbers at an odd place, which nothing at open makes.
static void copy_odd(struct sam_queue *q)
{
    struct sam_error error = { "" };
    float *numbers = sam_queue_alloc(q, 64 * sizeof(float));
    const struct sam_tensor from = { numbers + 1, SAM_F32, 1, 1, 1, 7 };
    const struct sam_tensor to = { numbers + 33, SAM_F32, 1, 1, 1, 7 };

    sam_op_copy(q, &(struct sam_copy) { .dst = to, .src = from });
    expect(!sam_queue_finish(q, &error), "%s", error.text);
    sam_queue_free(q, numbers);
}

int main(int argc, char **argv)
{
    struct sam_queue q;
    int count = 0, driver = 0;

    (void) argc, (void) argv;
    for (const struct sam_cuda_kernel *k = sam_cuda_kernels; k; k = k->next, count++)
        printf("kernel %td\n", (const char *) k->entry - (const char *) (void *) main);

    fail_from = 0, fail_to = count; // none can be loaded: each is at its first launch
    open_queue(&q);
    expect(asked == count && warnings == 1 && strstr(last_warning, "0 of"), "%d asked: %s", asked,
           last_warning);
    printf("%s\n", last_warning);
    expect(!sam_cuda(&q)->overlaps, "launches overlap, and no kernel is known");
    const int before = emu_late_loads();
    copy_odd(&q);
    expect(emu_late_loads() == before + 1, "the copy's kernel was loaded already");
    sam_queue_close(&q);

    fail_to = 0;
    open_queue(&q);
    expect(asked == count && !warnings, "%d of %d asked, %d warnings", asked, count, warnings);
    cudaDriverGetVersion(&driver);
    expect(sam_cuda(&q)->overlaps == (driver >= 12030), "driver %d: launches overlap: %d", driver,
           sam_cuda(&q)->overlaps);
    const int opened = emu_late_loads();
    copy_odd(&q);
    expect(emu_late_loads() == opened, "a copy loads a kernel");
    sam_queue_close(&q);

    old_at = count - 1;
    open_queue(&q);
    expect(!sam_cuda(&q)->overlaps, "launches overlap, and one kernel does not wait");
    sam_queue_close(&q);
    return expect_status();
}
