// SPDX-License-Identifier: MIT
#include "copies.h"

const int copies_count = 0;

size_t copied_to_device(void)
{
    return 0;
}

size_t copied_to_host(void)
{
    return 0;
}
