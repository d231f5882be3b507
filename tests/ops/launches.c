// SPDX-License-Identifier: MIT
// Which kernels a case launches. The linker puts these in the place of the runtime's and of the
// backend's functions (--wrap).
#include <cuda_runtime_api.h>

#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "check.h"

static char seen[1024];

static void note(const char *name)
{
    const size_t n = strlen(seen);
    if (!strstr(seen, name))
        snprintf(seen + n, sizeof(seen) - n, "%s%s", n ? ", " : "", name);
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                       void **args);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                       void **args);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                       void **args)
{
    const char *name = NULL;
    if (cudaFuncGetName(&name, kernel) == cudaSuccess && name)
        note(name);
    return __real_cudaLaunchKernelExC(config, kernel, args);
}

bool __real_sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p);
bool __wrap_sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p);
bool __wrap_sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p)
{
    const bool is_library = __real_sam_blaslt_linear(q, p);
    if (is_library)
        note("cuBLASLt");
    return is_library;
}

void check_launches_begin(void)
{
    *seen = 0;
}

const char *check_launches(void)
{
    return seen;
}
