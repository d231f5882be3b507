// SPDX-License-Identifier: MIT
#include "../track/copies.h"
#include "emu.h"

const int copies_count = 1;

size_t copied_to_device(void)
{
    return emu_copied().to_device;
}

size_t copied_to_host(void)
{
    return emu_copied().to_host;
}
