// SPDX-License-Identifier: MIT
// Any bytes as a zip of torch.save().
#include "container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 4 && memcmp(data, "PK\3\4", 4) == 0)
        fuzz_container(data, size);
    return 0;
}
